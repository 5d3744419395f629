//! A folder for one test, and how programs run in it.
use crate::named;
use serde_json::Value;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::sync::{Condvar, Mutex};
use tempfile::TempDir;

/// A folder that goes away with the test.
pub struct Lab(TempDir);

/// What a program left.
#[derive(Debug)]
pub struct Ended {
    /// The command, for those who read of a failure.
    line: String,
    /// `None` when a signal ended it.
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// A program that is going. Dropping it kills it.
pub struct Going {
    line: String,
    child: Child,
    out: BufReader<ChildStdout>,
    err: BufReader<ChildStderr>,
}

/// Where programs keep what they remember of devices.
pub const STATE: &str = ".state";

pub const FATHOM: &str = env!("CARGO_BIN_EXE_fathom");

/// Who uses the machine: each test that has a lab, or one that asserts times, alone. Tests that want to be alone wait until
/// no other has a lab, and hold nobody up meanwhile: they come last.
struct Machine {
    labs: usize,
    is_taken: bool,
}

static MACHINE: Mutex<Machine> = Mutex::new(Machine {
    labs: 0,
    is_taken: false,
});
static FREED: Condvar = Condvar::new();

/// What a test has of [`MACHINE`] until its thread ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Share {
    Nothing,
    Lab,
    All,
}

struct Held(Cell<Share>);

thread_local! {
    static HELD: Held = const { Held(Cell::new(Share::Nothing)) };
}

