//! Opening, reading, writing and growing one file or block device; asking about it is in `facts`.
//!
//! O_TRUNC is refused, and sizes only grow: the calls that take away what is there are [`discard`] and [`set_length`].

pub mod at;
mod facts;
pub mod names;
mod stat;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use rustix::fs::{FallocateFlags, FlockOperation, Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};
use rustix::ioctl::{Opcode, Setter, ioctl, opcode};

pub use crate::memory::memory_bytes;
use crate::requests::RequestMode;
pub use facts::{
    Coverage, DirectAlignment, Extents, FileSystem, WholeWrites, coverage, device_bytes,
    direct_io_alignment, extents, file_system, first_hole, free_bytes, is_ram_backed, is_read_only,
    keeps_times, logical_block_bytes, physical_block_bytes, whole_writes,
};

/// `_IO(0x12, 119)`, linux/fs.h.
const BLKDISCARD: Opcode = opcode::none(0x12, 119);

/// How to open. Nothing is implied: at least one of `read` and `write` must be set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenFlags {
    pub read: bool,
    pub write: bool,
    /// Make the file (mode 0644 less umask) when it is not there; what is there stays as it is. Needs `write`.
    pub create: bool,
    /// O_DIRECT: past the page cache.
    pub direct: bool,
    /// O_DSYNC: a write returns when its data are stable.
    pub dsync: bool,
    /// O_SYNC: as `dsync`, with all metadata.
    pub sync: bool,
    /// O_EXCL: on a block device without `create`, claim it against mounts and other claims; with `create`, fail when
    /// the file exists.
    pub exclusive: bool,
    /// Further flags of `open(2)`. O_TRUNC, O_APPEND and the access mode are refused.
    pub raw: i32,
}

/// Opens `path`; the descriptor is closed on exec.
///
/// # Errors
/// `InvalidInput` for flags that contradict each other or that could lose data; what `open(2)` says otherwise (EBUSY:
/// an exclusive claim on a device in use; EINVAL: usually no direct I/O there).
pub fn open(path: &Path, flags: &OpenFlags) -> io::Result<File> {
    let file =
        retry_on_intr(|| rustix::fs::open(path, open_bits(flags)?, Mode::from_raw_mode(0o644)))?;
    Ok(File::from(file))
}

/// Reads once at `offset`, bytes; fewer bytes than asked for are legal at the end of a file.
///
/// # Errors
/// What `pread(2)` says; interrupts are retried.
#[inline]
pub fn pread(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    Ok(retry_on_intr(|| {
        rustix::io::pread(file, &mut *buffer, offset)
    })?)
}

/// Writes once at `offset`, bytes; may write fewer bytes than given.
///
/// # Errors
/// What `pwrite(2)` says; interrupts are retried.
#[inline]
pub fn pwrite(file: &File, buffer: &[u8], offset: u64) -> io::Result<usize> {
    Ok(retry_on_intr(|| rustix::io::pwrite(file, buffer, offset))?)
}

/// As [`pread`], in the way that `mode` asks for.
///
/// # Errors
/// What `preadv2(2)` says; interrupts are retried.
#[inline]
pub fn pread_as(
    file: &File,
    buffer: &mut [u8],
    offset: u64,
    mode: RequestMode,
) -> io::Result<usize> {
    let flags = mode.read_flags() | mode.polling_flag();
    Ok(retry_on_intr(|| {
        rustix::io::preadv2(file, &mut [IoSliceMut::new(buffer)], offset, flags)
    })?)
}

/// As [`pwrite`], in the way that `mode` asks for.
///
/// # Errors
/// What `pwritev2(2)` says; interrupts are retried.
#[inline]
pub fn pwrite_as(file: &File, buffer: &[u8], offset: u64, mode: RequestMode) -> io::Result<usize> {
    let flags = mode.write_flags() | mode.polling_flag();
    Ok(retry_on_intr(|| {
        rustix::io::pwritev2(file, &[IoSlice::new(buffer)], offset, flags)
    })?)
}

/// Makes data and metadata stable.
///
/// # Errors
/// What `fsync(2)` says. After an error the written data may be gone from the cache: a second call proves nothing.
pub fn fsync(file: &File) -> io::Result<()> {
    Ok(retry_on_intr(|| rustix::fs::fsync(file))?)
}

