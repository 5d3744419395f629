//! Every line of the signature table, planted by hand; no privilege needed.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::{examine_file, is_granted, names, noise, our_data, refused, words, write_to_file};
use crate::guard::content::Content;
use crate::guard::signatures::{Field, Form, SIGNATURES, Signature, search};

/// Room for every place but the btrfs copies, which have a test of their own.
const BYTES: u64 = 8 << 20;

fn blank_file(bytes: u64) -> File {
    let file = tempfile::tempfile().unwrap();
    file.set_len(bytes).unwrap();
    file
}

fn encode(field: &Field, value: u32) -> Vec<u8> {
    let (little, big) = (value.to_le_bytes(), value.to_be_bytes());
    match field.form {
        Form::Byte => vec![value as u8],
        Form::Little16 => little[..2].to_vec(),
        Form::Big16 => big[2..].to_vec(),
        Form::Little32 => little.to_vec(),
        Form::Big32 => big.to_vec(),
    }
}

fn put(file: &File, at: u64, bytes: &[u8]) {
    file.write_all_at(bytes, at).unwrap();
}

fn bytes_at(file: &File, at: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    file.read_exact_at(&mut bytes, at).unwrap();
    bytes
}

/// Magic, fields at the low end of their ranges, and what the checks ask for.
fn plant(file: &File, signature: &Signature, at: u64) {
    put(file, at, signature.magic);
    for field in signature.fields {
        let place = at.checked_add_signed(field.from_magic).unwrap();
        put(file, place, &encode(field, field.low));
    }
    if signature.check.is_none() {
        return;
    }
    match signature.name {
        "MBR partition table" => put(file, at - 64, &mbr_entry(0x83)),
        "Sun disk label" => put(file, at + 2, signature.magic),
        "VIA RAID member" => {
            let sum = bytes_at(file, at, 50)
                .iter()
                .fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
            put(file, at + 50, &[sum]);
        }
        "JMicron RAID member" => {
            let word = u16::from_le_bytes(*b"JM").wrapping_neg();
            put(file, at + 2, &word.to_le_bytes());
        }
        other => panic!("the test knows no example of {other}"),
    }
}

fn mbr_entry(kind: u8) -> [u8; 16] {
    let mut entry = [0; 16];
    entry[4] = kind;
    entry[8] = 8;
    entry[12] = 100;
    entry
}

fn found(file: &File) -> Vec<&'static str> {
    let content = Content::new(file, file.metadata().unwrap().len());
    search(&content).iter().map(|hit| hit.name).collect()
}

#[test]
fn every_signature_is_found_at_every_place() {
    let mut planted = 0;
    for signature in SIGNATURES {
        for place in signature.places {
            // A size that is no multiple of 64 KiB tells places by the end apart.
            for at in place.offsets(BYTES + 12_288).step_by(7) {
                if at >= BYTES + 12_288 {
                    continue;
                }
                let file = blank_file(BYTES + 12_288);
                plant(&file, signature, at);
                let found = found(&file);
                let name = signature.name;
                assert!(found.contains(&name), "{name} at {at}: {found:?}");
                planted += 1;
            }
        }
    }
    assert!(planted > 300, "{planted}");
}

#[test]
fn every_copy_of_a_btrfs_superblock_is_found() {
    for at in [65_600, 64 << 20 | 64, 256 << 30 | 64] {
        let file = blank_file(257 << 30);
        put(&file, at, b"_BHRfS_M");
        assert_eq!(found(&file), ["btrfs file system"], "{at}");
    }
}

#[test]
fn a_short_magic_alone_is_not_enough() {
    for signature in SIGNATURES {
        let is_weak = signature.magic.len() < 4;
        let is_guarded = !signature.fields.is_empty() || signature.check.is_some();
        assert!(is_guarded || !is_weak, "{}", signature.name);
        for field in signature.fields {
            let Some(outside) = field.high.checked_add(1).or(field.low.checked_sub(1)) else {
                continue;
            };
            let outside = match field.form {
                // A range up to the largest number is left at its low end.
                Form::Byte if outside > 0xff => field.low.saturating_sub(1),
                Form::Little16 | Form::Big16 if outside > 0xffff => field.low.saturating_sub(1),
                _ => outside,
            };
            if (field.low..=field.high).contains(&outside) {
                continue;
            }
            let at = signature.places[0].offsets(BYTES).next().unwrap();
            let file = blank_file(BYTES);
            plant(&file, signature, at);
            let place = at.checked_add_signed(field.from_magic).unwrap();
            put(&file, place, &encode(field, outside));
            let found = found(&file);
            assert!(
                !found.contains(&signature.name),
                "{}: {field:?}",
                signature.name
            );
        }
    }
}

