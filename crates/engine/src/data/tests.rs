//! What compressors and deduplication see of generated data.
use super::duplicates::AddressLaw;
use super::noise::{Form, Noise, Part, stamp_all};
use super::pattern::Repeated;
use super::{BLOCK_MARK, Content, Filled, Samples, StreamData, Write, WriteData};
use crate::random::{fold, mix};
use plan::{
    DataSpec, DuplicatePool, DuplicateSource, PatternAnchor, PatternId, PatternMarks,
    ReplacePolicy, SetCount, TargetId, WritePattern,
};
use std::collections::{HashMap, HashSet};

const CHUNK: usize = 64 << 10;

fn data(ratio: f64, chunk_bytes: u64) -> DataSpec {
    DataSpec {
        compression_ratio: ratio,
        chunk_bytes,
        ..DataSpec::default()
    }
}

fn part(to: &mut [u8], first: usize, whole: usize, key: u64) -> Part<'_> {
    Part {
        to,
        first,
        whole,
        key,
        has_tails: false,
    }
}

/// Transfers of `transfer` bytes one after the other, as compressors of 64 KiB see them.
fn unique_chunks(data: &DataSpec, transfer: usize) -> Vec<Vec<u8>> {
    let (noise, form) = (Noise::new(), Form::new(data));
    let chunk = |number: usize| {
        let mut bytes = vec![0xaa; CHUNK];
        for (place, to) in bytes.chunks_mut(transfer).enumerate() {
            let key = fold(7, (number * CHUNK + place) as u64);
            let whole = to.len();
            noise.fill(part(to, 0, whole, key), &form, &[]);
        }
        bytes
    };
    (0..16).map(chunk).collect()
}

fn lz4(bytes: &[u8]) -> usize {
    lz4::block::compress(bytes, None, false).unwrap().len()
}

fn zstd(bytes: &[u8]) -> usize {
    zstd::bulk::compress(bytes, 3).unwrap().len()
}

fn ratio(chunks: &[Vec<u8>], compressed: fn(&[u8]) -> usize) -> f64 {
    let sent: usize = chunks.iter().map(Vec::len).sum();
    sent as f64 / chunks.iter().map(|chunk| compressed(chunk)).sum::<usize>() as f64
}

#[test]
fn every_compressor_sees_the_ratio_that_was_asked_for() {
    for asked in [1.0, 1.05, 1.3, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0] {
        for transfer in [4096, 8192, CHUNK] {
            let chunks = unique_chunks(&data(asked, 4096), transfer);
            for (name, compressed) in [("lz4", lz4 as fn(&[u8]) -> usize), ("zstd", zstd)] {
                let seen = ratio(&chunks, compressed);
                let error = (seen / asked - 1.0).abs();
                assert!(
                    error < 0.05,
                    "{name} sees {seen:.3} of {asked}, transfers of {transfer}"
                );
            }
        }
    }
}

#[test]
fn the_incompressible_part_lies_where_the_chunk_says() {
    for (chunk, zeros_from) in [(512, 256), (4096, 2048), (16_384, 8192), (0, 32_768)] {
        let bytes = &unique_chunks(&data(2.0, chunk), CHUNK)[0];
        let chunk = if chunk == 0 { CHUNK } else { chunk as usize };
        for part in bytes.chunks(chunk) {
            assert!(part[zeros_from..].iter().all(|byte| *byte == 0));
            let kept = &part[zeros_from - 112..zeros_from - 80];
            assert!(kept.iter().any(|byte| *byte != 0), "chunk of {chunk}");
        }
    }
}

#[test]
fn any_part_of_a_block_is_what_the_whole_has_there() {
    let noise = Noise::new();
    for chunk in [512, 4096, 8192, 0] {
        for asked in [1.0, 3.0] {
            let form = Form::new(&data(asked, chunk));
            let mut whole = vec![0; 20_480];
            noise.fill(part(&mut whole, 0, 20_480, 99), &form, &[]);
            for (first, length) in [
                (0, 512),
                (512, 512),
                (3584, 1024),
                (4096, 8192),
                (700, 9000),
            ] {
                let mut bytes = vec![0; length];
                noise.fill(part(&mut bytes, first, 20_480, 99), &form, &[]);
                assert_eq!(
                    bytes,
                    whole[first..first + length],
                    "{first} {length} {chunk}"
                );
            }
        }
    }
}

