//! From events to what fio reports: jobs in their order, each direction with its figures. Layouts
//! are elsewhere; what each field is made of is in `docs/reference/fio-output.md`.
use super::clients::Clients;
use super::faults::{Fault, Faults, Tolerances};
use super::losses::Loss;
use super::settings::{Settings, Unified};
use super::stat::Samples;
use crate::repetitions;
use analysis::{SettleWatch, Settled};
use lang::fio::ReportOptions;
use measure::{
    BATCH_CLASSES, DEPTH_CLASSES, DeviceCounters, Event, ExecutionStarted, Figure, FinishReason,
    HostId, Interval, IntervalPhase, IoFailure, LatencyFigures, Outstanding, RunFinished,
    RunStarted, StreamInfo, StreamSpan, ThreadUsage,
};
use plan::{BoundPlan, IoPriority, Label, Operation, RunKind, Steady};
use std::collections::BTreeMap;

const NS_PER_MS: u64 = 1_000_000;
const NS_PER_S: f64 = 1e9;
/// A job whose time is up ends so much before its last interval at most.
const SAMPLE_SLACK_NS: u64 = 5 * NS_PER_MS;

/// What an execution has come to so far.
#[derive(Debug, Default)]
pub(super) struct Model {
    pub started: Option<ExecutionStarted>,
    pub globals: Vec<Label>,
    pub clients: Clients,
    /// Rules of steady states, by stream.
    steady_rules: Vec<(String, Steady)>,
    tolerances: Tolerances,
    settling: Vec<Settling>,
    jobs: Vec<Job>,
    /// What has just ended a job.
    end: Option<Fault>,
    /// Hosts that were just lost.
    losses: Vec<Loss>,
    runs: Vec<RunUse>,
    disks: Vec<(String, DeviceCounters)>,
    disk_ns: u64,
    /// Up to where disks of lost hosts are known, by the beginning of their names.
    lost_disks: Vec<(String, u64)>,
    pub now_unix_ns: u64,
    /// No further event comes, and the end of the execution did not.
    pub is_broken_off: bool,
}

/// Streams of a run that are judged together.
#[derive(Debug)]
struct Settling {
    run: usize,
    streams: Vec<usize>,
    watch: SettleWatch,
}

/// One clone.
#[derive(Clone, Debug)]
struct Job {
    info: StreamInfo,
    run: usize,
    slots: u32,
    directions: [Direction; 3],
    sync: LatencyFigures,
    syncs: u64,
    depths: [u64; DEPTH_CLASSES],
    submitted: [u64; BATCH_CLASSES],
    seen: [u64; BATCH_CLASSES],
    has_handover: bool,
    /// Of the last completion or of its time by the clock, since the start of the run.
    end_ns: u64,
    /// Its own time, where that is not the time of the run.
    span: Option<StreamSpan>,
    /// That it has come to, where it looks for one.
    depth: Option<u32>,
    /// The run that reads back what this one has written.
    check: Option<CheckPhase>,
    errors: u64,
    faults: Faults,
    /// Set when nothing more is heard of its host.
    loss: Option<Loss>,
    arrivals: Arrivals,
    /// The end of the last whole interval in which it did something. Its samples count once the job is known to have gone
    /// on until then.
    sampled_to_ns: u64,
}

/// What a job did behind its writes.
#[derive(Clone, Copy, Debug, Default)]
struct CheckPhase {
    run: usize,
    end_ns: u64,
    operations: u64,
    /// Whether the job had read before.
    is_second_read: bool,
}

/// Reads, writes or trims of a job or of a group.
#[derive(Clone, Debug, Default)]
pub(super) struct Direction {
    pub operations: u64,
    pub bytes: u64,
    pub short: u64,
    pub runtime_ms: u64,
    pub submission: LatencyFigures,
    pub completion: LatencyFigures,
    pub total: LatencyFigures,
    /// In the order in which they were found.
    pub priorities: Vec<ByPriority>,
    /// KiB per second.
    pub bandwidth: Samples,
    pub rate: Samples,
    /// KiB and I/Os per second of the last whole interval.
    last_sample: Option<(u64, u64)>,
}

/// Latencies of one priority.
#[derive(Clone, Debug)]
pub(super) struct ByPriority {
    /// As the kernel takes it.
    pub priority: u16,
    pub completion: LatencyFigures,
    /// Empty where single I/Os have no priorities.
    pub total: LatencyFigures,
}

/// What arrivals saw, of jobs with a schedule.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrivals {
    pub is_scheduled: bool,
    pub submitted: u64,
    /// Due and not submitted at the end.
    pub unserved: u64,
    pub response: LatencyFigures,
    pub lateness: LatencyFigures,
}

