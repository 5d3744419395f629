//! Synthetic executions for the tests of all reports: the shape is given, the events follow.
use measure::{
    CpuTimes, EngineSample, Event, ExecutionFinished, ExecutionStarted, ExecutionTarget, Figure,
    FigureKey, FinishReason, Histogram, HostFacts, HostSample, Interval, IntervalPhase,
    LatencyFigures, PoolInfo, PoolSample, RunFinished, RunStarted, StreamInfo, StreamSample,
    WorkerSample,
};
use plan::{
    ArrivalLaw, BoundPlan, Coupling, DataSpec, FirstInterval, Label, Ledger, Load, LocalStop,
    Nanos, OpSource, OpenMode, Operation, Origin, Pacing, Plan, Pool, PoolId, Preparation, RunId,
    RunKind, RunSpec, RunStop, RunTemplate, SizeRule, StartAlign, Stream, StreamId, Target,
    TargetId, TargetKind, TargetOrder, TemplateId, Timing, Window,
};

/// 2026-11-21 07:43:55 UTC.
pub const START_NS: u64 = 1_795_247_035_000_000_000;

/// An execution in few words.
#[derive(Clone, Debug, Default)]
pub struct Scenario {
    pub inputs: Vec<(String, String)>,
    pub arguments: Vec<String>,
    /// Name, path, bytes.
    pub targets: Vec<(String, String, u64)>,
    /// Hosts with their groups; none for the one that is assumed.
    pub hosts: Vec<(String, Vec<String>)>,
    pub runs: Vec<RunShape>,
    pub ending: Option<FinishReason>,
}

#[derive(Clone, Debug, Default)]
pub struct RunShape {
    pub name: String,
    pub labels: Vec<(String, String)>,
    pub asked_rate: Option<f64>,
    pub warmup_s: u64,
    pub unmeasured: u32,
    pub streams: Vec<StreamShape>,
    pub slots: u32,
    pub intervals: Vec<IntervalShape>,
    /// Failed operations of each stream in each interval.
    pub errors: u64,
}

#[derive(Clone, Debug, Default)]
pub struct StreamShape {
    pub workload: String,
    pub target: u32,
    pub share_pct: f64,
    /// Empty where there is only one.
    pub group: String,
    /// Where it runs.
    pub host: u32,
}

/// One second.
#[derive(Clone, Debug, Default)]
pub struct IntervalShape {
    /// Stream, operation, service times and response times in nanoseconds.
    pub work: Vec<Work>,
    pub transfer_bytes: u64,
    /// User and system share in percent.
    pub cpu: Option<(f64, f64)>,
    pub unserved_ns: Vec<u64>,
    pub lateness_ns: Vec<u64>,
}

#[derive(Clone, Debug)]
pub struct Work {
    pub stream: u32,
    pub operation: Operation,
    /// Pairs of service time and count.
    pub service: Vec<(u64, u64)>,
    /// Added to each service time.
    pub wait_ns: u64,
}

impl Scenario {
    pub fn events(&self) -> Vec<Event> {
        let mut events = vec![Event::ExecutionStarted(self.started())];
        let mut at_ns = START_NS + 2_000_000_000;
        for (place, run) in self.runs.iter().enumerate() {
            let started = run.started(place, self.runs.len(), at_ns);
            events.push(Event::RunStarted(started));
            for (number, shape) in (1..).zip(&run.intervals) {
                let interval = run.interval(place, number, shape, at_ns);
                at_ns = interval.unix_ns;
                events.push(Event::Interval(interval));
            }
            at_ns += 7_000_000;
            events.push(Event::RunFinished(run.finished(place, at_ns)));
            at_ns += 993_000_000;
        }
        let reason = self.ending.clone().unwrap_or(FinishReason::Complete);
        events.push(Event::ExecutionFinished(ExecutionFinished {
            unix_ns: at_ns,
            reason,
        }));
        events
    }

    fn started(&self) -> ExecutionStarted {
        let target = |(name, path, bytes): &(String, String, u64)| ExecutionTarget {
            name: name.clone(),
            path: path.clone(),
            bytes: *bytes,
            ..ExecutionTarget::default()
        };
        ExecutionStarted {
            unix_ns: START_NS,
            time_zone: "UTC".into(),
            fathom_version: "0.1.0".into(),
            arguments: self.arguments.clone(),
            inputs: self.inputs.clone(),
            plan_json: serde_json::to_string(&self.plan()).unwrap(),
            seed: 1,
            host: HostFacts {
                name: "bench".into(),
                cpus: 2,
                ..HostFacts::default()
            },
            targets: self.targets.iter().map(target).collect(),
            backend: "sim".into(),
            backend_reason: "asked for".into(),
            workers: 1,
            clock: "sim".into(),
            reporting: self.reporting(),
            ..ExecutionStarted::default()
        }
    }

