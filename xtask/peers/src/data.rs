//! `cargo xtask compare-data`: what making the content of writes costs, as a share of the CPU of the run that writes
//! them. Each pair is two runs that differ in nothing but that: one sends its buffers as they were filled at the start.
use crate::statistics::{Ratio, ratio};
use clap::Args;
use door::{Door, Grants};
use engine::{BackendKind, EngineConfig, Generations, Session, WorkerRule, open_targets};
use plan::{
    Access, AddressOrder, AlignRule, Alignment, ArrivalLaw, BoundPlan, Coupling, DataSpec,
    DuplicatePool, DuplicatePoolId, Duplicates, Facts, FirstBlock, FoundKind, Generator, Ledger,
    Load, LocalStop, Nanos, OpSource, OpenMode, OperationMix, Origin, Pacing, PerDirection, Plan,
    Pool, PoolAdmission, PoolId, Preparation, RandomLaw, Refresh, Region, ReplacePolicy, RunId,
    RunKind, RunSpec, RunStop, RunTemplate, SetCount, SizeRule, StartAlign, Stream, Target,
    TargetFacts, TargetId, TargetKind, TargetOrder, TemplateId, Timing, TransferSizes, Window,
};
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const BLOCK: u64 = 4096;
const SECOND: u64 = 1_000_000_000;
const LEAD_NS: u64 = 20_000_000;

/// The most that making content may take of the CPU of the run.
const BAR_PCT: f64 = 15.0;

#[derive(Args, Debug)]
pub struct Options {
    /// Where the file is made that is written: it says which storage takes the writes.
    #[arg(long, value_name = "DIR")]
    folder: PathBuf,
    /// Pairs of runs for each kind of data; every second pair has its order reversed.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(2..))]
    pairs: u32,
    /// Length of a run.
    #[arg(long, value_name = "S", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    /// Size of the file.
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = clap::value_parser!(u64).range(64..))]
    mib: u64,
    /// Write through the page cache, for storage that takes no direct I/O.
    #[arg(long)]
    buffered: bool,
}

/// Worker CPU per write in nanoseconds, and writes per second.
#[derive(Clone, Copy, Debug)]
struct Reading {
    cpu_ns: f64,
    rate: f64,
}

/// Measures every kind of data and prints a table.
pub fn run(options: &Options) -> Result<(), String> {
    let path = options.folder.join("compare-data.bin");
    let told = |error: std::io::Error| format!("{}: {error}", path.display());
    // From here on the file is ours: one that was there is an error.
    let file = File::create_new(&path).map_err(told)?;
    let outcome = fill(file, options.mib << 20)
        .map_err(told)
        .and_then(|()| measure(options, &path));
    let _ = std::fs::remove_file(&path);
    print!("{}", outcome?);
    Ok(())
}

fn measure(options: &Options, path: &Path) -> Result<String, String> {
    let mut table = format!(
        "4 KiB random writes of {} MiB, `uring`, depth 32, one worker, {} pairs of runs of {} s\n\n\
         | Data | CPU per write, ns | without making it, ns | share, % | 95 % | writes/s | bar, % |\n\
         |---|---|---|---|---|---|---|\n",
        options.mib, options.pairs, options.seconds
    );
    for (name, data) in kinds() {
        let mut pairs = Vec::new();
        let mut readings = Vec::new();
        for pair in 0..options.pairs {
            let off = DataSpec {
                refresh: Refresh::Never,
                ..DataSpec::default()
            };
            let nothing = Reading {
                cpu_ns: 0.0,
                rate: 0.0,
            };
            let mut both = [(0, data, nothing), (1, off, nothing)];
            if pair % 2 == 1 {
                both.reverse();
            }
            for (place, data, reading) in &mut both {
                *reading = one_run(options, path, *data, u64::from(pair) * 2 + *place)?;
            }
            both.sort_by_key(|(place, ..)| *place);
            pairs.push((both[0].2.cpu_ns, both[1].2.cpu_ns));
            readings.push((both[0].2, both[1].2));
        }
        let ratio = ratio(&pairs).ok_or("a run did nothing")?;
        table += &row(name, ratio, &readings);
    }
    Ok(table)
}

