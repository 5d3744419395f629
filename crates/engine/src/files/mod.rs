//! The targets of a run, opened through the door by their grants.
mod on_demand;
mod whole_writes;

pub use on_demand::Reopened;
pub(crate) use on_demand::{OnDemand, ToOpen};

use crate::op::{Cause, DueSync};
use crate::placement::as_owner;
use door::{Calls, DoorError, Entry, Grants, Kernel, Named, Purpose};
use plan::{
    Access, AccessAdvice, BoundPlan, BoundRun, NameCall, OpenMode, Operation, Owner, RunKind,
    SpaceCall, Stream, SyncMode, TargetId,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sys::file::OpenFlags;

/// Of one read while a cache is filled.
const READ_THROUGH_BYTES: usize = 1 << 20;

/// Files of one file system that are flushed one by one, at most: each costs the device a flush. Where there are more,
/// the file system is flushed as a whole.
const SYNCED_ONE_BY_ONE: usize = 64;

/// Names of files.
pub(crate) type Names<C = Kernel> = Arc<[NamedTarget<C>]>;

/// A target that a stream names and does not open.
#[derive(Debug)]
pub(crate) enum NamedTarget<C: Calls = Kernel> {
    /// The name may change: by the door.
    Entry(Box<Entry<C>>),
    /// It is only looked at, as it was named: it may be a link.
    Path(Named<C>),
}

/// The files of one run, by target and stream.
#[derive(Debug, Default)]
pub struct OpenTargets {
    /// One per different way in which a target is opened; none where they are opened on demand.
    pub(crate) files: Vec<Arc<File>>,
    /// Where they cannot all be open at a time.
    pub(crate) on_demand: Option<Arc<OnDemand>>,
    /// What streams name and do not open.
    pub(crate) names: Names,
    /// For each stream, the file or the name of each of its targets.
    pub(crate) by_stream: Vec<Vec<u32>>,
    /// For each file, how it is opened.
    pub(crate) modes: Vec<OpenMode>,
    /// For each stream, the syncs at its end that the places of its files lead to; empty where no
    /// stream has any.
    pub(crate) last_syncs: Vec<Vec<DueSync>>,
    /// For each file, whether it is flushed before it is closed.
    sync_on_close: Vec<bool>,
}

/// Why a target could not be opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// Something else stands there than was examined, or nothing was granted.
    Door(DoorError),
    Io {
        path: PathBuf,
        direct: bool,
        error: io::Error,
    },
    /// This process may not open files as somebody else.
    Owner { owner: Owner, error: io::Error },
    /// It cannot store a write as a whole or not at all: one of so many bytes, or any.
    NotWhole {
        path: PathBuf,
        bytes: Option<u64>,
        /// The lengths that it can store so, bytes.
        limits: Option<(u32, u32)>,
    },
    /// No space for all of a file.
    Reserving {
        path: PathBuf,
        bytes: u64,
        error: io::Error,
    },
}

/// Opens what a run needs. Files that are written and missing are made, never truncated. Where there are more than
/// `descriptors`, each is opened, made ready and closed, and workers open it again when they need it.
///
/// # Errors
/// The first target that could not be opened, with the likely cause.
pub fn open_targets(
    plan: &BoundPlan,
    run: &BoundRun,
    grants: &Grants,
    descriptors: usize,
) -> Result<OpenTargets, OpenError> {
    door::moments::reached("run");
    let is_beyond = files_of_run(plan, run) > descriptors;
    let mut opening = Opening {
        plan,
        run,
        grants,
        purposes: purposes(run),
        ways: Vec::new(),
        known: BTreeMap::new(),
        names: Vec::new(),
        on_demand: is_beyond.then(|| OnDemand::new(grants.clone(), descriptors)),
        open: OpenTargets::default(),
    };
    for stream in &run.run.streams {
        let files = match stream.flow.placement.owner {
            None => opening.stream(stream)?,
            Some(owner) => as_owner(owner, || opening.stream(stream))
                .map_err(|error| OpenError::Owner { owner, error })??,
        };
        opening.open.by_stream.push(files);
    }
    let mut open = opening.open;
    open.names = opening.names.into();
    open.on_demand = opening.on_demand.map(Arc::new);
    sync_file_systems(plan, run, &mut open)?;
    whole_writes::check(plan, run, &open)?;
    Ok(open)
}

/// The targets of a run while they are opened.
struct Opening<'a> {
    plan: &'a BoundPlan,
    run: &'a BoundRun,
    grants: &'a Grants,
    purposes: BTreeMap<(TargetId, Option<Owner>), Purpose>,
    /// Targets are many, and the ways of opening them few.
    ways: Vec<Way>,
    known: BTreeMap<(TargetId, bool, usize), u32>,
    names: Vec<NamedTarget>,
    on_demand: Option<OnDemand>,
    open: OpenTargets,
}

