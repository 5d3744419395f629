//! Calls on the names of files: one slot, and the call is made inside `enter`.
use super::{Backend, Request, code};
use crate::files::Names;
use plan::NameCall;
use std::fs::File;
use std::io;
use sys::buffer::AlignedBuffers;
use sys::file::names::{Look, look, make, remove};

pub(crate) struct NamesBackend {
    call: NameCall,
    names: Names,
    /// What the data of a write are drawn into; nothing sends it.
    buffers: AlignedBuffers,
    queued: Option<Request>,
    done: Option<i32>,
    /// What the last call has opened: it is closed when its time has been taken.
    opened: Option<File>,
}

impl NamesBackend {
    pub(crate) fn new(
        call: NameCall,
        names: Names,
        buffer_bytes: usize,
        align: usize,
    ) -> io::Result<Self> {
        Ok(Self {
            call,
            names,
            buffers: AlignedBuffers::new(1, buffer_bytes, align)?,
            queued: None,
            done: None,
            opened: None,
        })
    }

    fn carry_out(&mut self, request: &Request) -> io::Result<usize> {
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
}

impl Backend for NamesBackend {
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
        match self.queued.take() {
            Some(request) => self.done = Some(code(self.carry_out(&request))),
            None if self.done.is_none() => {
                std::thread::sleep(std::time::Duration::from_nanos(timeout_ns.unwrap_or(0)));
            }
            None => {}
        }
        Ok(())
    }

    #[inline]
    fn reap(&mut self, mut completed: impl FnMut(u32, i32)) {
        if let Some(result) = self.done.take() {
            self.opened = None;
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
