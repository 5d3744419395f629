//! A log-linear histogram of nanoseconds: 256 sub-buckets per power of two, so that a value is
//! known to within 0.4 %, from 1 ns to beyond 20 minutes, in integers only.
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const SUB_BITS: u32 = 8;
const SUB_BUCKETS: u64 = 1 << SUB_BITS;
const MAX_BITS: u32 = 41;

/// The largest value that has a bucket of its own, 36 minutes; larger ones are counted there.
pub const MAX_VALUE_NS: u64 = (1 << MAX_BITS) - 1;

/// The number of buckets.
pub const BUCKETS: usize = ((MAX_BITS - SUB_BITS + 1) as u64 * SUB_BUCKETS) as usize;

/// The bucket of a value.
#[inline]
pub fn bucket_of(value_ns: u64) -> usize {
    let value = value_ns.min(MAX_VALUE_NS);
    // Below 2 × 256 the shift is zero and the bucket is the value itself.
    let shift = (63 - (value | SUB_BUCKETS).leading_zeros()) - SUB_BITS;
    (u64::from(shift) * SUB_BUCKETS + (value >> shift)) as usize
}

/// The smallest and the largest value of a bucket, both inclusive.
pub fn bucket_bounds(bucket: usize) -> (u64, u64) {
    let bucket = bucket as u64;
    if bucket < 2 * SUB_BUCKETS {
        return (bucket, bucket);
    }
    let shift = bucket / SUB_BUCKETS - 1;
    let low = (bucket - shift * SUB_BUCKETS) << shift;
    (low, low + (1 << shift) - 1)
}

/// One occupied bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    pub index: u32,
    pub count: u64,
}

/// The occupied buckets in ascending order: small to keep, to send and to add.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Histogram {
    buckets: Vec<Bucket>,
}

/// Counts by bucket, for adding many histograms or values. A row of buckets takes memory from its
/// first value on: what was measured lies in few of them, and an execution holds thousands of
/// builders.
#[derive(Clone, Debug, Default)]
pub struct HistogramBuilder {
    rows: Vec<Option<Box<Row>>>,
    /// What does not fit into the 32 bits of a row, by bucket, in units of 2³².
    carried: BTreeMap<usize, u64>,
}

/// Buckets of a row, a quarter of a power of two; 256 bytes.
const ROW_BUCKETS: usize = 64;

type Row = [u32; ROW_BUCKETS];

impl Histogram {
    /// From buckets in any order; equal indices add up.
    pub fn from_buckets(buckets: impl IntoIterator<Item = Bucket>) -> Self {
        let mut builder = HistogramBuilder::default();
        for bucket in buckets {
            builder.add_count(bucket.index as usize, bucket.count);
        }
        builder.build()
    }

    pub fn buckets(&self) -> &[Bucket] {
        &self.buckets
    }

    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    /// How many values were recorded.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.count).sum()
    }

    /// The value at quantile `q` (0 to 1): the upper bound of the bucket that holds the value of
    /// rank ⌈q × count⌉. Zero when empty.
    pub fn quantile_ns(&self, q: f64) -> u64 {
        let count = self.count();
        let rank = ((q.clamp(0.0, 1.0) * count as f64).ceil() as u64).max(1);
        let mut seen = 0;
        for bucket in &self.buckets {
            seen += bucket.count;
            if seen >= rank {
                return bucket_bounds(bucket.index as usize).1;
            }
        }
        0
    }

    /// How many values lie in buckets whose upper bound is below `limit_ns`.
    pub fn count_below(&self, limit_ns: u64) -> u64 {
        let below = |bucket: &&Bucket| bucket_bounds(bucket.index as usize).1 < limit_ns;
        self.buckets
            .iter()
            .filter(below)
            .map(|bucket| bucket.count)
            .sum()
    }

    /// Mean of bucket middles, within 0.2 % of the true mean.
    pub fn mean_ns(&self) -> f64 {
        let count = self.count();
        if count == 0 {
            return 0.0;
        }
        let sum: f64 = self
            .buckets
            .iter()
            .map(|bucket| middle(bucket) * bucket.count as f64)
            .sum();
        sum / count as f64
    }

    /// Sample standard deviation (n − 1) over bucket middles; zero for fewer than two values.
    pub fn standard_deviation_ns(&self) -> f64 {
        let count = self.count();
        if count < 2 {
            return 0.0;
        }
        let mean = self.mean_ns();
        let squares: f64 = self
            .buckets
            .iter()
            .map(|bucket| (middle(bucket) - mean).powi(2) * bucket.count as f64)
            .sum();
        (squares / (count - 1) as f64).sqrt()
    }

    /// Adds another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        let mut merged = Vec::with_capacity(self.buckets.len() + other.buckets.len());
        let (mut left, mut right) = (
            self.buckets.iter().peekable(),
            other.buckets.iter().peekable(),
        );
        loop {
            let next = match (left.peek(), right.peek()) {
                (Some(a), Some(b)) if a.index == b.index => {
                    let sum = Bucket {
                        index: a.index,
                        count: a.count + b.count,
                    };
                    left.next();
                    right.next();
                    sum
                }
                (Some(a), Some(b)) if a.index < b.index => take(&mut left),
                (Some(_), None) => take(&mut left),
                (_, Some(_)) => take(&mut right),
                (None, None) => break,
            };
            merged.push(next);
        }
        self.buckets = merged;
    }
}

fn take<'a>(side: &mut impl Iterator<Item = &'a Bucket>) -> Bucket {
    *side.next().expect("the caller has peeked at an item")
}

fn middle(bucket: &Bucket) -> f64 {
    let (low, high) = bucket_bounds(bucket.index as usize);
    (low as f64 + high as f64) / 2.0
}

