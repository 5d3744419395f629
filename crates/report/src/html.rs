//! `report.html`: the whole result on one page, in one file, that fetches nothing: headline,
//! latency curve, thread sweep, every run over time, distributions, conditions and plan. A fold
//! over the events; knows neither engine nor result file.
//!
//! Memory is bounded by the number of runs and targets, not by their length: see [`columns`] for
//! the series, and the `MAX_` constants for the rest.
mod columns;
mod curves;
mod evidence;
mod happened;
mod headline;
mod hosts;
mod jobs;
pub(crate) mod page;
mod record;
mod scaling;
mod script;
mod tables;
pub(crate) mod text;
mod tiles;

use self::text::Short;
use crate::fio::holds_back;
use crate::summary::Row;
use analysis::{EndedRun, Happened, Mark, Verdict};
use columns::Columns;
use curves::Curves;
use measure::{Event, ExecutionFinished, ExecutionStarted, IoFailure, Outstanding, Remark};
use plan::{BoundPlan, Flow, Operation, TargetId};
use record::{JobRecord, RunRecord};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};
use text::json_for_script;

/// Columns of one time series.
const MAX_COLUMNS: usize = 2_000;

/// Columns of all runs together, some 100 bytes each: what keeps the page of a long sweep small.
const MAX_COLUMNS_OF_PAGE: usize = 40_000;

/// Below this a series shows nothing any more.
const MIN_COLUMNS: usize = 24;

/// Rows per target of all runs together.
const MAX_TARGET_ROWS: usize = 12_000;

/// Jobs of all runs together.
const MAX_JOB_ROWS: usize = 3_000;

/// Remarks and kinds of failures that are kept in full; the others are counted.
const MAX_REMARKS: usize = 500;
const MAX_FAILURES: usize = 300;

/// Operations that never came back and are listed.
const MAX_UNRETURNED: usize = 1_000;

/// Runs of which the plan tells whether they pause.
const MAX_PAUSING: u64 = 20_000;

/// Folds events into the page.
///
/// ```
/// let page = report::html::Page::default();
/// let mut html = Vec::new();
/// page.write(None, &mut html).unwrap();
/// assert!(html.starts_with(b"<!DOCTYPE html>"));
/// ```
#[derive(Debug, Default)]
pub struct Page {
    execution: Option<ExecutionStarted>,
    /// By the number of a run: whether its streams hold operations back beside any rate.
    is_pausing: Vec<bool>,
    /// The same of all runs that were imported.
    are_all_pausing: bool,
    finished: Option<ExecutionFinished>,
    /// The series of the run that is going.
    columns: Option<Columns>,
    runs: Vec<RunRecord>,
    /// Names by the number that events give a run.
    run_names: BTreeMap<u32, String>,
    /// Places of runs, when they began, and what was marked in them that no remark tells.
    runs_happened: Vec<(usize, u64, Vec<Mark>)>,
    /// Of runs in which something happened.
    happened: Vec<(String, Happened)>,
    /// When each began, by the same number.
    begun_unix_ns: BTreeMap<u32, u64>,
    curves: Curves,
    target_rows: usize,
    job_rows: usize,
    remarks: Vec<Remark>,
    remarks_left_out: u64,
    failures: BTreeMap<FailureKey, Failures>,
    failures_left_out: u64,
    /// With the numbers of their runs.
    unreturned: Vec<(u32, Outstanding)>,
    unreturned_left_out: u64,
    /// The same of what came back well after the end of its run.
    late: Vec<(u32, Outstanding)>,
    late_left_out: u64,
    /// What is missing in the result that the page is made from.
    damage: Option<String>,
}

/// Failures that differ in nothing but place and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FailureKey {
    run: u32,
    target: TargetId,
    operation: Operation,
    errno: i32,
}

#[derive(Debug)]
struct Failures {
    count: u64,
    first: IoFailure,
}

/// What the drawing script gets.
#[derive(Serialize)]
struct PageData<'a> {
    runs: &'a [RunRecord],
    /// The run that leads the verdict, which is shown first.
    leading: Option<usize>,
    curves: &'a [curves::Curve],
    sweeps: &'a [curves::Sweep],
    grids: &'a [curves::Grid],
    marks: Vec<MarkRecord<'a>>,
    targets: Vec<&'a str>,
}

/// A moment that somebody marked.
#[derive(Serialize)]
struct MarkRecord<'a> {
    /// Place of its run.
    run: usize,
    /// Seconds since that began.
    at: Short,
    text: &'a str,
}

