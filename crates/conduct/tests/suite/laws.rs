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

fn paced(per_second: f64) -> Pacing {
    let law = ArrivalLaw::Deterministic;
    Pacing::TotalRate { per_second, law }
}

/// Streams in the order of their priority, each of a pool and with a pace and a share.
fn by_priority(slots: &[u32], streams: &[(usize, Pacing, f64)], runs: Vec<RunSpec>) -> BoundPlan {
    let targets = vec![simulated(64 * MIB); slots.len()];
    let made = streams
        .iter()
        .map(|(pool, ..)| stream(*pool, *pool, |_| {}));
    let mut plan = plan(targets, slots, made.collect(), runs);
    let template = &mut plan.templates[0];
    template.coupling = Coupling::Priority;
    for pool in &mut template.pools {
        pool.admission = PoolAdmission::Priority;
    }
    for (place, (made, (_, pacing, share_pct))) in
        template.streams.iter_mut().zip(streams).enumerate()
    {
        made.pacing = pacing.clone();
        made.share_pct = *share_pct;
        made.priority = Some(place as u32 + 1);
    }
    bind_unreal(plan)
}

fn operations_of(story: &Story, stream: usize) -> u64 {
    let figures = story.totals[0].figures.iter();
    let mine = figures.filter(|figure| figure.key.stream.index() == stream);
    mine.map(|figure| figure.operations).sum()
}

#[test]
fn streams_with_a_rate_of_their_own_take_it_out_of_the_rate_of_the_run() {
    let streams = [
        (0, paced(300.0), 0.0),
        (0, Pacing::FromRun, 75.0),
        (0, Pacing::FromRun, 25.0),
    ];
    let law = ArrivalLaw::Deterministic;
    let runs = vec![
        at_rate(1_000.0, law, SECOND, SECOND),
        at_rate(200.0, law, SECOND, SECOND),
        steps(law, &[(700.0, SECOND), (200.0, SECOND)], 2 * SECOND, SECOND),
    ];
    let story = simulate(&by_priority(&[16], &streams, runs), &Script::default(), 2);
    let of = |run: u32| [0, 1, 2].map(|stream| scheduled(&story, run, stream));
    assert_eq!(of(0), [[300], [525], [175]].map(Vec::from));
    assert_eq!(of(1), [[300], [0], [0]].map(Vec::from));
    assert_eq!(of(2), [[300, 300], [300, 0], [100, 0]].map(Vec::from));
    let asked = |run: usize| story.totals[run].started.asked_rate;
    assert_eq!((asked(0), asked(1)), (Some(1_000.0), Some(300.0)));
}

#[test]
fn the_most_urgent_streams_are_served_first_when_slots_are_scarce() {
    // One slot at 100 µs: 10 000 a second for 15 000 arrivals.
    let streams = [
        (0, paced(4_000.0), 0.0),
        (0, Pacing::FromRun, 45.0),
        (0, Pacing::FromRun, 55.0),
    ];
    let run = at_rate(15_000.0, ArrivalLaw::Deterministic, 2 * SECOND, SECOND);
    let plan = by_priority(&[1], &streams, vec![run]);
    let story = simulate(&plan, &Script::default(), 1);
    let found = [0, 1, 2].map(|stream| operations_of(&story, stream));
    // One may be under way at the end.
    for (found, expected) in found.iter().zip([8_000, 9_900, 2_100]) {
        assert!(expected - found <= 1, "{found:?}");
    }
    // The most urgent waits for what is under way, never for others that wait.
    let urgent = &story.totals[0].figures[0];
    assert!(
        urgent.response.max_ns <= 200_000,
        "{}",
        urgent.response.max_ns
    );
    assert_eq!(story.finished(0).scheduled, 30_000);

    let mut first_come = plan;
    first_come.plan.templates[0].pools[0].admission = PoolAdmission::FirstCome;
    let story = simulate(&first_come, &Script::default(), 1);
    let share = operations_of(&story, 0) as f64 / story.totals[0].operations() as f64;
    assert!((share - 4.0 / 15.0).abs() < 0.001, "{share}");
}

#[test]
fn streams_without_a_rate_share_what_urgent_ones_leave_in_proportion() {
    // Pools of one slot and of sixty-four: 10 000 a second against 80 000.
    let streams = [
        (0, paced(2_000.0), 0.0),
        (0, Pacing::FromRun, 20.0),
        (1, Pacing::FromRun, 80.0),
    ];
    let runs = vec![flat_out(10 * SECOND, SECOND)];
    let plan = by_priority(&[1, 64], &streams, runs);
    let story = simulate(&plan, &Script::default(), 2);
    assert_eq!(operations_of(&story, 0), 20_000);
    let [slow, fast] = [1, 2].map(|stream| operations_of(&story, stream) as f64);
    assert!((slow - 80_000.0).abs() < 2.0, "{slow}");
    assert!((fast / slow / 4.0 - 1.0).abs() < 0.01, "{fast} for {slow}");
    let started = &story.totals[0].started;
    assert_eq!((started.asked_rate, started.is_open_loop), (None, true));
    assert_eq!(story.finished(0).scheduled, 20_000);
}

