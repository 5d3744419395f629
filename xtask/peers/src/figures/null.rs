//! What an operation costs when the storage is nothing: Fathom's null backend beside fio's null engine.
use super::{column, contender, mean};
use crate::fio;
use crate::machine::Machine;
use crate::ours::{self, COMPLETED, Job, SLOTS_BUSY};
use crate::process::{Finished, owned};
use crate::reading::{PER_CPU, RATE};
use crate::session::Session;
use crate::statistics::{Bar, Ratio};
use crate::table::{Row, shown};

const FIGURE: u8 = 15;

/// Under callgrind everything is some fifty times slower; the difference of two lengths leaves out what a start and a
/// report cost.
const CALLGRIND_SHORT_S: u64 = 2;
const CALLGRIND_LONG_S: u64 = 5;
const CALLGRIND: &[&str] = &[
    "valgrind",
    "--tool=callgrind",
    "--callgrind-out-file=/dev/null",
];

const JOB: Job<'_> = Job {
    name: "null",
    storage: "lun=/nowhere/null,size=4g,threads=32,openflags=o_direct",
    work: "xfersize=4k,rdpct=70,seekpct=100",
    run: "iorate=max",
    options: &["--backend", "null", "--workers", "1"],
};

pub fn measure(session: &mut Session, machine: &Machine) -> Result<Vec<Row>, String> {
    let options = fio_options();
    let contenders = [
        contender("fathom", |session| {
            ours::run(session, &JOB).map(|ours| ours.reading())
        }),
        contender("fio null", |session| fio::run(session, &options)),
    ];
    let rounds = session.rounds(FIGURE, session.settings.pairs, &contenders)?;
    let (ours, peer) = (column(&rounds, 0), column(&rounds, 1));
    let compared = |what: &str, name: &str, bar| {
        Row::compared(FIGURE, what, name, &ours, ("fio null", &peer), bar)
    };
    let mut rows = vec![
        compared(
            "null, 4 KiB random 70 % read, depth 32: I/Os per CPU-second",
            PER_CPU,
            Some(Bar::AtLeast(3.0)),
        ),
        compared("the same: I/Os per second", RATE, None),
        Row::told(
            FIGURE,
            "the same: slots busy of 32",
            shown(SLOTS_BUSY, mean(&ours, SLOTS_BUSY)),
            String::new(),
        ),
    ];
    rows.push(match &machine.valgrind {
        Some(_) => instructions(session, &options)?,
        None => Row::without(
            FIGURE,
            "instructions per I/O",
            "skipped: valgrind is not installed".to_owned(),
        ),
    });
    Ok(rows)
}

fn fio_options() -> Vec<String> {
    owned(&[
        "--ioengine=null",
        "--rw=randrw",
        "--rwmixread=70",
        "--bs=4k",
        "--iodepth=32",
        "--norandommap",
        "--size=4g",
    ])
}

fn instructions(session: &mut Session, options: &[String]) -> Result<Row, String> {
    let ours = slope(|length_s| {
        let ours = ours::execute(session, &JOB, 0, length_s, CALLGRIND)?;
        let done = ours.reading().get(COMPLETED);
        Ok((collected(&ours.finished)?, done))
    })?;
    let peer = slope(|length_s| {
        let (outcome, finished) = fio::execute(session, CALLGRIND, options, 0, length_s)?;
        Ok((collected(&finished)?, outcome.window.operations as f64))
    })?;
    let ratio = Ratio {
        mean: ours / peer,
        low: ours / peer,
        high: ours / peer,
        pairs: 0,
    };
    Ok(Row {
        ratio: Some(ratio),
        ..Row::told(
            FIGURE,
            "the same: instructions per I/O (callgrind)",
            format!("{ours:.0}"),
            format!("{peer:.0} (fio null)"),
        )
    })
}

/// Instructions per operation between a short and a long run.
fn slope(mut run: impl FnMut(u64) -> Result<(f64, f64), String>) -> Result<f64, String> {
    let (short, long) = (run(CALLGRIND_SHORT_S)?, run(CALLGRIND_LONG_S)?);
    let (instructions, operations) = (long.0 - short.0, long.1 - short.1);
    // On a machine with neighbours the long run may do little more, but not nothing.
    if operations.is_nan() || operations <= short.1 * 0.2 || instructions <= 0.0 {
        return Err("the long run under callgrind did hardly more than the short one".to_owned());
    }
    Ok(instructions / operations)
}

/// `Collected : N` on the standard error of callgrind.
fn collected(finished: &Finished) -> Result<f64, String> {
    let line = finished
        .stderr
        .lines()
        .find_map(|line| line.split_once("Collected : "));
    line.and_then(|(_, count)| count.trim().parse().ok())
        .ok_or_else(|| "callgrind printed no count".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_leaves_out_what_a_start_costs() {
        // 1 000 000 instructions to start, 150 per operation.
        let run = |seconds: u64| {
            let operations = 100_000.0 * seconds as f64;
            Ok((1e6 + 150.0 * operations, operations))
        };
        assert_eq!(slope(run), Ok(150.0));
        assert!(slope(|_| Ok((1e6, 1e5))).is_err());
    }

    #[test]
    fn the_count_of_callgrind() {
        let finished = |stderr: &str| Finished {
            stdout: String::new(),
            stderr: stderr.to_owned(),
            is_success: true,
            cpu_ns: 0,
        };
        let printed =
            "==7== Events    : Ir\n==7== Collected : 123456\n==7== I   refs:      123,456\n";
        assert_eq!(collected(&finished(printed)), Ok(123_456.0));
        assert!(collected(&finished("")).is_err());
    }
}
