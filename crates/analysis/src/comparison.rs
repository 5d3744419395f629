//! Two results beside each other: runs of the same load are matched, and each figure is compared. Begin with [`compare`].
mod answer;
mod bar;
mod conditions;
mod load;
mod sentence;

pub use answer::{Answer, Interval};
pub use bar::{Bar, Beyond};
pub use conditions::{Conditions, Difference};
pub use load::Loaded;
pub use sentence::change;

use crate::verdict::Word;
use crate::watch::EndedRun;
use answer::{Estimate, Logs, Rule};
use measure::LatencyFigures;
use plan::RunKind;

/// CPU per I/O is compared at rates that are no farther apart.
const SAME_RATE_SHARE: f64 = 0.05;

/// Of fewer values beyond it, a percentile is a guess.
const SAMPLES_BEYOND: f64 = 10.0;

/// A figure that runs are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FigureKind {
    Rate,
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
}

/// The runs of one or more results that are compared as one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Side {
    pub name: String,
    pub runs: Vec<ComparedRun>,
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
    /// Runs without a partner.
    pub only_base: Vec<String>,
    pub only_other: Vec<String>,
}

/// Runs of both sides with the same load.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    pub name: String,
    /// Arrivals per second; `None` when flat out.
    pub asked_per_s: Option<f64>,
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
    estimate: Option<Estimate>,
}

/// Why a figure is shown and not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// The load has it fixed.
    RateAsked,
    /// Without a rate, latency follows from rate and slots.
    FlatOut,
    /// A percentile of too few values.
    FewSamples,
    /// CPU per I/O, at rates too far apart.
    OtherRates,
}

impl FigureKind {
    pub const ALL: [Self; 13] = [
        Self::Rate,
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
    ];

    /// As a user names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
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
        matches!(self, Self::Rate | Self::Throughput)
    }

    pub fn is_latency(self) -> bool {
        !self.is_more_better() && self != Self::CpuPerOperation
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
    pub fn of(run: &EndedRun) -> Option<Self> {
        let totals = &run.totals;
        if totals.started.kind != RunKind::Measure || totals.length_ns == 0 {
            return None;
        }
        let (response, service) = (totals.response(None), totals.service(None));
        let value = |kind: FigureKind| {
            let value = match (kind, kind.is_service()) {
                (FigureKind::Rate, _) => totals.rate(),
                (FigureKind::Throughput, _) => totals.bytes_per_second(),
                (FigureKind::CpuPerOperation, _) => totals.host_cpu_ns_per_operation()?,
                (_, true) => latency(&service, kind.percentile())?,
                (_, false) => latency(&response, kind.percentile())?,
            };
            Some(value)
        };
        let findings = run.judged.findings.iter().map(|finding| finding.word);
        Some(Self {
            name: totals.started.name.clone(),
            loops: totals.started.loops().unwrap_or_default().to_owned(),
            load: Loaded::of(totals),
            values: FigureKind::ALL.map(value),
            samples: response.histogram.count(),
            doubts: findings.clone().filter(|word| word.is_doubt()).collect(),
            is_closed_loop: findings.clone().any(|word| word == Word::ClosedLoop),
        })
    }

    pub fn full_name(&self) -> String {
        match self.loops.is_empty() {
            true => self.name.clone(),
            false => format!("{} ({})", self.name, self.loops),
        }
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

fn groups<'a>(side: &'a Side, rules: &Comparing) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for run in &side.runs {
        let is_same = |group: &&mut Group<'a>| {
            let first = group[0];
            (&first.name, &first.loops) == (&run.name, &run.loops)
                && (rules.ignores_load || first.load.is_like(&run.load))
        };
        match groups.iter_mut().find(is_same) {
            Some(group) => group.push(run),
            None => groups.push(vec![run]),
        }
    }
    groups
}

/// Compares what has the same load on both sides.
///
/// Runs are matched by load, and by name where several have the same. Of what has no partner the names are told.
pub fn compare(base: &Side, other: &Side, rules: &Comparing) -> Comparison {
    let mut out = Comparison {
        base: base.name.clone(),
        other: other.name.clone(),
        is_in_turn: rules.is_paired,
        differences: base.conditions.differences(&other.conditions),
        ..Comparison::default()
    };
    let (base, mut rest) = (groups(base, rules), groups(other, rules));
    let mut pairs: Vec<Option<Group<'_>>> = vec![None; base.len()];
    // The same name first; then what only one run on each side can be.
    for (place, group) in base.iter().enumerate() {
        let is_it = |other: &Group<'_>| {
            let names = |run: &ComparedRun| (run.name.clone(), run.loops.clone());
            names(other[0]) == names(group[0])
                && (rules.ignores_load || other[0].load.is_like(&group[0].load))
        };
        if let Some(at) = rest.iter().position(is_it) {
            pairs[place] = Some(rest.remove(at));
        }
    }
    for (place, group) in base.iter().enumerate() {
        let fits = |other: &Group<'_>| other[0].load.is_like(&group[0].load);
        let alike = base.iter().zip(&pairs);
        let alike =
            alike.filter(|(one, pair)| pair.is_none() && one[0].load.is_like(&group[0].load));
        let is_only = alike.count() == 1 && rest.iter().filter(|one| fits(one)).count() == 1;
        if pairs[place].is_none() && is_only {
            let at = rest.iter().position(fits).expect("it was counted");
            pairs[place] = Some(rest.remove(at));
        }
    }
    let mut logs = Vec::new();
    for (group, pair) in base.iter().zip(pairs) {
        match pair {
            Some(pair) => {
                out.cells.push(cell(group, &pair));
                logs.push((group.clone(), pair));
            }
            None => out.only_base.push(group[0].full_name()),
        }
    }
    out.only_other = rest.iter().map(|group| group[0].full_name()).collect();
    for kind in FigureKind::ALL {
        judge(&mut out.cells, &logs, kind, rules);
    }
    out
}

