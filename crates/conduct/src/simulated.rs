//! A [`Host`] in simulated time: exact and repeatable.
use crate::{
    Answer, Clock, CommandCall, CommandEnd, Commands, Control, Host, HostError, Prepared, SetPoint,
};
use engine::sim::{ModelFiles, Script, Simulation};
use measure::{
    Collected, DataFigures, Drained, Ended, Failures, HostInterval, HostSample, Outstanding,
};
use plan::{BoundPlan, BoundRun};

/// Time starts here; zero means "free" in slot tables, so it is no valid time.
const EPOCH_NS: u64 = 1_000_000_000;

/// A drain gives up after this much simulated time.
const DRAIN_NS: u64 = 30_000_000_000;

/// Simulated storage on a simulated machine.
pub struct SimulatedHost {
    script: Script,
    workers: u32,
    now_ns: u64,
    simulation: Option<Simulation>,
    is_started: bool,
    /// Why there is none.
    refusal: Option<HostError>,
    files: Option<ModelFiles>,
}

impl SimulatedHost {
    pub fn new(script: Script, workers: u32) -> Self {
        Self {
            script,
            workers,
            now_ns: EPOCH_NS,
            simulation: None,
            is_started: false,
            refusal: None,
            files: None,
        }
    }

    /// The same with files in a model of a file system, where the targets of a plan are files or devices. What they hold
    /// is what operations have written.
    #[must_use]
    pub fn with_files(self, files: ModelFiles) -> Self {
        Self {
            files: Some(files),
            ..self
        }
    }

    fn simulation(&mut self) -> &mut Simulation {
        self.simulation
            .as_mut()
            .expect("the conductor prepares a run before it asks of it")
    }

    fn pass_until(&mut self, until_ns: u64) {
        match &mut self.simulation {
            Some(simulation) if self.is_started => {
                simulation.run_until(until_ns);
                self.now_ns = simulation.now_ns();
            }
            // A run that is set up does nothing until it is started.
            _ => self.now_ns = self.now_ns.max(until_ns),
        }
    }
}

impl Clock for SimulatedHost {
    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn unix_ns(&self, at_ns: u64) -> u64 {
        at_ns
    }

    fn wait_until(&mut self, until_ns: u64, control: &Control) {
        if !control.is_stopping() {
            self.pass_until(until_ns);
        }
    }
}

impl Commands for SimulatedHost {
    /// A simulation changes nothing, and a command might.
    fn command(
        &mut self,
        call: &CommandCall<'_>,
        _control: &Control,
        said: &mut dyn FnMut(&str),
    ) -> CommandEnd {
        said(&format!("simulated: {}", call.text));
        CommandEnd::Exited(0)
    }
}

impl Host for SimulatedHost {
    fn prepare(&mut self, plan: &BoundPlan, run: &BoundRun, point: &SetPoint) {
        self.simulation = None;
        self.is_started = false;
        let files = self.files.as_ref().map(|files| files.open(plan, run));
        let files = match files.transpose() {
            Ok(files) => files,
            Err(error) => {
                self.refusal = Some(HostError::Refused(error.to_string()));
                return;
            }
        };
        let shares = point.shares_pct.as_deref();
        let script = self.script.clone();
        let simulation = Simulation::prepare(
            plan,
            run,
            point.rate,
            shares,
            self.workers,
            script,
            self.now_ns,
        );
        self.simulation = Some(match files {
            Some(files) => simulation.with_files(files),
            None => simulation,
        });
    }

    fn prepared(&mut self) -> Answer<Prepared> {
        match self.refusal.take() {
            Some(refusal) => Answer::Never(refusal),
            // The number of workers must not show in what a simulation reports.
            None => Answer::Told(Prepared {
                workers: 1,
                shortfall: None,
                start_bound_ns: 0,
            }),
        }
    }

    fn start(&mut self, start_ns: u64) {
        self.simulation().start(start_ns);
        self.is_started = true;
    }

    fn stop_at(&mut self, stop_ns: u64) {
        self.simulation().stop_at(stop_ns);
    }

    fn is_done(&mut self) -> Answer<bool> {
        Answer::Told(self.simulation().is_done())
    }

    fn fatal(&mut self) -> Option<HostError> {
        None
    }

    fn collect(&mut self, number: u64, end_ns: u64) -> Answer<HostInterval> {
        let collected = self.simulation().collector().collect(number, end_ns);
        Answer::Told(canonical(collected))
    }

    fn finish(&mut self, number: u64, end_ns: u64, _control: &Control) -> Answer<Ended> {
        let begun_ns = self.now_ns;
        // In small steps, so that the drain's length is known to a step.
        while self.simulation().in_flight() > 0 && self.now_ns < begun_ns + DRAIN_NS {
            self.pass_until(self.now_ns + 100_000);
        }
        let now_ns = self.now_ns;
        let simulation = self.simulation();
        let last = canonical(simulation.collector().collect_last(number, end_ns));
        let (scheduled, submitted) = simulation.collector().totals();
        let outstanding = simulation.collector().outstanding(now_ns);
        let late = simulation.collector().late();
        let held_back_by = simulation.collector().held_back_by();
        let never_warm = simulation.collector().never_warm(end_ns);
        if outstanding.is_empty() {
            simulation.close();
        }
        Answer::Told(Ended {
            last,
            drained: Drained {
                drain_ns: now_ns - begun_ns,
                outstanding,
                late,
                ..Drained::default()
            },
            scheduled,
            submitted,
            held_back_by,
            never_warm,
            ..Ended::default()
        })
    }

    fn failures(&mut self) -> Failures {
        let (mut listed, unlisted) = self.simulation().take_failures();
        listed.iter_mut().for_each(|failure| failure.worker = None);
        Failures { listed, unlisted }
    }

    fn outstanding(&mut self) -> Answer<Vec<Outstanding>> {
        let now_ns = self.now_ns;
        Answer::Told(self.simulation().collector().outstanding(now_ns))
    }

    fn data_written(&mut self) -> Answer<Vec<DataFigures>> {
        // Which transfers are sampled depends on the workers, whose number must not show.
        Answer::Told(Vec::new())
    }

    fn retire(&mut self, streams: &[usize], have_failed: bool) {
        self.simulation().retire(streams, have_failed);
    }
}

/// How the engine was carried out does not belong to what a simulation says.
fn canonical(mut collected: Collected) -> HostInterval {
    collected.engine.workers = measure::WorkerSample::default();
    for host in &mut collected.engine.hosts {
        host.workers.clear();
    }
    HostInterval {
        collected,
        sample: Some(HostSample::default()),
        ..HostInterval::default()
    }
}
