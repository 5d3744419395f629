//! What several hosts have together.
use conduct::machine::{Ready, Reason, ReasonKind, Refusal};
use measure::HostId;
use plan::{
    BoundPlan, Bytes, Diagnostic, Facts, FoundKind, Origin, Plan, Preparation, TargetId, TargetKind,
};
use std::collections::{BTreeMap, BTreeSet};

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
pub fn differing(bound: &BoundPlan, facts: &Facts) -> Vec<Diagnostic> {
    let plan = &bound.plan;
    let mut found = Vec::new();
    for mut targets in shared_targets(plan).into_values() {
        targets.retain(|number| {
            let target = &plan.targets[*number];
            let is_made_there = target.shared_from.is_some()
                && bound.made_as(TargetId::at(*number)).is_none()
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

/// One thing that several hosts write and check: each knows of its own data alone.
pub fn checked_twice(bound: &BoundPlan) -> Vec<(HostId, Refusal)> {
    let plan = &bound.plan;
    let streams = plan.templates.iter().flat_map(|one| &one.streams);
    let checking = streams.filter(|stream| stream.data.check.is_some());
    let checked: BTreeSet<TargetId> = checking
        .flat_map(|one| one.targets.iter().copied())
        .collect();
    let mut things: BTreeMap<TargetId, Vec<TargetId>> = BTreeMap::new();
    for id in (0..bound.targets.len()).map(TargetId::at) {
        if let Some(maker) = bound.made_as(id) {
            things.entry(maker).or_insert_with(|| vec![maker]).push(id);
        }
    }
    let refusal = |targets: Vec<TargetId>| {
        if !targets.iter().any(|id| checked.contains(id)) {
            return None;
        }
        let writers = targets.into_iter();
        let writers = writers.filter(|id| bound.is_changed_by_measurement(*id));
        let mut writers = writers.map(|id| plan.target(id));
        let first = writers.next()?;
        let other = writers.find(|other| other.host != first.host)?;
        let host = plan.hosts.iter().position(|one| one.name == other.host)?;
        let text = format!(
            "`{}` is the file that host `{}` writes as `{}`, and what is written to it is checked, which takes one host: give each a file of its own",
            other.name, first.host, first.name
        );
        Some((host as HostId, protected(text)))
    };
    things.into_values().filter_map(refusal).collect()
}

fn protected(text: String) -> Refusal {
    Refusal {
        reasons: vec![Reason {
            kind: ReasonKind::Protected,
            text,
            word: None,
        }],
        ..Refusal::default()
    }
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
            refusals.push((host, protected(text)));
        }
    }
    refusals
}