    fn reporting(&self) -> Vec<Label> {
        let labels = self.hosts.iter().flat_map(|(host, groups)| {
            let groups = groups.iter().map(|group| Label::new("group", group));
            std::iter::once(Label::new("host", host)).chain(groups)
        });
        labels.collect()
    }

    pub fn plan(&self) -> BoundPlan {
        let plan = Plan {
            targets: self.targets.iter().map(plan_target).collect(),
            templates: self.runs.iter().map(RunShape::template).collect(),
            runs: self
                .runs
                .iter()
                .enumerate()
                .map(|(at, run)| run.spec(TemplateId::at(at)))
                .collect(),
            ..Plan::default()
        };
        let runs = plan.run_ids().collect::<Vec<RunId>>();
        BoundPlan {
            makers: Vec::new(),
            plan,
            targets: Vec::new(),
            runs,
        }
    }
}

impl StreamShape {
    fn labels(&self) -> Vec<Label> {
        let mut labels = vec![Label::new("wd", &self.workload)];
        if !self.group.is_empty() {
            labels.push(Label::new("group", &self.group));
        }
        labels
    }
}

impl RunShape {
    fn labels(&self) -> Vec<Label> {
        self.labels
            .iter()
            .map(|(key, value)| Label::new(key, value))
            .collect()
    }

    fn load(&self) -> Load {
        self.asked_rate
            .map_or(Load::FlatOut, |per_second| Load::Rate { per_second })
    }

    fn spec(&self, template: TemplateId) -> RunSpec {
        RunSpec {
            name: self.name.clone(),
            kind: RunKind::Measure,
            template,
            overrides: Vec::new(),
            coupling: None,
            load: self.load(),
            law: ArrivalLaw::Exponential,
            timing: Timing {
                start: StartAlign::WholeSecond,
                warmup: Nanos::from_secs(self.warmup_s),
                window: Window::For(Nanos::from_secs(
                    self.intervals.len() as u64 - self.warmup_s,
                )),
                interval: Nanos::from_secs(1),
                first_interval: FirstInterval::Dropped,
                pause_after: Nanos(0),
            },
            stop: RunStop::default(),
            labels: self.labels(),
            swept: Vec::new(),
            origin: Origin::Default("test".into()),
        }
    }

    fn template(&self) -> RunTemplate {
        let stream = |shape: &StreamShape| Stream {
            name: shape.workload.clone(),
            targets: vec![TargetId(shape.target)],
            target_order: TargetOrder::RoundRobin,
            pool: PoolId(0),
            source: OpSource::Verify,
            pacing: Pacing::FromRun,
            flow: plan::Flow::default(),
            share_pct: shape.share_pct,
            priority: None,
            data: DataSpec::default(),
            open: None,
            stop: LocalStop::default(),
            start_delay: Nanos(0),
            seed: None,
            lifetime: None,
            labels: shape.labels(),
        };
        RunTemplate {
            pools: vec![Pool::new("p", self.slots)],
            streams: self.streams.iter().map(stream).collect(),
            coupling: Coupling::Independent,
        }
    }

    fn started(&self, place: usize, runs: usize, unix_ns: u64) -> RunStarted {
        let stream = |shape: &StreamShape| StreamInfo {
            name: shape.workload.clone(),
            targets: vec![TargetId(shape.target)],
            pool: 0,
            asked_rate: None,
            share_pct: shape.share_pct,
            labels: shape.labels(),
            law: None,
            host: shape.host,
            cache_mode: None,
        };
        RunStarted {
            run: place as u32,
            runs: runs as u32,
            name: self.name.clone(),
            kind: RunKind::Measure,
            unix_ns,
            interval_ns: 1_000_000_000,
            warmup_ns: self.warmup_s * 1_000_000_000,
            window_ns: Some(self.intervals.len() as u64 * 1_000_000_000),
            unmeasured_intervals: self.unmeasured,
            load: self.load(),
            asked_rate: self.asked_rate,
            law: self.asked_rate.map(|_| ArrivalLaw::Exponential),
            is_open_loop: self.asked_rate.is_some(),
            pools: vec![PoolInfo {
                name: "p".into(),
                slots: self.slots,
            }],
            streams: self.streams.iter().map(stream).collect(),
            expected_bytes: None,
            labels: self.labels(),
            swept: Vec::new(),
        }
    }