impl FromIterator<u64> for Histogram {
    fn from_iter<T: IntoIterator<Item = u64>>(values: T) -> Self {
        let mut builder = HistogramBuilder::default();
        values.into_iter().for_each(|value| builder.record(value));
        builder.build()
    }
}

impl HistogramBuilder {
    pub fn record(&mut self, value_ns: u64) {
        self.add_count(bucket_of(value_ns), 1);
    }

    /// Adds `count` values of one bucket.
    pub fn add_count(&mut self, bucket: usize, count: u64) {
        let bucket = bucket.min(BUCKETS - 1);
        let row = bucket / ROW_BUCKETS;
        if row >= self.rows.len() {
            self.rows.resize_with(row + 1, || None);
        }
        let row = self.rows[row].get_or_insert_with(|| Box::new([0; ROW_BUCKETS]));
        let low = &mut row[bucket % ROW_BUCKETS];
        let sum = u64::from(*low) + (count & u64::from(u32::MAX));
        *low = sum as u32;
        let carry = (count >> 32) + (sum >> 32);
        if carry > 0 {
            *self.carried.entry(bucket).or_default() += carry;
        }
    }

    pub fn add(&mut self, histogram: &Histogram) {
        for bucket in &histogram.buckets {
            self.add_count(bucket.index as usize, bucket.count);
        }
    }

    pub fn build(&self) -> Histogram {
        let mut buckets = Vec::new();
        for (place, row) in self.rows.iter().enumerate() {
            let counts = row.iter().flat_map(|row| row.iter()).enumerate();
            let counts = counts.map(|(offset, low)| {
                let index = place * ROW_BUCKETS + offset;
                Bucket {
                    index: index as u32,
                    count: self.carry(index) << 32 | u64::from(*low),
                }
            });
            buckets.extend(counts.filter(|bucket| bucket.count > 0));
        }
        Histogram { buckets }
    }

    /// Builds and starts again at zero; rows that were in use are kept for the next time.
    pub fn drain(&mut self) -> Histogram {
        let built = self.build();
        let rows = self.rows.iter_mut().flatten();
        rows.for_each(|row| row.fill(0));
        self.carried.clear();
        built
    }

    fn carry(&self, bucket: usize) -> u64 {
        if self.carried.is_empty() {
            return 0;
        }
        self.carried.get(&bucket).copied().unwrap_or(0)
    }

    /// Memory that it holds, without the allocator's share.
    #[cfg(test)]
    pub(crate) fn held_bytes(&self) -> usize {
        let rows = self.rows.iter().flatten().count();
        self.rows.capacity() * size_of::<Option<Box<Row>>>() + rows * size_of::<Row>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_tile_the_range_without_gaps() {
        let mut next = 0;
        for bucket in 0..BUCKETS {
            let (low, high) = bucket_bounds(bucket);
            assert_eq!(low, next, "bucket {bucket}");
            assert_eq!((bucket_of(low), bucket_of(high)), (bucket, bucket));
            next = high + 1;
        }
        assert_eq!(next, MAX_VALUE_NS + 1);
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_follow_ranks() {
        let histogram: Histogram = (1..=100).collect();
        assert_eq!(histogram.quantile_ns(0.5), 50);
        assert_eq!(histogram.quantile_ns(0.99), 99);
        assert_eq!(histogram.quantile_ns(1.0), 100);
        assert_eq!(histogram.quantile_ns(0.0), 1);
        assert_eq!(Histogram::default().quantile_ns(0.5), 0);
    }

    #[test]
    fn counts_of_a_builder_go_beyond_its_rows() {
        let most = u64::from(u32::MAX);
        let mut builder = HistogramBuilder::default();
        for (bucket, count) in [
            (7, most),
            (7, 1),
            (7, 5),
            (9, 3 << 32),
            (300, most),
            (300, most),
        ] {
            builder.add_count(bucket, count);
        }
        let expected = [(7, most + 6), (9, 3 << 32), (300, 2 * most)];
        let expected = expected.map(|(index, count)| Bucket { index, count });
        assert_eq!(builder.build().buckets(), expected);
        assert_eq!(builder.drain().buckets(), expected);
        assert!(builder.build().is_empty());
        builder.record(7);
        assert_eq!(builder.build().count(), 1);
    }

    proptest! {
        #[test]
        fn a_bucket_is_within_half_a_percent(value in 1_u64..MAX_VALUE_NS) {
            let (low, high) = bucket_bounds(bucket_of(value));
            prop_assert!(low <= value && value <= high);
            prop_assert!((high - low) as f64 <= value as f64 / 256.0);
        }

        #[test]
        fn merging_equals_recording_all(
            left in proptest::collection::vec(0_u64..1 << 45, 0..200),
            right in proptest::collection::vec(0_u64..1 << 45, 0..200),
        ) {
            let mut merged: Histogram = left.iter().copied().collect();
            merged.merge(&right.iter().copied().collect());
            let all: Histogram = left.iter().chain(&right).copied().collect();
            prop_assert_eq!(merged, all);
        }

        #[test]
        fn spread_is_close_to_the_exact_one(values in proptest::collection::vec(1_u64..1 << 35, 2..200)) {
            let histogram: Histogram = values.iter().copied().collect();
            let n = values.len() as f64;
            let mean = values.iter().map(|v| *v as f64).sum::<f64>() / n;
            let exact = (values.iter().map(|v| (*v as f64 - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
            prop_assert!((histogram.mean_ns() - mean).abs() <= mean * 0.002 + 1.0);
            prop_assert!((histogram.standard_deviation_ns() - exact).abs() <= mean * 0.01 + exact * 0.01 + 1.0);
        }
    }
}
