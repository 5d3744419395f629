//! Reads what is left of a damaged result file: each event that is whole, in order, and an account of
//! what is not. Nothing is guessed: an event of which a part is lost is lost. Read [`Salvage`].
use crate::error::{Outcome, StoreError};
use crate::reader::Reader;
use crate::schema::{self, Table};
use measure::{
    Event, ExecutionStarted, ExecutionTarget, FinishReason, Interval, Remark, RunFinished,
    RunStarted, SpanLevel,
};
use plan::{Severity, counted};
use rusqlite::OptionalExtension;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

/// Runs that are named in an account.
const NAMED_RUNS: usize = 4;

/// A result file of which parts may be missing.
#[derive(Debug)]
pub struct Salvage {
    reader: Reader,
    loss: Loss,
    /// The number of the last event that was looked at.
    last: i64,
    /// The number behind which no table has an event; `None` until it is needed.
    end: Option<i64>,
    is_over: bool,
    run: Option<OpenRun>,
    ready: VecDeque<Event>,
    /// Whether the start of the execution was told.
    has_begun: bool,
    /// What comes before the first run where that start is lost.
    early: VecDeque<Event>,
    summed: Summed,
}

/// Which intervals of the run that goes on are read as the sums of spans.
#[derive(Debug, Default)]
struct Summed {
    /// Runs with more intervals than this; `None` for no run.
    beyond: Option<u64>,
    /// Events of spans, and of the intervals in them, in order.
    spans: Vec<i64>,
    intervals: Vec<i64>,
}

/// What could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loss {
    /// What was found first; `None` where nothing is missing.
    pub reason: Option<String>,
    /// Events that are known to be missing.
    pub events: u64,
    /// Whether more may be missing, of which nothing is known.
    pub is_open: bool,
    /// Missing intervals by run, where the run is known.
    pub intervals: BTreeMap<u32, u64>,
    pub kept_intervals: u64,
    pub kept_runs: u64,
}

/// The run whose events come.
#[derive(Debug)]
struct OpenRun {
    run: u32,
    unix_ns: u64,
    /// Of the last interval that was read; zero before the first.
    interval: u32,
}

