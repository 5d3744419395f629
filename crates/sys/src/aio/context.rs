//! The kernel's side of native AIO: the calls, what they are told, and the ring in which completions appear.
//!
//! Layouts are those of linux/aio_abi.h and of `struct aio_ring` (fs/aio.c), which libaio reads in the same way.

use std::ffi::{c_long, c_ulong};
use std::io;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};

/// `AIO_RING_MAGIC`.
const RING_MAGIC: u32 = 0xa10a_10a1;

/// A context of the kernel, with its completion ring where that can be read in memory. Not `Send`, so that one thread
/// alone moves the head of the ring.
#[derive(Debug)]
pub(super) struct Context {
    id: c_ulong,
    ring: Option<Completions>,
}

/// `struct iocb`. The kernel copies it while it is submitted, and writes the lower half of `key_and_flags` then, the
/// key; the upper one has flags of `preadv2(2)`.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct Control {
    pub data: u64,
    pub key_and_flags: u64,
    pub opcode: u16,
    pub priority: i16,
    pub descriptor: u32,
    pub buffer: u64,
    pub length: u64,
    pub offset: i64,
    pub reserved: u64,
    pub flags: u32,
    pub event_descriptor: u32,
}

/// `struct io_event`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Event {
    /// [`Control::data`].
    pub data: u64,
    control: u64,
    /// Bytes or 0, or a negative errno.
    pub result: i64,
    extra: i64,
}

const _: () = assert!(size_of::<Control>() == 64 && size_of::<Event>() == 32);

/// `IOCB_CMD_*`.
pub(super) const READ: u16 = 0;
pub(super) const WRITE: u16 = 1;
pub(super) const FSYNC: u16 = 2;
pub(super) const FDATASYNC: u16 = 3;
/// `IOCB_FLAG_IOPRIO`.
pub(super) const HAS_PRIORITY: u32 = 2;
#[cfg(test)]
pub(super) const POLL: u16 = 5;

#[derive(Debug)]
struct Completions {
    header: NonNull<Header>,
    /// Events that the ring has room for; head and tail stay below it.
    room: u32,
}

/// `struct aio_ring`; the events follow it.
#[repr(C)]
struct Header {
    id: u32,
    events: u32,
    /// Next to be taken. Moved by whoever takes: this process, or the kernel in `io_getevents`.
    head: AtomicU32,
    /// Next to be written by the kernel.
    tail: AtomicU32,
    magic: u32,
    compatible_features: u32,
    incompatible_features: u32,
    header_bytes: u32,
}

impl Context {
    /// A context for `events` requests outstanding at a time. `in_memory`: read completions from the ring where its
    /// layout is the known one.
    pub(super) fn setup(events: u32, in_memory: bool) -> io::Result<Context> {
        let mut id: c_ulong = 0;
        // SAFETY: the kernel writes the id, which lives through the call; it has to be zero before.
        let made = unsafe { libc::syscall(libc::SYS_io_setup, c_long::from(events), &raw mut id) };
        if made < 0 {
            return Err(io::Error::last_os_error());
        }
        let ring = if in_memory { Completions::of(id) } else { None };
        Ok(Context { id, ring })
    }

    /// Whether completions are read without a call.
    pub(super) fn is_in_memory(&self) -> bool {
        self.ring.is_some()
    }

    /// Hands requests to the kernel; how many it took, at least one. An error concerns the first.
    ///
    /// # Safety
    /// Each pointer is to a [`Control`] that nothing else refers to during the call, and the memory that it names is
    /// left alone, and stays, until its event has been taken.
    #[inline]
    pub(super) unsafe fn submit(&self, controls: &[*mut Control]) -> io::Result<usize> {
        // SAFETY: the array lives through the call, and what it points to is as the caller promises.
        let taken = unsafe {
            libc::syscall(
                libc::SYS_io_submit,
                self.id,
                controls.len() as c_long,
                controls.as_ptr(),
            )
        };
        count(taken)
    }

