//! What may be done with which target, and doing it.
use crate::approach::{Door, Intent};
use crate::calls::{Calls, identify};
use crate::error::DoorError;
use crate::kernel::Kernel;
use crate::moments;
use crate::object::{Object, ObjectId, State};
use crate::removal::{Aside, RemoveError};
use plan::{Access, TargetId};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use sys::file::OpenFlags;
use sys::file::at::Kind;
use sys::file::names::Look;

/// How long the kernel may take to close the files of a ring that is gone, on a machine that is busy.
const RING_PATIENCE: Duration = Duration::from_secs(5);

/// How long what another host makes as the run is set up is waited for, and how often it is looked for.
const MADE_WITHIN: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Permission for one target: to the object that was examined. Only the overwrite guard of `host` issues one
/// (`cargo xtask tidy` holds that).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    target: TargetId,
    access: Access,
    object: ObjectId,
    path: PathBuf,
}

impl Grant {
    /// For the guard alone. `path` is for messages.
    #[must_use]
    pub fn issue(target: TargetId, access: Access, object: ObjectId, path: PathBuf) -> Self {
        Self {
            target,
            access,
            object,
            path,
        }
    }

    #[must_use]
    pub fn target(&self) -> TargetId {
        self.target
    }

    #[must_use]
    pub fn access(&self) -> Access {
        self.access
    }

    /// With links resolved.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// What a target is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Read,
    Write,
    /// It is written, and may become shorter.
    Cut,
}

/// All grants of an execution, with the door that knows their objects.
pub struct Grants<C: Calls = Kernel> {
    door: Arc<Door<C>>,
    /// Each target's in the order in which they were given.
    by_target: Arc<BTreeMap<TargetId, Vec<Grant>>>,
}

impl<C: Calls> Clone for Grants<C> {
    fn clone(&self) -> Self {
        Self {
            door: Arc::clone(&self.door),
            by_target: Arc::clone(&self.by_target),
        }
    }
}

/// The name of a target, for calls on names.
pub struct Entry<C: Calls = Kernel> {
    door: Arc<Door<C>>,
    object: Arc<Object<C>>,
    may_make: bool,
}

/// A file that was opened by a call on its name; [`Entry::remember`] it where it is new.
pub struct Fresh<C: Calls = Kernel> {
    file: Arc<C::File>,
    is_new: bool,
}

/// A path that is only looked at, as it was named: it may be a link.
pub struct Named<C: Calls = Kernel> {
    door: Arc<Door<C>>,
    path: CString,
}

impl<C: Calls> Grants<C> {
    #[must_use]
    pub fn new(door: Arc<Door<C>>, grants: Vec<Grant>) -> Self {
        let mut by_target: BTreeMap<TargetId, Vec<Grant>> = BTreeMap::new();
        for grant in grants {
            by_target.entry(grant.target).or_default().push(grant);
        }
        Self {
            door,
            by_target: Arc::new(by_target),
        }
    }

    /// Nothing may be opened.
    #[must_use]
    pub fn none() -> Self
    where
        C: Default,
    {
        Self::new(Arc::new(Door::new(0)), Vec::new())
    }

