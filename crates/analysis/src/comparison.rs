//! Two results beside each other: runs of the same load are matched, and each figure is compared. Begin with [`compare`].
mod bar;
mod conditions;
mod curves;
mod load;
mod naming;
mod sentence;

pub use crate::answer::{Answer, Interval};
pub use bar::{Bar, Beyond};
pub use conditions::{Conditions, Difference};
pub use curves::{ComparedResult, OnCurve};
pub use load::{LoadKind, Loaded};
pub use sentence::change;

use crate::answer::{Estimate, Logs, Rule, differences, median};
use crate::verdict::Word;
use crate::watch::EndedRun;
use measure::LatencyFigures;
use naming::NamedLoad;
use plan::{Label, RunKind};

/// CPU per I/O is compared at rates that are no farther apart.
const SAME_RATE_SHARE: f64 = 0.05;

/// Of fewer values beyond it, a percentile is a guess.
const SAMPLES_BEYOND: f64 = 10.0;

/// A figure that runs are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FigureKind {
    Rate,
    /// The rate at the knee of a curve.
    Knee,
    /// The rate of a sweep of slots where more of them stop to bring more.
    Saturation,
    Throughput,
    ResponseP50,
    ResponseP90,
    ResponseP99,
    ResponseP999,
    ResponseMean,
    ServiceP50,
    ServiceP90,
    ServiceP99,
    ServiceP999,
    ServiceMean,
    CpuPerOperation,
    /// The share of the CPUs of the host that was busy.
    HostCpu,
}

/// A run as comparisons see it.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedRun {
    pub name: String,
    /// Its loop values.
    pub loops: String,
    pub load: Loaded,
    /// By the places of [`FigureKind::ALL`]: rates and bytes per second, times in nanoseconds; `None` where there is no
    /// sample.
    pub values: [Option<f64>; FigureKind::ALL.len()],
    /// Response times that are known.
    pub samples: u64,
    /// The words that make it doubtful.
    pub doubts: Vec<Word>,
    pub is_closed_loop: bool,
    pub curve: Option<OnCurve>,
}

/// The runs of one or more results that are compared as one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Side {
    pub name: String,
    pub runs: Vec<ComparedRun>,
    /// How many results they are of.
    pub results: usize,
    pub conditions: Conditions,
}

/// How two sides are compared.
#[derive(Clone, Copy, Debug, Default)]
pub struct Comparing {
    /// In place of that of each figure.
    pub margin: Option<f64>,
    /// Runs of both sides were carried out in turn, so that those of one place belong together.
    pub is_paired: bool,
    /// Loads that are not alike are compared, too, where the names of runs are.
    pub ignores_load: bool,
}

/// Two sides beside each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    pub base: String,
    pub other: String,
    /// Whether both sides were run in turn.
    pub is_in_turn: bool,
    /// In what else the sides differ.
    pub differences: Vec<Difference>,
    pub cells: Vec<Cell>,
    /// Figures that several cells have, over all of them: each repeat is one value, the mean of its logs. Nothing is said
    /// of these but how far they lie apart.
    pub overall: Vec<ComparedFigure>,
    /// What all loads have in common, which their names leave out.
    pub common: String,
    /// Loads without a partner.
    pub only_base: Vec<String>,
    pub only_other: Vec<String>,
    alone: [Vec<NamedLoad>; 2],
}

/// Runs of both sides with the same load.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// What tells it from the other loads.
    pub name: String,
    /// What it has in common with those of other rates that are on one curve with it.
    pub family: String,
    named: NamedLoad,
    /// How many runs each side has.
    pub runs: [usize; 2],
    pub doubts: [Vec<Word>; 2],
    pub is_closed_loop: bool,
    pub figures: Vec<ComparedFigure>,
}

