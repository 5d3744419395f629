//! Logs of single operations that jobs of fio ask for, and lines about each.
use crate::outputs::Outputs;
use crate::trace::{IoTrace, Topics};
use conduct::OperationSink;
use measure::OperationRecord;
use plan::{BoundPlan, Label, Run, RunId, RunKind};
use report::fio::OperationLogs;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Logs of single operations of an execution.
pub struct FioOperations {
    runs: Vec<(RunId, OperationLogs)>,
    /// Runs that read back what others wrote, with those.
    checks: Vec<(RunId, RunId)>,
    trace: Option<IoTrace>,
    error: Option<io::Error>,
    outputs: Outputs,
}

impl FioOperations {
    /// Log files with relative names are made in `folder`; `topics` may ask for lines about each.
    pub fn new(bound: &BoundPlan, folder: &Path, topics: &Topics, outputs: &Outputs) -> Self {
        let mut made = Self {
            runs: Vec::new(),
            checks: Vec::new(),
            trace: None,
            error: None,
            outputs: outputs.clone(),
        };
        let targets = bound.plan.targets.iter();
        let paths: Vec<String> = targets.map(|one| one.path.display().to_string()).collect();
        made.trace = IoTrace::new(topics, &paths);
        let (mut written, mut before) = (None, 0);
        for number in 0..bound.run_count().unwrap_or(bound.runs.len() as u64) {
            let Some((id, pass)) = bound.numbered(number) else {
                break;
            };
            let run = bound.plan.run(id);
            if run.kind != RunKind::Measure {
                continue;
            }
            let id = bound.plan.in_pass(id, pass);
            if Label::find(&run.labels, "phase") == Some("check") {
                made.checks(id, &run, written.as_ref());
                continue;
            }
            if let Some(trace) = &mut made.trace {
                trace.measures(id, before);
            }
            let logs = OperationLogs::new(folder, labels(&run), &bound.plan.labels, before);
            let begin = |logs: OperationLogs| {
                let opener = Arc::new(outputs.clone());
                let logs = logs.with_opener(opener).with_targets(paths.clone());
                (id, logs.measured_from(run.timing.warmup.0))
            };
            made.runs.extend(logs.map(begin));
            before += run.streams.len();
            written = Some((id, run));
        }
        made
    }

    /// A run reads back what the one before it wrote, whose logs go on with it.
    fn checks(&mut self, id: RunId, run: &Run, written: Option<&(RunId, Run)>) {
        let Some((written_id, written)) = written else {
            return;
        };
        let last = self.runs.last_mut().filter(|(id, _)| id == written_id);
        if let Some((_, logs)) = last {
            logs.go_on_with(labels(written), labels(run));
            self.checks.push((id, *written_id));
        }
    }

    /// Whether a log or a line is asked for.
    pub fn is_wanted(&self) -> bool {
        self.trace.is_some() || !self.runs.is_empty()
    }

    /// The run whose writes this one reads back.
    fn written(&self, run: RunId) -> Option<RunId> {
        let mut checks = self.checks.iter();
        let found = checks.find(|(check, _)| *check == run);
        found.map(|(_, written)| *written)
    }

    fn logs(&mut self, run: RunId) -> Option<&mut OperationLogs> {
        let run = self.written(run).unwrap_or(run);
        let found = self.runs.iter_mut().find(|(id, _)| *id == run);
        found.map(|(_, logs)| logs)
    }
}

fn labels(run: &Run) -> impl Iterator<Item = &[Label]> {
    run.streams.iter().map(|stream| stream.labels.as_slice())
}

impl OperationSink for FioOperations {
    fn take(&mut self, run: RunId, start_unix_ns: u64, operations: &[OperationRecord]) {
        if let Some(trace) = &self.trace {
            out!("{}", trace.lines(run, operations));
        }
        if self.error.is_some() {
            return;
        }
        let written = self.written(run);
        let result = self.logs(run).map(|logs| match written {
            Some(_) => logs.take_check(operations, start_unix_ns),
            None => logs.take(operations, start_unix_ns),
        });
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
