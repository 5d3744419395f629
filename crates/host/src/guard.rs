//! The overwrite guard: nothing that holds something is written to unless the user names it.
//!
//! [`examine_through`] claims what will be written and looks at it through the claim, and [`judge`] turns what was found
//! and the user's words into grants or refusals. [`examine`] looks and claims nothing. The rules:
//!
//! - **Reading** is granted on block devices and regular files.
//! - **Never overridable**: a device that is mounted, held (device mapper, RAID, bcache, DRBD), swap, behind a loop
//!   device or read-only, by itself, by a partition of it or by the disk that it is a part of; a file that is swap or
//!   behind a loop device; a path that is no file or device, or lies on a file system that stores nothing (/proc).
//!   What the target is built on counts as well (`guard/stack.rs`).
//! - **Overridable by naming the target**: a known signature on it or on a partition of it, a disk image, data of
//!   unknown kind, a place that cannot be read.
//! - **Free**: what is blank or ours. Looked at are 8 MiB at both ends, all of what has up to 64 MiB of data, the
//!   usual starts of partitions, places of backup superblocks, the starts of data areas, and 1 000 samples or more, in
//!   blocks of 4 KiB (`guard/survey.rs`). A block is blank when all its bytes are 0x00 or all are 0xff. It is ours when
//!   it begins with [`DATA_MARK`], as every 4 KiB that the engine generates do, or where a record of what earlier
//!   executions wrote says so ([`written`]). Test data of anybody are as free: blocks for checks that tell their own
//!   address (`guard/checked.rs`). Every block must be one of these: a single block of other origin means asking.
//!   Samples can miss data that lie between them and carry no known signature at the usual places.
//! - **A file to be made** needs a directory and room.
//! - **Claimed by others**: a device that another program holds exclusively, a file that another execution writes, and
//!   what another program has a record lock on, such as the image of a running virtual machine, are never overridable.
//!
//! Nothing here writes but records, which leave content as it is, and targets are opened through the door alone. What
//! is behind a loop device is claimed with it.

mod checked;
pub(crate) mod content;
mod examine;
mod named;
mod overwrite;
mod places;
mod second_opinion;
mod signatures;
mod stack;
mod standing;
mod survey;
#[cfg(test)]
mod tests;
mod usage;
pub mod written;

use std::fmt;
use std::path::{Path, PathBuf};

use door::{Grant, ObjectId};
use plan::{Access, Bytes, FoundKind, TargetId, TargetKind};

pub use content::DATA_MARK;
pub use examine::{examine, examine_through};
pub use named::{are_named, unused_words};
pub use overwrite::{Overwrite, OverwriteError};
pub use signatures::Family;
pub use standing::{LetPass, STANDING_VARIABLE, Standing, StandingError, StandingPlaces};

use crate::root::SysRoot;
use crate::space::{NoSpace, SpaceNeed, check_free_space};
use named::Named;

/// What is wanted of one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub target: TargetId,
    pub path: PathBuf,
    /// What the plan takes it for. A missing device is never made.
    pub kind: TargetKind,
    pub access: Access,
    /// First byte that may be written, and the byte behind the last.
    pub extent: (u64, u64),
    /// First byte of what takes space that the file does not have yet, and the byte behind the last. Without meaning for
    /// devices.
    pub takes: (u64, u64),
    /// Whether the job goes on where its file system is full.
    pub bears_full: bool,
    /// A file that this execution made itself and filled with data without our mark: its unknown data pass. Nothing
    /// else does, and devices are not believed.
    pub is_ours: bool,
}

/// What was found of one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Examination {
    pub request: Request,
    /// With links resolved.
    pub real_path: PathBuf,
    pub found: FoundKind,
    /// Device number and size of a device, device and inode of a file; nothing where nothing is.
    pub identity: Option<(u64, u64)>,
    /// What the door knows it by; nothing for what cannot be a target.
    pub object: Option<ObjectId>,
    pub findings: Vec<Finding>,
    /// Its size; `None` if its content was not looked at.
    pub bytes: Option<u64>,
    /// What earlier executions have written here, by a record that still matches.
    pub recorded: written::Known,
    /// Words of `--overwrite` that name this target, the one to advise first.
    pub words: Vec<String>,
    /// Those of them that name a device wherever it is plugged in.
    pub ids: Vec<String>,
}

