//! What a stream does beside the operations that it draws, and when it holds them back.
use crate::operation::{Operation, PerDirection};
use crate::tolerance::Tolerance;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The rules of one stream; the default has none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Flow {
    pub syncs: Syncs,
    pub think: Option<Think>,
    pub batches: Batches,
    /// The stream ends, and its operation counts as a failure (ETIMEDOUT), once the service time of
    /// one in this direction is longer.
    pub latency_most: PerDirection<Option<Nanos>>,
    /// Ends the stream where it is slower.
    pub floor: Option<Floor>,
    /// Where and how urgently its workers run.
    pub placement: Placement,
    /// Ends the stream once its rate has settled.
    pub steady: Option<Steady>,
    /// Looks for the depth that keeps a latency.
    pub depth_search: Option<DepthSearch>,
    /// An operation waits while another one in flight shares a byte with it.
    pub keeps_apart: bool,
    /// An operation waits while others have its target; all streams of the run with such a rule count. Syncs that
    /// a rule makes, and reads that look at what was written, take no lock.
    pub lock: Option<TargetLock>,
    /// Keeps it in proportion to others.
    pub balance: Option<Balance>,
    /// Which failures it goes on after; without it, the run decides (see [`crate::ErrorBudget`]).
    pub tolerance: Option<Tolerance>,
    /// Memory that nobody else has from before the run begins to its end, in bytes, beside what its own operations take.
    #[serde(skip_serializing_if = "is_zero")]
    pub held_memory_bytes: u64,
}

pub(crate) fn is_zero(bytes: &u64) -> bool {
    *bytes == 0
}

/// A lock on a target, from the issue of an operation to its return. Who waits longest is next. The wait is part of
/// the response time of an arrival, and of no service time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetLock {
    /// One operation at a time.
    Exclusive,
    /// Reads side by side, or one other operation.
    ReadWrite,
}

/// Keeps the streams of a run that are of one group in the proportion of their weights, by
/// operations that were drawn, to within some dozens. Streams that have ended no longer count.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Balance {
    pub group: u32,
    /// Above zero.
    pub weight: f64,
    /// How long one that is ahead waits before it looks again; 100 µs at least.
    pub pause: Nanos,
}

/// When a stream makes what it wrote durable. Syncs take a slot as all operations do, wait for no
/// other operation, and count neither as arrivals nor against the end of the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Syncs {
    /// Data and metadata after so many writes of the stream, of the target that was written last.
    pub full_every: Option<u64>,
    /// Data and what is needed to read them; not where a full sync is due as well.
    pub data_every: Option<u64>,
    /// Write-back of the target; not where one of the others is due as well.
    pub range_every: Option<u64>,
    pub range: RangeSync,
    /// A full sync of each target once everything of the stream has come back, where the stream
    /// ends by itself.
    pub at_end: bool,
    /// The same of each file system that holds targets of the stream, once, with all that others have
    /// written there. A device has none, and is synced itself.
    pub file_systems_at_end: bool,
}

impl Syncs {
    /// Whether some come when all else of the stream has come back.
    pub fn are_at_end(&self) -> bool {
        self.at_end || self.file_systems_at_end
    }
}

/// What a [`Operation::RangeSync`] does, in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangeSync {
    /// Waits for write-back that is going on.
    pub waits_before: bool,
    /// Starts write-back of what is not clean.
    pub writes: bool,
    /// Waits for what was started.
    pub waits_after: bool,
}

/// Pauses of a stream. Before one begins, everything of the stream has to come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Think {
    /// How long nothing is issued.
    pub pause: Nanos,
    /// After so many operations since the last pause, syncs not counted; above zero.
    pub after: Option<u64>,
    pub counts: ThinkCount,
    /// Once so much time has passed since the last pause.
    pub every: Option<Nanos>,
    /// Whether the schedule of arrivals stands still in a pause; they are late otherwise.
    pub moves_schedule: bool,
}

/// Which operations bring a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkCount {
    Issued,
    Completed,
}

/// How many operations of a stream go out and come back together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Batches {
    /// At most so many in one submitting call; above zero.
    pub submit_most: Option<u32>,
    /// Once its pool is full, nothing is issued before only so many are in flight.
    pub refill_at: Option<u32>,
    /// A worker that waits for completions waits for so many where it serves no other pool.
    pub reap_least: Option<u32>,
    /// A look at completions sees at most so many; above zero. The others wait for the next look, which comes after
    /// what they made room for has been submitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reap_most: Option<u32>,
}

impl Batches {
    /// Whether operations are to go out, or to be seen, in company.
    pub fn are_grouped(&self) -> bool {
        let counts = [self.submit_most, self.reap_least, self.reap_most];
        self.refill_at.is_some() || counts.into_iter().flatten().any(|count| count > 1)
    }
}

/// What a stream has to do at least, by direction, over each cycle. The first two seconds do not
/// count, and cycles end with the intervals of the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Floor {
    pub per_second: PerDirection<Option<f64>>,
    pub of: Amount,
    pub cycle: Nanos,
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Amount {
    Operations,
    Bytes,
}

/// When the rate of a stream has settled.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Steady {
    pub of: Amount,
    pub criterion: SteadyCriterion,
    /// What the criterion has to stay below, over all samples; per second, or in percent of the mean.
    pub limit: f64,
    pub is_pct: bool,
    /// How many of the last samples are looked at; above zero.
    pub samples: u32,
    /// The length of a sample, or of the intervals that it is put together from; above zero.
    #[serde(default = "Steady::every_second")]
    pub every: Nanos,
    /// Measured time before the first sample.
    pub after: Nanos,
    /// Streams of one group are judged by the sum of their rates, and end together.
    pub group: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SteadyCriterion {
    /// The largest deviation of a sample from their mean.
    Deviation,
    /// The slope of the line through them, per sample.
    Slope,
}

