//! Commands around runs, repetition, and ends that somebody asks for.
use crate::lab::{Lab, interval_label, job};
use std::time::{Duration, Instant};

const RUN: &str = "iorate=50,elapsed=2,interval=1";

fn with(general: &str, run: &str) -> String {
    format!("{general}{}", job("lun=disk,size=64k", run))
}

/// Every command writes its name; the general ones into different pages.
fn surrounded() -> String {
    let general = "startcmd=(\"echo on >>order; echo say $output\",cons)\n\
                   endcmd=(\"echo off >>order; echo summed\",\"echo twice\",sum,master)\n";
    let run = format!(
        "{RUN},startcmd=(\"echo before >>order; echo logged\"),end_cmd=(\"echo after >>order\",slave)"
    );
    with(general, &run)
}

#[test]
fn commands_are_called_at_their_time_and_their_words_go_where_they_belong() {
    let lab = Lab::new();
    lab.write("job", surrounded());
    let check = lab.fathom(&["check", "job"]).expect(0);
    assert!(check.out.contains("command before the first run: echo on"));
    assert!(check.out.contains("command after `rd1`: echo after"));
    let json = lab.fathom(&["check", "--json", "job"]).expect(0);
    assert_eq!(json.out.matches("\"when\"").count(), 5);
    lab.fathom(&["vdbench", "-f", "job", "-s"]).expect(0);
    assert!(!lab.path("order").exists(), "nothing was called");
    let ended = lab.fathom(&["vdbench", "-f", "job", "-o", "out"]).expect(0);
    assert_eq!(lab.text("order"), "on\nbefore\nafter\noff\n");
    let folder = std::fs::canonicalize(lab.path("out")).unwrap();
    let say = format!("Cmd: say {}", folder.display());
    assert!(ended.out.contains(&say), "{}", ended.out);
    let (log, summary) = (lab.text("out/logfile.html"), lab.text("out/summary.html"));
    assert!(summary.contains("Cmd: summed") && summary.contains("Cmd: twice"));
    assert!(!summary.contains("Cmd: logged") && !ended.out.contains("Cmd: logged"));
    for line in [say.as_str(), "Cmd: summed", "Cmd: logged"] {
        assert!(log.contains(line), "no {line} in the log");
    }
    // Those around a run are its events.
    lab.fathom(&["run", "job", "-o", "neutral"]).expect(0);
    let json: serde_json::Value = serde_json::from_str(&lab.text("neutral/summary.json")).unwrap();
    let events = json["runs"][0]["events"].as_array().unwrap();
    let texts: Vec<&str> = events
        .iter()
        .map(|one| one["text"].as_str().unwrap())
        .collect();
    assert_eq!(
        texts,
        ["echo before >>order; echo logged", "echo after >>order"]
    );
    assert_eq!(events[0]["at_s"], 0.0);
}

#[test]
fn a_command_that_fails_is_warned_of_and_one_that_hangs_ends_the_job() {
    let lab = Lab::new();
    lab.write("job", with("startcmd=\"echo no; exit 3\"\n", RUN));
    let ended = lab.fathom(&["run", "job", "-o", "out"]).expect(0);
    assert!(ended.err.contains("ended with code 3"), "{}", ended.err);
    lab.write(
        "hangs",
        with("startcmd=\"sleep 1000\"\nendcmd=\"echo off >order\"\n", RUN),
    );
    let begun = Instant::now();
    let ended = lab
        .fathom(&["run", "hangs", "-o", "out", "--command-timeout", "1"])
        .expect(1)
        .says(&["ended after 1 s", "--command-timeout"]);
    assert!(begun.elapsed() < Duration::from_secs(60), "{}", ended.err);
    assert_eq!(lab.text("order"), "off\n", "it comes behind a failure");
}

