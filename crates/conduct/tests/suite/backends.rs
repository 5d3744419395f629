//! Several backends in one run, each for the pools that ask for it.
use crate::places::{Place, bind_real, run_on};
use crate::plans::*;
use engine::BackendKind;
use plan::*;
use std::path::Path;

const METHODS: [Option<IoMethod>; 5] = [
    Some(IoMethod::Ring),
    Some(IoMethod::KernelQueue),
    Some(IoMethod::Calls),
    Some(IoMethod::Nothing),
    None,
];

/// A pool for each method and one that asks for none; each stream has an end of its own, and that by
/// plain calls a schedule.
fn side_by_side(place: &Place) -> Plan {
    let nothing = target(Path::new("nothing"), TargetKind::Nothing, MIB);
    let streams = (0..METHODS.len()).map(|pool| {
        let is_nothing = METHODS[pool] == Some(IoMethod::Nothing);
        let mut one = stream(pool, usize::from(is_nothing), |_| {});
        one.stop.operations = Some(100 * (pool as u64 + 1));
        one.pacing = match METHODS[pool] {
            Some(IoMethod::Calls) => Pacing::Rate {
                per_second: PerDirection::all(Some(5_000.0)),
                law: ArrivalLaw::Deterministic,
                in_bytes: false,
            },
            _ => Pacing::None,
        };
        one
    });
    let targets = vec![place.target(), nothing];
    let mut spec = until_done(20 * MS);
    spec.load = Load::PerStream;
    let mut plan = plan(targets, &[4, 8, 3, 2, 5], streams.collect(), vec![spec]);
    for (pool, method) in plan.templates[0].pools.iter_mut().zip(METHODS) {
        pool.method = method;
    }
    plan
}

#[test]
fn each_pool_is_served_as_it_asks() {
    for place in Place::all(MIB) {
        let plan = bind_real(side_by_side(&place));
        for (kind, workers) in [(BackendKind::Uring, 1), (BackendKind::Sync, 2)] {
            let story = run_on(&plan, kind, workers);
            let totals = &story.totals[0];
            assert_eq!(totals.errors(), 0, "{}", place.name);
            for (stream, figure) in totals.figures.iter().enumerate() {
                assert_eq!(figure.operations, 100 * (stream as u64 + 1), "{kind}");
            }
        }
    }
}

#[test]
fn workers_are_counted_for_each_backend() {
    let workers = |direct: bool, kind: BackendKind, overrules: bool| {
        let mut plan = side_by_side(&Place::buffered(MIB));
        for target in &mut plan.targets {
            target.open.direct = direct && target.is_real();
        }
        let plan = bind_real(plan);
        let run = plan.run(RunId(0));
        let backends = engine::Backends { kind, overrules };
        engine::planned_workers(&plan.plan, &run, backends, engine::WorkerRule::Automatic, 2)
    };
    // A worker each for rings, native AIO and nothing, and a thread for each of three slots.
    assert_eq!(workers(true, BackendKind::Uring, false), 6);
    for direct in [true, false] {
        assert_eq!(workers(direct, BackendKind::Sync, false), 3 + 3 + 5);
        // Who asks for nothing reaches nothing, whatever the user says.
        assert_eq!(workers(direct, BackendKind::Sync, true), 4 + 8 + 3 + 1 + 5);
        assert_eq!(workers(direct, BackendKind::Sim, true), 2);
    }
    // More than sixteen slots have a second worker.
    assert_eq!(workers(true, BackendKind::Aio, true), 3);
    // Calls that may wait hold up no other pool.
    assert_eq!(workers(false, BackendKind::Uring, false), 7);
    assert_eq!(workers(false, BackendKind::Aio, true), 5);
}

/// One with one submitter is never split, and batches are of one pool alone.
#[test]
fn a_pool_is_split_unless_it_has_one_submitter() {
    let workers = |rule: engine::WorkerRule, whole: bool, refill_at: Option<u32>| {
        let mut one = stream(0, 0, |_| {});
        one.flow.batches.refill_at = refill_at;
        let streams = vec![one, stream(1, 0, |_| {})];
        let targets = vec![Place::buffered(MIB).target()];
        let mut plan = plan(targets, &[64, 64], streams, vec![until_done(20 * MS)]);
        for pool in &mut plan.templates[0].pools {
            pool.has_one_submitter = whole;
        }
        plan.targets[0].open.direct = true;
        let plan = bind_real(plan);
        let kind = BackendKind::Aio;
        let backends = engine::Backends {
            kind,
            overrules: true,
        };
        engine::planned_workers(&plan.plan, &plan.run(RunId(0)), backends, rule, 16)
    };
    let automatic = engine::WorkerRule::Automatic;
    assert_eq!(workers(automatic, false, None), 8);
    assert_eq!(workers(automatic, true, None), 2);
    assert_eq!(workers(engine::WorkerRule::Exactly(6), true, None), 6);
    // The other one may be served by four.
    assert_eq!(workers(automatic, false, Some(32)), 5);
}
