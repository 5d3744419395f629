//! What machines tell of a run when they are asked: at once, late or never. Intervals are told in their order, each once
//! its counts are there; what does not come is said to be missing, and nothing stands in its place. Read
//! [`Conductor::hear`] first.
use super::{Conductor, Going, SinkError};
use crate::{Answer, Control, Host, HostError};
use measure::{Ended, Event, FinishReason, HostInterval, Interval, IntervalPhase};
use plan::{Operation, Severity};
use std::collections::VecDeque;

/// How long after its end the counts of an interval are waited for.
const PATIENCE_NS: u64 = 10_000_000_000;

/// Who waits for an answer asks again after this time.
pub(crate) const AGAIN_NS: u64 = 20_000_000;

/// Who does not want to wait any more waits this long for an answer.
const LAST_WORDS_NS: u64 = 2_000_000_000;

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
}

/// An interval that has ended.
#[derive(Debug)]
pub(crate) struct Asked {
    /// From zero.
    pub number: u64,
    pub start_ns: u64,
    pub end_ns: u64,
    answer: Option<Result<HostInterval, HostError>>,
}

impl Asked {
    pub(crate) fn new(number: u64, start_ns: u64, end_ns: u64) -> Self {
        Self {
            number,
            start_ns,
            end_ns,
            answer: None,
        }
    }
}

impl Hearing {
    pub(crate) fn is_waiting(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Asks for nothing more than to be kept: [`Conductor::hear`] asks the machine.
    pub(crate) fn keep(&mut self, asked: Asked) {
        self.asked.push_back(asked);
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
        mut question: impl FnMut(&mut dyn Host, &Control) -> Answer<T>,
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
            let limit_ns = going.start_ns + asked.end_ns + PATIENCE_NS;
            match asked.answer.take() {
                Some(Ok(told)) => {
                    let interval = self.interval(going, &asked, told)?;
                    going.goals.add(&interval);
                    self.tell(Event::Interval(interval))?;
                }
                Some(Err(error)) => self.tell_missing(going, &asked, &error.to_string())?,
                None if self.host.now_ns() >= limit_ns => {
                    let seconds = PATIENCE_NS / 1_000_000_000;
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
        Ok(Interval {
            run: going.number,
            number,
            start_ns: asked.start_ns,
            end_ns: asked.end_ns,
            unix_ns: self.host.unix_ns(going.start_ns + asked.end_ns),
            phase: if measured {
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

    fn tell_missing(
        &mut self,
        going: &Going<'_>,
        asked: &Asked,
        reason: &str,
    ) -> Result<(), SinkError> {
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
        let reason = FinishReason::Failed { message: reason };
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
