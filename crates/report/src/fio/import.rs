//! JSON that fio printed, of any version, as the events of an execution: a result file of it
//! serves all reports. What fio did not keep is not made up, with one exception that a remark
//! tells: a histogram is rebuilt from percentiles where no buckets were printed.
use super::document::{self, Document, ImportError};
use super::doubts::{self, AMOUNT_MAX, Doubts};
use measure::{
    BATCH_CLASSES, Bucket, DEPTH_CLASSES, DeviceCounters, DeviceSample, EngineSample, Event,
    ExecutionFinished, ExecutionStarted, ExecutionTarget, Figure, FigureKey, FinishReason,
    Handover, Histogram, HostFacts, HostSample, Interval, IntervalPhase, LatencyFigures, PoolInfo,
    PoolSample, Remark, RunFinished, RunStarted, ServiceParts, StreamInfo, StreamSample,
    ThreadUsage, WorkerSample, bucket_of,
};
use plan::{BoundPlan, Label, Load, Operation, Plan, RunKind, Severity, StreamId, TargetId};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

const NS_PER_MS: u64 = 1_000_000;

const DIRECTIONS: [(&str, Operation); 5] = [
    ("read", Operation::Read),
    ("write", Operation::Write),
    ("trim", Operation::Trim),
    // Directions that were not told apart count as reads.
    ("mixed", Operation::Read),
    ("sync", Operation::Sync),
];

/// The code of the remark on a document that is not whole.
pub const DAMAGED: &str = "import-damaged";
/// The code of the remark on a figure that is left out.
const IMPOSSIBLE: &str = "import-impossible";

/// The events of an execution that fio has carried out.
///
/// Several documents in one text, as periodic reports give, are cumulative: the last one counts.
/// Text around them is skipped.
///
/// # Errors
/// [`ImportError`].
pub fn import(name: &str, text: &str) -> Result<Vec<Event>, ImportError> {
    let mut doubts = Doubts::default();
    let document = document::last(text, &mut |entry| {
        // The sum over all clients is computed again.
        let is_sum = text_of(entry, "jobname") == "All clients";
        let job = (!is_sum).then(|| ImportedJob::of(entry, &mut doubts));
        job.flatten()
    })?;
    if document.jobs.is_empty() {
        let reason = doubts.told().into_iter().next();
        return Err(reason.map_or(ImportError::NoFigures, ImportError::Impossible));
    }
    let Document {
        head, jobs, damage, ..
    } = document;
    let mut remarks: Vec<(&str, String)> = Vec::new();
    remarks
        .extend(damage.map(|words| (DAMAGED, format!("{words}; what is whole before it is kept"))));
    let impossible = |words| (IMPOSSIBLE, words);
    remarks.extend(doubts.told().into_iter().map(impossible));
    Ok(Import::new(name, text, &head, jobs).events(&remarks))
}

struct ImportedJob {
    labels: Vec<Label>,
    name: String,
    group: u64,
    /// What it was held to; with all members of its group.
    asked_per_s: Option<f64>,
    slots: u32,
    directions: Vec<ImportedDirection>,
    runtime_ms: u64,
    /// The sum over all members of a group, where the version tells.
    job_ms: Option<u64>,
    usage: ThreadUsage,
    errors: u64,
    handover: Handover,
    was_rebuilt: bool,
}

struct ImportedDirection {
    operation: Operation,
    operations: u64,
    bytes: u64,
    short: u64,
    total: LatencyFigures,
}

