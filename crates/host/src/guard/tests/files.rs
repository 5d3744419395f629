//! Files: what passes, what is refused, and that the guard changes nothing.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use door::Door;
use plan::{Access, TargetKind};

use super::{
    checked_data, examine_file, is_granted, noise, our_data, refused, seal, words, write_to,
    write_to_file,
};
use crate::guard::{Finding, Overwrite, Request, examine_through, guard, judge};
use crate::root::SysRoot;

fn file_with(directory: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = directory.join(name);
    fs::write(&path, bytes).unwrap();
    path
}

fn create(path: &Path, bytes: u64) -> Request {
    Request {
        access: Access::Create,
        ..write_to(path, TargetKind::File, bytes)
    }
}

/// Bits of somebody: a bitmap has sectors of zeros and of ones.
#[test]
fn zeros_beside_ones_are_not_empty() {
    let directory = tempfile::tempdir().unwrap();
    for (name, step) in [("sectors", 512), ("bytes", 1), ("quarters", 1024)] {
        let mut bits = vec![0; 64 << 10];
        for part in bits.chunks_mut(2 * step) {
            part[..step].fill(0xff);
        }
        let path = file_with(directory.path(), name, &bits);
        assert!(
            !is_granted(&write_to_file(&path), &Overwrite::default()),
            "{name}"
        );
    }
}

#[test]
fn blank_and_own_files_pass_without_asking() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let len = 3 << 20;
    let mut half = vec![0; len];
    half[1 << 20..2 << 20].copy_from_slice(&our_data(1 << 20, 5));
    let mut small_transfers = noise(64 << 10, 2);
    for block in small_transfers.chunks_mut(512) {
        block[..8].copy_from_slice(b"FATHOM\x01\x00");
    }
    let mut few_sectors = vec![0; len];
    few_sectors[1536..2048].copy_from_slice(&our_data(512, 8));
    let mut mixed = our_data(len, 4);
    mixed[8192..16_384].fill(0xff);
    for (name, data) in [
        ("empty", Vec::new()),
        ("zeros", vec![0; len]),
        ("ones", vec![0xff; len]),
        ("ours", our_data(len, 1)),
        ("partly ours", half),
        ("small transfers", small_transfers),
        ("few sectors", few_sectors),
        ("ours and ones", mixed),
        ("odd length", our_data(70_001, 6)),
    ] {
        let path = file_with(directory, name, &data);
        assert_eq!(examine_file(&path).findings, [], "{name}");
        assert!(
            is_granted(&write_to_file(&path), &Overwrite::default()),
            "{name}"
        );
    }
    let hole = directory.join("hole");
    File::create(&hole).unwrap().set_len(50 << 30).unwrap();
    assert_eq!(examine_file(&hole).findings, []);
}

#[test]
fn blocks_for_checks_pass_without_asking() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let len = 3 << 20;
    let mut with_holes = checked_data(len, 512, 5);
    with_holes
        .chunks_mut(512)
        .step_by(3)
        .for_each(|gap| gap.fill(0));
    let mut begins_late = vec![0; len];
    begins_late[4096..].copy_from_slice(&checked_data(len, 4096, 2)[4096..]);
    let mut few = vec![0; len];
    few[1 << 20..2 << 20].copy_from_slice(&checked_data(len, 1 << 16, 2)[1 << 20..2 << 20]);
    for (name, data) in [
        ("one size", checked_data(len, 4096, 5)),
        ("small", checked_data(len, 512, 1)),
        ("small with holes", with_holes),
        ("large", checked_data(len, 1 << 20, 16)),
        ("odd", checked_data(4128 * 700, 4128, 9)),
        (
            "larger than a sample and odd",
            checked_data(12_312 * 250, 12_312, 9),
        ),
        ("behind a gap", begins_late),
        ("few", few),
    ] {
        let path = file_with(directory, name, &data);
        assert_eq!(examine_file(&path).findings, [], "{name}");
    }
}

