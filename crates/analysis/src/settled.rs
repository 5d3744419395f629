//! Whether the rate of a stream has settled, by the rule that its plan gives.
use measure::{Interval, IntervalPhase};
use plan::{Amount, Steady, SteadyCriterion};
use std::collections::VecDeque;

/// Follows streams that are judged together, from interval to interval.
#[derive(Clone, Debug)]
pub struct SettleWatch {
    rule: Steady,
    /// The start of the first measured interval.
    begun_ns: Option<u64>,
    /// Of the sample that is being put together.
    length_ns: u64,
    operations: u64,
    bytes: u64,
    /// Operations and bytes per second.
    samples: VecDeque<(f64, f64)>,
    is_settled: bool,
}

/// Where a [`SettleWatch`] stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    pub rule: Steady,
    pub is_settled: bool,
    /// What is compared with the limit: in percent of the mean, or in units of the samples.
    pub value: f64,
    pub rate_mean: f64,
    pub bandwidth_mean: f64,
    /// Operations and bytes per second, the oldest first.
    pub samples: Vec<(f64, f64)>,
}

impl SettleWatch {
    pub fn new(rule: Steady) -> Self {
        Self {
            rule,
            begun_ns: None,
            length_ns: 0,
            operations: 0,
            bytes: 0,
            samples: VecDeque::new(),
            is_settled: false,
        }
    }

    /// Takes what an interval brought of the streams that `is_mine` names by number; true once
    /// their rate has settled. A sample ends with the interval in which its time is over.
    pub fn add(&mut self, interval: &Interval, is_mine: impl Fn(usize) -> bool) -> bool {
        if interval.phase != IntervalPhase::Measured || self.is_settled {
            return self.is_settled;
        }
        let begun_ns = *self.begun_ns.get_or_insert(interval.start_ns);
        if interval.start_ns < begun_ns + self.rule.after.0 {
            return false;
        }
        self.length_ns += interval.length_ns();
        for figure in &interval.figures {
            if is_mine(figure.key.stream.index()) && !figure.key.operation.is_sync() {
                self.operations += figure.operations;
                self.bytes += figure.bytes;
            }
        }
        // Intervals whose multiple a sample is are cut to whole nanoseconds.
        let slack_ns = interval.length_ns() / 16;
        if self.length_ns + slack_ns >= self.rule.every.0 {
            let per_second = |count: u64| count as f64 * 1e9 / self.length_ns as f64;
            let sample = (per_second(self.operations), per_second(self.bytes));
            self.samples.push_back(sample);
            if self.samples.len() > self.rule.samples as usize {
                self.samples.pop_front();
            }
            (self.length_ns, self.operations, self.bytes) = (0, 0, 0);
            let is_full = self.samples.len() == self.rule.samples as usize;
            self.is_settled = is_full && self.value().abs() < self.rule.limit;
        }
        self.is_settled
    }

    pub fn state(&self) -> Settled {
        let mean = |of: fn(&(f64, f64)) -> f64| {
            let sum: f64 = self.samples.iter().map(of).sum();
            sum / self.samples.len().max(1) as f64
        };
        Settled {
            rule: self.rule,
            is_settled: self.is_settled,
            value: self.value(),
            rate_mean: mean(|sample| sample.0),
            bandwidth_mean: mean(|sample| sample.1),
            samples: self.samples.iter().copied().collect(),
        }
    }

    fn value(&self) -> f64 {
        let of = |sample: &(f64, f64)| match self.rule.of {
            Amount::Operations => sample.0,
            Amount::Bytes => sample.1,
        };
        let values: Vec<f64> = self.samples.iter().map(of).collect();
        let count = values.len().max(1) as f64;
        let mean = values.iter().sum::<f64>() / count;
        let value = match self.rule.criterion {
            SteadyCriterion::Deviation => {
                let deviations = values.iter().map(|value| (value - mean).abs());
                deviations.fold(0.0, f64::max)
            }
            SteadyCriterion::Slope => slope(&values, mean),
        };
        match self.rule.is_pct {
            true if mean > 0.0 => value * 100.0 / mean,
            true => 0.0,
            false => value,
        }
    }
}