fn row(name: &str, ratio: Ratio, readings: &[(Reading, Reading)]) -> String {
    let mean = |of: &dyn Fn(&(Reading, Reading)) -> f64| {
        readings.iter().map(of).sum::<f64>() / readings.len() as f64
    };
    let share = |ratio: f64| (1.0 - 1.0 / ratio) * 100.0;
    format!(
        "| {name} | {:.0} | {:.0} | {:.1} | {:.1} to {:.1} | {:.0} | {BAR_PCT} |\n",
        mean(&|pair| pair.0.cpu_ns),
        mean(&|pair| pair.1.cpu_ns),
        share(ratio.mean),
        share(ratio.low),
        share(ratio.high),
        mean(&|pair| pair.0.rate),
    )
}

fn kinds() -> [(&'static str, DataSpec); 4] {
    let plain = DataSpec::default();
    let compressed = DataSpec {
        compression_ratio: 2.0,
        ..plain
    };
    let repeated = |data: DataSpec| DataSpec {
        duplicates: Some(Duplicates::ByAddress(DuplicatePoolId(0))),
        ..data
    };
    [
        ("unique", plain),
        ("compressed 2:1", compressed),
        ("duplicates 2:1", repeated(plain)),
        ("both", repeated(compressed)),
    ]
}

fn fill(mut file: File, bytes: u64) -> std::io::Result<()> {
    let block = vec![0x5a; 1 << 20];
    for _ in 0..bytes >> 20 {
        file.write_all(&block)?;
    }
    file.sync_all()
}

fn one_run(options: &Options, path: &Path, data: DataSpec, nonce: u64) -> Result<Reading, String> {
    let plan = bound(options, path, data)?;
    let run = plan.run(RunId(0));
    let clock = sys::clock::Clock::calibrate();
    let config = EngineConfig {
        backends: BackendKind::Uring.into(),
        workers: WorkerRule::Exactly(1),
        clock,
        cpus: 1,
        nonce,
        reap_group_max: 8,
    };
    let open = open_targets(&plan, &run, &grants(&plan, path)?, 1);
    let open = open.map_err(|error| error.to_string())?;
    let generations = Generations::default();
    let prepared = Session::prepare(&plan, &run, &open, None, None, &generations, config);
    let mut session = prepared.map_err(|error| error.to_string())?;
    let (start_ns, warmup_ns) = (clock.now_ns() + LEAD_NS, SECOND);
    let length_ns = warmup_ns + options.seconds * SECOND;
    session.stop_at(start_ns + length_ns);
    session.start(start_ns);
    clock.sleep_until(start_ns + warmup_ns + 2_000_000);
    session.collector().collect(0, warmup_ns);
    clock.sleep_until(start_ns + length_ns);
    let drained = session.drain(30 * SECOND, || false);
    if !drained.outstanding.is_empty() {
        return Err("writes did not come back".to_owned());
    }
    let collected = session.collector().collect_last(1, length_ns);
    let writes: u64 = collected
        .figures
        .iter()
        .map(|figure| figure.operations)
        .sum();
    let errors: u64 = collected.figures.iter().map(|figure| figure.errors).sum();
    if errors > 0 || writes == 0 {
        return Err(format!(
            "{errors} writes failed, {writes} did not; see --buffered"
        ));
    }
    Ok(Reading {
        cpu_ns: collected.engine.workers.cpu_ns as f64 / writes as f64,
        rate: writes as f64 / options.seconds as f64,
    })
}

/// The file was made by this program a moment ago; the guard looks at it all the same.
fn grants(plan: &BoundPlan, path: &Path) -> Result<Grants, String> {
    let request = host::guard::Request {
        target: TargetId(0),
        path: path.to_owned(),
        kind: TargetKind::File,
        access: Access::Write,
        extent: plan.write_extent(TargetId(0)).unwrap_or((0, 0)),
        takes: (0, 0),
        bears_full: false,
        is_ours: true,
    };
    let none = host::guard::Overwrite::default();
    let door = Arc::new(Door::new(0));
    let examined = host::guard::examine_through(&host::SysRoot::real(), &door, &[request]);
    let grants = host::guard::judge(&examined, &none).map_err(|refused| format!("{refused:?}"))?;
    Ok(Grants::new(door, grants))
}

fn bound(options: &Options, path: &Path, data: DataSpec) -> Result<BoundPlan, String> {
    let bytes = File::open(path)
        .and_then(|file| file.metadata())
        .map_err(|error| error.to_string())?
        .len();
    let plan = Plan {
        targets: vec![target(path, bytes, !options.buffered)],
        templates: vec![RunTemplate {
            pools: vec![Pool {
                name: "32".to_owned(),
                slots: 32,
                admission: PoolAdmission::FirstCome,
                method: None,
                requests: plan::RequestMode::default(),
                priorities: Vec::new(),
            }],
            streams: vec![stream(data)],
            coupling: Coupling::Independent,
        }],
        runs: vec![run_spec(options.seconds)],
        duplicate_pools: vec![DuplicatePool {
            ratio: 2.0,
            unit_bytes: BLOCK,
            sets: SetCount::Percent(5.0),
            hot_sets: Vec::new(),
            replace: ReplacePolicy::SameContent,
            across_targets: true,
            targets: vec![TargetId(0)],
        }],
        ..Plan::default()
    };
    let facts = Facts {
        targets: vec![TargetFacts {
            found: FoundKind::File,
            bytes,
            alignment: Alignment {
                offset: 512,
                memory: 512,
            },
            ram_backed: false,
        }],
    };
    plan::bind(plan, &facts).map_err(|errors| format!("{errors:?}"))
}

fn target(path: &Path, bytes: u64, direct: bool) -> Target {
    Target {
        name: "data".to_owned(),
        host: "localhost".to_owned(),
        path: path.to_owned(),
        kind: TargetKind::File,
        size: SizeRule::Bytes(bytes),
        open: OpenMode {
            direct,
            ..OpenMode::default()
        },
        preparation: Preparation::AsFound,
        ledger: Ledger::None,
        origin: Origin::Default("benchmark".to_owned()),
    }
}

fn stream(data: DataSpec) -> Stream {
    Stream {
        name: "writes".to_owned(),
        targets: vec![TargetId(0)],
        target_order: TargetOrder::RoundRobin,
        pool: PoolId(0),
        source: OpSource::Generator(Generator {
            operations: OperationMix::reads(0.0),
            transfer: PerDirection::all(TransferSizes::Fixed(BLOCK)),
            order: AddressOrder::Random(RandomLaw::Uniform),
            region: Region::whole(BLOCK, FirstBlock::Used),
            align: AlignRule::Transfer,
            sequences: plan::Sequences::Shared,
            hits: None,
        }),
        pacing: Pacing::FromRun,
        flow: plan::Flow::default(),
        share_pct: 100.0,
        priority: None,
        data,
        open: None,
        stop: LocalStop::default(),
        start_delay: Nanos(0),
        seed: None,
        lifetime: None,
        labels: Vec::new(),
    }
}

fn run_spec(seconds: u64) -> RunSpec {
    RunSpec {
        name: "run".to_owned(),
        kind: RunKind::Measure,
        template: TemplateId(0),
        overrides: Vec::new(),
        coupling: None,
        load: Load::FlatOut,
        law: ArrivalLaw::Exponential,
        timing: Timing {
            start: StartAlign::AtOnce,
            warmup: Nanos(SECOND),
            window: Window::For(Nanos(seconds * SECOND)),
            interval: Nanos(SECOND),
            first_interval: plan::FirstInterval::Counted,
            pause_after: Nanos(0),
        },
        stop: RunStop::default(),
        labels: Vec::new(),
        origin: Origin::Default("benchmark".to_owned()),
    }
}
