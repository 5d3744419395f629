//! `fathom agent`: this machine does its part of a job that another one leads, over a pair of pipes.
use crate::descriptors::{self, Descriptors};
use crate::exit::{Exit, fail};
use crate::printing;
use crate::records::Records;
use crate::refusals::{is_unusable, refusal_text};
use crate::standing;
use crate::{lints, machine, removal, written_states};
use conduct::machine::Approach;
use conduct::{Left, LocalHost, OperationSink};
use door::Grants;
use engine::{BackendChoice, BackendKind, Generations, WorkerRule};
use fleet::{Examined, Machine, Order, Ready, Refusal, StatesOfRun};
use host::guard::{Overwrite, Refused};
use host::{Storage, SysRoot};
use lang::Language;
use measure::HostId;
use plan::{BoundPlan, Diagnostic, Facts, Plan, RunId, Stream, TargetId};
use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;

/// Serves until the line ends.
pub fn main() -> Exit {
    // It was started by a descriptor, whose number would be its name.
    let _ = sys::thread::set_name("fathom");
    let mut out = match printing::Channel::Out.descriptor() {
        Ok(descriptor) => std::fs::File::from(descriptor),
        Err(error) => return fail(Exit::Failed, &error.to_string()),
    };
    if out
        .write_all(fleet::MARK)
        .and_then(|()| out.flush())
        .is_err()
    {
        return Exit::Failed;
    }
    match fleet::serve(Here::default(), std::io::stdin(), out) {
        Ok(_) => Exit::Fine,
        Err(error) => fail(Exit::Failed, &error.to_string()),
    }
}

/// The machine that this process is on.
#[derive(Default)]
struct Here {
    looked_at: Option<LookedAt>,
    /// What is kept of what was written, once nothing is written any more.
    kept: Option<(Records, Arc<Grants>)>,
    /// What was written, by target.
    generations: Option<Generations>,
    /// Whether a run may have written.
    has_begun: bool,
}

/// What was found before anything is granted.
struct LookedAt {
    /// Where targets of other hosts are nothing.
    plan: BoundPlan,
    choice: BackendChoice,
    descriptors: Descriptors,
    /// Where storage is reached.
    approach: Option<Approach>,
}

fn misfit(message: String) -> Refusal {
    Refusal {
        lines: vec![message],
        ..Refusal::default()
    }
}

impl Machine for Here {
    type Host = LocalHost;

    fn facts(&mut self, plan: &Plan, host: HostId) -> Facts {
        let seen = plan.seen_from(Some(host as usize));
        conduct::machine::facts(&seen, &Storage::real())
    }

    fn examine(&mut self, order: &Order) -> Result<Examined, Refusal> {
        let root = SysRoot::real();
        let mut plan = BoundPlan::clone(&order.plan);
        plan.plan = plan.plan.seen_from(Some(order.host as usize));
        let missing = machine::not_built(&plan);
        if !missing.is_empty() {
            let lines = missing.into_iter().map(|one| one.message).collect();
            return Err(Refusal {
                lines,
                ..Refusal::default()
            });
        }
        let choice = machine::backend(&plan, order.backend.as_deref()).map_err(misfit)?;
        conduct::machine::check_demands(&plan, choice.kind, &root).map_err(misfit)?;
        let reaches = !matches!(choice.kind, BackendKind::Null | BackendKind::Sim);
        let rule = machine::worker_rule(order.workers);
        let found = lints(order, &plan, &choice, rule)?;
        let descriptors = match reaches {
            true => descriptors::share_out(&plan, &choice, rule, &root).map_err(misfit)?,
            false => Descriptors::UNLIMITED,
        };
        let approach = reaches.then(|| Approach::new(&plan, &root, descriptors.for_claims));
        let overwrite = words(&order.overwrite)?;
        let unused = match &approach {
            Some(approach) => host::guard::unused_words(&approach.examinations, &overwrite),
            None => order.overwrite.clone(),
        };
        self.looked_at = Some(LookedAt {
            plan,
            choice,
            descriptors,
            approach,
        });
        Ok(Examined { unused, found })
    }

    fn grant(
        &mut self,
        order: &Order,
        overwrite: &[String],
        operations: Option<Box<dyn OperationSink>>,
    ) -> Result<(Ready, LocalHost), Refusal> {
        let examined = self.looked_at.take();
        let examined = examined.ok_or_else(|| misfit("nothing was examined".to_owned()))?;
        let mut notes = Vec::new();
        let (grants, records) = match &examined.approach {
            None => (Grants::none(), Records::default()),
            Some(approach) => grants(order, &examined.plan, approach, overwrite, &mut notes)?,
        };
        let grants = Arc::new(grants);
        let (ready, host) = ready(order, &examined, &grants, notes);
        self.generations = Some(host.generations());
        self.kept = Some((records, grants));
        let host = match operations {
            Some(sink) => host.with_operations(sink),
            None => host,
        };
        Ok((ready, host))
    }

