//! What single hosts, workers and targets tell of an interval, and an interval in a few numbers.
use crate::facts::HostSample;
use crate::latencies::LatencyFigures;
use plan::{StreamId, TargetId};
use serde::{Deserialize, Serialize};

/// A host by its place; 0 where there is one.
pub type HostId = u32;

/// What the workers of one host tell, and what it saw of each target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostEvidence {
    pub host: HostId,
    pub workers: Vec<WorkerEvidence>,
    /// In the order of their places.
    pub targets: Vec<TargetEvidence>,
    /// Times of [`GAP_NS`] and more without a success, of targets that had something in flight or due.
    pub gaps: Vec<Gap>,
    /// Responses above [`SLOW_NS`], by when they were due.
    pub slow: Vec<SlowResponse>,
    /// Times in which this process did not run at all.
    #[serde(default)]
    pub pauses: Vec<Pause>,
    /// What the host did meanwhile, where it is one of several; `None` where it does not tell. What a single host did is
    /// that of the interval.
    #[serde(default)]
    pub sample: Option<HostSample>,
}

/// Shorter times without a success are not noted.
pub const GAP_NS: u64 = 10_000_000;

/// Responses above this are noted one by one.
pub const SLOW_NS: u64 = 1_000_000_000;

/// One worker thread in an interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerEvidence {
    pub worker: u32,
    pub cpu_ns: Option<u64>,
    /// How long it was ready and had no CPU.
    pub run_queue_ns: Option<u64>,
    /// How much later than planned it woke up.
    pub loop_lag: Option<LatencyFigures>,
    /// Gaps between its looks at completions while something was in flight.
    pub reap_gap: Option<LatencyFigures>,
}

/// One target at the end of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetEvidence {
    pub target: TargetId,
    pub in_flight: Option<u32>,
    /// Age of the oldest operation in flight; zero where none is.
    pub oldest_ns: Option<u64>,
    /// What a sample of its reads brought.
    #[serde(default)]
    pub sampled: SampledReads,
    /// Times of [`GAP_NS`] and more without a success that ended in the interval.
    #[serde(default)]
    pub still: StillTimes,
}

/// How many there were, also of those that are not told one by one, and how long in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StillTimes {
    pub count: u64,
    pub sum_ns: u64,
}

impl StillTimes {
    pub fn add(&mut self, other: Self) {
        self.count += other.count;
        self.sum_ns += other.sum_ns;
    }
}

/// Reads whose data were looked at, and those of them that brought only zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampledReads {
    pub reads: u64,
    pub zeros: u64,
}

impl SampledReads {
    pub fn add(&mut self, other: Self) {
        self.reads += other.reads;
        self.zeros += other.zeros;
    }
}

impl HostEvidence {
    /// What adds up over intervals.
    #[must_use]
    pub fn for_span(&self) -> Self {
        let adds_up = |one: &&TargetEvidence| one.sampled.reads > 0 || one.still.count > 0;
        let sampled = self.targets.iter().filter(adds_up);
        let alone = |one: &TargetEvidence| TargetEvidence {
            in_flight: None,
            oldest_ns: None,
            ..*one
        };
        Self {
            host: self.host,
            targets: sampled.map(alone).collect(),
            pauses: self.pauses.clone(),
            sample: self.sample.clone(),
            ..Self::default()
        }
    }

    /// What all of several hosts did in the same time, as if they were one with the CPUs of all; `None` where one of them
    /// does not tell.
    pub fn together(hosts: &[Self]) -> Option<HostSample> {
        let mut samples = hosts.iter().map(|host| host.sample.as_ref());
        let mut whole = samples.next().flatten()?.clone();
        for sample in samples {
            whole.add(sample?);
        }
        Some(whole)
    }

    /// Adds what a later interval tells and adds up.
    pub fn append(&mut self, later: &Self) {
        // A part of its time is not what it did.
        self.sample = match (self.sample.take(), &later.sample) {
            (Some(mut mine), Some(theirs)) => {
                mine.add(theirs);
                Some(mine)
            }
            _ => None,
        };
        self.pauses.extend(&later.pauses);
        for theirs in later.for_span().targets {
            let place = self
                .targets
                .binary_search_by_key(&theirs.target, |one| one.target);
            match place {
                Ok(place) => {
                    self.targets[place].sampled.add(theirs.sampled);
                    self.targets[place].still.add(theirs.still);
                }
                Err(place) => self.targets.insert(place, theirs),
            }
        }
    }
}

/// A time without a success on a target, in nanoseconds since the start of the run. Of one that goes on at the end of an
/// interval there is what has been of it, and the next interval tells it again, from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    pub target: TargetId,
    pub from_ns: u64,
    pub to_ns: u64,
}

/// A time in which no thread of a host's process ran, in nanoseconds since the start of the run: it was stopped or frozen, or
/// its machine was paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    pub from_ns: u64,
    pub to_ns: u64,
}

impl Pause {
    pub fn length_ns(&self) -> u64 {
        self.to_ns.saturating_sub(self.from_ns)
    }
}

/// A slow response by when it was due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowResponse {
    pub stream: StreamId,
    pub target: TargetId,
    pub due_ns: u64,
    pub response_ns: u64,
}

/// An interval in a few numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntervalBrief {
    pub number: u32,
    pub start_ns: u64,
    pub end_ns: u64,
    /// Successful ones but syncs.
    pub operations: u64,
    pub in_flight: u32,
    pub backlog: u64,
    /// `None` where it is lost.
    pub busy_ns: Option<u64>,
    /// Of all CPUs of the host; `None` where it does not tell.
    pub cpu_busy_ns: Option<u64>,
    pub cpu_total_ns: Option<u64>,
    /// Of successful ones but syncs; `None` without any.
    pub service_ns_p50: Option<u64>,
}

impl IntervalBrief {
    pub fn length_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}