/// Looks for the most operations in flight with which a stream keeps a latency. It begins with one;
/// a window in which enough operations keep it doubles the depth, and from the first that fails the
/// range between the two is halved, down to a depth that stays. That one is measured over a window
/// of its own, and the stream ends. Only for streams with a time of their own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DepthSearch {
    /// The service time that is to be kept.
    pub latency: Nanos,
    /// How many operations of a window have to keep it. With 100, one that does not ends the window
    /// at once, and with a single one in flight it ends the stream as a failure (ETIMEDOUT).
    pub within_pct: f64,
    pub window: Nanos,
    /// The search goes on until something else ends the stream, and all of it is measured.
    pub goes_on: bool,
}

/// Where and how urgently the threads of a stream run. A stream that says anything here has workers
/// of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Placement {
    /// CPUs that its threads may use; empty for all of the process.
    pub cpus: Vec<u32>,
    /// From −20, the most urgent, to 19.
    pub nice: i32,
    pub io_priority: Option<IoPriority>,
    /// Where the memory of its threads comes from, their buffers among it; `None` leaves it as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryPolicy>,
    /// As whom its threads work, and its targets are opened and made; `None` for the user of the process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
}

/// A user and a group by their numbers; what is left out is as in the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Owner {
    pub user: Option<u32>,
    pub group: Option<u32>,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.user, self.group) {
            (Some(user), Some(group)) => write!(f, "user {user} of group {group}"),
            (Some(user), None) => write!(f, "user {user}"),
            (None, Some(group)) => write!(f, "a member of group {group}"),
            (None, None) => write!(f, "the user of the process"),
        }
    }
}

/// Which nodes of the host give memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryPolicy {
    /// The one of the CPU that asks.
    Local,
    /// This one as long as it has any.
    Prefer(u32),
    /// These and no others.
    Bind(Vec<u32>),
    /// These in turn, page by page.
    Interleave(Vec<u32>),
}

/// A priority among the I/O of the host, as far as its schedulers look at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoPriority {
    /// 1 real time, 2 best effort, 3 idle.
    pub class: u8,
    /// From 0, the most urgent, to 7.
    pub level: u8,
    /// What devices are told beside it, 0 to 1023; 0 for nothing. Of Linux 6.6 and later, which knows 1 to 7:
    /// the limits of command duration of the device.
    #[serde(default)]
    pub hint: u16,
}

impl Steady {
    /// The time that all samples take together.
    pub fn window(&self) -> Nanos {
        Nanos(self.every.0.saturating_mul(u64::from(self.samples)))
    }

    /// Of plans that do not say how long a sample is.
    fn every_second() -> Nanos {
        Nanos::from_secs(1)
    }
}

impl IoPriority {
    const CLASS_SHIFT: u32 = 13;
    const HINT_SHIFT: u32 = 3;

    /// As the kernel takes it: the class in the three bits above thirteen, the hint in the ten above three, the
    /// level below.
    pub fn word(self) -> u16 {
        u16::from(self.class) << Self::CLASS_SHIFT
            | self.hint << Self::HINT_SHIFT
            | u16::from(self.level)
    }

    /// The other way round.
    pub fn of_word(word: u16) -> Self {
        Self {
            class: (word >> Self::CLASS_SHIFT) as u8,
            level: (word & 7) as u8,
            hint: word >> Self::HINT_SHIFT & 0x3ff,
        }
    }
}

impl Flow {
    /// Whether there is no rule that operations have to ask for. What failures lead to is none, nor is what only the
    /// worker heeds.
    pub fn is_nothing(&self) -> bool {
        let without = Self {
            tolerance: None,
            batches: Batches {
                refill_at: self.batches.refill_at,
                ..Batches::default()
            },
            ..self.clone()
        };
        without == Self::default()
    }
}

impl Syncs {
    /// The count of writes behind `writes` after which the next sync is due, and its kind.
    pub fn next_after(&self, writes: u64) -> Option<(u64, Operation)> {
        let rules = [
            (self.full_every, Operation::Sync),
            (self.data_every, Operation::DataSync),
            (self.range_every, Operation::RangeSync),
        ];
        let next = rules.into_iter().filter_map(|(every, operation)| {
            let every = every.filter(|every| *every > 0)?;
            Some(((writes / every + 1) * every, operation))
        });
        // The first of equal ones.
        next.min_by_key(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_syncs_that_are_due_together_the_strongest_is_made() {
        let syncs = Syncs {
            full_every: Some(6),
            data_every: Some(4),
            range_every: Some(3),
            ..Syncs::default()
        };
        let mut at = 0;
        let due: Vec<(u64, Operation)> = std::iter::from_fn(|| {
            let next = syncs.next_after(at)?;
            at = next.0;
            Some(next)
        })
        .take(6)
        .collect();
        let names = due.iter().map(|(at, operation)| (*at, operation.name()));
        assert_eq!(
            names.collect::<Vec<_>>(),
            [
                (3, "range_sync"),
                (4, "data_sync"),
                (6, "sync"),
                (8, "data_sync"),
                (9, "range_sync"),
                (12, "sync"),
            ]
        );
        assert_eq!(Syncs::default().next_after(7), None);
    }
}
