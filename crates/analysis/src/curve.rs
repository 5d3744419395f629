//! What one run says as a point of a curve, and what the points say together: the knee, and the
//! highest rate under a latency limit.
use crate::gap::{GapCause, Reach, response_gap};
use crate::scheduled;
use measure::{LatencyFigures, RunTotals};
use plan::ArrivalLaw;

/// The share of the time without a free slot from which on slots count as exhausted. An arrival at
/// a random time meets that state with this probability, so beyond 1 % the p99 of the response
/// holds waiting for slots.
pub const EXHAUSTED_SHARE: f64 = 0.01;

/// A submission up to this late is within what timers of an ordinary kernel do.
pub const LATE_NS_LEAST: u64 = 100_000;

/// A submission later than this share of response p99, the percentile that is given, changes what is measured.
pub const LATE_RESPONSE_SHARE: f64 = 0.1;

/// Completions may fall short of the arrivals of the schedule by this share.
pub const MISSED_SHARE: f64 = 0.005;

/// From this share of a response p99 on, lateness of submission makes it a figure of this machine.
const OWN_LATENESS_SHARE: f64 = 0.5;

/// The same of processor time that a hypervisor took, and of the window in which a control group was
/// throttled.
pub(crate) const STOLEN_SHARE: f64 = 0.01;
pub(crate) const THROTTLED_SHARE: f64 = 0.001;

/// And of the time of workers, that in which they were ready and had no CPU: more than a fifth of it was seen on an idle
/// virtual machine of two CPUs with 32 threads, whose wake-ups take that long.
const WAITED_SHARE: f64 = 0.25;

/// The same where the CPUs of the host were in use for nearly all of the time, so that it was no wake-up.
const WAITED_BUSY_SHARE: f64 = 0.1;
const BUSY_SHARE: f64 = 0.9;

/// A wake-up takes some of it on an idle machine too: so much of each time that a worker gets a CPU says nothing.
const WAKE_UP_NS: u64 = 20_000;

/// A percentile of fewer values is a guess: p99 of 100 values is the largest but one.
pub(crate) const SAMPLES_FOR_KNEE: u64 = 100;

pub(crate) const KNEE_POINTS_LEAST: usize = 4;

/// How far the curve must bend for a knee, where 1 is a right angle.
const KNEE_BEND_LEAST: f64 = 0.1;

/// One run as a point: rates per second, times in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct CurvePoint {
    pub run: u32,
    pub name: String,
    /// `None` when flat out.
    pub asked_per_s: Option<f64>,
    pub achieved_per_s: f64,
    pub bytes_per_s: f64,
    pub operations: u64,
    pub response: Percentiles,
    pub service_ns_mean: f64,
    pub service_ns_p99: u64,
    /// Service times of syncs (fsync and its like), and how many of them ended per second.
    pub syncs: Percentiles,
    pub syncs_per_s: f64,
    /// Whether any service time is known, if only as an age.
    pub has_service: bool,
    /// From which value on response and service times are lower bounds, where some are.
    pub response_bound_ns: Option<u64>,
    pub service_bound_ns: Option<u64>,
    pub slots: u32,
    /// `None` where no interval tells.
    pub slots_busy: Option<f64>,
    pub exhausted: Exhausted,
    /// `None` in a closed loop, which has no schedule.
    pub schedule: Option<ScheduleCheck>,
    /// `None` in a closed loop, and when nothing was submitted.
    pub late: Option<Late>,
    /// What was measured is this machine: submissions came late while slots were free, its
    /// processors were taken away, or, which [`point`] cannot tell, nothing that stores data was reached.
    pub is_generator_bound: bool,
    /// Of these, that submissions came late.
    pub is_sent_late: bool,
    /// A stall was found in its intervals; totals alone do not tell, so [`point`] says no.
    pub is_stalled: bool,
    /// `None` where the host does not tell, or nothing succeeded.
    pub host_cpu_ns_per_operation: Option<f64>,
    pub fathom_cpu_ns_per_operation: Option<f64>,
}

