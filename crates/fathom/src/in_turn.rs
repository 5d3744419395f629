//! Runs sides of a comparison in turn: in blocks, each of which has all sides once, in random order. What the day brings
//! falls on all of them then.
mod schedule;
mod sides;

pub use schedule::is_schedule;

use crate::arguments::CompareOptions;
use crate::exit::{Exit, fail};
use crate::outputs::check_place;
use crate::progress::total_text;
use schedule::Schedule;
use sides::ReadySide;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::hash::{BuildHasher, RandomState};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

/// How the folder of a side begins.
const SIDE: &str = "side-";

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
    let refused = |message: String| fail(Exit::Usage, &message);
    check_place(output).map_err(refused)?;
    check_free(jobs, output).map_err(refused)?;
    let mut schedule = Schedule::new(jobs, sides::without_words(&options.further));
    schedule.plan_blocks(options.repeat);
    let sides = sides::settle(jobs, output, &options.further)?;
    errln!("{}", estimate(&sides, options.repeat));
    std::fs::create_dir_all(output).map_err(|error| {
        refused(format!(
            "folder `{}` cannot be made: {error}",
            output.display()
        ))
    })?;
    schedule.write(output).map_err(refused)?;
    let current = Current::default();
    hand_on_signals(&current)
        .map_err(|error| refused(format!("signals cannot be watched: {error}")))?;
    for block in 0..options.repeat as usize {
        for side in schedule.blocks[block].left() {
            let (number, job) = (block + 1, &jobs[side]);
            let repeat = options.repeat;
            errln!(
                "block {number} of {repeat}, {SIDE}{}: {}",
                side + 1,
                job.name
            );
            let folder = Job::folder(output, side).join(number.to_string());
            let status = carry_out(job, &folder, &sides[side].options, &current);
            let status =
                status.map_err(|error| refused(format!("no run can be started: {error}")))?;
            check(status, &job.name)?;
            schedule.blocks[block].finished.push(side);
            schedule.write(output).map_err(refused)?;
        }
    }
    Ok(())
}

/// Refuses a folder with runs that would be mixed with others.
fn check_free(jobs: &[Job], output: &Path) -> Result<(), String> {
    let mut folders = (0..jobs.len()).map(|side| Job::folder(output, side));
    match folders.find(|folder| folder.exists()) {
        None => Ok(()),
        Some(folder) => Err(format!(
            "`{}` is there already, and its runs would be mixed with these; choose another folder (-o)",
            folder.display()
        )),
    }
}

/// For each of these results, its folders of the blocks that all of them have finished; `None` if they are not sides of one
/// comparison that keeps a schedule.
///
/// # Errors
/// In words, if no block is complete, or the schedule cannot be read.
pub fn paired(results: &[PathBuf]) -> Result<Option<Vec<Vec<PathBuf>>>, String> {
    let numbers: Option<Vec<usize>> = results.iter().map(|path| side_of(path)).collect();
    let (Some(sides), Some(folder)) = (numbers, common_parent(results)) else {
        return Ok(None);
    };
    let Some(schedule) = Schedule::read(&folder)? else {
        return Ok(None);
    };
    let complete = schedule.complete(&sides);
    if complete.is_empty() {
        return Err(format!(
            "no block of `{}` is complete on all of these sides",
            folder.display()
        ));
    }
    let blocks = |result: &PathBuf| {
        let folders = complete.iter().map(|block| result.join(block.to_string()));
        folders.collect()
    };
    Ok(Some(results.iter().map(blocks).collect()))
}

/// The index of a side by the name of its folder.
pub fn side_of(path: &Path) -> Option<usize> {
    let number: usize = path
        .file_name()?
        .to_str()?
        .strip_prefix(SIDE)?
        .parse()
        .ok()?;
    number.checked_sub(1)
}

/// The folder that all of these are in.
pub fn common_parent(results: &[PathBuf]) -> Option<PathBuf> {
    let parent = |path: &PathBuf| Some(std::fs::canonicalize(path).ok()?.parent()?.to_owned());
    let first = parent(results.first()?)?;
    let mut rest = results.iter().map(parent);
    rest.all(|other| other.as_ref() == Some(&first))
        .then_some(first)
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
    Err(fail(exit, &message))
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
