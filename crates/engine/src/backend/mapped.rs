//! Copies to and from mapped files.
use super::on_demand::put;
use super::{Call, CallPlaces, Request, RequestKind};
use crate::files::OpenTargets;
use plan::OpenMode;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::sync::Arc;
use sys::mapping::{Mapping, MappingAdvice};

pub(crate) struct MappedFiles {
    files: Vec<Arc<File>>,
    /// By file; those that the streams of this worker use.
    mappings: Vec<Option<Mapping>>,
    /// Where files are opened on demand: what [`mappings`] names.
    to_map: Vec<(u32, OpenMode, u64)>,
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

impl MappedFiles {
    /// Maps what [`mappings`] names.
    ///
    /// # Errors
    /// When a file cannot be mapped or ends before its streams do.
    pub(crate) fn new(files: Vec<Arc<File>>, mapped: &[(u32, OpenMode, u64)]) -> io::Result<Self> {
        let mut mappings: Vec<Option<Mapping>> = files.iter().map(|_| None).collect();
        for one in mapped {
            let place = one.0 as usize;
            mappings[place] = Some(map(Arc::clone(&files[place]), *one)?);
        }
        Ok(Self {
            files,
            mappings,
            to_map: Vec::new(),
        })
    }

    /// Maps what [`mappings`] names when it is opened.
    pub(crate) fn on_demand(to_map: Vec<(u32, OpenMode, u64)>) -> Self {
        Self {
            files: Vec::new(),
            mappings: Vec::new(),
            to_map,
        }
    }
}

/// Maps a file that is to be used up to its end here.
fn map(file: Arc<File>, (_, mode, end): (u32, OpenMode, u64)) -> io::Result<Mapping> {
    let advice = MappingAdvice {
        order: mode.advice.map(crate::files::advice),
        huge_pages: mode.huge_pages,
    };
    let mapping = Mapping::new(file, advice)?;
    if mapping.bytes() < end {
        let bytes = mapping.bytes();
        let message = format!("it holds {bytes} bytes, and {end} are to be used");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    Ok(mapping)
}

impl CallPlaces for MappedFiles {
    fn put_file(&mut self, place: u32, number: u32, file: Arc<File>) -> io::Result<()> {
        let found = self.to_map.binary_search_by_key(&number, |one| one.0);
        let one = self.to_map[found.expect("the files of its streams are mapped")];
        let mapping = map(Arc::clone(&file), one)?;
        put(&mut self.mappings, place, Some(mapping));
        put(&mut self.files, place, file);
        Ok(())
    }
}

impl Call for MappedFiles {
    const BRINGS_DATA: bool = true;

    fn unmap(&mut self) {
        self.mappings.iter_mut().flatten().for_each(Mapping::unmap);
    }

    #[inline]
    fn carry_out(&mut self, request: &Request, buffer: &mut [u8]) -> io::Result<usize> {
        let place = request.file as usize;
        let mapping = self.mappings[place]
            .as_mut()
            .expect("the files of its streams are mapped");
        let length = request.length as usize;
        match request.kind {
            RequestKind::Read => mapping.read(&mut buffer[..length], request.offset),
            RequestKind::Write => mapping.write(&buffer[..length], request.offset),
            RequestKind::Fsync | RequestKind::Fdatasync | RequestKind::SyncRange { .. } => {
                mapping.sync().map(|()| 0)
            }
            RequestKind::SyncFileSystem => {
                mapping.sync()?;
                sys::file::sync_file_system(&self.files[place]).map(|()| 0)
            }
            RequestKind::Discard => {
                let bytes = u64::from(request.length);
                door::space::discard(&self.files[place], request.offset, bytes).map(|()| 0)
            }
        }
    }
}