impl ImportedJob {
    fn of(entry: &Map<String, Value>, doubts: &mut Doubts) -> Option<Self> {
        let (mut directions, mut handover) = (Vec::new(), Handover::default());
        let (mut runtime_ms, mut was_rebuilt, mut recorded) = (0, false, None);
        let is_apart = entry.contains_key("read");
        for (name, operation) in DIRECTIONS {
            let Some(found) = entry.get(name).and_then(Value::as_object) else {
                continue;
            };
            let mut doubt = |what: &str, why: &str| {
                let job = text_of(entry, "jobname");
                doubts.add(format!("job `{job}`, `{name}`: {why}; {what} left out"));
            };
            if let Some(why) = doubts::of_amounts(found) {
                doubt("its figures are", &why);
                continue;
            }
            let operations = whole(found, "total_ios");
            if operations == 0 || (name == "mixed" && is_apart) {
                continue;
            }
            runtime_ms = runtime_ms.max(whole(found, "runtime"));
            let latencies = Latencies::of(found, operations, &mut |kind, why| {
                doubt(&format!("`{kind}` is"), why);
            });
            was_rebuilt |= latencies.was_rebuilt;
            recorded = both(recorded, latencies.recorded.clone());
            handover.parts.extend(latencies.parts(operation));
            directions.push(ImportedDirection {
                operation,
                operations,
                bytes: bytes_of(found),
                short: whole(found, "short_ios"),
                total: latencies.total,
            });
        }
        if directions.is_empty() {
            return None;
        }
        let total: u64 = directions.iter().map(|one| one.operations).sum();
        let share_of = |key: &str, count: u64| shares(entry.get(key), count);
        handover.depths = share_of("iodepth_level", total);
        handover.submitted_together = share_of("iodepth_submit", total);
        handover.seen_together = share_of("iodepth_complete", total);
        handover.last_seen_ns = runtime_ms * NS_PER_MS;
        let options = entry.get("job options").and_then(Value::as_object);
        let name = text_of(entry, "jobname");
        let group = whole(entry, "groupid");
        let mut labels = labels_of(entry, options, runtime_ms);
        labels.extend(recorded.map(recorded_label));
        let depth = options.and_then(|options| text_of(options, "iodepth").parse().ok());
        let depth = depth.or_else(|| u32::try_from(whole(entry, "latency_depth")).ok());
        Some(Self {
            usage: usage(entry, runtime_ms),
            labels,
            name,
            group,
            asked_per_s: None,
            slots: depth.filter(|depth| *depth > 0).unwrap_or(1),
            directions,
            runtime_ms,
            job_ms: entry.get("job_runtime").and_then(Value::as_u64),
            errors: whole(entry, "total_err").max(u64::from(whole(entry, "error") > 0)),
            handover,
            was_rebuilt,
        })
    }
}

/// The percentiles that both tell.
fn both(one: Option<Vec<f64>>, other: Option<Vec<f64>>) -> Option<Vec<f64>> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.into_iter().filter(|at| other.contains(at)).collect()),
        (one, other) => one.or(other),
    }
}

fn recorded_label(percentiles: Vec<f64>) -> Label {
    let list: Vec<String> = percentiles.iter().map(f64::to_string).collect();
    Label::new(Label::RECORDED_PERCENTILES, list.join(","))
}

/// Before fio 3, which tells latencies in nanoseconds and amounts in both units, `io_bytes` was a number of KiB.
fn bytes_of(found: &Map<String, Value>) -> u64 {
    let is_old = !found.contains_key("io_kbytes") && !found.keys().any(|key| key.ends_with("_ns"));
    match found.get("io_bytes").and_then(Value::as_u64) {
        Some(kib) if is_old => kib.min(AMOUNT_MAX) * 1024,
        Some(bytes) => bytes.min(AMOUNT_MAX << 10),
        None => whole(found, "io_kbytes") * 1024,
    }
}

fn labels_of(
    entry: &Map<String, Value>,
    options: Option<&Map<String, Value>>,
    runtime_ms: u64,
) -> Vec<Label> {
    let mut labels = vec![
        Label::new("job", text_of(entry, "jobname")),
        Label::new("group", whole(entry, "groupid").to_string()),
        // Of a group it is the sum over its members, whom fio does not tell.
        Label::new(
            "job_runtime_ms",
            job_runtime_ms(entry, runtime_ms).to_string(),
        ),
    ];
    labels.extend(option_labels("option", options));
    labels
}

