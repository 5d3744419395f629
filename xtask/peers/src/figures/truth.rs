//! Whether response times are true: a disk falls silent for 1.5 s, and what Fathom says is held against the disk's own
//! log and the schedule. Beside it what a closed loop says of the same stall.
//!
//! The truth is taken without Fathom: reads are sequential, so an offset tells which arrival of the schedule it serves;
//! the schedule has one arrival every 5 ms; and its beginning is where it has to lie for the earliest read not to come
//! before its arrival. The true response of an arrival is the answer in the log less its place in the schedule.
use super::contender;
use crate::fio;
use crate::injector::{self, Answer, Injector};
use crate::machine::Machine;
use crate::ours::{self, Job, Ours};
use crate::process::owned;
use crate::reading::Reading;
use crate::session::Session;
use crate::statistics::median;
use crate::table::{Held, Row, shown};
use measure::{HistogramBuilder, Interval, LatencyFigures, bucket_bounds, bucket_of};
use std::path::Path;
use std::time::Duration;

const FIGURE: u8 = 19;
const RATE: u64 = 200;
const GAP_NS: u64 = 1_000_000_000 / RATE;
const READ_BYTES: u64 = 4096;
/// The same for the schedule and for the closed loop. With more of them more answers go back through the injector's
/// processes at the end of the stall, which takes them longer than its log can tell: with 1, 2, 4 and 32 slots, 0.4,
/// 0.6, 0.7 and 1.3 ms in the median and up to 4 ms, whatever the backend.
const SLOTS: u32 = 1;
const STALL: Duration = Duration::from_millis(1500);

/// How near the truth has to be.
const NEAR_NS: f64 = 1e6;
/// How far off the closed loop is at least.
const OFF_TIMES: f64 = 10.0;

const PERCENTILES: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

const OFF_MAX: &str = "response_off_ns_max";
const OFF_MEAN: &str = "response_off_ns_mean";
/// The worst percentile, less the step of the histogram there.
const OFF_PERCENTILE: &str = "response_off_ns_worst_percentile";
const OPERATIONS: &str = "operations";
const LOGGED: &str = "logged_operations";
const TRUE: [&str; 6] = [
    "true_response_ns_p50",
    "true_response_ns_p90",
    "true_response_ns_p99",
    "true_response_ns_p99_9",
    "true_response_ns_max",
    "true_response_ns_mean",
];
const RESPONSE: [&str; 6] = [
    "response_ns_p50",
    "response_ns_p90",
    "response_ns_p99",
    "response_ns_p99_9",
    "response_ns_max",
    "response_ns_mean",
];
const SERVICE_P99: &str = "service_ns_p99";
const LATENCY_P99: &str = "latency_ns_p99";
const LATENCY_MAX: &str = "latency_ns_max";

pub fn measure(session: &mut Session, machine: &Machine) -> Result<Vec<Row>, String> {
    if let Some(reason) = injector::missing(Path::new("/dev/fuse")) {
        return Err(format!("skipped: {reason}"));
    }
    let plugin = crate::root().join("xtask/assets/stalling_disk.py");
    let folder = session.folder.clone();
    let injector = Injector::start(&plugin, &folder, &mut session.commands)?;
    let settings = session.settings;
    let length = Lengths::of(settings.window_s);
    let pairs = if settings.is_quick { 1 } else { settings.pairs };
    let (injector, length) = (&injector, &length);
    let mut contenders = vec![
        contender("fathom at a fixed rate", |session| {
            open_loop(session, injector, length)
        }),
        contender("fathom in a closed loop", |session| {
            closed_loop(session, injector, length)
        }),
    ];
    if machine.fio.is_some() {
        contenders.push(contender("fio at a fixed rate", |session| {
            fio_paced(session, injector, length)
        }));
    }
    let rounds = session.rounds(FIGURE, pairs, &contenders)?;
    let column = |place| super::column(&rounds, place);
    let open = column(0);
    let mut rows = near_the_truth(&open);
    rows.push(closed_is_off(&open, &column(1)));
    if contenders.len() > 2 {
        rows.push(told(
            "the same stall in fio psync, rate_iops=200: clat p99",
            &open,
            &column(2),
        ));
    }
    Ok(rows)
}

/// One run of a stall.
#[derive(Clone, Copy, Debug)]
struct Lengths {
    run_s: u64,
    stall_after: Duration,
}

impl Lengths {
    fn of(window_s: u64) -> Self {
        let run_s = window_s.max(8);
        Self {
            run_s,
            stall_after: Duration::from_secs(run_s / 3),
        }
    }
}

