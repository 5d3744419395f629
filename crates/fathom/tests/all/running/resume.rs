//! `--resume`: interrupted in every way, and one result at the end.
use crate::lab::{Lab, job};

/// Three timed runs and a run that makes the file.
fn three_runs() -> String {
    job(
        "lun=disk,size=1m",
        "iorate=(100,200,300),elapsed=2,interval=1",
    )
}

/// The names and rates of the table, in order.
fn runs_of(csv: &str) -> Vec<(String, String)> {
    let mut rows = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = rows.next().unwrap();
    let place = |name: &str| head.iter().position(|title| *title == name).unwrap();
    let (name, asked) = (place("run"), place("asked_rate_per_s"));
    rows.map(|row| (row[name].to_owned(), row[asked].to_owned()))
        .collect()
}

fn killed_in_the_second_run(lab: &Lab, signal: &str) {
    let mut going = lab.start(&["vdbench", "-f", "job", "-o", "out"]);
    going.read_until(|line| line.contains("Starting RD=rd1") && line.contains("I/O rate: 200"));
    std::thread::sleep(std::time::Duration::from_millis(1200));
    going.signal(signal);
    going.end();
}

#[test]
fn a_killed_sweep_goes_on_and_its_reports_are_whole() {
    for signal in ["KILL", "INT"] {
        let lab = Lab::new();
        lab.write("job", three_runs());
        killed_in_the_second_run(&lab, signal);
        let ended = lab
            .fathom(&["vdbench", "-f", "job", "-o", "out", "--resume", "out"])
            .expect(0);
        assert!(!ended.out.contains("I/O rate: 100;"), "{}", ended.out);
        assert!(ended.out.contains("I/O rate: 200;"), "{}", ended.out);
        assert!(ended.out.contains("completed successfully"));
        let rates: Vec<String> = runs_of(&lab.text("out/summary.csv"))
            .into_iter()
            .map(|(_, rate)| rate)
            .collect();
        assert_eq!(rates[1..], ["100.000", "200.000", "300.000"], "{signal}");
        // All runs are in the one file and on all pages, each once.
        let again = lab
            .fathom(&["report", "out", "-o", "again", "--vdbench"])
            .expect(0);
        assert!(!again.err.contains("did not come to its end"));
        assert_eq!(lab.text("again/summary.csv"), lab.text("out/summary.csv"));
        for folder in ["out", "again"] {
            let page = lab.text(&format!("{folder}/totals.html"));
            assert_eq!(page.matches("Starting RD=").count(), 4, "{page}");
        }
        assert!(
            lab.text("out/logfile.html")
                .contains("went on with run 3 of 4")
        );
        // As it was when it was interrupted.
        assert!(lab.names("out").contains(&"result.1.fathom".to_owned()));
        let ended = lab.fathom(&["run", "--resume", "out"]).expect(0);
        assert!(ended.err.contains("nothing to resume"), "{}", ended.err);
    }
}

#[test]
fn without_a_file_the_job_is_that_of_the_result() {
    let lab = Lab::new();
    lab.write("job", three_runs());
    killed_in_the_second_run(&lab, "TERM");
    std::fs::remove_file(lab.path("job")).unwrap();
    lab.fathom(&["run", "--resume", "out/result.fathom"])
        .expect(0);
    assert_eq!(runs_of(&lab.text("out/summary.csv")).len(), 4);
    assert!(!lab.path("fathom-output").exists());
}

#[test]
fn points_of_a_curve_follow_from_the_base_of_before() {
    let lab = Lab::new();
    let run = "iorate=curve,curve=(10,20,30),elapsed=2,interval=1";
    lab.write("job", job("lun=disk,size=1m", run));
    let mut going = lab.start(&["vdbench", "-f", "job", "-o", "out"]);
    going.read_until(|line| line.contains("Starting RD=rd1_(10%)"));
    going.signal("KILL");
    going.end();
    let rate = |line: &str, name: &str| -> Option<f64> {
        let rest = line
            .split_once(&format!("Starting RD={name}; I/O rate: "))?
            .1;
        rest.split(';').next()?.parse().ok()
    };
    let log = lab.text("out/logfile.html");
    let tenth = log
        .lines()
        .find_map(|line| rate(line, "rd1_(10%)"))
        .unwrap();
    let ended = lab
        .fathom(&["vdbench", "-f", "job", "--resume", "out"])
        .expect(0);
    let again = ended.out.lines().find_map(|line| rate(line, "rd1_(10%)"));
    assert_eq!(again, Some(tenth), "{}", ended.out);
    assert!(!ended.out.contains("reached nothing"));
    let names: Vec<String> = runs_of(&lab.text("out/summary.csv"))
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names[1..], ["rd1", "rd1_(10%)", "rd1_(20%)", "rd1_(30%)"]);
}