/// One figure of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedFigure {
    pub kind: FigureKind,
    /// Geometric means.
    pub base: f64,
    pub other: f64,
    /// Of the other side to the base.
    pub ratio: f64,
    /// From three runs a side on.
    pub interval: Option<Interval>,
    /// Why it is shown and not compared.
    pub unfit: Option<Unfit>,
    pub answer: Answer,
    /// Within what share two values count as the same.
    pub margin: f64,
    /// The same without runs that lie far off the others of their side, where there are such.
    pub without: Option<Without>,
    estimate: Option<Estimate>,
}

/// What a figure says without runs that lie far off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Without {
    pub runs: usize,
    pub ratio: f64,
    pub interval: Option<Interval>,
    pub answer: Answer,
}

/// Why a figure is shown and not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// The load has it fixed, and both sides held it.
    RateAsked,
    /// Without a rate, latency follows from rate and slots.
    FlatOut,
    /// A percentile of too few values.
    FewSamples,
    /// CPU per I/O, at rates too far apart.
    OtherRates,
}

impl FigureKind {
    pub const ALL: [Self; 16] = [
        Self::Rate,
        Self::Knee,
        Self::Saturation,
        Self::Throughput,
        Self::ResponseP50,
        Self::ResponseP90,
        Self::ResponseP99,
        Self::ResponseP999,
        Self::ResponseMean,
        Self::ServiceP50,
        Self::ServiceP90,
        Self::ServiceP99,
        Self::ServiceP999,
        Self::ServiceMean,
        Self::CpuPerOperation,
        Self::HostCpu,
    ];

    /// As a user names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Knee => "knee",
            Self::Saturation => "saturation",
            Self::Throughput => "throughput",
            Self::ResponseP50 => "p50",
            Self::ResponseP90 => "p90",
            Self::ResponseP99 => "p99",
            Self::ResponseP999 => "p99.9",
            Self::ResponseMean => "mean",
            Self::ServiceP50 => "service-p50",
            Self::ServiceP90 => "service-p90",
            Self::ServiceP99 => "service-p99",
            Self::ServiceP999 => "service-p99.9",
            Self::ServiceMean => "service-mean",
            Self::CpuPerOperation => "cpu",
            Self::HostCpu => "host-cpu",
        }
    }

    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Within what share two values count as the same, where the user does not say.
    pub fn margin(self) -> f64 {
        match self.percentile() {
            Some(99.0 | 99.9) => 0.2,
            _ if self.is_latency() => 0.1,
            _ => 0.05,
        }
    }

    pub fn is_more_better(self) -> bool {
        self.is_of_curve() || matches!(self, Self::Rate | Self::Throughput)
    }

    /// Whether several runs together have it.
    pub fn is_of_curve(self) -> bool {
        matches!(self, Self::Knee | Self::Saturation)
    }

    pub fn is_latency(self) -> bool {
        !self.is_more_better() && !self.is_cpu()
    }

    pub fn is_cpu(self) -> bool {
        matches!(self, Self::CpuPerOperation | Self::HostCpu)
    }

    fn percentile(self) -> Option<f64> {
        match self {
            Self::ResponseP50 | Self::ServiceP50 => Some(50.0),
            Self::ResponseP90 | Self::ServiceP90 => Some(90.0),
            Self::ResponseP99 | Self::ServiceP99 => Some(99.0),
            Self::ResponseP999 | Self::ServiceP999 => Some(99.9),
            _ => None,
        }
    }

    fn is_service(self) -> bool {
        matches!(
            self,
            Self::ServiceP50
                | Self::ServiceP90
                | Self::ServiceP99
                | Self::ServiceP999
                | Self::ServiceMean
        )
    }

    fn place(self) -> usize {
        self as usize
    }
}

