//! Everything that a change has to pass, in the order in which it fails fastest. The tests come last, so that the
//! summary of the test runner ends the output.
use crate::command::{self, cargo};
use crate::tidy;
use std::path::Path;

const FUZZ_SECONDS: &str = "60";

/// Verbs of the binary that check generated documents, run as `fathom VERB --check` once its help lists them.
const DOCUMENT_VERBS: &[&str] = &["docs"];

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
    let documentation = [
        "doc",
        "--workspace",
        "--no-deps",
        "--document-private-items",
    ];
    command::run(
        root,
        &cargo,
        &documentation,
        &[("RUSTDOCFLAGS", "-D warnings")],
    )?;
    fuzz(root, &["--seconds".to_owned(), FUZZ_SECONDS.to_owned()])?;
    check_documents(root)?;
    step(&["test", "--workspace"])
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

fn check_documents(root: &Path) -> Result<(), String> {
    let fathom = [
        "run",
        "--quiet",
        "--profile",
        "test",
        "--package",
        "fathom",
        "--",
    ];
    let help = command::output(root, &cargo(), &[&fathom[..], &["help"]].concat())?;
    for verb in DOCUMENT_VERBS {
        let is_listed = help
            .lines()
            .any(|line| line.split_whitespace().next() == Some(verb));
        if is_listed {
            command::run(
                root,
                &cargo(),
                &[&fathom[..], &[verb, "--check"]].concat(),
                &[],
            )?;
        }
    }
    Ok(())
}
