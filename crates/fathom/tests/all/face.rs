//! Called as `vdbench`: console, files, options.
use crate::lab::{FATHOM, Lab, ended, interval_label, job};
use std::io::Write;
use std::process::Stdio;

const FILES: [&str; 18] = [
    "errorlog.html",
    "flatfile.html",
    "histogram.html",
    "localhost-0.html",
    "localhost-0.stdout.html",
    "localhost.html",
    "logfile.html",
    "parmfile.html",
    "parmscan.html",
    "report.html",
    "result.fathom",
    "sd1.histogram.html",
    "sd1.html",
    "skew.html",
    "status.html",
    "summary.csv",
    "summary.html",
    "totals.html",
];

/// Width and decimals of the columns behind the time.
const COLUMNS: [(usize, usize); 13] = [
    (10, 0),
    (10, 2),
    (8, 2),
    (7, 0),
    (6, 2),
    (8, 3),
    (8, 3),
    (8, 3),
    (8, 3),
    (8, 3),
    (5, 1),
    (5, 1),
    (5, 1),
];

/// The console without times, dates and the lines that depend on how busy this machine is.
fn masked(console: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for line in console.lines() {
        let is_stamped = line.len() > 12
            && line.is_char_boundary(12)
            && line.as_bytes()[2] == b':'
            && line.as_bytes()[8] == b'.';
        let line = match interval_label(line) {
            Some(label) => {
                check_row(line);
                format!("row {label}")
            }
            None if is_stamped => line[12..].trim_end().to_owned(),
            None if line.len() > 12 && line[..12].contains(", 20") => line[12..].to_owned(),
            None => line.trim_end().to_owned(),
        };
        if !line.starts_with(" *") {
            lines.push(line);
        }
    }
    lines
}

#[track_caller]
fn check_row(line: &str) {
    let mut rest = &line[12..];
    for (place, (width, decimals)) in COLUMNS.into_iter().enumerate() {
        if place > 0 {
            let blanks = rest.len() - rest.trim_start_matches(' ').len();
            assert!(blanks > 0, "column {place} touches the one before: {line}");
            rest = &rest[1..];
        }
        let (field, behind) = rest.split_at(width);
        rest = behind;
        let number = field.trim();
        let found = number.split_once('.').map_or(0, |(_, digits)| digits.len());
        let is_exempt = place == 0 || number == "NaN";
        assert!(is_exempt || found == decimals, "column {place}: {line}");
    }
    assert_eq!(rest, "", "{line}");
}

const HEAD: [&str; 2] = [
    "  interval        i/o   MB/sec   bytes   read     resp     read    write     resp     resp queue  cpu%  cpu%",
    "                             rate  1024**2     i/o    pct     time     resp     resp      max   stddev depth sys+u   sys",
];

/// What comes before the first run.
fn opening(folder: &str) -> Vec<String> {
    let version = env!("CARGO_PKG_VERSION");
    vec![
        String::new(),
        String::new(),
        format!("Fathom {version}, in the layout of Vdbench 5.04.06."),
        format!("Fathom distribution: fathom {version}"),
        "For documentation, see 'fathom help vdbench'.".to_owned(),
        String::new(),
        " input argument scanned: '-fjob'".to_owned(),
        format!(" input argument scanned: '-o{folder}'"),
        " Starting slave: localhost-0, a part of this process".to_owned(),
        " All slaves are now connected".to_owned(),
    ]
}

/// A run with so many intervals.
fn run(title: &str, intervals: usize) -> Vec<String> {
    let head = [title, "", HEAD[0], HEAD[1]].map(str::to_owned);
    let rows = (1..=intervals).map(|number| format!("row {number}"));
    let averages = format!("row avg_2-{intervals}");
    head.into_iter().chain(rows).chain([averages]).collect()
}

fn ending(lab: &Lab, folder: &str) -> Vec<String> {
    let dir = std::fs::canonicalize(lab.path(folder)).unwrap();
    let dir = dir.display();
    let line = format!(" Vdbench execution completed successfully. Output directory: {dir}");
    vec![line, String::new()]
}

const FORMAT: &str = " Starting RD=SD_format; I/O rate: Uncontrolled MAX; elapsed=(none); For loops: threads=2 iorate=max";
const RUN: &str = " Starting RD=rd1; I/O rate: 50; elapsed=2; For loops: None";

