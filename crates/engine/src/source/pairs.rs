//! Two operations with one place: whichever of them comes first looks for it, and the other takes it.
use crate::own::Own;
use std::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// Pairs that can be under way; far more than slots.
const SLOTS: u64 = 4096;

/// The places of the latest pairs of one space.
#[derive(Clone, Debug)]
pub(super) struct Pairs {
    slots: Box<[Slot]>,
}

#[derive(Clone, Debug, Default)]
struct Slot {
    /// Twice the number of the pair, from 1; one more once its place is known.
    state: Own<AtomicU64>,
    at: Own<AtomicU64>,
    length: Own<AtomicU32>,
}

impl Pairs {
    pub(super) fn new() -> Self {
        Self {
            slots: (0..SLOTS).map(|_| Slot::default()).collect(),
        }
    }

    /// The place of a pair, looked for if nobody has. One that lags behind by all slots looks for a
    /// place of its own.
    pub(super) fn place(&self, number: u64, find: impl FnOnce() -> (u64, u32)) -> (u64, u32) {
        let slot = &self.slots[(number % SLOTS) as usize];
        let sought = (number + 1) * 2;
        let mut state = slot.state.load(Acquire);
        loop {
            if state == sought + 1 {
                return (slot.at.load(Relaxed), slot.length.load(Relaxed));
            }
            if state > sought {
                return find();
            }
            if state == sought {
                std::hint::spin_loop();
                state = slot.state.load(Acquire);
                continue;
            }
            match slot.state.compare_exchange(state, sought, Acquire, Acquire) {
                Ok(_) => {
                    let (at, length) = find();
                    slot.at.store(at, Relaxed);
                    slot.length.store(length, Relaxed);
                    slot.state.store(sought + 1, Release);
                    return (at, length);
                }
                Err(now) => state = now,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_of_a_pair_have_one_place_whoever_comes_first() {
        let pairs = Pairs::new();
        let next = AtomicU64::new(0);
        let found = AtomicU64::new(0);
        let find = || (found.fetch_add(1, Relaxed), 512);
        let all: Vec<Vec<(u64, u64)>> = std::thread::scope(|scope| {
            let work = || {
                let mut mine = Vec::new();
                loop {
                    let index = next.fetch_add(1, Relaxed);
                    if index >= 20_000 {
                        return mine;
                    }
                    mine.push((index / 2, pairs.place(index / 2, find).0));
                }
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        let mut all: Vec<(u64, u64)> = all.into_iter().flatten().collect();
        all.sort_unstable();
        assert!(all.chunks(2).all(|pair| pair[0] == pair[1]));
        let mut places: Vec<u64> = all.chunks(2).map(|pair| pair[0].1).collect();
        places.sort_unstable();
        assert_eq!(places, (0..10_000).collect::<Vec<_>>());
    }
}
