//! Data that are checked: what fio writes is checked here, what is written here is checked by fio,
//! and both say the same of a block that was changed in between.
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Output};

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

fn run(program: &str, arguments: &[&str], folder: &Path) -> Option<Output> {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .output();
    match output {
        Ok(output) => Some(output),
        Err(error) => {
            println!("skipped: `{program}` is not installed: {error}");
            None
        }
    }
}

fn ours(arguments: &[&str], folder: &Path) -> Output {
    let arguments = [&["fio"], arguments].concat();
    run(env!("CARGO_BIN_EXE_fathom"), &arguments, folder).expect("cargo has built it")
}

fn all(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// The lines about data.
fn complaints(output: &Output) -> Vec<String> {
    let is_complaint = |line: &&str| {
        ["verify", "CRC: ", "pattern"]
            .iter()
            .any(|word| line.contains(word))
            && !line.contains("rw=")
            && !line.contains("--")
            && !line.starts_with("note")
    };
    let text = all(output);
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
fn issued(output: &Output) -> String {
    let text = all(output);
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

fn words(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

#[test]
fn each_program_checks_what_the_other_wrote() {
    // The last sizes make the padding of sums with blocks of 64 bytes wrap.
    let sizes = [("4k", "64k"), ("4128", "66048")];
    for (method, (block, size)) in METHODS
        .iter()
        .flat_map(|method| sizes.map(|sizes| (method, sizes)))
    {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let size = [format!("--size={size}"), format!("--bs={block}")];
        let size = words(&size);
        let write = job("write", method, &[&size[..], &["--do_verify=0"]].concat());
        let read = job("read", method, &size);
        let Some(output) = run("fio", &words(&write), folder) else {
            return;
        };
        assert!(output.status.success(), "fio writes {method}: {output:?}");
        let output = ours(&words(&read), folder);
        assert!(output.status.success(), "{method} by fio: {}", all(&output));

        std::fs::remove_file(folder.join("data")).unwrap();
        let output = ours(&words(&write), folder);
        assert!(output.status.success(), "{method}: {}", all(&output));
        assert!(issued(&output).starts_with("0,16,"), "{}", all(&output));
        let output = run("fio", &words(&read), folder).unwrap();
        assert!(output.status.success(), "{method} by us: {}", all(&output));
    }
}

#[test]
fn a_changed_block_is_told_in_the_words_of_fio() {
    for method in &["crc32c", "sha256", "sha3-512", "meta", "pattern"] {
        // The data, the length in the header, its sum, its mark.
        for at in [4096 + 4095, 4096 + 5, 4096 + 37, 4096] {
            let folder = tempfile::tempdir().unwrap();
            let folder = folder.path();
            let size = ["--size=64k", "--bs=4k"];
            let write = job("write", method, &[&size[..], &["--do_verify=0"]].concat());
            assert!(ours(&words(&write), folder).status.success());
            change(&folder.join("data"), at);
            let read = job("read", method, &size);
            let output = ours(&words(&read), folder);
            let expected = run("fio", &words(&read), folder);
            let sees_data = *method != "meta" || at < 4096 + 40;
            assert_eq!(!output.status.success(), sees_data, "{}", all(&output));
            if sees_data {
                assert!(all(&output).contains("err=84"), "{}", all(&output));
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
        let folder = tempfile::tempdir().unwrap();
        let words_of = job(rw, "xxhash", &[&["--size=64k"][..], more].concat());
        let output = ours(&words(&words_of), folder.path());
        assert!(output.status.success(), "{}", all(&output));
        assert_eq!(issued(&output), issued_by_both, "{rw} {more:?}");
        let read = job("read", "xxhash", &[&["--size=64k"][..], more].concat());
        let read: Vec<&str> = words(&read);
        let read: Vec<&str> = read
            .into_iter()
            .filter(|word| !word.contains("loops") && !word.contains("do_verify"))
            .collect();
        if let Some(output) = run("fio", &read, folder.path()) {
            assert!(output.status.success(), "{more:?}: {}", all(&output));
        }
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
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let words_of = job("write", "crc32c", &[&["--size=2m"][..], more].concat());
        if run("fio", &words(&words_of), folder).is_none() {
            return;
        }
        for pass in 0..2 {
            let output = ours(&words(&words_of), folder);
            assert!(
                output.status.success(),
                "{more:?}, {pass}: {}",
                all(&output)
            );
        }
        change(&folder.join("data"), 1 << 20);
        let output = ours(&words(&words_of), folder);
        let is_asked = more.contains(&"--rw=randwrite") || output.status.code() == Some(3);
        assert!(is_asked, "{more:?}: {}", all(&output));
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
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let own = ["--bs=4k", "--size=40k", "--write_iolog=log"];
        let words_of = job("write", "crc32c", &[&own[..], more].concat());
        let output = ours(&words(&words_of), folder);
        assert!(output.status.success(), "{more:?}: {}", all(&output));
        let is_read_back = !more.contains(&"--do_verify=0");
        let counts = if is_read_back {
            "10,10,0,0"
        } else {
            "0,10,0,0"
        };
        assert_eq!(issued(&output), counts, "{more:?}: {}", all(&output));
        let found = order(&folder.join("log"));
        assert!(found.starts_with(expected), "{more:?}: {found}");
        std::fs::remove_file(folder.join("data")).unwrap();
        if let Some(output) = run("fio", &words(&words_of), folder) {
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
        let folder = tempfile::tempdir().unwrap();
        let own = [
            "--bs=4k",
            "--size=4m",
            "--iodepth=16",
            "--verify_backlog=32",
        ];
        let engine = format!("--ioengine={engine}");
        let words_of = job("write", "crc32c", &[&own[..], more, &[&engine]].concat());
        let output = ours(&words(&words_of), folder.path());
        assert!(output.status.success(), "{more:?}: {}", all(&output));
        let counts = issued(&output);
        let (reads, writes) = counts.trim_end_matches(",0,0").split_once(',').unwrap();
        if more == ["--rw=randwrite"] || more.len() == 2 {
            assert_eq!((reads, writes), ("1024", "1024"), "{more:?}");
        }
    }
}

/// The files that are named so, with their contents.
fn dumps(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let files = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap());
    let name = |file: &std::fs::DirEntry| file.file_name().into_string().unwrap();
    let mut found: Vec<_> = files
        .filter(|file| name(file).starts_with("data."))
        .map(|file| (name(&file), std::fs::read(file.path()).unwrap()))
        .collect();
    found.sort();
    found
}

#[test]
fn both_contents_of_a_wrong_block_are_kept_whoever_wrote_it() {
    for (writer, block, more) in [
        ("us", 4096, &["--bs=4k"][..]),
        ("us", 2048, &["--bs=16k", "--verify_interval=2k"]),
        (
            "us",
            2048,
            &["--bs=16k", "--verify_interval=2k", "--verify_offset=512"],
        ),
        ("us", 8192, &["--bs=8k", "--verify_pattern=0x5566"]),
        ("us", 8192, &["--bs=8k", "--buffer_compress_percentage=50"]),
        ("fio", 4096, &["--bs=4k"]),
        ("fio", 2048, &["--bs=16k", "--verify_interval=2k"]),
        (
            "fio",
            2048,
            &["--bs=16k", "--verify_interval=2k", "--verify_offset=512"],
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let data = folder.join("data");
        let own = [&["--size=64k"][..], more].concat();
        let write = job("write", "md5", &[&own[..], &["--do_verify=0"]].concat());
        let output = match writer {
            "us" => Some(ours(&words(&write), folder)),
            _ => run("fio", &words(&write), folder),
        };
        let Some(output) = output else { continue };
        assert!(output.status.success(), "{}", all(&output));
        let sound = std::fs::read(&data).unwrap();
        change(&data, 20_480 + 1000);
        let wrong = std::fs::read(&data).unwrap();
        std::fs::create_dir(folder.join("aux")).unwrap();
        let goes_on = [
            "--verify_dump=1",
            "--continue_on_error=verify",
            "--aux-path=aux",
        ];
        let read = job("read", "md5", &[&own[..], &goes_on].concat());
        let output = ours(&words(&read), folder);
        let found = dumps(&folder.join("aux"));
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
        assert!(found == expected, "{writer} {more:?}: {}", all(&output));
        assert!(all(&output).contains("received data dumped as aux/data."));

        let header = at as u64 + if more.len() == 3 { 512 } else { 0 };
        change(&data, header + 3);
        let output = ours(&words(&read), folder);
        let name = format!("data.{at}.hdr_fail");
        let kept = dumps(&folder.join("aux"))
            .into_iter()
            .find(|(found, _)| *found == name);
        let wrong = std::fs::read(&data).unwrap();
        assert!(kept.unwrap().1 == wrong[at..at + block], "{}", all(&output));
    }
}

#[test]
fn dumps_have_the_names_of_fio() {
    for (method, at) in [("crc32c", 5000), ("pattern", 5000), ("crc32c", 4098)] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let size = ["--size=64k", "--bs=4k"];
        let write = job("write", method, &[&size[..], &["--do_verify=0"]].concat());
        assert!(ours(&words(&write), folder).status.success());
        change(&folder.join("data"), at);
        let read = job("read", method, &[&size[..], &["--verify_dump=1"]].concat());
        let names = || {
            let names = dumps(folder).into_iter().map(|(name, _)| name);
            names.collect::<Vec<_>>()
        };
        ours(&words(&read), folder);
        let ours = names();
        ours.iter()
            .for_each(|name| std::fs::remove_file(folder.join(name)).unwrap());
        assert!(!ours.is_empty());
        if run("fio", &words(&read), folder).is_some() {
            assert_eq!(ours, names(), "{method} {at}");
        }
    }
}

#[test]
fn a_pattern_may_stand_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("pat"), "HELLO").unwrap();
    let pattern = "--verify_pattern='pat'\"xy\"";
    let own = |rw| {
        let more = ["--size=16k", "--bs=4k", pattern];
        job(rw, "meta", &more).join("\n")
    };
    let (write, read) = (own("write"), own("read"));
    let (write, read): (Vec<&str>, Vec<&str>) = (write.lines().collect(), read.lines().collect());
    let output = ours(&write, folder);
    assert!(output.status.success(), "{}", all(&output));
    let data = std::fs::read(folder.join("data")).unwrap();
    let expected: Vec<u8> = b"HELLOxy".iter().copied().cycle().take(4096).collect();
    assert!(data[4096 + 40..8192] == expected[40..]);
    for (program, words) in [("us", &read), ("fio", &read)] {
        let output = match program {
            "us" => Some(ours(words, folder)),
            _ => run("fio", words, folder),
        };
        let Some(output) = output else { continue };
        assert!(output.status.success(), "{program}: {}", all(&output));
    }
    std::fs::remove_file(folder.join("pat")).unwrap();
    let output = ours(&read, folder);
    assert_eq!(output.status.code(), Some(2));
    assert!(all(&output).contains("no such file"), "{}", all(&output));
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
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
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
        let output = ours(&words(&write), folder);
        assert!(output.status.success(), "{own}: {}", all(&output));
        assert_eq!(issued(&output), "8,8,0,0", "{own}");
        let made = std::fs::read(folder.join("data")).unwrap();
        if let Some(output) = run("fio", &words(&read), folder) {
            assert!(output.status.success(), "{own}: {}", all(&output));
            std::fs::remove_file(folder.join("data")).unwrap();
            assert!(run("fio", &words(&write), folder).is_some());
            if method == "pattern" {
                assert!(made == std::fs::read(folder.join("data")).unwrap(), "{own}");
            }
        }
        let output = ours(&words(&read), folder);
        assert!(output.status.success(), "{own}: {}", all(&output));
        // A block that was written elsewhere.
        let mut moved = std::fs::read(folder.join("data")).unwrap();
        moved.copy_within(..8192, 16_384);
        std::fs::write(folder.join("data"), moved).unwrap();
        let output = ours(&words(&read), folder);
        assert!(all(&output).contains("err=84"), "{own}: {}", all(&output));
    }
}

#[test]
fn a_pattern_that_does_not_divide_the_blocks_is_sound_in_all_sizes() {
    for pattern in ["--verify_pattern=\"seventy\"", "--verify_pattern=\"abc\"%o"] {
        let folder = tempfile::tempdir().unwrap();
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
        let output = ours(&words(&words_of), folder.path());
        assert!(output.status.success(), "{pattern}: {}", all(&output));
    }
}

#[test]
fn an_address_in_a_pattern_that_nobody_checks_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["--name=a", "--rw=write", "--size=64k", "--filename=data"];
    let words = [&words[..], &["--buffer_pattern=%o"]].concat();
    let output = ours(&words, folder.path());
    assert_eq!(output.status.code(), Some(2));
    assert!(all(&output).contains("verify_pattern"), "{}", all(&output));
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
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let own = ["--bs=4k", "--size=40k", "--write_iolog=log"];
        let words_of = job("write", "crc32c", &[&own[..], more].concat());
        let output = ours(&words(&words_of), folder);
        assert!(output.status.success(), "{more:?}: {}", all(&output));
        assert_eq!(issued(&output), counts, "{more:?}: {}", all(&output));
        let found = order(&folder.join("log"));
        assert!(found.starts_with(expected), "{more:?}: {found}");
        let data = std::fs::read(folder.join("data")).unwrap();
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
        let folder = tempfile::tempdir().unwrap();
        let own = ["--bs=4k", "--size=4m", "--iodepth=16", "--trim_backlog=8"];
        let words_of = job("randwrite", "crc32c", &[&own[..], more].concat());
        let output = ours(&words(&words_of), folder.path());
        assert!(output.status.success(), "{more:?}: {}", all(&output));
        let counts = issued(&output);
        let trims: u64 = counts.split(',').nth(2).unwrap().parse().unwrap();
        let share = if more.len() == 2 { 400..620 } else { 150..4096 };
        assert!(share.contains(&trims), "{more:?}: {counts}");
    }
}

/// Of each job, in order.
fn issued_by_all(output: &Output) -> Vec<String> {
    let text = all(output);
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
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        std::fs::write(folder.join("jobs.fio"), format!("{of_both}{jobs}")).unwrap();
        let output = ours(&["jobs.fio", "--eta=never"], folder);
        assert!(output.status.success(), "{jobs}: {}", all(&output));
        assert_eq!(issued_by_all(&output), counts, "{jobs}");
    }
}

