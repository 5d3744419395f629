//! What the door asks of a system, and what tells one object from another.
use std::ffi::CStr;
use std::io;
use std::path::{Path, PathBuf};
use sys::file::at::{Facts, Kind};
use sys::file::names::Look;
use sys::file::{OpenFlags, RecordLock};

/// The calls that the door makes: the kernel's, or those of a model. Names are never followed in their last place.
pub trait Calls: Send + Sync {
    /// A folder, held open.
    type Folder: Send + Sync;
    /// An open file or device.
    type File: Send + Sync;
    /// A file that is kept open, with its lock, without a descriptor.
    type Kept: Send + Sync;

    /// The path made absolute, with all links resolved; the last name may be missing.
    fn resolve(&self, path: &Path) -> io::Result<PathBuf>;
    fn open_folder(&self, path: &Path) -> io::Result<Self::Folder>;
    fn folder_facts(&self, folder: &Self::Folder) -> io::Result<Facts>;
    fn look(&self, folder: &Self::Folder, name: &CStr) -> io::Result<Facts>;
    /// Asks what the file system knows of a path as it was named, and leaves the answer.
    fn look_by_path(&self, path: &CStr, how: Look) -> io::Result<()>;
    fn open(&self, folder: &Self::Folder, name: &CStr, flags: &OpenFlags)
    -> io::Result<Self::File>;
    /// Makes a file where nothing has this name.
    fn make(&self, folder: &Self::Folder, name: &CStr, flags: &OpenFlags)
    -> io::Result<Self::File>;
    fn facts(&self, file: &Self::File) -> io::Result<Facts>;
    /// Of a disk: its sequence number, where the kernel has one, and its bytes.
    fn disk(&self, file: &Self::File) -> io::Result<(Option<u64>, u64)>;
    /// Whether the file system of an open file keeps the time of its last change, and does not tell another each time
    /// that it is asked.
    fn keeps_times(&self, file: &Self::File) -> bool;
    /// Whether the lock on an open file is ours now.
    fn lock(&self, file: &Self::File) -> io::Result<bool>;
    /// The same for a lock that others may share, which keeps the first one away.
    fn lock_shared(&self, file: &Self::File) -> io::Result<bool>;
    /// A record lock that another program holds on it; nothing where its file system cannot tell.
    fn record_lock(&self, file: &Self::File) -> Option<RecordLock>;
    fn keep(&self, file: &Self::File) -> io::Result<Self::Kept>;
    fn make_folder(&self, folder: &Self::Folder, name: &CStr) -> io::Result<Self::Folder>;
    /// Moves a name where nothing has the new one.
    fn move_to(
        &self,
        from: &Self::Folder,
        name: &CStr,
        to: &Self::Folder,
        new: &CStr,
    ) -> io::Result<()>;
    fn remove(&self, folder: &Self::Folder, name: &CStr) -> io::Result<()>;
    fn remove_folder(&self, folder: &Self::Folder, name: &CStr) -> io::Result<()>;
}

/// What stays the same as long as it is the same object, whatever its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Identity {
    File {
        device: u64,
        inode: u64,
        /// Inode numbers are used again; with the time of birth they are not. Nothing where it is not told.
        birth_ns: Option<i128>,
    },
    Disk {
        number: u64,
        /// Numbers are used again when a disk goes and another comes; the sequence is not. Where there is none, the
        /// size has to do.
        sequence: Result<u64, u64>,
    },
}

/// The identity of what is open; nothing for what is neither a regular file nor a block device.
pub(crate) fn identify<C: Calls>(
    calls: &C,
    file: &C::File,
) -> io::Result<Option<(Identity, Facts)>> {
    let facts = calls.facts(file)?;
    Ok(match facts.kind {
        Kind::File => Some((of_file(&facts), facts)),
        Kind::BlockDevice => {
            let (sequence, bytes) = calls.disk(file)?;
            let identity = Identity::Disk {
                number: facts.number,
                sequence: sequence.ok_or(bytes),
            };
            Some((identity, Facts { bytes, ..facts }))
        }
        Kind::Folder | Kind::Link | Kind::Other => None,
    })
}

/// The identity of a regular file by what is said of it.
pub(crate) fn of_file(facts: &Facts) -> Identity {
    Identity::File {
        device: facts.device,
        inode: facts.inode,
        birth_ns: facts.birth_ns,
    }
}

impl Identity {
    /// Whether nothing else can have it, now or later.
    #[must_use]
    pub fn tells_birth(&self) -> bool {
        matches!(
            self,
            Identity::File {
                birth_ns: Some(_),
                ..
            }
        )
    }
}
