//! Which block of a target was written by which write: four bytes per block, so that what is read
//! back can be told from what an earlier write left there.
//!
//! Where blocks may begin between other blocks, the record knows smaller parts than blocks. A block is
//! there where its first part is marked as one and the others are of the same write.
//!
//! While writes overlap in flight nobody knows which of them lands last, and the record says so.
use crate::own::Own;
use plan::{CheckMethod, PatternId};
use std::ops::Range;
use std::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

/// Nothing is known of the block.
const UNKNOWN: u32 = 0;
const IN_FLIGHT: u32 = 1;
const DISCARDING: u32 = 2;
/// Nothing is known of the block, and writes to it may be in flight still. It stays so: how many of them there are is
/// not counted, and one may land on top of any later one.
const ANYTHING: u32 = 3;
/// Writes overlapped in flight: one of them is there. It stays so, as [`ANYTHING`].
const SOME: u32 = 4;
/// The block was discarded, and is zeros.
const ZEROS: u32 = 5;
/// Tags of writes begin here.
const FIRST_TAG: u32 = 6;
/// Beside what is known: the write was read back.
const READ_BACK: u32 = 1 << 31;
/// Beside what is known: a block begins here.
const BEGIN: u32 = 1 << 30;
/// What is known, without the two.
const KNOWN: u32 = BEGIN - 1;

/// Blocks, or parts of blocks, that a record has at most: 2 GiB of memory.
pub(crate) const BLOCKS_MAX: u64 = 1 << 29;

/// How the blocks of a target lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    pub block_bytes: u64,
    /// What is remembered apart: a block, or the part of it that divides all addresses.
    pub part_bytes: u64,
    /// Where the first block begins.
    pub phase: u64,
}

/// How the blocks of a target are written. What is written in another form is nothing that a reader
/// of this one could check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockForm {
    pub grid: Grid,
    pub method: CheckMethod,
    pub header_at: u64,
    pub pattern: Option<PatternId>,
}

impl Grid {
    fn parts_of_block(self) -> usize {
        (self.block_bytes / self.part_bytes) as usize
    }
}

/// The record of one target, of blocks of one form.
#[derive(Debug)]
pub(crate) struct Record {
    grid: Grid,
    tags: Vec<AtomicU32>,
}

/// What a record says of one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    Nothing,
    /// One of several writes.
    Some,
    Zeros,
    /// The write with this tag.
    Write(u32),
}

/// Places of targets, their records, and the bytes of them that count.
pub(crate) type Parts = Vec<(u32, std::sync::Arc<Record>, Range<u64>)>;

/// Goes through what records know of several targets, once.
#[derive(Clone, Debug)]
pub(crate) struct Walk {
    parts: Vec<Part>,
    /// In parts of blocks, over all targets.
    cursor: Own<AtomicU64>,
    /// No transfer is longer.
    bytes_max: u64,
}

#[derive(Clone, Debug)]
struct Part {
    place: u32,
    record: std::sync::Arc<Record>,
    /// Its parts of blocks, and where they begin among those of all targets.
    blocks: Range<u64>,
    begin: u64,
}

/// The tag of a write by what its data were made from.
#[inline]
pub(crate) fn tag(seed: u64) -> u32 {
    ((seed ^ seed >> 32) as u32 & KNOWN).max(FIRST_TAG)
}

impl Record {
    pub(crate) fn new(grid: Grid, bytes: u64) -> Self {
        let parts = bytes.saturating_sub(grid.phase) / grid.part_bytes;
        Self {
            grid,
            tags: (0..parts).map(|_| AtomicU32::new(UNKNOWN)).collect(),
        }
    }

    pub(crate) fn grid(&self) -> Grid {
        self.grid
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.grid.phase + self.tags.len() as u64 * self.grid.part_bytes
    }

    /// A write to these bytes is about to be sent.
    #[inline]
    pub(crate) fn begin(&self, offset: u64, length: u64) {
        for (mark, tag) in self.marked(offset, length) {
            let before = tag.swap(IN_FLIGHT | mark, Relaxed);
            match before & KNOWN {
                IN_FLIGHT | SOME if before & BEGIN == mark => tag.store(SOME | mark, Relaxed),
                // Blocks that begin elsewhere: neither may be there in full.
                IN_FLIGHT | SOME | DISCARDING | ANYTHING => tag.store(ANYTHING, Relaxed),
                _ => {}
            }
        }
    }

    /// It is there, as far as `length` goes.
    #[inline]
    pub(crate) fn end(&self, offset: u64, length: u64, tag: u32) {
        for (mark, place) in self.marked(offset, length) {
            let _ = place.compare_exchange(IN_FLIGHT | mark, tag | mark, Release, Relaxed);
        }
    }

