//! Layouts against each other, against golden text, and against the installed fio.
use super::model::Model;
use super::*;
use crate::testing::{IntervalShape, RunShape, Scenario, StreamShape, Work, latencies};
use measure::{Handover, Outstanding, ServiceParts, ThreadUsage};
use plan::{BoundPlan, Label, Operation, StreamId, TargetId};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;

const OPTIONS: [(&str, &str); 4] = [
    ("rw", "randrw"),
    ("iodepth", "4"),
    ("ioengine", "null"),
    ("number_ios", "1000"),
];

fn work(stream: u32, operation: Operation, count: u64) -> Work {
    Work {
        stream,
        operation,
        service: vec![(2_500, count / 2), (60_000, count / 2 - 1), (1_200_000, 1)],
        wait_ns: 0,
    }
}

/// Two seconds of two clones of a job, then one second of another behind a barrier.
fn events(change: impl Fn(&mut Vec<Label>)) -> Vec<Event> {
    let interval = |work: Vec<Work>| IntervalShape {
        work,
        transfer_bytes: 4096,
        ..IntervalShape::default()
    };
    let both = || {
        interval(vec![
            work(0, Operation::Read, 500),
            work(0, Operation::Write, 300),
            work(1, Operation::Read, 400),
        ])
    };
    let stream = |job: &str| StreamShape {
        workload: job.to_owned(),
        target: 0,
        share_pct: 100.0,
        ..StreamShape::default()
    };
    let scenario = Scenario {
        targets: vec![("f".into(), "/f".into(), 1 << 20)],
        runs: vec![
            RunShape {
                name: "0".into(),
                streams: vec![stream("mix"), stream("mix")],
                slots: 4,
                intervals: vec![both(), both()],
                ..RunShape::default()
            },
            RunShape {
                name: "1".into(),
                streams: vec![stream("last")],
                slots: 1,
                intervals: vec![interval(vec![work(0, Operation::Write, 200)])],
                ..RunShape::default()
            },
        ],
        ..Scenario::default()
    };
    let mut events = scenario.events();
    events.iter_mut().for_each(|event| dress(event, &change));
    events
}

/// What a reader and the engine would have added.
fn dress(event: &mut Event, change: &impl Fn(&mut Vec<Label>)) {
    let labels = |name: &str, group: usize, clone: usize| {
        let mut labels = vec![
            Label::new("job", name),
            Label::new("clone", clone.to_string()),
            Label::new("group", group.to_string()),
        ];
        let options = OPTIONS.map(|(name, value)| Label::new(format!("option.{name}"), value));
        labels.extend(options);
        change(&mut labels);
        labels
    };
    match event {
        Event::ExecutionStarted(started) => {
            let mut bound: BoundPlan = serde_json::from_str(&started.plan_json).unwrap();
            bound.plan.labels = vec![
                Label::new("face", "fio"),
                Label::new("global.bs", "4k"),
                Label::new("global.thread", ""),
            ];
            for (group, template) in bound.plan.templates.iter_mut().enumerate() {
                for (place, stream) in template.streams.iter_mut().enumerate() {
                    stream.labels = labels(&stream.name, group, place + 1);
                }
            }
            started.plan_json = serde_json::to_string(&bound).unwrap();
        }
        Event::RunStarted(run) => {
            for (place, stream) in run.streams.iter_mut().enumerate() {
                stream.labels = labels(&stream.name, run.run as usize, place + 1);
            }
        }
        Event::Interval(interval) => {
            interval.engine.workers.usage = ThreadUsage {
                user_ns: 120_000_000,
                system_ns: 240_000_000,
                context_switches: 1_200,
                minor_faults: 12,
                major_faults: 0,
                cpu_wait_ns: None,
            };
            if interval.run == 0 {
                interval.engine.streams[0].handover = Some(handover(interval.number));
            }
        }
        _ => {}
    }
}

fn handover(interval: u32) -> Handover {
    let parts = [(Operation::Read, 500), (Operation::Write, 300)];
    let parts = parts.map(|(operation, count)| ServiceParts {
        operation,
        priority: 0,
        submission: latencies([(700, count)].into_iter()),
        completion: latencies([(1_800, count / 2), (59_300, count / 2)].into_iter()),
        service: measure::LatencyFigures::default(),
    });
    Handover {
        parts: parts.to_vec(),
        depths: [0, 0, 800, 0, 0, 0, 0],
        submitted_together: [0, 400, 0, 0, 0, 0, 0],
        seen_together: [0, 100, 100, 0, 0, 0, 0],
        last_seen_ns: u64::from(interval) * 1_000_000_000 - 400_000,
    }
}

fn printed(events: &[Event], formats: &str, terse_version: TerseVersion) -> String {
    let mut face = Face::new(FaceOptions {
        formats: Formats::parse(formats).unwrap(),
        terse_version,
        pid: 4711,
        ..FaceOptions::default()
    });
    events
        .iter()
        .map(|event| face.on_event(event).report)
        .collect()
}

