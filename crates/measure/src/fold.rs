//! From the intervals of a run to its totals: what every summary and decision is computed from.
use crate::event::{
    DataFigures, Event, Figure, FigureKey, FinishReason, Interval, IntervalPhase, PoolSample,
    RunFinished, RunStarted, StreamSample, WorkerSample,
};
use crate::evidence::{HostEvidence, HostId, Pause, SampledReads};
use crate::facts::HostSample;
use crate::histogram::bucket_bounds;
use crate::latencies::{Latencies, LatencyFigures};
use crate::stream_totals::StreamTotals;
use crate::unreturned::{self, Unreturned};
use plan::{Operation, StreamId, TargetId};
use std::collections::BTreeMap;

/// Collects the measured intervals of one run after another.
#[derive(Debug, Default)]
pub struct RunFold {
    started: Option<RunStarted>,
    length_ns: u64,
    intervals: u32,
    figures: BTreeMap<FigureKey, Summed>,
    streams: Vec<SummedStream>,
    /// Where the measurement of streams with a time of their own began.
    begins_ns: Vec<Option<u64>>,
    pools: Vec<PoolSample>,
    workers: WorkerSample,
    oldest_in_flight_ns: u64,
    host: HostSample,
    hosts: BTreeMap<HostId, HostTotals>,
    lost: LostTotals,
    data: Vec<DataFigures>,
    sampled: BTreeMap<TargetId, SampledReads>,
    pauses: Vec<(HostId, Pause)>,
    /// The warm-up, until an interval is measured.
    warmup: Option<Box<RunFold>>,
}

/// The measured intervals whose parts are lost: of a part, the totals are of the other intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostTotals {
    pub arrivals: LostTime,
    pub slots: LostTime,
    pub cpu: LostTime,
    pub devices: LostTime,
    pub submission: LostTime,
    /// Whole hosts, without which the others went on; whoever hears that says it.
    pub hosts: LostTime,
}

/// Intervals of which a part is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostTime {
    pub intervals: u32,
    pub length_ns: u64,
    /// That succeeded in them.
    pub operations: u64,
}

/// What one of several hosts did in the intervals of which it tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostTotals {
    pub sample: HostSample,
    /// That succeeded on it in them.
    pub operations: u64,
}

/// Totals of a run over its measured intervals; of one whose streams all ended in its warm-up, over that.
#[derive(Clone, Debug, PartialEq)]
pub struct RunTotals {
    pub started: RunStarted,
    pub finished: Option<RunFinished>,
    /// Real length of the measured intervals together.
    pub length_ns: u64,
    pub intervals: u32,
    /// Whether the run ended in its warm-up, which all these figures are then of.
    pub is_of_warmup: bool,
    /// In the order of their keys.
    pub figures: Vec<Figure>,
    pub streams: Vec<StreamTotals>,
    pub pools: Vec<PoolSample>,
    pub workers: WorkerSample,
    /// For how long the oldest operation had been out at the end of the last interval; zero where none was.
    pub oldest_in_flight_ns: u64,
    pub host: HostSample,
    /// By host, where there are several.
    pub hosts: BTreeMap<HostId, HostTotals>,
    /// Which parts are not of all intervals.
    pub lost: LostTotals,
    /// What was sent, of all intervals.
    pub data: Vec<DataFigures>,
    /// What a sample of the reads of targets brought.
    pub sampled: BTreeMap<TargetId, SampledReads>,
    /// Times in which the process of a host did not run, in the order in which they were told.
    pub pauses: Vec<(HostId, Pause)>,
    /// What never came back; it is in the latencies of the figures, and nowhere else.
    pub unreturned: Vec<Unreturned>,
    /// What came back well after the end of the window; the same.
    pub late: Vec<Unreturned>,
}

#[derive(Debug, Default)]
struct Summed {
    operations: u64,
    bytes: u64,
    errors: u64,
    short_transfers: u64,
    service: Latencies,
    response: Latencies,
}

#[derive(Debug, Default)]
struct SummedStream {
    scheduled: u64,
    submitted: u64,
    backlog: u64,
    lateness: Latencies,
    free_lateness: Latencies,
    unserved: Latencies,
}

