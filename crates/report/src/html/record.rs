//! What the page keeps of a run once it is over: its figures, its series and the words of its verdict. Everything comes
//! from [`EndedRun`]; nothing is measured or judged here.
use super::columns::{Distribution, PERCENTILES, TimeSeries};
use super::text::Short;
use crate::fio::holds_back;
use crate::summary::{self, Row};
use analysis::words::{bounded, latency};
use analysis::{EndedRun, Evidence, Finding, HostPoint, Slowest, Word, host_points, slowest};
use measure::{DataFigures, Figure, HostId, LatencyFigures, RunStarted, RunTotals, StreamInfo};
use plan::{Label, Load, Operation, RunKind, StreamId};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Percentiles in microseconds.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Percentiles {
    pub mean: Short,
    pub p50: Short,
    pub p90: Short,
    pub p99: Short,
    pub p999: Short,
    pub max: Short,
    /// Which of these are lower bounds, as something never came back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub at_least: Vec<&'static str>,
    #[serde(skip)]
    pub count: u64,
}

/// The figures of an operation, a stream or a target within a run.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Part {
    pub name: String,
    pub rate: Short,
    pub bytes: Short,
    pub errors: u64,
    pub response: Percentiles,
}

/// The same run split three ways. A way with only one part says nothing and is left empty, but
/// for operations.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Parts {
    pub operations: Vec<Part>,
    /// Streams of one name together: groups are told apart on their own.
    pub streams: Vec<Part>,
    /// Reporting groups, such as the slaves of the hosts that a job names.
    pub groups: Vec<Part>,
    /// Targets by number; their names are kept once for the whole page.
    pub targets: Vec<(u32, Part)>,
}

/// One run. Rates per second, latencies in microseconds, CPU per operation in nanoseconds.
#[derive(Clone, Debug, Serialize)]
pub(super) struct RunRecord {
    pub name: String,
    pub measures: bool,
    pub load: String,
    pub labels: Vec<(String, String)>,
    pub asked: Option<f64>,
    pub rate: f64,
    pub bytes: f64,
    pub operations: u64,
    pub errors: u64,
    pub open: bool,
    pub length_s: Short,
    pub intervals: u32,
    pub response: Percentiles,
    pub service: Percentiles,
    pub lateness_p99: Option<Short>,
    /// Share of submissions that were late, in percent.
    pub late: Option<Short>,
    pub slots: u32,
    pub busy: Short,
    pub exhausted: Short,
    pub backlog: u64,
    pub cpu: Option<Short>,
    pub own_cpu: Option<Short>,
    pub submit: Option<Short>,
    /// Completions fell short of the arrivals of the schedule.
    pub missed: bool,
    /// A pool had no free slot while arrivals waited.
    pub is_exhausted: bool,
    /// The words of its verdict, the one that leads first.
    pub findings: Vec<Told>,
    pub parts: Parts,
    pub series: TimeSeries,
    pub distribution: Distribution,
    /// Empty in a closed loop, where service is response.
    pub service_distribution: Distribution,
    /// Whether the host told its CPU times; per I/O they are known only where I/Os succeeded.
    #[serde(skip)]
    pub is_steal_known: bool,
    /// What was seen of each check.
    #[serde(skip)]
    pub evidence: Vec<Evidence>,
    /// A rate was asked of it, or pauses: what it reached is not the most that it can reach.
    #[serde(skip)]
    pub is_throttled: bool,
    /// Whether it ended as planned.
    #[serde(skip)]
    pub is_whole: bool,
    #[serde(skip)]
    pub devices: Vec<DeviceRow>,
    /// Where there are several.
    #[serde(skip)]
    pub hosts: Vec<HostRow>,
    #[serde(skip)]
    pub slowest: Option<Slowest>,
    /// Where several went on side by side.
    #[serde(skip)]
    pub jobs: Vec<JobRecord>,
    /// What was sent where compression or duplicates were asked, of each kind of data, behind the names of
    /// the streams that sent it.
    #[serde(skip)]
    pub data: Vec<(String, DataFigures)>,
}

/// A word on a run, as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Told {
    pub word: &'static str,
    #[serde(skip)]
    pub finding: Word,
    pub text: String,
    /// Whether it makes the figures doubtful.
    pub is_doubt: bool,
}

impl Told {
    fn of(finding: &Finding) -> Self {
        Self {
            word: finding.word.name(),
            finding: finding.word,
            text: finding.text.clone(),
            is_doubt: finding.word.is_doubt(),
        }
    }
}

