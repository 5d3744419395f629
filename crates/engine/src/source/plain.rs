//! The everyday case of laws with everything computed that does not change: one target, one size, uniform addresses.
use super::Ground;
use super::mix::Mix;
use crate::op::Drawn;
use crate::random::{Draws, Purpose};
use plan::{AddressOrder, AlignRule, Generator, LocalStop, Operation, RandomLaw, TransferSizes};

#[derive(Clone, Copy, Debug)]
pub(super) struct Plain {
    mix: Mix,
    addresses: Draws,
    low: u64,
    length: u32,
    unit: u64,
    blocks: u64,
}

impl Plain {
    pub(super) fn of(
        generator: &Generator,
        ground: &Ground<'_>,
        stop: LocalStop,
        draws: impl Fn(Purpose) -> Draws + Copy,
    ) -> Option<Self> {
        let transfer = &generator.transfer;
        let AddressOrder::Random(RandomLaw::Uniform) = generator.order else {
            return None;
        };
        let (TransferSizes::Fixed(size), [region]) = (&transfer.read, ground.regions) else {
            return None;
        };
        let one_size = transfer.write == transfer.read && transfer.trim == transfer.read;
        let is_plain = one_size
            && generator.hits.is_none()
            && stop.bytes.is_none()
            && region.wrap_at.is_none();
        let unit = match generator.align {
            AlignRule::Transfer => *size,
            AlignRule::Bytes(bytes) => bytes,
            AlignRule::ByDirection(_) => return None,
        };
        is_plain.then(|| Self {
            mix: Mix::new(generator, draws),
            addresses: draws(Purpose::Address),
            low: region.low,
            length: *size as u32,
            unit,
            blocks: (region.width.saturating_sub(*size) / unit + 1).max(1),
        })
    }

    /// Operation number `index`, given or drawn.
    #[inline]
    pub(super) fn next(&self, index: u64, given: Option<Operation>) -> Drawn {
        let block = self.addresses.below(index, self.blocks);
        Drawn {
            operation: given.unwrap_or_else(|| self.mix.operation(index)),
            place: 0,
            offset: self.low + block * self.unit,
            length: self.length,
        }
    }
}
