//! A stream: a source of operations on targets, through a pool, at a pace.
mod record;

pub use record::{RecordedOperation, RecordedOperations, RecordedPlace, Replay};

use crate::data::DataSpec;
use crate::flow::Flow;
use crate::ids::{PoolId, TargetId};
use crate::operation::{Direction, OperationMix, PerDirection};
use crate::target::{OpenMode, Target};
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// One stream of operations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stream {
    pub name: String,
    pub targets: Vec<TargetId>,
    pub target_order: TargetOrder,
    pub pool: PoolId,
    pub source: OpSource,
    pub pacing: Pacing,
    /// What it does beside the operations that it draws.
    #[serde(default)]
    pub flow: Flow,
    /// Share of the run's load in percent; the shares of the streams without a pace of their own
    /// add up to 100 in a run.
    pub share_pct: f64,
    /// Lower is served first, where the pool admits by priority.
    pub priority: Option<u32>,
    pub data: DataSpec,
    /// Overrides the open mode of the targets.
    pub open: Option<OpenMode>,
    pub stop: LocalStop,
    /// Waits this long after the start of the run.
    pub start_delay: Nanos,
    /// What its draws follow from, where that is not the seed of the execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Its own time, where that is not the time of the run.
    #[serde(default)]
    pub lifetime: Option<Lifetime>,
    /// How reports group it, in the words of the language it came from.
    pub labels: Vec<Label>,
}

impl Stream {
    /// How it opens a target: its own way goes before that of the target.
    pub fn open_mode(&self, target: &Target) -> OpenMode {
        self.open.unwrap_or(target.open)
    }
}

/// The time of a stream within its run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lifetime {
    /// From its begin, and not measured; besides the warm-up of the run.
    pub warmup: Nanos,
    /// In place of `warmup`: what is done until this amount is reached is not measured.
    #[serde(default)]
    pub warmup_bytes: Option<WarmupBytes>,
    /// It ends so long after its warm-up, unless something else has ended it before.
    pub window: Option<Nanos>,
    /// Places of the streams of the run that have to end before it begins; it begins no sooner than
    /// its start delay says.
    pub after: Vec<u32>,
    /// Places of the streams of the run that end as soon as it has ended.
    pub ends: Vec<u32>,
}

impl Stream {
    /// When the clock ends it, since the start of its run in nanoseconds; `None` where something else decides its begin or
    /// its end. Its last syncs come later.
    pub fn clock_end_ns(&self) -> Option<u64> {
        let own = self.lifetime.as_ref()?;
        let begins_by_clock = own.after.is_empty() && own.warmup_bytes.is_none();
        let window = own.window.filter(|_| begins_by_clock)?;
        Some(self.start_delay.0 + own.warmup.0 + window.0)
    }
}

/// An amount with which a warm-up ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarmupBytes {
    /// Read, written and trimmed without an error since the stream began; above zero.
    pub bytes: u64,
    /// What streams of one group do adds up, and they are measured from the same moment: when the
    /// largest of their amounts is reached.
    pub group: Option<u32>,
}

/// Where operations come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpSource {
    /// Drawn from laws.
    Generator(Generator),
    /// Recorded before.
    Replay(Replay),
    /// Visits the objects of a tree.
    Tree {
        operation: crate::Operation,
        selection: String,
    },
    /// Reads back and checks what a ledger knows.
    Verify,
}

/// Operations drawn from laws: what, how much, where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Generator {
    pub operations: OperationMix,
    pub transfer: PerDirection<TransferSizes>,
    pub order: AddressOrder,
    pub region: Region,
    pub align: AlignRule,
    #[serde(default)]
    pub sequences: Sequences,
    pub hits: Option<HitArea>,
    /// Where a transfer of the size that was drawn has no room before the end, another size is drawn that has; where none
    /// has, a sequence goes on elsewhere. Otherwise the transfer ends with what there is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redraws_sizes: bool,
}

/// What an operation goes on behind that does not seek.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sequences {
    /// The operation before, whatever it was.
    #[default]
    Shared,
    /// The last one of its own direction. Zones are gone through together all the same.
    ByDirection,
}

