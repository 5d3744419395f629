use super::*;

const GRID: Grid = Grid {
    block_bytes: 1024,
    part_bytes: 1024,
    phase: 0,
};

fn check(method: CheckMethod, header_at: usize) -> StreamCheck {
    StreamCheck {
        check: Check {
            method,
            block_bytes: 1024,
            address_bytes: 0,
            from_end: false,
            header_at: header_at as u64,
            pattern: None,
            reads: true,
            records: true,
            saves: false,
            dumps: false,
            backlog: None,
            discards: None,
            any_write: false,
        },
        block: 1024,
        header_at,
        header_bytes: method.header_bytes(),
        writer: 1,
        pattern: None,
        transfer_blocks: 4,
        records: vec![Some(Arc::new(Record::new(GRID, 1 << 20)))],
        others: vec![Vec::new()],
        keeper: None,
    }
}

fn write(check: &StreamCheck, index: u64, seed: u64) -> Vec<u8> {
    let mut buffer: Vec<u8> = (0..4096_u32)
        .map(|n| (n.wrapping_mul(37) >> 4) as u8)
        .collect();
    let write = Write {
        stream: 0,
        place: 0,
        offset: 8192,
        index,
        at_ns: 5_000_000_007,
    };
    check.stamp(&mut buffer, write, seed);
    check.wrote(0, 8192, 4096, 4096, &buffer);
    buffer
}

fn found(check: &StreamCheck, offset: u64, buffer: &[u8]) -> Option<(MisfitKind, u64)> {
    let mut buffer = buffer.to_vec();
    let before = buffer.clone();
    let misfit = check.misfit(0, offset, &mut buffer);
    assert!(buffer == before, "looking changes nothing");
    misfit.map(|misfit| (misfit.what, misfit.block_offset))
}

#[test]
fn what_was_written_is_found_sound_and_each_change_is_found() {
    for (method, header_at) in [
        (CheckMethod::Crc32c, 0),
        (CheckMethod::Sha512, 256),
        (CheckMethod::Md5, 512),
    ] {
        let check = check(method, header_at);
        let sound = write(&check, 3, 77);
        assert_eq!(found(&check, 8192, &sound), None);
        // A part of the transfer is as sound as all of it.
        assert_eq!(found(&check, 9216, &sound[1024..]), None);
        let changed = |at: usize| {
            let mut buffer = sound.clone();
            buffer[2048 + at] ^= 4;
            found(&check, 8192, &buffer)
        };
        for (at, what) in [
            (header_at, MisfitKind::Magic),
            (header_at + 2, MisfitKind::HeaderSum),
            (header_at + 5, MisfitKind::Length),
            (header_at + 12, MisfitKind::HeaderSum),
            (header_at + 17, MisfitKind::Address),
            (header_at + 36, MisfitKind::HeaderSum),
            (header_at + 40, MisfitKind::Data),
            (1023, MisfitKind::Data),
        ] {
            assert_eq!(changed(at), Some((what, 8192 + 2048)), "{method:?} {at}");
        }
        let elsewhere = found(&check, 16384, &sound);
        assert_eq!(elsewhere, Some((MisfitKind::Address, 16384)));
    }
}

#[test]
fn a_write_that_was_lost_leaves_a_sound_block_that_is_not_the_last() {
    let mut check = check(CheckMethod::Xxh32, 0);
    let first = write(&check, 3, 77);
    let second = write(&check, 4, 78);
    assert_eq!(found(&check, 8192, &second), None);
    let stale = [&second[..1024], &first[1024..2048], &second[2048..]].concat();
    assert_eq!(
        found(&check, 8192, &stale),
        Some((MisfitKind::OtherWrite, 9216))
    );
    check.check.any_write = true;
    assert_eq!(found(&check, 8192, &stale), None);
    check.check.any_write = false;
    // Of a block of which nothing is known, any sound content will do.
    check.records[0].as_ref().unwrap().forget(9216, 1024);
    assert_eq!(found(&check, 8192, &stale), None);
}

#[test]
fn what_is_read_back_between_writes_is_judged_unless_it_was_written_over_meanwhile() {
    let check = check(CheckMethod::Crc32c, 0);
    let sound = write(&check, 3, 77);
    let written = Written {
        place: 0,
        offset: 8192,
        length: 4096,
        tag: tag(77),
    };
    let checks = Checks {
        streams: vec![Some(check)],
    };
    let found = |buffer: &[u8]| {
        let misfit = checks.misfit_of_read_back(0, written, &mut buffer.to_vec());
        misfit.map(|misfit| misfit.what)
    };
    let mut changed = sound.clone();
    changed[3000] ^= 1;
    assert_eq!(found(&sound), None);
    assert_eq!(found(&changed), Some(MisfitKind::Data));
    let own = checks.of(0).unwrap();
    let record = own.records[0].as_ref().unwrap();
    record.begin(9216, 1024);
    assert_eq!(found(&changed), None, "a write is under way");
    assert!(!own.is_still(written));
}

#[test]
fn a_block_of_another_method_is_told_apart() {
    let crc = check(CheckMethod::Crc32c, 0);
    let written = write(&crc, 3, 77);
    let other = check(CheckMethod::Md5, 0);
    assert_eq!(
        found(&other, 8192, &written),
        Some((MisfitKind::Method, 8192))
    );
}

#[test]
fn the_header_alone_or_nothing_leave_the_data_alone() {
    let check = check(CheckMethod::HeaderOnly, 0);
    let mut buffer = write(&check, 3, 77);
    buffer[100] ^= 1;
    assert_eq!(found(&check, 8192, &buffer), None);
    buffer[8] ^= 1;
    assert!(found(&check, 8192, &buffer).is_some());
}