/// What one of several hosts did during a run.
#[derive(Clone, Debug)]
pub(super) struct HostRow {
    pub host: HostId,
    pub rate: f64,
    pub bytes: f64,
    pub response: Percentiles,
    pub cpu_busy: Option<f64>,
    pub cpu: Option<f64>,
}

impl HostRow {
    fn of(point: &HostPoint) -> Self {
        Self {
            host: point.host,
            rate: point.rate,
            bytes: point.bytes_per_s,
            response: Percentiles::of(&point.response).bounded_from(point.response_bound_ns),
            cpu_busy: point.cpu_busy,
            cpu: point.cpu_ns_per_operation,
        }
    }
}

/// One of several jobs of a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct JobRecord {
    pub name: String,
    /// Per second; not a number without a measured interval.
    pub rate: f64,
    pub bytes: f64,
    /// In nanoseconds, and whether it is a lower bound; `None` without a sample.
    pub response_p50: Option<(u64, bool)>,
    pub response_p99: Option<(u64, bool)>,
    pub errors: u64,
    /// Syncs per second, and the p50 and p99 of their service times in nanoseconds.
    pub syncs: Option<(f64, Option<u64>, Option<u64>)>,
}

impl JobRecord {
    pub fn of(part: &Row) -> Self {
        let [p50, _, p99, ..] = part.responses_ns();
        let with_bound = |value: Option<u64>| value.map(|ns| (ns, part.is_response_bound(ns)));
        Self {
            name: part.run.clone(),
            rate: part.rate.unwrap_or(f64::NAN),
            bytes: part.bytes_per_second.unwrap_or(f64::NAN),
            response_p50: with_bound(p50),
            response_p99: with_bound(p99),
            errors: part.errors,
            syncs: part.syncs.map(|(rate, times)| (rate, times.p50, times.p99)),
        }
    }
}

/// What a block device did during a run, beside what was asked of the run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct DeviceRow {
    pub device: String,
    pub read_rate: f64,
    pub read_bytes: f64,
    pub write_rate: f64,
    pub written_bytes: f64,
    pub busy_share: f64,
    pub depth: f64,
}

impl Percentiles {
    fn of(figures: &LatencyFigures) -> Self {
        let count = figures.histogram.count();
        if count == 0 {
            let none = Short(f64::NAN);
            return Self {
                mean: none,
                p50: none,
                p90: none,
                p99: none,
                p999: none,
                max: none,
                at_least: Vec::new(),
                count,
            };
        }
        let at = |percentile: f64| Short(figures.percentile_ns(percentile) as f64 / 1e3);
        Self {
            mean: Short(figures.mean_ns() / 1e3),
            p50: at(50.0),
            p90: at(90.0),
            p99: at(99.0),
            p999: at(99.9),
            max: Short(figures.max_ns as f64 / 1e3),
            at_least: Vec::new(),
            count,
        }
    }

    /// Without percentiles that an import does not tell.
    fn recorded(mut self, has: impl Fn(f64) -> bool) -> Self {
        let values = [&mut self.p50, &mut self.p90, &mut self.p99, &mut self.p999];
        let values = PERCENTILES.into_iter().zip(values);
        for (_, value) in values.filter(|(percentile, _)| !has(*percentile)) {
            *value = Short(f64::NAN);
        }
        self
    }

    /// The same, where latencies from `bound_ns` on are lower bounds. The mean is one then, too.
    fn bounded_from(mut self, bound_ns: Option<u64>) -> Self {
        if let Some(bound_ns) = bound_ns {
            let is_bound = |value: Short| value.0 * 1e3 >= bound_ns as f64;
            let named = [
                ("mean", true),
                ("p50", is_bound(self.p50)),
                ("p90", is_bound(self.p90)),
                ("p99", is_bound(self.p99)),
                ("p999", is_bound(self.p999)),
                ("max", is_bound(self.max)),
            ];
            let bounds = named.into_iter().filter(|(_, is_bound)| *is_bound);
            self.at_least = bounds.map(|(name, _)| name).collect();
        }
        self
    }

    /// One of these by its name, in words.
    pub fn words(&self, name: &str) -> String {
        let value = match name {
            "mean" => self.mean,
            "p50" => self.p50,
            "p90" => self.p90,
            "p99" => self.p99,
            "p999" => self.p999,
            _ => self.max,
        };
        match value.0.is_finite() {
            true => bounded(self.at_least.contains(&name), latency(value.0 * 1e3)),
            false => "–".into(),
        }
    }
}

