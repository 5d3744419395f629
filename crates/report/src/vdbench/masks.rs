//! Our folder beside one of the original's: the same runs, intervals and figures are read from its
//! console, folded by [`Face`], and every file is compared line by line with digits masked.
//! Skipped where the original's folders are not beside the repository.
use super::*;
use crate::testing::{IntervalShape, RunShape, Scenario, StreamShape, Work};
use plan::Operation;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// What of a folder its console does not tell.
struct Original {
    name: &'static str,
    targets: &'static [(&'static str, &'static str)],
    /// Slaves of its host; each has a part of every stream.
    slaves: u32,
    /// Streams of a run, by its name: workload, device, share.
    streams: fn(&str) -> Vec<(&'static str, u32, f64)>,
    /// Labels for the flat file, by the name of the run and its loop values.
    flat: fn(&str, &str) -> Vec<(&'static str, String)>,
}

impl Original {
    fn slaves(&self) -> Vec<String> {
        let name = |number: u32| format!("localhost-{number}");
        (0..self.slaves).map(name).collect()
    }
}

const GIB4: u64 = 4 << 30;
const ZRAM: (&str, &str) = ("sd1", "/dev/zram0");
const FILE: &str = "/bench/data/f4g";

#[test]
fn masks_equal_raw1() {
    compare(&Original {
        name: "raw1",
        targets: &[ZRAM],
        slaves: 1,
        streams: |_| vec![("wd1", 0, 100.0)],
        flat: |_, _| flat("4096", "8", "70.0000", "100.0000"),
    });
}

#[test]
fn masks_equal_raw2() {
    compare(&Original {
        name: "raw2",
        targets: &[ZRAM, ("sd2", FILE)],
        slaves: 1,
        streams: |run| match run {
            "mix" => vec![("wd1", 0, 80.0), ("wd2", 1, 20.0)],
            _ => vec![("wd3", 0, 50.0), ("wd3", 1, 50.0)],
        },
        flat: |run, loops| {
            if run == "mix" {
                return flat("n/a", "4", "n/a", "n/a");
            }
            let size = if loops.contains("xfersize=4k") {
                "4096"
            } else {
                "8192"
            };
            let threads = if loops.contains("threads=1") {
                "1.0000"
            } else {
                "4.0000"
            };
            flat(size, threads, "50.0000", "100.0000")
        },
    });
}

#[test]
fn masks_equal_curve1() {
    compare(&Original {
        name: "curve1",
        targets: &[ZRAM],
        slaves: 1,
        streams: |_| vec![("wd1", 0, 100.0)],
        flat: |_, _| flat("4096", "8", "70.0000", "100.0000"),
    });
}

#[test]
fn masks_equal_curve2() {
    compare(&Original {
        name: "curve2",
        targets: &[("sd1", FILE)],
        slaves: 1,
        streams: |_| vec![("wd1", 0, 100.0)],
        flat: |_, _| flat("4096", "8", "100.0000", "100.0000"),
    });
}

#[test]
fn masks_equal_hosts1() {
    compare(&Original {
        name: "hosts1",
        targets: &[ZRAM, ("sd2", FILE)],
        slaves: 2,
        streams: |_| vec![("wd1", 0, 50.0), ("wd1", 1, 50.0)],
        flat: |_, _| flat("4096", "4", "100.0000", "100.0000"),
    });
}

#[test]
fn masks_equal_jvms() {
    compare(&Original {
        name: "jvms",
        targets: &[ZRAM],
        slaves: 3,
        streams: |_| vec![("wd1", 0, 100.0)],
        flat: |_, _| flat("4096", "6", "100.0000", "100.0000"),
    });
}

fn flat(size: &str, threads: &str, reads: &str, seeks: &str) -> Vec<(&'static str, String)> {
    let zero = "0.0000";
    [
        ("flat.xfersize", size),
        ("flat.threads", threads),
        ("flat.rdpct", reads),
        ("flat.rhpct", zero),
        ("flat.whpct", zero),
        ("flat.seekpct", seeks),
        ("flat.compratio", "1.0000"),
    ]
    .map(|(key, value)| (key, value.to_string()))
    .into()
}

fn compare(original: &Original) {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/oracle/output");
    let theirs = PathBuf::from(root).join(original.name);
    let Ok(console) = fs::read_to_string(theirs.join("console.txt")) else {
        println!("skipped: no folder of the original at {}", theirs.display());
        return;
    };
    let scratch = tempfile::tempdir().unwrap();
    let ours = scratch.path().join(original.name);
    let mut face = Face::create(&ours, FaceOptions::default()).unwrap();
    let mut lines = Vec::new();
    let scenario = scenario(original, &console, &theirs);
    for event in scenario.events() {
        lines.extend(face.on_event(&event).unwrap());
    }
    face.finish().unwrap();

    assert_eq!(files(&ours), files(&theirs), "the set of files");
    let console: String = console.replace("rc=0\n", "");
    assert_same("console.txt", &(lines.join("\n") + "\n"), &console);
    for file in files(&ours) {
        // Its content is ours: a thread prints nothing, and the plan is no trace of a scan.
        if file.ends_with(".stdout.html") || file == "parmscan.html" {
            continue;
        }
        let [ours, theirs] =
            [&ours, &theirs].map(|dir| fs::read_to_string(dir.join(&file)).unwrap());
        if file == "parmfile.html" {
            assert_eq!(ours, theirs, "{file}");
        }
        assert_same(&file, &ours, &theirs);
    }
}

/// Names of reports, without what we do not write (docs/differences.md).
fn files(dir: &Path) -> BTreeSet<String> {
    let names = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.into_string().unwrap());
    let is_compared = |name: &String| name.ends_with(".html") && !name.contains("var_adm_msgs");
    names.filter(is_compared).collect()
}

fn scenario(original: &Original, console: &str, dir: &Path) -> Scenario {
    let mut runs: Vec<RunShape> = Vec::new();
    for line in console.lines() {
        if let Some((_, start)) = line.split_once(" Starting RD=") {
            runs.push(run_shape(original, start));
        } else if let Some(interval) = interval_shape(line, runs.last()) {
            runs.last_mut().unwrap().intervals.push(interval);
        }
    }
    let target = |(name, path): &(&str, &str)| (name.to_string(), path.to_string(), GIB4);
    let input = format!("/bench/parm/{}.parm", original.name);
    let text = fs::read_to_string(dir.join("input.parm")).unwrap();
    let output = format!("-o/bench/out/{}", original.name);
    Scenario {
        arguments: vec!["vdbench".into(), format!("-f{input}"), output],
        inputs: vec![(input, text)],
        targets: original.targets.iter().map(target).collect(),
        hosts: vec![("localhost".into(), original.slaves())],
        runs,
        ending: None,
    }
}

/// `run1; I/O rate: Uncontrolled MAX; elapsed=10 warmup=2; For loops: None`
fn run_shape(original: &Original, start: &str) -> RunShape {
    let mut fields = start.split("; ");
    let name = fields.next().unwrap();
    let rate = fields.next().unwrap().strip_prefix("I/O rate: ").unwrap();
    let elapsed = fields.next().unwrap().strip_prefix("elapsed=").unwrap();
    let loops = fields.next().unwrap().strip_prefix("For loops: ").unwrap();
    let (elapsed, warmup) = elapsed.split_once(" warmup=").unwrap_or((elapsed, "0"));
    let warmup_s = warmup.parse().unwrap();
    let asked_rate = rate.parse().ok();
    let mut labels = vec![
        ("loops", loops.to_string()),
        ("elapsed", elapsed.to_string()),
    ];
    // The language leaves the label out for points of a curve.
    if !name.ends_with("%)") {
        labels.push(("vdbench.rate", rate.to_string()));
    }
    labels.extend((original.flat)(name, loops));
    let stream = |(workload, target, share_pct): (&str, u32, f64)| {
        let slaves = original.slaves().into_iter();
        let of = move |group| StreamShape {
            host: 0,
            workload: workload.to_string(),
            target,
            share_pct: share_pct / f64::from(original.slaves),
            group,
        };
        slaves.map(of).collect::<Vec<_>>()
    };
    RunShape {
        name: name.to_string(),
        labels: labels
            .into_iter()
            .map(|(key, value)| (key.to_string(), value))
            .collect(),
        asked_rate,
        warmup_s,
        unmeasured: (warmup_s as u32).max(1),
        streams: (original.streams)(name)
            .into_iter()
            .flat_map(stream)
            .collect(),
        slots: 8,
        ..RunShape::default()
    }
}

/// `07:43:58.218         1  249679.00   975.31    4096  69.86 …`
fn interval_shape(line: &str, run: Option<&RunShape>) -> Option<IntervalShape> {
    let cells: Vec<f64> = line
        .get(12..)?
        .split_whitespace()
        .map_while(|cell| cell.parse().ok())
        .collect();
    let [
        _,
        rate,
        _,
        bytes,
        read_pct,
        _,
        read_ms,
        write_ms,
        max_ms,
        _,
        _,
        used,
        system,
    ] = cells[..]
    else {
        return None;
    };
    let run = run?;
    let operations = rate.round() as u64;
    let reads = (rate * read_pct / 100.0).round() as u64;
    let mut work = Vec::new();
    for (stream, shape) in (0..).zip(&run.streams) {
        for (operation, count, mean_ms) in [
            (Operation::Read, reads, read_ms),
            (Operation::Write, operations - reads, write_ms),
        ] {
            // With two workloads in a run, the first only reads and the second only writes.
            let is_other =
                run.name == "mix" && (shape.workload == "wd1") != (operation == Operation::Read);
            let streams = if run.name == "mix" {
                1
            } else {
                run.streams.len() as u64
            };
            if is_other || count == 0 {
                continue;
            }
            let one = ((max_ms * 1e6) as u64, 1);
            let rest = ((mean_ms * 1e6) as u64, count / streams - 1);
            work.push(Work {
                stream,
                operation,
                service: vec![one, rest],
                wait_ns: 0,
            });
        }
    }
    Some(IntervalShape {
        work,
        transfer_bytes: bytes as u64,
        cpu: Some((used - system, system)),
        ..IntervalShape::default()
    })
}

fn assert_same(file: &str, ours: &str, theirs: &str) {
    let [ours, theirs] = [ours, theirs].map(|text| masked(file, text));
    let pairs = ours.iter().zip(&theirs);
    if let Some((place, (our, their))) = pairs.enumerate().find(|(_, (our, their))| our != their) {
        panic!(
            "{file}, line {} of what is compared\nours:   {our}|\ntheirs: {their}|",
            place + 1
        );
    }
    assert_eq!(ours.len(), theirs.len(), "{file}: number of lines");
}

fn masked(file: &str, text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| !is_left_out(line));
    lines
        .map(|line| mask_numbers(&mask_words(file, &mask_clock(line))))
        .collect()
}

