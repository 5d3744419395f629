//! The hosts of a job that is spread over several: how they are reached, and what stands against the job on any of them.
use crate::arguments::{Common, HostOptions};
use crate::exit::{Exit, fail};
use crate::refusals::UnusedWords;
use crate::{machine, render};
use conduct::{Clock, Host, LocalLead, OperationSink};
use engine::BackendKind;
use fleet::joining::{self, Joined};
use fleet::{Examined, Gathering, Order, PipeLine, Piped, Ready, Refusal, Several, States};
use lang::Language;
use measure::{ExecutionTarget, HostFacts, HostId};
use plan::{
    Alignment, BoundPlan, Bytes, Diagnostic, Facts, FoundKind, Origin, Plan, PlanHost, Preparation,
    Severity, SourceMap, TargetFacts, TargetId, TargetKind,
};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Hosts that are ready.
pub struct Fleet {
    machines: RefCell<Vec<(HostId, Piped<PipeLine>)>>,
    pub targets: Vec<ExecutionTarget>,
    /// By host, where there are several.
    pub facts: Vec<HostFacts>,
    /// With its reason.
    pub backend: (String, String),
    /// Of the first host.
    pub kind: BackendKind,
    pub workers: u32,
    /// What streams have written.
    pub states: States,
    /// What lints say of the hosts.
    pub found: Vec<Diagnostic>,
}

/// What lints need of a job beside its plan.
#[derive(Clone, Copy, Debug, Default)]
pub struct Judging<'a> {
    pub language: Language,
    /// Where the results go.
    pub results: Option<&'a Path>,
}

impl Fleet {
    /// The hosts as one, which takes them. Single operations of all of them come to `operations`.
    pub fn several(
        &self,
        lead: LocalLead,
        operations: Option<Box<dyn OperationSink>>,
    ) -> Several<LocalLead> {
        let operations = operations.map(Gathering::new);
        let boxed = |(host, piped): (HostId, Piped<PipeLine>)| {
            let clock = lead.clone();
            let piped = piped.with_clock(move || clock.now_ns());
            let piped = piped.with_operations(operations.clone());
            let piped = piped.with_states(&self.states);
            (host, Box::new(piped) as Box<dyn Host>)
        };
        let machines: Vec<_> = self.machines.take().into_iter().map(boxed).collect();
        Several::new(lead, machines)
    }
}

/// The plan on the hosts of the command line; `None` where it names none.
///
/// # Errors
/// In words, where the job names hosts itself.
pub fn spread(plan: &Plan, options: &HostOptions) -> Result<Option<Plan>, String> {
    match &options.hosts {
        None => Ok(None),
        Some(_) if plan.is_spread() => {
            Err("`--hosts` is for jobs that name no hosts; this one has `hd=`".to_owned())
        }
        Some(hosts) => Ok(Some(plan.on_hosts(hosts.0.clone()))),
    }
}

/// Asks hosts for what has to be known before their parts are, all at once.
pub fn ask_before(
    asked: &[(PlanHost, joining::Question)],
    common: &Common,
) -> Result<Vec<joining::Told>, Exit> {
    let way = way(common);
    let told: Vec<_> = std::thread::scope(|scope| {
        let ask = |(host, question): &'_ (PlanHost, joining::Question)| {
            joining::ask(host, question, &way)
        };
        let threads: Vec<_> = asked
            .iter()
            .map(|one| scope.spawn(move || ask(one)))
            .collect();
        let threads = threads.into_iter();
        threads
            .map(|thread| thread.join().expect("asking a host panics nowhere"))
            .collect()
    });
    let (mut all, mut refusals) = (Vec::new(), Vec::new());
    for ((host, _), told) in asked.iter().zip(told) {
        match told {
            Ok(told) => all.push(told),
            Err(refusal) => refusals.push((host.name.clone(), refusal)),
        }
    }
    match refusals.is_empty() {
        true => Ok(all),
        false => Err(refuse(refusals).exit),
    }
}

