//! Other programs at work on a model: they move, exchange, link, mount, make, grow, cut and remove by chance, and what
//! they own is known at the end.
use super::bytes::Bytes;
use super::tree::{Inode, Node, Place, ROOT, Tree};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// Numbers that follow from a seed.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut dice = Self(seed ^ 0x9e37_79b9_7f4a_7c15);
        // Seeds that follow each other differ in few bits.
        dice.below(1);
        dice.below(1);
        dice
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    /// # Panics
    /// Where there is nothing to choose from.
    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize].clone()
    }
}

/// What others do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Move {
    Rename,
    /// A rename over a name that is taken.
    Replace,
    Exchange,
    HardLink,
    Link,
    NewFile,
    Remove,
    /// Removed and made again at once, which takes the number of the inode again.
    Recreate,
    Grow,
    Cut,
    /// Folders on the way to files change places.
    ExchangeFolders,
    /// A file system over a folder.
    Mount,
    /// A folder over another one.
    BindFolder,
    BindFile,
    Unmount,
}

impl Move {
    pub const ALL: [Move; 15] = [
        Move::Rename,
        Move::Replace,
        Move::Exchange,
        Move::HardLink,
        Move::Link,
        Move::NewFile,
        Move::Remove,
        Move::Recreate,
        Move::Grow,
        Move::Cut,
        Move::ExchangeFolders,
        Move::Mount,
        Move::BindFolder,
        Move::BindFile,
        Move::Unmount,
    ];
}

/// What others own: where it has to be, and what it has to hold.
#[derive(Debug, Default)]
pub struct Theirs {
    /// By serial.
    objects: BTreeMap<u64, Owned>,
    /// How often which move came about.
    pub moves: BTreeMap<Move, u64>,
}

#[derive(Debug)]
struct Owned {
    content: Content,
    homes: BTreeSet<Place>,
}

#[derive(Debug)]
enum Content {
    /// A blank file may be written by whoever was asked to.
    Blank,
    Bytes(Bytes),
    Link(PathBuf),
}

/// Other programs.
#[derive(Debug)]
pub struct Others {
    dice: Dice,
    theirs: Arc<Mutex<Theirs>>,
    /// Where they work.
    places: Vec<Place>,
    /// Folders that change places, and that are mounted over.
    folders: Vec<Place>,
    /// File systems to mount, by their topmost folders.
    file_systems: Vec<Inode>,
    /// Paths to which links lead.
    paths: Vec<PathBuf>,
    /// They act before one call in so many.
    one_in: u64,
    /// Where they acted last: they often go on there.
    last: Option<Place>,
}

impl Theirs {
    /// Takes down what stands at a place as theirs.
    pub fn own(&mut self, tree: &Tree, place: &Place) {
        let Some(inode) = tree.at(place) else { return };
        let content = match tree.node(inode) {
            Node::File { bytes } | Node::Disk { bytes, .. } if bytes.is_blank() => Content::Blank,
            Node::File { bytes } | Node::Disk { bytes, .. } => Content::Bytes(bytes.clone()),
            Node::Link { to } => Content::Link(to.clone()),
            Node::Folder { .. } => return,
        };
        let owned = self.objects.entry(tree.serial(inode));
        let owned = owned.or_insert_with(|| Owned {
            content: Content::Blank,
            homes: BTreeSet::new(),
        });
        owned.content = content;
        owned.homes.insert(place.clone());
    }

    /// They have given up a name. What has none left is no more.
    fn leave(&mut self, serial: u64, place: &Place) {
        if let Some(owned) = self.objects.get_mut(&serial) {
            owned.homes.remove(place);
            if owned.homes.is_empty() {
                self.objects.remove(&serial);
            }
        }
    }

    fn has_moved(&mut self, serial: u64, from: &Place, to: &Place) {
        if let Some(owned) = self.objects.get_mut(&serial) {
            owned.homes.remove(from);
            owned.homes.insert(to.clone());
        }
    }

