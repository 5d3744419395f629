//! The layout of the file: every table and column, declared once. The statements that create,
//! fill and read a table are made from its declaration, so they cannot disagree.
//!
//! Integers of 64 bits without a sign are kept bit by bit in SQLite's signed ones: a seed above
//! 2^63 looks negative in a query.
use plan::Operation;
use rusqlite::Connection;
use std::path::{Path, PathBuf};

/// `PRAGMA application_id` of a result file: "FTHM" in ASCII.
pub const APPLICATION_ID: u32 = 0x4654_484d;

/// The oldest layout (`PRAGMA user_version`) that is read. Later ones add columns and tables, and change nothing else.
pub const OLDEST_VERSION: u32 = 10;

/// The layout that is written.
pub const SCHEMA_VERSION: u32 = 13;

/// Columns that came after the oldest layout, by table, with their type and the layout that brought them. They read as NULL
/// of older files.
const LATER: [(&str, &str, &str, u32); 8] = [
    ("streams", "host", INTEGER_OR_NULL, 11),
    ("intervals", "told_by", INTEGER_OR_NULL, 11),
    ("spans", "told_by", INTEGER_OR_NULL, 11),
    ("run_ends", "starts_json", TEXT_OR_NULL, 12),
    ("streams", "cache_mode", TEXT_OR_NULL, 13),
    ("samples", "pauses", BLOB_OR_NULL, 13),
    ("machine_samples", "fathom_read_bytes", INTEGER_OR_NULL, 13),
    (
        "machine_samples",
        "fathom_written_bytes",
        INTEGER_OR_NULL,
        13,
    ),
];

/// One table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    /// Name and type.
    pub(crate) columns: &'static [(&'static str, &'static str)],
    pub(crate) key: Key,
}

/// How the rows of an event are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// One row per event; the first column.
    Event,
    /// Several small rows, by the first two columns: event and place.
    EventAndPlace,
    /// Several large rows in the order in which they were written.
    EventIndexed,
}

const INTEGER: &str = "INTEGER NOT NULL";
const INTEGER_OR_NULL: &str = "INTEGER";
const REAL: &str = "REAL NOT NULL";
const REAL_OR_NULL: &str = "REAL";
const TEXT: &str = "TEXT NOT NULL";
const TEXT_OR_NULL: &str = "TEXT";
const BLOB: &str = "BLOB NOT NULL";
const BLOB_OR_NULL: &str = "BLOB";

pub(crate) const EVENTS: Table = Table {
    name: "events",
    columns: &[("event", INTEGER), ("kind", TEXT)],
    key: Key::Event,
};

pub(crate) const EXECUTIONS: Table = Table {
    name: "executions",
    columns: &[
        ("event", INTEGER),
        ("unix_ns", INTEGER),
        ("utc_offset_s", INTEGER),
        ("time_zone", TEXT),
        ("fathom_version", TEXT),
        ("arguments_json", TEXT),
        ("inputs_json", TEXT),
        ("plan_json", TEXT),
        ("seed", INTEGER),
        ("host_json", TEXT),
        ("backend", TEXT),
        ("backend_reason", TEXT),
        ("workers", INTEGER),
        ("clock", TEXT),
        ("labels_json", TEXT),
        ("reporting_json", TEXT),
        ("calibration_json", TEXT_OR_NULL),
        ("idle_json", TEXT_OR_NULL),
    ],
    key: Key::Event,
};

pub(crate) const TARGETS: Table = Table {
    name: "targets",
    columns: &[
        ("event", INTEGER),
        ("target", INTEGER),
        ("name", TEXT),
        ("path", TEXT),
        ("size_bytes", INTEGER),
        ("is_written", INTEGER),
        ("identity_json", TEXT),
        ("host", INTEGER),
        ("open_mode", TEXT_OR_NULL),
        ("hole_bytes", INTEGER_OR_NULL),
        ("sampled_blocks", INTEGER_OR_NULL),
        ("zero_blocks", INTEGER_OR_NULL),
    ],
    key: Key::EventAndPlace,
};

pub(crate) const EXECUTION_ENDS: Table = Table {
    name: "execution_ends",
    columns: &[
        ("event", INTEGER),
        ("unix_ns", INTEGER),
        ("reason", TEXT),
        ("reason_message", TEXT_OR_NULL),
    ],
    key: Key::Event,
};

