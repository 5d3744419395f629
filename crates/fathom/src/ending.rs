//! The last words of an execution: what never came back, and why the exit code is not 0. Whoever looks
//! at the end of the console, or of a log, finds the reason there.
use crate::exit::Exit;
use conduct::Outcome;
use measure::{FinishReason, RunTotals};
use plan::{Nanos, Plan};
use report::shown;

/// Operations that are listed one by one.
const LISTED: usize = 20;

/// Lists the operations that never came back, oldest first in each run.
pub fn tell_unreturned(all: &[RunTotals], plan: &Plan) {
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
    errln!("error: {count} operations never came back:");
    let ended = all.iter().filter_map(|totals| totals.finished.as_ref());
    for one in ended.flat_map(|ended| &ended.outstanding).take(LISTED) {
        let target = plan.targets.get(one.target.index());
        let target = target.map_or(format!("target {}", one.target.0), |target| {
            let path = target.path.display().to_string();
            format!("`{}` ({})", shown::name(&target.name), shown::name(&path))
        });
        errln!(
            "  - {} on {target}: offset {}, {} bytes, {} after it was submitted",
            one.operation.name().replace('_', " "),
            one.offset,
            one.length,
            Nanos(one.age_ns)
        );
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
    // Neither an end that the job itself has planned nor failures that it bears need a word.
    if exit != Exit::Fine {
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
        reasons.push(format!("{} operations failed", outcome.errors));
    }
    if outcome.streams_failed > 0 {
        reasons.push(format!(
            "{} streams were ended by a failure or a rate below their minimum",
            outcome.streams_failed
        ));
    }
    if outcome.left_outstanding {
        reasons.push("operations never came back".to_owned());
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
    }
}
