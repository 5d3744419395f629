//! What stands at a path is exchanged at chosen moments: nothing foreign changes, and the reason is told. The moments are
//! those of `door::moments`, which only builds with assertions have.
use crate::guard::held::loop_device;
use crate::keeper::Keeper;
use crate::lab::{Ended, FATHOM, Lab, ended, has, must, skip};
use crate::running::stop::OnDrop;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

const THEIRS: &str = "a letter that somebody else wrote\n";

/// Runs the face of fio where a command is carried out at a moment.
fn at(lab: &Lab, moment: &str, command: &str, job: &[&str]) -> Ended {
    let mut fathom = lab.command(FATHOM);
    fathom
        .arg("fio")
        .args(["--output=report", "--name=j"])
        .args(job);
    ended(fathom.env("FATHOM_TEST_MOMENT", format!("{moment}={command}")))
}

const WRITE: &[&str] = &["--filename=data", "--rw=write", "--bs=4k", "--size=64k"];

fn theirs_is_kept(lab: &Lab, name: &str) {
    assert_eq!(lab.text(name), THEIRS, "{name}");
}

#[test]
fn a_file_that_comes_before_the_claim_is_examined() {
    let lab = Lab::new();
    lab.write("theirs", THEIRS);
    at(&lab, "claim", "mv theirs data", WRITE)
        .expect(3)
        .says(&["data of unknown kind"]);
    theirs_is_kept(&lab, "data");
}

#[test]
fn a_file_that_comes_after_the_examination_is_not_written() {
    for (moment, command) in [
        ("examine", "mv theirs data"),
        ("run", "mv theirs data"),
        ("open", "mv theirs data"),
        ("run", "ln theirs data"),
        ("run", "ln -s theirs data"),
        ("run", "ln -s nowhere data"),
        ("open", "ln -s theirs data"),
    ] {
        let lab = Lab::new();
        lab.write("theirs", THEIRS);
        let refused = at(&lab, moment, command, WRITE).expect(3);
        refused.says(&["data` was missing when it was examined"]);
        let name = if command.starts_with("mv") {
            "data"
        } else {
            "theirs"
        };
        theirs_is_kept(&lab, name);
        assert!(!lab.path("nowhere").exists());
    }
}

#[test]
fn a_file_that_takes_the_place_of_what_is_filled_is_told() {
    // The first opening makes the file; the next one is a look whether it is still there when all is written.
    for command in ["mv theirs data", "ln -sf theirs data"] {
        let lab = Lab::new();
        lab.write("theirs", THEIRS);
        let mut fathom = lab.command(FATHOM);
        fathom.args(["prefill", "data", "--size", "1m"]);
        fathom.env("FATHOM_TEST_MOMENT", format!("open:2={command}"));
        let told = ended(&mut fathom).expect(3);
        let told = told.says(&["data` is no longer what was examined"]);
        assert!(!told.err.contains("not filled"), "{}", told.err);
        let name = if command.starts_with("mv") {
            "data"
        } else {
            "theirs"
        };
        theirs_is_kept(&lab, name);
    }
}

#[test]
fn a_file_that_takes_the_place_of_ours_before_a_later_job_is_not_written() {
    for command in ["mv theirs data", "ln -sf theirs data"] {
        let lab = Lab::new();
        lab.write("theirs", THEIRS);
        let mut job = WRITE.to_vec();
        job.extend(["--name=k", "--stonewall"]);
        job.extend(WRITE);
        // The first opening makes the file; the second belongs to the second job.
        let refused = at(&lab, "run:2", command, &job).expect(3);
        refused.says(&["data` is no longer what was examined"]);
        let name = if command.starts_with("mv") {
            "data"
        } else {
            "theirs"
        };
        theirs_is_kept(&lab, name);
    }
}

#[test]
fn a_file_that_holds_something_is_exchanged_for_one_that_was_blank() {
    let lab = Lab::new();
    lab.write("theirs", THEIRS);
    lab.write("data", [0; 65536]);
    at(&lab, "run", "mv theirs data", WRITE)
        .expect(3)
        .says(&["no longer what was examined"]);
    theirs_is_kept(&lab, "data");
    // Or it gets content in its place.
    lab.write("data", [0; 65536]);
    at(&lab, "run", "echo more >> data", WRITE)
        .expect(3)
        .says(&["was changed by another program"]);
    assert!(lab.bytes("data").ends_with(b"more\n"));
}