pub(crate) const RUNS: Table = Table {
    name: "runs",
    columns: &[
        ("event", INTEGER),
        ("run", INTEGER),
        ("runs_planned", INTEGER),
        ("name", TEXT),
        ("kind", TEXT),
        ("unix_ns", INTEGER),
        ("interval_ns", INTEGER),
        ("warmup_ns", INTEGER),
        ("window_ns", INTEGER_OR_NULL),
        ("unmeasured_intervals", INTEGER),
        ("load_json", TEXT),
        ("asked_per_s", REAL_OR_NULL),
        ("is_open_loop", INTEGER),
        ("expected_bytes", INTEGER_OR_NULL),
        ("labels_json", TEXT),
        ("law", TEXT_OR_NULL),
        ("swept_json", TEXT_OR_NULL),
    ],
    key: Key::Event,
};

pub(crate) const POOLS: Table = Table {
    name: "pools",
    columns: &[
        ("event", INTEGER),
        ("pool", INTEGER),
        ("name", TEXT),
        ("slots", INTEGER),
    ],
    key: Key::EventAndPlace,
};

pub(crate) const STREAMS: Table = Table {
    name: "streams",
    columns: &[
        ("event", INTEGER),
        ("stream", INTEGER),
        ("name", TEXT),
        ("targets_json", TEXT),
        ("pool", INTEGER),
        ("asked_per_s", REAL_OR_NULL),
        ("share_pct", REAL),
        ("labels_json", TEXT),
        ("law", TEXT_OR_NULL),
        ("host", INTEGER_OR_NULL),
        ("cache_mode", TEXT_OR_NULL),
    ],
    key: Key::EventAndPlace,
};

pub(crate) const RUN_ENDS: Table = Table {
    name: "run_ends",
    columns: &[
        ("event", INTEGER),
        ("run", INTEGER),
        ("unix_ns", INTEGER),
        ("reason", TEXT),
        ("reason_message", TEXT_OR_NULL),
        ("first_measured", INTEGER),
        ("last_measured", INTEGER),
        ("scheduled", INTEGER),
        ("submitted", INTEGER),
        ("unsent", INTEGER),
        ("drain_ns", INTEGER),
        ("outstanding_json", TEXT),
        ("starts_json", TEXT_OR_NULL),
    ],
    key: Key::Event,
};

/// The columns of an interval after these.
macro_rules! with_interval_columns {
    ($($first:expr),*) => {
        &[
            $($first,)*
            ("run", INTEGER),
            ("interval", INTEGER),
            ("start_ns", INTEGER),
            ("end_ns", INTEGER),
            ("unix_ns", INTEGER),
            ("phase", TEXT),
            ("in_flight", INTEGER),
            ("oldest_in_flight_ns", INTEGER),
            ("workers", INTEGER),
            ("workers_cpu_ns", INTEGER),
            ("submit_calls", INTEGER),
            ("submit_ns", INTEGER),
            ("reaps", INTEGER),
            ("reap_gap_ns_sum", INTEGER),
            ("reap_gap_ns_max", INTEGER),
            ("wakeups", INTEGER),
            ("clamped", INTEGER),
            ("user_ns", INTEGER_OR_NULL),
            ("system_ns", INTEGER_OR_NULL),
            ("context_switches", INTEGER_OR_NULL),
            ("minor_faults", INTEGER_OR_NULL),
            ("major_faults", INTEGER_OR_NULL),
            ("cpu_wait_ns", INTEGER_OR_NULL),
            ("figures", INTEGER_OR_NULL),
            ("told_by", INTEGER_OR_NULL),
            ("operations", INTEGER_OR_NULL),
            ("bytes", INTEGER_OR_NULL),
            ("errors", INTEGER_OR_NULL),
            ("scheduled", INTEGER_OR_NULL),
            ("submitted", INTEGER_OR_NULL),
            ("backlog", INTEGER_OR_NULL),
            ("slots", INTEGER_OR_NULL),
            ("busy_ns", INTEGER_OR_NULL),
            ("exhausted_ns", INTEGER_OR_NULL),
            ("cpu_busy_ns", INTEGER_OR_NULL),
            ("cpu_total_ns", INTEGER_OR_NULL),
            ("service_ns_sum", INTEGER_OR_NULL),
            ("service_ns_max", INTEGER_OR_NULL),
            ("service_ns_p50", INTEGER_OR_NULL),
            ("service_ns_p90", INTEGER_OR_NULL),
            ("service_ns_p99", INTEGER_OR_NULL),
            ("service_ns_p999", INTEGER_OR_NULL),
            ("response_ns_sum", INTEGER_OR_NULL),
            ("response_ns_max", INTEGER_OR_NULL),
            ("response_ns_p50", INTEGER_OR_NULL),
            ("response_ns_p90", INTEGER_OR_NULL),
            ("response_ns_p99", INTEGER_OR_NULL),
            ("response_ns_p999", INTEGER_OR_NULL),
        ]
    };
}

