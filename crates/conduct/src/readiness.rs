//! The command that has to succeed before a run begins.
use crate::execution::{Conductor, SinkError};
use crate::{CommandCall, CommandEnd};
use measure::FinishReason;
use plan::{Nanos, Severity};

/// Between the end of a try that failed and the next one.
const BETWEEN_TRIES_NS: u64 = 1_000_000_000;

/// What a failed try printed is kept up to this many lines; the last ones say most.
const LINES_KEPT: usize = 5;

impl Conductor<'_> {
    /// Waits until the command of the plan succeeds; why the execution ends, if it does not.
    pub(crate) fn until_ready(&mut self, run: u32) -> Result<Option<FinishReason>, SinkError> {
        let Some(readiness) = &self.plan.plan.steering.readiness else {
            return Ok(None);
        };
        let text = &readiness.command;
        let begun_ns = self.host.now_ns();
        let give_up_ns = begun_ns.saturating_add(readiness.at_most.0);
        for tries in 1.. {
            let left_ns = give_up_ns.saturating_sub(self.host.now_ns()).max(1);
            let call = CommandCall {
                text,
                at_most_ns: Some(left_ns),
                ..CommandCall::default()
            };
            let (end, lines) = self.call(&call);
            let waited = Nanos(self.host.now_ns() - begun_ns);
            match end {
                CommandEnd::Exited(0) => {
                    let message = format!("`{text}` succeeded at try {tries}, after {waited}");
                    self.remark(Some(run), Severity::Note, "ready", message)?;
                    return Ok(None);
                }
                CommandEnd::Stopped => return Ok(Some(FinishReason::StoppedByUser)),
                CommandEnd::Refused(_) => {
                    let message = format!("`{text}` {end}");
                    return Ok(Some(FinishReason::Failed { message }));
                }
                _ => {}
            }
            if tries == 1 {
                let message = format!("waiting until `{text}` succeeds: it {}", ended(&end));
                self.remark(Some(run), Severity::Note, "not-ready", message)?;
            }
            let again_ns = self.host.now_ns() + BETWEEN_TRIES_NS;
            if again_ns >= give_up_ns {
                let message = given_up(text, readiness.at_most, tries, &end, &lines);
                return Ok(Some(FinishReason::Failed { message }));
            }
            self.host.wait_until(again_ns, self.control);
            if self.control.is_stopping() {
                return Ok(Some(FinishReason::StoppedByUser));
            }
        }
        unreachable!("the numbers of tries do not end")
    }
}

/// The limit of commands has nothing to do with that of a try.
fn ended(end: &CommandEnd) -> String {
    match end {
        CommandEnd::TimedOut(_) => "did not end".to_owned(),
        other => other.to_string(),
    }
}

fn given_up(text: &str, at_most: Nanos, tries: u64, end: &CommandEnd, lines: &[String]) -> String {
    let mut message = format!(
        "`{text}` did not succeed within {at_most}, so the run was not begun; try {tries} {}",
        ended(end)
    );
    let said = &lines[lines.len().saturating_sub(LINES_KEPT)..];
    if !said.is_empty() {
        message += &format!(" and printed: {}", said.join(" / "));
    }
    message
}
