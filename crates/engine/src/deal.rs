//! Which backend serves each pool, and how slots are dealt to workers. A worker has one backend.
use crate::kind::{BackendKind, Backends};
use crate::rule::WorkerRule;
use plan::{BoundRun, Placement, Plan, Pool, RequestMode, Stream, TargetId};
use std::collections::BTreeSet;

/// Few enough that a device does not run dry while one thread submits what it reaped together, and that
/// a neighbour on one CPU does not hold up all slots of a job (figure 16 of the benchmarks).
const SLOTS_PER_WORKER: u32 = 16;

/// The slots of one worker, by pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dealt {
    pub kind: BackendKind,
    pub pools: Vec<(usize, u32)>,
}

/// The number of workers of a run: for each of its backends by the rule, one for each pool with a
/// place of its own or whose calls may wait, and a thread per slot where a call serves one operation, whatever is asked.
pub fn planned_workers(
    plan: &Plan,
    run: &BoundRun,
    backends: Backends,
    rule: WorkerRule,
    cpus: u32,
) -> u32 {
    deal_slots(plan, run, backends, rule, cpus).len() as u32
}

/// How the slots of a run are dealt to workers.
pub(crate) fn deal_slots(
    plan: &Plan,
    run: &BoundRun,
    backends: Backends,
    rule: WorkerRule,
    cpus: u32,
) -> Vec<Dealt> {
    let pools = &run.run.pools;
    let mut dealt = Vec::new();
    for (kind, members) in backends.groups(pools) {
        let (free, placed) = apart(plan, run, kind, members);
        if !free.is_empty() {
            let workers = workers_of(kind, pools, &free, rule, cpus);
            dealt.extend(deal_group(kind, pools, &free, workers));
        }
        let own = |pool: usize| Dealt {
            kind,
            pools: vec![(pool, pools[pool].slots)],
        };
        dealt.extend(placed.into_iter().map(own));
    }
    dealt
}

/// Pools that may share workers, and those whose workers have a place, or a way of asking, of their own, or wait in calls.
/// With a thread per slot nothing is shared.
fn apart(
    plan: &Plan,
    run: &BoundRun,
    kind: BackendKind,
    members: Vec<usize>,
) -> (Vec<usize>, Vec<usize>) {
    let pools = &run.run.pools;
    let asks_nothing =
        |pool: &Pool| pool.requests == RequestMode::default() && pool.priorities.is_empty();
    // Most runs place nothing, and need not look at each pool.
    let is_placed = |stream: &Stream| stream.flow.placement != Placement::default();
    let places = run.run.streams.iter().any(is_placed);
    let is_shared = members.len() > 1;
    let is_blocked = |stream: &Stream| is_shared && keeps_worker(plan, kind, stream);
    let blocked: BTreeSet<usize> = (run.run.streams.iter().filter(|stream| is_blocked(stream)))
        .map(|stream| stream.pool.index())
        .collect();
    let is_usual = !places && blocked.is_empty() && pools.iter().all(asks_nothing);
    if kind.has_thread_per_slot() || is_usual {
        return (members, Vec::new());
    }
    let is_free = |pool: &usize| {
        asks_nothing(&pools[*pool])
            && !blocked.contains(pool)
            && (!places || placement_of(run, *pool) == Placement::default())
    };
    members.into_iter().partition(is_free)
}

/// Whether a stream needs a worker that serves nobody else. Its batches are of its own operations. Its calls may wait for
/// storage, and so would hold up what others have on the same worker: without direct I/O both kinds of queue of the kernel
/// carry transfers out within the submitting call, or wait in it.
fn keeps_worker(plan: &Plan, kind: BackendKind, stream: &Stream) -> bool {
    let has_queue = matches!(kind, BackendKind::Aio | BackendKind::Uring);
    let is_direct = |target: &TargetId| stream.open_mode(plan.target(*target)).direct;
    stream.flow.batches.are_grouped()
        || stream.flow.syncs.file_systems_at_end
        || (has_queue && !stream.targets.iter().all(is_direct))
}

fn workers_of(
    kind: BackendKind,
    pools: &[Pool],
    members: &[usize],
    rule: WorkerRule,
    cpus: u32,
) -> u32 {
    let slots: u32 = members.iter().map(|pool| pools[*pool].slots).sum();
    let slots = slots.max(1);
    let is_split = members.iter().any(|pool| !pools[*pool].has_one_submitter);
    let most = if is_split {
        slots
    } else {
        members.len() as u32
    };
    match rule {
        _ if kind.has_thread_per_slot() => slots,
        WorkerRule::Exactly(workers) => workers.clamp(1, slots),
        WorkerRule::Automatic => {
            let workers = slots.div_ceil(SLOTS_PER_WORKER);
            workers.clamp(1, cpus.max(1)).min(most)
        }
    }
}

fn deal_group(kind: BackendKind, pools: &[Pool], members: &[usize], workers: u32) -> Vec<Dealt> {
    let one = |pools: Vec<(usize, u32)>| Dealt { kind, pools };
    if kind.has_thread_per_slot() {
        let threads = |pool: &usize| vec![one(vec![(*pool, 1)]); pools[*pool].slots as usize];
        return members.iter().flat_map(threads).collect();
    }
    let workers = workers as usize;
    let mut dealt = vec![one(Vec::new()); workers];
    let load = |of: &Dealt| of.pools.iter().map(|(_, slots)| *slots).sum::<u32>();
    for pool in members {
        let slots = pools[*pool].slots;
        if members.len() >= workers || (slots as usize) < workers {
            let least = dealt.iter_mut().min_by_key(|of| load(of));
            least
                .expect("at least one worker")
                .pools
                .push((*pool, slots));
            continue;
        }
        for (worker, of) in dealt.iter_mut().enumerate() {
            let (share, rest) = (slots / workers as u32, slots % workers as u32);
            of.pools
                .push((*pool, share + u32::from((worker as u32) < rest)));
        }
    }
    dealt.retain(|of| !of.pools.is_empty());
    dealt
}

/// Where the workers of a pool run: as the first of its streams that says anything.
pub(crate) fn placement_of(run: &BoundRun, pool: usize) -> Placement {
    let mine = run
        .run
        .streams
        .iter()
        .filter(|stream| stream.pool.index() == pool);
    let mut placements = mine.map(|stream| &stream.flow.placement);
    let named = placements.find(|placement| **placement != Placement::default());
    named.cloned().unwrap_or_default()
}