fn json(events: &[Event], formats: &str) -> Value {
    let text = printed(events, formats, TerseVersion::V3);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn normal_text_is_as_kept() {
    let text = printed(&events(|_| {}), "normal", TerseVersion::V3);
    golden("normal.txt", &text);
}

fn golden(file: &str, text: &str) {
    let path = format!("{}/tests/golden/fio/{file}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(std::path::Path::new(&path).parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, kept, "UPDATE=1 rewrites `{path}`");
}

#[test]
fn groups_are_reported_as_one() {
    let grouped = events(|labels| labels.push(Label::new("group_reporting", "1")));
    let text = printed(&grouped, "normal", TerseVersion::V3);
    assert!(
        text.contains("mix: (groupid=0, jobs=2): err= 0: pid=4711: "),
        "{text}"
    );
    let value = json(&grouped, "json");
    let jobs = value["jobs"].as_array().unwrap();
    assert_eq!(jobs.len(), 2);
    assert_eq!(jobs[0]["read"]["total_ios"], 1_800);
    assert_eq!(
        jobs[0]["read"]["iops_min"], 900,
        "minima of members are added"
    );
    assert_eq!(jobs[0]["read"]["iops_samples"], 4);
    assert_eq!(jobs[0]["ctx"], 2_400);
}

#[test]
fn terse_lines_have_the_fields_of_their_version() {
    let events = events(|_| {});
    for (version, fields) in [
        (TerseVersion::V2, 4 + 3 * 41 + 34),
        (TerseVersion::V3, 121),
        (TerseVersion::V4, 162),
        (TerseVersion::V5, 180),
    ] {
        let text = printed(&events, "terse", version);
        assert_eq!(text.lines().count(), 3);
        for line in text.lines() {
            assert_eq!(line.split(';').count(), fields, "{version:?}: {line}");
        }
    }
}

#[test]
fn all_formats_tell_the_same() {
    let events = events(|_| {});
    let value = json(&events, "json+");
    let terse = printed(&events, "terse", TerseVersion::V3);
    let fields: Vec<&str> = terse.lines().next().unwrap().split(';').collect();
    let read = &value["jobs"][0]["read"];
    assert_eq!(read["total_ios"], 1_000);
    assert_eq!(
        read["runtime"], 2_000,
        "whole milliseconds up to the last completion"
    );
    assert_eq!(fields[5], read["io_kbytes"].to_string());
    assert_eq!(fields[6], read["bw"].to_string());
    assert_eq!(fields[7], "500");
    assert_eq!(fields[41], read["bw_min"].to_string());
    assert_eq!(read["slat_ns"]["N"], 1_000);
    assert_eq!(read["clat_ns"]["N"], 1_000);
    let bins = read["clat_ns"]["bins"].as_object().unwrap();
    let count: u64 = bins.values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(count, 1_000);
    assert_eq!(value["jobs"][0]["iodepth_level"]["4"], 100.0);
    assert_eq!(value["jobs"][0]["iodepth_complete"]["8"], 50.0);
    let other = &value["jobs"][1]["read"];
    assert_eq!(other["slat_ns"]["N"], 0, "not told apart");
    assert_eq!(other["clat_ns"], {
        let mut total = other["lat_ns"].clone();
        total["percentile"] = other["clat_ns"]["percentile"].clone();
        total["bins"] = other["clat_ns"]["bins"].clone();
        total
    });
}

#[test]
fn options_shape_the_report() {
    let value = json(
        &events(|labels| {
            labels.push(Label::new("option.percentile_list", "99.9:50"));
            labels.push(Label::new("option.lat_percentiles", "1"));
            labels.push(Label::new("option.disable_slat", "1"));
            labels.push(Label::new("option.unified_rw_reporting", "mixed"));
            labels.push(Label::new("option.continue_on_error", "all"));
            labels.push(Label::new("option.description", "what for"));
            labels.push(Label::new("option.fallocate", ""));
        }),
        "json",
    );
    let job = &value["jobs"][0];
    assert!(job.get("read").is_none());
    assert_eq!(job["mixed"]["total_ios"], 1_600);
    assert_eq!(job["mixed"]["slat_ns"]["N"], 0);
    let keys: Vec<&String> = job["mixed"]["lat_ns"]["percentile"]
        .as_object()
        .unwrap()
        .keys()
        .collect();
    assert_eq!(keys, ["50.000000", "99.900000"]);
    assert_eq!(
        (job["total_err"].as_u64(), job["desc"].as_str()),
        (Some(0), Some("what for"))
    );
    assert!(
        job["job options"].get("fallocate").is_none(),
        "no value, not listed"
    );
    assert_eq!(value["global options"]["bs"], "4k");
    assert!(value["global options"].get("thread").is_none());
}

#[test]
fn reports_come_in_between_and_count_from_the_start() {
    let mut face = Face::new(FaceOptions {
        formats: Formats::parse("json").unwrap(),
        status_interval_ns: Some(1_000_000_000),
        status_line_ns: Some(1_000_000_000),
        ..FaceOptions::default()
    });
    let (mut counts, mut lines) = (Vec::new(), Vec::new());
    for event in events(|_| {}) {
        let printed = face.on_event(&event);
        if !printed.report.is_empty() {
            let value: Value = serde_json::from_str(&printed.report).unwrap();
            counts.push(value["jobs"][0]["read"]["total_ios"].as_u64().unwrap());
        }
        lines.extend(printed.status_line);
    }
    assert_eq!(counts, [500, 1_000, 1_000, 1_000]);
    assert_eq!(
        lines[0],
        "Jobs: 2 (f=2): [m(2),P(1)][60.0%][r=3600KiB/s,w=1200KiB/s][r=900,w=300 IOPS][eta 00m:02s]"
    );
    assert_eq!(lines.len(), 3);
    assert!(
        lines[2].starts_with("Jobs: 1 (f=1): [_(2),m(1)]"),
        "{}",
        lines[2]
    );
}

#[test]
fn arrivals_of_a_schedule_stand_apart() {
    let mut events = events(|_| {});
    for event in &mut events {
        match event {
            Event::RunStarted(run) => run.streams.iter_mut().for_each(|stream| {
                stream.asked_rate = Some(1_000.0);
            }),
            Event::Interval(interval) => {
                interval.engine.streams[0].submitted = 980;
                interval.engine.streams[0].unserved = latencies([(60_000_000_000, 20)].into_iter());
                interval.engine.streams[0].backlog = 18;
            }
            _ => {}
        }
    }
    let value = json(&events, "json");
    let arrivals = value["fathom"]["arrivals"].as_array().unwrap();
    assert_eq!(arrivals.len(), 3);
    // What waited in a ramp is in neither count of its own, but in both of these.
    assert_eq!(arrivals[0]["scheduled"], 2 * 980 + 18);
    assert_eq!(arrivals[0]["submitted"], 2 * 980);
    // The table of the original ends at 17 s.
    let percentiles = &arrivals[0]["response_ns"]["percentile"];
    let longest_ns = percentiles["99.990000"].as_u64().unwrap();
    assert!(
        (59_000_000_000..=60_000_000_000).contains(&longest_ns),
        "{percentiles}"
    );
    assert_eq!(arrivals[0]["unserved"], 18);
    assert_eq!(arrivals[0]["response_ns"]["N"], 1_640);
    let text = printed(&events, "normal", TerseVersion::V3);
    let line = text.lines().last().unwrap();
    assert!(
        line.starts_with("Arrivals: scheduled=2976, unserved=36, "),
        "{line}"
    );
    assert!(line.ends_with("the target did not keep up, so the rate was asked and not reached"));
}

/// What is out at the end stands among the response times with its age, and was begun.
#[test]
fn arrivals_that_are_out_at_the_end_are_not_unserved() {
    let out = |returned_after_ns, operation| Outstanding {
        stream: StreamId::at(0),
        target: TargetId::at(0),
        operation,
        offset: 0,
        length: 4096,
        age_ns: 5_000_000,
        returned_after_ns,
    };
    let mut events = events(|_| {});
    for event in &mut events {
        match event {
            Event::RunStarted(run) => run.streams.iter_mut().for_each(|stream| {
                stream.asked_rate = Some(1_000.0);
            }),
            Event::Interval(interval) => {
                interval.engine.streams[0].scheduled = 1_000;
                interval.engine.streams[0].unserved = latencies([(5_000_000, 10)].into_iter());
                interval.engine.streams[0].backlog = 7;
            }
            Event::RunFinished(run) => {
                run.outstanding = vec![out(None, Operation::Read), out(None, Operation::Sync)];
                run.late = vec![
                    out(Some(200_000_000), Operation::Read),
                    out(Some(1_000_000), Operation::Read),
                ];
            }
            _ => {}
        }
    }
    let value = json(&events, "json");
    assert_eq!(value["fathom"]["arrivals"][0]["unserved"], 7);
}

#[test]
fn failures_are_told_as_the_error_of_their_job() {
    let mut events = events(|_| {});
    let failure = measure::IoFailure {
        run: 1,
        unix_ns: 0,
        stream: plan::StreamId(0),
        target: plan::TargetId(0),
        operation: Operation::Write,
        offset: 0,
        length: 4096,
        errno: 5,
        message: "Input/output error (os error 5)".into(),
        misfit: None,
        host: 0,
        worker: None,
    };
    let place = events.len() - 2;
    events.insert(place, Event::IoFailure(failure));
    let text = printed(&events, "normal", TerseVersion::V3);
    assert!(text.contains("last: (groupid=1, jobs=1): err= 5 (file:io_u.c:1876, func=io_u error, error=Input/output error): pid=4711: "));
    assert_eq!(json(&events, "json")["jobs"][2]["error"], 5);
}

/// Paths of all keys; places of lists are one.
fn keys(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                let path = format!("{path}.{key}");
                // Which buckets are occupied is chance.
                if key != "bins" {
                    keys(value, &path, found);
                }
                found.insert(path);
            }
        }
        Value::Array(values) => values
            .iter()
            .for_each(|value| keys(value, &format!("{path}[]"), found)),
        _ => {}
    }
}

