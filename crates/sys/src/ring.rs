//! An io_uring with its slots and their buffers: push requests, enter once, reap.
//!
//! A slot is free or busy; its buffer can be touched only while it is free, and memory that the kernel may still
//! write is leaked rather than freed. Knows nothing of time stamps, retries or what the requests are for. Read [`Ring`]
//! first; how a ring is set up is in `setup`.

mod setup;
#[cfg(test)]
mod tests;

use std::fmt;
use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use io_uring::squeue::{Entry, Flags};
use io_uring::types::{Fd, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, opcode};

use crate::file;
use crate::slots::Slots;
use setup::Parts;
pub use setup::{RingConfig, RingFeatures, RingRefused};

/// How long dropping a ring waits for what is in flight before it leaks it, ns.
pub const DROP_WAIT_NS: u64 = 1_000_000_000;

/// `BLOCK_URING_CMD_DISCARD`, `_IO(0x12, 0)`, linux/blkdev.h; since Linux 6.12.
const BLOCK_URING_CMD_DISCARD: u32 = 0x1200;

/// One thread's ring. It belongs to the thread that makes it (the type is not `Send`).
pub struct Ring {
    ring: ManuallyDrop<IoUring>,
    slots: Slots,
    targets: Vec<Target>,
    /// In the submission queue and not yet taken by the kernel.
    queued: u32,
    /// Taken by the kernel and not yet reaped.
    in_flight: u32,
    queue_slots: u32,
    registered_buffers: u32,
    file_flags: Flags,
    /// Of each read and each write.
    read_flags: i32,
    write_flags: i32,
    /// Of so many requests one goes to another thread of the kernel, and how many there were since.
    hand_off: Option<(u32, u32)>,
    /// What a thread of the kernel would take as soon as it is in the queue: it waits here for `enter`, so that a time
    /// taken before that call is taken before the request is seen.
    staged: Option<Vec<Entry>>,
    /// Slot and file of what a ring has no request for, and what a plain call within `enter` made of it.
    calls: Vec<(u32, u32)>,
    called: Vec<(u32, i32)>,
    refusals: u64,
    features: RingFeatures,
    /// Keeps the descriptors open while queued requests name them.
    files: Vec<Arc<File>>,
    _made_on_this_thread: PhantomData<*const ()>,
}

/// What a slot asks of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    pub kind: RequestKind,
    /// Index into the files that the ring was made with.
    pub file: u32,
    /// Bytes; at most `i64::MAX`. 0 for syncs.
    pub offset: u64,
    /// Bytes; for `Read` and `Write` at most the buffer. 0 for syncs.
    pub length: u32,
    /// Of a transfer, as `ioprio_set(2)` takes it; 0 for that of the thread.
    pub priority: u16,
}

/// The operation of a [`Request`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestKind {
    /// Into the slot's buffer.
    Read,
    /// From the slot's buffer.
    Write,
    /// The whole file, data and metadata.
    Fsync,
    /// The whole file, data and what is needed to read them.
    Fdatasync,
    /// The whole file system that holds the file. Rings and queues have no request for it and make the call when they
    /// are entered, which lasts until it has returned.
    SyncFileSystem,
    /// Write-back of the whole file by these flags of `sync_file_range(2)`; makes nothing durable by itself.
    SyncRange { flags: u8 },
    /// Gives the range back: on a block device its discard command (Linux 6.12; -EOPNOTSUPP or -EINVAL before and
    /// where the device has none), on a file a hole.
    Discard,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    /// The descriptor, or its index among the registered files.
    number: i32,
    block_device: bool,
}

