//! Files with both contents of blocks that were wrong, for jobs that ask for them.
use crate::opener::{Opening, Plain, SharedOpener};
use measure::{Event, IoFailure, MisfitKind};
use std::fmt::Write;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Writes the files of one execution.
#[derive(Debug)]
pub struct Dumps {
    folder: PathBuf,
    opener: SharedOpener,
    /// Names without folders, by target.
    names: Vec<String>,
}

impl Dumps {
    /// Files are made in `folder`.
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_path_buf(),
            opener: Arc::new(Plain),
            names: Vec::new(),
        }
    }

    /// Lets the files be opened by another.
    #[must_use]
    pub fn with_opener(mut self, opener: SharedOpener) -> Self {
        self.opener = opener;
        self
    }

    /// Writes what an event has of contents; returns lines that say so. Files of earlier executions
    /// are written over.
    pub fn on_event(&mut self, event: &Event) -> String {
        match event {
            Event::ExecutionStarted(started) => {
                let name = |path: &str| {
                    let last = path.rsplit('/').next();
                    last.unwrap_or(path).to_owned()
                };
                let targets = started.targets.iter();
                self.names = targets.map(|target| name(&target.name)).collect();
                String::new()
            }
            Event::IoFailure(failure) => self.write(failure),
            _ => String::new(),
        }
    }

    fn write(&self, failure: &IoFailure) -> String {
        let mut lines = String::new();
        let misfit = failure.misfit.as_deref();
        let Some((misfit, contents)) = misfit.and_then(|one| Some((one, one.contents.as_ref()?)))
        else {
            return lines;
        };
        let is_of_data = matches!(
            misfit.what,
            MisfitKind::Data | MisfitKind::Pattern { .. } | MisfitKind::NotZero { .. }
        );
        let (what, suffix) = match is_of_data {
            true => ("received data", "received"),
            false => ("hdr_fail data", "hdr_fail"),
        };
        let mut files = vec![(what, suffix, &contents.found)];
        if let Some(expected) = &contents.expected {
            files.push(("expected data", "expected", expected));
        }
        let name = self.names.get(failure.target.index());
        let name = name.map_or("", String::as_str);
        for (what, suffix, digits) in files {
            let file = format!("{name}.{}.{suffix}", misfit.block_offset);
            let path = self.folder.join(file);
            let _ = match self.save(&path, digits) {
                Ok(false) => Ok(()),
                Ok(true) => writeln!(lines, "       {what} dumped as {}", path.display()),
                Err(error) => writeln!(
                    lines,
                    "warning: `{}` cannot be written: {error}",
                    path.display()
                ),
            };
        }
        lines
    }

    /// Says whether there is a file now.
    fn save(&self, path: &Path, digits: &str) -> io::Result<bool> {
        let pairs = digits.as_bytes().chunks(2);
        let byte = |pair: &[u8]| {
            let text = std::str::from_utf8(pair).ok()?;
            u8::from_str_radix(text, 16).ok()
        };
        let bytes: Option<Vec<u8>> = pairs.map(byte).collect();
        let bytes = bytes.ok_or(io::ErrorKind::InvalidData)?;
        let Some(mut file) = self.opener.open(path, Opening::Replace) else {
            return Ok(false);
        };
        file.write_all(&bytes)?;
        Ok(true)
    }
}
