//! Reading a device or file: pieces that are kept, where its data lie, and what makes a block blank or ours.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::SeekFrom;
use sys::requests::RequestMode;

use super::written::Known;

/// The first bytes of every 4 KiB that Fathom writes; transfers smaller than that carry it too.
///
/// It is how the guard tells our own data: nothing but content is asked, so that a device keeps its standing when it
/// moves to another host. The engine's mark must be the same.
pub const DATA_MARK: [u8; 8] = *b"FATHOM\x01\x00";

/// The unit of a sample.
pub(super) const BLOCK_BYTES: u64 = 4096;
/// Nothing writes less.
pub(super) const SECTOR_BYTES: u64 = 512;
/// How much is kept of either end: most signatures stand there.
const KEPT_BYTES: u64 = 1 << 20;
/// What one call reads at most: more would be many requests to slow storage, of which nothing is heard before the last.
const READ_BYTES_MAX: usize = 256 << 10;
/// Of what has no more data than this, all are read.
pub(super) const WHOLE_BYTES: u64 = 64 << 20;
/// Data areas whose starts are looked at.
pub(super) const AREAS_LOOKED_AT: usize = 4096;
/// Data areas that are listed where they may be few bytes all together.
const AREAS_LISTED: usize = 1 << 16;

/// A stretch of a device or file, counted from its own beginning.
#[derive(Debug)]
pub(crate) struct Content<'a> {
    file: &'a File,
    start: u64,
    bytes: u64,
    kept: Vec<Piece>,
    /// What is not kept cannot be asked for.
    is_partial: bool,
    /// Until the kernel or the file system says that it cannot.
    leaves_no_cache: AtomicBool,
    /// Where data lie, when something else than the file itself tells.
    told: Option<DataMap>,
    /// What is not to be seen.
    hidden: Option<&'a Known>,
    /// The first place that could not be read.
    failure: Mutex<Option<(u64, io::Error)>>,
}

#[derive(Debug)]
struct Piece {
    at: u64,
    data: Vec<u8>,
}

/// Where data lie, in ascending order; what is between reads as zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DataMap {
    pub areas: Vec<(u64, u64)>,
}

impl<'a> Content<'a> {
    /// All `bytes` of an open device or file.
    pub(crate) fn new(file: &'a File, bytes: u64) -> Self {
        Self::window(file, 0, bytes)
    }

    /// The `bytes` from `start` on, such as those of a partition.
    pub(crate) fn window(file: &'a File, start: u64, bytes: u64) -> Self {
        Self::unread(file, start, bytes).kept()
    }

    /// The same without what is known to be ours.
    pub(crate) fn others(file: &'a File, start: u64, bytes: u64, known: &'a Known) -> Self {
        Self {
            hidden: Some(known),
            ..Self::unread(file, start, bytes)
        }
        .kept()
    }

    fn kept(mut self) -> Self {
        let bytes = self.bytes;
        let tail_at = bytes.saturating_sub(KEPT_BYTES) / BLOCK_BYTES * BLOCK_BYTES;
        self.keep(0, KEPT_BYTES.min(bytes));
        if bytes > KEPT_BYTES {
            self.keep(tail_at, bytes - tail_at);
        }
        self
    }

    /// What begins at `start`, of which only these pieces (place and length) are looked at.
    pub(crate) fn pieces(&self, start: u64, pieces: &[(u64, u64)]) -> Self {
        let mut content = Self {
            hidden: self.hidden,
            ..Self::unread(self.file, self.start + start, self.bytes - start)
        };
        for (at, len) in pieces {
            let end = (at + len).min(content.bytes);
            if *at < end {
                content.keep(*at, end - at);
            }
        }
        content.is_partial = true;
        content
    }

    /// All `bytes`, with nothing kept.
    pub(crate) fn bare(file: &'a File, bytes: u64) -> Self {
        Self::unread(file, 0, bytes)
    }

