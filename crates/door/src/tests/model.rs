//! A file system in memory: folders, names, files with identities. Others act on it between any two calls of the door.
use crate::{Calls, Facts, Kind};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, CString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use sys::file::OpenFlags;

pub type Inode = u64;

/// What an inode is.
#[derive(Clone, Debug)]
pub enum Node {
    File {
        bytes: Vec<u8>,
        birth: i128,
        modified: i128,
    },
    Disk {
        number: u64,
        sequence: u64,
        bytes: Vec<u8>,
    },
    Folder {
        names: BTreeMap<CString, Inode>,
    },
    Link {
        to: PathBuf,
    },
}

#[derive(Clone, Debug, Default)]
pub struct Tree {
    pub nodes: BTreeMap<Inode, Node>,
    next: Inode,
    /// Inodes whose numbers are free again.
    free: Vec<Inode>,
    now: i128,
    /// Who holds the lock of an inode: an execution.
    locks: BTreeMap<Inode, u64>,
    claims: BTreeMap<u64, u64>,
    /// How often an inode is open: its number is not used again before the last is closed.
    opened: BTreeMap<Inode, u32>,
    /// Files that the door has made: nobody else's, whoever writes to them.
    pub made: BTreeSet<Inode>,
    /// A folder that is mounted over another one.
    pub mounts: BTreeMap<Inode, Inode>,
}

pub const ROOT: Inode = 1;

type Others = Box<dyn FnMut(&mut Tree) + Send>;

/// The file system as one execution reaches it.
pub struct Model {
    pub tree: Arc<Mutex<Tree>>,
    execution: u64,
    /// Acts before each call.
    others: Mutex<Others>,
}

pub struct ModelFile {
    inode: Inode,
    pub is_writable: bool,
    tree: Arc<Mutex<Tree>>,
    execution: u64,
    is_claim: bool,
}

pub struct ModelKept(Arc<Mutex<Tree>>, Inode, u64);

impl Tree {
    pub fn new() -> Self {
        let mut tree = Self {
            next: ROOT + 1,
            ..Self::default()
        };
        tree.nodes.insert(
            ROOT,
            Node::Folder {
                names: BTreeMap::new(),
            },
        );
        tree
    }

    /// A new inode; the number of one that is gone, where there is one.
    pub fn add(&mut self, node: impl FnOnce(i128) -> Node) -> Inode {
        self.now += 1;
        let inode = self.free.pop().unwrap_or_else(|| {
            self.next += 1;
            self.next
        });
        self.nodes.insert(inode, node(self.now));
        inode
    }

    pub fn add_file(&mut self, bytes: &[u8]) -> Inode {
        let bytes = bytes.to_vec();
        self.add(|now| Node::File {
            bytes,
            birth: now,
            modified: now,
        })
    }

    pub fn add_folder(&mut self) -> Inode {
        self.add(|_| Node::Folder {
            names: BTreeMap::new(),
        })
    }

    pub fn names(&mut self, folder: Inode) -> &mut BTreeMap<CString, Inode> {
        match self.nodes.get_mut(&folder) {
            Some(Node::Folder { names }) => names,
            other => panic!("{folder} is no folder: {other:?}"),
        }
    }

    pub fn link(&mut self, folder: Inode, name: &CStr, inode: Inode) {
        self.names(folder).insert(name.to_owned(), inode);
    }

    fn open(&mut self, inode: Inode) {
        *self.opened.entry(inode).or_insert(0) += 1;
    }

    fn close(&mut self, inode: Inode) {
        let count = self.opened.get_mut(&inode).expect("it is open");
        *count -= 1;
        if *count == 0 {
            self.opened.remove(&inode);
            self.forget(inode);
        }
    }

    /// Takes an inode away once no name leads to it and nobody has it open.
    pub fn forget(&mut self, inode: Inode) {
        if self.opened.contains_key(&inode) {
            return;
        }
        let is_named = self.nodes.values().any(|node| {
            matches!(node, Node::Folder { names } if names.values().any(|one| *one == inode))
        });
        if !is_named && self.nodes.remove(&inode).is_some() {
            self.made.remove(&inode);
            self.free.push(inode);
        }
    }

    /// Others append.
    pub fn grow(&mut self, inode: Inode, more: &[u8]) {
        self.now += 1;
        let now = self.now;
        if let Some(Node::File {
            bytes, modified, ..
        }) = self.nodes.get_mut(&inode)
        {
            bytes.extend(more);
            *modified = now;
        }
    }

