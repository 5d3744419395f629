//! The one stream of events: whatever happens in an execution is one of these, in this order:
//! [`Event::ExecutionStarted`], then per run [`Event::RunStarted`], [`Event::Interval`]s and
//! [`Event::RunFinished`], at the end [`Event::ExecutionFinished`]; failures and remarks anywhere.
//!
//! Times called `*_ns` without more are nanoseconds since the start of the run; `*_unix_ns` are
//! nanoseconds since 1970 in UTC.
use crate::evidence::{HostEvidence, HostId, IntervalBrief};
use crate::facts::{HostFacts, HostSample, TargetIdentity};
use crate::latencies::LatencyFigures;
use plan::{
    ArrivalLaw, CacheMode, Label, Load, Operation, RunKind, Severity, StreamId, Swept, TargetId,
};
use serde::{Deserialize, Serialize};

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    ExecutionStarted(ExecutionStarted),
    RunStarted(RunStarted),
    Interval(Interval),
    DataWritten(DataWritten),
    RunFinished(RunFinished),
    IoFailure(IoFailure),
    Remark(Remark),
    ExecutionFinished(ExecutionFinished),
}

/// The beginning of an execution.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExecutionStarted {
    pub unix_ns: u64,
    /// Offset of local time from UTC in seconds, and the name of the zone.
    pub utc_offset_s: i32,
    pub time_zone: String,
    pub fathom_version: String,
    pub arguments: Vec<String>,
    /// Texts that were read: name and content.
    pub inputs: Vec<(String, String)>,
    /// The plan as JSON, for `explain` and for going on later.
    pub plan_json: String,
    pub seed: u64,
    /// Of the machine that leads.
    pub host: HostFacts,
    /// The hosts that do the work, by their places, where there are several.
    #[serde(default)]
    pub hosts: Vec<HostFacts>,
    pub targets: Vec<ExecutionTarget>,
    /// The backend that was chosen, and why.
    pub backend: String,
    pub backend_reason: String,
    pub workers: u32,
    pub clock: String,
    /// Names of the series in reports: transport, firmware …
    pub labels: Vec<Label>,
    pub reporting: Vec<Label>,
}

/// A target as the execution found it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExecutionTarget {
    pub name: String,
    pub path: String,
    /// The size that runs use.
    pub bytes: u64,
    pub is_written: bool,
    pub identity: TargetIdentity,
    #[serde(default)]
    pub host: HostId,
    /// How it was opened, in words; `None` where nobody told.
    #[serde(default)]
    pub open_mode: Option<String>,
    /// Bytes without room on the storage when the execution began.
    #[serde(default)]
    pub hole_bytes: Option<u64>,
}

/// The beginning of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunStarted {
    /// Place of the run in the execution, from zero.
    pub run: u32,
    /// How many runs the execution has.
    pub runs: u32,
    pub name: String,
    pub kind: RunKind,
    pub unix_ns: u64,
    pub interval_ns: u64,
    pub warmup_ns: u64,
    /// The planned window; `None` when the end is a size.
    pub window_ns: Option<u64>,
    /// Intervals at the start that do not enter the averages.
    pub unmeasured_intervals: u32,
    pub load: Load,
    /// Arrivals per second that are asked of the run as a whole; `None` when flat out.
    pub asked_rate: Option<f64>,
    /// The law of the arrivals; of streams with several laws the one that scatters most. `None` when
    /// no arrival follows a schedule, and where an old record does not tell.
    pub law: Option<ArrivalLaw>,
    /// Whether arrivals follow a schedule, so that response differs from service.
    pub is_open_loop: bool,
    pub pools: Vec<PoolInfo>,
    pub streams: Vec<StreamInfo>,
    /// Bytes that the run will move when its end is a size.
    pub expected_bytes: Option<u64>,
    pub labels: Vec<Label>,
    /// What a sweep varies from run to run, with the values of this one.
    #[serde(default)]
    pub swept: Vec<Swept>,
}

impl StreamInfo {
    /// Whether this percentile of its latency can be told: all of what Fathom measured, and of an import those that were
    /// recorded.
    pub fn has_percentile(&self, percentile: f64) -> bool {
        let recorded = Label::find(&self.labels, Label::RECORDED_PERCENTILES);
        let is_it = |text: &str| text.parse() == Ok(percentile);
        recorded.is_none_or(|list| list.split(',').any(is_it))
    }
}

