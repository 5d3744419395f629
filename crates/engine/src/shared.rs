//! What the workers of a run share, and what others may read of it while they work.
use crate::arrivals::{Arrivals, Feed};
use crate::balance::Balance;
use crate::check::{self, Backlog, Checks};
use crate::data::WriteData;
use crate::deal::{Dealt, deal_slots, placement_of};
use crate::draw::{self, Drawer, Ground};
use crate::flow::SharedFlow;
use crate::generations::{Generations, Writing};
use crate::handover::HandoverCells;
use crate::kind::{BackendKind, Backends};
use crate::lifetime::Lifetime;
use crate::locks::Locks;
use crate::op::{COUNTED, Cause, DueSync, LENGTH_LIMIT, Op, OpCell, TRANSFERS, place_counted};
use crate::pace::{self, Pace};
use crate::priorities::{Priorities, words_of};
use crate::random::{Draws, Purpose};
use crate::rule::WorkerRule;
use measure::{CellMemory, FigureCell, LatencyCell, Sharing};
use plan::{
    BoundPlan, BoundRun, Coupling, Generator, Load, OpSource, Operation, Placement, PoolAdmission,
    Stream, TargetId,
};
use std::sync::Mutex;
use std::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed},
};
use std::sync::mpsc::SyncSender;

/// A pool that several workers serve is looked at again after this time.
const FLOW_RETRY_NS: u64 = 100_000;

/// How far a stream may run ahead of the slowest one when their proportions are held, in
/// operations of the run.
const PROPORTION_WINDOW: f64 = 256.0;

/// The fastest schedule, in arrivals per second: beyond what any host submits, and counting it
/// would take longer than the run.
const FASTEST_SCHEDULE: f64 = 1e8;

/// How many operations a thread of a pool claims in one go where it may.
const CLAIMED_AT_ONCE: u64 = 64;

const TOO_FAST: &str = "more than 100 million arrivals per second";

/// A failed operation as the worker saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub at_ns: u64,
    pub stream: u32,
    pub place: u32,
    pub operation: Operation,
    pub offset: u64,
    pub length: u32,
    pub errno: i32,
    /// Of a read that came back with other data than it should.
    pub misfit: Option<Box<measure::Misfit>>,
}

/// Everything about a run that its workers share.
#[derive(Debug)]
pub(crate) struct SharedRun {
    pub start_ns: AtomicU64,
    pub interval_ns: u64,
    /// No operation is issued at or after this time.
    pub stop_ns: AtomicU64,
    /// Workers leave what is in flight and return.
    pub abandon: AtomicBool,
    pub streams: Vec<SharedStream>,
    pub pools: Vec<SharedPool>,
    pub workers: Vec<WorkerView>,
    pub proportion: Option<Proportion>,
    pub data: WriteData,
    /// Only for runs that check data.
    pub checks: Option<Checks>,
    pub failures: SyncSender<Failure>,
    pub failures_lost: AtomicU64,
    /// Failures that ended their stream and found no room.
    pub failures_beyond: Mutex<Vec<Failure>>,
    /// Whether workers note how operations are handed over.
    pub notes_handover: bool,
    pub operations_lost: AtomicU64,
    /// How often a worker waited until an operation could be kept, and how long in all.
    pub operation_waits: AtomicU64,
    pub operation_waits_ns: AtomicU64,
}

