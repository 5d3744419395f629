//! fio as a peer: the options that every comparison gives it, and what its JSON says.
//!
//! Its CPU time is what its jobs used from the end of the ramp to their end (`usr_cpu` and `sys_cpu`, by `getrusage` of
//! the job's thread). Its main and helper threads are left out, which favours fio by a little.
use crate::process::{Finished, owned};
use crate::reading::{PROCESS_CPU, Reading, Window};
use crate::session::Session;
use serde_json::Value;
use std::path::Path;

/// What one execution of fio measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub version: String,
    pub window: Window,
    pub errors: u64,
}

/// The longest time of a direction that a job may differ from another by, so that they are one window.
const WINDOWS_DIFFER_NS_MAX: u64 = 500_000_000;

/// Runs one job for the window of the session.
///
/// # Errors
/// A message when fio fails, reports errors, or did nothing.
pub fn run(session: &mut Session, options: &[String]) -> Result<Reading, String> {
    let settings = session.settings;
    let (outcome, finished) = execute(session, &[], options, settings.ramp_s, settings.window_s)?;
    let reading = outcome.window.reading();
    Ok(reading.with(PROCESS_CPU, finished.cpu_ns as f64))
}

/// Runs one job, under another program where `wrapper` names one.
///
/// # Errors
/// As [`run`].
pub fn execute(
    session: &mut Session,
    wrapper: &[&str],
    options: &[String],
    ramp_s: u64,
    window_s: u64,
) -> Result<(Outcome, Finished), String> {
    let file = session.results.join("fio.json");
    let mut words = owned(wrapper);
    words.extend(owned(&[
        "fio",
        "--name=peer",
        "--thread",
        "--group_reporting",
    ]));
    words.extend_from_slice(options);
    words.extend([
        "--time_based".to_owned(),
        format!("--runtime={window_s}"),
        format!("--ramp_time={ramp_s}"),
        "--output-format=json".to_owned(),
        format!("--output={}", file.display()),
    ]);
    let program = words.remove(0);
    let finished = session.run(program, &words)?.successful("fio")?;
    Ok((without_errors(&file)?, finished))
}

fn without_errors(file: &Path) -> Result<Outcome, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file:?}: {error}"))?;
    let outcome = read(&text)?;
    match outcome.errors {
        0 => Ok(outcome),
        errors => Err(format!("fio reports {errors} I/O errors")),
    }
}

/// What fio wrote with `--output-format=json`. Lines before the first brace are messages of fio.
///
/// # Errors
/// A message when it is no such JSON or nothing was done.
pub fn read(text: &str) -> Result<Outcome, String> {
    let start = text.find('{').ok_or("fio wrote no JSON")?;
    let all: Value =
        serde_json::from_str(&text[start..]).map_err(|error| format!("JSON of fio: {error}"))?;
    let jobs = all["jobs"].as_array().ok_or("fio reports no jobs")?;
    let mut window = Window::default();
    let mut errors = 0;
    let mut lengths_ns = Vec::new();
    for job in jobs {
        errors += number(job, "total_err").unwrap_or(0.0) as u64;
        errors += u64::from(number(job, "error").unwrap_or(0.0) != 0.0);
        for direction in ["read", "write", "trim"] {
            let part = &job[direction];
            let operations = number(part, "total_ios")? as u64;
            if operations > 0 {
                window.operations += operations;
                lengths_ns.push((number(part, "runtime")? * 1e6) as u64);
            }
        }
        // Shares of the summed run times of the threads of a group.
        let cpu_pct = number(job, "usr_cpu")? + number(job, "sys_cpu")?;
        window.cpu_ns += (cpu_pct / 100.0 * number(job, "job_runtime")? * 1e6) as u64;
    }
    window.window_ns = lengths_ns.iter().copied().max().unwrap_or(0);
    let shortest_ns = lengths_ns.iter().copied().min().unwrap_or(0);
    if window.operations == 0 || window.window_ns == 0 {
        return Err("fio did no operation in its window".to_owned());
    }
    if window.window_ns - shortest_ns > WINDOWS_DIFFER_NS_MAX {
        return Err(format!(
            "the windows of fio's directions differ: {shortest_ns} and {} ns",
            window.window_ns
        ));
    }
    Ok(Outcome {
        version: all["fio version"].as_str().unwrap_or("fio").to_owned(),
        window,
        errors,
    })
}

fn number(object: &Value, name: &str) -> Result<f64, String> {
    object[name]
        .as_f64()
        .ok_or_else(|| format!("the JSON of fio has no number `{name}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_THREADS: &str = include_str!("../fixtures/fio_two_threads.json");

    #[test]
    fn a_group_of_two_threads() {
        let outcome = read(TWO_THREADS).unwrap();
        assert_eq!(outcome.version, "fio-3.33");
        assert_eq!(outcome.errors, 0);
        // 700 reads and 300 writes in 2 s; 40 % and 10 % of the 4 s that the two threads ran together.
        let window = Window {
            operations: 1000,
            window_ns: 2_000_000_000,
            cpu_ns: 2_000_000_000,
        };
        assert_eq!(outcome.window, window);
        let reading = outcome.window.reading();
        assert_eq!(reading.get(crate::reading::RATE), 500.0);
        assert_eq!(reading.get(crate::reading::CPU), 2_000_000.0);
        assert_eq!(reading.get(crate::reading::PER_CPU), 500.0);
    }

    #[test]
    fn what_is_missing_or_failed_is_said() {
        assert_eq!(
            read("fio: no such engine").unwrap_err(),
            "fio wrote no JSON"
        );
        let idle = TWO_THREADS
            .replace("\"total_ios\": 700", "\"total_ios\": 0")
            .replace("\"total_ios\": 300", "\"total_ios\": 0");
        assert_eq!(
            read(&idle).unwrap_err(),
            "fio did no operation in its window"
        );
        let failed = TWO_THREADS.replace("\"total_err\": 0", "\"total_err\": 7");
        assert_eq!(read(&failed).unwrap().errors, 7);
        let without = TWO_THREADS.replace("usr_cpu", "other");
        assert_eq!(
            read(&without).unwrap_err(),
            "the JSON of fio has no number `usr_cpu`"
        );
        let uneven = TWO_THREADS.replace("\"runtime\": 1999", "\"runtime\": 900");
        assert!(read(&uneven).unwrap_err().contains("differ"));
    }
}