/// What the installed fio prints for the same job; `None` and a word when there is none.
fn installed(arguments: &[&str]) -> Option<String> {
    let options = OPTIONS.map(|(name, value)| format!("--{name}={value}"));
    let output = Command::new("fio")
        .args(["--bs=4k", "--size=1m", "--name=mix"])
        .args(options)
        .args(arguments)
        .output();
    match output {
        Ok(output) if output.status.success() => Some(String::from_utf8(output.stdout).unwrap()),
        _ => {
            println!("skipped: no fio is installed here");
            None
        }
    }
}

#[test]
fn keys_are_those_of_the_installed_fio() {
    for (format, more) in [
        ("json", vec![]),
        ("json+", vec!["--lat_percentiles=1", "--slat_percentiles=1"]),
        ("json", vec!["--unified_rw_reporting=mixed"]),
        (
            "json",
            vec!["--unified_rw_reporting=both", "--continue_on_error=all"],
        ),
        ("json", vec!["--gtod_reduce=1", "--description=text"]),
        ("json", vec!["--clat_percentiles=0"]),
    ] {
        let mut arguments = vec!["--output-format", format];
        arguments.extend(&more);
        let Some(theirs) = installed(&arguments) else {
            return;
        };
        let theirs: Value = serde_json::from_str(&theirs).unwrap();
        let ours = json(
            &events(|labels| {
                for option in &more {
                    let (name, value) = option[2..].split_once('=').unwrap();
                    labels.push(Label::new(format!("option.{name}"), value));
                }
            }),
            format,
        );
        let tree = |value: &Value| {
            let mut found = BTreeSet::new();
            keys(value, "", &mut found);
            // Global options and those of the job are what the user has written.
            found.retain(|path| !path.contains("options"));
            found
        };
        let first = |mut value: Value| {
            let jobs = value["jobs"].as_array_mut().unwrap();
            jobs.truncate(1);
            value
        };
        let (ours, theirs) = (tree(&first(ours)), tree(&first(theirs)));
        let different: Vec<&String> = ours.symmetric_difference(&theirs).collect();
        assert!(different.is_empty(), "{more:?}: {different:#?}");
    }
}