impl Ring {
    /// Makes a ring for this thread over `files`, trying newer kernel features first.
    ///
    /// # Errors
    /// [`RingRefused`] with the likely cause; limits that merely cost speed (registered files and buffers) are not
    /// errors, see [`Ring::features`].
    pub fn new(config: &RingConfig, files: Vec<Arc<File>>) -> Result<Ring, RingRefused> {
        let Parts {
            ring,
            buffers,
            targets,
            features,
        } = setup::build(config, &files)?;
        Ok(Ring {
            queue_slots: ring.params().sq_entries(),
            registered_buffers: features.registered_buffers,
            file_flags: if features.registered_files {
                Flags::FIXED_FILE
            } else {
                Flags::empty()
            },
            read_flags: config.mode.read_flags().bits() as i32,
            write_flags: config.mode.write_flags().bits() as i32,
            hand_off: (config.mode.handed_off_every > 0)
                .then_some((config.mode.handed_off_every, 0)),
            staged: features
                .has_submitter
                .then(|| Vec::with_capacity(config.slots as usize)),
            calls: Vec::with_capacity(config.slots as usize),
            called: Vec::with_capacity(config.slots as usize),
            ring: ManuallyDrop::new(ring),
            slots: Slots::new(buffers),
            targets,
            queued: 0,
            in_flight: 0,
            refusals: 0,
            features,
            files,
            _made_on_this_thread: PhantomData,
        })
    }

    /// Gives `place` another file, or makes it the next place. For rings without registered files.
    ///
    /// The file that was there is closed, so the caller has to know that no request names it any more.
    ///
    /// # Errors
    /// When the file cannot be looked at; the one before stays.
    ///
    /// # Panics
    /// Beyond the next place, and where files are registered.
    pub fn put_file(&mut self, place: u32, file: Arc<File>) -> io::Result<()> {
        assert!(!self.features.registered_files, "registered files stay");
        let target = Target {
            number: file.as_raw_fd(),
            block_device: file.metadata()?.file_type().is_block_device(),
        };
        match place as usize {
            next if next == self.files.len() => {
                self.targets.push(target);
                self.files.push(file);
            }
            known => {
                self.targets[known] = target;
                self.files[known] = file;
            }
        }
        Ok(())
    }

    /// What the kernel granted.
    #[must_use]
    pub fn features(&self) -> &RingFeatures {
        &self.features
    }

    /// The number of slots.
    #[inline]
    #[must_use]
    pub fn slots(&self) -> u32 {
        self.slots.count()
    }

    /// Whether `slot` is queued or in flight. Panics beyond `slots()`.
    #[inline]
    #[must_use]
    pub fn is_busy(&self, slot: u32) -> bool {
        self.slots.is_busy(slot)
    }

    /// Requests pushed and not yet handed to the kernel.
    #[inline]
    #[must_use]
    pub fn queued(&self) -> u32 {
        self.queued
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
        self.queued == self.queue_slots
    }

    /// How often the kernel asked to come again (EAGAIN, EBUSY): memory was short or the completion queue had run
    /// over. Nothing is lost by it but time.
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

    /// Queues a request; the kernel sees it at the next [`Ring::enter`].
    ///
    /// Panics when the slot is busy, the queue full, the file unknown, or the request not as [`Request`] says: those
    /// are the caller's mistakes, and each would corrupt memory or a figure.
    #[inline]
    pub fn push(&mut self, slot: u32, request: Request) {
        assert!(!self.queue_full(), "the submission queue is full");
        if request.kind == RequestKind::SyncFileSystem {
            return self.push_call(slot, request);
        }
        let flags = self.flags_of_next();
        let entry = self
            .entry(slot, &request)
            .flags(flags)
            .user_data(u64::from(slot));
        self.slots.take(slot);
        self.queued += 1;
        if let Some(staged) = &mut self.staged {
            staged.push(entry);
            return;
        }
        // SAFETY: the slot owns the buffer that the entry names; taking it keeps everyone else away until
        // `reap` sees the completion, and `Drop` leaks the buffer if that never comes. Descriptors live in `files`.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        assert!(pushed.is_ok(), "the queue had room by our own count");
    }

    #[cold]
    fn push_call(&mut self, slot: u32, request: Request) {
        assert!(
            (request.file as usize) < self.files.len(),
            "a file of the ring"
        );
        self.slots.take(slot);
        self.queued += 1;
        self.calls.push((slot, request.file));
    }

