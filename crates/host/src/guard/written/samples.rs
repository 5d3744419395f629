//! What is read of recorded parts, and the sum over it.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;

use twox_hash::XxHash64;

use super::super::content::{BLOCK_BYTES, Content, DataMap, WHOLE_BYTES};
use super::super::places;
use super::super::survey::Spread;
use super::Part;
use super::record::Record;

/// Of either end of a part that is too long to be read whole.
pub(super) const END_BYTES: u64 = 1 << 20;
/// Of either end of the whole.
const OUTER_BYTES: u64 = 8 << 20;
/// Blocks between the ends of all parts together, as many as a survey takes of each target.
pub(super) const SAMPLES: u64 = 1000;
const CHUNK_BYTES: u64 = 256 << 10;
const READERS: usize = 8;

/// Storage as far as it can be read: through the target, and what is outside of that through what it is built on.
#[derive(Debug)]
pub(super) struct Source<'a> {
    view: Content<'a>,
    /// Where the target begins.
    offset: u64,
    base: Option<Content<'a>>,
}

impl<'a> Source<'a> {
    pub(super) fn new(file: &'a File, bytes: u64, offset: u64, base: Option<&'a File>) -> Self {
        Self {
            view: Content::bare(file, bytes),
            offset,
            base: base.map(|base| Content::bare(base, u64::MAX)),
        }
    }

    /// Whether it can be read there at all.
    pub(super) fn has(&self, part: Part) -> bool {
        self.base.is_some() || (part.0 >= self.offset && part.1 <= self.end())
    }

    fn end(&self) -> u64 {
        self.offset.saturating_add(self.view.bytes())
    }

    /// Whether all of it could be read.
    fn fill(&self, at: u64, buffer: &mut [u8]) -> bool {
        let mut done = 0;
        while done < buffer.len() {
            let from = at + done as u64;
            let left = (buffer.len() - done) as u64;
            let is_inside = (self.offset..self.end()).contains(&from);
            let until = match from < self.offset {
                true => self.offset - from,
                false if is_inside => self.end() - from,
                false => left,
            };
            let piece = &mut buffer[done..done + until.min(left) as usize];
            let (content, from) = match (is_inside, &self.base) {
                (true, _) => (&self.view, from - self.offset),
                (false, Some(base)) => (base, from),
                (false, None) => return false,
            };
            if content.read_into(from, piece) < piece.len() {
                return false;
            }
            done += piece.len();
        }
        true
    }

    fn failure(&self) -> io::Error {
        let contents = [Some(&self.view), self.base.as_ref()];
        let failure = contents.into_iter().flatten().find_map(Content::failure);
        io::Error::other(match failure {
            Some((offset, error)) => format!("byte {offset} cannot be read: {error}"),
            None => "it has become shorter".to_owned(),
        })
    }

    /// A sum over the samples of a record, each with its place.
    ///
    /// # Errors
    /// Where a sample cannot be read, or lies behind the end.
    pub(super) fn digest(&self, record: &Record) -> io::Result<u64> {
        let (samples, seed) = (samples(record), record.seed);
        let (next, sum, is_short) = (
            AtomicUsize::new(0),
            AtomicU64::new(0),
            AtomicBool::new(false),
        );
        let work = || {
            let mut buffer = Vec::new();
            while let Some((low, end)) = samples.get(next.fetch_add(1, Ordering::Relaxed)) {
                buffer.resize((end - low) as usize, 0);
                if !self.fill(*low, &mut buffer) {
                    is_short.store(true, Ordering::Relaxed);
                    return;
                }
                let of_place = XxHash64::oneshot(seed, &low.to_le_bytes());
                sum.fetch_add(XxHash64::oneshot(of_place, &buffer), Ordering::Relaxed);
            }
        };
        thread::scope(|scope| {
            for _ in 1..READERS.min(samples.len() / 4) {
                let _ = thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        match is_short.into_inner() {
            true => Err(self.failure()),
            false => Ok(sum.into_inner()),
        }
    }
}

/// What is read of the parts of a record, in ascending order and none of it twice: all, or their ends and blocks spread
/// between.
pub(super) fn samples(record: &Record) -> Vec<Part> {
    let map = DataMap {
        areas: record.parts.clone(),
    };
    let mut taken = Vec::new();
    if map.bytes() <= WHOLE_BYTES {
        taken.clone_from(&map.areas);
    } else {
        let mut take = |low: u64, end: u64| taken.extend(map.within(low, end).areas);
        take(0, OUTER_BYTES);
        take(record.size.saturating_sub(OUTER_BYTES), record.size);
        for (low, end) in &record.parts {
            take(*low, low.saturating_add(END_BYTES));
            take(end.saturating_sub(END_BYTES), *end);
        }
        let mut take_block = |at: u64| {
            take(
                at / BLOCK_BYTES * BLOCK_BYTES,
                at / BLOCK_BYTES * BLOCK_BYTES + BLOCK_BYTES,
            )
        };
        let spread = Spread::over(&map);
        (0..SAMPLES).for_each(|number| take_block(spread.at(record.seed.wrapping_add(number))));
        if record.has_places {
            places::blocks(record.size).into_iter().for_each(take_block);
        }
    }
    taken.sort_unstable();
    let mut samples: Vec<Part> = Vec::new();
    let mut done = 0;
    for (low, end) in taken {
        let mut at = low.max(done);
        while at < end {
            let next = ((at / CHUNK_BYTES + 1) * CHUNK_BYTES).min(end);
            samples.push((at, next));
            at = next;
        }
        done = done.max(end);
    }
    samples
}