/// What all workers of a run used; jobs share workers, so it is divided among them by operations.
#[derive(Clone, Debug, Default)]
struct RunUse {
    interval_ns: u64,
    /// Where measurement begins.
    start_ns: u64,
    /// The end of the last interval so far, and its number.
    end_ns: u64,
    last_number: u32,
    /// Intervals at the start that are not measured.
    unmeasured: u32,
    /// Whether nobody has told how it ended.
    lacks_end: bool,
    /// By stream, the job that it belongs to; none for what is no job.
    jobs: Vec<usize>,
    is_check: bool,
    operations: u64,
    usage: ThreadUsage,
    /// Of each host where there are several: operations, and CPU time of its workers in nanoseconds.
    by_host: BTreeMap<HostId, (u64, u64)>,
    /// When the first of its jobs began to be measured, where all of them say so.
    measured_from_ns: Option<u64>,
    /// From 1, where all runs are repeated.
    repetition: Option<u32>,
    is_whole: bool,
    has_end: bool,
}

impl RunUse {
    /// Use of an interval; what came before is forgotten where all jobs are measured anew, and of
    /// the interval in which they are, the part behind that counts.
    fn add_usage(&mut self, interval: &Interval) {
        let streams = &interval.engine.streams;
        let begins = streams.iter().map(|sample| Some(sample.span?.from_ns));
        let from_ns = begins.collect::<Option<Vec<u64>>>();
        let from_ns = from_ns.and_then(|begins| begins.into_iter().min());
        let is_anew = self.measured_from_ns.is_some() && from_ns > self.measured_from_ns;
        self.measured_from_ns = from_ns.or(self.measured_from_ns);
        let usage = &interval.engine.workers.usage;
        if !is_anew {
            return self.usage.add(usage);
        }
        let behind_ns = interval.end_ns.saturating_sub(from_ns.unwrap_or(0));
        let share = behind_ns as f64 / interval.length_ns().max(1) as f64;
        self.usage = usage.part(share);
    }
}

impl RunUse {
    /// What the hosts did.
    fn add_hosts(&mut self, interval: &Interval) {
        for host in interval
            .engine
            .hosts
            .iter()
            .filter(|host| host.sample.is_some())
        {
            let cpu_ns = host.workers.iter().filter_map(|worker| worker.cpu_ns);
            self.by_host.entry(host.host).or_default().1 += cpu_ns.sum::<u64>();
        }
    }

    /// The part of the usage of all workers that some operations of a host took.
    fn share(&self, host: HostId, operations: u64) -> f64 {
        let of_all = |operations, all: u64| operations as f64 / all.max(1) as f64;
        let all_ns: u64 = self.by_host.values().map(|(_, cpu_ns)| *cpu_ns).sum();
        match self.by_host.get(&host) {
            Some((of_host, cpu_ns)) if *of_host > 0 && all_ns > 0 => {
                of_all(operations, *of_host) * *cpu_ns as f64 / all_ns as f64
            }
            _ => of_all(operations, self.operations),
        }
    }
}

/// One line of a report: a job, or a group of jobs.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub name: String,
    /// The place of its host among the clients.
    pub client: u32,
    pub group: u32,
    pub members: u32,
    pub settings: Settings,
    pub own_options: Vec<(String, String)>,
    pub description: Option<String>,
    pub error: Option<Fault>,
    /// With the first of them.
    pub errors: u64,
    pub first_counted: Option<Fault>,
    pub directions: [Direction; 3],
    pub mixed: Option<Direction>,
    pub syncs: u64,
    pub sync: LatencyFigures,
    pub runtime_ms: u64,
    pub user_ns: f64,
    pub system_ns: f64,
    pub context_switches: f64,
    pub minor_faults: f64,
    pub major_faults: f64,
    pub depths: [u64; DEPTH_CLASSES],
    pub submitted: [u64; BATCH_CLASSES],
    pub seen: [u64; BATCH_CLASSES],
    pub arrivals: Arrivals,
    /// From 1, where all runs are repeated.
    pub repetition: Option<u32>,
    /// Whether its run came to its end.
    pub is_whole: bool,
    /// Whether the end of its run will never be known.
    pub is_cut: bool,
    pub loss: Option<Loss>,
    pub settled: Option<Settled>,
    is_group: bool,
}

/// One disk over all runs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Disk {
    pub name: String,
    pub counters: DeviceCounters,
    pub busy_pct: f64,
}

impl Model {
    pub(super) fn on_event(&mut self, event: &Event) {
        match event {
            Event::ExecutionStarted(started) => {
                let bound: Option<BoundPlan> = serde_json::from_str(&started.plan_json).ok();
                self.tolerances = bound.as_ref().map(Tolerances::of).unwrap_or_default();
                let plan = bound.map(|bound| bound.plan).unwrap_or_default();
                let streams = plan.templates.iter().flat_map(|template| &template.streams);
                let rules = streams.filter_map(|one| Some((one.name.clone(), one.flow.steady?)));
                self.steady_rules = rules.collect();
                self.clients = Clients::of(started, &plan);
                self.globals = plan.labels;
                self.now_unix_ns = started.unix_ns;
                self.started = Some(started.clone());
            }
            Event::RunStarted(run) if run.kind == RunKind::Measure => self.begin(run),
            // Making files is no job.
            Event::RunStarted(_) => self.runs.push(RunUse::default()),
            Event::Interval(interval) => self.add(interval),
            Event::IoFailure(failure) => self.note_failure(failure),
            Event::RunFinished(run) => {
                self.now_unix_ns = run.unix_ns;
                self.add_drained(run);
                self.keep_last_samples();
                self.lose_all(run);
                if let Some(last) = self.runs.last_mut() {
                    last.has_end = true;
                    let reason = &run.reason;
                    last.is_whole =
                        matches!(reason, FinishReason::Complete | FinishReason::ReachedTotal);
                }
            }
            Event::ExecutionFinished(finished) => self.now_unix_ns = finished.unix_ns,
            Event::Remark(remark) => self.note_remark(remark),
            Event::DataWritten(_) => {}
        }
    }

