//! The arithmetic of a run's time: how long, how many intervals, which of them count.
use plan::{AddressOrder, BoundRun, FirstInterval, OpSource, SequentialEnd, Timing, Window};

/// From the start to the planned end in nanoseconds; `None` when the end is a size without a limit.
pub fn planned_ns(timing: &Timing) -> Option<u64> {
    match timing.window {
        Window::For(window) => Some(timing.warmup.0 + window.0),
        Window::UntilDone { at_most } => at_most.map(|limit| timing.warmup.0 + limit.0),
    }
}

/// How many intervals at the start do not enter the averages: those of the warm-up, or the first
/// one where a run without warm-up drops it.
pub fn unmeasured_intervals(timing: &Timing) -> u32 {
    let warmup = timing.warmup.0.div_ceil(timing.interval.0.max(1)) as u32;
    match (warmup, timing.first_interval) {
        (0, FirstInterval::Dropped) => 1,
        (warmup, _) => warmup,
    }
}

/// The measured part of a run as planned, in nanoseconds since its start.
pub fn measured_span(timing: &Timing) -> (u64, u64) {
    let from_ns = u64::from(unmeasured_intervals(timing)) * timing.interval.0;
    (from_ns, planned_ns(timing).unwrap_or(u64::MAX))
}

/// Bytes that a run will move when its end is a size: all of its streams that stop at the end.
pub fn expected_bytes(run: &BoundRun) -> Option<u64> {
    if !matches!(run.run.timing.window, Window::UntilDone { .. }) {
        return None;
    }
    let mut sum = 0;
    for (stream, bound) in run.run.streams.iter().zip(&run.streams) {
        let stops = matches!(
            &stream.source,
            OpSource::Generator(g) if matches!(g.order, AddressOrder::Sequential { end: SequentialEnd::Stop, .. })
        );
        let widths = bound.regions.iter();
        let of_regions = widths
            .map(|region| region.width - region.start)
            .fold(0, u64::saturating_add);
        let recorded = stream.source.replay().map(|replay| replay.bytes);
        let ends = [stops.then_some(of_regions), stream.stop.bytes, recorded];
        sum += ends.into_iter().flatten().min().unwrap_or(0);
    }
    (sum > 0).then_some(sum)
}

/// The ends of intervals, from the start of the run.
#[derive(Clone, Copy, Debug)]
pub struct Ticks {
    pub interval_ns: u64,
    pub planned_ns: Option<u64>,
}

impl Ticks {
    /// # Panics
    /// With an interval of no length: a run would have more of them than memory holds.
    pub fn of(timing: &Timing) -> Self {
        assert!(timing.interval.0 > 0, "an interval takes time");
        Self {
            interval_ns: timing.interval.0,
            planned_ns: planned_ns(timing),
        }
    }

    /// The end of interval `number` (from zero), and whether it is the last planned one.
    pub fn end(&self, number: u64) -> (u64, bool) {
        let end_ns = (number + 1) * self.interval_ns;
        match self.planned_ns {
            Some(planned_ns) if end_ns >= planned_ns => (planned_ns, true),
            _ => (end_ns, false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{Nanos, StartAlign};

    fn timing(warmup: u64, window: u64, interval: u64) -> Timing {
        Timing {
            start: StartAlign::AtOnce,
            warmup: Nanos::from_secs(warmup),
            window: Window::For(Nanos::from_secs(window)),
            interval: Nanos::from_secs(interval),
            first_interval: FirstInterval::Dropped,
            pause_after: Nanos(0),
        }
    }

    #[test]
    fn a_warm_up_comes_on_top_and_replaces_the_dropped_interval() {
        let with = timing(15, 60, 1);
        assert_eq!(
            (planned_ns(&with), unmeasured_intervals(&with)),
            (Some(75_000_000_000), 15)
        );
        let without = timing(0, 10, 1);
        assert_eq!(
            (planned_ns(&without), unmeasured_intervals(&without)),
            (Some(10_000_000_000), 1)
        );
    }

    #[test]
    fn ticks_end_with_the_plan() {
        let ticks = Ticks::of(&timing(0, 10, 4));
        assert_eq!(ticks.end(0), (4_000_000_000, false));
        assert_eq!(ticks.end(2), (10_000_000_000, true));
    }
}
