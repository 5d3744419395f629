//! Every content through every door.
use super::contents::{HELD, Made, target};
use super::{Loop, Verdicts, copy, digest, no_loops, passed, refused, sparse};
use crate::lab::{Ended, Lab, is_long, is_tried, must, skip};
use std::os::unix::fs::symlink;
use std::path::Path;

/// What a target is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Device,
}

/// Ways to a target that is always named `disk`.
const DOORS: &[&str] = &[
    "run", "curve", "prefill", "vdbench", "fio file", "fio line", "trim", "resume", "extend",
];

/// Goes through a door; `more` is the end of the command line.
fn go(lab: &Lab, door: &str, more: &[&str]) -> Ended {
    let with = |words: &[&str]| lab.fathom(&[words, more].concat());
    let line = [
        "fio",
        "--name=j",
        "--filename=disk",
        "--bs=4k",
        "--result=out",
    ];
    let _ = std::fs::remove_dir_all(lab.path("out"));
    match door {
        "run" => with(&["run", "job", "-o", "out"]),
        "vdbench" => with(&["vdbench", "-f", "job", "-o", "out"]),
        "curve" => with(&[
            "curve",
            "disk",
            "--read",
            "0",
            "--elapsed",
            "1",
            "--warmup",
            "0",
            "--points",
            "50",
            "-o",
            "out",
        ]),
        "prefill" => with(&["prefill", "disk", "--size", "64m", "-o", "out"]),
        "fio file" => with(&["fio", "--result=out", "job.fio"]),
        "fio line" => with(&[&line[..], &["--rw=randwrite", "--size=256k"]].concat()),
        "trim" => with(&[&line[..], &["--rw=trim", "--size=256k"]].concat()),
        "extend" => with(&[&line[..], &["--rw=read", "--size=66m", "--io_size=64k"]].concat()),
        "resume" => {
            let folder = lab.path("out").display().to_string();
            must(
                "cp",
                &["-a", &lab.path("killed").display().to_string(), &folder],
            );
            with(&["run", "--resume", "out"])
        }
        other => panic!("no door `{other}`"),
    }
}

/// A lab with jobs on `disk`, and a result of one that was killed in its second run.
fn lab() -> Lab {
    let lab = Lab::new();
    let job = |rates: &str, elapsed: u32| {
        format!(
            "sd=sd1,lun=disk,size=64m,threads=2\nwd=wd1,sd=sd1,xfersize=4k,rdpct=0\n\
             rd=rd1,wd=wd1,iorate={rates},elapsed={elapsed},interval=1\n"
        )
    };
    lab.write("job", job("50", 2));
    // Long enough to be killed in its second run on a busy machine.
    lab.write("two", job("(50,60)", 5));
    lab.write(
        "job.fio",
        "[j]\nfilename=disk\nrw=randwrite\nbs=4k\nsize=256k\n",
    );
    lab
}

/// The result of a job on the blank target that stands at `disk` now.
fn kill_in_the_second_run(lab: &Lab) {
    let mut going = lab.start(&["vdbench", "-f", "two", "-o", "killed"]);
    going.read_until(|line| line.contains("Starting RD=rd1") && line.contains("I/O rate: 60"));
    going.signal("KILL");
    going.end();
}

fn fits(door: &str, kind: Kind) -> bool {
    match door {
        // Of a whole device nothing grows, and only devices are trimmed.
        "extend" => kind == Kind::File,
        "trim" => kind == Kind::Device,
        _ => true,
    }
}

/// Puts what `made` makes in the place of `disk`.
fn stand(lab: &Lab, kind: Kind, made: Made) -> Result<Option<Loop>, String> {
    let _ = std::fs::remove_file(lab.path("disk"));
    if kind == Kind::File {
        target(lab, made, "disk")?;
        return Ok(None);
    }
    // A killed execution may still have writes on their way to the file of the device before.
    let _ = std::fs::remove_file(lab.path("image"));
    let image = target(lab, made, "image")?;
    let device = Loop::over(&image);
    symlink(&device.device, lab.path("disk")).unwrap();
    Ok(Some(device))
}

fn all_held(kind: Kind, called: &str, verdicts: &mut Verdicts) {
    let lab = lab();
    let blank = stand(&lab, kind, Made::Of(&[])).unwrap();
    kill_in_the_second_run(&lab);
    drop(blank);
    for (row, (content, made)) in HELD.iter().enumerate() {
        let doors = DOORS
            .iter()
            .enumerate()
            .filter(|(_, door)| fits(door, kind));
        let doors: Vec<&str> = doors
            .filter(|(column, _)| is_tried(row, *column))
            .map(|(_, door)| *door)
            .collect();
        let _device = match stand(&lab, kind, *made) {
            Ok(device) => device,
            Err(reason) => {
                skip(&format!("{content}: {reason}"));
                continue;
            }
        };
        let before = digest(&lab.path("disk"));
        for door in doors {
            let ended = go(&lab, door, &[]);
            let outcome = refused(&ended, &before, &lab.path("disk"));
            let is_whole = outcome.is_ok() || digest(&lab.path("disk")) == before;
            verdicts.note(&format!("{content}, {called}, {door}"), outcome);
            if !is_whole {
                restore(&lab, kind);
            }
        }
    }
}