    /// Compares what is there with what they own; how many names were lost because somebody took them while a file was
    /// out of its place. Such a file has to be in a folder whose name begins with `refuge`.
    ///
    /// # Errors
    /// What is not as they left it, in words.
    pub fn compare(&self, tree: &Tree, refuge: &str) -> Result<usize, String> {
        let by_serial: BTreeMap<u64, Inode> = tree
            .inodes()
            .map(|(inode, serial)| (serial, inode))
            .collect();
        let mut displaced = 0;
        for (serial, owned) in &self.objects {
            let Some(inode) = by_serial.get(serial) else {
                return Err(format!("{owned:?} is gone"));
            };
            let is_same = match (&owned.content, tree.node(*inode)) {
                (Content::Blank, _) => true,
                (Content::Bytes(known), Node::File { bytes } | Node::Disk { bytes, .. }) => {
                    known == bytes
                }
                (Content::Link(known), Node::Link { to }) => known == to,
                _ => false,
            };
            if !is_same {
                return Err(format!("{owned:?} holds {:?}", tree.node(*inode)));
            }
            for home in &owned.homes {
                if tree.at(home) == Some(*inode) {
                    continue;
                }
                if !is_in_refuge(tree, *inode, refuge) {
                    return Err(format!("{owned:?} has lost the name {home:?}"));
                }
                displaced += 1;
            }
        }
        Ok(displaced)
    }
}

/// Whether an inode has a name in a folder whose name begins so.
fn is_in_refuge(tree: &Tree, inode: Inode, refuge: &str) -> bool {
    let is_refuge = |name: &CString| name.to_bytes().starts_with(refuge.as_bytes());
    let has_name = |folder| tree.names(folder).any(|(_, named)| named == inode);
    tree.inodes().any(|(folder, _)| {
        let mut names = tree.names(folder);
        names.any(|(name, below)| is_refuge(name) && has_name(below))
    })
}

impl Others {
    /// They work in `folders` of `/` and in `file_systems`, on these names.
    #[must_use]
    pub fn new(
        seed: u64,
        tree: &Tree,
        theirs: &Arc<Mutex<Theirs>>,
        folders: &[Inode],
        names: &[CString],
    ) -> Self {
        let places = folders.iter().flat_map(|folder| {
            let names = names.iter();
            names.map(move |name| (*folder, name.clone()))
        });
        let places: Vec<Place> = places.collect();
        let is_listed = |(_, inode): &(&CString, Inode)| folders.contains(inode);
        let below_root = tree.names(ROOT).filter(is_listed);
        let below_root: Vec<Place> = below_root.map(|(name, _)| (ROOT, name.clone())).collect();
        let own: BTreeSet<Inode> = folders.iter().copied().collect();
        let named: BTreeSet<Inode> = tree.names(ROOT).map(|(_, inode)| inode).collect();
        let mut paths = Vec::new();
        for (_, folder) in &below_root {
            let folder = PathBuf::from("/").join(super::tree::part(folder));
            paths.extend(
                names
                    .iter()
                    .map(|name| folder.join(super::tree::part(name))),
            );
            paths.push(folder);
        }
        Self {
            dice: Dice::new(seed),
            theirs: Arc::clone(theirs),
            places,
            folders: below_root,
            file_systems: own.difference(&named).copied().collect(),
            paths,
            one_in: 4,
            last: None,
        }
    }

    /// The same, acting before one call in `one_in`.
    #[must_use]
    pub fn one_in(mut self, one_in: u64) -> Self {
        self.one_in = one_in;
        self
    }

    /// Before a call: what they do by chance.
    ///
    /// # Panics
    /// Where another thread has panicked with what they own.
    pub fn act(&mut self, tree: &mut Tree) {
        if self.dice.below(self.one_in) > 0 {
            return;
        }
        let what = self.dice.pick(&Move::ALL);
        let theirs = Arc::clone(&self.theirs);
        let mut theirs = theirs.lock().expect("nothing panics while it is held");
        if self.carry_out(what, tree, &mut theirs).is_some() {
            *theirs.moves.entry(what).or_insert(0) += 1;
        }
    }

