//! The machine at the far end of a line.
use crate::line::{LAST_LOOK, Line, LineError, Outlet, PipeLine};
use crate::operations::OverLine;
use crate::words::{Ask, Records, Tell, put_back, read, written};
use conduct::machine::{Machine, Order, Refusal, States};
use conduct::{
    Answer, Clock, CommandEnd, CommandOrder, Commands, Control, Host, HostError, Left,
    OperationSink, Part, Ticks,
};
use plan::RunId;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// News are looked for this often while a run is going.
const LOOK_NS: u64 = 20_000_000;

/// An interval that is read so long after its end is one of a machine that stood still.
const STILL_NS: u64 = 1_000_000_000;

/// How long the line may be silent before the first order. Then the agent ends.
const SILENCE_NS: u64 = 60_000_000_000;

/// A machine that this process is on.
pub trait OnSite: Machine {
    type Host: Host + Clock + Commands;

    /// Goes to its runs with what it has granted. Single operations come to `operations`, and what streams of a run have
    /// written to `states`, before the end of the run is told.
    fn into_host(self, operations: Option<Box<dyn OperationSink>>, states: States) -> Self::Host;
}

/// Does what it is asked over a line, and tells what happens.
pub struct Agent<L, M: OnSite> {
    line: L,
    /// Until it goes to its runs.
    machine: Option<M>,
    /// For single operations, which come on a thread of their own.
    outlet: Option<Outlet>,
    /// Of an order that is on its way.
    records: Records,
    order: Option<Box<Order>>,
    host: Option<Part<M::Host>>,
    run: Option<Going>,
    states: States,
    /// What an urgent end of a run sets.
    control: Control,
    /// What ends a command.
    of_commands: Control,
    /// When, on the clock of the host, too, where there is one.
    heard: (Instant, Option<u64>),
    /// Whether a silence was found that may be none.
    is_doubted: bool,
}

/// A run that was started.
struct Going {
    ticks: Ticks,
    start_ns: u64,
    stop_ns: u64,
    /// The interval (from zero) that is read next, and where it begins.
    next: u64,
    from_ns: u64,
    is_done: bool,
}

impl Going {
    /// When an interval that is read by the clock ends, on the clock; the last one ends with its run.
    fn due_ns(&self, number: u64) -> Option<u64> {
        let (end_ns, is_last) = self.ticks.end(number);
        let due_ns = self.start_ns.saturating_add(end_ns);
        (!is_last && due_ns < self.stop_ns).then_some(due_ns)
    }
}

impl<L: Line, M: OnSite> Agent<L, M> {
    /// An urgent end of a run is asked for by `control`.
    pub fn new(line: L, machine: M, control: Control) -> Self {
        Self {
            line,
            machine: Some(machine),
            outlet: None,
            records: Records::default(),
            order: None,
            host: None,
            run: None,
            states: States::default(),
            control,
            of_commands: Control::default(),
            heard: (Instant::now(), None),
            is_doubted: false,
        }
    }

    /// Does what is asked by now, and tells what has happened by now. Waits for nothing but what a machine waits for that
    /// sets up a run or ends it, and for a last word before a silence counts.
    ///
    /// # Errors
    /// That the line has ended, or is silent for too long.
    pub fn poll(&mut self) -> Result<(), LineError> {
        while let Some(content) = self.line.receive()? {
            self.heard = self.now();
            self.is_doubted = false;
            let ask = read(&content)
                .map_err(|error| LineError(format!("nobody of this build asks so: {error}")))?;
            // What happened before comes before the answer.
            self.tell_news();
            self.take(ask);
        }
        self.tell_news();
        let silence_ns = self
            .order
            .as_ref()
            .map_or(SILENCE_NS, |order| order.silence_ns);
        let silent = match (self.heard, self.now()) {
            ((_, Some(heard_ns)), (_, Some(now_ns))) => now_ns.saturating_sub(heard_ns),
            ((heard, _), _) => heard.elapsed().as_nanos() as u64,
        };
        if silent < silence_ns {
            return Ok(());
        }
        match std::mem::replace(&mut self.is_doubted, true) {
            true => Err(LineError("the one that leads is silent".to_owned())),
            false => {
                self.line.wait(LAST_LOOK);
                Ok(())
            }
        }
    }

