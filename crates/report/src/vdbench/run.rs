//! One run: what its intervals add up to, and the rows, tables and warnings that follow.
use super::captions::{RunCaption, own_label, workload};
use super::columns::{self, has_header};
use super::details::Part as Place;
use super::flatfile::RunColumns;
use super::pages::PageId;
use super::processors::{CpuColumns, Processors};
use super::skew::{self, Layout, Part};
use super::tally::{Tally, Values};
use super::{Execution, Face, RespColumns, buckets, messages};
use analysis::Reach;
use measure::{
    CpuTimes, ExecutionTarget, FinishReason, Interval, IntervalPhase, RunFinished, RunFold,
    RunStarted,
};
use plan::{DataLimit, Load, Nanos, RunKind, RunStop, StreamId, TargetId};
use std::collections::{BTreeMap, BTreeSet, HashMap};
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
    /// Hosts that have a part in the run and did not tell of the last interval.
    silent: BTreeSet<usize>,
    devices: Vec<Counts>,
    /// The device of each target.
    device_of: Arc<[usize]>,
    workloads: Vec<Counts>,
    /// Devices as hosts and slaves use them, where the job asks for that, and where each is.
    details: Vec<Counts>,
    place_of: Arc<HashMap<(Place, usize), usize>>,
    lengths: Lengths,
    intervals: u32,
    cpu: Option<CpuTimes>,
    cpu_whole: Option<CpuTimes>,
    /// Of Fathom and of other machines (steal), while intervals were measured: what other programs on this
    /// machine use is theirs.
    own_cpu_ns: u64,
    processors: Processors,
    ends_by_itself: bool,
    /// The last interval, where it ended early: only the end of the run tells why.
    cut: Option<Row>,
    started: RunStarted,
    /// Both latencies of the measured intervals, whatever the columns show.
    fold: RunFold,
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

/// What rates are divided by: the seconds of the intervals in the averages, and of all.
#[derive(Clone, Copy, Debug, Default)]
struct Lengths {
    measured_s: f64,
    whole_s: f64,
}

