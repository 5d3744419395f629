//! Why something is not claimed, opened or made.
use plan::TargetId;
use std::fmt;
use std::io;
use std::path::PathBuf;
use sys::file::RecordLock;

/// Why what will be written could not be claimed.
#[derive(Debug)]
#[non_exhaustive]
pub enum ClaimError {
    /// Somebody else holds the device for himself alone.
    InUse,
    /// Another execution writes the file.
    Locked,
    /// Another program has locked a part of it, as those do that run virtual machines with the image of a disk.
    RecordLocked(RecordLock),
    /// It cannot be opened for writing.
    Refused(io::Error),
}

/// Why a target could not be opened or made.
#[derive(Debug)]
#[non_exhaustive]
pub enum DoorError {
    /// The guard gave no grant, or a weaker one.
    NotGranted {
        target: TargetId,
    },
    /// What stands at the path is not what was examined.
    Replaced {
        path: PathBuf,
    },
    /// Its size or content changed after it was examined, before anything was written to it.
    Changed {
        path: PathBuf,
    },
    /// It was missing when the guard looked, and somebody else has made it since.
    Came {
        path: PathBuf,
    },
    /// It is to be cut or removed, and this execution has not made it.
    NotOurs {
        path: PathBuf,
    },
    /// Another execution took the file before this one could.
    Locked {
        path: PathBuf,
    },
    /// Another host of the job was to make it.
    NotShared {
        path: PathBuf,
    },
    Io {
        path: PathBuf,
        error: io::Error,
    },
}

impl DoorError {
    /// Whether something else stands in the way than was examined: no defect of the machine.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        !matches!(self, DoorError::Io { .. })
    }
}

impl fmt::Display for ClaimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClaimError::InUse => write!(f, "another program holds it exclusively"),
            ClaimError::Locked => write!(f, "another execution of Fathom is writing to it"),
            ClaimError::RecordLocked(RecordLock { process }) => {
                write!(
                    f,
                    "it is held by another program, which has locked a part of it"
                )?;
                process.map_or(Ok(()), |process| write!(f, " (process {process})"))
            }
            ClaimError::Refused(error) => write!(f, "it cannot be opened for writing: {error}"),
        }
    }
}

impl fmt::Display for DoorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DoorError::NotGranted { target } => {
                write!(f, "target {} may not be opened: no grant", target.0)
            }
            DoorError::Replaced { path } => write!(
                f,
                "`{}` is no longer what was examined before the run; nothing was written to it",
                path.display()
            ),
            DoorError::Changed { path } => write!(
                f,
                "`{}` was changed by another program after it was examined; nothing was written to it",
                path.display()
            ),
            DoorError::Came { path } => write!(
                f,
                "`{}` was missing when it was examined, and another program has made it since; nothing was written to it",
                path.display()
            ),
            DoorError::NotOurs { path } => write!(
                f,
                "`{}` was not made by this execution: Fathom cuts and deletes only files that it made",
                path.display()
            ),
            DoorError::Locked { path } => write!(
                f,
                "another execution of Fathom is writing to `{}`",
                path.display()
            ),
            DoorError::NotShared { path } => write!(
                f,
                "`{}` is missing here, although another host of the job has made it: where hosts share no folder, each needs a storage definition of its own",
                path.display()
            ),
            DoorError::Io { path, error } => {
                write!(f, "`{}` cannot be opened: {error}", path.display())
            }
        }
    }
}

impl std::error::Error for ClaimError {}
impl std::error::Error for DoorError {}
