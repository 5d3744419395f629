//! How long nothing succeeded on a target that something was asked of.
use crate::words::{lasted, span};
use measure::{Gap, HostId, Interval, Pause, RunTotals};
use plan::TargetId;
use std::collections::BTreeMap;

/// Within so much nobody can tell the two apart.
const RIGHT_AFTER_NS: u64 = 20_000_000;

/// A time that begins so shortly before a mark belongs to it.
pub(crate) const MARK_SLACK_NS: u64 = 50_000_000;

/// Of a run, that many are kept, which is hours of a slow disk.
const GAPS_MAX: usize = 500_000;

/// Of more targets only the worst are told one by one.
const TARGETS_TOLD: usize = 64;

/// A target is hit by what happened where it stood still for this part of the longest time at least: shorter ones are those
/// that a busy host has anyway.
const HIT_PART: u64 = 10;

/// A target that has not answered for so long at the end is gone.
const GONE_NS: u64 = 10_000_000_000;

/// So many that follow each other are a pace, and fewer where they are most of the run.
const PACE_GAPS: usize = 8;
const FEW_PACE_GAPS: usize = 3;

/// Shorter ones are not told, and so are none of several hosts together.
const GAP_NS_LEAST: u64 = 10_000_000;

/// Shorter ones are no stall.
const STALL_NS_LEAST: u64 = 100_000_000;

/// As many times longer than the p99.9 of the others of its target a stall is at least. Those that are half as long as the
/// longest are no others: a cable is pulled twice.
const STALL_GAPS: u64 = 10;

/// One of a second is told by fewer: on a host without free CPUs a tenth of a second may be nobody's but its own.
const LONG_STALL_NS: u64 = 1_000_000_000;
const LONG_STALL_GAPS: u64 = 3;

/// A moment that somebody marked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    pub unix_ns: u64,
    pub text: String,
}

/// The longest time without a success in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Standstill {
    /// Of the target that had the longest; empty where that is not known.
    pub name: String,
    pub gap: Gap,
    /// When it began, in words: since the start of the run, or since what was marked before it.
    since: String,
    /// Targets that stood still at that time, those of them that did because Fathom sent nothing to them (to keep the
    /// shares of a job, while others hung), and how many targets there are.
    pub hit: usize,
    pub held_back: usize,
    pub targets: usize,
    /// Whether it is far longer than the others of its target.
    pub is_stall: bool,
    /// The worst first, and no more than a page has room for.
    pub by_target: Vec<StillTarget>,
}

/// What a target did that stood still.
#[derive(Clone, Debug, PartialEq)]
pub struct StillTarget {
    pub name: String,
    /// The longest time without a success.
    pub gap: Gap,
    /// Of the whole run: its longest response, I/Os that failed, and those that never came back.
    pub longest_ns: u64,
    pub failed: u64,
    pub unanswered: u64,
    /// Whether that is far longer than its others.
    pub is_stall: bool,
}

impl Standstill {
    pub fn length_ns(&self) -> u64 {
        length_ns(&self.gap)
    }

    /// The same of some targets, where one of them stood still.
    pub(crate) fn of_targets(&self, is_it: impl Fn(TargetId) -> bool) -> Option<Self> {
        let own = self.by_target.iter().filter(|one| is_it(one.gap.target));
        let own: Vec<StillTarget> = own.cloned().collect();
        let worst = own.iter().find(|one| one.is_stall)?;
        Some(Self {
            name: worst.name.clone(),
            gap: worst.gap,
            since: match worst.gap == self.gap {
                true => self.since.clone(),
                false => format!("from {} on", span(worst.gap.from_ns)),
            },
            hit: 1,
            held_back: 0,
            targets: 1,
            is_stall: true,
            by_target: own,
        })
    }

    /// Where, how long and since when nothing succeeded.
    pub(crate) fn words(&self) -> String {
        let name = match &*self.name {
            "" => String::new(),
            name => format!(" to `{name}`"),
        };
        let held_back = match self.held_back {
            0 => String::new(),
            1 => "; Fathom sent nothing to 1 other meanwhile".to_owned(),
            held => format!("; Fathom sent nothing to {held} others meanwhile"),
        };
        let of = match (self.targets, self.hit) {
            (0 | 1, _) => String::new(),
            (all, 1) => format!(" (1 of {all} targets{held_back})"),
            (all, hit) => format!(" (the longest of {hit} of {all} targets{held_back})"),
        };
        let length = lasted(self.length_ns());
        format!("I/O{name}{of} stood still for {length} {}", self.since)
    }
}