impl RunRecord {
    pub fn new(run: &EndedRun, series: TimeSeries) -> Self {
        let EndedRun { totals, judged, .. } = run;
        let (started, point) = (&totals.started, &judged.point);
        let response = totals.response(None);
        let service = totals.service(None);
        let lateness = totals.lateness();
        let operations = totals.operations();
        let hosts = host_points(totals);
        let has = |percentile: f64| totals.has_percentile(percentile);
        Self {
            name: started.full_name(),
            measures: started.kind == RunKind::Measure,
            load: load_words(&started.load),
            labels: pairs(&started.labels),
            asked: started.asked_rate,
            rate: over_time(totals, totals.rate()),
            bytes: over_time(totals, totals.bytes_per_second()),
            operations,
            errors: judged.happened.failed.max(totals.errors()),
            open: started.is_open_loop,
            length_s: Short(totals.length_ns as f64 / 1e9),
            intervals: totals.intervals,
            response: Percentiles::of(&response)
                .recorded(has)
                .bounded_from(totals.response_bound_ns()),
            service: Percentiles::of(&service)
                .recorded(has)
                .bounded_from(totals.service_bound_ns()),
            lateness_p99: (started.is_open_loop && lateness.histogram.count() > 0)
                .then(|| Short(lateness.percentile_ns(99.0) as f64 / 1e3)),
            late: point.late.map(|late| Short(late.share * 100.0)),
            slots: totals.slots(),
            busy: Short(totals.slots_busy().unwrap_or(f64::NAN)),
            exhausted: Short(
                totals
                    .exhausted_share()
                    .map_or(f64::NAN, |share| share * 100.0),
            ),
            backlog: totals.streams.iter().map(|stream| stream.backlog).sum(),
            cpu: totals.host_cpu_ns_per_operation().map(Short),
            own_cpu: totals.fathom_cpu_ns_per_operation().map(Short),
            submit: totals.submit_ns_per_operation().map(Short),
            missed: point.is_missed(),
            is_exhausted: point.exhausted.is_exhausted,
            findings: judged.findings.iter().map(Told::of).collect(),
            parts: parts(totals),
            series: series.recorded(has),
            distribution: Distribution::from(&response.histogram),
            service_distribution: if started.is_open_loop {
                Distribution::from(&service.histogram)
            } else {
                Distribution::default()
            },
            is_steal_known: totals.host.cpu.is_some_and(|cpu| cpu.total_ns() > 0),
            evidence: judged.evidence.clone(),
            is_throttled: is_throttled(started),
            is_whole: summary::is_whole(totals),
            data: data(totals),
            devices: device_rows(totals),
            hosts: hosts.iter().map(HostRow::of).collect(),
            slowest: slowest(&hosts),
            jobs: Vec::new(),
        }
    }
}

impl RunRecord {
    /// Whether no word makes its figures doubtful.
    pub fn is_believed(&self) -> bool {
        !self.findings.iter().any(|told| told.is_doubt)
    }
}

/// What is counted per time has no value where no time was measured.
fn over_time(totals: &RunTotals, value: f64) -> f64 {
    if totals.length_ns == 0 {
        f64::NAN
    } else {
        value
    }
}

fn is_throttled(started: &RunStarted) -> bool {
    let is_unbounded = matches!(
        started.load,
        Load::FlatOut | Load::SearchBase { .. } | Load::PerStream
    );
    let mut streams = started.streams.iter();
    !is_unbounded
        || started.is_open_loop
        || started.asked_rate.is_some()
        || streams.any(|stream| stream.asked_rate.is_some() || stream.labels.iter().any(holds_back))
}

fn load_words(load: &Load) -> String {
    match load {
        Load::FlatOut => "flat out".into(),
        Load::Rate { .. } => "fixed rate".into(),
        Load::PercentOfPrevious { pct } => format!("{pct} % of the run before"),
        Load::SearchBase { .. } => "flat out, base of the curve".into(),
        Load::SearchPoint { pct, .. } => format!("{pct} % of the base"),
        Load::Steps { steps } => format!("{} steps of rate", steps.len()),
        Load::PerStream => "a pace per stream".into(),
    }
}

