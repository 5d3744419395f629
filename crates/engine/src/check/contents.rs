//! Both contents of a block that is wrong: what was found, and what was written, where that can be
//! made again. Whether it can is no guess, as the sum in the header has to be that of the result.
use super::StreamCheck;
use super::header::Header;
use super::sums::sum;
use crate::data::Remaker;
use measure::{Contents, MisfitKind};
use plan::{CheckMethod, HEADER_BYTES};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What is kept of one stream of a run.
const BYTES_MAX: u64 = 16 << 20;

/// Shorter sums come out by chance; what was written then has to resemble what was found.
const SAFE_SUM_BYTES: usize = 4;

/// Data of fio follow from the seed in the header: groups of four words, the seed times one each of
/// these. The seed of the next group is this one times [`NEXT_GROUP`].
const WORDS_OF_GROUP: [u64; 4] = [1, 2, 3, 5];
const NEXT_GROUP: u64 = 0x61c8_8646_80b5_83eb;

/// Only for streams that keep contents.
#[derive(Debug)]
pub(super) struct Keeper {
    remaker: Remaker,
    bytes_left: AtomicU64,
}

/// A block within the transfer that was read.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Of the transfer.
    pub offset: u64,
    /// Behind the start of the transfer.
    pub at: usize,
    pub transfer_bytes: usize,
}

impl Keeper {
    pub(super) fn new(remaker: Remaker) -> Self {
        Self {
            remaker,
            bytes_left: AtomicU64::new(BYTES_MAX),
        }
    }
}

impl StreamCheck {
    /// Both contents of a block as it was read; nothing where enough is kept already.
    #[cold]
    pub(super) fn contents(
        &self,
        block: &mut [u8],
        place: Place,
        what: MisfitKind,
    ) -> Option<Contents> {
        let keeper = self.keeper.as_ref()?;
        let bytes = block.len() as u64;
        let less = |left: u64| left.checked_sub(bytes);
        keeper
            .bytes_left
            .fetch_update(Relaxed, Relaxed, less)
            .ok()?;
        let found = super::digits(block);
        let expected = match what {
            MisfitKind::Data | MisfitKind::Pattern { .. } => self.expected(keeper, block, place),
            MisfitKind::NotZero { .. } => Some(vec![0; block.len()]),
            _ => None,
        };
        Some(Contents {
            found,
            expected: expected.map(|bytes| super::digits(&bytes)),
        })
    }

    /// What the block held when it was written, if that can be known.
    fn expected(&self, keeper: &Keeper, block: &mut [u8], place: Place) -> Option<Vec<u8>> {
        let length = block.len();
        let patterned = || self.patterned(length, place);
        if self.check.method == CheckMethod::Pattern {
            return patterned();
        }
        self.swap(block);
        let header = block[..self.header_bytes].to_vec();
        self.swap(block);
        let found = block.to_vec();
        let is_written = |made: &Vec<u8>| {
            let sum = sum(self.check.method, &made[self.header_bytes..]);
            let kept = self.header_bytes - HEADER_BYTES;
            let is_equal = header[HEADER_BYTES..] == sum[..kept];
            is_equal && (kept >= SAFE_SUM_BYTES || is_similar(made, &found))
        };
        let seed = Header::read(&header).seed;
        let of_transfer = |at: usize, bytes: usize| {
            let made = keeper.remaker.transfer(bytes, seed);
            made[at..at + length].to_vec()
        };
        let candidates: [&dyn Fn() -> Option<Vec<u8>>; 5] = [
            &patterned,
            &|| Some(of_seed(place.at, length, seed)),
            &|| Some(of_seed(0, length, seed)),
            &|| Some(of_transfer(place.at, place.transfer_bytes)),
            &|| Some(of_transfer(0, length)),
        ];
        let mut made = candidates
            .iter()
            .filter_map(|make| make())
            .find(is_written)?;
        made[..self.header_bytes].copy_from_slice(&header);
        self.swap(&mut made);
        Some(made)
    }

    /// A block of the pattern, where there is one.
    fn patterned(&self, bytes: usize, place: Place) -> Option<Vec<u8>> {
        let pattern = self.pattern.as_ref()?;
        let byte = |at: usize| pattern.byte(place.at + at, place.offset);
        Some((0..bytes).map(byte).collect())
    }
}

fn is_similar(one: &[u8], other: &[u8]) -> bool {
    let equal = one.iter().zip(other).filter(|(one, other)| one == other);
    equal.count() * 2 > one.len()
}

/// The part of a transfer that begins `at` bytes behind its start.
fn of_seed(at: usize, bytes: usize, seed: u64) -> Vec<u8> {
    let next = |seed: &u64| Some(seed.wrapping_mul(NEXT_GROUP));
    let groups = std::iter::successors(Some(seed), next);
    let words = groups.flat_map(|seed| WORDS_OF_GROUP.map(|factor| seed.wrapping_mul(factor)));
    words
        .flat_map(u64::to_le_bytes)
        .skip(at)
        .take(bytes)
        .collect()
}
