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

    /// Whether an arrival of that time, which has a slot by now, had one free from the first. A slot that goes out again
    /// as it comes back relieves nobody: the pool is without a free one all the while. Whoever takes the last one as it is
    /// due had it free.
    #[inline]
    pub(crate) fn was_free_at(&self, arrival_ns: u64) -> bool {
        let since_ns = self.exhausted_since_ns.load(Relaxed);
        let is_exhausted = since_ns != 0 && since_ns < arrival_ns;
        !is_exhausted && self.relieved_ns.load(Relaxed) <= arrival_ns
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

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(slots: u32) -> SharedPool {
        SharedPool {
            slots,
            admission: PoolAdmission::FirstCome,
            sharing: Sharing::OneWriter,
            turn: AtomicUsize::new(0),
            in_use: AtomicU32::new(0),
            exhausted_since_ns: AtomicU64::new(0),
            exhausted_ns: AtomicU64::new(0),
            relieved_ns: AtomicU64::new(0),
            failed_ns: Default::default(),
        }
    }

    #[test]
    fn an_arrival_that_waited_for_a_slot_had_none_free() {
        let pool = pool(2);
        pool.take(10);
        assert!(pool.was_free_at(5));
        pool.take(20);
        // The slots go out again as they come back, and the pool is told of none.
        assert!(pool.was_free_at(15), "it was due while one was free");
        assert!(pool.was_free_at(20) && !pool.was_free_at(25));
        pool.give_back(1, 30);
        assert!(!pool.was_free_at(25));
        assert!(pool.was_free_at(35));
        assert_eq!(pool.exhausted_until(40), 10);
    }
}
