//! The calls of the kernel.
use crate::calls::Calls;
use std::ffi::CStr;
use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};
use sys::file::OpenFlags;
use sys::file::at::{self, Facts, Folder, Kept};
use sys::file::names::Look;

/// Links that are followed one after the other; as many as the kernel follows.
const LINKS_MAX: usize = 40;

/// The machine that this process runs on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kernel;

impl Calls for Kernel {
    type Folder = Folder;
    type File = File;
    type Kept = Kept;

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(resolve(path))
    }

    fn open_folder(&self, path: &Path) -> io::Result<Folder> {
        Folder::open(path)
    }

    fn folder_facts(&self, folder: &Folder) -> io::Result<Facts> {
        folder.facts()
    }

    fn look(&self, folder: &Folder, name: &CStr) -> io::Result<Facts> {
        folder.look(name)
    }

    fn look_by_path(&self, path: &CStr, how: Look) -> io::Result<()> {
        sys::file::names::look(path, how)
    }

    fn open(&self, folder: &Folder, name: &CStr, flags: &OpenFlags) -> io::Result<File> {
        folder.open_at(name, flags)
    }

    fn make(&self, folder: &Folder, name: &CStr, flags: &OpenFlags) -> io::Result<File> {
        folder.make_at(name, flags)
    }

    fn facts(&self, file: &File) -> io::Result<Facts> {
        at::facts(file)
    }

    fn disk(&self, file: &File) -> io::Result<(Option<u64>, u64)> {
        Ok((at::disk_sequence(file), sys::file::device_bytes(file)?))
    }

    fn keeps_times(&self, file: &File) -> bool {
        sys::file::keeps_times(file)
    }

    fn lock(&self, file: &File) -> io::Result<bool> {
        sys::file::lock_exclusive(file)
    }

    fn lock_shared(&self, file: &File) -> io::Result<bool> {
        sys::file::lock_shared(file)
    }

    fn record_lock(&self, file: &File) -> Option<sys::file::RecordLock> {
        sys::file::record_lock(file).ok().flatten()
    }

    fn keep(&self, file: &File) -> io::Result<Kept> {
        at::keep(file)
    }

    fn make_folder(&self, folder: &Folder, name: &CStr) -> io::Result<Folder> {
        folder.make_folder_at(name)
    }

    fn move_to(&self, from: &Folder, name: &CStr, to: &Folder, new: &CStr) -> io::Result<()> {
        from.move_to(name, to, new)
    }

    fn remove(&self, folder: &Folder, name: &CStr) -> io::Result<()> {
        folder.remove_at(name)
    }

    fn remove_folder(&self, folder: &Folder, name: &CStr) -> io::Result<()> {
        folder.remove_folder_at(name)
    }
}

/// The path made absolute, with links resolved as far as it exists: the last name may be missing, also that to which a
/// link leads.
#[must_use]
pub fn resolve(path: &Path) -> PathBuf {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS_MAX {
        if let Ok(real) = fs::canonicalize(&path) {
            return real;
        }
        let absolute = std::path::absolute(&path).unwrap_or_else(|_| path.clone());
        let (Some(parent), Some(Component::Normal(name))) =
            (absolute.parent(), absolute.components().next_back())
        else {
            return absolute;
        };
        let Ok(parent) = fs::canonicalize(parent) else {
            return absolute;
        };
        let named = parent.join(name);
        match fs::read_link(&named) {
            Ok(led_to) => path = parent.join(led_to),
            Err(_) => return named,
        }
    }
    path
}
