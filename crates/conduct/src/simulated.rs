//! A [`Host`] in simulated time: exact and repeatable.
use crate::{CommandCall, CommandEnd, Control, Host, HostError, SetPoint};
use engine::sim::{ModelFiles, Script, Simulation};
use measure::{Collected, Drained, Failure, HostSample};
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
    files: Option<ModelFiles>,
}

impl SimulatedHost {
    pub fn new(script: Script, workers: u32) -> Self {
        Self {
            script,
            workers,
            now_ns: EPOCH_NS,
            simulation: None,
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
            Some(simulation) => {
                simulation.run_until(until_ns);
                self.now_ns = simulation.now_ns();
            }
            None => self.now_ns = self.now_ns.max(until_ns),
        }
    }
}

impl Host for SimulatedHost {
    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn unix_ns(&self, at_ns: u64) -> u64 {
        at_ns
    }

    fn prepare(
        &mut self,
        plan: &BoundPlan,
        run: &BoundRun,
        point: &SetPoint,
    ) -> Result<(), HostError> {
        self.simulation = None;
        let files = self.files.as_ref().map(|files| files.open(plan, run));
        let files = files.transpose().map_err(HostError::Open)?;
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
        Ok(())
    }

    fn start(&mut self, start_ns: u64) {
        self.simulation().start(start_ns);
    }

    fn wait_until(&mut self, until_ns: u64, control: &Control) {
        if !control.is_stopping() {
            self.pass_until(until_ns);
        }
    }

    fn stop_at(&mut self, stop_ns: u64) {
        self.simulation().stop_at(stop_ns);
    }

    fn is_done(&mut self) -> bool {
        self.simulation().is_done()
    }

    fn fatal(&mut self) -> Option<HostError> {
        None
    }

    fn collect(&mut self, number: u64, end_ns: u64) -> Collected {
        canonical(self.simulation().collector().collect(number, end_ns))
    }

    fn finish(&mut self, number: u64, end_ns: u64, _control: &Control) -> (Collected, Drained) {
        let begun_ns = self.now_ns;
        // In small steps, so that the drain's length is known to a step.
        while self.simulation().in_flight() > 0 && self.now_ns < begun_ns + DRAIN_NS {
            self.pass_until(self.now_ns + 100_000);
        }
        let now_ns = self.now_ns;
        let simulation = self.simulation();
        let collected = canonical(simulation.collector().collect_last(number, end_ns));
        let outstanding = simulation.collector().outstanding(now_ns);
        let late = simulation.collector().late();
        if outstanding.is_empty() {
            simulation.close();
        }
        (
            collected,
            Drained {
                drain_ns: now_ns - begun_ns,
                outstanding,
                late,
                ..Drained::default()
            },
        )
    }

    fn arrivals(&mut self) -> (u64, u64) {
        self.simulation().collector().totals()
    }

    fn failures(&mut self) -> (Vec<Failure>, u64) {
        self.simulation().take_failures()
    }

    fn outstanding(&mut self) -> Vec<measure::Outstanding> {
        let now_ns = self.now_ns;
        self.simulation().collector().outstanding(now_ns)
    }

    fn data_written(&mut self) -> Vec<measure::DataFigures> {
        // Which transfers are sampled depends on the workers, whose number must not show.
        Vec::new()
    }

    fn sample(&mut self) -> HostSample {
        HostSample::default()
    }

    fn retire(&mut self, streams: &[usize], have_failed: bool) {
        self.simulation().retire(streams, have_failed);
    }

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

    fn workers(&self) -> u32 {
        // The number of workers must not show in what a simulation reports.
        1
    }
}

/// How the engine was carried out does not belong to what a simulation says.
fn canonical(mut collected: Collected) -> Collected {
    collected.engine.workers = measure::WorkerSample::default();
    collected
}
