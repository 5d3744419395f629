//! Command lines that a job asks for, in the shell of this machine. Read [`run`].
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

/// Tells a process of this program that it is the one in the background. No command gets it: a `fathom` among them would
/// take itself for that one.
pub const DETACHED_VARIABLE: &str = "FATHOM_DETACHED";

/// How often a wait looks whether it is to end.
const LOOK: Duration = Duration::from_millis(20);

/// What a command is given to end by itself once it was told to.
const GRACE: Duration = Duration::from_secs(1);

/// What is said by the time a shell has ended reaches us within this.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// What is read later than this behind the end of a shell is not of the shell. Until then a full pipe is emptied.
const LAST_WORDS_MAX: Duration = Duration::from_secs(1);

/// Lines that wait to be handed out. A command that prints more has to wait, as at any full pipe.
const LINES_MAX: usize = 1024;

/// Longer lines are handed out in pieces.
const LINE_BYTES_MAX: u64 = 64 << 10;

/// A line, and when it was read.
type Line = (Instant, String);

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Exited(i32),
    /// By a signal that did not come from here.
    Signalled(i32),
    /// It took too long, and was killed.
    TimedOut,
    /// The caller asked for its end.
    Stopped,
}

/// Runs a command line with `sh -c`, in a process group of its own, and hands out each line that it
/// prints. `variables` are part of its environment, so that the shell itself puts them in.
///
/// Processes that it leaves in the background are not waited for.
///
/// # Errors
/// When the shell cannot be started.
pub fn run(
    text: &str,
    variables: &[(&str, String)],
    limit: Duration,
    stop: &dyn Fn() -> bool,
    said: &mut dyn FnMut(&str),
) -> io::Result<Ended> {
    let begun = Instant::now();
    let mut child = Command::new("sh")
        .arg("-c")
        .arg(format!("exec 2>&1\n{text}"))
        .env_remove(DETACHED_VARIABLE)
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()?;
    let lines = lines_of(&mut child);
    let mut told = None;
    loop {
        match lines.recv_timeout(LOOK) {
            Ok((_, line)) => said(&line),
            Err(RecvTimeoutError::Timeout) => {}
            // Its output is closed, and it may go on.
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(LOOK),
        }
        if let Some(status) = child.try_wait()? {
            last_words(&lines, said);
            return Ok(told.map_or_else(|| end_of(status), |(end, _)| end));
        }
        match told {
            None if stop() => told = Some((Ended::Stopped, end(&child, Signal::TERM))),
            None if begun.elapsed() >= limit => {
                told = Some((Ended::TimedOut, end(&child, Signal::TERM)));
            }
            Some((_, at)) if at.elapsed() >= GRACE => {
                end(&child, Signal::KILL);
            }
            _ => {}
        }
    }
}

/// What was printed before. A process in the background may go on printing without end.
fn last_words(lines: &Receiver<Line>, said: &mut dyn FnMut(&str)) {
    let until = Instant::now() + LAST_WORDS_MAX;
    while let Ok((read_at, line)) = lines.recv_timeout(LAST_WORDS)
        && read_at <= until
    {
        said(&line);
    }
}

/// The lines that a child prints. Somebody reads them to the end, so that a process in the
/// background is not ended by a pipe that nobody reads.
fn lines_of(child: &mut Child) -> Receiver<Line> {
    let (sender, lines) = sync_channel(LINES_MAX);
    if let Some(out) = child.stdout.take() {
        // Without a thread, what the child prints is lost, and its pipe closed.
        let _ = std::thread::Builder::new().spawn(move || {
            let mut out = BufReader::new(out);
            let mut line = Vec::new();
            let mut read = |line: &mut Vec<u8>| {
                let mut piece = out.by_ref().take(LINE_BYTES_MAX);
                piece.read_until(b'\n', line).is_ok_and(|count| count > 0)
            };
            while read(&mut line) {
                let text = String::from_utf8_lossy(&line);
                let text = text.trim_end_matches(['\n', '\r']).to_owned();
                // The receiver may have gone; reading goes on.
                let _ = sender.send((Instant::now(), text));
                line.clear();
            }
        });
    }
    lines
}

