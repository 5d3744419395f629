//! Which runs belong together in one picture: the latency curves and the thread sweeps, as the
//! analysis groups them.
use super::record::Judged;
use measure::RunTotals;
use plan::Load;
use serde::Serialize;

/// Runs by number, in the order of their rates.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Curve {
    pub name: String,
    /// The flat-out run whose rate the points are shares of.
    pub base: Option<usize>,
    pub points: Vec<usize>,
    pub knee: Option<usize>,
}

/// Runs that differ in their slots.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Sweep {
    pub name: String,
    /// Run and slots.
    pub points: Vec<(usize, u32)>,
}

/// Collects what the grouping needs.
#[derive(Debug, Default)]
pub(super) struct Curves {
    runs: Vec<(Load, u32, bool)>,
}

impl Curves {
    /// Takes a run and judges it.
    pub fn add(&mut self, totals: &RunTotals) -> Judged {
        self.runs.push((
            totals.started.load.clone(),
            totals.slots(),
            totals.started.is_open_loop,
        ));
        let asked = totals.started.asked_rate.unwrap_or(0.0);
        Judged {
            missed: totals.started.is_open_loop && totals.rate() < asked * 0.995,
            exhausted: totals.started.is_open_loop && totals.exhausted_share() > 0.01,
        }
    }

    pub fn curves(&self) -> Vec<Curve> {
        let mut all: Vec<(u32, Curve)> = Vec::new();
        for (index, (load, slots, _)) in self.runs.iter().enumerate() {
            let search = match load {
                Load::SearchBase { search } | Load::SearchPoint { search, .. } => search.0,
                _ => continue,
            };
            if all.iter().all(|(id, _)| *id != search) {
                all.push((
                    search,
                    Curve {
                        name: format!("{slots} slots"),
                        ..Curve::default()
                    },
                ));
            }
            let curve = &mut all
                .iter_mut()
                .find(|(id, _)| *id == search)
                .expect("pushed above")
                .1;
            match load {
                Load::SearchBase { .. } => curve.base = Some(index),
                _ => curve.points.push(index),
            }
        }
        all.into_iter().map(|(_, curve)| curve).collect()
    }

    pub fn sweeps(&self) -> Vec<Sweep> {
        let flat = self.runs.iter().enumerate().filter(|(_, run)| !run.2);
        let mut points: Vec<_> = flat.map(|(index, run)| (index, run.1)).collect();
        points.sort_by_key(|(_, slots)| *slots);
        if points.len() < 3 {
            return Vec::new();
        }
        vec![Sweep {
            name: "flat out".into(),
            points,
        }]
    }
}
