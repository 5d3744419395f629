//! When operations arrive: rates that change and streams with a rate of their own.
use crate::plans::*;
use crate::story::{Story, simulate};
use engine::sim::Script;
use plan::*;

fn steps(law: ArrivalLaw, steps: &[(f64, u64)], window_ns: u64, interval_ns: u64) -> RunSpec {
    let steps = steps.iter().map(|(rate, span)| (*rate, Nanos(*span)));
    let load = Load::Steps {
        steps: steps.collect(),
    };
    run(load, law, window_ns, interval_ns)
}

fn one_stream(runs: Vec<RunSpec>) -> BoundPlan {
    let streams = vec![stream(0, 0, |_| {})];
    bind_unreal(plan(vec![simulated(64 * MIB)], &[16], streams, runs))
}

fn scheduled(story: &Story, run: u32, stream: usize) -> Vec<u64> {
    let intervals = story.intervals(run).into_iter();
    intervals
        .map(|interval| interval.engine.streams[stream].scheduled)
        .collect()
}

fn completed(story: &Story, run: u32) -> Vec<u64> {
    let intervals = story.intervals(run).into_iter();
    let count = |interval: &measure::Interval| {
        let figures = interval.figures.iter();
        figures.map(|figure| figure.operations).sum()
    };
    intervals.map(count).collect()
}

#[test]
fn each_interval_of_a_stepped_run_has_the_rate_of_its_step() {
    let spans = [(1_000.0, 2 * SECOND), (0.0, SECOND), (5_000.0, SECOND)];
    let spec = steps(ArrivalLaw::Deterministic, &spans, 10 * SECOND, SECOND);
    let story = simulate(&one_stream(vec![spec]), &Script::default(), 2);
    let cycle = [1_000, 1_000, 0, 5_000];
    let expected: Vec<u64> = cycle.into_iter().cycle().take(10).collect();
    assert_eq!(scheduled(&story, 0, 0), expected);
    assert_eq!(completed(&story, 0), expected);
    let started = &story.totals[0].started;
    assert_eq!(started.asked_rate, Some(1_600.0));
    assert_eq!(started.law, Some(ArrivalLaw::Deterministic));
    assert_eq!(story.finished(0).unsent, 0);
}

#[test]
fn the_rate_asked_of_a_stepped_run_is_that_of_its_measured_part() {
    let spans = [(1_000.0, 2 * SECOND), (4_000.0, SECOND)];
    let mut spec = steps(ArrivalLaw::Deterministic, &spans, 2 * SECOND, SECOND);
    spec.timing.warmup = Nanos(2 * SECOND);
    let story = simulate(&one_stream(vec![spec]), &Script::default(), 1);
    assert_eq!(story.totals[0].started.asked_rate, Some(2_500.0));
    assert_eq!(story.totals[0].rate(), 2_500.0);
}

#[test]
fn a_stall_does_not_shift_the_steps() {
    let spans = [(1_000.0, SECOND), (3_000.0, SECOND)];
    let spec = steps(ArrivalLaw::Deterministic, &spans, 4 * SECOND, SECOND);
    let script = Script {
        stalls: vec![(500 * MS, 1_200 * MS)],
        ..Script::default()
    };
    let story = simulate(&one_stream(vec![spec]), &script, 2);
    assert_eq!(scheduled(&story, 0, 0), [1_000, 3_000, 1_000, 3_000]);
    assert_eq!(completed(&story, 0)[2..], [1_000, 3_000]);
}

#[test]
fn a_spike_comes_at_once_and_waits_for_slots() {
    let spec = at_rate(400.0, ArrivalLaw::Spike, 3 * SECOND, SECOND);
    let story = simulate(&one_stream(vec![spec]), &Script::default(), 2);
    assert_eq!(scheduled(&story, 0, 0), [400; 3]);
    // Eight servers at 100 µs: the last of a spike is back after 50 rounds.
    let response = story.totals[0].response(None);
    assert_eq!(response.max_ns, 400 / 8 * 100_000);
    assert_eq!(response.histogram.count(), 1_200);
}
