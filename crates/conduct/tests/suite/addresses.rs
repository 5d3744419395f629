//! Where operations go, seen through the whole engine: simulated storage that fails everything
//! reports every address.
use crate::plans::*;
use crate::story::{Story, simulate};
use engine::sim::Script;
use measure::{IoFailure, RunTotals};
use plan::*;
use proptest::prelude::*;

fn refusing() -> Script {
    Script {
        bad: vec![(0, u64::MAX, 5)],
        ..Script::default()
    }
}

/// Every operation that came back, those of the drain too, and an assertion that none is missing.
fn addresses(story: &Story) -> Vec<&IoFailure> {
    let failures = story.failures();
    assert_eq!(story.remarks("failures-not-listed"), 0);
    assert_eq!(
        failures.len() as u64,
        story.sum(0, |stream| stream.submitted)
    );
    failures
}

/// Offsets of a target in ascending order with their lengths.
fn touched(failures: &[&IoFailure], target: u32) -> Vec<(u64, u32)> {
    let mine = failures.iter().filter(|failure| failure.target.0 == target);
    let mut touched: Vec<(u64, u32)> = mine.map(|f| (f.offset, f.length)).collect();
    touched.sort_unstable();
    touched
}

fn blocks(from: u64, bytes: u64) -> Vec<(u64, u32)> {
    let starts = (from..from + bytes).step_by(BLOCK as usize);
    starts
        .map(|at| (at, BLOCK.min(from + bytes - at) as u32))
        .collect()
}

#[test]
fn a_fill_visits_each_block_once_with_any_workers_and_ends_with_a_short_one() {
    let bytes = 300 * BLOCK + 1_024;
    let whole_file = |generator: &mut Generator| {
        fill(generator);
        generator.region = Region::whole(1_024, FirstBlock::Used);
    };
    for workers in [1, 2, 7] {
        let streams = vec![stream(0, 0, whole_file)];
        let runs = vec![until_done(10 * MS)];
        let plan = bind_unreal(plan(vec![simulated(bytes)], &[21], streams, runs));
        let story = simulate(&plan, &refusing(), workers);
        assert_eq!(touched(&addresses(&story), 0), blocks(0, bytes));
    }
}

#[test]
fn one_stream_fills_targets_of_different_sizes() {
    for sizes in [[10 * BLOCK, 200 * BLOCK], [200 * BLOCK, 10 * BLOCK]] {
        let mut both = stream(0, 0, fill);
        both.targets = vec![TargetId(0), TargetId(1)];
        let targets = sizes.map(simulated).to_vec();
        let plan = bind_unreal(plan(targets, &[8], vec![both], vec![until_done(10 * MS)]));
        let story = simulate(&plan, &refusing(), 2);
        for (target, bytes) in sizes.iter().enumerate() {
            assert_eq!(
                touched(&addresses(&story), target as u32),
                blocks(0, *bytes)
            );
        }
    }
}

#[test]
fn targets_end_to_end_are_written_within_their_extents_only() {
    let sizes = [20 * BLOCK, 7 * BLOCK, 30 * BLOCK, 11 * BLOCK];
    for (from_pct, to_pct) in [(0.0, 100.0), (25.0, 75.0), (80.0, 130.0)] {
        let mut joined = stream(0, 0, |generator| {
            fill(generator);
            generator.region.low = Bound::Percent(from_pct);
            generator.region.high = Bound::Percent(to_pct);
        });
        joined.targets = (0..4).map(TargetId).collect();
        joined.target_order = TargetOrder::EndToEnd;
        let targets = sizes.map(simulated).to_vec();
        let plan = bind_unreal(plan(targets, &[8], vec![joined], vec![until_done(10 * MS)]));
        let story = simulate(&plan, &refusing(), 3);
        let failures = addresses(&story);
        let mut expected = vec![Vec::new(); 4];
        let all: u64 = sizes.iter().sum::<u64>() / BLOCK;
        let at = |pct: f64| (all as f64 * pct / 100.0) as u64;
        for block in at(from_pct)..at(to_pct) {
            let (mut block, mut target) = (block % all, 0);
            while block >= sizes[target] / BLOCK {
                block -= sizes[target] / BLOCK;
                target += 1;
            }
            expected[target].push((block * BLOCK, BLOCK as u32));
        }
        for (target, blocks) in (0..).zip(&mut expected) {
            blocks.sort_unstable();
            assert_eq!(touched(&failures, target), *blocks, "{from_pct} {to_pct}");
            // A wrapped target is written around what it keeps in its middle.
            let ends = blocks.first().zip(blocks.last());
            let extent = ends.map(|(first, last)| (first.0, last.0 + BLOCK));
            assert_eq!(plan.write_extent(TargetId(target)), extent);
        }
    }
}

