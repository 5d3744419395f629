//! Times without a success, in simulated time: what storage did not do, to the millisecond.
use crate::plans::*;
use crate::story::{Story, carry_out, simulate};
use conduct::{Control, SimulatedHost};
use engine::sim::Script;
use measure::{Event, Gap};
use plan::*;

/// What all intervals told of a target, as it is joined: of one that begins at the same time the longest.
fn gaps(story: &Story, target: u32) -> Vec<(u64, u64)> {
    let mut all: Vec<Gap> = Vec::new();
    for event in &story.events {
        let Event::Interval(interval) = event else {
            continue;
        };
        let told = interval.engine.hosts.iter().flat_map(|host| &host.gaps);
        for gap in told.filter(|gap| gap.target == TargetId(target)) {
            match all.iter_mut().find(|one| one.from_ns == gap.from_ns) {
                Some(one) => one.to_ns = one.to_ns.max(gap.to_ns),
                None => all.push(*gap),
            }
        }
    }
    all.iter().map(|gap| (gap.from_ns, gap.to_ns)).collect()
}

fn assert_near(found: (u64, u64), from_ns: u64, to_ns: u64) {
    let is_near = |one: u64, other: u64| one.abs_diff(other) <= MS;
    assert!(
        is_near(found.0, from_ns) && is_near(found.1, to_ns),
        "{found:?} instead of {from_ns} to {to_ns}"
    );
}

#[test]
fn a_stall_is_a_gap_as_long_as_it_was() {
    let script = Script {
        stalls: vec![(730 * MS, 1_450 * MS)],
        ..Script::default()
    };
    let specs = [
        at_rate(2_000.0, ArrivalLaw::Exponential, 2 * SECOND, 200 * MS),
        flat_out(2 * SECOND, 200 * MS),
    ];
    for spec in specs {
        for workers in [1, 3] {
            let targets = vec![simulated(MIB), simulated(MIB)];
            let streams = vec![
                stream(0, 0, |_| {}),
                stream(1, 1, |_| {}),
                stream(0, 1, operations(50.0)),
            ];
            let plan = bind_unreal(plan(targets, &[8, 8], streams, vec![spec.clone()]));
            let story = simulate(&plan, &script, workers);
            for target in [0, 1] {
                let found = gaps(&story, target);
                assert_eq!(found.len(), 1, "{found:?}");
                assert_near(found[0], 730 * MS, 1_450 * MS);
            }
        }
    }
}

#[test]
fn what_nobody_asked_for_is_no_gap() {
    // One in 50 ms, each done in 100 µs.
    let spec = at_rate(20.0, ArrivalLaw::Deterministic, 2 * SECOND, 100 * MS);
    let one = vec![stream(0, 0, |_| {})];
    let seldom = bind_unreal(plan(
        vec![simulated(MIB)],
        &[8],
        one.clone(),
        vec![spec.clone()],
    ));
    assert_eq!(gaps(&simulate(&seldom, &Script::default(), 1), 0), []);
    // And each in 30 ms: its time is one.
    let slow = Script {
        service_ns: 30 * MS,
        ..Script::default()
    };
    let story = simulate(&seldom, &slow, 1);
    let found = gaps(&story, 0);
    assert!(found.len() >= 38, "{found:?}");
    let told = story.events.iter().filter_map(|event| match event {
        Event::Interval(interval) => interval.engine.hosts[0].targets.first(),
        _ => None,
    });
    let mut times = measure::StillTimes::default();
    told.for_each(|target| times.add(target.still));
    assert!(times.count.abs_diff(found.len() as u64) <= 1, "{times:?}");
    assert!(
        (times.sum_ns / times.count).abs_diff(30 * MS) <= MS,
        "{times:?}"
    );
    assert!(
        found
            .iter()
            .all(|(from, to)| (to - from).abs_diff(30 * MS) <= MS),
        "{found:?}"
    );
}

#[test]
fn what_fails_is_no_success() {
    // Everything fails from the start.
    let script = Script {
        bad: vec![(0, MIB, 5)],
        ..Script::default()
    };
    let spec = at_rate(1_000.0, ArrivalLaw::Deterministic, SECOND, 100 * MS);
    let streams = vec![stream(0, 0, |_| {})];
    let plan = bind_unreal(plan(vec![simulated(MIB)], &[8], streams, vec![spec]));
    let story = simulate(&plan, &script, 1);
    assert!(!story.failures().is_empty());
    let found = gaps(&story, 0);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_near(found[0], 0, SECOND);
}

#[test]
fn a_device_that_vanishes_leaves_a_gap_until_the_end() {
    let script = Script {
        vanishes_at_ns: Some(600 * MS),
        ..Script::default()
    };
    let spec = at_rate(1_000.0, ArrivalLaw::Deterministic, SECOND, 100 * MS);
    let streams = vec![stream(0, 0, |_| {})];
    let plan = bind_unreal(plan(vec![simulated(MIB)], &[8], streams, vec![spec]));
    let found = gaps(&simulate(&plan, &script, 1), 0);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_near(found[0], 600 * MS, SECOND);
}