#[test]
fn ctrl_c_ends_a_command_with_its_children_and_calls_no_other() {
    let lab = Lab::new();
    let general =
        "startcmd=\"echo $$ >group; sleep 1000 & sleep 1000\"\nendcmd=\"echo off >order\"\n";
    lab.write("job", with(general, RUN));
    let going = lab.start(&["run", "job", "-o", "out"]);
    let deadline = Instant::now() + Duration::from_secs(60);
    while std::fs::read_to_string(lab.path("group"))
        .unwrap_or_default()
        .is_empty()
    {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(20));
    }
    let group = lab.text("group").trim().to_owned();
    going.signal("INT");
    going.end().expect(4);
    assert!(!lab.path("order").exists());
    assert_eq!(alive_in(&group), Vec::<String>::new());
}

#[test]
fn all_runs_are_repeated_and_files_are_made_once() {
    for (general, options) in [
        ("loop=2\n", vec![]),
        ("", vec!["-l", "2"]),
        ("loop=2\n", vec!["-l9h"]),
    ] {
        let lab = Lab::new();
        lab.write("job", with(general, RUN));
        let ended = lab
            .fathom(&[&["vdbench", "-f", "job", "-o", "out"], &options[..]].concat())
            .expect(0);
        assert_eq!(ended.out.matches("Starting RD=SD_format").count(), 1);
        assert_eq!(
            ended.out.matches("Starting RD=rd1").count(),
            2,
            "{}",
            ended.out
        );
        assert_eq!(lab.text("out/summary.csv").lines().count(), 4);
        assert!(lab.text("out/logfile.html").contains("carried out 2 times"));
        lab.fathom(&["report", "out", "-o", "again", "--vdbench"])
            .expect(0);
        assert_eq!(lab.text("again/summary.csv"), lab.text("out/summary.csv"));
    }
    let lab = Lab::new();
    lab.write("job", with("loop=3d\n", RUN));
    lab.fathom(&["run", "job"]).expect(2).says(&["loop=3d"]);
    lab.write("job", with("", RUN));
    lab.fathom(&["vdbench", "-f", "job", "-l3d"])
        .expect(2)
        .says(&["`-l3d`"]);
}

/// Killed in the second pass, it goes on there.
#[test]
fn a_repetition_that_was_killed_goes_on() {
    let lab = Lab::new();
    lab.write("job", with("loop=3\n", RUN));
    let mut going = lab.start(&["vdbench", "-f", "job", "-o", "out"]);
    going.read_until(|line| line.contains("Starting RD=rd1"));
    going.read_until(|line| line.contains("Starting RD=rd1"));
    going.signal("KILL");
    going.end();
    let ended = lab.fathom(&["vdbench", "--resume", "out"]).expect(0);
    assert_eq!(
        ended.out.matches("Starting RD=rd1").count(),
        2,
        "{}",
        ended.out
    );
    assert_eq!(lab.text("out/summary.csv").lines().count(), 5);
    lab.fathom(&["vdbench", "--resume", "out"])
        .expect(0)
        .says(&["nothing to resume"]);
}

#[test]
fn the_monitor_file_ends_a_run_and_then_everything() {
    let lab = Lab::new();
    let runs = "iorate=(50,60,70),elapsed=120,interval=1";
    lab.write("job", with("monitor=stop\n", runs));
    lab.write("stop", "terminate\n");
    let mut going = lab.start(&["vdbench", "-f", "job", "-o", "out"]);
    going.read_until(|line| line.contains("I/O rate: 50"));
    going.read_until(|line| interval_label(line) == Some("2"));
    assert_eq!(lab.text("stop"), "", "what an earlier use left is gone");
    lab.write("stop", "end_rd\n");
    going.read_until(|line| line.contains("I/O rate: 60"));
    going.read_until(|line| interval_label(line) == Some("2"));
    lab.write("stop", "end_vdbench\n");
    let ended = going.end().expect(0);
    assert!(
        ended.out.contains("completed successfully"),
        "{}",
        ended.out
    );
    assert!(!ended.out.contains("I/O rate: 70"));
    let page = lab.text("out/totals.html");
    assert_eq!(page.matches("Starting RD=rd1").count(), 2);
}

