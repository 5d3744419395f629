//! Called as `vdbench`: console, files, options.
use crate::lab::{FATHOM, Lab, ended, interval_label, job};
use std::io::Write;
use std::process::Stdio;

const FILES: [&str; 19] = [
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
    "summary.json",
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
    // Its sequential workload ends the run that makes the file, whenever that is.
    let is_told = |line: &String| {
        let told = ["All sequential workloads on all", "The run ends with them"];
        told.iter().any(|text| line.contains(text))
    };
    let (told, console): (Vec<_>, Vec<_>) = masked(&first.out).into_iter().partition(is_told);
    assert_eq!(told.len(), 2);
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
        run(10, 1),
        run(20, 1),
        run(10, 2),
        run(20, 2),
        "Vdbench simulation completed successfully".to_owned(),
    ];
    assert_eq!(simulated(&ended.out), expected);
    assert_eq!(lab.everything(), before);
}

/// The lines of a text below definitions of storage and workloads, or the refusal.
fn simulation_of(runs: &str) -> Result<Vec<String>, String> {
    let lab = Lab::new();
    let text = "sd=sd1,lun=disk,size=1m\nwd=wd1,sd=sd1\nwd=wd0,sd=sd1,skew=0\n";
    let trees = "fsd=fsd1,anchor=tree,depth=1,width=1,files=5,size=4k\nfwd=fwd1,fsd=fsd1\n";
    let is_of_trees = runs.contains("fwd=");
    lab.write(
        "job",
        format!("{}{runs}\n", if is_of_trees { trees } else { text }),
    );
    let ended = lab.fathom(&["vdbench", "-s", "-f", "job"]);
    if ended.code != Some(0) {
        return Err(ended.err);
    }
    let runs = ended
        .out
        .lines()
        .filter_map(|line| line.split_once("Simulating RD="));
    Ok(runs.map(|(_, run)| run.to_owned()).collect())
}

#[test]
fn simulation_prints_rates_and_loops_as_the_original() {
    let of = |words: &str| simulation_of(&format!("rd=r,{words},elapsed=4,interval=1")).unwrap();
    let rate =
        |rate: &str, loops: &str| format!("r; I/O rate: {rate}; elapsed=4; For loops: {loops}");
    // A list shows its first rate in every line.
    let with_max = ["100", "200", "max"].map(|each| rate("100", &format!("iorate={each}")));
    assert_eq!(of("wd=wd1,iorate=(100,200,max)"), with_max);
    assert_eq!(of("wd=wd1,iorate=0.5"), [rate("1", "None")]);
    assert_eq!(of("wd=wd1,iorate=7,comp=2"), [rate("7", "comp=2")]);
    for spelling in ["forcompratio", "compratio", "forcomp", "comp", "compr"] {
        let runs = of(&format!("wd=wd1,iorate=7,{spelling}=(2,3)"));
        assert_eq!(runs[1], rate("7", "comp=3"), "{spelling}");
    }
    // A share of 0 is none: nothing is controlled, and shares need not add up to 100.
    assert_eq!(
        of("wd=(wd0,wd1),iorate=max"),
        [rate("Uncontrolled MAX", "None")]
    );
    assert_eq!(of("wd=wd0,iorate=max"), [rate("Uncontrolled MAX", "None")]);
}

#[test]
fn simulation_prints_trees_as_the_original() {
    let of = |words: &str| simulation_of(&format!("rd=r,fwd=fwd1,{words},elapsed=4,interval=1"));
    let run = |name: &str, rate: &str| format!("{name}; elapsed=4; fwdrate={rate} For loops: None");
    let curve = [
        run("r", "curve."),
        run("r_(50%)", "5000;"),
        run("r_(100%)", "10000;"),
    ];
    assert_eq!(of("fwdrate=curve,curve=(50,100)").unwrap(), curve);
    assert_eq!(
        of("fwdrate=max,format=(yes,no)").unwrap(),
        [run("r", "max.")]
    );
    let formatted = ["format_for_r".to_owned(), run("r", "max.")];
    assert_eq!(of("fwdrate=max,format=y").unwrap(), formatted);
    let refusal = of("fwdrate=max,format=re").unwrap_err();
    assert!(
        refusal.contains("`re` is not a value of `format`"),
        "{refusal}"
    );
}