    fn begin(&mut self, run: &RunStarted) {
        let place = self.runs.len();
        let is_check = is_check(&run.labels);
        let first = self.jobs.len();
        let jobs = match is_check {
            true => run
                .streams
                .iter()
                .map(|info| self.begin_check(info, place))
                .collect(),
            false => {
                self.jobs.extend(run.streams.iter().map(|info| {
                    let pool = run.pools.get(info.pool as usize);
                    Job::new(info, place, pool.map_or(1, |pool| pool.slots))
                }));
                (first..self.jobs.len()).collect()
            }
        };
        self.runs.push(RunUse {
            interval_ns: run.interval_ns,
            unmeasured: run.unmeasured_intervals,
            jobs,
            is_check,
            repetition: repetitions::number(&run.labels),
            ..RunUse::default()
        });
        if !is_check {
            self.watch_settling(place, run);
        }
    }

    /// The job whose writes a stream reads back.
    fn begin_check(&mut self, info: &StreamInfo, run: usize) -> usize {
        let is_same =
            |job: &Job| job.info.host == info.host && is_same_job(&job.info.labels, &info.labels);
        let found = self.jobs.iter().rposition(is_same);
        let place = found.unwrap_or(self.jobs.len());
        if found.is_none() {
            self.jobs.push(Job::new(info, run, 1));
        }
        let job = &mut self.jobs[place];
        job.check = Some(CheckPhase {
            run,
            is_second_read: job.directions[0].operations > 0,
            ..CheckPhase::default()
        });
        place
    }

    /// Follows the streams of a run whose rates are to settle, those of one group together.
    fn watch_settling(&mut self, place: usize, run: &RunStarted) {
        for (number, info) in run.streams.iter().enumerate() {
            let rule = self
                .steady_rules
                .iter()
                .find(|(name, _)| *name == info.name);
            let Some((_, rule)) = rule else { continue };
            let known = self.settling.iter_mut().find(|one| {
                let group = one.watch.state().rule.group;
                one.run == place && group.is_some() && group == rule.group
            });
            match known {
                Some(one) => one.streams.push(number),
                None => self.settling.push(Settling {
                    run: place,
                    streams: vec![number],
                    watch: SettleWatch::new(*rule),
                }),
            }
        }
    }

    fn settled(&self, run: usize, info: &StreamInfo) -> Option<Settled> {
        let mut jobs = self.runs[run].jobs.iter();
        let number = jobs.position(|job| self.jobs[*job].info.name == info.name)?;
        let mine = |one: &&Settling| one.run == run && one.streams.contains(&number);
        self.settling.iter().find(mine).map(|one| one.watch.state())
    }

    fn add(&mut self, interval: &Interval) {
        self.now_unix_ns = interval.unix_ns;
        let Some(run) = self.runs.last_mut().filter(|run| !run.jobs.is_empty()) else {
            return;
        };
        // One that is in no average as a host is missing has what the others did.
        if interval.phase == IntervalPhase::Warmup && interval.number <= run.unmeasured {
            run.start_ns = interval.end_ns;
            return;
        }
        self.lose_silent(interval);
        let number = self.runs.len() - 1;
        for one in self.settling.iter_mut().filter(|one| one.run == number) {
            let streams = &one.streams;
            one.watch.add(interval, |stream| streams.contains(&stream));
        }
        let run = self.runs.last_mut().expect("it was just there");
        run.add_usage(interval);
        run.add_hosts(interval);
        (run.end_ns, run.last_number) = (interval.end_ns, interval.number);
        let is_whole = interval.length_ns() >= run.interval_ns / 100 * 99;
        for (place, job) in run.jobs.iter().enumerate() {
            let job = &mut self.jobs[*job];
            if job.loss.is_some() {
                continue;
            }
            let before = (job.end_ns, job.span);
            if run.is_check {
                job.span = None;
                job.end_ns = job.check.map_or(0, |check| check.end_ns);
            }
            let sample = interval.engine.streams.get(place);
            run.operations -= job.begin_anew(sample.and_then(|sample| sample.span));
            let mine = |figure: &&Figure| figure.key.stream.index() == place;
            for figure in interval.figures.iter().filter(mine) {
                run.operations += figure.operations;
                run.by_host.entry(job.info.host).or_default().0 += figure.operations;
                job.add(figure, interval.end_ns);
                if let Some(check) = job.check.as_mut().filter(|_| run.is_check) {
                    check.operations += figure.operations;
                }
            }
            job.add_samples(interval, place, is_whole);
            if let Some(check) = job.check.as_mut().filter(|_| run.is_check) {
                check.end_ns = job.end_ns;
                (job.end_ns, job.span) = before;
            }
        }
        self.disk_ns += interval.length_ns();
        for device in &interval.host.devices {
            match self
                .disks
                .iter_mut()
                .find(|(name, _)| *name == device.device)
            {
                Some((_, counters)) => counters.add(&device.counters),
                None => self.disks.push((device.device.clone(), device.counters)),
            }
        }
    }

