use super::*;
use plan::{
    AlignRule, FirstBlock, Following, HitArea, OperationMix, PerDirection, RandomLaw, Region,
    SequentialEnd, SequentialStart, SizeShare, TransferSizes,
};
use proptest::prelude::*;

pub(super) const KIB: u64 = 1 << 10;
pub(super) const MIB: u64 = 1 << 20;

pub(super) fn generator(order: AddressOrder) -> Generator {
    Generator {
        operations: OperationMix::reads(70.0),
        transfer: PerDirection::all(TransferSizes::Fixed(4 * KIB)),
        order,
        region: Region::whole(4 * KIB, FirstBlock::Used),
        align: AlignRule::Transfer,
        sequences: plan::Sequences::Shared,
        hits: None,
        redraws_sizes: false,
    }
}

pub(super) fn region(low: u64, width: u64) -> BoundRegion {
    BoundRegion {
        target: TargetId(0),
        low,
        width,
        wrap_at: None,
        wrap_to: 0,
        start: 0,
    }
}

pub(super) fn drawer(generator: &Generator, region: BoundRegion) -> Source {
    on_targets(generator, TargetOrder::RoundRobin, &[region])
}

pub(super) fn on_targets(
    generator: &Generator,
    order: TargetOrder,
    regions: &[BoundRegion],
) -> Source {
    stopping(generator, order, regions, LocalStop::default())
}

pub(super) fn stopping(
    generator: &Generator,
    order: TargetOrder,
    regions: &[BoundRegion],
    stop: LocalStop,
) -> Source {
    assert_eq!(unsupported(generator), None);
    let mut targets: Vec<TargetId> = regions.iter().map(|region| region.target).collect();
    targets.sort_unstable();
    targets.dedup();
    let ground = Ground {
        targets: &targets,
        order,
        regions,
    };
    Source::of_laws(generator, &ground, stop, (1, 0, 0))
}

pub(super) fn sequential(end: SequentialEnd) -> AddressOrder {
    AddressOrder::Sequential {
        start: SequentialStart::First,
        end,
    }
}

#[test]
fn a_sequential_stream_with_an_end_covers_its_region_once() {
    let drawer = drawer(
        &generator(sequential(SequentialEnd::Stop)),
        region(MIB, 10 * KIB),
    );
    let drawn: Vec<_> = (0..4)
        .map_while(|index| drawer.draw(index))
        .map(|d| (d.offset - MIB, d.length))
        .collect();
    assert_eq!(drawn, [(0, 4096), (4096, 4096), (8192, 2048)]);
    assert_eq!(drawer.draw(9), None);
}

#[test]
fn a_sequential_stream_wraps_to_its_start() {
    let drawer = drawer(
        &generator(sequential(SequentialEnd::Wrap)),
        region(0, 8 * KIB),
    );
    let offsets: Vec<_> = (0..5)
        .map(|index| drawer.draw(index).unwrap().offset)
        .collect();
    assert_eq!(offsets, [0, 4096, 0, 4096, 0]);
}

#[test]
fn the_mix_converges_to_its_shares() {
    let drawer = drawer(
        &generator(AddressOrder::Random(RandomLaw::Uniform)),
        region(0, MIB),
    );
    let reads = (0..100_000)
        .filter(|i| drawer.draw(*i).unwrap().operation == Operation::Read)
        .count();
    assert!(
        (reads as f64 - 70_000.0).abs() < 4.0 * (100_000.0_f64 * 0.21).sqrt(),
        "{reads}"
    );
}