#[test]
fn the_number_of_workers_does_not_show_in_what_priorities_do() {
    let streams = [
        (0, paced(3_000.0), 0.0),
        (0, Pacing::FromRun, 60.0),
        (0, Pacing::FromRun, 40.0),
    ];
    let law = ArrivalLaw::Exponential;
    let story = |workers: u32| {
        let runs = vec![
            at_rate(90_000.0, law, SECOND / 2, 100 * MS),
            flat_out(SECOND / 2, 100 * MS),
        ];
        let plan = by_priority(&[9], &streams, runs);
        simulate(&plan, &Script::default(), workers).totals
    };
    let one = story(1);
    for workers in [2, 7] {
        for (mine, theirs) in one.iter().zip(&story(workers)) {
            assert_eq!(mine.figures, theirs.figures, "with {workers} workers");
        }
    }
}

#[test]
fn each_direction_follows_its_own_rate() {
    let rates = PerDirection {
        read: Some(600.0),
        write: Some(50.0),
        trim: Some(9_999.0),
    };
    for (law, stall) in [
        (ArrivalLaw::Deterministic, None),
        (ArrivalLaw::Exponential, Some((100 * MS, 400 * MS))),
    ] {
        // The mix alone would make half of them writes, and has no trims.
        let mut mixed = stream(0, 0, operations(50.0));
        let per_second = rates;
        mixed.pacing = Pacing::Rate {
            per_second,
            law,
            in_bytes: false,
        };
        let runs = vec![run(Load::PerStream, law, 4 * SECOND, SECOND)];
        let plan = bind_unreal(plan(vec![simulated(64 * MIB)], &[8], vec![mixed], runs));
        let script = Script {
            stalls: stall.into_iter().collect(),
            ..Script::default()
        };
        let story = simulate(&plan, &script, 2);
        let totals = &story.totals[0];
        let of = |operation: Operation| {
            let figures = totals.figures.iter();
            let mine = figures.filter(|figure| figure.key.operation == operation);
            mine.map(|figure| figure.operations).sum::<u64>()
        };
        let found = [Operation::Read, Operation::Write, Operation::Trim].map(of);
        if law == ArrivalLaw::Deterministic {
            assert_eq!(found, [2_400, 200, 0]);
        } else {
            let far = |count: u64, mean: f64| (count as f64 - mean).abs() / mean.sqrt();
            assert!(
                far(found[0], 2_400.0) < 4.0 && far(found[1], 200.0) < 4.0,
                "{found:?}"
            );
        }
        assert_eq!(totals.started.asked_rate, Some(650.0));
        assert_eq!(story.finished(0).unsent, 0);
    }
}

#[test]
fn a_direction_without_a_rate_takes_the_slots_that_the_other_leaves() {
    let mut mixed = stream(0, 0, operations(50.0));
    let per_second = PerDirection {
        read: Some(600.0),
        write: None,
        trim: None,
    };
    let law = ArrivalLaw::Deterministic;
    mixed.pacing = Pacing::Rate {
        per_second,
        law,
        in_bytes: false,
    };
    let runs = vec![run(Load::PerStream, law, 4 * SECOND, SECOND)];
    // Beside one without any rate, so that the accounts of the run are not all of schedules.
    let streams = vec![mixed, stream(1, 1, |_| {})];
    let targets = vec![simulated(64 * MIB), simulated(64 * MIB)];
    let plan = bind_unreal(plan(targets, &[8, 1], streams, runs));
    let story = simulate(&plan, &Script::default(), 2);
    let totals = &story.totals[0];
    let of = |operation: Operation| {
        let figures = totals.figures.iter();
        let mine = figures
            .filter(|figure| (figure.key.stream.index(), figure.key.operation) == (0, operation));
        mine.map(|figure| figure.operations).sum::<u64>()
    };
    assert_eq!(of(Operation::Read), 2_400);
    // Eight slots of 100 µs are never idle; an arrival waits for one of them.
    let all = of(Operation::Read) + of(Operation::Write);
    assert!((319_900..=320_000).contains(&all), "{all}");
    assert_eq!(totals.started.streams[0].asked_rate, Some(600.0));
    assert_eq!(totals.streams[0].scheduled, 2_400);
    assert_eq!(story.finished(0).unsent, 0);
    assert_eq!(unserved_at_end(&story), 0);
}

/// A stream of random places, each once, that reads and writes so many bytes per second, by so many drawn sizes.
fn in_bytes(sizes: TransferSizes, written_pct: f64, read: f64, written: f64) -> Stream {
    let mut paced = stream(0, 0, |generator| {
        generator.operations = OperationMix::reads(100.0 - written_pct);
        generator.transfer = PerDirection::all(sizes);
        generator.order = AddressOrder::Random(RandomLaw::OncePerBlock(SequentialEnd::Wrap));
        generator.align = AlignRule::Bytes(4 * KIB);
    });
    follow_bytes(&mut paced, read, written);
    paced
}

