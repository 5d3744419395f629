//! Log files: bandwidth, rates, latencies and histograms over time, in the layouts of fio.
//!
//! Averaged logs and histograms are folded from intervals; a log of single operations, or of windows
//! shorter than an interval, is written by [`OperationLogs`], which whoever carries the run out
//! hands its records. Rows of windows without
//! any operation are left out, as in fio.
use super::iolog::Record;
use super::model::{direction_of, is_check, is_same_job};
use super::samples::Packed;
use super::stat::{BUCKETS, index_of};
use super::windows::Folded;
use crate::opener::{Opening, Plain, SharedOpener};
use lang::fio::{LogOptions, WindowValue};
use measure::{
    Event, ExecutionStarted, Interval, IntervalPhase, LatencyFigures, OperationRecord, RunStarted,
    StreamInfo, bucket_bounds,
};
use plan::{BoundPlan, Label, RunKind};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The class of priorities that has a mark of its own.
const REAL_TIME: u16 = 1;
const NS_PER_MS: u64 = 1_000_000;
/// Kinds of logs with a value in each row, and the one with a histogram.
const ROWS: [&str; 5] = ["bw", "iops", "slat", "clat", "lat"];
const HISTOGRAMS: &str = "clat_hist";
const DIRECTIONS: [&str; 3] = ["read", "write", "trim"];

/// All averaged logs of an execution.
#[derive(Debug)]
pub struct Logs {
    place: Place,
    globals: Vec<Label>,
    jobs: Vec<JobLogs>,
    /// The jobs of the present run by the numbers of its streams; those that it reads back where it does so.
    present: Vec<Option<usize>>,
    job_count: usize,
    /// When the last run began that measures, and how much later the present one did.
    begun_unix_ns: u64,
    later_ns: u64,
    whole: Option<Whole>,
}

/// Where files are made, and who opens them.
#[derive(Debug)]
pub(super) struct Place {
    folder: PathBuf,
    opener: SharedOpener,
}

/// The logs of one clone.
#[derive(Debug)]
struct JobLogs {
    info: StreamInfo,
    wants: Wants,
    files: Files,
    windows: Vec<Window>,
    histograms: [LatencyFigures; 3],
    histogram_start_ns: u64,
    transfer_bytes: [u64; 3],
    /// When its measured time began, since the start of its run. Times in logs count from there, or from 1970.
    measured_from_ns: u64,
}

/// What a clone asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Wants {
    pub(super) logs: LogOptions,
    /// From one, over the whole execution.
    number: usize,
    /// The host whose logs they are, where it is another.
    client: Option<String>,
}

/// Sums of the present window of one direction.
#[derive(Clone, Debug, Default)]
struct Window {
    start_ns: u64,
    end_ns: u64,
    /// Its end as it stands in a log.
    at_ns: u64,
    operations: u64,
    bytes: u64,
    rate_max: u64,
    bandwidth_max: u64,
    total: LatencyFigures,
    submission: LatencyFigures,
    completion: LatencyFigures,
}

/// Open files by kind, made at the first row.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// Nothing is written to those that could not be opened.
    open: Vec<(&'static str, Option<Out>)>,
}

/// What rows are written to.
#[derive(Debug)]
enum Out {
    Text(BufWriter<File>),
    Packed(Packed),
}

/// Rates of all jobs together: `agg-read_bw.log` and its like.
#[derive(Debug)]
struct Whole {
    base: String,
    begun_unix_ns: u64,
    files: [Option<BufWriter<File>>; 3],
}

/// Logs of single operations of one run.
#[derive(Debug)]
pub struct OperationLogs {
    place: Place,
    jobs: Vec<JobOperations>,
    /// The end of the warm-up of the run. What is seen before belongs to no log, but to the record of I/O.
    measured_from_ns: u64,
    /// `None` before the first operation of the run.
    start_unix_ns: Option<u64>,
    /// The jobs whose writes are read back, by the streams of the run that does so.
    checked: Vec<Option<usize>>,
    /// By path: clones of one job record into one file.
    records: Vec<(String, Option<Record>)>,
    targets: Vec<String>,
}

