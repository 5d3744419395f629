//! `--repeat`, `--wait-until` and the status line, as a user of `fathom fio` and `run` sees them.
use crate::lab::Lab;
use serde_json::Value;

const JOB: &str = "[global]\nioengine=null\nrw=randread\nbs=4k\nsize=4m\n[one]\nnumber_ios=100\n\
                   write_lat_log=l\n[two]\nstonewall\nnumber_ios=50\n";

fn lab_with(job: &str) -> Lab {
    let lab = Lab::new();
    lab.write("job.fio", job);
    lab
}

#[test]
fn repetitions_are_groups_of_their_own_with_median_and_spread() {
    let lab = lab_with(JOB);
    let arguments = [
        "--repeat",
        "3",
        "--result=fathom-output",
        "--output-format=json",
        "job.fio",
    ];
    let document = lab.fio(arguments).expect(0).json();
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
    check_records(&lab);
}

fn check_records(lab: &Lab) {
    // Each repetition has log files of its own.
    for number in [1, 3, 5] {
        let log = lab.text(&format!("l_lat.{number}.log"));
        assert_eq!(log.lines().count(), 100);
    }
    // The record holds all of it, for every report.
    let report = lab.fathom(&["report", "fathom-output", "--fio", "normal"]);
    report.prints(&["\none: (groupid=0, jobs=1): 3 times\n  read  IOPS"]);
    let page = lab.text("fathom-output/report.html");
    assert!(page.contains("<h2>Repetitions</h2>"));
    let again = lab.fathom(&["report", "fathom-output"]);
    again.prints(&["one repeated 3 times:\n  I/O/s "]);
}

#[test]
fn run_repeats_too_and_a_job_that_repeats_itself_is_not_overruled() {
    let lab = lab_with(JOB);
    let output = lab.fathom(&["run", "--repeat", "2", "job.fio"]);
    output.prints(&["two repeated 2 times:"]);
    let job = "loop=3\nsd=s,lun=f,size=1m\nwd=w,sd=s\nrd=r,wd=w,iorate=max,elapsed=2\n";
    lab.write("loop.parm", job);
    let output = lab.fathom(&["run", "--repeat", "2", "loop.parm"]);
    output.expect(2).says(&["repeats its runs by itself"]);
}

#[test]
fn a_run_waits_until_a_command_succeeds() {
    let lab = lab_with("[j]\nioengine=null\nrw=read\nsize=1m\nnumber_ios=10\n");
    let command = "test -e ready || { touch ready; echo not yet; false; }";
    let output = lab.fio(["--wait-until", command, "--wait-limit=1m", "job.fio"]);
    output.expect(0).says(&["waiting until `test -e ready"]);
    let record = lab.fio(["--wait-until", "true", "job.fio"]);
    assert_eq!(
        record.err, "",
        "nothing is said where nothing is waited for"
    );
}

#[test]
fn what_never_succeeds_ends_the_execution_in_time() {
    let lab = lab_with("[j]\nioengine=null\nrw=read\nsize=1m\nnumber_ios=10\n");
    for command in ["echo no such luck; false", "sleep 100"] {
        let output = lab.fio(["--wait-until", command, "--wait-limit=1", "job.fio"]);
        let said = "did not succeed within 1.00 s, so the run was not begun";
        let output = output.expect(1).says(&[said]);
        assert!(!output.out.contains("IOPS="), "no run was begun");
    }
    lab.fio(["--wait-limit=1", "job.fio"]).expect(2);
}

#[test]
fn the_status_line_goes_on_in_new_lines_when_asked() {
    let lab =
        lab_with("[j]\nioengine=null\nrw=read\nsize=1m\ntime_based\nruntime=2\nrate_iops=100\n");
    let shown = |option: &[&str]| {
        let arguments = ["--eta=always", "--eta-interval=500ms"];
        let shown = lab.fio([&arguments, option, &["job.fio"]].concat()).out;
        let begun = shown.find("Jobs: ").expect("a status line");
        let end = shown.rfind("Jobs: ").unwrap();
        shown[begun..end].matches('\n').count()
    };
    assert_eq!(shown(&[]), 0);
    assert!(shown(&["--eta-newline=500ms"]) > 0);
}
