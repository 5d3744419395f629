//! Records of what executions wrote where, so that our own data are known again that carry no mark: patterns, data for
//! checks in other layouts, transfers that begin between blocks.
//!
//! A record names its device or file by what stays with it, says which parts were written, and holds a digest of samples
//! of them: all bytes where these are few. It counts while identity and digest fit. It excuses data of unknown kind inside
//! of these parts and nothing else: no signature, no use by others. A file carries its record as an extended attribute;
//! for what takes none there is a file below the user's state folder.

use std::ffi::CString;
use std::fs::{DirBuilder, File, Metadata};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{Advice, AtFlags, Mode, OFlags, XattrFlags, fadvise};
use twox_hash::XxHash64;

use super::content::{BLOCK_BYTES, Content, DataMap, WHOLE_BYTES};
use super::survey::Spread;
use crate::block::BlockDevice;
use crate::root::{DeviceNumber, SysRoot};

const ATTRIBUTE: &str = "user.fathom.written";
const FIRST_LINE: &str = "fathom written 1";
/// Longer records than that were not made here; file systems take attributes of this length.
const RECORD_BYTES_MAX: usize = 4000;
const PARTS_MAX: usize = 16;
/// Of either end of a part that is too long to be read whole.
const END_BYTES: u64 = 1 << 20;
/// Blocks between the ends of all parts together.
const SAMPLES: u64 = 256;
const CHUNK_BYTES: u64 = 256 << 10;
const READERS: usize = 8;

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

#[derive(Clone, Debug, PartialEq, Eq)]
struct Record {
    of: String,
    parts: Vec<Part>,
    /// Tells which samples were taken.
    seed: u64,
    digest: u64,
}

