//! How a rate grows with a quantity, as far as that can be told: the shape that predicts each level best from the others.

/// A level: the quantity, and the rates that were measured with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    pub value: f64,
    /// I/Os per second, one of each repeat, above zero.
    pub rates: Vec<f64>,
}

impl Level {
    /// The mean of the logs.
    fn log(&self) -> f64 {
        self.rates.iter().map(|rate| rate.ln()).sum::<f64>() / self.rates.len() as f64
    }

    /// The geometric mean.
    pub fn rate(&self) -> f64 {
        self.log().exp()
    }
}

/// What a rate does while a quantity grows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// Nothing: something serves one after the other, or is full.
    Flat { rate: f64 },
    /// It grows along.
    Proportional { rate_each: f64 },
    /// It grows along until something is full.
    ThenFlat { rate_each: f64, rate: f64 },
    /// The universal law: a part that waits in turn (contention), and one that grows with the pairs (coherency).
    Universal {
        rate_each: f64,
        contention: f64,
        coherency: f64,
    },
}

/// With fewer levels, any shape would do.
const LEVELS_LEAST: usize = 3;

/// What the universal law takes: its curves look much like others.
const LEVELS_OF_LAW: usize = 6;
const REPEATS_OF_LAW: usize = 3;

/// How far a prediction may be off, as a difference of logs; or this many times the scatter of repeats.
const ERROR_MOST: f64 = 0.05;
const ERROR_SCATTERS: f64 = 3.0;

/// A shape with more parameters is taken where its error is below this part of that of a simpler one.
const ERROR_GAIN: f64 = 0.7;

/// A rate has fallen where the last level is below this part of the highest, and by more than scatter explains.
const FALL_SHARE: f64 = 0.97;

impl Shape {
    /// The rate that it gives a value.
    pub fn rate_at(&self, value: f64) -> f64 {
        match *self {
            Self::Flat { rate } => rate,
            Self::Proportional { rate_each } => rate_each * value,
            Self::ThenFlat { rate_each, rate } => (rate_each * value).min(rate),
            Self::Universal {
                rate_each,
                contention,
                coherency,
            } => {
                let others = value - 1.0;
                let slowed = 1.0 + contention * others + coherency * value * others;
                rate_each * value / slowed
            }
        }
    }

    /// The shape of these levels, which are in order; `None` where they do not tell.
    pub fn of(levels: &[Level]) -> Option<Self> {
        if levels.len() < LEVELS_LEAST {
            return None;
        }
        let scatter = scatter(levels);
        let most = ERROR_MOST.max(ERROR_SCATTERS * scatter);
        let mut best: Option<(f64, Fit)> = None;
        for fit in fits(levels, scatter) {
            let Some(error) = error_left_out(levels, fit) else {
                continue;
            };
            // The floor keeps equal shapes from being told apart by rounding.
            let error = error.max(scatter).max(1e-3);
            if best.is_none_or(|(least, _)| error < ERROR_GAIN * least) {
                best = Some((error, fit));
            }
        }
        let (error, fit) = best?;
        let shape = fit(levels).filter(|_| error <= most)?;
        shape.is_seen(levels).then_some(shape)
    }

    /// Whether two levels show each of its parts.
    fn is_seen(&self, levels: &[Level]) -> bool {
        let Self::ThenFlat { rate_each, rate } = self else {
            return true;
        };
        let meets = rate / rate_each;
        let count = |is_such: &dyn Fn(f64) -> bool| {
            let such = levels.iter().filter(|level| is_such(level.value));
            such.count()
        };
        count(&|value| value <= meets * (1.0 + ERROR_MOST)) >= 2
            && count(&|value| value >= meets * (1.0 - ERROR_MOST)) >= 2
    }
}

type Fit = fn(&[Level]) -> Option<Shape>;

