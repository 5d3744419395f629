//! Jobs that went on side by side in one run: the totals of each by itself, and which of them fared worst.
use crate::curve::Percentiles;
use measure::{RunStarted, RunTotals, StreamInfo};
use plan::{Label, RunKind, StreamId};
use std::collections::BTreeMap;

/// The job that a stream belongs to, by the language that it comes from.
const JOB: &str = "job";

/// What else names streams that do the same: a workload on several targets.
const WORKLOAD: &str = "wd";

/// Jobs whose p99 differ by this factor have no common one.
const APART_FACTOR: f64 = 2.0;

/// Fewer I/Os of a job do not tell its p99.
const SAMPLES_MIN: u64 = 100;

/// Of more jobs none is told by name.
const JOBS_MAX: usize = 64;

/// One of several jobs, as the sentence on the run tells it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JobFigures {
    pub name: String,
    pub rate_per_s: f64,
    pub response: Percentiles,
    pub response_bound_ns: Option<u64>,
}

/// The streams of each job of a run, and its totals over the time of the run; none where there is one job or none. One after
/// another, as there may be thousands.
pub(crate) fn of_jobs(totals: &RunTotals) -> impl Iterator<Item = (Vec<StreamId>, RunTotals)> {
    jobs_of(&totals.started).into_iter().map(|(name, streams)| {
        let mut of_job = totals.apart(&streams);
        of_job.started.name = name;
        (streams, of_job)
    })
}

/// The streams of each job, in the order of [`of_jobs`]; none where there is one job or none.
pub(crate) fn jobs_of(started: &RunStarted) -> Vec<(String, Vec<StreamId>)> {
    groups(started, &[JOB])
}

/// By what a stream is asked to do: its job or its workload.
pub(crate) fn work_of(stream: &StreamInfo) -> Option<&str> {
    named(stream, &[JOB, WORKLOAD])
}

fn named<'a>(stream: &'a StreamInfo, keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|key| Label::find(&stream.labels, key))
}

/// The streams of each job or workload; none where there is one or none.
fn groups(started: &RunStarted, keys: &[&str]) -> Vec<(String, Vec<StreamId>)> {
    let streams = started.streams.iter().enumerate();
    let mut groups: Vec<(String, Vec<StreamId>)> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (place, stream) in streams {
        let Some(name) = named(stream, keys) else {
            continue;
        };
        let known = *places.entry(name).or_insert(groups.len());
        if known == groups.len() {
            groups.push((name.to_owned(), Vec::new()));
        }
        groups[known].1.push(StreamId::at(place));
    }
    if groups.len() < 2 || started.kind != RunKind::Measure {
        groups.clear();
    }
    groups
}

