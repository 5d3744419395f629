//! One run: what its intervals add up to, and the rows, tables and warnings that follow.
use super::captions::{RunCaption, workload};
use super::columns::{self, has_header};
use super::details::Part as Place;
use super::flatfile::RunColumns;
use super::pages::PageId;
use super::skew::{self, Layout, Part};
use super::tally::{CpuShares, Tally, Values};
use super::{Execution, Face, RespColumns, buckets};
use measure::{
    CpuTimes, ExecutionTarget, Figure, FigureKey, HostSample, Interval, IntervalPhase,
    LatencyFigures, RunFinished, RunStarted, RunTotals, StreamTotals, WorkerSample,
};
use plan::{Label, Load, Nanos, Operation, StreamId, TargetId};
use std::collections::HashMap;
use std::sync::Arc;

/// Above this share of the host's processors, a run is warned about.
const BUSY_CPU_PCT: f64 = 80.0;

/// Counts of one run.
#[derive(Debug)]
pub struct Run {
    caption: RunCaption,
    rate: String,
    elapsed: String,
    place: u32,
    interval_s: f64,
    warmup_s: f64,
    unmeasured: u32,
    is_controlled: bool,
    flat: RunColumns,
    streams: Vec<StreamPlace>,
    total: Counts,
    /// None where there is only one, which is the total.
    hosts: Vec<Counts>,
    slaves: Vec<Counts>,
    /// The host of each slave.
    host_of: Vec<usize>,
    devices: Vec<Counts>,
    workloads: Vec<Counts>,
    /// Devices as hosts and slaves use them, where the job asks for that, and where each is.
    details: Vec<Counts>,
    place_of: Arc<HashMap<(Place, usize), usize>>,
    measured_intervals: u32,
    cpu: Option<CpuTimes>,
    /// Both latencies of the measured intervals, whatever the columns show.
    sum: RunTotals,
    errors: u64,
    failures: u64,
}

/// Where a stream is counted.
#[derive(Debug)]
struct StreamPlace {
    workload: Option<usize>,
    slave: usize,
    /// Its device, when it has only one.
    device: Option<usize>,
    asked_rate: Option<f64>,
    share_pct: f64,
}

/// The last interval, the measured intervals, and all of them.
#[derive(Debug, Default)]
struct Counts {
    now: Tally,
    measured: Tally,
    whole: Tally,
    /// Whether the run uses this.
    is_active: bool,
}

impl Run {
    pub fn new(started: &RunStarted, caption: RunCaption, execution: &Execution) -> Self {
        let (targets, workloads) = (&execution.targets, &execution.workloads);
        let places = &execution.places;
        let several = |count: usize| unused(if count > 1 { count } else { 0 });
        let (mut hosts, mut slaves) = (several(places.hosts.len()), several(places.slaves.len()));
        let mut devices = unused(targets.len());
        let mut counts = unused(workloads.len());
        let mut streams = Vec::with_capacity(started.streams.len());
        for stream in &started.streams {
            let name = workload(&stream.name, &stream.labels);
            let place = workloads.iter().position(|known| known == name);
            if let Some(counts) = place.and_then(|place| counts.get_mut(place)) {
                counts.is_active = true;
            }
            for target in &stream.targets {
                if let Some(device) = devices.get_mut(target.index()) {
                    device.is_active = true;
                }
            }
            let slave = places.slave_of(&stream.labels);
            let host = hosts.get_mut(places.slaves[slave].host);
            for counts in host.into_iter().chain(slaves.get_mut(slave)) {
                counts.is_active = true;
            }
            let device = match stream.targets[..] {
                [only] => Some(only.index()),
                _ => None,
            };
            streams.push(StreamPlace {
                workload: place,
                slave,
                device,
                asked_rate: stream.asked_rate,
                share_pct: stream.share_pct,
            });
        }
        let bytes = active_bytes(&devices, targets);
        let rate = rate_text(started);
        Self {
            flat: RunColumns::new(&caption.name, &rate, started, bytes),
            elapsed: Label::find(&started.labels, "elapsed")
                .map_or_else(|| elapsed_text(started), String::from),
            place: started.run,
            interval_s: started.interval_ns as f64 / 1e9,
            warmup_s: started.warmup_ns as f64 / 1e9,
            unmeasured: started.unmeasured_intervals,
            is_controlled: !rate.starts_with("Uncontrolled"),
            caption,
            rate,
            streams,
            total: Counts::default(),
            hosts,
            slaves,
            host_of: places.slaves.iter().map(|slave| slave.host).collect(),
            devices,
            workloads: counts,
            details: unused(execution.details.pages.len()),
            place_of: execution.details.lookup(),
            measured_intervals: 0,
            cpu: None,
            sum: empty_totals(started),
            errors: 0,
            failures: 0,
        }
    }