    /// The `bytes` from `start` on, with nothing kept.
    pub(crate) fn unread(file: &'a File, start: u64, bytes: u64) -> Self {
        Self {
            file,
            start,
            bytes,
            kept: Vec::new(),
            is_partial: false,
            leaves_no_cache: AtomicBool::new(true),
            told: None,
            hidden: None,
            failure: Mutex::default(),
        }
    }

    /// With this map of where data lie, where there is one.
    pub(crate) fn mapped(mut self, map: Option<DataMap>) -> Self {
        self.told = map;
        self
    }

    /// Where data lie, when something else than the file itself told it.
    pub(crate) fn told(&self) -> Option<&DataMap> {
        self.told.as_ref()
    }

    fn keep(&mut self, at: u64, len: u64) {
        let data = self.read(at, len);
        self.kept.push(Piece { at, data });
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether what is kept is blank, and holds no signature for that reason.
    pub(crate) fn is_kept_blank(&self) -> bool {
        let pieces = self.kept.iter();
        pieces
            .flat_map(|piece| piece.data.chunks(BLOCK_BYTES as usize))
            .all(is_zero)
    }

    /// The `len` bytes at `offset`; nothing where that is not wholly inside, or cannot be read.
    pub(crate) fn get(&self, offset: u64, len: usize) -> Option<Cow<'_, [u8]>> {
        let end = offset.checked_add(len as u64)?;
        if end > self.bytes {
            return None;
        }
        for piece in self.kept.iter().filter(|piece| offset >= piece.at) {
            let from = usize::try_from(offset - piece.at).ok()?;
            if let Some(found) = piece.data.get(from..from.checked_add(len)?) {
                return Some(Cow::Borrowed(found));
            }
        }
        if self.is_partial {
            return None;
        }
        let read = self.read(offset, len as u64);
        (read.len() == len).then_some(Cow::Owned(read))
    }

    /// Where reading failed first, and why.
    pub(crate) fn failure(&self) -> Option<(u64, String)> {
        let failure = self.failed();
        failure
            .as_ref()
            .map(|(offset, error)| (*offset, error.to_string()))
    }

    fn failed(&self) -> MutexGuard<'_, Option<(u64, io::Error)>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A shorter answer than asked for means the end, or a place that cannot be read; the latter is noted.
    fn read(&self, offset: u64, len: u64) -> Vec<u8> {
        let Some(known) = self.hidden else {
            return self.read_seen(offset, len);
        };
        // Judged in whole blocks of the target, of which this may be a part.
        let (low, end) = (self.start + offset, self.start + offset + len);
        let first = low / BLOCK_BYTES * BLOCK_BYTES;
        let whole = Self::unread(self.file, 0, u64::MAX);
        let mut data = whole.read_seen(first, end.next_multiple_of(BLOCK_BYTES) - first);
        if let Some(failure) = whole.failed().take() {
            self.failed().get_or_insert(failure);
        }
        known.hide(first, &mut data);
        data.truncate((end - first) as usize);
        data.drain(..((low - first) as usize).min(data.len()));
        data
    }

    fn read_seen(&self, offset: u64, len: u64) -> Vec<u8> {
        let mut buffer = vec![0; usize::try_from(len).expect("reads are at most a few MiB")];
        let done = self.read_into(offset, &mut buffer);
        buffer.truncate(done);
        buffer
    }

    /// Leaves the page cache as it was, where the kernel can: a job that reads through the cache would find there what was
    /// looked at.
    fn read_once(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        const UNSUPPORTED: [i32; 2] = [95, 22];
        if self.leaves_no_cache.load(Relaxed) {
            let mode = RequestMode {
                leaves_no_cache: true,
                ..RequestMode::default()
            };
            match sys::file::pread_as(self.file, buffer, at, mode) {
                Err(error)
                    if error
                        .raw_os_error()
                        .is_some_and(|code| UNSUPPORTED.contains(&code)) =>
                {
                    self.leaves_no_cache.store(false, Relaxed);
                }
                read => return read,
            }
        }
        sys::file::pread(self.file, buffer, at)
    }

