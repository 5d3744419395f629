//! All files that Fathom writes beside its targets: what they may replace, and how they are opened.
//!
//! Files that Fathom names itself ([`Own`]) replace nothing but their like. Files that the user names are replaced as
//! the originals do, but never through a link into another folder, and never a target or a block device. What would be
//! refused is refused by [`Outputs::check`] and [`Outputs::check_own`] before the first run, and again at opening. Read
//! [`Outputs`] first.
mod identity;
mod place;

use host::text_file::read_head;
use identity::{Identity, Targets, resolved_as_far};
use plan::{Plan, SourceMap};
use report::{Opener, Opening};
use std::fs::{File, TryLockError};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The first line of [`Own::Marks`].
pub const MARKS_HEAD: &str = "# marks of a run: nanoseconds since 1970, text\n";

/// How [`Own::InTurn`] begins.
pub const IN_TURN_HEAD: &str = "{\"fathom_in_turn\":";

/// The files that a job and the words about it were read from.
pub fn inputs<'a>(
    sources: &'a SourceMap,
    words: &'a [String],
) -> impl Iterator<Item = &'a Path> + use<'a> {
    let texts = sources.files().iter().map(|file| Path::new(&file.name));
    let lists = words.iter().filter_map(|word| word.strip_prefix('@'));
    texts.chain(lists.map(Path::new))
}

/// How far a file is read to see whose it is.
const HEAD_BYTES: usize = 4096;

/// The files of one execution.
#[derive(Clone, Debug, Default)]
pub struct Outputs(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    targets: Mutex<Targets>,
    /// Why the first file that is not whole is not.
    failure: OnceLock<String>,
}

/// What Fathom writes under names that nobody asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Own {
    /// `report.html`
    Page,
    /// `summary.csv`
    Table,
    /// `summary.json`
    Json,
    /// `comparison.csv`
    ComparisonTable,
    /// `comparison.json`
    ComparisonJson,
    /// `in-turn.json`
    InTurn,
    /// `result.fathom`, which the store looks into.
    Result,
    /// A list of addresses (`showlba`).
    Addresses,
    /// What a job has written (`verify_state_save`).
    State,
    /// `marks`
    Marks,
}

/// What every execution that keeps a result writes.
const OWN_NAMES: [(&str, Own); 5] = [
    ("report.html", Own::Page),
    ("summary.csv", Own::Table),
    ("summary.json", Own::Json),
    ("result.fathom", Own::Result),
    ("marks", Own::Marks),
];

