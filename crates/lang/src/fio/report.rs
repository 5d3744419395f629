//! What a job says of its reports and logs, as values. Plans and results carry the options as the user wrote them, in
//! labels; whoever writes reports asks here what they mean. Read [`ReportOptions::of`] first.
use super::declare;
use super::flow;
use super::jobs::{EngineChoice, Given, Job};
use super::number::Base;
use super::setting::{Setting, declared};
use super::text::Words;
use super::value::{self, Context, Value};
use crate::parameter::DefaultValue;
use crate::sink::Sink;
use crate::{Environment, LintSelection, MemoryFiles};
use plan::{IoPriority, Label, SourceId, Span};

/// The label of a stream whose windows of logs are too short for intervals, and its value.
pub(super) const WINDOWS_LABEL: (&str, &str) = ("log_windows", "operations");

/// In front of the name of an option in the label of a stream, and of a plan.
pub(super) const OWN: &str = "option.";
pub(super) const GLOBAL: &str = "global.";

const NS_PER_MS: u64 = 1_000_000;

/// How one clone is to be reported.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportOptions {
    /// In percent.
    pub percentiles: Vec<f64>,
    pub submission: Shown,
    pub completion: Shown,
    pub total: Shown,
    pub unified: Unified,
    /// Digits of rates.
    pub figures: usize,
    /// Whether `k` is 1000 in what is shown first.
    pub is_decimal: bool,
    pub shows_bits: bool,
    /// Whether a failure does not end the job.
    pub bears_errors: bool,
    /// Whether failures that the job ignores are told all the same.
    pub tells_ignored: bool,
    /// Whether an operation that takes long ends the job.
    pub bounds_latency: bool,
    pub shows_disks: bool,
    /// Whether it is told of at all (`stats`).
    pub is_reported: bool,
    /// As given; `None` where the slots of the pool say it.
    pub depth: Option<u32>,
    pub latency_target_ns: u64,
    pub latency_window_ns: u64,
    /// In percent.
    pub latency_percentile: f64,
    pub description: Option<String>,
    /// `rw`, as given.
    pub pattern: String,
    pub engine: String,
    /// Whether sizes are those of sequential and random I/O, and not of reads and writes.
    pub sizes_by_order: bool,
    pub is_thread: bool,
    pub makes_files_on_open: bool,
    pub logs: LogOptions,
}

/// Whether one kind of latency is shown, and with percentiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    pub is_shown: bool,
    pub has_percentiles: bool,
}

/// How directions are added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unified {
    Apart,
    Mixed,
    Both,
}

/// What one clone logs. Each base begins the name of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogOptions {
    pub bandwidth: Option<String>,
    pub rate: Option<String>,
    pub latency: Option<String>,
    pub histogram: Option<String>,
    /// The file that records all I/O.
    pub record: Option<String>,
    /// Length of a window; `None` for a row per operation.
    pub window_ns: Option<u64>,
    pub histogram_window_ns: u64,
    /// Each step halves the buckets of a histogram.
    pub coarseness: u32,
    /// Whether windows are folded from single operations.
    pub folds_operations: bool,
    pub value: WindowValue,
    pub has_offset: bool,
    pub has_priority: bool,
    /// Of I/Os without one of their own, as the kernel takes it.
    pub priority: u16,
    pub has_issue_time: bool,
    /// Whether times are since 1970.
    pub is_absolute: bool,
    /// Whether all clones share a file.
    pub appends: bool,
    /// Whether rows are kept as compressed samples.
    pub is_packed: bool,
    /// Parts of the latency without a log.
    pub hidden: Vec<&'static str>,
    /// Kinds of logs that have no rows of single operations, as nobody looks at the clock for them.
    pub without_single: Vec<&'static str>,
}

/// What a row of a window tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WindowValue {
    #[default]
    Mean,
    Max,
    Both,
}

