//! A machine as it is seen from the near end of a line.
use crate::line::{LAST_LOOK, Line, LineError, PipeLine};
use crate::operations::Gathering;
use crate::words::{Ask, Tell, of_order, read, written};
use conduct::machine::{Examined, Machine, Order, Ready, Refusal, States};
use conduct::{
    Answer, CommandEnd, CommandOrder, Control, Host, HostError, Left, Prepared, SetPoint,
};
use measure::{DataFigures, Ended, Failures, HostId, HostInterval, Outstanding};
use plan::{BoundPlan, BoundRun, Facts, Plan, Severity};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A [`Host`] at the other end of a line. What it has told is here; what it has not is not there yet.
pub struct Piped<L: Line> {
    /// As messages name it.
    name: String,
    /// Its place in the plan, once it has an order.
    host: HostId,
    line: L,
    end: Option<LineError>,
    /// The clock of the execution.
    clock: Box<dyn Fn() -> u64 + Send>,
    /// `None` until the clock over there has told its time for this run.
    offset: Option<Offset>,
    heard: Moment,
    /// When it was looked whether something has come, and since when nothing has as far as that was looked for.
    looked: Moment,
    quiet: Moment,
    silence: Duration,
    /// Ends what carries the line.
    cut: Option<Box<dyn FnOnce() + Send>>,
    /// Whether a silence was found that may be none.
    is_doubted: bool,
    has_left: bool,
    operations: Option<Gathering>,
    states: States,
    /// Before the first run.
    facts: Option<Result<Facts, Refusal>>,
    examined: Option<Result<Examined, Refusal>>,
    granted: Option<Result<Box<Ready>, Refusal>>,
    question: u64,
    /// What its clock showed, and when that was heard here.
    time: Option<(u64, u64)>,
    left: Option<Left>,
    command: ToldOfCommand,
    told: ToldOfRun,
}

/// What the other end has told of a command.
#[derive(Default)]
struct ToldOfCommand {
    lines: Vec<String>,
    end: Option<CommandEnd>,
    asked_to_end: Option<Moment>,
}

/// On the clock of the execution once there is one, and on that of the machine before.
#[derive(Clone, Copy, Debug)]
struct Moment {
    at: Instant,
    at_ns: u64,
}

impl Default for Moment {
    fn default() -> Self {
        Self {
            at: Instant::now(),
            at_ns: 0,
        }
    }
}

/// How the clock of a host stands to that of the execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Offset {
    /// What is to be added to a time of the execution to have that of the host.
    offset_ns: i64,
    /// How far off that may be.
    bound_ns: u64,
}

impl Offset {
    /// From a question, its answer and when both were here: the answer was given at any moment in between.
    fn of(asked_ns: u64, told_ns: u64, theirs_ns: u64) -> Self {
        let middle_ns = asked_ns + (told_ns - asked_ns) / 2;
        Self {
            offset_ns: theirs_ns as i64 - middle_ns as i64,
            bound_ns: (told_ns - asked_ns).div_ceil(2),
        }
    }

    /// How far a start may be off. A line that takes no time leads to the same clock.
    fn start_bound_ns(self) -> u64 {
        match self.bound_ns {
            0 => 0,
            bound_ns => bound_ns + DRIFT_NS,
        }
    }
}

/// A plan takes some times its memory while it is written down, so it is for one host after the other.
static PLANS: Mutex<()> = Mutex::new(());

/// How often the clock of a host is asked before a run; the answer that came back soonest counts.
const CLOCK_QUESTIONS: u32 = 8;

/// How long an answer about the clock is waited for.
const CLOCK_PATIENCE: Duration = Duration::from_millis(500);

/// What clocks may drift apart from the comparison to the start, which comes within two seconds: 100 parts in a million.
const DRIFT_NS: u64 = 200_000;

/// A line brings something each second. One that was silent for so long and came back is marked.
const SILENT: Duration = Duration::from_secs(3);

/// After so long without a look nothing is said of a silence: this process stood still, or had nothing to wait for.
const NOT_LOOKED: Duration = Duration::from_secs(1);

