//! Built-in sets of jobs, self tests, and lines about what happens, as fio has them beside jobs.
use crate::lab::{Lab, skip};
use serde_json::Value;

/// Direct I/O is what profiles ask for.
fn takes_direct_io(lab: &Lab) -> bool {
    let probe = "--name=p --filename=probe --size=64k --bs=4k --rw=write --direct=1";
    let words: Vec<&str> = ["fio"].into_iter().chain(probe.split(' ')).collect();
    let is_fine = lab.fathom(&words).code == Some(0);
    if !is_fine {
        skip("no direct I/O in the folder of tests");
    }
    is_fine
}

#[test]
fn tiobench_is_four_jobs_one_after_the_other() {
    let lab = Lab::new();
    let own = ["--size=1", "--block=65536", "--threads=2", "--numruns=2"];
    let words = |more: &'static [&str]| [&["fio", "--profile=tiobench"][..], &own, more].concat();
    let shown = lab.fathom(&words(&["--showcmd"])).expect(0);
    for word in [
        "--name=seqwrite",
        "--rw=randread",
        "--bs=65536",
        "--size=1m",
        "--loops=2",
    ] {
        assert!(shown.out.contains(word), "{word}: {}", shown.out);
    }
    if !takes_direct_io(&lab) {
        return;
    }
    let done = lab.fathom(&words(&["--output-format=json"])).expect(0);
    let report: Value = serde_json::from_str(&done.out[done.out.find('{').unwrap()..]).unwrap();
    let jobs = report["jobs"].as_array().unwrap();
    let of = |job: &Value| {
        let count = |of: &str| job[of]["total_ios"].as_u64().unwrap();
        (
            job["jobname"].as_str().unwrap().to_owned(),
            count("read"),
            count("write"),
        )
    };
    let found: Vec<(String, u64, u64)> = jobs.iter().map(of).collect();
    // Two clones and two rounds of 16 blocks each.
    let expected = [
        ("seqwrite", 0, 64),
        ("randwrite", 0, 64),
        ("seqread", 64, 0),
        ("randread", 64, 0),
    ];
    let expected = expected.map(|(name, reads, writes)| (name.to_owned(), reads, writes));
    assert_eq!(found, expected);
    for number in 1..=4 {
        let file = std::fs::metadata(lab.path(&format!(".fio.tio.{number}"))).unwrap();
        assert_eq!(file.len(), 256 << 10);
    }
}

