//! Readers of the job languages: text in, a neutral [`plan::Plan`] and diagnostics out.
//!
//! Nothing here opens a file, looks at a device or reads a clock: all of that comes in as an
//! [`Environment`]. What only the machine knows (sizes, what exists) is left symbolic for
//! `plan::bind`.
#![forbid(unsafe_code)]

mod environment;
mod explain;
pub mod fio;
mod lint;
mod machine_lints;
mod nearest;
mod parameter;
mod sink;
mod status;
mod text_bytes;
pub mod vdbench;

pub use environment::{
    CommandLine, Environment, Files, FormatOverride, MemoryFiles, NO_SUCH_FILE, Variable,
};
pub use explain::Explained;
pub use lint::{Lint, LintError, LintLevel, LintSelection, is_lint, lints};
pub use machine_lints::{
    Language, Limit, Limits, MachineFacts, ResultPlace, StorageFacts, machine_lints,
};
pub use nearest::{instead_of, meant, nearest, nearest_slip};
pub use parameter::{DefaultValue, Kind, Parameter};
pub use status::Status;
pub use text_bytes::{DATA_BYTES_MAX, TEXT_BYTES_MAX};
