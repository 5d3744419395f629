//! Which places jobs of fio use, and where they end: figures that fio 3.33 has shown for the same jobs.
use crate::lab::{Ended, Lab};
use std::collections::BTreeMap;

const KIB: u64 = 1 << 10;

/// One I/O: direction as in logs, offset, size.
type Io = (u8, u64, u64);

fn run(lab: &Lab, words: &str) -> Ended {
    let words: Vec<&str> = ["fio"]
        .into_iter()
        .chain(words.split_whitespace())
        .collect();
    lab.fathom(&words)
}

/// The I/Os of a job for `null`, by its log.
fn log(words: &str) -> Vec<Io> {
    let lab = Lab::new();
    let common = "--name=j --ioengine=null --write_lat_log=log --log_offset=1";
    let output = run(&lab, &format!("{common} {words}"));
    assert!(output.code == Some(0), "{words}: {output:?}");
    let text = lab.text("log_lat.1.log");
    let io = |line: &str| {
        let words: Vec<u64> = line
            .split(", ")
            .map(|word| word.trim().parse().unwrap())
            .collect();
        (words[2] as u8, words[4], words[3])
    };
    text.lines().map(io).collect()
}

fn offsets(words: &str) -> Vec<u64> {
    let all = log(words);
    all.iter().map(|(_, offset, _)| offset / KIB).collect()
}

#[test]
fn a_job_that_reads_at_random_finds_what_the_same_job_wrote() {
    let lab = Lab::new();
    let common = "--name=j --filename=f --size=1m --bs=4k --ioengine=psync --verify=crc32c";
    for part in [
        "--number_ios=20",
        "--io_size=80k",
        "--io_size=80k --norandommap",
        "--io_size=80k --random_distribution=zipf:1.2",
    ] {
        lab.write("f", vec![0; 1 << 20]);
        let write = "--rw=randwrite --do_verify=0 --verify_state_save=0 --overwrite f";
        let output = run(&lab, &format!("{common} {part} {write}"));
        assert!(output.code == Some(0), "{part}: {output:?}");
        let output = run(&lab, &format!("{common} {part} --rw=randread"));
        assert!(output.code == Some(0), "{part}: {output:?}");
    }
}

/// The layout of what is read is a run of its own.
#[test]
fn whether_a_file_is_laid_out_does_not_change_the_places_that_are_read() {
    let lab = Lab::new();
    let places = |more: &str| {
        let common = "--name=j --size=256k --bs=4k --ioengine=psync --rw=randread";
        let output = run(
            &lab,
            &format!("{common} --write_lat_log=log --log_offset=1 {more}"),
        );
        assert!(output.code == Some(0), "{output:?}");
        let text = lab.text("log_lat.1.log");
        let offset = |line: &str| line.split(", ").nth(4).unwrap().to_owned();
        text.lines().map(offset).collect::<Vec<_>>()
    };
    let first = places("");
    assert_eq!(first.len(), 64);
    assert_eq!(first, places(""));
    assert_eq!(first, places("--ioengine=null"));
    assert_eq!(first, places("--rw=randwrite --filename=new"));
}

#[test]
fn trimwrite_writes_what_it_has_just_trimmed() {
    let all = log("--rw=trimwrite --bs=8k --size=64k");
    assert_eq!(all.len(), 16);
    for (number, pair) in (0..).zip(all.chunks(2)) {
        assert_eq!(pair[0], (2, number * 8 * KIB, 8 * KIB));
        assert_eq!(pair[1], (1, number * 8 * KIB, 8 * KIB));
    }
    // With several files, each has its trim before any has its write.
    let all = log("--rw=trimwrite --bs=8k --size=32k --nrfiles=2");
    let short = |io: &Io| (io.0, io.1 / KIB);
    let all: Vec<(u8, u64)> = all.iter().map(short).collect();
    assert_eq!(
        all,
        [
            (2, 0),
            (2, 0),
            (1, 0),
            (1, 0),
            (2, 8),
            (2, 8),
            (1, 8),
            (1, 8)
        ]
    );
    let written = |words: &str| log(words).iter().filter(|io| io.0 == 1).count();
    assert_eq!(
        written("--rw=trimwrite --bs=8k --size=60k --io_size=150k"),
        14
    );
    assert_eq!(
        written("--rw=trimwrite --bs=8k --size=60k --io_size=36k"),
        5
    );
}

#[test]
fn randtrimwrite_trims_and_writes_each_block_once_whatever_the_sizes() {
    let all = log("--rw=randtrimwrite --bsrange=512-4k --size=256k");
    let mut visits = vec![0_u32; 512];
    for pair in all.chunks(2) {
        let [trim, write] = pair else {
            panic!("a trim without a write");
        };
        assert_eq!((trim.0, write.0), (2, 1));
        assert_eq!((trim.1, trim.2), (write.1, write.2));
        let from = (trim.1 / 512) as usize;
        for visit in &mut visits[from..from + (trim.2 / 512) as usize] {
            *visit += 1;
        }
    }
    assert!(visits.iter().all(|count| *count == 1), "{visits:?}");
    // More than a round is whole rounds, and both of a pair count.
    let moved = |words: &str| log(words).iter().map(|io| io.2).sum::<u64>();
    let rounds = moved("--rw=randtrimwrite --bssplit=4k/50:8k/50 --size=100000 --io_size=2400000");
    assert_eq!(rounds, 2_555_904);
    let rounds = moved("--rw=randtrimwrite --bssplit=512/30:3k/70 --size=16384 --io_size=393216");
    assert_eq!(rounds, 393_216);
}