/// Whoever names another job does not want to hear that nothing is left of this one.
#[test]
fn a_finished_result_takes_no_other_job() {
    let lab = Lab::new();
    let run = "iorate=(100,200),elapsed=2,interval=1";
    lab.write("job", job("lun=disk,size=1m", run));
    lab.fathom(&["run", "job", "-o", "out"]).expect(0);
    let changed = job("lun=disk,size=1m", run).replace("200", "250");
    lab.write("faster", changed);
    let before = lab.text("out/summary.csv");
    for words in [&["run", "faster"][..], &["vdbench", "-f", "faster"]] {
        let ended = lab.fathom(&[words, &["--resume", "out"]].concat());
        let ended = ended.expect(2).says(&[
            "error: `out` was made by another job:",
            "200.0 then, 250.0 now",
            "every run of it is finished; leave out `--resume`, and use `-o` with another folder",
        ]);
        assert!(!ended.err.contains("fathom run --resume"), "{}", ended.err);
    }
    for words in [&["run", "job"][..], &["vdbench", "-f", "job"], &["run"]] {
        let resume = [words, &["--resume", "out"]].concat();
        lab.fathom(&resume).expect(0).says(&["nothing to resume"]);
        lab.fathom(&[&resume[..], &["-o", "elsewhere"]].concat())
            .expect(2)
            .says(&["is resumed in its own folder `out`", "leave out -o"]);
    }
    assert_eq!(lab.text("out/summary.csv"), before);
    assert!(!lab.path("elsewhere").exists());
}

#[test]
fn another_job_or_machine_is_told_apart() {
    let lab = Lab::new();
    lab.write("job", three_runs());
    killed_in_the_second_run(&lab, "KILL");
    let resume = |words: &[&str]| lab.fathom(&[&["run"], words, &["--resume", "out"]].concat());
    let before = lab.everything();
    let comment = format!("* the same, with a comment\n{}", three_runs());
    lab.write("same", comment);
    lab.write("faster", three_runs().replace("200", "250"));
    resume(&["faster"]).expect(2).says(&[
        "made by another job",
        "200.0 then, 250.0 now",
        "fathom run --resume out",
    ]);
    resume(&["job", "--seed=2"])
        .expect(2)
        .says(&["seed: ", " then, 2 now"]);
    resume(&["job", "-o", "elsewhere"])
        .expect(2)
        .says(&["leave out -o"]);
    resume(&["job", "--backend=null"])
        .expect(2)
        .says(&["the backend was"]);
    resume(&["job", "--label", "a=b"])
        .expect(2)
        .says(&["labels"]);
    lab.fathom(&["run", "job", "--resume", "nowhere"])
        .expect(2)
        .says(&["nowhere"]);
    let after = lab.everything();
    // Refused, and nothing touched; but reading a log takes shared memory beside it.
    assert!(before.iter().all(|(path, content)| {
        path.ends_with("result.fathom-shm") || after.get(path) == Some(content)
    }));
    std::fs::remove_file(lab.path("disk")).unwrap();
    resume(&["same"])
        .expect(2)
        .says(&["`sd1`", "was made with 1048576 bytes, and has 0"]);
    lab.write("disk", vec![0; 1 << 20]);
    resume(&[
        "same",
        "--overwrite",
        &lab.path("disk").display().to_string(),
    ])
    .expect(0);
}

/// Nothing finished is nothing to keep: the job begins anew, in the same folder.
#[test]
fn killed_in_its_first_run_it_begins_anew() {
    let lab = Lab::new();
    lab.write("disk", b"");
    lab.write(
        "job",
        job("lun=disk,size=64k", "iorate=50,elapsed=2,interval=1"),
    );
    let mut going = lab.start(&["run", "job", "-o", "out", "--backend=sync"]);
    going.hear_until(|line| line.starts_with("run 1/"));
    going.signal("KILL");
    going.end();
    let ended = lab.fathom(&["run", "job", "--resume", "out"]).expect(0);
    assert!(
        ended.err.contains("begins anew") || ended.err.contains("run 2/2"),
        "{}",
        ended.err
    );
    assert!(lab.text("out/summary.csv").contains("rd1"));
}

/// What is written behind the interruption differs from what was written before it.
#[test]
fn data_stay_unique() {
    let lab = Lab::new();
    let text = "sd=sd1,lun=disk,size=1m,threads=1\nwd=wd1,sd=sd1,xfersize=4k,rdpct=0,seekpct=0\n\
                rd=rd1,wd=wd1,iorate=(300,400),elapsed=2,interval=1\n";
    lab.write("job", text);
    let mut going = lab.start(&["vdbench", "-f", "job", "-o", "out"]);
    going.read_until(|line| line.contains("I/O rate: 400"));
    going.signal("KILL");
    going.end();
    let before = lab.bytes("disk");
    lab.fathom(&["vdbench", "-f", "job", "--resume", "out"])
        .expect(0);
    let after = lab.bytes("disk");
    let blocks = || before.chunks(4096).chain(after.chunks(4096));
    let (all, changed) = (
        blocks().count(),
        before.chunks(4096).zip(after.chunks(4096)),
    );
    let kept = changed.filter(|(old, new)| old == new).count();
    assert!(kept < 8, "{kept} blocks were not written again");
    let unlike: std::collections::BTreeSet<&[u8]> = blocks().map(|block| &block[..16]).collect();
    assert_eq!(unlike.len(), all - kept);
}