/// Lines that only one of us has; each kind is named in docs/differences.md.
fn is_left_out(line: &str) -> bool {
    let body = line.get(13..).unwrap_or_default();
    let starts = [
        "java.",
        "user.",
        "os.",
        "sun.",
        "host.",
        "fathom.",
        "Java Heap",
        "Flushing all",
        "Waiting for sync",
    ];
    let more = ["Synchronization of", "Ending Reporter", "Slave localhost-"];
    let is_box = body.starts_with('*') && line.get(8..9) == Some(".");
    let banner = [
        "Copyright",
        "Vdbench distribution",
        "For documentation",
        "Fathom ",
    ];
    is_box
        || banner.iter().any(|start| line.starts_with(start))
        || starts
            .iter()
            .chain(&more)
            .any(|start| body.starts_with(start))
        || line.contains("\tSlave localhost-")
        || line.starts_with("Link to /var/adm/messages")
}

/// Prose is our own; paths and anchors differ.
fn mask_words(file: &str, line: &str) -> String {
    if let Some((before, _)) = line.split_once("Starting slave: ") {
        return before.to_string();
    }
    if let Some((before, _)) = line.split_once("output directory '") {
        return before.to_string();
    }
    if let Some((before, _)) = line.split_once("Output directory: ") {
        return before.to_string();
    }
    if file == "flatfile.html" && line.starts_with('*') {
        return line
            .split_once(':')
            .map_or("*", |(name, _)| name)
            .to_string();
    }
    let is_fixed = [
        "<",
        "Starting RD=",
        "MB/sec",
        "1024**2",
        "created",
        "Vdbench execution",
        "input argument",
    ];
    let words = line
        .split(' ')
        .filter(|word| word.chars().any(char::is_alphabetic))
        .count();
    let has_prose = ["skew.html", "status.html", "errorlog.html"].contains(&file);
    if has_prose
        && words > 4
        && !is_fixed.iter().any(|mark| line.contains(mark))
        && !line.contains('\t')
    {
        return "PROSE".to_string();
    }
    if file.ends_with("histogram.html") && line.contains(" < ") {
        return line.trim_end_matches(['+', '-']).to_string();
    }
    line.to_string()
}

