//! One file that several hosts use, missing or there: one of them makes it, and all use it.
use crate::lab::{Ended, FATHOM, Lab, ended};

/// Runs what it is given after the name of a host.
const LAUNCHER: &str = "#!/bin/sh\nshift\nexec \"$@\"\n";

fn lab() -> Lab {
    let lab = Lab::new();
    lab.write_script("launch", LAUNCHER);
    std::fs::create_dir(lab.path("shared")).unwrap();
    std::os::unix::fs::symlink(lab.path("shared"), lab.path("link")).unwrap();
    lab
}

fn fathom(lab: &Lab, words: &[&str]) -> Ended {
    let mut fathom = lab.command(FATHOM);
    fathom.args(words).env("HOME", lab.path("home"));
    ended(fathom.args(["--launcher", "./launch {host}"]))
}

const JOB: &str = "[j]\nfilename=shared/one\nsize=1m\nbs=4k\nrw=randrw\nioengine=psync\n";

#[test]
fn a_file_of_hosts_is_made_by_one_of_them() {
    let lab = lab();
    lab.write("job.fio", JOB);
    let on_hosts = ["run", "job.fio", "-o", "out", "--hosts", "a,b"];
    // The second time it is there.
    for _ in 0..2 {
        fathom(&lab, &on_hosts).expect(0);
        assert_eq!(lab.length("shared/one"), 1 << 20);
    }
    lab.remove("shared/one");
    let clients = ["fio", "--client=a", "job.fio", "--client=b", "job.fio"];
    fathom(&lab, &clients).expect(0);
    assert_eq!(lab.length("shared/one"), 1 << 20);
}

/// The larger one is made, whoever needs it, and under another path on each host.
#[test]
fn files_of_two_definitions_that_are_one_are_made_once() {
    let lab = lab();
    let path = |name: &str| lab.path(name).display().to_string();
    let job = format!(
        "hd=a,system=a\nhd=b,system=b\nsd=sd1,host=a,lun={},size=1m\nsd=sd2,host=b,lun={},size=2m\n\
         wd=w,sd=sd*,xfersize=4k,rdpct=50\nrd=r,wd=w,iorate=100,elapsed=2\n",
        path("shared/one"),
        path("link/one")
    );
    lab.write("job", job);
    fathom(&lab, &["run", "job", "-o", "out"]).expect(0);
    assert_eq!(lab.length("shared/one"), 2 << 20);
}

#[test]
fn files_of_clients_lie_side_by_side_in_one_folder() {
    let lab = lab();
    std::fs::create_dir(lab.path("shared/new")).unwrap();
    lab.write(
        "job.fio",
        "[j]\ndirectory=shared/new\nsize=1m\nbs=4k\nrw=randwrite\nioengine=psync\n",
    );
    let clients = ["fio", "--client=a", "job.fio", "--client=b", "job.fio"];
    fathom(&lab, &clients).expect(0);
    let all = lab.names("shared/new");
    assert_eq!(all, ["a.j.0.0", "b.j.0.0"]);
    for name in all {
        assert_eq!(lab.length(&format!("shared/new/{name}")), 1 << 20);
    }
}

#[test]
fn what_two_hosts_would_write_and_check_is_refused_before_the_start() {
    let lab = lab();
    lab.write("job.fio", format!("{JOB}verify=crc32c\n"));
    let on_hosts = ["run", "job.fio", "-o", "out", "--hosts", "a,b"];
    fathom(&lab, &on_hosts)
        .expect(3)
        .says(&["host `b`: `shared/one@b` is the file that host `a` writes as `shared/one@a`"]);
    assert!(!lab.path("shared/one").exists() && !lab.path("out").exists());
    // One writes and checks, and others read.
    lab.write("read.fio", JOB.replace("randrw", "randread"));
    for jobs in [["job.fio", "read.fio"], ["read.fio", "job.fio"]] {
        let clients = ["fio", "--client=a", jobs[0], "--client=b", jobs[1]];
        fathom(&lab, &clients).expect(0);
        lab.remove("shared/one");
    }
}

/// Files that are written are made as the run is set up, on all hosts at once.
#[test]
fn the_file_of_writers_is_there_for_all_and_goes_with_the_job() {
    let lab = lab();
    for (name, size) in [("one.fio", "1m"), ("two.fio", "2m")] {
        let job = format!(
            "[j]\nfilename=shared/one\nsize={size}\nbs=4k\nrw=randwrite\nioengine=psync\nunlink=1\n"
        );
        lab.write(name, job);
    }
    for jobs in [["one.fio", "two.fio"], ["two.fio", "one.fio"]] {
        let clients = ["fio", "--client=a", jobs[0], "--client=b", jobs[1]];
        let ended = fathom(&lab, &clients).expect(0);
        assert!(!ended.err.contains("left in place"), "{}", ended.err);
        assert!(!lab.path("shared/one").exists());
    }
}
