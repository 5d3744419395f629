//! Looks at what is no object of an execution, or not yet: for what a path is and holds. Nothing is claimed, and nothing
//! changes.
use std::fs::File;
use std::io;
use std::path::Path;
use sys::file::OpenFlags;

/// Opens for reading, and waits for nobody at the other end of a pipe.
///
/// # Errors
/// What `open(2)` says.
pub fn look(path: &Path) -> io::Result<File> {
    sys::file::open(path, &reading())
}

fn reading() -> OpenFlags {
    OpenFlags {
        read: true,
        raw: crate::approach::NONBLOCK,
        ..OpenFlags::default()
    }
}
