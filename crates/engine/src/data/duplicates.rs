//! Duplicates by address: which blocks of a pool of targets are unique and which belong to a set, so
//! that a full pass writes the ratio exactly.
//!
//! With B blocks, S sets and p = 100 ÷ ratio, p − 100·S/B percent of the blocks are unique, as
//! Vdbench divides them; the rest are members of the sets in turn. Where its table of random blocks
//! would be, each 256 blocks have their share of unique ones at places that a permutation says, so
//! no table is needed, and no set stays empty.
use super::noise::Part;
use crate::generations::{Bits, Writing};
use crate::random::{GOLDEN, fold, mix};
use plan::{DuplicatePool, DuplicatePoolId, ReplacePolicy, TargetId};
use std::ops::Range;
use std::sync::Arc;

const WINDOW_BITS: u32 = 8;
const WINDOW: u64 = 1 << WINDOW_BITS;

/// What the keys of sets begin with, so that no write number gives the same.
const SETS: u64 = u64::MAX;

/// How the blocks of a pool are divided.
#[derive(Clone, Debug)]
struct Division {
    /// Unique blocks of all that belong to no hot set, as a fraction of 2⁶⁴.
    unique: u64,
    all_unique: bool,
    /// Sets that are not hot.
    sets: u64,
    /// For each group of hot sets: its first hot block, the blocks of each set, its first set.
    hot: Vec<(u64, u64, u64)>,
    hot_blocks: u64,
    hot_sets: u64,
}

/// What one target of a stream gets.
#[derive(Debug)]
pub(super) struct AddressLaw {
    division: Arc<Division>,
    unit: u64,
    blocks: u64,
    /// Which of the targets of the pool it is, and how many there are, where hot blocks take turns.
    turn: (u64, u64),
    hot: u64,
    /// Blocks of earlier targets that belong to no hot set.
    cold_before: u64,
    replace: ReplacePolicy,
    bits: Option<Arc<Bits>>,
    /// Of unique blocks where equal addresses of targets hold equal data.
    shared_unique: Option<u64>,
    set_key: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Block {
    Unique,
    Set { number: u64, is_hot: bool },
}

/// The laws of the targets of a stream.
pub(super) fn laws(
    writing: &Writing<'_>,
    stream: usize,
    pool: DuplicatePoolId,
    seed: u64,
    run: u64,
) -> Vec<AddressLaw> {
    let pool = &writing.plan.plan.duplicate_pools[pool.index()];
    let blocks_of = |target: TargetId| writing.plan.targets[target.index()].bytes / pool.unit_bytes;
    let targets = &writing.run.run.streams[stream].targets;
    let law = |target: &TargetId| {
        let members: Vec<u64> = if pool.across_targets {
            pool.targets
                .iter()
                .map(|member| blocks_of(*member))
                .collect()
        } else {
            vec![blocks_of(*target)]
        };
        let place = match pool.across_targets {
            true => pool.targets.iter().position(|member| member == target),
            false => Some(0),
        };
        let place = place.expect("a pool holds the targets of the streams that use it");
        let law = AddressLaw::new(pool, &members, place, seed, run);
        let remembered = match pool.replace {
            _ if !pool.across_targets => law.blocks,
            ReplacePolicy::SameContent => 0,
            ReplacePolicy::Alternate => law.blocks,
            ReplacePolicy::AlternateHotOnly => law.hot,
        };
        if remembered == 0 {
            return law;
        }
        let bytes = remembered * pool.unit_bytes;
        law.with_bits(writing.generations.of(*target, bytes))
    };
    targets.iter().map(law).collect()
}

impl Division {
    fn new(pool: &DuplicatePool, blocks: u64) -> Self {
        let sets = pool.sets.of(blocks);
        let mut hot = Vec::new();
        let (mut hot_blocks, mut hot_sets) = (0, 0);
        for (sets, each) in &pool.hot_sets {
            hot.push((hot_blocks, *each, hot_sets));
            hot_blocks += sets * each;
            hot_sets += sets;
        }
        let ratio = pool.ratio.max(1.0);
        let unique = (blocks as f64 / ratio - sets as f64).max(0.0);
        let cold = blocks.saturating_sub(hot_blocks).max(1);
        let share = (unique / cold as f64).min(1.0);
        Self {
            unique: (share * 18_446_744_073_709_551_616.0) as u64,
            all_unique: ratio <= 1.0 || share >= 1.0,
            sets: sets.saturating_sub(hot_sets).max(1),
            hot,
            hot_blocks,
            hot_sets,
        }
    }

    /// Unique blocks among the first `count` that belong to no hot set.
    #[inline]
    fn unique_before(&self, count: u64) -> u64 {
        ((u128::from(self.unique) * u128::from(count)) >> 64) as u64
    }

