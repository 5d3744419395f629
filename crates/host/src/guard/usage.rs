//! Who uses a device or file at this moment: mounts, holders, swap, loop devices. None of this can be overridden.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use door::Door;

use super::Finding;
use super::second_opinion::{self, SecondOpinion};
use super::stack::{Maker, Own};
use crate::block::{BlockDevice, DiskIdentity};
use crate::loops::{Backing, LoopView};
use crate::mounts::{FileLock, Mount, Swap, file_locks, mounts, swaps};
use crate::probe::btrfs_members;
use crate::root::{DeviceNumber, SysRoot};

/// The tables of one moment, read once for all targets of a plan.
#[derive(Debug)]
pub(crate) struct Tables<'a> {
    pub root: SysRoot,
    /// Through which what targets are built on is claimed, where more than a look is allowed.
    pub door: Option<&'a Door>,
    mounts: Vec<Mount>,
    swaps: Vec<Swap>,
    loops: Vec<LoopView>,
    btrfs: Vec<Vec<BlockDevice>>,
    disks: OnceCell<Vec<(DeviceNumber, DiskIdentity)>>,
    devices_in_use: OnceCell<DevicesInUse>,
    partition_ids: OnceCell<Vec<String>>,
    files_in_use: OnceCell<Vec<FileInUse>>,
    locks: OnceCell<Vec<FileLock>>,
    /// Names of file systems by their number.
    file_systems: RefCell<BTreeMap<u64, Option<String>>>,
    /// What made the devices that are built on others, by name.
    makers: RefCell<BTreeMap<String, Option<Maker>>>,
    pub opinion: SecondOpinion,
}

