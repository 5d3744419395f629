//! The course of a run as what happened in it is judged by: its intervals, windows of them, and steps of the latency.
use crate::answer::median;
use measure::{Interval, LatencyFigures, Pause};

/// So much has to be seen before, that it is known how it was.
pub(crate) const BEFORE_NS_LEAST: u64 = 30_000_000_000;

/// Rates and percentiles are those of windows of so much at least.
pub(crate) const WINDOW_NS: u64 = 1_000_000_000;

/// An I/O is late beyond one of these, the first that is ten times the p99.9 before, or the last.
pub(crate) const LATE_NS: [u64; 5] = [
    1_000_000_000,
    5_000_000_000,
    10_000_000_000,
    30_000_000_000,
    60_000_000_000,
];
/// A step holds so many windows at least, each above all others by this factor.
const STEP_WINDOWS: usize = 10;
const STEP_FACTOR: f64 = 1.2;

/// An interval as recoveries see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moment {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) operations: u64,
    pub(crate) errors: u64,
    pub(crate) backlog: u64,
    /// Whether Fathom itself did not run for most of it.
    pub(crate) is_own_pause: bool,
    pub(crate) response: LatencyFigures,
    /// Responses above each of [`LATE_NS`].
    pub(crate) above: [u64; LATE_NS.len()],
}

/// A span in which the median response was higher than at any other time of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    pub from_ns: u64,
    pub to_ns: u64,
    /// Medians of the median responses, outside and inside.
    pub usual_ns: f64,
    pub median_ns: f64,
    /// Mean rates, outside and inside.
    pub usual_rate: f64,
    pub rate: f64,
}

/// Notes in which of them Fathom itself did not run: those that lie in the pause for the most part, if none that lies in
/// it as a whole has seen an I/O. The thread that tells of pauses may be late alone.
pub(crate) fn note_pause(moments: &mut [Moment], pause: &Pause) {
    if pause.length_ns() < WINDOW_NS {
        return;
    }
    let is_within = |one: &&Moment| one.start_ns >= pause.from_ns && one.end_ns <= pause.to_ns;
    if moments
        .iter()
        .filter(is_within)
        .any(|one| one.operations > 0)
    {
        return;
    }
    for one in moments {
        let common_ns = one
            .end_ns
            .min(pause.to_ns)
            .saturating_sub(one.start_ns.max(pause.from_ns));
        one.is_own_pause |= 2 * common_ns >= one.length_ns().min(pause.length_ns());
    }
}

/// Windows one after the other, as opposed to one beginning with each interval.
fn windows_apart(moments: &[Moment]) -> Vec<Window> {
    let mut from = 0;
    let next = || {
        let (window, length) = window(moments, from)?;
        from += length;
        Some(window)
    };
    std::iter::from_fn(next).collect()
}

/// The windows of a step follow each other, and each lies above all others: in a queue that comes and goes, those at its
/// borders lie between.
pub(crate) fn step(moments: &[Moment]) -> Option<Step> {
    let all = windows_apart(moments);
    let mut sorted: Vec<f64> = all.iter().map(|one| one.median_ns).collect();
    sorted.sort_by(f64::total_cmp);
    let places = STEP_WINDOWS..(sorted.len() + 1).saturating_sub(STEP_WINDOWS);
    let factor = |place: &usize| sorted[*place] / sorted[place - 1].max(1.0);
    let place = places.max_by(|one, other| factor(one).total_cmp(&factor(other)))?;
    if factor(&place) < STEP_FACTOR {
        return None;
    }
    let is_high = |window: &&Window| window.median_ns >= sorted[place];
    let first = all.iter().position(|window| is_high(&window))?;
    let high = all[first..].iter().take_while(is_high).count();
    let inside = &all[first..first + high];
    let is_whole = high == sorted.len() - place && all[first].start_ns >= BEFORE_NS_LEAST;
    is_whole.then(|| {
        let outside = || all.iter().filter(|window| !is_high(window));
        let mean = |rates: Vec<f64>| rates.iter().sum::<f64>() / rates.len() as f64;
        Step {
            from_ns: inside[0].start_ns,
            to_ns: inside[high - 1].end_ns,
            usual_ns: median(outside().map(|one| one.median_ns).collect()),
            median_ns: median(inside.iter().map(|one| one.median_ns).collect()),
            usual_rate: mean(outside().map(|one| one.rate).collect()),
            rate: mean(inside.iter().map(|one| one.rate).collect()),
        }
    })
}

impl Moment {
    /// `None` for the sum of several intervals, which tells no percentiles of each.
    pub(crate) fn of(interval: &Interval) -> Option<Self> {
        if interval.count() > 1 {
            return None;
        }
        let counted = interval
            .figures
            .iter()
            .filter(|one| !one.key.operation.is_sync());
        let response = interval.response();
        let streams = interval.engine.streams.iter();
        Some(Self {
            start_ns: interval.start_ns,
            end_ns: interval.end_ns,
            operations: counted.clone().map(|one| one.operations).sum(),
            errors: counted.map(|one| one.errors).sum(),
            backlog: streams.map(|stream| stream.backlog).sum(),
            is_own_pause: false,
            above: above(&response),
            response,
        })
    }

    pub(crate) fn add(&mut self, responses_ns: &[u64]) {
        let out = LatencyFigures::of(responses_ns);
        for (count, more) in self.above.iter_mut().zip(above(&out)) {
            *count += more;
        }
        self.response.merge(&out);
    }

    pub(crate) fn length_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}

fn above(response: &LatencyFigures) -> [u64; LATE_NS.len()] {
    LATE_NS.map(|limit_ns| match response.max_ns > limit_ns {
        true => response.histogram.count() - response.histogram.count_below(limit_ns),
        false => 0,
    })
}

/// Some intervals that follow each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub start_ns: u64,
    pub end_ns: u64,
    pub rate: f64,
    pub median_ns: f64,
    pub p99_ns: f64,
}

/// Beginning with each interval, the shortest that is long enough.
pub(crate) fn windows(moments: &[Moment]) -> Vec<Window> {
    let beginning = |from: usize| window(moments, from).map(|(window, _)| window);
    (0..moments.len()).map_while(beginning).collect()
}

/// With how many intervals it has.
fn window(moments: &[Moment], from: usize) -> Option<(Window, usize)> {
    let mut length_ns = 0;
    let after = moments[from..].iter().position(|moment| {
        length_ns += moment.length_ns();
        length_ns >= WINDOW_NS
    })?;
    let all = &moments[from..=from + after];
    let operations: u64 = all.iter().map(|one| one.operations).sum();
    let response = match all {
        [one] => &one.response,
        _ => &LatencyFigures::sum(all.iter().map(|one| &one.response)),
    };
    let window = Window {
        start_ns: all[0].start_ns,
        end_ns: all[after].end_ns,
        rate: operations as f64 * 1e9 / length_ns as f64,
        median_ns: percentile_ns(response, 50.0) as f64,
        p99_ns: percentile_ns(response, 99.0) as f64,
    };
    Some((window, all.len()))
}

pub(crate) fn percentile_ns(response: &LatencyFigures, pct: f64) -> u64 {
    match response.histogram.is_empty() {
        true => 0,
        false => response.percentile_ns(pct),
    }
}