    /// The block that is number `at` of those in no hot set.
    #[inline]
    fn cold(&self, at: u64, seed: u64) -> Block {
        if self.all_unique {
            return Block::Unique;
        }
        let window = at >> WINDOW_BITS;
        let begin = window << WINDOW_BITS;
        let before = self.unique_before(begin);
        let unique = self.unique_before(begin + WINDOW) - before;
        let place = permuted(at & (WINDOW - 1), mix(seed ^ window.wrapping_mul(GOLDEN)));
        if place < unique {
            return Block::Unique;
        }
        let rank = begin - before + (place - unique);
        Block::Set {
            number: self.hot_sets + rank % self.sets,
            is_hot: false,
        }
    }

    fn hot(&self, at: u64) -> Block {
        let group = self.hot.iter().rev().find(|group| group.0 <= at);
        let (first, each, set) = group.expect("the first group begins with the first block");
        Block::Set {
            number: set + (at - first) / each,
            is_hot: true,
        }
    }
}

/// A permutation of a window, by its key.
#[inline]
fn permuted(place: u64, key: u64) -> u64 {
    let mask = WINDOW - 1;
    let first = (place.wrapping_mul(key | 1).wrapping_add(key >> 8)) & mask;
    let mixed = first ^ (first >> (WINDOW_BITS / 2));
    (mixed.wrapping_mul(key >> 16 | 1).wrapping_add(key >> 24)) & mask
}

impl AddressLaw {
    /// The target at `place` of those with so many blocks each.
    pub(super) fn new(
        pool: &DuplicatePool,
        members: &[u64],
        place: usize,
        seed: u64,
        run: u64,
    ) -> Self {
        let division = Division::new(pool, members.iter().sum());
        let count = members.len() as u64;
        let hot_of = |at: usize| {
            let turns = division.hot_blocks.saturating_sub(at as u64);
            turns.div_ceil(count).min(members[at])
        };
        let set_key = fold(mix(seed), SETS);
        Self {
            unit: pool.unit_bytes,
            blocks: members[place],
            turn: (place as u64, count),
            hot: hot_of(place),
            cold_before: (0..place).map(|at| members[at] - hot_of(at)).sum(),
            replace: pool.replace,
            bits: None,
            shared_unique: (!pool.across_targets).then(|| fold(mix(seed), run)),
            set_key,
            division: Arc::new(division),
        }
    }

    pub(super) fn with_bits(self, bits: Arc<Bits>) -> Self {
        Self {
            bits: Some(bits),
            ..self
        }
    }

    /// Where in its block an address lies.
    #[inline]
    pub(super) fn within(&self, offset: u64) -> u64 {
        offset % self.unit
    }

    #[inline]
    fn block(&self, number: u64) -> Block {
        if number < self.hot {
            return self.division.hot(number * self.turn.1 + self.turn.0);
        }
        if number >= self.blocks {
            return Block::Unique;
        }
        self.division
            .cold(self.cold_before + number - self.hot, self.set_key)
    }

    /// Goes through a transfer in parts that have one key each. `fresh` is a key that no other
    /// write has.
    #[inline]
    pub(super) fn each_part(
        &self,
        offset: u64,
        mut buffer: &mut [u8],
        fresh: u64,
        mut each: impl FnMut(Part<'_>),
    ) {
        let whole = self.unit as usize;
        let mut at = offset;
        while !buffer.is_empty() {
            let (number, first) = (at / self.unit, (at % self.unit) as usize);
            let length = (whole - first).min(buffer.len());
            let (to, rest) = buffer.split_at_mut(length);
            let (key, alternates) = match self.block(number) {
                Block::Unique => match self.shared_unique {
                    None => (fold(fresh, number), false),
                    Some(key) => (fold(key, number), number < self.blocks),
                },
                Block::Set { number, is_hot } => {
                    (fold(self.set_key, number), self.alternates(is_hot))
                }
            };
            if alternates {
                let block = number * self.unit;
                self.each_generation(at..at + length as u64, block, to, key, &mut each);
            } else {
                each(Part {
                    to,
                    first,
                    whole,
                    key,
                    has_tails: false,
                });
            }
            at += length as u64;
            buffer = rest;
        }
    }

    fn alternates(&self, is_hot: bool) -> bool {
        match self.replace {
            ReplacePolicy::SameContent => false,
            ReplacePolicy::Alternate => true,
            ReplacePolicy::AlternateHotOnly => is_hot,
        }
    }

    fn each_generation(
        &self,
        bytes: Range<u64>,
        block: u64,
        to: &mut [u8],
        key: u64,
        each: &mut impl FnMut(Part<'_>),
    ) {
        let bits = self.bits.as_ref().expect("what alternates is remembered");
        let start = bytes.start;
        bits.turn(bytes, |part, variant| {
            let (from, end) = ((part.start - start) as usize, (part.end - start) as usize);
            each(Part {
                to: &mut to[from..end],
                first: (part.start - block) as usize,
                whole: self.unit as usize,
                // The first content of a set is the one that it has where nothing alternates.
                key: if variant == 0 {
                    key
                } else {
                    fold(key, variant)
                },
                has_tails: false,
            });
        });
    }
}
