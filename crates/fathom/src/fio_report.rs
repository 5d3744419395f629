//! What a run in the manner of fio shows: reports on the console or into a file, the status line
//! on a terminal, and log files of single operations.
use crate::outputs::Outputs;
use crate::printing::Channel;
use crate::trace::{IoTrace, Topics, Trace};
use crate::trigger::Trigger;
use conduct::OperationSink;
use measure::Event;
use measure::OperationRecord;
use plan::{BoundPlan, Label, Plan, RunId, RunKind};
use report::Opening;
use report::fio::{Face, FaceOptions, OperationLogs, Wants};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How a run in the manner of fio talks.
#[derive(Clone, Debug, Default)]
pub struct FioStyle {
    pub face: FaceOptions,
    /// The status line is left standing each time this has passed.
    pub newline_ns: Option<u64>,
    /// Where reports go; the console when left out.
    pub output: Option<PathBuf>,
    /// Begins the names of the logs of all jobs together, where they are asked for.
    pub bandwidth_log: Option<String>,
    /// Where files go that belong to no log; the working folder when left out.
    pub aux: Option<PathBuf>,
    /// What is told while it happens.
    pub topics: Topics,
    /// What ends all jobs from outside.
    pub trigger: Trigger,
}

/// Reports and status line of one execution.
pub struct FioReport {
    face: Face,
    trace: Trace,
    output: Option<File>,
    status_line: Option<String>,
    /// Characters of the status line that stands on the terminal.
    shown: usize,
    newline: Option<Duration>,
    newline_at: Instant,
}

impl FioReport {
    /// # Errors
    /// In words, when the file for reports cannot be made.
    pub fn create(style: &FioStyle, outputs: &Outputs) -> Result<Self, String> {
        crate::status::answer_by_report();
        let open = |path| outputs.open_named(path, Opening::Replace);
        Ok(Self {
            face: Face::new(style.face),
            trace: Trace::new(style.topics.clone()),
            output: style.output.as_deref().map(open).transpose()?,
            status_line: None,
            shown: 0,
            newline: style.newline_ns.map(Duration::from_nanos),
            newline_at: Instant::now(),
        })
    }

    /// Takes an event; returns what the console shows.
    ///
    /// # Errors
    /// When a report cannot be written.
    pub fn on_event(&mut self, event: &Event) -> io::Result<Vec<String>> {
        let mut lines = self.trace.on_event(event);
        let printed = self.face.on_event(event);
        self.status_line = printed.status_line;
        match &mut self.output {
            Some(output) => {
                output.write_all(printed.messages.as_bytes())?;
                output.write_all(printed.report.as_bytes())?;
                Ok(lines)
            }
            None => {
                err!("{}", printed.messages);
                lines.extend(printed.report.lines().map(str::to_owned));
                Ok(lines)
            }
        }
    }

    /// Reports what is running, as it stands.
    ///
    /// # Errors
    /// When a report cannot be written.
    pub fn show_now(&mut self) -> io::Result<()> {
        let report = self.face.report();
        match &mut self.output {
            Some(output) => output.write_all(report.as_bytes()),
            None => {
                out!("{report}");
                Ok(())
            }
        }
    }

    /// Puts the newest status line in the place of the one before.
    pub fn show_status(&mut self) {
        let Some(line) = self.status_line.take() else {
            return;
        };
        let length = line.chars().count();
        let width = self.shown.max(length);
        let ends = self
            .newline
            .is_some_and(|length| self.newline_at.elapsed() >= length);
        Channel::Out.over(&line, width, ends);
        self.shown = length;
        if ends {
            (self.shown, self.newline_at) = (0, Instant::now());
        }
    }
}

/// Whether a plan came from a job file of fio.
pub fn is_fio(plan: &Plan) -> bool {
    Label::find(&plan.labels, "face") == Some("fio")
}

/// Whether some job logs single operations.
pub fn logs_operations(plan: &Plan) -> bool {
    let streams = plan.templates.iter().flat_map(|template| &template.streams);
    streams
        .map(|stream| Wants::of(&stream.labels, &plan.labels, 1))
        .any(|wants| wants.wants_operations())
}

/// Logs of single operations of an execution.
pub struct FioOperations {
    runs: Vec<(RunId, OperationLogs)>,
    trace: Option<IoTrace>,
    error: Option<io::Error>,
    outputs: Outputs,
}

impl FioOperations {
    /// Log files with relative names are made in `folder`; `topics` may ask for lines about each.
    pub fn new(bound: &BoundPlan, folder: &Path, topics: &Topics, outputs: &Outputs) -> Self {
        let (mut runs, mut before) = (Vec::new(), 0);
        let targets = bound.plan.targets.iter();
        let paths: Vec<String> = targets.map(|one| one.path.display().to_string()).collect();
        let mut trace = IoTrace::new(topics, &paths);
        for number in 0..bound.run_count().unwrap_or(bound.runs.len() as u64) {
            let Some((id, pass)) = bound.numbered(number) else {
                break;
            };
            let run = bound.plan.run(id);
            let is_check = plan::Label::find(&run.labels, "phase") == Some("check");
            if run.kind != RunKind::Measure || is_check {
                continue;
            }
            let id = bound.plan.in_pass(id, pass);
            if let Some(trace) = &mut trace {
                trace.measures(id, before);
            }
            let streams = run.streams.iter().map(|stream| stream.labels.as_slice());
            let logs = OperationLogs::new(folder, streams, &bound.plan.labels, before);
            let begin = |logs: OperationLogs| {
                let opener = Arc::new(outputs.clone());
                let logs = logs.with_opener(opener).with_targets(paths.clone());
                (id, logs.measured_from(run.timing.warmup.0))
            };
            runs.extend(logs.map(begin));
            before += run.streams.len();
        }
        Self {
            runs,
            trace,
            error: None,
            outputs: outputs.clone(),
        }
    }

    fn logs(&mut self, run: RunId) -> Option<&mut OperationLogs> {
        let found = self.runs.iter_mut().find(|(id, _)| *id == run);
        found.map(|(_, logs)| logs)
    }
}

impl OperationSink for FioOperations {
    fn take(&mut self, run: RunId, start_unix_ns: u64, operations: &[OperationRecord]) {
        if let Some(trace) = &self.trace {
            out!("{}", trace.lines(run, operations));
        }
        if self.error.is_some() {
            return;
        }
        let result = self
            .logs(run)
            .map(|logs| logs.take(operations, start_unix_ns));
        self.error = result.and_then(Result::err);
    }

    fn end_run(&mut self, run: RunId, lost: u64) {
        let finished = self.logs(run).map(OperationLogs::finish);
        let error = self.error.take().or(finished.and_then(Result::err));
        if let Some(error) = error {
            let reason = format!("a log of single operations is not whole: {error}");
            self.outputs.tell(&reason);
        }
        if lost > 0 {
            errln!(
                "warning: {lost} operations are not in the logs: they came faster than lines could \
                 be written; use `log_avg_msec`"
            );
        }
    }
}
