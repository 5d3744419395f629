//! Storage that fails, in simulated time.
use crate::plans::*;
use crate::story::{Story, simulate};
use engine::sim::Script;
use measure::FinishReason;
use plan::*;

fn mixed(spec: RunSpec) -> BoundPlan {
    bind_unreal(plan(
        vec![simulated(MIB)],
        &[8],
        vec![stream(0, 0, operations(50.0))],
        vec![spec],
    ))
}

#[test]
fn failed_operations_are_counted_listed_and_kept_out_of_latencies() {
    let script = Script {
        bad: vec![(0, 64 * KIB, 5), (512 * KIB, 516 * KIB, 61)],
        ..Script::default()
    };
    for spec in [
        flat_out(SECOND / 10, 20 * MS),
        at_rate(20_000.0, ArrivalLaw::Exponential, SECOND / 10, 20 * MS),
    ] {
        let story = simulate(&mixed(spec), &script, 2);
        let totals = &story.totals[0];
        let failures = story.failures();
        assert!(failures.len() > 50);
        // Failures of the drain are listed too, though they belong to no interval.
        assert!(totals.errors() <= failures.len() as u64);
        assert!(failures.len() as u64 <= totals.errors() + 8);
        for failure in failures {
            let errno = match failure.offset {
                at if at < 64 * KIB => 5,
                at if at == 512 * KIB => 61,
                at => panic!("{at} is good"),
            };
            assert_eq!(failure.errno, errno);
            assert_eq!(failure.length, BLOCK as u32);
        }
        assert_eq!(totals.bytes(), totals.operations() * BLOCK);
        assert_eq!(totals.service(None).histogram.count(), totals.operations());
    }
}

/// Two streams over a target with a bad place, which only the first comes to.
fn beside(tolerance: Tolerance, runs: Vec<RunSpec>, limit: Option<u64>) -> Story {
    let script = Script {
        bad: vec![(64 * KIB, 68 * KIB, 5)],
        ..Script::default()
    };
    let part = |low: u64, high: u64| {
        let mut one = stream(0, 0, |generator| {
            generator.order = sequential(SequentialEnd::Wrap);
            generator.region.low = Bound::Bytes(low);
            generator.region.high = Bound::Bytes(high);
        });
        one.stop.operations = limit;
        one
    };
    let mut first = part(0, MIB / 2);
    first.flow.tolerance = Some(tolerance);
    let mut second = part(MIB / 2, MIB);
    second.pool = PoolId(1);
    let streams = vec![first, second];
    let plan = bind_unreal(plan(vec![simulated(MIB)], &[1, 1], streams, runs));
    simulate(&plan, &script, 1)
}

#[test]
fn a_failure_that_is_not_borne_ends_its_stream_and_no_other() {
    let counts = |story: &Story| -> Vec<(u64, u64)> {
        let figures = story.totals[0].figures.iter();
        figures
            .map(|figure| (figure.operations, figure.errors))
            .collect()
    };
    let specs = || {
        [
            (until_done(20 * MS), Some(1_000)),
            (flat_out(SECOND / 10, 20 * MS), None),
        ]
    };
    for (spec, limit) in specs() {
        let story = beside(Tolerance::default(), vec![spec], limit);
        let counts = counts(&story);
        assert_eq!(counts[0], (16, 1));
        assert!(counts[1].0 >= 990 && counts[1].1 == 0, "{counts:?}");
        assert_eq!(story.finished(0).reason, FinishReason::Complete);
        assert_eq!(story.remarks("stream-failed"), 1);
    }
    for (spec, limit) in specs() {
        // What is borne for writes is no matter of reads.
        let borne = Tolerance {
            reads: vec![61, 5],
            ..Tolerance::default()
        };
        let story = beside(borne, vec![spec], limit);
        let counts = counts(&story);
        assert!(counts[0].1 > 5 && counts[0].0 > 900, "{counts:?}");
        assert_eq!(story.remarks("stream-failed"), 0);
    }
    for (spec, limit) in specs() {
        let tolerance = Tolerance {
            writes: vec![5],
            checks: vec![5],
            ends: vec![1],
            ..Tolerance::default()
        };
        let story = beside(tolerance, vec![spec], limit);
        let counts = counts(&story);
        assert_eq!(counts[0], (16, 1));
        assert!((16..=18).contains(&counts[1].0), "{counts:?}");
    }
}

#[test]
fn no_further_run_begins_where_a_failure_ends_the_execution() {
    for ends_execution in [false, true] {
        let tolerance = Tolerance {
            ends_execution,
            ..Tolerance::default()
        };
        let runs = vec![until_done(20 * MS), until_done(20 * MS)];
        let story = beside(tolerance, runs, Some(1_000));
        let begun = if ends_execution { 1 } else { 2 };
        assert_eq!(story.totals.len(), begun);
        assert_eq!(story.outcome.streams_failed, begun as u32);
        // The stream beside it is not touched.
        assert!(story.totals[0].figures[1].operations >= 990);
        assert_eq!(story.finished(0).reason, FinishReason::Complete);
    }
}

#[test]
fn short_transfers_are_counted_apart_with_what_they_moved() {
    let script = Script {
        short: vec![(0, 256 * KIB)],
        ..Script::default()
    };
    let story = simulate(&mixed(flat_out(SECOND / 10, 20 * MS)), &script, 2);
    let totals = &story.totals[0];
    let short: u64 = totals.figures.iter().map(|f| f.short_transfers).sum();
    assert!(short > 1_000);
    assert_eq!(totals.errors(), 0);
    assert_eq!(
        totals.bytes(),
        totals.operations() * BLOCK - short * BLOCK / 2
    );
}