/// Numbers of one latency, by route.
#[derive(Clone, Debug, PartialEq)]
struct Distribution {
    count: u64,
    mean_ns: f64,
    max_ns: u64,
    percentiles_ns: [u64; 4],
}

impl Distribution {
    fn of(figures: &LatencyFigures) -> Self {
        Self {
            count: figures.histogram.count(),
            mean_ns: figures.mean_ns(),
            max_ns: figures.max_ns,
            percentiles_ns: PERCENTILES.map(|percentile| figures.percentile_ns(percentile)),
        }
    }

    fn with(&self, mut reading: Reading, names: &[&'static str; 6]) -> Reading {
        for (name, value) in names.iter().zip(self.percentiles_ns) {
            reading = reading.with(name, value as f64);
        }
        reading
            .with(names[4], self.max_ns as f64)
            .with(names[5], self.mean_ns)
    }
}

fn job<'a>(storage: &'a str, run: &'a str, name: &'a str) -> Job<'a> {
    Job {
        name,
        storage,
        work: "xfersize=4k,rdpct=100,seekpct=0",
        run,
        options: &[],
    }
}

fn storage(injector: &Injector, slots: u32) -> String {
    format!(
        "lun={},size=64m,threads={slots},openflags=o_direct",
        injector.file.display()
    )
}

fn open_loop(
    session: &mut Session,
    injector: &Injector,
    length: &Lengths,
) -> Result<Reading, String> {
    injector.order_stall(length.stall_after, STALL)?;
    let storage = storage(injector, SLOTS);
    let run = format!("iorate={RATE},distribution=deterministic");
    let job = job(&storage, &run, "stall-fixed-rate");
    let ours = ours::execute(session, &job, 0, length.run_s, &[])?;
    let response = Distribution::of(&of_whole_run(&ours.intervals, |figure| &figure.response));
    let truth = truth(&injector.answers()?, response.count)?;
    let service = of_whole_run(&ours.intervals, |figure| &figure.service);
    Ok(compared(&ours, &response, &truth).with(SERVICE_P99, service.percentile_ns(99.0) as f64))
}

fn closed_loop(
    session: &mut Session,
    injector: &Injector,
    length: &Lengths,
) -> Result<Reading, String> {
    injector.order_stall(length.stall_after, STALL)?;
    let storage = storage(injector, SLOTS);
    let job = job(&storage, "iorate=max", "stall-closed-loop");
    let ours = ours::execute(session, &job, 0, length.run_s, &[])?;
    let service = of_whole_run(&ours.intervals, |figure| &figure.service);
    Ok(ours
        .reading()
        .with(LATENCY_P99, service.percentile_ns(99.0) as f64)
        .with(LATENCY_MAX, service.max_ns as f64))
}

fn fio_paced(
    session: &mut Session,
    injector: &Injector,
    length: &Lengths,
) -> Result<Reading, String> {
    injector.order_stall(length.stall_after, STALL)?;
    let mut options = owned(&[
        "--ioengine=psync",
        "--direct=1",
        "--rw=read",
        "--bs=4k",
        "--size=64m",
    ]);
    options.push(format!("--filename={}", injector.file.display()));
    options.push(format!("--rate_iops={RATE}"));
    let (outcome, _) = fio::execute(session, &[], &options, 0, length.run_s)?;
    let p99 = outcome.read_ns_p99.ok_or("fio gives no percentiles")?;
    let reading = outcome.window.reading();
    Ok(reading.with(LATENCY_P99, p99 as f64))
}

/// Over every interval of the run, those before the measured ones too: the log knows of no window.
fn of_whole_run(
    intervals: &[Interval],
    of: impl Fn(&measure::Figure) -> &LatencyFigures,
) -> LatencyFigures {
    let mut all = LatencyFigures::default();
    for figure in intervals.iter().flat_map(|interval| &interval.figures) {
        all.merge(of(figure));
    }
    all
}