/// How a target is opened, and as whom.
type Way = (OpenMode, Option<Owner>);

impl Opening<'_> {
    /// The files or names of a stream, each in the place of its target.
    fn stream(&mut self, stream: &Stream) -> Result<Vec<u32>, OpenError> {
        let (plan, run) = (self.plan, &self.run.run);
        let mut files = Vec::new();
        if let Some(call) = run.name_call(stream) {
            for id in &stream.targets {
                files.push(self.names.len() as u32);
                self.names.push(name_one(plan, *id, self.grants, call)?);
            }
            return Ok(files);
        }
        let owner = stream.flow.placement.owner;
        for id in &stream.targets {
            let target = plan.plan.target(*id);
            if !target.is_real() {
                files.push(0);
                continue;
            }
            let mode = stream.open_mode(target);
            // One descriptor serves readers and writers of a target in the same mode.
            let purpose = self.purposes.get(&(*id, owner)).copied();
            let purpose = purpose.unwrap_or(Purpose::Read);
            let writes = purpose != Purpose::Read;
            let key = (*id, writes, way(&mut self.ways, (mode, owner)));
            let index = match self.known.get(&key) {
                Some(index) => *index,
                None => {
                    let file = open_one(plan, *id, self.grants, purpose, mode)?;
                    if writes
                        && run.kind == RunKind::Measure
                        && let Some(reservation) = mode.reserves
                    {
                        door::space::provide(&file, reservation, plan.targets[id.index()].bytes)
                            .map_err(|error| reserving(plan, *id, error))?;
                    }
                    match &mut self.on_demand {
                        None => self.open.files.push(file),
                        Some(on_demand) => on_demand.files.push(ToOpen {
                            target: *id,
                            purpose,
                            mode,
                        }),
                    }
                    self.open.modes.push(mode);
                    self.open.sync_on_close.push(mode.sync_on_close && writes);
                    let index = self.open.modes.len() as u32 - 1;
                    self.known.insert(key, index);
                    index
                }
            };
            files.push(index);
        }
        Ok(files)
    }
}

/// How many files [`open_targets`] opens for a run.
pub fn files_of_run(plan: &BoundPlan, run: &BoundRun) -> usize {
    let mut ways: Vec<Way> = Vec::new();
    let mut known = BTreeSet::new();
    let opens = |stream: &&plan::Stream| run.run.name_call(stream).is_none();
    for stream in run.run.streams.iter().filter(opens) {
        for id in &stream.targets {
            let target = plan.plan.target(*id);
            if target.is_real() {
                let mode = stream.open_mode(target);
                known.insert((*id, way(&mut ways, (mode, stream.flow.placement.owner))));
            }
        }
    }
    known.len()
}

/// The place of a way among those that were met; it is one of few.
fn way(ways: &mut Vec<Way>, way: Way) -> usize {
    let known = ways.iter().position(|known| *known == way);
    known.unwrap_or_else(|| {
        ways.push(way);
        ways.len() - 1
    })
}

impl OpenTargets {
    /// Nothing opened, for backends that reach no storage.
    pub fn none(run: &BoundRun) -> Self {
        let by_stream = run
            .run
            .streams
            .iter()
            .map(|stream| vec![0; stream.targets.len()])
            .collect();
        Self {
            by_stream,
            ..Self::default()
        }
    }

    /// A file of the run, for a moment.
    pub(crate) fn file(&self, number: u32) -> Result<Arc<File>, OpenError> {
        match &self.on_demand {
            None => Ok(Arc::clone(&self.files[number as usize])),
            Some(on_demand) => on_demand.open_outside(number),
        }
    }

    /// How often workers have opened a file, as not all of them could stay open.
    pub fn openings(&self) -> u64 {
        let on_demand = self.on_demand.as_ref();
        on_demand.map_or(0, |on_demand| on_demand.openings())
    }

    /// The files that workers open during this run, as not all of them may be open at a time; `None` where all are.
    #[must_use]
    pub fn reopened(&self, run: &BoundRun) -> Option<Reopened> {
        let on_demand = Arc::clone(self.on_demand.as_ref()?);
        let is_told = |stream: &Stream| {
            stream.flow.placement.owner.is_none() && run.run.name_call(stream).is_none()
        };
        let streams = run.run.streams.iter().zip(&self.by_stream);
        let by_stream = streams.map(|(stream, files)| match is_told(stream) {
            true => files.clone(),
            false => Vec::new(),
        });
        Some(Reopened {
            by_stream: by_stream.collect(),
            on_demand,
        })
    }

