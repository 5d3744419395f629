//! Real loop devices and what they stand for. Needs root and losetup, else skipped.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use door::Door;
use plan::TargetKind;

use super::devices::{Loop, request};
use super::machine::{assert_never, is_mounted};
use super::{
    examine_file, is_granted, names, noise, our_data, until_let_go, words, write_to, write_to_file,
};
use crate::guard::{Examination, Finding, Overwrite, examine, examine_through, judge};
use crate::root::SysRoot;

const BYTES: u64 = 64 << 20;
const OFFSET: u64 = 16 << 20;

/// A loop device that shows the middle of a file only.
fn window(fill: impl Fn(&File)) -> Option<Loop> {
    let directory = crate::named::builder().tempdir().unwrap();
    let options = ["--offset", "16777216", "--sizelimit", "8388608"];
    Loop::over(directory, BYTES, &options, fill)
}

/// Another loop device over the same.
fn second(path: &Path, options: &[&str]) -> Option<Loop> {
    Loop::of(
        crate::named::builder().tempdir().unwrap(),
        path.to_path_buf(),
        options,
    )
}

fn run(command: &str, arguments: &[&str]) -> Result<(), String> {
    match Command::new(command).args(arguments).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        Err(error) => Err(format!("{command}: {error}")),
    }
}

/// A mount that ends with it.
struct Mounted(PathBuf);

