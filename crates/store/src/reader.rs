//! Reads a result file: one that is complete, one whose execution was killed, or one that is being
//! written at this moment. Changes nothing.
use crate::decode::Decoder;
use crate::error::{Outcome, Problem, StoreError, recorded_bytes};
use crate::schema::{self, APPLICATION_ID, OLDEST_VERSION, OPERATIONS, SCHEMA_VERSION};
use crate::words;
use measure::{Event, Interval, SpanLevel};
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, params};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// The longest text or blob that is read; SQLite would take a gigabyte.
const VALUE_BYTES_MAX: i32 = 512 << 20;
/// Work of SQLite between two looks at the budget.
const WORK_STEP: i32 = 100_000;
/// Steps that any file may take, and steps for each of its bytes: some fifty times what reports need.
const WORK_BASE: u64 = 100_000_000;
const WORK_PER_BYTE: u64 = 256;
/// Files up to this size are checked as a whole before a report.
const CHECKED_BYTES_MAX: u64 = 64 << 20;
/// A row takes more than this.
const ROW_BYTES_MIN: u64 = 4;
/// An event takes more than this: a row in `events`, and one of its own.
const EVENT_BYTES_MIN: u64 = 32;

/// An open result file.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    connection: Connection,
    decoder: Decoder,
    /// Goes after the connection that uses it.
    _copy: Option<Copy>,
}

/// What the head of a file says of its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Whole,
    CutOff,
}

/// The events of a file in their order.
///
/// An event that cannot be read is an error, and the iteration goes on behind it.
#[derive(Debug)]
pub struct Events<'a> {
    reader: &'a Reader,
    last: i64,
    is_over: bool,
}

/// A copy of a file in a folder of its own, which goes with it.
#[derive(Debug)]
struct Copy {
    folder: PathBuf,
}

