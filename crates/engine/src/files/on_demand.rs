//! How files are opened again where not all of a run may be open at a time. Which of them a worker holds is in
//! `backend/on_demand.rs`, and how many in `descriptors.rs`.
use super::{OpenError, advice, open_flags};
use door::{DoorError, Grants, Purpose};
use plan::{OpenMode, TargetId};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Files of a run that workers open when they need them. All of them were opened once before the run, so that what
/// stands in the way is known then.
#[derive(Debug)]
pub(crate) struct OnDemand {
    grants: Grants,
    pub(crate) files: Vec<ToOpen>,
    /// For all workers together.
    pub(crate) descriptors: usize,
    openings: AtomicU64,
}

/// How one of them is opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToOpen {
    pub target: TargetId,
    pub purpose: Purpose,
    pub mode: OpenMode,
}

impl OnDemand {
    pub(crate) fn new(grants: Grants, descriptors: usize) -> Self {
        Self {
            grants,
            files: Vec::new(),
            descriptors,
            openings: AtomicU64::new(0),
        }
    }

    /// Opens a file again. The door compares it with what was examined or made.
    pub(crate) fn open(&self, number: u32) -> io::Result<Arc<File>> {
        let ToOpen {
            target,
            purpose,
            mode,
        } = self.files[number as usize];
        self.openings.fetch_add(1, Relaxed);
        let opened = self.grants.open(target, purpose, &open_flags(mode));
        let file = opened.map_err(DoorError::into_io)?;
        // It holds for what was opened and not for the file; what the page cache holds was settled before the run.
        if let Some(order) = mode.advice {
            sys::file::advise(&file, advice(order))?;
        }
        Ok(file)
    }

    /// As [`OnDemand::open`], outside of a run.
    pub(crate) fn open_outside(&self, number: u32) -> Result<Arc<File>, OpenError> {
        let ToOpen {
            target,
            purpose,
            mode,
        } = self.files[number as usize];
        let opened = self.grants.open(target, purpose, &open_flags(mode));
        opened.map_err(|error| OpenError::of(error, mode))
    }

    /// How often workers have opened a file.
    pub(crate) fn openings(&self) -> u64 {
        self.openings.load(Relaxed)
    }
}

/// Where the files are that workers open during a run, for messages; it outlives the run, and holds none of them open.
#[derive(Debug)]
pub struct Reopened {
    pub(super) on_demand: Arc<OnDemand>,
    /// For each stream, the files of its targets; none where it only names them, or opens them as another user, whose rights
    /// this process cannot tell.
    pub(super) by_stream: Vec<Vec<u32>>,
}

impl Reopened {
    /// Where the target at this place of a stream was found.
    #[must_use]
    pub fn path(&self, stream: u32, place: u32) -> Option<&Path> {
        let number = *self.by_stream.get(stream as usize)?.get(place as usize)?;
        let file = self.on_demand.files.get(number as usize)?;
        self.on_demand.grants.path(file.target)
    }
}
