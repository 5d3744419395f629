//! Paths that nothing stands at. A job may name a million files that it makes first; one folder is looked at once for all
//! of them. Read [`Missing`] first.
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::root::existing_directory;
use plan::TargetFacts;

/// Names of a folder that are remembered: of a larger one, each path is looked at.
const NAMES_MAX: usize = 4096;

/// What is known of folders that hold nothing, or not what is asked for.
#[derive(Debug, Default)]
pub(crate) struct Missing {
    folders: RefCell<BTreeMap<PathBuf, Rc<Folder>>>,
    /// The one that was asked for last, as it is written: neighbours in a job are neighbours on the disk.
    last: RefCell<Option<(OsString, Rc<Folder>)>>,
    /// How often a folder was looked for.
    #[cfg(test)]
    pub lookups: std::cell::Cell<u64>,
}

#[derive(Debug)]
pub(crate) struct Folder {
    /// The nearest one that exists, of a path in this one.
    pub existing: Option<PathBuf>,
    /// All that is in it; `None` where that is too much, or is not told.
    names: Option<BTreeSet<OsString>>,
    /// What holds of each file that is missing in it.
    pub facts: OnceCell<TargetFacts>,
    pub devices: OnceCell<Rc<[u64]>>,
}

impl Missing {
    /// Whether nothing stands at a path, as its folder was when it was first asked for.
    #[cfg(test)]
    pub fn is_missing(&self, path: &Path) -> bool {
        self.folder_without(path).is_some()
    }

    /// The folder of a path that nothing stands at, as it was when it was first asked for; `None` where something may
    /// stand there.
    pub fn folder_without(&self, path: &Path) -> Option<Rc<Folder>> {
        let (folder, name) = split(path)?;
        let folder = self.folder(folder, path);
        let is_missing = !folder.names.as_ref()?.contains(name);
        is_missing.then_some(folder)
    }

    /// The nearest directory above a missing path that exists.
    pub fn existing_directory(&self, path: &Path) -> Option<PathBuf> {
        // A link that leads to nothing has its directory elsewhere.
        match split(path) {
            Some((folder, _)) if fs::symlink_metadata(path).is_err() => {
                self.folder(folder, path).existing.clone()
            }
            _ => existing_directory(path),
        }
    }

    fn folder(&self, folder: &Path, path: &Path) -> Rc<Folder> {
        #[cfg(test)]
        self.lookups.set(self.lookups.get() + 1);
        if let Some((last, known)) = &*self.last.borrow()
            && last == folder.as_os_str()
        {
            return Rc::clone(known);
        }
        let found = self.known_folder(folder, path);
        let name = folder.as_os_str().to_os_string();
        self.last.replace(Some((name, Rc::clone(&found))));
        found
    }

    fn known_folder(&self, folder: &Path, path: &Path) -> Rc<Folder> {
        if let Some(known) = self.folders.borrow().get(folder) {
            return Rc::clone(known);
        }
        let found = Rc::new(Folder {
            existing: existing_directory(path),
            names: names(folder),
            facts: OnceCell::new(),
            devices: OnceCell::new(),
        });
        let mut all = self.folders.borrow_mut();
        Rc::clone(all.entry(folder.to_path_buf()).or_insert(found))
    }
}

/// The folder and the name within it. What ends with a plain name is cut at its last slash: looking at all parts of a path
/// costs more than everything else that is asked of a missing file.
fn split(path: &Path) -> Option<(&Path, &OsStr)> {
    let bytes = path.as_os_str().as_bytes();
    let slash = bytes.iter().rposition(|byte| *byte == b'/');
    match slash.map(|slash| (&bytes[..slash], &bytes[slash + 1..])) {
        Some((folder, name))
            if !folder.is_empty()
                && !folder.ends_with(b"/")
                && !matches!(name, b"" | b"." | b"..") =>
        {
            let folder = Path::new(OsStr::from_bytes(folder));
            Some((folder, OsStr::from_bytes(name)))
        }
        _ => path.parent().zip(path.file_name()),
    }
}

fn names(folder: &Path) -> Option<BTreeSet<OsString>> {
    let folder = match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(BTreeSet::new()),
        Err(_) => return None,
    };
    let mut names = BTreeSet::new();
    for entry in entries {
        names.insert(entry.ok()?.file_name());
        if names.len() > NAMES_MAX {
            return None;
        }
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_looked_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("there"), "").unwrap();
        std::os::unix::fs::symlink("/nowhere/to/go", at("link")).unwrap();
        let missing = Missing::default();
        assert!(missing.is_missing(&at("one")) && !missing.is_missing(&at("there")));
        assert!(!missing.is_missing(&at("link")));
        let real = fs::canonicalize(folder.path()).unwrap();
        assert_eq!(missing.existing_directory(&at("one")), Some(real.clone()));
        assert_eq!(
            missing.existing_directory(&at("link")),
            Some(PathBuf::from("/"))
        );
        // Nothing below a folder that is missing.
        assert!(missing.is_missing(&at("sub/dir/two")));
        assert_eq!(missing.existing_directory(&at("sub/dir/two")), Some(real));
        // Whoever looked again would see it.
        fs::write(at("one"), "").unwrap();
        assert!(missing.is_missing(&at("one")));
        assert!(!Missing::default().is_missing(&at("one")));
    }

    #[test]
    fn of_a_large_folder_each_path_is_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..=NAMES_MAX {
            fs::write(folder.path().join(number.to_string()), "").unwrap();
        }
        let missing = Missing::default();
        let one = folder.path().join("one");
        assert!(!missing.is_missing(&one));
        let real = fs::canonicalize(folder.path()).unwrap();
        assert_eq!(missing.existing_directory(&one), Some(real));
    }
}
