//! The queue of native AIO of one worker.
use super::{Backend, Features, Request};
use std::fs::File;
use std::io;
use std::sync::Arc;
use sys::aio::{Queue, QueueConfig, QueueRefused};

pub(crate) struct AioBackend {
    pub(super) queue: Queue,
}

impl AioBackend {
    pub(crate) fn new(config: &QueueConfig, files: Vec<Arc<File>>) -> Result<Self, QueueRefused> {
        Ok(Self {
            queue: Queue::new(config, files)?,
        })
    }

    pub(crate) fn features(&self) -> Features {
        Features {
            granted: self.queue.features().to_string(),
            shortfall: None,
        }
    }
}

impl Backend for AioBackend {
    /// Submitting is a call of its own, and may block, which a sample of the calls would miss.
    const SUBMIT_SAMPLE: u64 = 1;

    #[inline]
    fn buffer_mut(&mut self, slot: u32) -> &mut [u8] {
        self.queue.buffer_mut(slot)
    }

    #[inline]
    fn push(&mut self, slot: u32, request: Request) {
        self.queue.push(slot, request);
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.queue.queue_full()
    }

    #[inline]
    fn enter(&mut self, want: u32, timeout_ns: Option<u64>) -> io::Result<()> {
        self.queue.enter(want, timeout_ns)
    }

    #[inline]
    fn reap(&mut self, completed: impl FnMut(u32, i32)) {
        self.queue.reap(completed);
    }

    #[inline]
    fn ready(&mut self) -> u32 {
        self.queue.ready() as u32
    }

    #[inline]
    fn queued(&self) -> u32 {
        self.queue.queued()
    }

    #[inline]
    fn waits_in_submission(&self) -> bool {
        self.queue.waits_in_submission()
    }

    fn abandon(self) {
        self.queue.abandon();
    }
}
