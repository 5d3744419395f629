//! How the intervals of a longer span add up. Read [`SpanFold`] first.
use crate::event::{
    EngineSample, Event, Figure, Interval, IntervalPhase, PoolSample, StreamSample,
};
use crate::evidence::{HostEvidence, IntervalBrief};
use crate::latencies::LatencyFigures;
use crate::part::HostInterval;
use serde::{Deserialize, Serialize};

impl IntervalBrief {
    pub fn of(interval: &Interval) -> Self {
        let engine = &interval.engine;
        let counted = |figure: &&crate::Figure| !figure.key.operation.is_sync();
        let figures = interval.figures.iter().filter(counted);
        let cpu = interval.host.cpu.as_ref();
        let service = interval.service();
        let busy_ns: u64 = engine.pools.iter().map(|pool| pool.busy_ns).sum();
        Self {
            number: interval.number,
            start_ns: interval.start_ns,
            end_ns: interval.end_ns,
            operations: figures.map(|figure| figure.operations).sum(),
            in_flight: engine.in_flight,
            backlog: engine.streams.iter().map(|stream| stream.backlog).sum(),
            busy_ns: (!interval.lost.slots).then_some(busy_ns),
            cpu_busy_ns: cpu.map(crate::CpuTimes::busy_ns),
            cpu_total_ns: cpu.map(crate::CpuTimes::total_ns),
            service_ns_p50: service.kept_percentiles_ns().map(|kept| kept[0]),
        }
    }
}

impl Interval {
    /// How many intervals it is the sum of.
    pub fn count(&self) -> u32 {
        (self.within.len() as u32).max(1)
    }

    /// The intervals that it is the sum of; itself where it is a single one.
    pub fn briefs(&self) -> Vec<IntervalBrief> {
        match self.within.is_empty() {
            true => vec![IntervalBrief::of(self)],
            false => self.within.clone(),
        }
    }

    /// Service times of all operations but syncs.
    pub fn service(&self) -> LatencyFigures {
        self.latencies(|figure| &figure.service)
    }

    /// Response times of the same.
    pub fn response(&self) -> LatencyFigures {
        self.latencies(|figure| &figure.response)
    }

    fn latencies(&self, of: impl Fn(&Figure) -> &LatencyFigures) -> LatencyFigures {
        let counted = |figure: &&Figure| !figure.key.operation.is_sync();
        let figures = self.figures.iter().filter(counted);
        LatencyFigures::sum(figures.map(of))
    }

    /// Whether it can be added up with others: streams that are measured anew forget what was before.
    pub fn is_additive(&self) -> bool {
        let streams = &self.engine.streams;
        streams.iter().all(|stream| stream.span.is_none())
    }

    /// Adds a later interval of the same run and phase. Counts, times and histograms add up; what is told of a moment is
    /// that of the later end. What single workers and operations tell, and how they were handed over, stays with the single
    /// intervals.
    pub fn append(&mut self, later: &Interval) {
        let mut within = self.briefs();
        within.extend(later.briefs());
        self.within = within;
        self.number = later.number;
        self.end_ns = later.end_ns;
        self.unix_ns = later.unix_ns;
        self.add_figures(later);
        self.engine.append(&later.engine);
        match self.engine.is_of_several() {
            true => self.host = HostEvidence::together(&self.engine.hosts).unwrap_or_default(),
            false => self.host.add(&later.host),
        }
        self.lost.add(later.lost);
    }

    /// The same without what stays with the single intervals.
    #[must_use]
    pub fn for_span(&self) -> Self {
        let mut alone = Self {
            within: self.briefs(),
            ..self.clone()
        };
        let hosts = self.engine.hosts.iter().map(HostEvidence::for_span);
        let is_of_several = self.engine.is_of_several();
        let is_kept = |one: &HostEvidence| is_of_several || !one.targets.is_empty();
        alone.engine.hosts = hosts.filter(is_kept).collect();
        for stream in &mut alone.engine.streams {
            stream.handover = None;
        }
        alone.figures.sort_by_key(|figure| figure.key);
        alone
    }

    fn add_figures(&mut self, later: &Interval) {
        for theirs in &later.figures {
            let place = self
                .figures
                .binary_search_by_key(&theirs.key, |figure| figure.key);
            match place {
                Ok(place) => self.figures[place].merge(theirs),
                Err(place) => self.figures.insert(place, theirs.clone()),
            }
        }
    }
}

impl HostInterval {
    /// Adds what the same machine tells of the time that follows.
    pub fn append(&mut self, later: &HostInterval) {
        for theirs in &later.collected.figures {
            let mine = &mut self.collected.figures;
            match mine.iter_mut().find(|figure| figure.key == theirs.key) {
                Some(figure) => figure.merge(theirs),
                None => mine.push(theirs.clone()),
            }
        }
        self.collected.engine.append(&later.collected.engine);
        if let (Some(mine), Some(theirs)) = (&mut self.sample, &later.sample) {
            mine.add(theirs);
        }
    }
}

