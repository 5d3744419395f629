//! Whether a run was the same from beginning to end: drift of its rate, and stalls, as data for a
//! verdict. Looks at intervals only.
use measure::{Interval, IntervalBrief};

/// Fewer intervals show no drift that could be told from chance.
pub(crate) const COURSE_INTERVALS_MIN: usize = 10;

/// A slope beyond what chance makes once in 2000 runs, and a change of this share from the first
/// third of the intervals to the last, make a drift.
const DRIFT_NORMAL_QUANTILE: f64 = 3.48;
const DRIFT_SHARE_LEAST: f64 = 0.05;

/// A standard deviation of so many times that of counts by chance (√n of n), and of this share of the mean, is no chance.
const VARIATION_CHANCES: f64 = 3.0;
const VARIATION_SHARE_LEAST: f64 = 0.1;

/// A third of the intervals has at least six. Where medians are independent, six are all above (or below) six others by
/// chance in 2 of 924 runs. A smaller factor is not called a change.
const CHANGE_INTERVALS_LEAST: usize = 6;
const CHANGE_FACTOR_LEAST: f64 = 1.5;

/// Two levels need 30 medians or more, a fifth of them at each level, and a gap of a factor of two between the levels.
/// Queues make medians scatter, but leave no such gap.
const JUMP_INTERVALS_LEAST: usize = 30;
const JUMP_SHARE_LEAST: f64 = 0.2;
const JUMP_FACTOR_LEAST: f64 = 2.0;

/// Of fewer intervals only what is large is told from chance: this many at either level, and a factor between the levels.
const FEW_AT_LEAST: usize = 3;
const FEW_FACTOR_MIN: f64 = 6.0;

/// Shorter spans without a success are no stall.
const STALL_NS_LEAST: f64 = 1e8;

/// As many times longer than the longest gap that the rate explains a stall is at least.
const STALL_GAPS: f64 = 10.0;

/// What steadiness is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntervalFacts {
    pub number: u32,
    pub start_ns: u64,
    pub length_ns: u64,
    /// Successful ones.
    pub operations: u64,
    /// Something was in flight or due at the end: an interval without completions is a stall, not
    /// a pause.
    pub is_waiting: bool,
    /// Arrivals that were due and not sent at the end.
    pub backlog: u64,
    pub service_ns_p50: Option<u64>,
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steadiness {
    /// Intervals outside stalls.
    pub intervals: usize,
    /// `None` for fewer than ten intervals outside stalls, or when nothing completed.
    pub drift: Option<Drift>,
    pub stall: Option<Stall>,
    /// Arrivals that waited at the end of each third; `None` for fewer than three intervals.
    pub backlogs: Option<[u64; 3]>,
    /// As for the drift.
    pub variation: Option<Variation>,
    /// What the median latency did.
    pub latency: Option<LatencyCourse>,
}

/// How the median service times of the intervals differ, where no chance and no queue makes them differ so.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LatencyCourse {
    /// Each of the last third lies above, or below, each of the first: the medians of the two.
    Changed { first_ns: u64, last_ns: u64 },
    /// They lie at two levels with nothing in between: the medians of the two, and the share of the upper.
    Jumps {
        low_ns: u64,
        high_ns: u64,
        high_share: f64,
    },
}

/// How much the rates of the intervals vary, apart from those of stalls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variation {
    /// Standard deviation over mean.
    pub share: f64,
    /// It is larger than that of counts by chance, by far, and large.
    pub is_beyond_chance: bool,
}

/// How the rates of the intervals changed, apart from those of stalls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// Change from the mean rate in the first third of the intervals to that in the last, as a share
    /// of the first: never below -1, and infinite where the first is zero.
    pub change_share: f64,
    /// Slope of the line through all rates over its standard error; infinite for a perfect line.
    pub errors: f64,
    pub is_drifting: bool,
}

/// The longest span without a success, in whole intervals: it lasted at least so long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Number of its first interval.
    pub first: u32,
    pub intervals: u32,
    pub length_ns: u64,
}

impl IntervalFacts {
    /// Of each interval that this one is the sum of.
    pub fn all_of(interval: &Interval) -> Vec<Self> {
        let briefs = interval.briefs().into_iter();
        briefs.map(|brief| Self::of(&brief)).collect()
    }

