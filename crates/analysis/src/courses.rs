//! The course of each job and each target of a run by itself: what the sum of all hides.
use crate::jobs;
use crate::steady::{
    COURSE_INTERVALS_MIN, LatencyCourse, Steadiness, latency_course, middle, separated,
};
use crate::words::{latency, number, span};
use measure::{Interval, LatencyFigures, RunStarted};
use plan::{StreamId, TargetId};
use std::collections::{BTreeMap, BTreeSet};

/// Fewer I/Os tell no median: of a job, as of a run, and of one of many targets, where chance has more to choose from.
const IOS_OF_JOB_MIN: u64 = 10;
const IOS_OF_TARGET_MIN: u64 = 30;

/// More jobs and targets are not followed, nor more medians of all of them: 32 MB.
const FOLLOWED_MAX: usize = 4096;
const MEDIANS_MAX: usize = 2_000_000;

/// A run has many targets, so that a step of one has to be rare by chance: all its medians of one side lie above all of the
/// other by this factor, and either side has so many, and this part of all.
const STEP_FACTOR_MIN: f64 = 4.0;
const STEP_SIDE_MIN: usize = 3;
const STEP_SIDE_PART: usize = 6;

/// It is beyond the steps of all others by this factor; else there is no telling whose it is.
const STEP_APART_FACTOR: f64 = 2.0;

/// A target is slower than others that do the same where nearly all of its medians lie above nearly all of theirs by this
/// factor. A queue that comes and goes takes some time to be told from that.
const LEVEL_FACTOR_MIN: f64 = 3.0;
const LEVEL_MEDIANS_MIN: usize = 20;
const LEVEL_TARGETS_MIN: usize = 4;

/// Targets that a sentence names.
const NAMED: usize = 3;

/// The jobs and targets of the run that is going.
#[derive(Debug, Default)]
pub(crate) struct Courses {
    has_targets: bool,
    job_of: BTreeMap<StreamId, usize>,
    jobs: Vec<(String, Followed)>,
    /// Of a run with several.
    targets: BTreeMap<TargetId, Followed>,
    medians: usize,
    /// Whether some of it was not followed.
    is_cut: bool,
}

/// One of them.
#[derive(Debug, Default)]
struct Followed {
    /// Since the last median.
    service: LatencyFigures,
    from_ns: Option<u64>,
    medians: Vec<Median>,
}

#[derive(Clone, Copy, Debug)]
struct Median {
    /// Where what it is of begins, since the start of the run.
    from_ns: u64,
    service_ns: u64,
}

/// What the jobs and targets of a run that is over did.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PartCourses {
    /// In their order; empty where there is one, and where they were not followed.
    pub jobs: Vec<JobCourse>,
    /// What some targets did, in words.
    pub uneven: Option<String>,
    /// Targets with too few I/Os for a course, of how many.
    pub untold: Option<(usize, usize)>,
    pub is_cut: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JobCourse {
    pub name: String,
    pub medians: usize,
    pub latency: Option<LatencyCourse>,
}

impl JobCourse {
    /// What is known of it by itself.
    pub(crate) fn steadiness(&self) -> Steadiness {
        Steadiness {
            intervals: self.medians,
            drift: None,
            stall: None,
            backlogs: None,
            variation: None,
            latency: self.latency,
        }
    }
}

/// Some targets that became slower or quicker than the others, or were slower all the time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Uneven {
    pub targets: Vec<TargetId>,
    /// How many there are.
    pub of: usize,
    /// Since the start of the run; `None` where it was so from the beginning.
    pub from_ns: Option<u64>,
    /// Medians of their service times: before, or of the others, and then.
    pub usual_ns: u64,
    pub then_ns: u64,
}

impl Courses {
    pub(crate) fn of(started: &RunStarted) -> Self {
        let mut courses = Self::default();
        for (place, (name, streams)) in jobs::jobs_of(started).into_iter().enumerate() {
            courses
                .job_of
                .extend(streams.into_iter().map(|stream| (stream, place)));
            courses.jobs.push((name, Followed::default()));
        }
        let mut targets = started.streams.iter().flat_map(|stream| &stream.targets);
        let first = targets.next();
        courses.has_targets = targets.any(|target| Some(target) != first);
        courses
    }