    /// Nothing where it cannot be done.
    fn carry_out(&mut self, what: Move, tree: &mut Tree, theirs: &mut Theirs) -> Option<()> {
        let (from, to) = (self.place(), self.place());
        self.last = Some(from.clone());
        match what {
            Move::Rename => rename(tree, theirs, &from, &to),
            Move::Replace => {
                if from == to || from.0.device != to.0.device || tree.at(&from).is_none() {
                    return None;
                }
                remove(tree, theirs, &to)?;
                rename(tree, theirs, &from, &to)
            }
            Move::Exchange => exchange(tree, theirs, &from, &to),
            Move::HardLink => {
                let inode = tree.at(&from)?;
                tree.link(to.clone(), inode).ok()?;
                // Another name of ours is nobody's loss.
                if let Some(owned) = theirs.objects.get_mut(&tree.serial(inode)) {
                    owned.homes.insert(to);
                }
                Some(())
            }
            Move::Link => {
                let to = self.dice.pick(&self.paths);
                add(tree, theirs, &from, Node::Link { to })
            }
            Move::NewFile => add(tree, theirs, &from, self.some_file()),
            Move::Remove => remove(tree, theirs, &from),
            Move::Recreate => {
                remove(tree, theirs, &from)?;
                add(tree, theirs, &from, self.some_file())
            }
            Move::Grow => self.change(tree, theirs, &from, |bytes, more| {
                bytes.write(b"more of theirs", bytes.length() + more);
            }),
            Move::Cut => self.change(tree, theirs, &from, |bytes, less| {
                bytes.set_length(bytes.length().saturating_sub(1 + less));
            }),
            Move::ExchangeFolders => {
                let (one, other) = (self.dice.pick(&self.folders), self.dice.pick(&self.folders));
                (one != other).then_some(())?;
                tree.exchange(&one, &other).ok()
            }
            Move::Mount => {
                let (over, top) = (self.dice.pick(&self.folders), self.file_systems.first()?);
                tree.mount(&over, *top).ok()
            }
            Move::BindFolder => {
                let over = self.dice.pick(&self.folders);
                let bound = tree.at(&self.dice.pick(&self.folders))?;
                tree.mount(&over, bound).ok()
            }
            Move::BindFile => {
                let bound = tree.at(&to)?;
                matches!(tree.node(bound), Node::File { .. }).then_some(())?;
                tree.mount(&from, bound).ok()
            }
            Move::Unmount => {
                let over = self.dice.pick(&self.folders);
                let is_unmounted = tree.unmount(&from) || tree.unmount(&over);
                is_unmounted.then_some(())
            }
        }
    }

    fn place(&mut self) -> Place {
        match (&self.last, self.dice.below(2)) {
            (Some(last), 0) => last.clone(),
            _ => self.dice.pick(&self.places),
        }
    }

    fn some_file(&mut self) -> Node {
        match self.dice.below(4) {
            0 => Node::file(b""),
            1 => Node::File {
                bytes: Bytes::blank(4096),
            },
            _ => Node::file(b"their new data"),
        }
    }

    /// Changes what one of their files holds. What is ours they leave alone.
    fn change(
        &mut self,
        tree: &mut Tree,
        theirs: &mut Theirs,
        place: &Place,
        change: impl FnOnce(&mut Bytes, u64),
    ) -> Option<()> {
        let inode = tree.at(place)?;
        // What was harmed stays as it is, to be seen at the end.
        let is_theirs = match (theirs.objects.get(&tree.serial(inode)), tree.node(inode)) {
            (Some(owned), Node::File { bytes }) => match &owned.content {
                Content::Bytes(known) => known == bytes,
                Content::Blank | Content::Link(_) => true,
            },
            _ => false,
        };
        (is_theirs && !tree.is_ours(inode)).then_some(())?;
        let amount = self.dice.pick(&[0, 1, 4_096, 10_000]);
        tree.change(inode, |bytes| change(bytes, amount));
        theirs.own(tree, place);
        Some(())
    }
}

fn add(tree: &mut Tree, theirs: &mut Theirs, place: &Place, node: Node) -> Option<()> {
    tree.add_at(place.clone(), node).ok()?;
    theirs.own(tree, place);
    Some(())
}

fn remove(tree: &mut Tree, theirs: &mut Theirs, place: &Place) -> Option<()> {
    let serial = tree.serial(tree.at(place)?);
    tree.unlink(place).ok()?;
    theirs.leave(serial, place);
    Some(())
}

fn rename(tree: &mut Tree, theirs: &mut Theirs, from: &Place, to: &Place) -> Option<()> {
    let serial = tree.serial(tree.at(from)?);
    tree.rename(from, to.clone()).ok()?;
    theirs.has_moved(serial, from, to);
    Some(())
}

fn exchange(tree: &mut Tree, theirs: &mut Theirs, one: &Place, other: &Place) -> Option<()> {
    let (first, second) = (tree.at(one)?, tree.at(other)?);
    (first != second).then_some(())?;
    tree.exchange(one, other).ok()?;
    let serials = (tree.serial(first), tree.serial(second));
    theirs.has_moved(serials.0, one, other);
    theirs.has_moved(serials.1, other, one);
    Some(())
}
