//! A queue of Linux native AIO with its slots and their buffers: push requests, enter, reap. The kernel's other way
//! beside [`crate::ring`], by its own calls and without the C library for it.
//!
//! What holds for a ring holds here: a slot is free or busy, its buffer can be touched only while it is free, and
//! memory that the kernel may still write is leaked rather than freed. Two things differ. Submitting is a call of its
//! own, which waits where the kernel cannot go on by itself: most of all for files without direct I/O, of which each
//! request is carried out inside the call. And a process with requests in flight cannot end before they come back.
//!
//! Knows nothing of time stamps, retries or what the requests are for. Read [`Queue`] first.

mod context;
mod setup;
#[cfg(test)]
mod tests;

use std::fmt;
use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::buffer::AlignedBuffers;
use crate::file;
use crate::requests::RequestMode;
pub use crate::ring::{DROP_WAIT_NS, Request, RequestKind};
use crate::slots::Slots;
use context::{Context, Control, Event};
pub use setup::{QueueConfig, QueueFeatures, QueueRefused};
use setup::{SLOTS_MAX, Step};

/// One thread's queue. It belongs to the thread that makes it (the type is not `Send`).
pub struct Queue {
    context: ManuallyDrop<Context>,
    slots: Slots,
    controls: ManuallyDrop<Controls>,
    files: Vec<Arc<File>>,
    /// By file: whether its transfers are carried out within the submitting call.
    waits: Vec<bool>,
    /// Whether something like that is among what is pending.
    has_waiting: bool,
    /// Not yet taken by the kernel, in the order of pushing.
    pending: Vec<*mut Control>,
    batch: usize,
    /// Flags of each read and each write.
    read_flags: u32,
    write_flags: u32,
    /// Not yet begun; what native AIO has no request for, plain calls do.
    calls: Vec<(u32, Request)>,
    /// Ended without the kernel's queue, and not yet reaped.
    ended: Vec<(u32, i32)>,
    /// What the last calls have brought, and how much of it is there.
    events: Box<[Event]>,
    arrived: usize,
    /// Taken by the kernel or ended, and not yet reaped.
    in_flight: u32,
    refusals: u64,
}

/// What the kernel is told of each slot. It holds pointers to them, so no reference is ever made to them all.
struct Controls {
    all: NonNull<[Control]>,
}

impl Queue {
    /// Makes a queue for this thread over `files`.
    ///
    /// # Errors
    /// [`QueueRefused`] with the likely cause.
    pub fn new(config: &QueueConfig, files: Vec<Arc<File>>) -> Result<Queue, QueueRefused> {
        let refused = |step, error: &io::Error| {
            let errno = error.raw_os_error().unwrap_or(libc::EINVAL);
            QueueRefused::new(step, errno, config.slots)
        };
        let is_of_rings = RequestMode {
            never_waits: false,
            leaves_no_cache: false,
            writes_whole: false,
            ..config.mode
        };
        if !(1..=SLOTS_MAX).contains(&config.slots)
            || config.batch == 0
            || is_of_rings != RequestMode::default()
        {
            let error = io::Error::from_raw_os_error(libc::EINVAL);
            return Err(refused(Step::Config, &error));
        }
        let slots = config.slots as usize;
        let buffers = AlignedBuffers::new(slots, config.buffer_bytes, config.buffer_align);
        let buffers = buffers.map_err(|error| match error.kind() {
            io::ErrorKind::InvalidInput => refused(Step::Config, &error),
            _ => refused(Step::Buffers, &error),
        })?;
        let context = Context::setup(config.slots, config.reap_in_memory)
            .map_err(|error| refused(Step::Context, &error))?;
        Ok(Queue {
            context: ManuallyDrop::new(context),
            slots: Slots::new(buffers),
            controls: ManuallyDrop::new(Controls::new(slots)),
            waits: files.iter().map(|file| waits(file)).collect(),
            has_waiting: false,
            files,
            pending: Vec::with_capacity(slots),
            batch: config.batch as usize,
            read_flags: config.mode.read_flags().bits(),
            write_flags: config.mode.write_flags().bits(),
            calls: Vec::with_capacity(slots),
            ended: Vec::with_capacity(slots),
            events: vec![Event::default(); slots].into_boxed_slice(),
            arrived: 0,
            in_flight: 0,
            refusals: 0,
        })
    }

