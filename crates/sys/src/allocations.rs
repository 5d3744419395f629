//! A global allocator that counts allocations by thread, for tests that hold threads to none.
//!
//! A test binary installs it:
//!
//! ```
//! #[global_allocator]
//! static ALLOCATOR: sys::allocations::Counting = sys::allocations::Counting;
//! ```

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Threads with a count of their own; further ones share the last.
const THREADS: usize = 1024;

/// The system's allocator, with a count of allocations and reallocations for each thread.
#[derive(Clone, Copy, Debug)]
pub struct Counting;

/// What one thread has allocated so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadCount {
    /// As in `/proc/self/task`; 0 for all threads beyond the first 1024 together.
    pub thread_id: i32,
    /// Allocations and reallocations.
    pub allocations: u64,
}

struct Entry {
    thread_id: AtomicI32,
    allocations: AtomicU64,
}

static TABLE: [Entry; THREADS] = [const {
    Entry {
        thread_id: AtomicI32::new(0),
        allocations: AtomicU64::new(0),
    }
}; THREADS];
static TAKEN: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    // Constant and without a destructor, so that looking at it does not allocate.
    static PLACE: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Counts of all threads that have allocated since the process began, those that ended too. Empty when [`Counting`]
/// is not the allocator of the process.
#[must_use]
pub fn by_thread() -> Vec<ThreadCount> {
    let taken = TAKEN.load(Relaxed).min(THREADS);
    // Room first: the list is made by a thread that is on it.
    let mut counts = Vec::with_capacity(taken);
    counts.extend(TABLE[..taken].iter().map(|entry| ThreadCount {
        thread_id: entry.thread_id.load(Relaxed),
        allocations: entry.allocations.load(Relaxed),
    }));
    counts
}

fn count() {
    // A thread whose locals are gone is at its end.
    let place = PLACE.try_with(|place| {
        if place.get() == usize::MAX {
            place.set(take_place());
        }
        place.get()
    });
    TABLE[place.unwrap_or(THREADS - 1)]
        .allocations
        .fetch_add(1, Relaxed);
}

fn take_place() -> usize {
    let place = TAKEN.fetch_add(1, Relaxed).min(THREADS - 1);
    if place < THREADS - 1 {
        let thread_id = rustix::thread::gettid().as_raw_nonzero().get();
        TABLE[place].thread_id.store(thread_id, Relaxed);
    }
    place
}

// SAFETY: every call goes to the system's allocator unchanged; counting neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller upholds what `System` asks, as it is what `GlobalAlloc` asks.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above; `pointer` came from `System`, as all of ours do.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}