fn data(totals: &RunTotals) -> Vec<(String, DataFigures)> {
    let streams = &totals.started.streams;
    let names = |kind: &DataFigures| {
        let found = kind.streams.iter().filter_map(|id| streams.get(id.index()));
        let mut names: Vec<&str> = found.map(|stream| stream.name.as_str()).collect();
        // Streams of one name are its parts in groups.
        let mut seen = BTreeSet::new();
        names.retain(|name| seen.insert(*name));
        names.join(", ")
    };
    let kinds = totals.data.iter().filter(|kind| summary::is_asked(kind));
    kinds.map(|kind| (names(kind), kind.clone())).collect()
}

pub(super) fn pairs(labels: &[Label]) -> Vec<(String, String)> {
    let pair = |label: &Label| (label.key.clone(), label.value.clone());
    labels.iter().map(pair).collect()
}

fn parts(totals: &RunTotals) -> Parts {
    let streams = &totals.started.streams;
    let stream_name = |index: u32| match streams.get(index as usize) {
        Some(stream) if !stream.name.is_empty() => stream.name.clone(),
        _ => format!("stream {}", index + 1),
    };
    let firsts = firsts(streams, |stream| &stream.name);
    let groups = firsts_of_groups(streams);
    let of = |firsts: &[u32], figure: &Figure| {
        let stream = figure.key.stream;
        firsts.get(stream.index()).copied().unwrap_or(stream.0)
    };
    let group_name = |index: u32| {
        let labels = streams.get(index as usize).map(|stream| &stream.labels[..]);
        let group = Label::find(labels.unwrap_or_default(), "group");
        group.unwrap_or_default().to_string()
    };
    let operation_name = |operation: Operation| operation.name().replace('_', " ");
    let mut parts = Parts {
        operations: split(totals, |figure| figure.key.operation, operation_name)
            .into_iter()
            .map(|(_, part)| part)
            .collect(),
        streams: split(totals, |figure| of(&firsts, figure), stream_name)
            .into_iter()
            .map(|(_, part)| part)
            .collect(),
        groups: split(totals, |figure| of(&groups, figure), group_name)
            .into_iter()
            .map(|(_, part)| part)
            .collect(),
        targets: by_target(totals),
    };
    if parts.streams.len() < 2 {
        parts.streams.clear();
    }
    if parts.groups.len() < 2 {
        parts.groups.clear();
    }
    if parts.targets.len() < 2 {
        parts.targets.clear();
    }
    parts
}

/// For each stream, the first one with the same word; without a word, it is its own.
fn firsts<'a>(streams: &'a [StreamInfo], word: impl Fn(&'a StreamInfo) -> &'a str) -> Vec<u32> {
    let mut first: BTreeMap<&str, u32> = BTreeMap::new();
    let place = |(index, stream): (u32, &'a StreamInfo)| match word(stream) {
        "" => index,
        word => *first.entry(word).or_insert(index),
    };
    (0..).zip(streams).map(place).collect()
}

fn firsts_of_groups(streams: &[StreamInfo]) -> Vec<u32> {
    let group = |stream: &StreamInfo| Label::find(&stream.labels, "group").is_some();
    if !streams.iter().any(group) {
        // All belong to one.
        return vec![0; streams.len()];
    }
    firsts(streams, |stream| {
        Label::find(&stream.labels, "group").unwrap_or("")
    })
}

/// Of streams whose targets are counted apart.
fn by_target(totals: &RunTotals) -> Vec<(u32, Part)> {
    let is_apart = |figure: &&Figure| {
        let stream = totals.started.streams.get(figure.key.stream.index());
        stream.is_none_or(|stream| Label::find(&stream.labels, "files").is_none())
    };
    let apart = totals.figures.iter().filter(is_apart);
    let target = |figure: &Figure| figure.key.target.0;
    split_some(totals, apart, target, |_| String::new())
}

fn split<K: Ord + Copy>(
    totals: &RunTotals,
    key: impl Fn(&Figure) -> K,
    name: impl Fn(K) -> String,
) -> Vec<(K, Part)> {
    split_some(totals, totals.figures.iter(), key, name)
}

