//! Jobs that went on side by side in one run: the totals of each by itself.
use measure::RunTotals;
use plan::{Label, RunKind, StreamId};
use std::collections::BTreeMap;

/// The job that a stream belongs to, by the language that it comes from.
const JOB: &str = "job";

/// The totals of each job of a run, over the time of the run; none where there is one job or none. One after another,
/// as there may be thousands.
pub(super) fn of_jobs(totals: &RunTotals) -> impl Iterator<Item = RunTotals> {
    let streams = totals.started.streams.iter().enumerate();
    let mut jobs: Vec<(&str, Vec<StreamId>)> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (place, stream) in streams {
        let Some(name) = Label::find(&stream.labels, JOB) else {
            continue;
        };
        let known = *places.entry(name).or_insert(jobs.len());
        if known == jobs.len() {
            jobs.push((name, Vec::new()));
        }
        jobs[known].1.push(StreamId::at(place));
    }
    if jobs.len() < 2 || totals.started.kind != RunKind::Measure {
        jobs.clear();
    }
    jobs.into_iter().map(|(name, streams)| {
        let mut of_job = totals.apart(&streams);
        of_job.started.name = name.to_owned();
        of_job
    })
}
