//! What a run definition asks for: rates, steps of rates, and the law of arrivals.
use super::codes;
use super::definitions::{Field, report_not_numbers};
use super::fields::Fields;
use super::model::{RateSpec, Times};
use super::sink::Sink;
use super::token::Word;
use super::value::{self, NotNumbers, Number, Unit};
use plan::{ArrivalLaw, Diagnostic};

/// The longest cycle of steps in seconds, as in the original.
const CYCLE_MAX_S: f64 = 3600.0;

/// What `distribution` says.
pub(crate) struct ArrivalSpec {
    pub law: ArrivalLaw,
    /// Whether the rate is a list of rates with their seconds.
    pub are_stepped: bool,
}

/// Numbers, `max` or `curve`.
pub(crate) fn rate(field: &Field, sink: &mut Sink) -> RateSpec {
    let first = field.words[0].text.to_ascii_lowercase();
    match first.as_str() {
        "max" if field.words.len() == 1 => return RateSpec::Max,
        "curve" if field.words.len() == 1 => return RateSpec::Curve,
        _ => {}
    }
    let Some(numbers) = with_max(field, sink) else {
        return RateSpec::Max;
    };
    if let Some(zero) = numbers.iter().find(|number| number.value == 0.0) {
        sink.error(
            codes::OUT_OF_RANGE,
            zero.span,
            "a rate of zero",
            "no I/O at all",
            "use a rate above zero, or `max`",
        );
    }
    RateSpec::Numbers(numbers.iter().map(|number| number.value).collect())
}

/// Numbers, and `max` among them as a rate without a bound.
fn with_max(field: &Field, sink: &mut Sink) -> Option<Vec<Number>> {
    listed(&field.words).map_or_else(|_| numbers(field, sink), Some)
}

/// A list of rates, with `max` as one without a bound.
pub(crate) fn listed(words: &[Word]) -> Result<Vec<Number>, NotNumbers> {
    let is_max = |word: &Word| word.text.eq_ignore_ascii_case("max");
    let mut out = Vec::new();
    for part in words.split_inclusive(is_max) {
        let (plain, max) = match part.split_last() {
            Some((last, before)) if is_max(last) => (before, Some(last)),
            _ => (part, None),
        };
        out.extend(value::numbers(plain, Unit::Plain)?);
        out.extend(max.map(|word| Number {
            value: f64::INFINITY,
            span: word.span,
        }));
    }
    Ok(out)
}

fn numbers(field: &Field, sink: &mut Sink) -> Option<Vec<Number>> {
    let problem = match value::numbers(&field.words, Unit::Plain) {
        Ok(numbers) => return Some(numbers),
        Err(problem) => problem,
    };
    let first = field.words[0].text.to_ascii_lowercase();
    let is_word = field.words.len() == 1;
    match crate::nearest::meant(&first, ["max", "curve"]).filter(|_| is_word) {
        Some(help) => sink.error(
            codes::UNKNOWN_WORD,
            field.words[0].span,
            format!("`{}` is not a rate", field.words[0].text),
            "not known",
            help,
        ),
        None => report_not_numbers(field, problem, sink),
    }
    None
}

/// (rate,seconds,rate,seconds,…), over and over. Seconds in percent are a share of `elapsed`; rates
/// in percent are a share of the first rate that is a number.
pub(crate) fn steps(field: &Field, times: Times, sink: &mut Sink) -> RateSpec {
    let word = field.words[0].text.to_ascii_lowercase();
    if field.words.len() == 1 && (word == "max" || word == "curve") {
        sink.error(
            codes::CONFLICT,
            field.span,
            format!("`distribution=variable` with `iorate={word}`"),
            "no rates that vary",
            "write `iorate=(rate,seconds,rate,seconds,…)`, or remove `variable`",
        );
        return RateSpec::Max;
    }
    let Some(numbers) = numbers(field, sink) else {
        return RateSpec::Max;
    };
    if numbers.len() % 2 == 1 {
        sink.error(
            codes::VALUE_COUNT,
            field.span,
            "a variable rate is (rate,seconds,rate,seconds,…)",
            "an odd count of values",
            "give each rate its seconds",
        );
        return RateSpec::Max;
    }
    let pairs: Vec<(&Number, &Number)> = numbers
        .chunks_exact(2)
        .map(|pair| (&pair[0], &pair[1]))
        .collect();
    let Some(base) = base_rate(field, &pairs, sink) else {
        return RateSpec::Max;
    };
    let elapsed_s = times.elapsed_s as f64;
    let of = |number: &Number, whole: f64| match number.value {
        percent if percent < 0.0 => -percent / 100.0 * whole,
        value => value,
    };
    let steps: Vec<(f64, f64)> = pairs
        .iter()
        .map(|(rate, seconds)| (of(rate, base), of(seconds, elapsed_s)))
        .collect();
    check_spans(field, &pairs, &steps, elapsed_s, sink);
    RateSpec::Steps(steps)
}

