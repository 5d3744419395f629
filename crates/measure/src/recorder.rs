//! Counters and histograms that workers write while the conductor reads them, without locks.
//!
//! Every count only grows (and wraps), so a reader takes differences and nothing is ever lost.
//! Each cell exists in several slabs: a completion is counted in the slab of the interval that its
//! stamp falls into, and the reader reads a slab while the workers write another. A worker that is
//! blocked at the end of an interval holds up nobody, and a reader that comes late finds later
//! intervals in other slabs.
use crate::event::{Figure, FigureKey};
use crate::evidence::GAP_NS;
use crate::histogram::{BUCKETS, HistogramBuilder, bucket_of};
use crate::latencies::LatencyFigures;
use bytemuck::zeroed_slice_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

const ROW: usize = 256;
const ROWS: usize = BUCKETS / ROW;
const MAX_BITS: u32 = 48;
const MAX_MASK: u64 = (1 << MAX_BITS) - 1;

/// Whether one thread writes a cell or several do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// A load and a store per count.
    OneWriter,
    /// An atomic addition per count.
    ManyWriters,
}

/// Cells whose counters are made together: so many that an allocator always takes them from the
/// kernel, as zeros that occupy memory only where they are written. A run of a thousand streams has
/// tens of thousands of cells, of which few are used and those in a few rows.
const CELLS_TOGETHER: usize = 1024;

/// Where the counters of cells come from.
#[derive(Debug, Default)]
pub struct CellMemory {
    counts: Option<Arc<Box<[AtomicU32]>>>,
    taken: usize,
}

/// One latency of one kind in one slab.
#[derive(Debug)]
pub struct LatencyCell {
    counts: Arc<Box<[AtomicU32]>>,
    /// Where the counters of this cell begin.
    first: usize,
    /// A bit per row of 256 buckets that was ever written.
    rows: AtomicU64,
    sum_ns: AtomicU64,
    /// The interval (low 16 bits) above the largest value in it (48 bits).
    max: AtomicU64,
}

/// All counts of one stream, target and operation in one slab. Aligned, so that two writers do not
/// share a cache line.
#[derive(Debug)]
#[repr(align(128))]
pub struct FigureCell {
    pub service: LatencyCell,
    pub response: LatencyCell,
    bytes: AtomicU64,
    errors: AtomicU64,
    short_transfers: AtomicU64,
    /// When the last success was seen; zero before the first.
    pub last_success_ns: AtomicU64,
}

/// What a reader remembers of a latency cell to form differences.
#[derive(Debug, Default)]
pub struct CellReader {
    rows: Vec<Option<Box<[u32; ROW]>>>,
    sum_ns: u64,
}

/// What a reader remembers of a figure cell.
#[derive(Debug, Default)]
pub struct FigureReader {
    service: CellReader,
    response: CellReader,
    bytes: u64,
    errors: u64,
    short_transfers: u64,
}

#[inline]
fn add(counter: &AtomicU64, value: u64, sharing: Sharing) {
    match sharing {
        Sharing::OneWriter => counter.store(counter.load(Relaxed).wrapping_add(value), Relaxed),
        Sharing::ManyWriters => {
            counter.fetch_add(value, Relaxed);
        }
    }
}

impl CellMemory {
    /// A cell with nothing counted.
    pub fn latency(&mut self) -> LatencyCell {
        let room = self.counts.take();
        let room = room.filter(|_| self.taken < CELLS_TOGETHER);
        let counts = room.unwrap_or_else(|| {
            self.taken = 0;
            Arc::new(zeroed_slice_box(CELLS_TOGETHER * BUCKETS))
        });
        self.counts = Some(Arc::clone(&counts));
        self.taken += 1;
        LatencyCell {
            counts,
            first: (self.taken - 1) * BUCKETS,
            rows: AtomicU64::new(0),
            sum_ns: AtomicU64::new(0),
            max: AtomicU64::new(0),
        }
    }

    /// As [`CellMemory::latency`].
    pub fn figure(&mut self) -> FigureCell {
        FigureCell {
            service: self.latency(),
            response: self.latency(),
            bytes: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            short_transfers: AtomicU64::new(0),
            last_success_ns: AtomicU64::new(0),
        }
    }
}

