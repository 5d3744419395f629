//! The tests that fio brings along, unchanged, against our binary under the name `fio`. They are not ours to copy: where
//! they are not there, or what they need is not, this says so and passes. Read [`SCRIPTS`] first.
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Names the folder in which `corpus/fio-suite` is.
const VARIABLE: &str = "FATHOM_SHARED";

/// Programs of others for the tests, with the modules that some scripts need, if somebody has put them there.
const PYTHON: &str = "target/readers/bin/python3";

/// Longer than the longest, which waits for steady states.
const LIMIT: Duration = Duration::from_secs(20 * 60);

/// Numbers within `run-fio-tests.py`: helper programs and zoned devices that are not there, and the other scripts.
const NOT_OURS: &[&str] = &[
    "1000", "1001", "1002", "1004", "1005", "1006", "1007", "1008", "1009", "1010",
];

/// Those that fill gigabytes, wait, or depend on how fast the machine is: 1 GiB with small blocks, 4 GiB of checks, a
/// minute, rates against each other; and the scripts that [`SCRIPTS`] has by themselves.
const SLOW: &[&str] = &[
    "2", "3", "6", "9", "11", "12", "13", "14", "1003", "1011", "1012",
];

/// One script: how it is called, and how many of its tests have to pass.
struct Script {
    name: &'static str,
    /// How it is told the program: with this word before it, or by its place.
    option: Option<&'static str>,
    /// What it prints for a test that passed.
    passed: &'static str,
    least: usize,
    needs: &'static [&'static str],
    is_quick: bool,
}

const SCRIPTS: &[Script] = &[
    script("run-fio-tests.py", Some("-f"), 27, &[], true),
    script("readonly.py", Some("-f"), 9, &[], true),
    script("strided.py", None, 21, &[], true),
    script("log_compression.py", Some("-f"), 2, &[], true),
    script("jsonplus2csv_test.py", Some("-f"), 1, &[], true),
    script("latency_percentiles.py", Some("-f"), 22, &["numpy"], false),
    // It wants times to 50 ms.
    Script {
        passed: "PASSED ",
        ..script("steadystate_tests.py", None, 10, &["numpy", "scipy"], false)
    },
];

const fn script(
    name: &'static str,
    option: Option<&'static str>,
    least: usize,
    needs: &'static [&'static str],
    is_quick: bool,
) -> Script {
    Script {
        name,
        option,
        passed: " PASSED",
        least,
        needs,
        is_quick,
    }
}

/// Runs all that can be run; an error when one falls short.
pub fn run(root: &Path, arguments: &[String]) -> Result<(), String> {
    let is_quick = arguments.iter().any(|word| word == "--quick");
    let named: Vec<&String> = arguments.iter().filter(|word| *word != "--quick").collect();
    let suite = match suite(root) {
        Ok(suite) => suite,
        Err(reason) => {
            println!("skipped: {reason}");
            return Ok(());
        }
    };
    let python = python(root);
    if !answers(&python, &["-c", "pass"]) {
        println!("skipped: python3 is not there");
        return Ok(());
    }
    let program = match named.as_slice() {
        [] => {
            let build = ["build", "--release", "--locked", "--package", "fathom"];
            crate::command::run(root, &crate::command::cargo(), &build, &[])?;
            crate::workspace::target(root).join("release/fathom")
        }
        [program] => PathBuf::from(program),
        _ => return Err("fio-suite takes at most the path of a program".to_owned()),
    };
    let folder = std::env::temp_dir().join(format!("fathom-fio-suite-{}", std::process::id()));
    let outcome = within(&suite, &program, &folder, (&python, is_quick));
    // What is left in the temporary folder does no harm.
    let _ = std::fs::remove_dir_all(&folder);
    outcome
}