#[test]
fn what_only_resembles_blocks_for_checks_is_asked_about() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let len = 1 << 20;
    let changed = |block: usize, change: &dyn Fn(&mut [u8])| {
        let mut data = checked_data(len, block, 5);
        change(&mut data);
        data
    };
    let at = 40_960;
    let sealed = |change: &'static dyn Fn(&mut [u8])| {
        changed(4096, &move |data| {
            change(&mut data[at..at + 40]);
            seal(&mut data[at..at + 40]);
        })
    };
    for (name, data) in [
        ("no magic", sealed(&|header| header[0] = 0xcb)),
        ("unknown method", sealed(&|header| header[2] = 17)),
        ("no method", sealed(&|header| header[2] = 0)),
        (
            "too short",
            sealed(&|header| header[4..8].copy_from_slice(&[39, 0, 0, 0])),
        ),
        ("beyond the end", sealed(&|header| header[6] = 0x40)),
        ("other address", sealed(&|header| header[18] = 1)),
        ("wrong sum", changed(4096, &|data| data[at + 36] ^= 1)),
        ("one bit", changed(4096, &|data| data[at + 9] ^= 1)),
        ("moved", checked_data(len + 4096, 4096, 5)[4096..].to_vec()),
        (
            "moved a little",
            checked_data(len + 512, 4096, 5)[512..].to_vec(),
        ),
        (
            "a block between",
            changed(4096, &|data| {
                data[at..at + 4096].copy_from_slice(&noise(4096, 3))
            }),
        ),
        (
            "behind a short block",
            changed(512, &|data| {
                data[at + 512..at + 1024].copy_from_slice(&noise(512, 3))
            }),
        ),
        (
            "inside a long block",
            changed(1 << 16, &|data| data[at + 9] ^= 1),
        ),
        (
            "long blocks filled otherwise",
            changed(1 << 16, &|data| {
                data.chunks_mut(1 << 16)
                    .for_each(|block| block[8192..].fill(0x5a));
            }),
        ),
        (
            "a text behind",
            [checked_data(len, 4096, 5), b"Dear reader,\n".to_vec()].concat(),
        ),
    ] {
        let path = file_with(directory, name, &data);
        let findings = examine_file(&path).findings;
        let is_unknown = matches!(findings[..], [Finding::UnknownData { .. }]);
        assert!(is_unknown, "{name}: {findings:?}");
        assert!(!is_granted(&write_to_file(&path), &Overwrite::default()));
    }
}

#[test]
fn others_data_are_refused_until_named() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let mut one_block = our_data(3 << 20, 1);
    one_block[40_960..45_056].copy_from_slice(&noise(4096, 3));
    let mut foreign_end = vec![0; 3 << 20];
    foreign_end[(3 << 20) - 10] = 1;
    for (name, data) in [
        ("letter", b"Dear reader,\n".to_vec()),
        ("noise", noise(2 << 20, 11)),
        ("one block", one_block),
        ("end", foreign_end),
        ("one byte", vec![7]),
    ] {
        let path = file_with(directory, name, &data);
        let findings = examine_file(&path).findings;
        let is_unknown = matches!(findings[..], [Finding::UnknownData { .. }]);
        assert!(is_unknown, "{name}: {findings:?}");
        let request = write_to_file(&path);
        assert!(!is_granted(&request, &Overwrite::default()), "{name}");
        assert!(
            is_granted(&request, &words(&[&path.display().to_string()])),
            "{name}"
        );
        assert!(fs::read(&path).unwrap() == data, "{name}: the guard wrote");
    }
}

#[test]
fn whatever_is_written_all_of_a_file_is_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let path = file_with(folder.path(), "data", &noise(5000, 3));
    for extent in [(5000, 9096), (4999, 9096), (0, 0), (1 << 40, 1 << 41)] {
        let request = Request {
            extent,
            takes: (0, 9096),
            ..write_to_file(&path)
        };
        assert!(!is_granted(&request, &words(&[])), "{extent:?}");
    }
}

