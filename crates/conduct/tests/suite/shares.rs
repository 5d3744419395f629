//! Shares of streams, and searches whose points depend on what a base has reached.
use crate::plans::*;
use crate::story::simulate;
use engine::sim::Script;
use measure::{Event, FinishReason, RunTotals};
use plan::*;

fn two_targets() -> Vec<Target> {
    vec![simulated(64 * MIB), simulated(64 * MIB)]
}

fn shared(shares_pct: [f64; 2], slots: [u32; 2], coupling: Coupling, runs: Vec<RunSpec>) -> Plan {
    let streams = vec![stream(0, 0, |_| {}), stream(1, 1, |_| {})];
    let mut plan = plan(two_targets(), &slots, streams, runs);
    plan.templates[0].coupling = coupling;
    let streams = &mut plan.templates[0].streams;
    for (stream, share_pct) in streams.iter_mut().zip(shares_pct) {
        stream.share_pct = share_pct;
    }
    plan
}

fn operations_of(totals: &RunTotals, stream: usize) -> u64 {
    let mine = totals
        .figures
        .iter()
        .filter(|figure| figure.key.stream.index() == stream);
    mine.map(|figure| figure.operations).sum()
}

#[test]
fn a_slow_pool_holds_back_the_others_in_proportion() {
    for shares_pct in [[50.0, 50.0], [80.0, 20.0], [3.0, 97.0]] {
        // One slot against sixty-four: 10 000 a second against 80 000.
        let runs = vec![flat_out(10 * SECOND, SECOND)];
        let plan = shared(shares_pct, [1, 64], Coupling::Proportional, runs);
        let story = simulate(&bind_unreal(plan), &Script::default(), 2);
        let totals = &story.totals[0];
        let share_pct = operations_of(totals, 0) as f64 * 100.0 / totals.operations() as f64;
        assert!(
            (share_pct - shares_pct[0]).abs() < shares_pct[0] / 100.0,
            "{share_pct} for {shares_pct:?}"
        );
        let slowest = (10_000.0 * 100.0 / shares_pct[0]).min(80_000.0 * 100.0 / shares_pct[1]);
        assert!((totals.rate() / slowest - 1.0).abs() < 0.01);
    }
}

#[test]
fn at_a_rate_out_of_reach_a_slow_pool_holds_back_the_others() {
    for law in [ArrivalLaw::Deterministic, ArrivalLaw::Exponential] {
        for shares_pct in [[50.0, 50.0], [20.0, 80.0], [97.0, 3.0]] {
            // The first reaches 10 000 a second and is asked for twice that.
            let rate = 20_000.0 * 100.0 / shares_pct[0];
            let runs = vec![at_rate(rate, law, 10 * SECOND, SECOND)];
            let plan = shared(shares_pct, [1, 64], Coupling::Proportional, runs);
            let story = simulate(&bind_unreal(plan), &Script::default(), 2);
            let totals = &story.totals[0];
            let share_pct = operations_of(totals, 0) as f64 * 100.0 / totals.operations() as f64;
            let what = format!("{share_pct} for {shares_pct:?}, {law:?}");
            assert!((share_pct - shares_pct[0]).abs() < 1.0, "{what}");
            assert!(operations_of(totals, 0) > 99_900, "{what}");
            assert_eq!(story.remarks("held-back"), 1, "{what}");
            story.check_accounts();
        }
    }
}

#[test]
fn at_a_rate_that_is_reached_nothing_is_held_back() {
    for law in [ArrivalLaw::Deterministic, ArrivalLaw::Exponential] {
        let runs = vec![at_rate(20_000.0, law, 10 * SECOND, SECOND)];
        let plan = shared([40.0, 60.0], [1, 64], Coupling::Proportional, runs.clone());
        let script = Script {
            // One is late by as long, and the other does not wait for it.
            stalls: vec![(2 * SECOND, 2 * SECOND + 30 * MS)],
            ..Script::default()
        };
        let story = simulate(&bind_unreal(plan), &script, 2);
        assert_eq!(story.remarks("held-back"), 0);
        let alone = shared([40.0, 60.0], [1, 64], Coupling::Independent, runs);
        let alone = simulate(&bind_unreal(alone), &script, 2);
        assert_eq!(story.totals[0].figures, alone.totals[0].figures);
    }
}

