//! Whether a run was the same from beginning to end: drift of its rate, and stalls, as data for a
//! verdict. Looks at intervals only.
use measure::Interval;

/// Fewer intervals show no drift that could be told from chance.
const DRIFT_INTERVALS_LEAST: usize = 10;

/// A slope of this many standard errors, and a change of this share of the mean from the first to
/// the last interval, make a drift. The errors of neighbouring intervals hang together a little,
/// which is why two would be too few.
const DRIFT_ERRORS_LEAST: f64 = 3.0;
const DRIFT_SHARE_LEAST: f64 = 0.05;

/// What steadiness is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntervalFacts {
    pub number: u32,
    pub length_ns: u64,
    /// Successful ones.
    pub operations: u64,
    /// Something was in flight or due at the end: an interval without completions is a stall, not
    /// a pause.
    pub is_waiting: bool,
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steadiness {
    /// `None` for fewer than ten intervals, or when nothing completed.
    pub drift: Option<Drift>,
    pub stall: Option<Stall>,
}

/// The straight line through the rates of the intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// Change from the first to the last interval, as a share of the mean rate.
    pub change_share: f64,
    /// Slope over its standard error; infinite for a perfect line.
    pub errors: f64,
    pub is_drifting: bool,
}

/// The longest span without a completion, in whole intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Number of its first interval.
    pub first: u32,
    pub intervals: u32,
    pub length_ns: u64,
}

impl IntervalFacts {
    pub fn of(interval: &Interval) -> Self {
        let engine = &interval.engine;
        let backlog: u64 = engine.streams.iter().map(|stream| stream.backlog).sum();
        Self {
            number: interval.number,
            length_ns: interval.length_ns(),
            operations: interval
                .figures
                .iter()
                .filter(|figure| !figure.key.operation.is_sync())
                .map(|figure| figure.operations)
                .sum(),
            is_waiting: engine.in_flight > 0 || backlog > 0,
        }
    }
}

/// Judges intervals that follow each other; give it the measured ones.
pub fn steadiness(intervals: &[IntervalFacts]) -> Steadiness {
    Steadiness {
        drift: drift(intervals),
        stall: longest_stall(intervals),
    }
}

fn drift(intervals: &[IntervalFacts]) -> Option<Drift> {
    let rates: Vec<f64> = intervals
        .iter()
        .filter(|facts| facts.length_ns > 0)
        .map(|facts| facts.operations as f64 * 1e9 / facts.length_ns as f64)
        .collect();
    let count = rates.len() as f64;
    let mean = rates.iter().sum::<f64>() / count;
    if rates.len() < DRIFT_INTERVALS_LEAST || mean <= 0.0 {
        return None;
    }
    let middle = (count - 1.0) / 2.0;
    let line = || {
        (0..rates.len())
            .map(|place| place as f64 - middle)
            .zip(&rates)
    };
    let spread: f64 = line().map(|(x, _)| x * x).sum();
    let slope = line().map(|(x, rate)| x * (rate - mean)).sum::<f64>() / spread;
    let residual: f64 = line()
        .map(|(x, rate)| (rate - mean - slope * x).powi(2))
        .sum();
    let error = (residual / (count - 2.0) / spread).sqrt();
    let change_share = slope * (count - 1.0) / mean;
    let errors = match (slope == 0.0, error == 0.0) {
        (true, _) => 0.0,
        (false, true) => f64::INFINITY.copysign(slope),
        (false, false) => slope / error,
    };
    Some(Drift {
        change_share,
        errors,
        is_drifting: errors.abs() >= DRIFT_ERRORS_LEAST && change_share.abs() >= DRIFT_SHARE_LEAST,
    })
}

fn longest_stall(intervals: &[IntervalFacts]) -> Option<Stall> {
    intervals
        .chunk_by(|a, b| is_stalled(a) == is_stalled(b))
        .filter(|span| is_stalled(&span[0]))
        .map(|span| Stall {
            first: span[0].number,
            intervals: span.len() as u32,
            length_ns: span.iter().map(|facts| facts.length_ns).sum(),
        })
        .max_by_key(|stall| (stall.length_ns, std::cmp::Reverse(stall.first)))
}

fn is_stalled(facts: &IntervalFacts) -> bool {
    facts.operations == 0 && facts.is_waiting
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::SECOND;
    use proptest::prelude::*;

    fn intervals(operations: &[u64]) -> Vec<IntervalFacts> {
        let facts = |(operations, number): (&u64, u32)| IntervalFacts {
            number,
            length_ns: SECOND,
            operations: *operations,
            is_waiting: true,
        };
        operations.iter().zip(1..).map(facts).collect()
    }

    #[test]
    fn a_falling_rate_drifts_and_a_scattered_one_does_not() {
        let falling: Vec<u64> = (0..20).map(|n| 1_000 - n * 10 + n % 3).collect();
        let drift = steadiness(&intervals(&falling)).drift.unwrap();
        assert!(drift.is_drifting && drift.errors < -3.0, "{drift:?}");
        assert!((drift.change_share + 0.21).abs() < 0.01, "{drift:?}");
        let scattered: Vec<u64> = (0..20).map(|n| 1_000 + n * 7919 % 101).collect();
        assert!(
            !steadiness(&intervals(&scattered))
                .drift
                .unwrap()
                .is_drifting
        );
        let even = steadiness(&intervals(&[1_000; 20])).drift.unwrap();
        assert_eq!(
            (even.change_share, even.errors, even.is_drifting),
            (0.0, 0.0, false)
        );
        assert_eq!(steadiness(&intervals(&falling[..9])).drift, None);
        assert_eq!(steadiness(&intervals(&[0; 20])).drift, None);
        assert_eq!(steadiness(&[]).drift, None);
    }

    #[test]
    fn a_small_change_is_no_drift_however_certain() {
        let rates: Vec<u64> = (0..20).map(|n| 100_000 + n * 100).collect();
        let drift = steadiness(&intervals(&rates)).drift.unwrap();
        assert!(drift.errors > 100.0 && !drift.is_drifting, "{drift:?}");
    }

    #[test]
    fn the_longest_stall_is_found() {
        let mut facts = intervals(&[5, 0, 3, 0, 0, 0, 4, 0]);
        let stall = steadiness(&facts).stall.unwrap();
        assert_eq!(
            stall,
            Stall {
                first: 4,
                intervals: 3,
                length_ns: 3 * SECOND
            }
        );
        facts[4].is_waiting = false;
        let stall = steadiness(&facts).stall.unwrap();
        assert_eq!(
            (stall.first, stall.intervals),
            (2, 1),
            "nothing was asked for in between"
        );
        assert_eq!(steadiness(&intervals(&[1, 2])).stall, None);
    }

    proptest! {
        #[test]
        fn turning_time_around_turns_the_drift(rates in proptest::collection::vec(1_u64..10_000, 10..40)) {
            let forward = steadiness(&intervals(&rates)).drift.unwrap();
            let turned: Vec<u64> = rates.iter().rev().copied().collect();
            let backward = steadiness(&intervals(&turned)).drift.unwrap();
            prop_assert!((forward.change_share + backward.change_share).abs() < 1e-6);
        }
    }
}
