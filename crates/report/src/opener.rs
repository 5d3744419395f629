//! How reports come to files of their own. What may be written to is known to whoever carries out the job, and not here.
use std::fmt::Debug;
use std::fs::{File, OpenOptions};
use std::path::Path;
use std::sync::Arc;

/// What becomes of a file that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    Replace,
    /// What is written comes behind what is there.
    Append,
}

/// Opens files that a job asks for.
pub trait Opener: Debug + Send + Sync {
    /// `None` where the file may not be written: the opener has told why, and the report goes on without the file.
    fn open(&self, path: &Path, opening: Opening) -> Option<File>;
}

/// Shared by all that write files of one execution.
pub type SharedOpener = Arc<dyn Opener>;

/// Opens whatever the file system lets it open: for folders in which nothing else is.
#[derive(Debug)]
pub struct Plain;

impl Opener for Plain {
    fn open(&self, path: &Path, opening: Opening) -> Option<File> {
        match opening {
            Opening::Replace => File::create(path).ok(),
            Opening::Append => OpenOptions::new().create(true).append(true).open(path).ok(),
        }
    }
}
