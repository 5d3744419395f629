//! Calls on the space of files. What the data of a write are drawn into is sent nowhere.
use super::on_demand::put;
use super::{Call, CallPlaces, Request, RequestKind, calls};
use door::space::{discard, reserve, set_length};
use plan::SpaceCall;
use std::fs::File;
use std::io;
use std::sync::Arc;

pub(crate) struct SpaceOfFiles {
    call: SpaceCall,
    /// Those that are cut have been made by this execution: opening has seen to it.
    files: Vec<Arc<File>>,
}

impl SpaceOfFiles {
    pub(crate) fn new(call: SpaceCall, files: Vec<Arc<File>>) -> Self {
        Self { call, files }
    }
}

impl Call for SpaceOfFiles {
    fn carry_out(&mut self, request: &Request, _buffer: &mut [u8]) -> io::Result<usize> {
        let file = &self.files[request.file as usize];
        let (offset, bytes) = (request.offset, u64::from(request.length));
        match (self.call, request.kind) {
            (SpaceCall::Reserve, RequestKind::Read) => reserve(file, offset, bytes, true)?,
            (SpaceCall::Reserve, RequestKind::Write) => reserve(file, offset, bytes, false)?,
            (SpaceCall::Reserve, RequestKind::Discard) => discard(file, offset, bytes)?,
            (SpaceCall::SetLength, RequestKind::Write) => set_length(file, offset)?,
            (SpaceCall::SetLength, RequestKind::Read | RequestKind::Discard) => {
                return Err(io::Error::from_raw_os_error(NOT_FOR_LENGTHS));
            }
            (_, sync) => calls::sync(file, sync)?,
        }
        Ok(request.length as usize)
    }
}

impl CallPlaces for SpaceOfFiles {
    fn put_file(&mut self, place: u32, _number: u32, file: Arc<File>) -> io::Result<()> {
        put(&mut self.files, place, file);
        Ok(())
    }
}

/// EINVAL.
const NOT_FOR_LENGTHS: i32 = 22;
