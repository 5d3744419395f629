//! Shares and mixes beside what the original showed for the same parameter files: reads, sizes, and
//! how the load was spread. The stored folders lie beside the workspace; rates and times of another
//! machine are not compared.
use crate::hosts::Hosts;
use crate::lab::{Lab, ended, skip};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Two samples of one law are further apart than this many standard deviations once in 15 000 times.
const DEVIATIONS: f64 = 4.0;

/// Flat out each slot goes as it can, and the scheduler of a real machine has a say.
const FLAT_OUT_PCT: f64 = 2.0;

/// Half of the last digit that is printed, on both sides.
const PRINTED_PCT: f64 = 0.01;

/// With their names and loops, in order.
type Runs = Vec<(String, Run)>;

#[derive(Debug, Default)]
struct Run {
    /// What follows `I/O rate:`.
    rate: String,
    /// I/Os in the averages.
    count: f64,
    per_second: f64,
    bytes: f64,
    read_pct: f64,
    /// Percent of all I/O, by kind of table and name.
    shares_pct: BTreeMap<(String, String), f64>,
}

/// Of files that the original accepts, what may print other lines. Never raise it.
const OTHER_LINES_PCT: usize = 2;

/// Every file of the corpus, by the program, in an empty folder.
#[test]
fn simulation_prints_the_lines_of_the_original() {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared"));
    let Ok(cases) = std::fs::read_to_string(root.join("oracle/simulate/vdbench.jsonl")) else {
        skip("no stored simulations of the original beside the workspace");
        return;
    };
    let (mut accepted, mut others) = (0, Vec::new());
    for case in cases.lines() {
        let case: serde_json::Value = serde_json::from_str(case).unwrap();
        if case["exit"] != 0 {
            continue;
        }
        accepted += 1;
        let name = case["file"].as_str().unwrap();
        let file = root.join("corpus/vdbench").join(name);
        let variables = case["variables"].as_object().unwrap().iter();
        let variables =
            variables.map(|(name, value)| format!("{name}={}", value.as_str().unwrap()));
        let words: Vec<String> = ["vdbench", "-s", "-f", file.to_str().unwrap()]
            .map(String::from)
            .into_iter()
            .chain(variables)
            .collect();
        let lab = Lab::new();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let ended = lab.fathom(&words);
        let lines = ended.out.lines().filter_map(|line| line.split_once(' '));
        let lines: Vec<&str> = lines.map(|(_, line)| line).collect();
        let runs = case["runs"].as_array().unwrap().iter();
        let expected = runs.map(|line| line.as_str().unwrap());
        let end = "Vdbench simulation completed successfully";
        let expected: Vec<&str> = expected.chain([end]).collect();
        if ended.code != Some(0) || lines != expected {
            others.push(name.to_owned());
        }
        assert!(
            lab.names(".").is_empty(),
            "{name} leaves {:?}",
            lab.names(".")
        );
    }
    assert!(accepted > 0);
    assert!(
        others.len() * 100 <= accepted * OTHER_LINES_PCT,
        "{} of {accepted} differ: {others:?}",
        others.len()
    );
}

#[test]
fn reads_sizes_and_spread_are_those_of_the_original() {
    for folder in ["raw1", "raw2", "hosts1", "jvms"] {
        let Some((theirs, ours)) = both(folder) else {
            return;
        };
        let names = |runs: &[(String, Run)]| -> Vec<String> {
            runs.iter().map(|(name, _)| name.clone()).collect()
        };
        assert_eq!(names(&theirs), names(&ours), "{folder}");
        for ((name, theirs), (_, ours)) in theirs.iter().zip(&ours) {
            compare(&format!("{folder} {name}"), theirs, ours);
        }
    }
}