#[test]
fn every_piece_is_ours_and_no_two_are_equal() {
    for transfer in [512, 1024, 4096, CHUNK] {
        let chunks = unique_chunks(&data(4.0, 4096), transfer);
        let mut seen = HashSet::new();
        for block in chunks
            .iter()
            .flat_map(|chunk| chunk.chunks(transfer.min(4096)))
        {
            assert_eq!(block[..8], BLOCK_MARK);
            assert!(seen.insert(block.to_vec()));
        }
    }
}

#[test]
fn stamps_tell_every_sector_of_every_write_apart_and_change_nothing_else() {
    let (noise, form) = (Noise::new(), Form::new(&data(1.0, 4096)));
    for transfer in [512, 4096, 10_240, CHUNK] {
        let mut buffer = vec![0; transfer];
        noise.fill(part(&mut buffer, 0, transfer, 3), &form, &[]);
        let filled = buffer.clone();
        let mut seen = HashSet::new();
        for write in 0..100 {
            stamp_all(&mut buffer, fold(9, write));
            for (number, (sector, before)) in buffer.chunks(512).zip(filled.chunks(512)).enumerate()
            {
                assert!(seen.insert(sector.to_vec()), "sector {number} repeats");
                assert_eq!(sector[16..], before[16..]);
                assert_eq!(number % 8 == 0, sector.starts_with(&BLOCK_MARK));
            }
        }
    }
}

#[test]
fn buffers_that_are_used_again_hold_what_fresh_ones_would() {
    for (ratio, chunk, by_address) in [
        (2.0, 4096, false),
        (3.0, 512, false),
        (3.0, 0, false),
        (2.0, 4096, true),
        (4.0, 0, true),
    ] {
        let data = data(ratio, chunk);
        let mut pool = pool(2.0, SetCount::Count(100));
        pool.unit_bytes = 8192;
        let law = AddressLaw::new(&pool, &[1000], 0, 3, 4);
        let written = WriteData {
            noise: Noise::new(),
            patterns: Vec::new(),
            streams: vec![StreamData {
                form: Form::new(&data),
                content: match by_address {
                    true => Content::ByAddress(vec![law]),
                    false => Content::Unique,
                },
                key: 11,
            }],
            samples: Samples::default(),
        };
        let mut again = (vec![0xaa; 16_384], Filled::default());
        // Lengths and places within blocks change and stay by turns.
        let lengths = [16_384, 16_384, 8192, 8192, 4096, 4096, 12_288, 12_288];
        for index in 0..400_u64 {
            let length = lengths[index as usize % 8];
            let write = Write {
                stream: 0,
                place: 0,
                offset: mix(index) % 900 * 4096,
                index,
                at_ns: 0,
            };
            let mut fresh = vec![0x55; length];
            written.make(&mut fresh, &mut Filled::default(), write);
            written.make(&mut again.0[..length], &mut again.1, write);
            assert!(again.0[..length] == fresh, "write {index} of {length}");
        }
    }
}

#[test]
fn a_mebibyte_holds_no_repetition() {
    let data = data(1.0, 4096);
    let all = unique_chunks(&data, 4096).concat();
    for level in [3, 19] {
        let compressed = zstd::bulk::compress(&all, level).unwrap().len();
        assert!(compressed >= all.len(), "{compressed} of {}", all.len());
    }
}

#[test]
fn a_pattern_follows_zeros_place() {
    let pattern = WritePattern {
        bytes: b"abc".to_vec(),
        addresses: Vec::new(),
        restart_bytes: 0,
        anchor: PatternAnchor::Transfer,
        marks: PatternMarks::None,
    };
    let patterns = [Repeated::new(&pattern, 8192)];
    let mut spec = data(2.0, 4096);
    spec.pattern = Some(PatternId(0));
    let mut bytes = vec![0; 8192];
    Noise::new().fill(part(&mut bytes, 0, 8192, 5), &Form::new(&spec), &patterns);
    for at in (2048..4096).chain(6144..8192) {
        assert_eq!(bytes[at], b"abc"[at % 3]);
    }
}

