//! Carries a bound plan through: start barrier, absolute interval tick, stop rules over the whole
//! run, set-points, and asking `analysis` what is next. Every happening leaves as one
//! [`measure::Event`]. No async, no output formats, no job languages.
//!
//! Read [`execute`] first; [`Crew`] is what it needs: a [`Clock`], [`Commands`] and a [`Host`]. [`LocalHost`] is this machine,
//! [`SimulatedHost`] one in simulated time.
#![forbid(unsafe_code)]

mod control;
mod execution;
mod heartbeat;
mod judge;
mod local;
pub mod machine;
mod part;
mod readiness;
mod simulated;
mod sinks;
mod steer;
mod tick;

pub use control::{Control, Haste, News};
pub use execution::{Done, Outcome, SinkError, execute, go_on};
pub use local::{CommandSettings, Keeper, LocalHost, LocalLead, OperationSink};
pub use part::{Part, has_part, places_of_streams};
pub use simulated::SimulatedHost;
pub use sinks::{Sink, Sinks, Tempo, UNANSWERED};
pub use tick::{Ticks, expected_bytes, planned_ns, unmeasured_intervals};

use measure::{DataFigures, Ended, Failures, HostId, HostInterval, Outstanding};
use plan::{BoundPlan, BoundRun, Severity};
use serde::{Deserialize, Serialize};

/// The clock of whoever leads an execution. Its times are nanoseconds since a moment of its own.
pub trait Clock {
    fn now_ns(&self) -> u64;

    /// Nanoseconds since 1970 at a moment of its clock.
    fn unix_ns(&self, at_ns: u64) -> u64;

    /// Lets time pass until `until_ns`; returns early when `control` asks for an end.
    fn wait_until(&mut self, until_ns: u64, control: &Control);
}

/// Whoever runs the commands of a job, on the machine that leads.
pub trait Commands {
    /// Runs a command line to its end; `said` takes each line that it prints. Ends it when `control`
    /// asks for an end.
    fn command(
        &mut self,
        call: &CommandCall<'_>,
        control: &Control,
        said: &mut dyn FnMut(&str),
    ) -> CommandEnd;

    /// What another machine has to know to run a command as this one would.
    fn order(&self, call: &CommandCall<'_>) -> CommandOrder {
        CommandOrder::of(call, Vec::new(), u64::MAX)
    }

    /// Runs a command line on each of some hosts at the same time; `said` takes each line with the name of its host. How
    /// it ended on each.
    fn command_on(
        &mut self,
        hosts: &[NamedHost],
        call: &CommandCall<'_>,
        control: &Control,
        said: &mut dyn FnMut(&NamedHost, &str),
    ) -> Vec<(NamedHost, CommandEnd)> {
        let here = hosts.first().into_iter();
        here.map(|host| {
            let end = self.command(call, control, &mut |line| said(host, line));
            (host.clone(), end)
        })
        .collect()
    }
}

/// A host of the plan with its name.
pub type NamedHost = (HostId, String);

/// All that an execution needs: who leads, and the machine or machines that do the work.
pub trait Crew: Clock + Commands + Host {}

impl<T: Clock + Commands + Host> Crew for T {}

/// A machine that can carry out a run, here or elsewhere. Times are nanoseconds of the [`Clock`] of the execution.
///
/// What is asked of a machine may be answered later, or never: see [`Answer`]. Who asks goes on asking until it is told,
/// or does without and says so. A machine that is out of reach answers everything with [`HostError::Lost`], after
/// whatever time it takes to be sure.
pub trait Host {
    /// Begins to set up a run, so that it can start at once.
    fn prepare(&mut self, plan: &BoundPlan, run: &BoundRun, point: &SetPoint);

    /// Whether the run is set up; it never is when targets cannot be opened or the engine is refused what it needs.
    fn prepared(&mut self) -> Answer<Prepared>;

    /// Starts the prepared run at `start_ns`, which lies ahead.
    fn start(&mut self, start_ns: u64);

    /// No operation is issued at or after `stop_ns`.
    fn stop_at(&mut self, stop_ns: u64);

    /// Whether all streams that end by themselves have ended.
    fn is_done(&mut self) -> Answer<bool>;

    /// What ended a worker before its time, as far as it is known.
    fn fatal(&mut self) -> Option<HostError>;

    /// The counts of interval `number` (from zero) that ended `end_ns` after the start. Several intervals may be asked
    /// for before the first of them is answered.
    fn collect(&mut self, number: u64, end_ns: u64) -> Answer<HostInterval>;

    /// How long after its end the counts of an interval are waited for.
    fn patience_ns(&self) -> u64 {
        10_000_000_000
    }

    /// Waits for what is in flight at the end of the window, and tells the last interval and how the run ended.
    fn finish(&mut self, number: u64, end_ns: u64, control: &Control) -> Answer<Ended>;

    /// Failed operations since the last call, as far as they are known.
    fn failures(&mut self) -> Failures;