impl ComparedRun {
    /// `None` for a run that only prepares.
    pub fn of(run: &EndedRun, globals: &[Label]) -> Option<Self> {
        let totals = &run.totals;
        if totals.started.kind != RunKind::Measure || totals.length_ns == 0 {
            return None;
        }
        let (response, service) = (totals.response(None), totals.service(None));
        let has = |percentile: f64| totals.has_percentile(percentile);
        let value = |kind: FigureKind| {
            let value = match (kind, kind.is_service()) {
                (FigureKind::Rate, _) => totals.rate(),
                (FigureKind::Knee | FigureKind::Saturation, _) => return None,
                (FigureKind::Throughput, _) => totals.bytes_per_second(),
                (FigureKind::CpuPerOperation, _) => totals.host_cpu_ns_per_operation()?,
                (FigureKind::HostCpu, _) => totals.host_cpu_share()?,
                _ if !kind.percentile().is_none_or(&has) => return None,
                (_, true) => latency(&service, kind.percentile())?,
                (_, false) => latency(&response, kind.percentile())?,
            };
            Some(value)
        };
        let findings = run.judged.findings.iter().map(|finding| finding.word);
        Some(Self {
            name: totals.started.name.clone(),
            loops: totals.started.loops().unwrap_or_default().to_owned(),
            load: Loaded::of(totals, globals),
            values: FigureKind::ALL.map(value),
            samples: response.histogram.count(),
            doubts: findings.clone().filter(|word| word.is_doubt()).collect(),
            is_closed_loop: findings.clone().any(|word| word == Word::ClosedLoop),
            curve: None,
        })
    }

    fn value(&self, kind: FigureKind) -> Option<f64> {
        self.values[kind.place()]
    }
}

fn latency(figures: &LatencyFigures, percentile: Option<f64>) -> Option<f64> {
    let value = match percentile {
        Some(percentile) => figures.percentile_ns(percentile) as f64,
        None => figures.mean_ns(),
    };
    (!figures.histogram.is_empty()).then_some(value)
}

/// Runs of one side with the same load.
type Group<'a> = Vec<&'a ComparedRun>;

/// What is of several runs together is no load of which a partner could be missing.
fn is_curve(group: &Group<'_>) -> bool {
    group[0].load.kind == LoadKind::Curve
}

/// Whether both are points of curves that were asked for as shares, each of its own maximum.
fn is_same_share(one: &ComparedRun, other: &ComparedRun) -> bool {
    let is_share = |run: &ComparedRun| run.curve.as_ref().is_some_and(|curve| curve.is_share);
    let load = Loaded {
        asked_per_s: one.load.asked_per_s,
        ..other.load.clone()
    };
    is_share(one) && is_share(other) && one.load.is_repeat_of(&load)
}

fn groups<'a>(side: &'a Side, rules: &Comparing) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for run in &side.runs {
        let is_same = |group: &&mut Group<'a>| {
            let first = group[0];
            (&first.name, &first.loops) == (&run.name, &run.loops)
                && (first.load.is_repeat_of(&run.load)
                    || (rules.ignores_load && is_same_share(first, run)))
        };
        match groups.iter_mut().find(is_same) {
            Some(group) => group.push(run),
            None => groups.push(vec![run]),
        }
    }
    // Files of a folder come in the order of their names: 1, 16, 2.
    if side.results > 1 {
        let place = |run: &ComparedRun| side.runs.iter().position(|one| one.name == run.name);
        groups.sort_by(|one, other| {
            let (one, other) = (one[0], other[0]);
            let by_name = place(one).cmp(&place(other));
            by_name.then(one.load.by_amount(&other.load))
        });
    }
    groups
}

/// Compares what has the same load on both sides.
///
/// Runs are matched by load, and by name where several have the same. Of what has no partner the names are told.
pub fn compare(base: &Side, other: &Side, rules: &Comparing) -> Comparison {
    let mut all = compare_all(base, std::slice::from_ref(other), rules);
    all.pop().expect("there is one for each other side")
}

/// The same for several sides with one base; a load has one name in all of them.
pub fn compare_all(base: &Side, others: &[Side], rules: &Comparing) -> Vec<Comparison> {
    let others = others.iter();
    let mut all: Vec<Comparison> = others
        .map(|other| compare_two(base, other, rules))
        .collect();
    naming::name_loads(&mut all);
    all
}

