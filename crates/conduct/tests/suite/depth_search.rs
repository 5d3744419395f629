//! Streams that look for the depth that keeps a latency, exact in simulated time: eight servers
//! take 100 µs each, so that the ninth operation in flight waits.
use crate::plans::*;
use crate::story::{Story, carry_out};
use conduct::{Control, SimulatedHost};
use engine::sim::Script;
use plan::*;

const WINDOW_MS: u64 = 20;

fn search(latency_us: u64, within_pct: f64) -> DepthSearch {
    DepthSearch {
        latency: Nanos(latency_us * 1_000),
        within_pct,
        window: Nanos(WINDOW_MS * MS),
        goes_on: false,
    }
}

/// A stream with up to 64 slots for so many milliseconds.
fn searching(search: DepthSearch, slots: u32, length_ms: u64) -> Story {
    let mut one = stream(0, 0, |_| {});
    one.flow.depth_search = Some(search);
    one.lifetime = Some(Lifetime {
        window: Some(Nanos(length_ms * MS)),
        ..Lifetime::default()
    });
    let mut spec = until_done(10 * MS);
    spec.load = Load::PerStream;
    let plan = plan(vec![simulated(64 * MIB)], &[slots], vec![one], vec![spec]);
    let mut host = SimulatedHost::new(Script::default(), 1);
    carry_out(&bind_unreal(plan), &mut host, &Control::default())
}

fn depth(story: &Story) -> Option<u32> {
    let intervals = story.intervals(0);
    intervals.last().expect("an interval").engine.streams[0].depth
}

fn begins_ns(story: &Story) -> u64 {
    let intervals = story.intervals(0);
    let last = intervals.last().expect("an interval");
    last.engine.streams[0].span.expect("it has begun").from_ns
}

#[test]
fn the_depth_that_keeps_a_latency_is_found_and_measured() {
    // Of nine in flight, one of eight that come back has waited.
    for (within_pct, expected, windows) in [(100.0, 8, 5), (88.0, 8, 9), (87.0, 9, 8)] {
        let story = searching(search(150, within_pct), 64, 2_000);
        assert_eq!(depth(&story), Some(expected), "{within_pct} %");
        // Eight at a time over one window and who waits behind it, and nothing of the search.
        let operations = WINDOW_MS * 10 * 8 + u64::from(expected - 8);
        assert_eq!(story.totals[0].operations(), operations, "{within_pct} %");
        let begins_ms = begins_ns(&story) / MS;
        let least_ms = windows * WINDOW_MS;
        assert!(
            (least_ms..least_ms + 5).contains(&begins_ms),
            "{within_pct} %: {begins_ms} ms"
        );
        let length_ns = story.totals[0].length_ns;
        let most_ns = (WINDOW_MS + 10) * MS;
        assert!(
            (WINDOW_MS * MS..=most_ns).contains(&length_ns),
            "{length_ns}"
        );
        assert_eq!(story.failures().len(), 0);
    }
}

#[test]
fn all_slots_are_the_most() {
    let story = searching(search(150, 100.0), 6, 2_000);
    assert_eq!(depth(&story), Some(6));
    assert_eq!(story.totals[0].operations(), WINDOW_MS * 10 * 6);
}

#[test]
fn a_latency_that_one_operation_does_not_keep_ends_the_stream() {
    let story = searching(search(50, 100.0), 64, 2_000);
    assert_eq!(story.totals[0].operations(), 1);
    let errors: Vec<i32> = story.failures().iter().map(|one| one.errno).collect();
    assert_eq!(errors, [110]);
    // With a share that may be slower it goes on with one.
    let story = searching(search(50, 90.0), 64, 50);
    assert_eq!(depth(&story), Some(1));
    assert_eq!(story.totals[0].operations(), 50 * 10 - 1);
    assert_eq!(story.failures().len(), 0);
}

#[test]
fn a_search_that_is_cut_short_is_measured_from_its_begin() {
    // One, two and four in flight, and ten milliseconds of eight.
    let operations = WINDOW_MS * 10 * (1 + 2 + 4) + 10 * 10 * 8;
    let cut = searching(search(150, 100.0), 64, 3 * WINDOW_MS + 10);
    assert_eq!((depth(&cut), begins_ns(&cut)), (Some(8), 0));
    let counted = cut.totals[0].operations();
    assert!(
        (operations - 20..=operations).contains(&counted),
        "{counted} of {operations}"
    );
    let mut on = search(150, 100.0);
    on.goes_on = true;
    let story = searching(on, 64, 1_000);
    assert_eq!(begins_ns(&story), 0);
    let counted = story.totals[0].operations();
    assert!(counted > 70_000, "{counted}");
}
