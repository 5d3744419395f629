//! Removal by identity. The kernel removes names, and what has a name may change between a look and the call. So the
//! name is moved into a folder of ours, where nobody else works, compared there, and removed or moved back.
use crate::calls::{Calls, of_file};
use crate::folders::HeldFolder;
use crate::moments;
use crate::object::{Object, State, Thing};
use std::ffi::CString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use sys::file::at::{Kind, name as name_of};

/// Names that are tried for a folder of ours.
const NAMES_TRIED: u32 = 100;

/// A folder of ours (mode 0700) beside objects.
pub(crate) struct Private<C: Calls> {
    folder: C::Folder,
    next: AtomicU64,
}

/// A file of ours that has lost its name.
pub struct Aside<C: Calls> {
    thing: Arc<Thing<C>>,
    /// The folder that held it, and ours, with its name.
    from: Arc<C::Folder>,
    private: (CString, Arc<Private<C>>),
    name: CString,
}

/// Why a file was not removed. It has its name, unless the reason says otherwise.
#[derive(Debug)]
#[non_exhaustive]
pub enum RemoveError {
    /// Nothing has the name.
    Gone,
    /// This execution has not made it.
    NotOurs,
    /// Something else took the place of what this execution has made.
    Replaced,
    /// The file system does not tell when files were made, so that another file may have taken the place unseen.
    NoBirth,
    /// Something else took the place, was moved to be compared, and the name was taken before it could be moved back.
    Stranded {
        now: PathBuf,
    },
    Io(io::Error),
}

impl<C: Calls> HeldFolder<C> {
    /// The folder of ours within, made when it is first asked for.
    fn private(
        &self,
        calls: &C,
        open: &C::Folder,
    ) -> Result<(CString, Arc<Private<C>>), RemoveError> {
        if !self.is_held() {
            return make_private(calls, open).map_err(RemoveError::Io);
        }
        let known = self.private.get_or_init(|| make_private(calls, open).ok());
        match known {
            Some((name, private)) => Ok((name.clone(), Arc::clone(private))),
            None => Err(RemoveError::Io(io::ErrorKind::PermissionDenied.into())),
        }
    }

    /// Takes the folder of ours away. One that holds something stays: it was told then.
    pub(crate) fn take_private_away(&self, calls: &C) {
        if let Some(Some((name, _))) = self.private.get()
            && let Ok(open) = self.open(calls)
        {
            let _ = calls.remove_folder(&open, name);
        }
    }
}

fn make_private<C: Calls>(calls: &C, open: &C::Folder) -> io::Result<(CString, Arc<Private<C>>)> {
    let process = std::process::id();
    for number in 0..NAMES_TRIED {
        let name = name_of(format!(".fathom-removes-{process}-{number}").as_ref())?;
        match calls.make_folder(open, &name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => {
                let private = Private {
                    folder: made?,
                    next: AtomicU64::new(0),
                };
                return Ok((name, Arc::new(private)));
            }
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

impl<C: Calls> Object<C> {
    pub(crate) fn set_aside(&self, calls: &C) -> Result<Aside<C>, RemoveError> {
        moments::reached("remove");
        let thing = self.thing().ok_or(RemoveError::Gone)?;
        if !thing.is_made {
            return Err(RemoveError::NotOurs);
        }
        if !thing.identity.tells_birth() {
            return Err(RemoveError::NoBirth);
        }
        let from = self.folder.open(calls).map_err(RemoveError::Io)?;
        // Most exchanges are seen here, and then nothing is moved at all.
        self.compare(calls, &from, &self.name, &thing)?;
        moments::reached("set-aside");
        let private = self.folder.private(calls, &from)?;
        let number = private.1.next.fetch_add(1, Relaxed);
        let name = name_of(number.to_string().as_ref()).expect("a number has no zero byte");
        let moved = calls.move_to(&from, &self.name, &private.1.folder, &name);
        moved.map_err(told)?;
        let aside = Aside {
            thing,
            from,
            private,
            name,
        };
        match self.compare(calls, &aside.private.1.folder, &aside.name, &aside.thing) {
            Ok(()) => Ok(aside),
            Err(reason) => {
                self.put_back(calls, aside)?;
                Err(reason)
            }
        }
    }

    pub(crate) fn unlink(&self, calls: &C, aside: Aside<C>) -> Result<(), RemoveError> {
        match calls.remove(&aside.private.1.folder, &aside.name) {
            Ok(()) => {
                *self.state() = State::Missing;
                aside
                    .thing
                    .claim
                    .lock()
                    .expect("nothing panics here")
                    .take();
                self.end(calls, &aside);
                Ok(())
            }
            Err(error) => {
                self.put_back(calls, aside)?;
                Err(RemoveError::Io(error))
            }
        }
    }

    pub(crate) fn put_back(&self, calls: &C, aside: Aside<C>) -> Result<(), RemoveError> {
        let back = calls.move_to(
            &aside.private.1.folder,
            &aside.name,
            &aside.from,
            &self.name,
        );
        let result = back.map_err(|_| {
            let private = self.folder.path.join(path_of(&aside.private.0));
            RemoveError::Stranded {
                now: private.join(path_of(&aside.name)),
            }
        });
        self.end(calls, &aside);
        result
    }

    /// A folder of ours that is not kept goes away at once.
    fn end(&self, calls: &C, aside: &Aside<C>) {
        if !self.folder.is_held() {
            let _ = calls.remove_folder(&aside.from, &aside.private.0);
        }
    }

    fn compare(
        &self,
        calls: &C,
        folder: &C::Folder,
        name: &CString,
        thing: &Thing<C>,
    ) -> Result<(), RemoveError> {
        let facts = calls.look(folder, name).map_err(told)?;
        match facts.kind == Kind::File && of_file(&facts) == thing.identity {
            true => Ok(()),
            false => Err(RemoveError::Replaced),
        }
    }
}

fn told(error: io::Error) -> RemoveError {
    match error.kind() {
        io::ErrorKind::NotFound => RemoveError::Gone,
        _ => RemoveError::Io(error),
    }
}

fn path_of(name: &CString) -> &Path {
    use std::os::unix::ffi::OsStrExt;
    Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()))
}

impl RemoveError {
    /// As a call on a name would tell it.
    #[must_use]
    pub fn into_io(self) -> io::Error {
        match self {
            RemoveError::Io(error) => error,
            RemoveError::Gone => io::Error::from_raw_os_error(ENOENT),
            RemoveError::Replaced | RemoveError::Stranded { .. } => {
                io::Error::from_raw_os_error(crate::folders::STALE)
            }
            RemoveError::NotOurs | RemoveError::NoBirth => io::Error::from_raw_os_error(EPERM),
        }
    }
}

impl fmt::Display for RemoveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RemoveError::Gone => write!(f, "it no longer exists"),
            RemoveError::NotOurs => write!(f, "this execution did not make it"),
            RemoveError::Replaced => {
                write!(
                    f,
                    "another file took the place of the one that this execution made"
                )
            }
            RemoveError::NoBirth => write!(
                f,
                "its file system does not record when files are made, so it may be another file by now"
            ),
            RemoveError::Stranded { now } => write!(
                f,
                "another file took its place and is now at `{}`, because its name was taken while Fathom looked at it",
                now.display()
            ),
            RemoveError::Io(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for RemoveError {}

const EPERM: i32 = 1;
const ENOENT: i32 = 2;
