//! From the laws of a generator to operations: tables made once, draws by index afterwards.
use crate::random::{Draws, Purpose, share_limit};
use plan::{
    AddressOrder, AlignRule, BoundRegion, Generator, HitArea, LocalStop, Operation, PerDirection,
    RandomLaw, SequentialEnd, SequentialStart, TargetOrder, TransferSizes,
};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const ENDED: u64 = u64::MAX;

/// One operation as drawn: the target by its place in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Drawn {
    pub operation: Operation,
    pub place: u32,
    pub offset: u64,
    pub length: u32,
}

/// The laws of one stream, compiled, with the positions that its operations share.
#[derive(Debug)]
pub(crate) struct Drawer {
    read_limit: u64,
    /// Reads and writes together; what is above is a trim.
    write_limit: u64,
    sizes: PerDirection<Sizes>,
    order: Order,
    align: AlignRule,
    hits: Option<Hits>,
    regions: Vec<Area>,
    stop: LocalStop,
    bytes_left: AtomicU64,
    draws: DrawSet,
    plain: Option<Plain>,
}

/// The everyday case with everything computed that does not change: one target, one size,
/// uniform addresses.
#[derive(Clone, Copy, Debug)]
struct Plain {
    low: u64,
    length: u32,
    unit: u64,
    blocks: u64,
}

#[derive(Clone, Copy, Debug)]
struct DrawSet {
    operation: Draws,
    size: Draws,
    seek: Draws,
    hit: Draws,
    address: Draws,
}

#[derive(Clone, Debug)]
enum Sizes {
    Fixed(u32),
    /// Upper limits of 64 random bits with their sizes, ascending.
    Table(Vec<(u64, u32)>),
    Uniform {
        min: u64,
        step: u64,
        steps: u64,
    },
}

#[derive(Clone, Copy, Debug)]
struct Hits {
    bytes: u64,
    read_limit: u64,
    write_limit: u64,
}

#[derive(Clone, Copy, Debug)]
enum Order {
    Random(Law),
    Sequential { stops: bool },
    Mixed { seek_limit: u64, law: Law },
    Stride { seek_limit: u64, min: u64, max: u64 },
}

#[derive(Clone, Copy, Debug)]
enum Law {
    Uniform,
    Poisson { midpoint: f64 },
}

/// A region with the cursor of its stream: relative to `low`, or [`ENDED`].
#[derive(Debug)]
struct Area {
    region: BoundRegion,
    cursor: AtomicU64,
}

/// The name of what this build cannot generate yet, if anything.
pub(crate) fn unsupported(generator: &Generator, order: TargetOrder) -> Option<&'static str> {
    match order {
        TargetOrder::RoundRobin => {}
        TargetOrder::OneAfterTheOther => return Some("targets one after the other"),
        TargetOrder::Random => return Some("targets in random order"),
        TargetOrder::EndToEnd => return Some("targets as one address space"),
    }
    let law = match &generator.order {
        AddressOrder::Random(law) | AddressOrder::Mixed { law, .. } => law,
        AddressOrder::Slices { .. } => return Some("several sequential streams in slices"),
        AddressOrder::Sequential { .. } | AddressOrder::Stride { .. } => return None,
    };
    match law {
        RandomLaw::Uniform | RandomLaw::Poisson { .. } => None,
        RandomLaw::HotBand => Some("hot bands"),
        RandomLaw::Zipf { .. } | RandomLaw::Pareto { .. } | RandomLaw::Normal { .. } => {
            Some("zipf, pareto and normal addresses")
        }
        RandomLaw::Zoned(_) | RandomLaw::ZonedBytes(_) => Some("zoned addresses"),
        RandomLaw::OncePerBlock => Some("a random map (each block once)"),
    }
}

