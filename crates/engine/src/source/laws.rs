//! Addresses, sizes and operations by the laws of a generator: tables made once, draws by index afterwards.
use super::grid::Grid;
use super::limits::Limits;
use super::mix::Mix;
use super::pairs::Pairs;
use super::sizes::{Sizes, cut};
use super::space::Space;
use super::steps::{Stepping, Wanted};
use super::visits::Visits;
use super::zones::Zones;
use super::{Ground, hot_band};
use crate::op::{Drawn, direction_of, places};
use crate::own::Own;
use crate::random::{Draws, Purpose, share_limit};
use plan::{
    AddressOrder, AlignRule, BoundRegion, Direction, Generator, Operation, PerDirection, RandomLaw,
    Sequences, SequentialEnd, SequentialStart, StepPattern, Steps, TargetLaw, TargetOrder,
};
use std::sync::atomic::{
    AtomicUsize,
    Ordering::{AcqRel, Acquire},
};

/// The laws of one stream, compiled, with the positions that its operations share.
#[derive(Clone, Debug)]
pub(super) struct Laws {
    mix: Mix,
    sizes: PerDirection<Sizes>,
    /// Of operations that go on behind the one before, where they have their own.
    behind: Option<Sizes>,
    redraws_sizes: bool,
    order: Order,
    sequences: Sequences,
    /// Whether the order has a last operation.
    order_ends: bool,
    align: AlignRule,
    hits: Option<Hits>,
    spaces: Vec<Space>,
    turn: Turn,
    draws: DrawSet,
}

#[derive(Clone, Copy, Debug)]
struct DrawSet {
    size: Draws,
    seek: Draws,
    hit: Draws,
    address: Draws,
    target: Draws,
}

/// Shares of reads and writes that go to the hit area.
#[derive(Clone, Copy, Debug)]
struct Hits {
    read_limit: u64,
    write_limit: u64,
}

#[derive(Clone, Copy, Debug)]
enum Order {
    Random(Law),
    Sequential {
        stops: bool,
    },
    Mixed {
        seek_limits: PerDirection<u64>,
        law: Law,
        /// Of so many operations of a space the first may seek.
        every: u64,
        repeats: bool,
    },
    Stride {
        seek_limit: u64,
        min: u64,
        max: u64,
        grain: u64,
    },
}

#[derive(Clone, Copy, Debug)]
enum Law {
    Uniform,
    Poisson {
        midpoint: f64,
    },
    HotBand,
    /// By the grid of the space.
    Grid,
    /// By that of the direction.
    GridByDirection,
}

/// Which of several targets is next.
#[derive(Clone, Debug)]
enum Turn {
    RoundRobin,
    Random,
    /// So many operations each, in turn or at random.
    Batches {
        operations: u64,
        is_random: bool,
    },
    /// A block of the grid is a target.
    ByLaw(Grid),
    /// By cursors: the one that is read or written now.
    Passes(Own<AtomicUsize>),
    /// By the number of the operation: how many operations a round has up to the end of each.
    Counts(Vec<u64>),
}

/// One operation of a stream before it has an address.
#[derive(Clone, Copy)]
struct Asked {
    operation: Operation,
    index: u64,
    length: u32,
    /// Its number among those of its space, where that follows from the index.
    visit: Option<u64>,
}

impl Asked {
    #[inline]
    fn direction(&self) -> Direction {
        direction_of(self.operation)
    }
}

impl Laws {
    /// Compiles a supported generator; `draws` are of the execution, the run and the stream.
    pub(super) fn new(
        generator: &Generator,
        ground: &Ground<'_>,
        draws: impl Fn(Purpose) -> Draws + Copy,
    ) -> Self {
        let spaces = spaces(generator, ground, draws);
        Self {
            mix: Mix::new(generator, draws),
            sizes: PerDirection {
                read: Sizes::new(&generator.transfer.read),
                write: Sizes::new(&generator.transfer.write),
                trim: Sizes::new(&generator.transfer.trim),
            },
            behind: generator.order.sizes_behind().map(Sizes::new),
            redraws_sizes: generator.redraws_sizes,
            order: Order::new(generator),
            sequences: generator.sequences,
            order_ends: ends(&generator.order),
            align: generator.align,
            hits: generator.hits.map(|area| Hits {
                read_limit: share_limit(area.read_hit_pct),
                write_limit: share_limit(area.write_hit_pct),
            }),
            turn: Turn::new(generator, ground, &spaces, draws),
            spaces,
            draws: DrawSet {
                size: draws(Purpose::Size),
                seek: draws(Purpose::Seek),
                hit: draws(Purpose::Hit),
                address: draws(Purpose::Address),
                target: draws(Purpose::Target),
            },
        }
    }

