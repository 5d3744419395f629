//! Opening targets, by grant only, and checking that what is opened is what was examined.
use crate::flow::DueSync;
use crate::placement::as_owner;
use crate::shared::{FILE_SYSTEM_SYNC, code_of};
use crate::whole_writes;
use plan::{
    Access, AccessAdvice, BoundPlan, BoundRun, Grant, NameCall, OpenMode, Operation, Owner,
    Reservation, RunKind, SpaceCall, Stream, SyncMode, TargetId,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sys::file::OpenFlags;

/// Of one read while a cache is filled.
const READ_THROUGH_BYTES: usize = 1 << 20;

/// Files of one file system that are flushed one by one, at most: each costs the device a flush. Where there are more,
/// the file system is flushed as a whole.
const SYNCED_ONE_BY_ONE: usize = 64;

/// Names of files, as the kernel takes them.
pub(crate) type Names = Arc<[CString]>;

/// The files of one run, by target and stream.
#[derive(Debug, Default)]
pub struct OpenTargets {
    /// One per different way in which a target is opened.
    pub(crate) files: Vec<Arc<File>>,
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
    /// Files whose file systems are flushed as a whole before they are closed; devices themselves.
    synced_with_file_system: Vec<u32>,
}

/// The files that an execution has made for its data, whatever has become of their names.
#[derive(Clone, Debug, Default)]
pub struct MadeFiles {
    /// Device and inode.
    identities: BTreeSet<(u64, u64)>,
}

/// What a target is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Read,
    Write,
    /// It is written, and may become shorter.
    Cut,
}

/// Why a target could not be opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// The guard gave no grant, or a weaker one.
    NotGranted { target: TargetId },
    /// What stands at the path is not what was examined.
    Replaced { path: PathBuf },
    /// It is to be cut, and this execution has not made it for its data.
    NotOurs { path: PathBuf },
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