/// One stream.
#[derive(Debug)]
pub(crate) struct SharedStream {
    pub pool: usize,
    /// Lower is more urgent.
    pub priority: u32,
    pub targets: Vec<TargetId>,
    /// How many of its targets, from the first, have counts of their own: all, or one for all of them.
    pub counted: usize,
    /// File numbers by target.
    pub files: Vec<u32>,
    pub drawer: Drawer,
    pub next_index: AtomicU64,
    /// How many numbers a worker claims in one go: several where threads would fight over the count
    /// and nothing depends on it.
    pub claimed_at_once: u64,
    /// Whether one worker alone serves the pool of the stream.
    pub sharing: Sharing,
    pub feed: Option<Feed>,
    /// The same schedule for whoever counts it.
    pub arrivals: Option<Arrivals>,
    pub ended: AtomicBool,
    /// Whether the stream ends by itself.
    pub ends: bool,
    /// The number of the last operation where no arrival behind it would tell the end: of a record
    /// that follows its times. The largest number elsewhere.
    pub last_index: u64,
    /// Of a stream that ends: numbers drawn that came back, or were beyond its end.
    pub resolved: AtomicU64,
    pub start_delay_ns: u64,
    /// The operations that it has cells for, in their order.
    pub kinds: &'static [Operation],
    /// Why what it draws is done.
    pub cause: Cause,
    /// What it does beside drawing.
    pub flow: Option<Box<SharedFlow>>,
    /// How many go out and come back together, where the rules of a flow do not hold them back.
    pub batches: plan::Batches,
    /// Only for streams that read back, or discard, while they write.
    pub backlog: Option<Box<Backlog>>,
    /// Only for streams that are kept in proportion to others.
    pub balance: Option<Box<Balance>>,
    /// What takes the slots that its schedule leaves, where that asks for other operations only.
    pub fills: Option<Operation>,
    /// Looked at when something fails.
    pub tolerance: Option<Box<plan::Tolerance>>,
    /// Only for streams whose time is not that of the run.
    pub lifetime: Option<Box<Lifetime>>,
    pub recorders: Vec<Recorder>,
}

/// Counts of one stream by one writer or group of writers: a slab for even intervals, one for odd
/// ones, one for what comes back after the stop, one for the warm-up of the stream, and one for its
/// search of a depth.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub slabs: [Slab; SLABS],
}

/// How many slabs a recorder has.
pub(crate) const SLABS: usize = 5;

/// The slab of what comes back after the stop; it belongs to no interval, and its values are ages at
/// the stop.
pub(crate) const AFTER_STOP: usize = 2;

/// The slab of what is seen in the warm-up of a stream that has its own; it is not measured.
pub(crate) const WARMUP: usize = 3;

/// The slab of what is seen while a stream looks for its depth; it is measured only where the stream
/// ends before that is found.
pub(crate) const SEARCH: usize = 4;

#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Slab {
    /// By place of the target and operation, as many as the stream has kinds.
    pub cells: Vec<FigureCell>,
    pub lateness: LatencyCell,
    pub submitted: AtomicU64,
    /// Of those, what follows no schedule in a stream that has one.
    pub unscheduled: AtomicU64,
    /// Only for runs that ask for it.
    pub handover: Option<Box<HandoverCells>>,
}

/// One pool over all workers.
#[derive(Debug)]
pub(crate) struct SharedPool {
    pub slots: u32,
    pub admission: PoolAdmission,
    pub sharing: Sharing,
    /// The stream that is next to issue, of those in the pool.
    pub turn: AtomicUsize,
    pub in_use: AtomicU32,
    /// Since when no slot is free; zero while one is.
    pub exhausted_since_ns: AtomicU64,
    pub exhausted_ns: AtomicU64,
    /// How long operations that failed were in flight, by slab; latencies are of those that succeeded.
    pub failed_ns: [AtomicU64; SLABS],
}

/// What a worker shows of itself. Aligned, as what threads write for each operation must not lie in
/// one cache line (or in a pair that is fetched together) with what another thread writes.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct WorkerView {
    pub kind: BackendKind,
    pub slots: Vec<SlotView>,
    /// By slot.
    pub late: Vec<LateView>,
    pub pool_of_slot: Vec<u32>,
    pub placement: Placement,
    /// Whether its pool wants transfers to fail that would wait.
    pub never_waits: bool,
    /// Where single transfers have priorities; the worker takes a copy.
    pub priorities: Option<Priorities>,
    /// Index into [`SharedStream::recorders`].
    pub shard: usize,
    pub sharing: Sharing,
    pub cpu_ns: AtomicU64,
    pub usage: WorkerUsage,
    pub submit_calls: AtomicU64,
    pub submit_ns: AtomicU64,
    pub reaps: AtomicU64,
    pub reap_gaps: LatencyCell,
    pub wakeups: AtomicU64,
    pub clamped: AtomicU64,
}

