//! Calls on the names of files. What the data of a write are drawn into is sent nowhere.
use super::{Call, Request};
use crate::files::Names;
use plan::NameCall;
use std::fs::File;
use std::io;
use sys::file::names::{Look, look, make, remove};

pub(crate) struct NamedFiles {
    call: NameCall,
    names: Names,
    /// What the last call has opened: it is closed when its time has been taken.
    opened: Option<File>,
}

impl NamedFiles {
    pub(crate) fn new(call: NameCall, names: Names) -> Self {
        Self {
            call,
            names,
            opened: None,
        }
    }
}

impl Call for NamedFiles {
    fn carry_out(&mut self, request: &Request, _buffer: &mut [u8]) -> io::Result<usize> {
        let name = &self.names[request.file as usize];
        match self.call {
            NameCall::Make => self.opened = Some(make(name)?),
            NameCall::Look => look(name, Look::Followed)?,
            NameCall::LookAtLink => look(name, Look::Link)?,
            NameCall::LookWhole => look(name, Look::Whole)?,
            NameCall::Remove => remove(name)?,
        }
        Ok(request.length as usize)
    }

    fn end(&mut self) {
        self.opened = None;
    }
}
