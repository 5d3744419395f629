//! Where workers count: a slab for each kind of time in which something is seen.
use crate::handover::HandoverCells;
use measure::{FigureCell, LatencyCell};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts of one stream by one writer or group of writers: slabs for intervals, one for what comes
/// back after the stop, one for the warm-up of the stream, and one for its search of a depth.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub slabs: [Slab; SLABS],
}

/// Slabs for intervals. In time, two of them take turns. When the process was stopped, two intervals
/// may wait to be read while workers count in the next two.
pub(crate) const INTERVALS: usize = 4;

/// How many slabs a recorder has.
pub(crate) const SLABS: usize = INTERVALS + 3;

/// The slab of what comes back after the stop; it belongs to no interval, and its values are ages at
/// the stop.
pub(crate) const AFTER_STOP: usize = INTERVALS;

/// The slab of what is seen in the warm-up of a stream that has its own; it is not measured.
pub(crate) const WARMUP: usize = INTERVALS + 1;

/// The slab of what is seen while a stream looks for its depth; it is measured only where the stream
/// ends before that is found.
pub(crate) const SEARCH: usize = INTERVALS + 2;

/// Which interval each slab for intervals counts. A slab is claimed by the first worker that reaches an
/// interval, and released when the interval was read: a reader that is late by any time still finds each
/// interval apart from the later ones.
#[derive(Debug)]
pub(crate) struct IntervalSlabs {
    /// By slab, the interval (from one); zero when the slab is free.
    owners: [AtomicU64; INTERVALS],
}

impl Default for IntervalSlabs {
    /// Workers begin in the first interval, with the first slab.
    fn default() -> Self {
        Self {
            owners: std::array::from_fn(|slab| AtomicU64::new(u64::from(slab == 0))),
        }
    }
}

impl IntervalSlabs {
    /// The slab that counts an interval (from zero). When none is free, that of the latest interval that
    /// has one: more intervals wait to be read then than there are slabs.
    pub(crate) fn claim(&self, interval: u64) -> usize {
        let owner = interval + 1;
        loop {
            let find = |wanted| {
                let mut owners = self.owners.iter();
                owners.position(|one| one.load(Relaxed) == wanted)
            };
            if let Some(slab) = find(owner) {
                return slab;
            }
            let Some(free) = find(0) else {
                let owners = self.owners.iter().map(|one| one.load(Relaxed));
                let latest = owners.enumerate().max_by_key(|(_, owner)| *owner);
                return latest.map_or(0, |(slab, _)| slab);
            };
            let claimed = self.owners[free].compare_exchange(0, owner, Relaxed, Relaxed);
            if claimed.is_ok() {
                return free;
            }
        }
    }

    /// The slabs that hold an interval (from zero), or an earlier one that a worker reached after it was
    /// read. Two workers that reach an interval at once may have claimed two.
    pub(crate) fn of(&self, interval: u64) -> Vec<usize> {
        let is_due = |slab: &usize| {
            let owner = self.owners[*slab].load(Relaxed);
            owner > 0 && owner <= interval + 1
        };
        (0..INTERVALS).filter(is_due).collect()
    }

    /// These were read; what a worker adds from now on counts in the interval that claims the slab next.
    pub(crate) fn release(&self, slabs: &[usize]) {
        let owners = slabs.iter().map(|slab| &self.owners[*slab]);
        owners.for_each(|owner| owner.store(0, Relaxed));
    }
}

#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Slab {
    /// By place of the target and operation, as many as the stream has kinds.
    pub cells: Vec<FigureCell>,
    pub lateness: LatencyCell,
    /// Of arrivals that found a free slot.
    pub free_lateness: LatencyCell,
    pub submitted: AtomicU64,
    /// Of those, what follows no schedule in a stream that has one.
    pub unscheduled: AtomicU64,
    /// Only for runs that ask for it.
    pub handover: Option<Box<HandoverCells>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_in_time_needs_two_slabs() {
        let slabs = IntervalSlabs::default();
        for interval in 0..6 {
            assert_eq!(slabs.claim(interval + 1) as u64, (interval + 1) % 2);
            assert_eq!(slabs.of(interval), [(interval % 2) as usize]);
            slabs.release(&slabs.of(interval));
        }
    }

    #[test]
    fn intervals_that_nobody_reached_have_no_slab() {
        let slabs = IntervalSlabs::default();
        // Stopped in the second interval, before the first was read; workers go on in the 53rd.
        assert_eq!(
            (slabs.claim(1), slabs.claim(52), slabs.claim(53)),
            (1, 2, 3)
        );
        assert_eq!(slabs.of(0), [0]);
        slabs.release(&[0]);
        assert_eq!(slabs.of(1), [1]);
        slabs.release(&[1]);
        assert_eq!(slabs.of(30), []);
        assert_eq!((slabs.of(52), slabs.claim(52)), (vec![2], 2));
        assert_eq!(slabs.claim(54), 0);
    }

    #[test]
    fn a_reader_that_is_too_late_finds_the_rest_in_the_latest() {
        let slabs = IntervalSlabs::default();
        let claimed: Vec<usize> = (0..6).map(|interval| slabs.claim(interval)).collect();
        assert_eq!(claimed, [0, 1, 2, 3, 3, 3]);
    }

    #[test]
    fn a_worker_that_reaches_an_interval_after_it_was_read_holds_no_slab_for_ever() {
        let slabs = IntervalSlabs::default();
        slabs.release(&slabs.of(0));
        assert_eq!((slabs.claim(0), slabs.claim(1)), (0, 1));
        assert_eq!(slabs.of(1), [0, 1]);
    }
}
