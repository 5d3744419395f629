//! Data that were read and are not what was written.
use plan::CheckMethod;
use serde::{Deserialize, Serialize};

/// One block that did not hold what it should.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Misfit {
    pub what: MisfitKind,
    pub method: CheckMethod,
    /// Where the block begins on the target, bytes.
    pub block_offset: u64,
    pub block_bytes: u64,
    /// As hexadecimal digits, two for each byte; numbers in decimal.
    pub expected: String,
    pub found: String,
    /// Of streams that keep them: both contents of the block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contents: Option<Contents>,
}

/// A block as it was read and as it was written, in hexadecimal digits, two for each byte.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    pub found: String,
    /// Where it is known for certain.
    pub expected: Option<String>,
}

/// The first thing that was wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MisfitKind {
    /// What every header begins with.
    Magic,
    Length,
    /// The block belongs elsewhere.
    Address,
    /// The sum over the header itself.
    HeaderSum,
    /// A sound block of another write than the last one to this address.
    OtherWrite,
    /// A sum of another method.
    Method,
    /// The sum over the data.
    Data,
    /// A byte of the pattern, counted from the start of the block.
    Pattern {
        at: u64,
    },
    /// A byte that has to be zero since its block was discarded, counted from the start of the block.
    NotZero {
        at: u64,
    },
}
