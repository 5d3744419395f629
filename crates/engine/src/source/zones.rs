//! Steps from zone to zone within one space. Where all transfers are alike, places follow from the
//! number of the operation; where they are not, from what was transferred before.
use super::grid::Grid;
use super::permutation::Permutation;
use super::sizes::cut;
use super::track::Track;
use super::visits::Visits;
use crate::own::Own;
use crate::random::{Draws, Purpose, share_limit};
use plan::{
    AlignRule, Direction, Generator, PerDirection, Seeks, StepPattern, ZoneOrder, ZoneSpan,
};
use std::sync::atomic::{
    AtomicU64,
    Ordering::{AcqRel, Acquire},
};

/// A map is of one visit, and workers that lag behind by one still write into theirs.
const MAPS: u64 = 3;

/// The zones of one space.
#[derive(Clone, Debug)]
pub(super) struct Zones {
    width: u64,
    used: u64,
    zone: u64,
    period: u64,
    count: u64,
    largest: u64,
    smallest: u64,
    /// What random places are multiples of.
    units: PerDirection<u64>,
    order: Order,
    /// Of transfers that are alike, in order.
    span: ZoneSpan,
    seeks: Option<SeekRule>,
    draws: Draws,
    keys: Draws,
    /// How many zones were visited, and how many bytes of this one, as one number; where transfers
    /// are alike it stays at zero.
    progress: Own<AtomicU64>,
    maps: Vec<Visits>,
}

#[derive(Clone, Debug)]
enum Order {
    Sequential,
    Random,
    EachOnce,
    /// Over whole zones, and over the last one, which may be shorter.
    ByLaw(Box<PerDirection<[Grid; 2]>>),
}

/// Which operations at random places take a new one.
#[derive(Clone, Debug)]
pub(super) struct SeekRule {
    limits: PerDirection<u64>,
    every: u64,
    repeats: bool,
    draws: Draws,
}

/// One operation that is to get a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// Among those of its space.
    pub number: u64,
    pub direction: Direction,
}

/// The zone of a visit.
#[derive(Clone, Copy, Debug)]
struct Zone {
    visit: u64,
    start: u64,
    room: u64,
}

impl Zones {
    /// `None` where the pattern has no zones.
    pub(super) fn new(
        pattern: &StepPattern,
        generator: &Generator,
        width: u64,
        draws: impl Fn(Purpose) -> Draws,
    ) -> Option<Self> {
        let StepPattern::Zones {
            used_bytes,
            zone_bytes,
            skip_bytes,
            order,
            seeks,
        } = pattern
        else {
            return None;
        };
        let smallest = generator.smallest_transfer().max(1);
        let needed = (*used_bytes.min(zone_bytes)).min(width);
        let period = (zone_bytes + skip_bytes).max(1);
        let mut zones = Self {
            width,
            used: (*used_bytes).max(1),
            zone: *zone_bytes,
            period,
            count: (width - needed) / period + 1,
            largest: generator.largest_transfer().max(1),
            smallest,
            units: match generator.align {
                AlignRule::Transfer => PerDirection::all(smallest),
                AlignRule::Bytes(bytes) => PerDirection::all(bytes.max(1)),
                AlignRule::ByDirection(units) => units,
            },
            order: Order::Sequential,
            span: ZoneSpan::of([*used_bytes, *zone_bytes, *skip_bytes], smallest, width),
            seeks: seeks.as_ref().map(|seeks| SeekRule::new(seeks, &draws)),
            draws: draws(Purpose::Address),
            keys: draws(Purpose::Pass),
            progress: Own::<AtomicU64>::new(0),
            maps: Vec::new(),
        };
        zones.order = zones.compiled(order, &draws)?;
        if matches!(zones.order, Order::EachOnce) && !zones.is_even() {
            let unit = zones.units.read;
            let maps = (0..MAPS).map(|_| Visits::new(zones.blocks(zones.zone, unit), unit, true));
            zones.maps = maps.collect();
            (0..MAPS).for_each(|visit| zones.prepare(visit));
        }
        Some(zones)
    }

