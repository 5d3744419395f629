//! The same executions through doors that lack one precaution each: that others lose something then is found within
//! the seeds, or the proof with the whole door would prove nothing.
use super::worlds::World;
use super::{Ending, SEEDS, check, execute};
use door::model::{File, Folder, Inode, Kept, Model};
use door::{Calls, Facts, Kind};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, CString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use sys::file::OpenFlags;
use sys::file::names::Look;

/// What is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lack {
    /// What is opened counts as what was opened first under its name.
    Comparison,
    /// The same, but for what the file is: a change of size and time is overlooked.
    Untouched,
    /// What was moved aside counts as what was looked at before.
    SecondLook,
    /// A file that came in between is opened as if it had just been made.
    Exclusive,
    /// What is moved back replaces what has the name.
    NoReplace,
}

/// Calls whose answers make the door do without a precaution.
struct Weakened {
    model: Model,
    lack: Lack,
    memory: Mutex<Memory>,
}

#[derive(Default)]
struct Memory {
    /// What was opened last.
    opened: Option<(Inode, CString)>,
    known: BTreeMap<(Inode, CString), Facts>,
    looked: Option<Facts>,
    /// Folders of ours.
    own: BTreeSet<Inode>,
}

impl Weakened {
    fn note(&self, folder: &Folder, name: &CStr, is_new: bool) {
        let mut memory = self.memory.lock().unwrap();
        let place = (folder.inode(), name.to_owned());
        if is_new {
            memory.known.remove(&place);
        }
        memory.opened = Some(place);
    }
}

impl Calls for Weakened {
    type Folder = Folder;
    type File = File;
    type Kept = Kept;

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        self.model.resolve(path)
    }

    fn open_folder(&self, path: &Path) -> io::Result<Folder> {
        self.model.open_folder(path)
    }

    fn folder_facts(&self, folder: &Folder) -> io::Result<Facts> {
        self.model.folder_facts(folder)
    }

    fn look(&self, folder: &Folder, name: &CStr) -> io::Result<Facts> {
        let facts = self.model.look(folder, name)?;
        let mut memory = self.memory.lock().unwrap();
        if self.lack == Lack::SecondLook && memory.own.contains(&folder.inode()) {
            return Ok(memory.looked.expect("it was looked at before it was moved"));
        }
        memory.looked = Some(facts);
        Ok(facts)
    }

    fn look_by_path(&self, path: &CStr, how: Look) -> io::Result<()> {
        self.model.look_by_path(path, how)
    }

    fn open(&self, folder: &Folder, name: &CStr, flags: &OpenFlags) -> io::Result<File> {
        let opened = self.model.open(folder, name, flags)?;
        self.note(folder, name, false);
        Ok(opened)
    }

    fn make(&self, folder: &Folder, name: &CStr, flags: &OpenFlags) -> io::Result<File> {
        let made = match self.model.make(folder, name, flags) {
            Err(error)
                if self.lack == Lack::Exclusive && error.kind() == io::ErrorKind::AlreadyExists =>
            {
                self.model.open(folder, name, flags)?
            }
            made => made?,
        };
        self.note(folder, name, true);
        Ok(made)
    }

    fn facts(&self, file: &File) -> io::Result<Facts> {
        let facts = self.model.facts(file)?;
        let mut memory = self.memory.lock().unwrap();
        let Some(place) = memory.opened.clone() else {
            return Ok(facts);
        };
        let known = *memory.known.entry(place).or_insert(facts);
        Ok(match self.lack {
            Lack::Comparison if facts.kind == Kind::File => known,
            Lack::Untouched => Facts {
                bytes: known.bytes,
                modified_ns: known.modified_ns,
                ..facts
            },
            _ => facts,
        })
    }

    fn disk(&self, file: &File) -> io::Result<(Option<u64>, u64)> {
        self.model.disk(file)
    }

    fn keeps_times(&self, file: &File) -> bool {
        self.model.keeps_times(file)
    }

    fn lock(&self, file: &File) -> io::Result<bool> {
        self.model.lock(file)
    }

    fn lock_shared(&self, file: &File) -> io::Result<bool> {
        self.model.lock_shared(file)
    }

    fn record_lock(&self, file: &File) -> Option<sys::file::RecordLock> {
        self.model.record_lock(file)
    }

    fn keep(&self, file: &File) -> io::Result<Kept> {
        self.model.keep(file)
    }

    fn make_folder(&self, folder: &Folder, name: &CStr) -> io::Result<Folder> {
        let made = self.model.make_folder(folder, name)?;
        self.memory.lock().unwrap().own.insert(made.inode());
        Ok(made)
    }

    fn move_to(&self, from: &Folder, name: &CStr, to: &Folder, new: &CStr) -> io::Result<()> {
        match self.model.move_to(from, name, to, new) {
            Err(error)
                if self.lack == Lack::NoReplace && error.kind() == io::ErrorKind::AlreadyExists =>
            {
                self.model.remove(to, new)?;
                self.model.move_to(from, name, to, new)
            }
            moved => moved,
        }
    }

    fn remove(&self, folder: &Folder, name: &CStr) -> io::Result<()> {
        self.model.remove(folder, name)
    }

    fn remove_folder(&self, folder: &Folder, name: &CStr) -> io::Result<()> {
        self.model.remove_folder(folder, name)
    }
}

/// The first seed with which others lose something, and what.
fn first_harm(lack: Lack) -> Option<(u64, String)> {
    (0..SEEDS).find_map(|seed| {
        let world = World::new(seed);
        let mut others = world.others();
        let weakened = Weakened {
            model: Model::new(&world.tree, move |tree| others.act(tree)),
            lack,
            memory: Mutex::default(),
        };
        let ending: Ending = execute(weakened, &world, 1);
        let harm = check(&world, &ending).err()?;
        Some((seed, harm))
    })
}

fn is_found(lack: Lack) {
    let found = first_harm(lack);
    println!("{lack:?}: {found:?}");
    let (_, harm) = found.unwrap_or_else(|| panic!("{lack:?} harms nobody in {SEEDS} seeds"));
    let is_loss = ["holds", "is gone", "has lost the name"]
        .iter()
        .any(|word| harm.contains(word));
    assert!(is_loss, "{lack:?}: {harm}");
}

#[test]
fn a_door_that_does_not_compare_what_it_opens_is_found() {
    is_found(Lack::Comparison);
}

#[test]
fn a_door_that_overlooks_changes_after_the_examination_is_found() {
    is_found(Lack::Untouched);
}

#[test]
fn a_door_that_removes_by_name_is_found() {
    is_found(Lack::SecondLook);
}

#[test]
fn a_door_that_takes_what_came_in_between_is_found() {
    is_found(Lack::Exclusive);
}

#[test]
fn a_door_that_moves_back_over_what_came_is_found() {
    is_found(Lack::NoReplace);
}