#[test]
fn terse_fields_are_as_many_as_those_of_the_installed_fio() {
    for (version, number) in [
        (TerseVersion::V2, "2"),
        (TerseVersion::V3, "3"),
        (TerseVersion::V4, "4"),
        (TerseVersion::V5, "5"),
    ] {
        let arguments = ["--output-format=terse", "--terse-version", number];
        let Some(theirs) = installed(&arguments) else {
            return;
        };
        let ours = printed(&events(|_| {}), "terse", version);
        let count = |text: &str| text.lines().next().unwrap().split(';').count();
        assert_eq!(count(&ours), count(&theirs), "version {number}");
        let shape = |text: &str| -> Vec<usize> {
            let fields = text.lines().next().unwrap().split(';');
            // What stands in a field: a percentile, a share, a fraction or a whole number.
            fields
                .skip(5)
                .map(|field| {
                    match (
                        field.contains('='),
                        field.ends_with('%'),
                        field.split('.').nth(1),
                    ) {
                        (true, ..) => 100,
                        (_, true, Some(decimals)) => 200 + decimals.len(),
                        (_, _, Some(decimals)) => decimals.len(),
                        _ => 0,
                    }
                })
                .collect()
        };
        assert_eq!(shape(&ours), shape(&theirs), "version {number}");
    }
}

#[test]
fn the_lines_of_the_text_are_those_of_the_installed_fio() {
    let Some(theirs) = installed(&["--output-format=normal"]) else {
        return;
    };
    let ours = printed(&events(|_| {}), "normal", TerseVersion::V3);
    // Labels in front of the first number, of lines that do not depend on the values.
    let labels = |text: &str| -> BTreeSet<String> {
        let fixed = |line: &&str| {
            !line.contains("lat (")
                && !line.starts_with("     |")
                && !line.contains("percentiles (")
        };
        let label = |line: &str| {
            let end = line
                .find(|c: char| c.is_ascii_digit())
                .unwrap_or(line.len());
            line[..end].to_owned()
        };
        text.lines().filter(fixed).map(label).collect()
    };
    let (mut ours, theirs) = (labels(&ours), labels(&theirs));
    // Samples need half a second, the job of the installed fio takes a millisecond.
    ours.retain(|line| !line.contains(": min=") && !line.starts_with("last") && line != "...");
    let missing: Vec<&String> = theirs.difference(&ours).collect();
    assert!(missing.is_empty(), "{missing:#?}\nours: {ours:#?}");
}

/// Logs of the synthetic execution, by name.
fn logged(options: &[(&str, &str)]) -> Vec<(String, String)> {
    let folder = tempfile::tempdir().unwrap();
    let mut logs = Logs::new(folder.path(), Some("agg"));
    let events = events(|labels| {
        for (name, value) in options {
            labels.push(Label::new(format!("option.{name}"), *value));
        }
    });
    for event in &events {
        logs.on_event(event).unwrap();
    }
    let mut files: Vec<(String, String)> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            (path.file_name().unwrap().to_str().unwrap().to_owned(), text)
        })
        .collect();
    files.sort();
    files
}

fn text_of<'a>(files: &'a [(String, String)], name: &str) -> &'a str {
    let found = files.iter().find(|(mine, _)| mine == name);
    &found
        .unwrap_or_else(|| panic!("no `{name}` in {files:?}"))
        .1
}