/// How long what was written may take to be recorded over there, at the end.
const LEAVE_PATIENCE: Duration = Duration::from_secs(10);

/// How long a host has for its last words once the user does not want to wait.
const HURRY_PATIENCE: Duration = Duration::from_millis(1500);

/// A host that does not answer a question for so long does not answer any more.
const PATIENCE: Duration = Duration::from_secs(120);

/// What the other end has told of the run.
#[derive(Default)]
struct ToldOfRun {
    prepared: Option<Result<Prepared, HostError>>,
    intervals: BTreeMap<u64, HostInterval>,
    /// The interval that comes next, from zero.
    next: u64,
    /// Since when it is waited for.
    awaited: Option<Moment>,
    /// How long nothing was heard before the next interval.
    was_silent: Duration,
    failures: Failures,
    fatal: Option<HostError>,
    is_done: bool,
    outstanding: Option<Vec<Outstanding>>,
    ended: Option<Result<Box<Ended>, HostError>>,
    data_written: Option<Result<Vec<DataFigures>, HostError>>,
    /// What was asked already.
    asked: Asked,
}

#[derive(Default)]
struct Asked {
    for_end: bool,
    in_hurry: Option<Moment>,
    for_data: bool,
    for_outstanding: bool,
}

/// The near end of a line over two pipes. It keeps itself alive, also while the one that leads waits for something else.
///
/// # Errors
/// When no thread can be had.
pub fn lead(
    reader: impl Read + Send + 'static,
    writer: impl Write + Send + 'static,
) -> io::Result<PipeLine> {
    let alive = written(&Ask::Alive);
    PipeLine::new(reader, writer, |_| None, Some(alive))
}

impl<L: Line> Piped<L> {
    /// A line that is silent for longer than `silence` has ended.
    pub fn new(name: String, line: L, silence: Duration) -> Self {
        Self {
            name,
            host: 0,
            line,
            end: None,
            clock: Box::new(|| 0),
            offset: None,
            heard: Moment::default(),
            looked: Moment::default(),
            quiet: Moment::default(),
            silence,
            cut: None,
            is_doubted: false,
            has_left: false,
            operations: None,
            states: States::default(),
            question: 0,
            time: None,
            left: None,
            facts: None,
            examined: None,
            granted: None,
            command: ToldOfCommand::default(),
            told: ToldOfRun::default(),
        }
    }

    fn ask(&mut self, ask: &Ask) {
        let content = written(ask);
        self.line.send(content);
    }

