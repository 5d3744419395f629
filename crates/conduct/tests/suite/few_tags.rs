//! Storage of a known latency that takes four operations at a time, so that submitting more of them waits.
use crate::plans::*;
use crate::story::{Story, simulate};
use engine::sim::Script;
use measure::{Handover, LatencyFigures, Outstanding};
use plan::*;

const DEPTHS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
pub const SINGLY: Batches = Batches {
    submit_most: Some(1),
    refill_at: None,
    reap_least: None,
    reap_most: Some(1),
};
const WINDOW_NS: u64 = 2_000 * MS;

fn four_tags() -> Script {
    Script {
        service_ns: MS,
        servers: 4,
        submission_blocks: true,
        ..Script::default()
    }
}

fn measured(depth: u32, batches: Batches, spec: RunSpec) -> Story {
    measured_on(&four_tags(), depth, batches, spec)
}

fn measured_on(script: &Script, depth: u32, batches: Batches, spec: RunSpec) -> Story {
    let mut one = stream(0, 0, operations(100.0));
    one.flow.batches = batches;
    if spec.load == Load::PerStream {
        let served = f64::from(depth.min(4)) * 1_000.0;
        one.pacing = Pacing::TotalRate {
            per_second: 0.7 * served,
            law: ArrivalLaw::Exponential,
        };
        // None is still out at the end, where its age would count.
        one.stop.operations = Some((0.5 * served) as u64);
    }
    let mut bound = bind_unreal(plan(
        vec![simulated(64 * MIB)],
        &[depth],
        vec![one],
        vec![spec],
    ));
    bound.plan.reporting.handover = true;
    simulate(&bound, script, 1)
}

pub fn told(story: &Story) -> Handover {
    let mut sum = Handover::default();
    for sample in story.intervals(0).iter().flat_map(|i| &i.engine.streams) {
        sum.merge(sample.handover.as_ref().expect("the plan asks for it"));
    }
    sum
}

pub fn assert_none_below(figures: &LatencyFigures, what: &str) {
    let least = figures
        .histogram
        .buckets()
        .first()
        .expect("something was measured");
    let (_, end_ns) = measure::bucket_bounds(least.index as usize);
    assert!(end_ns > MS, "{what}: {end_ns} ns on a device of 1 ms");
}

#[test]
fn nothing_takes_less_time_than_the_device() {
    let law = ArrivalLaw::Exponential;
    let loads = [
        flat_out(WINDOW_NS, 100 * MS),
        run(Load::PerStream, law, WINDOW_NS, 100 * MS),
    ];
    for depth in DEPTHS {
        for load in &loads {
            for (batches, is_singly) in [(SINGLY, true), (Batches::default(), false)] {
                let story = measured(depth, batches, load.clone());
                let what = |figure: &str| format!("{figure} at {depth}, singly {is_singly}");
                let totals = &story.totals[0];
                assert_none_below(&totals.service(None), &what("service"));
                assert_none_below(&totals.response(None), &what("response"));
                for parts in &told(&story).parts {
                    assert_none_below(&parts.completion, &what("completion"));
                }
            }
        }
    }
}

/// A thread may stand still at any moment, also after a submission and before it can look at the clock.
#[test]
fn nothing_takes_less_time_than_the_device_when_threads_are_preempted() {
    let stops = [(1, 400_000), (3, 900_000), (7, 2 * MS), (2, 30_000)];
    for (depth, stop) in DEPTHS.into_iter().flat_map(|d| stops.map(|stop| (d, stop))) {
        for (servers, submission_blocks) in [(4, true), (64, false)] {
            let script = Script {
                servers,
                submission_blocks,
                preemption: Some(stop),
                ..four_tags()
            };
            for batches in [SINGLY, Batches::default()] {
                let story = measured_on(&script, depth, batches, flat_out(WINDOW_NS, 100 * MS));
                let what = |figure: &str| format!("{figure} at {depth}, {stop:?}, {servers} tags");
                let totals = &story.totals[0];
                assert_none_below(&totals.service(None), &what("service"));
                assert_none_below(&totals.response(None), &what("response"));
                for parts in &told(&story).parts {
                    assert_none_below(&parts.completion, &what("completion"));
                }
            }
        }
    }
}

