//! Statements of the reports about runs whose answer is known: nothing that does I/O, a page cache,
//! and a device that stalls when it is told to. Those in simulated time are in `report`.
use crate::lab::{Ended, Lab, interval_label, skip};
use crate::served::Served;
use std::path::Path;

const ONE: &str = "sd=sd1,lun=disk,size=4m,threads=4
wd=wd1,sd=sd1,xfersize=4k,rdpct=100
rd=rd1,wd=wd1,elapsed=3,interval=1,";

const SERVED: &str = "sd=sd1,lun=served/disk,threads=2,openflags=o_direct
wd=wd1,sd=sd1,xfersize=4k,rdpct=100
rd=rd1,wd=wd1,interval=1,";

/// The top of the HTML report, and its tiles.
fn top(lab: &Lab, folder: &str) -> String {
    let html = lab.text(&format!("{folder}/report.html"));
    let header = html.split("</header>").next().unwrap();
    let tiles = html.split("<div class=\"cards\">").nth(1);
    let tiles = tiles.and_then(|rest| rest.split("<section").next());
    format!("{header}{}", tiles.unwrap_or_default())
}

/// A field of the first run in the summary.
fn field(lab: &Lab, folder: &str, name: &str) -> String {
    let csv = lab.text(&format!("{folder}/summary.csv"));
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let (names, row) = (lines.next().unwrap(), lines.next().unwrap());
    let place = names.iter().position(|known| *known == name).unwrap();
    row[place].to_owned()
}

#[track_caller]
fn has_all(text: &str, words: &[&str]) {
    for words in words {
        assert!(text.contains(words), "no `{words}` in\n{text}");
    }
}

#[track_caller]
fn has_none(text: &str, words: &[&str]) {
    for words in words {
        assert!(!text.contains(words), "`{words}` in\n{text}");
    }
}

fn vdbench(lab: &Lab, more: &[&str]) -> Ended {
    let words = ["vdbench", "-f", "job", "-o", "out"];
    lab.fathom(&[&words[..], more].concat()).expect(0)
}

#[test]
fn only_a_run_flat_out_has_a_highest_rate() {
    crate::lab::alone();
    let lab = Lab::new();
    for backend in ["null", "sync"] {
        lab.write("job", format!("{ONE}iorate=max\n"));
        lab.fathom(&["run", "job", "-o", "out", "--backend", backend])
            .expect(0);
        let page = top(&lab, "out");
        // What memory or nothing answered is no rate of the storage.
        let title = match backend == "null" || has_device(&lab) {
            true => "<h2>Rate reached</h2>",
            false => "<h2>Highest rate, flat out</h2>",
        };
        has_all(&page, &[title, "<b>Closed loop</b>"]);
        has_none(&page, &["Rate missed", "Depth-bound", "Knee"]);
        lab.write("job", format!("{ONE}iorate=100\n"));
        lab.fathom(&["run", "job", "-o", "out", "--backend", backend])
            .expect(0);
        let page = top(&lab, "out");
        has_all(&page, &["<h2>Rate reached</h2>", "100 asked, p99 "]);
        has_none(&page, &["Highest", "Knee", "Closed loop", "set the rate"]);
    }
}

/// Whatever rates a machine holds, no point that missed its rate is told as the knee.
#[test]
fn a_knee_is_a_point_that_held_its_rate() {
    let lab = Lab::new();
    let words = ["--points", "5,10,20,40,80,120,160", "--size", "4m"];
    let times = ["--elapsed", "1", "--warmup", "0", "-o", "out"];
    lab.fathom(&[&["curve", "disk"], &words[..], &times[..]].concat())
        .expect(0);
    let page = lab.text("out/report.html");
    let json = page.split("id=\"data\">").nth(1).unwrap();
    let json = json.split("</script>").next().unwrap();
    let data: serde_json::Value = serde_json::from_str(json).unwrap();
    let curve = &data["curves"][0];
    assert_eq!(curve["points"].as_array().unwrap().len(), 7);
    if let Some(knee) = curve["knee"].as_u64() {
        let run = &data["runs"][knee as usize];
        assert_eq!(
            (&run["missed"], &run["is_exhausted"]),
            (&false.into(), &false.into())
        );
    }
}