impl Drawer {
    /// Compiles a supported generator; `seed` is of the execution, the run and the stream.
    pub(crate) fn new(
        generator: &Generator,
        regions: &[BoundRegion],
        stop: LocalStop,
        seed: (u64, u64, u64),
    ) -> Self {
        let draws = |purpose| Draws::new(seed.0, seed.1, seed.2, purpose);
        let start = draws(Purpose::Start);
        let areas = regions.iter().enumerate().map(|(place, region)| Area {
            region: *region,
            cursor: AtomicU64::new(first_position(generator, region, start.at(place as u64))),
        });
        let plain = Plain::of(generator, regions, stop);
        let read_limit = share_limit(generator.operations.read_pct);
        let both = generator.operations.read_pct + generator.operations.write_pct;
        Self {
            read_limit,
            write_limit: share_limit(both),
            sizes: PerDirection {
                read: Sizes::new(&generator.transfer.read),
                write: Sizes::new(&generator.transfer.write),
                trim: Sizes::new(&generator.transfer.trim),
            },
            order: Order::new(&generator.order),
            align: generator.align,
            hits: generator.hits.map(Hits::new),
            regions: areas.collect(),
            stop,
            bytes_left: AtomicU64::new(stop.bytes.unwrap_or(u64::MAX)),
            draws: DrawSet {
                operation: draws(Purpose::Operation),
                size: draws(Purpose::Size),
                seek: draws(Purpose::Seek),
                hit: draws(Purpose::Hit),
                address: draws(Purpose::Address),
            },
            plain,
        }
    }

    /// Whether the stream ends by itself.
    pub(crate) fn ends(&self) -> bool {
        matches!(self.order, Order::Sequential { stops: true })
            || self.stop.bytes.is_some()
            || self.stop.operations.is_some()
    }

    /// How many operations the stream has at most.
    pub(crate) fn operations_limit(&self) -> u64 {
        self.stop.operations.unwrap_or(u64::MAX)
    }

    /// Operation number `index` of the stream; `None` when the stream is at its end.
    #[cfg(test)]
    pub(crate) fn draw(&self, index: u64) -> Option<Drawn> {
        self.draw_as(index, None)
    }

    /// The same, with the operation given rather than drawn where the arrival asks for one.
    #[inline]
    pub(crate) fn draw_as(&self, index: u64, given: Option<Operation>) -> Option<Drawn> {
        if self.stop.operations.is_some_and(|limit| index >= limit) {
            return None;
        }
        let operation = given.unwrap_or_else(|| self.operation(index));
        if let Some(plain) = &self.plain {
            let block = self.draws.address.below(index, plain.blocks);
            let offset = plain.low + block * plain.unit;
            return Some(Drawn {
                operation,
                place: 0,
                offset,
                length: plain.length,
            });
        }
        let length = match operation {
            Operation::Read => self.sizes.read.draw(self.draws.size, index),
            Operation::Write => self.sizes.write.draw(self.draws.size, index),
            _ => self.sizes.trim.draw(self.draws.size, index),
        };
        let (place, relative, mut length) = self.place(operation, index, length)?;
        // After the end of the region may have cut it.
        if self.stop.bytes.is_some() {
            length = self.take_bytes(length)?;
        }
        let area = &self.regions[place];
        let mut offset = area.region.low + relative;
        if let Some(end) = area.region.wrap_at {
            if offset >= end {
                offset -= end;
            } else if offset + u64::from(length) > end {
                offset = 0;
            }
        }
        Some(Drawn {
            operation,
            place: place as u32,
            offset,
            length,
        })
    }

    /// The target whose turn it is, or the next one that is not at its end, and where in it.
    #[inline]
    fn place(&self, operation: Operation, index: u64, length: u32) -> Option<(usize, u64, u32)> {
        let places = self.regions.len();
        let first = match places {
            1 => 0,
            _ => (index % places as u64) as usize,
        };
        (first..places).chain(0..first).find_map(|place| {
            let (relative, length) =
                self.position(operation, &self.regions[place], index, length)?;
            Some((place, relative, length))
        })
    }

