//! What written blocks contain: unique, incompressible, and recognisable as ours.
//!
//! Each 4 KiB starts with [`BLOCK_MARK`] and eight bytes that no other block of any execution
//! shares; the rest is random. The mark lets the overwrite guard tell our own data from others'.
use crate::random::mix;

/// The first eight bytes of every 4 KiB that Fathom writes.
pub const BLOCK_MARK: [u8; 8] = *b"FATHOM\x01\x00";

const BLOCK: usize = 4096;
const PATTERN_BYTES: usize = 1 << 20;

/// A store of random bytes that write buffers are filled from.
#[derive(Debug)]
pub(crate) struct Pattern {
    bytes: Vec<u8>,
    nonce: u64,
}

impl Pattern {
    /// Random bytes for transfers of up to `largest` bytes; `nonce` differs between executions.
    pub(crate) fn new(largest: usize, nonce: u64) -> Self {
        let words = (PATTERN_BYTES + largest).div_ceil(8);
        let word = |index: usize| {
            mix(nonce ^ (index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)).to_le_bytes()
        };
        Self {
            bytes: (0..words).flat_map(word).collect(),
            nonce,
        }
    }

    /// Fills a buffer that holds anything.
    pub(crate) fn fill(&self, buffer: &mut [u8], number: u64) {
        let start = (number.wrapping_mul(64) % PATTERN_BYTES as u64) as usize;
        buffer.copy_from_slice(&self.bytes[start..start + buffer.len()]);
    }

    /// Makes every 4 KiB of a filled buffer unique; `number` must not repeat in an execution.
    #[inline]
    pub(crate) fn stamp(&self, buffer: &mut [u8], stream: u64, number: u64) {
        let mut unique = mix(self.nonce ^ (stream << 48) ^ number);
        for block in buffer.chunks_mut(BLOCK) {
            if let Some(head) = block.get_mut(..16) {
                head[..8].copy_from_slice(&BLOCK_MARK);
                head[8..].copy_from_slice(&unique.to_le_bytes());
            }
            unique = unique.wrapping_add(0x9e37_79b9_7f4a_7c15);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_two_blocks_are_equal() {
        let pattern = Pattern::new(8192, 99);
        let mut seen = HashSet::new();
        let mut buffer = vec![0; 8192];
        pattern.fill(&mut buffer, 0);
        for number in 0..20_000 {
            pattern.stamp(&mut buffer, 3, number);
            for block in buffer.chunks(4096) {
                assert_eq!(block[..8], BLOCK_MARK);
                assert!(seen.insert(block[8..16].to_vec()));
            }
        }
    }

    #[test]
    fn filled_data_does_not_compress_by_repetition() {
        let pattern = Pattern::new(4096, 1);
        let mut buffer = vec![0; 4096];
        pattern.fill(&mut buffer, 12_345);
        let mut counts = [0_u32; 256];
        buffer.iter().for_each(|byte| counts[*byte as usize] += 1);
        assert!(
            counts.iter().all(|count| *count < 60),
            "a byte value dominates"
        );
    }
}
