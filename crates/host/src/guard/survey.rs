//! The survey: which blocks of a device or file are looked at, and what they are.
//!
//! What is read does not depend on how fast that goes: both ends, everything of what has little data, the starts of data
//! areas, places of backup superblocks, and a number of samples that follows from the number of targets alone. Only
//! what is read beyond that ends with time. The order of all places is the same each time, so that two looks at the same
//! content say the same.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use door::waiting;

use super::checked::CheckedBlocks;
use super::content::{
    AREAS_LOOKED_AT, BLOCK_BYTES, Content, DataMap, WHOLE_BYTES, is_blank, is_marked,
};
use super::places::{Probe, probes};
use super::signatures::Hit;
use super::written::{Known, Place};

/// How much is read at either end.
const END_BYTES: u64 = 8 << 20;
/// Read at once where everything is read.
const CHUNK_BYTES: u64 = 256 << 10;
/// Of what is longer, chunks are read side by side.
const ALONE_BYTES: u64 = 4 << 20;
/// Samples of each target that are read however long it takes.
const SAMPLES: u64 = 1000;
/// Samples of all targets together that are read however long it takes, unless that leaves too few for each.
const SAMPLES_OF_ALL: u64 = 256_000;
const SAMPLES_LEAST: u64 = 64;
/// More samples are read of a target for so long, and of all together.
const MORE: Duration = Duration::from_secs(1);
const MORE_OF_ALL: Duration = Duration::from_secs(10);
/// The same when many targets share it, each reading for itself.
const MORE_SHARED: Duration = Duration::from_secs(2);
/// Reads of one target side by side: most devices are limited by latency.
const READERS: usize = 16;
const READERS_LEAST: usize = 2;
/// Fewer reads are not worth a thread more.
const EACH_READER: usize = 8;
/// Chunks are limited by memory instead.
const CHUNK_READERS: usize = 4;

/// How much all surveys of an examination may read beyond what is always read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// Of each target, always.
    samples: u64,
    /// Of each target, as long as there is time.
    more: Duration,
    /// When there is none.
    end: Instant,
    readers: usize,
}

/// What the blocks that were looked at hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Survey {
    /// Blocks looked at.
    pub sampled: u64,
    /// Blocks with our mark, those that are written for checks, and what a record excuses.
    pub ours: u64,
    /// Everything else that is not blank.
    pub foreign: u64,
    pub first_foreign: Option<u64>,
    /// A backup superblock.
    pub hit: Option<Hit>,
}

/// What to survey, and what is known of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ground<'a> {
    pub content: &'a Content<'a>,
    /// The part that may be written: it has samples of its own.
    pub extent: (u64, u64),
    /// Which data of unknown kind are ours.
    pub known: &'a Known,
    /// The content without what samples of that cover.
    pub others: Option<&'a Content<'a>>,
    /// What a loop device stands for.
    pub beneath: Option<&'a Content<'a>>,
}

impl Budget {
    /// For so many targets that are too large to be read whole, of which so many are looked at side by side.
    pub(crate) fn of(large: usize, side_by_side: usize) -> Self {
        let targets = large.max(1) as u64;
        let together = side_by_side.clamp(1, large.max(1));
        let rounds = u32::try_from(targets.div_ceil(together as u64)).unwrap_or(u32::MAX);
        Self {
            samples: (SAMPLES_OF_ALL / targets).clamp(SAMPLES_LEAST, SAMPLES),
            more: MORE.min(MORE_SHARED / rounds),
            end: Instant::now() + MORE_OF_ALL,
            readers: (READERS * 4 / together).clamp(READERS_LEAST, READERS),
        }
    }
}

impl Survey {
    /// Looks at everything that is to be looked at. Where foreign data are found, what is left is not read.
    pub(crate) fn of(ground: Ground<'_>, budget: &Budget) -> Self {
        let map = ground.content.data_map();
        let bytes = ground.content.bytes();
        let look = Look {
            ground,
            checked: CheckedBlocks::default(),
        };
        let mut survey = Self::default();
        let is_whole = map.bytes() <= WHOLE_BYTES;
        let ends = match is_whole {
            true => map.clone(),
            false => {
                let head = END_BYTES.min(bytes);
                let tail = bytes.saturating_sub(END_BYTES) / BLOCK_BYTES * BLOCK_BYTES;
                let mut ends = map.within(0, head);
                ends.areas.extend(map.within(tail.max(head), bytes).areas);
                ends
            }
        };
        look.at_chunks(&ends, budget, &mut survey);
        // What stands in a block beside what will be written is recorded with it.
        if !is_whole && survey.foreign == 0 {
            look.at_blocks(edges(ground.extent, &map), budget, &mut survey);
        }
        // Where everything was read and is blank, nothing stands anywhere.
        if survey.foreign == 0 && !(is_whole && survey.ours == 0) {
            look.at_probes(&map, budget, &mut survey);
        }
        if !is_whole && survey.foreign == 0 && survey.hit.is_none() {
            look.at_blocks(area_starts(&map), budget, &mut survey);
        }
        if !is_whole && survey.foreign == 0 && survey.hit.is_none() {
            let extent = map.within(ground.extent.0, ground.extent.1.min(bytes));
            if extent.bytes() > 0 && extent.bytes() < map.bytes() {
                look.at_samples(&extent, budget, None, &mut survey);
            }
            let until = budget.end.min(Instant::now() + budget.more);
            look.at_samples(&map, budget, Some(until), &mut survey);
        }
        survey
    }

