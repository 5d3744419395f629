//! The last words of an execution: what never came back, and why the exit code is not 0. Whoever looks
//! at the end of the console, or of a log, finds the reason there.
use crate::exit::Exit;
use conduct::Outcome;
use measure::{FinishReason, Outstanding, RunTotals};
use plan::{Nanos, Plan, counted};
use report::shown;

/// Operations that are listed one by one.
const LISTED: usize = 20;

/// What came back this long after the end of its run is listed; the page lists the rest.
const LATE_NS: u64 = 1_000_000_000;

/// As the conductor says it.
const NEVER_CAME_BACK: &str = "operations never came back";

/// Lists the operations that came back long after the end of their run.
pub fn tell_late(all: &[RunTotals], plan: &Plan, is_brief: bool) {
    let ended = all.iter().filter_map(|totals| totals.finished.as_ref());
    let late: Vec<_> = ended
        .flat_map(|ended| &ended.late)
        .filter(|one| one.returned_after_ns.is_some_and(|ns| ns >= LATE_NS))
        .collect();
    let Some(longest) = late.iter().max_by_key(|one| one.returned_after_ns) else {
        return;
    };
    let after = Nanos(longest.returned_after_ns.unwrap_or(0));
    let count = late.len();
    let end = if is_brief { "" } else { ":" };
    let operations = counted(count as u64, "operation");
    let (were, their) = match count {
        1 => ("was", "its"),
        _ => ("were", "their"),
    };
    errln!(
        "warning: {operations} {were} out at the end of {their} run and came back up to {after} after it{end}"
    );
    if is_brief {
        return;
    }
    for one in late.iter().take(LISTED) {
        tell_operation(one, plan, "came back");
    }
    if count > LISTED {
        errln!("  … and {} more, which are in the report", count - LISTED);
    }
}

fn tell_operation(one: &Outstanding, plan: &Plan, what: &str) {
    let target = plan.targets.get(one.target.index());
    let target = target.map_or(format!("target {}", one.target.0), |target| {
        shown::name(&plan::target_text(&target.name, &target.path)).into_owned()
    });
    let what = if what.is_empty() {
        String::new()
    } else {
        format!("{what} ")
    };
    errln!(
        "  - {} on {target}: offset {}, {} bytes, {what}{} after it was submitted",
        one.operation.name().replace('_', " "),
        one.offset,
        one.length,
        Nanos(one.age_ns)
    );
}

/// When something is told of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// At its end, where it has failed by this.
    AtOnce,
    /// From its result file, which can be read without fault.
    Again,
}

/// Lists the operations that never came back, oldest first in each run.
pub fn tell_unreturned(all: &[RunTotals], plan: &Plan, told: Told) {
    let left = |totals: &RunTotals| {
        totals
            .finished
            .as_ref()
            .map_or(0, |one| one.outstanding.len())
    };
    let count: usize = all.iter().map(left).sum();
    if count == 0 {
        return;
    }
    let word = match told {
        Told::AtOnce => "error",
        Told::Again => "warning",
    };
    errln!(
        "{word}: {} never came back:",
        counted(count as u64, "operation")
    );
    let ended = all.iter().filter_map(|totals| totals.finished.as_ref());
    for one in ended.flat_map(|ended| &ended.outstanding).take(LISTED) {
        tell_operation(one, plan, "");
    }
    if count > LISTED {
        errln!(
            "  … and {} more, which are in the result file",
            count - LISTED
        );
    }
}

/// Says last why an execution ended as it did; nothing when all is fine.
pub fn tell_reason(outcome: &Outcome, exit: Exit) {
    let Some(reason) = reason(outcome) else {
        return;
    };
    // Neither an end that the job itself has planned nor failures that it bears need a word; limits have theirs.
    if !matches!(exit, Exit::Fine | Exit::Beyond) {
        errln!("error: {reason}");
    }
}

fn reason(outcome: &Outcome) -> Option<String> {
    let mut reasons = Vec::new();
    match &outcome.reason {
        FinishReason::Failed { message } => reasons.push(message.clone()),
        FinishReason::TooManyErrors => {
            reasons.push("too many operations failed; the run was ended".to_owned());
        }
        FinishReason::StoppedByUser => reasons.push("stopped by the user".to_owned()),
        FinishReason::Complete | FinishReason::ReachedTotal | FinishReason::SearchEnded { .. } => {}
    }
    if outcome.errors > 0 {
        reasons.push(format!("{} failed", counted(outcome.errors, "operation")));
    }
    if outcome.streams_failed > 0 {
        reasons.push(format!(
            "{} ended by a failure or a rate below the minimum",
            counted(outcome.streams_failed.into(), "stream")
        ));
    }
    // What follows from them for further runs may have been said with the same words.
    let is_told = reasons
        .iter()
        .any(|reason| reason.starts_with(NEVER_CAME_BACK));
    if outcome.left_outstanding && !is_told {
        reasons.push(NEVER_CAME_BACK.to_owned());
    }
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(reason: FinishReason) -> Outcome {
        Outcome {
            reason,
            ..Outcome::failed(String::new())
        }
    }

    #[test]
    fn every_way_to_fail_has_a_reason() {
        let complete = || outcome(FinishReason::Complete);
        assert_eq!(reason(&complete()), None);
        let ways = [
            outcome(FinishReason::StoppedByUser),
            outcome(FinishReason::TooManyErrors),
            Outcome::failed("a worker died".to_owned()),
            Outcome {
                errors: 3,
                ..complete()
            },
            Outcome {
                streams_failed: 1,
                ..complete()
            },
            Outcome {
                left_outstanding: true,
                ..complete()
            },
        ];
        for way in ways {
            assert!(reason(&way).is_some_and(|text| !text.is_empty()), "{way:?}");
        }
        let both = Outcome {
            errors: 3,
            ..outcome(FinishReason::StoppedByUser)
        };
        assert_eq!(
            reason(&both).unwrap(),
            "stopped by the user; 3 operations failed"
        );
        let message = "operations never came back; the runs that follow were not started";
        let hung = Outcome {
            left_outstanding: true,
            ..Outcome::failed(message.to_owned())
        };
        assert_eq!(reason(&hung).unwrap(), message);
    }
}
