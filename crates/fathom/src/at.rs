//! `--at '30s=NAME: COMMAND'`: what is done to the storage while a job runs, with a mark of the moment in its record.
use conduct::{Control, News};
use host::command::{Ended, run};
use measure::{Event, Remark};
use plan::{RunKind, Severity};
use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A command and when it is run, since the I/O of the first run that measures began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At {
    pub after: Duration,
    /// What the moment is called; the command where it has no name.
    pub name: String,
    pub command: String,
}

/// How often who waits for a time looks whether the job has ended.
const LOOK: Duration = Duration::from_millis(20);

/// A command that still runs when the job has ended is waited for so long.
const PATIENCE: Duration = Duration::from_secs(10);

/// Lines of a command that are kept.
const LINES_MAX: usize = 100;

/// # Errors
/// In words, where it has another form, or where what is a name may be the beginning of a command.
pub fn parse(text: &str) -> Result<At, String> {
    let form = "write a time and a command, as in `--at '30s=pull cable: ssh array pull 7'`";
    let (time, rest) = text
        .split_once('=')
        .ok_or_else(|| format!("there is no `=`; {form}"))?;
    let (name, command) = named(rest)?;
    if command.trim().is_empty() {
        return Err(format!("there is no command; {form}"));
    }
    let after = crate::spans::span(time).map_err(|error| format!("{error}; {form}"))?;
    Ok(At {
        after,
        name: name.unwrap_or(command).to_owned(),
        command: command.to_owned(),
    })
}

/// A name, where there is one, and the command. Nothing before the colon says that a command with a colon is meant.
fn named(text: &str) -> Result<(Option<&str>, &str), String> {
    let is_of_name = |letter: char| letter.is_alphanumeric() || " _-.#+()".contains(letter);
    let parts = text.split_once(": ");
    let Some((name, command)) = parts.filter(|(name, _)| name.chars().all(is_of_name)) else {
        return Ok((None, text));
    };
    let first = name.split_whitespace().next();
    match first {
        None => Ok((None, command)),
        Some(word) if is_program(word) => Err(format!(
            "`{word}` is a program, so `{name}` may be the beginning of a command: write `TIME=: {text}` for a command, and \
             begin a name with another word"
        )),
        Some(_) => Ok((Some(name.trim()), command)),
    }
}

fn is_program(word: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(word).is_file())
}

impl At {
    /// With its name, where that is another one.
    fn shown(&self) -> String {
        match self.name == self.command {
            true => format!("`{}`", self.command),
            false => format!("{} (`{}`)", self.name, self.command),
        }
    }
}

/// Carries out what is to be done at its time.
pub struct Timetable {
    /// Until the first run that measures.
    waiting: Vec<At>,
    desk: Desk,
    threads: Vec<JoinHandle<()>>,
    /// How many runs there are.
    runs: u32,
}

/// What a thread needs that carries out a command.
#[derive(Clone)]
struct Desk {
    control: Control,
    /// How long a command may take.
    limit: Duration,
    is_over: Arc<AtomicBool>,
}

impl Timetable {
    /// With how long a command may take.
    pub fn new((all, limit): (&[At], Duration), control: &Control) -> Self {
        let desk = Desk {
            control: control.clone(),
            limit,
            is_over: Arc::default(),
        };
        Self {
            waiting: all.to_vec(),
            desk,
            threads: Vec::new(),
            runs: 0,
        }
    }

    pub fn on_event(&mut self, event: &Event) {
        match event {
            Event::RunStarted(started) => {
                self.runs = started.runs;
                let begun = UNIX_EPOCH + Duration::from_nanos(started.unix_ns);
                if started.kind == RunKind::Measure {
                    self.begin(begun);
                }
            }
            Event::RunFinished(finished)
                if finished.run + 1 == self.runs || self.desk.control.is_stopping() =>
            {
                self.end();
            }
            _ => {}
        }
    }

