//! Devices of a faked machine: users that no word overrides, and what names a device.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;

use plan::TargetKind;

use super::{words, write_to};
use crate::guard::examine::{Subject, What, examine_subject};
use crate::guard::usage::Tables;
use crate::guard::{Examination, Finding, judge, unused_words};
use crate::root::{DeviceNumber, SysRoot};

const BYTES: u64 = 4 << 20;

/// A tree of sysfs, procfs and udev below a directory that goes away with it.
pub(super) struct Machine {
    directory: tempfile::TempDir,
}

impl Machine {
    /// Disks `sda` (8:0) with `sda1` and `sda2`, `sdb` (8:16), and `dm-0` (253:0).
    pub(super) fn new() -> Self {
        let machine = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        machine.device("sda", "", "8:0");
        machine.device("sda1", "sda/", "8:1");
        machine.device("sda2", "sda/", "8:2");
        machine.device("sdb", "", "8:16");
        machine.device("dm-0", "", "253:0");
        machine.file("proc/swaps", "Filename Type Size Used Priority\n");
        machine.mounts("");
        machine
    }

    pub(super) fn device(&self, name: &str, disk: &str, number: &str) {
        let place = format!("sys/devices/block/{disk}{name}");
        self.file(&format!("{place}/dev"), number);
        self.file(&format!("{place}/size"), &(BYTES / 512).to_string());
        self.file(&format!("{place}/ro"), "0");
        fs::create_dir_all(self.path(&format!("{place}/holders"))).unwrap();
        fs::create_dir_all(self.path(&format!("{place}/slaves"))).unwrap();
        for directory in ["sys/dev/block", "sys/class/block", "sys/block"] {
            fs::create_dir_all(self.path(directory)).unwrap();
        }
        let place = self.path(&place);
        symlink(&place, self.path(&format!("sys/dev/block/{number}"))).unwrap();
        symlink(&place, self.path(&format!("sys/class/block/{name}"))).unwrap();
        if disk.is_empty() {
            symlink(&place, self.path(&format!("sys/block/{name}"))).unwrap();
        } else {
            let index: String = name.chars().filter(char::is_ascii_digit).collect();
            fs::write(place.join("partition"), index).unwrap();
            fs::write(place.join("start"), "0").unwrap();
        }
    }

    pub(super) fn path(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().join(name)
    }

