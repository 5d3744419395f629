//! A run on threads: set up, start at a set time, collect, stop, drain.
use crate::backend::{
    AioBackend, Backend, Call, CallPlaces, Features, FilesOnDemand, MappedFiles, NamedFiles,
    NullBackend, OneSlot, Places, PlainCalls, SpaceOfFiles, UringBackend, mappings,
};
use crate::collect::Collector;
use crate::data::buffer_bytes;
use crate::descriptors::rooms;
use crate::error::{EngineError, WORKER_STACK_BYTES};
use crate::files::{Names, OnDemand, OpenTargets};
use crate::gate::Gate;
use crate::generations::Generations;
use crate::kind::{BackendKind, Backends};
use crate::op::places;
use crate::operation_log::OperationReader;
use crate::operations::{self, OperationWriter};
use crate::placement::place;
use crate::requests;
use crate::rule::WorkerRule;
use crate::setup::Setup;
use crate::sleep::Sleep;
use crate::state::{SharedRun, WorkerView};
use crate::worker::{Wake, Worker};
use measure::{Drained, Failure, ThreadUsage};
use plan::{BoundPlan, BoundRun, IoMethod, NameCall, OpenMode, Pool, SpaceCall};
use std::cell::Cell;
use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use sys::aio::QueueConfig;
use sys::beat::Beat;
use sys::clock::Clock;
use sys::memory::LockedMemory;
use sys::requests::RequestMode;
use sys::ring::RingConfig;

/// A worker looks at least this often whether it is to give up.
const LOOK_NS: u64 = 100_000_000;

/// Operations handed to the kernel in one call, at most.
const MOST_SUBMITTED_TOGETHER: u32 = 256;

/// Failures kept for the record at a time; more are counted but not listed.
const FAILURES_KEPT: usize = 4096;

/// How the engine is to work; complete, so that it reads no defaults.
#[derive(Clone, Copy, Debug)]
pub struct EngineConfig {
    pub backends: Backends,
    pub workers: WorkerRule,
    pub clock: Clock,
    /// CPUs that this process may use.
    pub cpus: u32,
    /// Differs between executions, so that their data differ.
    pub nonce: u64,
    /// Completions waited for at once, at most, where no arrival is awaited; the group is a quarter
    /// of a worker's slots.
    pub reap_group_max: u32,
}

/// A run on threads.
#[derive(Debug)]
pub struct Session {
    shared: Arc<SharedRun>,
    gates: Vec<Arc<Gate>>,
    release: Arc<Release>,
    ended: Receiver<Result<(), EngineError>>,
    running: usize,
    failures: Receiver<Failure>,
    collector: Collector,
    clock: Clock,
    features: Features,
    operations: Option<OperationReader>,
    fatal: Option<EngineError>,
    /// Given back when the run has drained.
    held: Option<LockedMemory>,
}

/// Holds the threads back until the run begins.
#[derive(Debug, Default)]
struct Release {
    is_open: Mutex<bool>,
    opened: Condvar,
}

/// Sends the threads home when a session does not come about.
struct GiveUp {
    shared: Arc<SharedRun>,
    release: Arc<Release>,
    armed: Cell<bool>,
}

struct Seat {
    shared: Arc<SharedRun>,
    number: usize,
    files: Vec<Arc<std::fs::File>>,
    /// Where not all files can be open: how they are opened, and how many of them.
    on_demand: Option<(Arc<OnDemand>, usize)>,
    config: EngineConfig,
    buffer_bytes: usize,
    buffer_align: usize,
    gate: Option<(Arc<Gate>, usize)>,
    /// What a worker that maps files has to map.
    mapped: Vec<(u32, OpenMode, u64)>,
    /// Of a worker that makes calls on names: which one, and the names.
    named: Option<(NameCall, Names)>,
    /// Of a worker that makes calls on space: which one.
    spaced: Option<SpaceCall>,
    /// Of the worker; those that ask for something have workers of their own.
    pool: Pool,
    log: Cell<Option<OperationWriter>>,
}