/// A disk image that a program exports as a file: each look at it tells the time of the look as that of its last change.
struct Exported(std::process::Child, Option<Keeper>);

impl Exported {
    fn new(lab: &Lab) -> Option<Self> {
        lab.write("image", vec![0; 1 << 20]);
        lab.write("data", "");
        let file = format!(
            "node-name=f,driver=file,filename={}",
            lab.path("image").display()
        );
        let export = format!(
            "type=fuse,id=e,node-name=f,writable=on,mountpoint={}",
            lab.path("data").display()
        );
        let mut command = lab.command("qemu-storage-daemon");
        command.args(["--blockdev", &file, "--export", &export]);
        let daemon = command.stderr(Stdio::null()).spawn().ok()?;
        let keeper = Keeper::of(&daemon, &lab.path("data"));
        let mut daemon = Self(daemon, Some(keeper));
        // Until it is there, the place is empty.
        while std::fs::metadata(lab.path("data")).ok()?.len() == 0 {
            if daemon.0.try_wait().ok()?.is_some() {
                return None;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(daemon)
    }
}

impl Drop for Exported {
    fn drop(&mut self) {
        self.1 = None;
        let _ = self.0.wait();
    }
}

#[test]
fn a_file_whose_time_of_change_is_made_up_was_not_changed() {
    let lab = Lab::new();
    if !has("qemu-storage-daemon") {
        return skip("qemu-storage-daemon is not there");
    }
    let Some(_exported) = Exported::new(&lab) else {
        return skip("nothing can be exported with FUSE here");
    };
    for _ in 0..2 {
        at(&lab, "run", "sleep 1.1", WRITE).expect(0);
    }
}

#[test]
fn what_took_the_place_of_ours_is_not_removed() {
    for (moment, command) in [
        ("remove", "mv theirs data"),
        ("set-aside", "mv theirs data"),
        ("remove", "ln -sf theirs data"),
        ("set-aside", "rm data; mkdir data; mv theirs data/theirs"),
    ] {
        let lab = Lab::new();
        lab.write("theirs", THEIRS);
        let mut job = WRITE.to_vec();
        job.push("--unlink=1");
        let done = at(&lab, moment, command, &job).expect(0);
        done.says(&["`data` is left in place: another file took the place"]);
        let name = match command {
            "mv theirs data" => "data",
            "ln -sf theirs data" => "theirs",
            _ => "data/theirs",
        };
        theirs_is_kept(&lab, name);
        let left = lab.names(".");
        assert!(
            !left.iter().any(|name| name.contains(".fathom")),
            "{left:?}"
        );
    }
    // Without an exchange it goes.
    let lab = Lab::new();
    let mut job = WRITE.to_vec();
    job.push("--unlink=1");
    at(&lab, "none", "false", &job).expect(0);
    assert!(!lab.names(".").contains(&"data".to_owned()));
}

#[test]
fn a_deletion_that_is_measured_goes_by_identity() {
    let lab = Lab::new();
    lab.write("theirs", THEIRS);
    let job = [
        "--ioengine=filedelete",
        "--nrfiles=4",
        "--filesize=4k",
        "--openfiles=1",
    ];
    let ended = at(
        &lab,
        "remove:2",
        "for f in j.0.*; do mv theirs $f; break; done",
        &job,
    );
    assert_ne!(ended.code, Some(0), "{}", ended.err);
    let names = lab.names(".");
    let kept: Vec<&String> = names
        .iter()
        .filter(|name| name.starts_with("j.0."))
        .collect();
    assert!(
        kept.iter().any(|name| lab.text(name) == THEIRS),
        "{names:?}"
    );
    assert!(
        !names.iter().any(|name| name.starts_with(".fathom")),
        "{names:?}"
    );
}

#[test]
fn an_exchange_while_files_are_made_or_deleted_is_the_last_thing_said() {
    for (engine, moment, command, reason) in [
        (
            "--ioengine=filedelete",
            "remove:2",
            "for f in j.0.*; do mv theirs $f; break; done",
            "was not removed: another file took the place",
        ),
        (
            "--ioengine=filecreate",
            "run",
            "mv theirs j.0.2",
            "another program has made it since",
        ),
    ] {
        let lab = Lab::new();
        lab.write("theirs", THEIRS);
        let job = [engine, "--nrfiles=4", "--filesize=4k", "--openfiles=1"];
        let ended = at(&lab, moment, command, &job).expect(3);
        let last = ended.err.lines().next_back().unwrap_or_default();
        let is_told = last.starts_with("error: ") && last.contains(reason);
        assert!(is_told, "{engine}: {}", ended.err);
        assert!(ended.err.contains("1 operation failed"), "{}", ended.err);
    }
}

#[test]
fn a_device_is_what_was_examined_whatever_its_path_leads_to() {
    let lab = Lab::new();
    let (blank, theirs) = match (loop_device(&lab, "blank"), loop_device(&lab, "disk")) {
        (Ok(blank), Ok(theirs)) => (blank, theirs),
        (Err(reason), _) | (_, Err(reason)) => return skip(reason),
    };
    let _detach = OnDrop(|| {
        must("losetup", &["-d", &blank]);
        must("losetup", &["-d", &theirs]);
    });
    must("mkfs.ext4", &["-q", "-F", &theirs]);
    let before = lab.bytes("disk");
    let write = ["--filename=node", "--rw=write", "--bs=4k", "--size=64k"];
    let later = [
        &write[..],
        &["--unlink=1", "--name=k", "--stonewall"],
        &write,
    ]
    .concat();
    let node = |device: &str| {
        use std::os::unix::fs::MetadataExt;
        let number = std::fs::metadata(device).unwrap().rdev();
        let (major, minor) = (number >> 8 & 0xfff, number & 0xff);
        format!("rm -f node; mknod node b {major} {minor}")
    };
    let link = |device: &str| format!("ln -sfn {device} node");
    for moment in ["claim", "examine", "run", "open", "run:2", "remove"] {
        for way in [&node as &dyn Fn(&str) -> String, &link] {
            must(
                "sh",
                &[
                    "-c",
                    &format!("cd {}; {}", lab.path("").display(), way(&blank)),
                ],
            );
            let ended = at(&lab, moment, &way(&theirs), &later);
            // A link is followed once; the device that it led to then is written.
            let is_written = ended.code == Some(0);
            assert!(
                is_written || ended.code == Some(3),
                "{moment}: {}",
                ended.err
            );
            assert_eq!(lab.bytes("disk"), before, "{moment}");
        }
    }
    drop(_detach);
}

/// The file behind a loop device is exchanged, and its name stays.
#[test]
fn a_loop_device_that_gets_another_file_is_not_what_was_examined() {
    let job = |device: &str| {
        let write = [
            format!("--filename={device}"),
            "--rw=write".to_owned(),
            "--bs=4k".to_owned(),
            "--size=64k".to_owned(),
        ];
        let again = ["--unlink=1", "--name=k", "--stonewall"].map(str::to_owned);
        [&write[..], &again, &write].concat()
    };
    for moment in ["claim", "examine", "run", "open", "run:2", "remove"] {
        let lab = Lab::new();
        let device = match loop_device(&lab, "blank") {
            Ok(device) => device,
            Err(reason) => return skip(reason),
        };
        let _detach = OnDrop(|| {
            // It may be gone by the command below, and another test may have a device of this name since.
            let name = device.trim_start_matches("/dev/");
            let behind = format!("/sys/block/{name}/loop/backing_file");
            let behind = std::fs::read_to_string(behind).unwrap_or_default();
            if Path::new(&behind).starts_with(lab.path("")) {
                let _ = ended(std::process::Command::new("losetup").args(["-d", &device]));
            }
        });
        let file = std::fs::File::create(lab.path("disk")).unwrap();
        file.set_len(16 << 20).unwrap();
        let disk = lab.path("disk").display().to_string();
        must("mkfs.ext4", &["-q", "-F", &disk]);
        let before = lab.bytes("disk");
        // Something else on the machine may look at the device in that moment.
        let times = if moment == "claim" { 30 } else { 1 };
        let exchange = format!(
            "losetup -d {device}; n=0; until losetup {device} {disk} || [ $((n+=1)) -ge {times} ]; do sleep 0.1; done"
        );
        let job = job(&device);
        let job: Vec<&str> = job.iter().map(String::as_str).collect();
        let ended = at(&lab, moment, &exchange, &job);
        // Once it is held, the kernel keeps the file behind it until the end.
        let is_known = matches!(ended.code, Some(0 | 3));
        assert!(is_known, "{moment}: {:?} {}", ended.code, ended.err);
        if moment == "claim" {
            assert_eq!(ended.code, Some(3), "{}", ended.err);
        }
        assert!(lab.bytes("disk") == before, "{moment}: {}", ended.err);
    }
}
