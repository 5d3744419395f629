//! Fathom as a contender: parameter files are written, run by the release binary, and the numbers taken from the result
//! file that the run leaves, not from what it prints.
//!
//! Its CPU time is that of the whole process in the measured intervals, all threads included.
use crate::process::{Finished, owned};
use crate::reading::{
    LATENESS_MAX, LATENESS_P50, LATENESS_P99, PROCESS_CPU, RATE, Reading, Window,
};
use crate::session::Session;
use measure::{Event, Interval, RunFold, RunTotals};
use std::path::{Path, PathBuf};

/// Arrivals of the whole run, warm-up too, and what became of them.
pub const SCHEDULED: &str = "scheduled";
pub const SUBMITTED: &str = "submitted";
/// Scheduled less submitted and unsent.
pub const UNACCOUNTED: &str = "unaccounted";
/// Successful completions that the intervals of the whole run hold.
pub const COMPLETED: &str = "completed";
pub const SLOTS_BUSY: &str = "slots_busy";
pub const BACKEND_WORKERS: &str = "workers";
/// Completed against asked, over the measured window.
pub const RATE_SHARE: &str = "rate_share_of_asked";
pub const HOST_CPU: &str = "host_cpu_ns_per_operation";

/// A run as its result file tells it.
#[derive(Debug)]
pub struct Ours {
    pub totals: RunTotals,
    pub backend: String,
    /// Of that run, the unmeasured ones too.
    pub intervals: Vec<Interval>,
    pub finished: Finished,
}

/// What to run, in the words of a parameter file.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// Names the parameter file.
    pub name: &'a str,
    /// Of the storage definition, without its name.
    pub storage: &'a str,
    /// Of the workload definition, without its name and storage.
    pub work: &'a str,
    /// Of the run definition, without its name, workload and times.
    pub run: &'a str,
    /// Further options of `fathom run`.
    pub options: &'a [&'a str],
}

/// Runs a job for the window of the session.
///
/// # Errors
/// A message when it fails or has I/O errors.
pub fn run(session: &mut Session, job: &Job<'_>) -> Result<Ours, String> {
    let settings = session.settings;
    execute(session, job, settings.ramp_s, settings.window_s, &[])
}

/// Writes the parameter file and runs it, under another program where `wrapper` names one.
///
/// # Errors
/// A message when it fails or has I/O errors.
pub fn execute(
    session: &mut Session,
    job: &Job<'_>,
    ramp_s: u64,
    window_s: u64,
    wrapper: &[&str],
) -> Result<Ours, String> {
    let text = parameters(job, ramp_s, window_s);
    let file = session.folder.join(format!("{}.parm", job.name));
    std::fs::write(&file, &text).map_err(|error| format!("{}: {error}", file.display()))?;
    if !session.commands.iter().any(|command| command == &text) {
        eprint!("{text}");
        session.commands.push(text);
    }
    let output = empty_output(session)?;
    let mut words = owned(wrapper);
    words.push(session.fathom.display().to_string());
    words.push("run".to_owned());
    words.push(file.display().to_string());
    words.extend(owned(job.options));
    words.extend(["-o".to_owned(), output.display().to_string()]);
    let program = words.remove(0);
    let finished = session.run(program, &words)?.successful(job.name)?;
    without_errors(&output, finished)
}

/// A folder for the result that does not exist yet.
///
/// # Errors
/// A message when what was there cannot be removed.
fn empty_output(session: &Session) -> Result<PathBuf, String> {
    let output = session.results.join("fathom");
    if output.exists() {
        std::fs::remove_dir_all(&output)
            .map_err(|error| format!("{}: {error}", output.display()))?;
    }
    Ok(output)
}

fn without_errors(output: &Path, finished: Finished) -> Result<Ours, String> {
    let ours = read(&output.join("result.fathom"), finished)?;
    eprintln!(
        "# backend {}, {} workers, {:.0} I/Os per second",
        ours.backend,
        ours.totals.workers.workers,
        ours.totals.rate()
    );
    match ours.totals.errors() {
        0 => Ok(ours),
        errors => Err(format!("{errors} I/O errors")),
    }
}

