//! Real block devices: loop devices that real tools put their formats on. Needs root and losetup, else skipped.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use door::Door;
use plan::{Access, FoundKind, TargetId, TargetKind};

use super::{is_granted, names, noise, our_data, refused, until_let_go, words, write_to};
use crate::guard::{
    Examination, Finding, Overwrite, Request, examine, examine_through, guard, judge,
};
use crate::root::SysRoot;
use crate::{Storage, target_facts, target_identity};

const BYTES: u64 = 512 << 20;

/// A loop device over a file of its own; both go away with it.
pub(super) struct Loop {
    pub device: PathBuf,
    pub image: PathBuf,
    pub directory: tempfile::TempDir,
}

impl Loop {
    /// Nothing where that is not possible; the reason is printed.
    pub(super) fn new(bytes: u64, options: &[&str]) -> Option<Self> {
        Self::over(
            crate::named::builder().tempdir().unwrap(),
            bytes,
            options,
            |_| {},
        )
    }

    pub(super) fn over(
        directory: tempfile::TempDir,
        bytes: u64,
        options: &[&str],
        fill: impl Fn(&File),
    ) -> Option<Self> {
        let image = directory.path().join("image");
        let file = File::create(&image).unwrap();
        file.set_len(bytes).unwrap();
        fill(&file);
        Self::of(directory, image, options)
    }

    /// Over what stands at `image`, whatever it is.
    pub(super) fn of(
        directory: tempfile::TempDir,
        image: PathBuf,
        options: &[&str],
    ) -> Option<Self> {
        let output = Command::new("losetup")
            .args(["--find", "--show"])
            .args(options)
            .arg(&image)
            .output();
        match output {
            Ok(output) if output.status.success() => Some(Self {
                device: PathBuf::from(String::from_utf8(output.stdout).unwrap().trim()),
                image,
                directory,
            }),
            Ok(output) => {
                println!(
                    "skipped: losetup: {}",
                    String::from_utf8_lossy(&output.stderr).trim()
                );
                None
            }
            Err(error) => {
                println!("skipped: losetup: {error}");
                None
            }
        }
    }

    pub(super) fn request(&self) -> Request {
        request(&self.device)
    }

    pub(super) fn examine(&self) -> Examination {
        examine(&SysRoot::real(), &[self.request()]).remove(0)
    }

    pub(super) fn word(&self) -> &str {
        self.device.to_str().unwrap()
    }