fn compare_two(base: &Side, other: &Side, rules: &Comparing) -> Comparison {
    let compared = match curves::at_common_rates(base, other).filter(|_| !rules.ignores_load) {
        Some([base, other]) => compare_runs(&base, &other, rules),
        None => compare_runs(base, other, rules),
    };
    // Who runs two jobs in turn wants them compared, also where they differ in the load.
    match compared.cells.is_empty() && rules.is_paired && !rules.ignores_load {
        true => {
            let rules = Comparing {
                ignores_load: true,
                ..*rules
            };
            compare_runs(base, other, &rules)
        }
        false => compared,
    }
}

fn compare_runs(base: &Side, other: &Side, rules: &Comparing) -> Comparison {
    let mut out = Comparison {
        base: base.name.clone(),
        other: other.name.clone(),
        is_in_turn: rules.is_paired,
        differences: base.conditions.differences(&other.conditions),
        ..Comparison::default()
    };
    let (base, rest) = (groups(base, rules), groups(other, rules));
    let (pairs, rest) = matched(&base, rest, rules);
    let mut logs = Vec::new();
    for (group, pair) in base.iter().zip(pairs) {
        match pair {
            Some(pair) => {
                out.tell_load(&group[0].load, &pair[0].load);
                out.cells.push(cell(group, &pair));
                logs.push((group.clone(), pair));
            }
            None if is_curve(group) => {}
            None => out.tell_alone(0, group),
        }
    }
    let rest = rest.iter().filter(|group| !is_curve(group));
    rest.for_each(|group| out.tell_alone(1, group));
    for kind in FigureKind::ALL {
        judge(&mut out, &logs, kind, rules);
    }
    out.leave_out_empty(&logs);
    out
}

impl Comparison {
    /// In what loads differ that are compared all the same.
    fn tell_load(&mut self, base: &Loaded, other: &Loaded) {
        for (name, base, other) in base.differences(other) {
            let told = Difference { name, base, other };
            if !self.differences.contains(&told) {
                self.differences.insert(0, told);
            }
        }
    }

    /// In what the first loads differ that found no partner; `None` where a side has none.
    pub fn nearest_difference(&self) -> Option<Vec<Difference>> {
        let [base, other] = &self.alone;
        let (base, other) = (base.first()?, other.first()?);
        let all = base.load.differences(&other.load).into_iter();
        let all = all.map(|(name, base, other)| Difference { name, base, other });
        Some(all.collect()).filter(|all: &Vec<Difference>| !all.is_empty())
    }

    /// A load of which the sides have no figure in common is none.
    fn leave_out_empty(&mut self, groups: &[(Group<'_>, Group<'_>)]) {
        let cells = std::mem::take(&mut self.cells);
        for (cell, (base, other)) in cells.into_iter().zip(groups) {
            if !cell.figures.is_empty() {
                self.cells.push(cell);
                continue;
            }
            for (side, group) in [(0, base), (1, other)] {
                let has_value = |run: &&ComparedRun| run.values.iter().any(Option::is_some);
                if group.iter().any(has_value) {
                    self.tell_alone(side, group);
                }
            }
        }
    }

    fn tell_alone(&mut self, side: usize, group: &Group<'_>) {
        self.alone[side].push(named(&[group]));
    }
}