/// Percentiles of a latency in nanoseconds, by the upper bounds of histogram buckets (0.4 %), and
/// the exact maximum. `None` without a value, and where an import does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Percentiles {
    pub samples: u64,
    pub p50: Option<u64>,
    pub p90: Option<u64>,
    pub p99: Option<u64>,
    pub p99_9: Option<u64>,
    /// Zero without a value.
    pub max: u64,
}

/// Whether arrivals found no free slot, in the pool that had none for longest. Where some jobs follow a
/// schedule, of those.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exhausted {
    /// Share of the time in which it had none, 0 to 1.
    pub share: f64,
    /// Of its slots, those in use on average.
    pub busy: f64,
    pub slots: u32,
    /// Only with a schedule: a closed loop keeps all its slots busy by design.
    pub is_exhausted: bool,
    /// Besides, the rate was missed, and not because arrivals were sent late while slots were free. A rate
    /// that is held has slots enough.
    pub is_sign: bool,
}

/// Completions against the schedule over the measured intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScheduleCheck {
    /// Arrivals of the schedule; from the asked rate where the record has no counts.
    pub scheduled: u64,
    /// Operations that came back, failed ones too.
    pub completed: u64,
    /// By how many they may fall short.
    pub allowance: f64,
    pub is_missed: bool,
}

/// Submissions after their intended time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Late {
    /// What counts as late: the larger of [`LATE_NS_LEAST`] and [`LATE_RESPONSE_SHARE`] of response p99.
    pub limit_ns: u64,
    /// Share of submissions, 0 to 1.
    pub share: f64,
    /// The same of those that found a free slot, as a share of all; `None` where nobody told.
    pub free_share: Option<f64>,
}

/// Where latency begins to rise faster than the rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knee {
    /// Place in the points that were given.
    pub point: usize,
    /// Distance from the chord on axes scaled to 1, 0 to 1.
    pub bend: f64,
}

/// Points of runs in their order.
pub fn curve(runs: &[RunTotals]) -> Vec<CurvePoint> {
    runs.iter().map(point).collect()
}

/// One run as a point.
pub fn point(totals: &RunTotals) -> CurvePoint {
    let started = &totals.started;
    let service = totals.service(None);
    let scheduled = &*scheduled::part(totals);
    let schedule = schedule_check(scheduled);
    let exhausted = exhausted(scheduled, schedule);
    let response_ns_p99 = scheduled.response(None).percentile_ns(99.0);
    let is_sent_late = !exhausted.is_exhausted && is_own_lateness(scheduled, response_ns_p99);
    let response = Percentiles::of(&totals.response(None), totals);
    let syncs = Percentiles::of(&totals.syncs(), totals);
    CurvePoint {
        run: started.run,
        name: started.name.clone(),
        asked_per_s: started.asked_rate,
        achieved_per_s: totals.rate(),
        bytes_per_s: totals.bytes_per_second(),
        operations: totals.operations(),
        response,
        service_ns_mean: service.mean_ns(),
        service_ns_p99: service.percentile_ns(99.0),
        syncs_per_s: match totals.length_ns {
            0 => 0.0,
            length_ns => syncs.samples as f64 * 1e9 / length_ns as f64,
        },
        syncs,
        has_service: !service.histogram.is_empty(),
        response_bound_ns: totals.response_bound_ns(),
        service_bound_ns: totals.service_bound_ns(),
        slots: totals.slots(),
        slots_busy: totals.slots_busy(),
        exhausted,
        schedule,
        late: late(scheduled, response_ns_p99),
        is_generator_bound: is_machine_taken(totals) || is_sent_late,
        is_sent_late,
        is_stalled: false,
        host_cpu_ns_per_operation: totals.host_cpu_ns_per_operation(),
        fathom_cpu_ns_per_operation: totals.fathom_cpu_ns_per_operation(),
    }
}

