//! Where more threads stop to bring more rate: the asymptotes of a closed loop cross at as many as the highest rate times the
//! response of one that has the storage for itself.
use crate::curve::CurvePoint;
use crate::words::rate;

/// Rates that are no farther below the best are the highest rate.
const HIGHEST_SHARE: f64 = 0.02;

/// With fewer counts of slots, nobody sees a line bend.
const COUNTS_LEAST: usize = 3;

/// What a sweep of slots says of the storage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Saturation {
    At {
        /// Where the asymptotes cross.
        slots: f64,
        /// I/Os per second there, on a line between the counts beside it: *I/O before saturation*.
        rate: f64,
        /// The counts that bracket it.
        between: [u32; 2],
        /// The smallest count that reaches the highest rate.
        from: u32,
    },
    /// Reached by the smallest count already.
    Before { slots: u32 },
    /// Not reached by this count, the largest.
    Beyond { slots: u32 },
}

/// Of runs flat out that differ in their slots alone; `None` where they are too few, or where one came to nothing or stood
/// still.
pub fn saturation(points: &[CurvePoint]) -> Option<Saturation> {
    let mut points: Vec<&CurvePoint> = points.iter().collect();
    points.sort_by_key(|point| point.slots);
    let is_such = |point: &&CurvePoint| {
        point.asked_per_s.is_none() && point.achieved_per_s > 0.0 && !point.is_stalled
    };
    if points.len() < COUNTS_LEAST || !points.iter().all(is_such) {
        return None;
    }
    let (first, last) = (points[0], points[points.len() - 1]);
    let rates = points.iter().map(|point| point.achieved_per_s);
    let best = rates.fold(0.0, f64::max);
    let high = points
        .iter()
        .filter(|point| point.achieved_per_s >= best * (1.0 - HIGHEST_SHARE));
    let high: Vec<&CurvePoint> = high.copied().collect();
    let from = high[0].slots;
    if from == first.slots {
        return Some(Saturation::Before { slots: from });
    }
    if from == last.slots {
        return Some(Saturation::Beyond { slots: from });
    }
    let highest = high.iter().map(|point| point.achieved_per_s).sum::<f64>() / high.len() as f64;
    let slots = (highest * first.service_ns_mean / 1e9)
        .clamp(f64::from(first.slots), f64::from(last.slots));
    let pair = points
        .windows(2)
        .find(|pair| slots <= f64::from(pair[1].slots))?;
    let [below, above] = [pair[0], pair[1]];
    let share = (slots - f64::from(below.slots)) / f64::from(above.slots - below.slots);
    Some(Saturation::At {
        slots,
        rate: below.achieved_per_s + share * (above.achieved_per_s - below.achieved_per_s),
        between: [below.slots, above.slots],
        from,
    })
}

impl Saturation {
    /// I/Os per second before saturation, where that is known.
    pub fn rate(&self) -> Option<f64> {
        match self {
            Self::At { rate, .. } => Some(*rate),
            _ => None,
        }
    }

    /// In words, with threads for slots, as jobs name them.
    pub fn words(&self) -> String {
        match self {
            Self::At {
                rate: per_second,
                between: [below, above],
                from,
                ..
            } => format!(
                "{} I/O/s before saturation, which comes between {below} and {above} threads; {from} reach the highest rate",
                rate(*per_second)
            ),
            Self::Before { slots: 1 } => "one thread saturates it already".to_owned(),
            Self::Before { slots } => {
                format!(
                    "{slots} threads saturate it already, and fewer would tell where that begins"
                )
            }
            Self::Beyond { slots } => format!("not saturated up to {slots} threads"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::point;
    use crate::testing::closed;

    fn points(figures: &[(u32, f64, f64)]) -> Vec<CurvePoint> {
        let of = |(slots, rate, response_ms): &(u32, f64, f64)| CurvePoint {
            slots: *slots,
            achieved_per_s: *rate,
            service_ns_mean: response_ms * 1e6,
            ..point(&closed(0, &[1_000; 10]))
        };
        figures.iter().map(of).collect()
    }

    #[test]
    fn an_ssd_is_saturated_by_two_threads_and_an_array_not_by_sixteen() {
        let ssd = [
            (1, 3192.92, 0.310),
            (2, 3305.57, 0.602),
            (4, 3312.41, 1.204),
            (16, 3300.77, 4.844),
        ];
        let Some(Saturation::At {
            slots,
            rate,
            between,
            from,
        }) = saturation(&points(&ssd))
        else {
            panic!("{:?}", saturation(&points(&ssd)))
        };
        // The mean of 3305.57, 3312.41 and 3300.77, times 0.310 ms.
        assert!((slots - 3306.25 * 0.310e-3).abs() < 1e-6);
        assert_eq!((between, from), ([1, 2], 2));
        assert!((rate - (3192.92 + (slots - 1.0) * 112.65)).abs() < 1e-6);
        let array = [
            (1, 1942.41, 0.509),
            (2, 4367.64, 0.454),
            (4, 8542.79, 0.465),
            (16, 30078.15, 0.529),
        ];
        let beyond = saturation(&points(&array)).unwrap();
        assert_eq!(beyond, Saturation::Beyond { slots: 16 });
        assert_eq!(beyond.words(), "not saturated up to 16 threads");
    }

    #[test]
    fn what_is_flat_from_the_first_or_has_too_few_counts_has_no_bracket() {
        let flat = [(8, 1000.0, 8.0), (16, 1010.0, 16.0), (32, 1001.0, 32.0)];
        let before = Saturation::Before { slots: 8 };
        assert_eq!(saturation(&points(&flat)), Some(before));
        assert_eq!(saturation(&points(&flat[..2])), None);
        let mut asked = points(&flat);
        asked[1].asked_per_s = Some(100.0);
        assert_eq!(saturation(&asked), None);
    }
}
