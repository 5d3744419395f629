//! Looks at a file by its name.

use std::ffi::CStr;
use std::io;

use rustix::fs::{AtFlags, CWD, StatxFlags};

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

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn a_name_is_looked_at_in_each_way() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        let name = CString::new(path.as_os_str().as_bytes()).unwrap();
        for how in [Look::Followed, Look::Link, Look::Whole] {
            assert_eq!(look(&name, how).unwrap_err().raw_os_error(), Some(2));
        }
        std::os::unix::fs::symlink("nowhere", &path).unwrap();
        look(&name, Look::Link).unwrap();
        assert!(look(&name, Look::Followed).is_err());
        std::fs::write(folder.path().join("nowhere"), "").unwrap();
        for how in [Look::Followed, Look::Link, Look::Whole] {
            look(&name, how).unwrap();
        }
    }
}