/// From the fewest parameters to the most.
fn fits(levels: &[Level], scatter: f64) -> Vec<Fit> {
    let mut all: Vec<Fit> = vec![flat, proportional, then_flat];
    let repeats = levels.iter().map(|level| level.rates.len()).min();
    if levels.len() >= LEVELS_OF_LAW && repeats >= Some(REPEATS_OF_LAW) {
        all.push(contended);
        let highest = levels.iter().map(Level::log).fold(f64::MIN, f64::max);
        let fall = highest - levels[levels.len() - 1].log();
        if fall > -FALL_SHARE.ln() && fall > ERROR_SCATTERS * scatter {
            all.push(incoherent);
        }
    }
    all
}

/// How repeats scatter around their level, as logs, of all levels together; zero without repeats.
fn scatter(levels: &[Level]) -> f64 {
    let of_level = |level: &Level| {
        let mean = level.log();
        let squares: f64 = level
            .rates
            .iter()
            .map(|rate| (rate.ln() - mean).powi(2))
            .sum();
        (squares, level.rates.len().saturating_sub(1))
    };
    let (squares, freedom) = levels
        .iter()
        .map(of_level)
        .fold((0.0, 0), |(all, count), (one, more)| {
            (all + one, count + more)
        });
    match freedom {
        0 => 0.0,
        _ => (squares / freedom as f64).sqrt(),
    }
}