/// What single operations of one clone are written to.
#[derive(Debug)]
struct JobOperations {
    wants: Wants,
    files: Files,
    folded: Option<Folded>,
    /// When its measured time began, since the start of the run. Times in logs count from there, or from 1970.
    measured_from_ns: u64,
}

impl Wants {
    /// From the labels of a stream and of the plan. `number` counts all clones, from one.
    fn of(own: &[Label], global: &[Label], number: usize) -> Self {
        let own_number = Label::find(own, "log_number");
        Self {
            logs: LogOptions::of(own, global),
            number: own_number
                .and_then(|text| text.parse().ok())
                .unwrap_or(number),
            client: Label::find(own, "client").map(str::to_owned),
        }
    }

    /// What of it is folded from intervals.
    fn of_intervals(self) -> Self {
        match self.logs.folds_operations {
            true => Self::default(),
            false => self,
        }
    }

    fn base_of(&self, kind: &str) -> Option<&str> {
        let base = match kind {
            "bw" => &self.logs.bandwidth,
            "iops" => &self.logs.rate,
            "clat_hist" => &self.logs.histogram,
            _ if self.logs.hidden.contains(&kind) => &None,
            _ => &self.logs.latency,
        };
        base.as_deref()
    }

    fn opening(&self) -> Opening {
        match self.logs.appends {
            true => Opening::Append,
            false => Opening::Replace,
        }
    }

    /// The files that it may write, and how they are opened.
    fn files(&self) -> Vec<(PathBuf, Opening)> {
        let of = |kind: &&str| Some(self.file_name(self.base_of(kind)?, kind).into());
        let logs = ROWS.iter().chain(&[HISTOGRAMS]).filter_map(of);
        let logs = logs.map(|path| (path, self.opening()));
        let record = self.logs.record.iter();
        let record = record.map(|path| (path.into(), Opening::Append));
        logs.chain(record).collect()
    }

    fn file_name(&self, base: &str, kind: &str) -> String {
        let packed = if self.logs.is_packed { ".fz" } else { "" };
        let name = match self.logs.appends {
            true => format!("{base}_{kind}.log{packed}"),
            false => format!("{base}_{kind}.{}.log{packed}", self.number),
        };
        match &self.client {
            Some(client) => format!("{name}.{client}"),
            None => name,
        }
    }
}

impl Place {
    fn plain(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            opener: Arc::new(Plain),
        }
    }
}

/// The files that the logs of an execution may be written to, and how they are opened. With a base there are also logs
/// of all jobs together.
pub fn log_files(bound: &BoundPlan, whole: Option<&str>) -> Vec<(PathBuf, Opening)> {
    let mut files = Vec::new();
    if let Some(base) = whole {
        let names = DIRECTIONS.map(|direction| whole_name(base, direction));
        files.extend(names.map(|name| (name.into(), Opening::Replace)));
    }
    let mut before = 0;
    for number in 0..bound.run_count().unwrap_or(bound.runs.len() as u64) {
        let Some((id, _)) = bound.numbered(number) else {
            break;
        };
        let run = bound.plan.run(id);
        if run.kind != RunKind::Measure || is_check(&run.labels) {
            continue;
        }
        for (place, stream) in run.streams.iter().enumerate() {
            let wants = Wants::of(&stream.labels, &bound.plan.labels, before + place + 1);
            files.extend(wants.files());
        }
        before += run.streams.len();
    }
    files
}

fn whole_name(base: &str, direction: &str) -> String {
    format!("{base}-{direction}_bw.log")
}