/// All slots of a job flat out are in use, as it is asked, and one that holds its rate has enough of them.
#[test]
fn jobs_side_by_side_are_not_judged_by_each_other() {
    let lab = Lab::new();
    let both = "[global]\nsize=4m\nbs=4k\nrw=randread\nruntime=3\ntime_based\nfilename=disk\n\
        ioengine=io_uring\niodepth=1\n[flat]\n[held]\nrate_iops=1000\nrate_process=poisson\n";
    lab.write("both.fio", both);
    let words = ["run", "both.fio", "-o", "out", "--backend", "sim"];
    let ended = lab.fathom(&words).expect(0);
    has_none(&ended.out, &["rate missed"]);
    has_none(&top(&lab, "out"), &["Rate missed"]);
    lab.write("both.fio", both.replace("1000", "20000"));
    let ended = lab.fathom(&words).expect(0);
    let marks: Vec<&str> = ended
        .out
        .lines()
        .filter_map(|line| line.find("! ").map(|at| &line[at..]))
        .collect();
    // One slot of 100 µs carries half of it: the whole has both marks, and the job that missed its rate. A model of storage
    // is never believed.
    assert_eq!(
        marks,
        [
            "! generator-bound, depth-bound, unstable",
            "! generator-bound",
            "! generator-bound, depth-bound, rate missed, unserved arrivals"
        ],
        "{}",
        ended.out
    );
}

/// Whatever arrivals wait for, it is no device.
#[test]
fn without_a_device_none_is_the_cause() {
    let lab = Lab::new();
    lab.write(
        "job",
        format!("{ONE}iorate=300000\n").replace("threads=4", "threads=1"),
    );
    let ended = vdbench(&lab, &["--backend", "null"]);
    has_none(&ended.out, &["cause: the device", "no thread was free"]);
    has_none(
        &top(&lab, "out"),
        &["the device held", "waited for a slot", "set the rate"],
    );
}

#[test]
fn what_was_written_is_told_where_something_was_asked_of_it() {
    let lab = Lab::new();
    let writes = ONE.replace("rdpct=100", "rdpct=0");
    for (asked, is_told) in [("", false), ("compratio=2\n", true)] {
        lab.write("job", format!("{asked}{writes}iorate=100\n"));
        lab.fathom(&[
            "run",
            "job",
            "-o",
            "out",
            "--backend",
            "sync",
            "--overwrite",
            "disk",
        ])
        .expect(0);
        let page = lab.text("out/report.html");
        assert_eq!(
            page.contains("<h2>What was written</h2>"),
            is_told,
            "{asked}"
        );
    }
}

/// Reads take 20 ms, so that two threads reach no more than 100 a second.
#[test]
fn threads_that_are_too_few_are_the_cause() {
    let lab = Lab::new();
    let slow = ["--filter=delay", "random", "16M", "rdelay=20ms"];
    let slow = match Served::new(&lab, "served", &slow) {
        Ok(slow) => slow,
        Err(reason) => return skip(&reason),
    };
    lab.write("job", format!("{SERVED}elapsed=4,iorate=400\n"));
    let ended = vdbench(&lab, &[]);
    if has_stood_still(&lab) {
        return skip("other work stopped Fathom for a while, which then is the cause");
    }
    has_all(
        &ended.out,
        &["*** response time", "cause: no thread was free for "],
    );
    has_word(&lab, "depth-bound");
    has_all(&field(&lab, "out", "marks"), &["unstable"]);
    let page = top(&lab, "out");
    has_all(&page, &["depth or storage set the rate", "<b>Unstable</b>"]);
    has_none(&page, &["limited the rate", "Highest", "All checks passed"]);
    drop(slow);
}

/// The server is stopped for three seconds of eight, and both threads wait for it.
#[test]
fn a_device_that_stalls_is_the_cause() {
    crate::lab::alone();
    let lab = Lab::new();
    let stalling = match Served::new(&lab, "served", &["random", "16M"]) {
        Ok(stalling) => stalling,
        Err(reason) => return skip(&reason),
    };
    lab.write("job", format!("{SERVED}elapsed=9,iorate=50\n"));
    let mut going = lab.start(&["vdbench", "-f", "job", "-o", "out"]);
    let mut told = going.read_until(|line| interval_label(line) == Some("2"));
    stalling.signal("STOP");
    told.extend(going.read_until(|line| interval_label(line) == Some("6")));
    stalling.signal("CONT");
    let ended = going.end().expect(0);
    has_all(
        &ended.out,
        &[
            "*** response time",
            "cause: the device, whose longest I/O took ",
        ],
    );
    // Whether an arrival is unserved at the end is a matter of the machine; `report` asks it in simulated time.
    has_none(&ended.out, &["no thread was free", " 0 ns"]);
    has_word(&lab, "stalled");
    let page = top(&lab, "out");
    has_all(
        &page,
        &[
            "<b>Stalled</b>",
            "stood still for ",
            "the device held I/Os up",
        ],
    );
    has_none(
        &page,
        &[
            "set the rate",
            "limited the rate",
            "Changed</b>",
            "All checks passed",
        ],
    );
}

