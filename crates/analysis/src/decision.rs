//! What the next run is to have, from its load and from what the runs before it reached.
use measure::RunTotals;
use plan::{Coupling, Load, Plan, RunId, RunKind, SearchId};

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
    /// Observed shares of the streams in percent; none when nothing succeeded.
    shares_pct: Option<Vec<f64>>,
}

impl History {
    /// Adds a run that has ended. One that only prepares targets is left out: no rate depends on it.
    pub fn add(&mut self, run: RunId, totals: &RunTotals) {
        if totals.started.kind == RunKind::Prepare {
            return;
        }
        let operations = totals.operations();
        let share = |stream: usize| {
            let mine = totals
                .figures
                .iter()
                .filter(|figure| figure.key.stream.index() == stream);
            let count: u64 = mine.map(|figure| figure.operations).sum();
            count as f64 * 100.0 / operations as f64
        };
        let streams = 0..totals.started.streams.len();
        self.finished.push(Finished {
            run,
            rate: totals.rate(),
            service_mean_ns: totals.completed_service_ns_mean(),
            shares_pct: (operations > 0).then(|| streams.map(share).collect()),
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
                per_second: rate_of_percent(base, *pct, &mut remarks),
                shares_pct: None,
            }
        }
        Load::SearchPoint { search, pct } => {
            let base = history.base_of(plan, *search);
            let uncontrolled =
                base.is_some_and(|base| coupling(plan, base.run) == Coupling::Independent);
            let shares_pct = base
                .filter(|_| uncontrolled)
                .and_then(|base| base.shares_pct.clone());
            let base = rounded_base(base, &mut remarks);
            Decision::Rate {
                per_second: rate_of_percent(base, *pct, &mut remarks),
                shares_pct,
            }
        }
    };
    Next { decision, remarks }
}

/// The rate of a point, in operations per second: base × percent in whole numbers, rounded up to a
/// multiple of 100 above 1 000 and of 10 below, and at least 10. The percentage is cut to a whole
/// number, as the curves of old were; [`next`] remarks on it.
pub fn point_rate(base: u64, pct: f64) -> f64 {
    let exact = u128::from(base) * u128::from(pct.max(0.0) as u64) / 100;
    let step = if exact > 1_000 { 100 } else { 10 };
    exact.div_ceil(step).max(1).saturating_mul(step) as f64
}

fn rate_of_percent(base: u64, pct: f64, remarks: &mut Vec<String>) -> f64 {
    let rate = point_rate(base, pct);
    if pct.fract() != 0.0 {
        let whole = pct.max(0.0).trunc();
        remarks.push(format!(
            "percentages of a rate are whole numbers: {pct} % counts as {whole} %, which is {rate}/s"
        ));
    }
    rate
}

fn rounded_base(base: Option<&Finished>, remarks: &mut Vec<String>) -> u64 {
    let Some(base) = base else {
        remarks.push(format!(
            "no run before this one has a rate to take a percentage of; {EMPTY_BASE_RATE}/s is \
             used in its place"
        ));
        return EMPTY_BASE_RATE;
    };
    match base.rate.round() as u64 {
        0 => {
            remarks.push(format!(
                "the run that this rate depends on reached nothing; {EMPTY_BASE_RATE}/s is used \
                 in its place"
            ));
            EMPTY_BASE_RATE
        }
        rate => rate,
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
#[path = "decision_tests.rs"]
mod tests;
