//! What runs say as points of a curve: its knee, and latencies at rates that two curves have in common.
use super::{ComparedRun, FigureKind, LoadKind, Side};
use crate::curve::{CurvePoint, knee};
use crate::saturation::saturation;
use crate::series::{RunOutline, Series, SeriesKind, series};
use crate::verdict::Word;
use crate::watch::EndedRun;
use plan::{Label, Load};

/// The curve that a run is a point of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnCurve {
    pub title: String,
    /// Of those of the side, from zero.
    pub result: usize,
    /// Whether the rate was asked for as a share of another one: 70 % of one array are not 70 % of another.
    pub is_share: bool,
}

/// The runs of one result, as they are read.
#[derive(Debug, Default)]
pub struct ComparedResult {
    pub runs: Vec<ComparedRun>,
    /// Those of the whole job.
    pub globals: Vec<Label>,
    points: Vec<CurvePoint>,
    outlines: Vec<RunOutline>,
}

impl ComparedResult {
    /// Adds a run, unless it only prepares; whether it was added.
    pub fn add(&mut self, run: &EndedRun) -> bool {
        let Some(compared) = ComparedRun::of(run, &self.globals) else {
            return false;
        };
        self.runs.push(compared);
        self.points.push(run.judged.point.clone());
        self.outlines.push(RunOutline::of(&run.totals));
        true
    }
}

impl Side {
    /// Adds the runs of a result, and the knees of the curves among them.
    pub fn add(&mut self, mut result: ComparedResult) {
        let number = self.results;
        self.results += 1;
        let mut knees = Vec::new();
        let all = series(&result.outlines);
        let (sweeps, all): (Vec<Series>, Vec<Series>) = all
            .into_iter()
            .partition(|series| series.kind == SeriesKind::SlotSweep);
        for series in &sweeps {
            let points = series
                .runs
                .iter()
                .map(|place| result.points[*place].clone());
            let found = saturation(&points.collect::<Vec<CurvePoint>>());
            let rate = found.and_then(|found| found.rate());
            let name = named("saturation", &series.title, is_one(&sweeps));
            let mut of_sweep = of_curve(
                &result.runs[series.runs[0]],
                name,
                (FigureKind::Saturation, rate),
            );
            // Each run of it has others.
            (of_sweep.load.slots, of_sweep.load.swept) = (None, Vec::new());
            knees.push(of_sweep);
        }
        for series in &all {
            let load = |place: &usize| &result.outlines[*place].load;
            let is_point = |place: &usize| !matches!(load(place), Load::SearchBase { .. });
            let places: Vec<usize> = series.runs.iter().copied().filter(is_point).collect();
            let points: Vec<CurvePoint> = places
                .iter()
                .map(|place| result.points[*place].clone())
                .collect();
            if let Some(first) = places.first() {
                let rate = knee(&points).map(|knee| points[knee.point].achieved_per_s);
                let name = named("knee", &series.title, is_one(&all));
                knees.push(of_curve(
                    &result.runs[*first],
                    name,
                    (FigureKind::Knee, rate),
                ));
            }
            for place in places {
                let is_share = matches!(
                    load(&place),
                    Load::SearchPoint { .. } | Load::PercentOfPrevious { .. }
                );
                result.runs[place].curve = Some(OnCurve {
                    title: series.title.clone(),
                    result: number,
                    is_share,
                });
            }
        }
        self.runs.extend(result.runs);
        self.runs.extend(knees);
    }
}

/// Whether they are repeats of one.
fn is_one(all: &[Series]) -> bool {
    all.iter().all(|one| one.title == all[0].title)
}

/// The only curve of a result needs no name.
fn named(what: &str, title: &str, is_only: bool) -> String {
    match is_only {
        true => what.to_owned(),
        false => format!("{title}: {what}"),
    }
}

/// What runs are together, as a run of its own with one figure.
fn of_curve(
    point: &ComparedRun,
    name: String,
    (kind, rate): (FigureKind, Option<f64>),
) -> ComparedRun {
    let mut load = point.load.clone();
    (load.asked_per_s, load.kind) = (None, LoadKind::Curve);
    let mut values = [None; FigureKind::ALL.len()];
    values[kind.place()] = rate;
    ComparedRun {
        name,
        loops: String::new(),
        load,
        values,
        samples: 0,
        doubts: Vec::new(),
        is_closed_loop: false,
        curve: None,
    }
}

/// The points of one curve of one result that held their rates, by rate.
type Points<'a> = Vec<(f64, &'a ComparedRun)>;

fn titles(side: &Side) -> Vec<&str> {
    let mut titles = Vec::new();
    for curve in side.runs.iter().filter_map(|run| run.curve.as_ref()) {
        if !titles.contains(&&*curve.title) {
            titles.push(&*curve.title);
        }
    }
    titles
}

