//! What the `blkid` program says. It adds to our own findings and never takes one away; without it nothing is lost.

use std::cell::Cell;
use std::path::Path;
use std::process::{Command, Stdio};

/// Where the program usually is when a user's search path leaves out the administrator's directories.
const PLACES: &[&str] = &["blkid", "/usr/sbin/blkid", "/sbin/blkid"];
/// blkid(8): several signatures of equal weight.
const AMBIVALENT: i32 = 8;

/// Files of a plan that it is asked about. Each question is a process of some milliseconds, and what it knows of lies
/// at the ends of a file, of which our own look leaves no block out.
const FILES_ASKED_ABOUT: usize = 64;

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
        let output = Command::new(place)
            .args(["-p", "-o", "export"])
            .arg(real_path)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output();
        let Ok(output) = output else {
            continue;
        };
        if output.status.code() == Some(AMBIVALENT) {
            return vec!["several signatures at once".to_owned()];
        }
        return parse(&String::from_utf8_lossy(&output.stdout));
    }
    Vec::new()
}

fn parse(text: &str) -> Vec<String> {
    let value = |key: &str| {
        text.lines()
            .filter_map(|line| line.split_once('='))
            .find(|(name, value)| *name == key && !value.is_empty())
            .map(|(_, value)| value)
    };
    let mut types = Vec::new();
    if let Some(kind) = value("TYPE") {
        types.push(match value("USAGE") {
            Some(usage) => format!("{kind} ({usage})"),
            None => kind.to_owned(),
        });
    }
    if let Some(kind) = value("PTTYPE") {
        types.push(format!("{kind} (partition table)"));
    }
    types
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_taken_and_the_rest_left() {
        let text = "DEVNAME=/dev/x\nLABEL=TYPE\\=no\nTYPE=ext4\nUSAGE=filesystem\nPTTYPE=dos\n";
        assert_eq!(parse(text), ["ext4 (filesystem)", "dos (partition table)"]);
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
