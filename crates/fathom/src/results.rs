//! Which result file the user means. Knows nothing of what is in one. Read [`result_file`] first.
use crate::arguments::DEFAULT_OUTPUT;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

pub const NAME: &str = "result.fathom";

/// A result file, or the one in a folder.
///
/// # Errors
/// In words, where there is none, with what makes one.
pub fn result_file(given: &Path) -> Result<PathBuf, String> {
    let shown = given.display();
    if given.is_dir() {
        let path = given.join(NAME);
        return match is_missing(&path) {
            true => Err(format!(
                "`{shown}` holds no result (`{NAME}`); `fathom run FILE -o {shown}` writes one there"
            )),
            false => Ok(path),
        };
    }
    match is_missing(given) {
        true => Err(format!(
            "`{shown}` does not exist; name a result file or its folder, which is `{DEFAULT_OUTPUT}` unless `-o` names another"
        )),
        false => Ok(given.to_owned()),
    }
}

/// Whether nothing is there.
///
/// What is there and cannot be looked at is for the reader to refuse.
pub fn is_missing(path: &Path) -> bool {
    match path.try_exists() {
        Ok(exists) => !exists,
        Err(error) => error.kind() == ErrorKind::NotADirectory,
    }
}
