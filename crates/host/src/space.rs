//! Whether what will be written to files fits.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::guard::content::Content;
use crate::root::existing_directory;

/// A file, and the part of it that will need space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpaceNeed {
    pub path: PathBuf,
    /// First byte, and the byte behind the last.
    pub part: (u64, u64),
    /// Whether the job goes on where the file system is full.
    pub is_borne: bool,
}

/// A file system that cannot hold what is to be written to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoSpace {
    /// The directory of the first file in question.
    pub directory: PathBuf,
    /// The files that share the file system.
    pub files: Vec<PathBuf>,
    /// Bytes that they need beyond what they hold already.
    pub needed_bytes: u64,
    /// Bytes that an ordinary user may still write there.
    pub available_bytes: u64,
    /// Whether all that needs space there goes on where there is none.
    pub is_borne: bool,
}

/// What is known of a need by its file system.
struct Need<'a> {
    path: &'a Path,
    part: (u64, u64),
    is_borne: bool,
    /// Nothing of what is missing.
    found: Option<fs::Metadata>,
    directory: PathBuf,
}

/// Checks the files of one plan together, since several may lie on one file system. What a file holds already in the part
/// that is written counts for it; holes do not. Block devices need nothing.
///
/// # Errors
/// One [`NoSpace`] for each file system that is too small.
pub fn check_free_space(needs: &[SpaceNeed]) -> Result<(), Vec<NoSpace>> {
    let mut by_file_system: BTreeMap<u64, Vec<Need<'_>>> = BTreeMap::new();
    let mut counted = BTreeSet::new();
    for need in needs {
        if counted.insert(&need.path)
            && let Some((device, need)) = Need::of(need)
        {
            by_file_system.entry(device).or_default().push(need);
        }
    }
    let short: Vec<NoSpace> = by_file_system
        .values()
        .filter_map(|of| shortage(of))
        .collect();
    if short.is_empty() { Ok(()) } else { Err(short) }
}

/// Where there is room for the most that they may need, no file is opened.
fn shortage(needs: &[Need<'_>]) -> Option<NoSpace> {
    let directory = needs.first()?.directory.clone();
    let available_bytes = available_bytes(&directory).unwrap_or(u64::MAX);
    let most = needs
        .iter()
        .map(Need::bytes_max)
        .fold(0, u64::saturating_add);
    if most <= available_bytes {
        return None;
    }
    let each: Vec<u64> = needs.iter().map(Need::bytes).collect();
    let needed_bytes = each.iter().copied().fold(0, u64::saturating_add);
    let needing = || needs.iter().zip(&each).filter(|(_, bytes)| **bytes > 0);
    (needed_bytes > available_bytes).then(|| NoSpace {
        directory,
        files: needing().map(|(need, _)| need.path.to_owned()).collect(),
        needed_bytes,
        available_bytes,
        is_borne: needing().all(|(need, _)| need.is_borne),
    })
}

impl<'a> Need<'a> {
    /// With the number of its file system. Nothing for what is no file.
    fn of(need: &'a SpaceNeed) -> Option<(u64, Self)> {
        let found = match fs::metadata(&need.path) {
            Ok(found) if !found.is_file() => return None,
            found => found.ok(),
        };
        let directory = existing_directory(&need.path)?;
        let device = match &found {
            Some(found) => found.dev(),
            None => fs::metadata(&directory).ok()?.dev(),
        };
        let need = Self {
            path: &need.path,
            part: need.part,
            is_borne: need.is_borne,
            found,
            directory,
        };
        Some((device, need))
    }

    fn length(&self) -> u64 {
        self.part.1.saturating_sub(self.part.0)
    }

    /// Bytes of the file in all. POSIX leaves the unit of st_blocks open; on Linux it is 512 bytes.
    fn held(&self) -> u64 {
        self.found.as_ref().map_or(0, |found| found.blocks() * 512)
    }

    /// What it needs if all that it can hold elsewhere is held there.
    fn bytes_max(&self) -> u64 {
        let size = self.found.as_ref().map_or(0, fs::Metadata::len);
        let (low, end) = (self.part.0.min(size), self.part.1.min(size));
        let elsewhere = size - end.saturating_sub(low);
        let held = self.held().saturating_sub(elsewhere);
        self.length().saturating_sub(held)
    }

    /// The same by a look at where its data lie.
    fn bytes(&self) -> u64 {
        let by_map = self
            .length()
            .saturating_sub(self.data_bytes().min(self.held()));
        by_map.min(self.bytes_max())
    }

    fn data_bytes(&self) -> u64 {
        let size = self.found.as_ref().map_or(0, fs::Metadata::len);
        let (low, end) = (self.part.0.min(size), self.part.1.min(size));
        if self.held() == 0 || low >= end {
            return 0;
        }
        match door::look(self.path) {
            Ok(file) => Content::window(&file, low, end - low).data_map().bytes(),
            Err(_) => 0,
        }
    }
}

impl fmt::Display for NoSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (needed, available) = (
            plan::Bytes(self.needed_bytes),
            plan::Bytes(self.available_bytes),
        );
        write!(
            f,
            "`{}` has {available} free, {} on it need {needed} more",
            self.directory.display(),
            match self.files.as_slice() {
                [one] => format!("`{}`", one.display()),
                many => format!("{} files", many.len()),
            }
        )?;
        match self.is_borne {
            true => write!(f, "; the job goes on after the writes that fail"),
            false => write!(f, "; give a smaller size, or another place"),
        }
    }
}