    fn of(brief: &IntervalBrief) -> Self {
        Self {
            number: brief.number,
            start_ns: brief.start_ns,
            length_ns: brief.length_ns(),
            operations: brief.operations,
            is_waiting: brief.in_flight > 0 || brief.backlog > 0,
            backlog: brief.backlog,
            service_ns_p50: brief.service_ns_p50,
        }
    }
}

/// Judges intervals that follow each other; give it the measured ones, and when targets stood still (from and to since the
/// start of the run), which is no drift.
pub fn steadiness(intervals: &[IntervalFacts], stalls: &[(u64, u64)]) -> Steadiness {
    let is_apart = |facts: &&IntervalFacts| {
        let end_ns = facts.start_ns + facts.length_ns;
        let mut stalls = stalls.iter();
        stalls.all(|(from_ns, to_ns)| end_ns <= *from_ns || *to_ns <= facts.start_ns)
    };
    let least_ns = least_stall_ns(intervals);
    let is_span_stalled =
        |span: &[IntervalFacts]| is_waiting_in_vain(&span[0]) && length_ns(span) as f64 > least_ns;
    let spans = || intervals.chunk_by(|a, b| is_waiting_in_vain(a) == is_waiting_in_vain(b));
    let stalls = spans().filter(|span| is_span_stalled(span));
    let between = spans().filter(|span| !is_span_stalled(span)).flatten();
    let between = between.filter(is_apart);
    let thirds = [1, 2, 3].map(|third| (intervals.len() * third / 3).checked_sub(1));
    let backlogs = thirds.map(|last| last.map_or(0, |last| intervals[last].backlog));
    Steadiness {
        intervals: between.clone().count(),
        drift: drift(between.clone()),
        variation: variation(between.clone()),
        latency: latency_course(between.filter_map(|facts| facts.service_ns_p50).collect()),
        backlogs: (intervals.len() >= 3).then_some(backlogs),
        stall: stalls
            .map(|span| Stall {
                first: span[0].number,
                intervals: span.len() as u32,
                length_ns: length_ns(span),
            })
            .max_by_key(|stall| (stall.length_ns, std::cmp::Reverse(stall.first))),
    }
}

/// What a span without a success has to last to be a stall. At a rate of `r` the longest of `n` gaps
/// is about ln n ÷ r; operations that take longer than an interval leave intervals without any.
fn least_stall_ns(intervals: &[IntervalFacts]) -> f64 {
    let served = intervals.iter().filter(|facts| facts.operations > 0);
    let (count, time_ns) = served.fold((0, 0), |(count, time_ns), facts| {
        (count + facts.operations, time_ns + facts.length_ns)
    });
    if count == 0 {
        return STALL_NS_LEAST;
    }
    let explained_ns = (count as f64).ln() * time_ns as f64 / count as f64;
    STALL_NS_LEAST.max(STALL_GAPS * explained_ns)
}

fn length_ns(span: &[IntervalFacts]) -> u64 {
    span.iter().map(|facts| facts.length_ns).sum()
}

fn variation<'a>(intervals: impl Iterator<Item = &'a IntervalFacts>) -> Option<Variation> {
    let (counts, rates): (Vec<f64>, Vec<f64>) = intervals
        .filter(|facts| facts.length_ns > 0)
        .map(|facts| {
            (
                facts.operations as f64,
                facts.operations as f64 * 1e9 / facts.length_ns as f64,
            )
        })
        .unzip();
    let (count, rate) = (mean(&counts), mean(&rates));
    if rates.len() < COURSE_INTERVALS_MIN || rate <= 0.0 {
        return None;
    }
    let squares: f64 = rates.iter().map(|one| (one - rate) * (one - rate)).sum();
    let share = (squares / (rates.len() - 1) as f64).sqrt() / rate;
    let by_chance = VARIATION_CHANCES / count.sqrt();
    Some(Variation {
        share,
        is_beyond_chance: share > by_chance.max(VARIATION_SHARE_LEAST),
    })
}

