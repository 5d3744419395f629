//! What a stream does beside the operations that it draws, and when it holds them back: syncs,
//! pauses, batches. Workers ask before they draw; streams without a rule have none of this.
use crate::depth_search::{SharedSearch, Verdict};
use crate::locks::Locks;
use crate::op::{Cause, DueSync, Op};
use crate::overlaps::Overlaps;
use plan::{Flow, Nanos, Operation, PerDirection, RangeSync, Think, ThinkCount};
use std::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

/// The rules of one stream and where its workers stand with them.
#[derive(Debug)]
pub(crate) struct SharedFlow {
    rules: Flow,
    /// When to look again while another worker has what is waited for.
    retry_ns: u64,
    /// Of the pool.
    slots: u32,
    latency_most_ns: PerDirection<u64>,
    /// Operations that were drawn, syncs not counted, and those that are back.
    issued: AtomicU64,
    back: AtomicU64,
    /// The pool was full and has not been drained far enough since.
    was_full: AtomicBool,
    pauses: Pauses,
    search: Option<Box<SharedSearch>>,
    /// Writes that were issued, and up to which of them syncs were made.
    writes: AtomicU64,
    synced: AtomicU64,
    last_place: AtomicU32,
    syncs_in_flight: AtomicU32,
    stage: AtomicU32,
    places: u32,
    /// What is synced at the end beside the places, or in their stead.
    last_syncs: Box<[DueSync]>,
    /// Of the syncs at the end.
    last_syncs_sent: AtomicU32,
    last_syncs_back: AtomicU32,
    /// Where nothing may be in flight twice.
    overlaps: Option<Overlaps>,
    /// Where operations wait for their target.
    locks: Option<Locks>,
}

/// Where a stream stands between its pauses.
#[derive(Debug, Default)]
struct Pauses {
    /// One worker at a time decides; the others come again.
    is_taken: AtomicBool,
    /// The count at which the last pause was due.
    base: AtomicU64,
    /// When the last pause ended; zero before the first look.
    since_ns: AtomicU64,
    is_draining: AtomicBool,
    /// When the pause ends; zero outside of one.
    until_ns: AtomicU64,
    /// By how much the schedule has moved.
    moved_ns: AtomicU64,
}

/// Stages of a stream with syncs at its end.
/// A stream that the clock has ended is looked at again after this time.
const LAST_SYNC_LOOK_NS: u64 = 100_000;

const DRAWING: u32 = 0;
/// All is drawn; what is in flight has to come back.
const DRAINING: u32 = 1;
const SYNCING: u32 = 2;

impl SharedFlow {
    /// `None` where there is no rule. `retry_ns` is for pools that several workers serve.
    pub(crate) fn of(
        rules: Flow,
        places: usize,
        slots: u32,
        retry_ns: Option<u64>,
    ) -> Option<Box<Self>> {
        let has_rules = !rules.is_nothing();
        let overlaps = rules.keeps_apart.then(|| Overlaps::new(slots));
        let most_ns = |most: Option<Nanos>| most.map_or(u64::MAX, |Nanos(most)| most);
        let latency_most_ns = PerDirection {
            read: most_ns(rules.latency_most.read),
            write: most_ns(rules.latency_most.write),
            trim: most_ns(rules.latency_most.trim),
        };
        let flow = || {
            Box::new(Self {
                search: (rules.depth_search)
                    .map(|search| Box::new(SharedSearch::new(search, slots))),
                latency_most_ns,
                rules,
                retry_ns: retry_ns.unwrap_or(u64::MAX),
                slots,
                issued: AtomicU64::new(0),
                back: AtomicU64::new(0),
                was_full: AtomicBool::new(false),
                pauses: Pauses::default(),
                writes: AtomicU64::new(0),
                synced: AtomicU64::new(0),
                last_place: AtomicU32::new(0),
                syncs_in_flight: AtomicU32::new(0),
                stage: AtomicU32::new(DRAWING),
                places: places as u32,
                last_syncs: Box::default(),
                last_syncs_sent: AtomicU32::new(0),
                last_syncs_back: AtomicU32::new(0),
                overlaps,
                locks: None,
            })
        };
        has_rules.then(flow)
    }

    /// The same with syncs at the end that the places of files lead to, and with locks.
    pub(crate) fn with(
        mut self: Box<Self>,
        last_syncs: Vec<DueSync>,
        locks: Option<Locks>,
    ) -> Box<Self> {
        self.last_syncs = last_syncs.into();
        self.locks = locks;
        self
    }

