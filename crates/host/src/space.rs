//! Whether the files to be made or extended fit.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::root::existing_directory;

/// A file and the size that it shall have, bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpaceNeed {
    pub path: PathBuf,
    pub bytes: u64,
}

/// A file system that cannot hold what is to be made on it.
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
}

/// Checks the files of one plan together, since several may lie on one file system. What a file holds already counts
/// for it; holes do not. Block devices need nothing.
///
/// # Errors
/// One [`NoSpace`] for each file system that is too small.
pub fn check_free_space(needs: &[SpaceNeed]) -> Result<(), Vec<NoSpace>> {
    let mut by_file_system: BTreeMap<u64, NoSpace> = BTreeMap::new();
    let mut counted = BTreeSet::new();
    for need in needs {
        let Some((device, directory, missing)) = missing_bytes(need) else {
            continue;
        };
        let entry = by_file_system.entry(device).or_insert_with(|| NoSpace {
            available_bytes: available_bytes(&directory).unwrap_or(u64::MAX),
            directory,
            files: Vec::new(),
            needed_bytes: 0,
        });
        if missing > 0 && counted.insert(&need.path) {
            entry.files.push(need.path.clone());
            entry.needed_bytes = entry.needed_bytes.saturating_add(missing);
        }
    }
    let short: Vec<NoSpace> = by_file_system
        .into_values()
        .filter(|one| one.needed_bytes > one.available_bytes)
        .collect();
    if short.is_empty() { Ok(()) } else { Err(short) }
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
        write!(f, "; give a smaller size, or another place")
    }
}

impl std::error::Error for NoSpace {}

/// The file system, a directory of it, and the bytes to be added there. Nothing for what is no file.
fn missing_bytes(need: &SpaceNeed) -> Option<(u64, PathBuf, u64)> {
    match fs::metadata(&need.path) {
        Ok(facts) if facts.is_file() => {
            let directory = existing_directory(&need.path)?;
            // POSIX leaves the unit of st_blocks open; on Linux it is 512 bytes.
            let held = facts.blocks() * 512;
            Some((facts.dev(), directory, need.bytes.saturating_sub(held)))
        }
        Ok(_) => None,
        Err(_) => {
            let directory = existing_directory(&need.path)?;
            let device = fs::metadata(&directory).ok()?.dev();
            Some((device, directory, need.bytes))
        }
    }
}

fn available_bytes(directory: &Path) -> io::Result<u64> {
    Ok(sys::file::file_system(directory)?.free_bytes)
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
            bytes,
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
    }

    #[test]
    fn what_a_file_holds_needs_no_room() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("held");
        fs::write(&path, vec![1_u8; 1 << 20]).unwrap();
        fs::File::open(&path).unwrap().sync_all().unwrap();
        let need = |bytes| SpaceNeed {
            path: path.clone(),
            bytes,
        };
        assert_eq!(missing_bytes(&need(1 << 20)).unwrap().2, 0);
        assert!(missing_bytes(&need(3 << 20)).unwrap().2 >= (3 << 20) - (2 << 20));
        assert_eq!(
            missing_bytes(&SpaceNeed {
                path: PathBuf::from("/dev/null"),
                bytes: 1
            }),
            None
        );
    }
}
