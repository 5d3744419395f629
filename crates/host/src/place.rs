//! Where the data of a path live: which file it is under all its names, which devices hold it, and how much of it was
//! ever written. For questions about two paths at once: do they meet?

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::block::BlockDevice;
use crate::root::{DeviceNumber, existing_directory};
use crate::storage::Storage;

/// Devices are built on devices no deeper than this.
pub(crate) const DEPTH_MAX: u32 = 16;

/// Where the data of a path live.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoragePlace {
    /// The same for all paths that lead to one file or device: for a file the numbers of its file system and of its
    /// inode, for a device its own number and zero. Nothing where nothing exists.
    pub identity: Option<(u64, u64)>,
    /// Numbers (`dev_t`) of the devices that hold it: itself, its disk, what those are made of; for a file those of
    /// its file system, and the number of the file system itself.
    pub devices: Rc<[u64]>,
    /// Length of a file or size of a device.
    pub bytes: u64,
    /// How many bytes of a file were ever written; nothing for devices and where the file system does not tell.
    pub written_bytes: Option<u64>,
}

/// Looks at a path. A missing file lives where the directory does that would hold it.
#[must_use]
pub fn storage_place(storage: &Storage, path: &Path) -> StoragePlace {
    let of_missing = |devices: Rc<[u64]>| StoragePlace {
        devices,
        ..StoragePlace::default()
    };
    let devices = |holder: Option<PathBuf>| {
        holder.map_or_else(Rc::default, |holder| storage.devices_of(holder))
    };
    if let Some(folder) = storage.missing.folder_without(path) {
        let all = folder
            .devices
            .get_or_init(|| devices(folder.existing.clone()));
        return of_missing(Rc::clone(all));
    }
    let Ok(metadata) = fs::metadata(path) else {
        return of_missing(devices(storage.missing.existing_directory(path)));
    };
    if metadata.file_type().is_block_device() {
        let number = DeviceNumber::from_raw(metadata.rdev());
        let known = storage.device(number);
        let device = known.as_ref().map(|known| &known.device);
        let mut devices = BTreeSet::from([metadata.rdev()]);
        if let Some(device) = device {
            add(storage, device, &mut devices, 0);
        }
        return StoragePlace {
            identity: Some((metadata.rdev(), 0)),
            devices: devices.into_iter().collect(),
            bytes: device.and_then(|device| device.bytes()).unwrap_or(0),
            written_bytes: None,
        };
    }
    StoragePlace {
        identity: Some((metadata.dev(), metadata.ino())),
        devices: below(storage, path),
        bytes: metadata.len(),
        written_bytes: written_bytes(path, &metadata),
    }
}

/// Numbers of the devices that hold a folder, or the one that it would be made in.
#[must_use]
pub fn devices_of_folder(storage: &Storage, folder: &Path) -> Rc<[u64]> {
    if folder.is_dir() {
        return below(storage, folder);
    }
    existing_directory(folder).map_or_else(Rc::default, |holder| below(storage, &holder))
}

fn below(storage: &Storage, path: &Path) -> Rc<[u64]> {
    Rc::clone(&storage.below(path).numbers)
}

/// Numbers of the devices that hold a file system, and of all that they are built on.
pub(crate) fn numbers_of(
    storage: &Storage,
    file_system: DeviceNumber,
    devices: &[BlockDevice],
) -> Rc<[u64]> {
    // File systems without a block device, such as NFS, are told apart by a number of their own.
    let mut numbers = BTreeSet::from([file_system.to_raw()]);
    for device in devices {
        add(storage, device, &mut numbers, 0);
    }
    numbers.into_iter().collect()
}

fn add_file_system(storage: &Storage, path: &Path, devices: &mut BTreeSet<u64>, depth: u32) {
    let Some(file_system) = storage.file_system(path) else {
        return;
    };
    devices.insert(file_system.0.to_raw());
    for device in storage.devices_below(&file_system) {
        add(storage, &device, devices, depth);
    }
}