/// A host that is busy takes a while to let somebody in, however short a silence may be later.
const CONNECT_S_MIN: u64 = 10;

fn way(common: &Common) -> joining::Way {
    joining::Way {
        launcher: common.fleet.launcher.clone().map(|launcher| launcher.0),
        keeps: !common.fleet.no_keep,
        patience_s: common.fleet.host_timeout.as_secs().max(CONNECT_S_MIN),
    }
}

type Reached = Vec<(HostId, Piped<PipeLine>)>;

/// Everything that may refuse on any host, before the first file is made: all of it is told, so what is refused on one host
/// keeps no other from being asked.
pub fn settle(
    plan: &Plan,
    common: &Common,
    sources: &SourceMap,
    (judging, unused): (Judging<'_>, &mut UnusedWords),
) -> Result<(BoundPlan, Fleet), Refused> {
    let mut refusals = Vec::new();
    let mut machines = reach(plan, common, &mut refusals)?;
    let mut seen = plan.clone();
    hide_lost(&mut seen, &refusals);
    let facts = facts(&mut seen, &mut machines, &mut refusals);
    let (plan, misfits) = bind_what_fits(seen, &facts);
    render::print(&misfits, sources);
    let plan = match plan {
        Some(plan) => plan,
        None if refusals.is_empty() => return Err(Exit::Usage.into()),
        None => return Err(refuse(refusals)),
    };
    if plan.runs.is_empty() && misfits.is_empty() && refusals.is_empty() {
        return Err(fail(Exit::Usage, "there is nothing to run").into());
    }
    let found = shared(&plan.plan, &facts);
    render::print(&found, sources);
    let reached = (&mut machines, &mut refusals);
    let (words, judged) = examine((common, judging), &plan, reached, unused)?;
    let is_error = |one: &&Diagnostic| one.severity == Severity::Error;
    let errors: Vec<Diagnostic> = judged.iter().filter(is_error).cloned().collect();
    render::print(&errors, sources);
    let ready = grant(&mut machines, &words, &mut refusals);
    refusals.extend(written_twice(&plan, &ready));
    if !refusals.is_empty() {
        return Err(refuse(refusals));
    }
    if !misfits.is_empty() || !found.is_empty() || !errors.is_empty() {
        return Err(Exit::Usage.into());
    }
    for (host, ready) in &ready {
        let name = &plan.plan.hosts[*host as usize].name;
        let notes = ready.notes.iter();
        notes.for_each(|note| errln!("note: host `{name}`: {note}"));
    }
    let mut fleet = together(&plan, machines, ready);
    fleet.found = judged;
    Ok((plan, fleet))
}

/// What is on hosts of which nothing is known is left out of what is asked of the others.
fn hide_lost(plan: &mut Plan, refusals: &[(String, Refusal)]) {
    plan.hide(|target| refusals.iter().any(|(host, _)| *host == target.host));
}

/// The plan without targets that do not fit, and what is wrong with those; `None` where that leaves no plan.
fn bind_what_fits(mut plan: Plan, facts: &Facts) -> (Option<BoundPlan>, Vec<Diagnostic>) {
    let mut misfits = Vec::new();
    loop {
        let errors = match plan::bind(plan.clone(), facts) {
            Ok(bound) => return (Some(bound), misfits),
            Err(errors) => errors,
        };
        for error in &errors {
            let mut targets = plan.targets.iter();
            let target = targets.find(|target| Some(target.name.as_str()) == error.target());
            let mut misfit = machine::misfit(error);
            if let Some(target) = target {
                misfit.message = format!("host `{}`: {}", target.host, misfit.message);
            }
            misfits.push(misfit);
        }
        let before = plan.clone();
        plan.hide(|target| {
            let mut errors = errors.iter();
            errors.any(|error| error.target() == Some(target.name.as_str()))
        });
        if plan == before {
            return (None, misfits);
        }
    }
}

/// The targets that are one storage on several hosts, by that of the first.
fn shared_targets(plan: &Plan) -> BTreeMap<usize, Vec<usize>> {
    let mut all: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (number, target) in plan.targets.iter().enumerate() {
        if let Some(first) = target.shared_from {
            let first = first.index();
            all.entry(first).or_insert_with(|| vec![first]).push(number);
        }
    }
    all
}

/// What several hosts share is the same on all of them: as large, or missing, and then the first makes it.
fn shared(plan: &Plan, facts: &Facts) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for mut targets in shared_targets(plan).into_values() {
        targets.retain(|number| {
            let target = &plan.targets[*number];
            let is_made_there = target.shared_from.is_some()
                && plan.made_elsewhere(target).is_none()
                && target.preparation != Preparation::AsFound;
            target.is_real() && !is_made_there
        });
        if targets.is_empty() {
            continue;
        }
        let told = |number: &usize| {
            let facts = &facts.targets[*number];
            let what = match facts.found {
                FoundKind::Missing => "nothing".to_owned(),
                _ => Bytes(facts.bytes).to_string(),
            };
            (format!("`{}` has {what}", plan.targets[*number].host), what)
        };
        let told: Vec<_> = targets.iter().map(told).collect();
        if told.iter().all(|(_, what)| *what == told[0].1) {
            continue;
        }
        let hosts: Vec<&str> = told.iter().map(|(text, _)| text.as_str()).collect();
        let message = format!(
            "what several hosts share is not the same on all of them: {}",
            hosts.join(", ")
        );
        let diagnostic = Diagnostic::error("fathom-0001", message);
        let diagnostic = match &plan.targets[targets[0]].origin {
            Origin::Written(span) => diagnostic.at(*span, "shared by these hosts"),
            _ => diagnostic,
        };
        found.push(diagnostic.with_help("give each host a storage definition of its own (`hd=`)"));
    }
    found
}

