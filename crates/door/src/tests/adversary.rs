//! Whatever others do between any two calls of the door, what is theirs keeps its bytes, and its name.
use super::model::{Inode, Model, Node, ROOT, Tree};
use crate::{Door, Found, Grant, Grants, Intent, Purpose, RemoveError};
use plan::{Access, TargetId};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use sys::file::OpenFlags;

const SEEDS: u64 = 10_000;
const OURS: &[u8] = b"ours";
const TARGET: TargetId = TargetId(0);

/// Numbers that follow from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize].clone()
    }
}

/// What others own, as far as they know.
#[derive(Default)]
struct Theirs {
    bytes: BTreeMap<Inode, Vec<u8>>,
    names: BTreeMap<(Inode, CString), Inode>,
    /// What the door has opened for writing: from then on it is no more theirs.
    written: BTreeSet<Inode>,
}

/// Others at work.
struct Adversary {
    dice: Dice,
    theirs: Arc<Mutex<Theirs>>,
    folders: Vec<Inode>,
}

const NAMES: [&CStr; 3] = [c"target", c"other", c"third"];

impl Adversary {
    fn act(&mut self, tree: &mut Tree) {
        if self.dice.below(4) > 0 {
            return;
        }
        let theirs = Arc::clone(&self.theirs);
        let mut theirs = theirs.lock().unwrap();
        let (from, to) = (self.place(), self.place());
        match self.dice.below(8) {
            0 | 1 => self.exchange(tree, &mut theirs, from, to),
            2 => self.link(tree, &mut theirs, to),
            3 => self.new_file(tree, &mut theirs, to),
            4 => self.hard_link(tree, &mut theirs, from, to),
            5 => self.grow(tree, &mut theirs, from),
            6 => Self::swap_folders(tree),
            _ => {
                let (at, over) = (self.dice.pick(&self.folders), self.dice.pick(&self.folders));
                match tree.mounts.remove(&at) {
                    Some(_) => {}
                    None => drop(tree.mounts.insert(at, over)),
                }
            }
        }
    }

    fn place(&mut self) -> (Inode, CString) {
        (
            self.dice.pick(&self.folders),
            self.dice.pick(&NAMES).to_owned(),
        )
    }

    /// RENAME_EXCHANGE, and a plain rename where one of the names is free.
    fn exchange(
        &mut self,
        tree: &mut Tree,
        theirs: &mut Theirs,
        one: (Inode, CString),
        other: (Inode, CString),
    ) {
        let first = tree.names(one.0).remove(&one.1);
        let second = tree.names(other.0).remove(&other.1);
        for (place, inode) in [(other, first), (one, second)] {
            self.put(tree, theirs, place, inode);
        }
    }

    fn put(
        &mut self,
        tree: &mut Tree,
        theirs: &mut Theirs,
        place: (Inode, CString),
        inode: Option<Inode>,
    ) {
        theirs.names.remove(&place);
        if let Some(inode) = inode {
            tree.link(place.0, &place.1, inode);
            if theirs.bytes.contains_key(&inode) {
                theirs.names.insert(place, inode);
            }
        }
    }

    /// A link to what they own takes a free name, or that of ours.
    fn link(&mut self, tree: &mut Tree, theirs: &mut Theirs, at: (Inode, CString)) {
        if !self.clear(tree, theirs, &at) {
            return;
        }
        let to = PathBuf::from(
            self.dice
                .pick(&["/a/other", "/b/third", "/a/disk", "/b/target"]),
        );
        let inode = tree.add(|_| Node::Link { to });
        tree.link(at.0, &at.1, inode);
    }

    fn new_file(&mut self, tree: &mut Tree, theirs: &mut Theirs, at: (Inode, CString)) {
        if !self.clear(tree, theirs, &at) {
            return;
        }
        let bytes = b"their new data".to_vec();
        let inode = tree.add_file(&bytes);
        theirs.bytes.insert(inode, bytes);
        theirs.written.remove(&inode);
        self.put(tree, theirs, at, Some(inode));
    }

    /// Removes what has a name, unless it is theirs; whether it is free then.
    fn clear(&mut self, tree: &mut Tree, theirs: &Theirs, at: &(Inode, CString)) -> bool {
        match tree.names(at.0).get(&at.1).copied() {
            Some(inode) if theirs.bytes.contains_key(&inode) => false,
            Some(inode) => {
                tree.names(at.0).remove(&at.1);
                tree.forget(inode);
                true
            }
            None => true,
        }
    }

    fn hard_link(
        &mut self,
        tree: &mut Tree,
        theirs: &mut Theirs,
        from: (Inode, CString),
        to: (Inode, CString),
    ) {
        let inode = tree.names(from.0).get(&from.1).copied();
        let is_theirs = inode.is_some_and(|inode| theirs.bytes.contains_key(&inode));
        if is_theirs && !tree.names(to.0).contains_key(&to.1) {
            self.put(tree, theirs, to, inode);
        }
    }

    /// A file that was blank holds something from now on, unless the door has opened it for writing.
    fn grow(&mut self, tree: &mut Tree, theirs: &mut Theirs, at: (Inode, CString)) {
        let Some(inode) = tree.names(at.0).get(&at.1).copied() else {
            return;
        };
        let is_ours = theirs.written.contains(&inode) || tree.made.contains(&inode);
        if is_ours || !matches!(tree.nodes[&inode], Node::File { .. }) {
            return;
        }
        tree.grow(inode, b" and more");
        if let Node::File { bytes, .. } = &tree.nodes[&inode] {
            theirs.bytes.insert(inode, bytes.clone());
            theirs.names.insert(at, inode);
        }
    }

