//! What stands at a path is exchanged at chosen moments: nothing foreign changes, and the reason is told. The moments are
//! those of `door::moments`, which only builds with assertions have.
use crate::guard::loop_device;
use crate::lab::{Ended, FATHOM, Lab, ended, must, skip};
use crate::stop::OnDrop;

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
    let job = ["--filename=node", "--rw=write", "--bs=4k", "--size=64k"];
    let node = |device: &str| {
        use std::os::unix::fs::MetadataExt;
        let number = std::fs::metadata(device).unwrap().rdev();
        let (major, minor) = (number >> 8 & 0xfff, number & 0xff);
        format!("rm -f node; mknod node b {major} {minor}")
    };
    let link = |device: &str| format!("ln -sfn {device} node");
    for moment in ["claim", "examine", "run", "open"] {
        for way in [&node as &dyn Fn(&str) -> String, &link] {
            must(
                "sh",
                &[
                    "-c",
                    &format!("cd {}; {}", lab.path("").display(), way(&blank)),
                ],
            );
            let ended = at(&lab, moment, &way(&theirs), &job);
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