impl EngineSample {
    /// Adds a later interval.
    fn append(&mut self, later: &EngineSample) {
        let streams = self.streams.len().max(later.streams.len());
        self.streams.resize_with(streams, StreamSample::default);
        for (mine, theirs) in self.streams.iter_mut().zip(&later.streams) {
            mine.scheduled += theirs.scheduled;
            mine.submitted += theirs.submitted;
            mine.backlog = theirs.backlog;
            mine.lateness.merge(&theirs.lateness);
            mine.unserved.merge(&theirs.unserved);
            mine.depth = theirs.depth;
            if let Some(theirs) = &theirs.free_lateness {
                mine.free_lateness.get_or_insert_default().merge(theirs);
            }
        }
        let pools = self.pools.len().max(later.pools.len());
        self.pools.resize(pools, PoolSample::default());
        for (mine, theirs) in self.pools.iter_mut().zip(&later.pools) {
            mine.slots = theirs.slots;
            mine.busy_ns += theirs.busy_ns;
            mine.exhausted_ns += theirs.exhausted_ns;
        }
        for theirs in &later.hosts {
            match self.hosts.iter_mut().find(|one| one.host == theirs.host) {
                Some(mine) => mine.append(theirs),
                None => self.hosts.push(theirs.for_span()),
            }
        }
        self.hosts.sort_by_key(|host| host.host);
        self.workers.add(&later.workers);
        self.oldest_in_flight_ns = later.oldest_in_flight_ns;
        self.in_flight = later.in_flight;
    }
}

/// How many intervals' worth of time a span has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpanLevel {
    Minute,
    Quarter,
    Run,
}

impl SpanLevel {
    pub const ALL: [Self; 3] = [Self::Minute, Self::Quarter, Self::Run];

    /// Its length in nanoseconds; of a run as long as that is.
    pub fn length_ns(self) -> u64 {
        match self {
            Self::Minute => 60_000_000_000,
            Self::Quarter => 15 * 60_000_000_000,
            Self::Run => u64::MAX,
        }
    }
}

/// A run with more figures per interval than this has no spans: they are kept in memory while they grow.
const FIGURES_MAX: usize = 4_096;

/// Adds up the measured intervals of a run by minute, quarter of an hour and run. Spans lie on a grid that begins with
/// the run; an interval belongs where it begins.
#[derive(Debug, Default)]
pub struct SpanFold {
    open: [Option<Interval>; 3],
    /// Of the run that goes on.
    is_left_out: bool,
}

impl SpanFold {
    /// Takes an event; returns the spans that it closes, shortest first. They come before the event itself where that
    /// is the end of a run, and before the interval that begins the next one. A span of a single interval is none.
    pub fn fold(&mut self, event: &Event) -> Vec<(SpanLevel, Interval)> {
        match event {
            Event::RunStarted(_) => {
                *self = Self::default();
                Vec::new()
            }
            Event::Interval(interval) if interval.phase == IntervalPhase::Measured => {
                self.add(interval)
            }
            Event::RunFinished(_) => {
                let closed = self.close(|_| true);
                *self = Self::default();
                closed
            }
            _ => Vec::new(),
        }
    }

    fn add(&mut self, interval: &Interval) -> Vec<(SpanLevel, Interval)> {
        self.is_left_out |= !interval.is_additive() || interval.figures.len() > FIGURES_MAX;
        if self.is_left_out {
            self.open = Default::default();
            return Vec::new();
        }
        let is_beyond = |level: SpanLevel, open: &Interval| {
            let place = |of: &Interval| of.start_ns / level.length_ns();
            place(open) != place(interval) || open.run != interval.run
        };
        let closed = self.close(is_beyond_of(is_beyond));
        let minute = &mut self.open[0];
        match minute {
            Some(minute) => minute.append(interval),
            None => *minute = Some(interval.for_span()),
        }
        closed
    }

    /// Closes the open spans of which that holds, and adds each to the longer ones.
    fn close(
        &mut self,
        is_due: impl Fn((SpanLevel, &Interval)) -> bool,
    ) -> Vec<(SpanLevel, Interval)> {
        let mut closed = Vec::new();
        for place in 0..SpanLevel::ALL.len() {
            let level = SpanLevel::ALL[place];
            let is_over = self.open[place]
                .as_ref()
                .is_some_and(|open| is_due((level, open)));
            if !is_over {
                continue;
            }
            let Some(span) = self.open[place].take() else {
                continue;
            };
            if let Some(longer) = self.open.get_mut(place + 1) {
                match longer {
                    Some(longer) => longer.append(&span),
                    None => *longer = Some(span.clone()),
                }
            }
            if span.within.len() > 1 {
                closed.push((level, span));
            }
        }
        closed
    }
}

/// Of two arguments in one.
fn is_beyond_of(
    of: impl Fn(SpanLevel, &Interval) -> bool,
) -> impl Fn((SpanLevel, &Interval)) -> bool {
    move |(level, open)| of(level, open)
}
