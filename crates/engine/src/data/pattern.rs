//! Patterns, repeated once before the run so that a write is one copy.
use plan::{PatternAnchor, WritePattern};

/// A pattern long enough for every transfer from any place of its period.
#[derive(Debug)]
pub(super) struct Repeated {
    bytes: Vec<u8>,
    /// Addresses count modulo this; zero counts from the transfer.
    period: u64,
    /// Where the address of a transfer stands in what is copied.
    addresses: Vec<usize>,
}

impl Repeated {
    /// For transfers of up to `largest` bytes; none at all where that is zero.
    pub(super) fn new(pattern: &WritePattern, largest: usize) -> Self {
        let length = pattern.bytes.len();
        let period = match pattern.anchor {
            PatternAnchor::Transfer => 0,
            // A period that the pattern divides repeats no sooner than the pattern does.
            PatternAnchor::Address { period_bytes } if period_bytes % length as u64 == 0 => {
                length as u64
            }
            PatternAnchor::Address { period_bytes } => period_bytes,
        };
        let turn = if period == 0 { length } else { period as usize };
        let count = if largest == 0 {
            0
        } else {
            period as usize + largest
        };
        let places = pattern.addresses.iter().map(|place| *place as usize);
        let of_place = |place: usize| (place..count).step_by(length);
        Self {
            addresses: places.flat_map(of_place).collect(),
            bytes: (0..count)
                .map(|at| pattern.bytes[at % turn % length])
                .collect(),
            period,
        }
    }

    /// The content of a transfer to `offset`.
    #[inline]
    pub(super) fn copy(&self, to: &mut [u8], offset: u64) {
        let from = offset.checked_rem(self.period).unwrap_or(0) as usize;
        to.copy_from_slice(&self.bytes[from..from + to.len()]);
        if !self.addresses.is_empty() {
            self.address(to, offset);
        }
    }

    /// Writes the address of a transfer into each repetition, cut at the end.
    fn address(&self, to: &mut [u8], offset: u64) {
        for place in &self.addresses {
            let Some(rest) = to.get_mut(*place..) else {
                continue;
            };
            let length = rest.len().min(WritePattern::ADDRESS_BYTES);
            rest[..length].copy_from_slice(&offset.to_le_bytes()[..length]);
        }
    }

    /// The content of a part of a transfer, `at` bytes behind its start.
    #[inline]
    pub(super) fn copy_at(&self, to: &mut [u8], at: usize) {
        to.copy_from_slice(&self.bytes[at..at + to.len()]);
    }
}