/// One device that storage definitions of several hosts write, each as if it had it alone.
fn written_twice(plan: &BoundPlan, ready: &[(HostId, Box<Ready>)]) -> Vec<(String, Refusal)> {
    let mut writers: BTreeMap<(String, String), (HostId, TargetId)> = BTreeMap::new();
    let mut refusals = Vec::new();
    let told = ready.iter().flat_map(|(host, ready)| {
        ready
            .targets
            .iter()
            .map(move |(id, told)| (*host, *id, told))
    });
    for (host, id, told) in told {
        let (serial, wwn) = (&told.identity.serial, &told.identity.wwn);
        let is_device = plan.plan.target(id).kind == TargetKind::Device;
        if !told.is_written || !is_device || (serial.is_empty() && wwn.is_empty()) {
            continue;
        }
        let target = plan.plan.target(id);
        let key = (serial.clone(), wwn.clone());
        let first = writers
            .entry(key)
            .or_insert_with(|| (host, target.shared_from.unwrap_or(id)));
        if first.0 != host && first.1 != target.shared_from.unwrap_or(id) {
            let other = &plan.plan.hosts[first.0 as usize].name;
            let text = format!(
                "`{}` is the device that host `{other}` writes as `{}` ({serial}{wwn}); let one storage definition have it on both hosts",
                target.name,
                plan.plan.target(first.1).name
            );
            let refusal = Refusal {
                lines: vec![text],
                is_guard: true,
                words: Vec::new(),
            };
            refusals.push((plan.plan.hosts[host as usize].name.clone(), refusal));
        }
    }
    refusals
}

/// How a job ends that is refused, and the words that would let it overwrite what is there.
pub struct Refused {
    pub exit: Exit,
    pub words: Vec<String>,
    /// What was told, each with its host.
    pub lines: Vec<String>,
}

impl From<Exit> for Refused {
    fn from(exit: Exit) -> Self {
        Self {
            exit,
            words: Vec::new(),
            lines: Vec::new(),
        }
    }
}

