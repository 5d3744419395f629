//! Follows the events of an execution and judges each run at its end: the one fold that every report speaks from.
use crate::courses::Courses;
use crate::execution::{Heard, Verdict, verdict};
use crate::failed::FailedIos;
use crate::gap::Reach;
use crate::jobs;
use crate::medium::medium;
use crate::moment::Moment;
use crate::recovery::Happened;
use crate::scaling::{Scaling, scalings};
use crate::series::RunOutline;
use crate::standstill::{Mark, Standstills};
use crate::steady::{IntervalFacts, Steadiness, steadiness};
use crate::target_view::TargetView;
use crate::verdict::{Judged, judge, judge_job};
use measure::{
    Event, ExecutionTarget, HostId, Interval, IntervalPhase, RunFinished, RunFold, RunTotals,
};
use plan::{Load, Operation, TargetId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Longer runs are not looked at for changes and stalls, so that memory stays bounded: a week in
/// intervals of five seconds.
const MAX_INTERVALS: usize = 120_000;

/// The same of those whose latencies are kept: an hour and a half of tenths of seconds.
const MAX_MOMENTS: usize = 54_000;

/// Backends whose submitting calls return before an I/O is done, by their names in the record.
const QUEUED: [&str; 2] = ["uring", "aio"];

/// Backends that reach no target, by their names in the record.
const UNREAL: [&str; 2] = ["sim", "null"];

/// A run that is over, with what it says.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedRun {
    pub totals: RunTotals,
    pub judged: Judged,
    reach: Reach,
    /// All of the execution, and which of them the run reached, with whether they had been written before.
    targets: Arc<[ExecutionTarget]>,
    reached: Vec<(TargetId, bool)>,
}

impl EndedRun {
    /// Of totals alone: of a record that tells no course, and no targets.
    pub fn of_totals(totals: RunTotals) -> Self {
        let judged = judge(&totals, (None, Happened::default()), Reach::Device, &[]);
        Self {
            totals,
            judged,
            reach: Reach::Device,
            targets: Arc::default(),
            reached: Vec::new(),
        }
    }

    /// Each of its jobs by itself, where several went on side by side.
    pub fn jobs(&self) -> impl Iterator<Item = (RunTotals, Judged)> {
        let targets = views(&self.targets, &self.reached);
        let medium = medium(&self.totals, &targets);
        let happened = &self.judged.happened;
        let jobs = jobs::of_jobs(&self.totals).enumerate();
        jobs.map(move |(place, (streams, totals))| {
            let own = medium.of_streams(&streams);
            let judged = judge_job(&totals, (place, happened), self.reach, (&targets, own));
            (totals, judged)
        })
    }
}

fn views<'a>(targets: &'a [ExecutionTarget], reached: &[(TargetId, bool)]) -> Vec<TargetView<'a>> {
    let views = reached.iter().filter_map(|(id, is_written)| {
        Some(TargetView {
            id: *id,
            target: targets.get(id.index())?,
            is_written: *is_written,
        })
    });
    views
        .filter(|view| !view.target.identity.kind.is_empty())
        .collect()
}

/// Takes events in their order; gives each run when it is over.
#[derive(Debug, Default)]
pub struct Watch {
    backend: String,
    targets: Arc<[ExecutionTarget]>,
    /// Names by their places, where there are several.
    hosts: Vec<String>,
    /// Targets that are one on several hosts.
    shared: Vec<Vec<TargetId>>,
    fold: RunFold,
    /// Of the run that is going.
    intervals: Vec<IntervalFacts>,
    is_too_long: bool,
    is_going: bool,
    /// Whether the run lost a host, without which the others went on.
    lacks_host: bool,
    failed: FailedIos,
    /// Of the run that is going.
    standstills: Standstills,
    moments: Vec<Moment>,
    courses: Courses,
    /// Whether some are missing: a record of a long run is read as sums of its intervals.
    lacks_moments: bool,
    /// Moments that were marked during a run.
    marks: Vec<Mark>,
    /// What drivers said last of each device.
    states: BTreeMap<String, String>,
    begun_unix_ns: u64,
    heard: Vec<Heard>,
    /// Targets that some run has written to.
    written: BTreeSet<TargetId>,
}

/// The file system that a file lies on.
fn mount_of(target: &ExecutionTarget) -> Option<(HostId, &str)> {
    let mount = target.identity.mount.as_ref()?;
    Some((target.host, &mount.point))
}

fn on_mounts(targets: &[ExecutionTarget]) -> BTreeMap<(HostId, &str), usize> {
    let mut counts = BTreeMap::new();
    for mount in targets.iter().filter_map(mount_of) {
        *counts.entry(mount).or_insert(0) += 1;
    }
    counts
}

