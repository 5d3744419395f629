//! Who uses a device or file at this moment: mounts, holders, swap, loop devices. None of this can be overridden.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::Finding;
use super::second_opinion::{self, SecondOpinion};
use crate::block::{BlockDevice, DiskIdentity};
use crate::mounts::{Mount, Swap, mounts, swaps};
use crate::probe::btrfs_members;
use crate::root::{DeviceNumber, SysRoot};

/// The tables of one moment, read once for all targets of a plan.
#[derive(Debug)]
pub(crate) struct Tables {
    pub root: SysRoot,
    mounts: Vec<Mount>,
    swaps: Vec<Swap>,
    /// Every loop device in use with the path behind it.
    loops: Vec<(String, PathBuf)>,
    btrfs: Vec<Vec<BlockDevice>>,
    disks: OnceCell<Vec<(DeviceNumber, DiskIdentity)>>,
    partition_ids: OnceCell<Vec<String>>,
    files_in_use: OnceCell<Vec<FileInUse>>,
    /// Names of file systems by their number.
    file_systems: RefCell<BTreeMap<u64, Option<String>>>,
    pub opinion: SecondOpinion,
}

/// A file that serves as something else.
#[derive(Debug)]
struct FileInUse {
    path: PathBuf,
    /// Device and inode, where it can be looked at.
    identity: Option<(u64, u64)>,
    /// The loop device in front of it; swap has none.
    loop_device: Option<String>,
}

impl Tables {
    pub(crate) fn read(root: &SysRoot) -> Self {
        Self {
            root: root.clone(),
            mounts: mounts(root),
            swaps: swaps(root),
            loops: loop_files(root),
            btrfs: btrfs_members(root),
            disks: OnceCell::new(),
            partition_ids: OnceCell::new(),
            files_in_use: OnceCell::new(),
            file_systems: RefCell::default(),
            opinion: SecondOpinion::new(second_opinion::ask),
        }
    }

    /// The name of the file system of an existing path.
    pub(crate) fn file_system(&self, path: &Path, number: u64) -> Option<String> {
        let mut known = self.file_systems.borrow_mut();
        let name = || Some(sys::file::file_system(path).ok()?.name);
        known.entry(number).or_insert_with(name).clone()
    }

    /// All disks with what names them.
    pub(crate) fn disks(&self) -> &[(DeviceNumber, DiskIdentity)] {
        self.disks.get_or_init(|| {
            BlockDevice::all(&self.root)
                .into_iter()
                .map(|disk| (disk.number, disk.identity(&self.root)))
                .collect()
        })
    }

    /// The id of a partition, where no other has it: a copy of a disk has the ids of the disk.
    pub(crate) fn unique_partition_id(&self, partition: &BlockDevice) -> Option<String> {
        let id = partition.partition_id(&self.root)?;
        let all = self.partition_ids.get_or_init(|| {
            let disks = BlockDevice::all(&self.root).into_iter();
            let partitions = disks.flat_map(|disk| disk.partitions());
            partitions
                .filter_map(|one| one.partition_id(&self.root))
                .collect()
        });
        (all.iter().filter(|known| **known == id).count() == 1).then_some(id)
    }

    /// Users of a block device, of its partitions, and of the whole disk that it is a part of.
    ///
    /// A ZFS pool, a journal on another device or a mount in a closed name space shows in none of these tables; they
    /// hold an exclusive claim, which makes ours fail ([`super::claim`]).
    pub(crate) fn users_of_device(&self, device: &BlockDevice) -> Vec<Finding> {
        let root = &self.root;
        let related = related(device);
        let mut findings = self.mounted(&related);
        for one in &related {
            for holder in one.holders() {
                let by = BlockDevice::by_name(root, &holder)
                    .map_or(holder, |device| device.shown_name());
                let device = one.name.clone();
                findings.push(Finding::Held { device, by });
            }
        }
        for swap in self.swaps.iter().filter(|swap| !swap.is_file) {
            if let Some(device) = member(root, &related, &swap.path) {
                findings.push(Finding::Swap { device });
            }
        }
        for (by, file) in &self.loops {
            if let Some(device) = member(root, &related, file) {
                let by = by.clone();
                findings.push(Finding::BacksLoop { device, by });
            }
        }
        if device.is_read_only() {
            findings.push(Finding::ReadOnly);
        }
        findings
    }

