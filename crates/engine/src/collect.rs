//! Reads what workers have counted, an interval at a time, without holding anybody up.
use crate::arrivals::Arrivals;
use crate::handover::HandoverReader;
use crate::op::Op;
use crate::state::{
    AFTER_STOP, INTERVALS, Lifetime, SEARCH, SLABS, SharedPool, SharedRun, SharedStream, WARMUP,
};
use measure::{
    CellReader, Collected, Figure, FigureKey, FigureReader, Handover, HistogramBuilder,
    HostEvidence, LatencyFigures, Outstanding, PoolSample, SampledReads, StillTimes, StreamSample,
    StreamSpan, TargetEvidence, ThreadUsage, WorkerEvidence, WorkerSample,
};
use plan::{StreamId, TargetId};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Up to this number of targets, each tells what it has in flight, even nothing.
const TARGETS_TOLD: usize = 4_096;

/// Reads a run's counts and remembers what it has read.
#[derive(Debug)]
pub struct Collector {
    shared: Arc<SharedRun>,
    streams: Vec<StreamReader>,
    workers: Vec<WorkerReader>,
    pools: Vec<PoolReader>,
    /// The end of the last interval that was read.
    end_ns: u64,
    service: HistogramBuilder,
    response: HistogramBuilder,
}

#[derive(Debug)]
struct StreamReader {
    /// By recorder and slab.
    cells: Vec<[Vec<FigureReader>; SLABS]>,
    lateness: Vec<[CellReader; SLABS]>,
    free_lateness: Vec<[CellReader; SLABS]>,
    handover: Vec<[HandoverReader; SLABS]>,
    submitted: Vec<[u64; SLABS]>,
    unscheduled: Vec<[u64; SLABS]>,
    schedule: Option<Schedule>,
    submitted_total: u64,
    scheduled_total: u64,
    /// What its warm-up had so far, which counts only where the stream is over before it is warm.
    warm: Warm,
}

#[derive(Debug, Default)]
struct Warm {
    figures: Vec<Figure>,
    sample: StreamSample,
}

#[derive(Debug)]
struct Schedule {
    /// Counts what is due.
    ahead: Arrivals,
    next_ns: u64,
    /// Follows what was submitted, so that the ages of the rest can be told.
    behind: Arrivals,
}

#[derive(Debug, Default)]
struct WorkerReader {
    cpu_ns: u64,
    usage: ThreadUsage,
    submit_calls: u64,
    submit_ns: u64,
    reaps: u64,
    wakeups: u64,
    clamped: u64,
    gaps: CellReader,
}

/// What was told of a pool so far. A reading comes a little after the end of its interval and may
/// hold what belongs to the next; what an interval cannot hold is told with the next.
#[derive(Debug, Default)]
struct PoolReader {
    /// Of what came back, failed or not.
    service_ns: u64,
    failed_ns: [u64; SLABS],
    busy_ns: u64,
    exhausted_ns: u64,
}

/// What was in flight at one moment.
#[derive(Debug, Default)]
struct Capture {
    partial_ns: Vec<u64>,
    /// Time without a free slot since the start, by pool.
    exhausted_ns: Vec<u64>,
    oldest_ns: u64,
    in_flight: u32,
    /// How many by target, and the oldest of each.
    targets: BTreeMap<TargetId, (u32, u64)>,
    /// By stream with a schedule: ages since the intended arrival.
    ages_ns: Vec<Vec<u64>>,
}

impl Collector {
    pub(crate) fn new(shared: Arc<SharedRun>) -> Self {
        let streams = shared.streams.iter().map(|stream| {
            let readers = || {
                (0..stream.cells())
                    .map(|_| FigureReader::default())
                    .collect()
            };
            let count = stream.recorders.len();
            StreamReader {
                cells: (0..count)
                    .map(|_| std::array::from_fn(|_| readers()))
                    .collect(),
                lateness: (0..count).map(|_| Default::default()).collect(),
                free_lateness: (0..count).map(|_| Default::default()).collect(),
                handover: (0..count).map(|_| Default::default()).collect(),
                submitted: vec![[0; SLABS]; count],
                unscheduled: vec![[0; SLABS]; count],
                schedule: stream.arrivals.clone().map(Schedule::new),
                submitted_total: 0,
                scheduled_total: 0,
                warm: Warm::default(),
            }
        });
        Self {
            streams: streams.collect(),
            workers: shared
                .workers
                .iter()
                .map(|_| WorkerReader::default())
                .collect(),
            pools: shared.pools.iter().map(|_| PoolReader::default()).collect(),
            end_ns: 0,
            service: HistogramBuilder::default(),
            response: HistogramBuilder::default(),
            shared,
        }
    }