    /// Gives `place` another file, or makes it the next place.
    ///
    /// The file that was there is closed, so the caller has to know that no request names it any more.
    ///
    /// # Panics
    /// Beyond the next place.
    pub fn put_file(&mut self, place: u32, file: Arc<File>) {
        let waits = waits(&file);
        match place as usize {
            next if next == self.files.len() => {
                self.files.push(file);
                self.waits.push(waits);
            }
            known => {
                self.files[known] = file;
                self.waits[known] = waits;
            }
        }
    }

    /// What the kernel granted.
    #[must_use]
    pub fn features(&self) -> QueueFeatures {
        QueueFeatures {
            reaps_in_memory: self.context.is_in_memory(),
        }
    }

    /// The number of slots.
    #[inline]
    #[must_use]
    pub fn slots(&self) -> u32 {
        self.slots.count()
    }

    /// Requests pushed and not yet handed to the kernel.
    #[inline]
    #[must_use]
    pub fn queued(&self) -> u32 {
        (self.pending.len() + self.calls.len()) as u32
    }

    /// Requests the kernel has, completed ones included until they are reaped.
    #[inline]
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Whether `push` needs an `enter` first.
    #[inline]
    #[must_use]
    pub fn queue_full(&self) -> bool {
        self.queued() as usize >= self.batch
    }

    /// Whether something is queued that the kernel carries out within the submitting call: a transfer of a file
    /// without direct I/O, or what native AIO has no request for.
    #[inline]
    #[must_use]
    pub fn waits_in_submission(&self) -> bool {
        self.has_waiting || !self.calls.is_empty()
    }

    /// How often the kernel asked to come again (EAGAIN). Nothing is lost by it but time.
    #[must_use]
    pub fn refusals(&self) -> u64 {
        self.refusals
    }

    /// The buffer of a free slot. Panics when the slot is queued or in flight.
    #[inline]
    #[must_use]
    pub fn buffer(&self, slot: u32) -> &[u8] {
        self.slots.buffer(slot)
    }

    /// The buffer of a free slot, to fill. Panics when the slot is queued or in flight.
    #[inline]
    pub fn buffer_mut(&mut self, slot: u32) -> &mut [u8] {
        self.slots.buffer_mut(slot)
    }

    /// Queues a request; the kernel sees it at the next [`Queue::enter`].
    ///
    /// Panics when the slot is busy, the queue full, the file unknown, or the request not as [`Request`] says.
    #[inline]
    pub fn push(&mut self, slot: u32, request: Request) {
        let Request {
            kind,
            file,
            offset,
            length,
            priority,
        } = request;
        assert!(offset <= i64::MAX as u64, "offset {offset}");
        let descriptor = self.files[file as usize].as_raw_fd() as u32;
        let is_transfer = matches!(kind, RequestKind::Read | RequestKind::Write);
        let opcode = match kind {
            RequestKind::Read => context::READ,
            RequestKind::Write => context::WRITE,
            RequestKind::Fsync => context::FSYNC,
            RequestKind::Fdatasync => context::FDATASYNC,
            RequestKind::Discard | RequestKind::SyncRange { .. } | RequestKind::SyncFileSystem => {
                return self.push_call(slot, request);
            }
        };
        assert!(
            is_transfer || (offset == 0 && length == 0),
            "a sync covers the whole file"
        );
        let buffer = if is_transfer {
            self.slots.pointer(slot, length).expose_provenance() as u64
        } else {
            0
        };
        let flags = match kind {
            RequestKind::Read => self.read_flags,
            RequestKind::Write => self.write_flags,
            _ => 0,
        };
        let control = Control {
            flags: if priority > 0 {
                context::HAS_PRIORITY
            } else {
                0
            },
            priority: priority.cast_signed(),
            key_and_flags: u64::from(flags) << 32,
            opcode,
            descriptor,
            buffer,
            length: u64::from(length),
            offset: offset as i64,
            ..Control::default()
        };
        self.has_waiting |= is_transfer && self.waits[file as usize];
        self.push_control(slot, control);
    }

