//! What repeated runs of two sides say about one figure. One value per run, and logs of it, so that an effect is a ratio.
use statrs::distribution::{ContinuousCDF, StudentsT};

/// How sure an interval is, two-sided, and how often chance alone may be called a difference.
const CONFIDENCE: f64 = 0.95;

/// From so many runs a side on, an interval can be given.
const REPEATS_LEAST: usize = 3;

/// Values that are all equal, as simulated ones may be, scatter by so much: nothing is surer than digits are.
const DEVIATION_LEAST: f64 = 1e-9;

/// What can be said about one figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Better,
    Worse,
    /// No more than the margin apart.
    Same,
    /// Not the same, and no more than the margin apart.
    DiffersLess,
    CannotTell {
        /// Runs a side that would tell.
        repeats: u32,
    },
    /// One or two runs a side.
    TooFew,
}

/// Between what the true ratio lies, in 95 of 100 comparisons.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub from: f64,
    pub to: f64,
}

/// How a figure is judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    /// Within what share two values count as the same.
    pub margin: f64,
    pub is_more_better: bool,
    /// Values of one place are of one block of runs.
    pub is_paired: bool,
}

/// Values of both sides as logs.
#[derive(Clone, Debug)]
pub(crate) struct Logs {
    base: Vec<f64>,
    other: Vec<f64>,
    /// Whether no run is without a value, so that those of one place are of one block.
    are_whole: bool,
}

/// What they say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Estimate {
    /// Of the means of logs.
    difference: f64,
    standard_error: f64,
    freedom: f64,
    /// Of the side that has fewer.
    repeats: usize,
}

impl Logs {
    /// Of the runs of both sides. `None` without a value, and where one is not above zero.
    pub fn of(base: &[Option<f64>], other: &[Option<f64>]) -> Option<Self> {
        let logs = |side: &[Option<f64>]| -> Option<Vec<f64>> {
            let log = |value: &f64| (*value > 0.0 && value.is_finite()).then(|| value.ln());
            let logs: Option<Vec<f64>> = side.iter().flatten().map(log).collect();
            logs.filter(|logs| !logs.is_empty())
        };
        Some(Self {
            base: logs(base)?,
            other: logs(other)?,
            are_whole: base.iter().chain(other).all(Option::is_some),
        })
    }

    /// Of all loads together: each repeat is one value. Where loads have different numbers of repeats, there is one value.
    pub fn over_all(all: &[Self]) -> Self {
        let side = |of: &dyn Fn(&Self) -> &[f64]| -> Vec<f64> {
            let repeats = of(&all[0]).len();
            let is_even = all
                .iter()
                .all(|logs| logs.are_whole && of(logs).len() == repeats);
            let at =
                |place: usize| mean(&all.iter().map(|logs| of(logs)[place]).collect::<Vec<_>>());
            match is_even {
                true => (0..repeats).map(at).collect(),
                false => vec![mean(
                    &all.iter().map(|logs| mean(of(logs))).collect::<Vec<_>>(),
                )],
            }
        };
        Self {
            base: side(&|logs| &logs.base),
            other: side(&|logs| &logs.other),
            are_whole: all.iter().all(|logs| logs.are_whole),
        }
    }

    /// How many lie far off the others of their side, and the rest; `None` where none does. Of a pair both go.
    pub fn without_far_off(&self, is_paired: bool) -> Option<(usize, Self)> {
        let (base, other) = (far_off(&self.base), far_off(&self.other));
        let count = base.iter().chain(&other).filter(|is_far| **is_far).count();
        let in_pairs = is_paired && self.are_in_pairs();
        let rest = |values: &[f64], own: &[bool], of_pair: &[bool]| -> Vec<f64> {
            let stays = |place: &usize| !(own[*place] || in_pairs && of_pair[*place]);
            let places = (0..values.len()).filter(stays);
            places.map(|place| values[place]).collect()
        };
        (count > 0).then(|| {
            let rest = Self {
                base: rest(&self.base, &base, &other),
                other: rest(&self.other, &other, &base),
                are_whole: self.are_whole && (in_pairs || !is_paired),
            };
            (count, rest)
        })
    }

    fn are_in_pairs(&self) -> bool {
        self.are_whole && self.base.len() == self.other.len()
    }

    /// The geometric mean of the base.
    pub fn base_mean(&self) -> f64 {
        mean(&self.base).exp()
    }

    /// Of geometric means, that of the other side to that of the base.
    pub fn ratio(&self) -> f64 {
        (mean(&self.other) - mean(&self.base)).exp()
    }

    /// How the logs of both sides scatter; `None` where a side has one value.
    pub fn deviation(&self) -> Option<f64> {
        let [base, other] = [variance(&self.base)?, variance(&self.other)?];
        Some(((base + other) / 2.0).sqrt())
    }

