//! Block devices as sysfs shows them: disks, partitions, what they are made of and what is built on them.

use std::path::{Path, PathBuf};

use crate::root::{DeviceNumber, SysRoot, names_in, read_bytes, read_number, read_text};

/// One block device: a disk, a partition or a device made of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BlockDevice {
    pub name: String,
    pub number: DeviceNumber,
    /// Its sysfs directory, links resolved.
    pub directory: PathBuf,
    /// The directory of the whole disk; the same as `directory` unless this is a partition.
    pub disk_directory: PathBuf,
}

/// What names a disk beyond its path. Empty where the machine does not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DiskIdentity {
    pub model: String,
    pub vendor: String,
    pub serial: String,
    /// World-wide name: naa., eui., nguid or uuid, as the kernel writes it.
    pub wwn: String,
    pub firmware: String,
    pub transport: String,
}

/// The session of iSCSI by which a device of the class is reached, as a folder of its attributes.
pub(crate) fn iscsi_session(device: &Path) -> Option<PathBuf> {
    let real = std::fs::canonicalize(device).ok()?;
    let session = real.ancestors().find(|part| {
        let name = part.file_name().and_then(|name| name.to_str());
        let number = name.and_then(|name| name.strip_prefix("session"));
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    })?;
    Some(session.join("iscsi_session").join(session.file_name()?))
}

impl BlockDevice {
    pub(crate) fn by_number(root: &SysRoot, number: DeviceNumber) -> Option<Self> {
        let link = root.sys.join("dev/block").join(number.to_string());
        Self::at(&link.canonicalize().ok()?)
    }

    pub(crate) fn by_name(root: &SysRoot, name: &str) -> Option<Self> {
        // A slash in a device name (cciss/c0d0) is an exclamation mark in sysfs.
        let name = name.replace('/', "!");
        let link = ["class/block", "block"]
            .iter()
            .map(|place| root.sys.join(place).join(&name))
            .find_map(|path| path.canonicalize().ok())?;
        Self::at(&link)
    }

    /// From a path in a mount or swap table, such as `/dev/sdb1` or `/dev/mapper/data`.
    pub(crate) fn by_node(root: &SysRoot, node: &Path) -> Option<Self> {
        let located = root.locate(node);
        if let Some(number) = DeviceNumber::of_node(&located) {
            return Self::by_number(root, number);
        }
        let node = located.canonicalize().unwrap_or(located);
        let below = node.strip_prefix(&root.dev).ok()?;
        if let Ok(name) = below.strip_prefix("mapper") {
            let name = name.to_string_lossy();
            return Self::all(root)
                .into_iter()
                .find(|device| device.attribute("dm/name").as_deref() == Some(&*name));
        }
        Self::by_name(root, &below.to_string_lossy())
    }

    /// All disks and devices made of others, without partitions.
    pub(crate) fn all(root: &SysRoot) -> Vec<Self> {
        names_in(&root.sys.join("block"))
            .iter()
            .filter_map(|name| Self::by_name(root, name))
            .collect()
    }

    fn at(directory: &Path) -> Option<Self> {
        let number = DeviceNumber::parse(&read_text(&directory.join("dev"))?)?;
        let is_partition = directory.join("partition").exists();
        let disk_directory = match directory.parent() {
            Some(parent) if is_partition => parent.to_path_buf(),
            _ => directory.to_path_buf(),
        };
        Some(Self {
            name: directory.file_name()?.to_string_lossy().into_owned(),
            number,
            directory: directory.to_path_buf(),
            disk_directory,
        })
    }

    pub(crate) fn is_partition(&self) -> bool {
        self.directory != self.disk_directory
    }

    /// Number within its disk, for a partition.
    pub(crate) fn partition_number(&self) -> Option<u64> {
        read_number(&self.directory.join("partition"))
    }

    /// The id in the partition table, as the kernel tells it, or udev.
    pub(crate) fn partition_id(&self, root: &SysRoot) -> Option<String> {
        if !self.is_partition() {
            return None;
        }
        let value = |text: Option<String>, key: &str| {
            let lines = text?;
            let value = lines
                .lines()
                .find_map(|line| line.strip_prefix(key))?
                .trim();
            (!value.is_empty()).then(|| value.to_ascii_lowercase())
        };
        let store = root.udev.join("data").join(format!("b{}", self.number));
        value(read_text(&self.directory.join("uevent")), "PARTUUID=")
            .or_else(|| value(read_text(&store), "E:ID_PART_ENTRY_UUID="))
    }