    /// What was out at the end of a run: a job goes on until its last answer, which counts as any
    /// other, or until the answer was given up.
    fn add_drained(&mut self, finished: &RunFinished) {
        let Some(run) = self.runs.last_mut() else {
            return;
        };
        for one in finished.late.iter().chain(&finished.outstanding) {
            let Some(place) = run.jobs.get(one.stream.index()) else {
                continue;
            };
            let job = &mut self.jobs[*place];
            let after_ns = one.returned_after_ns.unwrap_or(finished.drain_ns);
            let is_told = job.has_handover && one.returned_after_ns.is_some();
            let end_ns = if is_told { 0 } else { run.end_ns + after_ns };
            match job.check.as_mut().filter(|_| run.is_check) {
                Some(check) => check.end_ns = check.end_ns.max(end_ns),
                None => job.end_ns = job.end_ns.max(end_ns),
            }
            if one.returned_after_ns.is_none() {
                continue;
            }
            run.operations += 1;
            if let Some(check) = job.check.as_mut().filter(|_| run.is_check) {
                check.operations += 1;
            }
            job.add_late(one);
        }
    }

    fn keep_last_samples(&mut self) {
        let Some(run) = self.runs.last() else { return };
        for job in &run.jobs {
            let job = &mut self.jobs[*job];
            let check = job.check.filter(|_| run.is_check);
            job.keep_samples(check.map_or(job.end_ns, |check| check.end_ns));
        }
    }

    /// Of several hosts each that told an interval has its evidence in it.
    fn lose_silent(&mut self, interval: &Interval) {
        let told = &interval.engine.hosts;
        let missing = |host| told.iter().all(|one| one.host != host);
        if !told.is_empty() {
            self.lose(interval.number, interval.start_ns, missing);
        }
    }

    /// Nobody has told how a run of other hosts ended: all of them were lost.
    fn lose_all(&mut self, finished: &RunFinished) {
        let is_failed = matches!(finished.reason, FinishReason::Failed { .. });
        if let Some(run) = self.runs.last().filter(|run| run.lacks_end && is_failed) {
            self.lose(run.last_number + 1, run.end_ns, |_| true);
        }
    }

    /// Ends the jobs of hosts of which nothing is heard from an interval on.
    fn lose(&mut self, interval: u32, from_ns: u64, is_missing: impl Fn(HostId) -> bool) {
        let Some(run) = self.runs.last() else { return };
        for place in &run.jobs {
            let job = &mut self.jobs[*place];
            let host = job.info.host;
            let Some(name) = self.clients.names.get(host as usize) else {
                continue;
            };
            if job.loss.is_some() || !is_missing(host) || job.ends_by(from_ns) && !run.is_check {
                continue;
            }
            let loss = Loss {
                host: name.clone(),
                interval,
                from_ns,
            };
            job.faults.note_loss(&loss);
            job.loss = Some(loss.clone());
            if !self.losses.contains(&loss) {
                self.losses.push(loss);
                let front = format!("{name}:");
                if self.lost_disks.iter().all(|(known, _)| *known != front) {
                    self.lost_disks.push((front, self.disk_ns));
                }
            }
        }
    }

    /// Hosts that the last event has lost.
    pub(super) fn take_losses(&mut self) -> Vec<Loss> {
        std::mem::take(&mut self.losses)
    }

    /// A job below its floor ends with an error that is no failed I/O.
    fn note_remark(&mut self, remark: &measure::Remark) {
        if remark.code == "end-missing"
            && let Some(run) = self.runs.last_mut()
        {
            run.lacks_end = true;
        }
        if remark.code != "below-floor" {
            return;
        }
        let first = self.runs.last().and_then(|run| run.jobs.first().copied());
        let named = |job: &&mut Job| remark.message.starts_with(&format!("`{}` ", job.info.name));
        let jobs = self.jobs.iter_mut().skip(first.unwrap_or(usize::MAX));
        if let Some(job) = jobs.rev().find(named)
            && job.faults.note_below_floor()
        {
            self.end = job.faults.first().cloned();
        }
    }

    fn note_failure(&mut self, failure: &IoFailure) {
        let Some(run) = self.runs.last() else {
            return;
        };
        let place = run.jobs.get(failure.stream.index()).copied();
        let Some(job) = place.and_then(|place| self.jobs.get_mut(place)) else {
            return;
        };
        let options = ReportOptions::of(&job.info.labels, &self.globals);
        let bearing = self.tolerances.bearing(&job.info.name, failure);
        if job.faults.note(failure, &options, bearing) {
            self.end = job.faults.first().cloned();
        }
    }

