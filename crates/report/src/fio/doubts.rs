//! Figures of an imported document that cannot be: each is left out, with a reason. Knows numbers, not what becomes of
//! them. Read [`Doubts`] first.
use serde_json::{Map, Value};

/// Reasons that are told; the others are counted.
const REASONS_MAX: usize = 20;

/// Above any amount that fio counts, and small enough for sums and for milliseconds as nanoseconds.
pub(super) const AMOUNT_MAX: u64 = 1 << 43;

/// From where on a rate has to be that of its amount and its time: both are rounded to milliseconds.
const RUNTIME_MS_MIN: f64 = 1_000.0;

/// How far a percentile, the upper end of a bucket of fio, may lie above the maximum.
const BUCKET_SLACK: f64 = 1.05;

/// What was left out, and why.
#[derive(Default)]
pub(super) struct Doubts {
    reasons: Vec<String>,
    more: u64,
}

impl Doubts {
    pub fn add(&mut self, reason: String) {
        match self.reasons.len() < REASONS_MAX {
            true => self.reasons.push(reason),
            false => self.more += 1,
        }
    }

    /// All reasons, with how many more there are.
    pub fn told(self) -> Vec<String> {
        let more = (self.more > 0).then(|| format!("{} more figures cannot be", self.more));
        self.reasons.into_iter().chain(more).collect()
    }
}

/// What is impossible in the amounts of one direction.
pub(super) fn of_amounts(found: &Map<String, Value>) -> Option<String> {
    let limits = [
        ("total_ios", AMOUNT_MAX),
        ("io_bytes", AMOUNT_MAX << 10),
        ("io_kbytes", AMOUNT_MAX),
        ("runtime", AMOUNT_MAX),
        ("short_ios", AMOUNT_MAX),
        ("iops", AMOUNT_MAX),
        ("bw", AMOUNT_MAX),
    ];
    let is_amount = |value: &Value, limit: u64| {
        let number = value.as_f64();
        number.is_some_and(|number| (0.0..=limit as f64).contains(&number))
    };
    for (key, limit) in limits {
        if let Some(value) = found.get(key).filter(|value| !is_amount(value, limit)) {
            return Some(format!("`{key}` is {}", shortened(value)));
        }
    }
    let number = |key: &str| found.get(key).and_then(Value::as_f64);
    let (operations, runtime_ms) = (number("total_ios")?, number("runtime")?);
    let told = number("iops")?;
    let rate = operations * 1_000.0 / runtime_ms;
    let differs = told > rate * 2.0 + 1.0 || told < rate / 2.0 - 1.0;
    (runtime_ms >= RUNTIME_MS_MIN && differs).then(|| {
        format!("`iops` is {told}, but {operations} operations in {runtime_ms} ms are {rate:.0} per second")
    })
}

/// What is impossible in one latency of a direction.
pub(super) fn of_latency(object: &Map<String, Value>, operations: u64) -> Option<String> {
    for key in ["min", "max", "mean", "N"] {
        let is_amount = |value: &Value| value.as_f64().is_some_and(|number| number >= 0.0);
        if let Some(value) = object.get(key).filter(|value| !is_amount(value)) {
            return Some(format!("`{key}` is {}", shortened(value)));
        }
    }
    let number = |key: &str| object.get(key).and_then(Value::as_f64);
    let count = number("N").unwrap_or(operations as f64);
    if count == 0.0 {
        return None;
    }
    // A tenth more than there were would still be a difference of counting, not of damage.
    if count > operations as f64 * 1.1 + 16.0 {
        return Some(format!("{count} samples of {operations} operations"));
    }
    if let (Some(min), Some(max)) = (number("min"), number("max")) {
        if min > max {
            return Some(format!("`min` {min} is above `max` {max}"));
        }
        let mean = number("mean").filter(|mean| *mean > 0.0);
        if let Some(mean) = mean.filter(|mean| *mean < min * 0.99 - 1.0 || *mean > max * 1.01 + 1.0)
        {
            return Some(format!("`mean` {mean} is not between {min} and {max}"));
        }
    }
    let percentiles = object.get("percentile").and_then(Value::as_object)?;
    of_percentiles(percentiles, number("max"))
}

fn of_percentiles(percentiles: &Map<String, Value>, max: Option<f64>) -> Option<String> {
    let mut all: Vec<(f64, f64)> = Vec::new();
    for (share, value) in percentiles {
        let Some(value) = value.as_f64().filter(|value| *value >= 0.0) else {
            return Some(format!("the percentile {share} is {}", shortened(value)));
        };
        // Unused places of a list have the share 0.
        all.extend(
            share
                .parse()
                .ok()
                .filter(|share| *share > 0.0)
                .map(|share: f64| (share, value)),
        );
    }
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    if let Some(pair) = all.windows(2).find(|pair| pair[1].1 < pair[0].1) {
        let ((low, below), (high, above)) = (pair[0], pair[1]);
        return Some(format!("p{high} {above} is below p{low} {below}"));
    }
    let (share, value) = *all.last()?;
    let limit = max? * BUCKET_SLACK + 2.0;
    (value > limit).then(|| format!("p{share} {value} is above `max` {}", max.unwrap_or(0.0)))
}

fn shortened(value: &Value) -> String {
    value.to_string().chars().take(40).collect()
}