fn drift<'a>(intervals: impl Iterator<Item = &'a IntervalFacts>) -> Option<Drift> {
    let rates: Vec<f64> = intervals
        .filter(|facts| facts.length_ns > 0)
        .map(|facts| facts.operations as f64 * 1e9 / facts.length_ns as f64)
        .collect();
    let mean = mean(&rates);
    if rates.len() < COURSE_INTERVALS_MIN || mean <= 0.0 {
        return None;
    }
    let third = rates.len() / 3;
    let [first, last] = [&rates[..third], &rates[rates.len() - third..]].map(self::mean);
    let change_share = match (first > 0.0, last > 0.0) {
        (true, _) => last / first - 1.0,
        (false, true) => f64::INFINITY,
        (false, false) => 0.0,
    };
    let errors = slope_errors(&rates, mean);
    let is_slope =
        errors.abs() >= errors_least(rates.len()) && change_share.signum() == errors.signum();
    let is_step = step_at(&rates).is_some();
    Some(Drift {
        change_share,
        errors,
        is_drifting: (is_slope || is_step) && change_share.abs() >= DRIFT_SHARE_LEAST,
    })
}

/// Looks at how the medians are ordered, not at how much they scatter: where I/Os queue they scatter by far more than counts
/// tell, and follow one another.
pub(crate) fn latency_course(medians: Vec<u64>) -> Option<LatencyCourse> {
    let step = || {
        let values: Vec<f64> = medians.iter().map(|ns| *ns as f64).collect();
        let place = step_at(&values)?;
        Some(LatencyCourse::Changed {
            first_ns: middle(&medians[..place]),
            last_ns: middle(&medians[place..]),
        })
    };
    changed(&medians)
        .or_else(step)
        .or_else(|| jumps(medians.clone()))
}

pub(crate) fn middle(values: &[u64]) -> u64 {
    let mut values = values.to_vec();
    values.sort_unstable();
    values[values.len() / 2]
}

/// Where values step up or down, and by which factor all of one side lie above all of the other; below one where they do not.
/// Each side has at least `side_min` values.
pub(crate) fn separated(values: &[f64], side_min: usize) -> Option<(usize, f64)> {
    let bounds = |(low, high): &mut (f64, f64), one: &f64| {
        (*low, *high) = (low.min(*one), high.max(*one));
        Some((*low, *high))
    };
    let none = (f64::INFINITY, 0.0);
    let before: Vec<(f64, f64)> = values.iter().scan(none, bounds).collect();
    let mut after: Vec<(f64, f64)> = values.iter().rev().scan(none, bounds).collect();
    after.reverse();
    let factor = |place: &usize| {
        let (before, after) = (before[*place - 1], after[*place]);
        let ratio = |low: f64, high: f64| low / high.max(f64::MIN_POSITIVE);
        ratio(after.0, before.1).max(ratio(before.0, after.1))
    };
    let places = side_min.max(1)..(values.len() + 1).saturating_sub(side_min.max(1));
    let best = places.max_by(|one, other| factor(one).total_cmp(&factor(other)))?;
    Some((best, factor(&best)))
}

/// The index of the first value after a step. Few values tell a step only where it is large: queues that build up have values
/// in between.
fn step_at(values: &[f64]) -> Option<usize> {
    if values.len() < COURSE_INTERVALS_MIN {
        return None;
    }
    let (place, factor) = separated(values, FEW_AT_LEAST)?;
    (factor >= FEW_FACTOR_MIN).then_some(place)
}

fn changed(medians: &[u64]) -> Option<LatencyCourse> {
    let third = medians.len() / 3;
    if third < CHANGE_INTERVALS_LEAST {
        return None;
    }
    let [first, last] = [&medians[..third], &medians[medians.len() - third..]].map(|part| {
        let mut part = part.to_vec();
        part.sort_unstable();
        part
    });
    let is_apart = first[third - 1] < last[0] || last[third - 1] < first[0];
    let (first_ns, last_ns) = (first[third / 2], last[third / 2]);
    let factor = first_ns.max(last_ns) as f64 / first_ns.min(last_ns).max(1) as f64;
    (is_apart && factor >= CHANGE_FACTOR_LEAST)
        .then_some(LatencyCourse::Changed { first_ns, last_ns })
}

