//! Files of simulated runs: those of a model of a file system, opened, made and removed through the door by the same
//! steps as on a machine. It must not know of time: an operation acts on its file at the moment when it comes back.
use crate::backend::{Call, NamedFiles, Request, RequestKind};
use crate::files::{Names, OpenError, name_one, purposes};
use door::{Calls, DoorError, Grants, Purpose, model};
use plan::{BoundPlan, BoundRun, IoMethod, Reservation, RunKind, SpaceCall, Stream, TargetId};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use sys::file::OpenFlags;

/// Opens the files of each run of an execution.
pub struct ModelFiles(Box<OpenRun>);

type OpenRun = dyn Fn(&BoundPlan, &BoundRun) -> Result<RunFiles, OpenError>;

/// The files of one run.
pub struct RunFiles(Box<dyn Act>);

/// How long files stay open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// All of them, from before the run to its end.
    ForRun,
    /// As where only few can be open at a time: each is opened before the run, closed, and opened again for each
    /// operation.
    ForOperation,
}

/// A worker, and a slot of it.
type SeatId = (usize, u32);

trait Act {
    fn begin(&mut self, seat: SeatId, pool: usize, request: &Request);
    fn carry_out(
        &mut self,
        seat: SeatId,
        pool: usize,
        request: &Request,
        buffer: &mut [u8],
    ) -> io::Result<usize>;
    fn give_up(&mut self, seat: SeatId);
}

struct Targets<C: Calls> {
    grants: Arc<Grants<C>>,
    opening: Opening,
    /// By pool.
    methods: Vec<Option<IoMethod>>,
    files: BTreeMap<u32, OneFile>,
    /// By pool and target.
    names: BTreeMap<(usize, u32), Names<C>>,
    /// Calls on names that were sent and are not back.
    calls: BTreeMap<SeatId, NamedFiles<C>>,
}

struct OneFile {
    purpose: Purpose,
    file: Option<Arc<model::File>>,
}

impl ModelFiles {
    /// Those that these grants are for.
    pub fn new<C>(grants: Arc<Grants<C>>, opening: Opening) -> Self
    where
        C: Calls<File = model::File> + 'static,
    {
        Self(Box::new(move |plan, run| {
            let targets = Targets::open(plan, run, &grants, opening)?;
            Ok(RunFiles(Box::new(targets)))
        }))
    }

    /// Opens what a run needs. Files that are written and missing are made.
    ///
    /// # Errors
    /// The first target that could not be opened.
    pub fn open(&self, plan: &BoundPlan, run: &BoundRun) -> Result<RunFiles, OpenError> {
        (self.0)(plan, run)
    }
}

impl RunFiles {
    /// An operation is sent: what the door does before its time begins.
    pub(super) fn begin(&mut self, seat: SeatId, pool: usize, request: &Request) {
        self.0.begin(seat, pool, request);
    }

    /// It comes back, and has been done.
    ///
    /// # Errors
    /// What the model or the door says.
    pub(super) fn carry_out(
        &mut self,
        seat: SeatId,
        pool: usize,
        request: &Request,
        buffer: &mut [u8],
    ) -> io::Result<usize> {
        self.0.carry_out(seat, pool, request, buffer)
    }

    /// It comes back, and has failed.
    pub(super) fn give_up(&mut self, seat: SeatId) {
        self.0.give_up(seat);
    }
}

impl<C: Calls<File = model::File>> Targets<C> {
    fn open(
        plan: &BoundPlan,
        run: &BoundRun,
        grants: &Arc<Grants<C>>,
        opening: Opening,
    ) -> Result<Self, OpenError> {
        let methods = run.run.pools.iter().map(|pool| pool.method).collect();
        let mut targets = Self {
            grants: Arc::clone(grants),
            opening,
            methods,
            files: BTreeMap::new(),
            names: BTreeMap::new(),
            calls: BTreeMap::new(),
        };
        // Whoever opens them, a model lets him.
        let mut wanted: BTreeMap<TargetId, Purpose> = BTreeMap::new();
        for ((target, _), purpose) in purposes(run) {
            let known = wanted.entry(target).or_insert(purpose);
            if purpose == Purpose::Cut {
                *known = purpose;
            }
        }
        for stream in &run.run.streams {
            targets.stream(plan, run, stream, &wanted)?;
        }
        Ok(targets)
    }

