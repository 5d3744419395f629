//! What written blocks contain: unique or repeated, as compressible as asked, recognisable as ours.
//!
//! Content is a function of numbers (seed, address, number of the write), so that no state grows
//! with what was written. Generated data come in pieces of at most 4 KiB that begin with
//! [`BLOCK_MARK`] and eight bytes of their own; the mark lets the overwrite guard tell our data from
//! others'. Read [`WriteData::fill`] first, then [`noise`].
mod chance;
mod duplicates;
mod noise;
mod pattern;
mod sample;
#[cfg(test)]
mod tests;

use crate::generations::Writing;
use crate::random::{fold, mix};
use chance::ChanceLaw;
use duplicates::{AddressLaw, laws};
use measure::DataFigures;
use noise::{Form, Noise, Part};
use pattern::Repeated;
use plan::{BoundRun, DataSpec, Duplicates, Generator, Refresh};
use sample::Samples;

/// The first eight bytes of every piece that Fathom generates.
pub const BLOCK_MARK: [u8; 8] = *b"FATHOM\x01\x00";

/// Pieces of generated data are this long, or shorter at the end of a transfer or a duplicate block.
const PIECE: usize = 4096;

/// The mark and what tells pieces apart.
const HEAD: usize = 16;

/// The content of everything that a run writes.
#[derive(Debug)]
pub(crate) struct WriteData {
    noise: Noise,
    patterns: Vec<Repeated>,
    streams: Vec<StreamData>,
    samples: Samples,
}

/// One write, as far as its content depends on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write {
    pub stream: usize,
    /// The target by its place in the stream.
    pub place: usize,
    pub offset: u64,
    /// Does not repeat within the stream.
    pub index: u64,
    /// When it was issued, by the clock of the run.
    pub at_ns: u64,
}

/// What a buffer holds at its start, for contents that need not be made again.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Filled {
    pub bytes: u32,
    stream: u32,
    /// Where in a block it began.
    first: u64,
}

#[derive(Debug)]
struct StreamData {
    form: Form,
    content: Content,
    /// Of this stream in this run of this execution, and of no other.
    key: u64,
}

#[derive(Debug)]
enum Content {
    Unique,
    /// What the buffer holds once it was filled, with stamps of this write.
    Stamped,
    /// Whatever the buffer holds once it was filled.
    AsFilled,
    Pattern {
        pattern: usize,
        is_marked: bool,
        stays: bool,
    },
    ByChance(ChanceLaw),
    /// By place of the target.
    ByAddress(Vec<AddressLaw>),
}

/// The largest transfer of a run: the size of each buffer.
pub(crate) fn buffer_bytes(run: &BoundRun) -> usize {
    let largest = run.run.streams.iter().map(|stream| {
        let laws = stream.source.laws();
        laws.map_or(0, Generator::largest_transfer)
    });
    largest.max().unwrap_or(0).max(4096) as usize
}

/// The place of a stream in the whole run.
fn place(writing: &Writing<'_>, number: usize) -> u64 {
    u64::from(writing.run.streams[number].place)
}

impl WriteData {
    /// Everything that the streams of a run write; its generations remember over the runs of an
    /// execution.
    pub(crate) fn new(writing: &Writing<'_>) -> Self {
        let plan = &writing.plan.plan;
        let largest = buffer_bytes(writing.run);
        let run = fold(writing.nonce, u64::from(writing.run.id.0));
        let streams = writing.run.run.streams.iter().enumerate();
        let streams = streams.map(|(number, stream)| {
            let data = &stream.data;
            let key = fold(fold(mix(data.seed), run), place(writing, number));
            StreamData {
                form: Form::new(data),
                content: content(writing, number, data, run),
                key,
            }
        });
        let streams: Vec<StreamData> = streams.collect();
        let uses = |id: usize| {
            let of = |data: &DataSpec| data.pattern.is_some_and(|pattern| pattern.index() == id);
            writing
                .run
                .run
                .streams
                .iter()
                .any(|stream| of(&stream.data))
        };
        let patterns = plan.patterns.iter().enumerate();
        Self {
            noise: Noise::new(),
            patterns: patterns
                .map(|(id, pattern)| Repeated::new(pattern, if uses(id) { largest } else { 0 }))
                .collect(),
            streams,
            samples: Samples::new(writing),
        }
    }

    /// What was sent so far, of each kind of data.
    pub(crate) fn figures(&self) -> Vec<DataFigures> {
        self.samples.figures()
    }

    /// Fills a buffer for one write, and notes what it holds then. Before that, `stamp` may write over it; it is given
    /// the key of the write, which its data follow from unless a pattern or a share of duplicates is asked for.
    #[inline]
    pub(crate) fn fill(
        &self,
        buffer: &mut [u8],
        filled: &mut Filled,
        write: Write,
        stamp: impl FnOnce(&mut [u8], u64),
    ) {
        self.make(buffer, filled, write);
        stamp(buffer, self.streams[write.stream].fresh(write.index));
        self.samples
            .note(write.stream, write.place, write.offset, write.index, buffer);
    }