    /// What is in flight, oldest first.
    fn outstanding(&mut self) -> Answer<Vec<Outstanding>>;

    /// What the finished run has sent, of each kind of data.
    fn data_written(&mut self) -> Answer<Vec<DataFigures>>;

    /// From now on these streams of the run issue nothing; with failed ones end those that end with them.
    fn retire(&mut self, streams: &[usize], have_failed: bool);

    /// Begins to run a command line there.
    fn begin_command(&mut self, _order: &CommandOrder) {}

    /// How the command ended that was begun; `said` takes each line that it has printed meanwhile. It is ended when
    /// `control` asks for an end.
    fn command_end(
        &mut self,
        _control: &Control,
        _said: &mut dyn FnMut(&str),
    ) -> Answer<CommandEnd> {
        let reason = "commands run where the execution is led".to_owned();
        Answer::Told(CommandEnd::Refused(reason))
    }

    /// Nothing more is asked of it: what it made is left as it is to be left. `is_whole` where all runs came to their end
    /// without a failure.
    fn leave(&mut self, _is_whole: bool) -> Left {
        Left::default()
    }
}

/// What a machine has to say when it is left.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    /// What the user should know.
    pub notes: Vec<(Severity, String)>,
    /// Why the first target was refused at whose path something else stood than was examined.
    pub refused: Option<String>,
    /// Why what was filled is not what stands at its path.
    pub displaced: Option<String>,
    /// What was to be filled, where that was asked for and nothing failed.
    pub fills: Vec<Filled>,
}

/// A target that was to be filled, and what a look at it has found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filled {
    /// For messages: its name with its path.
    pub target: String,
    pub bytes: u64,
    pub is_whole: bool,
    /// In words.
    pub found: String,
}

/// What a machine says to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer<T> {
    Told(T),
    /// It is to be asked again.
    NotYet,
    /// It will not be told.
    Never(HostError),
}

/// A run that can start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prepared {
    pub workers: u32,
    /// What it had to do without, in words; it costs CPU and changes no result.
    pub shortfall: Option<String>,
    /// How far its start may be off, as its clock is another one; zero for the clock of the execution.
    #[serde(default)]
    pub start_bound_ns: u64,
}

/// A command line with the variables that its shell knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandCall<'a> {
    pub text: &'a str,
    pub variables: Vec<(&'a str, String)>,
    /// How long it may take, in nanoseconds; by default as long as every command of a job.
    pub at_most_ns: Option<u64>,
}

/// The same for a machine elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandOrder {
    pub text: String,
    pub variables: Vec<(String, String)>,
    pub at_most_ns: u64,
}

impl CommandOrder {
    /// With the variables that every command has, and the limit of those that have none.
    pub(crate) fn of(
        call: &CommandCall<'_>,
        mut variables: Vec<(String, String)>,
        usual_ns: u64,
    ) -> Self {
        let own = call.variables.iter();
        variables.extend(own.map(|(name, value)| ((*name).to_owned(), value.clone())));
        Self {
            text: call.text.to_owned(),
            variables,
            at_most_ns: call.at_most_ns.unwrap_or(usual_ns),
        }
    }

    pub fn call(&self) -> CommandCall<'_> {
        let variables = self.variables.iter();
        CommandCall {
            text: &self.text,
            variables: variables
                .map(|(name, value)| (&**name, value.clone()))
                .collect(),
            at_most_ns: Some(self.at_most_ns),
        }
    }
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommandEnd {
    Exited(i32),
    /// By a signal that nobody here sent.
    Signalled(i32),
    /// It took longer than this many seconds, and was killed.
    TimedOut(u64),
    /// The user ended the execution, and so the command.
    Stopped,
    /// It could not be started.
    Refused(String),
    /// Nothing more is heard of the machine that ran it.
    Lost(String),
}

impl std::fmt::Display for CommandEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CommandEnd::Exited(code) => write!(f, "ended with code {code}"),
            CommandEnd::Signalled(signal) => write!(f, "was ended by signal {signal}"),
            CommandEnd::TimedOut(seconds) => write!(
                f,
                "was ended after {seconds} s; `--command-timeout SECONDS` gives it longer"
            ),
            CommandEnd::Stopped => write!(f, "was ended by the user"),
            CommandEnd::Refused(reason) => write!(f, "could not be started: {reason}"),
            CommandEnd::Lost(reason) => write!(f, "did not tell its end: {reason}"),
        }
    }
}

/// What is asked of a run once its load is decided.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SetPoint {
    /// Arrivals per second of the run; `None` is flat out.
    pub rate: Option<f64>,
    /// Shares of the streams in percent, in place of those of the plan.
    pub shares_pct: Option<Vec<f64>>,
}

/// Why a machine could not do its part, in words that need nothing beside them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum HostError {
    /// The run cannot be set up, or cannot go on.
    Refused(String),
    /// The machine does not answer, or not in time.
    Lost(String),
}

impl std::fmt::Display for HostError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            HostError::Refused(reason) | HostError::Lost(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for HostError {}