    pub(super) fn file(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(super) fn block(&self, name: &str, text: &str) {
        self.file(&format!("sys/devices/block/{name}"), text);
    }

    pub(super) fn mounts(&self, text: &str) {
        self.file("proc/self/mountinfo", text);
    }

    pub(super) fn root(&self) -> SysRoot {
        SysRoot::under(self.directory.path())
    }

    /// Examines `/dev/NAME` as if it held `content`.
    pub(super) fn examine_with(&self, name: &str, content: &[u8]) -> Examination {
        let number = fs::read_to_string(self.path(&format!("sys/class/block/{name}/dev"))).unwrap();
        let number = DeviceNumber::parse(&number).unwrap();
        let held = self.path(&format!("content-{name}"));
        fs::write(&held, content).unwrap();
        let file = File::options().read(true).write(true).open(&held).unwrap();
        file.set_len(BYTES).unwrap();
        let request = write_to(
            Path::new(&format!("/dev/{name}")),
            TargetKind::Device,
            BYTES,
        );
        let subject = Subject {
            real_path: held,
            what: What::Device {
                number,
                bytes: BYTES,
            },
        };
        examine_subject(
            &Tables::read(&self.root(), None),
            &request,
            subject,
            Some(&file),
        )
    }

    pub(super) fn examine(&self, name: &str) -> Examination {
        self.examine_with(name, &[])
    }
}

/// Refused with every word there is, and with the finding in question.
pub(super) fn assert_never(examination: &Examination, is_it: impl Fn(&Finding) -> bool) {
    let findings = &examination.findings;
    assert!(findings.iter().any(is_it), "{findings:?}");
    let mut all = vec![examination.real_path.display().to_string()];
    all.extend(examination.words.clone());
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let refused = judge(std::slice::from_ref(examination), &words(&all)).unwrap_err();
    assert_eq!(refused.refusals[0].word, None);
    assert!(
        refused.to_string().contains("cannot be overridden"),
        "{refused}"
    );
}

pub(super) fn is_mounted(finding: &Finding) -> bool {
    matches!(finding, Finding::Mounted { .. })
}

pub(super) fn is_held(finding: &Finding) -> bool {
    matches!(finding, Finding::Held { .. })
}

pub(super) fn is_swap(finding: &Finding) -> bool {
    matches!(finding, Finding::Swap { .. })
}

#[test]
fn a_free_blank_device_passes() {
    let machine = Machine::new();
    for name in ["sda", "sda1", "sdb", "dm-0"] {
        let examination = machine.examine(name);
        assert_eq!(examination.findings, [], "{name}");
        let identity = examination.identity;
        assert!(judge(&[examination], &words(&[])).is_ok());
        let number = fs::read_to_string(machine.path(&format!("sys/class/block/{name}/dev")));
        let number = DeviceNumber::parse(&number.unwrap()).unwrap();
        assert_eq!(identity, Some((number.to_raw(), BYTES)));
    }
}

#[test]
fn a_mount_protects_disk_and_partition_but_not_the_neighbours() {
    let machine = Machine::new();
    machine.mounts("30 1 8:1 / /data rw - ext4 /dev/whatever rw\n");
    assert_never(&machine.examine("sda1"), is_mounted);
    assert_never(&machine.examine("sda"), is_mounted);
    assert_eq!(machine.examine("sda2").findings, []);
    assert_eq!(machine.examine("sdb").findings, []);
    machine.mounts("30 1 8:0 / /data rw - ext4 /dev/whatever rw\n");
    assert_never(&machine.examine("sda2"), is_mounted);
}

#[test]
fn a_mount_in_the_first_process_name_space_counts() {
    let machine = Machine::new();
    machine.file(
        "proc/1/mountinfo",
        "30 1 8:16 / /data rw - ext4 /dev/sdb rw\n",
    );
    assert_never(&machine.examine("sdb"), is_mounted);
}

#[test]
fn a_btrfs_protects_all_its_members() {
    let machine = Machine::new();
    machine.mounts("30 1 0:44 / /data rw - btrfs /dev/sda1 rw\n");
    fs::create_dir_all(machine.path("sys/fs/btrfs/uuid/devices/sda1")).unwrap();
    fs::create_dir_all(machine.path("sys/fs/btrfs/uuid/devices/sdb")).unwrap();
    assert_never(&machine.examine("sda1"), is_mounted);
    assert_never(&machine.examine("sdb"), is_mounted);
    machine.mounts("");
    assert_never(&machine.examine("sdb"), is_mounted);
    assert_eq!(machine.examine("dm-0").findings, []);
}

#[test]
fn a_mount_by_mapper_name_is_followed() {
    let machine = Machine::new();
    machine.block("dm-0/dm/name", "group-volume\n");
    machine.mounts("30 1 0:44 / /data rw - zfs /dev/mapper/group-volume rw\n");
    assert_never(&machine.examine("dm-0"), is_mounted);
}

#[test]
fn a_holder_protects() {
    let machine = Machine::new();
    machine.block("dm-0/dm/name", "mpatha\n");
    fs::create_dir_all(machine.path("sys/devices/block/sdb/holders/dm-0")).unwrap();
    fs::create_dir_all(machine.path("sys/devices/block/sda/sda1/holders/md0")).unwrap();
    let path = machine.examine("sdb");
    assert_never(&path, is_held);
    assert!(
        path.findings[0].to_string().contains("dm-0 (mpatha)"),
        "{:?}",
        path.findings
    );
    assert_never(&machine.examine("sda1"), is_held);
    assert_never(&machine.examine("sda"), is_held);
    assert_eq!(machine.examine("sda2").findings, []);
    assert_eq!(
        machine.examine("dm-0").findings,
        [],
        "the multipath device itself is free"
    );
}

#[test]
fn swap_protects_by_name_and_by_mapper_name() {
    let machine = Machine::new();
    machine.block("dm-0/dm/name", "group-swap\n");
    machine.file(
        "proc/swaps",
        "Filename Type Size Used Priority\n/dev/sda2 partition 9 0 -2\n\
         /dev/mapper/group-swap partition 9 0 -3\n",
    );
    assert_never(&machine.examine("sda2"), is_swap);
    assert_never(&machine.examine("sda"), is_swap);
    assert_never(&machine.examine("dm-0"), is_swap);
    assert_eq!(machine.examine("sda1").findings, []);
}

#[test]
fn a_device_behind_a_loop_device_or_read_only_is_protected() {
    let machine = Machine::new();
    machine.device("loop3", "", "7:3");
    machine.block("loop3/loop/backing_file", "/dev/sdb\n");
    assert_never(&machine.examine("sdb"), |finding| {
        matches!(finding, Finding::BacksLoop { .. })
    });
    machine.block("sda/sda1/ro", "1");
    assert_never(&machine.examine("sda1"), |finding| {
        *finding == Finding::ReadOnly
    });
}

#[test]
fn files_that_are_swap_or_behind_a_loop_device_are_protected() {
    let machine = Machine::new();
    machine.device("loop3", "", "7:3");
    let examine = |name: &str| {
        let path = machine.path(name);
        fs::write(&path, [0; 4096]).unwrap();
        super::examine(&machine.root(), &[super::write_to_file(&path)]).remove(0)
    };
    let image = examine("image");
    assert_eq!(image.findings, []);
    let link = machine.path("link to image");
    symlink(machine.path("image"), &link).unwrap();
    machine.block("loop3/loop/backing_file", link.to_str().unwrap());
    assert_never(&examine("image"), |finding| {
        matches!(finding, Finding::BacksLoop { .. })
    });
    let gone = format!("{} (deleted)", machine.path("image").display());
    machine.block("loop3/loop/backing_file", &gone);
    assert_never(&examine("image"), |finding| {
        matches!(finding, Finding::BacksLoop { .. })
    });
    let line = format!(
        "Filename Type Size Used Priority\n{} file 9 0 -2\n",
        machine
            .path("swap file")
            .display()
            .to_string()
            .replace(' ', "\\040")
    );
    machine.file("proc/swaps", &line);
    assert_never(&examine("swap file"), is_swap);
}

#[test]
fn a_device_that_sysfs_does_not_show_is_refused() {
    let machine = Machine::new();
    fs::remove_file(machine.path("sys/dev/block/8:16")).unwrap();
    assert_never(&machine.examine("sdb"), |finding| {
        matches!(finding, Finding::CannotExamine { .. })
    });
}

#[test]
fn what_partitions_hold_is_said_of_the_disk() {
    let machine = Machine::new();
    machine.block("sda/sda2/start", "2048");
    machine.block("sda/sda2/size", "2048");
    let mut content = vec![0; BYTES as usize];
    content[1 << 20..(1 << 20) + 4].copy_from_slice(b"XFSB");
    let examination = machine.examine_with("sda", &content);
    let text = format!("{}", examination.findings[0]);
    assert_eq!(text, "XFS file system at byte 0 of `sda2`");
}

#[test]
fn words_name_by_wwn_serial_and_path() {
    let machine = Machine::new();
    machine.block("sdb/device/wwid", "naa.600508b4000971ca\n");
    machine.file(
        "run/udev/data/b8:16",
        "E:ID_SERIAL_SHORT=VM17\nE:ID_WWN=0x600508b4000971ca\n",
    );
    machine.file("run/udev/data/b8:0", "E:ID_SERIAL_SHORT=Z1D2\n");
    let disk = machine.examine_with("sdb", b"LUKS\xba\xbe");
    assert_eq!(disk.words, ["naa.600508b4000971ca", "VM17", "/dev/sdb"]);
    let all = std::slice::from_ref(&disk);
    for word in ["naa.600508b4000971ca", "VM17", "/dev/sdb"] {
        assert!(judge(all, &words(&["nothing", word])).is_ok(), "{word}");
    }
    for word in [
        "naa.600508b4000971c",
        "VM1",
        "vm17",
        "/dev/sda",
        "sdb",
        "*",
        "",
    ] {
        assert!(judge(all, &words(&[word])).is_err(), "{word}");
    }
    let refused = judge(all, &words(&[])).unwrap_err();
    assert_eq!(
        refused.refusals[0].word.as_deref(),
        Some("naa.600508b4000971ca")
    );
    assert_eq!(unused_words(all, &words(&["VM17", "VM18"])), ["VM18"]);

    let part = machine.examine_with("sda2", b"LUKS\xba\xbe");
    assert_eq!(part.words, ["Z1D2-part2", "/dev/sda2"]);
    for word in ["Z1D2", "Z1D2-part1", "/dev/sda"] {
        assert!(
            judge(std::slice::from_ref(&part), &words(&[word])).is_err(),
            "{word}"
        );
    }
}

#[test]
fn a_serial_number_that_several_units_share_names_none() {
    let machine = Machine::new();
    for (name, wwn) in [("sda", "eui.0001"), ("sdb", "eui.0002")] {
        machine.block(&format!("{name}/device/serial"), "SAME");
        machine.block(&format!("{name}/wwid"), wwn);
    }
    assert_eq!(machine.examine("sdb").words, ["eui.0002", "/dev/sdb"]);
    machine.block("sda/wwid", "eui.0002");
    assert_eq!(
        machine.examine("sdb").words,
        ["eui.0002", "SAME", "/dev/sdb"]
    );
    machine.block("sda/wwid", "eui.0000000000000000");
    machine.block("sdb/wwid", "eui.0000000000000000");
    assert_eq!(machine.examine("sdb").words, ["/dev/sdb"]);
}

#[test]
fn a_multipath_device_is_named_as_its_unit() {
    let machine = Machine::new();
    machine.block("dm-0/dm/uuid", "mpath-3600508b4");
    fs::create_dir_all(machine.path("sys/devices/block/dm-0/slaves/sdb")).unwrap();
    machine.block("sdb/device/wwid", "naa.600508b4");
    assert_eq!(machine.examine("dm-0").words, ["naa.600508b4", "/dev/dm-0"]);
    machine.block("dm-0/dm/uuid", "LVM-abc");
    machine.file("run/udev/data/b253:0", "E:ID_SERIAL_SHORT=OFDISK\n");
    assert_eq!(machine.examine("dm-0").words, ["/dev/dm-0"]);
}

#[test]
fn a_standing_list_names_devices_by_ids_only() {
    let machine = Machine::new();
    machine.block("sdb/device/wwid", "naa.600508b4000971ca\n");
    machine.block("sdb/serial", "VM17\n");
    machine.block("sda/serial", "Z1D2\n");
    machine.block("sda/sda2/uevent", "PARTN=2\nPARTUUID=fca957db-01\n");
    let passes = |line: &str, name: &str| {
        let found = machine.examine_with(name, b"something of value");
        let standing = super::standing::list(machine.directory.path(), &format!("{line}\n"));
        let mut overwrite = words(&[]);
        let passed = standing.let_pass(std::slice::from_ref(&found), &mut overwrite);
        let is_granted = judge(std::slice::from_ref(&found), &overwrite).is_ok();
        assert_eq!(is_granted, !passed.is_empty());
        is_granted
    };
    for line in ["naa.600508b4000971ca", "VM17"] {
        assert!(passes(line, "sdb"), "{line}");
        assert!(!passes(line, "sda"), "{line}");
    }
    for line in ["Z1D2-part2", "PARTUUID=fca957db-01", "partuuid=FCA957DB-01"] {
        assert!(passes(line, "sda2"), "{line}");
        assert!(!passes(line, "sda1") && !passes(line, "sda"), "{line}");
    }
    // No name that depends on the order of discovery, nor a part of an id.
    for line in ["sdb", "VM1", "naa.600508b4000971c"] {
        assert!(!passes(line, "sdb"), "{line}");
    }
    // A copy of the disk has its ids.
    machine.block("sda/sda1/uevent", "PARTUUID=fca957db-01\n");
    assert!(!passes("PARTUUID=fca957db-01", "sda2"));
    machine.mounts("1 0 8:16 / /mnt rw - ext4 /dev/sdb rw\n");
    assert!(!passes("VM17", "sdb"));
}
