//! Names, and what has them: all that calls and other programs see of a model.
use super::bytes::Bytes;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::io;
use std::path::{Component, Path, PathBuf};
use sys::file::at::{Facts, Kind};

/// Names a file, folder or link of a file system. Numbers are used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Inode {
    /// The file system.
    pub device: u64,
    pub number: u64,
}

/// A folder, and a name in it.
pub type Place = (Inode, CString);

/// What an inode is.
#[derive(Clone, Debug)]
pub enum Node {
    File {
        bytes: Bytes,
    },
    Disk {
        number: u64,
        sequence: u64,
        bytes: Bytes,
    },
    Folder {
        names: BTreeMap<CString, Inode>,
    },
    Link {
        to: PathBuf,
    },
}

/// All file systems of a model.
#[derive(Debug)]
pub struct Tree {
    entries: BTreeMap<Inode, Entry>,
    file_systems: BTreeMap<u64, FileSystem>,
    /// What is mounted over a name.
    mounts: BTreeMap<Place, Inode>,
    /// Which open file has the lock of an inode, or holds a disk for itself.
    locks: BTreeMap<Inode, u64>,
    claims: BTreeMap<Inode, u64>,
    next_open: u64,
    now: i128,
}

/// The folder at `/`.
pub const ROOT: Inode = Inode {
    device: 1,
    number: 1,
};

#[derive(Debug)]
struct Entry {
    node: Node,
    /// Never used again, unlike the inode.
    serial: u64,
    birth: i128,
    modified: i128,
    /// Names and mounts that lead to it, and open files; it goes with the last.
    names: u32,
    opened: u32,
    is_made: bool,
    is_used: bool,
}

#[derive(Debug)]
struct FileSystem {
    tells_birth: bool,
    next: u64,
    free: Vec<u64>,
}

/// Clocks of file systems are coarse: what is made within so many changes has one time of birth.
const BIRTH_TICK: i128 = 8;

const LINKS_MAX: usize = 40;

impl Default for Tree {
    fn default() -> Self {
        Self::new()
    }
}

impl Tree {
    /// An empty folder at `/`.
    #[must_use]
    pub fn new() -> Self {
        let mut tree = Self {
            entries: BTreeMap::new(),
            file_systems: BTreeMap::new(),
            mounts: BTreeMap::new(),
            locks: BTreeMap::new(),
            claims: BTreeMap::new(),
            next_open: 0,
            now: 0,
        };
        assert_eq!(tree.add_file_system(true), ROOT);
        tree
    }

    /// A file system of its own; gives its topmost folder, which no name leads to before it is mounted.
    pub fn add_file_system(&mut self, tells_birth: bool) -> Inode {
        let device = self.file_systems.len() as u64 + 1;
        let file_system = FileSystem {
            tells_birth,
            next: 1,
            free: Vec::new(),
        };
        self.file_systems.insert(device, file_system);
        let top = self.add(device, folder());
        // It stays whether it is mounted or not.
        self.entry_mut(top).names += 1;
        top
    }

    /// A new inode without a name; it has the number of one that is gone, where there is one.
    pub fn add(&mut self, device: u64, node: Node) -> Inode {
        self.now += 1;
        let of = self.file_systems.get_mut(&device).expect("it was added");
        let number = of.free.pop().unwrap_or_else(|| {
            of.next += 1;
            of.next - 1
        });
        let inode = Inode { device, number };
        let entry = Entry {
            node,
            serial: self.now as u64,
            birth: self.now / BIRTH_TICK,
            modified: self.now,
            names: 0,
            opened: 0,
            is_made: false,
            is_used: false,
        };
        self.entries.insert(inode, entry);
        inode
    }

    /// A folder with a name.
    ///
    /// # Errors
    /// As [`Tree::link`].
    pub fn add_folder(&mut self, place: Place) -> io::Result<Inode> {
        self.add_at(place, folder())
    }

