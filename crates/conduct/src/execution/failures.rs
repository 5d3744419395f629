//! Failed operations: they are told, counted against their budget, and lead to what the plan says.
use super::{Conductor, Going, SinkError};
use crate::{CommandCall, CommandEnd};
use measure::{Event, Failure, FinishReason, IoFailure};
use plan::{ErrorBudget, Severity, StreamId, TargetId};

/// What is known of the failures of a run at any moment.
#[derive(Debug, Default)]
pub(crate) struct Failed {
    count: u64,
    /// Of the last one, in the time of the host.
    last_ns: u64,
    /// Targets that are not used any more.
    dropped: Vec<TargetId>,
    /// Streams that a failure has ended.
    ended: Vec<u32>,
}

impl Conductor<'_> {
    /// Tells the failures since the last look, and whether they end the execution.
    pub(crate) fn check_failures(
        &mut self,
        going: &mut Going<'_>,
    ) -> Result<Option<FinishReason>, SinkError> {
        if let Some(reason) = self.check_hang(going)? {
            return Ok(Some(reason));
        }
        let first = self.report_failures(going)?;
        let count = going.failed.count.max(going.errors);
        if count == 0 {
            return Ok(None);
        }
        let rule = &self.plan.plan.steering.failures;
        if let (Some(command), Some(failure)) = (&rule.command, &first) {
            self.failure_command(going, command, failure)?;
            return Ok(Some(FinishReason::TooManyErrors));
        }
        if matches!(going.run.run.stop.errors, ErrorBudget::Count(limit) if count >= limit) {
            return Ok(Some(FinishReason::TooManyErrors));
        }
        if let Some(quiet) = rule.quiet
            && self.host.now_ns().saturating_sub(going.failed.last_ns) >= quiet.0
        {
            let text = format!(
                "{} s have passed since the last failed operation",
                quiet.as_secs_f64()
            );
            self.remark(Some(going.number), Severity::Warning, "failures-over", text)?;
            return Ok(Some(FinishReason::TooManyErrors));
        }
        let streams = &going.run.run.streams;
        let is_dropped = |stream: &plan::Stream| {
            stream
                .targets
                .iter()
                .any(|target| going.failed.dropped.contains(target))
        };
        if streams.iter().all(is_dropped) {
            let text = "no target is left that has not failed".to_owned();
            self.remark(
                Some(going.number),
                Severity::Warning,
                "targets-dropped",
                text,
            )?;
            return Ok(Some(FinishReason::TooManyErrors));
        }
        Ok(None)
    }

    /// Tells the failures since the last look; the first of the run when it is among them.
    pub(crate) fn report_failures(
        &mut self,
        going: &mut Going<'_>,
    ) -> Result<Option<IoFailure>, SinkError> {
        let failures = self.host.failures();
        let mut first = None;
        let drops_target = self.plan.plan.steering.failures.drops_target;
        for failure in failures.listed {
            let told = self.failure_event(going, &failure);
            if drops_target && !going.failed.dropped.contains(&told.target) {
                self.drop_target(going, told.target)?;
            }
            self.tell_ended(going, &failure)?;
            if going.failed.count == 0 {
                first = Some(told.clone());
            }
            going.failed.count += 1;
            going.failed.last_ns = going.failed.last_ns.max(failure.at_ns);
            self.tell(Event::IoFailure(told))?;
        }
        let lost = failures.unlisted;
        if lost > 0 {
            going.failed.count += lost;
            going.failed.last_ns = self.host.now_ns();
            let text = format!("{lost} further failures are counted but not listed");
            self.remark(
                Some(going.number),
                Severity::Warning,
                "failures-not-listed",
                text,
            )?;
        }
        Ok(first)
    }

    /// Tells once of a stream that does not go on after a failure.
    fn tell_ended(&mut self, going: &mut Going<'_>, failure: &Failure) -> Result<(), SinkError> {
        let stream = &going.run.run.streams[failure.stream as usize];
        let goes_on = stream
            .flow
            .tolerance
            .as_ref()
            .is_none_or(|tolerance| tolerance.covers(failure.operation, failure.errno));
        if goes_on || going.failed.ended.contains(&failure.stream) {
            return Ok(());
        }
        going.failed.ended.push(failure.stream);
        self.stream_failed(stream);
        let system = || std::io::Error::from_raw_os_error(failure.errno).to_string();
        let target = self
            .plan
            .plan
            .target(stream.targets[failure.place as usize]);
        let text = format!(
            "`{}` ended: {} of {} bytes at {} of {} failed: {}",
            stream.name,
            failure.operation.name(),
            failure.length,
            failure.offset,
            plan::target_text(&target.name, &target.path),
            failure.denial.clone().unwrap_or_else(system)
        );
        self.remark(Some(going.number), Severity::Error, "stream-failed", text)
    }

    /// A failure, or a rate below its floor, has ended a stream.
    pub(crate) fn stream_failed(&mut self, stream: &plan::Stream) {
        self.streams_failed += 1;
        let tolerance = stream.flow.tolerance.as_ref();
        self.is_over |= tolerance.is_some_and(|tolerance| tolerance.ends_execution);
    }

    fn drop_target(&mut self, going: &mut Going<'_>, target: TargetId) -> Result<(), SinkError> {
        let uses = |stream: &plan::Stream| stream.targets.contains(&target);
        let streams: Vec<usize> = (0..going.run.run.streams.len())
            .filter(|number| uses(&going.run.run.streams[*number]))
            .collect();
        self.host.retire(&streams, false);
        going.failed.dropped.push(target);
        let name = &self.plan.plan.target(target).name;
        let text = format!("`{name}` is not used any more: an operation on it failed");
        self.remark(
            Some(going.number),
            Severity::Warning,
            "target-dropped",
            text,
        )
    }

    fn failure_command(
        &mut self,
        going: &Going<'_>,
        command: &str,
        failure: &IoFailure,
    ) -> Result<(), SinkError> {
        let place = (failure.target, failure.offset, failure.length);
        self.command_at(going, command, place)
    }

    /// Runs a command with the place of an operation.
    pub(crate) fn command_at(
        &mut self,
        going: &Going<'_>,
        command: &str,
        (target, offset, length): (TargetId, u64, u32),
    ) -> Result<(), SinkError> {
        let path = &self.plan.plan.target(target).path;
        let call = CommandCall {
            text: command,
            variables: vec![
                ("lun", path.display().to_string()),
                ("lba", offset.to_string()),
                ("size", length.to_string()),
            ],
            ..CommandCall::default()
        };
        let (end, lines) = self.call(&call);
        for line in lines {
            self.remark(
                Some(going.number),
                Severity::Warning,
                "command-console",
                line,
            )?;
        }
        if end != CommandEnd::Exited(0) {
            let text = format!("`{command}` {end}");
            self.remark(
                Some(going.number),
                Severity::Warning,
                "command-failed",
                text,
            )?;
        }
        Ok(())
    }

    /// A run with a budget of errors must have none at its end for the execution to go on.
    pub(crate) fn judge_errors(&self, going: &Going<'_>, reason: FinishReason) -> FinishReason {
        let counts = matches!(going.run.run.stop.errors, ErrorBudget::Count(_));
        match reason {
            FinishReason::Complete | FinishReason::ReachedTotal if counts && going.errors > 0 => {
                FinishReason::Failed {
                    message: format!(
                        "{} failed in run `{}`",
                        plan::counted(going.errors, "operation"),
                        going.run.run.name
                    ),
                }
            }
            reason => reason,
        }
    }

    fn failure_event(&self, going: &Going<'_>, failure: &Failure) -> IoFailure {
        let stream = &going.run.run.streams[failure.stream as usize];
        IoFailure {
            run: going.number,
            unix_ns: self.host.unix_ns(failure.at_ns),
            stream: StreamId(failure.stream),
            target: stream.targets[failure.place as usize],
            operation: failure.operation,
            offset: failure.offset,
            length: failure.length,
            errno: failure.errno,
            message: std::io::Error::from_raw_os_error(failure.errno).to_string(),
            misfit: failure.misfit.clone(),
            host: self.plan.plan.host_of(stream).unwrap_or(0) as u32,
            worker: failure.worker,
        }
    }
}