/// By how much a shape misses levels, as logs, that it was fitted without.
fn error_left_out(levels: &[Level], fit: Fit) -> Option<f64> {
    let mut squares = 0.0;
    for place in 0..levels.len() {
        let mut others = levels.to_vec();
        let left_out = others.remove(place);
        let predicted = fit(&others)?.rate_at(left_out.value);
        if predicted <= 0.0 {
            return None;
        }
        squares += (predicted.ln() - left_out.log()).powi(2);
    }
    Some((squares / levels.len() as f64).sqrt())
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

fn flat(levels: &[Level]) -> Option<Shape> {
    let rate = mean(levels.iter().map(Level::log)).exp();
    Some(Shape::Flat { rate })
}

fn each(levels: &[Level]) -> f64 {
    mean(levels.iter().map(|level| level.log() - level.value.ln())).exp()
}

fn proportional(levels: &[Level]) -> Option<Shape> {
    Some(Shape::Proportional {
        rate_each: each(levels),
    })
}

/// The best cut between levels that grow along and levels that are full. A level that lies where both meet belongs to either.
fn then_flat(levels: &[Level]) -> Option<Shape> {
    let cut = |count: usize| {
        let (growing, full) = levels.split_at(count);
        let rate = mean(full.iter().map(Level::log)).exp();
        let shape = Shape::ThenFlat {
            rate_each: each(growing),
            rate,
        };
        let error = |level: &Level| (shape.rate_at(level.value).ln() - level.log()).powi(2);
        let squares: f64 = levels.iter().map(error).sum();
        (squares, shape)
    };
    let all = (1..levels.len()).map(cut);
    let best = all.min_by(|one, other| one.0.total_cmp(&other.0));
    best.map(|(_, shape)| shape)
}

fn contended(levels: &[Level]) -> Option<Shape> {
    universal(levels, false)
}

fn incoherent(levels: &[Level]) -> Option<Shape> {
    universal(levels, true)
}

/// The time of one of `value` at a time is linear in the parameters of the law; errors count in proportion.
fn universal(levels: &[Level], is_coherent: bool) -> Option<Shape> {
    let count = if is_coherent { 3 } else { 2 };
    let mut sums = [[0.0; 4]; 3];
    for level in levels {
        let time = level.value / level.rate();
        let others = level.value - 1.0;
        let terms = [1.0, others, level.value * others, time];
        for row in 0..count {
            for column in 0..4 {
                sums[row][column] += terms[row] * terms[column] / (time * time);
            }
        }
    }
    let [first, contention, coherency] = solved(sums, count)?;
    // What speeds others up is another law.
    (first > 0.0 && contention >= 0.0 && coherency >= 0.0).then(|| Shape::Universal {
        rate_each: 1.0 / first,
        contention: contention / first,
        coherency: coherency / first,
    })
}

/// Of the first `count` equations, whose right sides are the last column (Gauss).
fn solved(mut rows: [[f64; 4]; 3], count: usize) -> Option<[f64; 3]> {
    for pivot in 0..count {
        let best = (pivot..count).max_by(|one, other| {
            let size = |row: &usize| rows[*row][pivot].abs();
            size(one).total_cmp(&size(other))
        })?;
        rows.swap(pivot, best);
        if rows[pivot][pivot].abs() < f64::MIN_POSITIVE {
            return None;
        }
        for row in (0..count).filter(|row| *row != pivot) {
            let factor = rows[row][pivot] / rows[pivot][pivot];
            let above = rows[pivot];
            for (cell, above) in rows[row].iter_mut().zip(above) {
                *cell -= factor * above;
            }
        }
    }
    let mut values = [0.0; 3];
    for (place, value) in values.iter_mut().enumerate().take(count) {
        *value = rows[place][3] / rows[place][place];
    }
    Some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(values: &[f64], repeats: usize, rate: impl Fn(f64) -> f64) -> Vec<Level> {
        let level = |value: &f64| Level {
            value: *value,
            // A scatter of a thousandth.
            rates: (0..repeats)
                .map(|repeat| rate(*value) * (1.0 + 0.001 * repeat as f64))
                .collect(),
        };
        values.iter().map(level).collect()
    }

    const SIX: [f64; 6] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];

    fn law(value: f64) -> f64 {
        100.0 * value / (1.0 + 0.05 * (value - 1.0) + 0.002 * value * (value - 1.0))
    }

    #[test]
    fn the_universal_law_is_found_where_there_is_enough_of_it() {
        let falling = [&SIX[..], &[64.0]].concat();
        let Some(Shape::Universal {
            contention,
            coherency,
            ..
        }) = Shape::of(&levels(&falling, 3, law))
        else {
            panic!("{:?}", Shape::of(&levels(&falling, 3, law)))
        };
        assert!((contention - 0.05).abs() < 0.002 && (coherency - 0.002).abs() < 0.0001);
        // With one repeat, or with five levels, nobody says so.
        assert_eq!(Shape::of(&levels(&falling, 1, law)), None);
        assert_eq!(Shape::of(&levels(&SIX[..5], 3, law)), None);
        // Without a fall there is contention alone.
        let amdahl = |value: f64| 100.0 * value / (1.0 + 0.1 * (value - 1.0));
        let found = Shape::of(&levels(&SIX, 3, amdahl));
        let is_such = |shape: Shape| {
            matches!(shape, Shape::Universal { contention, coherency, .. }
                if coherency == 0.0 && (contention - 0.1).abs() < 0.002)
        };
        assert!(found.is_some_and(is_such), "{found:?}");
    }

    #[test]
    fn simple_shapes_need_no_repeats() {
        let named = |rate: &dyn Fn(f64) -> f64| Shape::of(&levels(&SIX, 1, rate));
        assert!(
            matches!(named(&|_| 100.0), Some(Shape::Flat { rate }) if (rate - 100.0).abs() < 1e-6)
        );
        assert!(matches!(
            named(&|value| 7.0 * value),
            Some(Shape::Proportional { .. })
        ));
        let full = named(&|value| (100.0 * value).min(800.0));
        let is_such = |shape: Shape| {
            matches!(shape, Shape::ThenFlat { rate_each, rate }
                if (rate_each - 100.0).abs() < 1.0 && (rate - 800.0).abs() < 1.0)
        };
        assert!(full.is_some_and(is_such), "{full:?}");
        assert_eq!(Shape::of(&levels(&SIX[..2], 3, |_| 100.0)), None);
    }
}
