//! Reading a file past the page cache: Fathom beside the configurations of fio, and beside a bare ring. Fathom runs with
//! the fastest of its configurations, for CPU as well as for the rate; fio with the fastest for the rate, and for CPU
//! with the cheapest that is nearly as fast.
use super::{column, contender};
use crate::fio;
use crate::ours::{self, Job};
use crate::process::owned;
use crate::reading::{CPU, RATE, Reading, Window};
use crate::session::{Contender, Session, Settings};
use crate::statistics::{Bar, median};
use crate::table::{Row, shown};
use crate::targets;
use std::path::Path;

const FIGURE: u8 = 16;
const DEPTH: u32 = 32;

/// A configuration this near to the best rate may be the cheapest.
const BEST_SHARE: f64 = 0.97;

/// Configurations that Fathom has to choose from; the first is the one that it takes by itself.
const OURS: &[(&str, &[&str])] = &[
    ("fathom", &[]),
    ("fathom --workers 2", &["--workers", "2"]),
    ("fathom --backend aio", &["--backend", "aio"]),
];

/// Configurations of fio that stand to choose from.
const CONFIGURATIONS: &[(&str, &[&str])] = &[
    ("fio libaio", &["--ioengine=libaio"]),
    ("fio io_uring", &["--ioengine=io_uring"]),
    (
        "fio io_uring registered",
        &["--ioengine=io_uring", "--registerfiles", "--fixedbufs"],
    ),
];

/// Known as well, though fewer people use it: it is measured once and told.
const BATCHED: (&str, &[&str]) = (
    "fio io_uring registered, batches of 4",
    &[
        "--ioengine=io_uring",
        "--registerfiles",
        "--fixedbufs",
        "--iodepth_batch_submit=4",
        "--iodepth_batch_complete_min=4",
    ],
);

/// What short runs say of a configuration.
#[derive(Clone, Debug, PartialEq)]
struct Candidate {
    name: &'static str,
    rate: f64,
    cpu_ns: f64,
}

pub fn measure(session: &mut Session) -> Result<Vec<Row>, String> {
    let file = targets::written_file(session)?;
    let candidates = qualify(session, &file)?;
    let (own, peers) = candidates.split_at(OURS.len());
    let (ours, _) = choose(own);
    let (best, cheapest) = choose(&peers[..CONFIGURATIONS.len()]);
    let shown_file = file.display().to_string();
    let mut contenders = vec![
        fathom(OURS[ours], &file),
        configuration(&peers[cheapest], &file),
        contender("bare ring", |session| bare_ring(session, &shown_file)),
    ];
    if best != cheapest {
        contenders.push(configuration(&peers[best], &file));
    }
    let rounds = session.rounds(FIGURE, session.settings.pairs, &contenders)?;
    let place_of_best = if best == cheapest { 1 } else { 3 };
    let names: Vec<String> = contenders.iter().map(|one| one.name.clone()).collect();
    let columns: Vec<Vec<Reading>> = (0..names.len()).map(|at| column(&rounds, at)).collect();
    let compared = |what: &str, name: &str, place: usize, bar| {
        let peer = (names[place].as_str(), columns[place].as_slice());
        Row::compared(FIGURE, what, name, &columns[0], peer, bar)
    };
    let mut rows = vec![
        compared(
            "4 KiB random read of a file, depth 32: CPU per I/O",
            CPU,
            1,
            Some(Bar::AtMost(0.85)),
        ),
        compared(
            "the same: rate against the best",
            RATE,
            place_of_best,
            Some(Bar::LowAtLeast(0.95)),
        ),
        compared("the same: CPU per I/O beside a bare ring", CPU, 2, None),
        compared("the same: rate beside a bare ring", RATE, 2, None),
    ];
    rows.extend(candidates.iter().map(told));
    Ok(rows)
}