    /// The same where each place is trimmed and then written.
    pub(super) fn in_pairs(mut self) -> Self {
        for space in &mut self.spaces {
            space.pairs = Some(Pairs::new());
        }
        self
    }

    /// Operation number `index`, given or drawn; `None` when the stream is at its end.
    #[inline]
    pub(super) fn next(
        &self,
        limits: &Limits,
        index: u64,
        given: Option<Operation>,
    ) -> Option<Drawn> {
        let operation = given.unwrap_or_else(|| self.mix.operation(index));
        let length = self.sizes_of(operation).draw(self.draws.size, index);
        let asked = Asked {
            operation,
            index,
            length,
            visit: None,
        };
        let (space, relative, length) = self.place(asked)?;
        // After the end of the region may have cut it.
        let length = limits.take_bytes(length, 1)?;
        let (place, offset) = self.spaces[space].locate(relative);
        Some(Drawn {
            operation,
            place,
            offset,
            length,
        })
    }

    /// An operation whose place follows from its number among those of its space.
    pub(super) fn step(
        &self,
        stepping: &Stepping,
        limits: &Limits,
        index: u64,
        given: Option<Operation>,
    ) -> Option<Drawn> {
        let operation = given.unwrap_or_else(|| self.mix.operation(index));
        let count = self.spaces.len() as u64;
        let (turn, decided, number) = self.turn_of_step(stepping, index)?;
        let space = &self.spaces[turn as usize];
        let operation = decided.unwrap_or(operation);
        // A pair has one place and one size.
        let (sizes, direction) = match operation {
            Operation::Read => (&self.sizes.read, Direction::Read),
            Operation::Write if decided.is_none() => (&self.sizes.write, Direction::Write),
            _ => (&self.sizes.trim, Direction::Trim),
        };
        let draw = match decided {
            Some(_) => number * count + turn,
            None => index,
        };
        // Both of a pair, and all of a zone, go on together.
        let track = match decided {
            None if space.zones.is_none() => self.track(direction),
            _ => 0,
        };
        let wanted = Wanted {
            number,
            direction,
            track,
            sizes,
            draw,
        };
        let (relative, length) = match &space.pairs {
            Some(pairs) => pairs.place(wanted.number, || {
                let (relative, length) = stepping.place(space, wanted);
                // Both of a pair are done, or none.
                (relative, limits.take_bytes(length, 2).unwrap_or(0))
            }),
            None => {
                let (relative, length) = stepping.place(space, wanted);
                (relative, limits.take_bytes(length, 1)?)
            }
        };
        if length == 0 {
            return None;
        }
        let (relative, length) = space.settle(relative, length);
        let (place, offset) = space.locate(relative);
        Some(Drawn {
            operation,
            place,
            offset,
            length,
        })
    }

    /// The space of an operation, what the steps decide that it does, and its number there.
    fn turn_of_step(
        &self,
        stepping: &Stepping,
        index: u64,
    ) -> Option<(u64, Option<Operation>, u64)> {
        let count = self.spaces.len() as u64;
        Some(match self.turn {
            // Each target has its first of a pair before any has its second.
            Turn::RoundRobin => {
                let (decided, number) = stepping.step(index / count);
                (index % count, decided, number)
            }
            _ => {
                let is_counted = matches!(self.turn, Turn::Counts(_));
                let chosen = match stepping.is_paired() && !is_counted {
                    true => index / 2,
                    false => index,
                };
                let (turn, _) = self.choose(chosen)?;
                let (decided, number) = stepping.step(self.spaces[turn].step());
                (turn as u64, decided, number)
            }
        })
    }

    /// The space whose turn it is, or the next one that is not at its end, and where in it.
    #[inline]
    fn place(&self, mut asked: Asked) -> Option<(usize, u64, u32)> {
        if let Turn::Passes(current) = &self.turn {
            return self.in_passes(current, asked);
        }
        let count = self.spaces.len();
        let (first, visit) = self.choose(asked.index)?;
        asked.visit = visit;
        (first..count).chain(0..first).find_map(|place| {
            let (relative, length) = self.position(&self.spaces[place], asked)?;
            Some((place, relative, length))
        })
    }

