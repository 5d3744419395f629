//! What machines are that do one job.
use conduct::machine::Ready;
use measure::{ExecutionTarget, HostFacts, HostId};
use plan::{BoundPlan, TargetId};
use std::collections::BTreeSet;

/// Machines as one.
#[derive(Clone, Debug, Default)]
pub struct Whole {
    pub targets: Vec<ExecutionTarget>,
    /// By host, where there are several.
    pub facts: Vec<HostFacts>,
    /// Of what is measured, in words, and why.
    pub backend: String,
    pub backend_reason: String,
    pub workers: u32,
}

impl Whole {
    pub(super) fn of(plan: &BoundPlan, ready: Vec<(HostId, Ready)>) -> Self {
        let mut whole = Self {
            targets: vec![ExecutionTarget::default(); plan.targets.len()],
            facts: vec![HostFacts::default(); plan.plan.hosts.len()],
            ..Self::default()
        };
        let is_one = ready.len() == 1;
        let mut backends: Vec<(String, String)> = Vec::new();
        for (host, mut one) in ready {
            let targets = std::mem::take(&mut one.targets);
            whole.workers += one.workers;
            let backend = (one.backend, one.backend_reason);
            if !backends.iter().any(|(known, _)| *known == backend.0) {
                backends.push(backend);
            }
            let name = plan.plan.hosts.get(host as usize);
            let name = name.filter(|_| !is_one).map(|host| host.name.as_str());
            if let Some(name) = name {
                whole.facts[host as usize] = facts(name, one.facts, &targets);
            }
            for (target, mut told) in targets {
                if let Some(name) = name {
                    told.identity = told.identity.of_host(name);
                }
                whole.targets[target.index()] = told;
            }
        }
        if is_one {
            whole.facts.clear();
        }
        let (names, reasons): (Vec<String>, Vec<String>) = backends.into_iter().unzip();
        whole.backend = names.join(" + ");
        whole.backend_reason = reasons.join("; ");
        whole
    }
}

/// Facts of one host of several, under its name in the plan.
fn facts(name: &str, mut own: HostFacts, targets: &[(TargetId, ExecutionTarget)]) -> HostFacts {
    let machine = std::mem::replace(&mut own.name, name.to_owned());
    own.details.insert(0, ("Machine".to_owned(), machine));
    own.details.push(("Storage".to_owned(), storage(targets)));
    own
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