/// `07:43:58.218` as `T`, `_1500056228` as `_N`.
fn mask_clock(line: &str) -> String {
    let is_time = |text: &str| {
        let shape = |byte: u8| if byte.is_ascii_digit() { b'9' } else { byte };
        text.bytes().map(shape).eq(*b"99:99:99.999")
    };
    let mut masked = String::new();
    let mut rest = line;
    while let Some(next) = rest.chars().next() {
        if rest.get(..12).is_some_and(is_time) {
            masked.push('T');
            rest = &rest[12..];
        } else if rest.starts_with("#_") || rest.starts_with("\"_") {
            masked.push_str("_N");
            rest = rest[2..].trim_start_matches(|c: char| c.is_ascii_digit());
        } else {
            masked.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    masked
}

/// Blanks and the number behind them become nines of the same width; decimals stay visible.
fn mask_numbers(line: &str) -> String {
    let mut masked = String::new();
    let mut rest = line;
    while !rest.is_empty() {
        let blanks = rest.len() - rest.trim_start_matches(' ').len();
        let body = &rest[blanks..];
        let digits = body.len()
            - body
                .trim_start_matches(|c: char| c.is_ascii_digit() || ".,".contains(c))
                .len();
        if digits > 0 && body.starts_with(|c: char| c.is_ascii_digit()) {
            let number = &body[..digits];
            let decimals = number
                .rsplit_once('.')
                .map_or(0, |(_, decimals)| decimals.len() + 1);
            masked.push_str(&"9".repeat(blanks + digits - decimals));
            masked.push_str(&".".repeat(decimals.min(1)));
            masked.push_str(&"9".repeat(decimals.saturating_sub(1)));
            rest = &body[digits..];
        } else {
            let step = blanks + body.chars().next().map_or(0, char::len_utf8);
            masked.push_str(&rest[..step]);
            rest = &rest[step..];
        }
    }
    masked
}
