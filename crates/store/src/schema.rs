//! The layout of the file: every table and column, declared once. The statements that create,
//! fill and read a table are made from its declaration, so they cannot disagree.
//!
//! Integers of 64 bits without a sign are kept bit by bit in SQLite's signed ones: a seed above
//! 2^63 looks negative in a query.
use plan::Operation;
use rusqlite::Connection;
use rusqlite::types::Value;
use std::path::{Path, PathBuf};

/// `PRAGMA application_id` of a result file: "FTHM" in ASCII.
pub const APPLICATION_ID: u32 = 0x4654_484d;

/// Layout versions (`PRAGMA user_version`) and why each came.
pub const SCHEMA_VERSIONS: &[(u32, &str)] = &[
    (
        1,
        "first layout: one row per event, its details in tables of their own",
    ),
    (2, "`runs` tells the law of arrivals"),
    (
        3,
        "what worker threads used, merged requests of devices, and how operations were handed over",
    ),
    (4, "what was sent: how much of it repeats and compresses"),
    (5, "the measured time of streams that have their own"),
    (6, "what was wrong with data that were read"),
    (7, "the depth of streams that look for one"),
    (
        8,
        "service times by priority, where single operations have one",
    ),
    (9, "the whole service time by priority, beside its parts"),
    (10, "how long worker threads waited for a CPU"),
];

/// Tables that came after the first layout, and with which.
const LATER_TABLES: &[(&str, u32)] = &[
    (WORKER_USAGE.name, 3),
    (HANDOVERS.name, 3),
    (SERVICE_PARTS.name, 3),
    (DEVICE_MERGES.name, 3),
    (WRITTEN_DATA.name, 4),
];

/// The version that is written.
pub const SCHEMA_VERSION: u32 = SCHEMA_VERSIONS[SCHEMA_VERSIONS.len() - 1].0;

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

/// Columns that files of an older layout lack: table, column, the version that brought it, and what
/// stands for it when such a file is read, in SQL. They are declared in their tables as any other.
const LATER: &[(&str, &str, u32, &str)] = &[
    ("runs", "law", 2, "NULL"),
    ("stream_samples", "measured_from_ns", 5, "NULL"),
    ("stream_samples", "measured_to_ns", 5, "NULL"),
    ("failures", "misfit_json", 6, "NULL"),
    ("stream_samples", "depth", 7, "NULL"),
    ("service_parts", "priority", 8, "0"),
    ("service_parts", "service_ns_sum", 9, "0"),
    ("service_parts", "service_ns_max", 9, "0"),
    ("service_parts", "service_histogram", 9, "x''"),
    ("worker_usage", "cpu_wait_ns", 10, "NULL"),
];

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
    ],
    key: Key::Event,
};

pub(crate) const INTERVALS: Table = Table {
    name: "intervals",
    columns: &[
        ("event", INTEGER),
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
    ],
    key: Key::Event,
};

pub(crate) const FIGURES: Table = Table {
    name: "figures",
    columns: &[
        ("event", INTEGER),
        ("run", INTEGER),
        ("interval", INTEGER),
        ("stream", INTEGER),
        ("target", INTEGER),
        ("operation", INTEGER),
        ("operations", INTEGER),
        ("bytes", INTEGER),
        ("errors", INTEGER),
        ("short_transfers", INTEGER),
        ("service_ns_sum", INTEGER),
        ("service_ns_max", INTEGER),
        ("service_histogram", BLOB),
        ("response_ns_sum", INTEGER),
        ("response_ns_max", INTEGER),
        ("response_histogram", BLOB_OR_NULL),
    ],
    key: Key::EventIndexed,
};

pub(crate) const STREAM_SAMPLES: Table = Table {
    name: "stream_samples",
    columns: &[
        ("event", INTEGER),
        ("run", INTEGER),
        ("interval", INTEGER),
        ("stream", INTEGER),
        ("scheduled", INTEGER),
        ("submitted", INTEGER),
        ("backlog", INTEGER),
        ("lateness_ns_sum", INTEGER),
        ("lateness_ns_max", INTEGER),
        ("lateness_histogram", BLOB),
        ("unserved_age_ns_sum", INTEGER),
        ("unserved_age_ns_max", INTEGER),
        ("unserved_age_histogram", BLOB),
        ("measured_from_ns", INTEGER_OR_NULL),
        ("measured_to_ns", INTEGER_OR_NULL),
        ("depth", INTEGER_OR_NULL),
    ],
    key: Key::EventIndexed,
};

pub(crate) const POOL_SAMPLES: Table = Table {
    name: "pool_samples",
    columns: &[
        ("event", INTEGER),
        ("pool", INTEGER),
        ("slots", INTEGER),
        ("busy_ns", INTEGER),
        ("exhausted_ns", INTEGER),
    ],
    key: Key::EventAndPlace,
};

pub(crate) const HOST_SAMPLES: Table = Table {
    name: "host_samples",
    columns: &[
        ("event", INTEGER),
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
    ],
    key: Key::Event,
};