    /// `None` for fewer than three values a side. Each side is taken to scatter by `deviation_least` at least.
    pub fn estimate(&self, rule: &Rule, deviation_least: f64) -> Option<Estimate> {
        let repeats = self.base.len().min(self.other.len());
        if repeats < REPEATS_LEAST {
            return None;
        }
        let difference = mean(&self.other) - mean(&self.base);
        let least = deviation_least.max(DEVIATION_LEAST).powi(2);
        if rule.is_paired && self.are_in_pairs() {
            let pairs = self.base.iter().zip(&self.other);
            let differences: Vec<f64> = pairs.map(|(base, other)| other - base).collect();
            let spread = variance(&differences)?.max(2.0 * least);
            return Some(Estimate {
                difference,
                standard_error: (spread / repeats as f64).sqrt(),
                freedom: (repeats - 1) as f64,
                repeats,
            });
        }
        let part = |side: &[f64]| Some(variance(side)?.max(least) / side.len() as f64);
        let (base, other) = (part(&self.base)?, part(&self.other)?);
        let squares = |part: f64, side: &[f64]| part * part / (side.len() - 1) as f64;
        let freedom =
            (base + other).powi(2) / (squares(base, &self.base) + squares(other, &self.other));
        Some(Estimate {
            difference,
            standard_error: (base + other).sqrt(),
            freedom,
            repeats,
        })
    }
}

impl Estimate {
    fn law(&self) -> StudentsT {
        StudentsT::new(0.0, 1.0, self.freedom).expect("degrees of freedom are above zero")
    }

    fn half_width(&self) -> f64 {
        self.law().inverse_cdf(1.0 - (1.0 - CONFIDENCE) / 2.0) * self.standard_error
    }

    pub fn interval(&self) -> Interval {
        let half_width = self.half_width();
        Interval {
            from: (self.difference - half_width).exp(),
            to: (self.difference + half_width).exp(),
        }
    }

    /// How often chance alone shows as much or more.
    pub fn chance(&self) -> f64 {
        2.0 * self.law().sf(self.difference.abs() / self.standard_error)
    }

    /// How often chance alone shows as much where the true log of the ratio is `limit`, or on its other side.
    pub fn chance_beyond(&self, limit: f64, is_above: bool) -> f64 {
        let over = (self.difference - limit) / self.standard_error;
        self.law().sf(if is_above { over } else { -over })
    }

    /// The answer, where `differs` says whether this is a difference.
    pub fn answer(&self, rule: &Rule, differs: bool) -> Answer {
        let margin = (1.0 + rule.margin).ln();
        // Two one-sided tests.
        let one_sided = self.law().inverse_cdf(CONFIDENCE) * self.standard_error;
        let is_within = self.difference.abs() + one_sided < margin;
        match (differs, is_within) {
            (true, true) => Answer::DiffersLess,
            (true, false) if (self.difference > 0.0) == rule.is_more_better => Answer::Better,
            (true, false) => Answer::Worse,
            (false, true) => Answer::Same,
            (false, false) => {
                let share = self.half_width() / margin;
                let repeats = (self.repeats as f64 * share * share).ceil();
                Answer::CannotTell {
                    // What is short of the bar by a hair takes one more.
                    repeats: (repeats as u32).max(self.repeats as u32 + 1),
                }
            }
        }
    }
}

/// Which of several are differences, where 5 of 100 that are called so may be none (Benjamini and Hochberg, 1995).
pub(crate) fn differences(chances: &[f64]) -> Vec<bool> {
    let mut sorted = chances.to_vec();
    sorted.sort_by(f64::total_cmp);
    let bar = |place: usize| (1.0 - CONFIDENCE) * (place + 1) as f64 / sorted.len() as f64;
    let last = (0..sorted.len()).rfind(|place| sorted[*place] <= bar(*place));
    let most = last.map_or(f64::NEG_INFINITY, |place| sorted[place]);
    chances.iter().map(|chance| *chance <= most).collect()
}

/// From so many runs a side on, it can be told which lie far off.
const REPEATS_FOR_FAR_OFF: usize = 5;

/// What is farther off than this many robust standard deviations is (Iglewicz and Hoaglin, 1993).
const FAR_OFF: f64 = 3.5;

/// Median distances from the median in a standard deviation of a normal distribution.
const DISTANCES_PER_DEVIATION: f64 = 0.6745;

/// Which values lie far off the others.
fn far_off(values: &[f64]) -> Vec<bool> {
    let middle = median(values.to_vec());
    let distance = |value: &f64| (value - middle).abs();
    let usual = median(values.iter().map(distance).collect());
    let is_far = |value: &f64| {
        values.len() >= REPEATS_FOR_FAR_OFF
            && usual > DEVIATION_LEAST
            && DISTANCES_PER_DEVIATION * distance(value) / usual > FAR_OFF
    };
    values.iter().map(is_far).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Of a sample; `None` for one value.
fn variance(values: &[f64]) -> Option<f64> {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1).then(|| squares / (values.len() - 1) as f64)
}

/// Zero without values.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        count => (values[(count - 1) / 2] + values[count / 2]) / 2.0,
    }
}

/// The ratio of the geometric means of repeats, and between what it lies, where there are repeats enough. All above zero.
pub(crate) fn ratio(base: &[f64], other: &[f64]) -> (f64, Option<Interval>) {
    let some = |values: &[f64]| values.iter().copied().map(Some).collect::<Vec<_>>();
    let logs = Logs::of(&some(base), &some(other)).expect("rates are above zero");
    let rule = Rule {
        margin: 0.0,
        is_more_better: true,
        is_paired: true,
    };
    let estimate = logs.estimate(&rule, 0.0);
    (logs.ratio(), estimate.map(|estimate| estimate.interval()))
}
