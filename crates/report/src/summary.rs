//! The summary of an execution: a line per run, as a table for the terminal and as CSV from the
//! same [`Row`]s. Leads with response; knows nothing of any job language but the labels that name
//! a run and its loop values.
mod json;
mod table;

pub use json::{is_json, json};
pub use table::{WIDTH, table, wrapped};
pub(crate) use table::{cut_name, is_asked};

use crate::repetitions;
use analysis::{
    Again, EndedRun, Evidence, HostPoint, Judged, Late, Mark, Percentiles, Phase, Word,
    host_points, slowest,
};
use measure::{DataFigures, FinishReason, Interval, LatencyFigures, RunTotals};
use plan::{Label, Nanos};

/// The figures of one run over its measured intervals. Times are in nanoseconds. What was not measured
/// is `None`, or percentiles of no samples, and never zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    pub run: String,
    /// Loop values of the run, such as `threads=4`; empty without loops.
    pub loops: String,
    /// What a sweep gave it and what the user called its result, by name.
    pub named: Vec<(String, String)>,
    /// Which repetition it is, from 1, where all runs are repeated.
    pub repetition: Option<u32>,
    /// Whether it ended as planned.
    pub is_whole: bool,
    /// Arrivals per second; `None` when flat out.
    pub asked_rate: Option<f64>,
    /// Successful completions per second; `None` without a measured interval, as the next one.
    pub rate: Option<f64>,
    pub bytes_per_second: Option<f64>,
    /// From the intended arrival; what was not served or never came back enters with its age.
    pub response_ns: Percentiles,
    pub service_mean_ns: Option<f64>,
    /// Syncs per second, and their service times; `None` without any.
    pub syncs: Option<(f64, Percentiles)>,
    /// From which value on response and service times are lower bounds, as something never came back.
    pub response_bound_ns: Option<u64>,
    pub service_bound_ns: Option<u64>,
    /// Operations in flight on average over the time of the window.
    pub queue_depth: Option<f64>,
    pub slots: u32,
    pub slots_busy: Option<f64>,
    /// `None` in a closed loop, where nothing has an intended arrival.
    pub late: Option<Late>,
    /// Busy time of the host per operation; `None` where the host tells nothing.
    pub host_cpu_ns: Option<f64>,
    pub own_cpu_ns: Option<f64>,
    pub errors: u64,
    /// Arrivals that were due and not served at the end.
    pub unserved: u64,
    /// Operations that never came back.
    pub unreturned: u64,
    /// What was sent, of each kind of data.
    pub data: Vec<DataFigures>,
    /// The words of its verdict, the one that leads first.
    pub marks: Vec<String>,
    /// How many of these, from the first on, make its figures doubtful.
    pub doubts: usize,
    /// What was seen of each check.
    pub evidence: Vec<Evidence>,
    /// The longest time without a success, in nanoseconds, and its target; `None` where there was none of 10 ms.
    pub still: Option<(u64, String)>,
    /// How long after what happened it was normal again, in nanoseconds.
    pub normal_again_ns: Option<u64>,
    /// How long after it no more arrivals waited than before, in nanoseconds.
    pub caught_up_ns: Option<u64>,
    /// How it was before something happened, meanwhile and after.
    pub phases: Vec<Phase>,
    /// What was marked, in order.
    pub events: Vec<Mark>,
    /// Its number in the execution, and when it began.
    pub number: u32,
    pub begun_unix_ns: u64,
    /// Of several hosts: each by itself, over the same time.
    pub hosts: Vec<HostRow>,
    /// Of jobs that went on side by side: each by itself, over the same time. Their `run` is the name of the job.
    pub parts: Vec<Row>,
}

/// What one of several hosts did in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct HostRow {
    pub name: String,
    pub point: HostPoint,
    /// Whether it is slower than the others.
    pub is_slowest: bool,
}

