//! What is asked of a machine between a plan and its first I/O, and what it tells: the same of this machine and of one at
//! the far end of a line.
use measure::{ExecutionTarget, HostFacts, HostId};
use plan::{BoundPlan, Diagnostic, Facts, Plan, Severity, TargetId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// A machine that is asked for its part of a job. It is asked in this order, and each step once.
pub trait Machine {
    /// What the targets of a host of the plan are there.
    ///
    /// # Errors
    /// When it does not answer.
    fn facts(&mut self, plan: &Plan, host: HostId) -> Result<Facts, Refusal>;

    /// Looks whether it can do its part of an order, and at the targets, which it claims.
    ///
    /// # Errors
    /// All that stands against it.
    fn examine(&mut self, order: &Order) -> Result<Examined, Refusal>;

    /// Grants what it has examined, where these words allow it.
    ///
    /// # Errors
    /// All that stands against it.
    fn grant(&mut self, overwrite: &[String]) -> Result<Ready, Refusal>;
}

/// What a machine is to do of a plan.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Order {
    pub plan: Arc<BoundPlan>,
    /// As it was bound when the execution began that goes on: the machine counts what runs need over all of them.
    pub earlier: Option<Arc<BoundPlan>>,
    /// Its place in the plan.
    pub host: HostId,
    /// What the user asked for, as on the command line.
    pub backend: Option<String>,
    pub workers: Option<u32>,
    /// How long a line may be silent, in nanoseconds: then no I/O goes on.
    pub silence_ns: u64,
    /// Of the execution: what is written differs from what any other writes.
    pub nonce: u64,
    /// Words of the user that may name a target there.
    pub overwrite: Vec<String>,
    /// The levels of lints, as on the command line, and the language whose words they speak.
    pub lints: Vec<String>,
    pub language: String,
    /// Where the results go, on the machine that leads; `None` on others.
    pub results: Option<PathBuf>,
}

/// What a look at a machine has found that refuses nothing by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Examined {
    /// Words of the order that name no target there.
    pub unused: Vec<String>,
    /// Whether its part touches storage at all.
    pub reaches_storage: bool,
    /// What lints say of the machine.
    pub found: Vec<Diagnostic>,
}

/// A machine that is ready for the first run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Ready {
    pub facts: HostFacts,
    /// The targets that it reaches.
    pub targets: Vec<(TargetId, ExecutionTarget)>,
    /// Of what is measured, in words, and why.
    pub backend: String,
    pub backend_reason: String,
    /// Of the run that has most.
    pub workers: u32,
    /// What the user should know before the first run.
    pub notes: Vec<(Severity, String)>,
    /// What the standing list of the user let pass there, for the record.
    pub passed: Vec<String>,
}

/// What stands against a job on a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    pub reasons: Vec<Reason>,
    /// What lints say of the machine at the level of errors.
    pub found: Vec<Diagnostic>,
    /// What the user should know beside that.
    pub notes: Vec<(Severity, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    pub kind: ReasonKind,
    /// One or more lines; the last one says what to do.
    pub text: String,
    /// The word of `--overwrite` that would let it pass, with the host in front where there are several.
    pub word: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReasonKind {
    /// The job does not fit the machine, or the machine is not reached.
    Misfit,
    /// A target cannot be used.
    Unusable,
    /// A target may not be used by this user.
    LacksRight,
    /// The guard protects what a target holds.
    Protected,
    /// A file system has no room for what would be written.
    NoRoom,
}

impl ReasonKind {
    /// Whether the guard refuses; otherwise the job does not fit the machine.
    pub fn is_guard(self) -> bool {
        matches!(self, Self::Protected | Self::NoRoom)
    }
}

impl Refusal {
    /// Of a job that does not fit.
    pub fn misfit(text: impl Into<String>) -> Self {
        Self {
            reasons: vec![Reason {
                kind: ReasonKind::Misfit,
                text: text.into(),
                word: None,
            }],
            ..Self::default()
        }
    }
}

/// What streams of a run have written, as files keep it, by their places in the whole run; `None` for one of too many blocks.
pub type StatesOfRun = BTreeMap<usize, Option<String>>;

/// What streams have written, from the machines that know to whoever keeps it: it is there when the end of a run is told.
#[derive(Clone, Debug, Default)]
pub struct States(Arc<Mutex<StatesOfRun>>);

impl States {
    pub fn add(&self, states: StatesOfRun) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend(states);
    }

    /// Those of the run that has ended.
    #[must_use]
    pub fn take(&self) -> StatesOfRun {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
