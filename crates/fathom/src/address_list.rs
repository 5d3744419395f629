//! The list of every I/O that a job of Vdbench asks for (`showlba`): a file for each slave, a line
//! for each I/O that succeeded.
use crate::outputs::{Outputs, Own};
use conduct::OperationSink;
use measure::OperationRecord;
use plan::{BoundPlan, Label, Operation, Plan, RunId, StreamId};
use report::Opening;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The slave of a job that names none.
const ONLY: &str = "localhost-0";

/// Lists of an execution.
pub struct AddressLists {
    folder: PathBuf,
    plan: BoundPlan,
    /// Names of the storage, by target.
    targets: Vec<String>,
    run: Option<OfRun>,
    /// Start of the first run, in nanoseconds since 1970.
    begun_unix_ns: Option<u64>,
    /// Whether what an earlier part of the execution wrote is kept.
    appends: bool,
    open: BTreeMap<String, BufWriter<std::fs::File>>,
    error: Option<io::Error>,
    outputs: Outputs,
}

struct OfRun {
    id: RunId,
    /// Workload and slave of each stream.
    streams: Vec<(String, String)>,
}

impl AddressLists {
    pub fn new(plan: &BoundPlan, folder: &Path, appends: bool, outputs: &Outputs) -> Self {
        Self {
            folder: folder.to_owned(),
            targets: plan
                .plan
                .targets
                .iter()
                .map(|target| target.name.clone())
                .collect(),
            plan: plan.clone(),
            run: None,
            begun_unix_ns: None,
            appends,
            open: BTreeMap::new(),
            error: None,
            outputs: outputs.clone(),
        }
    }

    fn begin(&mut self, id: RunId) {
        if self.run.as_ref().is_some_and(|run| run.id == id) {
            return;
        }
        let plan = &self.plan.plan;
        let streams = plan.run(plan.of_any_pass(id)).streams;
        let named = |stream: &plan::Stream| {
            let of = |key: &str| Label::find(&stream.labels, key).map(str::to_owned);
            let workload = of("wd").unwrap_or_else(|| stream.name.clone());
            (workload, of("group").unwrap_or_else(|| ONLY.to_owned()))
        };
        self.run = Some(OfRun {
            id,
            streams: streams.iter().map(named).collect(),
        });
    }

    fn write(&mut self, shift_ns: u64, operations: &[OperationRecord]) -> io::Result<()> {
        let Some(run) = &self.run else { return Ok(()) };
        for one in operations {
            let StreamId(stream) = one.stream;
            let (workload, slave) = &run.streams[stream as usize];
            let out = match self.open.get_mut(slave) {
                Some(out) => out,
                None => {
                    let path = self.folder.join(file_name(slave));
                    let opening = match self.appends {
                        true => Opening::Append,
                        false => Opening::Replace,
                    };
                    let opened = self.outputs.open_own(&path, Own::Addresses, opening);
                    let file = opened.map_err(io::Error::other)?;
                    self.open
                        .entry(slave.clone())
                        .or_insert(BufWriter::new(file))
                }
            };
            let submitted_ns = shift_ns + one.seen_ns.saturating_sub(one.service_ns);
            writeln!(
                out,
                "{} {workload} {} {} {}",
                self.targets[one.target.index()],
                u8::from(one.operation == Operation::Read),
                one.offset,
                submitted_ns / 1_000_000,
            )?;
        }
        Ok(())
    }
}

/// The lists that a plan asks for, in its output folder.
pub fn files(plan: &Plan, folder: &Path) -> BTreeSet<PathBuf> {
    let streams = plan.templates.iter().flat_map(|template| &template.streams);
    let slaves = streams.map(|stream| Label::find(&stream.labels, "group").unwrap_or(ONLY));
    let wanted = slaves.filter(|_| plan.reporting.operations);
    wanted.map(|slave| folder.join(file_name(slave))).collect()
}

fn file_name(slave: &str) -> String {
    format!("{slave}.showlba.txt")
}

impl OperationSink for AddressLists {
    fn take(&mut self, run: RunId, start_unix_ns: u64, operations: &[OperationRecord]) {
        if self.error.is_some() || operations.is_empty() {
            return;
        }
        self.begin(run);
        let begun_unix_ns = *self.begun_unix_ns.get_or_insert(start_unix_ns);
        let shift_ns = start_unix_ns.saturating_sub(begun_unix_ns);
        self.error = self.write(shift_ns, operations).err();
    }

    fn end_run(&mut self, _run: RunId, lost: u64) {
        let flushed = self.open.values_mut().try_for_each(BufWriter::flush);
        if let Some(error) = self.error.take().or(flushed.err()) {
            let reason = format!("the list of addresses is not whole: {error}");
            self.outputs.tell(&reason);
        }
        if lost > 0 {
            errln!(
                "warning: {lost} I/Os are not in the list of addresses: they came faster than lines \
                 could be written"
            );
        }
    }
}
