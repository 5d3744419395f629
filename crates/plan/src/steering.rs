//! What surrounds and steers the runs of an execution: commands, repetition, a file to stop by, and
//! what a failed operation leads to.
use crate::ids::{RunId, TargetId};
use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What belongs to an execution as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Steering {
    /// Before the first run.
    pub before: Vec<Command>,
    /// Behind the last run, or the one that failed; not when the user ends the execution.
    pub after: Vec<Command>,
    pub around: Vec<Around>,
    pub repeat: Repeat,
    /// What each run waits for, preparations too.
    #[serde(default)]
    pub readiness: Option<Readiness>,
    /// A file whose first line, once somebody writes it, ends the run or the execution with the
    /// interval that is going.
    pub stop_file: Option<PathBuf>,
    pub failures: FailureRule,
    #[serde(default)]
    pub shares: Option<ShareRule>,
    #[serde(default)]
    pub hang: Option<HangRule>,
    /// Files that are taken away behind the last run, those only that the execution has made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove_made: Vec<TargetId>,
}

/// Ends the execution behind a run at a given rate that missed the shares asked of its streams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShareRule {
    /// The largest distance that is fine, in percentage points of all operations.
    pub distance_pct_max: f64,
    /// Streams with the same value of this label count together.
    pub label: String,
}

/// Ends the execution once an operation has been in flight for too long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HangRule {
    pub after: Nanos,
    /// Run before the execution ends, with `$lun`, `$lba` and `$size` of the oldest one.
    pub command: Option<String>,
}

/// Commands around each of some runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Around {
    /// In ascending order.
    pub runs: Vec<RunId>,
    pub before: Vec<Command>,
    pub after: Vec<Command>,
}

/// A command line for the shell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    pub text: String,
    pub output: CommandOutput,
    /// It runs on each host that does the work around which it stands, and otherwise where the execution is led.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_hosts: bool,
}

/// Where the lines go that a command prints; the record has them in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandOutput {
    #[default]
    Log,
    Summary,
    Console,
}

/// A command line that has to end with code 0 before a run begins. It is tried again until it does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Readiness {
    pub command: String,
    /// The execution fails when no try has succeeded within this time, which bounds each try too.
    pub at_most: Nanos,
}

/// How often all runs are carried out. Preparations are not repeated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repeat {
    #[default]
    Once,
    Times(u32),
    /// Until this much time has passed at the end of a pass.
    For(Nanos),
    Endless,
}

/// What a failed operation leads to, besides being counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureRule {
    /// Ends the execution once this much time has passed since the last one.
    pub quiet: Option<Nanos>,
    /// Run at the first one, with `$lun`, `$lba` and `$size`; then the execution ends.
    pub command: Option<String>,
    /// The target is not used any more by the run.
    pub drops_target: bool,
}

impl Steering {
    /// The commands before and behind a run.
    pub fn of_run(&self, id: RunId) -> (&[Command], &[Command]) {
        self.around
            .iter()
            .find(|around| around.runs.binary_search(&id).is_ok())
            .map_or((&[], &[]), |around| (&around.before, &around.after))
    }

    /// Every command with when it is run, in that order.
    pub fn commands(&self) -> Vec<(When, &Command)> {
        let mut all: Vec<(When, &Command)> = Vec::new();
        all.extend(self.before.iter().map(|command| (When::BeforeAll, command)));
        for (at, around) in self.around.iter().enumerate() {
            let before = around.before.iter();
            all.extend(before.map(|command| (When::BeforeEach(at), command)));
            let after = around.after.iter();
            all.extend(after.map(|command| (When::AfterEach(at), command)));
        }
        all.extend(self.after.iter().map(|command| (When::AfterAll, command)));
        all
    }
}

/// When a command is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    BeforeAll,
    /// Before each run of this place in [`Steering::around`].
    BeforeEach(usize),
    AfterEach(usize),
    AfterAll,
}
