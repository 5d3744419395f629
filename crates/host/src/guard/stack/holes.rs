//! Where data lie on a loop device. The device knows no holes, and each read of one fills the page cache below it with
//! zeros; the file behind it knows them.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use super::super::content::{Content, DataMap};

/// All flags of `sync_file_range(2)`: wait for what is being written, write the rest, wait for that.
const WRITE_AND_WAIT: u8 = 7;

/// The regular file behind a whole loop device.
#[derive(Clone, Debug)]
pub(crate) struct FileBehind {
    pub path: PathBuf,
    /// Device and inode.
    pub identity: (u64, u64),
}

impl FileBehind {
    /// Where data lie on the open loop device, of so many bytes. Nothing where that is not certain: then everything is
    /// read.
    pub(crate) fn data_map(&self, device: &File, bytes: u64) -> Option<DataMap> {
        let file = door::look(&self.path).ok()?;
        let facts = file.metadata().ok()?;
        // What others wrote to the device and the kernel has not yet handed on is no data of the file.
        sys::file::sync_range(device, WRITE_AND_WAIT).ok()?;
        // Asked of the driver through the device that is held, as the device may show something else by now.
        let status = sys::loopdev::status(device).ok()?;
        let is_same = facts.is_file()
            && status.file == self.identity
            && (facts.dev(), facts.ino()) == self.identity;
        let end = status.offset.checked_add(bytes)?;
        let is_certain = is_same && status.shows_as_it_is && end <= facts.len();
        is_certain.then(|| Content::unread(&file, status.offset, bytes).data_map())
    }
}