#[test]
fn slices_fill_their_target_together() {
    let bytes = 101 * BLOCK;
    let streams = (0..3_u32).map(|index| {
        stream(index as usize, 0, |generator| {
            fill(generator);
            generator.region.slice = Some(Slice { index, count: 3 });
        })
    });
    let runs = vec![until_done(10 * MS)];
    let plan = bind_unreal(plan(
        vec![simulated(bytes)],
        &[2, 2, 2],
        streams.collect(),
        runs,
    ));
    let story = simulate(&plan, &refusing(), 2);
    assert_eq!(touched(&addresses(&story), 0), blocks(0, bytes));
}

#[test]
fn a_random_map_visits_each_block_once_with_any_workers() {
    let bytes = 300 * BLOCK;
    for workers in [1, 2, 7] {
        let streams = vec![stream(0, 0, |generator| {
            generator.order = AddressOrder::Random(RandomLaw::OncePerBlock(SequentialEnd::Stop));
        })];
        let runs = vec![until_done(10 * MS)];
        let plan = bind_unreal(plan(vec![simulated(bytes)], &[21], streams, runs));
        let story = simulate(&plan, &refusing(), workers);
        assert_eq!(touched(&addresses(&story), 0), blocks(0, bytes));
    }
}

#[test]
fn a_byte_limit_is_exact_over_short_blocks_at_the_end_of_a_region() {
    let limit = 1_000 * BLOCK + 512;
    let mut limited = stream(0, 0, |generator| {
        generator.order = sequential(SequentialEnd::Wrap);
        generator.region = Region::whole(1_024, FirstBlock::Used);
    });
    limited.stop.bytes = Some(limit);
    let targets = vec![simulated(10 * BLOCK + 1_024)];
    let plan = bind_unreal(plan(
        targets,
        &[8],
        vec![limited],
        vec![until_done(10 * MS)],
    ));
    let story = simulate(&plan, &Script::default(), 2);
    assert_eq!(story.totals[0].bytes(), limit);
}

#[test]
fn a_mix_and_its_trims_converge_to_their_shares() {
    let streams = vec![stream(0, 0, |generator| {
        generator.operations = OperationMix {
            read_pct: 50.0,
            write_pct: 30.0,
            trim_pct: 20.0,
        };
    })];
    let runs = vec![flat_out(SECOND, SECOND)];
    let plan = bind_unreal(plan(vec![simulated(MIB)], &[8], streams, runs));
    let totals = &simulate(&plan, &Script::default(), 2).totals[0];
    let count = |operation| {
        let figures = totals.figures.iter();
        let mine = figures.filter(|figure| figure.key.operation == operation);
        mine.map(|figure| figure.operations).sum::<u64>() as f64
    };
    let all = totals.operations() as f64;
    for (operation, share) in [
        (Operation::Read, 0.5),
        (Operation::Write, 0.3),
        (Operation::Trim, 0.2),
    ] {
        let sigma = (all * share * (1.0 - share)).sqrt();
        assert!((count(operation) - all * share).abs() < 4.0 * sigma);
    }
}

fn any_order() -> impl Strategy<Value = AddressOrder> {
    let mixed = |random_pct| AddressOrder::Mixed {
        random_pct: PerDirection::all(random_pct),
        law: RandomLaw::Uniform,
        following: Following::default(),
    };
    prop_oneof![
        Just(AddressOrder::Random(RandomLaw::Uniform)),
        Just(AddressOrder::Random(RandomLaw::Poisson { midpoint: 3.0 })),
        Just(sequential(SequentialEnd::Wrap)),
        Just(sequential(SequentialEnd::Stop)),
        Just(AddressOrder::Sequential {
            start: SequentialStart::RandomBlock,
            end: SequentialEnd::Wrap,
        }),
        (0.0..100.0_f64).prop_map(mixed),
        (0_u64..100_000, 0_u64..100_000).prop_map(|(min, more)| AddressOrder::Stride {
            min,
            max: min + more,
            random_pct: 100.0,
        }),
    ]
}

