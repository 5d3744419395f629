//! What a day's result costs: written through the store (24 hours of 16 targets, a second each, 16 000 operations per
//! second), and read again by `fathom report`.
use super::{Folder, Table};
use std::path::Path;
use std::process::Command;

const TARGETS: u32 = 16;
const SECONDS: u32 = 24 * 3600;

/// Of the report; the result is written once.
const ROUNDS: usize = 3;

/// Bars: of the report, of the size, and of the recording.
const REPORT_SECONDS_MAX: f64 = 10.0;
const REPORT_MB_MAX: f64 = 500.0;
const BYTES_BESIDE_MAX: f64 = 60.0;
const RECORDING_CPU_PCT_MAX: f64 = 1.0;

/// What is told of the writing, by the name that the writer gives it, and its bar.
const WRITING: [(&str, &str, Option<f64>); 4] = [
    ("writing, s", "wall_s", None),
    (
        "bytes per target and second",
        "bytes_per_target_second",
        None,
    ),
    (
        "recording, % of a CPU",
        "cpu_pct_of_run",
        Some(RECORDING_CPU_PCT_MAX),
    ),
    (
        "bytes beside histograms, gaps, percentiles",
        "bytes_beside",
        Some(BYTES_BESIDE_MAX),
    ),
];

/// An argument is the number of seconds to write in place of a day.
pub fn run(root: &Path, arguments: &[&str]) -> Result<(), String> {
    let seconds: u32 = match arguments {
        [] => SECONDS,
        [seconds] => seconds
            .parse()
            .map_err(|_| format!("`{seconds}` is not a number of seconds"))?,
        _ => return Err("`bench report` takes at most a number of seconds".to_owned()),
    };
    let program = super::program(root, None)?;
    super::build(root, &["--package", "store", "--example", "long_result"])?;
    let writer = super::release(root).join("examples/long_result");
    let folder = Folder::below(&std::env::temp_dir(), "report")?;
    println!("{seconds} seconds of {TARGETS} targets");
    let mut write = Command::new(writer);
    write.args(["result.fathom", &seconds.to_string(), &TARGETS.to_string()]);
    let told = super::timed(&mut write, &folder.0)?.stdout;
    let mut table = Table::begin();
    for (what, name, bar) in WRITING {
        table.row(what, [super::number(&told, name)?], bar);
    }
    let reports = super::rounds(ROUNDS, |round| {
        let mut report = Command::new(&program);
        report.args(["report", "result.fathom", "-o", &format!("again{round}")]);
        super::timed(&mut report, &folder.0)
    })?;
    let seconds = reports.iter().map(|one| one.seconds);
    table.row("report, s", seconds, Some(REPORT_SECONDS_MAX));
    let peak_mb = reports.iter().map(|one| one.peak_mib * 1.048_576);
    let what = "report, MB of memory at its peak";
    table.row(what, peak_mb, Some(REPORT_MB_MAX));
    table.end()
}
