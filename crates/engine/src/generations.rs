//! What an execution remembers of what it wrote: which of two contents a sector holds, where
//! rewriting alternates between them, and which write is in which block, where that is checked.
use crate::record::{BlockForm, Record};
use plan::{BoundPlan, BoundRun, TargetId};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// Alternation is remembered by sector, so that it is right for transfers of any size: a bit for
/// 512 bytes, 256 MiB for 1 TiB.
const SECTOR: u64 = 512;

/// What an execution remembers of what it wrote, from run to run. Made once per execution.
#[derive(Clone, Debug, Default)]
pub struct Generations {
    by_target: Arc<Mutex<BTreeMap<TargetId, Arc<Bits>>>>,
    records: Arc<Mutex<BTreeMap<TargetId, Records>>>,
}

/// A run that writes or checks, and what was written before it.
#[derive(Clone, Copy)]
pub(crate) struct Writing<'a> {
    pub plan: &'a BoundPlan,
    pub run: &'a BoundRun,
    /// Differs between executions.
    pub nonce: u64,
    pub generations: &'a Generations,
}

/// Of one target, by the form of the blocks.
type Records = Vec<(BlockForm, Arc<Record>)>;

/// One target's bits from its first sector on.
#[derive(Debug)]
pub(crate) struct Bits {
    words: Vec<AtomicU64>,
}

impl Generations {
    /// The bits of a target, made where they are too few or not there.
    pub(crate) fn of(&self, target: TargetId, bytes: u64) -> Arc<Bits> {
        let words = usize::try_from(bytes.div_ceil(SECTOR * 64)).expect("fits into memory");
        let mut by_target = self.by_target.lock().expect("nothing panics in here");
        let bits = by_target.entry(target).or_insert_with(|| Bits::new(words));
        if bits.words.len() < words {
            let longer = Bits::new(words);
            for (new, old) in longer.words.iter().zip(&bits.words) {
                new.store(old.load(Relaxed), Relaxed);
            }
            *bits = longer;
        }
        Arc::clone(bits)
    }

    /// The record of what is written to a target in blocks of this form, made anew where there is none
    /// that is long enough.
    pub(crate) fn record(&self, target: TargetId, form: BlockForm, bytes: u64) -> Arc<Record> {
        let mut records = self.records.lock().expect("nothing panics in here");
        let of_target = records.entry(target).or_default();
        let grid = form.grid;
        let needed = (bytes - grid.phase) / grid.part_bytes * grid.part_bytes + grid.phase;
        of_target.retain(|(known, record)| *known != form || record.bytes() >= needed);
        let known = of_target.iter().find(|(known, _)| *known == form);
        let record = known.map(|(_, record)| Arc::clone(record));
        record.unwrap_or_else(|| {
            let record = Arc::new(Record::new(grid, bytes));
            of_target.push((form, Arc::clone(&record)));
            record
        })
    }

    /// The record of a target, where writes of this form have made one.
    pub(crate) fn recorded(&self, target: TargetId, form: BlockForm) -> Option<Arc<Record>> {
        let records = self.records.lock().expect("nothing panics in here");
        let mut of_target = records.get(&target)?.iter();
        let (_, record) = of_target.find(|(known, _)| *known == form)?;
        Some(Arc::clone(record))
    }

    /// The records of a target in every other form; `None` for all of them.
    pub(crate) fn others(&self, target: TargetId, form: Option<BlockForm>) -> Vec<Arc<Record>> {
        let records = self.records.lock().expect("nothing panics in here");
        let of_target = records.get(&target).into_iter().flatten();
        let others = of_target.filter(|(known, _)| Some(*known) != form);
        others.map(|(_, record)| Arc::clone(record)).collect()
    }
}

impl Bits {
    fn new(words: usize) -> Arc<Self> {
        Arc::new(Self {
            words: (0..words).map(|_| AtomicU64::new(0)).collect(),
        })
    }

    /// Turns the bits of a range of bytes, and tells which content each part of it is to get.
    #[inline]
    pub(crate) fn turn(&self, bytes: Range<u64>, mut each: impl FnMut(Range<u64>, u64)) {
        let end = bytes.end.div_ceil(SECTOR);
        let mut sector = bytes.start / SECTOR;
        while sector < end {
            let (word, shift) = ((sector / 64) as usize, sector % 64);
            let count = (64 - shift).min(end - sector);
            let mask = (u64::MAX >> (64 - count)) << shift;
            let old = self.words[word].fetch_xor(mask, Relaxed) >> shift;
            let mut done = 0;
            while done < count {
                let variant = old >> done & 1;
                let same = (old >> done ^ variant.wrapping_neg()).trailing_zeros();
                let next = (done + u64::from(same)).min(count);
                let from = ((sector + done) * SECTOR).max(bytes.start);
                each(from..((sector + next) * SECTOR).min(bytes.end), variant);
                done = next;
            }
            sector += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(bits: &Bits, bytes: Range<u64>) -> Vec<(Range<u64>, u64)> {
        let mut parts = Vec::new();
        bits.turn(bytes, |range, variant| parts.push((range, variant)));
        parts
    }

    #[test]
    fn each_sector_alternates_by_itself() {
        let bits = Generations::default().of(TargetId(0), 1 << 20);
        assert_eq!(turn(&bits, 0..4096), [(0..4096, 0)]);
        assert_eq!(turn(&bits, 0..1024), [(0..1024, 1)]);
        assert_eq!(turn(&bits, 0..4096), [(0..1024, 0), (1024..4096, 1)]);
        // Over the end of a word, and with ends inside of sectors.
        assert_eq!(
            turn(&bits, 32_000..33_000),
            [(32_000..32_768, 0), (32_768..33_000, 0)]
        );
    }

    #[test]
    fn what_was_written_is_remembered_when_more_is_needed() {
        let generations = Generations::default();
        turn(&generations.of(TargetId(3), 4096), 0..512);
        let longer = generations.of(TargetId(3), 1 << 20);
        assert_eq!(turn(&longer, 0..1024), [(0..512, 1), (512..1024, 0)]);
    }
}
