//! Appends events: the caller hands them to a queue, one thread writes and commits them. A disk that does not answer holds
//! up only that thread: what is appended meanwhile is kept in memory, and after [`ANSWER_TIMEOUT`] the disk is given up.
use crate::encode;
use crate::error::{Problem, StoreError};
use crate::queue::{ANSWER_TIMEOUT, Queue, Refusal};
use crate::reader::{self, Reader};
use crate::schema;
use crate::whole;
use measure::{Event, SpanFold};
use rusqlite::{Connection, ErrorCode, OpenFlags, params};
use std::cell::Cell;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Records the events of one execution.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    queue: Arc<Queue<Message>>,
    thread: Option<JoinHandle<()>>,
    failure: Failure,
}

#[derive(Debug)]
pub(crate) enum Message {
    Event(Arc<Event>),
    /// Answered when everything before it is committed, or cannot be.
    Flush(SyncSender<()>),
}

/// The first error of the recording thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failure(Arc<Mutex<Option<StoreError>>>);

impl Writer {
    /// Creates the file and begins to record. A result that is there already is kept under the next
    /// free name (`result.1.fathom` …).
    ///
    /// # Errors
    /// [`StoreError::NotAResult`] when the path holds anything else, which is left alone;
    /// [`StoreError::InUse`] when the result there is being written or read.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::create_limited(path.as_ref(), None)
    }

    /// The same with a bound on the pages of the file, to test what happens when space runs out.
    pub(crate) fn create_limited(path: &Path, max_pages: Option<u32>) -> Result<Self, StoreError> {
        set_aside(path)?;
        refuse_siblings(path)?;
        let blank = blank().map_err(|problem| problem.at(path))?;
        whole::place(path, &blank).map_err(|error| StoreError::access(path, &error))?;
        let connection = prepare(path, max_pages).map_err(|problem| {
            // It was made above and holds nothing yet; whatever stands in the way of removing it,
            // the first problem is the one to tell.
            let _ = std::fs::remove_file(path);
            problem.at(path)
        })?;
        Self::begin(path, connection)
    }

    /// Opens an earlier result to go on behind its first `kept` events; the ones behind them leave
    /// the file. As it was, it is kept under the next free name (`result.1.fathom` …).
    ///
    /// Killed in the middle of this, the file holds all of its events or the first `kept`.
    ///
    /// # Errors
    /// [`StoreError::InUse`] while another process writes or reads it, and what a reader refuses.
    pub fn go_on(path: impl AsRef<Path>, kept: u64) -> Result<Self, StoreError> {
        let path = path.as_ref();
        Reader::open(path)?;
        merge_log_alone(path)?;
        let copy = reserve_name(path)?;
        std::fs::copy(path, &copy).map_err(|error| StoreError::access(&copy, &error))?;
        let connection = shorten(path, kept).map_err(|problem| problem.at(path))?;
        Self::begin(path, connection)
    }

    fn begin(path: &Path, connection: Connection) -> Result<Self, StoreError> {
        Self::begin_by(path, ANSWER_TIMEOUT, move |messages, path, failure| {
            record(connection, messages, path, failure);
        })
    }

    /// By a recording thread that does as told.
    pub(crate) fn begin_by(
        path: &Path,
        timeout: Duration,
        record: impl FnOnce(&Queue<Message>, &Path, &Failure) + Send + 'static,
    ) -> Result<Self, StoreError> {
        let (queue, failure) = (Arc::new(Queue::new(timeout)), Failure::default());
        let thread = {
            let (own_path, failure) = (path.to_owned(), failure.clone());
            let ending = Ending(Arc::clone(&queue));
            std::thread::Builder::new()
                .name("store".into())
                .spawn(move || record(&ending.0, &own_path, &failure))
                .map_err(|error| StoreError::access(path, &error))
        };
        Ok(Self {
            path: path.to_owned(),
            queue,
            thread: Some(thread?),
            failure,
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Hands an event over; waits only while the queue is full and the disk answers.
    ///
    /// # Errors
    /// The error that ended the recording, at the first call after it is known and at every one
    /// after that.
    pub fn append(&self, event: &Event) -> Result<(), StoreError> {
        self.append_shared(Arc::new(event.clone()))
    }

    /// As [`Writer::append`], of an event that others hold as well.
    ///
    /// # Errors
    /// As [`Writer::append`].
    pub fn append_shared(&self, event: Arc<Event>) -> Result<(), StoreError> {
        self.send(Message::Event(event))
    }

    /// Waits until everything appended so far is committed.
    ///
    /// # Errors
    /// As [`Writer::append`].
    pub fn flush(&self) -> Result<(), StoreError> {
        let (answer, answered) = sync_channel(1);
        self.send(Message::Flush(answer))?;
        // A thread that ended has dropped its side, and has left the reason.
        let answer = Cell::new(Err(TryRecvError::Empty));
        let is_over = || {
            answer.set(answered.try_recv());
            answer.get() != Err(TryRecvError::Empty)
        };
        let waited = self.queue.wait_for(is_over, |_, _| {});
        waited.map_err(|refusal| self.refused(refusal))?;
        let is_answered = answer.get().or_else(|_| answered.try_recv()).is_ok();
        match self.failure.get() {
            Some(error) => Err(error),
            None if is_answered => Ok(()),
            None => Err(self.ended()),
        }
    }

    /// For how long the disk has not answered what was to be written last, and how many more events wait.
    pub fn unanswered(&self) -> (Duration, usize) {
        self.queue.unanswered()
    }

    /// Commits what is left and leaves one file without a log beside it. When somebody has the file
    /// open for reading just then, the log (`-wal`) stays and belongs to the file.
    ///
    /// # Errors
    /// As [`Writer::append`].
    pub fn finish(self) -> Result<(), StoreError> {
        self.finish_watched(|_, _| {})
    }

    /// The same; `watch` is told several times a second what [`Writer::unanswered`] says.
    ///
    /// # Errors
    /// As [`Writer::append`].
    pub fn finish_watched(mut self, watch: impl FnMut(Duration, usize)) -> Result<(), StoreError> {
        self.close(watch);
        self.failure.get().map_or(Ok(()), Err)
    }

    fn send(&self, message: Message) -> Result<(), StoreError> {
        if let Some(error) = self.failure.get() {
            return Err(error);
        }
        let sent = self.queue.put(message);
        sent.map_err(|refusal| self.refused(refusal))
    }

    /// A disk that was given up stays so, even if it answers later: what was appended meanwhile is not all there.
    fn refused(&self, refusal: Refusal) -> StoreError {
        match refusal {
            Refusal::Unanswered => {
                let path = self.path.clone();
                self.failure.set(StoreError::Unanswered { path });
            }
            Refusal::Ended => {}
        }
        self.failure.get().unwrap_or_else(|| self.ended())
    }

    fn ended(&self) -> StoreError {
        StoreError::Ended {
            path: self.path.clone(),
        }
    }

    fn close(&mut self, watch: impl FnMut(Duration, usize)) {
        self.queue.close();
        let Some(thread) = self.thread.take() else {
            return;
        };
        let is_given_up = || matches!(self.failure.get(), Some(StoreError::Unanswered { .. }));
        let waited = self.queue.wait_for(is_given_up, watch);
        if let Err(refusal) = waited {
            self.refused(refusal);
        }
        // A thread that waits for the disk in the kernel cannot be ended.
        if !is_given_up() && thread.join().is_err() {
            self.failure.set(self.ended());
        }
    }
}

/// What was appended is committed also when the caller forgets to finish.
impl Drop for Writer {
    fn drop(&mut self) {
        self.close(|_, _| {});
    }
}

/// Nobody waits for a thread that has ended, however it did.
struct Ending(Arc<Queue<Message>>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Failure {
    fn get(&self) -> Option<StoreError> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn set(&self, error: StoreError) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(error);
    }
}

/// A result file without events. It is laid out in memory, so that the file always tells what it is.
fn blank() -> Result<Vec<u8>, Problem> {
    let mut connection = Connection::open_in_memory()?;
    schema::create(&connection)?;
    Ok(connection.serialize("main")?.to_vec())
}

/// Opens the file and turns on its write-ahead log.
fn prepare(path: &Path, max_pages: Option<u32>) -> Result<Connection, Problem> {
    let connection = open_to_write(path)?;
    set_up(&connection)?;
    if let Some(pages) = max_pages {
        connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
    }
    Ok(connection)
}

/// Opens a result and removes all but its first `kept` events, in one transaction.
fn shorten(path: &Path, kept: u64) -> Result<Connection, Problem> {
    let connection = open_to_write(path)?;
    set_up(&connection)?;
    let sql = "SELECT coalesce(max(event), -1) FROM (SELECT event FROM events WHERE kind != ?
            ORDER BY event LIMIT ?)";
    let bounds = params![schema::SPAN_KIND, kept.cast_signed()];
    let last: i64 = connection.query_row(sql, bounds, |row| row.get(0))?;
    connection.execute_batch("BEGIN IMMEDIATE")?;
    for table in &schema::TABLES {
        let sql = format!("DELETE FROM {} WHERE event > ?", table.name);
        connection.execute(&sql, [last])?;
    }
    schema::raise(&connection)?;
    connection.execute_batch("COMMIT")?;
    Ok(connection)
}

fn set_up(connection: &Connection) -> Result<(), Problem> {
    // Turning on the log changes one page. A journal of that would be one more file which a killed process leaves.
    journal(connection, "MEMORY")?;
    if journal(connection, "WAL")? != "wal" {
        // Where a log is not possible (shared memory on some network file systems), SQLite stays with
        // its rollback journal, which is as safe and slower.
        journal(connection, "DELETE")?;
    }
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.set_prepared_statement_cache_capacity(schema::TABLES.len());
    Ok(())
}

/// The mode that the journal has then.
fn journal(connection: &Connection, mode: &str) -> rusqlite::Result<String> {
    connection.pragma_update_and_check(None, "journal_mode", mode, |row| row.get(0))
}

fn open_to_write(path: &Path) -> Result<Connection, Problem> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(connection)
}