    /// The counts of interval `number` (from zero), which ended `end_ns` after the start.
    pub fn collect(&mut self, number: u64, end_ns: u64) -> Collected {
        let shared = Arc::clone(&self.shared);
        let slabs = shared.interval_slabs.of(number);
        let collected = self.read(number, end_ns, &slabs, false);
        shared.interval_slabs.release(&slabs);
        collected
    }

    /// The counts of the last interval, which ended with the stop; call it after the drain. What was
    /// in flight at the stop is told with its age there, whether it has come back since or not.
    pub fn collect_last(&mut self, number: u64, end_ns: u64) -> Collected {
        let slabs: Vec<usize> = (0..INTERVALS).collect();
        self.read(number, end_ns, &slabs, true)
    }

    /// Scheduled and submitted over the whole run so far.
    pub fn totals(&self) -> (u64, u64) {
        let scheduled = self
            .streams
            .iter()
            .map(|reader| reader.scheduled_total)
            .sum();
        let paced = self
            .streams
            .iter()
            .filter(|reader| reader.schedule.is_some());
        (scheduled, paced.map(|reader| reader.submitted_total).sum())
    }

    /// The stream for whose arrivals those of others waited, to stay in proportion.
    pub fn held_back_by(&self) -> Option<StreamId> {
        let by = self.shared.proportion.as_ref()?.held_back_by()?;
        Some(StreamId::at(by))
    }

    /// Streams that had begun, and were over by the end of the run before they were warm.
    pub fn never_warm(&self, end_ns: u64) -> Vec<StreamId> {
        let is_cold = |stream: &SharedStream| {
            let own = stream.lifetime.as_ref();
            own.is_some_and(|own| own.is_over_cold(end_ns) && own.measured(end_ns).0.is_some())
        };
        let streams = self.shared.streams.iter().enumerate();
        let cold = streams.filter(|(_, stream)| is_cold(stream));
        cold.map(|(number, _)| StreamId::at(number)).collect()
    }

    /// What is in flight now, oldest first.
    pub fn outstanding(&self, now_ns: u64) -> Vec<Outstanding> {
        let mut found = Vec::new();
        for view in self.shared.workers.iter().flat_map(|worker| &worker.slots) {
            let started_ns = view.started_ns.load(Relaxed);
            if started_ns == 0 {
                continue;
            }
            let age_ns = now_ns.saturating_sub(started_ns);
            found.push(self.told(&view.op.load(), age_ns, None));
        }
        found.sort_by_key(|outstanding| Reverse(outstanding.age_ns));
        found
    }

    /// What was in flight at the end and came back well after it, longest first.
    pub fn late(&self) -> Vec<Outstanding> {
        let mut found = Vec::new();
        for view in self.shared.workers.iter().flat_map(|worker| &worker.late) {
            let after_ns = view.after_ns.load(Relaxed);
            if after_ns > 0 {
                let age_ns = view.age_ns.load(Relaxed);
                found.push(self.told(&view.op.load(), age_ns, Some(after_ns)));
            }
        }
        // In an order that does not tell which worker had it.
        found.sort_by_key(|one| (Reverse(one.age_ns), one.stream, one.target, one.offset));
        found
    }

    fn told(&self, op: &Op, age_ns: u64, returned_after_ns: Option<u64>) -> Outstanding {
        let stream = op.object.stream as usize;
        Outstanding {
            stream: StreamId::at(stream),
            target: self.shared.streams[stream].targets[op.object.place as usize],
            operation: op.kind,
            offset: op.offset,
            length: op.length,
            age_ns,
            returned_after_ns,
        }
    }