/// What the responses of the first `count` arrivals were, by the log and the schedule alone. Arrivals behind them were
/// still on their way when the run ended.
fn truth(answers: &[Answer], count: u64) -> Result<Distribution, String> {
    let mut served: Vec<(u64, &Answer)> = answers
        .iter()
        .map(|answer| (answer.offset / READ_BYTES, answer))
        .collect();
    served.sort_by_key(|(arrival, _)| *arrival);
    let is_gapless = served
        .iter()
        .enumerate()
        .all(|(place, (arrival, answer))| *arrival == place as u64 && answer.bytes == READ_BYTES);
    if !is_gapless || served.is_empty() {
        return Err(
            "the reads in the injector's log are not one sequence from the start".to_owned(),
        );
    }
    if (served.len() as u64).abs_diff(count) > 2 {
        return Err(format!(
            "the injector answered {} reads, Fathom counts {count}",
            served.len()
        ));
    }
    let begin_ns = served
        .iter()
        .map(|(arrival, answer)| answer.arrived_ns - arrival * GAP_NS)
        .min()
        .expect("there is a read");
    let mut histogram = HistogramBuilder::default();
    let mut figures = LatencyFigures::default();
    for (arrival, answer) in served.iter().take(count as usize) {
        let response_ns = answer.answered_ns - (begin_ns + arrival * GAP_NS);
        histogram.record(response_ns);
        figures.sum_ns += response_ns;
        figures.max_ns = figures.max_ns.max(response_ns);
    }
    figures.histogram = histogram.build();
    Ok(Distribution::of(&figures))
}

fn compared(ours: &Ours, response: &Distribution, truth: &Distribution) -> Reading {
    let worst = response
        .percentiles_ns
        .iter()
        .zip(truth.percentiles_ns)
        .map(|(ours, truth)| {
            let (low, high) = bucket_bounds(bucket_of(truth));
            (ours.abs_diff(truth) as f64 - (high - low) as f64).max(0.0)
        })
        .fold(0.0, f64::max);
    let reading = ours
        .reading()
        .with(OPERATIONS, response.count as f64)
        .with(LOGGED, truth.count as f64)
        .with(OFF_MAX, response.max_ns.abs_diff(truth.max_ns) as f64)
        .with(OFF_MEAN, (response.mean_ns - truth.mean_ns).abs())
        .with(OFF_PERCENTILE, worst);
    truth.with(response.with(reading, &RESPONSE), &TRUE)
}

fn near_the_truth(open: &[Reading]) -> Vec<Row> {
    let row = |what: &str, off: &str, ours: &str, truth: &str, bar: &str| {
        let offs: Vec<f64> = open.iter().map(|reading| reading.get(off)).collect();
        let worst = offs.iter().copied().fold(0.0, f64::max);
        let numbers = format!(
            "{}, {} off ({} at worst)",
            shown(ours, super::mean(open, ours)),
            shown(off, median(&offs).unwrap_or(f64::NAN)),
            shown(off, worst)
        );
        let truth = format!(
            "{} (log and schedule)",
            shown(truth, super::mean(open, truth))
        );
        let what = format!("stall of 1.5 s at {RATE}/s: {what}");
        Row {
            bar: bar.to_owned(),
            verdict: near(&offs),
            ..Row::told(FIGURE, &what, numbers, truth)
        }
    };
    vec![
        row(
            "response maximum",
            OFF_MAX,
            RESPONSE[4],
            TRUE[4],
            "within 1 ms",
        ),
        row(
            "response mean",
            OFF_MEAN,
            RESPONSE[5],
            TRUE[5],
            "within 1 ms",
        ),
        row(
            "response p99 (and p50, p90, p99.9)",
            OFF_PERCENTILE,
            RESPONSE[2],
            TRUE[2],
            "1 ms + histogram step",
        ),
        Row::told(
            FIGURE,
            "the same: response p50, p90, p99.9",
            distribution(open, &RESPONSE),
            format!("{} (log and schedule)", distribution(open, &TRUE)),
        ),
        Row::told(
            FIGURE,
            "the same: service p99, which is no response",
            shown(SERVICE_P99, super::mean(open, SERVICE_P99)),
            String::new(),
        ),
    ]
}

/// The median decides: between the answer in the log and Fathom lie three processes, any of which a neighbour on the
/// machine may hold up once. How many rounds were near is said.
fn near(offs_ns: &[f64]) -> String {
    let count = offs_ns.iter().filter(|off| **off <= NEAR_NS).count();
    let middle = median(offs_ns).unwrap_or(f64::NAN);
    match (count == offs_ns.len(), middle <= NEAR_NS) {
        (true, true) => "met".to_owned(),
        (false, true) => format!("met in the median, in {count} of {} rounds", offs_ns.len()),
        _ => format!("missed, met in {count} of {} rounds", offs_ns.len()),
    }
}

