//! Whether what was measured is this machine: its CPUs were taken away, its threads woke late, or this process did not run.
//! Whose fault it is is said only where it was seen.
use super::{Scene, explains};
use crate::curve::{STOLEN_SHARE, THROTTLED_SHARE, is_host_busy, is_without_cpu, waited_share};
use crate::gap::Reach;
use crate::hints::OwnLimit;
use crate::words::{latency, percent, span};

/// Late submissions below this share do not move a p99.
const LATE_SHARE: f64 = 0.01;

/// From this share on, threads that send I/Os had no CPU time left.
const WORKERS_BUSY_SHARE: f64 = 0.9;

/// Times in which the process did not run count from this share of the run on, as they move a p99 then; and any of a second.
const PAUSED_SHARE: f64 = 0.01;
const PAUSED_NS_MIN: u64 = 1_000_000_000;

/// From this share of their time on, threads that sit in submitting calls keep other I/Os from being sent.
const SUBMISSION_BLOCKED_SHARE: f64 = 0.1;

impl Scene<'_> {
    /// What was measured is this machine.
    pub(super) fn generator_bound(&self) -> Option<String> {
        let taken = || {
            let signs = [
                self.paused(),
                self.stolen(),
                self.throttled(),
                self.without_cpu(),
                self.late(),
            ];
            let signs: Vec<String> = signs.into_iter().flatten().collect();
            (!signs.is_empty()).then(|| signs.join("; "))
        };
        // Whatever else took time, without storage there was nothing to measure.
        self.no_storage().or_else(taken)
    }

    /// The first of them.
    pub(super) fn own_limit(&self) -> Option<OwnLimit> {
        let limits = [
            (OwnLimit::NoStorage, self.no_storage()),
            (OwnLimit::Paused, self.paused()),
            (OwnLimit::Stolen, self.stolen()),
            (OwnLimit::Throttled, self.throttled()),
            (OwnLimit::Cpu, self.without_cpu()),
            (OwnLimit::Late, self.late()),
        ];
        let mut limits = limits.into_iter().filter(|(_, text)| text.is_some());
        limits.next().map(|(limit, _)| limit)
    }

    /// Whether the process stood still for a time that matters.
    pub(super) fn is_paused(&self) -> bool {
        self.paused().is_some()
    }

    fn paused(&self) -> Option<String> {
        let pauses = || self.totals.pauses.iter().map(|(_, pause)| pause);
        let longest = pauses().max_by_key(|pause| pause.length_ns())?;
        let sum_ns: u64 = pauses().map(measure::Pause::length_ns).sum();
        let share = sum_ns as f64 / self.totals.length_ns.max(1) as f64;
        // A control group that is throttled, and CPUs that others use, stop a process for moments, and have words of their own.
        let is_taken =
            self.totals.throttled_share() > Some(THROTTLED_SHARE) || is_without_cpu(self.totals);
        let is_told = (share > PAUSED_SHARE && !is_taken) || longest.length_ns() >= PAUSED_NS_MIN;
        // A heartbeat alone may come late while workers run.
        let has_stood = self.happened.own_pause_ns >= PAUSED_NS_MIN.min(sum_ns / 2).max(1);
        (is_told && has_stood).then(|| {
            format!(
                "Fathom itself stood still for {} from {} on (stopped, frozen, or a paused machine)",
                span(longest.length_ns()),
                span(longest.from_ns)
            )
        })
    }

    /// Workers that wait for a CPU neither send nor see what is back.
    fn without_cpu(&self) -> Option<String> {
        let share = percent(waited_share(self.totals).filter(|_| is_without_cpu(self.totals))?);
        Some(format!(
            "worker threads were ready and waited for a CPU for {share} of the time"
        ))
    }

    /// What other programs took of the CPUs: only where these were busy while a worker was ready to run.
    pub(super) fn others(&self) -> Option<String> {
        let host = &self.totals.host;
        let cpu = host.cpu.filter(|_| is_host_busy(self.totals))?;
        waited_share(self.totals).filter(|share| *share > 0.0)?;
        let own_ns = host.fathom_user_ns + host.fathom_system_ns;
        let others_ns = cpu.busy_ns().saturating_sub(own_ns);
        let share = percent(others_ns as f64 / cpu.total_ns() as f64);
        (others_ns > own_ns).then(|| format!("other programs used {share} of the CPUs"))
    }

    fn stolen(&self) -> Option<String> {
        let share = self.totals.stolen_share();
        let share = percent(share.filter(|share| *share > STOLEN_SHARE)?);
        Some(format!("the hypervisor took {share} of the CPU time"))
    }

    fn throttled(&self) -> Option<String> {
        let share = self.totals.throttled_share();
        share.filter(|share| *share > THROTTLED_SHARE)?;
        let length = span(self.totals.host.throttled_ns?);
        Some(format!("the control group was throttled for {length}"))
    }

    fn late(&self) -> Option<String> {
        let late = self.point.late?;
        let still = self.happened.standstill.as_ref();
        let is_explained_by_stall =
            still.is_some_and(|still| explains(still, self.totals, self.point));
        if is_explained_by_stall || self.submission_blocks().is_some() || self.is_paused() {
            return None;
        }
        let (share, limit_ns) = (late.free_share.unwrap_or(late.share), late.limit_ns);
        // Where nobody told which of them found a free slot, slots explain it.
        let is_explained = late.free_share.is_none() && self.point.exhausted.is_exhausted;
        let is_late = share > LATE_SHARE && !is_explained;
        is_late.then(|| {
            format!(
                "{} of the I/Os were sent more than {} late{}",
                percent(share),
                latency(limit_ns as f64),
                self.why_late()
            )
        })
    }

    /// What made threads late, as far as it was seen.
    fn why_late(&self) -> String {
        let workers = &self.totals.workers;
        let cpu_ns = (workers.usage.user_ns + workers.usage.system_ns) as f64;
        let time_ns = f64::from(workers.workers.max(1)) * self.totals.length_ns.max(1) as f64;
        let busy = (cpu_ns / time_ns).min(1.0);
        if self.others().is_some() {
            return String::new();
        }
        if busy > WORKERS_BUSY_SHARE {
            return format!(": worker threads used {} of their CPUs", percent(busy));
        }
        let free = self.totals.free_lateness();
        let lateness = match free.histogram.is_empty() {
            true => self.totals.lateness(),
            false => free,
        };
        let usual = latency(lateness.percentile_ns(50.0) as f64);
        let most = latency(lateness.percentile_ns(99.0) as f64);
        format!(": wake-ups of this machine are late by {usual} (p50) to {most} (p99)")
    }

    /// Threads that sat in submitting calls without using a CPU, as a share of their time.
    pub(super) fn submission_blocked_share(&self) -> f64 {
        if !self.happened.is_queued {
            return 0.0;
        }
        let workers = &self.totals.workers;
        let usage = &workers.usage;
        // Some calls are timed for all, and a thread may lose its CPU within one: twice the wait leaves room for that.
        let own_ns = usage.user_ns + usage.system_ns + 2 * usage.cpu_wait_ns.unwrap_or(0);
        let blocked_ns = workers.submit_ns.saturating_sub(own_ns);
        let time_ns = f64::from(workers.workers.max(1)) * self.totals.length_ns.max(1) as f64;
        blocked_ns as f64 / time_ns
    }

    /// A call that submits is to come back at once. Where it waits for storage, it keeps other I/Os from being sent.
    pub(super) fn submission_blocks(&self) -> Option<String> {
        let share = self.submission_blocked_share();
        let is_told = self.totals.lost.submission.intervals == 0 && !self.is_paused();
        (is_told && share > SUBMISSION_BLOCKED_SHARE).then(|| {
            format!(
                "submitting calls waited for {} of the time instead of returning at once, and delayed other I/Os",
                percent(share.min(1.0))
            )
        })
    }

    pub(super) fn no_storage(&self) -> Option<String> {
        let told = match self.reach {
            Reach::Simulated => "the storage was simulated",
            Reach::Nothing => {
                "Fathom itself took the time, as nothing that stores data was reached"
            }
            Reach::Device => return None,
        };
        self.measures().then(|| told.into())
    }
}
