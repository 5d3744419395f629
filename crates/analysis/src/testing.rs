//! Totals of runs for tests of this crate.
use measure::{
    Figure, FigureKey, HostSample, LatencyFigures, PoolInfo, PoolSample, RunStarted, RunTotals,
    StreamInfo, StreamTotals, WorkerSample,
};
use plan::{Load, Operation, RunKind, StreamId, TargetId};

pub(crate) const SECOND: u64 = 1_000_000_000;

/// Numbers that look random.
pub(crate) struct Draw(pub u64);

impl Draw {
    /// Above 0, at most 1 (Steele, Lea and Flood, 2014).
    pub fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64 + f64::MIN_POSITIVE
    }

    /// Of the normal law (Box and Muller, 1958).
    pub fn normal(&mut self) -> f64 {
        let (one, other) = (self.share(), self.share());
        (-2.0 * one.ln()).sqrt() * (std::f64::consts::TAU * other).cos()
    }

    /// Of the exponential law with mean one.
    pub fn exponential(&mut self) -> f64 {
        -self.share().ln()
    }
}

pub(crate) fn latency(values: &[u64]) -> LatencyFigures {
    LatencyFigures {
        sum_ns: values.iter().sum(),
        max_ns: values.iter().copied().max().unwrap_or(0),
        histogram: values.iter().copied().collect(),
    }
}

/// One second of one stream flat out on 8 slots with these service times.
pub(crate) fn closed(run: u32, service_ns: &[u64]) -> RunTotals {
    RunTotals {
        lost: measure::LostTotals::default(),
        sampled: std::collections::BTreeMap::new(),
        is_of_warmup: false,
        pauses: Vec::new(),
        started: RunStarted {
            run,
            runs: 1,
            name: format!("run{run}"),
            kind: RunKind::Measure,
            unix_ns: 0,
            interval_ns: SECOND,
            warmup_ns: 0,
            window_ns: Some(SECOND),
            unmeasured_intervals: 0,
            load: Load::FlatOut,
            asked_rate: None,
            law: None,
            is_open_loop: false,
            pools: vec![PoolInfo {
                name: "pool".into(),
                slots: 8,
            }],
            streams: vec![StreamInfo {
                name: "stream".into(),
                targets: vec![TargetId(0)],
                pool: 0,
                asked_rate: None,
                share_pct: 100.0,
                labels: Vec::new(),
                law: None,
                host: 0,
                cache_mode: None,
            }],
            expected_bytes: None,
            labels: Vec::new(),
            swept: Vec::new(),
        },
        finished: None,
        length_ns: SECOND,
        intervals: 1,
        figures: vec![figure(0, Operation::Read, service_ns, service_ns)],
        streams: vec![StreamTotals::default()],
        pools: vec![PoolSample {
            slots: 8,
            busy_ns: 8 * SECOND,
            exhausted_ns: SECOND,
        }],
        workers: WorkerSample::default(),
        oldest_in_flight_ns: 0,
        host: HostSample::default(),
        hosts: std::collections::BTreeMap::new(),
        data: Vec::new(),
        unreturned: Vec::new(),
        late: Vec::new(),
    }
}

/// The same at a rate, with all arrivals of the schedule served.
pub(crate) fn open(run: u32, asked: f64, service_ns: &[u64], response_ns: &[u64]) -> RunTotals {
    let mut totals = closed(run, service_ns);
    totals.started.load = Load::Rate { per_second: asked };
    totals.started.asked_rate = Some(asked);
    totals.started.is_open_loop = true;
    totals.figures = vec![figure(0, Operation::Read, service_ns, response_ns)];
    totals.streams[0].scheduled = service_ns.len() as u64;
    totals.streams[0].submitted = service_ns.len() as u64;
    totals.streams[0].lateness = latency(&vec![1_000; service_ns.len()]);
    totals.pools[0].busy_ns = SECOND;
    totals.pools[0].exhausted_ns = 0;
    totals
}

pub(crate) fn figure(
    stream: u32,
    operation: Operation,
    service_ns: &[u64],
    response_ns: &[u64],
) -> Figure {
    Figure {
        operations: service_ns.len() as u64,
        bytes: service_ns.len() as u64 * 4096,
        service: latency(service_ns),
        response: latency(response_ns),
        ..Figure::empty(FigureKey {
            stream: StreamId(stream),
            target: TargetId(0),
            operation,
        })
    }
}

/// An execution on a machine of which nothing is known.
pub(crate) fn started() -> measure::ExecutionStarted {
    measure::ExecutionStarted {
        unix_ns: 0,
        utc_offset_s: 0,
        time_zone: String::new(),
        fathom_version: String::new(),
        arguments: Vec::new(),
        inputs: Vec::new(),
        plan_json: String::new(),
        seed: 1,
        host: measure::HostFacts::default(),
        hosts: Vec::new(),
        targets: Vec::new(),
        backend: String::new(),
        backend_reason: String::new(),
        workers: 1,
        clock: String::new(),
        labels: Vec::new(),
        reporting: Vec::new(),
    }
}