    fn read(&mut self, number: u64, end_ns: u64, slabs: &[usize], is_last: bool) -> Collected {
        let shared = Arc::clone(&self.shared);
        let mut collected = Collected::default();
        let mut looked = self.look(shared.start_ns.load(Relaxed) + end_ns);
        let mut service_of_pool = self.failed_of_pools(slabs, is_last);
        for (stream, state) in shared.streams.iter().enumerate() {
            let own = state.lifetime.as_ref();
            let searches = own.is_some_and(|own| own.has_search() && !own.has_found(end_ns));
            let with_search = [slabs, &[SEARCH]].concat();
            let slabs = if searches { &with_search } else { slabs };
            if let Some(own) = own.filter(|_| is_last) {
                own.end_cold(end_ns);
            }
            let never_warm = own.is_some_and(|own| own.is_over_cold(end_ns));
            for cell in 0..state.cells() {
                let figure = self.figure(stream, cell, number, slabs);
                service_of_pool[state.pool] += figure.service.sum_ns;
                if !has_nothing(&figure) {
                    collected.figures.push(figure);
                }
            }
            let mut sample = StreamSample::default();
            self.add_submissions(stream, number, slabs, &mut sample);
            // That of the warm-up has waited for this.
            let with_warmup = [slabs, &[WARMUP]].concat();
            let told = if never_warm { &with_warmup } else { slabs };
            sample.handover = self.handover(stream, number, told);
            if let Some(handover) = sample.handover.as_mut().filter(|_| is_last) {
                self.add_drained_handover(stream, end_ns, handover);
            }
            sample.depth = state.flow.as_ref().and_then(|flow| flow.depth());
            if let Some(own) = &state.lifetime {
                self.pass_warmup(stream, end_ns, &mut collected.figures);
                if never_warm {
                    self.count_warmup(stream, &mut collected.figures, &mut sample);
                }
                sample.span = span(own, end_ns);
            }
            if is_last {
                // What was claimed before the stop and stamped just after it.
                self.add_submissions(stream, u64::MAX, &[AFTER_STOP], &mut sample);
                self.add_drained(stream, end_ns, &mut looked, &mut sample);
            }
            self.add_arrivals(stream, end_ns, &mut sample);
            if is_last {
                sample
                    .unserved
                    .merge(&self.unserved(stream, end_ns, &looked.ages_ns[stream]));
            }
            collected.engine.streams.push(sample);
        }
        collected.engine.oldest_in_flight_ns = looked.oldest_ns;
        collected.engine.in_flight = looked.in_flight;
        collected.engine.pools = self.pools(&service_of_pool, &looked, end_ns);
        let (workers, by_worker) = self.worker_sample(number);
        collected.engine.workers = workers;
        let (gaps, times) = shared.take_gaps(shared.start_ns.load(Relaxed) + end_ns);
        collected.engine.hosts = vec![HostEvidence {
            workers: by_worker,
            targets: self.targets(&looked, &times),
            gaps,
            ..HostEvidence::default()
        }];
        collected
    }

    /// What came back after the stop, as it was at the stop.
    fn add_drained(
        &mut self,
        stream: usize,
        end_ns: u64,
        looked: &mut Capture,
        sample: &mut StreamSample,
    ) {
        let state = &self.shared.streams[stream];
        let ended_before = state
            .lifetime
            .as_ref()
            .is_some_and(|own| own.is_closed(end_ns));
        let (cells, pool) = (state.cells(), state.pool);
        let (is_paced, fills) = (state.feed.is_some(), state.fills);
        for cell in 0..cells {
            let figure = self.figure(stream, cell, u64::MAX, &[AFTER_STOP]);
            looked.partial_ns[pool] += figure.service.sum_ns;
            if !ended_before {
                looked.oldest_ns = looked.oldest_ns.max(figure.service.max_ns);
                let count = (figure.operations + figure.errors) as u32;
                looked.in_flight += count;
                if count > 0 {
                    looked.add_to_target(figure.key.target, count, figure.service.max_ns);
                }
            }
            if is_paced && !figure.key.operation.is_sync() && fills != Some(figure.key.operation) {
                sample.unserved.merge(&figure.response);
            }
        }
    }

