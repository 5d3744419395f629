//! Whole files: written, read, killed, cut, filled up.
mod damage;
mod draw;
mod endings;
mod go_on;
mod mutated;
mod spans;
mod unanswered;

use crate::schema::TABLES;
use crate::{APPLICATION_ID, OLDEST_VERSION, Reader, SCHEMA_VERSION, Salvage, StoreError, Writer};
use draw::Draw;
use measure::{Event, LatencyFigures};
use proptest::prelude::*;
use std::path::Path;

fn write(path: &Path, events: &[Event]) -> Result<(), StoreError> {
    let writer = Writer::create(path)?;
    events.iter().try_for_each(|event| writer.append(event))?;
    writer.finish()
}

fn read(path: &Path) -> Vec<Event> {
    let reader = Reader::open(path).unwrap();
    reader.events().map(Result::unwrap).collect()
}

fn some_events(seed: u64, count: usize) -> Vec<Event> {
    let mut draw = Draw(seed);
    (0..count).map(|_| draw.event()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_was_written_is_read(seed in any::<u64>(), count in 0_usize..30) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("result.fathom");
        let events = some_events(seed, count);
        write(&path, &events).unwrap();
        prop_assert_eq!(read(&path), events);
        let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
        prop_assert_eq!(left.len(), 1, "only the file itself remains");
    }
}

#[test]
fn a_file_is_complete_once_its_execution_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.fathom");
    let finished = Event::ExecutionFinished(measure::ExecutionFinished {
        unix_ns: 7,
        reason: measure::FinishReason::StoppedByUser,
    });
    let writer = Writer::create(&path).unwrap();
    writer.append(&Event::Interval(Draw(1).interval())).unwrap();
    writer.flush().unwrap();
    let reader = Reader::open(&path).unwrap();
    assert!(!reader.is_complete().unwrap());
    assert_eq!(
        reader.events().count(),
        1,
        "a reader sees what is committed, while it is written"
    );
    writer.append(&finished).unwrap();
    writer.flush().unwrap();
    assert!(reader.is_complete().unwrap());
    drop(reader);
    writer.finish().unwrap();
    assert!(Reader::open(&path).unwrap().is_complete().unwrap());
}

#[test]
fn an_earlier_result_is_kept_and_another_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.fathom");
    let generations: Vec<_> = (0..3).map(|seed| some_events(seed, 5)).collect();
    for events in &generations {
        write(&path, events).unwrap();
    }
    assert_eq!(read(&folder.path().join("result.1.fathom")), generations[0]);
    assert_eq!(read(&folder.path().join("result.2.fathom")), generations[1]);
    assert_eq!(read(&path), generations[2]);

    for content in ["", "precious", &"x".repeat(5000)] {
        let foreign = folder.path().join("notes.txt");
        std::fs::write(&foreign, content).unwrap();
        assert!(matches!(
            Writer::create(&foreign),
            Err(StoreError::NotAResult { .. })
        ));
        assert!(matches!(
            Reader::open(&foreign),
            Err(StoreError::NotAResult { .. })
        ));
        assert_eq!(std::fs::read_to_string(&foreign).unwrap(), content);
    }
    let other = folder.path().join("other.db");
    let connection = rusqlite::Connection::open(&other).unwrap();
    connection.execute_batch("CREATE TABLE t (a)").unwrap();
    drop(connection);
    assert!(matches!(
        Writer::create(&other),
        Err(StoreError::NotAResult { .. })
    ));
    let link = folder.path().join("link.fathom");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert!(matches!(
        Writer::create(&link),
        Err(StoreError::NotAResult { .. })
    ));
    assert!(matches!(
        Writer::create(folder.path()),
        Err(StoreError::NotAResult { .. })
    ));
    assert!(matches!(
        Reader::open(folder.path().join("missing")),
        Err(StoreError::Access { .. })
    ));
}

