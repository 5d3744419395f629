//! Each pattern against its law, with fixed seeds: χ² over classes, Kolmogorov and Smirnov over
//! positions. Limits are those that chance exceeds once in a thousand.
use super::tests::{KIB, MIB, drawer, generator, on_targets, region};
use super::*;
use plan::{
    AlignRule, Following, HitArea, OperationMix, PerDirection, RandomLaw, Sequences, SequentialEnd,
    SequentialStart, SizeShare, Steps, TransferSizes,
};

const DRAWS: u64 = 200_000;

/// The 99.9 % point of χ² (Wilson and Hilferty).
fn chi_limit(degrees: usize) -> f64 {
    let degrees = degrees as f64;
    let spread = 2.0 / (9.0 * degrees);
    degrees * (1.0 - spread + 3.09 * spread.sqrt()).powi(3)
}

/// Asserts that counts follow shares that add up to one.
fn check_shares(counts: &[u64], shares: &[f64]) {
    assert_eq!(counts.len(), shares.len());
    let all = counts.iter().sum::<u64>() as f64;
    let sum: f64 = shares.iter().sum();
    assert!((sum - 1.0).abs() < 1e-9, "shares add up to {sum}");
    let mut chi = 0.0;
    for (count, share) in counts.iter().zip(shares) {
        assert!(all * share >= 5.0, "too few draws for a share of {share}");
        chi += (*count as f64 - all * share).powi(2) / (all * share);
    }
    let limit = chi_limit(counts.len() - 1);
    assert!(chi < limit, "χ² {chi} above {limit}: {counts:?}");
}

/// Asserts that positions between 0 and 1 follow a distribution.
fn check_positions(mut positions: Vec<f64>, below: impl Fn(f64) -> f64) {
    positions.sort_unstable_by(f64::total_cmp);
    let count = positions.len() as f64;
    let distance = positions.iter().enumerate().map(|(number, position)| {
        let expected = below(*position);
        let (low, high) = (number as f64 / count, (number + 1) as f64 / count);
        (expected - low).abs().max((high - expected).abs())
    });
    let distance = distance.fold(0.0, f64::max);
    let limit = 1.95 / count.sqrt();
    assert!(distance < limit, "distance {distance} above {limit}");
}

fn law(law: RandomLaw) -> Generator {
    generator(AddressOrder::Random(law))
}

/// Offsets of the first draws.
fn offsets(drawer: &Source) -> impl Iterator<Item = u64> + '_ {
    (0..DRAWS).map(|index| drawer.draw(index).expect("no end").offset)
}

fn counts(places: impl Iterator<Item = u64>, classes: usize) -> Vec<u64> {
    let mut counts = vec![0; classes];
    places.for_each(|place| counts[place as usize] += 1);
    counts
}

/// Blocks of 4 KiB by the number of visits.
fn block_counts(drawer: &Source, blocks: usize) -> Vec<u64> {
    counts(offsets(drawer).map(|offset| offset / (4 * KIB)), blocks)
}

#[test]
fn uniform_blocks_have_equal_shares() {
    let drawer = drawer(&law(RandomLaw::Uniform), region(0, 256 * KIB));
    check_shares(&block_counts(&drawer, 64), &[1.0 / 64.0; 64]);
}

#[test]
fn aligned_addresses_are_uniform_over_their_units() {
    let mut aligned = law(RandomLaw::Uniform);
    aligned.align = AlignRule::Bytes(16 * KIB);
    let drawer = drawer(&aligned, region(0, 512 * KIB));
    let units = offsets(&drawer).map(|offset| {
        assert_eq!(offset % (16 * KIB), 0);
        offset / (16 * KIB)
    });
    check_shares(&counts(units, 32), &[1.0 / 32.0; 32]);
}