    fn now(&self) -> (Instant, Option<u64>) {
        (Instant::now(), self.host.as_ref().map(|host| host.now_ns()))
    }

    /// How long nothing will have to be told, in nanoseconds.
    fn idle_ns(&self) -> u64 {
        let (Some(run), Some(host)) = (&self.run, &self.host) else {
            return LOOK_NS;
        };
        // What is left of a run that is done is told with its end.
        let due_ns = run.due_ns(run.next).filter(|_| !run.is_done);
        let due_ns = due_ns.unwrap_or(u64::MAX);
        due_ns.saturating_sub(host.now_ns()).min(LOOK_NS)
    }

    fn tell(&mut self, tell: &Tell) {
        let content = written(tell);
        self.line.send(content);
    }

    fn take(&mut self, ask: Ask) {
        match ask {
            Ask::Facts { plan, host } => {
                let facts = self.ask_machine(|machine| machine.facts(&plan, host));
                self.tell(&Tell::Facts(facts));
            }
            Ask::Records {
                template,
                stream,
                more,
            } => {
                let known = self.records.entry((template, stream)).or_default();
                known.extend(more);
            }
            Ask::Examine(mut order) => {
                let records = std::mem::take(&mut self.records);
                put_back(records, Arc::make_mut(&mut order.plan));
                let examined = self.ask_machine(|machine| machine.examine(&order));
                self.order = Some(order);
                self.tell(&Tell::Examined(examined));
            }
            Ask::Grant { overwrite } => self.grant(&overwrite),
            Ask::DataWritten => {
                let written = self.ask_host(|host| told(host.data_written()));
                self.tell(&Tell::DataWritten(written));
            }
            Ask::Prepare { run, point } => self.prepare(run, &point),
            Ask::Finish { number, end_ns } => self.finish(number, end_ns),
            Ask::Time { question } => {
                if let Some(host) = &self.host {
                    let now_ns = host.now_ns();
                    self.tell(&Tell::Time { question, now_ns });
                }
            }
            Ask::Alive => self.tell(&Tell::Alive),
            Ask::Leave { is_whole } => {
                let left = self.leave(is_whole);
                self.tell(&Tell::Left(left));
            }
            Ask::Command(order) => self.command(&order),
            // Whoever reads the line has said so to the control already.
            Ask::Hurry | Ask::EndCommand => {}
            of_run => self.take_of_run(&of_run),
        }
    }

    /// What concerns a run that is going.
    fn take_of_run(&mut self, ask: &Ask) {
        let (Some(host), Some(run)) = (&mut self.host, &mut self.run) else {
            return;
        };
        match ask {
            Ask::Start { at_ns } => match host.now_ns().checked_sub(*at_ns) {
                None | Some(0) => {
                    run.start_ns = *at_ns;
                    host.start(*at_ns);
                }
                // Arrivals that are due already would come all at once.
                Some(late_ns) => {
                    self.run = None;
                    let ms = late_ns / 1_000_000;
                    let text = format!("the word to start came {ms} ms late");
                    self.tell(&Tell::Fatal(HostError::Refused(text)));
                }
            },
            Ask::StopAt { at_ns } => {
                run.stop_ns = run.stop_ns.min(*at_ns);
                host.stop_at(*at_ns);
            }
            Ask::Retire {
                streams,
                have_failed,
            } => host.retire(streams, *have_failed),
            Ask::Outstanding => {
                if let Answer::Told(outstanding) = host.outstanding() {
                    self.tell(&Tell::Outstanding(outstanding));
                }
            }
            _ => {}
        }
    }

