//! Everything that may refuse a job on its machines, before the first file is made: the same steps for the machine that
//! leads alone and for many. All of it is told at once, so what is refused on one machine keeps no other from being asked.
mod shared;
mod whole;
mod words;

use conduct::machine::{Examined, Machine, Order, Ready, Reason, Refusal};
use measure::HostId;
use plan::{
    Alignment, BindError, BoundPlan, Diagnostic, Facts, FoundKind, Plan, Severity, TargetFacts,
};
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
pub use whole::Whole;

/// What the user asks of all machines.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    pub backend: Option<String>,
    pub workers: Option<u32>,
    /// How long a line may be silent.
    pub silence: Duration,
    /// Words of `--overwrite`.
    pub overwrite: Vec<String>,
    /// Whether words that name no target are borne: they may be those of another job.
    pub bears_unused: bool,
    /// The levels of lints, as on the command line, and the language whose words they speak.
    pub lints: Vec<String>,
    pub language: String,
    /// Where the results go.
    pub results: Option<PathBuf>,
    /// The execution that goes on. Its runs keep their numbers, also those that nothing needs any more.
    pub earlier: Option<Arc<BoundPlan>>,
}

/// Machines that are asked, and what stands against the job on them.
pub struct Machines<M> {
    /// By the place of their host in the plan.
    pub all: Vec<(HostId, M)>,
    pub refusals: Vec<(HostId, Refusal)>,
}

/// A job that nothing stands against.
pub struct Settled<M> {
    pub plan: Arc<BoundPlan>,
    pub machines: Vec<(HostId, M)>,
    /// What the machines are together.
    pub whole: Whole,
    /// What lints say of the machines, below the level of errors.
    pub found: Vec<Diagnostic>,
    /// What the user should know of them before the first run.
    pub notes: Vec<(Severity, String)>,
    /// What standing lists let pass, for the record.
    pub passed: Vec<String>,
    /// Words that name no target, where they are borne.
    pub unused: Vec<String>,
}

/// All that stands against a job.
#[derive(Clone, Debug, Default)]
pub struct Refused {
    /// At the words of the user.
    pub diagnostics: Vec<Diagnostic>,
    /// With the name of the host, where there are several.
    pub reasons: Vec<(Option<String>, Reason)>,
    /// What the user should know beside that.
    pub notes: Vec<(Severity, String)>,
    /// Words that name no target; `None` where the targets were not looked at.
    pub unused: Option<Vec<String>>,
}

impl Refused {
    /// The same with what is wrong with the job as a whole.
    fn and(mut self: Box<Self>, text: &str) -> Box<Self> {
        let whole = Refusal::misfit(text).reasons;
        self.reasons
            .extend(whole.into_iter().map(|one| (None, one)));
        self
    }
}

/// Has all machines look at their parts and grant them.
///
/// # Errors
/// Everything that stands against the job on any of them.
pub fn settle<M: Machine + Send>(
    plan: &Plan,
    mut machines: Machines<M>,
    asked: &Asked,
) -> Result<Settled<M>, Box<Refused>> {
    let mut seen = Cow::Borrowed(plan);
    machines.hide_lost(&mut seen);
    let facts = machines.facts(&mut seen);
    let (bound, mut diagnostics) = bind_what_fits(&seen, &facts);
    let Some(mut bound) = bound else {
        return Err(machines.refused(plan, diagnostics, None));
    };
    let fits = diagnostics.is_empty() && machines.refusals.is_empty();
    if bound.runs.is_empty() && fits {
        let refused = machines.refused(plan, diagnostics, None);
        return Err(refused.and("there is nothing to run"));
    }
    if let Some(earlier) = &asked.earlier {
        bound.runs.clone_from(&earlier.runs);
    }
    let bound = Arc::new(bound);
    diagnostics.extend(conduct::machine::not_built(&bound));
    diagnostics.extend(shared::differing(&bound, &facts));
    machines.refusals.extend(shared::checked_twice(&bound));
    let given = words::by_host(&bound.plan, &asked.overwrite);
    let examined = machines.examine(&bound, asked, &given);
    let is_whole = machines.refusals.is_empty() && diagnostics.is_empty();
    let uses = words::Uses::of(&bound.plan, &asked.overwrite, given, &examined);
    let unused = uses.on_no_host();
    let mistyped = unused.first().filter(|_| is_whole && !asked.bears_unused);
    let mistyped = mistyped.map(|word| format!("`--overwrite {word}` names no target of this job"));
    if let Some(text) = uses.doubt().or(mistyped) {
        let refused = machines.refused(plan, diagnostics, Some(unused));
        return Err(refused.and(&text));
    }
    let ready = machines.grant(&uses);
    machines
        .refusals
        .extend(shared::written_twice(&bound, &ready));
    if !machines.refusals.is_empty() || !diagnostics.is_empty() {
        return Err(machines.refused(plan, diagnostics, Some(unused)));
    }
    let name = |host: HostId| name_of(plan, host);
    Ok(Settled {
        notes: told(
            &ready,
            name,
            |ready| ready.notes.clone(),
            |host, (severity, text)| (severity, of_host(host, text)),
        ),
        passed: told(&ready, name, |ready| ready.passed.clone(), of_host),
        whole: Whole::of(&bound, ready),
        plan: bound,
        machines: machines.all,
        found: examined
            .into_iter()
            .flat_map(|(host, one)| judged(plan, host, one.found))
            .collect(),
        unused,
    })
}

