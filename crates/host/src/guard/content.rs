//! Reading a device or file to see what it holds: cached ends, and a survey of samples.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::fs::SeekFrom;

use super::checked::CheckedBlocks;

/// The first bytes of every 4 KiB that Fathom writes; transfers smaller than that carry it too.
///
/// It is how the guard tells our own data: nothing but content is asked, so that a device keeps its standing when it
/// moves to another host. The engine's mark must be the same.
pub const DATA_MARK: [u8; 8] = *b"FATHOM\x01\x00";

/// The unit of a sample.
pub(super) const BLOCK_BYTES: u64 = 4096;
/// How much is read at either end.
const END_BYTES: u64 = 1 << 20;
/// Samples between the ends.
const SPREAD_SAMPLES: u64 = 64;
/// Data areas of a file with holes that are looked into.
const AREAS_MAX: usize = 256;

/// A stretch of a device or file, counted from its own beginning.
#[derive(Debug)]
pub(crate) struct Content<'a> {
    file: &'a File,
    start: u64,
    bytes: u64,
    head: Vec<u8>,
    tail: Vec<u8>,
    tail_at: u64,
    /// The first place that could not be read.
    failure: RefCell<Option<(u64, io::Error)>>,
}

/// What samples hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Survey {
    /// Blocks looked at.
    pub sampled: u64,
    /// Blocks all of zeros or all of 0xff.
    pub blank: u64,
    /// Blocks with our mark, and those of data that are written for checks.
    pub marked: u64,
    /// Everything else.
    pub foreign: u64,
    pub first_foreign: Option<u64>,
}

impl<'a> Content<'a> {
    /// All `bytes` of an open device or file.
    pub(crate) fn new(file: &'a File, bytes: u64) -> Self {
        Self::window(file, 0, bytes)
    }

    /// The `bytes` from `start` on, such as those of a partition.
    pub(crate) fn window(file: &'a File, start: u64, bytes: u64) -> Self {
        let tail_at = bytes.saturating_sub(END_BYTES) / BLOCK_BYTES * BLOCK_BYTES;
        let mut content = Self {
            file,
            start,
            bytes,
            head: Vec::new(),
            tail: Vec::new(),
            tail_at,
            failure: RefCell::new(None),
        };
        content.head = content.read(0, END_BYTES.min(bytes));
        content.tail = content.read(tail_at, bytes - tail_at);
        content
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The `len` bytes at `offset`; nothing where that is not wholly inside, or cannot be read.
    pub(crate) fn get(&self, offset: u64, len: usize) -> Option<Cow<'_, [u8]>> {
        let end = offset.checked_add(len as u64)?;
        if end > self.bytes {
            return None;
        }
        for (at, cached) in [(0, &self.head), (self.tail_at, &self.tail)] {
            if offset >= at {
                let from = usize::try_from(offset - at).ok()?;
                if let Some(found) = cached.get(from..from.checked_add(len)?) {
                    return Some(Cow::Borrowed(found));
                }
            }
        }
        let read = self.read(offset, len as u64);
        (read.len() == len).then_some(Cow::Owned(read))
    }

    /// Where reading failed first, and why.
    pub(crate) fn failure(&self) -> Option<(u64, String)> {
        let failure = self.failure.borrow();
        failure
            .as_ref()
            .map(|(offset, error)| (*offset, error.to_string()))
    }

    /// Looks at both ends, at places spread over `low..high`, and, in a file, at the start of its data areas.
    pub(crate) fn survey(&self, extent: (u64, u64)) -> Survey {
        let mut survey = Survey::default();
        let checked = CheckedBlocks::default();
        let ends = END_BYTES.min(self.bytes).div_ceil(BLOCK_BYTES);
        for index in 0..ends {
            self.look_at(index * BLOCK_BYTES, &checked, &mut survey);
        }
        let first_of_tail = (self.tail_at / BLOCK_BYTES).max(ends);
        for index in first_of_tail..self.bytes.div_ceil(BLOCK_BYTES) {
            self.look_at(index * BLOCK_BYTES, &checked, &mut survey);
        }
        let inside =
            |offset: &u64| *offset >= ends * BLOCK_BYTES && *offset < first_of_tail * BLOCK_BYTES;
        let mut middle: Vec<u64> = spread(extent.0.min(self.bytes), extent.1.min(self.bytes))
            .chain(self.data_areas())
            .map(|offset| offset / BLOCK_BYTES * BLOCK_BYTES)
            .filter(inside)
            .collect();
        middle.sort_unstable();
        middle.dedup();
        for offset in middle {
            self.look_at(offset, &checked, &mut survey);
        }
        survey
    }