/// Short runs of every configuration in turn: those of Fathom, then those of fio.
fn qualify(session: &mut Session, file: &Path) -> Result<Vec<Candidate>, String> {
    let settings = session.settings;
    let peers: Vec<(&'static str, &[&str])> =
        CONFIGURATIONS.iter().copied().chain([BATCHED]).collect();
    let ours = OURS.iter().map(|one| fathom(*one, file));
    let theirs = peers.iter().map(|(name, words)| {
        let options = options(file, words);
        contender(name, move |session| fio::run(session, &options))
    });
    let contenders: Vec<Contender<'_>> = ours.chain(theirs).collect();
    session.settings = Settings {
        window_s: settings.choosing_s,
        ramp_s: 1,
        ..settings
    };
    let rounds = session.rounds(FIGURE, settings.choosing_rounds, &contenders);
    session.settings = settings;
    let rounds = rounds?;
    let middle = |place: usize, name: &str| {
        let values: Vec<f64> = column(&rounds, place)
            .iter()
            .map(|reading| reading.get(name))
            .collect();
        median(&values).unwrap_or(f64::NAN)
    };
    let names = OURS.iter().chain(&peers).map(|(name, _)| *name);
    let candidate = |(place, name): (usize, &'static str)| Candidate {
        name,
        rate: middle(place, RATE),
        cpu_ns: middle(place, CPU),
    };
    Ok(names.enumerate().map(candidate).collect())
}

/// The place of the fastest, and of the cheapest that is nearly as fast.
fn choose(candidates: &[Candidate]) -> (usize, usize) {
    let by = |of: fn(&Candidate) -> f64| {
        move |a: &(usize, &Candidate), b: &(usize, &Candidate)| of(a.1).total_cmp(&of(b.1))
    };
    let (best, fastest) = candidates
        .iter()
        .enumerate()
        .max_by(by(|one| one.rate))
        .expect("there are configurations");
    let is_near = |(_, one): &(usize, &Candidate)| one.rate >= BEST_SHARE * fastest.rate;
    let (cheapest, _) = candidates
        .iter()
        .enumerate()
        .filter(is_near)
        .min_by(by(|one| one.cpu_ns))
        .unwrap_or((best, fastest));
    (best, cheapest)
}

fn told(candidate: &Candidate) -> Row {
    let numbers = format!(
        "{}, {} ({})",
        shown(RATE, candidate.rate),
        shown(CPU, candidate.cpu_ns),
        candidate.name
    );
    let what = "choice by short runs: rate, CPU per I/O";
    match OURS.iter().any(|(name, _)| *name == candidate.name) {
        true => Row::told(FIGURE, what, numbers, String::new()),
        false => Row::told(FIGURE, what, String::new(), numbers),
    }
}

fn fathom<'a>((name, options): (&'static str, &'a [&'a str]), file: &Path) -> Contender<'a> {
    let storage = format!(
        "lun={},size=4g,threads={DEPTH},openflags=o_direct",
        file.display()
    );
    contender(name, move |session| {
        let job = Job {
            name: "file",
            storage: &storage,
            work: "xfersize=4k,rdpct=100,seekpct=100",
            run: "iorate=max",
            options,
        };
        ours::run(session, &job).map(|ours| ours.reading())
    })
}

fn configuration<'a>(candidate: &Candidate, file: &Path) -> Contender<'a> {
    let words = CONFIGURATIONS
        .iter()
        .find(|(name, _)| *name == candidate.name)
        .map_or(&[][..], |(_, words)| words);
    let options = options(file, words);
    contender(candidate.name, move |session| fio::run(session, &options))
}

fn options(file: &Path, words: &[&str]) -> Vec<String> {
    let mut options = owned(words);
    options.push(format!("--filename={}", file.display()));
    options.extend(owned(&[
        "--direct=1",
        "--rw=randread",
        "--norandommap",
        "--bs=4k",
        "--size=4g",
    ]));
    options.push(format!("--iodepth={DEPTH}"));
    options
}

fn bare_ring(session: &mut Session, file: &str) -> Result<Reading, String> {
    let settings = session.settings;
    let (seconds, warmup) = (settings.window_s.to_string(), settings.ramp_s.to_string());
    let depth = DEPTH.to_string();
    let found = session.bare(&[
        "bare-ring",
        "--file",
        file,
        "--depth",
        &depth,
        "--seconds",
        &seconds,
        "--warmup",
        &warmup,
    ])?;
    let number = |name: &str| found[name].as_u64().ok_or("the bare ring says nothing");
    let window = Window {
        operations: number("operations")?,
        window_ns: number("window_ns")?,
        cpu_ns: number("cpu_ns")?,
    };
    Ok(window.reading())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cheapest_is_chosen_among_the_nearly_best() {
        let candidate = |rate, cpu_ns| Candidate {
            name: "x",
            rate,
            cpu_ns,
        };
        let all = [
            candidate(100.0, 5.0),
            candidate(96.0, 1.0),
            candidate(98.0, 4.0),
        ];
        assert_eq!(choose(&all), (0, 2));
        assert_eq!(choose(&all[..1]), (0, 0));
    }
}