/// What a worker's thread has used since the start of the run.
#[derive(Debug, Default)]
pub(crate) struct WorkerUsage {
    pub user_ns: AtomicU64,
    pub system_ns: AtomicU64,
    pub context_switches: AtomicU64,
    pub minor_faults: AtomicU64,
    pub major_faults: AtomicU64,
}

/// One slot, readable from outside: how old is what is in flight, and what is it.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct SlotView {
    /// Zero while the slot is free.
    pub started_ns: AtomicU64,
    pub arrival_ns: AtomicU64,
    pub op: OpCell,
}

const _: () = assert!(size_of::<SlotView>() == 64, "a line of the cache");

/// The last operation of a slot that was in flight at the end and came back well after it.
#[derive(Debug, Default)]
pub(crate) struct LateView {
    /// How long after; zero for none.
    pub after_ns: AtomicU64,
    pub age_ns: AtomicU64,
    pub op: OpCell,
}

/// Keeps the streams of a run in the proportion of their shares.
#[derive(Debug)]
pub(crate) struct Proportion {
    /// By stream; `None` for those that follow a schedule.
    per_share: Vec<Option<f64>>,
    /// A lower bound of the slowest stream's progress, as bits of an f64.
    slowest: AtomicU64,
}

/// What of a load this build cannot carry out, if anything.
pub fn unsupported_load(load: &Load) -> Option<String> {
    match load {
        Load::Rate { per_second } if *per_second > FASTEST_SCHEDULE => Some(TOO_FAST.to_owned()),
        _ => None,
    }
}

/// What of a run this build cannot carry out, in words; empty when all of it can be.
pub fn unsupported(run: &BoundRun) -> Vec<String> {
    let mut found = Vec::new();
    let mut add = |what: String| {
        if !found.contains(&what) {
            found.push(what);
        }
    };
    unsupported_load(&run.run.load)
        .into_iter()
        .for_each(&mut add);
    let paces = pace::paces(run, None, None);
    let is_too_fast = |pace: &Pace| pace.fastest() > FASTEST_SCHEDULE;
    if paces.iter().flatten().any(is_too_fast) {
        add(TOO_FAST.to_owned());
    }
    check::unsupported(run).into_iter().for_each(&mut add);
    for stream in &run.run.streams {
        match &stream.source {
            OpSource::Generator(generator) => {
                if let Some(what) = draw::unsupported(generator) {
                    add(what.to_owned());
                }
                if generator.largest_transfer() >= LENGTH_LIMIT {
                    add("transfers of 256 MiB or more".to_owned());
                }
            }
            OpSource::Replay(replay) => {
                if !replay.is_whole() {
                    add(format!(
                        "replay of `{}` without the file of the job",
                        replay.name
                    ));
                }
                if replay.envelope.largest_transfer() >= LENGTH_LIMIT {
                    add("transfers of 256 MiB or more".to_owned());
                }
            }
            OpSource::Tree { .. } => add("trees of files".to_owned()),
            OpSource::Verify => add("verification".to_owned()),
        }
        if stream.flow.depth_search.is_some() && stream.lifetime.is_none() {
            add("a search of the depth by a stream without a time of its own".to_owned());
        }
        if pace::leaves_several_unpaced(stream) {
            add("a rate for one direction of a mix and none for two others".to_owned());
        }
    }
    found
}