impl ReportOptions {
    /// From the labels that the reader left on a stream and on its plan. What cannot be read counts as not given: the
    /// reader of the job has reported it.
    pub fn of(own: &[Label], global: &[Label]) -> Self {
        let job = job_of(own, global);
        let reduced = job.is_on(on!("gtod_reduce"));
        let shown = |disable: Setting<bool>, percentiles: Setting<bool>| {
            let is_shown = !reduced && !job.is_on(disable);
            Shown {
                is_shown,
                has_percentiles: is_shown && job.is_on(percentiles),
            }
        };
        let bears =
            |name: &str| !matches!(given(&job, name).unwrap_or("").trim(), "" | "none" | "0");
        Self {
            percentiles: percentiles(&job),
            submission: shown(on!("disable_slat"), on!("slat_percentiles")),
            completion: shown(on!("disable_clat"), on!("clat_percentiles")),
            total: shown(on!("disable_lat"), on!("lat_percentiles")),
            unified: match job.word_of(word!("unified_rw_reporting")) {
                "both" | "2" => Unified::Both,
                "mixed" | "1" => Unified::Mixed,
                _ => Unified::Apart,
            },
            figures: job.get(number!("significant_figures")) as usize,
            is_decimal: job.word_of(word!("kb_base")) == "1000",
            shows_bits: job.word_of(word!("unit_base")) == "1",
            bears_errors: bears("continue_on_error") || bears("ignore_error"),
            tells_ignored: job.is_on(on!("error_dump")),
            bounds_latency: ["max_latency", "latency_target"]
                .iter()
                .any(|name| job.given(name).is_some()),
            shows_disks: job.is_on(on!("disk_util")),
            is_reported: job.is_on(on!("stats")),
            depth: job.number("iodepth").map(|depth| depth as u32),
            latency_target_ns: job.get(nanos!("latency_target")).0,
            latency_window_ns: job.get(nanos!("latency_window")).0,
            latency_percentile: job.get(decimal!("latency_percentile")),
            description: given(&job, "description").map(str::to_owned),
            pattern: as_written(&job, word!("rw")),
            engine: given(&job, "ioengine")
                .unwrap_or(text!("ioengine").default)
                .trim()
                .trim_end_matches(',')
                .to_owned(),
            sizes_by_order: job.is_on(on!("bs_is_seq_rand")),
            is_thread: job.is_on(on!("thread")),
            makes_files_on_open: job.is_on(on!("create_on_open")),
            logs: LogOptions::read(&job, own),
        }
    }
}

impl LogOptions {
    /// As [`ReportOptions::of`], of logs alone.
    pub fn of(own: &[Label], global: &[Label]) -> Self {
        Self::read(&job_of(own, global), own)
    }

    fn read(job: &Job, own: &[Label]) -> Self {
        let name = Label::find(own, "job").unwrap_or("job");
        let base = |option: &str| {
            let text = given(job, option)?.trim();
            Some(if text.is_empty() { name } else { text }.to_owned())
        };
        let window_ns = |option: Setting<i64>| {
            let ms = u64::try_from(job.get(option)).unwrap_or(0);
            ms.saturating_mul(NS_PER_MS)
        };
        let histogram_window_ns = window_ns(number!("log_hist_msec"));
        let is_reduced = job.is_on(on!("gtod_reduce"));
        let hidden = [
            ("slat", on!("disable_slat")),
            ("clat", on!("disable_clat")),
            ("lat", on!("disable_lat")),
        ];
        Self {
            bandwidth: base("write_bw_log"),
            rate: base("write_iops_log"),
            latency: base("write_lat_log"),
            histogram: base("write_hist_log"),
            record: given(job, "write_iolog")
                .map(|text| text.trim().to_owned())
                .filter(|text| !text.is_empty()),
            window_ns: Some(window_ns(number!("log_avg_msec"))).filter(|length| *length > 0),
            histogram_window_ns,
            coarseness: job.get(number!("log_hist_coarseness")) as u32,
            folds_operations: Label::find(own, WINDOWS_LABEL.0) == Some(WINDOWS_LABEL.1),
            value: match job.word_of(word!("log_window_value")) {
                "max" | "1" => WindowValue::Max,
                "both" => WindowValue::Both,
                _ => WindowValue::Mean,
            },
            has_offset: job.is_on(on!("log_offset")),
            has_priority: job.is_on(on!("log_prio")),
            priority: flow::io_priority(job).map_or(0, IoPriority::word),
            has_issue_time: job.is_on(on!("log_issue_time")),
            is_absolute: job.is_on(on!("log_unix_epoch")) || job.is_on(on!("log_alternate_epoch")),
            appends: !job.is_on(on!("per_job_logs")),
            is_packed: job.is_on(on!("log_store_compressed")),
            without_single: [
                ("bw", on!("disable_bw_measurement")),
                ("iops", on!("gtod_reduce")),
            ]
            .into_iter()
            .filter(|(_, disable)| is_reduced || job.is_on(*disable))
            .map(|(kind, _)| kind)
            .collect(),
            hidden: hidden
                .into_iter()
                .filter(|(_, disable)| is_reduced || job.is_on(*disable))
                .map(|(kind, _)| kind)
                .collect(),
        }
    }

    /// Whether it asks for no log; a record of I/O is none.
    pub fn is_empty(&self) -> bool {
        let has_histograms = self.histogram.is_some() && self.histogram_window_ns > 0;
        let rows = [&self.bandwidth, &self.rate, &self.latency];
        !has_histograms && rows.iter().all(|base| base.is_none())
    }

    /// Whether each operation has to be told.
    pub fn wants_operations(&self) -> bool {
        let has_windows = self.folds_operations && !self.is_empty();
        self.record.is_some() || self.wants_rows() || has_windows
    }

    /// Whether a log has a row for each operation.
    pub fn wants_rows(&self) -> bool {
        let asks = [&self.bandwidth, &self.rate, &self.latency];
        self.window_ns.is_none() && asks.iter().any(|base| base.is_some())
    }
}

