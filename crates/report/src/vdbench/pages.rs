//! The files of an output folder: opened once, written in whole events, never held open, so that
//! a thousand devices need no thousand descriptors. Knows nothing of what is in them.
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What every report of the old layout begins with, ours and the original's.
const MARK: &str = "<title>Vdbench ";

/// A file of the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageId(usize);

/// The folder and what is still to be written into it.
#[derive(Debug)]
pub struct Pages {
    dir: PathBuf,
    is_new: bool,
    /// Nothing is made, removed or written; what opening would refuse is refused.
    is_rehearsal: bool,
    pages: Vec<Page>,
}

#[derive(Debug)]
struct Page {
    path: PathBuf,
    /// Device and inode: only the file that was opened first is written to.
    identity: (u64, u64),
    pending: String,
}

impl Pages {
    /// Makes the last level of `dir` if it is missing; removes reports of an earlier execution
    /// there, as the original does, and leaves every other file alone.
    pub fn create(dir: &Path) -> io::Result<Self> {
        let dir = std::path::absolute(dir)?;
        let is_new = !dir.exists();
        if is_new {
            fs::create_dir(&dir).map_err(|error| at(&dir, &error))?;
        }
        remove_old_reports(&dir)?;
        Ok(Self {
            dir,
            is_new,
            is_rehearsal: false,
            pages: Vec::new(),
        })
    }

    /// To ask which pages [`Pages::open`] would refuse. Changes nothing.
    pub fn rehearse(dir: &Path) -> io::Result<Self> {
        let dir = std::path::absolute(dir)?;
        Ok(Self {
            is_new: !dir.exists(),
            dir,
            is_rehearsal: true,
            pages: Vec::new(),
        })
    }

    /// Absolute.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether the folder was made by [`Pages::create`].
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// Creates a file with its title line. Letters that a file name cannot have become `_`.
    ///
    /// # Errors
    /// The file system's, and [`io::ErrorKind::AlreadyExists`] for a file that is no report.
    pub fn open(&mut self, file: &str) -> io::Result<PageId> {
        let file = file.replace(['/', '\0'], "_");
        let path = self.dir.join(&file);
        if self.is_rehearsal {
            return self.rehearse_page(path);
        }
        let found = match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => file.metadata().map_err(|error| at(&path, &error))?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => refuse_content(&path)?,
            Err(error) => return Err(at(&path, &error)),
        };
        let identity = identity(&found);
        let folder = self.dir.file_name().unwrap_or_default().to_string_lossy();
        let pending = format!("{MARK}{folder}/{file}</title><pre>\n");
        self.pages.push(Page {
            path,
            identity,
            pending,
        });
        Ok(PageId(self.pages.len() - 1))
    }

    fn rehearse_page(&mut self, path: PathBuf) -> io::Result<PageId> {
        match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(at(&path, &error)),
            // It would be gone by then.
            Ok(found) if found.is_file() && has_mark(&path)? => {}
            Ok(_) => {
                refuse_content(&path)?;
            }
        }
        self.pages.push(Page {
            path,
            identity: (0, 0),
            pending: String::new(),
        });
        Ok(PageId(self.pages.len() - 1))
    }

    pub fn line(&mut self, page: PageId, line: &str) {
        if self.is_rehearsal {
            return;
        }
        let pending = &mut self.pages[page.0].pending;
        pending.push_str(line);
        pending.push('\n');
    }

    pub fn lines<'a>(&mut self, page: PageId, lines: impl IntoIterator<Item = &'a String>) {
        lines.into_iter().for_each(|line| self.line(page, line));
    }

    /// Writes what is pending.
    pub fn flush(&mut self) -> io::Result<()> {
        for page in self
            .pages
            .iter_mut()
            .filter(|page| !page.pending.is_empty())
        {
            let append = || {
                let mut file = page.open()?;
                file.write_all(page.pending.as_bytes())
            };
            append().map_err(|error| at(&page.path, &error))?;
            page.pending.clear();
        }
        Ok(())
    }
}

