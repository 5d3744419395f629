//! Files that an execution made and was asked to take away again.
use door::{Grants, RemoveError};
use plan::{BoundPlan, Severity, TargetKind};
use std::collections::BTreeSet;
use std::path::Path;

/// Removes the files that the plan names, as far as this execution has made them: what was there before, and what took
/// the place of ours, stays and is named in lines for the user.
pub fn remove_made(plan: &BoundPlan, grants: &Grants) -> Vec<(Severity, String)> {
    let mut told = Vec::new();
    let asked: BTreeSet<_> = plan.plan.steering.remove_made.iter().copied().collect();
    for id in asked {
        let target = plan.plan.target(id);
        // What another host has made is removed there.
        if target.kind != TargetKind::File || plan.made_as(id).is_some() {
            continue;
        }
        let Ok(entry) = grants.entry(id, |_| true) else {
            continue;
        };
        let remove = || entry.set_aside().and_then(|aside| entry.unlink(aside));
        let removed = door::waiting::on(&target.path, remove);
        told.extend(removed.err().and_then(|reason| text(&target.path, &reason)));
    }
    told
}

fn text(path: &Path, reason: &RemoveError) -> Option<(Severity, String)> {
    let path = path.display();
    match reason {
        RemoveError::Gone => None,
        RemoveError::NotOurs => Some((
            Severity::Warning,
            format!("`{path}` is left in place: it was there before"),
        )),
        RemoveError::Io(error) => Some((
            Severity::Warning,
            format!("`{path}` cannot be removed: {error}"),
        )),
        reason => Some((
            Severity::Warning,
            format!("`{path}` is left in place: {reason}"),
        )),
    }
}
