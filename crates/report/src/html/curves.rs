//! Which runs belong together in one picture: latency curves and sweeps of slots, as the analysis
//! groups them. Judges nothing itself.
use analysis::{
    Axis, CurvePoint, EndedRun, RunOutline, Scaling, Series, SeriesKind, common_values, grids,
    knee, saturation, scalings, series,
};
use plan::Load;
use serde::Serialize;

/// Runs by number, in the order of their rates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Curve {
    pub name: String,
    /// The flat-out run whose rate the points are shares of.
    pub base: Option<usize>,
    pub points: Vec<usize>,
    pub knee: Option<usize>,
}

/// Runs that differ in their slots.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Sweep {
    pub name: String,
    /// Run and slots.
    pub points: Vec<(usize, u32)>,
    /// Where more threads stop to bring more rate, in words and as a rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saturation: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saturated_at: Option<f64>,
}

/// Runs by what a sweep varied.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Grid {
    pub name: String,
    pub axes: Vec<GridAxis>,
    /// A run and its place on each axis.
    pub cells: Vec<(usize, Vec<usize>)>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct GridAxis {
    pub name: String,
    pub values: Vec<f64>,
    /// The same as a reader has them.
    pub texts: Vec<String>,
}

impl GridAxis {
    fn of(axis: &Axis) -> Self {
        Self {
            name: axis.title(),
            values: axis.values.clone(),
            texts: axis.values.iter().map(|value| axis.text(*value)).collect(),
        }
    }
}

/// Collects what the grouping needs of each run.
#[derive(Debug, Default)]
pub(super) struct Curves {
    outlines: Vec<RunOutline>,
    points: Vec<CurvePoint>,
}

impl Curves {
    pub fn add(&mut self, run: &EndedRun) {
        self.points.push(run.judged.point.clone());
        self.outlines.push(RunOutline::of(&run.totals));
    }

    /// What was varied in jobs, and what made them scale.
    pub fn scalings(&self) -> Vec<Scaling> {
        scalings(self.points.iter().zip(&self.outlines))
    }

    /// The curves and the sweeps among the runs so far, and grids of what else was varied.
    pub fn pictures(&self) -> (Vec<Curve>, Vec<Sweep>, Vec<Grid>) {
        let (mut curves, mut sweeps) = (Vec::new(), Vec::new());
        let all = series(&self.outlines);
        let is_shared = |title: &str| {
            let curves = all.iter().filter(|one| one.kind != SeriesKind::SlotSweep);
            curves.filter(|one| one.title == title).count() > 1
        };
        for series in &all {
            match series.kind {
                SeriesKind::Curve { .. } | SeriesKind::Rates => {
                    let mut name = series.title.clone();
                    if is_shared(&series.title) {
                        name += &common_values(&self.outlines, &series.runs);
                    }
                    curves.push(self.curve(name, &series.runs));
                }
                SeriesKind::SlotSweep => sweeps.push(self.sweep(series)),
            }
        }
        let all_grids = grids(&self.outlines).into_iter();
        // What is a curve or a sweep of slots has its picture.
        let is_new = |grid: &analysis::Grid| {
            let is_in = |series: &Series| {
                let mut cells = grid.cells.iter();
                cells.all(|(run, _)| series.runs.contains(run))
            };
            grid.axes.len() > 1 || !all.iter().any(is_in)
        };
        let grid = |grid: analysis::Grid| Grid {
            name: grid.title,
            axes: grid.axes.iter().map(GridAxis::of).collect(),
            cells: grid.cells,
        };
        let grids = all_grids.filter(is_new).map(grid).collect();
        (curves, sweeps, grids)
    }

    fn sweep(&self, series: &Series) -> Sweep {
        let runs = || series.runs.iter().copied();
        let points: Vec<CurvePoint> = runs().map(|run| self.points[run].clone()).collect();
        let found = saturation(&points);
        Sweep {
            name: series.title.clone(),
            points: runs().map(|run| (run, self.points[run].slots)).collect(),
            saturation: found.map(|found| found.words()),
            saturated_at: found.and_then(|found| found.rate()),
        }
    }

    fn curve(&self, name: String, runs: &[usize]) -> Curve {
        let is_base = |run: &usize| matches!(self.outlines[*run].load, Load::SearchBase { .. });
        let base = runs.iter().copied().find(is_base);
        let mut points: Vec<usize> = runs.iter().copied().filter(|run| !is_base(run)).collect();
        points.sort_by(|one, other| self.rate(*one).total_cmp(&self.rate(*other)));
        let of_points: Vec<CurvePoint> =
            points.iter().map(|run| self.points[*run].clone()).collect();
        let knee = knee(&of_points).map(|knee| points[knee.point]);
        Curve {
            name,
            base,
            points,
            knee,
        }
    }

    /// Along the line of a curve a point stands where it was meant to, so that one that fell behind
    /// does not change places with its neighbour.
    fn rate(&self, run: usize) -> f64 {
        let point = &self.points[run];
        point.asked_per_s.unwrap_or(point.achieved_per_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::Watch;
    use measure::{Event, RunStarted};
    use plan::RunKind;

    fn run(name: &str, load: Load, asked_rate: Option<f64>) -> EndedRun {
        let mut watch = Watch::default();
        watch.on_event(&Event::RunStarted(RunStarted {
            run: 0,
            runs: 1,
            name: name.into(),
            kind: RunKind::Measure,
            unix_ns: 0,
            interval_ns: 1,
            warmup_ns: 0,
            window_ns: None,
            unmeasured_intervals: 0,
            is_open_loop: asked_rate.is_some(),
            load,
            asked_rate,
            law: None,
            pools: Vec::new(),
            streams: Vec::new(),
            expected_bytes: None,
            labels: Vec::new(),
            swept: Vec::new(),
        }));
        watch.end().unwrap()
    }

    fn pictures(runs: &[EndedRun]) -> (Vec<Curve>, Vec<Sweep>, Vec<Grid>) {
        let mut curves = Curves::default();
        runs.iter().for_each(|run| curves.add(run));
        curves.pictures()
    }

    #[test]
    fn a_list_of_rates_is_a_curve_without_base() {
        let rate = |per_second: f64| run("rd", Load::Rate { per_second }, Some(per_second));
        let (curves, sweeps, _) = pictures(&[rate(300.0), rate(100.0), rate(200.0)]);
        assert_eq!((curves.len(), sweeps.len()), (1, 0));
        assert_eq!(
            (curves[0].base, &curves[0].points[..]),
            (None, &[1, 2, 0][..])
        );
        assert_eq!(
            pictures(&[rate(100.0), rate(100.0)]).0,
            [],
            "one rate is no curve"
        );
    }

    #[test]
    fn a_search_has_its_base_apart() {
        let search = plan::SearchId(0);
        let point = |pct: f64| run("p", Load::SearchPoint { search, pct }, Some(pct));
        let base = run("base", Load::SearchBase { search }, None);
        let (curves, ..) = pictures(&[base, point(50.0), point(10.0)]);
        assert_eq!(curves[0].name, "base");
        assert_eq!(
            (curves[0].base, &curves[0].points[..]),
            (Some(0), &[2, 1][..])
        );
    }
}
