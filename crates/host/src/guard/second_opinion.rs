//! What the `blkid` program says. It adds to our own findings and never takes one away; without it nothing is lost.

use std::path::Path;
use std::process::{Command, Stdio};

/// Where the program usually is when a user's search path leaves out the administrator's directories.
const PLACES: &[&str] = &["blkid", "/usr/sbin/blkid", "/sbin/blkid"];
/// blkid(8): several signatures of equal weight.
const AMBIVALENT: i32 = 8;

/// Types that it names for a device or file, such as `ext4 (filesystem)` or `gpt (partition table)`.
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
}