    pub fn caption(&self) -> &RunCaption {
        &self.caption
    }

    /// Place in the execution, from zero.
    pub fn place(&self) -> u32 {
        self.place
    }

    /// Failed I/Os in all intervals, warm-up too.
    pub fn errors(&self) -> u64 {
        self.errors.max(self.failures)
    }

    /// The place of the slave that a stream belongs to.
    pub fn slave_of(&self, stream: StreamId) -> usize {
        let place = self.streams.get(stream.index());
        place.map_or(0, |place| place.slave)
    }

    /// Counts a failure that was told one by one.
    pub fn add_failure(&mut self) {
        self.failures += 1;
    }

    /// `Starting RD=…`, without the time.
    pub fn start_line(&self) -> String {
        let RunCaption { name, loops } = &self.caption;
        let warmup = match self.warmup_s {
            warmup_s if warmup_s > 0.0 => format!(" warmup={warmup_s}"),
            _ => String::new(),
        };
        let Self { rate, elapsed, .. } = self;
        format!(
            "Starting RD={name}; I/O rate: {rate}; elapsed={elapsed}{warmup}; For loops: {loops}"
        )
    }

    /// The loud line: the columns hide how late operations were.
    pub fn late_line(&self, columns: RespColumns) -> Option<String> {
        if columns == RespColumns::Arrival {
            return None;
        }
        let gap = analysis::response_gap(&self.sum)?;
        let [response, service] = [gap.response_ns_p99, gap.service_ns_p99].map(Nanos);
        let unserved = match gap.unserved {
            0 => String::new(),
            count => format!("; {count} arrivals were never served"),
        };
        Some(format!(
            "*** response time from the intended arrival is p99 {response}, against p99 {service} of \
             the times in the columns above, which begin when an I/O is submitted{unserved}; --resp \
             arrival shows response ***"
        ))
    }

    /// A box when the host was busy.
    pub fn cpu_warning(&self, hosts: &[String]) -> Vec<String> {
        let used = CpuShares::of(self.cpu.as_ref()).map_or(0.0, |cpu| cpu.used());
        if used <= BUSY_CPU_PCT {
            return Vec::new();
        }
        let hosts = hosts.join(",");
        columns::boxed(&[
            format!("Warning for host={hosts}: average processor utilization {used:.1}%"),
            "Above 80% the processors, and not the storage, may be what".to_string(),
            "holds the rate back and stretches the times.".to_string(),
        ])
    }

    fn add(&mut self, interval: &Interval, columns: RespColumns) {
        let is_measured = interval.phase == IntervalPhase::Measured;
        self.each().for_each(|counts| counts.now = Tally::default());
        for figure in &interval.figures {
            self.total.now.add_figure(figure, columns);
            if let Some(device) = self.devices.get_mut(figure.key.target.index()) {
                device.now.add_figure(figure, columns);
            }
            for counts in self.parts_of(figure.key.stream) {
                counts.now.add_figure(figure, columns);
            }
            for place in self.details_of(figure.key.stream, figure.key.target.index()) {
                self.details[place].now.add_figure(figure, columns);
            }
            self.errors += figure.errors;
            if is_measured {
                self.sum.figures[0].merge(figure);
            }
        }
        self.add_unserved(interval, columns);
        if is_measured {
            self.measured_intervals += 1;
            if let Some(cpu) = &interval.host.cpu {
                self.cpu.get_or_insert_default().add(cpu);
            }
        }
        self.each().for_each(|counts| {
            counts.whole.merge(&counts.now);
            if is_measured {
                counts.measured.merge(&counts.now);
            }
        });
    }