/// One reason not to write to a target.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    Mounted {
        device: String,
        at: String,
    },
    Held {
        device: String,
        by: String,
    },
    Swap {
        device: String,
    },
    BacksLoop {
        device: String,
        by: String,
    },
    ReadOnly,
    /// Somebody else has taken it for himself alone.
    Claimed {
        by: String,
    },
    /// It cannot be opened for writing.
    NotWritable {
        error: String,
    },
    /// Another process has taken it for itself, as an execution does that writes it, or has locked a part of it.
    Locked {
        file: String,
        /// Nothing where the kernel does not tell.
        process: Option<u32>,
    },
    /// Something about what the target is built on.
    Below {
        /// The target, or a device below it.
        top: String,
        /// What that is built on: a device, or the path of a file.
        layer: String,
        finding: Box<Finding>,
    },
    /// Neither a regular file nor a block device.
    NotUsable {
        what: &'static str,
    },
    Missing,
    /// It is missing, and no file can be made in its folder; or the folder cannot be looked into.
    FolderLacks {
        folder: PathBuf,
        lack: Lack,
    },
    /// A file system that stores nothing.
    PseudoFileSystem {
        name: String,
    },
    CannotExamine {
        error: String,
    },
    Signature {
        /// The partition that carries it, when the target is the disk.
        partition: Option<String>,
        family: Family,
        name: &'static str,
        /// Of the magic, bytes from the start of target or partition.
        offset: u64,
    },
    /// What the `blkid` program names.
    SecondOpinion {
        kind: String,
    },
    UnknownData {
        offset: u64,
        sampled: u64,
        foreign: u64,
    },
    /// A place that could not be read, so that nothing can be said of it.
    Unreadable {
        offset: u64,
        error: String,
    },
}

/// What keeps a file from being made or found in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lack {
    Folder,
    /// The right to write to the folder (`w`).
    Write,
    /// The right to use the names in the folder (`x`).
    Search,
    /// The file system is mounted read-only.
    WritableFileSystem,
}

/// The targets that may not be touched, and why. At least one of the lists is not empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub refusals: Vec<Refusal>,
    pub no_space: Vec<NoSpace>,
}

/// One refused target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub target: TargetId,
    pub path: PathBuf,
    /// Everything found, not only the first.
    pub findings: Vec<Finding>,
    /// Its size, if that is known.
    pub bytes: Option<u64>,
    /// The word to give with `--overwrite`; nothing where no word helps.
    pub word: Option<String>,
}

/// Grants everything, or refuses with all reasons at once. `examinations` are those of a whole plan, since files share
/// the space of a file system.
///
/// # Errors
/// Every target with a finding that no word may override, or that the words do not name, and every file system without
/// the room.
pub fn judge(examinations: &[Examination], overwrite: &Overwrite) -> Result<Vec<Grant>, Refused> {
    let mut grants = Vec::new();
    let mut refusals = Vec::new();
    let named = Named::by(overwrite);
    for examination in examinations {
        match examination.refusal(&named) {
            Some(refusal) => refusals.push(refusal),
            None => grants.extend(examination.grant()),
        }
    }
    let mut no_space = shortages(examinations);
    no_space.retain(|one| !one.is_borne);
    if refusals.is_empty() && no_space.is_empty() {
        return Ok(grants);
    }
    Err(Refused { refusals, no_space })
}

/// The file systems without the room for what will be written, those among them whose jobs go on then.
#[must_use]
pub fn shortages(examinations: &[Examination]) -> Vec<NoSpace> {
    check_free_space(&needs(examinations))
        .err()
        .unwrap_or_default()
}

