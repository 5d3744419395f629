//! Whether response tells another story than service: the loud line of reports whose columns are
//! service times.
//!
//! Why arrivals waited is decided by what they can have waited for:
//!
//! 1. Where nothing was reached that stores data, all time is Fathom's own.
//! 2. An arrival waits for a slot only if it comes while its pool has none free. Where arrivals come evenly, their share
//!    that does is the share of the time without a free slot. If more than twice as many waited for half of the gap or
//!    longer, and more than chance makes of that, the others waited for Fathom. The slots that filled then did so
//!    because late arrivals were released in a burst.
//! 3. Where slots explain the waiting, operations that took far longer than others and held the slots for half of it
//!    name the device, and slots in use by operations of the usual length name the slots.
//! 4. A thread without a CPU sees no completion, so that what is done at once looks long and keeps its slot. Unless the
//!    slots were in use for more than twice as long as threads may have been without a CPU, the cause is not settled.
use crate::scheduled;
use crate::words::bounded;
use measure::{ExecutionTarget, LatencyFigures, RunStarted, RunTotals};
use plan::{ArrivalLaw, Load, StreamId};

/// Response p99 may exceed service p99 by this share before it is told.
pub const GAP_SHARE: f64 = 0.1;

/// It may exceed it by as many times what a wake-up takes, too: a thread that sleeps until an arrival wakes
/// late now and then.
const GAP_WAKE_UPS: u64 = 20;

/// However long wake-ups take, more than this is told: beyond it arrivals wait for more than a wake-up.
const WAKE_UPS_NS_MAX: u64 = 2_000_000;

/// An operation that takes as many times longer than others is none of the usual ones.
const LONG_FACTOR: u64 = 10;

/// The backend that reaches nothing, by its name in the record.
const NOTHING: &str = "null";

/// The one that asks a model, by its name in the record.
const SIMULATED: &str = "sim";

/// More than this many times what slots explain did not wait for slots alone.
const UNEXPLAINED_FACTOR: f64 = 2.0;

/// Slots that were in use for no more than this many times what threads may have been without a CPU were perhaps
/// only in use because nobody looked.
const OFF_CPU_FACTOR: f64 = 2.0;

/// Counts vary by their root; beyond three times that it is no chance.
const CHANCE: f64 = 3.0;

/// What arrivals waited for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GapCause {
    /// The slots of some pool were in use for this share of the run, and no operation took unusually
    /// long. Whether more slots would help, this run does not tell.
    Slots { exhausted_share: f64 },
    /// Slots were in use by operations of which the longest took this long, or at least so long.
    Device { longest_ns: u64, is_bound: bool },
    /// The submitting threads came late. Most of the arrivals that waited came while slots were free.
    Lateness { lateness_ns_p99: u64 },
    /// What is known covers no cause: the share of the run in which the slots of some pool were in use, and the one in
    /// which the submitting threads may have been without a CPU.
    Unsettled {
        exhausted_share: f64,
        off_cpu_share: f64,
    },
    /// Nothing that stores data was reached, so that nothing but Fathom itself took time.
    Overhead,
}

/// What the operations of a run come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    Device,
    /// A backend that completes everything at once.
    Nothing,
    /// Storage that a model stands for.
    Simulated,
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

impl Reach {
    /// Of the streams of a run that follow a schedule, or of all where none does.
    pub fn of(backend: &str, targets: &[ExecutionTarget], started: &RunStarted) -> Self {
        match backend {
            NOTHING => return Self::Nothing,
            SIMULATED => return Self::Simulated,
            _ => {}
        }
        // Beside others, what is not to be reached has no path.
        let has_nothing = backend.split(" + ").any(|one| one == NOTHING);
        let is_nothing = |target: &plan::TargetId| {
            let target = targets.get(target.index());
            target.is_some_and(|target| target.identity.path.is_empty())
        };
        let are_nothing = |stream: &measure::StreamInfo| stream.targets.iter().all(is_nothing);
        let is_paced = |one: &&measure::StreamInfo| one.asked_rate.is_some();
        let has_paced = started.streams.iter().any(|one| is_paced(&one));
        let streams = started.streams.iter();
        let mut such = streams.filter(|one| !has_paced || is_paced(one));
        match has_nothing && such.all(are_nothing) {
            true => Self::Nothing,
            false => Self::Device,
        }
    }
}

