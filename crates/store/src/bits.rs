//! Whole numbers as strings of bits: exponential Golomb codes, most significant bit first. Small
//! numbers take few bits, and any number can be written.

/// Collects bits.
#[derive(Debug, Default)]
pub(crate) struct BitWriter {
    bytes: Vec<u8>,
    pending: u64,
    pending_bits: u32,
}

/// Takes bits from a slice; `None` when they run out.
#[derive(Debug)]
pub(crate) struct BitReader<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl BitWriter {
    /// Goes on after `bytes`.
    pub(crate) fn after(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            pending: 0,
            pending_bits: 0,
        }
    }

    /// Writes `value` with a code of this order (0 to 63): best for values around 2^order.
    /// `value` is below `u64::MAX`.
    pub(crate) fn put(&mut self, value: u64, order: u32) {
        let prefix = (value >> order) + 1;
        let length = 64 - prefix.leading_zeros();
        self.put_bits(0, length - 1);
        self.put_bits(prefix, length);
        self.put_bits(value, order);
    }

    fn put_bits(&mut self, value: u64, count: u32) {
        // At most 7 bits are pending, so 56 more fit.
        if count > 32 {
            self.put_bits(value >> 32, count - 32);
            return self.put_bits(value, 32);
        }
        let low = value & ((1 << count) - 1);
        self.pending = (self.pending << count) | low;
        self.pending_bits += count;
        while self.pending_bits >= 8 {
            self.pending_bits -= 8;
            self.bytes.push((self.pending >> self.pending_bits) as u8);
        }
        self.pending &= (1 << self.pending_bits) - 1;
    }

    /// Fills the last byte with zeros.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        if self.pending_bits > 0 {
            self.put_bits(0, 8 - self.pending_bits);
        }
        self.bytes
    }
}

impl<'a> BitReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    /// The next number, as [`BitWriter::put`] wrote it.
    pub(crate) fn take(&mut self, order: u32) -> Option<u64> {
        let mut zeros = 0;
        while self.take_bits(1)? == 0 {
            zeros += 1;
            if zeros > 63 {
                return None;
            }
        }
        let prefix = (1 << zeros) | self.take_bits(zeros)?;
        let high = prefix - 1;
        if high.leading_zeros() < order {
            return None;
        }
        Some((high << order) | self.take_bits(order)?)
    }

    fn take_bits(&mut self, count: u32) -> Option<u64> {
        let mut value = 0;
        let mut missing = count;
        while missing > 0 {
            let byte = u64::from(*self.bytes.get(self.position / 8)?);
            let left = 8 - (self.position % 8) as u32;
            let now = missing.min(left);
            value = (value << now) | ((byte >> (left - now)) & ((1 << now) - 1));
            self.position += now as usize;
            missing -= now;
        }
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn number() -> impl Strategy<Value = u64> {
        (0_u32..64, any::<u64>()).prop_map(|(shift, value)| (value >> shift).min(u64::MAX - 1))
    }

    proptest! {
        #[test]
        fn numbers_come_back(numbers in proptest::collection::vec((number(), 0_u32..20), 0..50)) {
            let mut writer = BitWriter::default();
            numbers.iter().for_each(|(value, order)| writer.put(*value, *order));
            let bytes = writer.finish();
            let mut reader = BitReader::new(&bytes);
            for (value, order) in numbers {
                prop_assert_eq!(reader.take(order), Some(value));
            }
        }

        #[test]
        fn any_bytes_end(bytes in proptest::collection::vec(any::<u8>(), 0..100), order in 0_u32..64) {
            let mut reader = BitReader::new(&bytes);
            let numbers = std::iter::from_fn(|| reader.take(order)).count();
            prop_assert!(numbers <= bytes.len() * 8);
        }
    }

    #[test]
    fn the_largest_numbers_come_back() {
        for order in [0, 1, 63] {
            let mut writer = BitWriter::default();
            writer.put(u64::MAX - 1, order);
            assert_eq!(
                BitReader::new(&writer.finish()).take(order),
                Some(u64::MAX - 1)
            );
        }
    }
}