fn add(storage: &Storage, device: &BlockDevice, devices: &mut BTreeSet<u64>, depth: u32) {
    let disk = device.disk();
    devices.insert(device.number.to_raw());
    devices.insert(disk.number.to_raw());
    if depth >= DEPTH_MAX {
        return;
    }
    for name in disk.slaves() {
        if let Some(part) = BlockDevice::by_name(storage.root(), &name) {
            add(storage, &part, devices, depth + 1);
        }
    }
    if let Some(file) = disk.loop_backing_file() {
        add_file_system(storage, &file, devices, depth + 1);
    }
}

/// From the map of extents, which counts before compression; memory has no such map and no compression.
fn written_bytes(path: &Path, metadata: &fs::Metadata) -> Option<u64> {
    if !metadata.is_file() {
        return None;
    }
    if let Ok(file) = door::look(path)
        && let Ok(extents) = sys::file::extents(&file)
    {
        let written = extents.mapped_bytes.saturating_sub(extents.unwritten_bytes);
        return Some(written.min(metadata.len()));
    }
    let is_memory = sys::file::is_ram_backed(path).unwrap_or(false);
    // POSIX leaves the unit of st_blocks open; on Linux it is 512 bytes.
    is_memory.then(|| (metadata.blocks() * 512).min(metadata.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::SysRoot;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_lead_to_one_file_and_holes_are_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, vec![1; 1 << 20]).unwrap();
        symlink(&file, &link).unwrap();
        fs::File::options()
            .write(true)
            .open(&file)
            .unwrap()
            .set_len(4 << 20)
            .unwrap();
        let storage = Storage::real();
        let (one, other) = (
            storage_place(&storage, &file),
            storage_place(&storage, &link),
        );
        assert_eq!(one, other);
        assert!(one.identity.is_some());
        assert_eq!(one.bytes, 4 << 20);
        assert!(
            one.written_bytes.is_none_or(|written| written == 1 << 20),
            "{one:?}"
        );
        let missing = storage_place(&storage, &folder.path().join("missing"));
        assert_eq!(missing.identity, None);
        assert_eq!(missing.devices, one.devices);
        assert_eq!(
            devices_of_folder(&storage, &folder.path().join("a/b")),
            one.devices
        );
    }

    #[test]
    fn a_partition_meets_its_disk_and_what_is_built_on_it() {
        let folder = tempfile::tempdir().unwrap();
        let sys = folder.path().join("sys");
        let disk = sys.join("devices/sda");
        let mapped = sys.join("devices/dm-0");
        for (directory, number) in [
            (&disk, "8:0"),
            (&disk.join("sda1"), "8:1"),
            (&mapped, "253:0"),
        ] {
            fs::create_dir_all(directory).unwrap();
            fs::write(directory.join("dev"), number).unwrap();
        }
        fs::write(disk.join("sda1/partition"), "1").unwrap();
        fs::create_dir_all(mapped.join("slaves/sda1")).unwrap();
        for place in ["class/block", "dev/block"] {
            fs::create_dir_all(sys.join(place)).unwrap();
        }
        symlink(disk.join("sda1"), sys.join("class/block/sda1")).unwrap();
        let root = SysRoot::under(folder.path());
        let device = BlockDevice::by_name(&root, "sda1").unwrap();
        symlink(&mapped, sys.join("class/block/dm-0")).unwrap();
        let upper = BlockDevice::by_name(&root, "dm-0").unwrap();
        let (mut of_part, mut of_upper) = (BTreeSet::new(), BTreeSet::new());
        let storage = Storage::new(&root);
        add(&storage, &device, &mut of_part, 0);
        add(&storage, &upper, &mut of_upper, 0);
        let raw = |text| DeviceNumber::parse(text).unwrap().to_raw();
        assert_eq!(of_part, BTreeSet::from([raw("8:0"), raw("8:1")]));
        assert_eq!(
            of_upper,
            BTreeSet::from([raw("8:0"), raw("8:1"), raw("253:0")])
        );
    }
}