    fn facts(&self, inode: Inode) -> Facts {
        let facts = |kind, birth_ns, modified_ns, bytes, number| Facts {
            kind,
            device: 1,
            inode,
            birth_ns,
            modified_ns,
            bytes,
            number,
        };
        match &self.nodes[&inode] {
            Node::File {
                bytes,
                birth,
                modified,
            } => facts(Kind::File, Some(*birth), *modified, bytes.len() as u64, 0),
            Node::Disk { number, .. } => facts(Kind::BlockDevice, None, 0, 0, *number),
            Node::Folder { .. } => facts(Kind::Folder, Some(0), 0, 0, 0),
            Node::Link { .. } => facts(Kind::Link, Some(0), 0, 0, 0),
        }
    }

    /// Where a path leads, with what is mounted and, but for the last name, links followed.
    fn walk(&self, path: &Path) -> io::Result<Inode> {
        let mut at = ROOT;
        for part in path.components().skip(1) {
            let name = sys::file::at::name(part.as_os_str())?;
            let Some(Node::Folder { names }) = self.nodes.get(&at) else {
                return Err(io::ErrorKind::NotADirectory.into());
            };
            let next = names.get(&name).ok_or(io::ErrorKind::NotFound)?;
            at = *self.mounts.get(next).unwrap_or(next);
        }
        Ok(at)
    }
}

impl Model {
    pub fn new(
        tree: &Arc<Mutex<Tree>>,
        execution: u64,
        others: impl FnMut(&mut Tree) + Send + 'static,
    ) -> Self {
        Self {
            tree: Arc::clone(tree),
            execution,
            others: Mutex::new(Box::new(others)),
        }
    }

    /// Others act, and then the call sees what they have left.
    fn after_others(&self) -> MutexGuard<'_, Tree> {
        let mut tree = self.tree.lock().unwrap();
        (self.others.lock().unwrap())(&mut tree);
        tree
    }

    fn file(&self, tree: &mut Tree, inode: Inode, flags: &OpenFlags) -> ModelFile {
        tree.open(inode);
        ModelFile {
            inode,
            is_writable: flags.write,
            tree: Arc::clone(&self.tree),
            execution: self.execution,
            is_claim: flags.exclusive,
        }
    }
}

impl ModelFile {
    pub fn read(&self) -> Vec<u8> {
        match &self.tree.lock().unwrap().nodes[&self.inode] {
            Node::File { bytes, .. } | Node::Disk { bytes, .. } => bytes.clone(),
            other => panic!("only files and disks are opened: {other:?}"),
        }
    }

    /// Writes ours over what is there.
    pub fn write(&self, data: &[u8]) {
        assert!(self.is_writable);
        let mut tree = self.tree.lock().unwrap();
        tree.now += 1;
        let now = tree.now;
        match tree.nodes.get_mut(&self.inode) {
            Some(Node::File {
                bytes, modified, ..
            }) => {
                bytes.resize(bytes.len().max(data.len()), 0);
                bytes[..data.len()].copy_from_slice(data);
                *modified = now;
            }
            Some(Node::Disk { bytes, .. }) => bytes[..data.len()].copy_from_slice(data),
            other => panic!("only files and disks are written: {other:?}"),
        }
    }

    pub fn inode(&self) -> Inode {
        self.inode
    }
}

impl Drop for ModelFile {
    fn drop(&mut self) {
        let mut tree = self.tree.lock().unwrap();
        tree.close(self.inode);
        if self.is_claim && tree.claims.get(&self.inode) == Some(&self.execution) {
            tree.claims.remove(&self.inode);
        }
    }
}

impl Drop for ModelKept {
    fn drop(&mut self) {
        let mut tree = self.0.lock().unwrap();
        if tree.locks.get(&self.1) == Some(&self.2) {
            tree.locks.remove(&self.1);
        }
        tree.close(self.1);
    }
}

