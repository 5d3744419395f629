//! Writes a result file of a long run through the store, as an execution would, and prints what that took, as lines of
//! `name value`. For `cargo xtask bench report`.
use measure::{
    CpuTimes, DeviceCounters, DeviceSample, EngineSample, Event, ExecutionFinished,
    ExecutionStarted, ExecutionTarget, Figure, FigureKey, FinishReason, Gap, HostEvidence,
    HostSample, Interval, IntervalPhase, LatencyFigures, LostParts, PoolInfo, PoolSample,
    RunFinished, RunStarted, SampledReads, StillTimes, StreamInfo, StreamSample, TargetEvidence,
    WorkerEvidence, WorkerSample,
};
use plan::{ArrivalLaw, Load, Operation, RunKind, StreamId, TargetId};
use std::path::Path;
use std::time::Instant;
use store::Writer;

const SECOND: u64 = 1_000_000_000;
/// Operations per target and second.
const RATE: u64 = 1_000;
/// Different intervals, which come again in turn: drawing takes longer than writing.
const DIFFERENT: u32 = 64;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, numbers @ ..] = &arguments[..] else {
        eprintln!("long_result PATH SECONDS TARGETS [RUNS]");
        std::process::exit(2);
    };
    let numbers = numbers.iter().map(|text| text.parse().expect("a number"));
    let (seconds, targets, runs) = match numbers.collect::<Vec<u32>>()[..] {
        [seconds, targets] => (seconds, targets, 1),
        [seconds, targets, runs] => (seconds, targets, runs),
        _ => panic!("seconds, targets, and at most a number of runs"),
    };
    let path = Path::new(path);
    let (wall_s, cpu_ns) = write(path, seconds, targets, runs);
    println!("wall_s {wall_s:.1}");
    let share = cpu_ns as f64 / (f64::from(seconds) * SECOND as f64);
    println!("cpu_pct_of_run {:.4}", share * 100.0);
    sizes(path, f64::from(seconds) * f64::from(targets));
}

/// Gives the time of the clock in seconds, and CPU time in nanoseconds.
fn write(path: &Path, seconds: u32, targets: u32, runs: u32) -> (f64, u64) {
    let mut random = Random(7);
    let different: Vec<Interval> = (0..DIFFERENT)
        .map(|_| interval(&mut random, targets))
        .collect();
    let writer = Writer::create(path).expect("a new file");
    let send = |event: Event| writer.append(&event).expect("the file takes it");
    send(execution(targets));
    let begun = (Instant::now(), own_cpu_ns());
    for run in 0..runs {
        send(Event::RunStarted(RunStarted {
            run,
            runs,
            name: format!("rd{}", run + 1),
            ..started(seconds, targets)
        }));
        for number in 1..=seconds {
            let mut interval = different[((run + number) % DIFFERENT) as usize].clone();
            (interval.run, interval.number) = (run, number);
            interval.start_ns = u64::from(number - 1) * SECOND;
            interval.end_ns = u64::from(number) * SECOND;
            interval.unix_ns += interval.end_ns;
            send(Event::Interval(interval));
        }
        send(Event::RunFinished(finished(run, seconds)));
    }
    send(Event::ExecutionFinished(ExecutionFinished {
        unix_ns: u64::from(seconds) * SECOND,
        reason: FinishReason::Complete,
    }));
    writer.finish().expect("the file is whole");
    let cpu_ns = own_cpu_ns() - begun.1;
    (begun.0.elapsed().as_secs_f64(), cpu_ns)
}

fn finished(run: u32, seconds: u32) -> RunFinished {
    RunFinished {
        run,
        unix_ns: u64::from(seconds) * SECOND,
        reason: FinishReason::Complete,
        first_measured: 1,
        last_measured: seconds,
        scheduled: 0,
        submitted: 0,
        unsent: 0,
        drain_ns: 0,
        outstanding: Vec::new(),
        late: Vec::new(),
        starts: Vec::new(),
    }
}

/// proc_pid_schedstat: time on CPUs, of all threads that there were.
fn own_cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let words: Vec<u64> = after_name
        .split_ascii_whitespace()
        .skip(11)
        .take(2)
        .map_while(|word| word.parse().ok())
        .collect();
    // Ticks of 10 ms, as nearly everywhere.
    words.iter().sum::<u64>() * 10_000_000
}