impl Page {
    /// What took the place of the file, a link or a pipe among others, is not written to.
    fn open(&self) -> io::Result<File> {
        let exchanged = || io::Error::other("another file took its place");
        let found = fs::symlink_metadata(&self.path)?;
        if identity(&found) != self.identity {
            return Err(exchanged());
        }
        let file = OpenOptions::new().append(true).open(&self.path)?;
        match identity(&file.metadata()?) == self.identity {
            true => Ok(file),
            false => Err(exchanged()),
        }
    }
}

fn identity(found: &fs::Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

fn remove_old_reports(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir).map_err(|error| at(dir, &error))? {
        let entry = entry?;
        let path = entry.path();
        let is_page = path
            .extension()
            .is_some_and(|extension| extension == "html");
        if is_page && entry.file_type()?.is_file() && has_mark(&path)? {
            fs::remove_file(&path).map_err(|error| at(&path, &error))?;
        }
    }
    Ok(())
}

fn has_mark(path: &Path) -> io::Result<bool> {
    let mut start = Vec::new();
    let file = File::open(path).map_err(|error| at(path, &error))?;
    file.take(MARK.len() as u64).read_to_end(&mut start)?;
    Ok(start == MARK.as_bytes())
}

/// An empty file has nothing to lose; it is what an execution leaves that met a full disk.
fn refuse_content(path: &Path) -> io::Result<fs::Metadata> {
    let found = fs::symlink_metadata(path).map_err(|error| at(path, &error))?;
    // Under its other name it may be anything.
    if found.is_file() && found.len() == 0 && found.nlink() == 1 {
        return Ok(found);
    }
    let message = format!(
        "`{}` exists and is not a report of an earlier run; choose another output folder (-o)",
        path.display()
    );
    Err(io::Error::new(io::ErrorKind::AlreadyExists, message))
}

fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("`{}`: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_old_reports_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("out");
        let mut pages = Pages::create(&dir).unwrap();
        assert!(pages.is_new());
        let page = pages.open("summary.html").unwrap();
        pages.line(page, "first");
        pages.flush().unwrap();
        fs::write(dir.join("mine.html"), "<p>mine").unwrap();
        fs::write(dir.join("totals.html"), "<p>mine too").unwrap();

        let mut again = Pages::create(&dir).unwrap();
        assert!(!again.is_new());
        let page = again.open("summary.html").unwrap();
        again.line(page, "second");
        again.flush().unwrap();
        again.line(page, "third");
        again.flush().unwrap();
        let text = fs::read_to_string(dir.join("summary.html")).unwrap();
        assert_eq!(
            text,
            "<title>Vdbench out/summary.html</title><pre>\nsecond\nthird\n"
        );
        assert_eq!(
            fs::read_to_string(dir.join("mine.html")).unwrap(),
            "<p>mine"
        );
        let refused = again.open("totals.html").unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(
            fs::read_to_string(dir.join("totals.html")).unwrap(),
            "<p>mine too"
        );
    }

    #[test]
    fn a_rehearsal_refuses_the_same_and_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("out");
        let mut pages = Pages::rehearse(&dir).unwrap();
        let page = pages.open("summary.html").unwrap();
        pages.line(page, "line");
        pages.flush().unwrap();
        assert!(!dir.exists());

        let mut earlier = Pages::create(&dir).unwrap();
        earlier.open("old.html").unwrap();
        earlier.flush().unwrap();
        fs::write(dir.join("mine.html"), "<p>mine").unwrap();
        fs::write(dir.join("empty.html"), "").unwrap();
        let before = fs::read(dir.join("old.html")).unwrap();
        let mut pages = Pages::rehearse(&dir).unwrap();
        for name in ["old.html", "empty.html", "new.html"] {
            let page = pages.open(name).unwrap();
            pages.line(page, "line");
        }
        pages.flush().unwrap();
        let refused = pages.open("mine.html").unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 3);
        assert_eq!(fs::read(dir.join("old.html")).unwrap(), before);
        assert_eq!(fs::read(dir.join("empty.html")).unwrap(), b"");
    }

    #[test]
    fn a_name_cannot_leave_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let mut pages = Pages::create(folder.path()).unwrap();
        pages.open("../sd1.html").unwrap();
        assert!(folder.path().join(".._sd1.html").exists());
    }
}
