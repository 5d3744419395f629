//! `--repeat`, `--wait-until` and the status line, as a user of `fathom fio` and `run` sees them.
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

const JOB: &str = "[global]\nioengine=null\nrw=randread\nbs=4k\nsize=4m\n[one]\nnumber_ios=100\n\
                   write_lat_log=l\n[two]\nstonewall\nnumber_ios=50\n";

fn fathom(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn folder_with(job: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("job.fio"), job).unwrap();
    folder
}

#[test]
fn repetitions_are_groups_of_their_own_with_median_and_spread() {
    let folder = folder_with(JOB);
    let arguments = [
        "fio",
        "--repeat",
        "3",
        "--result=fathom-output",
        "--output-format=json",
        "job.fio",
    ];
    let output = fathom(&arguments, folder.path());
    assert!(output.status.success(), "{output:?}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let jobs: Vec<(String, u64, u64)> = document["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| {
            let number = |value: &Value| value.as_u64().unwrap();
            let name = job["jobname"].as_str().unwrap().to_owned();
            (
                name,
                number(&job["groupid"]),
                number(&job["read"]["total_ios"]),
            )
        })
        .collect();
    let expected: Vec<(String, u64, u64)> = (0..3)
        .flat_map(|pass| {
            [
                ("one".to_owned(), pass * 2, 100),
                ("two".to_owned(), pass * 2 + 1, 50),
            ]
        })
        .collect();
    assert_eq!(jobs, expected);
    let repetitions = &document["fathom"]["repetitions"];
    for (place, job) in ["one", "two"].into_iter().enumerate() {
        let of = &repetitions[place];
        assert_eq!(
            (&of["jobname"], &of["repetitions"]),
            (&job.into(), &3.into())
        );
        let figure = |key: &str| of["read"]["iops"][key].as_f64().unwrap();
        let mut rates: Vec<f64> = (0..3)
            .map(|pass| {
                document["jobs"][pass * 2 + place]["read"]["iops"]
                    .as_f64()
                    .unwrap()
            })
            .collect();
        rates.sort_by(f64::total_cmp);
        let near = |one: f64, other: f64| (one - other).abs() < 1e-3 * other.abs().max(1.0);
        assert!(near(figure("min"), rates[0]) && near(figure("median"), rates[1]));
        assert!(near(figure("max"), rates[2]), "{of:#}");
    }
    check_records(folder.path());
}

fn check_records(folder: &Path) {
    // Each repetition has log files of its own.
    for number in [1, 3, 5] {
        let log = std::fs::read_to_string(folder.join(format!("l_lat.{number}.log")));
        assert_eq!(log.unwrap().lines().count(), 100);
    }
    // The record holds all of it, for every report.
    let report = fathom(&["report", "fathom-output", "--fio", "normal"], folder);
    let report = text(&report.stdout);
    assert!(
        report.contains("\none: (groupid=0, jobs=1): 3 times\n  read  IOPS"),
        "{report}"
    );
    let page = std::fs::read_to_string(folder.join("fathom-output/report.html")).unwrap();
    assert!(page.contains("<h2>Repetitions</h2>"));
    let again = fathom(&["report", "fathom-output"], folder);
    assert!(
        text(&again.stdout).contains("one repeated 3 times:\n  I/O/s "),
        "{again:?}"
    );
}

#[test]
fn run_repeats_too_and_a_job_that_repeats_itself_is_not_overruled() {
    let folder = folder_with(JOB);
    let output = fathom(&["run", "--repeat", "2", "job.fio"], folder.path());
    let shown = text(&output.stdout);
    assert!(shown.contains("two repeated 2 times:"), "{shown}");
    let job = "loop=3\nsd=s,lun=f,size=1m\nwd=w,sd=s\nrd=r,wd=w,iorate=max,elapsed=2\n";
    std::fs::write(folder.path().join("loop.parm"), job).unwrap();
    let output = fathom(&["run", "--repeat", "2", "loop.parm"], folder.path());
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("repeats its runs by itself"));
}

#[test]
fn a_run_waits_until_a_command_succeeds() {
    let folder = folder_with("[j]\nioengine=null\nrw=read\nsize=1m\nnumber_ios=10\n");
    let command = "test -e ready || { touch ready; echo not yet; false; }";
    let arguments = ["fio", "--wait-until", command, "--wait-limit=1m", "job.fio"];
    let output = fathom(&arguments, folder.path());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said = text(&output.stderr);
    assert!(said.contains("waiting until `test -e ready"), "{said}");
    let record = fathom(&["fio", "--wait-until", "true", "job.fio"], folder.path());
    assert_eq!(
        text(&record.stderr),
        "",
        "nothing is said where nothing is waited for"
    );
}

#[test]
fn what_never_succeeds_ends_the_execution_in_time() {
    let folder = folder_with("[j]\nioengine=null\nrw=read\nsize=1m\nnumber_ios=10\n");
    for command in ["echo no such luck; false", "sleep 100"] {
        let arguments = ["fio", "--wait-until", command, "--wait-limit=1", "job.fio"];
        let output = fathom(&arguments, folder.path());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.contains("did not succeed within 1.00 s, so the run was not begun"),
            "{said}"
        );
        assert!(!text(&output.stdout).contains("IOPS="), "no run was begun");
    }
    let output = fathom(&["fio", "--wait-limit=1", "job.fio"], folder.path());
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn the_status_line_goes_on_in_new_lines_when_asked() {
    let folder =
        folder_with("[j]\nioengine=null\nrw=read\nsize=1m\ntime_based\nruntime=2\nrate_iops=100\n");
    let shown = |option: &[&str]| {
        let arguments = ["fio", "--eta=always", "--eta-interval=500ms"];
        let arguments = [&arguments, option, &["job.fio"]].concat();
        let shown = text(&fathom(&arguments, folder.path()).stdout);
        let begun = shown.find("Jobs: ").expect("a status line");
        let end = shown.rfind("Jobs: ").unwrap();
        shown[begun..end].matches('\n').count()
    };
    assert_eq!(shown(&[]), 0);
    assert!(shown(&["--eta-newline=500ms"]) > 0);
}
