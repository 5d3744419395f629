//! Follows the events of an execution and judges each run at its end: the one fold that every report speaks from.
use crate::execution::{Heard, Verdict, verdict};
use crate::gap::Reach;
use crate::recovery::{Moment, phases, recovery};
use crate::series::RunOutline;
use crate::standstill::{Mark, Standstills};
use crate::steady::{IntervalFacts, Steadiness, steadiness};
use crate::verdict::{Ground, Judged, judge};
use measure::{Event, ExecutionTarget, Interval, IntervalPhase, RunFinished, RunFold, RunTotals};
use plan::{Load, Operation, TargetId};
use std::collections::BTreeSet;

/// Longer runs are not looked at for changes and stalls, so that memory stays bounded: a week in
/// intervals of five seconds.
const MAX_INTERVALS: usize = 120_000;

/// The same of those whose latencies are kept: an hour and a half of tenths of seconds.
const MAX_MOMENTS: usize = 54_000;

/// Backends that reach no target, by their names in the record.
const UNREAL: [&str; 2] = ["sim", "null"];

/// A run that is over, with what it says.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedRun {
    pub totals: RunTotals,
    pub judged: Judged,
    /// What its operations come to, for whoever judges a part of it.
    pub reach: Reach,
}

/// Takes events in their order; gives each run when it is over.
#[derive(Debug, Default)]
pub struct Watch {
    backend: String,
    targets: Vec<ExecutionTarget>,
    fold: RunFold,
    /// Of the run that is going.
    intervals: Vec<IntervalFacts>,
    is_too_long: bool,
    is_going: bool,
    /// Whether the run lost a host, without which the others went on.
    lacks_host: bool,
    /// Of the run that is going.
    standstills: Standstills,
    moments: Vec<Moment>,
    /// Moments that somebody marked during a run, in order.
    marks: Vec<Mark>,
    heard: Vec<Heard>,
    /// Targets that some run has written to.
    written: BTreeSet<TargetId>,
}

impl Watch {
    /// Takes the next event. Gives a run that it ends: that of its end, or one whose end is missing when the next begins.
    pub fn on_event(&mut self, event: &Event) -> Option<EndedRun> {
        match event {
            Event::ExecutionStarted(started) => {
                self.backend.clone_from(&started.backend);
                self.targets.clone_from(&started.targets);
            }
            Event::RunStarted(_) => {
                let unfinished = self.end();
                self.fold.fold(event);
                (self.is_going, self.lacks_host) = (true, false);
                return unfinished;
            }
            Event::Interval(interval) => {
                self.fold.fold(event);
                self.add_interval(interval);
            }
            Event::Remark(remark) if remark.code == "host-lost" => self.lacks_host = true,
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
        verdict(&self.heard, &self.marks)
    }

    /// The targets of a run, where it reached any.
    fn grounds(&self, totals: &RunTotals) -> Vec<Ground<'_>> {
        if UNREAL.contains(&&*self.backend) {
            return Vec::new();
        }
        let ids = totals.figures.iter().map(|figure| figure.key.target);
        let ids = ids.collect::<BTreeSet<_>>().into_iter();
        let grounds = ids.filter_map(|id| {
            Some(Ground {
                id,
                target: self.targets.get(id.index())?,
                is_written: self.written.contains(&id),
            })
        });
        grounds
            .filter(|ground| !ground.target.identity.kind.is_empty())
            .collect()
    }

    fn add_interval(&mut self, interval: &Interval) {
        if interval.phase != IntervalPhase::Measured {
            return;
        }
        self.standstills.add(interval);
        if self.moments.len() < MAX_MOMENTS {
            self.moments.extend(Moment::of(interval));
        }
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
        let steady = self.steadiness(&totals);
        let standstill = self
            .standstills
            .longest(&totals, &self.targets, &self.marks);
        self.intervals.clear();
        self.standstills.clear();
        let begun_ns = totals.started.unix_ns;
        let marked = self.marks.iter().find(|mark| mark.unix_ns >= begun_ns);
        let mark_ns = marked.map(|mark| mark.unix_ns - begun_ns);
        let moments = std::mem::take(&mut self.moments);
        let recovery = recovery(&moments, standstill.as_ref(), mark_ns);
        let phases = recovery.as_ref().map_or_else(Vec::new, |recovery| {
            phases(&moments, recovery, standstill.as_ref())
        });
        self.is_too_long = false;
        let reach = Reach::of(&self.backend, &self.targets, &totals.started);
        let mut judged = judge(
            &totals,
            (steady.as_ref(), standstill, recovery),
            reach,
            &self.grounds(&totals),
        );
        let marks = self.marks.iter().filter(|mark| mark.unix_ns >= begun_ns);
        (judged.marks, judged.phases) = (marks.cloned().collect(), phases);
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
        })
    }

    /// Where the rate is asked to change, neither its change nor a pause says anything.
    fn steadiness(&self, totals: &RunTotals) -> Option<Steadiness> {
        let is_one_rate = !matches!(totals.started.load, Load::Steps { .. });
        (!self.is_too_long && is_one_rate).then(|| steadiness(&self.intervals))
    }
}
