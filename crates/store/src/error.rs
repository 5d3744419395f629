//! What can go wrong with a result file, told so that a user can act on it.
use rusqlite::ErrorCode;
use std::fmt;
use std::path::{Path, PathBuf};

/// Why a result file could not be written or read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreError {
    /// No room for more; what was recorded before stays readable.
    Full { path: PathBuf, recorded_bytes: u64 },
    /// The file holds something else, or nothing.
    NotAResult { path: PathBuf, reason: String },
    /// The file follows a layout that this version does not know.
    UnknownVersion { path: PathBuf, version: u32 },
    /// Another process has the file open.
    InUse { path: PathBuf },
    /// A result file whose content contradicts itself.
    Damaged { path: PathBuf, reason: String },
    /// An event with a value that no file can hold, such as a rate that is not a number.
    Unrepresentable { path: PathBuf, reason: String },
    /// The file system refuses.
    Access { path: PathBuf, reason: String },
    /// The disk of the file does not answer.
    Unanswered { path: PathBuf },
    /// The recording thread is gone.
    Ended { path: PathBuf },
}

/// An error that does not know its file yet.
#[derive(Debug)]
pub(crate) enum Problem {
    Sql(rusqlite::Error),
    Damaged(String),
    Unrepresentable(String),
}

pub(crate) type Outcome<T> = Result<T, Problem>;

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path().display();
        match self {
            Self::Full {
                recorded_bytes: 0, ..
            } => write!(
                f,
                "no room for result file `{path}`; free some space or choose another output folder"
            ),
            Self::Full { recorded_bytes, .. } => write!(
                f,
                "no room left for result file `{path}` after {recorded_bytes} bytes; what was \
                 recorded until then is kept; free some space or choose another output folder"
            ),
            Self::NotAResult { reason, .. } => write!(f, "`{path}` is not a result file: {reason}"),
            Self::UnknownVersion { version, .. } if *version < crate::OLDEST_VERSION => write!(
                f,
                "`{path}` has layout version {version}, this program reads versions from {} on; \
                 use the program that wrote the file, or run the job again",
                crate::OLDEST_VERSION
            ),
            Self::UnknownVersion { version, .. } => write!(
                f,
                "`{path}` has layout version {version}, this program knows up to {}; use a newer one",
                crate::SCHEMA_VERSION
            ),
            Self::InUse { .. } => write!(
                f,
                "result file `{path}` is in use by another process; wait for it or choose another \
                 output folder"
            ),
            Self::Damaged { reason, .. } => write!(
                f,
                "result file `{path}` is damaged: {reason}; `sqlite3 {path} .recover` may show more of it"
            ),
            Self::Unrepresentable { reason, .. } => {
                write!(f, "result file `{path}` cannot hold {reason}")
            }
            Self::Access { reason, .. } => write!(f, "result file `{path}`: {reason}"),
            Self::Unanswered { .. } => write!(
                f,
                "the disk of result file `{path}` has not answered for {} s; what was recorded \
                 until then is kept",
                crate::queue::ANSWER_TIMEOUT.as_secs()
            ),
            Self::Ended { .. } => write!(f, "recording to `{path}` has ended"),
        }
    }
}

impl std::error::Error for StoreError {}

impl StoreError {
    /// The file in question.
    pub fn path(&self) -> &Path {
        match self {
            Self::Full { path, .. }
            | Self::NotAResult { path, .. }
            | Self::UnknownVersion { path, .. }
            | Self::InUse { path }
            | Self::Damaged { path, .. }
            | Self::Unrepresentable { path, .. }
            | Self::Access { path, .. }
            | Self::Unanswered { path }
            | Self::Ended { path } => path,
        }
    }

    /// What is wrong, without the name of the file where that is possible.
    pub(crate) fn reason(self) -> String {
        match self {
            Self::Damaged { reason, .. }
            | Self::NotAResult { reason, .. }
            | Self::Unrepresentable { reason, .. }
            | Self::Access { reason, .. } => reason,
            other => other.to_string(),
        }
    }

    pub(crate) fn access(path: &Path, error: &std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::StorageFull {
            return Self::Full {
                path: path.to_owned(),
                recorded_bytes: recorded_bytes(path),
            };
        }
        Self::Access {
            path: path.to_owned(),
            reason: error.to_string(),
        }
    }
}

impl Problem {
    /// The same for a given file.
    pub(crate) fn at(self, path: &Path) -> StoreError {
        let path = path.to_owned();
        match self {
            Self::Sql(error) => from_sql(&error, path),
            Self::Damaged(reason) => StoreError::Damaged { path, reason },
            Self::Unrepresentable(reason) => StoreError::Unrepresentable { path, reason },
        }
    }
}

impl From<rusqlite::Error> for Problem {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

fn from_sql(error: &rusqlite::Error, path: PathBuf) -> StoreError {
    use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType};
    let reason = error.to_string();
    match (error.sqlite_error_code(), error) {
        (Some(ErrorCode::DiskFull), _) => StoreError::Full {
            recorded_bytes: recorded_bytes(&path),
            path,
        },
        // The index of the write-ahead log could not grow: SQLite names a full file system as the
        // cause (result code documentation, SQLITE_IOERR_SHMSIZE).
        (Some(ErrorCode::SystemIoFailure), rusqlite::Error::SqliteFailure(failure, _))
            if failure.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE =>
        {
            StoreError::Full {
                recorded_bytes: recorded_bytes(&path),
                path,
            }
        }
        (Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked), _) => {
            StoreError::InUse { path }
        }
        (Some(ErrorCode::OperationInterrupted), _) => StoreError::Damaged {
            path,
            reason: "reading it takes more work than its size explains".into(),
        },
        (Some(ErrorCode::TooBig), _) => StoreError::Damaged { path, reason },
        (Some(ErrorCode::NotADatabase), _) => StoreError::NotAResult { path, reason },
        (Some(ErrorCode::DatabaseCorrupt | ErrorCode::Unknown), _) => {
            StoreError::Damaged { path, reason }
        }
        (
            None,
            FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..),
        ) => StoreError::Damaged { path, reason },
        (None, _) => StoreError::Damaged { path, reason },
        (Some(_), _) => StoreError::Access { path, reason },
    }
}

/// Bytes of the file and of its write-ahead log.
pub(crate) fn recorded_bytes(path: &Path) -> u64 {
    let bytes = |path: &Path| std::fs::metadata(path).map_or(0, |facts| facts.len());
    bytes(path) + bytes(&crate::schema::log_path(path))
}
