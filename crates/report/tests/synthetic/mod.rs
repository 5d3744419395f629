//! Events of executions that never were, for tests and examples: the latency of a simple queue
//! with a tail, drawn from a fixed seed, so that pages look like real ones and are always the same.
use measure::{
    CpuTimes, DataFigures, DataWritten, EngineSample, Event, ExecutionFinished, ExecutionStarted,
    ExecutionTarget, Figure, FigureKey, FinishReason, Histogram, HistogramBuilder, HostFacts,
    HostSample, Interval, IntervalPhase, IoFailure, LatencyFigures, PoolInfo, PoolSample, Remark,
    RunFinished, RunStarted, StreamInfo, StreamSample, TargetIdentity, WorkerSample,
};
use plan::{
    ArrivalLaw, Label, Load, Operation, RunKind, SearchId, Severity, StreamId, Swept, TargetId,
};

const SECOND: u64 = 1_000_000_000;
const START_UNIX_NS: u64 = 1_790_000_000 * SECOND;

/// The rate at which the storage that never was is saturated, per second.
const CAPACITY: f64 = 400_000.0;

/// Markup and script ends, as no name should have them and some will.
pub const HOSTILE: &str = "</script><img src=x onerror=\"document.title='owned'\"><b>&amp;'";

/// One run to make up.
#[derive(Clone)]
pub struct RunSpec {
    pub name: String,
    pub load: Load,
    pub asked: Option<f64>,
    /// What the storage delivers.
    pub rate: f64,
    pub slots: u32,
    pub seconds: u32,
    pub warmup_seconds: u32,
    /// Failed I/Os in every tenth interval.
    pub errors: u64,
    pub is_finished: bool,
    /// Makes targets and measures nothing.
    pub is_preparing: bool,
    /// What a sweep gave it.
    pub swept: Vec<Swept>,
}

/// Makes up executions and hands out their events.
pub struct Synthetic {
    pub targets: u32,
    /// Samples per histogram: what sets the time that making it up takes.
    pub samples: u32,
    pub runs: Vec<RunSpec>,
    pub name: &'static str,
    /// Nanoseconds per I/O of this program that counters of the host by ticks do not see.
    pub unseen_ns: f64,
    random: u64,
}

impl RunSpec {
    fn swept_or(&self, name: &str, otherwise: f64) -> f64 {
        let value = self.swept.iter().find(|one| one.name == name);
        value.map_or(otherwise, |one| one.value)
    }
}

impl Synthetic {
    pub fn new(targets: u32, samples: u32, name: &'static str) -> Self {
        Self {
            targets,
            samples,
            runs: Vec::new(),
            name,
            unseen_ns: 0.0,
            random: 0x9e37_79b9_7f4a_7c15,
        }
    }

    /// A base and its points; the last ones miss their rate or exhaust the slots.
    pub fn curve(&mut self, slots: u32, seconds: u32, search: u32) {
        let search = SearchId(search);
        let base = CAPACITY * f64::from(slots) / f64::from(slots + 16);
        self.push(
            "base",
            Load::SearchBase { search },
            None,
            base,
            slots,
            seconds,
        );
        for pct in [10.0, 30.0, 50.0, 70.0, 80.0, 90.0, 100.0] {
            let asked = base * pct / 100.0;
            let reached = if pct == 100.0 { asked * 0.962 } else { asked };
            let name = format!("point_({pct}%)");
            self.push(
                &name,
                Load::SearchPoint { search, pct },
                Some(asked),
                reached,
                slots,
                seconds,
            );
        }
    }

    /// Flat-out runs with more and more slots.
    pub fn sweep(&mut self, seconds: u32) {
        for slots in [1, 2, 4, 8, 16, 32, 64, 128] {
            let rate = CAPACITY * f64::from(slots) / f64::from(slots + 16);
            self.push(
                &format!("threads={slots}"),
                Load::FlatOut,
                None,
                rate,
                slots,
                seconds,
            );
        }
    }

    pub fn push(
        &mut self,
        name: &str,
        load: Load,
        asked: Option<f64>,
        rate: f64,
        slots: u32,
        seconds: u32,
    ) {
        self.runs.push(RunSpec {
            name: format!("{}_{name}", self.name),
            load,
            asked,
            rate,
            slots,
            seconds,
            warmup_seconds: seconds / 10,
            errors: 0,
            is_finished: true,
            is_preparing: false,
            swept: Vec::new(),
        });
    }