#[test]
fn a_pattern_after_a_header_is_checked_and_so_is_the_header() {
    let check = StreamCheck {
        pattern: Some(pattern(vec![0], vec![])),
        ..check(CheckMethod::HeaderAndPattern, 0)
    };
    let mut written = write(&check, 3, 77);
    let blocks = written.chunks_mut(1024);
    blocks.for_each(|block| block[check.header_bytes..].fill(0));
    assert_eq!(found(&check, 8192, &written), None);
    let changed = |at: usize| {
        let mut buffer = written.clone();
        buffer[at] ^= 1;
        found(&check, 8192, &buffer).map(|(what, _)| what)
    };
    assert_eq!(changed(100), Some(MisfitKind::Pattern { at: 100 }));
    assert_eq!(changed(8), Some(MisfitKind::HeaderSum));
}

#[test]
fn a_pattern_is_counted_from_the_start_of_its_transfer() {
    let check = StreamCheck {
        pattern: Some(pattern(vec![1, 2, 3], vec![])),
        header_bytes: 0,
        ..check(CheckMethod::Pattern, 0)
    };
    let mut buffer: Vec<u8> = (0..4096).map(|at| (at % 3) as u8 + 1).collect();
    assert_eq!(found(&check, 8192, &buffer), None);
    buffer[2050] = 9;
    let what = MisfitKind::Pattern { at: 2 };
    assert_eq!(found(&check, 8192, &buffer), Some((what, 8192 + 2048)));
}

#[test]
fn what_was_discarded_has_to_be_zeros() {
    let discards = plan::Discards {
        pct: 100.0,
        after: 1,
        batch: 1,
        reads_zeros: true,
    };
    let mut check = check(CheckMethod::Crc32c, 0);
    check.check.discards = Some(discards);
    let buffer = write(&check, 3, 77);
    let written = Written {
        place: 0,
        offset: 8192,
        length: 2048,
        tag: tag(77),
    };
    check.begin_discard(written);
    check.discarded(0, 8192, 2048, 0);
    let mut left = buffer.clone();
    left[..2048].fill(0);
    assert_eq!(found(&check, 8192, &left), None);
    left[1030] = 1;
    let what = MisfitKind::NotZero { at: 6 };
    assert_eq!(found(&check, 8192, &left), Some((what, 8192 + 1024)));
    // What could not be discarded may hold anything.
    let written = Written {
        offset: 8192 + 2048,
        ..written
    };
    check.begin_discard(written);
    check.discarded(0, 8192 + 2048, 2048, -5);
    let record = check.records[0].as_ref().unwrap();
    assert_eq!(record.known(8192 + 2048), Known::Nothing);
}

fn pattern(bytes: Vec<u8>, addresses: Vec<u32>) -> plan::WritePattern {
    plan::WritePattern {
        bytes,
        addresses,
        restart_bytes: 0,
        anchor: plan::PatternAnchor::Transfer,
        marks: plan::PatternMarks::None,
    }
}

#[test]
fn a_pattern_with_addresses_is_that_of_its_place_and_of_no_other() {
    let pattern = pattern([&[7][..], &[0; 8]].concat(), vec![1]);
    let check = StreamCheck {
        pattern: Some(pattern.clone()),
        header_bytes: 0,
        ..check(CheckMethod::Pattern, 0)
    };
    let written = |offset| -> Vec<u8> { (0..4096).map(|at| pattern.byte(at, offset)).collect() };
    let mut buffer = written(1 << 20);
    assert_eq!(found(&check, 1 << 20, &buffer), None);
    let what = MisfitKind::Pattern { at: 3 };
    let elsewhere = found(&check, 2 << 20, &buffer);
    assert_eq!(elsewhere, Some((what, 2 << 20)));
    // What a later write has left of this one begins in the middle of it.
    assert_eq!(found(&check, (1 << 20) + 2048, &buffer[2048..]), None);
    buffer[3000] ^= 1;
    let left = found(&check, (1 << 20) + 2048, &buffer[2048..]);
    assert!(left.is_some());
}

#[test]
fn of_writes_of_two_forms_that_overlap_in_flight_nothing_is_known() {
    let (mut own, mut other) = (check(CheckMethod::Crc32c, 0), check(CheckMethod::Md5, 0));
    let record = |check: &StreamCheck| check.records[0].clone().unwrap();
    (own.others[0], other.others[0]) = (vec![record(&other)], vec![record(&own)]);
    let known = |check: &StreamCheck| check.records[0].as_ref().unwrap().known(8192);
    let mut buffer = vec![0; 4096];
    let sent = Write {
        stream: 0,
        place: 0,
        offset: 8192,
        index: 1,
        at_ns: 1,
    };
    // The second comes and goes while the first is under way, and the first may lie on top.
    own.stamp(&mut buffer.clone(), sent, 77);
    other.stamp(&mut buffer, sent, 78);
    other.wrote(0, 8192, 4096, 4096, &buffer);
    own.wrote(0, 8192, 4096, 4096, &buffer);
    assert_eq!(
        (known(&own), known(&other)),
        (Known::Nothing, Known::Nothing)
    );
    // One behind the other, the last one is there.
    write(&own, 2, 77);
    write(&other, 2, 78);
    assert_eq!(
        (known(&own), known(&other)),
        (Known::Nothing, Known::Write(tag(78)))
    );
}