    /// What the last event has ended a job with.
    pub(super) fn take_end(&mut self) -> Option<Fault> {
        self.end.take()
    }

    /// Seconds since the beginning, begun ones counted as whole.
    pub(super) fn elapsed_s(&self) -> u64 {
        let begun = self.started.as_ref().map_or(0, |started| started.unix_ns);
        self.now_unix_ns
            .saturating_sub(begun)
            .div_ceil(1_000_000_000)
    }

    /// What to report: every job that did something or failed, groups put together.
    pub(super) fn entries(&self) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::new();
        let groups = self
            .jobs
            .iter()
            .map(Job::group)
            .max()
            .map_or(0, |last| last + 1);
        let mut jobs: Vec<&Job> = self
            .jobs
            .iter()
            .filter(|job| self.is_reported(job))
            .collect();
        jobs.sort_by_key(|job| job.info.host);
        for job in jobs {
            let mut entry = self.entry(job);
            // Repetitions are reported as if the jobs had been given again behind a barrier.
            entry.group += groups * entry.repetition.map_or(0, |number| number - 1);
            match entries.last_mut() {
                Some(last)
                    if last.is_group
                        && entry.is_group
                        && (last.client, last.group) == (entry.client, entry.group) =>
                {
                    last.join(entry);
                }
                _ => entries.push(entry),
            }
        }
        for entry in &mut entries {
            if entry.settings.unified != Unified::Apart {
                entry.mixed = Some(mixed(&entry.directions));
            }
        }
        entries
    }

    pub(super) fn disks(&self) -> Vec<Disk> {
        let disk = |(name, counters): &(String, DeviceCounters)| Disk {
            name: name.clone(),
            counters: *counters,
            busy_pct: match self.disk_ns_of(name) {
                0 => 0.0,
                length_ns => (counters.busy_ns as f64 * 100.0 / length_ns as f64).min(100.0),
            },
        };
        self.disks.iter().map(disk).collect()
    }

    /// How long a disk was looked at.
    fn disk_ns_of(&self, name: &str) -> u64 {
        let mut lost = self.lost_disks.iter();
        let lost = lost.find(|(front, _)| name.starts_with(front.as_str()));
        lost.map_or(self.disk_ns, |(_, until_ns)| *until_ns)
    }

    /// Jobs with `stats=0` are carried out and not told of.
    fn is_reported(&self, job: &Job) -> bool {
        ReportOptions::of(&job.info.labels, &self.globals).is_reported
    }

    fn entry(&self, job: &Job) -> Entry {
        let run = &self.runs[job.run];
        let options = ReportOptions::of(&job.info.labels, &self.globals);
        let label = |key: &str| Label::find(&job.info.labels, key);
        let own = job.info.labels.iter().filter_map(|label| {
            let name = label.key.strip_prefix("option.")?;
            // Options without a value are left out, as fio does.
            (!label.value.is_empty()).then(|| (name.to_owned(), label.value.clone()))
        });
        let operations = job.operations();
        let check = job.check.unwrap_or_default();
        let check_run = job.check.map(|check| &self.runs[check.run]);
        let share = run.share(job.info.host, operations - check.operations);
        let part = |of: fn(&ThreadUsage) -> u64| {
            let of_check = check_run.map_or(0.0, |run| {
                of(&run.usage) as f64 * run.share(job.info.host, check.operations)
            });
            of(&run.usage) as f64 * share + of_check
        };
        let (directions, runtime_ms) = timed(job, run);
        let mut entry = Entry {
            name: label("job").unwrap_or(&job.info.name).to_owned(),
            client: job.info.host,
            group: job.group(),
            members: 1,
            settings: Settings::of(&options, job.slots),
            own_options: own.collect(),
            description: options.description.clone(),
            error: job.faults.first().cloned(),
            errors: job.faults.counted(job.errors),
            first_counted: job.faults.first_counted().cloned(),
            directions,
            mixed: None,
            syncs: job.syncs,
            sync: job.sync.clone(),
            runtime_ms: label("job_runtime_ms")
                .and_then(|text| text.parse().ok())
                .unwrap_or(runtime_ms),
            user_ns: part(|usage| usage.user_ns),
            system_ns: part(|usage| usage.system_ns),
            context_switches: part(|usage| usage.context_switches),
            minor_faults: part(|usage| usage.minor_faults),
            major_faults: part(|usage| usage.major_faults),
            depths: job.depths,
            submitted: job.submitted,
            seen: job.seen,
            arrivals: job.arrivals.clone(),
            settled: self.settled(job.run, &job.info),
            repetition: run.repetition,
            is_whole: run.is_whole,
            is_cut: self.is_broken_off && !run.has_end,
            loss: job.loss.clone(),
            is_group: label("group_reporting") == Some("1"),
        };
        entry.settings.depth = job.depth.unwrap_or(entry.settings.depth);
        if !job.has_handover && job.slots == 1 {
            // One at a time has one depth and one way of being handed over.
            (entry.depths[0], entry.submitted[1], entry.seen[1]) =
                (operations, operations, operations);
        }
        entry.hide_what_is_off();
        entry
    }
}