#[test]
fn a_pattern_holds_the_address_of_its_transfer_in_each_repetition() {
    let pattern = |restart_bytes| WritePattern {
        bytes: [&b"ab"[..], &[0; 8], b"c"].concat(),
        addresses: vec![2],
        restart_bytes,
        anchor: PatternAnchor::Transfer,
        marks: PatternMarks::None,
    };
    for (offset, restart_bytes) in [(0, 0), (0x1234_5678_9abc, 0), (0, 512), (1 << 40, 37)] {
        let pattern = pattern(restart_bytes);
        let repeated = Repeated::new(&pattern, 4096);
        for length in [4096, 512, 5] {
            let mut bytes = vec![0xee; length];
            repeated.copy(&mut bytes, offset);
            let expected = |at| pattern.byte(at, offset);
            assert!((0..length).all(|at| bytes[at] == expected(at)), "{length}");
        }
    }
}

#[test]
fn a_pattern_by_address_repeats_with_its_period() {
    let pattern = |period_bytes| WritePattern {
        bytes: b"0123456789".to_vec(),
        addresses: Vec::new(),
        restart_bytes: 0,
        anchor: PatternAnchor::Address { period_bytes },
        marks: PatternMarks::None,
    };
    for period in [1024, 1000] {
        let repeated = Repeated::new(&pattern(period), 4096);
        for offset in [0, 512, 4096, 1 << 40] {
            let mut bytes = vec![0; 4096];
            repeated.copy(&mut bytes, offset);
            let expected = |at: u64| b"0123456789"[((offset + at) % period % 10) as usize];
            assert!((0..4096).all(|at| bytes[at as usize] == expected(at)));
        }
    }
}

fn pool(ratio: f64, sets: SetCount) -> DuplicatePool {
    DuplicatePool {
        ratio,
        unit_bytes: 4096,
        sets,
        hot_sets: vec![],
        replace: ReplacePolicy::SameContent,
        across_targets: true,
        targets: vec![],
    }
}

/// How often each key is written in a pass over targets of so many blocks, by target.
fn pass(pool: &DuplicatePool, members: &[u64]) -> Vec<HashMap<u64, u64>> {
    let target = |place: usize| {
        let law = AddressLaw::new(pool, members, place, 3, 4);
        let mut keys = HashMap::new();
        let mut buffer = vec![0; 4096];
        for number in 0..members[place] {
            let fresh = fold(mix(place as u64), number);
            law.each_part(number * 4096, &mut buffer, fresh, |part| {
                assert_eq!((part.first, part.to.len()), (0, 4096));
                *keys.entry(part.key).or_insert(0) += 1;
            });
        }
        keys
    };
    (0..members.len()).map(target).collect()
}

fn merged(keys: &[HashMap<u64, u64>]) -> HashMap<u64, u64> {
    let mut all = HashMap::new();
    for (key, count) in keys.iter().flatten() {
        *all.entry(*key).or_insert(0) += count;
    }
    all
}

#[test]
fn a_full_pass_stores_the_share_that_was_asked_for() {
    let sets = [
        SetCount::Percent(5.0),
        SetCount::Percent(0.01),
        SetCount::Count(1),
        SetCount::Percent(30.0),
    ];
    for ratio in [1.0, 1.1, 1.5, 2.0, 3.0] {
        for sets in sets {
            let members = [100_000, 33_333, 7];
            let keys = pass(&pool(ratio, sets), &members);
            let (blocks, stored) = (133_340.0, merged(&keys).len() as f64);
            let asked = (1.0 / ratio).max(sets.of(133_340) as f64 / blocks);
            let share = stored / blocks;
            assert!((share - asked).abs() < 0.005, "{ratio} {sets:?}: {share}");
            // Blocks that no other block of any target repeats, on each target by itself.
            let of_sets = sets.of(133_340) as f64 / blocks;
            if of_sets > 0.2 {
                continue;
            }
            let singles = if ratio > 1.0 { asked - of_sets } else { 1.0 };
            let all = merged(&keys);
            for (of_target, count) in keys.iter().zip(members).take(2) {
                let unique = of_target.keys().filter(|key| all[key] == 1).count();
                let unique = unique as f64 / count as f64;
                assert!(
                    (unique - singles).abs() < 0.005,
                    "{ratio} {sets:?}: {unique}"
                );
            }
        }
    }
}

