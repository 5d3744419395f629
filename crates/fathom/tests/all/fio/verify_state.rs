//! Jobs that were cut short: what they have written is kept, and a later job checks that and
//! nothing else.
use crate::lab::{Ended, Lab};
use std::os::unix::fs::FileExt;
use std::path::Path;

const STATE: &str = "local-a-0-verify.state";
const BLOCK: u64 = 4096;

const JOB: [&str; 7] = [
    "--name=a",
    "--filename=data",
    "--size=64k",
    "--bs=4k",
    "--ioengine=psync",
    "--verify=crc32c",
    "--eta=never",
];

fn ours(lab: &Lab, words: &[&str]) -> Ended {
    lab.fio([&JOB, words].concat())
}

fn fine(lab: &Lab, words: &[&str]) -> String {
    ours(lab, words).expect(0).all()
}

/// Reads and writes of the first report.
fn issued(text: &str) -> &str {
    let total = text.split("issued rwts: total=").nth(1).expect(text);
    let end = total.match_indices(',').nth(1).unwrap().0;
    &total[..end]
}

/// The blocks that the state names.
fn blocks(state: &Path) -> Vec<u64> {
    let text = std::fs::read_to_string(state).unwrap();
    let mut blocks = Vec::new();
    for line in text.lines().skip(1) {
        let numbers: Vec<u64> = line.split(' ').map(|word| word.parse().unwrap()).collect();
        assert_eq!(numbers[0], 0, "one file");
        let first = numbers[1] / BLOCK;
        blocks.extend(first..first + numbers[2] / BLOCK);
    }
    blocks
}

fn change(path: &Path, block: u64) {
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.write_all_at(b"changed", block * BLOCK + 100).unwrap();
}

#[test]
fn only_what_a_job_has_written_is_checked() {
    for write in [
        &["--rw=randwrite", "--do_verify=0"][..],
        &["--rw=randwrite"],
        &["--rw=randwrite", "--verify_backlog=2"],
        &["--rw=write", "--do_verify=0"],
    ] {
        let lab = Lab::new();
        if write[0] == "--rw=randwrite" {
            lab.write("data", [0; 65536]);
        }
        fine(&lab, &[write, &["--number_ios=5"]].concat());
        let written = blocks(&lab.path(STATE));
        assert_eq!(written.len(), 5, "{write:?}: {written:?}");
        ours(&lab, &["--rw=write", "--verify_only=1"]).expect_failure();

        let load = "--verify_state_load=1";
        for read in [
            &["--rw=read", load][..],
            &["--rw=randread", load],
            &["--rw=randwrite", "--verify_only=1", load],
            &["--rw=read", load, "--time_based", "--runtime=100"],
        ] {
            let said = fine(&lab, read);
            assert!(issued(&said).starts_with("5,"), "{said}");
        }
        // Reading leaves the state as it is, and what was not written may be anything.
        assert_eq!(blocks(&lab.path(STATE)), written);
        let other = (0..16).find(|block| !written.contains(block)).unwrap();
        change(&lab.path("data"), other);
        fine(&lab, &["--rw=read", load]);
        change(&lab.path("data"), written[3]);
        let output = ours(&lab, &["--rw=read", load]).expect_failure();
        let place = format!("offset {}", written[3] * BLOCK);
        output.tells(&[&place]);
    }
}

#[test]
fn what_was_written_with_gaps_is_checked_with_and_without_them() {
    let lab = Lab::new();
    fine(&lab, &["--rw=write:1k", "--number_ios=5"]);
    let load = "--verify_state_load=1";
    let reads = [
        &["--rw=read", load][..],
        &["--rw=write:1k", "--verify_only=1", load],
    ];
    for read in reads {
        let said = fine(&lab, read);
        assert!(issued(&said).starts_with("5,"), "{said}");
    }
    change(&lab.path("data"), 5);
    for read in reads {
        ours(&lab, read)
            .expect_failure()
            .tells(&["offset 20480, length 4096"]);
    }
}

#[test]
fn each_clone_has_a_state_of_its_own_in_the_folder_that_is_named() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("kept")).unwrap();
    let clones = ["--numjobs=2", "--offset_increment=64k", "--aux-path=kept"];
    fine(
        &lab,
        &[&clones[..], &["--rw=write", "--number_ios=3"]].concat(),
    );
    let state = |clone: u32| {
        let name = format!("kept/local-a-{clone}-verify.state");
        lab.text(&name)
    };
    let first_line = "fathom verify state 1, parts: 1\n";
    assert_eq!(state(0), format!("{first_line}0 0 12288\n"));
    assert_eq!(state(1), format!("{first_line}0 65536 12288\n"));
    let read = ["--rw=read", "--verify_state_load=1", "--group_reporting"];
    let said = fine(&lab, &[&clones[..], &read].concat());
    assert_eq!(issued(&said), "6,0");
    ours(&lab, &read).tells(&["no such file"]);
}

#[test]
fn a_state_is_left_unless_it_is_not_wanted() {
    for (words, is_left) in [
        (&["--rw=write"][..], true),
        (&["--rw=write", "--verify_state_save=0"], false),
        (&["--rw=write", "--ioengine=null"], false),
    ] {
        let lab = Lab::new();
        fine(&lab, words);
        assert_eq!(lab.path(STATE).exists(), is_left, "{words:?}");
    }
}