fn job_runtime_ms(entry: &Map<String, Value>, runtime_ms: u64) -> u64 {
    match whole(entry, "job_runtime") {
        0 => runtime_ms,
        job_ms => job_ms,
    }
}

fn usage(entry: &Map<String, Value>, runtime_ms: u64) -> ThreadUsage {
    let job_ms = job_runtime_ms(entry, runtime_ms);
    let time = |key: &str| (real(entry, key) / 100.0 * (job_ms * NS_PER_MS) as f64) as u64;
    ThreadUsage {
        user_ns: time("usr_cpu"),
        system_ns: time("sys_cpu"),
        context_switches: whole(entry, "ctx"),
        minor_faults: whole(entry, "minf"),
        major_faults: whole(entry, "majf"),
        cpu_wait_ns: None,
    }
}

/// The three kinds of latency of one direction.
struct Latencies {
    submission: LatencyFigures,
    completion: LatencyFigures,
    total: LatencyFigures,
    was_rebuilt: bool,
    recorded: Option<Vec<f64>>,
}

impl Latencies {
    fn of(found: &Map<String, Value>, operations: u64, doubt: &mut dyn FnMut(&str, &str)) -> Self {
        let mut kind = |name: &str| {
            // Before fio 3 the unit was the microsecond.
            let nanoseconds = found.get(&format!("{name}_ns")).and_then(Value::as_object);
            let (object, scale) = match nanoseconds {
                Some(object) => (object, 1.0),
                None => (found.get(name).and_then(Value::as_object)?, 1_000.0),
            };
            if let Some(why) = doubts::of_latency(object, operations) {
                doubt(name, &why);
                return None;
            }
            Kept::of(object, scale, operations)
        };
        let (submission, completion, total) = (kind("slat"), kind("clat"), kind("lat"));
        let shape = completion.as_ref().filter(|kept| kept.has_shape());
        let total = match (total, shape) {
            // fio keeps percentiles of `clat` by default: those of `lat` are behind them by the
            // mean time of submission.
            (Some(total), Some(shape)) if !total.has_shape() => total.shaped_by(shape),
            (Some(total), _) => total,
            (None, Some(shape)) => shape.clone(),
            (None, None) => completion.clone().unwrap_or_default(),
        };
        let was_rebuilt = total.was_rebuilt;
        Self {
            recorded: total.recorded,
            submission: submission.unwrap_or_default().figures,
            completion: completion.unwrap_or_default().figures,
            total: total.figures,
            was_rebuilt,
        }
    }

    /// Submission and completion apart, where fio told them apart.
    fn parts(&self, operation: Operation) -> Option<ServiceParts> {
        (!self.submission.histogram.is_empty()).then(|| ServiceParts {
            operation,
            priority: 0,
            submission: self.submission.clone(),
            completion: self.completion.clone(),
            service: LatencyFigures::default(),
        })
    }
}

/// One latency object.
#[derive(Clone, Default)]
struct Kept {
    figures: LatencyFigures,
    mean_ns: f64,
    min_ns: u64,
    was_rebuilt: bool,
    /// The percentiles that fio told; `None` where buckets tell them all.
    recorded: Option<Vec<f64>>,
}

