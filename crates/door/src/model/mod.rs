//! A file system in memory in the place of the kernel: names, folders, links, mounts, files with identities, disks. Other
//! programs act on it between any two calls of an execution.
//!
//! [`Model`] is what one execution calls, [`Tree`] what is there, and [`Others`] are programs that move, link, mount and
//! grow by chance, and know what has to be left of what they own. It stands in this crate as it answers [`Calls`]; the
//! engine's simulation runs plans on it. It must not know of the door: what the door makes of the answers is what is
//! tested. Read [`Tree`] first.
mod bytes;
mod others;
mod tree;

pub use bytes::Bytes;
pub use others::{Dice, Move, Others, Theirs};
pub use tree::{Inode, Node, Place, ROOT, Tree};

use crate::calls::Calls;
use std::ffi::CStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use sys::file::OpenFlags;
use sys::file::at::Facts;
use sys::file::names::Look;

/// What acts before each call.
type Actor = Box<dyn FnMut(&mut Tree) + Send>;

/// The file systems as one execution reaches them.
#[derive(Clone)]
pub struct Model(Arc<Reach>);

struct Reach {
    tree: Arc<Mutex<Tree>>,
    others: Mutex<Actor>,
}

/// A folder, held open.
pub struct Folder(Open);

/// An open file or disk.
pub struct File {
    open: Arc<Open>,
    is_writable: bool,
    /// It was opened to be claimed and looked at.
    is_look: bool,
}

/// A file that is kept open with its lock.
pub struct Kept {
    _open: Arc<Open>,
}

/// What the kernel keeps of something open.
struct Open {
    inode: Inode,
    number: u64,
    reach: Arc<Reach>,
}

impl Model {
    /// `others` act before each call, and before each transfer of a file.
    pub fn new(tree: &Arc<Mutex<Tree>>, others: impl FnMut(&mut Tree) + Send + 'static) -> Self {
        Self(Arc::new(Reach {
            tree: Arc::clone(tree),
            others: Mutex::new(Box::new(others)),
        }))
    }

    /// Nobody else acts.
    #[must_use]
    pub fn alone(tree: &Arc<Mutex<Tree>>) -> Self {
        Self::new(tree, |_| {})
    }

    fn after_others(&self) -> MutexGuard<'_, Tree> {
        self.0.after_others()
    }

    fn opened(&self, tree: &mut Tree, inode: Inode) -> Open {
        Open {
            inode,
            number: tree.open(inode),
            reach: Arc::clone(&self.0),
        }
    }
}

impl Reach {
    fn tree(&self) -> MutexGuard<'_, Tree> {
        self.tree.lock().expect("nothing panics while it is held")
    }

    /// Others act, and then the call sees what they have left.
    fn after_others(&self) -> MutexGuard<'_, Tree> {
        let mut tree = self.tree();
        let mut others = self.others.lock().expect("nothing panics in it");
        others(&mut tree);
        tree
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.reach.tree().close(self.inode, self.number);
    }
}

