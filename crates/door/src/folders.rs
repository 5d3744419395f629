//! The folders of all objects. The first are held open; of more, the identity is remembered, and they are opened and
//! compared each time, so that descriptors stay few.
use crate::calls::Calls;
use crate::removal::Private;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

/// Folders that stay open.
const HELD_MAX: usize = 64;

/// ESTALE: what was held is no longer what it was.
pub(crate) const STALE: i32 = 116;

/// The folder of an object.
pub(crate) struct HeldFolder<C: Calls> {
    pub path: PathBuf,
    /// Device and inode.
    pub identity: (u64, u64),
    held: Option<Arc<C::Folder>>,
    /// A folder of ours within, for names that are set aside.
    pub private: OnceLock<Option<(CString, Arc<Private<C>>)>>,
}

pub(crate) struct Folders<C: Calls> {
    by_path: Mutex<BTreeMap<PathBuf, Arc<HeldFolder<C>>>>,
}

impl<C: Calls> Default for Folders<C> {
    fn default() -> Self {
        Self {
            by_path: Mutex::default(),
        }
    }
}

impl<C: Calls> Folders<C> {
    /// The folder at a path with its links resolved.
    pub fn get(&self, calls: &C, path: &Path) -> io::Result<Arc<HeldFolder<C>>> {
        let mut known = self
            .by_path
            .lock()
            .expect("nothing panics while it is held");
        if let Some(folder) = known.get(path) {
            return Ok(Arc::clone(folder));
        }
        let open = calls.open_folder(path)?;
        let facts = calls.folder_facts(&open)?;
        let folder = Arc::new(HeldFolder {
            path: path.to_path_buf(),
            identity: (facts.device, facts.inode),
            held: (known.len() < HELD_MAX).then(|| Arc::new(open)),
            private: OnceLock::new(),
        });
        known.insert(path.to_path_buf(), Arc::clone(&folder));
        Ok(folder)
    }

    pub fn all(&self) -> Vec<Arc<HeldFolder<C>>> {
        let known = self
            .by_path
            .lock()
            .expect("nothing panics while it is held");
        known.values().cloned().collect()
    }
}

impl<C: Calls> HeldFolder<C> {
    pub fn open(&self, calls: &C) -> io::Result<Arc<C::Folder>> {
        if let Some(held) = &self.held {
            return Ok(Arc::clone(held));
        }
        let open = calls.open_folder(&self.path)?;
        let facts = calls.folder_facts(&open)?;
        match (facts.device, facts.inode) == self.identity {
            true => Ok(Arc::new(open)),
            false => Err(io::Error::from_raw_os_error(STALE)),
        }
    }

    pub fn is_held(&self) -> bool {
        self.held.is_some()
    }
}
