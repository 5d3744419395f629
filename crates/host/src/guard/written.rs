//! Records of what executions wrote where, so that our own data are known again that carry no mark: patterns, data for
//! checks in other layouts, transfers that begin between blocks.
//!
//! A record names its device or file by what stays with it, says which parts were written, and holds a digest of samples
//! of them: all bytes where these are few. It counts while identity and digest fit. It excuses data of unknown kind inside
//! of these parts, and what looks like a signature where the samples cover the very place; never use by others. Before the
//! first write it is opened: the digest is of what will not be written, and [`Law`]s say how the rest may look.
//!
//! A record stands for the storage beneath loop devices, so that a file and a loop device over it share one. A file carries
//! its record as an extended attribute; for what takes none there is a file below the user's state folder.

mod folder;
mod law;
mod record;
mod samples;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{Advice, XattrFlags, fadvise};

use super::content::{BLOCK_BYTES, Content, DATA_MARK, WHOLE_BYTES, is_blank};
use super::{places, signatures};
use crate::block::BlockDevice;
use crate::loops::{Backing, LoopView};
use crate::root::{DeviceNumber, SysRoot};
use folder::StateFolder;
pub use law::Law;
use record::{LAWS_MAX, PARTS_MAX, RECORD_BYTES_MAX, Record};
use samples::{Source, samples};

const ATTRIBUTE: &str = "user.fathom.written";
/// Loop devices upon loop devices that are looked through.
const DEPTH_MAX: usize = 16;
/// Pieces of a block that are looked at one by one.
const PIECES_MAX: usize = 64;

/// First byte, and the byte behind the last.
pub type Part = (u64, u64);

/// What a record is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bearer {
    /// Where the record stays with the bearer itself.
    within: Option<String>,
    /// Among all of a machine.
    name: String,
}

/// Where the data of a target are in the end.
#[derive(Debug)]
pub(crate) struct Storage {
    bearer: Option<Bearer>,
    /// What carries the record, where that is not the target itself.
    base: Option<File>,
    /// Where the target begins in it.
    offset: u64,
    /// Bytes of all of it, where that is not the target itself.
    size: Option<u64>,
}

/// What a record that counts says of a target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Where the target begins in the storage; everything else is counted from there.
    offset: u64,
    parts: Vec<Part>,
    samples: Vec<Part>,
    /// Of an execution that did not come to its end.
    laws: Vec<Law>,
    /// Of those that did, too.
    all_laws: Vec<Law>,
}

/// Counted from the start of the target, or from that of the storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Inside(u64),
    Before(u64),
}

/// What an execution has written or will write to a target.
#[derive(Clone, Copy, Debug)]
pub struct Written<'a> {
    /// What was known of it before.
    pub known: &'a Known,
    pub parts: &'a [Part],
    pub laws: &'a [Law],
    /// Whether everything else on it was blank or ours, as far as was seen.
    pub is_all_ours: bool,
}

/// Writes the record of what is open, as it is now.
///
/// # Errors
/// Where it cannot be read, tells no identity, or there is no place for the record.
pub fn keep(root: &SysRoot, file: &File, written: Written<'_>) -> io::Result<()> {
    put(root, file, written, false)
}

/// The same before the first write: what `written` tells of may be half of it when somebody looks.
///
/// # Errors
/// As [`keep`].
pub fn announce(root: &SysRoot, file: &File, written: Written<'_>) -> io::Result<()> {
    put(root, file, written, true)
}

