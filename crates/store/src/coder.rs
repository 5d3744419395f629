//! An adaptive binary range coder: yes-or-no decisions cost as little as they were foreseeable.
//! The arithmetic is that of the coder of LZMA (public domain), with probabilities that adapt
//! quickly at first.

/// Bounds of a probability's resolution and of its slowest adaptation, as powers of two.
const PROBABILITY_BITS: u32 = 12;
const SLOWEST: u32 = 6;
const RENORMALIZE_BELOW: u32 = 1 << 24;
/// Lengths that have a probability of their own.
const LENGTHS: usize = 16;

/// What is known of one kind of decision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decision {
    /// Probability of "no", of 65536.
    no: u32,
    seen: u32,
}

/// What is known of one kind of number: how long it is in bits, and its bits behind the first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Number {
    is_longer: [Decision; LENGTHS],
    /// Per length: the second bit, and the third one by the second.
    bits: [[Decision; 4]; LENGTHS],
}

#[derive(Debug)]
pub(crate) struct Encoder {
    low: u64,
    range: u32,
    /// The last byte that a carry may still change, and how many bytes of ones follow it.
    held: Option<u8>,
    ones: usize,
    bytes: Vec<u8>,
}

/// Decodes any bytes; what follows behind the end reads as zeros.
#[derive(Debug)]
pub(crate) struct Decoder<'a> {
    bytes: std::slice::Iter<'a, u8>,
    range: u32,
    code: u32,
}

impl Default for Decision {
    fn default() -> Self {
        Self {
            no: 1 << 15,
            seen: 0,
        }
    }
}

impl Decision {
    fn bound(&self, range: u32) -> u32 {
        (range >> PROBABILITY_BITS) * (self.no >> (16 - PROBABILITY_BITS))
    }

    fn learn(&mut self, yes: bool) {
        let rate = (32 - (self.seen + 1).leading_zeros()).min(SLOWEST);
        self.seen += u32::from(rate < SLOWEST);
        if yes {
            self.no -= self.no >> rate;
        } else {
            self.no += ((1 << 16) - self.no) >> rate;
        }
    }
}

impl Default for Encoder {
    fn default() -> Self {
        Self {
            low: 0,
            range: u32::MAX,
            held: None,
            ones: 0,
            bytes: Vec::new(),
        }
    }
}

impl Encoder {
    pub(crate) fn decide(&mut self, decision: &mut Decision, yes: bool) {
        let bound = decision.bound(self.range);
        if yes {
            self.low += u64::from(bound);
            self.range -= bound;
        } else {
            self.range = bound;
        }
        decision.learn(yes);
        self.renormalize();
    }

    /// The low `count` bits of a value, as they are.
    pub(crate) fn plain(&mut self, value: u64, count: u32) {
        for place in (0..count).rev() {
            self.range >>= 1;
            if value >> place & 1 == 1 {
                self.low += u64::from(self.range);
            }
            self.renormalize();
        }
    }

    /// A value below `u64::MAX`.
    pub(crate) fn number(&mut self, model: &mut Number, value: u64) {
        let value = value + 1;
        let length = 63 - value.leading_zeros();
        for shorter in 0..length {
            self.decide(&mut model.is_longer[place(shorter)], true);
        }
        self.decide(&mut model.is_longer[place(length)], false);
        let bits = &mut model.bits[place(length)];
        let mut node = 1;
        for at in (0..length).rev().take(2) {
            let yes = value >> at & 1 == 1;
            self.decide(&mut bits[node], yes);
            node = node << 1 | usize::from(yes);
        }
        self.plain(value, length.saturating_sub(2));
    }

    /// The bytes, without the zeros at their end.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        // Any value of the range will do; this one ends in zeros.
        let step = u64::from(RENORMALIZE_BELOW);
        self.low = self.low.next_multiple_of(step);
        (0..5).for_each(|_| self.shift());
        while self.bytes.last() == Some(&0) {
            self.bytes.pop();
        }
        self.bytes
    }

    fn renormalize(&mut self) {
        while self.range < RENORMALIZE_BELOW {
            self.range <<= 8;
            self.shift();
        }
    }

    fn shift(&mut self) {
        let carry = (self.low >> 32) as u8;
        let next = (self.low >> 24) as u8;
        if carry == 1 || next != 0xff {
            // Nothing is held before the first byte, and the value stays below one: no carry.
            self.bytes
                .extend(self.held.map(|held| held.wrapping_add(carry)));
            let ones = std::iter::repeat_n(0xff_u8.wrapping_add(carry), self.ones);
            self.bytes.extend(ones);
            self.held = Some(next);
            self.ones = 0;
        } else {
            self.ones += 1;
        }
        self.low = (self.low & 0x00ff_ffff) << 8;
    }
}

