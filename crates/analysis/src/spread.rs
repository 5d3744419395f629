//! How far one figure of several repetitions lies apart.

/// Values of the same figure, one per repetition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub count: usize,
    /// The middle one; of an even number the mean of the two in the middle.
    pub median: f64,
    pub least: f64,
    pub most: f64,
    /// Coefficient of variation: the standard deviation of a sample (divided by count − 1) in percent
    /// of the mean. `None` for a single value, and where the mean is zero.
    pub variation_pct: Option<f64>,
}

impl Spread {
    /// `None` without values.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let count = values.len();
        let (least, most) = (*values.first()?, *values.last()?);
        let median = (values[(count - 1) / 2] + values[count / 2]) / 2.0;
        let mean = values.iter().sum::<f64>() / count as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let variation_pct = (count > 1 && mean != 0.0)
            .then(|| (squares / (count - 1) as f64).sqrt() * 100.0 / mean);
        Some(Self {
            count,
            median,
            least,
            most,
            variation_pct,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_known_spread() {
        assert_eq!(Spread::of([]), None);
        let one = Spread::of([5.0]).unwrap();
        assert_eq!((one.median, one.variation_pct), (5.0, None));
        let odd = Spread::of([30.0, 10.0, 20.0]).unwrap();
        assert_eq!((odd.least, odd.median, odd.most), (10.0, 20.0, 30.0));
        // Deviations -10, 0, 10: variance 200 / 2, deviation 10, mean 20.
        assert_eq!(odd.variation_pct, Some(50.0));
        let even = Spread::of([1.0, 2.0, 3.0, 10.0]).unwrap();
        assert_eq!(even.median, 2.5);
        assert_eq!(Spread::of([0.0, 0.0]).unwrap().variation_pct, None);
    }
}