impl Calls for Model {
    type Folder = Inode;
    type File = ModelFile;
    type Kept = ModelKept;

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        let tree = self.after_others();
        let mut path = path.to_path_buf();
        for _ in 0..8 {
            match tree
                .walk(&path)
                .ok()
                .and_then(|inode| tree.nodes.get(&inode))
            {
                Some(Node::Link { to }) => path = to.clone(),
                _ => return Ok(path),
            }
        }
        Err(io::Error::from_raw_os_error(40))
    }

    fn open_folder(&self, path: &Path) -> io::Result<Inode> {
        let tree = self.after_others();
        let inode = tree.walk(path)?;
        match &tree.nodes[&inode] {
            Node::Folder { .. } => Ok(inode),
            _ => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    fn folder_facts(&self, folder: &Inode) -> io::Result<Facts> {
        Ok(self.after_others().facts(*folder))
    }

    fn look(&self, folder: &Inode, name: &CStr) -> io::Result<Facts> {
        let mut tree = self.after_others();
        let found = tree.names(*folder).get(name).copied();
        Ok(tree.facts(found.ok_or(io::ErrorKind::NotFound)?))
    }

    fn open(&self, folder: &Inode, name: &CStr, flags: &OpenFlags) -> io::Result<ModelFile> {
        let mut tree = self.after_others();
        let inode = *tree
            .names(*folder)
            .get(name)
            .ok_or(io::ErrorKind::NotFound)?;
        match &tree.nodes[&inode] {
            Node::Link { .. } => return Err(io::Error::from_raw_os_error(40)),
            Node::Folder { .. } if flags.write => return Err(io::Error::from_raw_os_error(21)),
            Node::Disk { .. } if flags.exclusive => {
                if tree.claims.contains_key(&inode) {
                    return Err(io::Error::from_raw_os_error(16));
                }
                let execution = self.execution;
                tree.claims.insert(inode, execution);
            }
            _ => {}
        }
        Ok(self.file(&mut tree, inode, flags))
    }

    fn make(&self, folder: &Inode, name: &CStr, flags: &OpenFlags) -> io::Result<ModelFile> {
        let mut tree = self.after_others();
        if tree.names(*folder).contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let inode = tree.add_file(b"");
        tree.link(*folder, name, inode);
        tree.made.insert(inode);
        let flags = OpenFlags {
            write: true,
            exclusive: false,
            ..*flags
        };
        Ok(self.file(&mut tree, inode, &flags))
    }

    fn facts(&self, file: &ModelFile) -> io::Result<Facts> {
        let tree = self.after_others();
        Ok(tree.facts(file.inode))
    }

    fn disk(&self, file: &ModelFile) -> io::Result<(Option<u64>, u64)> {
        match &self.after_others().nodes[&file.inode] {
            Node::Disk {
                sequence, bytes, ..
            } => Ok((Some(*sequence), bytes.len() as u64)),
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    fn lock(&self, file: &ModelFile) -> io::Result<bool> {
        let mut tree = self.after_others();
        let holder = *tree.locks.entry(file.inode).or_insert(self.execution);
        Ok(holder == self.execution)
    }

    fn keep(&self, file: &ModelFile) -> io::Result<ModelKept> {
        self.after_others().open(file.inode);
        Ok(ModelKept(
            Arc::clone(&self.tree),
            file.inode,
            self.execution,
        ))
    }

    fn make_folder(&self, folder: &Inode, name: &CStr) -> io::Result<Inode> {
        let mut tree = self.after_others();
        if tree.names(*folder).contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let inode = tree.add_folder();
        tree.link(*folder, name, inode);
        Ok(inode)
    }

    fn move_to(&self, from: &Inode, name: &CStr, to: &Inode, new: &CStr) -> io::Result<()> {
        let mut tree = self.after_others();
        if tree.names(*to).contains_key(new) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let moved = tree
            .names(*from)
            .remove(name)
            .ok_or(io::ErrorKind::NotFound)?;
        tree.link(*to, new, moved);
        Ok(())
    }

    fn remove(&self, folder: &Inode, name: &CStr) -> io::Result<()> {
        let mut tree = self.after_others();
        let gone = tree
            .names(*folder)
            .remove(name)
            .ok_or(io::ErrorKind::NotFound)?;
        tree.forget(gone);
        Ok(())
    }

    fn remove_folder(&self, folder: &Inode, name: &CStr) -> io::Result<()> {
        let mut tree = self.after_others();
        let inode = *tree
            .names(*folder)
            .get(name)
            .ok_or(io::ErrorKind::NotFound)?;
        if !tree.names(inode).is_empty() {
            return Err(io::Error::from_raw_os_error(39));
        }
        tree.names(*folder).remove(name);
        tree.forget(inode);
        Ok(())
    }
}
