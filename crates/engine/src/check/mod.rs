//! Whether what is read is what was written. Writes are given headers while their buffers are
//! filled, reads are looked at when they come back, and what was written is remembered for the run
//! that reads it back. Read [`Checks`] first, then [`crate::record`].
mod backlog;
mod contents;
mod discards;
mod extents;
mod header;
mod rehearsal;
mod sums;

pub(crate) use backlog::{Backlog, ReadBacks, Written};
pub(crate) use rehearsal::rehearsed;

use crate::data::{Remaker, Write};
use crate::generations::Writing;
use crate::op::places;
use crate::random::mix;
use crate::record::{BLOCKS_MAX, BlockForm, Grid, Known, Parts, Record, Walk, tag};
use contents::{Keeper, Place};
use header::{Header, MAGIC, number_of, sum_of};
use measure::{Misfit, MisfitKind};
use plan::{
    AddressOrder, BoundRegion, BoundRun, Check, CheckMethod, Generator, HEADER_BYTES, OpSource,
    TargetId, WritePattern,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use sums::sum;

/// The sum of data by a method, as it stands in the header of a block: of these bytes the first count
/// that the method has, none for a method without a sum.
pub fn sum_of_block(method: CheckMethod, data: &[u8]) -> [u8; sums::SUM_BYTES_MAX] {
    sum(method, data)
}

/// The checks of all streams of a run that has any.
#[derive(Debug)]
pub(crate) struct Checks {
    streams: Vec<Option<StreamCheck>>,
}

/// The check of one stream.
#[derive(Debug)]
pub(crate) struct StreamCheck {
    check: Check,
    block: usize,
    header_at: usize,
    header_bytes: usize,
    writer: u16,
    pattern: Option<WritePattern>,
    /// Blocks of the longest transfer.
    transfer_blocks: usize,
    /// By place of the target, where what is written is remembered.
    records: Vec<Option<Arc<Record>>>,
    /// By place of the target, records of blocks of other forms.
    others: Vec<Vec<Arc<Record>>>,
    keeper: Option<Keeper>,
}

impl Checks {
    /// `None` where no stream of the run checks anything.
    pub(crate) fn new(writing: &Writing<'_>) -> Option<Self> {
        forget_what_is_unchecked(writing);
        let run = &writing.run.run;
        if run.streams.iter().all(|stream| stream.data.check.is_none()) {
            return None;
        }
        let numbers = 0..run.streams.len();
        let streams = numbers.map(|number| StreamCheck::new(writing, number));
        let mut streams: Vec<Option<StreamCheck>> = streams.collect();
        // When all records are there.
        for (number, check) in streams.iter_mut().enumerate() {
            let Some(check) = check else { continue };
            let forms = forms(writing.run, number);
            let targets = run.streams[number].targets.iter();
            let others = |target: &TargetId| {
                let own = forms.get(target).copied();
                writing.generations.others(*target, own)
            };
            check.others = targets.map(others).collect();
        }
        Some(Self { streams })
    }

    #[inline]
    pub(crate) fn of(&self, stream: usize) -> Option<&StreamCheck> {
        self.streams[stream].as_ref()
    }
}

impl StreamCheck {
    /// Without the records of others.
    fn new(writing: &Writing<'_>, number: usize) -> Option<Self> {
        let stream = &writing.run.run.streams[number];
        let check = stream.data.check?;
        let forms = forms(writing.run, number);
        let record = |target: &TargetId| {
            let form = *forms.get(target)?;
            let bytes = writing.plan.targets[target.index()].bytes;
            let saves = || extents::are_saved(&check, form.grid, bytes);
            (check.records || saves())
                .then(|| writing.generations.record(*target, form, bytes))
                .or_else(|| writing.generations.recorded(*target, form))
        };
        let patterns = &writing.plan.plan.patterns;
        let longest = stream.source.laws().map_or(0, Generator::largest_transfer);
        Some(Self {
            check,
            block: check.block_bytes as usize,
            header_at: check.header_at as usize,
            header_bytes: check.method.header_bytes(),
            writer: number as u16 + 1,
            pattern: check.pattern.map(|id| patterns[id.index()].clone()),
            transfer_blocks: (longest / check.block_bytes) as usize,
            records: stream.targets.iter().map(record).collect(),
            others: vec![Vec::new(); stream.targets.len()],
            keeper: check
                .dumps
                .then(|| Keeper::new(Remaker::new(writing, &stream.data))),
        })
    }

    /// Gives each block of a filled buffer its header, and notes that it will be sent.
    pub(crate) fn stamp(&self, buffer: &mut [u8], write: Write, seed: u64) {
        if let Some(record) = &self.records[write.place] {
            record.begin(write.offset, buffer.len() as u64);
        }
        self.overwritten(write.place, write.offset, buffer.len() as u64);
        let Some(method) = number_of(self.check.method) else {
            return;
        };
        for (number, block) in buffer.chunks_exact_mut(self.block).enumerate() {
            let header = Header {
                magic: MAGIC,
                method,
                length: self.block as u32,
                seed,
                offset: write.offset + (number * self.block) as u64,
                at_ns: write.at_ns,
                writer: self.writer,
                number: write.index as u16,
                sum: 0,
            };
            let sum = sum(self.check.method, &block[self.header_bytes..]);
            let (head, data) = block.split_at_mut(HEADER_BYTES);
            header.write(head);
            let kept = self.header_bytes - HEADER_BYTES;
            data[..kept].copy_from_slice(&sum[..kept]);
            self.swap(block);
        }
    }

    /// A write came back, with `moved` of its bytes there; negative when it failed. The tag by which
    /// it is remembered, if it is and all of it is there.
    pub(crate) fn wrote(
        &self,
        place: usize,
        offset: u64,
        length: u32,
        moved: i32,
        buffer: &[u8],
    ) -> Option<u32> {
        let length = u64::from(length);
        // A write of another form may have come and gone meanwhile, and this one may lie on top.
        self.overwritten(place, offset, length);
        let record = self.records[place].as_ref()?;
        let kept = moved.max(0) as u64 / self.check.block_bytes * self.check.block_bytes;
        if kept < length {
            record.failed(offset + kept, length - kept);
        }
        let tag = match number_of(self.check.method) {
            Some(_) if buffer.len() >= self.block => {
                tag(Header::read(&buffer[self.header_at..]).seed)
            }
            // Whose start is known only by where it was.
            _ => tag(mix(offset)),
        };
        record.end(offset, kept, tag);
        (kept == length).then_some(tag)
    }

    /// Whether a transfer is as it was written, and nothing was sent there since.
    pub(crate) fn is_still(&self, written: Written) -> bool {
        let record = self.records[written.place as usize].as_ref();
        let length = u64::from(written.length);
        record.is_some_and(|record| record.is_all(written.offset, length, written.tag))
    }

    /// A transfer has been looked at, and is not to be read again behind the writes.
    pub(crate) fn was_read_back(&self, written: Written) {
        if let Some(record) = &self.records[written.place as usize] {
            record.was_read_back(written.offset, u64::from(written.length), written.tag);
        }
    }

    /// A transfer is about to be discarded.
    pub(crate) fn begin_discard(&self, written: Written) {
        if let Some(record) = &self.records[written.place as usize] {
            record.begin_discard(written.offset, written.length.into(), written.tag);
        }
    }

    /// A transfer was discarded, unless that failed.
    pub(crate) fn discarded(&self, place: usize, offset: u64, length: u32, result: i32) {
        let discards = self.check.discards;
        let reads_zeros = discards.is_some_and(|discards| discards.reads_zeros);
        if let Some(record) = &self.records[place] {
            record.end_discard(offset, length.into(), reads_zeros && result >= 0);
        }
    }

    /// What was trimmed reads as anything.
    pub(crate) fn trimmed(&self, place: usize, offset: u64, length: u32) {
        if let Some(record) = &self.records[place] {
            record.forget(offset, u64::from(length));
        }
        self.overwritten(place, offset, length.into());
    }

    /// Nothing of another form is there any more.
    #[inline]
    fn overwritten(&self, place: usize, offset: u64, length: u64) {
        for other in &self.others[place] {
            other.overwritten(offset, length);
        }
    }

    /// Looks at what was read; the first block that is wrong.
    pub(crate) fn misfit(&self, place: usize, offset: u64, buffer: &mut [u8]) -> Option<Misfit> {
        if !self.check.reads {
            return None;
        }
        self.find(place, offset, buffer)
    }

    /// The same for reads of any stream.
    fn find(&self, place: usize, offset: u64, buffer: &mut [u8]) -> Option<Misfit> {
        let record = self.records[place].as_deref();
        let transfer_bytes = buffer.len();
        let blocks = buffer.chunks_exact_mut(self.block).enumerate();
        for (number, block) in blocks {
            let at = number * self.block;
            let known = record.map(|record| record.known(offset + at as u64));
            let found = match self.check.method {
                _ if known == Some(Known::Zeros) => misfit_of_zeros(block),
                CheckMethod::Nothing => None,
                CheckMethod::Pattern => self.misfit_of_pattern(block, (offset, at), 0),
                _ => {
                    self.swap(block);
                    let found = self.misfit_of_block(block, (offset, at), record);
                    self.swap(block);
                    found
                }
            };
            if let Some((what, expected, found)) = found {
                let place = Place {
                    offset,
                    at,
                    transfer_bytes,
                };
                return Some(Misfit {
                    what,
                    method: self.check.method,
                    block_offset: offset + at as u64,
                    block_bytes: self.block as u64,
                    expected,
                    found,
                    contents: self.contents(block, place, what),
                });
            }
        }
        None
    }

    /// What is wrong with a block whose header stands at its start, and which begins `at` bytes
    /// behind the start of its transfer.
    fn misfit_of_block(
        &self,
        block: &[u8],
        (transfer, at): (u64, usize),
        record: Option<&Record>,
    ) -> Option<(MisfitKind, String, String)> {
        let offset = transfer + at as u64;
        let header = Header::read(block);
        let told = |what, expected: u64, found: u64| {
            let of = |number: u64| number.to_string();
            (expected != found).then(|| (what, of(expected), of(found)))
        };
        let method = number_of(self.check.method).expect("methods without a header are elsewhere");
        let header_sum = u64::from(sum_of(block));
        let wrong_header = told(MisfitKind::Magic, MAGIC.into(), header.magic.into())
            .or_else(|| {
                let block = self.check.block_bytes;
                told(MisfitKind::Length, block, header.length.into())
            })
            .or_else(|| told(MisfitKind::Address, offset, header.offset))
            .or_else(|| told(MisfitKind::HeaderSum, header_sum, header.sum.into()))
            .or_else(|| told(MisfitKind::Method, method.into(), header.method.into()));
        if wrong_header.is_some() {
            return wrong_header;
        }
        let record = record.filter(|_| !self.check.any_write);
        if let Some(Known::Write(expected)) = record.map(|record| record.known(offset)) {
            let found = tag(header.seed);
            let other = told(MisfitKind::OtherWrite, expected.into(), found.into());
            if other.is_some() {
                return other;
            }
        }
        let (head, data) = block.split_at(self.header_bytes);
        let has_no_sum = self.check.method.sum_bytes() == 0;
        if has_no_sum && self.pattern.is_some() {
            let behind = (transfer, at + self.header_bytes);
            return self.misfit_of_pattern(data, behind, self.header_bytes);
        }
        let expected = &head[HEADER_BYTES..];
        let sum = sum(self.check.method, data);
        let found = &sum[..expected.len()];
        (expected != found).then(|| (MisfitKind::Data, digits(expected), digits(found)))
    }

    /// The first byte that is not of the pattern, of data that begin `at` bytes behind the start of
    /// their transfer and `inside` bytes behind that of their block.
    fn misfit_of_pattern(
        &self,
        data: &[u8],
        (transfer, at): (u64, usize),
        inside: usize,
    ) -> Option<(MisfitKind, String, String)> {
        let pattern = self.pattern.as_ref()?;
        let expected = |place: usize, back: usize| {
            pattern.byte(at + back + place, transfer.wrapping_sub(back as u64))
        };
        let wrong = |back: usize| {
            let mut places = 0..data.len();
            places.find(|place| data[*place] != expected(*place, back))
        };
        let place = wrong(0)?;
        // What is left of a longer transfer, which began before.
        let mut before = (1..self.transfer_blocks).map(|blocks| blocks * self.block);
        if before.any(|back| back as u64 <= transfer && wrong(back).is_none()) {
            return None;
        }
        let what = MisfitKind::Pattern {
            at: (inside + place) as u64,
        };
        let found = digits(&[data[place]]);
        Some((what, digits(&[expected(place, 0)]), found))
    }

    /// Exchanges the header at the start of a block with what is at its place.
    #[inline]
    fn swap(&self, block: &mut [u8]) {
        if self.header_at > 0 {
            let (front, back) = block.split_at_mut(self.header_at);
            let length = self.header_bytes;
            front[..length].swap_with_slice(&mut back[..length]);
        }
    }
}

/// The first byte that is none.
fn misfit_of_zeros(block: &[u8]) -> Option<(MisfitKind, String, String)> {
    let place = block.iter().position(|byte| *byte != 0)?;
    let what = MisfitKind::NotZero { at: place as u64 };
    Some((what, digits(&[0]), digits(&[block[place]])))
}

/// What the checks of a run cannot do, in words.
pub(crate) fn unsupported(run: &BoundRun) -> Option<String> {
    let large = backlog::unsupported(run);
    if large.is_some() {
        return large;
    }
    for (stream, bound) in run.run.streams.iter().zip(&run.streams) {
        let Some(check) = stream.data.check else {
            if extents::listed(stream).is_some() {
                return Some("parts of targets where nothing is checked".to_owned());
            }
            if rehearsal::is_asked(stream) {
                return Some("rehearsed writes where nothing is checked".to_owned());
            }
            continue;
        };
        let stop = stream.stop;
        if rehearsal::is_asked(stream) && stop.bytes.or(stop.operations).is_none() {
            return Some("rehearsed writes without an end".to_owned());
        }
        if let OpSource::Generator(generator) = &stream.source
            && let aligned = generator.align.bytes()
            && aligned
                .iter()
                .any(|unit| !unit.is_multiple_of(address_bytes(&check)))
        {
            return Some("checks of transfers at addresses between their blocks".to_owned());
        }
        let mut grids: BTreeMap<TargetId, Grid> = BTreeMap::new();
        for region in &bound.regions {
            let grid = grid(&check, region);
            if *grids.entry(region.target).or_insert(grid) != grid {
                return Some("checks of one target in blocks at several places".to_owned());
            }
            let is_known = extents::listed(stream).is_some() || rehearsal::is_asked(stream);
            let is_remembered = check.records || is_known;
            if is_remembered && (region.low + region.width) / grid.part_bytes > BLOCKS_MAX {
                return Some(format!(
                    "checks of more than {BLOCKS_MAX} blocks of a target"
                ));
            }
        }
    }
    None
}

/// What streams without checks are about to write is nothing that is known any more.
fn forget_what_is_unchecked(writing: &Writing<'_>) {
    let streams = writing.run.run.streams.iter().zip(&writing.run.streams);
    let plain =
        streams.filter(|(stream, _)| stream.data.check.is_none() && stream.source.changes_data());
    for region in plain.flat_map(|(_, bound)| &bound.regions) {
        let (low, end) = region.extent();
        for record in writing.generations.others(region.target, None) {
            record.overwritten(low, end - low);
        }
    }
}

/// In which form a stream writes the blocks of each of its targets.
fn forms(run: &BoundRun, number: usize) -> BTreeMap<TargetId, BlockForm> {
    let Some(check) = run.run.streams[number].data.check else {
        return BTreeMap::new();
    };
    let regions = run.streams[number].regions.iter();
    regions
        .map(|region| (region.target, form(&check, region)))
        .collect()
}

fn form(check: &Check, region: &BoundRegion) -> BlockForm {
    BlockForm {
        grid: grid(check, region),
        method: check.method,
        header_at: check.header_at,
        pattern: check.pattern,
    }
}

fn grid(check: &Check, region: &BoundRegion) -> Grid {
    let address_bytes = address_bytes(check);
    let part_bytes = match check.from_end {
        true => common_divisor(address_bytes, region.width),
        false => address_bytes,
    };
    Grid {
        block_bytes: check.block_bytes,
        part_bytes,
        phase: region.low % part_bytes,
    }
}

/// What the addresses of blocks are multiples of, from the start of their region.
fn address_bytes(check: &Check) -> u64 {
    match check.address_bytes {
        0 => check.block_bytes,
        bytes => bytes,
    }
}

fn common_divisor(one: u64, other: u64) -> u64 {
    match other {
        0 => one,
        _ => common_divisor(other, one % other),
    }
}

/// What a stream reads back, by the records of its targets or by what its order lists.
pub(crate) fn walk(writing: &Writing<'_>, number: usize) -> Option<Walk> {
    let stream = &writing.run.run.streams[number];
    let OpSource::Generator(generator) = &stream.source else {
        return None;
    };
    let parts = match &generator.order {
        AddressOrder::AsRecorded => recorded(writing, number),
        AddressOrder::Listed(list) => extents::parts(writing, number, list)?,
        _ => return None,
    };
    Some(Walk::new(parts, generator.largest_transfer()))
}

fn recorded(writing: &Writing<'_>, number: usize) -> Parts {
    let stream = &writing.run.run.streams[number];
    let Some(check) = stream.data.check else {
        return Parts::new();
    };
    let places = places(&stream.targets);
    let part = |region: &BoundRegion| {
        let place = *places.get(&region.target)?;
        let form = form(&check, region);
        let record = writing.generations.recorded(region.target, form)?;
        let (low, end) = region.extent();
        Some((place, record, low..end))
    };
    let regions = &writing.run.streams[number].regions;
    regions.iter().filter_map(part).collect()
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
