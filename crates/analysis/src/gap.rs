//! Whether response tells another story than service: the loud line of reports whose columns are
//! service times.
use measure::{LatencyFigures, RunTotals};

/// Response p99 may exceed service p99 by this share before it is told.
pub const GAP_SHARE: f64 = 0.1;

/// It may exceed it by as many times what a wake-up takes, too: a thread that sleeps until an arrival wakes
/// late now and then.
const GAP_WAKE_UPS: u64 = 20;

/// However long wake-ups take, more than this is told: beyond it arrivals wait for more than a wake-up.
const WAKE_UPS_NS_MAX: u64 = 2_000_000;

/// An operation that takes as many times longer than others is none of the usual ones.
const LONG_FACTOR: u64 = 10;

/// What arrivals waited for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GapCause {
    /// The slots of some pool were in use for this share of the run, and no operation took unusually
    /// long. Whether more slots would help, this run does not tell.
    Slots { exhausted_share: f64 },
    /// Slots were in use by operations of which the longest took this long, or at least so long.
    Device { longest_ns: u64, is_bound: bool },
    /// Slots were free: the submitting threads came late.
    Lateness { lateness_ns_p99: u64 },
}

/// Response p99 is further above service p99 than [`GAP_SHARE`] and wake-ups explain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gap {
    /// `None` where nothing is known of any service time.
    pub service_ns_p99: Option<u64>,
    /// Whether it is a lower bound, as something never came back.
    pub is_service_bound: bool,
    /// With the ages of arrivals that were still unserved at the end.
    pub response_ns_p99: u64,
    /// The same.
    pub is_response_bound: bool,
    /// Arrivals that were due and never sent.
    pub unsent: u64,
    pub cause: GapCause,
}

/// The gap of a run; `None` when there is none.
pub fn response_gap(totals: &RunTotals) -> Option<Gap> {
    let service = totals.service(None);
    let service_ns_p99 = service.percentile_ns(99.0);
    let response_ns_p99 = totals.response(None).percentile_ns(99.0);
    let gap_ns = response_ns_p99.saturating_sub(service_ns_p99);
    let lateness = totals.lateness();
    let is_gap = gap_ns as f64 > service_ns_p99 as f64 * GAP_SHARE
        && gap_ns > wake_ups_ns(&lateness, had_slots(totals, gap_ns));
    let backlog = totals.streams.iter().map(|stream| stream.backlog);
    let is_beyond =
        |value_ns: u64, bound_ns: Option<u64>| bound_ns.is_some_and(|at| value_ns >= at);
    is_gap.then(|| Gap {
        service_ns_p99: (!service.histogram.is_empty()).then_some(service_ns_p99),
        is_service_bound: is_beyond(service_ns_p99, totals.service_bound_ns()),
        response_ns_p99,
        is_response_bound: is_beyond(response_ns_p99, totals.response_bound_ns()),
        unsent: backlog.sum(),
        cause: cause(totals, gap_ns, &lateness),
    })
}

/// Most arrivals wait for a wake-up alone, so that the median of lateness measures it. Where slots were free all
/// arrivals did, and its p99 measures the late ones among them.
fn wake_ups_ns(lateness: &LatencyFigures, had_slots: bool) -> u64 {
    let usual_ns = lateness.percentile_ns(50.0).saturating_mul(GAP_WAKE_UPS);
    let late_ns = lateness.percentile_ns(99.0).saturating_mul(2);
    let wake_ups_ns = if had_slots {
        usual_ns.max(late_ns)
    } else {
        usual_ns
    };
    wake_ups_ns.min(WAKE_UPS_NS_MAX)
}

/// Whether the time without a free slot is too short to explain the gap. Arrivals that wait since before
/// the window are older than it, so that half of the window explains any gap.
fn had_slots(totals: &RunTotals, gap_ns: u64) -> bool {
    let enough_ns = gap_ns.min(totals.length_ns / 2);
    worst_pool(totals).is_none_or(|(_, exhausted_ns)| exhausted_ns < enough_ns)
}

/// The pool that was without a free slot for longest, and how long.
fn worst_pool(totals: &RunTotals) -> Option<(usize, u64)> {
    let exhausted = totals.pools.iter().map(|pool| pool.exhausted_ns);
    exhausted
        .enumerate()
        .max_by_key(|(_, exhausted_ns)| *exhausted_ns)
}

fn cause(totals: &RunTotals, gap_ns: u64, lateness: &LatencyFigures) -> GapCause {
    let lateness_ns_p99 = lateness.percentile_ns(99.0);
    let service = totals.service(None);
    // What was out at the end and came back soon after has no service time; its age tells.
    let longest_ns = service.max_ns.max(totals.oldest_in_flight_ns);
    let device = GapCause::Device {
        longest_ns,
        is_bound: longest_ns > service.max_ns
            || totals.service_bound_ns().is_some_and(|at| longest_ns >= at),
    };
    match worst_pool(totals).filter(|_| !had_slots(totals, gap_ns)) {
        // Lateness is what makes the gap only where it is as long as the gap.
        None if lateness_ns_p99 >= gap_ns / 2 => GapCause::Lateness { lateness_ns_p99 },
        None => device,
        Some((pool, _)) if is_device(totals, pool, (gap_ns, longest_ns), &service) => device,
        Some(_) => GapCause::Slots {
            exhausted_share: totals.exhausted_share().unwrap_or(0.0),
        },
    }
}

