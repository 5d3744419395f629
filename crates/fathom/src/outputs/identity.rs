//! What a file is, whatever it is called: by device and inode, and a device by its number.
use std::collections::BTreeSet;
use std::fs::Metadata;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Identity {
    File { device: u64, inode: u64 },
    Block(u64),
    Character(u64),
}

/// The targets of a job, to be told from its outputs.
#[derive(Debug, Default)]
pub struct Targets {
    known: BTreeSet<Identity>,
    /// Those that are not there yet, below resolved folders.
    missing: Vec<PathBuf>,
    /// Texts that the job was read from.
    inputs: BTreeSet<Identity>,
}

impl Identity {
    pub fn of(found: &Metadata) -> Self {
        match found.file_type() {
            kind if kind.is_block_device() => Self::Block(found.rdev()),
            kind if kind.is_char_device() => Self::Character(found.rdev()),
            _ => Self::File {
                device: found.dev(),
                inode: found.ino(),
            },
        }
    }
}

impl Targets {
    pub fn of<'a>(paths: impl Iterator<Item = &'a Path>) -> Self {
        let mut targets = Self::default();
        for path in paths {
            targets.add(path);
            // Writing to the file below a loop device changes the device.
            if let Some(file) = sys::loopdev::backing_file(path) {
                targets.add(&file);
            }
            // It keeps its identity under another name.
            if let Ok(status) = door::look(path).and_then(|file| sys::loopdev::status(&file)) {
                let (device, inode) = status.file;
                targets.known.insert(Identity::File { device, inode });
                targets
                    .known
                    .extend(status.block_device.map(Identity::Block));
            }
        }
        targets
    }

    /// Also tells texts from outputs that the job was read from; what is no file is none.
    #[must_use]
    pub fn and_inputs<'a>(mut self, paths: impl Iterator<Item = &'a Path>) -> Self {
        let found = paths.filter_map(|path| std::fs::metadata(path).ok());
        let files = found.filter(Metadata::is_file);
        self.inputs.extend(files.map(|found| Identity::of(&found)));
        self
    }

    /// Whether the job was read from what was found.
    pub fn has_input(&self, found: Option<&Identity>) -> bool {
        found.is_some_and(|found| self.inputs.contains(found))
    }

    fn add(&mut self, path: &Path) {
        match std::fs::metadata(path) {
            Ok(found) => {
                self.known.insert(Identity::of(&found));
            }
            Err(_) => self.missing.push(resolved(path)),
        }
    }

    /// Whether a path, or what was found there, is a target. Targets that were missing may have been made meanwhile.
    pub fn contains(&mut self, path: &Path, found: Option<&Identity>) -> bool {
        let path = resolved(path);
        if self.missing.contains(&path) {
            return true;
        }
        let missing = std::mem::take(&mut self.missing);
        for target in missing {
            if let Ok(found) = std::fs::metadata(&target) {
                self.known.insert(Identity::of(&found));
            }
            // By its name it stays a target, whatever stands there.
            self.missing.push(target);
        }
        found.is_some_and(|found| self.known.contains(found))
    }
}

/// The path with its folder resolved; the last part may be missing.
fn resolved(path: &Path) -> PathBuf {
    let absolute = absolute(path);
    let (Some(folder), Some(name)) = (absolute.parent(), absolute.file_name()) else {
        return absolute;
    };
    match std::fs::canonicalize(folder) {
        Ok(folder) => folder.join(name),
        Err(_) => absolute,
    }
}

/// The path of a directory with all resolved that exists; what is missing follows as it is written.
pub fn resolved_as_far(path: &Path) -> PathBuf {
    let absolute = absolute(path);
    let mut found = absolute.ancestors().filter_map(|ancestor| {
        let rest = absolute.strip_prefix(ancestor).ok()?;
        Some((std::fs::canonicalize(ancestor).ok()?, rest))
    });
    let Some((mut resolved, rest)) = found.next() else {
        return absolute;
    };
    for part in rest.components() {
        match part {
            Component::ParentDir => drop(resolved.pop()),
            part => resolved.push(part),
        }
    }
    resolved
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