/// What all machines told, with the names of their hosts.
fn told<'a, T>(
    ready: &[(HostId, Ready)],
    name: impl Fn(HostId) -> Option<&'a str>,
    of_one: impl Fn(&Ready) -> Vec<T>,
    named: impl Fn(Option<&str>, T) -> T,
) -> Vec<T> {
    let all = ready.iter().flat_map(|(host, one)| {
        let name = name(*host);
        of_one(one).into_iter().map(move |told| (name, told))
    });
    all.map(|(name, told)| named(name, told)).collect()
}

/// The name of a host, where a text has to say which one it is about.
fn name_of(plan: &Plan, host: HostId) -> Option<&str> {
    let host = plan.hosts.get(host as usize).filter(|_| plan.is_spread());
    host.map(|host| host.name.as_str())
}

/// A text about a host, which is named where there are others.
pub(crate) fn of_host(name: Option<&str>, text: String) -> String {
    match name {
        Some(name) => format!("host `{name}`: {text}"),
        None => text,
    }
}

impl<M: Machine + Send> Machines<M> {
    /// What is on hosts of which nothing is known is left out of what is asked of the others.
    fn hide_lost(&self, plan: &mut Cow<'_, Plan>) {
        if self.refusals.is_empty() {
            return;
        }
        let lost: Vec<String> = self
            .refusals
            .iter()
            .map(|(host, _)| *host as usize)
            .filter_map(|host| Some(plan.hosts.get(host)?.name.clone()))
            .collect();
        plan.to_mut().hide(|target| lost.contains(&target.host));
    }

    fn refused(
        self,
        plan: &Plan,
        mut diagnostics: Vec<Diagnostic>,
        unused: Option<Vec<String>>,
    ) -> Box<Refused> {
        let mut notes = Vec::new();
        for (host, refusal) in &self.refusals {
            diagnostics.extend(judged(plan, *host, refusal.found.clone()));
            let told = refusal.notes.iter().cloned();
            let name = name_of(plan, *host);
            notes.extend(told.map(|(severity, text)| (severity, of_host(name, text))));
        }
        let reasons = self.refusals.into_iter().flat_map(|(host, refusal)| {
            let name = name_of(plan, host).map(str::to_owned);
            let reasons = refusal.reasons.into_iter();
            reasons.map(move |reason| (name.clone(), reason))
        });
        Box::new(Refused {
            diagnostics,
            reasons: reasons.collect(),
            notes,
            unused,
        })
    }

    /// Asks all at once; each answers or refuses, and one that refuses is asked nothing more.
    fn ask<T: Send>(
        &mut self,
        ask: impl Fn(HostId, &mut M) -> Result<T, Refusal> + Sync,
    ) -> Vec<(HostId, T)> {
        let answers: Vec<_> = match self.all.as_mut_slice() {
            [(host, only)] => vec![(*host, ask(*host, only))],
            several => std::thread::scope(|scope| {
                let ask = &ask;
                let threads = several.iter_mut().map(|(host, machine)| {
                    let host = *host;
                    (host, scope.spawn(move || ask(host, machine)))
                });
                let threads: Vec<_> = threads.collect();
                let threads = threads.into_iter();
                threads
                    .map(|(host, thread)| {
                        (host, thread.join().expect("asking a host panics nowhere"))
                    })
                    .collect()
            }),
        };
        let mut told = Vec::new();
        for (host, answer) in answers {
            match answer {
                Ok(answer) => told.push((host, answer)),
                Err(refusal) => {
                    self.all.retain(|(one, _)| *one != host);
                    self.refusals.push((host, refusal));
                }
            }
        }
        told
    }