/// Sequential workloads that are done in the first interval: there is nothing but the warm-up.
#[test]
fn a_run_that_ends_in_its_warm_up_has_figures() {
    let lab = Lab::new();
    lab.write("disk", vec![1; 1 << 20]);
    let job = "sd=sd1,lun=disk,openflags=o_direct\n\
               wd=wd1,sd=sd1,xfersize=64k,seekpct=eof,rdpct=100\n\
               rd=rd1,wd=wd1,iorate=max,elapsed=600,interval=60\n\
               rd=rd2,wd=wd1,iorate=max,elapsed=600,interval=60,warmup=120\n";
    lab.write("job", job);
    let ended = lab.fathom(&["run", "job", "-o", "own"]).expect(0);
    assert!(
        ended.out.contains("its figures are of that"),
        "{}",
        ended.out
    );
    let table = lab.text("own/summary.csv");
    let mut rows = table
        .lines()
        .map(|line| line.split(',').collect::<Vec<_>>());
    let names = rows.next().unwrap();
    let place = |name: &str| names.iter().position(|one| *one == name).unwrap();
    let rows: Vec<_> = rows.collect();
    assert_eq!(rows.len(), 2);
    for row in rows {
        let rate: f64 = row[place("achieved_rate_per_s")].parse().unwrap();
        assert!(rate > 0.0, "{row:?}");
        assert!(
            row[place("marks")].contains("no measured interval"),
            "{row:?}"
        );
    }
    // 16 reads over the nominal minute, in the interval and in the averages alike.
    let console = lab
        .fathom(&["vdbench", "-f", "job", "-o", "out"])
        .expect(0)
        .out;
    let rows = console
        .lines()
        .filter_map(|line| Some((interval_label(line)?, line)));
    let rows = rows.map(|(label, line)| {
        let cells: Vec<&str> = line.split_whitespace().collect();
        format!("{label} {} {}", cells[2], cells[4])
    });
    let rows: Vec<String> = rows.collect();
    let figures = "0.27 65536";
    let expected = ["1", "avg_2-1", "1", "avg_3-1"].map(|label| format!("{label} {figures}"));
    assert_eq!(rows, expected);
}

/// A flat file of the older kind, without time stamps, with a format.
const FLAT: &str = "<pre>
* Run       : Name of run from RD=
*
         tod        Run   Interval       rate     MB/sec    version
10:00:00.000  SD_format          1    10.0000     0.0100        n/a
10:00:01.000        rd1          1    20.0000     0.0200        n/a
10:00:02.000        rd1          2    30.0000     0.0300        n/a
10:00:03.000        rd1    avg_2-2    30.0000     0.0300        n/a
10:00:04.000        rd2          1    40.0000     0.0400        n/a
";

#[test]
fn parseflat_writes_columns_of_flat_files() {
    let lab = Lab::new();
    lab.write("flat", FLAT);
    let parse = |words: &[&str]| {
        let all = [&["vdbench", "parseflat", "-i", "flat"], words].concat();
        lab.fathom(&all).expect(0)
    };
    let ended = parse(&["-c", "RUN", "mb/sec", "Rate"]);
    let rows = "Run,MB/sec,rate\nrd1,0.0200,20.0000\nrd1,0.0300,30.0000\nrd2,0.0400,40.0000\n";
    assert_eq!(ended.out, rows);
    assert!(
        ended.err.contains("parseflat completed: 3 rows"),
        "{}",
        ended.err
    );
    let ended = parse(&["-a", "-q", "-c", "interval"]);
    assert_eq!(
        (ended.out.as_str(), ended.err.as_str()),
        ("Interval\navg_2-2\n", "")
    );
    let ended = parse(&[
        "-c", "rate", "-f", "run", "rd1", "interval", "2", "-o", "rows.csv",
    ]);
    assert_eq!(
        (ended.out.as_str(), lab.text("rows.csv").as_str()),
        ("", "rate\n30.0000\n")
    );
    let refused = |words: &[&str], says: &str| {
        let all = [&["vdbench", "parse"], words].concat();
        lab.fathom(&all).expect(2).says(&[says]);
    };
    refused(&["-i", "flat", "-c", "resp"], "no column is named `resp`");
    refused(&["-i", "flat"], "no column is chosen");
    refused(&["-c", "rate"], "no flat file is named");
    std::fs::hard_link(lab.path("flat"), lab.path("same")).unwrap();
    refused(&["-i", "flat", "-c", "rate", "-o", "same"], "`same`");
    assert_eq!(lab.text("flat"), FLAT);
    lab.write("cut", format!("{FLAT}10:00:05.000        rd2 "));
    let ended = lab
        .fathom(&["vdbench", "parse", "-i", "cut", "-c", "rate"])
        .expect(0);
    assert_eq!(ended.out.lines().count(), 4);
    assert!(
        ended.err.contains("incomplete rows, which are left out: 1"),
        "{}",
        ended.err
    );
    lab.write("other", "no table\n");
    refused(&["-i", "other", "-c", "rate"], "this is not a flat file");
    lab.fathom(&["vdbench", "compare", "old", "new"])
        .expect(2)
        .says(&["`vdbench compare` is not supported"]);
}

