//! What a run in the manner of fio shows: reports on the console or into a file, the status line
//! on a terminal, and log files.
use measure::Event;
use report::fio::{Face, FaceOptions, Logs};
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

/// How a run in the manner of fio talks.
#[derive(Clone, Debug, Default)]
pub struct FioStyle {
    pub face: FaceOptions,
    /// Where reports go; the console when left out.
    pub output: Option<PathBuf>,
    /// Begins the names of the logs of all jobs together, where they are asked for.
    pub bandwidth_log: Option<String>,
    /// Where log files with relative names are made; the working folder when empty.
    pub log_folder: PathBuf,
}

/// Reports, status line and logs of one execution.
pub struct FioReport {
    face: Face,
    logs: Logs,
    output: Option<File>,
    status_line: Option<String>,
    /// Characters of the status line that stands on the terminal.
    shown: usize,
}

impl FioReport {
    /// # Errors
    /// When the file for reports cannot be made.
    pub fn create(style: &FioStyle) -> io::Result<Self> {
        Ok(Self {
            face: Face::new(style.face),
            logs: Logs::new(&style.log_folder, style.bandwidth_log.as_deref()),
            output: style.output.as_ref().map(File::create).transpose()?,
            status_line: None,
            shown: 0,
        })
    }

    /// Takes an event; returns what the console shows.
    ///
    /// # Errors
    /// When a report or a log cannot be written.
    pub fn on_event(&mut self, event: &Event) -> io::Result<Vec<String>> {
        self.logs.on_event(event)?;
        let printed = self.face.on_event(event);
        self.status_line = printed.status_line;
        match &mut self.output {
            Some(output) => {
                output.write_all(printed.report.as_bytes())?;
                Ok(Vec::new())
            }
            None => Ok(printed.report.lines().map(str::to_owned).collect()),
        }
    }

    /// Puts the newest status line in the place of the one before. A closed pipe must not end a
    /// measurement.
    pub fn show_status(&mut self) {
        let Some(line) = self.status_line.take() else {
            return;
        };
        let length = line.chars().count();
        let width = self.shown.max(length);
        let mut out = io::stdout().lock();
        let _ = write!(out, "{line:<width$}\r");
        let _ = out.flush();
        self.shown = length;
    }
}
