//! One execution: every run of a bound plan in order, each asked for by `analysis`.
mod failures;
mod goals;
mod hearing;

use crate::tick::{Ticks, expected_bytes, measured_span, unmeasured_intervals};
use crate::{Answer, Control, Crew, HostError, Prepared, SetPoint};
use analysis::{Decision, History};
use failures::Failed;
use goals::Goals;
use hearing::{AGAIN_NS, Asked, Hearing};
use measure::{
    ContentSample, DataWritten, Drained, Ended, Event, ExecutionFinished, FinishReason, LogWaits,
    PoolInfo, Remark, RunFinished, RunFold, RunStarted, RunTotals, StreamInfo,
};
use plan::{
    BoundPlan, BoundRun, CacheMode, DataLimit, Label, Nanos, RunId, RunKind, Severity, StartAlign,
    StreamId, Window,
};
use std::fmt;

/// A run that ends with a size, or with the first failure of a stream, is looked at this often.
const DONE_LOOK_NS: u64 = 20_000_000;

/// In an interval that takes longer, failures are looked at this often.
const FAILURE_LOOK_NS: u64 = 1_000_000_000;

/// Time between the decision to start and the start, for threads to be in their places.
const LEAD_NS: u64 = 20_000_000;

/// More of it where the word to start goes over a line: programs hand it on that a busy machine lets wait.
const LEAD_OF_LINE_NS: u64 = 300_000_000;

/// Beyond a few, each worker adds so much: the last of thousands would miss the first second.
const FEW_WORKERS: u64 = 64;
const LEAD_OF_WORKER_NS: u64 = 50_000;

/// The receiver of events cannot go on; the text says why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SinkError(pub String);

/// How an execution ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub reason: FinishReason,
    /// Failed operations over all runs.
    pub errors: u64,
    /// Streams that a failure ended, or a rate below their floor, over all runs.
    pub streams_failed: u32,
    /// Whether operations were left in flight, or another call on a target: what touches a target may block for good.
    pub left_outstanding: bool,
}

impl Outcome {
    /// Of an execution that could not begin.
    pub fn failed(message: String) -> Self {
        Self {
            reason: FinishReason::Failed { message },
            errors: 0,
            streams_failed: 0,
            left_outstanding: false,
        }
    }
}

/// What an earlier execution of the same plan had finished before it was interrupted.
#[derive(Clone, Debug, Default)]
pub struct Done {
    runs: u32,
    /// How long these runs took.
    spent_ns: u64,
    errors: u64,
    history: History,
}

impl Done {
    /// Adds the next run that is finished, with its failed operations, those of the warm-up too.
    ///
    /// # Panics
    /// When it is not the next one.
    pub fn add(&mut self, plan: &BoundPlan, totals: &RunTotals, errors: u64) {
        assert_eq!(totals.started.run, self.runs, "runs are finished in order");
        let (id, _) = plan
            .numbered(u64::from(self.runs))
            .expect("the plan has the run");
        self.history.add(id, totals);
        let ended_ns = totals.finished.as_ref().map(|finished| finished.unix_ns);
        self.spent_ns += ended_ns.map_or(0, |at| at.saturating_sub(totals.started.unix_ns));
        self.errors += errors;
        self.runs += 1;
    }

    /// How many runs are finished.
    pub fn runs(&self) -> u32 {
        self.runs
    }
}

/// Carries out the runs of a plan. Events go to `sink`; when it refuses one, the execution ends.
///
/// `ExecutionStarted` is the caller's to send before, as it knows what was read and from where.
pub fn execute(
    plan: &BoundPlan,
    host: &mut dyn Crew,
    control: &Control,
    sink: &mut dyn FnMut(&Event) -> Result<(), SinkError>,
) -> Outcome {
    go_on(plan, Done::default(), host, control, sink)
}

