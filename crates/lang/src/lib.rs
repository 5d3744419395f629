//! Readers of the job languages: text in, a neutral [`plan::Plan`] and diagnostics out.
//!
//! Nothing here opens a file, looks at a device or reads a clock: all of that comes in as an
//! [`Environment`]. What only the machine knows (sizes, what exists) is left symbolic for
//! `plan::bind`.
#![forbid(unsafe_code)]

mod environment;
pub mod fio;
mod lint;
mod nearest;
mod sink;
mod status;
mod text_bytes;
pub mod vdbench;

pub use environment::{
    CommandLine, Environment, Files, FormatOverride, MemoryFiles, NO_SUCH_FILE, Variable,
};
pub use lint::{Lint, LintError, LintLevel, LintSelection};
pub use status::Status;
pub use text_bytes::{DATA_BYTES_MAX, TEXT_BYTES_MAX};