/// Asks the kernel to forget what the page cache holds of a file; what is not yet written back stays.
///
/// # Errors
/// What `posix_fadvise(2)` says.
pub fn drop_cache(file: &File) -> io::Result<()> {
    Ok(rustix::fs::fadvise(
        file,
        0,
        None,
        rustix::fs::Advice::DontNeed,
    )?)
}

/// The same of a part of a file.
///
/// # Errors
/// What `posix_fadvise(2)` says.
pub fn drop_cache_of(file: &File, bytes: std::ops::Range<u64>) -> io::Result<()> {
    // A length of zero would be all that follows.
    let Some(length) = std::num::NonZeroU64::new(bytes.end.saturating_sub(bytes.start)) else {
        return Ok(());
    };
    let advice = rustix::fs::Advice::DontNeed;
    Ok(rustix::fs::fadvise(
        file,
        bytes.start,
        Some(length),
        advice,
    )?)
}

/// In which order, or how often, a file will be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessAdvice {
    Random,
    Sequential,
    Once,
}

/// Tells the page cache how a file will be read.
///
/// # Errors
/// What `posix_fadvise(2)` says.
pub fn advise(file: &File, advice: AccessAdvice) -> io::Result<()> {
    let advice = match advice {
        AccessAdvice::Random => rustix::fs::Advice::Random,
        AccessAdvice::Sequential => rustix::fs::Advice::Sequential,
        AccessAdvice::Once => rustix::fs::Advice::NoReuse,
    };
    Ok(rustix::fs::fadvise(file, 0, None, advice)?)
}

/// Flushes all of the file system that holds `file` (`syncfs(2)`), data of others too.
///
/// # Errors
/// As [`fsync`]; before Linux 5.8 failed writes are not told.
pub fn sync_file_system(file: &File) -> io::Result<()> {
    Ok(retry_on_intr(|| rustix::fs::syncfs(file))?)
}

/// Makes data stable, and the metadata needed to read them.
///
/// # Errors
/// As [`fsync`].
pub fn fdatasync(file: &File) -> io::Result<()> {
    Ok(retry_on_intr(|| rustix::fs::fdatasync(file))?)
}

/// Starts or awaits write-back of a whole file by the flags of `sync_file_range(2)`; makes nothing durable by itself.
///
/// # Errors
/// What `sync_file_range(2)` says; interrupts are retried.
pub fn sync_range(file: &File, flags: u8) -> io::Result<()> {
    loop {
        // SAFETY: the descriptor is open as long as the borrow lasts; the call touches no memory of ours.
        let result = unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, u32::from(flags)) };
        if result == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Gives `length` bytes from `offset` back: on a block device by its discard command, in a file by a hole. Both are
/// multiples of the logical block of a device.
///
/// # Errors
/// EOPNOTSUPP where the device or file system has none; what `ioctl(2)` (BLKDISCARD) and `fallocate(2)` say otherwise.
pub fn discard(file: &File, offset: u64, length: u64) -> io::Result<()> {
    if file.metadata()?.file_type().is_block_device() {
        // SAFETY: for block devices BLKDISCARD reads two u64, begin and length, which `Setter` owns.
        let discard = unsafe { Setter::<BLKDISCARD, [u64; 2]>::new([offset, length]) };
        // SAFETY: as above; it touches no other memory.
        return Ok(unsafe { ioctl(file, discard) }?);
    }
    let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    Ok(retry_on_intr(|| {
        rustix::fs::fallocate(file, hole, offset, length)
    })?)
}

/// Grows a regular file to `len` bytes with a hole; the same length changes nothing.
///
/// # Errors
/// `InvalidInput` when the file is longer already or is no regular file; what `ftruncate(2)` says otherwise.
pub fn extend(file: &File, len: u64) -> io::Result<()> {
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "only a regular file can be extended",
        ));
    }
    if metadata.len() > len {
        let message = format!(
            "extending to {len} bytes would cut the file of {} bytes",
            metadata.len()
        );
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    if metadata.len() < len {
        retry_on_intr(|| rustix::fs::ftruncate(file, len))?;
    }
    Ok(())
}

