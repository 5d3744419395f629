//! `cargo xtask bench plan|report|runs|guard|fleet`: each measures the release build in rounds and prints the least, the median and
//! the worst beside the bar. What is shared stands here; what a bench makes and measures is in its own file.
mod fleet;
mod guard;
mod plan;
mod report;
mod runs;

use crate::command;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Between two looks at the memory of a program.
const LOOK: Duration = Duration::from_millis(2);

/// Runs one bench; an error when a bar is missed.
pub fn run(root: &Path, arguments: &[String]) -> Result<(), String> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.split_first() {
        Some((&"plan", rest)) => plan::run(root, rest),
        Some((&"report", rest)) => report::run(root, rest),
        Some((&"runs", rest)) => runs::run(root, rest),
        Some((&"guard", rest)) => guard::run(root, rest),
        Some((&"fleet", rest)) => fleet::run(root, rest),
        _ => Err("the benches are `plan`, `report`, `runs`, `guard` and `fleet`".to_owned()),
    }
}

/// The program to measure: the one that is given, else a fresh release build.
fn program(root: &Path, given: Option<&str>) -> Result<PathBuf, String> {
    match given {
        Some(path) => absolute(path),
        None => {
            build(root, &["--package", "fathom"])?;
            Ok(release(root).join("fathom"))
        }
    }
}

fn absolute(path: &str) -> Result<PathBuf, String> {
    std::path::absolute(path).map_err(|error| format!("`{path}`: {error}"))
}

fn build(root: &Path, what: &[&str]) -> Result<(), String> {
    let words = [&["build", "--release", "--locked"], what].concat();
    command::run(root, &command::cargo(), &words, &[])
}

/// Where cargo puts release builds.
fn release(root: &Path) -> PathBuf {
    crate::workspace::target(root).join("release")
}

/// The value of a line `name value`.
fn number(told: &str, name: &str) -> Result<f64, String> {
    let values = told.lines().filter_map(|line| line.split_once(' '));
    let found = values.filter(|(known, _)| *known == name);
    found
        .filter_map(|(_, value)| value.parse().ok())
        .next()
        .ok_or_else(|| format!("the writer tells no {name}"))
}

/// A folder that goes away.
struct Folder(PathBuf);

impl Folder {
    fn below(parent: &Path, bench: &str) -> Result<Self, String> {
        let prefix = crate::clean_lab::own_prefix();
        let path = parent.join(format!("{prefix}bench-{bench}"));
        std::fs::create_dir_all(&path).map_err(|error| format!("`{}`: {error}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left behind does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A program that has succeeded.
struct Timed {
    seconds: f64,
    /// The high-water mark of resident memory, read until the end to within two milliseconds.
    peak_mib: f64,
    stdout: String,
}

/// Runs a program in `folder`, where its output goes.
fn timed(command: &mut Command, folder: &Path) -> Result<Timed, String> {
    let shown = command.get_program().to_string_lossy().into_owned();
    let paths = [folder.join("stdout"), folder.join("stderr")];
    let [stdout, stderr] = paths.each_ref().map(File::create);
    let told = |error: std::io::Error| format!("`{shown}` does not run: {error}");
    command
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(stdout.map_err(told)?)
        .stderr(stderr.map_err(told)?);
    let begun = Instant::now();
    let mut child = command.spawn().map_err(told)?;
    let (process, is_over) = (child.id(), AtomicBool::new(false));
    let (status, seconds, peak_mib) = std::thread::scope(|scope| {
        let watch = scope.spawn(|| peak_mib(process, &is_over));
        let status = child.wait();
        let seconds = begun.elapsed().as_secs_f64();
        is_over.store(true, Ordering::Relaxed);
        (
            status,
            seconds,
            watch.join().expect("a look does not panic"),
        )
    });
    let status = status.map_err(told)?;
    let [stdout, stderr] = paths.map(|path| std::fs::read(path).unwrap_or_default());
    let stdout = String::from_utf8_lossy(&stdout).into_owned();
    if !status.success() {
        let said = String::from_utf8_lossy(&stderr);
        return Err(format!("`{shown}` ended with {status}: {stdout}{said}"));
    }
    Ok(Timed {
        seconds,
        peak_mib,
        stdout,
    })
}

fn peak_mib(process: u32, is_over: &AtomicBool) -> f64 {
    let path = format!("/proc/{process}/status");
    let mut peak_kib = 0.0_f64;
    while !is_over.load(Ordering::Relaxed) {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let high = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        if let Some(kib) = high.and_then(|rest| rest.trim().strip_suffix(" kB")) {
            peak_kib = peak_kib.max(kib.trim().parse().unwrap_or(0.0));
        }
        std::thread::sleep(LOOK);
    }
    peak_kib / 1024.0
}

fn rounds<T>(count: usize, run: impl FnMut(usize) -> Result<T, String>) -> Result<Vec<T>, String> {
    (0..count).map(run).collect()
}

/// The rows as they are printed, and which of them missed their bars.
struct Table {
    missed: Vec<String>,
}

impl Table {
    fn begin() -> Self {
        println!("| What | Rounds | Least | Median | Worst | Bar |\n|---|---|---|---|---|---|");
        Self { missed: Vec::new() }
    }

    /// The figures of all rounds; the median is held against the bar, where there is one.
    fn row(&mut self, what: &str, figures: impl IntoIterator<Item = f64>, bar: Option<f64>) {
        let figures: Vec<f64> = figures.into_iter().collect();
        let [least, median, worst] = spread(&figures);
        let shown = bar.map_or(String::new(), |bar| format!("≤ {bar}"));
        println!(
            "| {what} | {} | {least:.3} | {median:.3} | {worst:.3} | {shown} |",
            figures.len()
        );
        if bar.is_some_and(|bar| median > bar) {
            self.missed.push(what.to_owned());
        }
    }

    fn end(self) -> Result<(), String> {
        match self.missed.is_empty() {
            true => Ok(()),
            false => Err(format!("the bar is missed: {}", self.missed.join("; "))),
        }
    }
}

/// Least, median and worst of the figures of at least one round.
fn spread(figures: &[f64]) -> [f64; 3] {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    [
        sorted[0],
        sorted[sorted.len() / 2],
        sorted[sorted.len() - 1],
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_held_against_the_bar() {
        let mut table = Table::begin();
        table.row("met by the median", [9.0, 1.0, 2.0], Some(2.0));
        table.row("without a bar", [9.0], None);
        assert!(table.missed.is_empty());
        table.row("missed", [1.0, 3.0, 2.5], Some(2.0));
        assert_eq!(table.end().unwrap_err(), "the bar is missed: missed");
        assert_eq!(spread(&[9.0, 1.0, 2.0]), [1.0, 2.0, 9.0]);
    }

    #[test]
    fn a_program_is_timed_and_its_failure_told() {
        let folder = Folder::below(&std::env::temp_dir(), "test").unwrap();
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            timed(&mut command, &folder.0)
        };
        let found = shell("sleep 0.1; echo done").unwrap();
        assert_eq!(found.stdout, "done\n");
        assert!(found.seconds >= 0.1 && found.peak_mib > 0.0);
        let message = shell("echo a; echo b >&2; exit 3").err().unwrap();
        assert!(message.contains("3: a\nb"), "{message}");
    }

    #[test]
    fn an_unknown_bench_is_refused_with_the_list() {
        let message = run(Path::new("/"), &["other".to_owned()]).unwrap_err();
        assert_eq!(
            message,
            "the benches are `plan`, `report`, `runs`, `guard` and `fleet`"
        );
    }
}
