//! Which blocks a pass has visited, for transfers of several sizes: one that would reach into a
//! visited block ends before it, so that each block is visited once and all of them are.
//!
//! A bit for each block, and above them bits of full words in levels, so that the next block that is
//! free is found in a few steps wherever it lies. All memory is taken before the run.
use crate::own::Own;
use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

const WORD_BITS: u64 = 64;

/// The visited blocks of one space.
#[derive(Clone, Debug)]
pub(super) struct Visits {
    /// Bytes of a block.
    pub unit: u64,
    pub blocks: u64,
    /// Whether the stream ends with its pass.
    stops: bool,
    /// Of blocks, of words of blocks, and so on up to a single word. A bit above is set only when
    /// the word below is full; a full word may lack its bit for a moment.
    levels: Vec<Level>,
    is_clearing: Own<AtomicBool>,
}

#[derive(Clone, Debug)]
struct Level {
    bits: u64,
    words: Box<[Own<AtomicU64>]>,
}

impl Visits {
    /// Of `blocks` blocks, at least one, none of them visited.
    pub(super) fn new(blocks: u64, unit: u64, stops: bool) -> Self {
        let mut levels = vec![Level::new(blocks.max(1))];
        while let Some(last) = levels.last().filter(|last| last.words.len() > 1) {
            let next = Level::new(last.words.len() as u64);
            levels.push(next);
        }
        Self {
            unit,
            blocks: blocks.max(1),
            stops,
            levels,
            is_clearing: Own::<AtomicBool>::new(false),
        }
    }

    /// Visits the first free block from `from` on, around the end, and those behind it as far as
    /// they are free and `wanted`, which is told the first, asks for. The first and how many;
    /// `None` when all are visited and the stream ends with its pass.
    pub(super) fn visit(&self, from: u64, wanted: impl Fn(u64) -> u64) -> Option<(u64, u64)> {
        loop {
            let free = self.free(0, from).or_else(|| self.free(0, 0));
            let Some(first) = free else {
                if self.stops {
                    return None;
                }
                self.begin_pass();
                continue;
            };
            let count = self.take(first, wanted(first).max(1));
            if count > 0 {
                return Some((first, count));
            }
        }
    }

    /// Whether every block is visited.
    pub(super) fn is_full(&self) -> bool {
        self.free(0, 0).is_none()
    }

    /// Forgets the visits of a pass that is complete.
    pub(super) fn begin_pass(&self) {
        if self.is_clearing.swap(true, AcqRel) {
            // Somebody else is at it; what is clear already can be visited.
            std::hint::spin_loop();
            return;
        }
        if self.is_full() {
            for level in &self.levels {
                level.clear();
            }
        }
        self.is_clearing.store(false, Release);
    }

    /// Forgets all visits; only the first `blocks` can be visited from now on.
    pub(super) fn reset(&self, blocks: u64) {
        for level in &self.levels {
            level.clear();
        }
        if blocks < self.blocks {
            self.take(blocks, self.blocks - blocks);
        }
    }

    /// The first clear bit of a level from a place on.
    fn free(&self, level: usize, from: u64) -> Option<u64> {
        let this = &self.levels[level];
        let mut at = from;
        while at < this.bits {
            let (word, bit) = (at / WORD_BITS, at % WORD_BITS);
            let clear = !this.words[word as usize].load(Acquire) & (u64::MAX << bit);
            if clear != 0 {
                return Some(word * WORD_BITS + u64::from(clear.trailing_zeros()));
            }
            at = match level + 1 < self.levels.len() {
                true => self.free(level + 1, word + 1)? * WORD_BITS,
                false => (word + 1) * WORD_BITS,
            };
        }
        None
    }

    /// Sets bits from `first` on until one is set already, `count` at most.
    fn take(&self, first: u64, count: u64) -> u64 {
        let mut taken = 0;
        while taken < count && first + taken < self.blocks {
            let at = first + taken;
            let (word, bit) = (at / WORD_BITS, at % WORD_BITS);
            let wanted = (count - taken).min(WORD_BITS - bit);
            let got = self.take_in_word(word, bit, wanted);
            taken += got;
            if got < wanted {
                break;
            }
        }
        taken
    }

