//! The plan meets the machine: what this build and this kernel do of it, in words of the user. What targets are and
//! whether they may be written is [`conduct::machine`].
use crate::room;
use conduct::machine::RunNeeds;
use engine::{BackendChoice, BackendKind, EngineConfig, WorkerRule};
use host::Storage;
use measure::ExecutionTarget;
use plan::{BindError, BoundPlan, Diagnostic, Facts, Plan, RunKind, TargetId, bind};
use std::collections::BTreeSet;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Pools that are named with their backend, at most.
const NAMED_POOLS: usize = 4;

/// Whether a path that a command line names is to be a device. One below `/dev` that is missing is
/// mistyped, and no file is made there; memory that is shared by files is the exception.
pub fn is_device(path: &Path) -> bool {
    match door::waiting::on(path, || std::fs::metadata(path)) {
        Ok(facts) => facts.file_type().is_block_device(),
        Err(_) => path.starts_with("/dev") && !path.starts_with("/dev/shm"),
    }
}

/// Binds a plan; misfits become diagnostics at the words that caused them.
pub fn bind_to(plan: Plan, facts: &Facts) -> Result<BoundPlan, Vec<Diagnostic>> {
    bind(plan, facts).map_err(|errors| errors.iter().map(BindError::diagnostic).collect())
}

/// Chooses the backend, trying what the kernel gives only where it would be used. What the user
/// names goes before what a job asks for, and nothing else does.
pub fn backend(plan: &BoundPlan, asked: Option<&str>) -> Result<BackendChoice, String> {
    let parse = |name: &str| {
        let help = || lang::instead_of(name, BackendKind::NAMES);
        name.parse::<BackendKind>()
            .map_err(|error| format!("{error}; {}", help()))
    };
    let named = asked.map(parse).transpose()?;
    let of_job = plan.plan.method.map(BackendKind::of_method);
    let choice = engine::choose_backend(plan, named.or(of_job), ring_refusal, aio_refusal);
    Ok(BackendChoice {
        overrules: named.is_some(),
        ..choice
    })
}

/// The backends of what is measured, in words, and why. Several are told with who asks.
pub fn backends_used(needs: &[RunNeeds], choice: &BackendChoice) -> (String, String) {
    let mut used: Vec<(BackendKind, Vec<String>)> = Vec::new();
    let measured = needs.iter().filter(|one| one.kind == RunKind::Measure);
    for (kind, name) in measured.flat_map(|one| &one.pools) {
        let place = used.iter().position(|(known, _)| known == kind);
        let place = place.unwrap_or_else(|| {
            used.push((*kind, Vec::new()));
            used.len() - 1
        });
        let names = &mut used[place].1;
        if !names.contains(name) && names.len() <= NAMED_POOLS {
            names.push(name.clone());
        }
    }
    match used.as_slice() {
        [] => (choice.kind.to_string(), choice.reason.clone()),
        [(one, _)] if *one == choice.kind => (one.to_string(), choice.reason.clone()),
        several => {
            let kinds: Vec<String> = several.iter().map(|(kind, _)| kind.to_string()).collect();
            let who: Vec<String> = several
                .iter()
                .map(|(kind, names)| told(*kind, names))
                .collect();
            (kinds.join(" + "), format!("asked for: {}", who.join("; ")))
        }
    }
}

fn told(kind: BackendKind, names: &[String]) -> String {
    let more = if names.len() > NAMED_POOLS {
        " …"
    } else {
        ""
    };
    let first = names.len().min(NAMED_POOLS);
    format!("{kind} by {}{more}", names[..first].join(", "))
}

fn ring_refusal() -> Option<String> {
    let config = sys::ring::RingConfig {
        slots: 1,
        batch: 1,
        buffer_bytes: 4096,
        buffer_align: 4096,
        register_buffers: false,
        register_files: false,
        mode: sys::requests::RequestMode::default(),
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
        mode: sys::requests::RequestMode::default(),
    };
    let refused = sys::aio::Queue::new(&config, Vec::new()).err()?;
    Some(refused.to_string())
}

/// Workers of the run that has most.
pub fn workers_max(needs: &[RunNeeds]) -> u32 {
    let workers = needs.iter().map(|one| one.workers);
    workers.max().unwrap_or(0)
}

/// The rule for workers from the command line.
pub fn worker_rule(workers: Option<u32>) -> WorkerRule {
    workers.map_or(WorkerRule::Automatic, WorkerRule::Exactly)
}

/// What the engine is set up with.
pub fn engine_config(
    choice: &BackendChoice,
    workers: Option<u32>,
    clock: sys::clock::Clock,
    nonce: u64,
) -> EngineConfig {
    EngineConfig {
        backends: choice.backends(),
        workers: worker_rule(workers),
        clock,
        cpus: host::facts().cpus,
        nonce,
        reap_group_max: 8,
    }
}

/// The targets of a plan, as an execution finds them.
pub fn targets_told(
    plan: &BoundPlan,
    storage: &Storage,
    reaches_storage: bool,
) -> Vec<ExecutionTarget> {
    let mut told = BTreeSet::new();
    let mut identity_of = |target: &plan::Target| {
        let look = || host::target_identity(storage, &target.path);
        let mut identity = door::waiting::on(&target.path, look);
        // The settings of a device are told with its first target: there may be thousands.
        if !identity.device.is_empty() && !told.insert(identity.device.clone()) {
            identity.queue.clear();
        }
        identity
    };
    let target = |(number, target): (usize, &plan::Target)| {
        let bound = &plan.targets[number];
        let bytes = plan.expected_bytes(TargetId::at(number));
        let bytes = bytes.unwrap_or(bound.facts.bytes);
        // Room matters of what runs read as it was.
        let is_read = bound.is_read && !bound.is_prepared;
        let is_looked_at = target.is_real() && is_read && reaches_storage;
        ExecutionTarget {
            name: target.name.clone(),
            path: target.path.display().to_string(),
            bytes,
            is_written: bound.is_written(),
            identity: if target.is_real() {
                identity_of(target)
            } else {
                Default::default()
            },
            hole_bytes: is_looked_at
                .then(|| room::hole_bytes(&target.path, bytes))
                .flatten(),
            ..ExecutionTarget::default()
        }
    };
    plan.plan.targets.iter().enumerate().map(target).collect()
}
