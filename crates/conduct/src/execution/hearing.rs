//! What machines tell of a run when they are asked: at once, late or never. Intervals are told in their order, each once
//! its counts are there; what does not come is said to be missing, and nothing stands in its place. Read
//! [`Conductor::hear`] first.
use super::{Conductor, Going, SinkError};
use crate::{Answer, Control, Crew, HostError};
use measure::{Ended, Event, FinishReason, HostId, HostInterval, Interval, IntervalPhase};
use plan::{Operation, Severity};
use std::collections::VecDeque;

/// Who waits for an answer asks again after this time.
pub(crate) const AGAIN_NS: u64 = 20_000_000;

/// Who does not want to wait any more waits this long for an answer.
const LAST_WORDS_NS: u64 = 2_000_000_000;

/// So long an interval is still asked for after it was found to be overdue: who stood still finds that of all, whatever
/// came meanwhile.
const LAST_LOOK_NS: u64 = 200_000_000;

/// What is known of the answers to a run.
#[derive(Debug, Default)]
pub(crate) struct Hearing {
    /// Intervals that have ended and are not told, oldest first.
    asked: VecDeque<Asked>,
    /// The last one that was told, from one.
    last_told: u32,
    /// Of the intervals that were told.
    scheduled: u64,
    submitted: u64,
    has_seen_in_flight: bool,
    lacks_sample: bool,
    lacks_interval: bool,
    /// Hosts that were said to be missing.
    silent: Vec<HostId>,
    /// The last interval of which all hosts told, where some are missing.
    last_whole: Option<u32>,
}

/// An interval that has ended.
#[derive(Debug)]
pub(crate) struct Asked {
    /// From zero.
    pub number: u64,
    pub start_ns: u64,
    pub end_ns: u64,
    answer: Option<Result<HostInterval, HostError>>,
    /// When it was found to be overdue.
    overdue_ns: Option<u64>,
}

impl Asked {
    pub(crate) fn new(number: u64, start_ns: u64, end_ns: u64) -> Self {
        Self {
            number,
            start_ns,
            end_ns,
            answer: None,
            overdue_ns: None,
        }
    }
}

impl Asked {
    /// Whether it is not waited for any more, now that it should have been there at a time.
    fn is_given_up(&mut self, now_ns: u64, limit_ns: u64) -> bool {
        let is_overdue = now_ns >= limit_ns;
        is_overdue && now_ns - *self.overdue_ns.get_or_insert(now_ns) >= LAST_LOOK_NS
    }
}

impl Hearing {
    /// The last interval that enters the averages of a run whose last interval is `last`.
    pub(crate) fn last_measured(&self, last: u32) -> u32 {
        self.last_whole.map_or(last, |whole| whole.min(last))
    }

    pub(crate) fn is_waiting(&self) -> bool {
        !self.asked.is_empty()
    }

    /// The last interval that was told, from one.
    pub(crate) fn last_told(&self) -> u32 {
        self.last_told
    }

    /// Asks for nothing more than to be kept: [`Conductor::hear`] asks the machine.
    pub(crate) fn keep(&mut self, asked: Asked) {
        self.asked.push_back(asked);
    }

    /// Whether an interval was said to be missing.
    pub(crate) fn lacks_interval(&self) -> bool {
        self.lacks_interval
    }

    /// What is in flight was looked at.
    pub(crate) fn note_in_flight(&mut self) {
        self.has_seen_in_flight = true;
    }
}

