//! How long a large plan takes, and how much memory: 1 000 storage definitions and 10 000 runs, read,
//! bound and listed by the release build, several times.
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

const STORAGES: usize = 1000;
/// Values of each of two loops.
const LOOP: usize = 100;
const ROUNDS: usize = 7;
const SECONDS_MAX: f64 = 1.0;
const MIB_MAX: f64 = 200.0;

struct Figures {
    seconds: f64,
    peak_mib: f64,
}

/// Prints time and peak memory with their spread; an error when the bar is missed.
pub fn run(root: &Path, arguments: &[String]) -> Result<(), String> {
    let program = match arguments {
        [] => {
            let cargo = crate::command::cargo();
            let build = ["build", "--release", "--locked", "--package", "fathom"];
            crate::command::run(root, &cargo, &build, &[])?;
            root.join("target/release/fathom")
        }
        [program] => PathBuf::from(program),
        _ => return Err("bench-plan takes at most the path of a program".to_owned()),
    };
    let folder = std::env::temp_dir().join(format!("fathom-bench-plan-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let measured = measure(&program, &folder);
    // What is left in the temporary folder does no harm.
    let _ = std::fs::remove_dir_all(&folder);
    let measured = measured?;
    print(&measured)
}

/// A job of so many storage definitions, and of the product of two loops.
fn job() -> String {
    let storages: String = (1..=STORAGES)
        .map(|number| format!("sd=sd{number},lun=/nowhere/sd{number},size=1g,openflags=o_direct\n"))
        .collect();
    format!(
        "{storages}wd=wd1,sd=sd*,xfersize=4k,rdpct=70\n\
         rd=rd1,wd=wd1,iorate=max,elapsed=60,interval=1,forthreads=(1-{LOOP},1),forrdpct=(1-{LOOP},1)\n"
    )
}

fn measure(program: &Path, folder: &Path) -> Result<Vec<Figures>, String> {
    std::fs::write(folder.join("job"), job()).map_err(|error| error.to_string())?;
    println!(
        "{} storage definitions, {} runs: `fathom check job`",
        STORAGES,
        LOOP * LOOP
    );
    let mut all = Vec::new();
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        let mut child = Command::new(program)
            .args(["check", "job"])
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::from(
                std::fs::File::create(folder.join("out")).map_err(|error| error.to_string())?,
            ))
            .stderr(Stdio::from(
                std::fs::File::create(folder.join("err")).map_err(|error| error.to_string())?,
            ))
            .spawn()
            .map_err(|error| format!("`{}` does not start: {error}", program.display()))?;
        let peak_mib = peak(&mut child)?;
        let seconds = begun.elapsed().as_secs_f64();
        all.push(Figures { seconds, peak_mib });
    }
    let listed = std::fs::read_to_string(folder.join("out")).map_err(|error| error.to_string())?;
    let runs = listed
        .lines()
        .filter(|line| line.starts_with("  rd1"))
        .count();
    if runs == LOOP * LOOP {
        Ok(all)
    } else {
        Err(format!("{runs} runs were listed"))
    }
}

/// Follows the high-water mark of resident memory until the program has ended: the last reading is
/// that of its end to within two milliseconds.
pub fn peak(child: &mut std::process::Child) -> Result<f64, String> {
    let path = format!("/proc/{}/status", child.id());
    let mut peak_kib = 0.0_f64;
    loop {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let high = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        if let Some(kib) = high.and_then(|rest| rest.trim().strip_suffix(" kB")) {
            peak_kib = peak_kib.max(kib.trim().parse().unwrap_or(0.0));
        }
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            return match status.success() {
                true => Ok(peak_kib / 1024.0),
                false => Err(format!("the program ended with {status}")),
            };
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

fn print(all: &[Figures]) -> Result<(), String> {
    let seconds = spread(all.iter().map(|one| one.seconds));
    let peak = spread(all.iter().map(|one| one.peak_mib));
    println!("| | Least | Median | Most | Bar |\n|---|---|---|---|---|");
    let [low, middle, high] = seconds;
    println!("| time, s | {low:.3} | {middle:.3} | {high:.3} | < {SECONDS_MAX} |");
    let [low, middle, high] = peak;
    println!("| peak resident memory, MiB | {low:.1} | {middle:.1} | {high:.1} | < {MIB_MAX} |");
    match seconds[1] < SECONDS_MAX && peak[1] < MIB_MAX {
        true => Ok(()),
        false => Err("the bar is missed".to_owned()),
    }
}

fn spread(values: impl Iterator<Item = f64>) -> [f64; 3] {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    [
        values[0],
        values[values.len() / 2],
        values[values.len() - 1],
    ]
}
