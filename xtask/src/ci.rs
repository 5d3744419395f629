//! Everything that a change has to pass, in the order in which it fails fastest. The tests come last, so that the
//! summary of the test runner ends the output.
use crate::command::{self, cargo};
use crate::{fio_jobs, fio_suite, test_run, tidy};
use std::path::Path;

/// Jobs of fio that are compared, always the same ones.
const COMPARED_JOBS: &str = "100";

const FUZZ_SECONDS: &str = "60";

/// One sequence of inputs, so that whether a change passes is no matter of luck; `cargo xtask fuzz` draws others.
const FUZZ_SEED: &str = "831545878";

/// A link may lead to something private: whoever follows it has the source.
const RUSTDOC_FLAGS: &str = "-D warnings -A rustdoc::private_intra_doc_links";

/// Documents that the binary writes: its words, and the file. One that was never written is not checked.
const DOCUMENTS: &[(&[&str], &str)] = &[
    (&["manual", "vdbench"], "docs/reference/vdbench.md"),
    (&["manual", "fio"], "docs/reference/fio.md"),
];

pub fn run(root: &Path) -> Result<(), String> {
    let cargo = cargo();
    let step = |arguments: &[&str]| command::run(root, &cargo, arguments, &[]);
    step(&["fmt", "--all", "--check"])?;
    eprintln!("== tidy");
    tidy::run(root)?;
    step(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ])?;
    let documentation = ["doc", "--workspace", "--no-deps"];
    command::run(
        root,
        &cargo,
        &documentation,
        &[("RUSTDOCFLAGS", RUSTDOC_FLAGS)],
    )?;
    let words = ["--seconds", FUZZ_SECONDS, "--seed", FUZZ_SEED].map(str::to_owned);
    fuzz(root, &words)?;
    check_documents(root)?;
    eprintln!("== compare-fio");
    fio_jobs::run(root, &["--jobs", COMPARED_JOBS].map(str::to_owned))?;
    eprintln!("== fio-suite");
    // Built by the comparison before.
    let program = root.join(fio_jobs::PROGRAM).display().to_string();
    fio_suite::run(root, &["--quick".to_owned(), program])?;
    test_run::run(root)
}

/// Hands over to the fuzzer, which is a package of its own so that this one needs no crate of the product.
pub fn fuzz(root: &Path, arguments: &[String]) -> Result<(), String> {
    // The profile of the tests: its artefacts are shared with them, and it checks overflow.
    let mut all = vec![
        "run",
        "--quiet",
        "--profile",
        "test",
        "--package",
        "fuzzer",
        "--",
    ];
    all.extend(arguments.iter().map(String::as_str));
    command::run(root, &cargo(), &all, &[])
}

/// Writes the generated documents again.
pub fn write_documents(root: &Path) -> Result<(), String> {
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
    let fathom = [
        "run",
        "--quiet",
        "--profile",
        "test",
        "--package",
        "fathom",
        "--",
    ];
    command::output(root, &cargo(), &[&fathom[..], words].concat())
}
