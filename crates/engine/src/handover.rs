//! Cells that count how operations go to the kernel and come back, for runs that ask for it. Others have none of them, so
//! that their path pays a test per batch and nothing per operation. What workers write into them is in `notes.rs`.
use crate::op::COUNTED;
use measure::{
    BATCH_CLASSES, CellMemory, CellReader, DEPTH_CLASSES, Handover, HistogramBuilder, LatencyCell,
    LatencyFigures, ServiceParts,
};
use plan::{IoPriority, Operation, Stream};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What is counted in one slab.
#[derive(Debug)]
pub(crate) struct HandoverCells {
    /// By operation, for those that the stream does.
    pub parts: [Option<PartCells>; COUNTED.len()],
    pub depths: [AtomicU64; DEPTH_CLASSES],
    pub submitted_together: [AtomicU64; BATCH_CLASSES],
    pub seen_together: [AtomicU64; BATCH_CLASSES],
    pub last_seen_ns: AtomicU64,
}

#[derive(Debug)]
pub(crate) struct PartCells {
    /// As the kernel takes it; zero where nobody has said any.
    priority: u16,
    pub submission: LatencyCell,
    pub completion: LatencyCell,
    /// Both together, where single transfers may have priorities.
    pub service: Option<LatencyCell>,
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
    pub(crate) fn of(&self, place: Option<usize>) -> &Self {
        place
            .and_then(|place| self.others.get(place))
            .unwrap_or(self)
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