    /// Makes the calls that wait for `enter`.
    #[cold]
    fn call(&mut self) {
        for (slot, file) in self.calls.drain(..) {
            let done = file::sync_file_system(&self.files[file as usize]);
            let result = done.map_or_else(|e| -e.raw_os_error().unwrap_or(libc::EIO), |()| 0);
            self.called.push((slot, result));
            self.queued -= 1;
            self.in_flight += 1;
        }
    }

    #[inline]
    fn flags_of_next(&mut self) -> Flags {
        let Some((every, count)) = &mut self.hand_off else {
            return self.file_flags;
        };
        *count += 1;
        if count < every {
            return self.file_flags;
        }
        *count = 0;
        self.file_flags | Flags::ASYNC
    }

    /// One `io_uring_enter`: submits what is queued, lets finished work show, and waits for completions. None where
    /// nothing is queued and what is waited for shows already.
    ///
    /// Waits until `want` completions can be reaped (counting those that could be before), or `timeout_ns` has passed,
    /// or a signal came; so it may return with fewer, or with requests still queued, and the caller looks at
    /// [`Ring::ready`] and [`Ring::queued`] and comes again. `want` 0 does not wait. `want` is capped to what is
    /// outstanding; when nothing is, a timeout is slept out and no timeout returns at once.
    ///
    /// # Errors
    /// Only what calling again cannot cure: EINTR, ETIME, EAGAIN and EBUSY come back as `Ok` (the last two are counted
    /// in [`Ring::refusals`]).
    #[inline]
    pub fn enter(&mut self, want: u32, timeout_ns: Option<u64>) -> io::Result<()> {
        let mut want = want;
        if self.calls.len() + self.called.len() > 0 {
            self.call();
            // Something can be reaped.
            want = 0;
        }
        let outstanding = self.queued + self.in_flight;
        let want = match (outstanding, timeout_ns) {
            (0, Some(_)) => want.min(1),
            _ => want.min(outstanding),
        };
        if self.staged.is_some() {
            return self.wake_and_wait(want, timeout_ns);
        }
        if self.queued == 0 && want > 0 && self.ready() >= want as usize {
            return Ok(());
        }
        if self.features.is_polled {
            return self.poll(self.queued, want, timeout_ns);
        }
        self.enter_with(self.queued, want, timeout_ns)
    }

    /// As `enter`, where a thread of the kernel takes what is in the queue.
    #[inline(never)]
    fn wake_and_wait(&mut self, want: u32, timeout_ns: Option<u64>) -> io::Result<()> {
        let staged = self.staged.as_mut().expect("the caller looked");
        let mut queue = self.ring.submission();
        queue.sync();
        let count = staged.len().min(queue.capacity() - queue.len());
        // SAFETY: as in `push`: their slots are busy until `reap`.
        let pushed = unsafe { queue.push_multiple(&staged[..count]) };
        assert!(pushed.is_ok(), "there is room for so many");
        staged.drain(..count);
        queue.sync();
        let is_asleep = queue.need_wakeup();
        drop(queue);
        self.in_flight += count as u32;
        self.queued -= count as u32;
        match is_asleep || self.ready() < want as usize {
            true => self.enter_with(0, want, timeout_ns),
            false => Ok(()),
        }
    }

    /// As `enter`, where nothing but a call that looks for completions brings them. In such a call the kernel heeds no
    /// time.
    #[inline(never)]
    fn poll(&mut self, submit: u32, want: u32, timeout_ns: Option<u64>) -> io::Result<()> {
        if submit + self.in_flight == 0 {
            if let Some(timeout_ns) = timeout_ns.filter(|_| want > 0) {
                std::thread::sleep(Duration::from_nanos(timeout_ns));
            }
            return Ok(());
        }
        let begun = Instant::now();
        let limit = timeout_ns.map(Duration::from_nanos);
        let mut submit = submit;
        loop {
            let queued = self.queued;
            self.enter_with(submit, 0, None)?;
            submit -= queued - self.queued;
            let is_over = limit.is_some_and(|limit| begun.elapsed() >= limit);
            if self.ready() >= want as usize || is_over {
                return Ok(());
            }
        }
    }

