//! What a worker shows of itself and of each of its slots.
use crate::kind::BackendKind;
use crate::op::OpCell;
use crate::priorities::Priorities;
use measure::{LatencyCell, Sharing, ThreadUsage};
use plan::Placement;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What a worker shows of itself. Aligned, as what threads write for each operation must not lie in
/// one cache line (or in a pair that is fetched together) with what another thread writes.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct WorkerView {
    pub kind: BackendKind,
    pub slots: Vec<SlotView>,
    /// By slot.
    pub late: Vec<LateView>,
    pub pool_of_slot: Vec<u32>,
    pub placement: Placement,
    /// Whether its pool wants transfers to fail that would wait.
    pub never_waits: bool,
    /// Where single transfers have priorities; the worker takes a copy.
    pub priorities: Option<Priorities>,
    /// Index into the recorders of a stream.
    pub shard: usize,
    pub sharing: Sharing,
    pub cpu_ns: AtomicU64,
    pub usage: WorkerUsage,
    pub submit_calls: AtomicU64,
    pub submit_ns: AtomicU64,
    pub reaps: AtomicU64,
    pub reap_gaps: LatencyCell,
    pub wakeups: AtomicU64,
    pub clamped: AtomicU64,
    /// How long after the start of the run the worker began; all bits where it has not.
    pub begun_late_ns: AtomicU64,
}

/// What a worker's thread has used since the start of the run.
#[derive(Debug, Default)]
pub(crate) struct WorkerUsage {
    pub user_ns: AtomicU64,
    pub system_ns: AtomicU64,
    pub context_switches: AtomicU64,
    pub minor_faults: AtomicU64,
    pub major_faults: AtomicU64,
    /// One more than it is; zero while nothing is known.
    pub cpu_wait_ns: AtomicU64,
}

/// One slot, readable from outside: how old is what is in flight, and what is it.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct SlotView {
    /// Zero while the slot is free.
    pub started_ns: AtomicU64,
    pub arrival_ns: AtomicU64,
    pub op: OpCell,
}

impl WorkerView {
    /// The worker's CPU time so far and what its thread used in the run.
    pub(crate) fn note_cpu(&self, cpu_ns: u64, used: &ThreadUsage) {
        self.cpu_ns.store(cpu_ns, Relaxed);
        for (cell, value) in [
            (&self.usage.user_ns, used.user_ns),
            (&self.usage.system_ns, used.system_ns),
            (&self.usage.context_switches, used.context_switches),
            (&self.usage.minor_faults, used.minor_faults),
            (&self.usage.major_faults, used.major_faults),
            (
                &self.usage.cpu_wait_ns,
                used.cpu_wait_ns.map_or(0, |wait_ns| wait_ns + 1),
            ),
        ] {
            cell.store(value, Relaxed);
        }
    }
}

const _: () = assert!(size_of::<SlotView>() == 64, "a line of the cache");

/// The last operation of a slot that was in flight at the end and came back well after it.
#[derive(Debug, Default)]
pub(crate) struct LateView {
    /// How long after; zero for none.
    pub after_ns: AtomicU64,
    pub age_ns: AtomicU64,
    pub op: OpCell,
}
