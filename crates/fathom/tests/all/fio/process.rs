//! What jobs of fio take from the host, and as whom they work.
use crate::lab::{Ended, FATHOM, Lab, STATE, is_root, skip, try_ended};
use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::time::Duration;

const JOB: [&str; 4] = ["--name=j", "--bs=4k", "--size=64k", "--eta=never"];

fn fio(lab: &Lab, words: &[&str]) -> Ended {
    lab.fio([&JOB, words].concat())
}

/// Bytes that a process has locked.
fn locked_bytes(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmLck:"))?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kib << 10)
}

#[test]
fn each_clone_holds_memory_as_long_as_it_runs() {
    let lab = Lab::new();
    let slow = [
        "--ioengine=null",
        "--rate_iops=10",
        "--time_based",
        "--runtime=60",
    ];
    let held = ["--lockmem=1m", "--numjobs=3"];
    let mut going = lab.start(&[&["fio"], &JOB[..], &slow, &held].concat());
    let mut most = 0;
    while most < 3 << 20 && going.is_going() {
        most = most.max(locked_bytes(going.id()).unwrap_or(0));
        std::thread::sleep(Duration::from_millis(20));
    }
    if going.is_going() {
        going.signal("TERM");
    }
    let said = going.end();
    if said.all().contains("ulimit -l") {
        return skip(&format!("nothing may be locked here: {}", said.err));
    }
    assert!(most >= 3 << 20, "{most}: {said}");
}

#[test]
fn more_memory_than_there_is_is_refused_before_anything_is_made() {
    let lab = Lab::new();
    let output = fio(&lab, &["--rw=write", "--lockmem=100t"]).expect(2);
    output.tells(&["leaves room for"]);
    assert!(made(&lab).is_empty());
}

/// What is in the lab but what the lab itself keeps there.
fn made(lab: &Lab) -> Vec<String> {
    let names = lab.names(".").into_iter();
    names.filter(|name| name != STATE).collect()
}

const NOBODY: u32 = 65_534;

/// A lab that everybody may write to; `None` where this is not root.
fn open_lab() -> Option<Lab> {
    if !is_root() {
        skip("root alone works as somebody else");
        return None;
    }
    let lab = Lab::new();
    std::fs::set_permissions(lab.path("."), Permissions::from_mode(0o777)).unwrap();
    Some(lab)
}

#[test]
fn files_are_made_and_laid_out_by_the_user_and_group_of_the_job() {
    for job in [
        &["--rw=write", "--ioengine=psync"][..],
        &["--rw=randread", "--ioengine=psync"],
        &["--rw=randrw", "--ioengine=io_uring", "--iodepth=4"],
        &["--rw=write", "--ioengine=libaio", "--verify=crc32c"],
        &["--rw=write", "--ioengine=mmap"],
        &["--ioengine=filecreate", "--nrfiles=2"],
    ] {
        let Some(lab) = open_lab() else { return };
        let owner = [
            "--uid=65534",
            "--gid=65533",
            "--filename_format=data.$filenum",
            "--result=fathom-output",
        ];
        fio(&lab, &[job, &owner].concat()).expect(0);
        let made = lab.path("data.0").metadata().unwrap();
        assert_eq!((made.uid(), made.gid()), (NOBODY, NOBODY - 1), "{job:?}");
        // What is no target is of who called.
        let result = lab.path("fathom-output/result.fathom");
        assert_eq!(result.metadata().unwrap().uid(), 0);
    }
}

#[test]
fn a_job_opens_what_its_user_may_open_and_no_more() {
    let Some(lab) = open_lab() else { return };
    lab.write("data", vec![1; 65536]);
    let run = |mode: u32, arguments: &[&str]| {
        std::fs::set_permissions(lab.path("data"), Permissions::from_mode(mode)).unwrap();
        fio(&lab, &[arguments, &["--filename=data"]].concat())
    };
    let other = ["--rw=read", "--uid=65534", "--gid=65534"];
    let refused = run(0o600, &other).expect_failure();
    refused.tells(&["ermission denied"]);
    // Beside a job of another user that writes, it still asks for reading only.
    let beside = [
        "--name=k",
        "--size=64k",
        "--bs=4k",
        "--rw=write",
        "--filename=data",
    ];
    let beside = [
        &other[..],
        &["--filename=data"],
        &beside,
        &["--overwrite", "data"],
    ]
    .concat();
    run(0o644, &beside).expect(0);
}

#[test]
fn who_may_not_be_another_user_is_told_before_anything_is_made() {
    let Some(lab) = open_lab() else { return };
    let mut command = lab.fio_command(FATHOM);
    command.args(JOB).args(["--rw=write", "--uid=1"]);
    let output = match try_ended(command.uid(NOBODY).gid(NOBODY)) {
        Ok(output) => output.expect(2),
        Err(error) => return skip(&format!("others cannot run the program: {error}")),
    };
    output.tells(&["cannot run as user 1"]);
    assert!(made(&lab).is_empty());
}
