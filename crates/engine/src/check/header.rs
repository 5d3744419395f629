//! The header of a block: 40 bytes in little-endian order, then the sum of the method. The layout is
//! that of fio 3.33, found from what it writes.
use super::sums::crc32c;
use plan::{CheckMethod, HEADER_BYTES};

pub(super) const MAGIC: u16 = 0xacca;

/// Where the sum over the header stands; it covers what is before it.
const SUM_AT: usize = 36;

/// The fields that all methods share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub magic: u16,
    pub method: u16,
    pub length: u32,
    /// What the data were made from; no other write has it.
    pub seed: u64,
    pub offset: u64,
    pub at_ns: u64,
    /// The stream, from one.
    pub writer: u16,
    /// Of the write within its stream, modulo 2¹⁶.
    pub number: u16,
    pub sum: u32,
}

impl Header {
    pub(super) fn write(&self, to: &mut [u8]) {
        let at = |at_ns: u64| {
            (
                (at_ns / 1_000_000_000) as u32,
                (at_ns % 1_000_000_000) as u32,
            )
        };
        let (seconds, nanos) = at(self.at_ns);
        to[0..2].copy_from_slice(&self.magic.to_le_bytes());
        to[2..4].copy_from_slice(&self.method.to_le_bytes());
        to[4..8].copy_from_slice(&self.length.to_le_bytes());
        to[8..16].copy_from_slice(&self.seed.to_le_bytes());
        to[16..24].copy_from_slice(&self.offset.to_le_bytes());
        to[24..28].copy_from_slice(&seconds.to_le_bytes());
        to[28..32].copy_from_slice(&nanos.to_le_bytes());
        to[32..34].copy_from_slice(&self.writer.to_le_bytes());
        to[34..36].copy_from_slice(&self.number.to_le_bytes());
        let sum = crc32c(&to[..SUM_AT]);
        to[SUM_AT..HEADER_BYTES].copy_from_slice(&sum.to_le_bytes());
    }

    pub(super) fn read(from: &[u8]) -> Self {
        let two = |at: usize| u16::from_le_bytes([from[at], from[at + 1]]);
        let four = |at: usize| u32::from(two(at)) | u32::from(two(at + 2)) << 16;
        let eight = |at: usize| u64::from(four(at)) | u64::from(four(at + 4)) << 32;
        Self {
            magic: two(0),
            method: two(2),
            length: four(4),
            seed: eight(8),
            offset: eight(16),
            at_ns: u64::from(four(24)) * 1_000_000_000 + u64::from(four(28)),
            writer: two(32),
            number: two(34),
            sum: four(SUM_AT),
        }
    }
}

/// The sum that a header ought to have.
pub(super) fn sum_of(header: &[u8]) -> u32 {
    crc32c(&header[..SUM_AT])
}

/// The number of a method in the header; `None` for those without a header.
pub(super) fn number_of(method: CheckMethod) -> Option<u16> {
    Some(match method {
        CheckMethod::Nothing | CheckMethod::Pattern => return None,
        CheckMethod::HeaderOnly => 1,
        CheckMethod::Md5 => 2,
        CheckMethod::Crc64 => 3,
        CheckMethod::Crc32 => 4,
        CheckMethod::Crc32c => 5,
        CheckMethod::Crc16 => 7,
        CheckMethod::Crc7 => 8,
        CheckMethod::Sha256 => 9,
        CheckMethod::Sha512 => 10,
        CheckMethod::Sha3Of224 => 11,
        CheckMethod::Sha3Of256 => 12,
        CheckMethod::Sha3Of384 => 13,
        CheckMethod::Sha3Of512 => 14,
        CheckMethod::Xxh32 => 15,
        CheckMethod::Sha1 => 16,
        CheckMethod::HeaderAndPattern => 17,
    })
}