#[test]
fn averaged_logs_have_a_row_per_window_and_direction() {
    let files = logged(&[
        ("write_bw_log", "b"),
        ("write_iops_log", ""),
        ("write_lat_log", "l"),
        ("log_avg_msec", "1000"),
        ("write_hist_log", "h"),
        ("log_hist_msec", "1000"),
        ("log_hist_coarseness", "6"),
    ]);
    assert_eq!(
        text_of(&files, "b_bw.1.log"),
        "1000, 2000, 0, 0, 0\n1000, 1200, 1, 0, 0\n2000, 2000, 0, 0, 0\n2000, 1200, 1, 0, 0\n"
    );
    assert_eq!(
        text_of(&files, "mix_iops.2.log"),
        "1000, 400, 0, 0, 0\n2000, 400, 0, 0, 0\n"
    );
    assert_eq!(text_of(&files, "last_iops.3.log"), "1000, 200, 1, 0, 0\n");
    assert!(text_of(&files, "l_slat.1.log").starts_with("1000, 700, 0, 0, 0\n"));
    assert!(text_of(&files, "l_clat.1.log").starts_with("1000, 30550, 0, 0, 0\n"));
    // It is made although its job has nothing that could be told.
    assert_eq!(text_of(&files, "l_slat.2.log"), "");
    let histogram = text_of(&files, "h_clat_hist.1.log").lines().next().unwrap();
    let numbers: Vec<u64> = histogram
        .split(", ")
        .map(|word| word.parse().unwrap())
        .collect();
    assert_eq!(
        (&numbers[..3], numbers.len()),
        (&[1_000, 0, 4_096][..], 3 + 29)
    );
    assert_eq!(numbers[3..].iter().sum::<u64>(), 500);
    let whole = text_of(&files, "agg-read_bw.log");
    assert_eq!(whole, "3000, 3600, 0, 0, 0\n4000, 3600, 0, 0, 0\n");
}

#[test]
fn windows_longer_than_an_interval_hold_several() {
    let files = logged(&[
        ("write_iops_log", "i"),
        ("write_lat_log", "l"),
        ("log_avg_msec", "2000"),
        ("log_max_value", "both"),
        ("log_offset", "1"),
        ("log_prio", "1"),
        ("log_issue_time", "1"),
    ]);
    let rates = text_of(&files, "i_iops.1.log");
    assert_eq!(
        rates,
        "2000, 500, 500, 0, 0, 0, 0x0000, 0\n2000, 300, 300, 1, 0, 0, 0x0000, 0\n"
    );
    assert!(
        text_of(&files, "l_lat.1.log").starts_with("2000, 33530, 1200000, 0, 0, 0, 0x0000, 0\n")
    );
    // The last job is over before its window is: its latencies are kept, its rates are not.
    assert!(text_of(&files, "l_lat.3.log").starts_with("1000, "));
    assert_eq!(text_of(&files, "i_iops.3.log"), "");
}

#[test]
fn operations_have_a_row_each() {
    let folder = tempfile::tempdir().unwrap();
    let own = [
        Label::new("job", "j"),
        Label::new("option.write_lat_log", "l"),
        Label::new("option.write_bw_log", ""),
        Label::new("option.write_iops_log", "i"),
        Label::new("option.log_offset", "1"),
        Label::new("option.log_issue_time", "1"),
    ];
    let streams = [&own[..]].into_iter();
    let mut logs = OperationLogs::new(folder.path(), streams, &[], 4).unwrap();
    let row = measure::OperationRecord {
        priority: 0,
        target: plan::TargetId(0),
        stream: plan::StreamId(0),
        operation: Operation::Write,
        offset: 8_192,
        length: 4_096,
        seen_ns: 3_900_000,
        measured_from_ns: 0,
        service_ns: 1_000_000,
        submission_ns: Some(100_000),
        completion_ns: 900_000,
    };
    logs.take(&[row], 0).unwrap();
    logs.finish().unwrap();
    for (name, expected) in [
        ("l_slat.5.log", "3, 100000, 1, 4096, 8192, 0, 3000000\n"),
        ("l_clat.5.log", "3, 900000, 1, 4096, 8192, 0, 3000000\n"),
        ("l_lat.5.log", "3, 1000000, 1, 4096, 8192, 0, 3000000\n"),
        ("j_bw.5.log", "3, 4444, 1, 4096, 8192, 0, 3000000\n"),
        ("i_iops.5.log", "3, 1, 1, 4096, 8192, 0, 3000000\n"),
    ] {
        let text = std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(text, expected, "{name}");
    }
    let averaged = [&own[..1]].into_iter();
    assert!(OperationLogs::new(folder.path(), averaged, &[], 0).is_none());
}