/// The job with the highest p99, of its responses or of its syncs, where the jobs of a run have no common one; `None` where
/// they are alike.
pub(crate) fn worst(totals: &RunTotals) -> Option<JobFigures> {
    let groups = groups(&totals.started, &[JOB, WORKLOAD]);
    if groups.len() > JOBS_MAX {
        return None;
    }
    let of_group = |(name, streams): (String, Vec<StreamId>)| {
        let of_job = totals.apart(&streams);
        let response = Percentiles::of(&of_job.response(None), &of_job);
        let syncs = Percentiles::of(&of_job.syncs(), &of_job);
        let known = |one: &Percentiles| one.p99.filter(|_| one.samples >= SAMPLES_MIN);
        let p99_ns = known(&response)?.max(known(&syncs).unwrap_or(0));
        let job = JobFigures {
            name,
            rate_per_s: of_job.rate(),
            response,
            response_bound_ns: of_job.response_bound_ns(),
        };
        Some((p99_ns, job))
    };
    let mut told: Vec<(u64, JobFigures)> = groups.into_iter().filter_map(of_group).collect();
    told.sort_by_key(|(p99_ns, _)| *p99_ns);
    let best_ns = told.first()?.0;
    let (worst_ns, worst) = told.pop()?;
    (worst_ns as f64 >= APART_FACTOR * best_ns as f64).then_some(worst)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{closed, figure};
    use plan::Operation;

    /// Two jobs side by side, with so many I/Os of so long each.
    fn two(keys: [&str; 2], [one, other]: [(usize, u64); 2]) -> RunTotals {
        let mut totals = closed(0, &[]);
        let stream = totals.started.streams.remove(0);
        totals.figures.clear();
        totals.streams.push(totals.streams[0].clone());
        for (place, (count, service_ns)) in [one, other].into_iter().enumerate() {
            let mut stream = stream.clone();
            stream.labels = vec![Label::new(keys[place], format!("job{place}"))];
            totals.started.streams.push(stream);
            let values = vec![service_ns; count];
            totals
                .figures
                .push(figure(place as u32, Operation::Read, &values, &values));
        }
        totals
    }

    #[test]
    fn jobs_that_differ_have_a_worst_and_alike_ones_have_none() {
        let name = |totals: &RunTotals| worst(totals).map(|job| job.name);
        let jobs = |slow_ns| two(["job"; 2], [(1_000, 1_000_000), (1_000, slow_ns)]);
        assert_eq!(name(&jobs(2_100_000)).as_deref(), Some("job1"));
        assert_eq!(name(&jobs(1_900_000)), None);
        let workloads = two(["wd"; 2], [(1_000, 5_000_000), (1_000, 1_000_000)]);
        assert_eq!(name(&workloads).as_deref(), Some("job0"));
        // Too few I/Os tell no p99, and streams that nothing names are no jobs.
        assert_eq!(
            name(&two(["job"; 2], [(1_000, 1_000_000), (99, 9_000_000)])),
            None
        );
        assert_eq!(
            name(&two(["other"; 2], [(1_000, 1_000_000), (1_000, 9_000_000)])),
            None
        );
    }

    #[test]
    fn what_syncs_of_a_job_take_counts_where_there_are_many() {
        let with_syncs = |count: usize| {
            let mut totals = two(["job"; 2], [(1_000, 1_000_000), (1_000, 1_100_000)]);
            let values = vec![3_000_000; count];
            let syncs = figure(0, Operation::Sync, &values, &values);
            totals.figures.insert(1, syncs);
            worst(&totals).map(|job| job.name)
        };
        assert_eq!(with_syncs(500).as_deref(), Some("job0"));
        assert_eq!(with_syncs(1), None);
    }

    #[test]
    fn a_run_is_no_better_than_each_of_its_jobs() {
        use crate::evidence::{Check, Seen};
        use crate::gap::Reach;
        use crate::recovery::Happened;
        use crate::verdict::{Word, judge};
        let judged = |few: usize| {
            let totals = two(["job"; 2], [(2_000, 1_000_000), (few, 1_000_000)]);
            judge(&totals, (None, Happened::default()), Reach::Device, &[])
        };
        let told = judged(180);
        let found = told
            .findings
            .iter()
            .find(|one| one.word == Word::TooFewSamples);
        let text = "`job1`: p99 rests on 180 I/Os; it takes 1000 for ten beyond it";
        assert_eq!(found.map(|one| &*one.text), Some(text));
        let samples = |judged: &crate::verdict::Judged| {
            let mut rows = judged.evidence.iter();
            rows.find(|row| row.check == Check::Samples)
                .unwrap()
                .seen
                .clone()
        };
        assert_eq!(samples(&told), Seen::Bad);
        assert_eq!(samples(&judged(1_000)), Seen::Good);
    }

    #[test]
    fn each_job_is_apart() {
        let totals = two(["job"; 2], [(1_000, 1_000), (500, 1_000)]);
        let jobs: Vec<u64> = of_jobs(&totals).map(|(_, job)| job.operations()).collect();
        assert_eq!(jobs, [1_000, 500]);
        assert_eq!(of_jobs(&closed(0, &[1_000])).count(), 0);
    }
}