    /// Claims and grants each target without a look at what it holds: for tests alone, which tidy holds.
    ///
    /// # Panics
    /// Where one cannot be claimed.
    #[must_use]
    pub fn unexamined<'a>(targets: impl IntoIterator<Item = (TargetId, &'a Path, Access)>) -> Self
    where
        C: Default,
    {
        let door = Arc::new(Door::new(0));
        let grant = |(target, path, access): (TargetId, &Path, Access)| {
            let intent = match access {
                Access::Read => Intent::Look,
                Access::Write | Access::Create | Access::Share => Intent::Write,
            };
            let look = || door.approach(path, intent).expect("it can be looked at");
            let mut approach = look();
            let since = Instant::now();
            // A ring that is gone gives up its files a moment later.
            while approach.unclaimed.is_some() && since.elapsed() < RING_PATIENCE {
                std::thread::sleep(Duration::from_millis(10));
                approach = look();
            }
            assert!(approach.unclaimed.is_none(), "{:?}", approach.unclaimed);
            let object = approach.object.expect("it can be a target");
            Grant::issue(target, access, object, approach.real_path)
        };
        let grants = targets.into_iter().map(grant).collect();
        Self::new(door, grants)
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_target.is_empty()
    }

    /// Where a target was found, for messages; `None` without a grant.
    #[must_use]
    pub fn path(&self, target: TargetId) -> Option<&Path> {
        let grants = self.by_target.get(&target)?;
        grants.first().map(Grant::path)
    }

    #[must_use]
    pub fn door(&self) -> &Door<C> {
        &self.door
    }

    /// Opens a target by its grant. What was missing is made where the grant says so, and is locked and remembered as
    /// made by this execution; so is what this execution has made and somebody has removed since.
    ///
    /// # Errors
    /// Where something else stands there than was examined or made, and what the system says.
    pub fn open(
        &self,
        target: TargetId,
        purpose: Purpose,
        flags: &OpenFlags,
    ) -> Result<Arc<C::File>, DoorError> {
        moments::reached("open");
        let opened = self.open_object(target, purpose, flags);
        opened.inspect_err(|error| self.door.note(error))
    }

    fn open_object(
        &self,
        target: TargetId,
        purpose: Purpose,
        flags: &OpenFlags,
    ) -> Result<Arc<C::File>, DoorError> {
        let writes = purpose != Purpose::Read;
        let grant = self.enough(target, |access| !writes || access != Access::Read)?;
        let object = self.door.get(grant.object);
        let flags = OpenFlags {
            read: true,
            write: writes,
            create: false,
            exclusive: false,
            // What is there is opened, and what is missing is made by `make_new`, never by a flag of the user's; the
            // claim on a device is held already.
            raw: flags.raw & !(CREATE | EXCLUSIVE),
            ..*flags
        };
        let calls = &self.door.calls;
        let may_make = writes && grant.access == Access::Create;
        let Some(thing) = object.thing() else {
            return match grant.access {
                Access::Share => self.open_shared(&object, &flags),
                _ if may_make => self.make_new(&object, &flags),
                _ => Err(object.failed(io::ErrorKind::NotFound.into())),
            };
        };
        let opened = match object.open_known(calls, &thing, &flags) {
            Err(DoorError::Io { error, .. })
                if error.kind() == io::ErrorKind::NotFound && thing.is_made && may_make =>
            {
                return self.make_new(&object, &flags);
            }
            opened => opened?,
        };
        if purpose == Purpose::Cut && !thing.is_made {
            let path = object.path.clone();
            return Err(DoorError::NotOurs { path });
        }
        if writes {
            // From here on its size and times are those of our own writes.
            *thing.untouched.lock().expect("nothing panics here") = None;
        }
        Ok(Arc::new(opened))
    }

    /// Opens what was missing and what another host has made since.
    fn open_shared(
        &self,
        object: &Arc<Object<C>>,
        flags: &OpenFlags,
    ) -> Result<Arc<C::File>, DoorError> {
        let calls = &self.door.calls;
        let begun = Instant::now();
        let file = loop {
            match object.open_any(calls, flags) {
                // Hosts set up a run side by side.
                Err(DoorError::Io { error, .. })
                    if error.kind() == io::ErrorKind::NotFound && begun.elapsed() < MADE_WITHIN =>
                {
                    std::thread::sleep(LOOK_AGAIN);
                }
                opened => break opened.map_err(|error| object.not_shared(error))?,
            }
        };
        let identified = identify(calls, &file).map_err(|error| object.failed(error))?;
        let (identity, facts) = identified.ok_or_else(|| object.replaced())?;
        if facts.kind != Kind::File {
            return Err(object.replaced());
        }
        *object.state() = State::There(self.door.thing(identity, false));
        Ok(Arc::new(file))
    }

    fn make_new(
        &self,
        object: &Arc<Object<C>>,
        flags: &OpenFlags,
    ) -> Result<Arc<C::File>, DoorError> {
        let calls = &self.door.calls;
        // Some file systems make a file and then refuse how it was to be opened, which would leave a file that nobody
        // knows of.
        let plain = OpenFlags {
            read: true,
            write: true,
            ..OpenFlags::default()
        };
        let made = object.make(calls, &plain);
        let made = made.map_err(|error| object.made_failed(error))?;
        remember(&self.door, object, &Arc::new(made))?;
        let thing = object.thing().expect("it was just remembered");
        match object.open_known(calls, &thing, flags) {
            Ok(file) => Ok(Arc::new(file)),
            Err(error) => {
                // Nothing was written to it; the reason of the refusal is what matters.
                let entry = self.entry_of(object, true);
                let _ = entry.set_aside().and_then(|aside| entry.unlink(aside));
                Err(error)
            }
        }
    }

    /// The name of a target, where its grant is enough for `is_enough`.
    ///
    /// # Errors
    /// Without such a grant.
    pub fn entry(
        &self,
        target: TargetId,
        is_enough: impl Fn(Access) -> bool,
    ) -> Result<Entry<C>, DoorError> {
        let grant = self.enough(target, is_enough)?;
        let object = self.door.get(grant.object);
        Ok(self.entry_of(&object, grant.access == Access::Create))
    }

    /// A path for calls that only look at it. They need no grant: nothing is opened.
    #[must_use]
    pub fn named(&self, path: CString) -> Named<C> {
        Named {
            door: Arc::clone(&self.door),
            path,
        }
    }

    fn entry_of(&self, object: &Arc<Object<C>>, may_make: bool) -> Entry<C> {
        Entry {
            door: Arc::clone(&self.door),
            object: Arc::clone(object),
            may_make,
        }
    }

    /// The first grant for a target that is enough.
    fn enough(
        &self,
        target: TargetId,
        is_enough: impl Fn(Access) -> bool,
    ) -> Result<&Grant, DoorError> {
        let mut of_target = self.by_target.get(&target).into_iter().flatten();
        let grant = of_target.find(|grant| is_enough(grant.access));
        grant.ok_or(DoorError::NotGranted { target })
    }
}

