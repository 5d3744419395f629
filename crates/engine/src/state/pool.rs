//! One pool as its workers see it: how many of its slots are in use, and for how long none was free.
use super::slabs::SLABS;
use measure::Sharing;
use plan::PoolAdmission;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// One pool over all workers.
#[derive(Debug)]
pub(crate) struct SharedPool {
    pub slots: u32,
    pub admission: PoolAdmission,
    pub sharing: Sharing,
    /// The stream that is next to issue, of those in the pool.
    pub turn: AtomicUsize,
    pub in_use: AtomicU32,
    /// Since when no slot is free; zero while one is.
    pub exhausted_since_ns: AtomicU64,
    pub exhausted_ns: AtomicU64,
    /// When a slot was given back last while none was free.
    pub relieved_ns: AtomicU64,
    /// How long operations that failed were in flight, by slab; latencies are of those that succeeded.
    pub failed_ns: [AtomicU64; SLABS],
}

impl SharedPool {
    /// Counts a slot as used, and notes when that was the last free one.
    #[inline]
    pub(crate) fn take(&self, now_ns: u64) {
        let before = match self.sharing {
            Sharing::OneWriter => {
                let before = self.in_use.load(Relaxed);
                self.in_use.store(before + 1, Relaxed);
                before
            }
            Sharing::ManyWriters => self.in_use.fetch_add(1, Relaxed),
        };
        if before + 1 == self.slots {
            self.exhausted_since_ns.store(now_ns, Relaxed);
        }
    }

    #[inline]
    pub(crate) fn give_back(&self, count: u32, now_ns: u64) {
        let before = match self.sharing {
            Sharing::OneWriter => {
                let before = self.in_use.load(Relaxed);
                self.in_use.store(before - count, Relaxed);
                before
            }
            Sharing::ManyWriters => self.in_use.fetch_sub(count, Relaxed),
        };
        if before == self.slots {
            let since = self.exhausted_since_ns.swap(0, Relaxed);
            self.relieved_ns.store(now_ns, Relaxed);
            if since > 0 {
                self.exhausted_ns
                    .fetch_add(now_ns.saturating_sub(since), Relaxed);
            }
        }
    }

    /// Whether an arrival of that time, which has a slot by now, had one free from the first.
    #[inline]
    pub(crate) fn was_free_at(&self, arrival_ns: u64) -> bool {
        self.relieved_ns.load(Relaxed) <= arrival_ns
    }

    /// Time without a free slot up to `at_ns`.
    pub(crate) fn exhausted_until(&self, at_ns: u64) -> u64 {
        let running_ns = match self.exhausted_since_ns.load(Relaxed) {
            0 => 0,
            since_ns => at_ns.saturating_sub(since_ns),
        };
        self.exhausted_ns.load(Relaxed) + running_ns
    }
}
