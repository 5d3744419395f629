//! What a day's result costs: written through the store (24 hours of 16 targets, a second each, 16 000 operations per
//! second), and read again by `fathom report`.
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

const TARGETS: u32 = 16;
const SECONDS: u32 = 24 * 3600;

/// Bars: of the report, of the size, and of the recording.
const REPORT_SECONDS_MAX: f64 = 10.0;
const REPORT_MB_MAX: f64 = 500.0;
const BYTES_BESIDE_MAX: f64 = 60.0;
const RECORDING_CPU_PCT_MAX: f64 = 1.0;

/// Prints what was measured; an error when a bar is missed. An argument is the number of seconds to write instead.
pub fn run(root: &Path, arguments: &[String]) -> Result<(), String> {
    let seconds = match arguments {
        [] => SECONDS,
        [seconds] => seconds
            .parse()
            .map_err(|_| format!("`{seconds}` is no number of seconds"))?,
        _ => return Err("bench-report takes at most a number of seconds".to_owned()),
    };
    let cargo = crate::command::cargo();
    let fathom = ["build", "--release", "--locked", "--package", "fathom"];
    crate::command::run(root, &cargo, &fathom, &[])?;
    let example = [
        "build",
        "--release",
        "--locked",
        "--package",
        "store",
        "--example",
        "long_result",
    ];
    crate::command::run(root, &cargo, &example, &[])?;
    let folder = std::env::temp_dir().join(format!("fathom-bench-report-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let measured = measure(&root.join("target/release"), &folder, seconds);
    // What is left in the temporary folder does no harm.
    let _ = std::fs::remove_dir_all(&folder);
    print(&measured?)
}

struct Measured {
    written: Vec<(String, f64)>,
    report_seconds: f64,
    report_mb: f64,
}

fn measure(programs: &Path, folder: &Path, seconds: u32) -> Result<Measured, String> {
    let result: PathBuf = folder.join("result.fathom");
    println!("{seconds} seconds of {TARGETS} targets");
    let written = Command::new(programs.join("examples/long_result"))
        .arg(&result)
        .args([seconds.to_string(), TARGETS.to_string()])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("`long_result` does not start: {error}"))?;
    if !written.status.success() {
        return Err(String::from_utf8_lossy(&written.stderr).into_owned());
    }
    let told = String::from_utf8_lossy(&written.stdout).into_owned();
    let pair = |line: &str| {
        let (name, value) = line.split_once(' ')?;
        Some((name.to_owned(), value.parse().ok()?))
    };
    let begun = Instant::now();
    let mut report = Command::new(programs.join("fathom"))
        .arg("report")
        .arg(&result)
        .arg("-o")
        .arg(folder.join("again"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .map_err(|error| format!("`fathom report` does not start: {error}"))?;
    let report_mb = crate::plan_bench::peak(&mut report)? * 1.048_576;
    Ok(Measured {
        written: told.lines().filter_map(pair).collect(),
        report_seconds: begun.elapsed().as_secs_f64(),
        report_mb,
    })
}

fn print(measured: &Measured) -> Result<(), String> {
    let of = |name: &str| {
        let found = measured.written.iter().find(|(known, _)| known == name);
        found
            .map(|(_, value)| *value)
            .ok_or_else(|| format!("`long_result` tells no {name}"))
    };
    println!("| | Measured | Bar |\n|---|---|---|");
    println!("| writing, s | {:.1} | |", of("wall_s")?);
    println!(
        "| bytes per target and second | {:.1} | |",
        of("bytes_per_target_second")?
    );
    let bars = [
        (
            "recording, % of a CPU",
            of("cpu_pct_of_run")?,
            RECORDING_CPU_PCT_MAX,
        ),
        (
            "bytes beside histograms, gaps, percentiles",
            of("bytes_beside")?,
            BYTES_BESIDE_MAX,
        ),
        ("report, s", measured.report_seconds, REPORT_SECONDS_MAX),
        (
            "report, MB of memory at its peak",
            measured.report_mb,
            REPORT_MB_MAX,
        ),
    ];
    for (name, value, bar) in bars {
        println!("| {name} | {value:.2} | ≤ {bar} |");
    }
    match bars.iter().all(|(_, value, bar)| value <= bar) {
        true => Ok(()),
        false => Err("a bar is missed".to_owned()),
    }
}
