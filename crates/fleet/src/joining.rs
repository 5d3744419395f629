//! How a host joins: `ssh` with the configuration of the user starts an agent of this build there, which is copied before
//! where there is none.
mod end;
mod watch;

use crate::line::{MARK, PipeLine, skip_to};
use crate::{Refusal, lead};
use end::End;
use plan::{PlanHost, Reach};
use sha2::{Digest, Sha256};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use watch::Watch;

/// What a shell over there says that has no agent of this build; the kind of its machine follows.
const LACKS_AGENT: &[u8] = b"\x01fathom lacks\x02";

/// What it ends with where it cannot take this program.
const COPY_FAILED: i32 = 91;

/// How long the last words of a process are waited for that has ended.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How often `ssh` asks a host whether it is there before it gives up.
const ALIVE_ASKED: u32 = 3;

/// What is kept of that: 64 KiB.
const LINE_BYTES: u64 = 2 << 10;
const LINES_KEPT: usize = 32;

/// Lines that are shown of what a host said before it failed.
const LINES_SHOWN: usize = 3;

/// This program.
pub struct Binary {
    path: PathBuf,
    /// SHA-256 of its bytes, in hexadecimal digits.
    digest: String,
    bytes: u64,
}

impl Binary {
    /// # Errors
    /// In words, when it cannot be read.
    pub fn own() -> Result<Self, String> {
        // The file that runs, also where another has taken its name.
        let read = || -> io::Result<Self> {
            let mut file = File::open("/proc/self/exe")?;
            let (mut hash, mut part) = (Sha256::new(), vec![0; 1 << 20]);
            let mut bytes = 0;
            loop {
                match file.read(&mut part)? {
                    0 => break,
                    count => {
                        hash.update(&part[..count]);
                        bytes += count as u64;
                    }
                }
            }
            let digest = hash.finalize();
            Ok(Self {
                path: std::env::current_exe()?,
                digest: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
                bytes,
            })
        };
        read().map_err(|error| format!("this program cannot be read: {error}"))
    }
}

/// How hosts are reached.
#[derive(Clone, Debug, Default)]
pub struct Way {
    /// The words of a command, with `{host}` for the name of the host; `None` for `ssh`.
    pub launcher: Option<Vec<String>>,
    /// Whether a copy of this program stays on a host.
    pub keeps: bool,
    /// How long `ssh` waits for a host that does not answer, in seconds.
    pub patience_s: u64,
}

/// The line to an agent, and the process that carries it.
pub struct Joined {
    pub line: PipeLine,
    /// None where that is the agent itself.
    pub carrier: Option<Child>,
}

/// Starts the agent of a host, with its place in the plan, and gives the line to it.
pub fn join(
    (place, host): (usize, &PlanHost),
    binary: &Binary,
    way: &Way,
) -> Result<Joined, Refusal> {
    let refused = |text: String| Refusal {
        lines: vec![text],
        ..Refusal::default()
    };
    let Some(reach) = &host.reach else {
        let mut command = Command::new("/proc/self/exe");
        command.arg("agent");
        let begun = begin(command, way)
            .and_then(|begun| begun.wait(&[MARK], "its start").map(|(line, _)| line));
        return begun
            .and_then(Begun::lead)
            .map(|joined| Joined {
                carrier: None,
                ..joined
            })
            .map_err(|end| refused(end.text("the agent")));
    };
    check(reach).map_err(refused)?;
    // Hosts may share a home: one that goes away again is for one of them.
    let copy_name = match way.keeps {
        true => binary.digest.clone(),
        false => format!("{}-{}-{place}", binary.digest, std::process::id()),
    };
    let command = over_there(reach, way);
    let called = called(&command);
    let failed = |end: End| refused(end.reached(reach, way, &called));
    let begun = begin(command, way).map_err(failed)?;
    let script = script(binary, &copy_name, way.keeps);
    let begun = begun.say(|to| to.write_all(script.as_bytes()));
    let (mut begun, mark) = begun
        .wait(&[MARK, LACKS_AGENT], "its shell")
        .map_err(failed)?;
    if mark == 0 {
        return begun.lead().map_err(failed);
    }
    fits(&begun.line()).map_err(refused)?;
    let begun = begun.say(|to| io::copy(&mut File::open("/proc/self/exe")?, to).map(drop));
    let (begun, _) = begun
        .wait(&[MARK], "the copy of this program there")
        .map_err(failed)?;
    begun.lead().map_err(failed)
}

