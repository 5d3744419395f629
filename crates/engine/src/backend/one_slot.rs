//! One operation at a time: a call carries it out inside `enter`.
use super::{Backend, Request};
use std::io;
use sys::buffer::AlignedBuffers;
use sys::refused::told;

/// What the only operation in flight is carried out by.
pub(crate) trait Call {
    /// Whether reads put what they read into the buffer.
    const BRINGS_DATA: bool = false;

    /// A request will be carried out next, and its time is not taken yet.
    #[inline]
    fn begin(&mut self, _request: &Request) {}

    /// Carries out a request with the buffer of the slot, which is as long as the longest transfer.
    ///
    /// # Errors
    /// Why the operation failed; without the number of the error of the system, it counts as EIO.
    fn carry_out(&mut self, request: &Request, buffer: &mut [u8]) -> io::Result<usize>;

    /// As [`Backend::unmap`].
    #[cold]
    fn unmap(&mut self) {}

    /// The time of the last operation has been taken.
    #[inline]
    fn end(&mut self) {}
}

pub(crate) struct OneSlot<C> {
    pub(super) call: C,
    buffers: AlignedBuffers,
    queued: Option<Request>,
    done: Option<i32>,
}

impl<C> OneSlot<C> {
    /// # Errors
    /// When there is no memory for the buffer.
    pub(crate) fn new(call: C, buffer_bytes: usize, align: usize) -> io::Result<Self> {
        Ok(Self {
            call,
            buffers: AlignedBuffers::new(1, buffer_bytes, align)
                .map_err(|error| told(buffer_bytes, &error))?,
            queued: None,
            done: None,
        })
    }
}

impl<C: Call> Backend for OneSlot<C> {
    #[inline]
    fn buffer_mut(&mut self, slot: u32) -> &mut [u8] {
        self.buffers.get_mut(slot as usize)
    }

    fn unmap(&mut self) {
        self.call.unmap();
    }

    #[inline]
    fn push(&mut self, slot: u32, request: Request) {
        assert!(slot == 0 && self.queued.is_none(), "a thread has one slot");
        self.call.begin(&request);
        self.queued = Some(request);
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.queued.is_some()
    }

    #[inline]
    fn enter(&mut self, _want: u32, _timeout_ns: Option<u64>) -> io::Result<()> {
        if let Some(request) = self.queued.take() {
            let result = self.call.carry_out(&request, self.buffers.get_mut(0));
            self.done = Some(code(result));
        }
        Ok(())
    }

    #[inline]
    fn reap(&mut self, mut completed: impl FnMut(u32, i32)) {
        if let Some(result) = self.done.take() {
            self.call.end();
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

    fn brings_data(&self) -> bool {
        C::BRINGS_DATA
    }

    fn abandon(self) {}
}

/// As the kernel tells the outcome of a request.
#[inline]
pub(crate) fn code(result: io::Result<usize>) -> i32 {
    match result {
        Ok(bytes) => bytes as i32,
        Err(error) => -error.raw_os_error().unwrap_or(5),
    }
}
