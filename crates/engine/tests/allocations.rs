//! After ramp-up a worker does not allocate.
mod plans;

use door::Grants;
use engine::{
    BackendKind, EngineConfig, Generations, OpenTargets, Session, WorkerRule, open_targets,
};
use plan::*;
use plans::*;
use std::collections::BTreeMap;
use std::path::Path;

#[global_allocator]
static ALLOCATOR: sys::allocations::Counting = sys::allocations::Counting;

const INTERVAL_NS: u64 = 50 * MS;
const BYTES: u64 = 8 * MIB;

/// Allocations by thread with the name of a worker; all of them have to live.
fn of_workers() -> BTreeMap<i32, u64> {
    let is_worker = |thread_id: i32| {
        let name = std::fs::read_to_string(format!("/proc/self/task/{thread_id}/comm"));
        name.is_ok_and(|name| name.starts_with("worker-"))
    };
    sys::allocations::by_thread()
        .into_iter()
        .filter(|count| is_worker(count.thread_id))
        .map(|count| (count.thread_id, count.allocations))
        .collect()
}

fn bound(path: &Path, kind: TargetKind, spec: RunSpec) -> BoundPlan {
    let mixed = stream(0, 0, |generator| {
        generator.operations = OperationMix::reads(70.0);
    });
    let ahead = stream(0, 0, |generator| {
        generator.order = sequential(SequentialEnd::Wrap);
    });
    let targets = vec![target(path, kind, BYTES)];
    let plan = plan(targets, &[8], vec![mixed, ahead], vec![spec]);
    bind_unreal(plan)
}

fn open(plan: &BoundPlan, run: &BoundRun, kind: BackendKind) -> OpenTargets {
    if kind == BackendKind::Null {
        return OpenTargets::none(run);
    }
    let path = plan.plan.targets[0].path.as_path();
    let grants = Grants::unexamined([(TargetId(0), path, Access::Write)]);
    open_targets(plan, run, &grants, usize::MAX).unwrap()
}

/// Runs over several intervals and compares the counts after the first with those near the end.
fn check(kind: BackendKind, path: &Path, spec: RunSpec, rate: Option<f64>) {
    let target_kind = match kind {
        BackendKind::Null => TargetKind::Nothing,
        _ => TargetKind::File,
    };
    let plan = bound(path, target_kind, spec);
    let run = plan.run(RunId(0));
    let clock = sys::clock::Clock::calibrate();
    let config = EngineConfig {
        backends: kind.into(),
        workers: WorkerRule::Exactly(2),
        clock,
        cpus: 2,
        nonce: 1,
        reap_group_max: 8,
    };
    let targets = open(&plan, &run, kind);
    let mut session = Session::prepare(
        &plan,
        &run,
        &targets,
        rate,
        None,
        &Generations::default(),
        config,
    )
    .unwrap();
    let start_ns = clock.now_ns() + 5 * MS;
    session.start(start_ns);
    clock.sleep_until(start_ns + INTERVAL_NS + 10 * MS);
    session.collector().collect(0, INTERVAL_NS);
    let before = of_workers();
    let mut operations = 0;
    for number in 1..5 {
        clock.sleep_until(start_ns + (number + 1) * INTERVAL_NS + 5 * MS);
        let end_ns = (number + 1) * INTERVAL_NS;
        let collected = session.collector().collect(number, end_ns);
        operations += collected.figures.iter().map(|f| f.operations).sum::<u64>();
    }
    // Only now the end, so that no worker has come to its own on a busy machine.
    let after = of_workers();
    let end_ns = clock.now_ns() - start_ns;
    session.stop_at(start_ns + end_ns);
    let drained = session.drain(30 * SECOND, || false);
    assert!(drained.outstanding.is_empty());
    assert!(operations > 100, "{kind} did {operations} operations");
    assert_eq!(
        before.len() as u32,
        session.workers(),
        "{kind}: every worker has set up by allocating"
    );
    assert_eq!(before, after, "{kind} with rate {rate:?}");
}

#[test]
fn a_worker_does_not_allocate_after_ramp_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    std::fs::write(&path, vec![0; BYTES as usize]).unwrap();
    let window_ns = 6 * INTERVAL_NS;
    let kinds = [
        BackendKind::Uring,
        BackendKind::Aio,
        BackendKind::Sync,
        BackendKind::Mapped,
        BackendKind::Null,
    ];
    for kind in kinds {
        check(kind, &path, flat_out(window_ns, INTERVAL_NS), None);
        for law in [ArrivalLaw::Exponential, ArrivalLaw::Deterministic] {
            // The second rate is beyond what the target can keep.
            for rate in [5_000.0, 3_000_000.0] {
                let spec = at_rate(rate, law, window_ns, INTERVAL_NS);
                check(kind, &path, spec, Some(rate));
            }
        }
    }
}

#[test]
fn the_counter_counts() {
    let own = own_thread_id();
    let count = || {
        let counts = sys::allocations::by_thread();
        counts
            .iter()
            .find(|count| count.thread_id == own)
            .map_or(0, |count| count.allocations)
    };
    let before = count();
    let kept: Vec<Box<u64>> = (0..100).map(Box::new).collect();
    assert!(count() >= before + 100, "{}", kept.len());
}

fn own_thread_id() -> i32 {
    let link = std::fs::read_link("/proc/thread-self").unwrap();
    link.file_name().unwrap().to_str().unwrap().parse().unwrap()
}
