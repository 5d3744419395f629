//! What `fathom fio` prints beside what the installed fio prints for the same job, and programs
//! made for fio on our output.
use crate::lab::{Ended, FATHOM, Lab, ended, has, must, skip};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

const JOB: &str = "[global]
bs=4k
size=4m
ioengine=null
norandommap=1
[mix]
description=both ways
rw=randrw
iodepth=4
[alone]
stonewall
rw=write
number_ios=100
numjobs=2
group_reporting
";

/// Where ours keeps its result; the original does not know it.
const RESULT: &str = "fathom-output";

fn ours(lab: &Lab, words: &[&str]) -> Ended {
    let mut command = lab.fio_command(FATHOM);
    ended(command.args(words).env("FATHOM_RESULT", RESULT)).expect(0)
}

fn theirs(lab: &Lab, words: &[&str]) -> Option<Ended> {
    lab.reference_fio(words).map(|theirs| theirs.expect(0))
}

fn keys(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object.iter().filter(|(key, _)| *key != "bins") {
                let path = format!("{path}.{key}");
                keys(value, &path, found);
                found.insert(path);
            }
        }
        Value::Array(values) => {
            for (place, value) in values.iter().enumerate() {
                keys(value, &format!("{path}[{place}]"), found);
            }
        }
        _ => {}
    }
}

fn tree(value: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    keys(value, "", &mut found);
    found
}

#[test]
fn the_same_job_has_the_same_keys_and_counts() {
    let lab = Lab::new();
    lab.write("job.fio", JOB);
    for format in ["json", "json+"] {
        let arguments = ["--output-format", format, "job.fio"];
        let Some(theirs) = theirs(&lab, &arguments) else {
            return;
        };
        let (ours, theirs) = (ours(&lab, &arguments).json(), theirs.json());
        let (mine, other) = (tree(&ours), tree(&theirs));
        let different: Vec<&String> = mine.symmetric_difference(&other).collect();
        assert!(different.is_empty(), "{different:#?}");
        assert_eq!(ours["global options"], theirs["global options"]);
        for place in 0..2 {
            let (ours, theirs) = (&ours["jobs"][place], &theirs["jobs"][place]);
            for key in [
                "jobname",
                "groupid",
                "error",
                "job options",
                "latency_depth",
            ] {
                assert_eq!(ours[key], theirs[key], "{key}");
            }
        }
        let both = |value: &Value| -> u64 {
            let job = &value["jobs"][0];
            let count = |direction: &str| job[direction]["total_ios"].as_u64().unwrap();
            count("read") + count("write")
        };
        assert_eq!(both(&ours), 1_024);
        assert_eq!(both(&theirs), 1_024);
        for key in ["total_ios", "io_bytes"] {
            let count = |value: &Value| value["jobs"][1]["write"][key].as_u64();
            assert_eq!(count(&ours), count(&theirs), "{key}");
        }
    }
}

/// A job on files by native AIO: submission is told apart at any depth.
#[test]
fn native_aio_has_the_keys_of_its_engine() {
    let lab = Lab::new();
    let job = "[global]\nioengine=libaio\nbs=4k\nsize=1m\nthread\n\
               [many]\nrw=randrw\niodepth=8\n[one]\nstonewall\nrw=write\n";
    lab.write("job.fio", job);
    let arguments = ["--output-format=json", "job.fio"];
    let ours = ours(&lab, &arguments).json();
    for (place, operations) in [(0, 256), (1, 256)] {
        let job = &ours["jobs"][place];
        let done = |direction: &str| job[direction]["total_ios"].as_u64().unwrap();
        assert_eq!(done("read") + done("write"), operations);
        assert!(job["write"]["slat_ns"]["max"].as_u64() > Some(0));
        assert_eq!(job["write"]["slat_ns"]["N"], job["write"]["total_ios"]);
    }
    let Some(theirs) = theirs(&lab, &arguments) else {
        return;
    };
    let (mine, other) = (tree(&ours), tree(&theirs.json()));
    let is_of_device = |path: &&String| path.contains(".disk_util");
    let different: Vec<&String> = mine
        .symmetric_difference(&other)
        .filter(|path| !is_of_device(path))
        .collect();
    assert!(different.is_empty(), "{different:#?}");
}