    /// Submits what is queued, and waits for completions by a second call unless enough of them are there.
    ///
    /// Waits until `want` completions can be reaped, or `timeout_ns` has passed, or a signal came; so it may return with
    /// fewer, or with requests still queued, and the caller comes again. `want` 0 does not wait, and is capped to what is
    /// outstanding; when nothing is, a timeout is slept out and no timeout returns at once.
    ///
    /// # Errors
    /// Only what calling again cannot cure. A request that the kernel refuses by itself is a completion with that errno.
    #[inline]
    pub fn enter(&mut self, want: u32, timeout_ns: Option<u64>) -> io::Result<()> {
        if self.queued() > 0 {
            self.submit();
        }
        if self.in_flight == 0 {
            if let Some(timeout_ns) = timeout_ns.filter(|_| want > 0 && self.queued() == 0) {
                std::thread::sleep(Duration::from_nanos(timeout_ns));
            }
            return Ok(());
        }
        let want = want.min(self.in_flight) as usize;
        if self.ready() >= want && self.context.is_in_memory() {
            return Ok(());
        }
        self.wait(want, timeout_ns)
    }

    /// Completions that `reap` would deliver now, without asking the kernel.
    #[inline]
    pub fn ready(&mut self) -> usize {
        self.ended.len() + self.arrived + self.context.ready()
    }

    /// Delivers every completion that shows, as slot and result: bytes or 0, or a negative errno. The slot is free
    /// before `completed` runs. Returns how many there were.
    #[inline]
    pub fn reap(&mut self, mut completed: impl FnMut(u32, i32)) -> usize {
        let mut count = 0;
        let slots = &mut self.slots;
        let mut deliver = |slot: u32, result: i32| {
            slots.give_back(slot);
            count += 1;
            completed(slot, result);
        };
        for (slot, result) in self.ended.drain(..) {
            deliver(slot, result);
        }
        // A result is at most the length of a request, which is 32 bits.
        for event in &self.events[..self.arrived] {
            deliver(event.data as u32, event.result as i32);
        }
        self.arrived = 0;
        self.context
            .take(|event| deliver(event.data as u32, event.result as i32));
        self.in_flight -= count;
        count as usize
    }

    /// Gives up at once: the queue, and memory the kernel may still write, stay until the process ends, which the
    /// kernel lets it do when the last request has come back.
    pub fn abandon(mut self) {
        self.files = Vec::new();
        std::mem::forget(self);
    }

    #[inline]
    fn push_control(&mut self, slot: u32, control: Control) {
        assert!(!self.queue_full(), "the submission queue is full");
        self.slots.take(slot);
        let place = self.controls.pointer(slot as usize);
        let control = Control {
            data: u64::from(slot),
            ..control
        };
        // SAFETY: the slot was free, so nobody else refers to its control.
        unsafe { place.write(control) };
        self.pending.push(place);
    }

    #[cold]
    fn push_call(&mut self, slot: u32, request: Request) {
        assert!(!self.queue_full(), "the submission queue is full");
        self.slots.take(slot);
        self.calls.push((slot, request));
    }

    #[inline]
    fn submit(&mut self) {
        let mut taken = 0;
        while taken < self.pending.len() {
            // SAFETY: each control belongs to a busy slot, to which nobody else gets before `reap` has seen its event;
            // so does the buffer that it names. `Drop` leaks both if that never comes.
            match unsafe { self.context.submit(&self.pending[taken..]) } {
                Ok(0) => break,
                Ok(count) => taken += count,
                Err(error) => match error.raw_os_error() {
                    Some(libc::EAGAIN | libc::EINTR) => {
                        self.refusals += 1;
                        // Whoever has to finish work may need this CPU.
                        std::thread::yield_now();
                        break;
                    }
                    errno => {
                        // SAFETY: made in `push_control` from a control that lives as long as the queue, and which
                        // the kernel has not taken.
                        let slot = unsafe { (*self.pending[taken]).data } as u32;
                        self.ended.push((slot, -errno.unwrap_or(libc::EIO)));
                        taken += 1;
                    }
                },
            }
        }
        self.pending.drain(..taken);
        self.has_waiting &= !self.pending.is_empty();
        self.in_flight += taken as u32;
        if !self.calls.is_empty() {
            self.call();
        }
    }

