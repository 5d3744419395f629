//! A host whose cable is pulled before its first run is named in time, and nothing of it is left.
use crate::hosts::Hosts;
use crate::lab::{Lab, skip};
use std::time::{Duration, Instant};

/// What lasts before a host is given up, and how long it may take at most.
const TIMEOUT: &str = "10s";
const PATIENCE: Duration = Duration::from_secs(10);
const LATE: Duration = Duration::from_secs(20);

/// Pulls the cable of a host once `comes` has returned, and looks for what it was waited for.
fn pulled(rate: &str, more: &[&str], comes: impl Fn(&Hosts), words: &[&str]) {
    let lab = Lab::new();
    let hosts = match Hosts::new(&lab, 1) {
        Ok(hosts) => hosts,
        Err(reason) => return skip(&reason),
    };
    let file = lab.path("own/file").display().to_string();
    lab.write(
        "job",
        format!("sd=sd1,lun={file},size=2m\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=10,elapsed=2,interval=1\n"),
    );
    let address = hosts.address(0);
    // The copy comes before, where it may stay.
    let check = ["check", "job", "--connect", "--hosts", address];
    hosts.fathom(&lab, &check).expect(0);
    if let Err(reason) = hosts.narrow(0, rate) {
        return skip(&reason);
    }
    let common = ["run", "job", "--host-timeout", TIMEOUT, "--hosts", address];
    let going = hosts.start(&lab, &[&common, more].concat());
    comes(&hosts);
    hosts.set_cable(0, false);
    let since = Instant::now();
    let ended = going.end().expect_failure();
    let waited = since.elapsed();
    assert!((PATIENCE / 2..LATE).contains(&waited), "{waited:?} {ended}");
    let is_told = words.iter().any(|word| ended.err.contains(word));
    assert!(is_told && ended.err.contains(address), "{ended}");
    hosts.set_cable(0, true);
    hosts.wait_until_left();
}

fn sleep(seconds: u64) {
    std::thread::sleep(Duration::from_secs(seconds));
}

#[test]
fn while_its_shell_is_waited_for() {
    let comes = |_: &Hosts| sleep(1);
    pulled(
        "16kbit",
        &[],
        comes,
        &["its shell was waited for in vain for 10 s"],
    );
}

#[test]
fn while_the_program_is_copied() {
    let comes = |_: &Hosts| sleep(3);
    pulled(
        "8mbit",
        &["--no-keep"],
        comes,
        &["the copy of this program there was waited for in vain for 10 s"],
    );
}

#[test]
fn while_it_is_asked() {
    let comes = |hosts: &Hosts| {
        let since = Instant::now();
        while hosts.agent(0).is_none() {
            assert!(since.elapsed() < LATE, "no agent comes");
        }
        std::thread::sleep(Duration::from_millis(60));
    };
    // Its agent may not have said yet that it is there.
    pulled(
        "32kbit",
        &[],
        comes,
        &[
            "silent for 10 s while ",
            "its shell was waited for in vain for 10 s",
        ],
    );
}
