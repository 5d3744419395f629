//! Memory that a device may read and write directly: one mapping, cut into equal aligned buffers.
//!
//! Knows nothing of rings; who may touch a buffer while the kernel holds it is decided by `slots`.

use std::ffi::c_void;
use std::io;
use std::ptr::{self, NonNull};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// What one huge page holds where small ones hold 4 KiB; with other sizes of pages the advice below does nothing.
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Equal buffers in one anonymous mapping, zeroed and already backed by memory; by huge pages where whole ones fit and
/// the kernel has them, so that direct I/O holds few pages instead of hundreds for each MiB.
#[derive(Debug)]
pub struct AlignedBuffers {
    mapping: NonNull<u8>,
    mapping_bytes: usize,
    first: NonNull<u8>,
    stride_bytes: usize,
    count: usize,
    bytes_each: usize,
}

// SAFETY: the mapping has one owner, and the methods follow the borrow rules of a `Vec<Box<[u8]>>`.
unsafe impl Send for AlignedBuffers {}
// SAFETY: as above; `&self` gives out shared slices only.
unsafe impl Sync for AlignedBuffers {}

impl AlignedBuffers {
    /// Maps `count` buffers of `bytes_each` bytes, each starting at a multiple of `align` bytes (a power of two).
    ///
    /// # Errors
    /// `InvalidInput` for a zero or an alignment that is no power of two or a total beyond the address space; what
    /// `mmap` says otherwise.
    pub fn new(count: usize, bytes_each: usize, align: usize) -> io::Result<AlignedBuffers> {
        let layout = Layout::of(count, bytes_each, align).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidInput,
                "buffers of zero or too many bytes",
            )
        })?;
        // SAFETY: a new private mapping at an address of the kernel's choice touches no existing memory.
        let address = unsafe {
            mmap_anonymous(
                ptr::null_mut(),
                layout.mapping_bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        }?;
        let mapping = NonNull::new(address.cast::<u8>())
            .expect("mmap never returns address 0 without MAP_FIXED");
        let address = mapping.addr().get();
        let skip_bytes = address.next_multiple_of(layout.align) - address;
        // SAFETY: `Layout::of` added the most that aligning can skip to the mapping, so this stays inside.
        let first = unsafe { mapping.add(skip_bytes) };
        let buffers = AlignedBuffers {
            mapping,
            mapping_bytes: layout.mapping_bytes,
            first,
            stride_bytes: layout.stride_bytes,
            count,
            bytes_each,
        };
        buffers.ask_for_huge_pages();
        buffers.touch_every_page();
        Ok(buffers)
    }

    /// The number of buffers.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Never true: zero buffers are refused.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes of each buffer, as asked for.
    #[inline]
    #[must_use]
    pub fn bytes_each(&self) -> usize {
        self.bytes_each
    }

    /// Buffer `index`. Panics beyond `len()`.
    #[inline]
    #[must_use]
    pub fn get(&self, index: usize) -> &[u8] {
        // SAFETY: `pointer` checked the index; the bytes are initialised (zeroed by the kernel), live as long as
        // `self`, and no `&mut` to them can exist while `self` is borrowed.
        unsafe { std::slice::from_raw_parts(self.pointer(index), self.bytes_each) }
    }

    /// Buffer `index`, to write. Panics beyond `len()`.
    #[inline]
    pub fn get_mut(&mut self, index: usize) -> &mut [u8] {
        // SAFETY: as in `get`; `&mut self` makes this the only reference, and buffers do not overlap.
        unsafe { std::slice::from_raw_parts_mut(self.pointer(index), self.bytes_each) }
    }

    /// Where buffer `index` starts. Panics beyond `len()`.
    #[inline]
    pub(crate) fn pointer(&self, index: usize) -> *mut u8 {
        assert!(index < self.count, "buffer {index} of {}", self.count);
        // SAFETY: index < count, and count strides lie inside the mapping.
        unsafe { self.first.add(index * self.stride_bytes).as_ptr() }
    }

    /// Only where a whole one is covered by buffers: no memory is taken that small pages would not take.
    fn ask_for_huge_pages(&self) {
        let bytes = self.used_bytes() / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
        if bytes > 0 {
            // SAFETY: inside our own mapping; the advice changes no content. A kernel without huge pages refuses it,
            // and all works as before.
            let _ = unsafe { madvise(self.first.as_ptr().cast(), bytes, Advice::LinuxHugepage) };
        }
    }

    fn used_bytes(&self) -> usize {
        self.stride_bytes * self.count
    }

    /// MAP_POPULATE would hide a failure, and a page fault inside the measured window would look like the device.
    fn touch_every_page(&self) {
        for offset in (0..self.used_bytes()).step_by(rustix::param::page_size()) {
            // SAFETY: inside our own new mapping, to which no reference exists yet.
            unsafe { self.first.add(offset).write_volatile(0) };
        }
    }
}

