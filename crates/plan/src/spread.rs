//! Work on several hosts: the same on each, or plans of their own side by side.
use crate::ids::{PatternId, PoolId, TargetId, TemplateId};
use crate::plan::{Plan, PlanHost, RunSpec, RunTemplate};
use crate::run::{RunKind, Timing, Window};
use crate::stream::{Lifetime, Stream};
use crate::units::Nanos;

impl Plan {
    /// A plan in which each of these hosts does all the work of this one, which names none. A target `a` becomes `a@HOST` on
    /// each. What is asked of a run as a whole, such as its rate or an amount of data, is asked of all hosts together; what a
    /// stream has of its own, such as a rate, it has on each.
    ///
    /// # Panics
    /// Where the plan names hosts, or none are given.
    #[must_use]
    pub fn on_hosts(&self, hosts: Vec<PlanHost>) -> Self {
        assert!(self.hosts.is_empty() && !hosts.is_empty());
        let mut all = self.clone();
        all.targets.clear();
        all.templates.iter_mut().for_each(RunTemplate::clear);
        all.duplicate_pools
            .iter_mut()
            .for_each(|pool| pool.targets.clear());
        all.steering.remove_made.clear();
        for (place, host) in hosts.iter().enumerate() {
            let shift = Shift {
                targets: all.targets.len(),
                groups: (hosts.len(), place),
                ..Shift::default()
            };
            all.targets.extend(self.targets.iter().map(|target| {
                let mut target = target.clone();
                target.name = format!("{}@{}", target.name, host.name);
                target.host.clone_from(&host.name);
                target
            }));
            for (template, one) in all.templates.iter_mut().zip(&self.templates) {
                shift.add(template, one);
            }
            for (pool, one) in all.duplicate_pools.iter_mut().zip(&self.duplicate_pools) {
                pool.targets.extend(shift.all(&one.targets));
            }
            let removed = shift.all(&self.steering.remove_made);
            all.steering.remove_made.extend(removed);
        }
        for stream in all.templates.iter_mut().flat_map(|one| &mut one.streams) {
            stream.share_pct /= hosts.len() as f64;
        }
        all.hosts = hosts;
        all
    }

    /// Plans of hosts of their own as one: what makes files for any of them comes first, and the first runs of all are side
    /// by side, then the second ones. What they say about the execution as a whole is that of the first.
    ///
    /// # Errors
    /// In words, where runs cannot be side by side.
    ///
    /// # Panics
    /// Where there are none, or one of them names duplicates or searches.
    pub fn side_by_side(parts: &[Self]) -> Result<Self, String> {
        let mut all = parts[0].clone();
        (all.targets, all.templates) = (Vec::new(), Vec::new());
        (all.runs, all.draw_numbers) = (Vec::new(), Vec::new());
        all.steering.remove_made.clear();
        (all.patterns, all.hosts) = (Vec::new(), Vec::new());
        (all.values, all.labels) = (Vec::new(), Vec::new());
        let mut shifts = Vec::with_capacity(parts.len());
        for (place, part) in parts.iter().enumerate() {
            assert!(part.searches.is_empty() && part.duplicate_pools.is_empty());
            let shift = Shift {
                targets: all.targets.len(),
                patterns: all.patterns.len(),
                groups: (parts.len(), place),
            };
            all.targets.extend(part.targets.iter().cloned());
            all.patterns.extend(part.patterns.iter().cloned());
            let removed = shift.all(&part.steering.remove_made);
            all.steering.remove_made.extend(removed);
            all.values.extend(part.values.iter().cloned());
            let labels = part.labels.iter();
            let labels = labels.filter(|label| !all.labels.contains(label)).cloned();
            let labels: Vec<_> = labels.collect();
            all.labels.extend(labels);
            all.hosts.extend(part.hosts.iter().cloned());
            all.reporting.handover |= part.reporting.handover;
            all.reporting.operations |= part.reporting.operations;
            shifts.push(shift);
        }
        for kind in [RunKind::Prepare, RunKind::Measure] {
            let of_part = |part: &Self| -> Vec<usize> {
                let runs = part.runs.iter().enumerate();
                let runs = runs.filter(|(_, run)| run.kind == kind);
                runs.map(|(number, _)| number).collect()
            };
            let numbers: Vec<Vec<usize>> = parts.iter().map(of_part).collect();
            let most = numbers.iter().map(Vec::len).max().unwrap_or(0);
            for turn in 0..most {
                let members: Vec<(usize, usize)> = numbers
                    .iter()
                    .enumerate()
                    .filter_map(|(part, numbers)| Some((part, *numbers.get(turn)?)))
                    .collect();
                all.add_side_by_side(parts, &members, &shifts)?;
            }
        }
        Ok(all)
    }