/// When a gap began, as seen from the last mark before it.
fn since(gap: &Gap, start_unix_ns: u64, marks: &[Mark]) -> String {
    let begun_ns = start_unix_ns + gap.from_ns;
    // What the mark tells of takes a moment itself, and clocks are read one after the other.
    let is_before = |mark: &&Mark| mark.unix_ns <= begun_ns + MARK_SLACK_NS;
    match marks.iter().rev().find(is_before) {
        Some(mark) => {
            let after_ns = begun_ns.saturating_sub(mark.unix_ns);
            match after_ns < RIGHT_AFTER_NS {
                true => format!("right after `{}`", mark.text),
                false => format!("from {} after `{}` on", span(after_ns), mark.text),
            }
        }
        None => {
            let on = format!("from {} on", span(gap.from_ns));
            let is_within = |mark: &&Mark| mark.unix_ns < start_unix_ns + gap.to_ns;
            marks.iter().find(is_within).map_or(on.clone(), |mark| {
                let later = lasted(mark.unix_ns - begun_ns);
                format!("{on}, which `{}` marked {later} later", mark.text)
            })
        }
    }
}

/// Joins what intervals tell.
#[derive(Debug, Default)]
pub(crate) struct Standstills {
    /// By target, in their order.
    targets: BTreeMap<TargetId, Vec<Gap>>,
    count: usize,
    /// What several hosts reach, by the first of them.
    first_of: BTreeMap<TargetId, TargetId>,
}

/// Times that both have. Each is in order.
fn common(one: &[Gap], other: &[Gap]) -> Vec<Gap> {
    let (mut left, mut right, mut both) =
        (one.iter().peekable(), other.iter().peekable(), Vec::new());
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let gap = Gap {
            target: a.target,
            from_ns: a.from_ns.max(b.from_ns),
            to_ns: a.to_ns.min(b.to_ns),
        };
        if gap.to_ns >= gap.from_ns + GAP_NS_LEAST {
            both.push(gap);
        }
        match a.to_ns < b.to_ns {
            true => left.next(),
            false => right.next(),
        };
    }
    both
}

impl Standstills {
    #[cfg(test)]
    pub(crate) fn of(gaps: &[Gap]) -> Self {
        let mut all = Self::default();
        for gap in gaps {
            all.targets.entry(gap.target).or_default().push(*gap);
        }
        all
    }

    pub(crate) fn add(&mut self, interval: &Interval) {
        for gap in interval.engine.hosts.iter().flat_map(|host| &host.gaps) {
            let known = self.targets.entry(gap.target).or_default();
            match known.last_mut() {
                // One that goes on is told again, from its beginning.
                Some(last) if gap.from_ns < last.to_ns => {
                    last.from_ns = last.from_ns.min(gap.from_ns);
                    last.to_ns = last.to_ns.max(gap.to_ns);
                }
                _ if self.count < GAPS_MAX => {
                    self.count += 1;
                    known.push(*gap);
                }
                _ => {}
            }
        }
    }

    /// Cuts out when the process of a host did not run: nobody could see a success then. Gives for how long, at most, that
    /// was all that a target was without.
    pub(crate) fn cut(
        &mut self,
        pauses: &[(HostId, Pause)],
        host_of: impl Fn(TargetId) -> HostId,
    ) -> u64 {
        let mut longest_ns = 0;
        for (target, gaps) in &mut self.targets {
            let host = host_of(*target);
            for (_, pause) in pauses.iter().filter(|(of, _)| *of == host) {
                let before_ns = sum_ns(gaps);
                *gaps = gaps.iter().flat_map(|gap| outside(gap, pause)).collect();
                longest_ns = longest_ns.max(before_ns - sum_ns(gaps));
            }
            gaps.retain(|gap| length_ns(gap) >= GAP_NS_LEAST);
        }
        self.targets.retain(|_, gaps| !gaps.is_empty());
        longest_ns
    }

