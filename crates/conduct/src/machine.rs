//! A machine's half of a run: what its targets are, what they hold, whether they may be written, and whether it gives what
//! runs take of it. Binding is not its part: a plan is bound by who leads, over the facts of every machine. Read
//! [`Machine`] first, which every machine is asked through, and then [`Approach`]; [`crate::LocalHost`] carries out what was
//! granted.
mod needs;
mod room;
mod steps;

pub use needs::{RunNeeds, needs};
pub use steps::{
    Examined, Machine, Order, Ready, Reason, ReasonKind, Refusal, States, StatesOfRun,
};

use door::{Door, Grants};
use engine::BackendKind;
use host::guard::{Examination, Overwrite, Refused, Request};
use host::{Storage, SysRoot};
use plan::{
    Access, Alignment, BoundPlan, Diagnostic, Facts, FoundKind, Owner, Plan, SizeRule, TargetFacts,
    TargetId, TargetKind,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Memory that is left to the host, at least, by what runs take away from it.
const LEFT_TO_HOST_BYTES: u64 = 128 << 20;

/// Targets that are claimed and looked at, before anything is granted.
pub struct Approach {
    door: Arc<Door>,
    pub examinations: Vec<Examination>,
}

impl Approach {
    /// Claims what runs write and looks at every target that they use. So many claims may take a descriptor.
    pub fn new(plan: &BoundPlan, root: &SysRoot, descriptors: usize) -> Self {
        let door = Arc::new(Door::new(descriptors));
        let examinations = examine_some(plan, root, &door, |_| true);
        Self { door, examinations }
    }

    /// What may be done with the targets.
    ///
    /// # Errors
    /// Everything that stands against it.
    pub fn grants(&self, overwrite: &Overwrite) -> Result<Grants, Refused> {
        let grants = host::guard::judge(&self.examinations, overwrite)?;
        Ok(Grants::new(Arc::clone(&self.door), grants))
    }
}

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
    let same = |target: &plan::Target| match target.is_real() {
        true => door::waiting::on(&target.path, || host::same_name(storage, &target.path)),
        false => String::new(),
    };
    Facts {
        targets: plan.targets.iter().map(of).collect(),
        same: match plan.is_spread() {
            true => plan.targets.iter().map(same).collect(),
            false => Vec::new(),
        },
    }
}

/// Looks at some of the targets that the runs use, through a door that claims what they write, or one that only looks.
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
            (_, FoundKind::Missing) if plan.made_as(id).is_some() => Access::Share,
            (false, _) => Access::Read,
            (true, _) if is_kept_elsewhere(plan, id) => Access::Share,
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

/// Whether a claim of the first host that reaches a shared target would refuse one of this host: files are locked across
/// hosts, and devices within one.
fn is_kept_elsewhere(plan: &BoundPlan, target: TargetId) -> bool {
    let Some(first) = plan.made_as(target) else {
        return false;
    };
    let (target, first) = (plan.plan.target(target), plan.plan.target(first));
    let system = |host: &str| {
        let mut hosts = plan.plan.hosts.iter();
        let known = hosts.find(|one| one.name == host)?;
        known.reach.as_ref().map(|reach| reach.system.as_str())
    };
    target.kind != TargetKind::Device || system(&target.host) == system(&first.host)
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

/// Looks whether the host gives what runs take of it beside their I/O.
///
/// # Errors
/// In words, what it does not give.
pub fn check_demands(
    (plan, needs): (&BoundPlan, &[RunNeeds]),
    kind: BackendKind,
    root: &SysRoot,
) -> Result<(), String> {
    // Nothing is taken of the host in simulated time.
    if kind == BackendKind::Sim {
        return Ok(());
    }
    check_owners(&plan.plan)?;
    check_held_memory(needs, root)
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
        Some((owner, error)) => Err(format!("cannot run as {owner}: {error} (requires root)")),
    }
}

/// Looks whether the host has the memory that runs hold.
///
/// # Errors
/// In words, when a run takes so much that other programs would be ended for want of it.
fn check_held_memory(needs: &[RunNeeds], root: &SysRoot) -> Result<(), String> {
    let Some(most) = needs.iter().max_by_key(|one| one.held_bytes) else {
        return Ok(());
    };
    let (bytes, name) = (most.held_bytes, &most.name);
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
