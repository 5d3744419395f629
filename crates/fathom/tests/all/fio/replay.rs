//! Records of I/O: what one program recorded, the other replays, to the same counts and offsets.
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn fathom(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

fn ours(arguments: &[&str], folder: &Path) -> String {
    let output = fathom(&[&["fio"], arguments].concat(), folder);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// What the installed fio prints; `None` when there is none.
fn theirs(arguments: &[&str], folder: &Path) -> Option<String> {
    let output = Command::new("fio")
        .args(arguments)
        .current_dir(folder)
        .output();
    match output {
        Ok(output) => {
            assert!(output.status.success(), "{arguments:?}: {output:?}");
            Some(String::from_utf8(output.stdout).unwrap())
        }
        Err(error) => {
            println!("skipped: `fio` is not installed: {error}");
            None
        }
    }
}

/// Counts and bytes of reads and writes of the first job.
fn amounts(json: &str) -> [u64; 4] {
    let document: Value = serde_json::from_str(json).unwrap_or_else(|_| panic!("{json}"));
    let of = |direction: &str, key: &str| document["jobs"][0][direction][key].as_u64().unwrap();
    [
        of("read", "total_ios"),
        of("read", "io_bytes"),
        of("write", "total_ios"),
        of("write", "io_bytes"),
    ]
}

const TEXT: &str = "fio version 2 iolog
a add
b add
a open
b open
a write 0 8192
b write 4096 4096
a read 0 4096
a wait 300000 0
a read 4096 4096
b read 4096 512
a trim 0 4096
a close
";

#[test]
fn a_record_is_replayed_with_its_files_sizes_and_waits() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("r.log"), TEXT).unwrap();
    let runtime_ms = |rest: &str| {
        let job = format!("[j]\nioengine=psync\nread_iolog=r.log\nreplay_skip=trim\n{rest}");
        std::fs::write(folder.join("j.fio"), job).unwrap();
        let printed = ours(&["--output-format=json", "j.fio"], folder);
        assert_eq!(amounts(&printed), [3, 8704, 2, 12288], "{rest}");
        let document: Value = serde_json::from_str(&printed).unwrap();
        document["jobs"][0]["job_runtime"].as_u64().unwrap()
    };
    assert!(runtime_ms("") >= 300);
    assert_eq!(std::fs::metadata(folder.join("a")).unwrap().len(), 8192);
    assert_eq!(std::fs::metadata(folder.join("b")).unwrap().len(), 8192);
    assert!(runtime_ms("replay_time_scale=10\n") >= 3000);
    // Without times nothing says how long it takes, but that it is not as long as the waits.
    let begun = std::time::Instant::now();
    runtime_ms("replay_no_stall=1\nreplay_time_scale=1\n");
    assert!(begun.elapsed().as_secs() < 30);
}

/// The operations of a record: action, file, offset, length.
fn rows(path: &Path) -> Vec<(String, String, u64, u64)> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("fio version 3 iolog"));
    let mut before = 0;
    lines
        .filter_map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let at: u64 = words[0].parse().unwrap();
            assert!(at >= before, "times ascend: {line}");
            before = at;
            let number = |place: usize| words.get(place)?.parse().ok();
            Some((
                words[2].to_owned(),
                words[1].to_owned(),
                number(3)?,
                number(4)?,
            ))
        })
        .collect()
}

const MIXED: [&str; 8] = [
    "--name=j",
    "--filename=one:two",
    "--rw=randrw",
    "--bsrange=4k-16k",
    "--size=512k",
    "--ioengine=psync",
    "--number_ios=60",
    "--output-format=json",
];

#[test]
fn what_fio_recorded_is_replayed_here() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let arguments = [&MIXED[..], &["--write_iolog=theirs.log"]].concat();
    let Some(recorded) = theirs(&arguments, folder) else {
        return;
    };
    let replay = [
        "--name=r",
        "--ioengine=psync",
        "--read_iolog=theirs.log",
        "--write_iolog=ours.log",
        "--replay_no_stall=1",
        "--output-format=json",
        "--overwrite",
        "one",
        "--overwrite",
        "two",
    ];
    let replayed = ours(&replay, folder);
    assert_eq!(amounts(&replayed), amounts(&recorded));
    assert_eq!(
        rows(&folder.join("ours.log")),
        rows(&folder.join("theirs.log"))
    );
}

