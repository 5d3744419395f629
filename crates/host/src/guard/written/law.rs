//! What an execution said that it would write before it began: data that show by themselves whether they are of it. So
//! an execution that was killed leaves data that are known again.

use std::collections::BTreeSet;

use super::super::content::is_blank;
use super::Part;

/// Longer patterns leave no room in a record.
const PATTERN_BYTES_MAX: usize = 256;
/// Shorter cells would let pieces of a pattern stand for anything.
const CELL_BYTES_MIN: u64 = 512;

/// A pattern is written in a part, again and again from the start of each transfer on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Law {
    part: Part,
    /// Transfers begin and end at the first of the part and multiples of so many bytes from there.
    cell_bytes: u64,
    pattern: Vec<u8>,
}

impl Law {
    /// Nothing where data of this law could not be told from others.
    #[must_use]
    pub fn new(part: Part, cell_bytes: u64, pattern: &[u8]) -> Option<Self> {
        let has_room = (1..=PATTERN_BYTES_MAX).contains(&pattern.len());
        let is_law = part.0 < part.1 && has_room && cell_bytes >= CELL_BYTES_MIN;
        is_law.then(|| Self {
            part,
            cell_bytes,
            pattern: pattern.to_vec(),
        })
    }

    pub(super) fn part(&self) -> Part {
        self.part
    }

    pub(super) fn text(&self) -> String {
        let ((low, end), cell) = (self.part, self.cell_bytes);
        let hex: String = self.pattern.iter().map(|b| format!("{b:02x}")).collect();
        format!("{low} {end} {cell} {hex}")
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let mut number = || words.next()?.parse().ok();
        let (low, end, cell) = (number()?, number()?, number()?);
        let hex = words.next()?.as_bytes();
        let byte = |two: &[u8]| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok();
        let pattern: Option<Vec<u8>> = hex.chunks(2).map(byte).collect();
        let is_whole = hex.len().is_multiple_of(2) && words.next().is_none();
        is_whole.then(|| Self::new((low, end), cell, &pattern?))?
    }

    /// The same of what begins `by` bytes further on.
    pub(super) fn moved(&self, by: u64) -> Option<Self> {
        let (low, end) = self.part;
        Some(Self {
            part: (low.checked_add(by)?, end.checked_add(by)?),
            ..self.clone()
        })
    }

    /// Where one of these bytes may be followed by another transfer, or by data of another kind.
    pub(super) fn cuts(&self, low: u64, end: u64, cuts: &mut BTreeSet<u64>) {
        let (from, to) = (low.max(self.part.0), end.min(self.part.1));
        if from >= to {
            return;
        }
        let first = self.part.0;
        let start = first + (from - first).div_ceil(self.cell_bytes) * self.cell_bytes;
        cuts.extend((start..to).step_by(self.cell_bytes as usize));
        cuts.extend([from, to]);
    }

    /// Whether data at `at` without a cut inside are a piece of what was to be written, or nothing.
    pub(super) fn explains(&self, at: u64, data: &[u8]) -> bool {
        let is_inside = at >= self.part.0 && at + data.len() as u64 <= self.part.1;
        let length = self.pattern.len();
        let is_from = |phase: usize| {
            // Its beginning first: most phases end there.
            let (head, rest) = data.split_at(data.len().min(length - phase));
            head == &self.pattern[phase..phase + head.len()]
                && rest
                    .chunks(length)
                    .all(|turn| turn == &self.pattern[..turn.len()])
        };
        is_inside && (is_blank(data) || (0..length).any(is_from))
    }
}
