//! Two executions at once: the second is refused, and the first does not notice.
use super::{BYTES, Loop, Verdicts, no_loops, sparse};
use crate::lab::{Going, Lab, skip};

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
