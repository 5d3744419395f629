//! Where requests go: the kernel by a ring, by native AIO or by plain calls, mapped files, nowhere, or
//! a simulation. A backend queues, submits and hands back; it stamps nothing and decides nothing.
mod aio;
mod calls;
mod mapped;
mod names;
mod on_demand;
mod one_slot;
mod space;

pub(crate) use aio::AioBackend;
pub(crate) use calls::PlainCalls;
pub(crate) use mapped::{MappedFiles, mappings};
pub(crate) use names::NamedFiles;
pub(crate) use on_demand::{CallPlaces, FilesOnDemand, Places};
pub(crate) use one_slot::{Call, OneSlot, code};
pub(crate) use space::SpaceOfFiles;
use std::fs::File;
use std::io;
use std::sync::Arc;
use sys::buffer::AlignedBuffers;
use sys::refused::told;
pub use sys::ring::{Request, RequestKind};
use sys::ring::{Ring, RingConfig, RingRefused};

/// What a worker needs of a backend. `enter` submits everything queued and waits for at least
/// `want` completions or until the time-out; completions are delivered by `reap`. Without anything in
/// flight there is nothing to wait for: whoever drives a worker sleeps by itself.
pub(crate) trait Backend {
    /// One in so many submissions is timed apart from the wait for completions. More than one where
    /// that takes a call more.
    const SUBMIT_SAMPLE: u64 = 32;

    fn buffer_mut(&mut self, slot: u32) -> &mut [u8];
    fn push(&mut self, slot: u32, request: Request);
    /// Whether `push` needs an `enter` first.
    fn is_full(&self) -> bool;
    fn enter(&mut self, want: u32, timeout_ns: Option<u64>) -> io::Result<()>;
    fn reap(&mut self, completed: impl FnMut(u32, i32));
    /// How many completions `reap` would deliver.
    fn ready(&mut self) -> u32;
    /// Requests pushed and not yet entered.
    fn queued(&self) -> u32;
    /// Whether something is queued that is carried out within the submitting call.
    #[inline]
    fn waits_in_submission(&self) -> bool {
        false
    }
    /// Whether the buffer of a read that is back holds what was read.
    fn brings_data(&self) -> bool {
        true
    }
    /// Lets go of what is mapped, so that the page cache can drop it.
    #[cold]
    fn unmap(&mut self) {}
    /// Gives up on what is in flight without freeing what the kernel may still write.
    fn abandon(self);
}

/// What the kernel granted to one worker, in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Features {
    pub granted: String,
    /// What could not be had, and why.
    pub shortfall: Option<String>,
}

/// The io_uring of one worker.
pub(crate) struct UringBackend {
    ring: Ring,
}

/// Completes everything at the next `enter`.
pub(crate) struct NullBackend {
    buffers: AlignedBuffers,
    queued: Vec<(u32, u32)>,
    done: Vec<(u32, u32)>,
}

impl UringBackend {
    pub(crate) fn new(config: &RingConfig, files: Vec<Arc<File>>) -> Result<Self, RingRefused> {
        Ok(Self {
            ring: Ring::new(config, files)?,
        })
    }

    pub(crate) fn features(&self) -> Features {
        let features = self.ring.features();
        Features {
            granted: features.to_string(),
            shortfall: features.shortfall(),
        }
    }
}

impl Backend for UringBackend {
    #[inline]
    fn buffer_mut(&mut self, slot: u32) -> &mut [u8] {
        self.ring.buffer_mut(slot)
    }

    #[inline]
    fn push(&mut self, slot: u32, request: Request) {
        self.ring.push(slot, request);
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.ring.queue_full()
    }

    #[inline]
    fn enter(&mut self, want: u32, timeout_ns: Option<u64>) -> io::Result<()> {
        self.ring.enter(want, timeout_ns)
    }

    #[inline]
    fn reap(&mut self, completed: impl FnMut(u32, i32)) {
        self.ring.reap(completed);
    }

    #[inline]
    fn ready(&mut self) -> u32 {
        self.ring.ready() as u32
    }

    #[inline]
    fn queued(&self) -> u32 {
        self.ring.queued()
    }

    fn abandon(self) {
        self.ring.abandon();
    }
}

impl NullBackend {
    pub(crate) fn new(slots: u32, buffer_bytes: usize) -> io::Result<Self> {
        let room = slots as usize;
        Ok(Self {
            buffers: AlignedBuffers::new(room, buffer_bytes, 4096)
                .map_err(|error| told(room * buffer_bytes, &error))?,
            queued: Vec::with_capacity(room),
            done: Vec::with_capacity(room),
        })
    }
}

impl Backend for NullBackend {
    #[inline]
    fn buffer_mut(&mut self, slot: u32) -> &mut [u8] {
        self.buffers.get_mut(slot as usize)
    }

    #[inline]
    fn push(&mut self, slot: u32, request: Request) {
        self.queued.push((slot, request.length));
    }

    #[inline]
    fn is_full(&self) -> bool {
        false
    }

    #[inline]
    fn enter(&mut self, _want: u32, _timeout_ns: Option<u64>) -> io::Result<()> {
        self.done.append(&mut self.queued);
        Ok(())
    }

    #[inline]
    fn reap(&mut self, mut completed: impl FnMut(u32, i32)) {
        for (slot, length) in self.done.drain(..) {
            completed(slot, length as i32);
        }
    }

    #[inline]
    fn ready(&mut self) -> u32 {
        self.done.len() as u32
    }

    #[inline]
    fn queued(&self) -> u32 {
        self.queued.len() as u32
    }

    fn brings_data(&self) -> bool {
        false
    }

    fn abandon(self) {}
}