impl RunStarted {
    /// Whether all of these streams have it.
    pub fn has_percentile(
        &self,
        mut streams: impl Iterator<Item = StreamId>,
        percentile: f64,
    ) -> bool {
        streams.all(|id| {
            let stream = self.streams.get(id.index());
            stream.is_none_or(|stream| stream.has_percentile(percentile))
        })
    }

    /// The values of the loops that made the run.
    pub fn loops(&self) -> Option<&str> {
        Label::find(&self.labels, "loops").filter(|loops| *loops != "None")
    }

    /// Its name and, where loops made it, their values: several runs have one name.
    pub fn full_name(&self) -> String {
        match self.loops() {
            Some(loops) => format!("{} ({loops})", self.name),
            None => self.name.clone(),
        }
    }
}

/// A pool of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolInfo {
    pub name: String,
    pub slots: u32,
}

/// A stream of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamInfo {
    pub name: String,
    pub targets: Vec<TargetId>,
    pub pool: u32,
    pub asked_rate: Option<f64>,
    pub share_pct: f64,
    pub labels: Vec<Label>,
    /// The law of its arrivals; `None` without a schedule, and where an old record does not tell.
    #[serde(default)]
    pub law: Option<ArrivalLaw>,
    /// Where it runs.
    #[serde(default)]
    pub host: HostId,
    /// Whether the page cache may answer for its targets; of targets that are opened in several ways the one that lets
    /// it answer most. `None` without targets on storage, and where an old record does not tell.
    #[serde(default)]
    pub cache_mode: Option<CacheMode>,
}

/// Whether an interval enters the averages: those of which all hosts told do, once the load has settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntervalPhase {
    Warmup,
    Measured,
}

/// One reporting interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    pub run: u32,
    /// From one.
    pub number: u32,
    pub start_ns: u64,
    /// The real end; earlier than planned when the run was cut short.
    pub end_ns: u64,
    pub unix_ns: u64,
    pub phase: IntervalPhase,
    /// Only what was busy: keys without any count are left out.
    pub figures: Vec<Figure>,
    pub engine: EngineSample,
    /// Of several hosts together; the evidence has that of each.
    pub host: HostSample,
    /// What of it is lost or was never told.
    #[serde(default)]
    pub lost: LostParts,
    /// The intervals that it is the sum of, where it is one of several; empty for a single one.
    #[serde(default)]
    pub within: Vec<IntervalBrief>,
}

/// Parts of an interval that were there once and cannot be read. Their fields are empty or zero and say nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostParts {
    /// Arrivals, lateness and backlogs of streams.
    pub arrivals: bool,
    /// How long slots were in use.
    pub slots: bool,
    /// The time of CPUs, of the host and of Fathom.
    pub cpu: bool,
    /// What devices counted.
    pub devices: bool,
    /// Operations in flight at the end, and what submitting them took.
    pub submission: bool,
}

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FigureKey {
    pub stream: StreamId,
    pub target: TargetId,
    pub operation: Operation,
}

impl LostParts {
    /// What is lost of one of several is lost of all of them together.
    pub fn add(&mut self, other: Self) {
        self.arrivals |= other.arrivals;
        self.slots |= other.slots;
        self.cpu |= other.cpu;
        self.devices |= other.devices;
        self.submission |= other.submission;
    }
}

/// Counts and latencies of one stream, target and operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    pub key: FigureKey,
    /// Successful completions.
    pub operations: u64,
    pub bytes: u64,
    pub errors: u64,
    pub short_transfers: u64,
    /// From just before the submitting system call to the completion being seen.
    pub service: LatencyFigures,
    /// From the intended arrival; equal to service in a closed loop.
    pub response: LatencyFigures,
}

/// How the engine itself fared in an interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EngineSample {
    #[serde(with = "crate::sparse")]
    pub streams: Vec<StreamSample>,
    #[serde(with = "crate::sparse")]
    pub pools: Vec<PoolSample>,
    pub workers: WorkerSample,
    /// The oldest operation in flight at the end of the interval.
    pub oldest_in_flight_ns: u64,
    pub in_flight: u32,
    /// What single workers and targets tell, by host. Of several hosts, those that told have an entry, and no others.
    #[serde(default)]
    pub hosts: Vec<HostEvidence>,
}