#[test]
fn a_size_mix_converges_to_its_shares() {
    let mut mixed = generator(AddressOrder::Random(RandomLaw::Uniform));
    let share = |bytes, pct| SizeShare { bytes, pct };
    mixed.transfer = PerDirection::all(TransferSizes::Mix(vec![
        share(4096, 30.0),
        share(8192, 50.0),
        share(65536, 20.0),
    ]));
    let drawer = drawer(&mixed, region(0, 64 * MIB));
    let mut counts = std::collections::BTreeMap::new();
    for index in 0..100_000 {
        *counts
            .entry(drawer.draw(index).unwrap().length)
            .or_insert(0_u32) += 1;
    }
    let expected = [(4096, 30_000.0), (8192, 50_000.0), (65536, 20_000.0)];
    let chi: f64 = expected
        .iter()
        .map(|(size, n)| (f64::from(counts[size]) - n).powi(2) / n)
        .sum();
    assert!(chi < 13.8, "chi² {chi} over {counts:?}");
}

#[test]
fn hits_stay_in_their_area_and_misses_out_of_it() {
    let mut hitting = generator(AddressOrder::Random(RandomLaw::Uniform));
    hitting.hits = Some(HitArea {
        bytes: MIB,
        read_hit_pct: 50.0,
        write_hit_pct: 0.0,
    });
    let drawer = drawer(&hitting, region(0, 16 * MIB));
    let (mut hits, mut reads) = (0, 0);
    for index in 0..50_000 {
        let drawn = drawer.draw(index).unwrap();
        if drawn.operation == Operation::Write {
            assert!(drawn.offset >= MIB);
        } else {
            reads += 1;
            hits += u32::from(drawn.offset < MIB);
        }
    }
    assert!(
        (f64::from(hits) / f64::from(reads) - 0.5).abs() < 0.02,
        "{hits} of {reads}"
    );
}

#[test]
fn a_poisson_law_prefers_the_start() {
    let law = RandomLaw::Poisson { midpoint: 3.0 };
    let drawer = drawer(&generator(AddressOrder::Random(law)), region(0, 64 * MIB));
    let first_third = (0..30_000)
        .filter(|i| drawer.draw(*i).unwrap().offset < 64 * MIB / 3)
        .count();
    // 1 − e⁻¹ plus what folds back: 0.632 / (1 − e⁻³) = 0.665.
    assert!(
        (first_third as f64 / 30_000.0 - 0.665).abs() < 0.02,
        "{first_third}"
    );
}

#[test]
fn a_byte_limit_is_exact() {
    let stop = LocalStop {
        bytes: Some(10_000),
        ..LocalStop::default()
    };
    let random = generator(AddressOrder::Random(RandomLaw::Uniform));
    let drawer = stopping(&random, TargetOrder::RoundRobin, &[region(0, MIB)], stop);
    let sum: u64 = (0..10)
        .map_while(|i| drawer.draw(i))
        .map(|drawn| u64::from(drawn.length))
        .sum();
    assert_eq!(sum, 10_000);
}

fn once(end: SequentialEnd) -> AddressOrder {
    AddressOrder::Random(RandomLaw::OncePerBlock(end))
}

fn numbered(regions: &[(u64, u64)]) -> Vec<BoundRegion> {
    let each = regions.iter().zip(0..);
    each.map(|((low, width), target)| BoundRegion {
        target: TargetId(target),
        ..region(*low, *width)
    })
    .collect()
}

/// Places and offsets in blocks of 4 KiB.
fn blocks(drawer: &Source, indices: std::ops::Range<u64>) -> Vec<(u32, u64)> {
    let drawn = indices.map_while(|index| drawer.draw(index));
    drawn.map(|d| (d.place, d.offset / (4 * KIB))).collect()
}

#[test]
fn a_random_map_visits_each_block_once_per_pass_in_another_order() {
    let drawer = drawer(&generator(once(SequentialEnd::Wrap)), region(0, MIB));
    let (mut first, mut second) = (blocks(&drawer, 0..256), blocks(&drawer, 256..512));
    assert_ne!(first, second);
    // Any order of the numbers gives the same blocks.
    let mut backwards = blocks(&drawer, 100..101);
    assert_eq!(backwards.pop(), Some(first[100]));
    for pass in [&mut first, &mut second] {
        pass.sort_unstable();
        assert_eq!(*pass, (0..256).map(|at| (0, at)).collect::<Vec<_>>());
    }
}