/// The knee of rate against response p99: of the points that [`CurvePoint::shows_the_storage`], the one
/// farthest below the chord from the first to the last, on axes scaled to 1 (Satopää and others,
/// "Finding a Kneedle in a Haystack", 2011). `None` for fewer than four such points, and when they lie
/// about on a line. Which point it is depends on where the first and the last one lie.
pub fn knee(points: &[CurvePoint]) -> Option<Knee> {
    let mut by_rate: Vec<(usize, f64, f64)> = points
        .iter()
        .enumerate()
        .filter(|(_, point)| {
            point.response.samples >= SAMPLES_FOR_KNEE && point.shows_the_storage()
        })
        .filter_map(|(place, point)| {
            Some((place, point.achieved_per_s, point.response.p99? as f64))
        })
        .collect();
    if by_rate.len() < KNEE_POINTS_LEAST {
        return None;
    }
    by_rate.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (first, last) = (by_rate[0], by_rate[by_rate.len() - 1]);
    let (width, height) = (last.1 - first.1, last.2 - first.2);
    if width <= 0.0 || height <= 0.0 {
        return None;
    }
    by_rate
        .iter()
        .map(|(place, rate, latency)| Knee {
            point: *place,
            bend: (rate - first.1) / width - (latency - first.2) / height,
        })
        .filter(|knee| knee.bend >= KNEE_BEND_LEAST)
        .max_by(|a, b| a.bend.total_cmp(&b.bend))
}

/// The place of the point with the highest achieved rate whose response p99 is at most `limit_ns`.
/// Points with fewer than 100 values do not count, nor do those that missed their schedule: their
/// latency grows for as long as they last.
pub fn highest_rate_under(points: &[CurvePoint], limit_ns: u64) -> Option<usize> {
    points
        .iter()
        .enumerate()
        .filter(|(_, point)| point.response.samples >= SAMPLES_FOR_KNEE)
        .filter(|(_, point)| !point.is_missed())
        .filter(|(_, point)| point.response.p99.is_some_and(|p99| p99 <= limit_ns))
        .max_by(|a, b| a.1.achieved_per_s.total_cmp(&b.1.achieved_per_s))
        .map(|(place, _)| place)
}

impl CurvePoint {
    /// Completions fell short of the arrivals of the schedule.
    pub fn is_missed(&self) -> bool {
        self.schedule.is_some_and(|check| check.is_missed)
    }

    /// Whether its latency is what the storage answers in at its rate: it held a rate that was asked
    /// of it, with slots free, without a stall, and sent in time.
    pub fn shows_the_storage(&self) -> bool {
        self.schedule.is_some()
            && !self.is_missed()
            && !self.exhausted.is_exhausted
            && !self.is_stalled
            && !self.is_generator_bound
    }
}

impl Percentiles {
    /// Of I/Os of this run.
    pub fn of(figures: &LatencyFigures, totals: &RunTotals) -> Self {
        let at = |percentile: f64| {
            let is_known = !figures.histogram.is_empty() && totals.has_percentile(percentile);
            is_known.then(|| figures.percentile_ns(percentile))
        };
        Self {
            samples: figures.histogram.count(),
            p50: at(50.0),
            p90: at(90.0),
            p99: at(99.0),
            p99_9: at(99.9),
            max: figures.max_ns,
        }
    }
}

/// The totals are of what follows a schedule, where something does.
fn exhausted(totals: &RunTotals, schedule: Option<ScheduleCheck>) -> Exhausted {
    let share = totals.exhausted_share().unwrap_or(0.0);
    let is_exhausted = totals.started.is_open_loop && share > EXHAUSTED_SHARE;
    let is_missed = schedule.is_some_and(|check| check.is_missed);
    let is_late = || {
        let gap = response_gap(totals, Reach::Device);
        gap.is_some_and(|gap| matches!(gap.cause, GapCause::Lateness { .. }))
    };
    let worst = totals
        .pools
        .iter()
        .max_by_key(|pool| (pool.exhausted_ns, pool.busy_ns));
    let over_time = |busy_ns: u64| busy_ns as f64 / totals.length_ns.max(1) as f64;
    Exhausted {
        share,
        busy: worst.map_or(0.0, |pool| over_time(pool.busy_ns)),
        slots: worst.map_or(0, |pool| pool.slots),
        is_exhausted,
        is_sign: is_exhausted && is_missed && !is_late(),
    }
}

