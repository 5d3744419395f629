//! File systems whose partition table is gone. Needs root, losetup, sgdisk and mkfs, else skipped.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::devices::Loop;
use super::names;
use crate::guard::{Finding, Overwrite, judge};

const BYTES: u64 = 4 << 30;
const SECTOR: u64 = 512;
/// First sectors of partitions.
const STARTS: &[u64] = &[63, 2048, 8192, 1 << 21];
const MAKERS: &[&str] = &["mkfs.ext4 -q -F", "mkfs.xfs -q -f", "mkfs.btrfs -q -f"];

/// Whether the command ended well; a missing one did not.
fn run(words: &[&str]) -> bool {
    let status = Command::new(words[0])
        .args(&words[1..])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

/// A device with one partition, a file system in it, and then no table any more.
fn zapped(maker: &str, start: u64) -> Option<Loop> {
    let target = Loop::new(BYTES, &[])?;
    let disk = target.device.to_str().unwrap();
    let place = format!("1:{start}:0");
    if !run(&["sgdisk", "-a", "1", "-n", &place, disk]) {
        println!("skipped: sgdisk is missing or refuses");
        return None;
    }
    let offset = (start * SECTOR).to_string();
    let size = (BYTES - start * SECTOR - 34 * SECTOR).to_string();
    let image = target.image.to_str().unwrap();
    let partition = Command::new("losetup")
        .args(["-f", "--show", "-o", &offset, "--sizelimit", &size, image])
        .output()
        .unwrap();
    let partition = String::from_utf8(partition.stdout).unwrap();
    let words: Vec<&str> = maker.split(' ').chain([partition.trim()]).collect();
    let is_made = run(&words);
    run(&["losetup", "-d", partition.trim()]);
    if !is_made {
        println!("skipped: {maker}");
        return None;
    }
    assert!(run(&["sgdisk", "--zap-all", disk]));
    Some(target)
}

#[test]
fn a_file_system_behind_a_lost_table_is_refused() {
    for maker in MAKERS {
        for start in STARTS {
            let Some(target) = zapped(maker, *start) else {
                continue;
            };
            let examination = target.examine();
            let found = names(&examination.findings);
            let told = examination.findings.iter();
            let told: Vec<String> = told.map(ToString::to_string).collect();
            let system = maker.split([' ', '.']).nth(1).unwrap();
            let is_named = found
                .iter()
                .any(|name| name.to_lowercase().contains(system));
            assert!(is_named, "{maker} at {start}: {told:?}");
            assert!(judge(&[examination], &Overwrite::default()).is_err());
        }
    }
}

#[test]
fn backup_superblocks_are_found_where_the_first_is_gone() {
    for maker in MAKERS {
        for start in [63, 2048] {
            let Some(target) = zapped(maker, start) else {
                continue;
            };
            let (wiped, end) = (10 << 20, BYTES - (9 << 20));
            let image = OpenOptions::new().write(true).open(&target.image).unwrap();
            image.write_all_at(&vec![0; wiped as usize], 0).unwrap();
            image
                .write_all_at(&vec![0; (BYTES - end) as usize], end)
                .unwrap();
            assert!(run(&[
                "blockdev",
                "--flushbufs",
                target.device.to_str().unwrap()
            ]));
            let findings = target.examine().findings;
            assert!(!findings.is_empty(), "{maker} at {start}");
        }
    }
}

#[test]
fn a_lone_backup_superblock_is_enough() {
    let folder = tempfile::tempdir().unwrap();
    let places: &[(&str, u64, u64, &[u8])] = &[
        (
            "ext2, ext3 or ext4 file system",
            (128 << 20) + (1 << 20),
            56,
            b"\x53\xef",
        ),
        (
            "ext2, ext3 or ext4 file system",
            63 * 512 + (8193 << 10),
            56,
            b"\x53\xef",
        ),
        (
            "XFS file system",
            (1 << 20) + (2 << 30) - (1 << 20),
            0,
            b"XFSB",
        ),
        ("btrfs file system", 63 * 512 + (64 << 20), 64, b"_BHRfS_M"),
    ];
    for (name, block, at, magic) in places {
        let path = folder.path().join("image");
        let file = File::create(&path).unwrap();
        file.set_len(8 << 30).unwrap();
        // Too much of ours to be read whole, and nothing else.
        let ours = super::our_data(1 << 20, 3);
        for mib in 0..80 {
            file.write_all_at(&ours, mib << 20).unwrap();
            file.write_all_at(&ours, (4 << 30) + (mib << 20)).unwrap();
        }
        file.write_all_at(&ours, block / 4096 * 4096).unwrap();
        file.write_all_at(&[0; 128], *block).unwrap();
        file.write_all_at(magic, block + at).unwrap();
        if *magic == b"\x53\xef" {
            file.write_all_at(&1_u16.to_le_bytes(), block + 90).unwrap();
        }
        assert_is_found(&path, name, block + at);
    }
}

fn assert_is_found(path: &Path, name: &str, at: u64) {
    let findings = super::examine_file(path).findings;
    let is_it = |finding: &Finding| {
        matches!(finding, Finding::Signature { name: found, offset, .. }
            if *found == name && *offset == at)
    };
    assert!(findings.iter().any(is_it), "{name} at {at}: {findings:?}");
}