/// Carries out the runs behind those that are done. What is asked of them follows from those as if
/// nothing had come between, and so does every random draw.
pub fn go_on(
    plan: &BoundPlan,
    done: Done,
    host: &mut dyn Crew,
    control: &Control,
    sink: &mut dyn FnMut(&Event) -> Result<(), SinkError>,
) -> Outcome {
    let mut conductor = Conductor {
        plan,
        host,
        control,
        sink,
        fold: RunFold::default(),
        history: done.history,
        first: done.runs,
        spent_ns: done.spent_ns,
        errors: done.errors,
        streams_failed: 0,
        is_over: false,
        left_outstanding: false,
        shortfall_is_told: false,
        missed_shares: None,
    };
    let reason = match conductor.all_runs() {
        Ok(reason) => reason,
        Err(SinkError(message)) => FinishReason::Failed { message },
    };
    // What comes now has lost nothing but its place.
    let _ = conductor.tell_news(None);
    let unix_ns = conductor.unix_now();
    let finished = Event::ExecutionFinished(ExecutionFinished {
        unix_ns,
        reason: reason.clone(),
    });
    let told = (conductor.sink)(&finished);
    let reason = match told {
        Err(SinkError(message)) if reason == FinishReason::Complete => {
            FinishReason::Failed { message }
        }
        _ => reason,
    };
    Outcome {
        reason,
        errors: conductor.errors,
        streams_failed: conductor.streams_failed,
        left_outstanding: conductor.left_outstanding,
    }
}

pub(crate) struct Conductor<'a> {
    pub(crate) plan: &'a BoundPlan,
    pub(crate) host: &'a mut dyn Crew,
    pub(crate) control: &'a Control,
    sink: &'a mut dyn FnMut(&Event) -> Result<(), SinkError>,
    fold: RunFold,
    history: History,
    /// The number of the first run to carry out, and how long the ones before it took.
    pub(crate) first: u32,
    pub(crate) spent_ns: u64,
    errors: u64,
    pub(crate) streams_failed: u32,
    /// Set when the failure of a stream leaves nothing to do behind its run.
    pub(crate) is_over: bool,
    pub(crate) left_outstanding: bool,
    shortfall_is_told: bool,
    /// How the run that has just ended missed the shares asked of it, in words.
    pub(crate) missed_shares: Option<String>,
}

/// How a wait for the end of an interval ended.
enum Waited {
    Whole,
    /// The run ended here, in nanoseconds since its start.
    Cut(u64),
    Failed(FinishReason),
}

/// The state of one run while it is going.
pub(crate) struct Going<'a> {
    pub(crate) run: &'a BoundRun,
    pub(crate) number: u32,
    pub(crate) start_ns: u64,
    ticks: Ticks,
    pub(crate) unmeasured: u32,
    last_end_ns: u64,
    pub(crate) hearing: Hearing,
    pub(crate) errors: u64,
    /// What is known of failures before their interval ends.
    pub(crate) failed: Failed,
    pub(crate) moved: Moved,
    pub(crate) goals: Goals,
    /// Set when a total was reached: the run ends with the interval after.
    ends_after: Option<u64>,
}

/// Bytes in measured intervals.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moved {
    pub(crate) read: u64,
    pub(crate) written: u64,
}

impl Going<'_> {
    /// The interval that ends there; the next one begins there.
    fn next_interval(&mut self, number: u64, end_ns: u64) -> Asked {
        let start_ns = std::mem::replace(&mut self.last_end_ns, end_ns);
        Asked::new(number, start_ns, end_ns)
    }

    /// When the clock stops the workers; never, where only the work does.
    fn stops_ns(&self) -> u64 {
        let planned_ns = self.ticks.planned_ns.unwrap_or(u64::MAX);
        let end_ns = self
            .ends_after
            .map_or(planned_ns, |number| self.ticks.end(number).0);
        self.start_ns.saturating_add(end_ns)
    }
}

