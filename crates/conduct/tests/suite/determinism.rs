//! Same plan, same seed, same events, whatever the number of workers.
use crate::plans::*;
use crate::story::simulate;
use engine::sim::Script;
use plan::*;

fn same_with_any_workers(plan: Plan, script: Script) {
    let plan = bind_unreal(plan);
    let one = simulate(&plan, &script, 1);
    assert!(one.totals[0].operations() > 1_000);
    for workers in [2, 7] {
        let other = simulate(&plan, &script, workers);
        for (place, (mine, theirs)) in one.events.iter().zip(&other.events).enumerate() {
            assert!(
                mine == theirs,
                "event {place} differs with {workers} workers:\n{mine:?}\n{theirs:?}"
            );
        }
        assert_eq!(one.events.len(), other.events.len());
    }
}

fn jittery() -> Script {
    Script {
        jitter_ns: 35_000,
        ..Script::default()
    }
}

fn two_targets() -> Vec<Target> {
    vec![simulated(64 * MIB), simulated(96 * MIB)]
}

/// Pools and streams across targets: the first pool serves two streams.
fn crowd() -> Vec<Stream> {
    vec![
        stream(0, 0, operations(70.0)),
        stream(0, 1, operations(0.0)),
        stream(1, 0, |generator| {
            generator.transfer = PerDirection::all(TransferSizes::Uniform {
                min: 512,
                max: 16 * KIB,
                step: 512,
            });
        }),
    ]
}

#[test]
fn a_closed_loop_of_several_pools() {
    let runs = vec![flat_out(SECOND / 4, 60 * MS)];
    same_with_any_workers(
        plan(two_targets(), &[16, 9], crowd(), runs.clone()),
        jittery(),
    );
    same_with_any_workers(
        plan(two_targets(), &[16, 9], crowd(), runs),
        Script::default(),
    );
}

#[test]
fn arrivals_that_queue_at_servers_and_for_slots() {
    for law in [
        ArrivalLaw::Exponential,
        ArrivalLaw::Uniform,
        ArrivalLaw::Spike,
    ] {
        for per_second in [60_000.0, 200_000.0] {
            let runs = vec![at_rate(per_second, law, SECOND / 5, 50 * MS)];
            same_with_any_workers(plan(two_targets(), &[24, 9], crowd(), runs), jittery());
        }
    }
}

#[test]
fn streams_held_in_proportion() {
    let mut plan = plan(
        two_targets(),
        &[32, 8],
        crowd(),
        vec![flat_out(SECOND / 4, 50 * MS)],
    );
    plan.templates[0].coupling = Coupling::Proportional;
    for (stream, share_pct) in plan.templates[0].streams.iter_mut().zip([50.0, 20.0, 30.0]) {
        stream.share_pct = share_pct;
    }
    same_with_any_workers(plan, jittery());
}

#[test]
fn sequential_and_random_side_by_side() {
    let streams = vec![
        stream(0, 0, |generator| {
            generator.order = sequential(SequentialEnd::Wrap);
        }),
        stream(1, 0, |generator| {
            generator.order = AddressOrder::Mixed {
                random_pct: PerDirection::all(30.0),
                law: RandomLaw::Uniform,
                following: Following::default(),
            };
        }),
        stream(1, 1, |generator| {
            generator.order = AddressOrder::Stride {
                min: 64 * KIB,
                max: 256 * KIB,
                random_pct: 40.0,
            };
        }),
    ];
    let runs = vec![flat_out(SECOND / 4, 50 * MS)];
    same_with_any_workers(plan(two_targets(), &[21, 14], streams, runs), jittery());
}

#[test]
fn streams_that_end_by_themselves() {
    let streams = (0..3).map(|pool| stream(pool, pool % 2, fill)).collect();
    let runs = vec![until_done(50 * MS)];
    same_with_any_workers(plan(two_targets(), &[7, 14, 21], streams, runs), jittery());
}

#[test]
fn stalls_errors_and_short_transfers() {
    let script = Script {
        stalls: vec![(40 * MS, 90 * MS), (150 * MS, 151 * MS)],
        bad: vec![(MIB, 3 * MIB, 5)],
        short: vec![(8 * MIB, 16 * MIB)],
        ..jittery()
    };
    for spec in [
        flat_out(SECOND / 4, 60 * MS),
        at_rate(30_000.0, ArrivalLaw::Exponential, SECOND / 4, 60 * MS),
    ] {
        same_with_any_workers(
            plan(two_targets(), &[14, 9], crowd(), vec![spec]),
            script.clone(),
        );
    }
}