    /// Completions that `reap` would deliver now, without asking the kernel.
    #[inline]
    pub fn ready(&mut self) -> usize {
        self.ring.completion().len() + self.called.len()
    }

    /// Delivers every completion that shows, as slot and result: bytes or 0, or a negative errno. The slot is free
    /// before `completed` runs. Returns how many there were.
    #[inline]
    pub fn reap(&mut self, mut completed: impl FnMut(u32, i32)) -> usize {
        let mut count = 0;
        for completion in self.ring.completion() {
            let slot = completion.user_data() as u32;
            self.slots.give_back(slot);
            self.in_flight -= 1;
            count += 1;
            completed(slot, completion.result());
        }
        for (slot, result) in self.called.drain(..) {
            self.slots.give_back(slot);
            self.in_flight -= 1;
            count += 1;
            completed(slot, result);
        }
        count
    }

    /// Gives up at once: the ring, and memory the kernel may still write, stay until the process ends.
    pub fn abandon(mut self) {
        self.targets = Vec::new();
        self.files = Vec::new();
        std::mem::forget(self);
    }

    #[inline]
    fn entry(&self, slot: u32, request: &Request) -> Entry {
        let Request {
            kind,
            file,
            offset,
            length,
            priority,
        } = *request;
        let target = self.targets[file as usize];
        // Offset -1 would mean the file's own position.
        assert!(offset <= i64::MAX as u64, "offset {offset}");
        let number = Fd(target.number);
        match kind {
            RequestKind::Read | RequestKind::Write => {
                self.transfer(slot, kind, number, (offset, length), priority)
            }
            RequestKind::Fsync | RequestKind::Fdatasync => {
                assert!(offset == 0 && length == 0, "a sync covers the whole file");
                let datasync = kind == RequestKind::Fdatasync;
                let flags = if datasync {
                    FsyncFlags::DATASYNC
                } else {
                    FsyncFlags::empty()
                };
                opcode::Fsync::new(number).flags(flags).build()
            }
            RequestKind::SyncRange { flags } => {
                assert!(offset == 0 && length == 0, "a sync covers the whole file");
                opcode::SyncFileRange::new(number, 0)
                    .flags(u32::from(flags))
                    .build()
            }
            RequestKind::SyncFileSystem => unreachable!("no request of rings"),
            RequestKind::Discard if target.block_device => {
                // The kernel takes the length from `addr3`, the first half of the command's own bytes.
                let mut command = [0; 16];
                command[..8].copy_from_slice(&u64::from(length).to_ne_bytes());
                opcode::UringCmd16::new(number, BLOCK_URING_CMD_DISCARD)
                    .addr(Some(offset))
                    .cmd(command)
                    .build()
            }
            RequestKind::Discard => opcode::Fallocate::new(number, u64::from(length))
                .offset(offset)
                .mode(libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE)
                .build(),
        }
    }

    #[inline]
    fn transfer(
        &self,
        slot: u32,
        kind: RequestKind,
        number: Fd,
        (offset, length): (u64, u32),
        priority: u16,
    ) -> Entry {
        let memory = self.slots.pointer(slot, length);
        // Slots beyond 16 bits are never registered (`setup::REGISTERED_BUFFERS_MAX`).
        let registered = slot as u16;
        match (kind == RequestKind::Read, slot < self.registered_buffers) {
            (true, true) => opcode::ReadFixed::new(number, memory, length, registered)
                .offset(offset)
                .rw_flags(self.read_flags)
                .ioprio(priority)
                .build(),
            (true, false) => opcode::Read::new(number, memory, length)
                .offset(offset)
                .rw_flags(self.read_flags)
                .ioprio(priority)
                .build(),
            (false, true) => opcode::WriteFixed::new(number, memory, length, registered)
                .offset(offset)
                .rw_flags(self.write_flags)
                .ioprio(priority)
                .build(),
            (false, false) => opcode::Write::new(number, memory, length)
                .offset(offset)
                .rw_flags(self.write_flags)
                .ioprio(priority)
                .build(),
        }
    }