/// Side by side, each with its own engine; what was used is told by every report.
#[test]
fn jobs_of_one_file_have_engines_of_their_own() {
    let lab = Lab::new();
    let job = "[global]\nbs=4k\nsize=1m\nthread\n[queue]\nioengine=libaio\nrw=randread\niodepth=8\n\
               [call]\nioengine=psync\nrw=write\n[nothing]\nioengine=null\nrw=read\n\
               [ring]\nstonewall\nioengine=io_uring\nrw=randread\niodepth=4\n";
    lab.write("job.fio", job);
    let arguments = ["--output-format=json", "job.fio"];
    let mine = ours(&lab, &arguments).json();
    for (place, direction) in [(0, "read"), (1, "write"), (2, "read"), (3, "read")] {
        let figures = &mine["jobs"][place][direction];
        assert_eq!(figures["total_ios"], 256, "{place}");
        let has_submission = figures["slat_ns"]["N"].as_u64() > Some(0);
        assert_eq!(has_submission, place == 0 || place == 3, "{place}");
    }
    let report = lab.text("fathom-output/report.html");
    assert!(
        report.contains("aio + sync + null + uring"),
        "{report:.300}"
    );
    assert!(report.contains("aio by queue; sync by call; null by nothing; uring by ring"));
    let Some(theirs) = theirs(&lab, &arguments) else {
        return;
    };
    let theirs = theirs.json();
    let is_of_device = |path: &&String| path.contains(".disk_util");
    let (mine, other) = (tree(&mine), tree(&theirs));
    let different: Vec<&String> = mine
        .symmetric_difference(&other)
        .filter(|path| !is_of_device(path))
        .collect();
    assert!(different.is_empty(), "{different:#?}");
}

#[test]
fn the_same_job_has_the_same_fields() {
    let lab = Lab::new();
    lab.write("job.fio", JOB);
    for version in ["2", "3", "4", "5"] {
        let arguments = ["--minimal", "--terse-version", version, "job.fio"];
        let Some(theirs) = theirs(&lab, &arguments) else {
            return;
        };
        let ours = ours(&lab, &arguments);
        let counts = |text: &str| -> Vec<usize> {
            text.lines().map(|line| line.split(';').count()).collect()
        };
        assert_eq!(counts(&ours.out), counts(&theirs.out), "version {version}");
    }
}

#[test]
fn reports_go_where_they_are_sent() {
    let lab = Lab::new();
    lab.write("job.fio", JOB);
    let console = ours(
        &lab,
        &["--output=out.txt", "--output-format=normal,json", "job.fio"],
    );
    assert_eq!(console.out, "");
    let text = lab.text("out.txt");
    assert!(
        text.contains("mix: (groupid=0, jobs=1): err= 0: pid="),
        "{text}"
    );
    assert!(
        text.contains("\nRun status group 1 (all jobs):\n  WRITE: bw="),
        "{text}"
    );
    assert!(text.contains("\n{\n  \"fio version\" : \"fio-"), "{text}");
    let report = ["report", RESULT, "--fio", "json"];
    let again = lab.fathom(&report).expect(0).json();
    assert_eq!(again["jobs"][1]["write"]["total_ios"], 200);
}