#[test]
fn a_result_that_is_being_written_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.fathom");
    let events = some_events(3, 5);
    let writer = Writer::create(&path).unwrap();
    writer.append(&events[0]).unwrap();
    writer.flush().unwrap();
    assert_eq!(
        Writer::create(&path).err(),
        Some(StoreError::InUse { path: path.clone() })
    );
    events[1..]
        .iter()
        .for_each(|event| writer.append(event).unwrap());
    writer.finish().unwrap();
    assert_eq!(read(&path), events);
}

#[test]
fn a_number_that_is_none_ends_the_recording_with_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.fathom");
    let mut draw = Draw(5);
    let mut run = loop {
        if let Event::RunStarted(run) = draw.event() {
            break run;
        }
    };
    let writer = Writer::create(&path).unwrap();
    writer.append(&Event::RunStarted(run.clone())).unwrap();
    run.load = plan::Load::Rate {
        per_second: f64::NAN,
    };
    writer.append(&Event::RunStarted(run)).unwrap();
    let error = writer.flush().unwrap_err();
    assert!(
        matches!(error, StoreError::Unrepresentable { .. }),
        "{error}"
    );
    assert_eq!(writer.finish(), Err(error));
    assert_eq!(read(&path).len(), 1);
}

/// What a file of the oldest layout has not.
fn lower(path: &Path) {
    let connection = rusqlite::Connection::open(path).unwrap();
    let views = "DROP VIEW interval_rates; DROP VIEW figures; DROP VIEW span_figures";
    connection.execute_batch(views).unwrap();
    for (table, column) in [
        ("streams", "host"),
        ("intervals", "told_by"),
        ("spans", "told_by"),
        ("run_ends", "starts_json"),
        ("streams", "cache_mode"),
        ("samples", "pauses"),
        ("machine_samples", "fathom_read_bytes"),
        ("machine_samples", "fathom_written_bytes"),
    ] {
        let sql = format!("ALTER TABLE {table} DROP COLUMN {column}");
        connection.execute_batch(&sql).unwrap();
    }
    let set = connection.pragma_update(None, "user_version", OLDEST_VERSION);
    set.unwrap();
}

#[test]
fn a_file_of_the_oldest_layout_is_read_and_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.fathom");
    let mut events = some_events(9, 60);
    for event in &mut events {
        match event {
            Event::RunStarted(started) => {
                for stream in &mut started.streams {
                    (stream.host, stream.cache_mode) = (0, None);
                }
            }
            Event::Interval(interval) => {
                interval.engine.hosts.clear();
                interval.host.fathom_read_bytes = None;
                interval.host.fathom_written_bytes = None;
            }
            Event::RunFinished(finished) => finished.starts.clear(),
            _ => {}
        }
    }
    write(&path, &events).unwrap();
    lower(&path);
    assert_eq!(read(&path), events);
    let writer = Writer::go_on(&path, 60).unwrap();
    let more = some_events(10, 60);
    more.iter().for_each(|event| writer.append(event).unwrap());
    writer.finish().unwrap();
    events.extend(more);
    assert_eq!(read(&path), events, "with several hosts in what follows");
}

#[test]
fn each_host_of_several_keeps_its_sample() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.fathom");
    let sample = |host: &str, busy_ns: u64| {
        let sample = measure::HostSample {
            cpu: Some(measure::CpuTimes {
                user_ns: busy_ns,
                ..measure::CpuTimes::default()
            }),
            devices: vec![measure::DeviceSample {
                device: "sdb".into(),
                ..measure::DeviceSample::default()
            }],
            ..measure::HostSample::default()
        };
        sample.of_host(host)
    };
    let evidence = |host: u32, sample: Option<measure::HostSample>| measure::HostEvidence {
        host,
        sample,
        ..measure::HostEvidence::default()
    };
    let (a, c) = (sample("a", 1_000), sample("c", 5_000));
    let mut interval = Draw(1).interval();
    // Host 1 is silent in the first of these, and host 0 in the second; the third host tells nothing in the last.
    let hosts = [
        vec![evidence(0, Some(a.clone())), evidence(2, Some(c.clone()))],
        vec![evidence(2, Some(c))],
        vec![evidence(0, Some(a)), evidence(2, None)],
    ];
    let events = hosts.map(|hosts| {
        let whole = measure::HostEvidence::together(&hosts);
        interval.engine.hosts = hosts;
        interval.lost.cpu = whole.is_none();
        interval.lost.devices = whole.is_none();
        interval.host = whole.unwrap_or_default();
        Event::Interval(interval.clone())
    });
    write(&path, &events).unwrap();
    let read = read(&path);
    assert_eq!(read, events);
    let Event::Interval(first) = &read[0] else {
        panic!("an interval");
    };
    assert_eq!(first.engine.told_by(), 2);
    assert_eq!(first.host.cpu.unwrap().user_ns, 6_000);
    let devices: Vec<&str> = first.host.devices.iter().map(|one| &*one.device).collect();
    assert_eq!(devices, ["a:sdb", "c:sdb"]);
}