/// Writes the record of what is open.
///
/// # Errors
/// Where it cannot be read, tells no identity, or there is no place for the record.
pub fn keep(root: &SysRoot, file: &File, parts: &[Part]) -> io::Result<()> {
    let facts = file.metadata()?;
    let is_device = facts.file_type().is_block_device();
    let (bearer, bytes) = if is_device {
        // What is read must come from the device.
        let _ = fadvise(file, 0, None, Advice::DontNeed);
        let bytes = sys::file::device_bytes(file)?;
        let number = DeviceNumber::from_raw(facts.rdev());
        let device = BlockDevice::by_number(root, number);
        (device.map(|one| Bearer::device(root, &one, bytes)), bytes)
    } else {
        (Bearer::file(file), facts.len())
    };
    let bearer = bearer.ok_or_else(|| io::Error::other("nothing tells it from others"))?;
    let parts = merged(parts, bytes);
    if parts.is_empty() {
        return Ok(());
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let seed = now.map_or(0, |now| now.as_nanos() as u64);
    let digest = digest(file, &parts, seed)?;
    let record = |of: &str| {
        Record {
            of: of.to_owned(),
            parts: parts.clone(),
            seed,
            digest,
        }
        .text()
    };
    if let Some(within) = &bearer.within
        && rustix::fs::fsetxattr(
            file,
            ATTRIBUTE,
            record(within).as_bytes(),
            XattrFlags::empty(),
        )
        .is_ok()
    {
        return Ok(());
    }
    let folder = StateFolder::make(root.state.as_deref())?;
    folder.replace(&bearer.name, &record(&bearer.name))
}

/// The parts of an open target that are recorded as written, if their samples are as they were.
pub(crate) fn recorded(state: Option<&Path>, file: &File, bearer: &Bearer) -> Option<Vec<Part>> {
    let within = || {
        let mut text = vec![0; RECORD_BYTES_MAX];
        let bytes = rustix::fs::fgetxattr(file, ATTRIBUTE, &mut text[..]).ok()?;
        text.truncate(bytes);
        Some((bearer.within.clone()?, text))
    };
    let beside = || {
        let text = StateFolder::open(state)?.read(&bearer.name)?;
        Some((bearer.name.clone(), text))
    };
    let is_right = |(name, text): (String, Vec<u8>)| {
        let record = Record::parse(std::str::from_utf8(&text).ok()?)?;
        let fits = record.of == name
            && digest(file, &record.parts, record.seed).is_ok_and(|now| now == record.digest);
        fits.then_some(record.parts)
    };
    within()
        .and_then(is_right)
        .or_else(|| beside().and_then(is_right))
}

impl Bearer {
    /// Nothing where the file system does not tell when a file was born: inodes are used again.
    pub(crate) fn file(file: &File) -> Option<Self> {
        let facts = file.metadata().ok()?;
        let born = facts.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
        let (inode, born) = (facts.ino(), born.as_nanos());
        Some(Self {
            // The number of a file system may be another after the next boot.
            within: Some(format!("file {inode} born {born}")),
            name: format!("file {} {inode} born {born}", facts.dev()),
        })
    }

    pub(crate) fn device(root: &SysRoot, device: &BlockDevice, bytes: u64) -> Self {
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

impl Record {
    fn text(&self) -> String {
        let mut text = format!("{FIRST_LINE}\nof {}\n", self.of);
        for (low, end) in &self.parts {
            text += &format!("part {low} {end}\n");
        }
        text + &format!("seed {:016x}\ndigest {:016x}\n", self.seed, self.digest)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        if lines.next()? != FIRST_LINE {
            return None;
        }
        let of = lines.next()?.strip_prefix("of ")?.to_owned();
        let mut parts = Vec::new();
        let seed = loop {
            let line = lines.next()?;
            if let Some(seed) = line.strip_prefix("seed ") {
                break u64::from_str_radix(seed, 16).ok()?;
            }
            let (low, end) = line.strip_prefix("part ")?.split_once(' ')?;
            let part: Part = (low.parse().ok()?, end.parse().ok()?);
            if part.0 >= part.1 || parts.len() == PARTS_MAX {
                return None;
            }
            parts.push(part);
        };
        let digest = lines.next()?.strip_prefix("digest ")?;
        let digest = u64::from_str_radix(digest, 16).ok()?;
        Some(Self {
            of,
            parts,
            seed,
            digest,
        })
    }
}

/// The parts in ascending order, without overlaps and what lies behind the end. Of very many, the longest.
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
    merged.sort_unstable_by_key(|(low, end)| std::cmp::Reverse(end - low));
    merged.truncate(PARTS_MAX);
    merged.sort_unstable();
    merged
}

/// A sum over the samples of all parts, each with its place.
///
/// # Errors
/// Where a sample cannot be read, or lies behind the end.
fn digest(file: &File, parts: &[Part], seed: u64) -> io::Result<u64> {
    let samples = samples(parts, seed);
    let end = parts.last().map_or(0, |(_, end)| *end);
    let content = Content::bare(file, end);
    let (next, sum, is_short) = (
        AtomicUsize::new(0),
        AtomicU64::new(0),
        AtomicBool::new(false),
    );
    let work = || {
        let mut buffer = Vec::new();
        while let Some((low, end)) = samples.get(next.fetch_add(1, Ordering::Relaxed)) {
            buffer.resize((end - low) as usize, 0);
            if content.read_into(*low, &mut buffer) < buffer.len() {
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
    if is_short.into_inner() {
        return Err(io::Error::other(match content.failure() {
            Some((offset, error)) => format!("byte {offset} cannot be read: {error}"),
            None => "it has become shorter".to_owned(),
        }));
    }
    Ok(sum.into_inner())
}

/// What is read of parts: all, or their ends and blocks spread between.
fn samples(parts: &[Part], seed: u64) -> Vec<Part> {
    let map = DataMap {
        areas: parts.to_vec(),
    };
    let mut samples = Vec::new();
    let mut whole = |low: u64, end: u64| {
        let mut at = low;
        while at < end {
            let next = (at.saturating_add(CHUNK_BYTES)).min(end);
            samples.push((at, next));
            at = next;
        }
    };
    if map.bytes() <= WHOLE_BYTES {
        parts.iter().for_each(|(low, end)| whole(*low, *end));
        return samples;
    }
    for (low, end) in parts {
        let head = low.saturating_add(END_BYTES).min(*end);
        whole(*low, head);
        whole(end.saturating_sub(END_BYTES).max(head), *end);
    }
    let spread = Spread::over(&map);
    for number in 0..SAMPLES {
        let block = spread.at(seed.wrapping_add(number)) / BLOCK_BYTES * BLOCK_BYTES;
        let inside = map.within(block, block + BLOCK_BYTES);
        samples.extend(inside.areas);
    }
    samples
}

/// `fathom/written` below the user's state folder: of this user alone.
#[derive(Debug)]
struct StateFolder {
    folder: OwnedFd,
}

impl StateFolder {
    fn path(state: Option<&Path>) -> Option<PathBuf> {
        Some(state?.join("fathom/written"))
    }

    fn open(state: Option<&Path>) -> Option<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = rustix::fs::open(Self::path(state)?, flags, Mode::empty()).ok()?;
        is_private(&File::from(folder.try_clone().ok()?).metadata().ok()?)
            .then_some(Self { folder })
    }

    fn make(state: Option<&Path>) -> io::Result<Self> {
        let path = Self::path(state).ok_or_else(|| {
            io::Error::other("neither `XDG_STATE_HOME` nor `HOME` names a folder for its record")
        })?;
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&path)?;
        Self::open(state).ok_or_else(|| {
            let path = path.display();
            io::Error::other(format!("`{path}` is not a folder of this user alone"))
        })
    }

    /// A name for each bearer, whatever stands in its own.
    fn file_name(bearer: &str) -> String {
        format!("{:016x}", XxHash64::oneshot(0, bearer.as_bytes()))
    }

    fn read(&self, bearer: &str) -> Option<Vec<u8>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let name = Self::file_name(bearer);
        let file = rustix::fs::openat(&self.folder, name, flags, Mode::empty()).ok()?;
        let file = File::from(file);
        let facts = file.metadata().ok()?;
        if !facts.is_file() || !is_private(&facts) {
            return None;
        }
        let mut text = Vec::new();
        file.take(RECORD_BYTES_MAX as u64)
            .read_to_end(&mut text)
            .ok()?;
        Some(text)
    }

    /// Makes the record of a bearer, or puts it in the place of an earlier one. Nothing else is replaced.
    fn replace(&self, bearer: &str, text: &str) -> io::Result<()> {
        let name = Self::file_name(bearer);
        let found = rustix::fs::statat(&self.folder, &name, AtFlags::SYMLINK_NOFOLLOW);
        if found.is_ok() {
            let earlier = self.read(bearer).unwrap_or_default();
            if !earlier.starts_with(FIRST_LINE.as_bytes()) {
                let message = format!("`{name}` in the folder of records is none");
                return Err(io::Error::other(message));
            }
        }
        let new = CString::new(format!("{name}.{}", std::process::id()))?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let made = rustix::fs::openat(&self.folder, &new, flags, Mode::RUSR | Mode::WUSR)?;
        let mut made = File::from(made);
        let written = made.write_all(text.as_bytes()).and_then(|()| {
            Ok(rustix::fs::renameat(
                &self.folder,
                &new,
                &self.folder,
                &name,
            )?)
        });
        if written.is_err() {
            let _ = rustix::fs::unlinkat(&self.folder, &new, AtFlags::empty());
        }
        written
    }
}

/// Whether nobody else could have written it.
fn is_private(facts: &Metadata) -> bool {
    facts.uid() == rustix::process::geteuid().as_raw() && facts.mode() & 0o022 == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{FileExt, PermissionsExt, symlink};

    fn root(folder: &Path) -> SysRoot {
        SysRoot {
            state: Some(folder.join("state")),
            ..SysRoot::real()
        }
    }

    /// What the state folder alone remembers of a file.
    fn beside(root: &SysRoot, file: &File, bearer: &str) -> Option<Vec<Part>> {
        let bearer = Bearer {
            within: None,
            name: bearer.to_owned(),
        };
        recorded(root.state.as_deref(), file, &bearer)
    }

    fn keep_beside(root: &SysRoot, file: &File, bearer: &str, parts: &[Part]) -> io::Result<()> {
        let record = Record {
            of: bearer.to_owned(),
            parts: parts.to_vec(),
            seed: 7,
            digest: digest(file, parts, 7).unwrap(),
        };
        StateFolder::make(root.state.as_deref())?.replace(bearer, &record.text())
    }

    fn file_of(path: &Path, data: &[u8]) -> File {
        fs::write(path, data).unwrap();
        File::options().read(true).write(true).open(path).unwrap()
    }

    #[test]
    fn a_record_counts_while_its_samples_and_its_bearer_fit() {
        let folder = tempfile::tempdir().unwrap();
        let root = root(folder.path());
        let data = vec![0x5a; 3 << 20];
        let file = file_of(&folder.path().join("data"), &data);
        let parts = [(4096, 1 << 20), (2 << 20, 3 << 20)];
        keep_beside(&root, &file, "one", &parts).unwrap();
        assert_eq!(beside(&root, &file, "one"), Some(parts.to_vec()));
        assert_eq!(beside(&root, &file, "other"), None);
        file.write_all_at(b"x", 0).unwrap();
        assert!(
            beside(&root, &file, "one").is_some(),
            "outside of the parts"
        );
        file.write_all_at(b"x", 3 << 19 | 5).unwrap();
        assert!(
            beside(&root, &file, "one").is_some(),
            "outside of the parts"
        );
        file.write_all_at(b"x", (3 << 20) - 1).unwrap();
        assert_eq!(beside(&root, &file, "one"), None, "a changed byte");
        file.write_all_at(b"\x5a", (3 << 20) - 1).unwrap();
        file.set_len((3 << 20) - 1).unwrap();
        assert_eq!(beside(&root, &file, "one"), None, "cut");
    }

    #[test]
    fn of_long_parts_ends_and_spread_blocks_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = file_of(&folder.path().join("long"), b"");
        let parts = [(512, 1 << 30), (2 << 30, 3 << 30)];
        file.set_len(3 << 30).unwrap();
        let taken = samples(&parts, 99);
        let bytes: u64 = taken.iter().map(|(low, end)| end - low).sum();
        assert!(bytes <= 4 * END_BYTES + SAMPLES * BLOCK_BYTES, "{bytes}");
        let blocks = taken.iter().filter(|(low, end)| end - low == BLOCK_BYTES);
        assert_eq!(blocks.count() as u64, SAMPLES);
        let before = digest(&file, &parts, 99).unwrap();
        for (low, end) in &taken {
            file.write_all_at(&[1], (low + end) / 2).unwrap();
            assert_ne!(digest(&file, &parts, 99).unwrap(), before);
            file.write_all_at(&[0], (low + end) / 2).unwrap();
            if *low > 4 << 20 {
                break;
            }
        }
        assert_eq!(digest(&file, &parts, 99).unwrap(), before);
    }

    #[test]
    fn nothing_but_an_earlier_record_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let root = root(folder.path());
        let file = file_of(&folder.path().join("data"), &[1; 8192]);
        keep_beside(&root, &file, "one", &[(0, 4096)]).unwrap();
        keep_beside(&root, &file, "one", &[(0, 8192)]).unwrap();
        assert_eq!(beside(&root, &file, "one"), Some(vec![(0, 8192)]));
        let records = folder.path().join("state/fathom/written");
        assert_eq!(fs::read_dir(&records).unwrap().count(), 1);
        assert_eq!(fs::metadata(&records).unwrap().mode() & 0o777, 0o700);
        let record = records.join(StateFolder::file_name("one"));
        assert_eq!(fs::metadata(&record).unwrap().mode() & 0o777, 0o600);
        fs::write(&record, "Dear reader,\n").unwrap();
        assert!(keep_beside(&root, &file, "one", &[(0, 4096)]).is_err());
        assert_eq!(fs::read_to_string(&record).unwrap(), "Dear reader,\n");
        fs::remove_file(&record).unwrap();
        symlink("/dev/null", &record).unwrap();
        assert!(keep_beside(&root, &file, "one", &[(0, 4096)]).is_err());
        fs::remove_file(&record).unwrap();
        fs::set_permissions(&records, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(keep_beside(&root, &file, "one", &[(0, 4096)]).is_err());
    }

    #[test]
    fn a_regular_file_in_the_place_of_the_folder_stays() {
        let folder = tempfile::tempdir().unwrap();
        let root = root(folder.path());
        fs::create_dir(folder.path().join("state")).unwrap();
        fs::write(folder.path().join("state/fathom"), "a file").unwrap();
        let file = file_of(&folder.path().join("data"), &[1; 8192]);
        assert!(keep_beside(&root, &file, "one", &[(0, 4096)]).is_err());
        let text = fs::read_to_string(folder.path().join("state/fathom")).unwrap();
        assert_eq!(text, "a file");
    }

    #[test]
    fn parts_are_merged_and_cut() {
        let parts = [(10, 20), (0, 5), (20, 30), (4, 6), (50, 90)];
        assert_eq!(merged(&parts, 60), [(0, 6), (10, 30), (50, 60)]);
        assert_eq!(merged(&[(9, 9), (70, 80)], 60), []);
        let many: Vec<Part> = (1..40).map(|n| (n * 100, n * 100 + n)).collect();
        let kept = merged(&many, u64::MAX);
        assert_eq!(kept.len(), PARTS_MAX);
        assert_eq!(kept[0], (2400, 2424));
    }

    #[test]
    fn damaged_records_are_none() {
        let record = Record {
            of: "one".to_owned(),
            parts: vec![(0, 4096)],
            seed: 1,
            digest: 2,
        };
        let text = record.text();
        assert_eq!(Record::parse(&text), Some(record));
        for end in 0..text.len() - "0000000000000002\n".len() {
            assert_eq!(Record::parse(&text[..end]), None, "{end}");
        }
        assert_eq!(Record::parse(&text.replace("part 0", "part 5000")), None);
    }
}