/// What is asked of a host before its part is known.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// Files that are read there, with the rights of the login.
    files: Vec<String>,
}

/// The answer.
#[derive(Debug, Default)]
pub struct Told {
    /// At which it was reached by `ssh`; empty where it was reached otherwise.
    pub address: String,
    /// Each file with its path.
    pub files: Vec<(String, Vec<u8>)>,
}

/// More than a job file has.
const FILE_BYTES_MAX: u64 = 16 << 20;

const ADDRESS: &[u8] = b"\x01fathom address\x02";
const FILE: &[u8] = b"\x01fathom file\x02";

impl Question {
    pub fn new(files: &[String]) -> Self {
        Self {
            files: files.to_vec(),
        }
    }

    /// Each file comes with its length in front.
    fn script(&self) -> String {
        let file = |path: &String| {
            let path = path.replace('\'', r"'\''");
            format!(
                "f='{path}'; [ -f \"$f\" ] && n=$(wc -c <\"$f\") || {{ echo \"$f: no such file\" >&2; exit 1; }}; \
                 printf '\\001fathom file\\002%s\\n' $n; head -c $n \"$f\" || exit 1; "
            )
        };
        let files: String = self.files.iter().map(file).collect();
        format!(
            "{{ set -- $SSH_CONNECTION; printf '\\001fathom address\\002%s\\n' \"$3\"; {files}exit 0; }}\n"
        )
    }
}

/// Asks a host.
pub fn ask(host: &PlanHost, question: &Question, way: &Way) -> Result<Told, Refusal> {
    let refused = |text: String| Refusal {
        lines: vec![text],
        ..Refusal::default()
    };
    let Some(reach) = &host.reach else {
        return Ok(Told::default());
    };
    check(reach).map_err(refused)?;
    let command = over_there(reach, way);
    let called = called(&command);
    let failed = |end: End| refused(end.reached(reach, way, &called));
    let script = question.script();
    let begun = begin(command, way).map_err(failed)?;
    let begun = begun.say(|to| to.write_all(script.as_bytes()));
    let (mut begun, _) = begun.wait(&[ADDRESS], "its shell").map_err(failed)?;
    let mut told = Told {
        address: begun.line(),
        files: Vec::new(),
    };
    for path in &question.files {
        let unread = |end: End| refused(end.text(&format!("`{path}` cannot be read there")));
        (begun, _) = begun.wait(&[FILE], "the file").map_err(unread)?;
        let length = begun.line().parse::<u64>().unwrap_or(u64::MAX);
        let mut bytes = Vec::new();
        let part = (&mut begun.reader).take(length.min(FILE_BYTES_MAX));
        let read = { part }.read_to_end(&mut bytes);
        if read.is_err() || bytes.len() as u64 != length {
            return Err(refused(format!("`{path}` is no job file, or came in part")));
        }
        told.files.push((path.clone(), bytes));
    }
    let _ = begun.child.wait();
    Ok(told)
}

/// A name that `ssh` would take for something else reaches nobody.
fn check(reach: &Reach) -> Result<(), String> {
    let is_odd = |text: &str| {
        let odd = |c: char| c.is_whitespace() || c.is_control();
        text.is_empty() || text.starts_with('-') || text.contains(odd)
    };
    for name in [Some(&reach.system), reach.user.as_ref()]
        .into_iter()
        .flatten()
    {
        if is_odd(name) {
            return Err(format!(
                "`{}` is no name of a host or a user",
                name.escape_debug()
            ));
        }
    }
    Ok(())
}