    /// These bytes were written by somebody; blocks that they cover in part were not.
    pub(crate) fn note(&self, offset: u64, length: u64) {
        let grid = self.grid;
        let end = offset.saturating_add(length);
        let parts = offset.saturating_sub(grid.phase).div_ceil(grid.part_bytes);
        let first = parts * grid.part_bytes + grid.phase;
        let whole = end.saturating_sub(first) / grid.block_bytes * grid.block_bytes;
        for (mark, place) in self.marked(first, whole) {
            place.store(SOME | mark, Relaxed);
        }
    }

    /// A write failed, so that anything may be there.
    pub(crate) fn failed(&self, offset: u64, length: u64) {
        for (mark, place) in self.marked(offset, length) {
            let alone = place.compare_exchange(IN_FLIGHT | mark, UNKNOWN, Relaxed, Relaxed);
            if alone.is_err() {
                place.store(ANYTHING, Relaxed);
            }
        }
    }

    /// Something else was done to these bytes, while writes may be in flight.
    pub(crate) fn forget(&self, offset: u64, length: u64) {
        let after = |known: u32| match known & KNOWN {
            IN_FLIGHT | DISCARDING | ANYTHING | SOME => ANYTHING,
            _ => UNKNOWN,
        };
        for place in self.of(offset, length) {
            let _ = place.fetch_update(Relaxed, Relaxed, |known| Some(after(known)));
        }
    }

    /// These bytes were written by somebody who keeps no record here; blocks that they touch are
    /// nothing that is known.
    pub(crate) fn overwritten(&self, offset: u64, length: u64) {
        let grid = self.grid;
        let end = offset.saturating_add(length).saturating_sub(grid.phase);
        let whole = end.next_multiple_of(grid.part_bytes);
        let whole = whole.saturating_add(grid.phase);
        self.forget(offset, whole.saturating_sub(offset));
    }

    #[inline]
    pub(crate) fn known(&self, offset: u64) -> Known {
        let parts = self.of(offset, self.grid.block_bytes);
        match self.block(parts).map(|block| block & KNOWN) {
            None | Some(UNKNOWN | IN_FLIGHT | DISCARDING | ANYTHING) => Known::Nothing,
            Some(SOME) => Known::Some,
            Some(ZEROS) => Known::Zeros,
            Some(tag) => Known::Write(tag),
        }
    }

    /// What stands at all parts of a block that begins with these; `None` where none begins or it is
    /// not there in full.
    #[inline]
    fn block(&self, parts: &[AtomicU32]) -> Option<u32> {
        let (first, others) = parts.get(..self.grid.parts_of_block())?.split_first()?;
        let first = first.load(Acquire);
        let rest = first & !BEGIN;
        let is_whole = first & BEGIN > 0 && others.iter().all(|part| part.load(Acquire) == rest);
        is_whole.then_some(rest)
    }

    /// The write with this tag is about to be discarded.
    pub(crate) fn begin_discard(&self, offset: u64, length: u64, tag: u32) {
        for place in self.of(offset, length) {
            let is_still =
                |known: u32| (known & KNOWN == tag).then_some(DISCARDING | known & BEGIN);
            if place.fetch_update(AcqRel, Relaxed, is_still).is_err() {
                // Somebody writes there: nobody knows what lands last.
                place.store(ANYTHING, Relaxed);
            }
        }
    }

    /// It is discarded; whether it reads as zeros from now on.
    pub(crate) fn end_discard(&self, offset: u64, length: u64, is_zeros: bool) {
        let end = if is_zeros { ZEROS } else { UNKNOWN };
        for (mark, place) in self.marked(offset, length) {
            if place
                .compare_exchange(DISCARDING | mark, end | mark, Release, Relaxed)
                .is_err()
            {
                // What is written meanwhile may be there, or zeros.
                place.store(ANYTHING, Relaxed);
            }
        }
    }

    /// Whether these bytes are of the write with this tag, and nothing was sent there since.
    pub(crate) fn is_all(&self, offset: u64, length: u64, tag: u32) -> bool {
        let places = self.of(offset, length).iter();
        places
            .map(|place| place.load(Acquire) & KNOWN)
            .all(|found| found == tag)
    }

    /// The write with this tag was read back.
    pub(crate) fn was_read_back(&self, offset: u64, length: u64, tag: u32) {
        for (mark, place) in self.marked(offset, length) {
            let tag = tag | mark;
            let _ = place.compare_exchange(tag, tag | READ_BACK, AcqRel, Relaxed);
        }
    }

