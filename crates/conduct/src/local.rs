//! This machine as a [`Host`].
use crate::heartbeat::Heartbeat;
use crate::{
    Answer, Clock, CommandCall, CommandEnd, CommandOrder, Commands, Control, Host, HostError, Left,
    Prepared, SetPoint,
};
use door::Grants;
use engine::{
    BackendKind, EngineConfig, EngineError, Generations, OpenError, OpenTargets, Reopened, Session,
    open_targets,
};
use measure::{
    Collected, DataFigures, Ended, Failure, Failures, HostInterval, HostStart, LogWaits,
    OperationRecord, Outstanding,
};
use plan::{BoundPlan, BoundRun, RunId, Stream};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a drain may take, if nothing else is said.
const DRAIN_NS: u64 = 30_000_000_000;

/// How often a wait looks at the stop flag.
const LOOK_NS: u64 = 20_000_000;

/// Who wants the end at once waits this long for files to be closed.
const CLOSE_NS: u64 = 500_000_000;

/// Counts are read this long after an interval's end, so that a worker that has just taken its
/// stamp has counted it.
const GRACE_NS: u64 = 2_000_000;

/// Takes single operations, where a plan asks for them, on a thread of its own.
pub trait OperationSink: Send {
    /// Operations of one worker in the order in which they were seen. `start_unix_ns` is the start
    /// of the run.
    fn take(&mut self, run: RunId, start_unix_ns: u64, operations: &[OperationRecord]);

    /// Nothing more comes of the run; `lost` operations came faster than they were taken.
    fn end_run(&mut self, run: RunId, lost: u64);
}

/// What is done around the runs of a machine: whoever grants it what it may touch knows what is to be kept of that.
pub trait Keeper {
    /// The first run is about to be set up: from now on targets may be written.
    fn begin(&mut self);

    /// A run has ended, and what it was to write is written.
    fn end_run(&mut self, run: RunId);

    /// Nothing is written any more. With `is_stuck` operations are still out, and no target may be touched.
    fn leave(&mut self, is_whole: bool, is_stuck: bool) -> Left;
}

/// The machine that this process runs on.
pub struct LocalHost {
    config: EngineConfig,
    grants: Arc<Grants>,
    sampler: host::Sampler,
    session: Option<Session>,
    /// When the run started, by the clock, and what notes its pauses; absent where no run is set up, or no thread is left.
    start_ns: u64,
    heartbeat: Option<Heartbeat>,
    /// When an interval was read last, by the clock.
    collected_ns: u64,
    run: Option<RunId>,
    /// Why there is no session.
    refusal: Option<HostError>,
    open: Option<OpenTargets>,
    /// Files of the run that workers open: failures are told after it as well.
    reopened: Option<Reopened>,
    /// Files of a run that may be open at a time.
    descriptors: usize,
    /// How long a drain may take.
    drain_ns: u64,
    close_error: Option<std::io::Error>,
    /// Of the data that runs have written.
    generations: Generations,
    lead: LocalLead,
    operations: Option<Arc<Mutex<Box<dyn OperationSink>>>>,
    logging: Option<Logging>,
    keeper: Option<Box<dyn Keeper + Send>>,
    has_begun: bool,
    /// Whether operations of the last run were still out at its end, or a file did not close.
    is_stuck: bool,
}

/// The thread that hands single operations of a run to their sink.
struct Logging {
    is_over: Arc<AtomicBool>,
    /// Ends with how often workers waited for it, and how long.
    thread: JoinHandle<(u64, u64)>,
}

/// What commands of a job get, and how long they may take.
#[derive(Clone, Debug)]
pub struct CommandSettings {
    pub variables: Vec<(&'static str, String)>,
    pub limit: std::time::Duration,
}

impl Default for CommandSettings {
    fn default() -> Self {
        Self {
            variables: Vec::new(),
            limit: std::time::Duration::from_secs(3600),
        }
    }
}

/// The clock and the commands of this machine, for an execution that it leads.
#[derive(Clone, Debug)]
pub struct LocalLead {
    clock: sys::clock::Clock,
    commands: CommandSettings,
}

impl LocalLead {
    /// With the clock of the engine.
    pub fn new(clock: sys::clock::Clock, commands: CommandSettings) -> Self {
        Self { clock, commands }
    }
}

impl Clock for LocalLead {
    fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    fn unix_ns(&self, at_ns: u64) -> u64 {
        self.clock.unix_ns(at_ns)
    }

