//! A job meets the machines that do it: this one alone, or others that are reached.
use super::Launch;
use crate::arguments::{Common, OnLoss};
use crate::exit::{Exit, fail};
use crate::here::Here;
use crate::hosts;
use crate::refusals::{self, UnusedWords};
use conduct::machine::{Machine, States};
use conduct::{CommandSettings, Crew, LocalLead, OperationSink};
use engine::BackendKind;
use fleet::settle::{Asked, Machines, Whole};
use fleet::{PipeLine, Piped};
use host::guard::Overwrite;
use lang::Language;
use measure::HostId;
use plan::{BoundPlan, Diagnostic, Label, Severity};
use std::path::Path;
use std::sync::Arc;
use sys::clock::Clock;

/// What is settled before anything is written.
pub struct Settled {
    pub plan: Arc<BoundPlan>,
    pub whole: Whole,
    pub labels: Vec<Label>,
    /// What lints found on the machines.
    pub found: Vec<Diagnostic>,
    /// What standing lists let pass.
    pub passed: Vec<String>,
    pub workers: Workers,
}

/// Machines that have granted their parts.
pub enum Workers {
    This(Box<Here>),
    Others(Vec<(HostId, Piped<PipeLine>)>),
}

impl Settled {
    pub fn is_simulated(&self) -> bool {
        self.whole.backend == BackendKind::Sim.to_string()
    }

    pub fn reaches_storage(&self) -> bool {
        !self.is_simulated() && self.whole.backend != BackendKind::Null.to_string()
    }
}

impl Workers {
    /// All that an execution needs. Single operations come to `operations`, what streams write to `states`.
    pub fn into_crew(
        self,
        (clock, on_loss): (Clock, OnLoss),
        commands: CommandSettings,
        operations: Option<Box<dyn OperationSink>>,
        states: &States,
    ) -> Box<dyn Crew> {
        match self {
            Self::This(here) => here.into_crew(commands, operations, states.clone()),
            Self::Others(hosts) => {
                let lead = LocalLead::new(clock, commands);
                let several = hosts::several(hosts, lead, operations, states);
                Box::new(several.going_on(on_loss == OnLoss::Continue))
            }
        }
    }
}

/// Everything that may refuse, before the first file is made. `earlier` is the execution that goes on.
pub fn settle(
    launch: &Launch,
    clock: Clock,
    earlier: Option<Arc<BoundPlan>>,
    unused: &mut UnusedWords,
) -> Result<Settled, Exit> {
    let refused = |message: String| fail(Exit::Usage, &message);
    let labels = labels(&launch.common.label).map_err(refused)?;
    let folder = launch.folder.as_deref();
    let asked = asked(&launch.common, launch.findings.language, folder).map_err(refused)?;
    let asked = Asked {
        earlier,
        bears_unused: matches!(unused, UnusedWords::Collected(_)),
        ..asked
    };
    let settled = match launch.plan.is_spread() {
        false => {
            let machines = Machines {
                all: vec![(0, Here::new(clock))],
                refusals: Vec::new(),
            };
            let this = |(_, here)| Workers::This(Box::new(here));
            settle_on(launch, machines, &asked, unused, |all| {
                all.into_iter().next().map(this)
            })
        }
        true => {
            let machines = hosts::reach(&launch.plan, &launch.common);
            let machines = machines.map_err(|message| fail(Exit::Failed, &message))?;
            settle_on(launch, machines, &asked, unused, |all| {
                Some(Workers::Others(all))
            })
        }
    }?;
    if settled.is_simulated() && !launch.common.at.is_empty() {
        let message = "`--at` waits for a time, and simulated storage has a time of its own: name a real target";
        return Err(fail(Exit::Usage, message));
    }
    Ok(Settled { labels, ..settled })
}

fn settle_on<M: Machine + Send>(
    launch: &Launch,
    machines: Machines<M>,
    asked: &Asked,
    unused: &mut UnusedWords,
    workers: impl FnOnce(Vec<(HostId, M)>) -> Option<Workers>,
) -> Result<Settled, Exit> {
    let settled = fleet::settle::settle(&launch.plan, machines, asked);
    if let UnusedWords::Collected(collected) = unused {
        *collected = match &settled {
            Ok(settled) => Some(settled.unused.clone()),
            Err(refused) => refused.unused.clone(),
        };
    }
    let settled = settled.map_err(|refused| {
        print_notes(launch, &refused.notes);
        refusals::print(&refused, &launch.sources);
        refusals::exit(&refused, launch.face.exit_without_rights())
    })?;
    print_notes(launch, &settled.notes);
    Ok(Settled {
        plan: settled.plan,
        whole: settled.whole,
        labels: Vec::new(),
        found: settled.found,
        passed: settled.passed,
        workers: workers(settled.machines).expect("a job that is settled has a machine"),
    })
}

/// Says what machines have to say beside the job. Notes are left out where a face tells none.
pub fn print_notes(launch: &Launch, notes: &[(Severity, String)]) {
    for (severity, text) in notes {
        match severity {
            Severity::Note if launch.face.tells_findings() => errln!("note: {text}"),
            Severity::Note => {}
            Severity::Warning | Severity::Error => errln!("warning: {text}"),
        }
    }
}

/// What a command line asks of all machines.
///
/// # Errors
/// In words, when `--overwrite` names a file that cannot be read.
pub fn asked(common: &Common, language: Language, results: Option<&Path>) -> Result<Asked, String> {
    crate::lints::selection(&common.lints.words)?;
    let overwrite = Overwrite::from_arguments(&common.overwrite);
    Ok(Asked {
        backend: common.backend.clone(),
        workers: common.workers,
        silence: common.fleet.host_timeout,
        overwrite: overwrite.map_err(|error| error.to_string())?.words,
        lints: common.lints.words.clone(),
        language: language.name().to_owned(),
        results: results.map(Path::to_owned),
        ..Asked::default()
    })
}

fn labels(words: &[String]) -> Result<Vec<Label>, String> {
    let label = |word: &String| {
        let (key, value) = word
            .split_once('=')
            .ok_or_else(|| format!("`--label {word}` has no `=`; give it as key=value"))?;
        Ok(Label::new(key, value))
    };
    words.iter().map(label).collect()
}
