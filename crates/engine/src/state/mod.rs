//! What the workers of a run share, and what others may read of it while they work: counts and stamps that change, and
//! what was settled before the start. How it is set up stands in [`crate::setup`], which nothing of this knows.
//!
//! Read [`SharedRun`] first.
mod gaps;
mod lifetime;
mod pool;
mod proportion;
mod slabs;
mod slot;
mod stream;
mod times;

pub(crate) use gaps::Gaps;
pub(crate) use lifetime::Lifetime;
pub(crate) use pool::SharedPool;
pub(crate) use proportion::Proportion;
pub(crate) use slabs::{
    AFTER_STOP, INTERVALS, IntervalSlabs, Recorder, SEARCH, SLABS, Slab, WARMUP,
};
pub(crate) use slot::{LateView, SlotView, WorkerUsage, WorkerView};
pub(crate) use stream::SharedStream;

use crate::check::Checks;
use crate::data::WriteData;
use crate::op::Op;
use measure::Failure;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::SyncSender;

/// Everything about a run that its workers share.
#[derive(Debug)]
pub(crate) struct SharedRun {
    pub start_ns: AtomicU64,
    pub interval_ns: u64,
    pub interval_slabs: IntervalSlabs,
    /// No operation is issued at or after this time.
    pub stop_ns: AtomicU64,
    /// Workers leave what is in flight and return.
    pub abandon: AtomicBool,
    pub streams: Vec<SharedStream>,
    pub pools: Vec<SharedPool>,
    pub workers: Vec<WorkerView>,
    pub proportion: Option<Proportion>,
    pub data: WriteData,
    /// Only for runs that check data.
    pub checks: Option<Checks>,
    pub gaps: Gaps,
    pub failures: SyncSender<Failure>,
    pub failures_lost: AtomicU64,
    /// Failures that ended their stream and found no room.
    pub failures_beyond: Mutex<Vec<Failure>>,
    /// Whether workers note how operations are handed over.
    pub notes_handover: bool,
    pub operations_lost: AtomicU64,
    /// How often a worker waited until an operation could be kept, and how long in all.
    pub operation_waits: AtomicU64,
    pub operation_waits_ns: AtomicU64,
}

impl SharedRun {
    /// Whether every stream that can end has ended and nothing of it is in flight, and there is one.
    /// What streams without an end have in flight does not matter.
    pub(crate) fn is_done(&self) -> bool {
        let mut ending = self.streams.iter().filter(|stream| stream.ends).peekable();
        ending.peek().is_some() && ending.all(SharedStream::is_done)
    }

    #[inline]
    pub(crate) fn pool_of(&self, op: &Op) -> &SharedPool {
        &self.pools[self.streams[op.object.stream as usize].pool]
    }

    pub(crate) fn in_flight(&self) -> u32 {
        self.pools
            .iter()
            .map(|pool| pool.in_use.load(Relaxed))
            .sum()
    }
}