#[test]
fn a_random_map_may_end_with_its_pass() {
    for order in [
        TargetOrder::RoundRobin,
        TargetOrder::OneAfterTheOther,
        TargetOrder::Random,
        TargetOrder::EndToEnd,
    ] {
        let regions = numbered(&[(0, 10 * 4 * KIB), (4 * KIB, 30 * 4 * KIB), (0, 4 * KIB)]);
        let drawer = on_targets(&generator(once(SequentialEnd::Stop)), order, &regions);
        assert!(drawer.ends());
        let mut drawn = blocks(&drawer, 0..1_000);
        drawn.sort_unstable();
        let mut whole: Vec<(u32, u64)> = (0..10).map(|at| (0, at)).collect();
        whole.extend((1..31).map(|at| (1, at)));
        whole.push((2, 0));
        assert_eq!(drawn, whole, "{order:?}");
    }
}

/// Blocks of 4 KiB of each target, as often as transfers of any size touch them.
fn touched(drawer: &Source, bytes: u64) -> Vec<((u32, u64), u32)> {
    let mut times = std::collections::BTreeMap::new();
    let mut left = bytes;
    for index in 0.. {
        let Some(drawn) = drawer.draw(index).filter(|_| left > 0) else {
            break;
        };
        assert_eq!(drawn.offset % (4 * KIB), 0);
        let length = u64::from(drawn.length);
        for block in 0..length.div_ceil(4 * KIB) {
            let block = (drawn.place, drawn.offset / (4 * KIB) + block);
            *times.entry(block).or_insert(0) += 1;
        }
        left = left.saturating_sub(length);
    }
    times.into_iter().collect()
}

#[test]
fn transfers_of_several_sizes_visit_each_block_once_too() {
    let sizes = |read, write| PerDirection {
        read,
        write,
        trim: TransferSizes::Fixed(4 * KIB),
    };
    let range = TransferSizes::Uniform {
        min: 4 * KIB,
        max: 64 * KIB,
        step: 4 * KIB,
    };
    let two = (
        TransferSizes::Fixed(4 * KIB),
        TransferSizes::Fixed(32 * KIB),
    );
    for transfer in [sizes(range.clone(), range), sizes(two.0, two.1)] {
        for order in [
            TargetOrder::RoundRobin,
            TargetOrder::OneAfterTheOther,
            TargetOrder::Random,
            TargetOrder::EndToEnd,
        ] {
            let regions = numbered(&[(0, MIB), (4 * KIB, 300 * KIB), (0, 4 * KIB)]);
            let blocks = (MIB + 304 * KIB) / (4 * KIB);
            let mut law = generator(once(SequentialEnd::Stop));
            law.operations.read_pct = 50.0;
            law.operations.write_pct = 50.0;
            law.transfer = transfer.clone();
            let whole = touched(&on_targets(&law, order, &regions), u64::MAX);
            assert!(whole.iter().all(|(_, times)| *times == 1), "{order:?}");
            assert_eq!(whole.len() as u64, blocks, "{order:?}");
            let in_passes = [TargetOrder::OneAfterTheOther, TargetOrder::EndToEnd];
            if in_passes.contains(&order) {
                law.order = once(SequentialEnd::Wrap);
                let twice = touched(&on_targets(&law, order, &regions), blocks * 8 * KIB);
                assert!(twice.iter().all(|(_, times)| *times == 2), "{order:?}");
            }
        }
    }
}

#[test]
fn hits_do_not_count_as_visits() {
    let mut hitting = generator(once(SequentialEnd::Stop));
    hitting.hits = Some(HitArea {
        bytes: 64 * KIB,
        read_hit_pct: 50.0,
        write_hit_pct: 50.0,
    });
    let drawer = drawer(&hitting, region(0, 128 * KIB));
    let mut misses = blocks(&drawer, 0..200);
    misses.retain(|(_, at)| *at >= 16);
    misses.sort_unstable();
    assert_eq!(misses, (16..32).map(|at| (0, at)).collect::<Vec<_>>());
}