#[test]
fn syncs_of_a_record_are_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let write = ["--name=w", "--filename=d", "--rw=write", "--size=64k"];
    let syncs = ["--fsync=4", "--write_iolog=made.log"];
    ours(&[&write[..], &syncs].concat(), folder);
    let made = std::fs::read_to_string(folder.join("made.log")).unwrap();
    let made = made.replacen(" sync 0 0", " datasync 0 0", 1);
    std::fs::write(folder.join("made.log"), &made).unwrap();
    let of_syncs = |row: &&str| row.contains("sync");
    let recorded: Vec<&str> = made.lines().filter(of_syncs).collect();
    assert!(recorded.len() >= 3, "{made}");
    for (engine, times) in [("psync", "0"), ("io_uring", "1"), ("libaio", "1")] {
        let engine = format!("--ioengine={engine}");
        let times = format!("--replay_no_stall={times}");
        let replay = ["--name=r", "--read_iolog=made.log", &engine, &times];
        let json = ["--output-format=json", "--write_iolog=seen.log"];
        let arguments = [&replay[..], &json, &["--overwrite", "d"]].concat();
        let document: Value = serde_json::from_str(&ours(&arguments, folder)).unwrap();
        let job = &document["jobs"][0];
        assert_eq!(job["write"]["total_ios"], 16, "{engine}");
        assert_eq!(job["sync"]["total_ios"], recorded.len(), "{engine}");
        let seen = std::fs::read_to_string(folder.join("seen.log")).unwrap();
        for kind in [" sync", " datasync"] {
            let count = |text: &str| text.lines().filter(|row| row.contains(kind)).count();
            assert_eq!(count(&seen), count(&made), "{engine}{kind}: {seen}");
        }
        std::fs::remove_file(folder.join("seen.log")).unwrap();
    }
}

#[test]
fn what_is_recorded_here_is_replayed_by_fio() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let arguments = [&MIXED[..], &["--write_iolog=ours.log"]].concat();
    let recorded = ours(&arguments, folder);
    let [reads, _, writes, _] = amounts(&recorded);
    let count = rows(&folder.join("ours.log")).len() as u64;
    assert_eq!(count, reads + writes);
    // It does not record what it replays, but its log of latencies has offsets.
    let replay = [
        "--name=r",
        "--ioengine=psync",
        "--read_iolog=ours.log",
        "--write_lat_log=seen",
        "--log_offset=1",
        "--output-format=json",
    ];
    let Some(replayed) = theirs(&replay, folder) else {
        return;
    };
    assert_eq!(amounts(&replayed), amounts(&recorded));
    let log = std::fs::read_to_string(folder.join("seen_lat.1.log")).unwrap();
    let seen: Vec<(String, u64, u64)> = log
        .lines()
        .map(|line| {
            let words: Vec<&str> = line.split(", ").collect();
            let action = ["read", "write"][words[2].parse::<usize>().unwrap()];
            let number = |place: usize| words[place].parse().unwrap();
            (action.to_owned(), number(4), number(3))
        })
        .collect();
    let rows = rows(&folder.join("ours.log")).into_iter();
    let asked: Vec<(String, u64, u64)> = rows
        .map(|(action, _, offset, length)| (action, offset, length))
        .collect();
    assert_eq!(seen, asked);
}

#[test]
fn files_that_a_record_names_are_protected_like_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("r.log"), TEXT).unwrap();
    // What fills a file that we did not write is somebody's.
    let precious = b"precious ".repeat(2000);
    std::fs::write(folder.join("a"), &precious).unwrap();
    let arguments = [
        "fio",
        "--name=r",
        "--ioengine=psync",
        "--read_iolog=r.log",
        "--replay_skip=trim",
    ];
    let output = fathom(&arguments, folder);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("`a` (a) may not be overwritten"), "{said}");
    assert!(!folder.join("b").exists());
    assert_eq!(std::fs::read(folder.join("a")).unwrap(), precious);
}

#[test]
fn a_record_that_cannot_be_used_stops_a_run_and_no_reading() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(
        folder.join("bad.log"),
        "fio version 3 iolog\n1 a jump 0 4096\n",
    )
    .unwrap();
    for (record, said) in [
        ("missing.log", "`missing.log` cannot be read"),
        ("bad.log", "`bad.log`, line 2: unknown action `jump`"),
    ] {
        let job = format!("[j]\nioengine=psync\nread_iolog={record}\n");
        std::fs::write(folder.join("j.fio"), job).unwrap();
        let output = fathom(&["fio", "j.fio"], folder);
        let shown = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{shown}");
        assert!(
            shown.contains(said) && shown.contains("j.fio:3:12"),
            "{shown}"
        );
        assert!(
            fathom(&["fio", "--parse-only", "j.fio"], folder)
                .status
                .success()
        );
    }
}