impl LatencyCell {
    /// Counts one value in `interval`.
    #[inline]
    pub fn record(&self, value_ns: u64, interval: u64, sharing: Sharing) {
        let bucket = bucket_of(value_ns);
        let count = &self.counts[self.first + bucket];
        match sharing {
            Sharing::OneWriter => count.store(count.load(Relaxed).wrapping_add(1), Relaxed),
            Sharing::ManyWriters => {
                count.fetch_add(1, Relaxed);
            }
        }
        let row = 1_u64 << (bucket / ROW);
        if self.rows.load(Relaxed) & row == 0 {
            self.rows.fetch_or(row, Relaxed);
        }
        add(&self.sum_ns, value_ns, sharing);
        let tagged = (interval << MAX_BITS) | value_ns.min(MAX_MASK);
        let seen = self.max.load(Relaxed);
        if seen >> MAX_BITS != tagged >> MAX_BITS || seen < tagged {
            self.raise_max(tagged);
        }
    }

    #[cold]
    fn raise_max(&self, tagged: u64) {
        let _ = self.max.fetch_update(Relaxed, Relaxed, |seen| {
            (seen >> MAX_BITS != tagged >> MAX_BITS || seen < tagged).then_some(tagged)
        });
    }

    /// The largest value of `interval`; zero when another interval has been written since.
    pub fn max_of(&self, interval: u64) -> u64 {
        let seen = self.max.load(Relaxed);
        if seen >> MAX_BITS == (interval << MAX_BITS) >> MAX_BITS {
            seen & MAX_MASK
        } else {
            0
        }
    }
}

impl CellReader {
    /// Adds what came since the last reading to `histogram`; returns the added sum in nanoseconds
    /// and the number of values.
    pub fn read(&mut self, cell: &LatencyCell, histogram: &mut HistogramBuilder) -> (u64, u64) {
        self.rows.resize_with(ROWS, || None);
        let rows = cell.rows.load(Relaxed);
        let mut added = 0;
        for row in (0..ROWS).filter(|row| rows & (1 << row) != 0) {
            let seen = self.rows[row].get_or_insert_with(|| Box::new([0; ROW]));
            let first = cell.first + row * ROW;
            let counts = &cell.counts[first..first + ROW];
            for (offset, (count, seen)) in counts.iter().zip(seen.iter_mut()).enumerate() {
                let now = count.load(Relaxed);
                let new = now.wrapping_sub(*seen);
                if new > 0 {
                    *seen = now;
                    added += u64::from(new);
                    histogram.add_count(row * ROW + offset, u64::from(new));
                }
            }
        }
        (difference(&cell.sum_ns, &mut self.sum_ns), added)
    }
}

fn difference(counter: &AtomicU64, seen: &mut u64) -> u64 {
    let now = counter.load(Relaxed);
    let new = now.wrapping_sub(*seen);
    *seen = now;
    new
}

impl FigureCell {
    /// Whether it has had no success for [`GAP_NS`], or none at all.
    #[inline]
    pub fn was_still(&self, now_ns: u64) -> bool {
        now_ns.wrapping_sub(self.last_success_ns.load(Relaxed)) >= GAP_NS
    }

    /// Counts a success.
    #[inline]
    pub fn succeeded(
        &self,
        bytes: u64,
        service_ns: u64,
        response_ns: u64,
        interval: u64,
        sharing: Sharing,
    ) {
        add(&self.bytes, bytes, sharing);
        self.service.record(service_ns, interval, sharing);
        self.response.record(response_ns, interval, sharing);
    }

    /// Counts a failure; its time is kept apart from the latencies of successes.
    pub fn failed(&self) {
        self.errors.fetch_add(1, Relaxed);
    }

    /// Counts a transfer that moved fewer bytes than asked, in addition to its success.
    pub fn was_short(&self) {
        self.short_transfers.fetch_add(1, Relaxed);
    }
}

impl FigureReader {
    /// Adds what came since the last reading to `figure`, whose histograms are left alone: their
    /// new counts go to the builders. Returns how many response times came: one that is recorded during the look may be
    /// seen a look later than its service time.
    pub fn read(
        &mut self,
        cell: &FigureCell,
        interval: u64,
        figure: &mut Figure,
        service: &mut HistogramBuilder,
        response: &mut HistogramBuilder,
    ) -> u64 {
        let (sum, count) = self.service.read(&cell.service, service);
        figure.operations += count;
        figure.service.sum_ns += sum;
        let (sum, responses) = self.response.read(&cell.response, response);
        figure.response.sum_ns += sum;
        figure.service.max_ns = figure.service.max_ns.max(cell.service.max_of(interval));
        figure.response.max_ns = figure.response.max_ns.max(cell.response.max_of(interval));
        figure.bytes += difference(&cell.bytes, &mut self.bytes);
        figure.errors += difference(&cell.errors, &mut self.errors);
        figure.short_transfers += difference(&cell.short_transfers, &mut self.short_transfers);
        responses
    }
}

