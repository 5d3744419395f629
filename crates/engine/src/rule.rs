//! Which backend and how many workers: from what the targets are, never from timing.
use crate::kind::{BackendKind, Backends};
use plan::{BoundPlan, RunKind, TargetKind};

/// The backend of an execution, with the reason for reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendChoice {
    pub kind: BackendKind,
    /// Whether it takes the place of what pools ask for.
    pub overrules: bool,
    pub reason: String,
    /// Why it is not the one that storage has by default, if the kernel refuses that.
    pub fallback: Option<String>,
}

impl BackendChoice {
    /// Of each pool.
    pub fn backends(&self) -> Backends {
        Backends {
            kind: self.kind,
            overrules: self.overrules,
        }
    }
}

/// How many workers serve the slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerRule {
    /// One per 16 slots, at most one per CPU.
    Automatic,
    Exactly(u32),
}

/// Chooses by the kind of the targets; `asked` wins. `ring_refusal` and `aio_refusal` test whether
/// io_uring and native AIO can be had, and are called only where one would be used.
pub fn choose_backend(
    plan: &BoundPlan,
    asked: Option<BackendKind>,
    ring_refusal: impl Fn() -> Option<String>,
    aio_refusal: impl Fn() -> Option<String>,
) -> BackendChoice {
    let choice = |kind, reason: &str| BackendChoice {
        kind,
        overrules: false,
        reason: reason.to_owned(),
        fallback: None,
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
    if is_buffered(plan) {
        return choice(
            BackendKind::Sync,
            "without direct I/O the page cache answers inside the call",
        );
    }
    let Some(no_ring) = ring_refusal() else {
        return choice(BackendKind::Uring, "the default for storage");
    };
    let no_ring = format!("io_uring is unavailable: {no_ring}");
    let (kind, reason) = match aio_refusal() {
        None => (BackendKind::Aio, no_ring),
        Some(no_aio) => (
            BackendKind::Sync,
            format!("{no_ring}; nor is native AIO: {no_aio}"),
        ),
    };
    BackendChoice {
        fallback: Some(reason.clone()),
        ..choice(kind, &reason)
    }
}

/// Whether anything is measured through the page cache. A ring adds the time of its own calls there, which is several times
/// that of a read which the cache answers, and native AIO carries out one operation after another.
fn is_buffered(plan: &BoundPlan) -> bool {
    let is_measured = |id: &plan::RunId| plan.plan.spec(*id).kind == RunKind::Measure;
    let runs = plan.distinct_runs().into_iter().filter(is_measured);
    let mut streams = runs.flat_map(|id| plan.run(id).run.streams);
    streams.any(|stream| {
        let mut real = stream.targets.iter().map(|id| plan.plan.target(*id));
        real.any(|target| target.is_real() && !stream.open_mode(target).direct)
    })
}
