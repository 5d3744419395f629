//! Targets that somebody uses: no word helps.
use super::contents::{HELD, template};
use super::{Loop, Verdicts, copy, digest, no_loops, refused};
use crate::lab::{Lab, ended, must, skip};
use crate::running::stop::OnDrop;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// As `open(2)` of Linux has it.
const O_EXCL: i32 = 0o200;

/// An image with ext4.
fn image(lab: &Lab, name: &str) -> PathBuf {
    let made = template(lab, HELD[0].1).unwrap();
    copy(&made, &lab.path(name));
    lab.path(name)
}

/// Writes to the target by every word there is.
fn attempt(lab: &Lab, case: &str, target: &Path, content: &Path, verdicts: &mut Verdicts) {
    let text = target.display().to_string();
    let before = digest(content);
    let line = [
        "fio",
        "--name=j",
        "--rw=randwrite",
        "--bs=4k",
        "--size=256k",
        "--result=out",
    ];
    let name = format!("--filename={text}");
    for words in [
        [&line[..], &[&name]].concat(),
        [&line[..], &[&name, "--overwrite", &text]].concat(),
        vec![
            "prefill",
            &text,
            "--size",
            "8m",
            "-o",
            "out",
            "--overwrite",
            &text,
        ],
    ] {
        let done = lab.fathom(&words);
        let word = if words.contains(&"--overwrite") {
            ", named"
        } else {
            ""
        };
        verdicts.note(
            &format!("{case}, {}{word}", words[0]),
            refused(&done, &before, content),
        );
    }
}

fn mounted(device: &str, at: &Path) -> OnDrop<impl FnMut() + use<>> {
    std::fs::create_dir_all(at).unwrap();
    let at = at.display().to_string();
    must("mount", &[device, &at]);
    OnDrop(move || drop(must("umount", &[&at])))
}

#[test]
fn what_is_in_use_is_refused_by_any_word() {
    if let Some(reason) = no_loops() {
        return skip(reason);
    }
    let lab = Lab::new();
    let mut verdicts = Verdicts::default();
    let file = image(&lab, "image");
    {
        let device = Loop::over(&file);
        attempt(
            &lab,
            "file behind a loop device",
            &file,
            &file,
            &mut verdicts,
        );
        let second = Loop::over(&file);
        let _mount = mounted(&device.text(), &lab.path("mnt"));
        attempt(&lab, "mounted device", &device.device, &file, &mut verdicts);
        attempt(
            &lab,
            "file of a mounted device",
            &file,
            &file,
            &mut verdicts,
        );
        attempt(
            &lab,
            "second loop device on that file",
            &second.device,
            &file,
            &mut verdicts,
        );
        let above = Loop::over(&device.device);
        attempt(
            &lab,
            "loop device on a mounted one",
            &above.device,
            &file,
            &mut verdicts,
        );
    }
    verdicts.judge();
}

#[test]
fn what_another_holds_is_refused_by_any_word() {
    if let Some(reason) = no_loops() {
        return skip(reason);
    }
    let lab = Lab::new();
    let mut verdicts = Verdicts::default();
    let file = image(&lab, "image");
    {
        let device = Loop::over(&file);
        let _held = OpenOptions::new()
            .read(true)
            .custom_flags(O_EXCL)
            .open(&device.device)
            .unwrap();
        attempt(
            &lab,
            "device held by another",
            &device.device,
            &file,
            &mut verdicts,
        );
    }
    {
        let device = Loop::over(&file);
        let above = Loop::over(&device.device);
        attempt(
            &lab,
            "device behind a loop device",
            &device.device,
            &file,
            &mut verdicts,
        );
        drop(above);
    }
    verdicts.judge();
}

#[test]
fn swap_is_refused_by_any_word() {
    if let Some(reason) = no_loops() {
        return skip(reason);
    }
    let lab = Lab::new();
    let mut verdicts = Verdicts::default();
    let device = Loop::over(&image(&lab, "image"));
    let mount = mounted(&device.text(), &lab.path("mnt"));
    let file = lab.path("mnt/swap");
    let text = file.display().to_string();
    std::fs::write(&file, vec![0; 16 << 20]).unwrap();
    must("chmod", &["600", &text]);
    must("mkswap", &["-q", &text]);
    let on = ended(lab.command("swapon").arg(&file));
    if on.code != Some(0) {
        return skip(&format!("swap cannot be turned on here: {}", on.err));
    }
    let off = OnDrop(|| drop(must("swapoff", &[&text])));
    attempt(&lab, "swap file", &file, &file, &mut verdicts);
    drop(off);
    drop(mount);
    verdicts.judge();
}
