//! Results and reports of other programs that are damaged or made to do harm: a reason and a code, never a panic, never
//! a hang. The mutations follow from a seed, so that a failure comes again.
use crate::lab::{Ended, FATHOM, Lab, ended, has, is_tried, skip, some_of};
use std::collections::BTreeSet;

/// Longer than any of it takes, and only there so that a hang ends the test.
const TOO_LONG_S: &str = "60";

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit.max(1)
    }
}

fn bounded(lab: &Lab, words: &[&str]) -> Ended {
    let mut command = lab.command("timeout");
    command.args(["-s", "KILL", TOO_LONG_S, FATHOM]).args(words);
    ended(&mut command)
}

/// What a report of a damaged result must say: nothing is lost without a word.
#[track_caller]
fn is_marked(ended: &Ended, page: &str, what: &str) {
    assert!(
        ended.err.contains("warning: result file") && ended.err.contains("is damaged"),
        "{what}: {}",
        ended.err
    );
    assert!(page.contains("This result is damaged"), "{what}");
}

/// Several runs of many intervals.
fn long_lab() -> Lab {
    let lab = Lab::new();
    lab.write(
        "job",
        "sd=sd1,lun=disk,size=1m,threads=2\nwd=wd1,sd=sd1,xfersize=4k\n\
         rd=rd1,wd=wd1,iorate=500,elapsed=8,interval=1,forthreads=(1-40,1)\n",
    );
    lab.fathom(&["run", "job", "-o", "out", "--backend", "sim"])
        .expect(0);
    lab
}

#[test]
fn a_result_that_is_cut_off_is_shown_as_far_as_it_goes() {
    let lab = long_lab();
    let whole = lab.bytes("out/result.fathom");
    let mut kept = BTreeSet::new();
    // The last parts differ most in what can be read.
    for part in (0..60).filter(|part| is_tried(*part, 0) || *part > 55) {
        let length = whole.len() * part / 60 + part % 7;
        lab.write("result.fathom", &whole[..length]);
        let _ = std::fs::remove_dir_all(lab.path("again"));
        let ended = bounded(&lab, &["report", "result.fathom", "-o", "again"]);
        let what = format!("{length} of {} bytes", whole.len());
        ends_well(&ended, &what);
        match ended.code {
            Some(1) if ended.err.contains("holds no run that can be read") => {
                assert!(!lab.path("again/report.html").exists(), "{what}");
            }
            Some(1) => {
                let page = lab.text("again/report.html");
                is_marked(&ended, &page, &what);
                assert!(
                    ended.err.contains("is cut off after"),
                    "{what}: {}",
                    ended.err
                );
                kept.insert(ended.out.lines().count());
            }
            Some(2) => assert!(!lab.path("again/report.html").exists(), "{what}"),
            code => panic!("{what}: {code:?}"),
        }
    }
    // Some of it, and more of it.
    assert!(kept.len() > 1, "{kept:?}");
}

/// The values of a column, by row; a run that prepares has no figures.
fn column(csv: &str, name: &str) -> Vec<String> {
    let head = csv.lines().next().unwrap();
    let place = head.split(',').position(|word| word == name).unwrap();
    let of = |line: &str| line.split(',').nth(place).unwrap().to_owned();
    let rate = head
        .split(',')
        .position(|word| word == "achieved_rate_per_s");
    let measured = |line: &&str| line.split(',').nth(rate.unwrap()) != Some("");
    csv.lines().skip(1).filter(measured).map(of).collect()
}

/// What is lost is empty, never a zero that nobody measured. Gives how many runs have lost intervals.
#[track_caller]
fn has_no_zero_of_its_own(csv: &str, what: &str) -> usize {
    for name in ["achieved_rate_per_s", "queue_depth", "slots_busy"] {
        let busy = column(csv, name);
        // Each run does something all the time.
        assert!(
            !busy.iter().any(|value| value == "0.000"),
            "{what}: {name} {busy:?}"
        );
    }
    for (busy, marks) in column(csv, "slots_busy").iter().zip(column(csv, "marks")) {
        assert!(
            !busy.is_empty() || marks.contains("slots lost"),
            "{what}: {marks}"
        );
    }
    let has_lost = |line: &&str| line.contains("intervals lost");
    csv.lines().filter(has_lost).count()
}