impl EngineSample {
    /// How many hosts told.
    pub fn told_by(&self) -> usize {
        self.hosts.len().max(1)
    }

    /// Whether it is of hosts that are several, or were beside others: what each did stands apart.
    pub fn is_of_several(&self) -> bool {
        self.hosts.len() > 1 || self.hosts.iter().any(|host| host.sample.is_some())
    }
}

/// Arrivals of one stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamSample {
    /// Arrivals that the schedule has in this interval.
    pub scheduled: u64,
    /// Operations that were submitted in this interval.
    pub submitted: u64,
    /// Arrivals due and not submitted at the end of the interval.
    pub backlog: u64,
    /// From the intended arrival to just before the submitting system call.
    pub lateness: LatencyFigures,
    /// Of those the lateness of arrivals that found a free slot: what the generator owes, not the slots.
    #[serde(default)]
    pub free_lateness: Option<LatencyFigures>,
    /// Ages of arrivals that were still unserved when the window ended; they belong to the
    /// response figures. Empty but in the last interval.
    pub unserved: LatencyFigures,
    /// How operations were handed over and came back; only where the plan asks for it.
    pub handover: Option<Handover>,
    /// Its own measured time, where that is not the time of the run; `None` before it begins. Where it
    /// begins later than an earlier sample said, the stream is measured anew: what was counted of it
    /// in earlier intervals no longer counts.
    #[serde(default)]
    pub span: Option<StreamSpan>,
    /// Operations that it has in flight at most now, where it looks for the depth that keeps a latency.
    pub depth: Option<u32>,
}

/// The measured time of a stream, in nanoseconds since the start of its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamSpan {
    pub from_ns: u64,
    /// `None` while it goes on.
    pub to_ns: Option<u64>,
}

/// Classes of in-flight counts: 1, 2–3, 4–7, 8–15, 16–31, 32–63, 64 and more.
pub const DEPTH_CLASSES: usize = 7;

/// Classes of batch sizes: 0, 1–4, 5–8, 9–16, 17–32, 33–64, more.
pub const BATCH_CLASSES: usize = 7;

/// How the operations of one stream were handed to the kernel and came back from it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Handover {
    /// Service time in its two parts, by operation; empty where the two cannot be told apart, as
    /// with plain calls.
    pub parts: Vec<ServiceParts>,
    /// Submitted operations by how many of the stream's pool were in flight, themselves included;
    /// see [`depth_class`].
    pub depths: [u64; DEPTH_CLASSES],
    /// Submitting calls that carried operations of the stream, by how many; see [`batch_class`].
    pub submitted_together: [u64; BATCH_CLASSES],
    /// Passes over completions that found some of the stream, by how many; see [`batch_class`].
    pub seen_together: [u64; BATCH_CLASSES],
    /// When the last completion so far was seen, zero before the first. In the last interval also what came
    /// back after the end of the run counts, and a stream that did not end by itself was at work at least
    /// until the end of its time.
    pub last_seen_ns: u64,
}

/// Service times of one operation, cut where the submitting call came back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServiceParts {
    pub operation: Operation,
    /// Of these operations among the I/O of the host, as [`plan::IoPriority::word`] has it; zero where
    /// nobody has said any. Where single operations
    /// have priorities, there is an entry for each.
    #[serde(default)]
    pub priority: u16,
    /// From just before the submitting call to just after it.
    pub submission: LatencyFigures,
    /// To the completion being seen, from just after the submitting call; from just before it where the operation may
    /// have been out for long when the call came back, so that it is in both parts.
    pub completion: LatencyFigures,
    /// From just before the submitting call to the completion being seen, where single operations have priorities; nothing elsewhere, as figures tell it.
    #[serde(default)]
    pub service: LatencyFigures,
}