fn put(root: &SysRoot, file: &File, written: Written<'_>, is_open: bool) -> io::Result<()> {
    let facts = file.metadata()?;
    let (storage, bytes) = if facts.file_type().is_block_device() {
        // What is read must come from the device.
        let _ = fadvise(file, 0, None, Advice::DontNeed);
        let number = DeviceNumber::from_raw(facts.rdev());
        let device = BlockDevice::by_number(root, number);
        let bytes = sys::file::device_bytes(file)?;
        (
            device.map(|one| Storage::of_device(root, &one, bytes)),
            bytes,
        )
    } else {
        (Some(Storage::of_file(file)), facts.len())
    };
    let unknown = || io::Error::other("nothing tells it from others");
    let storage = storage.ok_or_else(unknown)?;
    let bearer = storage.bearer.as_ref().ok_or_else(unknown)?;
    let source = storage.source(file, bytes);
    let size = storage.size.unwrap_or(bytes);
    let (parts, laws) = written.in_storage(storage.offset, size, is_open);
    let parts: Vec<Part> = parts.into_iter().filter(|part| source.has(*part)).collect();
    if parts.is_empty() && !is_open {
        return Ok(());
    }
    let is_long = parts.iter().map(|(low, end)| end - low).sum::<u64>() > WHOLE_BYTES;
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let mut record = Record {
        of: String::new(),
        size,
        is_open,
        has_places: is_long && storage.has_signature(file, bytes),
        parts,
        laws,
        seed: now.map_or(0, |now| now.as_nanos() as u64),
        digest: 0,
    };
    record.digest = source.digest(&record)?;
    if let Some(within) = &bearer.within {
        record.of.clone_from(within);
        let carrier = storage.base.as_ref().unwrap_or(file);
        let text = record.text();
        if rustix::fs::fsetxattr(carrier, ATTRIBUTE, text.as_bytes(), XattrFlags::empty()).is_ok() {
            return Ok(());
        }
    }
    record.of.clone_from(&bearer.name);
    let folder = StateFolder::make(root.state.as_deref())?;
    folder.replace(&bearer.name, &record.text())
}

impl Written<'_> {
    /// Parts for the digest, and laws, counted from the start of the storage.
    fn in_storage(&self, offset: u64, size: u64, is_open: bool) -> (Vec<Part>, Vec<Law>) {
        let moved = |(low, end): &Part| (low.saturating_add(offset), end.saturating_add(offset));
        let parts: Vec<Part> = self.parts.iter().map(moved).collect();
        // Who ends inside of a block that was ours leaves a rest without a mark.
        let rounded = |(low, end): &Part| {
            let low = low / BLOCK_BYTES * BLOCK_BYTES;
            moved(&(low, end.div_ceil(BLOCK_BYTES).saturating_mul(BLOCK_BYTES)))
        };
        let mut all = self.known.parts.clone();
        match self.is_all_ours {
            true => all.extend(self.parts.iter().map(rounded)),
            false => all.extend(&parts),
        }
        if self.is_all_ours && !is_open {
            // What was seen there followed from a law, and is as it is from now on.
            all.extend(self.known.laws.iter().map(Law::part));
        }
        let mut all = merged(&all, size);
        if is_open {
            all = without(&all, &merged(&parts, u64::MAX));
        }
        let mut laws: Vec<Law> = self
            .laws
            .iter()
            .filter_map(|law| law.moved(offset))
            .collect();
        for law in &self.known.all_laws {
            if !laws.contains(law) {
                laws.push(law.clone());
            }
        }
        laws.truncate(LAWS_MAX);
        // Gaps of an open record are what will be written.
        (fewer(all, self.is_all_ours && !is_open), laws)
    }
}

impl Storage {
    pub(crate) fn of_file(file: &File) -> Self {
        Self {
            bearer: Bearer::file(file),
            base: None,
            offset: 0,
            size: None,
        }
    }

    /// What is behind loop devices in the end.
    pub(crate) fn of_device(root: &SysRoot, device: &BlockDevice, bytes: u64) -> Self {
        let mut storage = Self {
            bearer: Some(Bearer::device(root, device, bytes)),
            base: None,
            offset: 0,
            size: None,
        };
        let mut at = device.clone();
        for _ in 0..DEPTH_MAX {
            let disk = at.disk();
            let Some(view) = LoopView::of(root, &disk) else {
                break;
            };
            let of_partition = match at.partition_number() {
                Some(_) => at.start_bytes(),
                None => Some(0),
            };
            let offset = of_partition
                .and_then(|of| storage.offset.checked_add(of)?.checked_add(view.offset));
            let below = offset.and_then(|offset| storage.below(root, &view, offset));
            let Some((below, next)) = below else {
                break;
            };
            storage = below;
            match next {
                Some(next) => at = next,
                None => break,
            }
        }
        storage
    }

