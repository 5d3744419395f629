//! Calls on a name within a folder that is held open, and on what such a call has opened. None of them follows a link in
//! the last place: the name stands for what has it, and for nothing else.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::ptr::{self, NonNull};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Statx, StatxFlags, StatxTimestamp};
use rustix::io::retry_on_intr;
use rustix::ioctl::{Getter, Opcode, ioctl, opcode};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

pub use super::stat::name;
use super::stat::statx;
use super::{OpenFlags, open_bits};

/// `_IOR(0x12, 128, __u64)`, linux/fs.h; since Linux 5.15.
const BLKGETDISKSEQ: Opcode = opcode::read::<u64>(0x12, 128);

/// A folder, held open.
#[derive(Debug)]
pub struct Folder(OwnedFd);

/// What has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    File,
    BlockDevice,
    Folder,
    Link,
    Other,
}

/// What `statx(2)` says of one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    pub kind: Kind,
    /// Number of the file system.
    pub device: u64,
    pub inode: u64,
    /// When it was made, ns since 1970; nothing where the file system does not say.
    pub birth_ns: Option<i128>,
    /// When its content last changed, ns since 1970.
    pub modified_ns: i128,
    pub bytes: u64,
    /// Of a device: which one it is.
    pub number: u64,
}

/// An open file that is kept open without a descriptor, and with it the lock (flock) that was taken on it. It ends when
/// this is dropped.
#[derive(Debug)]
pub struct Kept {
    address: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the address is never read or written through, only given back to the kernel once.
unsafe impl Send for Kept {}
// SAFETY: as above; nothing can be done with a shared reference.
unsafe impl Sync for Kept {}

impl Folder {
    /// Opens the folder at `path`.
    ///
    /// # Errors
    /// What `open(2)` says (ENOTDIR: it is none).
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = retry_on_intr(|| rustix::fs::open(path, flags, Mode::empty()));
        let folder = match opened {
            // Whoever may enter a folder and not list it can still use names in it.
            Err(rustix::io::Errno::ACCESS) => {
                retry_on_intr(|| rustix::fs::open(path, flags | OFlags::PATH, Mode::empty()))?
            }
            other => other?,
        };
        Ok(Self(folder))
    }

    /// # Errors
    /// What `statx(2)` says.
    pub fn facts(&self) -> io::Result<Facts> {
        facts_of(statx(&self.0, c"", AtFlags::EMPTY_PATH, mask())?)
    }

    /// What has this name; of a link, the link.
    ///
    /// # Errors
    /// What `statx(2)` says (ENOENT: nothing).
    pub fn look(&self, name: &CStr) -> io::Result<Facts> {
        facts_of(statx(&self.0, name, AtFlags::SYMLINK_NOFOLLOW, mask())?)
    }

    /// Opens what has this name; never a link, and waiting for nobody at the other end of a pipe.
    ///
    /// # Errors
    /// As [`super::open`]; ELOOP where it is a link.
    pub fn open_at(&self, name: &CStr, flags: &OpenFlags) -> io::Result<File> {
        let bits = open_bits(flags)? | OFlags::NOFOLLOW;
        let file =
            retry_on_intr(|| rustix::fs::openat(&self.0, name, bits, Mode::from_raw_mode(0o644)))?;
        Ok(File::from(file))
    }

    /// Makes a file (mode 0644 less umask) where nothing has this name, not even a link, and opens it.
    ///
    /// # Errors
    /// EEXIST where something has the name; as [`super::open`] otherwise.
    pub fn make_at(&self, name: &CStr, flags: &OpenFlags) -> io::Result<File> {
        let flags = OpenFlags {
            write: true,
            create: true,
            exclusive: true,
            ..*flags
        };
        self.open_at(name, &flags)
    }

    /// Makes a folder (mode 0700) and opens it.
    ///
    /// # Errors
    /// What `mkdirat(2)` and `open(2)` say.
    pub fn make_folder_at(&self, name: &CStr) -> io::Result<Folder> {
        rustix::fs::mkdirat(&self.0, name, Mode::from_raw_mode(0o700))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let folder = rustix::fs::openat(&self.0, name, flags, Mode::empty())?;
        Ok(Folder(folder))
    }

    /// Gives what has this name another one, in the same file system, where nothing has that.
    ///
    /// # Errors
    /// EEXIST where something has the new name; EXDEV across file systems; EINVAL where the file system cannot tell;
    /// what `renameat2(2)` says otherwise.
    pub fn move_to(&self, name: &CStr, to: &Folder, new: &CStr) -> io::Result<()> {
        let flags = RenameFlags::NOREPLACE;
        Ok(rustix::fs::renameat_with(&self.0, name, &to.0, new, flags)?)
    }

    /// Takes this name of a file away.
    ///
    /// # Errors
    /// What `unlinkat(2)` says.
    pub fn remove_at(&self, name: &CStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// Takes an empty folder away.
    ///
    /// # Errors
    /// ENOTEMPTY where something is in it; what `unlinkat(2)` says otherwise.
    pub fn remove_folder_at(&self, name: &CStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::REMOVEDIR)?)
    }
}

/// What an open file or device is.
///
/// # Errors
/// What `statx(2)` says.
pub fn facts(file: &File) -> io::Result<Facts> {
    facts_of(statx(file, c"", AtFlags::EMPTY_PATH, mask())?)
}

