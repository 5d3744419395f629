//! Whole folders of synthetic executions against stored ones (`UPDATE=1` rewrites them), and rules
//! that masks cannot show.
use super::*;
use crate::testing::{IntervalShape, RunShape, START_NS, Scenario, StreamShape, Work};
use measure::{IoFailure, Outstanding};
use plan::{Label, Operation, StreamId};
use std::collections::BTreeMap;
use std::fs;

/// File name to content; the console is one of them.
type Contents = BTreeMap<String, String>;

#[test]
fn a_mixed_execution_has_these_files() {
    golden("mixed", &written(&mixed().events(), FaceOptions::default()));
}

#[test]
fn arrival_columns_and_decimal_megabytes() {
    let options = FaceOptions {
        megabyte: Megabyte::Decimal,
        columns: RespColumns::Arrival,
        ..FaceOptions::default()
    };
    let contents = written(&mixed().events(), options);
    let kept = ["console", "summary.html", "flatfile.html"];
    golden(
        "arrival",
        &contents
            .into_iter()
            .filter(|(name, _)| kept.contains(&name.as_str()))
            .collect(),
    );
}

#[test]
fn failures_end_without_success() {
    let mut events = mixed().events();
    let failure = IoFailure {
        run: 0,
        unix_ns: START_NS + 4_200_000_000,
        stream: StreamId(0),
        target: TargetId(0),
        operation: Operation::Read,
        offset: 40_960,
        length: 4096,
        errno: 5,
        message: "Input/output error".into(),
        misfit: None,
        host: 0,
        worker: None,
    };
    let left = Outstanding {
        stream: StreamId(0),
        target: TargetId(1),
        operation: Operation::Write,
        offset: 8192,
        length: 4096,
        age_ns: 31_000_000_000,
        returned_after_ns: None,
    };
    let place = events
        .iter()
        .position(|event| matches!(event, Event::RunFinished(_)))
        .unwrap();
    let Event::RunFinished(finished) = &mut events[place] else {
        unreachable!()
    };
    finished.outstanding.push(left);
    events.insert(place, Event::IoFailure(failure));
    let contents = written(&events, FaceOptions::default());
    let kept = ["console", "errorlog.html"];
    golden(
        "errors",
        &contents
            .into_iter()
            .filter(|(name, _)| kept.contains(&name.as_str()))
            .collect(),
    );
}

#[test]
fn a_run_of_one_interval_averages_to_it() {
    let mut scenario = mixed();
    scenario.runs.truncate(1);
    scenario.runs[0].intervals.truncate(1);
    let contents = written(&scenario.events(), FaceOptions::default());
    for file in ["console", "summary.html", "sd1.html", "flatfile.html"] {
        let cells = |label: &str| -> Vec<String> {
            let words = contents[file].lines().map(str::split_whitespace);
            let mut rows = words.filter(|words| words.clone().any(|word| word == label));
            let row = rows
                .next()
                .unwrap_or_else(|| panic!("{file} has no {label}"));
            row.skip_while(|word| *word != label)
                .skip(1)
                .map(String::from)
                .collect()
        };
        assert!(cells("1").len() > 10, "{file}");
        assert_eq!(cells("1"), cells("avg_2-1"), "{file}");
        assert!(!cells("avg_2-1").contains(&"NaN".to_string()), "{file}");
    }
    assert!(
        contents["histogram.html"].contains("Reads:"),
        "histograms include the warm-up"
    );
}

#[test]
fn a_run_that_ends_in_its_warm_up_averages_to_that() {
    let averages = |reason: FinishReason| {
        let mut scenario = mixed();
        scenario.runs.truncate(1);
        scenario.runs[0].unmeasured = 5;
        let mut events = scenario.events();
        for event in &mut events {
            if let Event::RunFinished(finished) = event {
                finished.reason = reason.clone();
            }
        }
        rate_of(&written(&events, FaceOptions::default()), "avg_6-3")
    };
    // 960, 960 and 1900 I/Os.
    let whole = averages(FinishReason::Complete);
    assert!((whole - 3820.0 / 3.0).abs() < 0.01, "{whole}");
    assert_eq!(averages(FinishReason::StoppedByUser), 0.0);
}

