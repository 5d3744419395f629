//! Which backend and how many workers: from what the targets are, never from timing.
use crate::backend::BackendKind;
use plan::{BoundPlan, BoundRun, TargetKind};

const SLOTS_PER_WORKER: u32 = 128;

/// The backend of an execution, with the reason for reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendChoice {
    pub kind: BackendKind,
    pub reason: String,
}

/// How many workers serve the slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerRule {
    /// One per 128 slots, at most one per CPU.
    Automatic,
    Exactly(u32),
}

/// Chooses by the kind of the targets; `asked` wins. `ring_refusal` tests whether a ring can be had
/// and is called only where one would be used.
pub fn choose_backend(
    plan: &BoundPlan,
    asked: Option<BackendKind>,
    ring_refusal: impl Fn() -> Option<String>,
) -> BackendChoice {
    let choice = |kind, reason: &str| BackendChoice {
        kind,
        reason: reason.to_owned(),
    };
    if let Some(kind) = asked {
        return choice(kind, "asked for");
    }
    let used = || plan.plan.targets.iter();
    if !plan.targets.is_empty() && used().all(|target| target.kind == TargetKind::Nothing) {
        return choice(BackendKind::Null, "no target is real");
    }
    if !plan.targets.is_empty() && used().all(|target| target.kind == TargetKind::Simulated) {
        return choice(BackendKind::Sim, "all targets are simulated");
    }
    if !plan.targets.is_empty() && plan.targets.iter().all(|target| target.facts.ram_backed) {
        return choice(
            BackendKind::Sync,
            "all targets are in memory, which answers inside the call",
        );
    }
    match ring_refusal() {
        None => choice(BackendKind::Uring, "the default for storage"),
        Some(refusal) => choice(
            BackendKind::Sync,
            &format!("io_uring is not to be had: {refusal}"),
        ),
    }
}

/// The number of workers of a run. The `sync` backend has one per slot whatever is asked.
pub fn planned_workers(run: &BoundRun, kind: BackendKind, rule: WorkerRule, cpus: u32) -> u32 {
    let slots = run.slots().max(1);
    match (kind, rule) {
        (BackendKind::Sync, _) => slots,
        (_, WorkerRule::Exactly(workers)) => workers.clamp(1, slots),
        (_, WorkerRule::Automatic) => slots.div_ceil(SLOTS_PER_WORKER).clamp(1, cpus.max(1)),
    }
}