fn jumps(mut medians: Vec<u64>) -> Option<LatencyCourse> {
    let count = medians.len();
    let (least, factor_min) = match count {
        JUMP_INTERVALS_LEAST.. => (
            (JUMP_SHARE_LEAST * count as f64).ceil() as usize,
            JUMP_FACTOR_LEAST,
        ),
        COURSE_INTERVALS_MIN.. => (FEW_AT_LEAST, FEW_FACTOR_MIN),
        _ => return None,
    };
    medians.sort_unstable();
    let factor = |place: &usize| medians[*place] as f64 / medians[place - 1].max(1) as f64;
    let place = (least..=count - least).find(|place| factor(place) >= factor_min)?;
    Some(LatencyCourse::Jumps {
        low_ns: medians[place / 2],
        high_ns: medians[(place + count) / 2],
        high_share: (count - place) as f64 / count as f64,
    })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The slope of the line through the rates, in standard errors.
fn slope_errors(rates: &[f64], mean: f64) -> f64 {
    let count = rates.len() as f64;
    let middle = (count - 1.0) / 2.0;
    let line = || {
        (0..rates.len())
            .map(|place| place as f64 - middle)
            .zip(rates)
    };
    let spread: f64 = line().map(|(x, _)| x * x).sum();
    let slope = line().map(|(x, rate)| x * (rate - mean)).sum::<f64>() / spread;
    let residual: f64 = line()
        .map(|(x, rate)| (rate - mean - slope * x).powi(2))
        .sum();
    let error = (residual / (count - 2.0) / spread).sqrt();
    match (slope == 0.0, error == 0.0) {
        (true, _) => 0.0,
        (false, true) => f64::INFINITY.copysign(slope),
        (false, false) => slope / error,
    }
}

/// The quantile of Student's t that belongs to the one of the normal distribution: of few intervals
/// the standard error is itself uncertain (Abramowitz and Stegun, 26.7.5).
fn errors_least(intervals: usize) -> f64 {
    let (z, freedom) = (DRIFT_NORMAL_QUANTILE, intervals as f64 - 2.0);
    let first = (z.powi(3) + z) / (4.0 * freedom);
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * freedom.powi(2));
    z + first + second
}