/// Whether the slots of a pool were taken by operations that took far longer than others, as in a
/// stall, and not by many of the usual length.
fn is_device(
    totals: &RunTotals,
    pool: usize,
    (gap_ns, longest_ns): (u64, u64),
    service: &LatencyFigures,
) -> bool {
    // What hung until the end or beyond may be all that there is; nothing else would be usual.
    let out = totals.unreturned.iter().chain(&totals.late);
    let hangs = out.map(|one| one.service_ns).max() == Some(longest_ns);
    let is_beyond =
        |percent| longest_ns >= service.percentile_ns(percent).saturating_mul(LONG_FACTOR);
    let is_still_out = longest_ns > service.max_ns;
    let held_ns = held_ns(totals, pool, longest_ns / 4);
    // Where few were long they need not have held the slots for most of the time without a free one:
    // with few slots that is much, and short.
    let are_few = is_beyond(99.0) && held_ns >= gap_ns / 2;
    let held_slots = is_beyond(50.0) && held_ns >= totals.pools[pool].exhausted_ns / 2;
    let is_long = hangs || (is_still_out && is_beyond(50.0)) || are_few || held_slots;
    longest_ns >= gap_ns / 2 && is_long
}

/// For how long operations that took `least_ns` or more would have held all slots of a pool.
fn held_ns(totals: &RunTotals, pool: usize, least_ns: u64) -> u64 {
    let streams = &totals.started.streams;
    let is_mine = |figure: &&measure::Figure| {
        let stream = streams.get(figure.key.stream.index());
        stream.is_none_or(|stream| stream.pool as usize == pool)
    };
    let long_ns: u64 = totals
        .figures
        .iter()
        .filter(is_mine)
        .flat_map(|figure| figure.service.histogram.buckets())
        .map(|bucket| {
            (
                measure::bucket_bounds(bucket.index as usize).0,
                bucket.count,
            )
        })
        .filter(|(from_ns, _)| *from_ns >= least_ns)
        .map(|(from_ns, count)| from_ns.saturating_mul(count))
        .fold(0, u64::saturating_add);
    let slots = totals.pools[pool].slots.max(1);
    long_ns / u64::from(slots)
}

