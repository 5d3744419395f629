//! The exclusive claim on what is written to, held for as long as the returned file is open.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use plan::{Access, Grant};
use sys::file::{OpenFlags, lock_exclusive, open};

/// Claims what a grant names: a block device against mounts, volume managers and other claims (O_EXCL), a file against
/// other executions (flock, advisory). Nothing is written, made or cut. Nothing is claimed for reading, nor where a
/// file is still to be made: claim again once it is there.
///
/// The claim on a device is the last part of the guard, since it sees users that no table shows: take it before the
/// first write.
///
/// # Errors
/// EBUSY where somebody else holds the device; `WouldBlock` where another process has locked the file; `InvalidData`
/// where something else stands there than was examined; what `open(2)` says otherwise.
pub fn claim(grant: &Grant) -> io::Result<Option<File>> {
    if grant.access() == Access::Read {
        return Ok(None);
    }
    let found = match fs::metadata(grant.path()) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound && grant.identity().is_none() => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let flags = OpenFlags {
        read: true,
        write: true,
        exclusive: found.file_type().is_block_device(),
        ..OpenFlags::default()
    };
    let file = open(grant.path(), &flags)?;
    let identity = identity_of(&file)?;
    if grant
        .identity()
        .is_some_and(|expected| expected != identity)
    {
        let message = "something else stands there than was examined";
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    if !flags.exclusive && !lock_exclusive(&file)? {
        let message = "another process has locked this file";
        return Err(io::Error::new(io::ErrorKind::WouldBlock, message));
    }
    Ok(Some(file))
}

/// What is claimed, for as long as this lives.
#[derive(Debug, Default)]
pub struct Claims {
    held: Vec<File>,
    /// Files that nobody else had locked, and that are not kept locked for want of descriptors.
    pub unheld: usize,
}

impl Claims {
    /// How many devices and files are held.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held.len()
    }
}

/// Claims everything that is written to, each device and file once: a device named by two targets is one device. At most
/// `files_max` files stay locked, each of which takes a descriptor; others are locked, which shows whether somebody else
/// has them, and let go.
///
/// # Errors
/// The first grant that could not be claimed, with the reason as in [`claim`]. Claims taken before it are given back.
pub fn claim_all(grants: &[Grant], files_max: usize) -> Result<Claims, (Grant, io::Error)> {
    let mut claimed = BTreeSet::new();
    let mut claims = Claims::default();
    let mut files = 0;
    for grant in grants.iter().filter(|grant| grant.access() != Access::Read) {
        if grant
            .identity()
            .is_some_and(|identity| !claimed.insert(identity))
        {
            continue;
        }
        let refused = |error| (grant.clone(), error);
        let Some(file) = claim(grant).map_err(refused)? else {
            continue;
        };
        let is_file = file.metadata().map_err(refused)?.is_file();
        if is_file && files == files_max {
            claims.unheld += 1;
            continue;
        }
        files += usize::from(is_file);
        claims.held.push(file);
    }
    Ok(claims)
}

/// Device number and size of a block device, device and inode of a file: what a grant is issued for.
pub(crate) fn identity_of(file: &File) -> io::Result<(u64, u64)> {
    let facts = file.metadata()?;
    if facts.file_type().is_block_device() {
        return Ok((facts.rdev(), sys::file::device_bytes(file)?));
    }
    Ok((facts.dev(), facts.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::TargetId;

    #[test]
    fn files_beyond_the_descriptors_are_looked_at_and_let_go() {
        let folder = tempfile::tempdir().unwrap();
        let grants: Vec<Grant> = (0..5)
            .map(|number| {
                let path = folder.path().join(number.to_string());
                fs::write(&path, "").unwrap();
                let identity = identity_of(&File::open(&path).unwrap()).unwrap();
                Grant::issue(TargetId(number), path, Access::Write, Some(identity))
            })
            .collect();
        let claims = claim_all(&grants, 2).unwrap();
        assert_eq!((claims.held(), claims.unheld), (2, 3));
        // One of those that are held, and one of the others.
        assert_eq!(
            claim(&grants[1]).unwrap_err().kind(),
            io::ErrorKind::WouldBlock
        );
        let other = claim(&grants[4]).unwrap();
        drop(claims);
        let (refused, error) = claim_all(&grants, 2).unwrap_err();
        assert_eq!(refused.target(), TargetId(4));
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        drop(other);
        assert_eq!(claim_all(&grants, 5).unwrap().held(), 5);
    }
}
