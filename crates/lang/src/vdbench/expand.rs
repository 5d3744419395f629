//! Run definitions to the list of runs, in order: repetition over storage, loops, rates, curves.
use super::codes;
use super::model::{Loop, LoopKind, LoopValue, RateSpec, RunDefinition, Seek, StorageChoice};
use super::sink::Sink;
use plan::{Diagnostic, Span};
use serde::{Deserialize, Serialize};

/// One run as `check` and simulation show it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListedRun {
    pub name: String,
    pub kind: ListedKind,
    /// What is asked, in the words of the language: a number, `Uncontrolled MAX`, `max`. For a
    /// point of a curve, its percentage; the rate follows from the first run of the curve.
    pub rate: String,
    /// Values of the loops, `None` when there is none.
    pub loops: String,
    /// Operations in flight, all storage together.
    pub threads: u64,
    /// Planned length in seconds, behind the warm-up; `None` where nothing bounds it but a size.
    pub elapsed_s: Option<u64>,
    /// Whether it ends before that once its sequential streams reach their end.
    pub ends_at_size: bool,
    pub warmup_s: u64,
    pub interval_s: u64,
    pub pause_s: u64,
    /// What simulation prints behind `RD=`.
    pub simulated: String,
}

/// What a listed run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListedKind {
    Measure,
    /// Makes or extends files; left out where nothing is missing.
    Prepare,
    /// Makes, completes or removes a tree of files.
    Format,
}

/// One run of a raw job.
#[derive(Clone, Debug)]
pub(crate) struct RawRun {
    /// Place of its definition.
    pub definition: usize,
    pub name: String,
    /// Which of the repetitions over storage it is; zero where there is none.
    pub choice: usize,
    pub values: Vec<(LoopKind, LoopValue)>,
    pub rate: RawRate,
    pub loops_text: String,
    /// As the original's simulation prints it.
    pub simulated_rate: String,
}

/// What is asked of one run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RawRate {
    Max,
    PerSecond(f64),
    PercentOfPrevious(f64),
    /// The first run of a curve; curves are numbered over the whole job.
    CurveBase(usize),
    CurvePoint(usize, f64),
    Steps(Vec<(f64, f64)>),
}

/// No job of people has more; beyond it, the list itself would be the load.
const RUNS_MAX: usize = 200_000;

/// All runs of a raw job in order.
pub(crate) fn expand(definitions: &[RunDefinition], sink: &mut Sink) -> Vec<RawRun> {
    let mut out = Vec::new();
    let mut curves = 0;
    for (index, definition) in definitions.iter().enumerate() {
        let names: Vec<String> = match &definition.storage {
            StorageChoice::OfWorkloads | StorageChoice::These(_) => vec![definition.name.clone()],
            StorageChoice::Repeated(lists) => lists
                .iter()
                .map(|(text, _)| format!("{}_{text}", definition.name))
                .collect(),
        };
        let combinations = combinations(&definition.loops);
        let each = combinations.len() * runs_per_combination(definition);
        if each.saturating_mul(names.len()).saturating_add(out.len()) > RUNS_MAX {
            report_too_many(definition.fields.name.span, sink);
            return out;
        }
        for (choice, name) in names.into_iter().enumerate() {
            for values in &combinations {
                let base = RawRun {
                    definition: index,
                    name: name.clone(),
                    choice,
                    values: values.clone(),
                    rate: RawRate::Max,
                    loops_text: String::new(),
                    simulated_rate: String::new(),
                };
                with_rates(base, definition, &mut curves, &mut out);
            }
        }
    }
    out
}

fn runs_per_combination(definition: &RunDefinition) -> usize {
    match &definition.rate {
        RateSpec::Numbers(rates) => rates.len().max(1),
        RateSpec::Curve => definition.curve_pct.len() + 1,
        RateSpec::Max | RateSpec::Steps(_) => 1,
    }
}

pub(crate) fn report_too_many(span: Span, sink: &mut Sink) {
    sink.push(
        Diagnostic::error(codes::VALUE_COUNT, format!("more than {RUNS_MAX} runs"))
            .at(span, "the loops of this run multiply")
            .with_help("use fewer values, or several files"),
    );
}

/// Every combination of loop values; the first loop is the outermost. Empty when there are too many.
pub(crate) fn combinations(loops: &[Loop]) -> Vec<Vec<(LoopKind, LoopValue)>> {
    let count = loops
        .iter()
        .try_fold(1_usize, |count, found| {
            count.checked_mul(found.values.len().max(1))
        })
        .unwrap_or(usize::MAX);
    if count > RUNS_MAX {
        // One more than allowed makes the caller report it.
        return vec![Vec::new(); RUNS_MAX + 1];
    }
    let mut out = vec![Vec::new()];
    for found in loops {
        let mut next = Vec::with_capacity(out.len() * found.values.len());
        for outer in &out {
            for value in &found.values {
                let mut values: Vec<(LoopKind, LoopValue)> = outer.clone();
                values.push((found.kind, value.clone()));
                next.push(values);
            }
        }
        out = next;
    }
    out
}

