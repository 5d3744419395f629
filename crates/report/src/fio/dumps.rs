//! Files with both contents of blocks that were wrong, for jobs that ask for them.
use measure::{Event, IoFailure, MisfitKind};
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

/// Writes the files of one execution.
#[derive(Debug)]
pub struct Dumps {
    folder: PathBuf,
    /// Names without folders, by target.
    names: Vec<String>,
}

impl Dumps {
    /// Files are made in `folder`.
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_path_buf(),
            names: Vec::new(),
        }
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
            let _ = match save(&path, digits) {
                Ok(()) => writeln!(lines, "       {what} dumped as {}", path.display()),
                Err(error) => writeln!(
                    lines,
                    "warning: `{}` cannot be written: {error}",
                    path.display()
                ),
            };
        }
        lines
    }
}

fn save(path: &Path, digits: &str) -> io::Result<()> {
    let pairs = digits.as_bytes().chunks(2);
    let byte = |pair: &[u8]| {
        let text = std::str::from_utf8(pair).ok()?;
        u8::from_str_radix(text, 16).ok()
    };
    let bytes: Option<Vec<u8>> = pairs.map(byte).collect();
    let bytes = bytes.ok_or(io::ErrorKind::InvalidData)?;
    std::fs::write(path, bytes)
}