    /// Facts of all targets, each as its host sees it; those of a host that does not tell are nothing from then on.
    fn facts(&mut self, plan: &mut Cow<'_, Plan>) -> Facts {
        let mut told = self.ask(|host, machine| machine.facts(plan, host));
        self.hide_lost(plan);
        if !plan.is_spread() {
            return told.pop().map(|(_, facts)| facts).unwrap_or_default();
        }
        let unknown = TargetFacts {
            found: FoundKind::File,
            bytes: 0,
            alignment: Alignment {
                offset: 1,
                memory: 1,
            },
            ram_backed: false,
        };
        let mut whole = Facts::default();
        for (number, target) in plan.targets.iter().enumerate() {
            let named =
                |(host, _): &&(HostId, Facts)| plan.hosts[*host as usize].name == target.host;
            let facts = told.iter().find(named).map(|(_, facts)| facts);
            let found = facts.and_then(|facts| facts.targets.get(number));
            let same = facts.and_then(|facts| facts.same.get(number));
            whole.targets.push(found.unwrap_or(&unknown).clone());
            whole.same.push(same.cloned().unwrap_or_default());
        }
        whole
    }

    fn examine(
        &mut self,
        plan: &Arc<BoundPlan>,
        asked: &Asked,
        words: &[Vec<String>],
    ) -> Vec<(HostId, Examined)> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let nonce = since.map_or(0, |since| since.as_nanos() as u64);
        let is_here = |host: HostId| {
            let host = plan.plan.hosts.get(host as usize);
            host.is_none_or(|host| host.reach.is_none())
        };
        self.ask(|host, machine| {
            machine.examine(&Order {
                plan: Arc::clone(plan),
                earlier: asked.earlier.clone(),
                host,
                backend: asked.backend.clone(),
                workers: asked.workers,
                silence_ns: asked.silence.as_nanos() as u64,
                nonce: nonce ^ u64::from(std::process::id()) << 40,
                overwrite: words[host as usize].clone(),
                lints: asked.lints.clone(),
                language: asked.language.clone(),
                results: asked.results.clone().filter(|_| is_here(host)),
            })
        })
    }

    fn grant(&mut self, uses: &words::Uses) -> Vec<(HostId, Ready)> {
        self.ask(|host, machine| machine.grant(&uses.granted(host)))
    }
}

/// The plan without targets that do not fit, and what is wrong with those; `None` where that leaves no plan.
fn bind_what_fits(plan: &Plan, facts: &Facts) -> (Option<BoundPlan>, Vec<Diagnostic>) {
    let mut misfits = Vec::new();
    let mut fitting = Cow::Borrowed(plan);
    loop {
        let errors = match plan::bind(Plan::clone(&fitting), facts) {
            Ok(bound) => return (Some(bound), misfits),
            Err(errors) => errors,
        };
        misfits.extend(errors.iter().map(|error| misfit(plan, error)));
        let before = fitting.clone();
        fitting.to_mut().hide(|target| {
            let mut errors = errors.iter();
            errors.any(|error| error.target() == Some(target.name.as_str()))
        });
        if fitting == before {
            return (None, misfits);
        }
    }
}

fn misfit(plan: &Plan, error: &BindError) -> Diagnostic {
    let mut targets = plan.targets.iter();
    let target = targets.find(|target| Some(target.name.as_str()) == error.target());
    let host = target.map(|target| target.host.as_str());
    let mut misfit = error.diagnostic();
    misfit.message = of_host(host.filter(|_| plan.is_spread()), misfit.message);
    misfit
}

/// What lints say of a host, with its name where there are several.
fn judged(plan: &Plan, host: HostId, found: Vec<Diagnostic>) -> impl Iterator<Item = Diagnostic> {
    let name = name_of(plan, host).filter(|_| plan.hosts.len() > 1);
    found.into_iter().map(move |one| Diagnostic {
        message: of_host(name, one.message.clone()),
        ..one
    })
}