impl Logs {
    /// Files with relative names are made in `folder`. With a base there are also logs of the
    /// bandwidth of all jobs together.
    pub fn new(folder: &Path, whole: Option<&str>) -> Self {
        Self {
            place: Place::plain(folder),
            globals: Vec::new(),
            jobs: Vec::new(),
            present: Vec::new(),
            job_count: 0,
            begun_unix_ns: 0,
            later_ns: 0,
            whole: whole.map(|base| Whole {
                base: base.to_owned(),
                begun_unix_ns: 0,
                files: [None, None, None],
            }),
        }
    }

    /// Lets the files be opened by another.
    #[must_use]
    pub fn with_opener(mut self, opener: SharedOpener) -> Self {
        self.place.opener = opener;
        self
    }

    /// Takes the next event.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn on_event(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::ExecutionStarted(started) => self.open(started),
            Event::RunStarted(run) => {
                self.begin(run);
                Ok(())
            }
            Event::Interval(interval) if !self.present.is_empty() => self.add(interval),
            Event::RunFinished(_) => self.flush(),
            _ => Ok(()),
        }
    }

    fn open(&mut self, started: &ExecutionStarted) -> io::Result<()> {
        let bound: Option<BoundPlan> = serde_json::from_str(&started.plan_json).ok();
        self.globals = bound.map(|bound| bound.plan.labels).unwrap_or_default();
        if let Some(whole) = &mut self.whole {
            whole.begun_unix_ns = started.unix_ns;
            let mut files = std::mem::take(&mut whole.files);
            for (file, direction) in files.iter_mut().zip(DIRECTIONS) {
                let path = self.place.folder.join(whole_name(&whole.base, direction));
                let opened = self.place.opener.open(&path, Opening::Replace);
                *file = opened.map(BufWriter::new);
            }
            whole.files = files;
        }
        Ok(())
    }

    fn begin(&mut self, run: &RunStarted) {
        self.present.clear();
        self.later_ns = run.unix_ns.saturating_sub(self.begun_unix_ns);
        if run.kind != RunKind::Measure {
            return;
        }
        if is_check(&run.labels) {
            let jobs = &self.jobs;
            let written = |stream: &StreamInfo| {
                let is_same = |job: &JobLogs| {
                    job.info.host == stream.host && is_same_job(&job.info.labels, &stream.labels)
                };
                jobs.iter().rposition(is_same)
            };
            self.present = run.streams.iter().map(written).collect();
            return;
        }
        (self.begun_unix_ns, self.later_ns) = (run.unix_ns, 0);
        for stream in &run.streams {
            self.job_count += 1;
            let wants = Wants::of(&stream.labels, &self.globals, self.job_count).of_intervals();
            self.present.push(Some(self.jobs.len()));
            self.jobs.push(JobLogs {
                info: stream.clone(),
                wants,
                files: Files::default(),
                windows: vec![Window::default(); 3],
                histograms: Default::default(),
                histogram_start_ns: 0,
                transfer_bytes: [0; 3],
                measured_from_ns: 0,
            });
        }
    }

    fn add(&mut self, interval: &Interval) -> io::Result<()> {
        if let Some(whole) = &mut self.whole {
            whole.add(interval)?;
        }
        for (number, job) in self.present.iter().enumerate() {
            let Some(job) = job else { continue };
            let job = &mut self.jobs[*job];
            if job.wants.logs.is_empty() {
                continue;
            }
            if interval.phase == IntervalPhase::Warmup {
                job.begins_at(interval.end_ns);
                continue;
            }
            let sample = interval.engine.streams.get(number);
            if let Some(span) = sample.and_then(|sample| sample.span) {
                job.begins_at(span.from_ns);
            }
            job.add(interval, number, (&self.place, self.later_ns))?;
        }
        Ok(())
    }

    /// Writes what is left of windows that were cut short.
    fn flush(&mut self) -> io::Result<()> {
        for job in self.present.iter().flatten() {
            self.jobs[*job].flush(&self.place)?;
        }
        let files = self.whole.iter_mut().flat_map(|whole| &mut whole.files);
        files.flatten().try_for_each(BufWriter::flush)
    }
}