impl Job {
    fn new(info: &StreamInfo, run: usize, slots: u32) -> Self {
        Self {
            info: info.clone(),
            run,
            slots,
            directions: Default::default(),
            sync: LatencyFigures::default(),
            syncs: 0,
            depths: [0; DEPTH_CLASSES],
            submitted: [0; BATCH_CLASSES],
            seen: [0; BATCH_CLASSES],
            has_handover: false,
            end_ns: 0,
            span: None,
            depth: None,
            check: None,
            errors: 0,
            faults: Faults::default(),
            loss: None,
            arrivals: Arrivals {
                is_scheduled: info.asked_rate.is_some(),
                ..Arrivals::default()
            },
            sampled_to_ns: 0,
        }
    }

    /// The number of its group for reports.
    fn group(&self) -> u32 {
        let label = Label::find(&self.info.labels, "group");
        label.and_then(|group| group.parse().ok()).unwrap_or(0)
    }

    fn operations(&self) -> u64 {
        self.directions
            .iter()
            .map(|one| one.operations)
            .sum::<u64>()
            + self.syncs
    }

    fn add(&mut self, figure: &Figure, end_ns: u64) {
        self.errors += figure.errors;
        if figure.operations > 0 && !self.has_handover {
            self.end_ns = self.end_ns.max(end_ns);
        }
        let Some(place) = direction_of(figure.key.operation) else {
            if figure.key.operation.is_sync() {
                self.syncs += figure.operations;
                self.sync.merge(&figure.service);
            }
            return;
        };
        let direction = &mut self.directions[place];
        direction.operations += figure.operations;
        direction.bytes += figure.bytes;
        direction.short += figure.short_transfers;
        direction.total.merge(&figure.service);
        if self.arrivals.is_scheduled {
            self.arrivals.response.merge(&figure.response);
        }
    }

    fn add_late(&mut self, one: &Outstanding) {
        let latency = LatencyFigures::of(&[one.age_ns]);
        let Some(place) = direction_of(one.operation) else {
            self.syncs += 1;
            self.sync.merge(&latency);
            return;
        };
        let direction = &mut self.directions[place];
        direction.operations += 1;
        direction.bytes += u64::from(one.length);
        direction.total.merge(&latency);
    }

    /// From where it is measured to its last completion; no longer than its own time, where an
    /// interval is all that is known of its end.
    fn length_ns(&self, start_ns: u64) -> u64 {
        let Some(span) = self.span else {
            return self.end_ns.saturating_sub(start_ns);
        };
        let to_ns = span.to_ns.filter(|_| !self.has_handover);
        let end_ns = to_ns.map_or(self.end_ns, |to_ns| self.end_ns.min(to_ns));
        end_ns.saturating_sub(start_ns.max(span.from_ns))
    }

    /// Forgets what it did where its measurement begins anew; gives back how many operations.
    fn begin_anew(&mut self, span: Option<StreamSpan>) -> u64 {
        let from = |span: Option<StreamSpan>| span.map(|span| span.from_ns);
        if self.span.is_none() || from(span) <= from(self.span) {
            return 0;
        }
        let fresh = Self::new(&self.info, self.run, self.slots);
        let old = std::mem::replace(self, fresh);
        self.check = old.check;
        self.errors = old.errors;
        self.faults.clone_from(&old.faults);
        old.operations()
    }

    /// Whether it had come to its own end before.
    fn ends_by(&self, at_ns: u64) -> bool {
        let end_ns = self.span.and_then(|span| span.to_ns);
        end_ns.is_some_and(|end_ns| end_ns <= at_ns)
    }

    /// Whether it was measured all through an interval.
    fn fills(&self, interval: &Interval) -> bool {
        self.span.is_none_or(|span| {
            let goes_on = span.to_ns.is_none_or(|to_ns| to_ns >= interval.end_ns);
            span.from_ns <= interval.start_ns && goes_on
        })
    }

    /// Counts the last samples, unless the job ended before they were over: a job has none of the time in which it ended.
    fn keep_samples(&mut self, end_ns: u64) {
        let is_whole = end_ns.saturating_add(SAMPLE_SLACK_NS) >= self.sampled_to_ns;
        for direction in &mut self.directions {
            direction.keep_sample(is_whole);
        }
    }

