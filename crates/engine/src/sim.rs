//! Runs in simulated time on simulated storage: exact, repeatable, and independent of the number
//! of workers. One scheduler steps every worker at every event. A run may have its files in a model of a file system
//! ([`ModelFiles`]); without, it reaches none.
mod files;

pub use files::{ModelFiles, Opening, RunFiles};

use crate::backend::{Backend, Request, code};
use crate::collect::Collector;
use crate::data::buffer_bytes;
use crate::generations::Generations;
use crate::kind::BackendKind;
use crate::random::mix;
use crate::rule::WorkerRule;
use crate::setup::Setup;
use crate::state::SharedRun;
use crate::time::{Stops, Time};
use crate::worker::{Wake, Worker};
use measure::Failure;
use plan::{BoundPlan, BoundRun};
use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, sync_channel};

/// Workers that were stopped have caught up before the run is looked at again.
const LEADER_LATE_NS: u64 = 20_000_000;

/// How simulated storage behaves; the same for every target, each with servers of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// Time that one operation takes in a server.
    pub service_ns: u64,
    /// Whether that is the mean of an exponential law, drawn over target, offset and time.
    pub is_exponential: bool,
    /// Added to it, uniformly from zero up to this, by a draw over target, offset and time.
    pub jitter_ns: u64,
    /// Times (since the start of the run) from which on it is another (second), in order.
    pub service_changes_ns: Vec<(u64, u64)>,
    /// How much later than it asked a worker wakes that sleeps until an arrival.
    pub wakes_late_ns: u64,
    /// Spans (from, to) of the run in which no worker has a processor: what completes or falls due is
    /// seen at the end of the span.
    pub absences: Vec<(u64, u64)>,
    /// Spans (from, to) of the run in which the whole process is stopped. Who leads the run goes on 20 ms after
    /// the workers.
    pub stops: Vec<(u64, u64)>,
    /// Operations served at once by a target; further ones queue.
    pub servers: u32,
    /// Whether a submitting call waits while all servers are busy, as where a device has no more tags. Time passes in
    /// the call, for all workers.
    pub submission_blocks: bool,
    /// Whether operations are done within the submitting call, as of files without direct I/O. For one worker.
    pub works_in_call: bool,
    /// Of so many submitting calls one comes back so much later: its thread stands still when everything is out. Time
    /// passes for all workers.
    pub preemption: Option<(u64, u64)>,
    /// Spans (from, to) of the run in which no operation completes; those that would have wait for
    /// the end of the span.
    pub stalls: Vec<(u64, u64)>,
    /// The same of one target, by its number.
    pub hangs: Vec<(u32, u64, u64)>,
    /// Spans (from, to) in which every operation that is sent fails at once, with an error number.
    pub fast_failures: Vec<(u64, u64, i32)>,
    /// Byte ranges that answer with an error number.
    pub bad: Vec<(u64, u64, i32)>,
    /// Byte ranges whose transfers are cut to half.
    pub short: Vec<(u64, u64)>,
    /// After this time every operation never completes: the device has vanished.
    pub vanishes_at_ns: Option<u64>,
}

/// A run in simulated time.
pub struct Simulation {
    shared: Arc<SharedRun>,
    world: Rc<RefCell<World>>,
    now: Rc<Cell<u64>>,
    workers: Vec<Worker<SimBackend, SimTime, Arc<SharedRun>>>,
    failures: Receiver<Failure>,
    collector: Collector,
}

#[derive(Clone)]
struct SimTime {
    now: Rc<Cell<u64>>,
    stops: Rc<Cell<Stops>>,
}

struct World {
    script: Script,
    start_ns: u64,
    /// For each target, when each of its servers is free.
    servers: Vec<Vec<u64>>,
    events: BinaryHeap<Reverse<Completion>>,
    sequence: u64,
    files: Option<RunFiles>,
}

/// Ordered by time, then by the order of submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Completion {
    at_ns: u64,
    sequence: u64,
    worker: usize,
    slot: u32,
    result: i32,
}

struct SimBackend {
    world: Rc<RefCell<World>>,
    now: Rc<Cell<u64>>,
    number: usize,
    buffers: Vec<Vec<u8>>,
    pool_of_slot: Vec<u32>,
    stops: Rc<Cell<Stops>>,
    submitting_calls: u64,
    queued: Vec<(u32, Request)>,
    /// By slot, what has not come back.
    out: Vec<Option<Request>>,
    done: Vec<(u32, i32)>,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            service_ns: 100_000,
            is_exponential: false,
            jitter_ns: 0,
            service_changes_ns: Vec::new(),
            wakes_late_ns: 0,
            absences: Vec::new(),
            stops: Vec::new(),
            servers: 8,
            submission_blocks: false,
            works_in_call: false,
            preemption: None,
            stalls: Vec::new(),
            hangs: Vec::new(),
            fast_failures: Vec::new(),
            bad: Vec::new(),
            short: Vec::new(),
            vanishes_at_ns: None,
        }
    }
}

