//! Lines that are slow, cut frames into pieces, are silent for a while, or break at any byte: a run over one ends, with all
//! of its figures or with the name of the host.
use crate::near::{Place, Shared};
use crate::plans::*;
use crate::story::{Story, carry_out, simulate};
use conduct::machine::{Machine, Order};
use conduct::{Clock, CommandCall, CommandEnd, Commands, Control, Host, SimulatedHost};
use engine::sim::Script;
use fleet::{Agent, Line, LineError, Piped, Several, frame, unframe};
use measure::Event;
use plan::*;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// How a line is.
#[derive(Clone, Copy, Debug)]
struct Faults {
    /// Each piece takes up to so long.
    delay_ns: u64,
    /// From when to when nothing comes through.
    silent_ns: (u64, u64),
    /// After so many bytes, both ways together, it is cut.
    cut_at: u64,
    /// Whether both ends learn of the cut.
    is_told: bool,
}

struct Cable {
    faults: Faults,
    random: u64,
    carried: u64,
    /// Of the conductor.
    now: Arc<AtomicU64>,
    /// There and back.
    ways: [VecDeque<(u64, Vec<u8>)>; 2],
}

impl Cable {
    fn draw(&mut self, below: u64) -> u64 {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.random >> 33) % below.max(1)
    }

    fn is_cut(&self) -> bool {
        self.carried >= self.faults.cut_at
    }

    fn carry(&mut self, way: usize, bytes: &[u8]) {
        let now_ns = self.now.load(Relaxed);
        let mut rest = bytes;
        while !rest.is_empty() && !self.is_cut() {
            let left = self.faults.cut_at - self.carried;
            let length = (1 + self.draw(4_000)).min(left).min(rest.len() as u64);
            let (piece, further) = rest.split_at(length as usize);
            let (from_ns, to_ns) = self.faults.silent_ns;
            let mut at_ns = now_ns + self.draw(self.faults.delay_ns);
            if (from_ns..to_ns).contains(&at_ns) {
                at_ns = to_ns;
            }
            let last_ns = self.ways[way].back().map_or(0, |(at_ns, _)| *at_ns);
            self.ways[way].push_back((at_ns.max(last_ns), piece.to_vec()));
            self.carried += length;
            rest = further;
        }
    }
}

struct End {
    cable: Rc<RefCell<Cable>>,
    /// The way of what is sent.
    sends: usize,
    here: Vec<u8>,
}

impl Line for End {
    fn send(&mut self, content: Vec<u8>) {
        let mut bytes = Vec::new();
        frame(&mut bytes, &content).unwrap();
        self.cable.borrow_mut().carry(self.sends, &bytes);
    }

    fn receive(&mut self) -> Result<Option<Vec<u8>>, LineError> {
        let mut cable = self.cable.borrow_mut();
        let now_ns = cable.now.load(Relaxed);
        let comes = 1 - self.sends;
        while cable.ways[comes]
            .front()
            .is_some_and(|(at_ns, _)| *at_ns <= now_ns)
        {
            let (_, piece) = cable.ways[comes].pop_front().unwrap();
            self.here.extend(piece);
        }
        let mut rest = &self.here[..];
        if let Ok(Some(content)) = unframe(&mut rest) {
            let taken = self.here.len() - rest.len();
            self.here.drain(..taken);
            return Ok(Some(content));
        }
        match cable.is_cut() && cable.faults.is_told && cable.ways[comes].is_empty() {
            true => Err(LineError("the line broke".to_owned())),
            false => Ok(None),
        }
    }

    fn wait(&mut self, _at_most: Duration) {}
}

/// The agent with its machine; it is gone once its line is.
struct World {
    machine: Shared,
    agent: RefCell<Option<Agent<End, Place>>>,
    now: Arc<AtomicU64>,
}

