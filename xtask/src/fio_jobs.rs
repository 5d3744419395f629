//! Small jobs for the engine `null`, drawn from tables of options, through fio and through Fathom: which I/Os each of them
//! did, by their logs. Counts are compared exactly, places as sets, and sequences where they do not depend on a
//! generator. A job follows from its number, so a difference can be run again by it. Read [`draw::Job`] first.
mod alike;
mod compare;
mod draw;
mod known;
mod logs;

use crate::workspace;
use compare::Verdict;
use draw::Job;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

pub const HELP: &str = "\
cargo xtask compare-fio [--jobs N] [--seed N] [--program PATH] [--show] [--documented] [--hosts]
                                  the same small jobs through fio 3.33 and Fathom; `--seed N --jobs 1` repeats one,
                                  `--documented` prints what is otherwise for a reason, too; `--hosts` has Fathom alone
                                  do them, once directly and once on one host, and compares that";

/// The release whose behaviour is the measure.
const VERSION: &str = "fio-3.33";
/// Of one program on one job; some jobs never end in fio.
const SECONDS_MAX: &str = "10";
/// Jobs at a time.
const WORKERS: usize = 2;

struct Options {
    jobs: u64,
    seed: u64,
    program: Option<PathBuf>,
    /// Prints the logs of both, too.
    shows: bool,
    /// Prints documented differences, too.
    has_documented: bool,
    /// Compares this machine with one host instead of fio with Fathom.
    on_hosts: bool,
}

/// What one program made of a job.
pub struct Outcome {
    pub code: Option<i32>,
    pub text: String,
    pub logs: Vec<Vec<logs::Row>>,
}

/// What became of all jobs.
#[derive(Default)]
struct Tally {
    equal: u64,
    unusable: u64,
    known: BTreeMap<&'static str, u64>,
    different: u64,
}

pub fn run(root: &Path, arguments: &[String]) -> Result<(), String> {
    let options = options(arguments)?;
    if let Some(reason) = missing_fio().filter(|_| !options.on_hosts) {
        println!("skipped: {reason}");
        return Ok(());
    }
    let program = match &options.program {
        Some(program) => std::path::absolute(program).map_err(|error| error.to_string())?,
        None => {
            let build = ["build", "--locked", "--package", "fathom"];
            crate::command::run(root, &crate::command::cargo(), &build, &[])?;
            workspace::program(root)
        }
    };
    let folder = std::env::temp_dir().join(format!("fathom-compare-fio-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let outcome = all(&program, &folder, &options);
    let _ = std::fs::remove_dir_all(&folder);
    let tally = outcome?;
    print(&tally);
    match tally.different {
        0 => Ok(()),
        count if options.on_hosts => Err(format!("{count} jobs are done otherwise on a host")),
        count => Err(format!("{count} jobs are done otherwise than by fio")),
    }
}

fn options(arguments: &[String]) -> Result<Options, String> {
    let mut options = Options {
        jobs: 2000,
        seed: 1,
        program: None,
        shows: false,
        has_documented: false,
        on_hosts: false,
    };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if word == "--show" {
            options.shows = true;
            continue;
        }
        if word == "--hosts" {
            options.on_hosts = true;
            continue;
        }
        if word == "--documented" {
            options.has_documented = true;
            continue;
        }
        let value = words.next().ok_or(HELP)?;
        let number = || {
            value
                .parse()
                .map_err(|_| format!("invalid number `{value}`"))
        };
        match word.as_str() {
            "--jobs" => options.jobs = number()?,
            "--seed" => options.seed = number()?,
            "--program" => options.program = Some(value.into()),
            _ => return Err(HELP.to_owned()),
        }
    }
    Ok(options)
}

fn missing_fio() -> Option<String> {
    let output = Command::new("fio").arg("--version").output();
    let version = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    match version {
        Ok(version) if version == VERSION => None,
        Ok(version) => Some(format!("`fio` is `{version}`, and not `{VERSION}`")),
        Err(error) => Some(format!("`fio` does not start: {error}")),
    }
}

fn all(program: &Path, folder: &Path, options: &Options) -> Result<Tally, String> {
    let next = AtomicU64::new(options.seed);
    let end = options.seed.saturating_add(options.jobs);
    let tally = Mutex::new(Tally::default());
    let failure = Mutex::new(None);
    std::thread::scope(|scope| {
        for worker in 0..WORKERS {
            let (next, tally, failure) = (&next, &tally, &failure);
            scope.spawn(move || {
                let folder = folder.join(worker.to_string());
                loop {
                    let number = next.fetch_add(1, Relaxed);
                    if number >= end {
                        return;
                    }
                    match one(program, &folder, number, options) {
                        Ok(verdict) => tally.lock().expect("no panic").add(verdict),
                        Err(error) => {
                            *failure.lock().expect("no panic") = Some(error);
                            return;
                        }
                    }
                }
            });
        }
    });
    match failure.into_inner().expect("no panic") {
        Some(error) => Err(error),
        None => Ok(tally.into_inner().expect("no panic")),
    }
}

/// One job through both; a difference is printed as it is found.
fn one(program: &Path, folder: &Path, number: u64, options: &Options) -> Result<Verdict, String> {
    let job = Job::drawn(number);
    if options.on_hosts {
        let verdict = alike::verdict(program, &job, folder, &folder.join("home"))?;
        if let Verdict::Different(what) = &verdict {
            println!("job {number}\n  {}\n  {what}", job.line());
        }
        return Ok(verdict);
    }
    let fio = outcome(Path::new("fio"), &[], &job, &folder.join("fio"))?;
    let ours = outcome(program, &["fio"], &job, &folder.join("fathom"))?;
    let verdict = compare::verdict(&job, &fio, &ours);
    let mut text = String::new();
    if let Verdict::Different(what) = &verdict {
        let line = job.line();
        text = format!("job {number}\n  fio {line}\n  fathom fio {line}\n  {what}\n");
    }
    if let (Verdict::Known(row, what), true) = (&verdict, options.has_documented) {
        let line = job.line();
        text = format!("job {number}, as documented: {row}\n  {line}\n  {what}\n");
    }
    if options.shows {
        text += &format!("{verdict:?}\n{}\n", job.line());
        for (name, outcome) in [("fio", &fio), ("fathom", &ours)] {
            text += &format!("{name}: {}\n", outcome.text.trim());
            for (clone, log) in outcome.logs.iter().enumerate() {
                let rows: Vec<String> = log.iter().map(logs::Row::to_string).collect();
                text += &format!("  {}: {}\n", clone + 1, rows.join(" "));
            }
        }
    }
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())
        .map_err(|error| error.to_string())?;
    Ok(verdict)
}