impl Kept {
    /// `None` of a latency that was not measured.
    fn of(object: &Map<String, Value>, scale: f64, operations: u64) -> Option<Self> {
        let number = |key: &str| real(object, key) * scale;
        let mean_ns = number("mean");
        let count = match whole(object, "N") {
            0 if object.contains_key("N") || mean_ns == 0.0 => return None,
            0 => operations,
            count => count,
        };
        let (min_ns, max_ns) = (number("min") as u64, number("max") as u64);
        let bins = pairs(object.get("bins"), scale);
        let percentiles = pairs(object.get("percentile"), 1.0);
        let is_whole = !bins.is_empty();
        let histogram = if is_whole {
            counted(
                bins.into_iter()
                    .map(|(middle, count)| (middle as u64, count as u64)),
            )
        } else if !percentiles.is_empty() {
            let scaled = percentiles
                .iter()
                .map(|(share, ns)| (*share, (ns * scale) as u64));
            between(scaled, count, min_ns, max_ns)
        } else {
            counted(around(mean_ns as u64, count, min_ns, max_ns))
        };
        Some(Self {
            figures: LatencyFigures {
                sum_ns: (mean_ns * count as f64) as u64,
                max_ns,
                histogram,
            },
            mean_ns,
            min_ns,
            was_rebuilt: !is_whole,
            recorded: (!is_whole).then(|| percentiles.iter().map(|(share, _)| *share).collect()),
        })
    }

    /// Whether it has percentiles or buckets.
    fn has_shape(&self) -> bool {
        self.recorded.as_ref().is_none_or(|list| !list.is_empty())
    }

    /// With the histogram of another latency, moved by the difference of the means.
    fn shaped_by(self, shape: &Kept) -> Self {
        let moved_ns = (self.mean_ns - shape.mean_ns).max(0.0) as u64;
        let (min_ns, max_ns) = (self.min_ns, self.figures.max_ns);
        let buckets = shape.figures.histogram.buckets().iter();
        let moved = buckets.map(|bucket| {
            let (low, high) = measure::bucket_bounds(bucket.index as usize);
            let middle = low + (high - low) / 2;
            let value = (middle + moved_ns).clamp(min_ns, max_ns.max(min_ns));
            (value, bucket.count)
        });
        Self {
            figures: LatencyFigures {
                histogram: counted(moved),
                ..self.figures
            },
            was_rebuilt: true,
            recorded: shape.recorded.clone(),
            ..self
        }
    }
}

fn counted(values: impl Iterator<Item = (u64, u64)>) -> Histogram {
    Histogram::from_buckets(
        values
            .filter(|(_, count)| *count > 0)
            .map(|(value_ns, count)| Bucket {
                index: bucket_of(value_ns) as u32,
                count,
            }),
    )
}

/// Values whose percentiles are the listed ones: what lies between two takes the upper.
fn between(
    percentiles: impl Iterator<Item = (f64, u64)>,
    count: u64,
    min_ns: u64,
    max_ns: u64,
) -> Histogram {
    let (mut values, mut seen) = (vec![(min_ns, u64::from(count > 2))], u64::from(count > 2));
    for (share, value_ns) in percentiles {
        let rank = ((share / 100.0 * count as f64).ceil() as u64).min(count.saturating_sub(1));
        let value_ns = value_ns.clamp(min_ns, max_ns.max(min_ns));
        values.push((value_ns, rank.saturating_sub(seen)));
        seen = seen.max(rank);
    }
    values.push((max_ns, count.saturating_sub(seen)));
    counted(values.into_iter())
}

/// The extremes and the rest at the mean.
fn around(mean_ns: u64, count: u64, min_ns: u64, max_ns: u64) -> impl Iterator<Item = (u64, u64)> {
    let ends = u64::from(count > 1);
    let rest = count - ends - u64::from(count > 0);
    [
        (min_ns, ends),
        (mean_ns, rest),
        (max_ns, u64::from(count > 0)),
    ]
    .into_iter()
}

/// Numbers by numbers, ascending.
fn pairs(value: Option<&Value>, scale: f64) -> Vec<(f64, f64)> {
    let object = value.and_then(Value::as_object);
    let mut found: Vec<(f64, f64)> = object
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.parse::<f64>().ok()? * scale, value.as_f64()?)))
        // Unused places of a list.
        .filter(|(key, _)| *key > 0.0)
        .collect();
    found.sort_by(|one, other| one.0.total_cmp(&other.0));
    found
}