    /// The whole disk; itself where it is one.
    pub(crate) fn disk(&self) -> Self {
        match Self::at(&self.disk_directory) {
            Some(disk) if self.is_partition() => disk,
            _ => self.clone(),
        }
    }

    /// The partitions that the kernel knows of.
    pub(crate) fn partitions(&self) -> Vec<Self> {
        if self.is_partition() {
            return Vec::new();
        }
        names_in(&self.directory)
            .iter()
            .map(|name| self.directory.join(name))
            .filter(|directory| directory.join("partition").exists())
            .filter_map(|directory| Self::at(&directory))
            .collect()
    }

    /// Names of the devices built on this one.
    pub(crate) fn holders(&self) -> Vec<String> {
        names_in(&self.directory.join("holders"))
    }

    /// Names of the devices this one is made of.
    pub(crate) fn slaves(&self) -> Vec<String> {
        names_in(&self.disk_directory.join("slaves"))
    }

    /// Size in bytes: sysfs counts sectors of 512 bytes whatever the device's own size is.
    pub(crate) fn bytes(&self) -> Option<u64> {
        Some(read_number(&self.directory.join("size"))? * 512)
    }

    /// First byte within the disk.
    pub(crate) fn start_bytes(&self) -> Option<u64> {
        Some(read_number(&self.directory.join("start"))? * 512)
    }

    pub(crate) fn is_read_only(&self) -> bool {
        read_number(&self.directory.join("ro")).is_some_and(|value| value != 0)
    }

    /// The name that people use: that of the device mapper, else the kernel's.
    pub(crate) fn shown_name(&self) -> String {
        match self.attribute("dm/name") {
            Some(name) => format!("{} ({name})", self.name),
            None => self.name.clone(),
        }
    }

    /// An attribute of the whole disk.
    pub(crate) fn attribute(&self, name: &str) -> Option<String> {
        read_text(&self.disk_directory.join(name))
    }

    /// The file behind a loop device, as the kernel names it.
    pub(crate) fn loop_backing_file(&self) -> Option<PathBuf> {
        self.attribute("loop/backing_file").map(PathBuf::from)
    }

    /// Data that never leave memory: zram, RAM disks, loop devices over tmpfs, and devices made of nothing else.
    pub(crate) fn is_ram_backed(&self, root: &SysRoot) -> bool {
        let disk = self.disk();
        let numbered = |prefix: &str| {
            disk.name
                .strip_prefix(prefix)
                .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
        };
        if numbered("zram") {
            // zram may write out to a device.
            return disk
                .attribute("backing_dev")
                .is_none_or(|device| device == "none");
        }
        if numbered("ram") {
            return true;
        }
        if let Some(file) = disk.loop_backing_file() {
            let below = DeviceNumber::of_node(&file);
            return match below.and_then(|number| Self::by_number(root, number)) {
                Some(device) => device.number != disk.number && device.is_ram_backed(root),
                None => sys::file::file_system(&file).is_ok_and(|system| system.ram_backed),
            };
        }
        let slaves = disk.slaves();
        !slaves.is_empty()
            && slaves
                .iter()
                .all(|name| Self::by_name(root, name).is_some_and(|one| one.is_ram_backed(root)))
    }

    /// Model, serial and the like of the whole disk, from sysfs, then from udev. A multipath device answers with what
    /// its first path says, since the paths lead to one unit.
    pub(crate) fn identity(&self, root: &SysRoot) -> DiskIdentity {
        let disk = self.disk();
        let uuid = disk.attribute("dm/uuid").unwrap_or_default();
        if uuid.starts_with("mpath-")
            && let Some(path) = disk
                .slaves()
                .first()
                .and_then(|name| Self::by_name(root, name))
            && path.number != disk.number
        {
            return path.identity(root);
        }
        let mut identity = disk.identity_in_sysfs();
        disk.complete_from_udev(root, &mut identity);
        identity
    }

