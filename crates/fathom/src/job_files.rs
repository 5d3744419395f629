//! Files that a job itself asks for beside its targets, whoever carries it out: logs over time and of single operations,
//! lists of addresses, contents of wrong blocks, and what was written for later checks. A job that asks for none has
//! none. Read [`JobFiles`] first.
use crate::address_list::{self, AddressLists};
use crate::face::{Beside, Job};
use crate::fio_operations::FioOperations;
use crate::outputs::{self, Outputs, Own};
use crate::written_states;
use conduct::OperationSink;
use measure::{Event, OperationRecord};
use plan::RunId;
use report::fio::{Dumps, Logs, log_files};
use std::path::Path;
use std::sync::Arc;

/// Files that are folded from events.
pub struct JobFiles {
    logs: LogFiles,
    dumps: BlockDumps,
}

/// Logs over time.
pub struct LogFiles {
    logs: Option<Logs>,
    outputs: Outputs,
}

/// Contents of blocks that were wrong.
pub struct BlockDumps(Dumps);

/// Refuses what the files of a job would replace, before anything is written.
///
/// # Errors
/// The reason, in words with the path.
pub fn check(job: &Job<'_>, beside: &Beside) -> Result<(), String> {
    let (plan, outputs) = (job.plan, job.outputs);
    if let Some(folder) = job.folder {
        let lists = address_list::files(&plan.plan, folder);
        let mut lists = lists.iter();
        lists.try_for_each(|path| outputs.check_own(path, Own::Addresses))?;
    }
    outputs::check_named(outputs, log_files(plan, beside.bandwidth_log.as_deref()))?;
    let states = written_states::files(&plan.plan, auxiliary(beside));
    let mut states = states.iter();
    states.try_for_each(|path| outputs.check_own(path, Own::State))
}

/// Where files go that belong to no result.
pub fn auxiliary(beside: &Beside) -> &Path {
    beside.auxiliary.as_deref().unwrap_or(Path::new(""))
}

impl JobFiles {
    pub fn new(beside: &Beside, outputs: &Outputs) -> Self {
        let opener = || Arc::new(outputs.clone());
        let whole = beside.bandwidth_log.as_deref();
        let logs = Logs::new(Path::new(""), whole).with_opener(opener());
        Self {
            logs: LogFiles {
                logs: Some(logs),
                outputs: outputs.clone(),
            },
            dumps: BlockDumps(Dumps::new(auxiliary(beside)).with_opener(opener())),
        }
    }

    /// Each can be written while the other waits.
    pub fn apart(self) -> (LogFiles, BlockDumps) {
        (self.logs, self.dumps)
    }
}

impl LogFiles {
    /// Takes an event. A log that cannot be written is no reason to lose the measurement.
    pub fn on_event(&mut self, event: &Event) {
        if let Some(logs) = &mut self.logs
            && let Err(error) = logs.on_event(event)
        {
            self.outputs.tell(&format!("log files end here: {error}"));
            self.logs = None;
        }
    }
}

impl BlockDumps {
    /// Writes the contents of blocks that were wrong, of events that the result does not hold yet. Returns lines that
    /// say so.
    pub fn on_event(&mut self, event: &Event) -> String {
        self.0.on_event(event)
    }
}

/// Who is told of single operations; `None` where nobody asks.
pub fn operation_sink(job: &Job<'_>, beside: &Beside) -> Option<Box<dyn OperationSink>> {
    let reporting = &job.plan.plan.reporting;
    if !reporting.operations {
        return None;
    }
    let logs = FioOperations::new(job.plan, Path::new(""), &beside.topics, job.outputs);
    let logs = Some(logs).filter(FioOperations::is_wanted);
    let lists = job.folder.filter(|_| reporting.address_lists);
    let goes_on = job.runs_done > 0;
    let lists = lists.map(|folder| AddressLists::new(job.plan, folder, goes_on, job.outputs));
    Some(Box::new(Both { logs, lists }))
}

struct Both {
    logs: Option<FioOperations>,
    lists: Option<AddressLists>,
}

impl OperationSink for Both {
    fn take(&mut self, run: RunId, start_unix_ns: u64, operations: &[OperationRecord]) {
        if let Some(logs) = &mut self.logs {
            logs.take(run, start_unix_ns, operations);
        }
        if let Some(lists) = &mut self.lists {
            lists.take(run, start_unix_ns, operations);
        }
    }

    fn end_run(&mut self, run: RunId, lost: u64) {
        if let Some(logs) = &mut self.logs {
            logs.end_run(run, lost);
        }
        if let Some(lists) = &mut self.lists {
            lists.end_run(run, lost);
        }
    }
}
