//! The slots of one pool that a worker has free.
use crate::state::{SharedPool, SharedRun};
use plan::Operation;

const HOLDS_READ: usize = 0;
const HOLDS_OWN: usize = 1;

#[derive(Debug)]
pub(crate) struct FreeSlots {
    /// Of the run.
    pub pool: usize,
    /// By what their buffers hold: what was read, and our own data. Reads prefer the former and writes the latter, so
    /// that buffers rarely have to be filled again.
    free: [Vec<u32>; 2],
    /// Slots that came back in this step and are not yet given back to the pool: most go out again in the same step,
    /// and the count that all workers share is then left alone.
    owed: u32,
}

impl FreeSlots {
    /// The lowest is taken first.
    pub(crate) fn new(pool: usize, mut slots: Vec<u32>) -> Self {
        slots.reverse();
        let own = Vec::with_capacity(slots.len());
        Self {
            pool,
            free: [slots, own],
            owed: 0,
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.free[HOLDS_READ].is_empty() && self.free[HOLDS_OWN].is_empty()
    }

    /// One for an operation; the caller has looked whether there is one.
    #[inline]
    pub(crate) fn take(&mut self, operation: Operation, shared: &SharedRun, now_ns: u64) -> u32 {
        let first = if operation == Operation::Write {
            HOLDS_OWN
        } else {
            HOLDS_READ
        };
        let slot = self.free[first]
            .pop()
            .or_else(|| self.free[1 - first].pop());
        if self.owed > 0 {
            self.owed -= 1;
        } else {
            shared.pools[self.pool].take(now_ns);
        }
        slot.expect("the caller has checked for a free slot")
    }

    /// A slot is back, with or without our own data in its buffer.
    #[inline]
    pub(crate) fn give_back(&mut self, slot: u32, holds_own: bool) {
        let kind = if holds_own { HOLDS_OWN } else { HOLDS_READ };
        self.free[kind].push(slot);
        self.owed += 1;
    }

    /// Tells the pool of slots that came back and did not go out again.
    #[inline]
    pub(crate) fn settle(&mut self, pools: &[SharedPool], now_ns: u64) {
        if self.owed > 0 {
            pools[self.pool].give_back(self.owed, now_ns);
            self.owed = 0;
        }
    }
}
