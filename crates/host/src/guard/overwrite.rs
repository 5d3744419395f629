//! The user's words that name what may be overwritten.

use crate::text_file::{Unreadable, read_whole};
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use plan::TargetId;

/// Words from `--overwrite`: each names one device by path, serial number or world-wide name, or one file by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overwrite {
    pub words: Vec<String>,
    /// Targets that the standing list lets pass ([`super::Standing::let_pass`]).
    pub(super) standing: BTreeSet<TargetId>,
}

/// What a list may hold: some ten thousand words.
const LIST_BYTES_MAX: u64 = 1 << 20;

/// A list of words that cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum OverwriteError {
    Unreadable {
        path: PathBuf,
        error: Unreadable,
    },
    /// A list in another encoding, or no list at all.
    NotText {
        path: PathBuf,
    },
    /// A word without a letter, which would name nothing.
    Empty,
}

impl Overwrite {
    /// From arguments as given: a word, or `@FILE` for a text file with a word on each line. There, empty lines and
    /// lines that begin with `#` say nothing, blanks around a word fall away, and `@` has no meaning.
    ///
    /// # Errors
    /// A file that cannot be read, and an empty word.
    pub fn from_arguments<S: AsRef<str>>(arguments: &[S]) -> Result<Self, OverwriteError> {
        let mut words = Vec::new();
        for argument in arguments {
            match argument.as_ref().strip_prefix('@') {
                Some(path) => words.extend(words_in(Path::new(path))?),
                None if argument.as_ref().trim().is_empty() => return Err(OverwriteError::Empty),
                None => words.push(argument.as_ref().to_owned()),
            }
        }
        Ok(Self {
            words,
            ..Self::default()
        })
    }
}

fn words_in(path: &Path) -> Result<Vec<String>, OverwriteError> {
    let bytes = read_whole(path, LIST_BYTES_MAX).map_err(|error| OverwriteError::Unreadable {
        path: path.to_path_buf(),
        error,
    })?;
    // A path with a byte that was replaced would name another file.
    let text = String::from_utf8(bytes)
        .ok()
        .filter(|text| !text.contains('\0'));
    let text = text.ok_or_else(|| OverwriteError::NotText {
        path: path.to_path_buf(),
    })?;
    Ok(text
        .trim_start_matches('\u{feff}')
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
        .collect())
}

impl fmt::Display for OverwriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OverwriteError::Unreadable { path, error } => {
                write!(
                    f,
                    "cannot read `{}`, named by `--overwrite`: {error}",
                    path.display()
                )
            }
            OverwriteError::NotText { path } => {
                write!(
                    f,
                    "`{}`, named by `--overwrite`, is not a UTF-8 text file",
                    path.display()
                )
            }
            OverwriteError::Empty => write!(f, "`--overwrite` names nothing"),
        }
    }
}

impl std::error::Error for OverwriteError {}
