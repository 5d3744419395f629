//! What written blocks contain.
use serde::{Deserialize, Serialize};

/// The content of written data. The plain case is unique and incompressible.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataSpec {
    /// Original size ÷ compressed size that any compressor should see; 1 is incompressible.
    pub compression_ratio: f64,
    pub duplicates: Option<DuplicateSpec>,
    /// Content repeated from a pattern, in place of generated data.
    pub pattern: Option<Vec<u8>>,
    pub seed: u64,
}

/// How much of the written data repeats.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DuplicateSpec {
    /// Written ÷ stored after a full pass; 1 is all unique.
    pub ratio: f64,
    pub unit_bytes: u64,
    pub sets: SetCount,
    /// Groups of hot sets: this many sets of this many blocks each.
    pub hot_sets: Vec<(u64, u64)>,
    pub replace: ReplacePolicy,
    /// Whether duplicates are shared between targets.
    pub across_targets: bool,
}

/// The number of duplicate sets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SetCount {
    Count(u64),
    /// Percent of all unit blocks.
    Percent(f64),
}

/// What rewriting a duplicate block does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplacePolicy {
    SameContent,
    Alternate,
    AlternateHotOnly,
}

impl Default for DataSpec {
    fn default() -> Self {
        Self {
            compression_ratio: 1.0,
            duplicates: None,
            pattern: None,
            seed: 0,
        }
    }
}
