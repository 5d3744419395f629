//! The plan meets the machine: what targets are, what they hold, whether they may be written.
use crate::room;
use door::{Door, Grant};
use engine::{BackendChoice, BackendKind, Backends, WorkerRule};
use host::guard::{Examination, Overwrite, Refused, Request};
use host::{Storage, SysRoot};
use plan::{
    Access, Alignment, BindError, BoundPlan, Diagnostic, Facts, FoundKind, Origin, Owner, Plan,
    RunId, RunKind, SizeRule, TargetFacts, TargetId, bind,
};
use std::collections::BTreeSet;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Pools that are named with their backend, at most.
const NAMED_POOLS: usize = 4;

/// Facts of all targets. What cannot be looked at counts as missing, and `bind` says so.
pub fn facts(plan: &Plan, storage: &Storage) -> Facts {
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
        let look = || host::target_facts(storage, &target.path, target.kind);
        door::waiting::on(&target.path, look).unwrap_or(missing)
    };
    Facts {
        targets: plan.targets.iter().map(of).collect(),
    }
}

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
    bind(plan, facts).map_err(|errors| errors.iter().map(misfit).collect())
}

/// A misfit at the words that caused it.
pub fn misfit(error: &BindError) -> Diagnostic {
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
        BindError::NotOurs { .. } => diagnostic.with_help(
            "use another folder or other files, which are then made first, or remove them yourself",
        ),
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

/// Looks at every target that the runs use, through a door that claims what they write, or one that only looks.
pub fn examine(plan: &BoundPlan, root: &SysRoot, door: &Door) -> Vec<Examination> {
    examine_some(plan, root, door, |_| true)
}

/// As [`examine`], of some of them.
pub fn examine_some(
    plan: &BoundPlan,
    root: &SysRoot,
    door: &Door,
    is_wanted: impl Fn(TargetId) -> bool,
) -> Vec<Examination> {
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
    let room = room::of_targets(plan);
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
            takes: room[id.index()].takes,
            bears_full: room[id.index()].bears_full,
            is_ours: false,
        }
    };
    let ids = (0..plan.targets.len()).map(TargetId::at);
    let real = ids.filter(|id| used[id.index()] && plan.plan.target(*id).is_real());
    let real = real.filter(|id| is_wanted(*id));
    host::guard::examine_through(root, door, &real.map(request).collect::<Vec<_>>())
}

/// Grants for all targets, or everything that stands against it.
pub fn judge(examinations: &[Examination], overwrite: &Overwrite) -> Result<Vec<Grant>, Refused> {
    host::guard::judge(examinations, overwrite)
}

/// Looks whether the host gives what runs take of it beside their I/O.
///
/// # Errors
/// In words, what it does not give.
pub fn check_demands(plan: &BoundPlan, kind: BackendKind, root: &SysRoot) -> Result<(), String> {
    // Nothing is taken of the host in simulated time.
    if kind == BackendKind::Sim {
        return Ok(());
    }
    check_owners(&plan.plan)?;
    check_held_memory(plan, root)
}

/// Looks whether this process may work as those that the streams of a plan name.
///
/// # Errors
/// In words, for the first that it may not.
fn check_owners(plan: &Plan) -> Result<(), String> {
    let streams = plan.templates.iter().flat_map(|one| &one.streams);
    let owners: BTreeSet<Owner> = streams
        .filter_map(|stream| stream.flow.placement.owner)
        .collect();
    let refused = |owner| Some((owner, engine::as_owner(owner, || ()).err()?));
    match owners.into_iter().find_map(refused) {
        None => Ok(()),
        Some((owner, error)) => Err(format!(
            "a job is to work as {owner}, which this process may not: {error} (that takes the rights of root)"
        )),
    }
}

/// Memory that is left to the host, at least, by what runs take away from it.
const LEFT_TO_HOST_BYTES: u64 = 128 << 20;

/// Looks whether the host has the memory that runs hold.
///
/// # Errors
/// In words, when a run takes so much that other programs would be ended for want of it.
fn check_held_memory(plan: &BoundPlan, root: &SysRoot) -> Result<(), String> {
    let held = |id: RunId| {
        let run = plan.run(id).run;
        let streams = run.streams.iter();
        let bytes = streams.map(|stream| stream.flow.held_memory_bytes);
        (bytes.fold(0, u64::saturating_add), run.name)
    };
    let most = plan.distinct_runs().into_iter().map(held);
    let Some((bytes, name)) = most.max_by_key(|(bytes, _)| *bytes) else {
        return Ok(());
    };
    let limit = match host::process_limits(root).memory_bytes {
        Some(limit) if bytes > 0 => limit,
        _ => return Ok(()),
    };
    let room = limit.left.saturating_sub(LEFT_TO_HOST_BYTES);
    if bytes <= room {
        return Ok(());
    }
    Err(format!(
        "run `{name}` holds {} MiB of memory, and {} leaves room for {} MiB; {}, or hold less",
        bytes >> 20,
        limit.name,
        room >> 20,
        limit.raise
    ))
}

/// Chooses the backend, trying what the kernel gives only where it would be used. What the user
/// names goes before what a job asks for, and nothing else does.
pub fn backend(plan: &BoundPlan, asked: Option<&str>) -> Result<BackendChoice, String> {
    let named = asked.map(str::parse::<BackendKind>).transpose()?;
    let of_job = plan.plan.method.map(BackendKind::of_method);
    let choice = engine::choose_backend(plan, named.or(of_job), ring_refusal, aio_refusal);
    Ok(BackendChoice {
        overrules: named.is_some(),
        ..choice
    })
}

/// The backends of what is measured, in words, and why. Several are told with who asks.
pub fn backends_used(plan: &BoundPlan, choice: &BackendChoice) -> (String, String) {
    let mut used: Vec<(BackendKind, Vec<String>)> = Vec::new();
    let is_measured = |id: &RunId| plan.plan.spec(*id).kind == RunKind::Measure;
    for id in plan.distinct_runs().into_iter().filter(is_measured) {
        for pool in plan.run(id).run.pools {
            let kind = choice.backends().of(&pool);
            let place = used.iter().position(|(known, _)| *known == kind);
            let place = place.unwrap_or_else(|| {
                used.push((kind, Vec::new()));
                used.len() - 1
            });
            let names = &mut used[place].1;
            if !names.contains(&pool.name) && names.len() <= NAMED_POOLS {
                names.push(pool.name);
            }
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
pub fn workers_max(plan: &BoundPlan, backends: Backends, rule: WorkerRule, cpus: u32) -> u32 {
    let runs = plan.distinct_runs().into_iter();
    let workers = runs.map(|id| engine::planned_workers(&plan.run(id), backends, rule, cpus));
    workers.max().unwrap_or(0)
}

/// The rule for workers from the command line.
pub fn worker_rule(workers: Option<u32>) -> WorkerRule {
    workers.map_or(WorkerRule::Automatic, WorkerRule::Exactly)
}