#[test]
fn without_coupling_each_goes_as_it_can() {
    let runs = vec![flat_out(SECOND, SECOND)];
    let plan = shared([50.0, 50.0], [1, 64], Coupling::Independent, runs);
    let totals = &simulate(&bind_unreal(plan), &Script::default(), 2).totals[0];
    assert_eq!(operations_of(totals, 0), 9_999);
    assert_eq!(operations_of(totals, 1), 79_992);
}

#[test]
fn a_rate_is_split_by_shares() {
    let runs = vec![at_rate(
        5_000.0,
        ArrivalLaw::Deterministic,
        2 * SECOND,
        SECOND,
    )];
    let plan = shared([70.0, 30.0], [8, 8], Coupling::Proportional, runs);
    let story = simulate(&bind_unreal(plan), &Script::default(), 2);
    let scheduled: Vec<u64> = story.totals[0]
        .streams
        .iter()
        .map(|s| s.scheduled)
        .collect();
    assert_eq!(scheduled, [7_000, 3_000]);
}

#[test]
fn a_stream_without_a_share_of_a_rate_does_nothing() {
    let runs = vec![at_rate(1_000.0, ArrivalLaw::Deterministic, SECOND, SECOND)];
    let plan = shared([100.0, 0.0], [8, 8], Coupling::Independent, runs);
    let totals = &simulate(&bind_unreal(plan), &Script::default(), 2).totals[0];
    assert_eq!(operations_of(totals, 0), 1_000);
    assert_eq!(operations_of(totals, 1), 0);
    assert_eq!(totals.started.asked_rate, Some(1_000.0));
}

fn search_runs(points_pct: &[f64]) -> Vec<RunSpec> {
    let search = SearchId(0);
    let law = ArrivalLaw::Deterministic;
    let base = run(Load::SearchBase { search }, law, SECOND, SECOND / 2);
    let point = |pct: &f64| {
        let load = Load::SearchPoint { search, pct: *pct };
        run(load, law, SECOND, SECOND / 2)
    };
    std::iter::once(base)
        .chain(points_pct.iter().map(point))
        .collect()
}

fn searched(points_pct: &[f64], slots: [u32; 2], stop: Option<StopSearch>) -> BoundPlan {
    let runs = search_runs(points_pct);
    let mut plan = shared([50.0, 50.0], slots, Coupling::Independent, runs);
    plan.searches = vec![Search {
        points_pct: points_pct.to_vec(),
        stop,
    }];
    bind_unreal(plan)
}

#[test]
fn points_of_a_search_are_rounded_percentages_of_its_base() {
    // Two slots and six at 148 µs: 54 054 a second less what is in flight at the end.
    for (service_ns, expected) in [
        (148_000, [5_500.0, 27_100.0, 48_700.0]),
        (20_000_000, [40.0, 200.0, 360.0]),
    ] {
        let script = Script {
            service_ns,
            ..Script::default()
        };
        let plan = searched(&[10.0, 50.0, 90.0], [2, 6], None);
        let story = simulate(&plan, &script, 2);
        assert_eq!(story.outcome.reason, FinishReason::Complete);
        let asked: Vec<f64> = story.totals[1..]
            .iter()
            .map(|totals| totals.started.asked_rate.unwrap())
            .collect();
        assert_eq!(asked, expected);
        for totals in &story.totals[1..] {
            let asked = totals.started.asked_rate.unwrap();
            let streams = &totals.started.streams;
            let first = streams[0].asked_rate.unwrap();
            // The base ran a quarter of its operations through the two slots.
            assert!((first / asked - 0.25).abs() < 0.001, "{first} of {asked}");
            assert_eq!(
                totals.streams.iter().map(|s| s.scheduled).sum::<u64>() as f64,
                asked
            );
        }
    }
}

#[test]
fn a_search_stops_at_its_limit() {
    let stop = Some(StopSearch {
        service_above: Nanos(300_000),
    });
    // Twice the base fills all slots, which queue at the servers.
    let plan = searched(&[50.0, 200.0, 60.0], [64, 64], stop);
    let story = simulate(&plan, &Script::default(), 2);
    assert_eq!(story.totals.len(), 3);
    assert!(matches!(
        story.outcome.reason,
        FinishReason::SearchEnded { .. }
    ));
    let Some(Event::ExecutionFinished(finished)) = story.events.last() else {
        panic!("the last event ends the execution");
    };
    assert_eq!(finished.reason, story.outcome.reason);
}
