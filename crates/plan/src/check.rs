//! What makes written data checkable, and what is checked of data that are read.
use crate::ids::PatternId;
use serde::{Deserialize, Serialize};

/// How the data of a stream are checked. Each block of what is written carries a header that tells
/// its address, its length, the number it was made from and a sum of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    pub method: CheckMethod,
    /// Bytes with a header of their own; every transfer is a multiple of it.
    pub block_bytes: u64,
    /// Blocks begin at multiples of it behind the start of their region; it divides `block_bytes`,
    /// and 0 means the same as that.
    #[serde(default)]
    pub address_bytes: u64,
    /// Whether addresses are counted from the end of a region, too.
    #[serde(default)]
    pub from_end: bool,
    /// Where in its block the header stands; what would stand there is at the start.
    #[serde(default)]
    pub header_at: u64,
    /// What every byte behind the header is, where that is known beforehand.
    #[serde(default)]
    pub pattern: Option<PatternId>,
    /// Whether what is read is checked; otherwise writes are marked and nothing more.
    pub reads: bool,
    /// Whether the execution remembers which block was written by which write, so that
    /// [`crate::AddressOrder::AsRecorded`] can read them back and notice a lost write.
    #[serde(default)]
    pub records: bool,
    /// Whether which parts were written is kept for later executions; see
    /// [`crate::AddressOrder::Listed`].
    #[serde(default)]
    pub saves: bool,
    /// Whether what was read and what it should have been are kept in files.
    #[serde(default)]
    pub dumps: bool,
    /// A sound block of another write than the last one passes.
    #[serde(default)]
    pub any_write: bool,
    /// When parts of what was written are read back in between; needs `records`.
    #[serde(default)]
    pub backlog: Option<Backlog>,
    /// When parts of what was written are discarded in between; needs `records`.
    #[serde(default)]
    pub discards: Option<Discards>,
}

/// Reading back between writes. What was read back so is not read again behind them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backlog {
    /// Each time that a multiple of so many transfers waits to be read back; above zero.
    pub after: u64,
    /// So many of them are read back, the oldest first; above zero.
    pub batch: u64,
}

/// Discarding part of what was written, between writes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Discards {
    /// The share of the transfers that are picked, by chance, in percent; above zero.
    pub pct: f64,
    /// Each time that a multiple of so many transfers is remembered; above zero.
    pub after: u64,
    /// So many of those picked are discarded, the oldest first; above zero.
    pub batch: u64,
    /// Whether what was discarded has to be read as zeros; otherwise it is forgotten.
    pub reads_zeros: bool,
}

/// The sum of a block, or what stands in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckMethod {
    /// No header, and nothing is compared.
    Nothing,
    /// No header: the block is its pattern.
    Pattern,
    /// The header alone; the bytes behind it are not looked at.
    HeaderOnly,
    /// The header, and the pattern after it.
    HeaderAndPattern,
    Crc7,
    Crc16,
    Crc32,
    Crc32c,
    Crc64,
    Md5,
    Sha1,
    Sha256,
    Sha512,
    #[serde(rename = "sha3_224")]
    Sha3Of224,
    #[serde(rename = "sha3_256")]
    Sha3Of256,
    #[serde(rename = "sha3_384")]
    Sha3Of384,
    #[serde(rename = "sha3_512")]
    Sha3Of512,
    Xxh32,
}

impl CheckMethod {
    /// Bytes of the sum in the header.
    pub fn sum_bytes(self) -> usize {
        match self {
            CheckMethod::Nothing
            | CheckMethod::Pattern
            | CheckMethod::HeaderOnly
            | CheckMethod::HeaderAndPattern => 0,
            CheckMethod::Crc7 => 1,
            CheckMethod::Crc16 => 2,
            CheckMethod::Crc32 | CheckMethod::Crc32c | CheckMethod::Xxh32 => 4,
            CheckMethod::Crc64 => 8,
            CheckMethod::Md5 => 16,
            CheckMethod::Sha1 => 20,
            CheckMethod::Sha3Of224 => 28,
            CheckMethod::Sha3Of256 => 32,
            CheckMethod::Sha3Of384 => 48,
            CheckMethod::Sha256 | CheckMethod::Sha3Of512 => 64,
            CheckMethod::Sha512 => 128,
        }
    }

    /// Bytes of the header with its sum; zero where there is none.
    pub fn header_bytes(self) -> usize {
        match self {
            CheckMethod::Nothing | CheckMethod::Pattern => 0,
            _ => HEADER_BYTES + self.sum_bytes(),
        }
    }
}

/// The part of the header that all methods share.
pub const HEADER_BYTES: usize = 40;
