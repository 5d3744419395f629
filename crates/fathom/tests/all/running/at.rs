//! `--at`: what is done to the storage while a job runs, and what the result says of it.
use crate::lab::{Lab, skip};
use crate::served::Served;

const JOB: &str = "sd=sd1,lun=served/disk,threads=4,openflags=o_direct\n\
    wd=wd1,sd=sd1,xfersize=4k,rdpct=100\nrd=rd1,wd=wd1,interval=1,iorate=200,elapsed=6\n";

/// The server is stopped for a second and a half, and started again by the same command.
#[test]
fn a_command_at_its_time_is_marked_and_what_stood_still_is_named() {
    crate::lab::alone();
    let lab = Lab::new();
    let served = match Served::new(&lab, "served", &["random", "16M"]) {
        Ok(served) => served,
        Err(reason) => return skip(&reason),
    };
    lab.write("job", JOB);
    let pid = served.id();
    let stop = format!("2s=kill -STOP {pid}; sleep 1.5; kill -CONT {pid}; echo done; exit 3");
    let ended = lab
        .fathom(&["run", "job", "-o", "out", "--at", &stop])
        .expect(0);
    drop(served);
    let json: serde_json::Value = serde_json::from_str(&lab.text("out/summary.json")).unwrap();
    let told = json["verdict"]["text"].as_str().unwrap();
    let still = told.split("I/O to `sd1` stood still for ").nth(1);
    let still = still.unwrap_or_else(|| panic!("{told}"));
    let seconds: f64 = still.split(' ').next().unwrap().parse().unwrap();
    assert!((1.4..4.0).contains(&seconds), "{told}");
    assert!(still.contains(" after `kill -STOP "), "{told}");
    for words in [": done", "ended with exit status 3"] {
        assert!(ended.err.contains(words), "{}", ended.err);
    }
    let page = lab.text("out/report.html");
    assert!(page.contains("\"marks\":[{\"run\":0,\"at\":2"), "no mark");
    // A year later it is the same.
    lab.fathom(&["report", "out", "-o", "again"]).expect(0);
    assert_eq!(lab.text("again/summary.json"), lab.text("out/summary.json"));
}

#[test]
fn a_command_whose_time_never_comes_is_told() {
    let lab = Lab::new();
    lab.write(
        "job",
        JOB.replace("served/disk", "disk,size=1m")
            .replace("elapsed=6", "elapsed=2"),
    );
    let words = ["run", "job", "-o", "out", "--at", "1m=touch here"];
    let ended = lab.fathom(&words).expect(0);
    let words = "`touch here` was not run: the job ended before its time";
    assert!(ended.err.contains(words), "{}", ended.err);
    assert!(!lab.path("here").exists());
    for wrong in ["1m", "soon=touch here", "5s="] {
        lab.fathom(&["run", "job", "--at", wrong])
            .expect(2)
            .says(&["--at"]);
    }
}

#[test]
fn a_failover_is_measured_and_limited() {
    crate::lab::alone();
    let lab = Lab::new();
    let served = match Served::new(&lab, "served", &["random", "16M"]) {
        Ok(served) => served,
        Err(reason) => return skip(&reason),
    };
    let pid = served.id();
    let stop = format!("2s=kill -STOP {pid}; sleep 1.5; kill -CONT {pid}");
    let words = [
        "failover",
        "served/disk",
        "--rate",
        "100",
        "--for",
        "6s",
        "-o",
        "out",
        "--at",
        &stop,
    ];
    let limited = [&words[..], &["--limit", "stall<1s", "--limit", "errors=0"]].concat();
    let ended = lab.fathom(&limited).expect(6);
    drop(served);
    let told = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "stood still for 1.",
        "whether it was normal again is not known: less than 30 s were measured before",
    ] {
        assert!(told.contains(words), "{told}");
    }
    assert!(
        ended.err.contains("4096 slots: a stall of 41.0 s"),
        "{}",
        ended.err
    );
    assert!(
        ended.err.contains("`--limit stall<1s`: I/O to `"),
        "{}",
        ended.err
    );
    let csv = lab.text("out/summary.csv");
    assert!(csv.contains("longest_gap_s"), "{csv}");
    assert!(csv.contains("kill -STOP"), "{csv}");
    for wrong in [
        &["--limit", "stall"][..],
        &["--cycles", "2"],
        &["--at", "1h=true"],
        &["--rate", "0"],
    ] {
        let words = ["failover", "other", "--size", "1m", "--rate", "100"];
        lab.fathom(&[&words[..], wrong].concat()).expect(2);
    }
}

/// From another process, while the run goes on.
#[test]
fn a_moment_is_marked_from_outside() {
    let lab = Lab::new();
    lab.write("job", JOB.replace("served/disk", "disk,size=1m"));
    let refused = lab.fathom(&["mark", "-o", "out", "too early"]).expect(2);
    assert!(
        refused.err.contains("no run writes to `out` now"),
        "{}",
        refused.err
    );
    let mut going = lab.start(&["run", "job", "-o", "out"]);
    going.hear_until(|line| line.starts_with("run 2/2"));
    std::thread::sleep(std::time::Duration::from_millis(1500));
    lab.fathom(&["mark", "-o", "out", "pulled", "cable 7"])
        .expect(0);
    for wrong in ["two\nlines", "", &"x".repeat(70_000)] {
        lab.fathom(&["mark", "-o", "out", wrong]).expect(2);
    }
    let ended = going.end().expect(0);
    assert!(ended.err.contains("pulled cable 7"), "{}", ended.err);
    let json: serde_json::Value = serde_json::from_str(&lab.text("out/summary.json")).unwrap();
    let events = json["runs"][1]["events"].as_array().unwrap();
    assert_eq!(events.len(), 1, "{json:#}");
    assert!(events[0].as_str().unwrap().ends_with(" pulled cable 7"));
    lab.fathom(&["mark", "-o", "out", "too late"]).expect(2);
    // The next run has none of it.
    lab.fathom(&["run", "job", "-o", "out"]).expect(0);
    let again = lab.text("out/summary.json");
    assert!(!again.contains("pulled cable 7"), "{again}");
}