impl RunFold {
    /// Of a run that has just started.
    pub fn of(started: &RunStarted) -> Self {
        Self {
            started: Some(started.clone()),
            ..Self::default()
        }
    }

    /// Takes one event; returns the totals of a run when it is finished.
    pub fn fold(&mut self, event: &Event) -> Option<RunTotals> {
        match event {
            Event::RunStarted(started) => {
                *self = Self::of(started);
                None
            }
            Event::Interval(interval) => {
                self.add(interval);
                None
            }
            Event::DataWritten(written) => {
                self.data.clone_from(&written.kinds);
                None
            }
            Event::RunFinished(finished) => self.totals(Some(finished.clone())),
            _ => None,
        }
    }

    /// The totals so far; `None` before the first run.
    pub fn totals(&self, finished: Option<RunFinished>) -> Option<RunTotals> {
        let is_complete = |end: &RunFinished| end.reason == FinishReason::Complete;
        let is_over = self.intervals == 0 && finished.as_ref().is_some_and(is_complete);
        match self.warmup.as_deref().filter(|_| is_over) {
            Some(warmup) => Some(RunTotals {
                is_of_warmup: true,
                data: self.data.clone(),
                ..warmup.summed(finished)?
            }),
            None => self.summed(finished),
        }
    }

    fn summed(&self, finished: Option<RunFinished>) -> Option<RunTotals> {
        let figure = |(key, collected): (&FigureKey, &Summed)| Figure {
            key: *key,
            operations: collected.operations,
            bytes: collected.bytes,
            errors: collected.errors,
            short_transfers: collected.short_transfers,
            service: collected.service.figures(),
            response: collected.response.figures(),
        };
        let stream = |collected: &SummedStream| StreamTotals {
            scheduled: collected.scheduled,
            submitted: collected.submitted,
            backlog: collected.backlog,
            lateness: collected.lateness.figures(),
            free_lateness: collected.free_lateness.figures(),
            unserved: collected.unserved.figures(),
            in_flight: LatencyFigures::default(),
        };
        let mut figures: Vec<Figure> = self.figures.iter().map(figure).collect();
        let mut streams: Vec<StreamTotals> = self.streams.iter().map(stream).collect();
        let left = finished.as_ref();
        let (unreturned, late) = left.map_or_else(Default::default, |left| {
            unreturned::find(left, &mut streams)
        });
        unreturned::add(unreturned.iter().chain(&late), &mut figures);
        Some(RunTotals {
            started: self.started.clone()?,
            finished,
            length_ns: self.length_ns,
            intervals: self.intervals,
            is_of_warmup: false,
            figures,
            streams,
            pools: self.pools.clone(),
            workers: self.workers,
            oldest_in_flight_ns: self.oldest_in_flight_ns,
            host: self.machine(),
            hosts: self.hosts.clone(),
            lost: self.lost,
            data: self.data.clone(),
            sampled: self.sampled.clone(),
            pauses: self.pauses.clone(),
            unreturned,
            late,
        })
    }

    /// Takes an interval of the run that has started.
    pub fn add(&mut self, interval: &Interval) {
        if interval.phase != IntervalPhase::Measured {
            let started = &self.started;
            let fold = || started.as_ref().map_or_else(Self::default, Self::of);
            self.warmup
                .get_or_insert_with(|| Box::new(fold()))
                .count(interval);
            return;
        }
        self.warmup = None;
        self.count(interval);
    }

    fn count(&mut self, interval: &Interval) {
        let restart_ns = self.begin_anew(interval);
        let start_ns = restart_ns.map_or(interval.start_ns, |at_ns| at_ns.max(interval.start_ns));
        let length_ns = interval.end_ns.saturating_sub(start_ns);
        self.length_ns += length_ns;
        self.intervals += interval.count();
        self.lost.add(interval, length_ns);
        for figure in &interval.figures {
            let collected = self.figures.entry(figure.key).or_default();
            collected.operations += figure.operations;
            collected.bytes += figure.bytes;
            collected.errors += figure.errors;
            collected.short_transfers += figure.short_transfers;
            collected.service.add(&figure.service);
            collected.response.add(&figure.response);
        }
        self.add_engine(interval);
        self.host.add(&interval.host);
        self.add_hosts(interval);
    }