#[test]
fn windows_shorter_than_an_interval_are_folded_from_operations() {
    let folder = tempfile::tempdir().unwrap();
    let own = [
        Label::new("job", "j"),
        Label::new("log_windows", "operations"),
        Label::new("option.write_lat_log", "l"),
        Label::new("option.write_bw_log", "b"),
        Label::new("option.write_iops_log", "i"),
        Label::new("option.log_avg_msec", "2"),
        Label::new("option.write_hist_log", "h"),
        Label::new("option.log_hist_msec", "4"),
        Label::new("option.log_hist_coarseness", "6"),
    ];
    let streams = [&own[..]].into_iter();
    let logs = OperationLogs::new(folder.path(), streams, &[], 0).unwrap();
    let mut logs = logs.measured_from(1_000_000);
    let row = |seen_ns, service_ns, operation| measure::OperationRecord {
        target: plan::TargetId(0),
        stream: plan::StreamId(0),
        operation,
        offset: 0,
        length: 4_096,
        priority: 0,
        seen_ns,
        measured_from_ns: 0,
        service_ns,
        submission_ns: Some(100),
        completion_ns: service_ns - 100,
    };
    // Two workers, each in its own order, and one operation of the warm-up, with whose end times begin.
    let first = [
        row(900_000, 7_000, Operation::Read),
        row(3_500_000, 1_001, Operation::Read),
        row(10_000_000, 3_000, Operation::Read),
    ];
    let second = [
        row(2_200_000, 500, Operation::Write),
        row(4_999_999, 2_000, Operation::Read),
    ];
    logs.take(&first, 0).unwrap();
    logs.take(&second, 0).unwrap();
    logs.finish().unwrap();
    let text = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let lines = |values: [u64; 3]| {
        let [one, two, three] = values;
        format!("2, {one}, 1, 0, 0\n4, {two}, 0, 0, 0\n10, {three}, 0, 0, 0\n")
    };
    assert_eq!(text("l_lat.1.log"), lines([500, 1_501, 3_000]));
    assert_eq!(text("l_clat.1.log"), lines([400, 1_401, 2_900]));
    assert_eq!(text("l_slat.1.log"), lines([100, 100, 100]));
    assert_eq!(text("i_iops.1.log"), lines([500, 1_000, 500]));
    assert_eq!(text("b_bw.1.log"), lines([2_000, 4_000, 2_000]));
    let histograms = text("h_clat_hist.1.log");
    let counts = |line: &str| {
        let words = line.split(", ").map(|word| word.parse::<u64>().unwrap());
        let words: Vec<u64> = words.collect();
        (words[..3].to_vec(), words[3..].iter().sum::<u64>())
    };
    let found: Vec<_> = histograms.lines().map(counts).collect();
    let expected = [([4, 0, 4_096], 2), ([4, 1, 4_096], 1), ([12, 0, 4_096], 1)];
    assert_eq!(found, expected.map(|(row, count)| (row.to_vec(), count)));
    // What is folded here is not folded from intervals as well.
    let mut averaged = Logs::new(folder.path(), None);
    for event in &events(|labels| labels.extend(own[1..].iter().cloned())) {
        averaged.on_event(event).unwrap();
    }
    assert_eq!(text("i_iops.1.log"), lines([500, 1_000, 500]));
}

#[test]
fn json_that_was_printed_can_be_taken_back() {
    let grouped = events(|labels| labels.push(Label::new("option.slat_percentiles", "1")));
    let printed = printed(&grouped, "json+", TerseVersion::V3);
    let again = json(&import("result.json", &printed).unwrap(), "json+");
    let first: Value = serde_json::from_str(&printed).unwrap();
    for (one, two) in first["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .zip(again["jobs"].as_array().unwrap())
    {
        for direction in ["read", "write"] {
            let (one, two) = (&one[direction], &two[direction]);
            for key in ["total_ios", "io_bytes", "runtime", "bw", "iops"] {
                assert_eq!(one[key], two[key], "{direction} {key}");
            }
            for kind in ["slat_ns", "clat_ns", "lat_ns"] {
                for key in ["N", "max", "percentile"] {
                    assert_eq!(one[kind][key], two[kind][key], "{direction} {kind} {key}");
                }
                let means = [one, two].map(|value| value[kind]["mean"].as_f64().unwrap());
                assert!((means[0] - means[1]).abs() < 1.0, "{means:?}");
            }
        }
        assert_eq!(one["job options"], two["job options"]);
        assert_eq!(one["iodepth_level"], two["iodepth_level"]);
    }
    assert_eq!(first["global options"], again["global options"]);
}

/// fio does not tell what reached the medium, so that nothing of it is praised.
#[test]
fn an_imported_job_has_no_highest_rate() {
    let is_highest = |option: &str| {
        let events = events(|labels| labels.push(Label::new(option, "1000")));
        let printed = printed(&events, "json+", TerseVersion::V3);
        let mut conclusion = crate::Conclusion::with_page();
        let imported = import("result.json", &printed).unwrap();
        imported.iter().for_each(|event| conclusion.on_event(event));
        let mut html = Vec::new();
        conclusion.write_page(&mut html).unwrap();
        String::from_utf8(html).unwrap().contains("Highest rate")
    };
    assert!(!is_highest("option.size"));
    assert!(!is_highest("option.rate_iops"));
    assert!(!is_highest("option.thinktime"));
}

#[test]
fn what_other_programs_kept_of_fio_can_be_taken() {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../shared/corpus/outputs"
    );
    let Ok(files) = std::fs::read_dir(folder) else {
        println!("skipped: no corpus of outputs here");
        return;
    };
    let (mut taken, mut refused) = (0, Vec::new());
    for path in files.map(|file| file.unwrap().path()) {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
        if !text.contains("\"fio version\"") {
            continue;
        }
        match import(&name, &text) {
            Ok(events) => {
                taken += 1;
                same_amounts(&name, &text, &events);
            }
            Err(error) => refused.push((name, error)),
        }
    }
    println!("{taken} files are taken; refused: {refused:#?}");
    assert!(taken >= 10, "{refused:?}");
    // These hold no figures, or no document, on purpose.
    let on_purpose = ["bad_format", "no_metrics"];
    assert!(
        refused
            .iter()
            .all(|(name, _)| on_purpose.iter().any(|part| name.contains(part))),
        "{refused:?}"
    );
}

