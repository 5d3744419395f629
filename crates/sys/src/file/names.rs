//! Calls on a file by its name. None of them changes what a file holds.

use std::ffi::CStr;
use std::fs::File;
use std::io;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxFlags};

/// Which call asks what the file system knows of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// `stat(2)`: of what a link points to.
    Followed,
    /// `lstat(2)`: of the link itself.
    Link,
    /// `statx(2)` with all that it tells, of what a link points to.
    Whole,
}

/// Opens for reading and writing, and makes the file (mode 0644 less umask) where it is missing; what is there stays as
/// it is.
///
/// # Errors
/// What `open(2)` says.
pub fn make(path: &CStr) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::from_raw_mode(0o644))?;
    Ok(File::from(file))
}

/// Asks for what the file system knows, and leaves the answer.
///
/// # Errors
/// What the call says (ENOENT: nothing has this name).
pub fn look(path: &CStr, how: Look) -> io::Result<()> {
    match how {
        Look::Followed => rustix::fs::stat(path).map(drop)?,
        Look::Link => rustix::fs::lstat(path).map(drop)?,
        Look::Whole => {
            rustix::fs::statx(CWD, path, AtFlags::empty(), StatxFlags::ALL).map(drop)?;
        }
    }
    Ok(())
}

/// Takes a name of a file away; never a folder.
///
/// # Errors
/// What `unlink(2)` says (ENOENT: nothing has this name).
pub fn remove(path: &CStr) -> io::Result<()> {
    Ok(rustix::fs::unlink(path)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn what_is_there_is_kept_when_it_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        let name = CString::new(path.as_os_str().as_bytes()).unwrap();
        for how in [Look::Followed, Look::Link, Look::Whole] {
            assert_eq!(look(&name, how).unwrap_err().raw_os_error(), Some(2));
        }
        make(&name).unwrap();
        std::fs::write(&path, "kept").unwrap();
        make(&name).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"kept");
        for how in [Look::Followed, Look::Link, Look::Whole] {
            look(&name, how).unwrap();
        }
        remove(&name).unwrap();
        assert!(!path.exists());
        assert_eq!(remove(&name).unwrap_err().raw_os_error(), Some(2));
    }
}