/// What a job says of its failures is not among what programs read, with and without a file.
#[test]
fn the_report_of_a_job_that_fails_is_one_from_its_first_byte() {
    let lab = Lab::new();
    // Reads one that was written with other sums.
    let failing = "[j]\nioengine=psync\nfilename=disk\nsize=16k\nbs=4k\nrw=read\nverify=crc32c\n";
    let with_line = format!("{failing}continue_on_error=verify\n");
    for (job, format) in [
        (failing, "json"),
        (failing, "json+"),
        (failing, "terse"),
        (&with_line, "json"),
        (&with_line, "terse"),
    ] {
        let is_right = |text: &str| match format {
            "terse" => text.starts_with("3;fio-") && text.lines().all(|line| line.contains(';')),
            _ => serde_json::from_str::<serde_json::Value>(text).is_ok(),
        };
        lab.write("disk", vec![7; 16 << 10]);
        lab.write("job.fio", job);
        let words = format!("--output-format={format}");
        for program in [FATHOM, "fio"] {
            if program == "fio" && !has("fio") {
                continue;
            }
            let mut command = lab.fio_command(program);
            let ended = ended(command.args(["--output=report", &words, "job.fio"]));
            // A failure that is borne is none.
            let is_borne = job.contains("continue_on_error");
            assert_eq!(ended.code == Some(0), is_borne, "{program} {job}");
            assert!(ended.err.contains("verify: "), "{program} {}", ended.err);
            assert_eq!(ended.out, "", "{program}");
            let report = lab.text("report");
            assert!(is_right(&report), "{program} {format}: {report}");
        }
        let console = ended(lab.fio_command(FATHOM).args([&*words, "job.fio"]));
        assert!(console.err.contains("verify: "), "{}", console.err);
        assert!(is_right(&console.out), "{format}: {}", console.out);
    }
}

/// A job on a file that writes every kind of log, by two programs' worth of parsers.
#[test]
fn programs_made_for_logs_read_ours() {
    let lab = Lab::new();
    let job = "[j]\nioengine=null\nrw=randrw\nbs=4k\nsize=64m\nrate_iops=2000\nruntime=2\n\
               time_based\nnorandommap\nwrite_bw_log=b\nwrite_iops_log=i\nwrite_lat_log=l\nlog_avg_msec=100\n\
               write_hist_log=h\nlog_hist_msec=500\nlog_hist_coarseness=6\n";
    lab.write("job.fio", job);
    ours(&lab, &["job.fio"]);
    let rows = |name: &str| -> Vec<Vec<u64>> {
        let text = lab.text(name);
        let row = |line: &str| line.split(", ").map(|word| word.parse().unwrap()).collect();
        text.lines().map(row).collect()
    };
    for (name, columns, least) in [
        ("b_bw.1.log", 5, 30),
        ("i_iops.1.log", 5, 30),
        ("l_lat.1.log", 5, 30),
        ("l_clat.1.log", 5, 30),
        ("h_clat_hist.1.log", 3 + 29, 6),
    ] {
        let rows = rows(name);
        assert!(rows.len() >= least, "{name}: {rows:?}");
        assert!(rows.iter().all(|row| row.len() == columns), "{name}");
    }
    let packed = "/usr/share/doc/fio/fiologparser.py.gz";
    if !Path::new(packed).exists() {
        return skip("fiologparser.py is not installed");
    }
    let script = must("zcat", &[packed]);
    lab.write("fiologparser.py", &script);
    if script.contains("(time, value, foo, bar)") {
        return skip("this fiologparser.py reads four columns, and fio itself prints five");
    }
    if !has("python3") {
        return skip("`python3` is not installed");
    }
    let arguments = ["fiologparser.py", "-s", "-i", "500", "i_iops.1.log"];
    let sums = ended(lab.command("python3").args(arguments)).expect(0).out;
    let line = sums.lines().nth(1).expect("a line per interval");
    assert!(line.starts_with("1000, "), "{sums}");
}

#[test]
fn single_operations_are_logged_one_by_one() {
    let lab = Lab::new();
    let job = "[j]\nioengine=null\nrw=write\nbs=4k\nsize=4m\nnumber_ios=500\nwrite_lat_log=l\n\
               write_bw_log\nlog_offset=1\nlog_issue_time=1\n";
    lab.write("job.fio", job);
    ours(&lab, &["job.fio"]);
    for name in ["l_lat.1.log", "l_clat.1.log", "j_bw.1.log"] {
        let text = lab.text(name);
        assert_eq!(text.lines().count(), 500, "{name}");
        let last: Vec<&str> = text.lines().last().unwrap().split(", ").collect();
        assert_eq!(
            (last[2], last[3], last[4]),
            ("1", "4096", "2043904"),
            "{name}"
        );
        let issued_ns: Vec<u64> = text
            .lines()
            .map(|line| line.rsplit_once(", ").unwrap().1.parse().unwrap())
            .collect();
        assert!(issued_ns.is_sorted() && issued_ns[0] < issued_ns[499]);
        assert_eq!(last.len(), 7, "{name}");
    }
}
