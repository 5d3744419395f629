//! Storage as its definitions have it: what several hosts reach is one, and has one page.
use measure::ExecutionTarget;
use plan::{Plan, TargetId};
use std::sync::Arc;

/// The storage definitions of an execution.
#[derive(Debug)]
pub struct Storages {
    /// Under their names, without a host; each as the first host sees it.
    pub all: Vec<ExecutionTarget>,
    /// By target.
    of: Arc<[usize]>,
}

/// Of each target of a plan the one that is the same on the first host, and the part of its name that names its host.
pub fn shared(plan: &Plan) -> Vec<(TargetId, String)> {
    let mut all: Vec<_> = (0..plan.targets.len())
        .map(|target| (TargetId::at(target), String::new()))
        .collect();
    for (place, target) in plan.targets.iter().enumerate() {
        if let Some(first) = target.shared_from.filter(|first| first.index() < place) {
            for id in [first.index(), place] {
                all[id] = (first, format!("@{}", plan.targets[id].host));
            }
        }
    }
    all
}

impl Storages {
    /// Targets that `shared` does not know are storage of their own.
    pub fn of(targets: &[ExecutionTarget], shared: &[(TargetId, String)]) -> Self {
        let (mut all, mut of) = (Vec::new(), Vec::<usize>::new());
        for (place, target) in targets.iter().enumerate() {
            let first = shared.get(place).map_or(place, |(first, _)| first.index());
            if first < place {
                of.push(of[first]);
                continue;
            }
            of.push(all.len());
            let mut target = target.clone();
            if let Some((_, suffix)) = shared.get(place)
                && let Some(name) = target.name.strip_suffix(suffix.as_str())
            {
                target.name = name.to_owned();
            }
            all.push(target);
        }
        Self { all, of: of.into() }
    }

    /// Whether some run uses each, by the targets that runs use; all where nobody knows of any.
    pub fn used(&self, targets: impl Iterator<Item = TargetId>) -> Vec<bool> {
        let places = targets.filter_map(|target| self.place(target));
        let mut used = vec![false; self.all.len()];
        places.for_each(|place| used[place] = true);
        match used.contains(&true) {
            true => used,
            false => vec![true; self.all.len()],
        }
    }

    /// The place of the storage of each target.
    pub fn lookup(&self) -> Arc<[usize]> {
        Arc::clone(&self.of)
    }

    pub fn place(&self, target: TargetId) -> Option<usize> {
        self.of.get(target.index()).copied()
    }
}
