//! What failed operations lead to, for a stream that does not leave it to its run.
use crate::operation::Operation;
use serde::{Deserialize, Serialize};

/// EILSEQ: a read that came back with other data than it should.
const OTHER_DATA: i32 = 84;

/// The failures that leave a stream sound, by their numbers (errno): it goes on, and nothing is wrong with the job
/// afterwards. Any other ends it, and the streams beside it go on. All are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tolerance {
    pub reads: Vec<i32>,
    /// Of everything that is no read.
    pub writes: Vec<i32>,
    /// Of reads that came back with other data than they should (84, EILSEQ).
    pub checks: Vec<i32>,
    /// The first of these reads ends the stream. Where `checks` has its number, that is an orderly end.
    pub ends_at_other_data: bool,
    /// Places of the streams of the run that end with this one where a failure ends it.
    pub ends: Vec<u32>,
    /// Whether no further run begins where a failure ends it.
    pub ends_execution: bool,
}

impl Tolerance {
    /// Whether an operation that failed with this number leaves the stream sound.
    pub fn covers(&self, operation: Operation, errno: i32) -> bool {
        self.numbers(operation, errno).contains(&errno)
    }

    /// Whether some failures of the same kind leave the stream sound.
    pub fn covers_kind(&self, operation: Operation, errno: i32) -> bool {
        !self.numbers(operation, errno).is_empty()
    }

    fn numbers(&self, operation: Operation, errno: i32) -> &[i32] {
        match operation {
            _ if errno == OTHER_DATA => &self.checks,
            Operation::Read => &self.reads,
            _ => &self.writes,
        }
    }

    /// Whether the stream issues nothing more after it.
    pub fn ends_after(&self, operation: Operation, errno: i32) -> bool {
        !self.covers(operation, errno) || (self.ends_at_other_data && errno == OTHER_DATA)
    }
}