/// One operation that succeeded, for logs of single operations. No part of the stream of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationRecord {
    pub stream: StreamId,
    pub target: TargetId,
    pub operation: Operation,
    pub offset: u64,
    pub length: u32,
    /// Of its own, as in [`ServiceParts::priority`]; zero for none.
    pub priority: u16,
    /// When its completion was seen, since the start of the run.
    pub seen_ns: u64,
    /// When the measured time of its stream began, since the start of the run; zero if that is the time of the run.
    pub measured_from_ns: u64,
    pub service_ns: u64,
    /// As [`ServiceParts::submission`]; `None` where it is not told apart.
    pub submission_ns: Option<u64>,
    /// As [`ServiceParts::completion`]; the service time where it is not told apart.
    pub completion_ns: u64,
}

/// Use of one pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolSample {
    pub slots: u32,
    /// Integral of slots in use over time.
    pub busy_ns: u64,
    /// Time with no slot free.
    pub exhausted_ns: u64,
}

/// All workers together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerSample {
    pub workers: u32,
    /// CPU time of the worker threads; zero where the platform does not tell per thread.
    pub cpu_ns: u64,
    /// CPU time and events of the worker threads since the start of the run, as the kernel counts
    /// them per thread; zero where it does not.
    pub usage: ThreadUsage,
    /// Submitting system calls, and the time spent in them.
    pub submit_calls: u64,
    pub submit_ns: u64,
    /// Passes over completions, the longest gap between two, and the sum of gaps while I/O was in
    /// flight: how long a completion may have waited to be seen.
    pub reaps: u64,
    pub reap_gap_sum_ns: u64,
    pub reap_gap_max_ns: u64,
    pub wakeups: u64,
    /// Clock differences that came out negative and were taken as zero.
    pub clamped: u64,
}

/// What threads used, since they began or in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadUsage {
    pub user_ns: u64,
    pub system_ns: u64,
    /// Voluntary and not.
    pub context_switches: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
    /// Time in which a thread was ready to run and had no CPU; `None` where the kernel does not tell.
    #[serde(default)]
    pub cpu_wait_ns: Option<u64>,
}

/// What a run has sent, measured on what was sent. Comes before the end of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataWritten {
    pub run: u32,
    /// One for each kind of data that its streams asked for.
    pub kinds: Vec<DataFigures>,
}

/// Asked and measured, of all writes of the run, the warm-up included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataFigures {
    pub streams: Vec<StreamId>,
    /// Size ÷ compressed size; `None` for a pattern, which has the ratio that it has.
    pub asked_compression: Option<f64>,
    /// Blocks ÷ different contents after a full pass; `None` where nothing is asked.
    pub asked_duplicates: Option<f64>,
    /// The size of the blocks that were compared.
    pub block_bytes: u64,
    /// Blocks that hold something written by the run, estimated to 1 %.
    pub blocks: f64,
    /// Different contents among them by the last write of each, estimated from those in the sample;
    /// `None` where the sample overflowed.
    pub contents: Option<f64>,
    pub sampled_contents: u64,
    /// What the sample holds, while other machines may have sent the same.
    #[serde(default)]
    pub sample: ContentSample,
    /// Transfers that were compressed as a sample, before and after, by lz4 in chunks of 64 KiB.
    pub sampled_bytes: u64,
    pub compressed_bytes: u64,
}

/// Hashes of contents, each once: of all contents, those of one class of so many.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentSample {
    pub hashes: Vec<u64>,
    pub classes: u64,
}

impl DataFigures {
    /// Blocks ÷ different contents; `None` where the sample tells nothing.
    pub fn duplicates(&self) -> Option<f64> {
        let contents = self.contents.filter(|contents| *contents > 0.0)?;
        Some((self.blocks / contents).max(1.0))
    }

    /// Size ÷ compressed size; `None` without a sample.
    pub fn compression(&self) -> Option<f64> {
        (self.compressed_bytes > 0)
            .then(|| self.sampled_bytes as f64 / self.compressed_bytes as f64)
    }
}

/// A failed operation, with enough to find it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoFailure {
    pub run: u32,
    pub unix_ns: u64,
    pub stream: StreamId,
    pub target: TargetId,
    pub operation: Operation,
    pub offset: u64,
    pub length: u32,
    pub errno: i32,
    /// The text of the error number.
    pub message: String,
    /// What was wrong with data that were read without an error.
    #[serde(default)]
    pub misfit: Option<Box<crate::Misfit>>,
    #[serde(default)]
    pub host: HostId,
    /// `None` where nobody told which worker it was.
    #[serde(default)]
    pub worker: Option<u32>,
}

