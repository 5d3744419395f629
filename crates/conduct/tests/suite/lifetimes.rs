//! Streams side by side with times of their own, exact in simulated time.
use crate::plans::*;
use crate::story::{Story, carry_out};
use conduct::{Control, SimulatedHost};
use engine::sim::Script;
use measure::StreamSpan;
use plan::*;

const SERVICE_NS: u64 = 100_000;
const SLOTS: u64 = 4;

/// A stream with slots and a target of its own; each slot has an operation each 100 µs.
fn own(number: usize, lifetime: Lifetime) -> Stream {
    let mut stream = stream(number, number, |_| {});
    stream.lifetime = Some(lifetime);
    stream
}

fn lasting(warmup_ms: u64, window_ms: u64) -> Lifetime {
    Lifetime {
        warmup: Nanos(warmup_ms * MS),
        window: Some(Nanos(window_ms * MS)),
        ..Lifetime::default()
    }
}

/// The same with any number of workers.
fn stories(streams: &[Stream]) -> Vec<Story> {
    stories_of(streams, SLOTS as u32)
}

fn stories_of(streams: &[Stream], slots: u32) -> Vec<Story> {
    let mut spec = until_done(50 * MS);
    spec.load = Load::PerStream;
    let story = |workers| {
        let targets = streams.iter().map(|_| simulated(64 * MIB)).collect();
        let pools = vec![slots; streams.len()];
        let plan = plan(targets, &pools, streams.to_vec(), vec![spec.clone()]);
        let mut host = SimulatedHost::new(Script::default(), workers);
        carry_out(&bind_unreal(plan), &mut host, &Control::default())
    };
    [1, 2, 3].map(story).into()
}

fn operations(story: &Story, stream: u32) -> u64 {
    let intervals = story.intervals(0);
    let figures = intervals.iter().flat_map(|interval| &interval.figures);
    let mine = figures.filter(|figure| figure.key.stream.0 == stream);
    mine.map(|figure| figure.operations).sum()
}

fn span(story: &Story, stream: usize) -> (u64, Option<u64>) {
    let intervals = story.intervals(0);
    let last = intervals.last().expect("a run has an interval");
    let StreamSpan { from_ns, to_ns } = last.engine.streams[stream].span.expect("it has begun");
    (from_ns, to_ns)
}

/// Operations that come back within a span that begins with one coming back, or with a start.
fn within(window_ms: u64, begins_at_start: bool) -> u64 {
    let rounds = window_ms * MS / SERVICE_NS;
    (rounds - u64::from(begins_at_start)) * SLOTS
}

#[test]
fn each_stream_is_measured_over_its_own_time() {
    let mut late = own(1, lasting(20, 60));
    late.start_delay = Nanos(10 * MS);
    for story in stories(&[own(0, lasting(0, 30)), late]) {
        assert_eq!(operations(&story, 0), within(30, true));
        assert_eq!(operations(&story, 1), within(60, false));
        assert_eq!(span(&story, 0), (0, Some(30 * MS)));
        assert_eq!(span(&story, 1), (30 * MS, Some(90 * MS)));
        // The run lasts as long as the last of them.
        let length_ns = story.totals[0].length_ns;
        assert!((90 * MS..=110 * MS).contains(&length_ns), "{length_ns}");
    }
}

/// Measured for so long once so many operations were done.
fn behind(operations: u64, group: Option<u32>, window_ms: u64) -> Lifetime {
    Lifetime {
        warmup_bytes: Some(WarmupBytes {
            bytes: operations * BLOCK,
            group,
        }),
        ..lasting(0, window_ms)
    }
}

