//! How far a parameter of a job language is supported.
use std::fmt;

/// What becomes of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Honoured,
    /// Understood, and done in another way, which the note explains.
    Translated(&'static str),
    /// Read, checked and listed; refused by a run before its first I/O.
    CheckOnly,
    /// Refused, for this reason.
    Refused(&'static str),
}

impl fmt::Display for Status {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Status::Honoured => out.write_str("honoured"),
            Status::Translated(note) => write!(out, "translated: {note}"),
            Status::CheckOnly => out.write_str("check only"),
            Status::Refused(reason) => write!(out, "refused: {reason}"),
        }
    }
}