/// Everything that is needed to set up a [`SharedRun`].
pub(crate) struct Setup<'a> {
    pub plan: &'a BoundPlan,
    pub run: &'a BoundRun,
    pub files: &'a [Vec<u32>],
    /// By stream, the syncs at its end that the places of its files lead to; empty where no stream has any.
    pub last_syncs: &'a [Vec<DueSync>],
    pub backends: Backends,
    pub workers: WorkerRule,
    pub cpus: u32,
    pub run_rate: Option<f64>,
    pub shares_pct: Option<&'a [f64]>,
    pub nonce: u64,
    pub generations: &'a Generations,
}

impl Setup<'_> {
    fn kind_of(&self, pool: usize) -> BackendKind {
        self.backends.of(&self.run.run.pools[pool])
    }

    fn writing(&self) -> Writing<'_> {
        Writing {
            plan: self.plan,
            run: self.run,
            nonce: self.nonce,
            generations: self.generations,
        }
    }
}

impl SharedRun {
    pub(crate) fn new(setup: &Setup<'_>, failures: SyncSender<Failure>) -> Self {
        let run = setup.run;
        let dealt = deal_slots(run, setup.backends, setup.workers, setup.cpus);
        let mut memory = CellMemory::default();
        let workers = worker_views(&dealt, setup, &mut memory);
        let plan = &setup.plan.plan;
        let number = plan.draw_number(run.id);
        let seed = |stream: usize| (plan.seed, number, stream as u64);
        let paces = pace::paces(run, setup.run_rate, setup.shares_pct);
        let streams: Vec<SharedStream> = (paces.into_iter().zip(Locks::of_run(run)))
            .enumerate()
            .map(|(number, (pace, locks))| {
                let seed = seed(number);
                shared_stream(setup, number, pace, &workers, seed, locks, &mut memory)
            })
            .collect();
        let pools = run
            .run
            .pools
            .iter()
            .enumerate()
            .map(|(number, pool)| SharedPool {
                slots: pool.slots,
                admission: pool.admission,
                sharing: pool_sharing(&workers, number),
                turn: AtomicUsize::new(0),
                in_use: AtomicU32::new(0),
                exhausted_since_ns: AtomicU64::new(0),
                exhausted_ns: AtomicU64::new(0),
                failed_ns: <[AtomicU64; SLABS]>::default(),
            });
        let pools = pools.collect();
        let writing = setup.writing();
        let checks = Checks::new(&writing);
        Self {
            start_ns: AtomicU64::new(0),
            interval_ns: run.run.timing.interval.0.max(1),
            stop_ns: AtomicU64::new(u64::MAX),
            abandon: AtomicBool::new(false),
            proportion: Proportion::of(run, setup.shares_pct, &streams),
            streams,
            pools,
            workers,
            data: WriteData::new(&writing),
            checks,
            failures,
            failures_lost: AtomicU64::new(0),
            failures_beyond: Mutex::default(),
            notes_handover: setup.plan.plan.reporting.handover,
            operations_lost: AtomicU64::new(0),
            operation_waits: AtomicU64::new(0),
            operation_waits_ns: AtomicU64::new(0),
        }
    }

    /// Whether every stream that can end has ended and nothing of it is in flight, and there is one.
    /// What streams without an end have in flight does not matter.
    pub(crate) fn is_done(&self) -> bool {
        let mut ending = self.streams.iter().filter(|stream| stream.ends).peekable();
        ending.peek().is_some() && ending.all(SharedStream::is_done)
    }

    pub(crate) fn in_flight(&self) -> u32 {
        self.pools
            .iter()
            .map(|pool| pool.in_use.load(Relaxed))
            .sum()
    }
}