impl Page {
    /// Takes the next event of an execution.
    pub fn on_event(&mut self, event: &Event) {
        match event {
            Event::ExecutionStarted(started) => {
                if let Ok(bound) = serde_json::from_str::<BoundPlan>(&started.plan_json) {
                    self.is_pausing = pausing_runs(&bound);
                    self.are_all_pausing = bound.plan.labels.iter().any(holds_back);
                }
                self.execution = Some(ExecutionStarted {
                    // The page shows the texts that were read; the plan stays in the result file.
                    plan_json: String::new(),
                    ..started.clone()
                });
            }
            Event::RunStarted(started) => {
                let name = started.full_name();
                self.run_names.insert(started.run, name);
                self.begun_unix_ns.insert(started.run, started.unix_ns);
                let share = MAX_COLUMNS_OF_PAGE / started.runs.max(1) as usize;
                let capacity = share.clamp(MIN_COLUMNS, MAX_COLUMNS);
                self.columns = Some(Columns::new(capacity, &started.load));
            }
            Event::Interval(interval) => {
                if let Some(columns) = &mut self.columns {
                    columns.add(interval);
                }
            }
            Event::DataWritten(_) => {}
            Event::RunFinished(finished) => {
                let room = MAX_UNRETURNED - self.unreturned.len();
                let left = finished.outstanding.iter().take(room).cloned();
                self.unreturned.extend(left.map(|one| (finished.run, one)));
                self.unreturned_left_out += finished.outstanding.len().saturating_sub(room) as u64;
                let room = MAX_UNRETURNED - self.late.len();
                let late = finished.came_late().take(room).cloned();
                self.late.extend(late.map(|one| (finished.run, one)));
                let came_late = finished.came_late().count();
                self.late_left_out += came_late.saturating_sub(room) as u64;
            }
            Event::IoFailure(failure) => self.add_failure(failure),
            Event::Remark(remark) if self.remarks.len() < MAX_REMARKS => {
                self.remarks.push(remark.clone());
            }
            Event::Remark(_) => self.remarks_left_out += 1,
            Event::ExecutionFinished(finished) => self.finished = Some(finished.clone()),
        }
    }

    /// Writes the page, after the last event. Errors are those of `out`.
    pub fn write(&self, verdict: Option<&Verdict>, out: &mut dyn Write) -> io::Result<()> {
        let (curves, sweeps, grids) = self.curves.pictures();
        let data = PageData {
            runs: &self.runs,
            leading: verdict.map(|verdict| verdict.lead),
            curves: &curves,
            sweeps: &sweeps,
            grids: &grids,
            marks: self.marks(),
            targets: self.targets().iter().map(|one| one.name.as_str()).collect(),
        };
        let json = json_for_script(&data).map_err(io::Error::other)?;
        page::write_head(&self.title(), out)?;
        out.write_all(b"<body>\n<main>\n")?;
        headline::write(self, verdict, out)?;
        self.write_charts(&data, out)?;
        tables::write(self, out)?;
        page::write_end(&json, script::DRAW, out)
    }