    /// What several hosts reach stands still where none of them has a success. Each list is of one such target.
    pub(crate) fn join(&mut self, shared: &[Vec<TargetId>]) {
        for members in shared {
            let [first, rest @ ..] = &**members else {
                continue;
            };
            let mut gaps = self.targets.remove(first).unwrap_or_default();
            for member in rest {
                let others = self.targets.remove(member).unwrap_or_default();
                gaps = common(&gaps, &others);
                self.first_of.insert(*member, *first);
            }
            if !gaps.is_empty() {
                self.targets.insert(*first, gaps);
            }
        }
    }

    fn first_of(&self, target: TargetId) -> TargetId {
        self.first_of.get(&target).copied().unwrap_or(target)
    }

    /// The longest that began in a span, on any target.
    pub(crate) fn longest_in(&self, span: std::ops::Range<u64>) -> Option<Gap> {
        let all = self.targets.values().flatten();
        let inside = all.filter(|gap| span.contains(&(gap.from_ns + MARK_SLACK_NS)));
        inside.max_by_key(|gap| length_ns(gap)).copied()
    }

    /// When the first began, on any target, that is long beside another.
    pub(crate) fn first_like(&self, worst: Gap) -> Option<u64> {
        let all = self.targets.values().flatten();
        let alike = all.filter(|gap| is_like(gap, &worst));
        alike.map(|gap| gap.from_ns).min()
    }

    /// Of what was added; `None` where every target has answered all the time.
    pub(crate) fn longest(
        &self,
        totals: &RunTotals,
        name: &dyn Fn(TargetId) -> String,
        marks: &[Mark],
    ) -> Option<Standstill> {
        let of_target = |gaps: &Vec<Gap>| gaps.iter().max_by_key(|gap| length_ns(gap)).copied();
        let all = self.targets.values().filter_map(of_target);
        let is_held = |gap: &Gap| self.is_held_back(totals, gap);
        // What nothing was sent to did not stand still by itself.
        let is_own = |gap: &Gap| self.is_stall(totals, gap) && !is_held(gap);
        let all: Vec<(Gap, bool)> = all.map(|gap| (gap, is_own(&gap))).collect();
        let (worst, is_stall) = all
            .iter()
            .max_by_key(|(gap, is_stall)| (*is_stall, !is_held(gap), length_ns(gap)))?;
        let is_beside = |gap: &&Gap| {
            is_like(gap, worst) && gap.from_ns < worst.to_ns && worst.from_ns < gap.to_ns
        };
        let hit = self.targets.values().filter_map(|gaps| {
            let beside = gaps.iter().filter(is_beside);
            beside.max_by_key(|gap| length_ns(gap))
        });
        let (held, hit): (Vec<&Gap>, Vec<&Gap>) = hit.partition(|gap| is_held(gap));
        let reached = totals.figures.iter();
        let mut targets: Vec<TargetId> = reached.map(|one| self.first_of(one.key.target)).collect();
        targets.extend(self.targets.keys());
        targets.sort_unstable();
        targets.dedup();
        Some(Standstill {
            name: name(worst.target),
            gap: *worst,
            since: since(worst, totals.started.unix_ns, marks),
            hit: hit.len(),
            held_back: held.len(),
            targets: targets.len(),
            by_target: self.by_target(&all, totals, name),
            is_stall: *is_stall,
        })
    }

    /// Nothing was out that long, and nothing failed: nothing was sent.
    fn is_held_back(&self, totals: &RunTotals, gap: &Gap) -> bool {
        let is_it = |target: TargetId| self.first_of(target) == gap.target;
        let figures = || totals.figures.iter().filter(|one| is_it(one.key.target));
        let mut unanswered = totals.unreturned.iter();
        let is_short = |ns: u64| ns < length_ns(gap) / 2;
        let is_known = figures().next().is_some();
        is_known
            && figures().all(|one| {
                one.errors == 0 && one.service.max_ns > 0 && is_short(one.service.max_ns)
            })
            && !unanswered.any(|one| is_it(one.key.target))
    }

    /// Those of which nothing came any more from some time on until the end, which is long ago.
    pub(crate) fn gone(&self, end_ns: u64) -> impl Iterator<Item = Gap> {
        let last = self.targets.values().filter_map(|gaps| gaps.last());
        let is_gone = move |gap: &&Gap| gap.to_ns >= end_ns && length_ns(gap) >= GONE_NS;
        last.filter(is_gone).copied()
    }