/// Amounts of the document against those of the report that is made of the import.
fn same_amounts(name: &str, text: &str, events: &[Event]) {
    let Ok(first) = serde_json::from_str::<Value>(text) else {
        return;
    };
    let again = json(events, "json");
    let sum = |value: &Value, direction: &str, key: &str| -> u64 {
        let jobs = value["jobs"].as_array().unwrap().iter();
        jobs.map(|job| job[direction][key].as_u64().unwrap_or(0))
            .sum()
    };
    for direction in ["read", "write"] {
        for key in ["total_ios", "runtime"] {
            let (one, two) = (sum(&first, direction, key), sum(&again, direction, key));
            if key == "total_ios" || sum(&first, direction, "total_ios") == two {
                assert_eq!(one, two, "{name}: {direction} {key}");
            }
        }
    }
    let p99 =
        |value: &Value| value["jobs"][0]["read"]["clat_ns"]["percentile"]["99.000000"].as_u64();
    if let (Some(one), Some(two)) = (p99(&first), p99(&again))
        && first["jobs"][0]["read"]["total_ios"].as_u64() > Some(0)
    {
        assert!(one.abs_diff(two) <= one / 64, "{name}: {one} {two}");
    }
}

#[test]
fn texts_without_figures_are_refused() {
    assert!(matches!(
        import("x", "nothing"),
        Err(ImportError::NoDocument(_))
    ));
    assert!(matches!(
        import("x", "{\"jobs\" : [ {"),
        Err(ImportError::NoDocument(_))
    ));
    assert_eq!(import("x", "{\"a\" : 1}").err(), Some(ImportError::NoJobs));
    assert_eq!(
        import("x", "{\"jobs\" : [{}]}").err(),
        Some(ImportError::NoFigures)
    );
}

fn imported_job(name: &str, read: &str) -> String {
    format!("{{\"jobname\":\"{name}\",\n\"read\":{{{read}}}}}")
}

const FINE: &str = "\"total_ios\":10,\"io_bytes\":40960,\"runtime\":1000";

/// A percentile stands only where it was recorded.
#[test]
fn percentiles_that_fio_did_not_print_have_no_value() {
    let row_of = |percentiles: &str| {
        let clat = format!(
            "\"clat_ns\":{{\"min\":1000,\"max\":9000000,\"mean\":50000,\"N\":5000{percentiles}}}"
        );
        let read = format!("\"total_ios\":5000,\"io_bytes\":20480000,\"runtime\":1000,{clat}");
        let text = format!("{{\"jobs\":[{}]}}", imported_job("a", &read));
        let mut conclusion = crate::Conclusion::with_page();
        let imported = import("x", &text).unwrap();
        imported.iter().for_each(|event| conclusion.on_event(event));
        conclusion.end();
        let sentence = conclusion.verdict().unwrap().text();
        (conclusion.rows[0].responses_ns(), sentence)
    };
    let ([p50, p90, p99, p999, max], sentence) = row_of("");
    assert_eq!(
        (p50, p90, p99, p999, max),
        (None, None, None, None, Some(9_000_000))
    );
    let told = "5000 I/O/s with no response p99 recorded in `a`. Not checked: ";
    assert!(
        sentence.contains(&told.replace("5000", "5\u{202f}000")),
        "{sentence}"
    );
    assert!(
        sentence.contains("whether the samples suffice for p99 (no p99 was recorded)"),
        "{sentence}"
    );
    let ([p50, p90, p99, p999, _], _) =
        row_of(",\"percentile\":{\"50.000000\":40000,\"90.000000\":80000}");
    assert_eq!([p99, p999], [None, None]);
    let is_near = |one: Option<u64>, ns: u64| one.unwrap().abs_diff(ns) <= ns / 100;
    assert!(
        is_near(p50, 40_000) && is_near(p90, 80_000),
        "{p50:?} {p90:?}"
    );
}

/// The names of the jobs that were taken, and the remarks.
fn taken(text: &str) -> (Vec<String>, Vec<String>) {
    let (mut names, mut remarks) = (Vec::new(), Vec::new());
    for event in import("x", text).unwrap() {
        match event {
            Event::RunStarted(run) => names.extend(run.streams.into_iter().map(|one| one.name)),
            Event::Remark(remark) if remark.severity == plan::Severity::Warning => {
                remarks.push(remark.message);
            }
            _ => {}
        }
    }
    (names, remarks)
}