impl World {
    fn pass(&self, until_ns: u64) {
        while self.now.load(Relaxed) < until_ns {
            let next_ns = until_ns.min(self.now.load(Relaxed) + 1_000_000);
            self.machine
                .clone()
                .wait_until(next_ns, &Control::default());
            // A drain of the agent lets more time pass.
            self.now.store(self.machine.now_ns().max(next_ns), Relaxed);
            let mut agent = self.agent.borrow_mut();
            if agent.as_mut().is_some_and(|agent| agent.poll().is_err()) {
                *agent = None;
            }
        }
    }
}

/// The near end, which lets time pass while it waits.
struct Waiting(End, Rc<World>);

impl Line for Waiting {
    fn send(&mut self, content: Vec<u8>) {
        self.0.send(content);
    }

    fn receive(&mut self) -> Result<Option<Vec<u8>>, LineError> {
        self.0.receive()
    }

    fn wait(&mut self, at_most: Duration) {
        let now_ns = self.1.now.load(Relaxed);
        self.1.pass(now_ns + at_most.as_nanos() as u64);
    }
}

/// Who leads.
struct Lead(Rc<World>);

impl Clock for Lead {
    fn now_ns(&self) -> u64 {
        self.0.now.load(Relaxed)
    }

    fn unix_ns(&self, at_ns: u64) -> u64 {
        at_ns
    }

    fn wait_until(&mut self, until_ns: u64, control: &Control) {
        if !control.is_stopping() {
            self.0.pass(until_ns);
        }
    }
}

impl Commands for Lead {
    fn command(
        &mut self,
        _call: &CommandCall<'_>,
        _control: &Control,
        _said: &mut dyn FnMut(&str),
    ) -> CommandEnd {
        CommandEnd::Exited(0)
    }
}

fn job() -> BoundPlan {
    let streams = vec![
        stream(0, 0, operations(70.0)),
        stream(1, 0, operations(100.0)),
    ];
    let spec = at_rate(2_000.0, ArrivalLaw::Exponential, 400 * MS, 100 * MS);
    bind_unreal(plan(vec![simulated(MIB)], &[4, 4], streams, vec![spec]))
}

/// Once the order is there: what stands before the first run is asked again by nobody.
fn over(plan: &BoundPlan, faults: Faults, seed: u64) -> Option<Story> {
    let host = SimulatedHost::new(Script::default(), 1);
    let machine = Shared(Rc::new(RefCell::new(host)));
    let now = Arc::new(AtomicU64::new(machine.now_ns()));
    let cable = Rc::new(RefCell::new(Cable {
        faults,
        random: seed,
        carried: 0,
        now: Arc::clone(&now),
        ways: Default::default(),
    }));
    let end = |sends| End {
        cable: Rc::clone(&cable),
        sends,
        here: Vec::new(),
    };
    let agent = Agent::new(end(1), Place(machine.clone()), Control::default());
    let world = Rc::new(World {
        machine,
        agent: RefCell::new(Some(agent)),
        now: Arc::clone(&now),
    });
    let silence = Duration::from_secs(2);
    let near = Waiting(end(0), Rc::clone(&world));
    let mut piped =
        Piped::new("far".to_owned(), near, silence).with_clock(move || now.load(Relaxed));
    let order = Order {
        earlier: None,
        plan: plan.clone().into(),
        host: 0,
        backend: None,
        workers: None,
        silence_ns: silence.as_nanos() as u64,
        nonce: 0,
        overwrite: Vec::new(),
        lints: Vec::new(),
        language: String::new(),
        results: None,
    };
    piped.examine(&order).ok()?;
    piped.grant(&[]).ok()?;
    let machines: Vec<(u32, Box<dyn Host>)> = vec![(0, Box::new(piped))];
    let mut several = Several::new(Lead(Rc::clone(&world)), machines);
    let story = carry_out(plan, &mut several, &Control::default());
    drop(several);
    // No I/O goes on: the agent is gone, or has nothing to do.
    world.pass(world.now.load(Relaxed) + 5_000_000_000);
    Some(story)
}