    /// Rates of one interval, and what the engine tells of the stream.
    fn add_samples(&mut self, interval: &Interval, place: usize, is_whole: bool) {
        let sample = interval.engine.streams.get(place);
        self.span = sample.and_then(|sample| sample.span).or(self.span);
        let is_whole = is_whole && self.fills(interval);
        let seconds = interval.length_ns() as f64 / NS_PER_S;
        let mine = |figure: &&Figure| figure.key.stream.index() == place;
        let mut sums = [(0, 0); 3];
        for figure in interval.figures.iter().filter(mine) {
            if let Some(direction) = direction_of(figure.key.operation) {
                sums[direction].0 += figure.operations;
                sums[direction].1 += figure.bytes;
            }
        }
        let is_at_work = sums.iter().any(|(operations, _)| *operations > 0);
        if is_at_work {
            self.keep_samples(u64::MAX);
        }
        for (direction, (operations, bytes)) in self.directions.iter_mut().zip(sums) {
            if is_whole && operations > 0 {
                let kib = bytes as f64 / 1024.0 / seconds;
                direction.last_sample = Some((kib as u64, (operations as f64 / seconds) as u64));
                self.sampled_to_ns = interval.end_ns;
            }
        }
        let Some(sample) = sample else {
            return;
        };
        self.depth = sample.depth.or(self.depth);
        self.arrivals.submitted += sample.submitted;
        self.arrivals.lateness.merge(&sample.lateness);
        self.arrivals.unserved = sample.backlog;
        if self.arrivals.is_scheduled {
            self.arrivals.response.merge(&sample.unserved);
        }
        let Some(handover) = &sample.handover else {
            return;
        };
        if !self.has_handover {
            // The end of an interval is not needed where the last completion is told.
            (self.has_handover, self.end_ns) = (true, 0);
        }
        self.end_ns = handover.last_seen_ns.max(self.end_ns);
        for parts in &handover.parts {
            if let Some(direction) = direction_of(parts.operation) {
                self.directions[direction]
                    .submission
                    .merge(&parts.submission);
                self.directions[direction]
                    .completion
                    .merge(&parts.completion);
                self.directions[direction].add_priority(&ByPriority {
                    priority: parts.priority,
                    completion: parts.completion.clone(),
                    total: parts.service.clone(),
                });
            }
        }
        for (mine, theirs) in [
            (&mut self.depths, &handover.depths),
            (&mut self.submitted, &handover.submitted_together),
            (&mut self.seen, &handover.seen_together),
        ] {
            add_up(mine, theirs);
        }
    }
}

impl Entry {
    /// Whether it has a block of its own.
    pub(super) fn is_told(&self) -> bool {
        self.did_something() || self.error.is_some() || self.errors > 0 || self.is_cut
    }

    /// Whether there are figures to tell.
    pub(super) fn did_something(&self) -> bool {
        self.syncs > 0 || self.directions.iter().any(|one| one.operations > 0)
    }

    pub(super) fn operations(&self) -> u64 {
        self.directions.iter().map(|one| one.operations).sum()
    }

    /// The number of its first error, whether that has ended it or not.
    pub(super) fn errno(&self) -> i32 {
        self.error.as_ref().map_or(0, |fault| fault.errno)
    }

    /// The number of the first error among those that are counted.
    pub(super) fn first_errno(&self) -> i32 {
        self.first_counted.as_ref().map_or(0, |fault| fault.errno)
    }

    pub(super) fn join(&mut self, other: Entry) {
        self.members += other.members;
        // Of jobs that are told of together, the last one's stand for all.
        self.own_options = other.own_options;
        self.errors += other.errors;
        self.is_cut |= other.is_cut;
        self.loss = self.loss.take().or(other.loss);
        self.error = self.error.take().or(other.error);
        self.first_counted = self.first_counted.take().or(other.first_counted);
        for (mine, theirs) in self.directions.iter_mut().zip(&other.directions) {
            mine.join(theirs);
        }
        self.syncs += other.syncs;
        self.sync.merge(&other.sync);
        self.runtime_ms += other.runtime_ms;
        self.user_ns += other.user_ns;
        self.system_ns += other.system_ns;
        self.context_switches += other.context_switches;
        self.minor_faults += other.minor_faults;
        self.major_faults += other.major_faults;
        add_up(&mut self.depths, &other.depths);
        add_up(&mut self.submitted, &other.submitted);
        add_up(&mut self.seen, &other.seen);
        self.arrivals.join(&other.arrivals);
    }

    fn hide_what_is_off(&mut self) {
        let settings = &self.settings;
        for direction in &mut self.directions {
            if !settings.submission.is_shown {
                direction.submission = LatencyFigures::default();
            }
            if !settings.completion.is_shown {
                direction.completion = LatencyFigures::default();
            }
            if !settings.total.is_shown {
                direction.total = LatencyFigures::default();
            }
        }
    }
}

impl Direction {
    fn keep_sample(&mut self, is_whole: bool) {
        if let Some((kib, rate)) = self.last_sample.take().filter(|_| is_whole) {
            self.bandwidth.add(kib);
            self.rate.add(rate);
        }
    }

    /// Another member of the group: amounts add up, the longest time counts.
    fn join(&mut self, other: &Direction) {
        self.add_counts(other);
        self.bandwidth.add_member(&other.bandwidth);
        self.rate.add_member(&other.rate);
    }

