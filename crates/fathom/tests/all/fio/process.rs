//! What jobs of fio take from the host, and as whom they work.
use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

fn fathom(arguments: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
    command
        .args(["fio", "--name=j", "--bs=4k", "--size=64k", "--eta=never"])
        .args(arguments)
        .current_dir(folder);
    command
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
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
    let folder = tempfile::tempdir().unwrap();
    let slow = [
        "--ioengine=null",
        "--rate_iops=10",
        "--time_based",
        "--runtime=60",
    ];
    let held = ["--lockmem=1m", "--numjobs=3"];
    let mut going = fathom(&[&slow[..], &held].concat(), folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut most = 0;
    while most < 3 << 20 && going.try_wait().unwrap().is_none() {
        most = most.max(locked_bytes(going.id()).unwrap_or(0));
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = Command::new("kill").arg(going.id().to_string()).status();
    let said = text(&going.wait_with_output().unwrap());
    if said.contains("ulimit -l") {
        return println!("skipped: nothing may be locked here: {said}");
    }
    assert!(most >= 3 << 20, "{most}: {said}");
}

#[test]
fn more_memory_than_there_is_is_refused_before_anything_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let output = fathom(&["--rw=write", "--lockmem=100t"], folder.path()).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(
        text(&output).contains("leaves room for"),
        "{}",
        text(&output)
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

const NOBODY: u32 = 65_534;

/// A folder that everybody may write to; `None` where this is not root.
fn open_folder() -> Option<tempfile::TempDir> {
    let folder = tempfile::tempdir().unwrap();
    if folder.path().metadata().unwrap().uid() != 0 {
        println!("skipped: root alone works as somebody else");
        return None;
    }
    std::fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
    Some(folder)
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
        let Some(folder) = open_folder() else { return };
        let owner = [
            "--uid=65534",
            "--gid=65533",
            "--filename_format=data.$filenum",
            "--result=fathom-output",
        ];
        let output = fathom(&[job, &owner].concat(), folder.path()).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{job:?}: {}", text(&output));
        let made = folder.path().join("data.0").metadata().unwrap();
        assert_eq!((made.uid(), made.gid()), (NOBODY, NOBODY - 1), "{job:?}");
        // What is no target is of who called.
        let result = folder.path().join("fathom-output/result.fathom");
        assert_eq!(result.metadata().unwrap().uid(), 0);
    }
}

#[test]
fn a_job_opens_what_its_user_may_open_and_no_more() {
    let Some(folder) = open_folder() else { return };
    let data = folder.path().join("data");
    std::fs::write(&data, vec![1; 65536]).unwrap();
    let run = |mode: u32, arguments: &[&str]| {
        std::fs::set_permissions(&data, Permissions::from_mode(mode)).unwrap();
        let output = fathom(&[arguments, &["--filename=data"]].concat(), folder.path()).output();
        output.unwrap()
    };
    let other = ["--rw=read", "--uid=65534", "--gid=65534"];
    let refused = run(0o600, &other);
    assert!(!refused.status.success());
    assert!(
        text(&refused).contains("ermission denied"),
        "{}",
        text(&refused)
    );
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
    let read = run(0o644, &beside);
    assert!(read.status.success(), "{}", text(&read));
}

#[test]
fn who_may_not_be_another_user_is_told_before_anything_is_made() {
    let Some(folder) = open_folder() else { return };
    let mut command = fathom(&["--rw=write", "--uid=1"], folder.path());
    let output = match command.uid(NOBODY).gid(NOBODY).output() {
        Ok(output) => output,
        Err(error) => return println!("skipped: others cannot run the program: {error}"),
    };
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(
        text(&output).contains("work as user 1"),
        "{}",
        text(&output)
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
