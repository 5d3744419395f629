//! Where the events of an execution go: a list of receivers behind queues, so that who leads the execution waits for
//! none of them but one. The keeper, which is the result file, loses no event and may hold up the next interval. Every
//! other sink has a thread of its own; one that is slower than the intervals skips some. Both are said by a remark, which
//! is an event like others. Knows nothing of what sinks make of events. Read [`Sinks`] first.
use crate::SinkError;
use measure::{Event, Remark};
use plan::{Severity, counted};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What may wait for a slow sink, in figures: some 50 MB of them. One interval may wait in any case.
const ROOM_FIGURES: usize = 16_384;

/// A keeper that takes longer for an event holds up intervals.
const HELD_UP: Duration = Duration::from_millis(100);

/// A disk that takes longer to answer is said to hang.
pub const UNANSWERED: Duration = Duration::from_secs(2);

/// A receiver of events.
pub trait Sink: Send {
    /// For remarks, in words that begin a sentence.
    fn name(&self) -> &str;

    /// Takes an event. People have seen it already where it is no news.
    ///
    /// # Errors
    /// When it cannot go on, which ends the execution.
    fn take(&mut self, event: &Arc<Event>, is_news: bool) -> Result<(), SinkError>;

    /// For how long the disk that it writes to has not answered. Events are kept in memory meanwhile.
    fn unanswered(&self) -> Duration {
        Duration::ZERO
    }

    /// No event follows.
    ///
    /// # Errors
    /// What is not whole, in words.
    fn finish(self: Box<Self>) -> Result<(), String> {
        Ok(())
    }
}

/// Whether intervals come by a clock that waits for nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tempo {
    Real,
    /// In simulated time, or from a record: every sink is waited for.
    Patient,
}

/// The receivers of one execution.
pub struct Sinks {
    tempo: Tempo,
    room: usize,
    keeper: Option<Box<dyn Sink>>,
    lanes: Vec<Lane>,
    /// The run that is going, and when the last event was.
    run: Option<u32>,
    unix_ns: u64,
    held_up: HeldUp,
    /// Whether it was said that the disk of the keeper does not answer.
    is_hang_told: bool,
}

/// How often the keeper held up intervals, and how long.
#[derive(Default)]
struct HeldUp {
    times: u64,
    time: Duration,
    is_told: bool,
}

/// A sink with its queue.
struct Lane {
    name: String,
    queue: Arc<Queue>,
    thread: JoinHandle<Box<dyn Sink>>,
    /// Since it was last told.
    skipped: Skipped,
    skipped_in_all: u64,
    is_told: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Skipped {
    intervals: u64,
    failures: u64,
}

/// Events that wait for a sink. One thread puts them in and another one takes them out; each change wakes the other.
#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<(Arc<Event>, bool)>,
    figures: usize,
    is_busy: bool,
    is_over: bool,
    /// Why nothing is taken any more.
    failure: Option<SinkError>,
}

impl Sinks {
    pub fn new(tempo: Tempo) -> Self {
        Self {
            tempo,
            room: ROOM_FIGURES,
            keeper: None,
            lanes: Vec::new(),
            run: None,
            unix_ns: 0,
            held_up: HeldUp::default(),
            is_hang_told: false,
        }
    }

    /// The same with other room for what waits for a slow sink, in figures.
    #[must_use]
    pub fn with_room(self, room: usize) -> Self {
        Self { room, ..self }
    }

    /// The same with a sink that loses nothing and is told first. It is waited for.
    #[must_use]
    pub fn kept_by(self, keeper: Box<dyn Sink>) -> Self {
        Self {
            keeper: Some(keeper),
            ..self
        }
    }

    /// Adds a sink that nobody waits for.
    ///
    /// # Errors
    /// When there is no thread for it, in words.
    pub fn add(&mut self, mut sink: Box<dyn Sink>) -> Result<(), String> {
        let (name, queue) = (sink.name().to_owned(), Arc::new(Queue::default()));
        let own = Arc::clone(&queue);
        let thread = sys::thread::start("sink", move || {
            let ending = Ending(&own);
            while let Some((event, is_news)) = own.next() {
                if let Err(error) = sink.take(&event, is_news) {
                    own.fail(error);
                    break;
                }
            }
            drop(ending);
            sink
        });
        let thread = thread.map_err(|error| format!("{name}: no thread: {error}"))?;
        self.lanes.push(Lane {
            name,
            queue,
            thread,
            skipped: Skipped::default(),
            skipped_in_all: 0,
            is_told: false,
        });
        Ok(())
    }