impl Session {
    /// Opens rings and starts threads, which then wait for [`Session::start`].
    ///
    /// # Errors
    /// When a ring, memory or a thread is refused; nothing is left behind.
    pub fn prepare(
        plan: &BoundPlan,
        run: &BoundRun,
        open: &OpenTargets,
        run_rate: Option<f64>,
        shares_pct: Option<&[f64]>,
        generations: &Generations,
        config: EngineConfig,
    ) -> Result<Self, EngineError> {
        let held = hold_memory(run)?;
        let setup = Setup {
            plan,
            run,
            files: &open.by_stream,
            open: Some(open),
            last_syncs: &open.last_syncs,
            backends: that_wait_for_locks(run, config.backends)?,
            workers: config.workers,
            cpus: config.cpus,
            run_rate,
            shares_pct,
            nonce: config.nonce,
            generations,
        };
        let (failure_sender, failures) = sync_channel(FAILURES_KEPT);
        let shared = Arc::new(SharedRun::new(&setup, failure_sender));
        let gates = gates(&shared);
        let release = Arc::new(Release::default());
        let (ended_sender, ended) = channel();
        let (ready_sender, ready) = channel();
        let align = buffer_align(plan, run);
        let give_up = GiveUp {
            shared: Arc::clone(&shared),
            release: Arc::clone(&release),
            armed: Cell::new(true),
        };
        let (writers, operations) = operation_logs(plan, &shared);
        let mut writers = writers.into_iter();
        for mut seat in seats(&shared, run, open, config, buffer_bytes(run), align, &gates) {
            seat.equip(&shared.workers[seat.number], run, open);
            let (release, ended, ready) = (
                Arc::clone(&release),
                ended_sender.clone(),
                ready_sender.clone(),
            );
            seat.log.set(writers.next());
            std::thread::Builder::new()
                .name(format!("worker-{}", seat.number))
                .stack_size(WORKER_STACK_BYTES)
                .spawn(move || seat.run(&release, &ready, &ended))
                .map_err(EngineError::Thread)?;
        }
        drop((ready_sender, ended_sender));
        let features = granted(&ready, shared.workers.len())?;
        give_up.armed.set(false);
        Ok(Self {
            collector: Collector::new(Arc::clone(&shared)),
            running: shared.workers.len(),
            shared,
            gates,
            release,
            ended,
            failures,
            clock: config.clock,
            features,
            operations,
            fatal: None,
            held,
        })
    }

    /// Lets the run begin at `start_ns` of the clock.
    pub fn start(&mut self, start_ns: u64) {
        self.shared.start_ns.store(start_ns, Relaxed);
        self.release.open();
    }

    /// No operation is issued at or after this time of the clock.
    pub fn stop_at(&self, stop_ns: u64) {
        self.shared.stop_ns.store(stop_ns, Relaxed);
        self.gates.iter().for_each(|gate| gate.wake_all());
    }

    /// From now on these streams issue nothing.
    pub fn retire(&self, streams: &[usize], have_failed: bool) {
        self.shared
            .retire(streams, have_failed, self.clock.now_ns());
        self.gates.iter().for_each(|gate| gate.wake_all());
    }

    /// Reads counts.
    pub fn collector(&mut self) -> &mut Collector {
        &mut self.collector
    }

    /// Whether all streams that end by themselves have ended, and nothing is in flight.
    pub fn is_done(&mut self) -> bool {
        self.note_ended(Duration::ZERO);
        self.running == 0 || self.shared.is_done()
    }

    /// What the kernel granted, in words.
    pub fn features(&self) -> &str {
        &self.features.granted
    }

    /// What of it the kernel refused, with the likely cause; costs CPU and changes no result.
    pub fn shortfall(&self) -> Option<&str> {
        self.features.shortfall.as_deref()
    }

    /// The error that ended a worker, if one did.
    pub fn take_fatal(&mut self) -> Option<EngineError> {
        self.note_ended(Duration::ZERO);
        self.fatal.take()
    }

    /// Failed operations since the last call, and how many were too many to list.
    pub fn take_failures(&self) -> (Vec<Failure>, u64) {
        self.shared.take_failures(&self.failures)
    }

    /// Single operations, where the plan asks for them; once.
    pub fn take_operations(&mut self) -> Option<OperationReader> {
        self.operations.take()
    }

    /// What was sent so far, of each kind of data; compresses a sample, so call it after the drain.
    pub fn data_written(&self) -> Vec<measure::DataFigures> {
        self.shared.data.figures()
    }