impl std::error::Error for NoSpace {}

fn available_bytes(directory: &Path) -> io::Result<u64> {
    let found = sys::file::file_system(directory)?;
    // What has no size tells none: file systems of programs, and tmpfs without a limit.
    Ok(match found.total_bytes {
        0 => u64::MAX,
        _ => found.free_bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_one_file_system_add_up() {
        let directory = tempfile::tempdir().unwrap();
        let free = available_bytes(directory.path()).unwrap();
        let need = |name: &str, bytes| SpaceNeed {
            path: directory.path().join(name),
            part: (0, bytes),
            is_borne: name == "b",
        };
        // Others write to the same file system: the figures leave a wide margin.
        let two_thirds = free / 3 * 2;
        assert_eq!(check_free_space(&[need("a", two_thirds / 2)]), Ok(()));
        let refused = check_free_space(&[need("a", two_thirds), need("b", two_thirds)]);
        let refused = refused.unwrap_err();
        assert_eq!(refused.len(), 1);
        assert_eq!(refused[0].needed_bytes, two_thirds * 2);
        assert_eq!(refused[0].files.len(), 2);
        assert!(refused[0].to_string().contains("2 files on it need"));
        assert!(!refused[0].is_borne);
        let borne = check_free_space(&[need("b", free / 3 * 4)]).unwrap_err();
        assert!(borne[0].is_borne);
    }

    fn bytes(path: &Path, part: (u64, u64)) -> Option<u64> {
        let need = SpaceNeed {
            path: path.to_owned(),
            part,
            is_borne: false,
        };
        let (_, need) = Need::of(&need)?;
        assert!(need.bytes() <= need.bytes_max());
        Some(need.bytes())
    }

    #[test]
    fn what_a_file_holds_needs_no_room() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("held");
        fs::write(&path, vec![1_u8; 1 << 20]).unwrap();
        fs::File::open(&path).unwrap().sync_all().unwrap();
        assert_eq!(bytes(&path, (0, 1 << 20)), Some(0));
        assert!(bytes(&path, (0, 3 << 20)).unwrap() >= (3 << 20) - (2 << 20));
        assert_eq!(bytes(Path::new("/dev/null"), (0, 1)), None);
    }

    #[test]
    fn holes_that_nobody_writes_need_no_room() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sparse");
        let file = fs::File::create_new(&path).unwrap();
        file.set_len(1 << 40).unwrap();
        let mebibyte = 1 << 20;
        assert_eq!(
            bytes(&path, (1 << 39, (1 << 39) + mebibyte)),
            Some(mebibyte)
        );
        assert_eq!(bytes(&path, (1 << 39, 1 << 39)), Some(0));
        // What is held elsewhere in the file is no room here.
        std::os::unix::fs::FileExt::write_all_at(&file, &vec![1; mebibyte as usize], 0).unwrap();
        file.sync_all().unwrap();
        assert_eq!(
            bytes(&path, (1 << 39, (1 << 39) + mebibyte)),
            Some(mebibyte)
        );
        assert_eq!(bytes(&path, (0, 2 * mebibyte)), Some(mebibyte));
        let missing = directory.path().join("missing");
        assert_eq!(bytes(&missing, (1 << 39, (1 << 39) + 4096)), Some(4096));
    }
}
