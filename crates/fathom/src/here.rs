//! This machine, asked for its part of a job: in the same steps whether it leads or another one does.
use crate::descriptors::{self, Descriptors};
use crate::records::Records;
use crate::{fill, lints, machine, refusals, removal, standing, written_states};
use conduct::machine::{Approach, Examined, Machine, Order, Ready, Refusal, RunNeeds, States};
use conduct::{CommandSettings, Crew, Keeper, Left, LocalHost, OperationSink, SimulatedHost};
use door::Grants;
use engine::{BackendChoice, BackendKind, EngineConfig, Generations};
use fleet::OnSite;
use host::guard::Overwrite;
use host::{Storage, SysRoot};
use lang::Language;
use measure::HostId;
use plan::{BoundPlan, Diagnostic, Facts, Fills, Plan, RunId, Severity, Stream, TargetId};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use sys::clock::Clock;

/// The machine that this process is on.
pub struct Here {
    clock: Clock,
    looked_at: Option<LookedAt>,
    granted: Option<Granted>,
}

/// What was found before anything is granted.
struct LookedAt {
    order: Order,
    /// Where targets of other hosts are nothing.
    plan: Arc<BoundPlan>,
    choice: BackendChoice,
    needs: Vec<RunNeeds>,
    descriptors: Descriptors,
    /// Where storage is reached.
    approach: Option<Approach>,
}

fn reaches_storage(choice: &BackendChoice) -> bool {
    !matches!(choice.kind, BackendKind::Null | BackendKind::Sim)
}

/// What a machine has granted.
struct Granted {
    looked_at: LookedAt,
    grants: Arc<Grants>,
    records: Records,
    config: EngineConfig,
    /// Whose counters are read.
    devices: Vec<String>,
}

impl Here {
    /// With the clock of the execution.
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            looked_at: None,
            granted: None,
        }
    }

    /// The machine as all that an execution needs, where it leads itself.
    pub fn into_crew(
        self,
        commands: CommandSettings,
        operations: Option<Box<dyn OperationSink>>,
        states: States,
    ) -> Box<dyn Crew> {
        let order = self.granted.as_ref().map(|granted| &granted.looked_at);
        if let Some(one) = order.filter(|one| one.choice.kind == BackendKind::Sim) {
            let script = engine::sim::Script::default();
            return Box::new(SimulatedHost::new(script, one.order.workers.unwrap_or(1)));
        }
        Box::new(self.into_host(operations, states).with_commands(commands))
    }
}

impl Machine for Here {
    fn facts(&mut self, plan: &Plan, host: HostId) -> Result<Facts, Refusal> {
        let storage = Storage::real();
        Ok(match plan.is_spread() {
            true => conduct::machine::facts(&plan.seen_from(Some(host as usize)), &storage),
            false => conduct::machine::facts(plan, &storage),
        })
    }

    fn examine(&mut self, order: &Order) -> Result<Examined, Refusal> {
        let root = SysRoot::real();
        let plan = seen(order, &order.plan);
        let choice = machine::backend(&plan, order.backend.as_deref()).map_err(Refusal::misfit)?;
        let reaches = reaches_storage(&choice);
        let needs = needs(order, &plan, &choice);
        let workers = machine::workers_max(&needs);
        let found = lints(order, &plan, &choice, workers)?;
        let both = (&*plan, &*needs);
        let demands = conduct::machine::check_demands(both, choice.kind, &root);
        let descriptors = demands.and_then(|()| match reaches {
            true => descriptors::share_out(both, &root),
            false => Ok(Descriptors::UNLIMITED),
        });
        let is_error = |one: &&Diagnostic| one.severity == Severity::Error;
        let errors: Vec<Diagnostic> = found.iter().filter(is_error).cloned().collect();
        let descriptors = match (descriptors, errors.is_empty()) {
            (Ok(descriptors), true) => descriptors,
            // The targets are not looked at.
            (descriptors, _) => {
                let refusal = descriptors.err().map(Refusal::misfit).unwrap_or_default();
                return Err(Refusal {
                    found: errors,
                    ..refusal
                });
            }
        };
        let approach = reaches.then(|| Approach::new(&plan, &root, descriptors.for_claims));
        let overwrite = words(&order.overwrite)?;
        let unused = match &approach {
            Some(approach) => host::guard::unused_words(&approach.examinations, &overwrite),
            None => order.overwrite.clone(),
        };
        self.looked_at = Some(LookedAt {
            order: order.clone(),
            plan,
            choice,
            needs,
            descriptors,
            approach,
        });
        Ok(Examined {
            unused,
            reaches_storage: reaches,
            found,
        })
    }