    fn add(&mut self, other: Self) {
        self.sampled += other.sampled;
        self.ours += other.ours;
        self.foreign += other.foreign;
        let firsts = [self.first_foreign, other.first_foreign];
        self.first_foreign = firsts.into_iter().flatten().min();
        let hits = [self.hit.take(), other.hit];
        self.hit = hits.into_iter().flatten().min_by_key(|hit| hit.offset);
    }
}

#[derive(Debug)]
struct Look<'a> {
    ground: Ground<'a>,
    checked: CheckedBlocks,
}

impl Look<'_> {
    /// Reads all of the areas, in blocks of the grid that the whole content has.
    fn at_chunks(&self, map: &DataMap, budget: &Budget, survey: &mut Survey) {
        let mut chunks = Vec::new();
        for (low, end) in &map.areas {
            let mut at = low / BLOCK_BYTES * BLOCK_BYTES;
            while at < *end {
                let next = (at / CHUNK_BYTES + 1) * CHUNK_BYTES;
                chunks.push((at, next.min(*end)));
                at = next;
            }
        }
        let is_short = map.bytes() <= ALONE_BYTES;
        let readers = if is_short {
            1
        } else {
            CHUNK_READERS.min(budget.readers / 2)
        };
        let one = |place: usize, buffer: &mut Vec<u8>, survey: &mut Survey| {
            let Some((at, end)) = chunks.get(place) else {
                return false;
            };
            // Data end where they end, and blocks at the end of their own.
            let end = end
                .next_multiple_of(BLOCK_BYTES)
                .min(self.ground.content.bytes());
            buffer.resize((end - at) as usize, 0);
            let done = self.ground.content.read_into(*at, buffer);
            for (number, block) in buffer[..done].chunks(BLOCK_BYTES as usize).enumerate() {
                self.judge(at + number as u64 * BLOCK_BYTES, block, survey);
            }
            true
        };
        // Sizes of checked blocks are learned at the start of the data.
        let mut first = Vec::new();
        if one(0, &mut first, survey) {
            side_by_side(readers, 1, survey, |place, buffer, survey| {
                one(place, buffer, survey)
            });
        }
    }

    fn at_probes(&self, map: &DataMap, budget: &Budget, survey: &mut Survey) {
        let bytes = self.ground.content.bytes();
        let mut all = probes(bytes);
        all.retain(|probe| map.touches(probe.offset / BLOCK_BYTES * BLOCK_BYTES));
        self.at_each(&all, budget, survey, |probe: &Probe, survey| {
            if survey.hit.is_none() {
                survey.hit = probe.search(self.ground.others.unwrap_or(self.ground.content));
            }
            // Whatever it is, it was read.
            self.at_block(probe.offset / BLOCK_BYTES * BLOCK_BYTES, survey);
        });
    }

    fn at_blocks(&self, blocks: Vec<u64>, budget: &Budget, survey: &mut Survey) {
        self.at_each(&blocks, budget, survey, |block, survey| {
            self.at_block(*block, survey);
        });
    }

    fn at_each<T: Sync>(
        &self,
        all: &[T],
        budget: &Budget,
        survey: &mut Survey,
        one: impl Fn(&T, &mut Survey) + Sync,
    ) {
        let readers = budget.readers.min(all.len() / EACH_READER + 1);
        side_by_side(readers, 0, survey, |place, _, survey| {
            let Some(item) = all.get(place) else {
                return false;
            };
            one(item, survey);
            true
        });
    }

    /// Samples spread over the data: as many as are always read, and more up to a moment.
    fn at_samples(
        &self,
        map: &DataMap,
        budget: &Budget,
        until: Option<Instant>,
        survey: &mut Survey,
    ) {
        let spread = Spread::over(map);
        let all = spread.bytes / BLOCK_BYTES + 1;
        let always = budget.samples.min(all);
        let found = AtomicU64::new(0);
        side_by_side(budget.readers, 0, survey, |place, _, survey| {
            let place = place as u64;
            let is_over = || {
                until.is_none_or(|until| Instant::now() >= until)
                    || found.load(Ordering::Relaxed) > 0
            };
            if place >= all || (place >= always && is_over()) {
                return false;
            }
            self.at_block(spread.at(place) / BLOCK_BYTES * BLOCK_BYTES, survey);
            found.fetch_add(survey.foreign.min(1), Ordering::Relaxed);
            true
        });
    }

    fn at_block(&self, offset: u64, survey: &mut Survey) {
        let content = self.ground.content;
        let len = BLOCK_BYTES.min(content.bytes() - offset) as usize;
        if let Some(block) = content.get(offset, len) {
            self.judge(offset, &block, survey);
        }
    }

    /// Whether it is what was written through the file behind a loop device that begins in the middle of a block.
    fn is_marked_beneath(&self, offset: u64, block: &[u8]) -> bool {
        let Ground {
            known,
            content,
            beneath,
            ..
        } = self.ground;
        known.is_shifted()
            && known.is_marked_beneath(offset, block, |place, mark| {
                let found = match place {
                    Place::Inside(at) => content.get(at, mark.len()),
                    Place::Before(at) => beneath.and_then(|whole| whole.get(at, mark.len())),
                };
                found.is_some_and(|found| *found == *mark)
            })
    }

    fn judge(&self, offset: u64, block: &[u8], survey: &mut Survey) {
        survey.sampled += 1;
        if is_blank(block) {
            return;
        }
        let content = self.ground.content;
        if is_marked(block)
            || self.ground.known.explains(offset, block)
            || self.is_marked_beneath(offset, block)
            || self.checked.explain(content, offset, block)
        {
            survey.ours += 1;
        } else {
            survey.foreign += 1;
            let first = survey.first_foreign.unwrap_or(offset);
            survey.first_foreign = Some(first.min(offset));
        }
    }
}

