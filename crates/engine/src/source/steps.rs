//! Addresses that follow from the number of the operation: sequences with gaps, bursts from random
//! places, and steps from zone to zone. Where transfers have several sizes, they follow from what was
//! transferred before.
use super::sizes::{Sizes, cut};
use super::space::Space;
use super::zones::{SeekRule, Step};
use crate::random::{Draws, Purpose};
use plan::{AlignRule, Direction, Generator, Operation, Sequences, StepPattern, Steps};

/// The steps of one stream over spaces of any width.
#[derive(Clone, Debug)]
pub(super) struct Stepping {
    pattern: StepPattern,
    trims_first: bool,
    sequences: Sequences,
    /// Of the largest transfer, and of the smallest.
    length: u64,
    smallest: u64,
    /// What random places are multiples of.
    unit: u64,
    /// Of transfers that go on behind the one before, where they have their own.
    behind: Option<Sizes>,
    /// Which of random places are taken anew, where it is not the first of each burst.
    seeks: Option<SeekRule>,
    sizes: Draws,
    addresses: Draws,
}

/// One operation that is to get a place and a length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    /// Of its place among those of its space.
    pub number: u64,
    pub direction: Direction,
    /// The sequence that it goes on with.
    pub track: usize,
    pub sizes: &'a Sizes,
    /// Of the draw of its size.
    pub draw: u64,
}

impl Stepping {
    pub(super) fn new(
        steps: &Steps,
        generator: &Generator,
        draws: impl Fn(Purpose) -> Draws,
    ) -> Self {
        let smallest = generator.smallest_transfer().max(1);
        Self {
            pattern: steps.pattern.clone(),
            trims_first: steps.trims_first,
            sequences: generator.sequences,
            length: generator.largest_transfer().max(1),
            smallest,
            unit: match generator.align {
                AlignRule::Bytes(bytes) => bytes.max(1),
                AlignRule::ByDirection(units) => units.trim.max(1),
                AlignRule::Transfer => smallest,
            },
            behind: generator.order.sizes_behind().map(Sizes::new),
            seeks: match &steps.pattern {
                StepPattern::Bursts { seeks, .. } => {
                    seeks.as_ref().map(|seeks| SeekRule::new(seeks, &draws))
                }
                _ => None,
            },
            sizes: draws(Purpose::Size),
            addresses: draws(Purpose::Address),
        }
    }

    /// Whether each place is trimmed and then written.
    pub(super) fn is_paired(&self) -> bool {
        self.trims_first
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

    /// Where an operation lies in a space, and how much it moves: nothing where each block is visited once and all of
    /// them are.
    pub(super) fn place(&self, space: &Space, wanted: Wanted<'_>) -> (u64, u32) {
        let number = wanted.number;
        let length = |goes_on| match &self.behind {
            Some(sizes) if goes_on => sizes.draw(self.sizes, wanted.draw),
            _ => wanted.sizes.draw(self.sizes, wanted.draw),
        };
        let step = Step {
            number,
            // Whichever of a pair looks for its place.
            direction: match self.trims_first {
                true => Direction::Trim,
                false => wanted.direction,
            },
        };
        let is_even = self.length == self.smallest;
        let at = match (&self.pattern, &space.zones) {
            (_, Some(zones)) if zones.is_even() => zones.place(step),
            (_, Some(zones)) => return zones.advance(space.track(), step, length),
            (StepPattern::Gap { bytes, .. }, _)
                if is_even && self.sequences == Sequences::Shared =>
            {
                self.with_gap(*bytes, space.width, number)
            }
            (StepPattern::Gap { bytes, .. }, _) => {
                return space.step_by(wanted.track, *bytes, self.smallest, length(true));
            }
            (StepPattern::Bursts { .. }, _) if let Some(map) = &space.map => {
                let from = self.addresses.below(number, map.blocks);
                let found = space.visit_free(map, from, |room| cut(length(false), room));
                return found.unwrap_or((0, 0));
            }
            (StepPattern::Bursts { .. }, _) if self.seeks.is_some() => {
                return self.seek_or_follow(space, wanted.track, step, length);
            }
            (
                StepPattern::Bursts {
                    operations,
                    repeats,
                    ..
                },
                _,
            ) => {
                let (burst, within) = (number / operations, number % operations);
                if within > 0 && !repeats && !is_even {
                    let next = space.next(wanted.track, |room| cut(length(true), room), false);
                    return next.expect("a sequence without an end");
                }
                let start = self.seek(space, burst);
                let at = if *repeats {
                    start
                } else {
                    self.behind(space, start, within)
                };
                let room = space.width - at;
                space.move_cursor(wanted.track, at + u64::from(length(false)).min(room));
                at
            }
            (StepPattern::Zones { .. }, None) => 0,
        };
        let room = (space.width - at).min(u64::from(u32::MAX)) as u32;
        (at, length(false).min(room))
    }

    /// A random place, or one behind the transfer before, as the rule says.
    fn seek_or_follow(
        &self,
        space: &Space,
        track: usize,
        step: Step,
        length: impl Fn(bool) -> u32,
    ) -> (u64, u32) {
        let rule = self.seeks.as_ref().expect("the caller looked");
        let (at, moved) = match rule.follows(step) {
            Some(true) => return space.repeat(track, length(true)),
            Some(false) => {
                let next = space.next(track, |room| cut(length(true), room), false);
                next.expect("a sequence without an end")
            }
            None => {
                let at = self.seek(space, space.visit());
                let room = (space.width - at).min(u64::from(u32::MAX)) as u32;
                let moved = length(false).min(room);
                space.move_cursor(track, at + u64::from(moved));
                (at, moved)
            }
        };
        space.note(track, at);
        (at, moved)
    }

    /// So many transfers behind a place, from the start on behind the end.
    fn behind(&self, space: &Space, start: u64, transfers: u64) -> u64 {
        let last = space.width.saturating_sub(self.length);
        let at = start + transfers * self.length;
        if transfers == 0 || at <= last {
            return at;
        }
        at % (((last / self.length).max(1) + 1) * self.length)
    }

    fn seek(&self, space: &Space, number: u64) -> u64 {
        let grids = space.grids.as_ref().map(|grids| &grids.trim);
        match space.grid.as_ref().or(grids) {
            Some(grid) => {
                let block = grid.block(self.addresses, number, || number);
                block.unwrap_or(0) * grid.unit
            }
            None => {
                let blocks = space.width.saturating_sub(self.smallest) / self.unit + 1;
                self.addresses.below(number, blocks) * self.unit
            }
        }
    }

    /// From the start, each so many bytes behind the end of the one before; at the end it begins anew.
    /// With a gap below zero that is longer than a transfer from the end to the start, behind one at
    /// the start.
    fn with_gap(&self, gap: i64, width: u64, number: u64) -> u64 {
        let last = width.saturating_sub(self.length);
        if let Some(step) = self.length.checked_add_signed(gap) {
            return match step {
                0 => 0,
                step => number % (last / step + 1) * step,
            };
        }
        let back = gap.unsigned_abs();
        let (Some(first), step) = (width.checked_sub(back), back - self.length) else {
            return 0;
        };
        match number.checked_sub(1) {
            None => 0,
            Some(number) => first - number % (first / step + 1) * step,
        }
    }
}
