//! A file or block device as memory: copies to and from a shared mapping.
//!
//! The kernel answers a touch that it cannot serve (a failing device, a full file system behind a hole, a file that
//! somebody cut) with SIGBUS. Within a copy that is an error of the copy, EIO; anywhere else it ends the process as
//! ever. No reference to mapped memory is ever made, as others may change it. Read [`Mapping`] first.

mod faults;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use rustix::fs::OFlags;
use rustix::io::{Errno, retry_on_intr};
use rustix::mm::{Advice, MapFlags, MsyncFlags, ProtFlags, madvise, mmap, msync, munmap};

use crate::file;

/// Where the whole of a target finds no room among the addresses, so much of it is mapped at a time, bytes.
const WINDOW_BYTES: u64 = 1 << 30;

/// What the kernel is told of a mapping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MappingAdvice {
    pub order: Option<file::AccessAdvice>,
    /// Huge pages (MADV_HUGEPAGE).
    pub huge_pages: bool,
}

/// A shared mapping of one open file or block device. It never makes its file longer.
#[derive(Debug)]
pub struct Mapping {
    file: Arc<File>,
    advice: MappingAdvice,
    is_writable: bool,
    /// Each write is followed by an msync of its range: what O_DIRECT and O_SYNC stand for here.
    is_durable: bool,
    bytes: u64,
    window_bytes: u64,
    window: Option<Window>,
}

#[derive(Debug)]
struct Window {
    at: u64,
    bytes: usize,
    address: NonNull<u8>,
}