    /// The parts of blocks from an offset on, each with the mark that it has.
    #[inline]
    fn marked(&self, offset: u64, length: u64) -> impl Iterator<Item = (u32, &AtomicU32)> {
        let blocks = self.of(offset, length).chunks(self.grid.parts_of_block());
        let marks = || std::iter::once(BEGIN).chain(std::iter::repeat(0));
        blocks.flat_map(move |block| marks().zip(block))
    }

    #[inline]
    fn of(&self, offset: u64, length: u64) -> &[AtomicU32] {
        let from = offset.saturating_sub(self.grid.phase) / self.grid.part_bytes;
        let to = (offset + length).saturating_sub(self.grid.phase) / self.grid.part_bytes;
        let most = self.tags.len();
        let (from, to) = ((from as usize).min(most), (to as usize).min(most));
        &self.tags[from..to.max(from)]
    }
}

impl Walk {
    /// Over parts of several targets: place, record, bytes. Transfers have `bytes_max` at most.
    pub(crate) fn new(parts: Parts, bytes_max: u64) -> Self {
        let mut begin = 0;
        let part = |(place, record, bytes): (u32, std::sync::Arc<Record>, Range<u64>)| {
            let grid = record.grid;
            let at = |bytes: u64| bytes.saturating_sub(grid.phase) / grid.part_bytes;
            let blocks = at(bytes.start)..at(bytes.end).min(record.tags.len() as u64);
            let own = begin;
            begin += blocks.end.saturating_sub(blocks.start);
            Part {
                place,
                record,
                blocks,
                begin: own,
            }
        };
        Self {
            parts: parts.into_iter().map(part).collect(),
            cursor: Own::<AtomicU64>::new(0),
            bytes_max,
        }
    }

    /// The next transfer: place, offset and length; `None` at the end.
    pub(crate) fn next(&self) -> Option<(u32, u64, u32)> {
        let mut at = self.cursor.load(Relaxed);
        loop {
            let (part, first, count) = self.find(at)?;
            let end = part.begin + (first - part.blocks.start) + count;
            match self.cursor.compare_exchange_weak(at, end, Relaxed, Relaxed) {
                Ok(_) => {
                    let grid = part.record.grid;
                    let length = (count * grid.part_bytes) as u32;
                    return Some((part.place, grid.phase + first * grid.part_bytes, length));
                }
                Err(now) => at = now,
            }
        }
    }

