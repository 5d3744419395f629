//! Why the kernel denies an access, in words: which user lacks which right, and who has it. Begin with [`denial`].
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::text_file::read_whole;

/// What a program wants to do with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    Read,
    Write,
}

/// Names of users or groups in a system file, up to this many bytes.
const NAMES_BYTES_MAX: u64 = 1 << 20;

/// Who owns a file, and what its mode lets them do.
struct Owners {
    user: String,
    group: String,
    mode: u32,
    is_device: bool,
}

/// The text of an error of an access to `path`: for a denial with the right that is missing, otherwise as the system says
/// it.
#[must_use]
pub fn denial(path: &Path, wanted: Wanted, error: &io::Error) -> String {
    match Errno::from_io_error(error) {
        Some(Errno::ACCESS) => {
            let me = name_of("/etc/passwd", geteuid().as_raw());
            match fs::metadata(path) {
                Ok(found) => Owners::of(&found).denial(wanted, &me),
                Err(_) => denial_on_the_way(path, &me).unwrap_or("permission denied".to_owned()),
            }
        }
        Some(Errno::PERM) => {
            "operation not permitted (the file may be immutable or append-only, as `lsattr` shows)"
                .to_owned()
        }
        _ => error.to_string(),
    }
}

/// The same of a file that could not be opened, which a run may do for both; `None` for what is no denial. Reading is part
/// of it in any case, so a file that this user may read was refused for writing.
#[must_use]
pub fn denial_of_opening(path: &Path, error: &io::Error) -> Option<String> {
    let errno = Errno::from_io_error(error);
    if !matches!(errno, Some(Errno::ACCESS | Errno::PERM)) {
        return None;
    }
    let wanted = match accessat(CWD, path, Access::READ_OK, AtFlags::EACCESS) {
        Ok(()) => Wanted::Write,
        Err(_) => Wanted::Read,
    };
    Some(denial(path, wanted, error))
}

/// The denial of the innermost directory on the way to `path` that can be looked at, if this user may not search it.
fn denial_on_the_way(path: &Path, me: &str) -> Option<String> {
    let absolute = std::path::absolute(path).ok()?;
    let mut on_the_way = absolute.ancestors().skip(1);
    let (directory, found) = on_the_way.find_map(|part| Some((part, fs::metadata(part).ok()?)))?;
    let is_denied = accessat(CWD, directory, Access::EXEC_OK, AtFlags::EACCESS).is_err();
    is_denied.then(|| Owners::of(&found).denial_to_search(directory, me))
}

impl Owners {
    fn of(found: &fs::Metadata) -> Self {
        Self {
            user: name_of("/etc/passwd", found.uid()),
            group: name_of("/etc/group", found.gid()),
            mode: found.mode() & 0o777,
            is_device: found.file_type().is_block_device(),
        }
    }

    fn denial_to_search(&self, directory: &Path, me: &str) -> String {
        let Self {
            user, group, mode, ..
        } = self;
        format!(
            "permission denied (user `{me}` has no search permission (`x`) for the directory `{}`; owner `{user}:{group}`, mode {mode:03o})",
            directory.display()
        )
    }

    fn denial(&self, wanted: Wanted, me: &str) -> String {
        let (verb, right, bit) = match wanted {
            Wanted::Read => ("reading", "read permission (`r`)", 0o040),
            Wanted::Write => ("writing", "write permission (`w`)", 0o020),
        };
        let Self {
            user,
            group,
            mode,
            is_device,
        } = self;
        let group_too = match mode & bit {
            0 => String::new(),
            _ => format!(" or group `{group}`"),
        };
        match is_device {
            true => {
                format!("permission denied ({verb} raw devices requires user `{user}`{group_too})")
            }
            false => format!(
                "permission denied (user `{me}` has no {right}; owner `{user}:{group}`, mode {mode:03o})"
            ),
        }
    }
}

/// The name of a user or group; its number if the file has no line for it.
fn name_of(file: &str, id: u32) -> String {
    let bytes = read_whole(Path::new(file), NAMES_BYTES_MAX).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let id = id.to_string();
    let mut lines = text.lines();
    let name = lines.find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == id).then(|| name.to_owned())
    });
    name.unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denial_says_whose_right_is_missing() {
        let owners = |mode, is_device| Owners {
            user: "root".to_owned(),
            group: "disk".to_owned(),
            mode,
            is_device,
        };
        assert_eq!(
            owners(0o660, true).denial(Wanted::Read, "me"),
            "permission denied (reading raw devices requires user `root` or group `disk`)"
        );
        assert_eq!(
            owners(0o600, true).denial(Wanted::Write, "me"),
            "permission denied (writing raw devices requires user `root`)"
        );
        assert_eq!(
            owners(0o644, false).denial(Wanted::Write, "me"),
            "permission denied (user `me` has no write permission (`w`); owner `root:disk`, mode 644)"
        );
        assert_eq!(
            owners(0o700, false).denial_to_search(Path::new("/closed"), "me"),
            "permission denied (user `me` has no search permission (`x`) for the directory `/closed`; owner `root:disk`, mode 700)"
        );
    }

    #[test]
    fn an_operation_that_is_not_permitted_names_the_causes_and_the_rest_is_kept() {
        let of = |errno: Errno| denial(Path::new("/"), Wanted::Write, &errno.into());
        assert!(of(Errno::PERM).contains("may be immutable or append-only"));
        assert!(of(Errno::ACCESS).contains("owner `root:root`"));
        assert!(of(Errno::ROFS).starts_with("Read-only file system"));
        let of_opening = |errno: Errno| denial_of_opening(Path::new("/"), &errno.into());
        assert!(of_opening(Errno::ACCESS).is_some_and(|text| text.contains("owner `root:root`")));
        assert_eq!(of_opening(Errno::NOENT), None);
        assert_eq!(name_of("/etc/passwd", 0), "root");
        assert_eq!(name_of("/nowhere", 7), "7");
    }
}
