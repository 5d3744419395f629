//! The standing list: what a user has declared to be theirs once and for all, for scripts that cannot be changed.
//!
//! It lets pass what `--overwrite` would let pass, and less is taken for a name: devices go by world-wide name, serial
//! number or partition id, files by path, and a pattern covers regular files below one folder. Whoever can write the
//! list decides what is destroyed, so [`Standing::read`] takes one that belongs to the caller or root and that nobody
//! else can write or replace. Read [`Standing`] first.

mod line;
mod trust;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use plan::FoundKind;

use super::named::Named;
use super::{Examination, Finding, Overwrite};
use crate::root::SysRoot;
use line::{Line, Means};

/// Names the list: `@FILE`.
pub const STANDING_VARIABLE: &str = "FATHOM_OVERWRITE";

/// Where a list is looked for, as the environment says it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StandingPlaces {
    /// The value of [`STANDING_VARIABLE`]. It takes the place of the configuration; empty, it says nothing.
    pub variable: Option<OsString>,
    /// `XDG_CONFIG_HOME`.
    pub config_home: Option<OsString>,
    /// `HOME`.
    pub home: Option<OsString>,
}

/// A list as read. Nothing on the machine is looked at before [`Standing::let_pass`].
#[derive(Debug)]
pub struct Standing {
    pub path: PathBuf,
    lines: Vec<Line>,
}

/// What one line of a list lets pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LetPass {
    /// Counted from one.
    pub line: usize,
    pub word: String,
    /// Places in the examinations.
    pub examinations: Vec<usize>,
}

/// A list that cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum StandingError {
    /// The variable does not begin with `@`.
    NoList {
        value: String,
    },
    Unreadable {
        list: PathBuf,
        error: io::Error,
    },
    /// Somebody else decides what stands in it.
    NotTrusted {
        list: PathBuf,
        reason: String,
    },
    Line {
        list: PathBuf,
        line: usize,
        word: String,
        reason: String,
    },
}

impl StandingPlaces {
    /// Those of this process.
    #[must_use]
    pub fn of_process() -> Self {
        Self {
            variable: std::env::var_os(STANDING_VARIABLE),
            config_home: std::env::var_os("XDG_CONFIG_HOME"),
            home: std::env::var_os("HOME"),
        }
    }

    /// The list, and whether it was named.
    fn list(&self) -> Result<Option<(PathBuf, bool)>, StandingError> {
        if let Some(value) = self.variable.as_deref().filter(|value| !value.is_empty()) {
            return match value.as_bytes() {
                [b'@', path @ ..] if !path.is_empty() => {
                    let path = std::ffi::OsStr::from_bytes(path);
                    Ok(Some((PathBuf::from(path), true)))
                }
                _ => Err(StandingError::NoList {
                    value: value.to_string_lossy().into_owned(),
                }),
            };
        }
        // A relative folder would be another one in each working folder.
        let absolute = |value: &Option<OsString>| {
            let path = value.as_ref().map(PathBuf::from);
            path.filter(|path| path.is_absolute())
        };
        let folder = absolute(&self.config_home)
            .or_else(|| absolute(&self.home).map(|home| home.join(".config")));
        Ok(folder.map(|folder| (folder.join("fathom/overwrite"), false)))
    }
}

impl Standing {
    /// The list of the process that calls, if there is one. A list that was named has to be there.
    ///
    /// # Errors
    /// A list that is named wrongly, cannot be read, can be written by others, or has a line that may not stand there.
    pub fn read(places: &StandingPlaces, root: &SysRoot) -> Result<Option<Self>, StandingError> {
        let Some((path, is_named)) = places.list()? else {
            return Ok(None);
        };
        // Who cannot look into the folder, as after `su` with HOME kept, has no list there.
        if !is_named && fs::symlink_metadata(&path).is_err() {
            return Ok(None);
        }
        let text = trust::read(&path, rustix::process::geteuid().as_raw())?;
        let homes = line::homes(root, places.home.as_deref());
        let lines = line::parse(&text, &homes).map_err(|wrong| StandingError::Line {
            list: path.clone(),
            line: wrong.line,
            word: wrong.word,
            reason: wrong.reason,
        })?;
        Ok(Some(Self { path, lines }))
    }

    /// Lines that name a device by their form, and are the name of a regular file in `folder`: number and word.
    #[must_use]
    pub fn file_names_in(&self, folder: &Path) -> Vec<(usize, &str)> {
        let is_file =
            |word: &str| fs::symlink_metadata(folder.join(word)).is_ok_and(|facts| facts.is_file());
        let lines = self.lines.iter();
        lines
            .filter(|line| matches!(line.means, Means::Device(_)) && is_file(&line.word))
            .map(|line| (line.number, line.word.as_str()))
            .collect()
    }