    #[inline]
    fn make(&self, buffer: &mut [u8], filled: &mut Filled, write: Write) {
        let stream = &self.streams[write.stream];
        let is_same = filled.stream == write.stream as u32;
        let stays = is_same && filled.bytes as usize >= buffer.len();
        let first = match &stream.content {
            Content::ByAddress(laws) => laws[write.place].within(write.offset),
            _ => 0,
        };
        let has_tails = is_same && filled.bytes as usize == buffer.len() && filled.first == first;
        let unit = |to, key| self.unit(to, stream, key, has_tails);
        match &stream.content {
            Content::Unique => unit(buffer, stream.fresh(write.index)),
            Content::Stamped if stays => {
                return noise::stamp_all(buffer, stream.fresh(write.index));
            }
            Content::AsFilled if stays => return,
            Content::AsFilled | Content::Stamped => unit(buffer, stream.fresh(write.index)),
            Content::Pattern { stays: true, .. } if stays => return,
            Content::Pattern {
                pattern, is_marked, ..
            } => {
                self.patterns[*pattern].copy(buffer, write.offset);
                if *is_marked {
                    noise::mark_all(buffer, stream.fresh(write.index));
                }
            }
            Content::ByChance(law) => {
                unit(buffer, law.key(stream.key));
            }
            Content::ByAddress(laws) => {
                let law = &laws[write.place];
                law.each_part(write.offset, buffer, stream.fresh(write.index), |part| {
                    let part = Part { has_tails, ..part };
                    self.noise.fill(part, &stream.form, &self.patterns);
                });
            }
        }
        *filled = Filled {
            bytes: buffer.len() as u32,
            stream: write.stream as u32,
            first,
        };
    }

    /// A transfer that is one block.
    #[inline]
    fn unit(&self, to: &mut [u8], stream: &StreamData, key: u64, has_tails: bool) {
        let part = Part {
            whole: to.len(),
            to,
            first: 0,
            key,
            has_tails,
        };
        self.noise.fill(part, &stream.form, &self.patterns);
    }
}

/// Makes again what writes held, by their keys.
#[derive(Debug)]
pub(crate) struct Remaker {
    noise: Noise,
    form: Form,
    patterns: Vec<Repeated>,
}

impl Remaker {
    pub(crate) fn new(writing: &Writing<'_>, data: &DataSpec) -> Self {
        let largest = buffer_bytes(writing.run);
        let uses = |id: usize| data.pattern.is_some_and(|pattern| pattern.index() == id);
        let patterns = writing.plan.plan.patterns.iter().enumerate();
        Self {
            noise: Noise::new(),
            form: Form::new(data),
            patterns: patterns
                .map(|(id, pattern)| Repeated::new(pattern, if uses(id) { largest } else { 0 }))
                .collect(),
        }
    }

    /// A transfer of unique data.
    pub(crate) fn transfer(&self, bytes: usize, key: u64) -> Vec<u8> {
        let mut made = vec![0; bytes];
        let part = Part {
            to: &mut made,
            first: 0,
            whole: bytes,
            key,
            has_tails: false,
        };
        self.noise.fill(part, &self.form, &self.patterns);
        made
    }
}

impl StreamData {
    /// A key that no other write of any execution has.
    #[inline]
    fn fresh(&self, index: u64) -> u64 {
        fold(self.key, index)
    }
}

fn content(writing: &Writing<'_>, number: usize, data: &DataSpec, run: u64) -> Content {
    let is_compressible = data.compression_ratio > 1.0;
    // Headers are written over what a buffer holds, so none can stay as it is.
    if data.refresh == Refresh::Never && data.check.is_none() {
        return Content::AsFilled;
    }
    if let Some(pattern) = data.pattern
        && !is_compressible
    {
        let pattern_plan = &writing.plan.plan.patterns[pattern.index()];
        // One byte over and over is the same wherever it begins.
        let is_even = pattern_plan.bytes.windows(2).all(|pair| pair[0] == pair[1]);
        return Content::Pattern {
            pattern: pattern.index(),
            is_marked: pattern_plan.marks == plan::PatternMarks::EachBlock,
            stays: data.check.is_none()
                && pattern_plan.addresses.is_empty()
                && pattern_plan.marks == plan::PatternMarks::None
                && (is_even || pattern_plan.anchor == plan::PatternAnchor::Transfer),
        };
    }
    match data.duplicates {
        None if data.refresh == Refresh::Stamps && data.check.is_none() => Content::Stamped,
        None => Content::Unique,
        Some(Duplicates::ByWrite { pct, of }) => {
            let place = (u64::from(writing.run.id.0), place(writing, number));
            Content::ByChance(ChanceLaw::new(pct, of, data.seed, place))
        }
        Some(Duplicates::ByAddress(pool)) => {
            Content::ByAddress(laws(writing, number, pool, data.seed, run))
        }
    }
}