#[test]
fn jobs_that_write_over_each_other_check_what_is_left_of_their_own() {
    let jobs = "[global]\nfilename=data\nioengine=psync\nrw=randwrite\nsize=1m\nloops=8\n\
                norandommap\n[a]\nverify=crc32c\nbs=4k\n[b]\nverify=sha1\nbs=16k\n";
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("jobs.fio"), jobs).unwrap();
    let output = ours(&["jobs.fio", "--eta=never"], folder);
    assert!(output.status.success(), "{}", all(&output));
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
        let own = ["--read_iolog=".to_owned() + record];
        let own = words(&own);
        job("randrw", "crc32c", &[&own[..], more].concat())
    };
    for (more, counts) in [
        (&[][..], "5,3,0,0"),
        (&["--do_verify=0"], "2,3,0,0"),
        (&["--verify_interval=2k"], "5,3,0,0"),
        (&["--verify_backlog=2"], "5,3,0,0"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        std::fs::write(folder.join("whole"), RECORD).unwrap();
        std::fs::write(folder.join("reads"), &reads).unwrap();
        let whole = replay("whole", more);
        let output = ours(&words(&whole), folder);
        assert!(output.status.success(), "{more:?}: {}", all(&output));
        assert_eq!(issued(&output), counts, "{more:?}: {}", all(&output));
        let reads = replay("reads", more);
        let output = ours(&words(&reads), folder);
        assert!(output.status.success(), "{more:?}: {}", all(&output));
        assert_eq!(issued(&output), "2,0,0,0", "{more:?}");
        change(&folder.join("data"), 13_000);
        let output = ours(&words(&reads), folder);
        assert!(
            all(&output).contains("err=84"),
            "{more:?}: {}",
            all(&output)
        );
        std::fs::remove_file(folder.join("data")).unwrap();
        if let Some(output) = run("fio", &words(&whole), folder) {
            assert_eq!(issued(&output), counts, "{more:?} by fio");
        }
    }
}

