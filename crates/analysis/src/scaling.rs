//! What made a job scale: runs of one job with one quantity varied, what each step gained, and what grew along.
use crate::answer::{Interval, ratio};
use crate::axis::Axis;
use crate::curve::CurvePoint;
use crate::series::RunOutline;
use crate::words::{number, percent, rate, size};
use plan::{Label, RunKind};
use std::collections::BTreeMap;

mod shape;

use shape::Level;
pub use shape::Shape;

/// A run of such a job.
#[derive(Clone, Copy, Debug)]
struct ScaledRun<'a> {
    point: &'a CurvePoint,
    outline: &'a RunOutline,
}

/// What the runs of a job say together.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaling {
    /// The name of the run, where the job has several.
    pub run: String,
    /// What is varied, as [`plan::Swept::name`].
    pub quantity: String,
    pub steps: Vec<ScaledLevel>,
    /// From the smallest value on, as far as each has its double.
    pub doublings: Vec<Gain>,
    /// `None` where the levels do not tell.
    pub shape: Option<Shape>,
    /// Whether all values held the rate that was asked for, which then says nothing of the storage.
    pub is_paced: bool,
    /// What grew along, as words.
    pub along: Vec<&'static str>,
    /// What stayed the same.
    pub held: Vec<&'static str>,
    /// What was to stay the same, and did not.
    pub not_held: Vec<String>,
    /// How a run would tell what else grew along.
    pub would_tell: Option<String>,
}

/// One value of the quantity.
#[derive(Clone, Debug, PartialEq)]
pub struct ScaledLevel {
    pub value: f64,
    /// Repeats.
    pub runs: usize,
    /// I/Os per second, the geometric mean of the repeats.
    pub rate: f64,
    /// Means of the repeats, in nanoseconds and slots.
    pub response_ns_p50: f64,
    pub response_ns_p99: f64,
    pub slots: f64,
    pub slots_busy: f64,
    pub workers: f64,
    /// Targets that were reached, bytes of an I/O on average, and the share of reads.
    pub targets: f64,
    pub transfer_bytes: f64,
    pub read_share: f64,
    /// Of the targets, that are worked on; `None` where nobody told.
    pub bytes: Option<f64>,
    /// Beside the value before.
    pub gain: Option<Gain>,
}

/// What a step brought.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    pub ratio: f64,
    /// `None` without three repeats.
    pub interval: Option<Interval>,
}

/// Within what share two amounts are the same; of what single I/Os decide, within more.
const SAME_SHARE: f64 = 0.02;
const SAME_MIX_SHARE: f64 = 0.1;

/// With less of the highest rate it has fallen.
const FALL_SHARE: f64 = 0.9;

/// The name of its run with its other loops, and the quantity; and the load, as runs at other rates are no repeats.
type Job = (String, String, String);

/// The jobs among runs that were varied, in the order of their names.
pub fn scalings<'a>(runs: impl Iterator<Item = (&'a CurvePoint, &'a RunOutline)>) -> Vec<Scaling> {
    let mut jobs: BTreeMap<Job, Vec<ScaledRun<'_>>> = BTreeMap::new();
    for (point, outline) in runs.filter(|(_, outline)| outline.kind == RunKind::Measure) {
        let run = ScaledRun { point, outline };
        let Some(quantity) = Label::find(&run.outline.labels, Label::SCALED) else {
            continue;
        };
        // Loops of the job itself make jobs of their own.
        let others = outline.swept.iter().filter(|one| one.name != quantity);
        let others = others.map(|one| {
            let axis = Axis::of(&one.name);
            format!(", {} = {}", axis.title(), axis.text(one.value))
        });
        let name = outline.name.clone() + &others.collect::<String>();
        let load = format!("{:?}", outline.load);
        let key = (name, quantity.to_owned(), load);
        jobs.entry(key).or_default().push(run);
    }
    let is_one = jobs.len() == 1;
    let of_job = |((name, quantity, _), runs): (Job, Vec<ScaledRun<'_>>)| {
        let asked = runs.first().and_then(|run| run.point.asked_per_s);
        let name = match (is_one, asked) {
            (true, _) => String::new(),
            (_, Some(asked)) => format!("{name}, {}/s asked", rate(asked)),
            (_, None) => name,
        };
        of_runs(name, quantity, runs)
    };
    let mut all: Vec<Scaling> = jobs.into_iter().filter_map(of_job).collect();
    // A run that reaches one file of the job alone has nothing varied.
    all.retain(|one| one.steps.len() > 1 && !one.is_idle());
    all
}

