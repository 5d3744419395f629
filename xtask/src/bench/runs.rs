//! What many runs cost once they are over: 10 000 of them judged, and 20 results of 96 runs compared.
use super::{Folder, Table};
use std::path::Path;
use std::process::Command;

const JUDGED: &str = "10000";
const JUDGING_SECONDS_MAX: f64 = 1.0;

/// Results of each side, and the seconds, targets and runs of each.
const REPEATS: u32 = 10;
const RESULT: [&str; 3] = ["10", "1", "96"];
const COMPARE_SECONDS_MAX: f64 = 2.0;
const COMPARE_MB_MAX: f64 = 200.0;

const ROUNDS: usize = 5;

/// An argument is the program.
pub fn run(root: &Path, arguments: &[&str]) -> Result<(), String> {
    if arguments.len() > 1 {
        return Err("`bench runs` takes at most a program".to_owned());
    }
    let program = super::program(root, arguments.first().copied())?;
    super::build(root, &["--package", "analysis", "--example", "verdicts"])?;
    super::build(root, &["--package", "store", "--example", "long_result"])?;
    let examples = super::release(root).join("examples");
    let folder = Folder::below(&std::env::temp_dir(), "runs")?;
    let mut table = Table::begin();
    let judged = super::rounds(ROUNDS, |_| {
        let mut judge = Command::new(examples.join("verdicts"));
        let told = super::timed(judge.arg(JUDGED), &folder.0)?.stdout;
        super::number(&told, "judging_s")
    })?;
    table.row(
        "verdicts of 10 000 runs, s",
        judged,
        Some(JUDGING_SECONDS_MAX),
    );
    for (side, repeat) in ["base", "other"]
        .iter()
        .flat_map(|side| (0..REPEATS).map(move |repeat| (side, repeat)))
    {
        let place = folder.0.join(format!("{side}/{repeat}"));
        std::fs::create_dir_all(&place)
            .map_err(|error| format!("`{}`: {error}", place.display()))?;
        let mut write = Command::new(examples.join("long_result"));
        write.arg("result.fathom").args(RESULT);
        super::timed(&mut write, &place)?;
    }
    let compared = super::rounds(ROUNDS, |_| {
        super::timed(
            Command::new(&program).args(["compare", "base", "other"]),
            &folder.0,
        )
    })?;
    let seconds = compared.iter().map(|one| one.seconds);
    table.row(
        "compare of 20 × 96 runs, s",
        seconds,
        Some(COMPARE_SECONDS_MAX),
    );
    let peak_mb = compared.iter().map(|one| one.peak_mib * 1.048_576);
    table.row(
        "compare, MB of memory at its peak",
        peak_mb,
        Some(COMPARE_MB_MAX),
    );
    table.end()
}
