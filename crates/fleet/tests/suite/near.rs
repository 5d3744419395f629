//! A simulated machine whose line takes no time: the near end hears what the far end has told by now.
use conduct::machine::{Examined, Machine, Order, Ready, Refusal, States};
use conduct::{
    Answer, Clock, CommandCall, CommandEnd, Commands, Control, Host, HostError, OperationSink,
    Prepared, SetPoint, SimulatedHost,
};
use fleet::{Agent, Line, LineError, OnSite, Piped, frame, unframe};
use measure::{DataFigures, Ended, Failures, HostInterval, Outstanding};
use plan::{BoundPlan, BoundRun, Facts, Plan};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The bytes that are on their way.
type Way = Rc<RefCell<Vec<u8>>>;

/// One end of a line.
pub struct End {
    from: Way,
    to: Way,
}

impl Line for End {
    fn send(&mut self, content: Vec<u8>) {
        frame(&mut *self.to.borrow_mut(), &content).unwrap();
    }

    fn receive(&mut self) -> Result<Option<Vec<u8>>, LineError> {
        let mut bytes = self.from.borrow_mut();
        let mut rest = &bytes[..];
        let content = unframe(&mut rest).unwrap();
        let taken = bytes.len() - rest.len();
        bytes.drain(..taken);
        Ok(content)
    }

    fn wait(&mut self, _at_most: Duration) {}
}

/// The simulated machine, which its agent and the clock of the conductor share.
#[derive(Clone)]
pub struct Shared(pub Rc<RefCell<SimulatedHost>>);

/// Where the agent is: a machine that refuses nothing.
pub struct Place(pub Shared);

impl Machine for Place {
    fn facts(&mut self, _plan: &Plan, _host: u32) -> Result<Facts, Refusal> {
        Ok(Facts::default())
    }

    fn examine(&mut self, _order: &Order) -> Result<Examined, Refusal> {
        Ok(Examined::default())
    }

    fn grant(&mut self, _words: &[String]) -> Result<Ready, Refusal> {
        Ok(Ready::default())
    }
}

impl OnSite for Place {
    type Host = Shared;

    fn into_host(self, _operations: Option<Box<dyn OperationSink>>, _states: States) -> Shared {
        self.0
    }
}

type FarAgent = Rc<RefCell<Agent<End, Place>>>;

/// The near end of a line that calls the agent before it listens.
struct Calling {
    end: End,
    agent: FarAgent,
    shows: Arc<AtomicU64>,
    cut_at_ns: Arc<AtomicU64>,
}

impl Line for Calling {
    fn send(&mut self, content: Vec<u8>) {
        self.end.send(content);
        self.agent.borrow_mut().poll().unwrap();
    }

    fn receive(&mut self) -> Result<Option<Vec<u8>>, LineError> {
        match self.shows.load(Relaxed) < self.cut_at_ns.load(Relaxed) {
            true => self.end.receive(),
            false => Err(LineError("the line is cut".to_owned())),
        }
    }

    fn wait(&mut self, _at_most: Duration) {
        panic!("an agent answers at once here");
    }
}

/// A simulated machine at the far end of a line.
pub struct Far {
    machine: Shared,
    agent: FarAgent,
    piped: Piped<Calling>,
    /// What the clock of the conductor shows.
    shows: Arc<AtomicU64>,
    /// When nothing comes through any more, on that clock.
    cut_at_ns: Arc<AtomicU64>,
    host: u32,
    has_order: bool,
}

impl Far {
    pub fn new(machine: SimulatedHost) -> Self {
        Self::of_host(0, &Rc::new(RefCell::new(machine)))
    }

    /// With the part of one of several hosts.
    pub fn of_host(host: u32, machine: &Rc<RefCell<SimulatedHost>>) -> Self {
        let machine = Shared(Rc::clone(machine));
        let [there, back] = [Way::default(), Way::default()];
        let far = End {
            from: Rc::clone(&there),
            to: Rc::clone(&back),
        };
        let agent = Agent::new(far, Place(machine.clone()), Control::default());
        let agent = Rc::new(RefCell::new(agent));
        let end = End {
            from: back,
            to: there,
        };
        let shows = Arc::new(AtomicU64::new(machine.now_ns()));
        let shown = Arc::clone(&shows);
        let cut_at_ns = Arc::new(AtomicU64::new(u64::MAX));
        let line = Calling {
            end,
            agent: Rc::clone(&agent),
            shows: Arc::clone(&shows),
            cut_at_ns: Arc::clone(&cut_at_ns),
        };
        Self {
            machine,
            agent,
            piped: Piped::new("far".to_owned(), line, Duration::from_secs(60))
                .with_clock(move || shown.load(Relaxed)),
            shows,
            cut_at_ns,
            host,
            has_order: false,
        }
    }

    /// The line is cut so long after now.
    pub fn cut_in(&self, ns: u64) {
        self.cut_at_ns.store(self.machine.now_ns() + ns, Relaxed);
    }