fn with_rates(base: RawRun, definition: &RunDefinition, curves: &mut usize, out: &mut Vec<RawRun>) {
    let text = loops_text(&base.values);
    let or_none = |text: &str| {
        if text.is_empty() {
            "None".to_owned()
        } else {
            text.to_owned()
        }
    };
    let control = control(definition);
    let mut push = |name: String, rate: RawRate, loops_text: String, simulated_rate: String| {
        out.push(RawRun {
            name,
            rate,
            loops_text,
            simulated_rate,
            ..base.clone()
        });
    };
    match &definition.rate {
        RateSpec::Max => push(
            base.name.clone(),
            RawRate::Max,
            or_none(&text),
            format!("{control} MAX"),
        ),
        RateSpec::Steps(steps) => push(
            base.name.clone(),
            RawRate::Steps(steps.clone()),
            or_none(&text),
            "Variable".to_owned(),
        ),
        RateSpec::Numbers(rates) => {
            for value in rates {
                let rate = match *value {
                    percent if percent < 0.0 => RawRate::PercentOfPrevious(-percent),
                    rate if rate.is_finite() => RawRate::PerSecond(rate),
                    _ => RawRate::Max,
                };
                let shown = rate_text(*value);
                let loops = match (rates.len(), text.is_empty()) {
                    (1, _) => or_none(&text),
                    (_, true) => format!("iorate={shown}"),
                    (_, false) => format!("{text} iorate={shown}"),
                };
                // The original's simulation shows the first rate of a list for all of them.
                let simulated = printed_rate(rates[0], control);
                push(base.name.clone(), rate, loops, simulated);
            }
        }
        RateSpec::Curve => {
            let curve = *curves;
            *curves += 1;
            let base_text = format!("{control} curve");
            push(
                base.name.clone(),
                RawRate::CurveBase(curve),
                or_none(&text),
                base_text,
            );
            for pct in &definition.curve_pct {
                let name = format!("{}_({}%)", base.name, pct.trunc());
                let rate = rate_text(simulated_point(*pct));
                push(name, RawRate::CurvePoint(curve, *pct), or_none(&text), rate);
            }
        }
    }
}

/// A base of 10000 is what a curve falls back to where nothing was measured.
pub(crate) fn simulated_point(pct: f64) -> f64 {
    let rate = (10_000.0 * pct.trunc() / 100.0).trunc();
    let unit = if rate > 1000.0 { 100.0 } else { 10.0 };
    (rate / unit).ceil() * unit
}

/// What reports call the highest rate.
pub(crate) fn control(definition: &RunDefinition) -> &'static str {
    if is_controlled(definition) {
        "Controlled"
    } else {
        "Uncontrolled"
    }
}

/// Whether reports call the highest rate controlled: something holds the workloads in step.
pub(crate) fn is_controlled(definition: &RunDefinition) -> bool {
    definition.workloads.iter().any(|workload| {
        workload.skew_pct.is_some()
            || workload.priority.is_some()
            || workload.rate.is_some()
            || workload.is_user_class
    })
}

/// The values of the loops as reports show them, empty when there is none.
pub(crate) fn loops_text(values: &[(LoopKind, LoopValue)]) -> String {
    let shown: Vec<String> = values
        .iter()
        .map(|(kind, value)| {
            let text = match value {
                LoopValue::Number(number) if *kind == LoopKind::FileRate => rate_text(*number),
                LoopValue::Number(number) | LoopValue::Ratio(_, number) => short_number(*number),
                LoopValue::Seek(Seek::Percent(pct)) => short_number(*pct),
                LoopValue::Seek(Seek::Poisson(_)) => "poisson".to_owned(),
                LoopValue::Seek(Seek::UntilEnd) => "eof".to_owned(),
                LoopValue::Seek(Seek::SequentialFromRandom) => "seqnz".to_owned(),
                LoopValue::Word(word) => word.clone(),
            };
            format!("{}={text}", kind.label())
        })
        .collect();
    shown.join(" ")
}

/// A rate without decimals where it has none; one without a bound is `max`.
pub(crate) fn rate_text(rate: f64) -> String {
    if rate < 0.0 {
        format!("{}%", -rate)
    } else if rate.is_infinite() {
        "max".to_owned()
    } else {
        format!("{rate}")
    }
}

/// A rate as the line of a run has it: without decimals, a half rounded up.
pub(crate) fn printed_rate(rate: f64, control: &str) -> String {
    if rate.is_infinite() {
        return format!("{control} MAX");
    }
    match rate {
        percent if percent < 0.0 => rate_text(percent),
        rate => format!("{}", (rate + 0.5).floor()),
    }
}

/// `512`, `4k`, `1.500k`, `50%`.
pub fn short_number(value: f64) -> String {
    if value < 0.0 {
        return format!("{}%", (-value).trunc());
    }
    if value < 1024.0 {
        return format!("{}", value.trunc());
    }
    let mut scaled = value;
    let mut unit = "";
    for next in ["k", "m", "g", "t", "p"] {
        if scaled < 1024.0 {
            break;
        }
        scaled /= 1024.0;
        unit = next;
    }
    let text = format!("{scaled:.3}");
    format!("{}{unit}", text.strip_suffix(".000").unwrap_or(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(short_number(1023.0), "1023");
        assert_eq!(short_number(1024.0), "1k");
        assert_eq!(short_number(1536.0), "1.500k");
        assert_eq!(short_number(1048576.0), "1m");
        assert_eq!(short_number(83.14), "83");
        assert_eq!(short_number(-50.0), "50%");
    }

    #[test]
    fn points_of_a_simulated_curve_round_up() {
        assert_eq!(simulated_point(1.0), 100.0);
        assert_eq!(simulated_point(20.0), 2000.0);
        assert_eq!(simulated_point(100.0), 10000.0);
    }
}