impl Figure {
    /// Nothing counted yet.
    pub fn empty(key: FigureKey) -> Self {
        Self {
            key,
            operations: 0,
            bytes: 0,
            errors: 0,
            short_transfers: 0,
            service: LatencyFigures::default(),
            response: LatencyFigures::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{Operation, StreamId, TargetId};

    fn key() -> FigureKey {
        FigureKey {
            stream: StreamId(0),
            target: TargetId(0),
            operation: Operation::Read,
        }
    }

    fn read(reader: &mut FigureReader, cell: &FigureCell, interval: u64) -> Figure {
        let (mut service, mut response) =
            (HistogramBuilder::default(), HistogramBuilder::default());
        let mut figure = Figure::empty(key());
        reader.read(cell, interval, &mut figure, &mut service, &mut response);
        figure.service.histogram = service.build();
        figure.response.histogram = response.build();
        figure
    }

    #[test]
    fn a_reader_sees_each_value_once() {
        let cell = CellMemory::default().figure();
        let mut reader = FigureReader::default();
        cell.succeeded(4096, 1_000, 5_000, 0, Sharing::OneWriter);
        cell.succeeded(4096, 2_000, 2_000, 0, Sharing::ManyWriters);
        let first = read(&mut reader, &cell, 0);
        assert_eq!((first.operations, first.bytes), (2, 8192));
        assert_eq!(
            (first.service.sum_ns, first.response.sum_ns),
            (3_000, 7_000)
        );
        assert_eq!(
            (first.service.max_ns, first.response.max_ns),
            (2_000, 5_000)
        );
        cell.succeeded(512, 70, 70, 2, Sharing::OneWriter);
        cell.failed();
        let second = read(&mut reader, &cell, 2);
        assert_eq!(
            (second.operations, second.bytes, second.errors),
            (1, 512, 1)
        );
        assert_eq!(
            second.service.max_ns, 70,
            "the maximum belongs to its interval"
        );
        assert_eq!(second.service.histogram.count(), 1);
    }

    #[test]
    fn a_response_that_a_look_did_not_see_is_seen_by_the_next() {
        let cell = CellMemory::default().figure();
        let mut reader = FigureReader::default();
        let mut look = || {
            let (mut service, mut response) =
                (HistogramBuilder::default(), HistogramBuilder::default());
            let mut figure = Figure::empty(key());
            let responses = reader.read(&cell, 0, &mut figure, &mut service, &mut response);
            (figure.operations, responses, response.drain().count())
        };
        // The look falls between the two.
        cell.service.record(1_000, 0, Sharing::OneWriter);
        assert_eq!(look(), (1, 0, 0));
        cell.response.record(5_000, 0, Sharing::OneWriter);
        assert_eq!(look(), (0, 1, 1));
    }

    /// A figure that holds a part of an operation is not left out as empty, as no later look would see that part.
    #[test]
    fn bytes_that_a_look_saw_before_their_operation_are_kept() {
        let cell = CellMemory::default().figure();
        let mut reader = FigureReader::default();
        add(&cell.bytes, 4096, Sharing::OneWriter);
        let first = read(&mut reader, &cell, 0);
        assert_eq!((first.operations, first.bytes), (0, 4096));
        assert!(!first.is_empty());
        cell.service.record(1_000, 0, Sharing::OneWriter);
        cell.response.record(1_000, 0, Sharing::OneWriter);
        let second = read(&mut reader, &cell, 0);
        assert_eq!((second.operations, second.bytes), (1, 0));
        assert!(read(&mut reader, &cell, 0).is_empty());
    }

    #[test]
    fn writers_on_several_threads_lose_nothing() {
        let cell = CellMemory::default().figure();
        std::thread::scope(|scope| {
            for thread in 0..4_u64 {
                let cell = &cell;
                scope.spawn(move || {
                    for value in 0..10_000 {
                        cell.succeeded(1, value + thread, value, 1, Sharing::ManyWriters);
                    }
                });
            }
        });
        let figure = read(&mut FigureReader::default(), &cell, 1);
        assert_eq!((figure.operations, figure.bytes), (40_000, 40_000));
        assert_eq!(figure.service.histogram.count(), 40_000);
        assert_eq!(figure.service.max_ns, 10_002);
    }
}