fn is_waiting_in_vain(facts: &IntervalFacts) -> bool {
    facts.operations == 0 && facts.is_waiting
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::SECOND;
    use proptest::prelude::*;

    fn intervals(operations: &[u64]) -> Vec<IntervalFacts> {
        let facts = |(operations, number): (&u64, u32)| IntervalFacts {
            number,
            start_ns: u64::from(number - 1) * SECOND,
            length_ns: SECOND,
            operations: *operations,
            is_waiting: true,
            backlog: 0,
            service_ns_p50: None,
        };
        operations.iter().zip(1..).map(facts).collect()
    }

    #[test]
    fn a_falling_rate_drifts_and_a_scattered_one_does_not() {
        let falling: Vec<u64> = (0..20).map(|n| 1_000 - n * 10 + n % 3).collect();
        let drift = steadiness(&intervals(&falling), &[]).drift.unwrap();
        assert!(drift.is_drifting && drift.errors < -3.0, "{drift:?}");
        // Means of 976 and 836 in the first and the last six seconds.
        assert!((drift.change_share + 0.143).abs() < 0.002, "{drift:?}");
        let scattered: Vec<u64> = (0..20).map(|n| 1_000 + n * 7919 % 101).collect();
        assert!(
            !steadiness(&intervals(&scattered), &[])
                .drift
                .unwrap()
                .is_drifting
        );
        let even = steadiness(&intervals(&[1_000; 20]), &[]).drift.unwrap();
        assert_eq!(
            (even.change_share, even.errors, even.is_drifting),
            (0.0, 0.0, false)
        );
        assert_eq!(steadiness(&intervals(&falling[..9]), &[]).drift, None);
        assert_eq!(steadiness(&intervals(&[0; 20]), &[]).drift, None);
        assert_eq!(steadiness(&[], &[]).drift, None);
    }

    #[test]
    fn a_small_change_is_no_drift_however_certain() {
        let rates: Vec<u64> = (0..20).map(|n| 100_000 + n * 100).collect();
        let drift = steadiness(&intervals(&rates), &[]).drift.unwrap();
        assert!(drift.errors > 100.0 && !drift.is_drifting, "{drift:?}");
    }

    #[test]
    fn a_fall_is_never_more_than_everything() {
        let burst: Vec<u64> = (0..30).map(|n| if n < 6 { 10_000 } else { 10 }).collect();
        let drift = steadiness(&intervals(&burst), &[]).drift.unwrap();
        assert!(drift.is_drifting, "{drift:?}");
        assert!((drift.change_share + 0.9983).abs() < 0.0001, "{drift:?}");
        let rise: Vec<u64> = burst.iter().rev().copied().collect();
        let drift = steadiness(&intervals(&rise), &[]).drift.unwrap();
        assert!((drift.change_share - 599.4).abs() < 0.1, "{drift:?}");
    }

    #[test]
    fn a_stall_is_no_drift() {
        let mut rates = vec![1_000; 12];
        rates.extend([0; 8]);
        let found = steadiness(&intervals(&rates), &[]);
        assert!(!found.drift.unwrap().is_drifting);
        assert_eq!(found.stall.unwrap().intervals, 8);
        let found = steadiness(&intervals(&[&[1_000; 5][..], &[0; 15]].concat()), &[]);
        assert_eq!((found.drift, found.stall.unwrap().intervals), (None, 15));
    }

    /// Of 2000 runs whose rates only scatter, one may be said to drift.
    #[test]
    fn scatter_is_no_drift_however_few_intervals() {
        for count in [10, 20, 60] {
            let scattered = |run: u64| -> Vec<u64> {
                let draw = |n: u64| {
                    let mixed = (run * 4_093 + n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 54
                };
                (0..count)
                    .map(|n| 1_000 + draw(n * 2) + draw(n * 2 + 1))
                    .collect()
            };
            let drifts = |run: &u64| {
                steadiness(&intervals(&scattered(*run)), &[])
                    .drift
                    .unwrap()
                    .is_drifting
            };
            let alarms = (0..4_000).filter(drifts).count();
            assert!(alarms <= 8, "{alarms} of 4000 runs of {count} intervals");
        }
    }

    #[test]
    fn an_interval_waits_for_what_is_in_flight_or_due_and_not_for_syncs() {
        let facts = |in_flight: u32, backlog: u64| {
            let stream = measure::StreamSample {
                backlog,
                ..measure::StreamSample::default()
            };
            let figure = |operation: plan::Operation, operations: u64| measure::Figure {
                operations,
                ..measure::Figure::empty(measure::FigureKey {
                    stream: plan::StreamId(0),
                    target: plan::TargetId(0),
                    operation,
                })
            };
            IntervalFacts::of(&IntervalBrief::of(&Interval {
                run: 0,
                number: 3,
                start_ns: 2 * SECOND,
                end_ns: 3 * SECOND,
                unix_ns: 0,
                phase: measure::IntervalPhase::Measured,
                figures: vec![
                    figure(plan::Operation::Write, 5),
                    figure(plan::Operation::Sync, 7),
                ],
                engine: measure::EngineSample {
                    streams: vec![stream],
                    in_flight,
                    ..measure::EngineSample::default()
                },
                host: measure::HostSample::default(),
                lost: measure::LostParts::default(),
                within: Vec::new(),
            }))
        };
        let expected = |is_waiting: bool, backlog| IntervalFacts {
            number: 3,
            start_ns: 2 * SECOND,
            length_ns: SECOND,
            operations: 5,
            is_waiting,
            backlog,
            service_ns_p50: None,
        };
        assert_eq!(facts(0, 0), expected(false, 0));
        assert_eq!(facts(1, 0), expected(true, 0));
        assert_eq!(facts(0, 1), expected(true, 1));
    }

    #[test]
    fn what_is_shorter_than_a_tenth_of_a_second_is_no_stall_at_any_rate() {
        let mut facts = intervals(&[1_000_000, 1_000_000, 0, 1_000_000]);
        for one in &mut facts {
            one.length_ns = SECOND / 20;
        }
        assert_eq!(steadiness(&facts, &[]).stall, None);
        facts.insert(2, facts[2]);
        facts.insert(2, facts[2]);
        assert_eq!(steadiness(&facts, &[]).stall.unwrap().intervals, 3);
    }

    #[test]
    fn the_longest_stall_is_found() {
        let mut facts = intervals(&[500, 0, 300, 0, 0, 0, 400, 0]);
        let stall = steadiness(&facts, &[]).stall.unwrap();
        assert_eq!(
            stall,
            Stall {
                first: 4,
                intervals: 3,
                length_ns: 3 * SECOND
            }
        );
        facts[4].is_waiting = false;
        let stall = steadiness(&facts, &[]).stall.unwrap();
        assert_eq!(
            (stall.first, stall.intervals),
            (2, 1),
            "nothing was asked for in between"
        );
        assert_eq!(steadiness(&intervals(&[1, 2]), &[]).stall, None);
        assert_eq!(
            steadiness(&intervals(&[0, 0]), &[])
                .stall
                .unwrap()
                .intervals,
            2
        );
    }

    #[test]
    fn gaps_that_a_low_rate_explains_are_no_stall() {
        // One operation at a time, which takes three seconds.
        let slow: Vec<u64> = (0..30).map(|n| u64::from(n % 3 == 2)).collect();
        assert_eq!(steadiness(&intervals(&slow), &[]).stall, None);
        let hung = [&slow[..], &[0; 40]].concat();
        assert_eq!(
            steadiness(&intervals(&hung), &[]).stall.unwrap().length_ns,
            40 * SECOND
        );
    }

    fn medians(medians: impl Iterator<Item = u64>) -> Option<LatencyCourse> {
        let one = intervals(&[100])[0];
        let facts = medians.map(|median| IntervalFacts {
            service_ns_p50: Some(median),
            ..one
        });
        steadiness(&facts.collect::<Vec<_>>(), &[]).latency
    }

    #[test]
    fn latency_that_steps_changes() {
        let (first_ns, last_ns) = (1_000, 5_000);
        let changed = Some(LatencyCourse::Changed { first_ns, last_ns });
        let step = |count: u64| move |n: u64| if n < count / 2 { first_ns } else { last_ns };
        assert_eq!(medians((0..18).map(step(18))), changed);
        // Of fewer intervals a large step is told alone, and of fewer than ten none.
        let of_few = |count: u64, factor: u64| {
            let high = move |n: u64| if n < count / 2 { 1_000 } else { factor * 1_000 };
            medians((0..count).map(high)).is_some()
        };
        assert!(of_few(10, 6) && of_few(17, 6));
        assert!(!of_few(10, 5) && !of_few(17, 5) && !of_few(9, 10));
        let slight = |n: u64| if n < 30 { 1_000 } else { 1_400 };
        assert_eq!(medians((0..60).map(slight)), None);
        // One interval of the last third is as fast as the first ones.
        let once = |n: u64| if n == 50 { 900 } else { 1_000 + n * 100 };
        assert_eq!(medians((0..60).map(once)), None);
    }

    #[test]
    fn latency_at_two_levels_jumps_and_one_that_scatters_does_not() {
        let jumps = LatencyCourse::Jumps {
            low_ns: 1_000,
            high_ns: 5_000,
            high_share: 0.25,
        };
        let often = |n: u64| if n % 4 == 1 { 5_000 } else { 1_000 };
        assert_eq!(medians((0..40).map(often)), Some(jumps));
        assert_eq!(medians((0..28).map(often)), None);
        let further = |n: u64| if n % 4 == 1 { 6_000 } else { 1_000 };
        assert!(medians((0..28).map(further)).is_some());
        let turns = |n: u64| if n % 2 == 1 { 11_000 } else { 1_000 };
        assert!(medians((0..16).map(turns)).is_some());
        assert_eq!(medians((0..9).map(turns)), None);
        let seldom = |n: u64| if n % 10 == 1 { 5_000 } else { 1_000 };
        assert_eq!(medians((0..40).map(seldom)), None);
        let scattered = |n: u64| 1_000 + n * 7_919 % 10_000;
        assert_eq!(medians((0..60).map(scattered)), None);
    }

    proptest! {
        #[test]
        fn turning_time_around_turns_the_drift(rates in proptest::collection::vec(1_u64..10_000, 10..40)) {
            let forward = steadiness(&intervals(&rates), &[]).drift.unwrap();
            let turned: Vec<u64> = rates.iter().rev().copied().collect();
            let backward = steadiness(&intervals(&turned), &[]).drift.unwrap();
            prop_assert!((forward.errors + backward.errors).abs() < 1e-6);
            let product = (1.0 + forward.change_share) * (1.0 + backward.change_share);
            prop_assert!((product - 1.0).abs() < 1e-6);
            prop_assert!(forward.change_share > -1.0);
        }
    }
}