    /// One loop device further down, and the device that is there.
    fn below(
        &self,
        root: &SysRoot,
        view: &LoopView,
        offset: u64,
    ) -> Option<(Self, Option<BlockDevice>)> {
        let (bearer, base, size, next) = match view.backing {
            Backing::Device(number) => {
                let device = BlockDevice::by_number(root, number)?;
                let node = root.dev.join(device.name.replace('!', "/"));
                let file =
                    (DeviceNumber::of_node(&node) == Some(number)).then(|| door::look(&node));
                let (file, size) = (file?.ok()?, device.bytes()?);
                (
                    Some(Bearer::device(root, &device, size)),
                    Some(file),
                    size,
                    Some(device),
                )
            }
            Backing::File(identity) => {
                let is_it = |file: &File| {
                    let facts = file.metadata();
                    facts.is_ok_and(|facts| {
                        facts.is_file() && (facts.dev(), facts.ino()) == identity
                    })
                };
                let file = door::look(&root.locate(&view.path)).ok().filter(is_it);
                match file {
                    Some(file) => {
                        let size = file.metadata().ok()?.len();
                        (Bearer::file(&file), Some(file), size, None)
                    }
                    // As long as it is behind a loop device, no other file has its number.
                    None => (Some(Bearer::unnamed(identity)), None, view.end(), None),
                }
            }
            Backing::Unknown => return None,
        };
        let storage = Self {
            bearer,
            base,
            offset,
            size: Some(size),
        };
        Some((storage, next))
    }

    /// What the target is built on, where that is not the target itself.
    pub(crate) fn beneath(&self) -> Option<Content<'_>> {
        Some(Content::bare(self.base.as_ref()?, self.size?))
    }

    fn source<'a>(&'a self, file: &'a File, bytes: u64) -> Source<'a> {
        Source::new(file, bytes, self.offset, self.base.as_ref())
    }

    /// Whether anything in it looks like a signature.
    fn has_signature(&self, file: &File, bytes: u64) -> bool {
        let size = self.size.unwrap_or(bytes);
        let base = self.base.as_ref().map(|base| Content::new(base, size));
        let target = Content::new(file, bytes);
        [Some(&target), base.as_ref()]
            .into_iter()
            .flatten()
            .any(|content| {
                !signatures::search(content).is_empty()
                    || !places::search_starts(content).is_empty()
                    || places::probes(content.bytes())
                        .iter()
                        .any(|probe| probe.search(content).is_some())
            })
    }

    /// What is recorded of an open target, if the samples are as they were.
    pub(crate) fn known(&self, state: Option<&Path>, file: &File, bytes: u64) -> Known {
        let nothing = Known {
            offset: self.offset,
            ..Known::default()
        };
        self.recorded(state, file, bytes).unwrap_or(nothing)
    }

    fn recorded(&self, state: Option<&Path>, file: &File, bytes: u64) -> Option<Known> {
        let bearer = self.bearer.as_ref()?;
        let carrier = self.base.as_ref().unwrap_or(file);
        let within = || {
            let mut text = vec![0; RECORD_BYTES_MAX];
            let bytes = rustix::fs::fgetxattr(carrier, ATTRIBUTE, &mut text[..]).ok()?;
            text.truncate(bytes);
            Some((bearer.within.clone()?, text))
        };
        let beside = || {
            let text = StateFolder::open(state)?.read(&bearer.name)?;
            Some((bearer.name.clone(), text))
        };
        let source = self.source(file, bytes);
        let right = |(name, text): (String, Vec<u8>)| {
            let record = Record::parse(std::str::from_utf8(&text).ok()?)?;
            let is_right =
                record.of == name && source.digest(&record).is_ok_and(|now| now == record.digest);
            is_right.then(|| self.told_by(record))
        };
        within()
            .and_then(right)
            .or_else(|| beside().and_then(right))
    }

    fn told_by(&self, record: Record) -> Known {
        Known {
            offset: self.offset,
            samples: samples(&record),
            laws: match record.is_open {
                true => record.laws.clone(),
                false => Vec::new(),
            },
            parts: record.parts,
            all_laws: record.laws,
        }
    }
}