/// Threads that take places in turn, from `first` on, until one finds nothing to do there.
fn side_by_side(
    readers: usize,
    first: usize,
    survey: &mut Survey,
    one: impl Fn(usize, &mut Vec<u8>, &mut Survey) -> bool + Sync,
) {
    let next = AtomicUsize::new(first);
    let all = Mutex::new(std::mem::take(survey));
    let waiting = waiting::shared();
    let work = || {
        let (mut own, mut buffer) = (Survey::default(), Vec::new());
        while one(next.fetch_add(1, Ordering::Relaxed), &mut buffer, &mut own) {}
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        all.add(own);
    };
    thread::scope(|scope| {
        for _ in 1..readers {
            // Without threads, the one that is there does it all.
            let _ = thread::Builder::new().spawn_scoped(scope, || waiting.within(work));
        }
        work();
    });
    *survey = all.into_inner().unwrap_or_else(PoisonError::into_inner);
}

/// The first and the last block of what will be written, where they hold data.
fn edges((low, end): (u64, u64), map: &DataMap) -> Vec<u64> {
    let edges = [low, end.saturating_sub(1)].map(|at| at / BLOCK_BYTES * BLOCK_BYTES);
    edges.into_iter().filter(|at| map.touches(*at)).collect()
}

/// The blocks in which the first data areas begin.
fn area_starts(map: &DataMap) -> Vec<u64> {
    let areas = map.areas.iter().take(AREAS_LOOKED_AT);
    let mut blocks: Vec<u64> = areas
        .map(|(low, _)| low / BLOCK_BYTES * BLOCK_BYTES)
        .collect();
    blocks.dedup();
    blocks
}

/// Places spread over data areas.
#[derive(Debug)]
pub(super) struct Spread<'a> {
    areas: &'a [(u64, u64)],
    /// How many bytes of data lie before the end of each area.
    ends: Vec<u64>,
    bytes: u64,
}

impl<'a> Spread<'a> {
    pub(super) fn over(map: &'a DataMap) -> Self {
        let sum = |sum: &mut u64, (low, end): &(u64, u64)| {
            *sum += end - low;
            Some(*sum)
        };
        Self {
            areas: &map.areas,
            ends: map.areas.iter().scan(0, sum).collect(),
            bytes: map.bytes(),
        }
    }

    /// Multiples of the golden section modulo one: even, and in step with no layout.
    pub(super) fn at(&self, index: u64) -> u64 {
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        let fraction = u128::from(GOLDEN.wrapping_mul(index + 1));
        let at = u64::try_from((u128::from(self.bytes) * fraction) >> 64);
        let at = at.expect("a fraction of a u64");
        let place = self.ends.partition_point(|end| *end <= at);
        self.areas[place].1 - (self.ends[place] - at)
    }
}