    fn wait_until(&mut self, until_ns: u64, control: &Control) {
        loop {
            let now_ns = self.now_ns();
            if now_ns >= until_ns || control.is_stopping() {
                return;
            }
            self.clock.sleep_until(until_ns.min(now_ns + LOOK_NS));
        }
    }
}

impl Commands for LocalLead {
    fn command(
        &mut self,
        call: &CommandCall<'_>,
        control: &Control,
        said: &mut dyn FnMut(&str),
    ) -> CommandEnd {
        let mut variables: Vec<(&str, String)> = self.commands.variables.clone();
        variables.extend(call.variables.iter().cloned());
        let limit = call
            .at_most_ns
            .map_or(self.commands.limit, std::time::Duration::from_nanos);
        let stop = || control.is_stopping();
        match host::command::run(call.text, &variables, limit, &stop, said) {
            Ok(host::command::Ended::Exited(code)) => CommandEnd::Exited(code),
            Ok(host::command::Ended::Signalled(signal)) => CommandEnd::Signalled(signal),
            Ok(host::command::Ended::TimedOut) => CommandEnd::TimedOut(limit.as_secs()),
            Ok(host::command::Ended::Stopped) => CommandEnd::Stopped,
            Err(error) => CommandEnd::Refused(error.to_string()),
        }
    }

    fn order(&self, call: &CommandCall<'_>) -> CommandOrder {
        let variables = self.commands.variables.iter();
        let variables = variables.map(|(name, value)| ((*name).to_owned(), value.clone()));
        let usual_ns = u64::try_from(self.commands.limit.as_nanos()).unwrap_or(u64::MAX);
        CommandOrder::of(call, variables.collect(), usual_ns)
    }
}

impl LocalHost {
    pub fn new(config: EngineConfig, grants: Arc<Grants>, sampler: host::Sampler) -> Self {
        Self {
            config,
            grants,
            sampler,
            session: None,
            start_ns: 0,
            heartbeat: None,
            collected_ns: 0,
            run: None,
            refusal: None,
            open: None,
            reopened: None,
            descriptors: usize::MAX,
            drain_ns: DRAIN_NS,
            close_error: None,
            generations: Generations::default(),
            lead: LocalLead::new(config.clock, CommandSettings::default()),
            operations: None,
            logging: None,
            keeper: None,
            has_begun: false,
            is_stuck: false,
        }
    }

    /// Tells `keeper` when runs begin and end.
    #[must_use]
    pub fn with_keeper(mut self, keeper: Box<dyn Keeper + Send>) -> Self {
        self.keeper = Some(keeper);
        self
    }

    /// Hands single operations to `sink`.
    #[must_use]
    pub fn with_operations(mut self, sink: Box<dyn OperationSink>) -> Self {
        self.operations = Some(Arc::new(Mutex::new(sink)));
        self
    }

    /// What is remembered of the data that runs write, as it stands whenever it is asked.
    pub fn generations(&self) -> Generations {
        self.generations.clone()
    }

    fn begin_logging(&mut self, run: RunId) -> Result<(), HostError> {
        let reader = self.session().take_operations();
        let (Some(reader), Some(sink)) = (reader, &self.operations) else {
            return Ok(());
        };
        let (sink, clock) = (Arc::clone(sink), self.config.clock);
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let work = move || {
            let (lost, waits, start) = (reader.lost(), reader.waits(), reader.start());
            let mut sink = sink.lock().expect("only one run logs at a time");
            reader.run(
                |operations| sink.take(run, clock.unix_ns(start()), operations),
                || over.load(Relaxed),
            );
            sink.end_run(run, lost());
            waits()
        };
        let thread = sys::thread::start("operations", work);
        let thread = thread.map_err(|error| refused(&EngineError::Thread(error)))?;
        self.logging = Some(Logging { is_over, thread });
        Ok(())
    }

    fn end_logging(&mut self) -> LogWaits {
        let Some(logging) = self.logging.take() else {
            return LogWaits::default();
        };
        logging.is_over.store(true, Relaxed);
        // A sink that panicked has lost its log and nothing else.
        let (count, sum_ns) = logging.thread.join().unwrap_or_default();
        LogWaits { count, sum_ns }
    }

    fn set_up(
        &mut self,
        plan: &BoundPlan,
        run: &BoundRun,
        point: &SetPoint,
    ) -> Result<(), HostError> {
        let open = match self.config.backends.kind {
            BackendKind::Null | BackendKind::Sim => OpenTargets::none(run),
            _ => open_targets(plan, run, &self.grants, self.descriptors)
                .map_err(|error| not_opened(&error, run))?,
        };
        self.reopened = open.reopened(run);
        let shares = point.shares_pct.as_deref();
        self.run = Some(run.id);
        let session = Session::prepare(
            plan,
            run,
            &open,
            point.rate,
            shares,
            &self.generations,
            self.config,
        );
        self.session = Some(session.map_err(|error| refused(&error))?);
        self.open = Some(open);
        self.begin_logging(run.id)?;
        self.heartbeat = Heartbeat::start(self.config.clock).ok();
        // What happened before the run does not belong to its first interval.
        let _ = self.sampler.sample();
        Ok(())
    }

