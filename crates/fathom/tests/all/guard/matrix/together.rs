//! Two executions at once: the second is refused, and the first does not notice.
use super::{BYTES, Loop, Verdicts, no_loops, sparse};
use crate::lab::{FATHOM, Going, Lab, ended, has, is_long, skip};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::Stdio;

/// As `open(2)` of Linux has it.
const O_EXCL: i32 = 0o200;

const SECOND: &[(&str, &[&str])] = &[
    ("run", &["run", "job", "-o", "second"]),
    (
        "fio line",
        &[
            "fio",
            "--name=j",
            "--filename=disk",
            "--rw=write",
            "--bs=4k",
            "--size=256k",
            "--result=second",
        ],
    ),
    (
        "prefill",
        &["prefill", "disk", "--size", "64m", "-o", "second"],
    ),
];

/// Writes to `disk` for several seconds, and is measuring when this returns.
fn first(lab: &Lab, target: &str) -> Going {
    let flags = match target.starts_with("/dev/") {
        true => ",openflags=o_direct",
        false => "",
    };
    let job = |elapsed: u32| {
        format!(
            "sd=sd1,lun={target},size=64m,threads=2{flags}\nwd=wd1,sd=sd1,xfersize=4k,rdpct=0\n\
             rd=rd1,wd=wd1,iorate=200,elapsed={elapsed},interval=1\n"
        )
    };
    lab.write("job", job(2));
    lab.write("long", job(8));
    let mut going = lab.start(&["vdbench", "-f", "long", "-o", "out"]);
    going.read_until(|line| line.contains("Starting RD=rd1"));
    going
}

fn attempt(lab: &Lab, case: &str, verdicts: &mut Verdicts) {
    let going = first(lab, "disk");
    for (door, words) in SECOND {
        let second = lab.fathom(words);
        let outcome = match second.code {
            Some(3) => Ok(()),
            code => Err(format!(
                "exit code {code:?}: {}",
                super::first_error(&second)
            )),
        };
        verdicts.note(&format!("second execution on {case}, {door}"), outcome);
    }
    let ended = going.end();
    let is_unharmed = ended.code == Some(0) && ended.out.contains("completed successfully");
    let outcome = is_unharmed
        .then_some(())
        .ok_or(format!("{:?}: {}", ended.code, ended.err));
    verdicts.note(&format!("first execution on {case}"), outcome);
}

#[test]
fn the_second_of_two_executions_is_refused() {
    let mut verdicts = Verdicts::default();
    let lab = Lab::new();
    attempt(&lab, "a file just made", &mut verdicts);
    let lab = Lab::new();
    sparse(&lab, "disk", BYTES);
    attempt(&lab, "a file that was there", &mut verdicts);
    match no_loops() {
        Some(reason) => skip(reason),
        None => {
            let lab = Lab::new();
            let device = Loop::over(&sparse(&lab, "image", BYTES));
            std::os::unix::fs::symlink(&device.device, lab.path("disk")).unwrap();
            attempt(&lab, "a device", &mut verdicts);
            drop(device);
        }
    }
    verdicts.judge();
}

/// Writes by the line of fio, in a process that `wrap` starts.
fn writes(lab: &Lab, wrap: &[&str], target: &Path) -> crate::lab::Ended {
    let mut words = wrap.to_vec();
    let name = format!("--filename={}", target.display());
    words.extend([FATHOM, "fio", "--name=j", "--rw=write", "--bs=4k"]);
    words.extend(["--size=256k", "--result=second", &name]);
    let (program, rest) = words.split_first().unwrap();
    ended(lab.command(program).args(rest))
}

/// While the first writes `written`, each of the others is refused. Loop devices over `over` are made once it runs.
fn behind(
    lab: &Lab,
    (what, written): (&str, &Path),
    others: &[&Path],
    over: &[&Path],
    verdicts: &mut Verdicts,
) {
    // Who does not see the processes of others does not see their locks either, and has to try.
    let alone: &[&str] = &["unshare", "--pid", "--fork", "--mount-proc"];
    let going = first(lab, &written.display().to_string());
    let new: Vec<Loop> = over.iter().map(|below| Loop::over(below)).collect();
    let others = others.iter().copied();
    for other in others.chain(new.iter().map(|new| &*new.device)) {
        for wrap in [&[][..], alone] {
            let second = writes(lab, wrap, other);
            let outcome = match second.code {
                Some(3) => Ok(()),
                code => Err(format!("exit code {code:?}")),
            };
            let how = wrap.first().unwrap_or(&"");
            let other = other.display();
            verdicts.note(&format!("{what}, second on {other} {how}"), outcome);
        }
    }
    let outcome = super::passed(&going.end());
    verdicts.note(&format!("{what}, first"), outcome);
}

#[test]
fn what_stands_behind_a_loop_device_is_written_by_one_execution() {
    if let Some(reason) = no_loops() {
        return skip(reason);
    }
    if !has("unshare") {
        return skip("`unshare` is missing");
    }
    let lab = Lab::new();
    let mut verdicts = Verdicts::default();
    let file = sparse(&lab, "image", BYTES);
    let link = lab.path("other-name");
    std::fs::hard_link(&file, &link).unwrap();
    let (file, link) = (&*file, &*link);
    behind(
        &lab,
        ("a file", file),
        &[link],
        &[file, link],
        &mut verdicts,
    );
    let lower = Loop::over(file);
    let below = &*lower.device;
    let case = ("a loop device", below);
    behind(
        &lab,
        case,
        &[file, link],
        &[file, link, below],
        &mut verdicts,
    );
    let upper = Loop::over(below);
    let case = ("a loop device on another", &*upper.device);
    let others = [below, file, link];
    behind(&lab, case, &others, &[below, file], &mut verdicts);
    // All of it is free again.
    drop(upper);
    let outcome = super::passed(&writes(&lab, &[], below));
    verdicts.note("afterwards, the loop device", outcome);
    drop(lower);
    let outcome = super::passed(&writes(&lab, &[], link));
    verdicts.note("afterwards, the file", outcome);
    verdicts.judge();
}