fn of_runs(run: String, quantity: String, runs: Vec<ScaledRun<'_>>) -> Option<Scaling> {
    let value = |run: &ScaledRun<'_>| {
        let mut swept = run.outline.swept.iter();
        swept.find(|one| one.name == quantity).map(|one| one.value)
    };
    let mut levels: Vec<(f64, Vec<ScaledRun<'_>>)> = Vec::new();
    for one in runs.iter().copied() {
        let value = value(&one).filter(|_| one.point.achieved_per_s > 0.0)?;
        match levels.iter_mut().find(|(known, _)| *known == value) {
            Some((_, level)) => level.push(one),
            None => levels.push((value, vec![one])),
        }
    }
    levels.sort_by(|one, other| one.0.total_cmp(&other.0));
    let rates: Vec<Level> = levels
        .iter()
        .map(|(value, runs)| Level {
            value: *value,
            rates: runs.iter().map(|run| run.point.achieved_per_s).collect(),
        })
        .collect();
    let mut steps: Vec<ScaledLevel> = levels.iter().map(level).collect();
    let gain = |before: &Level, after: &Level| {
        let (ratio, interval) = ratio(&before.rates, &after.rates);
        Gain { ratio, interval }
    };
    for place in 1..steps.len() {
        steps[place].gain = Some(gain(&rates[place - 1], &rates[place]));
    }
    let twice = |level: &Level| rates.iter().find(|other| other.value == 2.0 * level.value);
    let pairs = std::iter::successors(rates.first(), |level| twice(level));
    let pairs: Vec<&Level> = pairs.collect();
    let doublings = pairs
        .windows(2)
        .map(|pair| gain(pair[0], pair[1]))
        .collect();
    let is_held = |level: &(f64, Vec<ScaledRun<'_>>)| {
        let mut points = level.1.iter().map(|run| run.point);
        points.all(|point| point.asked_per_s.is_some() && !point.is_missed())
    };
    let is_paced = levels.iter().all(is_held);
    let asked = runs
        .first()
        .and_then(|run| Label::find(&run.outline.labels, Label::HELD));
    Some(Scaling {
        run,
        shape: Shape::of(&rates).filter(|_| !is_paced),
        is_paced,
        doublings,
        ..Scaling::judged(quantity, steps, asked.unwrap_or_default())
    })
}