    #[inline]
    fn operation(&self, index: u64) -> Operation {
        if self.read_limit == u64::MAX {
            return Operation::Read;
        }
        let draw = self.draws.operation.at(index);
        if draw < self.read_limit {
            Operation::Read
        } else if draw < self.write_limit || self.write_limit == u64::MAX {
            Operation::Write
        } else {
            Operation::Trim
        }
    }

    fn take_bytes(&self, length: u32) -> Option<u32> {
        let take = |left: u64| (left > 0).then(|| left.saturating_sub(u64::from(length)));
        let before = self.bytes_left.fetch_update(Relaxed, Relaxed, take).ok()?;
        Some(length.min(before.min(u64::from(u32::MAX)) as u32))
    }

    #[inline]
    fn position(
        &self,
        operation: Operation,
        area: &Area,
        index: u64,
        length: u32,
    ) -> Option<(u64, u32)> {
        let size = u64::from(length);
        match self.order {
            Order::Random(law) => {
                let (low, width) = self.hit_or_miss(operation, area, index);
                Some((low + self.random(law, width, index, size), length))
            }
            Order::Sequential { stops } => area.next(size, stops),
            Order::Mixed { seek_limit, law } => {
                if self.draws.seek.at(index) >= seek_limit {
                    return area.next(size, false);
                }
                let (low, width) = self.hit_or_miss(operation, area, index);
                let relative = low + self.random(law, width, index, size);
                area.cursor.store(relative + size, Relaxed);
                Some((relative, length))
            }
            Order::Stride {
                seek_limit,
                min,
                max,
            } => {
                if self.draws.seek.at(index) >= seek_limit {
                    return area.next(size, false);
                }
                let choices = (max - min) / size;
                let extra = if choices == 0 {
                    0
                } else {
                    self.draws.address.below(index, choices) * size
                };
                let relative = area.skip(min + extra, size);
                Some((relative, length))
            }
        }
    }

    /// The part of the region that the operation goes to, relative to its start.
    #[inline]
    fn hit_or_miss(&self, operation: Operation, area: &Area, index: u64) -> (u64, u64) {
        let width = area.region.width;
        let Some(hits) = self.hits else {
            return (0, width);
        };
        let limit = if operation == Operation::Read {
            hits.read_limit
        } else {
            hits.write_limit
        };
        let area_bytes = hits.bytes.min(width / 2);
        if limit == u64::MAX || self.draws.hit.at(index) < limit {
            (0, area_bytes)
        } else {
            (area_bytes, width - area_bytes)
        }
    }

    /// An address within `width` bytes, aligned, with room for `size` bytes behind it.
    #[inline]
    fn random(&self, law: Law, width: u64, index: u64, size: u64) -> u64 {
        let unit = match self.align {
            AlignRule::Transfer => size,
            AlignRule::Bytes(bytes) => bytes,
        };
        let blocks = (width.saturating_sub(size) / unit + 1).max(1);
        let block = match law {
            Law::Uniform => self.draws.address.below(index, blocks),
            Law::Poisson { midpoint } => {
                let distance = -self.draws.address.unit(index).ln() * blocks as f64 / midpoint;
                distance as u64 % blocks
            }
        };
        block * unit
    }
}

impl Plain {
    fn of(generator: &Generator, regions: &[BoundRegion], stop: LocalStop) -> Option<Self> {
        let transfer = &generator.transfer;
        let AddressOrder::Random(RandomLaw::Uniform) = generator.order else {
            return None;
        };
        let (TransferSizes::Fixed(size), [region]) = (&transfer.read, regions) else {
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
        };
        is_plain.then(|| Self {
            low: region.low,
            length: *size as u32,
            unit,
            blocks: (region.width.saturating_sub(*size) / unit + 1).max(1),
        })
    }
}

