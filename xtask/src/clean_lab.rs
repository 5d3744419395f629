//! `cargo xtask clean-lab`: lists and removes what killed tests left: stopped programs, swap files, name spaces, mounts,
//! loop devices, folders.
//!
//! What a test makes carries `fathom-lab-PID-START-`: the process that owns it, and when that process started, in ticks
//! since the system did. A program that it starts has that in its environment. Only what carries such names of dead
//! processes alone is touched. A process in another name space of processes looks dead: run this beside the tests.
mod find;
#[cfg(test)]
mod tests;

use find::{Left, Machine};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Begins the name of what belongs to this process.
pub fn own_prefix() -> String {
    let id = std::process::id();
    let begun = Machine::real().begun(id).unwrap_or_default();
    format!("{}{id}-{begun}-", find::MARK)
}

/// What cannot be removed is listed and left.
pub fn run() -> Result<(), String> {
    let machine = Machine::real();
    if machine.begun(std::process::id()).is_none() {
        println!("clean-lab: cannot tell the living from the dead: /proc is unavailable");
        return Ok(());
    }
    let (removed, kept) = clean(&machine);
    println!("clean-lab: removed {removed}, could not remove {kept}");
    Ok(())
}

/// The number of things that were removed, and of those that were not. What uses another thing goes before it.
fn clean(machine: &Machine) -> (usize, usize) {
    let (mut removed, mut kept) = (0, 0);
    for stage in find::STAGES {
        for left in stage(machine) {
            match remove(machine, &left) {
                Ok(()) => {
                    println!("removed {left}");
                    removed += 1;
                }
                Err(reason) => {
                    println!("cannot remove {left}: {reason}");
                    kept += 1;
                }
            }
        }
    }
    (removed, kept)
}

fn remove(machine: &Machine, left: &Left) -> Result<(), String> {
    match left {
        Left::Process { id, begun, .. } => end(machine, *id, *begun),
        Left::Swap(path) => call(&["swapoff", path]),
        Left::NameSpace(name) => call(&["ip", "netns", "delete", name]),
        Left::Mount { at, is_fuse } => {
            let by_user = || match is_fuse {
                true => call(&["fusermount3", "-u", "-z", at]),
                false => Err(String::new()),
            };
            by_user().or_else(|_| call(&["umount", "-l", at]))
        }
        Left::Loop { device, .. } => call(&["losetup", "--detach", device]),
        Left::Path(path) => {
            let below = format!("{path}/");
            if let Some(at) = machine.mount_points().find(|at| at.starts_with(&below)) {
                return Err(format!("`{at}` is mounted below it"));
            }
            // A symbolic link is removed, not followed.
            let is_folder = std::fs::symlink_metadata(path).is_ok_and(|facts| facts.is_dir());
            let removed = match is_folder {
                true => std::fs::remove_dir_all(path),
                false => std::fs::remove_file(path),
            };
            removed.map_err(|error| error.to_string())
        }
    }
}

/// Resumes a process, so that nothing hangs on it, and kills it.
fn end(machine: &Machine, id: u32, begun: u64) -> Result<(), String> {
    let word = id.to_string();
    let sent = ["CONT", "KILL"].map(|signal| call(&["kill", "-s", signal, &word]));
    let since = Instant::now();
    while machine.is_alive(id, begun) {
        if since.elapsed() > Duration::from_secs(2) {
            let [_, killed] = sent;
            return killed.and_then(|()| Err("it was killed and has not ended yet".to_owned()));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// Runs a program that may hang on what it has to remove.
fn call(words: &[&str]) -> Result<(), String> {
    let output = Command::new("timeout")
        .args(["-k", "1", "10"])
        .args(words)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("`timeout` does not start: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    match said.lines().next() {
        Some(line) => Err(line.to_owned()),
        None => Err(format!("`{}` ended with {}", words[0], output.status)),
    }
}
