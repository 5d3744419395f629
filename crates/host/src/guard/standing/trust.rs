//! Whether nobody but the caller and root decides what stands in a list.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::{StandingError, shown};

/// A list is written by hand.
const LIST_BYTES_MAX: u64 = 1 << 20;

const WRITABLE_BY_OTHERS: u32 = 0o022;
const STICKY: u32 = 0o1000;

/// The text of a list that only `caller` and root can write or replace.
pub(super) fn read(list: &Path, caller: u32) -> Result<String, StandingError> {
    let unreadable = |error| StandingError::Unreadable {
        list: list.to_path_buf(),
        error,
    };
    let not_trusted = |reason| StandingError::NotTrusted {
        list: list.to_path_buf(),
        reason,
    };
    let absolute = std::path::absolute(list).map_err(unreadable)?;
    let real = fs::canonicalize(list).map_err(unreadable)?;
    // Where the path leads through links, both ways to the list have to be out of the hands of others.
    for path in [&absolute, &real] {
        check_way(path, caller).map_err(not_trusted)?;
    }
    let mut file = open(&real).map_err(unreadable)?;
    let facts = file.metadata().map_err(unreadable)?;
    if !facts.is_file() {
        return Err(not_trusted("it is no regular file".to_owned()));
    }
    check(&real, &facts, caller).map_err(not_trusted)?;
    text(&mut file).map_err(unreadable)
}

/// Does not wait for the other end of a pipe.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
}

fn text(file: &mut File) -> io::Result<String> {
    let mut text = String::new();
    file.take(LIST_BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LIST_BYTES_MAX {
        let message = format!("it is longer than {} MiB", LIST_BYTES_MAX >> 20);
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    Ok(text)
}

/// Everything on the way to a file, the file itself included.
fn check_way(path: &Path, caller: u32) -> Result<(), String> {
    let mut way: Vec<PathBuf> = path.ancestors().map(Path::to_path_buf).collect();
    way.reverse();
    for place in way {
        let facts = fs::symlink_metadata(&place)
            .map_err(|error| format!("{} cannot be looked at: {error}", shown(&place)))?;
        check(&place, &facts, caller)?;
    }
    Ok(())
}

fn check(place: &Path, facts: &Metadata, caller: u32) -> Result<(), String> {
    let (owner, mode) = (facts.uid(), facts.mode() & 0o7777);
    if owner != 0 && owner != caller {
        return Err(format!(
            "{} belongs to user {owner}; it has to belong to user {caller}, who calls, or to root",
            shown(place)
        ));
    }
    // In a folder like /tmp others can add names, and cannot replace those of the caller and root.
    let protects = facts.is_dir() && mode & STICKY != 0;
    if mode & WRITABLE_BY_OTHERS != 0 && !protects && !facts.is_symlink() {
        return Err(format!(
            "others can write to {} (mode {mode:o}); use `chmod go-w`",
            shown(place)
        ));
    }
    Ok(())
}
