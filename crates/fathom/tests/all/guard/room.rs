//! Space that runs take is that of what they write: holes elsewhere need none, and jobs that bear a full file system meet
//! one.
use crate::lab::{Lab, ended, has, skip};
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

const MEBIBYTE: u64 = 1 << 20;

/// A file system of 32 MiB at `small`, unmounted at the end.
struct Small<'a>(&'a Lab);

impl<'a> Small<'a> {
    fn new(lab: &'a Lab) -> Option<Self> {
        std::fs::create_dir(lab.path("small")).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=32m", "none"]);
        let status = mount.arg(lab.path("small")).status();
        status
            .is_ok_and(|status| status.success())
            .then(|| Self(lab))
    }

    fn sparse(&self, bytes: u64) {
        let file = File::create(self.0.path("small/disk")).unwrap();
        file.set_len(bytes).unwrap();
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path("small")).status();
    }
}

fn job<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let common = [
        "fio",
        "--name=a",
        "--filename=small/disk",
        "--bs=64k",
        "--output=report",
    ];
    [&common, more].concat()
}

#[test]
fn only_what_is_written_needs_space() {
    let lab = Lab::new();
    let Some(small) = Small::new(&lab) else {
        return skip("a tmpfs cannot be mounted here");
    };
    let far = ["--offset=100g", "--size=1m"];
    small.sparse(101 << 30);
    for direction in ["--rw=write", "--rw=randrw", "--rw=trim"] {
        lab.fathom(&job(&[&far[..], &[direction]].concat()))
            .expect(0);
    }
    // All of it may be discarded; there is nothing to make.
    lab.fathom(&job(&["--rw=trim", "--size=101g", "--io_size=1m"]))
        .expect(0);
    lab.fathom(&job(&["--rw=write", "--offset=100g", "--size=64m"]))
        .expect(3)
        .says(&["need 6"]);
    // What is missing is made with holes, too, as the original does.
    std::fs::remove_file(lab.path("small/disk")).unwrap();
    lab.fathom(&job(&[&far[..], &["--rw=write"]].concat()))
        .expect(0);
    let made = lab.path("small/disk").metadata().unwrap();
    assert_eq!(made.len(), (100 << 30) + MEBIBYTE);
    assert!(made.blocks() * 512 < 2 * MEBIBYTE, "{}", made.blocks());
    // To be read, all of it has to be there.
    std::fs::remove_file(lab.path("small/disk")).unwrap();
    lab.fathom(&job(&[&far[..], &["--rw=read"]].concat()))
        .expect(3);
    assert!(!lab.path("small/disk").exists());
}

#[test]
fn a_job_that_bears_a_full_file_system_meets_it() {
    let lab = Lab::new();
    let Some(_small) = Small::new(&lab) else {
        return skip("a tmpfs cannot be mounted here");
    };
    let write = ["--rw=write", "--size=48m"];
    for (bears, code) in [
        ("--ignore_error=,ENOSPC", 0),
        ("--ignore_error=,28", 0),
        ("--continue_on_error=write", 3),
        ("--ignore_error=ENOSPC", 3),
    ] {
        let words = job(&[&write[..], &[bears]].concat());
        let ours = lab.fathom(&words).expect(code);
        let ours = ours.says(&["32 MiB free"]);
        if code == 0 {
            ours.says(&["warning", "goes on after the writes that fail"]);
            let theirs = has("fio").then(|| {
                let _ = std::fs::remove_file(lab.path("small/disk"));
                ended(lab.command("fio").args(&words[1..])).code
            });
            assert_eq!(theirs.unwrap_or(Some(0)), Some(0), "{bears}");
        }
        let _ = std::fs::remove_file(lab.path("small/disk"));
    }
}
