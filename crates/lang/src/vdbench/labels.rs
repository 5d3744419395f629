//! What reports need back of a run in the words of the language; see [`super::lower`] for the keys.
use super::expand::{RawRate, RawRun};
use super::lanes::threads_of_workload;
use super::lower::{Job, PREPARATION, PREPARATION_SLOTS};
use super::model::{LoopKind, LoopValue, RunDefinition, Seek, Workload};
use plan::{Label, Swept, TransferSizes};

/// What flat files print where workloads differ.
const NOT_AVAILABLE: &str = "n/a";

/// The label that names the definition of a run.
pub(crate) const DEFINITION: &str = "vdbench.rd";

/// The labels of one run.
pub(crate) fn run_labels(job: &Job<'_>, run: &RawRun, definition: &RunDefinition) -> Vec<Label> {
    let mut labels = vec![
        Label::new(DEFINITION, definition.name.clone()),
        Label::new("loops", run.loops_text.clone()),
        Label::new("vdbench.elapsed", definition.times.elapsed_s.to_string()),
    ];
    let (rate, requested) = match &run.rate {
        RawRate::Max => (
            Some(format!("{} MAX", super::expand::control(definition))),
            Some(9_999_988.0),
        ),
        RawRate::CurveBase(_) => (Some(run.simulated_rate.clone()), Some(9_999_977.0)),
        RawRate::PerSecond(rate) => (Some(super::expand::printed_rate(*rate, "")), Some(*rate)),
        RawRate::Steps(_) => (Some(run.simulated_rate.clone()), None),
        RawRate::CurvePoint(..) | RawRate::PercentOfPrevious(_) => (None, None),
    };
    labels.extend(rate.map(|rate| Label::new("vdbench.rate", rate)));
    labels.extend(requested.map(|rate| Label::new("flat.reqrate", format!("{rate:.4}"))));
    labels.extend(flat_labels(job, run, definition));
    labels
}

/// The values of the loops that made a run, where they are numbers.
pub(crate) fn swept(run: &RawRun) -> Vec<Swept> {
    let of = |(kind, value): &(LoopKind, LoopValue)| {
        let number = match value {
            LoopValue::Number(number) | LoopValue::Ratio(number, _) => *number,
            LoopValue::Seek(seek) => seek_number(*seek),
            LoopValue::Word(_) => return None,
        };
        Some(Swept::new(swept_name(*kind), number))
    };
    run.values.iter().filter_map(of).collect()
}

fn swept_name(kind: LoopKind) -> &'static str {
    match kind {
        LoopKind::TransferSize => "transfer_size_bytes",
        LoopKind::Threads => "threads",
        LoopKind::ReadPct => "read_pct",
        LoopKind::ReadHitPct => "read_hit_pct",
        LoopKind::WriteHitPct => "write_hit_pct",
        LoopKind::SeekPct => "seek_pct",
        LoopKind::HitArea => "hit_area_bytes",
        LoopKind::CompressionRatio => "compression_ratio",
        LoopKind::Depth => "tree_depth",
        LoopKind::Width => "tree_width",
        LoopKind::Files => "files",
        LoopKind::Sizes => "file_size_bytes",
        LoopKind::TotalSize => "total_size_bytes",
        LoopKind::WorkingSet => "working_set_bytes",
        LoopKind::Operation => "operation",
        LoopKind::FileRate => "file_rate_per_s",
    }
}

