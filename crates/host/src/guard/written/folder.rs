//! Where records stay that their bearer cannot carry.

use std::ffi::CString;
use std::fs::{DirBuilder, File, Metadata};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags};
use twox_hash::XxHash64;

use super::record::{FIRST_WORDS, RECORD_BYTES_MAX};

/// `fathom/written` below the user's state folder: of this user alone.
#[derive(Debug)]
pub(super) struct StateFolder {
    folder: OwnedFd,
}

impl StateFolder {
    fn path(state: Option<&Path>) -> Option<PathBuf> {
        Some(state?.join("fathom/written"))
    }

    pub(super) fn open(state: Option<&Path>) -> Option<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = rustix::fs::open(Self::path(state)?, flags, Mode::empty()).ok()?;
        is_private(&File::from(folder.try_clone().ok()?).metadata().ok()?)
            .then_some(Self { folder })
    }

    pub(super) fn make(state: Option<&Path>) -> io::Result<Self> {
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
    pub(super) fn file_name(bearer: &str) -> String {
        format!("{:016x}", XxHash64::oneshot(0, bearer.as_bytes()))
    }

    pub(super) fn read(&self, bearer: &str) -> Option<Vec<u8>> {
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
    pub(super) fn replace(&self, bearer: &str, text: &str) -> io::Result<()> {
        let name = Self::file_name(bearer);
        let found = rustix::fs::statat(&self.folder, &name, AtFlags::SYMLINK_NOFOLLOW);
        if found.is_ok() {
            let earlier = self.read(bearer).unwrap_or_default();
            if !earlier.starts_with(FIRST_WORDS.as_bytes()) {
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