// SAFETY: a window has one owner, and is reached by `&mut` alone.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps an open file, to be written where it was opened for that. A file without a byte is legal: all
    /// transfers lie behind its end then.
    ///
    /// # Errors
    /// What `mmap(2)` says (EACCES, ENODEV: it cannot be mapped); EINVAL where huge pages are asked for and the
    /// kernel has none.
    pub fn new(file: Arc<File>, advice: MappingAdvice) -> io::Result<Mapping> {
        faults::install()?;
        let bytes = match file::device_bytes(&file) {
            Ok(bytes) => bytes,
            Err(_) => file.metadata()?.len(),
        };
        let flags = rustix::fs::fcntl_getfl(&*file)?;
        let mut mapping = Mapping {
            is_writable: flags.intersects(OFlags::RDWR | OFlags::WRONLY),
            is_durable: flags.intersects(OFlags::DIRECT | OFlags::DSYNC | OFlags::SYNC),
            file,
            advice,
            bytes,
            window_bytes: bytes,
            window: None,
        };
        if bytes > 0 {
            mapping.open_window(0, 1)?;
        }
        Ok(mapping)
    }

    /// Bytes that can be reached: the length of the file when it was mapped.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Lets go of the pages, so that the kernel may drop them; the next copy maps them anew.
    pub fn unmap(&mut self) {
        self.window = None;
    }

    /// Copies from `offset` into the buffer; fewer bytes at the end of the file.
    ///
    /// # Errors
    /// EIO where the kernel could not bring the data; what `mmap(2)` says where the window has to move.
    pub fn read(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let length = self.reachable(offset, buffer.len());
        if length == 0 {
            return Ok(0);
        }
        let from = self.address(offset, length)?;
        // SAFETY: `address` gives that many mapped bytes, and the buffer has them; a mapping of a file never
        // overlaps a buffer of the caller. What others write meanwhile makes bytes of either age, as any read of a
        // file that is written does.
        let is_whole = faults::guarded((from, length), || unsafe {
            ptr::copy_nonoverlapping(from.cast_const(), buffer.as_mut_ptr(), length);
        });
        self.outcome(is_whole, length)
    }

    /// Copies the buffer to `offset`.
    ///
    /// # Errors
    /// ENOSPC behind the end of the file, which a mapping cannot move; EIO where the kernel could not take the
    /// data; EBADF where the file is open for reading only; what `mmap(2)` and, with O_DIRECT or O_SYNC, `msync(2)`
    /// say.
    pub fn write(&mut self, buffer: &[u8], offset: u64) -> io::Result<usize> {
        if !self.is_writable {
            return Err(Errno::BADF.into());
        }
        if self.reachable(offset, buffer.len()) < buffer.len() {
            return Err(Errno::NOSPC.into());
        }
        if buffer.is_empty() {
            return Ok(0);
        }
        let to = self.address(offset, buffer.len())?;
        // SAFETY: as in `read`, the other way; the mapping is writable.
        let is_whole = faults::guarded((to, buffer.len()), || unsafe {
            ptr::copy_nonoverlapping(buffer.as_ptr(), to, buffer.len());
        });
        let written = self.outcome(is_whole, buffer.len())?;
        if self.is_durable {
            let page = rustix::param::page_size();
            let skip = to.addr() % page;
            // SAFETY: the pages of what was just written, inside the window; msync changes no memory.
            let synced = retry_on_intr(|| unsafe {
                msync(to.sub(skip).cast(), written + skip, MsyncFlags::SYNC)
            });
            synced?;
        }
        Ok(written)
    }

    /// Makes what was written durable (`msync(2)`; `fsync(2)` where only a part is mapped at a time).
    ///
    /// # Errors
    /// What these calls say.
    pub fn sync(&self) -> io::Result<()> {
        match &self.window {
            Some(window) if window.bytes as u64 >= self.bytes => {
                // SAFETY: the window is mapped; msync changes no memory.
                let synced = retry_on_intr(|| unsafe {
                    msync(
                        window.address.as_ptr().cast(),
                        window.bytes,
                        MsyncFlags::SYNC,
                    )
                });
                Ok(synced?)
            }
            _ => file::fsync(&self.file),
        }
    }

    /// Bytes of a transfer that lie within the file.
    fn reachable(&self, offset: u64, length: usize) -> usize {
        let left = self.bytes.saturating_sub(offset);
        length.min(usize::try_from(left).unwrap_or(usize::MAX))
    }

    /// The mapped bytes at an offset, as many as asked for.
    #[inline]
    fn address(&mut self, offset: u64, length: usize) -> io::Result<*mut u8> {
        let is_inside = |window: &Window| {
            offset >= window.at && offset + length as u64 <= window.at + window.bytes as u64
        };
        if !self.window.as_ref().is_some_and(is_inside) {
            self.open_window(offset, length)?;
        }
        let window = self
            .window
            .as_ref()
            .expect("it was there or has been opened");
        let inside = usize::try_from(offset - window.at).expect("a window fits into memory");
        // SAFETY: the offset lies inside the window, as checked above or opened so.
        Ok(unsafe { window.address.add(inside) }.as_ptr())
    }

    #[cold]
    fn open_window(&mut self, offset: u64, length: usize) -> io::Result<()> {
        // The old one first, so that its addresses are free.
        self.window = None;
        loop {
            let page = rustix::param::page_size() as u64;
            let at = match self.window_bytes >= self.bytes {
                true => 0,
                false => offset - offset % page,
            };
            let least = offset - at + length as u64;
            let bytes = self.window_bytes.max(least).min(self.bytes - at);
            match self.map(at, bytes) {
                Err(Errno::NOMEM) if self.window_bytes > WINDOW_BYTES => {
                    self.window_bytes = WINDOW_BYTES;
                }
                Err(error) => return Err(error.into()),
                Ok(window) => {
                    self.window = Some(window);
                    return self.advise();
                }
            }
        }
    }

    fn map(&self, at: u64, bytes: u64) -> Result<Window, Errno> {
        let mut protection = ProtFlags::READ;
        protection.set(ProtFlags::WRITE, self.is_writable);
        let bytes = usize::try_from(bytes).map_err(|_| Errno::NOMEM)?;
        // SAFETY: a new mapping at an address of the kernel's choice touches no existing memory.
        let address = unsafe {
            mmap(
                ptr::null_mut(),
                bytes,
                protection,
                MapFlags::SHARED,
                &*self.file,
                at,
            )
        }?;
        let address = NonNull::new(address.cast::<u8>())
            .expect("mmap never returns address 0 without MAP_FIXED");
        Ok(Window { at, bytes, address })
    }

    fn advise(&self) -> io::Result<()> {
        let window = self.window.as_ref().expect("its caller has opened it");
        let order = self.advice.order.and_then(|order| match order {
            file::AccessAdvice::Random => Some(Advice::Random),
            file::AccessAdvice::Sequential => Some(Advice::Sequential),
            file::AccessAdvice::Once => None,
        });
        let huge = self.advice.huge_pages.then_some(Advice::LinuxHugepage);
        for advice in order.into_iter().chain(huge) {
            // SAFETY: the window is ours; none of these changes what it holds.
            unsafe { madvise(window.address.as_ptr().cast(), window.bytes, advice) }?;
        }
        Ok(())
    }

    /// After a fault there is other memory in the place of some pages, so the window has to go.
    fn outcome(&mut self, is_whole: bool, length: usize) -> io::Result<usize> {
        if is_whole {
            return Ok(length);
        }
        self.window = None;
        Err(Errno::IO.into())
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // SAFETY: no reference into a mapping is ever made, and addresses are used within one method only. An error
        // can only mean that nothing was unmapped.
        let _ = unsafe { munmap(self.address.as_ptr().cast(), self.bytes) };
    }
}