    fn identity_in_sysfs(&self) -> DiskIdentity {
        let first = |names: &[&str]| {
            names
                .iter()
                .find_map(|name| self.attribute(name))
                .unwrap_or_default()
        };
        let meaningful = |text: String| {
            // A unit without a name of its own may report nothing but zeros.
            let number = text
                .rsplit_once('.')
                .map_or(text.as_str(), |(_, number)| number);
            if number.chars().all(|c| matches!(c, '0' | '-' | ' ')) {
                String::new()
            } else {
                text
            }
        };
        let serial = match self.serial_of_scsi() {
            Some(serial) => serial,
            None => first(&["serial", "device/serial"]),
        };
        DiskIdentity {
            model: first(&["device/model", "device/name"]),
            vendor: if self.name.starts_with("vd") {
                String::new()
            } else {
                first(&["device/vendor"])
            },
            serial: meaningful(serial),
            wwn: meaningful(first(&["wwid", "device/wwid", "nguid", "eui", "uuid"])),
            firmware: first(&["device/firmware_rev", "device/rev", "device/fwrev"]),
            transport: self.transport(),
        }
    }

    /// Vital product data page 0x80: four bytes of header, then text (SPC, Unit Serial Number).
    fn serial_of_scsi(&self) -> Option<String> {
        let page = read_bytes(&self.disk_directory.join("device/vpd_pg80"))?;
        let text = String::from_utf8_lossy(page.get(4..)?).trim().to_owned();
        let text = text.trim_matches('\0').trim().to_owned();
        (!text.is_empty()).then_some(text)
    }

    fn transport(&self) -> String {
        if self.name.starts_with("nvme") {
            return self.transport_of_nvme();
        }
        let path = self.disk_directory.to_string_lossy().into_owned();
        let has = |part: &str| path.contains(part);
        let known = [
            (self.name.starts_with("vd"), "virtio"),
            (self.name.starts_with("loop"), "loop"),
            (self.name.starts_with("dm-"), "device mapper"),
            (self.name.starts_with("md"), "md"),
            (self.name.starts_with("nbd"), "nbd"),
            (self.name.starts_with("rbd"), "rbd"),
            (self.name.starts_with("zram"), "memory"),
            (self.name.starts_with("ram"), "memory"),
            (self.name.starts_with("mmcblk"), "mmc"),
            (self.name.starts_with("xvd"), "xen"),
            (self.name.starts_with("pmem"), "pmem"),
            (has("/session"), "iscsi"),
            (has("/rport-"), "fc"),
            (has("/end_device-"), "sas"),
            (has("/usb"), "usb"),
            (has("/ata"), "sata"),
            (has("/virtio"), "virtio"),
        ];
        let name = known.iter().find(|(applies, _)| *applies);
        name.map(|(_, name)| (*name).to_owned()).unwrap_or_default()
    }

    /// `nvme` on PCIe, else `nvme/tcp`, `nvme/fc`, `nvme/rdma`. With the kernel's own multipath the disk hangs on a
    /// subsystem, and the transport is that of its controllers.
    fn transport_of_nvme(&self) -> String {
        let device = self.disk_directory.join("device");
        let transport = read_text(&device.join("transport")).or_else(|| {
            names_in(&device)
                .iter()
                .filter(|name| name.starts_with("nvme"))
                .find_map(|name| read_text(&device.join(name).join("transport")))
        });
        match transport.as_deref() {
            None | Some("pcie") => "nvme".to_owned(),
            Some(other) => format!("nvme/{other}"),
        }
    }

    /// Lines like `E:ID_SERIAL_SHORT=…` in udev's own store.
    fn complete_from_udev(&self, root: &SysRoot, identity: &mut DiskIdentity) {
        // udev hands a disk's names down to what the device mapper builds on it, where they would name a part as the
        // whole.
        if self.name.starts_with("dm-") {
            return;
        }
        let store = root.udev.join("data").join(format!("b{}", self.number));
        let Some(text) = read_text(&store) else {
            return;
        };
        let value = |keys: &[&str]| {
            keys.iter().find_map(|key| {
                text.lines()
                    .filter_map(|line| line.strip_prefix("E:"))
                    .filter_map(|line| line.split_once('='))
                    .find(|(name, value)| name == key && !value.trim().is_empty())
                    .map(|(_, value)| value.trim().to_owned())
            })
        };
        for (field, keys) in [
            (
                &mut identity.serial,
                &["ID_SCSI_SERIAL", "ID_SERIAL_SHORT"][..],
            ),
            (&mut identity.wwn, &["ID_WWN_WITH_EXTENSION", "ID_WWN"]),
            (&mut identity.model, &["ID_MODEL"]),
            (&mut identity.vendor, &["ID_VENDOR"]),
            (&mut identity.firmware, &["ID_REVISION"]),
            (&mut identity.transport, &["ID_BUS"]),
        ] {
            if field.is_empty()
                && let Some(found) = value(keys)
            {
                *field = found;
            }
        }
    }
}