fn worker_views(dealt: &[Dealt], setup: &Setup<'_>, memory: &mut CellMemory) -> Vec<WorkerView> {
    let mut threads_of_pool = vec![0_u32; setup.run.run.pools.len()];
    // Of workers with many slots, those before.
    let mut of_kind: Vec<BackendKind> = Vec::new();
    let views = dealt.iter().map(|Dealt { kind, pools: of }| {
        let slots: Vec<u32> = of
            .iter()
            .flat_map(|(pool, n)| (0..*n).map(|_| *pool as u32))
            .collect();
        let (shard, sharing) = if kind.has_thread_per_slot() {
            let pool = of[0].0;
            let thread = threads_of_pool[pool];
            threads_of_pool[pool] += 1;
            let shards = shards(setup, pool);
            let own = shards == setup.run.run.pools[pool].slots;
            let sharing = if own {
                Sharing::OneWriter
            } else {
                Sharing::ManyWriters
            };
            ((thread % shards) as usize, sharing)
        } else {
            let number = of_kind.iter().filter(|other| *other == kind).count();
            of_kind.push(*kind);
            (number, Sharing::OneWriter)
        };
        WorkerView {
            kind: *kind,
            slots: slots.iter().map(|_| SlotView::default()).collect(),
            late: slots.iter().map(|_| LateView::default()).collect(),
            pool_of_slot: slots,
            placement: placement_of(setup.run, of[0].0),
            never_waits: setup.run.run.pools[of[0].0].requests.never_waits,
            priorities: priorities(setup, of[0].0),
            shard,
            sharing,
            cpu_ns: AtomicU64::new(0),
            usage: WorkerUsage::default(),
            submit_calls: AtomicU64::new(0),
            submit_ns: AtomicU64::new(0),
            reaps: AtomicU64::new(0),
            reap_gaps: memory.latency(),
            wakeups: AtomicU64::new(0),
            clamped: AtomicU64::new(0),
        }
    });
    views.collect()
}

/// Whether one worker alone serves a pool.
fn pool_sharing(workers: &[WorkerView], pool: usize) -> Sharing {
    let serves = |worker: &&WorkerView| worker.pool_of_slot.contains(&(pool as u32));
    if workers.iter().filter(serves).count() > 1 {
        Sharing::ManyWriters
    } else {
        Sharing::OneWriter
    }
}

/// Up to this many threads of a run have a recorder each; more share them, as one each would not fit
/// into caches or memory.
const RECORDERS_OF_THEIR_OWN: u32 = 128;

/// How many recorders the threads of a pool have. Sharing costs a locked addition per count.
fn shards(setup: &Setup<'_>, pool: usize) -> u32 {
    let slots = setup.run.run.pools[pool].slots.max(1);
    if setup.run.slots() <= RECORDERS_OF_THEIR_OWN {
        slots
    } else {
        slots.min(setup.cpus).max(1)
    }
}

fn shared_stream(
    setup: &Setup<'_>,
    number: usize,
    pace: Option<Pace>,
    workers: &[WorkerView],
    seed: (u64, u64, u64),
    locks: Option<Locks>,
    memory: &mut CellMemory,
) -> SharedStream {
    let stream = &setup.run.run.streams[number];
    let Some(generator) = stream.source.laws() else {
        unreachable!("refused by `unsupported`");
    };
    let pool = stream.pool.index();
    let kind = setup.kind_of(pool);
    let shard_count = match kind {
        kind if kind.has_thread_per_slot() => shards(setup, pool) as usize,
        kind => workers.iter().filter(|worker| worker.kind == kind).count(),
    };
    let phase = number as f64 / setup.run.run.streams.len() as f64;
    let has_arrivals = pace.as_ref().is_none_or(Pace::has_arrivals);
    let arrivals = pace
        .filter(|_| has_arrivals)
        .map(|pace| Arrivals::new(&pace, phase, seed))
        .or_else(|| Arrivals::of_record(stream.source.replay()?));
    let files = match kind {
        BackendKind::Sim => stream.targets.iter().map(|target| target.0).collect(),
        _ => setup.files[number].clone(),
    };
    let drawer = drawer(setup, number, generator, seed);
    let sharing = pool_sharing(workers, pool);
    let (kinds, flow) = flow_of(setup, number, sharing, locks);
    let is_free_running =
        is_free_running(setup, stream) && arrivals.is_none() && !drawer.ends() && flow.is_none();
    SharedStream {
        pool,
        priority: stream.priority.unwrap_or(u32::MAX),
        files,
        next_index: AtomicU64::new(0),
        claimed_at_once: match (sharing, is_free_running) {
            (Sharing::ManyWriters, true) => CLAIMED_AT_ONCE,
            _ => 1,
        },
        sharing,
        feed: arrivals.clone().map(Feed::new),
        arrivals,
        ended: AtomicBool::new(!has_arrivals),
        ends: drawer.ends() || stream.lifetime.is_some(),
        last_index: last_index(stream, &drawer),
        resolved: AtomicU64::new(0),
        drawer,
        start_delay_ns: stream.start_delay.0,
        kinds,
        cause: match stream.source.replay() {
            Some(_) => Cause::Recorded,
            None => Cause::Drawn,
        },
        flow,
        batches: stream.flow.batches,
        backlog: Backlog::of(stream, seed),
        balance: Balance::of(setup.run, number),
        fills: pace::fills(stream),
        tolerance: stream.flow.tolerance.clone().map(Box::new),
        lifetime: Lifetime::of(setup.run, number),
        recorders: recorders(setup, stream, (shard_count, kinds.len()), memory),
        counted: counted(setup, stream),
        targets: stream.targets.clone(),
    }
}