/// Counts from shares in percent, by the order of their thresholds.
fn shares<const N: usize>(value: Option<&Value>, total: u64) -> [u64; N] {
    let threshold = |key: &str| key.trim_start_matches(">=").parse::<u64>().ok();
    let object = value.and_then(Value::as_object).into_iter().flatten();
    let mut found: Vec<(u64, f64)> = object
        .filter_map(|(key, share)| {
            let place = threshold(key)? + u64::from(key.starts_with(">="));
            Some((place, share.as_f64()?))
        })
        .collect();
    found.sort_by_key(|(place, _)| *place);
    let mut counts = [0; N];
    for (count, (_, share)) in counts.iter_mut().zip(found) {
        *count = (share / 100.0 * total as f64).round() as u64;
    }
    counts
}

fn whole(object: &Map<String, Value>, key: &str) -> u64 {
    object.get(key).map_or(0, |value| match value.as_u64() {
        Some(whole) => whole.min(AMOUNT_MAX),
        None => (value.as_f64().unwrap_or(0.0).max(0.0) as u64).min(AMOUNT_MAX),
    })
}

fn real(object: &Map<String, Value>, key: &str) -> f64 {
    object.get(key).and_then(Value::as_f64).unwrap_or(0.0)
}

fn text_of(object: &Map<String, Value>, key: &str) -> String {
    match object.get(key) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

/// Options by which jobs of fio do no more than they are asked to.
const HOLDING: [&str; 5] = [
    "rate",
    "rate_iops",
    "rate_process",
    "thinktime",
    "latency_target",
];

/// Whether a label is an option of an imported job by which it holds I/O back.
pub(crate) fn holds_back(label: &Label) -> bool {
    let prefixes = ["option.", "global."];
    let mut names = prefixes
        .iter()
        .filter_map(|prefix| label.key.strip_prefix(prefix));
    names.any(|name| HOLDING.contains(&name))
}

fn option_labels(prefix: &str, options: Option<&Map<String, Value>>) -> Vec<Label> {
    let Some(options) = options else {
        return Vec::new();
    };
    let label = |name: &String| Label::new(format!("{prefix}.{name}"), text_of(options, name));
    options.keys().map(label).collect()
}

/// What all jobs of a group together were held to; `None` where one was not.
fn asked_rate(group: &[ImportedJob]) -> Option<f64> {
    let rates: Option<Vec<f64>> = group.iter().map(|job| job.asked_per_s).collect();
    Some(rates.filter(|rates| !rates.is_empty())?.iter().sum())
}

impl ImportedJob {
    /// What the document says of all jobs: of a group that reports as one, slots and rates are those of its members.
    fn add_members(&mut self, globals: Option<&Map<String, Value>>, is_alone: bool) {
        let option = |name: &str| -> Option<String> {
            let own = Label::find(&self.labels, &format!("option.{name}"));
            let own = own.map(str::to_owned);
            own.or_else(|| Some(text_of(globals?, name)).filter(|text| !text.is_empty()))
        };
        let has = |name: &str| {
            let own = Label::find(&self.labels, &format!("option.{name}"));
            own.is_some() || globals.is_some_and(|all| all.contains_key(name))
        };
        // An option of the command line is told in no document; a member that is alone in it stands for all of them. Later
        // versions sum up how long each of them ran.
        let ran_for_several = match self.job_ms {
            Some(job_ms) => job_ms * 2 > self.runtime_ms * 3,
            None => true,
        };
        let is_group = has("group_reporting") || (is_alone && ran_for_several);
        let members = option("numjobs").filter(|_| is_group);
        let members = members.and_then(|text| text.parse::<u32>().ok());
        let members = members.unwrap_or(1).max(1);
        let counts = option("rate_iops").map(|text| self.asked(&text, |_| 1.0));
        let bytes = || option("rate").map(|text| self.asked(&text, ImportedDirection::mean_bytes));
        let asked = counts.or_else(bytes).flatten();
        self.asked_per_s = asked.map(|rate| rate * f64::from(members));
        self.slots = self.slots.saturating_mul(members);
        if members > 1 {
            let label = Label::new(Label::IMPORTED_MEMBERS, members.to_string());
            self.labels.push(label);
        }
    }
}

impl ImportedJob {
    /// Operations per second that it was held to, of all directions together: an option has a value for reads, and after
    /// commas for writes and trims; a single value is for all. `None` where a direction was not held.
    fn asked(&self, text: &str, of_each: impl Fn(&ImportedDirection) -> f64) -> Option<f64> {
        let values: Vec<&str> = text.split(',').map(str::trim).collect();
        let of = |one: &ImportedDirection| {
            let place = match one.operation {
                Operation::Write => 1,
                Operation::Trim => 2,
                _ => 0,
            };
            // An empty place is no limit.
            let rate = number(values.get(place).or(values.first())?)?;
            let each = of_each(one);
            (rate > 0.0 && each > 0.0).then_some(rate / each)
        };
        let moved = self.directions.iter();
        let moved = moved.filter(|one| one.operations > 0 && !one.operation.is_sync());
        moved.map(of).sum()
    }
}

impl ImportedDirection {
    fn mean_bytes(&self) -> f64 {
        self.bytes as f64 / self.operations.max(1) as f64
    }
}

/// A number as options have it: `k` is 1024 there, and `KiB` is 1000.
fn number(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (digits, unit) = text.split_at(end.unwrap_or(text.len()));
    let unit = unit.trim().to_ascii_lowercase();
    let base: f64 = if unit.ends_with("ib") { 1000.0 } else { 1024.0 };
    let power = match unit.chars().next() {
        None | Some('b') => 0,
        Some(first) => "kmgt".find(first)? as i32 + 1,
    };
    Some(digits.parse::<f64>().ok()? * base.powi(power))
}

/// An execution in the making.
struct Import<'a> {
    name: &'a str,
    text: &'a str,
    version: String,
    globals: Vec<Label>,
    disks: Vec<DeviceSample>,
    /// Jobs that ran side by side, in the order of their groups.
    groups: Vec<Vec<ImportedJob>>,
    end_unix_ns: u64,
}

