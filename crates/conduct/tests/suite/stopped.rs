//! A process that is stopped in the middle of a run, in simulated time: what it sees afterwards counts in the interval in
//! which it is seen, however late intervals are read.
use crate::plans::*;
use crate::story::{Story, simulate};
use engine::sim::Script;
use measure::Interval;
use plan::*;

const TENTH: u64 = 100 * MS;

fn stopped(from_ns: u64, to_ns: u64) -> Script {
    Script {
        stops: vec![(from_ns, to_ns)],
        ..Script::default()
    }
}

fn story(spec: RunSpec, script: &Script, workers: u32) -> Story {
    let streams = vec![stream(0, 0, |_| {})];
    let plan = plan(vec![simulated(MIB)], &[8], streams, vec![spec]);
    simulate(&bind_unreal(plan), script, workers)
}

fn operations(interval: &Interval) -> u64 {
    interval.figures.iter().map(|one| one.operations).sum()
}

fn by_interval(story: &Story, of: impl Fn(&Interval) -> u64) -> Vec<u64> {
    story.intervals(0).into_iter().map(of).collect()
}

/// The last and the first interval that workers reached may have slabs in any order, also none apart.
const SPANS: [(u64, u64); 5] = [
    (4_250 * MS, 9_250 * MS),
    (4_250 * MS, 9_350 * MS),
    (4_350 * MS, 9_250 * MS),
    (4_399 * MS, 9_390 * MS),
    (4_250 * MS, 4_460 * MS),
];

#[test]
fn what_completed_counts_when_it_was_seen() {
    for ((from_ns, to_ns), workers) in SPANS.into_iter().flat_map(|span| [(span, 1), (span, 3)]) {
        // One arrival in each 5 ms, done in 100 µs.
        let spec = at_rate(200.0, ArrivalLaw::Deterministic, 12 * SECOND, TENTH);
        let story = story(spec, &stopped(from_ns, to_ns), workers);
        let found = by_interval(&story, operations);
        let (first, last) = ((from_ns / TENTH) as usize, (to_ns / TENTH) as usize);
        assert_eq!(found.len(), 120);
        assert!(
            found[1..first].iter().all(|count| *count == 20),
            "{found:?}"
        );
        assert!(found[first] <= 20, "{found:?}");
        assert!(
            found[first + 1..last].iter().all(|count| *count == 0),
            "{found:?}"
        );
        // All that waited, done 8 at a time, and what came meanwhile.
        let waited = (to_ns - from_ns) / (5 * MS);
        assert!(found[last] + found[last + 1] >= waited, "{found:?}");
        assert!(
            found[last + 2..].iter().all(|count| *count == 20),
            "{found:?}"
        );
        assert_eq!(found.iter().sum::<u64>(), story.completed(0));
        let longest = by_interval(&story, |one| {
            let figures = one.figures.iter();
            figures.map(|one| one.response.max_ns).max().unwrap_or(0)
        });
        assert!(
            longest[last].abs_diff(to_ns - from_ns) <= 6 * MS,
            "{longest:?}"
        );
        assert!(longest[last + 2..].iter().all(|ns| *ns < MS), "{longest:?}");
    }
}

#[test]
fn arrivals_that_wait_meanwhile_are_told_by_interval() {
    let spec = at_rate(200.0, ArrivalLaw::Deterministic, 12 * SECOND, TENTH);
    let story = story(spec, &stopped(4_250 * MS, 9_250 * MS), 1);
    let scheduled = by_interval(&story, |one| one.engine.streams[0].scheduled);
    assert!(
        scheduled[1..].iter().all(|count| *count == 20),
        "{scheduled:?}"
    );
    let backlog = by_interval(&story, |one| one.engine.streams[0].backlog);
    let grows: Vec<u64> = (0..50).map(|number| 10 + 20 * number).collect();
    let near = |(found, expected): (&u64, &u64)| found.abs_diff(*expected) <= 1;
    assert!(backlog[42..92].iter().zip(&grows).all(near), "{backlog:?}");
    assert!(backlog[93..].iter().all(|count| *count <= 1), "{backlog:?}");
}

#[test]
fn a_stop_beyond_the_end_leaves_intervals_without_anything() {
    let spec = flat_out(3 * SECOND, TENTH);
    let story = story(spec, &stopped(2_050 * MS, 3_500 * MS), 2);
    let found = by_interval(&story, operations);
    assert_eq!(found.len(), 30);
    assert!(
        found[1..20].iter().all(|count| *count == found[1]),
        "{found:?}"
    );
    assert!(found[20].abs_diff(found[1] / 2) <= 16, "{found:?}");
    assert!(found[21..].iter().all(|count| *count == 0), "{found:?}");
    let end = &story.intervals(0)[29];
    assert_eq!((end.start_ns, end.end_ns), (2_900 * MS, 3 * SECOND));
}