    /// Forgets what streams did that are measured anew; where that is all of them, the run so far,
    /// and gives back when the first of them began, or began again.
    fn begin_anew(&mut self, interval: &Interval) -> Option<u64> {
        let begin = |sample: &StreamSample| Some(sample.span?.from_ns);
        let begins_ns: Vec<Option<u64>> = interval.engine.streams.iter().map(begin).collect();
        let before_ns = std::mem::replace(&mut self.begins_ns, begins_ns);
        if before_ns.is_empty() {
            return earliest(&self.begins_ns);
        }
        let is_anew = |stream: usize| {
            let (now_ns, before_ns) = (self.begins_ns.get(stream), before_ns.get(stream));
            matches!((now_ns, before_ns), (Some(Some(now)), Some(Some(before))) if now > before)
        };
        if !(0..self.begins_ns.len()).any(is_anew) {
            return None;
        }
        self.figures.retain(|key, _| !is_anew(key.stream.index()));
        for (number, collected) in self.streams.iter_mut().enumerate() {
            if is_anew(number) {
                *collected = SummedStream::default();
            }
        }
        let restart_ns =
            earliest(&self.begins_ns).filter(|now| Some(*now) > earliest(&before_ns))?;
        (self.length_ns, self.intervals) = (0, 0);
        (self.pools, self.workers) = (Vec::new(), WorkerSample::default());
        (self.host, self.lost) = (HostSample::default(), LostTotals::default());
        self.hosts.clear();
        self.sampled.clear();
        self.pauses.clear();
        Some(restart_ns)
    }

    /// What the machine did; of several hosts the sum in their order, so that it does not depend on who told first.
    fn machine(&self) -> HostSample {
        if self.hosts.is_empty() || self.lost.cpu.intervals > 0 {
            return self.host.clone();
        }
        let mut whole = HostSample::default();
        let hosts = self.hosts.values();
        hosts.for_each(|host| whole.add(&host.sample));
        whole
    }

    fn add_hosts(&mut self, interval: &Interval) {
        let told = interval.engine.hosts.iter();
        let told: Vec<_> = told
            .filter_map(|one| Some((one.host, one.sample.as_ref()?)))
            .collect();
        if told.is_empty() {
            return;
        }
        let mut operations: BTreeMap<HostId, u64> = BTreeMap::new();
        let counted = |figure: &&Figure| !figure.key.operation.is_sync();
        for figure in interval.figures.iter().filter(counted) {
            let streams = self.started.as_ref().map(|started| &started.streams);
            let stream = streams.and_then(|streams| streams.get(figure.key.stream.index()));
            if let Some(stream) = stream {
                *operations.entry(stream.host).or_default() += figure.operations;
            }
        }
        for (host, sample) in told {
            let collected = self.hosts.entry(host).or_default();
            collected.sample.add(sample);
            collected.operations += operations.get(&host).copied().unwrap_or(0);
        }
    }

    fn add_engine(&mut self, interval: &Interval) {
        let engine = &interval.engine;
        if self.streams.len() < engine.streams.len() {
            self.streams
                .resize_with(engine.streams.len(), SummedStream::default);
        }
        for (collected, sample) in self.streams.iter_mut().zip(&engine.streams) {
            collected.scheduled += sample.scheduled;
            collected.submitted += sample.submitted;
            collected.backlog = sample.backlog;
            collected.lateness.add(&sample.lateness);
            if let Some(free) = &sample.free_lateness {
                collected.free_lateness.add(free);
            }
            collected.unserved.add(&sample.unserved);
        }
        self.pools.resize(
            engine.pools.len().max(self.pools.len()),
            PoolSample::default(),
        );
        for (collected, sample) in self.pools.iter_mut().zip(&engine.pools) {
            collected.slots = sample.slots;
            collected.busy_ns += sample.busy_ns;
            collected.exhausted_ns += sample.exhausted_ns;
        }
        for one in engine.hosts.iter().flat_map(|host| &host.targets) {
            if one.sampled.reads > 0 {
                self.sampled.entry(one.target).or_default().add(one.sampled);
            }
        }
        let pauses_of = |host: &HostEvidence| {
            let host_id = host.host;
            let pauses = host.pauses.clone().into_iter();
            pauses.map(move |pause| (host_id, pause))
        };
        self.pauses.extend(engine.hosts.iter().flat_map(pauses_of));
        self.workers.add(&engine.workers);
        self.oldest_in_flight_ns = engine.oldest_in_flight_ns;
    }
}