pub(crate) const INTERVALS: Table = Table {
    name: "intervals",
    columns: with_interval_columns![("event", INTEGER)],
    key: Key::Event,
};

/// What several intervals add up to: a row as one of `intervals`, with the number of the last of them.
pub(crate) const SPANS: Table = Table {
    name: "spans",
    columns: with_interval_columns![
        ("event", INTEGER),
        ("level", TEXT),
        ("first_interval", INTEGER)
    ],
    key: Key::Event,
};

/// Per interval or span, host, stream, target and operation. What equals service is absent of response.
pub(crate) const COUNTS: Table = Table {
    name: "counts",
    columns: &[
        ("event", INTEGER),
        ("place", INTEGER),
        ("host", INTEGER),
        ("stream", INTEGER),
        ("target", INTEGER),
        ("operation", INTEGER),
        ("operations", INTEGER),
        ("bytes", INTEGER),
        ("errors", INTEGER),
        ("short_transfers", INTEGER),
        ("service_ns_sum", INTEGER),
        ("service_ns_max", INTEGER),
        ("service_ns_p50", INTEGER_OR_NULL),
        ("service_ns_p90", INTEGER_OR_NULL),
        ("service_ns_p99", INTEGER_OR_NULL),
        ("service_ns_p999", INTEGER_OR_NULL),
        ("response_ns_sum", INTEGER_OR_NULL),
        ("response_ns_max", INTEGER_OR_NULL),
        ("response_ns_p50", INTEGER_OR_NULL),
        ("response_ns_p90", INTEGER_OR_NULL),
        ("response_ns_p99", INTEGER_OR_NULL),
        ("response_ns_p999", INTEGER_OR_NULL),
        ("service_histogram", BLOB),
        ("response_histogram", BLOB_OR_NULL),
    ],
    key: Key::EventIndexed,
};

/// Per interval or span and host what streams, pools, workers, targets, devices and interfaces tell, packed by column.
pub(crate) const SAMPLES: Table = Table {
    name: "samples",
    columns: &[
        ("event", INTEGER),
        ("host", INTEGER),
        ("streams", BLOB_OR_NULL),
        ("pools", BLOB_OR_NULL),
        ("workers", BLOB_OR_NULL),
        ("targets", BLOB_OR_NULL),
        ("gaps", BLOB_OR_NULL),
        ("slow", BLOB_OR_NULL),
        ("device_names_json", TEXT_OR_NULL),
        ("device_states_json", TEXT_OR_NULL),
        ("devices", BLOB_OR_NULL),
        ("network_names_json", TEXT_OR_NULL),
        ("networks", BLOB_OR_NULL),
        ("mount_names_json", TEXT_OR_NULL),
        ("mounts", BLOB_OR_NULL),
        ("histograms", INTEGER),
        ("pauses", BLOB_OR_NULL),
    ],
    key: Key::EventAndPlace,
};

/// Histograms of streams and workers, as many as the row in `samples` says. In rows of their own, which share pages: a row
/// of many would leave the last page of each half empty.
pub(crate) const SAMPLE_HISTOGRAMS: Table = Table {
    name: "sample_histograms",
    columns: &[
        ("event", INTEGER),
        ("host", INTEGER),
        ("kind", TEXT),
        ("place", INTEGER),
        ("histogram", BLOB),
    ],
    key: Key::EventIndexed,
};

