//! What written blocks contain.
use crate::check::Check;
use crate::ids::{DuplicatePoolId, PatternId, TargetId};
use serde::{Deserialize, Serialize};

/// What holds an incompressible share and its zeros unless a language says otherwise.
const USUAL_CHUNK_BYTES: u64 = 4096;

/// The content of written data. The plain case is unique and incompressible.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataSpec {
    /// Original size ÷ compressed size that any compressor should see; 1 is incompressible.
    pub compression_ratio: f64,
    /// Every so many bytes begin with their incompressible part; the rest is zeros, or the pattern
    /// where there is one. Zero is the whole transfer.
    #[serde(default = "usual_chunk_bytes")]
    pub chunk_bytes: u64,
    pub duplicates: Option<Duplicates>,
    /// Content repeated from a pattern: in place of generated data where the ratio is 1, in place of
    /// zeros where it is above.
    pub pattern: Option<PatternId>,
    #[serde(default)]
    pub refresh: Refresh,
    /// What is generated follows from this. Duplicates follow from nothing else, so that executions
    /// with the same seed share them.
    pub seed: u64,
    /// How it can be checked; `None` where nobody will.
    #[serde(default)]
    pub check: Option<Check>,
}

/// Whether each write has a content of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refresh {
    #[default]
    EachWrite,
    /// Buffers are filled once; a stamp in each 512 bytes makes every write differ from all others.
    /// Compressors with a window of many writes find what they share.
    Stamps,
    /// Buffers are filled once and sent as they are from then on.
    Never,
}

/// Which writes repeat what was written before.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Duplicates {
    /// By where a block lies: a full pass has the ratio of the pool exactly.
    ByAddress(DuplicatePoolId),
    /// By chance: this share of the writes of a stream, in percent.
    ByWrite { pct: f64, of: DuplicateSource },
}

/// What a write repeats that is a duplicate by chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DuplicateSource {
    /// The last write of the stream that was not a duplicate.
    Previous,
    /// Any of so many contents, the same for all streams of a seed where they are shared.
    WorkingSet { contents: u64, is_shared: bool },
}

/// Targets whose blocks are unique or members of sets together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DuplicatePool {
    /// Written ÷ stored after a full pass; 1 is all unique.
    pub ratio: f64,
    /// The size of a block; a multiple of 512.
    pub unit_bytes: u64,
    pub sets: SetCount,
    /// Groups of hot sets, counted among the sets: this many sets of this many blocks each, at the
    /// beginning of the targets in turn.
    pub hot_sets: Vec<(u64, u64)>,
    pub replace: ReplacePolicy,
    /// Whether a block is unique among all targets, or on its target only: then equal addresses
    /// hold equal data.
    pub across_targets: bool,
    pub targets: Vec<TargetId>,
}

/// The number of duplicate sets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SetCount {
    Count(u64),
    /// Percent of all blocks of the pool.
    Percent(f64),
}

/// What rewriting a duplicate block does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplacePolicy {
    SameContent,
    /// Between two contents of each set.
    Alternate,
    AlternateHotOnly,
}

/// Bytes that are written over and over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WritePattern {
    /// Not empty.
    #[serde(with = "hex")]
    pub bytes: Vec<u8>,
    /// Where in each repetition the address of the transfer stands, in eight bytes with the low one first; each
    /// place is inside of `bytes`, in ascending order. Only for patterns that are counted from the transfer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<u32>,
    /// The pattern begins anew each time that this many bytes of a transfer have passed, and the address in it is
    /// that of its start; zero is never. Only for patterns that are counted from the transfer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub restart_bytes: u64,
    pub anchor: PatternAnchor,
    pub marks: PatternMarks,
}

/// What the pattern is counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PatternAnchor {
    /// The start of each transfer.
    Transfer,
    /// The address modulo this many bytes.
    Address { period_bytes: u64 },
}

/// Whether the pattern is sent as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PatternMarks {
    /// To the last byte; the overwrite guard cannot know such blocks for ours.
    None,
    /// The first 16 bytes of each 4 KiB make it ours and unlike any other.
    EachBlock,
}

impl WritePattern {
    /// Bytes that an address takes.
    pub const ADDRESS_BYTES: usize = 8;

