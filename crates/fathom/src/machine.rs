//! The plan meets the machine: what targets are, what they hold, whether they may be written.
use engine::{BackendChoice, BackendKind, WorkerRule};
use host::SysRoot;
use host::guard::{Examination, Overwrite, Refused, Request};
use plan::{
    Access, Alignment, BindError, BoundPlan, Diagnostic, Facts, FoundKind, Grant, IoMethod, Origin,
    Plan, SizeRule, TargetFacts, TargetId, bind,
};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Facts of all targets. What cannot be looked at counts as missing, and `bind` says so.
pub fn facts(plan: &Plan, root: &SysRoot) -> Facts {
    let of = |target: &plan::Target| {
        let size = match target.size {
            SizeRule::Bytes(bytes) => bytes,
            _ => 0,
        };
        let alignment = Alignment {
            offset: 1,
            memory: 1,
        };
        if !target.is_real() {
            return TargetFacts {
                found: FoundKind::File,
                bytes: size,
                alignment,
                ram_backed: false,
            };
        }
        let missing = TargetFacts {
            found: FoundKind::Missing,
            bytes: 0,
            alignment,
            ram_backed: false,
        };
        host::target_facts(root, &target.path, target.kind).unwrap_or(missing)
    };
    Facts {
        targets: plan.targets.iter().map(of).collect(),
    }
}

/// Whether a path that a command line names is to be a device. One below `/dev` that is missing is
/// mistyped, and no file is made there; memory that is shared by files is the exception.
pub fn is_device(path: &Path) -> bool {
    match std::fs::metadata(path) {
        Ok(facts) => facts.file_type().is_block_device(),
        Err(_) => path.starts_with("/dev") && !path.starts_with("/dev/shm"),
    }
}

/// Binds a plan; misfits become diagnostics at the words that caused them.
pub fn bind_to(plan: Plan, facts: &Facts) -> Result<BoundPlan, Vec<Diagnostic>> {
    bind(plan, facts).map_err(|errors| errors.iter().map(diagnostic).collect())
}

fn diagnostic(error: &BindError) -> Diagnostic {
    let diagnostic = Diagnostic::error(error.code(), error.to_string());
    let diagnostic = match error.origin() {
        Origin::Written(span) => diagnostic.at(*span, "defined here"),
        _ => diagnostic,
    };
    match error {
        BindError::SizeUnknown { .. } => {
            diagnostic.with_help("give a size, so that the file can be made")
        }
        BindError::DeviceMissing { .. } => {
            diagnostic.with_help("check the path and the permissions")
        }
        BindError::Misaligned { .. } => {
            diagnostic.with_help("use a multiple of that, or leave out direct I/O")
        }
        _ => diagnostic,
    }
}

/// What this build cannot carry out, as diagnostics without a place.
pub fn not_built(plan: &BoundPlan) -> Vec<Diagnostic> {
    let loads = plan.runs.iter().map(|id| &plan.plan.spec(*id).load);
    let mut found: Vec<String> = loads.filter_map(engine::unsupported_load).collect();
    let runs = plan.distinct_runs().into_iter();
    found.extend(runs.flat_map(|id| engine::unsupported(&plan.run(id))));
    found.sort();
    found.dedup();
    let error = |what: &String| {
        let message = format!("{what}: not built yet");
        Diagnostic::error("fathom-0001", message)
    };
    found.iter().map(error).collect()
}

/// Looks at every target that the runs use.
pub fn examine(plan: &BoundPlan, root: &SysRoot) -> Vec<Examination> {
    let mut used = vec![false; plan.targets.len()];
    for id in &plan.runs {
        let template = plan.plan.spec(*id).template;
        for stream in &plan.plan.templates[template.index()].streams {
            stream
                .targets
                .iter()
                .for_each(|target| used[target.index()] = true);
        }
    }
    let request = |id: TargetId| {
        let (target, bound) = (plan.plan.target(id), &plan.targets[id.index()]);
        let access = match (bound.is_written(), bound.facts.found) {
            (false, _) => Access::Read,
            (true, FoundKind::Missing) => Access::Create,
            (true, _) => Access::Write,
        };
        Request {
            target: id,
            path: target.path.clone(),
            kind: target.kind,
            access,
            extent: plan.write_extent(id).unwrap_or((0, 0)),
            bytes: bound.bytes,
            is_ours: false,
        }
    };
    let ids = (0..plan.targets.len()).map(TargetId::at);
    let real = ids.filter(|id| used[id.index()] && plan.plan.target(*id).is_real());
    host::guard::examine(root, &real.map(request).collect::<Vec<_>>())
}

/// Grants for all targets, or everything that stands against it.
pub fn judge(examinations: &[Examination], overwrite: &Overwrite) -> Result<Vec<Grant>, Refused> {
    host::guard::judge(examinations, overwrite)
}

/// Chooses the backend, trying what the kernel gives only where it would be used.
pub fn backend(plan: &BoundPlan, asked: Option<&str>) -> Result<BackendChoice, String> {
    let asked = match (asked, plan.plan.method) {
        (Some(name), _) => Some(name.parse::<BackendKind>()?),
        (None, method) => method.map(of_job),
    };
    Ok(engine::choose_backend(
        plan,
        asked,
        ring_refusal,
        aio_refusal,
    ))
}

fn ring_refusal() -> Option<String> {
    let config = sys::ring::RingConfig {
        slots: 1,
        batch: 1,
        buffer_bytes: 4096,
        buffer_align: 4096,
        register_buffers: false,
        register_files: false,
    };
    let refused = sys::ring::Ring::new(&config, Vec::new()).err()?;
    Some(refused.to_string())
}

fn aio_refusal() -> Option<String> {
    let config = sys::aio::QueueConfig {
        slots: 1,
        batch: 1,
        buffer_bytes: 4096,
        buffer_align: 4096,
        reap_in_memory: true,
    };
    let refused = sys::aio::Queue::new(&config, Vec::new()).err()?;
    Some(refused.to_string())
}

/// The backend that a job asks for. Another one is taken on the word of the user only.
fn of_job(method: IoMethod) -> BackendKind {
    match method {
        IoMethod::Ring => BackendKind::Uring,
        IoMethod::KernelQueue => BackendKind::Aio,
        IoMethod::Calls => BackendKind::Sync,
        IoMethod::Nothing => BackendKind::Null,
    }
}

/// Workers of the run that has most.
pub fn workers_max(plan: &BoundPlan, kind: BackendKind, rule: WorkerRule, cpus: u32) -> u32 {
    let runs = plan.distinct_runs().into_iter();
    let workers = runs.map(|id| engine::planned_workers(&plan.run(id), kind, rule, cpus));
    workers.max().unwrap_or(0)
}

/// The rule for workers from the command line.
pub fn worker_rule(workers: Option<u32>) -> WorkerRule {
    workers.map_or(WorkerRule::Automatic, WorkerRule::Exactly)
}
