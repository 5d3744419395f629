//! Addresses by the number of the operation, as sequences.
use super::tests::*;
use super::*;
use plan::{
    AlignRule, OperationMix, PerDirection, RandomLaw, SequentialEnd, StepPattern, Steps,
    TransferSizes, ZoneOrder,
};

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
    stepping(StepPattern::gap(bytes))
}

fn zones(used: u64, zone: u64, skip: u64, order: ZoneOrder) -> Generator {
    stepping(StepPattern::Zones {
        used_bytes: used * KIB,
        zone_bytes: zone * KIB,
        skip_bytes: skip * KIB,
        order,
        seeks: None,
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
    // A zone that reaches beyond the end is used as far as it goes.
    assert_eq!(sequence(8, 8, 12, 8), [0, 4, 20, 24, 40, 44, 60, 0]);
}

#[test]
fn random_places_stay_in_their_zone_and_are_visited_once_where_asked() {
    for order in [ZoneOrder::Random, ZoneOrder::EachOnce] {
        let drawn = offsets(&zones(16, 16, 8, order.clone()), 64 * KIB, 120);
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
            seeks: None,
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
        pattern: StepPattern::gap(0),
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
fn pairs_of_several_sizes_visit_each_block_once_and_end_with_a_write() {
    let mut pairs = generator(AddressOrder::Stepped(Steps {
        pattern: StepPattern::Bursts {
            operations: 1,
            repeats: false,
            law: RandomLaw::OncePerBlock(SequentialEnd::Wrap),
            seeks: None,
        },
        trims_first: true,
    }));
    pairs.transfer = PerDirection::all(TransferSizes::Uniform {
        min: 512,
        max: 8 * KIB,
        step: 512,
    });
    let stop = LocalStop {
        bytes: Some(2 * MIB),
        whole: true,
        ..LocalStop::default()
    };
    let drawer = stopping(&pairs, TargetOrder::RoundRobin, &[region(0, MIB)], stop);
    let drawn: Vec<Drawn> = (0..).map_while(|index| drawer.draw(index)).collect();
    let mut seen = vec![0; (MIB / 512) as usize];
    for pair in drawn.chunks(2) {
        let place = |drawn: &Drawn| (drawn.offset, drawn.length);
        assert_eq!(place(&pair[0]), place(&pair[1]));
        let [from, count] = [pair[0].offset / 512, u64::from(pair[0].length) / 512];
        for block in &mut seen[from as usize..(from + count) as usize] {
            *block += 1;
        }
    }
    assert_eq!(drawn.len() % 2, 0);
    assert!(seen.iter().all(|count| *count == 1));
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
                seeks: None,
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

/// Sizes of 4 to 16 KiB.
fn uneven(pattern: StepPattern) -> Generator {
    let mut uneven = stepping(pattern);
    uneven.transfer = PerDirection::all(TransferSizes::Uniform {
        min: BLOCK,
        max: 4 * BLOCK,
        step: BLOCK,
    });
    uneven.align = AlignRule::Bytes(BLOCK);
    uneven
}

fn drawn(generator: &Generator, width: u64, count: u64) -> Vec<Drawn> {
    let drawer = drawer(generator, region(0, width));
    (0..count)
        .map(|index| drawer.draw(index).unwrap())
        .collect()
}

fn end(drawn: &Drawn) -> u64 {
    drawn.offset + u64::from(drawn.length)
}

#[test]
fn a_step_back_within_a_transfer_leads_forward() {
    let half = offsets(&gap(-(2 << 10)), 12 * KIB, 7);
    assert_eq!(half, [0, 2, 4, 6, 8, 0, 2]);
    assert_eq!(offsets(&gap(-(4 << 10)), 12 * KIB, 3), [0, 0, 0]);
}

#[test]
fn gaps_lie_between_transfers_of_any_size() {
    let width = 256 * KIB;
    let forward = drawn(&uneven(StepPattern::gap(8 << 10)), width, 500);
    for pair in forward.windows(2) {
        let expected = end(&pair[0]) + 8 * KIB;
        let fits = expected + BLOCK <= width;
        assert_eq!(pair[1].offset, if fits { expected } else { 0 });
        assert!(end(&pair[1]) <= width);
    }
    let back = drawn(&uneven(StepPattern::gap(-(32 << 10))), width, 500);
    for pair in back.windows(2) {
        let expected = end(&pair[0]).checked_sub(32 * KIB);
        assert_eq!(pair[1].offset, expected.unwrap_or(width - 32 * KIB));
    }
}

#[test]
fn the_last_transfer_of_a_zone_may_reach_beyond_it() {
    let used = offsets(&zones(10, 10, 6, ZoneOrder::Sequential), 64 * KIB, 7);
    assert_eq!(used, [0, 4, 8, 16, 20, 24, 32]);
}

/// Operations by the zone in which they begin, of zones of 32 KiB with 16 KiB between.
fn by_zone(drawn: &[Drawn]) -> Vec<&[Drawn]> {
    let zone = |drawn: &Drawn| drawn.offset / (48 * KIB);
    drawn
        .chunk_by(|one, next| zone(one) == zone(next))
        .collect()
}

#[test]
fn zones_hold_transfers_of_several_sizes() {
    let all = drawn(&uneven(pattern_of(ZoneOrder::Sequential)), 192 * KIB, 600);
    let zones = by_zone(&all);
    for (number, zone) in (0..).zip(&zones[..zones.len() - 1]) {
        let start = number % 4 * 48 * KIB;
        assert_eq!(zone[0].offset, start);
        assert!(zone.windows(2).all(|pair| pair[1].offset == end(&pair[0])));
        let used = end(&zone[zone.len() - 1]) - start;
        let before = used - u64::from(zone[zone.len() - 1].length);
        assert!(used >= 32 * KIB && before < 32 * KIB, "{used}");
    }
}

fn pattern_of(order: ZoneOrder) -> StepPattern {
    StepPattern::Zones {
        used_bytes: 32 * KIB,
        zone_bytes: 32 * KIB,
        skip_bytes: 16 * KIB,
        order,
        seeks: None,
    }
}

#[test]
fn each_block_of_a_zone_is_visited_once_by_transfers_of_several_sizes() {
    let all = drawn(&uneven(pattern_of(ZoneOrder::EachOnce)), 192 * KIB, 600);
    let zones = by_zone(&all);
    assert!(zones.len() > 60);
    for (number, zone) in (0..).zip(&zones[..zones.len() - 1]) {
        let start = number % 4 * 48 * KIB;
        let blocks = |one: &Drawn| (one.offset / BLOCK)..(end(one) / BLOCK);
        let mut blocks: Vec<u64> = zone.iter().flat_map(blocks).collect();
        blocks.sort_unstable();
        let whole: Vec<u64> = (start / BLOCK..(start + 32 * KIB) / BLOCK).collect();
        assert_eq!(blocks, whole, "zone {number}");
    }
}

#[test]
fn a_law_holds_within_each_zone() {
    let law = RandomLaw::Zoned(vec![(90.0, 50.0), (10.0, 50.0)]);
    let places = offsets(&zones(32, 32, 16, ZoneOrder::ByLaw(law)), 192 * KIB, 8_000);
    for (number, offset) in (0..).zip(&places) {
        let start = number / 8 % 4 * 48;
        assert!((start..start + 32).contains(offset), "{number}: {offset}");
    }
    let first_half = places.iter().filter(|at| *at % 48 < 16).count();
    assert!((7_000..7_400).contains(&first_half), "{first_half}");
}

#[test]
fn bursts_stay_in_their_zone() {
    let mut pattern = pattern_of(ZoneOrder::Random);
    if let StepPattern::Zones { seeks, .. } = &mut pattern {
        *seeks = Some(plan::Seeks {
            random_pct: PerDirection::all(100.0),
            following: plan::Following {
                every: 4,
                ..plan::Following::default()
            },
        });
    }
    let all = drawn(&stepping(pattern), 192 * KIB, 800);
    for (number, one) in (0_u64..).zip(&all) {
        let start = number / 8 % 4 * 48 * KIB;
        assert!((start..start + 32 * KIB).contains(&one.offset));
        if !number.is_multiple_of(4) {
            let next = end(&all[number as usize - 1]);
            let expected = if next < start + 32 * KIB { next } else { start };
            assert_eq!(one.offset, expected, "{number}");
        }
    }
}

#[test]
fn pairs_follow_each_other_whatever_their_sizes() {
    let mut pairs = uneven(StepPattern::gap(0));
    pairs.order = AddressOrder::Stepped(Steps {
        pattern: StepPattern::gap(0),
        trims_first: true,
    });
    pairs.operations = OperationMix {
        read_pct: 0.0,
        write_pct: 50.0,
        trim_pct: 50.0,
    };
    let all = drawn(&pairs, 256 * KIB, 400);
    let mut expected = 0;
    for pair in all.chunks(2) {
        assert_eq!(pair[0].operation, Operation::Trim);
        assert_eq!(pair[1].operation, Operation::Write);
        assert_eq!(
            (pair[0].offset, pair[0].length),
            (pair[1].offset, pair[1].length)
        );
        assert_eq!(pair[0].offset, expected);
        expected = if end(&pair[0]) < 256 * KIB {
            end(&pair[0])
        } else {
            0
        };
    }
}

#[test]
fn each_target_has_its_own_steps_in_any_order_of_targets() {
    let regions = [0, 1, 2].map(|target| BoundRegion {
        target: TargetId(target),
        ..region(0, 64 * KIB)
    });
    let random = TargetOrder::Random;
    let drawer = on_targets(&gap(8 << 10), random, &regions);
    let mut numbers = [0; 3];
    for index in 0..300 {
        let drawn = drawer.draw(index).unwrap();
        let number = &mut numbers[drawn.place as usize];
        assert_eq!(drawn.offset, *number % 6 * 12 * KIB);
        *number += 1;
    }
    assert!(numbers.iter().all(|count| *count > 60));
    let mut pairs = generator(AddressOrder::Stepped(Steps {
        pattern: StepPattern::gap(0),
        trims_first: true,
    }));
    pairs.operations = OperationMix {
        read_pct: 0.0,
        write_pct: 50.0,
        trim_pct: 50.0,
    };
    let drawer = on_targets(&pairs, random, &regions);
    let mut numbers = [0; 3];
    for index in 0..300 {
        let drawn = drawer.draw(index).unwrap();
        let number = &mut numbers[drawn.place as usize];
        let operation = [Operation::Trim, Operation::Write][*number as usize % 2];
        let expected = (operation, *number / 2 % 16 * BLOCK);
        assert_eq!((drawn.operation, drawn.offset), expected);
        *number += 1;
    }
}

#[test]
fn a_share_of_pairs_takes_a_random_place_and_the_others_follow() {
    let pairs = |random_pct, every, repeats| {
        let mut pairs = generator(AddressOrder::Stepped(Steps {
            pattern: StepPattern::Bursts {
                operations: every,
                repeats,
                law: RandomLaw::Uniform,
                seeks: Some(plan::Seeks {
                    random_pct: PerDirection::all(random_pct),
                    following: plan::Following {
                        every,
                        repeats,
                        sizes: None,
                    },
                }),
            },
            trims_first: true,
        }));
        pairs.operations = OperationMix {
            read_pct: 0.0,
            write_pct: 50.0,
            trim_pct: 50.0,
        };
        pairs
    };
    // How many of so many pairs lie elsewhere than behind the one before.
    let seeks = |generator: &Generator, behind: u64| {
        let all = drawn(generator, 64 * MIB, 4_000);
        let pairs: Vec<&[Drawn]> = all.chunks(2).collect();
        for pair in &pairs {
            assert_eq!(pair[0].operation, Operation::Trim);
            assert_eq!(pair[1].operation, Operation::Write);
            assert_eq!(pair[0].offset, pair[1].offset);
        }
        let next = |pair: &[Drawn]| (pair[0].offset + behind) % (64 * MIB);
        let moved = pairs
            .windows(2)
            .filter(|two| two[1][0].offset != next(two[0]));
        moved.count()
    };
    // Five deviations of 2000 draws of 30 %.
    let share = seeks(&pairs(30.0, 1, false), BLOCK);
    assert!((497..=703).contains(&share), "{share}");
    // A random place may be the one that follows by chance.
    for (repeats, behind) in [(true, 0), (false, BLOCK)] {
        let bursts = seeks(&pairs(100.0, 4, repeats), behind);
        assert!((495..=499).contains(&bursts), "{bursts}");
    }
}
