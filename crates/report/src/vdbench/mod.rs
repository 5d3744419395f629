//! The face of Vdbench: its output folder and its console, in the layout of release 5.04.06 or 5.04.07, as a
//! fold over events. Nothing but the current run is kept. Where it differs from the original, and
//! why, is listed in `docs/differences.md`.
//!
//! Reads the labels that the language leaves on runs (`loops`, `rate`, `elapsed`, `flat.…`) and on
//! streams (`wd`, `group`). Knows nothing of the engine. Read [`Face`] first, then `run`.
mod buckets;
mod captions;
mod clock;
mod columns;
mod details;
mod flat_reading;
mod flatfile;
mod messages;
mod opening;
mod pages;
mod places;
mod processors;
mod run;
mod skew;
mod storages;
mod tally;

pub use columns::{Megabyte, Release};
pub use flat_reading::{is_flatfile, runs_of_flatfile, unfinished_of_flatfile};

use crate::shown;
use captions::{Captions, RunCaption};
use clock::Zone;
use columns::Look;
use details::Details;
use measure::{
    Event, ExecutionFinished, ExecutionStarted, ExecutionTarget, FinishReason, IoFailure, Remark,
    RunFinished, RunStarted,
};
use pages::{PageId, Pages};
use places::Places;
use plan::{Severity, TargetId};
use run::Run;
use std::io;
use std::path::Path;
use storages::Storages;

/// Which latency the `resp` columns show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RespColumns {
    /// As the original: around the system call. Comparable with history.
    #[default]
    Service,
    /// From the intended arrival; arrivals that were never served enter with their age.
    Arrival,
}

/// What the user may choose.
#[derive(Clone, Debug, Default)]
pub struct FaceOptions {
    pub megabyte: Megabyte,
    pub columns: RespColumns,
    pub release: Release,
}

impl FaceOptions {
    fn look(&self) -> Look {
        Look {
            megabyte: self.megabyte,
            release: self.release,
        }
    }
}

/// Writes the folder, and hands out the lines for the console.
#[derive(Debug)]
pub struct Face {
    pages: Pages,
    options: FaceOptions,
    console: Vec<String>,
    execution: Option<Execution>,
    /// What the result that the events come from has lost.
    damage: Option<String>,
}

/// What stays the same during an execution, and the counts over its runs.
#[derive(Debug)]
struct Execution {
    zone: Zone,
    captions: Captions,
    places: Places,
    details: Details,
    /// By [`TargetId`].
    targets: Vec<ExecutionTarget>,
    storages: Storages,
    backend: String,
    workloads: Vec<String>,
    folder: Folder,
    run: Option<Run>,
    runs_started: u32,
    has_skew_note: bool,
    errors: u64,
    /// What is said where the run that ended last ends the curve, and all with it.
    curve_end: Option<String>,
    /// Its end came.
    is_over: bool,
    /// When the last thing happened.
    seen_ns: u64,
}

/// The pages of an execution.
#[derive(Debug)]
struct Folder {
    summary: PageId,
    totals: PageId,
    log: PageId,
    status: PageId,
    errors: PageId,
    flat: PageId,
    histogram: PageId,
    skew: PageId,
    /// Report, and a histogram where there are several.
    hosts: Vec<(PageId, Option<PageId>)>,
    slaves: Vec<(PageId, Option<PageId>)>,
    slave_consoles: Vec<PageId>,
    /// Report and histogram of each device and workload, in their order; of devices only of those that
    /// some run uses, and none where the job wants none.
    devices: Vec<Option<[PageId; 2]>>,
    workloads: Vec<[PageId; 2]>,
}