fn follow_bytes(stream: &mut Stream, read: f64, written: f64) {
    let laws = stream.source.laws().unwrap();
    let of = |direction, bytes: f64| (bytes > 0.0).then(|| bytes / laws.mean_of(direction));
    let per_second = PerDirection {
        read: of(Direction::Read, read),
        write: of(Direction::Write, written),
        trim: None,
    };
    stream.pacing = Pacing::Rate {
        per_second,
        law: ArrivalLaw::Deterministic,
        in_bytes: true,
    };
}

fn small_and_large() -> TransferSizes {
    let share = |bytes, pct| SizeShare { bytes, pct };
    TransferSizes::Mix(vec![share(4 * KIB, 90.0), share(MIB, 10.0)])
}

fn any_size() -> TransferSizes {
    TransferSizes::Uniform {
        min: 4 * KIB,
        max: MIB,
        step: 4 * KIB,
    }
}

const BYTES_PER_SECOND: f64 = (10 * MIB) as f64;

fn story_in_bytes(stream: Stream, bytes: u64, slots: u32, workers: u32) -> Story {
    let law = ArrivalLaw::Deterministic;
    let runs = vec![run(Load::PerStream, law, 20 * SECOND, SECOND)];
    let plan = bind_unreal(plan(vec![simulated(bytes)], &[slots], vec![stream], runs));
    let story = simulate(&plan, &Script::default(), workers);
    story.check_accounts();
    story
}

#[test]
fn a_rate_in_bytes_is_held_however_places_cut_the_sizes() {
    let once = |sizes, written_pct, read, written| {
        in_bytes(
            sizes,
            written_pct,
            read * BYTES_PER_SECOND,
            written * BYTES_PER_SECOND,
        )
    };
    // Seeks are small, and what follows them is large.
    let mut behind = once(TransferSizes::Fixed(4 * KIB), 0.0, 1.0, 0.0);
    let OpSource::Generator(laws) = &mut behind.source else {
        unreachable!("drawn by laws");
    };
    laws.order = AddressOrder::Mixed {
        random_pct: PerDirection::all(50.0),
        law: RandomLaw::Uniform,
        following: Following {
            every: 1,
            repeats: false,
            sizes: Some(TransferSizes::Fixed(64 * KIB)),
        },
    };
    follow_bytes(&mut behind, BYTES_PER_SECOND, 0.0);
    for (stream, bytes, rates) in [
        (
            once(small_and_large(), 0.0, 1.0, 0.0),
            100 * MIB,
            [1.0, 0.0],
        ),
        (once(any_size(), 100.0, 0.0, 1.0), 40 * MIB, [0.0, 1.0]),
        (once(any_size(), 50.0, 1.0, 0.1), 40 * MIB, [1.0, 0.1]),
        (
            once(TransferSizes::Fixed(64 * KIB), 0.0, 1.0, 0.0),
            40 * MIB,
            [1.0, 0.0],
        ),
        (behind, 40 * MIB, [1.0, 0.0]),
    ] {
        let workers = |workers| story_in_bytes(stream.clone(), bytes, 8, workers);
        for story in [workers(1), workers(2)] {
            let totals = &story.totals[0];
            let of = |operation: Operation| {
                let figures = totals.figures.iter();
                let mine = figures.filter(|figure| figure.key.operation == operation);
                mine.map(|figure| figure.bytes).sum::<u64>() as f64
            };
            for (operation, rate) in [Operation::Read, Operation::Write].into_iter().zip(rates) {
                // The next one goes out once so many bytes are allowed, and the last few are in flight.
                let far = of(operation) - rate * BYTES_PER_SECOND * 20.0;
                assert!(
                    far.abs() <= MIB as f64,
                    "{operation:?}: {far} of {stream:?}"
                );
            }
            let finished = story.finished(0);
            assert_eq!(
                (finished.scheduled, finished.unsent),
                (finished.submitted, 0)
            );
        }
    }
}

#[test]
fn a_schedule_in_bytes_depends_on_nothing_that_happens() {
    // Eight slots keep up also where only small ones come, and a single one does not.
    let reads = || in_bytes(small_and_large(), 0.0, 20.0 * BYTES_PER_SECOND, 0.0);
    let (quick, slow) = (
        story_in_bytes(reads(), 100 * MIB, 8, 1),
        story_in_bytes(reads(), 100 * MIB, 1, 1),
    );
    for number in 0..20 {
        assert_eq!(
            scheduled(&quick, 0, 0)[number],
            scheduled(&slow, 0, 0)[number]
        );
    }
    let (quick, slow) = (quick.finished(0), slow.finished(0));
    assert_eq!(quick.unsent, 0);
    assert!(slow.unsent > 0, "{slow:?}");
    assert_eq!(slow.scheduled, slow.submitted + slow.unsent);
}

fn unserved_at_end(story: &Story) -> u64 {
    let streams = &story.totals[0].streams;
    streams
        .iter()
        .map(|one| one.unserved.histogram.count() + one.backlog)
        .sum()
}
