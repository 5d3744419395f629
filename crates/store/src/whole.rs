//! A file that appears with all of its content or not at all, whenever the process is killed.
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, linkat, open, renameat_with};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// Makes a file with this content under a name that nothing has.
///
/// # Errors
/// Those of the calls; what stands at the path stays.
pub(crate) fn place(path: &Path, content: &[u8]) -> io::Result<()> {
    match without_name(path, content) {
        // The file system has no files without a name, or nothing shows them in /proc.
        Err(error) if is_unsupported(&error) => by_renaming(path, content),
        other => other,
    }
}

/// Until it is whole, the file has no name and goes with the process.
fn without_name(path: &Path, content: &[u8]) -> io::Result<()> {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = File::from(open(folder_of(path), flags, Mode::from_raw_mode(0o666))?);
    (&file).write_all(content)?;
    let name = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(linkat(CWD, name, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

fn by_renaming(path: &Path, content: &[u8]) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = format!(".{name}.{}.tmp", std::process::id());
    let temporary = folder_of(path).join(name);
    // One that a killed process of this number has left.
    if std::fs::symlink_metadata(&temporary).is_ok_and(|found| found.is_file()) {
        std::fs::remove_file(&temporary)?;
    }
    let mut options = OpenOptions::new();
    let file = options.write(true).create_new(true).open(&temporary)?;
    let named = (&file).write_all(content).and_then(|()| {
        match renameat_with(CWD, &temporary, CWD, path, RenameFlags::NOREPLACE) {
            // Some network file systems know no such call.
            Err(Errno::INVAL | Errno::NOSYS) => {
                std::fs::hard_link(&temporary, path).and_then(|()| std::fs::remove_file(&temporary))
            }
            other => Ok(other?),
        }
    });
    if named.is_err() {
        // It holds nothing that cannot be made again.
        let _ = std::fs::remove_file(&temporary);
    }
    named
}

/// `open(2)` and `linkat(2)`: kernels before O_TMPFILE take the folder for a file to write to.
fn is_unsupported(error: &io::Error) -> bool {
    let unsupported = [
        Errno::OPNOTSUPP,
        Errno::ISDIR,
        Errno::INVAL,
        Errno::NOENT,
        Errno::NOSYS,
        Errno::PERM,
        Errno::XDEV,
    ];
    unsupported
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Way = fn(&Path, &[u8]) -> io::Result<()>;
    const WAYS: [Way; 3] = [place, without_name, by_renaming];

    #[test]
    fn a_file_is_there_with_its_content_and_alone() {
        for way in WAYS {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a name");
            match way(&path, b"content") {
                Err(error) if is_unsupported(&error) => {
                    println!("skipped: no files without a name here: {error}");
                    continue;
                }
                placed => placed.unwrap(),
            }
            assert_eq!(std::fs::read(&path).unwrap(), b"content");
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        }
    }

    #[test]
    fn what_stands_there_stays() {
        for way in WAYS {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("taken");
            std::fs::write(&path, "of the user").unwrap();
            assert!(way(&path, b"content").is_err());
            assert_eq!(std::fs::read(&path).unwrap(), b"of the user");
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        }
    }
}