    #[inline]
    fn enter_with(&mut self, submit: u32, want: u32, timeout_ns: Option<u64>) -> io::Result<()> {
        // GETEVENTS also without waiting: deferred task work runs in no other call.
        let mut flags = EnterFlags::GETEVENTS;
        // Whether it sleeps or not: it is asked only where it may.
        flags.set(EnterFlags::SQ_WAKEUP, self.staged.is_some());
        let submitter = self.ring.submitter();
        let entered = match timeout_ns.filter(|_| want > 0) {
            Some(timeout_ns) => {
                let timeout = Timespec::new()
                    .sec(timeout_ns / 1_000_000_000)
                    .nsec((timeout_ns % 1_000_000_000) as u32);
                let arguments = SubmitArgs::new().timespec(&timeout);
                // SAFETY: the arguments and the time they point to outlive the call; EXT_ARG says that they are of
                // this type. What is submitted was checked in `push`.
                unsafe {
                    submitter.enter(
                        submit,
                        want,
                        (flags | EnterFlags::EXT_ARG).bits(),
                        Some(&arguments),
                    )
                }
            }
            // SAFETY: no argument is passed. What is submitted was checked in `push`.
            None => unsafe { submitter.enter::<libc::sigset_t>(submit, want, flags.bits(), None) },
        };
        match entered {
            Ok(submitted) => {
                let submitted = submitted as u32;
                self.queued -= submitted;
                self.in_flight += submitted;
                Ok(())
            }
            Err(error) => self.forgive(error),
        }
    }

    #[cold]
    fn forgive(&mut self, error: io::Error) -> io::Result<()> {
        match error.raw_os_error() {
            Some(libc::EINTR | libc::ETIME) => Ok(()),
            Some(libc::EAGAIN | libc::EBUSY) => {
                self.refusals += 1;
                // Whoever holds the memory, or has to finish the work, may need this CPU.
                std::thread::yield_now();
                Ok(())
            }
            _ => Err(error),
        }
    }

    /// Waits for what the kernel has, at most until `limit`; true when nothing is left. Submits nothing.
    fn drain(&mut self, limit: Instant) -> bool {
        loop {
            self.reap(|_, _| ());
            if self.in_flight == 0 {
                return true;
            }
            let left = limit.saturating_duration_since(Instant::now());
            let left_ns = Some(left.as_nanos() as u64);
            let is_polled = self.features.is_polled && self.staged.is_none();
            let waited = match is_polled {
                true => self.poll(0, 1, left_ns),
                false => self.enter_with(0, 1, left_ns),
            };
            if left.is_zero() || waited.is_err() {
                return false;
            }
        }
    }
}

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring")
            .field("slots", &self.slots())
            .field("queued", &self.queued)
            .field("in_flight", &self.in_flight)
            .field("refusals", &self.refusals)
            .field("features", &self.features)
            .finish_non_exhaustive()
    }
}

impl Drop for Ring {
    /// Waits at most [`DROP_WAIT_NS`]; queued requests are never submitted.
    fn drop(&mut self) {
        if !self.drain(Instant::now() + Duration::from_nanos(DROP_WAIT_NS)) {
            // Leaked: a block request cannot be cancelled, and its buffer must outlive it.
            return;
        }
        // SAFETY: dropped once, here, and not used after; the kernel has completed everything that named a buffer.
        unsafe { ManuallyDrop::drop(&mut self.ring) };
        // SAFETY: as above; the ring, which may have the buffers registered, went first.
        unsafe { self.slots.free() };
    }
}
