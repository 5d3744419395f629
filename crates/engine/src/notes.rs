//! How operations go to the kernel and come back: what a worker notes for runs that ask for it, into [`HandoverCells`].
use crate::handover::HandoverCells;
use crate::op::place_counted;
use crate::operations::{Kept, OperationWriter};
use crate::priorities::Priorities;
use crate::state::{AFTER_STOP, SEARCH, SharedRun, SharedStream};
use measure::{OperationRecord, Sharing, batch_class, depth_class};
use plan::{Operation, StreamId};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A worker's own notes.
#[derive(Debug)]
pub(crate) struct HandoverNotes {
    /// By slot, when the submitting call came back.
    issued_ns: Vec<u64>,
    /// Slots stamped since the last submitting call.
    handing: Vec<u32>,
    /// By stream, all zero between uses.
    together: Vec<u32>,
    /// Only where single operations are logged.
    log: Option<OperationWriter>,
}

impl HandoverNotes {
    pub(crate) fn new(slots: usize, streams: usize) -> Self {
        Self {
            issued_ns: vec![0; slots],
            handing: Vec::with_capacity(slots),
            together: vec![0; streams],
            log: None,
        }
    }

    /// Tells single operations too, from now on.
    pub(crate) fn log_to(&mut self, log: OperationWriter) {
        self.log = Some(log);
    }

    pub(crate) fn end_log(&mut self) {
        self.log = None;
    }

    /// Notes slots that were just stamped, and how deep their pools are with each of them.
    pub(crate) fn stamped(&mut self, shared: &SharedRun, at: Place, slots: &[u32]) {
        for slot in slots {
            let stream = at.stream_of(shared, *slot);
            self.together[shared.streams[stream].pool] += 1;
        }
        for slot in slots {
            let stream = &shared.streams[at.stream_of(shared, *slot)];
            let behind = &mut self.together[stream.pool];
            *behind -= 1;
            let depth = shared.pools[stream.pool]
                .in_use
                .load(Relaxed)
                .saturating_sub(*behind);
            if let Some(cells) = at.cells(shared, stream) {
                count(&cells.depths[depth_class(depth)]);
            }
            self.issued_ns[*slot as usize] = 0;
        }
        self.handing.extend_from_slice(slots);
    }

    /// Notes that the call which submitted the stamped slots came back at `now_ns`.
    pub(crate) fn handed_over(&mut self, shared: &SharedRun, at: Place, now_ns: u64) {
        for slot in &self.handing {
            self.issued_ns[*slot as usize] = now_ns;
            self.together[at.stream_of(shared, *slot)] += 1;
        }
        for slot in &self.handing {
            let number = at.stream_of(shared, *slot);
            let together = std::mem::take(&mut self.together[number]);
            if let Some(cells) = at
                .cells(shared, &shared.streams[number])
                .filter(|_| together > 0)
            {
                count(&cells.submitted_together[batch_class(together)]);
            }
        }
        self.handing.clear();
    }

    /// Notes completions, before their slots are given back.
    pub(crate) fn seen(
        &mut self,
        shared: &SharedRun,
        at: Place,
        (interval, now_ns): (u64, u64),
        completed: &[(u32, i32)],
        priorities: Option<&Priorities>,
    ) {
        for (slot, result) in completed {
            let view = &shared.workers[at.worker].slots[*slot as usize];
            let op = view.op.load();
            let number = op.object.stream as usize;
            self.together[number] += 1;
            let Some(cells) = at.cells(shared, &shared.streams[number]) else {
                continue;
            };
            let issued_ns = match self.issued_ns[*slot as usize] {
                // Without a note the completion came with the submitting call.
                0 => now_ns,
                issued_ns => issued_ns,
            };
            let is_trim = op.kind == Operation::Trim;
            let succeeded = *result > 0 || (*result == 0 && (is_trim || op.length == 0));
            if let Some(parts) = cells.parts[place_counted(op.kind)]
                .as_ref()
                .filter(|_| succeeded)
            {
                let parts = match priorities {
                    Some(priorities) => parts.of(priorities.place_of(*slot)),
                    None => parts,
                };
                let started_ns = view.started_ns.load(Relaxed);
                let submission_ns = issued_ns.saturating_sub(started_ns);
                let completion_ns = now_ns.saturating_sub(issued_ns);
                parts
                    .submission
                    .record(submission_ns, interval, Sharing::ManyWriters);
                parts
                    .completion
                    .record(completion_ns, interval, Sharing::ManyWriters);
                if let Some(service) = &parts.service {
                    let service_ns = now_ns.saturating_sub(started_ns);
                    service.record(service_ns, interval, Sharing::ManyWriters);
                }
            }
            cells.last_seen_ns.fetch_max(now_ns, Relaxed);
            // What comes back after the stop, or in a warm-up, is in no figure either.
            let slab = shared.streams[number].slab(shared, now_ns, at.slab);
            let is_logged = succeeded && (slab < AFTER_STOP || slab == SEARCH);
            if let Some(log) = self.log.as_mut().filter(|_| is_logged) {
                let started_ns = view.started_ns.load(Relaxed);
                let parts = cells.parts[place_counted(op.kind)].is_some();
                let record = OperationRecord {
                    stream: StreamId::at(number),
                    target: shared.streams[number].targets[op.object.place as usize],
                    operation: op.kind,
                    offset: op.offset,
                    length: if is_trim { op.length } else { *result as u32 },
                    priority: priorities.map_or(0, |priorities| priorities.word_of(*slot)),
                    seen_ns: now_ns.saturating_sub(shared.start_ns.load(Relaxed)),
                    service_ns: now_ns.saturating_sub(started_ns),
                    submission_ns: parts.then(|| issued_ns.saturating_sub(started_ns)),
                };
                note_kept(log.push(record), shared);
            }
        }
        self.note_together(shared, at, completed);
    }

    fn note_together(&mut self, shared: &SharedRun, at: Place, completed: &[(u32, i32)]) {
        for (slot, _) in completed {
            let number = at.stream_of(shared, *slot);
            let together = std::mem::take(&mut self.together[number]);
            if let Some(cells) = at
                .cells(shared, &shared.streams[number])
                .filter(|_| together > 0)
            {
                count(&cells.seen_together[batch_class(together)]);
            }
        }
    }
}

/// Where a worker counts at the moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub worker: usize,
    pub shard: usize,
    pub slab: usize,
    /// Of the last look at completions.
    pub now_ns: u64,
}

impl Place {
    fn cells<'a>(&self, shared: &SharedRun, stream: &'a SharedStream) -> Option<&'a HandoverCells> {
        let slab = stream.slab(shared, self.now_ns, self.slab);
        stream.recorders[self.shard].slabs[slab].handover.as_deref()
    }

    fn stream_of(&self, shared: &SharedRun, slot: u32) -> usize {
        let view = &shared.workers[self.worker].slots[slot as usize];
        view.op.object().stream as usize
    }
}

fn note_kept(kept: Kept, shared: &SharedRun) {
    match kept {
        Kept::AtOnce => {}
        Kept::After(waited) => {
            shared.operation_waits.fetch_add(1, Relaxed);
            let waited_ns = waited.as_nanos() as u64;
            shared.operation_waits_ns.fetch_add(waited_ns, Relaxed);
        }
        Kept::Lost => drop(shared.operations_lost.fetch_add(1, Relaxed)),
    }
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}