impl Bearer {
    /// Nothing where the file system does not tell when a file was born: inodes are used again.
    fn file(file: &File) -> Option<Self> {
        let facts = file.metadata().ok()?;
        let born = facts.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
        let (inode, born) = (facts.ino(), born.as_nanos());
        Some(Self {
            // The number of a file system may be another after the next boot.
            within: Some(format!("file {inode} born {born}")),
            name: format!("file {} {inode} born {born}", facts.dev()),
        })
    }

    /// Behind a loop device, and without a name by now.
    fn unnamed((device, inode): (u64, u64)) -> Self {
        Self {
            within: None,
            name: format!("unnamed file {device} {inode}"),
        }
    }

    fn device(root: &SysRoot, device: &BlockDevice, bytes: u64) -> Self {
        let identity = device.disk().identity(root);
        let disk = match (identity.wwn.as_str(), identity.serial.as_str()) {
            ("", "") => format!("number {}", device.number),
            ("", serial) => format!("serial {serial}"),
            (wwn, _) => format!("wwn {wwn}"),
        };
        let partition = device.partition_number().unwrap_or(0);
        let disk = disk.replace(char::is_control, " ");
        Self {
            within: None,
            name: format!("device {disk} partition {partition} bytes {bytes}"),
        }
    }
}

impl Known {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.laws.is_empty()
    }

    /// Whether the target begins in the middle of a block of what it is built on.
    #[must_use]
    pub fn is_shifted(&self) -> bool {
        !self.offset.is_multiple_of(BLOCK_BYTES)
    }

    /// Whether a block of the target that is shifted consists of pieces of marked blocks of the storage, and blanks.
    /// `starts_with` says whether this stands there.
    pub(super) fn is_marked_beneath(
        &self,
        offset: u64,
        data: &[u8],
        starts_with: impl Fn(Place, &[u8]) -> bool,
    ) -> bool {
        let low = offset.saturating_add(self.offset);
        let first = low / BLOCK_BYTES * BLOCK_BYTES;
        let (before, behind) = data.split_at(data.len().min((first + BLOCK_BYTES - low) as usize));
        let has_mark = |start: u64| {
            let place = match start.checked_sub(self.offset) {
                Some(inside) => Place::Inside(inside),
                None => Place::Before(start),
            };
            starts_with(place, &DATA_MARK)
        };
        // Two pieces that are blank in different ways are no blank block.
        match (is_blank(before), is_blank(behind)) {
            (true, true) => false,
            (is_before_blank, is_behind_blank) => {
                (is_before_blank || has_mark(first))
                    && (is_behind_blank || has_mark(first + BLOCK_BYTES))
            }
        }
    }

    /// The same for a stretch of the target that begins `by` bytes further on.
    pub(super) fn from(&self, by: u64) -> Self {
        Self {
            offset: self.offset.saturating_add(by),
            ..self.clone()
        }
    }

    /// Whether data at `offset` of the target, a block or less, are known to be ours: each piece that lies in recorded parts,
    /// follows from a law, or is blank, or begins with a mark where blocks of the storage begin.
    pub(super) fn explains(&self, offset: u64, data: &[u8]) -> bool {
        self.is_of(&self.parts, &DATA_MARK, offset, data)
    }

    fn is_of(&self, parts: &[Part], mark: &[u8], offset: u64, data: &[u8]) -> bool {
        let low = offset.saturating_add(self.offset);
        let end = low.saturating_add(data.len() as u64);
        let mut cuts = BTreeSet::new();
        let touched = |part: &&Part| part.0 < end && part.1 > low;
        for (from, to) in parts.iter().filter(touched) {
            cuts.extend([*from, *to]);
        }
        self.laws
            .iter()
            .for_each(|law| law.cuts(low, end, &mut cuts));
        cuts.insert(low.next_multiple_of(BLOCK_BYTES));
        let mut cuts: Vec<u64> = cuts.range(low..end).copied().collect();
        cuts.extend([low, end]);
        cuts.sort_unstable();
        cuts.dedup();
        let (mut is_any, mut is_all) = (false, cuts.len() <= PIECES_MAX);
        for piece in cuts.windows(2) {
            let (from, to) = (piece[0], piece[1]);
            let bytes = &data[(from - low) as usize..(to - low) as usize];
            let is_ours = parts
                .iter()
                .filter(touched)
                .any(|part| part.0 <= from && part.1 >= to)
                || self.laws.iter().any(|law| law.explains(from, bytes));
            let is_marked =
                from.is_multiple_of(BLOCK_BYTES) && !mark.is_empty() && bytes.starts_with(mark);
            is_any |= is_ours;
            is_all &= is_ours || is_marked || is_blank(bytes);
        }
        is_any && is_all
    }

    /// Blanks what samples or laws vouch for, to the byte. `data` are whole blocks of the target from `offset` on, but for
    /// its end.
    pub(super) fn hide(&self, offset: u64, data: &mut [u8]) {
        for (number, block) in data.chunks_mut(BLOCK_BYTES as usize).enumerate() {
            let at = offset + number as u64 * BLOCK_BYTES;
            let is_of_laws = !self.laws.is_empty() && !is_blank(block) && self.is_lawful(at, block);
            let low = at.saturating_add(self.offset);
            let end = low.saturating_add(block.len() as u64);
            let first = self.samples.partition_point(|sample| sample.1 <= low);
            for (from, to) in &self.samples[first..] {
                if *from >= end {
                    break;
                }
                let (from, to) = ((*from).max(low) - low, (*to).min(end) - low);
                block[from as usize..to as usize].fill(0);
            }
            if is_of_laws {
                block.fill(0);
            }
        }
    }

    /// Whether a block is of samples, laws, and blanks alone. A mark vouches for the first bytes of a block only.
    fn is_lawful(&self, at: u64, block: &[u8]) -> bool {
        self.is_of(&self.samples, &[], at, block)
    }
}