    #[cold]
    fn call(&mut self) {
        self.in_flight += self.calls.len() as u32;
        for (slot, request) in self.calls.drain(..) {
            let file = &self.files[request.file as usize];
            let done = match request.kind {
                RequestKind::SyncRange { flags } => file::sync_range(file, flags),
                RequestKind::SyncFileSystem => file::sync_file_system(file),
                _ => file::discard(file, request.offset, u64::from(request.length)),
            };
            let result = done.map_or_else(|e| -e.raw_os_error().unwrap_or(libc::EIO), |()| 0);
            self.ended.push((slot, result));
        }
    }

    fn wait(&mut self, want: usize, timeout_ns: Option<u64>) -> io::Result<()> {
        let have = self.ended.len() + self.arrived;
        let timeout_ns = if want > have { timeout_ns } else { Some(0) };
        let room = &mut self.events[self.arrived..];
        match self
            .context
            .wait(want.saturating_sub(have), room, timeout_ns)
        {
            Ok(count) => self.arrived += count,
            Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Waits for what the kernel has, at most until `limit`; true when nothing is left. Submits nothing.
    fn drain(&mut self, limit: Instant) -> bool {
        loop {
            self.reap(|_, _| ());
            if self.in_flight == 0 {
                return true;
            }
            let left = limit.saturating_duration_since(Instant::now());
            if left.is_zero() || self.wait(1, Some(left.as_nanos() as u64)).is_err() {
                return false;
            }
        }
    }
}

/// Whether transfers of a file are carried out within the call that submits them. Where the kernel does not tell, none
/// are.
fn waits(file: &File) -> bool {
    let flags = rustix::fs::fcntl_getfl(file);
    flags.is_ok_and(|flags| !flags.contains(rustix::fs::OFlags::DIRECT))
}

impl Controls {
    fn new(count: usize) -> Controls {
        let all: Box<[Control]> = (0..count).map(|_| Control::default()).collect();
        Controls {
            all: NonNull::from(Box::leak(all)),
        }
    }

    /// The control of a slot. Panics beyond the last.
    #[inline]
    fn pointer(&self, slot: usize) -> *mut Control {
        assert!(slot < self.all.len(), "slot {slot} of {}", self.all.len());
        // SAFETY: below the length, so inside the allocation.
        unsafe { self.all.as_ptr().cast::<Control>().add(slot) }
    }
}

impl Drop for Controls {
    fn drop(&mut self) {
        // SAFETY: leaked from a box in `new`, and given back once.
        drop(unsafe { Box::from_raw(self.all.as_ptr()) });
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("slots", &self.slots())
            .field("queued", &self.queued())
            .field("in_flight", &self.in_flight)
            .field("refusals", &self.refusals)
            .field("features", &self.features())
            .finish_non_exhaustive()
    }
}

impl Drop for Queue {
    /// Waits at most [`DROP_WAIT_NS`]; queued requests are never submitted.
    fn drop(&mut self) {
        if !self.drain(Instant::now() + Duration::from_nanos(DROP_WAIT_NS)) {
            // Leaked: ending the context would wait without a limit.
            return;
        }
        // SAFETY: taken once, here, and not used after.
        unsafe { ManuallyDrop::take(&mut self.context) }.destroy();
        // SAFETY: dropped once, here, and not used after; the kernel has completed everything that named it.
        unsafe { ManuallyDrop::drop(&mut self.controls) };
        // SAFETY: as above.
        unsafe { self.slots.free() };
    }
}