    fn add_side_by_side(
        &mut self,
        parts: &[Self],
        members: &[(usize, usize)],
        shifts: &[Shift],
    ) -> Result<(), String> {
        let runs = || members.iter().map(|(part, run)| &parts[*part].runs[*run]);
        let (part, run) = members[0];
        let first = &parts[part].runs[run];
        if let Some(other) = runs().find(|run| run.labels != first.labels) {
            return Err(format!(
                "`{}` and `{}` would run side by side, and cannot",
                first.name, other.name
            ));
        }
        let is_shared = runs().all(|run| run.timing == first.timing);
        let mut template = parts[part].templates[first.template.index()].clone();
        template.clear();
        for (part, number) in members {
            let (plan, run) = (&parts[*part], &parts[*part].runs[*number]);
            let mut one = plan.templates[run.template.index()].clone();
            for stream in &mut one.streams {
                // Draws are those of the plan that it comes from.
                stream.seed = stream
                    .seed
                    .or((plan.seed != self.seed).then_some(plan.seed));
                if !is_shared {
                    give_lifetime(stream, &run.timing);
                }
            }
            for pool in one.pools.iter_mut().filter(|_| plan.method != self.method) {
                pool.method = pool.method.or(plan.method);
            }
            shifts[*part].add(&mut template, &one);
        }
        let share_pct = 100.0 / template.streams.len().max(1) as f64;
        let streams = template.streams.iter_mut();
        streams.for_each(|stream| stream.share_pct = share_pct);
        self.draw_numbers
            .extend(parts[part].draw_numbers.get(run).copied());
        let timing = match is_shared {
            true => first.timing,
            false => common_timing(runs().map(|run| &run.timing)),
        };
        self.runs.push(RunSpec {
            template: TemplateId::at(self.templates.len()),
            timing,
            ..first.clone()
        });
        self.templates.push(template);
        Ok(())
    }
}

/// The time of a stream where streams beside it have another.
fn give_lifetime(stream: &mut Stream, timing: &Timing) {
    let (Window::For(window)
    | Window::UntilDone {
        at_most: Some(window),
    }) = timing.window
    else {
        stream.lifetime.get_or_insert_default();
        return;
    };
    stream.lifetime.get_or_insert_with(|| Lifetime {
        warmup: timing.warmup,
        window: Some(window),
        ..Lifetime::default()
    });
}

/// What none of them measures is not measured, and the last of them ends it.
fn common_timing<'a>(all: impl Iterator<Item = &'a Timing>) -> Timing {
    let end = |timing: &Timing| match timing.window {
        Window::For(window) => Some(timing.warmup.0 + window.0),
        Window::UntilDone { at_most } => at_most.map(|window| timing.warmup.0 + window.0),
    };
    let both = |one: Timing, other: &Timing| {
        let interval = Nanos(one.interval.0.min(other.interval.0));
        let warmup = one.warmup.0.min(other.warmup.0);
        let warmup = Nanos(warmup - warmup % interval.0.max(1));
        let last = Option::zip(end(&one), end(other)).map(|(one, other)| one.max(other));
        Timing {
            warmup,
            interval,
            window: Window::UntilDone {
                at_most: last.map(|last| Nanos(last - warmup.0)),
            },
            ..one
        }
    };
    all.copied()
        .reduce(|one, other| both(one, &other))
        .expect("a run has members")
}

impl RunTemplate {
    fn clear(&mut self) {
        self.pools.clear();
        self.streams.clear();
    }
}

/// By how much the places of a plan move where it becomes a part of another.
#[derive(Default)]
struct Shift {
    targets: usize,
    patterns: usize,
    /// Groups are within a host: of how many hosts, and which.
    groups: (usize, usize),
}

impl Shift {
    fn all(&self, targets: &[TargetId]) -> Vec<TargetId> {
        targets.iter().map(|id| self.target(*id)).collect()
    }

    fn target(&self, id: TargetId) -> TargetId {
        TargetId::at(self.targets + id.index())
    }

    /// Adds what a template has to another.
    fn add(&self, to: &mut RunTemplate, from: &RunTemplate) {
        let (pools, streams) = (to.pools.len(), to.streams.len());
        to.pools.extend(from.pools.iter().cloned());
        let moved = from.streams.iter().map(|stream| {
            let mut stream = stream.clone();
            stream.targets = self.all(&stream.targets);
            stream.pool = PoolId::at(pools + stream.pool.index());
            self.shift_places(&mut stream, streams as u32);
            self.shift_rest(&mut stream);
            stream
        });
        to.streams.extend(moved);
    }

    /// Other streams of its run that it names.
    fn shift_places(&self, stream: &mut Stream, first: u32) {
        if let Some(lifetime) = &mut stream.lifetime {
            let places = lifetime.after.iter_mut().chain(&mut lifetime.ends);
            places.for_each(|place| *place += first);
        }
        if let Some(tolerance) = &mut stream.flow.tolerance {
            tolerance.ends.iter_mut().for_each(|place| *place += first);
        }
    }

    fn shift_rest(&self, stream: &mut Stream) {
        let group = |group: &mut u32| {
            *group = *group * self.groups.0 as u32 + self.groups.1 as u32;
        };
        let warmup = stream.lifetime.as_mut();
        let warmup = warmup.and_then(|one| one.warmup_bytes.as_mut()?.group.as_mut());
        let steady = stream.flow.steady.as_mut();
        let steady = steady.and_then(|one| one.group.as_mut());
        let balance = stream.flow.balance.as_mut().map(|one| &mut one.group);
        [warmup, steady, balance]
            .into_iter()
            .flatten()
            .for_each(group);
        let shifted = |id: &mut PatternId| *id = PatternId::at(id.index() + self.patterns);
        stream.data.pattern.iter_mut().for_each(shifted);
        let check = stream.data.check.as_mut();
        check
            .and_then(|check| check.pattern.as_mut())
            .into_iter()
            .for_each(shifted);
    }
}