    /// Takes an event.
    ///
    /// # Errors
    /// When a sink cannot go on; of all but the keeper it may be known only some events later.
    pub fn take(&mut self, event: &Event, is_news: bool) -> Result<(), SinkError> {
        self.note(event);
        let is_end = matches!(event, Event::RunFinished(_) | Event::ExecutionFinished(_));
        for remark in self.remarks(is_end) {
            self.hand(&Arc::new(Event::Remark(remark)), true)?;
        }
        self.hand(&Arc::new(event.clone()), is_news)
    }

    /// Takes an event that the keeper has already.
    ///
    /// # Errors
    /// As [`Sinks::take`].
    pub fn replay(&mut self, event: Event) -> Result<(), SinkError> {
        let event = Arc::new(event);
        let mut lanes = self.lanes.iter_mut();
        lanes.try_for_each(|lane| lane.put(&event, false, Tempo::Patient, self.room))
    }

    /// Waits until every sink has taken all that it was given.
    ///
    /// # Errors
    /// As [`Sinks::take`].
    pub fn settle(&mut self) -> Result<(), SinkError> {
        self.lanes.iter().try_for_each(|lane| lane.queue.settle())
    }

    /// Waits for all sinks and ends them. Returns what is not whole, in words.
    pub fn finish(self) -> Vec<String> {
        let mut problems = Vec::new();
        let kept = self.keeper.map_or(Ok(()), |keeper| keeper.finish());
        problems.extend(kept.err());
        for lane in self.lanes {
            lane.queue.end();
            if lane.skipped_in_all > 0 {
                let skipped = counted(lane.skipped_in_all, "interval");
                problems.push(format!("{} skipped {skipped}, being too slow", lane.name));
            }
            match lane.thread.join() {
                Ok(sink) => problems.extend(sink.finish().err()),
                Err(_) => problems.push(format!("{} ended unexpectedly", lane.name)),
            }
        }
        problems
    }

    fn hand(&mut self, event: &Arc<Event>, is_news: bool) -> Result<(), SinkError> {
        if let Some(keeper) = &mut self.keeper {
            let begun = Instant::now();
            keeper.take(event, is_news)?;
            let time = begun.elapsed();
            if time >= HELD_UP && self.tempo == Tempo::Real {
                self.held_up.times += 1;
                self.held_up.time += time;
            }
        }
        let (tempo, room) = (self.tempo, self.room);
        let mut lanes = self.lanes.iter_mut();
        lanes.try_for_each(|lane| lane.put(event, is_news, tempo, room))
    }

    fn note(&mut self, event: &Event) {
        self.unix_ns = match event {
            Event::ExecutionStarted(started) => started.unix_ns,
            Event::RunStarted(started) => {
                self.run = Some(started.run);
                self.held_up.is_told = false;
                self.lanes.iter_mut().for_each(|lane| lane.is_told = false);
                started.unix_ns
            }
            Event::Interval(interval) => interval.unix_ns,
            Event::RunFinished(finished) => finished.unix_ns,
            Event::IoFailure(failure) => failure.unix_ns,
            Event::Remark(remark) => remark.unix_ns,
            Event::ExecutionFinished(finished) => finished.unix_ns,
            Event::DataWritten(_) => return,
        };
    }

    /// What is to be said of sinks: of each at once, and then once more at the end of a run.
    fn remarks(&mut self, is_end: bool) -> Vec<Remark> {
        let (room, mut messages) = (self.room, Vec::new());
        for lane in &mut self.lanes {
            let is_due = is_end || (!lane.is_told && lane.queue.has_room(room));
            if lane.skipped.is_any() && is_due {
                lane.is_told = true;
                let skipped = std::mem::take(&mut lane.skipped);
                messages.push(("sink-slow", format!("{} {skipped}", lane.name)));
            }
        }
        messages.extend(self.hang());
        let held_up = &mut self.held_up;
        if let Some(keeper) = &self.keeper
            && held_up.times > 0
            && (is_end || !held_up.is_told)
        {
            let (name, ms) = (keeper.name(), held_up.time.as_millis());
            let times = counted(held_up.times, "time");
            let text = format!("{name} was slow: intervals waited for it {times}, {ms} ms in all");
            messages.push(("keeper-slow", text));
            *held_up = HeldUp {
                is_told: true,
                ..HeldUp::default()
            };
        }
        let remark = |(code, message): (&str, String)| Remark {
            run: self.run,
            unix_ns: self.unix_ns,
            severity: Severity::Warning,
            code: code.to_owned(),
            message,
        };
        messages.into_iter().map(remark).collect()
    }
}