#[test]
fn one_target_of_many_that_hangs_is_the_only_one_with_a_gap() {
    let script = Script {
        hangs: vec![(7, 520 * MS, 1_310 * MS)],
        ..Script::default()
    };
    let targets = (0..64).map(|_| simulated(MIB)).collect();
    let streams = (0..64).map(|number| stream(number, number, |_| {}));
    let spec = at_rate(16_000.0, ArrivalLaw::Exponential, 2 * SECOND, 250 * MS);
    let plan = bind_unreal(plan(targets, &[16; 64], streams.collect(), vec![spec]));
    let story = simulate(&plan, &script, 2);
    for target in 0..64 {
        // What stands in line before a rate of its own is due, too.
        let long: Vec<(u64, u64)> = gaps(&story, target)
            .into_iter()
            .filter(|(from, to)| to - from > 50 * MS)
            .collect();
        match target {
            7 => assert_near(long[0], 520 * MS, 1_310 * MS),
            _ => assert_eq!(long, [], "{target}"),
        }
    }
}

#[test]
fn fast_failures_are_a_time_without_a_success() {
    let script = Script {
        fast_failures: vec![(600 * MS, 1_100 * MS, 5)],
        ..Script::default()
    };
    let spec = at_rate(1_000.0, ArrivalLaw::Deterministic, 2 * SECOND, 100 * MS);
    let streams = vec![stream(0, 0, |_| {})];
    let plan = bind_unreal(plan(vec![simulated(MIB)], &[8], streams, vec![spec]));
    let story = simulate(&plan, &script, 1);
    assert!(story.failures().len() > 400);
    let found = gaps(&story, 0);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_near(found[0], 600 * MS, 1_100 * MS);
}

#[test]
fn two_failures_in_a_row_are_two_gaps() {
    let script = Script {
        stalls: vec![(400 * MS, 700 * MS), (720 * MS, 1_500 * MS)],
        ..Script::default()
    };
    let spec = at_rate(2_000.0, ArrivalLaw::Exponential, 2 * SECOND, 100 * MS);
    let streams = vec![stream(0, 0, |_| {})];
    let plan = bind_unreal(plan(vec![simulated(MIB)], &[64], streams, vec![spec]));
    let found = gaps(&simulate(&plan, &script, 1), 0);
    let long: Vec<(u64, u64)> = found
        .into_iter()
        .filter(|(from, to)| to - from > 50 * MS)
        .collect();
    assert_eq!(long.len(), 2, "{long:?}");
    assert_near(long[0], 400 * MS, 700 * MS);
    assert_near(long[1], 720 * MS, 1_500 * MS);
}

#[test]
fn a_job_that_a_failure_ended_leaves_no_gap_and_no_time() {
    let script = Script {
        fast_failures: vec![(600 * MS, 605 * MS, 5)],
        ..Script::default()
    };
    let own = Lifetime {
        window: Some(Nanos(2 * SECOND)),
        ..Lifetime::default()
    };
    let job = |number: usize, errors: &[i32], lifetime: &Option<Lifetime>| {
        let mut job = stream(number, number, |_| {});
        job.lifetime = lifetime.clone();
        job.pacing = Pacing::TotalRate {
            per_second: 1_000.0,
            law: ArrivalLaw::Deterministic,
        };
        job.flow.tolerance = Some(Tolerance {
            reads: errors.to_vec(),
            ..Tolerance::default()
        });
        job
    };
    let story = |streams: Vec<Stream>, slots: u32| {
        let targets = streams.iter().map(|_| simulated(MIB)).collect();
        let pools = vec![slots; streams.len()];
        let mut spec = flat_out(2 * SECOND, SECOND);
        spec.load = Load::PerStream;
        let plan = plan(targets, &pools, streams, vec![spec]);
        let mut host = SimulatedHost::new(script.clone(), 1);
        carry_out(&bind_unreal(plan), &mut host, &Control::default())
    };
    for slots in [1, 8] {
        for lifetime in [None, Some(own.clone())] {
            let beside = [job(0, &[], &lifetime), job(1, &[5], &lifetime)];
            let beside = story(beside.into(), slots);
            assert_eq!(gaps(&beside, 0), []);
            assert_eq!(beside.totals[0].length_ns, 2 * SECOND);
        }
        let alone = story(vec![job(0, &[], &Some(own.clone()))], slots);
        let alone_ns = alone.totals[0].length_ns;
        assert!((600 * MS..=630 * MS).contains(&alone_ns), "{alone_ns}");
    }
}