    /// How long after the start of the run its first worker began, in nanoseconds; `None` where none has.
    pub fn begun_late_ns(&self) -> Option<u64> {
        let workers = self.shared.workers.iter();
        let late = workers.map(|worker| worker.begun_late_ns.load(Relaxed));
        late.min().filter(|late_ns| *late_ns < u64::MAX)
    }

    /// How many workers the run has.
    pub fn workers(&self) -> u32 {
        self.shared.workers.len() as u32
    }

    /// Waits for what is in flight, at most `limit_ns`, or until `hurry` says so; then gives up on
    /// the rest.
    pub fn drain(&mut self, limit_ns: u64, hurry: impl Fn() -> bool) -> Drained {
        let begun_ns = self.clock.now_ns();
        self.gates.iter().for_each(|gate| gate.wake_all());
        while self.running > 0 && !hurry() && self.clock.now_ns() - begun_ns < limit_ns {
            self.note_ended(Duration::from_millis(20));
            self.gates.iter().for_each(|gate| gate.wake_all());
        }
        let mut drained = Drained::default();
        self.held = None;
        if self.running > 0 {
            drained.outstanding = self.collector.outstanding(self.clock.now_ns());
            self.shared.abandon.store(true, Relaxed);
            // Rings give up within a look; a thread inside a system call stays there until the
            // device answers or the process ends.
            let limit_ns = self.clock.now_ns() + 3 * LOOK_NS;
            while self.running > 0 && self.clock.now_ns() < limit_ns {
                self.note_ended(Duration::from_millis(20));
            }
            drained.stuck_workers = self.running as u32;
        }
        drained.drain_ns = self.clock.now_ns() - begun_ns;
        drained.late = self.collector.late();
        drained
    }