/// Gives an earlier result another name; refuses anything else.
fn set_aside(path: &Path) -> Result<(), StoreError> {
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(StoreError::access(path, &error)),
        Ok(facts) if !facts.is_file() => {
            return Err(StoreError::NotAResult {
                path: path.to_owned(),
                reason: "it is not a regular file; choose another output folder".into(),
            });
        }
        Ok(_) => {}
    }
    reader::check_header(path)?;
    merge_log_alone(path)?;
    let free = reserve_name(path)?;
    std::fs::rename(path, free).map_err(|error| StoreError::access(path, &error))
}

/// Refuses files without a result that SQLite would take for parts of the new one.
fn refuse_siblings(path: &Path) -> Result<(), StoreError> {
    for suffix in ["-wal", "-shm", "-journal"] {
        let mut sibling = path.as_os_str().to_owned();
        sibling.push(suffix);
        if std::fs::symlink_metadata(&sibling).is_ok() {
            return Err(StoreError::NotAResult {
                path: sibling.into(),
                reason: "it would be overwritten; move it away or choose another output folder"
                    .into(),
            });
        }
    }
    Ok(())
}

/// Takes the log that a killed process left into the file it belongs to. That needs the file alone,
/// so a result that is being written is never touched.
fn merge_log_alone(path: &Path) -> Result<(), StoreError> {
    let merged = open_to_write(path).and_then(|connection| {
        connection.busy_timeout(Duration::ZERO)?;
        Ok(merge_log(&connection)?)
    });
    merged.map_err(|problem| problem.at(path))
}