#[test]
fn random_sizes_are_uniform_over_their_steps() {
    let mut sized = law(RandomLaw::Uniform);
    sized.transfer = PerDirection::all(TransferSizes::Uniform {
        min: 4 * KIB,
        max: 64 * KIB,
        step: 4 * KIB,
    });
    let drawer = drawer(&sized, region(0, 64 * MIB));
    let sizes = (0..DRAWS).map(|index| {
        let drawn = drawer.draw(index).unwrap();
        assert_eq!(drawn.offset % u64::from(drawn.length), 0);
        u64::from(drawn.length) / (4 * KIB) - 1
    });
    check_shares(&counts(sizes, 16), &[1.0 / 16.0; 16]);
}

/// As the original draws a range: the upper end has what is left above whole steps.
#[test]
fn capped_sizes_have_the_rest_at_their_upper_end() {
    for (step, shares) in [(4 * KIB, vec![0.4, 0.4, 0.2]), (1, vec![0.4, 0.2, 0.4])] {
        let mut sized = law(RandomLaw::Uniform);
        sized.align = AlignRule::Bytes(512);
        let sizes = TransferSizes::Capped {
            min: 4 * KIB,
            max: 10 * KIB,
            step,
        };
        let mean: f64 = match step {
            1 => (0.6 * 7.0 + 0.4 * 10.0) * 1024.0,
            _ => (0.4 * 4.0 + 0.4 * 8.0 + 0.2 * 10.0) * 1024.0,
        };
        assert!((sizes.mean() - mean).abs() < 1.0, "{} {mean}", sizes.mean());
        sized.transfer = PerDirection::all(sizes);
        let drawer = drawer(&sized, region(0, 64 * MIB));
        let classes = (0..DRAWS).map(|index| match drawer.draw(index).unwrap().length {
            length if u64::from(length) == 10 * KIB => 2,
            length if u64::from(length) >= 8 * KIB => 1,
            _ => 0,
        });
        check_shares(&counts(classes, 3), &shares);
    }
}

/// Of a sequence that ends with its region.
#[test]
fn at_the_end_a_size_is_drawn_that_has_room() {
    let share = |bytes, pct| SizeShare { bytes, pct };
    let lists = [
        TransferSizes::Mix(vec![share(4 * KIB, 1.0), share(64 * KIB, 99.0)]),
        TransferSizes::Mix(vec![share(64 * KIB, 99.0), share(4 * KIB, 1.0)]),
        TransferSizes::Uniform {
            min: 4 * KIB,
            max: 64 * KIB,
            step: 60 * KIB,
        },
        TransferSizes::Capped {
            min: 4 * KIB,
            max: 10 * KIB,
            step: 4 * KIB,
        },
    ];
    let listed = [4, 8, 10, 64].map(|kib| kib * KIB);
    for (number, sizes) in lists.into_iter().enumerate() {
        let mut sized = law(RandomLaw::Uniform);
        sized.order = AddressOrder::Sequential {
            start: SequentialStart::First,
            end: SequentialEnd::Stop,
        };
        sized.transfer = PerDirection::all(sizes);
        for redraws_sizes in [true, false] {
            sized.redraws_sizes = redraws_sizes;
            let drawer = drawer(&sized, region(0, 80 * KIB));
            let lengths: Vec<u64> = (0..100)
                .map_while(|index| drawer.draw(index))
                .map(|drawn| drawn.length.into())
                .collect();
            if redraws_sizes {
                assert!(
                    lengths.iter().all(|length| listed.contains(length)),
                    "{lengths:?}"
                );
                assert!(lengths.iter().sum::<u64>() > 76 * KIB, "{lengths:?}");
            } else if number < 2 {
                assert_eq!(lengths.last(), Some(&(16 * KIB)), "{lengths:?}");
            }
        }
    }
}

#[test]
fn a_poisson_midpoint_folds_an_exponential() {
    for midpoint in [1.0, 3.0, 8.0] {
        let width = 1_u64 << 40;
        let drawer = drawer(&law(RandomLaw::Poisson { midpoint }), region(0, width));
        let positions = offsets(&drawer).map(|offset| offset as f64 / width as f64);
        let whole = 1.0 - (-midpoint).exp();
        let below = |position: f64| (1.0 - (-midpoint * position).exp()) / whole;
        check_positions(positions.collect(), below);
    }
}