/// Flat files of others, of several releases.
#[test]
fn parseflat_reads_the_flat_files_of_the_corpus() {
    let root = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../shared/corpus/outputs"
    );
    let Ok(entries) = std::fs::read_dir(root) else {
        crate::lab::skip("no outputs of the original beside the workspace");
        return;
    };
    let lab = Lab::new();
    let paths = entries.map(|entry| entry.unwrap().path());
    let paths = paths.filter(|path| {
        path.to_string_lossy()
            .to_lowercase()
            .ends_with("flatfile.html")
    });
    let mut read = 0;
    for path in paths {
        let path = path.to_str().unwrap();
        let words = [
            "vdbench",
            "parseflat",
            "-i",
            path,
            "-c",
            "run",
            "interval",
            "rate",
        ];
        let ended = lab.fathom(&words);
        let text = std::fs::read_to_string(path).unwrap();
        let is_row = |line: &&str| line.starts_with(|first: char| first.is_ascii_digit());
        let is_kept = |line: &&str| !line.contains(" avg_") && !line.contains(" format_for_");
        let names = text
            .lines()
            .find(|line| line.trim_start().starts_with("tod "));
        let width = names.unwrap().split_whitespace().count();
        let is_whole = |line: &&str| line.split_whitespace().count() == width;
        let rows = text.lines().filter(is_row).filter(is_kept);
        let rows = rows.filter(is_whole).count();
        assert_eq!(ended.code, Some(0), "{path}: {}", ended.err);
        assert_eq!(ended.out.lines().count(), 1 + rows, "{path}");
        read += 1;
    }
    assert!(read > 0);
}

#[test]
fn the_layout_of_the_newer_release_is_written_and_parsed() {
    let lab = Lab::new();
    lab.write(
        "job",
        job("lun=disk,size=1m", "iorate=50,elapsed=2,interval=1"),
    );
    let words = [
        "vdbench",
        "-f",
        "job",
        "-o",
        "out",
        "--layout",
        "5.04.07",
        "--backend",
        "sim",
    ];
    let ended = lab.fathom(&words).expect(0);
    let rows = ended.out.lines().filter(|line| line.contains(" avg_2-2 "));
    let widths: Vec<usize> = rows.map(|row| row.split_whitespace().count()).collect();
    assert_eq!(widths.last(), Some(&15));
    let words = [
        "vdbench",
        "parseflat",
        "-i",
        "out/flatfile.html",
        "-c",
        "read_max",
        "write_std",
        "-q",
    ];
    assert_eq!(lab.fathom(&words).expect(0).out.lines().count(), 3);
    lab.fathom(&["vdbench", "-f", "job", "--layout", "5.05"])
        .expect(2)
        .says(&["use `5.04.06`"]);
}

#[test]
fn a_reached_total_is_told_as_in_the_original() {
    let lab = Lab::new();
    lab.write(
        "job",
        job(
            "lun=disk,size=1m",
            "iorate=256,elapsed=20,interval=1,maxdata=2m",
        ),
    );
    let ended = lab
        .fathom(&["vdbench", "-f", "job", "-o", "out", "--backend", "sim"])
        .expect(0);
    assert!(
        ended
            .out
            .contains(" Reached maxdata=2m. rd=rd1 shutting down after next interval."),
        "{}",
        ended.out
    );
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
    assert_eq!(simulated(&out)[0], expected);
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

/// [`FILES`] are those of a job with one storage, which is the one that has another name here.
#[test]
fn no_storage_is_named_after_a_page_that_each_job_has() {
    let lab = Lab::new();
    let pages = FILES.iter().filter_map(|file| file.strip_suffix(".html"));
    for page in pages.filter(|page| !page.starts_with("sd1")) {
        let text = job("lun=disk,size=1m", "iorate=100,elapsed=60");
        lab.write("job", text.replace("sd1", page));
        for verb in [
            &["check", "job"][..],
            &["vdbench", "-f", "job", "-o", "out"],
        ] {
            let ended = lab.fathom(verb).expect(2);
            ended.tells(&["job:1:4", &format!("`{page}.html`"), "choose another name"]);
        }
        assert!(!lab.path("out").exists() && !lab.path("disk").exists());
    }
}

/// Hosts that the text does not name have their pages and tables like those that it names.
#[test]
fn hosts_of_the_command_line_have_tables_too() {
    let lab = Lab::new();
    lab.write_script(
        "launch",
        "#!/bin/sh\nmkdir -p \"$1\"; cd \"$1\"; shift\nexec sh -c \"$*\"\n",
    );
    let disk = format!("lun={},size=1m", lab.path("disk").display());
    lab.write("disk", "x".repeat(1 << 20));
    lab.write(
        "job",
        job(&disk, "iorate=200,elapsed=2,interval=1").replace("rdpct=50", "rdpct=100"),
    );
    let hosts = ["--hosts", "a,b", "--launcher", "./launch {host}"];
    lab.fathom(&[&["run", "job", "-o", "out"], &hosts[..]].concat())
        .expect(0);
    std::fs::create_dir(lab.path("again")).unwrap();
    let again = [
        "report",
        "out/result.fathom",
        "--vdbench",
        "-o",
        "again/out",
    ];
    lab.fathom(&again).expect(0);
    let skew = lab.text("again/out/skew.html");
    let rows = |name: &str| {
        let lines = skew.lines().map(|line| line.split_whitespace().nth(1));
        lines.filter(|row| *row == Some(name)).count()
    };
    let tables = ["Slave:", "Host:", "SD:"].map(rows);
    assert_eq!(tables, [2, 1, 1], "{skew}");
    for name in ["a", "b", "a-0", "b-0", "sd1@a", "sd1@b"] {
        assert_eq!(rows(name), 1, "{name}: {skew}");
        assert!(lab.path(&format!("again/out/{name}.html")).exists());
    }
}