/// An interval to be printed.
#[derive(Clone, Debug)]
struct Row {
    number: u32,
    unix_ns: u64,
    cpu: CpuColumns,
    asked: Option<f64>,
    is_measured: bool,
    length_s: f64,
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
        let (workloads, places) = (&execution.workloads, &execution.places);
        let storages = &execution.storages;
        let several = |count: usize| unused(if count > 1 { count } else { 0 });
        let (mut hosts, mut slaves) = (several(places.hosts.len()), several(places.slaves.len()));
        let mut devices = unused(storages.all.len());
        let mut counts = unused(workloads.len());
        let mut streams = Vec::with_capacity(started.streams.len());
        for stream in &started.streams {
            let name = workload(&stream.name, &stream.labels);
            let place = workloads.iter().position(|known| known == name);
            if let Some(counts) = place.and_then(|place| counts.get_mut(place)) {
                counts.is_active = true;
            }
            let used = stream.targets.iter();
            used.filter_map(|target| storages.place(*target))
                .for_each(|device| devices[device].is_active = true);
            let slave = places.slave_of(&stream.labels);
            let host = hosts.get_mut(places.slaves[slave].host);
            for counts in host.into_iter().chain(slaves.get_mut(slave)) {
                counts.is_active = true;
            }
            let only = stream.targets.first();
            let device = only.filter(|_| stream.targets.len() == 1);
            streams.push(StreamPlace {
                workload: place,
                slave,
                device: device.and_then(|target| storages.place(*target)),
                asked_rate: stream.asked_rate,
                share_pct: stream.share_pct,
            });
        }
        let bytes = active_bytes(&devices, &storages.all);
        let rate = rate_text(started);
        Self {
            flat: RunColumns::new(&caption.name, &rate, started, bytes),
            elapsed: own_label(&started.labels, "elapsed")
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
            device_of: storages.lookup(),
            workloads: counts,
            details: unused(execution.details.pages.len()),
            place_of: execution.details.lookup(),
            lengths: Lengths::default(),
            intervals: 0,
            cpu: None,
            cpu_whole: None,
            own_cpu_ns: 0,
            processors: Processors::of(started, places),
            ends_by_itself: started.window_ns.is_none(),
            cut: None,
            started: started.clone(),
            fold: RunFold::of(started),
            silent: BTreeSet::new(),
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

    /// The first of the limits that what was measured has reached, by its parameter.
    pub fn reached(&self, limits: &RunStop) -> Option<(&'static str, u64)> {
        let Tally { read, write, .. } = &self.total.measured;
        let limits = [
            ("maxdata", limits.total_bytes, read.bytes + write.bytes),
            ("maxdataread", limits.read_bytes, read.bytes),
            ("maxdatawritten", limits.written_bytes, write.bytes),
        ];
        limits
            .into_iter()
            .find_map(|(name, limit, bytes)| match limit {
                Some(DataLimit::Bytes(most)) if bytes >= most => Some((name, most)),
                _ => None,
            })
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

    /// Mean service time of what was measured in ms, whatever the columns show.
    pub fn service_mean_ms(&self, finished: &RunFinished) -> Option<f64> {
        let totals = self.fold.totals(Some(finished.clone()))?;
        Some(totals.completed_service_ns_mean() / 1e6)
    }

    /// The loud line: the columns hide how late operations were.
    pub fn late_line(
        &self,
        columns: RespColumns,
        execution: &Execution,
        finished: &RunFinished,
    ) -> Option<String> {
        if columns == RespColumns::Arrival {
            return None;
        }
        let in_columns = self.fold.totals(None)?;
        let totals = self.fold.totals(Some(finished.clone()))?;
        if totals.is_of_warmup {
            return None;
        }
        let reach = Reach::of(&execution.backend, &execution.targets, &totals.started);
        let gap = analysis::response_gap_beside(&in_columns, &totals, reach)?;
        let [response, service] = gap.texts(|ns| Nanos(ns).to_string());
        let unsent = match gap.unsent {
            0 => String::new(),
            1 => "; 1 arrival was never served".to_owned(),
            count => format!("; {count} arrivals were never served"),
        };
        Some(format!(
            "*** response time from the intended arrival is p99 {response}, against p99 {service} of \
             the times in the columns above, which begin when an I/O is submitted{unsent}; {}; --resp \
             arrival shows response ***",
            messages::cause(&gap.cause)
        ))
    }

    /// A box when the host was busy.
    pub fn cpu_warning(&self, hosts: &[String]) -> Vec<String> {
        let all_ns = self.cpu.as_ref().map_or(0, CpuTimes::total_ns);
        let used = self.own_cpu_ns as f64 * 100.0 / all_ns.max(1) as f64;
        if used <= BUSY_CPU_PCT {
            return Vec::new();
        }
        let hosts = hosts.join(",");
        columns::boxed(&[
            format!("Warning for host={hosts}: average processor utilization {used:.1}%"),
            "by Fathom and by what other machines took of the processors (steal).".to_string(),
            "Above 80% the processors, and not the storage, may be what".to_string(),
            "holds the rate back and stretches the times.".to_string(),
        ])
    }

    fn add(&mut self, interval: &Interval, columns: RespColumns) {
        let is_measured = interval.phase == IntervalPhase::Measured;
        self.each().for_each(|counts| counts.now = Tally::default());
        for figure in &interval.figures {
            self.total.now.add_figure(figure, columns);
            let device = self.device_of.get(figure.key.target.index()).copied();
            if let Some(device) = device {
                self.devices[device].now.add_figure(figure, columns);
            }
            for counts in self.parts_of(figure.key.stream) {
                counts.now.add_figure(figure, columns);
            }
            let places = device.map(|device| self.details_of(figure.key.stream, device));
            for place in places.into_iter().flatten() {
                self.details[place].now.add_figure(figure, columns);
            }
            self.errors += figure.errors;
        }
        self.note_silent(interval);
        self.fold.add(interval);
        self.add_in_flight(interval);
        self.add_unserved(interval, columns);
        self.intervals += 1;
        if let Some(cpu) = &interval.host.cpu {
            self.cpu_whole.get_or_insert_default().add(cpu);
            if is_measured {
                self.cpu.get_or_insert_default().add(cpu);
                let fathom_ns = interval.host.fathom_user_ns + interval.host.fathom_system_ns;
                self.own_cpu_ns += fathom_ns + cpu.steal_ns;
            }
        }
        self.processors.add(interval);
        self.each().for_each(|counts| {
            counts.whole.merge(&counts.now);
            if is_measured {
                counts.measured.merge(&counts.now);
            }
        });
    }

    fn note_silent(&mut self, interval: &Interval) {
        self.silent.clear();
        let told = &interval.engine.hosts;
        if !interval.engine.is_of_several() {
            return;
        }
        for (stream, info) in self.streams.iter().zip(&self.started.streams) {
            if !told.iter().any(|one| one.host == info.host) {
                self.silent.insert(self.host_of[stream.slave]);
            }
        }
    }

    /// Shares out the time that slots of each pool were in use over its streams and their devices, by
    /// their service times; evenly, where nothing came back.
    fn add_in_flight(&mut self, interval: &Interval) {
        let streams = &self.started.streams;
        let mut parts: BTreeMap<(StreamId, usize), f64> = BTreeMap::new();
        let places = Arc::clone(&self.device_of);
        let device_of = |target: TargetId| places.get(target.index()).copied();
        for (stream, info) in streams.iter().enumerate() {
            let devices = info.targets.iter().filter_map(|target| device_of(*target));
            parts.extend(devices.map(|device| ((StreamId::at(stream), device), 0.0)));
        }
        for figure in &interval.figures {
            let key = device_of(figure.key.target).map(|device| (figure.key.stream, device));
            if let Some(service_ns) = key.and_then(|key| parts.get_mut(&key)) {
                *service_ns += figure.service.sum_ns as f64;
            }
        }
        let pool_of = |stream: StreamId| streams[stream.index()].pool as usize;
        let pools = &interval.engine.pools;
        let (mut sums, mut counts) = (vec![0.0; pools.len()], vec![0.0; pools.len()]);
        for ((stream, _), service_ns) in &parts {
            if let Some(sum) = sums.get_mut(pool_of(*stream)) {
                *sum += service_ns;
                counts[pool_of(*stream)] += 1.0;
            }
        }
        for ((stream, _), ns) in &mut parts {
            let pool = pool_of(*stream);
            *ns = match pools.get(pool) {
                None => *ns,
                Some(sample) if sums[pool] > 0.0 => sample.busy_ns as f64 * *ns / sums[pool],
                Some(sample) => sample.busy_ns as f64 / counts[pool],
            };
        }
        for ((stream, device), ns) in parts {
            self.total.now.add_in_flight(ns);
            self.devices[device].now.add_in_flight(ns);
            for counts in self.parts_of(stream) {
                counts.now.add_in_flight(ns);
            }
            let places: Vec<usize> = self.details_of(stream, device).collect();
            for place in places {
                self.details[place].now.add_in_flight(ns);
            }
        }
    }

    /// Ages of what was never served belong to the response, whatever the columns show.
    fn add_unserved(&mut self, interval: &Interval, columns: RespColumns) {
        if columns == RespColumns::Service {
            return;
        }
        for (stream, sample) in interval.engine.streams.iter().enumerate() {
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
    /// Hosts, slaves and workloads without a part in what prepares files get no table of it.
    fn with_pages<'a>(&'a self, it: &'a Execution) -> impl Iterator<Item = PageOf<'a>> {
        let folder = &it.folder;
        let of = |counts: &'a [Counts], place: usize| counts.get(place).unwrap_or(&self.total);
        let hosts = folder.hosts.iter().enumerate();
        let hosts = hosts.map(move |(at, page)| (of(&self.hosts, at), page.0, page.1, Some(at)));
        let slaves = folder.slaves.iter().enumerate();
        let host_of = |slave: usize| self.host_of.get(slave).copied();
        let slaves =
            slaves.map(move |(at, page)| (of(&self.slaves, at), page.0, page.1, host_of(at)));
        let is_measured = self.started.kind == RunKind::Measure;
        let takes_part = move |counts: &Counts| is_measured || counts.is_active;
        let workloads = self.workloads.iter().zip(&folder.workloads);
        let workloads = workloads.filter(move |(counts, _)| takes_part(counts));
        let devices = self.devices.iter().zip(&folder.devices);
        let devices = devices.filter_map(|(counts, page)| Some((counts, page.as_ref()?)));
        let parts = devices.chain(workloads);
        let parts = parts.map(|(counts, page)| (counts, page[0], Some(page[1]), None));
        let details = self.details.iter().zip(&it.details.pages).enumerate();
        let details = details.map(|(at, (counts, page))| {
            let host = it.details.host_of(at, &it.places);
            (counts, page[0], Some(page[1]), Some(host))
        });
        let is_its = move |part: &PageOf<'_>| {
            takes_part(part.0) || std::ptr::eq(part.0, &raw const self.total)
        };
        let places = hosts.chain(slaves).filter(is_its);
        places.chain(parts).chain(details)
    }

    /// What is asked in an interval, where that changes in the course of the run.
    fn asked_in(&self, interval: &Interval) -> Option<f64> {
        let load = &self.started.load;
        let changes = matches!(load, Load::Steps { .. });
        load.mean_rate(interval.start_ns, interval.end_ns)
            .filter(|_| changes)
    }

    /// The interval that was just added.
    fn row(&self, interval: &Interval) -> Row {
        Row {
            number: interval.number,
            unix_ns: interval.unix_ns,
            cpu: self.processors.now(interval.host.cpu.as_ref()),
            asked: self.asked_in(interval),
            is_measured: interval.phase == IntervalPhase::Measured,
            length_s: interval.end_ns.saturating_sub(interval.start_ns) as f64 / 1e9,
        }
    }

    /// Whether its sequential workloads ended it, before the time that it may take.
    fn ended_at_size(&self, finished: &RunFinished) -> bool {
        let longest_s: Option<f64> = self.elapsed.parse().ok();
        let took_s = f64::from(finished.last_measured) * self.interval_s;
        let is_early = longest_s.is_none_or(|longest_s| took_s < longest_s + self.warmup_s);
        self.ends_by_itself
            && finished.reason == FinishReason::Complete
            && (self.cut.is_some() || is_early)
    }

    /// What a run of a single interval averages to is that interval, and the whole of one whose streams all ended
    /// in its warm-up.
    fn average_the_warmup(&mut self, reason: &FinishReason) {
        let is_all = self.intervals == 1 || *reason == FinishReason::Complete;
        if !is_all || self.intervals == 0 || self.lengths.measured_s > 0.0 {
            return;
        }
        (self.lengths.measured_s, self.cpu) = (self.lengths.whole_s, self.cpu_whole);
        self.processors.measure_all();
        self.each()
            .for_each(|counts| counts.measured = counts.whole.clone());
    }

    /// The share of all I/O that a workload was asked to take, in percent: by the rates of its
    /// streams, and by shares of what those with a rate leave where some have none.
    fn asked_pct(&self, workload: usize) -> f64 {
        let streams = self.streams.iter();
        let asked: Vec<(Option<f64>, f64)> = streams
            .map(|stream| (stream.asked_rate, stream.share_pct))
            .collect();
        let completed = self.total.measured.operations() as f64;
        let asked = analysis::asked_shares(&asked, self.lengths.measured_s, completed);
        let all = self.streams.iter().zip(asked);
        let mine = all.filter(|(stream, _)| stream.workload == Some(workload));
        mine.map(|(_, pct)| pct).sum()
    }
}

impl Face {
    pub(super) fn add_interval(&mut self, it: &mut Execution, interval: &Interval) {
        let Some(mut run) = it.run.take() else { return };
        it.seen_ns = interval.unix_ns;
        run.add(interval, self.options.columns);
        let row = run.row(interval);
        let nominal_s = run.interval_s;
        // A tenth of a microsecond is what seconds as binary fractions may differ by.
        if row.length_s + 1e-7 < nominal_s {
            run.cut = Some(row);
        } else {
            self.write_interval(it, &mut run, &row, nominal_s);
        }
        it.run = Some(run);
    }

    /// Prints an interval and counts its length, which rates are divided by.
    fn write_interval(&mut self, it: &Execution, run: &mut Run, row: &Row, seconds: f64) {
        run.lengths.whole_s += seconds;
        if row.is_measured {
            run.lengths.measured_s += seconds;
        }
        if has_header(row.number) {
            self.write_header(it, run, row.unix_ns);
        }
        run.flat.asked_now = row.asked;
        let now = |counts: &Counts| counts.now.values(seconds);
        self.write_rows(it, run, row.unix_ns, &row.number.to_string(), &row.cpu, now);
        run.flat.asked_now = None;
        if row.number == run.unmeasured {
            self.status(it, row.unix_ns, "Warmup done", Some(run));
        }
    }

    /// Prints the last interval where it ended early. As in the original, one that sequential workloads
    /// ended counts as long as any other; one that was cut short counts as long as it was.
    pub(super) fn write_cut(&mut self, it: &Execution, run: &mut Run, finished: &RunFinished) {
        let at = finished.unix_ns;
        if run.ended_at_size(finished) {
            self.tell(it, at, &messages::ENDED_AT_SIZE.map(String::from));
        }
        if let Some(row) = run.cut.take() {
            let is_whole = matches!(
                finished.reason,
                FinishReason::Complete | FinishReason::ReachedTotal
            );
            let seconds = if is_whole {
                run.interval_s
            } else {
                row.length_s
            };
            self.write_interval(it, run, &row, seconds);
            if !is_whole {
                self.say(it, at, &[messages::cut_short(row.number, row.length_s)]);
            }
        }
        run.average_the_warmup(&finished.reason);
    }

    /// The last interval of a run without an end, where it was short.
    pub(super) fn write_last(&mut self, it: &Execution, run: &mut Run, at: u64) {
        if let Some(row) = run.cut.take() {
            self.write_interval(it, run, &row, row.length_s);
            self.say(it, at, &[messages::cut_short(row.number, row.length_s)]);
        }
    }

    pub(super) fn write_averages(&mut self, it: &Execution, run: &Run, finished: &RunFinished) {
        let label = format!("avg_{}-{}", finished.first_measured, finished.last_measured);
        let cpu = run.processors.measured(run.cpu.as_ref());
        let seconds = run.lengths.measured_s;
        let measured = |counts: &Counts| counts.measured.values(seconds);
        let row = self.write_rows(it, run, finished.unix_ns, &label, &cpu, measured);
        self.pages.line(it.folder.totals, &row);
    }

    /// Returns the row of the total.
    fn write_rows(
        &mut self,
        it: &Execution,
        run: &Run,
        at: u64,
        label: &str,
        cpu: &CpuColumns,
        values: impl Fn(&Counts) -> Values,
    ) -> String {
        let is_average = label.starts_with("avg");
        let (time, look) = (it.zone.time(at), self.options.look());
        let total = values(&run.total);
        let flat = run
            .flat
            .line([&time, &it.zone.stamp(at)], label, &total, cpu.all, look);
        self.pages.line(it.folder.flat, &flat);
        let row = columns::row(&time, label, &total, cpu.all, look);
        self.console.push(row.clone());
        for page in [it.folder.summary, it.folder.log] {
            self.pages.line(page, &row);
        }
        for (counts, page, _, host) in run.with_pages(it) {
            // One that does not tell is absent, and not at zero.
            if !is_average && host.is_some_and(|host| run.silent.contains(&host)) {
                continue;
            }
            let row = columns::row(&time, label, &values(counts), cpu.of(host), look);
            self.pages.line(page, &row);
        }
        row
    }

    fn write_header(&mut self, it: &Execution, run: &Run, at: u64) {
        let header = columns::header(&it.zone.date(at), self.options.look());
        self.console.extend(header.clone());
        let parts = run.with_pages(it).map(|(_, page, _, _)| page);
        for page in [it.folder.summary, it.folder.log].into_iter().chain(parts) {
            self.pages.lines(page, &header);
        }
    }

    pub(super) fn write_histograms(&mut self, it: &Execution, run: &Run) {
        self.pages
            .lines(it.folder.histogram, &buckets::lines(&run.total.whole));
        for (counts, _, page, _) in run.with_pages(it) {
            if let Some(page) = page {
                self.pages.lines(page, &buckets::lines(&counts.whole));
            }
        }
    }

    /// Writes the tables; returns the warning about a skew that was not kept.
    pub(super) fn write_skew(&mut self, it: &mut Execution, run: &Run, at: u64) -> Vec<String> {
        let names = it
            .storages
            .all
            .iter()
            .map(|storage| &storage.name)
            .chain(&it.workloads)
            .chain(it.places.slaves.iter().map(|slave| &slave.name));
        let layout = Layout {
            width: names.map(|name| name.chars().count()).max().unwrap_or(0),
            seconds: run.lengths.measured_s,
            look: self.options.look(),
        };
        let names = it.places.hosts.iter().map(String::as_str);
        let hosts: Vec<Part<'_>> = parts(&run.hosts, names, |_| 0.0).collect();
        let names = it.storages.all.iter().map(|storage| storage.name.as_str());
        let devices: Vec<Part<'_>> = parts(&run.devices, names, |_| 0.0).collect();
        let names = it.workloads.iter().map(String::as_str);
        let workloads: Vec<Part<'_>> =
            parts(&run.workloads, names, |place| run.asked_pct(place)).collect();
        let mut lines = Vec::new();
        // Those of a job on several hosts or slaves are also in runs that use one of them, as in the original.
        let (hosts_all, slaves_all) = (it.places.hosts.len(), it.places.slaves.len());
        for host in (0..hosts_all).filter(|_| slaves_all > 1) {
            let slaves = it.places.slaves.iter();
            let names = slaves.map(|slave| slave.name.as_str());
            let is_here = |place: usize| it.places.slaves[place].host == host;
            let slaves = parts(&run.slaves, names, |_| 0.0);
            let here: Vec<Part<'_>> = slaves.filter(|part| is_here(part.place)).collect();
            if !here.is_empty() {
                lines.push(String::new());
                lines.extend(skew::plain("Slave:", &here, layout));
            }
        }
        if hosts_all > 1 && !hosts.is_empty() {
            let cpu = run.processors.measured(run.cpu.as_ref());
            let own: Vec<_> = hosts.iter().map(|part| cpu.of(Some(part.place))).collect();
            lines.push(String::new());
            lines.extend(skew::hosts(&hosts, (&own, cpu.all), layout));
        }
        if devices.len() > 1 || hosts_all > 1 && !devices.is_empty() {
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

/// Counts with their page, that of their histogram, and the place of the host whose processors they have.
type PageOf<'a> = (&'a Counts, PageId, Option<PageId>, Option<usize>);

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
            place,
            tally: &counts.measured,
            asked_pct: asked_pct(place),
        })
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
    match (own_label(&started.labels, "rate"), started.asked_rate) {
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
