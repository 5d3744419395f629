//! The chores of the workspace: `cargo xtask tidy`, `ci`, `long`, `docs`, `static`, `clean-lab`, `compare-peers`,
//! `compare-fio`, `fio-suite` and `bench`.
//!
//! Holds no code of the product and needs none of its crates, so that it builds in seconds and runs while the product
//! does not compile. Read [`tidy`] first.
#![forbid(unsafe_code)]
mod bench;
mod ci;
mod clean_lab;
mod command;
mod fio_jobs;
mod fio_suite;
mod lexer;
mod long;
mod peers;
mod source;
mod standalone;
mod steps;
mod test_run;
mod tidy;
mod workspace;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask tidy                  check the rules of the house that the compiler does not know
cargo xtask ci                    everything that a change must pass; `.ci/run` does the same on a bare machine
cargo xtask clean-lab             list and remove what killed tests left: stopped programs, mounts, loop devices, folders
cargo xtask docs                  write the generated documents again
cargo xtask static                a release build with the C library in it, for jobs on hosts with an older one; prints
                                  where it is
cargo xtask long                  what is too long for every change: whole matrices, ten minutes of changed inputs, 2 000
                                  compared jobs, the whole suite of fio, programs that read its output
cargo xtask compare-peers [--quick] [--figure N] ...
                                  measure Fathom beside fio and bare loops; `--help` tells the rest
cargo xtask compare-fio [--jobs N] [--seed N]
                                  the same small jobs through fio 3.33 and Fathom: which I/Os each of them does
cargo xtask bench plan [PROGRAM]  time and memory of a plan of 1 000 storage definitions and 10 000 runs
cargo xtask bench report [SECONDS]
                                  a day's result of 16 targets: its size, what recording and `fathom report` cost
cargo xtask bench runs [PROGRAM]  10 000 runs judged, and 20 results of 96 runs compared
cargo xtask bench guard [PROGRAM [FOLDER]]
                                  what the overwrite guard adds to files and devices; as root for the devices
cargo xtask bench fleet [PROGRAM] how soon eight hosts over ssh begin, and what a hundred agents take of the coordinator
cargo xtask fio-suite [--quick] [PROGRAM]
                                  fio's own tests against our binary under its name; `--quick` takes what ends soon
cargo xtask bare-timer, bare-ring the bare loops by themselves
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut words = arguments.iter().map(String::as_str);
    let outcome = match words.next() {
        Some("tidy") if arguments.len() == 1 => tidy::run(&workspace::root()),
        Some("ci") if arguments.len() == 1 => ci::run(&workspace::root()),
        Some("clean-lab") if arguments.len() == 1 => clean_lab::run(),
        Some("long") if arguments.len() == 1 => long::run(&workspace::root()),
        Some("docs") if arguments.len() == 1 => ci::write_documents(&workspace::root()),
        Some("static") if arguments.len() == 1 => standalone::run(&workspace::root()),
        Some("fio-suite") => fio_suite::run(&workspace::root(), &arguments[1..]),
        Some("bench") => bench::run(&workspace::root(), &arguments[1..]),
        Some("compare-fio") => fio_jobs::run(&workspace::root(), &arguments[1..]),
        Some(verb) if peers::VERBS.contains(&verb) => peers::run(&workspace::root(), &arguments),
        Some("help" | "--help" | "-h") => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprint!("{HELP}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}