#[test]
fn what_stands_behind_a_loop_device_is_held_as_long_as_it_is_written() {
    if let Some(reason) = no_loops() {
        return skip(reason);
    }
    let lab = Lab::new();
    let file = sparse(&lab, "image", BYTES);
    let lower = Loop::over(&file);
    let upper = Loop::over(&lower.device);
    let exclusively = || {
        let mut options = std::fs::OpenOptions::new();
        options.read(true).custom_flags(O_EXCL).open(&lower.device)
    };
    let open = std::fs::File::open(&file).unwrap();
    exclusively().unwrap();
    let going = first(&lab, &upper.text());
    let (claimed, locked) = (exclusively(), open.try_lock());
    going.end().expect(0);
    let busy = claimed.unwrap_err().kind();
    assert_eq!(busy, std::io::ErrorKind::ResourceBusy);
    assert!(locked.is_err());
    exclusively().unwrap();
    open.try_lock().unwrap();
}

/// So many files that their claims would not find descriptors.
fn files() -> usize {
    if is_long() { 20_000 } else { 2_000 }
}

fn create(lab: &Lab, more: &str) -> std::process::Command {
    let files = files();
    let mut shell = lab.command("sh");
    let job = format!(
        "ulimit -n 256; exec {FATHOM} fio --name=j --ioengine=filecreate --nrfiles={files} --filesize=4k \
         --openfiles=1 --output=report {more}"
    );
    shell.args(["-c", &job]);
    shell
}

#[test]
fn more_files_than_may_be_open_are_claimed() {
    let lab = Lab::new();
    // Five seconds.
    let rate = format!("--rate_iops={} --result=first", files() / 5);
    let mut first = create(&lab, &rate)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while !lab.path("j.0.100").exists() {
        assert!(first.try_wait().unwrap().is_none(), "it ends too early");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let second = ended(&mut create(&lab, "--result=second"));
    second
        .expect(3)
        .says(&["another execution of Fathom is writing to it"]);
    assert!(first.wait().unwrap().success());
    let made = lab
        .names(".")
        .into_iter()
        .filter(|name| name.starts_with("j.0."));
    assert_eq!(made.count(), files());
    // All of them are there now, and every one is locked and let go.
    let third = ended(&mut create(&lab, "--result=third")).expect(0);
    assert!(!third.err.contains("not locked against"), "{}", third.err);
}

fn with_256_files(lab: &Lab, words: &str) -> std::process::Command {
    let files = files();
    let mut shell = lab.command("sh");
    let job = format!(
        "ulimit -n 256; exec {FATHOM} fio --name=j --nrfiles={files} --output-format=json {words}"
    );
    shell.args(["-c", &job]);
    shell
}

/// Twice as many I/Os as files, each checked by what it reads back: no file is mistaken for another.
#[test]
fn more_files_than_may_be_open_are_made_written_read_and_removed() {
    let lab = Lab::in_memory();
    let mut verdicts = Verdicts::default();
    let size = format!("--bs=4k --size={}k", files() * 8);
    let jobs = [
        "--ioengine=filestat --filesize=8k --result=1".to_owned(),
        format!("--ioengine=psync --rw=write --verify=crc32c --result=2 {size}"),
        format!(
            "--ioengine=io_uring --iodepth=32 --rw=randwrite --verify=crc32c --result=3 {size}"
        ),
        format!("--ioengine=libaio --iodepth=16 --rw=randwrite --verify=crc32c --result=4 {size}"),
        format!("--ioengine=mmap --rw=read --openfiles=1 --result=5 {size}"),
    ];
    for words in &jobs {
        let ended = ended(&mut with_256_files(&lab, words));
        if ended.err.contains("io_uring refused") {
            skip("no io_uring here");
            continue;
        }
        let is_right = ended.code == Some(0)
            && ended.out.contains("\"error\" : 0,")
            && !ended.err.contains("not locked against");
        let outcome = is_right.then_some(());
        verdicts.note(
            words,
            outcome.ok_or(format!("{:?}: {}", ended.code, ended.err)),
        );
    }
    let others = Lab::in_memory();
    let removal = ended(&mut with_256_files(
        &others,
        "--ioengine=filedelete --filesize=4k",
    ));
    let left = others.names(".");
    let is_gone = removal.code == Some(0) && !left.iter().any(|name| name.starts_with("j.0."));
    let outcome = is_gone.then_some(());
    verdicts.note(
        "filedelete",
        outcome.ok_or(format!("{:?}: {}", removal.code, removal.err)),
    );
    verdicts.judge();
}

#[test]
fn two_executions_write_as_many_files_at_once_unless_they_are_the_same() {
    let lab = Lab::in_memory();
    let job = |more: &str| {
        let words = format!(
            "--ioengine=psync --rw=randwrite --filesize=4k --time_based --runtime=8 {more}"
        );
        with_256_files(&lab, &words)
    };
    let mut first = job("--result=first --filename_format=one.\\$filenum")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while !lab.path(&format!("one.{}", files() - 1)).exists() {
        assert!(first.try_wait().unwrap().is_none(), "it ends too early");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let same = job("--result=same --filename_format=one.\\$filenum");
    ended(&mut { same })
        .expect(3)
        .says(&["another execution of Fathom is writing to it"]);
    ended(&mut job(
        "--result=other --filename_format=other.\\$filenum --runtime=1",
    ))
    .expect(0);
    assert!(first.wait().unwrap().success());
}
