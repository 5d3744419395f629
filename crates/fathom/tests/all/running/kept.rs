//! What becomes of a daemon whose test is killed: this test runs once more in a process that it kills.
use crate::lab::{Lab, skip};
use crate::named::{self, begun};
use crate::served::Served;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Set for the process that is killed.
const VICTIM: &str = "FATHOM_KEEPER_VICTIM";

const NAME: &str = "running::kept::a_stopped_daemon_goes_with_a_killed_test";

/// Stops its daemon, tells what to look for, and waits to be killed.
fn stop_and_wait() {
    let lab = Lab::new();
    let served = match Served::new(&lab, "served", &["memory", "16M"]) {
        Ok(served) => served,
        Err(reason) => return println!("\nnone {reason}"),
    };
    served.signal("STOP");
    let mount = lab.path("served/disk").display().to_string();
    println!("\nvictim {} {mount}", served.id());
    std::thread::sleep(Duration::from_secs(60));
}

/// The state of a process, unless its number belongs to another one by now.
fn state(id: u32, since: u64) -> Option<char> {
    let text = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (_, fields) = text.rsplit_once(") ")?;
    (begun(id) == Some(since)).then(|| fields.chars().next().unwrap())
}

fn is_mounted(path: &str) -> bool {
    std::fs::read_to_string("/proc/mounts")
        .unwrap()
        .contains(path)
}

#[test]
fn a_stopped_daemon_goes_with_a_killed_test() {
    if std::env::var_os(VICTIM).is_some() {
        return stop_and_wait();
    }
    let lab = Lab::new();
    std::fs::create_dir(lab.path("inner")).unwrap();
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args([NAME, "--exact", "--nocapture"])
        .env(VICTIM, "1")
        .env("TMPDIR", lab.path("inner"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(victim.stdout.take().unwrap()).lines();
    let told = lines.find_map(|line| {
        let line = line.unwrap();
        let is_it = line.starts_with("victim ") || line.starts_with("none ");
        is_it.then_some(line)
    });
    let told = told.expect("the victim tells what it has made");
    let (word, rest) = told.split_once(' ').unwrap();
    if word == "none" {
        victim.wait().unwrap();
        return skip(rest);
    }
    let (id, mount) = rest.split_once(' ').unwrap();
    let id: u32 = id.parse().unwrap();
    let since = begun(id).unwrap();
    // It stops a moment after the signal.
    let stopped = Instant::now();
    while state(id, since) != Some('T') {
        assert!(stopped.elapsed() < Duration::from_secs(30), "{told}");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(is_mounted(mount));
    let (old, new) = (format!("-{}-", std::process::id()), victim.id().to_string());
    assert!(named::prefix().contains(&old) && mount.contains(&format!("fathom-lab-{new}-")));
    victim.kill().unwrap();
    victim.wait().unwrap();
    let killed = Instant::now();
    while is_mounted(mount) || !matches!(state(id, since), None | Some('Z')) {
        assert!(killed.elapsed() < Duration::from_secs(30), "{told}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