#[test]
fn a_file_of_another_layout_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.fathom");
    write(&path, &[]).unwrap();
    let (older, newer) = (OLDEST_VERSION - 1, SCHEMA_VERSION + 1);
    for (version, way_out) in [
        (
            older,
            "this program reads versions from 10 on; use the program that wrote the file",
        ),
        (newer, "use a newer one"),
    ] {
        let connection = rusqlite::Connection::open(&path).unwrap();
        let set = connection.pragma_update(None, "user_version", version);
        set.unwrap();
        drop(connection);
        let path = path.clone();
        let refused = StoreError::UnknownVersion {
            path: path.clone(),
            version,
        };
        assert_eq!(Reader::open(&path).err(), Some(refused.clone()));
        assert_eq!(Salvage::open(&path).err(), Some(refused.clone()));
        assert_eq!(Writer::go_on(&path, 0).err(), Some(refused.clone()));
        let text = refused.to_string();
        assert!(
            text.contains(&format!("has layout version {version}")),
            "{text}"
        );
        assert!(text.contains(way_out), "{text}");
    }
}

#[test]
fn columns_hold_what_they_are_called() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.fathom");
    let interval = Draw(9).typical(1, 2, 50);
    write(&path, &[Event::Interval(interval.clone())]).unwrap();
    let connection = rusqlite::Connection::open(&path).unwrap();
    let text = |sql: &str| -> String { connection.query_row(sql, [], |row| row.get(0)).unwrap() };
    let number = |sql: &str| -> i64 { connection.query_row(sql, [], |row| row.get(0)).unwrap() };
    assert_eq!(number("PRAGMA application_id"), i64::from(APPLICATION_ID));
    let write = &interval.figures[3];
    let where_write = "FROM figures JOIN operations USING (operation) \
                       WHERE name = 'write' AND target = 1 AND run = 0 AND interval = 1";
    for (column, value) in [
        ("operations", write.operations),
        ("bytes", write.bytes),
        ("service_ns_sum", write.service.sum_ns),
        ("service_ns_max", write.service.max_ns),
        ("response_ns_sum", write.response.sum_ns),
        ("response_ns_max", write.response.max_ns),
    ] {
        assert_eq!(
            number(&format!("SELECT {column} {where_write}")),
            value.cast_signed(),
            "{column}"
        );
    }
    assert_eq!(text("SELECT phase FROM intervals"), "measured");
    assert_eq!(number("SELECT slots FROM intervals"), 32);
    assert_eq!(number("SELECT end_ns FROM intervals"), 1_000_000_000);
    for (column, value) in [("scheduled", 50), ("submitted", 50), ("backlog", 0)] {
        assert_eq!(
            number(&format!("SELECT {column} FROM intervals")),
            value,
            "{column}"
        );
    }
    let kept = write.response.kept_percentiles_ns().unwrap();
    for (column, value) in ["p50", "p90", "p99", "p999"].iter().zip(kept) {
        let told = number(&format!("SELECT response_ns_{column} {where_write}"));
        assert_eq!(told, value.cast_signed(), "{column}");
    }
    let mut response = LatencyFigures::default();
    let figures = interval.figures.iter();
    figures.for_each(|figure| response.merge(&figure.response));
    let p99 = number("SELECT response_ns_p99 FROM intervals");
    assert_eq!(p99, response.percentile_ns(99.0).cast_signed());
    let workers = interval.engine.workers;
    for (column, value) in [
        ("submit_ns", workers.submit_ns),
        ("reap_gap_ns_max", workers.reap_gap_max_ns),
    ] {
        assert_eq!(
            number(&format!("SELECT {column} FROM intervals")),
            value.cast_signed(),
            "{column}"
        );
    }
}

