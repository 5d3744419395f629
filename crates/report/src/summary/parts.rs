//! Jobs that went on side by side in one run: the totals of each by itself.
use measure::RunTotals;
use plan::{Label, RunKind, StreamId};

/// The job that a stream belongs to, by the language that it comes from.
const JOB: &str = "job";

/// The totals of each job of a run, over the time of the run; none where there is one job or none.
pub(super) fn of_jobs(totals: &RunTotals) -> Vec<RunTotals> {
    let streams = &totals.started.streams;
    let mut names: Vec<&str> = Vec::new();
    for name in streams
        .iter()
        .filter_map(|one| Label::find(&one.labels, JOB))
    {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.len() < 2 || totals.started.kind != RunKind::Measure {
        return Vec::new();
    }
    names.iter().map(|name| of_job(totals, name)).collect()
}

fn of_job(totals: &RunTotals, name: &str) -> RunTotals {
    let streams = &totals.started.streams;
    let is_own = |id: StreamId| {
        let labels = streams.get(id.index()).map(|one| &one.labels[..]);
        labels.and_then(|labels| Label::find(labels, JOB)) == Some(name)
    };
    let mut of_job = totals.of_streams(is_own);
    of_job.started.name = name.to_owned();
    of_job
}
