//! Stalls of simulated storage against what arithmetic says they must show.
use crate::plans::*;
use crate::story::{Story, simulate};
use engine::sim::Script;
use measure::{Histogram, LatencyFigures};
use plan::*;

const SERVICE_NS: u64 = 100_000;
const RATE: f64 = 1_000.0;

fn stalled(from_ns: u64, to_ns: u64, servers: u32) -> Script {
    Script {
        service_ns: SERVICE_NS,
        servers,
        stalls: vec![(from_ns, to_ns)],
        ..Script::default()
    }
}

/// One stream of reads on one target.
fn one_stream(slots: u32, spec: RunSpec) -> BoundPlan {
    let streams = vec![stream(0, 0, |_| {})];
    bind_unreal(plan(
        vec![simulated(64 * MIB)],
        &[slots],
        streams,
        vec![spec],
    ))
}

fn paced(window_ns: u64) -> RunSpec {
    at_rate(RATE, ArrivalLaw::Deterministic, window_ns, 100 * MS)
}

/// Every count of every bucket, the exact sum and the exact maximum.
fn assert_values(figures: &LatencyFigures, expected: &[u64]) {
    assert_eq!(
        figures.histogram,
        Histogram::from_iter(expected.iter().copied())
    );
    assert_eq!(figures.sum_ns, expected.iter().sum::<u64>());
    assert_eq!(figures.max_ns, *expected.iter().max().unwrap());
}

fn milliseconds(numbers: std::ops::Range<u64>) -> impl Iterator<Item = u64> {
    numbers.map(|number| number * MS)
}

#[test]
fn a_stall_with_slots_for_all_is_in_response_and_in_service() {
    let story = simulate(
        &one_stream(2_000, paced(4 * SECOND)),
        &stalled(SECOND, 2_500 * MS, 2_000),
        2,
    );
    let totals = &story.totals[0];
    // Whoever arrives in the stall waits for its end; the last one before it has come back.
    let waits = milliseconds(1..1_501);
    let expected: Vec<u64> = waits.chain((0..2_500).map(|_| SERVICE_NS)).collect();
    assert_values(&totals.response(None), &expected);
    assert_values(&totals.service(None), &expected);
    let response = totals.response(None);
    for (percentile, exact_ns) in [
        (50.0, SERVICE_NS),
        (90.0, 1_100 * MS),
        (99.0, 1_460 * MS),
        (99.9, 1_496 * MS),
    ] {
        let read_ns = response.percentile_ns(percentile);
        assert!(read_ns >= exact_ns && read_ns - exact_ns <= exact_ns / 256);
    }
    assert_values(&totals.lateness(), &[0; 4_000]);
}

/// When the operation that arrives as number `i` of the stall comes back, with eight slots: eight
/// at its end, and eight more with each service time, until the queue is gone.
fn response_behind_eight_slots(i: u64) -> u64 {
    let done_ns = 1_500 * MS + i / 8 * SERVICE_NS;
    done_ns.saturating_sub(i * MS).max(SERVICE_NS)
}

#[test]
fn a_stall_that_takes_all_slots_is_in_response_for_all_and_in_service_once_a_slot() {
    let story = simulate(
        &one_stream(8, paced(4 * SECOND)),
        &stalled(SECOND, 2_500 * MS, 8),
        2,
    );
    let totals = &story.totals[0];
    let expected: Vec<u64> = (0..3_000)
        .map(response_behind_eight_slots)
        .chain((0..1_000).map(|_| SERVICE_NS))
        .collect();
    assert_values(&totals.response(None), &expected);
    let late: Vec<u64> = expected
        .iter()
        .zip(0..)
        // The first eight of the stall found a slot at once.
        .map(|(response, i)| if i < 8 { 0 } else { response - SERVICE_NS })
        .collect();
    assert_values(&totals.lateness(), &late);
    let long_services = totals.service(None).histogram.count() as usize
        - totals.service(None).histogram.count_below(SECOND) as usize;
    assert_eq!(long_services, 8);
    check_backlog(&story);
}

/// At the end of each interval of the stall.
fn check_backlog(story: &Story) {
    for interval in story.intervals(0) {
        let end_ms = interval.end_ns / MS;
        if (1_100..=2_500).contains(&end_ms) {
            assert_eq!(interval.engine.streams[0].backlog, end_ms - 1_000 - 8);
            assert_eq!(interval.engine.in_flight, 8);
            let target = interval.engine.hosts[0].targets[0];
            let oldest_ns = interval.engine.oldest_in_flight_ns;
            assert_eq!(target.in_flight, Some(8));
            assert_eq!(target.oldest_ns, Some(oldest_ns));
            assert_eq!(
                interval.engine.oldest_in_flight_ns,
                interval.end_ns - SECOND
            );
            let since_ns = interval.end_ns.min(2_500 * MS) - 1_007 * MS;
            assert_eq!(
                interval.engine.pools[0].exhausted_ns,
                since_ns.min(100 * MS)
            );
        } else {
            assert_eq!(interval.engine.streams[0].backlog, 0);
        }
    }
}