    /// Times are those of this clock from now on.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Fn() -> u64 + Send + 'static) -> Self {
        self.clock = Box::new(clock);
        self.heard = self.now();
        self
    }

    /// A line at whose other end nobody has said farewell is cut in the end: what carries it could wait for long.
    #[must_use]
    pub fn with_cut(mut self, cut: impl FnOnce() + Send + 'static) -> Self {
        self.cut = Some(Box::new(cut));
        self
    }

    /// Single operations come to `operations`.
    #[must_use]
    pub fn with_operations(mut self, operations: Option<Gathering>) -> Self {
        self.operations = operations;
        self
    }

    /// What streams have written comes to `states`.
    #[must_use]
    pub fn with_states(mut self, states: &States) -> Self {
        self.states = states.clone();
        self
    }

    fn now(&self) -> Moment {
        Moment {
            at: Instant::now(),
            at_ns: (self.clock)(),
        }
    }

    fn since(&self, moment: Moment) -> Duration {
        match (self.clock)() {
            0 => moment.at.elapsed(),
            now_ns => Duration::from_nanos(now_ns.saturating_sub(moment.at_ns)),
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    fn await_step<T>(
        &mut self,
        what: &str,
        take: impl Fn(&mut Self) -> Option<Result<T, Refusal>>,
    ) -> Result<T, Refusal> {
        let answer = self.await_answer(PATIENCE, take);
        let late = |end| Refusal::misfit(format!("{end} while {what} was waited for"));
        answer.unwrap_or_else(|end| Err(late(end)))
    }

    fn await_answer<T>(
        &mut self,
        patience: Duration,
        take: impl Fn(&mut Self) -> Option<T>,
    ) -> Result<T, LineError> {
        let since = self.now();
        loop {
            self.hear();
            if let Some(answer) = take(self) {
                return Ok(answer);
            }
            if let Some(end) = &self.end {
                return Err(end.clone());
            }
            if self.since(since) >= patience {
                let seconds = patience.as_secs_f64();
                return Err(LineError(format!("no answer within {seconds} s")));
            }
            self.line.wait(Duration::from_millis(20));
        }
    }

    /// Asks the clock over there how it stands to the one here. Without an answer nothing is known of it: what was true
    /// before an earlier run bounds nothing now.
    fn compare_clocks(&mut self) {
        let mut best: Option<Offset> = None;
        for _ in 0..CLOCK_QUESTIONS {
            self.time = None;
            self.question += 1;
            let question = self.question;
            let asked_ns = (self.clock)();
            self.ask(&Ask::Time { question });
            let Ok((theirs_ns, told_ns)) = self.await_answer(CLOCK_PATIENCE, |told| told.time)
            else {
                break;
            };
            let offset = Offset::of(asked_ns, told_ns, theirs_ns);
            if best.is_none_or(|best| offset.bound_ns < best.bound_ns) {
                best = Some(offset);
            }
        }
        self.offset = best;
    }

    /// Says that nothing more will be asked, and waits until what was written is recorded.
    fn part(&mut self, is_whole: bool) {
        if !std::mem::replace(&mut self.has_left, true) && self.end.is_none() {
            self.ask(&Ask::Leave { is_whole });
            // What was filled is looked at first.
            let patience = match is_whole {
                true => PATIENCE,
                false => LEAVE_PATIENCE,
            };
            // Who does not answer records it later, or never.
            let _ = self.await_answer(patience, |told| told.left.is_some().then_some(()));
        }
    }

    /// Whether more may have come meanwhile.
    fn note_silence(&mut self) -> bool {
        if self.since(self.heard) < self.silence {
            return false;
        }
        if !std::mem::replace(&mut self.is_doubted, true) {
            self.line.wait(LAST_LOOK);
            return true;
        }
        let seconds = self.silence.as_secs_f64();
        self.end = Some(LineError(format!("silent for {seconds} s")));
        false
    }

    /// Who does not answer somebody in a hurry does not hold up what is left to do either.
    fn note_hurry(&mut self) {
        let asked = self.told.asked.in_hurry;
        if self.end.is_none()
            && self.told.ended.is_none()
            && asked.is_some_and(|asked| self.since(asked) >= HURRY_PATIENCE)
        {
            let text = "no answer came before the user ended the execution";
            self.end = Some(LineError(text.to_owned()));
        }
    }

    /// Takes in what has come.
    fn hear(&mut self) {
        let (now, looked) = (self.now(), self.looked);
        self.looked = now;
        // Who did not look does not know whether the line was silent.
        if self.since(looked) >= NOT_LOOKED {
            self.quiet = now;
        }
        while self.end.is_none() {
            let heard = match self.line.receive() {
                Ok(None) if self.note_silence() => continue,
                Ok(None) => return,
                Ok(Some(content)) => read(&content)
                    .map_err(|error| LineError(format!("nobody of this build tells so: {error}"))),
                Err(end) => Err(end),
            };
            match heard {
                Ok(tell) => {
                    self.heard = self.now();
                    self.is_doubted = false;
                    let quiet = std::mem::replace(&mut self.quiet, self.heard);
                    let silent = self.since(quiet);
                    if silent >= SILENT {
                        self.told.was_silent = self.told.was_silent.max(silent);
                    }
                    self.take(tell);
                }
                Err(end) => self.end = Some(end),
            }
        }
    }

    fn take(&mut self, tell: Tell) {
        let offset_ns = self.offset_ns();
        let told = &mut self.told;
        match tell {
            // An answer that comes too late is none to the question after it.
            Tell::Time { question, now_ns } if question == self.question => {
                self.time = Some((now_ns, (self.clock)()));
            }
            Tell::Time { .. } | Tell::Alive => {}
            Tell::Left(left) => {
                self.left = Some(Left {
                    notes: bounded(left.notes),
                    ..left
                });
            }
            Tell::Facts(facts) => self.facts = Some(facts),
            Tell::Examined(examined) => self.examined = Some(examined),
            Tell::Granted(granted) => self.granted = Some(granted),
            Tell::Prepared(prepared) => {
                told.prepared = Some(prepared.map_err(|error| named(&self.name, error)));
            }
            Tell::Interval { number, .. } if number != told.next => {
                let next = told.next + 1;
                let text = format!("it tells of another interval than {next}, which is next");
                self.end = Some(LineError(text));
            }
            Tell::Interval { number, told: one } => {
                (told.next, told.awaited) = (number + 1, None);
                told.intervals.insert(number, *one);
            }
            Tell::Failures(mut failures) => {
                for one in &mut failures.listed {
                    one.at_ns = one.at_ns.saturating_add_signed(-offset_ns);
                }
                told.failures.merge(failures);
            }
            Tell::Fatal(error) => told.fatal = Some(named(&self.name, error)),
            Tell::States(states) => self.states.add(states),
            Tell::Done => told.is_done = true,
            Tell::Outstanding(outstanding) => told.outstanding = Some(outstanding),
            Tell::Ended(ended) => {
                told.ended = Some(ended.map_err(|error| named(&self.name, error)));
            }
            Tell::DataWritten(written) => told.data_written = Some(written),
            Tell::Said(line) => self.command.lines.push(line),
            Tell::CommandEnded(end) => self.command.end = Some(end),
            Tell::Operations { .. } | Tell::Logged { .. } => self.gather(tell),
        }
    }

    fn gather(&self, tell: Tell) {
        match (&self.operations, tell) {
            (
                Some(gathering),
                Tell::Operations {
                    run,
                    start_unix_ns,
                    operations,
                },
            ) => gathering.take(run, start_unix_ns, &operations),
            (Some(gathering), Tell::Logged { run, lost }) => gathering.end(run, lost),
            _ => {}
        }
    }

    /// Waits no longer for what a line that has ended cannot bring.
    fn or_lost<T>(&self) -> Answer<T> {
        match &self.end {
            None => Answer::NotYet,
            Some(end) => Answer::Never(HostError::Lost(format!("host `{}`: {end}", self.name))),
        }
    }

    /// Ends a host whose line is alive and that does not send the next interval within the time that it may be silent.
    fn await_interval(&mut self, number: u64) {
        if number != self.told.next || self.told.is_done || self.end.is_some() {
            return;
        }
        let now = self.now();
        let since = *self.told.awaited.get_or_insert(now);
        if self.since(since) >= self.silence {
            let seconds = self.silence.as_secs_f64();
            let text = format!(
                "it does not tell interval {} within {seconds} s",
                number + 1
            );
            self.end = Some(LineError(text));
        }
    }

    /// The same of a run that goes on: who cannot go on with it tells nothing more of it.
    fn or_fatal<T>(&self) -> Answer<T> {
        match (self.or_lost(), &self.told.fatal) {
            (Answer::NotYet, Some(error)) => Answer::Never(error.clone()),
            (answer, _) => answer,
        }
    }

    fn theirs(&self, at_ns: u64) -> u64 {
        at_ns.saturating_add_signed(self.offset_ns())
    }

    /// Nothing that has a time is asked or told before the offset is known.
    fn offset_ns(&self) -> i64 {
        self.offset.map_or(0, |offset| offset.offset_ns)
    }

    /// Intervals after the last one belong to it: the stop came late over there.
    fn whole(&mut self, number: u64, mut ended: Ended) -> Ended {
        for start in &mut ended.starts {
            start.offset_ns = self.offset_ns();
            start.round_trip_ns = self.offset.map_or(0, |offset| 2 * offset.bound_ns);
            start.bound_ns = self.offset.map_or(0, Offset::start_bound_ns);
        }
        let mut parts = self.told.intervals.split_off(&number).into_values();
        if let Some(mut first) = parts.next() {
            parts.for_each(|later| first.append(&later));
            first.append(&ended.last);
            ended.last = first;
        }
        ended
    }
}

/// Notes of a host are cut after this length.
const NOTES_BYTES: usize = 2 << 10;

/// What is kept of the notes of a host: whoever reads them has those of many.
fn bounded(notes: Vec<(Severity, String)>) -> Vec<(Severity, String)> {
    let (mut kept, mut room, count) = (Vec::new(), NOTES_BYTES, notes.len());
    for (severity, mut text) in notes {
        if text.len() > room {
            let end = (0..=room).rev().find(|end| text.is_char_boundary(*end));
            text.truncate(end.unwrap_or(0));
            text.push('…');
        }
        room = room.saturating_sub(text.len());
        kept.push((severity, text));
        if room == 0 {
            break;
        }
    }
    let left_out = count - kept.len();
    if left_out > 0 {
        let text = format!(
            "{} of it left out",
            plan::counted(left_out as u64, "more note")
        );
        kept.push((Severity::Note, text));
    }
    kept
}

fn named(host: &str, error: HostError) -> HostError {
    let text = format!("host `{host}`: {error}");
    match error {
        HostError::Lost(_) => HostError::Lost(text),
        _ => HostError::Refused(text),
    }
}

fn answered<T>(told: Result<T, HostError>) -> Answer<T> {
    match told {
        Ok(told) => Answer::Told(told),
        Err(error) => Answer::Never(error),
    }
}

/// Each step is asked over the line. Who does not answer is as one that the job does not fit.
impl<L: Line> Machine for Piped<L> {
    fn facts(&mut self, plan: &Plan, host: HostId) -> Result<Facts, Refusal> {
        {
            let _turn = PLANS.lock().unwrap_or_else(PoisonError::into_inner);
            let plan = Box::new(plan.clone());
            self.ask(&Ask::Facts { plan, host });
        }
        self.await_step("what it knows of its targets", |told| told.facts.take())
    }

    fn examine(&mut self, order: &Order) -> Result<Examined, Refusal> {
        self.host = order.host;
        {
            let _turn = PLANS.lock().unwrap_or_else(PoisonError::into_inner);
            of_order(order).for_each(|ask| self.ask(&ask));
        }
        self.await_step("its look at its targets", |told| told.examined.take())
    }

    fn grant(&mut self, overwrite: &[String]) -> Result<Ready, Refusal> {
        let overwrite = overwrite.to_vec();
        self.ask(&Ask::Grant { overwrite });
        let ready = self.await_step("its consent to the job", |told| told.granted.take())?;
        Ok(Ready {
            notes: bounded(ready.notes),
            ..*ready
        })
    }
}

impl<L: Line> Drop for Piped<L> {
    fn drop(&mut self) {
        self.part(false);
        if let Some(cut) = self.cut.take().filter(|_| self.left.is_none()) {
            cut();
        }
    }
}

impl<L: Line> Host for Piped<L> {
    fn prepare(&mut self, _plan: &BoundPlan, run: &BoundRun, point: &SetPoint) {
        self.told = ToldOfRun::default();
        if let Some(gathering) = &self.operations {
            gathering.begin(run.id);
        }
        self.compare_clocks();
        self.ask(&Ask::Prepare {
            run: run.id,
            point: point.clone(),
        });
    }

    fn prepared(&mut self) -> Answer<Prepared> {
        self.hear();
        // A start would be off by as much as the clocks are.
        if let Some(Ok(_)) = self.told.prepared
            && self.offset.is_none()
        {
            self.compare_clocks();
            if self.offset.is_none() {
                return self.or_lost();
            }
        }
        match self.told.prepared.take() {
            Some(prepared) => answered(prepared.map(|prepared| Prepared {
                start_bound_ns: self.offset.map_or(0, Offset::start_bound_ns),
                ..prepared
            })),
            None => self.or_lost(),
        }
    }

    fn start(&mut self, start_ns: u64) {
        let at_ns = self.theirs(start_ns);
        self.ask(&Ask::Start { at_ns });
    }

    fn stop_at(&mut self, stop_ns: u64) {
        let at_ns = self.theirs(stop_ns);
        self.ask(&Ask::StopAt { at_ns });
    }

    fn is_done(&mut self) -> Answer<bool> {
        self.hear();
        match self.or_fatal() {
            Answer::NotYet => Answer::Told(self.told.is_done),
            lost => lost,
        }
    }

    fn fatal(&mut self) -> Option<HostError> {
        self.hear();
        self.told.fatal.take()
    }

    fn collect(&mut self, number: u64, _end_ns: u64) -> Answer<HostInterval> {
        self.hear();
        match self.told.intervals.remove(&number) {
            Some(mut told) => {
                let silent = std::mem::take(&mut self.told.was_silent);
                if !silent.is_zero() {
                    let silent_ns = silent.as_nanos() as u64;
                    told.was_silent.push((self.host, silent_ns));
                }
                Answer::Told(told)
            }
            None => {
                self.await_interval(number);
                self.or_fatal()
            }
        }
    }

    fn patience_ns(&self) -> u64 {
        self.silence.as_nanos() as u64
    }

    fn finish(&mut self, number: u64, end_ns: u64, control: &Control) -> Answer<Ended> {
        if !std::mem::replace(&mut self.told.asked.for_end, true) {
            self.ask(&Ask::Finish { number, end_ns });
        }
        if control.is_urgent() && self.told.asked.in_hurry.is_none() {
            self.told.asked.in_hurry = Some(self.now());
            self.ask(&Ask::Hurry);
        }
        self.hear();
        self.note_hurry();
        match self.told.ended.take() {
            Some(Ok(ended)) => Answer::Told(self.whole(number, *ended)),
            Some(Err(error)) => Answer::Never(error),
            None => self.or_lost(),
        }
    }

    fn failures(&mut self) -> Failures {
        self.hear();
        std::mem::take(&mut self.told.failures)
    }

    /// What was told last time it was asked, and asks again.
    fn outstanding(&mut self) -> Answer<Vec<Outstanding>> {
        if !std::mem::replace(&mut self.told.asked.for_outstanding, true) {
            self.ask(&Ask::Outstanding);
        }
        self.hear();
        match self.told.outstanding.take() {
            Some(outstanding) => {
                self.told.asked.for_outstanding = false;
                Answer::Told(outstanding)
            }
            None => self.or_lost(),
        }
    }

    fn data_written(&mut self) -> Answer<Vec<DataFigures>> {
        if !std::mem::replace(&mut self.told.asked.for_data, true) {
            self.ask(&Ask::DataWritten);
        }
        self.hear();
        match self.told.data_written.take() {
            Some(written) => answered(written),
            None => self.or_lost(),
        }
    }

    fn retire(&mut self, streams: &[usize], have_failed: bool) {
        self.ask(&Ask::Retire {
            streams: streams.to_vec(),
            have_failed,
        });
    }

    fn begin_command(&mut self, order: &CommandOrder) {
        self.command = ToldOfCommand::default();
        self.ask(&Ask::Command(order.clone()));
    }

    fn command_end(&mut self, control: &Control, said: &mut dyn FnMut(&str)) -> Answer<CommandEnd> {
        if control.is_stopping() && self.command.asked_to_end.is_none() {
            self.command.asked_to_end = Some(self.now());
            self.ask(&Ask::EndCommand);
        }
        self.hear();
        self.command.lines.drain(..).for_each(|line| said(&line));
        let patience = match control.is_urgent() {
            true => HURRY_PATIENCE,
            false => LEAVE_PATIENCE,
        };
        let asked = self.command.asked_to_end;
        match self.command.end.take() {
            Some(end) => Answer::Told(end),
            None if asked.is_some_and(|asked| self.since(asked) >= patience) => {
                Answer::Told(CommandEnd::Stopped)
            }
            None => self.or_lost(),
        }
    }

    fn leave(&mut self, is_whole: bool) -> Left {
        self.part(is_whole);
        self.left.clone().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