#[test]
fn a_hot_band_follows_its_curve() {
    // Wider than the curve, so that nothing is folded.
    let mut hot = law(RandomLaw::HotBand);
    hot.operations = OperationMix::reads(100.0);
    let drawer = drawer(&hot, region(0, 20_000_000_000_000_000 / 4096 * 4096));
    let ends = [16e6, 128e6, 1024e6, 65_536e6, 8_388_608e6, 1_073_741_824e6];
    let class = |offset: u64| ends.iter().filter(|end| offset as f64 >= **end).count() as u64;
    let shares = [0.087217, 0.159946, 0.32645, 0.56076, 0.734528, 0.81764, 1.0];
    let mut before = 0.0;
    let shares = shares.map(|share| share - std::mem::replace(&mut before, share));
    check_shares(&counts(offsets(&drawer).map(class), 7), &shares);
}

#[test]
fn a_small_hot_band_is_folded_and_its_writes_are_shifted() {
    let blocks = 100_000_u64;
    let width = blocks * 4 * KIB;
    // How the curve falls into classes of a hundredth once it is folded.
    let mut folded = vec![0.0; 100];
    let end = 10.0 * f64::from(1 << 30) * 1e6;
    let class_bytes = width as f64 / 100.0;
    for part in 0..4_000_u64 {
        let (from, to) = (part as f64 * class_bytes, (part + 1) as f64 * class_bytes);
        folded[part as usize % 100] += hot_band::share_below(to) - hot_band::share_below(from);
    }
    // What lies behind forty folds is nearly even.
    let rest = 1.0 - hot_band::share_below(4_000.0 * class_bytes);
    assert!(end > 4_000.0 * class_bytes);
    folded.iter_mut().for_each(|share| *share += rest / 100.0);
    for (read_pct, shift) in [(100.0, 0), (0.0, 1)] {
        let mut hot = law(RandomLaw::HotBand);
        hot.operations = OperationMix::reads(read_pct);
        let drawer = drawer(&hot, region(MIB, width));
        let classes = offsets(&drawer)
            .map(|offset| ((offset - MIB) / (4 * KIB) * 100 / blocks + 100 - shift) % 100);
        check_shares(&counts(classes, 100), &folded);
    }
}

#[test]
fn a_share_of_each_direction_seeks() {
    let mut mixed = generator(AddressOrder::Mixed {
        random_pct: PerDirection {
            read: 20.0,
            write: 75.0,
            trim: 100.0,
        },
        law: RandomLaw::Uniform,
        following: Following::default(),
    });
    mixed.operations = OperationMix::reads(50.0);
    let drawer = drawer(&mixed, region(0, 1 << 40));
    let mut classes = vec![0; 4];
    let mut end = 0;
    for index in 0..DRAWS {
        let drawn = drawer.draw(index).unwrap();
        let write = usize::from(drawn.operation == Operation::Write);
        classes[write * 2 + usize::from(drawn.offset == end)] += 1;
        end = drawn.offset + u64::from(drawn.length);
    }
    check_shares(&classes, &[0.1, 0.4, 0.375, 0.125]);
}

/// Mixed over 1 TiB, uniformly, with transfers of 64 KiB where one seeks.
fn mixed(random_pct: f64, following: Following) -> Generator {
    let mut mixed = generator(AddressOrder::Mixed {
        random_pct: PerDirection::all(random_pct),
        law: RandomLaw::Uniform,
        following,
    });
    mixed.transfer = PerDirection::all(TransferSizes::Fixed(64 * KIB));
    mixed
}