#[test]
fn of_a_document_that_is_cut_off_the_whole_jobs_are_taken() {
    let jobs = ["a", "b", "c"]
        .map(|name| imported_job(name, FINE))
        .join(",\n");
    let whole = format!("{{\"fio version\":\"fio-3.33\",\n\"jobs\":[{jobs}]}}\n");
    for end in 0..whole.trim_end().len() {
        let cut = &whole[..end];
        match import("x", cut) {
            Ok(_) => {
                let (names, remarks) = taken(cut);
                assert_eq!(names.len(), cut.matches("}}").count().min(3), "{cut}");
                let line = cut.matches('\n').count() + 1;
                let says = format!("it ends early, at line {line}, byte {end};");
                assert!(remarks[0].starts_with(&says), "{remarks:?}");
            }
            Err(error) if end > 0 => {
                let says = format!("ends early, at line {}", cut.matches('\n').count() + 1);
                assert!(error.to_string().contains(&says), "{cut}: {error}");
            }
            Err(_) => {}
        }
    }
    assert_eq!(taken(&whole).1, Vec::<String>::new());
    // A later one that is cut off does not replace one that is whole.
    let (names, remarks) = taken(&format!("{whole}{}", &whole[..whole.len() / 2]));
    assert_eq!((names.len(), remarks.len()), (3, 1));
}

#[test]
fn jobs_before_a_word_that_is_no_json_are_taken() {
    for word in ["nan", "-inf", "1e400", "\"open\n\""] {
        let bad = imported_job("b", &format!("\"total_ios\":{word}"));
        let text = format!("{{\"jobs\":[{},{bad}]}}", imported_job("a", FINE));
        let (names, remarks) = taken(&text);
        assert_eq!(names, ["a"], "{word}");
        assert!(remarks[0].contains("damaged at line "), "{remarks:?}");
    }
}

#[test]
fn figures_that_cannot_be_are_left_out_with_a_reason() {
    let latency = |words: &str| format!("{FINE},\"lat_ns\":{{\"N\":10,{words}}}");
    for (read, says) in [
        (FINE.replace(":10,", ":-10,"), "`total_ios` is -10"),
        (FINE.replace(":10,", ":\"NaN\","), "`total_ios` is \"NaN\""),
        (FINE.replace("40960", "1e300"), "`io_bytes` is 1e"),
        (format!("{FINE},\"iops\":-1"), "`iops` is -1"),
        (
            format!("{FINE},\"iops\":5000.0"),
            "10 operations in 1000 ms are 10 per second",
        ),
        (
            latency("\"min\":9,\"max\":3,\"mean\":5"),
            "`min` 9 is above `max` 3",
        ),
        (
            latency("\"min\":1,\"max\":3,\"mean\":50"),
            "`mean` 50 is not between 1 and 3",
        ),
        (
            latency("\"min\":1,\"max\":90,\"mean\":50,\"percentile\":{\"50.0\":60,\"99.0\":7}"),
            "p99 7 is below p50 60",
        ),
        (
            latency("\"min\":1,\"max\":90,\"mean\":50,\"percentile\":{\"99.0\":700}"),
            "p99 700 is above `max` 90",
        ),
        (
            latency("\"min\":1,\"max\":90,\"mean\":50").replace("\"N\":10", "\"N\":1000"),
            "1000 samples of 10 operations",
        ),
    ] {
        let (good, bad) = (imported_job("a", FINE), imported_job("b", &read));
        let (_, remarks) = taken(&format!("{{\"jobs\":[{good},{bad}]}}"));
        assert_eq!(remarks.len(), 1, "{read}: {remarks:?}");
        assert!(
            remarks[0].contains(says) && remarks[0].contains("job `b`"),
            "{remarks:?}"
        );
    }
}

#[test]
fn one_part_of_a_document_has_a_limit() {
    let many = "1,".repeat(1 << 17);
    let job = imported_job("b", &format!("\"x\":[{many}1]"));
    let text = format!("{{\"jobs\":[{},{job}]}}", imported_job("a", FINE));
    let (names, remarks) = taken(&text);
    assert_eq!(names, ["a"]);
    assert!(remarks[0].contains("more than 65536 values"), "{remarks:?}");
}

#[test]
fn a_job_runs_until_its_last_completion() {
    let mut events = events(|_| {});
    for event in &mut events {
        if let Event::Interval(interval) = event
            && let Some(handover) = &mut interval.engine.streams[0].handover
        {
            handover.last_seen_ns = 1_499_100_000;
        }
    }
    assert_eq!(json(&events, "json")["jobs"][0]["read"]["runtime"], 1_500);
    assert_eq!(
        json(&events, "json")["jobs"][1]["read"]["runtime"],
        2_000,
        "not told"
    );
}

/// What workers used before jobs are measured anew does not count, and of that interval a part.
#[test]
fn jobs_that_are_measured_anew_are_told_what_they_used_since() {
    let mut events = events(|_| {});
    let mut number = 0;
    for event in &mut events {
        let Event::Interval(interval) = event else {
            continue;
        };
        if interval.run != 0 {
            continue;
        }
        let middle_ns = interval.start_ns + interval.length_ns() / 4;
        let from_ns = [0, middle_ns][number];
        for sample in &mut interval.engine.streams {
            let to_ns = None;
            sample.span = Some(measure::StreamSpan { from_ns, to_ns });
        }
        let user_ns = [900_000_000, 400_000_000][number];
        interval.engine.workers.usage = ThreadUsage {
            user_ns,
            ..ThreadUsage::default()
        };
        number += 1;
    }
    assert_eq!(number, 2);
    let mut report = Model::default();
    events.iter().for_each(|event| report.on_event(event));
    let entries = report.entries();
    let user_ns: f64 = entries.iter().take(2).map(|entry| entry.user_ns).sum();
    assert_eq!(user_ns.round() as u64, 300_000_000);
}