pub(crate) const DEVICE_SAMPLES: Table = Table {
    name: "device_samples",
    columns: &[
        ("event", INTEGER),
        ("place", INTEGER),
        ("device", TEXT),
        ("reads", INTEGER),
        ("read_bytes", INTEGER),
        ("read_ns", INTEGER),
        ("writes", INTEGER),
        ("written_bytes", INTEGER),
        ("write_ns", INTEGER),
        ("discards", INTEGER),
        ("flushes", INTEGER),
        ("busy_ns", INTEGER),
        ("weighted_ns", INTEGER),
    ],
    key: Key::EventAndPlace,
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

pub(crate) const WORKER_USAGE: Table = Table {
    name: "worker_usage",
    columns: &[
        ("event", INTEGER),
        ("user_ns", INTEGER),
        ("system_ns", INTEGER),
        ("context_switches", INTEGER),
        ("minor_faults", INTEGER),
        ("major_faults", INTEGER),
        ("cpu_wait_ns", INTEGER_OR_NULL),
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

pub(crate) const DEVICE_MERGES: Table = Table {
    name: "device_merges",
    columns: &[
        ("event", INTEGER),
        ("place", INTEGER),
        ("read_merges", INTEGER),
        ("write_merges", INTEGER),
    ],
    key: Key::EventAndPlace,
};

pub(crate) const TABLES: [Table; 21] = [
    EVENTS,
    EXECUTIONS,
    TARGETS,
    EXECUTION_ENDS,
    RUNS,
    POOLS,
    STREAMS,
    RUN_ENDS,
    INTERVALS,
    FIGURES,
    STREAM_SAMPLES,
    POOL_SAMPLES,
    HOST_SAMPLES,
    DEVICE_SAMPLES,
    FAILURES,
    REMARKS,
    WORKER_USAGE,
    HANDOVERS,
    SERVICE_PARTS,
    DEVICE_MERGES,
    WRITTEN_DATA,
];

/// Tables with at least one row for each event of a kind.
pub(crate) const KINDS: [(&Table, &str); 8] = [
    (&INTERVALS, "interval"),
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
    SELECT i.run, r.name, i.interval, i.phase,
        coalesce(sum(f.operations), 0) AS operations,
        coalesce(sum(f.operations), 0) * 1e9 / (i.end_ns - i.start_ns) AS operations_per_s,
        coalesce(sum(f.bytes), 0) * 1e9 / (i.end_ns - i.start_ns) AS bytes_per_s,
        coalesce((SELECT sum(e.errors) FROM figures e WHERE e.event = i.event), 0) AS errors,
        sum(f.service_ns_sum) * 1.0 / nullif(sum(f.operations), 0) AS service_ns_mean,
        sum(f.response_ns_sum) * 1.0 / nullif(sum(f.operations), 0) AS response_ns_mean,
        max(f.service_ns_max) AS service_ns_max,
        max(f.response_ns_max) AS response_ns_max
    FROM intervals i JOIN runs r ON r.run = i.run LEFT JOIN figures f ON f.event = i.event
        AND f.operation NOT IN (SELECT operation FROM operations WHERE name IN ('sync', 'data_sync', 'range_sync'))
    GROUP BY i.event";

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

    /// The first version that has this table.
    pub(crate) fn since(&self) -> u32 {
        let later = LATER_TABLES.iter().find(|(name, _)| *name == self.name);
        later.map_or(1, |(_, version)| *version)
    }

    /// How many of its last columns came after the first layout.
    pub(crate) fn later_columns(&self) -> usize {
        let of_this = LATER.iter().filter(|(table, ..)| *table == self.name);
        of_this.count()
    }

    /// What stands in a column that a file of an older layout lacks.
    pub(crate) fn absent(&self, column: &str) -> Value {
        let of_this =
            |(table, later, ..): &&(&str, &str, u32, &str)| *table == self.name && *later == column;
        match LATER.iter().find(of_this) {
            Some((.., "0")) => Value::Integer(0),
            _ => Value::Null,
        }
    }

    /// A statement that takes all columns in order.
    pub(crate) fn insert(&self) -> String {
        let places = vec!["?"; self.columns.len()].join(", ");
        format!("INSERT INTO {} VALUES ({places})", self.name)
    }

    /// A statement that yields all columns in order for the rows of one event, from a file of this
    /// layout version.
    pub(crate) fn select(&self, version: u32) -> String {
        let in_file = |column: &'static str| {
            let later = LATER.iter().find(|(table, later, since, _)| {
                *table == self.name && *later == column && *since > version
            });
            later.map_or(column, |(.., absent)| absent)
        };
        let names: Vec<&str> = self.columns.iter().map(|(name, _)| in_file(name)).collect();
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
    statements.push(INTERVAL_RATES.to_owned());
    statements.push(format!("PRAGMA application_id = {APPLICATION_ID}"));
    statements.push(format!("PRAGMA user_version = {SCHEMA_VERSION}"));
    statements.push("COMMIT".to_owned());
    connection.execute_batch(&statements.join(";\n"))
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
