//! What is too long for every change, once per issue: tests with all of their cases, changed inputs for ten minutes, many
//! compared jobs, the whole suite of fio, and programs of others that read its output. CONTRIBUTING.md has the table.
use crate::command;
use crate::steps::Steps;
use crate::{fio_jobs, fio_suite, test_run, workspace};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Tests that have more cases where `FATHOM_LONG` is set, those that need what [`readers`] fetches, and those that wait for
/// half a minute.
const TESTS: &[&str] = &[
    "mutated::",
    "matrix::",
    "damaged::",
    "fio::exits::",
    "fio::usage::",
    "stall::",
    "running::hosts::",
    "--include-ignored",
];

/// Verdicts and times on real targets, which are asked exactly where nothing else runs.
const VERDICTS: &[&str] = &[
    "results::known::",
    "results::situations::",
    "running::at::",
    "running::rebuild::",
    "--include-ignored",
    "--test-threads=1",
];

const COMPARED_JOBS: &str = "2000";

/// Programs of others that read the output of fio, and what some scripts of its suite import.
const PACKAGES: &[&str] = &["fio-plot==1.1.21", "pandas", "scipy"];

pub fn run(root: &Path) -> Result<(), String> {
    let mut steps = Steps::default();
    let outcome = all(root, &mut steps);
    println!("\n{}", steps.table());
    println!("{}", outcome?);
    Ok(())
}

/// Gives the summary of the tests.
fn all(root: &Path, steps: &mut Steps) -> Result<String, String> {
    let cargo = command::cargo();
    steps.take("readers", || readers(root))?;
    steps.take("build", || command::run(root, &cargo, test_run::BUILD, &[]))?;
    let program = workspace::program(root).display().to_string();
    let seed = drawn().to_string();
    let compared = [
        "--jobs",
        COMPARED_JOBS,
        "--seed",
        &seed,
        "--program",
        &program,
    ];
    println!("compare-fio: seed {seed}");
    // One that fails keeps none of the others from being run.
    let outcomes = [
        steps.take("compare-fio", || {
            fio_jobs::run(root, &compared.map(str::to_owned))
        }),
        steps.take("fio-suite", || fio_suite::run(root, &[])),
    ];
    let tests = steps.take("tests", || {
        test_run::run(root, TESTS, &[("FATHOM_LONG", "1")])
    });
    let verdicts = steps.take("verdicts", || {
        test_run::run(root, VERDICTS, &[("FATHOM_ALONE", "1")]).map(|_| ())
    });
    let failed = outcomes.into_iter().chain([verdicts]);
    let failed = failed.filter_map(Result::err);
    let failed: Vec<String> = failed.chain(tests.as_ref().err().cloned()).collect();
    match failed.is_empty() {
        true => tests,
        false => Err(failed.join("\n")),
    }
}

/// Another one each time: what is compared again and again is right already.
fn drawn() -> u64 {
    let clock = SystemTime::now().duration_since(UNIX_EPOCH);
    clock.map_or(1, |since| since.as_secs())
}

/// Fetches the programs into the folder of the build; tests that need one skip without.
fn readers(root: &Path) -> Result<(), String> {
    let folder = "target/readers";
    if root.join(folder).join("bin/fio-plot").exists() {
        return Ok(());
    }
    let pip = format!("{folder}/bin/pip");
    let install = [&["install", "--quiet"], PACKAGES].concat();
    let fetched = command::run(root, "python3", &["-m", "venv", folder], &[])
        .and_then(|()| command::run(root, &pip, &install, &[]));
    if let Err(reason) = fetched {
        println!("skipped: programs that read the output of fio cannot be fetched: {reason}");
    }
    Ok(())
}
