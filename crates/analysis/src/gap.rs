//! Whether response tells another story than service: the loud line of reports whose columns are
//! service times.
use measure::RunTotals;

/// Response p99 may exceed service p99 by this share before it is told.
pub const GAP_SHARE: f64 = 0.1;

/// Response p99 is more than [`GAP_SHARE`] above service p99.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    pub service_ns_p99: u64,
    /// With the ages of arrivals that were still unserved at the end.
    pub response_ns_p99: u64,
    /// How many those were.
    pub unserved: u64,
}

/// The gap of a run; `None` when there is none.
pub fn response_gap(totals: &RunTotals) -> Option<Gap> {
    let service_ns_p99 = totals.service(None).percentile_ns(99.0);
    let response_ns_p99 = totals.response(None).percentile_ns(99.0);
    let counts = totals
        .streams
        .iter()
        .map(|stream| stream.unserved.histogram.count());
    (response_ns_p99 as f64 > service_ns_p99 as f64 * (1.0 + GAP_SHARE)).then(|| Gap {
        service_ns_p99,
        response_ns_p99,
        unserved: counts.sum(),
    })
}

impl Gap {
    /// Response over service; `None` when nothing was served.
    pub fn ratio(&self) -> Option<f64> {
        (self.service_ns_p99 > 0).then(|| self.response_ns_p99 as f64 / self.service_ns_p99 as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{SECOND, closed, latency, open};

    #[test]
    fn a_gap_begins_beyond_ten_percent() {
        assert_eq!(response_gap(&closed(0, &[100; 50])), None);
        assert_eq!(response_gap(&open(0, 50.0, &[100; 50], &[110; 50])), None);
        let gap = response_gap(&open(0, 50.0, &[100; 50], &[150; 50])).unwrap();
        assert_eq!(
            (gap.service_ns_p99, gap.response_ns_p99, gap.unserved),
            (100, 150, 0)
        );
        assert_eq!(gap.ratio(), Some(1.5));
    }

    #[test]
    fn arrivals_that_were_never_served_make_a_gap() {
        let mut totals = open(0, 50.0, &[100; 50], &[100; 50]);
        totals.streams[0].unserved = latency(&[SECOND; 5]);
        let gap = response_gap(&totals).unwrap();
        assert_eq!((gap.response_ns_p99, gap.unserved), (SECOND, 5));
        totals.figures.clear();
        assert_eq!(response_gap(&totals).unwrap().ratio(), None);
    }
}
