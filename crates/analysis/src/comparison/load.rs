//! What was asked of a run, as far as its record tells: two runs are compared where that is alike.
use measure::RunTotals;
use plan::{Label, Operation};

/// Rates that were asked for are the same within this share.
const RATE_SHARE: f64 = 0.01;

/// Sizes of transfers are drawn where a job mixes them, and so is what is read.
const SIZE_SHARE: f64 = 0.05;
const READ_SHARE: f64 = 0.05;

/// Jobs side by side have shares that are rounded.
const RANDOM_PCT: f64 = 1.0;

/// How far two shares that were drawn may lie apart, in standard deviations.
const CHANCE_DEVIATIONS: f64 = 4.0;

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
    /// How many that was seen of; zero where nobody tells.
    pub operations: u64,
    /// Of the operations, those at random places, in percent; `None` where nobody tells.
    pub random_pct: Option<f64>,
    /// How many may be in flight; `None` where nobody tells.
    pub slots: Option<u32>,
    /// Whether this is no run but what several are together: a knee, or where they saturate.
    pub is_knee: bool,
}

/// An import says in a label what was asked: it was no schedule of ours.
fn asked_of(totals: &RunTotals) -> Option<f64> {
    let label = Label::find(&totals.started.labels, Label::ASKED_RATE);
    let imported = label.and_then(|text| text.parse().ok());
    totals.started.asked_rate.or(imported)
}

/// Jobs of Vdbench say it of a run, those of fio of each stream, or of all.
fn random_pct_of(totals: &RunTotals, globals: &[Label]) -> Option<f64> {
    if let Some(text) = Label::find(&totals.started.labels, "flat.seekpct") {
        return text.parse().ok().map(|pct: f64| pct.max(0.0));
    }
    let global = Label::find(globals, "global.rw");
    let streams = totals.started.streams.iter();
    let shares = streams.map(|stream| {
        let rw = Label::find(&stream.labels, "option.rw").or(global)?;
        let pct = if rw.starts_with("rand") { 100.0 } else { 0.0 };
        Some((pct * stream.share_pct, stream.share_pct))
    });
    let shares: Option<Vec<(f64, f64)>> = shares.collect();
    let shares = shares?;
    let all: f64 = shares.iter().map(|(_, share)| share).sum();
    // Jobs side by side may have all of their own rate each.
    (all > 0.0).then(|| shares.iter().map(|(random, _)| random).sum::<f64>() / all)
}

impl Loaded {
    /// With the labels of the whole job.
    pub fn of(totals: &RunTotals, globals: &[Label]) -> Self {
        let moves = |operation: Operation| !operation.is_sync();
        let moving = || totals.figures.iter().filter(|one| moves(one.key.operation));
        let operations: u64 = moving().map(|one| one.operations).sum();
        let bytes: u64 = moving().map(|one| one.bytes).sum();
        let reads = moving().filter(|one| one.key.operation == Operation::Read);
        let reads: u64 = reads.map(|one| one.operations).sum();
        let each = |amount: u64| amount as f64 / operations.max(1) as f64;
        let swept = totals.started.swept.iter();
        Self {
            asked_per_s: asked_of(totals),
            swept: swept.map(|one| (one.name.clone(), one.value)).collect(),
            operation_bytes: each(bytes),
            read_share: each(reads),
            operations,
            random_pct: random_pct_of(totals, globals),
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
            && self.is_random_like(other)
            && self.reads_like(other)
            && is_near(self.operation_bytes, other.operation_bytes, SIZE_SHARE)
    }

    fn is_random_like(&self, other: &Self) -> bool {
        let both = Option::zip(self.random_pct, other.random_pct);
        both.is_none_or(|(one, other)| (one - other).abs() <= RANDOM_PCT)
    }

    /// Of few operations the share of reads is uncertain by itself.
    fn reads_like(&self, other: &Self) -> bool {
        let fewest = self.operations.min(other.operations).max(1) as f64;
        let share = (self.read_share + other.read_share) / 2.0;
        let chance = match self.operations.min(other.operations) {
            0 => 0.0,
            _ => CHANCE_DEVIATIONS * (2.0 * share * (1.0 - share) / fewest).sqrt(),
        };
        (self.read_share - other.read_share).abs() <= READ_SHARE + chance
    }

    /// In what two loads differ, by name, as text has them.
    pub fn differences(&self, other: &Self) -> Vec<(&'static str, String, String)> {
        let rate = |load: &Self| {
            load.asked_per_s
                .map_or("flat out".to_owned(), |rate| format!("{rate}/s"))
        };
        let slots = |load: &Self| load.slots.map_or("-".to_owned(), |slots| slots.to_string());
        let share = |load: &Self| format!("{:.0} %", load.read_share * 100.0);
        let random = |load: &Self| {
            load.random_pct
                .map_or("-".to_owned(), |pct| format!("{pct:.0} %"))
        };
        let bytes = |load: &Self| crate::words::size(load.operation_bytes.round() as u64);
        let is_rate = Option::zip(self.asked_per_s, other.asked_per_s)
            .map_or(self.asked_per_s == other.asked_per_s, |(one, other)| {
                is_near(one, other, RATE_SHARE)
            });
        let is_size = is_near(self.operation_bytes, other.operation_bytes, SIZE_SHARE);
        let all = [
            ("rate asked", is_rate, rate(self), rate(other)),
            (
                "slots",
                slots(self) == slots(other),
                slots(self),
                slots(other),
            ),
            (
                "share of reads",
                self.reads_like(other),
                share(self),
                share(other),
            ),
            (
                "random places",
                self.is_random_like(other),
                random(self),
                random(other),
            ),
            ("transfer size", is_size, bytes(self), bytes(other)),
        ];
        let differ = all.into_iter().filter(|(_, is_same, ..)| !is_same);
        differ
            .map(|(name, _, one, other)| (name, one, other))
            .collect()
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