#[test]
fn a_vanished_device_is_given_up_after_half_a_minute_and_what_it_holds_is_listed() {
    let script = Script {
        vanishes_at_ns: Some(500 * MS),
        ..Script::default()
    };
    for (spec, is_open_loop) in [
        (flat_out(SECOND, 100 * MS), false),
        (
            at_rate(1_000.0, ArrivalLaw::Deterministic, SECOND, 100 * MS),
            true,
        ),
    ] {
        let story = simulate(&mixed(spec), &script, 2);
        let (totals, finished) = (&story.totals[0], story.finished(0));
        assert_eq!(finished.reason, FinishReason::Complete);
        assert!(story.outcome.left_outstanding);
        assert_eq!(finished.drain_ns, 30 * SECOND);
        assert_eq!(finished.outstanding.len(), 8);
        let ages: Vec<u64> = finished.outstanding.iter().map(|o| o.age_ns).collect();
        assert!(ages.is_sorted_by(|older, younger| older >= younger));
        assert!(
            ages.iter()
                .all(|age| (30 * SECOND..31 * SECOND).contains(age))
        );
        // The last ones to come back do so before the device is gone.
        for interval in story.intervals(0).iter().filter(|i| i.start_ns >= 500 * MS) {
            assert!(interval.figures.is_empty());
            assert_eq!(interval.engine.in_flight, 8);
        }
        if is_open_loop {
            assert_eq!(totals.operations(), 500);
            assert_eq!(finished.unsent, 1_000 - 508);
            assert_eq!(totals.streams[0].unserved.histogram.count(), 500);
        }
    }
}

/// A hang of five seconds that begins two seconds before the end of ten.
#[test]
fn a_hang_over_the_end_of_a_run_is_in_its_figures() {
    let script = Script {
        stalls: vec![(8 * SECOND, 13 * SECOND)],
        ..Script::default()
    };
    let closed = flat_out(10 * SECOND, SECOND);
    let open = at_rate(1_000.0, ArrivalLaw::Deterministic, 10 * SECOND, SECOND);
    for (spec, is_open_loop) in [(closed, false), (open, true)] {
        let story = simulate(&mixed(spec), &script, 2);
        let (totals, finished) = (&story.totals[0], story.finished(0));
        assert!(!story.outcome.left_outstanding && finished.outstanding.is_empty());
        assert_eq!(finished.late.len(), 8);
        for one in &finished.late {
            let after_ns = one.returned_after_ns.unwrap();
            assert!(after_ns.abs_diff(3 * SECOND) <= MS, "{after_ns}");
            assert!(one.age_ns.abs_diff(5 * SECOND) <= 10 * MS, "{one:?}");
            assert!(one.offset < MIB && u64::from(one.length) == BLOCK);
        }
        // Both latencies hold the true times, the rate of the window none of them.
        for latency in [totals.service(None), totals.response(None)] {
            assert!(
                latency.max_ns.abs_diff(5 * SECOND) <= 20 * MS,
                "{latency:?}"
            );
        }
        let completed: u64 = story
            .intervals(0)
            .iter()
            .flat_map(|i| &i.figures)
            .map(|f| f.operations)
            .sum();
        assert_eq!(totals.operations(), completed);
        assert_eq!(totals.service_bound_ns(), None);
        // Eight were out for the last two seconds.
        for interval in story
            .intervals(0)
            .iter()
            .filter(|i| i.start_ns >= 9 * SECOND)
        {
            assert_eq!(interval.engine.pools[0].busy_ns, 8 * SECOND);
        }
        let before = if is_open_loop { 0.08 } else { 0.8 * 8.0 };
        let busy = totals.slots_busy().unwrap();
        assert!((busy - before - 1.6).abs() < 0.1, "{busy}");
    }
}

/// Nothing comes back within the window: what is known is what came after it.
#[test]
fn a_run_that_hangs_from_end_to_end_has_a_depth_and_latencies() {
    let script = Script {
        stalls: vec![(0, 3 * SECOND)],
        ..Script::default()
    };
    let story = simulate(&mixed(flat_out(2 * SECOND, SECOND)), &script, 2);
    let totals = &story.totals[0];
    assert_eq!((totals.operations(), totals.slots_busy()), (0, Some(8.0)));
    assert_eq!(totals.response(None).histogram.count(), 8);
    assert_eq!(totals.response(None).max_ns / MS, 3_000);
}

/// Failures have no latency, and were out nevertheless.
#[test]
fn what_fails_after_a_hang_was_in_flight() {
    let script = Script {
        stalls: vec![(0, 3 * SECOND)],
        bad: vec![(0, MIB, 5)],
        ..Script::default()
    };
    let story = simulate(&mixed(flat_out(4 * SECOND, SECOND)), &script, 2);
    let totals = &story.totals[0];
    assert!(totals.errors() > 8);
    assert!(totals.slots_busy() > Some(7.9), "{:?}", totals.slots_busy());
}

#[test]
fn more_failures_than_can_be_listed_are_still_counted() {
    let script = Script {
        bad: vec![(0, u64::MAX, 5)],
        ..Script::default()
    };
    let story = simulate(&mixed(flat_out(SECOND, SECOND)), &script, 2);
    assert_eq!(story.totals[0].operations(), 0);
    // Eight at 100 µs for a second; the last ones come back at its very end.
    assert_eq!(story.totals[0].errors(), 8 * 9_999);
    assert_eq!(story.outcome.errors, 8 * 9_999);
    assert_eq!(story.failures().len(), 4_096);
    assert_eq!(story.remarks("failures-not-listed"), 1);
}