    fn grant(&mut self, overwrite: &[String]) -> Result<Ready, Refusal> {
        let looked_at = self.looked_at.take();
        let looked_at = looked_at.ok_or_else(|| Refusal::misfit("nothing was examined"))?;
        let mut ready = Ready::default();
        let (grants, records) = match &looked_at.approach {
            None => (Grants::none(), Records::default()),
            Some(approach) => grants(&looked_at, approach, overwrite, &mut ready)?,
        };
        if let Some(note) = looked_at.descriptors.note() {
            ready.notes.push((Severity::Note, note));
        }
        tell(&looked_at, &mut ready);
        let targets = ready.targets.iter();
        let devices = targets.flat_map(|(_, target)| target.identity.devices());
        let devices: BTreeSet<String> = devices.cloned().collect();
        let order = &looked_at.order;
        // Hosts that write to one target must not write the same.
        let nonce = order.nonce ^ u64::from(order.host) << 32;
        self.granted = Some(Granted {
            config: machine::engine_config(&looked_at.choice, order.workers, self.clock, nonce),
            grants: Arc::new(grants),
            records,
            devices: devices.into_iter().collect(),
            looked_at,
        });
        Ok(ready)
    }
}

impl OnSite for Here {
    type Host = LocalHost;

    fn into_host(self, operations: Option<Box<dyn OperationSink>>, states: States) -> LocalHost {
        let granted = self.granted.expect("a machine grants before it works");
        let sampler = host::Sampler::new(&SysRoot::real(), &granted.devices);
        let host = LocalHost::new(granted.config, Arc::clone(&granted.grants), sampler)
            .with_descriptors(granted.looked_at.descriptors.for_runs);
        let host = match operations {
            Some(sink) => host.with_operations(sink),
            None => host,
        };
        let kept = Kept {
            generations: host.generations(),
            order: granted.looked_at.order,
            seen: granted.looked_at.plan,
            grants: granted.grants,
            records: granted.records,
            states,
        };
        host.with_keeper(Box::new(kept))
    }
}

/// The plan where targets of other hosts are nothing.
fn seen(order: &Order, whole: &Arc<BoundPlan>) -> Arc<BoundPlan> {
    if !whole.plan.is_spread() {
        return Arc::clone(whole);
    }
    let mut plan = BoundPlan::clone(whole);
    plan.plan = plan.plan.seen_from(Some(order.host as usize));
    Arc::new(plan)
}

/// What lints say of this machine's part.
fn lints(
    order: &Order,
    plan: &BoundPlan,
    choice: &BackendChoice,
    workers: u32,
) -> Result<Vec<Diagnostic>, Refusal> {
    let selection = lints::selection(&order.lints).map_err(Refusal::misfit)?;
    let language = (Language::of(&order.language), &selection);
    let folder = order.results.as_deref();
    let storage = Storage::real();
    Ok(lints::judge(
        plan, choice, workers, folder, language, &storage,
    ))
}

fn words(words: &[String]) -> Result<Overwrite, Refusal> {
    Overwrite::from_arguments(words).map_err(|error| Refusal::misfit(error.to_string()))
}

fn grants(
    looked_at: &LookedAt,
    approach: &Approach,
    overwrite: &[String],
    ready: &mut Ready,
) -> Result<(Grants, Records), Refusal> {
    let (plan, examinations) = (&looked_at.plan, &approach.examinations);
    let mut overwrite = words(overwrite)?;
    let passed = standing::let_pass(&plan.plan, examinations, &mut overwrite);
    let passed = passed.map_err(Refusal::misfit)?;
    let granted = approach.grants(&overwrite);
    let order = &looked_at.order;
    let host = plan.plan.hosts.get(order.host as usize);
    let host = host.filter(|_| plan.plan.is_spread());
    let doubt = passed.doubt().map(|text| (Severity::Note, text.to_owned()));
    let granted = granted.map_err(|refused| Refusal {
        notes: doubt.clone().into_iter().collect(),
        reasons: refusals::reasons(&refused, plan, host.map(|host| &*host.name)),
        ..Refusal::default()
    })?;
    let told = passed.told().map(|text| (Severity::Note, text));
    ready.notes.extend(doubt.into_iter().chain(told));
    ready.passed = passed.messages();
    // What is borne is all that is left of them.
    let shortages = host::guard::shortages(examinations).into_iter();
    let shortages = shortages.map(|shortage| (Severity::Warning, shortage.to_string()));
    ready.notes.extend(shortages);
    let unheld = granted.door().unheld();
    if unheld > 0 {
        // They are locked for the sake of other executions.
        let text = format!(
            "{unheld} files are not locked against other Fathom processes: too many open files"
        );
        ready.notes.push((Severity::Note, text));
    }
    Ok((granted, Records::of(plan, examinations)))
}

