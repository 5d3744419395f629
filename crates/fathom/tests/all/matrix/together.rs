//! Two executions at once: the second is refused, and the first does not notice.
use super::{BYTES, Loop, Verdicts, no_loops, sparse};
use crate::lab::{FATHOM, Going, Lab, ended, skip};
use std::process::Stdio;

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
    let job = |elapsed: u32| {
        format!(
            "sd=sd1,lun={target},size=64m,threads=2\nwd=wd1,sd=sd1,xfersize=4k,rdpct=0\n\
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

/// So many files that their claims would not find descriptors.
const FILES: usize = 20_000;

fn create(lab: &Lab, more: &str) -> std::process::Command {
    let mut shell = lab.command("sh");
    let job = format!(
        "ulimit -n 256; exec {FATHOM} fio --name=j --ioengine=filecreate --nrfiles={FILES} --filesize=4k \
         --openfiles=1 --output=report {more}"
    );
    shell.args(["-c", &job]);
    shell
}

#[test]
fn twenty_thousand_files_are_claimed_where_256_may_be_open() {
    let lab = Lab::new();
    let mut first = create(&lab, "--rate_iops=4000 --result=first")
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
    assert_eq!(made.count(), FILES);
    // All of them are there now, and every one is locked and let go.
    let third = ended(&mut create(&lab, "--result=third")).expect(0);
    assert!(!third.err.contains("not kept locked"), "{}", third.err);
}
