//! The operations that can be asked of storage, and mixes of them.
use serde::{Deserialize, Serialize};

/// Everything that a stream may ask of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Operation {
    Read,
    Write,
    Trim,
    Sync,
    DataSync,
    Open,
    Close,
    Create,
    Delete,
    Stat,
    SetAttributes,
    Access,
    MakeDirectory,
    RemoveDirectory,
    Copy,
    Move,
    Allocate,
    Truncate,
    RangeSync,
}

/// The three directions that have rates, sizes and shares of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    Read,
    Write,
    Trim,
}

/// One value per direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PerDirection<T> {
    pub read: T,
    pub write: T,
    pub trim: T,
}

/// Shares of reads, writes and trims, in percent, adding up to 100.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperationMix {
    pub read_pct: f64,
    pub write_pct: f64,
    pub trim_pct: f64,
}

impl Operation {
    pub const ALL: [Operation; 19] = [
        Operation::Read,
        Operation::Write,
        Operation::Trim,
        Operation::Sync,
        Operation::DataSync,
        Operation::Open,
        Operation::Close,
        Operation::Create,
        Operation::Delete,
        Operation::Stat,
        Operation::SetAttributes,
        Operation::Access,
        Operation::MakeDirectory,
        Operation::RemoveDirectory,
        Operation::Copy,
        Operation::Move,
        Operation::Allocate,
        Operation::Truncate,
        Operation::RangeSync,
    ];

    /// The name in result files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Read => "read",
            Operation::Write => "write",
            Operation::Trim => "trim",
            Operation::Sync => "sync",
            Operation::DataSync => "data_sync",
            Operation::Open => "open",
            Operation::Close => "close",
            Operation::Create => "create",
            Operation::Delete => "delete",
            Operation::Stat => "stat",
            Operation::SetAttributes => "set_attributes",
            Operation::Access => "access",
            Operation::MakeDirectory => "make_directory",
            Operation::RemoveDirectory => "remove_directory",
            Operation::Copy => "copy",
            Operation::Move => "move",
            Operation::Allocate => "allocate",
            Operation::Truncate => "truncate",
            Operation::RangeSync => "range_sync",
        }
    }

    /// The operation with this [`Operation::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|operation| operation.name() == name)
    }

    /// Whether it may change what the target holds.
    pub fn changes_data(self) -> bool {
        !matches!(
            self,
            Operation::Read
                | Operation::Sync
                | Operation::DataSync
                | Operation::Open
                | Operation::Close
                | Operation::Stat
                | Operation::Access
                | Operation::RangeSync
        )
    }

    /// Whether it makes durable what was written, and moves nothing by itself. Rates and latencies
    /// over all operations leave syncs out.
    pub fn is_sync(self) -> bool {
        matches!(
            self,
            Operation::Sync | Operation::DataSync | Operation::RangeSync
        )
    }
}

impl<T> PerDirection<T> {
    /// The same value three times.
    pub fn all(value: T) -> Self
    where
        T: Clone,
    {
        Self {
            read: value.clone(),
            write: value.clone(),
            trim: value,
        }
    }

    pub fn of(&self, direction: Direction) -> &T {
        match direction {
            Direction::Read => &self.read,
            Direction::Write => &self.write,
            Direction::Trim => &self.trim,
        }
    }
}

impl OperationMix {
    /// Reads with this share in percent, writes for the rest.
    pub fn reads(read_pct: f64) -> Self {
        Self {
            read_pct,
            write_pct: 100.0 - read_pct,
            trim_pct: 0.0,
        }
    }

    /// Whether anything in the mix changes data.
    pub fn changes_data(&self) -> bool {
        self.write_pct > 0.0 || self.trim_pct > 0.0
    }
}
