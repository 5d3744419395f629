//! The one way out for everything that is printed. A stream that is closed, full or broken loses
//! its text and nothing else: neither a panic nor an error comes of it, so that a run goes on and
//! keeps its results. Names of others are shown without characters that would steer a terminal.
//!
//! `outln!` and `errln!` print one message, in which only an indented line goes on; `out!` and
//! `err!` print text that is laid out. Read [`Channel`] first.
use crate::exit::Exit;
use crate::reasons::Reasons;
use indicatif::ProgressDrawTarget;
use report::shown;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Where text goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Standard output: what was asked for.
    Out,
    /// Standard error: what is to be known beside it.
    Err,
}

/// A line of what was asked for.
macro_rules! outln {
    () => { $crate::printing::Channel::Out.text(::std::format_args!("\n")) };
    ($($words:tt)*) => { $crate::printing::Channel::Out.message(::std::format_args!($($words)*)) };
}

/// Text that was asked for, laid out.
macro_rules! out {
    ($($words:tt)*) => { $crate::printing::Channel::Out.text(::std::format_args!($($words)*)) };
}

/// A message beside it.
macro_rules! errln {
    () => { $crate::printing::Channel::Err.text(::std::format_args!("\n")) };
    ($($words:tt)*) => { $crate::printing::Channel::Err.message(::std::format_args!($($words)*)) };
}

/// Text beside it, laid out.
macro_rules! err {
    ($($words:tt)*) => { $crate::printing::Channel::Err.text(::std::format_args!($($words)*)) };
}

impl Channel {
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Out => io::stdout().is_terminal(),
            Self::Err => io::stderr().is_terminal(),
        }
    }

    /// A further descriptor of the stream, for what the user sends there by name.
    pub fn descriptor(self) -> io::Result<OwnedFd> {
        match self {
            Self::Out => io::stdout().as_fd().try_clone_to_owned(),
            Self::Err => io::stderr().as_fd().try_clone_to_owned(),
        }
    }

    /// Prints a message and ends the line.
    pub fn message(self, message: fmt::Arguments<'_>) {
        let message = message.to_string();
        self.write(&format!("{}\n", shown::message(&message)));
    }

    /// Prints text as it is laid out.
    pub fn text(self, text: fmt::Arguments<'_>) {
        self.write(&shown::text(&text.to_string()));
    }

    /// Prints text that may hold colours of ours.
    pub fn coloured(self, text: &str) {
        self.write(&shown::coloured(text));
    }

    /// Writes a line over the one that stands on the terminal, and leaves it standing where `stays`.
    pub fn over(self, line: &str, width: usize, stays: bool) {
        let end = if stays { '\n' } else { '\r' };
        self.write(&format!("{:<width$}{end}", shown::name(line)));
    }

    /// What cannot be written is lost: whoever closed the stream does not want it, and nobody else
    /// can be told.
    fn write(self, text: &str) {
        let _ = match self {
            Self::Out => all(&mut io::stdout().lock(), text),
            Self::Err => {
                reasons().note(text);
                all(&mut io::stderr().lock(), text)
            }
        };
    }
}

/// Says last what an exit code means, where the reason stands further up.
pub fn end(exit: Exit) {
    let Some(meaning) = exit.meaning() else {
        return;
    };
    let said = reasons().to_say();
    let is_said = said.is_none() && reasons().ends_with_any();
    if !is_said {
        let reason = said.unwrap_or_else(|| meaning.to_owned());
        Channel::Err.message(format_args!("error: {reason}"));
    }
}

/// Whether the last line on standard error is an error with these words.
pub fn ends_with(words: &str) -> bool {
    reasons().ends_with(words)
}

/// What was printed of errors.
static REASONS: Mutex<Reasons> = Mutex::new(Reasons::new());

fn reasons() -> MutexGuard<'static, Reasons> {
    REASONS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn all(out: &mut dyn Write, text: &str) -> io::Result<()> {
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Columns of the terminal that a table is shown on, also through a pipe to `tee`.
pub fn columns() -> u16 {
    let of = |fd: rustix::io::Result<rustix::termios::Winsize>| fd.ok().map(|size| size.ws_col);
    let asked = || {
        let words = std::env::var("COLUMNS").ok()?;
        words.trim().parse().ok()
    };
    of(rustix::termios::tcgetwinsize(io::stdout()))
        .or_else(|| of(rustix::termios::tcgetwinsize(io::stderr())))
        .or_else(asked)
        .filter(|columns| *columns > 0)
        .unwrap_or(report::summary::WIDTH)
}

/// Where a progress bar is drawn; `None` where nobody would see it.
pub fn progress_target() -> Option<ProgressDrawTarget> {
    let target = ProgressDrawTarget::stderr();
    (Channel::Err.is_terminal() && !target.is_hidden()).then_some(target)
}
