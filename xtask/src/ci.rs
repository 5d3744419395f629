//! Everything that a change has to pass, in the order in which it fails fastest, and the longer suites. The tests come
//! last, so that the summary of the test runner ends the output.
use crate::command::{self, cargo};
use crate::steps::Steps;
use crate::{clean_lab, fio_jobs, fio_suite, test_run, tidy, workspace};
use std::path::Path;

/// Jobs of fio that are compared, always the same ones.
const COMPARED_JOBS: &str = "100";

/// A link may lead to something private: whoever follows it has the source.
const RUSTDOC_FLAGS: &str = "-D warnings -A rustdoc::private_intra_doc_links";

/// Documents that the binary writes: its words, and the file. One that was never written is not checked.
const DOCUMENTS: &[(&[&str], &str)] = &[
    (&["manual", "vdbench"], "docs/reference/vdbench.md"),
    (&["manual", "fio"], "docs/reference/fio.md"),
];

pub fn run(root: &Path) -> Result<(), String> {
    let mut steps = Steps::default();
    let outcome = all(root, &mut steps);
    println!("\n{}", steps.table());
    println!("{}", outcome?);
    Ok(())
}

/// Gives the summary of the tests.
fn all(root: &Path, steps: &mut Steps) -> Result<String, String> {
    let cargo = cargo();
    let step = |arguments: &[&str]| command::run(root, &cargo, arguments, &[]);
    steps.take("clean-lab", clean_lab::run)?;
    steps.take("fmt", || step(&["fmt", "--all", "--check"]))?;
    steps.take("tidy", || tidy::run(root))?;
    let clippy = [
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ];
    steps.take("clippy", || step(&clippy))?;
    let documentation = ["doc", "--workspace", "--no-deps"];
    let flags = [("RUSTDOCFLAGS", RUSTDOC_FLAGS)];
    steps.take("doc", || command::run(root, &cargo, &documentation, &flags))?;
    steps.take("build", || step(test_run::BUILD))?;
    steps.take("docs", || check_documents(root))?;
    // Built with the tests: what has other features would be built again.
    let program = workspace::program(root).display().to_string();
    let compared = ["--jobs", COMPARED_JOBS, "--program", &program].map(str::to_owned);
    steps.take("compare-fio", || fio_jobs::run(root, &compared))?;
    let on_hosts = [&compared[..], &["--hosts".to_owned()]].concat();
    steps.take("compare-hosts", || fio_jobs::run(root, &on_hosts))?;
    let suite = ["--quick".to_owned(), program];
    steps.take("fio-suite", || fio_suite::run(root, &suite))?;
    steps.take("tests", || test_run::run(root, &[], &[]))
}

/// Writes the generated documents again.
pub fn write_documents(root: &Path) -> Result<(), String> {
    command::run(root, &cargo(), &["build", "--package", "fathom"], &[])?;
    for (words, path) in DOCUMENTS {
        let text = document(root, words)?;
        std::fs::write(root.join(path), text).map_err(|error| format!("{path}: {error}"))?;
        println!("wrote {path}");
    }
    Ok(())
}

fn check_documents(root: &Path) -> Result<(), String> {
    for (words, path) in DOCUMENTS {
        let Ok(kept) = std::fs::read_to_string(root.join(path)) else {
            eprintln!("== {path} is not there, so it is not compared");
            continue;
        };
        if kept != document(root, words)? {
            return Err(format!(
                "{path} is not what the program says: run `cargo xtask docs`"
            ));
        }
    }
    Ok(())
}

fn document(root: &Path, words: &[&str]) -> Result<String, String> {
    let program = workspace::program(root).display().to_string();
    command::output(root, &program, words)
}