    /// A blank disk with two partitions of type Linux: 8 MiB from 1 MiB on, 8 MiB from 16 MiB on.
    pub(super) fn with_partitions(fill: impl Fn(&File)) -> Option<(Self, [PathBuf; 2])> {
        let places = [(446, 2048_u32), (462, 32_768)];
        let directory = crate::named::builder().tempdir().unwrap();
        let disk = Self::over(directory, 64 << 20, &["--partscan"], |file| {
            for (entry, start) in places {
                let mut bytes = [0; 16];
                bytes[4] = 0x83;
                bytes[8..12].copy_from_slice(&start.to_le_bytes());
                bytes[12..16].copy_from_slice(&16_384_u32.to_le_bytes());
                file.write_all_at(&bytes, entry).unwrap();
            }
            file.write_all_at(b"\x55\xaa", 510).unwrap();
            fill(file);
        })?;
        let parts = [1, 2].map(|number| PathBuf::from(format!("{}p{number}", disk.word())));
        for (index, part) in parts.iter().enumerate().filter(|(_, part)| !part.exists()) {
            // A kernel may know partitions and not read tables.
            let (number, start) = ((index + 1).to_string(), places[index].1.to_string());
            let added = Command::new("addpart")
                .args([disk.word(), &number, &start, "16384"])
                .status();
            if !added.is_ok_and(|status| status.success()) || !part.exists() {
                println!("skipped: this kernel makes no partitions of loop devices");
                return None;
            }
        }
        Some((disk, parts))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup")
            .arg("--detach")
            .arg(&self.device)
            .status();
        // An examination beside this one may have it open for a moment, and it goes when the last has closed it.
        let name = self.device.file_name().unwrap_or_default();
        let attached = Path::new("/sys/block").join(name).join("loop/backing_file");
        for _ in 0..500 {
            if !attached.exists() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}

pub(super) fn request(device: &Path) -> Request {
    let facts = target_facts(&Storage::real(), device, TargetKind::Device).unwrap();
    write_to(device, TargetKind::Device, facts.bytes)
}

/// A tool that makes a format, its arguments, what it reads, and the name that the format must be found by. `@` stands
/// for the device, `%` for a directory with a file in it, `=` for another file.
struct Tool {
    name: &'static str,
    command: &'static str,
    input: &'static str,
}

const fn tool(name: &'static str, command: &'static str) -> Tool {
    Tool {
        name,
        command,
        input: "y\ny\n",
    }
}

const TOOLS: &[Tool] = &[
    tool("ext2, ext3 or ext4 file system", "mkfs.ext2 -q -F @"),
    tool("ext2, ext3 or ext4 file system", "mkfs.ext3 -q -F @"),
    tool("ext2, ext3 or ext4 file system", "mkfs.ext4 -q -F @"),
    tool(
        "ext2, ext3 or ext4 file system",
        "mkfs.ext4 -q -F -b 1024 -O journal_dev @",
    ),
    tool("XFS file system", "mkfs.xfs -q -f @"),
    tool("btrfs file system", "mkfs.btrfs -q -f @"),
    tool("FAT file system", "mkfs.vfat -I -F 12 -s 128 @ 65536"),
    tool("FAT file system", "mkfs.vfat -I -F 16 @ 65536"),
    tool("FAT file system", "mkfs.vfat -I -F 32 @"),
    tool("exFAT file system", "mkfs.exfat @"),
    tool("NTFS file system", "mkfs.ntfs -Q -F -q @"),
    tool("F2FS file system", "mkfs.f2fs -f -q @"),
    tool("swap space", "mkswap @"),
    tool("swap space", "mkswap -p 16384 @"),
    tool("LVM2 physical volume", "pvcreate -ff -y @"),
    Tool {
        name: "LUKS volume",
        command: "cryptsetup luksFormat -q --type luks1 --pbkdf-force-iterations 1000 @ -",
        input: "key",
    },
    Tool {
        name: "LUKS volume",
        command: "cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 @ -",
        input: "key",
    },
    tool("bcache device", "make-bcache -B @"),
    tool("bcache device", "make-bcache -C @"),
    tool("JFS file system", "mkfs.jfs -q @"),
    tool("NILFS2 file system", "mkfs.nilfs2 -q -f @"),
    tool("OCFS2 file system", "mkfs.ocfs2 -q -F -M local @"),
    tool(
        "GFS or GFS2 file system",
        "mkfs.gfs2 -q -O -p lock_nolock @",
    ),
    tool("ReiserFS file system", "mkfs.reiserfs -q -ff @"),
    tool(
        "SquashFS file system",
        "mksquashfs % @ -noappend -quiet -no-progress",
    ),
    tool("ISO 9660 file system", "genisoimage -quiet -o @ %"),
    tool("UDF file system", "mkudffs -b 512 @"),
    tool("UDF file system", "mkudffs -b 2048 @"),
    tool("Minix file system", "mkfs.minix -1 @ 60000"),
    tool("Minix file system", "mkfs.minix -2 @ 60000"),
    tool("Minix file system", "mkfs.minix -3 @"),
    tool("cramfs file system", "mkfs.cramfs % @"),
    tool("SCO BFS file system", "mkfs.bfs @"),
    tool("dm-verity hash device", "veritysetup format = @"),
    tool(
        "dm-integrity device",
        "integritysetup format -q --no-wipe @",
    ),
];

/// Runs the tool on the device; the reason where it cannot be.
fn run(tool: &Tool, device: &Path, directory: &Path) -> Result<(), String> {
    let content = directory.join("content");
    fs::create_dir_all(&content).unwrap();
    fs::write(content.join("file"), noise(10_000, 1)).unwrap();
    let data = directory.join("data");
    File::create(&data).unwrap().set_len(1 << 20).unwrap();
    let mut parts = tool.command.split(' ').map(|word| match word {
        "@" => device.as_os_str(),
        "%" => content.as_os_str(),
        "=" => data.as_os_str(),
        other => other.as_ref(),
    });
    let mut child = Command::new(parts.next().unwrap())
        .args(parts)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    // A tool that asks nothing may be gone before it reads.
    let _ = child.stdin.take().unwrap().write_all(tool.input.as_bytes());
    let output = child.wait_with_output().unwrap();
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr)
            .trim()
            .replace('\n', " ")),
    }
}