    fn note_ended(&mut self, wait: Duration) {
        let mut wait = wait;
        while self.running > 0 {
            match self.ended.recv_timeout(wait) {
                Ok(result) => {
                    self.running -= 1;
                    if let Err(error) = result {
                        self.fatal.get_or_insert(error);
                    }
                    wait = Duration::ZERO;
                }
                Err(RecvTimeoutError::Timeout) => return,
                Err(RecvTimeoutError::Disconnected) => {
                    self.running = 0;
                    self.fatal.get_or_insert(EngineError::WorkerDied);
                }
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.shared.stop_ns.store(0, Relaxed);
        self.shared.abandon.store(true, Relaxed);
        self.release.open();
        self.gates.iter().for_each(|gate| gate.wake_all());
    }
}

/// What the kernel granted, once all workers are ready.
fn granted(
    ready: &Receiver<Result<Features, EngineError>>,
    workers: usize,
) -> Result<Features, EngineError> {
    let mut features = Features::default();
    for _ in 0..workers {
        let granted = ready.recv().map_err(|_| EngineError::WorkerDied)??;
        // Limits are shared: the worker that came too late stands for all.
        if features.shortfall.is_none() {
            features = granted;
        }
    }
    Ok(features)
}

/// The same backends, where those of pools with locks can wait for them; who serves many operations cannot.
fn that_wait_for_locks(run: &BoundRun, backends: Backends) -> Result<Backends, EngineError> {
    let locking = run.run.streams.iter().filter(|one| one.flow.lock.is_some());
    let mut kinds = locking.map(|one| backends.of(&run.run.pools[one.pool.index()]));
    match kinds.find(|kind| matches!(kind, BackendKind::Uring | BackendKind::Aio)) {
        Some(kind) => Err(EngineError::Unserved {
            kind,
            what: "wait for locks on targets",
        }),
        None => Ok(backends),
    }
}

/// One for each pool; only threads that serve one slot take turns there.
fn gates(shared: &SharedRun) -> Vec<Arc<Gate>> {
    let threads = |pool: usize| {
        shared
            .workers
            .iter()
            .filter(|w| w.pool_of_slot[0] as usize == pool)
            .count()
    };
    let mut kinds = shared.workers.iter().map(|worker| worker.kind);
    if !kinds.any(BackendKind::has_thread_per_slot) {
        return Vec::new();
    }
    (0..shared.pools.len())
        .map(|pool| Arc::new(Gate::new(threads(pool))))
        .collect()
}

fn seats(
    shared: &Arc<SharedRun>,
    run: &BoundRun,
    open: &OpenTargets,
    config: EngineConfig,
    buffer_bytes: usize,
    buffer_align: usize,
    gates: &[Arc<Gate>],
) -> Vec<Seat> {
    let mut threads_of_pool = vec![0; shared.pools.len()];
    let on_demand = open.on_demand.as_ref();
    let rooms = on_demand.map_or_else(Vec::new, |files| rooms(files, shared));
    let seat = |number: usize| {
        let pool = shared.workers[number].pool_of_slot[0] as usize;
        let paced = shared
            .streams
            .iter()
            .any(|stream| stream.pool == pool && stream.feed.is_some());
        let takes_turns = shared.workers[number].kind.has_thread_per_slot();
        let gate = (takes_turns && paced).then(|| {
            threads_of_pool[pool] += 1;
            (Arc::clone(&gates[pool]), threads_of_pool[pool] - 1)
        });
        let files = open.files.clone();
        Seat {
            shared: Arc::clone(shared),
            number,
            files,
            on_demand: on_demand.map(|files| (Arc::clone(files), rooms[number])),
            config,
            buffer_bytes,
            buffer_align,
            gate,
            mapped: Vec::new(),
            named: None,
            spaced: None,
            pool: run.run.pools[pool].clone(),
            log: Cell::new(None),
        }
    };
    (0..shared.workers.len()).map(seat).collect()
}

/// All that the streams of a run ask to be held.
fn hold_memory(run: &BoundRun) -> Result<Option<LockedMemory>, EngineError> {
    let streams = run.run.streams.iter();
    let bytes = streams.fold(0_u64, |sum, stream| {
        sum.saturating_add(stream.flow.held_memory_bytes)
    });
    let held = (bytes > 0).then(|| LockedMemory::new(bytes)).transpose();
    held.map_err(|error| EngineError::HeldMemory { bytes, error })
}

/// What the streams of a worker's pool use of which file, where it maps files.
fn mapped(worker: &WorkerView, run: &BoundRun, open: &OpenTargets) -> Vec<(u32, OpenMode, u64)> {
    if worker.kind != BackendKind::Mapped {
        return Vec::new();
    }
    let streams = run.run.streams.iter().enumerate();
    let mine = streams.filter(|(_, stream)| stream.pool.0 == worker.pool_of_slot[0]);
    let used = mine.flat_map(|(number, stream)| {
        let regions = run.streams[number].regions.iter();
        let (places, files) = (places(&stream.targets), &open.by_stream[number]);
        regions.filter_map(move |region| {
            let file = files[*places.get(&region.target)? as usize];
            Some((file, region.wrap_at.unwrap_or(region.low + region.width)))
        })
    });
    mappings(open, used)
}

/// The call of a worker's pool and all names of the run, where it makes calls on names.
fn named(worker: &WorkerView, run: &BoundRun, open: &OpenTargets) -> Option<(NameCall, Names)> {
    match run.run.pools[worker.pool_of_slot[0] as usize].method {
        Some(IoMethod::Names(call)) if worker.kind == BackendKind::Names => {
            Some((call, Arc::clone(&open.names)))
        }
        _ => None,
    }
}

/// The call of a worker's pool, where it makes calls on space.
fn spaced(worker: &WorkerView, run: &BoundRun) -> Option<SpaceCall> {
    match run.run.pools[worker.pool_of_slot[0] as usize].method {
        Some(IoMethod::Space(call)) if worker.kind == BackendKind::Space => Some(call),
        _ => None,
    }
}

/// A writer for each worker and the reader of all, where single operations are asked for.
fn operation_logs(
    plan: &BoundPlan,
    shared: &Arc<SharedRun>,
) -> (Vec<OperationWriter>, Option<OperationReader>) {
    if !plan.plan.reporting.operations {
        return (Vec::new(), None);
    }
    let pairs = shared
        .workers
        .iter()
        .map(|worker| operations::pair(worker.slots.len()));
    let (writers, ends) = pairs.unzip();
    (
        writers,
        Some(OperationReader::new(Arc::clone(shared), ends)),
    )
}

fn buffer_align(plan: &BoundPlan, run: &BoundRun) -> usize {
    let targets = run.run.streams.iter().flat_map(|stream| &stream.targets);
    let align = targets
        .map(|target| plan.targets[target.index()].facts.alignment.memory)
        .max();
    align.unwrap_or(0).max(4096) as usize
}

impl Release {
    fn open(&self) {
        *self
            .is_open
            .lock()
            .expect("nothing panics while holding it") = true;
        self.opened.notify_all();
    }

    fn wait(&self) {
        let mut is_open = self
            .is_open
            .lock()
            .expect("nothing panics while holding it");
        while !*is_open {
            is_open = self
                .opened
                .wait(is_open)
                .expect("nothing panics while holding it");
        }
    }
}

impl Drop for GiveUp {
    fn drop(&mut self) {
        if self.armed.get() {
            self.shared.stop_ns.store(0, Relaxed);
            self.shared.abandon.store(true, Relaxed);
            self.release.open();
        }
    }
}

impl Seat {
    /// What its backend works with besides open files.
    fn equip(&mut self, worker: &WorkerView, run: &BoundRun, open: &OpenTargets) {
        self.mapped = mapped(worker, run, open);
        self.named = named(worker, run, open);
        self.spaced = spaced(worker, run);
    }

    fn run(
        self,
        release: &Release,
        ready: &Sender<Result<Features, EngineError>>,
        ended: &Sender<Result<(), EngineError>>,
    ) {
        // Refusal only makes wake-ups later, which lateness shows.
        let _ = sys::thread::set_timer_slack_ns(1);
        if let Err(error) = place(&self.shared.workers[self.number].placement) {
            let _ = ready.send(Err(error));
            return;
        }
        let slots = self.shared.workers[self.number].slots.len() as u32;
        let kind = self.shared.workers[self.number].kind;
        let mode = match requests::asked(&self.pool, kind) {
            Ok(mode) => mode,
            Err(what) => {
                let _ = ready.send(Err(EngineError::Unserved { kind, what }));
                return;
            }
        };
        match kind {
            BackendKind::Uring => {
                let config = self.ring_config(slots, mode);
                let backend = UringBackend::new(&config, self.files.clone())
                    .map_err(|refusal| EngineError::QueueRefused(refusal.to_string()));
                let features = backend
                    .as_ref()
                    .map(UringBackend::features)
                    .unwrap_or_default();
                self.serve_files(backend, features, release, ready, ended);
            }
            BackendKind::Aio => {
                let config = self.queue_config(slots, mode);
                let backend = AioBackend::new(&config, self.files.clone())
                    .map_err(|refusal| EngineError::QueueRefused(refusal.to_string()));
                let features = backend
                    .as_ref()
                    .map(AioBackend::features)
                    .unwrap_or_default();
                self.serve_files(backend, features, release, ready, ended);
            }
            BackendKind::Sync => {
                let call = PlainCalls::new(self.files.clone(), mode, self.pool.requests.polled_pct);
                self.serve_calls(Ok(call), release, ready, ended);
            }
            BackendKind::Mapped => {
                let call = match &self.on_demand {
                    None => MappedFiles::new(self.files.clone(), &self.mapped),
                    Some(_) => Ok(MappedFiles::on_demand(self.mapped.clone())),
                };
                self.serve_calls(call.map_err(EngineError::Mapping), release, ready, ended);
            }
            BackendKind::Names => {
                let (call, names) = self.named.clone().expect("its pool has a call");
                let backend = self.one_slot(Ok(NamedFiles::new(call, names)));
                self.serve(backend, Features::default(), release, ready, ended);
            }
            BackendKind::Space => {
                let call = self.spaced.expect("its pool has a call");
                let call = SpaceOfFiles::new(call, self.files.clone());
                self.serve_calls(Ok(call), release, ready, ended);
            }
            BackendKind::Null | BackendKind::Sim => {
                let backend = NullBackend::new(slots, self.buffer_bytes.next_multiple_of(4096))
                    .map_err(EngineError::Memory);
                self.serve(backend, Features::default(), release, ready, ended);
            }
        }
    }

    fn ring_config(&self, slots: u32, mode: RequestMode) -> RingConfig {
        RingConfig {
            slots,
            batch: slots.clamp(1, MOST_SUBMITTED_TOGETHER),
            buffer_bytes: self.buffer_bytes.next_multiple_of(self.buffer_align),
            buffer_align: self.buffer_align,
            register_buffers: true,
            // Places that change all the time cost more calls than they save.
            register_files: self.on_demand.is_none(),
            mode,
        }
    }

    fn queue_config(&self, slots: u32, mode: RequestMode) -> QueueConfig {
        QueueConfig {
            slots,
            batch: slots.clamp(1, MOST_SUBMITTED_TOGETHER),
            buffer_bytes: self.buffer_bytes.next_multiple_of(self.buffer_align),
            buffer_align: self.buffer_align,
            reap_in_memory: true,
            mode,
        }
    }

    fn one_slot<C: Call>(&self, call: Result<C, EngineError>) -> Result<OneSlot<C>, EngineError> {
        let bytes = self.buffer_bytes.next_multiple_of(self.buffer_align);
        OneSlot::new(call?, bytes, self.buffer_align).map_err(EngineError::Memory)
    }

    /// Serves the only slot of this worker by calls on open files.
    fn serve_calls<C: Call + CallPlaces>(
        &self,
        call: Result<C, EngineError>,
        release: &Release,
        ready: &Sender<Result<Features, EngineError>>,
        ended: &Sender<Result<(), EngineError>>,
    ) {
        let backend = self.one_slot(call);
        self.serve_files(backend, Features::default(), release, ready, ended);
    }

    /// Serves with all files open, or with as many as may be.
    fn serve_files<B: Places>(
        &self,
        backend: Result<B, EngineError>,
        features: Features,
        release: &Release,
        ready: &Sender<Result<Features, EngineError>>,
        ended: &Sender<Result<(), EngineError>>,
    ) {
        let Some((files, room)) = &self.on_demand else {
            return self.serve(backend, features, release, ready, ended);
        };
        let slots = self.shared.workers[self.number].slots.len();
        let backend =
            backend.map(|inner| FilesOnDemand::new(inner, Arc::clone(files), slots, *room));
        self.serve(backend, features, release, ready, ended);
    }

    fn serve<B: Backend>(
        &self,
        backend: Result<B, EngineError>,
        features: Features,
        release: &Release,
        ready: &Sender<Result<Features, EngineError>>,
        ended: &Sender<Result<(), EngineError>>,
    ) {
        let backend = match backend {
            Ok(backend) => backend,
            Err(error) => {
                let _ = ready.send(Err(error));
                return;
            }
        };
        let clock = self.config.clock;
        let group_max = self.config.reap_group_max;
        let mut worker = Worker::new(&*self.shared, self.number, backend, clock, group_max);
        if let Some(log) = self.log.take() {
            worker.log_to(log);
        }
        let _ = ready.send(Ok(features));
        release.wait();
        worker.begin();
        let before = usage();
        let result = match &self.gate {
            Some((gate, me)) => self.drive_in_turn(&mut worker, gate, *me, &before),
            None => self.drive(&mut worker, &before),
        };
        note_usage(&worker, &before);
        // Whoever hears of the end finds all operations told; giving a queue back may take a while.
        worker.end_log();
        if worker.in_flight() > 0 {
            worker.backend.abandon();
        } else if self.on_demand.is_some() {
            // What comes next needs the descriptors.
            drop(worker);
        }
        let _ = ended.send(result.map_err(EngineError::Submit));
    }

    fn drive<B: Backend>(
        &self,
        worker: &mut Worker<B, Clock, &SharedRun>,
        before: &ThreadUsage,
    ) -> io::Result<()> {
        let mut interval = 0;
        let mut sleeper = Sleeper::default();
        self.wait_for_start(&mut sleeper, worker);
        loop {
            let Wake::Wait { want, until_ns } = worker.step(true) else {
                return Ok(());
            };
            if self.shared.abandon.load(Relaxed) {
                return Ok(());
            }
            match worker.in_flight() {
                0 => sleeper.sleep(worker, until_ns),
                _ => worker.enter(want, until_ns, LOOK_NS)?,
            }
            if worker.interval() != interval {
                interval = worker.interval();
                note_usage(worker, before);
            }
        }
    }

    /// So that the first look at the work is at the start, whenever the first arrival comes.
    fn wait_for_start<B: Backend>(
        &self,
        sleeper: &mut Sleeper,
        worker: &mut Worker<B, Clock, &SharedRun>,
    ) {
        let start_ns = self.shared.start_ns.load(Relaxed);
        loop {
            let now_ns = self.config.clock.now_ns();
            if now_ns >= start_ns {
                let view = &self.shared.workers[self.number];
                return view.begun_late_ns.store(now_ns - start_ns, Relaxed);
            }
            let is_over = now_ns >= self.shared.stop_ns.load(Relaxed);
            if is_over || self.shared.abandon.load(Relaxed) {
                return;
            }
            sleeper.sleep(worker, start_ns);
        }
    }

    /// As [`Seat::drive`], for threads of a pool with a schedule, one of which has the turn.
    fn drive_in_turn<B: Backend>(
        &self,
        worker: &mut Worker<B, Clock, &SharedRun>,
        gate: &Gate,
        me: usize,
        before: &ThreadUsage,
    ) -> io::Result<()> {
        let clock = self.config.clock;
        let mut interval = 0;
        let mut sleeper = Sleeper::default();
        let mut has_begun = false;
        gate.enrol(me);
        loop {
            let has_turn = gate.wait_for_turn(me, || clock.now_ns());
            if has_turn && !std::mem::replace(&mut has_begun, true) {
                self.wait_for_start(&mut sleeper, worker);
            }
            let Wake::Wait { want, until_ns } = worker.step(has_turn) else {
                break;
            };
            if self.shared.abandon.load(Relaxed) {
                break;
            }
            if worker.in_flight() > 0 {
                let begun_ns = clock.now_ns();
                let (next_ns, gap_ns) = (worker.next_arrival_ns(), worker.gap_ns());
                let kept = gate.begin_io(me, begun_ns, next_ns, gap_ns as u64);
                worker.enter(want, u64::MAX, LOOK_NS)?;
                let spent_ns = clock.now_ns() - begun_ns;
                gate.end_io(kept, spent_ns);
                worker.note_io(if kept { spent_ns } else { 0 });
                worker.step(false);
            } else if has_turn {
                sleeper.sleep(worker, until_ns);
            }
            if worker.interval() != interval {
                interval = worker.interval();
                note_usage(worker, before);
            }
        }
        gate.hand_over(me);
        gate.wake_all();
        Ok(())
    }
}

/// Sleeps beyond this are so rare that it does not matter what they cost.
const LONG_SLEEP_NS: u64 = 2_000_000;

/// How a thread sleeps that has nothing in flight.
#[derive(Default)]
struct Sleeper {
    /// Made when first needed; without descriptors for timers it sleeps without them.
    beat: Option<io::Result<Beat>>,
}

impl Sleeper {
    fn sleep<B: Backend>(&mut self, worker: &mut Worker<B, Clock, &SharedRun>, until_ns: u64) {
        match worker.plan_sleep(until_ns, LOOK_NS) {
            Sleep::Spin { until_ns } => worker.spin(until_ns),
            Sleep::Timer {
                wake_ns,
                length_ns,
                beyond_ns,
            } => {
                self.wait(length_ns, beyond_ns);
                worker.note_wake_up(wake_ns);
            }
        }
    }

    fn wait(&mut self, length_ns: u64, beyond_ns: u64) {
        if length_ns > LONG_SLEEP_NS {
            std::thread::sleep(Duration::from_nanos(length_ns));
            return;
        }
        let has_slept = match self.beat.get_or_insert_with(Beat::new) {
            Ok(beat) => beat.sleep(length_ns, beyond_ns).is_ok(),
            Err(_) => false,
        };
        if !has_slept {
            std::thread::sleep(Duration::from_nanos(length_ns));
        }
    }
}

fn note_usage<B: Backend>(worker: &Worker<B, Clock, &SharedRun>, before: &ThreadUsage) {
    worker.note_cpu(sys::thread::thread_cpu_ns(), &usage().since(before));
}

fn usage() -> ThreadUsage {
    let used = sys::thread::thread_usage();
    ThreadUsage {
        user_ns: used.user_ns,
        system_ns: used.system_ns,
        context_switches: used.waits + used.preemptions,
        minor_faults: used.minor_faults,
        major_faults: used.major_faults,
        cpu_wait_ns: sys::thread::thread_cpu_wait_ns(),
    }
}