    /// Whether files are flushed before they are closed, which may take a while.
    pub fn flushes(&self) -> bool {
        self.sync_on_close.contains(&true)
    }

    /// Flushes what its open mode says.
    ///
    /// # Errors
    /// The first flush that failed.
    pub fn close(self) -> io::Result<()> {
        // Where files are too many to be open, one of each file system stands for all.
        let one_by_one = self.on_demand.as_ref().map_or(SYNCED_ONE_BY_ONE, |_| 0);
        let mut by_file_system: BTreeMap<Option<u64>, Vec<Arc<File>>> = BTreeMap::new();
        let numbers = 0..self.modes.len() as u32;
        for number in numbers.filter(|number| self.sync_on_close[*number as usize]) {
            let file = self.file(number).map_err(OpenError::into_io)?;
            let metadata = file.metadata()?;
            let file_system = metadata.is_file().then(|| metadata.dev());
            let files = by_file_system.entry(file_system).or_default();
            // More of them change nothing.
            if file_system.is_none() || files.len() <= one_by_one {
                files.push(file);
            }
        }
        for (file_system, files) in by_file_system {
            if file_system.is_some() && files.len() > one_by_one {
                sys::file::sync_file_system(&files[0])?;
                continue;
            }
            for file in files {
                sys::file::fsync(&file)?;
            }
        }
        Ok(())
    }
}

/// Notes which file systems are synced at the end of streams.
fn sync_file_systems(
    plan: &BoundPlan,
    run: &BoundRun,
    open: &mut OpenTargets,
) -> Result<(), OpenError> {
    for (number, stream) in run.run.streams.iter().enumerate() {
        if !stream.flow.syncs.file_systems_at_end || run.run.name_call(stream).is_some() {
            continue;
        }
        let files = &open.by_stream[number];
        let due = of_file_systems(plan, stream, files, open)?;
        open.last_syncs.resize_with(number, Vec::new);
        open.last_syncs.push(due);
    }
    Ok(())
}

/// A sync of each file system that holds files of a stream, and of devices, which none holds.
fn of_file_systems(
    plan: &BoundPlan,
    stream: &Stream,
    numbers: &[u32],
    open: &OpenTargets,
) -> Result<Vec<DueSync>, OpenError> {
    let mut known = BTreeSet::new();
    let mut syncs = Vec::new();
    for (place, (id, number)) in stream.targets.iter().zip(numbers).enumerate() {
        let target = plan.plan.target(*id);
        if !target.is_real() {
            continue;
        }
        let metadata = open.file(*number)?.metadata();
        let metadata = metadata.map_err(|error| OpenError::Io {
            path: PathBuf::from(&target.path),
            direct: false,
            error,
        })?;
        let cause = match metadata.is_file() {
            true if known.insert(metadata.dev()) => Cause::FileSystemRule,
            false if !stream.flow.syncs.at_end => Cause::AtEnd,
            _ => continue,
        };
        syncs.push(DueSync {
            kind: Operation::Sync,
            cause,
            place: place as u32,
        });
    }
    Ok(syncs)
}

/// Targets that are not only read, by who opens them: who may read only is not to ask for more.
pub(crate) fn purposes(run: &BoundRun) -> BTreeMap<(TargetId, Option<Owner>), Purpose> {
    let mut purposes = BTreeMap::new();
    for stream in &run.run.streams {
        if !run.run.changes_data(stream) {
            continue;
        }
        for id in &stream.targets {
            let key = (*id, stream.flow.placement.owner);
            match run.run.space_call(stream) {
                Some(SpaceCall::SetLength) => purposes.insert(key, Purpose::Cut),
                _ => Some(*purposes.entry(key).or_insert(Purpose::Write)),
            };
        }
    }
    purposes
}

/// In the words of the kernel.
pub(crate) fn advice(order: AccessAdvice) -> sys::file::AccessAdvice {
    match order {
        AccessAdvice::Random => sys::file::AccessAdvice::Random,
        AccessAdvice::Sequential => sys::file::AccessAdvice::Sequential,
        AccessAdvice::Once => sys::file::AccessAdvice::Once,
    }
}

fn open_one(
    plan: &BoundPlan,
    id: TargetId,
    grants: &Grants,
    purpose: Purpose,
    mode: OpenMode,
) -> Result<Arc<File>, OpenError> {
    let open = || grants.open(id, purpose, &open_flags(mode));
    let opened = door::waiting::on(&plan.plan.target(id).path, open);
    let file = opened.map_err(|error| OpenError::of(error, mode))?;
    prepare_cache(&file, mode).map_err(|error| OpenError::Io {
        path: plan.plan.target(id).path.clone(),
        direct: mode.direct,
        error,
    })?;
    Ok(file)
}