#[test]
fn what_real_tools_make_is_refused_and_named() {
    for tool in TOOLS {
        let Some(target) = Loop::new(BYTES, &[]) else {
            return;
        };
        let path = std::env::var("PATH").unwrap_or_default();
        let program = tool.command.split(' ').next().unwrap();
        if !path
            .split(':')
            .any(|place| Path::new(place).join(program).exists())
        {
            println!("skipped: {}: not installed", tool.command);
            continue;
        }
        let made = run(tool, &target.device, target.directory.path());
        let examination = target.examine();
        let found = names(&examination.findings);
        if let Err(reason) = &made
            && !found.contains(&tool.name)
        {
            println!("skipped: {}: {reason}", tool.command);
            continue;
        }
        assert!(
            found.contains(&tool.name),
            "{}: {:?}",
            tool.command,
            examination.findings
        );
        let all = std::slice::from_ref(&examination);
        let text = judge(all, &Overwrite::default()).unwrap_err().to_string();
        assert!(
            text.contains(&format!("--overwrite {}", target.word())),
            "{text}"
        );
        assert!(judge(all, &words(&[target.word()])).is_ok());
    }
}

#[test]
fn blank_and_own_devices_pass_and_others_do_not() {
    let small = 8 << 20;
    type Fill = fn(&File);
    let cases: &[(&str, bool, Fill)] = &[
        ("zeros", true, |_| {}),
        ("ones", true, |file| {
            file.write_all_at(&vec![0xff; 8 << 20], 0).unwrap()
        }),
        ("ours", true, |file| {
            file.write_all_at(&our_data(8 << 20, 1), 0).unwrap()
        }),
        ("ours in parts", true, |file| {
            file.write_all_at(&our_data(3 << 20, 2), 2 << 20).unwrap()
        }),
        ("first block spared", true, |file| {
            file.write_all_at(&our_data((8 << 20) - 4096, 2), 4096)
                .unwrap();
        }),
        ("noise", false, |file| {
            file.write_all_at(&noise(8 << 20, 3), 0).unwrap()
        }),
        ("noise at the end", false, |file| {
            file.write_all_at(&noise(4096, 3), (8 << 20) - 4096)
                .unwrap()
        }),
        ("noise in ours", false, |file| {
            file.write_all_at(&our_data(8 << 20, 1), 0).unwrap();
            file.write_all_at(&noise(4096, 5), 512 << 10).unwrap();
        }),
    ];
    for (name, passes, fill) in cases {
        let directory = crate::named::builder().tempdir().unwrap();
        let Some(target) = Loop::over(directory, small, &[], fill) else {
            return;
        };
        let findings = target.examine().findings;
        if *passes {
            assert_eq!(findings, [], "{name}");
        } else {
            let is_unknown = matches!(findings[..], [Finding::UnknownData { .. }]);
            assert!(is_unknown, "{name}: {findings:?}");
            assert!(
                is_granted(&target.request(), &words(&[target.word()])),
                "{name}"
            );
        }
        assert_eq!(
            is_granted(&target.request(), &Overwrite::default()),
            *passes,
            "{name}"
        );
    }
}

#[test]
fn a_real_mount_cannot_be_overridden() {
    let Some(target) = Loop::new(64 << 20, &[]) else {
        return;
    };
    let made = run(
        &tool("", "mkfs.ext4 -q -F @"),
        &target.device,
        target.directory.path(),
    );
    let point = target.directory.path().join("point");
    fs::create_dir(&point).unwrap();
    let mounted = made.and_then(|()| {
        let status = Command::new("mount")
            .arg(&target.device)
            .arg(&point)
            .output();
        match status {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
            Err(error) => Err(error.to_string()),
        }
    });
    if let Err(reason) = mounted {
        return println!("skipped: {reason}");
    }
    let overwrite = words(&[target.word(), target.image.to_str().unwrap()]);
    let device = target.examine();
    let image = guard(
        &SysRoot::real(),
        &[write_to(&target.image, TargetKind::File, 64 << 20)],
        &overwrite,
    );
    let claimed = examine_through(&SysRoot::real(), &Door::new(0), &[target.request()]).remove(0);
    let identity = target_identity(&Storage::real(), &point.join("lost+found"));
    let unmounted = Command::new("umount").arg(&point).status().unwrap();
    assert!(unmounted.success());

    assert!(
        matches!(device.findings[0], Finding::Mounted { .. }),
        "{:?}",
        device.findings
    );
    let findings_of_device = device.findings.clone();
    assert!(judge(&[device], &overwrite).is_err());
    let image = image.unwrap_err();
    let findings = &image.refusals[0].findings;
    assert!(
        findings
            .iter()
            .any(|one| matches!(one, Finding::BacksLoop { .. })),
        "{findings:?}"
    );
    assert_eq!(image.refusals[0].word, None);
    // EBUSY: the claim sees the mount even where no table did.
    // The mount tells all that the claim would tell.
    assert_eq!(claimed.findings, findings_of_device);
    assert_eq!(identity.device, target.word());
    assert_eq!(identity.mount.unwrap().kind, "ext4");
    assert!(
        is_granted(&target.request(), &overwrite),
        "free again once unmounted"
    );
}