    /// The next blocks of one write from place `at` on: of which target, their first part, how many parts.
    fn find(&self, at: u64) -> Option<(&Part, u64, u64)> {
        let behind = self.parts.partition_point(|part| part.begin <= at);
        for part in &self.parts[behind.saturating_sub(1)..] {
            let (record, end) = (&part.record, part.blocks.end);
            let known = |first: u64| record.block(&record.tags[first as usize..end as usize]);
            let is_due = |block: u32| (SOME..READ_BACK).contains(&block);
            let mut places = part.blocks.start + at.saturating_sub(part.begin)..end;
            let due = |first: u64| Some((first, known(first).filter(|block| is_due(*block))?));
            let Some((first, block)) = places.find_map(due) else {
                continue;
            };
            let parts = record.grid.parts_of_block() as u64;
            let most = (self.bytes_max / record.grid.block_bytes).max(1);
            let mut others = 1..most.min((end - first) / parts);
            let other = others.find(|number| known(first + number * parts) != Some(block));
            return Some((part, first, other.unwrap_or(others.end) * parts));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    const GRID: Grid = Grid {
        block_bytes: 4096,
        part_bytes: 4096,
        phase: 512,
    };

    fn all(walk: &Walk) -> Vec<(u32, u64, u32)> {
        std::iter::from_fn(|| walk.next()).collect()
    }

    fn write(record: &Record, offset: u64, length: u64, tag: u32) {
        record.begin(offset, length);
        record.end(offset, length, tag);
    }

    #[test]
    fn a_walk_reads_each_write_once_and_what_later_ones_left_of_it() {
        let record = Arc::new(Record::new(GRID, 1 << 20));
        write(&record, 512, 4 * 4096, 7);
        write(&record, 512 + 4096, 4096, 8);
        write(&record, 512 + 20 * 4096, 8192, 9);
        let end = record.bytes();
        let walk = |range| Walk::new(vec![(3, Arc::clone(&record), range)], 1 << 16);
        let found = all(&walk(0..end));
        let expected = [
            (3, 512, 4096),
            (3, 512 + 4096, 4096),
            (3, 512 + 8192, 8192),
            (3, 512 + 20 * 4096, 8192),
        ];
        assert_eq!(found, expected);
        assert_eq!(all(&walk(512 + 8192..512 + 4 * 4096)), expected[2..3]);
        assert_eq!(record.known(512 + 4096), Known::Write(8));
        assert_eq!(record.known(512 + 5 * 4096), Known::Nothing);
    }

    #[test]
    fn what_was_read_back_is_known_and_not_walked_over_again() {
        let record = Arc::new(Record::new(GRID, 1 << 20));
        write(&record, 512, 4 * 4096, 7);
        assert!(record.is_all(512, 4 * 4096, 7));
        record.was_read_back(512, 2 * 4096, 7);
        assert!(record.is_all(512, 4 * 4096, 7));
        assert_eq!(record.known(512), Known::Write(7));
        let walk = || Walk::new(vec![(0, Arc::clone(&record), 0..1 << 20)], 1 << 16);
        assert_eq!(all(&walk()), [(0, 512 + 8192, 8192)]);
        record.begin(512 + 4096, 4096);
        assert!(!record.is_all(512, 8192, 7));
        record.end(512 + 4096, 4096, 9);
        // Too late: another write is there.
        record.was_read_back(512 + 4096, 4096, 7);
        let left = [(0, 512 + 4096, 4096), (0, 512 + 8192, 8192)];
        assert_eq!(all(&walk()), left);
    }

    #[test]
    fn transfers_are_no_longer_than_asked_and_end_with_their_target() {
        let records: Vec<Arc<Record>> = (0..2)
            .map(|_| Arc::new(Record::new(GRID, 1 << 15)))
            .collect();
        for record in &records {
            write(record, 512, 7 * 4096, 5);
        }
        let parts = records.iter().enumerate();
        let parts = parts.map(|(place, record)| (place as u32, Arc::clone(record), 0..1 << 15));
        let found = all(&Walk::new(parts.collect(), 4 * 4096));
        let blocks = |count: u32| count * 4096;
        let second = 512 + u64::from(blocks(4));
        assert_eq!(
            found,
            [
                (0, 512, blocks(4)),
                (0, second, blocks(3)),
                (1, 512, blocks(4)),
                (1, second, blocks(3))
            ]
        );
    }

    /// Blocks of 4 KiB that begin at multiples of 1 KiB.
    const BETWEEN: Grid = Grid {
        block_bytes: 4096,
        part_bytes: 1024,
        phase: 512,
    };

    #[test]
    fn blocks_between_blocks_are_walked_over_where_they_are_there_in_full() {
        let record = Arc::new(Record::new(BETWEEN, 1 << 20));
        let at = |part: u64| 512 + part * 1024;
        write(&record, at(0), 4096, 7);
        write(&record, at(5), 8192, 8);
        write(&record, at(13), 4096, 9);
        // Over the end of one write, and over the start of another.
        write(&record, at(20), 4096, 10);
        write(&record, at(23), 4096, 11);
        write(&record, at(30), 8192, 12);
        write(&record, at(29), 4096, 13);
        let walk = || Walk::new(vec![(0, Arc::clone(&record), 0..1 << 20)], 1 << 16);
        let expected = [
            (0, at(0), 4096),
            (0, at(5), 8192),
            (0, at(13), 4096),
            (0, at(23), 4096),
            (0, at(29), 4096),
            (0, at(34), 4096),
        ];
        assert_eq!(all(&walk()), expected);
        assert_eq!(record.known(at(5)), Known::Write(8));
        assert_eq!(record.known(at(6)), Known::Nothing);
        assert_eq!(record.known(at(20)), Known::Nothing);
        record.was_read_back(at(5), 4096, 8);
        record.overwritten(at(16), 1);
        let left = [(0, at(0), 4096), (0, at(9), 4096), (0, at(23), 4096)];
        assert_eq!(all(&walk())[..3], left);
    }

    #[test]
    fn of_blocks_at_several_places_that_overlap_in_flight_none_is_there() {
        let record = Record::new(BETWEEN, 1 << 20);
        record.begin(512, 4096);
        record.begin(512 + 2048, 4096);
        record.end(512, 4096, 10);
        record.end(512 + 2048, 4096, 11);
        assert_eq!(record.known(512), Known::Nothing);
        assert_eq!(record.known(512 + 2048), Known::Nothing);
    }

    #[test]
    fn what_somebody_wrote_is_walked_over_in_whole_blocks() {
        let record = Arc::new(Record::new(GRID, 1 << 20));
        record.note(512 + 4096, 2 * 4096);
        record.note(512 + 8 * 4096 + 1, 3 * 4096);
        record.note(512, 0);
        let walk = Walk::new(vec![(0, Arc::clone(&record), 0..1 << 20)], 1 << 16);
        let blocks = [(0, 512 + 4096, 8192), (0, 512 + 9 * 4096, 8192)];
        assert_eq!(all(&walk), blocks);
        assert_eq!(record.known(512 + 4096), Known::Some);
    }

    #[test]
    fn what_is_discarded_is_zeros_unless_somebody_writes_meanwhile() {
        let record = Arc::new(Record::new(GRID, 1 << 20));
        write(&record, 512, 4 * 4096, 7);
        record.was_read_back(512, 4096, 7);
        record.begin_discard(512, 3 * 4096, 7);
        record.begin(512 + 4096, 4096);
        record.end_discard(512, 2 * 4096, true);
        record.end(512 + 4096, 4096, 9);
        record.end_discard(512 + 2 * 4096, 4096, false);
        assert_eq!(record.known(512), Known::Zeros);
        assert_eq!(record.known(512 + 4096), Known::Nothing);
        assert_eq!(record.known(512 + 2 * 4096), Known::Nothing);
        assert_eq!(record.known(512 + 3 * 4096), Known::Write(7));
        // Zeros are read like a write of their own.
        let end = record.bytes();
        let walk = Walk::new(vec![(0, Arc::clone(&record), 0..end)], 1 << 16);
        assert_eq!(all(&walk), [(0, 512, 4096), (0, 512 + 3 * 4096, 4096)]);
        write(&record, 512, 4096, 8);
        assert_eq!(record.known(512), Known::Write(8));
    }

    #[test]
    fn blocks_that_others_touch_are_not_known_any_more() {
        let record = Record::new(GRID, 1 << 20);
        write(&record, 512, 4 * 4096, 7);
        record.overwritten(0, 512);
        assert_eq!(record.known(512), Known::Write(7));
        record.overwritten(512 + 4095, 2);
        assert_eq!(record.known(512), Known::Nothing);
        assert_eq!(record.known(512 + 4096), Known::Nothing);
        assert_eq!(record.known(512 + 8192), Known::Write(7));
        // Behind the end, and a write that was on its way meanwhile.
        record.overwritten(1 << 20, 1 << 20);
        record.begin(512, 4096);
        record.overwritten(0, 1 << 20);
        record.end(512, 4096, 9);
        assert_eq!(record.known(512), Known::Nothing);
    }

    #[test]
    fn writes_that_overlap_in_flight_leave_one_of_them() {
        let record = Record::new(GRID, 1 << 20);
        record.begin(512, 8192);
        record.begin(512, 4096);
        record.end(512, 8192, 10);
        record.end(512, 4096, 11);
        assert_eq!(record.known(512), Known::Some);
        assert_eq!(record.known(512 + 4096), Known::Write(10));
    }

    #[test]
    fn a_failed_write_leaves_nothing_to_rely_on() {
        let record = Record::new(GRID, 1 << 20);
        write(&record, 512, 8192, 10);
        record.begin(512, 4096);
        assert_eq!(record.known(512), Known::Nothing);
        record.failed(512, 4096);
        assert_eq!(record.known(512), Known::Nothing);
        assert_eq!(record.known(512 + 4096), Known::Write(10));
        write(&record, 512, 4096, 11);
        assert_eq!(record.known(512), Known::Write(11));
    }

    /// A write that was in flight beside a discard, a failure or something foreign may land on top of what came later.
    #[test]
    fn a_write_that_is_still_in_flight_is_not_forgotten() {
        let discarded = |record: &Record| {
            write(record, 512, 4096, 7);
            record.begin_discard(512, 4096, 7);
            record.begin(512, 4096);
            record.end_discard(512, 4096, true);
        };
        let failed = |record: &Record| {
            record.begin(512, 4096);
            record.begin(512, 4096);
            record.failed(512, 4096);
        };
        let foreign = |record: &Record| {
            record.begin(512, 4096);
            record.overwritten(512, 4096);
        };
        let ways: [&dyn Fn(&Record); 3] = [&discarded, &failed, &foreign];
        for (number, way) in ways.into_iter().enumerate() {
            let record = Record::new(GRID, 1 << 20);
            way(&record);
            write(&record, 512, 4096, 9);
            assert_eq!(record.known(512), Known::Nothing, "{number}");
            record.begin_discard(512, 4096, 9);
            record.end_discard(512, 4096, true);
            assert_eq!(record.known(512), Known::Nothing, "{number}");
        }
    }
}