    fn interval(
        &self,
        place: usize,
        number: u32,
        shape: &IntervalShape,
        before_ns: u64,
    ) -> Interval {
        let start_ns = u64::from(number - 1) * 1_000_000_000;
        let figures: Vec<Figure> = shape
            .work
            .iter()
            .map(|work| self.figure(work, shape))
            .collect();
        let busy_ns = figures.iter().map(|figure| figure.service.sum_ns).sum();
        let mut streams = vec![StreamSample::default(); self.streams.len()];
        if let Some(first) = streams.first_mut() {
            first.unserved = latencies(shape.unserved_ns.iter().map(|ns| (*ns, 1)));
            first.backlog = shape.unserved_ns.len() as u64;
            first.lateness = latencies(shape.lateness_ns.iter().map(|ns| (*ns, 1)));
        }
        let is_warmup = number <= self.unmeasured;
        Interval {
            run: place as u32,
            number,
            start_ns,
            end_ns: start_ns + 1_000_000_000,
            unix_ns: before_ns + 1_000_000_000,
            phase: if is_warmup {
                IntervalPhase::Warmup
            } else {
                IntervalPhase::Measured
            },
            figures,
            engine: EngineSample {
                streams,
                pools: vec![PoolSample {
                    slots: self.slots,
                    busy_ns,
                    exhausted_ns: 0,
                }],
                workers: WorkerSample {
                    workers: 1,
                    ..WorkerSample::default()
                },
                ..EngineSample::default()
            },
            host: HostSample {
                cpu: shape.cpu.map(cpu_times),
                fathom_user_ns: 20_000_000,
                fathom_system_ns: 30_000_000,
                ..HostSample::default()
            },
            lost: measure::LostParts::default(),
            within: Vec::new(),
        }
    }

    fn figure(&self, work: &Work, shape: &IntervalShape) -> Figure {
        let operations = work.service.iter().map(|(_, count)| count).sum();
        let late = work
            .service
            .iter()
            .map(|(ns, count)| (ns + work.wait_ns, *count));
        Figure {
            key: FigureKey {
                stream: StreamId(work.stream),
                target: TargetId(self.streams[work.stream as usize].target),
                operation: work.operation,
            },
            operations,
            bytes: operations * shape.transfer_bytes,
            errors: self.errors,
            short_transfers: 0,
            service: latencies(work.service.iter().copied()),
            response: latencies(late),
        }
    }

    fn finished(&self, place: usize, unix_ns: u64) -> RunFinished {
        RunFinished {
            run: place as u32,
            unix_ns,
            reason: FinishReason::Complete,
            first_measured: self.unmeasured + 1,
            last_measured: self.intervals.len() as u32,
            scheduled: 0,
            submitted: 0,
            unsent: 0,
            drain_ns: 0,
            outstanding: Vec::new(),
            late: Vec::new(),
            starts: Vec::new(),
        }
    }
}

fn plan_target((name, path, bytes): &(String, String, u64)) -> Target {
    Target {
        name: name.clone(),
        host: "localhost".into(),
        shared_from: None,
        path: path.into(),
        kind: TargetKind::File,
        size: SizeRule::Bytes(*bytes),
        size_from_bytes: 0,
        open: OpenMode::default(),
        preparation: Preparation::MakeOrExtend,
        ledger: Ledger::None,
        origin: Origin::Default("test".into()),
    }
}

/// Values with their counts.
pub fn latencies(values: impl Iterator<Item = (u64, u64)>) -> LatencyFigures {
    let mut figures = LatencyFigures::default();
    let mut buckets = Vec::new();
    for (ns, count) in values.filter(|(_, count)| *count > 0) {
        figures.sum_ns += ns * count;
        figures.max_ns = figures.max_ns.max(ns);
        buckets.push(measure::Bucket {
            index: measure::bucket_of(ns) as u32,
            count,
        });
    }
    figures.histogram = Histogram::from_buckets(buckets);
    figures
}

/// A second of two CPUs.
fn cpu_times((user_pct, system_pct): (f64, f64)) -> CpuTimes {
    let part = |pct: f64| (pct * 2e7) as u64;
    CpuTimes {
        user_ns: part(user_pct),
        system_ns: part(system_pct),
        idle_ns: part(100.0 - user_pct - system_pct),
        ..CpuTimes::default()
    }
}