/// Runs a job in an empty folder of its own.
fn outcome(program: &Path, verb: &[&str], job: &Job, folder: &Path) -> Result<Outcome, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let _ = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder).map_err(failed)?;
    let output = Command::new("timeout")
        .args(["-k", "1", SECONDS_MAX])
        .arg(program)
        .args(verb)
        .args(job.arguments())
        .args(["--write_lat_log=log", "--log_offset=1", "--output=out"])
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("`{}` does not start: {error}", program.display()))?;
    let shown = String::from_utf8_lossy(&output.stderr).into_owned();
    let report = std::fs::read_to_string(folder.join("out")).unwrap_or_default();
    Ok(Outcome {
        code: output.status.code(),
        text: shown + &report,
        logs: logs_of(job, folder)?,
    })
}

fn logs_of(job: &Job, folder: &Path) -> Result<Vec<Vec<logs::Row>>, String> {
    let logs = (1..=job.clones).map(|clone| folder.join(format!("log_lat.{clone}.log")));
    let mut logs: Vec<Vec<logs::Row>> = logs
        .map(|path| logs::read(&path))
        .collect::<Result<_, _>>()?;
    // fio numbers them by the moment at which they are opened.
    logs.sort_by_key(|log| (log.iter().map(|row| row.offset).min(), log.len()));
    Ok(logs)
}

impl Tally {
    fn add(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Equal => self.equal += 1,
            Verdict::Unusable => self.unusable += 1,
            Verdict::Known(name, _) => *self.known.entry(name).or_default() += 1,
            Verdict::Different(_) => self.different += 1,
        }
    }
}

fn print(tally: &Tally) {
    println!("{} jobs done alike", tally.equal);
    println!("{} jobs that fio refuses or does not end", tally.unusable);
    for (name, count) in &tally.known {
        println!("{count} jobs otherwise, as documented: {name}");
    }
    println!("{} jobs otherwise", tally.different);
}
