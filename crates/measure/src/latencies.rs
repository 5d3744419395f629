//! Values of one latency: their sum, the largest, and a histogram of them.
use crate::histogram::{Histogram, HistogramBuilder};
use serde::{Deserialize, Serialize};

/// Values of one latency.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyFigures {
    /// Stays at its largest value once it gets there: 584 years of waiting.
    pub sum_ns: u64,
    /// Exact.
    pub max_ns: u64,
    pub histogram: Histogram,
}

/// Adds many of them up.
#[derive(Debug, Default)]
pub(crate) struct Latencies {
    sum_ns: u64,
    max_ns: u64,
    pub(crate) histogram: HistogramBuilder,
}

impl Latencies {
    pub(crate) fn add(&mut self, figures: &LatencyFigures) {
        self.sum_ns = self.sum_ns.saturating_add(figures.sum_ns);
        self.max_ns = self.max_ns.max(figures.max_ns);
        self.histogram.add(&figures.histogram);
    }

    pub(crate) fn figures(&self) -> LatencyFigures {
        LatencyFigures {
            sum_ns: self.sum_ns,
            max_ns: self.max_ns,
            histogram: self.histogram.build(),
        }
    }
}

impl LatencyFigures {
    /// Of these values.
    pub fn of(values_ns: &[u64]) -> Self {
        Self {
            sum_ns: values_ns
                .iter()
                .fold(0, |sum, one| sum.saturating_add(*one)),
            max_ns: values_ns.iter().copied().max().unwrap_or(0),
            histogram: values_ns.iter().copied().collect(),
        }
    }

    /// All of these together.
    pub fn sum<'a>(parts: impl Iterator<Item = &'a LatencyFigures>) -> Self {
        let mut all = Latencies::default();
        parts.for_each(|part| all.add(part));
        all.figures()
    }

    /// Adds other values.
    pub fn merge(&mut self, other: &LatencyFigures) {
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.histogram.merge(&other.histogram);
    }

    /// Mean in nanoseconds; zero when empty. From the histogram where the sum has run into its limit.
    pub fn mean_ns(&self) -> f64 {
        match self.histogram.count() {
            0 => 0.0,
            _ if self.sum_ns == u64::MAX => self.histogram.mean_ns(),
            count => self.sum_ns as f64 / count as f64,
        }
    }

    /// A percentile (0 to 100), never above the exact maximum.
    pub fn percentile_ns(&self, percentile: f64) -> u64 {
        self.histogram
            .quantile_ns(percentile / 100.0)
            .min(self.max_ns)
    }

    /// The percentiles that are kept beside histograms: p50, p90, p99 and p99.9.
    pub fn kept_percentiles_ns(&self) -> Option<[u64; 4]> {
        let is_empty = self.histogram.is_empty();
        (!is_empty).then(|| [50.0, 90.0, 99.0, 99.9].map(|percent| self.percentile_ns(percent)))
    }
}