#[test]
fn what_goes_on_may_have_a_size_of_its_own() {
    let following = Following {
        sizes: Some(TransferSizes::Fixed(4 * KIB)),
        ..Following::default()
    };
    let mixed = mixed(25.0, following);
    assert_eq!(mixed.smallest_transfer(), 4 * KIB);
    assert_eq!(mixed.largest_transfer(), 64 * KIB);
    assert_eq!(mixed.mean_transfer(), 19.0 * KIB as f64);
    let drawer = drawer(&mixed, region(0, 1 << 40));
    let (mut end, mut classes) = (0, vec![0; 2]);
    for index in 0..DRAWS {
        let drawn = drawer.draw(index).unwrap();
        let goes_on = drawn.offset == end;
        let expected = if goes_on { 4 } else { 64 };
        assert_eq!(u64::from(drawn.length), expected * KIB, "{index}");
        classes[usize::from(goes_on)] += 1;
        end = drawn.offset + u64::from(drawn.length);
    }
    check_shares(&classes, &[0.25, 0.75]);
}

#[test]
fn a_seek_may_be_followed_by_a_number_of_others_on_each_target() {
    let following = |repeats| Following {
        every: 4,
        repeats,
        sizes: Some(TransferSizes::Uniform {
            min: 4 * KIB,
            max: 16 * KIB,
            step: 4 * KIB,
        }),
    };
    let regions = [0, 1, 2].map(|target| BoundRegion {
        target: TargetId(target),
        ..region(0, 1 << 40)
    });
    for (repeats, order) in [
        (false, TargetOrder::RoundRobin),
        (true, TargetOrder::RoundRobin),
        (false, TargetOrder::Random),
    ] {
        let drawer = on_targets(&mixed(100.0, following(repeats)), order, &regions);
        let mut of_targets = vec![Vec::new(); 3];
        for index in 0..3_000 {
            let drawn = drawer.draw(index).unwrap();
            of_targets[drawn.place as usize].push(drawn);
        }
        for drawn in of_targets {
            assert!(drawn.len() > 800);
            for burst in drawn.chunks(4) {
                assert_eq!(u64::from(burst[0].length), 64 * KIB);
                for pair in burst.windows(2) {
                    let end = pair[0].offset + u64::from(pair[0].length);
                    let expected = if repeats { pair[0].offset } else { end };
                    assert_eq!(pair[1].offset, expected);
                    assert!(u64::from(pair[1].length) <= 16 * KIB);
                }
            }
            let seeks = drawn.chunks(4).skip(1).zip(drawn.chunks(4));
            assert!(
                seeks
                    .clone()
                    .all(|(next, one)| next[0].offset != one[0].offset)
            );
        }
    }
}

#[test]
fn a_law_of_fixed_blocks_knows_those_of_each_direction() {
    let zones = vec![(90.0, 50.0), (10.0, 50.0)];
    let mut by_direction = generator(AddressOrder::Random(RandomLaw::Zoned(zones)));
    by_direction.operations = OperationMix::reads(50.0);
    by_direction.align = AlignRule::ByDirection(PerDirection {
        read: 4 * KIB,
        write: 64 * KIB,
        trim: 4 * KIB,
    });
    let drawer = drawer(&by_direction, region(MIB, 64 * MIB));
    let mut counts = [vec![0; 2], vec![0; 2]];
    for index in 0..DRAWS {
        let drawn = drawer.draw(index).unwrap();
        let writes = drawn.operation == Operation::Write;
        let unit = if writes { 64 * KIB } else { 4 * KIB };
        let at = drawn.offset - MIB;
        assert!(at.is_multiple_of(unit));
        assert_eq!(u64::from(drawn.length), 4 * KIB);
        counts[usize::from(writes)][usize::from(at >= 32 * MIB)] += 1;
    }
    for direction in counts {
        check_shares(&direction, &[0.9, 0.1]);
    }
}

