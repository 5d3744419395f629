//! The one way out for everything that is printed. A stream that is closed, full or broken loses
//! its text and nothing else: no panic comes of it, so that a run goes on and keeps its results.
//! Standard output that could not be written, as on a full disk, is exit code 1 in the end. Where
//! runs are carried out, a reader that takes nothing delays nothing either (`lane`). Names of others are shown without characters that would steer a terminal.
//!
//! `outln!` and `errln!` print one message, in which only an indented line goes on; `out!` and
//! `err!` print text that is laid out. Read [`Channel`] first.
use crate::exit::{Exit, fail};
use crate::lane::Lane;
use crate::reasons::Reasons;
use indicatif::{ProgressDrawTarget, TermLike};
use report::summary::Row;
use report::{Conclusion, shown};
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

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

    /// What cannot be written is lost: whoever closed the stream does not want it, and of a full disk [`end`] tells.
    fn write(self, text: &str) {
        if self == Self::Err {
            reasons().note(text);
        }
        if self.lane().print(text) {
            return;
        }
        self.lane().note(match self {
            Self::Out => all(&mut io::stdout().lock(), text),
            Self::Err => all(&mut io::stderr().lock(), text),
        });
    }

    fn lane(self) -> &'static Lane {
        static LANES: [Lane; 2] = [const { Lane::new() }; 2];
        match self {
            Self::Out => &LANES[0],
            Self::Err => &LANES[1],
        }
    }
}

/// From now on nobody who prints waits for a reader that takes nothing. For what carries out runs: what only prints waits, as
/// its text is all there is.
pub fn wait_for_nobody() {
    Channel::Out.lane().serve(|| Box::new(io::stdout()));
    Channel::Err.lane().serve(|| Box::new(io::stderr()));
}

/// Whether an execution has begun, whose end no reader may delay.
static EXECUTES: AtomicBool = AtomicBool::new(false);

/// From now on text is not all that the program is for.
pub fn begin_execution() {
    EXECUTES.store(true, Relaxed);
}

/// How long a reader that takes nothing keeps the end of the program, for each stream; shorter where the user wants to leave.
const LAST_PATIENCE: Duration = Duration::from_secs(5);
const LAST_PATIENCE_STOPPED: Duration = Duration::from_millis(300);

const ANY_PATIENCE: Duration = Duration::from_secs(u32::MAX as u64);

/// Set once nothing but text is left.
static ENDING: OnceLock<Exit> = OnceLock::new();

/// Says last what an exit code means, where the reason stands further up. Returns the code to end with: standard output
/// that could not be written fails what was fine otherwise.
pub fn end(exit: Exit) -> Exit {
    tell_meaning(exit);
    let _ = ENDING.set(exit);
    let (out, err) = (Channel::Out.lane(), Channel::Err.lane());
    let (of_out, of_err) = match exit {
        Exit::Stopped => (LAST_PATIENCE_STOPPED, LAST_PATIENCE_STOPPED),
        // Nothing was carried out: the text is all there is.
        _ if !EXECUTES.load(Relaxed) => (ANY_PATIENCE, ANY_PATIENCE),
        // A pager that shows a document page by page.
        _ if out.was_read() && !Channel::Out.is_terminal() => (ANY_PATIENCE, LAST_PATIENCE),
        _ => (LAST_PATIENCE, LAST_PATIENCE),
    };
    let since = Instant::now();
    err.drain(of_err);
    // Both may be one pipe, and who does not read the one does not read the other.
    let least = of_out.min(LAST_PATIENCE_STOPPED);
    out.drain(of_out.saturating_sub(since.elapsed()).max(least));
    match out.failure() {
        Some(reason) if exit == Exit::Fine => {
            let failed = fail(
                Exit::Failed,
                &format!("cannot write standard output: {reason}"),
            );
            err.drain(of_err);
            failed
        }
        _ => exit,
    }
}

/// How the program ends, where it only waits for who reads its last text: a signal ends it at once.
pub fn ending() -> Option<Exit> {
    ENDING.get().copied()
}

fn tell_meaning(exit: Exit) {
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

/// Prints the lines of the runs, and what repetitions say together.
pub fn table(rows: &[Row]) {
    out!("{}\n", report::summary::table(rows, columns()));
    out!("{}", report::repetitions::text(rows));
}

/// Prints the verdict, set apart: the last that is said.
pub fn verdict(conclusion: &Conclusion) {
    if let Some(verdict) = conclusion.verdict() {
        let wrapped = |text: &str| report::summary::wrapped(text, columns());
        out!("\n{}", wrapped(&verdict.text_of_word()));
        if let Some(failure) = &verdict.failure {
            out!("\n{}", wrapped(&format!("{failure}.")));
        }
        for scaling in conclusion.scalings() {
            out!("\n{}", wrapped(&format!("{}.", scaling.words())));
        }
    }
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
    let is_hidden = ProgressDrawTarget::stderr().is_hidden();
    let target = || ProgressDrawTarget::term_like(Box::new(Terminal));
    (Channel::Err.is_terminal() && !is_hidden).then(target)
}

/// The terminal on standard error, as a progress bar draws on it: by the same way as all text.
#[derive(Debug)]
struct Terminal;

impl Terminal {
    fn steer(count: usize, letter: char) -> io::Result<()> {
        if count > 0 {
            Channel::Err.write(&format!("\x1b[{count}{letter}"));
        }
        Ok(())
    }
}

impl TermLike for Terminal {
    fn width(&self) -> u16 {
        columns()
    }

    fn move_cursor_up(&self, count: usize) -> io::Result<()> {
        Self::steer(count, 'A')
    }

    fn move_cursor_down(&self, count: usize) -> io::Result<()> {
        Self::steer(count, 'B')
    }

    fn move_cursor_right(&self, count: usize) -> io::Result<()> {
        Self::steer(count, 'C')
    }

    fn move_cursor_left(&self, count: usize) -> io::Result<()> {
        Self::steer(count, 'D')
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.write_str(&format!("{text}\n"))
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        Channel::Err.write(text);
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        self.write_str("\r\x1b[2K")
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}