    /// Until when nothing may be drawn; `None` where something may. `on_found` is told when a search
    /// has found its depth and measurement may begin; `due_ns` is asked for the next arrival.
    pub(crate) fn holds(
        &self,
        now_ns: u64,
        on_found: impl FnOnce(),
        due_ns: impl FnOnce() -> Option<u64>,
    ) -> Option<u64> {
        if self.stage.load(Relaxed) != DRAWING {
            // The clock may end it with nothing in flight, whose return would lead to what comes next.
            return Some(match self.in_flight() {
                0 => now_ns + LAST_SYNC_LOOK_NS,
                _ => self.later(now_ns),
            });
        }
        if self.is_above_refill() {
            return Some(self.later(now_ns));
        }
        if let Some(search) = &self.search
            && search.holds(self.in_flight(), now_ns, on_found)
        {
            return Some(self.later(now_ns));
        }
        let think = self.rules.think.as_ref()?;
        if self.pauses.is_taken.swap(true, Acquire) {
            return Some(self.later(now_ns));
        }
        let held = self.pause(think, now_ns, due_ns);
        self.pauses.is_taken.store(false, Release);
        held
    }

    /// Whether what was drawn has to wait for something in flight. For a lock it has waited for `patience_ns` then.
    pub(crate) fn has_to_wait(&self, op: &Op, patience_ns: impl Fn() -> u64) -> bool {
        if op.kind.is_sync() {
            return false;
        }
        let overlaps = self.overlaps.as_ref();
        if overlaps.is_some_and(|overlaps| !overlaps.enter(op)) {
            return true;
        }
        let Some(locks) = &self.locks else {
            return false;
        };
        let enters = locks.enter(op.object.place, op.kind, patience_ns);
        if let Some(overlaps) = overlaps.filter(|_| !enters) {
            overlaps.leave(op.object.place, op.offset);
        }
        !enters
    }

    /// What was drawn is back.
    pub(crate) fn leaves(&self, op: &Op) {
        if let Some(overlaps) = &self.overlaps {
            overlaps.leave(op.object.place, op.offset);
        }
        if let Some(locks) = &self.locks {
            locks.leave(op.object.place, op.kind);
        }
    }

    /// An operation that was drawn goes out.
    pub(crate) fn goes_out(&self, op: &Op) {
        if op.kind == Operation::Write {
            self.wrote(op.object.place);
        }
        self.issued.fetch_add(1, Relaxed);
        if self.rules.batches.refill_at.is_some() && self.in_flight() >= u64::from(self.slots) {
            self.was_full.store(true, Relaxed);
        }
    }

    /// An operation that was drawn is back. Whether it took longer than it may.
    pub(crate) fn is_back(&self, kind: Operation, service_ns: u64) -> bool {
        self.back.fetch_add(1, Release);
        let most_ns = match kind {
            Operation::Read => self.latency_most_ns.read,
            Operation::Write => self.latency_most_ns.write,
            _ => self.latency_most_ns.trim,
        };
        service_ns > most_ns
    }

    /// What a search makes of the service time of an operation that is back.
    pub(crate) fn verdict(&self, service_ns: u64, now_ns: u64) -> Verdict {
        let search = self.search.as_ref();
        search.map_or(Verdict::GoesOn, |search| search.is_back(service_ns, now_ns))
    }

    /// How many may be in flight now, where that is searched.
    pub(crate) fn depth(&self) -> Option<u32> {
        self.search.as_ref().map(|search| search.depth())
    }

    /// By how much pauses have moved the schedule.
    pub(crate) fn moved_ns(&self) -> u64 {
        self.pauses.moved_ns.load(Relaxed)
    }

    /// When to ask again for what the return of an operation decides.
    pub(crate) fn later(&self, now_ns: u64) -> u64 {
        now_ns.saturating_add(self.retry_ns)
    }

    /// Of the stream, syncs included.
    fn in_flight(&self) -> u64 {
        // Read in this order, so that none seems to be back that is not out.
        let back = self.back.load(Acquire);
        let drawn = self.issued.load(Relaxed).saturating_sub(back);
        drawn + u64::from(self.syncs_in_flight.load(Acquire))
    }

    fn is_above_refill(&self) -> bool {
        let Some(refill_at) = self.rules.batches.refill_at else {
            return false;
        };
        if !self.was_full.load(Relaxed) {
            return false;
        }
        let is_above = self.in_flight() > u64::from(refill_at);
        self.was_full.store(is_above, Relaxed);
        is_above
    }