/// Options read again from labels, by their declarations.
fn job_of(own: &[Label], global: &[Label]) -> Job {
    let given = |labels: &[Label], front: &str| -> Vec<Given> {
        let named = labels
            .iter()
            .filter_map(|label| Some((label.key.strip_prefix(front)?, label.value.as_str())));
        named.filter_map(|(name, text)| read(name, text)).collect()
    };
    Job {
        section: words(""),
        inherited: given(global, GLOBAL),
        own: given(own, OWN),
        engine: EngineChoice::Foreign(String::new()),
        opens_file: false,
    }
}

/// What was given, as it was written.
fn given<'a>(job: &'a Job, name: &str) -> Option<&'a str> {
    job.given(name).map(Given::text)
}

fn as_written(job: &Job, option: Setting<&'static str>) -> String {
    let written = given(job, option.name).unwrap_or(option.default);
    // A number after the word is no part of it.
    let end = written.find([':', ',']).unwrap_or(written.len());
    written[..end].trim().to_owned()
}

/// In ascending order.
fn percentiles(job: &Job) -> Vec<f64> {
    const DECLARED: DefaultValue = declared("percentile_list");
    let DefaultValue::Decimals(declared) = DECLARED else {
        unreachable!("a list is declared")
    };
    let given = job.given("percentile_list");
    let mut list = match given.map(|given| &given.value) {
        Some(Value::Decimals(list)) => list.clone(),
        _ => declared.to_vec(),
    };
    list.retain(|value| *value > 0.0);
    list.sort_by(f64::total_cmp);
    list
}

fn words(text: &str) -> Words {
    Words {
        text: text.to_owned(),
        span: Span {
            source: SourceId(0),
            start: 0,
            end: 0,
        },
    }
}

/// A label is empty where an option was given without a value.
fn read(name: &str, text: &str) -> Option<Given> {
    let parameter = declare::find(name)?;
    let files = MemoryFiles::default();
    let context = Context {
        environment: &Environment::bare(&files),
        base: Base::Binary,
        knows_facts: false,
    };
    let (name, written) = (words(name), Some(words(text)).filter(|_| !text.is_empty()));
    let mut unheard = Sink::new(&LintSelection::default());
    let value = value::read(parameter, &name, written.as_ref(), &context, &mut unheard)?;
    Some(Given {
        parameter,
        name,
        written,
        value,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(front: &str, options: &[(&str, &str)]) -> Vec<Label> {
        let label = |(name, value): &(&str, &str)| Label::new(format!("{front}{name}"), *value);
        options.iter().map(label).collect()
    }

    #[test]
    fn what_is_not_given_is_as_declared() {
        let options = ReportOptions::of(&[], &[]);
        assert_eq!(options.percentiles.len(), 17);
        assert_eq!(options.percentiles[16], 99.99);
        assert!(options.completion.has_percentiles && options.total.is_shown);
        assert!(!options.submission.has_percentiles && !options.total.has_percentiles);
        assert_eq!((options.figures, options.depth), (4, None));
        assert_eq!(
            (options.pattern.as_str(), options.engine.as_str()),
            ("read", "psync")
        );
        assert_eq!(options.latency_percentile, 100.0);
        assert!(options.is_reported && options.shows_disks && !options.is_thread);
        assert!(options.logs.is_empty() && !options.logs.wants_operations());
    }

    #[test]
    fn the_last_of_a_job_counts_before_what_is_global() {
        let global = labels(GLOBAL, &[("percentile_list", "50"), ("write_lat_log", "g")]);
        let own = labels(
            OWN,
            &[
                ("percentile_list", "99"),
                ("percentile_list", "99.9:90"),
                ("latency_window", "2ms"),
                ("thread", ""),
                ("write_bw_log", ""),
                ("log_avg_msec", "500"),
                ("log_max_value", "1"),
                ("unified_rw_reporting", "both"),
            ],
        );
        let own = [own, vec![Label::new("job", "j")]].concat();
        let options = ReportOptions::of(&own, &global);
        assert_eq!(options.percentiles, [90.0, 99.9]);
        assert_eq!(options.latency_window_ns, 2_000_000);
        assert!(options.is_thread);
        assert_eq!(options.unified, Unified::Both);
        let logs = &options.logs;
        assert_eq!(logs.bandwidth.as_deref(), Some("j"));
        assert_eq!(logs.latency.as_deref(), Some("g"));
        assert_eq!(
            (logs.window_ns, logs.value),
            (Some(500_000_000), WindowValue::Max)
        );
        assert!(!logs.wants_operations());
        assert_eq!(ReportOptions::of(&[], &global).percentiles, [50.0]);
    }

    #[test]
    fn rows_of_single_operations_are_known_before_the_run() {
        let of = |options: &[(&str, &str)]| LogOptions::of(&labels(OWN, options), &[]);
        assert!(of(&[("write_lat_log", "a")]).wants_operations());
        assert!(of(&[("write_iolog", "a")]).wants_operations());
        assert!(!of(&[("write_hist_log", "a"), ("log_hist_msec", "100")]).wants_operations());
        assert!(of(&[("write_hist_log", "a")]).is_empty());
    }
}