/// Nothing answers: what is shown is nothing, or an age.
#[test]
fn a_device_that_never_answers_has_ages_and_no_zeros() {
    let lab = Lab::new();
    let hung = ["--filter=delay", "memory", "16M", "delay-read=3600"];
    let hung = match Served::new(&lab, "served", &hung) {
        Ok(hung) => hung,
        Err(reason) => return skip(&reason),
    };
    lab.write("job", format!("{SERVED}elapsed=60,iorate=50\n"));
    for verb in [&["run", "job"][..], &["vdbench", "-f", "job"]] {
        let mut going = lab.start(&[verb, &["-o", "out", "--backend", "uring"]].concat());
        std::thread::sleep(std::time::Duration::from_millis(3500));
        going.signal("USR1");
        going.hear_until(|line| {
            line.starts_with("status: ") && line.contains("p99 -, 2 out, the oldest ≥")
        });
        going.signal("INT");
        going.hear_until(|line| line.contains("once more to stop at once"));
        going.signal("INT");
        let ended = going.end().expect(4);
        has_none(&ended.out, &[" 0 ns", "sent I/Os late"]);
        has_none(&ended.err, &[" 0 ns"]);
        if verb[0] == "vdbench" {
            has_all(&ended.out, &["cause: the device, whose longest I/O took ≥"]);
        } else {
            has_all(&ended.out, &["≥"]);
        }
        let bounds = field(&lab, "out", "lower_bounds");
        has_all(
            &bounds,
            &["response_p99_ms", "response_max_ms", "service_mean_ms"],
        );
        let page = top(&lab, "out");
        has_all(&page, &["<b>Stalled</b>", "<b>Not returned</b>"]);
        has_none(&page, &["Highest", "Rate reached", "p99 0"]);
    }
    drop(hung);
}

