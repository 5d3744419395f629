//! What was sent, measured on the buffers themselves: how much of it repeats, and what compresses.
//!
//! Repetition is estimated from blocks whose content falls into one of 2ᵏ classes: of each such
//! content all copies are seen, so that distinct contents can be counted. The last content of each
//! address counts. Written addresses are counted in a field of bits. Compression is that of a sample
//! of transfers, made after the run. Memory is bounded and taken before the run.
use crate::generations::Writing;
use crate::random::{GOLDEN, mix};
use measure::{ContentSample, DataFigures};
use plan::{DataSpec, Duplicates, StreamId};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Relaxed, SeqCst},
};

/// Places for sampled addresses; about half of them are used.
const PLACES_BITS: u32 = 16;
/// At least a quarter of all contents is left out, so that hashing stays cheap.
const CLASSES_BITS_MIN: u32 = 2;
/// How far a place is looked for before a sampled address counts as lost.
const PROBES: usize = 64;
/// Bits that say whether an address may be among the sampled ones.
const FILTER_BITS: u32 = 19;
/// Bits that count written addresses.
const COUNT_BITS: u32 = 19;
/// Kinds of data that one run measures; each takes some 2 MiB.
const GROUPS_MAX: usize = 8;
/// Sampled bytes, what of one transfer enters, and the chunks that are compressed.
const SAMPLE_BYTES: usize = 1 << 20;
const CHUNK: usize = 64 << 10;
/// One transfer of so many is sampled at first; twice as many each time that the sample is full.
const FIRST_STRIDE: u64 = 64;
const BLOCK_MAX: u64 = 4096;
const BLOCK_MIN: u64 = 512;
/// What of a sector is looked at where that is enough: one line of the cache.
const HEAD_BYTES: usize = 64;

/// The measurement of all streams of a run; nothing is measured by default.
#[derive(Debug, Default)]
pub(super) struct Samples {
    groups: Vec<Group>,
    of_stream: Vec<Option<OfStream>>,
}

/// The group of a stream, and its targets by place.
#[derive(Debug)]
struct OfStream {
    group: usize,
    targets: Vec<u32>,
}

/// Streams that ask for the same data.
#[derive(Debug)]
struct Group {
    data: DataSpec,
    streams: Vec<StreamId>,
    asked: (Option<f64>, Option<f64>),
    block: u64,
    /// Contents of different targets are not compared.
    by_target: bool,
    looks: Looks,
    class_mask: u64,
    count_mask: u64,
    places: Vec<Place>,
    filter: Vec<AtomicU64>,
    written: Vec<AtomicU64>,
    lost: AtomicU64,
    stride: AtomicU64,
    sample: Mutex<Sample>,
}

/// Which bytes of a block tell its content from others. Equal blocks are equal under both.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Looks {
    All,
    /// The first bytes of each sector, where data of no duplicates differ, and a pattern of one phase from the same of
    /// another. Writing a stamp has just brought them near; all the others of a large transfer would have to be fetched from
    /// memory.
    SectorHeads,
}

/// A sampled address and a hash of what it holds; zero is nothing.
#[derive(Debug, Default)]
struct Place {
    address: AtomicU64,
    content: AtomicU64,
}

#[derive(Debug)]
struct Sample {
    bytes: Vec<u8>,
    /// Where the next transfer goes once the sample was full.
    cursor: usize,
}

impl Samples {
    pub(super) fn new(writing: &Writing<'_>) -> Self {
        let mut groups: Vec<Group> = Vec::new();
        let streams = writing.run.run.streams.iter().enumerate();
        let of_stream = streams.map(|(number, stream)| {
            let generator = stream.source.laws()?;
            if generator.operations.write_pct <= 0.0 {
                return None;
            }
            let found = groups.iter().position(|group| group.data == stream.data);
            let place = match found {
                Some(place) => place,
                None if groups.len() == GROUPS_MAX => return None,
                None => {
                    groups.push(Group::new(writing, &stream.data)?);
                    groups.len() - 1
                }
            };
            groups[place].streams.push(StreamId::at(number));
            Some(OfStream {
                group: place,
                targets: stream.targets.iter().map(|target| target.0).collect(),
            })
        });
        let of_stream = of_stream.collect();
        Self { groups, of_stream }
    }

    /// Looks at a transfer that is about to be sent to the target at `place` of a stream.
    #[inline]
    pub(super) fn note(&self, stream: usize, place: usize, offset: u64, index: u64, sent: &[u8]) {
        if let Some(of) = &self.of_stream[stream] {
            self.groups[of.group].note(of.targets[place], offset, index, sent);
        }
    }

    /// The figures of every kind of data that was written.
    pub(super) fn figures(&self) -> Vec<DataFigures> {
        let figures = self.groups.iter().map(Group::figures);
        figures.filter(|figures| figures.blocks > 0.0).collect()
    }
}