impl Face {
    /// Makes the folder if it is missing and removes the reports of an earlier execution from it;
    /// any other file stays. Nothing is written before the first event.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn create(dir: &Path, options: FaceOptions) -> io::Result<Self> {
        Ok(Self {
            pages: Pages::create(dir)?,
            options,
            console: Vec::new(),
            execution: None,
            damage: None,
        })
    }

    /// Whether all pages of an execution could be made in the folder; changes nothing.
    ///
    /// # Errors
    /// That of the first page in whose place something else stands.
    pub fn check(dir: &Path, options: FaceOptions, started: &ExecutionStarted) -> io::Result<()> {
        let mut face = Self {
            pages: Pages::rehearse(dir)?,
            options,
            console: Vec::new(),
            execution: None,
            damage: None,
        };
        face.on_event(&Event::ExecutionStarted(started.clone()))
            .map(drop)
    }

    /// Absolute.
    pub fn dir(&self) -> &Path {
        self.pages.dir()
    }

    /// Writes what follows from an event, and returns the lines that belong on the console.
    ///
    /// # Errors
    /// Those of the file system (what was pending stays pending), and
    /// [`io::ErrorKind::InvalidData`] for events out of order.
    pub fn on_event(&mut self, event: &Event) -> io::Result<Vec<String>> {
        let event = shown::without_tags(event);
        match &*event {
            Event::ExecutionStarted(started) => self.execution = Some(self.open(started)?),
            Event::RunStarted(started) => self.with(|face, it| face.start_run(it, started))?,
            Event::Interval(interval) => self.with(|face, it| face.add_interval(it, interval))?,
            Event::RunFinished(finished) => self.with(|face, it| face.finish_run(it, finished))?,
            Event::IoFailure(failure) => self.with(|face, it| face.add_failure(it, failure))?,
            Event::DataWritten(_) => {}
            Event::Remark(remark) => self.with(|face, it| face.add_remark(it, remark))?,
            Event::ExecutionFinished(finished) => self.with(|face, it| face.end(it, finished))?,
        }
        self.pages.flush()?;
        Ok(std::mem::take(&mut self.console))
    }

    /// Lets the pages say that the result is damaged, and what is lost: to be told before [`Self::finish`].
    pub fn set_damage(&mut self, text: &str) {
        self.damage = Some(text.to_owned());
    }

    /// Writes what an earlier error left pending. Pages of an execution whose end did not come say so.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn finish(mut self) -> io::Result<()> {
        if let Some(mut execution) = self.execution.take() {
            if !execution.is_over {
                self.break_off(&mut execution);
            }
            self.write_damage(&execution);
        }
        self.pages.flush()
    }

    /// The last interval of a run without an end is written as it is, and no average follows: the original writes none
    /// either when it is killed.
    fn break_off(&mut self, it: &mut Execution) {
        let at = it.seen_ns;
        let name = it.run.take().map(|mut run| {
            self.write_last(it, &mut run, at);
            run.caption().name.clone()
        });
        let line = match self.damage {
            None => messages::broken_off(name.as_deref()),
            Some(_) => messages::end_lost(name.as_deref()),
        };
        self.say(it, at, std::slice::from_ref(&line));
        self.stamped(it.folder.errors, &it.zone, at, std::slice::from_ref(&line));
        if name.is_some() {
            self.stamped(it.folder.totals, &it.zone, at, &[line]);
        }
        let state = match self.damage {
            None => "Killed or still running",
            Some(_) => "End lost",
        };
        self.status(it, at, state, None);
    }

    fn write_damage(&mut self, it: &Execution) {
        let Some(damage) = &self.damage else { return };
        let line = [messages::damaged(damage)];
        let folder = &it.folder;
        for page in [folder.log, folder.summary, folder.totals, folder.errors] {
            self.stamped(page, &it.zone, it.seen_ns, &line);
        }
    }

    /// Lends out the execution, so that pages and execution can both change.
    fn with(&mut self, act: impl FnOnce(&mut Self, &mut Execution)) -> io::Result<()> {
        let Some(mut execution) = self.execution.take() else {
            let message = "an event came before the beginning of the execution";
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        };
        act(self, &mut execution);
        self.execution = Some(execution);
        Ok(())
    }

    fn start_run(&mut self, it: &mut Execution, started: &RunStarted) {
        let caption = RunCaption::of(&started.name, &started.labels);
        let run = Run::new(started, caption, it);
        let line = format!("{} {}", it.zone.time(started.unix_ns), run.start_line());
        let anchor = it.captions.next_anchor(run.caption());
        let title = messages::anchored(&anchor, &line);
        self.console.push(line.clone());
        self.pages.line(it.folder.log, &line);
        let details = it.details.pages.iter().flatten().copied();
        for page in it.folder.with_titles().into_iter().chain(details) {
            self.pages.lines(page, &title);
        }
        // Headers in the totals come every 15 runs.
        if it.runs_started.is_multiple_of(15) {
            let header = columns::header(&it.zone.date(started.unix_ns), self.options.look());
            self.pages.lines(it.folder.totals, &header);
        }
        self.status(it, started.unix_ns, "Starting", Some(&run));
        it.runs_started += 1;
        it.seen_ns = started.unix_ns;
        it.run = Some(run);
    }

    fn finish_run(&mut self, it: &mut Execution, finished: &RunFinished) {
        let Some(mut run) = it.run.take() else {
            return;
        };
        let at = finished.unix_ns;
        it.seen_ns = at;
        self.write_cut(it, &mut run, finished);
        self.write_averages(it, &run, finished);
        for lines in [
            run.late_line(self.options.columns, it, finished)
                .into_iter()
                .collect(),
            run.cpu_warning(&it.places.hosts),
            self.write_skew(it, &run, at),
            messages::outstanding(&finished.outstanding, |left| it.device(left.target)),
            messages::late(&finished.late),
        ] {
            self.say(it, at, &lines);
        }
        let left = messages::outstanding(&finished.outstanding, |left| it.device(left.target));
        self.stamped(it.folder.errors, &it.zone, at, &left);
        self.write_histograms(it, &run);
        let limit = it.captions.curve_limit(run.place());
        it.curve_end = limit
            .zip(run.service_mean_ms(finished))
            .map(|(limit, observed_ms)| messages::curve_ended(limit.0 as f64 / 1e6, observed_ms));
        it.errors += run.errors() + finished.outstanding.len() as u64;
        if run.errors() > 0 {
            self.say(it, at, &messages::error_count(run.errors()));
        }
        self.status(it, at, "Workload done", Some(&run));
        self.status(it, at, "Slaves done", Some(&run));
        let pause_s = it.captions.pause_after_s(run.place());
        if let (Some(pause_s), FinishReason::Complete | FinishReason::ReachedTotal) =
            (pause_s, &finished.reason)
        {
            let line = format!("Waiting {pause_s} seconds; requested by 'pause' parameter");
            self.tell(it, at, &[line]);
        }
    }

    fn add_failure(&mut self, it: &mut Execution, failure: &IoFailure) {
        let mut slave = 0;
        if let Some(run) = &mut it.run {
            run.add_failure();
            slave = run.slave_of(failure.stream);
        }
        let path = it.device(failure.target);
        let time = it.zone.time(failure.unix_ns);
        let slave = &it.places.slaves[slave].name;
        let line = format!("{slave}: {time} {}", messages::failure(failure, &path));
        self.tell(it, failure.unix_ns, std::slice::from_ref(&line));
        self.stamped(it.folder.errors, &it.zone, failure.unix_ns, &[line]);
    }

    fn add_remark(&mut self, it: &mut Execution, remark: &Remark) {
        let lines: Vec<String> = remark.message.lines().map(String::from).collect();
        match (remark.code.as_str(), remark.severity) {
            ("command-console", _) => self.tell(it, remark.unix_ns, &lines),
            ("command-summary", _) => {
                for page in [it.folder.log, it.folder.summary] {
                    self.stamped(page, &it.zone, remark.unix_ns, &lines);
                }
            }
            ("total-reached", _) => self.tell_reached(it, remark.unix_ns, &lines),
            (_, Severity::Note) => self.stamped(it.folder.log, &it.zone, remark.unix_ns, &lines),
            (_, Severity::Warning | Severity::Error) => self.tell(it, remark.unix_ns, &lines),
        }
    }

    /// Which of the limits it was follows from what was moved.
    fn tell_reached(&mut self, it: &mut Execution, at: u64, otherwise: &[String]) {
        let reached = it.run.as_ref().and_then(|run| {
            let limits = it.captions.limits(run.place())?;
            let (limit, bytes) = run.reached(limits)?;
            Some(messages::reached_total(limit, bytes, &run.caption().name))
        });
        match reached {
            Some(line) => self.tell(it, at, &[line]),
            None => self.tell(it, at, otherwise),
        }
    }

    fn end(&mut self, it: &mut Execution, finished: &ExecutionFinished) {
        let at = finished.unix_ns;
        let dir = self.pages.dir().display().to_string();
        let reason = match (&finished.reason, it.curve_end.take()) {
            (FinishReason::SearchEnded { .. }, Some(message)) => {
                FinishReason::SearchEnded { message }
            }
            (reason, _) => reason.clone(),
        };
        let ending = messages::ending(&reason, it.errors, &dir);
        self.tell(it, at, &ending.console);
        self.console.push(String::new());
        self.pages.line(it.folder.log, "");
        self.stamped(it.folder.summary, &it.zone, at, &ending.summary);
        if ending.is_by_user {
            self.status(it, at, "Ctrl-C found", None);
        }
        // What watches the status must not take a failure for an end.
        if !matches!(
            finished.reason,
            FinishReason::Failed { .. } | FinishReason::TooManyErrors
        ) {
            self.status(it, at, "Shutting down slaves", None);
            self.status(it, at, "Vdbench complete", None);
        }
        it.is_over = true;
    }

    /// Console and log.
    fn tell(&mut self, it: &Execution, at: u64, lines: &[String]) {
        let time = it.zone.time(at);
        self.console
            .extend(lines.iter().map(|line| format!("{time} {line}")));
        self.stamped(it.folder.log, &it.zone, at, lines);
    }

    /// Console, log and summary.
    fn say(&mut self, it: &Execution, at: u64, lines: &[String]) {
        self.tell(it, at, lines);
        self.stamped(it.folder.summary, &it.zone, at, lines);
    }

    fn stamped(&mut self, page: PageId, zone: &Zone, at: u64, lines: &[String]) {
        let time = zone.time(at);
        for line in lines {
            // What commands print and messages quote may look like a tag.
            let line = line.replace('<', "&lt;");
            self.pages.line(page, &format!("{time} {line}"));
        }
    }

    fn status(&mut self, it: &Execution, at: u64, state: &str, run: Option<&Run>) {
        let stamp = it.zone.stamp(at);
        let of_run = run.map_or(String::new(), |run| {
            let RunCaption { name, loops } = run.caption();
            format!("\trd={name}\tFor loops: {loops}")
        });
        self.pages
            .line(it.folder.status, &format!("{stamp} \t{state}{of_run}"));
    }
}

impl Execution {
    /// The path of a target.
    fn device(&self, target: TargetId) -> String {
        let found = self.targets.get(target.index());
        found.map_or(format!("target {}", target.0), |target| target.path.clone())
    }
}

impl Folder {
    /// Pages with a title per run.
    fn with_titles(&self) -> Vec<PageId> {
        let mut pages = vec![
            self.summary,
            self.totals,
            self.log,
            self.histogram,
            self.skew,
        ];
        let places = self.hosts.iter().chain(&self.slaves);
        pages.extend(
            places
                .flat_map(|(report, histogram)| [Some(*report), *histogram])
                .flatten(),
        );
        pages.extend(&self.slave_consoles);
        let devices = self.devices.iter().flatten();
        pages.extend(devices.chain(&self.workloads).flatten());
        pages
    }
}

#[cfg(test)]
mod masks;
#[cfg(test)]
mod tests;