    /// The space whose turn it is, and the number of the operation among those of that space where the
    /// turn tells.
    #[inline]
    fn choose(&self, index: u64) -> Option<(usize, Option<u64>)> {
        let count = self.spaces.len();
        let place = match &self.turn {
            Turn::RoundRobin if count == 1 => return Some((0, Some(index))),
            Turn::RoundRobin => (index % count as u64) as usize,
            Turn::Random => self.draws.target.below(index, count as u64) as usize,
            Turn::Batches {
                operations,
                is_random,
            } => {
                let batch = index / operations;
                match is_random {
                    true => self.draws.target.below(batch, count as u64) as usize,
                    false => (batch % count as u64) as usize,
                }
            }
            Turn::ByLaw(grid) => {
                let chosen = grid.block(self.draws.target, index, || 0);
                chosen.map_or(0, |place| place as usize)
            }
            // Of passes the cursors tell.
            Turn::Passes(_) => 0,
            Turn::Counts(ends) => {
                let whole = ends.last().copied().unwrap_or(1).max(1);
                let (round, at) = (index / whole, index % whole);
                if round > 0 && self.order_ends {
                    return None;
                }
                let place = ends.partition_point(|end| *end <= at);
                let before = if place == 0 { 0 } else { ends[place - 1] };
                let visit = round * (ends[place] - before) + (at - before);
                return Some((place, Some(visit)));
            }
        };
        Some((place, None))
    }

    /// A pass over one target after the other.
    fn in_passes(&self, current: &AtomicUsize, asked: Asked) -> Option<(usize, u64, u32)> {
        let count = self.spaces.len();
        let stops = self.order_ends;
        for _ in 0..=count {
            let now = current.load(Acquire);
            let space = self.spaces.get(now)?;
            let found = match self.hit(space, asked) {
                Some(hit) => Some(hit),
                None if let Some(map) = &space.map => self.visit_in_pass(map, space, asked),
                None => space.next(self.track(asked.direction()), self.room_rule(asked), true),
            };
            if let Some((relative, length)) = found {
                return Some((now, relative, length));
            }
            let after = if stops { now + 1 } else { (now + 1) % count };
            // Before the others come, and without effect on a pass that is going.
            if let Some(space) = self.spaces.get(after).filter(|_| !stops) {
                space.rewind();
            }
            let _ = current.compare_exchange(now, after, AcqRel, Acquire);
        }
        None
    }

    /// The next visit of a space before all of it is visited.
    fn visit_in_pass(&self, map: &Visits, space: &Space, asked: Asked) -> Option<(u64, u32)> {
        let from = self.draws.address.below(asked.index, map.blocks);
        (!map.is_full())
            .then(|| space.visit_free(map, from, self.room_rule(asked)))
            .flatten()
    }

    /// The sequence that operations of a direction go on with.
    #[inline]
    fn track(&self, direction: Direction) -> usize {
        match self.sequences {
            Sequences::Shared => 0,
            Sequences::ByDirection => direction as usize,
        }
    }

    /// Where in a space, and how much; `None` at its end.
    #[inline]
    fn position(&self, space: &Space, asked: Asked) -> Option<(u64, u32)> {
        if let Some(hit) = self.hit(space, asked) {
            return Some(hit);
        }
        let track = self.track(asked.direction());
        match self.order {
            Order::Random(law) => self.seek(law, space, asked),
            Order::Sequential { stops } => space.next(track, self.room_rule(asked), stops),
            Order::Mixed {
                seek_limits,
                law,
                every,
                repeats,
            } => {
                let limit = match asked.operation {
                    Operation::Read => seek_limits.read,
                    Operation::Write => seek_limits.write,
                    _ => seek_limits.trim,
                };
                let follows = every > 1 && !space.step().is_multiple_of(every);
                if follows || (limit != u64::MAX && self.draws.seek.at(asked.index) >= limit) {
                    let length = match &self.behind {
                        Some(sizes) => sizes.draw(self.draws.size, asked.index),
                        None => asked.length,
                    };
                    if follows && repeats {
                        return Some(space.repeat(track, length));
                    }
                    let (relative, length) = space.next(track, |room| cut(length, room), false)?;
                    if repeats {
                        space.note(track, relative);
                    }
                    return Some((relative, length));
                }
                let sought = Asked {
                    visit: None,
                    ..asked
                };
                let (relative, length) = self.seek(law, space, sought)?;
                space.move_cursor(track, relative + u64::from(length));
                if repeats {
                    space.note(track, relative);
                }
                Some((relative, length))
            }
            Order::Stride {
                seek_limit,
                min,
                max,
                grain,
            } => {
                let is_seek =
                    seek_limit == u64::MAX || self.draws.seek.at(asked.index) < seek_limit;
                if !is_seek {
                    return space.next(track, self.room_rule(asked), false);
                }
                let size = u64::from(asked.length);
                // Multiples of the transfer below the difference, none among them.
                let choices = (max - min).div_ceil(size).max(1);
                let extra = self.draws.address.below(asked.index, choices) * size;
                Some(space.skip(min + extra, grain, asked.length))
            }
        }
    }

