//! `fathom run`: table, CSV, report, result.
use crate::lab::{Lab, job};

/// A record of the summary by column name. Fields here hold no comma.
fn record<'a>(csv: &'a str, place: usize) -> impl Fn(&str) -> &'a str {
    let mut lines = csv.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let fields: Vec<&str> = lines.nth(place).unwrap().split(',').collect();
    move |name| {
        let at = names
            .iter()
            .position(|known| *known == name)
            .expect("a column of the summary");
        fields[at]
    }
}

#[test]
fn a_run_leaves_table_summary_report_and_result() {
    let lab = Lab::new();
    let sweep = "iorate=(100,200),elapsed=2,interval=1";
    lab.write("job", job("lun=disk,size=1m", sweep));
    let ended = lab
        .fathom(&[
            "run",
            "job",
            "-o",
            "out",
            "--label",
            "transport=file",
            "--seed",
            "7",
        ])
        .expect(0);
    assert_eq!(
        lab.names("out"),
        [
            "report.html",
            "result.fathom",
            "summary.csv",
            "summary.json"
        ]
    );
    for text in ["SD_format", "iorate=100", "iorate=200", "resp.", "p99.9"] {
        assert!(ended.out.contains(text), "no `{text}` in\n{}", ended.out);
    }
    assert!(
        ended
            .out
            .lines()
            .all(|line| line.chars().count() <= 120 || line.contains('/'))
    );
    let report = std::fs::canonicalize(lab.path("out/report.html")).unwrap();
    assert!(
        ended
            .out
            .contains(&format!("report:  {}", report.display()))
    );
    let csv = lab.text("out/summary.csv");
    assert_eq!(csv.lines().count(), 4);
    for (place, asked) in [(1, "100.000"), (2, "200.000")] {
        let field = record(&csv, place);
        assert_eq!(field("run"), "rd1");
        assert_eq!(field("asked_rate_per_s"), asked);
        assert!(field("achieved_rate_per_s").parse::<f64>().unwrap() > 0.0);
        assert_eq!(field("slots"), "2");
        assert_eq!(field("errors"), "0");
        let ms = |name: &str| field(name).parse::<f64>().unwrap();
        assert!(ms("response_p50_ms") <= ms("response_p99_ms"));
        assert!(ms("response_p99_ms") <= ms("response_max_ms"));
    }
    let page = lab.text("out/report.html");
    assert!(page.contains("transport") && page.contains("rd1"));
    assert!(ended.err.contains("run 1/3 SD_format") && ended.err.contains("run 3/3 rd1"));
}

#[test]
fn variables_and_standard_input_work_as_on_the_old_face() {
    let lab = Lab::new();
    lab.write("storage", "sd=sd1,lun=$where,size=1m\n");
    lab.write(
        "rest",
        "wd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=50,elapsed=2,interval=1\n",
    );
    lab.fathom(&["run", "storage", "rest", "where=disk", "-o", "out"])
        .expect(0);
    assert_eq!(lab.bytes("disk").len(), 1 << 20);
}

/// What changes nothing takes a line; what may mislead is shown in place.
#[test]
fn notes_are_short_and_warnings_are_not() {
    let lab = Lab::new();
    let text = format!(
        "messagescan=no\n{}",
        job("lun=disk,size=1m", "iorate=50,elapsed=2,interval=1")
    );
    lab.write("job", text);
    let ended = lab.fathom(&["run", "job", "-o", "out"]).expect(0);
    let notes: Vec<&str> = ended
        .err
        .lines()
        .filter(|line| line.starts_with("note"))
        .collect();
    assert_eq!(
        notes,
        ["note: `messagescan`: kernel messages are not copied into the report (job:1:1)"]
    );
    assert!(!ended.err.contains("messagescan=no"), "{}", ended.err);
    assert!(ended.err.contains("--> job:2:"), "{}", ended.err);
}

/// Twice the same words give the same operations on simulated storage.
#[test]
fn simulated_runs_repeat_and_open_nothing() {
    let lab = Lab::new();
    lab.write(
        "job",
        job("lun=disk,size=1g", "iorate=1000,elapsed=20,interval=1"),
    );
    for (out, workers) in [("one", "1"), ("two", "2")] {
        lab.fathom(&[
            "run",
            "job",
            "-o",
            out,
            "--backend",
            "sim",
            "--seed=1",
            "--workers",
            workers,
        ])
        .expect(0);
    }
    assert!(!lab.path("disk").exists());
    let stable = |name: &str| {
        let csv = lab.text(name);
        let field = record(&csv, csv.lines().count() - 2);
        [
            "achieved_rate_per_s",
            "response_p99.9_ms",
            "service_mean_ms",
            "queue_depth",
        ]
        .map(|name| field(name).to_owned())
    };
    assert_eq!(stable("one/summary.csv"), stable("two/summary.csv"));
}

#[test]
fn explain_names_the_place_of_each_value() {
    let lab = Lab::new();
    lab.write(
        "job",
        job("lun=disk,size=1m", "iorate=50,elapsed=2,interval=1"),
    );
    let ended = lab.fathom(&["explain", "job"]).expect(0);
    let line = |name: &str| {
        let found = ended
            .out
            .lines()
            .find(|line| line.trim_start().starts_with(name));
        found
            .unwrap_or_else(|| panic!("no {name} in\n{}", ended.out))
            .to_owned()
    };
    assert!(line("size").contains("1m") && line("size").ends_with("job:1:17"));
    assert!(line("seekpct").contains("100") && line("seekpct").ends_with("default"));
    assert!(line("rdpct").ends_with("job:2:27"));
}