/// The first run of `mixed`, whose last interval took a quarter of a second.
fn ended_early(reason: FinishReason, ends_by_itself: bool) -> Contents {
    let mut scenario = mixed();
    scenario.runs.truncate(1);
    let mut events = scenario.events();
    for event in &mut events {
        match event {
            Event::RunStarted(started) if ends_by_itself => started.window_ns = None,
            Event::Interval(interval) if interval.number == 3 => {
                interval.end_ns -= 750_000_000;
                interval.unix_ns -= 750_000_000;
            }
            Event::RunFinished(finished) => finished.reason = reason.clone(),
            _ => {}
        }
    }
    written(&events, FaceOptions::default())
}

fn rate_of(contents: &Contents, label: &str) -> f64 {
    let mut rows = contents["console"].lines().map(str::split_whitespace);
    let row = rows.find_map(|mut words| words.any(|word| word == label).then_some(words));
    row.unwrap().next().unwrap().parse().unwrap()
}

#[test]
fn an_interval_that_was_cut_short_is_divided_by_its_length_and_marked() {
    let user = ended_early(FinishReason::StoppedByUser, false);
    let nominal = ended_early(FinishReason::Complete, true);
    let [second, third] = ["2", "3"].map(|label| rate_of(&nominal, label));
    assert_eq!(rate_of(&user, "3"), third * 4.0);
    let average = (second + third) / 1.25;
    assert!((rate_of(&user, "avg_2-3") - average).abs() < 0.01);
    let mark = "*** interval 3 was cut short: its rates are over its true length, 0.250 s ***";
    for file in ["console", "summary.html", "logfile.html"] {
        assert!(user[file].contains(mark), "{file}");
    }
    assert!(!nominal["console"].contains("was cut short"));
    assert!((rate_of(&nominal, "avg_2-3") - (second + third) / 2.0).abs() < 0.01);
}

#[test]
fn sequential_workloads_that_end_a_run_are_told_before_its_last_row() {
    let contents = ended_early(FinishReason::Complete, true);
    for file in ["console", "logfile.html"] {
        let (_, behind) = contents[file]
            .split_once(messages::ENDED_AT_SIZE[0])
            .unwrap();
        assert!(behind.contains(messages::ENDED_AT_SIZE[1]), "{file}");
        assert_eq!(behind.matches("avg_2-3").count(), 1, "{file}");
        assert!(behind.contains("         3 "), "{file}");
    }
    let planned = ended_early(FinishReason::Complete, false);
    assert!(!planned["console"].contains(messages::ENDED_AT_SIZE[0]));
}

#[test]
fn the_newer_release_has_its_columns() {
    let options = FaceOptions {
        release: Release::V50407,
        ..FaceOptions::default()
    };
    let contents = written(&mixed().events(), options);
    let flat = &contents["flatfile.html"];
    let rows = flat.lines().filter(|line| !line.starts_with(['*', '<']));
    let rows: Vec<Vec<&str>> = rows.map(|row| row.split_whitespace().collect()).collect();
    assert_eq!(rows[0].len(), 34);
    assert!(rows.iter().all(|row| row.len() == 34));
    let place = |name: &str| rows[0].iter().position(|column| *column == name).unwrap();
    let number = |row: &[&str], name: &str| row[place(name)].parse::<f64>().unwrap();
    for row in &rows[1..] {
        let longest = number(row, "read_max").max(number(row, "write_max"));
        assert_eq!(number(row, "resp_max"), longest);
    }
    assert_eq!(number(&rows[1], "write_std"), 0.0);
    let heading = flat
        .lines()
        .find(|line| line.contains(" timestamp Run Interval reqrate "));
    assert!(heading.is_some(), "one blank between columns: {flat}");
    // As the original has them: whole numbers without decimals, and decimals without zeros at their end.
    for words in [
        " rate 1 2000 960 7.5 8192 75 ",
        " rate  avg_2-3 2000 1430 ",
        " max 1 9999988 11000 42.9688 4096 100 0.09 ",
        " 8192 4 n/a n/a n/a n/a 9 n/a 1 n/a ",
    ] {
        assert!(flat.contains(words), "{words}: {flat}");
    }
    let rows = contents["console"]
        .lines()
        .filter(|line| line.contains(" avg_"));
    let averages: Vec<&str> = rows.collect();
    assert!(!averages.is_empty());
    for row in averages {
        assert_eq!(row.split_whitespace().count(), 2 + 13, "{row}");
    }
    golden(
        "newer",
        &contents
            .into_iter()
            .filter(|(name, _)| ["console", "flatfile.html", "skew.html"].contains(&name.as_str()))
            .collect(),
    );
}

