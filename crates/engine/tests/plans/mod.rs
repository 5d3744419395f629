//! Plans built by hand. Every value is set here; a test changes what it is about.
#![allow(dead_code, reason = "each test binary uses a part")]
use plan::*;
use std::path::Path;

pub const KIB: u64 = 1 << 10;
pub const MIB: u64 = 1 << 20;
pub const BLOCK: u64 = 4 * KIB;
pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000 * MS;

pub fn target(path: &Path, kind: TargetKind, bytes: u64) -> Target {
    Target {
        name: path.display().to_string(),
        host: "localhost".into(),
        shared_from: None,
        path: path.into(),
        kind,
        size: SizeRule::Bytes(bytes),
        size_from_bytes: 0,
        open: OpenMode::default(),
        preparation: Preparation::AsFound,
        ledger: Ledger::None,
        origin: Origin::Default("test".into()),
    }
}

pub fn simulated(bytes: u64) -> Target {
    target(Path::new("simulated"), TargetKind::Simulated, bytes)
}

pub fn pool(slots: u32) -> Pool {
    Pool::new(format!("{slots} slots"), slots)
}

/// Random reads of 4 KiB over the whole target.
pub fn generator() -> Generator {
    Generator {
        operations: OperationMix::reads(100.0),
        transfer: PerDirection::all(TransferSizes::Fixed(BLOCK)),
        order: AddressOrder::Random(RandomLaw::Uniform),
        region: Region::whole(BLOCK, FirstBlock::Used),
        align: AlignRule::Transfer,
        sequences: plan::Sequences::Shared,
        hits: None,
        redraws_sizes: false,
    }
}

pub fn sequential(end: SequentialEnd) -> AddressOrder {
    AddressOrder::Sequential {
        start: SequentialStart::First,
        end,
    }
}

/// A stream of [`generator`] as changed, with the whole load of the run.
pub fn stream(pool: usize, target: usize, change: impl FnOnce(&mut Generator)) -> Stream {
    let mut generator = generator();
    change(&mut generator);
    Stream {
        name: format!("pool {pool} target {target}"),
        targets: vec![TargetId::at(target)],
        target_order: TargetOrder::RoundRobin,
        pool: PoolId::at(pool),
        source: OpSource::Generator(generator),
        pacing: Pacing::FromRun,
        flow: plan::Flow::default(),
        share_pct: 100.0,
        priority: None,
        data: DataSpec::default(),
        open: None,
        stop: LocalStop::default(),
        start_delay: Nanos(0),
        seed: None,
        lifetime: None,
        labels: vec![],
    }
}

pub fn operations(read_pct: f64) -> impl FnOnce(&mut Generator) {
    move |generator| generator.operations = OperationMix::reads(read_pct)
}

/// Writes each block of the region once.
pub fn fill(generator: &mut Generator) {
    generator.operations = OperationMix::reads(0.0);
    generator.order = sequential(SequentialEnd::Stop);
}

/// A measured run of the first template, every interval of it counted.
pub fn run(load: Load, law: ArrivalLaw, window_ns: u64, interval_ns: u64) -> RunSpec {
    RunSpec {
        name: "run".into(),
        kind: RunKind::Measure,
        template: TemplateId(0),
        overrides: vec![],
        coupling: None,
        load,
        law,
        timing: Timing {
            start: StartAlign::AtOnce,
            warmup: Nanos(0),
            window: Window::For(Nanos(window_ns)),
            interval: Nanos(interval_ns),
            first_interval: FirstInterval::Counted,
            pause_after: Nanos(0),
        },
        stop: RunStop {
            errors: ErrorBudget::Unlimited,
            ..RunStop::default()
        },
        labels: vec![],
        swept: Vec::new(),
        origin: Origin::Default("test".into()),
    }
}

pub fn flat_out(window_ns: u64, interval_ns: u64) -> RunSpec {
    run(
        Load::FlatOut,
        ArrivalLaw::Exponential,
        window_ns,
        interval_ns,
    )
}

pub fn at_rate(per_second: f64, law: ArrivalLaw, window_ns: u64, interval_ns: u64) -> RunSpec {
    run(Load::Rate { per_second }, law, window_ns, interval_ns)
}

pub fn until_done(interval_ns: u64) -> RunSpec {
    let mut spec = flat_out(SECOND, interval_ns);
    spec.timing.window = Window::UntilDone { at_most: None };
    spec
}

/// One template, independent streams with equal shares.
pub fn plan(targets: Vec<Target>, pools: &[u32], streams: Vec<Stream>, runs: Vec<RunSpec>) -> Plan {
    let share_pct = 100.0 / streams.len() as f64;
    let share = |stream: Stream| Stream {
        share_pct,
        ..stream
    };
    Plan {
        targets,
        templates: vec![RunTemplate {
            pools: pools.iter().map(|slots| pool(*slots)).collect(),
            streams: streams.into_iter().map(share).collect(),
            coupling: Coupling::Independent,
        }],
        runs,
        seed: 42,
        ..Plan::default()
    }
}

/// Binds a plan whose targets are all simulated or nothing.
pub fn bind_unreal(plan: Plan) -> BoundPlan {
    let facts = Facts::of_unreal(&plan);
    bind(plan, &facts).unwrap()
}