    /// The whole execution.
    pub fn events(mut self, mut take: impl FnMut(Event)) {
        take(self.execution());
        let runs = self.runs.clone();
        let mut unix_ns = START_UNIX_NS + 2 * SECOND;
        for (number, run) in runs.iter().enumerate() {
            self.run(number as u32, run, unix_ns, &mut take);
            unix_ns += u64::from(run.seconds + 2) * SECOND;
        }
        if runs.iter().all(|run| run.is_finished) {
            take(Event::ExecutionFinished(ExecutionFinished {
                unix_ns,
                reason: FinishReason::Complete,
            }));
        }
    }

    fn execution(&self) -> Event {
        let target = |number: u32| ExecutionTarget {
            name: format!("{}{number}", self.name),
            path: format!("/dev/nvme{number}n1"),
            bytes: 50 << 30,
            is_written: true,
            identity: TargetIdentity {
                path: format!("/dev/nvme{number}n1"),
                real_path: format!("/dev/nvme{number}n1"),
                kind: "file".into(),
                bytes: 50 << 30,
                device: format!("nvme{number}n1"),
                model: "Made-up Disk 9000".into(),
                serial: format!("MADEUP{number:04}"),
                wwn: format!("eui.00000000{number:08}"),
                firmware: "1.02".into(),
                transport: "nvme".into(),
                rotational: Some(false),
                logical_block_bytes: 512,
                physical_block_bytes: 4096,
                scheduler: "none".into(),
                queue: vec![
                    ("nr_requests".into(), "1023".into()),
                    ("nomerges".into(), "0".into()),
                ],
                ..TargetIdentity::default()
            },
            ..ExecutionTarget::default()
        };
        Event::ExecutionStarted(ExecutionStarted {
            unix_ns: START_UNIX_NS,
            utc_offset_s: 3600,
            time_zone: "CET".into(),
            fathom_version: "0.1.0".into(),
            arguments: vec!["fathom".into(), "run".into(), "made-up.parm".into()],
            inputs: vec![(
                "made-up.parm".into(),
                format!(
                    "* {HOSTILE}\nsd=sd*,lun=/dev/nvme*n1,threads=32\nwd=wd1,sd=sd*,xfersize=4k,rdpct=70\nrd=rd1,wd=wd1,iorate=curve,elapsed=60,interval=1,warmup=6\n"
                ),
            )],
            host: HostFacts {
                name: "made-up-host".into(),
                kernel: "6.12.0".into(),
                distribution: "Debian GNU/Linux 13".into(),
                cpu_model: "Example CPU @ 3.00GHz".into(),
                cpus: 32,
                memory_bytes: 256 << 30,
                clock_source: "tsc".into(),
                fathom_version: "0.1.0".into(),
                ..HostFacts::default()
            },
            targets: (1..=self.targets).map(target).collect(),
            backend: "uring".into(),
            backend_reason: "block devices that io_uring accepts".into(),
            workers: 4,
            clock: "CLOCK_MONOTONIC, 21 ns per reading".into(),
            labels: vec![
                Label::new("transport", "nvme/tcp"),
                Label::new("firmware", HOSTILE),
            ],
            seed: 42,
            ..ExecutionStarted::default()
        })
    }