/// The console with this processor time of an interval: of Fathom, of other machines.
fn console_with_cpu(fathom_ns: u64, steal_ns: u64) -> String {
    let mut events = mixed().events();
    for event in &mut events {
        if let Event::Interval(interval) = event
            && let Some(cpu) = &mut interval.host.cpu
        {
            interval.host.fathom_user_ns = fathom_ns;
            interval.host.fathom_system_ns = 0;
            cpu.idle_ns = cpu.idle_ns.saturating_sub(steal_ns);
            cpu.steal_ns = steal_ns;
        }
    }
    written(&events, FaceOptions::default())["console"].clone()
}

#[test]
fn neighbours_on_the_processors_are_no_warning() {
    let text = "average processor utilization";
    // Of two seconds that two processors have, more than four fifths are in use in any case.
    assert!(!console_with_cpu(20_000_000, 0).contains(text));
    assert!(console_with_cpu(1_900_000_000, 0).contains(text));
    assert!(console_with_cpu(1_500_000_000, 190_000_000).contains(text));
}

#[test]
fn headers_return_every_thirty_intervals_and_fifteen_totals() {
    let mut scenario = mixed();
    let first = scenario.runs[0].intervals[0].clone();
    scenario.runs[0].intervals = vec![first; 61];
    let mut short = scenario.runs[0].clone();
    short.intervals.truncate(1);
    scenario.runs.truncate(1);
    scenario.runs.extend(vec![short; 15]);
    let contents = written(&scenario.events(), FaceOptions::default());
    let headers = |name: &str| contents[name].matches("interval        i/o").count();
    assert_eq!(headers("summary.html"), 3 + 15);
    assert_eq!(headers("totals.html"), 2);
}

#[test]
fn a_single_workload_has_no_page() {
    let mut scenario = mixed();
    for run in &mut scenario.runs {
        run.streams
            .iter_mut()
            .for_each(|stream| stream.workload = "wd1".into());
    }
    let contents = written(&scenario.events(), FaceOptions::default());
    assert!(contents.contains_key("sd1.html") && !contents.contains_key("wd1.html"));
    assert!(!contents["summary.html"].contains("Link to workload report"));
}

#[test]
fn storage_that_no_run_uses_has_no_page() {
    let mut scenario = mixed();
    scenario.runs.remove(0);
    let contents = written(&scenario.events(), FaceOptions::default());
    let has = |name: &str| contents.contains_key(name);
    assert!(!has("sd1.html") && !has("sd1.histogram.html"));
    assert!(has("sd2.html") && has("sd2.histogram.html"));
    let summary = &contents["summary.html"];
    let links = |name: &str| summary.contains(&format!("<A HREF=\"{name}.html\">"));
    assert!(!links("sd1") && links("sd2"), "{summary}");
    // Of an execution whose plan cannot be read, nobody knows what it uses.
    let mut events = mixed().events();
    let Event::ExecutionStarted(started) = &mut events[0] else {
        unreachable!()
    };
    started.plan_json.clear();
    let contents = written(&events, FaceOptions::default());
    assert!(contents.contains_key("sd1.html") && contents.contains_key("sd2.html"));
}

