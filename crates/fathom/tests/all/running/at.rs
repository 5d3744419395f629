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
    let stop = format!(
        "2s=date +%s%N > times; kill -STOP {pid}; date +%s%N >> times; sleep 1.5; date +%s%N >> times; \
         kill -CONT {pid}; date +%s%N >> times; echo done; exit 3"
    );
    let ended = lab
        .fathom(&["run", "job", "-o", "out", "--at", &stop])
        .expect(0);
    drop(served);
    let json: serde_json::Value = serde_json::from_str(&lab.text("out/summary.json")).unwrap();
    let told = json["verdict"]["text"].as_str().unwrap();
    let still = told.split("I/O to `sd1` stood still for ").nth(1);
    let still = still.unwrap_or_else(|| panic!("{told}"));
    assert!(still.contains(" after `date "), "{told}");
    lasts_as_long_as_the_stop(&lab, &json["runs"][0]);
    for words in [": done", "ended with exit status 3"] {
        assert!(ended.err.contains(words), "{}", ended.err);
    }
    let page = lab.text("out/report.html");
    assert!(page.contains("\"marks\":[{\"run\":0,\"at\":2"), "no mark");
    // A year later it is the same.
    lab.fathom(&["report", "out", "-o", "again"]).expect(0);
    assert_eq!(lab.text("again/summary.json"), lab.text("out/summary.json"));
}

/// As the shell has measured it, and at most the longest gap before it longer.
fn lasts_as_long_as_the_stop(lab: &Lab, run: &serde_json::Value) {
    let times = lab.text("times");
    let times: Vec<u64> = times.lines().map(|line| line.parse().unwrap()).collect();
    let [before_stop, stopped, before_go, gone_on] = times[..] else {
        panic!("{times:?}")
    };
    let mut start_ns = 0;
    let mut gaps: Vec<measure::Gap> = Vec::new();
    for event in store::Reader::open(lab.path("out/result.fathom"))
        .unwrap()
        .events()
    {
        match event.unwrap() {
            measure::Event::RunStarted(started) => start_ns = started.unix_ns,
            measure::Event::Interval(interval) => {
                gaps.extend(interval.engine.hosts.into_iter().flat_map(|host| host.gaps));
            }
            _ => {}
        }
    }
    let before = gaps.iter().filter(|gap| start_ns + gap.to_ns < before_stop);
    let longest_ns = before.map(|gap| gap.to_ns - gap.from_ns).max();
    // Shorter ones are not told.
    let longest_s = longest_ns.unwrap_or(10_000_000) as f64 / 1e9;
    let still_s = run["longest_gap_s"].as_f64().unwrap();
    let least_s = (before_go - stopped) as f64 / 1e9;
    let most_s = (gone_on - before_stop) as f64 / 1e9 + longest_s;
    // What is stopped may still have an answer on its way, and what goes on needs a processor first.
    let slack_s = if crate::lab::is_alone() { 0.05 } else { 2.0 };
    let bounds = least_s - 0.05..most_s + slack_s;
    assert!(bounds.contains(&still_s), "{still_s} in {bounds:?}");
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
    let limits = ["stall<1s", "errors=0", "normal<2s"];
    let limits = limits.iter().flat_map(|limit| ["--limit", limit]);
    let limited: Vec<&str> = words.into_iter().chain(limits).collect();
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
    // The sentence is what is said last.
    let last = ended.out.trim_end().rsplit("\n\n").next().unwrap();
    assert!(
        last.starts_with("I/O to `served/disk` stood still"),
        "{last}"
    );
    for limit in ["stall<1s`: I/O to `", "normal<2s`: it was not seen"] {
        let told = ended.err.contains(&format!("error: `--limit {limit}"));
        assert!(told, "{}", ended.err);
    }
    let csv = lab.text("out/summary.csv");
    assert!(csv.contains("longest_gap_s"), "{csv}");
    assert!(csv.contains("kill -STOP"), "{csv}");
    for wrong in [
        &["--limit", "stall"][..],
        &["--cycles", "2"],
        &["--at", "1h=true"],
        &["--rate", "0"],
        &["--backend", "sim", "--at", "1s=true"],
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
    assert_eq!(events[0]["text"], "pulled cable 7");
    lab.fathom(&["mark", "-o", "out", "too late"]).expect(2);
    // The next run has none of it.
    lab.fathom(&["run", "job", "-o", "out"]).expect(0);
    let again = lab.text("out/summary.json");
    assert!(!again.contains("pulled cable 7"), "{again}");
}