    fn run(&mut self, number: u32, run: &RunSpec, unix_ns: u64, take: &mut impl FnMut(Event)) {
        take(Event::RunStarted(RunStarted {
            run: number,
            runs: self.runs.len() as u32,
            name: run.name.clone(),
            kind: match run.is_preparing {
                true => RunKind::Prepare,
                false => RunKind::Measure,
            },
            unix_ns,
            interval_ns: SECOND,
            warmup_ns: u64::from(run.warmup_seconds) * SECOND,
            window_ns: Some(u64::from(run.seconds - run.warmup_seconds) * SECOND),
            unmeasured_intervals: run.warmup_seconds,
            load: run.load.clone(),
            asked_rate: run.asked,
            law: run.asked.map(|_| ArrivalLaw::Exponential),
            is_open_loop: run.asked.is_some(),
            pools: vec![PoolInfo {
                name: "pool".into(),
                slots: run.slots,
            }],
            streams: vec![StreamInfo {
                name: "wd1".into(),
                targets: (0..self.targets).map(TargetId).collect(),
                pool: 0,
                asked_rate: run.asked,
                share_pct: 100.0,
                labels: Vec::new(),
                law: None,
                host: 0,
                cache_mode: Some(plan::CacheMode::Direct),
            }],
            expected_bytes: None,
            labels: vec![Label::new("threads", run.slots.to_string())],
            swept: run.swept.clone(),
        }));
        let mut arrivals = (0, 0);
        for second in 0..run.seconds {
            let interval = self.interval(number, run, second, unix_ns);
            arrivals.0 += interval.engine.streams[0].scheduled;
            arrivals.1 += interval.engine.streams[0].submitted;
            let failed = interval.figures.iter().any(|figure| figure.errors > 0);
            let at = interval.unix_ns;
            take(Event::Interval(interval));
            if failed {
                take(failure(number, at));
            }
        }
        if run.errors > 0 {
            take(remark(number, unix_ns));
        }
        if run.is_finished {
            take(data_written(number));
            take(Event::RunFinished(RunFinished {
                run: number,
                unix_ns: unix_ns + u64::from(run.seconds) * SECOND,
                reason: FinishReason::Complete,
                first_measured: run.warmup_seconds + 1,
                last_measured: run.seconds,
                scheduled: arrivals.0,
                submitted: arrivals.1,
                unsent: arrivals.0 - arrivals.1,
                drain_ns: 2_000_000,
                outstanding: Vec::new(),
                late: Vec::new(),
                starts: Vec::new(),
            }));
        }
    }

    fn interval(&mut self, number: u32, run: &RunSpec, second: u32, unix_ns: u64) -> Interval {
        let use_of_slots = (run.rate / CAPACITY).min(0.97);
        let wobble = 1.0 + 0.03 * self.normal() - if second % 47 == 46 { 0.2 } else { 0.0 };
        let rate = run.rate * if run.asked.is_some() { 1.0 } else { wobble };
        let per_target = rate / f64::from(self.targets);
        let missing = run.asked.map_or(0.0, |asked| (asked - run.rate).max(0.0));
        // Waiting arrivals lengthen the response of all that follow; here they are soon given up.
        let queue_ns = (missing * f64::from(second) / run.rate * 1e9).min(4e9);
        let slow = if second % 47 == 46 { 3.0 } else { 1.0 };
        let base_ns = 80_000.0 / (1.0 - use_of_slots).max(0.05) * slow;
        let mut figures = Vec::new();
        for target in 0..self.targets {
            // One target in 16 is slower than its sisters, as the slow disk of a real shelf.
            let target_ns = if target % 16 == 5 {
                base_ns * 1.8
            } else {
                base_ns
            };
            let read = run.swept_or("read_pct", 70.0) / 100.0;
            for (operation, share) in [(Operation::Read, read), (Operation::Write, 1.0 - read)] {
                let count = (per_target * share) as u64;
                let service = self.latencies(target_ns, count);
                let response = if run.asked.is_some() {
                    self.latencies(target_ns * 1.03 + queue_ns, count)
                } else {
                    service.clone()
                };
                figures.push(Figure {
                    key: FigureKey {
                        stream: StreamId(0),
                        target: TargetId(target),
                        operation,
                    },
                    operations: count,
                    bytes: count * run.swept_or("transfer_size_bytes", 4096.0) as u64,
                    errors: if second % 10 == 7 && target == 0 {
                        run.errors
                    } else {
                        0
                    },
                    short_transfers: 0,
                    service,
                    response,
                });
            }
        }
        Interval {
            run: number,
            number: second + 1,
            start_ns: u64::from(second) * SECOND,
            end_ns: u64::from(second + 1) * SECOND,
            unix_ns: unix_ns + u64::from(second + 1) * SECOND,
            phase: if second < run.warmup_seconds {
                IntervalPhase::Warmup
            } else {
                IntervalPhase::Measured
            },
            engine: engine_sample(run, second, &figures, missing),
            host: self.host_sample(rate),
            lost: measure::LostParts::default(),
            within: Vec::new(),
            figures,
        }
    }

    fn latencies(&mut self, base_ns: f64, count: u64) -> LatencyFigures {
        let samples = u64::from(self.samples).min(count).max(1);
        let mut builder = HistogramBuilder::default();
        let (mut sum_ns, mut max_ns, mut left) = (0, 0, count);
        if count == 0 {
            return LatencyFigures::default();
        }
        for sample in 0..samples {
            let tail = if self.uniform() < 0.003 { 12.0 } else { 1.0 };
            let value = (base_ns * (0.28 * self.normal()).exp() * tail) as u64;
            let here = if sample + 1 == samples {
                left
            } else {
                count / samples
            };
            left -= here;
            builder.add_count(measure::bucket_of(value), here);
            sum_ns += value * here;
            max_ns = max_ns.max(value);
        }
        LatencyFigures {
            sum_ns,
            max_ns,
            histogram: builder.build(),
        }
    }

