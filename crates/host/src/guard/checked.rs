//! Test data of the kind that fio writes for its `verify`, and the engine for checks: blocks with a header that tells
//! their own address.
//!
//! A header is believed when its mark, a method that exists, a length that fits, the address at which it stands and the
//! sum over all of these are right; an accident would need 14 bytes to come out by chance. Blocks of 4 KiB or less show
//! such a header in every sample. Of a longer block, samples behind the first hold no header: they are believed when
//! their bytes are those that follow from the seed in its header. Blocks that are filled otherwise (a pattern,
//! compressible data) are nobody's as far as the guard can tell, and so are headers that do not stand at the start.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use crc::{CRC_32_ISCSI, Crc, Table};
use plan::HEADER_BYTES;

use super::content::{BLOCK_BYTES, Content, is_blank};

const MAGIC: u16 = 0xacca;
/// Numbers of methods in headers.
const METHODS: std::ops::RangeInclusive<u16> = 1..=16;
/// Where the sum over a header stands; it covers what is before it.
const SUM_AT: usize = 36;
static CRC32C: Crc<u32, Table<1>> = Crc::<u32, Table<1>>::new(&CRC_32_ISCSI);

/// What stands between blocks is blank in units of this size, as nothing writes less.
const GAP_BYTES: u64 = 512;

/// Blocks longer than a sample that are looked for where no header was seen yet, as powers of two.
const LONG_BLOCKS: Range<u32> = 13..23;
/// Blocks that are written together, as far as they are looked for.
const TOGETHER_MAX: usize = 1024;
/// How many lengths are remembered.
const GRIDS_MAX: usize = 8;

/// Data made from a seed are groups of four words: the seed times one each of these. The seed of the next group is this
/// one times [`NEXT_GROUP`].
const WORDS_OF_GROUP: [u64; 4] = [1, 2, 3, 5];
const NEXT_GROUP: u64 = 0x61c8_8646_80b5_83eb;
const WORD_BYTES: u64 = 8;
/// Of the longest header, with its sum.
const HEADER_WORDS_MAX: u64 = 21;

/// The lengths and places of blocks that were met in a survey.
#[derive(Debug, Default)]
pub(super) struct CheckedBlocks {
    grids: Mutex<Vec<Grid>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Grid {
    bytes: u64,
    phase: u64,
}

#[derive(Clone, Copy, Debug)]
struct Header {
    offset: u64,
    bytes: u64,
    seed: u64,
}

impl CheckedBlocks {
    /// Whether a sample holds nothing but such blocks, or parts of them, and gaps.
    pub(super) fn explain(&self, content: &Content<'_>, offset: u64, sample: &[u8]) -> bool {
        let end = offset + sample.len() as u64;
        let (mut at, mut has_block) = (offset, false);
        while at < end {
            let rest = &sample[(at - offset) as usize..];
            if let Some(header) = Header::read(content, at) {
                self.note(header);
                has_block = true;
                at = header.end();
            } else if is_blank(&rest[..rest.len().min(GAP_BYTES as usize)]) {
                at += GAP_BYTES;
            } else if at == offset {
                let Some(around) = self.around(content, offset, rest) else {
                    return false;
                };
                has_block = true;
                at = around.end();
            } else {
                return false;
            }
        }
        // Gaps of zeros beside gaps of ones are no gaps.
        has_block
    }

    fn note(&self, header: Header) {
        let mut grids = self.grids.lock().unwrap_or_else(PoisonError::into_inner);
        let grid = Grid {
            bytes: header.bytes,
            phase: header.offset % header.bytes,
        };
        if grids.len() < GRIDS_MAX && !grids.contains(&grid) {
            grids.push(grid);
        }
    }

    /// The block that began before `at` and of which the data from there on are a part.
    fn around(&self, content: &Content<'_>, at: u64, data: &[u8]) -> Option<Header> {
        let seen = self
            .grids
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let usual = LONG_BLOCKS.map(|power| Grid {
            bytes: 1 << power,
            phase: 0,
        });
        let mut headers = seen.iter().copied().chain(usual).filter_map(|grid| {
            let start = at - at.checked_sub(grid.phase)? % grid.bytes;
            Header::read(content, start).filter(|header| header.end() > at)
        });
        headers.find(|header| {
            let filled_from = header.first_of_transfer(content);
            header.is_followed_by(at, data, filled_from)
        })
    }
}

impl Header {
    /// The header that stands at `at` and says so.
    fn read(content: &Content<'_>, at: u64) -> Option<Self> {
        let head = content.get(at, HEADER_BYTES)?;
        let eight = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().expect("8 bytes"));
        let first = eight(0);
        let (magic, method, bytes) = (first as u16, (first >> 16) as u16, first >> 32);
        let sum = (eight(SUM_AT - 4) >> 32) as u32;
        let header = Self {
            offset: eight(16),
            bytes,
            seed: eight(8),
        };
        let is_one = magic == MAGIC
            && METHODS.contains(&method)
            && header.offset == at
            && bytes >= HEADER_BYTES as u64
            && header.end() <= content.bytes()
            // The sum is kept without the complement at its end.
            && !CRC32C.checksum(&head[..SUM_AT]) == sum;
        is_one.then_some(header)
    }

    fn end(&self) -> u64 {
        self.offset + self.bytes
    }

    /// Blocks that were written together have one seed, and are filled as if they were one.
    fn first_of_transfer(&self, content: &Content<'_>) -> u64 {
        let before = |at: &u64| {
            let at = at.checked_sub(self.bytes)?;
            let header = Header::read(content, at)?;
            (header.seed == self.seed && header.bytes == self.bytes).then_some(at)
        };
        let starts = std::iter::successors(Some(self.offset), before);
        starts.take(TOGETHER_MAX).last().unwrap_or(self.offset)
    }

    /// Whether data at `at`, as far as they belong to this block, are made from its seed, by which
    /// everything was filled from `filled_from` on.
    fn is_followed_by(&self, at: u64, data: &[u8], filled_from: u64) -> bool {
        let from = at - filled_from;
        let inside = (self.end() - at).min(data.len() as u64).min(BLOCK_BYTES);
        let words = data[..inside as usize].chunks(WORD_BYTES as usize);
        let first = (self.offset - filled_from) / WORD_BYTES;
        let mut number = from / WORD_BYTES;
        from.is_multiple_of(WORD_BYTES)
            && words.into_iter().all(|word| {
                let group = (number / 4) as u32;
                let seed = self.seed.wrapping_mul(NEXT_GROUP.wrapping_pow(group));
                let expected = seed.wrapping_mul(WORDS_OF_GROUP[(number % 4) as usize]);
                let is_of_header = number < first + HEADER_WORDS_MAX;
                number += 1;
                is_of_header || word == &expected.to_le_bytes()[..word.len()]
            })
    }
}
