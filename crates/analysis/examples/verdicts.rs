//! Judges many runs and what they come to, and prints how long that took, as a line `name value`. For `cargo xtask bench runs`.
use analysis::Watch;
use measure::{
    EngineSample, Event, ExecutionStarted, Figure, FigureKey, FinishReason, HostSample, Interval,
    IntervalPhase, LatencyFigures, LostParts, PoolInfo, PoolSample, RunFinished, RunStarted,
    StreamInfo, StreamSample, WorkerSample,
};
use plan::{ArrivalLaw, Load, Operation, RunKind, StreamId, TargetId};
use std::time::{Duration, Instant};

const SECOND: u64 = 1_000_000_000;
const INTERVALS: u32 = 10;
/// Operations of an interval.
const RATE: u64 = 1_000;

fn main() {
    let runs = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let Some(runs) = runs else {
        eprintln!("verdicts RUNS");
        std::process::exit(2);
    };
    let mut watch = Watch::default();
    watch.on_event(&Event::ExecutionStarted(ExecutionStarted::default()));
    let mut judging = Duration::ZERO;
    for run in 0..runs {
        watch.on_event(&Event::RunStarted(started(run, runs)));
        for number in 1..=INTERVALS {
            watch.on_event(&Event::Interval(interval(run, number)));
        }
        // What comes before is the sum of intervals, which every reader of a result makes.
        let begun = Instant::now();
        let ended = watch.on_event(&Event::RunFinished(finished(run)));
        judging += begun.elapsed();
        assert!(ended.is_some(), "a run that has ended is judged");
    }
    let begun = Instant::now();
    let verdict = watch.verdict();
    judging += begun.elapsed();
    assert!(verdict.is_some(), "runs that measure have a verdict");
    println!("judging_s {:.4}", judging.as_secs_f64());
}

fn started(run: u32, runs: u32) -> RunStarted {
    let rate = RATE as f64;
    RunStarted {
        run,
        runs,
        name: format!("rd{run}"),
        kind: RunKind::Measure,
        unix_ns: 0,
        interval_ns: SECOND,
        warmup_ns: 0,
        window_ns: Some(u64::from(INTERVALS) * SECOND),
        unmeasured_intervals: 0,
        load: Load::Rate { per_second: rate },
        asked_rate: Some(rate),
        law: Some(ArrivalLaw::Exponential),
        is_open_loop: true,
        pools: vec![PoolInfo {
            name: "sd1".to_owned(),
            slots: 32,
        }],
        streams: vec![StreamInfo {
            name: "wd1".to_owned(),
            targets: vec![TargetId(0)],
            pool: 0,
            asked_rate: Some(rate),
            share_pct: 100.0,
            labels: Vec::new(),
            law: Some(ArrivalLaw::Exponential),
            host: 0,
            cache_mode: None,
        }],
        expected_bytes: None,
        labels: Vec::new(),
        swept: Vec::new(),
    }
}

fn interval(run: u32, number: u32) -> Interval {
    let values = |least: u64| -> LatencyFigures {
        let spread = |place: u64| least + (place * 7919 + u64::from(run + number)) % 97 * 1_000;
        LatencyFigures::of(&(0..RATE).map(spread).collect::<Vec<u64>>())
    };
    let figure = Figure {
        operations: RATE,
        bytes: RATE * 4096,
        service: values(200_000),
        response: values(205_000),
        ..Figure::empty(FigureKey {
            stream: StreamId(0),
            target: TargetId(0),
            operation: Operation::Read,
        })
    };
    let (start_ns, end_ns) = (u64::from(number - 1) * SECOND, u64::from(number) * SECOND);
    Interval {
        run,
        number,
        start_ns,
        end_ns,
        unix_ns: end_ns,
        phase: IntervalPhase::Measured,
        figures: vec![figure],
        engine: EngineSample {
            streams: vec![StreamSample {
                scheduled: RATE,
                submitted: RATE,
                lateness: values(1_000),
                ..StreamSample::default()
            }],
            pools: vec![PoolSample {
                slots: 32,
                busy_ns: SECOND / 4,
                exhausted_ns: 0,
            }],
            workers: WorkerSample {
                workers: 1,
                cpu_ns: SECOND / 10,
                ..WorkerSample::default()
            },
            ..EngineSample::default()
        },
        host: HostSample::default(),
        lost: LostParts::default(),
        within: Vec::new(),
    }
}

fn finished(run: u32) -> RunFinished {
    RunFinished {
        run,
        unix_ns: u64::from(INTERVALS) * SECOND,
        reason: FinishReason::Complete,
        first_measured: 1,
        last_measured: INTERVALS,
        scheduled: RATE * u64::from(INTERVALS),
        submitted: RATE * u64::from(INTERVALS),
        unsent: 0,
        drain_ns: 0,
        outstanding: Vec::new(),
        late: Vec::new(),
        starts: Vec::new(),
    }
}
