//! An operation as a value: what storage is asked, why, and of which part of what. Slots, rules and figures speak of
//! operations in these words alone; nothing of them may depend on which worker, source or backend has it.
//!
//! Read [`Op`] first.
use plan::{Direction, Operation, RangeSync, TargetId};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use sys::ring::RequestKind;

/// Transfers are shorter, in bytes.
pub(crate) const LENGTH_LIMIT: u64 = 1 << 28;

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Op {
    /// What storage is asked.
    pub kind: Operation,
    pub cause: Cause,
    pub object: Object,
    pub offset: u64,
    pub length: u32,
}

/// Why there is an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Cause {
    /// The laws of its stream have drawn it.
    Drawn,
    /// It is the next one of a record.
    Recorded,
    /// A rule of its stream wants it: a sync after writes.
    Rule,
    /// The sync at the end of its stream. It lasts as long as it takes to write what is dirty, which is no stall.
    AtEnd,
    /// The same, of the file system that holds the object in place of the object.
    FileSystemRule,
    /// What its stream has just written is read back, or discarded.
    ReadBack,
}

/// What an operation is done to: a target, by its place among those of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    pub stream: u32,
    pub place: u32,
}

/// One operation as drawn: the target by its place in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Drawn {
    pub operation: Operation,
    pub place: u32,
    pub offset: u64,
    pub length: u32,
}

/// A sync that is to be made now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DueSync {
    pub kind: Operation,
    pub cause: Cause,
    pub place: u32,
}

/// An operation where others may look at it. Which object it is cannot be seen half, nor what is asked of it; who looks
/// while it gives way to the next may see one of each.
#[derive(Debug, Default)]
pub(crate) struct OpCell {
    object: AtomicU64,
    asked: AtomicU64,
    offset: AtomicU64,
}

/// Streams without syncs have cells for these alone.
pub(crate) const TRANSFERS: &[Operation] = COUNTED.split_at(3).0;

/// The operations that have figures, in the order of their cells.
pub(crate) const COUNTED: &[Operation] = &[
    Operation::Read,
    Operation::Write,
    Operation::Trim,
    Operation::Sync,
    Operation::DataSync,
    Operation::RangeSync,
];

const CAUSES: [Cause; 6] = [
    Cause::Drawn,
    Cause::Recorded,
    Cause::Rule,
    Cause::AtEnd,
    Cause::FileSystemRule,
    Cause::ReadBack,
];

const KINDS: [Operation; Operation::ALL.len()] = Operation::ALL;

// What is written into a cell is read from it.
const _: () = {
    let mut number = 0;
    while number < KINDS.len() {
        assert!(KINDS[number] as usize == number);
        number += 1;
    }
    number = 0;
    while number < CAUSES.len() {
        assert!(CAUSES[number] as usize == number);
        number += 1;
    }
};

/// By operation, its place among [`COUNTED`]; beyond them where it has no figures.
const PLACES: [u8; KINDS.len()] = {
    let mut places = [u8::MAX; KINDS.len()];
    let mut place = 0;
    while place < COUNTED.len() {
        places[COUNTED[place] as usize] = place as u8;
        place += 1;
    }
    places
};

/// The place among [`COUNTED`] of an operation that has figures.
#[inline]
pub(crate) fn place_counted(kind: Operation) -> usize {
    usize::from(PLACES[kind as usize])
}

/// What transfers of this kind are drawn by.
#[inline]
pub(crate) fn direction_of(kind: Operation) -> Direction {
    match kind {
        Operation::Read => Direction::Read,
        Operation::Write => Direction::Write,
        _ => Direction::Trim,
    }
}

/// The first place of each target among those of a stream.
pub(crate) fn places(targets: &[TargetId]) -> BTreeMap<TargetId, u32> {
    let mut places = BTreeMap::new();
    for (place, target) in targets.iter().enumerate() {
        places.entry(*target).or_insert(place as u32);
    }
    places
}

impl Op {
    /// Whether its stream has drawn it, from laws or from a record: it counts against the end of the stream, and may be
    /// an arrival.
    #[inline]
    pub(crate) fn is_drawn(&self) -> bool {
        matches!(self.cause, Cause::Drawn | Cause::Recorded)
    }

    /// Whether the rules of its stream hold it back and wait for it.
    #[inline]
    pub(crate) fn is_ruled(&self) -> bool {
        self.is_drawn() && !self.kind.is_sync()
    }