    /// Those of runs, and what devices said of themselves.
    fn marks(&self) -> Vec<MarkRecord<'_>> {
        let marks = self.remarks.iter().filter(|remark| remark.is_mark());
        let all = marks.filter_map(|remark| {
            let begun_ns = *self.begun_unix_ns.get(&remark.run?)?;
            Some(MarkRecord {
                run: self.begun_unix_ns.range(..remark.run?).count(),
                at: Short(remark.unix_ns.saturating_sub(begun_ns) as f64 / 1e9),
                text: &remark.message,
            })
        });
        let told = self
            .runs_happened
            .iter()
            .flat_map(|(run, begun_ns, marks)| {
                marks.iter().map(move |mark| MarkRecord {
                    run: *run,
                    at: Short(mark.unix_ns.saturating_sub(*begun_ns) as f64 / 1e9),
                    text: &mark.text,
                })
            });
        all.chain(told).collect()
    }

    /// Says first on the page what of its result is lost.
    pub fn set_damage(&mut self, text: String) {
        self.damage = Some(text);
    }

    /// Takes a run that is over, and its line of the summary, before the event after which it is so.
    pub fn add_run(&mut self, run: &EndedRun, row: &Row) {
        let series = self.columns.take().map(|columns| columns.series());
        let (totals, series) = (&run.totals, series.unwrap_or_default());
        self.curves.add(run);
        let happened = &run.judged.happened;
        let is_remark = |mark: &Mark| {
            let mut known = self.remarks.iter();
            known.any(|one| one.unix_ns == mark.unix_ns && one.message == mark.text)
        };
        let untold: Vec<Mark> = happened
            .marks
            .iter()
            .filter(|mark| !is_remark(mark))
            .cloned()
            .collect();
        let begun_ns = totals.started.unix_ns;
        self.runs_happened.push((self.runs.len(), begun_ns, untold));
        if happened.recovery.is_some() {
            let name = totals.started.full_name();
            self.happened.push((name, happened.clone()));
        }
        let mut record = RunRecord::new(run, series);
        let is_pausing = self.is_pausing.get(totals.started.run as usize);
        record.is_throttled |= is_pausing.copied().unwrap_or(self.are_all_pausing);
        self.target_rows += record.parts.targets.len();
        if self.target_rows > MAX_TARGET_ROWS {
            record.parts.targets.clear();
        }
        self.job_rows += row.parts.len();
        if self.job_rows <= MAX_JOB_ROWS {
            record.jobs = row.parts.iter().map(JobRecord::of).collect();
        }
        self.runs.push(record);
    }

    fn add_failure(&mut self, failure: &IoFailure) {
        let key = FailureKey {
            run: failure.run,
            target: failure.target,
            operation: failure.operation,
            errno: failure.errno,
        };
        let is_full = self.failures.len() >= MAX_FAILURES;
        match self.failures.get_mut(&key) {
            Some(failures) => failures.count += 1,
            None if is_full => self.failures_left_out += 1,
            None => {
                let first = failure.clone();
                self.failures.insert(key, Failures { count: 1, first });
            }
        }
    }

    fn targets(&self) -> &[measure::ExecutionTarget] {
        self.execution.as_ref().map_or(&[], |one| &one.targets)
    }

    fn utc_offset_s(&self) -> i32 {
        self.execution.as_ref().map_or(0, |one| one.utc_offset_s)
    }

    /// What the page is called: the target, and the first text that was read or the command.
    fn title(&self) -> String {
        let execution = self.execution.as_ref();
        let last = |name: &str| name.rsplit('/').next().unwrap_or(name).to_owned();
        let command = execution.and_then(|one| match one.inputs.first() {
            Some((name, _)) => Some(last(name)),
            None => one.arguments.get(1).cloned(),
        });
        let target = match self.targets() {
            [] => None,
            [one] => Some(last(&one.path)),
            [first, others @ ..] => {
                Some(format!("{} and {} more", last(&first.path), others.len()))
            }
        };
        let parts: Vec<String> = target
            .into_iter()
            .chain(command)
            .filter(|one| !one.is_empty())
            .collect();
        match parts.is_empty() {
            true => "Storage measurement".into(),
            false => parts.join(", "),
        }
    }

    /// First the picture that the verdict is about, a curve or else a run over time, then the tiles.
    fn write_charts(&self, data: &PageData<'_>, out: &mut dyn Write) -> io::Result<()> {
        let has_runs = !data.runs.is_empty();
        let mut pictures = Vec::new();
        if !data.curves.is_empty() {
            pictures.push(CURVE_SECTION);
        }
        if !data.grids.is_empty() {
            pictures.push(GRID_SECTION);
        }
        if !data.sweeps.is_empty() {
            pictures.push(SWEEP_SECTION);
        }
        let is_run_first = pictures.is_empty() && has_runs;
        if is_run_first {
            pictures.push(RUN_SECTION);
        }
        for (place, picture) in pictures.into_iter().enumerate() {
            out.write_all(picture.as_bytes())?;
            if place == 0 {
                tiles::write(self, data, out)?;
            }
        }
        if has_runs {
            out.write_all(RUNS_SECTION.as_bytes())?;
            tables::write_runs(self, out)?;
        }
        if has_runs && !is_run_first {
            out.write_all(RUN_SECTION.as_bytes())?;
        }
        Ok(())
    }
}

/// Which runs of a stored plan have streams that pause, wait for others, or look for a depth.
fn pausing_runs(bound: &BoundPlan) -> Vec<bool> {
    let is_held =
        |flow: &Flow| flow.think.is_some() || flow.balance.is_some() || flow.depth_search.is_some();
    let runs = bound.run_count().unwrap_or(MAX_PAUSING).min(MAX_PAUSING);
    let runs = (0..runs).map_while(|number| bound.numbered(number));
    let is_pausing = |(id, _)| {
        let template = bound.plan.spec(id).template.index();
        let streams = bound.plan.templates[template].streams.iter();
        streams.map(|stream| &stream.flow).any(is_held)
    };
    runs.map(is_pausing).collect()
}

/// Whether a file with this start is such a page, also one of a version that did not name itself.
pub fn is_page(head: &[u8]) -> bool {
    let head = String::from_utf8_lossy(head);
    let is_named = head.contains("<meta name=\"generator\" content=\"Fathom\">");
    head.starts_with("<!DOCTYPE html>") && (is_named || head.contains(" – Fathom</title>"))
}

const CURVE_SECTION: &str = include_str!("../assets/curve.html");
const SWEEP_SECTION: &str = include_str!("../assets/sweep.html");
const GRID_SECTION: &str = include_str!("../assets/grid.html");
const RUNS_SECTION: &str = include_str!("../assets/runs.html");
const RUN_SECTION: &str = include_str!("../assets/run.html");