impl Group {
    fn new(writing: &Writing<'_>, data: &DataSpec) -> Option<Self> {
        let (block, bytes) = extent(writing, data)?;
        let blocks = bytes / block;
        let classes = |room_bits: u32| {
            let over = blocks >> room_bits;
            u64::BITS - over.leading_zeros()
        };
        let pools = &writing.plan.plan.duplicate_pools;
        let pool = match data.duplicates {
            Some(Duplicates::ByAddress(pool)) => Some(&pools[pool.index()]),
            _ => None,
        };
        let words = |bits: u32| {
            (0..1_usize << (bits - 6))
                .map(|_| AtomicU64::new(0))
                .collect()
        };
        Some(Self {
            data: *data,
            streams: Vec::new(),
            asked: (asked_compression(data), asked_duplicates(data, pool)),
            block,
            by_target: pool.is_some_and(|pool| !pool.across_targets),
            looks: match (data.duplicates, data.pattern) {
                (None, Some(_)) if data.compression_ratio > 1.0 => Looks::All,
                (None, _) => Looks::SectorHeads,
                _ => Looks::All,
            },
            class_mask: (1 << classes(PLACES_BITS - 1).max(CLASSES_BITS_MIN)) - 1,
            count_mask: (1 << classes(COUNT_BITS - 1)) - 1,
            places: (0..1 << PLACES_BITS).map(|_| Place::default()).collect(),
            filter: words(FILTER_BITS),
            written: words(COUNT_BITS),
            lost: AtomicU64::new(0),
            stride: AtomicU64::new(FIRST_STRIDE),
            sample: Mutex::new(Sample {
                bytes: Vec::with_capacity(SAMPLE_BYTES),
                cursor: 0,
            }),
        })
    }

    #[inline]
    fn note(&self, target: u32, offset: u64, index: u64, sent: &[u8]) {
        let first = offset.div_ceil(self.block);
        let skip = (first * self.block - offset) as usize;
        let of_target = u64::from(target) << 44;
        for (number, block) in sent
            .get(skip..)
            .unwrap_or_default()
            .chunks_exact(self.block as usize)
            .enumerate()
        {
            let address = of_target + first + number as u64 + 1;
            let spread = mix(address);
            if spread & self.count_mask == 0 {
                let bit = spread >> (64 - COUNT_BITS);
                set(&self.written, bit);
            }
            if self.looks.class_of(block) & self.class_mask == 0 {
                let salt = if self.by_target { of_target } else { 0 };
                self.keep(address, spread, self.looks.hash(block, salt));
            } else if is_set(&self.filter, spread & ((1 << FILTER_BITS) - 1)) {
                self.put(address, spread, 0);
            }
        }
        if index & (self.stride.load(Relaxed) - 1) == 0 {
            self.add_to_sample(sent);
        }
    }

    fn keep(&self, address: u64, spread: u64, content: u64) {
        set(&self.filter, spread & ((1 << FILTER_BITS) - 1));
        if !self.put(address, spread, content | 1) {
            self.lost.fetch_add(1, Relaxed);
        }
    }

    /// Sets what an address holds; an address that is not there is added, unless it holds nothing
    /// of the sample. Whether there was a place.
    fn put(&self, address: u64, spread: u64, content: u64) -> bool {
        let mask = self.places.len() - 1;
        let begin = (spread >> (64 - PLACES_BITS)) as usize;
        for probe in 0..PROBES {
            let place = &self.places[(begin + probe) & mask];
            let mut found = place.address.load(Relaxed);
            if found == 0 {
                if content == 0 {
                    return true;
                }
                let taken = place.address.compare_exchange(0, address, SeqCst, Relaxed);
                found = taken.err().unwrap_or(address);
            }
            if found == address {
                place.content.store(content, Relaxed);
                return true;
            }
        }
        false
    }

    /// Another worker may be at it; then this transfer is left out.
    #[cold]
    fn add_to_sample(&self, sent: &[u8]) {
        let Ok(mut sample) = self.sample.try_lock() else {
            return;
        };
        let part = &sent[..sent.len().min(CHUNK)];
        if sample.bytes.len() + part.len() <= SAMPLE_BYTES {
            sample.bytes.extend_from_slice(part);
            return;
        }
        if sample.cursor + part.len() > sample.bytes.len() {
            sample.cursor = 0;
        }
        if sample.cursor == 0 {
            self.stride.store(self.stride.load(Relaxed) * 2, Relaxed);
        }
        let cursor = sample.cursor;
        sample.bytes[cursor..cursor + part.len()].copy_from_slice(part);
        sample.cursor += part.len();
    }

    fn figures(&self) -> DataFigures {
        let contents = self.places.iter().map(|place| place.content.load(Relaxed));
        let distinct: BTreeSet<u64> = contents.filter(|content| *content != 0).collect();
        let classes = (self.class_mask + 1) as f64;
        let blocks = self.blocks();
        let sample = self.sample.lock().expect("nothing panics while holding it");
        let compressed: usize = sample
            .bytes
            .chunks(CHUNK)
            .map(|chunk| lz4_flex::block::compress(chunk).len())
            .sum();
        DataFigures {
            streams: self.streams.clone(),
            asked_compression: self.asked.0,
            asked_duplicates: self.asked.1,
            block_bytes: self.block,
            blocks,
            // With no place for some of the copies, contents may be missing.
            contents: (self.lost.load(Relaxed) == 0)
                .then_some((distinct.len() as f64 * classes).min(blocks)),
            sampled_contents: distinct.len() as u64,
            sample: match self.asked.1 {
                None => ContentSample::default(),
                Some(_) => ContentSample {
                    hashes: distinct.into_iter().collect(),
                    classes: self.class_mask + 1,
                },
            },
            sampled_bytes: sample.bytes.len() as u64,
            compressed_bytes: compressed as u64,
        }
    }