    fn by_target(
        &self,
        all: &[(Gap, bool)],
        totals: &RunTotals,
        name: impl Fn(TargetId) -> String,
    ) -> Vec<StillTarget> {
        let mut all = all.to_vec();
        all.sort_by_key(|(gap, is_stall)| std::cmp::Reverse((*is_stall, length_ns(gap))));
        let told = all.iter().take(TARGETS_TOLD);
        let target = |(gap, is_stall): &(Gap, bool)| {
            let is_it = |target: TargetId| self.first_of(target) == gap.target;
            let figures = || totals.figures.iter().filter(|one| is_it(one.key.target));
            let unanswered = totals.unreturned.iter();
            StillTarget {
                name: name(gap.target),
                gap: *gap,
                longest_ns: figures().map(|one| one.response.max_ns).max().unwrap_or(0),
                failed: figures().map(|one| one.errors).sum(),
                unanswered: unanswered.filter(|one| is_it(one.key.target)).count() as u64,
                is_stall: *is_stall,
            }
        };
        told.map(target).collect()
    }

    /// Whether it is far longer than what a target takes now and then, and not what it takes all the time.
    fn is_stall(&self, totals: &RunTotals, gap: &Gap) -> bool {
        let gaps = &self.targets[&gap.target];
        let (alike, others): (Vec<&Gap>, Vec<&Gap>) = gaps
            .iter()
            .partition(|one| 2 * length_ns(one) >= length_ns(gap));
        let figures = totals.figures.iter();
        let of_target = figures.filter(|one| self.first_of(one.key.target) == gap.target);
        let operations: u64 = of_target.map(|one| one.operations).sum();
        // Each success ends a time without one, most of which are too short to be told.
        let count = operations.saturating_sub(alike.len() as u64);
        let is_rare = alike.len() < 2 || count >= alike.len() as u64;
        let factor = match length_ns(gap) >= LONG_STALL_NS {
            true => LONG_STALL_GAPS,
            false => STALL_GAPS,
        };
        let least_ns = STALL_NS_LEAST.max(factor * p999_ns(&others, count));
        is_rare && length_ns(gap) > least_ns && !is_pace(&alike, totals.length_ns)
    }
}

/// The p99.9 of `count` times without a success; the longest of them are known.
fn p999_ns(longest: &[&Gap], count: u64) -> u64 {
    let mut lengths: Vec<u64> = longest.iter().map(|gap| length_ns(gap)).collect();
    lengths.sort_unstable_by_key(|ns| std::cmp::Reverse(*ns));
    let beyond = (count / 1000) as usize;
    lengths.get(beyond).copied().unwrap_or(GAP_NS_LEAST)
}

/// Whether times that are alike are most of the time from the first to the last of many, or most of the run.
fn is_pace(alike: &[&Gap], run_ns: u64) -> bool {
    let (Some(first), Some(last)) = (alike.first(), alike.last()) else {
        return false;
    };
    let sum_ns: u64 = alike.iter().map(|gap| length_ns(gap)).sum();
    let is_most_of = |span_ns: u64| 2 * sum_ns >= span_ns;
    match alike.len() {
        PACE_GAPS.. => is_most_of(last.to_ns - first.from_ns),
        FEW_PACE_GAPS.. => is_most_of(run_ns),
        _ => false,
    }
}

/// Whether one is long beside another.
pub(crate) fn is_like(gap: &Gap, worst: &Gap) -> bool {
    length_ns(gap) >= length_ns(worst) / HIT_PART
}

fn sum_ns(gaps: &[Gap]) -> u64 {
    gaps.iter().map(length_ns).sum()
}

/// What is left of a gap without a pause.
fn outside(gap: &Gap, pause: &Pause) -> impl Iterator<Item = Gap> {
    let before = Gap {
        to_ns: gap.to_ns.min(pause.from_ns),
        ..*gap
    };
    let after = Gap {
        from_ns: gap.from_ns.max(pause.to_ns),
        ..*gap
    };
    let is_apart = pause.to_ns <= gap.from_ns || gap.to_ns <= pause.from_ns;
    let parts = match is_apart {
        true => vec![*gap],
        false => vec![before, after],
    };
    parts.into_iter().filter(|gap| gap.to_ns > gap.from_ns)
}

