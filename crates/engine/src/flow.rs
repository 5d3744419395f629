//! What a stream does beside the operations that it draws: syncs behind writes and at its end.
//! Workers ask before they draw; streams without a rule have none of this.
use crate::shared::{SharedStream, code_of};
use plan::{Flow, Operation};
use std::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use sys::ring::RequestKind;

/// The rules of one stream and where its workers stand with them.
#[derive(Debug)]
pub(crate) struct SharedFlow {
    rules: Flow,
    /// When to look again while another worker has what is waited for.
    retry_ns: u64,
    /// Writes that were issued, and up to which of them syncs were made.
    writes: AtomicU64,
    synced: AtomicU64,
    last_place: AtomicU32,
    syncs_in_flight: AtomicU32,
    stage: AtomicU32,
    places: u32,
    /// Of the syncs at the end.
    last_syncs_sent: AtomicU32,
    last_syncs_back: AtomicU32,
}

/// Stages of a stream with syncs at its end.
const DRAWING: u32 = 0;
/// All is drawn; what is in flight has to come back.
const DRAINING: u32 = 1;
const SYNCING: u32 = 2;

/// A sync that is to be made now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DueSync {
    /// As in [`crate::shared::OPERATIONS`].
    pub operation: usize,
    pub place: u32,
}

impl SharedFlow {
    /// `None` where there is no rule. `retry_ns` is for pools that several workers serve.
    pub(crate) fn of(rules: Flow, places: usize, retry_ns: Option<u64>) -> Option<Box<Self>> {
        let flow = || {
            Box::new(Self {
                rules,
                retry_ns: retry_ns.unwrap_or(u64::MAX),
                writes: AtomicU64::new(0),
                synced: AtomicU64::new(0),
                last_place: AtomicU32::new(0),
                syncs_in_flight: AtomicU32::new(0),
                stage: AtomicU32::new(DRAWING),
                places: places as u32,
                last_syncs_sent: AtomicU32::new(0),
                last_syncs_back: AtomicU32::new(0),
            })
        };
        (!rules.is_nothing()).then(flow)
    }

    /// Until when nothing may be drawn; `None` where something may.
    pub(crate) fn holds(&self, now_ns: u64) -> Option<u64> {
        if self.stage.load(Relaxed) != DRAWING {
            return Some(now_ns.saturating_add(self.retry_ns));
        }
        None
    }

    /// Takes the sync that is due, if one is.
    pub(crate) fn take_sync(&self, stream: &SharedStream) -> Option<DueSync> {
        let due = match self.stage.load(Relaxed) {
            DRAWING => self.after_writes(stream)?,
            _ => self.at_end(stream)?,
        };
        self.syncs_in_flight.fetch_add(1, Relaxed);
        Some(due)
    }

    /// A write was issued.
    pub(crate) fn wrote(&self, place: u32) {
        self.last_place.store(place, Relaxed);
        self.writes.fetch_add(1, Release);
    }

    /// Nothing more can be drawn. Whether the stream goes on all the same, to make syncs.
    pub(crate) fn is_drawn(&self) -> bool {
        if !self.rules.syncs.at_end {
            return false;
        }
        let _ = self
            .stage
            .compare_exchange(DRAWING, DRAINING, AcqRel, Relaxed);
        true
    }

    /// A sync came back. Whether it was the last thing that the stream had to do.
    pub(crate) fn sync_is_back(&self) -> bool {
        let is_last = self.stage.load(Acquire) == SYNCING
            && self.last_syncs_back.fetch_add(1, AcqRel) + 1 == self.places;
        self.syncs_in_flight.fetch_sub(1, Release);
        is_last
    }

    pub(crate) fn has_syncs_in_flight(&self) -> bool {
        self.syncs_in_flight.load(Acquire) > 0
    }

    /// What a sync asks of the kernel.
    pub(crate) fn request(&self, operation: Operation) -> RequestKind {
        let range = self.rules.syncs.range;
        match operation {
            Operation::DataSync => RequestKind::Fdatasync,
            Operation::RangeSync => RequestKind::SyncRange {
                flags: u8::from(range.waits_before)
                    | u8::from(range.writes) << 1
                    | u8::from(range.waits_after) << 2,
            },
            _ => RequestKind::Fsync,
        }
    }

    fn after_writes(&self, stream: &SharedStream) -> Option<DueSync> {
        let synced = self.synced.load(Relaxed);
        let (at, operation) = self.rules.syncs.next_after(synced)?;
        // What the last writes of a stream leave is for the sync at its end.
        let is_due = at <= self.writes.load(Acquire) && !stream.is_spent();
        let is_ours = is_due
            && self
                .synced
                .compare_exchange(synced, at, Relaxed, Relaxed)
                .is_ok();
        is_ours.then(|| DueSync {
            operation: code_of(operation),
            place: self.last_place.load(Relaxed),
        })
    }

    fn at_end(&self, stream: &SharedStream) -> Option<DueSync> {
        if self.stage.load(Acquire) == DRAINING {
            if !stream.is_resolved() || self.has_syncs_in_flight() {
                return None;
            }
            let _ = self
                .stage
                .compare_exchange(DRAINING, SYNCING, AcqRel, Relaxed);
        }
        let next = |sent: u32| (sent < self.places).then_some(sent + 1);
        let place = self.last_syncs_sent.fetch_update(AcqRel, Relaxed, next);
        place.ok().map(|place| DueSync {
            operation: code_of(Operation::Sync),
            place,
        })
    }
}