impl JobLogs {
    /// Its measured time begins at the end of a warm-up, or with its own.
    fn begins_at(&mut self, from_ns: u64) {
        self.measured_from_ns = self.measured_from_ns.max(from_ns);
        let starts = self.windows.iter_mut().map(|window| &mut window.start_ns);
        for start_ns in starts.chain([&mut self.histogram_start_ns]) {
            *start_ns = from_ns.max(*start_ns);
        }
    }

    /// Adds an interval of a run that began so much later than the one that is measured.
    fn add(
        &mut self,
        interval: &Interval,
        number: usize,
        (place, later_ns): (&Place, u64),
    ) -> io::Result<()> {
        let at_ns = match self.wants.logs.is_absolute {
            true => interval.unix_ns,
            false => (interval.end_ns + later_ns).saturating_sub(self.measured_from_ns),
        };
        // An interval ends a little off its time now and then.
        let slack_ns = interval.length_ns() / 2;
        let has_passed = |from_ns: u64, wanted_ns: u64| {
            (interval.end_ns + slack_ns).saturating_sub(from_ns) >= wanted_ns
        };
        let sums = sums_of(interval, number);
        for (direction, sum) in sums.into_iter().enumerate() {
            self.histograms[direction].merge(&sum.completion);
            if let Some(bytes) = sum.bytes.checked_div(sum.operations) {
                self.transfer_bytes[direction] = bytes;
            }
            let window = &mut self.windows[direction];
            window.join(&sum, interval.length_ns());
            (window.end_ns, window.at_ns) = (interval.end_ns, at_ns);
            let start_ns = window.start_ns;
            let length_ns = self.wants.logs.window_ns;
            if length_ns.is_some_and(|length_ns| has_passed(start_ns, length_ns)) {
                self.close(direction, place)?;
            }
        }
        let wanted_ns = self.wants.logs.histogram_window_ns;
        if wanted_ns > 0 && has_passed(self.histogram_start_ns, wanted_ns) {
            self.histogram_start_ns = interval.end_ns;
            self.write_histograms(at_ns, place)?;
        }
        Ok(())
    }

    /// Writes the rows of a window that is over, and begins the next.
    fn close(&mut self, direction: usize, place: &Place) -> io::Result<()> {
        let start_ns = self.windows[direction].end_ns;
        let next = Window {
            start_ns,
            end_ns: start_ns,
            ..Window::default()
        };
        let window = std::mem::replace(&mut self.windows[direction], next);
        let length_ns = window.end_ns.saturating_sub(window.start_ns);
        let wants = &self.wants;
        if window.operations == 0 || length_ns == 0 {
            return Ok(());
        }
        let row = window.row(direction);
        let bandwidth = per_second(window.bytes, length_ns) / 1024;
        let rate = per_second(window.operations, length_ns);
        let files = &mut self.files;
        files.put(place, wants, "bw", row, (bandwidth, window.bandwidth_max))?;
        files.put(place, wants, "iops", row, (rate, window.rate_max))?;
        self.write_latencies(direction, &window, place)
    }

    fn write_latencies(
        &mut self,
        direction: usize,
        window: &Window,
        place: &Place,
    ) -> io::Result<()> {
        let row = window.row(direction);
        for (kind, figures) in [
            ("slat", &window.submission),
            ("clat", &window.completion),
            ("lat", &window.total),
        ] {
            if !figures.histogram.is_empty() {
                let values = (figures.mean_ns().round() as u64, figures.max_ns);
                self.files.put(place, &self.wants, kind, row, values)?;
            }
        }
        Ok(())
    }