impl<'a> Import<'a> {
    fn new(
        name: &'a str,
        text: &'a str,
        document: &Map<String, Value>,
        jobs: Vec<ImportedJob>,
    ) -> Self {
        let mut groups: Vec<Vec<ImportedJob>> = Vec::new();
        let mut places: BTreeMap<u64, usize> = BTreeMap::new();
        for job in jobs {
            let place = *places.entry(job.group).or_insert(groups.len());
            match groups.get_mut(place) {
                Some(group) => group.push(job),
                None => groups.push(vec![job]),
            }
        }
        let end_ms = match whole(document, "timestamp_ms") {
            0 => whole(document, "timestamp") * 1_000,
            end_ms => end_ms,
        };
        let disks = document.get("disk_util").and_then(Value::as_array);
        let disks = disks.into_iter().flatten().filter_map(Value::as_object);
        let total_ns = groups.iter().map(|group| length_ns(group)).sum();
        let of_document = document.get("global options").and_then(Value::as_object);
        for group in &mut groups {
            let names: Vec<String> = group.iter().map(|job| job.name.clone()).collect();
            for job in group {
                let is_alone = names.iter().filter(|name| **name == job.name).count() == 1;
                job.add_members(of_document, is_alone);
            }
        }
        let mut globals = vec![Label::new("face", "fio")];
        let options = document.get("global options").and_then(Value::as_object);
        globals.extend(option_labels("global", options));
        Self {
            name,
            text,
            version: text_of(document, "fio version"),
            globals,
            disks: disks.map(|object| disk(object, total_ns)).collect(),
            groups,
            end_unix_ns: end_ms * NS_PER_MS,
        }
    }