    /// Ages of what was never served belong to the response, whatever the columns show.
    fn add_unserved(&mut self, interval: &Interval, columns: RespColumns) {
        for (stream, sample) in interval.engine.streams.iter().enumerate() {
            if interval.phase == IntervalPhase::Measured {
                self.sum.streams[0].unserved.merge(&sample.unserved);
            }
            if columns == RespColumns::Service {
                continue;
            }
            self.total.now.add_unserved(&sample.unserved);
            let device = self.streams.get(stream).and_then(|place| place.device);
            if let Some(device) = device.and_then(|device| self.devices.get_mut(device)) {
                device.now.add_unserved(&sample.unserved);
            }
            for counts in self.parts_of(StreamId::at(stream)) {
                counts.now.add_unserved(&sample.unserved);
            }
            let places = device.map(|device| self.details_of(StreamId::at(stream), device));
            for place in places.into_iter().flatten() {
                self.details[place].now.add_unserved(&sample.unserved);
            }
        }
    }

    /// Workload, host and slave of a stream, where they are counted apart.
    fn parts_of(&mut self, stream: StreamId) -> impl Iterator<Item = &mut Counts> {
        let place = self.streams.get(stream.index());
        let slave = place.map(|place| place.slave);
        let host = slave.map(|slave| self.host_of[slave]);
        let workload = place.and_then(|place| place.workload);
        [
            workload.and_then(|workload| self.workloads.get_mut(workload)),
            host.and_then(|host| self.hosts.get_mut(host)),
            slave.and_then(|slave| self.slaves.get_mut(slave)),
        ]
        .into_iter()
        .flatten()
    }

    /// Where a device is counted for the host and the slave of a stream.
    fn details_of(&self, stream: StreamId, device: usize) -> impl Iterator<Item = usize> + use<> {
        let place = self.streams.get(stream.index());
        let slave = place
            .map(|place| place.slave)
            .filter(|_| !self.details.is_empty());
        let find = |part: Place| self.place_of.get(&(part, device)).copied();
        let found =
            slave.map(|slave| [Place::Host(self.host_of[slave]), Place::Slave(slave)].map(find));
        found.into_iter().flatten().flatten()
    }

    fn each(&mut self) -> impl Iterator<Item = &mut Counts> {
        let parts = self.devices.iter_mut().chain(&mut self.workloads);
        let parts = parts.chain(&mut self.details);
        let places = self.hosts.iter_mut().chain(&mut self.slaves);
        std::iter::once(&mut self.total).chain(parts).chain(places)
    }

    /// Everything but the total that has a page, with the page.
    fn with_pages<'a>(
        &'a self,
        it: &'a Execution,
    ) -> impl Iterator<Item = (&'a Counts, PageId, Option<PageId>)> {
        let folder = &it.folder;
        let of = |counts: &'a [Counts], place: usize| counts.get(place).unwrap_or(&self.total);
        let hosts = folder.hosts.iter().enumerate();
        let hosts = hosts.map(move |(at, page)| (of(&self.hosts, at), page.0, page.1));
        let slaves = folder.slaves.iter().enumerate();
        let slaves = slaves.map(move |(at, page)| (of(&self.slaves, at), page.0, page.1));
        let devices = self.devices.iter().zip(&folder.devices);
        let parts = devices.chain(self.workloads.iter().zip(&folder.workloads));
        let parts = parts.map(|(counts, page)| (counts, page[0], Some(page[1])));
        let details = self.details.iter().zip(&it.details.pages);
        let details = details.map(|(counts, page)| (counts, *page, None));
        hosts.chain(slaves).chain(parts).chain(details)
    }

    /// What is asked in an interval, where that changes in the course of the run.
    fn asked_in(&self, interval: &Interval) -> Option<f64> {
        let load = &self.sum.started.load;
        let changes = matches!(load, Load::Steps { .. });
        load.mean_rate(interval.start_ns, interval.end_ns)
            .filter(|_| changes)
    }

    fn measured_s(&self) -> f64 {
        f64::from(self.measured_intervals) * self.interval_s
    }

    /// The share of all I/O that a workload was asked to take, in percent: by the rates of its
    /// streams, and by shares of what those with a rate leave where some have none.
    fn asked_pct(&self, workload: usize) -> f64 {
        let streams = self.streams.iter();
        let asked: Vec<(Option<f64>, f64)> = streams
            .map(|stream| (stream.asked_rate, stream.share_pct))
            .collect();
        let completed = self.total.measured.operations() as f64;
        let asked = analysis::asked_shares(&asked, self.measured_s(), completed);
        let all = self.streams.iter().zip(asked);
        let mine = all.filter(|(stream, _)| stream.workload == Some(workload));
        mine.map(|(_, pct)| pct).sum()
    }
}