/// A message of the execution that belongs into its record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remark {
    pub run: Option<u32>,
    pub unix_ns: u64,
    pub severity: Severity,
    /// A stable word for programs.
    pub code: String,
    pub message: String,
}

impl Remark {
    /// The code of one that marks a moment for those who look at a run over time.
    pub const MARK: &str = "mark";

    pub fn is_mark(&self) -> bool {
        self.code == Self::MARK
    }
}

/// Why a run or an execution ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// As planned: the window is over, or all streams that end have ended.
    Complete,
    /// A total of bytes was reached.
    ReachedTotal,
    /// A search has found its end.
    SearchEnded {
        message: String,
    },
    TooManyErrors,
    StoppedByUser,
    Failed {
        message: String,
    },
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunFinished {
    pub run: u32,
    pub unix_ns: u64,
    pub reason: FinishReason,
    /// First and last measured interval; first > last when there is none.
    pub first_measured: u32,
    pub last_measured: u32,
    /// Arrivals of the schedule over the whole run, warm-up too; zero in a closed loop.
    pub scheduled: u64,
    /// Operations that were submitted for them; zero in a closed loop.
    pub submitted: u64,
    /// Arrivals due before the end and never submitted; scheduled = submitted + unsent.
    pub unsent: u64,
    /// How long the drain took.
    pub drain_ns: u64,
    /// What was still in flight when the drain was given up.
    pub outstanding: Vec<Outstanding>,
    /// What was in flight at the end of the window and came back in the drain: well after the end
    /// ([`LATE_NS`]), and all of it where the plan asks how operations come back.
    #[serde(default)]
    pub late: Vec<Outstanding>,
    /// How each of several hosts started, in their order; empty where there is one.
    #[serde(default)]
    pub starts: Vec<HostStart>,
}

/// How a host of several started a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostStart {
    pub host: HostId,
    /// How long after the moment that all hosts were told, by its own clock, its first worker began; `None` where it does
    /// not tell.
    pub late_ns: Option<u64>,
    /// What its clock showed more than that of the execution, before the run.
    pub offset_ns: i64,
    /// How long the question about its clock was on its way, there and back.
    pub round_trip_ns: u64,
    /// How far the offset may be off at the start.
    pub bound_ns: u64,
}

/// What comes back this long after the end of the window, or later, came late. What is back within a
/// moment of it is as any other: the end falls between the start and the end of some operations of
/// every run.
pub const LATE_NS: u64 = 100_000_000;

/// An operation that was out at the end of the window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outstanding {
    pub stream: StreamId,
    pub target: TargetId,
    pub operation: Operation,
    pub offset: u64,
    pub length: u32,
    /// Since its submission: when it was given up, or when it came back.
    pub age_ns: u64,
    /// When it came back, since the end of the window; `None` for one that never did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub returned_after_ns: Option<u64>,
}

/// Between the first and the last of several hosts to start, and how far each of the two may be off; of those that tell,
/// where there are two of them.
#[must_use]
pub fn spread_of_starts_ns(starts: &[HostStart]) -> Option<(u64, u64)> {
    let told = || {
        starts
            .iter()
            .filter_map(|one| Some((one.late_ns?, one.bound_ns)))
    };
    let spread_ns = told().map(|(late, _)| late).max()? - told().map(|(late, _)| late).min()?;
    let bound_ns = told().map(|(_, bound)| bound).max()?;
    (told().count() > 1).then_some((spread_ns, bound_ns))
}

impl RunFinished {
    /// What came back well after the end.
    pub fn came_late(&self) -> impl Iterator<Item = &Outstanding> {
        let came_late = |one: &&Outstanding| one.returned_after_ns.is_some_and(|ns| ns >= LATE_NS);
        self.late.iter().filter(came_late)
    }
}

/// The end of an execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutionFinished {
    pub unix_ns: u64,
    pub reason: FinishReason,
}

impl Figure {
    /// Adds the counts of another figure; the key stays.
    pub fn merge(&mut self, other: &Figure) {
        self.operations += other.operations;
        self.bytes += other.bytes;
        self.errors += other.errors;
        self.short_transfers += other.short_transfers;
        self.service.merge(&other.service);
        self.response.merge(&other.response);
    }

