//! Bytes that no compressor shortens, and as many zeros behind them as the ratio asks for.
//!
//! A slice of random bytes is combined with 16 bytes of the piece's own by exclusive or. Two pieces
//! that share a slice differ in every byte or nearly so, and compressors that look for repetition
//! find none, at the cost of little more than a copy.
use super::pattern::Repeated;
use super::{BLOCK_MARK, HEAD, PIECE};
use crate::random::{GOLDEN, mix};
use plan::DataSpec;
use sys::bytes::masked_copy;

/// Random bytes that slices are cut from: little enough to stay in the first cache of a core.
const NOISE_BYTES: usize = 8 << 10;

/// Slices begin at multiples of this.
const STEP: usize = 64;

/// Each of these has a stamp of its own in data that are made once; the smallest unit of devices.
const SECTOR: usize = 512;

/// What coding a run of zeros takes: between what zstd and lz4 need for it, so that both come close.
const RUN_BYTES: usize = 4;
/// One more byte for so many of the chunk, as lz4 writes long lengths.
const CHUNK_PER_RUN_BYTE: usize = 1024;

/// Bytes of one block that have one key.
#[derive(Debug)]
pub(super) struct Part<'a> {
    pub to: &'a mut [u8],
    /// Where they begin in their block.
    pub first: usize,
    pub whole: usize,
    pub key: u64,
    /// What follows the incompressible bytes stands there since the buffer was filled before.
    pub has_tails: bool,
}

/// Random bytes.
#[derive(Debug)]
pub(super) struct Noise {
    bytes: Vec<u8>,
}

/// How the bytes of a piece are divided.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    /// Divides a piece, or is a multiple of it; `None` is the whole block.
    chunk: Option<usize>,
    piece: usize,
    ratio: f64,
    /// Incompressible bytes of a whole chunk.
    kept: usize,
    /// What follows them in place of zeros.
    tail: Option<usize>,
}

impl Form {
    pub(super) fn new(data: &DataSpec) -> Self {
        let asked = usize::try_from(data.chunk_bytes).unwrap_or(0);
        let (chunk, piece) = match asked {
            0 => (None, PIECE),
            chunk if chunk <= PIECE => (Some(chunk), PIECE / chunk * chunk),
            chunk => (Some(chunk.next_multiple_of(PIECE)), PIECE),
        };
        let ratio = data.compression_ratio.max(1.0);
        Self {
            chunk,
            piece,
            ratio,
            kept: chunk.map_or(0, |chunk| kept(chunk, ratio)),
            tail: data
                .pattern
                .filter(|_| ratio > 1.0)
                .map(plan::PatternId::index),
        }
    }

    /// Incompressible bytes of a chunk of this length.
    #[inline]
    fn kept(&self, chunk: usize) -> usize {
        match self.chunk {
            Some(whole) if whole == chunk => self.kept,
            _ => kept(chunk, self.ratio),
        }
    }
}

fn kept(chunk: usize, ratio: f64) -> usize {
    if ratio <= 1.0 {
        return chunk;
    }
    let share = (chunk as f64 / ratio).round() as usize;
    let coding = RUN_BYTES + chunk / CHUNK_PER_RUN_BYTE;
    share.saturating_sub(coding).max(HEAD).min(chunk)
}

impl Noise {
    /// The same for all executions, so that duplicates are; keys make the difference.
    pub(super) fn new() -> Self {
        let words = (NOISE_BYTES + PIECE) / 8;
        let word = |index: usize| mix((index as u64).wrapping_mul(GOLDEN)).to_le_bytes();
        Self {
            bytes: (0..words).flat_map(word).collect(),
        }
    }

    /// Fills a part of a block.
    #[inline]
    pub(super) fn fill(&self, part: Part<'_>, form: &Form, patterns: &[Repeated]) {
        let Part { mut to, whole, .. } = part;
        let mut at = part.first;
        while !to.is_empty() {
            let (number, inside) = (at / form.piece, at % form.piece);
            let start = number * form.piece;
            let length = form.piece.min(whole - start);
            let (bytes, rest) = to.split_at_mut((length - inside).min(to.len()));
            let piece = Piece {
                start,
                length,
                whole,
                key: part.key.wrapping_add((number as u64).wrapping_mul(GOLDEN)),
                has_tails: part.has_tails && inside == 0,
            };
            at += bytes.len();
            if inside == 0 {
                self.piece(bytes, piece, form, patterns);
            } else {
                self.part_of_piece(bytes, inside, piece, form, patterns);
            }
            to = rest;
        }
    }