impl Reader {
    /// Opens a result file. One whose execution was killed has a log (`-wal`) beside it, which is
    /// read with it; where the folder cannot be written, which reading a log takes, a copy is read.
    ///
    /// # Errors
    /// [`StoreError::Access`] when it is not there or may not be read, [`StoreError::NotAResult`]
    /// for something else, [`StoreError::UnknownVersion`] for one of another layout,
    /// [`StoreError::Damaged`] when it is cut off or contradicts itself.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        check_header(path)?;
        Self::of_file(path, Form::Whole)
    }

    /// Opens a file that may be damaged, and says how, if that is plain before its events are read.
    pub(crate) fn open_damaged(path: &Path) -> Result<(Self, Option<String>), StoreError> {
        match check_header(path) {
            Ok(()) => {
                let reader = Self::of_file(path, Form::Whole)?;
                let damage = find_damage(&reader, path);
                Ok((reader, damage))
            }
            Err(StoreError::Damaged { reason, .. }) => {
                Ok((Self::of_file(path, Form::CutOff)?, Some(reason)))
            }
            Err(error) => Err(error),
        }
    }

    fn of_file(path: &Path, form: Form) -> Result<Self, StoreError> {
        let (connection, copy) = connect_or_copy(path, form)?;
        let bytes = recorded_bytes(path);
        check_version(&connection, path)?;
        let decoder = check_tables(&connection)
            .and_then(|()| Decoder::new(&connection, bytes / ROW_BYTES_MIN))
            .map_err(|problem| problem.at(path))?;
        connection.set_prepared_statement_cache_capacity(2 * schema::TABLES.len());
        Ok(Self {
            path: path.to_owned(),
            connection,
            decoder,
            _copy: copy,
        })
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The event with this number.
    pub(crate) fn event(&self, number: i64, kind: &str) -> Outcome<Event> {
        self.decoder.event(&self.connection, number, kind)
    }

    /// The sum of intervals with this number.
    pub(crate) fn span(&self, number: i64) -> Outcome<Interval> {
        self.decoder.span(&self.connection, number)
    }

    /// How many intervals a run has.
    pub(crate) fn intervals_of(&self, run: u32) -> Outcome<u64> {
        let sql = "SELECT count(*) FROM intervals WHERE run = ?";
        let count: i64 = self.connection.query_row(sql, [run], |row| row.get(0))?;
        Ok(count.cast_unsigned())
    }

    /// The spans of a run at one level: event, first and last interval.
    pub(crate) fn spans_of(&self, run: u32, level: SpanLevel) -> Outcome<Vec<(i64, u32, u32)>> {
        let sql = "SELECT event, first_interval, interval FROM spans WHERE run = ? AND level = ? ORDER BY event";
        let mut statement = self.connection.prepare_cached(sql)?;
        let level = words::span_level(level);
        let rows = statement.query_map(params![run, level], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The events of the intervals of a run that lie in some of these spans, in order.
    pub(crate) fn events_of_intervals(
        &self,
        run: u32,
        spans: &[(i64, u32, u32)],
    ) -> Outcome<Vec<i64>> {
        let sql = "SELECT event, interval FROM intervals WHERE run = ? ORDER BY event";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([run])?;
        let (mut events, mut spans) = (Vec::new(), spans.iter().peekable());
        while let Some(row) = rows.next()? {
            let (event, interval): (i64, u32) = (row.get(0)?, row.get(1)?);
            while spans.next_if(|(_, _, last)| *last < interval).is_some() {}
            if spans.peek().is_some_and(|(_, first, _)| *first <= interval) {
                events.push(event);
            }
        }
        Ok(events)
    }

    /// No file of this size holds more events.
    pub(crate) fn events_max(&self) -> u64 {
        recorded_bytes(&self.path) / EVENT_BYTES_MIN
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All events in the order in which they were appended.
    pub fn events(&self) -> Events<'_> {
        Events {
            reader: self,
            last: i64::MIN,
            is_over: false,
        }
    }

    /// Whether the execution came to its end, in whatever way, and said so. Of a killed one, and of
    /// one that is still going, the file holds every interval that was committed.
    ///
    /// # Errors
    /// [`StoreError::Damaged`].
    pub fn is_complete(&self) -> Result<bool, StoreError> {
        let sql = format!("SELECT 1 FROM {} LIMIT 1", schema::EXECUTION_ENDS.name);
        let found = self.connection.query_row(&sql, [], |_| Ok(())).optional();
        found
            .map(|found| found.is_some())
            .map_err(|error| Problem::from(error).at(&self.path))
    }

    /// That every start of the execution and of a run can be read.
    fn check_starts(&self) -> Outcome<()> {
        let sql =
            "SELECT event, kind FROM events WHERE kind IN ('execution_started', 'run_started')";
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (event, kind): (i64, String) = (row.get(0)?, row.get(1)?);
            self.event(event, &kind)?;
        }
        Ok(())
    }

    /// Number and kind of the event behind `last`.
    pub(crate) fn after(&self, last: i64) -> Outcome<Option<(i64, String)>> {
        let sql = "SELECT event, kind FROM events WHERE event > ? ORDER BY event LIMIT 1";
        let mut statement = self.connection.prepare_cached(sql)?;
        let found = statement
            .query_row([last], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        match found {
            Some((event, _)) if event <= last => {
                Err(Problem::Damaged("its events are out of order".into()))
            }
            other => Ok(other),
        }
    }
}

impl Iterator for Events<'_> {
    type Item = Result<Event, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let reader = self.reader;
        let event = match reader.after(self.last) {
            Ok(None) => {
                self.is_over = true;
                return None;
            }
            Ok(Some((number, kind))) => {
                self.last = number;
                if kind == schema::SPAN_KIND {
                    return self.next();
                }
                reader.decoder.event(&reader.connection, number, &kind)
            }
            Err(problem) => {
                self.is_over = true;
                Err(problem)
            }
        };
        Some(event.map_err(|problem| problem.at(&reader.path)))
    }
}

/// Checks from its first bytes that a file is a whole result file, before SQLite sees it.
pub(crate) fn check_header(path: &Path) -> Result<(), StoreError> {
    let access = |error| StoreError::access(path, &error);
    // A pipe would keep an opener waiting.
    let found = std::fs::metadata(path).map_err(access)?;
    if !found.is_file() {
        return Err(not_a_result(path, "it is not a regular file"));
    }
    // Files of the kernel, which have no length, may keep a reader waiting.
    if found.len() == 0 {
        return Err(not_a_result(path, "it is empty"));
    }
    let file = File::open(path).map_err(access)?;
    let facts = file.metadata().map_err(access)?;
    let mut header = Vec::new();
    file.take(100).read_to_end(&mut header).map_err(access)?;
    if header.is_empty() {
        return Err(not_a_result(path, "it is empty"));
    }
    if header.len() < 100 || !header.starts_with(MAGIC) {
        return Err(not_a_result(path, "it is not an SQLite database"));
    }
    let word = |at: usize| word(&header, at);
    if word(68) != APPLICATION_ID {
        return Err(not_a_result(
            path,
            "it is an SQLite database of another program",
        ));
    }
    // Offset 28 (SQLite file format, section 1.3): pages.
    let whole_bytes = page_bytes(&header) * u64::from(word(28));
    // With a log the first page may already tell of pages that only the log holds.
    if facts.len() < whole_bytes && !schema::log_path(path).exists() {
        return Err(StoreError::Damaged {
            path: path.to_owned(),
            reason: format!("it is cut off after {} of {whole_bytes} bytes", facts.len()),
        });
    }
    Ok(())
}

/// Offset 16 (SQLite file format, section 1.3): page size, with 1 for 65536.
fn page_bytes(header: &[u8]) -> u64 {
    match word(header, 16) >> 16 {
        1 => 65_536,
        bytes => u64::from(bytes),
    }
}