#[test]
fn a_warm_up_ends_with_an_amount() {
    for story in stories(&[own(0, behind(400, None, 20))]) {
        // A hundred rounds; what comes back with the last of them belongs to the warm-up.
        assert_eq!(span(&story, 0), (10 * MS, Some(30 * MS)));
        assert_eq!(operations(&story, 0), within(20, true));
        // What the run takes to notice its end is in its length, the warm-up is not.
        let end_ns = story.intervals(0).last().expect("a run has one").end_ns;
        assert_eq!(story.totals[0].length_ns, end_ns - 10 * MS);
    }
    // Each for itself, or together: then after half of the rounds, and after the larger amount.
    let two = |group, (one, other)| {
        [
            own(0, behind(one, group, 20)),
            own(1, behind(other, group, 20)),
        ]
    };
    for story in stories(&two(None, (400, 200))) {
        assert_eq!(span(&story, 0), (10 * MS, Some(30 * MS)));
        assert_eq!(span(&story, 1), (5 * MS, Some(25 * MS)));
    }
    for story in stories(&two(Some(3), (400, 200))) {
        for stream in [0, 1] {
            assert_eq!(span(&story, stream), (5 * MS, Some(25 * MS)));
            assert_eq!(operations(&story, stream as u32), within(20, true));
        }
    }
}

#[test]
fn a_stream_that_ends_in_its_warm_up_is_measured_whole() {
    let mut short = own(0, behind(40_000, None, 20));
    // Over three intervals, beside one that is warm.
    short.stop.operations = Some(5_000);
    let mut paced = own(1, lasting(200, 20));
    paced.stop.operations = Some(200);
    paced.pacing = Pacing::TotalRate {
        per_second: 2_000.0,
        law: ArrivalLaw::Deterministic,
    };
    for story in stories(&[short, paced, own(2, lasting(10, 20))]) {
        let counts = [0, 1, 2].map(|stream| operations(&story, stream));
        assert_eq!(counts, [5_000, 200, within(20, false)]);
        assert_eq!(span(&story, 0), (0, Some(125 * MS)));
        assert_eq!(span(&story, 2), (10 * MS, Some(30 * MS)));
        assert_eq!(story.sum(0, |sample| sample.scheduled), 200);
        assert_eq!(story.remarks("never-warm"), 1);
        assert_eq!(story.finished(0).reason, measure::FinishReason::Complete);
    }
}

#[test]
fn a_schedule_counts_within_the_time_of_its_stream() {
    let paced = |number, lifetime| {
        let mut stream = own(number, lifetime);
        stream.pacing = Pacing::TotalRate {
            per_second: 1_000.0,
            law: ArrivalLaw::Deterministic,
        };
        stream
    };
    let mut late = paced(1, lasting(20, 60));
    late.start_delay = Nanos(10 * MS);
    for story in stories(&[paced(0, lasting(0, 30)), late]) {
        for (stream, expected) in [(0, 30), (1, 60)] {
            let told = |of: fn(&measure::StreamSample) -> u64| -> u64 {
                let intervals = story.intervals(0);
                let samples = intervals.iter().map(|i| &i.engine.streams[stream]);
                samples.map(of).sum()
            };
            assert_eq!(told(|sample| sample.scheduled), expected);
            assert_eq!(told(|sample| sample.submitted), expected);
            assert_eq!(operations(&story, stream as u32), expected);
            assert_eq!(told(|sample| sample.unserved.histogram.count()), 0);
        }
    }
}

#[test]
fn what_a_slow_stream_leaves_unserved_is_as_old_as_its_end() {
    let mut slow = own(0, lasting(0, 10));
    slow.pacing = Pacing::TotalRate {
        per_second: 80_000.0,
        law: ArrivalLaw::Deterministic,
    };
    for story in stories(&[slow, own(1, lasting(0, 70))]) {
        // Twice of what it can do arrives, for 10 ms.
        let served = operations(&story, 0);
        let unserved = &story.totals[0].streams[0].unserved;
        assert_eq!(served + unserved.histogram.count(), 800);
        assert!((390..=400).contains(&served), "{served}");
        assert!(unserved.max_ns <= 10 * MS, "{}", unserved.max_ns);
        assert!(unserved.max_ns >= 4 * MS, "{}", unserved.max_ns);
    }
}

#[test]
fn a_stream_begins_when_those_that_it_waits_for_have_ended() {
    let counted = |number, operations| {
        let mut stream = own(number, Lifetime::default());
        stream.stop.operations = Some(operations);
        stream
    };
    let waiting = Lifetime {
        after: vec![0, 1],
        ..lasting(0, 10)
    };
    let streams = [
        counted(0, 100),
        counted(1, 60),
        own(2, waiting),
        own(3, lasting(0, 40)),
    ];
    for story in stories(&streams) {
        assert_eq!(span(&story, 0), (0, Some(25 * SERVICE_NS)));
        assert_eq!(span(&story, 1), (0, Some(15 * SERVICE_NS)));
        assert_eq!(
            span(&story, 2),
            (25 * SERVICE_NS, Some(25 * SERVICE_NS + 10 * MS))
        );
        assert_eq!(operations(&story, 0), 100);
        assert_eq!(operations(&story, 2), within(10, true));
        assert_eq!(operations(&story, 3), within(40, true));
    }
}