/// What rates in percent are a share of.
fn base_rate(field: &Field, pairs: &[(&Number, &Number)], sink: &mut Sink) -> Option<f64> {
    let mut rates = pairs.iter().map(|(rate, _)| rate);
    if let Some(base) = rates.clone().find(|rate| rate.value > 0.0) {
        return Some(base.value);
    }
    match rates.find(|rate| rate.value < 0.0) {
        Some(percent) => sink.error(
            codes::OUT_OF_RANGE,
            percent.span,
            "a variable rate in percent, and no rate to take a share of",
            "percent of what?",
            "give one step a rate without `%`; the others are shares of the first such rate",
        ),
        None => sink.error(
            codes::OUT_OF_RANGE,
            field.span,
            "every rate is zero",
            "no I/O at all",
            "give one step a rate above zero",
        ),
    }
    None
}

fn check_spans(
    field: &Field,
    pairs: &[(&Number, &Number)],
    steps: &[(f64, f64)],
    elapsed_s: f64,
    sink: &mut Sink,
) {
    // Shorter than a nanosecond is nothing.
    let empty = pairs
        .iter()
        .zip(steps)
        .find(|(_, (_, seconds))| *seconds < 1e-9);
    if let Some(((_, number), _)) = empty {
        sink.error(
            codes::OUT_OF_RANGE,
            number.span,
            "a step that takes no time",
            "zero seconds",
            "give it a second or more, or remove it",
        );
        return;
    }
    let total_s: f64 = steps.iter().map(|(_, seconds)| seconds).sum();
    let (limit_s, of) = if elapsed_s < CYCLE_MAX_S {
        (elapsed_s, "`elapsed`")
    } else {
        (CYCLE_MAX_S, "an hour")
    };
    // Shares of `elapsed` may add up to a little more than all of it.
    if total_s > limit_s * (1.0 + 1e-9) {
        sink.push(
            Diagnostic::error(
                codes::TIMES,
                format!(
                    "the steps of a variable rate take {total_s} s, more than {of}, {limit_s} s"
                ),
            )
            .at(field.span, "its last steps would never come, or once only")
            .with_help("use shorter steps; they are repeated until the run ends"),
        );
    }
}

fn law_of_gaps(word: &str) -> Option<ArrivalLaw> {
    match word.to_ascii_lowercase().chars().next()? {
        'e' => Some(ArrivalLaw::Exponential),
        'u' => Some(ArrivalLaw::Uniform),
        'd' => Some(ArrivalLaw::Deterministic),
        _ => None,
    }
}

/// The law of arrivals.
pub(crate) fn distribution(fields: &Fields, sink: &mut Sink) -> ArrivalSpec {
    let mut spec = ArrivalSpec {
        law: law_of_gaps(word!(RUN, "distribution").default).expect("one of the laws of gaps"),
        are_stepped: false,
    };
    let Some(field) = fields.get("distribution") else {
        return spec;
    };
    let (mut gaps, mut is_spike) = (None, false);
    for word in &field.words {
        match word.text.to_ascii_lowercase().chars().next() {
            Some('s') => is_spike = true,
            Some('v') => spec.are_stepped = true,
            _ => gaps = law_of_gaps(&word.text).map(|law| (word, law)).or(gaps),
        }
    }
    spec.law = gaps.map_or(spec.law, |(_, law)| law);
    if is_spike {
        spec.law = ArrivalLaw::Spike;
        if let Some((word, law)) = gaps
            && law.scatters()
        {
            let message = format!(
                "`distribution={}` beside `spike`: every second has its whole rate at its start, \
                 and no gaps are drawn",
                word.text
            );
            sink.push(Diagnostic::note(codes::TRANSLATED, message).at(word.span, "has no effect"));
        }
    }
    spec
}
