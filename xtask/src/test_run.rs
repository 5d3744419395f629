//! Runs the tests of the workspace and counts those that could not be run here.
//!
//! The runner knows *passed*, *failed* and *ignored*; a test that finds a tool or a right missing prints
//! `skipped: REASON` and passes. Here such a test is counted as skipped. What tests print is asked of the runner and
//! read, and of those that passed only the reasons are shown.
use crate::command::{self, cargo};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

const ARGUMENTS: &[&str] = &[
    "test",
    "--workspace",
    "--no-fail-fast",
    "--",
    "--show-output",
];

/// Builds what [`run`] runs, and the program along with it.
pub const BUILD: &[&str] = &["test", "--workspace", "--no-run"];

/// How a test says that it could not be run, or could be run in part only.
const SKIPPED: &str = "skipped: ";

/// What one line of the runner is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Part {
    /// The names of tests with how they ended, and the summary.
    #[default]
    Results,
    /// What tests printed that passed.
    Successes,
    /// What tests printed that failed.
    Failures,
}

/// How the tests ended, over all binaries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: u64,
    failed: u64,
    ignored: u64,
    /// Names of tests that passed, with each reason that they gave.
    skipped: Vec<(String, Vec<String>)>,
    part: Part,
    /// Whose output is being read.
    test: Option<String>,
}

impl Tally {
    /// Takes a line, and says whether it is shown.
    fn take(&mut self, line: &str) -> bool {
        match line {
            "successes:" => self.begin(Part::Successes),
            "failures:" => self.begin(Part::Failures),
            _ => {}
        }
        if let Some(counts) = line.strip_prefix("test result: ") {
            self.begin(Part::Results);
            self.add(counts);
        }
        if self.part == Part::Successes {
            self.listen(line);
        }
        self.part != Part::Successes
    }

    fn begin(&mut self, part: Part) {
        self.part = part;
        self.test = None;
    }

    /// `ok. 3 passed; 0 failed; 1 ignored; …`
    fn add(&mut self, counts: &str) {
        let words: Vec<&str> = counts.split([' ', ';', '.']).collect();
        for pair in words.windows(2) {
            let Ok(count) = pair[0].parse::<u64>() else {
                continue;
            };
            match pair[1] {
                "passed" => self.passed += count,
                "failed" => self.failed += count,
                "ignored" => self.ignored += count,
                _ => {}
            }
        }
    }

    fn listen(&mut self, line: &str) {
        let head = line.strip_prefix("---- ");
        if let Some(name) = head.and_then(|rest| rest.strip_suffix(" stdout ----")) {
            self.test = Some(name.to_owned());
        } else if let (Some(test), Some(reason)) = (&self.test, line.strip_prefix(SKIPPED)) {
            match self.skipped.last_mut().filter(|(name, _)| name == test) {
                Some((_, reasons)) => reasons.push(reason.to_owned()),
                None => self.skipped.push((test.clone(), vec![reason.to_owned()])),
            }
        }
    }

    /// The closing summary, with the reason of each test that was skipped.
    fn summary(&self) -> String {
        let mut text = String::new();
        for (name, reasons) in &self.skipped {
            text.push_str(&format!("skipped {name}: {}\n", reasons.join("; ")));
        }
        let skipped = self.skipped.len() as u64;
        text.push_str(&format!(
            "{} passed; {} failed; {skipped} skipped in whole or in part; {} ignored\n",
            self.passed.saturating_sub(skipped),
            self.failed,
            self.ignored,
        ));
        text
    }
}

/// Runs those whose names hold one of these texts, or all, shows what the runner shows without being asked for more, and
/// gives the summary.
pub fn run(root: &Path, names: &[&str], environment: &[(&str, &str)]) -> Result<String, String> {
    let arguments = [ARGUMENTS, names].concat();
    let shown = format!("cargo {}", arguments.join(" "));
    eprintln!("== {shown}");
    let mut runner = Command::new(cargo())
        .args(arguments)
        .envs(environment.iter().copied())
        .current_dir(root)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("`{shown}` does not start: {error}"))?;
    let output = runner.stdout.take().expect("it was asked for");
    let mut tally = Tally::default();
    let mut own = std::io::stdout().lock();
    for line in BufReader::new(output).split(b'\n') {
        let line = line.map_err(|error| format!("`{shown}`: {error}"))?;
        let line = String::from_utf8_lossy(&line);
        if tally.take(&line) {
            // Whoever reads no longer loses the text, not the outcome.
            let _ = writeln!(own, "{line}");
        }
    }
    let status = runner
        .wait()
        .map_err(|error| format!("`{shown}`: {error}"))?;
    match command::outcome(&shown, status) {
        Ok(()) => Ok(tally.summary()),
        Err(error) => Err(format!("{}{error}", tally.summary())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
running 3 tests
test a::whole ... ok
test a::missing ... ok
test a::broken ... FAILED

successes:

---- a::missing stdout ----
skipped: no fio is installed here
skipped: no chromium

---- a::whole stdout ----
something was skipped: not so

successes:
    a::missing
    a::whole

failures:

---- a::broken stdout ----
skipped: this one failed

failures:
    a::broken

test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s
test result: ok. 40 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out; finished in 1.40s
";

    #[test]
    fn what_was_skipped_did_not_pass() {
        let mut tally = Tally::default();
        let shown: Vec<&str> = OUTPUT.lines().filter(|line| tally.take(line)).collect();
        assert_eq!(
            tally.summary(),
            "skipped a::missing: no fio is installed here; no chromium\n\
             41 passed; 1 failed; 1 skipped in whole or in part; 2 ignored\n"
        );
        assert!(shown.contains(&"---- a::broken stdout ----"));
        assert!(!shown.contains(&"---- a::whole stdout ----"));
        assert_eq!(shown.len(), 15, "{shown:?}");
    }
}