fn level((value, runs): &(f64, Vec<ScaledRun<'_>>)) -> ScaledLevel {
    let count = runs.len() as f64;
    let mean = |of: &dyn Fn(&ScaledRun<'_>) -> f64| runs.iter().map(of).sum::<f64>() / count;
    let bytes = |run: &ScaledRun<'_>| {
        let told = Label::find(&run.outline.labels, Label::WORKED_ON);
        told.and_then(|told| told.parse::<f64>().ok())
    };
    let bytes: Option<Vec<f64>> = runs.iter().map(bytes).collect();
    let known = |ns: Option<u64>| ns.map_or(f64::NAN, |ns| ns as f64);
    ScaledLevel {
        value: *value,
        runs: runs.len(),
        rate: mean(&|run| run.point.achieved_per_s.ln()).exp(),
        response_ns_p50: mean(&|run| known(run.point.response.p50)),
        response_ns_p99: mean(&|run| known(run.point.response.p99)),
        slots: mean(&|run| f64::from(run.point.slots)),
        slots_busy: mean(&|run| run.point.slots_busy.unwrap_or(0.0)),
        workers: mean(&|run| f64::from(run.outline.workers)),
        targets: mean(&|run| run.outline.targets() as f64),
        transfer_bytes: mean(&|run| run.outline.bytes_per_operation),
        read_share: mean(&|run| run.outline.read_share),
        bytes: bytes.map(|bytes| bytes.iter().sum::<f64>() / count),
        gain: None,
    }
}

impl Scaling {
    /// What grew along with the quantity, and what was to be held.
    fn judged(quantity: String, steps: Vec<ScaledLevel>, asked: &str) -> Self {
        let of = |of: &dyn Fn(&ScaledLevel) -> f64| steps.iter().map(of).collect::<Vec<f64>>();
        let bytes: Option<Vec<f64>> = steps.iter().map(|one| one.bytes).collect();
        let amounts = [
            ("slots", Some(of(&|one| one.slots)), "threads"),
            ("workers", Some(of(&|one| one.workers)), ""),
            ("bytes", bytes, "range_pct"),
        ];
        let (mut along, mut held, mut not_held) = (Vec::new(), Vec::new(), Vec::new());
        for (name, amounts, own) in amounts {
            let Some(amounts) = amounts.filter(|_| own != quantity) else {
                continue;
            };
            match is_same(&amounts, SAME_SHARE) {
                true => held.push(name),
                false => along.push(name),
            }
            let is_asked = asked.split(' ').any(|word| word == name);
            if is_asked && !is_same(&amounts, SAME_SHARE) {
                not_held.push(went(name, &amounts));
            }
        }
        let mixes = [
            ("transfer size", of(&|one| one.transfer_bytes)),
            ("share of reads", of(&|one| one.read_share)),
        ];
        let mixes = mixes
            .iter()
            .filter(|(_, all)| !is_same(all, SAME_MIX_SHARE));
        along.extend(mixes.map(|(name, _)| *name));
        let busy = of(&|one| one.slots_busy);
        if asked.contains("slots") && !is_same(&busy, SAME_MIX_SHARE) {
            not_held.push(went("slots in use", &busy));
        }
        let mut scaling = Self {
            run: String::new(),
            quantity,
            steps,
            shape: None,
            doublings: Vec::new(),
            is_paced: false,
            along,
            held,
            not_held,
            would_tell: None,
        };
        scaling.would_tell = scaling.missing(asked);
        scaling
    }

    /// The runs in which one of what grew along is at its other end; what was asked to be held and did not is no advice.
    fn missing(&self, asked: &str) -> Option<String> {
        let (first, last) = (self.steps.first()?, self.steps.last()?);
        let axis = Axis::of(&self.quantity);
        let run = |level: &ScaledLevel, amount: String| {
            format!("{} = {} and {amount}", axis.title(), axis.text(level.value))
        };
        let of = |name: &&str| match *name {
            "slots" => Some((
                run(first, format!("{} slots", number(last.slots))),
                "`--hold slots`".to_owned(),
            )),
            "bytes" => Some((
                run(last, format!("{} worked on", size(first.bytes? as u64))),
                "`--hold bytes`".to_owned(),
            )),
            // Of several hosts each has workers of its own.
            "workers" if self.quantity != "hosts" && !self.along.contains(&"slots") => Some((
                run(first, format!("{} workers", number(last.workers))),
                format!("`--workers {}`", number(last.workers)),
            )),
            _ => None,
        };
        let is_new = |name: &&&str| !asked.split(' ').any(|word| word == **name);
        let (runs, ways): (Vec<String>, Vec<String>) =
            self.along.iter().filter(is_new).filter_map(of).unzip();
        (!runs.is_empty()).then(|| {
            let (runs, ways) = (runs.join(", or with "), ways.join(", "));
            format!("runs with {runs} would tell ({ways})")
        })
    }

    /// Each doubling where values allow it, else each step.
    fn gains(&self) -> Option<String> {
        let steps: Vec<Gain> = self.steps.iter().filter_map(|one| one.gain).collect();
        let (name, gains) = match (self.doublings.len(), steps.len()) {
            (1, 1) => ("doubling gave", &self.doublings),
            (0, 1) => ("the step gave", &steps),
            (0 | 1, _) => ("the steps gave", &steps),
            _ => ("each doubling gave", &self.doublings),
        };
        let gains: Vec<String> = gains.iter().map(Gain::words).collect();
        (!gains.is_empty()).then(|| format!("{name} {}", gains.join(", ")))
    }

    /// Whether files were varied that it does not reach.
    fn is_idle(&self) -> bool {
        let targets: Vec<f64> = self.steps.iter().map(|one| one.targets).collect();
        self.quantity == "files" && is_same(&targets, 0.0)
    }

    /// Where the rate was the highest, if it has fallen since.
    fn fall(&self) -> Option<String> {
        let last = self.steps.last()?;
        let rates = |one: &&ScaledLevel, other: &&ScaledLevel| one.rate.total_cmp(&other.rate);
        let best = self.steps.iter().max_by(rates)?;
        let axis = Axis::of(&self.quantity);
        (last.rate < FALL_SHARE * best.rate).then(|| {
            format!(
                "the highest rate was with {} = {}, and {} of it was left in the end",
                axis.title(),
                axis.text(best.value),
                percent(last.rate / best.rate)
            )
        })
    }

    /// All of it in a sentence.
    pub fn words(&self) -> String {
        let name = Axis::of(&self.quantity);
        let last = self.steps.last().map_or(0.0, |one| one.value);
        let (what, last) = (name.title(), name.text(last));
        let run = match &*self.run {
            "" => String::new(),
            run => format!("`{run}`, "),
        };
        if self.is_paced {
            return format!(
                "{run}{what}: the rate that was asked for was held up to {what} = {last}, which says nothing of what the storage can do; \
                 ask for the maximum"
            );
        }
        let gains = self.gains();
        let gains = gains.map_or(String::new(), |gains| format!("{gains}; "));
        let fall = self
            .fall()
            .map_or(String::new(), |fall| format!("; {fall}"));
        let shape = match &self.shape {
            Some(shape) => shape.words(&what, &last),
            None => format!("its shape is not identifiable up to {what} = {last}"),
        };
        let along = match &*self.along {
            [] => format!("varied alone: {what}; held: {}", self.held.join(", ")),
            along => format!("confounded: {}", along.join(", ")),
        };
        let mut text = format!("{run}{what}: {gains}{shape}{fall}; {along}");
        for more in self.would_tell.iter().chain(&self.not_held) {
            text += "; ";
            text += more;
        }
        text
    }
}

impl Gain {
    fn words(&self) -> String {
        match self.interval {
            Some(Interval { from, to }) => format!("{:.2} ({from:.2} to {to:.2})", self.ratio),
            None => format!("{:.2}", self.ratio),
        }
    }
}

impl Shape {
    /// Up to `last` of the quantity.
    fn words(&self, what: &str, last: &str) -> String {
        match *self {
            Self::Flat { rate: all } => {
                format!("flat at {} I/O/s: more of it brings nothing", rate(all))
            }
            Self::Proportional { .. } => format!("proportional up to {what} = {last}"),
            Self::ThenFlat {
                rate_each,
                rate: all,
            } => format!(
                "proportional up to {what} = {:.1}, then flat at {} I/O/s",
                all / rate_each,
                rate(all)
            ),
            Self::Universal {
                contention,
                coherency,
                ..
            } if coherency > 0.0 => format!(
                "universal law: {} waits in turn (contention), and {} per pair makes it fall (coherency)",
                percent(contention),
                percent(coherency)
            ),
            Self::Universal { contention, .. } => format!(
                "universal law: {} waits in turn (contention)",
                percent(contention)
            ),
        }
    }
}

/// Whether the largest is hardly above the smallest.
fn is_same(values: &[f64], share: f64) -> bool {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(0.0, f64::max);
    most <= least * (1.0 + share)
}

/// Of what was to be held.
fn went(name: &str, amounts: &[f64]) -> String {
    let text = |amount: Option<&f64>| {
        let amount = amount.copied().unwrap_or(0.0);
        match name {
            "bytes" => size(amount as u64),
            _ => number(amount),
        }
    };
    let (first, last) = (text(amounts.first()), text(amounts.last()));
    format!("{name} were to be held, and went from {first} to {last}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::point;
    use crate::testing::closed;
    use plan::Swept;

    /// A run of one second with so many of them, slots and workers.
    fn run(files: u32, rate: usize, slots: u32, held: &str) -> (CurvePoint, RunOutline) {
        let mut totals = closed(0, &vec![1_000_000; rate]);
        totals.started.name = "rd1".to_owned();
        totals.started.swept = vec![Swept::new("files", f64::from(files))];
        totals.started.streams[0].targets = (0..files).map(plan::TargetId).collect();
        totals.started.pools[0].slots = slots;
        totals.pools[0].slots = slots;
        totals.workers.workers = slots;
        let mut labels = vec![Label::new(Label::SCALED, "files")];
        if !held.is_empty() {
            labels.push(Label::new(Label::HELD, held));
        }
        totals.started.labels = labels;
        (point(&totals), RunOutline::of(&totals))
    }

    fn words(runs: &[(CurvePoint, RunOutline)]) -> String {
        let found = scalings(runs.iter().map(|(point, outline)| (point, outline)));
        assert_eq!(found.len(), 1);
        found[0].words()
    }

    #[test]
    fn each_doubling_and_what_grew_along_are_told() {
        let rates = [(1, 1000), (2, 1940), (4, 3317), (8, 3384)];
        let along = rates.map(|(files, rate)| run(files, rate, 64 * files, ""));
        assert_eq!(
            words(&along),
            "files: each doubling gave 1.94, 1.71, 1.02; proportional up to files = 3.4, then flat at \
             3\u{202f}350 I/O/s; confounded: slots, workers; runs with files = 1 and 512 slots would tell (`--hold slots`)"
        );
        let held = rates.map(|(files, rate)| run(files, rate, 512, "slots"));
        assert!(words(&held).ends_with("; varied alone: files; held: slots, workers"));
        let lost = rates.map(|(files, rate)| run(files, rate, 512 / files, "slots"));
        assert!(words(&lost).contains("; slots were to be held, and went from 512 to 64"));
    }

    #[test]
    fn repeats_give_intervals_and_other_runs_are_none_of_it() {
        let mut runs = Vec::new();
        for (files, rate) in [(1, 1000), (3, 3000)] {
            runs.extend([0, 10, 20].map(|more| run(files, rate + more, 8, "")));
        }
        let found = words(&runs);
        assert!(
            found.starts_with("files: the step gave 2.98 (2.9"),
            "{found}"
        );
        let mut other = run(5, 100, 8, "");
        other.1.labels.clear();
        runs.push(other);
        assert_eq!(words(&runs), found);
    }
}