impl Mounted {
    fn new(device: &Path, folder: &Path) -> Result<Self, String> {
        let point = folder.join("point");
        fs::create_dir_all(&point).unwrap();
        let (device, at) = (device.to_str().unwrap(), point.to_str().unwrap());
        run("mkfs.ext4", &["-q", "-F", device])?;
        run("mount", &[device, at])?;
        Ok(Self(point))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

fn backs_loop(finding: &Finding) -> bool {
    matches!(finding, Finding::BacksLoop { .. })
}

/// Whether a finding is one of what is behind the loop device, and of the kind asked for.
fn below(is_it: fn(&Finding) -> bool) -> impl Fn(&Finding) -> bool {
    move |finding| matches!(finding, Finding::Below { finding, .. } if is_it(finding))
}

/// Refused, and let pass by each of these words.
fn assert_asks(examination: &Examination, one_word: &[&str]) {
    let all = std::slice::from_ref(examination);
    assert!(
        judge(all, &Overwrite::default()).is_err(),
        "nothing is found"
    );
    for word in one_word {
        judge(all, &words(&[word])).unwrap();
    }
}

#[test]
fn a_file_behind_a_loop_device_is_known_by_any_name() {
    let Some(target) = Loop::new(BYTES, &[]) else {
        return;
    };
    assert_never(&examine_file(&target.image), backs_loop);
    let renamed = target.directory.path().join("renamed");
    let link = target.directory.path().join("link");
    fs::rename(&target.image, &renamed).unwrap();
    fs::hard_link(&renamed, &link).unwrap();
    // The path that sysfs shows leads nowhere now.
    fs::remove_file(&renamed).unwrap();
    assert_never(&examine_file(&link), backs_loop);
    assert!(is_granted(&target.request(), &Overwrite::default()));
    // Another file at the path of old is another file.
    File::create(&renamed).unwrap().set_len(BYTES).unwrap();
    assert_eq!(examine_file(&renamed).findings, []);
}

#[test]
fn another_loop_device_on_the_same_file_is_a_user() {
    let Some(target) = Loop::new(BYTES, &["--offset", "1048576"]) else {
        return;
    };
    assert!(is_granted(&target.request(), &Overwrite::default()));
    let link = target.directory.path().join("link");
    fs::hard_link(&target.image, &link).unwrap();
    let Some(other) = second(&link, &["--read-only", "--sizelimit", "1048576"]) else {
        return;
    };
    let told = target.examine();
    assert_never(&told, below(backs_loop));
    let told = told.findings[0].to_string();
    let name = other.word().trim_start_matches("/dev/");
    assert!(told.contains(name), "{told}");
    // A file without a name is one file still.
    fs::remove_file(&link).unwrap();
    fs::remove_file(&target.image).unwrap();
    assert_never(&target.examine(), below(backs_loop));
    drop(other);
    assert!(is_granted(&target.request(), &Overwrite::default()));
}

#[test]
fn a_loop_device_on_a_mounted_one_is_mounted() {
    let Some(lower) = Loop::new(BYTES, &[]) else {
        return;
    };
    let mounted = match Mounted::new(&lower.device, lower.directory.path()) {
        Ok(mounted) => mounted,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let Some(middle) = second(&lower.device, &["--offset", "4096"]) else {
        return;
    };
    let Some(upper) = second(&middle.device, &[]) else {
        return;
    };
    let all = [lower.word(), middle.word(), upper.word()];
    let all = words(&[&all[..], &[lower.image.to_str().unwrap()]].concat());
    for target in [&middle, &upper] {
        let examination = target.examine();
        assert_never(&examination, below(is_mounted));
        assert!(judge(&[examination], &all).is_err());
    }
    let told = upper.examine().findings[0].to_string();
    let short = |one: &Loop| one.word().trim_start_matches("/dev/").to_owned();
    let (above, name, at) = (short(&middle), short(&lower), mounted.0.display());
    let expected = format!("`{above}` is built on `{name}`: `{name}` is mounted at {at}");
    assert_eq!(told, expected);
    drop(mounted);
    // The file system is still there, cut by the offset, and any name of the target lets it pass.
    let asked = upper.examine();
    let is_found = below(|one| matches!(one, Finding::Signature { .. }));
    assert!(asked.findings.iter().any(is_found), "{asked:?}");
    assert_asks(&asked, &[upper.word(), middle.word()]);
}

#[test]
fn what_a_window_leaves_out_is_looked_at() {
    type Fill = fn(&File);
    let cases: &[(&str, bool, Fill)] = &[
        ("blank", true, |_| {}),
        ("ours inside", true, |file| {
            file.write_all_at(&our_data(8 << 20, 1), OFFSET).unwrap();
        }),
        ("ours around", true, |file| {
            file.write_all_at(&our_data(8 << 20, 1), 0).unwrap();
            file.write_all_at(&our_data(8 << 20, 2), BYTES - (8 << 20))
                .unwrap();
        }),
        ("a file system in front", false, |file| {
            file.write_all_at(b"XFSB", 0).unwrap();
        }),
        ("noise in front", false, |file| {
            file.write_all_at(&noise(4096, 1), 0).unwrap();
        }),
        ("noise at the end", false, |file| {
            file.write_all_at(&noise(4096, 1), BYTES - 4096).unwrap();
        }),
        ("noise in front of ours", false, |file| {
            file.write_all_at(&our_data(8 << 20, 1), OFFSET).unwrap();
            file.write_all_at(&noise(4096, 1), OFFSET - 4096).unwrap();
        }),
    ];
    for (name, passes, fill) in cases {
        let Some(target) = window(fill) else {
            return;
        };
        let examination = target.examine();
        if *passes {
            assert_eq!(examination.findings, [], "{name}");
            continue;
        }
        assert!(
            matches!(examination.findings[..], [Finding::Below { .. }, ..]),
            "{name}: {:?}",
            examination.findings
        );
        assert_asks(
            &examination,
            &[target.word(), target.image.to_str().unwrap()],
        );
    }
}

#[test]
fn a_place_is_told_as_of_the_whole_file() {
    let at = BYTES - 4096;
    let Some(target) = window(|file| file.write_all_at(&noise(4096, 1), at).unwrap()) else {
        return;
    };
    let told = target.examine().findings[0].to_string();
    let expected = format!(
        "is built on `{}`: data of unknown kind, first at byte {at} ",
        target.image.display()
    );
    assert!(told.contains(&expected), "{told}");
}

#[test]
fn a_loop_device_into_a_partitioned_image_has_to_be_named() {
    let Some(target) = window(|_| {}) else {
        return;
    };
    let image = target.image.to_str().unwrap();
    if let Err(reason) = run("sgdisk", &["-n", "1:32768:49151", image]) {
        return println!("skipped: {reason}");
    }
    let examination = target.examine();
    let found: Vec<Finding> = examination.findings.iter().map(inner).collect();
    assert!(names(&found).contains(&"GPT partition table"), "{found:?}");
    assert_asks(&examination, &[target.word(), image]);
}

fn inner(finding: &Finding) -> Finding {
    match finding {
        Finding::Below { finding, .. } => (**finding).clone(),
        other => other.clone(),
    }
}

#[test]
fn a_file_without_a_name_is_examined_by_what_the_loop_device_shows() {
    type Fill = fn(&File);
    let cases: &[(&str, bool, Fill)] = &[
        ("blank", true, |_| {}),
        ("ours inside", true, |file| {
            file.write_all_at(&our_data(8 << 20, 1), OFFSET).unwrap();
        }),
        ("noise inside", false, |file| {
            file.write_all_at(&noise(4096, 1), OFFSET + (4 << 20))
                .unwrap();
        }),
        ("a file system inside", false, |file| {
            file.write_all_at(b"XFSB", OFFSET).unwrap();
        }),
    ];
    for (name, passes, fill) in cases {
        let Some(target) = window(fill) else {
            return;
        };
        fs::remove_file(&target.image).unwrap();
        let examination = target.examine();
        if *passes {
            assert_eq!(examination.findings, [], "{name}");
            continue;
        }
        assert_asks(&examination, &[target.word()]);
    }
    // Another file under the name says nothing of it; neither does a name that was only changed.
    let Some(target) = window(|file| file.write_all_at(b"XFSB", 0).unwrap()) else {
        return;
    };
    fs::rename(&target.image, target.image.with_extension("other")).unwrap();
    assert_asks(&target.examine(), &[target.word()]);
}

#[test]
fn a_loop_device_on_a_partition_beside_a_mounted_one_passes() {
    let Some((disk, [part, other])) = Loop::with_partitions(|_| {}) else {
        return;
    };
    let (Some(first), Some(whole)) = (second(&part, &[]), second(&disk.device, &[])) else {
        return;
    };
    // The other loop device stands for the whole disk.
    assert_never(&first.examine(), below(backs_loop));
    drop(whole);
    assert_eq!(first.examine().findings, []);
    let mounted = match Mounted::new(&other, disk.directory.path()) {
        Ok(mounted) => mounted,
        Err(reason) => return println!("skipped: {reason}"),
    };
    assert_eq!(first.examine().findings, []);
    assert_never(&disk.examine(), is_mounted);
    let Some(whole) = second(&disk.device, &[]) else {
        return;
    };
    assert_never(&whole.examine(), below(is_mounted));
    drop((mounted, whole));
    assert!(is_granted(&request(&first.device), &Overwrite::default()));
}

#[test]
fn the_device_and_the_file_behind_it_are_not_written_side_by_side() {
    let Some(target) = Loop::new(BYTES, &[]) else {
        return;
    };
    let requests = [
        target.request(),
        write_to(&target.image, TargetKind::File, BYTES),
    ];
    let told = examine(&SysRoot::real(), &requests);
    let refused = judge(&told, &Overwrite::default()).unwrap_err();
    assert_eq!(refused.refusals.len(), 1);
    assert_eq!(refused.refusals[0].path, target.image);
    assert!(!is_granted(
        &write_to_file(&target.image),
        &words(&[target.image.to_str().unwrap(), target.word()])
    ));
}

#[test]
fn a_loop_device_is_not_written_while_another_execution_writes_its_file() {
    let Some(target) = Loop::new(BYTES, &[]) else {
        return;
    };
    let spawned = Command::new("sh")
        .args(["-c", "exec 9<\"$0\" && flock -x 9 && echo held && exec cat"])
        .arg(&target.image)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut other = spawned.unwrap();
    let mut said = String::new();
    BufReader::new(other.stdout.take().unwrap())
        .read_line(&mut said)
        .unwrap();
    let examination = target.examine();
    drop(other.stdin.take());
    other.wait().unwrap();
    if said != "held\n" {
        return println!("skipped: `flock` is missing");
    }
    assert_never(
        &examination,
        below(|one| matches!(one, Finding::Locked { .. })),
    );
    assert_eq!(target.examine().findings, []);
}

#[test]
fn a_loop_device_on_one_that_another_program_holds_is_refused() {
    let Some(lower) = Loop::new(BYTES, &[]) else {
        return;
    };
    let Some(upper) = second(&lower.device, &[]) else {
        return;
    };
    let flags = sys::file::OpenFlags {
        read: true,
        exclusive: true,
        ..sys::file::OpenFlags::default()
    };
    let held = sys::file::open(&lower.device, &flags).unwrap();
    let claimed = || {
        let request = upper.request();
        examine_through(&SysRoot::real(), &Door::new(0), &[request]).remove(0)
    };
    assert_never(&claimed(), below(|one| matches!(one, Finding::Held { .. })));
    // Only a claim shows that, and a look claims nothing.
    assert_eq!(upper.examine().findings, []);
    drop(held);
    until_let_go(|| claimed().findings.is_empty());
}

#[test]
fn what_a_lower_device_has_in_its_cache_hides_nothing() {
    let Some(lower) = Loop::new(BYTES, &[]) else {
        return;
    };
    let Some(upper) = second(&lower.device, &[]) else {
        return;
    };
    // Fills the cache of the lower device, which stays open.
    assert_eq!(upper.examine().findings, []);
    let image = File::options().write(true).open(&lower.image).unwrap();
    image.write_all_at(&noise(4096, 1), 0).unwrap();
    let findings = upper.examine().findings;
    assert!(
        matches!(findings[..], [Finding::UnknownData { .. }]),
        "{findings:?}"
    );
}