fn distribution(open: &[Reading], names: &[&'static str; 6]) -> String {
    [names[0], names[1], names[3]]
        .map(|name| shown(name, super::mean(open, name)))
        .join(", ")
}

fn closed_is_off(open: &[Reading], closed: &[Reading]) -> Row {
    let times = |(open, closed): (&Reading, &Reading)| open.get(TRUE[2]) / closed.get(LATENCY_P99);
    let all: Vec<f64> = open.iter().zip(closed).map(times).collect();
    let least = all.iter().copied().fold(f64::INFINITY, f64::min);
    let row = told(
        "the same stall in a closed loop, 1 thread: p99",
        open,
        closed,
    );
    Row::held(
        FIGURE,
        &row.what,
        row.ours,
        format!(
            "{}, max {}: p99 {least:.0} × off at least",
            row.peer,
            shown(LATENCY_MAX, super::mean(closed, LATENCY_MAX))
        ),
        "≥ 10 × off",
        Held {
            windows: all.iter().filter(|times| **times >= OFF_TIMES).count(),
            of: all.len(),
        },
    )
}

fn told(what: &str, open: &[Reading], other: &[Reading]) -> Row {
    Row::told(
        FIGURE,
        what,
        format!(
            "{} at a fixed rate",
            shown(RESPONSE[2], super::mean(open, RESPONSE[2]))
        ),
        shown(LATENCY_P99, super::mean(other, LATENCY_P99)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A schedule from 7 s on; the disk takes 100 µs, and is silent from arrival 100 to 400.
    fn stalled() -> Vec<Answer> {
        let answer = |arrival: u64| {
            let arrived_ns = 7_000_000_000 + arrival * GAP_NS;
            let answered_ns = if (100..400).contains(&arrival) {
                7_000_000_000 + 400 * GAP_NS
            } else {
                arrived_ns + 100_000
            };
            Answer {
                arrived_ns,
                answered_ns,
                offset: arrival * READ_BYTES,
                bytes: READ_BYTES,
            }
        };
        (0..2000).rev().map(answer).collect()
    }

    #[test]
    fn the_truth_comes_from_the_log_and_the_schedule() {
        let truth = truth(&stalled(), 2000).unwrap();
        assert_eq!((truth.count, truth.max_ns), (2000, 1_500_000_000));
        // 300 arrivals wait 5 ms to 1.5 s, the others 0.1 ms.
        let mean_ns = (300.0 * 752.5e6 + 1700.0 * 1e5) / 2000.0;
        assert!((truth.mean_ns - mean_ns).abs() < 1.0, "{}", truth.mean_ns);
        let p99_ns = 1_500_000_000.0 - 20.0 * GAP_NS as f64;
        assert!((truth.percentiles_ns[2] as f64 / p99_ns - 1.0).abs() < 0.004);
    }

    #[test]
    fn a_log_that_does_not_fit_is_refused() {
        let mut answers = stalled();
        assert!(
            truth(&answers, 1990).is_err(),
            "ten reads that Fathom does not count"
        );
        assert!(
            truth(&answers, 1999).is_ok(),
            "one that was on its way at the end"
        );
        answers.remove(1000);
        assert!(truth(&answers, 1999).is_err(), "a read that is missing");
        assert!(truth(&[], 0).is_err());
    }

    #[test]
    fn a_response_off_by_two_milliseconds_is_found() {
        let reading = |off_ns| Reading::default().with(OFF_MAX, off_ns);
        let verdict = |offs: &[f64]| {
            let readings: Vec<Reading> = offs.iter().map(|off| reading(*off)).collect();
            near_the_truth(&readings)[0].verdict.clone()
        };
        assert_eq!(verdict(&[0.4e6]), "met");
        assert_eq!(verdict(&[2e6]), "missed, met in 0 of 1 rounds");
        assert_eq!(
            verdict(&[0.4e6, 2e6, 0.5e6]),
            "met in the median, in 2 of 3 rounds"
        );
        assert_eq!(verdict(&[]), "missed, met in 0 of 0 rounds");
        assert!(
            near_the_truth(&[Reading::default()])[1]
                .verdict
                .starts_with("missed")
        );
    }

    #[test]
    fn a_closed_loop_that_is_near_is_no_proof() {
        let open = Reading::default().with(TRUE[2], 1.4e9);
        let closed = |p99| Reading::default().with(LATENCY_P99, p99);
        assert_eq!(
            closed_is_off(std::slice::from_ref(&open), &[closed(2e5)]).verdict,
            "met"
        );
        assert_eq!(
            closed_is_off(&[open], &[closed(1e9)]).verdict,
            "missed in 1 of 1"
        );
    }
}