impl Gap {
    /// Response over service; `None` when nothing was served.
    pub fn ratio(&self) -> Option<f64> {
        let service_ns_p99 = self.service_ns_p99.filter(|service_ns| *service_ns > 0)?;
        Some(self.response_ns_p99 as f64 / service_ns_p99 as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{SECOND, closed, latency, open};

    const MS: u64 = 1_000_000;

    #[test]
    fn a_gap_begins_beyond_ten_percent() {
        let of = |response_ns| response_gap(&open(0, 50.0, &[MS; 50], &[response_ns; 50]));
        assert_eq!(response_gap(&closed(0, &[MS; 50])), None);
        assert_eq!(of(MS + MS / 10), None);
        let gap = of(MS + MS / 2).unwrap();
        assert_eq!(
            (gap.service_ns_p99, gap.response_ns_p99, gap.unsent),
            (Some(MS), MS + MS / 2, 0)
        );
        assert_eq!(gap.ratio(), Some(1.5));
    }

    #[test]
    fn what_wake_ups_explain_is_no_gap() {
        // A device of 5 µs, an arrival each 2 ms, and threads that wake 60 µs late.
        let of = |response_ns, wake_ns| {
            let mut totals = open(0, 500.0, &[5_000; 500], &[response_ns; 500]);
            totals.streams[0].lateness = latency(&[wake_ns; 500]);
            response_gap(&totals)
        };
        assert_eq!(of(900_000, 60_000), None);
        assert!(of(1_400_000, 60_000).is_some());
        let lateness_ns_p99 = 3 * MS;
        let gap = of(3 * MS, lateness_ns_p99).unwrap();
        assert_eq!(gap.cause, GapCause::Lateness { lateness_ns_p99 });
        // Where every arrival is seconds late, no wake-up explains it.
        assert!(of(3 * SECOND, 3 * SECOND).is_some());
        assert_eq!(of(1_900_000, SECOND), None);
    }

    #[test]
    fn late_wake_ups_are_no_gap_while_slots_are_free() {
        // A busy machine: one wake-up in twenty takes a millisecond.
        let mut totals = open(0, 500.0, &[5_000; 500], &[1_200_000; 500]);
        let wakes: Vec<u64> = (0..500)
            .map(|n| if n % 20 == 0 { MS } else { 20_000 })
            .collect();
        totals.streams[0].lateness = latency(&wakes);
        assert_eq!(response_gap(&totals), None);
        totals.pools[0].exhausted_ns = SECOND / 10;
        assert!(response_gap(&totals).is_some());
    }

    #[test]
    fn the_cause_is_what_arrivals_waited_for() {
        let mut totals = open(0, 500.0, &[100_000; 500], &[50 * MS; 500]);
        totals.pools[0].exhausted_ns = SECOND / 2;
        let slots = GapCause::Slots {
            exhausted_share: 0.5,
        };
        assert_eq!(response_gap(&totals).unwrap().cause, slots);
        let stalled = |stuck: usize| {
            let mut service = vec![100_000; 500];
            service[..stuck].fill(60 * MS);
            let mut stalled = open(0, 500.0, &service, &[50 * MS; 500]);
            stalled.streams[0].lateness = latency(&[100; 500]);
            stalled.pools[0].exhausted_ns = 55 * MS;
            stalled
        };
        let device = GapCause::Device {
            longest_ns: 60 * MS,
            is_bound: false,
        };
        assert_eq!(response_gap(&stalled(4)).unwrap().cause, device);
        // One of eight slots does not fill the others.
        let slots = response_gap(&stalled(1)).unwrap().cause;
        assert!(matches!(slots, GapCause::Slots { .. }), "{slots:?}");
    }

    #[test]
    fn arrivals_from_before_the_window_wait_for_slots_too() {
        let mut totals = open(0, 500.0, &[10 * MS; 500], &[3 * SECOND; 500]);
        totals.streams[0].lateness = latency(&[3 * SECOND; 500]);
        totals.pools[0].exhausted_ns = SECOND;
        let slots = GapCause::Slots {
            exhausted_share: 1.0,
        };
        assert_eq!(response_gap(&totals).unwrap().cause, slots);
        totals.pools[0].exhausted_ns = SECOND / 3;
        let cause = response_gap(&totals).unwrap().cause;
        assert!(matches!(cause, GapCause::Lateness { .. }), "{cause:?}");
    }

    #[test]
    fn what_is_not_late_was_not_sent_late() {
        // Out when the window ended, and back soon after: in no service time.
        let mut totals = open(0, 50.0, &[100_000; 50], &[100_000; 50]);
        totals.streams[0].unserved = latency(&[SECOND; 5]);
        totals.oldest_in_flight_ns = SECOND;
        let cause = GapCause::Device {
            longest_ns: SECOND,
            is_bound: true,
        };
        assert_eq!(response_gap(&totals).unwrap().cause, cause);
    }

    #[test]
    fn arrivals_that_were_never_served_make_a_gap() {
        let mut totals = open(0, 50.0, &[100; 50], &[100; 50]);
        totals.streams[0].unserved = latency(&[SECOND; 5]);
        let gap = response_gap(&totals).unwrap();
        assert_eq!((gap.response_ns_p99, gap.unsent), (SECOND, 0));
        totals.streams[0].backlog = 4;
        assert_eq!(response_gap(&totals).unwrap().unsent, 4);
        totals.figures.clear();
        totals.pools[0].exhausted_ns = SECOND;
        totals.oldest_in_flight_ns = SECOND;
        let gap = response_gap(&totals).unwrap();
        assert_eq!((gap.ratio(), gap.service_ns_p99), (None, None));
        let oldest = GapCause::Device {
            longest_ns: SECOND,
            is_bound: true,
        };
        assert_eq!(gap.cause, oldest);
    }

    #[test]
    fn the_pool_that_was_without_slots_for_longest_tells_the_cause() {
        let mut totals = open(0, 500.0, &[100_000; 500], &[50 * MS; 500]);
        totals.streams[0].lateness = latency(&[100; 500]);
        totals.pools[0].exhausted_ns = SECOND / 2;
        let mut idle = totals.pools[0];
        idle.exhausted_ns = 0;
        totals.pools.push(idle);
        let cause = response_gap(&totals).unwrap().cause;
        assert!(matches!(cause, GapCause::Slots { .. }), "{cause:?}");
    }

    #[test]
    fn what_never_came_back_is_the_cause_and_makes_a_bound() {
        let mut totals = open(0, 500.0, &[40 * MS; 500], &[400 * MS; 500]);
        totals.streams[0].lateness = latency(&[100; 500]);
        totals.pools[0].exhausted_ns = SECOND;
        let cause = response_gap(&totals).unwrap().cause;
        assert!(matches!(cause, GapCause::Slots { .. }), "{cause:?}");
        // In the latencies it is one of many, of which none is ten times longer than the others.
        let key = totals.figures[0].key;
        totals.figures[0].service = latency(&[&[40 * MS; 480][..], &[300 * MS; 20]].concat());
        totals.unreturned = vec![measure::Unreturned {
            key,
            service_ns: 300 * MS,
            response_ns: 400 * MS,
        }];
        totals.figures[0].service.max_ns = 300 * MS;
        let gap = response_gap(&totals).unwrap();
        assert!(gap.is_service_bound && gap.is_response_bound, "{gap:?}");
        assert!(
            matches!(gap.cause, GapCause::Device { longest_ns, is_bound: true } if longest_ns == 300 * MS),
            "{gap:?}"
        );
    }
}
