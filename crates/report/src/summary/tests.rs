use super::table::cells;
use super::*;
use crate::testing::{IntervalShape, RunShape, Scenario, StreamShape, Work};
use measure::{Event, RunFold};
use plan::Operation;
use std::fs;

#[test]
fn table_and_csv_of_the_same_rows() {
    let rows = rows();
    let (table, csv) = (table(&rows, 120), csv(&rows));
    assert!(
        table.lines().all(|line| line.chars().count() <= 120),
        "{table}"
    );
    golden("table.txt", &table);
    golden("table.csv", &csv);
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let fields: Vec<usize> = reader
        .records()
        .map(|record| record.unwrap().len())
        .collect();
    assert_eq!(fields, [CSV_HEADER.len(); 2]);
}

#[test]
fn a_run_takes_two_lines_at_most_with_its_name_and_its_words() {
    let mut rows = rows();
    let loops = "xfersize=4k rdpct=0 iorate=";
    let count = rows.len();
    for (place, row) in rows.iter_mut().enumerate() {
        row.loops = format!("{loops}{place}");
    }
    for width in [60, 80, 120, 200] {
        let table = table(&rows, width);
        let lines: Vec<&str> = table.lines().collect();
        let fits = |line: &&str| line.chars().count() <= usize::from(width);
        assert!(lines.iter().all(fits), "{width}: {table}");
        let from = lines.iter().position(|line| line.starts_with("---"));
        let to = lines.iter().position(|line| line.starts_with("left out"));
        let between = to.unwrap_or(lines.len()) - from.unwrap() - 1;
        assert_eq!(between, 2 * count, "{width}: {table}");
        for place in 0..count {
            let name = format!("{loops}{place})");
            assert!(table.contains(&name), "{width}: {name}: {table}");
        }
        assert_eq!(
            table.contains("! generator-bound, rate missed\n"),
            width > 60,
            "{table}"
        );
    }
    // A name that has no room even then keeps its end, which differs, and leaves words a third of its line.
    rows[0].run =
        "a_name_of_a_run_that_alone_is_longer_than_a_terminal_of_eighty_columns_is_wide".into();
    let table = table(&rows, 80);
    let cut = "iorate=0) ! generator-bound, rate m…\n";
    assert!(
        table.contains(cut) && table.contains("a_name_of_a_run"),
        "{table}"
    );
}

#[test]
fn what_a_sweep_varies_is_a_column() {
    let mut rows = rows();
    rows[0].named = vec![("threads".into(), "4".into())];
    rows[1].named = vec![
        ("read_pct".into(), "70".into()),
        ("threads".into(), "8".into()),
    ];
    rows[1].add_labels(&[Label::new("transport", "12")]);
    let table = csv(&rows);
    let ends: Vec<String> = table
        .lines()
        .map(|line| {
            line.split(',')
                .skip(CSV_HEADER.len())
                .collect::<Vec<_>>()
                .join(",")
        })
        .collect();
    assert_eq!(ends, ["threads,read_pct,label.transport", "4,,", "8,70,12"]);
    let told: serde_json::Value =
        serde_json::from_str(&json(&rows, None, ("aio", "asked for"))).unwrap();
    let named = &told["runs"][1]["named"];
    assert_eq!(
        *named,
        serde_json::json!({"read_pct": 70, "threads": 8, "label.transport": "12"})
    );
}

#[test]
fn rows_say_what_the_totals_say() {
    let totals = totals();
    let row = row_of(&totals[0]);
    assert_eq!(
        (row.run.as_str(), row.loops.as_str()),
        ("rate", "threads=4")
    );
    assert_eq!(row.rate, Some(1001.0));
    let late = row.late.unwrap();
    let limit_ns = (row.response_ns.p99.unwrap() as f64 * analysis::LATE_RESPONSE_SHARE) as u64;
    assert_eq!((late.share, late.limit_ns), (0.25, limit_ns));
    assert_eq!(row.unserved, 2);
    // 2 002 completions and 2 unserved: ranks 1 984 and 2 002 are slow ones, only 2 003 waits.
    let slow = |ns: u64| ns.abs_diff(3_000_000) <= 3_000_000 / 200;
    assert!(slow(row.response_ns.p99.unwrap()) && slow(row.response_ns.p99_9.unwrap()));
    assert_eq!(row.response_ns.max, 900_000_000);
    assert!(row.response_ns.p50.unwrap().abs_diff(1_200_000) <= 1_200_000 / 200);
    let service_ns = row.service_mean_ns.unwrap();
    assert!((service_ns - 220_000.0).abs() < 25_000.0, "{service_ns}");
    assert_eq!(
        row.marks,
        [
            "generator-bound",
            "rate missed",
            "not checked",
            "response above service"
        ]
    );
    let closed = row_of(&totals[1]);
    assert_eq!(
        (closed.late, closed.asked_rate, closed.host_cpu_ns),
        (None, None, None)
    );
    assert_eq!(closed.loops, "");
}

