//! The binary: arguments, wiring, terminal and exit codes. Everything that could be a library is
//! one; what is here puts them together. Read `launch` first.
#![forbid(unsafe_code)]

#[macro_use]
mod printing;

mod address_list;
mod agent;
mod arguments;
mod at;
mod background;
mod check;
mod codes;
mod compare;
mod curve;
mod descriptors;
mod ending;
mod exit;
mod explain;
mod face;
mod failover;
mod files;
mod fill;
mod fio_clients;
mod fio_face;
mod fio_operations;
mod fio_report;
mod foreign_text;
mod here;
mod host_list;
mod hosts;
mod import;
mod in_turn;
mod job_files;
mod lane;
mod launch;
mod limits;
mod lints;
mod machine;
mod manual;
mod marks;
mod mistakes;
mod one_target;
mod outputs;
mod own_options;
mod plan_file;
mod prefill;
mod progress;
mod reasons;
mod records;
mod refusals;
mod removal;
mod render;
mod report_again;
mod results;
mod resume;
mod room;
mod run;
mod scale;
mod seed;
mod self_tests;
mod sinks;
mod spans;
mod standing;
mod status;
mod stop;
mod stop_file;
mod trace;
mod trigger;
mod vary;
mod vdbench_face;
mod written_states;

use arguments::{Arguments, Verb};
use clap::{CommandFactory, Parser};
use exit::Exit;
use std::process::ExitCode;

/// Memory that is refused ends the program with a line that says how many bytes.
#[global_allocator]
static ALLOCATOR: sys::refused::Telling = sys::refused::Telling;

/// Of the thread that carries out the command line: what the system gives to the first one.
const STACK_BYTES: usize = 8 << 20;

/// Everything is done on a second thread. The kernel hands a signal to the first one, which has to be able to take it:
/// it would not while a device that hangs holds it in a call.
fn main() -> ExitCode {
    sys::early::settle();
    let carry_out = std::thread::Builder::new()
        .name("main".into())
        .stack_size(STACK_BYTES)
        .spawn(carry_out);
    let thread = match carry_out {
        Ok(thread) => thread,
        Err(error) => {
            errln!(
                "error: no thread with a stack of {STACK_BYTES} bytes can be started: {error}; {}",
                sys::refused::limit_text()
            );
            return Exit::Failed.into();
        }
    };
    match thread.join() {
        Ok(code) => code,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

fn carry_out() -> ExitCode {
    status::watch();
    let Some(arguments) = arguments() else {
        return Exit::Usage.into();
    };
    // A check has to see the limits that a run would have.
    host::raise_own_limits();
    let called = arguments.first().map_or("", String::as_str);
    let name = called.rsplit('/').next().unwrap_or(called);
    let word = |at: usize| arguments.get(at).map(String::as_str);
    if carries_out(name, word(1)) {
        printing::wait_for_nobody();
        if let Err(error) = stop::watch() {
            errln!("error: signals cannot be watched: {error}");
            return Exit::Failed.into();
        }
    }
    let exit = match (name, word(1)) {
        ("vdbench", _) => vdbench_face::main(&arguments, &arguments[1..]),
        (_, Some("vdbench")) => vdbench_face::main(&arguments, &arguments[2..]),
        (_, Some("help")) if word(2) == Some("vdbench") => vdbench_face::help(),
        ("fio", _) => fio_face::main(&arguments, &arguments[1..]),
        (_, Some("fio")) => fio_face::main(&arguments, &arguments[2..]),
        (_, Some("help")) if word(2) == Some("fio") => fio_face::help(),
        _ => neutral(&arguments),
    };
    printing::end(exit).into()
}

/// Whether the program may reach storage for long. A check, which looks at storage, watches for signals by itself; what only
/// looks at files ends with a signal as any program does.
fn carries_out(name: &str, verb: Option<&str>) -> bool {
    let verbs = [
        "run", "scale", "curve", "failover", "prefill", "vdbench", "fio",
    ];
    let faces = ["vdbench", "fio"];
    faces.contains(&name) || verb.is_some_and(|verb| verbs.contains(&verb))
}

/// The words of the command line. All of them are stored and shown, so all must be text.
fn arguments() -> Option<Vec<String>> {
    let mut words = Vec::new();
    for word in std::env::args_os() {
        match word.into_string() {
            Ok(word) => words.push(word),
            Err(word) => {
                errln!("error: the argument `{}` is not UTF-8 text", word.display());
                return None;
            }
        }
    }
    Some(words)
}

fn neutral(arguments: &[String]) -> Exit {
    let parsed = match Arguments::try_parse_from(arguments) {
        Ok(parsed) => parsed,
        Err(error) => return mistakes::tell(error),
    };
    match parsed.verb {
        Verb::Scale(options) => scale::main(&options, arguments),
        Verb::Run(options) => run::main(&options, arguments),
        Verb::Curve(options) => curve::main(&options, arguments),
        Verb::Failover(options) => failover::main(&options, arguments),
        Verb::Prefill(options) => prefill::main(&options, arguments),
        Verb::Check(options) => check::main(&options),
        Verb::Report(options) => report_again::main(&options),
        Verb::Compare(options) => compare::main(&options, arguments),
        Verb::Mark(options) => marks::main(&options),
        Verb::Import(options) => import::main(&options),
        Verb::Explain(options) => explain::main(&options),
        Verb::Vdbench { words } => vdbench_face::main(arguments, &words),
        Verb::Fio { words } => fio_face::main(arguments, &words),
        Verb::Agent => agent::main(),
        Verb::Manual(options) => manual::main(&options, &mut Arguments::command()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What may write to targets reaches them for long.
    #[test]
    fn every_verb_that_may_overwrite_is_drained_by_signals() {
        let all = Arguments::command();
        let may_overwrite = |verb: &&clap::Command| {
            let mut arguments = verb.get_arguments();
            arguments.any(|argument| argument.get_id() == "overwrite")
        };
        let verbs = all.get_subcommands().filter(may_overwrite);
        let verbs: Vec<&str> = verbs.map(clap::Command::get_name).collect();
        assert!(verbs.contains(&"failover"), "{verbs:?}");
        // A check only looks.
        for verb in verbs.into_iter().filter(|verb| *verb != "check") {
            assert!(carries_out("fathom", Some(verb)), "{verb}");
        }
    }
}