/// How a mode has files opened.
pub(crate) fn open_flags(mode: OpenMode) -> OpenFlags {
    OpenFlags {
        direct: mode.direct,
        dsync: mode.sync == SyncMode::Data,
        sync: mode.sync == SyncMode::All,
        raw: mode.raw_flags,
        ..OpenFlags::default()
    }
}

/// Brings the page cache where the mode wants it.
fn prepare_cache(file: &File, mode: OpenMode) -> io::Result<()> {
    if mode.drops_cache {
        sys::file::drop_cache(file)?;
    }
    if mode.fills_cache && !mode.direct {
        read_through(file)?;
    }
    match mode.advice {
        Some(order) => sys::file::advise(file, advice(order)),
        None => Ok(()),
    }
}

fn reserving(plan: &BoundPlan, id: TargetId, error: io::Error) -> OpenError {
    OpenError::Reserving {
        path: PathBuf::from(&plan.plan.target(id).path),
        bytes: plan.targets[id.index()].bytes,
        error,
    }
}

/// The name of a target, where what stands there may be treated so.
pub(crate) fn name_one<C: Calls>(
    plan: &BoundPlan,
    id: TargetId,
    grants: &Grants<C>,
    call: NameCall,
) -> Result<NamedTarget<C>, OpenError> {
    let is_enough = |access| match call {
        // It was missing when the guard looked, so this execution has made it.
        NameCall::Remove => access == Access::Create,
        // Opening keeps what is there.
        NameCall::Make | NameCall::Look | NameCall::LookAtLink | NameCall::LookWhole => true,
    };
    let entry = grants.entry(id, is_enough).map_err(OpenError::Door)?;
    if call.changes_names() {
        return Ok(NamedTarget::Entry(Box::new(entry)));
    }
    let path = plan.plan.target(id).path.as_os_str();
    let path = CString::new(path.as_bytes()).expect("a path that was looked at has no zero");
    Ok(NamedTarget::Path(grants.named(path)))
}

/// Reads all of a file, so that the page cache holds what fits of it.
fn read_through(file: &File) -> io::Result<()> {
    let mut buffer = vec![0; READ_THROUGH_BYTES];
    let mut offset = 0;
    loop {
        match file.read_at(&mut buffer, offset)? {
            0 => return Ok(()),
            bytes => offset += bytes as u64,
        }
    }
}

impl OpenError {
    /// As the door says it of a target that is opened so.
    pub(crate) fn of(error: DoorError, mode: OpenMode) -> Self {
        match error {
            DoorError::Io { path, error } => OpenError::Io {
                path,
                direct: mode.direct,
                error,
            },
            refusal => OpenError::Door(refusal),
        }
    }

    fn into_io(self) -> io::Error {
        match self {
            OpenError::Door(error) => error.into_io(),
            OpenError::Io { error, .. }
            | OpenError::Owner { error, .. }
            | OpenError::Reserving { error, .. } => error,
            OpenError::NotWhole { .. } => io::ErrorKind::Unsupported.into(),
        }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Door(error) => error.fmt(f),
            OpenError::Owner { owner, error } => write!(
                f,
                "targets cannot be opened as {owner}: {error} (requires root)"
            ),
            OpenError::NotWhole {
                path,
                bytes,
                limits,
            } => not_whole(f, path, *bytes, *limits),
            OpenError::Reserving { path, bytes, error } => write!(
                f,
                "{bytes} bytes cannot be reserved for `{}`: {error}",
                path.display()
            ),
            OpenError::Io {
                path,
                direct,
                error,
            } => {
                write!(f, "`{}` cannot be opened: {error}", path.display())?;
                match (error.raw_os_error(), direct) {
                    (Some(22), true) => write!(f, " (its file system may not support direct I/O)"),
                    (Some(16), _) => write!(f, " (somebody else holds it)"),
                    (Some(24), _) => write!(f, " (too many open files: raise `ulimit -n`)"),
                    _ => Ok(()),
                }
            }
        }
    }
}

fn not_whole(
    f: &mut fmt::Formatter<'_>,
    path: &Path,
    bytes: Option<u64>,
    limits: Option<(u32, u32)>,
) -> fmt::Result {
    let path = path.display();
    match (bytes, limits) {
        (Some(bytes), Some((min, max))) => write!(
            f,
            "`{path}` cannot store a write of {bytes} bytes as a whole (atomic writes): it takes powers of two from {min} to {max} bytes"
        ),
        _ => write!(
            f,
            "`{path}` has no atomic writes: either its file system or the device below has none, or the kernel is older than 6.11 (XFS has them since 6.16, ext4 where the device has them)"
        ),
    }
}

impl std::error::Error for OpenError {}
