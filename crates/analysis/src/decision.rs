//! What the next run is to have, from its load and from what the runs before it reached.
use measure::RunTotals;
use plan::{Coupling, Load, Plan, RunId, SearchId};

/// A base that reached nothing is taken as this rate.
const EMPTY_BASE_RATE: u64 = 10_000;

/// What to do with the next run.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// As much as the slots allow, or as each stream says.
    FlatOut,
    /// Arrivals per second over all streams; with shares in percent in place of those of the plan.
    Rate {
        per_second: f64,
        shares_pct: Option<Vec<f64>>,
    },
    /// The execution is over, as a search has found what it looked for.
    EndExecution { message: String },
}

/// A decision with what the user should know about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Next {
    pub decision: Decision,
    pub remarks: Vec<String>,
}

/// What finished runs reached.
#[derive(Clone, Debug, Default)]
pub struct History {
    finished: Vec<Finished>,
}

#[derive(Clone, Debug)]
struct Finished {
    run: RunId,
    rate: f64,
    service_mean_ns: f64,
    /// Observed shares of the streams in percent.
    shares_pct: Vec<f64>,
}

impl History {
    /// Adds a run that has ended.
    pub fn add(&mut self, run: RunId, totals: &RunTotals) {
        let operations = totals.operations();
        let share = |stream: usize| {
            let mine = totals
                .figures
                .iter()
                .filter(|figure| figure.key.stream.index() == stream);
            let count: u64 = mine.map(|figure| figure.operations).sum();
            count as f64 * 100.0 / operations.max(1) as f64
        };
        self.finished.push(Finished {
            run,
            rate: totals.rate(),
            service_mean_ns: totals.service(None).mean_ns(),
            shares_pct: (0..totals.started.streams.len()).map(share).collect(),
        });
    }

    fn last(&self) -> Option<&Finished> {
        self.finished.last()
    }

    fn base_of(&self, plan: &Plan, search: SearchId) -> Option<&Finished> {
        self.finished
            .iter()
            .rev()
            .find(|finished| plan.spec(finished.run).load == Load::SearchBase { search })
    }
}

/// Decides about run `id`.
pub fn next(plan: &Plan, id: RunId, history: &History) -> Next {
    let mut remarks = Vec::new();
    if let Some(message) = search_has_ended(plan, history) {
        return Next {
            decision: Decision::EndExecution { message },
            remarks,
        };
    }
    let spec = plan.spec(id);
    let decision = match &spec.load {
        Load::FlatOut | Load::SearchBase { .. } | Load::PerStream | Load::Steps { .. } => {
            Decision::FlatOut
        }
        Load::Rate { per_second } => Decision::Rate {
            per_second: *per_second,
            shares_pct: None,
        },
        Load::PercentOfPrevious { pct } => {
            let base = rounded_base(history.last(), &mut remarks);
            Decision::Rate {
                per_second: point_rate(base, *pct),
                shares_pct: None,
            }
        }
        Load::SearchPoint { search, pct } => {
            let base = history.base_of(plan, *search);
            let uncontrolled =
                base.is_some_and(|base| coupling(plan, base.run) == Coupling::Independent);
            let shares_pct = base
                .filter(|_| uncontrolled)
                .map(|base| base.shares_pct.clone());
            let base = rounded_base(base, &mut remarks);
            Decision::Rate {
                per_second: point_rate(base, *pct),
                shares_pct,
            }
        }
    };
    Next { decision, remarks }
}

/// The rate of a point: base × percent in whole numbers, rounded up to a multiple of 100 above
/// 1 000 and of 10 below. The percentage is cut to a whole number, as the curves of old were.
pub fn point_rate(base: u64, pct: f64) -> f64 {
    let exact = (u128::from(base) * (pct.max(0.0) as u128) / 100) as u64;
    let step = if exact > 1_000 { 100 } else { 10 };
    exact.next_multiple_of(step).max(step) as f64
}

fn rounded_base(base: Option<&Finished>, remarks: &mut Vec<String>) -> u64 {
    match base.map(|base| base.rate.round() as u64) {
        Some(rate) if rate > 0 => rate,
        _ => {
            remarks.push(format!(
                "the run that this rate depends on reached nothing; {EMPTY_BASE_RATE}/s is used in its place"
            ));
            EMPTY_BASE_RATE
        }
    }
}

fn coupling(plan: &Plan, run: RunId) -> Coupling {
    let spec = plan.spec(run);
    spec.coupling
        .unwrap_or(plan.templates[spec.template.index()].coupling)
}

/// A point of a search whose service time was above the limit of the search ends everything.
fn search_has_ended(plan: &Plan, history: &History) -> Option<String> {
    let last = history.last()?;
    let Load::SearchPoint { search, .. } = plan.spec(last.run).load else {
        return None;
    };
    let limit_ns = plan.search(search).stop?.service_above.0 as f64;
    (last.service_mean_ns > limit_ns).then(|| {
        format!(
            "the mean service time of `{}` was {:.3} ms, above the limit of {:.3} ms",
            plan.spec(last.run).name,
            last.service_mean_ns / 1e6,
            limit_ns / 1e6
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_round_up_as_curves_always_did() {
        let points = |base, pcts: &[u32]| {
            pcts.iter()
                .map(|p| point_rate(base, f64::from(*p)) as u64)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            points(130_848, &[1, 10, 70, 80]),
            [1_400, 13_100, 91_600, 104_700]
        );
        assert_eq!(points(20_554, &[10, 50]), [2_100, 10_300]);
        assert_eq!(
            points(274_637, &[10, 50, 70, 80, 90, 100]),
            [27_500, 137_400, 192_300, 219_800, 247_200, 274_700]
        );
        assert_eq!(
            points(53_739, &[10, 50, 70, 80]),
            [5_400, 26_900, 37_700, 43_000]
        );
        assert_eq!(
            points(35_000_000, &[100]),
            [35_000_000],
            "no overflow at 2^31"
        );
        assert_eq!(points(500, &[1]), [10]);
    }
}