/// Points are asked as the original rounds them, of whatever the base reached.
#[test]
fn points_of_a_curve_follow_the_law_of_the_original() {
    let Some((theirs, ours)) = both("curve1") else {
        return;
    };
    for runs in [&theirs, &ours] {
        let base = runs[0].1.per_second;
        let asked: Vec<f64> = runs[1..]
            .iter()
            .map(|(_, run)| run.rate.parse().unwrap())
            .collect();
        let law = [10.0, 50.0, 70.0, 80.0, 90.0, 100.0]
            .map(|pct| (base * pct / 100.0 / 100.0).ceil() * 100.0);
        assert_eq!(asked, law, "of {base}");
    }
    for ((name, theirs), (_, ours)) in theirs.iter().zip(&ours) {
        compare(name, theirs, ours);
    }
}

#[track_caller]
fn compare(what: &str, theirs: &Run, ours: &Run) {
    assert!(theirs.count > 100.0 && ours.count > 100.0, "{what}");
    let counts = 1.0 / theirs.count + 1.0 / ours.count;
    let near = |what: &str, theirs_pct: f64, ours_pct: f64, more_pct: f64| {
        let share = ours_pct / 100.0;
        let chance_pct = 100.0 * (share * (1.0 - share) * counts).sqrt();
        let most_pct = DEVIATIONS * chance_pct + PRINTED_PCT + more_pct;
        assert!(
            (theirs_pct - ours_pct).abs() <= most_pct,
            "{what}: {theirs_pct} % there, {ours_pct} % here, {most_pct:.2} % may be chance"
        );
    };
    near(
        &format!("{what}: reads"),
        theirs.read_pct,
        ours.read_pct,
        0.0,
    );
    let is_flat_out = theirs.rate.starts_with("Uncontrolled");
    let more_pct = if is_flat_out { FLAT_OUT_PCT } else { 0.0 };
    let keys = |run: &Run| -> Vec<(String, String)> { run.shares_pct.keys().cloned().collect() };
    assert_eq!(keys(theirs), keys(ours), "{what}");
    for (key, theirs_pct) in &theirs.shares_pct {
        near(
            &format!("{what}: {key:?}"),
            *theirs_pct,
            ours.shares_pct[key],
            more_pct,
        );
    }
    // One size is exact; a mix of 4 and 64 KiB differs as the shares of its parts do.
    let is_one_size = theirs.bytes.log2().fract() == 0.0;
    let most_bytes = match is_one_size {
        true => 0.0,
        false => DEVIATIONS * 61_440.0 / 2.0 * counts.sqrt(),
    };
    assert!(
        (theirs.bytes - ours.bytes).abs() <= most_bytes,
        "{what}: {} bytes there, {} here",
        theirs.bytes,
        ours.bytes
    );
}

/// The runs of a stored folder, and those that its parameter file makes here in simulated time.
fn both(folder: &str) -> Option<(Runs, Runs)> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/oracle/output");
    let stored = PathBuf::from(root).join(folder);
    if !stored.is_dir() {
        skip("no stored output of the original beside the workspace");
        return None;
    }
    let read = |file: &str| std::fs::read_to_string(stored.join(file)).unwrap();
    let job: String = read("input.parm")
        .lines()
        .map(|line| match line.split_once("lun=") {
            // Devices of another machine: files of any size will do.
            Some((before, after)) => {
                let rest = after.split_once(',').map_or("", |(_, rest)| rest);
                let name = line.split(',').next().unwrap().replace("sd=", "");
                format!("{before}lun={name},size=16m,{rest}")
            }
            None => line.to_owned(),
        })
        .map(|line| line.trim_end_matches(',').to_owned() + "\n")
        .collect();
    let lab = Lab::new();
    lab.write("job", job);
    let words = ["vdbench", "-f", "job", "-o", "out", "--backend", "sim"];
    lab.fathom(&words).expect(0);
    let ours = runs(&lab.text("out/summary.html"), &lab.text("out/skew.html"));
    let theirs = runs(&read("summary.html"), &read("skew.html"));
    assert!(!theirs.is_empty());
    Some((theirs, ours))
}