#[test]
fn console_and_folder_are_those_of_the_original() {
    let lab = Lab::new();
    let text = job("lun=disk,size=1m", "iorate=50,elapsed=2,interval=1");
    lab.write("job", text);
    let first = lab.fathom(&["vdbench", "-f", "job", "-o", "out"]).expect(0);
    assert!(!first.err.contains("error"), "{}", first.err);
    let console = masked(&first.out);
    // How long the file takes is the machine's affair: two rows of averages, two intervals of the run.
    let rows = console.iter().filter(|line| line.starts_with("row"));
    let formatting = rows.count() - 4;
    let expected = [
        opening("out"),
        run(FORMAT, formatting),
        run(RUN, 2),
        ending(&lab, "out"),
    ];
    assert_eq!(console, expected.concat());
    assert_eq!(lab.bytes("disk").len(), 1 << 20);
    let mut files: Vec<String> = FILES.map(str::to_owned).to_vec();
    for name in ["SD_format_sd1", "wd1"] {
        files.extend([format!("{name}.html"), format!("{name}.histogram.html")]);
    }
    files.sort();
    assert_eq!(lab.names("out"), files);

    // The data are ours now: nobody has to be asked, and nothing has to be made.
    let second = lab.fathom(&["vdbench", "-fjob", "-o", "out2"]).expect(0);
    let expected = [opening("out2"), run(RUN, 2), ending(&lab, "out2")];
    assert_eq!(masked(&second.out), expected.concat());
    assert_eq!(lab.names("out2"), FILES);
}

/// A folder that is used again loses reports of before and nothing else.
#[test]
fn a_folder_is_used_again() {
    let lab = Lab::new();
    lab.write(
        "job",
        job("lun=disk,size=1m", "iorate=50,elapsed=2,interval=1"),
    );
    lab.fathom(&["vdbench", "-f", "job", "-o", "out"]).expect(0);
    lab.write("out/mine.html", "notes of mine");
    lab.write("out/mine.txt", "more");
    lab.fathom(&["vdbench", "-f", "job", "-o", "out"]).expect(0);
    assert_eq!(lab.text("out/mine.html"), "notes of mine");
    assert_eq!(lab.text("out/mine.txt"), "more");
    assert!(!lab.path("out/SD_format_sd1.html").exists());
    let starts = lab.text("out/summary.html").matches("Starting RD=").count();
    assert_eq!(starts, 1);
}

#[test]
fn a_link_named_vdbench_takes_the_options_of_vdbench() {
    let lab = Lab::new();
    std::os::unix::fs::symlink(FATHOM, lab.path("vdbench")).unwrap();
    lab.write(
        "job",
        job("lun=disk,size=1m", "iorate=50,elapsed=2,interval=1"),
    );
    let listed = ended(lab.command("./vdbench").args(["-s", "-f", "job"])).expect(0);
    assert!(
        listed
            .out
            .contains("Vdbench simulation completed successfully")
    );
    ended(lab.command("./vdbench").args(["-fjob"])).expect(0);
    assert!(lab.path("output/summary.html").exists());
    let help = ended(lab.command("./vdbench").arg("--help")).expect(0);
    assert_eq!(help.out, lab.fathom(&["help", "vdbench"]).expect(0).out);
}

fn simulated(out: &str) -> Vec<&str> {
    out.lines().map(|line| &line[13..]).collect()
}

#[test]
fn simulation_lists_runs_and_touches_nothing() {
    let lab = Lab::new();
    let text = "sd=sd1,lun=disk,size=1m\nwd=wd1,sd=sd1\n\
                rd=rd1,wd=wd1,iorate=(10,20),elapsed=2,interval=1,forthreads=(1,2)\n";
    lab.write("job", text);
    let before = lab.everything();
    let ended = lab.fathom(&["vdbench", "-s", "-f", "job"]).expect(0);
    // The original shows the first rate of a list in every line, and the rate itself in the loops.
    let run = |rate: u32, threads: u32| {
        format!(
            "Simulating RD=rd1; I/O rate: 10; elapsed=2; For loops: threads={threads} iorate={rate}"
        )
    };
    let expected = [
        "Simulating RD=SD_format; I/O rate: Uncontrolled MAX; elapsed=(none); For loops: threads=2 iorate=max"
            .to_owned(),
        run(10, 1),
        run(20, 1),
        run(10, 2),
        run(20, 2),
        "Vdbench simulation completed successfully".to_owned(),
    ];
    assert_eq!(simulated(&ended.out), expected);
    assert_eq!(lab.everything(), before);
}

