//! How the requests of a pool are put to the kernel, beyond what they do.
use crate::flow::IoPriority;
use crate::operation::Direction;
use serde::{Deserialize, Serialize};

/// What a pool asks for with each of its requests. Nothing by default. A method that has no such thing
/// refuses the run; methods that reach no data ask for nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestMode {
    /// A transfer that would have to wait before it is under way fails instead (EAGAIN).
    pub never_waits: bool,
    /// What a transfer has brought into the page cache leaves it at once; transfers fail (EOPNOTSUPP)
    /// where the file system cannot do that.
    pub leaves_no_cache: bool,
    /// A write is stored as a whole or not at all, whatever happens to the power. Past the page cache only, in
    /// lengths that are powers of two within the limits of the target, at multiples of themselves; a target without
    /// such limits refuses the run.
    pub writes_whole: bool,
    /// Share of the transfers for whose completion the device is polled, percent, 0 to 100, in even
    /// steps. Rings poll for all or none.
    pub polled_pct: u8,
    /// One in so many requests is carried out by another thread of the kernel; 0 for none.
    pub handed_off_every: u32,
    /// A thread of the kernel takes the requests of the pool, which submits by no call.
    pub submitter: Option<Submitter>,
}

/// A thread of the kernel that looks for requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Submitter {
    /// The only CPU on which it may be, counted from 0.
    pub cpu: Option<u32>,
}

/// A share of the transfers of a pool that the kernel gets with a priority of their own, drawn for each.
/// Trims have none, and methods without a queue in the kernel give none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriorityShare {
    pub direction: Direction,
    /// Of transfers of this length only, bytes; of all of the direction where it is absent.
    #[serde(default)]
    pub length_bytes: Option<u64>,
    /// Of these transfers, percent, 1 to 100. Shares of the same transfers make 100 at most.
    pub pct: u8,
    pub priority: IoPriority,
}
