//! How operations go to the kernel and come back: what a worker notes for runs that ask for it.
//! Others have none of this, so that their path pays a test per batch and nothing per operation.
use crate::op::{COUNTED, place_counted};
use crate::operations::{Kept, OperationWriter};
use crate::priorities::Priorities;
use crate::shared::{AFTER_STOP, SEARCH, SharedRun, SharedStream};
use measure::{
    BATCH_CLASSES, CellMemory, CellReader, DEPTH_CLASSES, Handover, HistogramBuilder, LatencyCell,
    LatencyFigures, OperationRecord, ServiceParts, Sharing, batch_class, depth_class,
};
use plan::{IoPriority, Operation, Stream, StreamId};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What is counted in one slab.
#[derive(Debug)]
pub(crate) struct HandoverCells {
    /// By operation, for those that the stream does.
    parts: [Option<PartCells>; COUNTED.len()],
    depths: [AtomicU64; DEPTH_CLASSES],
    submitted_together: [AtomicU64; BATCH_CLASSES],
    seen_together: [AtomicU64; BATCH_CLASSES],
    last_seen_ns: AtomicU64,
}

#[derive(Debug)]
struct PartCells {
    /// As the kernel takes it; zero where nobody has said any.
    priority: u16,
    submission: LatencyCell,
    completion: LatencyCell,
    /// Both together, where single transfers may have priorities.
    service: Option<LatencyCell>,
    /// The same for each of the priorities that single transfers may have.
    others: Box<[PartCells]>,
}

/// What a reader remembers of one slab.
#[derive(Debug, Default)]
pub(crate) struct HandoverReader {
    parts: [[CellReader; 3]; COUNTED.len()],
    /// By operation and priority of single transfers.
    others: [Vec<[CellReader; 3]>; COUNTED.len()],
    counts: [u64; DEPTH_CLASSES + 2 * BATCH_CLASSES],
}

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

impl HandoverCells {
    /// Cells for a stream; `splits` tells whether the backend can tell submission from completion, and
    /// `priorities` what single transfers may have beside that of their thread.
    pub(crate) fn of(
        stream: &Stream,
        splits: bool,
        priorities: &[u16],
        memory: &mut CellMemory,
    ) -> Self {
        let does = |operation: Operation| {
            let Some(generator) = stream.source.laws() else {
                return false;
            };
            let mix = &generator.operations;
            let check = stream.data.check;
            let reads_back = check.is_some_and(|check| check.backlog.is_some());
            let discards = check.is_some_and(|check| check.discards.is_some());
            match operation {
                Operation::Read => mix.read_pct > 0.0 || reads_back,
                Operation::Write => mix.write_pct > 0.0,
                Operation::Trim => mix.trim_pct > 0.0 || discards,
                _ => false,
            }
        };
        let parts = std::array::from_fn(|place| {
            (splits && does(COUNTED[place])).then(|| {
                let others = priorities.iter();
                let others = others.map(|word| PartCells::new(*word, memory).with_service(memory));
                let others: Box<[_]> = others.collect();
                let own = stream.flow.placement.io_priority;
                let own = PartCells::new(own.map_or(0, IoPriority::word), memory);
                match others.is_empty() {
                    true => own,
                    false => PartCells {
                        others,
                        ..own.with_service(memory)
                    },
                }
            })
        });
        Self {
            parts,
            depths: std::array::from_fn(|_| AtomicU64::new(0)),
            submitted_together: std::array::from_fn(|_| AtomicU64::new(0)),
            seen_together: std::array::from_fn(|_| AtomicU64::new(0)),
            last_seen_ns: AtomicU64::new(0),
        }
    }
}

impl PartCells {
    fn new(priority: u16, memory: &mut CellMemory) -> Self {
        Self {
            priority,
            submission: memory.latency(),
            completion: memory.latency(),
            service: None,
            others: Box::default(),
        }
    }

    fn with_service(self, memory: &mut CellMemory) -> Self {
        Self {
            service: Some(memory.latency()),
            ..self
        }
    }

    /// Those of a transfer, by its place among the priorities of its pool.
    fn of(&self, place: Option<usize>) -> &Self {
        place
            .and_then(|place| self.others.get(place))
            .unwrap_or(self)
    }
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

impl HandoverReader {
    /// Adds what came since the last reading to `handover`.
    pub(crate) fn read(
        &mut self,
        cells: &HandoverCells,
        interval: u64,
        start_ns: u64,
        builder: &mut HistogramBuilder,
        handover: &mut Handover,
    ) {
        let mut read = |reader: &mut CellReader, cell: &LatencyCell| {
            let (sum_ns, _) = reader.read(cell, builder);
            LatencyFigures {
                sum_ns,
                max_ns: cell.max_of(interval),
                histogram: builder.drain(),
            }
        };
        let mut parts = Vec::new();
        for (place, cells) in cells.parts.iter().enumerate() {
            let Some(cells) = cells else { continue };
            let others = &mut self.others[place];
            others.resize_with(cells.others.len(), Default::default);
            let readers = std::iter::once(&mut self.parts[place]).chain(others);
            let all = std::iter::once(cells).chain(&cells.others);
            for (cells, [submission, completion, service]) in all.zip(readers) {
                parts.push(ServiceParts {
                    operation: COUNTED[place],
                    priority: cells.priority,
                    submission: read(submission, &cells.submission),
                    completion: read(completion, &cells.completion),
                    service: match &cells.service {
                        Some(cell) => read(service, cell),
                        None => LatencyFigures::default(),
                    },
                });
            }
        }
        let mut counts = self.counts.iter_mut();
        let mut differences = |cells: &[AtomicU64; 7]| {
            std::array::from_fn(|place| {
                let now = cells[place].load(Relaxed);
                let seen = counts.next().expect("as many as there are cells");
                now.wrapping_sub(std::mem::replace(seen, now))
            })
        };
        handover.merge(&Handover {
            parts,
            depths: differences(&cells.depths),
            submitted_together: differences(&cells.submitted_together),
            seen_together: differences(&cells.seen_together),
            last_seen_ns: cells.last_seen_ns.load(Relaxed).saturating_sub(start_ns),
        });
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
