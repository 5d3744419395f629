//! `statx(2)`, and what takes its place where it is not there: old profiles of seccomp answer ENOSYS or EPERM.

use std::ffi::{CStr, OsStr};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, Stat, Statx, StatxFlags};
use rustix::io::Errno;

/// What the kernel knows of a name. Where `statx(2)` is not there, what `fstatat(2)` tells, with only that in the mask.
pub(super) fn statx(
    folder: impl AsFd,
    name: &CStr,
    flags: AtFlags,
    mask: StatxFlags,
) -> io::Result<Statx> {
    match rustix::fs::statx(folder.as_fd(), name, flags, mask) {
        Err(Errno::NOSYS | Errno::PERM) => {
            Ok(of_stat(&rustix::fs::statat(folder.as_fd(), name, flags)?))
        }
        other => Ok(other?),
    }
}

/// A name within a folder, as the kernel takes it.
///
/// # Errors
/// `InvalidInput` where it holds a zero byte.
pub fn name(name: &OsStr) -> io::Result<std::ffi::CString> {
    use std::os::unix::ffi::OsStrExt;
    std::ffi::CString::new(name.as_bytes())
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "a name with a zero byte"))
}

fn of_stat(stat: &Stat) -> Statx {
    // SAFETY: the structure consists of numbers, for which zero bytes are valid.
    let mut told: Statx = unsafe { MaybeUninit::zeroed().assume_init() };
    told.stx_mask = StatxFlags::BASIC_STATS.bits();
    told.stx_mode = stat.st_mode as u16;
    told.stx_ino = stat.st_ino;
    told.stx_size = stat.st_size as u64;
    told.stx_blocks = stat.st_blocks as u64;
    told.stx_blksize = stat.st_blksize as u32;
    told.stx_nlink = stat.st_nlink as u32;
    (told.stx_uid, told.stx_gid) = (stat.st_uid, stat.st_gid);
    told.stx_dev_major = rustix::fs::major(stat.st_dev);
    told.stx_dev_minor = rustix::fs::minor(stat.st_dev);
    told.stx_rdev_major = rustix::fs::major(stat.st_rdev);
    told.stx_rdev_minor = rustix::fs::minor(stat.st_rdev);
    told.stx_mtime.tv_sec = stat.st_mtime;
    told.stx_mtime.tv_nsec = stat.st_mtime_nsec as u32;
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::CWD;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn both_calls_tell_the_same() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [7; 5000]).unwrap();
        for path in [file.path(), std::path::Path::new("/dev/null")] {
            let path = std::ffi::CString::new(path.as_os_str().as_bytes()).unwrap();
            let flags = AtFlags::empty();
            let new = statx(CWD, &path, flags, StatxFlags::BASIC_STATS).unwrap();
            let old = of_stat(&rustix::fs::statat(CWD, &path, flags).unwrap());
            let of = |told: &Statx| {
                let device = (told.stx_dev_major, told.stx_dev_minor);
                let number = (told.stx_rdev_major, told.stx_rdev_minor);
                let modified = (told.stx_mtime.tv_sec, told.stx_mtime.tv_nsec);
                let kind = (told.stx_mode, told.stx_ino, told.stx_size, told.stx_blocks);
                (device, number, modified, kind)
            };
            assert_eq!(of(&new), of(&old));
        }
    }
}
