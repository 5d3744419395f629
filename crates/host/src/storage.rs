//! Devices and file systems, each looked at once however many paths lead to it: ten thousand files on one disk are one
//! look at the disk.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use measure::TargetIdentity;
use plan::{Alignment, TargetFacts};

use crate::block::BlockDevice;
use crate::loops::LoopView;
use crate::missing::Missing;
use crate::mounts::{Mount, mount_of, own_mounts};
use crate::place::{DEPTH_MAX, numbers_of};
use crate::probe::{alignment_of_device, btrfs_members, describe_device};
use crate::root::{DeviceNumber, SysRoot};

/// The storage of a machine as it was when first asked for. Made for one look at a plan, and not kept: what is mounted
/// or plugged in afterwards does not show.
#[derive(Debug)]
pub struct Storage {
    root: SysRoot,
    mounts: OnceCell<Vec<Mount>>,
    boot: OnceCell<String>,
    devices: RefCell<BTreeMap<DeviceNumber, Option<Rc<KnownDevice>>>>,
    below: RefCell<BTreeMap<FileSystemKey, Rc<Below>>>,
    /// Of folders that exist, for files that do not.
    missing_in: RefCell<BTreeMap<PathBuf, TargetFacts>>,
    devices_of: RefCell<BTreeMap<PathBuf, Rc<[u64]>>>,
    pub(crate) missing: Missing,
}

/// The number of a file system and, where that is no device's, the source of its mount.
pub(crate) type FileSystemKey = (DeviceNumber, String);

/// A block device with what is asked of it for each target on it.
#[derive(Debug)]
pub(crate) struct KnownDevice {
    pub device: BlockDevice,
    pub alignment: Alignment,
}

/// What holds the files of a file system.
#[derive(Debug, Default)]
pub(crate) struct Below {
    /// Of the first device, as far as it concerns no single file.
    pub described: TargetIdentity,
    /// Whether there are devices, and none of them is more than memory.
    pub is_ram_backed: bool,
    /// Numbers of these devices and of all that they are built on.
    pub numbers: Rc<[u64]>,
}

impl Storage {
    /// That of a machine with these trees.
    #[must_use]
    pub fn new(root: &SysRoot) -> Self {
        Self {
            root: root.clone(),
            mounts: OnceCell::new(),
            boot: OnceCell::new(),
            devices: RefCell::default(),
            below: RefCell::default(),
            missing_in: RefCell::default(),
            devices_of: RefCell::default(),
            missing: Missing::default(),
        }
    }

    /// That of the running machine.
    #[must_use]
    pub fn real() -> Self {
        Self::new(&SysRoot::real())
    }

    /// The trees that it is read from.
    #[must_use]
    pub fn root(&self) -> &SysRoot {
        &self.root
    }

    pub(crate) fn device(&self, number: DeviceNumber) -> Option<Rc<KnownDevice>> {
        let mut devices = self.devices.borrow_mut();
        let known = devices.entry(number).or_insert_with(|| {
            let device = BlockDevice::by_number(&self.root, number)?;
            let alignment = alignment_of_device(&device);
            Some(Rc::new(KnownDevice { device, alignment }))
        });
        known.clone()
    }

    /// What this start of the machine is called; empty where nothing tells it.
    pub(crate) fn boot(&self) -> &str {
        self.boot.get_or_init(|| {
            let text = fs::read_to_string(self.root.proc.join("sys/kernel/random/boot_id"));
            text.map_or_else(|_| String::new(), |text| text.trim().to_owned())
        })
    }

    /// The mount that holds an existing path, whose file system has this number where that is known.
    pub(crate) fn mount(&self, path: &Path, number: Option<DeviceNumber>) -> Option<&Mount> {
        let mounts = self.mounts.get_or_init(|| own_mounts(&self.root));
        mount_of(mounts, path, number)
    }

    /// Facts of a file that is missing in a folder that exists: the first one's hold for all.
    pub(crate) fn missing_in(
        &self,
        folder: PathBuf,
        look: impl FnOnce(&Path) -> TargetFacts,
    ) -> TargetFacts {
        if let Some(known) = self.missing_in.borrow().get(&folder) {
            return known.clone();
        }
        let facts = look(&folder);
        let mut all = self.missing_in.borrow_mut();
        all.entry(folder).or_insert(facts).clone()
    }