/// Opens what a run needs. Files that are written and missing are created, never truncated; `made`
/// is what earlier runs of the execution have created, to which it adds.
///
/// # Errors
/// The first target that could not be opened, with the likely cause.
pub fn open_targets(
    plan: &BoundPlan,
    run: &BoundRun,
    grants: &[Grant],
    made: &mut MadeFiles,
) -> Result<OpenTargets, OpenError> {
    let mut opening = Opening {
        plan,
        run,
        grants: by_target(grants),
        made,
        purposes: purposes(run),
        ways: Vec::new(),
        known: BTreeMap::new(),
        names: Vec::new(),
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
    sync_file_systems(plan, run, &mut open)?;
    whole_writes::check(plan, run, &open)?;
    Ok(open)
}

/// The targets of a run while they are opened.
struct Opening<'a> {
    plan: &'a BoundPlan,
    run: &'a BoundRun,
    grants: BTreeMap<TargetId, Vec<&'a Grant>>,
    made: &'a mut MadeFiles,
    purposes: BTreeMap<(TargetId, Option<Owner>), Purpose>,
    /// Targets are many, and the ways of opening them few.
    ways: Vec<Way>,
    known: BTreeMap<(TargetId, bool, usize), u32>,
    names: Vec<CString>,
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
                self.names.push(name_one(plan, *id, &self.grants, call)?);
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
            let mode = stream.open.unwrap_or(target.open);
            // One descriptor serves readers and writers of a target in the same mode.
            let purpose = self.purposes.get(&(*id, owner)).copied();
            let purpose = purpose.unwrap_or(Purpose::Read);
            let writes = purpose != Purpose::Read;
            let key = (*id, writes, way(&mut self.ways, (mode, owner)));
            let index = match self.known.get(&key) {
                Some(index) => *index,
                None => {
                    let file = open_one(*id, &self.grants, self.made, purpose, mode)?;
                    if writes && run.kind == RunKind::Measure {
                        reserve(&file, mode, plan.targets[id.index()].bytes)
                            .map_err(|error| reserving(plan, *id, error))?;
                    }
                    self.open.files.push(Arc::new(file));
                    self.open.modes.push(mode);
                    self.open.sync_on_close.push(mode.sync_on_close && writes);
                    let index = self.open.files.len() as u32 - 1;
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
                let mode = stream.open.unwrap_or(target.open);
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

    /// Flushes what its open mode says.
    ///
    /// # Errors
    /// The first flush that failed.
    pub fn close(self) -> io::Result<()> {
        let mut by_file_system: BTreeMap<Option<u64>, Vec<&Arc<File>>> = BTreeMap::new();
        let mut whole = BTreeSet::new();
        let synced = self.files.iter().zip(&self.sync_on_close);
        let synced = synced.filter(|(_, sync)| **sync).map(|(file, _)| file);
        let held = self.synced_with_file_system.iter();
        let held = held.map(|number| &self.files[*number as usize]);
        for (file, is_whole) in
            (synced.map(|file| (file, false))).chain(held.map(|file| (file, true)))
        {
            let metadata = file.metadata()?;
            let file_system = metadata.is_file().then(|| metadata.dev());
            by_file_system.entry(file_system).or_default().push(file);
            whole.extend(file_system.filter(|_| is_whole));
        }
        for (file_system, files) in by_file_system {
            let is_whole = |device| whole.contains(&device) || files.len() > SYNCED_ONE_BY_ONE;
            if file_system.is_some_and(is_whole) {
                sys::file::sync_file_system(files[0])?;
                continue;
            }
            for file in files {
                sys::file::fsync(file)?;
            }
        }
        Ok(())
    }
}

/// Notes which file systems are synced at the end of streams, and behind the run.
fn sync_file_systems(
    plan: &BoundPlan,
    run: &BoundRun,
    open: &mut OpenTargets,
) -> Result<(), OpenError> {
    for (number, stream) in run.run.streams.iter().enumerate() {
        let syncs = &stream.flow.syncs;
        let asks = syncs.file_systems_at_end || syncs.file_systems_on_close;
        if !asks || run.run.name_call(stream).is_some() {
            continue;
        }
        let files = &open.by_stream[number];
        let due = of_file_systems(plan, stream, files, &open.files)?;
        if syncs.file_systems_on_close {
            let held = due.iter().map(|one| files[one.place as usize]);
            open.synced_with_file_system.extend(held);
        }
        if syncs.file_systems_at_end {
            open.last_syncs.resize_with(number, Vec::new);
            open.last_syncs.push(due);
        }
    }
    Ok(())
}

/// A sync of each file system that holds files of a stream, and of devices, which none holds.
fn of_file_systems(
    plan: &BoundPlan,
    stream: &Stream,
    numbers: &[u32],
    files: &[Arc<File>],
) -> Result<Vec<DueSync>, OpenError> {
    let mut known = BTreeSet::new();
    let mut syncs = Vec::new();
    for (place, (id, number)) in stream.targets.iter().zip(numbers).enumerate() {
        let target = plan.plan.target(*id);
        if !target.is_real() {
            continue;
        }
        let metadata = files[*number as usize].metadata();
        let metadata = metadata.map_err(|error| OpenError::Io {
            path: PathBuf::from(&target.path),
            direct: false,
            error,
        })?;
        let operation = match metadata.is_file() {
            true if known.insert(metadata.dev()) => FILE_SYSTEM_SYNC,
            false if !stream.flow.syncs.at_end => code_of(Operation::Sync),
            _ => continue,
        };
        let place = place as u32;
        syncs.push(DueSync { operation, place });
    }
    Ok(syncs)
}

/// The first place of each target among those of a stream.
pub(crate) fn places(targets: &[TargetId]) -> BTreeMap<TargetId, u32> {
    let mut places = BTreeMap::new();
    for (place, target) in targets.iter().enumerate() {
        places.entry(*target).or_insert(place as u32);
    }
    places
}

/// Targets that are not only read, by who opens them: who may read only is not to ask for more.
fn purposes(run: &BoundRun) -> BTreeMap<(TargetId, Option<Owner>), Purpose> {
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

/// Grants by target, each target's in the order in which they were given.
fn by_target(grants: &[Grant]) -> BTreeMap<TargetId, Vec<&Grant>> {
    let mut by_target: BTreeMap<TargetId, Vec<&Grant>> = BTreeMap::new();
    for grant in grants {
        by_target.entry(grant.target()).or_default().push(grant);
    }
    by_target
}

/// The first grant for a target that is enough.
fn enough<'a>(
    grants: &BTreeMap<TargetId, Vec<&'a Grant>>,
    id: TargetId,
    is_enough: impl Fn(Access) -> bool,
) -> Result<&'a Grant, OpenError> {
    let mut of_target = grants.get(&id).into_iter().flatten();
    let grant = of_target.find(|grant| is_enough(grant.access()));
    grant.copied().ok_or(OpenError::NotGranted { target: id })
}

fn open_one(
    id: TargetId,
    grants: &BTreeMap<TargetId, Vec<&Grant>>,
    made: &mut MadeFiles,
    purpose: Purpose,
    mode: OpenMode,
) -> Result<File, OpenError> {
    let writes = purpose != Purpose::Read;
    let grant = enough(grants, id, |access| !writes || access != Access::Read)?;
    let path = grant.path().to_path_buf();
    let flags = OpenFlags {
        read: true,
        write: writes,
        create: writes && grant.access() == Access::Create,
        direct: mode.direct,
        dsync: mode.sync == SyncMode::Data,
        sync: mode.sync == SyncMode::All,
        exclusive: false,
        raw: mode.raw_flags,
    };
    let failed = |error| OpenError::Io {
        path: path.clone(),
        direct: mode.direct,
        error,
    };
    let (file, is_new) = open_or_make(&path, &flags).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    let identity = if metadata.file_type().is_block_device() {
        let bytes = sys::file::device_bytes(&file).map_err(failed)?;
        (metadata.rdev(), bytes)
    } else {
        (metadata.dev(), metadata.ino())
    };
    if grant
        .identity()
        .is_some_and(|expected| expected != identity)
    {
        return Err(OpenError::Replaced { path });
    }
    if is_new {
        made.identities.insert(identity);
    }
    if purpose == Purpose::Cut && !made.identities.contains(&identity) {
        return Err(OpenError::NotOurs { path });
    }
    if mode.drops_cache {
        sys::file::drop_cache(&file).map_err(failed)?;
    }
    if mode.fills_cache && !mode.direct {
        read_through(&file).map_err(failed)?;
    }
    if let Some(order) = mode.advice {
        sys::file::advise(&file, advice(order)).map_err(failed)?;
    }
    Ok(file)
}

/// The open file, and whether it was made by that.
fn open_or_make(path: &Path, flags: &OpenFlags) -> io::Result<(File, bool)> {
    if flags.create {
        let alone = OpenFlags {
            exclusive: true,
            ..*flags
        };
        match sys::file::open(path, &alone) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return Ok((made?, true)),
        }
    }
    Ok((sys::file::open(path, flags)?, false))
}