impl Time for SimTime {
    fn now_ns(&self) -> u64 {
        self.now.get()
    }

    fn stops(&self) -> Stops {
        self.stops.get()
    }
}

impl Simulation {
    /// Time begins at `now_ns`.
    pub fn prepare(
        plan: &BoundPlan,
        run: &BoundRun,
        rate: Option<f64>,
        shares_pct: Option<&[f64]>,
        workers: u32,
        script: Script,
        now_ns: u64,
    ) -> Self {
        let setup = Setup {
            plan,
            run,
            files: &[],
            open: None,
            last_syncs: &[],
            backends: BackendKind::Sim.into(),
            workers: WorkerRule::Exactly(workers),
            cpus: workers,
            run_rate: rate,
            shares_pct,
            nonce: 0,
            generations: &Generations::default(),
        };
        let (sender, failures) = sync_channel(4096);
        let shared = Arc::new(SharedRun::new(&setup, sender));
        let now = Rc::new(Cell::new(now_ns));
        let world = Rc::new(RefCell::new(World {
            servers: vec![vec![0; script.servers.max(1) as usize]; plan.targets.len()],
            script,
            start_ns: now_ns,
            events: BinaryHeap::new(),
            sequence: 0,
            files: None,
        }));
        let bytes = buffer_bytes(run);
        let worker = |number: usize| {
            let view = &shared.workers[number];
            let slots = view.slots.len();
            let stops = Rc::new(Cell::new(Stops::default()));
            let backend = SimBackend {
                world: Rc::clone(&world),
                now: Rc::clone(&now),
                number,
                buffers: vec![vec![0; bytes]; slots],
                pool_of_slot: view.pool_of_slot.clone(),
                stops: Rc::clone(&stops),
                submitting_calls: 0,
                queued: Vec::new(),
                out: vec![None; slots],
                done: Vec::new(),
            };
            let now = Rc::clone(&now);
            let time = SimTime { now, stops };
            Worker::new(Arc::clone(&shared), number, backend, time, 1)
        };
        let workers = (0..shared.workers.len()).map(worker).collect();
        Self {
            collector: Collector::new(Arc::clone(&shared)),
            shared,
            world,
            now,
            workers,
            failures,
        }
    }

    /// The same with files, on which operations act when they come back.
    #[must_use]
    pub fn with_files(self, files: RunFiles) -> Self {
        self.world.borrow_mut().files = Some(files);
        self
    }

    /// Closes the files of the run, of which nothing is in flight any more.
    pub fn close(&mut self) {
        self.world.borrow_mut().files = None;
    }

    pub fn now_ns(&self) -> u64 {
        self.now.get()
    }

    pub fn start(&mut self, start_ns: u64) {
        self.shared.start_ns.store(start_ns, Relaxed);
        self.world.borrow_mut().start_ns = start_ns;
        self.workers.iter_mut().for_each(Worker::begin);
    }

    pub fn stop_at(&self, stop_ns: u64) {
        self.shared.stop_ns.store(stop_ns, Relaxed);
    }

    pub fn collector(&mut self) -> &mut Collector {
        &mut self.collector
    }

    /// From now on these streams issue nothing.
    pub fn retire(&self, streams: &[usize], have_failed: bool) {
        self.shared.retire(streams, have_failed, self.now.get());
    }

    pub fn is_done(&self) -> bool {
        self.shared.is_done()
    }

    pub fn in_flight(&self) -> u32 {
        self.shared.in_flight()
    }

    pub fn workers(&self) -> u32 {
        self.workers.len() as u32
    }

    pub fn take_failures(&self) -> (Vec<Failure>, u64) {
        self.shared.take_failures(&self.failures)
    }

    /// Lets time pass up to `until_ns`, or until a stop of the process at that time is over; completions at that very
    /// time are not seen yet.
    pub fn run_until(&mut self, until_ns: u64) {
        let until_ns = self.world.borrow().led_from(until_ns);
        loop {
            let present_ns = self.world.borrow().present_from(self.now.get());
            let next_ns = match present_ns > self.now.get() {
                true => present_ns,
                false => self.next_ns(),
            };
            if next_ns >= until_ns {
                self.now.set(until_ns.max(self.now.get()));
                return;
            }
            self.now.set(next_ns.max(self.now.get()));
            self.deliver();
        }
    }

    /// Steps all workers; returns when something happens next.
    fn next_ns(&mut self) -> u64 {
        let late_ns = self.world.borrow().script.wakes_late_ns;
        let wake_ns = self.settle().saturating_add(late_ns);
        let world = self.world.borrow();
        let event = world.events.peek();
        let event_ns = event.map_or(u64::MAX, |Reverse(event)| event.at_ns);
        world.present_from(wake_ns.min(event_ns))
    }