    /// Takes completions by a call that waits for `at_least` of them, for `timeout_ns`, or for a signal; how many were
    /// written to `into`.
    #[inline]
    pub(super) fn wait(
        &self,
        at_least: usize,
        into: &mut [Event],
        timeout_ns: Option<u64>,
    ) -> io::Result<usize> {
        let timeout = timeout_ns.map(|timeout_ns| libc::timespec {
            tv_sec: (timeout_ns / 1_000_000_000) as libc::time_t,
            tv_nsec: (timeout_ns % 1_000_000_000) as c_long,
        });
        let timeout = timeout.as_ref().map_or(ptr::null(), ptr::from_ref);
        // SAFETY: the kernel writes at most `into.len()` events there, and reads a time that lives through the call.
        let taken = unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.id,
                at_least as c_long,
                into.len() as c_long,
                into.as_mut_ptr(),
                timeout,
            )
        };
        count(taken)
    }

    /// How many completions [`Context::take`] would deliver.
    #[inline]
    pub(super) fn ready(&self) -> usize {
        self.ring.as_ref().map_or(0, Completions::ready)
    }

    /// Delivers what is in the ring, where it is read in memory.
    #[inline]
    pub(super) fn take(&mut self, completed: impl FnMut(Event)) {
        if let Some(ring) = &mut self.ring {
            ring.take(completed);
        }
    }

    /// Ends the context; waits for what is in flight without a limit.
    pub(super) fn destroy(self) {
        // SAFETY: the id is of our own context, which nothing uses after. An error would mean that there is none.
        let _ = unsafe { libc::syscall(libc::SYS_io_destroy, self.id) };
    }
}

impl Completions {
    /// The ring of a context, if it is laid out as known here.
    fn of(id: c_ulong) -> Option<Completions> {
        let header = NonNull::new(ptr::with_exposed_provenance_mut::<Header>(id as usize))?;
        // SAFETY: the id of a context is the address at which the kernel has mapped its ring into this process, whole
        // pages of it, until the context ends.
        let found = unsafe { header.as_ref() };
        let is_known = found.magic == RING_MAGIC
            && found.incompatible_features == 0
            && found.header_bytes as usize == size_of::<Header>()
            && found.events > 0;
        is_known.then_some(Completions {
            header,
            room: found.events,
        })
    }

    #[inline]
    fn header(&self) -> &Header {
        // SAFETY: mapped as long as the context, which outlives this; what others change in it is atomic.
        unsafe { self.header.as_ref() }
    }

    #[inline]
    fn ready(&self) -> usize {
        let header = self.header();
        let (head, tail) = (
            header.head.load(Ordering::Relaxed),
            header.tail.load(Ordering::Acquire),
        );
        if tail >= head {
            (tail - head) as usize
        } else {
            (tail + self.room - head) as usize
        }
    }

    #[inline]
    fn take(&mut self, mut completed: impl FnMut(Event)) {
        let header = self.header();
        let mut head = header.head.load(Ordering::Relaxed);
        // The kernel writes an event before it moves the tail past it.
        let tail = header.tail.load(Ordering::Acquire);
        if head == tail {
            return;
        }
        // SAFETY: the events begin where the header ends, which is checked in `of`.
        let events = unsafe { self.header.add(1) }.cast::<Event>();
        while head != tail && head < self.room {
            // SAFETY: `head` is below the room of the ring, so the event is inside the mapping; the kernel leaves it
            // alone until the head has passed it.
            completed(unsafe { events.add(head as usize).read() });
            head = if head + 1 == self.room { 0 } else { head + 1 };
        }
        // The events have been copied before the kernel may write there again.
        header.head.store(head, Ordering::Release);
    }
}

fn count(returned: c_long) -> io::Result<usize> {
    usize::try_from(returned).map_err(|_| io::Error::last_os_error())
}