#[test]
fn sums_and_entries_are_checked() {
    let weak: Vec<&Signature> = SIGNATURES
        .iter()
        .filter(|one| one.check.is_some())
        .collect();
    assert_eq!(weak.len(), 4);
    for signature in weak {
        let at = signature.places[0].offsets(BYTES).next().unwrap();
        let file = blank_file(BYTES);
        plant(&file, signature, at);
        assert!(found(&file).contains(&signature.name));
        let spoiled = if signature.name == "MBR partition table" {
            at - 48
        } else {
            at + 3
        };
        put(&file, spoiled, &[0x55]);
        assert!(
            !found(&file).contains(&signature.name),
            "{}",
            signature.name
        );
    }
    let empty = blank_file(BYTES);
    put(&empty, 510, b"\x55\xaa");
    assert!(
        found(&empty).is_empty(),
        "an MBR without entries is no table"
    );
}

#[test]
fn nothing_is_found_in_blank_ours_and_noise() {
    let len = BYTES as usize;
    for (name, data) in [
        ("zeros", vec![0; len]),
        ("ones", vec![0xff; len]),
        ("ours", our_data(len, 7)),
        ("noise", noise(len, 9)),
    ] {
        let file = blank_file(BYTES);
        put(&file, 0, &data);
        assert!(found(&file).is_empty(), "{name}: {:?}", found(&file));
    }
    // Places at either end with many seeds: a weak magic would show here.
    for seed in 1..400 {
        let file = blank_file(0);
        put(&file, 0, &our_data(160 << 10, seed));
        assert!(found(&file).is_empty(), "seed {seed}: {:?}", found(&file));
    }
}

#[test]
fn a_signature_over_our_own_data_is_found() {
    let file = blank_file(BYTES);
    put(&file, 0, &our_data(BYTES as usize, 3));
    // A partitioning tool leaves the first 440 bytes as they are.
    put(&file, 446, &[0; 64]);
    put(&file, 446, &mbr_entry(7));
    put(&file, 510, b"\x55\xaa");
    assert_eq!(found(&file), ["MBR partition table"]);
}

#[test]
fn small_and_empty_contents_are_no_trouble() {
    for bytes in [0, 1, 511, 512, 513, 4095, 4097, 70_000] {
        assert!(found(&blank_file(bytes)).is_empty());
    }
}

#[test]
fn every_signature_in_a_file_is_refused_and_overridable_by_path() {
    let directory = tempfile::tempdir().unwrap();
    // One of each family, through the whole way: the table itself is tested above.
    let mut families = Vec::new();
    for signature in SIGNATURES {
        if families.contains(&signature.family) {
            continue;
        }
        families.push(signature.family);
        let path = directory.path().join(format!("{:?}", signature.family));
        let file = File::create(&path).unwrap();
        file.set_len(BYTES).unwrap();
        let at = signature.places[0].offsets(BYTES).next().unwrap();
        plant(&file, signature, at);
        assert_refused_until_named(&path, signature.name);
    }
    assert_eq!(families.len(), 9);
}

fn assert_refused_until_named(path: &Path, name: &str) {
    let findings = examine_file(path).findings;
    assert!(names(&findings).contains(&name), "{name}: {findings:?}");
    let request = write_to_file(path);
    let refusal = refused(std::slice::from_ref(&request), &words(&["/some/other"]));
    let text = refusal.to_string();
    let path_text = path.display().to_string();
    assert!(
        text.contains(name) && text.contains(&format!("--overwrite {path_text}")),
        "{text}"
    );
    let before = fs::read(path).unwrap();
    assert!(is_granted(&request, &words(&[&path_text])));
    assert!(fs::read(path).unwrap() == before, "{name}: the guard wrote");
}