    /// Adds to `overwrite` each target that the list names and that would be refused without it. Lines that name none
    /// of the targets are no mistake: a list stands for many jobs.
    #[must_use]
    pub fn let_pass(
        &self,
        examinations: &[Examination],
        overwrite: &mut Overwrite,
    ) -> Vec<LetPass> {
        let mut passed: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        {
            let named = Named::by(overwrite);
            let places = Places::of(&self.lines);
            for (place, examination) in examinations.iter().enumerate() {
                let is_asked = !examination.findings.is_empty()
                    && examination.findings.iter().all(Finding::is_overridable)
                    && !named.has(examination);
                if let Some(line) = is_asked.then(|| places.line_of(examination)).flatten() {
                    passed.entry(line).or_default().push(place);
                }
            }
        }
        for place in passed.values().flatten() {
            overwrite
                .standing
                .insert(examinations[*place].request.target);
        }
        let told = |(line, examinations): (usize, Vec<usize>)| LetPass {
            line: self.lines[line].number,
            word: self.lines[line].word.clone(),
            examinations,
        };
        passed.into_iter().map(told).collect()
    }
}

/// The lines of a list with what they lead to on this machine, by their place in the list.
struct Places<'a> {
    devices: BTreeMap<&'a str, usize>,
    files: BTreeMap<PathBuf, usize>,
    globs: Vec<(PathBuf, &'a glob::Pattern, usize)>,
}

impl<'a> Places<'a> {
    fn of(lines: &'a [Line]) -> Self {
        let mut places = Self {
            devices: BTreeMap::new(),
            files: BTreeMap::new(),
            globs: Vec::new(),
        };
        for (number, line) in lines.iter().enumerate() {
            match &line.means {
                Means::Device(id) => {
                    places.devices.entry(id).or_insert(number);
                }
                Means::File(path) => {
                    if let Some(path) = line::in_real_folder(path) {
                        places.files.entry(path).or_insert(number);
                    }
                }
                Means::Glob { folder, pattern } => {
                    if let Ok(folder) = fs::canonicalize(folder) {
                        places.globs.push((folder, pattern, number));
                    }
                }
            }
        }
        places
    }

    /// The line that names a target.
    fn line_of(&self, examination: &Examination) -> Option<usize> {
        match examination.found {
            FoundKind::BlockDevice => examination
                .ids()
                .find_map(|id| self.devices.get(line::normal_id(id).as_str()).copied()),
            FoundKind::File => self.line_of_file(examination),
            _ => None,
        }
    }

    fn line_of_file(&self, examination: &Examination) -> Option<usize> {
        let path = &examination.real_path;
        // What stands there now, not behind a link, has to be what was examined.
        let facts = fs::symlink_metadata(path).ok()?;
        if !facts.is_file() || Some((facts.dev(), facts.ino())) != examination.identity {
            return None;
        }
        if let Some(line) = self.files.get(path) {
            return Some(*line);
        }
        // Under another name the same bytes may lie outside the folder.
        if facts.nlink() != 1 {
            return None;
        }
        let covers = |(folder, pattern, _): &&(PathBuf, &glob::Pattern, usize)| {
            path.strip_prefix(folder)
                .is_ok_and(|below| pattern.matches_path_with(below, line::MATCHING))
        };
        self.globs.iter().find(covers).map(|(_, _, line)| *line)
    }
}

impl fmt::Display for StandingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StandingError::NoList { value } => write!(
                f,
                "`{STANDING_VARIABLE}={}` names no list: give it as `{STANDING_VARIABLE}=@FILE`, with one target per line",
                value.escape_debug()
            ),
            StandingError::Unreadable { list, error } => {
                write!(f, "cannot read the standing list {}: {error}", shown(list))
            }
            StandingError::NotTrusted { list, reason } => {
                write!(f, "the standing list {} is not used: {reason}", shown(list))
            }
            StandingError::Line {
                list,
                line,
                word,
                reason,
            } => write!(
                f,
                "line {line} of the standing list {}: `{}` {reason}",
                shown(list),
                word.escape_debug()
            ),
        }
    }
}

impl std::error::Error for StandingError {}

fn shown(path: &Path) -> String {
    format!("`{}`", path.display().to_string().escape_debug())
}