    fn stream(
        &mut self,
        plan: &BoundPlan,
        run: &BoundRun,
        stream: &Stream,
        wanted: &BTreeMap<TargetId, Purpose>,
    ) -> Result<(), OpenError> {
        for id in &stream.targets {
            let target = plan.plan.target(*id);
            if !target.is_real() {
                continue;
            }
            if let Some(call) = run.run.name_call(stream) {
                let name = name_one(plan, *id, &self.grants, call)?;
                let key = (stream.pool.index(), id.0);
                self.names.insert(key, Arc::from([name]));
                continue;
            }
            if self.files.contains_key(&id.0) {
                continue;
            }
            let purpose = wanted.get(id).copied().unwrap_or(Purpose::Read);
            let opened = open(&self.grants, *id, purpose);
            let file = opened.map_err(|error| match error {
                DoorError::Io { path, error } => OpenError::Io {
                    path,
                    direct: false,
                    error,
                },
                refusal => OpenError::Door(refusal),
            })?;
            let mode = stream.open_mode(target);
            let bytes = plan.targets[id.index()].bytes;
            let is_reserved = purpose != Purpose::Read && run.run.kind == RunKind::Measure;
            if let Some(Reservation::Space | Reservation::Length) =
                mode.reserves.filter(|_| is_reserved)
            {
                file.extend(bytes).map_err(|error| OpenError::Reserving {
                    path: PathBuf::from(&target.path),
                    bytes,
                    error,
                })?;
            }
            let file = (self.opening == Opening::ForRun).then_some(file);
            self.files.insert(id.0, OneFile { purpose, file });
        }
        Ok(())
    }

    fn file(&self, target: u32) -> Option<io::Result<Arc<model::File>>> {
        let known = self.files.get(&target)?;
        Some(match &known.file {
            Some(file) => Ok(Arc::clone(file)),
            None => open(&self.grants, TargetId(target), known.purpose).map_err(DoorError::into_io),
        })
    }
}

impl<C: Calls<File = model::File>> Act for Targets<C> {
    fn begin(&mut self, seat: SeatId, pool: usize, request: &Request) {
        let Some(IoMethod::Names(call)) = self.methods[pool] else {
            return;
        };
        if let Some(names) = self.names.get(&(pool, request.file)) {
            let mut named = NamedFiles::new(call, Arc::clone(names));
            named.begin(&only(request));
            self.calls.insert(seat, named);
        }
    }

    fn carry_out(
        &mut self,
        seat: SeatId,
        pool: usize,
        request: &Request,
        buffer: &mut [u8],
    ) -> io::Result<usize> {
        if let Some(mut named) = self.calls.remove(&seat) {
            let result = named.carry_out(&only(request), buffer);
            named.end();
            return result;
        }
        match (self.file(request.file), self.methods[pool]) {
            // Simulated storage without a file, which does as it was told.
            (None, _) => Ok(request.length as usize),
            (Some(file), Some(IoMethod::Space(call))) => change_space(&*file?, call, request),
            (Some(file), _) => transfer(&*file?, request, buffer),
        }
    }

    fn give_up(&mut self, seat: SeatId) {
        // What was set aside for it goes back.
        self.calls.remove(&seat);
    }
}

fn open<C: Calls<File = model::File>>(
    grants: &Grants<C>,
    target: TargetId,
    purpose: Purpose,
) -> Result<Arc<model::File>, DoorError> {
    // A model has no cache to go past, and loses nothing that a flush would save.
    let file = grants.open(target, purpose, &OpenFlags::default())?;
    if purpose != Purpose::Read {
        file.begin_use();
    }
    Ok(file)
}

/// A request for the only name of a list.
fn only(request: &Request) -> Request {
    Request {
        file: 0,
        ..*request
    }
}

fn transfer(file: &model::File, request: &Request, buffer: &mut [u8]) -> io::Result<usize> {
    let length = request.length as usize;
    match request.kind {
        RequestKind::Read => file.read_at(&mut buffer[..length], request.offset),
        RequestKind::Write => file.write_at(&buffer[..length], request.offset),
        RequestKind::Discard => {
            file.discard(request.offset, u64::from(request.length))?;
            Ok(length)
        }
        RequestKind::Fsync
        | RequestKind::Fdatasync
        | RequestKind::SyncFileSystem
        | RequestKind::SyncRange { .. } => Ok(0),
    }
}

fn change_space(file: &model::File, call: SpaceCall, request: &Request) -> io::Result<usize> {
    let (offset, bytes) = (request.offset, u64::from(request.length));
    match (call, request.kind) {
        // Behind the end, space shows nowhere.
        (SpaceCall::Reserve, RequestKind::Read) => {}
        (SpaceCall::Reserve, RequestKind::Write) => file.extend(offset + bytes)?,
        (SpaceCall::Reserve, RequestKind::Discard) => file.discard(offset, bytes)?,
        (SpaceCall::SetLength, RequestKind::Write) => file.set_length(offset)?,
        (SpaceCall::SetLength, RequestKind::Read | RequestKind::Discard) => {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        _ => {}
    }
    Ok(request.length as usize)
}