    fn write_histograms(&mut self, at_ns: u64, to: &Place) -> io::Result<()> {
        for direction in 0..self.histograms.len() {
            let figures = std::mem::take(&mut self.histograms[direction]);
            if figures.histogram.is_empty() {
                continue;
            }
            let mut counts = vec![0_u64; BUCKETS >> self.wants.logs.coarseness];
            for bucket in figures.histogram.buckets() {
                let place = index_of(bucket_bounds(bucket.index as usize).0);
                counts[place >> self.wants.logs.coarseness] += bucket.count;
            }
            let Some(out) = self.files.of(to, &self.wants, "clat_hist") else {
                continue;
            };
            let bytes = self.transfer_bytes[direction];
            write!(out, "{}, {direction}, {bytes}", at_ns / NS_PER_MS)?;
            counts
                .iter()
                .try_for_each(|count| write!(out, ", {count}"))?;
            writeln!(out)?;
        }
        Ok(())
    }

    /// Latencies of a window that was cut short are shown, rates are not.
    fn flush(&mut self, place: &Place) -> io::Result<()> {
        for direction in 0..self.windows.len() {
            let window = std::mem::take(&mut self.windows[direction]);
            if self.wants.logs.window_ns.is_some() {
                self.write_latencies(direction, &window, place)?;
            }
        }
        (self.histograms, self.histogram_start_ns) = Default::default();
        if self.wants.logs.window_ns.is_some() {
            self.files.open_all(&ROWS, place, &self.wants);
        }
        self.files.open_all(&[HISTOGRAMS], place, &self.wants);
        self.files.flush()
    }
}

impl Window {
    fn join(&mut self, sum: &Window, length_ns: u64) {
        self.operations += sum.operations;
        self.bytes += sum.bytes;
        self.rate_max = self.rate_max.max(per_second(sum.operations, length_ns));
        let bandwidth = per_second(sum.bytes, length_ns) / 1024;
        self.bandwidth_max = self.bandwidth_max.max(bandwidth);
        self.total.merge(&sum.total);
        self.submission.merge(&sum.submission);
        self.completion.merge(&sum.completion);
    }

    fn row(&self, direction: usize) -> Row {
        Row {
            at_ns: self.at_ns,
            direction,
            length: 0,
            offset: 0,
            priority: 0,
            issued_ns: 0,
        }
    }
}

/// What stands in a row beside its value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub at_ns: u64,
    pub direction: usize,
    pub length: u32,
    pub offset: u64,
    /// As the kernel takes it.
    pub priority: u16,
    /// Since the start of the run, whatever the epoch of `at_ns`; 0 of a window.
    pub issued_ns: u64,
}

impl Files {
    /// Writes a row into the file of a kind, if it is wanted. The values are a mean and a maximum.
    pub(super) fn put(
        &mut self,
        place: &Place,
        wants: &Wants,
        kind: &'static str,
        row: Row,
        (mean, max): (u64, u64),
    ) -> io::Result<()> {
        let out = match self.opened(place, wants, kind) {
            None => return Ok(()),
            Some(Out::Text(out)) => out,
            Some(Out::Packed(out)) => {
                let value = match wants.logs.value {
                    WindowValue::Max => max,
                    _ => mean,
                };
                return out.put(row, value, wants);
            }
        };
        write!(out, "{}, ", row.at_ns / NS_PER_MS)?;
        match wants.logs.value {
            WindowValue::Mean => write!(out, "{mean}")?,
            WindowValue::Max => write!(out, "{max}")?,
            WindowValue::Both => write!(out, "{mean}, {max}")?,
        }
        write!(out, ", {}, {}", row.direction, row.length)?;
        if wants.logs.has_offset {
            write!(out, ", {}", row.offset)?;
        }
        match wants.logs.has_priority {
            true => write!(out, ", {:#06x}", row.priority)?,
            false => write!(out, ", {}", u8::from(row.is_real_time()))?,
        }
        if wants.logs.has_issue_time {
            write!(out, ", {}", row.issued_ns)?;
        }
        writeln!(out)
    }