    fn compiled(&self, order: &ZoneOrder, draws: impl Fn(Purpose) -> Draws) -> Option<Order> {
        Some(match order {
            ZoneOrder::Sequential => Order::Sequential,
            ZoneOrder::Random => Order::Random,
            ZoneOrder::EachOnce => Order::EachOnce,
            ZoneOrder::ByLaw(law) => {
                let last = self.at(self.count - 1).room;
                let grid = |width, unit| Grid::new(law, width, unit, self.smallest, &draws);
                let grids =
                    |unit| Some([grid(self.zone.min(self.width), unit)?, grid(last, unit)?]);
                Order::ByLaw(Box::new(PerDirection {
                    read: grids(self.units.read)?,
                    write: grids(self.units.write)?,
                    trim: grids(self.units.trim)?,
                }))
            }
        })
    }

    /// Whether places follow from the number of the operation alone.
    pub(super) fn is_even(&self) -> bool {
        self.largest == self.smallest && self.seeks.is_none()
    }

    fn at(&self, visit: u64) -> Zone {
        let start = visit % self.count * self.period;
        Zone {
            visit,
            start,
            room: self.zone.min(self.width.saturating_sub(start)),
        }
    }

    /// Places in so many bytes.
    fn blocks(&self, bytes: u64, unit: u64) -> u64 {
        bytes.saturating_sub(self.smallest) / unit + 1
    }

    /// Where an operation lies, of transfers that are alike.
    pub(super) fn place(&self, step: Step) -> u64 {
        if matches!(self.order, Order::Sequential) {
            return self.in_order(step.number);
        }
        let in_zone = self.used.div_ceil(self.largest).max(1);
        let (zone, within) = (self.at(step.number / in_zone), step.number % in_zone);
        self.random(zone, within, step)
    }

    /// The last of a zone may reach beyond it; more than it holds goes over it again.
    fn in_order(&self, number: u64) -> u64 {
        let ZoneSpan {
            count,
            in_zone,
            rest,
        } = self.span;
        let number = number % (count * in_zone + rest.unwrap_or(0));
        let (zone, within) = (number / in_zone, number % in_zone);
        let round = self.zone.div_ceil(self.largest).max(1);
        let within = match self.used > self.zone {
            true => within % round,
            false => within,
        };
        zone * self.period + within * self.largest
    }

    fn random(&self, zone: Zone, within: u64, step: Step) -> u64 {
        let unit = *self.units.of(step.direction);
        let blocks = self.blocks(zone.room, unit);
        let block = match &self.order {
            Order::ByLaw(grids) => {
                let last = zone.room < self.zone.min(self.width);
                let grid = &grids.of(step.direction)[usize::from(last)];
                let block = grid.block(self.draws, step.number, || step.number);
                block.unwrap_or(0)
            }
            Order::EachOnce => {
                let (pass, at) = (within / blocks, within % blocks);
                Permutation::new(blocks).of(at, self.keys.part(zone.visit).at(pass))
            }
            Order::Sequential | Order::Random => self.draws.below(step.number, blocks),
        };
        zone.start + block * unit
    }

    /// Where an operation lies and how much it moves, by what was moved before it on this track; `length` is asked
    /// with whether it goes on behind the one before.
    pub(super) fn advance(
        &self,
        track: &Track,
        step: Step,
        length: impl Fn(bool) -> u32,
    ) -> (u64, u32) {
        // More than what a visit moves, as the last transfer may go beyond.
        let span = self.used.saturating_add(self.largest);
        loop {
            let before = self.progress.load(Acquire);
            let (zone, done) = (self.at(before / span), before % span);
            let found = match self.order {
                _ if done >= self.used => None,
                Order::Sequential => Some(self.next_in_order(zone, done, length(false))),
                _ => self.next_at_random(track, zone, step, &length),
            };
            let Some((at, moved)) = found else {
                self.leave(before, zone.visit, span);
                continue;
            };
            let after = before + u64::from(moved);
            let taken = self
                .progress
                .compare_exchange(before, after, AcqRel, Acquire);
            match (taken, &self.order) {
                (Ok(_), _) => return (at, moved),
                (Err(_), Order::Sequential) => continue,
                (Err(_), _) => {}
            }
            // What belongs to a zone that others have left counts there no more.
            let add = |now: u64| {
                let is_here = now / span == zone.visit && now % span < self.used;
                is_here.then(|| now + u64::from(moved))
            };
            let _ = self.progress.fetch_update(AcqRel, Acquire, add);
            return (at, moved);
        }
    }

