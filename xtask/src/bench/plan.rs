//! How long a large plan takes, and how much memory: 1 000 storage definitions and 10 000 runs, read, bound and listed.
use super::{Folder, Table, Timed};
use std::path::Path;
use std::process::Command;

const STORAGES: usize = 1000;
/// Values of each of two loops.
const LOOP: usize = 100;
const ROUNDS: usize = 7;
const SECONDS_MAX: f64 = 1.0;
const MIB_MAX: f64 = 200.0;

/// An argument is the program to measure.
pub fn run(root: &Path, arguments: &[&str]) -> Result<(), String> {
    if arguments.len() > 1 {
        return Err("`bench plan` takes at most the path of a program".to_owned());
    }
    let program = super::program(root, arguments.first().copied())?;
    let folder = Folder::below(&std::env::temp_dir(), "plan")?;
    std::fs::write(folder.0.join("job"), job()).map_err(|error| error.to_string())?;
    let runs = LOOP * LOOP;
    println!("{STORAGES} storage definitions, {runs} runs: `fathom check job`");
    let found = super::rounds(ROUNDS, |_| check(&program, &folder.0))?;
    let mut table = Table::begin();
    let seconds = found.iter().map(|one| one.seconds);
    table.row("time, s", seconds, Some(SECONDS_MAX));
    let peak_mib = found.iter().map(|one| one.peak_mib);
    table.row("peak resident memory, MiB", peak_mib, Some(MIB_MAX));
    table.end()
}

/// A job of so many storage definitions, and of the product of two loops.
fn job() -> String {
    let storages: String = (1..=STORAGES)
        .map(|number| format!("sd=sd{number},lun=/nowhere/sd{number},size=1g,openflags=o_direct\n"))
        .collect();
    format!(
        "{storages}wd=wd1,sd=sd*,xfersize=4k,rdpct=70\n\
         rd=rd1,wd=wd1,iorate=max,elapsed=60,interval=1,forthreads=(1-{LOOP},1),forrdpct=(1-{LOOP},1)\n"
    )
}

fn check(program: &Path, folder: &Path) -> Result<Timed, String> {
    let found = super::timed(Command::new(program).args(["check", "job"]), folder)?;
    let lines = found.stdout.lines();
    let runs = lines.filter(|line| line.starts_with("  rd1")).count();
    match runs == LOOP * LOOP {
        true => Ok(found),
        false => Err(format!("{runs} runs were listed")),
    }
}