#[test]
fn one_target_after_the_other_in_passes() {
    let regions = numbered(&[(0, 8 * KIB), (0, 12 * KIB)]);
    let wrapping = generator(sequential(SequentialEnd::Wrap));
    let drawer = on_targets(&wrapping, TargetOrder::OneAfterTheOther, &regions);
    let pass = [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2)];
    assert_eq!(blocks(&drawer, 0..15), [pass, pass, pass].concat());
    let ending = generator(sequential(SequentialEnd::Stop));
    let drawer = on_targets(&ending, TargetOrder::OneAfterTheOther, &regions);
    assert_eq!(blocks(&drawer, 0..15), pass);
}

#[test]
fn one_target_after_the_other_at_random() {
    let regions = numbered(&[(0, 8 * KIB), (0, 12 * KIB)]);
    let random = generator(AddressOrder::Random(RandomLaw::Uniform));
    let drawer = on_targets(&random, TargetOrder::OneAfterTheOther, &regions);
    let places: Vec<u32> = blocks(&drawer, 0..10).iter().map(|at| at.0).collect();
    assert_eq!(places, [0, 0, 1, 1, 1, 0, 0, 1, 1, 1]);
}

#[test]
fn a_sequence_over_targets_end_to_end_spans_none() {
    let regions = numbered(&[(4 * KIB, 8 * KIB), (0, 4 * KIB), (4 * KIB, 8 * KIB)]);
    let mut ending = generator(sequential(SequentialEnd::Stop));
    ending.transfer = PerDirection::all(TransferSizes::Fixed(3 * KIB));
    let drawer = on_targets(&ending, TargetOrder::EndToEnd, &regions);
    let drawn: Vec<_> = (0..20)
        .map_while(|index| drawer.draw(index))
        .map(|d| (d.place, d.offset / KIB, u64::from(d.length) / KIB))
        .collect();
    let whole = [
        (0, 4, 3),
        (0, 7, 3),
        (0, 10, 2),
        (1, 0, 3),
        (1, 3, 1),
        (2, 4, 3),
        (2, 7, 3),
        (2, 10, 2),
    ];
    assert_eq!(drawn, whole);
}

#[test]
fn a_hot_block_is_the_same_for_every_size() {
    let law = RandomLaw::Pareto {
        power: 0.001,
        center_pct: Some(50.0),
    };
    let mut mixed = generator(AddressOrder::Random(law));
    let share = |bytes, pct| SizeShare { bytes, pct };
    mixed.transfer = PerDirection::all(TransferSizes::Mix(vec![
        share(4 * KIB, 50.0),
        share(64 * KIB, 50.0),
    ]));
    let drawer = drawer(&mixed, region(0, MIB));
    for index in 0..100 {
        let drawn = drawer.draw(index).unwrap();
        assert!(
            (512 * KIB..516 * KIB + 4 * KIB).contains(&drawn.offset),
            "{drawn:?}"
        );
    }
}

fn any_law() -> impl Strategy<Value = RandomLaw> {
    let center = prop_oneof![Just(None), (0.0..100.0_f64).prop_map(Some)];
    prop_oneof![
        Just(RandomLaw::Uniform),
        (0.1..50.0_f64).prop_map(|midpoint| RandomLaw::Poisson { midpoint }),
        Just(RandomLaw::HotBand),
        (0.1..5.0_f64, center.clone())
            .prop_map(|(theta, center_pct)| RandomLaw::Zipf { theta, center_pct }),
        (0.001..0.999_f64, center.clone())
            .prop_map(|(power, center_pct)| RandomLaw::Pareto { power, center_pct }),
        (0.0..100.0_f64, center).prop_map(|(deviation_pct, center_pct)| RandomLaw::Normal {
            deviation_pct,
            center_pct
        }),
        proptest::collection::vec((0.1..50.0_f64, 0.0..60.0_f64), 1..6).prop_map(RandomLaw::Zoned),
        proptest::collection::vec((0.1..50.0_f64, 0_u64..MIB), 1..6)
            .prop_map(RandomLaw::ZonedBytes),
        Just(RandomLaw::OncePerBlock(SequentialEnd::Wrap)),
    ]
}