impl HostRow {
    fn all_of(totals: &RunTotals) -> Vec<Self> {
        let points = host_points(totals);
        let slowest = slowest(&points).map(|slowest| slowest.host);
        let of = |point: HostPoint| Self {
            name: format!("host {}", point.host + 1),
            is_slowest: slowest == Some(point.host),
            point,
        };
        points.into_iter().map(of).collect()
    }
}

impl Row {
    pub fn new(run: &EndedRun) -> Self {
        let jobs = run.jobs();
        Self {
            parts: jobs
                .map(|(totals, judged)| Self::of_part(&totals, &judged))
                .collect(),
            hosts: HostRow::all_of(&run.totals),
            ..Self::of_whole(&run.totals, &run.judged)
        }
    }

    /// The time of CPUs belongs to no part.
    fn of_part(totals: &RunTotals, judged: &Judged) -> Self {
        Self {
            host_cpu_ns: None,
            own_cpu_ns: None,
            repetition: None,
            ..Self::of_whole(totals, judged)
        }
    }

    fn of_whole(totals: &RunTotals, judged: &Judged) -> Self {
        let point = judged.point.clone();
        let words = judged.findings.iter().map(|finding| finding.word);
        let is_measured = totals.length_ns > 0;
        let still = judged.happened.standstill.as_ref();
        let recovery = judged.happened.recovery.as_ref();
        let again = recovery.map(|recovery| recovery.again);
        let measured = |value: f64| is_measured.then_some(value);
        Self {
            run: point.name,
            loops: totals.started.loops().unwrap_or_default().to_owned(),
            named: swept(totals),
            repetition: repetitions::number(&totals.started.labels),
            is_whole: is_whole(totals),
            asked_rate: point.asked_per_s,
            rate: measured(point.achieved_per_s),
            bytes_per_second: measured(point.bytes_per_s),
            response_ns: point.response,
            syncs: (point.syncs.samples > 0).then_some((point.syncs_per_s, point.syncs)),
            service_mean_ns: point.has_service.then_some(point.service_ns_mean),
            response_bound_ns: point.response_bound_ns,
            service_bound_ns: point.service_bound_ns,
            queue_depth: point.slots_busy,
            slots: point.slots,
            slots_busy: point.slots_busy,
            late: point.late,
            host_cpu_ns: point.host_cpu_ns_per_operation,
            own_cpu_ns: point.fathom_cpu_ns_per_operation,
            errors: judged.happened.failed.max(totals.errors()),
            unserved: totals.unserved(),
            data: totals.data.clone(),
            still: still.map(|still| (still.length_ns(), still.name.clone())),
            normal_again_ns: again.and_then(|again| match again {
                Again::Normal { after_ns } => Some(after_ns),
                _ => None,
            }),
            caught_up_ns: recovery.and_then(|one| one.caught_up_ns),
            phases: judged.happened.phases.clone(),
            events: judged.happened.marks.clone(),
            number: totals.started.run,
            begun_unix_ns: totals.started.unix_ns,
            parts: Vec::new(),
            hosts: Vec::new(),
            unreturned: totals.unreturned.len() as u64,
            marks: words.clone().map(|word| word.name().to_owned()).collect(),
            evidence: judged.evidence.clone(),
            doubts: words.filter(|word| word.is_doubt()).count(),
        }
    }

    /// Adds what was marked before it began, or after it ended.
    pub fn add_event(&mut self, mark: Mark) {
        if !self.events.contains(&mark) {
            self.events.push(mark);
            self.events.sort_by_key(|mark| mark.unix_ns);
        }
    }

    /// What was marked, with the second of the run; what was before it is at its beginning, as on the charts.
    fn events(&self) -> impl Iterator<Item = (f64, &str)> {
        let after_ns = |mark: &Mark| mark.unix_ns.saturating_sub(self.begun_unix_ns);
        let event = move |mark| (after_ns(mark) as f64 / 1e9, &*mark.text);
        self.events.iter().map(event)
    }

