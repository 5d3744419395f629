//! How long a worker sleeps that has nothing in flight and waits for arrivals.

/// Wake-ups are so far apart at least, so that close arrivals share one. A wake-up costs 8 to 16 µs of
/// CPU and comes 15 to 20 µs late by itself; this adds about as much again to the lateness of dense
/// schedules and halves their cost.
pub(crate) const APART_NS: u64 = 50_000;

/// Where arrivals come about as far apart as that, wake-ups come this many of their gaps apart, and
/// so far at most: nearly two share one. Two exactly would make every second one late by a whole gap.
const SHARED_GAPS: f64 = 1.8;
const APART_NS_MAX: f64 = 90_000.0;
const GAP_NS_MAX: f64 = 60_000.0;

/// Until when a worker last slept for want of arrivals.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    until_ns: u64,
}

impl Rest {
    /// When to wake for an arrival at `due_ns`, not before `apart_ns` have passed since the wake-up
    /// before, but always by `limit_ns`.
    pub(crate) fn end_ns(&mut self, due_ns: u64, apart_ns: u64, limit_ns: u64) -> u64 {
        self.until_ns = due_ns.max(self.until_ns + apart_ns).min(limit_ns);
        self.until_ns
    }
}

/// How far apart wake-ups are, by the mean gap between arrivals.
pub(crate) fn apart_ns(gap_ns: f64) -> u64 {
    if gap_ns > GAP_NS_MAX {
        return APART_NS;
    }
    (SHARED_GAPS * gap_ns).clamp(APART_NS as f64, APART_NS_MAX) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000;

    #[test]
    fn close_arrivals_share_a_wake_up_and_distant_ones_are_met() {
        let mut rest = Rest::default();
        let limit_ns = u64::MAX;
        let ends = [100, 120, 130, 400, 449].map(|due| rest.end_ns(due * US, 50 * US, limit_ns));
        assert_eq!(ends, [100, 150, 200, 400, 450].map(|at| at * US));
    }

    #[test]
    fn looks_on_the_way_to_an_arrival_do_not_put_it_off() {
        let mut rest = Rest::default();
        let (due_ns, look_ns) = (1_000_000 * US, 100_000 * US);
        let mut now_ns = 0;
        for _ in 0..10 {
            now_ns = rest.end_ns(due_ns, 50 * US, now_ns + look_ns);
        }
        assert_eq!(now_ns, due_ns);
    }

    #[test]
    fn wake_ups_are_farther_apart_where_that_saves_half_of_them() {
        let apart = [1e6, 61e3, 60e3, 50e3, 40e3, 20e3, 1.0, f64::INFINITY].map(apart_ns);
        let expected = [50, 50, 90, 90, 72, 50, 50, 50].map(|us| us * US);
        assert_eq!(apart, expected);
    }
}