fn drawer(
    setup: &Setup<'_>,
    number: usize,
    generator: &Generator,
    seed: (u64, u64, u64),
) -> Drawer {
    let stream = &setup.run.run.streams[number];
    Drawer::new(
        generator,
        &Ground {
            targets: &stream.targets,
            order: stream.target_order,
            regions: &setup.run.streams[number].regions,
        },
        stream.stop,
        seed,
    )
    .with_record(stream.source.replay())
    .reading_back(check::walk(&setup.writing(), number))
}

/// Whether nothing of a run depends on which thread issues which operation of a stream.
fn is_free_running(setup: &Setup<'_>, stream: &Stream) -> bool {
    let run = &setup.run.run;
    stream.lifetime.is_none()
        && (run.coupling == Coupling::Independent || run.streams.len() == 1)
        && setup.kind_of(stream.pool.index()).has_thread_per_slot()
}

/// See [`SharedStream::last_index`].
fn last_index(stream: &Stream, drawer: &Drawer) -> u64 {
    let is_timed = |replay: &plan::Replay| replay.follows_times;
    match stream.source.replay().is_some_and(is_timed) {
        true => drawer.operations_limit().saturating_sub(1),
        false => u64::MAX,
    }
}

/// What a stream does beside drawing, and the operations that it counts then.
fn flow_of(
    setup: &Setup<'_>,
    number: usize,
    sharing: Sharing,
    locks: Option<Locks>,
) -> (&'static [Operation], Option<Box<SharedFlow>>) {
    let stream = &setup.run.run.streams[number];
    let slots = setup.run.run.pools[stream.pool.index()].slots;
    let last_syncs = setup.last_syncs.get(number).cloned().unwrap_or_default();
    let waits_for_others = sharing == Sharing::ManyWriters || locks.is_some();
    let retry_ns = waits_for_others.then_some(FLOW_RETRY_NS);
    let flow = SharedFlow::of(stream.flow.clone(), stream.targets.len(), slots, retry_ns)
        .map(|flow| flow.with(last_syncs, locks));
    let has_syncs = stream.flow.syncs != plan::Syncs::default()
        || stream.source.replay().is_some_and(plan::Replay::has_syncs);
    (if has_syncs { COUNTED } else { TRANSFERS }, flow)
}

/// How many targets of a stream have counts of their own.
fn counted(setup: &Setup<'_>, stream: &Stream) -> usize {
    let most = setup.plan.plan.reporting.counted_apart_max;
    match most.is_some_and(|most| stream.targets.len() > most as usize) {
        true => 1,
        false => stream.targets.len(),
    }
}