/// The number that the kernel gave a disk when it came, which no other disk had since the machine started; nothing
/// before Linux 5.15.
#[must_use]
pub fn disk_sequence(file: &File) -> Option<u64> {
    super::device_bytes(file).ok()?;
    // SAFETY: for block devices, which the line above has seen to, BLKGETDISKSEQ writes one u64 to its argument, which
    // `Getter` owns.
    unsafe { ioctl(file, Getter::<BLKGETDISKSEQ, u64>::new()) }.ok()
}

/// Keeps a regular file open when its descriptor is closed: a mapping without access does, and takes no memory.
///
/// # Errors
/// What `mmap(2)` says (ENOMEM: too many mappings; ENODEV: the file system maps none).
pub fn keep(file: &File) -> io::Result<Kept> {
    let bytes = rustix::param::page_size();
    // SAFETY: the kernel chooses the place, so no memory in use is replaced; nothing is ever reached through it.
    let address = unsafe {
        mmap(
            ptr::null_mut(),
            bytes,
            ProtFlags::empty(),
            MapFlags::PRIVATE,
            file,
            0,
        )
    }?;
    let address = NonNull::new(address.cast()).expect("mmap gives no null without MAP_FIXED");
    Ok(Kept { address, bytes })
}

impl Drop for Kept {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `keep` with this length, and is given back once.
        let given_back = unsafe { munmap(self.address.as_ptr().cast(), self.bytes) };
        debug_assert!(given_back.is_ok());
    }
}

fn mask() -> StatxFlags {
    StatxFlags::BASIC_STATS | StatxFlags::BTIME
}

fn facts_of(found: Statx) -> io::Result<Facts> {
    let kind = match FileType::from_raw_mode(u32::from(found.stx_mode)) {
        FileType::RegularFile => Kind::File,
        FileType::BlockDevice => Kind::BlockDevice,
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        _ => Kind::Other,
    };
    let ns = |at: StatxTimestamp| i128::from(at.tv_sec) * 1_000_000_000 + i128::from(at.tv_nsec);
    let has_birth = found.stx_mask & StatxFlags::BTIME.bits() != 0;
    Ok(Facts {
        kind,
        device: rustix::fs::makedev(found.stx_dev_major, found.stx_dev_minor),
        inode: found.stx_ino,
        birth_ns: has_birth.then(|| ns(found.stx_btime)),
        modified_ns: ns(found.stx_mtime),
        bytes: found.stx_size,
        number: rustix::fs::makedev(found.stx_rdev_major, found.stx_rdev_minor),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::lock_exclusive;

    fn both() -> OpenFlags {
        OpenFlags {
            read: true,
            write: true,
            ..OpenFlags::default()
        }
    }

    #[test]
    fn a_lock_is_kept_without_a_descriptor() {
        let path = tempfile::tempdir().unwrap();
        let folder = Folder::open(path.path()).unwrap();
        let file = folder.make_at(c"data", &both()).unwrap();
        assert!(lock_exclusive(&file).unwrap());
        let kept = keep(&file).unwrap();
        drop(file);
        let other = folder.open_at(c"data", &both()).unwrap();
        assert!(!lock_exclusive(&other).unwrap());
        drop(kept);
        assert!(lock_exclusive(&other).unwrap());
    }

    #[test]
    fn a_name_is_never_followed_or_replaced() {
        let path = tempfile::tempdir().unwrap();
        let folder = Folder::open(path.path()).unwrap();
        std::fs::write(path.path().join("theirs"), "kept").unwrap();
        std::os::unix::fs::symlink("theirs", path.path().join("link")).unwrap();
        std::os::unix::fs::symlink("nowhere", path.path().join("dangling")).unwrap();
        assert_eq!(folder.look(c"link").unwrap().kind, Kind::Link);
        assert_eq!(
            folder.open_at(c"link", &both()).unwrap_err().raw_os_error(),
            Some(40)
        );
        for taken in [c"theirs", c"link", c"dangling"] {
            assert_eq!(
                folder.make_at(taken, &both()).unwrap_err().kind(),
                io::ErrorKind::AlreadyExists
            );
        }
        let private = folder.make_folder_at(c"private").unwrap();
        folder.make_at(c"ours", &both()).unwrap();
        assert!(folder.move_to(c"ours", &folder, c"theirs").is_err());
        folder.move_to(c"ours", &private, c"0").unwrap();
        assert!(folder.remove_folder_at(c"private").is_err());
        private.remove_at(c"0").unwrap();
        folder.remove_folder_at(c"private").unwrap();
        assert_eq!(std::fs::read(path.path().join("theirs")).unwrap(), b"kept");
        assert!(!path.path().join("nowhere").exists());
    }

    #[test]
    fn a_file_made_anew_is_another_one() {
        let path = tempfile::tempdir().unwrap();
        let folder = Folder::open(path.path()).unwrap();
        let first = facts(&folder.make_at(c"data", &both()).unwrap()).unwrap();
        assert_eq!(folder.look(c"data").unwrap(), first);
        folder.remove_at(c"data").unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let second = facts(&folder.make_at(c"data", &both()).unwrap()).unwrap();
        assert_eq!(first.kind, Kind::File);
        let identity = |facts: Facts| (facts.device, facts.inode, facts.birth_ns);
        if first.birth_ns.is_some() {
            assert_ne!(identity(first), identity(second));
        }
    }
}