fn execution(targets: u32) -> Event {
    let target = |number: u32| ExecutionTarget {
        name: format!("sd{number}"),
        path: format!("/dev/made-up/{number}"),
        bytes: 1 << 40,
        ..ExecutionTarget::default()
    };
    Event::ExecutionStarted(ExecutionStarted {
        targets: (1..=targets).map(target).collect(),
        backend: "uring".to_owned(),
        workers: 2,
        ..ExecutionStarted::default()
    })
}

fn started(seconds: u32, targets: u32) -> RunStarted {
    let rate = RATE as f64;
    RunStarted {
        run: 0,
        runs: 1,
        name: "rd1".to_owned(),
        kind: RunKind::Measure,
        unix_ns: 0,
        interval_ns: SECOND,
        warmup_ns: 0,
        window_ns: Some(u64::from(seconds) * SECOND),
        unmeasured_intervals: 0,
        load: Load::Rate {
            per_second: rate * f64::from(targets),
        },
        asked_rate: Some(rate * f64::from(targets)),
        law: Some(ArrivalLaw::Exponential),
        is_open_loop: true,
        pools: (0..targets)
            .map(|number| PoolInfo {
                name: format!("sd{number}"),
                slots: 32,
            })
            .collect(),
        streams: (0..targets).map(|number| stream(number, targets)).collect(),
        expected_bytes: None,
        labels: Vec::new(),
        swept: Vec::new(),
    }
}

fn stream(number: u32, targets: u32) -> StreamInfo {
    StreamInfo {
        name: "wd1".to_owned(),
        targets: vec![TargetId(number)],
        pool: number,
        asked_rate: Some(RATE as f64),
        share_pct: 100.0 / f64::from(targets),
        labels: Vec::new(),
        law: Some(ArrivalLaw::Exponential),
        host: 0,
        cache_mode: None,
    }
}

/// A second of so many targets, each with a stream and a pool of its own.
fn interval(random: &mut Random, targets: u32) -> Interval {
    let figures = (0..targets).map(|target| figure(random, target)).collect();
    let samples = (0..targets).map(|_| {
        let lateness: Vec<u64> = (0..RATE).map(|_| random.log_normal(4_000.0)).collect();
        StreamSample {
            scheduled: RATE,
            submitted: RATE,
            lateness: LatencyFigures::of(&lateness),
            free_lateness: Some(LatencyFigures::of(&lateness)),
            ..StreamSample::default()
        }
    });
    let engine = EngineSample {
        streams: samples.collect(),
        pools: (0..targets)
            .map(|_| PoolSample {
                slots: 32,
                busy_ns: 200_000_000 + random.below(10_000_000),
                exhausted_ns: 0,
            })
            .collect(),
        workers: WorkerSample {
            workers: 2,
            cpu_ns: 100_000_000 + random.below(10_000_000),
            reaps: 20_000,
            ..WorkerSample::default()
        },
        oldest_in_flight_ns: 300_000,
        in_flight: 4,
        hosts: vec![evidence(random, targets)],
    };
    Interval {
        run: 0,
        number: 0,
        start_ns: 0,
        end_ns: 0,
        unix_ns: 1_800_000_000 * SECOND,
        phase: IntervalPhase::Measured,
        figures,
        engine,
        host: host(random),
        lost: LostParts::default(),
        within: Vec::new(),
    }
}

fn figure(random: &mut Random, target: u32) -> Figure {
    let service: Vec<u64> = (0..RATE).map(|_| random.log_normal(200_000.0)).collect();
    let waits = service.iter().map(|ns| ns + random.log_normal(4_000.0));
    let response: Vec<u64> = waits.collect();
    Figure {
        operations: RATE,
        bytes: RATE * 4096,
        service: LatencyFigures::of(&service),
        response: LatencyFigures::of(&response),
        ..Figure::empty(FigureKey {
            stream: StreamId(target),
            target: TargetId(target),
            operation: Operation::Read,
        })
    }
}