/// One for each of so many writers or groups of writers, for so many kinds of operations.
fn recorders(
    setup: &Setup<'_>,
    stream: &Stream,
    (count, kinds): (usize, usize),
    memory: &mut CellMemory,
) -> Vec<Recorder> {
    let cells = counted(setup, stream) * kinds;
    let handover = |memory: &mut CellMemory| handover_cells(setup, stream, memory);
    let is_used = |slab: usize| match slab {
        WARMUP => stream.lifetime.is_some(),
        SEARCH => stream.flow.depth_search.is_some(),
        _ => true,
    };
    (0..count)
        .map(|_| Recorder::new(cells, is_used, memory, handover))
        .collect()
}

fn priorities(setup: &Setup<'_>, pool: usize) -> Option<Priorities> {
    let plan = &setup.plan.plan;
    let (seed, run) = (plan.seed, plan.draw_number(setup.run.id));
    let draws = Draws::new(seed, run, pool as u64, Purpose::Priority);
    Priorities::of(&setup.run.run.pools[pool], draws)
}

fn handover_cells(
    setup: &Setup<'_>,
    stream: &Stream,
    memory: &mut CellMemory,
) -> Option<Box<HandoverCells>> {
    let splits = match setup.kind_of(stream.pool.index()) {
        kind if kind.has_thread_per_slot() => false,
        // With one slot nothing is handed over: the operation is done within the call.
        BackendKind::Null => setup.run.run.pools[stream.pool.index()].slots > 1,
        _ => setup.run.run.pools[stream.pool.index()]
            .requests
            .submitter
            .is_none(),
    };
    let asked = setup.plan.plan.reporting.handover;
    let words = words_of(&setup.run.run.pools[stream.pool.index()]);
    asked.then(|| Box::new(HandoverCells::of(stream, splits, &words, memory)))
}

impl Recorder {
    fn new(
        cells: usize,
        is_used: impl Fn(usize) -> bool,
        memory: &mut CellMemory,
        handover: impl Fn(&mut CellMemory) -> Option<Box<HandoverCells>>,
    ) -> Self {
        let slab = |number: usize| {
            let is_used = is_used(number);
            let cells = if is_used { cells } else { 0 };
            Slab {
                cells: (0..cells).map(|_| memory.figure()).collect(),
                lateness: memory.latency(),
                submitted: AtomicU64::new(0),
                unscheduled: AtomicU64::new(0),
                handover: if is_used { handover(memory) } else { None },
            }
        };
        Self {
            slabs: std::array::from_fn(slab),
        }
    }
}

impl SharedStream {
    pub(crate) fn is_done(&self) -> bool {
        let is_syncing = || {
            let flow = self.flow.as_ref();
            flow.is_some_and(|flow| flow.has_syncs_in_flight())
        };
        let is_reading_back = || {
            let backlog = self.backlog.as_ref();
            backlog.is_some_and(|backlog| backlog.has_in_flight())
        };
        self.ended.load(Acquire) && self.is_resolved() && !is_syncing() && !is_reading_back()
    }

    /// How many cells each of its slabs has.
    pub(crate) fn cells(&self) -> usize {
        self.counted * self.kinds.len()
    }

    /// The cell of a slab that counts an operation.
    #[inline]
    pub(crate) fn cell(&self, op: &Op) -> usize {
        let place = op.object.place as usize;
        let counted = if place < self.counted { place } else { 0 };
        counted * self.kinds.len() + place_counted(op.kind)
    }

    /// What the cell of a slab counts: the place of a target, and the operation.
    pub(crate) fn counted_by(&self, cell: usize) -> (usize, Operation) {
        (cell / self.kinds.len(), self.kinds[cell % self.kinds.len()])
    }

    /// By how much its pauses have moved its schedule.
    pub(crate) fn moved_ns(&self) -> u64 {
        self.flow.as_ref().map_or(0, |flow| flow.moved_ns())
    }

    /// Of a stream that ends: whether all numbers that were claimed have come back.
    pub(crate) fn is_resolved(&self) -> bool {
        self.resolved.load(Acquire) == self.next_index.load(Acquire)
    }