impl Calls for Model {
    type Folder = Folder;
    type File = File;
    type Kept = Kept;

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        // Where it leads nowhere, opening its folder tells why.
        let followed = self.after_others().follow(path, true);
        Ok(followed.map_or_else(|_| path.to_path_buf(), |(path, _)| path))
    }

    fn open_folder(&self, path: &Path) -> io::Result<Folder> {
        let mut tree = self.after_others();
        let (_, inode) = tree.follow(path, true)?;
        let inode = inode.ok_or(io::ErrorKind::NotFound)?;
        match tree.node(inode) {
            Node::Folder { .. } => Ok(Folder(self.opened(&mut tree, inode))),
            _ => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    fn folder_facts(&self, folder: &Folder) -> io::Result<Facts> {
        Ok(self.after_others().facts(folder.0.inode))
    }

    fn look(&self, folder: &Folder, name: &CStr) -> io::Result<Facts> {
        let tree = self.after_others();
        let inode = tree.shown(folder.0.inode, name);
        Ok(tree.facts(inode.ok_or_else(missing)?))
    }

    fn look_by_path(&self, path: &CStr, how: Look) -> io::Result<()> {
        let tree = self.after_others();
        let path = Path::new(path.to_str().map_err(io::Error::other)?);
        let (_, found) = tree.follow(path, how != Look::Link)?;
        found.map(drop).ok_or_else(missing)
    }

    fn open(&self, folder: &Folder, name: &CStr, flags: &OpenFlags) -> io::Result<File> {
        let mut tree = self.after_others();
        let inode = tree.shown(folder.0.inode, name).ok_or_else(missing)?;
        match tree.node(inode) {
            Node::Link { .. } => return Err(io::Error::from_raw_os_error(ELOOP)),
            Node::Folder { .. } if flags.write => return Err(io::Error::from_raw_os_error(EISDIR)),
            Node::Disk { .. } if flags.exclusive && tree.is_claimed(inode) => {
                return Err(io::Error::from_raw_os_error(EBUSY));
            }
            _ => {}
        }
        let open = self.opened(&mut tree, inode);
        if flags.exclusive {
            tree.claim(inode, open.number);
        }
        Ok(File {
            open: Arc::new(open),
            is_writable: flags.write,
            is_look: flags.raw & crate::approach::NONBLOCK != 0,
        })
    }

    fn make(&self, folder: &Folder, name: &CStr, _flags: &OpenFlags) -> io::Result<File> {
        let mut tree = self.after_others();
        let inode = tree.add_at((folder.0.inode, name.to_owned()), Node::file(b""))?;
        tree.mark_made(inode);
        Ok(File {
            open: Arc::new(self.opened(&mut tree, inode)),
            is_writable: true,
            is_look: false,
        })
    }

    fn facts(&self, file: &File) -> io::Result<Facts> {
        Ok(self.after_others().facts(file.open.inode))
    }

    fn keeps_times(&self, _: &File) -> bool {
        true
    }

    fn disk(&self, file: &File) -> io::Result<(Option<u64>, u64)> {
        match self.after_others().node(file.open.inode) {
            Node::Disk {
                sequence, bytes, ..
            } => Ok((Some(*sequence), bytes.length())),
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    fn lock(&self, file: &File) -> io::Result<bool> {
        let open = &file.open;
        Ok(self.after_others().lock(open.inode, open.number))
    }

    /// Nobody in this world shares a lock, so that the stricter one serves.
    fn lock_shared(&self, file: &File) -> io::Result<bool> {
        self.lock(file)
    }

    /// The programs of this world lock whole files only.
    fn record_lock(&self, _: &File) -> Option<sys::file::RecordLock> {
        None
    }

    fn keep(&self, file: &File) -> io::Result<Kept> {
        drop(self.after_others());
        let _open = Arc::clone(&file.open);
        Ok(Kept { _open })
    }

    fn make_folder(&self, folder: &Folder, name: &CStr) -> io::Result<Folder> {
        let mut tree = self.after_others();
        let inode = tree.add_folder((folder.0.inode, name.to_owned()))?;
        Ok(Folder(self.opened(&mut tree, inode)))
    }

    fn move_to(&self, from: &Folder, name: &CStr, to: &Folder, new: &CStr) -> io::Result<()> {
        let from = (from.0.inode, name.to_owned());
        let to = (to.0.inode, new.to_owned());
        self.after_others().rename(&from, to)
    }

    fn remove(&self, folder: &Folder, name: &CStr) -> io::Result<()> {
        let place = (folder.0.inode, name.to_owned());
        self.after_others().unlink(&place)
    }

    fn remove_folder(&self, folder: &Folder, name: &CStr) -> io::Result<()> {
        self.remove(folder, name)
    }
}

impl Folder {
    #[must_use]
    pub fn inode(&self) -> Inode {
        self.0.inode
    }
}

impl File {
    #[must_use]
    pub fn inode(&self) -> Inode {
        self.open.inode
    }

    /// From now on others keep away from it or have to live with what is written to it: the door has compared it for
    /// the last time.
    pub fn begin_use(&self) {
        self.open.reach.tree().mark_used(self.open.inode);
    }

    /// Reads up to its end; how much.
    ///
    /// # Errors
    /// Where it is neither a file nor a disk.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let tree = self.open.reach.after_others();
        match tree.node(self.open.inode) {
            Node::File { bytes } | Node::Disk { bytes, .. } => Ok(bytes.read(buffer, offset)),
            _ => Err(io::Error::from_raw_os_error(EISDIR)),
        }
    }

    /// Writes; a file grows, and a disk ends where it ends.
    ///
    /// # Errors
    /// Where it is not open for writing, and beyond the end of a disk.
    pub fn write_at(&self, data: &[u8], offset: u64) -> io::Result<usize> {
        self.change(|bytes, is_disk| {
            let end = if is_disk { bytes.length() } else { u64::MAX };
            let room = end.saturating_sub(offset).min(data.len() as u64) as usize;
            if room == 0 && !data.is_empty() {
                return Err(io::Error::from_raw_os_error(ENOSPC));
            }
            bytes.write(&data[..room], offset);
            Ok(room)
        })
    }

    /// Gives a range back, which reads as zeros then; the length stays.
    ///
    /// # Errors
    /// Where it is not open for writing.
    pub fn discard(&self, offset: u64, length: u64) -> io::Result<()> {
        self.change(|bytes, _| {
            bytes.discard(offset, length);
            Ok(())
        })
    }

    /// Cuts a file, or lets it grow by a hole.
    ///
    /// # Errors
    /// Where it is not open for writing, and on disks.
    pub fn set_length(&self, length: u64) -> io::Result<()> {
        self.change(|bytes, is_disk| match is_disk {
            true => Err(io::ErrorKind::InvalidInput.into()),
            false => {
                bytes.set_length(length);
                Ok(())
            }
        })
    }

    /// Lets a file that is shorter grow by a hole.
    ///
    /// # Errors
    /// As [`File::set_length`].
    pub fn extend(&self, length: u64) -> io::Result<()> {
        self.change(|bytes, is_disk| {
            if !is_disk && bytes.length() < length {
                bytes.set_length(length);
            }
            Ok(())
        })
    }

    fn change<T>(&self, change: impl FnOnce(&mut Bytes, bool) -> io::Result<T>) -> io::Result<T> {
        let mut tree = self.open.reach.after_others();
        // A claim opens for writing and writes nothing.
        if !self.is_writable || self.is_look {
            return Err(io::Error::from_raw_os_error(EBADF));
        }
        let is_disk = matches!(tree.node(self.open.inode), Node::Disk { .. });
        let mut result = Err(io::Error::from_raw_os_error(EBADF));
        tree.change(self.open.inode, |bytes| result = change(bytes, is_disk));
        result
    }
}

fn missing() -> io::Error {
    io::Error::from_raw_os_error(ENOENT)
}

const ENOENT: i32 = 2;
const EBADF: i32 = 9;
const EBUSY: i32 = 16;
const EISDIR: i32 = 21;
const ENOSPC: i32 = 28;
const ELOOP: i32 = 40;