#[test]
fn a_stride_skips_forward_by_multiples_of_the_transfer() {
    let stride = generator(AddressOrder::Stride {
        min: 8 * KIB,
        max: 72 * KIB,
        random_pct: 100.0,
    });
    let drawer = drawer(&stride, region(0, 1 << 40));
    let mut end = 0;
    let skips = (0..DRAWS).map(|index| {
        let drawn = drawer.draw(index).unwrap();
        let skipped = drawn.offset - std::mem::replace(&mut end, drawn.offset + 4 * KIB);
        skipped / (4 * KIB) - 2
    });
    check_shares(&counts(skips, 16), &[1.0 / 16.0; 16]);
}

#[test]
fn a_stride_that_fits_no_transfer_is_rounded_up() {
    let stride = generator(AddressOrder::Stride {
        min: 5_000,
        max: 5_000,
        random_pct: 100.0,
    });
    let drawer = drawer(&stride, region(0, 64 * KIB));
    let places: Vec<_> = (0..6)
        .map(|i| drawer.draw(i).unwrap().offset / KIB)
        .collect();
    assert_eq!(places, [8, 20, 32, 44, 56, 0]);
}

#[test]
fn hits_have_their_share_whatever_the_order() {
    let sequential = AddressOrder::Sequential {
        start: SequentialStart::First,
        end: SequentialEnd::Wrap,
    };
    let mixed = AddressOrder::Mixed {
        random_pct: PerDirection::all(50.0),
        law: RandomLaw::Uniform,
        following: Following::default(),
    };
    let stride = AddressOrder::Stride {
        min: 4 * KIB,
        max: 16 * KIB,
        random_pct: 60.0,
    };
    let random = AddressOrder::Random(RandomLaw::Poisson { midpoint: 3.0 });
    for order in [sequential, mixed, stride, random] {
        let mut hitting = generator(order);
        hitting.operations = OperationMix::reads(50.0);
        hitting.hits = Some(HitArea {
            bytes: MIB,
            read_hit_pct: 60.0,
            write_hit_pct: 10.0,
        });
        let drawer = drawer(&hitting, region(0, 64 * MIB));
        let class = |index| {
            let drawn = drawer.draw(index).unwrap();
            u64::from(drawn.operation == Operation::Write) * 2 + u64::from(drawn.offset < MIB)
        };
        check_shares(&counts((0..DRAWS).map(class), 4), &[0.2, 0.3, 0.45, 0.05]);
    }
}

#[test]
fn zipf_ranks_have_their_weights() {
    for theta in [0.6, 1.0, 1.2, 2.0] {
        let zipf = law(RandomLaw::Zipf {
            theta,
            center_pct: Some(50.0),
        });
        let drawer = drawer(&zipf, region(0, 160 * KIB));
        let ranks = offsets(&drawer).map(|offset| (offset / (4 * KIB) + 20) % 40);
        let weights: Vec<f64> = (1..=40).map(|rank| f64::from(rank).powf(-theta)).collect();
        let sum: f64 = weights.iter().sum();
        let shares: Vec<f64> = weights.iter().map(|weight| weight / sum).collect();
        check_shares(&counts(ranks, 40), &shares);
    }
}

#[test]
fn zipf_holds_over_many_blocks() {
    let (theta, blocks) = (1.1, 1_u64 << 32);
    let zipf = law(RandomLaw::Zipf {
        theta,
        center_pct: Some(0.0),
    });
    let drawer = drawer(&zipf, region(0, blocks * 4 * KIB));
    // Sums of rank^−theta by Euler and Maclaurin behind the first thousand.
    let sum_to = |last: u64| {
        let exact = |last: u64| {
            (1..=last)
                .map(|rank| (rank as f64).powf(-theta))
                .sum::<f64>()
        };
        if last <= 1_000 {
            return exact(last);
        }
        let (first, last) = (1_000.5_f64, last as f64 + 0.5);
        exact(1_000) + (first.powf(1.0 - theta) - last.powf(1.0 - theta)) / (theta - 1.0)
    };
    let ends = [1, 10, 1_000, 1 << 20, blocks];
    let class = |offset: u64| {
        ends.iter()
            .filter(|end| offset / (4 * KIB) >= **end)
            .count() as u64
    };
    let mut before = 0.0;
    let shares = ends.map(|end| {
        let below = sum_to(end) / sum_to(blocks);
        below - std::mem::replace(&mut before, below)
    });
    check_shares(&counts(offsets(&drawer).map(class), 5), &shares);
}