/// Transfer sizes in bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TransferSizes {
    Fixed(u64),
    /// Sizes with their shares in percent, adding up to 100.
    Mix(Vec<SizeShare>),
    /// Uniform over min, min + step, … up to max.
    Uniform {
        min: u64,
        max: u64,
        step: u64,
    },
    /// `min` and what is drawn below `max` on top of it, in whole steps; at most `max`, which so has the share that is left.
    Capped {
        min: u64,
        max: u64,
        step: u64,
    },
}

/// One size of a mix.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeShare {
    pub bytes: u64,
    pub pct: f64,
}

/// The order in which addresses are visited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AddressOrder {
    Random(RandomLaw),
    Sequential {
        start: SequentialStart,
        end: SequentialEnd,
    },
    /// A share of the operations of each direction seeks, the others go on behind the previous one.
    Mixed {
        random_pct: PerDirection<f64>,
        law: RandomLaw,
        #[serde(default)]
        following: Following,
    },
    /// Forward only: each seek skips `min` bytes and a multiple of the transfer that stays below
    /// `max`; back to the start at the end.
    Stride {
        min: u64,
        max: u64,
        random_pct: f64,
    },
    /// Addresses that follow from the number of the operation, and with several sizes of transfer from
    /// what was transferred before.
    Stepped(Steps),
    /// What writes of this execution have recorded (see [`crate::Check::records`]), each transfer
    /// once as it was written, by address.
    AsRecorded,
    /// These parts of the targets and nothing else, once, by address. Only where data are checked:
    /// of each part, the blocks that lie in it in full.
    Listed(Vec<Extent>),
    /// What writes of these laws would leave up to the end of the stream: each transfer once, as far
    /// as later ones do not cover it, by address. Only where data are checked and the stream ends by
    /// its operations or bytes.
    Rehearsed(Box<Generator>),
}

/// Operations that do not seek, of an order in which some do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Following {
    /// Of so many operations on a target only the first may seek; 0 is as 1.
    pub every: u64,
    /// Those behind the first of them are at the place of the one before, rather than behind its end.
    pub repeats: bool,
    /// Their sizes, where they are others than those of operations that seek.
    pub sizes: Option<TransferSizes>,
}

/// A part of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    /// Which of the targets of the stream, from zero.
    pub place: u32,
    /// In bytes from the start of the target.
    pub offset: u64,
    pub bytes: u64,
}

/// Addresses by the number of the operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Steps {
    pub pattern: StepPattern,
    /// Each place is trimmed, and then written, whatever the mix says.
    pub trims_first: bool,
}

/// How steps follow each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepPattern {
    /// So many bytes between the end of one transfer and the start of the next, from the start of the
    /// region over and over. Below zero it goes backwards, or where it is no longer than a transfer
    /// forward by what is left of that.
    Gap {
        bytes: i64,
        /// How long a target counts as where rounds end; `None` is as long as it is.
        #[serde(default)]
        target_bytes: Option<u64>,
    },
    /// So many operations from each random place, one behind the other or all at the same. What would
    /// lie behind the end of the region goes on at its start.
    Bursts {
        operations: u64,
        repeats: bool,
        law: RandomLaw,
        /// Which of random places are taken anew; `None` is the first of each burst.
        #[serde(default)]
        seeks: Option<Seeks>,
    },
    /// So many bytes are transferred within a zone, then it goes on in the next, which begins so many
    /// bytes behind the end of the zone. Behind the last zone it begins anew.
    Zones {
        used_bytes: u64,
        zone_bytes: u64,
        skip_bytes: u64,
        order: ZoneOrder,
        /// Which of random places are taken anew; `None` is all of them.
        #[serde(default)]
        seeks: Option<Seeks>,
    },
}

/// Which operations at random places seek.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seeks {
    /// The share of those of each direction that may seek, in percent.
    pub random_pct: PerDirection<f64>,
    pub following: Following,
}

