//! Which reads are looked at for data, and what they brought: what was never written reads as zeros, and no device has to
//! fetch it.
use crate::op::Op;
use crate::random::{GOLDEN, mix};
use measure::SampledReads;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Of so many places of a target, one is looked at.
const ONE_IN: u32 = 16;

/// Of one target: reads in the lower half, those of them that brought only zeros in the upper, so that neither is ever
/// told without the other.
#[derive(Debug, Default)]
pub(crate) struct ReadSample(AtomicU64);

impl ReadSample {
    /// What came since the last time.
    pub(crate) fn take(&self) -> SampledReads {
        let both = self.0.swap(0, Relaxed);
        SampledReads {
            reads: both & u64::from(u32::MAX),
            zeros: both >> 32,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.load(Relaxed) == 0
    }

    /// Counts a read that brought `data`.
    #[inline(never)]
    pub(crate) fn look(&self, data: &[u8]) {
        let zeros = u64::from(is_zero(data)) << 32;
        self.0.fetch_add(zeros | 1, Relaxed);
    }
}

/// Whether a read is looked at. Its place tells, so that it does not depend on who reads, in which order or how often.
#[inline]
pub(crate) fn is_sampled(op: &Op) -> bool {
    is_place_sampled(op.offset ^ u64::from(op.object.place) << 40)
}

/// One product would spread places evenly, and what is on them may be spread as evenly.
#[inline]
fn is_place_sampled(place: u64) -> bool {
    (mix(place.wrapping_add(GOLDEN)) >> 32) as u32 <= u32::MAX / ONE_IN
}

fn is_zero(data: &[u8]) -> bool {
    let is_zero = |part: &[u8]| part.iter().fold(0, |any, byte| any | byte) == 0;
    data.chunks(64).all(is_zero)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_zeros_are_taken_together() {
        let sample = ReadSample::default();
        [[0; 8], [1; 8], [0; 8]]
            .iter()
            .for_each(|data| sample.look(data));
        assert!(!sample.is_empty());
        assert_eq!(sample.take(), SampledReads { reads: 3, zeros: 2 });
        assert!(sample.is_empty());
    }

    /// Zeros on three of eight blocks, in any order of period eight, are three eighths of the sample.
    #[test]
    fn what_is_sampled_knows_no_period() {
        let blocks = 0..16_384;
        let sampled: Vec<u64> = blocks
            .filter(|block| is_place_sampled(block * 4096))
            .collect();
        assert!((900..1150).contains(&sampled.len()), "{}", sampled.len());
        for period in 2..=16 {
            for phase in 0..period {
                let of_phase = sampled.iter().filter(|block| *block % period == phase);
                let expected = sampled.len() as f64 / period as f64;
                let found = of_phase.count() as f64;
                let is_near = (found - expected).abs() <= 4.5 * expected.sqrt();
                assert!(is_near, "{found} of {expected} at {phase} of {period}");
            }
        }
    }

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