/// The parts in ascending order, without overlaps and what lies behind the end.
fn merged(parts: &[Part], bytes: u64) -> Vec<Part> {
    let inside = parts.iter().map(|(low, end)| (*low, (*end).min(bytes)));
    let mut inside: Vec<Part> = inside.filter(|(low, end)| low < end).collect();
    inside.sort_unstable();
    let mut merged: Vec<Part> = Vec::new();
    for (low, end) in inside {
        match merged.last_mut() {
            Some(last) if last.1 >= low => last.1 = last.1.max(end),
            _ => merged.push((low, end)),
        }
    }
    merged
}

/// What is left of `all` without `taken`, both as [`merged`] gives them.
fn without(all: &[Part], taken: &[Part]) -> Vec<Part> {
    let mut left = Vec::new();
    for (low, end) in all {
        let mut at = *low;
        for (from, to) in taken.iter().filter(|(from, to)| from < end && to > low) {
            if at < *from {
                left.push((at, *from));
            }
            at = at.max(*to);
        }
        if at < *end {
            left.push((at, *end));
        }
    }
    left
}

/// No more parts than a record takes. What is between them belongs to them where that is ours; otherwise the longest stay.
fn fewer(mut parts: Vec<Part>, is_all_ours: bool) -> Vec<Part> {
    while is_all_ours && parts.len() > PARTS_MAX {
        let gaps = parts.windows(2).map(|two| two[1].0 - two[0].1);
        let narrowest = gaps.enumerate().min_by_key(|(_, gap)| *gap);
        let (place, _) = narrowest.expect("there are many parts");
        parts[place].1 = parts.remove(place + 1).1;
    }
    parts.sort_unstable_by_key(|(low, end)| std::cmp::Reverse(end - low));
    parts.truncate(PARTS_MAX);
    parts.sort_unstable();
    parts
}