    #[inline]
    fn sizes_of(&self, operation: Operation) -> &Sizes {
        match operation {
            Operation::Read => &self.sizes.read,
            Operation::Write => &self.sizes.write,
            _ => &self.sizes.trim,
        }
    }

    /// How long a transfer is that has so much room; zero where none of its sizes has.
    #[inline]
    fn room_rule(&self, asked: Asked) -> impl Fn(u64) -> u32 {
        move |room| {
            if u64::from(asked.length) <= room || !self.redraws_sizes {
                return cut(asked.length, room);
            }
            let sizes = self.sizes_of(asked.operation);
            let drawn = sizes.draw_within(room, self.draws.size, asked.index);
            drawn.unwrap_or(0)
        }
    }

    /// An address in the hit area, for the share of operations that go there.
    #[inline]
    fn hit(&self, space: &Space, asked: Asked) -> Option<(u64, u32)> {
        let hits = self.hits?;
        let limit = match asked.operation {
            Operation::Read => hits.read_limit,
            _ => hits.write_limit,
        };
        let hits = limit == u64::MAX || self.draws.hit.at(asked.index) < limit;
        if !hits || space.first == 0 {
            return None;
        }
        let (unit, blocks) = self.blocks(space.first, asked);
        let relative = self.draws.address.below(asked.index, blocks) * unit;
        Some(space.settle(relative, asked.length))
    }

    /// A random address behind the hit area, aligned, with room for the transfer.
    #[inline]
    fn seek(&self, law: Law, space: &Space, asked: Asked) -> Option<(u64, u32)> {
        let width = space.width - space.first;
        let (unit, blocks) = self.blocks(width, asked);
        let draws = self.draws.address;
        let block = match law {
            Law::Uniform => draws.below(asked.index, blocks),
            Law::Poisson { midpoint } => {
                let distance = -draws.unit(asked.index).ln() * blocks as f64 / midpoint;
                distance as u64 % blocks
            }
            Law::HotBand => {
                let byte = hot_band::byte_at(draws.unit(asked.index)) as u64;
                // So that writes do not all find what reads have just brought in.
                let shift = match asked.operation {
                    Operation::Read => 0,
                    _ => blocks / 100,
                };
                (byte / unit + shift) % blocks
            }
            Law::Grid if let Some(map) = &space.map => {
                let from = draws.below(asked.index, map.blocks);
                return space.visit_free(map, from, self.room_rule(asked));
            }
            Law::Grid => {
                let grid = space.grid.as_ref().expect("compiled with the law");
                return self.seek_on(grid, space, asked);
            }
            Law::GridByDirection => {
                let grids = space.grids.as_ref().expect("compiled with the law");
                return self.seek_on(grids.of(asked.direction()), space, asked);
            }
        };
        Some(space.settle(space.first + block * unit, asked.length))
    }

    #[inline]
    fn seek_on(&self, grid: &Grid, space: &Space, asked: Asked) -> Option<(u64, u32)> {
        // Hits are no visits, so with them the index does not tell.
        let visit = || match asked.visit {
            Some(visit) if self.hits.is_none() => visit,
            _ => space.visit(),
        };
        let at = grid.block(self.draws.address, asked.index, visit)? * grid.unit;
        let room = space.width - space.first - at;
        let room = room.min(u64::from(u32::MAX)) as u32;
        Some(space.settle(space.first + at, asked.length.min(room)))
    }

