//! The result file `result.fathom`: a SQLite database, one per execution, to which the events of
//! the execution are appended while it runs, and from which they are read again in order. Every
//! report is computed from what is in it. Knows events, not what they mean; read [`Writer`] first.
//!
//! What survives what:
//! - A process killed while it makes the file leaves no file or a whole one.
//! - A killed process loses nothing that was committed. The writer commits at every event but
//!   failures of single operations, and at those as soon as its queue is empty.
//! - A crashed machine may lose the commits of the last seconds (`synchronous=NORMAL`), never the
//!   file.
//! - A full disk ends the recording with [`StoreError::Full`]; what was committed stays readable.
//!
//! The tables are described in `docs/reference/result-file.md`.
#![forbid(unsafe_code)]

mod coder;
mod columns;
mod decode;
mod encode;
mod error;
mod latency;
#[cfg(test)]
#[path = "../../sys/tests/lab/named.rs"]
mod named;
mod queue;
mod reader;
mod salvage;
mod sample;
mod schema;
mod whole;
mod words;
mod writer;

pub use error::StoreError;
pub use queue::ANSWER_TIMEOUT;
pub use reader::{Events, Reader};
pub use salvage::{Loss, Salvage};
pub use schema::{APPLICATION_ID, OLDEST_VERSION, SCHEMA_VERSION};
pub use writer::Writer;

#[cfg(test)]
mod tests;
