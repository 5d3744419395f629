//! How far a sequence has come that operations share.
use crate::own::Own;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A sequence: that of all directions, or that of one of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Track {
    pub cursor: Own<AtomicU64>,
    /// Of the last transfer, where others may repeat its place.
    pub last: Own<AtomicU64>,
}

impl Track {
    pub(super) fn from(start: u64) -> Self {
        Self {
            cursor: Own::<AtomicU64>::new(start),
            last: Own::<AtomicU64>::new(0),
        }
    }

    /// It goes on at `relative`.
    #[inline]
    pub(super) fn move_to(&self, relative: u64) {
        self.cursor.store(relative, Relaxed);
    }

    /// A transfer begins there, and others will repeat its place.
    pub(super) fn note(&self, relative: u64) {
        self.last.store(relative, Relaxed);
    }

    /// Where the last transfer began.
    pub(super) fn noted(&self) -> u64 {
        self.last.load(Relaxed)
    }

    /// Where the last transfer ended.
    pub(super) fn position(&self) -> u64 {
        self.cursor.load(Relaxed)
    }
}
