//! Files that an execution made and was asked to take away again.
use plan::{Access, BoundPlan, Grant, TargetKind};
use std::collections::BTreeSet;
use std::fs::Metadata;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// File systems round the time of a birth down to a tick of the kernel.
const TICK: Duration = Duration::from_millis(20);

/// Removes the files that the plan names, as far as this execution has made them: what was there when
/// the guard looked, or was not born since, stays and is named.
pub fn remove_made(plan: &BoundPlan, grants: &[Grant], started_unix_ns: u64) {
    let asked: BTreeSet<_> = plan.plan.steering.remove_made.iter().copied().collect();
    let were_missing = grants
        .iter()
        .filter(|grant| grant.access() == Access::Create)
        .map(Grant::target);
    let were_missing: BTreeSet<_> = were_missing.collect();
    let started = SystemTime::UNIX_EPOCH + Duration::from_nanos(started_unix_ns);
    for id in asked {
        let target = plan.plan.target(id);
        if target.kind != TargetKind::File {
            continue;
        }
        let was_missing = were_missing.contains(&id);
        let path = target.path.as_path();
        match std::fs::symlink_metadata(path) {
            Err(_) => {}
            Ok(found) if was_missing && is_ours(&found, started) => remove(path),
            Ok(_) => errln!(
                "note: `{}` is left in place: it was there before",
                path.display()
            ),
        }
    }
}

/// A file system that does not tell when a file was born tells nothing that would allow its removal.
fn is_ours(found: &Metadata, started: SystemTime) -> bool {
    found.is_file() && found.created().is_ok_and(|born| born + TICK >= started)
}

fn remove(path: &Path) {
    if let Err(error) = std::fs::remove_file(path) {
        errln!("warning: `{}` cannot be removed: {error}", path.display());
    }
}