/// The devices that mounts and swap stand for.
#[derive(Debug)]
struct DevicesInUse {
    /// Where each is mounted, and all devices that belong to it.
    mounted: Vec<(String, Vec<DeviceNumber>)>,
    swap: Vec<DeviceNumber>,
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

impl<'a> Tables<'a> {
    /// Without a door, what is behind loop devices is not claimed.
    pub(crate) fn read(root: &SysRoot, door: Option<&'a Door>) -> Self {
        Self {
            root: root.clone(),
            door,
            mounts: mounts(root),
            swaps: swaps(root),
            loops: LoopView::all(root),
            btrfs: btrfs_members(root),
            disks: OnceCell::new(),
            devices_in_use: OnceCell::new(),
            partition_ids: OnceCell::new(),
            files_in_use: OnceCell::new(),
            locks: OnceCell::new(),
            file_systems: RefCell::default(),
            makers: RefCell::default(),
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

    /// What a device in use as a loop device shows.
    pub(crate) fn loop_view(&self, number: DeviceNumber) -> Option<&LoopView> {
        self.loops.iter().find(|view| view.number == number)
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

    /// Users of a block device, of its partitions, and of the whole disk that it is a part of. What is `own` is none.
    ///
    /// A ZFS pool, a journal on another device or a mount in a closed name space shows in none of these tables; they
    /// hold an exclusive claim, which makes ours fail.
    pub(crate) fn users_of_device(&self, device: &BlockDevice, own: &Own) -> Vec<Finding> {
        let related = related(device);
        let name_of = |number: DeviceNumber| {
            let device = related.iter().find(|device| device.number == number)?;
            Some(device.name.clone())
        };
        let in_use = self.devices_in_use();
        let mut findings = Vec::new();
        for (at, numbers) in &in_use.mounted {
            if let Some(device) = numbers.iter().copied().find_map(name_of) {
                let at = at.clone();
                findings.push(Finding::Mounted { device, at });
            }
        }
        findings.dedup();
        for one in &related {
            findings.extend(self.other_holders(one, own));
        }
        let swaps = in_use.swap.iter().copied().filter_map(name_of);
        findings.extend(swaps.map(|device| Finding::Swap { device }));
        for view in self.loops.iter().filter(|view| !own.contains(&view.name)) {
            if let Backing::Device(number) = view.backing
                && let Some(device) = name_of(number)
            {
                let by = view.name.clone();
                findings.push(Finding::BacksLoop { device, by });
            }
        }
        findings
    }

    /// What is built on `device`, apart from what is `own`, and from what shares the device with it and never overlaps.
    fn other_holders(&self, device: &BlockDevice, own: &Own) -> Vec<Finding> {
        let (mine, others): (Vec<String>, Vec<String>) = device
            .holders()
            .into_iter()
            .partition(|holder| own.contains(holder));
        let is_beside = |other: &String| {
            let other = self.maker(other);
            !mine.is_empty()
                && mine
                    .iter()
                    .all(|one| Maker::are_beside(&self.maker(one), &other, device))
        };
        others
            .into_iter()
            .filter(|other| !is_beside(other))
            .map(|other| Finding::Held {
                device: device.name.clone(),
                by: BlockDevice::by_name(&self.root, &other)
                    .map_or(other, |holder| holder.shown_name()),
            })
            .collect()
    }

    fn maker(&self, name: &str) -> Option<Maker> {
        if let Some(known) = self.makers.borrow().get(name) {
            return known.clone();
        }
        let device = BlockDevice::by_name(&self.root, name);
        let maker = device.as_ref().and_then(Maker::of);
        let mut makers = self.makers.borrow_mut();
        makers.insert(name.to_owned(), maker.clone());
        maker
    }

    /// Users of the regular file with this device and inode, or at this path where these are not known.
    pub(crate) fn users_of_file(
        &self,
        real_path: &Path,
        identity: Option<(u64, u64)>,
        own: &Own,
    ) -> Vec<Finding> {
        let is_own = |used: &FileInUse| {
            let name = used.loop_device.as_ref();
            name.is_some_and(|name| own.contains(name))
        };
        let is_same = |used: &&FileInUse| match (used.identity, identity) {
            (Some(known), Some(identity)) => known == identity,
            _ => used.path == real_path,
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
            .filter(|used| !is_own(used))
            .filter(is_same)
            .map(finding)
            .collect();
        findings.dedup();
        findings
    }

    /// The other process that holds the lock of this file, by which an execution claims what it writes.
    pub(crate) fn locked_by(&self, identity: (u64, u64)) -> Option<Option<u32>> {
        let locks = self.locks.get_or_init(|| file_locks(&self.root));
        let holds = |lock: &&FileLock| {
            (lock.device.to_raw(), lock.inode) == identity
                && lock.process != Some(std::process::id())
        };
        locks.iter().find(holds).map(|lock| lock.process)
    }

    /// Looked at once: each file of a plan is compared with them.
    fn files_in_use(&self) -> &[FileInUse] {
        let swap = |swap: &Swap| FileInUse {
            path: swap.path.clone(),
            identity: std::fs::metadata(self.root.locate(&swap.path))
                .ok()
                .map(|facts| (facts.dev(), facts.ino())),
            loop_device: None,
        };
        let behind_loop = |view: &LoopView| {
            let identity = match view.backing {
                Backing::Device(_) => return None,
                Backing::File(identity) => Some(identity),
                Backing::Unknown => None,
            };
            Some(FileInUse {
                path: view.path.clone(),
                identity,
                loop_device: Some(view.name.clone()),
            })
        };
        self.files_in_use.get_or_init(|| {
            let swaps = self.swaps.iter().filter(|swap| swap.is_file).map(swap);
            let loops = self.loops.iter().filter_map(behind_loop);
            swaps.chain(loops).collect()
        })
    }

    /// Looked up once: each device of a plan is compared with them.
    fn devices_in_use(&self) -> &DevicesInUse {
        self.devices_in_use.get_or_init(|| DevicesInUse {
            mounted: self.mounted(),
            swap: self
                .swaps
                .iter()
                .filter(|swap| !swap.is_file)
                .filter_map(|swap| BlockDevice::by_node(&self.root, &swap.path))
                .map(|device| device.number)
                .collect(),
        })
    }

    fn mounted(&self) -> Vec<(String, Vec<DeviceNumber>)> {
        let mut mounted = Vec::new();
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
            mounted.push((mount.point.display().to_string(), numbers));
        }
        // A btrfs that is mounted elsewhere still shows its members.
        for (group, _) in self.btrfs.iter().zip(is_seen).filter(|(_, seen)| !seen) {
            let numbers = group.iter().map(|one| one.number).collect();
            mounted.push(("a place out of sight".to_owned(), numbers));
        }
        mounted
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
