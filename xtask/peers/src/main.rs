//! `cargo xtask compare-peers`: Fathom beside fio and beside bare loops, in turn, with intervals. Also the bare loops
//! themselves. Read [`session`] for how contenders take turns, and [`figures`] for what is compared.
#![forbid(unsafe_code)]
mod bare;
mod figures;
mod fio;
mod machine;
mod ours;
mod process;
mod reading;
mod session;
mod statistics;
mod table;
mod targets;

use clap::{Args, Parser, Subcommand};
use machine::Machine;
use session::{Session, Settings};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use table::Row;

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Measure Fathom beside fio and bare loops.
    ComparePeers(CompareOptions),
    /// Sleep to the moments of a schedule and say how late that was.
    BareTimer(bare::timer::Options),
    /// Read at random through a ring and record nothing.
    BareRing(bare::ring::Options),
}

#[derive(Args, Debug)]
struct CompareOptions {
    /// A figure to measure: 15 (null), 16 (file) or 18 (arrivals); repeatable. All of them when left out.
    #[arg(long, value_name = "N", value_parser = figures::number)]
    figure: Vec<u8>,
    /// All figures, which is the default.
    #[arg(long, conflicts_with = "figure")]
    all: bool,
    /// Two short rounds of everything: to see that it works.
    #[arg(long)]
    quick: bool,
    /// Rounds of all contenders.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pairs: Option<u32>,
    /// Of figure 18 only this rate: 1000, 10000, 20000 or 50000; repeatable.
    #[arg(long, value_name = "RATE", value_parser = figures::arrival_rate)]
    rate: Vec<u32>,
    /// Length of a window.
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(2..))]
    seconds: Option<u64>,
    /// For the file that is measured and for parameter files; `target/peers` unless given. It says which storage is
    /// measured.
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// A binary of Fathom to compare, in place of a fresh release build.
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Take an exclusive lock (flock) on this file for each round, so that whatever else takes it, such as builds on
    /// a shared machine, stays out of the windows; repeatable, taken in the order given.
    #[arg(long, value_name = "FILE")]
    lock: Vec<PathBuf>,
    /// Write everything, every window too, as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Append a section to a page of benchmarks.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().verb {
        Verb::ComparePeers(options) => compare(&options),
        Verb::BareTimer(options) => bare::timer::run(&options).map(|found| println!("{found}")),
        Verb::BareRing(options) => bare::ring::run(&options).map(|found| println!("{found}")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn compare(options: &CompareOptions) -> Result<(), String> {
    let root = root();
    let mut settings = if options.quick {
        Settings::quick()
    } else {
        Settings::full()
    };
    settings.pairs = options.pairs.unwrap_or(settings.pairs);
    settings.window_s = options.seconds.unwrap_or(settings.window_s);
    let fathom = match &options.binary {
        Some(binary) => std::fs::canonicalize(binary)
            .map_err(|error| format!("{}: {error}", binary.display()))?,
        None => build(root)?,
    };
    let machine = Machine::look(&fathom);
    println!("{}", machine.line());
    let folder = options
        .folder
        .clone()
        .unwrap_or_else(|| root.join("target/peers"));
    let mut session = Session::new(settings, fathom, folder)?;
    session.locks.clone_from(&options.lock);
    session.rates.clone_from(&options.rate);
    let chosen = match options.figure.as_slice() {
        [] => figures::NUMBERS,
        chosen => chosen,
    };
    let mut rows: Vec<Row> = Vec::new();
    for figure in chosen {
        rows.extend(figures::measure(&mut session, &machine, *figure));
        // After each figure: an interrupted comparison keeps what it has.
        write_down(options, &session, &machine, &rows)?;
    }
    println!("\n{}", machine.line());
    println!("{}", table::methods(&session.settings));
    println!("{}", table::table(&rows));
    match &options.markdown {
        Some(file) => append(file, &table::markdown(&session, &machine, &rows)),
        None => Ok(()),
    }
}

/// The folder that holds the workspace.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("this crate lies two folders below the root")
}

fn write_down(
    options: &CompareOptions,
    session: &Session,
    machine: &Machine,
    rows: &[Row],
) -> Result<(), String> {
    let Some(file) = &options.json else {
        return Ok(());
    };
    let text = format!("{:#}\n", table::record(session, machine, rows));
    std::fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}

fn append(file: &Path, text: &str) -> Result<(), String> {
    let before = match std::fs::read_to_string(file) {
        Ok(before) if before.is_empty() => before,
        Ok(before) => before.trim_end().to_owned() + "\n\n",
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(format!("{}: {error}", file.display())),
    };
    std::fs::write(file, before + text).map_err(|error| format!("{}: {error}", file.display()))
}

/// Builds the release binary and says where it is.
fn build(root: &Path) -> Result<PathBuf, String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    eprintln!("$ cargo build --release -p fathom");
    let output = Command::new(cargo)
        .args([
            "build",
            "--release",
            "-p",
            "fathom",
            "--message-format=json-render-diagnostics",
        ])
        .current_dir(root)
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|error| format!("cargo does not start: {error}"))?;
    if !output.status.success() {
        return Err("the release build failed".to_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    executable(&text).ok_or_else(|| "cargo named no binary `fathom`".to_owned())
}

/// The binary in the messages of cargo.
fn executable(messages: &str) -> Option<PathBuf> {
    let of_fathom = |line: &str| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let is_fathom = message["target"]["name"] == "fathom";
        let path = message["executable"].as_str()?;
        is_fathom.then(|| PathBuf::from(path))
    };
    messages.lines().rev().find_map(of_fathom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binary_is_found_in_the_messages_of_cargo() {
        let messages = r#"{"reason":"compiler-artifact","target":{"name":"lang"},"executable":null}
{"reason":"compiler-artifact","target":{"name":"fathom"},"executable":"/x/fathom"}
{"reason":"build-finished","success":true}"#;
        assert_eq!(executable(messages), Some(PathBuf::from("/x/fathom")));
        assert_eq!(executable("no json"), None);
    }

    #[test]
    fn the_arguments_hold_together() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
        let words = [
            "xtask",
            "compare-peers",
            "--figure",
            "15",
            "--figure",
            "18",
            "--quick",
        ];
        let Verb::ComparePeers(options) = Arguments::parse_from(words).verb else {
            panic!("another verb");
        };
        assert_eq!((options.figure, options.quick), (vec![15, 18], true));
    }

    #[test]
    fn a_figure_that_is_not_measured_is_refused_with_the_list() {
        for number in ["14", "17", "x"] {
            let words = ["xtask", "compare-peers", "--figure", number];
            let message = Arguments::try_parse_from(words).unwrap_err().to_string();
            assert!(message.contains("[15, 16, 18]"), "{message}");
        }
    }
}