    /// Until when a pause, or the drain before it, holds the stream.
    fn pause(
        &self,
        think: &Think,
        now_ns: u64,
        due_ns: impl FnOnce() -> Option<u64>,
    ) -> Option<u64> {
        let pauses = &self.pauses;
        let until_ns = pauses.until_ns.load(Relaxed);
        if now_ns < until_ns {
            return Some(until_ns);
        }
        if until_ns > 0 || pauses.since_ns.load(Relaxed) == 0 {
            pauses.until_ns.store(0, Relaxed);
            pauses.since_ns.store(now_ns, Relaxed);
        }
        let count = match think.counts {
            ThinkCount::Issued => self.issued.load(Relaxed),
            ThinkCount::Completed => self.back.load(Relaxed),
        };
        let counted = count - pauses.base.load(Relaxed);
        let passed_ns = now_ns - pauses.since_ns.load(Relaxed);
        let is_due = think.after.is_some_and(|after| counted >= after)
            || think.every.is_some_and(|every| passed_ns >= every.0);
        if is_due && !pauses.is_draining.swap(true, Relaxed) {
            pauses.base.store(count, Relaxed);
        }
        if !pauses.is_draining.load(Relaxed) {
            return None;
        }
        if self.in_flight() > 0 {
            return Some(self.later(now_ns));
        }
        pauses.is_draining.store(false, Relaxed);
        let until_ns = now_ns + think.pause.0;
        pauses.until_ns.store(until_ns, Relaxed);
        if think.moves_schedule {
            // The first arrival that the pause leaves out comes right after it.
            let left_out = due_ns().filter(|due_ns| (now_ns + 1..=until_ns).contains(due_ns));
            let moved_ns = left_out.map_or(think.pause.0, |due_ns| until_ns - due_ns);
            pauses.moved_ns.fetch_add(moved_ns, Relaxed);
        }
        Some(until_ns)
    }

    /// Takes the sync that is due, if one is: after writes while more is to be drawn, at the end when all of the stream
    /// has come back.
    pub(crate) fn take_sync(
        &self,
        is_spent: impl FnOnce() -> bool,
        is_resolved: impl FnOnce() -> bool,
    ) -> Option<DueSync> {
        let due = match self.stage.load(Relaxed) {
            DRAWING => self.after_writes(is_spent)?,
            _ => self.at_end(is_resolved)?,
        };
        self.syncs_in_flight.fetch_add(1, Relaxed);
        Some(due)
    }

    /// A write was issued.
    fn wrote(&self, place: u32) {
        self.last_place.store(place, Relaxed);
        self.writes.fetch_add(1, Release);
    }

    /// Nothing more can be drawn. Whether the stream goes on all the same, to make syncs.
    pub(crate) fn is_drawn(&self) -> bool {
        if self.last_count() == 0 {
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
            && self.last_syncs_back.fetch_add(1, AcqRel) + 1 == self.last_count();
        self.syncs_in_flight.fetch_sub(1, Release);
        is_last
    }

    pub(crate) fn has_syncs_in_flight(&self) -> bool {
        self.syncs_in_flight.load(Acquire) > 0
    }

    /// How ranges are synced.
    pub(crate) fn range(&self) -> RangeSync {
        self.rules.syncs.range
    }

    fn after_writes(&self, is_spent: impl FnOnce() -> bool) -> Option<DueSync> {
        let synced = self.synced.load(Relaxed);
        let (at, kind) = self.rules.syncs.next_after(synced)?;
        // What the last writes of a stream leave is for the sync at its end.
        let is_due = at <= self.writes.load(Acquire) && !is_spent();
        let is_ours = is_due
            && self
                .synced
                .compare_exchange(synced, at, Relaxed, Relaxed)
                .is_ok();
        is_ours.then(|| DueSync {
            kind,
            cause: Cause::Rule,
            place: self.last_place.load(Relaxed),
        })
    }

    fn at_end(&self, is_resolved: impl FnOnce() -> bool) -> Option<DueSync> {
        if self.stage.load(Acquire) == DRAINING {
            if !is_resolved() || self.has_syncs_in_flight() {
                return None;
            }
            let _ = self
                .stage
                .compare_exchange(DRAINING, SYNCING, AcqRel, Relaxed);
        }
        let next = |sent: u32| (sent < self.last_count()).then_some(sent + 1);
        let sent = self.last_syncs_sent.fetch_update(AcqRel, Relaxed, next);
        let sent = sent.ok()?;
        Some(match sent.checked_sub(self.places_at_end()) {
            Some(other) => self.last_syncs[other as usize],
            None => DueSync {
                kind: Operation::Sync,
                cause: Cause::AtEnd,
                place: sent,
            },
        })
    }

    /// How many places are synced at the end.
    fn places_at_end(&self) -> u32 {
        match self.rules.syncs.at_end {
            true => self.places,
            false => 0,
        }
    }

    fn last_count(&self) -> u32 {
        self.places_at_end() + self.last_syncs.len() as u32
    }
}