impl<'a> Decoder<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let mut decoder = Self {
            bytes: bytes.iter(),
            range: u32::MAX,
            code: 0,
        };
        (0..4).for_each(|_| decoder.shift());
        decoder
    }

    pub(crate) fn decide(&mut self, decision: &mut Decision) -> bool {
        let bound = decision.bound(self.range);
        let yes = self.code >= bound;
        if yes {
            self.code -= bound;
            self.range -= bound;
        } else {
            self.range = bound;
        }
        decision.learn(yes);
        self.renormalize();
        yes
    }

    pub(crate) fn plain(&mut self, count: u32) -> u64 {
        let mut value = 0;
        for _ in 0..count {
            self.range >>= 1;
            let yes = self.code >= self.range;
            if yes {
                self.code -= self.range;
            }
            value = value << 1 | u64::from(yes);
            self.renormalize();
        }
        value
    }

    /// The next number; `None` for what no encoder writes.
    pub(crate) fn number(&mut self, model: &mut Number) -> Option<u64> {
        let mut length = 0;
        while self.decide(&mut model.is_longer[place(length)]) {
            length += 1;
            if length > 63 {
                return None;
            }
        }
        let bits = &mut model.bits[place(length)];
        let mut node = 1;
        for _ in 0..length.min(2) {
            node = node << 1 | usize::from(self.decide(&mut bits[node]));
        }
        let rest = length.saturating_sub(2);
        Some(((node as u64) << rest | self.plain(rest)) - 1)
    }

    fn renormalize(&mut self) {
        while self.range < RENORMALIZE_BELOW {
            self.range <<= 8;
            self.shift();
        }
    }

    fn shift(&mut self) {
        self.code = self.code << 8 | u32::from(self.bytes.next().copied().unwrap_or(0));
    }
}

fn place(length: u32) -> usize {
    (length as usize).min(LENGTHS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value() -> impl Strategy<Value = u64> {
        (0_u32..64, any::<u64>()).prop_map(|(shift, value)| (value >> shift).min(u64::MAX - 1))
    }

    proptest! {
        #[test]
        fn numbers_come_back(
            values in proptest::collection::vec((value(), 0_usize..3, 0_u32..20), 0..200)
        ) {
            let mut models = vec![Number::default(); 3];
            let mut encoder = Encoder::default();
            for (value, model, bits) in &values {
                encoder.number(&mut models[*model], *value);
                encoder.plain(*value, *bits);
            }
            let bytes = encoder.finish();
            let mut models = vec![Number::default(); 3];
            let mut decoder = Decoder::new(&bytes);
            for (value, model, bits) in &values {
                prop_assert_eq!(decoder.number(&mut models[*model]), Some(*value));
                prop_assert_eq!(decoder.plain(*bits), value & ((1 << bits) - 1));
            }
        }

        /// Long stretches of ones in the code are where a carry has far to go.
        #[test]
        fn foreseeable_decisions_come_back(
            stretches in proptest::collection::vec((any::<bool>(), 1_usize..3000), 1..8)
        ) {
            let all = || stretches.iter().flat_map(|(yes, count)| std::iter::repeat_n(*yes, *count));
            let (mut encoder, mut decision) = (Encoder::default(), Decision::default());
            all().for_each(|yes| encoder.decide(&mut decision, yes));
            let bytes = encoder.finish();
            let (mut decoder, mut decision) = (Decoder::new(&bytes), Decision::default());
            for yes in all() {
                prop_assert_eq!(decoder.decide(&mut decision), yes);
            }
        }

        #[test]
        fn any_bytes_decode_to_something(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let (mut decoder, mut model) = (Decoder::new(&bytes), Number::default());
            for _ in 0..100 {
                if decoder.number(&mut model).is_none() {
                    break;
                }
                prop_assert!(decoder.plain(7) < 128);
            }
        }
    }
}
