//! Runs programs one at a time, says what was run, and takes the CPU time that the kernel charged for each.
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

/// A program that has ended.
#[derive(Debug)]
pub struct Finished {
    pub stdout: String,
    pub stderr: String,
    pub is_success: bool,
    /// User and system time of the program and of what it waited for, ns; in ticks of 10 ms.
    pub cpu_ns: u64,
}

/// Runs a program to its end and adds what was run to `commands`.
///
/// # Errors
/// A message when it does not start.
pub fn run(
    commands: &mut Vec<String>,
    program: impl AsRef<OsStr>,
    arguments: &[String],
) -> Result<Finished, String> {
    let shown = shown(program.as_ref(), arguments);
    eprintln!("$ {shown}");
    commands.push(shown.clone());
    let before = children_cpu_ns();
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("`{shown}` does not start: {error}"))?;
    Ok(Finished {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        is_success: output.status.success(),
        cpu_ns: children_cpu_ns().saturating_sub(before),
    })
}

impl Finished {
    /// Itself, unless it failed.
    ///
    /// # Errors
    /// The last lines that it printed.
    pub fn successful(self, name: &str) -> Result<Self, String> {
        if self.is_success {
            return Ok(self);
        }
        let printed = if self.stderr.trim().is_empty() {
            &self.stdout
        } else {
            &self.stderr
        };
        let lines: Vec<&str> = printed
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        let last = &lines[lines.len().saturating_sub(6)..];
        Err(format!("{name} failed: {}", last.join(" / ")))
    }
}

/// What `program --version` says on its first line; nothing when it is not installed.
pub fn version(program: &str) -> Option<String> {
    let output = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    output
        .status
        .success()
        .then(|| text.lines().next().unwrap_or_default().trim().to_owned())
}

/// Words for a shell.
pub fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// What somebody would type to run it again.
fn shown(program: &OsStr, arguments: &[String]) -> String {
    let name = Path::new(program).file_name().unwrap_or(program);
    let words = std::iter::once(name.to_string_lossy().into_owned())
        .chain(arguments.iter().map(|word| quoted(word)));
    words.collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=./,:@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// proc_pid_stat(5): fields 16 and 17, the user and system time of children that were waited for.
fn children_cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: u64 = after_name
        .split_ascii_whitespace()
        .skip(13)
        .take(2)
        .filter_map(|word| word.parse::<u64>().ok())
        .sum();
    ticks * (1_000_000_000 / rustix::param::clock_ticks_per_second().max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_time_of_a_child_is_seen_and_the_command_kept() {
        let mut commands = Vec::new();
        let burn = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo done";
        let finished = run(&mut commands, "sh", &owned(&["-c", burn])).unwrap();
        let finished = finished.successful("sh").unwrap();
        assert_eq!(finished.stdout, "done\n");
        // 100 000 turns of a shell take more than the two ticks that rounding may hide on any machine.
        assert!(finished.cpu_ns >= 10_000_000, "{}", finished.cpu_ns);
        assert_eq!(commands, [format!("sh -c '{burn}'")]);
    }

    #[test]
    fn a_failure_shows_what_was_printed_last() {
        let finished = run(
            &mut Vec::new(),
            "sh",
            &owned(&["-c", "echo a; echo b >&2; exit 3"]),
        );
        assert_eq!(
            finished.unwrap().successful("it").unwrap_err(),
            "it failed: b"
        );
    }
}