/// Per interval or span what each host as a whole did; no row where it did not tell.
pub(crate) const MACHINE_SAMPLES: Table = Table {
    name: "machine_samples",
    columns: &[
        ("event", INTEGER),
        ("host", INTEGER),
        ("cpu_user_ns", INTEGER_OR_NULL),
        ("cpu_nice_ns", INTEGER_OR_NULL),
        ("cpu_system_ns", INTEGER_OR_NULL),
        ("cpu_idle_ns", INTEGER_OR_NULL),
        ("cpu_io_wait_ns", INTEGER_OR_NULL),
        ("cpu_irq_ns", INTEGER_OR_NULL),
        ("cpu_softirq_ns", INTEGER_OR_NULL),
        ("cpu_steal_ns", INTEGER_OR_NULL),
        ("fathom_user_ns", INTEGER),
        ("fathom_system_ns", INTEGER),
        ("fathom_memory_bytes", INTEGER),
        ("throttled_ns", INTEGER_OR_NULL),
        ("throttled_periods", INTEGER_OR_NULL),
        ("busiest_softirq_ns", INTEGER_OR_NULL),
        ("pressure_cpu_some_ns", INTEGER_OR_NULL),
        ("pressure_io_some_ns", INTEGER_OR_NULL),
        ("pressure_io_full_ns", INTEGER_OR_NULL),
        ("pressure_memory_some_ns", INTEGER_OR_NULL),
        ("pressure_memory_full_ns", INTEGER_OR_NULL),
        ("io_max", TEXT_OR_NULL),
        ("temperature_mc", INTEGER_OR_NULL),
        ("tcp_sent", INTEGER_OR_NULL),
        ("tcp_retransmits", INTEGER_OR_NULL),
        ("fathom_read_bytes", INTEGER_OR_NULL),
        ("fathom_written_bytes", INTEGER_OR_NULL),
    ],
    key: Key::EventAndPlace,
};

/// The hosts of an execution.
pub(crate) const HOSTS: Table = Table {
    name: "hosts",
    columns: &[
        ("event", INTEGER),
        ("host", INTEGER),
        ("facts_json", TEXT),
        ("clock_offset_ns", INTEGER_OR_NULL),
        ("clock_error_ns", INTEGER_OR_NULL),
        ("calibration_json", TEXT_OR_NULL),
        ("idle_json", TEXT_OR_NULL),
    ],
    key: Key::EventAndPlace,
};

/// Attempts of operations that something kept from being made, and objects that operations went to.
pub(crate) const ATTEMPTS: Table = Table {
    name: "attempts",
    columns: &[
        ("event", INTEGER),
        ("place", INTEGER),
        ("host", INTEGER),
        ("stream", INTEGER),
        ("operation", INTEGER),
        ("blocked", INTEGER_OR_NULL),
        ("objects", INTEGER_OR_NULL),
    ],
    key: Key::EventAndPlace,
};

/// What somebody noted, or a command did, while a run went on.
pub(crate) const MARKS: Table = Table {
    name: "marks",
    columns: &[
        ("event", INTEGER),
        ("run", INTEGER_OR_NULL),
        ("host", INTEGER),
        ("unix_ns", INTEGER),
        ("word", TEXT),
        ("message", TEXT),
        ("command", TEXT_OR_NULL),
        ("output", TEXT_OR_NULL),
        ("exit_code", INTEGER_OR_NULL),
    ],
    key: Key::Event,
};

pub(crate) const WRITTEN_DATA: Table = Table {
    name: "written_data",
    columns: &[
        ("event", INTEGER),
        ("place", INTEGER),
        ("run", INTEGER),
        ("streams_json", TEXT),
        ("asked_compression", REAL_OR_NULL),
        ("asked_duplicates", REAL_OR_NULL),
        ("block_bytes", INTEGER),
        ("blocks", REAL),
        ("contents", REAL_OR_NULL),
        ("sampled_contents", INTEGER),
        ("sampled_bytes", INTEGER),
        ("compressed_bytes", INTEGER),
    ],
    key: Key::EventAndPlace,
};

pub(crate) const FAILURES: Table = Table {
    name: "failures",
    columns: &[
        ("event", INTEGER),
        ("run", INTEGER),
        ("unix_ns", INTEGER),
        ("stream", INTEGER),
        ("target", INTEGER),
        ("operation", INTEGER),
        ("offset_bytes", INTEGER),
        ("length_bytes", INTEGER),
        ("errno", INTEGER),
        ("message", TEXT),
        ("misfit_json", TEXT_OR_NULL),
        ("host", INTEGER),
        ("worker", INTEGER_OR_NULL),
    ],
    key: Key::Event,
};