#[test]
fn the_end_of_a_run_is_a_mark() {
    let mut totals = totals().remove(0);
    totals.finished.as_mut().unwrap().reason = FinishReason::StoppedByUser;
    assert_eq!(
        row_of(&totals).marks,
        [
            "stopped",
            "generator-bound",
            "rate missed",
            "not checked",
            "response above service"
        ]
    );
}

#[test]
fn what_was_not_measured_is_no_zero() {
    let mut totals = totals().remove(0);
    totals.figures.clear();
    totals.streams.clear();
    // A second without a completion has a rate and no latency; no second at all has neither.
    for (length_ns, rate) in [(1_000_000_000, "0.0"), (0, "-")] {
        totals.length_ns = length_ns;
        let row = row_of(&totals);
        let cells = cells(&row);
        assert_eq!(cells[1], rate);
        assert_eq!(cells[3..9], ["-"; 6]);
        let record = record(&row, "");
        let at = |name: &str| CSV_HEADER.iter().position(|one| *one == name).unwrap();
        for name in RESPONSE_FIELDS.iter().chain(&[SERVICE_FIELD]) {
            assert_eq!(record[at(name)], "", "{name}");
        }
        let is_known = !record[at("achieved_rate_per_s")].is_empty();
        assert_eq!(is_known, length_ns > 0);
        assert_eq!(record[at("queue_depth")].is_empty(), length_ns == 0);
    }
    let cells = cells(&row_of(&totals));
    assert_eq!((&cells[2][..], &cells[9][..]), ("-", "-"));
    assert!(cells[10].starts_with("-/"), "{}", cells[10]);
}

#[test]
fn a_run_without_an_end_is_marked() {
    let mut totals = totals().remove(0);
    totals.finished = None;
    let row = row_of(&totals);
    assert!(
        row.marks.contains(&"unfinished".to_owned()),
        "{:?}",
        row.marks
    );
    assert!(!row.is_whole);
    assert!(table(std::slice::from_ref(&row), 120).contains("! unfinished, "));
    assert!(csv(&[row]).contains("unfinished; "));
}

#[test]
fn latencies_of_what_never_came_back_are_lower_bounds() {
    let events = scenario().events();
    let mut fold = RunFold::default();
    let mut rows = Vec::new();
    for mut event in events {
        if let Event::RunFinished(finished) = &mut event {
            finished.drain_ns = 30_000_000_000;
            finished.outstanding = (0..3)
                .map(|number| measure::Outstanding {
                    stream: plan::StreamId(0),
                    target: plan::TargetId(0),
                    operation: Operation::Read,
                    offset: 4096 * number,
                    length: 4096,
                    age_ns: 33_000_000_000,
                    returned_after_ns: None,
                })
                .collect();
        }
        rows.extend(fold.fold(&event).map(|totals| row_of(&totals)));
    }
    // Closed loop: 43 000 reads of 90 µs, and three that never came back.
    let row = &rows[1];
    assert_eq!(row.rate, Some(43_000.0));
    assert_eq!(row.unreturned, 3);
    let cells = cells(row);
    assert_eq!(cells[3..8], ["0.090", "0.090", "0.090", "0.090", "≥33000"]);
    assert!(cells[8].starts_with('≥'), "{}", cells[8]);
    assert!(table(std::slice::from_ref(row), 120).contains("! not returned\n"));
    assert_eq!(row.lower_bounds(), ["response_max_ms", "service_mean_ms"]);
    let text = csv(&rows);
    assert!(
        text.lines()
            .nth(2)
            .unwrap()
            .contains(",3,response_max_ms; service_mean_ms,")
    );
    // With a schedule, the waiting arrivals of the same stall are lower bounds, too.
    let bounds = ["response_p99.9_ms", "response_max_ms", "service_mean_ms"];
    assert_eq!(rows[0].lower_bounds(), bounds);
}