/// The order of addresses within a zone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ZoneOrder {
    Sequential,
    Random,
    /// Random, and each block once before any block again.
    EachOnce,
    /// By a law that knows blocks of one size only, over each zone.
    ByLaw(RandomLaw),
}

/// Laws for random addresses.
///
/// The first three count in blocks of the transfer at hand. The others know blocks of one size only,
/// that of [`AlignRule`] or else the smallest transfer, so that a hot block stays where it is whatever
/// the size; a transfer that would leave the region is cut.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RandomLaw {
    Uniform,
    /// Exponential over the region, folded: `⌊−ln(u) × blocks ÷ midpoint⌋ mod blocks`.
    Poisson {
        midpoint: f64,
    },
    /// A fixed curve of hot spots, folded into the region.
    HotBand,
    /// The block of rank r, from 1, is visited in proportion to r^−theta (above zero). Ranks are
    /// spread over the region, or follow each other from a center, in percent of the region.
    Zipf {
        theta: f64,
        center_pct: Option<f64>,
    },
    /// A share `power` of the blocks (between 0 and 1) gets a share 1 − `power` of the accesses, and
    /// so again within that share. Ranks lie as those of `Zipf`.
    Pareto {
        power: f64,
        center_pct: Option<f64>,
    },
    /// Around the center (the middle where none is given) with this standard deviation, both in
    /// percent of the region; what would fall outside is drawn again.
    Normal {
        deviation_pct: f64,
        center_pct: Option<f64>,
    },
    /// Shares of accesses in percent over shares of the region in percent, from its start. The last
    /// takes what shares of accesses leave over.
    Zoned(Vec<(f64, f64)>),
    /// Shares of accesses in percent over spans in bytes, from the start of the region. Zones behind
    /// its end are left out, and the others share what they would have got.
    ZonedBytes(Vec<(f64, u64)>),
    /// Each block once before any block again; the next pass has another order. Steps of a
    /// [`AddressOrder::Mixed`] between seeks are not counted as visits.
    OncePerBlock(SequentialEnd),
}

/// Where a sequential stream begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SequentialStart {
    First,
    RandomBlock,
    /// The end of what the target holds, rounded down to a multiple of these bytes.
    PresentEnd {
        rounded_to: u64,
    },
}

/// What a stream does when it has visited all of its region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SequentialEnd {
    Wrap,
    Stop,
}

/// The part of the target that is used.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Region {
    pub low: Bound,
    /// Above 100 % wraps to the start of the target.
    pub high: Bound,
    /// Both ends are rounded down to a multiple of this.
    pub granule_bytes: u64,
    /// Added to every address.
    pub offset_bytes: u64,
    pub first_block: FirstBlock,
    /// Where the ends lie more exactly.
    #[serde(default)]
    pub trim: Option<Trim>,
    /// Which slice of what the other fields describe; `None` for all of it.
    pub slice: Option<Slice>,
}

/// A begin that is rounded up, and a width of its own; not for regions that wrap.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trim {
    /// The low end is rounded up to a multiple of this, in bytes, rather than down; above zero.
    pub low_up_to: u64,
    /// The region has so much from its low end on, the offset included, where the high end leaves it.
    pub width: Option<Bound>,
}

/// One of several equal slices: their ends are rounded down to the granule of the region, and
/// together they cover it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    /// From zero.
    pub index: u32,
    pub count: u32,
}

/// One end of a region.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    Percent(f64),
    Bytes(u64),
    /// So many bytes behind the end of what the target held when the plan was bound.
    BehindPresent(u64),
}

/// Whether the first granule of a device may be touched; files have no such rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FirstBlock {
    SparedOnDevices,
    Used,
}

/// What addresses are multiples of, counted from the start of the region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AlignRule {
    /// Of the transfer at hand.
    Transfer,
    Bytes(u64),
    /// Of so many bytes in each direction, above zero. A law that knows blocks of one size only then
    /// knows blocks of one size for each direction.
    ByDirection(PerDirection<u64>),
}

