//! What stands in the file systems of a seed, and who works there.
use super::plans;
use door::model::{Dice, Inode, Node, Others, Place, ROOT, Theirs, Tree};
use engine::sim::Opening;
use plan::*;
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

pub struct World {
    pub tree: Arc<Mutex<Tree>>,
    pub theirs: Arc<Mutex<Theirs>>,
    pub opening: Opening,
    /// Drawn when its facts are known.
    dice: Dice,
    /// Where others work.
    folders: Vec<Inode>,
    names: Vec<CString>,
    seed: u64,
}

/// Where targets may be.
const PATHS: [&str; 7] = [
    "/a/target",
    "/a/other",
    "/b/target",
    "/b/third",
    "/b/deep/target",
    "/way/other",
    "/a/disk",
];

impl World {
    /// Folders with files of others, blank ones, links, disks, free names, and two file systems to mount, one of which
    /// does not tell when files were made.
    pub fn new(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let mut tree = Tree::new();
        let mut theirs = Theirs::default();
        let folder = |tree: &mut Tree, place| tree.add_folder(place).unwrap();
        let a = folder(&mut tree, (ROOT, c"a".to_owned()));
        let b = folder(&mut tree, (ROOT, c"b".to_owned()));
        let deep = folder(&mut tree, (b, c"deep".to_owned()));
        let mounted = tree.add_file_system(dice.below(2) == 0);
        let folders = vec![a, b, deep, mounted];
        let names = [c"target", c"other", c"third"].map(CString::from).to_vec();
        let mut add = |place: Place, node| {
            tree.add_at(place.clone(), node).unwrap();
            theirs.own(&tree, &place);
        };
        add((ROOT, c"way".to_owned()), link("/a"));
        for folder in &folders {
            for name in &names {
                let node = match dice.below(8) {
                    0 => Node::file(b"their data"),
                    1 => Node::file(b""),
                    2 => Node::file(&[0; 4096]),
                    3 if dice.below(4) == 0 => link("/b/deep/third"),
                    _ => continue,
                };
                add((*folder, name.clone()), node);
            }
        }
        add((a, c"disk".to_owned()), disk(1, &[0; 1 << 15]));
        add((b, c"disk".to_owned()), disk(2, b"their file system"));
        let opening = dice.pick(&[Opening::ForRun, Opening::ForOperation]);
        Self {
            tree: Arc::new(Mutex::new(tree)),
            theirs: Arc::new(Mutex::new(theirs)),
            opening,
            dice,
            folders,
            names,
            seed,
        }
    }

    pub fn others(&self) -> Others {
        let tree = self.tree.lock().unwrap();
        let seed = self.seed ^ 0x5eed_0000;
        let one_in = self.dice.clone().pick(&[1, 3, 8, 20, 60]);
        Others::new(seed, &tree, &self.theirs, &self.folders, &self.names).one_in(one_in)
    }

    /// The plan of the seed for what stands there; nothing where it does not fit.
    pub fn bound(&self) -> Option<BoundPlan> {
        let mut dice = self.dice.clone();
        let mut paths: Vec<&str> = (0..=dice.below(3)).map(|_| dice.pick(&PATHS)).collect();
        paths.sort_unstable();
        paths.dedup();
        let tree = self.tree.lock().unwrap();
        // Two paths to one file are one target too many.
        let mut real: Vec<PathBuf> = paths.iter().map(|path| real_path(&tree, path)).collect();
        real.sort_unstable();
        real.dedup();
        if real.len() < paths.len() {
            return None;
        }
        let facts = Facts {
            same: Vec::new(),
            targets: paths.iter().map(|path| facts(&tree, path)).collect(),
        };
        bind(plans::plan(&mut dice, &paths, &facts), &facts).ok()
    }
}

fn real_path(tree: &Tree, path: &str) -> PathBuf {
    let followed = tree.follow(Path::new(path), true);
    followed.map_or_else(|_| path.into(), |(real, _)| real)
}

fn facts(tree: &Tree, path: &str) -> TargetFacts {
    let found = tree.follow(Path::new(path), true);
    let inode = found.ok().and_then(|(_, inode)| inode);
    let (found, bytes) = match inode.map(|inode| tree.node(inode)) {
        None => (FoundKind::Missing, 0),
        Some(Node::File { bytes }) => (FoundKind::File, bytes.length()),
        Some(Node::Disk { bytes, .. }) => (FoundKind::BlockDevice, bytes.length()),
        Some(Node::Folder { .. }) => (FoundKind::Directory, 0),
        Some(Node::Link { .. }) => (FoundKind::Other, 0),
    };
    TargetFacts {
        found,
        bytes,
        alignment: Alignment {
            offset: 512,
            memory: 512,
        },
        ram_backed: false,
    }
}

fn link(to: &str) -> Node {
    Node::Link { to: to.into() }
}

fn disk(number: u64, bytes: &[u8]) -> Node {
    Node::Disk {
        number,
        sequence: 3,
        bytes: bytes.into(),
    }
}