fn split_some<'a, K: Ord + Copy>(
    totals: &RunTotals,
    figures: impl Iterator<Item = &'a Figure>,
    key: impl Fn(&Figure) -> K,
    name: impl Fn(K) -> String,
) -> Vec<(K, Part)> {
    let mut groups: BTreeMap<K, Figure> = BTreeMap::new();
    let mut bounds: BTreeMap<K, u64> = BTreeMap::new();
    let mut streams: BTreeMap<K, BTreeSet<StreamId>> = BTreeMap::new();
    for one in &totals.unreturned {
        let bound = bounds.entry(key(&Figure::empty(one.key)));
        let bound_ns = bound.or_insert(u64::MAX);
        *bound_ns = one.response_ns.min(*bound_ns);
    }
    for figure in figures {
        let of_key = streams.entry(key(figure)).or_default();
        of_key.insert(figure.key.stream);
        groups
            .entry(key(figure))
            .and_modify(|group| group.merge(figure))
            .or_insert_with(|| figure.clone());
    }
    let seconds = totals.length_ns as f64 / 1e9;
    let part = |(key, figure): (K, Figure)| {
        let part = Part {
            name: name(key),
            rate: Short(over_time(totals, figure.operations as f64 / seconds)),
            bytes: Short(over_time(totals, figure.bytes as f64 / seconds)),
            errors: figure.errors,
            response: Percentiles::of(&figure.response)
                .recorded(|percentile| {
                    let streams = streams[&key].iter().copied();
                    totals.started.has_percentile(streams, percentile)
                })
                .bounded_from(bounds.get(&key).copied()),
        };
        (key, part)
    };
    groups.into_iter().map(part).collect()
}

fn device_rows(totals: &RunTotals) -> Vec<DeviceRow> {
    let seconds = totals.length_ns as f64 / 1e9;
    let row = |sample: &measure::DeviceSample| {
        let counters = &sample.counters;
        DeviceRow {
            device: sample.device.clone(),
            read_rate: counters.reads as f64 / seconds,
            read_bytes: counters.read_bytes as f64 / seconds,
            write_rate: counters.writes as f64 / seconds,
            written_bytes: counters.written_bytes as f64 / seconds,
            busy_share: counters.busy_ns as f64 / totals.length_ns as f64,
            depth: counters.weighted_ns as f64 / totals.length_ns as f64,
        }
    };
    if totals.length_ns == 0 {
        return Vec::new();
    }
    totals.host.devices.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{IntervalShape, RunShape, Scenario, StreamShape, Work};
    use measure::RunFold;

    /// Two workloads, each in two groups, with 100, 200, 300 and 400 reads in a second.
    fn totals(groups: [&str; 2]) -> RunTotals {
        let stream = |workload: &str, group: &str| StreamShape {
            workload: workload.into(),
            share_pct: 25.0,
            group: group.into(),
            ..StreamShape::default()
        };
        let work = |stream: u32| Work {
            stream,
            operation: Operation::Read,
            service: vec![(50_000, 100 * u64::from(stream + 1))],
            wait_ns: 0,
        };
        let second = IntervalShape {
            work: (0..4).map(work).collect(),
            transfer_bytes: 4096,
            ..IntervalShape::default()
        };
        let [one, two] = groups;
        let scenario = Scenario {
            targets: vec![("sd1".into(), "/dev/sdx".into(), 1 << 30)],
            runs: vec![RunShape {
                streams: vec![
                    stream("wd1", one),
                    stream("wd1", two),
                    stream("wd2", one),
                    stream("wd2", two),
                ],
                intervals: vec![second],
                ..RunShape::default()
            }],
            ..Scenario::default()
        };
        let mut fold = RunFold::default();
        let events = scenario.events();
        events.iter().find_map(|event| fold.fold(event)).unwrap()
    }

    fn rates(parts: &[Part]) -> Vec<(&str, f64)> {
        let rate = |part: &'_ Part| part.rate.0;
        parts
            .iter()
            .map(|part| (part.name.as_str(), rate(part)))
            .collect()
    }

    #[test]
    fn streams_are_shown_by_name_and_groups_beside_them() {
        let parts = parts(&totals(["a-0", "a-1"]));
        assert_eq!(rates(&parts.streams), [("wd1", 300.0), ("wd2", 700.0)]);
        assert_eq!(rates(&parts.groups), [("a-0", 400.0), ("a-1", 600.0)]);
    }

    #[test]
    fn a_run_without_groups_shows_none() {
        let parts = parts(&totals(["", ""]));
        assert_eq!(rates(&parts.streams), [("wd1", 300.0), ("wd2", 700.0)]);
        assert!(parts.groups.is_empty());
    }
}
