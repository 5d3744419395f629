//! The matrix of the guard: contents × doors, targets in use, paths, words, and two executions at once. A refused
//! target is the same afterwards, by the digest of all of its bytes. Devices and files are made here; what a machine
//! lacks is skipped with a reason.
//!
//! What is exchanged at a chosen moment is in `exchange`.
mod contents;
mod doors;
mod ordinary;
mod paths;
mod together;
mod used;

use crate::lab::{Ended, Lab, has, is_root, must};
use std::path::{Path, PathBuf};

/// Of every target.
const BYTES: u64 = 64 << 20;

/// What came of the cases of one part of the matrix.
#[derive(Default)]
struct Verdicts {
    passed: usize,
    failed: Vec<(String, String)>,
}

impl Verdicts {
    /// `outcome` is what was wrong.
    fn note(&mut self, case: &str, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => self.passed += 1,
            Err(wrong) => self.failed.push((case.to_owned(), wrong)),
        }
    }

    /// Fails where any case did.
    #[track_caller]
    fn judge(self) {
        println!("{} cases", self.passed + self.failed.len());
        let wrong: Vec<String> = self
            .failed
            .iter()
            .map(|(case, what)| format!("{case}: {what}"))
            .collect();
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
    lines.next_back().unwrap_or_default().to_owned()
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
        // Whoever looks at all loop devices has this one open for a moment, and it goes when the last has closed it.
        let name = self.device.file_name().unwrap_or_default();
        let attached = Path::new("/sys/block").join(name).join("loop/backing_file");
        for _ in 0..500 {
            if !attached.exists() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
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
