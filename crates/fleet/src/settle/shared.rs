//! What several hosts have together.
use conduct::machine::{Ready, Reason, ReasonKind, Refusal};
use measure::HostId;
use plan::{
    BoundPlan, Bytes, Diagnostic, Facts, FoundKind, Origin, Plan, Preparation, TargetId, TargetKind,
};
use std::collections::BTreeMap;

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
pub fn differing(plan: &Plan, facts: &Facts) -> Vec<Diagnostic> {
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
pub fn written_twice(plan: &BoundPlan, ready: &[(HostId, Ready)]) -> Vec<(HostId, Refusal)> {
    if !plan.plan.is_spread() {
        return Vec::new();
    }
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
            let reason = Reason {
                kind: ReasonKind::Protected,
                text,
                word: None,
            };
            let refusal = Refusal {
                reasons: vec![reason],
                ..Refusal::default()
            };
            refusals.push((host, refusal));
        }
    }
    refusals
}
