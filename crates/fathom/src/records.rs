//! Which targets of an execution get a record of what was written, so that the next one knows data
//! that carry no mark (`host::guard::written`).
use conduct::planned_ns;
use door::{DoorError, Grants, Purpose, waiting};
use host::SysRoot;
use host::guard::Examination;
use host::guard::written::{self, Known, Law, Part, Written};
use plan::{
    Access, AddressOrder, BoundPlan, BoundRegion, BoundRun, BoundStream, CheckMethod, Generator,
    OpSource, PatternAnchor, PatternMarks, SequentialStart, Stream, TargetId,
};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use sys::file::OpenFlags;

/// Marks stand at the start of blocks of this size, and are looked for there.
const BLOCK: u64 = 4096;

/// What is to be recorded: before the first write what will be written, and at the end what was.
#[derive(Clone, Default)]
pub struct Records {
    targets: Vec<Recorded>,
}

#[derive(Clone)]
struct Recorded {
    target: TargetId,
    path: PathBuf,
    /// What was recorded of it before.
    known: Known,
    /// What may have been written; all else in it was blank or ours before.
    parts: Vec<Part>,
    laws: Vec<Law>,
    /// What was written from end to end, if all went well; this alone is recorded of what held data of others.
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
                && (found.is_unmarked[target]
                    || !one.recorded.is_empty()
                    || one.recorded.is_shifted())
        };
        let recorded = |one: &Examination| {
            let target = one.request.target;
            Recorded {
                target,
                path: one.real_path.clone(),
                known: one.recorded.clone(),
                parts: plan.write_extent(target).into_iter().collect(),
                laws: found.laws[target.index()].clone(),
                covered: found.covered[target.index()].clone(),
                was_named: !one.findings.is_empty(),
            }
        };
        let due = examinations.iter().filter(is_due);
        Self {
            targets: due.map(recorded).collect(),
        }
    }

    /// Writes records before the first write, those of missing files as soon as they are made, so that an execution that
    /// is killed leaves data that are known again. Where that is not possible, the next execution asks.
    pub fn announce(&self, root: &SysRoot, grants: &Grants) {
        let all = self.targets.iter().filter(|one| !one.was_named);
        for one in all.clone() {
            waiting::on(&one.path, || {
                if let Ok(file) = grants.open(one.target, Purpose::Read, &OpenFlags::default()) {
                    let _ = written::announce(root, &file, one.written(&one.parts));
                }
            });
        }
        let by_path: BTreeMap<PathBuf, Recorded> =
            all.map(|one| (one.path.clone(), one.clone())).collect();
        let root = root.clone();
        grants.door().tell_made(move |path: &Path, file: &File| {
            if let Some(one) = by_path.get(path) {
                let _ = written::announce(&root, file, one.written(&one.parts));
            }
        });
    }

    /// Whether nothing is to be recorded.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// Writes the records, once nothing is written any more. `is_whole` where all that was to be written was.
    ///
    /// # Errors
    /// The targets without one, which have to be named next time, and why.
    pub fn keep(
        &self,
        root: &SysRoot,
        grants: &Grants,
        is_whole: bool,
    ) -> Result<(), Vec<(PathBuf, io::Error)>> {
        let failed = |one: &Recorded| {
            let kept = waiting::on(&one.path, || one.keep(root, grants, is_whole));
            let error = kept.err()?;
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
    fn written<'a>(&'a self, parts: &'a [Part]) -> Written<'a> {
        Written {
            known: &self.known,
            parts,
            laws: &self.laws,
            is_all_ours: !self.was_named,
        }
    }

    fn keep(&self, root: &SysRoot, grants: &Grants, is_whole: bool) -> io::Result<()> {
        let parts = match self.was_named {
            false => &self.parts,
            true if is_whole => &self.covered,
            // Nobody knows which of the data are still those of others.
            true => return Ok(()),
        };
        match grants.open(self.target, Purpose::Read, &OpenFlags::default()) {
            Ok(file) => written::keep(root, &file, self.written(parts)),
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
    /// What data look like that show by themselves whose they are.
    laws: Vec<Vec<Law>>,
}

impl Found {
    fn of(plan: &BoundPlan) -> Self {
        let mut found = Self {
            is_unmarked: vec![false; plan.targets.len()],
            covered: vec![Vec::new(); plan.targets.len()],
            laws: vec![Vec::new(); plan.targets.len()],
        };
        for id in plan.distinct_runs() {
            let run = plan.run(id);
            for (stream, bound) in run.run.streams.iter().zip(&run.streams) {
                if !run.run.changes_data(stream) {
                    continue;
                }
                // Space that is given or taken holds zeros, and may end inside of a block with a mark.
                let is_space = run.run.space_call(stream).is_some();
                if !is_in_blocks(stream, bound) || (!is_space && !is_marked(plan, stream)) {
                    let unmarked = stream.targets.iter().map(|target| target.index());
                    unmarked.for_each(|target| found.is_unmarked[target] = true);
                }
                if is_space {
                    continue;
                }
                for (target, law) in laws(plan, stream, bound) {
                    let known = &mut found.laws[target.index()];
                    if !known.contains(&law) {
                        known.push(law);
                    }
                }
                if let Some((target, part)) = covered(&run, stream, bound) {
                    found.covered[target.index()].push(part);
                }
            }
        }
        found
    }
}

/// Whether every block that a stream writes begins with our mark, if transfers are whole blocks.
fn is_marked(plan: &BoundPlan, stream: &Stream) -> bool {
    let data = &stream.data;
    let pattern = data
        .pattern
        .map(|pattern| &plan.plan.patterns[pattern.index()]);
    data.compression_ratio <= 1.0
        && data.check.is_none()
        && data.duplicates.is_none()
        && pattern.is_none_or(|pattern| pattern.marks == PatternMarks::EachBlock)
}

/// Whether all transfers of a stream are whole blocks.
fn is_in_blocks(stream: &Stream, bound: &BoundStream) -> bool {
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
    grains.iter().all(|grain| grain.is_multiple_of(BLOCK))
}

/// What a stream writes where that is a pattern and nothing else.
fn laws(plan: &BoundPlan, stream: &Stream, bound: &BoundStream) -> Vec<(TargetId, Law)> {
    let data = &stream.data;
    let (OpSource::Generator(generator), Some(pattern)) = (&stream.source, data.pattern) else {
        return Vec::new();
    };
    let pattern = &plan.plan.patterns[pattern.index()];
    let has_headers = data
        .check
        .is_some_and(|check| !matches!(check.method, CheckMethod::Nothing | CheckMethod::Pattern));
    let is_pure = data.compression_ratio <= 1.0
        && data.duplicates.is_none()
        && !has_headers
        && pattern.anchor == PatternAnchor::Transfer
        && pattern.addresses.is_empty();
    if !is_pure {
        return Vec::new();
    }
    let law = |region: &BoundRegion| {
        let part = region.extent();
        let check = data.check.map(|check| check.block_bytes);
        let aligned = generator.align.bytes();
        let places = [region.start, region.low - part.0];
        let all = places.into_iter().chain(check).chain(aligned);
        let cell = all.fold(generator.grain_bytes(), common_divisor);
        Some((region.target, Law::new(part, cell, &pattern.bytes)?))
    };
    bound.regions.iter().filter_map(law).collect()
}

fn common_divisor(one: u64, other: u64) -> u64 {
    match other {
        0 => one,
        _ => common_divisor(other, one % other),
    }
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