impl Held {
    fn give_back(&self) {
        let mut machine = MACHINE.lock().unwrap();
        match self.0.replace(Share::Nothing) {
            Share::Nothing => {}
            Share::Lab => machine.labs -= 1,
            Share::All => machine.is_taken = false,
        }
        FREED.notify_all();
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// Whether nothing else runs on the machine, as whoever starts the tests says.
pub fn is_alone() -> bool {
    std::env::var_os("FATHOM_ALONE").is_some()
}

/// From here on no other test of this binary has a lab: for those that assert times.
pub fn alone() {
    HELD.with(|held| {
        // Where all tests run on one thread, it still has what an earlier one took.
        held.give_back();
        let machine = MACHINE.lock().unwrap();
        let is_busy = |machine: &mut Machine| machine.is_taken || machine.labs > 0;
        let mut machine = FREED.wait_while(machine, is_busy).unwrap();
        machine.is_taken = true;
        held.0.set(Share::All);
    });
}

/// How many tests have a lab at a time, where there are threads for more. Those of others are for tests that wait to be
/// alone: `RUST_TEST_THREADS` in `.cargo/config.toml`.
const LABS: usize = 8;

fn beside_others() {
    HELD.with(|held| {
        if held.0.get() == Share::Nothing {
            let machine = MACHINE.lock().unwrap();
            let is_full = |machine: &mut Machine| machine.is_taken || machine.labs == LABS;
            let mut machine = FREED.wait_while(machine, is_full).unwrap();
            machine.labs += 1;
            held.0.set(Share::Lab);
        }
    });
}

/// Whether all cases are tried, also where they take long.
pub fn is_long() -> bool {
    std::env::var_os("FATHOM_LONG").is_some()
}

/// Whether a case of a matrix is tried: one in five of them, among which are each row and each column where there are
/// five of either; all in the long suite.
pub fn is_tried(row: usize, column: usize) -> bool {
    is_long() || (row + column).is_multiple_of(5)
}

/// A fifth of so many cases; all of them in the long suite.
pub fn some_of(cases: usize) -> usize {
    if is_long() { cases } else { cases / 5 }
}

impl Lab {
    pub fn new() -> Self {
        beside_others();
        Self(named::builder().tempdir().unwrap())
    }

    /// In memory where this machine has files there: for thousands of them.
    pub fn in_memory() -> Self {
        beside_others();
        let builder = named::builder();
        let folder = builder
            .tempdir_in("/dev/shm")
            .or_else(|_| builder.tempdir());
        Self(folder.unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Nothing while there is no such file.
    pub fn text_if_there(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    /// A program of a few lines, which may be started.
    pub fn write_script(&self, name: &str, text: &str) {
        self.write(name, text);
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(self.path(name), open).unwrap();
    }

    pub fn remove(&self, name: &str) {
        std::fs::remove_file(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    }

    /// Of a file.
    pub fn length(&self, name: &str) -> u64 {
        let facts = std::fs::metadata(self.path(name));
        facts
            .unwrap_or_else(|error| panic!("{name}: {error}"))
            .len()
    }

    /// Names in a folder of the lab, in order; `.` is the lab itself.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(folder)).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// Every file below the lab with its content; what is no file counts by its name.
    pub fn everything(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.0.path().to_owned()];
        while let Some(folder) = folders.pop() {
            found.insert(folder.clone(), Vec::new());
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let is_file = path.is_file();
                    let content = is_file.then(|| std::fs::read(&path).unwrap_or_default());
                    found.insert(path, content.unwrap_or_default());
                }
            }
        }
        found
    }

    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.current_dir(self.0.path()).stdin(Stdio::null());
        command.env("XDG_STATE_HOME", self.path(STATE));
        command.env("FATHOM_LAB", named::prefix());
        command
    }

    /// Runs `fathom` to its end.
    pub fn fathom(&self, arguments: &[&str]) -> Ended {
        ended(self.command(FATHOM).args(arguments))
    }

    /// Starts `fathom`.
    pub fn start(&self, arguments: &[&str]) -> Going {
        let mut command = self.command(FATHOM);
        command.args(arguments);
        Going::of(command)
    }
}

impl Going {
    pub fn of(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        Self {
            line: line(&command),
            out: BufReader::new(child.stdout.take().unwrap()),
            err: BufReader::new(child.stderr.take().unwrap()),
            child,
        }
    }
}

pub fn ended(command: &mut Command) -> Ended {
    try_ended(command).unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// The same of a program that may not be there, or may not be called.
pub fn try_ended(command: &mut Command) -> std::io::Result<Ended> {
    let output = command.output()?;
    Ok(Ended {
        line: line(command),
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    })
}

/// A command in one line.
fn line(command: &Command) -> String {
    let words = [command.get_program()].into_iter();
    let words: Vec<_> = words
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect();
    words.join(" ")
}

impl Ended {
    /// Fails the test unless the program ended with this code.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }

    /// Fails the test if the program ended with 0.
    #[track_caller]
    pub fn expect_failure(self) -> Self {
        assert_ne!(self.code, Some(0), "{self}");
        self
    }

    /// Fails the test unless standard error holds each of these texts.
    #[track_caller]
    pub fn says(self, texts: &[&str]) -> Self {
        for text in texts {
            assert!(self.err.contains(text), "no `{text}`: {self}");
        }
        self
    }

    /// Fails the test unless standard output holds each of these texts.
    #[track_caller]
    pub fn prints(&self, texts: &[&str]) {
        for text in texts {
            assert!(self.out.contains(text), "no `{text}`: {self}");
        }
    }

    /// Fails the test unless one of the two streams holds each of these texts.
    #[track_caller]
    pub fn tells(&self, texts: &[&str]) {
        for text in texts {
            let is_told = self.out.contains(text) || self.err.contains(text);
            assert!(is_told, "no `{text}`: {self}");
        }
    }

    /// Standard output, then standard error.
    pub fn all(&self) -> String {
        format!("{}{}", self.out, self.err)
    }

    /// The document on standard output, before which other programs than ours may have notes.
    #[track_caller]
    pub fn json(&self) -> Value {
        let is_ours = self.line.starts_with(FATHOM);
        let notes = (!is_ours).then(|| self.out.find('{')).flatten();
        let document = serde_json::from_str(&self.out[notes.unwrap_or(0)..]);
        document.unwrap_or_else(|error| panic!("{error}: {self}"))
    }
}

/// The whole case: for messages of assertions.
impl std::fmt::Display for Ended {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            line,
            code,
            out,
            err,
        } = self;
        write!(
            to,
            "`{line}` ended with {code:?}\n--- out\n{out}--- err\n{err}"
        )
    }
}

impl Going {
    /// Reads the console up to a line that `is_it` takes, and returns the lines.
    #[track_caller]
    pub fn read_until(&mut self, is_it: impl Fn(&str) -> bool) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if self.out.read_line(&mut line).unwrap() == 0 {
                panic!("the console ended before the line: {lines:#?}");
            }
            let found = is_it(line.trim_end());
            lines.push(line.trim_end().to_owned());
            if found {
                return lines;
            }
        }
    }

    /// The same of standard error.
    #[track_caller]
    pub fn hear_until(&mut self, is_it: impl Fn(&str) -> bool) {
        loop {
            let mut line = String::new();
            let count = self.err.read_line(&mut line).unwrap();
            assert!(count > 0, "standard error ended before the line");
            if is_it(line.trim_end()) {
                return;
            }
        }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn is_going(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    pub fn signal(&self, name: &str) {
        let id = self.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status();
        assert!(sent.unwrap().success());
    }

    /// The rest of what it prints, and its code.
    pub fn end(mut self) -> Ended {
        let line = std::mem::take(&mut self.line);
        let read = |from: &mut dyn BufRead| {
            let mut text = String::new();
            std::io::Read::read_to_string(from, &mut text).unwrap();
            text
        };
        // The console of a run fits into the pipe of standard error many times over.
        let out = read(&mut self.out);
        let err = read(&mut self.err);
        let code = self.child.wait().unwrap().code();
        Ended {
            line,
            code,
            out,
            err,
        }
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A job on one file: its definition of storage, and the run.
pub fn job(storage: &str, run: &str) -> String {
    format!("sd=sd1,{storage},threads=2\nwd=wd1,sd=sd1,xfersize=4k,rdpct=50\nrd=rd1,wd=wd1,{run}\n")
}

/// The second field of a row of an interval report, where the line is one.
pub fn interval_label(line: &str) -> Option<&str> {
    let mut fields = line.split_whitespace();
    let time = fields.next()?;
    let label = fields.next()?;
    let is_time = time.len() == 12 && time.as_bytes()[2] == b':' && time.as_bytes()[8] == b'.';
    let is_row = line.split_whitespace().count() == 14
        && line
            .split_whitespace()
            .nth(2)
            .is_some_and(|rate| rate.parse::<f64>().is_ok());
    (is_time && is_row).then_some(label)
}

/// Whether a program can be called.
pub fn has(program: &str) -> bool {
    let found = Command::new("sh")
        .args(["-c", &format!("command -v {program}")])
        .output();
    found.is_ok_and(|output| output.status.success())
}

pub fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout == b"0\n")
}

/// Prints why a test cannot be run here.
pub fn skip(reason: &str) {
    println!("skipped: {reason}");
}

/// Runs a command that has to succeed.
#[track_caller]
pub fn must(program: &str, arguments: &[&str]) -> String {
    let ended = ended(Command::new(program).args(arguments).stdin(Stdio::null()));
    assert_eq!(ended.code, Some(0), "{program}: {}", ended.err);
    ended.out
}