#[test]
fn a_device_is_claimed_once_for_all_its_targets() {
    let Some(target) = Loop::new(8 << 20, &[]) else {
        return;
    };
    let second = Request {
        target: TargetId(1),
        ..target.request()
    };
    let requests = [target.request(), second];
    let claimed = |door: &Door| -> Vec<bool> {
        let all = examine_through(&SysRoot::real(), door, &requests);
        let is_claimed = |one: Examination| {
            let mut findings = one.findings.iter();
            findings.any(|one| matches!(one, Finding::Claimed { .. }))
        };
        all.into_iter().map(is_claimed).collect()
    };
    let first = Door::new(0);
    assert_eq!(claimed(&first), [false, false]);
    assert_eq!(claimed(&Door::new(0)), [true, true]);
    drop(first);
    until_let_go(|| claimed(&Door::new(0)) == [false, false]);
}

#[test]
fn a_read_only_device_is_refused_for_writing_alone() {
    let Some(target) = Loop::new(8 << 20, &["--read-only"]) else {
        return;
    };
    let refusal = refused(&[target.request()], &words(&[target.word()]));
    assert_eq!(refusal.refusals[0].findings, [Finding::ReadOnly]);
    let read = Request {
        access: Access::Read,
        ..target.request()
    };
    assert!(is_granted(&read, &Overwrite::default()));
}

#[test]
fn a_partition_is_examined_itself_and_by_its_disk() {
    let fill = |file: &File| file.write_all_at(b"XFSB", 1 << 20).unwrap();
    let Some((target, [first, other])) = Loop::with_partitions(fill) else {
        return;
    };
    let found = target.examine().findings;
    assert_eq!(names(&found), ["MBR partition table", "XFS file system"]);
    assert!(found[1].to_string().ends_with("p1`"), "{found:?}");
    let disk_word = words(&[target.word()]);
    assert!(
        !is_granted(&request(&first), &disk_word),
        "the disk's word is not the partition's"
    );
    let own_word = words(&[first.to_str().unwrap()]);
    assert!(is_granted(&request(&first), &own_word));
    assert!(is_granted(&request(&other), &Overwrite::default()), "blank");
}

#[test]
fn facts_and_identity_of_a_loop_device() {
    let Some(target) = Loop::new(8 << 20, &["--sector-size", "4096"]) else {
        return;
    };
    let root = SysRoot::real();
    let facts = target_facts(&Storage::new(&root), &target.device, TargetKind::Device).unwrap();
    assert_eq!(
        (facts.found, facts.bytes),
        (FoundKind::BlockDevice, 8 << 20)
    );
    assert_eq!(facts.alignment.offset, 4096);
    let on_memory = sys::file::file_system(target.directory.path())
        .unwrap()
        .ram_backed;
    assert_eq!(facts.ram_backed, on_memory);
    let identity = target_identity(&Storage::new(&root), &target.device);
    assert_eq!(
        (identity.transport.as_str(), identity.logical_block_bytes),
        ("loop", 4096)
    );
    assert_eq!(
        identity.members,
        [target.image.canonicalize().unwrap().to_str().unwrap()]
    );

    let Ok(memory) = crate::named::builder().tempdir_in("/dev/shm") else {
        return println!("skipped: no /dev/shm");
    };
    if !sys::file::file_system(memory.path()).unwrap().ram_backed {
        return println!("skipped: /dev/shm is not on memory");
    }
    let target = Loop::over(memory, 8 << 20, &[], |_| {}).unwrap();
    let facts = target_facts(&Storage::new(&root), &target.device, TargetKind::Device).unwrap();
    assert!(facts.ram_backed, "a loop device over tmpfs");
}

#[test]
fn the_device_under_the_root_directory_is_never_granted() {
    let root = SysRoot::real();
    let identity = target_identity(&Storage::new(&root), Path::new("/"));
    if identity.device.is_empty() || !Path::new(&identity.device).exists() {
        return println!("skipped: the root directory lies on no block device of this machine");
    }
    let request = request(Path::new(&identity.device));
    let named = words(&[&identity.device, &identity.serial, &identity.wwn]);
    let refusal = refused(&[request], &named);
    assert_eq!(refusal.refusals[0].word, None, "{refusal}");
    // An ordinary user may not look; root sees the mount.
    let is_expected = |one: &Finding| {
        matches!(
            one,
            Finding::Mounted { .. } | Finding::Held { .. } | Finding::CannotExamine { .. }
        )
    };
    assert!(
        refusal.refusals[0].findings.iter().any(is_expected),
        "{refusal}"
    );
}
