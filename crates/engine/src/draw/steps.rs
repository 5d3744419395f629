//! Addresses that follow from the number of the operation alone: sequences with gaps, bursts from
//! random places, and steps from zone to zone.
use super::permutation::Permutation;
use super::space::Space;
use crate::random::{Draws, Purpose};
use plan::{Generator, Operation, StepPattern, Steps};

/// The steps of one stream over spaces of any width.
#[derive(Debug)]
pub(super) struct Stepping {
    pattern: StepPattern,
    trims_first: bool,
    /// Of the largest transfer, and of the smallest.
    length: u64,
    unit: u64,
    keys: Draws,
    addresses: Draws,
}

impl Stepping {
    pub(super) fn new(
        steps: &Steps,
        generator: &Generator,
        draws: impl Fn(Purpose) -> Draws,
    ) -> Self {
        Self {
            pattern: steps.pattern.clone(),
            trims_first: steps.trims_first,
            length: generator.largest_transfer().max(1),
            unit: generator.smallest_transfer().max(1),
            keys: draws(Purpose::Pass),
            addresses: draws(Purpose::Address),
        }
    }

    /// What an operation does where the steps decide it, and its number among the places.
    #[inline]
    pub(super) fn step(&self, index: u64) -> (Option<Operation>, u64) {
        match (self.trims_first, index % 2) {
            (false, _) => (None, index),
            (true, 0) => (Some(Operation::Trim), index / 2),
            (true, _) => (Some(Operation::Write), index / 2),
        }
    }

    /// Where place number `number` lies in a space.
    pub(super) fn place(&self, space: &Space, number: u64) -> u64 {
        let last = space.width.saturating_sub(self.length);
        match &self.pattern {
            StepPattern::Gap { bytes } => self.with_gap(*bytes, space.width, number),
            StepPattern::Bursts {
                operations,
                repeats,
                ..
            } => {
                let (burst, within) = (number / operations, number % operations);
                let start = self.seek(space, burst);
                if *repeats || *operations == 1 {
                    return start;
                }
                let blocks = (last / self.length).max(1) + 1;
                let at = start + within * self.length;
                if at <= last {
                    at
                } else {
                    at % (blocks * self.length)
                }
            }
            StepPattern::Zones {
                used_bytes,
                zone_bytes,
                skip_bytes,
                order,
            } => {
                let in_zone = used_bytes.div_ceil(self.length).max(1);
                let (visit, within) = (number / in_zone, number % in_zone);
                let needed = (*used_bytes.min(zone_bytes)).min(space.width);
                let period = (zone_bytes + skip_bytes).max(1);
                let zones = (space.width - needed) / period + 1;
                let start = visit % zones * period;
                let room = (*zone_bytes).min(space.width - start);
                let blocks = (room / self.length).max(1);
                let block = match order {
                    plan::ZoneOrder::Sequential => within % blocks,
                    plan::ZoneOrder::Random => self.addresses.below(number, blocks),
                    plan::ZoneOrder::EachOnce => {
                        let (pass, at) = (within / blocks, within % blocks);
                        let keys = self.keys.part(visit);
                        Permutation::new(blocks).of(at, keys.at(pass))
                    }
                };
                start + block * self.length
            }
        }
    }

    fn seek(&self, space: &Space, number: u64) -> u64 {
        match &space.grid {
            Some(grid) => {
                let block = grid.block(self.addresses, number, || number);
                block.unwrap_or(0) * grid.unit
            }
            None => {
                let blocks = (space.width / self.unit).max(1);
                self.addresses.below(number, blocks) * self.unit
            }
        }
    }

    /// From the start, each so many bytes behind the end of the one before; at the end it begins anew.
    /// With a negative gap from the end to the start, behind one at the start.
    fn with_gap(&self, gap: i64, width: u64, number: u64) -> u64 {
        let last = width.saturating_sub(self.length);
        if gap >= 0 {
            let step = self.length + gap.unsigned_abs();
            return number % (last / step + 1) * step;
        }
        let back = gap.unsigned_abs();
        let (Some(first), Some(step)) = (width.checked_sub(back), back.checked_sub(self.length))
        else {
            return 0;
        };
        match number.checked_sub(1) {
            None => 0,
            Some(number) if step > 0 => first - number % (first / step + 1) * step,
            Some(_) => first,
        }
    }
}
