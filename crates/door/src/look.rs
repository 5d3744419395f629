//! Looks at what is no object of an execution, or not yet: for what a path is and holds. Nothing is claimed for longer
//! than a call, and nothing changes.
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

/// Whether another program holds the device at a path exclusively: another execution, a ZFS pool, a mount in a closed name
/// space. Nothing but an attempt shows that; the claim is given back at once.
#[must_use]
pub fn is_held_by_others(device: &Path) -> bool {
    let claiming = OpenFlags {
        exclusive: true,
        ..reading()
    };
    let is_device = look(device).is_ok_and(|file| sys::file::device_bytes(&file).is_ok());
    let claimed = || sys::file::open(device, &claiming);
    is_device && claimed().is_err_and(|error| error.kind() == io::ErrorKind::ResourceBusy)
}

fn reading() -> OpenFlags {
    OpenFlags {
        read: true,
        raw: crate::approach::NONBLOCK,
        ..OpenFlags::default()
    }
}