/// The gap of a run; `None` when there is none. Streams without a schedule have none and are left out.
pub fn response_gap(totals: &RunTotals, reach: Reach) -> Option<Gap> {
    response_gap_beside(totals, totals, reach)
}

/// The gap between the responses of a run and service times that are shown without what came back after its
/// window, or never: those of `columns`, the totals of its intervals alone.
pub fn response_gap_beside(columns: &RunTotals, totals: &RunTotals, reach: Reach) -> Option<Gap> {
    let (columns, totals) = (&*scheduled::part(columns), &*scheduled::part(totals));
    let service = columns.service(None);
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
        is_service_bound: is_beyond(service_ns_p99, columns.service_bound_ns()),
        response_ns_p99,
        is_response_bound: is_beyond(response_ns_p99, totals.response_bound_ns()),
        unsent: backlog.sum(),
        cause: match reach {
            Reach::Nothing => GapCause::Overhead,
            Reach::Device | Reach::Simulated => cause(totals, gap_ns, &lateness),
        },
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
    // What waited is sent one after the other when slots are free again, so that the gap is a little longer.
    let enough_ns = enough_ns - enough_ns / 20;
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
    let exhausted_share = totals.exhausted_share().unwrap_or(0.0);
    let off_cpu_share = off_cpu_share(totals);
    let unsettled = GapCause::Unsettled {
        exhausted_share,
        off_cpu_share,
    };
    let is_off_cpu = |looked_ns: u64| {
        looked_ns as f64 <= OFF_CPU_FACTOR * off_cpu_share * totals.length_ns as f64
    };
    match worst_pool(totals).filter(|_| !had_slots(totals, gap_ns)) {
        // Lateness is what makes the gap only where it is as long as the gap.
        None if lateness_ns_p99 >= gap_ns / 2 => GapCause::Lateness { lateness_ns_p99 },
        _ if is_unexplained(totals, gap_ns / 2) => GapCause::Lateness { lateness_ns_p99 },
        None if longest_ns < gap_ns / 2 || is_off_cpu(longest_ns) => unsettled,
        None => device,
        Some((_, exhausted_ns)) if is_off_cpu(exhausted_ns) => unsettled,
        Some((pool, _)) if is_device(totals, pool, (gap_ns, longest_ns), &service) => device,
        Some(_) => GapCause::Slots { exhausted_share },
    }
}

/// The share of the run, at most, in which a thread that submits was without a CPU: ready and waiting for one, or while
/// a hypervisor or a limit had taken them.
fn off_cpu_share(totals: &RunTotals) -> f64 {
    let workers = &totals.workers;
    let length_ns = totals.length_ns.max(1) as f64;
    let waited_ns = workers.usage.cpu_wait_ns.unwrap_or(0) as f64;
    let waited = waited_ns / f64::from(workers.workers.max(1)) / length_ns;
    let taken = [totals.stolen_share(), totals.throttled_share()];
    (waited + taken.into_iter().flatten().sum::<f64>()).min(1.0)
}

/// Whether more arrivals waited that long than can have found no free slot. Arrivals in clumps meet them
/// more often than the share of the time, and of recorded ones and of changing rates nothing is known.
fn is_unexplained(totals: &RunTotals, wait_ns: u64) -> bool {
    let started = &totals.started;
    let is_even = started.law.is_some_and(|law| law != ArrivalLaw::Spike)
        && !matches!(started.load, Load::Steps { .. });
    let (mut waited, mut explained) = (0.0, 0.0);
    for (place, stream) in totals.streams.iter().enumerate() {
        let sent = &stream.lateness.histogram;
        let unserved = &stream.unserved.histogram;
        // Among the unserved are those in flight, which no longer wait.
        let unsent = stream
            .backlog
            .min(unserved.count() - unserved.count_below(wait_ns));
        waited += (sent.count() - sent.count_below(wait_ns) + unsent) as f64;
        let arrivals = (sent.count() + stream.backlog) as f64;
        explained += arrivals * exhausted_share(totals, StreamId::at(place));
    }
    is_even && waited > UNEXPLAINED_FACTOR * explained + CHANCE * explained.sqrt()
}