impl Outputs {
    /// For an execution that may write to these targets, and was read from these texts.
    pub fn beside<'a>(plan: &Plan, inputs: impl Iterator<Item = &'a Path>) -> Self {
        let targets = plan.targets.iter().filter(|target| target.is_real());
        Self::of_targets(targets.map(|target| target.path.as_path()), inputs)
    }

    /// For a look at one directory for results. Of the targets, which may be a million, those are known that could be this
    /// directory or one of the files that [`check_folder`] looks at.
    pub fn in_folder<'a>(
        plan: &Plan,
        folder: &Path,
        inputs: impl Iterator<Item = &'a Path>,
    ) -> Self {
        let looked_at = OWN_NAMES.map(|(name, _)| folder.join(name));
        let looked_at = || looked_at.iter().map(PathBuf::as_path).chain([folder]);
        let names: Vec<_> = looked_at().map(Path::file_name).collect();
        let there = looked_at().filter_map(|path| std::fs::metadata(path).ok());
        let there: Vec<Identity> = there.map(|found| Identity::of(&found)).collect();
        let could_be_there = |path: &Path| {
            let found = door::waiting::on(path, || std::fs::metadata(path));
            found.is_ok_and(|found| match Identity::of(&found) {
                identity @ Identity::File { .. } => there.contains(&identity),
                // A file may be the storage of a device.
                _ => true,
            })
        };
        let real = plan.targets.iter().filter(|target| {
            target.is_real()
                && !plan.is_elsewhere(target)
                && (names.contains(&target.path.file_name())
                    || !there.is_empty() && could_be_there(&target.path))
        });
        Self::of_targets(real.map(|target| target.path.as_path()), inputs)
    }

    fn of_targets<'a, 'b>(
        targets: impl Iterator<Item = &'b Path>,
        inputs: impl Iterator<Item = &'a Path>,
    ) -> Self {
        let targets = Targets::of(targets).and_inputs(inputs);
        Self(Arc::new(Shared {
            targets: Mutex::new(targets),
            failure: OnceLock::new(),
        }))
    }

    /// Of a program that carries out nothing and has read these texts.
    pub fn of_texts<'a>(inputs: impl Iterator<Item = &'a Path>) -> Self {
        Self(Arc::new(Shared {
            targets: Mutex::new(Targets::default().and_inputs(inputs)),
            failure: OnceLock::new(),
        }))
    }

    /// Why the first file could not be written that could not, which was told then.
    pub fn failure(&self) -> Option<&str> {
        self.0.failure.get().map(String::as_str)
    }

    /// Tells of a file that could not be written. The run goes on.
    pub fn tell(&self, reason: &str) {
        self.0.failure.get_or_init(|| reason.to_owned());
        errln!("warning: {reason}");
    }

    /// What opening a file that the user has named would refuse; changes nothing.
    ///
    /// # Errors
    /// The reason, in words with the path.
    pub fn check(&self, path: &Path, opening: Opening) -> Result<(), String> {
        let found = std::fs::metadata(path).ok();
        let identity = found.as_ref().map(Identity::of);
        self.spare_targets(path, identity.as_ref())
            .and_then(|()| place::check(path, opening))
            .map_err(|reason| named(path, &reason))
    }

    /// Opens a file that the user has named.
    ///
    /// # Errors
    /// The reason, in words with the path.
    pub fn open_named(&self, path: &Path, opening: Opening) -> Result<File, String> {
        let spare = |found: Option<&Identity>| self.spare_targets(path, found);
        place::open(path, opening, &spare).map_err(|reason| named(path, &reason))
    }

    fn spare_targets(&self, path: &Path, found: Option<&Identity>) -> Result<(), String> {
        let mut targets = self
            .0
            .targets
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if targets.contains(path, found) {
            return Err("it is a target of the job".to_owned());
        }
        match targets.has_input(found) {
            true => Err("the job was read from it".to_owned()),
            false => Ok(()),
        }
    }

    /// Whether the folder for results may be made: it is no target.
    fn check_place(&self, folder: &Path) -> Result<(), String> {
        let found = std::fs::metadata(folder).ok();
        let identity = found.as_ref().map(Identity::of);
        self.spare_targets(folder, identity.as_ref())
            .map_err(|reason| format!("output folder `{}` is not made: {reason}", folder.display()))
    }

    /// Whether a file of our own may be written: there is nothing, or an earlier file of this kind.
    ///
    /// # Errors
    /// The reason, in words with the path and the way out.
    pub fn check_own(&self, path: &Path, own: Own) -> Result<(), String> {
        let found = found_own(path, own)?;
        let identity = found.as_ref().map(Identity::of);
        self.spare_targets(path, identity.as_ref())
            .map_err(|reason| named(path, &reason))
    }

    /// Writes a file of our own anew. It appears whole or not at all.
    ///
    /// # Errors
    /// The reason, in words with the path.
    pub fn replace_own(
        &self,
        path: &Path,
        own: Own,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), String> {
        self.check_own(path, own)?;
        let (temporary, file) = place::beside(path).map_err(|error| unwritten(path, &error))?;
        let mut out = BufWriter::new(file);
        let written = write(&mut out).and_then(|()| out.flush());
        let swapped = written
            .map_err(|error| unwritten(path, &error))
            .and_then(|()| swap(&temporary, path, own));
        if swapped.is_err() {
            // It holds nothing that cannot be made again.
            let _ = std::fs::remove_file(&temporary);
        }
        swapped
    }

    /// Opens a file of our own that grows.
    ///
    /// # Errors
    /// The reason, in words with the path.
    pub fn open_own(&self, path: &Path, own: Own, opening: Opening) -> Result<File, String> {
        self.check_own(path, own)?;
        if opening == Opening::Replace && path.exists() {
            self.replace_own(path, own, |_| Ok(()))?;
        }
        self.open_named(path, Opening::Append)
    }
}