    fn next_in_order(&self, zone: Zone, done: u64, length: u32) -> (u64, u32) {
        let room = zone.room.max(1);
        let at = zone.start + done % room;
        let end = match self.used > self.zone {
            true => zone.start + room,
            false => self.width,
        };
        (at, cut(length, end - at))
    }

    fn next_at_random(
        &self,
        track: &Track,
        zone: Zone,
        step: Step,
        length: impl Fn(bool) -> u32,
    ) -> Option<(u64, u32)> {
        let (at, length) = match self.seeks.as_ref().and_then(|rule| rule.follows(step)) {
            Some(repeats) => {
                let before = if repeats {
                    track.noted()
                } else {
                    track.position()
                };
                let is_inside = (zone.start..zone.start + zone.room).contains(&before);
                let at = if is_inside { before } else { zone.start };
                (at, length(true))
            }
            None => match self.maps.get((zone.visit % MAPS) as usize) {
                Some(map) => {
                    let blocks = self.blocks(zone.room, map.unit);
                    let from = self.draws.below(step.number, blocks);
                    let wanted = u64::from(length(false)).div_ceil(map.unit);
                    let visit = || map.visit(from, |_| wanted);
                    let (block, count) = match visit() {
                        // More than a zone holds goes over it again.
                        None if self.used > self.zone => {
                            self.prepare(zone.visit);
                            visit()?
                        }
                        found => found?,
                    };
                    let room = u32::try_from(count * map.unit).unwrap_or(u32::MAX);
                    (zone.start + block * map.unit, length(false).min(room))
                }
                None => (self.random(zone, 0, step), length(false)),
            },
        };
        let length = cut(length, self.width - at);
        track.move_to(at + u64::from(length));
        track.note(at);
        Some((at, length))
    }

    /// Goes on to the next zone, unless somebody else has.
    fn leave(&self, before: u64, visit: u64, span: u64) {
        let after = (visit + 1).saturating_mul(span);
        let left = self
            .progress
            .compare_exchange(before, after, AcqRel, Acquire);
        if left.is_ok() && !self.maps.is_empty() {
            // The map of the visit before this one.
            self.prepare(visit + MAPS - 1);
        }
    }

    /// Forgets the visits of an earlier zone; what the one to come lacks counts as visited.
    fn prepare(&self, visit: u64) {
        let map = &self.maps[(visit % MAPS) as usize];
        map.reset(self.blocks(self.at(visit).room, map.unit));
    }
}

impl SeekRule {
    pub(super) fn new(seeks: &Seeks, draws: impl Fn(Purpose) -> Draws) -> Self {
        let limits = PerDirection {
            read: share_limit(seeks.random_pct.read),
            write: share_limit(seeks.random_pct.write),
            trim: share_limit(seeks.random_pct.trim),
        };
        Self {
            limits,
            every: seeks.following.every.max(1),
            repeats: seeks.following.repeats,
            draws: draws(Purpose::Seek),
        }
    }

    /// Whether an operation takes no new place, and then whether it repeats the one before.
    pub(super) fn follows(&self, step: Step) -> Option<bool> {
        if !step.number.is_multiple_of(self.every) {
            return Some(self.repeats);
        }
        let limit = *self.limits.of(step.direction);
        let seeks = limit == u64::MAX || self.draws.at(step.number) < limit;
        (!seeks).then_some(false)
    }
}