    /// Steps all workers until nothing moves at this time; returns when one wants to be woken.
    ///
    /// All reap before any issues, and pools issue in order over all workers, so that what is
    /// issued next does not depend on which worker holds a free slot.
    fn settle(&mut self) -> u64 {
        if self.world.borrow().script.works_in_call {
            return self.settle_in_calls();
        }
        loop {
            self.workers.iter_mut().for_each(|worker| {
                worker.step(false);
            });
            while self.issue() {}
            if !self.workers.iter().any(Worker::has_unseen) {
                break;
            }
        }
        let now_ns = self.now.get();
        let wakes = self.workers.iter_mut().map(|worker| worker.step(false));
        // A retry is of no use here: whatever lets a stream go on is an event.
        let until = wakes.map(|wake| match wake {
            Wake::Wait { until_ns, .. } => until_ns.max(now_ns + 1),
            Wake::Done => u64::MAX,
        });
        until.min().unwrap_or(u64::MAX)
    }

    /// The same for one worker that does everything in its calls: as on a thread, what it queues in a step is submitted
    /// before the next, in its own order of pools.
    fn settle_in_calls(&mut self) -> u64 {
        let worker = &mut self.workers[0];
        loop {
            let wake = worker.step(true);
            if worker.moved {
                worker
                    .enter(0, u64::MAX, 0)
                    .expect("simulated calls do not fail");
                continue;
            }
            return match wake {
                Wake::Wait { until_ns, .. } => until_ns.max(self.now.get() + 1),
                Wake::Done => u64::MAX,
            };
        }
    }

    /// Issues from each pool what is due; whether anything was.
    fn issue(&mut self) -> bool {
        let mut moved = false;
        for pool in 0..self.shared.pools.len() {
            for worker in &mut self.workers {
                if worker.issue_from(pool) {
                    moved = true;
                    worker
                        .enter(0, u64::MAX, 0)
                        .expect("simulated calls do not fail");
                }
            }
        }
        moved
    }

    fn deliver(&mut self) {
        let now_ns = self.now.get();
        loop {
            let mut world = self.world.borrow_mut();
            let due = world
                .events
                .peek()
                .is_some_and(|Reverse(event)| event.at_ns <= now_ns);
            if !due {
                return;
            }
            let Reverse(Completion {
                worker,
                slot,
                result,
                ..
            }) = world.events.pop().expect("just seen");
            let backend = &mut self.workers[worker].backend;
            let result = backend.act(&mut world, slot, result);
            backend.done.push((slot, result));
        }
    }
}

impl World {
    /// The first moment from this one on at which workers have a processor.
    fn present_from(&self, at_ns: u64) -> u64 {
        let absent =
            |(from, to): &&(u64, u64)| (self.start_ns + from..self.start_ns + to).contains(&at_ns);
        let mut absences = self.script.absences.iter().chain(&self.script.stops);
        let absence = absences.find(absent);
        absence.map_or(at_ns, |(_, to)| self.start_ns + to)
    }

    /// The first moment from this one on at which who leads the run has a processor.
    fn led_from(&self, at_ns: u64) -> u64 {
        let stopped = |(from, to): &&(u64, u64)| {
            (self.start_ns + from..self.start_ns + to + LEADER_LATE_NS).contains(&at_ns)
        };
        let stop = self.script.stops.iter().find(stopped);
        stop.map_or(at_ns, |(_, to)| self.start_ns + to + LEADER_LATE_NS)
    }