#[test]
fn act_reads_at_its_rate_and_judges_the_latencies() {
    let lab = Lab::new();
    if !takes_direct_io(&lab) {
        return;
    }
    let file = std::fs::File::create(lab.path("f")).unwrap();
    file.set_len(8 << 20).unwrap();
    let own = [
        "--device-names=f",
        "--read-req-num-512-blocks=8",
        "--large-block-op-kbytes=64",
    ];
    let act = ["fio", "--profile=act", "--overwrite", "f"];
    let prepared = lab.fathom(&[&act[..], &own, &["--prep", "--output-format=terse"]].concat());
    let prepared = prepared.expect(0);
    assert!(
        !prepared.out.contains("act: test complete"),
        "{}",
        prepared.out
    );
    let times = ["--test-duration=2", "--threads-per-queue=2"];
    let done = lab
        .fathom(&[&act[..], &own, &times, &["--output-format=normal,json"]].concat())
        .expect(0);
    assert!(
        done.out.contains(" slice       1       8      64\n"),
        "{}",
        done.out
    );
    assert!(done.out.contains("act: test complete: "), "{}", done.out);
    let end = done.out.find("\n}\n").unwrap() + 2;
    let report: Value = serde_json::from_str(&done.out[done.out.find('{').unwrap()..end]).unwrap();
    let jobs = report["jobs"].as_array().unwrap();
    let names: Vec<&str> = jobs
        .iter()
        .map(|job| job["jobname"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["act-read", "act-large-read", "act-large-write"]);
    let reads = jobs[0]["read"]["total_ios"].as_u64().unwrap();
    // 2 000 in each of two seconds, where the machine keeps up.
    assert!((100..=4_000).contains(&reads), "{reads}");
}

#[test]
fn a_profile_stands_for_all_jobs() {
    let lab = Lab::new();
    lab.write("job.fio", "[a]\nsize=4k\n");
    for (words, hint) in [
        (&["fio", "--profile=nothing"][..], "use `tiobench` or `act`"),
        (&["fio", "--profile=act"], "--device-names"),
        (
            &["fio", "--profile=tiobench", "job.fio"],
            "leave job files out",
        ),
    ] {
        let refused = lab.fathom(words).expect(2);
        assert!(refused.err.contains(hint), "{}", refused.err);
    }
}

#[test]
fn sums_have_a_speed_each() {
    let lab = Lab::new();
    let done = lab.fathom(&["fio", "--crctest=crc32c,sha3-256"]).expect(0);
    let speed = |line: &str, name: &str| -> f64 {
        let rest = line.strip_prefix(name).unwrap_or_else(|| panic!("{line}"));
        rest.trim()
            .strip_suffix(" MiB/sec")
            .unwrap()
            .parse()
            .unwrap()
    };
    let lines: Vec<&str> = done.out.lines().collect();
    assert!(
        speed(lines[0], "crc32c:\t\t") > speed(lines[1], "sha3-256:\t"),
        "{lines:?}"
    );
    let unknown = lab.fathom(&["fio", "--crctest=nothing"]).expect(2);
    assert!(unknown.err.contains("sha3-512"), "{}", unknown.err);
}

#[test]
fn the_clock_is_read_on_every_cpu() {
    let lab = Lab::new();
    let done = lab.fathom(&["fio", "--cpuclock-test"]);
    let cpus = done
        .out
        .lines()
        .filter(|line| line.starts_with("cs: cpu "))
        .count();
    let told = done
        .out
        .lines()
        .find_map(|line| line.strip_prefix("cs: Testing "));
    assert_eq!(told, Some(&*format!("{cpus} CPUs")), "{}", done.out);
    // A machine whose clock is out of order is what the test is there to find.
    let verdict = done.out.lines().last().unwrap();
    match done.code {
        Some(0) => assert_eq!(verdict, "cs: Pass!"),
        code => {
            assert!(
                code == Some(1) && verdict.starts_with("cs: Failed"),
                "{}",
                done.out
            );
        }
    }
}

#[test]
fn subjects_are_told_while_they_happen() {
    let lab = Lab::new();
    let job = "--name=one --name=two --filename=f --size=64k --bs=4k --rw=write --rate_iops=1000";
    let told = |list: &str, out: &str| {
        let debug = format!("--debug={list}");
        // Options in front of the first name are those of both.
        let (names, shared) = job.split_at(job.find("--filename").unwrap());
        let words = ["fio", &debug, "--output=report"].into_iter();
        let words: Vec<&str> = words
            .chain(shared.split(' '))
            .chain(names.split_whitespace())
            .collect();
        let done = lab.fathom(&words).expect(0);
        let lines = done.out.lines().filter(|line| line.contains(out));
        lines.map(str::to_owned).collect::<Vec<String>>()
    };
    // Two jobs write sixteen blocks each.
    assert_eq!(told("io", "complete: job").len(), 32);
    let second = told("io,job:2", "complete: ");
    assert_eq!(second.len(), 16);
    assert!(
        second
            .iter()
            .all(|line| line.contains("job 2: write: off=")),
        "{second:?}"
    );
    assert!(second[0].starts_with("io       "), "{second:?}");
    assert_eq!(told("process", "begins, with 1 in flight at most").len(), 2);
    assert_eq!(told("file", "add file f, 65536 bytes, written").len(), 1);
    assert_eq!(told("parse", "--rate_iops=1000").len(), 2);
    assert!(!told("rate", "were due").is_empty());
    assert!(!told("time", "interval 1 of").is_empty());
    assert_eq!(told("random", "the seed of the execution is 1").len(), 1);
    assert_eq!(told("verify", "complete").len(), 0);
}

#[test]
fn subjects_that_cannot_be_told_are_refused_by_name() {
    let lab = Lab::new();
    for (list, hint) in [
        ("mutex", "workers wait for no lock"),
        ("nothing", "--debug=?"),
        ("job:0", "numbered from 1"),
    ] {
        let refused = lab
            .fathom(&["fio", &format!("--debug={list}"), "--name=a"])
            .expect(2);
        assert!(refused.err.contains(hint), "{}", refused.err);
    }
    let all = lab.fathom(&["fio", "--debug=?"]).expect(0);
    assert!(all.out.contains("refused: workers wait"), "{}", all.out);
}