    /// The file of lines of a kind, if it is wanted and could be opened.
    pub(super) fn of(
        &mut self,
        place: &Place,
        wants: &Wants,
        kind: &'static str,
    ) -> Option<&mut BufWriter<File>> {
        match self.opened(place, wants, kind)? {
            Out::Text(out) => Some(out),
            Out::Packed(_) => None,
        }
    }

    /// Makes those that have no row, too: who asks for a log looks for its file.
    fn open_all(&mut self, kinds: &[&'static str], place: &Place, wants: &Wants) {
        for kind in kinds {
            self.opened(place, wants, kind);
        }
    }

    fn opened(&mut self, place: &Place, wants: &Wants, kind: &'static str) -> Option<&mut Out> {
        let base = wants.base_of(kind)?;
        let number = match self.open.iter().position(|(open, _)| *open == kind) {
            Some(number) => number,
            None => {
                let path = place.folder.join(wants.file_name(base, kind));
                let file = place.opener.open(&path, wants.opening());
                let out = file.map(|file| match wants.logs.is_packed {
                    true => Out::Packed(Packed::new(file)),
                    false => Out::Text(BufWriter::new(file)),
                });
                self.open.push((kind, out));
                self.open.len() - 1
            }
        };
        self.open[number].1.as_mut()
    }

    fn flush(&mut self) -> io::Result<()> {
        let files = self.open.iter_mut().filter_map(|(_, out)| out.as_mut());
        files.into_iter().try_for_each(|out| match out {
            Out::Text(out) => out.flush(),
            Out::Packed(out) => out.flush(),
        })
    }
}

impl Row {
    pub(super) fn is_real_time(self) -> bool {
        self.priority >> 13 == REAL_TIME
    }
}

impl Whole {
    fn add(&mut self, interval: &Interval) -> io::Result<()> {
        let at_ms = interval.unix_ns.saturating_sub(self.begun_unix_ns) / NS_PER_MS;
        let mut bytes = [0; 3];
        for figure in &interval.figures {
            if let Some(direction) = direction_of(figure.key.operation) {
                bytes[direction] += figure.bytes;
            }
        }
        for (direction, (out, bytes)) in self.files.iter_mut().zip(bytes).enumerate() {
            let kib = per_second(bytes, interval.length_ns()) / 1024;
            if let Some(out) = out.as_mut().filter(|_| bytes > 0) {
                writeln!(out, "{at_ms}, {kib}, {direction}, 0, 0")?;
            }
        }
        Ok(())
    }
}

impl OperationLogs {
    /// For the streams of a run, whose clones are counted on from `before`; `None` when no stream
    /// wants to be told of each operation.
    pub fn new<'a>(
        folder: &Path,
        streams: impl Iterator<Item = &'a [Label]>,
        global: &[Label],
        before: usize,
    ) -> Option<Self> {
        let job = |(place, own): (usize, &'a [Label])| {
            let wants = Wants::of(own, global, before + place + 1);
            JobOperations {
                folded: Folded::of(&wants),
                files: Files::default(),
                wants,
                measured_from_ns: 0,
            }
        };
        let jobs: Vec<JobOperations> = streams.enumerate().map(job).collect();
        let is_wanted = jobs.iter().any(|job| job.wants.logs.wants_operations());
        is_wanted.then(|| Self {
            place: Place::plain(folder),
            jobs,
            measured_from_ns: 0,
            start_unix_ns: None,
            checked: Vec::new(),
            records: Vec::new(),
            targets: Vec::new(),
        })
    }

    /// Lets the files be opened by another.
    #[must_use]
    pub fn with_opener(mut self, opener: SharedOpener) -> Self {
        self.place.opener = opener;
        self
    }

    /// With the paths of all targets by their numbers, for records of I/O.
    #[must_use]
    pub fn with_targets(mut self, paths: Vec<String>) -> Self {
        self.targets = paths;
        self
    }

    /// Leaves what is seen in the warm-up of the run out of the logs.
    #[must_use]
    pub fn measured_from(mut self, since_start_ns: u64) -> Self {
        self.measured_from_ns = since_start_ns;
        self
    }