impl Drop for AlignedBuffers {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours alone; `Slots` keeps this from running while the kernel holds a buffer. An
        // error can only mean that nothing was unmapped.
        let _ = unsafe { munmap(self.mapping.as_ptr().cast::<c_void>(), self.mapping_bytes) };
    }
}

struct Layout {
    /// Of the first buffer.
    align: usize,
    stride_bytes: usize,
    mapping_bytes: usize,
}

impl Layout {
    fn of(count: usize, bytes_each: usize, align: usize) -> Option<Layout> {
        if count == 0 || bytes_each == 0 || !align.is_power_of_two() {
            return None;
        }
        let page_bytes = rustix::param::page_size();
        let stride_bytes = bytes_each.checked_next_multiple_of(align)?;
        let used_bytes = stride_bytes.checked_mul(count)?;
        let align = if used_bytes >= HUGE_PAGE_BYTES {
            align.max(HUGE_PAGE_BYTES)
        } else {
            align
        };
        let skip_bytes_max = align.saturating_sub(page_bytes);
        let mapping_bytes = used_bytes
            .checked_add(skip_bytes_max)?
            .checked_next_multiple_of(page_bytes)?;
        isize::try_from(mapping_bytes).ok().map(|_| Layout {
            align,
            stride_bytes,
            mapping_bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_buffer_is_aligned_zeroed_and_apart() {
        let page = rustix::param::page_size();
        for (count, bytes_each, align) in [
            (7, 512, 512),
            (3, 5000, 4096),
            (5, 4096, 1),
            (4, 1 << 16, 1 << 21),
        ] {
            let mut buffers = AlignedBuffers::new(count, bytes_each, align).unwrap();
            assert_eq!((buffers.len(), buffers.bytes_each()), (count, bytes_each));
            for index in 0..count {
                assert_eq!(buffers.get(index).as_ptr() as usize % align, 0);
                assert!(buffers.get(index).iter().all(|byte| *byte == 0));
                buffers.get_mut(index).fill(index as u8 + 1);
            }
            for index in 0..count {
                assert!(
                    buffers
                        .get(index)
                        .iter()
                        .all(|byte| *byte == index as u8 + 1)
                );
            }
            assert!(buffers.mapping_bytes.is_multiple_of(page));
        }
    }

    #[test]
    fn buffers_that_fill_huge_pages_begin_with_one() {
        for (count, bytes_each) in [(2, 1 << 20), (1, 16 << 20), (512, 4096)] {
            let buffers = AlignedBuffers::new(count, bytes_each, 4096).unwrap();
            assert_eq!(buffers.pointer(0) as usize % HUGE_PAGE_BYTES, 0);
            let slack = buffers.mapping_bytes - buffers.used_bytes();
            assert!(slack < HUGE_PAGE_BYTES, "{slack} bytes of addresses unused");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for (count, bytes_each, align) in [
            (0, 1, 1),
            (1, 0, 1),
            (1, 1, 0),
            (1, 1, 3),
            (usize::MAX, 2, 1),
            (2, usize::MAX, 2),
        ] {
            let error = AlignedBuffers::new(count, bytes_each, align).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        }
    }

    #[test]
    #[should_panic(expected = "buffer 2 of 2")]
    fn an_index_beyond_the_end_panics() {
        let _ = AlignedBuffers::new(2, 16, 16).unwrap().get(2);
    }
}
