//! The list of every I/O that a job of Vdbench asks for (`showlba`): a file for each slave, a line
//! for each I/O that succeeded.
use conduct::OperationSink;
use measure::OperationRecord;
use plan::{BoundPlan, Label, Operation, RunId, StreamId};
use std::collections::BTreeMap;
use std::fs::OpenOptions;
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
}

struct OfRun {
    id: RunId,
    /// Workload and slave of each stream.
    streams: Vec<(String, String)>,
}

impl AddressLists {
    pub fn new(plan: &BoundPlan, folder: &Path, appends: bool) -> Self {
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
                    let path = self.folder.join(format!("{slave}.showlba.txt"));
                    let mut options = OpenOptions::new();
                    let options = options.create(true).write(true);
                    let file = match self.appends {
                        true => options.append(true).open(path)?,
                        false => options.truncate(true).open(path)?,
                    };
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
            errln!("warning: the list of addresses is not whole: {error}");
        }
        if lost > 0 {
            errln!(
                "warning: {lost} I/Os are not in the list of addresses: they came faster than lines \
                 could be written"
            );
        }
    }
}
