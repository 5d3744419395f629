//! What a folder holds. Read [`files_below`].
use std::io;
use std::path::{Path, PathBuf};

/// The regular files below a folder at any depth, each with the folder in front and its length in bytes, in the order
/// of their names. Links below it are not followed, and what is neither file nor folder is left out.
///
/// # Errors
/// What cannot be looked at, and why.
pub fn files_below(folder: &Path) -> Result<Vec<(PathBuf, u64)>, (PathBuf, io::Error)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let failed = |error| (folder.clone(), error);
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            // Of a link it is the link's own.
            let facts = entry.metadata().map_err(failed)?;
            door::waiting::answered();
            if facts.is_dir() {
                folders.push(entry.path());
            } else if facts.is_file() {
                found.push((entry.path(), facts.len()));
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_at_any_depth_and_links_are_left() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("b/deep")).unwrap();
        std::fs::create_dir_all(at("empty")).unwrap();
        for name in ["z", ".hidden", "b/deep/x", "b/a:b"] {
            std::fs::write(at(name), "12").unwrap();
        }
        std::os::unix::fs::symlink(at("z"), at("link")).unwrap();
        // One that leads back would never end.
        std::os::unix::fs::symlink(folder.path(), at("b/back")).unwrap();
        let found = files_below(folder.path()).unwrap();
        let expected = [".hidden", "b/a:b", "b/deep/x", "z"];
        assert_eq!(found, expected.map(|name| (at(name), 2)), "{found:?}");
        let (path, error) = files_below(&at("none")).unwrap_err();
        assert_eq!((path, error.kind()), (at("none"), io::ErrorKind::NotFound));
    }
}
