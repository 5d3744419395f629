//! How operations go to the kernel and come back: what a worker notes for runs that ask for it, into [`HandoverCells`].
use crate::handover::{HandoverCells, PartCells};
use crate::op::place_counted;
use crate::operations::{Kept, OperationWriter};
use crate::priorities::Priorities;
use crate::state::{AFTER_STOP, SharedRun, SharedStream, WARMUP};
use crate::time::Stops;
use measure::{OperationRecord, Sharing, batch_class, depth_class};
use plan::{Operation, StreamId};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A submitting call that is over sooner says enough of when its operation went out.
const QUICK_NS: u64 = 10_000;

/// So does one that took at most this part of the service time, as latencies are told in steps of about that part.
const DOUBT_DIVISOR: u64 = 128;

/// A worker's own notes.
#[derive(Debug)]
pub(crate) struct HandoverNotes {
    /// By slot, of what is in flight.
    handed: Vec<Handed>,
    /// Slots stamped since the last submitting call, and when the last of them was.
    handing: Vec<u32>,
    stamped_ns: u64,
    /// How often the thread had stood still after a submitting call; absent where it may have waited since.
    stops: Option<Stops>,
    /// By stream, all zero between uses.
    together: Vec<u32>,
    /// Only where single operations are logged.
    log: Option<OperationWriter>,
}

/// How an operation went to the kernel.
#[derive(Clone, Copy, Debug, Default)]
struct Handed {
    /// When the submitting call came back; zero before.
    at_ns: u64,
    /// Whether it went out only then, as far as that is told apart. A thread may stand still in the call, or after it,
    /// when its operation is out.
    went_out_then: bool,
}

impl Handed {
    /// What of an operation counts as its submission, and what as its completion.
    fn parts(self, started_ns: u64, seen_ns: u64) -> (u64, u64) {
        let service_ns = seen_ns.saturating_sub(started_ns);
        if self.at_ns == 0 {
            return (service_ns, service_ns);
        }
        let submission_ns = self.at_ns.saturating_sub(started_ns);
        let is_close = submission_ns <= service_ns / DOUBT_DIVISOR;
        match self.went_out_then || is_close {
            true => (submission_ns, seen_ns.saturating_sub(self.at_ns)),
            // The parts add up to the whole.
            false => (0, service_ns),
        }
    }
}

impl HandoverNotes {
    pub(crate) fn new(slots: usize, streams: usize) -> Self {
        Self {
            handed: vec![Handed::default(); slots],
            handing: Vec::with_capacity(slots),
            stamped_ns: 0,
            stops: None,
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

    /// Notes slots that were stamped at `now_ns`, and how deep their pools are with each of them.
    pub(crate) fn stamped(&mut self, shared: &SharedRun, at: Place, now_ns: u64, slots: &[u32]) {
        self.stamped_ns = now_ns;
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
            self.handed[*slot as usize] = Handed::default();
        }
        self.handing.extend_from_slice(slots);
    }

    /// Whether a submitting call that is back at `now_ns` says enough of when its operations went out.
    pub(crate) fn was_quick(&self, now_ns: u64) -> bool {
        self.since_stamped_ns(now_ns) <= QUICK_NS
    }

    /// How long ago the submitting call began.
    pub(crate) fn since_stamped_ns(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.stamped_ns)
    }

    /// Whether the thread has waited since the submitting call before this one, and was never made to: then it did so
    /// in this call, until there was room, and has run since.
    pub(crate) fn has_only_waited(&mut self, stops: Stops) -> bool {
        let before = self.stops.replace(stops);
        before.is_some_and(|before| {
            stops.waits > before.waits && stops.preemptions == before.preemptions
        })
    }

    /// The thread may wait for other reasons from now on.
    pub(crate) fn forget_stops(&mut self) {
        self.stops = None;
    }

    pub(crate) fn is_handing(&self, slot: u32) -> bool {
        self.handing.contains(&slot)
    }

    /// Notes that the call which submitted the stamped slots came back at `now_ns`, and whether that is when they went
    /// out.
    pub(crate) fn handed_over(
        &mut self,
        shared: &SharedRun,
        at: Place,
        now_ns: u64,
        went_out_then: bool,
    ) {
        let handed = Handed {
            at_ns: now_ns,
            went_out_then,
        };
        for slot in &self.handing {
            self.handed[*slot as usize] = handed;
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
            let started_ns = view.started_ns.load(Relaxed);
            let handed = self.handed[*slot as usize];
            let (submission_ns, completion_ns) = handed.parts(started_ns, now_ns);
            let service_ns = now_ns.saturating_sub(started_ns);
            let slab = shared.streams[number].slab(shared, now_ns, at.slab);
            // The slab of what comes back after the stop has no intervals.
            let interval = match slab {
                AFTER_STOP => u64::MAX,
                _ => interval,
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
                count_parts(parts, (submission_ns, completion_ns, service_ns), interval);
            }
            cells.last_seen_ns.fetch_max(now_ns, Relaxed);
            // What comes back in a warm-up is in no figure either; what comes back after the stop is.
            let is_logged = succeeded && slab != WARMUP;
            if let Some(log) = self.log.as_mut().filter(|_| is_logged) {
                let is_split = cells.parts[place_counted(op.kind)].is_some();
                let stream = &shared.streams[number];
                let seen_ns = now_ns.saturating_sub(shared.start_ns.load(Relaxed));
                let own = stream.lifetime.as_ref();
                let record = OperationRecord {
                    stream: StreamId::at(number),
                    target: stream.targets[op.object.place as usize],
                    operation: op.kind,
                    offset: op.offset,
                    length: if is_trim { op.length } else { *result as u32 },
                    priority: priorities.map_or(0, |priorities| priorities.word_of(*slot)),
                    seen_ns,
                    measured_from_ns: own.map_or(0, |own| own.measured_from_ns(seen_ns)),
                    service_ns,
                    submission_ns: is_split.then_some(submission_ns),
                    completion_ns: match is_split {
                        true => completion_ns,
                        false => service_ns,
                    },
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

fn count_parts(
    parts: &PartCells,
    (submission_ns, completion_ns, service_ns): (u64, u64, u64),
    interval: u64,
) {
    let sharing = Sharing::ManyWriters;
    parts.submission.record(submission_ns, interval, sharing);
    parts.completion.record(completion_ns, interval, sharing);
    if let Some(service) = &parts.service {
        service.record(service_ns, interval, sharing);
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
