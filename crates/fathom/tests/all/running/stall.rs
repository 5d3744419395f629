//! A device that does not answer: its reads take an hour.
use crate::lab::{Lab, interval_label, skip};
use crate::served::Served;
use std::time::{Duration, Instant};

/// A file in the lab, named `hung/disk`, whose reads do not return.
fn hung(lab: &Lab) -> Result<Served, String> {
    Served::new(
        lab,
        "hung",
        &["--filter=delay", "memory", "16M", "delay-read=3600"],
    )
}

const JOB: &str = "sd=sd1,lun=hung/disk,threads=2,openflags=o_direct
wd=wd1,sd=sd1,xfersize=4k
rd=rd1,wd=wd1,iorate=max,elapsed=60,interval=1
";

#[test]
fn a_second_interrupt_stops_at_once() {
    crate::lab::alone();
    let lab = Lab::new();
    lab.write("job", JOB);
    let hung = match hung(&lab) {
        Ok(hung) => hung,
        Err(reason) => return skip(&reason),
    };
    let mut going = lab.start(&["vdbench", "-f", "job", "-o", "out", "--backend", "uring"]);
    going.read_until(|line| interval_label(line) == Some("2"));
    going.signal("INT");
    going.hear_until(|line| line.contains("once more to stop at once"));
    let since = Instant::now();
    going.signal("INT");
    let ended = going.end().expect(4);
    // Far below the half minute that a drain may take.
    assert!(
        since.elapsed() < Duration::from_secs(15),
        "{:?}",
        since.elapsed()
    );
    outstanding(&lab, &ended.out);
    drop(hung);
}

#[test]
#[ignore = "waits for half a minute"]
fn a_drain_gives_up_and_lists_what_is_outstanding() {
    crate::lab::alone();
    let lab = Lab::new();
    lab.write("job", JOB);
    let hung = match hung(&lab) {
        Ok(hung) => hung,
        Err(reason) => return skip(&reason),
    };
    let mut going = lab.start(&["vdbench", "-f", "job", "-o", "out", "--backend", "uring"]);
    going.read_until(|line| interval_label(line) == Some("2"));
    let since = Instant::now();
    going.signal("INT");
    let ended = going.end().expect(4);
    assert!(
        since.elapsed() > Duration::from_secs(29),
        "{:?}",
        since.elapsed()
    );
    let ages = outstanding(&lab, &ended.out);
    assert!(ages.iter().all(|age_s| *age_s > 29.0), "{ages:?}");
    drop(hung);
}

/// Reads take four seconds and the run two: nothing comes back in the window, all of it later.
#[test]
fn what_comes_back_after_the_end_of_a_run_is_in_its_figures() {
    let lab = Lab::new();
    let slow = ["--filter=delay", "memory", "16M", "delay-read=4"];
    let slow = match Served::new(&lab, "hung", &slow) {
        Ok(slow) => slow,
        Err(reason) => return skip(&reason),
    };
    lab.write("job", JOB.replace("elapsed=60", "elapsed=2"));
    let ended = lab
        .fathom(&["run", "job", "-o", "out", "--backend", "uring"])
        .expect(0);
    assert!(
        ended
            .err
            .contains("warning: 2 operations were out at the end of their run and came back up to"),
        "{}",
        ended.err
    );
    assert_eq!(
        ended.err.matches("  - read on `sd1`").count(),
        2,
        "{}",
        ended.err
    );
    let csv = lab.text("out/summary.csv");
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let (names, row) = (lines.next().unwrap(), lines.next().unwrap());
    let field = |name: &str| {
        let place = names.iter().position(|known| *known == name).unwrap();
        row[place].to_owned()
    };
    assert_eq!(field("achieved_rate_per_s"), "0.000");
    assert!(field("response_max_ms").parse::<f64>().unwrap() >= 4_000.0);
    assert!(field("service_mean_ms").parse::<f64>().unwrap() >= 4_000.0);
    // Both threads had an I/O out from the start, but for the time that it takes to begin.
    let depth: f64 = field("queue_depth").parse().unwrap();
    assert!((1.5..=2.0).contains(&depth), "{csv}");
    assert!(field("marks").contains("came late"), "{csv}");
    assert!(
        lab.text("out/report.html")
            .contains("<section id=\"late\">")
    );

    let ended = lab
        .fathom(&["vdbench", "-f", "job", "-o", "old", "--backend", "uring"])
        .expect(0);
    let line = "*** 2 I/Os were outstanding at the end of the run and returned up to";
    assert!(ended.out.contains(line), "{}", ended.out);
    drop(slow);
}

/// The command is told which I/O hangs.
#[test]
#[ignore = "waits for half a minute"]
fn a_hang_ends_the_job_that_says_how_long_is_too_long() {
    let lab = Lab::new();
    lab.write(
        "job",
        format!("timeout=(3,\"echo $lun $lba $size >seen\")\n{JOB}"),
    );
    let hung = match hung(&lab) {
        Ok(hung) => hung,
        Err(reason) => return skip(&reason),
    };
    let ended = lab
        .fathom(&["vdbench", "-f", "job", "-o", "out", "--backend", "uring"])
        .expect(1);
    assert!(
        ended.out.contains("has not returned for 3"),
        "{}",
        ended.out
    );
    let seen = lab.text("seen");
    assert!(
        seen.starts_with("hung/disk ") && seen.ends_with(" 4096\n"),
        "{seen}"
    );
    drop(hung);
}

/// Both reads are listed with their age on the console and in the log of errors; the result is
/// whole.
fn outstanding(lab: &Lab, console: &str) -> Vec<f64> {
    let of = |text: &str| -> Vec<f64> {
        text.lines()
            .filter(|line| line.contains("not returned: op: read"))
            .map(|line| {
                let age = line.rsplit_once(" for ").unwrap().1;
                age.strip_suffix(" s").unwrap().parse().unwrap()
            })
            .collect()
    };
    let ages = of(console);
    assert_eq!(ages.len(), 2, "{console}");
    assert_eq!(of(&lab.text("out/errorlog.html")), ages);
    let again = lab.fathom(&["report", "out", "-o", "again"]).expect(0);
    assert!(
        !again.err.contains("did not come to its end"),
        "{}",
        again.err
    );
    ages
}