    /// Passes over what belongs to the warm-up of a stream, or to a search that has found its depth;
    /// what failed in it stays to be counted.
    fn pass_warmup(&mut self, stream: usize, end_ns: u64, figures: &mut Vec<Figure>) {
        let own = self.shared.streams[stream].lifetime.as_ref();
        let passed: &[usize] = match own.is_some_and(|own| own.has_found(end_ns)) {
            true => &[WARMUP, SEARCH],
            false => &[WARMUP],
        };
        let mut sample = StreamSample::default();
        self.add_submissions(stream, u64::MAX, passed, &mut sample);
        let shared = Arc::clone(&self.shared);
        let state = &shared.streams[stream];
        let due_ns = state.warm_until_ns(end_ns);
        for cell in 0..state.cells() {
            let mut warm = self.figure(stream, cell, u64::MAX, passed);
            let errors = std::mem::take(&mut warm.errors);
            add_figure(&mut self.streams[stream].warm.figures, &warm);
            let failed = Figure {
                errors,
                ..Figure::empty(warm.key)
            };
            add_figure(figures, &failed);
        }
        let reader = &mut self.streams[stream];
        if let Some(schedule) = &mut reader.schedule {
            sample.scheduled = schedule.count_until(due_ns);
            reader.scheduled_total += sample.scheduled;
        }
        add_sample(&mut reader.warm.sample, &sample);
    }

    /// Of a stream that is over and never was warm, all counts.
    fn count_warmup(
        &mut self,
        stream: usize,
        figures: &mut Vec<Figure>,
        sample: &mut StreamSample,
    ) {
        let warm = std::mem::take(&mut self.streams[stream].warm);
        warm.figures
            .iter()
            .for_each(|warm| add_figure(figures, warm));
        add_sample(sample, &warm.sample);
    }

    fn figure(&mut self, stream: usize, cell: usize, number: u64, slabs: &[usize]) -> Figure {
        let state = &self.shared.streams[stream];
        let (place, operation) = state.counted_by(cell);
        let key = FigureKey {
            stream: StreamId::at(stream),
            target: state.targets[place],
            operation,
        };
        let mut figure = Figure::empty(key);
        let mut responses = 0;
        for (recorder, readers) in state.recorders.iter().zip(&mut self.streams[stream].cells) {
            for slab in slabs {
                let source = &recorder.slabs[*slab].cells[cell];
                responses += readers[*slab][cell].read(
                    source,
                    number,
                    &mut figure,
                    &mut self.service,
                    &mut self.response,
                );
            }
        }
        if figure.operations > 0 || responses > 0 {
            figure.service.histogram = self.service.drain();
            figure.response.histogram = self.response.drain();
            bound_max(&mut figure.service);
            bound_max(&mut figure.response);
        }
        figure
    }

    fn add_arrivals(&mut self, stream: usize, end_ns: u64, sample: &mut StreamSample) {
        let state = &self.shared.streams[stream];
        let reader = &mut self.streams[stream];
        let Some(schedule) = &mut reader.schedule else {
            return;
        };
        let due = schedule.count_until(state.scheduled_until_ns(end_ns));
        let left_of = |most: u64| most.saturating_sub(reader.scheduled_total);
        let scheduled = match state.follows_schedule() {
            true => due.min(left_of(state.source.operations_limit())),
            // Behind the end of a stream its schedule means nothing; what was submitted was due. The end
            // may be seen an interval before the last of these counts.
            false => left_of(reader.submitted_total),
        };
        sample.scheduled += scheduled;
        reader.scheduled_total += scheduled;
        schedule.follow(reader.submitted_total);
        sample.backlog = self.backlog(stream);
    }

    /// Arrivals that wait to be submitted.
    fn backlog(&self, stream: usize) -> u64 {
        let reader = &self.streams[stream];
        let state = &self.shared.streams[stream];
        if !state.follows_schedule() {
            return 0;
        }
        reader
            .scheduled_total
            .saturating_sub(reader.submitted_total)
    }

    fn add_submissions(
        &mut self,
        stream: usize,
        number: u64,
        slabs: &[usize],
        sample: &mut StreamSample,
    ) {
        let state = &self.shared.streams[stream];
        let reader = &mut self.streams[stream];
        let (mut added, mut unscheduled) = (0, 0);
        let free = sample.free_lateness.get_or_insert_default();
        for (place, recorder) in state.recorders.iter().enumerate() {
            for slab in slabs {
                let source = &recorder.slabs[*slab];
                let now = source.submitted.load(Relaxed);
                added += now.wrapping_sub(reader.submitted[place][*slab]);
                reader.submitted[place][*slab] = now;
                unscheduled +=
                    difference(&source.unscheduled, &mut reader.unscheduled[place][*slab]);
                let figures = [
                    (
                        &source.lateness,
                        &mut reader.lateness,
                        &mut self.service,
                        &mut sample.lateness,
                    ),
                    (
                        &source.free_lateness,
                        &mut reader.free_lateness,
                        &mut self.response,
                        free,
                    ),
                ];
                for (cell, readers, builder, figures) in figures {
                    figures.sum_ns += readers[place][*slab].read(cell, builder).0;
                    figures.max_ns = figures.max_ns.max(cell.max_of(number));
                }
            }
        }
        sample.lateness.histogram.merge(&self.service.drain());
        bound_max(&mut sample.lateness);
        free.histogram.merge(&self.response.drain());
        bound_max(free);
        sample.submitted += added;
        reader.submitted_total += added - unscheduled;
    }