impl LostTotals {
    fn add(&mut self, interval: &Interval, length_ns: u64) {
        let lost = interval.lost;
        let counted = |figure: &&Figure| !figure.key.operation.is_sync();
        let operations = interval.figures.iter().filter(counted);
        let operations: u64 = operations.map(|figure| figure.operations).sum();
        for (is_lost, part) in [
            (lost.arrivals, &mut self.arrivals),
            (lost.slots, &mut self.slots),
            (lost.cpu, &mut self.cpu),
            (lost.devices, &mut self.devices),
            (lost.submission, &mut self.submission),
        ] {
            if is_lost {
                part.intervals += interval.count();
                part.length_ns += length_ns;
                part.operations += operations;
            }
        }
    }
}

impl RunTotals {
    /// Whether this percentile of latencies can be told of all that the run did (see [`RunStarted::has_percentile`]).
    pub fn has_percentile(&self, percentile: f64) -> bool {
        let streams = self.figures.iter().map(|figure| figure.key.stream);
        self.started.has_percentile(streams, percentile)
    }

    /// Of the streams of one host alone, with what that host did; of a single host the whole. `None` for a host that has
    /// no stream of the run.
    pub fn on_host(&self, host: HostId) -> Option<RunTotals> {
        let streams = self.started.streams.iter().enumerate();
        let own = streams.filter(|(_, stream)| stream.host == host);
        let own: Vec<StreamId> = own.map(|(place, _)| StreamId::at(place)).collect();
        if own.is_empty() {
            return None;
        }
        let mut totals = self.apart(&own);
        if own.len() == self.started.streams.len() && self.hosts.is_empty() {
            return Some(totals);
        }
        let told = self.hosts.get(&host).cloned().unwrap_or_default();
        totals.lost.cpu.operations = totals.operations().saturating_sub(told.operations);
        totals.host = told.sample;
        totals.hosts.clear();
        Some(totals)
    }

    /// Of the CPU time of the host, what a hypervisor took, 0 to 1; `None` where the host does not tell.
    pub fn stolen_share(&self) -> Option<f64> {
        let cpu = self.host.cpu.filter(|cpu| cpu.total_ns() > 0)?;
        Some(cpu.steal_ns as f64 / cpu.total_ns() as f64)
    }

    /// Of the measured time, that in which our control group was throttled; `None` where the host does not tell.
    pub fn throttled_share(&self) -> Option<f64> {
        let throttled_ns = self.host.throttled_ns.filter(|_| self.length_ns > 0)?;
        Some(throttled_ns as f64 / self.length_ns as f64)
    }

    /// Successful operations; syncs are apart.
    pub fn operations(&self) -> u64 {
        let counted = |figure: &&Figure| !figure.key.operation.is_sync();
        let figures = self.figures.iter().filter(counted);
        figures.map(|figure| figure.operations).sum()
    }

    pub fn bytes(&self) -> u64 {
        self.figures.iter().map(|figure| figure.bytes).sum()
    }

    pub fn errors(&self) -> u64 {
        self.figures.iter().map(|figure| figure.errors).sum()
    }

    /// Successful operations per second over the real length of the measured intervals.
    pub fn rate(&self) -> f64 {
        per_second(self.operations(), self.length_ns)
    }

    /// Bytes per second over the same.
    pub fn bytes_per_second(&self) -> f64 {
        per_second(self.bytes(), self.length_ns)
    }

