//! Runs sides of a comparison in turn: in blocks, each of which has all sides once, in random order. What the day brings
//! falls on all of them then.
mod schedule;
mod sides;

use crate::arguments::{CompareOptions, SideWord};
use crate::exit::{Exit, fail};
use crate::outputs::{check_place, hold_folder, is_held};
use crate::progress::total_text;
use schedule::Schedule;
use serde::{Deserialize, Serialize};
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

/// Blocks of a comparison when nothing is said.
const BLOCKS: u32 = 5;

/// A job with the values of its variables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The file and the values, as on the command line.
    words: Vec<String>,
    /// Of this side only.
    labels: Vec<String>,
}

/// The run that is going, to which signals are handed on.
type Current = Arc<Mutex<Option<u32>>>;

impl Job {
    /// Each file begins a job; `NAME=VALUE` and labels belong to the one before them.
    ///
    /// # Errors
    /// In words, where there are fewer than two.
    pub fn all_of(words: &[SideWord]) -> Result<Vec<Self>, String> {
        let mut jobs: Vec<Self> = Vec::new();
        for word in words {
            match (word, jobs.last_mut()) {
                (SideWord::Label(label), Some(job)) => job.labels.push(label.clone()),
                (SideWord::Label(label), None) => {
                    return Err(format!(
                        "`--label {label}` names no side: give it after its job, or after `--` for all sides"
                    ));
                }
                (SideWord::Job(word), last) if word.contains('=') && !Path::new(word).exists() => {
                    let job = last.ok_or_else(|| {
                        format!(
                            "`{word}` is the value of a variable of no job: name the file before it"
                        )
                    })?;
                    job.words.push(word.clone());
                }
                (SideWord::Job(word), _) => jobs.push(Self {
                    words: vec![word.clone()],
                    labels: Vec::new(),
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

    /// The file and the values, with the labels of this side.
    pub fn name(&self) -> String {
        let words = self.words.join(" ");
        match &*self.labels {
            [] => words,
            labels => format!("{words} ({})", labels.join(", ")),
        }
    }

    /// Where its results go, below the folder of the comparison.
    pub fn folder(output: &Path, place: usize) -> PathBuf {
        output.join(format!("{SIDE}{}", place + 1))
    }

    /// Where one of them goes. Blocks are numbered from 1 on.
    pub fn run_folder(output: &Path, side: usize, block: usize) -> PathBuf {
        Self::folder(output, side).join(block.to_string())
    }
}

/// Carries out all blocks.
///
/// # Errors
/// How the program is to end: nothing could be begun, or a run failed, which has said why.
pub fn run(jobs: &[Job], output: &Path, options: &CompareOptions) -> Result<(), Exit> {
    let refused = |message: String| fail(Exit::Usage, &message);
    check_place(output).map_err(refused)?;
    let new = Schedule::new(jobs, sides::without_words(&options.further));
    let mut schedule = match options.resume {
        true => earlier(output, &new),
        false => check_free(jobs, output).map(|()| new),
    }
    .map_err(refused)?;
    let repeat = options.repeat.or(schedule.repeat()).unwrap_or(BLOCKS);
    schedule.plan_blocks(repeat);
    if schedule.is_complete() {
        errln!("note: all runs of `{}` are complete", output.display());
        return Ok(());
    }
    let sides = sides::settle(jobs, output, &schedule, &options.further)?;
    errln!("{}", estimate(&sides, &schedule));
    std::fs::create_dir_all(output).map_err(|error| {
        refused(format!(
            "folder `{}` cannot be made: {error}",
            output.display()
        ))
    })?;
    let _held = hold_folder(output);
    schedule.write(output).map_err(refused)?;
    let current = Current::default();
    hand_on_signals(&current)
        .map_err(|error| refused(format!("signals cannot be watched: {error}")))?;
    run_blocks(jobs, output, &mut schedule, |side, folder| {
        carry_out(&jobs[side], folder, &sides[side].options, &current)
    })
}

fn run_blocks(
    jobs: &[Job],
    output: &Path,
    schedule: &mut Schedule,
    run: impl Fn(usize, &Path) -> std::io::Result<ExitStatus>,
) -> Result<(), Exit> {
    let refused = |message: String| fail(Exit::Usage, &message);
    let blocks = schedule.blocks.len();
    for block in 0..blocks {
        for side in schedule.blocks[block].left() {
            let (number, name) = (block + 1, jobs[side].name());
            errln!("block {number} of {blocks}, {SIDE}{}: {name}", side + 1);
            let status = run(side, &Job::run_folder(output, side, number));
            let status =
                status.map_err(|error| refused(format!("no run can be started: {error}")))?;
            check(status, &name)?;
            schedule.blocks[block].finished.push(side);
            schedule.write(output).map_err(refused)?;
        }
    }
    Ok(())
}

/// What there is of a comparison that was interrupted.
///
/// # Errors
/// In words, if there is none, if it is of other jobs, or if it still goes on.
fn earlier(output: &Path, new: &Schedule) -> Result<Schedule, String> {
    let shown = output.display();
    let Some(mut schedule) = Schedule::read(output)? else {
        return Err(format!(
            "`{shown}` holds no comparison to resume; leave out --resume to begin one"
        ));
    };
    let differences = schedule.differences(new);
    if !differences.is_empty() {
        return Err(format!(
            "the comparison in `{shown}` cannot be resumed: {}",
            differences.join("; ")
        ));
    }
    if is_held(output) {
        return Err(format!("a comparison is running in `{shown}`"));
    }
    schedule.forget_missing(output);
    let blocks = schedule.blocks.iter().enumerate();
    let mut folders = blocks.flat_map(|(index, block)| {
        let left = block.left().into_iter();
        left.map(move |side| Job::run_folder(output, side, index + 1))
    });
    // A run outlives a comparison that was killed.
    match folders.find(|folder| folder.exists() && is_held(folder)) {
        None => Ok(schedule),
        Some(folder) => Err(format!(
            "a run of the interrupted comparison still writes to `{}`: wait until it has ended",
            folder.display()
        )),
    }
}

/// Refuses a folder with runs that would be mixed with others.
fn check_free(jobs: &[Job], output: &Path) -> Result<(), String> {
    let mut folders = (0..jobs.len()).map(|side| Job::folder(output, side));
    match folders.find(|folder| folder.exists()) {
        None => Ok(()),
        Some(folder) => Err(format!(
            "`{}` is there already, and its runs would be mixed with these; choose another folder (-o), or resume an interrupted comparison with --resume",
            folder.display()
        )),
    }
}

/// Sides of one comparison.
pub struct Paired {
    /// Their jobs and labels.
    pub names: Vec<String>,
    /// For each its folders of the blocks that all of them have finished.
    pub blocks: Vec<Vec<PathBuf>>,
}

/// What these results are if they are sides of one comparison that keeps a schedule; `None` otherwise.
///
/// # Errors
/// In words, if no block is complete, or the schedule cannot be read.
pub fn paired(results: &[PathBuf]) -> Result<Option<Paired>, String> {
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
    Ok(Some(Paired {
        names: sides.iter().map(|side| schedule.name(*side)).collect(),
        blocks: results.iter().map(blocks).collect(),
    }))
}

/// The folder of the side that `COMPARISON@KEY=VALUE` names; anything else as it is given.
pub fn labelled(given: &Path) -> PathBuf {
    let side = given.to_str().and_then(|text| {
        let (folder, label) = text.rsplit_once('@').filter(|_| !given.exists())?;
        let folder = Path::new(folder);
        let side = Schedule::read(folder).ok()??.side_with(label)?;
        Some(Job::folder(folder, side))
    });
    side.unwrap_or_else(|| given.to_owned())
}

/// The index of a side by the name of its folder.
fn side_of(path: &Path) -> Option<usize> {
    let number: usize = path
        .file_name()?
        .to_str()?
        .strip_prefix(SIDE)?
        .parse()
        .ok()?;
    number.checked_sub(1)
}

/// The folder that all of these are in.
fn common_parent(results: &[PathBuf]) -> Option<PathBuf> {
    // A side that has no run yet has no folder.
    let parent = |path: &PathBuf| {
        let parent = path.parent()?;
        let is_named = !parent.as_os_str().is_empty();
        let parent = if is_named { parent } else { Path::new(".") };
        std::fs::canonicalize(parent).ok()
    };
    let first = parent(results.first()?)?;
    let mut rest = results.iter().map(parent);
    rest.all(|other| other.as_ref() == Some(&first))
        .then_some(first)
}

/// How many runs follow, and how long they take.
fn estimate(sides: &[ReadySide], schedule: &Schedule) -> String {
    let (mut timed_s, mut bytes, mut runs) = (0, 0, 0);
    for (side, ready) in sides.iter().enumerate() {
        let (left, rehearsal) = (schedule.left_of(side), &ready.rehearsal);
        runs += left;
        timed_s += rehearsal.timed_s * left;
        bytes += rehearsal.prepared_bytes + rehearsal.sized_bytes * left;
    }
    let runs = plan::counted(runs, "run");
    let blocks = plan::counted(schedule.blocks_left(), "block");
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
    let message = format!(
        "the run of `{name}` ended with {status}; what came before it is kept, and --resume goes on from there"
    );
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
pub mod tests {
    use super::*;

    /// A word that begins with `@` is a label.
    pub fn jobs(text: &str) -> Result<Vec<Job>, String> {
        let word = |word: &str| match word.strip_prefix('@') {
            Some(label) => SideWord::Label(label.to_owned()),
            None => SideWord::Job(word.to_owned()),
        };
        Job::all_of(&text.split(' ').map(word).collect::<Vec<_>>())
    }

    #[test]
    fn files_begin_jobs_and_what_follows_belongs_to_them() {
        let names = |text: &str| -> Result<Vec<String>, String> {
            Ok(jobs(text)?.iter().map(Job::name).collect())
        };
        assert_eq!(names("a.parm b.parm").unwrap(), ["a.parm", "b.parm"]);
        assert_eq!(names("f x=1 y=2 f x=2").unwrap(), ["f x=1 y=2", "f x=2"]);
        assert_eq!(
            names("f @k=1 x=1 @l=2 g").unwrap(),
            ["f x=1 (k=1, l=2)", "g"]
        );
        for wrong in ["f x=1", "x=1 f g", "@k=1 f g"] {
            assert!(names(wrong).is_err(), "{wrong}");
        }
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
