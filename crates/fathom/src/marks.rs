//! `fathom mark`: names a moment of a run that is going, from another terminal or a script. Each is a line in the output
//! folder, with its time, and the run reads what has come.
use crate::arguments::MarkOptions;
use crate::exit::{Exit, fail};
use crate::outputs::{MARKS_HEAD, Outputs, Own, hold_folder, is_held};
use conduct::{Control, News};
use host::text_file::read_whole;
use plan::Severity;
use report::Opening;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// In the output folder.
const NAME: &str = "marks";

const TEXT_BYTES_MAX: usize = 64 << 10;

/// Of all marks of a run.
const BYTES_MAX: u64 = 64 << 20;

pub fn main(options: &MarkOptions) -> Exit {
    match mark(&options.output, &options.text.join(" ")) {
        Ok(()) => Exit::Fine,
        Err(message) => fail(Exit::Usage, &message),
    }
}

fn mark(folder: &Path, text: &str) -> Result<(), String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let unix_ns = now.unwrap_or_default().as_nanos();
    let text = text.trim();
    if text.is_empty() {
        return Err("a mark needs a text: `fathom mark 'pulled cable 7'`".to_owned());
    }
    if text.len() > TEXT_BYTES_MAX {
        let bytes = text.len();
        return Err(format!(
            "a mark has {TEXT_BYTES_MAX} bytes at most, and this text has {bytes}"
        ));
    }
    if text.chars().any(char::is_control) {
        return Err("a mark is one line without control characters".to_owned());
    }
    if !is_held(folder) {
        return Err(format!(
            "no run writes to `{}` now: name the output folder of the run (-o)",
            folder.display()
        ));
    }
    let outputs = Outputs::default();
    let path = folder.join(NAME);
    let is_new = !path.exists();
    let mut file = outputs.open_own(&path, Own::Marks, Opening::Append)?;
    let head = if is_new { MARKS_HEAD } else { "" };
    // In one call, so that lines of two writers do not mix.
    let written = file.write_all(format!("{head}{unix_ns} {text}\n").as_bytes());
    written.map_err(|error| format!("`{}` cannot be written: {error}", path.display()))
}

/// The marks of a run, which looks for new ones while it goes.
pub struct Inbox {
    path: PathBuf,
    /// Bytes that were read.
    taken: usize,
    control: Control,
    /// Says that a run is going.
    _folder: Option<File>,
}

impl Inbox {
    /// Of a run whose results go to `folder`. What an earlier run left there is gone.
    ///
    /// # Errors
    /// In words, where something else stands in its place.
    pub fn open(folder: &Path, outputs: &Outputs, control: &Control) -> Result<Self, String> {
        let path = folder.join(NAME);
        if path.exists() {
            outputs.replace_own(&path, Own::Marks, |out| {
                out.write_all(MARKS_HEAD.as_bytes())
            })?;
        }
        Ok(Self {
            path,
            taken: 0,
            control: control.clone(),
            _folder: hold_folder(folder),
        })
    }

    /// Puts what is new on record.
    pub fn take(&mut self) {
        let length = std::fs::metadata(&self.path).map_or(0, |facts| facts.len());
        if length as usize <= self.taken {
            return;
        }
        let Ok(bytes) = read_whole(&self.path, BYTES_MAX) else {
            return;
        };
        let fresh = bytes.get(self.taken..).unwrap_or_default();
        // A line that is being written is whole the next time.
        let Some(end) = fresh.iter().rposition(|byte| *byte == b'\n') else {
            return;
        };
        self.taken += end + 1;
        let text = String::from_utf8_lossy(&fresh[..end]);
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.for_each(|line| self.control.tell(news(line)));
    }
}

/// A script may write lines by itself, and write them wrong.
fn news(line: &str) -> News {
    let parts = line.split_once(' ');
    let mark = parts.and_then(|(time, text)| Some((time.parse::<u64>().ok()?, text.trim())));
    match mark.filter(|(_, text)| !text.is_empty() && text.len() <= TEXT_BYTES_MAX) {
        Some((unix_ns, text)) => News {
            unix_ns,
            ..News::mark(text.to_owned())
        },
        None => {
            let start: String = line.chars().take(40).collect();
            let message =
                format!("`{start}` in `{NAME}` is no mark: a time in nanoseconds and a text");
            News::now(Severity::Warning, "mark-unread", message)
        }
    }
}