    /// Another run reads back what streams with the labels `own` wrote.
    pub fn go_on_with<'a>(
        &mut self,
        own: impl Iterator<Item = &'a [Label]>,
        checking: impl Iterator<Item = &'a [Label]>,
    ) {
        // Hosts may have the same jobs, in the same order.
        let mut writers: Vec<_> = own.enumerate().collect();
        let writer = |labels: &'a [Label]| {
            let found = writers.iter().position(|(_, own)| is_same_job(own, labels));
            found.map(|found| writers.remove(found).0)
        };
        self.checked = checking.map(writer).collect();
    }

    /// Takes operations; those of a worker come in the order in which they were seen. `start_unix_ns` is the start of the
    /// run, for logs with absolute times.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn take(&mut self, rows: &[OperationRecord], start_unix_ns: u64) -> io::Result<()> {
        self.start_unix_ns = Some(start_unix_ns);
        for row in rows {
            let Some(job) = self.jobs.get_mut(row.stream.index()) else {
                continue;
            };
            job.measured_from_ns = row.measured_from_ns.max(self.measured_from_ns);
            job.take(row, start_unix_ns, &self.place)?;
            self.take_down(row)?;
        }
        self.write_windows(false)
    }

    /// Takes operations of the run that reads back what this one wrote. Their times go on where its own began.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn take_check(&mut self, rows: &[OperationRecord], start_unix_ns: u64) -> io::Result<()> {
        let begun_unix_ns = *self.start_unix_ns.get_or_insert(start_unix_ns);
        let later_ns = start_unix_ns.saturating_sub(begun_unix_ns);
        for row in rows {
            let Some(Some(job)) = self.checked.get(row.stream.index()) else {
                continue;
            };
            let row = OperationRecord {
                seen_ns: row.seen_ns + later_ns,
                ..*row
            };
            self.jobs[*job].take(&row, begun_unix_ns, &self.place)?;
        }
        self.write_windows(false)
    }

    /// Takes an operation into the record of I/O.
    fn take_down(&mut self, row: &OperationRecord) -> io::Result<()> {
        let Some(path) = &self.jobs[row.stream.index()].wants.logs.record else {
            return Ok(());
        };
        let place = match self.records.iter().position(|(open, _)| open == path) {
            Some(place) => place,
            None => {
                let file = self.place.folder.join(path);
                let opened = self.place.opener.open(&file, Opening::Append);
                let begun = opened.map(|opened| Record::begin(opened, &self.targets));
                let record = named(begun.transpose(), &file)?;
                self.records.push((path.clone(), record));
                self.records.len() - 1
            }
        };
        let record = self.records[place].1.as_mut();
        record.map_or(Ok(()), |record| record.take(row))
    }

    fn write_windows(&mut self, is_over: bool) -> io::Result<()> {
        for job in &mut self.jobs {
            let epoch_ns = job.epoch_ns(self.start_unix_ns.unwrap_or(0));
            if let Some(folded) = &mut job.folded {
                let to = (&job.wants, &mut job.files);
                folded.write(is_over, to, &self.place, epoch_ns)?;
            }
        }
        Ok(())
    }

    /// Writes what is buffered.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn finish(&mut self) -> io::Result<()> {
        self.write_windows(true)?;
        for job in &mut self.jobs {
            let logs = &job.wants.logs;
            let has_windows = logs.folds_operations && logs.window_ns.is_some();
            if logs.wants_rows() || has_windows {
                job.files.open_all(&ROWS, &self.place, &job.wants);
            }
            if logs.folds_operations {
                job.files.open_all(&[HISTOGRAMS], &self.place, &job.wants);
            }
        }
        let records = std::mem::take(&mut self.records);
        let mut records = records.into_iter().filter_map(|(_, record)| record);
        records.try_for_each(|mut record| record.finish())?;
        self.jobs.iter_mut().try_for_each(|job| job.files.flush())
    }
}

