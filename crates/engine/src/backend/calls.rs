//! Plain positional calls.
use super::{Call, Request, RequestKind};
use std::fs::File;
use std::io;
use std::sync::Arc;

pub(crate) struct PlainCalls {
    files: Vec<Arc<File>>,
}

impl PlainCalls {
    pub(crate) fn new(files: Vec<Arc<File>>) -> Self {
        Self { files }
    }
}

impl Call for PlainCalls {
    #[inline]
    fn carry_out(&mut self, request: &Request, buffer: &mut [u8]) -> io::Result<usize> {
        let file = &self.files[request.file as usize];
        let length = request.length as usize;
        match request.kind {
            RequestKind::Read => sys::file::pread(file, &mut buffer[..length], request.offset),
            RequestKind::Write => sys::file::pwrite(file, &buffer[..length], request.offset),
            RequestKind::Discard => {
                sys::file::discard(file, request.offset, u64::from(request.length)).map(|()| 0)
            }
            kind => sync(file, kind).map(|()| 0),
        }
    }
}

/// Carries out what is no transfer.
pub(super) fn sync(file: &File, kind: RequestKind) -> io::Result<()> {
    match kind {
        RequestKind::Fsync => sys::file::fsync(file),
        RequestKind::Fdatasync => sys::file::fdatasync(file),
        RequestKind::SyncRange { flags } => sys::file::sync_range(file, flags),
        RequestKind::Read | RequestKind::Write | RequestKind::Discard => {
            unreachable!("its range is what matters")
        }
    }
}
