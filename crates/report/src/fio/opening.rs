//! Who takes part: the jobs of a plan in their order, the lines before the report, and where in the
//! plan the execution is.
use super::clients::Clients;
use super::layout;
use super::messages;
use super::model::is_check;
use super::number::{Base, short};
use lang::fio::ReportOptions;
use measure::{ExecutionStarted, ExecutionTarget, Interval, IoFailure, RunFinished, RunStarted};
use plan::{BoundPlan, Label, Repeat, RunKind, Stream, Tolerance, TransferSizes};
use std::collections::BTreeMap;
use std::fmt::Write;

/// All clones of an execution, and how far it is.
#[derive(Debug, Default)]
pub(super) struct Cast {
    pub(super) parts: Vec<Part>,
    targets: Vec<ExecutionTarget>,
    globals: Vec<Label>,
    /// Planned lengths of the runs that measure; `None` when the end is a size.
    pub(super) planned_ns: Vec<Option<u64>>,
    pub(super) current: Option<Current>,
    /// How many runs that measure are over, of this repetition.
    pub(super) finished: usize,
    /// Repetitions behind this one.
    pub(super) repetitions_left: u32,
    pub(super) begun_unix_ns: u64,
    /// By stream, failures that are not told of.
    untold: BTreeMap<String, Tolerance>,
    /// The streams of the run that is going.
    names: Vec<String>,
    /// What is said of files that are made before, by host.
    layouts: Vec<String>,
}

/// One clone.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub run: usize,
    /// The place of its host.
    client: usize,
    /// The run that reads back what it has written.
    pub check_run: Option<usize>,
    pub files: usize,
    name: String,
    group: u32,
    clone: u32,
    pub pattern: String,
    engine: String,
    depth: String,
    sizes: [String; 3],
    sizes_by_order: bool,
    is_thread: bool,
}

/// The run that is going.
#[derive(Clone, Debug)]
pub(super) struct Current {
    pub started_unix_ns: u64,
    pub planned_ns: Option<u64>,
    pub expected_bytes: Option<u64>,
    pub bytes: u64,
    pub asked_rate: Option<f64>,
}

impl Cast {
    pub(super) fn of(started: &ExecutionStarted) -> Self {
        let mut cast = Self {
            targets: started.targets.clone(),
            begun_unix_ns: started.unix_ns,
            ..Self::default()
        };
        let Ok(bound) = serde_json::from_str::<BoundPlan>(&started.plan_json) else {
            return cast;
        };
        cast.globals = bound.plan.labels.clone();
        let hosts = 0..bound.plan.hosts.len().max(1);
        cast.layouts = hosts.map(|host| layout::lines(&bound, host)).collect();
        if let Repeat::Times(times) = bound.plan.steering.repeat {
            cast.repetitions_left = times.saturating_sub(1);
        }
        let measured = bound
            .runs
            .iter()
            .map(|id| bound.plan.run(*id))
            .filter(|run| run.kind == RunKind::Measure);
        for (number, run) in measured.enumerate() {
            cast.planned_ns
                .push(run.timing.total().map(|total| total.0));
            if is_check(&run.labels) {
                let written = number.checked_sub(1);
                let parts = cast.parts.iter_mut();
                for part in parts.filter(|part| Some(part.run) == written) {
                    let is_mine = |stream: &&Stream| {
                        part.is_of(stream) && bound.plan.host_of(stream).unwrap_or(0) == part.client
                    };
                    part.check_run = run.streams.iter().find(is_mine).map(|_| number);
                }
                continue;
            }
            for stream in &run.streams {
                cast.note_untold(stream);
                let slots = run
                    .pools
                    .get(stream.pool.index())
                    .map_or(1, |pool| pool.slots);
                let mut part = Part::of(stream, number, slots, &cast.globals);
                part.client = bound.plan.host_of(stream).unwrap_or(0);
                cast.parts.push(part);
            }
        }
        cast
    }

    /// A line per section, the version, how many take part, and which files are made before.
    pub(super) fn opening(&self, clients: &Clients) -> String {
        if !clients.are_some() {
            return self.opening_of(0, &format!("{}\n", super::LAYOUT_VERSION));
        }
        let all = 0..clients.names.len();
        let said = all.map(|client| clients.said(client, &self.opening_of(client, "")));
        clients.probes() + &said.collect::<String>()
    }

    fn opening_of(&self, client: usize, version: &str) -> String {
        let mut out = String::new();
        let parts: Vec<&Part> = self
            .parts
            .iter()
            .filter(|part| part.client == client)
            .collect();
        for (place, part) in parts.iter().enumerate() {
            let before = place.checked_sub(1).map(|place| parts[place]);
            if before.is_none_or(|before| !part.is_clone_of(before)) {
                part.print(&mut out);
            } else if part.clone == 2 {
                out.push_str("...\n");
            }
        }
        let threads = parts.iter().filter(|part| part.is_thread).count();
        let processes = parts.len() - threads;
        let plural = |count: usize, one: &str, many: &str| match count {
            1 => format!("1 {one}"),
            count => format!("{count} {many}"),
        };
        let threads = (threads > 0).then(|| plural(threads, "thread", "threads"));
        let processes = (processes > 0).then(|| plural(processes, "process", "processes"));
        let takers: Vec<String> = threads.into_iter().chain(processes).collect();
        let _ = writeln!(out, "{version}Starting {}", takers.join(" and "));
        out + self.layouts.get(client).map_or("", String::as_str)
    }

