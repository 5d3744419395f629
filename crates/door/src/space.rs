//! The length and the space of a file that was opened by its grant.
use plan::Reservation;
use std::fs::File;
use std::io;

pub use sys::file::{discard, reserve, set_length};

/// Gives a regular file that is shorter than `bytes` what a reservation says.
///
/// # Errors
/// What `fallocate(2)` and `ftruncate(2)` say. Where a file system reserves nothing, nothing is done: files grow as they
/// are written.
pub fn provide(file: &File, reservation: Reservation, bytes: u64) -> io::Result<()> {
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() >= bytes {
        return Ok(());
    }
    let reserved = match reservation {
        Reservation::Space => reserve(file, 0, bytes, false),
        Reservation::SpaceBehindEnd => reserve(file, 0, bytes, true),
        Reservation::Length => sys::file::extend(file, bytes),
    };
    match reserved {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        other => other,
    }
}