    /// The folders of a path change places.
    fn swap_folders(tree: &mut Tree) {
        let names = tree.names(ROOT);
        let (one, other) = (names[c"a"], names[c"b"]);
        names.insert(c"a".to_owned(), other);
        names.insert(c"b".to_owned(), one);
    }
}

struct World {
    tree: Arc<Mutex<Tree>>,
    theirs: Arc<Mutex<Theirs>>,
    folders: Vec<Inode>,
}

/// Two folders with files of others, blank ones, a disk, and free names.
fn world(dice: &mut Dice) -> World {
    let mut tree = Tree::new();
    let mut theirs = Theirs::default();
    let mut folders = Vec::new();
    for folder in [c"a", c"b"] {
        let inode = tree.add_folder();
        tree.link(ROOT, folder, inode);
        folders.push(inode);
        for name in NAMES {
            let bytes: &[u8] = match dice.below(4) {
                0 => continue,
                1 => b"",
                _ => b"their data",
            };
            let file = tree.add_file(bytes);
            tree.link(inode, name, file);
            if !bytes.is_empty() {
                theirs.bytes.insert(file, bytes.to_vec());
                theirs.names.insert((inode, name.to_owned()), file);
            }
        }
    }
    let (number, sequence, bytes) = (7, 3, b"their file system".to_vec());
    let disk = tree.add(|_| Node::Disk {
        number,
        sequence,
        bytes: bytes.clone(),
    });
    tree.link(folders[0], c"disk", disk);
    theirs.bytes.insert(disk, bytes);
    theirs.names.insert((folders[0], c"disk".to_owned()), disk);
    World {
        tree: Arc::new(Mutex::new(tree)),
        theirs: Arc::new(Mutex::new(theirs)),
        folders,
    }
}

/// Claims, examines and judges as the guard does.
fn judged(door: &Arc<Door<Model>>, path: &Path) -> Option<Grants<Model>> {
    let approach = door.approach(path, Intent::Write).ok()?;
    let is_free = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0) || bytes == OURS;
    let access = match (approach.found, &approach.file) {
        (Found::Missing, _) => Access::Create,
        (Found::File | Found::BlockDevice, Some(file)) if is_free(&file.read()) => Access::Write,
        _ => return None,
    };
    if approach.unclaimed.is_some() {
        return None;
    }
    let grant = Grant::issue(TARGET, access, approach.object?, approach.real_path);
    Some(Grants::new(Arc::clone(door), vec![grant]))
}

/// One execution; true where somebody took a name while what stood there was looked at.
fn execute(world: &World, dice: &mut Dice, seed: u64) -> (bool, u64) {
    let mut adversary = Adversary {
        dice: Dice(seed ^ 0x5eed),
        theirs: Arc::clone(&world.theirs),
        folders: world.folders.clone(),
    };
    let model = Model::new(&world.tree, 1, move |tree| adversary.act(tree));
    let door = Arc::new(Door::over(model, 4));
    let path = dice.pick(&["/a/target", "/b/target", "/a/other", "/a/disk"]);
    let Some(grants) = judged(&door, Path::new(path)) else {
        return (false, 0);
    };
    let mut is_stranded = false;
    let mut writes = 0;
    for _ in 0..6 {
        match dice.below(4) {
            0 | 1 => {
                let purpose = dice.pick(&[Purpose::Write, Purpose::Cut, Purpose::Read]);
                let opened = grants.open(TARGET, purpose, &OpenFlags::default());
                if let (Ok(file), Purpose::Write | Purpose::Cut) = (opened, purpose) {
                    world.theirs.lock().unwrap().written.insert(file.inode());
                    file.write(OURS);
                    writes += 1;
                }
            }
            2 => {
                let entry = grants.entry(TARGET, |_| true).unwrap();
                if let Ok(fresh) = entry.make() {
                    let _ = entry.remember(&fresh);
                }
            }
            _ => {
                let entry = grants.entry(TARGET, |_| true).unwrap();
                let removed = entry.set_aside().and_then(|aside| entry.unlink(aside));
                is_stranded |= matches!(removed, Err(RemoveError::Stranded { .. }));
            }
        }
    }
    (is_stranded, writes)
}

#[test]
fn what_others_own_keeps_its_bytes_and_names() {
    let (mut stranded, mut writes) = (0, 0);
    for seed in 0..SEEDS {
        let mut dice = Dice(seed);
        let world = world(&mut dice);
        let (is_stranded, written) = execute(&world, &mut dice, seed);
        stranded += u64::from(is_stranded);
        writes += written;
        let theirs = world.theirs.lock().unwrap();
        let mut tree = world.tree.lock().unwrap();
        for (inode, known) in &theirs.bytes {
            let bytes = match &tree.nodes[inode] {
                Node::File { bytes, .. } | Node::Disk { bytes, .. } => bytes,
                other => panic!("seed {seed}: {other:?}"),
            };
            assert_eq!(bytes, known, "seed {seed}");
        }
        for ((folder, name), inode) in &theirs.names {
            let now = tree.names(*folder).get(name);
            assert!(
                now == Some(inode) || is_stranded,
                "seed {seed}: {name:?} leads to {now:?}, not to {inode}"
            );
        }
    }
    // The proof is worth something only where the door gets to write, and where it is hindered.
    assert!(writes > SEEDS / 10, "{writes} writes");
    assert!(stranded < SEEDS / 100, "{stranded} stranded");
}
