//! What runs take of a machine, from one pass over the plan.
use engine::{BackendKind, Backends, WorkerRule};
use plan::{BoundPlan, RunId, RunKind};

/// What one run takes, which stands for all that are alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunNeeds {
    pub name: String,
    pub kind: RunKind,
    pub workers: u32,
    /// That may be open at a time, if all are.
    pub files: usize,
    /// For what is in flight and for workers, at least.
    pub descriptors: usize,
    /// Memory that it holds beside its I/O.
    pub held_bytes: u64,
    /// Who issues its I/O, with the name of each pool.
    pub pools: Vec<(BackendKind, String)>,
}

/// Of each kind of runs. A run is not kept: it has a region for each of a million files.
pub fn needs(plan: &BoundPlan, backends: Backends, rule: WorkerRule, cpus: u32) -> Vec<RunNeeds> {
    let of = |id: RunId| {
        let run = plan.run(id);
        let held = run.run.streams.iter();
        let held = held.map(|stream| stream.flow.held_memory_bytes);
        let pools = run.run.pools.iter();
        RunNeeds {
            kind: run.run.kind,
            workers: engine::planned_workers(&plan.plan, &run, backends, rule, cpus),
            files: engine::files_of_run(plan, &run),
            descriptors: engine::descriptors_needed(plan, &run, backends, rule, cpus),
            held_bytes: held.fold(0, u64::saturating_add),
            pools: pools
                .map(|pool| (backends.of(pool), pool.name.clone()))
                .collect(),
            name: run.run.name,
        }
    };
    plan.distinct_runs().into_iter().map(of).collect()
}
