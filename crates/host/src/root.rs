//! Where the kernel's and udev's trees are found, and the small reads that all else is made of.

use std::fmt;
use std::fs;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

pub(crate) use door::resolve;

/// The longest attribute file that is read, bytes; longer ones are cut.
const ATTRIBUTE_BYTES_MAX: u64 = 1 << 20;

/// The trees that describe a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SysRoot {
    pub sys: PathBuf,
    pub proc: PathBuf,
    pub dev: PathBuf,
    /// udev's run-time directory, which holds `data/b8:16` and the like.
    pub udev: PathBuf,
    pub etc: PathBuf,
    /// Where programs of this user keep what they remember; `None` where nothing is to be remembered.
    pub state: Option<PathBuf>,
}

/// Major and minor number of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceNumber {
    pub major: u32,
    pub minor: u32,
}

impl SysRoot {
    /// This machine.
    #[must_use]
    pub fn real() -> Self {
        Self {
            state: state_folder(),
            ..Self::under(Path::new("/"))
        }
    }

    /// A machine whose trees lie below `root` at their usual places.
    #[must_use]
    pub fn under(root: &Path) -> Self {
        Self {
            sys: root.join("sys"),
            proc: root.join("proc"),
            dev: root.join("dev"),
            udev: root.join("run/udev"),
            etc: root.join("etc"),
            state: Some(root.join("state")),
        }
    }

    /// Where a path of this machine, such as one in a mount table, is to be found.
    #[must_use]
    pub fn locate(&self, path: &Path) -> PathBuf {
        for (prefix, place) in [
            ("/sys", &self.sys),
            ("/proc", &self.proc),
            ("/dev", &self.dev),
            ("/run/udev", &self.udev),
            ("/etc", &self.etc),
        ] {
            if let Ok(rest) = path.strip_prefix(prefix) {
                return place.join(rest);
            }
        }
        path.to_path_buf()
    }
}

/// As the XDG base directories have it; nothing where neither variable holds an absolute path.
fn state_folder() -> Option<PathBuf> {
    let absolute = |name| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))
}

impl DeviceNumber {
    /// From a `dev_t` as the stat family gives it.
    #[must_use]
    pub fn from_raw(raw: u64) -> Self {
        Self {
            major: rustix::fs::major(raw),
            minor: rustix::fs::minor(raw),
        }
    }

    /// As a `dev_t`.
    #[must_use]
    pub fn to_raw(self) -> u64 {
        rustix::fs::makedev(self.major, self.minor)
    }

    /// From `8:16`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.trim().split_once(':')?;
        Some(Self {
            major: major.parse().ok()?,
            minor: minor.parse().ok()?,
        })
    }

    /// The number of the block device at `path`, links followed; nothing for anything else.
    #[must_use]
    pub fn of_node(path: &Path) -> Option<Self> {
        let facts = fs::metadata(path).ok()?;
        facts
            .file_type()
            .is_block_device()
            .then(|| Self::from_raw(facts.rdev()))
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// The text of an attribute file without white space around it; nothing where there is none or it is empty.
pub(crate) fn read_text(path: &Path) -> Option<String> {
    let bytes = read_bytes(path)?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| text.to_owned())
}

/// A number in an attribute file.
pub(crate) fn read_number(path: &Path) -> Option<u64> {
    read_text(path)?.parse().ok()
}

/// The bytes of an attribute file. Memory and process tables have no size to ask for, hence the limit.
pub(crate) fn read_bytes(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = fs::File::open(path).ok()?;
    file.take(ATTRIBUTE_BYTES_MAX)
        .read_to_end(&mut bytes)
        .ok()?;
    Some(bytes)
}

/// The names in a directory, sorted; empty where there is none.
pub(crate) fn names_in(directory: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// The nearest directory above `path` that exists.
pub(crate) fn existing_directory(path: &Path) -> Option<PathBuf> {
    let resolved = resolve(path);
    resolved
        .ancestors()
        .skip(1)
        .find(|directory| directory.is_dir())
        .map(Path::to_path_buf)
}