impl Area {
    /// The next sequential position and how much fits there.
    #[inline]
    fn next(&self, size: u64, stops: bool) -> Option<(u64, u32)> {
        let width = self.region.width;
        let mut at = self.cursor.load(Relaxed);
        loop {
            if at == ENDED {
                return None;
            }
            if at >= width && stops {
                self.cursor.store(ENDED, Relaxed);
                return None;
            }
            let from = if at >= width { 0 } else { at };
            let length = size.min(width - from);
            match self
                .cursor
                .compare_exchange_weak(at, from + length, Relaxed, Relaxed)
            {
                Ok(_) => return Some((from, length as u32)),
                Err(now) => at = now,
            }
        }
    }

    /// Moves on by `distance` from the end of the previous transfer; back to the start at the end.
    fn skip(&self, distance: u64, size: u64) -> u64 {
        let width = self.region.width;
        let mut at = self.cursor.load(Relaxed);
        loop {
            let to = at.saturating_add(distance);
            let to = if to + size > width { 0 } else { to };
            match self
                .cursor
                .compare_exchange_weak(at, to + size, Relaxed, Relaxed)
            {
                Ok(_) => return to,
                Err(now) => at = now,
            }
        }
    }
}

fn first_position(generator: &Generator, region: &BoundRegion, random: u64) -> u64 {
    match generator.order {
        AddressOrder::Sequential {
            start: SequentialStart::RandomBlock,
            ..
        } => {
            let size = generator.largest_transfer().max(1);
            let blocks = (region.width / size).max(1);
            ((u128::from(random) * u128::from(blocks)) >> 64) as u64 * size
        }
        _ => region.start,
    }
}

impl Sizes {
    fn new(sizes: &TransferSizes) -> Self {
        match sizes {
            TransferSizes::Fixed(bytes) => Sizes::Fixed(*bytes as u32),
            TransferSizes::Uniform { min, max, step } => Sizes::Uniform {
                min: *min,
                step: *step,
                steps: (max - min) / (*step).max(1) + 1,
            },
            TransferSizes::Mix(shares) => {
                let mut sum_pct = 0.0;
                let table = shares.iter().map(|share| {
                    sum_pct += share.pct;
                    (share_limit(sum_pct), share.bytes as u32)
                });
                Sizes::Table(table.collect())
            }
        }
    }

    #[inline]
    fn draw(&self, draws: Draws, index: u64) -> u32 {
        match self {
            Sizes::Fixed(bytes) => *bytes,
            Sizes::Uniform { min, step, steps } => (min + draws.below(index, *steps) * step) as u32,
            Sizes::Table(table) => {
                let draw = draws.at(index);
                let found = table
                    .iter()
                    .find(|(limit, _)| draw < *limit)
                    .or(table.last());
                found.expect("a mix has a size").1
            }
        }
    }
}

impl Order {
    fn new(order: &AddressOrder) -> Self {
        match order {
            AddressOrder::Random(law) => Order::Random(Law::new(law)),
            AddressOrder::Sequential { end, .. } => Order::Sequential {
                stops: *end == SequentialEnd::Stop,
            },
            AddressOrder::Mixed { random_pct, law } => Order::Mixed {
                seek_limit: share_limit(*random_pct),
                law: Law::new(law),
            },
            AddressOrder::Stride {
                min,
                max,
                random_pct,
            } => Order::Stride {
                seek_limit: share_limit(*random_pct),
                min: *min,
                max: *max,
            },
            AddressOrder::Slices { .. } => unreachable!("refused by `unsupported`"),
        }
    }
}

impl Law {
    fn new(law: &RandomLaw) -> Self {
        match law {
            RandomLaw::Uniform => Law::Uniform,
            RandomLaw::Poisson { midpoint } => Law::Poisson {
                midpoint: *midpoint,
            },
            _ => unreachable!("refused by `unsupported`"),
        }
    }
}

impl Hits {
    fn new(area: HitArea) -> Self {
        Self {
            bytes: area.bytes,
            read_limit: share_limit(area.read_hit_pct),
            write_limit: share_limit(area.write_hit_pct),
        }
    }
}

#[cfg(test)]
#[path = "draw_tests.rs"]
mod tests;