    /// Whether something was marked, or stood still.
    pub fn has_event(&self) -> bool {
        !self.events.is_empty() || self.still.is_some()
    }

    /// Gives its hosts their names, by their places.
    pub fn name_hosts(&mut self, names: &[String]) {
        for host in &mut self.hosts {
            if let Some(name) = names.get(host.point.host as usize) {
                host.name.clone_from(name);
            }
        }
    }

    /// Adds what the user called its result.
    pub fn add_labels(&mut self, labels: &[Label]) {
        let parts = self.parts.iter_mut().map(|part| &mut part.named);
        for named in std::iter::once(&mut self.named).chain(parts) {
            let labels = labels.iter();
            let of = |label: &Label| (format!("{LABEL}{}", label.key), label.value.clone());
            named.extend(labels.map(of));
        }
    }

    /// Marks a run of which the damaged result file has lost something.
    pub fn mark_damaged(&mut self, lost_intervals: u64) {
        self.is_whole = false;
        let mut lost = Vec::new();
        if self
            .marks
            .iter()
            .any(|mark| mark == Word::Unfinished.name())
        {
            self.marks.retain(|mark| mark != Word::Unfinished.name());
            self.doubts -= 1;
            lost.push("end lost".to_owned());
        }
        if lost_intervals > 0 {
            lost.push(format!(
                "{} lost",
                plan::counted(lost_intervals, "interval")
            ));
        }
        self.doubts += lost.len();
        self.marks.splice(0..0, lost);
    }

    /// Whether anything was measured, or told without that; where not, a zero would be no count.
    fn has_sample(&self) -> bool {
        self.rate.is_some() || self.errors > 0 || self.unreturned > 0
    }

    /// The response times that are shown: percentiles and the maximum; none without a sample.
    pub(crate) fn responses_ns(&self) -> [Option<u64>; 5] {
        let Percentiles {
            samples,
            p50,
            p90,
            p99,
            p99_9,
            max,
        } = self.response_ns;
        [p50, p90, p99, p99_9, (samples > 0).then_some(max)]
    }

    pub(crate) fn is_response_bound(&self, value_ns: u64) -> bool {
        self.response_bound_ns.is_some_and(|from| value_ns >= from)
    }

    /// The columns of the CSV whose values are lower bounds.
    fn lower_bounds(&self) -> Vec<&'static str> {
        let responses = self.responses_ns().into_iter().zip(RESPONSE_FIELDS);
        let is_bound = |(value, _): &(Option<u64>, _)| {
            value.is_some_and(|value_ns| self.is_response_bound(value_ns))
        };
        let bounds = responses.filter(is_bound).map(|(_, name)| name);
        let service = self.service_bound_ns.map(|_| SERVICE_FIELD);
        bounds.chain(service).collect()
    }
}

/// A field as programs read it: on one line, and never a formula, which spreadsheets carry out.
pub(crate) fn csv_field(text: &str) -> String {
    let may_be = text.len() > 1 && text.starts_with(['=', '+', '-', '@']);
    let is_formula = may_be && text.parse::<f64>().is_err();
    let escape = |one: char| match one.is_control() {
        true => one.escape_default().to_string(),
        false => one.to_string(),
    };
    let front = if is_formula { "'" } else { "" };
    front.to_owned() + &text.chars().map(escape).collect::<String>()
}

/// The same as CSV, one line per run, and after it one for each of its jobs where several went on side by side; an empty
/// field is a value that there is not.
pub fn csv(rows: &[Row]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut write = |record: &[String]| {
        writer
            .write_record(record.iter().map(|field| csv_field(field)))
            .expect("a record of as many fields as the first, into memory");
    };
    let names = names(rows);
    let header = CSV_HEADER.into_iter().map(String::from);
    let header: Vec<String> = header.chain(names.iter().cloned()).collect();
    write(&header);
    for (row, record) in records(rows) {
        let value = |name: &String| {
            let known = row.named.iter().find(|(known, _)| known == name);
            known.map_or(String::new(), |(_, value)| value.clone())
        };
        let named = names.iter().map(value);
        write(&record.into_iter().chain(named).collect::<Vec<_>>());
    }
    let bytes = writer.into_inner().expect("memory takes every byte");
    String::from_utf8(bytes).expect("every field is a string")
}