/// Reserves space for `len` bytes of a regular file from `offset`; what is there stays. The file is made as long as
/// that, unless `keeps_length` says otherwise. Nothing is done for what has its space already.
///
/// # Errors
/// EOPNOTSUPP where the file system reserves none; what `fallocate(2)` says otherwise.
pub fn reserve(file: &File, offset: u64, len: u64, keeps_length: bool) -> io::Result<()> {
    let flags = match keeps_length {
        true => FallocateFlags::KEEP_SIZE,
        false => FallocateFlags::empty(),
    };
    Ok(retry_on_intr(|| {
        rustix::fs::fallocate(file, flags, offset, len)
    })?)
}

/// Makes a regular file `len` bytes long. What lies behind that is lost: for files that the caller has made.
///
/// # Errors
/// What `ftruncate(2)` says.
pub fn set_length(file: &File, len: u64) -> io::Result<()> {
    Ok(retry_on_intr(|| rustix::fs::ftruncate(file, len))?)
}

/// Takes the advisory exclusive lock (flock) of this open file without waiting: true when it is ours now, false when
/// another open file holds it. It ends with the last copy of the descriptor.
///
/// # Errors
/// What `flock(2)` says otherwise.
pub fn lock_exclusive(file: &File) -> io::Result<bool> {
    locked(file, FlockOperation::NonBlockingLockExclusive)
}

/// The same for the shared lock, which others may hold as well, and which nobody can have beside the exclusive one.
///
/// # Errors
/// What `flock(2)` says otherwise.
pub fn lock_shared(file: &File) -> io::Result<bool> {
    locked(file, FlockOperation::NonBlockingLockShared)
}

fn locked(file: &File, operation: FlockOperation) -> io::Result<bool> {
    match retry_on_intr(|| rustix::fs::flock(file, operation)) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// A record lock on a file that another program holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordLock {
    /// Nothing where the kernel does not tell: locks of open file descriptions have no owner, and one in another
    /// namespace has no number here.
    pub process: Option<u32>,
}

/// A record lock (`fcntl`), shared or not, of a process or of an open file description, that somebody else holds on any
/// part of this file: the first that the kernel finds.
///
/// # Errors
/// What `fcntl(2)` says; file systems without such locks have an error of their own.
pub fn record_lock(file: &File) -> io::Result<Option<RecordLock>> {
    // SAFETY: a structure of integers, for which zeros are values: here from the start to any end.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    // What both kinds of others' locks would keep away. It is asked and never taken, so the file may be open to read.
    lock.l_type = libc::F_WRLCK as i16;
    // SAFETY: the descriptor is open as long as the borrow lasts, and the kernel writes into a structure that lives on.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLK, &mut lock) } < 0 {
        return Err(io::Error::last_os_error());
    }
    let is_free = lock.l_type == libc::F_UNLCK as i16;
    let process = u32::try_from(lock.l_pid)
        .ok()
        .filter(|&process| process > 0);
    Ok((!is_free).then_some(RecordLock { process }))
}

fn open_bits(flags: &OpenFlags) -> Result<OFlags, Errno> {
    let raw = OFlags::from_bits_retain(flags.raw as u32);
    // Appending would put writes elsewhere than at their offset.
    if raw.intersects(OFlags::TRUNC | OFlags::APPEND | OFlags::RWMODE)
        || (flags.create && !flags.write)
    {
        return Err(Errno::INVAL);
    }
    let mut bits = raw | OFlags::CLOEXEC;
    bits |= match (flags.read, flags.write) {
        (true, true) => OFlags::RDWR,
        (true, false) => OFlags::RDONLY,
        (false, true) => OFlags::WRONLY,
        (false, false) => return Err(Errno::INVAL),
    };
    bits.set(OFlags::CREATE, flags.create || raw.contains(OFlags::CREATE));
    bits.set(OFlags::DIRECT, flags.direct || raw.contains(OFlags::DIRECT));
    bits.set(OFlags::EXCL, flags.exclusive || raw.contains(OFlags::EXCL));
    if flags.dsync {
        bits |= OFlags::DSYNC;
    }
    if flags.sync {
        bits |= OFlags::SYNC;
    }
    Ok(bits)
}
