//! Records of I/O: what one program recorded, the other replays, to the same counts and offsets.
use crate::lab::Lab;
use serde_json::Value;

/// Counts and bytes of reads and writes of the first job.
fn amounts(document: &Value) -> [u64; 4] {
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
    let lab = Lab::new();
    lab.write("r.log", TEXT);
    let runtime_ms = |rest: &str| {
        let job = format!("[j]\nioengine=psync\nread_iolog=r.log\nreplay_skip=trim\n{rest}");
        lab.write("j.fio", job);
        let document = lab.fio(["--output-format=json", "j.fio"]).expect(0).json();
        assert_eq!(amounts(&document), [3, 8704, 2, 12288], "{rest}");
        document["jobs"][0]["job_runtime"].as_u64().unwrap()
    };
    assert!(runtime_ms("") >= 300);
    assert_eq!(lab.length("a"), 8192);
    assert_eq!(lab.length("b"), 8192);
    assert!(runtime_ms("replay_time_scale=10\n") >= 3000);
    // Without times nothing says how long it takes, but that it is not as long as the waits.
    let begun = std::time::Instant::now();
    runtime_ms("replay_no_stall=1\nreplay_time_scale=1\n");
    assert!(begun.elapsed().as_secs() < 30);
}

/// The operations of a record: action, file, offset, length.
fn rows(lab: &Lab, name: &str) -> Vec<(String, String, u64, u64)> {
    let text = lab.text(name);
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
    let lab = Lab::new();
    let arguments = [&MIXED[..], &["--write_iolog=theirs.log"]].concat();
    let Some(recorded) = lab.reference_fio(arguments) else {
        return;
    };
    let recorded = recorded.expect(0).json();
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
    let replayed = lab.fio(replay).expect(0).json();
    assert_eq!(amounts(&replayed), amounts(&recorded));
    assert_eq!(rows(&lab, "ours.log"), rows(&lab, "theirs.log"));
}

#[test]
fn syncs_of_a_record_are_replayed() {
    let lab = Lab::new();
    let write = ["--name=w", "--filename=d", "--rw=write", "--size=64k"];
    let syncs = ["--fsync=4", "--write_iolog=made.log"];
    lab.fio(write.iter().chain(&syncs)).expect(0);
    let made = lab.text("made.log");
    let made = made.replacen(" sync 0 0", " datasync 0 0", 1);
    lab.write("made.log", &made);
    let of_syncs = |row: &&str| row.contains("sync");
    let recorded: Vec<&str> = made.lines().filter(of_syncs).collect();
    assert!(recorded.len() >= 3, "{made}");
    for (engine, times) in [("psync", "0"), ("io_uring", "1"), ("libaio", "1")] {
        let engine = format!("--ioengine={engine}");
        let times = format!("--replay_no_stall={times}");
        let replay = ["--name=r", "--read_iolog=made.log", &engine, &times];
        let json = ["--output-format=json", "--write_iolog=seen.log"];
        let arguments = [&replay[..], &json, &["--overwrite", "d"]].concat();
        let document = lab.fio(arguments).expect(0).json();
        let job = &document["jobs"][0];
        assert_eq!(job["write"]["total_ios"], 16, "{engine}");
        assert_eq!(job["sync"]["total_ios"], recorded.len(), "{engine}");
        let seen = lab.text("seen.log");
        for kind in [" sync", " datasync"] {
            let count = |text: &str| text.lines().filter(|row| row.contains(kind)).count();
            assert_eq!(count(&seen), count(&made), "{engine}{kind}: {seen}");
        }
        lab.remove("seen.log");
    }
}

#[test]
fn what_is_recorded_here_is_replayed_by_fio() {
    let lab = Lab::new();
    let arguments = [&MIXED[..], &["--write_iolog=ours.log"]].concat();
    let recorded = lab.fio(arguments).expect(0).json();
    let [reads, _, writes, _] = amounts(&recorded);
    let count = rows(&lab, "ours.log").len() as u64;
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
    let Some(replayed) = lab.reference_fio(replay) else {
        return;
    };
    let replayed = replayed.expect(0).json();
    assert_eq!(amounts(&replayed), amounts(&recorded));
    let log = lab.text("seen_lat.1.log");
    let seen: Vec<(String, u64, u64)> = log
        .lines()
        .map(|line| {
            let words: Vec<&str> = line.split(", ").collect();
            let action = ["read", "write"][words[2].parse::<usize>().unwrap()];
            let number = |place: usize| words[place].parse().unwrap();
            (action.to_owned(), number(4), number(3))
        })
        .collect();
    let rows = rows(&lab, "ours.log").into_iter();
    let asked: Vec<(String, u64, u64)> = rows
        .map(|(action, _, offset, length)| (action, offset, length))
        .collect();
    assert_eq!(seen, asked);
}

#[test]
fn files_that_a_record_names_are_protected_like_any_other() {
    let lab = Lab::new();
    lab.write("r.log", TEXT);
    // What fills a file that we did not write is somebody's.
    let precious = b"precious ".repeat(2000);
    lab.write("a", &precious);
    let replay = ["--name=r", "--ioengine=psync", "--read_iolog=r.log"];
    lab.fio(replay.iter().chain(&["--replay_skip=trim"]))
        .expect(3)
        .says(&["`a` may not be overwritten"]);
    assert!(!lab.path("b").exists());
    assert_eq!(lab.bytes("a"), precious);
}

#[test]
fn a_record_that_cannot_be_used_stops_a_run_and_no_reading() {
    let lab = Lab::new();
    lab.write("bad.log", "fio version 3 iolog\n1 a jump 0 4096\n");
    for (record, said) in [
        ("missing.log", "`missing.log` cannot be read"),
        ("bad.log", "`bad.log`, line 2: unknown action `jump`"),
    ] {
        let job = format!("[j]\nioengine=psync\nread_iolog={record}\n");
        lab.write("j.fio", job);
        let output = lab.fio(["j.fio"]).expect(2);
        output.says(&[said, "j.fio:3:12"]);
        lab.fio(["--parse-only", "j.fio"]).expect(0);
    }
}