    fn states(&mut self, order: &Order, run: RunId) -> StatesOfRun {
        let plan = &order.plan;
        let is_mine = |stream: &Stream| plan.plan.host_of(stream) == Some(order.host as usize);
        let generations = self.generations.as_ref();
        generations.map_or_else(StatesOfRun::new, |generations| {
            written_states::written(generations, plan, &plan.run(run), is_mine)
        })
    }

    fn begin(&mut self, _order: &Order) {
        if let Some((records, grants)) = &self.kept {
            records.announce(&SysRoot::real(), grants);
        }
        self.has_begun = true;
    }

    fn leave(&mut self, order: &Order, host: LocalHost, is_stuck: bool) -> Left {
        // Closes what is open.
        drop(host);
        let Some((records, grants)) = self.kept.take() else {
            return Left::default();
        };
        let notes = match is_stuck {
            true => Vec::new(),
            false => removal::remove_made(&order.plan, &grants),
        };
        if self.has_begun {
            records.keep_parts(&SysRoot::real(), &grants);
        }
        Left {
            notes,
            refused: grants.door().refused().map(str::to_owned),
        }
    }
}

/// What lints say of this machine's part. Those at the level of errors refuse nothing here: the one that leads prints them
/// at the words that they are about.
fn lints(
    order: &Order,
    plan: &BoundPlan,
    choice: &BackendChoice,
    rule: WorkerRule,
) -> Result<Vec<Diagnostic>, Refusal> {
    let selection = lints::selection(&order.lints).map_err(misfit)?;
    let language = (Language::of(&order.language), &selection);
    let folder = order.results.as_deref();
    let storage = Storage::real();
    Ok(lints::judge(plan, choice, rule, folder, language, &storage))
}

fn words(words: &[String]) -> Result<Overwrite, Refusal> {
    Overwrite::from_arguments(words).map_err(|error| misfit(error.to_string()))
}

fn grants(
    order: &Order,
    plan: &BoundPlan,
    approach: &Approach,
    overwrite: &[String],
    notes: &mut Vec<String>,
) -> Result<(Grants, Records), Refusal> {
    let examinations = &approach.examinations;
    let mut overwrite = words(overwrite)?;
    let passed = standing::let_pass(&plan.plan, examinations, &mut overwrite).map_err(misfit)?;
    notes.extend(passed.told());
    let granted = approach.grants(&overwrite);
    let granted = granted.map_err(|refused| refusal(order, plan, refused))?;
    notes.extend(
        host::guard::shortages(examinations)
            .into_iter()
            .map(|shortage| shortage.to_string()),
    );
    Ok((granted, Records::of(plan, examinations)))
}

/// As the one that leads has to say it: a word names the host, too.
fn refusal(order: &Order, plan: &BoundPlan, mut refused: Refused) -> Refusal {
    let host = &plan.plan.hosts[order.host as usize].name;
    for word in refused
        .refusals
        .iter_mut()
        .filter_map(|one| one.word.as_mut())
    {
        *word = format!("{host}:{word}");
    }
    let words = refused.refusals.iter();
    let words = words.filter_map(|one| one.word.clone()).collect();
    let is_guard = !refused.no_space.is_empty() || !refused.refusals.iter().all(is_unusable);
    let texts = refused.refusals.iter();
    let texts = texts.map(|one| refusal_text(one, plan).trim_end().to_owned());
    let room = refused.no_space.iter().map(|one| format!("error: {one}"));
    Refusal {
        lines: texts.chain(room).collect(),
        is_guard,
        words,
    }
}

fn ready(
    order: &Order,
    examined: &LookedAt,
    grants: &Arc<Grants>,
    notes: Vec<String>,
) -> (Ready, LocalHost) {
    let (plan, choice) = (&examined.plan, &examined.choice);
    let told = machine::targets_told(plan, &Storage::real(), examined.approach.is_some());
    let real = |(number, _): &(usize, _)| plan.plan.targets[*number].is_real();
    let targets: Vec<_> = told
        .into_iter()
        .enumerate()
        .filter(real)
        .map(|(number, mut target)| {
            target.host = order.host;
            (TargetId::at(number), target)
        })
        .collect();
    let devices = targets
        .iter()
        .flat_map(|(_, target)| target.identity.devices());
    let devices: BTreeSet<String> = devices.cloned().collect();
    let devices: Vec<String> = devices.into_iter().collect();
    let (backend, backend_reason) = machine::backends_used(plan, choice);
    let facts = host::facts();
    let rule = machine::worker_rule(order.workers);
    let ready = Ready {
        workers: machine::workers_max(plan, choice.backends(), rule, facts.cpus),
        facts,
        targets,
        backend,
        backend_reason,
        notes,
    };
    let clock = sys::clock::Clock::calibrate();
    // Hosts that write to one target must not write the same.
    let nonce = order.nonce ^ u64::from(order.host) << 32;
    let config = machine::engine_config(choice, order.workers, clock, nonce);
    let sampler = host::Sampler::new(&SysRoot::real(), &devices);
    let host = LocalHost::new(config, Arc::clone(grants), sampler)
        .with_descriptors(examined.descriptors.for_runs);
    (ready, host)
}
