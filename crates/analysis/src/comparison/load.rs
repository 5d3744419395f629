//! What was asked of a run, as far as its record tells: two runs are compared where that is alike.
use measure::RunTotals;
use plan::Operation;

/// Rates that were asked for are the same within this share.
const RATE_SHARE: f64 = 0.01;

/// Sizes of transfers are drawn where a job mixes them, and so is what is read.
const SIZE_SHARE: f64 = 0.05;
const READ_SHARE: f64 = 0.05;

/// Numbers of a sweep are those that were written.
const SAME_SHARE: f64 = 1e-9;

/// The load of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loaded {
    /// Arrivals per second; `None` when flat out.
    pub asked_per_s: Option<f64>,
    /// What a sweep gave it, by name.
    pub swept: Vec<(String, f64)>,
    /// Bytes of an operation on average; zero where nothing came back.
    pub operation_bytes: f64,
    /// Of the operations that move data, those that read; 0 to 1.
    pub read_share: f64,
    /// How many may be in flight; `None` where nobody tells.
    pub slots: Option<u32>,
    /// Whether this is no run but the knee of several.
    pub is_knee: bool,
}

impl Loaded {
    pub fn of(totals: &RunTotals) -> Self {
        let moves = |operation: Operation| !operation.is_sync();
        let moving = || totals.figures.iter().filter(|one| moves(one.key.operation));
        let operations: u64 = moving().map(|one| one.operations).sum();
        let bytes: u64 = moving().map(|one| one.bytes).sum();
        let reads = moving().filter(|one| one.key.operation == Operation::Read);
        let reads: u64 = reads.map(|one| one.operations).sum();
        let each = |amount: u64| amount as f64 / operations.max(1) as f64;
        let swept = totals.started.swept.iter();
        Self {
            asked_per_s: totals.started.asked_rate,
            swept: swept.map(|one| (one.name.clone(), one.value)).collect(),
            operation_bytes: each(bytes),
            read_share: each(reads),
            slots: Some(totals.slots()),
            is_knee: false,
        }
    }

    /// Whether the same was asked.
    pub fn is_like(&self, other: &Self) -> bool {
        let is_rate = match (self.asked_per_s, other.asked_per_s) {
            (None, None) => true,
            (Some(one), Some(other)) => is_near(one, other, RATE_SHARE),
            _ => false,
        };
        is_rate
            && self.is_knee == other.is_knee
            && Option::zip(self.slots, other.slots).is_none_or(|(one, other)| one == other)
            && self.is_swept_like(other)
            && (self.read_share - other.read_share).abs() <= READ_SHARE
            && is_near(self.operation_bytes, other.operation_bytes, SIZE_SHARE)
    }

    /// What only one of them names may have been written out in the other.
    fn is_swept_like(&self, other: &Self) -> bool {
        let same = |(name, value): &(String, f64)| {
            let mut others = other.swept.iter().filter(|(known, _)| known == name);
            others.all(|(_, other)| is_near(*value, *other, SAME_SHARE))
        };
        self.swept.iter().all(same)
    }
}

fn is_near(one: f64, other: f64, share: f64) -> bool {
    (one - other).abs() <= one.abs().max(other.abs()) * share
}