impl Conductor<'_> {
    /// Asks until it is told or will not be; from when on `is_over` says so, only a little longer.
    pub(crate) fn ask<T>(
        &mut self,
        is_over: fn(&Control) -> bool,
        mut question: impl FnMut(&mut dyn Crew, &Control) -> Answer<T>,
    ) -> Result<T, HostError> {
        let mut over_ns = None;
        loop {
            match question(self.host, self.control) {
                Answer::Told(told) => return Ok(told),
                Answer::Never(error) => return Err(error),
                Answer::NotYet => {}
            }
            let now_ns = self.host.now_ns();
            if is_over(self.control) && now_ns - *over_ns.get_or_insert(now_ns) >= LAST_WORDS_NS {
                let text = "no answer came before the user ended the execution";
                return Err(HostError::Lost(text.to_owned()));
            }
            // A control that asks for the end would cut each of these short.
            let until_ns = now_ns + AGAIN_NS;
            self.host.wait_until(until_ns, &Control::default());
        }
    }

    /// Tells the intervals whose counts are there, up to the first that has to be waited for.
    pub(crate) fn hear(&mut self, going: &mut Going<'_>) -> Result<(), SinkError> {
        for asked in &mut going.hearing.asked {
            if asked.answer.is_some() {
                continue;
            }
            asked.answer = match self.host.collect(asked.number, asked.end_ns) {
                Answer::Told(told) => Some(Ok(told)),
                Answer::Never(error) => Some(Err(error)),
                Answer::NotYet => None,
            };
        }
        while let Some(mut asked) = going.hearing.asked.pop_front() {
            let limit_ns = going.start_ns + asked.end_ns + self.host.patience_ns();
            match asked.answer.take() {
                Some(Ok(told)) => {
                    let interval = self.interval(going, &asked, told)?;
                    going.goals.add(&interval);
                    self.tell(Event::Interval(interval))?;
                }
                Some(Err(error)) => self.tell_missing(going, &asked, &error.to_string())?,
                None if asked.is_given_up(self.host.now_ns(), limit_ns) => {
                    let seconds = self.host.patience_ns() / 1_000_000_000;
                    let reason = format!("no counts came within {seconds} s of its end");
                    self.tell_missing(going, &asked, &reason)?;
                }
                None => {
                    going.hearing.asked.push_front(asked);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Tells all intervals that have ended, or that they are missing.
    pub(crate) fn hear_rest(&mut self, going: &mut Going<'_>) -> Result<(), SinkError> {
        self.hear(going)?;
        while going.hearing.is_waiting() {
            let until_ns = self.host.now_ns() + AGAIN_NS;
            self.host.wait_until(until_ns, &Control::default());
            self.hear(going)?;
        }
        Ok(())
    }

    /// What was counted in an interval that has ended.
    pub(crate) fn interval(
        &mut self,
        going: &mut Going<'_>,
        asked: &Asked,
        told: HostInterval,
    ) -> Result<Interval, SinkError> {
        let measured = asked.number >= u64::from(going.unmeasured);
        for figure in &told.collected.figures {
            going.errors += figure.errors;
            if !measured {
                continue;
            }
            if figure.key.operation == Operation::Read {
                going.moved.read += figure.bytes;
            } else if figure.key.operation == Operation::Write {
                going.moved.written += figure.bytes;
            }
        }
        let number = asked.number as u32 + 1;
        let hearing = &mut going.hearing;
        hearing.last_told = number;
        let paced = told.collected.engine.streams.iter();
        for sample in paced.filter(|sample| sample.scheduled > 0) {
            hearing.scheduled += sample.scheduled;
            hearing.submitted += sample.submitted;
        }
        if told.sample.is_none() && !std::mem::replace(&mut hearing.lacks_sample, true) {
            let text = format!(
                "from interval {number} on, what the machine itself did is not known: it does not tell"
            );
            self.remark(Some(going.number), Severity::Warning, "no-sample", text)?;
        }
        self.tell_silent(going, number, &told)?;
        self.tell_still(going, number, &told.stood_still)?;
        self.tell_quiet(going, number, &told.was_silent)?;
        let is_whole = told.silent.is_empty() || told.goes_on;
        Ok(Interval {
            run: going.number,
            number,
            start_ns: asked.start_ns,
            end_ns: asked.end_ns,
            unix_ns: self.host.unix_ns(going.start_ns + asked.end_ns),
            phase: if measured && is_whole {
                IntervalPhase::Measured
            } else {
                IntervalPhase::Warmup
            },
            figures: told.collected.figures,
            engine: told.collected.engine,
            lost: measure::LostParts {
                cpu: told.sample.is_none(),
                devices: told.sample.is_none(),
                ..measure::LostParts::default()
            },
            host: told.sample.unwrap_or_default(),
            within: Vec::new(),
        })
    }

    /// Once for each host: what it did from then on is in no figure.
    fn tell_silent(
        &mut self,
        going: &mut Going<'_>,
        number: u32,
        told: &HostInterval,
    ) -> Result<(), SinkError> {
        let silent = &told.silent;
        if !silent.is_empty() && !told.goes_on {
            going.hearing.last_whole.get_or_insert(number - 1);
        }
        for host in silent {
            if going.hearing.silent.contains(host) {
                continue;
            }
            going.hearing.silent.push(*host);
            let name = self.plan.plan.hosts.get(*host as usize);
            let name = name.map_or("", |host| &host.name);
            let (code, rest) = match told.goes_on {
                true => ("host-lost", "the others go on without it"),
                false => ("host-missing", "what the others did since is in no average"),
            };
            let text = format!("from interval {number} on, host `{name}` is missing: {rest}");
            self.remark(Some(going.number), Severity::Error, code, text)?;
        }
        Ok(())
    }

    /// What completed meanwhile counts when the host went on and saw it.
    fn tell_still(
        &mut self,
        going: &Going<'_>,
        number: u32,
        still: &[(HostId, u64)],
    ) -> Result<(), SinkError> {
        for (host, late_ns) in still {
            let name = self.plan.plan.hosts.get(*host as usize);
            let name = name.map_or("", |host| &host.name);
            let seconds = *late_ns as f64 / 1e9;
            let text = format!(
                "host `{name}` stood still until {seconds:.1} s after interval {number}: what completed meanwhile counts when it went on"
            );
            self.remark(
                Some(going.number),
                Severity::Warning,
                "host-stood-still",
                text,
            )?;
        }
        Ok(())
    }

    /// Nothing is missing: it came later.
    fn tell_quiet(
        &mut self,
        going: &Going<'_>,
        number: u32,
        silent: &[(HostId, u64)],
    ) -> Result<(), SinkError> {
        for (host, silent_ns) in silent {
            let name = self.plan.plan.hosts.get(*host as usize);
            let name = name.map_or("", |host| &host.name);
            let seconds = *silent_ns as f64 / 1e9;
            let text = format!(
                "the line to host `{name}` was silent for {seconds:.1} s before interval {number} came: the host went on, and none of it is lost"
            );
            self.remark(Some(going.number), Severity::Warning, "line-silent", text)?;
        }
        Ok(())
    }

    fn tell_missing(
        &mut self,
        going: &mut Going<'_>,
        asked: &Asked,
        reason: &str,
    ) -> Result<(), SinkError> {
        going.hearing.lacks_interval = true;
        let text = format!("interval {} is missing: {reason}", asked.number + 1);
        self.remark(
            Some(going.number),
            Severity::Warning,
            "interval-missing",
            text,
        )
    }

    /// The end of a run of which nobody tells how it ended. What may be in flight keeps targets busy, so all of them are
    /// left alone.
    pub(crate) fn end_unheard(
        &mut self,
        going: &mut Going<'_>,
        last: &Asked,
        error: &HostError,
    ) -> Result<FinishReason, SinkError> {
        let reason = error.to_string();
        self.tell_missing(going, last, &reason)?;
        self.report_failures(going)?;
        let text = format!(
            "how the run ended is not known ({reason}): what was in flight, what failed last and arrivals after the last interval are missing"
        );
        self.remark(Some(going.number), Severity::Error, "end-missing", text)?;
        self.left_outstanding = true;
        let ended = Ended {
            scheduled: going.hearing.scheduled,
            submitted: going.hearing.submitted,
            ..Ended::default()
        };
        let reason = match self.control.is_urgent() {
            true => FinishReason::StoppedByUser,
            false => FinishReason::Failed { message: reason },
        };
        let last_told = going.hearing.last_told;
        self.finish_run(going, last_told, reason.clone(), ended)?;
        Ok(reason)
    }

    /// Says that a rule of the job has judged nothing.
    pub(crate) fn tell_unchecked(&mut self, going: &Going<'_>) -> Result<(), SinkError> {
        if self.plan.plan.steering.hang.is_none() || going.hearing.has_seen_in_flight {
            return Ok(());
        }
        let text =
            "operations that hang were not looked for: the machine did not tell what was in flight";
        self.remark(
            Some(going.number),
            Severity::Warning,
            "hang-not-checked",
            text.to_owned(),
        )
    }
}