    fn ask_machine<T>(
        &mut self,
        ask: impl FnOnce(&mut M) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        match &mut self.machine {
            Some(machine) => ask(machine),
            None => Err(Refusal::misfit("the host is at its runs already")),
        }
    }

    fn grant(&mut self, overwrite: &[String]) {
        let ready = self.ask_machine(|machine| machine.grant(overwrite));
        if ready.is_ok()
            && let (Some(machine), Some(order)) = (self.machine.take(), &self.order)
        {
            let outlet = self.outlet.as_ref();
            let outlet = outlet.filter(|_| order.plan.plan.reporting.operations);
            let operations = outlet.map(|outlet| OverLine::sink(outlet.clone(), order));
            let host = machine.into_host(operations, self.states.clone());
            self.host = Some(Part::new(host, order.host));
        }
        self.tell(&Tell::Granted(ready.map(Box::new)));
    }

    fn ask_host<T>(
        &mut self,
        ask: impl FnOnce(&mut Part<M::Host>) -> Result<T, HostError>,
    ) -> Result<T, HostError> {
        match &mut self.host {
            Some(host) => ask(host),
            None => Err(HostError::Refused("no order was granted".to_owned())),
        }
    }

    fn prepare(&mut self, id: RunId, point: &conduct::SetPoint) {
        self.run = None;
        let (Some(order), Some(host)) = (&self.order, &mut self.host) else {
            let error = HostError::Refused("a run of no plan was asked for".to_owned());
            return self.tell(&Tell::Prepared(Err(error)));
        };
        let run = order.plan.run(id);
        host.prepare(&order.plan, &run, point);
        let prepared = told(host.prepared());
        if prepared.is_ok() {
            self.run = Some(Going {
                ticks: Ticks::of(&run.run.timing),
                start_ns: u64::MAX,
                stop_ns: u64::MAX,
                next: 0,
                from_ns: 0,
                is_done: false,
            });
        }
        self.tell(&Tell::Prepared(prepared));
    }

    /// A stop that came late may lie before the end of an interval that was told: the rest is told for itself then.
    fn finish(&mut self, number: u64, end_ns: u64) {
        self.tell_intervals_below(number);
        let Some(run) = self.run.take() else {
            let error = HostError::Refused("no run is going that could end".to_owned());
            return self.tell(&Tell::Ended(Err(error)));
        };
        let (number, end_ns) = (number.max(run.next), end_ns.max(run.from_ns + 1));
        let control = self.control.clone();
        let ended = self.ask_host(|host| told(host.finish(number, end_ns, &control)));
        self.tell_troubles();
        let states = self.states.take();
        if !states.is_empty() {
            self.tell(&Tell::States(states));
        }
        self.tell(&Tell::Ended(ended.map(Box::new)));
    }

    /// Runs a command to its end. What it prints faster than the line bears holds it up.
    fn command(&mut self, order: &CommandOrder) {
        let Some(host) = &mut self.host else {
            let reason = "no order was granted".to_owned();
            return self.tell(&Tell::CommandEnded(CommandEnd::Refused(reason)));
        };
        let (line, outlet) = (&mut self.line, &self.outlet);
        let mut said = |text: &str| {
            let content = written(&Tell::Said(text.to_owned()));
            match outlet {
                Some(outlet) => outlet.send_in_turn(content),
                None => line.send(content),
            }
        };
        let end = host.command(&order.call(), &self.of_commands, &mut said);
        self.tell(&Tell::CommandEnded(end));
    }

    fn tell_news(&mut self) {
        if self.run.as_ref().is_none_or(|run| run.start_ns == u64::MAX) {
            return;
        }
        let is_done = self.ask_host(|host| told(host.is_done()));
        let is_done = is_done == Ok(true);
        // What is left belongs to the last interval, which the end of the run tells.
        if !is_done {
            self.tell_intervals();
        }
        self.tell_troubles();
        if let Some(run) = &mut self.run
            && is_done
            && !std::mem::replace(&mut run.is_done, true)
        {
            self.tell(&Tell::Done);
        }
    }