    /// What addresses of a transfer are multiples of, and how many fit into `width` bytes.
    #[inline]
    fn blocks(&self, width: u64, asked: Asked) -> (u64, u64) {
        let size = u64::from(asked.length);
        let unit = self.align.unit(asked.direction(), size);
        (unit, (width.saturating_sub(size) / unit + 1).max(1))
    }
}

/// Whether an order has a last operation.
pub(super) fn ends(order: &AddressOrder) -> bool {
    match order {
        AddressOrder::Sequential { end, .. } => *end == SequentialEnd::Stop,
        AddressOrder::Random(law) | AddressOrder::Mixed { law, .. } => {
            *law == RandomLaw::OncePerBlock(SequentialEnd::Stop)
        }
        AddressOrder::Stride { .. } | AddressOrder::Stepped(_) => false,
        AddressOrder::AsRecorded | AddressOrder::Listed(_) | AddressOrder::Rehearsed(_) => true,
    }
}

/// One space per target, or one over all of them.
fn spaces(
    generator: &Generator,
    ground: &Ground<'_>,
    draws: impl Fn(Purpose) -> Draws,
) -> Vec<Space> {
    let places = places(ground.targets);
    let mut spaces: Vec<Space> = match ground.order {
        TargetOrder::EndToEnd => vec![Space::new(ground.regions, &places)],
        _ => {
            let each = ground.regions.iter();
            each.map(|region| Space::new(std::slice::from_ref(region), &places))
                .collect()
        }
    };
    let align = match generator.align {
        AlignRule::Transfer | AlignRule::ByDirection(_) => None,
        AlignRule::Bytes(bytes) => Some(bytes),
    };
    let (largest, smallest) = (generator.largest_transfer(), generator.smallest_transfer());
    for (number, space) in spaces.iter_mut().enumerate() {
        if let Some(hits) = generator.hits {
            space.set_hit_area(hits.bytes, largest.max(align.unwrap_or(1)).max(1));
        }
        match &generator.order {
            AddressOrder::Sequential {
                start: SequentialStart::RandomBlock,
                ..
            } => {
                let blocks = ((space.width - space.first) / largest.max(1)).max(1);
                let block = draws(Purpose::Start).below(number as u64, blocks);
                space.move_cursor(0, space.first + block * largest);
            }
            AddressOrder::Stepped(steps) if matches!(steps.pattern, StepPattern::Zones { .. }) => {
                space.zones = Zones::new(&steps.pattern, generator, space.width, &draws);
            }
            AddressOrder::Random(law)
            | AddressOrder::Mixed { law, .. }
            | AddressOrder::Stepped(Steps {
                pattern: StepPattern::Bursts { law, .. },
                ..
            }) => {
                let width = space.width - space.first;
                let unit = align.unwrap_or(smallest);
                // A law of its own for each target, but the same in each execution.
                let of_space = |purpose| draws(purpose).part(number as u64);
                if let AlignRule::ByDirection(units) = generator.align {
                    space.grids = grids(law, width, &units, smallest, of_space);
                } else {
                    space.grid = Grid::new(law, width, unit, smallest, of_space);
                    space.map = map(generator, space, unit);
                }
            }
            _ => {}
        }
    }
    spaces
}

/// The law over blocks of each direction's own size.
fn grids(
    law: &RandomLaw,
    width: u64,
    units: &PerDirection<u64>,
    smallest: u64,
    draws: impl Fn(Purpose) -> Draws + Copy,
) -> Option<Box<PerDirection<Grid>>> {
    let grid = |unit| Grid::new(law, width, unit, smallest, draws);
    Some(Box::new(PerDirection {
        read: grid(units.read)?,
        write: grid(units.write)?,
        trim: grid(units.trim)?,
    }))
}

/// The visits of a space, where places are random, each block once, by transfers that are longer than a block.
fn map(generator: &Generator, space: &Space, unit: u64) -> Option<Visits> {
    let law = match &generator.order {
        AddressOrder::Random(law) | AddressOrder::Mixed { law, .. } => law,
        AddressOrder::Stepped(steps) => steps.paired_seeks()?,
        _ => return None,
    };
    let RandomLaw::OncePerBlock(end) = law else {
        return None;
    };
    let has_one_size = generator.largest_transfer() <= unit;
    let blocks = space.grid.as_ref().map_or(1, Grid::blocks);
    (!has_one_size).then(|| Visits::new(blocks, unit, *end == SequentialEnd::Stop))
}