    /// Numbers of the devices that hold a folder that exists, looked at once.
    pub(crate) fn devices_of(&self, folder: PathBuf) -> Rc<[u64]> {
        if let Some(known) = self.devices_of.borrow().get(&folder) {
            return known.clone();
        }
        let numbers = Rc::clone(&self.below(&folder).numbers);
        let mut all = self.devices_of.borrow_mut();
        all.entry(folder).or_insert(numbers).clone()
    }

    /// What holds the file system of an existing path; empty where there is none.
    pub(crate) fn below(&self, path: &Path) -> Rc<Below> {
        let Some(file_system) = self.file_system(path) else {
            return Rc::default();
        };
        if let Some(known) = self.below.borrow().get(&file_system) {
            return Rc::clone(known);
        }
        let devices = self.devices_below(&file_system);
        let below = Rc::new(self.describe(file_system.0, devices));
        let mut all = self.below.borrow_mut();
        Rc::clone(all.entry(file_system).or_insert(below))
    }

    /// The file system of an existing path.
    pub(crate) fn file_system(&self, path: &Path) -> Option<FileSystemKey> {
        let number = DeviceNumber::from_raw(fs::metadata(path).ok()?.dev());
        if self.device(number).is_some() {
            return Some((number, String::new()));
        }
        let mount = self.mount(path, Some(number));
        let source = mount.map_or(String::new(), |mount| mount.source.clone());
        Some((number, source))
    }

    /// The block devices that hold a file system; none for memory and network.
    pub(crate) fn devices_below(&self, (number, source): &FileSystemKey) -> Vec<BlockDevice> {
        match self.device(*number) {
            Some(known) => vec![known.device.clone()],
            None => self.devices_of_source(source),
        }
    }

    /// The devices of a file system that is mounted from there and has no number of a device.
    fn devices_of_source(&self, source: &str) -> Vec<BlockDevice> {
        if source.is_empty() {
            return Vec::new();
        }
        let Some(device) = BlockDevice::by_node(&self.root, Path::new(source)) else {
            return Vec::new();
        };
        let members = btrfs_members(&self.root)
            .into_iter()
            .find(|members| members.iter().any(|one| one.number == device.number));
        members.unwrap_or_else(|| vec![device])
    }

    /// The disks below a page cache that lies below one of these devices, as [`TargetIdentity::cached_below`] says.
    pub(crate) fn cached_below(&self, devices: &[BlockDevice]) -> Option<Vec<String>> {
        let found = devices.iter().map(|one| self.cached_below_one(one, 0));
        let found: Vec<Vec<String>> = found.flatten().collect();
        let mut disks = found.concat();
        disks.sort();
        disks.dedup();
        (!found.is_empty()).then_some(disks)
    }

    fn cached_below_one(&self, device: &BlockDevice, depth: u32) -> Option<Vec<String>> {
        let disk = device.disk();
        if depth > DEPTH_MAX {
            return None;
        }
        let Some(view) = LoopView::of(&self.root, &disk) else {
            let parts = disk.slaves();
            let parts = parts
                .iter()
                .filter_map(|name| BlockDevice::by_name(&self.root, name));
            let mut found = parts.filter_map(|part| self.cached_below_one(&part, depth + 1));
            return found.next();
        };
        let path = self.root.locate(&view.path);
        let devices = match BlockDevice::by_node(&self.root, &path) {
            Some(device) => vec![device],
            None => self
                .file_system(&path)
                .map_or_else(Vec::new, |below| self.devices_below(&below)),
        };
        let is_direct = disk
            .attribute("loop/dio")
            .is_some_and(|word| word.trim() == "1");
        if is_direct {
            let mut found = devices
                .iter()
                .filter_map(|one| self.cached_below_one(one, depth + 1));
            return found.next();
        }
        Some(devices.iter().map(|one| one.disk().name).collect())
    }

