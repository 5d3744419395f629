//! The middle is neutral: a plan shaped like a job of two clones, a rate per direction and a
//! barrier, written by hand, runs in simulated time and on a real file.
use conduct::{Control, Crew, LocalHost, SimulatedHost, execute};
use door::{Door, Grants};
use engine::sim::Script;
use engine::{BackendKind, EngineConfig, WorkerRule};
use measure::{Event, FinishReason, RunFold, RunTotals};
use plan::*;
use std::path::Path;
use std::sync::Arc;

const MIB: u64 = 1 << 20;

fn target(path: &Path, kind: TargetKind) -> Target {
    Target {
        name: "data".into(),
        host: "localhost".into(),
        shared_from: None,
        path: path.into(),
        kind,
        size: SizeRule::Bytes(16 * MIB),
        size_from_bytes: 0,
        open: OpenMode::default(),
        preparation: Preparation::AsFound,
        ledger: Ledger::None,
        origin: Origin::Default("test".into()),
    }
}

fn clone(number: usize, pacing: Pacing, order: AddressOrder, stop: LocalStop) -> Stream {
    Stream {
        name: format!("clone{number}"),
        targets: vec![TargetId(0)],
        target_order: TargetOrder::RoundRobin,
        pool: PoolId::at(number),
        source: OpSource::Generator(Generator {
            operations: OperationMix::reads(60.0),
            transfer: PerDirection::all(TransferSizes::Fixed(4096)),
            order,
            region: Region::whole(4096, FirstBlock::Used),
            align: AlignRule::Transfer,
            sequences: plan::Sequences::Shared,
            hits: None,
            redraws_sizes: false,
        }),
        pacing,
        flow: plan::Flow::default(),
        share_pct: 50.0,
        priority: None,
        data: DataSpec::default(),
        open: None,
        stop,
        start_delay: Nanos(0),
        seed: None,
        lifetime: None,
        labels: vec![],
    }
}

fn spec(name: &str, template: u32, window: Window) -> RunSpec {
    RunSpec {
        name: name.into(),
        kind: RunKind::Measure,
        template: TemplateId(template),
        overrides: vec![],
        coupling: None,
        load: Load::PerStream,
        law: ArrivalLaw::Exponential,
        timing: Timing {
            start: StartAlign::AtOnce,
            warmup: Nanos(0),
            window,
            interval: Nanos(200_000_000),
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

/// Two paced clones for a second; behind a barrier, two that each move an exact number of bytes.
fn plan(path: &Path, kind: TargetKind) -> Plan {
    let law = ArrivalLaw::Deterministic;
    let per_second = PerDirection {
        read: Some(600.0),
        write: Some(400.0),
        trim: None,
    };
    let paced = Pacing::Rate {
        per_second,
        law,
        in_bytes: false,
    };
    let random = AddressOrder::Random(RandomLaw::Uniform);
    let sequential = AddressOrder::Sequential {
        start: SequentialStart::First,
        end: SequentialEnd::Wrap,
    };
    let pool = |name: &str| Pool::new(name, 4);
    let pools = vec![pool("a"), pool("b")];
    let first = [0, 1].map(|n| clone(n, paced.clone(), random.clone(), LocalStop::default()));
    let bytes = LocalStop {
        bytes: Some(MIB + 1024),
        ..LocalStop::default()
    };
    let second = [0, 1].map(|n| clone(n, Pacing::None, sequential.clone(), bytes));
    let template = |streams: [Stream; 2]| RunTemplate {
        pools: pools.clone(),
        streams: streams.to_vec(),
        coupling: Coupling::Independent,
    };
    Plan {
        targets: vec![target(path, kind)],
        templates: vec![template(first), template(second)],
        runs: vec![
            spec("paced", 0, Window::For(Nanos::from_secs(1))),
            spec("behind the barrier", 1, Window::UntilDone { at_most: None }),
        ],
        seed: 42,
        ..Plan::default()
    }
}

fn carry_out(plan: &BoundPlan, host: &mut dyn Crew) -> (Vec<Event>, Vec<RunTotals>) {
    let (mut events, mut totals, mut fold) = (Vec::new(), Vec::new(), RunFold::default());
    let outcome = execute(plan, host, &Control::default(), &mut |event| {
        totals.extend(fold.fold(event));
        events.push(event.clone());
        Ok(())
    });
    assert_eq!(outcome.reason, FinishReason::Complete);
    (events, totals)
}

fn check(totals: &[RunTotals]) {
    let [paced, exact] = totals else {
        panic!("two runs")
    };
    let finished = paced.finished.as_ref().unwrap();
    assert_eq!(finished.scheduled, 2_000);
    assert_eq!(finished.scheduled, finished.submitted + finished.unsent);
    assert_eq!(exact.bytes(), 2 * (MIB + 1024));
    assert_eq!((paced.errors(), exact.errors()), (0, 0));
    assert_eq!(
        exact.finished.as_ref().unwrap().reason,
        FinishReason::Complete
    );
}

fn simulated(workers: u32) -> Vec<Event> {
    let plan = plan(Path::new("nowhere"), TargetKind::Simulated);
    let facts = Facts::of_unreal(&plan);
    let bound = bind(plan, &facts).unwrap();
    let script = Script {
        jitter_ns: 40_000,
        ..Script::default()
    };
    let (events, totals) = carry_out(&bound, &mut SimulatedHost::new(script, workers));
    check(&totals);
    assert_eq!(totals[0].operations(), 2_000);
    events
}

#[test]
fn the_number_of_workers_does_not_show_in_simulated_time() {
    let one = simulated(1);
    for workers in [2, 7] {
        for (mine, theirs) in one.iter().zip(&simulated(workers)) {
            assert_eq!(mine, theirs, "with {workers} workers");
        }
    }
}

fn on_a_file(kind: BackendKind) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    std::fs::write(&path, vec![0; 16 * MIB as usize]).unwrap();
    let plan = plan(&path, TargetKind::File);
    let root = host::SysRoot::real();
    let facts = Facts {
        same: Vec::new(),
        targets: vec![
            host::target_facts(&host::Storage::new(&root), &path, TargetKind::File).unwrap(),
        ],
    };
    let bound = bind(plan, &facts).unwrap();
    let request = host::guard::Request {
        target: TargetId(0),
        path: path.clone(),
        kind: TargetKind::File,
        access: Access::Write,
        extent: bound.write_extent(TargetId(0)).unwrap(),
        takes: (0, 16 * MIB),
        bears_full: false,
        is_ours: false,
    };
    let door = Arc::new(Door::new(0));
    let examinations = host::guard::examine_through(&root, &door, &[request]);
    let grants = host::guard::judge(&examinations, &host::guard::Overwrite::default()).unwrap();
    let grants = Arc::new(Grants::new(door, grants));
    let config = EngineConfig {
        backends: kind.into(),
        workers: WorkerRule::Automatic,
        clock: sys::clock::Clock::calibrate(),
        cpus: 2,
        nonce: 7,
        reap_group_max: 8,
    };
    let mut host = LocalHost::new(config, grants, host::Sampler::new(&root, &[]));
    let (_, totals) = carry_out(&bound, &mut host);
    check(&totals);
}

#[test]
fn the_same_plan_runs_on_a_file_by_uring() {
    on_a_file(BackendKind::Uring);
}

#[test]
fn the_same_plan_runs_on_a_file_by_aio() {
    on_a_file(BackendKind::Aio);
}

#[test]
fn the_same_plan_runs_on_a_file_by_sync() {
    on_a_file(BackendKind::Sync);
}