impl Salvage {
    /// Opens a result file, also one that is cut off.
    ///
    /// # Errors
    /// As [`Reader::open`], where not even the tables can be found.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let (reader, damage) = Reader::open_damaged(path.as_ref())?;
        let loss = Loss {
            is_open: damage.is_some(),
            reason: damage,
            ..Loss::default()
        };
        Ok(Self {
            reader,
            loss,
            last: i64::MIN,
            end: None,
            is_over: false,
            run: None,
            ready: VecDeque::new(),
            has_begun: false,
            early: VecDeque::new(),
            summed: Summed::default(),
        })
    }

    /// The same, where runs with more intervals than `most` come as sums: of minutes, of quarters of an hour where
    /// minutes are more than that, too, or of the whole run. What no span holds comes in single intervals, as does all of a damaged file.
    #[must_use]
    pub fn summed_beyond(mut self, most: u64) -> Self {
        self.summed.beyond = self.loss.reason.is_none().then_some(most);
        self
    }

    /// What was missing up to now.
    pub fn loss(&self) -> &Loss {
        &self.loss
    }

    /// Whether the end of the execution was read.
    ///
    /// # Errors
    /// [`StoreError::Damaged`].
    pub fn is_complete(&self) -> Result<bool, StoreError> {
        self.reader.is_complete()
    }

    fn lose(&mut self, events: u64, reason: impl FnOnce() -> String) {
        self.loss.events = self.loss.events.saturating_add(events);
        self.loss.reason.get_or_insert_with(reason);
    }

    /// Reads one more event, or takes note that it is lost.
    fn advance(&mut self) {
        match self.reader.after(self.last) {
            Ok(None) if self.loss.reason.is_none() => self.is_over = true,
            Ok(Some((number, kind))) => {
                let skipped = match self.last {
                    i64::MIN => number.saturating_sub(1),
                    last => number.saturating_sub(last).saturating_sub(1),
                };
                if skipped > 0 {
                    // Numbers are given without gaps.
                    self.recover(number);
                }
                self.take(number, &kind);
            }
            // The list of events is torn, or ends early: the other tables know more.
            Ok(None) => self.recover(i64::MAX),
            Err(problem) => {
                let path = self.reader.path().to_owned();
                self.lose(0, || problem.at(&path).reason());
                self.recover(i64::MAX);
            }
        }
    }

    fn take(&mut self, number: i64, kind: &str) {
        self.last = number;
        let summed = &self.summed;
        let is_sum = kind == schema::SPAN_KIND;
        let is_in = |events: &[i64]| events.binary_search(&number).is_ok();
        if is_in(&summed.intervals) || (is_sum && !is_in(&summed.spans)) {
            return;
        }
        let event = match is_sum {
            true => self.reader.span(number).map(Event::Interval),
            false => self.reader.event(number, kind),
        };
        match event {
            Ok(event) => self.accept(event),
            Err(problem) => {
                let path = self.reader.path().to_owned();
                self.lose(1, || problem.at(&path).reason());
            }
        }
    }

    /// Looks in the other tables for the events up to `limit` that the list of events does not hold.
    fn recover(&mut self, limit: i64) {
        let end = *self.end.get_or_insert_with(|| self.reader.last_event());
        let most = self.reader.events_max();
        let from = self.last.max(0);
        let until = limit.min(end.saturating_add(1));
        let until = until.min(from.saturating_add(i64::try_from(most).unwrap_or(i64::MAX)));
        for number in from.saturating_add(1)..until {
            match self.reader.kind_of(number) {
                Some(kind) => {
                    self.take(number, kind);
                    if !self.ready.is_empty() {
                        self.last = number;
                        return;
                    }
                }
                None => self.lose(1, || format!("event {number} is missing")),
            }
            self.last = number;
        }
        if limit == i64::MAX {
            self.is_over = true;
        }
    }

    /// Takes an event that belongs to what was read before.
    fn accept(&mut self, event: Event) {
        let run = self.run.as_ref().map(|open| open.run);
        let is_kept = match &event {
            Event::Interval(interval) => self.accept_interval(interval),
            Event::DataWritten(written) => run == Some(written.run),
            Event::RunFinished(finished) => run == Some(finished.run),
            _ => true,
        };
        if !is_kept {
            return self.lose(1, || "the start of a run is missing".to_owned());
        }
        match &event {
            Event::RunStarted(started) => {
                self.begin_without_start(started);
                self.close_run(started.unix_ns);
                self.loss.kept_runs += 1;
                self.run = Some(OpenRun {
                    run: started.run,
                    unix_ns: started.unix_ns,
                    interval: 0,
                });
                self.choose_spans(started.run);
            }
            Event::Interval(interval) => {
                self.loss.kept_intervals += u64::from(interval.count());
                if let Some(open) = &mut self.run {
                    open.unix_ns = interval.unix_ns;
                }
            }
            Event::RunFinished(finished) => {
                let open = self.run.take();
                let lost = open.map_or(0, |open| {
                    finished.last_measured.saturating_sub(open.interval)
                });
                self.lose_intervals(finished.run, lost.into());
                self.tell_intervals(finished.run, finished.unix_ns);
            }
            Event::ExecutionStarted(_) => self.has_begun = true,
            Event::ExecutionFinished(finished) => self.close_run(finished.unix_ns),
            _ => {}
        }
        match self.has_begun || self.loss.is_none() {
            true => self.ready.push_back(event),
            false => self.early.push_back(event),
        }
    }

    /// A start of the execution that says no more than its first run, where the true one is lost. Names are numbers.
    fn begin_without_start(&mut self, run: &RunStarted) {
        if self.has_begun || self.loss.is_none() {
            return;
        }
        self.has_begun = true;
        let targets = run.streams.iter().flat_map(|stream| &stream.targets);
        let count = targets.map(|target| u64::from(target.0) + 1).max();
        let count = count.unwrap_or(0).min(self.reader.events_max());
        let target = |number: u64| ExecutionTarget {
            name: format!("target {number}"),
            path: format!("target {number}"),
            ..ExecutionTarget::default()
        };
        self.ready
            .push_back(Event::ExecutionStarted(ExecutionStarted {
                unix_ns: run.unix_ns,
                time_zone: "UTC".to_owned(),
                targets: (1..=count).map(target).collect(),
                ..ExecutionStarted::default()
            }));
        self.ready.append(&mut self.early);
    }

    /// Looks which spans stand for the intervals of a run.
    fn choose_spans(&mut self, run: u32) {
        let beyond = self.summed.beyond;
        self.summed = Summed {
            beyond,
            ..Summed::default()
        };
        let Some(most) = beyond else { return };
        let chosen = self.reader.intervals_of(run).and_then(|count| {
            let mut chosen = Vec::new();
            for level in [SpanLevel::Minute, SpanLevel::Quarter, SpanLevel::Run] {
                if count > most && (chosen.is_empty() || chosen.len() as u64 > most) {
                    chosen = self.reader.spans_of(run, level)?;
                }
            }
            let intervals = match chosen.is_empty() {
                true => Vec::new(),
                false => self.reader.events_of_intervals(run, &chosen)?,
            };
            Ok((chosen, intervals))
        });
        // Where they cannot be told, all intervals are read.
        if let Ok((spans, intervals)) = chosen {
            self.summed.spans = spans.iter().map(|(event, ..)| *event).collect();
            self.summed.intervals = intervals;
        }
    }

    fn accept_interval(&mut self, interval: &Interval) -> bool {
        let (run, number) = (interval.run, interval.number);
        let Some(open) = self.run.as_mut().filter(|open| open.run == run) else {
            *self.loss.intervals.entry(run).or_default() += 1;
            return false;
        };
        let skipped = number.saturating_sub(open.interval);
        let skipped = skipped.saturating_sub(interval.count());
        open.interval = number;
        self.lose_intervals(run, skipped.into());
        true
    }

    fn lose_intervals(&mut self, run: u32, count: u64) {
        if count > 0 {
            *self.loss.intervals.entry(run).or_default() += count;
            self.lose(0, || format!("intervals of run {run} are missing"));
        }
    }

    /// Ends a run whose end is lost, where something follows it.
    fn close_run(&mut self, unix_ns: u64) {
        let Some(open) = self.run.take() else { return };
        self.lose(1, || format!("the end of run {} is missing", open.run));
        self.tell_intervals(open.run, open.unix_ns);
        self.ready.push_back(Event::RunFinished(RunFinished {
            run: open.run,
            unix_ns: open.unix_ns.min(unix_ns),
            reason: FinishReason::Failed {
                message: "its end is lost, as the result file is damaged".to_owned(),
            },
            first_measured: 1,
            last_measured: open.interval,
            scheduled: 0,
            submitted: 0,
            unsent: 0,
            drain_ns: 0,
            outstanding: Vec::new(),
            late: Vec::new(),
            starts: Vec::new(),
        }));
    }

    /// A remark on what a run has lost, beside what it had to say itself.
    fn tell_intervals(&mut self, run: u32, unix_ns: u64) {
        let Some(lost) = self.loss.intervals.get(&run) else {
            return;
        };
        let lost = counted(*lost, "interval");
        self.ready.push_back(Event::Remark(Remark {
            run: Some(run),
            unix_ns,
            severity: Severity::Warning,
            code: "damaged".to_owned(),
            message: format!(
                "the result file is damaged: {lost} of this run cannot be read; the figures are of the others"
            ),
        }));
    }
}