fn shared(targets: &[ExecutionTarget]) -> Vec<Vec<TargetId>> {
    let mut by_name: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (place, target) in targets.iter().enumerate() {
        if let Some(name) = target.identity.shared_name() {
            by_name.entry(name).or_default().push(place);
        }
    }
    by_name.retain(|_, places| {
        let hosts: BTreeSet<_> = places.iter().map(|place| targets[*place].host).collect();
        hosts.len() > 1
    });
    let members = by_name.into_values();
    members
        .map(|places| places.into_iter().map(TargetId::at).collect())
        .collect()
}

impl Watch {
    /// Takes the next event. Gives a run that it ends: that of its end, or one whose end is missing when the next begins.
    pub fn on_event(&mut self, event: &Event) -> Option<EndedRun> {
        match event {
            Event::ExecutionStarted(started) => {
                self.backend.clone_from(&started.backend);
                self.targets = started.targets.clone().into();
                self.shared = shared(&started.targets);
                self.hosts = started.hosts.iter().map(|host| host.name.clone()).collect();
            }
            Event::RunStarted(started) => {
                let unfinished = self.end();
                self.begun_unix_ns = started.unix_ns;
                self.states.clear();
                self.failed = FailedIos::default();
                self.courses = Courses::of(started);
                self.fold.fold(event);
                (self.is_going, self.lacks_host) = (true, false);
                return unfinished;
            }
            Event::IoFailure(failure) if self.is_going => self.failed.add(failure),
            Event::Interval(interval) => {
                self.failed.count(interval);
                self.fold.fold(event);
                self.add_interval(interval);
            }
            Event::Remark(remark) if remark.code == "host-lost" => self.lacks_host = true,
            Event::Remark(remark) if remark.code == "stream-failed" => self.failed.end_stream(),
            Event::Remark(remark) if remark.is_mark() && self.is_going => self.marks.push(Mark {
                unix_ns: remark.unix_ns,
                text: remark.message.clone(),
            }),
            Event::RunFinished(finished) => return self.ended(Some(finished.clone())),
            _ => {
                self.fold.fold(event);
            }
        }
        None
    }

    /// The run whose end has not been seen, after the last event.
    pub fn end(&mut self) -> Option<EndedRun> {
        self.ended(None)
    }

    /// What the runs that are over come to; `None` where none of them measures.
    pub fn verdict(&self) -> Option<Verdict> {
        verdict(&self.heard)
    }

    /// What was varied in the runs that are over, and what made them scale.
    pub fn scalings(&self) -> Vec<Scaling> {
        let runs = self.heard.iter();
        scalings(runs.map(|run| (&run.judged.point, &run.outline)))
    }

    /// The targets that a run reached, and whether an earlier run has written to them; none without storage.
    fn reached(&self, totals: &RunTotals) -> Vec<(TargetId, bool)> {
        if UNREAL.contains(&&*self.backend) {
            return Vec::new();
        }
        let ids = totals.figures.iter().map(|figure| figure.key.target);
        let ids = ids.collect::<BTreeSet<_>>().into_iter();
        ids.map(|id| (id, self.written.contains(&id))).collect()
    }

    /// A device whose state changes marks that by itself, at the beginning of the interval in which it did.
    fn mark_states(&mut self, interval: &Interval) {
        for device in &interval.host.devices {
            let Some(state) = &device.state else { continue };
            let name = device.device.to_string();
            let before = self.states.insert(name.clone(), state.clone());
            if let Some(before) = before.filter(|before| before != state) {
                self.marks.push(Mark {
                    unix_ns: self.begun_unix_ns + interval.start_ns,
                    text: format!("{name}: {before} → {state}"),
                });
            }
        }
    }

    fn add_interval(&mut self, interval: &Interval) {
        self.mark_states(interval);
        if interval.phase != IntervalPhase::Measured {
            return;
        }
        self.standstills.add(interval);
        self.courses.add(interval);
        let moment = Moment::of(interval).filter(|_| self.moments.len() < MAX_MOMENTS);
        self.lacks_moments |= moment.is_none();
        self.moments.extend(moment);
        let room = MAX_INTERVALS.saturating_sub(self.intervals.len());
        let facts = IntervalFacts::all_of(interval);
        self.is_too_long |= facts.len() > room;
        self.intervals.extend(facts.into_iter().take(room));
    }

