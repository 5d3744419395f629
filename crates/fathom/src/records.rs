//! Which targets of an execution get a record of what was written, so that the next one knows data
//! that carry no mark (`host::guard::written`).
use conduct::{Outcome, planned_ns};
use door::{DoorError, Grants, Purpose};
use host::SysRoot;
use host::guard::Examination;
use host::guard::written::{self, Part};
use measure::FinishReason;
use plan::{
    Access, AddressOrder, BoundPlan, BoundRun, BoundStream, Generator, OpSource, PatternMarks,
    SequentialStart, Stream, TargetId,
};
use std::io;
use std::path::PathBuf;
use sys::file::OpenFlags;

/// Marks stand at the start of blocks of this size, and are looked for there.
const BLOCK: u64 = 4096;

/// What is to be recorded at the end.
#[derive(Default)]
pub struct Records {
    targets: Vec<Recorded>,
}

struct Recorded {
    target: TargetId,
    path: PathBuf,
    /// What may have been written; all else in it was blank or ours before.
    parts: Vec<Part>,
    /// What was written from end to end, if all went well.
    covered: Vec<Part>,
    /// It held data of others, and the user has named it.
    was_named: bool,
}

impl Records {
    /// Of the targets that a plan writes to, those whose data are not known by their marks.
    pub fn of(plan: &BoundPlan, examinations: &[Examination]) -> Self {
        let found = Found::of(plan);
        let is_due = |one: &&Examination| {
            let target = one.request.target.index();
            one.request.access != Access::Read
                && (found.is_unmarked[target] || !one.recorded.is_empty())
        };
        let recorded = |one: &Examination| {
            let target = one.request.target;
            let mut parts = one.recorded.clone();
            parts.extend(plan.write_extent(target));
            let mut covered = one.recorded.clone();
            covered.extend(&found.covered[target.index()]);
            Recorded {
                target,
                path: one.real_path.clone(),
                parts,
                covered,
                was_named: !one.findings.is_empty(),
            }
        };
        let due = examinations.iter().filter(is_due);
        Self {
            targets: due.map(recorded).collect(),
        }
    }

    /// Writes the records, once nothing is written any more.
    ///
    /// # Errors
    /// The targets without one, which have to be named next time, and why.
    pub fn keep(
        &self,
        root: &SysRoot,
        grants: &Grants,
        outcome: &Outcome,
    ) -> Result<(), Vec<(PathBuf, io::Error)>> {
        // What is still out may change anything, and reading may never come to an end.
        if outcome.left_outstanding {
            return Ok(());
        }
        let is_whole = outcome.reason == FinishReason::Complete
            && outcome.errors == 0
            && outcome.streams_failed == 0;
        let failed = |one: &Recorded| {
            let error = one.keep(root, grants, is_whole).err()?;
            Some((one.path.clone(), error))
        };
        let failures: Vec<_> = self.targets.iter().filter_map(failed).collect();
        match failures.is_empty() {
            true => Ok(()),
            false => Err(failures),
        }
    }
}

impl Recorded {
    fn keep(&self, root: &SysRoot, grants: &Grants, is_whole: bool) -> io::Result<()> {
        let parts = match self.was_named {
            false => &self.parts,
            true if is_whole => &self.covered,
            // Nobody knows which of the data are still those of others.
            true => return Ok(()),
        };
        if parts.is_empty() {
            return Ok(());
        }
        match grants.open(self.target, Purpose::Read, &OpenFlags::default()) {
            Ok(file) => written::keep(root, &file, parts),
            // It was removed again, or never made.
            Err(DoorError::Io { error, .. }) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(DoorError::Io { error, .. }) => Err(error),
            Err(_) => Err(io::Error::other("something else stands there by now")),
        }
    }
}

/// What the runs of a plan do to each target.
struct Found {
    /// Data that may lack a mark, or carry it elsewhere.
    is_unmarked: Vec<bool>,
    covered: Vec<Vec<Part>>,
}

impl Found {
    fn of(plan: &BoundPlan) -> Self {
        let mut found = Self {
            is_unmarked: vec![false; plan.targets.len()],
            covered: vec![Vec::new(); plan.targets.len()],
        };
        for id in plan.distinct_runs() {
            let run = plan.run(id);
            for (stream, bound) in run.run.streams.iter().zip(&run.streams) {
                // Space that is given or taken holds zeros.
                if !run.run.changes_data(stream) || run.run.space_call(stream).is_some() {
                    continue;
                }
                if !is_marked(plan, stream, bound) {
                    let unmarked = stream.targets.iter().map(|target| target.index());
                    unmarked.for_each(|target| found.is_unmarked[target] = true);
                }
                if let Some((target, part)) = covered(&run, stream, bound) {
                    found.covered[target.index()].push(part);
                }
            }
        }
        found
    }
}

/// Whether every block that a stream writes begins with our mark.
fn is_marked(plan: &BoundPlan, stream: &Stream, bound: &BoundStream) -> bool {
    let data = &stream.data;
    let pattern = data
        .pattern
        .map(|pattern| &plan.plan.patterns[pattern.index()]);
    let has_marks = data.compression_ratio <= 1.0
        && data.check.is_none()
        && data.duplicates.is_none()
        && pattern.is_none_or(|pattern| pattern.marks == PatternMarks::EachBlock);
    let mut grains = Vec::new();
    match &stream.source {
        OpSource::Generator(generator) => {
            grains.push(generator.grain_bytes());
            grains.extend(generator.align.bytes());
        }
        OpSource::Replay(replay) => grains.push(replay.grain_bytes),
        OpSource::Tree { .. } | OpSource::Verify => return false,
    }
    for region in &bound.regions {
        grains.extend([region.low, region.low + region.start, region.wrap_to]);
    }
    has_marks && grains.iter().all(|grain| grain.is_multiple_of(BLOCK))
}

/// What a stream writes from end to end when nothing ends it earlier.
fn covered(run: &BoundRun, stream: &Stream, bound: &BoundStream) -> Option<(TargetId, Part)> {
    let (OpSource::Generator(generator), [region]) = (&stream.source, &bound.regions[..]) else {
        return None;
    };
    let stop = &run.run.stop;
    let limits = [stop.total_bytes, stop.read_bytes, stop.written_bytes];
    let has_time = planned_ns(&run.run.timing).is_none();
    let is_in_order = matches!(
        generator.order,
        AddressOrder::Sequential {
            start: SequentialStart::First | SequentialStart::PresentEnd { .. },
            ..
        }
    );
    let bytes = stream.stop.bytes.unwrap_or(region.width);
    let is_whole = is_in_order
        && writes_only(generator)
        && has_time
        && limits.iter().all(Option::is_none)
        && stream.stop.operations.is_none()
        && !stream.stop.when_full
        && stream.lifetime.is_none()
        && region.wrap_at.is_none()
        && bytes >= region.width - region.start;
    let (low, end) = region.extent();
    is_whole.then_some((region.target, (low + region.start, end)))
}

fn writes_only(generator: &Generator) -> bool {
    generator.operations.write_pct >= 100.0
}