/// As the first of each side is called.
fn named(groups: &[&Group<'_>]) -> NamedLoad {
    let first = groups[0][0];
    NamedLoad {
        names: groups.iter().map(|group| group[0].name.clone()).collect(),
        loops: first.loops.clone(),
        load: first.load.clone(),
    }
}

/// For each group of the base its partner, and what is left of the others.
fn matched<'a>(
    base: &[Group<'_>],
    mut rest: Vec<Group<'a>>,
    rules: &Comparing,
) -> (Vec<Option<Group<'a>>>, Vec<Group<'a>>) {
    let mut pairs: Vec<Option<Group<'a>>> = vec![None; base.len()];
    // The same name first; then what only one run on each side can be.
    for (place, group) in base.iter().enumerate() {
        let is_it = |other: &Group<'_>| {
            let names = |run: &ComparedRun| (run.name.clone(), run.loops.clone());
            names(other[0]) == names(group[0])
                && (rules.ignores_load || other[0].load.is_like(&group[0].load))
        };
        let load = &group[0].load;
        let place_of = |is_such: &dyn Fn(&Loaded) -> bool| {
            let is_such = |other: &Group<'_>| is_it(other) && is_such(&other[0].load);
            rest.iter().position(is_such)
        };
        let at = place_of(&|other| other.is_repeat_of(load))
            .or(place_of(&|other| other.is_like(load)))
            .or(place_of(&|_| true));
        if let Some(at) = at {
            pairs[place] = Some(rest.remove(at));
        }
    }
    let repeats = |one: &Loaded, other: &Loaded| one.is_repeat_of(other);
    let like = |one: &Loaded, other: &Loaded| one.is_like(other);
    for are_same in [&repeats as &dyn Fn(&Loaded, &Loaded) -> bool, &like] {
        for (place, group) in base.iter().enumerate() {
            let fits = |other: &Group<'_>| are_same(&other[0].load, &group[0].load);
            let alone = base.iter().zip(&pairs).filter(|(_, pair)| pair.is_none());
            let is_only = alone.filter(|(one, _)| fits(one)).count() == 1
                && rest.iter().filter(|one| fits(one)).count() == 1;
            if pairs[place].is_none() && is_only {
                let at = rest.iter().position(fits).expect("it was counted");
                pairs[place] = Some(rest.remove(at));
            }
        }
    }
    (pairs, rest)
}

fn cell(base: &Group<'_>, other: &Group<'_>) -> Cell {
    let doubts = |group: &Group<'_>| {
        let mut doubts: Vec<Word> = group.iter().flat_map(|run| run.doubts.clone()).collect();
        doubts.sort();
        doubts.dedup();
        doubts
    };
    let all = || base.iter().chain(other);
    Cell {
        name: String::new(),
        family: String::new(),
        named: named(&[base, other]),
        runs: [base.len(), other.len()],
        doubts: [doubts(base), doubts(other)],
        is_closed_loop: all().all(|run| run.is_closed_loop),
        figures: Vec::new(),
    }
}

/// Adds one figure to all cells. What is called a difference depends on how many cells there are, and a cell scatters by no
/// less than half of them do.
fn judge(
    out: &mut Comparison,
    groups: &[(Group<'_>, Group<'_>)],
    kind: FigureKind,
    rules: &Comparing,
) {
    let rule = Rule {
        margin: rules.margin.unwrap_or(kind.margin()),
        is_more_better: kind.is_more_better(),
        is_paired: rules.is_paired,
    };
    let values = |group: &Group<'_>| -> Vec<Option<f64>> {
        group.iter().map(|run| run.value(kind)).collect()
    };
    let read = out.cells.iter().zip(groups).map(|(cell, (base, other))| {
        let logs = Logs::of(&values(base), &values(other))?;
        Some((logs, unfit(cell, base, other, kind)))
    });
    let read: Vec<Option<(Logs, Option<Unfit>)>> = read.collect();
    let fit: Vec<Logs> = read
        .iter()
        .flatten()
        .filter(|(_, unfit)| unfit.is_none())
        .map(|(logs, _)| logs.clone())
        .collect();
    let floor = match &*fit {
        // A cell alone knows nothing of others.
        [_] => 0.0,
        all => median(all.iter().filter_map(Logs::deviation).collect()),
    };
    if let [_, _, ..] = &*fit {
        let logs = Logs::over_all(&fit);
        out.overall.push(figure(kind, &logs, &rule, 0.0));
    }
    let (mut answers, mut without) = (
        answers(&fit, &rule, floor).into_iter(),
        without(&fit, &rule, floor).into_iter(),
    );
    for (cell, read) in out.cells.iter_mut().zip(read) {
        let Some((logs, unfit)) = read else {
            continue;
        };
        let mut figure = figure(kind, &logs, &rule, floor);
        figure.unfit = unfit;
        if unfit.is_none() {
            figure.answer = answers.next().expect("there is one for each that fits");
            figure.without = without.next().flatten();
        }
        cell.figures.push(figure);
    }
}

