//! What has to be seen of a run before it may be called clean or believed: one table for every report. A check that nobody
//! could make is *not seen*, which is said and counts as doubt; only what was seen good counts as good.
use std::fmt;

/// What has to be seen of each run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Check {
    /// The bytes reached the medium, and no memory answered for it.
    Medium,
    /// I/Os were sent on time, and their completions were looked for.
    OnTime,
    /// The queue depth sufficed, or the loop was closed, which is said.
    QueueDepth,
    /// The samples suffice for the percentile that is given.
    Samples,
    /// Rate and latency were the same from beginning to end.
    Steady,
}

/// What was seen of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    Good,
    /// A word of the verdict tells what.
    Bad,
    /// Why nobody could tell.
    NotSeen(String),
}

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    pub check: Check,
    pub seen: Seen,
}

impl Check {
    pub const ALL: [Check; 5] = [
        Check::Medium,
        Check::OnTime,
        Check::QueueDepth,
        Check::Samples,
        Check::Steady,
    ];

    /// What programs call it.
    pub fn name(self) -> &'static str {
        match self {
            Check::Medium => "medium_reached",
            Check::OnTime => "sent_on_time",
            Check::QueueDepth => "queue_depth",
            Check::Samples => "samples",
            Check::Steady => "steady",
        }
    }

    /// What holds where it was seen good.
    pub fn statement(self) -> &'static str {
        match self {
            Check::Medium => "the I/O reached the medium",
            Check::OnTime => "I/Os were sent on time",
            Check::QueueDepth => "the queue depth sufficed",
            Check::Samples => "the samples suffice for p99",
            Check::Steady => "rate and latency were steady",
        }
    }
}

impl Evidence {
    /// Why it was not seen.
    pub fn missing(&self) -> Option<&str> {
        match &self.seen {
            Seen::NotSeen(why) => Some(why),
            Seen::Good | Seen::Bad => None,
        }
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let statement = self.check.statement();
        match self.missing() {
            Some(why) => write!(out, "whether {statement} ({why})"),
            None => write!(out, "{statement}"),
        }
    }
}

/// The checks that nobody could make, in one text; `None` if all were made.
pub(crate) fn not_checked(evidence: &[Evidence]) -> Option<String> {
    let missing = evidence.iter().filter(|one| one.missing().is_some());
    let texts: Vec<String> = missing.map(Evidence::to_string).collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}