/// Every run but those that make files, from the averages of the summary and the tables of the skew.
fn runs(summary: &str, skew: &str) -> Runs {
    let mut runs = Runs::new();
    for line in summary.lines() {
        if let Some(start) = started(line) {
            runs.push(start);
            continue;
        }
        let fields: Vec<&str> = line.split_whitespace().collect();
        let average = fields.get(1).and_then(|label| label.strip_prefix("avg_"));
        let (Some(span), Some((_, run))) = (average, runs.last_mut()) else {
            continue;
        };
        let (first, last) = span.split_once('-').unwrap();
        let seconds = 1.0 + last.parse::<f64>().unwrap() - first.parse::<f64>().unwrap();
        let number = |place: usize| fields[place].parse::<f64>().unwrap();
        run.per_second = number(2);
        run.count = number(2) * seconds;
        run.bytes = number(4);
        run.read_pct = number(5);
    }
    let mut place = None;
    let mut table = String::new();
    for line in skew.lines() {
        if started(line).is_some() {
            place = Some(place.map_or(0, |place: usize| place + 1));
            continue;
        }
        let fields: Vec<&str> = line.split_whitespace().skip(1).collect();
        match (fields.first(), place) {
            (Some(first), _) if first.ends_with(':') => table = (*first).to_owned(),
            (Some(name), Some(place)) if !table.is_empty() => {
                if *name == "Total" {
                    table.clear();
                } else if let Some(Ok(rate)) = fields.get(1).map(|rate| rate.parse::<f64>()) {
                    let run = &mut runs[place].1;
                    let share_pct = rate * 100.0 / run.per_second;
                    run.shares_pct
                        .insert((table.clone(), (*name).to_owned()), share_pct);
                }
            }
            _ => {}
        }
    }
    runs.retain(|(name, _)| !name.starts_with("SD_format"));
    runs
}

/// Name with loops, and rate, of a line that begins a run.
fn started(line: &str) -> Option<(String, Run)> {
    let (_, rest) = line.split_once("Starting RD=")?;
    let rest = rest.split("</b>").next()?;
    let (name, rest) = rest.split_once("; I/O rate: ")?;
    let (rate, _) = rest.split_once(';')?;
    let (_, loops) = rest.split_once("For loops: ")?;
    let run = Run {
        rate: rate.to_owned(),
        ..Run::default()
    };
    Some((format!("{name} {}", loops.trim()), run))
}

/// Files of the original that belong to its own processes, or to what was around it.
const NOT_OURS: [&str; 5] = [
    "console.txt",
    "input.parm",
    "swat_mon.txt",
    "swat_mon_total.txt",
    "config.html",
];

/// Two hosts over ssh, two slaves on each: the same files, and the same lines in those of the whole, of hosts, slaves and
/// storage, but for times and figures.
#[test]
fn pages_of_two_hosts_are_those_of_the_original() {
    let pages = [
        "summary", "totals", "vm01", "vm02", "vm01-0", "vm02-1", "vol1", "vol4",
    ];
    let pages = pages.map(|page| (page, page));
    pages_are_those_of_the_original("hosts2-ssh", &pages);
}

/// One storage definition that both hosts reach, and a workload of one of them. The first host makes it here; there it is
/// the second.
#[test]
fn pages_of_a_shared_target_are_those_of_the_original() {
    let same = ["summary", "totals", "vol1", "w1", "w2"].map(|page| (page, page));
    let others = [("vm01", "vm02"), ("vm01-0", "vm02-0")];
    let mut pages = same.to_vec();
    pages.extend(
        others
            .iter()
            .flat_map(|(one, other)| [(*one, *other), (*other, *one)]),
    );
    pages_are_those_of_the_original("hosts2-shared", &pages);
}