/// How the names of columns begin that hold what the user called a result.
const LABEL: &str = "label.";

/// Of what rows are called or were given by a sweep, each once: their columns follow those that all tables have.
fn names(rows: &[Row]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (name, _) in rows.iter().flat_map(|row| &row.named) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

fn swept(totals: &RunTotals) -> Vec<(String, String)> {
    let swept = totals.started.swept.iter();
    swept
        .map(|one| (one.name.clone(), one.value.to_string()))
        .collect()
}

/// What is told of each run, and after it of each of its jobs.
fn records(rows: &[Row]) -> impl Iterator<Item = (&Row, [String; CSV_HEADER.len()])> {
    rows.iter().flat_map(|row| {
        let parts = row.parts.iter().map(|part| {
            let mut of_run = part.clone();
            let job = std::mem::replace(&mut of_run.run, row.run.clone());
            (part, record(&of_run, &job))
        });
        std::iter::once((row, record(row, ""))).chain(parts)
    })
}

/// Whether a file with this start is such a table, of any version.
pub fn is_csv(head: &[u8]) -> bool {
    head.starts_with(CSV_HEADER[..3].join(",").as_bytes())
}

/// A short text on an interval, for a line of progress.
pub fn live_line(interval: &Interval) -> String {
    let seconds = interval.length_ns() as f64 / 1e9;
    let per_second = |amount: f64| match seconds > 0.0 {
        true => rate_text(amount / seconds),
        false => "-".to_owned(),
    };
    let mut response = LatencyFigures::default();
    let (mut operations, mut bytes) = (0, 0);
    let counted = |figure: &&measure::Figure| !figure.key.operation.is_sync();
    for figure in interval.figures.iter().filter(counted) {
        response.merge(&figure.response);
        operations += figure.operations;
        bytes += figure.bytes;
    }
    interval
        .engine
        .streams
        .iter()
        .for_each(|stream| response.merge(&stream.unserved));
    let percentile = |percent: f64| match response.histogram.is_empty() {
        true => "-".to_string(),
        false => Nanos(response.percentile_ns(percent)).to_string(),
    };
    // While nothing answers, the age of what is out is all that is known.
    let engine = &interval.engine;
    let oldest = match operations == 0 && engine.in_flight > 0 {
        true => format!(
            ", {} out, the oldest ≥{}",
            engine.in_flight,
            Nanos(engine.oldest_in_flight_ns)
        ),
        false => String::new(),
    };
    format!(
        "interval {}: {} I/O/s, {} MB/s, response p50 {} p99 {}{oldest}",
        interval.number,
        per_second(operations as f64),
        per_second(bytes as f64 / 1e6),
        percentile(50.0),
        percentile(99.0),
    )
}

const RESPONSE_FIELDS: [&str; 5] = [
    "response_p50_ms",
    "response_p90_ms",
    "response_p99_ms",
    "response_p99.9_ms",
    "response_max_ms",
];

const SERVICE_FIELD: &str = "service_mean_ms";

const CSV_HEADER: [&str; 35] = [
    "run",
    "loops",
    "asked_rate_per_s",
    "achieved_rate_per_s",
    "throughput_mb_per_s",
    RESPONSE_FIELDS[0],
    RESPONSE_FIELDS[1],
    RESPONSE_FIELDS[2],
    RESPONSE_FIELDS[3],
    RESPONSE_FIELDS[4],
    SERVICE_FIELD,
    "queue_depth",
    "slots",
    "slots_busy",
    "late_pct",
    "late_limit_ms",
    "host_cpu_per_io_us",
    "fathom_cpu_per_io_us",
    "errors",
    "unserved",
    "marks",
    "compression_asked",
    "compression_sent",
    "duplicates_asked",
    "duplicates_sent",
    "not_returned",
    "lower_bounds",
    "longest_gap_s",
    "longest_gap_target",
    "normal_again_s",
    "events",
    "job",
    "sync_rate_per_s",
    "sync_p50_ms",
    "sync_p99_ms",
];

fn record(row: &Row, job: &str) -> [String; CSV_HEADER.len()] {
    let ms = |ns: u64| format!("{:.6}", ns as f64 / 1e6);
    let seconds = |ns: u64| format!("{:.3}", ns as f64 / 1e9);
    let us = |ns: Option<f64>| ns.map_or(String::new(), |ns| format!("{:.3}", ns / 1e3));
    let three = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.3}"));
    let count = |count: u64| match row.has_sample() {
        true => count.to_string(),
        false => String::new(),
    };
    let responses = row.responses_ns();
    let [p50, p90, p99, p99_9, max] = responses.map(|ns| ns.map_or(String::new(), ms));
    [
        row.run.clone(),
        row.loops.clone(),
        three(row.asked_rate),
        three(row.rate),
        three(row.bytes_per_second.map(|bytes| bytes / 1e6)),
        p50,
        p90,
        p99,
        p99_9,
        max,
        row.service_mean_ns
            .map_or(String::new(), |ns| format!("{:.6}", ns / 1e6)),
        three(row.queue_depth),
        row.slots.to_string(),
        three(row.slots_busy),
        row.late
            .map_or(String::new(), |late| format!("{:.4}", late.share * 100.0)),
        row.late.map_or(String::new(), |late| ms(late.limit_ns)),
        us(row.host_cpu_ns),
        us(row.own_cpu_ns),
        count(row.errors),
        count(row.unserved),
        row.marks.join("; "),
        of_kinds(row, |kind| kind.asked_compression),
        of_kinds(row, DataFigures::compression),
        of_kinds(row, |kind| kind.asked_duplicates),
        of_kinds(row, DataFigures::duplicates),
        row.unreturned.to_string(),
        row.lower_bounds().join("; "),
        row.still
            .as_ref()
            .map_or(String::new(), |(ns, _)| seconds(*ns)),
        row.still
            .as_ref()
            .map_or(String::new(), |(_, name)| name.clone()),
        row.normal_again_ns.map_or(String::new(), seconds),
        row.events()
            .map(|(at_s, text)| format!("{at_s:.3} {}", text.replace(';', ",")))
            .collect::<Vec<String>>()
            .join("; "),
        job.to_owned(),
        three(row.syncs.map(|(rate, _)| rate)),
        row.syncs
            .and_then(|(_, syncs)| syncs.p50)
            .map_or(String::new(), ms),
        row.syncs
            .and_then(|(_, syncs)| syncs.p99)
            .map_or(String::new(), ms),
    ]
}

/// One value for each kind of data that was sent, an empty one where there is none.
fn of_kinds(row: &Row, of: impl Fn(&DataFigures) -> Option<f64>) -> String {
    let text = |kind| of(kind).map_or(String::new(), |value| format!("{value:.3}"));
    let texts: Vec<String> = row.data.iter().map(text).collect();
    texts.join("; ")
}

/// Whether a run ended as planned.
pub(crate) fn is_whole(totals: &RunTotals) -> bool {
    let ended = totals.finished.as_ref().map(|finished| &finished.reason);
    matches!(
        ended,
        Some(
            FinishReason::Complete | FinishReason::ReachedTotal | FinishReason::SearchEnded { .. }
        )
    )
}

/// Whole numbers from 1000 on, one decimal below.
fn rate_text(rate: f64) -> String {
    if rate >= 1000.0 {
        format!("{rate:.0}")
    } else {
        format!("{rate:.1}")
    }
}

#[cfg(test)]
mod tests;