fn schedule_check(totals: &RunTotals) -> Option<ScheduleCheck> {
    if !totals.started.is_open_loop {
        return None;
    }
    // Counts of a part of the time would hide any shortfall.
    let is_counted = totals.lost.arrivals.intervals == 0;
    if !is_counted && totals.started.asked_rate.is_none() {
        return None;
    }
    let counted = totals.streams.iter().filter(|_| is_counted);
    let counted: u64 = counted.map(|stream| stream.scheduled).sum();
    let completed = totals.operations() + totals.errors();
    // What is in flight when the window ends is not missing, and no more than the slots are.
    let in_flight = f64::from(totals.slots());
    let (scheduled, allowance) = match (counted, totals.started.asked_rate) {
        (0, Some(asked)) => {
            let expected = asked * totals.length_ns as f64 / 1e9;
            // Arrivals that nobody counted may have been fewer by chance: a Poisson count has the
            // standard deviation √n. A record that does not tell its law is allowed the most.
            let scatters = totals.started.law.is_none_or(ArrivalLaw::scatters);
            let chance = if scatters { 3.0 * expected.sqrt() } else { 0.0 };
            (expected.round() as u64, in_flight.max(chance))
        }
        _ => (counted, in_flight),
    };
    let allowance = allowance.max(MISSED_SHARE * scheduled as f64);
    let shortfall = scheduled.saturating_sub(completed) as f64;
    Some(ScheduleCheck {
        scheduled,
        completed,
        allowance,
        is_missed: shortfall > allowance,
    })
}

pub(crate) fn is_machine_taken(totals: &RunTotals) -> bool {
    let is_beyond = |share: Option<f64>, limit: f64| share.is_some_and(|share| share > limit);
    is_beyond(totals.stolen_share(), STOLEN_SHARE)
        || is_beyond(totals.throttled_share(), THROTTLED_SHARE)
        || is_without_cpu(totals)
}

/// Whether the CPUs of the host were in use for nearly all of the time that a hypervisor left them.
pub(crate) fn is_host_busy(totals: &RunTotals) -> bool {
    let cpu = totals.host.cpu.filter(|cpu| cpu.total_ns() > 0);
    cpu.is_some_and(|cpu| {
        let left_ns = cpu.total_ns() - cpu.steal_ns;
        cpu.busy_ns() as f64 > BUSY_SHARE * left_ns as f64
    })
}

/// Whether workers waited for a CPU for too much of their time.
pub(crate) fn is_without_cpu(totals: &RunTotals) -> bool {
    let limit = if is_host_busy(totals) {
        WAITED_BUSY_SHARE
    } else {
        WAITED_SHARE
    };
    waited_share(totals).is_some_and(|share| share > limit)
}

/// Of the time of all workers, that in which they were ready and had no CPU, beyond what wake-ups take; `None` where the
/// kernel does not tell.
pub(crate) fn waited_share(totals: &RunTotals) -> Option<f64> {
    let workers = &totals.workers;
    let wake_ups_ns = workers.usage.context_switches.saturating_mul(WAKE_UP_NS);
    let waited_ns = workers.usage.cpu_wait_ns?.saturating_sub(wake_ups_ns);
    // Of a damaged result both may be anything.
    let time_ns = f64::from(workers.workers.max(1)) * totals.length_ns.max(1) as f64;
    Some((waited_ns as f64 / time_ns).min(1.0))
}

fn is_own_lateness(totals: &RunTotals, response_ns_p99: u64) -> bool {
    let lateness_ns_p99 = totals.lateness().percentile_ns(99.0);
    totals.started.is_open_loop
        && lateness_ns_p99 as f64 > response_ns_p99 as f64 * OWN_LATENESS_SHARE
}

fn late(totals: &RunTotals, response_ns_p99: u64) -> Option<Late> {
    let lateness = totals.lateness();
    let count = lateness.histogram.count();
    if !totals.started.is_open_loop || count == 0 {
        return None;
    }
    let limit_ns = LATE_NS_LEAST.max((response_ns_p99 as f64 * LATE_RESPONSE_SHARE) as u64);
    let in_time = lateness.histogram.count_below(limit_ns + 1);
    let free = totals.free_lateness().histogram;
    let free_late = free.count() - free.count_below(limit_ns + 1);
    Some(Late {
        limit_ns,
        free_share: (free.count() > 0).then(|| free_late as f64 / count as f64),
        share: (count - in_time) as f64 / count as f64,
    })
}

#[cfg(test)]
#[path = "curve_tests.rs"]
mod tests;
