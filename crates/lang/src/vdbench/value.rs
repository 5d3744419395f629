//! Numbers, suffixes and ranges of values. Must not know any keyword.
use super::token::Word;
use plan::Span;

/// What the suffix `m` means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// 1024².
    Plain,
    /// Minutes.
    Seconds,
}

/// A number with its place. A percentage (`10%`) is negative, as the language keeps it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Number {
    pub value: f64,
    pub span: Span,
}

/// Why a list is not a list of numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotNumbers {
    /// No value is a number.
    Text(Word),
    /// This value is not, others are.
    Mixed(Word),
    /// The second value of a range without its step.
    NoStep(Word),
    /// A step of zero or less would never arrive.
    BadStep(Word),
    TooMany(Word),
    /// Further from zero than [`NUMBER_MAX`].
    TooLarge(Word),
}

/// What no size, count or rate exceeds, 4 EiB: sums of two such numbers fit 64 bits with a sign.
pub(crate) const NUMBER_MAX: f64 = (1_u64 << 62) as f64;
/// What no time exceeds, in seconds: ten years of 365 days. Nanoseconds of it fit 64 bits.
pub(crate) const SECONDS_MAX: u64 = 10 * 365 * 24 * 3600;

/// The largest count of numbers in one list.
const NUMBERS_MAX: usize = 10_240;
/// The largest count of words in one list.
const WORDS_MAX: usize = 1_024;

/// One number with its suffix.
pub(crate) fn number(text: &str, unit: Unit) -> Option<f64> {
    let lower = text.to_ascii_lowercase();
    if let Some(percent) = lower.strip_suffix('%') {
        return plain(percent).map(|value| -value);
    }
    let kib = 1024.0_f64;
    let suffixes = [
        ("kb", kib),
        ("mb", kib.powi(2)),
        ("gb", kib.powi(3)),
        ("tb", kib.powi(4)),
        ("k", kib),
        (
            "m",
            if unit == Unit::Seconds {
                60.0
            } else {
                kib.powi(2)
            },
        ),
        ("g", kib.powi(3)),
        ("t", kib.powi(4)),
        ("h", 3600.0),
    ];
    for (suffix, factor) in suffixes {
        if let Some(rest) = lower.strip_suffix(suffix) {
            return plain(rest).map(|value| value * factor);
        }
    }
    plain(&lower)
}

/// A floating-point number as the original's platform reads it: a final `d` or `f` is allowed.
fn plain(text: &str) -> Option<f64> {
    let body = text
        .strip_suffix(['d', 'f'])
        .filter(|rest| rest.ends_with(|ch: char| ch.is_ascii_digit() || ch == '.'))
        .unwrap_or(text);
    let is_number = body.starts_with(|ch: char| ch.is_ascii_digit() || "+-.".contains(ch))
        && body.contains(|ch: char| ch.is_ascii_digit());
    if !is_number || body[1..].contains("inf") || body.contains("nan") {
        return None;
    }
    body.parse::<f64>().ok().filter(|value| value.is_finite())
}

/// All numbers of a list, ranges unfolded.
pub(crate) fn numbers(words: &[Word], unit: Unit) -> Result<Vec<Number>, NotNumbers> {
    let mut out = Vec::new();
    let mut at = 0;
    let numeric = words
        .iter()
        .filter(|word| number(&word.text, unit).is_some())
        .count();
    while at < words.len() {
        let word = &words[at];
        if let Some(value) = number(&word.text, unit) {
            check_size(value, word)?;
            out.push(Number {
                value,
                span: word.span,
            });
            at += 1;
        } else if let Some((low, high)) = range(&word.text, unit) {
            let Some(step) = words.get(at + 1) else {
                return Err(NotNumbers::NoStep(word.clone()));
            };
            check_size(low, word)?;
            check_size(high, word)?;
            unfold(low, high, word, step, unit, &mut out)?;
            at += 2;
        } else if numeric > 0 || !out.is_empty() {
            return Err(NotNumbers::Mixed(word.clone()));
        } else {
            return Err(NotNumbers::Text(word.clone()));
        }
        if out.len() > NUMBERS_MAX {
            return Err(NotNumbers::TooMany(word.clone()));
        }
    }
    Ok(out)
}

fn check_size(value: f64, word: &Word) -> Result<(), NotNumbers> {
    if value.abs() > NUMBER_MAX {
        return Err(NotNumbers::TooLarge(word.clone()));
    }
    Ok(())
}

/// Whether the word is two numbers with a dash between them.
pub(crate) fn range(text: &str, unit: Unit) -> Option<(f64, f64)> {
    text.match_indices('-')
        .filter(|(at, _)| *at > 0)
        .find_map(|(at, _)| {
            let low = number(&text[..at], unit)?;
            let high = number(&text[at + 1..], unit)?;
            Some((low, high))
        })
}