/// Gives a regular file that is shorter than its target what its mode says.
fn reserve(file: &File, mode: OpenMode, bytes: u64) -> io::Result<()> {
    let Some(reservation) = mode.reserves else {
        return Ok(());
    };
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() >= bytes {
        return Ok(());
    }
    let reserved = match reservation {
        Reservation::Space => sys::file::reserve(file, 0, bytes, false),
        Reservation::SpaceBehindEnd => sys::file::reserve(file, 0, bytes, true),
        Reservation::Length => sys::file::extend(file, bytes),
    };
    match reserved {
        // Where a file system reserves nothing, files grow as they are written.
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        other => other,
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
fn name_one(
    plan: &BoundPlan,
    id: TargetId,
    grants: &BTreeMap<TargetId, Vec<&Grant>>,
    call: NameCall,
) -> Result<CString, OpenError> {
    let is_enough = |access| match call {
        // It was missing when the guard looked, so this execution has made it.
        NameCall::Remove => access == Access::Create,
        // Opening keeps what is there.
        NameCall::Make | NameCall::Look | NameCall::LookAtLink | NameCall::LookWhole => true,
    };
    let grant = enough(grants, id, is_enough)?;
    let path = match call.changes_names() {
        true => grant.path(),
        // As it was named: it may be a link.
        false => &plan.plan.target(id).path,
    };
    let found = std::fs::symlink_metadata(path);
    if found.is_ok_and(|found| call.changes_names() && !found.is_file()) {
        let path = path.to_path_buf();
        return Err(OpenError::Replaced { path });
    }
    Ok(CString::new(path.as_os_str().as_bytes()).expect("a path that was looked at has no zero"))
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

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::NotGranted { target } => {
                write!(f, "target {} may not be opened: no grant", target.0)
            }
            OpenError::Replaced { path } => {
                write!(
                    f,
                    "`{}` is no longer what was examined before the run",
                    path.display()
                )
            }
            OpenError::NotOurs { path } => write!(
                f,
                "`{}` has come since the guard looked: only files that this execution has made for its data are cut",
                path.display()
            ),
            OpenError::Owner { owner, error } => write!(
                f,
                "targets cannot be opened as {owner}: {error} (that takes the rights of root)"
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