    fn ended(&mut self, finished: Option<RunFinished>) -> Option<EndedRun> {
        if !std::mem::take(&mut self.is_going) {
            return None;
        }
        let mut totals = self.fold.totals(finished)?;
        if self.lacks_host {
            totals.lost.hosts.intervals = totals.intervals;
        }
        let happened = self.happened(&totals);
        let steady = self.steadiness(&totals, &happened.stalls());
        self.intervals.clear();
        self.is_too_long = false;
        let reach = Reach::of(&self.backend, &self.targets, &totals.started);
        let reached = self.reached(&totals);
        let judged = judge(
            &totals,
            (steady.as_ref(), happened),
            reach,
            &views(&self.targets, &reached),
        );
        let writes = totals
            .figures
            .iter()
            .filter(|figure| figure.key.operation == Operation::Write && figure.operations > 0);
        self.written.extend(writes.map(|figure| figure.key.target));
        self.heard.push(Heard {
            name: totals.started.full_name(),
            judged: judged.clone(),
            outline: RunOutline::of(&totals),
        });
        Some(EndedRun {
            totals,
            judged,
            reach,
            targets: Arc::clone(&self.targets),
            reached,
        })
    }

    /// Those of the shared targets that the run reached.
    fn shared(&self, totals: &RunTotals) -> Vec<Vec<TargetId>> {
        let used = totals.figures.iter().map(|figure| figure.key.target);
        let used: BTreeSet<TargetId> = used.collect();
        let of_run = |members: &Vec<TargetId>| {
            let members = members.iter().copied();
            members.filter(|id| used.contains(id)).collect()
        };
        self.shared.iter().map(of_run).collect()
    }

    /// As a user knows it: with its host, where there are several that do not share it.
    fn name_of(&self, target: TargetId) -> String {
        let is_shared = self.shared.iter().any(|members| members.contains(&target));
        let Some(target) = self.targets.get(target.index()) else {
            return String::new();
        };
        match self.hosts.get(target.host as usize) {
            Some(host) if self.hosts.len() > 1 && !is_shared => format!("{host}:{}", target.name),
            _ => target.name.clone(),
        }
    }

    /// What the run that is over says of marks, standstills and steps. Takes what was kept for that.
    fn happened(&mut self, totals: &RunTotals) -> Happened {
        let begun_ns = totals.started.unix_ns;
        let mut standstills = std::mem::take(&mut self.standstills);
        let targets = &self.targets;
        let host_of = |id: TargetId| targets.get(id.index()).map_or(0, |target| target.host);
        let own_pause_ns = standstills.cut(&totals.pauses, host_of);
        standstills.join(&self.shared(totals));
        let moments = std::mem::take(&mut self.moments);
        let marks = self.marks.iter().filter(|mark| mark.unix_ns >= begun_ns);
        let mut marks: Vec<Mark> = marks.cloned().collect();
        marks.sort_by_key(|mark| mark.unix_ns);
        let standstill = standstills.longest(totals, &|target| self.name_of(target), &marks);
        let mut happened = Happened::of(moments, (standstill, &standstills), marks, totals);
        for gap in standstills.gone(totals.length_ns) {
            happened.marks.push(Mark {
                unix_ns: begun_ns + gap.from_ns,
                text: format!("nothing from `{}` any more", self.name_of(gap.target)),
            });
        }
        happened.marks.sort_by_key(|mark| mark.unix_ns);
        happened.own_pause_ns = own_pause_ns;
        let courses = std::mem::take(&mut self.courses);
        if !matches!(totals.started.load, Load::Steps { .. }) {
            let name = |id: TargetId| self.name_of(id);
            let on_mounts = on_mounts(&self.targets);
            let is_one_of_many = |id: TargetId| {
                let mount = self.targets.get(id.index()).and_then(mount_of);
                mount.is_some_and(|mount| on_mounts[&mount] > 1)
            };
            happened.parts = courses.end(&totals.started, &name, &is_one_of_many);
        }
        let failed = std::mem::take(&mut self.failed);
        let streams = totals.started.streams.len();
        happened.failed_text = failed.text(begun_ns, streams, &|target| self.name_of(target));
        happened.failed = failed.count;
        happened.is_queued = QUEUED.contains(&&*self.backend);
        match std::mem::take(&mut self.lacks_moments) {
            true => happened.of_sums(),
            false => happened,
        }
    }

    /// Where the rate is asked to change, neither its change nor a pause says anything.
    fn steadiness(&self, totals: &RunTotals, stalls: &[(u64, u64)]) -> Option<Steadiness> {
        let is_one_rate = !matches!(totals.started.load, Load::Steps { .. });
        (!self.is_too_long && is_one_rate).then(|| steadiness(&self.intervals, stalls))
    }
}