impl JobOperations {
    /// What is added to times since its measured time began.
    fn epoch_ns(&self, start_unix_ns: u64) -> u64 {
        match self.wants.logs.is_absolute {
            true => start_unix_ns + self.measured_from_ns,
            false => 0,
        }
    }

    fn take(
        &mut self,
        record: &OperationRecord,
        start_unix_ns: u64,
        place: &Place,
    ) -> io::Result<()> {
        let Some(seen_ns) = record.seen_ns.checked_sub(self.measured_from_ns) else {
            return Ok(());
        };
        let record = OperationRecord { seen_ns, ..*record };
        if let Some(folded) = &mut self.folded {
            folded.add(&record);
        }
        if !self.wants.logs.wants_rows() {
            return Ok(());
        }
        let epoch_ns = self.epoch_ns(start_unix_ns);
        write_operation(&record, place, &self.wants, &mut self.files, epoch_ns)
    }
}

fn write_operation(
    record: &OperationRecord,
    place: &Place,
    wants: &Wants,
    files: &mut Files,
    epoch_ns: u64,
) -> io::Result<()> {
    let Some(direction) = direction_of(record.operation) else {
        return Ok(());
    };
    let (service_ns, completion_ns) = (record.service_ns, record.completion_ns);
    let row = Row {
        at_ns: epoch_ns + record.seen_ns,
        direction,
        length: record.length,
        offset: record.offset,
        priority: match record.priority {
            0 => wants.logs.priority,
            own => own,
        },
        issued_ns: record.seen_ns.saturating_sub(completion_ns),
    };
    if let Some(submission_ns) = record.submission_ns {
        let row = Row {
            at_ns: row.at_ns.saturating_sub(completion_ns),
            ..row
        };
        files.put(place, wants, "slat", row, (submission_ns, submission_ns))?;
    }
    files.put(place, wants, "clat", row, (completion_ns, completion_ns))?;
    files.put(place, wants, "lat", row, (service_ns, service_ns))?;
    let bandwidth = per_second(u64::from(record.length), completion_ns.max(1)) / 1024;
    for (kind, value) in [("bw", bandwidth), ("iops", 1)] {
        if !wants.logs.without_single.contains(&kind) {
            files.put(place, wants, kind, row, (value, value))?;
        }
    }
    Ok(())
}

/// What one stream did in an interval, by direction.
fn sums_of(interval: &Interval, place: usize) -> [Window; 3] {
    let mut sums: [Window; 3] = Default::default();
    let mine = interval
        .figures
        .iter()
        .filter(|figure| figure.key.stream.index() == place);
    for figure in mine {
        let Some(direction) = direction_of(figure.key.operation) else {
            continue;
        };
        let sum = &mut sums[direction];
        sum.operations += figure.operations;
        sum.bytes += figure.bytes;
        sum.total.merge(&figure.service);
    }
    let sample = interval.engine.streams.get(place);
    let handover = sample.and_then(|sample| sample.handover.as_ref());
    for parts in handover.iter().flat_map(|handover| &handover.parts) {
        if let Some(direction) = direction_of(parts.operation) {
            sums[direction].submission.merge(&parts.submission);
            sums[direction].completion.merge(&parts.completion);
        }
    }
    for sum in &mut sums {
        if sum.completion.histogram.is_empty() {
            sum.completion = sum.total.clone();
        }
    }
    sums
}

pub(super) fn per_second(amount: u64, length_ns: u64) -> u64 {
    match length_ns {
        0 => 0,
        length_ns => (u128::from(amount) * 1_000_000_000 / u128::from(length_ns)) as u64,
    }
}

/// An error that names its file.
fn named<T>(result: io::Result<T>, path: &Path) -> io::Result<T> {
    let add_name =
        |error: io::Error| io::Error::new(error.kind(), format!("`{}`: {error}", path.display()));
    result.map_err(add_name)
}