    /// Those that have ended by the clock.
    fn tell_intervals(&mut self) {
        let (Some(run), Some(host)) = (&self.run, &self.host) else {
            return;
        };
        let now_ns = host.now_ns();
        let is_due = |number: &u64| run.due_ns(*number).is_some_and(|due_ns| due_ns <= now_ns);
        let due = (run.next..).take_while(is_due).count() as u64;
        let number = run.next + due;
        self.tell_intervals_below(number);
    }

    fn tell_intervals_below(&mut self, number: u64) {
        let mut is_late = false;
        while let Some(run) = &mut self.run
            && run.next < number
        {
            let number = run.next;
            let (end_ns, _) = run.ticks.end(number);
            (run.next, run.from_ns) = (number + 1, end_ns);
            let end_at_ns = run.start_ns.saturating_add(end_ns);
            let told = self.ask_host(|host| {
                let late_ns = host.now_ns().saturating_sub(end_at_ns);
                let collected = told(host.collect(number, end_ns))?;
                Ok((collected, late_ns))
            });
            if let (Ok((mut told, late_ns)), Some(order)) = (told, &self.order) {
                // Those after it are as late, for the same reason.
                if late_ns >= STILL_NS && !std::mem::replace(&mut is_late, true) {
                    told.stood_still.push((order.host, late_ns));
                }
                let told = Box::new(told);
                self.tell(&Tell::Interval { number, told });
            }
        }
    }

    fn tell_troubles(&mut self) {
        let Some(host) = &mut self.host else { return };
        let (failures, fatal) = (host.failures(), host.fatal());
        if !failures.listed.is_empty() || failures.unlisted > 0 {
            self.tell(&Tell::Failures(failures));
        }
        if let Some(fatal) = fatal {
            self.tell(&Tell::Fatal(fatal));
        }
    }

    /// Leaves the host as it is to be left.
    fn leave(&mut self, is_whole: bool) -> Left {
        (self.run, self.order) = (None, None);
        let host = self.host.take();
        host.map_or_else(Left::default, |mut host| host.leave(is_whole))
    }
}

/// A machine that is here answers at once.
fn told<T>(answer: Answer<T>) -> Result<T, HostError> {
    match answer {
        Answer::Told(told) => Ok(told),
        Answer::Never(error) => Err(error),
        Answer::NotYet => Err(HostError::Lost("the machine did not answer".to_owned())),
    }
}

/// Nobody hears what a command says once the line has ended, and who reads the line is gone.
struct EndsWithLine(Control);

impl Drop for EndsWithLine {
    fn drop(&mut self) {
        self.0.hurry();
    }
}

/// Serves until the line ends, and gives the reason.
///
/// # Errors
/// When no thread can be had.
pub fn serve<M: OnSite>(
    machine: M,
    reader: impl Read + Send + 'static,
    writer: impl Write + Send + 'static,
) -> io::Result<LineError> {
    let control = Control::default();
    let hurried = control.clone();
    let of_commands = Control::default();
    let ended = EndsWithLine(of_commands.clone());
    let alive = written(&Tell::Alive);
    // The agent may be setting up a run, or waiting for its end.
    let seen = move |content: &[u8]| {
        match read(content) {
            Ok(Ask::Alive) => return Some(alive.clone()),
            Ok(Ask::Hurry) => {
                hurried.hurry();
                hurried.hurry();
            }
            Ok(Ask::EndCommand) => {
                ended.0.hurry();
            }
            _ => {}
        }
        None
    };
    let line = PipeLine::new(reader, writer, seen, None)?;
    let outlet = line.outlet();
    let mut agent = Agent::new(line, machine, control);
    agent.outlet = Some(outlet);
    agent.of_commands = of_commands;
    loop {
        if let Err(end) = agent.poll() {
            // Nobody knows how the execution ended.
            agent.leave(false);
            return Ok(end);
        }
        let idle_ns = agent.idle_ns();
        agent.line.wait(Duration::from_nanos(idle_ns));
    }
}