    /// The byte that stands `at` bytes behind the start of a transfer to `offset`, of a pattern that
    /// is counted from the transfer.
    pub fn byte(&self, at: usize, offset: u64) -> u8 {
        let since = self.since_restart(at);
        let offset = offset.wrapping_add((at - since) as u64);
        let at = since % self.bytes.len();
        let inside = self.addresses.iter().rev().find_map(|place| {
            let behind = at.checked_sub(*place as usize)?;
            (behind < Self::ADDRESS_BYTES).then_some(behind)
        });
        inside.map_or(self.bytes[at], |behind| offset.to_le_bytes()[behind])
    }

    /// How far after the last restart a place is, which is `at` bytes after the start of a transfer.
    pub fn since_restart(&self, at: usize) -> usize {
        match self.restart_bytes {
            0 => at,
            bytes => (at as u64 % bytes) as usize,
        }
    }
}

impl Default for DataSpec {
    fn default() -> Self {
        Self {
            compression_ratio: 1.0,
            chunk_bytes: USUAL_CHUNK_BYTES,
            duplicates: None,
            pattern: None,
            refresh: Refresh::EachWrite,
            seed: 0,
            check: None,
        }
    }
}

impl SetCount {
    /// The sets of a pool of `blocks`: at least one.
    pub fn of(self, blocks: u64) -> u64 {
        match self {
            SetCount::Count(count) => count.max(1),
            SetCount::Percent(pct) => ((blocks as f64 * pct / 100.0) as u64).max(1),
        }
    }
}

fn is_zero(bytes: &u64) -> bool {
    *bytes == 0
}

fn usual_chunk_bytes() -> u64 {
    USUAL_CHUNK_BYTES
}

/// Patterns reach a mebibyte; as a list of numbers they would fill the plan of a result file.
mod hex {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        let digit = |value: u8| char::from_digit(u32::from(value), 16).expect("four bits");
        let text: String = bytes
            .iter()
            .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
            .collect();
        to.serialize_str(&text)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(from)?;
        let digit = |byte: &u8| char::from(*byte).to_digit(16).map(|value| value as u8);
        let pairs = text.as_bytes().chunks(2);
        let bytes = pairs.map(|pair| match pair {
            [high, low] => Some(digit(high)? << 4 | digit(low)?),
            _ => None,
        });
        let bytes: Option<Vec<u8>> = bytes.collect();
        bytes.ok_or_else(|| D::Error::custom("a pattern is pairs of hexadecimal digits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_transfer_stands_in_each_repetition() {
        let mut pattern = WritePattern {
            bytes: vec![0; 17],
            addresses: vec![1, 9],
            restart_bytes: 0,
            anchor: PatternAnchor::Transfer,
            marks: PatternMarks::None,
        };
        pattern.bytes[0] = 0xff;
        let of = |offset| {
            (0..34)
                .map(|at| pattern.byte(at, offset))
                .collect::<Vec<u8>>()
        };
        let mut expected = vec![0xff];
        expected.extend([0x00, 0x10, 0, 0, 0, 0, 0, 0].repeat(2));
        assert_eq!(of(4096), expected.repeat(2));
        assert_eq!(of(0)[..3], [0xff, 0, 0]);
    }

    #[test]
    fn a_pattern_that_begins_anew_holds_the_address_of_its_start() {
        let pattern = WritePattern {
            bytes: [&[0xff][..], &[0; 8]].concat(),
            addresses: vec![1],
            restart_bytes: 16,
            anchor: PatternAnchor::Transfer,
            marks: PatternMarks::None,
        };
        let of = |at: usize| pattern.byte(at, 4096);
        let part = |low: usize| (low..low + 12).map(of).collect::<Vec<u8>>();
        assert_eq!(part(0), [0xff, 0, 0x10, 0, 0, 0, 0, 0, 0, 0xff, 0, 0x10]);
        assert_eq!(part(16), [0xff, 16, 0x10, 0, 0, 0, 0, 0, 0, 0xff, 16, 0x10]);
    }

    #[test]
    fn sets_are_counted_in_blocks_and_never_none() {
        assert_eq!(SetCount::Percent(5.0).of(1000), 50);
        assert_eq!(SetCount::Percent(5.0).of(3), 1);
        assert_eq!(SetCount::Count(7).of(3), 7);
    }
}
