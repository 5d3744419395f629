//! A keyed permutation of the numbers below a limit: an unbalanced Feistel network over the next
//! power of two, walked until it falls below the limit. It needs no table, so a region of any size
//! can be visited in random order, each block once.

const ROUNDS: u32 = 6;
const MULTIPLIER: u64 = 0xd6e8_feb8_6659_fd93;

/// A family of permutations of the numbers below `limit`, one per key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Permutation {
    limit: u64,
    low_bits: u32,
    high_bits: u32,
}

impl Permutation {
    pub(super) fn new(limit: u64) -> Self {
        // Both halves of the network need a bit.
        let bits = (64 - limit.saturating_sub(1).leading_zeros()).max(2);
        Self {
            limit: limit.max(1),
            low_bits: bits / 2,
            high_bits: bits - bits / 2,
        }
    }

    /// Where `number`, which is below the limit, goes. The walk takes less than two steps on average.
    #[inline]
    pub(super) fn of(self, number: u64, key: u64) -> u64 {
        debug_assert!(number < self.limit);
        let mut at = number;
        loop {
            at = self.step(at, key);
            if at < self.limit {
                return at;
            }
        }
    }

    #[inline]
    fn step(self, number: u64, key: u64) -> u64 {
        let mut low = number & ((1 << self.low_bits) - 1);
        let mut high = number >> self.low_bits;
        for round in 0..ROUNDS {
            let key = key.rotate_left(round * 11).wrapping_add(u64::from(round));
            if round % 2 == 0 {
                high ^= scramble(low ^ key) >> (64 - self.high_bits);
            } else {
                low ^= scramble(high ^ key) >> (64 - self.low_bits);
            }
        }
        high << self.low_bits | low
    }
}

#[inline]
fn scramble(value: u64) -> u64 {
    let value = (value ^ (value >> 32)).wrapping_mul(MULTIPLIER);
    (value ^ (value >> 29)).wrapping_mul(MULTIPLIER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::mix;

    #[test]
    fn every_number_comes_once() {
        for limit in [1, 2, 3, 4, 5, 7, 8, 9, 100, 1_000, 4_096, 65_537] {
            for key in [0, 1, mix(1), mix(2)] {
                let permutation = Permutation::new(limit);
                let mut seen = vec![false; limit as usize];
                for number in 0..limit {
                    let to = permutation.of(number, key) as usize;
                    assert!(!std::mem::replace(&mut seen[to], true), "{limit} {key}");
                }
            }
        }
    }

    #[test]
    fn large_limits_stay_inside() {
        for limit in [(1 << 40) + 1, u64::MAX >> 1, 1 << 63] {
            let permutation = Permutation::new(limit);
            for number in 0..1_000 {
                assert!(permutation.of(limit - 1 - number, mix(number)) < limit);
            }
        }
    }

    /// The distance between the images of neighbours is as that of random pairs: χ² over 16 classes.
    #[test]
    fn neighbours_go_apart() {
        let limit = 1_000_003;
        let permutation = Permutation::new(limit);
        for key in [mix(3), mix(4), mix(5)] {
            let mut classes = [0_u32; 16];
            for number in 0..limit - 1 {
                let to = permutation.of(number, key);
                let next = permutation.of(number + 1, key);
                classes[((next + limit - to) % limit * 16 / limit) as usize] += 1;
            }
            let expected = (limit - 1) as f64 / 16.0;
            let chi: f64 = classes
                .iter()
                .map(|n| (f64::from(*n) - expected).powi(2) / expected)
                .sum();
            // 15 degrees of freedom: 37.7 is the 99.9 % point.
            assert!(chi < 37.7, "chi² {chi} for {key}");
        }
    }
}