    fn host_sample(&mut self, rate: f64) -> HostSample {
        let busy_ns = (rate * 4_200.0 * (1.0 + 0.05 * self.normal())) as u64;
        HostSample {
            cpu: Some(CpuTimes {
                user_ns: busy_ns / 4,
                system_ns: busy_ns / 2,
                softirq_ns: busy_ns / 4,
                idle_ns: (32 * SECOND).saturating_sub(busy_ns),
                ..CpuTimes::default()
            }),
            fathom_user_ns: busy_ns / 8 + (rate * self.unseen_ns) as u64,
            fathom_system_ns: busy_ns / 4,
            fathom_memory_bytes: 64 << 20,
            fathom_read_bytes: Some((rate * 0.7 * 4096.0) as u64),
            fathom_written_bytes: Some((rate * 0.3 * 4096.0) as u64),
            ..HostSample::default()
        }
    }

    /// Between 0 and 1 (xorshift*).
    fn uniform(&mut self) -> f64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        (self.random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Roughly normal: a sum of uniforms.
    fn normal(&mut self) -> f64 {
        (0..6).map(|_| self.uniform()).sum::<f64>() * std::f64::consts::SQRT_2
            - 3.0 * std::f64::consts::SQRT_2
    }
}

fn engine_sample(run: &RunSpec, second: u32, figures: &[Figure], missing: f64) -> EngineSample {
    let operations: u64 = figures.iter().map(|figure| figure.operations).sum();
    let service_ns: u64 = figures.iter().map(|figure| figure.service.sum_ns).sum();
    let full = SECOND * u64::from(run.slots);
    let busy_ns = if run.asked.is_some() {
        service_ns.min(full)
    } else {
        full
    };
    let backlog = (missing * f64::from(second + 1)) as u64;
    let late: Histogram = (0..100).map(|sample| 2_000 + sample * 40).collect();
    EngineSample {
        streams: vec![StreamSample {
            scheduled: operations + missing as u64,
            submitted: operations,
            backlog,
            lateness: LatencyFigures {
                sum_ns: 400_000,
                max_ns: 5_960,
                histogram: late,
            },
            free_lateness: None,
            unserved: LatencyFigures::default(),
            span: None,
            handover: None,
            depth: None,
        }],
        pools: vec![PoolSample {
            slots: run.slots,
            busy_ns,
            exhausted_ns: if missing > 0.0 || run.asked.is_none() {
                SECOND * 9 / 10
            } else {
                0
            },
        }],
        workers: WorkerSample {
            workers: 4,
            usage: measure::ThreadUsage {
                cpu_wait_ns: Some(0),
                ..measure::ThreadUsage::default()
            },
            cpu_ns: SECOND / 2,
            submit_calls: operations / 8,
            submit_ns: operations * 700,
            ..WorkerSample::default()
        },
        oldest_in_flight_ns: 0,
        in_flight: run.slots,
        hosts: Vec::new(),
    }
}

fn data_written(run: u32) -> Event {
    let kind = DataFigures {
        streams: vec![StreamId(0)],
        asked_compression: Some(3.0),
        asked_duplicates: None,
        block_bytes: 4096,
        blocks: 1_000.0,
        contents: Some(500.0),
        sampled_contents: 500,
        sample: Default::default(),
        sampled_bytes: 2_900,
        compressed_bytes: 1_000,
    };
    Event::DataWritten(DataWritten {
        run,
        kinds: vec![kind],
    })
}

fn failure(run: u32, unix_ns: u64) -> Event {
    Event::IoFailure(IoFailure {
        run,
        unix_ns,
        stream: StreamId(0),
        target: TargetId(0),
        operation: Operation::Read,
        offset: 4096 * 77,
        length: 4096,
        errno: 5,
        message: "Input/output error".into(),
        misfit: None,
        host: 0,
        worker: None,
    })
}

fn remark(run: u32, unix_ns: u64) -> Event {
    Event::Remark(Remark {
        run: Some(run),
        unix_ns,
        severity: Severity::Warning,
        code: "made-up".into(),
        message: HOSTILE.into(),
    })
}
