//! Starts of runs and of the execution that are lost: what followed tells that they were there, and which streams, targets
//! and pools they had. Names are numbers then.
use crate::decode::Decoder;
use crate::encode;
use crate::error::Outcome;
use crate::schema::{self, SCHEMA_VERSION, Table};
use measure::{Event, ExecutionStarted, HostFacts, RunStarted, StreamInfo, TargetIdentity};
use plan::{Label, Load, RunKind, TargetId};
use rusqlite::{Connection, OptionalExtension, params};

/// Tables with one row for each start.
const STARTS: [&Table; 2] = [&schema::EXECUTIONS, &schema::RUNS];

/// Adds what is missing in front of what is there.
pub(super) fn complete(connection: &Connection, is_whole: impl Fn(&Table) -> bool) -> Outcome<()> {
    let is_mended = mend(connection)?;
    let has_runs = is_whole(&schema::RUNS) && !is_mended;
    if !has_runs {
        add_runs(connection)?;
    }
    if !is_whole(&schema::STREAMS) || !has_runs {
        add_streams(connection)?;
    }
    if !is_whole(&schema::POOLS) || !has_runs {
        add_pools(connection)?;
    }
    let has_execution = is_whole(&schema::EXECUTIONS) && !is_mended;
    if !has_execution {
        add_execution(connection)?;
    }
    if !is_whole(&schema::TARGETS) || !has_execution {
        add_targets(connection)?;
    }
    // A new start has taken in what was left of the old one.
    mend(connection).map(drop)
}

/// Empties lists and facts that are no longer such, and removes a start that still cannot be read then. Whether it changed
/// anything.
fn mend(connection: &Connection) -> Outcome<bool> {
    let decoder = Decoder::with_own_operations(SCHEMA_VERSION, u64::MAX);
    let mut is_mended = false;
    for table in STARTS {
        let sql = format!("SELECT event FROM {}", table.name);
        for event in all::<i64>(connection, &sql)? {
            let kind = schema::KINDS.iter().find(|(of, _)| of.name == table.name);
            let (_, kind) = kind.expect("a start is a kind of event");
            if decoder.event(connection, event, kind).is_ok() {
                continue;
            }
            is_mended = true;
            empty_what_is_torn(connection, event)?;
            if decoder.event(connection, event, kind).is_err() {
                let sql = format!("DELETE FROM {} WHERE event = ?", table.name);
                connection.execute(&sql, [event])?;
            }
        }
    }
    Ok(is_mended)
}

fn empty_what_is_torn(connection: &Connection, event: i64) -> Outcome<()> {
    let host = serde_json::to_string(&HostFacts::default()).unwrap_or_default();
    let identity = serde_json::to_string(&TargetIdentity::default()).unwrap_or_default();
    let is_text = |text: &str, column: &str| match column {
        "host_json" => serde_json::from_str::<HostFacts>(text).is_ok(),
        "identity_json" => serde_json::from_str::<TargetIdentity>(text).is_ok(),
        "arguments_json" => serde_json::from_str::<Vec<String>>(text).is_ok(),
        "inputs_json" => serde_json::from_str::<Vec<(String, String)>>(text).is_ok(),
        "targets_json" => serde_json::from_str::<Vec<TargetId>>(text).is_ok(),
        "load_json" => serde_json::from_str::<Load>(text).is_ok(),
        _ => serde_json::from_str::<Vec<Label>>(text).is_ok(),
    };
    let load = serde_json::to_string(&Load::FlatOut).unwrap_or_default();
    for table in STARTS
        .into_iter()
        .chain([&schema::TARGETS, &schema::STREAMS])
    {
        let columns = table.columns.iter().map(|(name, _)| *name);
        for column in columns.filter(|name| name.ends_with("_json") && *name != "plan_json") {
            let empty = match column {
                "host_json" => &host,
                "identity_json" => &identity,
                "load_json" => &load,
                _ => "[]",
            };
            let sql = format!(
                "SELECT DISTINCT {column} FROM {} WHERE event = {event}",
                table.name
            );
            for text in all::<String>(connection, &sql)? {
                if !is_text(&text, column) {
                    let sql = format!(
                        "UPDATE {} SET {column} = ? WHERE event = ? AND {column} = ?",
                        table.name
                    );
                    connection.execute(&sql, params![empty, event, text])?;
                }
            }
        }
    }
    Ok(())
}