    fn describe(&self, number: DeviceNumber, devices: Vec<BlockDevice>) -> Below {
        let root = &self.root;
        let mut described = TargetIdentity::default();
        if let Some(first) = devices.first() {
            describe_device(root, first, &mut described);
            let mut disks: Vec<String> = devices.iter().map(|device| device.disk().name).collect();
            disks.sort();
            disks.dedup();
            described.counted_devices = disks;
        }
        if devices.len() > 1 {
            described.members = devices.iter().map(|device| device.name.clone()).collect();
        }
        described.cached_below = self.cached_below(&devices);
        let is_ram_backed =
            !devices.is_empty() && devices.iter().all(|device| device.is_ram_backed(root));
        Below {
            numbers: numbers_of(self, number, &devices),
            described,
            is_ram_backed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{storage_place, target_facts, target_identity};
    use plan::TargetKind;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A machine whose one disk holds the file system of a folder.
    fn machine_around(folder: &Path) -> SysRoot {
        let trees = folder.join("machine");
        let number = DeviceNumber::from_raw(fs::metadata(folder).unwrap().dev());
        let disk = trees.join("sys/devices/sdq");
        write(&disk.join("dev"), &number.to_string());
        write(&disk.join("queue/scheduler"), "[none]");
        write(&disk.join("queue/logical_block_size"), "512");
        fs::create_dir_all(trees.join("sys/dev/block")).unwrap();
        let link = trees.join("sys/dev/block").join(number.to_string());
        std::os::unix::fs::symlink(&disk, link).unwrap();
        let mount = format!("1 0 {number} / / rw - ext4 /dev/sdq rw");
        write(&trees.join("proc/self/mountinfo"), &mount);
        SysRoot::under(&trees)
    }

    #[test]
    fn a_second_file_on_a_disk_is_no_second_look_at_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let root = machine_around(folder.path());
        let [one, other, missing] =
            ["one", "other", "missing"].map(|name| folder.path().join(name));
        fs::write(&one, [1; 4096]).unwrap();
        fs::write(&other, [1; 8192]).unwrap();
        let storage = Storage::new(&root);
        let first = target_identity(&storage, &one);
        assert_eq!(first.counted_devices, ["sdq"]);
        assert_eq!(first.scheduler, "none");
        let place = storage_place(&storage, &one);
        let facts = target_facts(&storage, &one, TargetKind::File).unwrap();
        // Whoever looked again would find nothing.
        fs::remove_dir_all(folder.path().join("machine")).unwrap();
        let second = target_identity(&storage, &other);
        let expected = TargetIdentity {
            path: second.path.clone(),
            real_path: second.real_path.clone(),
            bytes: 8192,
            ..first
        };
        assert_eq!(second, expected);
        assert_eq!(storage_place(&storage, &other).devices, place.devices);
        assert_eq!(storage_place(&storage, &missing).devices, place.devices);
        let facts_of_other = target_facts(&storage, &other, TargetKind::File).unwrap();
        assert_eq!(facts_of_other.alignment, facts.alignment);
        let fresh = target_identity(&Storage::new(&root), &other);
        assert_eq!(fresh.counted_devices, Vec::<String>::new());
    }

    #[test]
    fn below_a_loop_device_lies_a_page_cache_unless_it_reads_past_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = machine_around(folder.path());
        let image = folder.path().join("image");
        fs::write(&image, [1; 4096]).unwrap();
        let looped = root.sys.join("devices/loop7");
        write(&looped.join("dev"), "7:7");
        write(&looped.join("loop/backing_file"), image.to_str().unwrap());
        let below = |is_direct: &str| {
            write(&looped.join("loop/dio"), is_direct);
            let number = DeviceNumber::parse("7:7").unwrap();
            let device = Storage::new(&root).device(number).unwrap();
            Storage::new(&root).cached_below(std::slice::from_ref(&device.device))
        };
        let link = root.sys.join("dev/block/7:7");
        std::os::unix::fs::symlink(&looped, link).unwrap();
        assert_eq!(below("0"), Some(vec!["sdq".to_owned()]));
        assert_eq!(below("1"), None);
    }

    /// A job may name a million files that it makes first.
    #[test]
    fn a_missing_file_is_looked_for_once_by_each_question() {
        let folder = tempfile::tempdir().unwrap();
        let storage = Storage::real();
        let ask = |name: &str| {
            let path = folder.path().join(name);
            let facts = target_facts(&storage, &path, TargetKind::File).unwrap();
            (facts, storage_place(&storage, &path))
        };
        let first = ask("f0");
        let before = storage.missing.lookups.get();
        for number in 1..=100 {
            assert_eq!(ask(&format!("f{number}")), first);
        }
        assert_eq!(storage.missing.lookups.get() - before, 200);
    }
}