/// Without an answer.
fn figure(kind: FigureKind, logs: &Logs, rule: &Rule, floor: f64) -> ComparedFigure {
    let estimate = logs.estimate(rule, floor);
    ComparedFigure {
        kind,
        base: logs.base_mean(),
        other: logs.base_mean() * logs.ratio(),
        ratio: logs.ratio(),
        interval: estimate.map(|estimate| estimate.interval()),
        unfit: None,
        answer: Answer::TooFew,
        margin: rule.margin,
        without: None,
        estimate,
    }
}

fn answers(all: &[Logs], rule: &Rule, floor: f64) -> Vec<Answer> {
    let estimates = all.iter().map(|logs| logs.estimate(rule, floor));
    let estimates: Vec<Option<Estimate>> = estimates.collect();
    let chances = estimates.iter().flatten();
    let chances: Vec<f64> = chances.map(Estimate::chance).collect();
    let mut differ = differences(&chances).into_iter();
    let answer = |estimate: Option<Estimate>| match estimate {
        Some(estimate) => estimate.answer(rule, differ.next() == Some(true)),
        None => Answer::TooFew,
    };
    estimates.into_iter().map(answer).collect()
}

/// For each that has runs that lie far off, what is said without them.
fn without(all: &[Logs], rule: &Rule, floor: f64) -> Vec<Option<Without>> {
    let rest = all.iter().map(|logs| logs.without_far_off(rule.is_paired));
    let rest: Vec<Option<(usize, Logs)>> = rest.collect();
    let both = all.iter().zip(&rest);
    let logs = both.map(|(whole, rest)| rest.as_ref().map_or(whole, |(_, logs)| logs).clone());
    let answers = answers(&logs.collect::<Vec<_>>(), rule, floor);
    let without = |(rest, answer): (Option<(usize, Logs)>, Answer)| {
        let (runs, logs) = rest?;
        let estimate = logs.estimate(rule, floor);
        Some(Without {
            runs,
            ratio: logs.ratio(),
            interval: estimate.map(|estimate| estimate.interval()),
            answer,
        })
    };
    rest.into_iter().zip(answers).map(without).collect()
}

fn unfit(cell: &Cell, base: &Group<'_>, other: &Group<'_>, kind: FigureKind) -> Option<Unfit> {
    let runs = || base.iter().chain(other);
    let beyond = |run: &&ComparedRun, percentile: f64| {
        run.samples as f64 * (100.0 - percentile) / 100.0 < SAMPLES_BEYOND
    };
    let is_few = |percentile: f64| runs().any(|run| beyond(run, percentile));
    match (kind, cell.load().asked_per_s) {
        (FigureKind::Rate | FigureKind::Throughput, Some(_)) => {
            let is_missed = |run: &ComparedRun| {
                let rate = run.value(FigureKind::Rate);
                rate.is_some_and(|rate| run.load.is_missed_by(rate))
            };
            let is_held = !runs().any(|run| is_missed(run));
            is_held.then_some(Unfit::RateAsked)
        }
        (FigureKind::CpuPerOperation | FigureKind::HostCpu, _) => {
            let rate = cell.figure(FigureKind::Rate)?;
            let is_near = (rate.ratio - 1.0).abs() <= SAME_RATE_SHARE;
            (!is_near).then_some(Unfit::OtherRates)
        }
        _ if kind.is_latency() && cell.load().asked_per_s.is_none() => Some(Unfit::FlatOut),
        _ => kind
            .percentile()
            .is_some_and(is_few)
            .then_some(Unfit::FewSamples),
    }
}

impl Cell {
    /// That of the base.
    pub fn load(&self) -> &Loaded {
        &self.named.load
    }

    pub fn figure(&self, kind: FigureKind) -> Option<&ComparedFigure> {
        self.figures.iter().find(|figure| figure.kind == kind)
    }
}

#[cfg(test)]
mod chance_tests;
#[cfg(test)]
mod tests;
