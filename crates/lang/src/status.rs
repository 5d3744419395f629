//! How far a parameter of a job language is supported.

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