    /// Service times of all operations but syncs, or of one kind. What never came back is among them
    /// with its age, what came late with its time.
    pub fn service(&self, operation: Option<Operation>) -> LatencyFigures {
        self.merged(operation, |figure| &figure.service)
    }

    /// Response times of all operations but syncs, or of one kind. What never came back is among them
    /// with its age; over all, so are arrivals that were still unserved at the end.
    pub fn response(&self, operation: Option<Operation>) -> LatencyFigures {
        let mut response = self.merged(operation, |figure| &figure.response);
        if operation.is_none() {
            self.streams
                .iter()
                .map(|stream| unreturned::without(&stream.unserved, &stream.in_flight))
                .for_each(|waiting| response.merge(&waiting));
        }
        response
    }

    /// Service times of syncs of all kinds; empty without any.
    pub fn syncs(&self) -> LatencyFigures {
        let syncs = self.figures.iter();
        let syncs = syncs.filter(|figure| figure.key.operation.is_sync());
        LatencyFigures::sum(syncs.map(|figure| &figure.service))
    }

    /// Arrivals that were due and not submitted at the end. What was in flight then is none of them.
    pub fn unserved(&self) -> u64 {
        self.streams.iter().map(|stream| stream.backlog).sum()
    }

    /// Mean service time of what came back; zero without any.
    pub fn completed_service_ns_mean(&self) -> f64 {
        let mut service = self.service(None);
        let aged = self
            .unreturned
            .iter()
            .filter(|one| !one.key.operation.is_sync());
        let ages: Vec<u64> = aged.map(|one| one.service_ns).collect();
        service = unreturned::without(&service, &LatencyFigures::of(&ages));
        service.mean_ns()
    }

    /// From which value on service times are lower bounds; `None` where all are known.
    pub fn service_bound_ns(&self) -> Option<u64> {
        self.unreturned.iter().map(|one| one.service_ns).min()
    }

    /// The same of response times. Beside operations that never came back, waiting arrivals count.
    pub fn response_bound_ns(&self) -> Option<u64> {
        let youngest = |stream: &StreamTotals| {
            let bucket = stream.unserved.histogram.buckets().first()?;
            Some(bucket_bounds(bucket.index as usize).0)
        };
        let waiting = self.streams.iter().filter_map(youngest);
        let aged = self.unreturned.iter().map(|one| one.response_ns).min()?;
        waiting.chain([aged]).min()
    }

    /// Submissions after their intended time, of arrivals that found a free slot: what Fathom and its host owe. Empty
    /// where nobody told.
    pub fn free_lateness(&self) -> LatencyFigures {
        let mut lateness = LatencyFigures::default();
        let streams = self.streams.iter();
        streams.for_each(|stream| lateness.merge(&stream.free_lateness));
        lateness
    }

    /// Lateness of submission over all streams.
    pub fn lateness(&self) -> LatencyFigures {
        let mut lateness = LatencyFigures::default();
        self.streams
            .iter()
            .for_each(|stream| lateness.merge(&stream.lateness));
        lateness
    }

    /// The streams that have arrivals of their own, beside streams that may have none. Where the record
    /// does not tell streams apart, all do what the run does.
    pub fn scheduled_streams(&self) -> Vec<StreamId> {
        let all = || (0..self.started.streams.len()).map(StreamId::at);
        match self.started.is_open_loop {
            false => Vec::new(),
            true if self.tells_schedules_apart() => {
                all().filter(|id| self.has_schedule(id.index())).collect()
            }
            true => all().collect(),
        }
    }

    /// Whether any of these streams is among them.
    pub(crate) fn follow_schedule(&self, streams: &[StreamId]) -> bool {
        let has = |id: &StreamId| self.has_schedule(id.index());
        self.started.is_open_loop
            && !streams.is_empty()
            && (streams.iter().any(has) || !self.tells_schedules_apart())
    }

    fn tells_schedules_apart(&self) -> bool {
        let mut places = 0..self.started.streams.len().max(self.streams.len());
        places.any(|place| self.has_schedule(place))
    }