fn any_order() -> impl Strategy<Value = AddressOrder> {
    prop_oneof![
        any_law().prop_map(AddressOrder::Random),
        (any_law(), 0.0..100.0_f64).prop_map(|(law, pct)| AddressOrder::Mixed {
            random_pct: PerDirection::all(pct),
            law,
            following: Following::default(),
        }),
        Just(sequential(SequentialEnd::Wrap)),
        Just(sequential(SequentialEnd::Stop)),
        (0_u64..100_000, 0_u64..100_000).prop_map(|(min, more)| AddressOrder::Stride {
            min,
            max: min + more,
            random_pct: 100.0
        }),
    ]
}

proptest! {
    #[test]
    fn no_address_leaves_its_region(
        order in any_order(),
        low_blocks in 0_u64..100,
        blocks in 32_u64..4_000,
        align in prop_oneof![Just(AlignRule::Transfer), Just(AlignRule::Bytes(512))],
        hit_kib in prop_oneof![Just(None), (64_u64..512).prop_map(Some)],
    ) {
        let mut law = generator(order);
        law.align = align;
        law.transfer = PerDirection::all(TransferSizes::Uniform { min: 512, max: 16 * KIB, step: 512 });
        law.hits = hit_kib.map(|kib| HitArea { bytes: kib * KIB, read_hit_pct: 30.0, write_hit_pct: 60.0 });
        let region = region(low_blocks * 4 * KIB, blocks * 4 * KIB);
        let drawer = drawer(&law, region);
        for index in 0..2_000 {
            let Some(drawn) = drawer.draw(index) else { break };
            prop_assert!(drawn.offset >= region.low);
            prop_assert!(drawn.offset + u64::from(drawn.length) <= region.low + region.width, "{drawn:?}");
            prop_assert!(drawn.length > 0);
        }
    }

    #[test]
    fn no_transfer_spans_two_targets(
        order in any_order(),
        widths in proptest::collection::vec(4_u64..200, 2..6),
        way in prop_oneof![
            Just(TargetOrder::EndToEnd),
            Just(TargetOrder::OneAfterTheOther),
            Just(TargetOrder::Random),
        ],
    ) {
        let mut law = generator(order);
        law.transfer = PerDirection::all(TransferSizes::Uniform { min: 512, max: 16 * KIB, step: 512 });
        let widths: Vec<_> = widths.iter().map(|blocks| (4 * KIB, blocks * 4 * KIB)).collect();
        let regions = numbered(&widths);
        let drawer = on_targets(&law, way, &regions);
        for index in 0..2_000 {
            let Some(drawn) = drawer.draw(index) else { break };
            let region = &regions[drawn.place as usize];
            prop_assert!(drawn.offset >= region.low);
            prop_assert!(drawn.offset + u64::from(drawn.length) <= region.low + region.width, "{drawn:?}");
            prop_assert!(drawn.length > 0);
        }
    }

    #[test]
    fn a_wrapped_region_stays_inside_its_target(low_blocks in 0_u64..64, extra in 1_u64..64) {
        let size = 64 * 4 * KIB;
        let low = low_blocks * 4 * KIB;
        let width = (size - low + extra * 4 * KIB).min(size);
        let wrapped = BoundRegion { target: TargetId(0), low, width, wrap_at: Some(size), wrap_to: 4 * KIB, start: 0 };
        let drawer = drawer(&generator(AddressOrder::Random(RandomLaw::Uniform)), wrapped);
        for index in 0..1_000 {
            let drawn = drawer.draw(index).unwrap();
            prop_assert!(drawn.offset + u64::from(drawn.length) <= size);
        }
    }
}