fn unfold(
    low: f64,
    high: f64,
    word: &Word,
    step: &Word,
    unit: Unit,
    out: &mut Vec<Number>,
) -> Result<(), NotNumbers> {
    let mut push = |value: f64| {
        out.push(Number {
            value,
            span: word.span,
        });
        out.len() <= NUMBERS_MAX
    };
    if step.text.eq_ignore_ascii_case("d") {
        if low <= 0.0 || high <= 0.0 {
            return Err(NotNumbers::BadStep(step.clone()));
        }
        let mut value = low;
        loop {
            if !push(value) {
                return Err(NotNumbers::TooMany(word.clone()));
            }
            value = if low > high { value / 2.0 } else { value * 2.0 };
            if (low > high && value < high) || (low <= high && value > high) {
                return Ok(());
            }
        }
    }
    let by = number(&step.text, unit)
        .filter(|by| *by > 0.0)
        .ok_or_else(|| NotNumbers::BadStep(step.clone()))?;
    let mut value = low;
    let mut count = 0.0;
    loop {
        if !push(value) {
            return Err(NotNumbers::TooMany(word.clone()));
        }
        count += 1.0;
        value = low + by * count;
        // Fractional steps meet their end in spite of rounding.
        if value > high + by * 1e-9 {
            return Ok(());
        }
    }
}

/// All names of a list, name ranges (`sd1-sd10`) unfolded; `is_name` says what exists as it stands.
pub(crate) fn names(words: &[Word], is_name: impl Fn(&str) -> bool) -> Vec<Word> {
    let mut out = Vec::new();
    for word in words {
        let unfolded = (!is_name(&word.text))
            .then(|| name_range(&word.text))
            .flatten();
        match unfolded {
            Some(texts) => out.extend(texts.into_iter().map(|text| Word {
                text,
                span: word.span,
            })),
            None => out.push(word.clone()),
        }
    }
    out
}

fn name_range(text: &str) -> Option<Vec<String>> {
    text.match_indices('-').find_map(|(at, _)| {
        let (first, first_number) = numbered(&text[..at])?;
        let (last, last_number) = numbered(&text[at + 1..])?;
        let fits = first == last
            && first_number <= last_number
            && last_number - first_number < WORDS_MAX as u64;
        fits.then(|| {
            (first_number..=last_number)
                .map(|number| format!("{first}{number}"))
                .collect()
        })
    })
}

/// A name as its text and the number at its end.
fn numbered(name: &str) -> Option<(&str, u64)> {
    let digits = name.len() - name.trim_end_matches(|ch: char| ch.is_ascii_digit()).len();
    let (prefix, number) = name.split_at(name.len() - digits);
    Some((prefix, number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::SourceId;

    fn words(texts: &[&str]) -> Vec<Word> {
        let span = Span {
            source: SourceId(0),
            start: 0,
            end: 0,
        };
        texts
            .iter()
            .map(|text| Word {
                text: (*text).to_owned(),
                span,
            })
            .collect()
    }

    fn values(texts: &[&str]) -> Vec<f64> {
        let numbers = numbers(&words(texts), Unit::Plain).unwrap();
        numbers.iter().map(|number| number.value).collect()
    }

    #[test]
    fn suffixes_are_powers_of_two_and_minutes_are_for_times() {
        assert_eq!(number("4k", Unit::Plain), Some(4096.0));
        assert_eq!(number("1MB", Unit::Plain), Some(1048576.0));
        assert_eq!(number("5m", Unit::Seconds), Some(300.0));
        assert_eq!(number("1h", Unit::Seconds), Some(3600.0));
        assert_eq!(number("10%", Unit::Plain), Some(-10.0));
        assert_eq!(number(".5k", Unit::Plain), Some(512.0));
        assert_eq!(number("5d", Unit::Plain), Some(5.0));
        for text in [
            "10s", "", "k", "nan", "infinity", "-", "max", "-inf", "+nan", "é",
        ] {
            assert_eq!(number(text, Unit::Plain), None, "{text}");
        }
    }

    #[test]
    fn ranges_step_double_and_halve() {
        assert_eq!(
            values(&["1-64", "d"]),
            [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]
        );
        assert_eq!(values(&["8k-2k", "d"]), [8192.0, 4096.0, 2048.0]);
        assert_eq!(values(&["100-1000", "500"]), [100.0, 600.0]);
        assert_eq!(values(&["100-0", "10"]), [100.0]);
        assert_eq!(values(&["1", "2-4", "1", "9"]), [1.0, 2.0, 3.0, 4.0, 9.0]);
        assert!(numbers(&words(&["64", "1", "d"]), Unit::Plain).is_err());
        assert!(numbers(&words(&["1-9"]), Unit::Plain).is_err());
        assert!(numbers(&words(&["1-9", "0"]), Unit::Plain).is_err());
    }

    #[test]
    fn name_ranges_count_up_behind_one_prefix() {
        let texts = |input: &str| -> Vec<String> {
            let words = names(&words(&[input]), |_| false);
            words.into_iter().map(|word| word.text).collect()
        };
        assert_eq!(texts("sd9-sd11"), ["sd9", "sd10", "sd11"]);
        assert_eq!(texts("wd1-wd2"), ["wd1", "wd2"]);
        assert_eq!(texts("9-11"), ["9", "10", "11"]);
        assert_eq!(texts("my-sd1"), ["my-sd1"]);
        assert_eq!(texts("sd3-sd1"), ["sd3-sd1"]);
    }
}