    fn has_schedule(&self, place: usize) -> bool {
        let info = self.started.streams.get(place);
        let counted = self.streams.get(place).is_some_and(|one| {
            one.scheduled > 0 || one.backlog > 0 || one.lateness.histogram.count() > 0
        });
        counted || info.is_some_and(|one| one.asked_rate.is_some())
    }

    /// Slots of all pools.
    pub fn slots(&self) -> u32 {
        self.started.pools.iter().map(|pool| pool.slots).sum()
    }

    /// Slots in use on average, which is the operations in flight: whatever is out counts for as long as
    /// it is, whether it comes back in the window, later or never. `None` where no interval tells.
    pub fn slots_busy(&self) -> Option<f64> {
        let busy_ns: u64 = self.pools.iter().map(|pool| pool.busy_ns).sum();
        self.share_of_time(busy_ns)
    }

    /// The share of the time in which some pool had no slot free; `None` where no interval tells.
    pub fn exhausted_share(&self) -> Option<f64> {
        let worst = self.pools.iter().map(|pool| pool.exhausted_ns).max();
        self.share_of_time(worst.unwrap_or(0))
    }

    /// Of the intervals that tell about slots.
    fn share_of_time(&self, ns: u64) -> Option<f64> {
        let known_ns = self.length_ns.saturating_sub(self.lost.slots.length_ns);
        (known_ns > 0).then(|| ns as f64 / known_ns as f64)
    }

    /// Host busy time per successful operation in nanoseconds; `None` without either.
    pub fn host_cpu_ns_per_operation(&self) -> Option<f64> {
        let cpu = self.host.cpu.as_ref()?;
        self.per_operation(cpu.busy_ns(), &self.lost.cpu)
    }

    /// Of the CPUs of all hosts, the share of the time in which they were busy; 0 to 1.
    pub fn host_cpu_share(&self) -> Option<f64> {
        let cpu = self.host.cpu.as_ref()?;
        (cpu.total_ns() > 0).then(|| cpu.busy_ns() as f64 / cpu.total_ns() as f64)
    }

    /// Fathom's own CPU time per successful operation in nanoseconds.
    pub fn fathom_cpu_ns_per_operation(&self) -> Option<f64> {
        let own_ns = self.host.fathom_user_ns + self.host.fathom_system_ns;
        self.per_operation(own_ns, &self.lost.cpu)
    }

    /// What calls that submit took, by successful operation.
    pub fn submit_ns_per_operation(&self) -> Option<f64> {
        self.per_operation(self.workers.submit_ns, &self.lost.submission)
    }

    /// Over the operations of the intervals that tell it.
    fn per_operation(&self, ns: u64, lost: &LostTime) -> Option<f64> {
        let operations = self.operations().saturating_sub(lost.operations);
        (operations > 0).then(|| ns as f64 / operations as f64)
    }

    fn merged(
        &self,
        operation: Option<Operation>,
        of: impl Fn(&Figure) -> &LatencyFigures,
    ) -> LatencyFigures {
        let is_meant = |figure: &&Figure| {
            let own = figure.key.operation;
            operation.map_or(!own.is_sync(), |operation| operation == own)
        };
        LatencyFigures::sum(self.figures.iter().filter(is_meant).map(of))
    }
}

/// When the first of all streams begins to be measured, where each of them says so.
fn earliest(begins_ns: &[Option<u64>]) -> Option<u64> {
    let known: Option<Vec<u64>> = begins_ns.iter().copied().collect();
    known.and_then(|known| known.into_iter().min())
}