    fn begin(&mut self, begun: SystemTime) {
        for at in std::mem::take(&mut self.waiting) {
            let desk = self.desk.clone();
            let known = at.clone();
            let work = move || desk.carry_out(&at, begun + at.after);
            match sys::thread::start("at", work) {
                Ok(thread) => self.threads.push(thread),
                Err(error) => self.desk.fail(&known, &format!("cannot be run: {error}")),
            }
        }
    }

    /// Waits for commands that are running, for a while.
    pub fn end(&mut self) {
        self.desk.is_over.store(true, SeqCst);
        for thread in self.threads.drain(..) {
            // One that panicked has told so.
            let _ = thread.join();
        }
        for at in std::mem::take(&mut self.waiting) {
            self.desk.fail(&at, "was not run: nothing was measured");
        }
    }
}

impl Desk {
    fn carry_out(&self, at: &At, due: SystemTime) {
        let command = &at.command;
        while let Ok(left) = due.duration_since(SystemTime::now()) {
            if self.is_over.load(SeqCst) {
                return self.fail(at, "was not run: the job ended before its time");
            }
            std::thread::sleep(left.min(LOOK));
        }
        self.tell(Severity::Note, Remark::MARK, at.name.clone());
        let (begun, mut lines) = (Instant::now(), 0);
        let over_since = OnceCell::new();
        let is_late = || {
            let is_over = self.is_over.load(SeqCst);
            is_over && over_since.get_or_init(Instant::now).elapsed() >= PATIENCE
        };
        let ended = run(command, &[], self.limit, &is_late, &mut |line| {
            lines += 1;
            if lines <= LINES_MAX {
                self.tell(Severity::Note, "at-output", format!("{}: {line}", at.name));
            }
        });
        let seconds = analysis::words::span(begun.elapsed().as_nanos() as u64);
        match ended {
            Ok(Ended::Exited(0)) => {
                let text = format!("{} ended after {seconds}", at.shown());
                self.tell(Severity::Note, "at-ended", text);
            }
            Ok(Ended::Exited(code)) => {
                self.fail(
                    at,
                    &format!("ended with exit status {code} after {seconds}"),
                );
            }
            Ok(Ended::Signalled(signal)) => {
                self.fail(at, &format!("was ended by signal {signal} after {seconds}"));
            }
            Ok(Ended::TimedOut) => {
                self.fail(at, &format!("did not end within {seconds}, and was killed"));
            }
            Ok(Ended::Stopped) => {
                self.fail(
                    at,
                    &format!("still ran after {seconds}, when the job had ended, and was killed"),
                );
            }
            Err(error) => self.fail(at, &format!("cannot be started: {error}")),
        }
    }

    fn fail(&self, at: &At, how: &str) {
        self.tell(
            Severity::Warning,
            "at-failed",
            format!("{} {how}", at.shown()),
        );
    }

    fn tell(&self, severity: Severity, code: &'static str, message: String) {
        self.control.tell(News::now(severity, code, message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_and_a_command_are_read() {
        let at = parse("90s=echo a=b").unwrap();
        assert_eq!(at.after, Duration::from_secs(90));
        assert_eq!((&*at.name, &*at.command), ("echo a=b", "echo a=b"));
        let at = parse("90s=pull-cable 7: ssh array 'pull: 7'").unwrap();
        let parts = (&*at.name, &*at.command);
        assert_eq!(parts, ("pull-cable 7", "ssh array 'pull: 7'"));
        // What begins like a command is not guessed at, and a mark of the shell is of no name.
        assert!(
            parse("1s=ls a: b")
                .unwrap_err()
                .contains("`ls` is a program")
        );
        for command in ["ls a: b", "test -e 'x: y' && ls", "x=\"a: b\""] {
            let at = parse(&format!("1s=: {command}")).unwrap();
            assert_eq!((&*at.name, &*at.command), (command, command));
        }
        assert_eq!(parse("1s=ls > 'a: b'").unwrap().command, "ls > 'a: b'");
        for (wrong, reason) in [
            ("30s", "no `=`"),
            ("30s= ", "no command"),
            ("soon=x", "write a time and a command"),
        ] {
            let told = parse(wrong).unwrap_err();
            assert!(told.contains(reason), "{told}");
        }
    }
}