    fn note_untold(&mut self, stream: &Stream) {
        let options = ReportOptions::of(&stream.labels, &self.globals);
        let tolerance = stream.flow.tolerance.clone();
        if let Some(tolerance) = tolerance.filter(|_| !options.tells_ignored) {
            self.untold.insert(stream.name.clone(), tolerance);
        }
    }

    /// What is said of an operation that failed.
    pub(super) fn failure_lines(&self, failure: &IoFailure) -> String {
        let name = self.names.get(failure.stream.index());
        let untold = name.and_then(|name| self.untold.get(name));
        let is_untold = |untold: &Tolerance| untold.covers(failure.operation, failure.errno);
        if failure.misfit.is_none() && untold.is_some_and(is_untold) {
            return String::new();
        }
        let target = self.targets.get(failure.target.index());
        messages::failure(failure, target.map_or("", |target| target.name.as_str()))
    }

    pub(super) fn begin(&mut self, run: &RunStarted) {
        self.names = run
            .streams
            .iter()
            .map(|stream| stream.name.clone())
            .collect();
        self.current = (run.kind == RunKind::Measure).then(|| Current {
            started_unix_ns: run.unix_ns,
            planned_ns: run.window_ns.map(|window_ns| window_ns + run.warmup_ns),
            expected_bytes: run.expected_bytes,
            bytes: 0,
            asked_rate: run.asked_rate,
        });
    }

    pub(super) fn add(&mut self, interval: &Interval) {
        if let Some(current) = &mut self.current {
            current.bytes += interval
                .figures
                .iter()
                .map(|figure| figure.bytes)
                .sum::<u64>();
        }
    }

    pub(super) fn finish(&mut self, _run: &RunFinished) {
        if self.current.take().is_none() {
            return;
        }
        self.finished += 1;
        if self.finished == self.planned_ns.len() && self.repetitions_left > 0 {
            (self.finished, self.repetitions_left) = (0, self.repetitions_left - 1);
        }
    }
}

impl Part {
    fn of(stream: &Stream, run: usize, slots: u32, global: &[Label]) -> Self {
        let options = ReportOptions::of(&stream.labels, global);
        let label = |key: &str| Label::find(&stream.labels, key);
        let number = |key: &str| label(key).and_then(|text| text.parse().ok());
        Self {
            run,
            client: 0,
            check_run: None,
            files: stream.targets.len(),
            name: label("job").unwrap_or(&stream.name).to_owned(),
            group: number("group").unwrap_or(0),
            clone: number("clone").unwrap_or(1),
            pattern: options.pattern,
            engine: options.engine,
            depth: options.depth.unwrap_or(slots).to_string(),
            sizes: sizes(stream),
            sizes_by_order: options.sizes_by_order,
            is_thread: options.is_thread,
        }
    }

    /// Whether a stream of the same host has the same job.
    fn is_of(&self, stream: &Stream) -> bool {
        let label = |key: &str| Label::find(&stream.labels, key);
        let number = |key: &str| label(key).and_then(|text| text.parse().ok());
        label("job") == Some(self.name.as_str())
            && number("clone").unwrap_or(1) == self.clone
            && number("group").unwrap_or(0) == self.group
    }

    fn is_clone_of(&self, other: &Part) -> bool {
        self.run == other.run && self.name == other.name && self.clone == other.clone + 1
    }

    fn print(&self, out: &mut String) {
        let [read, write, trim] = &self.sizes;
        let last = match self.sizes_by_order {
            true => "bs_is_seq_rand".to_owned(),
            false => format!("(T) {trim}"),
        };
        let (name, group, pattern) = (&self.name, self.group, &self.pattern);
        let _ = writeln!(
            out,
            "{name}: (g={group}): rw={pattern}, bs=(R) {read}, (W) {write}, {last}, ioengine={}, iodepth={}",
            self.engine, self.depth
        );
    }
}

/// Smallest and largest transfer by direction.
fn sizes(stream: &Stream) -> [String; 3] {
    let Some(generator) = stream.source.laws() else {
        return Default::default();
    };
    let text = |sizes: &TransferSizes| {
        let size = |bytes| short(bytes, 4, Base::Binary, "B");
        format!("{}-{}", size(sizes.smallest()), size(sizes.largest()))
    };
    let transfer = &generator.transfer;
    [
        text(&transfer.read),
        text(&transfer.write),
        text(&transfer.trim),
    ]
}