    /// What it asks of the kernel; `range` tells how streams sync ranges.
    #[inline]
    pub(crate) fn request(&self, range: impl FnOnce() -> RangeSync) -> RequestKind {
        match self.kind {
            Operation::Read => RequestKind::Read,
            Operation::Write => RequestKind::Write,
            Operation::Trim => RequestKind::Discard,
            Operation::Sync => match self.cause {
                Cause::FileSystemRule => RequestKind::SyncFileSystem,
                _ => RequestKind::Fsync,
            },
            Operation::DataSync => RequestKind::Fdatasync,
            Operation::RangeSync => sync_range(range()),
            Operation::Open
            | Operation::Close
            | Operation::Create
            | Operation::Delete
            | Operation::Stat
            | Operation::SetAttributes
            | Operation::Access
            | Operation::MakeDirectory
            | Operation::RemoveDirectory
            | Operation::Copy
            | Operation::Move
            | Operation::Allocate
            | Operation::Truncate => unreachable!("no stream that is carried out asks for it"),
        }
    }
}

fn sync_range(range: RangeSync) -> RequestKind {
    RequestKind::SyncRange {
        flags: u8::from(range.waits_before)
            | u8::from(range.writes) << 1
            | u8::from(range.waits_after) << 2,
    }
}

impl OpCell {
    #[inline]
    pub(crate) fn store(&self, op: &Op) {
        let object = u64::from(op.object.stream) << 32 | u64::from(op.object.place);
        let asked = (op.cause as u64) << 40 | (op.kind as u64) << 32 | u64::from(op.length);
        self.object.store(object, Relaxed);
        self.asked.store(asked, Relaxed);
        self.offset.store(op.offset, Relaxed);
    }

    #[inline]
    pub(crate) fn load(&self) -> Op {
        let asked = self.asked.load(Relaxed);
        Op {
            kind: KINDS[usize::from((asked >> 32) as u8)],
            cause: CAUSES[usize::from((asked >> 40) as u8)],
            object: self.object(),
            offset: self.offset.load(Relaxed),
            length: asked as u32,
        }
    }

    /// Its object alone.
    #[inline]
    pub(crate) fn object(&self) -> Object {
        let object = self.object.load(Relaxed);
        Object {
            stream: (object >> 32) as u32,
            place: object as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(kind: Operation, cause: Cause) -> Op {
        Op {
            kind,
            cause,
            object: Object {
                stream: u32::MAX,
                place: 7,
            },
            offset: u64::MAX - 511,
            length: LENGTH_LIMIT as u32 - 1,
        }
    }

    #[test]
    fn what_goes_into_a_cell_comes_out() {
        let cell = OpCell::default();
        for kind in Operation::ALL {
            for cause in CAUSES {
                let op = op(kind, cause);
                cell.store(&op);
                assert_eq!(cell.load(), op);
            }
        }
    }

    #[test]
    fn every_operation_with_figures_asks_the_kernel_for_one_thing() {
        let range = || RangeSync {
            waits_before: true,
            writes: false,
            waits_after: true,
        };
        let requests = COUNTED
            .iter()
            .map(|kind| op(*kind, Cause::Rule).request(range));
        let expected = [
            RequestKind::Read,
            RequestKind::Write,
            RequestKind::Discard,
            RequestKind::Fsync,
            RequestKind::Fdatasync,
            RequestKind::SyncRange { flags: 0b101 },
        ];
        assert!(requests.eq(expected));
        let whole = op(Operation::Sync, Cause::FileSystemRule);
        assert_eq!(whole.request(range), RequestKind::SyncFileSystem);
    }

    #[test]
    fn figures_have_a_place_each() {
        let places = COUNTED.iter().map(|kind| place_counted(*kind));
        assert!(places.eq(0..COUNTED.len()));
        assert!(TRANSFERS.iter().all(|kind| !kind.is_sync()));
    }

    #[test]
    fn what_is_drawn_may_arrive_and_what_rules_make_does_not() {
        let drawn = CAUSES.map(|cause| op(Operation::Sync, cause).is_drawn());
        assert_eq!(drawn, [true, true, false, false, false, false]);
        assert!(!op(Operation::Sync, Cause::Recorded).is_ruled());
        assert!(op(Operation::Trim, Cause::Recorded).is_ruled());
        assert!(!op(Operation::Trim, Cause::ReadBack).is_ruled());
    }
}