#[test]
fn a_state_that_cannot_be_used_is_refused_and_nothing_is_read() {
    let lab = Lab::new();
    let said_of = |words: &[&str]| {
        let words = [&["--verify_state_load=1"], words].concat();
        let output = ours(&lab, &words).expect_failure();
        assert!(!output.all().contains("issued rwts"), "{output}");
        output.all()
    };
    let missing = said_of(&["--rw=read"]);
    assert!(missing.contains("no such file"), "{missing}");
    assert!(missing.contains("fio-0135"), "{missing}");
    let writes = said_of(&["--rw=write"]);
    assert!(writes.contains("does not only read"), "{writes}");
    for (text, reason) in [
        ("something else\n", "none of this program"),
        ("fathom verify state 1, parts: 2\n0 0 4096\n", "cut short"),
        ("fathom verify state 1, parts: 1\n0 0\n", "not understood"),
    ] {
        lab.write(STATE, text);
        let said = said_of(&["--rw=read"]);
        assert!(said.contains(reason), "{said}");
    }
}

#[test]
fn what_fio_saved_of_a_sequential_job_is_used() {
    for write in [
        &["--rw=write", "--number_ios=5"][..],
        &[
            "--rw=write",
            "--number_ios=5",
            "--ioengine=libaio",
            "--iodepth=3",
        ],
        &["--rw=write", "--number_ios=5", "--offset=8k"],
    ] {
        let lab = Lab::new();
        let words = [&JOB, write, &["--do_verify=0"]].concat();
        let Some(output) = lab.reference_fio(words) else {
            return;
        };
        output.expect(0);
        let offset: Vec<&str> = write
            .iter()
            .filter(|word| word.contains("offset"))
            .copied()
            .collect();
        let read = [&["--rw=read"], &offset[..]].concat();
        ours(&lab, &read).expect_failure();
        let load = [&read[..], &["--verify_state_load=1"]].concat();
        assert_eq!(issued(&fine(&lab, &load)), "5,0", "{write:?}");

        let mut bytes = lab.bytes(STATE);
        bytes[40] += 1;
        lab.write(STATE, bytes);
        ours(&lab, &load).tells(&["damaged"]);
    }
}

#[test]
fn what_fio_saved_of_a_job_at_random_is_refused() {
    let lab = Lab::new();
    let write = ["--rw=randwrite", "--number_ios=5", "--do_verify=0"];
    let Some(output) = lab.reference_fio(JOB.into_iter().chain(write)) else {
        return;
    };
    output.expect(0);
    for rw in ["--rw=read", "--rw=randread"] {
        ours(&lab, &[rw, "--verify_state_load=1"])
            .expect_failure()
            .tells(&["its own generators"]);
    }
}

/// Endless unless something from outside ends it.
const SLOW: [&str; 6] = [
    "--rw=write",
    "--rate_iops=20",
    "--loops=100000",
    "--do_verify=0",
    "--verify_state_save=0",
    "--aux-path=aux",
];

#[test]
fn a_file_that_appears_ends_the_jobs_and_their_states_are_there_for_the_command() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("aux")).unwrap();
    let (data, now) = (lab.path("data"), lab.path("now"));
    let waiting = std::thread::spawn(move || {
        let is_written = || std::fs::read(&data).is_ok_and(|bytes| bytes.iter().any(|b| *b != 0));
        while !is_written() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        std::fs::write(now, "").unwrap();
    });
    let command = "--trigger=cp aux/*.state seen; echo told; exit 3";
    let text = fine(
        &lab,
        &[&SLOW[..], &["--trigger-file=now", command]].concat(),
    );
    waiting.join().unwrap();
    assert!(text.contains("told"), "{text}");
    assert!(text.contains("exit status: 3"), "{text}");
    assert!(!lab.path("now").exists());
    let seen = lab.text("seen");
    assert!(seen.starts_with("fathom verify state 1"), "{seen}");
    let read = ["--rw=read", "--verify_state_load=1", "--aux-path=aux"];
    fine(&lab, &read);
}

#[test]
fn a_time_ends_the_jobs_and_runs_the_command() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("aux")).unwrap();
    let how = ["--trigger-timeout=200ms", "--trigger=echo told > said"];
    fine(&lab, &[&SLOW[..], &how, &["--result=out"]].concat());
    assert_eq!(lab.text("said"), "told\n");
    let events = lab.text("out/summary.json");
    assert!(events.contains("\"trigger: echo told > said\""), "{events}");
}

#[test]
fn the_file_of_a_trigger_is_nothing_that_somebody_needs() {
    let lab = Lab::new();
    lab.write("mine", "x");
    for (file, reason) in [("mine", "holds something"), ("./data", "is a target")] {
        let option = format!("--trigger-file={file}");
        ours(&lab, &["--rw=write", &option])
            .expect(2)
            .tells(&[reason]);
    }
    assert!(lab.path("mine").exists());
    let said = fine(&lab, &["--rw=write", "--trigger=true"]);
    assert!(said.contains("is never run"), "{said}");
}
