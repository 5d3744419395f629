//! Commands of a job that run on its hosts: where they run, what comes back, and how they end.
use crate::lab::{Ended, FATHOM, Going, Lab, ended};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Each host has a home of its own, and says its name.
const LAUNCHER: &str =
    "#!/bin/sh\ncd \"home-$1\" || exit 1\nexport WHERE=\"$1\"\nshift\nexec \"$@\"\n";

fn lab(startcmd: &str, endcmd: &str) -> Lab {
    let lab = Lab::new();
    lab.write_script("launch", LAUNCHER);
    for host in ["a", "b", "c"] {
        std::fs::create_dir(lab.path(&format!("home-{host}"))).unwrap();
    }
    let path = |name: &str| lab.path(name).display().to_string();
    let job = format!(
        "startcmd=(\"echo $WHERE >> general\",slave)\nhd=a,system=a\nhd=b,system=b\nhd=c,system=c\n\
         sd=sd1,host=a,lun={},size=1m\nsd=sd2,host=b,lun={},size=1m\nsd=sd3,host=c,lun={},size=1m\n\
         wd=w,sd=(sd1,sd2),xfersize=4k,rdpct=50\nwd=w3,sd=sd3,xfersize=4k\n\
         rd=r,wd=w,iorate=100,elapsed=2,startcmd={startcmd},endcmd={endcmd}\n\
         rd=r3,wd=w3,iorate=100,elapsed=2\n",
        path("one"),
        path("two"),
        path("three")
    );
    lab.write("job", job);
    lab
}

fn fathom(lab: &Lab) -> Command {
    let mut fathom = lab.command(FATHOM);
    fathom.args(["run", "job", "-o", "out", "--launcher", "./launch {host}"]);
    fathom.env("HOME", lab.path("home"));
    fathom
}

fn run(lab: &Lab, words: &[&str]) -> Ended {
    ended(fathom(lab).args(words))
}

/// Until something is so; it may take a while on a busy machine.
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed().as_secs() < 30, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_command_runs_on_each_host_of_its_run() {
    let lab = lab(
        "(\"echo began on $WHERE; touch began\",slave,cons)",
        "(\"test $WHERE = a; exit $(( $? * 3 ))\",slave)",
    );
    let end = run(&lab, &[]).expect(0).says(&[
        "Cmd: a: began on a",
        "Cmd: b: began on b",
        "on host `b` ended with code 3",
    ]);
    assert!(!end.all().contains("on host `a` ended"));
    assert_eq!(lab.names("home-a"), ["began", "general"]);
    assert_eq!(lab.names("home-b"), ["began", "general"]);
    assert_eq!(lab.names("home-c"), ["general"]);
}

#[test]
fn a_command_that_takes_too_long_on_a_host_ends_the_execution() {
    let lab = lab("(\"test $WHERE = a || sleep 100\",slave)", "true");
    run(&lab, &["--command-timeout", "1"])
        .expect(1)
        .says(&["on host `b` was ended after 1 s"]);
}

/// Whoever ends it, and however: commands do not outlive the one that leads.
#[test]
fn a_command_on_hosts_ends_with_the_execution() {
    for signal in ["INT", "KILL"] {
        let lab = lab(
            "(\"echo $$ > new; mv new began; sleep 1000\",slave)",
            "true",
        );
        let going = Going::of(fathom(&lab));
        let began = ["home-a/began", "home-b/began"].map(|name| lab.path(name));
        wait_until("they begin", || began.iter().all(|one| one.exists()));
        going.signal(signal);
        let end = going.end();
        if signal == "INT" {
            end.expect(4);
        }
        for name in ["home-a/began", "home-b/began"] {
            let shell = format!("/proc/{}", lab.text(name).trim());
            wait_until("they end", || !Path::new(&shell).exists());
        }
    }
}

/// The launcher fails for the third host.
#[test]
fn a_host_that_nothing_uses_need_not_be_there() {
    let lab = lab("true", "true");
    let job = lab.text("job");
    std::fs::remove_dir(lab.path("home-c")).unwrap();
    run(&lab, &[]).expect_failure().says(&["host `c`"]);
    let run_of_c = job.find("rd=r3").unwrap();
    lab.write("job", &job[..run_of_c]);
    let told = run(&lab, &[])
        .expect(0)
        .says(&["no workload uses host `c`: it is not reached"]);
    assert!(!told.all().contains("home-c"), "{told}");
    assert_eq!(lab.names("home-b"), ["general"]);
}