#[test]
fn targets_by_themselves_hold_equal_data_at_equal_addresses() {
    let mut pool = pool(2.0, SetCount::Percent(5.0));
    pool.across_targets = false;
    pool.replace = ReplacePolicy::Alternate;
    let blocks = 100_000;
    let target = |fresh: u64| {
        let law = AddressLaw::new(&pool, &[blocks], 0, 3, 4)
            .with_bits(crate::generations::Generations::default().of(TargetId(0), blocks * 4096));
        let mut buffer = vec![0; 4096];
        let mut keys = vec![Vec::new(); 3];
        for keys in &mut keys {
            for number in 0..blocks {
                law.each_part(number * 4096, &mut buffer, fresh + number, |part| {
                    keys.push(part.key);
                });
            }
        }
        keys
    };
    let (one, other) = (target(0), target(1 << 40));
    assert_eq!(one, other);
    let stored: HashSet<u64> = one[0].iter().copied().collect();
    assert!((stored.len() as f64 / blocks as f64 - 0.5).abs() < 0.005);
    // Every block changes when it is rewritten, and has the first content again after that.
    assert!(
        one[0]
            .iter()
            .zip(&one[1])
            .all(|(first, second)| first != second)
    );
    assert_eq!(one[0], one[2]);
}

#[test]
fn hot_sets_lie_at_the_beginning_of_the_targets_in_turn() {
    let mut pool = pool(2.0, SetCount::Count(100));
    pool.hot_sets = vec![(3, 8), (2, 4)];
    let members = [5000, 5000];
    let keys = pass(&pool, &members);
    let all = merged(&keys);
    let law = AddressLaw::new(&pool, &members, 0, 3, 4);
    let mut first = Vec::new();
    let mut buffer = vec![0; 16 * 4096];
    law.each_part(0, &mut buffer, 1, |part| first.push(all[&part.key]));
    // 32 hot blocks over two targets: 12 of the first group and 4 of the second on each.
    assert_eq!(first[..12], [8; 12]);
    assert_eq!(first[12..16], [4; 4]);
    let stored = all.len() as f64 / 10_000.0;
    assert!((stored - 0.5).abs() < 0.005, "{stored}");
    // Unique blocks and 100 sets, five of them hot.
    assert_eq!(all.values().filter(|count| **count > 1).count(), 100);
}

#[test]
fn parts_of_a_unit_come_from_the_whole_unit() {
    let mut pool = pool(2.0, SetCount::Count(10));
    pool.unit_bytes = 8192;
    let law = AddressLaw::new(&pool, &[1000], 0, 3, 4);
    let mut parts = Vec::new();
    let mut buffer = vec![0; 12_288];
    law.each_part(4096, &mut buffer, 1, |part| {
        parts.push((part.first, part.whole, part.to.len()));
    });
    assert_eq!(parts, [(4096, 8192, 4096), (0, 8192, 8192)]);
}

#[test]
fn writes_repeat_by_chance_as_often_as_asked() {
    use super::chance::ChanceLaw;
    for pct in [0.0, 20.0, 50.0, 90.0, 100.0] {
        let law = ChanceLaw::new(pct, DuplicateSource::Previous, 1, (0, 0));
        let keys: HashSet<u64> = (0..100_000).map(|_| law.key(77)).collect();
        let unique = keys.len() as f64 / 1000.0;
        assert!((unique - (100.0 - pct)).abs() < 1.0, "{pct}: {unique}");
    }
    let of = DuplicateSource::WorkingSet {
        contents: 50,
        is_shared: true,
    };
    let streams = [0, 1].map(|stream| {
        let law = ChanceLaw::new(40.0, of, 1, (0, stream));
        let keys: HashSet<u64> = (0..10_000).map(|_| law.key(stream)).collect();
        keys
    });
    assert_eq!(streams[0].intersection(&streams[1]).count(), 50);
    assert!((streams[0].len() as f64 - 6050.0).abs() < 200.0);
}
