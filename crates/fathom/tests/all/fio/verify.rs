//! Data that are checked: what fio writes is checked here, what is written here is checked by fio,
//! and both say the same of a block that was changed in between.
use crate::lab::{Ended, FATHOM, Lab};
use crate::support::fio::{FIO, has_fio, programs};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Every method that has a sum, and those that have none.
const METHODS: [&str; 18] = [
    "crc7",
    "crc16",
    "crc32",
    "crc32c",
    "crc32c-intel",
    "crc64",
    "md5",
    "sha1",
    "sha256",
    "sha512",
    "sha3-224",
    "sha3-256",
    "sha3-384",
    "sha3-512",
    "xxhash",
    "meta",
    "pattern",
    "null",
];

/// The lines about data.
fn complaints(output: &Ended) -> Vec<String> {
    let is_complaint = |line: &&str| {
        ["verify", "CRC: ", "pattern"]
            .iter()
            .any(|word| line.contains(word))
            && !line.contains("rw=")
            && !line.contains("--")
            && !line.starts_with("note")
    };
    let text = output.all();
    let lines = text.lines().filter(is_complaint);
    lines.map(|line| line.trim().to_owned()).collect()
}

fn change(path: &Path, at: u64) {
    let file = std::fs::File::options()
        .read(true)
        .write(true)
        .open(path)
        .unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[!byte[0]], at).unwrap();
}

/// The transfers of a report: `16,16,0,0` for as many reads and writes.
fn issued(output: &Ended) -> String {
    let text = output.all();
    let line = text.lines().find(|line| line.contains("issued rwts"));
    let line = line.unwrap_or_else(|| panic!("no report:\n{text}"));
    let total = line.split("total=").nth(1).unwrap();
    total.split(' ').next().unwrap().to_owned()
}

fn job<'a>(rw: &'a str, method: &'a str, more: &[&'a str]) -> Vec<String> {
    let mut words = vec![
        "--name=a".to_owned(),
        "--filename=data".to_owned(),
        "--ioengine=psync".to_owned(),
        "--eta=never".to_owned(),
        format!("--rw={rw}"),
        format!("--verify={method}"),
    ];
    if method == "pattern" {
        words.push("--verify_pattern=0xdeadbeef".to_owned());
    }
    words.extend(more.iter().map(|word| (*word).to_owned()));
    words
}

#[test]
fn each_program_checks_what_the_other_wrote() {
    // The last sizes make the padding of sums with blocks of 64 bytes wrap.
    let sizes = [("4k", "64k"), ("4128", "66048")];
    for (method, (block, size)) in METHODS
        .iter()
        .flat_map(|method| sizes.map(|sizes| (method, sizes)))
    {
        let lab = Lab::new();
        let size = [format!("--size={size}"), format!("--bs={block}")];
        let size = size.each_ref().map(String::as_str);
        let write = job("write", method, &[&size[..], &["--do_verify=0"]].concat());
        let read = job("read", method, &size);
        let Some(output) = lab.reference_fio(&write) else {
            return;
        };
        output.expect(0);
        lab.fio(&read).expect(0);

        lab.remove("data");
        let output = lab.fio(&write).expect(0);
        assert!(issued(&output).starts_with("0,16,"), "{output}");
        lab.reference_fio(&read).unwrap().expect(0);
    }
}

#[test]
fn a_changed_block_is_told_in_the_words_of_fio() {
    for method in &["crc32c", "sha256", "sha3-512", "meta", "pattern"] {
        // The data, the length in the header, its sum, its mark.
        for at in [4096 + 4095, 4096 + 5, 4096 + 37, 4096] {
            let lab = Lab::new();
            let size = ["--size=64k", "--bs=4k"];
            let write = job("write", method, &[&size[..], &["--do_verify=0"]].concat());
            lab.fio(&write).expect(0);
            change(&lab.path("data"), at);
            let read = job("read", method, &size);
            let output = lab.fio(&read);
            let expected = lab.reference_fio(&read);
            let sees_data = *method != "meta" || at < 4096 + 40;
            assert_eq!(output.code != Some(0), sees_data, "{output}");
            if sees_data {
                output.tells(&["err=84"]);
            }
            let Some(expected) = expected else { continue };
            let told = complaints(&expected);
            if *method == "pattern" {
                // The length that fio tells here is that of a header which is not there.
                assert_eq!(complaints(&output)[0], told[0]);
                continue;
            }
            assert_eq!(complaints(&output), told, "{method} at {at}");
        }
    }
}