    /// The same with other settings for commands.
    #[must_use]
    pub fn with_commands(mut self, commands: CommandSettings) -> Self {
        self.lead.commands = commands;
        self
    }

    /// The same, where at most so many files of a run may be open at a time; without, all of them are.
    #[must_use]
    pub fn with_descriptors(mut self, descriptors: usize) -> Self {
        self.descriptors = descriptors;
        self
    }

    /// The same with another limit for what is in flight at the end of a run.
    #[must_use]
    pub fn with_drain_ns(mut self, drain_ns: u64) -> Self {
        self.drain_ns = drain_ns;
        self
    }

    /// Closes the files of the run on a thread of its own, as a device that hangs keeps who closes its files. Whether
    /// that has come to its end.
    fn close(&mut self, control: &Control) -> bool {
        let Some(open) = self.open.take() else {
            return true;
        };
        let flushes = open.flushes();
        let (sender, closed) = channel();
        // Without a thread, what it was to own is dropped here.
        let started = sys::thread::start("closing", move || {
            let _ = sender.send(open.close());
        });
        if let Err(error) = started {
            self.close_error = Some(error);
            return true;
        }
        let begun_ns = self.now_ns();
        let mut urgent_ns = None;
        loop {
            match closed.recv_timeout(Duration::from_nanos(LOOK_NS)) {
                Ok(result) => {
                    self.close_error = result.err();
                    return true;
                }
                Err(RecvTimeoutError::Disconnected) => return true,
                Err(RecvTimeoutError::Timeout) => {}
            }
            let now_ns = self.now_ns();
            if control.is_urgent() && now_ns - *urgent_ns.get_or_insert(now_ns) >= CLOSE_NS {
                return false;
            }
            // What a flush has to write takes as long as it takes, until somebody asks for the end.
            let is_limited = !flushes || control.is_stopping();
            if is_limited && now_ns - begun_ns >= self.drain_ns {
                return false;
            }
        }
    }

    fn tell_pauses(&mut self, collected: &mut Collected) {
        let pauses = self.heartbeat.as_ref();
        let pauses = pauses.map(|heartbeat| heartbeat.take(self.start_ns));
        if let (Some(host), Some(pauses)) = (collected.engine.hosts.first_mut(), pauses) {
            host.pauses = pauses;
        }
    }

    fn denial(&self, failure: &Failure) -> Option<String> {
        let path = self
            .reopened
            .as_ref()?
            .path(failure.stream, failure.place)?;
        let error = std::io::Error::from_raw_os_error(failure.errno);
        host::rights::denial_of_opening(path, &error)
    }

    fn session(&mut self) -> &mut Session {
        self.session
            .as_mut()
            .expect("the conductor prepares a run before it asks of it")
    }
}

impl Drop for LocalHost {
    fn drop(&mut self) {
        // The run was cut off, and nobody waits for what is in flight.
        leave_open(self.open.take());
    }
}

/// Keeps the files of a run open until the process ends: to close the file of a device that hangs waits for the device,
/// in the kernel, where no signal ends it.
fn leave_open(open: Option<OpenTargets>) {
    std::mem::forget(open);
}

impl Clock for LocalHost {
    fn now_ns(&self) -> u64 {
        self.lead.now_ns()
    }

    fn unix_ns(&self, at_ns: u64) -> u64 {
        self.lead.unix_ns(at_ns)
    }

    fn wait_until(&mut self, until_ns: u64, control: &Control) {
        self.lead.wait_until(until_ns, control);
    }
}

impl Commands for LocalHost {
    fn command(
        &mut self,
        call: &CommandCall<'_>,
        control: &Control,
        said: &mut dyn FnMut(&str),
    ) -> CommandEnd {
        self.lead.command(call, control, said)
    }
}

impl Host for LocalHost {
    fn prepare(&mut self, plan: &BoundPlan, run: &BoundRun, point: &SetPoint) {
        self.session = None;
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        if let Some(keeper) = self.keeper.as_mut().filter(|_| is_first) {
            keeper.begin();
        }
        self.refusal = self.set_up(plan, run, point).err();
    }

    fn prepared(&mut self) -> Answer<Prepared> {
        if let Some(refusal) = self.refusal.take() {
            return Answer::Never(refusal);
        }
        let session = self.session();
        Answer::Told(Prepared {
            workers: session.workers(),
            shortfall: session.shortfall().map(str::to_owned),
            start_bound_ns: 0,
        })
    }