fn word(header: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
}

fn not_a_result(path: &Path, reason: &str) -> StoreError {
    StoreError::NotAResult {
        path: path.to_owned(),
        reason: reason.to_owned(),
    }
}

fn connect_or_copy(path: &Path, form: Form) -> Result<(Connection, Option<Copy>), StoreError> {
    match connect(path, form) {
        Ok(connection) => Ok((connection, None)),
        Err(problem) if needs_a_copy(&problem) => {
            let copy = Copy::of(path).map_err(|error| StoreError::access(path, &error))?;
            let connection = connect(&copy.file(), form).map_err(|problem| problem.at(path))?;
            Ok((connection, Some(copy)))
        }
        Err(problem) => Err(problem.at(path)),
    }
}

/// What is wrong with a file that can be opened: a start without which nothing that follows can be shown, or what SQLite
/// finds.
fn find_damage(reader: &Reader, path: &Path) -> Option<String> {
    let torn = reader.check_starts().err();
    torn.map(|problem| problem.at(path).reason())
        .or_else(|| check_pages(reader, path))
}

/// What SQLite finds wrong with a file that it can open: pages that do not fit together, indexes that
/// miss rows. Large files are not looked at: this reads all of them.
fn check_pages(reader: &Reader, path: &Path) -> Option<String> {
    if recorded_bytes(path) > CHECKED_BYTES_MAX {
        return None;
    }
    let found = reader
        .connection
        .query_row("PRAGMA integrity_check(1)", [], |row| {
            row.get::<_, String>(0)
        });
    match found {
        Ok(word) if word == "ok" => None,
        Ok(words) => Some(
            words
                .replace(['\n', '\r'], " ")
                .trim_start_matches('*')
                .trim()
                .to_owned(),
        ),
        Err(error) => Some(Problem::from(error).at(path).reason()),
    }
}

fn connect(path: &Path, form: Form) -> Outcome<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    // A file may come from anywhere: its schema is not to run anything, its pages are checked.
    // SQLite reads a file that is shorter than it should be only where a schema may be written; nothing is, as the
    // file is open for reading alone.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, form == Form::Whole)?;
    connection.set_db_config(
        DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA,
        form == Form::CutOff,
    )?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX)?;
    // Pages that refer to each other in circles would keep a query busy for ever.
    let budget = WORK_BASE.saturating_add(recorded_bytes(path).saturating_mul(WORK_PER_BYTE));
    let mut done = 0_u64;
    let is_too_much = move || {
        done += WORK_STEP.unsigned_abs() as u64;
        done > budget
    };
    connection.progress_handler(WORK_STEP, Some(is_too_much))?;
    // The first access; opening alone touches nothing.
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(connection)
}

fn needs_a_copy(problem: &Problem) -> bool {
    let Problem::Sql(error) = problem else {
        return false;
    };
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied)
    )
}

fn check_version(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let version: u32 = connection
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .map_err(|error| Problem::from(error).at(path))?;
    if (OLDEST_VERSION..=SCHEMA_VERSION).contains(&version) {
        return Ok(());
    }
    Err(StoreError::UnknownVersion {
        path: path.to_owned(),
        version,
    })
}

/// That every table is a table and no view, whose query could be anything, and that all of its columns are stored.
fn check_tables(connection: &Connection) -> Outcome<()> {
    let mut statement = connection.prepare(
        "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?1 AND sql NOT \
             LIKE 'create virtual%' AND NOT EXISTS (SELECT 1 FROM pragma_table_xinfo(?1) WHERE \
             hidden != 0)",
    )?;
    let names = schema::TABLES
        .iter()
        .map(|table| table.name)
        .chain([OPERATIONS]);
    for name in names {
        let tables: i64 = statement.query_row([name], |row| row.get(0))?;
        if tables != 1 {
            return Err(Problem::Damaged(format!("table `{name}` is missing")));
        }
    }
    Ok(())
}

impl Copy {
    fn folder() -> std::io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let name = format!("fathom-{}-{number}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            match std::fs::DirBuilder::new().mode(0o700).create(&folder) {
                Ok(()) => return Ok(Self { folder }),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn of(path: &Path) -> std::io::Result<Self> {
        let copy = Self::folder()?;
        copy.fill(path)?;
        Ok(copy)
    }

    fn fill(&self, path: &Path) -> std::io::Result<()> {
        std::fs::copy(path, self.file())?;
        let log = schema::log_path(path);
        if log.exists() {
            std::fs::copy(log, schema::log_path(&self.file()))?;
        }
        Ok(())
    }

    fn file(&self) -> PathBuf {
        self.folder.join("result.fathom")
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // A folder that stays behind in the place for temporary things does no harm.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
