//! The order of runs with what surrounds them: repetitions, pauses and commands.
use crate::execution::{Conductor, SinkError};
use crate::{CommandCall, CommandEnd, NamedHost, has_part};
use measure::{FinishReason, Remark};
use plan::{BoundRun, Command, CommandOutput, Label, Nanos, Repeat, RunId, RunKind, Severity};

impl Conductor<'_> {
    /// All runs between the commands of the execution.
    pub(crate) fn all_runs(&mut self) -> Result<FinishReason, SinkError> {
        let steering = &self.plan.plan.steering;
        let reason = match self.commands(None, &steering.before)? {
            Some(reason) => reason,
            None => self.sequence()?,
        };
        if reason == FinishReason::StoppedByUser {
            return Ok(reason);
        }
        let ended = self.commands(None, &steering.after)?;
        Ok(ended
            .filter(|_| reason == FinishReason::Complete)
            .unwrap_or(reason))
    }

    fn sequence(&mut self) -> Result<FinishReason, SinkError> {
        let begun_ns = self.host.now_ns();
        let earlier = u64::from(self.first).checked_sub(1);
        let last = earlier.and_then(|number| self.plan.numbered(number));
        let mut pause = last.map_or(Nanos(0), |(id, _)| {
            self.plan.plan.spec(id).timing.pause_after
        });
        let mut passes = last.map_or(0, |(_, pass)| pass);
        for number in self.first.. {
            let Some((id, pass)) = self.plan.numbered(u64::from(number)) else {
                break;
            };
            if pass > passes && self.is_time_up(begun_ns) {
                break;
            }
            passes = pass;
            self.pause(pause)?;
            if self.control.is_stopping() {
                return Ok(FinishReason::StoppedByUser);
            }
            match self.surrounded(number, id, pass)? {
                FinishReason::Complete | FinishReason::ReachedTotal => {}
                other => return Ok(other),
            }
            if self.left_outstanding && self.plan.numbered(u64::from(number) + 1).is_some() {
                let message = "operations never came back; the runs that follow were not started";
                return Ok(FinishReason::Failed {
                    message: message.to_owned(),
                });
            }
            if self.control.takes_end_of_all() || self.is_over {
                return Ok(FinishReason::Complete);
            }
            pause = self.plan.plan.spec(id).timing.pause_after;
        }
        if self.plan.plan.steering.repeat != Repeat::Once {
            let text = format!("all runs were carried out {} times", passes + 1);
            self.remark(None, Severity::Note, "repeated", text)?;
        }
        Ok(FinishReason::Complete)
    }

    /// Whether no further pass is to begin.
    fn is_time_up(&self, begun_ns: u64) -> bool {
        let spent_ns = self.spent_ns + (self.host.now_ns() - begun_ns);
        matches!(self.plan.plan.steering.repeat, Repeat::For(time) if spent_ns >= time.0)
    }

    /// A run between its commands.
    fn surrounded(&mut self, number: u32, id: RunId, pass: u64) -> Result<FinishReason, SinkError> {
        // Each pass draws its own addresses and arrivals.
        let mut run = self.plan.run(self.plan.plan.in_pass(id, pass));
        if self.plan.plan.steering.repeat != Repeat::Once && run.run.kind == RunKind::Measure {
            let text = (pass + 1).to_string();
            run.run.labels.push(Label::new(Label::REPETITION, text));
        }
        let point = match self.decide(id, &run, number)? {
            Ok(point) => point,
            Err(message) => return Ok(FinishReason::SearchEnded { message }),
        };
        if let Some(reason) = self.until_ready(number)? {
            return Ok(reason);
        }
        let (before, after) = self.plan.plan.steering.of_run(id);
        let around = Some((number, &run));
        if let Some(reason) = self.commands(around, before)? {
            return Ok(reason);
        }
        let reason = match self.one_run(number, &run, &point)? {
            Ok(reason) => reason,
            Err(error) => FinishReason::Failed {
                message: error.to_string(),
            },
        };
        if reason == FinishReason::StoppedByUser {
            return Ok(reason);
        }
        let ended = self.commands(around, after)?;
        let is_fine = matches!(reason, FinishReason::Complete | FinishReason::ReachedTotal);
        Ok(ended.filter(|_| is_fine).unwrap_or(reason))
    }

    /// Runs commands one after the other; why the execution ends, if it does.
    fn commands(
        &mut self,
        around: Option<(u32, &BoundRun)>,
        commands: &[Command],
    ) -> Result<Option<FinishReason>, SinkError> {
        let run = around.map(|(number, _)| number);
        let hosts = self.hosts_of(around.map(|(_, run)| run));
        for command in commands {
            let code = match command.output {
                CommandOutput::Log => "command-log",
                CommandOutput::Summary => "command-summary",
                CommandOutput::Console => "command-console",
            };
            let call = CommandCall {
                text: &command.text,
                ..CommandCall::default()
            };
            // Those around a run stand at its beginning and at its end.
            if run.is_some() {
                self.remark(run, Severity::Note, Remark::MARK, command.text.clone())?;
            }
            self.remark(
                run,
                Severity::Note,
                "command-log",
                format!("command: {}", command.text),
            )?;
            let (ends, lines) = match command.on_hosts && !hosts.is_empty() {
                true => self.call_on(&hosts, &call),
                false => {
                    let (end, lines) = self.call(&call);
                    let here = (format!("`{}` {end}", command.text), end);
                    (vec![here], lines)
                }
            };
            for line in lines {
                self.remark(run, Severity::Note, code, format!("Cmd: {line}"))?;
            }
            let mut reason = None;
            for (message, end) in ends {
                match end {
                    CommandEnd::Exited(0) => {}
                    CommandEnd::Exited(_) | CommandEnd::Signalled(_) => {
                        self.remark(run, Severity::Warning, "command-failed", message)?;
                    }
                    CommandEnd::Stopped => reason = Some(FinishReason::StoppedByUser),
                    CommandEnd::TimedOut(_) | CommandEnd::Refused(_) | CommandEnd::Lost(_) => {
                        reason = reason.or(Some(FinishReason::Failed { message }));
                    }
                }
            }
            if reason.is_some() {
                return Ok(reason);
            }
        }
        Ok(None)
    }

    /// The hosts that have a part in a run, or in the execution; none where it is not spread over hosts.
    fn hosts_of(&self, run: Option<&BoundRun>) -> Vec<NamedHost> {
        let plan = self.plan;
        let hosts = plan.plan.hosts.iter().zip(0..);
        let hosts = hosts.filter(|_| plan.plan.is_spread());
        let hosts = hosts.map(|(host, id)| (id, host.name.clone()));
        let is_in = |(id, _): &NamedHost| run.is_none_or(|run| has_part(plan, run, *id));
        hosts.filter(is_in).collect()
    }

    /// Runs a command on hosts: each end with what is to be said of it, and what was printed.
    fn call_on(
        &mut self,
        hosts: &[NamedHost],
        call: &CommandCall<'_>,
    ) -> (Vec<(String, CommandEnd)>, Vec<String>) {
        let mut lines = Vec::new();
        let mut said = |(_, name): &NamedHost, line: &str| lines.push(format!("{name}: {line}"));
        let ends = self.host.command_on(hosts, call, self.control, &mut said);
        let told = ends.into_iter().map(|((_, name), end)| {
            let message = format!("`{}` on host `{name}` {end}", call.text);
            (message, end)
        });
        (told.collect(), lines)
    }

    /// Runs a command to its end; how it ended and what it printed.
    pub(crate) fn call(&mut self, call: &CommandCall<'_>) -> (CommandEnd, Vec<String>) {
        let mut lines = Vec::new();
        let end = self
            .host
            .command(call, self.control, &mut |line| lines.push(line.to_owned()));
        (end, lines)
    }

    /// How many runs are known to come, those that are over included.
    pub(crate) fn runs_known(&self, number: u32) -> u32 {
        let count = self.plan.run_count().unwrap_or_else(|| {
            let pass = self
                .plan
                .numbered(u64::from(number))
                .map_or(0, |(_, pass)| pass);
            let behind = (u64::from(number)..)
                .take_while(|next| self.plan.numbered(*next).is_some_and(|(_, of)| of == pass));
            behind.last().map_or(0, |last| last + 1)
        });
        u32::try_from(count).unwrap_or(u32::MAX)
    }
}
