//! What carries out the operations of each pool: kinds of backends, by name and by what jobs ask for. What a backend is
//! made of stands in `backend.rs`.
use plan::{IoMethod, Pool};
use std::fmt;

/// The kinds of backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendKind {
    /// io_uring: many slots on one worker.
    Uring,
    /// Native AIO of Linux: many slots on one worker, without waiting only for direct I/O.
    Aio,
    /// A thread per slot with plain positional calls.
    Sync,
    /// A thread per slot that copies to and from mapped files.
    Mapped,
    /// A thread per slot that makes calls on the names of files.
    Names,
    /// A thread per slot that makes calls on the space of files.
    Space,
    /// Completes at once and moves nothing.
    Null,
    /// Simulated storage in simulated time.
    Sim,
}

/// How operations are done: by one backend, or by what each pool asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backends {
    /// Of pools that ask for nothing.
    pub kind: BackendKind,
    /// Whether `kind` takes the place of what pools ask for. Who asks for no storage reaches none all
    /// the same.
    pub overrules: bool,
}

impl From<BackendKind> for Backends {
    fn from(kind: BackendKind) -> Self {
        Self {
            kind,
            overrules: false,
        }
    }
}

impl Backends {
    /// The backend of a pool.
    pub fn of(&self, pool: &Pool) -> BackendKind {
        match pool.method {
            _ if self.kind == BackendKind::Sim => BackendKind::Sim,
            Some(IoMethod::Nothing) => BackendKind::Null,
            // No other backend does these calls; what is to reach no storage reaches none.
            Some(IoMethod::Names(_) | IoMethod::Space(_)) if self.kind == BackendKind::Null => {
                BackendKind::Null
            }
            Some(method @ (IoMethod::Names(_) | IoMethod::Space(_))) => {
                BackendKind::of_method(method)
            }
            Some(method) if !self.overrules => BackendKind::of_method(method),
            _ => self.kind,
        }
    }

    /// The backends of a run, each with its pools, in the order of the pools.
    pub(crate) fn groups(&self, pools: &[Pool]) -> Vec<(BackendKind, Vec<usize>)> {
        let mut groups: Vec<(BackendKind, Vec<usize>)> = Vec::new();
        for (number, pool) in pools.iter().enumerate() {
            let kind = self.of(pool);
            match groups.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, members)) => members.push(number),
                None => groups.push((kind, vec![number])),
            }
        }
        groups
    }
}

impl BackendKind {
    /// The names that a user may give.
    pub const NAMES: [&str; 5] = ["uring", "aio", "sync", "null", "sim"];

    /// What carries out a method.
    pub fn of_method(method: IoMethod) -> Self {
        match method {
            IoMethod::Ring => BackendKind::Uring,
            IoMethod::KernelQueue => BackendKind::Aio,
            IoMethod::Calls => BackendKind::Sync,
            IoMethod::Mapping => BackendKind::Mapped,
            IoMethod::Nothing => BackendKind::Null,
            IoMethod::Names(_) => BackendKind::Names,
            IoMethod::Space(_) => BackendKind::Space,
        }
    }

    /// Whether an operation keeps its thread until it is done.
    pub(crate) fn has_thread_per_slot(self) -> bool {
        matches!(
            self,
            BackendKind::Sync | BackendKind::Mapped | BackendKind::Names | BackendKind::Space
        )
    }
}

impl fmt::Display for BackendKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BackendKind::Uring => "uring",
            BackendKind::Aio => "aio",
            BackendKind::Sync => "sync",
            BackendKind::Mapped => "mmap",
            BackendKind::Names => "names",
            BackendKind::Space => "space",
            BackendKind::Null => "null",
            BackendKind::Sim => "sim",
        })
    }
}

impl std::str::FromStr for BackendKind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "uring" => Ok(BackendKind::Uring),
            "aio" => Ok(BackendKind::Aio),
            "sync" => Ok(BackendKind::Sync),
            "null" => Ok(BackendKind::Null),
            "sim" => Ok(BackendKind::Sim),
            _ => Err(format!("`{name}` is not a backend")),
        }
    }
}
