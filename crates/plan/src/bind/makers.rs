//! Who makes a file that several hosts use: one of them, and the others wait for it.
use super::Facts;
use crate::ids::TargetId;
use crate::plan::Plan;
use crate::target::{Preparation, SizeRule, Target};
use std::collections::BTreeMap;

/// Of each target, the one of another host that is made in its stead; `None` for one that its own host makes. Empty
/// of a plan without hosts.
pub(super) fn of(plan: &Plan, facts: &Facts) -> Vec<Option<TargetId>> {
    if plan.hosts.is_empty() {
        return Vec::new();
    }
    let mut makers: BTreeMap<&str, TargetId> = BTreeMap::new();
    let named = || plan.targets.iter().zip(&facts.same).enumerate();
    for (number, (target, name)) in named() {
        if name.is_empty() || !target.is_real() {
            continue;
        }
        let maker = makers.entry(name).or_insert(TargetId::at(number));
        // All of them find it as large as they need it, and with data where one of them reads.
        if rank(target) > rank(plan.target(*maker)) {
            *maker = TargetId::at(number);
        }
    }
    let mut made_as: Vec<_> = plan.targets.iter().map(|one| shared(plan, one)).collect();
    for (number, (target, name)) in named() {
        let maker = makers.get(name.as_str()).copied();
        let maker = maker.filter(|maker| plan.target(*maker).host != target.host);
        if made_as[number].is_none() && target.is_real() {
            made_as[number] = maker;
        }
    }
    made_as
}

/// The target of the first host that has the same path, where the job says that they are one. Under paths of their own
/// each host has what it makes.
fn shared(plan: &Plan, target: &Target) -> Option<TargetId> {
    let first = target.shared_from?;
    let is_there = plan.targets.get(first.index());
    is_there
        .is_some_and(|one| one.path == target.path)
        .then_some(first)
}

fn rank(target: &Target) -> (bool, u64) {
    let bytes = match target.size {
        SizeRule::Bytes(bytes) => target.size_from_bytes.saturating_add(bytes),
        _ => 0,
    };
    let lays_out = matches!(
        target.preparation,
        Preparation::MakeOrExtend | Preparation::Rewrite
    );
    (lays_out, bytes)
}
