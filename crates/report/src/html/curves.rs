//! Which runs belong together in one picture: latency curves and sweeps of slots, as the analysis
//! groups them. Judges nothing itself.
use analysis::{
    CurvePoint, Exhausted, GapCause, IntervalFacts, Reach, RunOutline, ScheduleCheck, SeriesKind,
    knee, point, response_gap, series, steadiness,
};
use measure::{Interval, IntervalPhase, RunTotals};
use plan::Load;
use serde::Serialize;

/// Longer runs are not looked at for drift and stalls, so that memory stays bounded: a week in
/// intervals of five seconds.
const MAX_INTERVALS: usize = 120_000;

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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Sweep {
    pub name: String,
    /// Run and slots.
    pub points: Vec<(usize, u32)>,
}

/// Collects what the grouping needs of each run.
#[derive(Debug, Default)]
pub(super) struct Curves {
    outlines: Vec<RunOutline>,
    points: Vec<CurvePoint>,
    /// Of the run that is going.
    intervals: Vec<IntervalFacts>,
    is_too_long: bool,
}

/// What the analysis makes of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Judged {
    pub missed: bool,
    /// Completions against the schedule, where there is one.
    pub schedule: Option<ScheduleCheck>,
    pub exhausted: Option<Exhausted>,
    /// Whether anything that stores data was reached.
    pub has_device: bool,
    /// What arrivals waited for where response p99 is well above service p99.
    pub gap: Option<GapCause>,
    /// Share of submissions that were late, with what counts as late in nanoseconds.
    pub late: Option<(f64, u64)>,
    /// Whether there were enough intervals, and not too many, to tell drift.
    pub is_drift_known: bool,
    /// Change of the rate from the first third of the intervals to the last as a share of the first,
    /// when it drifts.
    pub drift: Option<f64>,
    /// Start interval and least length in nanoseconds of the longest span without a success.
    pub stall: Option<(u32, u64)>,
}

impl Curves {
    /// A run begins.
    pub fn start(&mut self) {
        self.intervals.clear();
        self.is_too_long = false;
    }

    pub fn add_interval(&mut self, interval: &Interval) {
        if interval.phase != IntervalPhase::Measured {
            return;
        }
        let room = MAX_INTERVALS.saturating_sub(self.intervals.len());
        let facts = IntervalFacts::all_of(interval);
        self.is_too_long |= facts.len() > room;
        self.intervals.extend(facts.into_iter().take(room));
    }

    /// Takes the totals of the run and judges it.
    pub fn add(&mut self, totals: &RunTotals, reach: Reach) -> Judged {
        let mut point = point(totals);
        // Where the rate is asked to change, neither its change nor a pause says anything.
        let is_one_rate = !matches!(totals.started.load, Load::Steps { .. });
        let steady = (!self.is_too_long && is_one_rate).then(|| steadiness(&self.intervals));
        let judged = Judged {
            missed: point.is_missed(),
            schedule: point.schedule,
            exhausted: Some(point.exhausted),
            has_device: reach == Reach::Device,
            gap: response_gap(totals, reach)
                .filter(|_| totals.started.is_open_loop)
                .map(|gap| gap.cause),
            late: point.late.map(|late| (late.share, late.limit_ns)),
            is_drift_known: steady.is_some_and(|steady| steady.drift.is_some()),
            drift: steady
                .and_then(|steady| steady.drift)
                .filter(|drift| drift.is_drifting)
                .map(|drift| drift.change_share),
            stall: steady
                .and_then(|steady| steady.stall)
                .map(|stall| (stall.first, stall.length_ns)),
        };
        point.is_stalled = judged.stall.is_some();
        self.points.push(point);
        self.outlines.push(RunOutline::of(totals));
        judged
    }

    /// The curves and the sweeps among the runs so far.
    pub fn pictures(&self) -> (Vec<Curve>, Vec<Sweep>) {
        let (mut curves, mut sweeps) = (Vec::new(), Vec::new());
        for series in series(&self.outlines) {
            match series.kind {
                SeriesKind::Curve { .. } | SeriesKind::Rates => {
                    curves.push(self.curve(series.title, &series.runs))
                }
                SeriesKind::SlotSweep => sweeps.push(Sweep {
                    name: series.title,
                    points: series
                        .runs
                        .into_iter()
                        .map(|run| (run, self.points[run].slots))
                        .collect(),
                }),
            }
        }
        (curves, sweeps)
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
    use measure::{Event, RunFold, RunStarted};
    use plan::RunKind;

    fn totals(name: &str, load: Load, asked_rate: Option<f64>) -> RunTotals {
        let mut fold = RunFold::default();
        fold.fold(&Event::RunStarted(RunStarted {
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
        fold.totals(None).unwrap()
    }

    fn pictures(runs: &[RunTotals]) -> (Vec<Curve>, Vec<Sweep>) {
        let mut curves = Curves::default();
        runs.iter().for_each(|run| {
            curves.add(run, Reach::Device);
        });
        curves.pictures()
    }

    #[test]
    fn a_list_of_rates_is_a_curve_without_base() {
        let rate = |per_second: f64| totals("rd", Load::Rate { per_second }, Some(per_second));
        let (curves, sweeps) = pictures(&[rate(300.0), rate(100.0), rate(200.0)]);
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
        let point = |pct: f64| totals("p", Load::SearchPoint { search, pct }, Some(pct));
        let base = totals("base", Load::SearchBase { search }, None);
        let (curves, _) = pictures(&[base, point(50.0), point(10.0)]);
        assert_eq!(curves[0].name, "base");
        assert_eq!(
            (curves[0].base, &curves[0].points[..]),
            (Some(0), &[2, 1][..])
        );
    }

    #[test]
    fn a_run_without_completions_misses_its_rate() {
        let mut missed = totals("rd", Load::Rate { per_second: 100.0 }, Some(100.0));
        missed.length_ns = 10_000_000_000;
        assert!(Curves::default().add(&missed, Reach::Device).missed);
        assert!(
            !Curves::default()
                .add(&totals("flat", Load::FlatOut, None), Reach::Device)
                .missed
        );
    }
}
