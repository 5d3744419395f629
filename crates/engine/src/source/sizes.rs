//! How much an operation moves.
use crate::random::{Draws, share_limit};
use plan::TransferSizes;

#[derive(Clone, Debug)]
pub(crate) enum Sizes {
    Fixed(u32),
    /// Upper limits of 64 random bits with their sizes, ascending.
    Table(Vec<(u64, u32)>),
    Uniform {
        min: u64,
        step: u64,
        steps: u64,
    },
    Capped {
        min: u64,
        max: u64,
        step: u64,
    },
}

/// What of a length has room.
#[inline]
pub(super) fn cut(length: u32, room: u64) -> u32 {
    length.min(room.min(u64::from(u32::MAX)) as u32)
}

impl Sizes {
    pub(crate) fn new(sizes: &TransferSizes) -> Self {
        match sizes {
            TransferSizes::Fixed(bytes) => Sizes::Fixed(*bytes as u32),
            TransferSizes::Uniform { min, max, step } => Sizes::Uniform {
                min: *min,
                step: *step,
                steps: (max - min) / (*step).max(1) + 1,
            },
            TransferSizes::Capped { min, max, step } => Sizes::Capped {
                min: *min,
                max: *max,
                step: *step,
            },
            TransferSizes::Mix(shares) => {
                let mut sum_pct = 0.0;
                let table = shares.iter().map(|share| {
                    sum_pct += share.pct;
                    (share_limit(sum_pct), share.bytes as u32)
                });
                Sizes::Table(table.collect())
            }
        }
    }

    #[inline]
    pub(crate) fn draw(&self, draws: Draws, index: u64) -> u32 {
        match self {
            Sizes::Fixed(bytes) => *bytes,
            Sizes::Uniform { min, step, steps } => (min + draws.below(index, *steps) * step) as u32,
            Sizes::Table(table) => {
                let draw = draws.at(index);
                let found = table
                    .iter()
                    .find(|(limit, _)| draw < *limit)
                    .or(table.last());
                found.expect("a mix has a size").1
            }
            Sizes::Capped { min, max, step } => {
                let more = draws.below(index, *max);
                (min + more - more % step).min(*max) as u32
            }
        }
    }

    /// One of those that have room; `None` where none has.
    #[cold]
    pub(crate) fn draw_within(&self, room: u64, draws: Draws, index: u64) -> Option<u32> {
        let steps = |min: u64, step: u64| Some(room.checked_sub(min)? / step + 1);
        match self {
            Sizes::Fixed(bytes) => Some(*bytes).filter(|bytes| u64::from(*bytes) <= room),
            Sizes::Uniform { min, step, .. } => {
                let chosen = draws.below(index, steps(*min, *step)?);
                Some((min + chosen * step) as u32)
            }
            Sizes::Capped { min, max, step } => {
                let more = draws.below(index, (steps(*min, *step)? * step).min(*max));
                Some((min + more - more % step).min(*max) as u32)
            }
            Sizes::Table(table) => {
                let mut before = 0;
                let shares = table.iter().map(|(limit, bytes)| {
                    let share = limit - std::mem::replace(&mut before, *limit);
                    (share, *bytes)
                });
                let fits: Vec<(u64, u32)> = shares
                    .filter(|(_, bytes)| u64::from(*bytes) <= room)
                    .collect();
                let sum: u64 = fits.iter().map(|(share, _)| share).sum();
                let mut left = ((u128::from(draws.at(index)) * u128::from(sum)) >> 64) as u64;
                let found = fits
                    .iter()
                    .find(|(share, _)| match left.checked_sub(*share) {
                        None => true,
                        Some(rest) => {
                            left = rest;
                            false
                        }
                    });
                found.or(fits.last()).map(|(_, bytes)| *bytes)
            }
        }
    }
}
