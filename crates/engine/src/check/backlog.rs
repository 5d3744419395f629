//! Reading back what a stream has written while it goes on writing. The stream counts what waits to
//! be read; each worker remembers which transfers of its own those are, and reads them back in place
//! of drawing. What nobody reads back here stays in the record for the run behind the writes.
use super::{Checks, StreamCheck};
use crate::shared::SharedStream;
use plan::{BoundRun, Stream};
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
    after: u64,
    batch: u64,
    /// Transfers written and not read back.
    waiting: AtomicU64,
    /// Of the batch that is due.
    owed: AtomicU64,
    in_flight: AtomicU64,
}

/// One worker's own transfers, by stream, and what it reads back in each slot.
#[derive(Debug)]
pub(crate) struct ReadBacks {
    queues: Vec<VecDeque<Written>>,
    tags: Vec<u32>,
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
    /// `None` for streams that read nothing back while they write.
    pub(crate) fn of(stream: &Stream) -> Option<Box<Self>> {
        let rule = stream.data.check?.backlog?;
        Some(Box::new(Self {
            after: rule.after.max(1),
            batch: rule.batch.max(1),
            waiting: AtomicU64::new(0),
            owed: AtomicU64::new(0),
            in_flight: AtomicU64::new(0),
        }))
    }

    pub(crate) fn has_in_flight(&self) -> bool {
        self.in_flight.load(Acquire) > 0
    }

    fn comes(&self) {
        let waiting = self.waiting.fetch_add(1, AcqRel) + 1;
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
        let is_ours = self.owed.fetch_update(AcqRel, Relaxed, less).is_ok();
        if is_ours {
            self.in_flight.fetch_add(1, AcqRel);
        }
        is_ours
    }

    /// One transfer waits no longer.
    fn leaves(&self) {
        if self.waiting.fetch_sub(1, AcqRel) == 1 {
            self.owed.store(0, Release);
        }
    }
}

impl ReadBacks {
    /// For a worker with so many slots; `None` where no stream of the run needs it.
    pub(crate) fn of(streams: &[SharedStream], slots: usize) -> Option<Box<Self>> {
        if streams.iter().all(|stream| stream.backlog.is_none()) {
            return None;
        }
        let queue = |stream: &SharedStream| {
            let backlog = stream.backlog.as_ref();
            let most = backlog.map_or(0, |backlog| backlog.after as usize + slots);
            VecDeque::with_capacity(most)
        };
        Some(Box::new(Self {
            queues: streams.iter().map(queue).collect(),
            tags: vec![0; slots],
        }))
    }

    /// A transfer was written.
    pub(crate) fn wrote(&mut self, number: usize, stream: &SharedStream, written: Written) {
        let queue = &mut self.queues[number];
        if let Some(backlog) = &stream.backlog
            && queue.len() < queue.capacity()
        {
            queue.push_back(written);
            backlog.comes();
        }
    }

    /// What is to be read back now, unless it was written over meanwhile.
    pub(crate) fn next(
        &mut self,
        number: usize,
        stream: &SharedStream,
        check: &StreamCheck,
    ) -> Option<Written> {
        let backlog = stream.backlog.as_ref()?;
        while backlog.is_owed() {
            let written = *self.queues[number].front()?;
            let is_there = check.is_still(written);
            if is_there && !backlog.take() {
                return None;
            }
            self.queues[number].pop_front();
            backlog.leaves();
            if is_there {
                return Some(written);
            }
        }
        None
    }

    pub(crate) fn goes_out(&mut self, slot: u32, written: Written) {
        self.tags[slot as usize] = written.tag;
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

/// A transfer that was read back has been looked at. Whether nothing more is in flight.
pub(crate) fn is_back(stream: &SharedStream) {
    let backlog = stream.backlog.as_ref();
    let backlog = backlog.expect("only a backlog is read back");
    backlog.in_flight.fetch_sub(1, AcqRel);
}

/// What a backlog asks for that there is no memory for, in words.
pub(super) fn unsupported(run: &BoundRun) -> Option<String> {
    let backlogs = run.run.streams.iter();
    let mut backlogs = backlogs.filter_map(|stream| stream.data.check?.backlog);
    let is_large = backlogs.any(|backlog| backlog.after > WAITING_MAX);
    is_large.then(|| format!("more than {WAITING_MAX} transfers that wait to be read back"))
}

impl Checks {
    /// What is wrong with a transfer that was read back, unless it was written over meanwhile.
    pub(crate) fn misfit_of_read_back(
        &self,
        stream: usize,
        written: Written,
        buffer: &mut [u8],
    ) -> Option<measure::Misfit> {
        let check = self.of(stream)?;
        let found = check.find(written.place as usize, written.offset, buffer);
        check.is_still(written).then_some(found)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backlog(after: u64, batch: u64) -> Backlog {
        Backlog {
            after,
            batch,
            waiting: AtomicU64::new(0),
            owed: AtomicU64::new(0),
            in_flight: AtomicU64::new(0),
        }
    }

    /// Writes and reads as they follow each other: `w` and `r`.
    fn story(after: u64, batch: u64, writes: u64) -> String {
        let backlog = backlog(after, batch);
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