#[test]
fn writes_are_read_back_in_the_same_job() {
    for (rw, more, issued_by_both) in [
        ("write", &["--bs=4k"][..], "16,16,0,0"),
        ("randwrite", &["--bs=4k"][..], "16,16,0,0"),
        (
            "randwrite",
            &["--bs=8k", "--verify_interval=1k"][..],
            "8,8,0,0",
        ),
        ("write", &["--bs=4k", "--loops=3"][..], "16,48,0,0"),
        ("write", &["--bs=4k", "--do_verify=0"][..], "0,16,0,0"),
        (
            "write",
            &["--bs=4k", "--verify_offset=256"][..],
            "16,16,0,0",
        ),
    ] {
        let lab = Lab::new();
        let words_of = job(rw, "xxhash", &[&["--size=64k"][..], more].concat());
        let output = lab.fio(&words_of).expect(0);
        assert_eq!(issued(&output), issued_by_both, "{rw} {more:?}");
        let read = job("read", "xxhash", &[&["--size=64k"][..], more].concat());
        let read = read
            .iter()
            .filter(|word| !word.contains("loops") && !word.contains("do_verify"));
        if let Some(output) = lab.reference_fio(read) {
            output.expect(0);
        }
    }
}

/// Gaps, zones and places that the size of an I/O does not divide.
#[test]
fn what_begins_between_blocks_is_read_back_where_it_was_written() {
    let zones = |more: &'static str| ["--zonemode=strided", "--zonesize=10k", more];
    let backlog = ["--verify_backlog=5"];
    for (rw, more, issued_by_both) in [
        ("write:1k", &[][..], "205,205,0,0"),
        ("write:1k", &backlog[..], "205,205,0,0"),
        ("write", &zones("--zoneskip=3k"), "236,236,0,0"),
        ("write", &zones("--zonerange=13k"), "236,236,0,0"),
        (
            "write",
            &[&zones("--zoneskip=3k")[..], &backlog].concat(),
            "236,236,0,0",
        ),
        // Of three blocks in a zone the next one covers part of the last.
        ("write", &zones("--zoneskip=1k"), "171,256,0,0"),
        ("write:-1k", &[], "1,256,0,0"),
        ("write:-8k", &["--size=1000001"], "243,245,0,0"),
        ("write:1k", &["--verify=meta"], "205,205,0,0"),
        (
            "write:1k",
            &["--verify=pattern", "--verify_pattern=%o"],
            "205,205,0,0",
        ),
        (
            "write:1k",
            &[
                "--bs=8k",
                "--verify_interval=4k",
                "--ioengine=libaio",
                "--iodepth=8",
                "--verify_backlog=4",
            ],
            "113,113,0,0",
        ),
    ] {
        let lab = Lab::new();
        let words_of = job(rw, "md5", &[&["--size=1m", "--bs=4k"], more].concat());
        let output = lab.fio(&words_of).expect(0);
        assert_eq!(issued(&output), issued_by_both, "{rw} {more:?}");
        lab.remove("data");
        if let Some(output) = lab.reference_fio(&words_of) {
            assert_eq!(issued(&output), issued_by_both, "{rw} {more:?} by fio");
        }
    }
    for (rw, more) in [
        ("randwrite", &zones("--zoneskip=3k")[..]),
        ("randwrite", &["--blockalign=1k", "--io_size=3m"]),
        ("rw:1k", &["--bsrange=2k-8k"]),
    ] {
        let deep = ["--ioengine=libaio", "--iodepth=16", "--verify_backlog=7"];
        for deep in [&[][..], &deep] {
            let lab = Lab::new();
            let own = [&["--size=1m", "--bs=4k"], more, deep].concat();
            lab.fio(job(rw, "crc32c", &own)).expect(0);
        }
    }
}

/// Each program reads with gaps what the other wrote so, and a changed block is found.
#[test]
fn what_begins_between_blocks_is_checked_by_a_later_job() {
    for more in [
        &["--rw=write:1k"][..],
        &["--zonemode=strided", "--zonesize=10k", "--zoneskip=3k"],
    ] {
        let lab = Lab::new();
        let own = [&["--size=64k", "--bs=4k"], more].concat();
        let write = job("write", "md5", &own);
        let check = [&own[..], &["--verify_only"]].concat();
        let check = job("write", "md5", &check);
        lab.fio(&write).expect(0);
        lab.fio(&check).expect(0);
        if let Some(output) = lab.reference_fio(&check) {
            output.expect(0);
        }
        change(&lab.path("data"), 15 << 10);
        let told = complaints(&lab.fio(&check));
        assert!(told.iter().any(|line| line.contains("verify")), "{told:?}");
        lab.remove("data");
        let Some(output) = lab.reference_fio(&write) else {
            return;
        };
        output.expect(0);
        lab.fio(&check).expect(0);
    }
}