/// The streams of `mixed`, on three slaves of two hosts; the first slave works in the second run only.
fn spread() -> Scenario {
    let mut scenario = mixed();
    let hosts = [("one", vec!["one-0", "one-1"]), ("two", vec!["two-0"])];
    scenario.hosts = hosts
        .map(|(host, groups)| (host.into(), groups.into_iter().map(Into::into).collect()))
        .into();
    for (run, groups) in [(0, vec!["one-1", "two-0"]), (1, vec!["one-0"])] {
        let streams = scenario.runs[run].streams.iter_mut();
        streams
            .zip(groups)
            .for_each(|(stream, group)| stream.group = group.into());
    }
    scenario
}

#[test]
fn hosts_and_slaves_have_pages_of_their_own() {
    let contents = written(&spread().events(), FaceOptions::default());
    let kept = |name: &&String| {
        let places = ["one", "two", "skew", "summary"];
        places.iter().any(|place| name.starts_with(place))
    };
    let names: Vec<&String> = contents.keys().filter(kept).collect();
    let expected = [
        "one-0.histogram.html",
        "one-0.html",
        "one-0.stdout.html",
        "one-1.histogram.html",
        "one-1.html",
        "one-1.stdout.html",
        "one.histogram.html",
        "one.html",
        "skew.html",
        "summary.html",
        "two-0.histogram.html",
        "two-0.html",
        "two-0.stdout.html",
        "two.histogram.html",
        "two.html",
    ];
    assert_eq!(names, expected);
    let golden_ones = ["one.html", "one-1.html", "one.histogram.html", "skew.html"];
    let kept = contents
        .iter()
        .filter(|(name, _)| golden_ones.contains(&name.as_str()));
    let kept = kept.map(|(name, text)| (name.clone(), text.clone()));
    golden("spread", &kept.collect());
}

/// `report=(host_detail,slave_detail,no_sd_detail)`, and each alone.
#[test]
fn details_are_pages_of_a_device_on_a_host_or_a_slave() {
    let asked = |words: &[&str]| {
        let mut events = spread().events();
        let Event::ExecutionStarted(started) = &mut events[0] else {
            unreachable!()
        };
        let labels = words.iter().map(|word| Label::new("detail", *word));
        started.reporting.extend(labels);
        written(&events, FaceOptions::default())
    };
    let names = |contents: &Contents| -> Vec<String> {
        let is_of_device = |name: &&String| name.contains("sd1") || name.contains("sd2");
        contents.keys().filter(is_of_device).cloned().collect()
    };
    let plain = names(&asked(&[]));
    let usual = [
        "sd1.histogram.html",
        "sd1.html",
        "sd2.histogram.html",
        "sd2.html",
    ];
    assert_eq!(plain, usual);
    let contents = asked(&["host", "slave", "no_sd"]);
    let expected = [
        "one-0.sd2",
        "one-1.sd1",
        "one.sd1",
        "one.sd2",
        "two-0.sd2",
        "two.sd2",
    ];
    let expected =
        expected.map(|name| [".histogram.html", ".html"].map(|end| format!("{name}{end}")));
    assert_eq!(names(&contents), expected.concat());
    assert!(!contents["summary.html"].contains("SD reports"));
    assert!(contents["one.html"].contains("<A HREF=\"one.sd1.html\">one.sd1</A>"));
    assert!(contents["two-0.html"].contains("<A HREF=\"two-0.sd2.html\">two-0.sd2</A>"));
    // A host with one device shows in both pages the same rows.
    let rows = |name: &str| -> Vec<String> {
        let is_row = |line: &&str| line.starts_with(|first: char| first.is_ascii_digit());
        let lines = contents[name].lines();
        lines.filter(is_row).map(String::from).collect()
    };
    assert_eq!(rows("two.sd2.html"), rows("two.html"));
    assert!(rows("two.sd2.html").len() > 2);
    assert_ne!(rows("one-1.sd1.html"), rows("one-0.sd2.html"));
    // And the same histogram, which its report links to.
    let buckets = |name: &str| -> Vec<String> {
        let is_bucket = |line: &&str| line.contains(" < ") && !line.contains("min(ms)");
        let lines = contents[name].lines();
        lines.filter(is_bucket).map(String::from).collect()
    };
    assert_eq!(
        buckets("two.sd2.histogram.html"),
        buckets("two.histogram.html")
    );
    assert!(!buckets("two.sd2.histogram.html").is_empty());
    let link = "<A HREF=\"two.sd2.histogram.html\">histogram</A>";
    assert!(contents["two.sd2.html"].contains(link));
}

