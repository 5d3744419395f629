//! What a line of a standing list means, and which may not stand there.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use glob::{MatchOptions, Pattern};

use crate::root::SysRoot;

/// `*` stays within a folder, as in a shell, and leaves hidden files out.
pub(super) const MATCHING: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: true,
};

/// Nothing at these places or below them is test data of anybody.
const SYSTEM_TREES: &[&str] = &[
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/run",
    "/sbin", "/sys", "/usr",
];

/// What lies directly in these belongs to many.
const SHARED_FOLDERS: &[&str] = &["/", "/home", "/tmp", "/var", "/var/lib", "/var/tmp"];

const ID_PREFIX: &str = "PARTUUID=";

/// One line that says something.
#[derive(Debug)]
pub(super) struct Line {
    /// Counted from one.
    pub number: usize,
    pub word: String,
    pub means: Means,
}

#[derive(Debug)]
pub(super) enum Means {
    /// World-wide name, serial number or partition id.
    Device(String),
    File(PathBuf),
    /// Regular files below a folder.
    Glob {
        folder: PathBuf,
        pattern: Pattern,
    },
}

/// A line that may not stand in a list.
#[derive(Debug)]
pub(super) struct Wrong {
    pub line: usize,
    pub word: String,
    pub reason: String,
}

/// Empty lines and lines that begin with `#` say nothing, blanks around a word fall away.
pub(super) fn parse(text: &str, homes: &[PathBuf]) -> Result<Vec<Line>, Wrong> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let words = text.lines().map(str::trim).enumerate();
    let words = words.filter(|(_, word)| !word.is_empty() && !word.starts_with('#'));
    let line = |(index, word): (usize, &str)| match meaning(word, homes) {
        Ok(means) => Ok(Line {
            number: index + 1,
            word: word.to_owned(),
            means,
        }),
        Err(reason) => Err(Wrong {
            line: index + 1,
            word: word.to_owned(),
            reason,
        }),
    };
    words.map(line).collect()
}

fn meaning(word: &str, homes: &[PathBuf]) -> Result<Means, String> {
    let has_wildcard = |text: &str| text.contains(['*', '?', '[']);
    let Some(below_root) = word.strip_prefix('/') else {
        return match word {
            _ if word.contains('/') || word.starts_with(['~', '@']) => {
                Err("is no absolute path; write the whole path from `/` on".to_owned())
            }
            _ if has_wildcard(word) => {
                Err("is no absolute path, and a device is named by its whole id".to_owned())
            }
            _ => Ok(Means::Device(normal_id(word))),
        };
    };
    let parts: Vec<&str> = below_root.split('/').collect();
    if parts.iter().any(|part| matches!(*part, "." | "..")) {
        return Err("has `.` or `..` in it; write the path without".to_owned());
    }
    if Path::new(word).starts_with("/dev") {
        return Err(
            "lies below `/dev`; name a device by its WWN, serial number or PARTUUID".to_owned(),
        );
    }
    let Some(first) = parts.iter().position(|part| has_wildcard(part)) else {
        return file(Path::new(word), word.ends_with('/'));
    };
    let folder = PathBuf::from(format!("/{}", parts[..first].join("/")));
    let pattern = Pattern::new(&parts[first..].join("/"))
        .map_err(|error| format!("is no pattern: {}", error.msg))?;
    let real = fs::canonicalize(&folder).unwrap_or_else(|_| folder.clone());
    for place in [&folder, &real] {
        if let Some(what) = no_folder_of_ours(place, homes) {
            return Err(format!(
                "covers files in `{}`, which is {what}; use a folder of its own for test files",
                place.display()
            ));
        }
    }
    Ok(Means::Glob { folder, pattern })
}

fn file(path: &Path, is_folder: bool) -> Result<Means, String> {
    let facts = fs::metadata(path);
    if is_folder || facts.as_ref().is_ok_and(fs::Metadata::is_dir) {
        return Err("is a folder; name files, or add `/*` for the files in it".to_owned());
    }
    if facts.is_ok_and(|facts| facts.file_type().is_block_device()) {
        return Err("is a device; name it by its WWN, serial number or PARTUUID".to_owned());
    }
    Ok(Means::File(path.to_path_buf()))
}

/// Why a pattern may not cover files of this folder.
fn no_folder_of_ours(folder: &Path, homes: &[PathBuf]) -> Option<&'static str> {
    let is_any = |list: &[&str]| list.iter().any(|known| folder == Path::new(known));
    if SYSTEM_TREES.iter().any(|tree| folder.starts_with(tree)) {
        return Some("part of the system");
    }
    if is_any(SHARED_FOLDERS) {
        return Some("a folder that many share");
    }
    let is_home = folder.parent() == Some(Path::new("/home"))
        || folder == Path::new("/root")
        || homes.iter().any(|home| home == folder);
    if is_home {
        return Some("a home folder");
    }
    let holds_home = homes.iter().any(|home| home.starts_with(folder));
    holds_home.then_some("a folder that holds home folders")
}

/// Homes of the users that this machine knows, also where they really are.
pub(super) fn homes(root: &SysRoot, own: Option<&OsStr>) -> Vec<PathBuf> {
    let users = fs::read_to_string(root.etc.join("passwd")).unwrap_or_default();
    let of_users = users.lines().filter_map(|line| line.split(':').nth(5));
    let own = own.map(PathBuf::from);
    let told = of_users.map(PathBuf::from).chain(own);
    let told = told.filter(|home| home.is_absolute());
    told.flat_map(|home| {
        let real = fs::canonicalize(&home).ok();
        std::iter::once(home).chain(real)
    })
    .collect()
}

/// A path whose folder has its links resolved, and whose last name has not: what a link leads to was not named.
pub(super) fn in_real_folder(path: &Path) -> Option<PathBuf> {
    let folder = fs::canonicalize(path.parent()?).ok()?;
    Some(folder.join(path.file_name()?))
}

/// Partition ids are numbers, which some programs write with capital letters; serial numbers are text.
pub(super) fn normal_id(id: &str) -> String {
    match id.get(..ID_PREFIX.len()) {
        Some(prefix) if prefix.eq_ignore_ascii_case(ID_PREFIX) => {
            format!("{ID_PREFIX}{}", id[ID_PREFIX.len()..].to_ascii_lowercase())
        }
        _ => id.to_owned(),
    }
}
