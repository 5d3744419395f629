//! The length and the space of a file that was opened by its grant.
use plan::Reservation;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;

pub use sys::file::{discard, reserve, set_length};

/// The unit of st_blocks on Linux.
const SECTOR_BYTES: u64 = 512;

/// Gives a regular file that is shorter than `bytes` what a reservation says.
///
/// # Errors
/// What `fallocate(2)` and `ftruncate(2)` say. Where a file system reserves nothing, or has no room for it, nothing is
/// done: files grow as they are written.
pub fn provide(file: &File, reservation: Reservation, bytes: u64) -> io::Result<()> {
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() >= bytes {
        return Ok(());
    }
    // Some file systems keep what they had reserved when the space ran out, and a reservation takes holes along that stay
    // holes. Whether there is room for what is written shows when it is written.
    let missing = bytes.saturating_sub(metadata.blocks() * SECTOR_BYTES);
    let has_room = sys::file::free_bytes(file).is_ok_and(|free| missing <= free);
    let reserved = match reservation {
        Reservation::Length => sys::file::extend(file, bytes),
        _ if !has_room => Ok(()),
        Reservation::Space => reserve(file, 0, bytes, false),
        Reservation::SpaceBehindEnd => reserve(file, 0, bytes, true),
    };
    match reserved {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::Unsupported | io::ErrorKind::StorageFull
            ) =>
        {
            Ok(())
        }
        other => other,
    }
}