fn end(child: &Child, signal: Signal) -> Instant {
    // It may have ended just now, which is as well.
    let _ = kill_process_group(Pid::from_child(child), signal);
    Instant::now()
}

fn end_of(status: ExitStatus) -> Ended {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ended::Exited(code),
        (None, signal) => Ended::Signalled(signal.unwrap_or(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn heard(text: &str, limit: Duration, stop: &dyn Fn() -> bool) -> (Ended, Vec<String>) {
        let mut lines = Vec::new();
        let variables = [("output", "/a folder".to_owned())];
        let end = run(text, &variables, limit, stop, &mut |line| {
            lines.push(line.to_owned());
        });
        (end.unwrap(), lines)
    }

    #[test]
    fn lines_of_both_outputs_come_in_order_with_the_code() {
        let (end, lines) = heard(
            "echo one; echo two >&2; printf three; exit 7",
            LONG,
            &|| false,
        );
        assert_eq!(end, Ended::Exited(7));
        assert_eq!(lines, ["one", "two", "three"]);
    }

    #[test]
    fn variables_are_the_shells() {
        let (_, lines) = heard("printf '%s|' \"$output\" \"$output/x\"", LONG, &|| false);
        assert_eq!(lines, ["/a folder|/a folder/x|"]);
    }

    #[test]
    fn what_takes_too_long_or_is_not_wanted_ends_with_its_children() {
        let text = "echo begun; sleep 1000 & wait; sleep 1000";
        let begun = Instant::now();
        let (end, lines) = heard(text, Duration::from_millis(100), &|| false);
        assert_eq!((end, lines), (Ended::TimedOut, vec!["begun".to_owned()]));
        let (end, _) = heard("trap '' TERM; sleep 1000 & wait; sleep 1000", LONG, &|| {
            begun.elapsed() > Duration::from_millis(200)
        });
        assert_eq!(end, Ended::Stopped);
        assert!(begun.elapsed() < LONG);
    }

    #[test]
    fn what_goes_on_printing_in_the_background_is_not_waited_for() {
        let text = "for n in $(seq 3000); do echo $n; done
                    (for n in $(seq 1500); do echo more || exit; sleep 0.02; done) & echo $!";
        let begun = Instant::now();
        let (end, lines) = heard(text, LONG, &|| false);
        assert!(begun.elapsed() < Duration::from_secs(20));
        assert_eq!(end, Ended::Exited(0));
        let numbers = lines.iter().filter(|line| line.parse::<u32>().is_ok());
        let process = numbers.clone().next_back().unwrap();
        assert_eq!(
            numbers.count(),
            3001,
            "nothing that was printed before is lost"
        );
        heard(&format!("kill {process}"), LONG, &|| false);
    }

    #[test]
    fn a_line_without_end_comes_in_pieces() {
        let (end, lines) = heard("head -c 200000 /dev/zero | tr '\\0' x", LONG, &|| false);
        assert_eq!(end, Ended::Exited(0));
        assert_eq!(lines.len(), 4);
        assert_eq!(lines.concat().len(), 200_000);
    }

    #[test]
    fn what_stays_in_the_background_is_not_waited_for() {
        let begun = Instant::now();
        let (end, lines) = heard(
            "sleep 120 & echo gone; kill %1 2>/dev/null; sleep 90 >/dev/null & echo $!",
            LONG,
            &|| false,
        );
        assert_eq!((end, lines.len()), (Ended::Exited(0), 2));
        assert!(begun.elapsed() < LONG);
        let _ = run(
            &format!("kill {}", lines[1]),
            &[],
            LONG,
            &|| false,
            &mut |_| {},
        );
    }
}