/// What is said last, in one line.
fn verdict(ended: &Ended) -> String {
    let last = ended.out.trim_end().rsplit("\n\n").next().unwrap();
    last.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether there is a device below the files of a lab: file systems in memory and above others have none of their own.
fn has_device(lab: &Lab) -> bool {
    use std::os::unix::fs::MetadataExt;
    let facts = std::fs::metadata(lab.path(".")).unwrap();
    let number = facts.dev();
    Path::new(&format!(
        "/sys/dev/block/{}:{}",
        (number >> 8) & 0xfff,
        number & 0xff
    ))
    .exists()
}

fn has_stood_still(lab: &Lab) -> bool {
    let json: serde_json::Value = serde_json::from_str(&lab.text("out/summary.json")).unwrap();
    let text = json["verdict"]["text"].as_str().unwrap();
    text.contains("Fathom itself stood still")
}

/// The word is among those of the first run. Which one leads depends on what else the machine does, so that is asked
/// only where the tests have it for themselves.
#[track_caller]
fn has_word(lab: &Lab, word: &str) {
    let marks = field(lab, "out", "marks");
    let json: serde_json::Value = serde_json::from_str(&lab.text("out/summary.json")).unwrap();
    let told = &json["verdict"];
    assert!(marks.contains(word), "{word}: {marks}\n{told:#}");
    if crate::lab::is_alone() {
        assert_eq!(told["word"], word, "{told:#}");
    }
}

const FLAT: [&str; 8] = [
    "--threads",
    "1",
    "--elapsed",
    "1",
    "--warmup",
    "0",
    "-o",
    "out",
];

#[test]
fn a_page_cache_that_answers_is_suspected() {
    let lab = Lab::new();
    if !has_device(&lab) {
        return skip("no device below the files of this lab");
    }
    lab.write("data", vec![7; 16 << 20]);
    let ended = lab.fathom(&[&["curve", "data", "--buffered"], &FLAT[..]].concat());
    ended.expect(0);
    has_word(&lab, "cache-suspect");
    let strict = ["report", "out", "-o", "again", "--strict"];
    let strict = lab.fathom(&strict).expect(5);
    has_all(
        &strict.err,
        &["error: --strict: the figures cannot be believed"],
    );
    // Whatever else a busy machine makes doubtful has to be named as well.
    let json: serde_json::Value = serde_json::from_str(&lab.text("out/summary.json")).unwrap();
    let doubts = json["verdict"]["doubts"].as_array().unwrap();
    let doubts: Vec<&str> = doubts.iter().map(|word| word.as_str().unwrap()).collect();
    assert_eq!(doubts[0], "cache-suspect");
    let pass = |words: &[&str]| {
        let strict = format!("--strict={}", words.join(","));
        lab.fathom(&["report", "out", "-o", "again", &strict])
    };
    pass(&doubts).expect(0);
    pass(&doubts[..1]).expect(5);
}

#[test]
fn a_file_with_holes_is_sparse() {
    let lab = Lab::new();
    if !has_device(&lab) {
        return skip("no device below the files of this lab");
    }
    let file = std::fs::File::create(lab.path("hole")).unwrap();
    file.set_len(16 << 20).unwrap();
    let ended = lab.fathom(&[&["curve", "hole"], &FLAT[..]].concat());
    ended.expect(0);
    has_word(&lab, "sparse");
}

/// What is there and was never filled with data, as a thin volume or a trimmed device is.
#[test]
fn a_file_of_zeros_is_told() {
    let lab = Lab::new();
    lab.write("zeros", vec![0; 4 << 20]);
    for backend in ["sync", "uring", "aio"] {
        let words = ["--backend", backend, "--points", "50"];
        let ended = lab.fathom(&[&["curve", "zeros"], &FLAT[..], &words].concat());
        let ended = match backend {
            "sync" => ended.expect(0),
            _ if ended.code == Some(0) => ended,
            _ => continue,
        };
        has_word(&lab, "zeros");
        let json: serde_json::Value = serde_json::from_str(&lab.text("out/summary.json")).unwrap();
        let told = json["verdict"]["text"].as_str().unwrap();
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(told, verdict(&ended), "{backend}");
        has_all(
            &lab.text("out/summary.json"),
            &["read", "`zeros` returned zeros"],
        );
        has_all(&lab.text("out/report.html"), &["returned zeros"]);
        assert_eq!(json["runs"][0]["is_believed"], false);
        assert!(json["runs"][0]["achieved_rate_per_s"].is_number());
    }
}

#[test]
fn a_device_that_is_throttled_piles_arrivals_up() {
    let lab = Lab::new();
    let throttled = ["--filter=rate", "random", "16M", "rate=8M"];
    let throttled = match Served::new(&lab, "served", &throttled) {
        Ok(throttled) => throttled,
        Err(reason) => return skip(&reason),
    };
    lab.write("job", format!("{SERVED}elapsed=4,iorate=2000\n"));
    lab.fathom(&["run", "job", "-o", "out"]).expect(0);
    has_word(&lab, "depth-bound");
    drop(throttled);
}

#[test]
fn a_host_whose_cpus_are_taken_limits_the_generator() {
    crate::lab::alone();
    let lab = Lab::new();
    if !has_device(&lab) {
        return skip("no device below the files of this lab");
    }
    lab.write("disk", vec![7; 4 << 20]);
    let direct = ONE.replace("threads=4", "threads=4,openflags=o_direct");
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let busy = || {
        // Each ends by itself where the test is killed.
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", "ulimit -t 20; while :; do :; done"]);
        shell.spawn().unwrap()
    };
    for rate in ["500", "max"] {
        lab.write("job", format!("{direct}iorate={rate}\n"));
        let mut busy: Vec<_> = (0..4 * cpus).map(|_| busy()).collect();
        let ended = lab.fathom(&["run", "job", "-o", "out", "--backend", "sync"]);
        for one in &mut busy {
            one.kill().unwrap();
            one.wait().unwrap();
        }
        let ended = ended.expect(0);
        has_word(&lab, "generator-bound");
        let said = verdict(&ended);
        // A device that stalls meanwhile leads.
        if said.starts_with("generator-bound") {
            has_all(&said, &["other programs used "]);
        }
    }
}