    fn start(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
        self.session().start(start_ns);
    }

    fn stop_at(&mut self, stop_ns: u64) {
        self.session().stop_at(stop_ns);
    }

    fn is_done(&mut self) -> Answer<bool> {
        Answer::Told(self.session().is_done())
    }

    fn fatal(&mut self) -> Option<HostError> {
        let fatal = self.session().take_fatal().map(|error| refused(&error));
        let unclosed = |error| HostError::Refused(format!("flushing a target failed: {error}"));
        fatal.or_else(|| self.close_error.take().map(unclosed))
    }

    fn collect(&mut self, number: u64, end_ns: u64) -> Answer<HostInterval> {
        // Who reads many at once, as after a stop of the process, has waited for the first of them.
        if self.now_ns().saturating_sub(self.collected_ns) >= GRACE_NS {
            std::thread::sleep(Duration::from_nanos(GRACE_NS));
        }
        self.collected_ns = self.now_ns();
        let mut collected = self.session().collector().collect(number, end_ns);
        self.tell_pauses(&mut collected);
        Answer::Told(HostInterval {
            collected,
            sample: Some(self.sampler.sample()),
            ..HostInterval::default()
        })
    }

    fn finish(&mut self, number: u64, end_ns: u64, control: &Control) -> Answer<Ended> {
        let drain_ns = self.drain_ns;
        let session = self.session();
        let mut drained = session.drain(drain_ns, || control.is_urgent());
        let mut collected = session.collector().collect_last(number, end_ns);
        let (scheduled, submitted) = session.collector().totals();
        let held_back_by = session.collector().held_back_by();
        let never_warm = session.collector().never_warm(end_ns);
        let begun_late_ns = session.begun_late_ns();
        self.tell_pauses(&mut collected);
        self.heartbeat = None;
        let log_waits = self.end_logging();
        let openings = self.open.as_ref().map_or(0, OpenTargets::openings);
        match drained.has_given_up() {
            true => leave_open(self.open.take()),
            false => drained.is_unclosed = !self.close(control),
        }
        self.is_stuck = drained.has_given_up();
        if let (Some(keeper), Some(run)) = (&mut self.keeper, self.run) {
            keeper.end_run(run);
        }
        Answer::Told(Ended {
            last: HostInterval {
                collected,
                sample: Some(self.sampler.sample()),
                ..HostInterval::default()
            },
            drained,
            scheduled,
            submitted,
            openings,
            log_waits,
            held_back_by,
            never_warm,
            starts: vec![HostStart {
                late_ns: begun_late_ns,
                ..HostStart::default()
            }],
        })
    }

    fn failures(&mut self) -> Failures {
        let (mut listed, unlisted) = self.session().take_failures();
        let mut told = BTreeSet::new();
        for failure in &mut listed {
            // One denial of a stream tells it all, and each costs a look at the file.
            if !told.contains(&failure.stream) {
                failure.denial = self.denial(failure);
                told.extend(failure.denial.as_ref().map(|_| failure.stream));
            }
        }
        Failures { listed, unlisted }
    }

    fn outstanding(&mut self) -> Answer<Vec<Outstanding>> {
        let now_ns = self.now_ns();
        Answer::Told(self.session().collector().outstanding(now_ns))
    }

    fn data_written(&mut self) -> Answer<Vec<DataFigures>> {
        Answer::Told(self.session().data_written())
    }

    fn retire(&mut self, streams: &[usize], have_failed: bool) {
        self.session().retire(streams, have_failed);
    }

    fn leave(&mut self, is_whole: bool) -> Left {
        let Some(mut keeper) = self.keeper.take().filter(|_| self.has_begun) else {
            return Left::default();
        };
        // A run that was cut off may still write.
        self.session = None;
        leave_open(self.open.take());
        keeper.leave(is_whole, self.is_stuck)
    }
}

fn has_owner(stream: &Stream) -> bool {
    stream.flow.placement.owner.is_some()
}

/// Why a run did not get its files. What another user may do is not known here.
fn not_opened(error: &OpenError, run: &BoundRun) -> HostError {
    let is_ours = !run.run.streams.iter().any(has_owner);
    match error {
        OpenError::Io { path, error, .. } if is_ours => {
            let denial = host::rights::denial_of_opening(path, error);
            denial.map(|denial| format!("`{}` cannot be opened: {denial}", path.display()))
        }
        _ => None,
    }
    .map_or_else(|| refused(error), HostError::Refused)
}

fn refused(error: &dyn std::fmt::Display) -> HostError {
    HostError::Refused(error.to_string())
}
