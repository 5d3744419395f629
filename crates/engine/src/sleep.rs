//! How a worker sleeps that has nothing in flight: by a timer or by looking at the clock, and for which arrivals.
use crate::arrivals::Feed;
use crate::rest::{APART_NS, Rest};
use crate::state::{SharedRun, SharedStream};
use std::sync::atomic::Ordering::Relaxed;

/// How many arrivals of a stream a worker looks ahead for the sleep after the next, and how far.
const LOOK_AHEAD: u64 = 8;
const KNOWN_NS: u64 = 200_000;

/// How a worker waits that has nothing in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sleep {
    /// By looking at the clock, where the moment is closer than a wake-up takes.
    Spin { until_ns: u64 },
    /// By a timer for `wake_ns`, which is `length_ns` from now; the sleep after it is likely to end
    /// `beyond_ns` from now.
    Timer {
        wake_ns: u64,
        length_ns: u64,
        beyond_ns: u64,
    },
}

/// What one worker knows of its sleeps.
#[derive(Debug)]
pub(crate) struct SleepPlan {
    streams: Vec<usize>,
    rest: Rest,
    /// The next arrivals, while a sleep is planned.
    arrivals_ns: Vec<u64>,
}

impl SleepPlan {
    /// For a worker of these streams.
    pub(crate) fn new(streams: Vec<usize>) -> Self {
        Self {
            streams,
            rest: Rest::default(),
            arrivals_ns: Vec::with_capacity(64),
        }
    }

    /// How to wait from `now_ns` until `until_ns`, for `look_ns` at most; `seen_ns` is when completions were looked at.
    pub(crate) fn plan(
        &mut self,
        shared: &SharedRun,
        (now_ns, seen_ns): (u64, u64),
        until_ns: u64,
        look_ns: u64,
    ) -> Sleep {
        let limit_ns = now_ns + look_ns;
        let start_ns = shared.start_ns.load(Relaxed);
        let is_arrival = until_ns > start_ns && until_ns < limit_ns;
        let (end_ns, beyond_ns, lead_ns) = if is_arrival {
            let gap_ns = self.gap_ns(shared);
            self.know_arrivals(shared, seen_ns, until_ns);
            let (end_ns, beyond_ns) = self.rest.next(&self.arrivals_ns, gap_ns);
            (end_ns, beyond_ns, self.rest.lead_ns())
        } else {
            (until_ns.min(limit_ns), limit_ns, 0)
        };
        if end_ns <= now_ns + lead_ns {
            return Sleep::Spin { until_ns: end_ns };
        }
        let wake_ns = end_ns - lead_ns;
        Sleep::Timer {
            wake_ns,
            length_ns: wake_ns - now_ns,
            beyond_ns: beyond_ns.min(limit_ns).saturating_sub(lead_ns + now_ns),
        }
    }

    /// The thread woke so long after its timer ended.
    pub(crate) fn note_wake_up(&mut self, after_ns: u64) {
        self.rest.note(after_ns);
    }

    /// An I/O kept the thread from the next arrival for so long.
    pub(crate) fn note_io(&mut self, ns: u64) {
        self.rest.note_io(ns);
    }

    /// Gathers what is known of arrivals from `until_ns` on, in their order; that moment is the first of them.
    fn know_arrivals(&mut self, shared: &SharedRun, seen_ns: u64, until_ns: u64) {
        let start_ns = shared.start_ns.load(Relaxed);
        let mut times = std::mem::take(&mut self.arrivals_ns);
        times.clear();
        times.push(until_ns);
        let horizon_ns = until_ns + KNOWN_NS;
        for (stream, feed) in self.feeds(shared) {
            for next in (0..LOOK_AHEAD).map_while(|places| feed.ahead(places)) {
                let at_ns = stream.arrival_ns(start_ns, seen_ns, next.at_ns);
                if at_ns > until_ns {
                    times.push(at_ns);
                }
                if at_ns > horizon_ns {
                    break;
                }
            }
        }
        times.sort_unstable();
        self.arrivals_ns = times;
    }

    /// The mean gap between the arrivals that the worker may take.
    pub(crate) fn gap_ns(&self, shared: &SharedRun) -> f64 {
        let per_ns = self.feeds(shared).map(|(_, feed)| 1.0 / feed.gap_ns());
        1.0 / per_ns.sum::<f64>()
    }

    /// When the next arrival of any stream is due; zero when one without a schedule could issue at once.
    pub(crate) fn next_arrival_ns(&self, shared: &SharedRun, seen_ns: u64) -> u64 {
        let start_ns = shared.start_ns.load(Relaxed);
        let streams = self.streams.iter().map(|number| &shared.streams[*number]);
        let live = streams.filter(|stream| !stream.ended.load(Relaxed));
        let due = live.map(|stream| match &stream.feed {
            Some(feed) => stream.arrival_ns(start_ns, seen_ns, feed.peek().at_ns),
            None => 0,
        });
        due.min().unwrap_or(u64::MAX)
    }

    fn feeds<'a>(
        &'a self,
        shared: &'a SharedRun,
    ) -> impl Iterator<Item = (&'a SharedStream, &'a Feed)> {
        self.streams.iter().filter_map(|number| {
            let stream = &shared.streams[*number];
            Some((stream, stream.feed.as_ref()?))
        })
    }
}

/// The time left from `now_ns` until an arrival; never so short that close arrivals cannot share a wake-up.
pub(crate) fn time_to(shared: &SharedRun, now_ns: u64, until_ns: u64) -> u64 {
    let left_ns = until_ns.saturating_sub(now_ns);
    let is_running = until_ns > shared.start_ns.load(Relaxed);
    if is_running {
        left_ns.max(APART_NS)
    } else {
        left_ns
    }
}
