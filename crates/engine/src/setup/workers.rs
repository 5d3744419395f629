//! The workers of a run, and how many recorders their threads have.
use super::Setup;
use crate::deal::{Dealt, placement_of};
use crate::kind::BackendKind;
use crate::priorities::Priorities;
use crate::random::{Draws, Purpose};
use crate::state::{LateView, SlotView, WorkerUsage, WorkerView};
use measure::{CellMemory, Sharing};
use std::sync::atomic::AtomicU64;

pub(super) fn worker_views(
    dealt: &[Dealt],
    setup: &Setup<'_>,
    memory: &mut CellMemory,
) -> Vec<WorkerView> {
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
            begun_late_ns: AtomicU64::new(u64::MAX),
        }
    });
    views.collect()
}

/// Whether one worker alone serves a pool.
pub(super) fn pool_sharing(workers: &[WorkerView], pool: usize) -> Sharing {
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
pub(super) fn shards(setup: &Setup<'_>, pool: usize) -> u32 {
    let slots = setup.run.run.pools[pool].slots.max(1);
    if setup.run.slots() <= RECORDERS_OF_THEIR_OWN {
        slots
    } else {
        slots.min(setup.cpus).max(1)
    }
}

fn priorities(setup: &Setup<'_>, pool: usize) -> Option<Priorities> {
    let streams = &setup.run.run.streams;
    let uses = |stream: &plan::Stream| stream.pool.index() == pool;
    let stream = streams.iter().position(uses)?;
    let seed = setup.run.streams[stream].seed;
    let run = setup.plan.plan.draw_number(setup.run.id);
    let draws = Draws::new(seed, run, pool as u64, Purpose::Priority);
    Priorities::of(&setup.run.run.pools[pool], draws)
}