/// Where the tests are.
fn suite(root: &Path) -> Result<PathBuf, String> {
    let given = std::env::var_os(VARIABLE).map(PathBuf::from);
    let shared = given.unwrap_or_else(|| root.join("../shared"));
    let suite = shared.join("corpus/fio-suite");
    match suite.join("run-fio-tests.py").is_file() {
        true => std::fs::canonicalize(&suite).map_err(|error| error.to_string()),
        false => Err(format!(
            "fio's tests are not there (`{VARIABLE}` names the folder that holds corpus/fio-suite)"
        )),
    }
}

fn python(root: &Path) -> PathBuf {
    let own = root.join(PYTHON);
    match own.exists() {
        true => own,
        false => PathBuf::from("python3"),
    }
}

fn answers(python: &Path, words: &[&str]) -> bool {
    let mut python = Command::new(python);
    python.args(words).stdin(Stdio::null());
    python.stdout(Stdio::null()).stderr(Stdio::null());
    python.status().is_ok_and(|status| status.success())
}

fn within(
    suite: &Path,
    program: &Path,
    folder: &Path,
    (python, is_quick): (&Path, bool),
) -> Result<(), String> {
    let io = |error: std::io::Error| error.to_string();
    let program = std::fs::canonicalize(program).map_err(io)?;
    std::fs::create_dir_all(folder.join("bin")).map_err(io)?;
    let called = folder.join("bin/fio");
    std::os::unix::fs::symlink(program, &called).map_err(io)?;
    // The scripts look for each other in a folder of this name, and for what the original was built with beside it.
    std::os::unix::fs::symlink(suite, folder.join("t")).map_err(io)?;
    std::fs::write(folder.join("config-host.h"), "CONFIG_LIBAIO\n").map_err(io)?;
    let mut short = Vec::new();
    for script in SCRIPTS.iter().filter(|one| one.is_quick || !is_quick) {
        let missing = |module: &&&str| !answers(python, &["-c", &format!("import {module}")]);
        if let Some(module) = script.needs.iter().find(missing) {
            println!("{}: skipped: python3 has no {module}", script.name);
            continue;
        }
        let begun = Instant::now();
        let (passed, text) = count(script, folder, &called, (python, is_quick))?;
        let least = match (script.name, is_quick) {
            ("run-fio-tests.py", true) => 28 - SLOW.len(),
            _ => script.least,
        };
        let seconds = begun.elapsed().as_secs();
        println!(
            "{}: {passed} passed, at least {least} have to, {seconds} s",
            script.name
        );
        if passed < least {
            println!("{text}");
            short.push(script.name);
        }
    }
    match short.is_empty() {
        true => Ok(()),
        false => Err(format!("too few pass: {}", short.join(", "))),
    }
}

/// How many tests of a script pass, and what it printed.
fn count(
    script: &Script,
    folder: &Path,
    called: &Path,
    (python, is_quick): (&Path, bool),
) -> Result<(usize, String), String> {
    let io = |error: std::io::Error| error.to_string();
    let own = folder.join(script.name.trim_end_matches(".py"));
    std::fs::create_dir_all(&own).map_err(io)?;
    let printed = own.join("printed");
    let out = std::fs::File::create(&printed).map_err(io)?;
    let mut command = Command::new(python);
    command.arg(folder.join("t").join(script.name));
    command.args(script.option).arg(called);
    if script.name == "run-fio-tests.py" {
        command
            .arg("-r")
            .arg(folder)
            .args(["-a", "artifacts", "-s"]);
        command
            .args(NOT_OURS)
            .args(if is_quick { SLOW } else { &[] });
    }
    let again = out.try_clone().map_err(io)?;
    command.current_dir(&own).stdin(Stdio::null());
    let mut child = command.stdout(out).stderr(again).spawn().map_err(io)?;
    let begun = Instant::now();
    while child.try_wait().map_err(io)?.is_none() {
        if begun.elapsed() > LIMIT {
            child.kill().map_err(io)?;
            child.wait().map_err(io)?;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    let text = String::from_utf8_lossy(&std::fs::read(&printed).map_err(io)?).into_owned();
    let passed = text
        .lines()
        .filter(|line| line.contains(script.passed) && !line.contains(" tests passed"));
    Ok((passed.count(), text))
}