    /// A shorter answer than asked for means the end, or a place that cannot be read; the latter is noted.
    fn read(&self, offset: u64, len: u64) -> Vec<u8> {
        let mut buffer = vec![0; usize::try_from(len).expect("reads are at most a few MiB")];
        let mut done = 0;
        while done < buffer.len() {
            let at = self.start + offset + done as u64;
            match self.file.read_at(&mut buffer[done..], at) {
                Ok(0) => break,
                Ok(more) => done += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.failure
                        .borrow_mut()
                        .get_or_insert((offset + done as u64, error));
                    break;
                }
            }
        }
        buffer.truncate(done);
        buffer
    }

    fn look_at(&self, offset: u64, checked: &CheckedBlocks, survey: &mut Survey) {
        let len = BLOCK_BYTES.min(self.bytes - offset) as usize;
        let Some(block) = self.get(offset, len) else {
            return;
        };
        survey.sampled += 1;
        if is_blank(&block) {
            survey.blank += 1;
        } else if last_mark(&block).is_some()
            || self.is_end_of_marked(offset, &block)
            || checked.explain(self, offset, &block)
        {
            survey.marked += 1;
        } else {
            survey.foreign += 1;
            survey.first_foreign.get_or_insert(offset);
        }
    }

    /// Data written at an address that is no multiple of a block end in the block after that of their mark.
    fn is_end_of_marked(&self, offset: u64, block: &[u8]) -> bool {
        let Some(before) = offset
            .checked_sub(BLOCK_BYTES)
            .and_then(|before| self.get(before, BLOCK_BYTES as usize))
        else {
            return false;
        };
        match last_mark(&before) {
            Some(at) if at > 0 => is_blank(&block[at.min(block.len())..]),
            _ => false,
        }
    }

    /// The beginnings of what is not a hole. Devices know no holes and give none.
    fn data_areas(&self) -> impl Iterator<Item = u64> {
        let mut areas = Vec::new();
        let mut at = 0;
        while areas.len() < AREAS_MAX {
            let Ok(data) = rustix::fs::seek(self.file, SeekFrom::Data(self.start + at)) else {
                break;
            };
            let Ok(hole) = rustix::fs::seek(self.file, SeekFrom::Hole(data)) else {
                break;
            };
            if hole <= data || data >= self.start + self.bytes {
                break;
            }
            areas.push(data - self.start);
            at = hole - self.start;
        }
        areas.into_iter()
    }
}

impl Survey {
    /// Blank or ours, wherever it was looked at. One block of other origin is enough to ask.
    pub(crate) fn is_free_of_others_data(&self) -> bool {
        self.foreign == 0
    }
}

/// Multiples of the golden section modulo one: even, and in step with no layout.
fn spread(low: u64, high: u64) -> impl Iterator<Item = u64> {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let width = u128::from(high.saturating_sub(low));
    (0..SPREAD_SAMPLES).map(move |index| {
        let fraction = u128::from(GOLDEN.wrapping_mul(index + 1));
        low + u64::try_from((width * fraction) >> 64).expect("a fraction of a u64")
    })
}

pub(super) fn is_blank(block: &[u8]) -> bool {
    [0x00, 0xff]
        .iter()
        .any(|value| block.iter().all(|byte| byte == value))
}

fn last_mark(block: &[u8]) -> Option<usize> {
    block
        .windows(DATA_MARK.len())
        .rposition(|window| window == DATA_MARK)
}