fn per_second(count: u64, length_ns: u64) -> f64 {
    if length_ns == 0 {
        0.0
    } else {
        count as f64 * 1e9 / length_ns as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{EngineSample, StreamSample};
    use crate::histogram::Histogram;
    use plan::{StreamId, TargetId};

    /// Values spread over `octaves` powers of two from `low_ns`, dense in the middle.
    fn latencies(low_ns: u64, octaves: f64, seed: u64) -> LatencyFigures {
        let value = |n: u64| {
            let draw = |k: u64| {
                let mixed = (n * 8 + k + seed * 1009).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                (mixed >> 40) as f64 / (1_u64 << 24) as f64
            };
            let middle = (draw(0) + draw(1) + draw(2)) / 3.0;
            (low_ns as f64 * (octaves * middle).exp2()) as u64
        };
        let values = || (0..400).map(value);
        LatencyFigures {
            sum_ns: values().sum(),
            max_ns: values().max().unwrap(),
            histogram: values().collect::<Histogram>(),
        }
    }

    fn interval(number: u32, streams: u32) -> Interval {
        let seed = |stream: u32| u64::from(number * streams + stream);
        let figure = |stream: u32| Figure {
            key: FigureKey {
                stream: StreamId(stream),
                target: TargetId(stream),
                operation: Operation::Read,
            },
            operations: 400,
            bytes: 400 * 4096,
            errors: 0,
            short_transfers: 0,
            service: latencies(30_000, 10.0, seed(stream)),
            response: latencies(30_000, 11.0, seed(stream)),
        };
        let sample = |stream: u32| StreamSample {
            lateness: latencies(500, 10.0, seed(stream)),
            ..StreamSample::default()
        };
        Interval {
            run: 0,
            number,
            start_ns: u64::from(number - 1) * 1_000_000_000,
            end_ns: u64::from(number) * 1_000_000_000,
            unix_ns: 0,
            phase: IntervalPhase::Measured,
            figures: (0..streams).map(figure).collect(),
            engine: EngineSample {
                streams: (0..streams).map(sample).collect(),
                ..EngineSample::default()
            },
            host: HostSample::default(),
            lost: crate::LostParts::default(),
            within: Vec::new(),
        }
    }

    #[test]
    fn a_run_that_ends_in_its_warm_up_has_the_figures_of_that() {
        let folded = |phases: &[IntervalPhase], reason: FinishReason| {
            let mut fold = RunFold::of(&crate::apart::tests::started());
            for (number, phase) in (1..).zip(phases) {
                let mut one = interval(number, 1);
                one.phase = *phase;
                fold.add(&one);
            }
            let finished = RunFinished {
                run: 0,
                unix_ns: 0,
                reason,
                first_measured: 1,
                last_measured: 0,
                scheduled: 0,
                submitted: 0,
                unsent: 0,
                drain_ns: 0,
                outstanding: Vec::new(),
                late: Vec::new(),
                starts: Vec::new(),
            };
            let totals = fold.totals(Some(finished)).unwrap();
            (totals.is_of_warmup, totals.intervals, totals.operations())
        };
        let (warmup, measured) = (IntervalPhase::Warmup, IntervalPhase::Measured);
        let complete = || FinishReason::Complete;
        assert_eq!(folded(&[warmup; 2], complete()), (true, 2, 800));
        assert_eq!(folded(&[warmup, measured], complete()), (false, 1, 400));
        // What was stopped or failed there was not done, and has none.
        for reason in [FinishReason::StoppedByUser, FinishReason::TooManyErrors] {
            assert_eq!(folded(&[warmup; 2], reason), (false, 0, 0));
        }
        assert_eq!(folded(&[], complete()), (false, 0, 0));
    }

    fn held_bytes(fold: &RunFold) -> usize {
        let figures = fold.figures.values();
        let figures = figures.flat_map(|one| [&one.service, &one.response]);
        let streams = fold.streams.iter();
        let streams = streams.flat_map(|one| [&one.lateness, &one.unserved]);
        let all = figures.chain(streams);
        all.map(|latencies| latencies.histogram.held_bytes()).sum()
    }

    #[test]
    fn a_thousand_targets_at_a_rate_are_folded_in_60_mb() {
        let mut fold = RunFold::default();
        let mut all: Vec<LatencyFigures> = vec![LatencyFigures::default(); 1000];
        for number in 1..=4 {
            let interval = interval(number, 1000);
            for (sum, figure) in all.iter_mut().zip(&interval.figures) {
                sum.merge(&figure.response);
            }
            fold.add(&interval);
        }
        let held = held_bytes(&fold);
        assert!(held < 60_000_000, "{held} bytes");
        let folded = fold.figures.values().map(|one| one.response.figures());
        assert!(folded.eq(all), "the fold is the sum of its intervals");
    }
}