fn cell(base: &Group<'_>, other: &Group<'_>) -> Cell {
    let doubts = |group: &Group<'_>| {
        let mut doubts: Vec<Word> = group.iter().flat_map(|run| run.doubts.clone()).collect();
        doubts.sort();
        doubts.dedup();
        doubts
    };
    let all = || base.iter().chain(other);
    let named = match base[0].full_name() == other[0].full_name() {
        true => base[0].full_name(),
        false => format!("{} / {}", base[0].full_name(), other[0].full_name()),
    };
    Cell {
        name: named,
        asked_per_s: base[0].load.asked_per_s,
        runs: [base.len(), other.len()],
        doubts: [doubts(base), doubts(other)],
        is_closed_loop: all().all(|run| run.is_closed_loop),
        figures: Vec::new(),
    }
}

/// Adds one figure to all cells. What is called a difference depends on how many cells there are, and a cell scatters by no
/// less than half of them do.
fn judge(
    cells: &mut [Cell],
    groups: &[(Group<'_>, Group<'_>)],
    kind: FigureKind,
    rules: &Comparing,
) {
    let rule = Rule {
        margin: rules.margin.unwrap_or(kind.margin()),
        is_more_better: kind.is_more_better(),
        is_paired: rules.is_paired,
    };
    let values = |group: &Group<'_>| -> Vec<f64> {
        group.iter().filter_map(|run| run.value(kind)).collect()
    };
    let judged: Vec<Option<(Logs, Option<Unfit>)>> = cells
        .iter()
        .zip(groups)
        .map(|(cell, (base, other))| {
            let logs = Logs::of(&values(base), &values(other))?;
            Some((logs, unfit(cell, base, other, kind)))
        })
        .collect();
    let fit = || {
        let fit = judged.iter().flatten().filter(|(_, unfit)| unfit.is_none());
        fit.map(|(logs, _)| logs)
    };
    let floor = match fit().count() {
        // A cell alone knows nothing of others.
        0 | 1 => 0.0,
        _ => median(fit().filter_map(Logs::deviation).collect()),
    };
    let estimates = fit().filter_map(|logs| logs.estimate(&rule, floor));
    let chances: Vec<f64> = estimates.map(|estimate| estimate.chance()).collect();
    let mut differ = answer::differences(&chances).into_iter();
    for (cell, judged) in cells.iter_mut().zip(judged) {
        let Some((logs, unfit)) = judged else {
            continue;
        };
        let estimate = logs.estimate(&rule, floor);
        let differs = unfit.is_none() && estimate.is_some() && differ.next() == Some(true);
        cell.figures.push(ComparedFigure {
            kind,
            base: logs.base_mean(),
            other: logs.base_mean() * logs.ratio(),
            ratio: logs.ratio(),
            interval: estimate.map(|estimate| estimate.interval()),
            unfit,
            answer: estimate.map_or(Answer::TooFew, |one| one.answer(&rule, differs)),
            margin: rule.margin,
            estimate,
        });
    }
}

fn unfit(cell: &Cell, base: &Group<'_>, other: &Group<'_>, kind: FigureKind) -> Option<Unfit> {
    let runs = || base.iter().chain(other);
    let beyond = |run: &&ComparedRun, percentile: f64| {
        run.samples as f64 * (100.0 - percentile) / 100.0 < SAMPLES_BEYOND
    };
    let is_few = |percentile: f64| runs().any(|run| beyond(run, percentile));
    match (kind, cell.asked_per_s) {
        (FigureKind::Rate | FigureKind::Throughput, Some(_)) => Some(Unfit::RateAsked),
        (FigureKind::CpuPerOperation, _) => {
            let rate = cell.figure(FigureKind::Rate)?;
            let is_near = (rate.ratio - 1.0).abs() <= SAME_RATE_SHARE;
            (!is_near).then_some(Unfit::OtherRates)
        }
        _ if kind.is_latency() && cell.asked_per_s.is_none() => Some(Unfit::FlatOut),
        _ => kind
            .percentile()
            .is_some_and(is_few)
            .then_some(Unfit::FewSamples),
    }
}

impl Cell {
    pub fn figure(&self, kind: FigureKind) -> Option<&ComparedFigure> {
        self.figures.iter().find(|figure| figure.kind == kind)
    }
}

/// Zero without values.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        count => (values[(count - 1) / 2] + values[count / 2]) / 2.0,
    }
}

#[cfg(test)]
mod chance_tests;
#[cfg(test)]
mod tests;