    pub(crate) fn add(&mut self, interval: &Interval) {
        if !self.has_targets && self.job_of.is_empty() {
            return;
        }
        // The sum of several intervals tells no median of each.
        self.is_cut |= interval.count() > 1;
        if self.is_cut {
            return;
        }
        for figure in interval
            .figures
            .iter()
            .filter(|one| !one.key.operation.is_sync())
        {
            let follow = |followed: &mut Followed| {
                followed.from_ns.get_or_insert(interval.start_ns);
                followed.service.merge(&figure.service);
            };
            if let Some(job) = self.job_of.get(&figure.key.stream) {
                follow(&mut self.jobs[*job].1);
            }
            if self.has_targets {
                follow(self.targets.entry(figure.key.target).or_default());
            }
        }
        let jobs = self.jobs.iter_mut();
        let jobs = jobs.map(|(_, job)| job.end_interval(IOS_OF_JOB_MIN));
        let targets = self.targets.values_mut();
        let targets = targets.map(|one| one.end_interval(IOS_OF_TARGET_MIN));
        self.medians += jobs.chain(targets).sum::<usize>();
        let followed = self.jobs.len() + self.targets.len();
        self.is_cut |= followed > FOLLOWED_MAX || self.medians > MEDIANS_MAX;
    }

    /// Of the run that is over. `is_one_of_many` is for targets that share their storage with others: what they are too few
    /// for, these tell.
    pub(crate) fn end(
        self,
        started: &RunStarted,
        name: &dyn Fn(TargetId) -> String,
        is_one_of_many: &dyn Fn(TargetId) -> bool,
    ) -> PartCourses {
        if self.is_cut {
            return PartCourses {
                is_cut: true,
                ..PartCourses::default()
            };
        }
        let is_untold = |(id, one): &(&TargetId, &Followed)| {
            one.medians.len() < COURSE_INTERVALS_MIN && !is_one_of_many(**id)
        };
        let untold = self.targets.iter().filter(is_untold).count();
        let jobs = self.jobs.iter().map(|(name, job)| JobCourse {
            name: name.clone(),
            medians: job.medians.len(),
            latency: latency_course(job.values()),
        });
        let uneven = self.stepped().or_else(|| self.slower(started));
        PartCourses {
            jobs: jobs.collect(),
            uneven: uneven.map(|uneven| uneven.text(name)),
            untold: (untold > 0).then_some((untold, self.targets.len())),
            is_cut: false,
        }
    }

    /// The targets whose latency went up or down at some time, where that of the others did not.
    fn stepped(&self) -> Option<Uneven> {
        let mut steps: Vec<(TargetId, Step)> = self
            .targets
            .iter()
            .map(|(id, one)| (*id, one.step()))
            .collect();
        steps.sort_by(|(_, one), (_, other)| other.factor.total_cmp(&one.factor));
        let is_apart = |count: &usize| {
            let (last, next) = (steps[*count - 1].1.factor, steps[*count].1.factor);
            last >= STEP_FACTOR_MIN && last >= STEP_APART_FACTOR * next.max(1.0)
        };
        let count = (1..=steps.len() / 2).rev().find(is_apart)?;
        let apart = &steps[..count];
        Some(Uneven {
            targets: apart.iter().map(|(id, _)| *id).collect(),
            of: steps.len(),
            from_ns: apart.iter().map(|(_, step)| step.from_ns).min(),
            usual_ns: apart[0].1.before_ns,
            then_ns: apart[0].1.after_ns,
        })
    }

    /// The targets that were slower than others that do the same.
    fn slower(&self, started: &RunStarted) -> Option<Uneven> {
        let mut work_on: BTreeMap<TargetId, BTreeSet<&str>> = BTreeMap::new();
        for stream in &started.streams {
            let work = jobs::work_of(stream).unwrap_or("");
            for id in &stream.targets {
                work_on.entry(*id).or_default().insert(work);
            }
        }
        let mut peers: BTreeMap<&BTreeSet<&str>, Vec<Level>> = BTreeMap::new();
        for (id, work) in &work_on {
            let followed = self.targets.get(id);
            let followed = followed.filter(|one| one.medians.len() >= LEVEL_MEDIANS_MIN);
            let level = followed.and_then(|one| one.level(*id));
            peers.entry(work).or_default().extend(level);
        }
        let groups = peers.into_values();
        let mut groups = groups.filter(|group| group.len() >= LEVEL_TARGETS_MIN);
        groups.find_map(slower_of)
    }
}

