use super::*;
use plan::{FirstBlock, OperationMix, Region, SizeShare, TargetId};
use proptest::prelude::*;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

fn generator(order: AddressOrder) -> Generator {
    Generator {
        operations: OperationMix::reads(70.0),
        transfer: PerDirection::all(TransferSizes::Fixed(4 * KIB)),
        order,
        region: Region::whole(4 * KIB, FirstBlock::Used),
        align: AlignRule::Transfer,
        hits: None,
    }
}

fn region(low: u64, width: u64) -> BoundRegion {
    BoundRegion {
        target: TargetId(0),
        low,
        width,
        wrap_at: None,
        start: 0,
    }
}

fn drawer(generator: &Generator, region: BoundRegion) -> Drawer {
    assert_eq!(unsupported(generator, TargetOrder::RoundRobin), None);
    Drawer::new(generator, &[region], LocalStop::default(), (1, 0, 0))
}

fn sequential(end: SequentialEnd) -> AddressOrder {
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
    let drawer = Drawer::new(&random, &[region(0, MIB)], stop, (1, 0, 0));
    let sum: u64 = (0..10)
        .map_while(|i| drawer.draw(i))
        .map(|drawn| u64::from(drawn.length))
        .sum();
    assert_eq!(sum, 10_000);
}

fn any_order() -> impl Strategy<Value = AddressOrder> {
    prop_oneof![
        Just(AddressOrder::Random(RandomLaw::Uniform)),
        Just(AddressOrder::Random(RandomLaw::Poisson { midpoint: 3.0 })),
        Just(sequential(SequentialEnd::Wrap)),
        Just(sequential(SequentialEnd::Stop)),
        (0.0..100.0_f64).prop_map(|random_pct| AddressOrder::Mixed {
            random_pct,
            law: RandomLaw::Uniform
        }),
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
    fn a_wrapped_region_stays_inside_its_target(low_blocks in 0_u64..64, extra in 1_u64..64) {
        let size = 64 * 4 * KIB;
        let low = low_blocks * 4 * KIB;
        let width = (size - low + extra * 4 * KIB).min(size);
        let wrapped = BoundRegion { target: TargetId(0), low, width, wrap_at: Some(size), start: 0 };
        let drawer = drawer(&generator(AddressOrder::Random(RandomLaw::Uniform)), wrapped);
        for index in 0..1_000 {
            let drawn = drawer.draw(index).unwrap();
            prop_assert!(drawn.offset + u64::from(drawn.length) <= size);
        }
    }
}