    fn handover(&mut self, stream: usize, number: u64, slabs: &[usize]) -> Option<Handover> {
        if !self.shared.notes_handover {
            return None;
        }
        let mut handover = Handover::default();
        self.read_handover(stream, number, slabs, &mut handover);
        Some(handover)
    }

    fn read_handover(
        &mut self,
        stream: usize,
        number: u64,
        slabs: &[usize],
        handover: &mut Handover,
    ) {
        let start_ns = self.shared.start_ns.load(Relaxed);
        let recorders = &self.shared.streams[stream].recorders;
        for (recorder, readers) in recorders.iter().zip(&mut self.streams[stream].handover) {
            for slab in slabs {
                let Some(cells) = &recorder.slabs[*slab].handover else {
                    continue;
                };
                let service = &mut self.service;
                readers[*slab].read(cells, number, start_ns, service, handover);
            }
        }
        for parts in &mut handover.parts {
            bound_max(&mut parts.submission);
            bound_max(&mut parts.completion);
            bound_max(&mut parts.service);
        }
    }

    /// What came back after the stop, with its true times. A stream that the clock or the stop has ended
    /// was at work until then, whether anything came back or not.
    fn add_drained_handover(&mut self, stream: usize, end_ns: u64, handover: &mut Handover) {
        self.read_handover(stream, u64::MAX, &[AFTER_STOP], handover);
        let state = &self.shared.streams[stream];
        let own = state.lifetime.as_ref();
        let has_begun = own.is_none_or(|own| own.measured(end_ns).0.is_some());
        if has_begun && state.follows_schedule() {
            let over_ns = own.map_or(end_ns, |own| own.measured_to_ns().min(end_ns));
            handover.last_seen_ns = handover.last_seen_ns.max(over_ns);
        }
    }

    fn unserved(&mut self, stream: usize, end_ns: u64, in_flight_ages: &[u64]) -> LatencyFigures {
        let (delay_ns, end_ns) = self.shared.streams[stream].scheduled_span_ns(end_ns);
        let waiting = self.backlog(stream);
        let reader = &mut self.streams[stream];
        let mut figures = LatencyFigures::default();
        let Some(schedule) = &mut reader.schedule else {
            return figures;
        };
        let mut add = |age_ns: u64, builder: &mut HistogramBuilder| {
            builder.record(age_ns);
            figures.sum_ns = figures.sum_ns.saturating_add(age_ns);
            figures.max_ns = figures.max_ns.max(age_ns);
        };
        in_flight_ages
            .iter()
            .for_each(|age| add(*age, &mut self.service));
        let mut rest = schedule.behind.clone();
        for _ in 0..waiting {
            let arrival_ns = delay_ns + rest.next_ns();
            add(end_ns.saturating_sub(arrival_ns), &mut self.service);
        }
        figures.histogram = self.service.drain();
        figures
    }

    fn look(&self, at_ns: u64) -> Capture {
        let shared = &self.shared;
        let mut capture = Capture {
            partial_ns: vec![0; shared.pools.len()],
            exhausted_ns: shared
                .pools
                .iter()
                .map(|pool| pool.exhausted_until(at_ns))
                .collect(),
            ages_ns: vec![Vec::new(); shared.streams.len()],
            ..Capture::default()
        };
        for worker in &shared.workers {
            for (view, pool) in worker.slots.iter().zip(&worker.pool_of_slot) {
                let started_ns = view.started_ns.load(Relaxed);
                if started_ns == 0 {
                    continue;
                }
                let op = view.op.load();
                let stream = op.object.stream as usize;
                let arrival_ns = view.arrival_ns.load(Relaxed);
                let own = &shared.streams[stream];
                let is_arrival = own.feed.is_some() && op.is_ruled() && own.fills != Some(op.kind);
                if is_arrival && arrival_ns < at_ns {
                    capture.ages_ns[stream].push(at_ns - arrival_ns);
                }
                if started_ns >= at_ns {
                    continue;
                }
                let age_ns = at_ns - started_ns;
                capture.partial_ns[*pool as usize] += age_ns;
                capture.oldest_ns = capture.oldest_ns.max(age_ns);
                capture.in_flight += 1;
                let target = own.target_counted(op.object.place as usize);
                capture.add_to_target(target, 1, age_ns);
            }
        }
        capture
    }