impl Conductor<'_> {
    pub(crate) fn pause(&mut self, pause: Nanos) -> Result<(), SinkError> {
        if pause.0 == 0 {
            return Ok(());
        }
        let text = format!("waiting {} s before the next run", pause.as_secs_f64());
        self.remark(None, Severity::Note, "pause", text)?;
        let until_ns = self.host.now_ns() + pause.0;
        self.host.wait_until(until_ns, self.control);
        Ok(())
    }

    /// A user who waits for nobody has ended the run before one was lost; that it is missing is said.
    fn fatal(&mut self) -> Option<HostError> {
        let is_over = self.control.is_urgent();
        let counts = |error: &HostError| !is_over || !matches!(error, HostError::Lost(_));
        self.host.fatal().filter(counts)
    }

    /// The set-point of the next run, or why there is none.
    pub(crate) fn decide(
        &mut self,
        id: RunId,
        run: &BoundRun,
        number: u32,
    ) -> Result<Result<SetPoint, String>, SinkError> {
        let decision = analysis::next(&self.plan.plan, id, &self.history);
        for remark in &decision.remarks {
            self.remark(Some(number), Severity::Warning, "search", remark.clone())?;
        }
        Ok(match decision.decision {
            Decision::FlatOut => Ok(SetPoint::default()),
            Decision::Rate {
                per_second,
                shares_pct,
            } => {
                let shares_pct = shares_pct.filter(|shares| shares.len() == run.run.streams.len());
                Ok(SetPoint {
                    rate: Some(per_second),
                    shares_pct,
                })
            }
            Decision::EndExecution { message } => Err(message),
        })
    }

    /// Once: the causes are limits of the process, which hold for all runs.
    fn tell_shortfall(&mut self, number: u32, shortfall: Option<String>) -> Result<(), SinkError> {
        let Some(text) = shortfall.filter(|_| !self.shortfall_is_told) else {
            return Ok(());
        };
        self.shortfall_is_told = true;
        let text = format!("{text}; this costs CPU with every I/O");
        self.remark(Some(number), Severity::Warning, "not-registered", text)
    }

    /// Hosts start by their own clocks, which were compared before the run.
    fn tell_start_bound(&mut self, number: u32, bound_ns: u64) -> Result<(), SinkError> {
        if bound_ns == 0 {
            return Ok(());
        }
        let text = format!("hosts start together to ± {} µs", bound_ns.div_ceil(1000));
        self.remark(Some(number), Severity::Note, "start-bound", text)
    }

    fn tell_spread(&mut self, finished: &RunFinished) -> Result<(), SinkError> {
        let Some((spread_ns, bound_ns)) = measure::spread_of_starts_ns(&finished.starts) else {
            return Ok(());
        };
        let [spread_us, bound_us] = [spread_ns, bound_ns].map(|ns| ns.div_ceil(1000));
        let text = format!(
            "hosts started within {spread_us} µs of each other; their clocks are known to ± {bound_us} µs"
        );
        self.remark(Some(finished.run), Severity::Note, "start-spread", text)
    }

    /// Streams whose figures are those of their warm-up.
    fn tell_never_warm(
        &mut self,
        going: &Going<'_>,
        streams: &[StreamId],
    ) -> Result<(), SinkError> {
        let all = &going.run.run.streams;
        let names = streams.iter().filter_map(|id| all.get(id.index()));
        let mut names: Vec<&str> = names.map(|stream| stream.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        if names.is_empty() {
            return Ok(());
        }
        let text = format!(
            "{} ended within the warm-up, so the figures are those of the warm-up",
            names.join(", ")
        );
        self.remark(Some(going.number), Severity::Warning, "never-warm", text)
    }

    /// They belong to no service time, so nothing else shows them.
    fn tell_openings(&mut self, going: &Going<'_>, openings: u64) -> Result<(), SinkError> {
        if openings == 0 || going.run.run.kind != RunKind::Measure {
            return Ok(());
        }
        let text = format!(
            "files were opened {openings} times during the run, as not all of them may be open at a time; raise `ulimit -n`"
        );
        self.remark(Some(going.number), Severity::Note, "files-reopened", text)
    }

    /// Else nothing shows why arrivals are late that had free slots.
    fn tell_held_back(&mut self, going: &Going<'_>, by: Option<StreamId>) -> Result<(), SinkError> {
        let Some(slowest) = by.and_then(|by| going.run.run.streams.get(by.index())) else {
            return Ok(());
        };
        let text = format!(
            "`{}` could not keep up with its arrivals, and those of the others waited to stay in proportion to it: what came late is late in all of them",
            slowest.name
        );
        self.remark(Some(going.number), Severity::Warning, "held-back", text)
    }

    /// The rate is that of the log then, and not of the target.
    fn tell_log_waits(&mut self, going: &Going<'_>, waits: LogWaits) -> Result<(), SinkError> {
        let LogWaits { count, sum_ns } = waits;
        if count == 0 {
            return Ok(());
        }
        let ms = sum_ns / 1_000_000;
        let text = format!(
            "workers waited {count} times, {ms} ms in all, until single I/Os were logged; average the log over windows to be faster"
        );
        self.remark(Some(going.number), Severity::Note, "log-waits", text)
    }

    /// What no list of operations shows.
    fn tell_stuck(&mut self, going: &Going<'_>, drained: &Drained) -> Result<(), SinkError> {
        self.left_outstanding |= drained.has_given_up();
        let number = Some(going.number);
        if drained.outstanding.is_empty() && drained.stuck_workers > 0 {
            let text = format!(
                "{} worker threads are stuck in the kernel: opening, closing or locking a target does not return",
                drained.stuck_workers
            );
            self.remark(number, Severity::Error, "workers-stuck", text)?;
        }
        if drained.is_unclosed {
            let text = "the targets could not be closed: the storage does not answer".to_owned();
            self.remark(number, Severity::Error, "not-closed", text)?;
        }
        Ok(())
    }

    pub(crate) fn one_run(
        &mut self,
        number: u32,
        run: &BoundRun,
        point: &SetPoint,
    ) -> Result<Result<FinishReason, HostError>, SinkError> {
        self.host.prepare(self.plan, run, point);
        let prepared = match self.ask(Control::is_stopping, |host, _| host.prepared()) {
            Ok(prepared) => prepared,
            Err(HostError::Lost(_)) if self.control.is_stopping() => {
                return Ok(Ok(FinishReason::StoppedByUser));
            }
            Err(error) => return Ok(Err(error)),
        };
        let start_ns = self.start_time(run, &prepared);
        let ticks = Ticks::of(&run.run.timing);
        if let Some(planned_ns) = ticks.planned_ns {
            self.host.stop_at(start_ns + planned_ns);
        }
        self.host.start(start_ns);
        self.host.wait_until(start_ns, self.control);
        let started = self.run_started(number, run, point, start_ns);
        self.tell(Event::RunStarted(started))?;
        self.tell_shortfall(number, prepared.shortfall)?;
        self.tell_start_bound(number, prepared.start_bound_ns)?;
        let mut going = Going {
            run,
            number,
            start_ns,
            ticks,
            unmeasured: unmeasured_intervals(&run.run.timing),
            last_end_ns: 0,
            hearing: Hearing::default(),
            errors: 0,
            failed: Failed::default(),
            moved: Moved::default(),
            goals: Goals::of(run),
            ends_after: None,
        };
        let reason = self.intervals(&mut going)?;
        if let Some(error) = self.fatal() {
            return Ok(Err(error));
        }
        let reason = self.judge_errors(&going, reason);
        Ok(Ok(self.judge_shares(reason)))
    }

    /// Runs of a language that starts on whole seconds of the wall clock do so.
    fn start_time(&self, run: &BoundRun, prepared: &Prepared) -> u64 {
        let many = u64::from(prepared.workers).saturating_sub(FEW_WORKERS);
        // The word to start has to be there before: half a round trip bounds what clocks are known to.
        let way_ns = match prepared.start_bound_ns {
            0 => 0,
            bound_ns => LEAD_OF_LINE_NS + 4 * bound_ns,
        };
        let soon_ns = self.host.now_ns() + LEAD_NS + many * LEAD_OF_WORKER_NS + way_ns;
        match run.run.timing.start {
            StartAlign::AtOnce => soon_ns,
            StartAlign::WholeSecond => {
                let unix_ns = self.host.unix_ns(soon_ns);
                soon_ns + (unix_ns.next_multiple_of(Nanos::SECOND) - unix_ns)
            }
        }
    }

    fn intervals(&mut self, going: &mut Going<'_>) -> Result<FinishReason, SinkError> {
        for number in 0.. {
            let (end_ns, is_last) = going.ticks.end(number);
            let waited = self.wait_for(going, end_ns)?;
            let is_last = is_last || going.ends_after == Some(number) || self.control.is_ending();
            let (end_ns, reason) = match waited {
                Waited::Failed(reason) => (self.elapsed(going), reason),
                Waited::Cut(cut_ns) => (cut_ns, self.reason(going, number)),
                Waited::Whole if is_last => (end_ns, self.reason(going, number)),
                Waited::Whole => {
                    let asked = going.next_interval(number, end_ns);
                    going.hearing.keep(asked);
                    self.hear(going)?;
                    match self.check_limits(going, number)? {
                        None => continue,
                        Some(reason) => {
                            let end_ns = self.elapsed(going);
                            return self.last_interval(going, number + 1, end_ns, reason);
                        }
                    }
                }
            };
            return self.last_interval(going, number, end_ns, reason);
        }
        unreachable!("the numbers of intervals do not end")
    }

    /// Waits for the end of an interval, or for what ends the run in the middle of it.
    fn wait_for(&mut self, going: &mut Going<'_>, end_ns: u64) -> Result<Waited, SinkError> {
        let until_ns = going.start_ns + end_ns;
        let look_after_ns = if may_end_early(&going.run.run) {
            DONE_LOOK_NS
        } else {
            FAILURE_LOOK_NS
        };
        let mut failures_seen_ns = self.host.now_ns();
        loop {
            let look_ns = match going.hearing.is_waiting() {
                true => self.host.now_ns() + AGAIN_NS,
                false => self.host.now_ns() + look_after_ns,
            };
            self.host.wait_until(until_ns.min(look_ns), self.control);
            self.tell_news(Some(going.number))?;
            let done = self.host.is_done();
            let now_ns = self.host.now_ns();
            let has_ended = match done {
                Answer::Told(has_ended) => has_ended,
                Answer::NotYet => false,
                // Who stood still hears first what was told of intervals that have ended, up to one that nobody has told.
                Answer::Never(_)
                    if now_ns >= until_ns + AGAIN_NS && !going.hearing.lacks_interval() =>
                {
                    return Ok(Waited::Whole);
                }
                Answer::Never(error) => {
                    let message = error.to_string();
                    return Ok(Waited::Failed(FinishReason::Failed { message }));
                }
            };
            // Workers that stop at their time are done then as well: however late this looks, each interval is read.
            let is_done = has_ended && now_ns < going.stops_ns();
            if self.control.is_stopping() || is_done {
                // What was done since the border, while this looked late, counts in the last interval: so does its time.
                let now_ns = match is_done {
                    true => now_ns,
                    false => now_ns.min(until_ns),
                };
                self.host.stop_at(now_ns);
                return Ok(Waited::Cut(now_ns.saturating_sub(going.start_ns).max(1)));
            }
            if now_ns >= until_ns {
                return Ok(Waited::Whole);
            }
            if going.hearing.is_waiting() {
                self.hear(going)?;
                if let Some(number) = going.hearing.last_told().checked_sub(1) {
                    self.check_total(going, number.into())?;
                }
            }
            // In the middle of a long interval; at its end they are looked at anyway.
            if now_ns - failures_seen_ns >= FAILURE_LOOK_NS {
                failures_seen_ns = now_ns;
                if let Some(reason) = self.check_failures(going)? {
                    return Ok(Waited::Failed(reason));
                }
            }
        }
    }

    fn reason(&self, going: &Going<'_>, number: u64) -> FinishReason {
        if self.control.is_stopping() {
            FinishReason::StoppedByUser
        } else if going.ends_after == Some(number) {
            FinishReason::ReachedTotal
        } else {
            FinishReason::Complete
        }
    }

    fn elapsed(&self, going: &Going<'_>) -> u64 {
        self.host.now_ns().saturating_sub(going.start_ns)
    }

    fn last_interval(
        &mut self,
        going: &mut Going<'_>,
        number: u64,
        end_ns: u64,
        reason: FinishReason,
    ) -> Result<FinishReason, SinkError> {
        self.host.stop_at(going.start_ns + end_ns);
        let last = going.next_interval(number, end_ns);
        let finish = |host: &mut dyn Crew, control: &Control| host.finish(number, end_ns, control);
        let ended = self.ask(Control::is_urgent, finish);
        self.hear_rest(going)?;
        let mut ended = match ended {
            Ok(ended) => ended,
            Err(error) => return self.end_unheard(going, &last, &error),
        };
        let told = std::mem::take(&mut ended.last);
        let interval = self.interval(going, &last, told)?;
        self.tell(Event::Interval(interval))?;
        let reason = match reason {
            FinishReason::Complete | FinishReason::ReachedTotal => {
                self.check_failures(going)?.unwrap_or(reason)
            }
            reason => {
                self.report_failures(going)?;
                reason
            }
        };
        // A run whose data could not be flushed, or whose worker died, did not complete.
        let reason = match self.fatal() {
            Some(error) => FinishReason::Failed {
                message: error.to_string(),
            },
            None => reason,
        };
        self.tell_never_warm(going, &ended.never_warm)?;
        self.tell_openings(going, ended.openings)?;
        self.tell_log_waits(going, ended.log_waits)?;
        self.tell_held_back(going, ended.held_back_by)?;
        self.tell_stuck(going, &ended.drained)?;
        self.tell_unchecked(going)?;
        self.finish_run(going, last.number as u32 + 1, reason.clone(), ended)?;
        Ok(reason)
    }

    /// Rules over the whole run, looked at once per interval.
    fn check_limits(
        &mut self,
        going: &mut Going<'_>,
        number: u64,
    ) -> Result<Option<FinishReason>, SinkError> {
        if let Some(reason) = self.check_failures(going)? {
            return Ok(Some(reason));
        }
        if let Some(reason) = self.check_goals(going)? {
            return Ok(Some(reason));
        }
        self.check_total(going, number)?;
        Ok(None)
    }

    /// The run ends one interval after the one in which a total of data was reached; `number` is the last that was told.
    fn check_total(&mut self, going: &mut Going<'_>, number: u64) -> Result<(), SinkError> {
        let stop = &going.run.run.stop;
        let moved = going.moved;
        let is_reached = |limit: Option<DataLimit>, bytes: u64| {
            // Binding has made bytes of every limit.
            limit.is_some_and(|limit| matches!(limit, DataLimit::Bytes(most) if bytes >= most))
        };
        let reached = [
            is_reached(stop.total_bytes, moved.read + moved.written),
            is_reached(stop.read_bytes, moved.read),
            is_reached(stop.written_bytes, moved.written),
        ];
        if going.ends_after.is_none() && reached.contains(&true) {
            going.ends_after = Some(number + 1);
            let end_ns = going.ticks.end(number + 1).0;
            self.host.stop_at(going.start_ns + end_ns);
            let text =
                "the total of data was reached; the run ends with the next interval".to_owned();
            self.remark(Some(going.number), Severity::Note, "total-reached", text)?;
        }
        Ok(())
    }

    /// `last` is the last interval, from one.
    pub(crate) fn finish_run(
        &mut self,
        going: &Going<'_>,
        last: u32,
        reason: FinishReason,
        ended: Ended,
    ) -> Result<(), SinkError> {
        self.errors += going.errors;
        let finished = RunFinished {
            run: going.number,
            unix_ns: self.unix_now(),
            reason,
            first_measured: going.unmeasured + 1,
            last_measured: going.hearing.last_measured(last),
            scheduled: ended.scheduled,
            submitted: ended.submitted,
            unsent: ended.scheduled.saturating_sub(ended.submitted),
            drain_ns: ended.drained.drain_ns,
            outstanding: ended.drained.outstanding,
            late: ended.drained.late,
            starts: match self.plan.plan.hosts.is_empty() {
                true => Vec::new(),
                false => ended.starts,
            },
        };
        self.tell_spread(&finished)?;
        self.tell_news(Some(going.number))?;
        self.tell_data(going)?;
        self.tell(Event::RunFinished(finished))
    }

    fn tell_data(&mut self, going: &Going<'_>) -> Result<(), SinkError> {
        let run = going.number;
        match self.ask(Control::is_urgent, |host, _| host.data_written()) {
            Ok(kinds) if kinds.is_empty() => Ok(()),
            Ok(mut kinds) => {
                let samples = kinds.iter_mut().map(|kind| &mut kind.sample);
                samples.for_each(|sample| *sample = ContentSample::default());
                self.tell(Event::DataWritten(DataWritten { run, kinds }))
            }
            Err(error) => {
                let text = format!("what the written data were like is not known: {error}");
                self.remark(Some(run), Severity::Warning, "data-missing", text)
            }
        }
    }

    fn run_started(
        &self,
        number: u32,
        run: &BoundRun,
        point: &SetPoint,
        start_ns: u64,
    ) -> RunStarted {
        let paces = engine::paces(run, point.rate, point.shares_pct.as_deref());
        let (from_ns, to_ns) = measured_span(&run.run.timing);
        let run_rate = point.rate.or(run.run.load.mean_rate(from_ns, to_ns));
        let rate_of =
            |pace: &Option<engine::Pace>| pace.as_ref().map(|pace| pace.mean_rate(from_ns, to_ns));
        let asked_rate = paces.iter().map(rate_of).sum::<Option<f64>>();
        let laws = paces.iter().flatten().map(|pace| pace.law);
        let streams = run
            .run
            .streams
            .iter()
            .zip(&paces)
            .map(|(stream, pace)| StreamInfo {
                name: stream.name.clone(),
                targets: stream.targets.clone(),
                pool: stream.pool.0,
                asked_rate: rate_of(pace),
                share_pct: stream.share_pct,
                labels: stream.labels.clone(),
                law: pace.as_ref().map(|pace| pace.law),
                host: self.plan.plan.host_of(stream).unwrap_or(0) as u32,
                cache_mode: self.cache_mode(stream),
            });
        let timing = &run.run.timing;
        RunStarted {
            run: number,
            runs: self.runs_known(number),
            name: run.run.name.clone(),
            kind: run.run.kind,
            unix_ns: self.host.unix_ns(start_ns),
            interval_ns: timing.interval.0,
            warmup_ns: timing.warmup.0,
            window_ns: match timing.window {
                Window::For(window) => Some(window.0),
                Window::UntilDone { .. } => None,
            },
            unmeasured_intervals: unmeasured_intervals(timing),
            load: run.run.load.clone(),
            asked_rate: asked_of_all(run_rate, asked_rate),
            law: laws.max_by_key(|law| law.scatters()),
            is_open_loop: paces.iter().any(Option::is_some) || follows_record(run),
            pools: run
                .run
                .pools
                .iter()
                .map(|p| PoolInfo {
                    name: p.name.clone(),
                    slots: p.slots,
                })
                .collect(),
            streams: streams.collect(),
            expected_bytes: expected_bytes(run),
            labels: labels(run),
            swept: run.run.swept.clone(),
        }
    }

    fn cache_mode(&self, stream: &plan::Stream) -> Option<CacheMode> {
        let targets = stream
            .targets
            .iter()
            .filter_map(|id| self.plan.plan.targets.get(id.index()));
        let real = targets.filter(|target| target.is_real());
        real.map(|target| stream.open_mode(target).cache_mode())
            .max()
    }

    pub(crate) fn tell(&mut self, event: Event) -> Result<(), SinkError> {
        if let Some(totals) = self.fold.fold(&event) {
            self.remember(&totals);
        }
        (self.sink)(&event)
    }

    fn remember(&mut self, totals: &RunTotals) {
        self.missed_shares = self.find_missed_shares(totals);
        let numbered = self.plan.numbered(u64::from(totals.started.run));
        let (id, _) = numbered.expect("a run has the number it was started by");
        self.history.add(id, totals);
    }

    pub(crate) fn remark(
        &mut self,
        run: Option<u32>,
        severity: Severity,
        code: &str,
        message: String,
    ) -> Result<(), SinkError> {
        let unix_ns = self.unix_now();
        self.tell(Event::Remark(Remark {
            run,
            unix_ns,
            severity,
            code: code.to_owned(),
            message,
        }))
    }

    /// What was said from outside meanwhile, at the time at which it happened.
    fn tell_news(&mut self, run: Option<u32>) -> Result<(), SinkError> {
        // Simulated time is not that of who marks.
        let now_ns = self.unix_now();
        for news in self.control.take_news() {
            self.tell(Event::Remark(Remark {
                run,
                unix_ns: news.unix_ns.min(now_ns),
                severity: news.severity,
                code: news.code.to_owned(),
                message: news.message,
            }))?;
        }
        Ok(())
    }

    fn unix_now(&self) -> u64 {
        self.host.unix_ns(self.host.now_ns())
    }
}