    /// How many bytes came, as [`Self::read`].
    pub(crate) fn read_into(&self, offset: u64, buffer: &mut [u8]) -> usize {
        let mut done = 0;
        while done < buffer.len() {
            let at = self.start + offset + done as u64;
            let until = buffer.len().min(done + READ_BYTES_MAX);
            let read = self.read_once(&mut buffer[done..until], at);
            // An examination is many reads, and slow storage is no storage that hangs.
            door::waiting::answered();
            match read {
                Ok(0) => break,
                Ok(more) => done += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.failed().get_or_insert((offset + done as u64, error));
                    break;
                }
            }
        }
        done
    }

    /// Where data lie. Devices know no holes: there, everywhere, unless something else told. Of files with very many areas, what follows the last
    /// one that is listed counts as data.
    pub(crate) fn data_map(&self) -> DataMap {
        if let Some(map) = &self.told {
            return map.clone();
        }
        let end = self.start + self.bytes;
        let mut areas = Vec::new();
        let (mut at, mut bytes) = (self.start, 0);
        while at < end {
            let is_long = areas.len() >= AREAS_LOOKED_AT && bytes > WHOLE_BYTES;
            let data = match rustix::fs::seek(self.file, SeekFrom::Data(at)) {
                _ if is_long || areas.len() >= AREAS_LISTED => at,
                Ok(data) if data >= at => data.min(end),
                // No data behind this place.
                Err(rustix::io::Errno::NXIO) => break,
                _ => at,
            };
            if data == end {
                break;
            }
            let hole = match rustix::fs::seek(self.file, SeekFrom::Hole(data)) {
                _ if is_long || areas.len() >= AREAS_LISTED => end,
                Ok(hole) if hole > data => hole.min(end),
                _ => end,
            };
            door::waiting::answered();
            areas.push((data - self.start, hole - self.start));
            bytes += hole - data;
            at = hole;
        }
        DataMap { areas }
    }
}

impl DataMap {
    pub(crate) fn bytes(&self) -> u64 {
        self.areas.iter().map(|(low, end)| end - low).sum()
    }

    /// The areas as far as they lie in `low..end`.
    pub(crate) fn within(&self, low: u64, end: u64) -> Self {
        let cut = |(from, to): &(u64, u64)| {
            let (from, to) = ((*from).max(low), (*to).min(end));
            (from < to).then_some((from, to))
        };
        Self {
            areas: self.areas.iter().filter_map(cut).collect(),
        }
    }

    /// Whether a data area touches the block that begins at `offset`.
    pub(crate) fn touches(&self, offset: u64) -> bool {
        let before = self
            .areas
            .partition_point(|(low, _)| *low < offset + BLOCK_BYTES);
        before
            .checked_sub(1)
            .is_some_and(|place| self.areas[place].1 > offset)
    }
}

pub(super) fn is_blank(block: &[u8]) -> bool {
    is_zero(block) || is_full_of(block, &[0xff; BLOCK_BYTES as usize])
}

fn is_zero(block: &[u8]) -> bool {
    is_full_of(block, &[0; BLOCK_BYTES as usize])
}

/// Comparing slices is as quick without optimisation.
fn is_full_of(block: &[u8], model: &[u8; BLOCK_BYTES as usize]) -> bool {
    block
        .chunks(model.len())
        .all(|part| part == &model[..part.len()])
}

/// Whether a block is what the engine writes: its mark stands at the start, or, of transfers of a sector, at the start of
/// each sector that is not blank. Sectors of zeros beside sectors of ones are a bitmap of somebody, and no blank block.
pub(super) fn is_marked(block: &[u8]) -> bool {
    let mut sectors = block.chunks(SECTOR_BYTES as usize);
    let has_mark = |sector: &[u8]| sector.starts_with(&DATA_MARK);
    has_mark(block)
        || (sectors.clone().any(has_mark)
            && sectors.all(|sector| has_mark(sector) || is_blank(sector)))
}