/// For a shell over there: starts an agent with our digest, where this program is here or where it is copied to; where there
/// is none, says what machine it is, and takes the program from its input. It is one command in braces, which a shell reads
/// as a whole before it does any of it: what follows on its input is the program.
fn script(binary: &Binary, copy_name: &str, keeps: bool) -> String {
    let own = binary.path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    let own = if own.chars().all(plain) {
        own.as_str()
    } else {
        ""
    };
    let (digest, bytes, word) = (
        &binary.digest,
        binary.bytes,
        if keeps { "" } else { " --no-keep" },
    );
    format!(
        "{{ d=\"$HOME/.cache/fathom\"; c=\"$d/{copy_name}\"; \
         is_ours() {{ [ \"$(sha256sum <\"$1\")\" = \"{digest}  -\" ]; }}; \
         for f in \"$c\" {own}; do if [ -x \"$f\" ] && is_ours \"$f\"; then exec \"$f\" agent{word}; fi; done; \
         printf '\\001fathom lacks\\002%s\\n' \"$(uname -sm)\"; \
         umask 077; mkdir -p \"$d\" && chmod 700 \"$d\" && head -c {bytes} >\"$c.$$\" && is_ours \"$c.$$\" && \
         chmod 700 \"$c.$$\" && mv \"$c.$$\" \"$c\" || {{ rm -f \"$c.$$\"; exit {COPY_FAILED}; }}; \
         exec \"$c\" agent{word}; }}\n"
    )
}

/// A shell on a host, which reads from its input what it is to do.
fn over_there(reach: &Reach, way: &Way) -> Command {
    let mut command = match &way.launcher {
        Some(words) => {
            let mut words = words
                .iter()
                .map(|word| word.replace("{host}", &reach.system));
            let mut command = Command::new(words.next().unwrap_or_default());
            command.args(words);
            command
        }
        None => {
            let mut command = Command::new("ssh");
            command.args(["-T", "-o", "BatchMode=yes"]);
            command.args(["-o", &format!("ConnectTimeout={}", way.patience_s.max(1))]);
            // A link that goes down later is found by `ssh` itself, too.
            let alive = way.patience_s.div_ceil(u64::from(ALIVE_ASKED)).max(1);
            command.args(["-o", &format!("ServerAliveInterval={alive}")]);
            command.args(["-o", &format!("ServerAliveCountMax={ALIVE_ASKED}")]);
            if let Some(user) = &reach.user {
                command.args(["-l", user]);
            }
            command.args(["--", &reach.system]);
            command
        }
    };
    command.arg("sh");
    command
}

/// A command as it would be typed.
fn called(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

/// Whether a machine runs what is built for this one.
fn fits(theirs: &str) -> Result<(), String> {
    let mine = format!("Linux {}", std::env::consts::ARCH);
    match theirs == mine {
        true => Ok(()),
        false => Err(format!(
            "this program is built for {mine}, and the host is `{theirs}`; put a Fathom of this build there by hand"
        )),
    }
}

/// A process that is to become an agent, and the pipes to it.
struct Begun {
    child: Child,
    reader: ChildStdout,
    writer: ChildStdin,
    said: Said,
    watch: Watch,
}

fn begin(mut command: Command, way: &Way) -> Result<Begun, End> {
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
    let child = command.spawn();
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
    fn say(mut self, what: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Self {
        let mut heard = Heard {
            writer: &mut self.writer,
            watch: &self.watch,
        };
        let _ = what(&mut heard).and_then(|()| heard.flush());
        self
    }

    /// Waits for one of some marks; gives its place. `what` is what has to come on for that.
    fn wait(mut self, marks: &[&[u8]], what: &str) -> Result<(Self, usize), End> {
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
    fn line(&mut self) -> String {
        let (mut line, mut byte) = (Vec::new(), [0]);
        while matches!(self.reader.read(&mut byte), Ok(1)) && byte != *b"\n" {
            line.push(byte[0]);
        }
        String::from_utf8_lossy(&line).trim().to_owned()
    }

    fn lead(self) -> Result<Joined, End> {
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

/// On the far side: removes the copy that runs, which goes on without its name.
pub fn remove_copy() {
    if let Ok(own) = std::env::current_exe()
        && own
            .parent()
            .is_some_and(|folder| folder.ends_with(".cache/fathom"))
    {
        let _ = std::fs::remove_file(own);
    }
}
