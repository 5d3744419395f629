//! Jobs that were cut short: what they have written is kept, and a later job checks that and
//! nothing else.
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Output};

const STATE: &str = "local-a-0-verify.state";
const BLOCK: u64 = 4096;

fn run(program: &str, words: &[&str], folder: &Path) -> Output {
    let command = match program {
        "fathom" => env!("CARGO_BIN_EXE_fathom"),
        _ => program,
    };
    let first: &[&str] = if program == "fathom" { &["fio"] } else { &[] };
    let common = [
        "--name=a",
        "--filename=data",
        "--size=64k",
        "--bs=4k",
        "--ioengine=psync",
        "--verify=crc32c",
        "--eta=never",
    ];
    let output = Command::new(command)
        .args([first, &common, words].concat())
        .current_dir(folder)
        .output();
    output.expect("the caller knows that it is there")
}

fn has_fio() -> bool {
    let is_there = Command::new("fio").arg("--version").output().is_ok();
    if !is_there {
        println!("skipped: `fio` is not installed");
    }
    is_there
}

fn all(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

fn ours(words: &[&str], folder: &Path) -> Output {
    run("fathom", words, folder)
}

fn fine(words: &[&str], folder: &Path) -> String {
    let output = ours(words, folder);
    assert!(output.status.success(), "{words:?}: {}", all(&output));
    all(&output)
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
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        if write[0] == "--rw=randwrite" {
            std::fs::write(folder.join("data"), [0; 65536]).unwrap();
        }
        fine(&[write, &["--number_ios=5"]].concat(), folder);
        let written = blocks(&folder.join(STATE));
        assert_eq!(written.len(), 5, "{write:?}: {written:?}");
        let all_of_it = ours(&["--rw=write", "--verify_only=1"], folder);
        assert!(!all_of_it.status.success(), "{}", all(&all_of_it));

        let load = "--verify_state_load=1";
        for read in [
            &["--rw=read", load][..],
            &["--rw=randread", load],
            &["--rw=randwrite", "--verify_only=1", load],
            &["--rw=read", load, "--time_based", "--runtime=100"],
        ] {
            let said = fine(read, folder);
            assert!(issued(&said).starts_with("5,"), "{said}");
        }
        // Reading leaves the state as it is, and what was not written may be anything.
        assert_eq!(blocks(&folder.join(STATE)), written);
        let other = (0..16).find(|block| !written.contains(block)).unwrap();
        change(&folder.join("data"), other);
        fine(&["--rw=read", load], folder);
        change(&folder.join("data"), written[3]);
        let output = ours(&["--rw=read", load], folder);
        assert!(!output.status.success(), "{}", all(&output));
        let place = format!("offset {}", written[3] * BLOCK);
        assert!(all(&output).contains(&place), "{}", all(&output));
    }
}

#[test]
fn each_clone_has_a_state_of_its_own_in_the_folder_that_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::create_dir(folder.join("kept")).unwrap();
    let clones = ["--numjobs=2", "--offset_increment=64k", "--aux-path=kept"];
    fine(
        &[&clones[..], &["--rw=write", "--number_ios=3"]].concat(),
        folder,
    );
    let state = |clone: u32| {
        let name = format!("kept/local-a-{clone}-verify.state");
        std::fs::read_to_string(folder.join(name)).unwrap()
    };
    let first_line = "fathom verify state 1, parts: 1\n";
    assert_eq!(state(0), format!("{first_line}0 0 12288\n"));
    assert_eq!(state(1), format!("{first_line}0 65536 12288\n"));
    let read = ["--rw=read", "--verify_state_load=1", "--group_reporting"];
    let said = fine(&[&clones[..], &read].concat(), folder);
    assert_eq!(issued(&said), "6,0");
    let output = ours(&read, folder);
    assert!(all(&output).contains("no such file"), "{}", all(&output));
}

#[test]
fn a_state_is_left_unless_it_is_not_wanted() {
    for (words, is_left) in [
        (&["--rw=write"][..], true),
        (&["--rw=write", "--verify_state_save=0"], false),
        (&["--rw=write", "--ioengine=null"], false),
    ] {
        let folder = tempfile::tempdir().unwrap();
        fine(words, folder.path());
        assert_eq!(folder.path().join(STATE).exists(), is_left, "{words:?}");
    }
}