    fn events(&self, remarks: &[(&str, String)]) -> Vec<Event> {
        let lengths = self.groups.iter().map(|group| length_ns(group));
        let mut at_ns = self.end_unix_ns.saturating_sub(lengths.sum());
        let mut events = vec![Event::ExecutionStarted(self.started(at_ns))];
        if self.groups.iter().flatten().any(|job| job.was_rebuilt) {
            events.push(Event::Remark(Remark {
                run: None,
                unix_ns: at_ns,
                severity: Severity::Note,
                code: "latencies-rebuilt".to_owned(),
                message: "histograms are rebuilt from the percentiles that fio printed; between \
                          them a latency is not known, and others have no value"
                    .to_owned(),
            }));
        }
        let remark = |(code, message): &(&str, String)| {
            Event::Remark(Remark {
                run: None,
                unix_ns: at_ns,
                severity: Severity::Warning,
                code: (*code).to_owned(),
                message: message.clone(),
            })
        };
        events.extend(remarks.iter().map(remark));
        for (number, group) in self.groups.iter().enumerate() {
            events.push(Event::RunStarted(self.run_started(
                number as u32,
                group,
                at_ns,
            )));
            let length_ns = length_ns(group);
            at_ns += length_ns;
            events.push(Event::Interval(self.interval(number as u32, group, at_ns)));
            events.push(Event::RunFinished(RunFinished {
                run: number as u32,
                unix_ns: at_ns,
                reason: FinishReason::Complete,
                first_measured: 1,
                last_measured: 1,
                scheduled: 0,
                submitted: 0,
                unsent: 0,
                drain_ns: 0,
                outstanding: Vec::new(),
                late: Vec::new(),
                starts: Vec::new(),
            }));
        }
        events.push(Event::ExecutionFinished(ExecutionFinished {
            unix_ns: at_ns,
            reason: FinishReason::Complete,
        }));
        events
    }

    fn started(&self, unix_ns: u64) -> ExecutionStarted {
        let bound = BoundPlan {
            makers: Vec::new(),
            plan: Plan {
                labels: self.globals.clone(),
                ..Plan::default()
            },
            targets: Vec::new(),
            runs: Vec::new(),
        };
        ExecutionStarted {
            unix_ns,
            time_zone: "UTC".to_owned(),
            fathom_version: env!("CARGO_PKG_VERSION").to_owned(),
            arguments: vec!["import".to_owned(), self.name.to_owned()],
            inputs: vec![(self.name.to_owned(), self.text.to_owned())],
            plan_json: serde_json::to_string(&bound).expect("a plan is plain data"),
            host: HostFacts::default(),
            targets: vec![ExecutionTarget {
                name: "targets of fio".to_owned(),
                ..ExecutionTarget::default()
            }],
            backend: "fio".to_owned(),
            backend_reason: format!("measured by {}", self.version),
            labels: vec![Label::new("measured by", &self.version)],
            ..ExecutionStarted::default()
        }
    }

    fn run_started(&self, number: u32, group: &[ImportedJob], unix_ns: u64) -> RunStarted {
        let pools = group.iter().map(|job| PoolInfo {
            name: job.name.clone(),
            slots: job.slots,
        });
        let streams = group.iter().enumerate().map(|(place, job)| StreamInfo {
            name: job.name.clone(),
            targets: vec![TargetId(0)],
            pool: place as u32,
            asked_rate: None,
            share_pct: 100.0 / group.len() as f64,
            labels: job.labels.clone(),
            law: None,
            host: 0,
            cache_mode: None,
        });
        let mut names: Vec<&str> = group.iter().map(|job| job.name.as_str()).collect();
        // Members of one job.
        names.dedup();
        RunStarted {
            run: number,
            runs: self.groups.len() as u32,
            name: match names.as_slice() {
                [one] => (*one).to_owned(),
                [one, .., last] => format!("{one} … {last}"),
                [] => String::new(),
            },
            kind: RunKind::Measure,
            unix_ns,
            interval_ns: length_ns(group),
            warmup_ns: 0,
            window_ns: Some(length_ns(group)),
            unmeasured_intervals: 0,
            load: Load::FlatOut,
            asked_rate: asked_rate(group),
            law: None,
            is_open_loop: false,
            pools: pools.collect(),
            streams: streams.collect(),
            expected_bytes: None,
            labels: Vec::new(),
            swept: Vec::new(),
        }
    }

