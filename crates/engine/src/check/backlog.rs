//! Reading back what a stream has written while it goes on writing. The stream counts what waits to
//! be read; each worker remembers which transfers of its own those are, and reads them back in place
//! of drawing. What nobody reads back here stays in the record for the run behind the writes. What is
//! discarded in between takes the same way.
use super::discards::Discards;
use super::{Checks, StreamCheck};
use crate::op::{Cause, Op};
use measure::Misfit;
use plan::{BoundRun, Operation, Stream};
use std::collections::VecDeque;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

/// Transfers that a stream may have waiting, so that memory stays bounded.
const WAITING_MAX: u64 = 1 << 22;

/// Where one stream stands.
#[derive(Debug)]
pub(crate) struct Backlog {
    reads: Option<Waiting>,
    discards: Option<Discards>,
    in_flight: AtomicU64,
}

/// What is to be read back.
#[derive(Debug)]
struct Waiting {
    after: u64,
    batch: u64,
    /// Transfers written and not read back.
    count: AtomicU64,
    /// Of the batch that is due.
    owed: AtomicU64,
}

/// One worker's own transfers, by stream, and what it reads back or discards in each slot.
#[derive(Debug)]
pub(crate) struct ReadBacks {
    queues: Vec<VecDeque<Written>>,
    /// Those that are to be discarded.
    picked: Vec<VecDeque<Written>>,
    tags: Vec<u32>,
    /// The tag of what was due last.
    due_tag: u32,
}

/// A transfer that is there, and the tag of its write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    pub place: u32,
    pub offset: u64,
    pub length: u32,
    pub tag: u32,
}

impl Backlog {
    /// A transfer that was read back has been looked at, or one is discarded.
    pub(crate) fn is_back(&self) {
        self.in_flight.fetch_sub(1, AcqRel);
    }

    /// `None` for streams that do nothing with what they have written while they write. Draws follow
    /// from the seed, the run and the stream.
    pub(crate) fn of(stream: &Stream, seed: (u64, u64, u64)) -> Option<Box<Self>> {
        let check = stream.data.check?;
        let discards = check.discards.map(|rule| Discards::new(rule, seed));
        let reads = check.backlog.map(|rule| Waiting {
            after: rule.after.max(1),
            batch: rule.batch.max(1),
            count: AtomicU64::new(0),
            owed: AtomicU64::new(0),
        });
        (reads.is_some() || discards.is_some()).then(|| {
            Box::new(Self {
                reads,
                discards,
                in_flight: AtomicU64::new(0),
            })
        })
    }

    pub(crate) fn has_in_flight(&self) -> bool {
        self.in_flight.load(Acquire) > 0
    }
}

impl Waiting {
    fn comes(&self) {
        let waiting = self.count.fetch_add(1, AcqRel) + 1;
        if waiting.is_multiple_of(self.after) {
            self.owed.store(self.batch, Release);
        }
    }

    fn is_owed(&self) -> bool {
        self.owed.load(Acquire) > 0
    }

    /// One of the batch is read back by the caller; false when another worker took the last.
    fn take(&self) -> bool {
        let less = |owed: u64| owed.checked_sub(1);
        self.owed.fetch_update(AcqRel, Relaxed, less).is_ok()
    }

    /// One transfer waits no longer.
    fn leaves(&self) {
        if self.count.fetch_sub(1, AcqRel) == 1 {
            self.owed.store(0, Release);
        }
    }
}

impl ReadBacks {
    /// For a worker with so many slots; `None` where no stream of the run needs it.
    pub(crate) fn of<'a>(
        streams: impl Iterator<Item = Option<&'a Backlog>>,
        slots: usize,
    ) -> Option<Box<Self>> {
        let streams: Vec<Option<&Backlog>> = streams.collect();
        if streams.iter().all(Option::is_none) {
            return None;
        }
        let backlog = |stream: &Option<&Backlog>, room: fn(&Backlog) -> Option<u64>| {
            let room = stream.and_then(room);
            VecDeque::with_capacity(room.map_or(0, |room| room as usize + slots))
        };
        let queue = |stream| backlog(stream, |own| Some(own.reads.as_ref()?.after));
        let picked = |stream| backlog(stream, |own| Some(own.discards.as_ref()?.room()));
        Some(Box::new(Self {
            queues: streams.iter().map(queue).collect(),
            picked: streams.iter().map(picked).collect(),
            tags: vec![0; slots],
            due_tag: 0,
        }))
    }

    /// A transfer was written.
    pub(crate) fn wrote(&mut self, number: usize, backlog: &Backlog, written: Written) {
        let queue = &mut self.queues[number];
        if let Some(reads) = &backlog.reads
            && queue.len() < queue.capacity()
        {
            queue.push_back(written);
            reads.comes();
        }
        let picked = &mut self.picked[number];
        if let Some(discards) = &backlog.discards
            && discards.comes()
            && picked.len() < picked.capacity()
        {
            picked.push_back(written);
        }
    }

    /// What is to be discarded or read back now, unless it was written over meanwhile, with which of
    /// the operations that is.
    pub(crate) fn next(
        &mut self,
        number: usize,
        backlog: &Backlog,
        check: &StreamCheck,
    ) -> Option<(Written, Operation)> {
        let discarded = self.next_discard(number, backlog, check);
        let found = match discarded {
            Some(written) => (written, Operation::Trim),
            None => (self.next_read(number, backlog, check)?, Operation::Read),
        };
        self.due_tag = found.0.tag;
        backlog.in_flight.fetch_add(1, AcqRel);
        Some(found)
    }

    fn next_discard(
        &mut self,
        number: usize,
        backlog: &Backlog,
        check: &StreamCheck,
    ) -> Option<Written> {
        let discards = backlog.discards.as_ref()?;
        while discards.is_owed() {
            let written = *self.picked[number].front()?;
            let is_there = check.is_still(written);
            if is_there && !discards.take() {
                return None;
            }
            self.picked[number].pop_front();
            if is_there {
                return Some(written);
            }
        }
        None
    }

    fn next_read(
        &mut self,
        number: usize,
        backlog: &Backlog,
        check: &StreamCheck,
    ) -> Option<Written> {
        let reads = backlog.reads.as_ref()?;
        while reads.is_owed() {
            let written = *self.queues[number].front()?;
            let is_there = check.is_still(written);
            if is_there && !reads.take() {
                return None;
            }
            self.queues[number].pop_front();
            reads.leaves();
            if is_there {
                return Some(written);
            }
        }
        None
    }

    /// What was due last goes out by this slot.
    pub(crate) fn goes_out(&mut self, slot: u32) {
        self.tags[slot as usize] = self.due_tag;
    }

    /// What was read back in this slot.
    pub(crate) fn in_slot(&self, slot: u32, place: usize, offset: u64, length: u32) -> Written {
        Written {
            place: place as u32,
            offset,
            length,
            tag: self.tags[slot as usize],
        }
    }
}

