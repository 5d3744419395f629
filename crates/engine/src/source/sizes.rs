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
        }
    }
}
