//! Runs sides of a comparison in turn: in blocks, each of which has all sides once, in random order. What the day brings
//! falls on all of them then.
mod sides;

use crate::arguments::CompareOptions;
use crate::exit::Exit;
use crate::outputs::check_place;
use crate::progress::total_text;
use sides::ReadySide;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::hash::{BuildHasher, RandomState};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

/// How the folder of a side begins.
pub const SIDE: &str = "side-";

/// A job with the values of its variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// As on the command line.
    pub name: String,
    words: Vec<String>,
}

/// The run that is going, to which signals are handed on.
type Current = Arc<Mutex<Option<u32>>>;

impl Job {
    /// Each file begins a job; `NAME=VALUE` belongs to the one before it.
    ///
    /// # Errors
    /// In words, where there are fewer than two.
    pub fn all_of(words: &[String]) -> Result<Vec<Self>, String> {
        let mut jobs: Vec<Self> = Vec::new();
        for word in words {
            let is_value = word.contains('=') && !Path::new(word).exists();
            match jobs.last_mut() {
                Some(job) if is_value => {
                    job.name += &format!(" {word}");
                    job.words.push(word.clone());
                }
                None if is_value => {
                    return Err(format!(
                        "`{word}` is the value of a variable of no job: name the file before it"
                    ));
                }
                _ => jobs.push(Self {
                    name: word.clone(),
                    words: vec![word.clone()],
                }),
            }
        }
        match jobs.len() {
            0 | 1 => Err(
                "two jobs at least are compared: `--run A B`, or `--run FILE x=1 --run FILE x=2`"
                    .to_owned(),
            ),
            _ => Ok(jobs),
        }
    }

    /// Where its results go, below the folder of the comparison.
    pub fn folder(output: &Path, place: usize) -> PathBuf {
        output.join(format!("{SIDE}{}", place + 1))
    }
}

/// Carries out all blocks.
///
/// # Errors
/// How the program is to end: nothing could be begun, or a run failed, which has said why.
pub fn run(jobs: &[Job], output: &Path, options: &CompareOptions) -> Result<(), Exit> {
    let refused = |message: String| crate::exit::fail(Exit::Usage, &message);
    check_place(output).map_err(refused)?;
    for place in 0..jobs.len() {
        let folder = Job::folder(output, place);
        if folder.exists() {
            let shown = folder.display();
            return Err(refused(format!(
                "`{shown}` is there already, and its runs would be mixed with these; choose another folder (-o)"
            )));
        }
    }
    let sides = sides::settle(jobs, output, &options.further)?;
    errln!("{}", estimate(&sides, options.repeat));
    let current = Current::default();
    hand_on_signals(&current)
        .map_err(|error| refused(format!("signals cannot be watched: {error}")))?;
    for block in 1..=options.repeat {
        for place in shuffled(jobs.len()) {
            let (job, repeats) = (&jobs[place], options.repeat);
            errln!(
                "block {block} of {repeats}, {SIDE}{}: {}",
                place + 1,
                job.name
            );
            let folder = Job::folder(output, place).join(block.to_string());
            let status = carry_out(job, &folder, &sides[place].options, &current);
            let status =
                status.map_err(|error| refused(format!("no run can be started: {error}")))?;
            check(status, &job.name)?;
        }
    }
    Ok(())
}

/// How many runs follow, and how long they take.
fn estimate(sides: &[ReadySide], blocks: u32) -> String {
    let blocks = u64::from(blocks);
    let (mut timed_s, mut bytes) = (0, 0);
    for side in sides {
        let of_side = &side.rehearsal;
        timed_s += of_side.timed_s * blocks;
        bytes += of_side.prepared_bytes + of_side.sized_bytes * blocks;
    }
    let runs = plan::counted(blocks * sides.len() as u64, "run");
    let blocks = plan::counted(blocks, "block");
    match total_text(timed_s, bytes) {
        None => format!("{runs} in {blocks}"),
        Some(total) => format!("{runs} in {blocks}: {total}"),
    }
}

fn check(status: ExitStatus, name: &str) -> Result<(), Exit> {
    let exit = match status.code() {
        Some(0) => return Ok(()),
        Some(2) => Exit::Usage,
        Some(3) => Exit::Guard,
        Some(4) => Exit::Stopped,
        _ => Exit::Failed,
    };
    let message = format!("the run of `{name}` ended with {status}; what came before it is kept");
    Err(crate::exit::fail(exit, &message))
}

/// A process of its own for each run, as a run is the whole life of one.
fn carry_out(
    job: &Job,
    folder: &Path,
    further: &[String],
    current: &Current,
) -> std::io::Result<ExitStatus> {
    let mut command = Command::new("/proc/self/exe");
    command
        .arg("run")
        .args(&job.words)
        .arg("-o")
        .arg(folder)
        .args(further);
    // Signals of the terminal come here alone, and are handed on once.
    command
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let mut child: Child = command.spawn()?;
    set(current, Some(child.id()));
    let status = child.wait();
    set(current, None);
    status
}

fn set(current: &Current, process: Option<u32>) {
    *current.lock().unwrap_or_else(PoisonError::into_inner) = process;
}

fn hand_on_signals(current: &Current) -> std::io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let current = Arc::clone(current);
    let watch = move || {
        for signal in signals.forever() {
            let process = *current.lock().unwrap_or_else(PoisonError::into_inner);
            let process = process.and_then(|id| rustix::process::Pid::from_raw(id as i32));
            let signal = rustix::process::Signal::from_named_raw(signal);
            match (process, signal) {
                // It says itself that it was stopped.
                (Some(process), Some(signal)) => {
                    let _ = rustix::process::kill_process(process, signal);
                }
                _ => std::process::exit(Exit::Stopped.code().into()),
            }
        }
    };
    sys::thread::start("signals", watch).map(drop)
}

/// All numbers below `count`, in an order that nobody chose (Fisher and Yates, 1938).
fn shuffled(count: usize) -> Vec<usize> {
    let random = RandomState::new();
    let mut all: Vec<usize> = (0..count).collect();
    for place in (1..count).rev() {
        let other = random.hash_one(place) as usize % (place + 1);
        all.swap(place, other);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_begin_jobs_and_values_belong_to_them() {
        let words = |text: &str| -> Vec<String> { text.split(' ').map(String::from).collect() };
        let names = |text: &str| -> Result<Vec<String>, String> {
            let jobs = Job::all_of(&words(text))?;
            Ok(jobs.into_iter().map(|job| job.name).collect())
        };
        assert_eq!(names("a.parm b.parm").unwrap(), ["a.parm", "b.parm"]);
        assert_eq!(names("f x=1 y=2 f x=2").unwrap(), ["f x=1 y=2", "f x=2"]);
        assert!(names("f x=1").is_err() && names("x=1 f g").is_err());
    }

    #[test]
    fn an_order_has_everybody_once_and_each_order_comes() {
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..200 {
            let order = shuffled(3);
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2]);
            seen.insert(order);
        }
        assert_eq!(seen.len(), 6);
    }
}