    /// How long what failed was in flight, by pool.
    fn failed_of_pools(&mut self, slabs: &[usize], is_last: bool) -> Vec<u64> {
        let last: &[usize] = if is_last { &[AFTER_STOP] } else { &[] };
        let of = |(pool, reader): (&SharedPool, &mut PoolReader)| {
            let mut sum_ns = 0;
            for slab in slabs.iter().chain(last) {
                sum_ns += difference(&pool.failed_ns[*slab], &mut reader.failed_ns[*slab]);
            }
            sum_ns
        };
        self.shared
            .pools
            .iter()
            .zip(&mut self.pools)
            .map(of)
            .collect()
    }

    fn pools(&mut self, service_ns: &[u64], looked: &Capture, end_ns: u64) -> Vec<PoolSample> {
        let length_ns = end_ns.saturating_sub(std::mem::replace(&mut self.end_ns, end_ns));
        let shared = &self.shared;
        let sample = |(number, reader): (usize, &mut PoolReader)| {
            let slots = shared.pools[number].slots;
            reader.service_ns += service_ns[number];
            let busy_ns = (reader.service_ns + looked.partial_ns[number])
                .saturating_sub(reader.busy_ns)
                .min(u64::from(slots) * length_ns);
            let exhausted_ns = looked.exhausted_ns[number]
                .saturating_sub(reader.exhausted_ns)
                .min(length_ns);
            reader.busy_ns += busy_ns;
            reader.exhausted_ns += exhausted_ns;
            PoolSample {
                slots,
                busy_ns,
                exhausted_ns,
            }
        };
        self.pools.iter_mut().enumerate().map(sample).collect()
    }

    /// What each target has in flight and a sample of its reads; of very many only those that have something.
    fn targets(&self, looked: &Capture, times: &[(TargetId, StillTimes)]) -> Vec<TargetEvidence> {
        let streams = self.shared.streams.iter();
        let all = streams.flat_map(|stream| stream.targets_counted());
        let idle = all.take(TARGETS_TOLD + 1).map(|target| (*target, (0, 0)));
        let mut found: BTreeMap<TargetId, (u32, u64)> = idle.collect();
        if found.len() > TARGETS_TOLD {
            found.clear();
        }
        found.extend(times.iter().map(|(target, _)| (*target, (0, 0))));
        found.extend(&looked.targets);
        let told = |(target, (count, oldest_ns)): (TargetId, (u32, u64))| TargetEvidence {
            target,
            in_flight: Some(count),
            oldest_ns: Some(oldest_ns),
            sampled: SampledReads::default(),
            still: StillTimes::default(),
        };
        let mut told: Vec<TargetEvidence> = found.into_iter().map(told).collect();
        for (target, times) in times {
            if let Ok(place) = told.binary_search_by_key(target, |one| one.target) {
                told[place].still = *times;
            }
        }
        for stream in &self.shared.streams {
            for (sample, target) in stream.samples.iter().zip(&stream.targets) {
                if !sample.is_empty()
                    && let Ok(place) = told.binary_search_by_key(target, |one| one.target)
                {
                    told[place].sampled.add(sample.take());
                }
            }
        }
        told
    }