/// Makes an empty file under the first free name of `name.1.ext`, `name.2.ext` …
fn reserve_name(path: &Path) -> Result<PathBuf, StoreError> {
    let stem = path.file_stem().unwrap_or_default();
    for number in 1_u32.. {
        let mut name = stem.to_owned();
        name.push(format!(".{number}"));
        if let Some(extension) = path.extension() {
            name.push(".");
            name.push(extension);
        }
        let candidate = path.with_file_name(name);
        match OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&candidate)
        {
            Ok(_) => return Ok(candidate),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(StoreError::access(&candidate, &error)),
        }
    }
    Err(StoreError::Access {
        path: path.to_owned(),
        reason: "no free name for the earlier result".into(),
    })
}

/// Brings everything into the file itself and removes the log.
fn merge_log(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()))
}

/// The recording thread.
fn record(connection: Connection, messages: &Queue<Message>, path: &Path, failure: &Failure) {
    let (mut is_open, mut spans) = (false, SpanFold::default());
    loop {
        let message = messages.try_next().or_else(|| {
            let committed = commit(&connection, &mut is_open);
            keep_first(committed, &connection, path, failure);
            messages.next()
        });
        let Some(message) = message else { break };
        // After an error the queue is still emptied, so that nobody waits for it.
        match message {
            Message::Event(_) if failure.get().is_some() => {}
            Message::Event(event) => {
                let written = write(&connection, &event, &mut spans, &mut is_open);
                keep_first(written, &connection, path, failure);
            }
            Message::Flush(answer) => {
                if failure.get().is_none() {
                    keep_first(
                        commit(&connection, &mut is_open),
                        &connection,
                        path,
                        failure,
                    );
                }
                // The one who asked may have gone.
                let _ = answer.send(());
            }
        }
    }
    if failure.get().is_none() {
        let closed = commit(&connection, &mut is_open).and_then(|()| close(&connection));
        keep_first(closed, &connection, path, failure);
    }
}

fn write(
    connection: &Connection,
    event: &Event,
    spans: &mut SpanFold,
    is_open: &mut bool,
) -> Result<(), Problem> {
    if !*is_open {
        connection.execute_batch("BEGIN IMMEDIATE")?;
        *is_open = true;
    }
    // What ends a span comes after it.
    for (level, span) in spans.fold(event) {
        encode::insert_span(connection, level, &span)?;
    }
    encode::insert(connection, event)?;
    // Failures can come in thousands; they are committed together, at the latest when the queue
    // is empty.
    match event {
        Event::IoFailure(_) => Ok(()),
        _ => commit(connection, is_open),
    }
}

fn commit(connection: &Connection, is_open: &mut bool) -> Result<(), Problem> {
    if *is_open {
        connection.execute_batch("COMMIT")?;
        *is_open = false;
    }
    Ok(())
}

fn close(connection: &Connection) -> Result<(), Problem> {
    match merge_log(connection) {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Ok(()),
        other => Ok(other?),
    }
}

/// Remembers an error and undoes what was half done.
fn keep_first(
    result: Result<(), Problem>,
    connection: &Connection,
    path: &Path,
    failure: &Failure,
) {
    if let Err(problem) = result {
        failure.set(problem.at(path));
        // SQLite may have rolled back by itself already; then this fails, which is as well.
        let _ = connection.execute_batch("ROLLBACK");
    }
}
