//! The reader against the installed fio, over every job file of the shared corpus. Without one of
//! them the suite is skipped.
use lang::fio::{self, Input, Reading};
use lang::{Environment, Files};
use plan::Severity;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Files that fio rejects and that are read here, with the reason.
const READ_ALL_THE_SAME: &[(&str, &str)] = &[
    (
        "spdk+spdk__test__nvme__zns__zns.sh#2",
        "an engine that is not compiled in, and no job that uses it",
    ),
    (
        "axboe+fio__t__jobs__t0033.fio",
        "`log_window_value` is newer than the installed fio",
    ),
];

struct Disk(PathBuf);

impl Files for Disk {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        std::fs::read(self.0.join(path)).map_err(|error| error.to_string())
    }
}

struct Case {
    name: String,
    is_accepted: bool,
    reading: Reading,
}

/// The files of one folder of one repository under their own names, so that includes are found.
fn unpacked(corpus: &Path, names: &[String]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in names {
        let (group, own) = split(name);
        let group = folder.path().join(group);
        std::fs::create_dir_all(&group).unwrap();
        std::fs::copy(corpus.join(name), group.join(own)).unwrap();
    }
    folder
}

/// The folder of a file and its name there.
fn split(name: &str) -> (&str, &str) {
    name.rsplit_once("__").unwrap_or(("", name))
}

fn cases() -> Option<Vec<Case>> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/fio");
    let Ok(entries) = std::fs::read_dir(&corpus) else {
        eprintln!("skipped: no shared folder beside the workspace");
        return None;
    };
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    if Command::new("fio")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_err()
    {
        eprintln!("skipped: fio is not installed");
        return None;
    }
    let folder = unpacked(&corpus, &names);
    let case = |name: String| {
        let (group, own) = split(&name);
        let place = folder.path().join(group);
        let output = Command::new("fio")
            .args(["--parse-only", own])
            .current_dir(&place)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        // A file that is included and missing is an error that leaves the exit code alone.
        let said = String::from_utf8_lossy(&output.stderr).into_owned()
            + &String::from_utf8_lossy(&output.stdout);
        let is_accepted = output.status.success() && !said.contains("unable to open");
        let files = Disk(place);
        let mut environment = Environment::bare(&files);
        environment.memory_bytes = 16 << 30;
        environment.cpus = 64;
        let reading = fio::read(&[Input::Path(own.to_owned())], &[], &environment);
        Case {
            name,
            is_accepted,
            reading,
        }
    };
    Some(names.into_iter().map(case).collect())
}

fn first_error(reading: &Reading) -> String {
    let error = reading
        .diagnostics
        .iter()
        .find(|found| found.severity == Severity::Error);
    error.map_or(String::new(), |error| {
        format!("{} {} ({})", error.code, error.message, error.label)
    })
}

#[test]
fn what_fio_takes_is_taken_and_what_it_rejects_rejected() {
    let Some(cases) = cases() else { return };
    nine_of_ten_accepted_files_are_read(&cases);
    what_fio_rejects_is_rejected(&cases);
}

fn nine_of_ten_accepted_files_are_read(cases: &[Case]) {
    let accepted: Vec<&Case> = cases.iter().filter(|case| case.is_accepted).collect();
    let refused: Vec<&&Case> = accepted
        .iter()
        .filter(|case| case.reading.has_errors())
        .collect();
    let planned = accepted
        .iter()
        .filter(|case| case.reading.plan.is_some())
        .count();
    let runnable = accepted
        .iter()
        .filter(|case| case.reading.plan.is_some() && case.reading.run_blockers.is_empty())
        .count();
    println!("accepted by fio        {:4}", accepted.len());
    println!(
        "read without a refusal {:4}",
        accepted.len() - refused.len()
    );
    println!("planned                {planned:4}");
    println!("nothing left to build  {runnable:4}");
    for case in &refused {
        println!("  {}: {}", case.name, first_error(&case.reading));
    }
    let mut waiting: BTreeMap<String, usize> = BTreeMap::new();
    for case in &accepted {
        for blocker in &case.reading.run_blockers {
            *waiting.entry(blocker.message.clone()).or_default() += 1;
        }
    }
    for (message, count) in waiting {
        println!("  {count:4} {message}");
    }
    assert!(accepted.len() > 150, "{} files", accepted.len());
    let share = (accepted.len() - refused.len()) as f64 / accepted.len() as f64;
    assert!(share >= 0.9, "{:.1} % are read", share * 100.0);
    for case in refused {
        let names_option = case
            .reading
            .diagnostics
            .iter()
            .any(|found| found.message.contains('`'));
        assert!(
            names_option,
            "{}: {}",
            case.name,
            first_error(&case.reading)
        );
    }
}

fn what_fio_rejects_is_rejected(cases: &[Case]) {
    let mut read = Vec::new();
    for case in cases.iter().filter(|case| !case.is_accepted) {
        if case.reading.has_errors() {
            continue;
        }
        let is_listed = READ_ALL_THE_SAME.iter().any(|(name, _)| *name == case.name);
        if !is_listed {
            read.push(&case.name);
        }
    }
    assert!(read.is_empty(), "read although fio rejects them: {read:#?}");
}