fn all<T: rusqlite::types::FromSql>(connection: &Connection, sql: &str) -> Outcome<Vec<T>> {
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn add_runs(connection: &Connection) -> Outcome<()> {
    let sql = "SELECT run FROM intervals WHERE run NOT IN (SELECT run FROM runs) GROUP BY run ORDER BY run";
    for run in all::<u32>(connection, sql)? {
        let Some(number) = place_of_start(connection, run)? else {
            continue;
        };
        let started = start_of(connection, run)?;
        encode::insert_at(connection, number, &Event::RunStarted(started))?;
    }
    Ok(())
}

/// The event in front of the first interval of a run that may have been its start.
fn place_of_start(connection: &Connection, run: u32) -> Outcome<Option<i64>> {
    let sql = "SELECT min(event) FROM intervals WHERE run = ?";
    let first: i64 = connection.query_row(sql, [run], |row| row.get(0))?;
    let mut statement = connection.prepare(
        "SELECT kind, event IN (SELECT event FROM intervals) OR event IN (SELECT event FROM runs) FROM events
             WHERE event = ?",
    )?;
    for number in (1..first).rev() {
        let found: Option<(String, bool)> = statement
            .query_row([number], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        match found
            .as_ref()
            .map(|(kind, is_there)| (kind.as_str(), *is_there))
        {
            None | Some(("run_started", false)) => return Ok(Some(number)),
            Some(("interval", false) | ("remark" | "io_failure" | "data_written", _)) => {}
            Some(_) => return Ok(None),
        }
    }
    Ok(None)
}

fn start_of(connection: &Connection, run: u32) -> Outcome<RunStarted> {
    let sql =
        "SELECT end_ns - start_ns FROM intervals WHERE run = ? AND end_ns > start_ns GROUP BY 1
        ORDER BY count(*) DESC LIMIT 1";
    let length_ns: Option<i64> = connection
        .query_row(sql, [run], |row| row.get(0))
        .optional()?;
    let interval_ns = length_ns.map_or(1_000_000_000, i64::cast_unsigned);
    let sql = "SELECT min(unix_ns), sum(phase = 'warmup') FROM intervals WHERE run = ?";
    let (seen_ns, unmeasured): (i64, u32) =
        connection.query_row(sql, [run], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let sql = "SELECT coalesce(max(scheduled), 0) > 0 FROM stream_samples WHERE run = ?";
    let is_open_loop = connection.query_row(sql, [run], |row| row.get(0))?;
    let sql = "SELECT max(coalesce((SELECT max(runs_planned) FROM runs), 0), (SELECT max(run) + 1 FROM intervals))";
    let runs = connection.query_row(sql, [], |row| row.get(0))?;
    Ok(RunStarted {
        run,
        runs,
        name: format!("run {}", u64::from(run) + 1),
        kind: RunKind::Measure,
        unix_ns: seen_ns.cast_unsigned().saturating_sub(interval_ns),
        interval_ns,
        warmup_ns: 0,
        window_ns: None,
        unmeasured_intervals: unmeasured,
        load: Load::FlatOut,
        asked_rate: None,
        law: None,
        is_open_loop,
        pools: Vec::new(),
        streams: Vec::new(),
        expected_bytes: None,
        labels: Vec::new(),
        swept: Vec::new(),
    })
}

/// Event and number of each run that has a start.
fn runs(connection: &Connection) -> Outcome<Vec<(i64, u32)>> {
    let mut statement = connection.prepare("SELECT event, run FROM runs ORDER BY event")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn add_streams(connection: &Connection) -> Outcome<()> {
    for (event, run) in runs(connection)? {
        let sql = "SELECT 1 + max(coalesce((SELECT max(stream) FROM figures WHERE run = ?1), -1),
            coalesce((SELECT max(stream) FROM stream_samples WHERE run = ?1), -1),
            coalesce((SELECT max(stream) FROM streams WHERE event = ?2), -1))";
        let count: u32 = connection.query_row(sql, params![run, event], |row| row.get(0))?;
        for place in 0..count {
            let sql = "SELECT 1 FROM streams WHERE event = ? AND stream = ?";
            let mut there = connection.prepare_cached(sql)?;
            if there.exists(params![event, place])? {
                continue;
            }
            let sql = format!(
                "SELECT DISTINCT target FROM figures WHERE run = {run} AND stream = {place} ORDER BY target"
            );
            let stream = StreamInfo {
                name: format!("stream {}", place + 1),
                targets: all::<u32>(connection, &sql)?
                    .into_iter()
                    .map(TargetId)
                    .collect(),
                pool: 0,
                asked_rate: None,
                share_pct: 0.0,
                labels: Vec::new(),
                law: None,
            };
            encode::insert_stream(connection, event, place as usize, &stream)?;
        }
    }
    Ok(())
}

fn add_pools(connection: &Connection) -> Outcome<()> {
    for (event, run) in runs(connection)? {
        let of_run = "pool_samples WHERE event IN (SELECT event FROM intervals WHERE run = ?1)";
        let sql = format!(
            "SELECT 1 + max(coalesce((SELECT max(pool) FROM streams WHERE event = ?2), 0),
                coalesce((SELECT max(pool) FROM {of_run}), 0))"
        );
        let count: i64 = connection.query_row(&sql, params![run, event], |row| row.get(0))?;
        for place in 0..count {
            let sql = format!(
                "INSERT OR IGNORE INTO pools SELECT ?2, ?3, 'pool ' || (?3 + 1), coalesce(max(slots), 0) FROM
                     {of_run} AND pool = ?3"
            );
            connection.execute(&sql, params![run, event, place])?;
        }
    }
    Ok(())
}

fn add_execution(connection: &Connection) -> Outcome<()> {
    let is_there = connection.prepare("SELECT 1 FROM executions")?.exists([])?;
    let begins = connection.prepare("SELECT 1 FROM runs")?.exists([])?;
    if is_there || !begins {
        return Ok(());
    }
    let sql = "SELECT count(*) FROM events WHERE event = 1 AND kind != 'execution_started'";
    let taken: i64 = connection.query_row(sql, [], |row| row.get(0))?;
    let unix_ns: i64 =
        connection.query_row("SELECT min(unix_ns) FROM runs", [], |row| row.get(0))?;
    let started = ExecutionStarted {
        unix_ns: unix_ns.cast_unsigned(),
        time_zone: "UTC".to_owned(),
        ..ExecutionStarted::default()
    };
    // The new start brings its own.
    connection.execute("DELETE FROM hosts", [])?;
    encode::insert_at(connection, 1 - taken, &Event::ExecutionStarted(started))
}

fn add_targets(connection: &Connection) -> Outcome<()> {
    let first = connection
        .query_row(
            "SELECT event FROM executions ORDER BY event LIMIT 1",
            [],
            |row| row.get(0),
        )
        .optional()?;
    let Some(event): Option<i64> = first else {
        return Ok(());
    };
    let sql = "SELECT 1 + coalesce(max(target), -1) FROM (SELECT target FROM figures UNION ALL SELECT target FROM
        targets WHERE event = ?)";
    let count: i64 = connection.query_row(sql, [event], |row| row.get(0))?;
    let identity = serde_json::to_string(&TargetIdentity::default()).unwrap_or_default();
    for place in 0..count {
        let sql = "INSERT OR IGNORE INTO targets (event, target, name, path, size_bytes, is_written, identity_json, host)
            VALUES (?1, ?2, 'target ' || (?2 + 1), 'target ' || (?2 + 1), 0, 0, ?3, 0)";
        connection.execute(sql, params![event, place, identity])?;
    }
    Ok(())
}