pub(crate) const REMARKS: Table = Table {
    name: "remarks",
    columns: &[
        ("event", INTEGER),
        ("run", INTEGER_OR_NULL),
        ("unix_ns", INTEGER),
        ("severity", TEXT),
        ("code", TEXT),
        ("message", TEXT),
    ],
    key: Key::Event,
};

pub(crate) const HANDOVERS: Table = Table {
    name: "handovers",
    columns: &[
        ("event", INTEGER),
        ("stream", INTEGER),
        ("run", INTEGER),
        ("interval", INTEGER),
        ("depths_json", TEXT),
        ("submitted_together_json", TEXT),
        ("seen_together_json", TEXT),
        ("last_seen_ns", INTEGER),
    ],
    key: Key::EventAndPlace,
};

pub(crate) const SERVICE_PARTS: Table = Table {
    name: "service_parts",
    columns: &[
        ("event", INTEGER),
        ("stream", INTEGER),
        ("operation", INTEGER),
        ("submission_ns_sum", INTEGER),
        ("submission_ns_max", INTEGER),
        ("submission_histogram", BLOB),
        ("completion_ns_sum", INTEGER),
        ("completion_ns_max", INTEGER),
        ("completion_histogram", BLOB),
        ("priority", INTEGER),
        ("service_ns_sum", INTEGER),
        ("service_ns_max", INTEGER),
        ("service_histogram", BLOB),
    ],
    key: Key::EventIndexed,
};

pub(crate) const TABLES: [Table; 22] = [
    EVENTS,
    SPANS,
    COUNTS,
    SAMPLES,
    SAMPLE_HISTOGRAMS,
    MACHINE_SAMPLES,
    HOSTS,
    ATTEMPTS,
    MARKS,
    EXECUTIONS,
    TARGETS,
    EXECUTION_ENDS,
    RUNS,
    POOLS,
    STREAMS,
    RUN_ENDS,
    INTERVALS,
    FAILURES,
    REMARKS,
    HANDOVERS,
    SERVICE_PARTS,
    WRITTEN_DATA,
];

/// What the list of events calls a sum of intervals, which is no event of its own.
pub(crate) const SPAN_KIND: &str = "span";

/// Tables with at least one row for each event of a kind.
pub(crate) const KINDS: [(&Table, &str); 9] = [
    (&INTERVALS, "interval"),
    (&SPANS, SPAN_KIND),
    (&FAILURES, "io_failure"),
    (&REMARKS, "remark"),
    (&RUNS, "run_started"),
    (&RUN_ENDS, "run_finished"),
    (&WRITTEN_DATA, "data_written"),
    (&EXECUTIONS, "execution_started"),
    (&EXECUTION_ENDS, "execution_finished"),
];

/// The numbers of operations in `figures` and `failures`, so that a file explains itself.
pub(crate) const OPERATIONS: &str = "operations";

/// What people most often ask of a file. Syncs move no data: they count among the errors only.
const INTERVAL_RATES: &str = "CREATE VIEW interval_rates AS
    SELECT i.run, r.name, i.interval, i.phase, i.operations,
        i.operations * 1e9 / (i.end_ns - i.start_ns) AS operations_per_s,
        i.bytes * 1e9 / (i.end_ns - i.start_ns) AS bytes_per_s,
        i.errors,
        i.service_ns_sum * 1.0 / nullif(i.operations, 0) AS service_ns_mean,
        i.response_ns_sum * 1.0 / nullif(i.operations, 0) AS response_ns_mean,
        i.service_ns_max, i.service_ns_p50, i.service_ns_p90, i.service_ns_p99, i.service_ns_p999,
        i.response_ns_max, i.response_ns_p50, i.response_ns_p90, i.response_ns_p99, i.response_ns_p999
    FROM intervals i JOIN runs r ON r.run = i.run";

/// The figures of intervals, and those of spans, with all that a row of `counts` leaves out.
fn figure_view(name: &str, more: &str, of: &str) -> String {
    let response = |column: &str| {
        format!(
            "iif(c.response_ns_sum IS NULL, c.service_ns_{column}, c.response_ns_{column}) AS response_ns_{column}"
        )
    };
    let response = ["sum", "max", "p50", "p90", "p99", "p999"]
        .map(response)
        .join(", ");
    format!(
        "CREATE VIEW {name} AS SELECT c.event, i.run, {more}i.interval, c.host, c.stream, c.target, c.operation,
            c.operations, c.bytes, c.errors, c.short_transfers, c.service_ns_sum, c.service_ns_max, c.service_ns_p50,
            c.service_ns_p90, c.service_ns_p99, c.service_ns_p999, c.service_histogram, {response},
            c.response_histogram
        FROM counts c JOIN {of} i ON i.event = c.event"
    )
}