    fn interval(&self, run: u32, group: &[ImportedJob], unix_ns: u64) -> Interval {
        let mut figures = Vec::new();
        let (mut workers, mut streams) = (WorkerSample::default(), Vec::new());
        let mut pools = Vec::new();
        for (place, job) in group.iter().enumerate() {
            workers.usage.add(&job.usage);
            workers.workers += 1;
            figures.extend(figures_of(job, place));
            let service_ns: u64 = job.directions.iter().map(|one| one.total.sum_ns).sum();
            pools.push(PoolSample {
                slots: job.slots,
                busy_ns: service_ns.min(u64::from(job.slots) * length_ns(group)),
                exhausted_ns: 0,
            });
            streams.push(StreamSample {
                handover: Some(job.handover.clone()),
                ..StreamSample::default()
            });
        }
        // Counters of disks are of all runs together.
        let is_last = run as usize + 1 == self.groups.len();
        Interval {
            run,
            number: 1,
            start_ns: 0,
            end_ns: length_ns(group),
            unix_ns,
            phase: IntervalPhase::Measured,
            figures,
            engine: EngineSample {
                streams,
                pools,
                workers,
                ..EngineSample::default()
            },
            host: HostSample {
                devices: if is_last {
                    self.disks.clone()
                } else {
                    Vec::new()
                },
                ..HostSample::default()
            },
            lost: measure::LostParts::default(),
            within: Vec::new(),
        }
    }
}

fn length_ns(group: &[ImportedJob]) -> u64 {
    let longest_ms = group.iter().map(|job| job.runtime_ms).max().unwrap_or(0);
    longest_ms.max(1) * NS_PER_MS
}

fn figures_of(job: &ImportedJob, place: usize) -> Vec<Figure> {
    let figure = |(number, one): (usize, &ImportedDirection)| Figure {
        key: FigureKey {
            stream: StreamId::at(place),
            target: TargetId(0),
            operation: one.operation,
        },
        operations: one.operations,
        bytes: one.bytes,
        // fio counts them for the job as a whole.
        errors: if number == 0 { job.errors } else { 0 },
        short_transfers: one.short,
        service: one.total.clone(),
        response: one.total.clone(),
    };
    job.directions.iter().enumerate().map(figure).collect()
}

fn disk(object: &Map<String, Value>, total_ns: u64) -> DeviceSample {
    let ns = |key: &str| whole(object, key) * NS_PER_MS;
    // Busy time is told as a share of the whole time.
    DeviceSample {
        device: text_of(object, "name"),
        counters: DeviceCounters {
            reads: whole(object, "read_ios"),
            read_bytes: whole(object, "read_sectors") * 512,
            read_ns: ns("read_ticks"),
            writes: whole(object, "write_ios"),
            written_bytes: whole(object, "write_sectors") * 512,
            write_ns: ns("write_ticks"),
            busy_ns: (real(object, "util") / 100.0 * total_ns as f64) as u64,
            weighted_ns: ns("in_queue"),
            read_merges: whole(object, "read_merges"),
            write_merges: whole(object, "write_merges"),
            ..DeviceCounters::default()
        },
        ..DeviceSample::default()
    }
}

const _: () = assert!(
    DEPTH_CLASSES == 7 && BATCH_CLASSES == 7,
    "fio has seven of each"
);