impl Order {
    fn new(generator: &Generator) -> Self {
        match &generator.order {
            AddressOrder::Random(law) => Order::Random(Law::new(law, generator.align)),
            AddressOrder::Sequential { end, .. } => Order::Sequential {
                stops: *end == SequentialEnd::Stop,
            },
            // The number of the operation decides, and this is never asked.
            AddressOrder::Stepped(_) => Order::Sequential { stops: false },
            AddressOrder::AsRecorded | AddressOrder::Listed(_) | AddressOrder::Rehearsed(_) => {
                Order::Sequential { stops: true }
            }
            AddressOrder::Mixed {
                random_pct,
                law,
                following,
            } => Order::Mixed {
                seek_limits: PerDirection {
                    read: share_limit(random_pct.read),
                    write: share_limit(random_pct.write),
                    trim: share_limit(random_pct.trim),
                },
                law: Law::new(law, generator.align),
                every: following.every,
                repeats: following.repeats,
            },
            AddressOrder::Stride {
                min,
                max,
                random_pct,
            } => Order::Stride {
                seek_limit: share_limit(*random_pct),
                min: *min,
                max: *max,
                grain: generator.grain_bytes().max(1),
            },
        }
    }
}

impl Law {
    fn new(law: &RandomLaw, align: AlignRule) -> Self {
        match law {
            RandomLaw::Uniform => Law::Uniform,
            RandomLaw::Poisson { midpoint } => Law::Poisson {
                midpoint: *midpoint,
            },
            RandomLaw::HotBand => Law::HotBand,
            _ if matches!(align, AlignRule::ByDirection(_)) => Law::GridByDirection,
            _ => Law::Grid,
        }
    }
}

/// The law of blocks that stand for targets.
fn law_of_ranks(law: TargetLaw) -> RandomLaw {
    let center_pct = Some(0.0);
    match law {
        TargetLaw::Zipf { theta } => RandomLaw::Zipf { theta, center_pct },
        TargetLaw::Pareto { power } => RandomLaw::Pareto { power, center_pct },
        TargetLaw::Normal { deviation_pct } => RandomLaw::Normal {
            deviation_pct,
            center_pct: None,
        },
    }
}

impl Turn {
    fn new(
        generator: &Generator,
        ground: &Ground<'_>,
        spaces: &[Space],
        draws: impl Fn(Purpose) -> Draws,
    ) -> Self {
        match ground.order {
            TargetOrder::ByLaw(law) if spaces.len() > 1 => {
                let law = law_of_ranks(law);
                let grid = Grid::new(&law, spaces.len() as u64, 1, 1, draws);
                grid.map_or(Turn::RoundRobin, Turn::ByLaw)
            }
            TargetOrder::Random if spaces.len() > 1 => Turn::Random,
            TargetOrder::Batches {
                operations,
                is_random,
            } if spaces.len() > 1 => Turn::Batches {
                operations: operations.max(1),
                is_random,
            },
            TargetOrder::OneAfterTheOther if spaces.len() > 1 => {
                let has_passes = match &generator.order {
                    AddressOrder::Sequential { .. } => true,
                    AddressOrder::Random(_) => spaces.iter().all(|space| space.map.is_some()),
                    _ => false,
                };
                if has_passes {
                    return Turn::Passes(Own::<AtomicUsize>::new(0));
                }
                let mean = generator.mean_transfer().max(1.0);
                let operations = |space: &Space, region: Option<&BoundRegion>| match (
                    &space.grid,
                    region.and_then(|of| generator.transfers_of(of)),
                ) {
                    (Some(grid), _) => grid.blocks(),
                    (None, Some(transfers)) => transfers,
                    (None, None) => (space.width as f64 / mean) as u64,
                };
                let times = match &generator.order {
                    AddressOrder::Stepped(steps) if steps.trims_first => 2,
                    _ => 1,
                };
                let mut sum = 0;
                let mut regions = ground.regions.iter();
                let end = |space| {
                    sum += operations(space, regions.next()).max(1) * times;
                    sum
                };
                Turn::Counts(spaces.iter().map(end).collect())
            }
            _ => Turn::RoundRobin,
        }
    }
}
