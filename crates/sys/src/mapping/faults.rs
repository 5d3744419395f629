//! SIGBUS within a copy: the pages that cannot be had are replaced by empty ones, so that the copy comes to an end,
//! and the thread is told.

use std::cell::Cell;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{Ordering::SeqCst, compiler_fence};

use libc::{c_int, c_void, siginfo_t};

thread_local! {
    /// The addresses that this thread copies to or from, first and behind the last; equal when none.
    static COPYING: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    static HAS_FAILED: Cell<bool> = const { Cell::new(false) };
}

/// What answered the signal before.
static BEFORE: OnceLock<Result<Before, i32>> = OnceLock::new();

struct Before(libc::sigaction);

// SAFETY: a plain record of flags and an address of code.
unsafe impl Send for Before {}
// SAFETY: as above; it is never changed.
unsafe impl Sync for Before {}

/// Answers SIGBUS from now on, once for the process.
///
/// # Errors
/// What `sigaction(2)` says.
pub(super) fn install() -> io::Result<()> {
    let outcome = BEFORE.get_or_init(|| {
        let mut before = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: asks only; the kernel fills the record.
        let asked = unsafe { libc::sigaction(libc::SIGBUS, ptr::null(), before.as_mut_ptr()) };
        if asked != 0 {
            return Err(errno());
        }
        // SAFETY: filled above, and zeroes are legal anyway.
        Ok(Before(unsafe { before.assume_init() }))
    });
    if let Err(code) = outcome {
        return Err(io::Error::from_raw_os_error(*code));
    }
    // SAFETY: zeroes are a legal action, and the fields that matter are set below.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    action.sa_sigaction = answer as extern "C" fn(c_int, *mut siginfo_t, *mut c_void) as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: the handler lives as long as the process, and calls only what a handler may call.
    match unsafe { libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Runs a copy that touches these mapped bytes; whether all of them could be touched.
#[inline]
pub(super) fn guarded((first, length): (*mut u8, usize), copy: impl FnOnce()) -> bool {
    COPYING.set((first.addr(), first.addr() + length));
    // The handler runs on this thread in the middle of the copy, and has to find the addresses.
    compiler_fence(SeqCst);
    copy();
    compiler_fence(SeqCst);
    COPYING.set((0, 0));
    !HAS_FAILED.replace(false)
}

/// The handler. Thread-local cells without a destructor are plain memory, and mmap is a bare system call.
extern "C" fn answer(_: c_int, info: *mut siginfo_t, _: *mut c_void) {
    let code = errno();
    // SAFETY: the kernel gives a record with an address for SIGBUS.
    let address = unsafe { (*info).si_addr() }.addr();
    let (first, end) = COPYING.get();
    let is_ours = address >= first && address < end && replace(address, end);
    if is_ours {
        HAS_FAILED.set(true);
    } else if let Some(Ok(before)) = BEFORE.get() {
        // Not of a copy: the touch is repeated on return, and answered as ever.
        // SAFETY: an action that the kernel gave us.
        unsafe { libc::sigaction(libc::SIGBUS, &raw const before.0, ptr::null_mut()) };
    }
    // SAFETY: the place of this thread's errno.
    unsafe { *libc::__errno_location() = code };
}

/// Puts empty memory in the place of what is left of a copy.
fn replace(address: usize, end: usize) -> bool {
    let page = rustix::param::page_size();
    let from = address - address % page;
    let bytes = end.next_multiple_of(page) - from;
    // SAFETY: the range lies within one window of this thread, which nobody else reaches and which is given up
    // after the copy.
    let mapped = unsafe {
        libc::mmap(
            ptr::without_provenance_mut(from),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
            -1,
            0,
        )
    };
    mapped != libc::MAP_FAILED
}

fn errno() -> i32 {
    // SAFETY: the place of this thread's errno.
    unsafe { *libc::__errno_location() }
}
