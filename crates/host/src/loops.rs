//! What loop devices stand for: which file or block device, and which part of it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::block::BlockDevice;
use crate::root::{DeviceNumber, SysRoot};

/// How the kernel marks the path of a file that was removed.
const REMOVED: &str = " (deleted)";

/// One loop device in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoopView {
    pub name: String,
    pub number: DeviceNumber,
    /// Of what is behind it, as the kernel names it now; nothing may stand there any more.
    pub path: PathBuf,
    pub backing: Backing,
    /// Where it begins in what is behind it, bytes.
    pub offset: u64,
    /// How much of that it shows, bytes.
    pub bytes: u64,
    /// Whether it was told to show no more than so much.
    pub is_limited: bool,
    /// Whether the name by which it was attached is gone, as the kernel says.
    pub is_removed: bool,
}

/// What is behind a loop device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backing {
    Device(DeviceNumber),
    /// Device and inode.
    File((u64, u64)),
    /// Nothing stands at its path, and the driver was not to be asked.
    Unknown,
}

impl LoopView {
    /// All loop devices in use.
    pub(crate) fn all(root: &SysRoot) -> Vec<Self> {
        BlockDevice::all(root)
            .into_iter()
            .filter(|device| device.name.starts_with("loop"))
            .filter_map(|device| Self::of(root, &device))
            .collect()
    }

    /// Nothing for another device, or a loop device without a file.
    pub(crate) fn of(root: &SysRoot, device: &BlockDevice) -> Option<Self> {
        let told = device.loop_backing_file()?;
        let text = told.to_string_lossy();
        let path = PathBuf::from(text.strip_suffix(REMOVED).unwrap_or(&text));
        let number_in = |name: &str| device.attribute(name).and_then(|text| text.parse().ok());
        let status = status(root, device);
        let backing = match &status {
            Some(status) => match status.block_device {
                Some(number) => Backing::Device(DeviceNumber::from_raw(number)),
                None => Backing::File(status.file),
            },
            None => standing_at(root, &path),
        };
        Some(Self {
            name: device.name.clone(),
            number: device.number,
            path,
            backing,
            offset: number_in("loop/offset").unwrap_or(0),
            is_removed: text.ends_with(REMOVED),
            is_limited: number_in("loop/sizelimit").is_some_and(|limit: u64| limit > 0),
            bytes: device.bytes().unwrap_or(0),
        })
    }

    /// Whether it shows all of the `bytes` behind it.
    pub(crate) fn shows_all_of(&self, bytes: u64) -> bool {
        self.offset == 0 && self.bytes >= bytes
    }

    /// The byte behind the last that it shows.
    pub(crate) fn end(&self) -> u64 {
        self.offset.saturating_add(self.bytes)
    }
}

/// What the driver says, where the device may be opened: the path says nothing once the file has another name, or where
/// the loop device was made in another name space.
fn status(root: &SysRoot, device: &BlockDevice) -> Option<sys::loopdev::LoopStatus> {
    let node = root.dev.join(&device.name);
    if DeviceNumber::of_node(&node) != Some(device.number) {
        return None;
    }
    sys::loopdev::status(&door::look(&node).ok()?).ok()
}

fn standing_at(root: &SysRoot, path: &Path) -> Backing {
    if let Some(device) = BlockDevice::by_node(root, path) {
        return Backing::Device(device.number);
    }
    match fs::metadata(root.locate(path)) {
        Ok(facts) if facts.is_file() => Backing::File((facts.dev(), facts.ino())),
        _ => Backing::Unknown,
    }
}