#[test]
fn pages_of_zeros_cost_what_they_held() {
    let lab = long_lab();
    let whole = lab.bytes("out/result.fathom");
    let mut codes = BTreeSet::new();
    assert_eq!(
        has_no_zero_of_its_own(&lab.text("out/summary.csv"), "whole"),
        0
    );
    let mut lost = 0;
    // The first pages hold the tables, which are refused where they are lost; of the rest, some.
    for page in (0..whole.len() / 4096).filter(|page| *page < 40 || page % 7 == 0) {
        if !is_tried(page, 0) {
            continue;
        }
        let mut bytes = whole.clone();
        bytes[page * 4096..][..4096].fill(0);
        lab.write("result.fathom", bytes);
        let ended = bounded(&lab, &["report", "result.fathom", "-o", "again"]);
        ends_well(&ended, &format!("page {page}"));
        let is_refused = ended.err.contains("holds no run that can be read");
        if ended.code == Some(1) && !is_refused {
            is_marked(
                &ended,
                &lab.text("again/report.html"),
                &format!("page {page}"),
            );
            lost += has_no_zero_of_its_own(&lab.text("again/summary.csv"), &format!("page {page}"));
        }
        codes.insert(ended.code);
        if ended.code == Some(1) {
            ended.says(&["`sqlite3 result.fathom .recover` may show more"]);
        }
    }
    assert!(lost > 0, "no page held intervals");
    assert!(codes.contains(&Some(1)), "{codes:?}");
}

/// The faces of other tools say it in what they make, where a script looks.
#[test]
fn the_old_faces_mark_a_damaged_result_in_what_they_make() {
    let lab = long_lab();
    let whole = lab.bytes("out/result.fathom");
    lab.write("result.fathom", &whole[..whole.len() - 4096]);
    let report = |words: &[&str]| {
        let words = [&["report", "result.fathom", "-o", "again"], words].concat();
        bounded(&lab, &words).expect(1)
    };
    report(&["--vdbench"]);
    for page in [
        "summary.html",
        "totals.html",
        "errorlog.html",
        "logfile.html",
    ] {
        let text = lab.text(&format!("again/{page}"));
        assert!(
            text.contains("*** this result is damaged: "),
            "{page}: {text}"
        );
        assert!(
            !text.contains("killed or is still running"),
            "{page}: {text}"
        );
    }
    for (format, head) in [
        ("normal", "Description"),
        ("terse", "3;"),
        ("json", "\"desc\""),
    ] {
        let printed = report(&["--fio", format]).out;
        let mut lines = printed.lines().filter(|line| line.contains(head));
        assert!(
            lines.all(|line| line.contains("this result is damaged: ")),
            "{format}: {printed}"
        );
        assert!(
            printed.contains("this result is damaged"),
            "{format}: {printed}"
        );
    }
    lab.write("result.fathom", &whole);
    let words = ["report", "result.fathom", "-o", "whole", "--vdbench"];
    bounded(&lab, &words).expect(0);
    assert!(!lab.text("whole/summary.html").contains("damaged"));
}

/// A made-up start says no more than the first run does.
#[test]
fn a_result_without_the_start_of_its_execution_is_shown() {
    if !has("python3") {
        return skip("python3 is not there");
    }
    let lab = long_lab();
    let script = "import sqlite3\nc = sqlite3.connect('out/result.fathom')\n\
                  c.executescript('DELETE FROM executions; DELETE FROM targets')\nc.commit()\n";
    let made = lab
        .command("python3")
        .args(["-c", script])
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    for face in [&[][..], &["--vdbench"], &["--fio", "normal,json+"]] {
        let words = [&["report", "out", "-o", "again"], face].concat();
        let ended = bounded(&lab, &words).expect(1);
        ended.says(&["kept 321 intervals of 41 runs; lost at least 1 event"]);
    }
}

/// A refusal with a reason, or a report.
#[track_caller]
fn ends_well(ended: &Ended, what: &str) {
    assert!(
        matches!(ended.code, Some(0..=2)),
        "{what}: {:?} {}",
        ended.code,
        ended.err
    );
    assert!(!ended.err.contains("panicked"), "{what}: {}", ended.err);
    assert!(
        ended.code == Some(0) || ended.err.contains("error: "),
        "{what}: {}",
        ended.err
    );
}