/// The labels of the run that makes files, with transfers of these sizes.
pub(crate) fn preparation_labels(transfer_bytes: &[u64], job: &Job<'_>) -> Vec<Label> {
    let size = same(transfer_bytes.iter().map(|bytes| *bytes as f64));
    let none = format!("{:.4}", 0.0);
    vec![
        Label::new(DEFINITION, PREPARATION),
        Label::new("loops", format!("threads={PREPARATION_SLOTS} iorate=max")),
        Label::new("vdbench.rate", "Uncontrolled MAX"),
        Label::new("vdbench.elapsed", "(none)"),
        Label::new("flat.xfersize", or_not_available(size, 0)),
        // A value of a loop, as the text of the run has it.
        Label::new("flat.threads", format!("{PREPARATION_SLOTS}.0000")),
        Label::new("flat.rdpct", none.clone()),
        Label::new("flat.rhpct", none.clone()),
        Label::new("flat.whpct", none),
        Label::new("flat.seekpct", NOT_AVAILABLE),
        Label::new("flat.lunsize", NOT_AVAILABLE),
        compression_label(job.general.compression_ratio),
    ]
}

fn flat_labels(job: &Job<'_>, run: &RawRun, definition: &RunDefinition) -> Vec<Label> {
    let workloads = &definition.workloads;
    let swept = |kind: LoopKind| {
        run.values.iter().find_map(|(found, value)| match value {
            LoopValue::Number(number) | LoopValue::Ratio(number, _) if *found == kind => {
                Some(*number)
            }
            LoopValue::Seek(seek) if *found == kind => Some(seek_number(*seek)),
            _ => None,
        })
    };
    let share = |kind: LoopKind, of: &dyn Fn(&Workload) -> f64| {
        let common = swept(kind).or_else(|| same(workloads.iter().map(of)));
        // The original shows nothing for workloads that run to the end of their storage.
        or_not_available(common.filter(|value| *value >= 0.0), 4)
    };
    let size = swept(LoopKind::TransferSize).or_else(|| {
        same(workloads.iter().map(|workload| match workload.transfer {
            TransferSizes::Fixed(bytes) => bytes as f64,
            _ => f64::NAN,
        }))
    });
    let threads = swept(LoopKind::Threads).map_or_else(
        || {
            let used = job.storages_of_run(definition, run.choice);
            let of_storage = used.iter().map(|index| job.storages[*index].threads);
            let each: Vec<u32> = if job.general.concatenates {
                workloads.iter().map(threads_of_workload).collect()
            } else {
                of_storage.collect()
            };
            same(each.into_iter().map(f64::from))
                .map_or("-1".to_owned(), |threads| format!("{threads}"))
        },
        |threads| format!("{threads:.4}"),
    );
    let ratio = swept(LoopKind::CompressionRatio).unwrap_or(job.general.compression_ratio);
    vec![
        Label::new("flat.xfersize", or_not_available(size, 0)),
        Label::new("flat.threads", threads),
        Label::new(
            "flat.rdpct",
            share(LoopKind::ReadPct, &|workload| workload.read_pct),
        ),
        Label::new(
            "flat.rhpct",
            share(LoopKind::ReadHitPct, &|workload| workload.read_hit_pct),
        ),
        Label::new(
            "flat.whpct",
            share(LoopKind::WriteHitPct, &|workload| workload.write_hit_pct),
        ),
        Label::new(
            "flat.seekpct",
            share(LoopKind::SeekPct, &|workload| seek_number(workload.seek)),
        ),
        Label::new("flat.lunsize", NOT_AVAILABLE),
        compression_label(ratio),
    ]
}

fn compression_label(ratio: f64) -> Label {
    Label::new("flat.compratio", format!("{ratio:.4}"))
}

fn or_not_available(value: Option<f64>, decimals: usize) -> String {
    value.map_or(NOT_AVAILABLE.to_owned(), |value| {
        format!("{value:.decimals$}")
    })
}

fn seek_number(seek: Seek) -> f64 {
    match seek {
        Seek::Percent(pct) => pct,
        Seek::SequentialFromRandom => 0.0,
        Seek::UntilEnd => -1.0,
        Seek::Poisson(_) => 100.0,
    }
}

/// The value that all have.
fn same(mut values: impl Iterator<Item = f64>) -> Option<f64> {
    let first = values.next().filter(|first| !first.is_nan())?;
    values.all(|value| value == first).then_some(first)
}
