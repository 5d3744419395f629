//! What is in flight in a slot, in one word, so that whoever looks from outside sees all of it or nothing.

/// Streams of a run, at most.
pub(crate) const MOST_STREAMS: usize = 1 << 16;

/// Transfers are shorter, in bytes.
pub(crate) const LENGTH_LIMIT: u64 = 1 << 28;

/// How stream and place (32 bits together), operation (4) and length (28) lie in a word: the fewer streams a run has,
/// the more targets they may have. What has no room is refused before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packing {
    place_bits: u32,
}

impl Packing {
    pub(crate) fn of(streams: usize) -> Self {
        Self {
            place_bits: (streams.saturating_sub(1) as u32).leading_zeros(),
        }
    }

    /// How many targets a stream may have.
    pub(crate) fn most_places(self) -> u64 {
        1 << self.place_bits
    }

    #[inline]
    pub(crate) fn pack(self, stream: u32, place: u32, operation: usize, length: u32) -> u64 {
        debug_assert!(u64::from(place) < self.most_places());
        debug_assert!(u64::from(length) < LENGTH_LIMIT);
        let object = u64::from(stream) << self.place_bits | u64::from(place);
        object << 32 | (operation as u64) << 28 | u64::from(length)
    }

    #[inline]
    pub(crate) fn unpack(self, what: u64) -> (usize, usize, usize, u32) {
        let mask = |bits: u32| (1_u64 << bits) - 1;
        let object = what >> 32;
        (
            (object >> self.place_bits) as usize,
            (object & mask(self.place_bits)) as usize,
            (what >> 28 & mask(4)) as usize,
            (what & mask(28)) as u32,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_comes_out_whatever_the_number_of_streams() {
        for (streams, places) in [
            (1, 1 << 32),
            (2, 1 << 31),
            (3, 1 << 30),
            (MOST_STREAMS, 1 << 16),
        ] {
            let packing = Packing::of(streams);
            assert_eq!(packing.most_places(), places, "{streams} streams");
            let (stream, place) = (streams as u32 - 1, (places - 1) as u32);
            let length = LENGTH_LIMIT as u32 - 1;
            let what = packing.pack(stream, place, 15, length);
            let expected = (stream as usize, place as usize, 15, length);
            assert_eq!(packing.unpack(what), expected);
            assert_eq!(packing.unpack(packing.pack(0, 1, 2, 3)), (0, 1, 2, 3));
        }
    }
}