#[test]
fn rates_can_be_asked_of_a_view() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.fathom");
    let mut draw = Draw(11);
    let run = loop {
        if let Event::RunStarted(run) = draw.event() {
            break measure::RunStarted { run: 0, ..run };
        }
    };
    let mut interval = draw.typical(1, 2, 50);
    // Syncs are no part of a rate, and their failures are failures.
    let syncs = plan::Operation::ALL.into_iter();
    let syncs = syncs.filter(|operation| operation.is_sync());
    let syncs = syncs.map(|operation| {
        let mut sync = interval.figures[0].clone();
        sync.key.operation = operation;
        (sync.bytes, sync.errors) = (0, 1);
        sync
    });
    let syncs: Vec<_> = syncs.collect();
    let errors: u64 = interval.figures.iter().map(|figure| figure.errors).sum();
    interval.figures.extend(syncs);
    write(&path, &[Event::RunStarted(run), Event::Interval(interval)]).unwrap();
    let connection = rusqlite::Connection::open(&path).unwrap();
    let sql = "SELECT operations_per_s, bytes_per_s, errors FROM interval_rates";
    let rates = connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    assert_eq!(rates.unwrap(), (200.0, 200.0 * 4096.0, errors as i64 + 3));
}

/// 64 targets, reads and writes, an hour of seconds: 460 800 figures in well under 400 MB.
/// The percentiles take 40 bytes of each.
#[test]
fn an_hour_of_64_targets_stays_small() {
    let folder = tempfile::tempdir().unwrap();
    for (operations, most_bytes) in [(300, 440), (2_000, 900)] {
        let path = folder.path().join(format!("{operations}.fathom"));
        let mut draw = Draw(42);
        let intervals: Vec<Event> = (1..=20)
            .map(|number| Event::Interval(draw.typical(number, 16, operations)))
            .collect();
        write(&path, &intervals).unwrap();
        let bytes = std::fs::metadata(&path).unwrap().len() - empty_file_bytes(folder.path());
        let per_figure = bytes / (20 * 32);
        println!("{operations} operations per figure: {per_figure} bytes per figure");
        assert!(per_figure < most_bytes, "{per_figure} bytes per figure");
    }
}

fn empty_file_bytes(folder: &Path) -> u64 {
    let path = folder.join("empty.fathom");
    write(&path, &[]).unwrap();
    std::fs::metadata(&path).unwrap().len()
}

#[test]
fn the_reference_names_every_table_and_column() {
    let text = include_str!("../../../docs/reference/result-file.md");
    let sections: Vec<&str> = text.split("\n### ").collect();
    let intervals = sections.iter().find(|one| one.starts_with("`intervals`"));
    let intervals = intervals.expect("a section of intervals");
    for table in TABLES {
        let title = format!("`{}`", table.name);
        let section = sections.iter().find(|section| section.starts_with(&title));
        let section = section.unwrap_or_else(|| panic!("no section {title}"));
        for (column, _) in table.columns {
            let word = format!("`{column}`");
            // A span has the columns of an interval.
            let is_of_interval = table.name == "spans" && intervals.contains(&word);
            let is_named = section.contains(&word) || is_of_interval;
            assert!(is_named, "{}.{column} is not described", table.name);
        }
    }
    assert!(text.contains(&format!("| {SCHEMA_VERSION} | ")));
}
