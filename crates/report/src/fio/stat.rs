//! Latencies and samples as fio keeps them: its own coarser buckets, its percentiles, its moments.
use measure::{LatencyFigures, bucket_bounds};

/// Buckets of 2^6 per power of two; everything from 2^34 ns on falls into the last.
const GROUP_BITS: u32 = 6;
const GROUPS: usize = 29;
const PER_GROUP: usize = 1 << GROUP_BITS;
pub(super) const BUCKETS: usize = GROUPS * PER_GROUP;

/// One kind of latency of one direction, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Latency {
    pub count: u64,
    pub min_ns: u64,
    pub max_ns: u64,
    pub mean_ns: f64,
    pub deviation_ns: f64,
    /// Middle of the bucket in nanoseconds, and its count; ascending.
    pub bins: Vec<(u64, u64)>,
}

/// Samples of a rate, as they come.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Samples {
    pub count: u64,
    pub min: u64,
    pub max: u64,
    pub mean: f64,
    /// Sum of squared deviations from the mean.
    pub squares: f64,
}

/// Shares in percent over time classes of completion latencies.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Classes {
    pub ns: [u64; 10],
    pub us: [u64; 10],
    pub ms: [u64; 12],
}

impl Latency {
    pub(super) fn of(figures: &LatencyFigures) -> Self {
        let buckets = figures.histogram.buckets();
        let Some(first) = buckets.first() else {
            return Self::default();
        };
        let mut bins: Vec<(u64, u64)> = Vec::new();
        for bucket in buckets {
            let (low, _) = bucket_bounds(bucket.index as usize);
            let middle = middle_of(index_of(low));
            match bins.last_mut() {
                Some((last, count)) if *last == middle => *count += bucket.count,
                _ => bins.push((middle, bucket.count)),
            }
        }
        Self {
            count: figures.histogram.count(),
            min_ns: bucket_bounds(first.index as usize).0.min(figures.max_ns),
            max_ns: figures.max_ns,
            mean_ns: figures.mean_ns(),
            deviation_ns: figures.histogram.standard_deviation_ns(),
            bins,
        }
    }

    /// The middle of the bucket that holds each percentile; no interpolation.
    pub(super) fn percentiles(&self, list: &[f64]) -> Vec<u64> {
        let mut values = Vec::with_capacity(list.len());
        let (mut place, mut seen) = (0, self.bins.first().map_or(0, |(_, count)| *count));
        for percentile in list {
            let wanted = percentile / 100.0 * self.count as f64;
            while (seen as f64) < wanted && place + 1 < self.bins.len() {
                place += 1;
                seen += self.bins[place].1;
            }
            values.push(self.bins.get(place).map_or(0, |(middle, _)| *middle));
        }
        values
    }
}

impl Samples {
    pub(super) fn add(&mut self, value: u64) {
        self.min = if self.count == 0 {
            value
        } else {
            self.min.min(value)
        };
        self.max = self.max.max(value);
        self.count += 1;
        let off = value as f64 - self.mean;
        self.mean += off / self.count as f64;
        self.squares += off * (value as f64 - self.mean);
    }

    /// As fio forms groups: the extremes and means of the members are added up, since their
    /// intervals run side by side.
    pub(super) fn add_member(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        self.min += other.min;
        self.max += other.max;
        self.mean += other.mean;
        self.squares += other.squares;
        self.count += other.count;
    }

    pub(super) fn deviation(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        (self.squares / (self.count - 1) as f64).sqrt()
    }
}

impl Classes {
    pub(super) fn add(&mut self, figures: &LatencyFigures) {
        for bucket in figures.histogram.buckets() {
            let (low, high) = bucket_bounds(bucket.index as usize);
            self.count(low + (high - low) / 2, bucket.count);
        }
    }

    fn count(&mut self, value_ns: u64, count: u64) {
        let class = |value: u64| match value {
            0..2 => 0,
            2..4 => 1,
            4..10 => 2,
            10..20 => 3,
            20..50 => 4,
            50..100 => 5,
            100..250 => 6,
            250..500 => 7,
            500..750 => 8,
            750..1000 => 9,
            1000..2000 => 10,
            _ => 11,
        };
        match value_ns {
            0..1_000 => self.ns[class(value_ns)] += count,
            1_000..1_000_000 => self.us[class(value_ns / 1_000)] += count,
            _ => self.ms[class(value_ns / 1_000_000)] += count,
        }
    }
}

/// The bucket of a value.
pub(super) fn index_of(value_ns: u64) -> usize {
    if value_ns < 2 * PER_GROUP as u64 {
        return value_ns as usize;
    }
    let top = value_ns.ilog2();
    let group = (top - GROUP_BITS + 1) as usize;
    let within = (value_ns >> (top - GROUP_BITS)) as usize - PER_GROUP;
    (group * PER_GROUP + within).min(BUCKETS - 1)
}

/// The middle of a bucket in nanoseconds: what fio reports for it.
pub(super) fn middle_of(index: usize) -> u64 {
    let (group, within) = (index / PER_GROUP, (index % PER_GROUP) as u64);
    if group < 2 {
        return index as u64;
    }
    let shift = group as u32 - 1;
    ((PER_GROUP as u64 + within) << shift) + (1 << (shift - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::latencies;

    #[test]
    fn buckets_are_those_of_fio() {
        assert_eq!((index_of(87_300), middle_of(725)), (725, 87_552));
        // Values that fio itself has printed.
        for value in [195, 253, 258, 342, 732, 6_304, 62_208, 2_441_216] {
            assert_eq!(middle_of(index_of(value)), value);
        }
        assert_eq!(middle_of(index_of(127)), 127);
        assert_eq!(index_of(u64::MAX), BUCKETS - 1);
        assert_eq!(middle_of(BUCKETS - 1), 17_112_760_320);
    }

    #[test]
    fn percentiles_walk_buckets() {
        let figures = latencies([(100, 90), (1_000, 9), (70_000, 1)].into_iter());
        let latency = Latency::of(&figures);
        assert_eq!(
            latency.percentiles(&[1.0, 90.0, 90.5, 99.0, 99.5]),
            [100, 100, 1_004, 1_004, 70_144]
        );
        assert_eq!(
            (latency.count, latency.min_ns, latency.max_ns),
            (100, 100, 70_000)
        );
        assert_eq!(latency.mean_ns, 880.0);
        assert_eq!(Latency::default().percentiles(&[50.0]), [0]);
    }

    #[test]
    fn group_samples_are_sums() {
        let (mut one, mut two, mut group) = Default::default();
        for (one_value, two_value) in [(10, 100), (20, 100)] {
            Samples::add(&mut one, one_value);
            Samples::add(&mut two, two_value);
        }
        assert_eq!((one.min, one.max, one.mean), (10, 20, 15.0));
        assert!((one.deviation() - 50.0_f64.sqrt()).abs() < 1e-9);
        Samples::add_member(&mut group, &one);
        Samples::add_member(&mut group, &two);
        assert_eq!(
            (group.min, group.max, group.mean, group.count),
            (110, 120, 115.0, 4)
        );
    }

    #[test]
    fn classes_are_named_by_their_upper_bound() {
        let mut classes = Classes::default();
        for value_ns in [0, 2, 999, 1_000, 749_999, 1_000_000, 3_000_000_000] {
            classes.count(value_ns, 1);
        }
        assert_eq!((classes.ns[0], classes.ns[1], classes.ns[9]), (1, 1, 1));
        assert_eq!((classes.us[0], classes.us[8]), (1, 1));
        assert_eq!((classes.ms[0], classes.ms[11]), (1, 1));
    }
}