fn is_on(run: &ComparedRun, title: &str) -> bool {
    run.curve.as_ref().is_some_and(|curve| curve.title == title)
}

/// By result.
fn curves<'a>(side: &'a Side, title: &str) -> Vec<Points<'a>> {
    let of_result = |result: usize| {
        let is_of = |run: &&ComparedRun| {
            let curve = run.curve.as_ref();
            curve.is_some_and(|curve| curve.title == title && curve.result == result)
                && !run.doubts.contains(&Word::RateMissed)
        };
        let points = side.runs.iter().filter(is_of);
        let mut points: Points<'a> = points
            .filter_map(|run| Some((run.load.asked_per_s?, run)))
            .collect();
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        points
    };
    let all = (0..side.results).map(of_result);
    all.filter(|points| !points.is_empty()).collect()
}

/// Both sides, where points that were asked for as shares are replaced by what lies between them at rates that all curves
/// of a title reach on both sides. `None` where there are none.
pub(super) fn at_common_rates(base: &Side, other: &Side) -> Option<[Side; 2]> {
    let titles = [titles(base), titles(other)];
    let pairs: Vec<[&str; 2]> = match (&*titles[0], &*titles[1]) {
        ([one], [other]) => vec![[one, other]],
        (all, others) => {
            let both = all.iter().filter(|title| others.contains(title));
            both.map(|title| [*title, *title]).collect()
        }
    };
    let mut sides = [base.clone(), other.clone()];
    let is_only = pairs.len() == 1;
    let mut is_changed = false;
    for pair in pairs {
        let of_side = [curves(base, pair[0]), curves(other, pair[1])];
        let rates = common_rates(&of_side);
        if rates.is_empty() {
            continue;
        }
        is_changed = true;
        for ((side, title), curves) in sides.iter_mut().zip(pair).zip(&of_side) {
            side.runs.retain(|run| !is_on(run, title));
            for (rate, points) in rates
                .iter()
                .flat_map(|rate| curves.iter().map(move |points| (rate, points)))
            {
                let name = if is_only { "" } else { pair[0] };
                side.runs.push(at_rate(*rate, points, name.to_owned()));
            }
        }
    }
    is_changed.then_some(sides)
}

/// Those of the first curve of the base that lie on all curves; none where no rate was asked for as a share.
fn common_rates(sides: &[Vec<Points<'_>>; 2]) -> Vec<f64> {
    let all = || sides.iter().flatten();
    let is_share = |points: &Points<'_>| {
        let mut curves = points.iter().filter_map(|(_, run)| run.curve.as_ref());
        curves.any(|curve| curve.is_share)
    };
    let Some(first) = sides[0].first() else {
        return Vec::new();
    };
    if sides[1].is_empty() || !all().any(is_share) {
        return Vec::new();
    }
    let is_on_all = |rate: &f64| all().all(|points| between(*rate, points).is_some());
    let rates = first.iter().map(|(rate, _)| rounded(*rate));
    let mut rates: Vec<f64> = rates.filter(is_on_all).collect();
    rates.dedup();
    rates
}

/// To three digits.
fn rounded(rate: f64) -> f64 {
    let step = 10_f64.powf(rate.log10().floor() - 2.0);
    (rate / step).round() * step
}

/// The neighbours of a rate on a curve, and how far it lies between them, 0 to 1.
fn between<'a>(rate: f64, points: &Points<'a>) -> Option<(&'a ComparedRun, &'a ComparedRun, f64)> {
    points.windows(2).find_map(|pair| {
        let [(from, one), (to, other)] = pair else {
            return None;
        };
        let is_in = (*from..=*to).contains(&rate) && from < to;
        is_in.then(|| (*one, *other, (rate - from) / (to - from)))
    })
}

/// What lies on a curve at a rate: logs of times in a straight line between the neighbours.
fn at_rate(rate: f64, points: &Points<'_>, name: String) -> ComparedRun {
    let (one, other, share) = between(rate, points).expect("the rate is on all curves");
    let value = |kind: FigureKind| {
        let (from, to) = (one.value(kind)?, other.value(kind)?);
        let is_such = kind.is_latency() || kind.is_cpu();
        match kind {
            FigureKind::Rate => Some(rate),
            _ => (is_such && from > 0.0 && to > 0.0)
                .then(|| (from.ln() + share * (to.ln() - from.ln())).exp()),
        }
    };
    let mut doubts = [&*one.doubts, &*other.doubts].concat();
    doubts.sort();
    doubts.dedup();
    let mut load = one.load.clone();
    (load.asked_per_s, load.kind) = (Some(rate), LoadKind::Interpolated);
    ComparedRun {
        name,
        loops: String::new(),
        load,
        values: FigureKind::ALL.map(value),
        samples: one.samples.min(other.samples),
        doubts,
        is_closed_loop: false,
        curve: None,
    }
}

#[cfg(test)]
#[path = "curves_tests.rs"]
mod tests;