fn length_ns(gap: &Gap) -> u64 {
    gap.to_ns.saturating_sub(gap.from_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(target: u32, from_ns: u64, to_ns: u64) -> Gap {
        Gap {
            target: TargetId(target),
            from_ns,
            to_ns,
        }
    }

    #[test]
    fn only_targets_that_stood_still_for_long_are_hit() {
        const MS: u64 = 1_000_000;
        let standstills = Standstills::of(&[
            gap(0, 1_000 * MS, 4_000 * MS),
            gap(1, 2_000 * MS, 2_015 * MS),
            gap(2, 3_000 * MS, 3_400 * MS),
        ]);
        let totals = crate::testing::closed(0, &[3_000 * MS; 10]);
        let still = standstills
            .longest(&totals, &|target| format!("t{}", target.0), &[])
            .unwrap();
        assert_eq!((&*still.name, still.hit, still.targets), ("t0", 2, 3));
    }

    #[test]
    fn what_had_nothing_to_do_is_not_hit() {
        const MS: u64 = 1_000_000;
        let of_target = |target: u32, service_ns: u64| {
            let mut figures = crate::testing::closed(0, &[service_ns; 10]).figures;
            figures[0].key.target = TargetId(target);
            figures
        };
        // Both stood still alike; only one had an I/O out meanwhile.
        let gaps = [
            gap(0, 1_000 * MS, 4_010 * MS),
            gap(1, 1_000 * MS, 4_000 * MS),
        ];
        let mut totals = crate::testing::closed(0, &[MS; 10]);
        totals.figures = [of_target(0, MS), of_target(1, 3_000 * MS)].concat();
        let name = |target: TargetId| format!("t{}", target.0);
        let still = Standstills::of(&gaps).longest(&totals, &name, &[]).unwrap();
        assert_eq!((&*still.name, still.hit, still.held_back), ("t1", 1, 1));
        let words = still.words();
        let told = "I/O to `t1` (1 of 2 targets; Fathom sent nothing to 1 other meanwhile) stood still for 3.0 s";
        assert!(words.starts_with(told), "{words}");
        // What failed at once was reached.
        totals.figures[0].errors = 1;
        let still = Standstills::of(&gaps).longest(&totals, &name, &[]).unwrap();
        assert_eq!((&*still.name, still.hit, still.held_back), ("t0", 2, 0));
        // One from which nothing comes until the end, for long, is gone.
        let gone = [
            gap(0, 1_000 * MS, 4_000 * MS),
            gap(1, 1_000 * MS, 12_000 * MS),
        ];
        let gone = Standstills::of(&gone)
            .gone(12_000 * MS)
            .collect::<Vec<Gap>>();
        assert_eq!(gone, [gap(1, 1_000 * MS, 12_000 * MS)]);
    }

    #[test]
    fn storage_of_several_hosts_stands_still_where_none_of_them_has_a_success() {
        const MS: u64 = 1_000_000;
        let lists = [
            vec![
                gap(0, 0, 50 * MS),
                gap(0, 1_000 * MS, 4_000 * MS),
                gap(0, 6_000 * MS, 6_020 * MS),
            ],
            vec![
                gap(1, 900 * MS, 2_000 * MS),
                gap(1, 2_500 * MS, 3_000 * MS),
                gap(1, 6_015 * MS, 6_400 * MS),
            ],
            vec![gap(2, 0, 9_000 * MS)],
        ];
        let mut standstills = Standstills::of(&lists.concat());
        // Shorter than 10 ms is none.
        let both = [
            gap(0, 1_000 * MS, 2_000 * MS),
            gap(0, 2_500 * MS, 3_000 * MS),
        ];
        standstills.join(&[vec![TargetId(0), TargetId(1)]]);
        assert_eq!(standstills.targets[&TargetId(0)], both);
        assert_eq!(standstills.targets.len(), 2);
        assert_eq!(
            standstills.longest_in(0..5_000 * MS),
            Some(gap(2, 0, 9_000 * MS))
        );
        // One that always answered leaves nothing of the others.
        standstills.join(&[vec![TargetId(2), TargetId(3)]]);
        assert_eq!(standstills.targets.len(), 1);
        assert_eq!(standstills.first_of(TargetId(1)), TargetId(0));
    }
}
