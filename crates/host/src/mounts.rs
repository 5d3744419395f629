//! The tables of mounts, swap and file locks, from the files that proc(5) describes.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::root::{DeviceNumber, SysRoot, read_bytes};

/// One line of a mount table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    /// Of the file system's files; major 0 where it is not that of one block device (btrfs, tmpfs, network).
    pub number: DeviceNumber,
    /// The directory of the file system that is seen at `point`.
    pub root: String,
    pub point: PathBuf,
    pub kind: String,
    pub source: String,
    /// Those of the mount, then those of the file system.
    pub options: String,
}

/// One line of the swap table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Swap {
    pub path: PathBuf,
    /// Swap on a file, not on a device.
    pub is_file: bool,
}

/// An exclusive lock on a whole file (`flock(2)`) or a record lock of either kind (`fcntl(2)`) that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileLock {
    /// Nothing for the lock of an open file description.
    pub process: Option<u32>,
    /// Of the file system; on btrfs this is not the number that its files tell.
    pub device: DeviceNumber,
    pub inode: u64,
}

/// More than two million locks are not read.
const LOCK_TABLE_BYTES_MAX: u64 = 128 << 20;

/// What is mounted in this process's name space, and, where it may be read, in that of the first process: a container
/// does not see the mounts of the machine around it.
pub(crate) fn mounts(root: &SysRoot) -> Vec<Mount> {
    let mut all = own_mounts(root);
    for mount in table(root, "1/mountinfo") {
        if !all.contains(&mount) {
            all.push(mount);
        }
    }
    all
}

/// What is mounted in this process's name space, in the order of mounting.
pub(crate) fn own_mounts(root: &SysRoot) -> Vec<Mount> {
    table(root, "self/mountinfo")
}

/// The mount that holds `real_path`, which lies on a file system of this number where that is known. The last one
/// wins, since it covers the earlier ones.
pub(crate) fn mount_of<'a>(
    mounts: &'a [Mount],
    real_path: &Path,
    number: Option<DeviceNumber>,
) -> Option<&'a Mount> {
    let holds = |mount: &&Mount| {
        real_path.starts_with(&mount.point) && number.is_none_or(|number| number == mount.number)
    };
    mounts
        .iter()
        .filter(holds)
        .max_by_key(|mount| mount.point.components().count())
        .or_else(|| match number {
            Some(_) => mount_of(mounts, real_path, None),
            None => None,
        })
}

/// Active swap.
pub(crate) fn swaps(root: &SysRoot) -> Vec<Swap> {
    let Some(bytes) = read_bytes(&root.proc.join("swaps")) else {
        return Vec::new();
    };
    String::from_utf8_lossy(&bytes)
        .lines()
        .skip(1)
        .filter_map(parse_swap)
        .collect()
}

/// Locks that are held, of all processes that this one can see.
pub(crate) fn file_locks(root: &SysRoot) -> Vec<FileLock> {
    let Ok(table) = File::open(root.proc.join("locks")) else {
        return Vec::new();
    };
    BufReader::new(table.take(LOCK_TABLE_BYTES_MAX))
        .lines()
        .map_while(Result::ok)
        .filter_map(|line| parse_lock(&line))
        .collect()
}

fn table(root: &SysRoot, name: &str) -> Vec<Mount> {
    let Some(bytes) = read_bytes(&root.proc.join(name)) else {
        return Vec::new();
    };
    String::from_utf8_lossy(&bytes)
        .lines()
        .filter_map(parse_mount)
        .collect()
}

fn parse_mount(line: &str) -> Option<Mount> {
    let (before, after) = line.split_once(" - ")?;
    let before: Vec<&str> = before.split(' ').collect();
    let after: Vec<&str> = after.split(' ').collect();
    let mut options = before.get(5)?.to_string();
    for option in after.get(2).into_iter().flat_map(|text| text.split(',')) {
        if !options.split(',').any(|known| known == option) {
            options.push(',');
            options.push_str(option);
        }
    }
    Some(Mount {
        number: DeviceNumber::parse(before.get(2)?)?,
        root: unescape(before.get(3)?),
        point: PathBuf::from(unescape(before.get(4)?)),
        kind: after.first()?.to_string(),
        source: unescape(after.get(1)?),
        options,
    })
}

fn parse_swap(line: &str) -> Option<Swap> {
    let mut words = line.split_ascii_whitespace();
    let path = PathBuf::from(unescape(words.next()?));
    let is_file = words.next()? == "file";
    Some(Swap { path, is_file })
}

