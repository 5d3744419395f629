//! Where workers count: a slab for each kind of time in which something is seen.
use crate::handover::HandoverCells;
use measure::{FigureCell, LatencyCell};
use std::sync::atomic::AtomicU64;

/// Counts of one stream by one writer or group of writers: a slab for even intervals, one for odd
/// ones, one for what comes back after the stop, one for the warm-up of the stream, and one for its
/// search of a depth.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub slabs: [Slab; SLABS],
}

/// How many slabs a recorder has.
pub(crate) const SLABS: usize = 5;

/// The slab of what comes back after the stop; it belongs to no interval, and its values are ages at
/// the stop.
pub(crate) const AFTER_STOP: usize = 2;

/// The slab of what is seen in the warm-up of a stream that has its own; it is not measured.
pub(crate) const WARMUP: usize = 3;

/// The slab of what is seen while a stream looks for its depth; it is measured only where the stream
/// ends before that is found.
pub(crate) const SEARCH: usize = 4;

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
