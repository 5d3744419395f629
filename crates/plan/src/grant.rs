//! The permission to open a target. Only the overwrite guard of the `host` crate issues one
//! (`cargo xtask tidy` holds that); the engine opens nothing without it.
use crate::ids::TargetId;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What may be done with the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    Read,
    Write,
    /// Write, and make the file where it is missing.
    Create,
}

/// Permission for one target, by path and by what stood there when it was examined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    target: TargetId,
    path: PathBuf,
    access: Access,
    /// Device and inode (files) or device number (devices), so that a swap between the
    /// examination and the opening is noticed. `None` where nothing stood there.
    identity: Option<(u64, u64)>,
}

impl Grant {
    /// For the guard alone.
    pub fn issue(
        target: TargetId,
        path: PathBuf,
        access: Access,
        identity: Option<(u64, u64)>,
    ) -> Self {
        Self {
            target,
            path,
            access,
            identity,
        }
    }

    pub fn target(&self) -> TargetId {
        self.target
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn access(&self) -> Access {
        self.access
    }

    pub fn identity(&self) -> Option<(u64, u64)> {
        self.identity
    }
}