    fn submit(&mut self, worker: usize, slot: u32, request: Request, now_ns: u64) {
        let script = &self.script;
        let drawn = || mix(request.offset ^ now_ns ^ (u64::from(request.file) << 56));
        let jitter_ns = match script.jitter_ns {
            0 => 0,
            jitter => drawn() % (jitter + 1),
        };
        let servers = &mut self.servers[request.file as usize];
        let free = servers.iter_mut().min().expect("at least one server");
        let begin_ns = now_ns.max(*free);
        let since_ns = now_ns.saturating_sub(self.start_ns);
        let mut changes = script.service_changes_ns.iter().rev();
        let change = changes.find(|(from_ns, _)| since_ns >= *from_ns);
        let service_ns = change.map_or(script.service_ns, |(_, service_ns)| *service_ns);
        let service_ns = match script.is_exponential {
            // Between 0 and 1, and neither of them.
            true => {
                (-(((drawn() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64).ln() * service_ns as f64)
                    as u64
            }
            false => service_ns,
        };
        // Time has to pass, or a closed loop would never come to its end.
        let mut end_ns = begin_ns + (service_ns + jitter_ns).max(1);
        let hangs = script.hangs.iter().filter(|hang| hang.0 == request.file);
        let hangs = hangs.map(|(_, from, to)| (from, to));
        for (from, to) in script
            .stalls
            .iter()
            .map(|(from, to)| (from, to))
            .chain(hangs)
        {
            if end_ns >= self.start_ns + from && end_ns < self.start_ns + to {
                end_ns = self.start_ns + to;
            }
        }
        *free = end_ns;
        if script
            .vanishes_at_ns
            .is_some_and(|at| end_ns >= self.start_ns + at)
        {
            return;
        }
        let (low, high) = (request.offset, request.offset + u64::from(request.length));
        let hits = |from: u64, to: u64| low < to && high > from;
        let fast = script.fast_failures.iter();
        let mut fast = fast.filter(|(from, to, _)| (*from..*to).contains(&since_ns));
        let bad = script.bad.iter().find(|(from, to, _)| hits(*from, *to));
        let error = fast.next().or(bad).map(|bad| -bad.2);
        let cut = script.short.iter().any(|(from, to)| hits(*from, *to));
        let whole = if cut {
            request.length / 2
        } else {
            request.length
        } as i32;
        self.sequence += 1;
        let (at_ns, sequence, result) = (end_ns, self.sequence, error.unwrap_or(whole));
        self.events.push(Reverse(Completion {
            at_ns,
            sequence,
            worker,
            slot,
            result,
        }));
    }
}

impl SimBackend {
    /// The thread waits within a call.
    fn wait_until(&self, until_ns: u64) {
        self.now.set(until_ns);
        let stops = self.stops.get();
        let waits = stops.waits + 1;
        self.stops.set(Stops { waits, ..stops });
    }

    /// Does to files what came back as it did; gives how it came back then.
    fn act(&mut self, world: &mut World, slot: u32, result: i32) -> i32 {
        let request = self.out[slot as usize].take();
        let (Some(files), Some(request)) = (&mut world.files, request) else {
            return result;
        };
        let seat = (self.number, slot);
        if result < 0 {
            files.give_up(seat);
            return result;
        }
        let request = Request {
            length: result as u32,
            ..request
        };
        let pool = self.pool_of_slot[slot as usize] as usize;
        let buffer = &mut self.buffers[slot as usize];
        code(files.carry_out(seat, pool, &request, buffer))
    }
}

impl Backend for SimBackend {
    fn buffer_mut(&mut self, slot: u32) -> &mut [u8] {
        &mut self.buffers[slot as usize]
    }

    fn push(&mut self, slot: u32, request: Request) {
        self.queued.push((slot, request));
    }

    fn is_full(&self) -> bool {
        false
    }

    fn enter(&mut self, _want: u32, _timeout_ns: Option<u64>) -> io::Result<()> {
        let world = Rc::clone(&self.world);
        let mut world = world.borrow_mut();
        let has_submitted = !self.queued.is_empty();
        for (slot, request) in std::mem::take(&mut self.queued) {
            if world.script.submission_blocks {
                let free_ns = world.servers[request.file as usize].iter().min();
                let free_ns = *free_ns.expect("at least one server");
                if free_ns > self.now.get() {
                    self.wait_until(free_ns);
                }
            }
            if let Some(files) = &mut world.files {
                let pool = self.pool_of_slot[slot as usize] as usize;
                files.begin((self.number, slot), pool, &request);
            }
            self.out[slot as usize] = Some(request);
            world.submit(self.number, slot, request, self.now.get());
            if world.script.works_in_call
                && let Some(Reverse(own)) = world.events.pop()
            {
                assert_eq!(
                    (own.worker, own.slot),
                    (self.number, slot),
                    "all others are back"
                );
                self.wait_until(own.at_ns);
                let result = self.act(&mut world, slot, own.result);
                self.done.push((slot, result));
            }
        }
        self.submitting_calls += u64::from(has_submitted);
        if let Some((every, length_ns)) = world.script.preemption
            && has_submitted
            && self.submitting_calls.is_multiple_of(every)
        {
            self.now.set(self.now.get() + length_ns);
            let stops = self.stops.get();
            let preemptions = stops.preemptions + 1;
            self.stops.set(Stops {
                preemptions,
                ..stops
            });
        }
        Ok(())
    }

    fn reap(&mut self, mut completed: impl FnMut(u32, i32)) {
        self.done
            .drain(..)
            .for_each(|(slot, result)| completed(slot, result));
    }

    fn ready(&mut self) -> u32 {
        self.done.len() as u32
    }

    fn queued(&self) -> u32 {
        self.queued.len() as u32
    }

    fn waits_in_submission(&self) -> bool {
        !self.queued.is_empty() && self.world.borrow().script.works_in_call
    }

    fn brings_data(&self) -> bool {
        self.world.borrow().files.is_some()
    }

    fn abandon(self) {}
}