/// Of the line through values over their places, by least squares.
fn slope(values: &[f64], mean: f64) -> f64 {
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let (mut products, mut squares) = (0.0, 0.0);
    for (place, value) in values.iter().enumerate() {
        let x = place as f64 - middle;
        products += x * (value - mean);
        squares += x * x;
    }
    if squares > 0.0 {
        products / squares
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Nanos;

    fn watch(criterion: SteadyCriterion, is_pct: bool, values: &[f64]) -> SettleWatch {
        let mut watch = SettleWatch::new(Steady {
            of: Amount::Operations,
            criterion,
            limit: 5.0,
            is_pct,
            samples: values.len() as u32,
            every: Nanos::from_secs(1),
            after: Nanos(0),
            group: None,
        });
        watch.samples = values.iter().map(|value| (*value, 0.0)).collect();
        watch
    }

    #[test]
    fn deviations_and_slopes_are_of_samples_over_their_places() {
        let values = [90.0, 100.0, 110.0, 120.0];
        let value = |criterion, is_pct| watch(criterion, is_pct, &values).state().value;
        assert_eq!(value(SteadyCriterion::Deviation, false), 15.0);
        assert_eq!(value(SteadyCriterion::Slope, false), 10.0);
        let pct = value(SteadyCriterion::Slope, true);
        assert!((pct - 1_000.0 / 105.0).abs() < 1e-9, "{pct}");
        let falling = watch(SteadyCriterion::Slope, false, &[30.0, 20.0, 10.0]);
        assert_eq!(falling.state().value, -10.0);
    }

    /// A second of a stream with so many operations of 4 KiB each, and as many of another stream and of syncs.
    fn second(number: u32, phase: IntervalPhase, operations: [u64; 3]) -> Interval {
        use plan::{Operation, StreamId, TargetId};
        let [own, other, syncs] = operations;
        let figure = |stream: u32, operation: Operation, operations: u64| measure::Figure {
            operations,
            bytes: operations * 4096,
            ..measure::Figure::empty(measure::FigureKey {
                stream: StreamId(stream),
                target: TargetId(0),
                operation,
            })
        };
        let start_ns = u64::from(number - 1) * 2_000_000_000;
        Interval {
            run: 0,
            number,
            start_ns,
            end_ns: start_ns + 2_000_000_000,
            unix_ns: 0,
            phase,
            figures: vec![
                figure(0, Operation::Read, own),
                figure(1, Operation::Read, other),
                figure(0, Operation::Sync, syncs),
            ],
            engine: measure::EngineSample::default(),
            host: measure::HostSample::default(),
            lost: measure::LostParts::default(),
            within: Vec::new(),
        }
    }

    #[test]
    fn samples_are_rates_of_the_own_streams_in_measured_intervals() {
        let mut rule = watch(SteadyCriterion::Slope, true, &[]).rule;
        (rule.samples, rule.after) = (3, Nanos::from_secs(2));
        let mut settled = SettleWatch::new(rule);
        let mut add = |number: u32, phase: IntervalPhase, own: u64| {
            settled.add(&second(number, phase, [own, 5_000, 700]), |stream| {
                stream == 0
            })
        };
        assert!(!add(1, IntervalPhase::Warmup, 200));
        // Within the time that is left out.
        assert!(!add(2, IntervalPhase::Measured, 200));
        assert!(!add(3, IntervalPhase::Measured, 200));
        assert!(!add(4, IntervalPhase::Measured, 202));
        assert!(add(5, IntervalPhase::Measured, 200));
        let state = settled.state();
        let rates: Vec<f64> = state.samples.iter().map(|sample| sample.0).collect();
        assert_eq!(rates, [100.0, 101.0, 100.0]);
        assert!((state.bandwidth_mean - state.rate_mean * 4096.0).abs() < 1e-6);
        assert!((state.rate_mean - 301.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn a_rate_settles_by_the_size_of_its_change_and_not_by_its_sign() {
        let settles = |rates: [u64; 3], of: Amount| {
            let mut rule = watch(SteadyCriterion::Slope, true, &[]).rule;
            (rule.samples, rule.of) = (3, of);
            let mut settled = SettleWatch::new(rule);
            let add = |(number, rate): (u32, u64)| {
                let interval = second(number, IntervalPhase::Measured, [rate, 0, 0]);
                settled.add(&interval, |_| true)
            };
            (1..).zip(rates).map(add).last()
        };
        for of in [Amount::Operations, Amount::Bytes] {
            assert_eq!(settles([300, 200, 100], of), Some(false));
            assert_eq!(settles([100, 200, 300], of), Some(false));
            assert_eq!(settles([200, 201, 200], of), Some(true));
        }
    }

    #[test]
    fn a_deviation_counts_on_both_sides_and_in_its_own_amount() {
        let low = watch(SteadyCriterion::Deviation, false, &[100.0, 100.0, 40.0]);
        let high = watch(SteadyCriterion::Deviation, false, &[40.0, 40.0, 100.0]);
        assert_eq!((low.value(), high.value()), (40.0, 40.0));
        let mut bytes = low;
        bytes.rule.of = Amount::Bytes;
        assert_eq!(bytes.value(), 0.0);
    }
}