    /// A transfer that begins within a piece: made whole, and the wanted part taken.
    #[cold]
    fn part_of_piece(
        &self,
        to: &mut [u8],
        inside: usize,
        piece: Piece,
        form: &Form,
        patterns: &[Repeated],
    ) {
        let mut scratch = [0; PIECE];
        let whole = &mut scratch[..inside + to.len()];
        self.piece(whole, piece, form, patterns);
        to.copy_from_slice(&whole[inside..]);
    }

    /// The first bytes of a piece.
    #[inline]
    fn piece(&self, to: &mut [u8], piece: Piece, form: &Form, patterns: &[Repeated]) {
        let mask = [
            mix(piece.key.wrapping_add(1)),
            mix(piece.key.wrapping_add(2)),
        ];
        let from = (mask[0] >> 32) as usize % (NOISE_BYTES / STEP) * STEP;
        let slice = &self.bytes[from..from + PIECE];
        let mut begins_generated = true;
        let step = form
            .chunk
            .map_or(piece.length, |chunk| chunk.min(piece.length));
        for (number, part) in to.chunks_mut(step.max(1)).enumerate() {
            let at = number * step;
            let kept = piece.kept(at, form).min(part.len());
            begins_generated &= number > 0 || kept >= HEAD;
            let (generated, rest) = part.split_at_mut(kept);
            masked_copy(generated, &slice[at..at + kept], mask);
            match form.tail {
                _ if piece.has_tails => {}
                None => rest.fill(0),
                Some(pattern) => patterns[pattern].copy_at(rest, piece.start + at + kept),
            }
        }
        if begins_generated {
            mark(to, piece.key);
        }
    }
}

#[derive(Clone, Copy)]
struct Piece {
    /// Where it begins in its block.
    start: usize,
    length: usize,
    whole: usize,
    key: u64,
    has_tails: bool,
}

impl Piece {
    /// How many bytes from `at` on, where a chunk or the piece begins, are incompressible.
    #[inline]
    fn kept(&self, at: usize, form: &Form) -> usize {
        match form.chunk {
            Some(chunk) if chunk <= PIECE => form.kept(chunk.min(self.length - at)),
            // A chunk of several pieces: its incompressible part may end in an earlier one.
            _ => {
                let chunk = form.chunk.unwrap_or(self.whole);
                let begin = self.start / chunk * chunk;
                let kept = form.kept(chunk.min(self.whole - begin));
                (begin + kept).saturating_sub(self.start).min(self.length)
            }
        }
    }
}

/// Makes a piece ours and unlike any with another key.
#[inline]
fn mark(piece: &mut [u8], key: u64) {
    if let Some(head) = piece.get_mut(..HEAD) {
        head[..8].copy_from_slice(&BLOCK_MARK);
        head[8..].copy_from_slice(&key.to_le_bytes());
    }
}

/// Marks every piece of a transfer.
pub(super) fn mark_all(buffer: &mut [u8], key: u64) {
    for (number, piece) in buffer.chunks_mut(PIECE).enumerate() {
        mark(
            piece,
            key.wrapping_add((number as u64).wrapping_mul(GOLDEN)),
        );
    }
}

/// Makes every sector of a transfer unlike any with another key, and leaves the rest as it is.
pub(super) fn stamp_all(buffer: &mut [u8], key: u64) {
    let sectors = PIECE / SECTOR;
    let spread = |number: usize| key.wrapping_add((number as u64).wrapping_mul(GOLDEN));
    for (number, piece) in buffer.chunks_mut(PIECE).enumerate() {
        mark(piece, spread(number));
        // Where a piece begins its mark stands, which tells writes apart already.
        for (inside, sector) in piece.chunks_mut(SECTOR).enumerate().skip(1) {
            if let Some(stamp) = sector.get_mut(..8) {
                let word = mix(spread(number * sectors + inside));
                stamp.copy_from_slice(&word.to_le_bytes());
            }
        }
    }
}