#[test]
fn nothing_takes_less_time_than_the_device_where_the_call_does_all() {
    let script = Script {
        works_in_call: true,
        ..four_tags()
    };
    for depth in DEPTHS {
        for batches in [SINGLY, Batches::default()] {
            let story = measured_on(&script, depth, batches, flat_out(WINDOW_NS, 100 * MS));
            for parts in &told(&story).parts {
                assert_none_below(&parts.completion, &format!("completion at {depth}"));
            }
        }
    }
}

#[test]
fn rate_times_latency_is_the_depth() {
    for depth in DEPTHS {
        for batches in [SINGLY, Batches::default()] {
            let story = measured(depth, batches, flat_out(WINDOW_NS, 100 * MS));
            let totals = &story.totals[0];
            let rate = totals.rate();
            let expected = f64::from(depth.min(4)) * 1_000.0;
            assert!((rate / expected - 1.0).abs() < 0.02, "{rate} at {depth}");
            let busy = rate * totals.service(None).mean_ns() / 1e9;
            assert!(
                (busy / f64::from(depth) - 1.0).abs() < 0.05,
                "{busy} at {depth}"
            );
        }
    }
}

/// One by one, each waits in the call for a tag, and for its turn among what has come back: as with fio.
#[test]
fn what_is_seen_one_by_one_has_waited_for_what_came_before() {
    let story = measured(32, SINGLY, flat_out(WINDOW_NS, 100 * MS));
    let handover = told(&story);
    assert_eq!(
        handover.submitted_together[1],
        handover.submitted_together.iter().sum()
    );
    assert_eq!(
        handover.seen_together[1],
        handover.seen_together.iter().sum()
    );
    let [parts] = handover.parts.as_slice() else {
        panic!("reads only");
    };
    let half_ns = parts.completion.percentile_ns(50.0);
    assert!((5 * MS..9 * MS).contains(&half_ns), "{half_ns} ns");
    let mean_ns = parts.submission.mean_ns();
    assert!((mean_ns / 250_000.0 - 1.0).abs() < 0.05, "{mean_ns} ns");
    // A thread that only waited in the call submitted behind it, so that no part is in both.
    // The parts have what came back after the window, too, hence the means.
    let both_ns = parts.submission.mean_ns() + parts.completion.mean_ns();
    let service_ns = story.totals[0].service(None).mean_ns();
    assert!((both_ns / service_ns - 1.0).abs() < 0.005, "{both_ns} ns");
}

#[test]
fn a_look_sees_at_most_what_is_asked() {
    let eight = Batches {
        reap_most: Some(8),
        ..Batches::default()
    };
    let story = measured(32, eight, flat_out(WINDOW_NS, 100 * MS));
    let handover = told(&story);
    assert_eq!(
        handover.seen_together[3..],
        [0; 4],
        "{:?}",
        handover.seen_together
    );
    assert!(
        handover.seen_together[2] > 0,
        "{:?}",
        handover.seen_together
    );
}

#[test]
fn a_run_ends_where_each_call_waits_longer_than_the_window() {
    let script = Script {
        service_ns: 3_000 * MS,
        servers: 1,
        ..four_tags()
    };
    for batches in [SINGLY, Batches::default()] {
        let story = measured_on(&script, 16, batches, flat_out(WINDOW_NS, 100 * MS));
        assert_eq!(story.totals[0].rate(), 0.0);
    }
}

/// A device that takes three seconds and one operation at a time holds up the thread that submits to it.
#[test]
fn nothing_begins_after_the_end_where_submission_waits() {
    let script = Script {
        service_ns: 3_000 * MS,
        servers: 1,
        ..four_tags()
    };
    let story = measured_on(&script, 16, SINGLY, flat_out(WINDOW_NS, 100 * MS));
    // The one that the device has, and the one that waited for it at the end.
    let late = &story.finished(0).late;
    assert_eq!(late.len(), 2, "{late:?}");
    assert!(story.finished(0).outstanding.is_empty());
    let begun_before = |one: &Outstanding| Some(one.age_ns) > one.returned_after_ns;
    assert!(late.iter().all(begun_before), "{late:?}");
}
