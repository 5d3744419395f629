//! A process that is to become an agent: what is said to it, what it says, and how long it is waited for.
use super::end::End;
use super::watch::Watch;
use super::{Joined, Way};
use crate::lead;
use crate::line::skip_to;
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long the last words of a process are waited for that has ended.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A start takes more descriptors than what it starts, so hosts take turns.
static STARTS: Mutex<()> = Mutex::new(());

/// What is kept of that: 64 KiB.
const LINE_BYTES: u64 = 2 << 10;
const LINES_KEPT: usize = 32;

/// Lines that are shown of what a host said before it failed.
const LINES_SHOWN: usize = 3;

/// A process that is to become an agent, and the pipes to it.
pub struct Begun {
    pub child: Child,
    pub reader: ChildStdout,
    writer: ChildStdin,
    said: Said,
    watch: Watch,
}

pub fn begin(mut command: Command, way: &Way) -> Result<Begun, End> {
    let failed = |text: String| End {
        code: None,
        said: Vec::new(),
        text,
        is_late: false,
    };
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // Ctrl-C is for this process alone: it ends the run on every host.
    command.process_group(0);
    let program = command.get_program().display().to_string();
    let child = {
        let _turn = STARTS.lock().unwrap_or_else(PoisonError::into_inner);
        command.spawn()
    };
    let mut child =
        child.map_err(|error| failed(format!("`{program}` cannot be started: {error}")))?;
    let group = child.id();
    match (child.stdout.take(), child.stdin.take(), child.stderr.take()) {
        (Some(reader), Some(writer), Some(errors)) => Ok(Begun {
            child,
            reader,
            writer,
            said: Said::by(errors),
            watch: Watch::over(group, Duration::from_secs(way.patience_s.max(1))),
        }),
        _ => Err(failed("no pipes to it".to_owned())),
    }
}

impl Begun {
    /// What it does not take, it says by its end. As long as it takes something, it is waited for.
    pub fn say(mut self, what: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Self {
        let mut heard = Heard {
            writer: &mut self.writer,
            watch: &self.watch,
        };
        let _ = what(&mut heard).and_then(|()| heard.flush());
        self
    }

    /// Waits for one of some marks; gives its place. `what` is what has to come on for that.
    pub fn wait(mut self, marks: &[&[u8]], what: &str) -> Result<(Self, usize), End> {
        self.watch.hear();
        let found = skip_to(&mut self.reader, marks);
        self.watch.hear();
        match (found, self.watch.ended_after()) {
            (Ok(place), None) => Ok((self, place)),
            (_, Some(waited)) => {
                let seconds = waited.as_secs();
                let text =
                    format!("{what} was waited for in vain for {seconds} s (`--host-timeout`)");
                Err(End {
                    is_late: true,
                    ..last_words(self.child, &self.said, text)
                })
            }
            (Err(error), None) => Err(last_words(self.child, &self.said, error.0)),
        }
    }

    /// The rest of a text line.
    pub fn line(&mut self) -> String {
        let (mut line, mut byte) = (Vec::new(), [0]);
        while matches!(self.reader.read(&mut byte), Ok(1)) && byte != *b"\n" {
            line.push(byte[0]);
        }
        String::from_utf8_lossy(&line).trim().to_owned()
    }

    pub fn lead(self) -> Result<Joined, End> {
        let line = lead(self.reader, self.writer).map_err(|error| End {
            code: None,
            said: Vec::new(),
            text: error.to_string(),
            is_late: false,
        })?;
        Ok(Joined {
            line,
            carrier: Some(self.child),
        })
    }
}

/// What a process says, of which the last is kept.
struct Said {
    lines: Arc<Mutex<VecDeque<String>>>,
    end: Receiver<()>,
}

impl Said {
    /// Reads for as long as the process lives: nobody may wait for a pipe that is full.
    fn by(errors: ChildStderr) -> Self {
        let lines: Arc<Mutex<VecDeque<String>>> = Arc::default();
        let kept = Arc::clone(&lines);
        let (sender, end) = channel::<()>();
        let work = move || {
            let _sender = sender;
            let mut reader = BufReader::new(errors);
            let mut line = Vec::new();
            while matches!(
                reader
                    .by_ref()
                    .take(LINE_BYTES)
                    .read_until(b'\n', &mut line),
                Ok(1..)
            ) {
                let text = String::from_utf8_lossy(&line).trim_end().to_owned();
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.push_back(text);
                if kept.len() > LINES_KEPT {
                    kept.pop_front();
                }
                line.clear();
            }
        };
        // Without a thread nothing is heard of them.
        let _ = sys::thread::start("errors of a host", work);
        Self { lines, end }
    }

    /// Its last lines, once it has ended or after a while.
    fn last(&self) -> Vec<String> {
        let _ = self.end.recv_timeout(LAST_WORDS);
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.drain(..).collect()
    }
}

fn last_words(mut child: Child, said: &Said, text: String) -> End {
    let mut lines = said.last();
    let _ = child.kill();
    let code = child.wait().ok().and_then(|status| status.code());
    let first = lines.len().saturating_sub(LINES_SHOWN);
    End {
        code,
        said: lines.split_off(first),
        text,
        is_late: false,
    }
}

/// Tells a watch of all that goes through.
struct Heard<'a> {
    writer: &'a mut ChildStdin,
    watch: &'a Watch,
}

impl Write for Heard<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.writer.write(bytes)?;
        self.watch.hear();
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}
