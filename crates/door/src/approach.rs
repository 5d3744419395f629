//! Finding what a path leads to, and claiming it.
use crate::calls::{Calls, Identity, identify};
use crate::error::ClaimError;
use crate::folders::{Folders, HeldFolder};
use crate::kernel::Kernel;
use crate::moments;
use crate::object::{Claim, Object, ObjectId, State, Thing};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};
use sys::file::OpenFlags;
use sys::file::at::{Facts, Kind};

/// Files that are kept without a descriptor, at most: each takes one of the 65 530 mappings of a process, which threads
/// and memory need as well.
const KEPT_MAX: usize = 32_768;

/// All objects of one execution, their claims and their folders.
pub struct Door<C: Calls = Kernel> {
    pub(crate) calls: C,
    pub(crate) folders: Folders<C>,
    table: Mutex<Table<C>>,
    /// Descriptors that claims on files may take where files cannot be kept otherwise.
    descriptors_max: usize,
    descriptors: AtomicUsize,
    kept: AtomicUsize,
    unheld: AtomicUsize,
    claims: bool,
    /// Another execution came first: nothing will be written.
    has_given_up: AtomicBool,
    /// What was refused first, in words.
    pub(crate) refused: OnceLock<String>,
    pub(crate) on_made: OnceLock<OnMade<C>>,
}

/// Told of the path and the open file.
type OnMade<C> = Box<dyn Fn(&Path, &<C as Calls>::File) + Send + Sync>;

struct Table<C: Calls> {
    objects: Vec<Arc<Object<C>>>,
    /// By folder (device and inode) and name.
    by_place: BTreeMap<(u64, u64, CString), ObjectId>,
    by_identity: BTreeMap<Identity, Arc<Thing<C>>>,
}

/// What will be done with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// It is read, or only looked at: nothing is claimed.
    Look,
    Write,
}

/// What stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    Missing,
    /// Missing, as is the folder that would hold it.
    FolderMissing,
    File,
    BlockDevice,
    Folder,
    Other,
}

/// What a path leads to.
pub struct Approach<C: Calls = Kernel> {
    /// With links resolved.
    pub real_path: PathBuf,
    pub found: Found,
    /// Nothing for what cannot be a target.
    pub object: Option<ObjectId>,
    pub facts: Option<Facts>,
    /// Open for reading; for writing too where the claim holds.
    pub file: Option<Arc<C::File>>,
    /// Why it could not be claimed, where it was asked for.
    pub unclaimed: Option<ClaimError>,
}

impl<C: Calls + Default> Door<C> {
    /// A door whose claims take at most `descriptors_max` descriptors, for files that cannot be kept without one.
    #[must_use]
    pub fn new(descriptors_max: usize) -> Self {
        Self::over(C::default(), descriptors_max)
    }

    /// A door that claims nothing, whatever will be done: nothing can be written through it.
    #[must_use]
    pub fn looking() -> Self {
        let mut door = Self::new(0);
        door.claims = false;
        door
    }
}

impl<C: Calls> Door<C> {
    /// The same over these calls.
    pub fn over(calls: C, descriptors_max: usize) -> Self {
        Self {
            calls,
            folders: Folders::default(),
            table: Mutex::new(Table {
                objects: Vec::new(),
                by_place: BTreeMap::new(),
                by_identity: BTreeMap::new(),
            }),
            descriptors_max,
            descriptors: AtomicUsize::new(0),
            kept: AtomicUsize::new(0),
            unheld: AtomicUsize::new(0),
            claims: true,
            has_given_up: AtomicBool::new(false),
            refused: OnceLock::new(),
            on_made: OnceLock::new(),
        }
    }

    /// From now on `tell` is told of each file that is made, before its first byte is written.
    pub fn tell_made(&self, tell: impl Fn(&Path, &C::File) + Send + Sync + 'static) {
        let is_first = self.on_made.set(Box::new(tell)).is_ok();
        assert!(is_first, "one is told");
    }

    /// Whether what will be written is claimed.
    #[must_use]
    pub fn claims(&self) -> bool {
        self.claims
    }

    /// Whether something was not opened or made because something else stands there than was examined.
    #[must_use]
    pub fn has_refused(&self) -> bool {
        self.refused.get().is_some()
    }

    /// Why that was, of the first such thing.
    #[must_use]
    pub fn refused(&self) -> Option<&str> {
        self.refused.get().map(String::as_str)
    }