#[test]
fn a_file_in_the_temporary_folder_ends_everything() {
    let lab = Lab::new();
    lab.write("job", with("", "iorate=50,elapsed=120,interval=1"));
    let mut command = lab.command(crate::lab::FATHOM);
    let mut child = command
        .args(["vdbench", "-f", "job", "-o", "out"])
        .env("TMPDIR", lab.path("."))
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(3));
    lab.write(&format!("vdbench.shutdown.{}", child.id()), "");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_monitor_file_that_holds_something_is_left_alone() {
    let lab = Lab::new();
    lab.write("notes", "what somebody needs\n");
    lab.write("disk", vec![0; 64 << 10]);
    lab.write("job", with("monitor=notes\n", RUN));
    let overwrite = lab.path("disk").display().to_string();
    let run = |lab: &Lab| lab.fathom(&["run", "job", "-o", "out", "--overwrite", &overwrite]);
    run(&lab)
        .expect(2)
        .says(&["monitor=notes", "is not emptied"]);
    assert_eq!(lab.text("notes"), "what somebody needs\n");
    lab.write("job", with("monitor=disk\n", RUN));
    run(&lab).expect(2).says(&["is a target of the job"]);
}

/// Every option of the original is taken, noted or refused by name.
#[test]
fn options_are_taken_noted_or_refused() {
    let lab = Lab::new();
    lab.write("job", with("", RUN));
    let simulated =
        |options: &[&str]| lab.fathom(&[&["vdbench", "-f", "job", "-s"], options].concat());
    for (options, note) in [
        (&["-c"][..], "note: `-c`"),
        (&["-k"], "note: `-k` shows counters that only Solaris has"),
        (&["-p", "5570"], "note: `-p 5570`"),
        (&["-d27,28"], "note: `-d 27`"),
        (&["-cy"], "`-cy`"),
    ] {
        simulated(options).expect(0).says(&[note]);
    }
    for (options, reason) in [
        (&["-tf"][..], "file system"),
        (&["-kx"], "`-kx` is not an option"),
        (&["-d1"], "pretends to write"),
        (&["-d", "x"], "`-d x`"),
        (&["-z"], "`-z` is not an option"),
        (&["-r", "rd9"], "did you mean `rd1`"),
    ] {
        simulated(options).expect(2).says(&[reason]);
    }
    let lines = lab.fathom(&["vdbench", "-f", "job", "-d68"]).expect(0);
    assert!(lines.out.contains("Simulating RD=rd1"));
    let changed = simulated(&["-e", "6", "-i2", "-w", "4"]).expect(0);
    assert!(
        changed.out.contains("elapsed=6 warmup=4"),
        "{}",
        changed.out
    );
}

/// `-td` writes the file of the test anew, `-t` only when it is not there.
#[test]
fn the_self_test_can_begin_with_a_new_file() {
    let lab = Lab::new();
    let run = |option: &str| {
        let mut command = lab.command(crate::lab::FATHOM);
        command
            .args(["vdbench", option, "-o", "out", "-e2"])
            .env("TMPDIR", lab.path("."));
        crate::lab::ended(&mut command).expect(0).out
    };
    assert!(run("-t").contains("RD=SD_format"));
    assert!(!run("-t").contains("RD=SD_format"));
    assert!(run("-td").contains("RD=SD_format"));
}

/// Processes of a group that are more than an entry that nobody has taken away yet.
fn alive_in(group: &str) -> Vec<String> {
    let stat = |entry: std::io::Result<std::fs::DirEntry>| {
        let text = std::fs::read_to_string(entry.ok()?.path().join("stat")).ok()?;
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        (fields[2] == group && fields[0] != "Z").then_some(text)
    };
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(stat)
        .collect()
}
