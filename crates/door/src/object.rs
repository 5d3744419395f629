//! One place that targets lead to: a name in a folder, and what has it.
use crate::calls::{Calls, Identity, identify};
use crate::error::{ClaimError, DoorError};
use crate::folders::{HeldFolder, STALE};
use std::ffi::CString;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use sys::file::OpenFlags;

/// The place of an object among those of its door.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectId(pub(crate) u32);

pub(crate) struct Object<C: Calls> {
    /// With links resolved.
    pub path: PathBuf,
    pub folder: Arc<HeldFolder<C>>,
    pub name: CString,
    state: Mutex<State<C>>,
}

/// What has the name, as far as this execution knows.
pub(crate) enum State<C: Calls> {
    Missing,
    There(Arc<Thing<C>>),
}

/// A file or device. Two names of one file share it.
pub(crate) struct Thing<C: Calls> {
    pub identity: Identity,
    /// This execution has made it.
    pub is_made: bool,
    pub claim: Mutex<Option<Claim<C>>>,
    /// Size and time of the last change when it was examined, until it is first opened for writing.
    pub untouched: Mutex<Option<(u64, i128)>>,
}

/// What keeps others away, for as long as it lives.
pub(crate) enum Claim<C: Calls> {
    /// The descriptor holds a device, or a file that could not be kept otherwise.
    Open {
        _file: Arc<C::File>,
    },
    Kept {
        _kept: C::Kept,
    },
    /// Nobody else had it, and there was no room to keep it so.
    Unheld,
}

impl<C: Calls> Thing<C> {
    pub fn new(identity: Identity, is_made: bool) -> Self {
        Self {
            identity,
            is_made,
            claim: Mutex::new(None),
            untouched: Mutex::new(None),
        }
    }
}

impl<C: Calls> Object<C> {
    pub fn new(path: PathBuf, folder: Arc<HeldFolder<C>>, name: CString, state: State<C>) -> Self {
        Self {
            path,
            folder,
            name,
            state: Mutex::new(state),
        }
    }

    pub fn state(&self) -> MutexGuard<'_, State<C>> {
        // Each object is used by one thread at a time; the lock is never waited for long.
        self.state.lock().expect("nothing panics while it is held")
    }

    pub fn thing(&self) -> Option<Arc<Thing<C>>> {
        match &*self.state() {
            State::There(thing) => Some(Arc::clone(thing)),
            State::Missing => None,
        }
    }

    /// Opens what has the name now, unless that is a link.
    pub fn open_any(&self, calls: &C, flags: &OpenFlags) -> Result<C::File, DoorError> {
        let folder = self.folder.open(calls);
        let folder = folder.map_err(|error| self.failed(error))?;
        match calls.open(&folder, &self.name, flags) {
            // A link stands where a file or device stood.
            Err(error) if error.raw_os_error() == Some(ELOOP) => Err(self.replaced()),
            opened => opened.map_err(|error| self.failed(error)),
        }
    }

    /// Opens what was examined or made, and nothing else.
    pub fn open_known(
        &self,
        calls: &C,
        thing: &Thing<C>,
        flags: &OpenFlags,
    ) -> Result<C::File, DoorError> {
        let failed = |error| self.failed(error);
        let file = self.open_any(calls, flags)?;
        let Some((identity, facts)) = identify(calls, &file).map_err(failed)? else {
            return Err(self.replaced());
        };
        if identity != thing.identity {
            return Err(self.replaced());
        }
        if flags.write {
            let untouched = thing.untouched.lock().expect("nothing panics here");
            if let Some((bytes, modified_ns)) = *untouched
                && (bytes != facts.bytes
                    || (modified_ns != facts.modified_ns && calls.keeps_times(&file)))
            {
                return Err(DoorError::Changed {
                    path: self.path.clone(),
                });
            }
        }
        Ok(file)
    }

    /// Makes the file, which must be missing; [`Object::remember`] it then.
    pub fn make(&self, calls: &C, flags: &OpenFlags) -> io::Result<C::File> {
        let folder = self.folder.open(calls)?;
        calls.make(&folder, &self.name, flags)
    }

    pub fn made_failed(&self, error: io::Error) -> DoorError {
        match error.kind() {
            io::ErrorKind::AlreadyExists => DoorError::Came {
                path: self.path.clone(),
            },
            _ => self.failed(error),
        }
    }

    pub fn replaced(&self) -> DoorError {
        DoorError::Replaced {
            path: self.path.clone(),
        }
    }

    /// Of what another host was to make.
    pub fn not_shared(&self, error: DoorError) -> DoorError {
        match error {
            DoorError::Io { path, error } if error.kind() == io::ErrorKind::NotFound => {
                DoorError::NotShared { path }
            }
            error => error,
        }
    }

    pub fn failed(&self, error: io::Error) -> DoorError {
        if error.raw_os_error() == Some(STALE) {
            return self.replaced();
        }
        DoorError::Io {
            path: self.path.clone(),
            error,
        }
    }

    /// As a claim that failed says it.
    pub fn unclaimed(&self, error: ClaimError) -> DoorError {
        match error {
            ClaimError::Refused(error) => self.failed(error),
            _ => DoorError::Locked {
                path: self.path.clone(),
            },
        }
    }
}

/// The name is that of a link.
const ELOOP: i32 = 40;