    fn worker_sample(&mut self, number: u64) -> (WorkerSample, Vec<WorkerEvidence>) {
        let mut by_worker = Vec::with_capacity(self.workers.len());
        let mut sample = WorkerSample {
            workers: self.workers.len() as u32,
            ..WorkerSample::default()
        };
        let workers = self.shared.workers.iter().zip(&mut self.workers);
        for (place, (view, reader)) in workers.enumerate() {
            let cpu_ns = difference(&view.cpu_ns, &mut reader.cpu_ns);
            sample.cpu_ns += cpu_ns;
            let usage = ThreadUsage {
                user_ns: view.usage.user_ns.load(Relaxed),
                system_ns: view.usage.system_ns.load(Relaxed),
                context_switches: view.usage.context_switches.load(Relaxed),
                minor_faults: view.usage.minor_faults.load(Relaxed),
                major_faults: view.usage.major_faults.load(Relaxed),
                cpu_wait_ns: view.usage.cpu_wait_ns.load(Relaxed).checked_sub(1),
            };
            let used = usage.since(&reader.usage);
            sample.usage.add(&used);
            reader.usage = usage;
            sample.submit_calls += difference(&view.submit_calls, &mut reader.submit_calls);
            sample.submit_ns += difference(&view.submit_ns, &mut reader.submit_ns);
            sample.reaps += difference(&view.reaps, &mut reader.reaps);
            sample.wakeups += difference(&view.wakeups, &mut reader.wakeups);
            sample.clamped += difference(&view.clamped, &mut reader.clamped);
            let mut gaps = LatencyFigures {
                sum_ns: reader.gaps.read(&view.reap_gaps, &mut self.service).0,
                max_ns: view.reap_gaps.max_of(number),
                histogram: self.service.drain(),
            };
            sample.reap_gap_sum_ns += gaps.sum_ns;
            bound_max(&mut gaps);
            sample.reap_gap_max_ns = sample.reap_gap_max_ns.max(gaps.max_ns);
            by_worker.push(WorkerEvidence {
                worker: place as u32,
                // Zero where the platform does not tell.
                cpu_ns: (reader.cpu_ns > 0).then_some(cpu_ns),
                run_queue_ns: used.cpu_wait_ns,
                reap_gap: Some(gaps),
                ..WorkerEvidence::default()
            });
        }
        (sample, by_worker)
    }
}

impl Capture {
    fn add_to_target(&mut self, target: TargetId, count: u32, age_ns: u64) {
        let (in_flight, oldest_ns) = self.targets.entry(target).or_default();
        *in_flight += count;
        *oldest_ns = age_ns.max(*oldest_ns);
    }
}

fn span(own: &Lifetime, end_ns: u64) -> Option<StreamSpan> {
    let (from_ns, to_ns) = own.measured(end_ns);
    from_ns.map(|from_ns| StreamSpan { from_ns, to_ns })
}

/// A value recorded just as its interval was read has its maximum in a tag that has moved on; the
/// histogram still knows it to within a bucket.
fn bound_max(figures: &mut LatencyFigures) {
    let highest = figures
        .histogram
        .buckets()
        .last()
        .map_or(0, |b| measure::bucket_bounds(b.index as usize).0);
    figures.max_ns = figures.max_ns.max(highest);
}

/// Whether nothing came; a response may come an interval after its operation.
fn has_nothing(figure: &Figure) -> bool {
    figure.is_empty() && figure.response.histogram.is_empty()
}

fn add_figure(figures: &mut Vec<Figure>, more: &Figure) {
    if has_nothing(more) {
        return;
    }
    match figures.iter_mut().find(|figure| figure.key == more.key) {
        Some(figure) => figure.merge(more),
        None => figures.push(more.clone()),
    }
}

/// Arrivals and what was submitted of them.
fn add_sample(sample: &mut StreamSample, more: &StreamSample) {
    sample.scheduled += more.scheduled;
    sample.submitted += more.submitted;
    sample.lateness.merge(&more.lateness);
    if let Some(free) = &more.free_lateness {
        sample.free_lateness.get_or_insert_default().merge(free);
    }
}

fn difference(counter: &AtomicU64, seen: &mut u64) -> u64 {
    let now = counter.load(Relaxed);
    now.wrapping_sub(std::mem::replace(seen, now))
}

impl Schedule {
    fn new(arrivals: Arrivals) -> Self {
        let mut ahead = arrivals.clone();
        let next_ns = ahead.next_ns();
        Self {
            ahead,
            next_ns,
            behind: arrivals,
        }
    }

    /// How many arrivals come before `end_ns` that were not counted yet.
    fn count_until(&mut self, end_ns: u64) -> u64 {
        let mut count = 0;
        while self.next_ns < end_ns {
            count += 1;
            self.next_ns = self.ahead.next_ns();
        }
        count
    }

    fn follow(&mut self, submitted: u64) {
        while self.behind.taken() < submitted {
            self.behind.next_ns();
        }
    }
}
