//! `SIGUSR1` asks how far it is and ends nothing; and each end but a fine one has its reason, last.
use crate::lab::{FATHOM, Going, Lab, ended, has, interval_label, job, skip};
use crate::served::Served;

const LONG: &str = "iorate=50,elapsed=60,interval=1";

/// Asks a few times from the start on, as the program may not listen yet in its first moment.
fn ask(going: &Going) {
    std::thread::sleep(std::time::Duration::from_millis(1500));
    going.signal("USR1");
}

fn last_line(text: &str) -> &str {
    text.trim_end().lines().last().unwrap_or("")
}

#[test]
fn the_neutral_verbs_answer_with_a_line() {
    let lab = Lab::new();
    lab.write("job", job("lun=disk,size=1m", LONG));
    lab.write("file", vec![0; 1 << 20]);
    let verbs: [&[&str]; 3] = [
        &["run", "job", "-o", "out1"],
        &[
            "curve",
            "file",
            "--bs",
            "4k",
            "--elapsed",
            "60",
            "-o",
            "out2",
        ],
        &["vdbench", "-f", "job", "-o", "out3"],
    ];
    for words in verbs {
        let mut going = lab.start(words);
        ask(&going);
        going.hear_until(|line| line.starts_with("status: run "));
        going.signal("INT");
        let ended = going.end().expect(4);
        assert_eq!(
            last_line(&ended.err),
            "error: stopped by the user",
            "{words:?}"
        );
    }
}

/// Nobody can stop a program in this moment; the order of its calls tells.
#[test]
fn questions_end_nothing_before_the_runtime_is_set_up() {
    let lab = Lab::new();
    if !has("strace") {
        return skip("strace is missing");
    }
    let words = [
        "-o",
        "calls",
        "-e",
        "trace=rt_sigaction",
        FATHOM,
        "--version",
    ];
    if ended(lab.command("strace").args(words)).code != Some(0) {
        return skip("strace may not trace here");
    }
    let calls = lab.text("calls");
    let place = |what: &str| calls.lines().position(|line| line.contains(what));
    let ignored = place("rt_sigaction(SIGUSR1, {sa_handler=SIG_IGN");
    // The first that the runtime does with signals, before `main`.
    let runtime = place("rt_sigaction(SIGPIPE, {sa_handler=SIG_IGN");
    assert!(ignored.is_some() && ignored < runtime, "{calls}");
}

/// While a command makes the first run wait.
#[test]
fn who_asks_before_the_first_run_is_told_so() {
    let lab = Lab::new();
    lab.write("job", job("lun=disk,size=1m", LONG));
    let mut going = lab.start(&["run", "job", "-o", "out", "--wait-until", "false"]);
    ask(&going);
    going.hear_until(|line| line == "status: no run has started yet");
    going.signal("INT");
    going.end().expect(4);
}

#[test]
fn the_mode_of_fio_answers_with_its_report() {
    let lab = Lab::new();
    let words = [
        "fio",
        "--name=a",
        "--filename=disk",
        "--size=1m",
        "--rw=read",
        "--rate=100k",
        "--time_based",
        "--runtime=60",
        "--backend",
        "sync",
    ];
    let mut going = lab.start(&words);
    ask(&going);
    let lines = going.read_until(|line| line.starts_with("Run status group 0"));
    assert!(
        lines.iter().any(|line| line.starts_with("a: (groupid=0")),
        "{lines:#?}"
    );
    going.signal("INT");
    let ended = going.end();
    assert!(ended.out.contains("a: (groupid=0"), "{}", ended.out);
    assert_ne!(ended.code, Some(0));
    assert!(
        last_line(&ended.err).starts_with("error: stopped by the user"),
        "{}",
        ended.err
    );
}

/// A device that hangs: what is out is listed, enters the latencies and no rate.
#[test]
fn what_never_came_back_is_listed_and_bounds_the_latencies() {
    let lab = Lab::new();
    let filter = ["--filter=delay", "memory", "16M", "delay-read=3600"];
    let hung = match Served::new(&lab, "hung", &filter) {
        Ok(hung) => hung,
        Err(reason) => return skip(&reason),
    };
    lab.write(
        "job",
        "sd=sd1,lun=hung/disk,threads=2,openflags=o_direct\nwd=wd1,sd=sd1,xfersize=4k\nrd=rd1,wd=wd1,iorate=max,elapsed=60,interval=1\n",
    );
    let mut going = lab.start(&[
        "run",
        "job",
        "-o",
        "out",
        "--backend",
        "uring",
        "--lint",
        "all=off",
    ]);
    going.hear_until(|line| line.starts_with("run 1/1"));
    std::thread::sleep(std::time::Duration::from_millis(2500));
    going.signal("INT");
    going.hear_until(|line| line.contains("once more to stop at once"));
    going.signal("INT");
    let ended = going.end().expect(4);
    assert!(
        ended.err.contains("error: 2 operations never came back:"),
        "{}",
        ended.err
    );
    let listed = |line: &&str| {
        line.starts_with("  - read on `sd1` (hung/disk): offset ")
            && line.contains(", 4096 bytes, ")
    };
    assert_eq!(ended.err.lines().filter(listed).count(), 2, "{}", ended.err);
    assert!(
        last_line(&ended.err).ends_with("operations never came back"),
        "{}",
        ended.err
    );
    let words = ["≥", "! not returned, stopped,", " stalled,"];
    let has_all = words.iter().all(|word| ended.out.contains(word));
    assert!(has_all, "{}", ended.out);
    let csv = lab.text("out/summary.csv");
    let row: Vec<&str> = csv.lines().nth(1).unwrap().split(',').collect();
    let millis = |at: usize| row[at].parse::<f64>().unwrap();
    assert_eq!(millis(3), 0.0, "{csv}");
    assert!(millis(5) > 1000.0 && millis(10) > 1000.0, "{csv}");
    assert!(
        lab.text("out/report.html")
            .contains("I/Os that never came back")
    );
    drop(hung);
}

/// The result of a killed execution: its row says so, and so does the page.
#[test]
fn a_killed_run_is_marked() {
    let lab = Lab::new();
    lab.write("job", job("lun=disk,size=1m", LONG));
    let mut going = lab.start(&["vdbench", "-f", "job", "-o", "out"]);
    going.read_until(|line| line.contains("Starting RD=rd1"));
    going.read_until(|line| interval_label(line) == Some("2"));
    going.signal("KILL");
    going.end();
    let again = lab.fathom(&["report", "out", "-o", "again"]).expect(0);
    assert!(again.out.contains("! unfinished"), "{}", again.out);
    assert!(lab.text("again/summary.csv").contains("unfinished"));
    assert!(
        lab.text("again/report.html")
            .contains("it was killed or is still running")
    );
}

/// Names of targets and runs come from anywhere.
#[test]
fn names_steer_no_terminal() {
    let lab = Lab::new();
    let hostile = "x\u{1b}]0;owned\u{7}\u{202e}y";
    lab.write(
        hostile,
        "a text that somebody needs, and no room for a test",
    );
    let name = format!("--name={hostile}");
    let file = format!("--filename={hostile}");
    let written = lab
        .fathom(&["fio", &name, &file, "--size=1m", "--rw=write"])
        .expect(3);
    let read = lab.fathom(&["curve", hostile, "--bs", "4k", "--read", "0", "-o", "out"]);
    for text in [&written.out, &written.err, &read.out, &read.err] {
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text:?}");
    }
    assert!(
        written.err.contains(r"x\x1b]0;owned\x07\u202ey"),
        "{}",
        written.err
    );
}