/// Tells everything that stands against it, by host; one that the guard refuses counts more than one that does not fit.
fn refuse(refusals: Vec<(String, Refusal)>) -> Refused {
    let is_guard = refusals.iter().any(|(_, refusal)| refusal.is_guard);
    let (mut words, mut lines) = (Vec::new(), Vec::new());
    for (host, refusal) in refusals {
        words.extend(refusal.words);
        for line in refusal.lines {
            let line = line.strip_prefix("error: ").unwrap_or(&line);
            lines.push(format!("host `{host}`: {line}"));
        }
    }
    lines.iter().for_each(|line| errln!("error: {line}"));
    let exit = match is_guard {
        true => Exit::Guard,
        false => Exit::Usage,
    };
    Refused { exit, words, lines }
}

fn lost(error: &fleet::LineError) -> Refusal {
    Refusal {
        lines: vec![error.to_string()],
        ..Refusal::default()
    }
}

/// Asks all hosts at once; each answers or refuses, and one that refuses is asked nothing more.
fn ask_all<T: Send>(
    machines: &mut Reached,
    refusals: &mut Vec<(String, Refusal)>,
    ask: impl Fn(HostId, &mut Piped<PipeLine>) -> Result<T, Refusal> + Sync,
) -> Vec<(HostId, T)> {
    let answers: Vec<_> = std::thread::scope(|scope| {
        let ask = &ask;
        let threads: Vec<_> = machines
            .iter_mut()
            .map(|(host, piped)| {
                let (host, name) = (*host, piped.name().to_owned());
                (host, name, scope.spawn(move || ask(host, piped)))
            })
            .collect();
        let join = |(host, name, thread): (_, _, std::thread::ScopedJoinHandle<'_, _>)| {
            (
                host,
                name,
                thread.join().expect("asking a host panics nowhere"),
            )
        };
        threads.into_iter().map(join).collect()
    });
    let mut told = Vec::new();
    for (host, name, answer) in answers {
        match answer {
            Ok(answer) => told.push((host, answer)),
            Err(refusal) => {
                machines.retain(|(one, _)| *one != host);
                refusals.push((name, refusal));
            }
        }
    }
    told
}

/// Facts of all targets, each as its host sees it; those of a host that does not tell are nothing from then on.
fn facts(plan: &mut Plan, machines: &mut Reached, refusals: &mut Vec<(String, Refusal)>) -> Facts {
    let asked = plan.clone();
    let told = ask_all(machines, refusals, |host, piped| {
        piped.facts(&asked, host).map_err(|error| lost(&error))
    });
    hide_lost(plan, refusals);
    let unknown = TargetFacts {
        found: FoundKind::File,
        bytes: 0,
        alignment: Alignment {
            offset: 1,
            memory: 1,
        },
        ram_backed: false,
    };
    let of = |(number, target): (usize, &plan::Target)| {
        let named = |(host, _): &&(HostId, Facts)| plan.hosts[*host as usize].name == target.host;
        let facts = told.iter().find(named).map(|(_, facts)| facts);
        facts.map_or_else(|| unknown.clone(), |facts| facts.targets[number].clone())
    };
    Facts {
        targets: plan.targets.iter().enumerate().map(of).collect(),
    }
}