#[test]
fn a_mark_counts_at_the_start_of_its_block_alone() {
    let folder = tempfile::tempdir().unwrap();
    for at in [1, 8, 100, 504, 512, 2048, 3584, 4088] {
        let mut data = noise(3 << 20, 5);
        for block in data.chunks_mut(4096) {
            block[at..at + 8].copy_from_slice(b"FATHOM\x01\x00");
        }
        let path = file_with(folder.path(), "data", &data);
        let findings = examine_file(&path).findings;
        let all = (3 << 20) / 4096;
        let is_unknown =
            matches!(findings[..], [Finding::UnknownData { foreign, .. }] if foreign == all);
        assert!(is_unknown, "{at}: {findings:?}");
        // Nor where the rest of a block is blank.
        let mut little = vec![0; 1 << 20];
        little[40_960 + at..40_968 + at].copy_from_slice(b"FATHOM\x01\x00");
        little[40_968 + at] = 1;
        let path = file_with(folder.path(), "little", &little);
        assert_eq!(
            is_granted(&write_to_file(&path), &Overwrite::default()),
            at % 512 == 0,
            "{at}"
        );
    }
}

#[test]
fn all_of_little_data_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("blank");
    let file = File::create(&path).unwrap();
    file.write_all_at(&vec![0; 64 << 20], 0).unwrap();
    assert_eq!(examine_file(&path).findings, []);
    // One byte anywhere.
    for at in [9 << 20 | 77, 33 << 20 | 4095, 50_000_001] {
        file.write_all_at(b"x", at).unwrap();
        let findings = examine_file(&path).findings;
        let block = at / 4096 * 4096;
        let is_unknown =
            matches!(findings[..], [Finding::UnknownData { offset, .. }] if offset == block);
        assert!(is_unknown, "{at}: {findings:?}");
        file.write_all_at(&[0], at).unwrap();
    }
    // The same where data lie in holes, however few they are.
    let path = folder.path().join("holes");
    let file = File::create(&path).unwrap();
    file.set_len(1 << 40).unwrap();
    file.write_all_at(&vec![0; 1 << 20], 300 << 30).unwrap();
    file.write_all_at(b"x", 300 << 30 | 700_000).unwrap();
    assert!(!is_granted(&write_to_file(&path), &Overwrite::default()));
}

#[test]
fn the_start_of_each_data_area_is_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("areas");
    let file = File::create(&path).unwrap();
    file.set_len(1 << 40).unwrap();
    let ours = our_data(64 << 10, 3);
    // More than is read whole.
    for number in 0..2000_u64 {
        file.write_all_at(&ours, number << 28).unwrap();
    }
    let first_hole = rustix::fs::seek(&file, rustix::fs::SeekFrom::Hole(0)).unwrap();
    if first_hole > 64 << 10 {
        return println!("skipped: no holes are told here");
    }
    assert_eq!(examine_file(&path).findings, []);
    let at = 1777 << 28;
    file.write_all_at(&noise(4096, 9), at).unwrap();
    let findings = examine_file(&path).findings;
    let is_unknown = matches!(findings[..], [Finding::UnknownData { offset, .. }] if offset == at);
    assert!(is_unknown, "{findings:?}");
}

#[test]
fn a_little_data_in_a_large_hole_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sparse");
    let file = File::create(&path).unwrap();
    file.set_len(20 << 30).unwrap();
    file.write_all_at(&noise(4096, 1), 7 << 30 | 4096).unwrap();
    let first_hole = rustix::fs::seek(&file, rustix::fs::SeekFrom::Hole(0)).unwrap();
    if first_hole > 0 {
        return println!("skipped: no holes are told here");
    }
    let findings = examine_file(&path).findings;
    let is_unknown =
        matches!(findings[..], [Finding::UnknownData { offset, .. }] if offset == 7 << 30 | 4096);
    assert!(is_unknown, "{findings:?}");
}

#[test]
fn a_file_of_this_execution_may_hold_any_data_but_no_signature() {
    let directory = tempfile::tempdir().unwrap();
    let path = file_with(directory.path(), "pattern", &noise(1 << 20, 3));
    let request = Request {
        is_ours: true,
        ..write_to_file(&path)
    };
    assert!(is_granted(&request, &Overwrite::default()));
    File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .write_all_at(b"LUKS\xba\xbe", 0)
        .unwrap();
    assert!(!is_granted(&request, &Overwrite::default()));
}

