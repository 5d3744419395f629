//! Patterns, repeated once before the run so that a write is one copy.
use plan::{PatternAnchor, WritePattern};

/// A pattern long enough for every transfer from any place of its period.
#[derive(Debug)]
pub(super) struct Repeated {
    bytes: Vec<u8>,
    /// Addresses count modulo this; zero counts from the transfer.
    period: u64,
    /// Where an address stands in what is copied, and what it adds to that of the transfer.
    addresses: Vec<(usize, u64)>,
    /// Zero never begins anew.
    restart_bytes: usize,
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
        let inside = |at: usize| pattern.since_restart(at) % turn % length;
        Self {
            addresses: addresses(pattern, count),
            restart_bytes: pattern.restart_bytes as usize,
            bytes: (0..count).map(|at| pattern.bytes[inside(at)]).collect(),
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

    /// Writes the address into each repetition, cut at the end and where the pattern begins anew.
    fn address(&self, to: &mut [u8], offset: u64) {
        for (place, added) in &self.addresses {
            let Some(rest) = to.get_mut(*place..) else {
                continue;
            };
            let until_restart = match self.restart_bytes {
                0 => usize::MAX,
                bytes => bytes - (*place - *added as usize),
            };
            let length = rest
                .len()
                .min(WritePattern::ADDRESS_BYTES)
                .min(until_restart);
            let address = offset.wrapping_add(*added).to_le_bytes();
            rest[..length].copy_from_slice(&address[..length]);
        }
    }

    /// The content of a part of a transfer, `at` bytes behind its start.
    #[inline]
    pub(super) fn copy_at(&self, to: &mut [u8], at: usize) {
        to.copy_from_slice(&self.bytes[at..at + to.len()]);
    }
}

/// Where the addresses in `count` bytes of a pattern stand, each with the place where the pattern began.
fn addresses(pattern: &WritePattern, count: usize) -> Vec<(usize, u64)> {
    let turn = match pattern.restart_bytes as usize {
        0 => count.max(1),
        bytes => bytes,
    };
    let mut found = Vec::new();
    for start in (0..count).step_by(turn) {
        let end = count.min(start.saturating_add(turn));
        for place in &pattern.addresses {
            let places = (start + *place as usize..end).step_by(pattern.bytes.len());
            found.extend(places.map(|at| (at, start as u64)));
        }
    }
    found
}
