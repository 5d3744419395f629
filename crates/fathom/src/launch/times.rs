//! How long a job is planned to take, and how much of it ends with a size.
use crate::progress::duration;
use conduct::{expected_bytes, planned_ns};
use plan::{BoundPlan, RunId, RunKind};

/// The time of all runs that end by time, but the first few, with the pauses behind them.
pub fn timed_seconds(plan: &BoundPlan, but_first: usize) -> u64 {
    run_seconds(plan).skip(but_first).flatten().sum()
}

/// What the runs of such kinds move that end with a size, but the first few.
pub fn sized_bytes(
    plan: &BoundPlan,
    but_first: usize,
    is_counted: impl Fn(RunKind) -> bool,
) -> u64 {
    let left = plan.runs.iter().skip(but_first);
    let is_sized = |id: &&RunId| {
        let spec = plan.plan.spec(**id);
        planned_ns(&spec.timing).is_none() && is_counted(spec.kind)
    };
    let sized = left.filter(is_sized).map(|id| plan.run(*id));
    sized.filter_map(|run| expected_bytes(&run)).sum()
}

/// The time of all runs with the pauses between them; `None` when some end is a size.
pub fn planned_seconds(plan: &BoundPlan) -> Option<u64> {
    run_seconds(plan).sum()
}

/// Each run with the pause behind it, of the first pass where nothing but time ends the passes.
/// There is no pause after the last.
fn run_seconds(plan: &BoundPlan) -> impl Iterator<Item = Option<u64>> {
    let count = plan.run_count().unwrap_or(plan.runs.len() as u64);
    (0..count).map_while(move |number| {
        let (id, _) = plan.numbered(number)?;
        let spec = plan.plan.spec(id);
        let timing = spec.timing;
        let streams = &plan.plan.templates[spec.template.index()].streams;
        let by_clock = || {
            let mut ends = streams.iter().map(plan::Stream::clock_end_ns);
            ends.try_fold(0, |last, end| Some(last.max(end?)))
        };
        let pause_ns = if number + 1 == count {
            0
        } else {
            timing.pause_after.0
        };
        let end_ns = planned_ns(&timing).or_else(by_clock);
        Some(end_ns.map(|ns| (ns + pause_ns) / 1_000_000_000))
    })
}

/// For `check`: the planned time in words. `timed_s` is that of the runs whose end is a time.
pub fn planned_text(seconds: Option<u64>, timed_s: u64) -> String {
    match seconds {
        Some(seconds) => duration(seconds),
        None if timed_s > 0 => format!(
            "{} and the time that runs take which end with a size",
            duration(timed_s)
        ),
        None => "not known before, as runs end with a size".to_owned(),
    }
}