    /// Something new with a name.
    ///
    /// # Errors
    /// As [`Tree::link`]; nothing is added then.
    pub fn add_at(&mut self, place: Place, node: Node) -> io::Result<Inode> {
        let inode = self.add(place.0.device, node);
        match self.link(place, inode) {
            Ok(()) => Ok(inode),
            Err(error) => {
                self.forget(inode);
                Err(error)
            }
        }
    }

    /// # Panics
    /// Where the inode is gone.
    #[must_use]
    pub fn node(&self, inode: Inode) -> &Node {
        &self.entry(inode).node
    }

    /// Tells one inode from a later one with its number.
    ///
    /// # Panics
    /// Where the inode is gone.
    #[must_use]
    pub fn serial(&self, inode: Inode) -> u64 {
        self.entry(inode).serial
    }

    /// All inodes, with what tells each from later ones.
    pub fn inodes(&self) -> impl Iterator<Item = (Inode, u64)> + '_ {
        self.entries
            .iter()
            .map(|(inode, entry)| (*inode, entry.serial))
    }

    /// Whether it was made through the door, or is open there to be written: whoever else writes to it does so at his own
    /// risk.
    #[must_use]
    pub fn is_ours(&self, inode: Inode) -> bool {
        let entry = self.entry(inode);
        entry.is_made || entry.is_used
    }

    /// The names in a folder; nothing where it is none.
    pub fn names(&self, folder: Inode) -> impl Iterator<Item = (&CString, Inode)> {
        let names = match self.entries.get(&folder).map(|entry| &entry.node) {
            Some(Node::Folder { names }) => Some(names),
            _ => None,
        };
        let names = names.into_iter().flatten();
        names.map(|(name, inode)| (name, *inode))
    }

    /// What has a name, below what is mounted over it.
    #[must_use]
    pub fn at(&self, place: &Place) -> Option<Inode> {
        match &self.entries.get(&place.0)?.node {
            Node::Folder { names } => names.get(&place.1).copied(),
            _ => None,
        }
    }

    /// What a name leads to.
    #[must_use]
    pub fn shown(&self, folder: Inode, name: &CStr) -> Option<Inode> {
        let place = (folder, name.to_owned());
        let covered = self.at(&place)?;
        Some(self.mounts.get(&place).copied().unwrap_or(covered))
    }

    /// Gives an inode a name, or one more.
    ///
    /// # Errors
    /// Where something has the name, and between file systems.
    pub fn link(&mut self, place: Place, inode: Inode) -> io::Result<()> {
        if place.0.device != inode.device {
            return Err(io::Error::from_raw_os_error(EXDEV));
        }
        let (folder, name) = place;
        // A folder that was removed and is still open takes no names.
        let entry = self
            .entries
            .get_mut(&folder)
            .filter(|entry| entry.names > 0);
        let Some(Node::Folder { names }) = entry.map(|entry| &mut entry.node) else {
            return Err(io::Error::from_raw_os_error(ENOENT));
        };
        if names.contains_key(&name) {
            return Err(io::Error::from_raw_os_error(EEXIST));
        }
        names.insert(name, inode);
        self.entry_mut(inode).names += 1;
        Ok(())
    }

    /// Takes a name away.
    ///
    /// # Errors
    /// Where nothing has it, a folder with names does, or something is mounted over it.
    pub fn unlink(&mut self, place: &Place) -> io::Result<()> {
        let inode = self.free_place(place)?;
        if self.names(inode).next().is_some() {
            return Err(io::Error::from_raw_os_error(ENOTEMPTY));
        }
        self.take_name(place);
        self.entry_mut(inode).names -= 1;
        self.forget(inode);
        Ok(())
    }

    /// Moves a name where nothing has the new one.
    ///
    /// # Errors
    /// As [`Tree::link`] and [`Tree::unlink`].
    pub fn rename(&mut self, from: &Place, to: Place) -> io::Result<()> {
        let inode = self.free_place(from)?;
        self.link(to, inode)?;
        self.take_name(from);
        self.entry_mut(inode).names -= 1;
        Ok(())
    }

    /// Exchanges what has two names, as RENAME_EXCHANGE does.
    ///
    /// # Errors
    /// As [`Tree::rename`].
    pub fn exchange(&mut self, one: &Place, other: &Place) -> io::Result<()> {
        let (first, second) = (self.free_place(one)?, self.free_place(other)?);
        if one.0.device != other.0.device {
            return Err(io::Error::from_raw_os_error(EXDEV));
        }
        for (place, inode) in [(one, second), (other, first)] {
            if let Node::Folder { names } = &mut self.entry_mut(place.0).node {
                names.insert(place.1.clone(), inode);
            }
        }
        Ok(())
    }

    /// Mounts one thing over another: a file system by its topmost folder, or what has another name (a bind mount).
    ///
    /// # Errors
    /// Where nothing has the name, something is mounted there, or one is a folder and the other is none.
    pub fn mount(&mut self, place: &Place, inode: Inode) -> io::Result<()> {
        let covered = self.free_place(place)?;
        let is_folder = |inode| matches!(self.node(inode), Node::Folder { .. });
        if is_folder(covered) != is_folder(inode) {
            return Err(io::Error::from_raw_os_error(ENOTDIR));
        }
        self.entry_mut(inode).names += 1;
        self.mounts.insert(place.clone(), inode);
        Ok(())
    }

    /// Takes away what is mounted over a name; whether something was.
    pub fn unmount(&mut self, place: &Place) -> bool {
        let Some(inode) = self.mounts.remove(place) else {
            return false;
        };
        self.entry_mut(inode).names -= 1;
        self.forget(inode);
        true
    }

    /// Changes what a file or disk holds.
    pub fn change(&mut self, inode: Inode, change: impl FnOnce(&mut Bytes)) {
        self.now += 1;
        let now = self.now;
        let entry = self.entry_mut(inode);
        if let Node::File { bytes } | Node::Disk { bytes, .. } = &mut entry.node {
            change(bytes);
            entry.modified = now;
        }
    }

    /// Where a path leads, with links resolved, and what is there; the last name may be missing. A link in the last
    /// place is followed where that is asked for.
    ///
    /// # Errors
    /// Where a folder on the way is missing, and where links go round in circles.
    pub fn follow(&self, path: &Path, follows_last: bool) -> io::Result<(PathBuf, Option<Inode>)> {
        let mut todo: Vec<CString> = Vec::new();
        let mut reached: Vec<(CString, Inode)> = Vec::new();
        let mut links = 0;
        push_parts(&mut todo, path)?;
        while let Some(name) = todo.pop() {
            let folder = reached.last().map_or(ROOT, |(_, inode)| *inode);
            if name.as_c_str() == c".." {
                reached.pop();
                continue;
            }
            if !matches!(self.node(folder), Node::Folder { .. }) {
                return Err(io::Error::from_raw_os_error(ENOTDIR));
            }
            let Some(inode) = self.shown(folder, &name) else {
                return match todo.is_empty() {
                    true => Ok((joined(&reached).join(part(&name)), None)),
                    false => Err(io::Error::from_raw_os_error(ENOENT)),
                };
            };
            match self.node(inode) {
                Node::Link { to } if follows_last || !todo.is_empty() => {
                    links += 1;
                    if links > LINKS_MAX {
                        return Err(io::Error::from_raw_os_error(ELOOP));
                    }
                    if to.is_absolute() {
                        reached.clear();
                    }
                    push_parts(&mut todo, to)?;
                }
                _ => reached.push((name, inode)),
            }
        }
        let inode = reached.last().map_or(ROOT, |(_, inode)| *inode);
        Ok((joined(&reached), Some(inode)))
    }

    pub(super) fn facts(&self, inode: Inode) -> Facts {
        let entry = self.entry(inode);
        let tells_birth = self.file_systems[&inode.device].tells_birth;
        let (kind, bytes, number) = match &entry.node {
            Node::File { bytes } => (Kind::File, bytes.length(), 0),
            // The size of a device is asked for by another call.
            Node::Disk { number, .. } => (Kind::BlockDevice, 0, *number),
            Node::Folder { .. } => (Kind::Folder, 0, 0),
            Node::Link { .. } => (Kind::Link, 0, 0),
        };
        Facts {
            kind,
            device: inode.device,
            inode: inode.number,
            birth_ns: tells_birth.then_some(entry.birth),
            modified_ns: entry.modified,
            bytes,
            number,
        }
    }

    /// Opens; an open file keeps its inode, whatever becomes of the names.
    pub(super) fn open(&mut self, inode: Inode) -> u64 {
        self.entry_mut(inode).opened += 1;
        self.next_open += 1;
        self.next_open
    }

    /// Closes, and gives back the lock and the claim of the open file.
    pub(super) fn close(&mut self, inode: Inode, open: u64) {
        for held in [&mut self.locks, &mut self.claims] {
            if held.get(&inode) == Some(&open) {
                held.remove(&inode);
            }
        }
        self.entry_mut(inode).opened -= 1;
        self.forget(inode);
    }

    /// Whether the lock is that of this open file now.
    pub(super) fn lock(&mut self, inode: Inode, open: u64) -> bool {
        *self.locks.entry(inode).or_insert(open) == open
    }

    /// Whether this open file holds the disk for itself now.
    pub(super) fn claim(&mut self, inode: Inode, open: u64) -> bool {
        *self.claims.entry(inode).or_insert(open) == open
    }

    pub(super) fn is_claimed(&self, inode: Inode) -> bool {
        self.claims.contains_key(&inode)
    }

    pub(super) fn mark_made(&mut self, inode: Inode) {
        self.entry_mut(inode).is_made = true;
    }

    pub(super) fn mark_used(&mut self, inode: Inode) {
        self.entry_mut(inode).is_used = true;
    }

    fn entry(&self, inode: Inode) -> &Entry {
        &self.entries[&inode]
    }

    fn entry_mut(&mut self, inode: Inode) -> &mut Entry {
        self.entries.get_mut(&inode).expect("the inode is there")
    }

    /// What has a name over which nothing is mounted.
    fn free_place(&self, place: &Place) -> io::Result<Inode> {
        if self.mounts.contains_key(place) {
            return Err(io::Error::from_raw_os_error(EBUSY));
        }
        let inode = self.at(place);
        inode.ok_or_else(|| io::Error::from_raw_os_error(ENOENT))
    }

    fn take_name(&mut self, place: &Place) {
        if let Node::Folder { names } = &mut self.entry_mut(place.0).node {
            names.remove(&place.1);
        }
    }

    /// Takes an inode away to which nothing leads, and that nobody has open.
    fn forget(&mut self, inode: Inode) {
        let is_left = |entry: &Entry| entry.names == 0 && entry.opened == 0;
        if self.entries.get(&inode).is_some_and(is_left) {
            self.entries.remove(&inode);
            let of = self.file_systems.get_mut(&inode.device);
            of.expect("it was added").free.push(inode.number);
        }
    }
}