impl Opener for Outputs {
    fn open(&self, path: &Path, opening: Opening) -> Option<File> {
        let opened = self.open_named(path, opening);
        opened.map_err(|reason| self.tell(&reason)).ok()
    }
}

/// Refuses what is no place for a folder.
///
/// # Errors
/// The reason, in words with the path and the way out.
pub fn check_place(folder: &Path) -> Result<(), String> {
    place::check_folder(folder).map_err(|reason| {
        format!(
            "`{}` cannot be the output folder: {reason}; choose another (-o)",
            folder.display()
        )
    })
}

/// Shows others that a run writes to a folder, for as long as what is returned lives; `None` where the file system cannot.
pub fn hold_folder(folder: &Path) -> Option<File> {
    let opened = File::open(folder).ok()?;
    opened.try_lock().is_ok().then_some(opened)
}

/// Whether somebody does.
pub fn is_held(folder: &Path) -> bool {
    let opened = File::open(folder);
    opened.is_ok_and(|opened| matches!(opened.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Refuses what the reports of an execution would replace in their folder.
///
/// # Errors
/// The reason, in words with the path and the way out.
pub fn check_folder(outputs: &Outputs, folder: &Path) -> Result<(), String> {
    check_place(folder)?;
    outputs.check_place(folder)?;
    OWN_NAMES
        .into_iter()
        .try_for_each(|(name, own)| outputs.check_own(&folder.join(name), own))
}

/// Refuses targets of this machine in the directory for results, which is removed or moved as a whole and may be made by the
/// run itself. `option` names another.
///
/// The current directory and those above it are no such directory: whoever names it wants results beside the targets, as
/// fio and Vdbench write them, and a lint warns.
///
/// # Errors
/// The reason, in words with the path and the way out.
pub fn check_targets_outside(plan: &Plan, folder: &Path, option: &str) -> Result<(), String> {
    let resolved = resolved_as_far(folder);
    let current = std::env::current_dir().and_then(std::fs::canonicalize);
    if current.is_ok_and(|current| current.starts_with(&resolved)) {
        return Ok(());
    }
    // Many targets have one directory.
    let mut outside: Option<&Path> = None;
    for target in &plan.targets {
        let beside = target.path.parent();
        if !target.is_real() || beside == outside || plan.is_elsewhere(target) {
            continue;
        }
        let directory = door::waiting::on(&target.path, || directory_of(&target.path));
        if directory.is_some_and(|directory| directory.starts_with(&resolved)) {
            return Err(format!(
                "target `{}` lies in the output folder `{}`; choose another folder ({option})",
                target.path.display(),
                folder.display()
            ));
        }
        outside = beside;
    }
    Ok(())
}

/// Refuses targets among the pages of the old layout, whose names follow from the job.
///
/// # Errors
/// The reason, in words with the path and the way out.
pub fn check_pages(plan: &Plan, folder: &Path) -> Result<(), String> {
    let folder = Some(resolved_as_far(folder));
    let is_page = |path: &&Path| {
        path.extension().is_some_and(|end| end == "html") && directory_of(path) == folder
    };
    let targets = plan.targets.iter().filter(|target| target.is_real());
    match targets.map(|target| target.path.as_path()).find(is_page) {
        None => Ok(()),
        Some(path) => Err(format!(
            "target `{}` stands among the pages of this run; choose another output folder",
            path.display()
        )),
    }
}

/// The directory of a file, resolved. That of `t` is written as `""`.
fn directory_of(path: &Path) -> Option<PathBuf> {
    let beside = path.parent()?;
    Some(resolved_as_far(&Path::new(".").join(beside)))
}

impl Own {
    fn is_ours(self, head: &[u8]) -> bool {
        match self {
            Self::Page => report::html::is_page(head),
            Self::Table => report::summary::is_csv(head),
            Self::Json => report::summary::is_json(head),
            Self::ComparisonTable => report::comparison::is_csv(head),
            Self::ComparisonJson => report::comparison::is_json(head),
            Self::InTurn => head.starts_with(IN_TURN_HEAD.as_bytes()),
            Self::Result => true,
            Self::Addresses => is_address_list(head),
            Self::State => is_state(head),
            Self::Marks => head.starts_with(MARKS_HEAD.as_bytes()),
        }
    }
}

/// `storage workload 1 offset milliseconds`
fn is_address_list(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let line = text.lines().next().unwrap_or("");
    let words: Vec<&str> = line.split(' ').collect();
    let are_numbers = words.iter().skip(2).all(|word| word.parse::<u64>().is_ok());
    words.len() == 5 && matches!(words[2], "0" | "1") && are_numbers
}

/// One of ours, or of the third version of fio's layout.
fn is_state(head: &[u8]) -> bool {
    head.starts_with(lang::fio::STATE_FIRST_WORDS.as_bytes())
        || head.starts_with(&3_u64.to_le_bytes())
}

/// What stands under a name of ours, where that is ours.
fn found_own(path: &Path, own: Own) -> Result<Option<std::fs::Metadata>, String> {
    const WAY_OUT: &str = "move it away, or choose another output folder";
    let found = match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unwritten(path, &error)),
        Ok(found) => found,
    };
    if !found.is_file() {
        let kind = place::kind_of(found.file_type());
        return Err(named(path, &format!("it is {kind}; {WAY_OUT}")));
    }
    if found.len() == 0 || own == Own::Result {
        return Ok(Some(found));
    }
    let head = read_head(path, HEAD_BYTES).map_err(|error| named(path, &error.to_string()))?;
    match own.is_ours(&head) {
        true => Ok(Some(found)),
        false => Err(named(
            path,
            &format!("Fathom did not write what is there; {WAY_OUT}"),
        )),
    }
}

/// Puts a finished file in the place of the one before. What came there in between goes back.
fn swap(temporary: &Path, path: &Path, own: Own) -> Result<(), String> {
    let failed = |error: io::Error| unwritten(path, &error);
    let Some(found) = found_own(path, own)? else {
        return place::rename_to_free(temporary, path).map_err(failed);
    };
    if !place::exchange(temporary, path).map_err(failed)? {
        // The file system has no exchange in one step.
        return std::fs::rename(temporary, path).map_err(failed);
    }
    let before = std::fs::symlink_metadata(temporary).map_err(failed)?;
    if (before.dev(), before.ino()) != (found.dev(), found.ino()) {
        place::exchange(temporary, path).map_err(failed)?;
        return Err(named(path, "another file took its place"));
    }
    std::fs::remove_file(temporary).map_err(failed)
}

fn unwritten(path: &Path, error: &io::Error) -> String {
    format!("`{}` cannot be written: {error}", path.display())
}

fn named(path: &Path, reason: &str) -> String {
    format!("`{}` is not written: {reason}", path.display())
}

/// All log files of a job, and the file for its reports, before anything is measured.
///
/// # Errors
/// The reason, in words with the path.
pub fn check_named(
    outputs: &Outputs,
    files: impl IntoIterator<Item = (PathBuf, Opening)>,
) -> Result<(), String> {
    files
        .into_iter()
        .try_for_each(|(path, opening)| outputs.check(&path, opening))
}