#[test]
fn where_nothing_is_stored_nothing_is_compared() {
    let folder = tempfile::tempdir().unwrap();
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
        let output = ours(&words_of, folder.path());
        assert!(output.status.success(), "{}", all(&output));
        assert_eq!(issued(&output), counts);
        if let Some(output) = run("fio", &words_of, folder.path()) {
            assert_eq!(issued(&output), counts, "{}", all(&output));
        }
    }
}

#[test]
fn only_checking_writes_nothing_and_finds_every_block_once() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let size = ["--size=64k", "--bs=4k"];
    let write = job("randwrite", "md5", &size);
    assert!(ours(&words(&write), folder).status.success());
    let before = std::fs::read(folder.join("data")).unwrap();
    let check = job(
        "randwrite",
        "md5",
        &[&size[..], &["--verify_only"]].concat(),
    );
    let output = ours(&words(&check), folder);
    assert!(output.status.success(), "{}", all(&output));
    assert_eq!(issued(&output), "16,0,0,0");
    assert!(std::fs::read(folder.join("data")).unwrap() == before);
    change(&folder.join("data"), 5000);
    change(&folder.join("data"), 9000);
    let goes_on = job(
        "randwrite",
        "md5",
        &[&size[..], &["--verify_only", "--continue_on_error=verify"]].concat(),
    );
    let output = ours(&words(&goes_on), folder);
    let told = complaints(&output);
    let failed = told.iter().filter(|line| line.contains("verify failed"));
    assert_eq!(failed.count(), 2, "{told:?}");
}

#[test]
fn what_cannot_hold_a_header_is_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    for (more, reason) in [
        (["--bs=4k", "--verify_interval=32"], "does not fit into"),
        (["--bs=4k", "--verify_offset=4090"], "does not fit into"),
        (["--bs=4k", "--verify_offset=40"], "within its own length"),
    ] {
        let write = job("write", "sha3-512", &[&["--size=64k"][..], &more].concat());
        let output = ours(&words(&write), folder.path());
        assert_eq!(output.status.code(), Some(2), "{}", all(&output));
        assert!(all(&output).contains(reason), "{}", all(&output));
        assert!(!folder.path().join("data").exists());
    }
    let output = ours(
        &[
            "--name=a",
            "--rw=write",
            "--size=64k",
            "--filename=data",
            "--verify=pattern",
        ],
        folder.path(),
    );
    assert!(all(&output).contains("verify_pattern"), "{}", all(&output));
}