/// What this machine is and has.
fn tell(looked_at: &LookedAt, ready: &mut Ready) {
    let (plan, choice) = (&looked_at.plan, &looked_at.choice);
    let host = looked_at.order.host;
    let told = machine::targets_told(plan, &Storage::real(), looked_at.approach.is_some());
    let whole = &looked_at.order.plan.plan;
    let name = whole.hosts.get(host as usize).map(|host| &host.name);
    let is_mine =
        |(number, _): &(usize, _)| !whole.is_spread() || name == Some(&whole.targets[*number].host);
    let targets = told.into_iter().enumerate().filter(is_mine);
    ready.targets = targets
        .map(|(number, mut target)| {
            target.host = host;
            (TargetId::at(number), target)
        })
        .collect();
    ready.facts = host::facts();
    let order = &looked_at.order;
    let earlier = order.earlier.as_ref();
    let earlier = earlier.map(|earlier| needs(order, &seen(order, earlier), choice));
    let needs = earlier.as_ref().unwrap_or(&looked_at.needs);
    (ready.backend, ready.backend_reason) = machine::backends_used(needs, choice);
    ready.workers = machine::workers_max(needs);
    let used = |why: &&String| ready.backend_reason.contains(*why);
    if let Some(why) = choice.fallback.as_ref().filter(used) {
        let text = format!("{why}; `{}` is used in its place", choice.kind);
        ready.notes.push((Severity::Note, text));
    }
}

fn needs(order: &Order, plan: &BoundPlan, choice: &BackendChoice) -> Vec<RunNeeds> {
    let (rule, cpus) = (machine::worker_rule(order.workers), host::facts().cpus);
    conduct::machine::needs(plan, choice.backends(), rule, cpus)
}

/// What is kept of what this machine writes, and taken away again.
struct Kept {
    order: Order,
    /// Where targets of other hosts are nothing.
    seen: Arc<BoundPlan>,
    grants: Arc<Grants>,
    records: Records,
    generations: Generations,
    states: States,
}

impl Keeper for Kept {
    fn begin(&mut self) {
        self.records.announce(&SysRoot::real(), &self.grants);
    }

    fn end_run(&mut self, run: RunId) {
        let plan = &self.order.plan;
        let host = self.order.host as usize;
        let is_mine =
            |stream: &Stream| !plan.plan.is_spread() || plan.plan.host_of(stream) == Some(host);
        let run = plan.run(run);
        let written = written_states::written(&self.generations, plan, &run, is_mine);
        self.states.add(written);
    }

    fn leave(&mut self, is_whole: bool, is_stuck: bool) -> Left {
        if is_stuck {
            return self.leave_untouched();
        }
        let fills = self.fills();
        let mut left = Left {
            displaced: fill::are_in_place(&self.seen, &fills, &self.grants).err(),
            ..Left::default()
        };
        if is_whole && left.displaced.is_none() {
            left.fills = fills.iter().map(fill::found).collect();
        }
        left.notes = removal::remove_made(&self.seen, &self.grants);
        let kept = self.records.keep(&SysRoot::real(), &self.grants, is_whole);
        left.notes.extend(kept.err().map(|failures| {
            let text = unrecorded(&failures);
            (Severity::Note, text)
        }));
        left.refused = self.grants.door().refused().map(str::to_owned);
        left
    }
}

impl Kept {
    /// What the runs are to fill and to flush, where something is written.
    fn fills(&self) -> Vec<fill::Fill> {
        let is_asked = self.seen.plan.fills == Fills::Flushed;
        match self.grants.is_empty() || !is_asked {
            true => Vec::new(),
            false => fill::fills(&self.seen),
        }
    }

    /// Says what is not done any more where targets no longer answer.
    fn leave_untouched(&self) -> Left {
        let skipped = [
            (
                !self.seen.plan.steering.remove_made.is_empty(),
                "files that this run created are not removed",
            ),
            (!self.records.is_empty(), "what was written is not recorded"),
            (!self.fills().is_empty(), "what was filled is not read back"),
        ];
        let skipped = skipped.into_iter().filter(|(is_due, _)| *is_due);
        let skipped: Vec<_> = skipped.map(|(_, what)| what).collect();
        let text = format!(
            "the storage does not answer, so Fathom no longer touches the targets: {}",
            skipped.join("; ")
        );
        let is_told = !skipped.is_empty();
        Left {
            notes: is_told
                .then_some((Severity::Note, text))
                .into_iter()
                .collect(),
            refused: self.grants.door().refused().map(str::to_owned),
            ..Left::default()
        }
    }
}

/// One line for all targets of which what was written cannot be recorded.
fn unrecorded(failures: &[(PathBuf, std::io::Error)]) -> String {
    let Some((path, error)) = failures.first() else {
        return String::new();
    };
    let more = match failures.len() {
        1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    format!(
        "cannot record what was written to `{}`{more}: {error}; the next run will ask before it overwrites that",
        path.display()
    )
}
