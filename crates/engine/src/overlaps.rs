//! Which bytes of a stream are in flight, where none of them may be in flight twice. Streams without
//! that rule have none of this.
use crate::op::Op;
use std::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// The ranges of one stream that are in flight.
#[derive(Debug)]
pub(crate) struct Overlaps {
    /// One worker at a time enters a range; the others come again.
    is_taken: AtomicBool,
    /// One for each slot.
    ranges: Vec<Range>,
}

/// Free where `end` is zero.
#[derive(Debug, Default)]
struct Range {
    place: AtomicU32,
    from: AtomicU64,
    end: AtomicU64,
}

impl Overlaps {
    pub(crate) fn new(slots: u32) -> Self {
        Self {
            is_taken: AtomicBool::new(false),
            ranges: (0..slots).map(|_| Range::default()).collect(),
        }
    }

    /// Enters what was drawn, unless something in flight shares a byte with it or another worker is
    /// about to enter something; whether it may go out.
    pub(crate) fn enter(&self, op: &Op) -> bool {
        if self.is_taken.swap(true, Acquire) {
            return false;
        }
        let end = op.offset + u64::from(op.length);
        let is_clear = !self.ranges.iter().any(|range| {
            op.offset < range.end.load(Acquire)
                && range.from.load(Relaxed) < end
                && range.place.load(Relaxed) == op.object.place
        });
        let is_free = |range: &&Range| range.end.load(Acquire) == 0;
        let free = self.ranges.iter().find(is_free).filter(|_| is_clear);
        if let Some(range) = free {
            range.place.store(op.object.place, Relaxed);
            range.from.store(op.offset, Relaxed);
            range.end.store(end, Release);
        }
        self.is_taken.store(false, Release);
        free.is_some()
    }

    /// What began there is back.
    pub(crate) fn leave(&self, place: u32, offset: u64) {
        let is_it = |range: &&Range| {
            range.end.load(Acquire) > 0
                && range.from.load(Relaxed) == offset
                && range.place.load(Relaxed) == place
        };
        // What a sync leaves was never entered.
        if let Some(range) = self.ranges.iter().find(is_it) {
            range.end.store(0, Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::{Cause, Object};
    use plan::Operation;

    fn at(place: u32, offset: u64) -> Op {
        Op {
            kind: Operation::Write,
            cause: Cause::Drawn,
            object: Object { stream: 0, place },
            offset,
            length: 4096,
        }
    }

    #[test]
    fn what_shares_a_byte_waits_until_the_other_is_back() {
        let overlaps = Overlaps::new(4);
        assert!(overlaps.enter(&at(0, 8192)));
        for offset in [4097, 8192, 12_287] {
            assert!(!overlaps.enter(&at(0, offset)), "{offset}");
        }
        assert!(
            overlaps.enter(&at(0, 4096)),
            "it ends where the other begins"
        );
        assert!(overlaps.enter(&at(1, 8192)), "on another target");
        overlaps.leave(0, 8192);
        assert!(overlaps.enter(&at(0, 8193)));
        assert!(overlaps.enter(&at(2, 0)));
        assert!(!overlaps.enter(&at(3, 0)), "no more than there are slots");
    }
}