#[test]
fn pages_of_places_add_up_to_the_total() {
    let contents = written(&spread().events(), FaceOptions::default());
    let alone = written(&mixed().events(), FaceOptions::default());
    let rates = |contents: &Contents, page: &str| -> Vec<f64> {
        let rows = contents[page].lines().filter_map(|line| {
            let cells: Vec<&str> = line.split_whitespace().collect();
            let is_row = cells.len() == 14 && cells[0].len() == 12 && cells[0].contains('.');
            cells.get(2).filter(|_| is_row)?.parse().ok()
        });
        rows.collect()
    };
    let total = rates(&contents, "summary.html");
    assert_eq!(total, rates(&alone, "summary.html"));
    assert_eq!(total.len(), 8);
    for pages in [
        &["one.html", "two.html"][..],
        &["one-0.html", "one-1.html", "two-0.html"],
    ] {
        let parts = pages.iter().map(|page| rates(&contents, page));
        let sum = parts.fold(vec![0.0; 8], |sum, part| {
            sum.iter().zip(part).map(|(sum, part)| sum + part).collect()
        });
        let is_near = |(sum, total): (&f64, &f64)| (sum - total).abs() < 0.03;
        assert!(sum.iter().zip(&total).all(is_near), "{sum:?} {total:?}");
    }
    assert_eq!(contents["sd1.html"], alone["sd1.html"]);
    assert_eq!(contents["wd2.html"], alone["wd2.html"]);
}

/// An unbound plan holds preparations that may not be needed; links must not lead nowhere.
#[test]
fn links_to_preparations_follow_what_was_found() {
    let scenario = mixed();
    let mut plan = scenario.plan().plan;
    plan.runs[0].kind = plan::RunKind::Prepare;
    let links = |kind: &str, bytes: u64| {
        let mut events = scenario.events();
        let Event::ExecutionStarted(started) = &mut events[0] else {
            unreachable!()
        };
        started.plan_json = serde_json::to_string(&plan).unwrap();
        for target in &mut started.targets {
            target.identity.kind = kind.into();
            target.identity.bytes = bytes;
        }
        let contents = written(&events, FaceOptions::default());
        contents["totals.html"].matches("<A HREF=\"#_").count()
    };
    assert_eq!(links("missing", 0), 2);
    assert_eq!(links("file", 1 << 20), 2);
    assert_eq!(links("file", 8 << 30), 1);
    assert_eq!(links("block device", 0), 1);
}

/// Every link to a run has its anchor on the same page.
#[test]
fn links_lead_to_anchors() {
    let mut scenario = mixed();
    let again = scenario.runs[1].clone();
    scenario.runs.push(again);
    let contents = written(&scenario.events(), FaceOptions::default());
    let mut links = 0;
    for (file, text) in &contents {
        for link in text.split("<A HREF=\"#").skip(1) {
            let anchor = link.split('"').next().unwrap();
            let count = text.matches(&format!("<a name=\"{anchor}\">")).count();
            assert_eq!(count, 1, "{file}: {anchor}");
            links += 1;
        }
        for link in text
            .split("<A HREF=\"")
            .skip(1)
            .filter(|link| !link.starts_with('#'))
        {
            assert!(
                contents.contains_key(link.split('"').next().unwrap()),
                "{file}: {link}"
            );
        }
    }
    assert!(links > 3 * 10);
}

#[test]
fn a_plan_that_cannot_be_read_is_told() {
    let mut events = mixed().events();
    let Event::ExecutionStarted(started) = &mut events[0] else {
        unreachable!()
    };
    started.plan_json = "{}".into();
    let contents = written(&events, FaceOptions::default());
    assert!(contents["console"].contains("plan of this execution cannot be read"));
    assert!(contents["console"].contains("completed successfully"));
}