/// Flips, cuts and copies some bytes.
fn mutated(whole: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    match random.below(8) {
        0 => bytes.truncate(random.below(whole.len())),
        1 => {
            let (from, to) = (random.below(bytes.len()), random.below(bytes.len()));
            let length = random.below(5000).min(bytes.len() - from.max(to));
            bytes.copy_within(from..from + length, to);
        }
        _ => {
            for _ in 0..1 + random.below(30) {
                let at = random.below(bytes.len());
                bytes[at] = match random.below(4) {
                    0 => 0,
                    1 => 0xff,
                    2 => bytes[at] ^ 1 << random.below(8),
                    _ => random.below(256) as u8,
                };
            }
        }
    }
    bytes
}

fn lab() -> Lab {
    let lab = Lab::new();
    lab.fathom(&[
        "fio",
        "--name=a",
        "--rw=randrw",
        "--size=256k",
        "--filename=disk",
        "--result=out",
        "--output-format=json+",
        "--output=json",
        "--loops=3",
    ])
    .expect(0);
    lab
}

#[test]
fn a_result_with_other_bytes_is_reported_or_refused() {
    let lab = lab();
    let whole = lab.bytes("out/result.fathom");
    let mut random = Random(7);
    let mut codes = BTreeSet::new();
    for number in 0..some_of(150) {
        lab.write("result.fathom", mutated(&whole, &mut random));
        let ended = bounded(
            &lab,
            &["report", "result.fathom", "-o", "again", "--fio", "normal"],
        );
        ends_well(&ended, &format!("mutation {number}"));
        codes.insert(ended.code);
    }
    // Both sides of the border were seen.
    assert!(codes.len() > 1);
}

#[test]
fn an_import_with_other_bytes_is_imported_or_refused() {
    let lab = lab();
    let whole = lab.bytes("json");
    let mut random = Random(11);
    for number in 0..some_of(100) {
        let _ = std::fs::remove_dir_all(lab.path("in"));
        lab.write("mutated", mutated(&whole, &mut random));
        let ended = bounded(&lab, &["import", "mutated", "-o", "in"]);
        ends_well(&ended, &format!("mutation {number}"));
    }
    let huge = "18446744073709551615";
    let negative = lab
        .text("json")
        .replace("\"total_ios\" : ", "\"total_ios\" : -");
    let large = lab.text("json").replace(
        "\"runtime\" : ",
        &format!("\"runtime\" : {huge}, \"old\" : "),
    );
    let bombs = [
        "{".repeat(1 << 20),
        "[".repeat(1 << 20),
        "{\"a\":".repeat(1 << 19),
        "{\"a\":[1,1,1,1,1,1,1,1,1,1,1,1,".repeat(1 << 16),
        format!("{{\"jobs\":[{}]}}", "{},".repeat(1 << 16)),
        negative,
        large,
    ];
    for (number, bomb) in bombs.iter().enumerate() {
        let _ = std::fs::remove_dir_all(lab.path("in"));
        lab.write("bomb", bomb);
        ends_well(
            &bounded(&lab, &["import", "bomb", "-o", "in"]),
            &format!("bomb {number}"),
        );
    }
}