impl Face {
    pub(super) fn add_interval(&mut self, it: &mut Execution, interval: &Interval) {
        let Some(mut run) = it.run.take() else { return };
        run.add(interval, self.options.columns);
        if has_header(interval.number) {
            self.write_header(it, &run, interval.unix_ns);
        }
        let cpu = CpuShares::of(interval.host.cpu.as_ref());
        let label = interval.number.to_string();
        run.flat.asked_now = run.asked_in(interval);
        let now = |counts: &Counts| counts.now.values(run.interval_s);
        self.write_rows(it, &run, interval.unix_ns, &label, cpu, now);
        run.flat.asked_now = None;
        if interval.number == run.unmeasured {
            self.status(it, interval.unix_ns, "Warmup done", Some(&run));
        }
        it.run = Some(run);
    }

    pub(super) fn write_averages(&mut self, it: &Execution, run: &Run, finished: &RunFinished) {
        let label = format!("avg_{}-{}", finished.first_measured, finished.last_measured);
        let cpu = CpuShares::of(run.cpu.as_ref());
        let seconds = run.measured_s();
        let measured = |counts: &Counts| counts.measured.values(seconds);
        let row = self.write_rows(it, run, finished.unix_ns, &label, cpu, measured);
        self.pages.line(it.folder.totals, &row);
    }

    /// Returns the row of the total.
    fn write_rows(
        &mut self,
        it: &Execution,
        run: &Run,
        at: u64,
        label: &str,
        cpu: Option<CpuShares>,
        values: impl Fn(&Counts) -> Values,
    ) -> String {
        let (time, megabyte) = (it.zone.time(at), self.options.megabyte);
        let total = values(&run.total);
        let flat = run
            .flat
            .line([&time, &it.zone.stamp(at)], label, &total, cpu, megabyte);
        self.pages.line(it.folder.flat, &flat);
        let row = columns::row(&time, label, &total, cpu, megabyte);
        self.console.push(row.clone());
        for page in [it.folder.summary, it.folder.log] {
            self.pages.line(page, &row);
        }
        for (counts, page, _) in run.with_pages(it) {
            let row = columns::row(&time, label, &values(counts), cpu, megabyte);
            self.pages.line(page, &row);
        }
        row
    }

    fn write_header(&mut self, it: &Execution, run: &Run, at: u64) {
        let header = columns::header(&it.zone.date(at), self.options.megabyte);
        self.console.extend(header.clone());
        let parts = run.with_pages(it).map(|(_, page, _)| page);
        for page in [it.folder.summary, it.folder.log].into_iter().chain(parts) {
            self.pages.lines(page, &header);
        }
    }

    pub(super) fn write_histograms(&mut self, it: &Execution, run: &Run) {
        self.pages
            .lines(it.folder.histogram, &buckets::lines(&run.total.whole));
        for (counts, _, page) in run.with_pages(it) {
            if let Some(page) = page {
                self.pages.lines(page, &buckets::lines(&counts.whole));
            }
        }
    }

