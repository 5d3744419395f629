//! Jobs that went on side by side in one run: the totals of each by itself.
use measure::{RunTotals, StreamTotals};
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
    let ids = || (0..streams.len()).map(StreamId::at);
    let mut of_job = totals.clone();
    of_job.started.name = name.to_owned();
    let asked = ids().filter(|id| is_own(*id));
    of_job.started.asked_rate = asked
        .map(|id| streams[id.index()].asked_rate)
        .sum::<Option<f64>>();
    of_job.figures.retain(|one| is_own(one.key.stream));
    of_job.unreturned.retain(|one| is_own(one.key.stream));
    of_job.late.retain(|one| is_own(one.key.stream));
    of_job
        .data
        .retain(|one| one.streams.iter().all(|id| is_own(*id)));
    // Streams and pools keep their places: others are told by them.
    let others = of_job.streams.iter_mut().zip(ids());
    for (stream, _) in others.filter(|(_, id)| !is_own(*id)) {
        *stream = StreamTotals::default();
    }
    let is_used = |pool: usize| {
        let mut own = ids().filter(|id| is_own(*id));
        own.any(|id| streams[id.index()].pool as usize == pool)
    };
    let is_used: Vec<bool> = (0..of_job.pools.len().max(of_job.started.pools.len()))
        .map(is_used)
        .collect();
    for (pool, _) in of_job
        .pools
        .iter_mut()
        .zip(&is_used)
        .filter(|(_, used)| !**used)
    {
        (pool.busy_ns, pool.exhausted_ns) = (0, 0);
    }
    let infos = of_job.started.pools.iter_mut().zip(&is_used);
    for (info, _) in infos.filter(|(_, used)| !**used) {
        info.slots = 0;
    }
    of_job
}