#[test]
fn a_second_job_writes_over_the_first_without_a_word() {
    for more in [
        &["--bs=4k"][..],
        &["--bs=64k"],
        &["--bs=64k", "--verify_interval=1k"],
        &["--bs=64k", "--verify_interval=16k"],
        &["--bs=1k"],
        &["--rw=randwrite", "--bs=8k", "--io_size=512k"],
    ] {
        let lab = Lab::new();
        let words_of = job("write", "crc32c", &[&["--size=2m"][..], more].concat());
        if lab.reference_fio(&words_of).is_none() {
            return;
        }
        for _ in 0..2 {
            lab.fio(&words_of).expect(0);
        }
        change(&lab.path("data"), 1 << 20);
        let output = lab.fio(&words_of);
        let is_asked = more.contains(&"--rw=randwrite") || output.code == Some(3);
        assert!(is_asked, "{more:?}: {output}");
    }
}

/// The I/Os of a record, each by its first letter and the number of its block.
fn order(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let line = |line: &str| {
        let mut words = line
            .split_whitespace()
            .skip_while(|word| *word != "data")
            .skip(1);
        let operation = words
            .next()
            .filter(|word| ["read", "write", "trim"].contains(word))?;
        let offset: u64 = words.next()?.parse().ok()?;
        Some(format!("{}{}", &operation[..1], offset / 4096))
    };
    text.lines().filter_map(line).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_backlog_is_read_back_between_the_writes() {
    for (more, expected) in [
        (
            &["--verify_backlog=4"][..],
            "w0 w1 w2 w3 r0 r1 r2 r3 w4 w5 w6 w7 r4 r5 r6 r7 w8 w9",
        ),
        (
            &["--verify_backlog=4", "--verify_backlog_batch=2"],
            "w0 w1 w2 w3 r0 r1 w4 w5 r2 r3 w6 w7 r4 r5 w8 w9 r6 r7",
        ),
        (&["--verify_backlog=64"], "w0 w1 w2 w3 w4 w5 w6 w7 w8 w9"),
        (
            &["--verify_backlog=4", "--do_verify=0"],
            "w0 w1 w2 w3 w4 w5 w6 w7 w8 w9",
        ),
    ] {
        let lab = Lab::new();
        let own = ["--bs=4k", "--size=40k", "--write_iolog=log"];
        let words_of = job("write", "crc32c", &[&own[..], more].concat());
        let output = lab.fio(&words_of).expect(0);
        let is_read_back = !more.contains(&"--do_verify=0");
        let counts = if is_read_back {
            "10,10,0,0"
        } else {
            "0,10,0,0"
        };
        assert_eq!(issued(&output), counts, "{more:?}: {output}");
        let found = order(&lab.path("log"));
        assert!(found.starts_with(expected), "{more:?}: {found}");
        lab.remove("data");
        if let Some(output) = lab.reference_fio(&words_of) {
            assert_eq!(issued(&output), counts, "{more:?} by fio");
        }
    }
}

#[test]
fn a_backlog_of_several_in_flight_reads_back_each_write_once() {
    for (engine, more) in [
        ("libaio", &["--rw=randwrite"][..]),
        ("io_uring", &["--rw=randwrite", "--verify_backlog_batch=3"]),
        // Blocks are written over while others are read back.
        (
            "io_uring",
            &["--rw=randwrite", "--norandommap", "--io_size=16m"],
        ),
        (
            "libaio",
            &["--rw=write", "--loops=3", "--verify_interval=512"],
        ),
    ] {
        let lab = Lab::new();
        let own = [
            "--bs=4k",
            "--size=4m",
            "--iodepth=16",
            "--verify_backlog=32",
        ];
        let engine = format!("--ioengine={engine}");
        let words_of = job("write", "crc32c", &[&own[..], more, &[&engine]].concat());
        let output = lab.fio(&words_of).expect(0);
        let counts = issued(&output);
        let (reads, writes) = counts.trim_end_matches(",0,0").split_once(',').unwrap();
        if more == ["--rw=randwrite"] || more.len() == 2 {
            assert_eq!((reads, writes), ("1024", "1024"), "{more:?}");
        }
    }
}

/// The files that are named so, with their contents.
fn dumps(lab: &Lab, folder: &str) -> Vec<(String, Vec<u8>)> {
    let names = lab.names(folder).into_iter();
    names
        .filter(|name| name.starts_with("data."))
        .map(|name| (name.clone(), lab.bytes(&format!("{folder}/{name}"))))
        .collect()
}

#[test]
fn both_contents_of_a_wrong_block_are_kept_whoever_wrote_it() {
    for (writer, block, more) in [
        (FATHOM, 4096, &["--bs=4k"][..]),
        (FATHOM, 2048, &["--bs=16k", "--verify_interval=2k"]),
        (
            FATHOM,
            2048,
            &["--bs=16k", "--verify_interval=2k", "--verify_offset=512"],
        ),
        (FATHOM, 8192, &["--bs=8k", "--verify_pattern=0x5566"]),
        (
            FATHOM,
            8192,
            &["--bs=8k", "--buffer_compress_percentage=50"],
        ),
        (FIO, 4096, &["--bs=4k"]),
        (FIO, 2048, &["--bs=16k", "--verify_interval=2k"]),
        (
            FIO,
            2048,
            &["--bs=16k", "--verify_interval=2k", "--verify_offset=512"],
        ),
    ] {
        let lab = Lab::new();
        let data = lab.path("data");
        let own = [&["--size=64k"][..], more].concat();
        let write = job("write", "md5", &[&own[..], &["--do_verify=0"]].concat());
        if writer == FIO && !has_fio() {
            continue;
        }
        lab.fio_by(writer, &write).expect(0);
        let sound = std::fs::read(&data).unwrap();
        change(&data, 20_480 + 1000);
        let wrong = std::fs::read(&data).unwrap();
        std::fs::create_dir(lab.path("aux")).unwrap();
        let goes_on = [
            "--verify_dump=1",
            "--continue_on_error=verify",
            "--aux-path=aux",
        ];
        let read = job("read", "md5", &[&own[..], &goes_on].concat());
        let output = lab.fio(&read);
        let found = dumps(&lab, "aux");
        let at = 20_480 / block * block;
        let expected = [
            (
                format!("data.{at}.expected"),
                sound[at..at + block].to_vec(),
            ),
            (
                format!("data.{at}.received"),
                wrong[at..at + block].to_vec(),
            ),
        ];
        assert!(found == expected, "{writer} {more:?}: {output}");
        output.tells(&["received data dumped as aux/data."]);

        let header = at as u64 + if more.len() == 3 { 512 } else { 0 };
        change(&data, header + 3);
        let output = lab.fio(&read);
        let name = format!("data.{at}.hdr_fail");
        let kept = dumps(&lab, "aux")
            .into_iter()
            .find(|(found, _)| *found == name);
        let wrong = std::fs::read(&data).unwrap();
        assert!(kept.unwrap().1 == wrong[at..at + block], "{output}");
    }
}

#[test]
fn dumps_have_the_names_of_fio() {
    for (method, at) in [("crc32c", 5000), ("pattern", 5000), ("crc32c", 4098)] {
        let lab = Lab::new();
        let size = ["--size=64k", "--bs=4k"];
        let write = job("write", method, &[&size[..], &["--do_verify=0"]].concat());
        lab.fio(&write).expect(0);
        change(&lab.path("data"), at);
        let read = job("read", method, &[&size[..], &["--verify_dump=1"]].concat());
        let names = || {
            let names = dumps(&lab, ".").into_iter().map(|(name, _)| name);
            names.collect::<Vec<_>>()
        };
        lab.fio(&read);
        let ours = names();
        ours.iter().for_each(|name| lab.remove(name));
        assert!(!ours.is_empty());
        if lab.reference_fio(&read).is_some() {
            assert_eq!(ours, names(), "{method} {at}");
        }
    }
}

#[test]
fn a_pattern_may_stand_in_a_file() {
    let lab = Lab::new();
    lab.write("pat", "HELLO");
    let pattern = "--verify_pattern='pat'\"xy\"";
    let own = |rw| job(rw, "meta", &["--size=16k", "--bs=4k", pattern]);
    let read = own("read");
    lab.fio(own("write")).expect(0);
    let data = lab.bytes("data");
    let expected: Vec<u8> = b"HELLOxy".iter().copied().cycle().take(4096).collect();
    assert!(data[4096 + 40..8192] == expected[40..]);
    for program in programs() {
        lab.fio_by(program, &read).expect(0);
    }
    lab.remove("pat");
    lab.fio(&read).expect(2).tells(&["no such file"]);
}

#[test]
fn a_pattern_holds_the_address_of_each_write_as_that_of_fio_does() {
    for (method, own) in [
        ("pattern", "--verify_pattern=%o"),
        ("pattern", "--verify_pattern=0xff%o\"abcd\"-12"),
        ("pattern", "--verify_pattern=\"abcd\"%o%o"),
        ("meta", "--verify_pattern=0x11%o"),
        ("crc32c", "--verify_pattern=0x11%o"),
    ] {
        let lab = Lab::new();
        let words_of = |rw, more: &[&str]| {
            let own = ["--size=64k", "--bs=8k", "--verify_interval=4k", own];
            job(rw, method, &[&own[..], more].concat())
        };
        let plain = |words: Vec<String>| -> Vec<String> {
            let is_of_job = |word: &String| *word != "--verify_pattern=0xdeadbeef";
            words.into_iter().filter(is_of_job).collect()
        };
        let write = plain(words_of("randwrite", &[]));
        let read = plain(words_of("read", &[]));
        let output = lab.fio(&write).expect(0);
        assert_eq!(issued(&output), "8,8,0,0", "{own}");
        let made = lab.bytes("data");
        if let Some(output) = lab.reference_fio(&read) {
            output.expect(0);
            lab.remove("data");
            assert!(lab.reference_fio(&write).is_some());
            if method == "pattern" {
                assert!(made == lab.bytes("data"), "{own}");
            }
        }
        lab.fio(&read).expect(0);
        // A block that was written elsewhere.
        let mut moved = lab.bytes("data");
        moved.copy_within(..8192, 16_384);
        lab.write("data", moved);
        lab.fio(&read).tells(&["err=84"]);
    }
}

/// fio 3.33 has the check, and no word for it; later ones have.
#[test]
fn a_pattern_after_a_header_is_checked_by_each_program() {
    const PATTERN: &str = "--verify_pattern=0xff%o";
    let words_of = |rw, more: &[&str]| -> Vec<String> {
        let own = ["--size=64k", "--bs=16k", "--verify_interval=4k", PATTERN];
        let words = job(rw, "none", &[&own[..], more].concat());
        let is_ours = |word: &String| *word != "--verify=none";
        words.into_iter().filter(is_ours).collect()
    };
    for (writer, own) in programs().flat_map(|writer| [(writer, false), (writer, true)]) {
        if own && writer == FIO {
            continue;
        }
        let word: &[&str] = if own { &["--verify=pattern_hdr"] } else { &[] };
        let lab = Lab::new();
        lab.fio_by(writer, words_of("write", word)).expect(0);
        assert_eq!(lab.bytes("data")[8192..8196], [0xca, 0xac, 0x11, 0]);
        let read = words_of("read", &[]);
        for reader in programs() {
            lab.fio_by(reader, &read).expect(0);
        }
        lab.fio(words_of("read", &["--verify=pattern_hdr"]))
            .expect(0);
        // A byte of the pattern, then the length in a header.
        for at in [20_000, 8192 + 5] {
            change(&lab.path("data"), at);
            lab.fio(&read).tells(&["err=84"]);
            // fio 3.33 tells it and ends well where a sound block of the same transfer follows.
            let told = programs().map(|reader| complaints(&lab.fio_by(reader, &read)));
            let told: Vec<Vec<String>> = told.collect();
            assert!(
                told.iter()
                    .all(|lines| *lines == told[0] && !lines.is_empty()),
                "{told:?}"
            );
            change(&lab.path("data"), at);
        }
    }
    Lab::new()
        .fio(job("write", "pattern_hdr", &["--size=64k"]))
        .expect(2)
        .tells(&["`verify=pattern_hdr` needs `verify_pattern`"]);
}

#[test]
fn a_pattern_of_an_interval_holds_the_address_of_each_part() {
    for (method, header) in [("pattern", 0), ("pattern_hdr", 40)] {
        let lab = Lab::new();
        let own = ["--size=256k", "--bs=64k", "--verify_pattern_interval=4k"];
        let own = [&own[..], &["--verify_pattern=%o"]].concat();
        let plain = |words: Vec<String>| -> Vec<String> {
            let is_of_job = |word: &String| *word != "--verify_pattern=0xdeadbeef";
            words.into_iter().filter(is_of_job).collect()
        };
        lab.fio(plain(job("randwrite", method, &own))).expect(0);
        let made = lab.bytes("data");
        let wrong = (0..made.len()).step_by(8).find(|at| {
            let expected = (*at as u64 / 4096 * 4096).to_le_bytes();
            at % 65_536 >= header && made[*at..at + 8] != expected
        });
        assert_eq!(wrong, None, "{method}");
        let read = plain(job("read", method, &own));
        lab.fio(&read).expect(0);
        // A part of the same block that was written elsewhere in it.
        let mut moved = made.clone();
        moved.copy_within(4096..8192, 12_288);
        lab.write("data", moved);
        let told = 12_289 - header;
        lab.fio(&read)
            .tells(&["err=84", &format!("bad pattern block offset {told}\n")]);
    }
}

#[test]
fn a_pattern_that_does_not_divide_the_blocks_is_sound_in_all_sizes() {
    for pattern in ["--verify_pattern=\"seventy\"", "--verify_pattern=\"abc\"%o"] {
        let lab = Lab::new();
        let own = [
            "--size=2m",
            "--bssplit=4k/50:12k/50",
            pattern,
            "--io_size=6m",
        ];
        let words_of: Vec<String> = job("randwrite", "pattern", &own)
            .into_iter()
            .filter(|word| *word != "--verify_pattern=0xdeadbeef")
            .chain(["--norandommap".to_owned()])
            .collect();
        lab.fio(&words_of).expect(0);
    }
}

#[test]
fn an_address_in_a_pattern_that_nobody_checks_is_refused() {
    let lab = Lab::new();
    let words = ["--name=a", "--rw=write", "--size=64k", "--filename=data"];
    let words = [&words[..], &["--buffer_pattern=%o"]].concat();
    lab.fio(&words).expect(2).tells(&["verify_pattern"]);
}

#[test]
fn part_of_what_is_written_is_trimmed_in_between() {
    for (more, expected, counts) in [
        (
            &["--trim_percentage=100", "--trim_backlog=4"][..],
            "w0 w1 w2 w3 t0 t1 t2 t3 w4 w5 w6 w7 t4 t5 t6 t7 w8 w9",
            "10,10,8,0",
        ),
        (
            &[
                "--trim_percentage=100",
                "--trim_backlog=4",
                "--trim_backlog_batch=2",
                "--trim_verify_zero=0",
            ],
            "w0 w1 w2 w3 t0 t1 w4 w5 t2 t3 w6 w7 t4 t5 w8 w9 t6 t7",
            "2,10,8,0",
        ),
        (
            &[
                "--trim_percentage=100",
                "--trim_backlog=4",
                "--verify_backlog=4",
            ],
            "w0 w1 w2 w3 t0 t1 t2 t3 w4 w5 w6 w7 t4 t5 t6 t7 w8 w9",
            "10,10,8,0",
        ),
        (
            &["--trim_percentage=100"],
            "w0 w1 w2 w3 w4 w5 w6 w7 w8 w9",
            "10,10,0,0",
        ),
        (
            &["--trim_percentage=100", "--trim_backlog=4", "--do_verify=0"],
            "w0 w1 w2 w3 w4 w5 w6 w7 w8 w9",
            "0,10,0,0",
        ),
    ] {
        let lab = Lab::new();
        let own = ["--bs=4k", "--size=40k", "--write_iolog=log"];
        let words_of = job("write", "crc32c", &[&own[..], more].concat());
        let output = lab.fio(&words_of).expect(0);
        assert_eq!(issued(&output), counts, "{more:?}: {output}");
        let found = order(&lab.path("log"));
        assert!(found.starts_with(expected), "{more:?}: {found}");
        let data = lab.bytes("data");
        for block in 0..10 {
            let is_trimmed = expected.contains(&format!("t{block}"));
            let is_zeros = data[block * 4096..][..4096].iter().all(|byte| *byte == 0);
            assert_eq!(is_zeros, is_trimmed, "{more:?}: {block}");
        }
    }
}

#[test]
fn trims_and_checks_of_several_in_flight_fit_each_other() {
    for more in [
        &["--ioengine=libaio", "--trim_percentage=50"][..],
        &[
            "--ioengine=io_uring",
            "--trim_percentage=30",
            "--verify_backlog=16",
        ],
        // Blocks are written over while others are trimmed.
        &[
            "--ioengine=io_uring",
            "--trim_percentage=100",
            "--norandommap",
            "--io_size=16m",
        ],
    ] {
        let lab = Lab::new();
        let own = ["--bs=4k", "--size=4m", "--iodepth=16", "--trim_backlog=8"];
        let words_of = job("randwrite", "crc32c", &[&own[..], more].concat());
        let output = lab.fio(&words_of).expect(0);
        let counts = issued(&output);
        let trims: u64 = counts.split(',').nth(2).unwrap().parse().unwrap();
        let share = if more.len() == 2 { 400..620 } else { 150..4096 };
        assert!(share.contains(&trims), "{more:?}: {counts}");
    }
}

/// Of each job, in order.
fn issued_by_all(output: &Ended) -> Vec<String> {
    let text = output.all();
    let lines = text.lines().filter_map(|line| line.split("total=").nth(1));
    lines
        .map(|rest| rest.split(' ').next().unwrap().to_owned())
        .collect()
}

#[test]
fn jobs_with_checks_of_several_kinds_share_a_file() {
    let of_both = "[global]\nfilename=data\nioengine=psync\nrw=randwrite\n";
    let apart = "[a]\nverify=crc32c\nbs=4k\nsize=1m\n[b]\nverify=md5\nbs=8k\noffset=1m\nsize=1m\n";
    let behind = "[a]\nverify=crc32c\nbs=4k\nsize=2m\n\
                  [b]\nstonewall\nverify=md5\nbs=4k\nsize=1m\n\
                  [c]\nstonewall\nverify=md5\nrw=read\nbs=4k\nsize=1m\n\
                  [d]\nstonewall\nverify=crc32c\nrw=read\nbs=4k\noffset=1m\nsize=1m\n";
    // What the first has written is over when the last is checked.
    let between = "[a]\nverify=crc32c\nbs=4k\nsize=2m\n\
                   [b]\nstonewall\nbs=16k\nsize=2m\n\
                   [c]\nstonewall\nverify=crc32c\nbs=4k\nsize=2m\nio_size=1m\n";
    for (jobs, counts) in [
        (apart, &["256,256,0,0", "128,128,0,0"][..]),
        (
            behind,
            &["512,512,0,0", "256,256,0,0", "256,0,0,0", "256,0,0,0"],
        ),
        (between, &["512,512,0,0", "0,128,0,0", "256,256,0,0"]),
    ] {
        let lab = Lab::new();
        lab.write("jobs.fio", format!("{of_both}{jobs}"));
        let output = lab.fio(["jobs.fio", "--eta=never"]).expect(0);
        assert_eq!(issued_by_all(&output), counts, "{jobs}");
    }
}

#[test]
fn jobs_that_write_over_each_other_check_what_is_left_of_their_own() {
    let jobs = "[global]\nfilename=data\nioengine=psync\nrw=randwrite\nsize=1m\nloops=8\n\
                norandommap\n[a]\nverify=crc32c\nbs=4k\n[b]\nverify=sha1\nbs=16k\n";
    let lab = Lab::new();
    lab.write("jobs.fio", jobs);
    let output = lab.fio(["jobs.fio", "--eta=never"]).expect(0);
    let counts = issued_by_all(&output);
    assert!(counts[0].ends_with(",2048,0,0"), "{counts:?}");
    assert!(counts[1].ends_with(",512,0,0"), "{counts:?}");
    // What one has written over the other is not read back by it.
    let reads = |counts: &str| counts.split(',').next().unwrap().parse::<u64>().unwrap();
    let bytes = reads(&counts[0]) * 4 + reads(&counts[1]) * 16;
    assert!(bytes <= 1024, "{counts:?}");
}

/// Writes, and reads that find what was written before them.
const RECORD: &str = "fio version 2 iolog\ndata add\ndata open\ndata write 0 4096\n\
                      data write 4096 4096\ndata read 0 4096\ndata write 8192 8192\n\
                      data read 12288 4096\ndata close\n";

#[test]
fn what_is_replayed_is_checked_as_what_is_drawn() {
    let reads: String = RECORD
        .lines()
        .filter(|line| !line.contains("write"))
        .map(|line| format!("{line}\n"))
        .collect();
    let replay = |record: &str, more: &[&str]| {
        let record = format!("--read_iolog={record}");
        job("randrw", "crc32c", &[&[&*record], more].concat())
    };
    for (more, counts) in [
        (&[][..], "5,3,0,0"),
        (&["--do_verify=0"], "2,3,0,0"),
        (&["--verify_interval=2k"], "5,3,0,0"),
        (&["--verify_backlog=2"], "5,3,0,0"),
    ] {
        let lab = Lab::new();
        lab.write("whole", RECORD);
        lab.write("reads", &reads);
        let whole = replay("whole", more);
        let output = lab.fio(&whole).expect(0);
        assert_eq!(issued(&output), counts, "{more:?}: {output}");
        let reads = replay("reads", more);
        let output = lab.fio(&reads).expect(0);
        assert_eq!(issued(&output), "2,0,0,0", "{more:?}");
        change(&lab.path("data"), 13_000);
        lab.fio(&reads).tells(&["err=84"]);
        lab.remove("data");
        if let Some(output) = lab.reference_fio(&whole) {
            assert_eq!(issued(&output), counts, "{more:?} by fio");
        }
    }
}

#[test]
fn where_nothing_is_stored_nothing_is_compared() {
    let lab = Lab::new();
    for (rw, counts) in [("write", "16,16,0,0"), ("randread", "16,0,0,0")] {
        let words_of = [
            "--name=a",
            "--ioengine=null",
            "--bs=4k",
            "--size=64k",
            "--eta=never",
        ];
        let rw = format!("--rw={rw}");
        let words_of = [&words_of[..], &[&rw, "--verify=sha1", "--verify_offset=64"]].concat();
        let output = lab.fio(&words_of).expect(0);
        assert_eq!(issued(&output), counts);
        if let Some(output) = lab.reference_fio(&words_of) {
            assert_eq!(issued(&output), counts, "{output}");
        }
    }
}

#[test]
fn only_checking_writes_nothing_and_finds_every_block_once() {
    let lab = Lab::new();
    let size = ["--size=64k", "--bs=4k"];
    let write = job("randwrite", "md5", &size);
    lab.fio(&write).expect(0);
    let before = lab.bytes("data");
    let check = job(
        "randwrite",
        "md5",
        &[&size[..], &["--verify_only"]].concat(),
    );
    let output = lab.fio(&check).expect(0);
    assert_eq!(issued(&output), "16,0,0,0");
    assert!(lab.bytes("data") == before);
    change(&lab.path("data"), 5000);
    change(&lab.path("data"), 9000);
    let goes_on = job(
        "randwrite",
        "md5",
        &[&size[..], &["--verify_only", "--continue_on_error=verify"]].concat(),
    );
    let output = lab.fio(&goes_on);
    let told = complaints(&output);
    let failed = told.iter().filter(|line| line.contains("verify failed"));
    assert_eq!(failed.count(), 2, "{told:?}");
}

/// What a mix has written, and nothing that it has not; the same where writes cover each other in part.
#[test]
fn only_checking_reads_what_the_same_job_would_write() {
    for (rw, more) in [
        ("rw", &[][..]),
        ("randrw", &[]),
        ("randrw", &["--randseed=7"]),
        ("randrw", &["--bsrange=2k-8k", "--nrfiles=3"]),
        ("randrw", &["--rwmixread=70", "--norandommap"]),
        ("randrw", &["--percentage_random=40"]),
        ("randrw", &["--number_ios=50"]),
        ("rw", &["--loops=2"]),
        ("rw:1k", &["--ioengine=libaio", "--iodepth=8"]),
        ("write:-1k", &[]),
        (
            "randwrite",
            &["--blockalign=1k", "--numjobs=2", "--offset_increment=1m"],
        ),
    ] {
        let lab = Lab::new();
        let own = [&["--size=1m", "--bs=4k"], more].concat();
        let mut write = job(rw, "md5", &own);
        if more.contains(&"--nrfiles=3") {
            write.retain(|word| !word.starts_with("--filename"));
        }
        let check = [&write[..], &["--verify_only".to_owned()]].concat();
        let written = issued(&lab.fio(&write).expect(0));
        let found = issued(&lab.fio(&check).expect(0));
        let numbers = |counts: &str| -> Vec<u64> {
            let counts = counts.split(',').map(|count| count.parse().unwrap());
            counts.collect()
        };
        let (written, found) = (numbers(&written), numbers(&found));
        assert_eq!(found[1..], [0, 0, 0], "{rw} {more:?}");
        let covers = [
            "--norandommap",
            "--percentage_random=40",
            "--blockalign=1k",
            "--loops=2",
        ];
        match rw {
            "write:-1k" => assert_eq!(found[0], 1),
            _ if more.iter().any(|word| covers.contains(word)) => {
                assert!(0 < found[0] && found[0] <= written[1], "{rw} {more:?}");
            }
            _ => assert_eq!(found[0], written[1], "{rw} {more:?}"),
        }
    }
}

#[test]
fn only_checking_after_a_mix_finds_a_changed_block() {
    let lab = Lab::new();
    let own = ["--size=64k", "--bs=4k", "--write_iolog=log"];
    let mix = job("randrw", "md5", &own);
    lab.fio(&mix).expect(0);
    let log = order(&lab.path("log"));
    let block = log.split(' ').find_map(|io| io.strip_prefix('w')).unwrap();
    let block: u64 = block.parse().unwrap();
    change(&lab.path("data"), block * 4096 + 1000);
    let check = [&mix[..], &["--verify_only".to_owned()]].concat();
    let told = complaints(&lab.fio(&check));
    let place = format!("offset {}", block * 4096);
    assert!(told.iter().any(|line| line.contains(&place)), "{told:?}");
}

#[test]
fn what_cannot_hold_a_header_is_refused_before_anything_is_written() {
    let lab = Lab::new();
    for (more, reason) in [
        (["--bs=4k", "--verify_interval=32"], "does not fit into"),
        (["--bs=4k", "--verify_offset=4090"], "does not fit into"),
        (["--bs=4k", "--verify_offset=40"], "within its own length"),
    ] {
        let write = job("write", "sha3-512", &[&["--size=64k"][..], &more].concat());
        lab.fio(&write).expect(2).tells(&[reason]);
        assert!(!lab.path("data").exists());
    }
    lab.fio([
        "--name=a",
        "--rw=write",
        "--size=64k",
        "--filename=data",
        "--verify=pattern",
    ])
    .tells(&["verify_pattern"]);
}