/// What a backlog asks for that there is no memory for, in words.
pub(super) fn unsupported(run: &BoundRun) -> Option<String> {
    let checks = run.run.streams.iter();
    let mut checks = checks.filter_map(|stream| stream.data.check);
    let is_large = |check: plan::Check| {
        let reads = check.backlog.is_some_and(|rule| rule.after > WAITING_MAX);
        let discards = |rule: plan::Discards| rule.after.max(rule.batch) > WAITING_MAX;
        reads || check.discards.is_some_and(discards)
    };
    let what = "transfers that wait to be read back or discarded";
    checks
        .any(is_large)
        .then(|| format!("more than {WAITING_MAX} {what}"))
}

impl Checks {
    /// Notes what an operation that is back has written, and tells what is wrong with what it has read. `backs` is what
    /// the worker and the stream read back.
    pub(crate) fn look_at(
        &self,
        (op, result): (&Op, i32),
        slot: u32,
        buffer: &mut [u8],
        backs: (Option<&mut ReadBacks>, Option<&Backlog>),
    ) -> Option<Box<Misfit>> {
        let (stream, place) = (op.object.stream as usize, op.object.place as usize);
        let (offset, length) = (op.offset, op.length);
        let check = self.of(stream)?;
        match op.kind {
            Operation::Write => {
                let tag = check.wrote(place, offset, length, result, buffer)?;
                let place = place as u32;
                let written = Written {
                    place,
                    offset,
                    length,
                    tag,
                };
                if let (Some(own), Some(backlog)) = backs {
                    own.wrote(stream, backlog, written);
                }
            }
            Operation::Read if op.cause == Cause::ReadBack => {
                let written = backs.0?.in_slot(slot, place, offset, length);
                let buffer = &mut buffer[..result.max(0) as usize];
                let found = self.misfit_of_read_back(stream, written, buffer);
                check.was_read_back(written);
                return found.map(Box::new);
            }
            Operation::Read if result > 0 => {
                let found = check.misfit(place, offset, &mut buffer[..result as usize]);
                return found.map(Box::new);
            }
            Operation::Trim if op.cause == Cause::ReadBack => {
                check.discarded(place, offset, length, result);
            }
            Operation::Trim => check.trimmed(place, offset, length),
            _ => {}
        }
        None
    }

    /// What is wrong with a transfer that was read back, unless it was written over meanwhile.
    pub(super) fn misfit_of_read_back(
        &self,
        stream: usize,
        written: Written,
        buffer: &mut [u8],
    ) -> Option<Misfit> {
        let check = self.of(stream)?;
        let found = check.find(written.place as usize, written.offset, buffer);
        check.is_still(written).then_some(found)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(after: u64, batch: u64) -> Waiting {
        Waiting {
            after,
            batch,
            count: AtomicU64::new(0),
            owed: AtomicU64::new(0),
        }
    }

    /// Writes and reads as they follow each other: `w` and `r`.
    fn story(after: u64, batch: u64, writes: u64) -> String {
        let backlog = waiting(after, batch);
        let mut story = String::new();
        for _ in 0..writes {
            backlog.comes();
            story.push('w');
            while backlog.is_owed() && backlog.take() {
                backlog.leaves();
                story.push('r');
            }
        }
        story
    }

    #[test]
    fn a_batch_follows_when_so_many_wait() {
        // The orders that fio 3.33 shows.
        assert_eq!(story(4, 4, 9), "wwwwrrrrwwwwrrrrw");
        assert_eq!(story(4, 2, 8), "wwwwrrwwrrwwrr");
        assert_eq!(story(4, 8, 8), "wwwwrrrrwwwwrrrr");
        assert_eq!(story(1, 1, 3), "wrwrwr");
    }
}