#[test]
fn a_result_that_is_made_to_do_harm_is_refused() {
    if !has("sqlite3") && !has("python3") {
        return skip("neither sqlite3 nor python3 is there");
    }
    let lab = lab();
    let whole = lab.bytes("out/result.fathom");
    let recursive =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i, 'remark' FROM n";
    let cases = [
        format!("DROP TABLE events; CREATE VIEW events(event, kind) AS {recursive}"),
        "ALTER TABLE events RENAME TO e; CREATE TABLE events(event INTEGER PRIMARY KEY, kind TEXT AS (hex(zeroblob(400000000))))".to_owned(),
        "CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM events; END; UPDATE events SET kind = 'x'".to_owned(),
        "UPDATE events SET event = -event".to_owned(),
        "UPDATE intervals SET start_ns = 9223372036854775807, end_ns = -1".to_owned(),
        "UPDATE counts SET operations = -1, bytes = -1, service_ns_sum = -1".to_owned(),
        "UPDATE counts SET service_histogram = zeroblob(5000000)".to_owned(),
        "UPDATE samples SET streams = zeroblob(5000000), gaps = x'ffffffffffffffffff01ff'".to_owned(),
        "UPDATE executions SET plan_json = printf('%.*c', 100000, '[')".to_owned(),
        "UPDATE runs SET load_json = printf('%.*c', 100000, '[')".to_owned(),
        "PRAGMA user_version = 99".to_owned(),
        "PRAGMA application_id = 1".to_owned(),
        "DELETE FROM executions; DELETE FROM runs".to_owned(),
        "DROP TABLE intervals".to_owned(),
    ];
    for case in &cases {
        lab.write("result.fathom", &whole);
        let script = "import sqlite3, sys\nc = sqlite3.connect('result.fathom')\nfor s in sys.argv[1].split(';;'):\n  \
                      c.executescript(s); c.commit()\n";
        let made = lab
            .command("python3")
            .args(["-c", script, case])
            .output()
            .unwrap();
        assert!(
            made.status.success(),
            "{}",
            String::from_utf8_lossy(&made.stderr)
        );
        for face in [&["--vdbench"][..], &["--fio", "normal"]] {
            let words = [&["report", "result.fathom", "-o", "again"], face].concat();
            ends_well(&bounded(&lab, &words), case);
        }
    }
    assert!(
        std::process::Command::new("mkfifo")
            .arg(lab.path("pipe"))
            .status()
            .unwrap()
            .success()
    );
    for path in ["pipe", "/dev/zero"] {
        bounded(&lab, &["report", path, "-o", "again"])
            .expect(2)
            .says(&["not a regular file"]);
    }
}

#[test]
fn pages_of_noise_and_flipped_bits_end_in_a_report_or_a_reason() {
    let lab = lab();
    let whole = lab.bytes("out/result.fathom");
    let mut random = Random(23);
    let mut codes = BTreeSet::new();
    for number in 0..some_of(120) {
        let mut bytes = whole.clone();
        if number % 3 == 0 {
            let page = random.below(whole.len() / 4096);
            let bytes = &mut bytes[page * 4096..][..4096];
            bytes.fill_with(|| random.below(256) as u8);
        } else {
            bytes[random.below(whole.len())] ^= 1 << random.below(8);
        }
        lab.write("result.fathom", bytes);
        let ended = bounded(&lab, &["report", "result.fathom", "-o", "again"]);
        ends_well(&ended, &format!("change {number}"));
        codes.insert(ended.code);
    }
    assert!(codes.len() > 1, "{codes:?}");
}

/// Each with its own reason, and nothing is made.
#[test]
fn what_is_no_result_has_a_reason() {
    let lab = lab();
    let whole = lab.bytes("out/result.fathom");
    let mut random = Random(29);
    let noise: Vec<u8> = (0..100_000).map(|_| random.below(256) as u8).collect();
    // Numbers in the header of SQLite: the layout at 60, the program at 68.
    let with = |at: usize, number: u32| {
        let mut bytes = whole.clone();
        bytes[at..at + 4].copy_from_slice(&number.to_be_bytes());
        bytes
    };
    lab.write("empty", "");
    lab.write("noise", noise);
    lab.write("future", with(60, 99));
    lab.write("past", with(60, 9));
    lab.write("other", {
        let mut head = whole[..512].to_vec();
        head[68..72].copy_from_slice(&[0; 4]);
        head
    });
    std::fs::create_dir(lab.path("folder")).unwrap();
    for (name, says) in [
        ("empty", "it is empty"),
        ("noise", "not an SQLite database"),
        ("future", "has layout version 99"),
        (
            "past",
            "has layout version 9, this program reads versions from 10 on",
        ),
        ("folder", "holds no result"),
        ("missing", "does not exist"),
    ] {
        let ended = bounded(&lab, &["report", name, "-o", "again"]);
        ended.expect(2).says(&["error: ", says]);
    }
    ends_well(&bounded(&lab, &["report", "other", "-o", "again"]), "other");
    assert!(!lab.path("again/report.html").exists());
}