#[test]
fn every_interval_is_on_disk_when_its_event_returns() {
    let scratch = tempfile::tempdir().unwrap();
    let mut face = Face::create(&scratch.path().join("out"), FaceOptions::default()).unwrap();
    let mut rows = 0;
    for event in mixed().events() {
        face.on_event(&event).unwrap();
        rows += usize::from(matches!(event, Event::Interval(_) | Event::RunFinished(_)));
        let flat = fs::read_to_string(face.dir().join("flatfile.html")).unwrap();
        assert_eq!(
            flat.lines().filter(|line| line.starts_with("07:")).count(),
            rows
        );
    }
}

#[test]
fn errors_count_even_where_no_failure_was_told() {
    let mut scenario = mixed();
    scenario.runs[0].errors = 3;
    let contents = written(&scenario.events(), FaceOptions::default());
    let count = "Total Data Validation or I/O error count: 18";
    assert!(
        contents["summary.html"].contains(count),
        "three in each of two streams and three intervals"
    );
    assert!(!contents["console"].contains("successfully"));
}

#[test]
fn an_event_before_the_beginning_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let mut face = Face::create(scratch.path(), FaceOptions::default()).unwrap();
    let events = mixed().events();
    let error = face.on_event(&events[1]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
}

/// Two workloads on two devices at a rate, late; then one of them flat out.
fn mixed() -> Scenario {
    let owned = |(key, value): &(&str, &str)| (key.to_string(), value.to_string());
    let pairs = |pairs: &[(&str, &str)]| pairs.iter().map(owned).collect();
    let stream = |workload: &str, target, share_pct| StreamShape {
        workload: workload.into(),
        target,
        share_pct,
        ..StreamShape::default()
    };
    let work = |stream, operation, service: &[(u64, u64)], wait_ns| Work {
        stream,
        operation,
        service: service.to_vec(),
        wait_ns,
    };
    let second = |scale: u64, cpu| IntervalShape {
        work: vec![
            work(
                0,
                Operation::Read,
                &[(200_000, 700 * scale), (2_000_000, 20)],
                4_500_000,
            ),
            work(1, Operation::Write, &[(400_000, 240 * scale)], 0),
        ],
        transfer_bytes: 8192,
        cpu,
        unserved_ns: Vec::new(),
        lateness_ns: vec![50_000; 90]
            .into_iter()
            .chain(vec![4_500_000; 10])
            .collect(),
    };
    let mut last = second(2, Some((70.0, 25.0)));
    last.unserved_ns = vec![300_000_000, 500_000_000];
    let rate = RunShape {
        name: "rate".into(),
        labels: pairs(&[
            ("loops", "threads=4 iorate=2000"),
            ("rate", "2000"),
            ("elapsed", "3"),
            ("flat.xfersize", "8192"),
            ("flat.threads", "4.0000"),
            ("flat.rdpct", "n/a"),
            ("flat.compratio", "1.0000"),
        ]),
        asked_rate: Some(2000.0),
        unmeasured: 1,
        streams: vec![stream("wd1", 0, 80.0), stream("wd2", 1, 20.0)],
        slots: 8,
        intervals: vec![
            second(1, Some((60.0, 30.0))),
            second(1, Some((61.5, 30.25))),
            last,
        ],
        ..RunShape::default()
    };
    let flat_out = IntervalShape {
        work: vec![work(0, Operation::Read, &[(90_000, 11_000)], 0)],
        transfer_bytes: 4096,
        ..IntervalShape::default()
    };
    let max = RunShape {
        name: "max".into(),
        labels: pairs(&[
            ("loops", "None"),
            ("elapsed", "2"),
            ("flat.reqrate", "9999988.0000"),
        ]),
        warmup_s: 1,
        unmeasured: 1,
        streams: vec![stream("wd2", 1, 100.0)],
        slots: 8,
        intervals: vec![flat_out.clone(), flat_out.clone(), flat_out],
        ..RunShape::default()
    };
    Scenario {
        inputs: vec![(
            "two.parm".into(),
            "sd=sd1,lun=/dev/sdx\nsd=sd2,lun=/data/file\n".into(),
        )],
        arguments: ["vdbench", "-f", "two.parm"].map(String::from).into(),
        targets: vec![
            ("sd1".into(), "/dev/sdx".into(), 8 << 30),
            ("sd2".into(), "/data/file".into(), 1 << 30),
        ],
        runs: vec![rate, max],
        ..Scenario::default()
    }
}

