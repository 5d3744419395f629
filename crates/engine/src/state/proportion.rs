//! Streams that are held in the proportion of their shares.
use super::stream::SharedStream;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How far a stream may run ahead of the slowest one when their proportions are held, in
/// operations of the run.
const PROPORTION_WINDOW: f64 = 256.0;

/// Keeps the streams of a run in the proportion of their shares.
#[derive(Debug)]
pub(crate) struct Proportion {
    /// By stream; `None` for those that follow a schedule.
    pub per_share: Vec<Option<f64>>,
    /// A lower bound of the slowest stream's progress, as bits of an f64.
    pub slowest: AtomicU64,
}

impl Proportion {
    /// Whether stream `number` may issue now without leaving the slowest too far behind.
    pub(crate) fn allows(&self, number: usize, streams: &[SharedStream]) -> bool {
        let progress = |number: usize| {
            let per_share = self.per_share[number]?;
            Some(streams[number].next_index.load(Relaxed) as f64 * per_share)
        };
        let Some(mine) = progress(number) else {
            return true;
        };
        if mine <= f64::from_bits(self.slowest.load(Relaxed)) + PROPORTION_WINDOW {
            return true;
        }
        let active = (0..streams.len()).filter(|n| !streams[*n].ended.load(Relaxed));
        let slowest = active.filter_map(progress).fold(f64::INFINITY, f64::min);
        if slowest.is_finite() {
            self.slowest.store(slowest.to_bits(), Relaxed);
        }
        mine <= slowest + PROPORTION_WINDOW
    }
}