/// The first part of the region, revisited so that caches answer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HitArea {
    pub bytes: u64,
    pub read_hit_pct: f64,
    pub write_hit_pct: f64,
}

/// The pace of one stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pacing {
    /// By the load of the run.
    FromRun,
    /// As fast as slots come free.
    None,
    /// Arrivals per second by direction; a direction without a rate is unpaced.
    Rate {
        per_second: PerDirection<Option<f64>>,
        law: ArrivalLaw,
        /// Even gaps follow what each transfer moves, so that bytes per second are held: those of so many arrivals of
        /// the mean size.
        #[serde(default)]
        in_bytes: bool,
    },
    /// Arrivals per second of the stream as a whole.
    TotalRate { per_second: f64, law: ArrivalLaw },
}

/// Where a stream ends by itself; exact in the worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalStop {
    pub operations: Option<u64>,
    pub bytes: Option<u64>,
    /// As many bytes as all its regions hold, this many times; `bind` makes bytes of it.
    #[serde(default)]
    pub passes: Option<u64>,
    /// Where `passes` is given: each of them ends after so many millionths of what the regions hold,
    /// rounded up to whole transfers.
    #[serde(default)]
    pub pass_millionths: Option<u32>,
    /// How the bytes are reached; `bind` makes an exact number of it.
    #[serde(default)]
    pub rounds: Option<Rounds>,
    /// The last transfer keeps its size, and may so go beyond the bytes.
    #[serde(default)]
    pub whole: bool,
    /// Also where a write finds no room (ENOSPC, EDQUOT), which is then the end and no failure.
    #[serde(default)]
    pub when_full: bool,
}

/// The order in which a stream visits several targets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetOrder {
    #[default]
    RoundRobin,
    /// One until all of its region was visited, or as often as it has blocks, then the next.
    OneAfterTheOther,
    Random,
    /// So many operations on one target, then so many on the next, or on one chosen at random.
    Batches {
        operations: u64,
        is_random: bool,
    },
    /// Each operation on a target chosen by this law.
    ByLaw(TargetLaw),
    /// All targets in order as one long address space, of which the region is a part. No transfer
    /// spans two targets, and the first block of each device is spared.
    EndToEnd,
}

/// How often each of several targets is chosen; they rank in the order in which they stand.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetLaw {
    /// Rank r, from 1, in proportion to r^−theta (above zero).
    Zipf { theta: f64 },
    /// A share `power` of them (between 0 and 1) gets a share 1 − `power`, and so again within that.
    Pareto { power: f64 },
    /// Around the one in the middle, with this standard deviation in percent of all.
    Normal { deviation_pct: f64 },
}

/// A word for reports that the model does not interpret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    pub key: String,
    pub value: String,
}

/// The law of the time between arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArrivalLaw {
    /// A Poisson process.
    Exponential,
    /// Uniform between zero and twice the mean.
    Uniform,
    /// Evenly spaced.
    Deterministic,
    /// All arrivals of a second at its start.
    Spike,
}

/// Rounds over all regions of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rounds {
    /// Above zero. The bytes of a stream are those of all of them together.
    pub count: u64,
    /// Whether more rounds follow until the bytes of one are reached.
    pub until_done: bool,
}

impl StepPattern {
    /// With so many bytes between two transfers.
    pub fn gap(bytes: i64) -> Self {
        Self::Gap {
            bytes,
            target_bytes: None,
        }
    }
}

impl ArrivalLaw {
    /// Whether the number of arrivals in a span is drawn, rather than following from its length.
    pub fn scatters(self) -> bool {
        match self {
            ArrivalLaw::Exponential | ArrivalLaw::Uniform => true,
            ArrivalLaw::Deterministic | ArrivalLaw::Spike => false,
        }
    }
}

impl Following {
    /// The mean of sizes in bytes, where so many percent of those that may seek do and have `seeking`.
    pub fn mean(&self, seeking: &TransferSizes, random_pct: f64) -> f64 {
        let share = random_pct / 100.0 / self.every.max(1) as f64;
        match &self.sizes {
            Some(sizes) => seeking.mean() * share + sizes.mean() * (1.0 - share),
            None => seeking.mean(),
        }
    }
}