fn any_sizes() -> impl Strategy<Value = TransferSizes> {
    let share = |bytes, pct| SizeShare { bytes, pct };
    prop_oneof![
        Just(TransferSizes::Fixed(8 * KIB)),
        Just(TransferSizes::Uniform {
            min: 512,
            max: 16 * KIB,
            step: 512,
        }),
        Just(TransferSizes::Mix(vec![
            share(512, 20.0),
            share(12 * KIB, 80.0)
        ])),
    ]
}

fn paced_story(per_second: f64, law: ArrivalLaw, slots: u32, script: &Script) -> Story {
    let spec = at_rate(per_second, law, SECOND, 37 * MS);
    let streams = vec![stream(0, 0, |_| {})];
    let plan = bind_unreal(plan(vec![simulated(MIB)], &[slots], streams, vec![spec]));
    simulate(&plan, script, 3)
}

fn unserved(totals: &RunTotals) -> u64 {
    let streams = totals.streams.iter();
    streams.map(|s| s.unserved.histogram.count()).sum()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_operation_leaves_its_region(
        order in any_order(),
        sizes in any_sizes(),
        low_pct in 0.0..40.0_f64,
        width_pct in 20.0..60.0_f64,
        offset_blocks in 0_u64..4,
        spare in prop_oneof![Just(AlignRule::Transfer), Just(AlignRule::Bytes(512))],
        workers in 1_u32..8,
    ) {
        let region = Region {
            low: Bound::Percent(low_pct),
            high: Bound::Percent(low_pct + width_pct),
            granule_bytes: BLOCK,
            offset_bytes: offset_blocks * BLOCK,
            first_block: FirstBlock::Used,
            trim: None,
            slice: None,
        };
        let streams = vec![stream(0, 0, |generator| {
            generator.order = order;
            generator.transfer = PerDirection::all(sizes);
            generator.align = spare;
            generator.region = region;
            generator.operations = OperationMix::reads(40.0);
        })];
        let bytes = 2 * MIB;
        let runs = vec![flat_out(20 * MS, 10 * MS)];
        let plan = bind_unreal(plan(vec![simulated(bytes)], &[9], streams, runs));
        let bound = plan.run(RunId(0)).streams[0].regions[0];
        let story = simulate(&plan, &refusing(), workers);
        for failure in addresses(&story) {
            let end = failure.offset + u64::from(failure.length);
            prop_assert!(failure.length > 0);
            prop_assert!(failure.offset >= bound.low, "{failure:?} in {bound:?}");
            prop_assert!(end <= bound.low + bound.width && end <= bytes, "{failure:?} in {bound:?}");
        }
    }

    #[test]
    fn even_spacing_holds_over_any_window_of_intervals(per_second in 50.0..20_000.0_f64, from in 0_usize..20, length in 1_usize..8) {
        let story = paced_story(per_second, ArrivalLaw::Deterministic, 64, &Script::default());
        let intervals = story.intervals(0);
        let window = &intervals[from..from + length];
        let span_s = (window[length - 1].end_ns - window[0].start_ns) as f64 / 1e9;
        let submitted: u64 = window.iter().map(|interval| interval.engine.streams[0].submitted).sum();
        prop_assert!((submitted as f64 - per_second * span_s).abs() <= 1.0);
        prop_assert_eq!(story.totals[0].lateness().max_ns, 0);
    }

    #[test]
    fn every_arrival_is_in_the_response_figures_once(
        per_second in 50.0..150_000.0_f64,
        law_number in 0_usize..4,
        slots in 1_u32..40,
        stall_ms in 0_u64..1_200,
        jitter_ns in 0_u64..400_000,
    ) {
        let laws = [ArrivalLaw::Exponential, ArrivalLaw::Uniform, ArrivalLaw::Deterministic, ArrivalLaw::Spike];
        let script = Script {
            stalls: vec![(300 * MS, (300 + stall_ms) * MS)],
            jitter_ns,
            ..Script::default()
        };
        let story = paced_story(per_second, laws[law_number], slots, &script);
        let totals = &story.totals[0];
        prop_assert_eq!(totals.response(None).histogram.count(), story.finished(0).scheduled);
        prop_assert_eq!(totals.operations() + unserved(totals), story.finished(0).scheduled);
        let busy_ns: u64 = totals.pools.iter().map(|pool| pool.busy_ns).sum();
        prop_assert!(busy_ns <= u64::from(slots) * totals.length_ns);
    }
}