/// After a case that harmed the target.
fn restore(lab: &Lab, kind: Kind) {
    if kind == Kind::File {
        std::fs::remove_file(lab.path("disk")).unwrap();
    }
    match kind {
        Kind::File => copy(&lab.path("template"), &lab.path("disk")),
        Kind::Device => {
            let [from, to] = ["template", "disk"].map(|name| lab.path(name).display().to_string());
            must(
                "dd",
                &[
                    &format!("if={from}"),
                    &format!("of={to}"),
                    "bs=1M",
                    "conv=fsync",
                ],
            );
        }
    }
}

#[test]
fn files_that_hold_something_are_refused_at_every_door() {
    let mut verdicts = Verdicts::default();
    all_held(Kind::File, "file", &mut verdicts);
    verdicts.judge();
}

#[test]
fn devices_that_hold_something_are_refused_at_every_door() {
    if let Some(reason) = no_loops() {
        return skip(reason);
    }
    let mut verdicts = Verdicts::default();
    all_held(Kind::Device, "device", &mut verdicts);
    verdicts.judge();
}

fn all_free(kind: Kind, called: &str, verdicts: &mut Verdicts) {
    let lab = lab();
    let _device = stand(&lab, kind, Made::Of(&[])).unwrap();
    kill_in_the_second_run(&lab);
    for (row, content) in ["blank", "ours"].into_iter().enumerate() {
        for (column, door) in DOORS.iter().enumerate() {
            // Each door has one of the two, and on a device the other than on a file.
            let is_its_turn = (row + column + usize::from(kind == Kind::Device)) % 2 == 0;
            if !fits(door, kind) || !(is_its_turn || is_long()) {
                continue;
            }
            if content == "blank" {
                blank(&lab, kind);
            } else if *door == "run" {
                passed(&go(&lab, "prefill", &["--restart"])).unwrap();
            }
            let ended = go(&lab, door, &[]);
            verdicts.note(&format!("{door}, {content} {called}"), passed(&ended));
        }
    }
}

fn blank(lab: &Lab, kind: Kind) {
    match kind {
        Kind::File => drop(sparse(lab, "disk", super::BYTES)),
        Kind::Device => {
            let to = format!("of={}", lab.path("disk").display());
            must(
                "dd",
                &["if=/dev/zero", &to, "bs=1M", "count=64", "conv=fsync"],
            );
        }
    }
}

#[test]
fn blank_files_and_our_own_pass_every_door() {
    let mut verdicts = Verdicts::default();
    all_free(Kind::File, "file", &mut verdicts);
    verdicts.judge();
}

#[test]
fn blank_devices_and_our_own_pass_every_door() {
    if let Some(reason) = no_loops() {
        return skip(reason);
    }
    let mut verdicts = Verdicts::default();
    all_free(Kind::Device, "device", &mut verdicts);
    verdicts.judge();
}

/// Words of the user, at every door: the right one frees, another one is a mistake.
#[test]
fn words_free_what_they_name_and_nothing_else() {
    let mut verdicts = Verdicts::default();
    let lab = lab();
    stand(&lab, Kind::File, Made::Text).unwrap();
    std::fs::rename(lab.path("disk"), lab.path("kept")).unwrap();
    sparse(&lab, "disk", super::BYTES);
    kill_in_the_second_run(&lab);
    lab.write("other", "something else");
    let whole = lab.path("disk").display().to_string();
    let doors = DOORS.iter().filter(|door| fits(door, Kind::File));
    for (row, door) in doors.enumerate() {
        copy(&lab.path("kept"), &lab.path("disk"));
        let before = digest(Path::new(&whole));
        for (column, word) in ["othe", "/dev/disk", "other"].into_iter().enumerate() {
            if row % 3 != column && !is_long() {
                continue;
            }
            let ended = go(&lab, door, &["--overwrite", word]);
            let outcome = match ended.code {
                Some(2) if digest(Path::new(&whole)) == before => Ok(()),
                code => Err(format!("exit code {code:?}, or changed")),
            };
            verdicts.note(&format!("misnamed `{word}`, {door}"), outcome);
        }
        let ended = go(&lab, door, &["--overwrite", &whole]);
        let is_changed = digest(Path::new(&whole)) != before;
        let outcome =
            passed(&ended).and_then(|()| is_changed.then_some(()).ok_or("not written".to_owned()));
        verdicts.note(&format!("named, {door}"), outcome);
    }
    verdicts.judge();
}
