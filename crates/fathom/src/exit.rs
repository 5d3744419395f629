//! The exit codes, in one table. `docs/reference/exit-codes.md` explains them.
use std::process::ExitCode;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Fine,
    /// The run failed, or operations failed.
    Failed,
    /// The command line or a job file is refused.
    Usage,
    /// The overwrite guard refused a target.
    Guard,
    /// The user stopped it.
    Stopped,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(match exit {
            Exit::Fine => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Guard => 3,
            Exit::Stopped => 4,
        })
    }
}
