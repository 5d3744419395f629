//! Files that an execution made and was asked to take away again.
use door::{Grants, RemoveError};
use plan::{BoundPlan, TargetKind};
use std::collections::BTreeSet;
use std::path::Path;

/// Removes the files that the plan names, as far as this execution has made them: what was there before, and what took
/// the place of ours, stays and is named.
pub fn remove_made(plan: &BoundPlan, grants: &Grants) {
    let asked: BTreeSet<_> = plan.plan.steering.remove_made.iter().copied().collect();
    for id in asked {
        let target = plan.plan.target(id);
        if target.kind != TargetKind::File {
            continue;
        }
        let Ok(entry) = grants.entry(id, |_| true) else {
            continue;
        };
        let remove = || entry.set_aside().and_then(|aside| entry.unlink(aside));
        let removed = door::waiting::on(&target.path, remove);
        if let Err(reason) = removed {
            tell(&target.path, &reason);
        }
    }
}

fn tell(path: &Path, reason: &RemoveError) {
    let path = path.display();
    match reason {
        RemoveError::Gone => {}
        RemoveError::NotOurs => {
            errln!("note: `{path}` is left in place: it was there before");
        }
        RemoveError::Io(error) => errln!("warning: `{path}` cannot be removed: {error}"),
        reason => errln!("warning: `{path}` is left in place: {reason}"),
    }
}