    /// Written addresses, from the share of bits that no address has set.
    fn blocks(&self) -> f64 {
        let set: u32 = self
            .written
            .iter()
            .map(|word| word.load(Relaxed).count_ones())
            .sum();
        let bits = f64::from(1_u32 << COUNT_BITS);
        let free = (bits - f64::from(set)).max(1.0) / bits;
        -free.ln() * bits * (self.count_mask + 1) as f64
    }
}

/// The block that is looked at, and the bytes of all targets that such streams write; nothing where
/// transfers are cut at no common multiple of sectors.
fn extent(writing: &Writing<'_>, data: &DataSpec) -> Option<(u64, u64)> {
    let pools = &writing.plan.plan.duplicate_pools;
    let mut bits = BLOCK_MAX;
    let mut targets = BTreeSet::new();
    if let Some(Duplicates::ByAddress(pool)) = data.duplicates {
        bits |= pools[pool.index()].unit_bytes;
    }
    let all = writing.run.run.streams.iter().zip(&writing.run.streams);
    for (stream, bound) in all.filter(|(stream, _)| stream.data == *data) {
        let Some(generator) = stream.source.laws() else {
            continue;
        };
        let sizes = [&generator.transfer.write];
        for sizes in sizes.into_iter().chain(generator.order.sizes_behind()) {
            bits |= match sizes {
                plan::TransferSizes::Fixed(bytes) => *bytes,
                plan::TransferSizes::Mix(all) => all.iter().fold(0, |bits, one| bits | one.bytes),
                plan::TransferSizes::Uniform { min, step, .. } => min | step,
                plan::TransferSizes::Capped { min, max, step } => min | max | step,
            };
        }
        for region in &bound.regions {
            bits |= region.low;
            targets.insert(region.target);
        }
    }
    let block = 1 << bits.trailing_zeros();
    let bytes_of = |target: &plan::TargetId| writing.plan.targets[target.index()].bytes;
    (block >= BLOCK_MIN).then(|| (block, targets.iter().map(bytes_of).sum()))
}

fn asked_compression(data: &DataSpec) -> Option<f64> {
    data.pattern.is_none().then_some(data.compression_ratio)
}

fn asked_duplicates(data: &DataSpec, pool: Option<&plan::DuplicatePool>) -> Option<f64> {
    match data.duplicates {
        Some(Duplicates::ByAddress(_)) => pool.map(|pool| pool.ratio),
        Some(Duplicates::ByWrite { pct, .. }) => (pct < 100.0).then_some(100.0 / (100.0 - pct)),
        None if data.pattern.is_some() => None,
        None => (data.refresh != plan::Refresh::Never).then_some(1.0),
    }
}

impl Looks {
    /// A cheap function of the content: the same for equal blocks, and even over unlike ones.
    #[inline]
    fn class_of(self, block: &[u8]) -> u64 {
        let word = |at: usize| {
            let bytes: [u8; 8] = block[at..at + 8].try_into().expect("eight bytes");
            u64::from_le_bytes(bytes)
        };
        let head = word(8) ^ word(24).rotate_left(17);
        let middle = block.len() / 2;
        mix(match self {
            Self::SectorHeads => head,
            Self::All => head ^ word(middle).rotate_left(31) ^ word(middle - 8),
        })
    }

    fn hash(self, block: &[u8], salt: u64) -> u64 {
        let mut lanes = [salt, GOLDEN, salt ^ GOLDEN, !salt];
        let (step, looked_at) = match self {
            Self::All => (block.len(), block.len()),
            Self::SectorHeads => (BLOCK_MIN as usize, HEAD_BYTES),
        };
        for part in block.chunks(step) {
            for group in part[..looked_at].as_chunks::<32>().0 {
                for (lane, bytes) in lanes.iter_mut().zip(group.as_chunks::<8>().0) {
                    *lane = (*lane ^ u64::from_le_bytes(*bytes))
                        .wrapping_mul(0xbf58_476d_1ce4_e5b9)
                        .rotate_left(29);
                }
            }
        }
        lanes.iter().fold(0, |all, lane| mix(all ^ lane))
    }
}

#[inline]
fn set(bits: &[AtomicU64], bit: u64) {
    let (word, mask) = (&bits[(bit / 64) as usize], 1 << (bit % 64));
    if word.load(Relaxed) & mask == 0 {
        word.fetch_or(mask, Relaxed);
    }
}

#[inline]
fn is_set(bits: &[AtomicU64], bit: u64) -> bool {
    bits[(bit / 64) as usize].load(Relaxed) >> (bit % 64) & 1 == 1
}