#[test]
fn a_closed_loop_sees_the_same_stall_once() {
    let script = stalled(SECOND, 2_500 * MS, 8);
    let story = simulate(&one_stream(8, flat_out(4 * SECOND, 100 * MS)), &script, 2);
    let totals = &story.totals[0];
    let (service, response) = (totals.service(None), totals.response(None));
    assert_eq!(service, response);
    let long = service.histogram.count() - service.histogram.count_below(SECOND / 1_000);
    assert_eq!(long, 8);
    // An open loop has 1.46 s here.
    assert!(service.percentile_ns(99.0) <= SERVICE_NS + SERVICE_NS / 256);
    let silent: Vec<u64> = story
        .intervals(0)
        .iter()
        .filter(|interval| interval.figures.is_empty())
        .map(|interval| interval.engine.oldest_in_flight_ns)
        .collect();
    let begun_ns = SECOND - SERVICE_NS;
    let ages = (11..25).map(|tenth| tenth * 100 * MS - begun_ns);
    assert_eq!(silent[..14], ages.collect::<Vec<u64>>());
}

#[test]
fn who_is_not_served_at_the_end_enters_response_with_its_age_or_its_time() {
    for slots in [8, 2_000] {
        let story = simulate(
            &one_stream(slots, paced(2 * SECOND)),
            &stalled(SECOND, 10 * SECOND, 2_000),
            2,
        );
        let (totals, finished) = (&story.totals[0], story.finished(0));
        let in_flight = u64::from(slots).min(1_000);
        assert_eq!(finished.unsent, 1_000 - in_flight);
        assert_eq!(totals.operations(), 1_000);
        assert_values(
            &totals.streams[0].unserved,
            &milliseconds(1..1_001).collect::<Vec<u64>>(),
        );
        let served = || (0..1_000).map(|_| SERVICE_NS);
        // What was sent is back eight seconds after the end; the rest never goes out.
        let waiting = milliseconds(1..1_001 - in_flight);
        let late = || milliseconds(9_001 - in_flight..9_001);
        let expected: Vec<u64> = served().chain(waiting).chain(late()).collect();
        assert_values(&totals.response(None), &expected);
        assert_values(
            &totals.service(None),
            &served().chain(late()).collect::<Vec<u64>>(),
        );
        // Looked at every 100 µs, and what comes back at a look is seen at the next.
        assert_eq!(finished.drain_ns, 8 * SECOND + 100_000);
    }
}

#[test]
fn a_rate_beyond_the_target_leaves_the_rest_unsent() {
    // Eight servers do 80 000 a second.
    for law in [
        ArrivalLaw::Deterministic,
        ArrivalLaw::Exponential,
        ArrivalLaw::Uniform,
        ArrivalLaw::Spike,
    ] {
        let spec = at_rate(100_000.0, law, SECOND, 100 * MS);
        let story = simulate(&one_stream(16, spec), &Script::default(), 2);
        let mut schedule = engine::arrivals::Arrivals::new(
            &engine::Pace::constant(100_000.0, law),
            0.0,
            (42, 0, 0),
        );
        let due = std::iter::repeat_with(|| schedule.next_ns())
            .take_while(|arrival_ns| *arrival_ns < SECOND)
            .count() as u64;
        let finished = story.finished(0);
        assert_eq!(finished.scheduled, due);
        let served = story.totals[0].operations();
        assert!((79_800..=80_000).contains(&served), "{law:?}: {served}");
        // All slots are taken, and what they hold has not come back.
        assert_eq!(finished.submitted, served + 16);
        assert_eq!(finished.unsent, due - served - 16);
    }
}

#[test]
fn a_start_delay_shifts_the_schedule_and_holds_a_closed_loop() {
    let delayed = |pacing| {
        let mut late = stream(0, 0, |_| {});
        late.pacing = pacing;
        late.start_delay = Nanos(450 * MS);
        late
    };
    let law = ArrivalLaw::Deterministic;
    let rate = Pacing::TotalRate {
        per_second: RATE,
        law,
    };
    let mut ahead = stream(0, 0, |_| {});
    ahead.pacing = rate.clone();
    let spec = run(Load::PerStream, law, SECOND, 100 * MS);
    for (streams, expected) in [
        (vec![delayed(rate)], Some(550)),
        (vec![delayed(Pacing::None)], None),
        (vec![ahead, delayed(Pacing::None)], None),
    ] {
        let late = streams.len() - 1;
        let plan = plan(vec![simulated(64 * MIB)], &[8], streams, vec![spec.clone()]);
        let story = simulate(&bind_unreal(plan), &Script::default(), 2);
        for interval in story.intervals(0) {
            let sample = &interval.engine.streams[late];
            let is_before = interval.end_ns <= 400 * MS;
            assert_eq!(sample.submitted == 0, is_before, "{sample:?}");
            assert_eq!(sample.lateness.sum_ns, 0);
        }
        if let Some(expected) = expected {
            assert_eq!(story.totals[0].operations(), expected);
            assert_eq!(story.finished(0).scheduled, expected);
        }
    }
}

#[test]
fn a_paced_stream_that_has_ended_awaits_no_more_arrivals() {
    let mut short = stream(0, 0, |_| {});
    short.stop.operations = Some(500);
    let runs = vec![paced(2 * SECOND)];
    let plan = plan(vec![simulated(64 * MIB)], &[8], vec![short], runs);
    let story = simulate(&bind_unreal(plan), &Script::default(), 2);
    let (totals, finished) = (&story.totals[0], story.finished(0));
    assert_eq!((finished.scheduled, finished.unsent), (500, 0));
    assert_eq!(totals.response(None).max_ns, SERVICE_NS);
    assert_eq!(totals.streams[0].backlog, 0);
}