    fn add_counts(&mut self, other: &Direction) {
        self.operations += other.operations;
        self.bytes += other.bytes;
        self.short += other.short;
        self.runtime_ms = self.runtime_ms.max(other.runtime_ms);
        self.submission.merge(&other.submission);
        self.completion.merge(&other.completion);
        self.total.merge(&other.total);
        for one in &other.priorities {
            self.add_priority(one);
        }
    }

    fn add_priority(&mut self, one: &ByPriority) {
        let mut known = self.priorities.iter_mut();
        match known.find(|known| known.priority == one.priority) {
            Some(mine) => {
                mine.completion.merge(&one.completion);
                mine.total.merge(&one.total);
            }
            None => self.priorities.push(one.clone()),
        }
    }

    /// What priorities came to, where there were several: of the whole latency where its percentiles are asked for, of
    /// completion elsewhere.
    pub(super) fn by_priority(&self, settings: &Settings) -> Vec<(IoPriority, &LatencyFigures)> {
        let of_total = settings.total.has_percentiles;
        let kind = if of_total {
            settings.total
        } else {
            settings.completion
        };
        let told = self.priorities.iter().map(|one| {
            let figures = if of_total {
                &one.total
            } else {
                &one.completion
            };
            (IoPriority::of_word(one.priority), figures)
        });
        let told: Vec<_> = told
            .filter(|(_, figures)| kind.is_shown && !figures.histogram.is_empty())
            .collect();
        match told.len() {
            1 => Vec::new(),
            _ => told,
        }
    }

    pub(super) fn bytes_per_second(&self) -> u64 {
        per_second(self.bytes, self.runtime_ms)
    }

    pub(super) fn operations_per_second(&self) -> f64 {
        match self.runtime_ms {
            0 => 0.0,
            runtime_ms => self.operations as f64 * 1_000.0 / runtime_ms as f64,
        }
    }
}

impl Arrivals {
    pub(super) fn join(&mut self, other: &Arrivals) {
        if !other.is_scheduled {
            return;
        }
        if !self.is_scheduled {
            *self = other.clone();
            return;
        }
        self.submitted += other.submitted;
        self.unserved += other.unserved;
        self.response.merge(&other.response);
        self.lateness.merge(&other.lateness);
    }

    /// Due in the measured time, or due before it and still waiting when it began: what waited in a ramp is submitted, or
    /// left unserved, in the time that is measured.
    pub(super) fn scheduled(&self) -> u64 {
        self.submitted + self.unserved
    }

    /// Whether a noticeable part of the schedule was never served: one in two hundred.
    pub(super) fn fell_behind(&self) -> bool {
        self.unserved * 200 > self.scheduled()
    }
}

pub(super) fn per_second(amount: u64, runtime_ms: u64) -> u64 {
    match runtime_ms {
        0 => 0,
        runtime_ms => (u128::from(amount) * 1_000 / u128::from(runtime_ms)) as u64,
    }
}

pub(super) fn mixed(directions: &[Direction; 3]) -> Direction {
    let mut sum = Direction::default();
    for direction in directions {
        sum.join(direction);
    }
    sum
}

fn add_up(mine: &mut [u64], theirs: &[u64]) {
    mine.iter_mut()
        .zip(theirs)
        .for_each(|(mine, theirs)| *mine += theirs);
}

pub(super) fn direction_of(operation: Operation) -> Option<usize> {
    match operation {
        Operation::Read => Some(0),
        Operation::Write => Some(1),
        Operation::Trim => Some(2),
        _ => None,
    }
}

/// `Input/output error (os error 5)` without what Rust adds.
/// The directions of a job with the time that each took, and the time of all, in milliseconds.
fn timed(job: &Job, run: &RunUse) -> ([Direction; 3], u64) {
    let own_ms = job.length_ns(run.start_ns).div_ceil(NS_PER_MS);
    let check_ms = job
        .check
        .map_or(0, |check| check.end_ns)
        .div_ceil(NS_PER_MS);
    let runtime_ms = own_ms + check_ms;
    let mut directions = job.directions.clone();
    for (place, direction) in directions.iter_mut().enumerate() {
        direction.keep_sample(!run.has_end);
        if direction.operations == 0 {
            continue;
        }
        let of_direction_ms = match (place, job.check) {
            (0, Some(check)) if check.is_second_read => runtime_ms,
            (0, Some(_)) => check_ms,
            _ => own_ms,
        };
        direction.runtime_ms = of_direction_ms.max(1);
        if direction.completion.histogram.is_empty() {
            direction.completion = direction.total.clone();
        }
    }
    (directions, runtime_ms)
}

/// Whether two streams with these labels belong to one clone of a job, if they run on one host.
pub(super) fn is_same_job(one: &[Label], other: &[Label]) -> bool {
    let mut keys = ["job", "clone", "group"].into_iter();
    keys.all(|key| Label::find(one, key) == Label::find(other, key))
}

/// Whether labels are those of what reads back the writes of a job.
pub(super) fn is_check(labels: &[Label]) -> bool {
    Label::find(labels, "phase") == Some("check")
}