/// Has every host look at its part. Gives the words that each may use: one without a host counts where exactly one host
/// has such a target. Beside them stands what lints say.
fn examine(
    (common, judging): (&Common, Judging<'_>),
    plan: &BoundPlan,
    (machines, refusals): (&mut Reached, &mut Vec<(String, Refusal)>),
    words_unused: &mut UnusedWords,
) -> Result<(Vec<Vec<String>>, Vec<Diagnostic>), Refused> {
    let overwrite = host::guard::Overwrite::from_arguments(&common.overwrite)
        .map_err(|error| fail(Exit::Usage, &error.to_string()))?;
    let hosts = &plan.plan.hosts;
    let asked: Vec<Vec<String>> = hosts
        .iter()
        .map(|host| words_for(host, hosts, &overwrite.words))
        .collect();
    let examined = ask_parts((common, judging), plan, &asked, machines, refusals);
    let is_whole = refusals.is_empty();
    let uses = |host: HostId, word: &String| {
        let of_host = examined.iter().find(|(one, _)| *one == host);
        asked[host as usize].contains(word)
            && of_host.is_some_and(|(_, examined)| !examined.unused.contains(word))
    };
    let mut on_no_host = Vec::new();
    for word in &overwrite.words {
        let bare = bare(word, hosts);
        let users = (0..hosts.len()).filter(|host| uses(*host as HostId, &bare.to_owned()));
        let users: Vec<&str> = users.map(|host| hosts[host].name.as_str()).collect();
        let is_qualified = bare != word;
        match users.as_slice() {
            // It may be one of a host that tells nothing.
            [] if !is_whole => {}
            [] => on_no_host.push(word.clone()),
            [_] => {}
            _ if is_qualified => {}
            [first, ..] => {
                let text = format!(
                    "`--overwrite {word}` names a target on each of {}; say which, as in `--overwrite {first}:{word}`",
                    users.join(", ")
                );
                return Err(fail(Exit::Usage, &text).into());
            }
        }
    }
    words_unused.take(on_no_host)?;
    let granted = |host: usize| {
        let words = asked[host].iter();
        let words = words.filter(|word| uses(host as HostId, word));
        words.cloned().collect()
    };
    let granted = (0..hosts.len()).map(granted).collect();
    Ok((granted, judged(&examined, hosts)))
}

fn ask_parts(
    (common, judging): (&Common, Judging<'_>),
    plan: &BoundPlan,
    asked: &[Vec<String>],
    machines: &mut Reached,
    refusals: &mut Vec<(String, Refusal)>,
) -> Vec<(HostId, Examined)> {
    let hosts = &plan.plan.hosts;
    let nonce = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos() as u64);
    let (backend, workers, silence) = (&common.backend, common.workers, common.fleet.host_timeout);
    let shared = Arc::new(plan.clone());
    ask_all(machines, refusals, |host, piped| {
        let order = Order {
            plan: Arc::clone(&shared),
            host,
            backend: backend.clone(),
            workers,
            silence_ns: silence.as_nanos() as u64,
            nonce,
            overwrite: asked[host as usize].clone(),
            lints: common.lints.words.clone(),
            language: judging.language.name().to_owned(),
            // Those of this machine alone are on a storage that its own agent knows.
            results: judging
                .results
                .filter(|_| hosts[host as usize].reach.is_none())
                .map(Path::to_owned),
        };
        let examined = piped.examine(&order);
        examined.map_err(|error| lost(&error)).and_then(|told| told)
    })
}

/// What lints say of each host, with its name where there are several.
fn judged(examined: &[(HostId, Examined)], hosts: &[PlanHost]) -> Vec<Diagnostic> {
    let of_host = |(host, examined): &(HostId, Examined)| {
        let name = hosts[*host as usize].name.clone();
        let found = examined.found.clone().into_iter();
        found.map(move |mut one| {
            one.message = format!("host `{name}`: {}", one.message);
            one
        })
    };
    match examined {
        [(_, only)] if hosts.len() == 1 => only.found.clone(),
        several => several.iter().flat_map(of_host).collect(),
    }
}

/// The words that concern a host: its own without its name, and those that name no host.
fn words_for(host: &PlanHost, hosts: &[PlanHost], words: &[String]) -> Vec<String> {
    let own = |word: &String| match bare(word, hosts) {
        own if own == word => Some(word.clone()),
        own => word
            .starts_with(&format!("{}:", host.name))
            .then(|| own.to_owned()),
    };
    words.iter().filter_map(own).collect()
}

/// A word without the name of a host.
fn bare<'a>(word: &'a str, hosts: &[PlanHost]) -> &'a str {
    let own = |host: &PlanHost| word.strip_prefix(&host.name)?.strip_prefix(':');
    hosts.iter().find_map(own).unwrap_or(word)
}

fn grant(
    machines: &mut Reached,
    words: &[Vec<String>],
    refusals: &mut Vec<(String, Refusal)>,
) -> Vec<(HostId, Box<Ready>)> {
    ask_all(machines, refusals, |host, piped| {
        let granted = piped.grant(words[host as usize].clone());
        granted.map_err(|error| lost(&error)).and_then(|told| told)
    })
}

