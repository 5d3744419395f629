//! How many files may be open at a time: for runs, and for claims that take a descriptor.
use crate::machine;
use conduct::machine::RunNeeds;
use host::SysRoot;
use plan::BoundPlan;
use std::collections::BTreeSet;
use std::path::Path;

/// Files that the process opens for itself at least: result, reports, consoles, counters.
pub const OWN_FILES: u64 = 24;

/// Files of the process and of all its workers, where they are many; a few need fewer.
const OWN_FILES_MAX: u64 = 64;
const FILES_OF_WORKER: u64 = 4;

/// Folders that stay open, at most, where many files are told apart by them.
const FOLDERS_MAX: usize = 64;

/// What is left to this execution beside its own files.
#[derive(Clone, Copy, Debug)]
pub struct Descriptors {
    /// Files of a run that may be open at a time.
    pub for_runs: usize,
    pub for_claims: usize,
    /// What the run that has most files cannot have open.
    beyond: usize,
}

impl Descriptors {
    /// Of an execution that opens nothing, or where no limit is known.
    pub const UNLIMITED: Self = Self {
        for_runs: usize::MAX,
        for_claims: usize::MAX,
        beyond: 0,
    };

    /// That files will be opened again and again, which takes time of the runs.
    pub fn note(&self) -> Option<String> {
        (self.beyond > 0).then(|| {
            format!(
                "{} files are more than may be open at a time (about {}): they are opened when an I/O needs them, which lowers the rate of runs; raise `ulimit -n`",
                self.beyond,
                self.for_runs
            )
        })
    }
}

/// Shares out the descriptors of this process.
///
/// # Errors
/// In words, when they do not suffice for what a run keeps in flight, which would end it half way through.
pub fn share_out(
    (plan, needs): (&BoundPlan, &[RunNeeds]),
    root: &SysRoot,
) -> Result<Descriptors, String> {
    let Some(limit) = host::process_limits(root).open_files else {
        return Ok(Descriptors::UNLIMITED);
    };
    let most = needs.iter().map(|one| one.files).max().unwrap_or(0);
    let workers = needs.iter().map(|one| one.workers).max().unwrap_or(0);
    let own = OWN_FILES + FILES_OF_WORKER * u64::from(workers);
    let own = own.min(OWN_FILES_MAX);
    let room = limit.left.saturating_sub(own) as usize;
    if most <= room {
        return Ok(Descriptors {
            for_runs: room,
            for_claims: room - most,
            beyond: 0,
        });
    }
    // Now it matters what else stays open as long as the execution goes.
    let held = held(plan);
    let room = room.saturating_sub(held);
    let beyond = needs.iter().filter(|one| one.files > room);
    let needed = beyond.map(|one| (one.descriptors, &one.name));
    match needed.max_by_key(|(needed, _)| *needed) {
        Some((needed, name)) if needed > room => {
            let enough = limit.used + own + (held + needed) as u64;
            let raise = limit.raise.replacen('N', &enough.to_string(), 1);
            Err(format!(
                "run `{name}` needs {needed} file descriptors for its I/Os in flight and their workers, and {} leaves room for {room}; {raise}, or keep fewer I/Os in flight",
                limit.name
            ))
        }
        _ => Ok(Descriptors {
            for_runs: room,
            for_claims: 0,
            beyond: most,
        }),
    }
}

/// Descriptors of folders and of devices that are claimed.
fn held(plan: &BoundPlan) -> usize {
    let real = plan.plan.targets.iter().filter(|target| target.is_real());
    let folders: BTreeSet<Option<&Path>> = real.map(|target| target.path.parent()).collect();
    let real = plan.plan.targets.iter().filter(|target| target.is_real());
    let devices = real.filter(|target| machine::is_device(&target.path));
    folders.len().min(FOLDERS_MAX) + devices.count()
}