    /// Files that nobody else had locked, and that are not kept locked for want of mappings and descriptors.
    #[must_use]
    pub fn unheld(&self) -> usize {
        self.unheld.load(Relaxed)
    }

    /// Finds what a path leads to. What will be written is claimed: a block device against mounts, volume managers and
    /// other claims (O_EXCL), a file against other executions (flock, advisory). A claim that fails is told, and what is
    /// there is opened for reading instead. Nothing is written, made or cut.
    ///
    /// # Errors
    /// Where what stands there cannot be opened at all, and where it changes while it is looked at.
    pub fn approach(&self, path: &Path, intent: Intent) -> io::Result<Approach<C>> {
        moments::reached("claim");
        let real_path = self.calls.resolve(path)?;
        let mut approach = Approach {
            found: Found::Other,
            object: None,
            facts: None,
            file: None,
            unclaimed: None,
            real_path,
        };
        let (Some(parent), Some(name)) = (
            approach.real_path.parent().map(Path::to_path_buf),
            approach.real_path.file_name(),
        ) else {
            approach.found = Found::Folder;
            return Ok(approach);
        };
        let name = sys::file::at::name(name)?;
        let folder = match self.folders.get(&self.calls, &parent) {
            Err(error) if is_missing(&error) => {
                approach.found = Found::FolderMissing;
                return Ok(approach);
            }
            folder => folder?,
        };
        let open = folder.open(&self.calls)?;
        let facts = match self.calls.look(&open, &name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                approach.found = Found::Missing;
                let object = self.object(&approach.real_path, &folder, name, State::Missing);
                approach.object = Some(object);
                moments::reached("examine");
                return Ok(approach);
            }
            facts => facts?,
        };
        approach.found = match facts.kind {
            Kind::File => Found::File,
            Kind::BlockDevice => Found::BlockDevice,
            Kind::Folder => Found::Folder,
            // Links have been resolved: this one has come in between.
            Kind::Link => return Err(changed()),
            Kind::Other => Found::Other,
        };
        if matches!(approach.found, Found::File | Found::BlockDevice) {
            self.take(&mut approach, (&folder, &open, name), facts, intent)?;
        }
        moments::reached("examine");
        Ok(approach)
    }

    /// Opens and, where it will be written, claims what was looked at.
    fn take(
        &self,
        approach: &mut Approach<C>,
        place: (&Arc<HeldFolder<C>>, &Arc<C::Folder>, CString),
        looked: Facts,
        intent: Intent,
    ) -> io::Result<()> {
        let (held, folder, name) = place;
        let is_device = looked.kind == Kind::BlockDevice;
        let reading = OpenFlags {
            read: true,
            raw: NONBLOCK,
            ..OpenFlags::default()
        };
        let mut opened = None;
        if self.claims
            && !self.has_given_up.load(Relaxed)
            && intent == Intent::Write
            && !(is_device && self.is_claimed_disk(looked.number))
        {
            let claiming = OpenFlags {
                write: true,
                exclusive: is_device,
                ..reading
            };
            match self.calls.open(folder, &name, &claiming) {
                Ok(file) => opened = Some(file),
                Err(error) if busy(&error) => {
                    approach.unclaimed = Some(ClaimError::InUse);
                }
                Err(error) => approach.unclaimed = Some(ClaimError::Refused(error)),
            }
        }
        let is_writable = opened.is_some();
        let file = match opened {
            Some(file) => file,
            None => self.calls.open(folder, &name, &reading)?,
        };
        let file = Arc::new(file);
        let Some((identity, facts)) = identify(&self.calls, &file)? else {
            return Err(changed());
        };
        let is_same = (facts.kind, facts.device, facts.inode, facts.number)
            == (looked.kind, looked.device, looked.inode, looked.number);
        if !is_same {
            return Err(changed());
        }
        let thing = self.thing(identity, false);
        if is_writable {
            approach.unclaimed = self.claim(&thing, &file, &facts).err();
            if matches!(approach.unclaimed, Some(ClaimError::Locked)) {
                self.give_up();
            }
        }
        let state = State::There(thing);
        approach.object = Some(self.object(&approach.real_path, held, name, state));
        approach.facts = Some(facts);
        approach.file = Some(file);
        Ok(())
    }

    /// Whether this execution holds the disk: a second exclusive claim would refuse the first.
    pub(crate) fn is_claimed_disk(&self, disk: u64) -> bool {
        let table = self.table();
        table.by_identity.iter().any(|(identity, thing)| {
            matches!(identity, Identity::Disk { number, .. } if *number == disk)
                && thing.claim.lock().expect("nothing panics here").is_some()
        })
    }

    /// Keeps others away from what was just opened for writing.
    pub(crate) fn claim(
        &self,
        thing: &Thing<C>,
        file: &Arc<C::File>,
        facts: &Facts,
    ) -> Result<(), ClaimError> {
        let mut claim = thing.claim.lock().expect("nothing panics here");
        // Another name of the same.
        if claim.is_some() {
            return Ok(());
        }
        if let Some(lock) = self.calls.record_lock(file) {
            return Err(ClaimError::RecordLocked(lock));
        }
        if facts.kind == Kind::BlockDevice {
            let _file = Arc::clone(file);
            *claim = Some(Claim::Open { _file });
            return Ok(());
        }
        if !self.calls.lock(file).map_err(ClaimError::Refused)? {
            return Err(ClaimError::Locked);
        }
        *claim = Some(self.hold(file));
        if !thing.is_made {
            let mut untouched = thing.untouched.lock().expect("nothing panics here");
            *untouched = Some((facts.bytes, facts.modified_ns));
        }
        Ok(())
    }

    pub(crate) fn hold(&self, file: &Arc<C::File>) -> Claim<C> {
        if self.kept.fetch_add(1, Relaxed) < KEPT_MAX
            && let Ok(_kept) = self.calls.keep(file)
        {
            return Claim::Kept { _kept };
        }
        if self.descriptors.fetch_add(1, Relaxed) < self.descriptors_max {
            let _file = Arc::clone(file);
            return Claim::Open { _file };
        }
        self.unheld.fetch_add(1, Relaxed);
        Claim::Unheld
    }

    /// Lets go of everything: two executions that claim many files at the same time would otherwise refuse each other,
    /// each for what the other has got. The one that finds the other first will write nothing.
    fn give_up(&self) {
        self.has_given_up.store(true, Relaxed);
        for thing in self.table().by_identity.values() {
            *thing.claim.lock().expect("nothing panics here") = None;
        }
    }

    /// What is known under this identity.
    pub(crate) fn thing(&self, identity: Identity, is_made: bool) -> Arc<Thing<C>> {
        let mut table = self.table();
        let known = table.by_identity.entry(identity);
        let thing = known.or_insert_with(|| Arc::new(Thing::new(identity, is_made)));
        Arc::clone(thing)
    }

    /// What this execution has just made; where births are not told, another file may have had its identity.
    pub(crate) fn made(&self, identity: Identity) -> Arc<Thing<C>> {
        let thing = Arc::new(Thing::new(identity, true));
        let mut table = self.table();
        table.by_identity.insert(identity, Arc::clone(&thing));
        thing
    }

    /// One object for each place.
    fn object(
        &self,
        real_path: &Path,
        folder: &Arc<HeldFolder<C>>,
        name: CString,
        state: State<C>,
    ) -> ObjectId {
        let mut table = self.table();
        let key = (folder.identity.0, folder.identity.1, name.clone());
        if let Some(known) = table.by_place.get(&key).copied() {
            let object = &table.objects[known.0 as usize];
            *object.state() = state;
            return known;
        }
        let id = ObjectId(table.objects.len() as u32);
        let object = Object::new(real_path.to_path_buf(), Arc::clone(folder), name, state);
        table.objects.push(Arc::new(object));
        table.by_place.insert(key, id);
        id
    }

    pub(crate) fn get(&self, id: ObjectId) -> Arc<Object<C>> {
        Arc::clone(&self.table().objects[id.0 as usize])
    }

    fn table(&self) -> std::sync::MutexGuard<'_, Table<C>> {
        self.table.lock().expect("nothing panics while it is held")
    }
}

impl<C: Calls> Drop for Door<C> {
    fn drop(&mut self) {
        for folder in self.folders.all() {
            folder.take_private_away(&self.calls);
        }
    }
}

impl<C: Calls> std::fmt::Debug for Door<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let objects = self.table().objects.len();
        f.debug_struct("Door")
            .field("objects", &objects)
            .finish_non_exhaustive()
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

pub(crate) fn busy(error: &io::Error) -> bool {
    error.raw_os_error() == Some(EBUSY)
}

pub(crate) fn changed() -> io::Error {
    io::Error::other("it was exchanged while it was examined")
}

/// Somebody holds the device.
const EBUSY: i32 = 16;
/// O_NONBLOCK, so that a pipe that has just come is not waited for; without effect on files and disks.
pub(crate) const NONBLOCK: i32 = 0o4000;
