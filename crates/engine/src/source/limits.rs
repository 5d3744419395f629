//! After how many operations or bytes a stream ends.
use crate::own::Own;
use plan::LocalStop;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[derive(Clone, Debug)]
pub(super) struct Limits {
    stop: LocalStop,
    bytes_left: Own<AtomicU64>,
}

impl Limits {
    pub(super) fn new(stop: LocalStop) -> Self {
        Self {
            stop,
            bytes_left: Own::<AtomicU64>::new(stop.bytes.unwrap_or(u64::MAX)),
        }
    }

    pub(super) fn has_any(&self) -> bool {
        let stop = &self.stop;
        stop.bytes.is_some() || stop.operations.is_some() || stop.when_full
    }

    pub(super) fn ends_when_full(&self) -> bool {
        self.stop.when_full
    }

    #[inline]
    pub(super) fn operations(&self) -> u64 {
        self.stop.operations.unwrap_or(u64::MAX)
    }

    pub(super) fn are_spent(&self, index: u64) -> bool {
        index >= self.operations() || self.bytes_left.load(Relaxed) == 0
    }

    /// What is left to move of a length, by so many operations; `None` at the end of the stream.
    #[inline]
    pub(super) fn take_bytes(&self, length: u32, times: u64) -> Option<u32> {
        if self.stop.bytes.is_none() {
            return Some(length);
        }
        let all = u64::from(length) * times;
        let take = |left: u64| (left > 0).then(|| left.saturating_sub(all));
        let before = self.bytes_left.fetch_update(Relaxed, Relaxed, take).ok()?;
        if self.stop.whole {
            return Some(length);
        }
        Some(length.min(before.min(u64::from(u32::MAX)) as u32))
    }
}
