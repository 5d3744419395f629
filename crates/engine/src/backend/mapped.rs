//! Copies to and from mapped files: one slot, and the copy is made inside `enter`.
use super::{Backend, Request, RequestKind, code};
use crate::files::OpenTargets;
use plan::OpenMode;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::sync::Arc;
use sys::buffer::AlignedBuffers;
use sys::mapping::{Mapping, MappingAdvice};

pub(crate) struct MappedBackend {
    files: Vec<Arc<File>>,
    /// By file; those that the streams of this worker use.
    mappings: Vec<Option<Mapping>>,
    buffers: AlignedBuffers,
    queued: Option<Request>,
    done: Option<i32>,
}

/// What a worker has to map: the files that it uses, with how they are opened and how far into each
/// its streams reach.
pub(crate) fn mappings(
    open: &OpenTargets,
    used: impl Iterator<Item = (u32, u64)>,
) -> Vec<(u32, OpenMode, u64)> {
    let mut ends: BTreeMap<u32, u64> = BTreeMap::new();
    for (file, end) in used {
        let known = ends.entry(file).or_insert(end);
        *known = end.max(*known);
    }
    let mode = |file: u32| open.modes[file as usize];
    ends.into_iter()
        .map(|(file, end)| (file, mode(file), end))
        .collect()
}

impl MappedBackend {
    /// Maps what [`mappings`] names.
    ///
    /// # Errors
    /// When a file cannot be mapped or ends before its streams do.
    pub(crate) fn new(
        files: Vec<Arc<File>>,
        mapped: &[(u32, OpenMode, u64)],
        buffer_bytes: usize,
        align: usize,
    ) -> io::Result<Self> {
        let mut mappings: Vec<Option<Mapping>> = files.iter().map(|_| None).collect();
        for (file, mode, end) in mapped {
            let place = *file as usize;
            let advice = MappingAdvice {
                order: mode.advice.map(crate::files::advice),
                huge_pages: mode.huge_pages,
            };
            let mapping = Mapping::new(Arc::clone(&files[place]), advice)?;
            if mapping.bytes() < *end {
                let bytes = mapping.bytes();
                let message = format!("it holds {bytes} bytes, and {end} are to be used");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
            }
            mappings[place] = Some(mapping);
        }
        Ok(Self {
            files,
            mappings,
            buffers: AlignedBuffers::new(1, buffer_bytes, align)?,
            queued: None,
            done: None,
        })
    }
}

impl Backend for MappedBackend {
    #[inline]
    fn buffer_mut(&mut self, slot: u32) -> &mut [u8] {
        self.buffers.get_mut(slot as usize)
    }

    #[inline]
    fn push(&mut self, slot: u32, request: Request) {
        assert!(slot == 0 && self.queued.is_none(), "a thread has one slot");
        self.queued = Some(request);
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.queued.is_some()
    }

    #[inline]
    fn enter(&mut self, _want: u32, timeout_ns: Option<u64>) -> io::Result<()> {
        let Some(request) = self.queued.take() else {
            if self.done.is_none() {
                std::thread::sleep(std::time::Duration::from_nanos(timeout_ns.unwrap_or(0)));
            }
            return Ok(());
        };
        let place = request.file as usize;
        let mapping = self.mappings[place]
            .as_mut()
            .expect("the files of its streams are mapped");
        let length = request.length as usize;
        self.done = Some(code(match request.kind {
            RequestKind::Read => {
                mapping.read(&mut self.buffers.get_mut(0)[..length], request.offset)
            }
            RequestKind::Write => mapping.write(&self.buffers.get(0)[..length], request.offset),
            RequestKind::Fsync | RequestKind::Fdatasync | RequestKind::SyncRange { .. } => {
                mapping.sync().map(|()| 0)
            }
            RequestKind::Discard => {
                let bytes = u64::from(request.length);
                sys::file::discard(&self.files[place], request.offset, bytes).map(|()| 0)
            }
        }));
        Ok(())
    }

    #[inline]
    fn reap(&mut self, mut completed: impl FnMut(u32, i32)) {
        if let Some(result) = self.done.take() {
            completed(0, result);
        }
    }

    #[inline]
    fn ready(&mut self) -> u32 {
        u32::from(self.done.is_some())
    }

    #[inline]
    fn queued(&self) -> u32 {
        u32::from(self.queued.is_some())
    }

    fn abandon(self) {}
}