/// A host that is lost: what was told before is on its pages.
#[test]
fn pages_before_the_loss_of_a_host_are_those_of_the_original() {
    let Some((root, lab, hosts)) = stored_job("hosts2-lost") else {
        return;
    };
    // An earlier run had made them.
    for name in ["a1", "b1"] {
        lab.write(&format!("data/{name}"), vec![0; 16 << 20]);
    }
    let going = hosts.start(&lab, &WORDS);
    let page = lab.path("out/vol3.html");
    let has_row = || {
        let text = std::fs::read_to_string(&page).unwrap_or_default();
        text.lines()
            .any(|line| line.split_whitespace().nth(1) == Some("3"))
    };
    let since = std::time::Instant::now();
    while !has_row() {
        assert!(since.elapsed().as_secs() < 60, "no rows");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let agent = hosts.agent(1).expect("an agent is there").to_string();
    let mut kill = std::process::Command::new("kill");
    ended(kill.args(["-KILL", &agent])).expect(0);
    going.end().expect(1).tells(&["host `vm02`"]);
    for page in [
        "summary", "vm01", "vm02", "vm01-0", "vm02-0", "vol1", "vol3",
    ] {
        let theirs = std::fs::read_to_string(root.join(format!("{page}.html"))).unwrap();
        let ours = masked(&lab.text(&format!("out/{page}.html")));
        assert!(ours.starts_with(&masked(&theirs)), "{page}: {ours:#?}");
    }
}

const WORDS: [&str; 7] = [
    "vdbench", "-f", "job.parm", "-o", "out", "--layout", "5.04.07",
];

/// What the original did with a job of two hosts, and the job for hosts that are here.
fn stored_job(case: &str) -> Option<(PathBuf, Lab, Hosts)> {
    let root = PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../shared/oracle/output"
    ));
    let root = root.join(case);
    let Ok(job) = std::fs::read_to_string(root.join("input.parm")) else {
        skip("no stored output of the original beside the workspace");
        return None;
    };
    let lab = Lab::new();
    let hosts = Hosts::new(&lab, 2).map_err(|reason| skip(&reason)).ok()?;
    let folder = lab.path("data");
    std::fs::create_dir(&folder).unwrap();
    let job = job
        .replace("10.78.0.1", hosts.address(0))
        .replace("10.78.0.2", hosts.address(1))
        .replace("/bench/mh/data", &folder.display().to_string());
    lab.write("job.parm", job);
    Some((root, lab, hosts))
}

fn pages_are_those_of_the_original(case: &str, pages: &[(&str, &str)]) {
    let Some((root, lab, hosts)) = stored_job(case) else {
        return;
    };
    hosts.fathom(&lab, &WORDS).expect(0);
    let ours = lab.names("out");
    for entry in std::fs::read_dir(&root).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if NOT_OURS.contains(&name.as_str()) || name.ends_with("var_adm_msgs.html") {
            continue;
        }
        assert!(ours.contains(&name), "no {name} among {ours:?}");
    }
    for (name, own_name) in pages {
        let theirs = std::fs::read_to_string(root.join(format!("{name}.html"))).unwrap();
        let ours = masked(&lab.text(&format!("out/{own_name}.html")));
        let theirs = masked(&theirs);
        let differs = (0..theirs.len().max(ours.len())).find(|at| theirs.get(*at) != ours.get(*at));
        if let Some(at) = differs {
            panic!(
                "{name}, line {at}: {:?} is {:?}",
                theirs.get(at),
                ours.get(at)
            );
        }
    }
}

/// The lines of a page without times and figures, equal ones in a row once.
fn masked(page: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in page.lines().skip(1) {
        let line = line.replace("NaN", "0.0").replace("</b></i>", "");
        let mut masked = String::new();
        for c in line
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .chars()
        {
            let c = if c.is_ascii_digit() || c == '-' && masked.ends_with(['"', '#']) {
                '0'
            } else {
                c
            };
            if !(c == '0' && masked.ends_with('0')) {
                masked.push(c);
            }
        }
        // That release has a histogram of the whole and of storage alone; ours has one of each host and slave, too.
        let is_own = [
            "Copyright",
            "created",
            "config output",
            "messages",
            "Dedup",
            "time histogram",
            "in the layout of",
            "workload report",
            // What either says of a skew that was not kept, and ours of response times, is in words of its own.
            "0:0:0.0 *",
        ];
        let is_own = is_own.iter().any(|word| masked.contains(word));
        if !masked.is_empty() && !is_own && lines.last() != Some(&masked) {
            lines.push(masked);
        }
    }
    lines
}
