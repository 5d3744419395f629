use super::*;

fn write(directory: &Path, name: &str, text: &str) {
    let path = directory.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Links a device directory of a faked tree to the places where it is looked up.
fn link(directory: &Path, place: &str, name: &str) {
    let target = directory.join("sys").join(place);
    for class in ["sys/block", "sys/class/block"] {
        fs::create_dir_all(directory.join(class)).unwrap();
        std::os::unix::fs::symlink(&target, directory.join(class).join(name)).unwrap();
    }
}

fn described(directory: &Path, name: &str) -> TargetIdentity {
    let root = SysRoot::under(directory);
    let mut identity = TargetIdentity::default();
    describe_device(
        &root,
        &BlockDevice::by_name(&root, name).unwrap(),
        &mut identity,
    );
    identity
}

#[test]
fn a_file_and_a_missing_one_are_judged_alike() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let storage = Storage::real();
    let missing = target_facts(&storage, &path, TargetKind::File).unwrap();
    assert_eq!((missing.found, missing.bytes), (FoundKind::Missing, 0));
    fs::write(&path, [1; 5000]).unwrap();
    // What is made later shows in another look.
    let storage = Storage::real();
    let file = target_facts(&storage, &path, TargetKind::File).unwrap();
    assert_eq!((file.found, file.bytes), (FoundKind::File, 5000));
    assert_eq!(file.ram_backed, missing.ram_backed);
    assert!(file.alignment.offset >= 1 && missing.alignment.offset >= 1);
    assert!(
        missing.alignment.offset >= file.alignment.offset,
        "never too small before it is there"
    );
    let identity = target_identity(&storage, &path);
    assert_eq!((identity.kind.as_str(), identity.bytes), ("file", 5000));
    let mount = identity.mount.expect("every file lies on a mount");
    assert!(path.canonicalize().unwrap().starts_with(&mount.point));
    let deep = target_identity(&storage, &directory.path().join("no/such"));
    assert_eq!(deep.kind, "missing");
    assert_eq!(deep.mount.unwrap(), mount);
}

#[test]
fn what_is_no_target_is_named() {
    let storage = Storage::real();
    let found = |path: &str, kind| target_facts(&storage, Path::new(path), kind).unwrap().found;
    assert_eq!(found("/dev/null", TargetKind::Device), FoundKind::Other);
    assert_eq!(found("/", TargetKind::File), FoundKind::Directory);
    assert_eq!(
        found("/dev/no-such", TargetKind::Device),
        FoundKind::Missing
    );
    let under_a_file = target_facts(&storage, Path::new("/dev/null/x"), TargetKind::File);
    assert!(under_a_file.is_err());
}

#[test]
fn memory_is_told_from_storage() {
    let Ok(memory) = tempfile::tempdir_in("/dev/shm") else {
        return println!("skipped: no /dev/shm");
    };
    let kind = sys::file::file_system(memory.path()).unwrap().name;
    let path = memory.path().join("file");
    let facts = target_facts(&Storage::real(), &path, TargetKind::File).unwrap();
    assert_eq!(facts.ram_backed, kind == "tmpfs" || kind == "ramfs");
}

#[test]
fn a_scsi_disk_over_iscsi() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let place = "devices/platform/host3/session1/target3:0:0/3:0:0:1/block/sdb";
    let base = format!("sys/{place}");
    for (name, text) in [
        ("dev", "8:16\n"),
        ("size", "2048\n"),
        ("device/vendor", "PURE    \n"),
        ("device/model", "FlashArray      \n"),
        ("device/rev", "8888\n"),
        ("device/wwid", "naa.624a9370\n"),
        ("device/vpd_pg80", "\0\u{80}\0\u{4}AB12"),
        ("device/timeout", "30\n"),
        ("queue/scheduler", "none [mq-deadline] kyber\n"),
        ("queue/rotational", "0\n"),
        ("queue/logical_block_size", "512\n"),
        ("queue/physical_block_size", "4096\n"),
        ("sdb1/dev", "8:17\n"),
        ("sdb1/partition", "1\n"),
    ] {
        write(directory, &format!("{base}/{name}"), text);
    }
    let session = "sys/devices/platform/host3/session1/iscsi_session/session1";
    write(directory, &format!("{session}/recovery_tmo"), "120\n");
    link(directory, place, "sdb");
    link(directory, &format!("{place}/sdb1"), "sdb1");
    for name in ["sdb", "sdb1"] {
        let identity = described(directory, name);
        assert_eq!(identity.device, format!("/dev/{name}"));
        assert_eq!(identity.counted_devices, ["sdb"]);
        assert_eq!(
            (identity.vendor.as_str(), identity.model.as_str()),
            ("PURE", "FlashArray")
        );
        assert_eq!(
            (identity.wwn.as_str(), identity.firmware.as_str()),
            ("naa.624a9370", "8888")
        );
        assert_eq!(identity.transport, "iscsi");
        assert_eq!(identity.scheduler, "mq-deadline");
        let setting = |name: &str| {
            let found = identity.queue.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.as_str())
        };
        assert_eq!(setting("timeout"), Some("30"));
        assert_eq!(setting("recovery_tmo"), Some("120"));
        assert_eq!(identity.rotational, Some(false));
        assert_eq!(
            (identity.logical_block_bytes, identity.physical_block_bytes),
            (512, 4096)
        );
        assert!(
            identity
                .queue
                .contains(&("rotational".to_owned(), "0".to_owned()))
        );
    }
}

#[test]
fn an_nvme_namespace_below_a_subsystem() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let place = "devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1";
    let base = format!("sys/{place}");
    write(directory, &format!("{base}/dev"), "259:0\n");
    write(directory, &format!("{base}/wwid"), "eui.0025385b71b0a3c4\n");
    write(directory, &format!("{base}/device/model"), "Some SSD\n");
    write(directory, &format!("{base}/device/serial"), "S4EV\n");
    write(directory, &format!("{base}/device/firmware_rev"), "2B2Q\n");
    write(
        directory,
        &format!("{base}/device/nvme0/transport"),
        "tcp\n",
    );
    link(directory, place, "nvme0n1");
    let identity = described(directory, "nvme0n1");
    assert_eq!(identity.transport, "nvme/tcp");
    assert_eq!(
        (identity.serial.as_str(), identity.firmware.as_str()),
        ("S4EV", "2B2Q")
    );
    assert_eq!(identity.wwn, "eui.0025385b71b0a3c4");
    write(
        directory,
        &format!("{base}/device/nvme0/transport"),
        "pcie\n",
    );
    assert_eq!(described(directory, "nvme0n1").transport, "nvme");
}

#[test]
fn members_and_memory_of_devices_made_of_others() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    for (name, number) in [
        ("ram0", "1:0"),
        ("ram1", "1:1"),
        ("sda", "8:0"),
        ("md0", "9:0"),
    ] {
        write(directory, &format!("sys/devices/{name}/dev"), number);
        link(directory, &format!("devices/{name}"), name);
    }
    for member in ["ram0", "ram1"] {
        fs::create_dir_all(directory.join("sys/devices/md0/slaves").join(member)).unwrap();
    }
    let identity = described(directory, "md0");
    assert_eq!(identity.members, ["ram0", "ram1"]);
    assert!(identity.ram_backed);
    fs::create_dir_all(directory.join("sys/devices/md0/slaves/sda")).unwrap();
    assert!(!described(directory, "md0").ram_backed);
    assert!(!described(directory, "sda").ram_backed);
}
