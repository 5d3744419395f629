//! Lengths of time on the command line: a number with a unit, seconds without one.
use std::time::Duration;

/// Ten years: an end, and far from what overflows.
const SECONDS_MAX: f64 = 315_360_000.0;

const NO_TIME: &str = "it has to be longer than zero";

const UNITS: [(&str, f64); 13] = [
    ("", 1.0),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("sec", 1.0),
    ("m", 60.0),
    ("min", 60.0),
    ("h", 3_600.0),
    ("hr", 3_600.0),
    ("hour", 3_600.0),
    ("d", 86_400.0),
    ("day", 86_400.0),
];

/// A length of time, zero included.
///
/// # Errors
/// In words, with what would be one.
pub fn span(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = (&text[..end], text[end..].trim());
    let factor = UNITS.iter().find(|(name, _)| *name == unit);
    let number: Option<f64> = number.parse().ok();
    let (Some(number), Some((_, factor))) = (number, factor) else {
        return Err("give a time as 90, 90s, 500ms, 5m, 1.5h or 1d".to_owned());
    };
    let seconds = number * factor;
    if seconds > SECONDS_MAX {
        return Err("times end at ten years".to_owned());
    }
    let nanos = (seconds * 1e9).round() as u64;
    if nanos == 0 && number > 0.0 {
        return Err("that is less than a nanosecond".to_owned());
    }
    Ok(Duration::from_nanos(nanos))
}

/// As [`span`], above zero.
///
/// # Errors
/// As [`span`], and for zero.
pub fn some_span(text: &str) -> Result<Duration, String> {
    match span(text)? {
        Duration::ZERO => Err(NO_TIME.to_owned()),
        some => Ok(some),
    }
}

/// Whole seconds, zero included.
///
/// # Errors
/// In words, with what would be one.
pub fn seconds(text: &str) -> Result<u64, String> {
    match span(text) {
        Ok(span) if span.subsec_nanos() == 0 => Ok(span.as_secs()),
        _ => Err("give whole seconds, as 90, 90s, 5m, 1.5h or 1d".to_owned()),
    }
}

/// Whole seconds above zero.
///
/// # Errors
/// As [`seconds`], and for zero.
pub fn some_seconds(text: &str) -> Result<u64, String> {
    match seconds(text)? {
        0 => Err(NO_TIME.to_owned()),
        some => Ok(some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_count_and_seconds_need_none() {
        for (text, millis) in [
            ("90", 90_000),
            ("90s", 90_000),
            (" 1.5 h ", 5_400_000),
            ("5m", 300_000),
            ("5min", 300_000),
            ("500ms", 500),
            ("2d", 172_800_000),
            ("0", 0),
        ] {
            assert_eq!(span(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        assert_eq!(span("5us"), Ok(Duration::from_micros(5)));
        for text in [
            "",
            "s",
            "5 apples",
            "-1",
            "1e3",
            "1.2.3",
            "nan",
            "5M",
            "9999999999",
        ] {
            assert!(span(text).is_err(), "{text}");
        }
        assert!(some_span("0s").is_err() && seconds("500ms").is_err());
        assert_eq!((seconds("1m"), seconds("0")), (Ok(60), Ok(0)));
        assert!(some_seconds("0").is_err());
    }
}
