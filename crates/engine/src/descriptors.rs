//! Runs over more files than may be open at a time: how many of them each worker may hold. Where all files of a run may
//! be open, nothing of this is used.
use crate::deal::deal_slots;
use crate::files::OnDemand;
use crate::kind::{BackendKind, Backends};
use crate::rule::WorkerRule;
use crate::state::{SharedRun, WorkerView};
use plan::{BoundPlan, BoundRun};
use std::collections::BTreeSet;

/// Of each worker, beside its files: its ring, two timers, and the file that takes the place of another.
const OWN_OF_WORKER: usize = 4;

/// How many files each worker may have open.
pub(crate) fn rooms(files: &OnDemand, shared: &SharedRun) -> Vec<usize> {
    let files_of_pool = |pool: usize| {
        let streams = shared.streams.iter().filter(|one| one.pool == pool);
        let used: BTreeSet<u32> = streams.flat_map(|one| one.files.iter().copied()).collect();
        used.len()
    };
    let files_of_pool: Vec<usize> = (0..shared.pools.len()).map(files_of_pool).collect();
    let demand = |worker: &WorkerView| {
        let pools: BTreeSet<u32> = worker.pool_of_slot.iter().copied().collect();
        let held = pools.iter().map(|pool| files_of_pool[*pool as usize]).sum();
        Demand::of(worker.kind, worker.slots.len(), held)
    };
    let demands: Vec<Demand> = shared.workers.iter().map(demand).collect();
    let own = OWN_OF_WORKER * demands.len();
    share_out(&demands, files.descriptors.saturating_sub(own))
}

/// What a worker needs and can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Demand {
    /// One for each of its slots, as what is in flight stays open.
    least: usize,
    most: usize,
}

impl Demand {
    fn of(kind: BackendKind, slots: usize, files: usize) -> Self {
        match kind {
            BackendKind::Names | BackendKind::Null | BackendKind::Sim => Self { least: 0, most: 0 },
            _ => Self {
                least: slots.min(files),
                most: files,
            },
        }
    }
}

/// Each gets what it needs, and what is left goes to all in equal parts, as far as they can use it.
fn share_out(demands: &[Demand], descriptors: usize) -> Vec<usize> {
    let mut rooms: Vec<usize> = demands.iter().map(|demand| demand.least).collect();
    let mut spare = descriptors.saturating_sub(rooms.iter().sum());
    let mut by_want: Vec<usize> = (0..demands.len()).collect();
    let want = |worker: &usize| demands[*worker].most - demands[*worker].least;
    by_want.sort_by_key(want);
    for (served, worker) in by_want.iter().enumerate() {
        let part = want(worker).min(spare / (demands.len() - served));
        rooms[*worker] += part;
        spare -= part;
    }
    rooms
}

/// How many descriptors a run cannot do without: where there are fewer, it cannot keep in flight what it is asked to.
pub fn descriptors_needed(
    plan: &BoundPlan,
    run: &BoundRun,
    backends: Backends,
    rule: WorkerRule,
    cpus: u32,
) -> usize {
    let mut files_of_pool = vec![0; run.run.pools.len()];
    for stream in &run.run.streams {
        let real = stream.targets.iter();
        let real = real.filter(|id| plan.plan.target(**id).is_real());
        files_of_pool[stream.pool.index()] += real.count();
    }
    let dealt = deal_slots(&plan.plan, run, backends, rule, cpus);
    let needed = dealt.iter().map(|worker| {
        let slots: u32 = worker.pools.iter().map(|(_, slots)| *slots).sum();
        let files = worker.pools.iter().map(|(pool, _)| files_of_pool[*pool]);
        Demand::of(worker.kind, slots as usize, files.sum()).least + OWN_OF_WORKER
    });
    needed.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(least: usize, most: usize) -> Demand {
        Demand { least, most }
    }

    #[test]
    fn what_one_cannot_use_goes_to_others() {
        let demands = [demand(1, 20_000), demand(2, 3), demand(1, 20_000)];
        assert_eq!(share_out(&demands, 100), [48, 3, 49]);
        assert_eq!(share_out(&demands, 50_000), [20_000, 3, 20_000]);
    }

    #[test]
    fn each_has_one_for_each_slot_whatever_is_left() {
        assert_eq!(share_out(&[demand(32, 500), demand(1, 500)], 33), [32, 1]);
        assert_eq!(share_out(&[demand(0, 0), demand(4, 4)], 90), [0, 4]);
    }

    #[test]
    fn more_slots_than_files_need_no_more_than_the_files() {
        assert_eq!(Demand::of(BackendKind::Uring, 64, 3), demand(3, 3));
        assert_eq!(Demand::of(BackendKind::Names, 64, 3), demand(0, 0));
    }
}