/// The share of the time of a stream in which its pool may have had no free slot: the arrivals of one that
/// begins late or ends early may all fall into it.
fn exhausted_share(totals: &RunTotals, stream: StreamId) -> f64 {
    let Some(info) = totals.started.streams.get(stream.index()) else {
        return totals.exhausted_share().unwrap_or(0.0);
    };
    let Some(pool) = totals.pools.get(info.pool as usize) else {
        return 1.0;
    };
    let length_ns = totals.length_ns as f64;
    let scheduled = totals.streams[stream.index()].scheduled as f64;
    let asked_ns = info
        .asked_rate
        .filter(|_| scheduled > 0.0)
        .map_or(length_ns, |rate| scheduled / rate * 1e9);
    (pool.exhausted_ns as f64 / asked_ns.min(length_ns).max(1.0)).min(1.0)
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

    /// Response and service p99: what is an age is a lower bound, what is not known is no zero.
    pub fn texts(&self, latency: impl Fn(u64) -> String) -> [String; 2] {
        let text = |is_bound, ns: u64| bounded(is_bound, latency(ns));
        let service = self.service_ns_p99.map_or("-".to_owned(), |service_ns| {
            text(self.is_service_bound, service_ns)
        });
        [text(self.is_response_bound, self.response_ns_p99), service]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{SECOND, closed, latency, open};

    const MS: u64 = 1_000_000;

    #[test]
    fn a_gap_begins_beyond_ten_percent() {
        let of = |response_ns| {
            response_gap(&open(0, 50.0, &[MS; 50], &[response_ns; 50]), Reach::Device)
        };
        assert_eq!(response_gap(&closed(0, &[MS; 50]), Reach::Device), None);
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
            response_gap(&totals, Reach::Device)
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
        assert_eq!(response_gap(&totals, Reach::Device), None);
        totals.pools[0].exhausted_ns = SECOND / 10;
        assert!(response_gap(&totals, Reach::Device).is_some());
    }

    #[test]
    fn the_cause_is_what_arrivals_waited_for() {
        let mut totals = open(0, 500.0, &[100_000; 500], &[50 * MS; 500]);
        totals.pools[0].exhausted_ns = SECOND / 2;
        let slots = GapCause::Slots {
            exhausted_share: 0.5,
        };
        assert_eq!(response_gap(&totals, Reach::Device).unwrap().cause, slots);
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
        assert_eq!(
            response_gap(&stalled(4), Reach::Device).unwrap().cause,
            device
        );
        // With one slot many I/Os of 60 ms are a usual length, a few are not.
        let with_one_slot = |count: usize, longest_ns: u64| {
            let mut totals = stalled(0);
            let mut service = vec![20 * MS; 500];
            service[..count].fill(longest_ns);
            totals.figures[0].service = latency(&service);
            totals.figures[0].response = latency(&[500 * MS; 500]);
            totals.pools[0].slots = 1;
            totals.pools[0].exhausted_ns = SECOND;
            response_gap(&totals, Reach::Device).unwrap().cause
        };
        let is_device = |cause: GapCause| matches!(cause, GapCause::Device { .. });
        // Long ones held the slot for most of the gap, and for less than half of the time without a free one.
        assert!(is_device(with_one_slot(2, 240 * MS)));
        // They are no ten times longer than others.
        assert!(!is_device(with_one_slot(2, 190 * MS)));
        // One of eight slots does not fill the others.
        let slots = response_gap(&stalled(1), Reach::Device).unwrap().cause;
        assert!(matches!(slots, GapCause::Slots { .. }), "{slots:?}");
    }

    #[test]
    fn slots_that_nobody_looked_at_settle_no_cause() {
        let mut totals = open(0, 500.0, &[100_000; 500], &[50 * MS; 500]);
        totals.figures[0].service = latency(&[&[100_000; 496][..], &[60 * MS; 4]].concat());
        totals.streams[0].lateness = latency(&[100; 500]);
        totals.pools[0].exhausted_ns = 80 * MS;
        totals.workers.workers = 1;
        let cause = |totals: &RunTotals| response_gap(totals, Reach::Device).unwrap().cause;
        let is_device = |totals: &RunTotals| matches!(cause(totals), GapCause::Device { .. });
        let waiting = |wait_ns: u64| {
            let mut waiting = totals.clone();
            waiting.workers.usage.cpu_wait_ns = Some(wait_ns);
            waiting
        };
        assert!(is_device(&totals) && is_device(&waiting(39 * MS)));
        let unsettled = GapCause::Unsettled {
            exhausted_share: 0.08,
            off_cpu_share: 0.04,
        };
        assert_eq!(cause(&waiting(40 * MS)), unsettled);
        // Of two threads each waited half of it.
        let mut two = waiting(70 * MS);
        two.workers.workers = 2;
        assert!(is_device(&two));
        // What others take away leaves threads without a CPU, too.
        let mut stolen = totals.clone();
        stolen.host.cpu = Some(measure::CpuTimes {
            idle_ns: 1_920 * MS,
            steal_ns: 80 * MS,
            ..measure::CpuTimes::default()
        });
        assert_eq!(cause(&stolen), unsettled);
        let mut throttled = totals.clone();
        throttled.host.throttled_ns = Some(40 * MS);
        assert_eq!(cause(&throttled), unsettled);
    }

    #[test]
    fn a_gap_that_nothing_explains_has_no_cause() {
        let mut totals = open(0, 500.0, &[MS; 500], &[4 * MS; 500]);
        totals.streams[0].lateness = latency(&[20_000; 500]);
        let unsettled = GapCause::Unsettled {
            exhausted_share: 0.0,
            off_cpu_share: 0.0,
        };
        let cause = |totals: &RunTotals| response_gap(totals, Reach::Device).unwrap().cause;
        assert_eq!(cause(&totals), unsettled);
        totals.oldest_in_flight_ns = 2 * MS;
        assert!(matches!(cause(&totals), GapCause::Device { .. }));
        totals.workers.workers = 1;
        totals.workers.usage.cpu_wait_ns = Some(MS);
        assert!(matches!(cause(&totals), GapCause::Unsettled { .. }));
    }

    /// A second of a storage that answers in 30 µs, of which `waited` of 10 000 arrivals wait for 6 ms, with no
    /// slot free for `exhausted_ns`.
    fn waiting(waited: usize, exhausted_ns: u64) -> RunTotals {
        let waits = |usual_ns: u64, long_ns: u64| {
            let mut waits = vec![usual_ns; 10_000];
            waits[..waited].fill(long_ns);
            waits
        };
        let response = waits(80_000, 6 * MS);
        let mut totals = open(0, 10_000.0, &[30_000; 10_000], &response);
        totals.started.law = Some(ArrivalLaw::Exponential);
        totals.started.streams[0].asked_rate = Some(10_000.0);
        totals.streams[0].lateness = latency(&waits(50_000, 6 * MS));
        totals.pools[0].exhausted_ns = exhausted_ns;
        totals
    }

    #[test]
    fn slots_that_fill_in_a_burst_are_no_cause() {
        let cause = |totals: &RunTotals| response_gap(totals, Reach::Device).unwrap().cause;
        let late = GapCause::Lateness {
            lateness_ns_p99: waiting(1_000, 0).lateness().percentile_ns(99.0),
        };
        let is_slots = |totals: &RunTotals| matches!(cause(totals), GapCause::Slots { .. });
        // One in ten waited, and in no more than 1.2 % of the time there was nothing to wait for.
        assert_eq!(cause(&waiting(1_000, 12 * MS)), late);
        assert!(is_slots(&waiting(1_000, 90 * MS)));
        assert!(is_slots(&waiting(150, 12 * MS)));
        // A stream that has arrivals in a tenth of the time has all of them where its slots are in use.
        let mut short = waiting(1_000, 90 * MS);
        short.started.streams[0].asked_rate = Some(100_000.0);
        assert!(is_slots(&short));
        // Arrivals in clumps find slots in use more often than by the time, and so may recorded ones.
        for law in [Some(ArrivalLaw::Spike), None] {
            let mut clumps = waiting(1_000, 12 * MS);
            clumps.started.law = law;
            assert!(is_slots(&clumps), "{law:?}");
        }
        let mut steps = waiting(1_000, 12 * MS);
        steps.started.load = Load::Steps { steps: Vec::new() };
        assert!(is_slots(&steps));
    }

    #[test]
    fn what_was_never_sent_while_slots_were_free_waited_for_fathom() {
        let mut totals = waiting(0, 0);
        totals.streams[0].unserved = latency(&[SECOND / 10; 200]);
        totals.streams[0].backlog = 200;
        let cause = response_gap(&totals, Reach::Device).unwrap().cause;
        assert!(matches!(cause, GapCause::Lateness { .. }), "{cause:?}");
        totals.pools[0].exhausted_ns = SECOND / 10;
        let cause = response_gap(&totals, Reach::Device).unwrap().cause;
        assert!(matches!(cause, GapCause::Slots { .. }), "{cause:?}");
    }

    #[test]
    fn without_a_device_nothing_is_its_fault() {
        for exhausted_ns in [0, SECOND / 2] {
            let totals = waiting(1_000, exhausted_ns);
            let gap = response_gap(&totals, Reach::Nothing).unwrap();
            assert_eq!(gap.cause, GapCause::Overhead);
        }
        let mut totals = waiting(1_000, 0);
        assert_eq!(Reach::of("null", &[], &totals.started), Reach::Nothing);
        assert_eq!(Reach::of("sim", &[], &totals.started), Reach::Simulated);
        let target = |path: &str| ExecutionTarget {
            name: "target".into(),
            path: path.into(),
            bytes: 0,
            is_written: false,
            identity: measure::TargetIdentity {
                path: path.into(),
                ..measure::TargetIdentity::default()
            },
            ..ExecutionTarget::default()
        };
        let targets = [target(""), target("/dev/sdx")];
        let reach = |totals: &RunTotals| Reach::of("null + sync", &targets, &totals.started);
        assert_eq!(reach(&totals), Reach::Nothing);
        totals.started.streams[0].targets = vec![plan::TargetId(1)];
        assert_eq!(reach(&totals), Reach::Device);
        // Flat out no stream follows a schedule.
        let mut flat = closed(0, &[MS; 10]);
        assert_eq!(reach(&flat), Reach::Nothing);
        flat.started.streams[0].targets = vec![plan::TargetId(1)];
        assert_eq!(reach(&flat), Reach::Device);
    }

    #[test]
    fn arrivals_from_before_the_window_wait_for_slots_too() {
        let mut totals = open(0, 500.0, &[10 * MS; 500], &[3 * SECOND; 500]);
        totals.streams[0].lateness = latency(&[3 * SECOND; 500]);
        totals.pools[0].exhausted_ns = SECOND;
        let slots = GapCause::Slots {
            exhausted_share: 1.0,
        };
        assert_eq!(response_gap(&totals, Reach::Device).unwrap().cause, slots);
        totals.pools[0].exhausted_ns = SECOND / 3;
        let cause = response_gap(&totals, Reach::Device).unwrap().cause;
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
        assert_eq!(response_gap(&totals, Reach::Device).unwrap().cause, cause);
    }

    #[test]
    fn arrivals_that_were_never_served_make_a_gap() {
        let mut totals = open(0, 50.0, &[100; 50], &[100; 50]);
        totals.streams[0].unserved = latency(&[SECOND; 5]);
        let gap = response_gap(&totals, Reach::Device).unwrap();
        assert_eq!((gap.response_ns_p99, gap.unsent), (SECOND, 0));
        totals.streams[0].backlog = 4;
        assert_eq!(response_gap(&totals, Reach::Device).unwrap().unsent, 4);
        totals.figures.clear();
        totals.pools[0].exhausted_ns = SECOND;
        totals.oldest_in_flight_ns = SECOND;
        let gap = response_gap(&totals, Reach::Device).unwrap();
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
        let cause = response_gap(&totals, Reach::Device).unwrap().cause;
        assert!(matches!(cause, GapCause::Slots { .. }), "{cause:?}");
    }

    #[test]
    fn what_never_came_back_is_the_cause_and_makes_a_bound() {
        let mut totals = open(0, 500.0, &[40 * MS; 500], &[400 * MS; 500]);
        totals.streams[0].lateness = latency(&[100; 500]);
        totals.pools[0].exhausted_ns = SECOND;
        let cause = response_gap(&totals, Reach::Device).unwrap().cause;
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
        let gap = response_gap(&totals, Reach::Device).unwrap();
        assert!(gap.is_service_bound && gap.is_response_bound, "{gap:?}");
        assert!(
            matches!(gap.cause, GapCause::Device { longest_ns, is_bound: true } if longest_ns == 300 * MS),
            "{gap:?}"
        );
    }
}
