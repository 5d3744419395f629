//! One stream: its schedule, its rules, and the cells that count it.
use super::Setup;
use super::workers::{pool_sharing, shards};
use crate::arrivals::{Arrivals, Feed};
use crate::balance::Balance;
use crate::check::{self, Backlog};
use crate::flow::SharedFlow;
use crate::handover::HandoverCells;
use crate::kind::BackendKind;
use crate::locks::Locks;
use crate::op::{COUNTED, Cause, TRANSFERS, places};
use crate::pace::{self, Pace};
use crate::passes::{CachedPart, Passes};
use crate::priorities::words_of;
use crate::source::{Ground, Source};
use crate::state::{Lifetime, Recorder, SEARCH, SharedStream, Slab, WARMUP, WorkerView};
use crate::zeros::ReadSample;
use measure::{CellMemory, Sharing};
use plan::{
    AddressOrder, BoundRegion, Coupling, Generator, IoMethod, LocalStop, OpSource, Operation,
    Stream,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// A pool that several workers serve is looked at again after this time.
const FLOW_RETRY_NS: u64 = 100_000;

/// How many operations a thread of a pool claims in one go where it may.
const CLAIMED_AT_ONCE: u64 = 64;

pub(super) fn shared_stream(
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
    let phase = setup.run.streams[number].phase();
    let has_arrivals = pace.as_ref().is_none_or(Pace::has_arrivals);
    let files = match kind {
        BackendKind::Sim => stream.targets.iter().map(|target| target.0).collect(),
        _ => setup.files[number].clone(),
    };
    let source = source(setup, number, generator, seed);
    let arrivals = arrivals(stream, pace, &source, (phase, seed));
    let sharing = pool_sharing(workers, pool);
    let (kinds, flow) = flow_of(setup, number, sharing, locks);
    let counted = counted(setup, stream);
    let is_free_running =
        is_free_running(setup, stream) && arrivals.is_none() && !source.ends() && flow.is_none();
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
        ends: source.ends() || stream.lifetime.is_some(),
        last_index: last_index(stream, &source),
        resolved: AtomicU64::new(0),
        source,
        start_delay_ns: stream.start_delay.0,
        kinds,
        cause: match stream.source.replay() {
            Some(_) => Cause::Recorded,
            None => Cause::Drawn,
        },
        flow,
        batches: stream.flow.batches,
        backlog: Backlog::of(stream, seed),
        passes: passes(setup, number),
        balance: Balance::of(setup.run, number),
        fills: pace::fills(stream),
        tolerance: stream.flow.tolerance.clone().map(Box::new),
        cut_off_ns: AtomicU64::new(0),
        lifetime: Lifetime::of(setup.run, number),
        recorders: recorders(setup, stream, (shard_count, kinds.len()), memory),
        samples: (0..counted).map(|_| ReadSample::default()).collect(),
        counted,
        targets: stream.targets.clone(),
    }
}

/// The schedule of a stream, where it has one. It may need a copy of the source, which nobody has drawn from yet.
fn arrivals(
    stream: &Stream,
    pace: Option<Pace>,
    source: &Source,
    (phase, seed): (f64, (u64, u64, u64)),
) -> Option<Arrivals> {
    let Some(pace) = pace.filter(Pace::has_arrivals) else {
        return Arrivals::of_record(stream.source.replay()?);
    };
    let arrivals = Arrivals::new(&pace, phase, seed);
    Some(match pace.is_in_bytes() {
        true => arrivals.rehearsing(source.clone()),
        false => arrivals,
    })
}

fn passes(setup: &Setup<'_>, number: usize) -> Option<Box<Passes>> {
    let stream = &setup.run.run.streams[number];
    let laws = match &stream.source {
        OpSource::Generator(laws) if laws.operations.trim_pct < 100.0 => laws,
        _ => return None,
    };
    let method = setup.run.run.pools[stream.pool.index()].method;
    if matches!(method, Some(IoMethod::Names(_))) {
        return None;
    }
    let open = setup.open?;
    let regions = &setup.run.streams[number].regions;
    let places = places(&stream.targets);
    let part = |region: &BoundRegion| {
        let place = *places.get(&region.target)?;
        let file = *setup.files.get(number)?.get(place as usize)? as usize;
        let (low, end) = region.extent();
        open.modes.get(file)?.drops_cache.then_some(CachedPart {
            file: Arc::downgrade(open.files.get(file)?),
            bytes: low..end,
        })
    };
    let parts = regions.iter().filter_map(part).collect();
    Passes::of(laws, regions, stream.stop, parts)
}

fn source(
    setup: &Setup<'_>,
    number: usize,
    generator: &Generator,
    seed: (u64, u64, u64),
) -> Source {
    let stream = &setup.run.run.streams[number];
    if let Some(replay) = stream.source.replay() {
        return Source::of_record(replay, stream.stop);
    }
    if let Some(walk) = check::walk(&setup.writing(), number) {
        return Source::of_walk(walk, stream.stop);
    }
    let ground = Ground {
        targets: &stream.targets,
        order: stream.target_order,
        regions: &setup.run.streams[number].regions,
    };
    let AddressOrder::Rehearsed(writes) = &generator.order else {
        return Source::of_laws(generator, &ground, stream.stop, seed);
    };
    let writes = Source::of_laws(writes, &ground, stream.stop, seed);
    let walk = check::rehearsed(&setup.writing(), number, &writes);
    Source::of_walk(walk, LocalStop::default())
}

/// Whether nothing of a run depends on which thread issues which operation of a stream.
fn is_free_running(setup: &Setup<'_>, stream: &Stream) -> bool {
    let run = &setup.run.run;
    stream.lifetime.is_none()
        && (run.coupling == Coupling::Independent || run.streams.len() == 1)
        && setup.kind_of(stream.pool.index()).has_thread_per_slot()
}

/// See [`SharedStream::last_index`].
fn last_index(stream: &Stream, source: &Source) -> u64 {
    let is_timed = |replay: &plan::Replay| replay.follows_times;
    match stream.source.replay().is_some_and(is_timed) {
        true => source.operations_limit().saturating_sub(1),
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
                free_lateness: memory.latency(),
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