impl Table {
    fn create(&self) -> String {
        let columns: Vec<String> = self
            .columns
            .iter()
            .enumerate()
            .map(|(place, (name, kind))| match (place, self.key) {
                (0, Key::Event) => format!("{name} INTEGER PRIMARY KEY"),
                _ => format!("{name} {kind}"),
            })
            .collect();
        let columns = columns.join(", ");
        let name = self.name;
        match self.key {
            Key::Event => format!("CREATE TABLE {name} ({columns})"),
            Key::EventAndPlace => {
                let place = self.columns[1].0;
                format!(
                    "CREATE TABLE {name} ({columns}, PRIMARY KEY (event, {place})) WITHOUT ROWID"
                )
            }
            Key::EventIndexed => format!(
                "CREATE TABLE {name} ({columns}); CREATE INDEX {name}_by_event ON {name} (event)"
            ),
        }
    }

    /// A statement that takes all columns in order.
    pub(crate) fn insert(&self) -> String {
        let places = vec!["?"; self.columns.len()].join(", ");
        let names: Vec<&str> = self.columns.iter().map(|(name, _)| *name).collect();
        let names = names.join(", ");
        format!("INSERT INTO {} ({names}) VALUES ({places})", self.name)
    }

    /// A statement that yields all columns in order for the rows of one event in a file of this layout.
    pub(crate) fn select(&self, version: u32) -> String {
        let is_later = |column: &str| {
            let later = |(table, name, _, since): &(&str, &str, &str, u32)| {
                *table == self.name && *name == column && version < *since
            };
            LATER.iter().any(later)
        };
        let name = |(name, _): &(&'static str, &str)| match is_later(name) {
            true => "NULL",
            false => *name,
        };
        let names: Vec<&str> = self.columns.iter().map(name).collect();
        let order = match self.key {
            Key::Event => "event",
            Key::EventAndPlace => self.columns[1].0,
            Key::EventIndexed => "rowid",
        };
        let names = names.join(", ");
        format!(
            "SELECT {names} FROM {} WHERE event = ? ORDER BY {order}",
            self.name
        )
    }
}

/// Lays out an empty file in one transaction.
pub(crate) fn create(connection: &Connection) -> rusqlite::Result<()> {
    let mut statements = vec!["BEGIN IMMEDIATE".to_owned()];
    statements.extend(TABLES.iter().map(Table::create));
    statements.extend(operations());
    statements.push(INTERVAL_RATES.to_owned());
    statements.push(figure_view("figures", "", INTERVALS.name));
    let span_columns = "i.level, i.first_interval, ";
    statements.push(figure_view("span_figures", span_columns, SPANS.name));
    statements.push(format!("PRAGMA application_id = {APPLICATION_ID}"));
    statements.push(format!("PRAGMA user_version = {SCHEMA_VERSION}"));
    statements.push("COMMIT".to_owned());
    connection.execute_batch(&statements.join(";\n"))
}

/// Gives a file of an earlier layout the columns that came later. The caller holds a transaction.
pub(crate) fn raise(connection: &Connection) -> rusqlite::Result<()> {
    let version: u32 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    for (table, column, kind, _) in LATER.iter().filter(|(.., since)| version < *since) {
        connection.execute_batch(&format!("ALTER TABLE {table} ADD COLUMN {column} {kind}"))?;
    }
    connection.pragma_update(None, "user_version", SCHEMA_VERSION)
}

fn operations() -> Vec<String> {
    let mut statements = Vec::new();
    statements.push(format!(
        "CREATE TABLE {OPERATIONS} (operation INTEGER PRIMARY KEY, name TEXT NOT NULL)"
    ));
    for operation in Operation::ALL {
        statements.push(format!(
            "INSERT INTO {OPERATIONS} VALUES ({}, '{}')",
            operation_number(operation),
            operation.name()
        ));
    }
    statements
}

/// The number of an operation in files that this version writes; readers ask the file itself.
pub(crate) fn operation_number(operation: Operation) -> u32 {
    operation as u32
}

/// Where SQLite keeps what is committed and not yet in the file itself.
pub(crate) fn log_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}
