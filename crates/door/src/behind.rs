//! Claiming what a target is built on: what is written to a loop device ends up in the file or disk behind it.
use crate::approach::{Door, NONBLOCK, busy, changed};
use crate::calls::{Calls, Identity, identify};
use crate::error::ClaimError;
use crate::object::Claim;
use std::io;
use std::path::Path;
use std::sync::Arc;
use sys::file::OpenFlags;
use sys::file::at::{Facts, Kind};

/// What is known of what stands behind a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behind {
    File { device: u64, inode: u64 },
    Disk { number: u64 },
}

/// With whom it is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    Alone,
    /// Others may write other parts of it, as the partitions of one loop device are. A file stays locked against those
    /// who write all of it; a disk knows no such claim and is given back at once.
    Parts,
}

impl<C: Calls> Door<C> {
    /// Keeps others from what stands at `path`, as long as this door lives. Nothing is opened for writing.
    ///
    /// # Errors
    /// Where somebody else has it, and where it cannot be claimed because something else stands there or the system does
    /// not let us.
    pub fn claim_behind(
        &self,
        path: &Path,
        behind: Behind,
        sharing: Sharing,
    ) -> Result<(), ClaimError> {
        match behind {
            Behind::Disk { number } if self.is_claimed_disk(number) => return Ok(()),
            _ => {}
        }
        let opened = self.open_behind(path, behind);
        let (file, identity) = match opened {
            Err(error) if busy(&error) => return Err(ClaimError::InUse),
            opened => opened.map_err(ClaimError::Refused)?,
        };
        let thing = self.thing(identity, false);
        let mut claim = thing.claim.lock().expect("nothing panics here");
        if claim.is_some() {
            return Ok(());
        }
        let calls = &self.calls;
        if let Some(lock) = calls.record_lock(&file) {
            return Err(ClaimError::RecordLocked(lock));
        }
        let locked = match (behind, sharing) {
            (Behind::Disk { .. }, Sharing::Parts) => return Ok(()),
            (Behind::Disk { .. }, Sharing::Alone) => {
                *claim = Some(Claim::Open { _file: file });
                return Ok(());
            }
            (Behind::File { .. }, Sharing::Alone) => calls.lock(&file),
            (Behind::File { .. }, Sharing::Parts) => calls.lock_shared(&file),
        };
        match locked.map_err(ClaimError::Refused)? {
            true => {
                *claim = Some(self.hold(&file));
                Ok(())
            }
            false => Err(ClaimError::Locked),
        }
    }

    fn open_behind(&self, path: &Path, behind: Behind) -> io::Result<(Arc<C::File>, Identity)> {
        let is_it = |facts: &Facts| match behind {
            Behind::File { device, inode } => {
                facts.kind == Kind::File && (facts.device, facts.inode) == (device, inode)
            }
            Behind::Disk { number } => facts.kind == Kind::BlockDevice && facts.number == number,
        };
        let real_path = self.calls.resolve(path)?;
        let (Some(parent), Some(name)) = (real_path.parent(), real_path.file_name()) else {
            return Err(changed());
        };
        let name = sys::file::at::name(name)?;
        let folder = self.folders.get(&self.calls, parent)?;
        let folder = folder.open(&self.calls)?;
        if !is_it(&self.calls.look(&folder, &name)?) {
            return Err(changed());
        }
        let flags = OpenFlags {
            read: true,
            exclusive: matches!(behind, Behind::Disk { .. }),
            raw: NONBLOCK,
            ..OpenFlags::default()
        };
        let file = Arc::new(self.calls.open(&folder, &name, &flags)?);
        match identify(&self.calls, &file)? {
            Some((identity, facts)) if is_it(&facts) => Ok((file, identity)),
            _ => Err(changed()),
        }
    }
}
