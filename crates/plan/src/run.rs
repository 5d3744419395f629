//! A run: streams that belong together, what is asked of them, for how long.
use crate::ids::SearchId;
use crate::method::IoMethod;
use crate::requests::{PriorityShare, RequestMode};
use crate::stream::{ArrivalLaw, Label, Stream};
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// A run in full: a template with its overrides applied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub name: String,
    pub kind: RunKind,
    pub pools: Vec<Pool>,
    pub streams: Vec<Stream>,
    pub coupling: Coupling,
    pub load: Load,
    pub law: ArrivalLaw,
    pub timing: Timing,
    pub stop: RunStop,
    pub labels: Vec<Label>,
    pub swept: Vec<Swept>,
}

/// A value that a sweep gives to a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Swept {
    /// What it is, in full words with the unit last: `transfer_size_bytes`, `read_pct`, `threads`.
    pub name: String,
    pub value: f64,
}

impl Swept {
    pub fn new(name: &str, value: f64) -> Self {
        Self {
            name: name.to_owned(),
            value,
        }
    }
}

/// What a run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunKind {
    /// Measures.
    Measure,
    /// Makes or extends targets; left out by `bind` where nothing is missing, and kept to the
    /// streams whose target needs it.
    Prepare,
}

/// In-flight slots and the order in which work gets them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pool {
    pub name: String,
    pub slots: u32,
    pub admission: PoolAdmission,
    /// How its operations are done; `None` leaves it to what the execution does in general.
    #[serde(default)]
    pub method: Option<IoMethod>,
    #[serde(default)]
    pub requests: RequestMode,
    #[serde(default)]
    pub priorities: Vec<PriorityShare>,
    /// One worker submits all its operations, unless the user sets the number of workers: what goes out together, and the
    /// order of completions in a log, do not depend on the CPUs of the host.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_one_submitter: bool,
}

impl Pool {
    /// Streams in turn, without anything of its own.
    pub fn new(name: impl Into<String>, slots: u32) -> Self {
        Self {
            name: name.into(),
            slots,
            admission: PoolAdmission::FirstCome,
            method: None,
            requests: RequestMode::default(),
            priorities: Vec::new(),
            has_one_submitter: false,
        }
    }
}

/// Which waiting operation gets a free slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PoolAdmission {
    /// Streams in turn.
    FirstCome,
    /// The lowest priority number of what is due; streams without a priority come last.
    Priority,
    /// By intended arrival.
    Arrival,
}

/// How the streams of a run hold together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Coupling {
    /// Each as it can.
    Independent,
    /// In the proportion of their shares; the slowest holds back the others.
    Proportional,
    /// By their priorities; those without a schedule in the proportion of their shares besides.
    Priority,
}

/// What is asked of the run as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    /// As much as the slots allow.
    FlatOut,
    /// Arrivals per second over all streams. Streams with a pace of their own take theirs first; the
    /// others have the rest by their shares.
    Rate { per_second: f64 },
    /// A share in percent of what the previous run reached.
    PercentOfPrevious { pct: f64 },
    /// The first run of a search: flat out, and its rate is the base of the points.
    SearchBase { search: SearchId },
    /// A point of a search, as a percentage of its base.
    SearchPoint { search: SearchId, pct: f64 },
    /// Rates (arrivals per second) that follow each other, each for a span, over and over.
    Steps { steps: Vec<(f64, Nanos)> },
    /// Each stream has its own pace.
    PerStream,
}

/// When a run starts, what of it is measured, and how it is cut into intervals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    pub start: StartAlign,
    /// Before the window, and not measured.
    pub warmup: Nanos,
    pub window: Window,
    pub interval: Nanos,
    /// Whether the first interval of a run without warm-up belongs to the averages.
    pub first_interval: FirstInterval,
    /// Waited after this run, before the next.
    pub pause_after: Nanos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartAlign {
    WholeSecond,
    AtOnce,
}

/// How long the measured part lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Window {
    For(Nanos),
    /// Until all streams that end have ended, at most this long when given.
    UntilDone {
        at_most: Option<Nanos>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FirstInterval {
    Counted,
    Dropped,
}

/// Aggregate rules that end a run early.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunStop {
    /// Ends one interval after this much was moved.
    pub total_bytes: Option<DataLimit>,
    pub read_bytes: Option<DataLimit>,
    pub written_bytes: Option<DataLimit>,
    pub errors: ErrorBudget,
}