#[test]
fn the_live_line_is_short() {
    let events = scenario().events();
    let intervals: Vec<&Interval> = events
        .iter()
        .filter_map(|event| match event {
            Event::Interval(interval) => Some(interval),
            _ => None,
        })
        .collect();
    let line = live_line(intervals[0]);
    assert_eq!(
        line,
        "interval 1: 1001 I/O/s, 4.1 MB/s, response p50 1.20 ms p99 1.20 ms"
    );
    let empty = Interval {
        figures: Vec::new(),
        ..intervals[0].clone()
    };
    assert_eq!(
        live_line(&empty),
        "interval 1: 0.0 I/O/s, 0.0 MB/s, response p50 - p99 -"
    );
}

#[test]
fn long_names_wrap_and_numbers_never_do() {
    let mut row = row_of(&totals()[0]);
    row.run = "a_run_with_a_name_that_is_much_longer_than_any_column".into();
    row.rate = Some(1_234_567.0);
    let table = table(&[row], 120);
    assert!(
        table.lines().any(|line| line.contains(" 1234567 ")),
        "{table}"
    );
}

#[test]
fn the_table_is_as_wide_as_it_may_be() {
    let mut rows = rows();
    for width in (40..=130).rev() {
        let text = table(&rows, width);
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(usize::from(width)), "{width}:\n{text}");
        assert!(text.contains("reached"), "{width}:\n{text}");
    }
    assert!(!table(&rows, 130).contains("left out"));
    // Failures are never left out.
    rows[0].errors = 1;
    let text = table(&rows, 40);
    assert!(text.contains("errors/") && text.contains("1/"), "{text}");
}

fn row_of(totals: &RunTotals) -> Row {
    Row::new(&EndedRun::of_totals(totals.clone()))
}

fn rows() -> Vec<Row> {
    totals().iter().map(row_of).collect()
}

fn totals() -> Vec<RunTotals> {
    let mut fold = RunFold::default();
    scenario()
        .events()
        .iter()
        .filter_map(|event| fold.fold(event))
        .collect()
}

fn scenario() -> Scenario {
    let stream = StreamShape {
        workload: "wd1".into(),
        target: 0,
        share_pct: 100.0,
        ..StreamShape::default()
    };
    let work = |service: &[(u64, u64)], wait_ns| Work {
        stream: 0,
        operation: Operation::Read,
        service: service.to_vec(),
        wait_ns,
    };
    let second = IntervalShape {
        work: vec![work(&[(200_000, 991), (2_000_000, 10)], 1_000_000)],
        transfer_bytes: 4096,
        cpu: Some((10.0, 15.0)),
        unserved_ns: Vec::new(),
        lateness_ns: vec![20_000, 30_000, 40_000, 1_100_000],
    };
    let last = IntervalShape {
        unserved_ns: vec![700_000_000, 900_000_000],
        ..second.clone()
    };
    let rate = RunShape {
        name: "rate".into(),
        labels: vec![("loops".into(), "threads=4".into())],
        asked_rate: Some(2000.0),
        streams: vec![stream.clone()],
        slots: 4,
        intervals: vec![second, last],
        ..RunShape::default()
    };
    let flat_out = IntervalShape {
        work: vec![work(&[(90_000, 43_000)], 0)],
        transfer_bytes: 4096,
        ..IntervalShape::default()
    };
    let max = RunShape {
        name: "max".into(),
        labels: vec![("loops".into(), "None".into())],
        streams: vec![stream],
        slots: 4,
        intervals: vec![flat_out],
        ..RunShape::default()
    };
    Scenario {
        targets: vec![("sd1".into(), "/dev/sdx".into(), 1 << 30)],
        runs: vec![rate, max],
        ..Scenario::default()
    }
}

fn golden(file: &str, text: &str) {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/summary/");
    let path = std::path::Path::new(dir).join(file);
    if std::env::var_os("UPDATE").is_some() {
        fs::create_dir_all(dir).unwrap();
        fs::write(path, text).unwrap();
        return;
    }
    assert_eq!(text, fs::read_to_string(path).unwrap(), "{file}");
}

#[test]
fn a_field_is_one_line_and_no_formula() {
    let of = |text: &str| super::csv_field(text);
    assert_eq!(of("two\nlines"), "two\\nlines");
    assert_eq!(of("=HYPERLINK(1)"), "'=HYPERLINK(1)");
    assert_eq!(of("+cmd"), "'+cmd");
    for kept in ["-1.5", "-", "a=b", "", "1e-9", "rd1, 70 %"] {
        assert_eq!(of(kept), kept);
    }
}
