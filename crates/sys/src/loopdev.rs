//! Which file a loop device stands for: its path from sysfs, its identity from the driver.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, fstat, major, minor, stat};
use rustix::io::Errno;
use rustix::ioctl::{Getter, Opcode, ioctl};

/// linux/loop.h; the numbers of loop devices are older than the scheme of `_IOR`.
const LOOP_GET_STATUS64: Opcode = 0x4c05;
/// Of all loop devices (Documentation/admin-guide/devices.txt).
const LOOP_MAJOR: u32 = 7;

/// `struct loop_info64`, linux/loop.h.
#[repr(C)]
struct LoopInfo {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    /// `lo_number`, `lo_encrypt_type`, `lo_encrypt_key_size`, `lo_flags`.
    number_to_flags: [u32; 4],
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// What a loop device shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopStatus {
    /// Device (`st_dev`) and inode of the file behind it.
    pub file: (u64, u64),
    /// The number (`st_rdev`) of that file where it is a block device.
    pub block_device: Option<u64>,
    /// Where the loop device begins in it, bytes.
    pub offset: u64,
    /// How many bytes of it the loop device shows at most.
    pub size_limit: Option<u64>,
    /// Its bytes are those of the file: nothing enciphers them on the way, as older kernels can.
    pub shows_as_it_is: bool,
}

/// What the driver says of an open loop device. A file keeps its identity when it is renamed or removed.
///
/// # Errors
/// ENXIO for a loop device without a file; ENOTTY for anything but a whole loop device, since other drivers take the
/// number of the request for something else.
pub fn status(device: &File) -> io::Result<LoopStatus> {
    let facts = fstat(device)?;
    let is_block = FileType::from_raw_mode(facts.st_mode) == FileType::BlockDevice;
    if !is_block || major(facts.st_rdev) != LOOP_MAJOR {
        return Err(Errno::NOTTY.into());
    }
    // SAFETY: for loop devices LOOP_GET_STATUS64 writes one `struct loop_info64` to its argument, which `Getter` owns.
    let info = unsafe { ioctl(device, Getter::<LOOP_GET_STATUS64, LoopInfo>::new()) }?;
    Ok(LoopStatus {
        file: (info.device, info.inode),
        block_device: (info.rdevice != 0).then_some(info.rdevice),
        offset: info.offset,
        size_limit: (info.size_limit != 0).then_some(info.size_limit),
        shows_as_it_is: info.number_to_flags[1] == 0,
    })
}

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
    use std::os::unix::fs::MetadataExt;
    use std::process::Command;
    use std::time::{Duration, Instant};

    /// A new loop device in front of `path`.
    fn attach(path: &Path, options: &[&str]) -> Option<String> {
        let attached = Command::new("losetup")
            .args(["--find", "--show"])
            .args(options)
            .arg(path)
            .output();
        match attached {
            Ok(output) if output.status.success() => {
                Some(String::from_utf8(output.stdout).unwrap().trim().to_owned())
            }
            _ => {
                println!("skipped: losetup is missing or refused");
                None
            }
        }
    }

    #[test]
    fn a_loop_device_knows_its_file_under_any_name() {
        let folder = crate::named::builder().tempdir().unwrap();
        let path = folder.path().join("image");
        File::create(&path).unwrap().set_len(1 << 20).unwrap();
        let Some(lower) = attach(&path, &["--offset", "4096", "--sizelimit", "65536"]) else {
            return;
        };
        let upper = attach(Path::new(&lower), &[]);
        let facts = fs::metadata(&path).unwrap();
        fs::rename(&path, folder.path().join("other")).unwrap();
        fs::remove_file(folder.path().join("other")).unwrap();
        let told = |device: &str| status(&File::open(device).unwrap());
        let (below, above) = (told(&lower), upper.as_deref().map(told));
        let number = fs::metadata(&lower).unwrap().rdev();
        for device in upper.iter().chain([&lower]) {
            let detached = Command::new("losetup").args(["--detach", device]).status();
            assert!(detached.unwrap().success());
        }
        let expected = LoopStatus {
            file: (facts.dev(), facts.ino()),
            block_device: None,
            offset: 4096,
            size_limit: Some(65_536),
            shows_as_it_is: true,
        };
        assert_eq!(below.unwrap(), expected);
        let above = above.unwrap().unwrap();
        assert_eq!((above.block_device, above.offset), (Some(number), 0));
        assert_eq!(above.size_limit, None);
    }

    #[test]
    fn only_loop_devices_have_a_status() {
        for path in ["/dev/null", "/"] {
            let error = status(&File::open(path).unwrap()).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(Errno::NOTTY.raw_os_error()));
        }
    }

    #[test]
    fn a_loop_device_names_its_file() {
        let file = crate::named::builder()
            .suffix(" a name")
            .tempfile()
            .unwrap();
        file.as_file().set_len(1 << 20).unwrap();
        let Some(device) = attach(file.path(), &[]) else {
            return;
        };
        let found = backing_file(Path::new(device.trim()));
        let detached = Command::new("losetup")
            .args(["--detach", device.trim()])
            .status()
            .unwrap();
        assert!(detached.success());
        let path = file.path().canonicalize().unwrap();
        assert_eq!(found.as_ref(), Some(&path));
        // Another test may have the device by now, and whoever still looks at it keeps it for a moment.
        let since = Instant::now();
        while backing_file(Path::new(device.trim())).as_ref() == Some(&path) {
            assert!(since.elapsed() < Duration::from_secs(60), "still attached");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn what_is_no_loop_device_has_none() {
        for path in ["/dev/null", "/", "/no such path"] {
            assert_eq!(backing_file(Path::new(path)), None);
        }
    }
}