    /// Whether nothing of any operation is in it. One that is counted during a look may have its bytes or its time in this
    /// figure and its count in the next.
    pub fn is_empty(&self) -> bool {
        let counts = [
            self.operations,
            self.errors,
            self.short_transfers,
            self.bytes,
        ];
        counts.iter().all(|count| *count == 0)
            && self.service.sum_ns == 0
            && self.response.sum_ns == 0
    }
}

impl WorkerSample {
    /// Adds another interval or another group of workers.
    pub fn add(&mut self, other: &WorkerSample) {
        self.workers = self.workers.max(other.workers);
        self.cpu_ns += other.cpu_ns;
        self.usage.add(&other.usage);
        self.submit_calls += other.submit_calls;
        self.submit_ns += other.submit_ns;
        self.reaps += other.reaps;
        self.reap_gap_sum_ns += other.reap_gap_sum_ns;
        self.reap_gap_max_ns = self.reap_gap_max_ns.max(other.reap_gap_max_ns);
        self.wakeups += other.wakeups;
        self.clamped += other.clamped;
    }
}

impl ThreadUsage {
    /// Adds another interval or another thread.
    pub fn add(&mut self, other: &ThreadUsage) {
        self.user_ns += other.user_ns;
        self.system_ns += other.system_ns;
        self.context_switches += other.context_switches;
        self.minor_faults += other.minor_faults;
        self.major_faults += other.major_faults;
        if let Some(wait_ns) = other.cpu_wait_ns {
            *self.cpu_wait_ns.get_or_insert(0) += wait_ns;
        }
    }

    /// A share of it, from 0 to 1.
    pub fn part(&self, share: f64) -> Self {
        let part = |whole: u64| (whole as f64 * share.clamp(0.0, 1.0)).round() as u64;
        Self {
            user_ns: part(self.user_ns),
            system_ns: part(self.system_ns),
            context_switches: part(self.context_switches),
            minor_faults: part(self.minor_faults),
            major_faults: part(self.major_faults),
            cpu_wait_ns: self.cpu_wait_ns.map(part),
        }
    }

    /// The use since `earlier`.
    pub fn since(&self, earlier: &ThreadUsage) -> Self {
        Self {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
            context_switches: self
                .context_switches
                .saturating_sub(earlier.context_switches),
            minor_faults: self.minor_faults.saturating_sub(earlier.minor_faults),
            major_faults: self.major_faults.saturating_sub(earlier.major_faults),
            cpu_wait_ns: self
                .cpu_wait_ns
                .map(|wait_ns| wait_ns.saturating_sub(earlier.cpu_wait_ns.unwrap_or(0))),
        }
    }
}

impl Handover {
    /// Adds a later interval or another stream.
    pub fn merge(&mut self, other: &Handover) {
        for theirs in &other.parts {
            match self
                .parts
                .iter_mut()
                .find(|mine| (mine.operation, mine.priority) == (theirs.operation, theirs.priority))
            {
                Some(mine) => {
                    mine.submission.merge(&theirs.submission);
                    mine.completion.merge(&theirs.completion);
                    mine.service.merge(&theirs.service);
                }
                None => self.parts.push(theirs.clone()),
            }
        }
        let counts = [
            (&mut self.depths, &other.depths),
            (&mut self.submitted_together, &other.submitted_together),
            (&mut self.seen_together, &other.seen_together),
        ];
        for (mine, theirs) in counts {
            mine.iter_mut()
                .zip(theirs)
                .for_each(|(mine, theirs)| *mine += theirs);
        }
        self.last_seen_ns = self.last_seen_ns.max(other.last_seen_ns);
    }
}

/// The place of an in-flight count (at least one) in [`Handover::depths`].
pub fn depth_class(in_flight: u32) -> usize {
    (in_flight.max(1).ilog2() as usize).min(DEPTH_CLASSES - 1)
}

/// The place of a batch size in [`Handover::submitted_together`] and [`Handover::seen_together`].
pub fn batch_class(together: u32) -> usize {
    match together {
        0 => 0,
        1..=4 => 1,
        5..=64 => (together - 1).ilog2() as usize,
        _ => BATCH_CLASSES - 1,
    }
}

impl Interval {
    /// The real length in nanoseconds.
    pub fn length_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}
