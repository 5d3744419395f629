//! `cargo xtask fuzz`: arguments, the watch over executions that hang, and the summary.
#![forbid(unsafe_code)]
use fuzzer::targets::{self, CANARY, FIO, RESULT_FILE, TARGETS, Target, VDBENCH};
use fuzzer::{Budget, hunt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const HELP: &str = "\
cargo xtask fuzz [--seconds N] [--target NAME] [--seed N]    N seconds over all targets, 60 unless given
cargo xtask fuzz --target NAME --input FILE                  one input again
targets: vdbench, fio, result_file, canary (holds a planted panic)
";

/// In this many executions the planted panic has to be found.
const CANARY_EXECUTIONS: u64 = 1_000_000;

/// An execution that takes longer hangs.
const LONGEST_SECONDS: u64 = 30;

/// Where the last panic was.
static PLACE: Mutex<String> = Mutex::new(String::new());

struct Arguments {
    seconds: u64,
    targets: Vec<&'static Target>,
    seed: u64,
    input: Option<PathBuf>,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let arguments = match read_arguments(&words) {
        Ok(arguments) => arguments,
        Err(message) => {
            eprint!("fuzz: {message}\n{HELP}");
            return ExitCode::from(2);
        }
    };
    if let Some(input) = &arguments.input {
        return repeat(arguments.targets[0], input);
    }
    std::panic::set_hook(Box::new(|panic| {
        let place = panic
            .location()
            .map(ToString::to_string)
            .unwrap_or_default();
        *PLACE
            .lock()
            .expect("nothing panics while it holds the place") = place;
    }));
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("fuzz: {message}");
            ExitCode::FAILURE
        }
    }
}

fn read_arguments(words: &[String]) -> Result<Arguments, String> {
    let clock = SystemTime::now().duration_since(UNIX_EPOCH);
    let mut arguments = Arguments {
        seconds: 60,
        targets: TARGETS.to_vec(),
        seed: clock.map_or(1, |since| since.subsec_nanos().into()),
        input: None,
    };
    for pair in words.chunks(2) {
        let [name, value] = pair else {
            return Err(format!("`{}` needs a value", pair[0]));
        };
        let number = || {
            value
                .parse()
                .map_err(|_| format!("`{value}` is not a number"))
        };
        match name.as_str() {
            "--seconds" => arguments.seconds = number()?,
            "--seed" => arguments.seed = number()?,
            "--input" => arguments.input = Some(value.into()),
            "--target" => {
                let all = [&VDBENCH, &FIO, &RESULT_FILE, &CANARY];
                let found = all.into_iter().find(|target| target.name == value);
                arguments.targets =
                    vec![found.ok_or_else(|| format!("no target is called `{value}`"))?];
            }
            _ => return Err(format!("`{name}` is not known")),
        }
    }
    Ok(arguments)
}

/// The panic, if there is one, as it would end any program.
fn repeat(target: &Target, input: &Path) -> ExitCode {
    match std::fs::read(input) {
        Ok(data) => {
            (target.execute)(&data);
            println!("{}: {} passes", target.name, input.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("fuzz: {}: {error}", input.display());
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let root = targets::root();
    println!("fuzz: seed {}", arguments.seed);
    let canary = hunt_in(
        &root,
        &CANARY,
        Budget::Executions(CANARY_EXECUTIONS),
        arguments.seed,
    )?;
    if canary.failure.is_none() {
        return Err(format!(
            "the planted panic was not found in {CANARY_EXECUTIONS} executions"
        ));
    }
    println!(
        "canary: the planted panic was found after {} executions",
        canary.executions
    );
    let share = Duration::from_secs(arguments.seconds) / arguments.targets.len() as u32;
    for target in &arguments.targets {
        let found = hunt_in(&root, target, Budget::Time(share), arguments.seed)?;
        println!("{}: {} executions", target.name, found.executions);
        if let Some(failure) = found.failure {
            let place = PLACE
                .lock()
                .expect("nothing panics while it holds the place")
                .clone();
            return Err(format!(
                "{} panics at {place}: {}\ninput of {} bytes: {}\nagain: cargo xtask fuzz --target {} --input {}",
                target.name,
                failure.message,
                failure.input.len(),
                failure.path.display(),
                target.name,
                failure.path.display()
            ));
        }
    }
    Ok(())
}

/// Hunts under a watch: when the same execution is still going after [`LONGEST_SECONDS`], the process ends, and the
/// input is in the file that the hunt keeps.
fn hunt_in(
    root: &Path,
    target: &Target,
    budget: Budget,
    seed: u64,
) -> Result<fuzzer::Hunt, String> {
    let folder = root.join("target/fuzz").join(target.name);
    let seeds = (target.seeds)(root)?;
    let (stop, stopped) = channel::<()>();
    let current = folder.join("current");
    let name = target.name;
    let watch = std::thread::spawn(move || {
        let mut seen = modified(&current);
        while stopped.recv_timeout(Duration::from_secs(LONGEST_SECONDS))
            == Err(RecvTimeoutError::Timeout)
        {
            let now = modified(&current);
            if now.is_some() && now == seen {
                eprintln!("fuzz: {name} hangs on {}", current.display());
                std::process::exit(1);
            }
            seen = now;
        }
    });
    let found = hunt(target, &seeds, budget, seed, &folder);
    drop(stop);
    let _ = watch.join();
    found.map_err(|error| format!("{}: {error}", folder.display()))
}

fn modified(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path)
        .and_then(|facts| facts.modified())
        .ok()
}