#[test]
fn variables_overrides_several_files_and_standard_input_make_one_job() {
    let lab = Lab::new();
    lab.write("storage", "sd=sd1,lun=$where,size=1m\n");
    lab.write("rest", "wd=wd1,sd=sd1,rdpct=!read\n");
    let mut child = lab
        .command(FATHOM)
        .args([
            "vdbench",
            "-s",
            "-f",
            "storage",
            "rest",
            "-",
            "where=disk",
            "read=50",
        ])
        .args(["+elapsed=20,iorate=7", "-i2", "-w", "4"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input
        .write_all(b"rd=rd1,wd=wd1,iorate=max,elapsed=2,interval=1\n")
        .unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let out = String::from_utf8(output.stdout).unwrap();
    let expected = "Simulating RD=rd1; I/O rate: 7; elapsed=20 warmup=4; For loops: None";
    assert_eq!(simulated(&out)[1], expected);
    lab.fathom(&[
        "vdbench",
        "-s",
        "-f",
        "storage",
        "rest",
        "where=disk",
        "read=50",
        "more=1",
    ])
    .expect(2)
    .says(&["variable `more` of the command line is never used"]);
}

#[test]
fn a_folder_with_a_plus_is_numbered_and_tod_becomes_the_time() {
    let lab = Lab::new();
    lab.write(
        "job",
        job("lun=disk,size=1m", "iorate=50,elapsed=2,interval=1"),
    );
    std::fs::create_dir(lab.path("out001")).unwrap();
    lab.fathom(&["vdbench", "-f", "job", "-o", "out+"])
        .expect(0);
    assert!(lab.path("out002/summary.html").exists());
    lab.fathom(&["vdbench", "-f", "job", "-o", "at.tod"])
        .expect(0);
    let names = lab.names(".");
    let stamped = names.iter().find(|name| name.starts_with("at.")).unwrap();
    let shape: String = stamped[3..]
        .chars()
        .map(|ch| if ch.is_ascii_digit() { '9' } else { ch })
        .collect();
    assert_eq!(shape, "999999.999999");
    assert!(lab.path(stamped).join("summary.html").exists());
}

/// One process does the work; the pages show it as that of three slaves on two hosts.
#[test]
fn slaves_and_hosts_are_groups_of_one_process() {
    let lab = Lab::new();
    lab.write("disk", "x".repeat(1 << 20));
    let job = "hd=one,system=localhost,jvms=2\nhd=two,system=localhost\n\
               sd=sd1,lun=disk,size=1m,threads=4\nwd=wd1,sd=sd1,xfersize=4k\n\
               rd=rd1,wd=wd1,iorate=400,elapsed=2,interval=1\n";
    lab.write("job", job);
    lab.fathom(&["vdbench", "-f", "job", "-o", "out"]).expect(0);
    let names = lab.names("out");
    for name in ["one", "two", "one-0", "one-1", "two-0"] {
        for page in [format!("{name}.html"), format!("{name}.histogram.html")] {
            assert!(names.contains(&page), "{page} of {names:?}");
        }
    }
    let rate = |page: &str| -> f64 {
        let text = String::from_utf8(lab.bytes(&format!("out/{page}.html"))).unwrap();
        let row = text.lines().find(|line| line.contains("avg_2-2")).unwrap();
        row.split_whitespace().nth(2).unwrap().parse().unwrap()
    };
    let total = rate("summary");
    assert!(total > 0.0);
    assert_eq!(rate("one") + rate("two"), total);
    assert_eq!(rate("one-0") + rate("one-1"), rate("one"));
    assert_eq!(rate("sd1"), total);

    // The same pages again, from the result file.
    let again = [
        "report",
        "out/result.fathom",
        "--vdbench",
        "-o",
        "again/out",
    ];
    std::fs::create_dir(lab.path("again")).unwrap();
    lab.fathom(&again).expect(0);
    for page in ["one.html", "two-0.histogram.html", "skew.html"] {
        let page = |folder: &str| lab.text(&format!("{folder}/{page}"));
        assert_eq!(page("again/out"), page("out"));
    }
}
