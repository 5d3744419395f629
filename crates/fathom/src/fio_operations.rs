//! Logs of single operations that jobs of fio ask for, and lines about each.
use crate::outputs::Outputs;
use crate::trace::{IoTrace, Topics};
use conduct::OperationSink;
use measure::OperationRecord;
use plan::{BoundPlan, RunId, RunKind};
use report::fio::OperationLogs;
use std::io;
use std::path::Path;
use std::sync::Arc;

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

    /// Whether a log or a line is asked for.
    pub fn is_wanted(&self) -> bool {
        self.trace.is_some() || !self.runs.is_empty()
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