impl Iterator for Salvage {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        while self.ready.is_empty() && !self.is_over {
            self.advance();
        }
        if self.ready.is_empty()
            && self.loss.reason.is_some()
            && let Some(open) = self.run.take()
        {
            // The end that nobody wrote, or that is lost: the run stays open.
            self.tell_intervals(open.run, open.unix_ns);
        }
        self.ready.pop_front()
    }
}

impl Loss {
    /// Whether nothing is missing.
    pub fn is_none(&self) -> bool {
        self.reason.is_none()
    }

    /// What was found, what is lost and what is kept, in a line.
    pub fn text(&self) -> Option<String> {
        let reason = self.reason.as_ref()?;
        let kept = format!(
            "kept {} of {}",
            counted(self.kept_intervals, "interval"),
            counted(self.kept_runs, "run")
        );
        let lost = match (self.events, self.is_open) {
            (0, true) => "what is lost is not known".to_owned(),
            (0, false) => "parts of it are lost".to_owned(),
            (events, true) => format!("lost at least {}", counted(events, "event")),
            (events, false) => format!("lost {}", counted(events, "event")),
        };
        let runs: Vec<String> = self
            .intervals
            .iter()
            .take(NAMED_RUNS)
            .map(|(run, count)| format!("{} of run {run}", counted(*count, "interval")))
            .collect();
        let more = match self.intervals.len() > NAMED_RUNS {
            true => ", …",
            false => "",
        };
        let among = match runs.is_empty() {
            true => String::new(),
            false => format!(", among them {}{more}", runs.join(", ")),
        };
        Some(format!("{reason}; {kept}; {lost}{among}"))
    }
}

impl Reader {
    /// The kind of an event that the list of events does not tell.
    fn kind_of(&self, event: i64) -> Option<&'static str> {
        let is_in = |table: &Table| -> Outcome<bool> {
            let sql = format!("SELECT 1 FROM {} WHERE event = ? LIMIT 1", table.name);
            let mut statement = self.connection().prepare_cached(&sql)?;
            let found = statement.query_row([event], |_| Ok(())).optional()?;
            Ok(found.is_some())
        };
        let known = schema::KINDS.iter();
        let mut found = known.filter(|(table, _)| is_in(table).unwrap_or(false));
        found.next().map(|(_, kind)| *kind)
    }

    /// The highest number that any table can still tell.
    fn last_event(&self) -> i64 {
        let highest = |table: &Table| -> Option<i64> {
            let sql = format!("SELECT max(event) FROM {}", table.name);
            let found = self.connection().query_row(&sql, [], |row| row.get(0));
            found.ok().flatten()
        };
        let known = schema::TABLES.iter();
        known.filter_map(highest).max().unwrap_or(0)
    }
}