/// What a result file says of the last run that measured.
///
/// # Errors
/// A message when it cannot be read or holds no such run.
pub fn read(path: &Path, finished: Finished) -> Result<Ours, String> {
    let reader = store::Reader::open(path).map_err(|error| error.to_string())?;
    let mut fold = RunFold::default();
    let mut last = None;
    let mut backend = String::new();
    let mut intervals = Vec::new();
    for event in reader.events() {
        let event = event.map_err(|error| error.to_string())?;
        match &event {
            Event::ExecutionStarted(started) => backend = started.backend.clone(),
            Event::RunStarted(_) => intervals.clear(),
            Event::Interval(interval) => intervals.push(interval.clone()),
            _ => {}
        }
        last = fold.fold(&event).or(last);
    }
    let totals = last.ok_or_else(|| format!("{}: no run was finished", path.display()))?;
    Ok(Ours {
        totals,
        backend,
        intervals,
        finished,
    })
}

impl Ours {
    pub fn reading(&self) -> Reading {
        let totals = &self.totals;
        let host = &totals.host;
        let window = Window {
            operations: totals.operations(),
            window_ns: totals.length_ns,
            cpu_ns: host.fathom_user_ns + host.fathom_system_ns,
        };
        let mut reading = window
            .reading()
            .with(PROCESS_CPU, self.finished.cpu_ns as f64)
            .with(SLOTS_BUSY, totals.slots_busy().unwrap_or(f64::NAN))
            .with(BACKEND_WORKERS, f64::from(totals.workers.workers));
        let completed = self.intervals.iter().flat_map(|interval| &interval.figures);
        let completed: u64 = completed.map(|figure| figure.operations).sum();
        reading = reading.with(COMPLETED, completed as f64);
        if let Some(host_ns) = totals.host_cpu_ns_per_operation() {
            reading = reading.with(HOST_CPU, host_ns);
        }
        if let Some(finished) = &totals.finished {
            let accounted = finished.submitted + finished.unsent;
            reading = reading
                .with(SCHEDULED, finished.scheduled as f64)
                .with(SUBMITTED, finished.submitted as f64)
                .with(UNACCOUNTED, finished.scheduled.abs_diff(accounted) as f64);
        }
        if let Some(asked) = totals.started.asked_rate {
            let lateness = totals.lateness();
            reading = reading
                .with(LATENESS_P50, lateness.percentile_ns(50.0) as f64)
                .with(LATENESS_P99, lateness.percentile_ns(99.0) as f64)
                .with(LATENESS_MAX, lateness.max_ns as f64);
            let share = reading.get(RATE) / asked;
            reading = reading.with(RATE_SHARE, share);
        }
        reading
    }
}

fn parameters(job: &Job<'_>, ramp_s: u64, window_s: u64) -> String {
    let warmup = if ramp_s > 0 {
        format!(",warmup={ramp_s}")
    } else {
        String::new()
    };
    format!(
        "sd=sd1,{}\nwd=wd1,sd=sd1,{}\nrd=rd1,wd=wd1,{},elapsed={window_s},interval=1{warmup}\n",
        job.storage, job.work, job.run
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_file() {
        let job = Job {
            name: "null",
            storage: "lun=/dev/x,threads=32",
            work: "xfersize=4k,rdpct=70",
            run: "iorate=max",
            options: &[],
        };
        assert_eq!(
            parameters(&job, 3, 30),
            "sd=sd1,lun=/dev/x,threads=32\nwd=wd1,sd=sd1,xfersize=4k,rdpct=70\n\
             rd=rd1,wd=wd1,iorate=max,elapsed=30,interval=1,warmup=3\n"
        );
        assert!(parameters(&job, 0, 4).ends_with("elapsed=4,interval=1\n"));
    }
}