impl AlignRule {
    /// In bytes, of a transfer of `length` bytes.
    pub fn unit(self, direction: Direction, length: u64) -> u64 {
        match self {
            AlignRule::Transfer => length,
            AlignRule::Bytes(bytes) => bytes,
            AlignRule::ByDirection(bytes) => *bytes.of(direction),
        }
    }

    /// What is given in bytes, whatever the transfer.
    pub fn bytes(self) -> Vec<u64> {
        match self {
            AlignRule::Transfer => Vec::new(),
            AlignRule::Bytes(bytes) => vec![bytes],
            AlignRule::ByDirection(bytes) => vec![bytes.read, bytes.write, bytes.trim],
        }
    }
}

impl TransferSizes {
    /// The largest size that can be drawn.
    pub fn largest(&self) -> u64 {
        match self {
            TransferSizes::Fixed(bytes) => *bytes,
            TransferSizes::Mix(shares) => shares.iter().map(|share| share.bytes).max().unwrap_or(0),
            TransferSizes::Uniform { max, .. } | TransferSizes::Capped { max, .. } => *max,
        }
    }

    /// The smallest size that can be drawn.
    pub fn smallest(&self) -> u64 {
        match self {
            TransferSizes::Fixed(bytes) => *bytes,
            TransferSizes::Mix(shares) => shares.iter().map(|share| share.bytes).min().unwrap_or(0),
            TransferSizes::Uniform { min, .. } | TransferSizes::Capped { min, .. } => *min,
        }
    }

    /// The largest number of bytes of which every size is a multiple.
    pub fn grain(&self) -> u64 {
        match self {
            TransferSizes::Fixed(bytes) => *bytes,
            TransferSizes::Mix(shares) => shares
                .iter()
                .map(|share| share.bytes)
                .fold(0, common_divisor),
            TransferSizes::Uniform { min, max, step } if min < max => common_divisor(*min, *step),
            TransferSizes::Uniform { min, .. } => *min,
            TransferSizes::Capped { min, max, step } => {
                common_divisor(common_divisor(*min, *max), *step)
            }
        }
    }

    /// The mean size in bytes.
    pub fn mean(&self) -> f64 {
        match self {
            TransferSizes::Fixed(bytes) => *bytes as f64,
            TransferSizes::Mix(shares) => {
                shares
                    .iter()
                    .map(|share| share.bytes as f64 * share.pct)
                    .sum::<f64>()
                    / 100.0
            }
            TransferSizes::Uniform { min, max, .. } => (*min + *max) as f64 / 2.0,
            TransferSizes::Capped { min, max, step } => {
                // Whole steps below the cap are alike, and the cap has the others.
                let below = (max - min).div_ceil(*step);
                let sum = below * (2 * min + (below - 1) * step) / 2 * step;
                (sum + (max - below * step) * max) as f64 / *max as f64
            }
        }
    }
}

impl Generator {
    /// Whether it may change what a target holds.
    pub fn changes_data(&self) -> bool {
        self.operations.changes_data()
    }

    /// The largest transfer in any direction that the mix uses.
    pub fn largest_transfer(&self) -> u64 {
        self.used_sizes()
            .map(TransferSizes::largest)
            .max()
            .unwrap_or(0)
    }

    /// The smallest transfer in any direction that the mix uses.
    pub fn smallest_transfer(&self) -> u64 {
        self.used_sizes()
            .map(TransferSizes::smallest)
            .min()
            .unwrap_or(0)
    }

    /// The largest number of bytes of which every transfer that the mix uses is a multiple.
    pub fn grain_bytes(&self) -> u64 {
        self.used_sizes()
            .map(TransferSizes::grain)
            .fold(0, common_divisor)
    }