    fn take_in_word(&self, word: u64, bit: u64, wanted: u64) -> u64 {
        let words = &self.levels[0].words[word as usize];
        let mut before = words.load(Acquire);
        loop {
            let free = u64::from((before >> bit).trailing_zeros()).min(wanted);
            if free == 0 {
                return 0;
            }
            let after = before | (u64::MAX >> (WORD_BITS - free)) << bit;
            match words.compare_exchange_weak(before, after, AcqRel, Acquire) {
                Ok(_) => {
                    if after == u64::MAX {
                        self.fill(1, word);
                    }
                    return free;
                }
                Err(now) => before = now,
            }
        }
    }

    /// Notes in a level that a word below is full.
    fn fill(&self, level: usize, place: u64) {
        let (Some(this), below) = (self.levels.get(level), &self.levels[level - 1]) else {
            return;
        };
        let (word, bit) = (place / WORD_BITS, 1 << (place % WORD_BITS));
        let before = this.words[word as usize].fetch_or(bit, AcqRel);
        // A pass may have begun in between.
        if below.words[place as usize].load(Acquire) != u64::MAX {
            this.words[word as usize].fetch_and(!bit, AcqRel);
        } else if before | bit == u64::MAX {
            self.fill(level + 1, word);
        }
    }
}

impl Level {
    /// Bits beyond the last are set, so that every word can be full.
    fn new(bits: u64) -> Self {
        let words = bits.div_ceil(WORD_BITS);
        let level = Self {
            bits,
            words: (0..words).map(|_| Own::<AtomicU64>::new(0)).collect(),
        };
        level.clear();
        level
    }

    fn clear(&self) {
        for word in &self.words {
            word.store(0, Release);
        }
        let used = self.bits % WORD_BITS;
        if let Some(last) = self.words.last().filter(|_| used > 0) {
            last.store(u64::MAX << used, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn every_block_is_visited_once_whatever_the_lengths() {
        for blocks in [1, 63, 64, 65, 4096, 4097, 300_001] {
            let visits = Visits::new(blocks, 512, true);
            let mut seen = vec![0_u8; blocks as usize];
            let (mut from, mut number) = (7_u64, 0_u64);
            while let Some((first, count)) = visits.visit(from % blocks, |_| 1 + number % 200) {
                for block in &mut seen[first as usize..(first + count) as usize] {
                    *block += 1;
                }
                from = from.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1) >> 1;
                number += 1;
            }
            assert!(seen.iter().all(|count| *count == 1), "{blocks} blocks");
            assert!(visits.is_full());
        }
    }

    #[test]
    fn a_transfer_ends_before_a_visited_block() {
        let visits = Visits::new(1000, 512, false);
        assert_eq!(visits.visit(130, |_| 3), Some((130, 3)));
        assert_eq!(visits.visit(60, |_| 200), Some((60, 70)));
        assert_eq!(visits.visit(60, |_| 5), Some((133, 5)));
        assert_eq!(visits.visit(990, |_| 50), Some((990, 10)));
        assert_eq!(visits.visit(995, |_| 50), Some((0, 50)));
    }

    #[test]
    fn threads_share_passes_without_visiting_twice() {
        let blocks = 20_000;
        let visits = Visits::new(blocks, 512, true);
        let seen: Vec<AtomicU32> = (0..blocks).map(|_| AtomicU32::new(0)).collect();
        std::thread::scope(|scope| {
            for thread in 0..4_u64 {
                let (visits, seen) = (&visits, &seen);
                scope.spawn(move || {
                    let mut from = thread;
                    while let Some((first, count)) = visits.visit(from % blocks, |_| 1 + from % 9) {
                        for block in &seen[first as usize..(first + count) as usize] {
                            block.fetch_add(1, Relaxed);
                        }
                        from = from.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1) >> 1;
                    }
                });
            }
        });
        assert!(seen.iter().all(|count| count.load(Relaxed) == 1));
    }

    #[test]
    fn a_pass_follows_a_pass() {
        let visits = Visits::new(5000, 512, false);
        for pass in 0..3 {
            let mut left = 5000;
            while left > 0 {
                let (_, count) = visits.visit(left * 7 % 5000, |_| 16).unwrap();
                left -= count;
            }
            assert!(visits.is_full(), "pass {pass}");
        }
    }
}