impl Node {
    /// A file that holds this.
    #[must_use]
    pub fn file(data: &[u8]) -> Self {
        Node::File { bytes: data.into() }
    }
}

fn folder() -> Node {
    Node::Folder {
        names: BTreeMap::new(),
    }
}

/// The parts of a path, the first on top.
fn push_parts(todo: &mut Vec<CString>, path: &Path) -> io::Result<()> {
    for component in path.components().rev() {
        match component {
            Component::Normal(name) => todo.push(sys::file::at::name(name)?),
            Component::ParentDir => todo.push(c"..".to_owned()),
            _ => {}
        }
    }
    Ok(())
}

fn joined(reached: &[(CString, Inode)]) -> PathBuf {
    let mut path = PathBuf::from("/");
    path.extend(reached.iter().map(|(name, _)| part(name)));
    path
}

pub(super) fn part(name: &CStr) -> &Path {
    use std::os::unix::ffi::OsStrExt;
    Path::new(std::ffi::OsStr::from_bytes(name.to_bytes()))
}

const ENOENT: i32 = 2;
const EBUSY: i32 = 16;
const EEXIST: i32 = 17;
const EXDEV: i32 = 18;
const ENOTDIR: i32 = 20;
const ENOTEMPTY: i32 = 39;
const ELOOP: i32 = 40;
