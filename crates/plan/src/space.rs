//! Calls on the space that files take, in place of I/O on what they hold.
use serde::{Deserialize, Serialize};

/// What the operations of a stream do with the space of their targets, which are files. Nothing is
/// moved: offset and length say which part of a file is meant. Syncs are what they are elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpaceCall {
    /// A write gives its range space of its own and makes the file long enough for it, a read gives
    /// space and leaves the length, and a discard takes the space away, with what it holds.
    Reserve,
    /// A write makes the file end where the range of the write begins. What lay behind is lost, so
    /// that only files which the execution has made itself are treated so. Reads and discards fail.
    SetLength,
}