impl<C: Calls> Entry<C> {
    /// With links resolved.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.object.path
    }

    /// Opens the file for reading and writing, and makes it where it is missing.
    ///
    /// # Errors
    /// EEXIST where it was missing and somebody else has made it, ESTALE where something else stands there, and what
    /// the system says.
    pub fn make(&self) -> io::Result<Fresh<C>> {
        let flags = OpenFlags {
            read: true,
            write: true,
            ..OpenFlags::default()
        };
        let calls = &self.door.calls;
        let thing = self.object.thing();
        if let Some(thing) = thing {
            match self.object.open_known(calls, &thing, &flags) {
                Err(DoorError::Io { error, .. })
                    if error.kind() == io::ErrorKind::NotFound && thing.is_made => {}
                Err(error) => {
                    self.door.note(&error);
                    return Err(error.into_io());
                }
                Ok(file) => {
                    let file = Arc::new(file);
                    return Ok(Fresh {
                        file,
                        is_new: false,
                    });
                }
            }
        } else if !self.may_make {
            return Err(io::ErrorKind::NotFound.into());
        }
        let made = self.object.make(calls, &flags);
        let made = made.map_err(|error| {
            let error = self.object.made_failed(error);
            self.door.note(&error);
            error.into_io()
        });
        let file = Arc::new(made?);
        Ok(Fresh { file, is_new: true })
    }

    /// Locks what [`Entry::make`] has made and remembers it as made by this execution.
    ///
    /// # Errors
    /// Where another execution was quicker, and what the system says.
    pub fn remember(&self, fresh: &Fresh<C>) -> Result<(), DoorError> {
        match fresh.is_new {
            true => remember(&self.door, &self.object, &fresh.file),
            false => Ok(()),
        }
    }

    /// Sets the file aside for its removal.
    ///
    /// # Errors
    /// Where it is not ours: it stays.
    pub fn set_aside(&self) -> Result<Aside<C>, RemoveError> {
        let aside = self.object.set_aside(&self.door.calls);
        aside.inspect_err(|reason| self.door.note_kept(&self.object.path, reason))
    }

    /// Removes what was set aside.
    ///
    /// # Errors
    /// What the system says; the file has its name back then, where that is possible.
    pub fn unlink(&self, aside: Aside<C>) -> Result<(), RemoveError> {
        let removed = self.object.unlink(&self.door.calls, aside);
        removed.inspect_err(|reason| self.door.note_kept(&self.object.path, reason))
    }

    /// Gives what was set aside its name back.
    ///
    /// # Errors
    /// Where somebody has taken the name meanwhile.
    pub fn put_back(&self, aside: Aside<C>) -> Result<(), RemoveError> {
        self.object.put_back(&self.door.calls, aside)
    }

    /// Whether this execution has made what should stand there.
    #[must_use]
    pub fn is_made(&self) -> bool {
        self.object.thing().is_some_and(|thing| thing.is_made)
    }
}