/// An amount of data.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DataLimit {
    Bytes(u64),
    /// Times the sizes of all targets of the run together; `bind` makes it bytes.
    TimesTargets(f64),
}

impl DataLimit {
    /// In bytes, of targets with so many bytes together.
    pub fn of_targets(self, target_bytes: u64) -> u64 {
        match self {
            DataLimit::Bytes(bytes) => bytes,
            DataLimit::TimesTargets(times) => (target_bytes as f64 * times) as u64,
        }
    }
}

/// How many failed operations end the execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorBudget {
    Unlimited,
    /// Ends when this many have failed.
    Count(u64),
}

/// The mean of rates that follow each other over and over, between two times in nanoseconds since
/// they began; at `from_ns` alone when the span is empty, zero when no step takes any time.
pub fn mean_of_steps(steps: &[(f64, Nanos)], from_ns: u64, to_ns: u64) -> f64 {
    let cycle_ns: u64 = steps.iter().map(|(_, span)| span.0).sum();
    if cycle_ns == 0 {
        return 0.0;
    }
    let to_ns = to_ns.max(from_ns.saturating_add(1));
    // Rate times nanoseconds from the beginning up to a time within a cycle.
    let until = |mut left_ns: u64| {
        let parts = steps.iter().map(|(rate, span)| {
            let spent_ns = span.0.min(left_ns);
            left_ns -= spent_ns;
            rate * spent_ns as f64
        });
        parts.sum::<f64>()
    };
    let cycles = (to_ns / cycle_ns - from_ns / cycle_ns) as f64;
    let area = cycles * until(cycle_ns) + until(to_ns % cycle_ns) - until(from_ns % cycle_ns);
    area / (to_ns - from_ns) as f64
}

impl Load {
    /// The rate that is asked of the run between two times in nanoseconds since its start, on
    /// average; `None` where it does not follow from the load alone.
    pub fn mean_rate(&self, from_ns: u64, to_ns: u64) -> Option<f64> {
        match self {
            Load::Rate { per_second } => Some(*per_second),
            Load::Steps { steps } => Some(mean_of_steps(steps, from_ns, to_ns)),
            _ => None,
        }
    }
}

impl Default for ErrorBudget {
    fn default() -> Self {
        Self::Count(50)
    }
}

impl Label {
    /// Of a run that is carried out several times: which of them it is, from 1.
    pub const REPETITION: &'static str = "repetition";

    /// Of a run of a job that is done with one quantity varied: what that is called, as [`Swept::name`].
    pub const SCALED: &'static str = "scale.quantity";

    /// Of the same: what was to stay the same in sum.
    pub const HELD: &'static str = "scale.held";

    /// Of the same: how many bytes of its targets it works on.
    pub const WORKED_ON: &'static str = "scale.bytes";

    /// Of a stream that was imported: the percentiles of its latency that were recorded, with commas. Others are not known.
    pub const RECORDED_PERCENTILES: &'static str = "import.percentiles";

    /// On an imported stream: how many jobs of a group it stands for.
    pub const IMPORTED_MEMBERS: &'static str = "import.members";

    /// Of a run that is done to see what a failure of its storage costs.
    pub const FAILOVER: &'static str = "run.failover";

    pub fn new(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            value: value.into(),
        }
    }

    /// Whether it is kept for the pages of the language that the job is written in and for nobody else: its key has a
    /// dot.
    pub fn is_private(&self) -> bool {
        Self::is_private_key(&self.key)
    }

    /// As [`Label::is_private`].
    pub fn is_private_key(key: &str) -> bool {
        key.contains('.')
    }

    /// The value under `key` in a list of labels.
    pub fn find<'a>(labels: &'a [Label], key: &str) -> Option<&'a str> {
        labels
            .iter()
            .find(|label| label.key == key)
            .map(|label| label.value.as_str())
    }
}

impl Timing {
    /// The whole span from start to the planned end; `None` when the end is a size.
    pub fn total(&self) -> Option<Nanos> {
        match self.window {
            Window::For(window) => Some(self.warmup + window),
            Window::UntilDone { .. } => None,
        }
    }
}