    /// Whether its next operation lies beyond its end, as far as that is a count.
    pub(crate) fn is_spent(&self) -> bool {
        self.drawer.is_spent(self.next_index.load(Relaxed))
    }

    /// The first of the next [`SharedStream::claimed_at_once`] operations.
    #[inline]
    pub(crate) fn claim(&self) -> u64 {
        let count = self.claimed_at_once;
        match self.sharing {
            Sharing::OneWriter => {
                let index = self.next_index.load(Relaxed);
                self.next_index.store(index + count, Relaxed);
                index
            }
            Sharing::ManyWriters => self.next_index.fetch_add(count, Relaxed),
        }
    }
}

impl SharedPool {
    /// Counts a slot as used, and notes when that was the last free one.
    #[inline]
    pub(crate) fn take(&self, now_ns: u64) {
        let before = match self.sharing {
            Sharing::OneWriter => {
                let before = self.in_use.load(Relaxed);
                self.in_use.store(before + 1, Relaxed);
                before
            }
            Sharing::ManyWriters => self.in_use.fetch_add(1, Relaxed),
        };
        if before + 1 == self.slots {
            self.exhausted_since_ns.store(now_ns, Relaxed);
        }
    }

    #[inline]
    pub(crate) fn give_back(&self, count: u32, now_ns: u64) {
        let before = match self.sharing {
            Sharing::OneWriter => {
                let before = self.in_use.load(Relaxed);
                self.in_use.store(before - count, Relaxed);
                before
            }
            Sharing::ManyWriters => self.in_use.fetch_sub(count, Relaxed),
        };
        if before == self.slots {
            let since = self.exhausted_since_ns.swap(0, Relaxed);
            if since > 0 {
                self.exhausted_ns
                    .fetch_add(now_ns.saturating_sub(since), Relaxed);
            }
        }
    }

    /// Time without a free slot up to `at_ns`.
    pub(crate) fn exhausted_until(&self, at_ns: u64) -> u64 {
        let running_ns = match self.exhausted_since_ns.load(Relaxed) {
            0 => 0,
            since_ns => at_ns.saturating_sub(since_ns),
        };
        self.exhausted_ns.load(Relaxed) + running_ns
    }
}

impl Proportion {
    fn of(run: &BoundRun, shares_pct: Option<&[f64]>, streams: &[SharedStream]) -> Option<Self> {
        let holds = matches!(
            run.run.coupling,
            Coupling::Proportional | Coupling::Priority
        );
        // Streams with a schedule keep to that, and neither hold back others nor are held back.
        let members = streams.iter().filter(|stream| stream.feed.is_none());
        let share = |(number, stream): (usize, &Stream)| {
            let share_pct = shares_pct.map_or(stream.share_pct, |shares| shares[number]);
            let is_member = streams[number].feed.is_none();
            is_member.then(|| 1.0 / share_pct.max(1e-9) * 100.0)
        };
        let per_share = run.run.streams.iter().enumerate().map(share).collect();
        (holds && members.count() > 1).then_some(Self {
            per_share,
            slowest: AtomicU64::new(0.0_f64.to_bits()),
        })
    }

    /// Whether stream `number` may issue now without leaving the slowest too far behind.
    pub(crate) fn allows(&self, number: usize, streams: &[SharedStream]) -> bool {
        let progress = |number: usize| {
            let per_share = self.per_share[number]?;
            Some(streams[number].next_index.load(Relaxed) as f64 * per_share)
        };
        let Some(mine) = progress(number) else {
            return true;
        };
        if mine <= f64::from_bits(self.slowest.load(Relaxed)) + PROPORTION_WINDOW {
            return true;
        }
        let active = (0..streams.len()).filter(|n| !streams[*n].ended.load(Relaxed));
        let slowest = active.filter_map(progress).fold(f64::INFINITY, f64::min);
        if slowest.is_finite() {
            self.slowest.store(slowest.to_bits(), Relaxed);
        }
        mine <= slowest + PROPORTION_WINDOW
    }
}