impl<C: Calls> Named<C> {
    /// Asks for what the file system knows, and leaves the answer.
    ///
    /// # Errors
    /// What the system says.
    #[inline]
    pub fn look(&self, how: Look) -> io::Result<()> {
        self.door.calls.look_by_path(&self.path, how)
    }
}

impl<C: Calls> Door<C> {
    /// What else stands in the way than a failure of the machine is kept in mind for the end.
    fn note(&self, error: &DoorError) {
        if error.is_refusal() {
            self.refused.get_or_init(|| error.to_string());
        }
    }

    /// The same of what was to be removed, and of which something else had the name.
    fn note_kept(&self, path: &Path, reason: &RemoveError) {
        if matches!(reason, RemoveError::Replaced | RemoveError::Stranded { .. }) {
            let words = || format!("`{}` was not removed: {reason}", path.display());
            self.refused.get_or_init(words);
        }
    }
}

fn remember<C: Calls>(
    door: &Door<C>,
    object: &Object<C>,
    file: &Arc<C::File>,
) -> Result<(), DoorError> {
    let identified = identify(&door.calls, file).map_err(|error| object.failed(error))?;
    let (identity, facts) = identified.ok_or_else(|| object.replaced())?;
    let thing = door.made(identity);
    door.claim(&thing, file, &facts)
        .map_err(|error| object.unclaimed(error))?;
    *object.state() = State::There(thing);
    if let Some(tell) = door.on_made.get() {
        tell(&object.path, file);
    }
    Ok(())
}

impl DoorError {
    /// As a system call would say it: ESTALE where something else stands there than was examined.
    #[must_use]
    pub fn into_io(self) -> io::Error {
        match self {
            DoorError::Io { error, .. } => error,
            DoorError::NotShared { .. } => io::ErrorKind::NotFound.into(),
            DoorError::Came { .. } => io::Error::from_raw_os_error(EEXIST),
            DoorError::Locked { .. } => io::Error::from_raw_os_error(EBUSY),
            DoorError::NotGranted { .. } | DoorError::NotOurs { .. } => {
                io::Error::from_raw_os_error(EPERM)
            }
            DoorError::Replaced { .. } | DoorError::Changed { .. } => {
                io::Error::from_raw_os_error(crate::folders::STALE)
            }
        }
    }
}

impl<C: Calls> std::fmt::Debug for Grants<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Grants")
            .field("by_target", &self.by_target)
            .finish_non_exhaustive()
    }
}

impl<C: Calls> std::fmt::Debug for Named<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Named").field(&self.path).finish()
    }
}

impl<C: Calls> std::fmt::Debug for Entry<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Entry").field(&self.object.path).finish()
    }
}

const EPERM: i32 = 1;
const EBUSY: i32 = 16;
const EEXIST: i32 = 17;
/// O_CREAT and O_EXCL of open(2).
const CREATE: i32 = 0o100;
const EXCLUSIVE: i32 = 0o200;