#[test]
fn a_gap_ends_where_it_ends_in_fio() {
    let steps = |words: &str| offsets(&format!("--rw=write:8k --bs=8k {words}"));
    // Behind the end, it begins anew; at the end, it does not.
    assert_eq!(steps("--size=64k"), [0, 16, 32, 48, 0, 16, 32, 48]);
    assert_eq!(steps("--size=72k"), [0, 16, 32, 48, 64]);
    assert_eq!(steps("--size=72k --loops=2").len(), 10);
    assert_eq!(steps("--size=72k --io_size=90k").len(), 12);
    let steps = |words: &str| offsets(&format!("--rw=write:4k --bs=8k {words}"));
    assert_eq!(steps("--size=60k"), [0, 12, 24, 36, 48, 0, 12, 24]);
    assert_eq!(steps("--size=61k"), [0, 12, 24, 36, 48]);
    // Backwards from the very end of the range.
    let back = log("--rw=read:-12k --bs=8k --size=64000");
    assert_eq!(back[1].1, 64_000 - 12 * KIB);
    assert_eq!(back.len(), 8);
}

#[test]
fn zones_end_with_the_one_that_is_cut_short() {
    let zones = |words: &str| {
        let common = "--rw=read --bs=4k --size=64k --zonemode=strided --zonesize=8k";
        offsets(&format!("{common} {words}"))
    };
    assert_eq!(
        zones("--zoneskip=4k"),
        [0, 4, 12, 16, 24, 28, 36, 40, 48, 52, 60]
    );
    assert_eq!(zones("--zoneskip=4k --loops=2").len(), 22);
    assert_eq!(zones("--zoneskip=8k").len(), 16);
}

#[test]
fn ios_keep_their_size_at_the_end_of_the_amount() {
    let sizes = |words: &str| {
        let all = log(words);
        (all.len(), all.iter().map(|io| io.2).sum::<u64>() / KIB)
    };
    assert_eq!(
        sizes("--rw=read --bs=16k --size=64k --io_size=20k"),
        (2, 32)
    );
    assert_eq!(sizes("--rw=read --bs=8k --size=60k --io_size=65k"), (9, 72));
    assert_eq!(sizes("--rw=read --bs=8k --size=60k --io_size=62k"), (7, 56));
    assert_eq!(sizes("--rw=rw --bs=8k --size=60k"), (8, 64));
    assert_eq!(
        sizes("--rw=randread --bs=8k --size=60k --norandommap"),
        (8, 64)
    );
}

#[test]
fn a_size_in_percent_is_of_the_size_of_files() {
    let read = offsets("--rw=read --bs=1k --filesize=64k --size=30%");
    assert_eq!(read, (0..19).collect::<Vec<u64>>());
    let lab = Lab::new();
    let output = run(
        &lab,
        "--name=j --filename=f --rw=read --bs=4k --filesize=64k --size=50%",
    );
    assert!(output.code == Some(0), "{output:?}");
    let is_read = output.out.contains("issued rwts: total=8,0,0,0");
    assert!(is_read, "{output:?}");
    assert_eq!(lab.bytes("f").len(), 32 << 10);
}

/// Each as fio 3.33 does it.
#[test]
fn gaps_that_lead_out_of_the_range_end_a_round_within_a_file_that_is_longer() {
    let ended = |words: &str| offsets(words).len();
    assert_eq!(
        ended("--rw=write:4k --bs=4k --size=256k --filesize=128k"),
        16
    );
    assert_eq!(
        ended("--rw=write:4k --bs=4k --size=128k --filesize=128k"),
        32
    );
    assert_eq!(
        ended("--rw=read:8k --bs=3072 --filesize=100000 --size=50%"),
        5
    );
    assert_eq!(
        ended("--rw=write:12k --bs=5000 --filesize=100000 --size=10%"),
        1
    );
    assert_eq!(
        ended("--rw=read:1k --bs=3072 --filesize=64000 --size=50%"),
        8
    );
    assert_eq!(
        ended("--rw=read --bs=4k --size=64k --filesize=1m --io_size=50%"),
        16
    );
}

#[test]
fn lfsr_visits_each_block_once_without_a_map() {
    let all = offsets(
        "--rw=randread --bs=4k --size=256k --norandommap --random_generator=lfsr --loops=2",
    );
    let mut counts: BTreeMap<u64, u32> = BTreeMap::new();
    for offset in all {
        *counts.entry(offset).or_default() += 1;
    }
    assert_eq!(counts.len(), 64);
    assert!(counts.values().all(|count| *count == 2), "{counts:?}");
}

#[test]
fn readonly_refuses_to_lay_out_and_reads_a_file_that_is_long_enough() {
    let lab = Lab::new();
    let job = "--readonly --name=j --filename=f --size=64k --rw=randread --bs=4k";
    let output = run(&lab, job);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.err.contains("missing or too short"), "{output:?}");
    assert!(!lab.path("f").exists());
    lab.write("f", vec![1; 64 << 10]);
    let output = run(&lab, job);
    assert!(output.code == Some(0), "{output:?}");
    let output = run(&lab, &job.replace("randread", "write"));
    assert_eq!(output.code, Some(2), "{output:?}");
    assert_eq!(lab.bytes("f"), vec![1; 64 << 10]);
}
