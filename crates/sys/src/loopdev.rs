//! Which file a loop device stands for, from sysfs.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, major, minor, stat};

/// The file behind a loop device, or behind the loop device of a partition; nothing for other devices and for a loop
/// device without a file. The kernel appends ` (deleted)` to the path of a file that is no longer there.
#[must_use]
pub fn backing_file(device: &Path) -> Option<PathBuf> {
    let facts = stat(device).ok()?;
    if FileType::from_raw_mode(facts.st_mode) != FileType::BlockDevice {
        return None;
    }
    let block = PathBuf::from(format!(
        "/sys/dev/block/{}:{}",
        major(facts.st_rdev),
        minor(facts.st_rdev)
    ));
    // A partition's directory lies inside its disk's; `..` follows the link to the real place.
    ["loop/backing_file", "../loop/backing_file"]
        .iter()
        .find_map(|name| {
            let mut path = fs::read(block.join(name)).ok()?;
            path.pop_if(|byte| *byte == b'\n');
            (!path.is_empty()).then(|| PathBuf::from(OsString::from_vec(path)))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_loop_device_names_its_file() {
        let file = tempfile::Builder::new()
            .prefix("a name ")
            .tempfile()
            .unwrap();
        file.as_file().set_len(1 << 20).unwrap();
        let attached = Command::new("losetup")
            .args(["--find", "--show"])
            .arg(file.path())
            .output();
        let device = match attached {
            Ok(output) if output.status.success() => String::from_utf8(output.stdout).unwrap(),
            _ => return println!("skipped: losetup is missing or refused"),
        };
        let found = backing_file(Path::new(device.trim()));
        let detached = Command::new("losetup")
            .args(["--detach", device.trim()])
            .status()
            .unwrap();
        assert!(detached.success());
        assert_eq!(found, Some(file.path().canonicalize().unwrap()));
        assert_eq!(backing_file(Path::new(device.trim())), None);
    }

    #[test]
    fn what_is_no_loop_device_has_none() {
        for path in ["/dev/null", "/", "/no such path"] {
            assert_eq!(backing_file(Path::new(path)), None);
        }
    }
}
