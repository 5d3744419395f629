//! The binary: arguments, wiring, terminal and exit codes. Everything that could be a library is
//! one; what is here puts them together. Read `launch` first.
#![forbid(unsafe_code)]

mod arguments;
mod check;
mod curve;
mod exit;
mod explain;
mod files;
mod launch;
mod machine;
mod manual;
mod plan_file;
mod progress;
mod render;
mod report_again;
mod run;
mod sinks;
mod stop;
mod vdbench_face;

use arguments::{Arguments, Verb};
use clap::{CommandFactory, Parser};
use exit::Exit;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let called = arguments.first().map_or("", String::as_str);
    let name = called.rsplit('/').next().unwrap_or(called);
    let exit = match (name, arguments.get(1).map(String::as_str)) {
        ("vdbench", _) => vdbench_face::main(&arguments, &arguments[1..]),
        (_, Some("vdbench")) => vdbench_face::main(&arguments, &arguments[2..]),
        ("fio", _) | (_, Some("fio")) => {
            eprintln!(
                "error: fio job files are not built yet; Vdbench parameter files are (`fathom vdbench`)"
            );
            Exit::Usage
        }
        _ => neutral(&arguments),
    };
    exit.into()
}

fn neutral(arguments: &[String]) -> Exit {
    let parsed = match Arguments::try_parse_from(arguments) {
        Ok(parsed) => parsed,
        Err(error) => {
            // Help and version come this way too, and are no mistakes.
            let code = if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Fine
            };
            let _ = error.print();
            return code;
        }
    };
    match parsed.verb {
        Verb::Run(options) => run::main(&options, arguments),
        Verb::Curve(options) => curve::main(&options, arguments),
        Verb::Check(options) => check::main(&options),
        Verb::Report(options) => report_again::main(&options),
        Verb::Explain(options) => explain::main(&options),
        Verb::Manual(options) => manual::main(&options, &mut Arguments::command()),
    }
}
