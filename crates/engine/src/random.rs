//! Random numbers by index: the value of a draw depends on the seed, the stream, the purpose and
//! the number of the draw, and on nothing else. Whoever makes the draw, and in whatever order, gets
//! the same value, so an execution does not depend on the number of its workers.

/// What a draw is for. Each purpose has a sequence of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Operation = 1,
    Size,
    Seek,
    Hit,
    Address,
    Arrival,
    Start,
    Duplicate,
    Member,
    Target,
    /// Keys of the passes of a law that visits each block once.
    Pass,
    /// Where the ranks of a skewed law lie.
    Spread,
    /// Which of the transfers written are discarded.
    Discard,
    /// Of single transfers among others.
    Priority,
}

/// One sequence of draws.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draws {
    key: u64,
}

/// Further draws for one index, for laws that need more than one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chain {
    state: u64,
}

pub(crate) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Draws {
    pub(crate) fn new(seed: u64, run: u64, stream: u64, purpose: Purpose) -> Self {
        let mut key = mix(seed ^ GOLDEN);
        for part in [run, stream, purpose as u64] {
            key = mix(key.wrapping_add(GOLDEN) ^ part);
        }
        Self { key }
    }

    /// One of many sequences for the same purpose.
    pub(crate) fn part(self, number: u64) -> Self {
        Self {
            key: mix(self.key.wrapping_add(GOLDEN) ^ number),
        }
    }

    /// 64 random bits: the splitmix64 output function over a counter.
    #[inline]
    pub(crate) fn at(self, index: u64) -> u64 {
        mix(self.key.wrapping_add(index.wrapping_mul(GOLDEN)))
    }

    /// Uniform below `limit` (which is not zero), by multiplication; biased by less than
    /// `limit` ÷ 2⁶⁴.
    #[inline]
    pub(crate) fn below(self, index: u64, limit: u64) -> u64 {
        ((u128::from(self.at(index)) * u128::from(limit)) >> 64) as u64
    }

    /// Uniform in (0, 1].
    #[inline]
    pub(crate) fn unit(self, index: u64) -> f64 {
        unit(self.at(index))
    }

    /// As many draws as it takes for one index.
    #[inline]
    pub(crate) fn chain(self, index: u64) -> Chain {
        Chain {
            state: self.at(index),
        }
    }
}

impl Chain {
    /// 64 random bits.
    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix(self.state)
    }

    /// Uniform below `limit`, as [`Draws::below`].
    #[inline]
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(limit)) >> 64) as u64
    }

    /// Uniform in (0, 1].
    #[inline]
    pub(crate) fn unit(&mut self) -> f64 {
        unit(self.next())
    }
}

#[inline]
fn unit(bits: u64) -> f64 {
    ((bits >> 11) + 1) as f64 * (1.0 / (1_u64 << 53) as f64)
}

#[inline]
pub(crate) fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// The key of a part of what has a key.
#[inline]
pub(crate) fn fold(key: u64, part: u64) -> u64 {
    mix(key.wrapping_add(GOLDEN) ^ mix(part))
}

/// A share in percent as a limit for 64 random bits: a draw below it is inside the share.
pub(crate) fn share_limit(pct: f64) -> u64 {
    if pct >= 100.0 {
        return u64::MAX;
    }
    (pct.max(0.0) / 100.0 * 18_446_744_073_709_551_616.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_uniform_and_independent_of_their_order() {
        let draws = Draws::new(7, 0, 3, Purpose::Address);
        let mut counts = [0_u32; 16];
        for index in 0..160_000 {
            counts[draws.below(index, 16) as usize] += 1;
        }
        let chi: f64 = counts
            .iter()
            .map(|c| (f64::from(*c) - 10_000.0).powi(2) / 10_000.0)
            .sum();
        // 15 degrees of freedom: 37.7 is the 99.9 % point.
        assert!(chi < 37.7, "chi² {chi}");
        assert_eq!(draws.at(5), Draws::new(7, 0, 3, Purpose::Address).at(5));
        assert_ne!(draws.at(5), Draws::new(7, 0, 3, Purpose::Size).at(5));
    }

    #[test]
    fn shares_reach_both_ends() {
        assert_eq!(share_limit(0.0), 0);
        assert_eq!(share_limit(100.0), u64::MAX);
        assert_eq!(share_limit(50.0), 1 << 63);
    }
}