fn written(events: &[Event], options: FaceOptions) -> Contents {
    let scratch = tempfile::tempdir().unwrap();
    let mut face = Face::create(&scratch.path().join("output"), options).unwrap();
    let mut console = String::new();
    for event in events {
        for line in face.on_event(event).unwrap() {
            console.push_str(&line);
            console.push('\n');
        }
    }
    let dir = face.dir().to_path_buf();
    face.finish().unwrap();
    let mut contents = Contents::from([("console".to_string(), console)]);
    for entry in fs::read_dir(&dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        contents.insert(name, fs::read_to_string(&path).unwrap());
    }
    let scratch = scratch.path().display().to_string();
    contents
        .values_mut()
        .for_each(|text| *text = text.replace(&scratch, "/scratch"));
    contents
}

fn golden(name: &str, contents: &Contents) {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/vdbench/");
    let dir = Path::new(root).join(name);
    if std::env::var_os("UPDATE").is_some() {
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        contents
            .iter()
            .for_each(|(file, text)| fs::write(dir.join(file), text).unwrap());
        return;
    }
    let stored = fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let mut stored: Vec<String> = stored.map(|file| file.into_string().unwrap()).collect();
    stored.sort();
    assert_eq!(
        stored,
        contents.keys().cloned().collect::<Vec<_>>(),
        "{name}: the set of files"
    );
    for (file, text) in contents {
        let stored = fs::read_to_string(dir.join(file)).unwrap();
        assert_eq!(text, &stored, "{name}/{file}");
    }
}

#[test]
fn a_host_has_its_own_processors_and_the_whole_those_of_all() {
    let mut scenario = spread();
    for run in &mut scenario.runs {
        for stream in &mut run.streams {
            stream.host = u32::from(stream.group.starts_with("two"));
        }
    }
    let mut events = scenario.events();
    for event in &mut events {
        let Event::Interval(interval) = event else {
            continue;
        };
        let sample = |busy_ns: u64| measure::HostSample {
            cpu: Some(measure::CpuTimes {
                user_ns: busy_ns,
                idle_ns: 1_000_000_000 - busy_ns,
                ..measure::CpuTimes::default()
            }),
            ..measure::HostSample::default()
        };
        let host = |(host, busy_ns): (u32, u64)| measure::HostEvidence {
            host,
            sample: Some(sample(busy_ns)),
            ..measure::HostEvidence::default()
        };
        interval.engine.hosts = [(0, 200_000_000), (1, 600_000_000)].map(host).to_vec();
        let whole = measure::HostEvidence::together(&interval.engine.hosts);
        interval.host = whole.unwrap();
    }
    let contents = written(&events, FaceOptions::default());
    let used = |page: &str| -> Vec<String> {
        let rows = contents[page].lines().filter(|line| line.contains(" avg_"));
        let cpu = |row: &str| row.split_whitespace().rev().nth(1).unwrap().to_owned();
        rows.map(cpu).collect()
    };
    let all = |page: &str, share: &str| {
        let used = used(page);
        assert!(!used.is_empty(), "{page}");
        // A host that has no stream of a run tells nothing of it.
        let is_it = |one: &String| one == share || one == "NaN";
        assert!(used.iter().all(is_it), "{page}: {used:?}");
        assert!(used.iter().any(|one| one == share), "{page}: {used:?}");
    };
    all("summary.html", "40.0");
    all("one.html", "20.0");
    all("two.html", "60.0");
    all("one-1.html", "20.0");
    all("two-0.html", "60.0");
    let skew = &contents["skew.html"];
    let row = |name: &str, share: &str| {
        let mut rows = skew.lines();
        rows.any(|line| line.contains(name) && line.contains(share))
    };
    assert!(row("two ", " 60.0"), "{skew}");
}