/// [`examine`], then [`judge`].
///
/// # Errors
/// As [`judge`].
pub fn guard(
    root: &SysRoot,
    requests: &[Request],
    overwrite: &Overwrite,
) -> Result<Vec<Grant>, Refused> {
    judge(&examine(root, requests), overwrite)
}

impl Examination {
    fn refusal(&self, named: &Named<'_>) -> Option<Refusal> {
        if self.findings.is_empty() {
            return None;
        }
        let is_overridable = self.findings.iter().all(Finding::is_overridable);
        if is_overridable && named.has(self) {
            return None;
        }
        Some(Refusal {
            target: self.request.target,
            path: self.request.path.clone(),
            findings: self.findings.clone(),
            bytes: self.bytes,
            word: is_overridable
                .then(|| self.words.first().cloned())
                .flatten(),
        })
    }

    /// What names a device wherever it is plugged in.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        self.ids.iter().map(String::as_str)
    }

    /// What cannot be a target has a finding that nothing overrides.
    fn grant(&self) -> Option<Grant> {
        let request = &self.request;
        let path = self.real_path.clone();
        let object = self.object?;
        Some(Grant::issue(request.target, request.access, object, path))
    }
}

impl Finding {
    /// Whether this user, or anybody, lacks the right to write to it or to make it.
    #[must_use]
    pub fn is_lack_of_right(&self) -> bool {
        match self {
            Finding::NotWritable { .. } => true,
            Finding::FolderLacks { lack, .. } => *lack != Lack::Folder,
            _ => false,
        }
    }

    /// Whether it is about the folder of a missing file, or about a right.
    #[must_use]
    pub fn is_of_folder(&self) -> bool {
        matches!(self, Finding::FolderLacks { .. }) || self.is_lack_of_right()
    }

    /// Whether it names who uses the target.
    pub(crate) fn names_user(&self) -> bool {
        match self {
            Finding::Mounted { .. }
            | Finding::Held { .. }
            | Finding::Swap { .. }
            | Finding::Locked { .. }
            | Finding::BacksLoop { .. } => true,
            Finding::Below { finding, .. } => finding.names_user(),
            _ => false,
        }
    }

    /// Whether naming the target is enough to write over this.
    #[must_use]
    pub fn is_overridable(&self) -> bool {
        match self {
            Finding::Mounted { .. }
            | Finding::Held { .. }
            | Finding::Swap { .. }
            | Finding::BacksLoop { .. }
            | Finding::ReadOnly
            | Finding::Claimed { .. }
            | Finding::NotWritable { .. }
            | Finding::Locked { .. }
            | Finding::NotUsable { .. }
            | Finding::Missing
            | Finding::FolderLacks { .. }
            | Finding::PseudoFileSystem { .. }
            | Finding::CannotExamine { .. } => false,
            Finding::Signature { .. }
            | Finding::SecondOpinion { .. }
            | Finding::UnknownData { .. }
            | Finding::Unreadable { .. } => true,
            Finding::Below { finding, .. } => finding.is_overridable(),
        }
    }
}