/// Those of the plan; of a job that is done with one quantity varied also what it works on.
fn labels(run: &BoundRun) -> Vec<Label> {
    let mut labels = run.run.labels.clone();
    if Label::find(&labels, Label::SCALED).is_some() {
        let bytes = run.worked_on_bytes().to_string();
        labels.push(Label::new(Label::WORKED_ON, bytes));
    }
    labels
}

/// Whether streams can end before the run does: its time is then theirs.
fn may_end_early(run: &plan::Run) -> bool {
    let ends_with_size = matches!(run.timing.window, Window::UntilDone { .. });
    let ends_with_failure = |stream: &plan::Stream| stream.flow.tolerance.is_some();
    ends_with_size || run.streams.iter().any(ends_with_failure)
}

/// Whether some arrivals have the times of a record.
fn follows_record(run: &BoundRun) -> bool {
    let mut records = run
        .run
        .streams
        .iter()
        .filter_map(|stream| stream.source.replay());
    records.any(|replay| replay.follows_times)
}

/// What is asked of a run: its own rate, unless its streams by themselves ask for more.
fn asked_of_all(run_rate: Option<f64>, of_streams: Option<f64>) -> Option<f64> {
    // Shares that add up to 100 only nearly are no larger rate.
    let is_more = |sum: &f64| run_rate.is_none_or(|rate| *sum > rate * (1.0 + 1e-9));
    of_streams.filter(is_more).or(run_rate)
}

impl fmt::Display for SinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SinkError {}
