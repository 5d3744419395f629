//! From paired readings to a ratio with an interval: the mean of the logarithms of the ratios, and Student's t over the
//! pairs. Knows nothing of what was read.

/// A ratio over pairs: the geometric mean and the bounds of its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    pub mean: f64,
    pub low: f64,
    pub high: f64,
    /// Zero for what was counted once and has no spread.
    pub pairs: usize,
}

/// What a ratio is held against.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bar {
    AtLeast(f64),
    AtMost(f64),
    /// The lower bound of the interval decides, not the mean.
    LowAtLeast(f64),
}

/// What the bar says of a ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Met,
    /// The mean is on the good side, the interval crosses the bar.
    MetCrossing,
    Missed,
    /// The mean is on the bad side, the interval crosses the bar.
    MissedCrossing,
}

/// The ratio of pairs `(ours, theirs)`.
///
/// Nothing without pairs, or when a reading is not above zero: a logarithm would hide it. Of a single pair the interval
/// is everything, because one pair says nothing of the spread.
pub fn ratio(pairs: &[(f64, f64)]) -> Option<Ratio> {
    let is_usable = |(ours, theirs): &(f64, f64)| {
        ours.is_finite() && theirs.is_finite() && *ours > 0.0 && *theirs > 0.0
    };
    if pairs.is_empty() || !pairs.iter().all(is_usable) {
        return None;
    }
    let logs: Vec<f64> = pairs
        .iter()
        .map(|(ours, theirs)| (ours / theirs).ln())
        .collect();
    let count = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / count;
    let half = if logs.len() == 1 {
        f64::INFINITY
    } else {
        let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
        t_975(logs.len() - 1) * (squares / (count - 1.0) / count).sqrt()
    };
    Some(Ratio {
        mean: mean.exp(),
        low: (mean - half).exp(),
        high: (mean + half).exp(),
        pairs: logs.len(),
    })
}

impl Bar {
    pub fn judge(self, ratio: &Ratio) -> Verdict {
        let (is_met, bound_is_met) = match self {
            Bar::AtLeast(bar) => (ratio.mean >= bar, ratio.low >= bar),
            Bar::AtMost(bar) => (ratio.mean <= bar, ratio.high <= bar),
            Bar::LowAtLeast(bar) => (ratio.low >= bar, ratio.low >= bar),
        };
        let crosses = match self {
            Bar::AtLeast(bar) | Bar::AtMost(bar) => ratio.low < bar && bar < ratio.high,
            Bar::LowAtLeast(bar) => ratio.low < bar && bar <= ratio.mean,
        };
        match (is_met, bound_is_met, crosses) {
            (true, true, _) => Verdict::Met,
            (true, false, _) => Verdict::MetCrossing,
            (false, _, true) => Verdict::MissedCrossing,
            (false, _, false) => Verdict::Missed,
        }
    }
}

impl std::fmt::Display for Bar {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Bar::AtLeast(bar) => write!(formatter, "≥ {bar}"),
            Bar::AtMost(bar) => write!(formatter, "≤ {bar}"),
            Bar::LowAtLeast(bar) => write!(formatter, "low ≥ {bar}"),
        }
    }
}

impl Verdict {
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Met => "met",
            Verdict::MetCrossing => "met, interval crosses",
            Verdict::Missed => "missed",
            Verdict::MissedCrossing => "missed, interval crosses",
        }
    }
}

