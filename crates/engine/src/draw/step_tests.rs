//! Addresses by the number of the operation, as sequences.
use super::tests::*;
use super::*;
use plan::{OperationMix, StepPattern, Steps, ZoneOrder};

const BLOCK: u64 = 4 * KIB;

fn stepping(pattern: StepPattern) -> Generator {
    generator(AddressOrder::Stepped(Steps {
        pattern,
        trims_first: false,
    }))
}

/// Offsets of the first operations in KiB.
fn offsets(generator: &Generator, width: u64, count: u64) -> Vec<u64> {
    let drawer = drawer(generator, region(MIB, width));
    let drawn = (0..count).map(|index| drawer.draw(index).expect("it has no end"));
    drawn.map(|drawn| (drawn.offset - MIB) / KIB).collect()
}

fn gap(bytes: i64) -> Generator {
    stepping(StepPattern::Gap { bytes })
}

fn zones(used: u64, zone: u64, skip: u64, order: ZoneOrder) -> Generator {
    stepping(StepPattern::Zones {
        used_bytes: used * KIB,
        zone_bytes: zone * KIB,
        skip_bytes: skip * KIB,
        order,
    })
}

#[test]
fn a_gap_lies_behind_each_transfer_and_the_start_behind_the_end() {
    let forward = offsets(&gap(8 << 10), 64 * KIB, 8);
    assert_eq!(forward, [0, 12, 24, 36, 48, 60, 0, 12]);
    let uneven = offsets(&gap(6 << 10), 62 * KIB, 8);
    assert_eq!(uneven, [0, 10, 20, 30, 40, 50, 0, 10]);
}

#[test]
fn a_gap_below_zero_leads_backwards() {
    let back = offsets(&gap(-(8 << 10)), 24 * KIB, 9);
    assert_eq!(back, [0, 16, 12, 8, 4, 0, 16, 12, 8]);
    let wide = offsets(&gap(-(12 << 10)), 64 * KIB, 11);
    assert_eq!(wide, [0, 52, 44, 36, 28, 20, 12, 4, 52, 44, 36]);
}

#[test]
fn zones_are_used_in_part_and_skipped_between() {
    let sequence = |used, zone, skip, count| {
        offsets(
            &zones(used, zone, skip, ZoneOrder::Sequential),
            64 * KIB,
            count,
        )
    };
    assert_eq!(sequence(8, 16, 8, 8), [0, 4, 24, 28, 48, 52, 0, 4]);
    // More than a zone holds goes over it again.
    assert_eq!(sequence(24, 16, 0, 8), [0, 4, 8, 12, 0, 4, 16, 20]);
    // A zone that reaches beyond the end is left out.
    assert_eq!(sequence(8, 8, 12, 8), [0, 4, 20, 24, 40, 44, 0, 4]);
}

#[test]
fn random_places_stay_in_their_zone_and_are_visited_once_where_asked() {
    for order in [ZoneOrder::Random, ZoneOrder::EachOnce] {
        let drawn = offsets(&zones(16, 16, 8, order), 64 * KIB, 120);
        for (number, offset) in (0..).zip(&drawn) {
            let start = number / 4 % 3 * 24;
            assert!((start..start + 16).contains(offset), "{number}: {offset}");
        }
        let is_once = drawn.chunks(4).all(|zone| {
            let mut zone = zone.to_vec();
            zone.sort_unstable();
            zone.windows(2).all(|pair| pair[0] < pair[1])
        });
        assert_eq!(is_once, order == ZoneOrder::EachOnce);
    }
}

#[test]
fn bursts_go_on_behind_their_place_or_stay_there() {
    let bursts = |repeats, law| {
        stepping(StepPattern::Bursts {
            operations: 4,
            repeats,
            law,
        })
    };
    let once = RandomLaw::OncePerBlock(SequentialEnd::Wrap);
    let follow = offsets(&bursts(false, once.clone()), 64 * BLOCK, 200);
    let stay = offsets(&bursts(true, once), 64 * BLOCK, 200);
    for (follow, stay) in follow.chunks(4).zip(stay.chunks(4)) {
        let steps: Vec<u64> = (0..4).map(|step| (follow[0] + 4 * step) % 256).collect();
        assert_eq!((follow, stay), (&steps[..], &[follow[0]; 4][..]));
    }
    // The places of bursts are those of the law: 50 different ones.
    let mut places: Vec<u64> = stay.chunks(4).map(|burst| burst[0]).collect();
    places.sort_unstable();
    places.dedup();
    assert_eq!(places.len(), 50);
}

#[test]
fn pairs_trim_a_place_and_then_write_it() {
    let mut pairs = generator(AddressOrder::Stepped(Steps {
        pattern: StepPattern::Gap { bytes: 0 },
        trims_first: true,
    }));
    pairs.operations = OperationMix {
        read_pct: 0.0,
        write_pct: 50.0,
        trim_pct: 50.0,
    };
    let drawer = drawer(&pairs, region(0, 12 * KIB));
    for index in 0..20 {
        let drawn = drawer.draw(index).unwrap();
        let operation = [Operation::Trim, Operation::Write][index as usize % 2];
        let expected = (operation, index / 2 % 3 * BLOCK);
        assert_eq!((drawn.operation, drawn.offset), expected);
    }
}

#[test]
fn batches_stay_with_a_target() {
    let generator = generator(AddressOrder::Random(RandomLaw::Uniform));
    let regions = [0, 1, 2].map(|target| BoundRegion {
        target: TargetId(target),
        ..region(0, MIB)
    });
    let places = |is_random| {
        let order = TargetOrder::Batches {
            operations: 3,
            is_random,
        };
        let drawer = on_targets(&generator, order, &regions);
        let drawn = (0..90).map(|index| drawer.draw(index).unwrap().place);
        drawn.collect::<Vec<u32>>()
    };
    let in_turn: Vec<u32> = (0..90).map(|index| index / 3 % 3).collect();
    assert_eq!(places(false), in_turn);
    let at_random = places(true);
    assert!(at_random.chunks(3).all(|batch| batch == [batch[0]; 3]));
    assert!((0..3).all(|target| at_random.contains(&target)));
    assert_ne!(at_random, in_turn);
}

#[test]
fn a_pair_has_one_place_and_one_size_whatever_that_is() {
    for law in [
        RandomLaw::Uniform,
        RandomLaw::OncePerBlock(SequentialEnd::Wrap),
    ] {
        let mut pairs = generator(AddressOrder::Stepped(Steps {
            pattern: StepPattern::Bursts {
                operations: 1,
                repeats: false,
                law,
            },
            trims_first: true,
        }));
        pairs.transfer = PerDirection::all(TransferSizes::Uniform {
            min: 512,
            max: 4096,
            step: 512,
        });
        pairs.align = AlignRule::Bytes(512);
        pairs.operations = OperationMix {
            read_pct: 0.0,
            write_pct: 50.0,
            trim_pct: 50.0,
        };
        let drawer = drawer(&pairs, region(MIB, 64 * KIB));
        let mut sizes = Vec::new();
        for pair in 0..128 {
            let [trim, write] = [2 * pair, 2 * pair + 1].map(|at| drawer.draw(at).unwrap());
            assert_eq!(trim.operation, Operation::Trim);
            assert_eq!(write.operation, Operation::Write);
            assert_eq!((trim.offset, trim.length), (write.offset, write.length));
            assert!(trim.offset + u64::from(trim.length) <= MIB + 64 * KIB);
            sizes.push(trim.length);
        }
        sizes.sort_unstable();
        sizes.dedup();
        assert!(sizes.len() >= 6, "{sizes:?}");
    }
}