fn together(plan: &BoundPlan, machines: Reached, ready: Vec<(HostId, Box<Ready>)>) -> Fleet {
    let mut targets = vec![ExecutionTarget::default(); plan.targets.len()];
    let mut backends: Vec<(String, String)> = Vec::new();
    let mut workers = 0;
    let is_one = ready.len() == 1;
    let mut facts = vec![HostFacts::default(); plan.plan.hosts.len()];
    let kind = ready.first().and_then(|(_, one)| one.backend.parse().ok());
    for (host, one) in ready {
        let name = &plan.plan.hosts[host as usize].name;
        let mut own = one.facts;
        let machine = std::mem::replace(&mut own.name, name.clone());
        own.details.insert(0, ("Machine".to_owned(), machine));
        own.details
            .push(("Storage".to_owned(), storage(&one.targets)));
        facts[host as usize] = own;
        workers += one.workers;
        for (target, mut told) in one.targets {
            if !is_one {
                told.identity = told.identity.of_host(name);
            }
            targets[target.index()] = told;
        }
        let backend = (one.backend, one.backend_reason);
        if !backends.iter().any(|(known, _)| *known == backend.0) {
            backends.push(backend);
        }
    }
    let (names, reasons): (Vec<String>, Vec<String>) = backends.into_iter().unzip();
    Fleet {
        machines: RefCell::new(machines),
        targets,
        facts: if is_one { Vec::new() } else { facts },
        backend: (names.join(" + "), reasons.join("; ")),
        kind: kind.unwrap_or(BackendKind::Uring),
        workers,
        states: States::default(),
        found: Vec::new(),
    }
}

/// What the targets of a host are on, in words.
fn storage(targets: &[(TargetId, ExecutionTarget)]) -> String {
    let words = |(_, target): &(TargetId, ExecutionTarget)| {
        let identity = &target.identity;
        let mount = identity.mount.as_ref().map_or("", |mount| &mount.kind);
        let all = [
            mount,
            &identity.transport,
            &identity.vendor,
            &identity.model,
        ];
        let all = all.into_iter().filter(|word| !word.is_empty());
        let all: Vec<&str> = all.collect();
        match all.is_empty() {
            true => identity.kind.clone(),
            false => all.join(" "),
        }
    };
    let kinds: BTreeSet<String> = targets.iter().map(words).collect();
    kinds.into_iter().collect::<Vec<_>>().join(", ")
}

/// With a line that is cut where the host is lost: `ssh` would wait for it for as long as the network does.
fn piped(name: String, joined: Joined, silence: Duration) -> Piped<PipeLine> {
    let piped = Piped::new(name, joined.line, silence);
    match joined.carrier {
        None => piped,
        Some(mut carrier) => piped.with_cut(move || {
            let _ = carrier.kill();
            let _ = carrier.wait();
        }),
    }
}

/// Reaches all hosts at once.
fn reach(
    plan: &Plan,
    common: &Common,
    refusals: &mut Vec<(String, Refusal)>,
) -> Result<Reached, Refused> {
    let binary = joining::Image::own().map_err(|text| fail(Exit::Failed, &text))?;
    let way = way(common);
    let (binary, way, silence) = (&binary, &way, common.fleet.host_timeout);
    let reached: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = plan
            .hosts
            .iter()
            .enumerate()
            .map(|host| scope.spawn(move || joining::join(host, binary, way)))
            .collect();
        let threads = threads.into_iter();
        threads
            .map(|thread| thread.join().expect("reaching a host panics nowhere"))
            .collect()
    });
    let mut machines = Vec::new();
    for (number, (host, reached)) in plan.hosts.iter().zip(reached).enumerate() {
        match reached {
            Ok(joined) => {
                machines.push((number as HostId, piped(host.name.clone(), joined, silence)))
            }
            Err(refusal) => refusals.push((host.name.clone(), refusal)),
        }
    }
    Ok(machines)
}