#[test]
fn a_state_that_cannot_be_used_is_refused_and_nothing_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let said_of = |words: &[&str]| {
        let words = [&["--verify_state_load=1"], words].concat();
        let output = ours(&words, folder);
        assert!(!output.status.success(), "{}", all(&output));
        assert!(!all(&output).contains("issued rwts"), "{}", all(&output));
        all(&output)
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
        std::fs::write(folder.join(STATE), text).unwrap();
        let said = said_of(&["--rw=read"]);
        assert!(said.contains(reason), "{said}");
    }
}

#[test]
fn what_fio_saved_of_a_sequential_job_is_used() {
    if !has_fio() {
        return;
    }
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
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let output = run("fio", &[write, &["--do_verify=0"]].concat(), folder);
        assert!(output.status.success(), "{}", all(&output));
        let offset: Vec<&str> = write
            .iter()
            .filter(|word| word.contains("offset"))
            .copied()
            .collect();
        let read = [&["--rw=read"], &offset[..]].concat();
        let output = ours(&read, folder);
        assert!(!output.status.success(), "{}", all(&output));
        let load = [&read[..], &["--verify_state_load=1"]].concat();
        assert_eq!(issued(&fine(&load, folder)), "5,0", "{write:?}");

        let mut bytes = std::fs::read(folder.join(STATE)).unwrap();
        bytes[40] += 1;
        std::fs::write(folder.join(STATE), bytes).unwrap();
        let output = ours(&load, folder);
        assert!(all(&output).contains("damaged"), "{}", all(&output));
    }
}

#[test]
fn what_fio_saved_of_a_job_at_random_is_refused() {
    if !has_fio() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let write = ["--rw=randwrite", "--number_ios=5", "--do_verify=0"];
    let output = run("fio", &write, folder);
    assert!(output.status.success(), "{}", all(&output));
    for rw in ["--rw=read", "--rw=randread"] {
        let output = ours(&[rw, "--verify_state_load=1"], folder);
        assert!(!output.status.success());
        assert!(
            all(&output).contains("its own generators"),
            "{}",
            all(&output)
        );
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
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::create_dir(folder.join("aux")).unwrap();
    let (data, now) = (folder.join("data"), folder.join("now"));
    let waiting = std::thread::spawn(move || {
        let is_written = || std::fs::read(&data).is_ok_and(|bytes| bytes.iter().any(|b| *b != 0));
        while !is_written() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        std::fs::write(now, "").unwrap();
    });
    let command = "--trigger=cp aux/*.state seen; echo told; exit 3";
    let text = fine(
        &[&SLOW[..], &["--trigger-file=now", command]].concat(),
        folder,
    );
    waiting.join().unwrap();
    assert!(text.contains("told"), "{text}");
    assert!(text.contains("exit status: 3"), "{text}");
    assert!(!folder.join("now").exists());
    let seen = std::fs::read_to_string(folder.join("seen")).unwrap();
    assert!(seen.starts_with("fathom verify state 1"), "{seen}");
    let read = ["--rw=read", "--verify_state_load=1", "--aux-path=aux"];
    fine(&read, folder);
}

#[test]
fn a_time_ends_the_jobs_and_runs_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::create_dir(folder.join("aux")).unwrap();
    let how = ["--trigger-timeout=200ms", "--trigger=echo told > said"];
    fine(&[&SLOW[..], &how].concat(), folder);
    assert_eq!(
        std::fs::read_to_string(folder.join("said")).unwrap(),
        "told\n"
    );
}

#[test]
fn the_file_of_a_trigger_is_nothing_that_somebody_needs() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("mine"), "x").unwrap();
    for (file, reason) in [("mine", "holds something"), ("./data", "is a target")] {
        let option = format!("--trigger-file={file}");
        let output = ours(&["--rw=write", &option], folder);
        assert_eq!(output.status.code(), Some(2), "{}", all(&output));
        assert!(all(&output).contains(reason), "{}", all(&output));
    }
    assert!(folder.join("mine").exists());
    let said = fine(&["--rw=write", "--trigger=true"], folder);
    assert!(said.contains("is never run"), "{said}");
}
