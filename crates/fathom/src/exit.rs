//! The exit codes, in one table. `docs/reference/exit-codes.md` explains them.
use std::process::ExitCode;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Fine,
    /// The run failed, or operations failed.
    Failed,
    /// In the manner of fio: so many jobs failed.
    JobsFailed(u8),
    /// The command line or a job file is refused.
    Usage,
    /// The overwrite guard refused a target.
    Guard,
    /// The user stopped it.
    Stopped,
    /// All was carried out, and the number cannot be believed.
    Doubtful,
    /// A comparison is beyond a bar.
    Beyond,
    /// Whether it is cannot be told.
    Unsure,
}

/// Ends so, and says why.
pub fn fail(exit: Exit, message: &str) -> Exit {
    errln!("error: {message}");
    exit
}

impl Exit {
    pub fn code(self) -> u8 {
        match self {
            Exit::Fine => 0,
            Exit::Failed => 1,
            Exit::JobsFailed(jobs) => jobs.max(1),
            Exit::Usage => 2,
            Exit::Guard => 3,
            Exit::Stopped => 4,
            Exit::Doubtful => 5,
            Exit::Beyond => 6,
            Exit::Unsure => 7,
        }
    }

    /// What is said last where no error was printed; nothing where all is fine.
    pub fn meaning(self) -> Option<&'static str> {
        match self {
            Exit::Fine => None,
            Exit::Failed | Exit::JobsFailed(_) => Some("this failed"),
            Exit::Usage => Some("the command line or a file is refused"),
            Exit::Guard => Some("a target is refused"),
            Exit::Stopped => Some("stopped by the user"),
            Exit::Doubtful => Some("--strict: the figures cannot be believed, as the verdict says"),
            Exit::Beyond => Some("--fail-if: the change is too much"),
            Exit::Unsure => Some("--fail-if-unsure: whether the change is too much cannot be told"),
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}
