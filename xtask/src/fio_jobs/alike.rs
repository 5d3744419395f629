//! The same job once directly and once on one host that a launcher reaches, which is this machine: the end, what is said,
//! the files that are left and the single I/Os are the same.
use super::Outcome;
use super::compare::{self, Verdict};
use super::draw::Job;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs what it is given after the name of a host.
const LAUNCHER: &str = "#!/bin/sh\nshift\nexec \"$@\"\n";
const ON_HOST: &[&str] = &["--hosts", "here", "--launcher", "./launch {host}"];

/// Of the table of results, what does not depend on time.
const COLUMNS: &[&str] = &[
    "run",
    "loops",
    "asked_rate_per_s",
    "slots",
    "errors",
    "unserved",
    "compression_asked",
    "duplicates_asked",
    "not_returned",
];

/// Of a job that ran.
struct Seen {
    outcome: Outcome,
    /// On the console, without numbers.
    said: Vec<String>,
    /// Rows of results.
    rows: Vec<String>,
    /// Files with their lengths; those of logs are compared by what is in them.
    left: BTreeMap<String, u64>,
}

/// `home` is that of the login on the host, and keeps the copy of the program.
pub fn verdict(program: &Path, job: &Job, folder: &Path, home: &Path) -> Result<Verdict, String> {
    let direct = seen(program, job, &folder.join("direct"), home, &[])?;
    let spread = seen(program, job, &folder.join("spread"), home, ON_HOST)?;
    let what = if direct.outcome.code != spread.outcome.code {
        let (one, other) = (direct.outcome.code, spread.outcome.code);
        format!(
            "ends with {one:?}, on a host with {other:?}: {}",
            spread.outcome.text
        )
    } else if let Some(what) = differing(&direct.said, &spread.said) {
        format!("says {what}")
    } else if let Some(what) = differing(&direct.rows, &spread.rows) {
        format!("has the result {what}")
    } else if direct.left != spread.left {
        format!("leaves {:?}, on a host {:?}", direct.left, spread.left)
    } else {
        return Ok(match direct.outcome.code {
            Some(0) => compare::logs_verdict(job, &direct.outcome, &spread.outcome),
            _ => Verdict::Equal,
        });
    };
    Ok(Verdict::Different(what))
}

fn differing(one: &[String], other: &[String]) -> Option<String> {
    let lines = one.len().max(other.len());
    let line = |of: &[String], at: usize| of.get(at).cloned().unwrap_or_default();
    let first = (0..lines).find(|at| line(one, *at) != line(other, *at))?;
    let (one, other) = (line(one, first), line(other, first));
    Some(format!("`{one}`, on a host `{other}`"))
}

fn seen(
    program: &Path,
    job: &Job,
    folder: &Path,
    home: &Path,
    words: &[&str],
) -> Result<Seen, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).map_err(failed)?;
    let launcher = folder.join("launch");
    fs::write(&launcher, LAUNCHER).map_err(failed)?;
    fs::set_permissions(&launcher, fs::Permissions::from_mode(0o755)).map_err(failed)?;
    let options = job.options.iter();
    let options: String = options
        .map(|(name, value)| format!("{name}={value}\n"))
        .collect();
    let text = format!("[job]\nwrite_lat_log=log\nlog_offset=1\n{options}");
    fs::write(folder.join("job.fio"), text).map_err(failed)?;
    let output = Command::new("timeout")
        .args(["-k", "1", super::SECONDS_MAX])
        .arg(program)
        .args(["run", "job.fio", "-o", "out", "--seed", "1"])
        .args(words)
        .env("HOME", home)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output();
    let output = output.map_err(failed)?;
    let shown = String::from_utf8_lossy(&output.stderr).into_owned();
    let logs = super::logs_of(job, folder)?;
    let results = fs::read_to_string(folder.join("out/summary.csv")).unwrap_or_default();
    Ok(Seen {
        said: said(&shown),
        rows: rows(&results),
        left: left(folder).map_err(failed)?,
        outcome: Outcome {
            code: output.status.code(),
            text: shown,
            logs,
        },
    })
}

/// Without numbers, the host after the names of its targets, and how far apart clocks are, which one machine does not ask.
fn said(shown: &str) -> Vec<String> {
    let lines = shown.lines();
    let lines = lines.filter(|line| !line.starts_with("hosts start together"));
    let masked = |line: &str| -> String {
        let digit = |c: char| if c.is_ascii_digit() { '#' } else { c };
        line.replace("@here", "").chars().map(digit).collect()
    };
    lines.map(masked).collect()
}

fn rows(results: &str) -> Vec<String> {
    let mut lines = results.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let places = COLUMNS
        .iter()
        .filter_map(|column| names.iter().position(|name| name == column));
    let places: Vec<usize> = places.collect();
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let fields = places.iter().map(|place| fields.get(*place).copied());
        let fields: Vec<&str> = fields.map(Option::unwrap_or_default).collect();
        fields.join(",")
    };
    lines.map(row).collect()
}

fn left(folder: &Path) -> std::io::Result<BTreeMap<String, u64>> {
    let mut left = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_log = name.ends_with(".log");
        let bytes = entry.metadata()?.len();
        let bytes = if is_log || name == "out" { 0 } else { bytes };
        left.insert(name, bytes);
    }
    Ok(left)
}