/// The middle of a list; nothing of an empty one.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        length if length % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// Student's t that is exceeded with probability 2.5 %, by degrees of freedom.
fn t_975(freedom: usize) -> f64 {
    // Printed in every table of the distribution; behind it the expansion in 1 ÷ freedom is better than 1e-4.
    const TABLE: [f64; 20] = [
        12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281, 2.2010,
        2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
    ];
    if let Some(value) = freedom.checked_sub(1).and_then(|at| TABLE.get(at)) {
        return *value;
    }
    let z = 1.959_964_f64;
    let n = freedom as f64;
    let first = (z.powi(3) + z) / 4.0;
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    let third = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
    z + first / n + second / (n * n) + third / n.powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a / b - 1.0).abs() < 1e-3
    }

    #[test]
    fn a_ratio_with_its_interval_by_hand() {
        // Logarithms 0, ln 4: mean ln 2, deviation ln 4 ÷ √2, so the half width is 12.7062 × ln 2.
        let found = ratio(&[(1.0, 1.0), (4.0, 1.0)]).unwrap();
        assert!(near(found.mean, 2.0), "{found:?}");
        assert!(near(found.low, (2_f64.ln() * (1.0 - 12.7062)).exp()));
        assert!(near(found.high, (2_f64.ln() * (1.0 + 12.7062)).exp()));
        assert_eq!(found.pairs, 2);
    }

    #[test]
    fn equal_pairs_leave_no_doubt_and_one_pair_leaves_all() {
        let found = ratio(&[(30.0, 10.0); 10]).unwrap();
        assert!(near(found.mean, 3.0) && near(found.low, 3.0) && near(found.high, 3.0));
        let one = ratio(&[(3.0, 1.0)]).unwrap();
        assert_eq!((one.low, one.high), (0.0, f64::INFINITY));
    }

    #[test]
    fn drift_that_hits_both_sides_of_a_pair_cancels() {
        let drifting: Vec<(f64, f64)> = (1..=10)
            .map(|n| (2.0 * f64::from(n), f64::from(n)))
            .collect();
        let found = ratio(&drifting).unwrap();
        assert!(near(found.low, 2.0) && near(found.high, 2.0), "{found:?}");
    }

    #[test]
    fn a_reading_of_nothing_makes_no_ratio() {
        for pairs in [&[][..], &[(1.0, 0.0)], &[(0.0, 1.0)], &[(f64::NAN, 1.0)]] {
            assert_eq!(ratio(pairs), None);
        }
    }

    #[test]
    fn t_meets_its_table_at_the_seam_and_far_out() {
        assert!(near(t_975(1), 12.7062) && near(t_975(9), 2.2622));
        for (freedom, value) in [(21, 2.0796), (30, 2.0423), (60, 2.0003), (1000, 1.9623)] {
            assert!((t_975(freedom) - value).abs() < 2e-4, "{freedom}");
        }
    }

    #[test]
    fn bars_judge_the_mean_or_the_lower_bound() {
        let ratio = |low, mean, high| Ratio {
            mean,
            low,
            high,
            pairs: 10,
        };
        let cases = [
            (Bar::AtLeast(3.0), ratio(3.1, 3.2, 3.3), Verdict::Met),
            (
                Bar::AtLeast(3.0),
                ratio(2.9, 3.2, 3.3),
                Verdict::MetCrossing,
            ),
            (
                Bar::AtLeast(3.0),
                ratio(2.8, 2.9, 3.3),
                Verdict::MissedCrossing,
            ),
            (Bar::AtLeast(3.0), ratio(2.7, 2.8, 2.9), Verdict::Missed),
            (Bar::AtMost(0.85), ratio(0.7, 0.8, 0.84), Verdict::Met),
            (
                Bar::AtMost(0.85),
                ratio(0.7, 0.8, 0.9),
                Verdict::MetCrossing,
            ),
            (Bar::AtMost(0.85), ratio(0.9, 1.0, 1.1), Verdict::Missed),
            (Bar::LowAtLeast(0.95), ratio(0.96, 1.0, 1.1), Verdict::Met),
            (
                Bar::LowAtLeast(0.95),
                ratio(0.9, 1.0, 1.1),
                Verdict::MissedCrossing,
            ),
            (Bar::LowAtLeast(0.95), ratio(0.8, 0.9, 1.0), Verdict::Missed),
        ];
        for (bar, ratio, verdict) in cases {
            assert_eq!(bar.judge(&ratio), verdict, "{bar} {ratio:?}");
        }
    }

    #[test]
    fn medians() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }
}