    /// Sends the plan before the first run.
    fn order(&mut self, plan: &BoundPlan) {
        // Time passes over there while a run drains.
        self.shows.store(self.machine.now_ns(), Relaxed);
        if std::mem::replace(&mut self.has_order, true) {
            return;
        }
        let order = Order {
            earlier: None,
            plan: plan.clone().into(),
            host: self.host,
            backend: None,
            workers: None,
            silence_ns: u64::MAX,
            nonce: 0,
            overwrite: Vec::new(),
            lints: Vec::new(),
            language: String::new(),
            results: None,
        };
        self.piped.examine(&order).unwrap();
        self.piped.grant(&[]).unwrap();
    }

    /// What lets time pass there, whoever has the rest.
    pub fn clock(&self) -> FarClock {
        FarClock {
            machine: self.machine.clone(),
            agent: Rc::clone(&self.agent),
            shows: Arc::clone(&self.shows),
        }
    }

    pub fn poll(&self) {
        self.agent.borrow_mut().poll().unwrap();
    }
}

impl Clock for Far {
    fn now_ns(&self) -> u64 {
        self.machine.now_ns()
    }

    fn unix_ns(&self, at_ns: u64) -> u64 {
        self.machine.unix_ns(at_ns)
    }

    fn wait_until(&mut self, until_ns: u64, control: &Control) {
        self.machine.wait_until(until_ns, control);
        self.shows.store(self.machine.now_ns(), Relaxed);
        self.poll();
    }
}

impl Clock for Shared {
    fn now_ns(&self) -> u64 {
        self.0.borrow().now_ns()
    }

    fn unix_ns(&self, at_ns: u64) -> u64 {
        self.0.borrow().unix_ns(at_ns)
    }

    fn wait_until(&mut self, until_ns: u64, control: &Control) {
        self.0.borrow_mut().wait_until(until_ns, control);
    }
}

impl Commands for Shared {
    fn command(
        &mut self,
        call: &CommandCall<'_>,
        control: &Control,
        said: &mut dyn FnMut(&str),
    ) -> CommandEnd {
        self.0.borrow_mut().command(call, control, said)
    }
}

impl Commands for Far {
    fn command(
        &mut self,
        call: &CommandCall<'_>,
        control: &Control,
        said: &mut dyn FnMut(&str),
    ) -> CommandEnd {
        self.machine.0.borrow_mut().command(call, control, said)
    }
}

/// Hands every question on to what a machine really is.
macro_rules! hands_on {
    ($who:ty, $mine:ident => $to:expr, $first:expr) => {
        impl Host for $who {
            fn prepare(&mut self, plan: &BoundPlan, run: &BoundRun, point: &SetPoint) {
                $first(self, plan);
                let $mine = self;
                $to.prepare(plan, run, point);
            }

            fn prepared(&mut self) -> Answer<Prepared> {
                let $mine = self;
                $to.prepared()
            }

            fn start(&mut self, start_ns: u64) {
                let $mine = self;
                $to.start(start_ns);
            }

            fn stop_at(&mut self, stop_ns: u64) {
                let $mine = self;
                $to.stop_at(stop_ns);
            }

            fn is_done(&mut self) -> Answer<bool> {
                let $mine = self;
                $to.is_done()
            }

            fn fatal(&mut self) -> Option<HostError> {
                let $mine = self;
                $to.fatal()
            }

            fn collect(&mut self, number: u64, end_ns: u64) -> Answer<HostInterval> {
                let $mine = self;
                $to.collect(number, end_ns)
            }

            fn finish(&mut self, number: u64, end_ns: u64, control: &Control) -> Answer<Ended> {
                let $mine = self;
                $to.finish(number, end_ns, control)
            }

            fn failures(&mut self) -> Failures {
                let $mine = self;
                $to.failures()
            }

            fn outstanding(&mut self) -> Answer<Vec<Outstanding>> {
                let $mine = self;
                $to.outstanding()
            }

            fn data_written(&mut self) -> Answer<Vec<DataFigures>> {
                let $mine = self;
                $to.data_written()
            }

            fn retire(&mut self, streams: &[usize], have_failed: bool) {
                let $mine = self;
                $to.retire(streams, have_failed);
            }
        }
    };
}

hands_on!(Shared, shared => shared.0.borrow_mut(), |_: &mut _, _| ());
hands_on!(Far, far => far.piped, Far::order);

/// The clock of a simulated machine at the far end of a line.
pub struct FarClock {
    machine: Shared,
    agent: FarAgent,
    shows: Arc<AtomicU64>,
}

/// Several of them, which go together, and no commands.
pub struct Clocks(pub Vec<FarClock>);

impl Clock for Clocks {
    fn now_ns(&self) -> u64 {
        let all = self.0.iter().map(|one| one.machine.now_ns());
        all.max().unwrap()
    }

    fn unix_ns(&self, at_ns: u64) -> u64 {
        at_ns
    }

    fn wait_until(&mut self, until_ns: u64, control: &Control) {
        for one in &mut self.0 {
            one.machine.wait_until(until_ns, control);
            one.shows.store(one.machine.now_ns(), Relaxed);
        }
        self.0
            .iter()
            .for_each(|one| one.agent.borrow_mut().poll().unwrap());
    }
}

impl Commands for Clocks {
    fn command(
        &mut self,
        _call: &CommandCall<'_>,
        _control: &Control,
        _said: &mut dyn FnMut(&str),
    ) -> CommandEnd {
        CommandEnd::Exited(0)
    }
}
