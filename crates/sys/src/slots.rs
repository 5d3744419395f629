//! Which slots the kernel has, and their buffers: memory that it may still write is out of reach, and never freed.
//!
//! The one place that both [`crate::ring`] and [`crate::aio`] rely on for it.
use crate::buffer::AlignedBuffers;
use std::mem::ManuallyDrop;

/// Slots with a buffer each, free or busy. Dropping this leaks the buffers; [`Slots::free`] gives them back.
#[derive(Debug)]
pub(crate) struct Slots {
    buffers: ManuallyDrop<AlignedBuffers>,
    busy: Box<[bool]>,
}

impl Slots {
    /// One free slot for each buffer.
    pub fn new(buffers: AlignedBuffers) -> Slots {
        Slots {
            busy: vec![false; buffers.len()].into_boxed_slice(),
            buffers: ManuallyDrop::new(buffers),
        }
    }

    #[inline]
    pub fn count(&self) -> u32 {
        self.busy.len() as u32
    }

    /// Panics beyond the last slot, as the other methods do.
    #[inline]
    pub fn is_busy(&self, slot: u32) -> bool {
        self.busy[slot as usize]
    }

    /// The buffer of a free slot. Panics when it is busy.
    #[inline]
    pub fn buffer(&self, slot: u32) -> &[u8] {
        assert!(!self.is_busy(slot), "buffer of busy slot {slot}");
        self.buffers.get(slot as usize)
    }

    /// The buffer of a free slot, to fill. Panics when it is busy.
    #[inline]
    pub fn buffer_mut(&mut self, slot: u32) -> &mut [u8] {
        assert!(!self.is_busy(slot), "buffer of busy slot {slot}");
        self.buffers.get_mut(slot as usize)
    }

    /// From here on nobody but the kernel gets to the buffer. Panics when the slot is busy already.
    #[inline]
    pub fn take(&mut self, slot: u32) {
        assert!(!self.is_busy(slot), "slot {slot} is busy");
        self.busy[slot as usize] = true;
    }

    /// The kernel is done with the slot.
    #[inline]
    pub fn give_back(&mut self, slot: u32) {
        self.busy[slot as usize] = false;
    }

    /// Where the buffer of a slot begins, for a transfer of `length` bytes. Panics when the buffer is smaller.
    #[inline]
    pub fn pointer(&self, slot: u32, length: u32) -> *mut u8 {
        assert!(
            length as usize <= self.buffers.bytes_each(),
            "{length} bytes into a smaller buffer"
        );
        self.buffers.pointer(slot as usize)
    }

    /// Frees the memory of all buffers.
    ///
    /// # Safety
    /// The kernel has completed everything that named a buffer, none is registered with it any more, and this value
    /// is not used again.
    pub unsafe fn free(&mut self) {
        // SAFETY: by the caller's word nothing refers to the buffers, and they are dropped once.
        unsafe { ManuallyDrop::drop(&mut self.buffers) };
    }
}
