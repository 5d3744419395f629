//! Which reads are looked at for data, and what they brought: what was never written reads as zeros, and no device has to
//! fetch it.
use crate::op::Op;
use measure::SampledReads;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{AcqRel, Relaxed, Release},
};

/// One in so many places of a target is looked at.
const ONE_IN: u32 = 16;

/// Of one target.
#[derive(Debug, Default)]
pub(crate) struct ReadSample {
    reads: AtomicU64,
    zeros: AtomicU64,
}

impl ReadSample {
    /// What came since the last time.
    pub(crate) fn take(&self) -> SampledReads {
        // In this order, so that no read is missing whose zeros are told.
        let zeros = self.zeros.swap(0, AcqRel);
        SampledReads {
            zeros,
            reads: self.reads.swap(0, AcqRel),
        }
    }

    /// Counts a read that brought `data`.
    #[inline(never)]
    pub(crate) fn look(&self, data: &[u8]) {
        self.reads.fetch_add(1, Relaxed);
        if is_zero(data) {
            self.zeros.fetch_add(1, Release);
        }
    }
}

/// Whether a read is looked at. Its place tells, so that it does not depend on who reads, in which order or how often.
#[inline]
pub(crate) fn is_sampled(op: &Op) -> bool {
    let mixed = (op.offset ^ u64::from(op.object.place) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) as u32 <= u32::MAX / ONE_IN
}

fn is_zero(data: &[u8]) -> bool {
    let is_zero = |part: &[u8]| part.iter().fold(0, |any, byte| any | byte) == 0;
    data.chunks(64).all(is_zero)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_bit_is_seen_wherever_it_stands() {
        for length in [1, 63, 64, 65, 4096] {
            assert!(is_zero(&vec![0; length]));
            for place in [0, length / 2, length - 1] {
                let mut data = vec![0; length];
                data[place] = 128;
                assert!(!is_zero(&data));
            }
        }
    }
}