impl Refused {
    /// A text for `--overwrite @FILE`: what was found as comments, and below it the word. What no word can free is a
    /// comment only.
    #[must_use]
    pub fn overwrite_file(&self) -> String {
        let mut text = String::from(
            "# Targets that hold something. Keep a line to have its target overwritten.\n",
        );
        for refusal in &self.refusals {
            let path = one_line(&refusal.path.display().to_string());
            let size = refusal.bytes.map(|bytes| format!(", {}", Bytes(bytes)));
            text.push_str(&format!("\n# {path}{}\n", size.unwrap_or_default()));
            for finding in &refusal.findings {
                text.push_str(&format!("#   {}\n", one_line(&finding.to_string())));
            }
            match &refusal.word {
                Some(word) if one_line(word) == *word => text.push_str(&format!("{word}\n")),
                Some(_) => text.push_str("# its name has a line end: give it as an argument\n"),
                None => text.push_str("# cannot be overridden\n"),
            }
        }
        text
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::Mounted { device, at } => write!(f, "`{device}` is mounted at {at}"),
            Finding::Held { device, by } => write!(f, "`{device}` is held by {by}"),
            Finding::Swap { device } => write!(f, "`{device}` is in use as swap"),
            Finding::BacksLoop { device, by } => write!(f, "`{device}` stands behind {by}"),
            Finding::ReadOnly => write!(f, "the device is read-only"),
            Finding::Claimed { by } => write!(f, "{by}"),
            Finding::NotWritable { error } => {
                write!(f, "it cannot be opened for writing: {error}")
            }
            Finding::Locked { file, process } => {
                let by = process.map_or("another program".to_owned(), |id| format!("process {id}"));
                write!(f, "`{file}` is held by {by}, which has locked it")
            }
            Finding::Below {
                top,
                layer,
                finding,
            } => write!(f, "`{top}` is built on `{layer}`: {finding}"),
            Finding::NotUsable { what } => write!(f, "it is {what}"),
            Finding::Missing => write!(f, "it does not exist"),
            Finding::FolderLacks { folder, lack } => lack.write(folder, f),
            Finding::PseudoFileSystem { name } => {
                write!(f, "it lies on {name}, where no data is stored")
            }
            Finding::CannotExamine { error } => write!(f, "it cannot be examined: {error}"),
            Finding::Signature {
                partition,
                name,
                offset,
                ..
            } => {
                let of = partition
                    .as_ref()
                    .map(|partition| format!(" of `{partition}`"));
                write!(f, "{name} at byte {offset}{}", of.unwrap_or_default())
            }
            Finding::SecondOpinion { kind } => write!(f, "blkid finds {kind}"),
            Finding::UnknownData {
                offset,
                sampled,
                foreign,
            } => write!(
                f,
                "data of unknown kind, first at byte {offset} ({foreign} of {})",
                plan::counted(*sampled, "sample")
            ),
            Finding::Unreadable { offset, error } => {
                write!(f, "byte {offset} cannot be read: {error}")
            }
        }
    }
}

impl Lack {
    /// Says what is missing at a directory.
    fn write(self, directory: &Path, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let directory = directory.display();
        match self {
            Lack::Folder => write!(
                f,
                "the directory `{directory}` does not exist; create it first, with `mkdir -p`"
            ),
            Lack::Write => write!(
                f,
                "it does not exist, and you have no write permission (`w`) for the directory `{directory}`"
            ),
            Lack::Search => write!(
                f,
                "you have no search permission (`x`) for the directory `{directory}`"
            ),
            Lack::WritableFileSystem => write!(
                f,
                "it does not exist, and the directory `{directory}` is on a read-only file system"
            ),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not touched: ", self.path.display())?;
        for (index, finding) in self.findings.iter().enumerate() {
            write!(f, "{}{finding}", if index > 0 { "; " } else { "" })?;
        }
        match &self.word {
            Some(word) => write!(
                f,
                "\n  to have it overwritten: --overwrite {}",
                quoted(word)
            ),
            None => write!(f, "\n  this cannot be overridden"),
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let refusals = self.refusals.iter().map(|one| one.to_string());
        let no_space = self.no_space.iter().map(|one| one.to_string());
        let all: Vec<String> = refusals.chain(no_space).collect();
        write!(f, "{}", all.join("\n"))
    }
}

impl std::error::Error for Refused {}

fn needs(examinations: &[Examination]) -> Vec<SpaceNeed> {
    examinations
        .iter()
        .filter(|one| one.request.access != Access::Read)
        .filter(|one| matches!(one.found, FoundKind::File | FoundKind::Missing))
        .map(|one| SpaceNeed {
            path: one.real_path.clone(),
            part: one.request.takes,
            is_borne: one.request.bears_full,
        })
        .collect()
}

/// As a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-:+,=@%".contains(c);
    if !word.is_empty() && !word.starts_with('@') && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}