#[test]
fn a_missing_file_is_granted_when_it_fits() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("new");
    let grants = guard(
        &SysRoot::real(),
        &[create(&path, 1 << 20)],
        &Overwrite::default(),
    )
    .unwrap();
    assert_eq!(grants[0].access(), Access::Create);
    assert!(!path.exists(), "the guard makes no file");
    let too_large = refused(&[create(&path, 1 << 60)], &words(&[path.to_str().unwrap()]));
    assert!(too_large.refusals.is_empty());
    assert_eq!(too_large.no_space[0].needed_bytes, 1 << 60);
    assert!(too_large.to_string().contains("free"), "{too_large}");
}

#[test]
fn what_cannot_be_made_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let cases = [
        create(&directory.path().join("no/such/directory/file"), 4096),
        create(Path::new("/proc/fathom-test"), 4096),
        write_to(&directory.path().join("gone"), TargetKind::File, 4096),
        Request {
            kind: TargetKind::Device,
            ..create(&directory.path().join("sdz"), 4096)
        },
    ];
    for request in cases {
        let path = request.path.display().to_string();
        let refusal = refused(std::slice::from_ref(&request), &words(&[&path]));
        assert_eq!(refusal.refusals[0].word, None, "{path}: no word may help");
    }
}

#[test]
fn what_is_no_file_is_refused_even_for_reading() {
    let directory = tempfile::tempdir().unwrap();
    for path in [
        directory.path(),
        Path::new("/dev/null"),
        Path::new("/dev/zero"),
    ] {
        for access in [Access::Read, Access::Write] {
            let request = Request {
                access,
                ..write_to(path, TargetKind::File, 4096)
            };
            let refusal = refused(&[request], &words(&[path.to_str().unwrap()]));
            assert!(matches!(
                refusal.refusals[0].findings[..],
                [Finding::NotUsable { .. }]
            ));
        }
    }
    let kernel = write_to(Path::new("/proc/sys/vm/swappiness"), TargetKind::File, 0);
    let findings = refused(&[kernel], &words(&["/proc/sys/vm/swappiness"]));
    assert!(matches!(
        findings.refusals[0].findings[..],
        [Finding::PseudoFileSystem { .. }]
    ));
}

#[test]
fn reading_is_granted_whatever_is_held() {
    let directory = tempfile::tempdir().unwrap();
    let path = file_with(directory.path(), "data", b"QFI\xfb and more");
    let request = Request {
        access: Access::Read,
        ..write_to_file(&path)
    };
    let examine = || {
        let door = Door::new(0);
        let examination =
            examine_through(&SysRoot::real(), &door, std::slice::from_ref(&request)).remove(0);
        (door, examination)
    };
    // Readers claim nothing.
    let (_door, examination) = examine();
    assert!(examination.findings.is_empty() && examine().1.findings.is_empty());
    let grants = judge(&[examination], &Overwrite::default()).unwrap();
    assert_eq!(grants[0].access(), Access::Read);
}

#[test]
fn a_file_is_claimed_by_one_execution_and_examined_all_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let path = file_with(directory.path(), "letter", b"Dear reader,\n");
    let examine =
        |door: &Door| examine_through(&SysRoot::real(), door, &[write_to_file(&path)]).remove(0);
    let first = Door::new(0);
    let held = examine(&first);
    assert!(matches!(held.findings[..], [Finding::UnknownData { .. }]));
    let word = words(&[path.to_str().unwrap()]);
    assert!(judge(&[held], &word).is_ok());
    let second = examine(&Door::new(0));
    assert!(
        matches!(
            second.findings[..],
            [Finding::Claimed { .. }, Finding::UnknownData { .. }]
        ),
        "{:?}",
        second.findings
    );
    assert!(judge(&[second], &word).is_err());
    drop(first);
    assert_eq!(examine(&Door::new(0)).findings.len(), 1);
}

#[test]
fn a_link_is_judged_by_what_it_leads_to() {
    let directory = tempfile::tempdir().unwrap();
    let path = file_with(directory.path(), "letter", b"Dear reader,\n");
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let request = write_to_file(&link);
    assert!(!is_granted(&request, &Overwrite::default()));
    for word in [&link, &path] {
        assert!(is_granted(&request, &words(&[word.to_str().unwrap()])));
    }
}