#[test]
fn without_a_center_the_hot_blocks_are_spread() {
    let zipf = |center_pct| {
        let law = law(RandomLaw::Zipf {
            theta: 1.2,
            center_pct,
        });
        let drawer = drawer(&law, region(0, 4 * MIB));
        block_counts(&drawer, 1_024)
    };
    let (mut spread, mut together) = (zipf(None), zipf(Some(0.0)));
    let hottest = |counts: &[u64]| {
        let mut places: Vec<usize> = (0..counts.len()).collect();
        places.sort_by_key(|place| std::cmp::Reverse(counts[*place]));
        places[..8].iter().max().unwrap() - places[..8].iter().min().unwrap()
    };
    assert!(hottest(&together) < 12 && hottest(&spread) > 200);
    // The same ranks, elsewhere.
    spread.sort_unstable();
    together.sort_unstable();
    assert_eq!(spread, together);
}

#[test]
fn pareto_gives_a_share_of_blocks_the_rest_of_accesses() {
    for power in [0.1, 0.2, 0.4_f64] {
        let width = 1_u64 << 44;
        let pareto = law(RandomLaw::Pareto {
            power,
            center_pct: Some(0.0),
        });
        let drawer = drawer(&pareto, region(0, width));
        // Within the hot share it is so again, down to the cube.
        let class = |offset: u64| {
            let position = offset as f64 / width as f64;
            (1..=3)
                .filter(|level| position < power.powi(*level))
                .count() as u64
        };
        let inside = [
            1.0,
            1.0 - power,
            (1.0 - power).powi(2),
            (1.0 - power).powi(3),
            0.0,
        ];
        let shares: Vec<f64> = inside.windows(2).map(|pair| pair[0] - pair[1]).collect();
        check_shares(&counts(offsets(&drawer).map(class), 4), &shares);
    }
}

#[test]
fn normal_addresses_have_their_center_and_deviation() {
    for (center, deviation) in [(50.0, 10.0), (20.0, 5.0), (90.0, 30.0)] {
        let width = 1_u64 << 44;
        let normal = law(RandomLaw::Normal {
            deviation_pct: deviation,
            center_pct: Some(center),
        });
        let drawer = drawer(&normal, region(0, width));
        let classes = 20_usize;
        let density = |position: f64| {
            (-((position - center / 100.0) / (deviation / 100.0)).powi(2) / 2.0).exp()
        };
        let steps = 1_000;
        let mut areas = vec![0.0; classes];
        for (class, area) in areas.iter_mut().enumerate() {
            for step in 0..steps {
                let at = class as f64 + (f64::from(step) + 0.5) / f64::from(steps);
                *area += density(at / classes as f64);
            }
        }
        let whole: f64 = areas.iter().sum();
        let found = offsets(&drawer).map(|offset| offset * classes as u64 / width);
        // Classes without a chance of five draws are left out on both sides.
        let found = counts(found, classes);
        let kept: Vec<usize> = (0..classes)
            .filter(|class| areas[*class] / whole * DRAWS as f64 >= 10.0)
            .collect();
        let kept_area: f64 = kept.iter().map(|class| areas[*class]).sum();
        let missed: u64 = found.iter().sum::<u64>() - kept.iter().map(|c| found[*c]).sum::<u64>();
        assert!(missed < 40, "{missed} draws far out");
        let shares: Vec<f64> = kept.iter().map(|class| areas[*class] / kept_area).collect();
        let kept: Vec<u64> = kept.iter().map(|class| found[*class]).collect();
        check_shares(&kept, &shares);
    }
}