/// `1: FLOCK  ADVISORY  WRITE 3568 fd:00:2531452 0 EOF`, with the device in hexadecimal. Of those that wait, an arrow
/// stands before the kind.
fn parse_lock(line: &str) -> Option<FileLock> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let [_, kind, _, access, process, place, ..] = words[..] else {
        return None;
    };
    if !matches!(
        (kind, access),
        ("FLOCK", "WRITE") | ("POSIX" | "OFDLCK", "READ" | "WRITE")
    ) {
        return None;
    }
    let mut place = place.split(':');
    let mut hexadecimal = || u32::from_str_radix(place.next()?, 16).ok();
    let (major, minor) = (hexadecimal()?, hexadecimal()?);
    Some(FileLock {
        process: process.parse().ok(),
        device: DeviceNumber { major, minor },
        inode: place.next()?.parse().ok()?,
    })
}

/// Blanks, tabs, line ends and backslashes stand as three octal digits behind a backslash.
fn unescape(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = (bytes[at] == b'\\')
            .then(|| text.get(at + 1..at + 4))
            .flatten()
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) => {
                plain.push(code);
                at += 4;
            }
            None => {
                plain.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_line_is_taken_apart() {
        let line =
            r"36 35 98:0 /mnt1 /mnt\0402 rw,noatime master:1 shared:3 - ext3 /dev/root rw,errors=x";
        let mount = parse_mount(line).unwrap();
        assert_eq!(mount.number.to_string(), "98:0");
        assert_eq!(mount.root, "/mnt1");
        assert_eq!(mount.point, Path::new("/mnt 2"));
        assert_eq!(mount.kind, "ext3");
        assert_eq!(mount.source, "/dev/root");
        assert_eq!(mount.options, "rw,noatime,errors=x");
        assert_eq!(parse_mount("nonsense"), None);
    }

    #[test]
    fn the_deepest_and_last_mount_holds_a_path() {
        let lines = [
            "1 0 8:1 / / rw - ext4 /dev/a rw",
            "2 1 8:2 / /data rw - xfs /dev/b rw",
            "3 1 8:3 / /data rw - xfs /dev/c rw",
        ];
        let mounts: Vec<Mount> = lines.iter().filter_map(|line| parse_mount(line)).collect();
        let source = |path: &str, number: Option<&str>| {
            mount_of(
                &mounts,
                Path::new(path),
                number.and_then(DeviceNumber::parse),
            )
            .unwrap()
            .source
            .clone()
        };
        assert_eq!(source("/data/x", None), "/dev/c");
        assert_eq!(source("/data/x", Some("8:2")), "/dev/b");
        assert_eq!(source("/data/x", Some("0:99")), "/dev/c");
        assert_eq!(source("/database", None), "/dev/a");
    }

    #[test]
    fn locks_are_taken_that_keep_a_writer_away() {
        let held = "1: FLOCK  ADVISORY  WRITE 3568 fd:1f:2531452 0 EOF";
        let lock = parse_lock(held).unwrap();
        assert_eq!((lock.process, lock.inode), (Some(3568), 2_531_452));
        assert_eq!(lock.device.to_string(), "253:31");
        for other in [
            "1: -> FLOCK  ADVISORY  WRITE 3568 fd:1f:2531452 0 EOF",
            "2: FLOCK  ADVISORY  READ 3568 fd:1f:2531452 0 EOF",
            "3: LEASE  ACTIVE    READ 3548 fd:1f:2531447 0 EOF",
            "4: -> OFDLCK ADVISORY  WRITE -1 fd:1f:2531452 0 EOF",
            "",
        ] {
            assert_eq!(parse_lock(other), None, "{other}");
        }
        let posix = parse_lock("5: POSIX  ADVISORY  READ 3548 fd:1f:2531447 1024 1536").unwrap();
        assert_eq!((posix.process, posix.inode), (Some(3548), 2_531_447));
        let of_image = parse_lock("6: OFDLCK ADVISORY  READ -1 fd:1f:7 100 101").unwrap();
        assert_eq!((of_image.process, of_image.inode), (None, 7));
    }

    #[test]
    fn swap_lines_and_escapes() {
        assert_eq!(
            parse_swap(
                r"/a\040file   file\t 100 0 -2"
                    .replace(r"\t", "\t")
                    .as_str()
            ),
            Some(Swap {
                path: PathBuf::from("/a file"),
                is_file: true
            })
        );
        assert!(!parse_swap("/dev/dm-1 partition 1 0 -2").unwrap().is_file);
        assert_eq!(unescape(r"a\134b\9"), r"a\b\9");
    }
}