fn evidence(random: &mut Random, targets: u32) -> HostEvidence {
    let worker = |number: u32| WorkerEvidence {
        worker: number,
        cpu_ns: Some(50_000_000),
        run_queue_ns: Some(20_000),
        loop_lag: Some(LatencyFigures::of(&[50_000; 100])),
        reap_gap: Some(LatencyFigures::of(&[50_000; 100])),
    };
    let target = |number: u32| TargetEvidence {
        target: TargetId(number),
        in_flight: Some(number % 3),
        oldest_ns: Some(100_000 + random.below(200_000)),
        sampled: SampledReads {
            reads: 60 + random.below(9),
            zeros: 0,
        },
        still: StillTimes::default(),
    };
    HostEvidence {
        host: 0,
        workers: (0..2).map(worker).collect(),
        targets: (0..targets).map(target).collect(),
        gaps: vec![Gap {
            target: TargetId(0),
            from_ns: 5 * SECOND,
            to_ns: 5 * SECOND + 20_000_000,
        }],
        slow: Vec::new(),
        pauses: Vec::new(),
        sample: None,
    }
}

fn host(random: &mut Random) -> HostSample {
    HostSample {
        cpu: Some(CpuTimes {
            user_ns: random.below(SECOND),
            system_ns: random.below(SECOND),
            idle_ns: 30 * SECOND,
            ..CpuTimes::default()
        }),
        fathom_user_ns: random.below(SECOND),
        fathom_system_ns: random.below(SECOND),
        fathom_memory_bytes: 64 << 20,
        devices: vec![DeviceSample {
            device: "nvme0n1".to_owned(),
            counters: DeviceCounters {
                reads: RATE * 16,
                read_bytes: RATE * 16 * 4096,
                busy_ns: random.below(SECOND),
                ..DeviceCounters::default()
            },
            in_flight: Some(4),
            state: Some("live".to_owned()),
        }],
        ..HostSample::default()
    }
}

/// Columns of percentiles in a table.
const PERCENTILES: [&str; 4] = ["p50", "p90", "p99", "p999"];

/// Bytes per target and second: of the whole file, and of what is neither histograms, gaps nor percentiles.
fn sizes(path: &Path, target_seconds: f64) {
    let bytes = std::fs::metadata(path).map_or(0, |facts| facts.len()) as f64;
    let connection = rusqlite::Connection::open(path).expect("the file opens");
    let sum = |sql: &str| -> f64 {
        let sum: Option<i64> = connection.query_row(sql, [], |row| row.get(0)).expect(sql);
        sum.unwrap_or(0) as f64
    };
    let histograms = sum(
        "SELECT sum(length(service_histogram) + coalesce(length(response_histogram), 0)) FROM counts",
    ) + sum("SELECT sum(length(histogram)) FROM sample_histograms")
        + sum("SELECT sum(coalesce(length(gaps), 0)) FROM samples");
    let columns = ["service", "response"];
    let columns = columns
        .iter()
        .flat_map(|of| PERCENTILES.map(|name| format!("{of}_ns_{name}")));
    // A byte in the head of a row, and one to six in its body.
    let width = |column: String| {
        format!(
            "1 + CASE WHEN {column} IS NULL THEN 0 WHEN {column} < 128 THEN 1 WHEN {column} < 32768 THEN 2
                WHEN {column} < 8388608 THEN 3 WHEN {column} < 2147483648 THEN 4 ELSE 6 END"
        )
    };
    let width: Vec<String> = columns.map(width).collect();
    let percentiles: f64 = ["counts", "intervals", "spans"]
        .map(|table| sum(&format!("SELECT sum({}) FROM {table}", width.join(" + "))))
        .iter()
        .sum();
    let per = |bytes: f64| bytes / target_seconds;
    println!("bytes_per_target_second {:.1}", per(bytes));
    println!("bytes_beside {:.1}", per(bytes - histograms - percentiles));
}

struct Random(u64);

impl Random {
    /// xorshift*.
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) % limit
    }

    /// σ = 0.5.
    fn log_normal(&mut self, median: f64) -> u64 {
        let sum: f64 = (0..12)
            .map(|_| self.below(1 << 20) as f64 / (1 << 20) as f64)
            .sum();
        (median * ((sum - 6.0) * 0.5).exp()) as u64
    }
}
