//! The matrix of the guard: contents × doors, targets in use, paths, words, and two executions at once. A refused
//! target is the same afterwards, by the digest of all of its bytes. Devices and files are made here; what a machine
//! lacks is skipped with a reason.
//!
//! Exchange of a target at a chosen moment needs a hook of the test build, and gets a module beside these.
mod contents;
mod doors;
mod paths;
mod together;
mod used;

use crate::lab::{Ended, Lab, has, is_root, must};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Of every target.
const BYTES: u64 = 64 << 20;

/// Cases that fail today, by what their names contain, each with what it waits for. A row whose cases pass has to leave
/// this table.
const WAITING: &[(&[&str], &str)] = &[
    (&[", file, extend"], "extension asks as overwriting does"),
    (
        &["zapped ", ", device, "],
        "signatures are looked for at the usual starts of partitions",
    ),
    (
        &["second loop device on that file, ", ", named"],
        "what stands behind a loop device is examined as if it were the target",
    ),
    (
        &["loop device on a mounted one, ", ", named"],
        "what stands behind a loop device is examined as if it were the target",
    ),
    (
        &["second execution on a file just made, "],
        "what an execution makes is claimed when it is made",
    ),
];

/// What came of the cases of one part of the matrix.
#[derive(Default)]
struct Verdicts {
    passed: BTreeSet<String>,
    failed: Vec<(String, String)>,
}

impl Verdicts {
    /// `outcome` is what was wrong.
    fn note(&mut self, case: &str, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => drop(self.passed.insert(case.to_owned())),
            Err(wrong) => self.failed.push((case.to_owned(), wrong)),
        }
    }

    /// Fails unless exactly the cases fail that wait for something.
    #[track_caller]
    fn judge(self) {
        println!("{} cases", self.passed.len() + self.failed.len());
        let is_it = |case: &str, parts: &[&str]| parts.iter().all(|part| case.contains(part));
        let waits = |case: &str| WAITING.iter().find(|(parts, _)| is_it(case, parts));
        let mut wrong = Vec::new();
        for (case, what) in &self.failed {
            match waits(case) {
                Some((_, reason)) => println!("fails until {reason}: {case}"),
                None => wrong.push(format!("{case}: {what}")),
            }
        }
        let passed = self.passed.iter().filter(|case| waits(case).is_some());
        wrong.extend(passed.map(|case| format!("{case}: passes now; take it out of `WAITING`")));
        assert!(
            wrong.is_empty(),
            "{} wrong:\n{}",
            wrong.len(),
            wrong.join("\n")
        );
    }
}

/// Of all bytes of a file or device, and their number.
fn digest(path: &Path) -> String {
    let path = path.display().to_string();
    let told = must("sha256sum", &["--", &path]);
    // A name with a line end is told with a backslash in front of the sum.
    told.trim_start_matches('\\').chars().take(64).collect()
}

/// Refused by the guard, with nothing changed.
fn refused(ended: &Ended, before: &str, path: &Path) -> Result<(), String> {
    let after = digest(path);
    if after != before {
        return Err(format!("it was changed (exit code {:?})", ended.code));
    }
    match ended.code {
        Some(3) => Ok(()),
        code => Err(format!("exit code {code:?}: {}", first_error(ended))),
    }
}

fn passed(ended: &Ended) -> Result<(), String> {
    match ended.code {
        Some(0) => Ok(()),
        code => Err(format!("exit code {code:?}: {}", first_error(ended))),
    }
}

fn first_error(ended: &Ended) -> String {
    let lines = ended.err.lines().chain(ended.out.lines());
    let mut lines = lines.filter(|line| line.contains("error") || line.contains("panicked"));
    lines.next().unwrap_or_default().to_owned()
}

/// A loop device over a file, detached with its value.
struct Loop {
    device: PathBuf,
}

impl Loop {
    fn over(file: &Path) -> Self {
        let file = file.display().to_string();
        let device = must("losetup", &["-f", "--show", &file]);
        Self {
            device: PathBuf::from(device.trim()),
        }
    }

    fn text(&self) -> String {
        self.device.display().to_string()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = std::process::Command::new("losetup")
            .args(["-d", &self.text()])
            .status();
    }
}

/// Why there are no loop devices here.
fn no_loops() -> Option<&'static str> {
    if !is_root() {
        return Some("loop devices need root");
    }
    let missing = !has("losetup") || !has("mount") || !has("mkfs.ext4");
    if missing {
        return Some("`losetup`, `mount` or `mkfs.ext4` is missing");
    }
    let free = std::process::Command::new("losetup").arg("-f").output();
    (!free.is_ok_and(|output| output.status.success())).then_some("no loop device is free")
}

/// A copy that keeps the holes.
fn copy(from: &Path, to: &Path) {
    let [from, to] = [from, to].map(|path| path.display().to_string());
    must(
        "cp",
        &["--sparse=always", "--reflink=auto", "--", &from, &to],
    );
}

fn sparse(lab: &Lab, name: &str, bytes: u64) -> PathBuf {
    let file = std::fs::File::create(lab.path(name)).unwrap();
    file.set_len(bytes).unwrap();
    lab.path(name)
}