    /// The mean transfer over the directions of the mix, in bytes.
    pub fn mean_transfer(&self) -> f64 {
        let mix = &self.operations;
        let bytes = mix.read_pct * self.mean_of(Direction::Read)
            + mix.write_pct * self.mean_of(Direction::Write)
            + mix.trim_pct * self.mean_of(Direction::Trim);
        bytes / (mix.read_pct + mix.write_pct + mix.trim_pct).max(f64::MIN_POSITIVE)
    }

    /// The mean transfer of a direction as drawn, in bytes.
    pub fn mean_of(&self, direction: Direction) -> f64 {
        let sizes = self.transfer.of(direction);
        match self.order.seeks() {
            Some((random_pct, following)) => following.mean(sizes, *random_pct.of(direction)),
            None => sizes.mean(),
        }
    }

    fn used_sizes(&self) -> impl Iterator<Item = &TransferSizes> {
        let behind = self.order.sizes_behind().into_iter();
        let sizes = [
            (self.operations.read_pct, &self.transfer.read),
            (self.operations.write_pct, &self.transfer.write),
            (self.operations.trim_pct, &self.transfer.trim),
        ];
        sizes
            .into_iter()
            .filter(|(pct, _)| *pct > 0.0)
            .map(|(_, size)| size)
            .chain(behind)
    }
}

impl PerDirection<TransferSizes> {
    /// The largest transfer of any direction, used or not.
    pub fn largest(&self) -> u64 {
        let all = [&self.read, &self.write, &self.trim];
        all.into_iter()
            .map(TransferSizes::largest)
            .max()
            .unwrap_or(0)
    }
}

impl AddressOrder {
    /// Sizes of operations that do not seek, where they have their own.
    pub fn sizes_behind(&self) -> Option<&TransferSizes> {
        self.seeks()?.1.sizes.as_ref()
    }

    /// Whether each place is trimmed and then written.
    pub fn trims_first(&self) -> bool {
        matches!(self, AddressOrder::Stepped(steps) if steps.trims_first)
    }

    fn seeks(&self) -> Option<(&PerDirection<f64>, &Following)> {
        match self {
            AddressOrder::Mixed {
                random_pct,
                following,
                ..
            } => Some((random_pct, following)),
            AddressOrder::Stepped(Steps {
                pattern: StepPattern::Zones { seeks, .. } | StepPattern::Bursts { seeks, .. },
                ..
            }) => {
                let seeks = seeks.as_ref()?;
                Some((&seeks.random_pct, &seeks.following))
            }
            _ => None,
        }
    }
}

fn common_divisor(mut one: u64, mut other: u64) -> u64 {
    while other > 0 {
        (one, other) = (other, one % other);
    }
    one
}

impl OpSource {
    /// What all operations have in common: of a record its mix and its sizes.
    pub fn laws(&self) -> Option<&Generator> {
        match self {
            OpSource::Generator(generator) => Some(generator),
            OpSource::Replay(replay) => Some(&replay.envelope),
            OpSource::Tree { .. } | OpSource::Verify => None,
        }
    }

    /// The record, where there is one.
    pub fn replay(&self) -> Option<&Replay> {
        match self {
            OpSource::Replay(replay) => Some(replay),
            _ => None,
        }
    }

    /// Whether it may change what a target holds.
    pub fn changes_data(&self) -> bool {
        match self {
            OpSource::Generator(generator) => generator.changes_data(),
            OpSource::Replay(replay) => replay.changes_data(),
            OpSource::Tree { operation, .. } => operation.changes_data(),
            OpSource::Verify => false,
        }
    }

    /// Whether it may read what a target holds.
    pub fn reads(&self) -> bool {
        match self {
            OpSource::Generator(generator) => generator.operations.read_pct > 0.0,
            OpSource::Replay(_) | OpSource::Verify => true,
            OpSource::Tree { .. } => false,
        }
    }
}

impl Region {
    /// The whole target.
    pub fn whole(granule_bytes: u64, first_block: FirstBlock) -> Self {
        Self {
            low: Bound::Percent(0.0),
            high: Bound::Percent(100.0),
            granule_bytes,
            offset_bytes: 0,
            first_block,
            trim: None,
            slice: None,
        }
    }
}
