//! Memory that is refused: an allocator that says how many bytes and which limit, and ends the process.
//!
//! Who asks for a few bytes cannot go on without them, and what the runtime does then is an abort, or a wait without end
//! where the trace that it prints needs memory itself. What is large and asked for by name has an error of its own, such as
//! [`crate::buffer::AlignedBuffers`]. A result file is safe up to its last interval.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The system's allocator, which ends the process where memory is refused.
#[derive(Clone, Copy, Debug)]
pub struct Telling;

/// Of the process that ends: that of a run that failed.
const EXIT_CODE: i32 = 1;

/// How long who reads standard error may take to make room for the line.
const PATIENCE_MS: i32 = 1000;

/// The limit of memory of this process in words, for whoever reads that some was refused.
#[must_use]
pub fn limit_text() -> String {
    let mut text = Line::default();
    text.limit();
    text.as_str().to_owned()
}

/// The error, with the number of bytes that were asked for, and the limit.
#[must_use]
pub fn told(bytes: usize, error: &std::io::Error) -> std::io::Error {
    let text = format!("{bytes} bytes: {error}; {}", limit_text());
    std::io::Error::new(error.kind(), text)
}

/// A line that is made without memory.
struct Line {
    bytes: [u8; 256],
    length: usize,
}

impl Default for Line {
    fn default() -> Self {
        Self {
            bytes: [0; 256],
            length: 0,
        }
    }
}

impl Write for Line {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        let room = self.bytes.len() - self.length;
        let taken = text.len().min(room);
        self.bytes[self.length..self.length + taken].copy_from_slice(&text[..taken]);
        self.length += taken;
        Ok(text.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Line {
    fn limit(&mut self) {
        // What does not fit is cut off, and nothing else fails.
        let _ = match crate::memory::address_limit() {
            Some(limit) => write!(self, "`ulimit -v` allows {} KiB", limit >> 10),
            None => write!(self, "the host has no such memory free"),
        };
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

/// Says it once, and ends the process without what is done at its end: that would take memory.
#[cold]
fn end(bytes: usize) -> ! {
    static IS_TOLD: AtomicBool = AtomicBool::new(false);
    if IS_TOLD.swap(true, Relaxed) {
        // Another thread is about to end the process.
        loop {
            std::thread::park();
        }
    }
    let mut line = Line::default();
    let _ = write!(line, "\nerror: {bytes} bytes of memory are refused: ");
    line.limit();
    let _ = writeln!(
        line,
        "; use fewer jobs, threads or targets, or raise the limit"
    );
    let mut room = libc::pollfd {
        fd: libc::STDERR_FILENO,
        events: libc::POLLOUT,
        revents: 0,
    };
    // SAFETY: one entry, which outlives the call.
    let has_room = unsafe { libc::poll(&raw mut room, 1, PATIENCE_MS) } > 0;
    if has_room {
        // SAFETY: the bytes are those of the line, which outlives the call.
        unsafe { libc::write(libc::STDERR_FILENO, line.bytes.as_ptr().cast(), line.length) };
    }
    // SAFETY: no code of ours runs after it.
    unsafe { libc::_exit(EXIT_CODE) }
}

#[inline]
fn checked(pointer: *mut u8, bytes: usize) -> *mut u8 {
    if pointer.is_null() {
        end(bytes);
    }
    pointer
}

// SAFETY: every call goes to the system's allocator unchanged; a pointer that is null is not given on, and nothing unwinds.
unsafe impl GlobalAlloc for Telling {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller upholds what `System` asks, as it is what `GlobalAlloc` asks.
        checked(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        checked(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above; `pointer` came from `System`, as all of ours do.
        checked(unsafe { System.realloc(pointer, layout, size) }, size)
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_cut_off() {
        let mut line = Line::default();
        write!(line, "{:300}", 7).unwrap();
        assert_eq!(line.as_str().len(), 256);
        assert!(!limit_text().is_empty());
    }
}