    /// Writes the tables; returns the warning about a skew that was not kept.
    pub(super) fn write_skew(&mut self, it: &mut Execution, run: &Run, at: u64) -> Vec<String> {
        let names = it
            .targets
            .iter()
            .map(|target| &target.name)
            .chain(&it.workloads)
            .chain(it.places.slaves.iter().map(|slave| &slave.name));
        let layout = Layout {
            width: names.map(|name| name.chars().count()).max().unwrap_or(0),
            seconds: run.measured_s(),
            megabyte: self.options.megabyte,
        };
        let names = it.places.slaves.iter().map(|slave| slave.name.as_str());
        let slaves: Vec<Part<'_>> = parts(&run.slaves, names, |_| 0.0).collect();
        let names = it.places.hosts.iter().map(String::as_str);
        let hosts: Vec<Part<'_>> = parts(&run.hosts, names, |_| 0.0).collect();
        let names = it.targets.iter().map(|target| target.name.as_str());
        let devices: Vec<Part<'_>> = parts(&run.devices, names, |_| 0.0).collect();
        let names = it.workloads.iter().map(String::as_str);
        let workloads: Vec<Part<'_>> =
            parts(&run.workloads, names, |place| run.asked_pct(place)).collect();
        let mut lines = Vec::new();
        if slaves.len() > 1 {
            lines.push(String::new());
            lines.extend(skew::plain("Slave:", &slaves, layout));
        }
        if hosts.len() > 1 {
            let cpu = CpuShares::of(run.cpu.as_ref());
            lines.push(String::new());
            lines.extend(skew::hosts(&hosts, cpu, layout));
        }
        if devices.len() > 1 {
            lines.push(String::new());
            lines.extend(skew::plain("SD:", &devices, layout));
        }
        if workloads.len() > 1 {
            lines.push(String::new());
            lines.extend(skew::workloads(&workloads, layout));
        }
        let missed = if run.is_controlled && workloads.len() > 1 {
            skew::missed(&workloads)
        } else {
            Vec::new()
        };
        let warning = skew_warning(&missed);
        if !lines.is_empty() && !it.has_skew_note {
            let note = "Warm-up intervals are not in the counts below.";
            lines.splice(0..0, [String::new(), note.to_string()]);
            it.has_skew_note = true;
        }
        self.stamped(it.folder.skew, &it.zone, at, &lines);
        warning
    }
}

fn unused(count: usize) -> Vec<Counts> {
    (0..count).map(|_| Counts::default()).collect()
}

/// Bytes of the devices that the run uses.
fn active_bytes(devices: &[Counts], targets: &[ExecutionTarget]) -> u64 {
    let pairs = devices.iter().zip(targets);
    let active = pairs.filter(|(device, _)| device.is_active);
    active.map(|(_, target)| target.bytes).sum()
}

/// What of the devices or workloads the run uses.
fn parts<'a>(
    counts: &'a [Counts],
    names: impl Iterator<Item = &'a str>,
    asked_pct: impl Fn(usize) -> f64,
) -> impl Iterator<Item = Part<'a>> {
    let placed = counts.iter().zip(names).enumerate();
    placed
        .filter(|(_, (counts, _))| counts.is_active)
        .map(move |(place, (counts, name))| Part {
            name,
            tally: &counts.measured,
            asked_pct: asked_pct(place),
        })
}

/// All figures and all streams in one, which is all that a comparison of latencies needs.
fn empty_totals(started: &RunStarted) -> RunTotals {
    let all = Figure {
        key: FigureKey {
            stream: StreamId(0),
            target: TargetId(0),
            operation: Operation::Read,
        },
        operations: 0,
        bytes: 0,
        errors: 0,
        short_transfers: 0,
        service: LatencyFigures::default(),
        response: LatencyFigures::default(),
    };
    RunTotals {
        started: started.clone(),
        finished: None,
        length_ns: 0,
        intervals: 0,
        figures: vec![all],
        streams: vec![StreamTotals::default()],
        pools: Vec::new(),
        workers: WorkerSample::default(),
        host: HostSample::default(),
        data: Vec::new(),
        unreturned: Vec::new(),
    }
}

fn skew_warning(missed: &[(&str, f64, f64)]) -> Vec<String> {
    if missed.is_empty() {
        return Vec::new();
    }
    let mut lines =
        vec!["Warning: the skew that was asked for was not kept within 1%:".to_string()];
    let line = |(name, asked, observed): &(&str, f64, f64)| {
        format!("wd={name}: requested {asked:.2}%, observed {observed:.2}%")
    };
    lines.extend(missed.iter().map(line));
    columns::boxed(&lines)
}

fn rate_text(started: &RunStarted) -> String {
    match (Label::find(&started.labels, "rate"), started.asked_rate) {
        (Some(label), _) => label.to_string(),
        (None, Some(asked)) => format!("{asked:.0}"),
        (None, None) => "Uncontrolled MAX".to_string(),
    }
}

fn elapsed_text(started: &RunStarted) -> String {
    match started.window_ns {
        Some(window_ns) => (window_ns as f64 / 1e9).to_string(),
        None => "(none)".to_string(),
    }
}