impl Sinks {
    /// Once for each time that the disk of the keeper does not answer.
    fn hang(&mut self) -> Option<(&'static str, String)> {
        let keeper = self.keeper.as_ref()?;
        let time = keeper.unanswered();
        let was_told = std::mem::replace(&mut self.is_hang_told, time >= UNANSWERED);
        (time >= UNANSWERED && !was_told).then(|| {
            let (name, seconds) = (keeper.name(), time.as_secs_f64());
            let text = format!(
                "the disk of {name} has not answered for {seconds:.1} s: what is measured meanwhile is kept in memory"
            );
            ("keeper-unanswered", text)
        })
    }
}

impl Skipped {
    fn is_any(self) -> bool {
        self.intervals + self.failures > 0
    }
}

impl std::fmt::Display for Skipped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut parts = Vec::new();
        if self.intervals > 0 {
            parts.push(counted(self.intervals, "interval"));
        }
        if self.failures > 0 {
            parts.push(counted(self.failures, "failed operation"));
        }
        write!(f, "skipped {}, being too slow", parts.join(" and "))
    }
}

impl Lane {
    fn put(
        &mut self,
        event: &Arc<Event>,
        is_news: bool,
        tempo: Tempo,
        room: usize,
    ) -> Result<(), SinkError> {
        let skips = match &**event {
            Event::Interval(_) | Event::IoFailure(_) => tempo == Tempo::Real,
            // A run without its beginning or end makes no sense, and these are few.
            _ => return self.queue.put(event, is_news),
        };
        match skips {
            false => self.queue.wait_for_room(room),
            true if self.queue.has_room(room) => {}
            true => {
                match &**event {
                    Event::Interval(_) => {
                        self.skipped.intervals += 1;
                        self.skipped_in_all += 1;
                    }
                    _ => self.skipped.failures += 1,
                }
                return self.queue.failure();
            }
        }
        self.queue.put(event, is_news)
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, event: &Arc<Event>, is_news: bool) -> Result<(), SinkError> {
        let mut state = self.lock();
        if let Some(failure) = &state.failure {
            return Err(failure.clone());
        }
        state.figures += weight(event);
        state.waiting.push_back((Arc::clone(event), is_news));
        self.changed.notify_all();
        Ok(())
    }

    /// The next event; `None` when no more come.
    fn next(&self) -> Option<(Arc<Event>, bool)> {
        let mut state = self.lock();
        state.is_busy = false;
        self.changed.notify_all();
        loop {
            if let Some((event, is_news)) = state.waiting.pop_front() {
                state.figures -= weight(&event);
                state.is_busy = true;
                self.changed.notify_all();
                return Some((event, is_news));
            }
            if state.is_over {
                return None;
            }
            state = self.wait(state);
        }
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let waited = self.changed.wait(state);
        waited.unwrap_or_else(PoisonError::into_inner)
    }

    fn has_room(&self, room: usize) -> bool {
        let state = self.lock();
        state.waiting.is_empty() || state.figures < room
    }

    fn wait_for_room(&self, room: usize) {
        let mut state = self.lock();
        while state.failure.is_none() && !state.waiting.is_empty() && state.figures >= room {
            state = self.wait(state);
        }
    }

    fn settle(&self) -> Result<(), SinkError> {
        let mut state = self.lock();
        while state.failure.is_none() && (state.is_busy || !state.waiting.is_empty()) {
            state = self.wait(state);
        }
        state.failure.clone().map_or(Ok(()), Err)
    }

    fn failure(&self) -> Result<(), SinkError> {
        self.lock().failure.clone().map_or(Ok(()), Err)
    }

    fn fail(&self, error: SinkError) {
        let mut state = self.lock();
        state.failure.get_or_insert(error);
        state.waiting.clear();
        state.figures = 0;
        self.changed.notify_all();
    }

    fn end(&self) {
        self.lock().is_over = true;
        self.changed.notify_all();
    }
}

/// Nobody waits for a thread that has ended, however it did.
struct Ending<'a>(&'a Queue);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        let is_over = self.0.lock().is_over;
        if !is_over {
            self.0
                .fail(SinkError("a sink ended unexpectedly".to_owned()));
        }
    }
}

fn weight(event: &Event) -> usize {
    match event {
        Event::Interval(interval) => 1 + interval.figures.len() + interval.engine.streams.len(),
        _ => 1,
    }
}