#[test]
fn the_end_of_a_stream_ends_the_others_that_it_names() {
    let mut first = own(
        0,
        Lifetime {
            ends: vec![1, 2],
            ..Lifetime::default()
        },
    );
    first.stop.operations = Some(100);
    let waiting = Lifetime {
        after: vec![3],
        ..Lifetime::default()
    };
    let streams = [
        first,
        own(1, Lifetime::default()),
        own(2, waiting),
        own(3, lasting(0, 20)),
    ];
    for story in stories(&streams) {
        assert_eq!(span(&story, 0).1, Some(25 * SERVICE_NS));
        // What it has in flight still comes back, and counts.
        let ended_ns = span(&story, 1).1.expect("it has ended");
        assert!((25 * SERVICE_NS..=27 * SERVICE_NS).contains(&ended_ns));
        let done = operations(&story, 1);
        assert!((100..=108).contains(&done), "{done}");
        // It never began.
        assert_eq!(operations(&story, 2), 0);
        assert_eq!(operations(&story, 3), within(20, true));
    }
}

#[test]
fn what_fails_in_a_warm_up_is_counted() {
    let failing = Script {
        bad: vec![(0, u64::MAX, 5)],
        ..Script::default()
    };
    let streams = vec![own(0, lasting(5, 5))];
    let plan = plan(
        vec![simulated(64 * MIB)],
        &[4],
        streams,
        vec![until_done(50 * MS)],
    );
    let mut host = SimulatedHost::new(failing, 1);
    let story = carry_out(&bind_unreal(plan), &mut host, &Control::default());
    let all = within(10, true);
    assert_eq!(story.completed(0), all);
    assert!(story.outcome.errors >= all, "{:?}", story.outcome);
}

#[test]
fn a_stream_that_is_too_slow_ends_and_lets_others_begin() {
    let mut slow = own(0, lasting(0, 500));
    slow.flow.latency_most.read = Some(Nanos(SERVICE_NS / 2));
    let mut waiting = own(1, lasting(0, 30));
    waiting.lifetime.as_mut().unwrap().after = vec![0];
    for story in stories(&[slow, waiting]) {
        // All that was in flight with the first one that took too long.
        assert_eq!(operations(&story, 0), SLOTS);
        let errors: Vec<i32> = story.failures().iter().map(|one| one.errno).collect();
        assert_eq!(errors, [110; SLOTS as usize]);
        let (from_ns, to_ns) = span(&story, 1);
        // A worker looks every two milliseconds whether it may begin.
        assert!((SERVICE_NS..3 * MS).contains(&from_ns), "{from_ns}");
        assert_eq!(to_ns, Some(from_ns + 30 * MS));
        assert!(operations(&story, 1) >= 27 * MS / SERVICE_NS * SLOTS);
    }
}

/// The sync at the end belongs to the time of a job, also where the clock ends it.
#[test]
fn a_job_that_the_clock_ends_makes_its_last_sync() {
    let mut job = own(0, lasting(0, 30));
    job.flow.syncs.at_end = true;
    // With one slot nothing may be in flight when the clock ends it.
    for slots in [1, SLOTS as u32] {
        for story in stories_of(std::slice::from_ref(&job), slots) {
            let intervals = story.intervals(0);
            let figures = intervals.iter().flat_map(|interval| &interval.figures);
            let syncs = figures.filter(|figure| figure.key.operation == Operation::Sync);
            assert_eq!(syncs.map(|figure| figure.operations).sum::<u64>(), 1);
            assert!(span(&story, 0).1 > Some(30 * MS));
        }
    }
    // What was in flight then comes back within the time, too.
    let story = &stories(&[job])[0];
    assert_eq!(operations(story, 0), within(30, true) + SLOTS + 1);
}