#[test]
fn zones_have_their_shares_and_are_even_within() {
    let zoned = law(RandomLaw::Zoned(vec![
        (60.0, 10.0),
        (30.0, 20.0),
        (8.0, 30.0),
        (2.0, 40.0),
    ]));
    let drawer = drawer(&zoned, region(0, 400 * KIB));
    let mut shares = vec![0.06; 10];
    shares.extend([0.015; 20]);
    shares.extend([0.08 / 30.0; 30]);
    shares.extend([0.02 / 40.0; 40]);
    check_shares(&block_counts(&drawer, 100), &shares);
}

#[test]
fn zones_in_bytes_end_with_the_region() {
    let zoned = law(RandomLaw::ZonedBytes(vec![
        (30.0, 40 * KIB),
        (20.0, 400 * KIB),
        (50.0, MIB),
    ]));
    let drawer = drawer(&zoned, region(0, 120 * KIB));
    let mut shares = vec![0.06; 10];
    shares.extend([0.02; 20]);
    check_shares(&block_counts(&drawer, 30), &shares);
}

#[test]
fn targets_in_random_order_have_equal_shares() {
    let regions: Vec<BoundRegion> = (0..5)
        .map(|target| BoundRegion {
            target: TargetId(target),
            ..region(0, MIB)
        })
        .collect();
    let drawer = on_targets(&law(RandomLaw::Uniform), TargetOrder::Random, &regions);
    let places = (0..DRAWS).map(|index| u64::from(drawer.draw(index).unwrap().place));
    check_shares(&counts(places, 5), &[0.2; 5]);
}

#[test]
fn targets_end_to_end_are_uniform_over_their_sum() {
    let regions: Vec<BoundRegion> = [1, 3, 4]
        .iter()
        .zip(0..)
        .map(|(blocks, target)| BoundRegion {
            target: TargetId(target),
            ..region(4 * KIB, blocks * 4 * KIB)
        })
        .collect();
    let drawer = on_targets(&law(RandomLaw::Uniform), TargetOrder::EndToEnd, &regions);
    let places = (0..DRAWS).map(|index| u64::from(drawer.draw(index).unwrap().place));
    check_shares(&counts(places, 3), &[0.125, 0.375, 0.5]);
}

#[test]
fn each_direction_may_go_on_by_itself() {
    let plain = AddressOrder::Sequential {
        start: SequentialStart::First,
        end: SequentialEnd::Wrap,
    };
    let gap = AddressOrder::Stepped(Steps {
        pattern: StepPattern::gap(4 * KIB as i64),
        trims_first: false,
    });
    for (order, distance) in [(plain, 4 * KIB), (gap, 8 * KIB)] {
        let mut generator = generator(order);
        generator.sequences = Sequences::ByDirection;
        let drawer = drawer(&generator, region(0, MIB));
        let mut counts = [0_u64; 2];
        for index in 0..1000 {
            let drawn = drawer.draw(index).unwrap();
            let count = &mut counts[usize::from(drawn.operation == Operation::Write)];
            assert_eq!(drawn.offset, *count * distance % MIB, "{index}: {drawn:?}");
            *count += 1;
        }
        assert!(counts[0] > 2 * counts[1] && counts[1] > 250, "{counts:?}");
    }
}

#[test]
fn each_direction_goes_on_where_it_sought_itself() {
    for repeats in [false, true] {
        let following = Following {
            every: 8,
            repeats,
            sizes: None,
        };
        let mut mixed = mixed(100.0, following);
        mixed.sequences = Sequences::ByDirection;
        let drawer = drawer(&mixed, region(0, 1 << 40));
        let mut last: [Option<u64>; 2] = [None; 2];
        for index in 0..4000 {
            let drawn = drawer.draw(index).unwrap();
            let last = &mut last[usize::from(drawn.operation == Operation::Write)];
            if index % 8 > 0 {
                let behind = if repeats { 0 } else { 64 * KIB };
                let expected = last.map_or(0, |last| last + behind);
                assert_eq!(drawn.offset, expected, "{index}: {drawn:?}");
            }
            *last = Some(drawn.offset);
        }
    }
}