impl Uneven {
    pub(crate) fn text(&self, name: &dyn Fn(TargetId) -> String) -> String {
        let named = self.targets.iter().take(NAMED);
        let mut names: Vec<String> = named.map(|id| format!("`{}`", name(*id))).collect();
        if self.targets.len() > NAMED {
            names.push("…".to_owned());
        }
        let names = names.join(", ");
        let of = format!("{} of {} targets ({names})", self.targets.len(), self.of);
        let [usual, then] = [self.usual_ns, self.then_ns].map(|ns| latency(ns as f64));
        let factor = |more: u64, less: u64| number(more as f64 / less.max(1) as f64);
        match (self.from_ns, self.then_ns >= self.usual_ns) {
            (None, _) => format!(
                "{of} took {} times as long as the others: a median of {then}, of the others {usual}",
                factor(self.then_ns, self.usual_ns)
            ),
            (Some(from_ns), is_slower) => format!(
                "{of} became {} times {}, from {} on: a median of {usual}, then {then}",
                match is_slower {
                    true => factor(self.then_ns, self.usual_ns),
                    false => factor(self.usual_ns, self.then_ns),
                },
                if is_slower { "slower" } else { "faster" },
                span(from_ns)
            ),
        }
    }
}

/// Where nearly all medians of a target lie.
#[derive(Clone, Copy, Debug)]
struct Level {
    target: TargetId,
    low_ns: u64,
    middle_ns: u64,
    high_ns: u64,
}

fn slower_of(mut levels: Vec<Level>) -> Option<Uneven> {
    let high_ns = middle(&levels.iter().map(|one| one.high_ns).collect::<Vec<u64>>());
    levels.sort_by_key(|one| std::cmp::Reverse(one.low_ns));
    let is_slow = |one: &&Level| one.low_ns as f64 >= LEVEL_FACTOR_MIN * high_ns as f64;
    let count = levels.iter().take_while(is_slow).count();
    let (slow, others) = levels.split_at(count);
    let middle_of =
        |all: &[Level]| middle(&all.iter().map(|one| one.middle_ns).collect::<Vec<u64>>());
    let is_part = count > 0 && count <= levels.len() / LEVEL_TARGETS_MIN;
    is_part.then(|| Uneven {
        targets: slow.iter().map(|one| one.target).collect(),
        of: levels.len(),
        from_ns: None,
        usual_ns: middle_of(others),
        then_ns: middle_of(slow),
    })
}

/// The largest step of a target.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// One without a step.
    factor: f64,
    from_ns: u64,
    before_ns: u64,
    after_ns: u64,
}

impl Followed {
    /// How many medians that gives.
    fn end_interval(&mut self, ios_min: u64) -> usize {
        let Some(from_ns) = self
            .from_ns
            .filter(|_| self.service.histogram.count() >= ios_min)
        else {
            return 0;
        };
        self.medians.push(Median {
            from_ns,
            service_ns: self.service.percentile_ns(50.0),
        });
        self.service = LatencyFigures::default();
        self.from_ns = None;
        1
    }

    fn values(&self) -> Vec<u64> {
        self.medians.iter().map(|one| one.service_ns).collect()
    }

    fn step(&self) -> Step {
        let values = self.values();
        let floats: Vec<f64> = values.iter().map(|ns| *ns as f64).collect();
        let side = STEP_SIDE_MIN.max(values.len() / STEP_SIDE_PART);
        let found = separated(&floats, side).filter(|_| values.len() >= COURSE_INTERVALS_MIN);
        let (place, factor) = found.unwrap_or((0, 1.0));
        let middle = |values: &[u64]| if values.is_empty() { 0 } else { middle(values) };
        Step {
            factor,
            from_ns: self.medians.get(place).map_or(0, |one| one.from_ns),
            before_ns: middle(&values[..place]),
            after_ns: middle(&values[place..]),
        }
    }

    fn level(&self, target: TargetId) -> Option<Level> {
        let mut values = self.values();
        values.sort_unstable();
        let beyond = values.len() / 10;
        Some(Level {
            target,
            low_ns: *values.get(beyond)?,
            middle_ns: middle(&values),
            high_ns: *values.iter().rev().nth(beyond)?,
        })
    }
}
