//! What the `blkid` program says. It adds to our own findings and never takes one away; without it nothing is lost.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;
use std::{fs, thread};

use door::waiting;
use rustix::fs::{MemfdFlags, memfd_create};

use super::content::{BLOCK_BYTES, Content};

/// Where the program usually is when a user's search path leaves out the administrator's directories.
const PLACES: &[&str] = &["blkid", "/usr/sbin/blkid", "/sbin/blkid"];
/// blkid(8): several signatures of equal weight.
const AMBIVALENT: i32 = 8;

/// Files of a plan that it is asked about. Each question is a process of some milliseconds, and what it knows of lies
/// at the ends of a file, of which our own look leaves no block out.
const FILES_ASKED_ABOUT: usize = 64;
/// More than it looks at.
const END_BYTES: u64 = 8 << 20;

/// How often it is looked whether the program has read something.
const READS_POLL: Duration = Duration::from_millis(200);

/// Who is asked, and about how many files still.
#[derive(Debug)]
pub(crate) struct SecondOpinion {
    ask: fn(&Path) -> Vec<String>,
    files_left: Cell<usize>,
}

impl SecondOpinion {
    pub(crate) fn new(ask: fn(&Path) -> Vec<String>) -> Self {
        Self {
            ask,
            files_left: Cell::new(FILES_ASKED_ABOUT),
        }
    }

    /// What to ask about a device.
    pub(crate) fn of_device(&self) -> fn(&Path) -> Vec<String> {
        self.ask
    }

    /// What to ask about a file: nothing but of the first ones.
    pub(crate) fn of_file(&self) -> fn(&Path) -> Vec<String> {
        let left = self.files_left.get();
        if left == 0 {
            return |_| Vec::new();
        }
        self.files_left.set(left - 1);
        self.ask
    }
}

/// Types that the program names for a device or file, such as `ext4 (filesystem)` or `gpt (partition table)`.
pub(crate) fn ask(real_path: &Path) -> Vec<String> {
    for place in PLACES {
        let mut command = Command::new(place);
        command.args(["-p", "-o", "export"]).arg(real_path);
        let Ok(output) = output_of(&mut command) else {
            continue;
        };
        if output.status.code() == Some(AMBIVALENT) {
            return vec!["several signatures at once".to_owned()];
        }
        return parse(&String::from_utf8_lossy(&output.stdout));
    }
    Vec::new()
}

/// What a program prints. What it reads counts as an answer of the target that it looks at.
fn output_of(command: &mut Command) -> io::Result<Output> {
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let child = command.stderr(Stdio::null()).spawn()?;
    let counters = format!("/proc/{}/io", child.id());
    let waiting = waiting::shared();
    let (ended, end) = mpsc::channel();
    thread::scope(|scope| {
        let look = move || waiting.within(|| note_reads(&counters, &end));
        // Without a thread the program is waited for as one call is.
        let _ = thread::Builder::new().spawn_scoped(scope, look);
        let output = child.wait_with_output();
        drop::<mpsc::Sender<()>>(ended);
        output
    })
}

fn note_reads(counters: &str, end: &Receiver<()>) {
    let mut before = None;
    while end.recv_timeout(READS_POLL) == Err(RecvTimeoutError::Timeout) {
        let now = fs::read_to_string(counters).ok();
        if now.is_some() && now != before {
            waiting::answered();
            before = now;
        }
    }
}

/// The same of both ends of what is left of a target without what is known to be ours. Where that cannot be asked, it is
/// said so.
pub(crate) fn of_others(others: &Content<'_>, ask: fn(&Path) -> Vec<String>) -> Vec<String> {
    let asked = copy_of_ends(others).map(|copy| {
        let (process, descriptor) = (std::process::id(), copy.as_raw_fd());
        ask(Path::new(&format!("/proc/{process}/fd/{descriptor}")))
    });
    asked.unwrap_or_else(|error| {
        vec![format!(
            "something, and a copy for it cannot be made: {error}"
        )]
    })
}

/// A file in memory, as long as the target, with its ends.
fn copy_of_ends(content: &Content<'_>) -> io::Result<File> {
    let copy = File::from(memfd_create("ends", MemfdFlags::CLOEXEC)?);
    let bytes = content.bytes();
    let tail = bytes.saturating_sub(END_BYTES).max(END_BYTES.min(bytes));
    for (low, end) in [(0, END_BYTES.min(bytes)), (tail, bytes)] {
        for at in (low..end).step_by(BLOCK_BYTES as usize) {
            let len = BLOCK_BYTES.min(end - at) as usize;
            let block = content
                .get(at, len)
                .ok_or_else(|| io::Error::other("it cannot be read"))?;
            if block.iter().any(|byte| *byte != 0) {
                copy.write_all_at(&block, at)?;
            }
        }
    }
    if copy.metadata()?.len() < bytes {
        copy.write_all_at(&[0], bytes - 1)?;
    }
    Ok(copy)
}

fn parse(text: &str) -> Vec<String> {
    let value = |key: &str| {
        text.lines()
            .filter_map(|line| line.split_once('='))
            .find(|(name, value)| *name == key && !value.is_empty())
            .map(|(_, value)| value)
    };
    let named = |kind: String, uuid: &str, label: &str| {
        let uuid = value(uuid).map(|uuid| format!(", UUID {uuid}"));
        let label = value(label).map(|label| format!(", label `{label}`"));
        kind + &uuid.unwrap_or_default() + &label.unwrap_or_default()
    };
    let mut types = Vec::new();
    if let Some(kind) = value("TYPE") {
        let kind = match value("USAGE") {
            Some(usage) => format!("{kind} ({usage})"),
            None => kind.to_owned(),
        };
        types.push(named(kind, "UUID", "LABEL"));
    }
    if let Some(kind) = value("PTTYPE") {
        types.push(named(format!("{kind} (partition table)"), "PTUUID", ""));
    }
    types
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_taken_and_the_rest_left() {
        let text = "DEVNAME=/dev/x\nLABEL=TYPE\\=no\nUUID=12-34\nTYPE=ext4\nUSAGE=filesystem\nPTUUID=56\nPTTYPE=dos\n";
        let expected = [
            "ext4 (filesystem), UUID 12-34, label `TYPE\\=no`",
            "dos (partition table), UUID 56",
        ];
        assert_eq!(parse(text), expected);
        assert!(parse("DEVNAME=/dev/x\nPART_ENTRY_TYPE=0x83\n").is_empty());
    }

    #[test]
    fn it_is_asked_about_every_device_and_the_first_files() {
        let opinion = SecondOpinion::new(|_| vec!["ext4 (filesystem)".to_owned()]);
        let answers = (0..10_000).map(|_| opinion.of_file()(Path::new("/some/file")).len());
        assert_eq!(answers.sum::<usize>(), FILES_ASKED_ABOUT);
        assert_eq!(
            opinion.of_device()(Path::new("/dev/x")),
            ["ext4 (filesystem)"]
        );
    }
}
