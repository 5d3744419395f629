//! Calls on the names of files. What the data of a write are drawn into is sent nowhere.
//!
//! Names change through the door, which takes more than one call to make sure of what has a name. The time that is
//! measured is that of the call alone: the door looks before it begins and remembers after it has ended.
use super::{Call, Request};
use crate::files::{NamedTarget, Names};
use door::{Aside, Calls, Entry, Fresh, Kernel, RemoveError};
use plan::NameCall;
use std::io;
use sys::file::names::Look;

pub(crate) struct NamedFiles<C: Calls = Kernel> {
    call: NameCall,
    names: Names<C>,
    /// What the last call has opened, and at which name: it is closed when its time has been taken.
    opened: Option<(u32, Fresh<C>)>,
    /// What the next call removes, by its name.
    aside: Option<(u32, Result<Aside<C>, RemoveError>)>,
}

impl<C: Calls> NamedFiles<C> {
    pub(crate) fn new(call: NameCall, names: Names<C>) -> Self {
        Self {
            call,
            names,
            opened: None,
            aside: None,
        }
    }

    fn entry(&self, file: u32) -> &Entry<C> {
        match &self.names[file as usize] {
            NamedTarget::Entry(entry) => entry,
            NamedTarget::Path(_) => unreachable!("names that change are entries"),
        }
    }

    fn look(&self, request: &Request, how: Look) -> io::Result<()> {
        match &self.names[request.file as usize] {
            NamedTarget::Path(path) => path.look(how),
            NamedTarget::Entry(_) => unreachable!("names that are looked at are paths"),
        }
    }
}

impl<C: Calls> Call for NamedFiles<C> {
    fn begin(&mut self, request: &Request) {
        if self.call == NameCall::Remove {
            self.aside = Some((request.file, self.entry(request.file).set_aside()));
        }
    }

    fn carry_out(&mut self, request: &Request, _buffer: &mut [u8]) -> io::Result<usize> {
        match self.call {
            NameCall::Make => {
                let fresh = self.entry(request.file).make()?;
                self.opened = Some((request.file, fresh));
            }
            NameCall::Look => self.look(request, Look::Followed)?,
            NameCall::LookAtLink => self.look(request, Look::Link)?,
            NameCall::LookWhole => self.look(request, Look::Whole)?,
            NameCall::Remove => {
                let (file, aside) = self.aside.take().expect("a removal has begun");
                let removed = aside.and_then(|aside| self.entry(file).unlink(aside));
                removed.map_err(RemoveError::into_io)?;
            }
        }
        Ok(request.length as usize)
    }

    fn end(&mut self) {
        if let Some((file, fresh)) = self.opened.take()
            && let NamedTarget::Entry(entry) = &self.names[file as usize]
        {
            // One that another execution has taken meanwhile is not ours: it is opened no more, and not removed.
            let _ = entry.remember(&fresh);
        }
    }
}

impl<C: Calls> Drop for NamedFiles<C> {
    /// A removal that was begun and is not to be carried out any more.
    fn drop(&mut self) {
        if let Some((file, Ok(aside))) = self.aside.take() {
            // Whoever has taken the name meanwhile keeps it; the file is where the folder of ours shows it.
            let _ = self.entry(file).put_back(aside);
        }
    }
}