fn figures(story: &Story) -> Vec<String> {
    let intervals = story.intervals(0);
    intervals
        .iter()
        .map(|one| format!("{:?}", one.figures))
        .collect()
}

fn faults(seed: u64) -> Faults {
    let draw = |salt: u64, below: u64| {
        let mixed = (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
            ^ salt.wrapping_mul(0xD1B5_4A32_D192_ED03);
        (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) % below
    };
    let begins_ns = 1_000_000_000 + draw(1, 800_000_000);
    let lasts_ns = [0, draw(2, 900_000_000), 10_000_000_000][draw(3, 3) as usize];
    Faults {
        delay_ns: 1 + draw(4, 8_000_000),
        silent_ns: (begins_ns, begins_ns + lasts_ns),
        cut_at: [u64::MAX, draw(5, 60_000)][draw(6, 2) as usize],
        is_told: draw(7, 2) == 0,
    }
}

/// Each command is told whole, in its place, or the host is named that does not tell it.
#[test]
fn a_command_over_a_bad_line_is_told_or_names_its_host() {
    let far = PlanHost {
        name: "far".to_owned(),
        reach: Some(Reach {
            system: "far".to_owned(),
            user: None,
        }),
    };
    let mut plan = job().plan.on_hosts(vec![far]);
    let command = |text: &str| Command {
        text: text.to_owned(),
        output: CommandOutput::Log,
        on_hosts: true,
    };
    plan.steering.before = vec![command("first")];
    plan.steering.after = vec![command("last")];
    plan.steering.around = vec![Around {
        runs: vec![RunId(0)],
        before: vec![command("on")],
        after: vec![command("off")],
    }];
    let plan = bind_unreal(plan);
    let (mut wholes, mut marked) = (0, 0);
    for seed in 0..300_u64 {
        let Some(story) = over(&plan, faults(seed), seed) else {
            continue;
        };
        let all = remarks(&story);
        let told: Vec<&str> = all
            .iter()
            .filter_map(|one| one.strip_prefix("Cmd: far: simulated: "))
            .collect();
        if matches!(story.outcome.reason, measure::FinishReason::Complete) {
            assert_eq!(told, ["first", "on", "off", "last"], "seed {seed}");
            wholes += 1;
        } else {
            let reason = format!("{:?}", story.outcome.reason);
            assert!(reason.contains("far"), "seed {seed}: {reason} {all:?}");
            marked += 1;
        }
    }
    assert!(
        wholes > 30 && marked > 30,
        "{wholes} whole, {marked} marked"
    );
}

#[test]
fn a_run_over_a_bad_line_is_whole_or_names_its_host() {
    let plan = job();
    let whole = figures(&simulate(&plan, &Script::default(), 1));
    let (mut wholes, mut marked, mut none) = (0, 0, 0);
    for seed in 0..1_000_u64 {
        let faults = faults(seed);
        let Some(story) = over(&plan, faults, seed) else {
            none += 1;
            continue;
        };
        let is_complete = matches!(story.outcome.reason, measure::FinishReason::Complete);
        if is_complete {
            story.check_accounts();
            assert_eq!(figures(&story), whole, "seed {seed}, {faults:?}");
            wholes += 1;
        } else {
            let told = format!("{:?} {:?}", story.outcome.reason, remarks(&story));
            assert!(told.contains("far"), "seed {seed}, {faults:?}: {told}");
            // What was told is as it was, but for the interval in which it ended.
            let heard = figures(&story);
            let told = heard.len().saturating_sub(1);
            assert!(
                heard[..told].iter().all(|one| whole.contains(one)),
                "seed {seed}, {faults:?}"
            );
            marked += 1;
        }
    }
    assert!(
        wholes > 100 && marked > 100,
        "{wholes} whole, {marked} marked, {none} before a run"
    );
}

fn remarks(story: &Story) -> Vec<&str> {
    let mut all = Vec::new();
    for event in &story.events {
        if let Event::Remark(remark) = event {
            all.push(remark.message.as_str());
        }
    }
    all
}
