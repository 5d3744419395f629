//! One stream as its workers see it.
use super::lifetime::Lifetime;
use super::slabs::Recorder;
use crate::arrivals::{Arrivals, Feed};
use crate::balance::Balance;
use crate::check::Backlog;
use crate::flow::SharedFlow;
use crate::op::{Cause, Op, place_counted};
use crate::passes::Passes;
use crate::source::Source;
use crate::zeros::ReadSample;
use measure::Sharing;
use plan::{Operation, TargetId};
use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Acquire, Relaxed},
};

/// One stream.
#[derive(Debug)]
pub(crate) struct SharedStream {
    pub pool: usize,
    /// Lower is more urgent.
    pub priority: u32,
    pub targets: Vec<TargetId>,
    /// How many of its targets, from the first, have counts of their own: all, or one for all of them.
    pub counted: usize,
    /// File numbers by target.
    pub files: Vec<u32>,
    pub source: Source,
    pub next_index: AtomicU64,
    /// How many numbers a worker claims in one go: several where threads would fight over the count
    /// and nothing depends on it.
    pub claimed_at_once: u64,
    /// Whether one worker alone serves the pool of the stream.
    pub sharing: Sharing,
    pub feed: Option<Feed>,
    /// The same schedule for whoever counts it.
    pub arrivals: Option<Arrivals>,
    pub ended: AtomicBool,
    /// Whether the stream ends by itself.
    pub ends: bool,
    /// The number of the last operation where no arrival behind it would tell the end: of a record
    /// that follows its times. The largest number elsewhere.
    pub last_index: u64,
    /// Of a stream that ends: numbers drawn that came back, or were beyond its end.
    pub resolved: AtomicU64,
    pub start_delay_ns: u64,
    /// The operations that it has cells for, in their order.
    pub kinds: &'static [Operation],
    /// Why what it draws is done.
    pub cause: Cause,
    /// What it does beside drawing.
    pub flow: Option<Box<SharedFlow>>,
    /// How many go out and come back together, where the rules of a flow do not hold them back.
    pub batches: plan::Batches,
    /// Only for streams that read back, or discard, while they write.
    pub backlog: Option<Box<Backlog>>,
    /// Only for streams that go over files again which the page cache is to forget.
    pub passes: Option<Box<Passes>>,
    /// Only for streams that are kept in proportion to others.
    pub balance: Option<Box<Balance>>,
    /// What takes the slots that its schedule leaves, where that asks for other operations only.
    pub fills: Option<Operation>,
    /// Looked at when something fails.
    pub tolerance: Option<Box<plan::Tolerance>>,
    /// When a failure, its own or another's, or whoever leads the run ended it, by the clock; zero before.
    pub cut_off_ns: AtomicU64,
    /// Only for streams whose time is not that of the run.
    pub lifetime: Option<Box<Lifetime>>,
    pub recorders: Vec<Recorder>,
    /// Of its targets that have counts of their own.
    pub samples: Vec<ReadSample>,
}

impl SharedStream {
    pub(crate) fn is_done(&self) -> bool {
        let is_syncing = || {
            let flow = self.flow.as_ref();
            flow.is_some_and(|flow| flow.has_syncs_in_flight())
        };
        let is_reading_back = || {
            let backlog = self.backlog.as_ref();
            backlog.is_some_and(|backlog| backlog.has_in_flight())
        };
        self.ended.load(Acquire) && self.is_resolved() && !is_syncing() && !is_reading_back()
    }

    /// How many cells each of its slabs has.
    pub(crate) fn cells(&self) -> usize {
        self.counted * self.kinds.len()
    }

    /// The cell of a slab that counts an operation.
    #[inline]
    pub(crate) fn cell(&self, op: &Op) -> usize {
        let place = op.object.place as usize;
        let counted = if place < self.counted { place } else { 0 };
        counted * self.kinds.len() + place_counted(op.kind)
    }

    /// Where reads that are looked at count.
    #[inline]
    pub(crate) fn sample_of(&self, op: &Op) -> &ReadSample {
        let place = op.object.place as usize;
        &self.samples[if place < self.counted { place } else { 0 }]
    }

    /// Those of its targets that are counted, by their places.
    pub(crate) fn targets_counted(&self) -> &[TargetId] {
        &self.targets[..self.counted]
    }

    /// The target under which operations on the one at a place are counted.
    pub(crate) fn target_counted(&self, place: usize) -> TargetId {
        self.targets[if place < self.counted { place } else { 0 }]
    }

    /// What the cell of a slab counts: the place of a target, and the operation.
    pub(crate) fn counted_by(&self, cell: usize) -> (usize, Operation) {
        (cell / self.kinds.len(), self.kinds[cell % self.kinds.len()])
    }

    /// Operations so far; `None` where it has ended, or begins only with the end of others.
    pub(crate) fn progress(&self) -> Option<u64> {
        let counts = !self.ended.load(Relaxed) && !self.waits_for_others();
        counts.then(|| self.next_index.load(Relaxed))
    }

    /// By how much its pauses have moved its schedule.
    pub(crate) fn moved_ns(&self) -> u64 {
        self.flow.as_ref().map_or(0, |flow| flow.moved_ns())
    }

    /// Of a stream that ends: whether all numbers that were claimed have come back.
    pub(crate) fn is_resolved(&self) -> bool {
        self.resolved.load(Acquire) == self.next_index.load(Acquire)
    }

    /// Whether its next operation lies beyond its end, as far as that is a count.
    pub(crate) fn is_spent(&self) -> bool {
        self.source.is_spent(self.next_index.load(Relaxed))
    }

    /// The first of the next [`SharedStream::claimed_at_once`] operations.
    #[inline]
    pub(crate) fn claim(&self) -> u64 {
        let count = self.claimed_at_once;
        match self.sharing {
            Sharing::OneWriter => {
                let index = self.next_index.load(Relaxed);
                self.next_index.store(index + count, Relaxed);
                index
            }
            Sharing::ManyWriters => self.next_index.fetch_add(count, Relaxed),
        }
    }
}