    /// Users of the regular file with this device and inode.
    pub(crate) fn users_of_file(&self, real_path: &Path, identity: (u64, u64)) -> Vec<Finding> {
        let is_same = |used: &&FileInUse| match used.identity {
            Some(known) => known == identity,
            None => used.path == real_path,
        };
        let device = || real_path.display().to_string();
        let finding = |used: &FileInUse| match &used.loop_device {
            None => Finding::Swap { device: device() },
            Some(by) => Finding::BacksLoop {
                device: device(),
                by: by.clone(),
            },
        };
        let mut findings: Vec<Finding> = self
            .files_in_use()
            .iter()
            .filter(is_same)
            .map(finding)
            .collect();
        findings.dedup();
        findings
    }

    /// Looked at once: each file of a plan is compared with them.
    fn files_in_use(&self) -> &[FileInUse] {
        let in_use = |path: &Path, loop_device: Option<&String>| FileInUse {
            path: path.to_path_buf(),
            identity: std::fs::metadata(self.root.locate(path))
                .ok()
                .map(|facts| (facts.dev(), facts.ino())),
            loop_device: loop_device.cloned(),
        };
        self.files_in_use.get_or_init(|| {
            let swaps = self.swaps.iter().filter(|swap| swap.is_file);
            let swaps = swaps.map(|swap| in_use(&swap.path, None));
            let loops = self.loops.iter();
            let loops = loops.map(|(by, file)| in_use(file, Some(by)));
            swaps.chain(loops).collect()
        })
    }

    fn mounted(&self, related: &[BlockDevice]) -> Vec<Finding> {
        let named = |number: DeviceNumber| related.iter().find(|device| device.number == number);
        let mut findings = Vec::new();
        let mut is_seen = vec![false; self.btrfs.len()];
        for mount in &self.mounts {
            let mut numbers = vec![mount.number];
            // The number is that of no block device where a file system spans several, or hides them.
            if mount.source.starts_with("/dev/")
                && let Some(source) = BlockDevice::by_node(&self.root, Path::new(&mount.source))
            {
                numbers.push(source.number);
                for (group, seen) in self.btrfs.iter().zip(&mut is_seen) {
                    if group.iter().any(|one| one.number == source.number) {
                        numbers.extend(group.iter().map(|one| one.number));
                        *seen = true;
                    }
                }
            }
            if let Some(device) = numbers.into_iter().find_map(named) {
                let (device, at) = (device.name.clone(), mount.point.display().to_string());
                findings.push(Finding::Mounted { device, at });
            }
        }
        // A btrfs that is mounted elsewhere still shows its members.
        for (group, _) in self.btrfs.iter().zip(is_seen).filter(|(_, seen)| !seen) {
            if let Some(device) = group.iter().find_map(|one| named(one.number)) {
                let (device, at) = (device.name.clone(), "a place out of sight".to_owned());
                findings.push(Finding::Mounted { device, at });
            }
        }
        findings.dedup();
        findings
    }
}

/// The device, then its partitions, or the disk that it is a part of. Other partitions of that disk are no concern.
fn related(device: &BlockDevice) -> Vec<BlockDevice> {
    let mut all = vec![device.clone()];
    all.extend(device.partitions());
    if device.is_partition() {
        all.push(device.disk());
    }
    all
}

/// The name of the related device that a path in a table stands for.
fn member(root: &SysRoot, related: &[BlockDevice], path: &Path) -> Option<String> {
    let number = BlockDevice::by_node(root, path)?.number;
    let device = related.iter().find(|device| device.number == number)?;
    Some(device.name.clone())
}

/// The kernel marks the path of a file that was removed.
fn loop_files(root: &SysRoot) -> Vec<(String, PathBuf)> {
    BlockDevice::all(root)
        .into_iter()
        .filter(|device| device.name.starts_with("loop"))
        .filter_map(|device| {
            let file = device.loop_backing_file()?;
            let text = file.to_string_lossy();
            let plain = text.strip_suffix(" (deleted)").unwrap_or(&text);
            Some((device.name.clone(), PathBuf::from(plain)))
        })
        .collect()
}
