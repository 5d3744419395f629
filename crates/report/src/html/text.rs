//! How numbers and foreign text are written into the page: units, escaping, short JSON numbers.
use crate::shown::is_steering;
use serde::{Serialize, Serializer};
use std::fmt::{self, Display, Write};

/// Text from outside, safe inside elements and quoted attributes.
pub(super) struct Escaped<T>(pub T);

/// A JSON number with at most four significant digits: charts need no more, and the page holds
/// some hundred thousand of them. Not a number, or infinite, becomes `null`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Short(pub f64);

/// A word that replaces control over a plain number: `1` → `1 run`, `2` → `2 runs`.
pub(super) fn counted(count: u64, singular: &str) -> String {
    format!(
        "{} {}",
        grouped(count as f64, 0),
        plan::noun(count, singular)
    )
}

/// A latency in nanoseconds with the unit that fits, three or four digits.
pub(super) fn latency(ns: f64) -> String {
    match ns {
        ns if ns <= 0.0 => "0".into(),
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 1e6 => format!("{} µs", digits(ns / 1e3)),
        ns if ns < 1e9 => format!("{} ms", digits(ns / 1e6)),
        ns => format!("{} s", digits(ns / 1e9)),
    }
}

/// A rate per second, whole from 100 on, with groups of three digits; a dash where there is none.
pub(super) fn rate(per_second: f64) -> String {
    if !per_second.is_finite() {
        return "–".into();
    }
    let decimals = if per_second >= 100.0 { 0 } else { 2 };
    grouped(per_second, decimals)
}

/// Bytes per second in MB/s, powers of ten; a dash where there are none.
pub(super) fn megabytes(bytes_per_second: f64) -> String {
    if !bytes_per_second.is_finite() {
        return "–".into();
    }
    let value = bytes_per_second / 1e6;
    grouped(value, if value >= 100.0 { 0 } else { 2 })
}

/// A size in powers of two, as sizes of targets and memory are spoken of.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 {
        format!("{bytes} bytes")
    } else {
        format!("{} {}", digits(value), UNITS[unit])
    }
}

/// A span in seconds, minutes and hours.
pub(super) fn span(ns: u64) -> String {
    let seconds = ns as f64 / 1e9;
    match seconds {
        s if s < 120.0 => format!("{} s", digits(s)),
        s if s < 7200.0 => format!("{} min {} s", s as u64 / 60, s as u64 % 60),
        s => format!("{} h {} min", s as u64 / 3600, s as u64 / 60 % 60),
    }
}

/// A share (0 to 1, or a change beyond it) in percent: neither nothing nor everything unless it is.
pub(crate) fn percent(share: f64) -> String {
    let pct = share * 100.0;
    match pct {
        p if p <= 0.0 => "0 %".into(),
        p if p < 0.1 => "< 0.1 %".into(),
        p if p < 10.0 => format!("{p:.1} %"),
        p if p < 99.0 => format!("{p:.0} %"),
        p if p < 99.9 => format!("{p:.1} %"),
        p if p < 100.0 => "> 99.9 %".into(),
        p => format!("{p:.0} %"),
    }
}

/// A date and time of day in the zone of the execution.
pub(super) fn moment(unix_ns: u64, utc_offset_s: i32) -> String {
    let offset = jiff::tz::Offset::from_seconds(utc_offset_s).unwrap_or(jiff::tz::Offset::UTC);
    let at = i64::try_from(unix_ns / 1_000_000)
        .ok()
        .and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    match at {
        Some(at) => offset
            .to_datetime(at)
            .strftime("%Y-%m-%d %H:%M:%S")
            .to_string(),
        None => "unknown".into(),
    }
}

/// Three or four digits: 9.87, 98.7, 987, 9870.
fn digits(value: f64) -> String {
    let decimals = match value {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    let text = format!("{value:.decimals$}");
    match text.split_once('.') {
        Some((whole, fraction)) if fraction.bytes().all(|digit| digit == b'0') => whole.into(),
        _ => text,
    }
}

fn grouped(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let (sign, whole) = match whole.strip_prefix('-') {
        Some(whole) => ("-", whole),
        None => ("", whole),
    };
    let mut grouped = String::from(sign);
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            // A thin space, as ISO 80000 groups digits, that does not break a line.
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    if !fraction.is_empty() {
        grouped.push('.');
        grouped.push_str(fraction);
    }
    grouped
}

impl<T: Display> Display for Escaped<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        struct Escape<'a, 'b>(&'a mut fmt::Formatter<'b>);
        impl Write for Escape<'_, '_> {
            fn write_str(&mut self, text: &str) -> fmt::Result {
                for character in text.chars() {
                    match character {
                        '&' => self.0.write_str("&amp;")?,
                        '<' => self.0.write_str("&lt;")?,
                        '>' => self.0.write_str("&gt;")?,
                        '"' => self.0.write_str("&quot;")?,
                        '\'' => self.0.write_str("&#39;")?,
                        // NUL and most control characters are no characters of HTML.
                        '\0'..='\u{8}' | '\u{b}' | '\u{e}'..='\u{1f}' => {
                            self.0.write_char('\u{fffd}')?;
                        }
                        '\n' | '\r' | '\t' => self.0.write_char(character)?,
                        // Others turn the direction of text, or have no shape.
                        steering if is_steering(steering) => self.0.write_char('\u{fffd}')?,
                        character => self.0.write_char(character)?,
                    }
                }
                Ok(())
            }
        }
        write!(Escape(formatter), "{}", self.0)
    }
}

impl Serialize for Short {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = self.0;
        if !value.is_finite() {
            return serializer.serialize_none();
        }
        if value == 0.0 {
            return serializer.serialize_u8(0);
        }
        let places = 3 - value.abs().log10().floor() as i32;
        let rounded = if places >= 0 {
            let scale = 10_f64.powi(places);
            (value * scale).round() / scale
        } else {
            let scale = 10_f64.powi(-places);
            (value / scale).round() * scale
        };
        if rounded.fract() == 0.0 && rounded.abs() < 9e15 {
            serializer.serialize_i64(rounded as i64)
        } else {
            serializer.serialize_f64(rounded)
        }
    }
}

/// JSON that may stand inside a script element: no `<`, `>` or `&` is left, and no line separator
/// that old script engines refuse.
pub(super) fn json_for_script(value: &impl Serialize) -> Result<String, serde_json::Error> {
    let json = serde_json::to_string(value)?;
    let mut safe = String::with_capacity(json.len() + json.len() / 64);
    for character in json.chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                write!(safe, "\\u{:04x}", character as u32).expect("a string takes all text");
            }
            character => safe.push(character),
        }
    }
    Ok(safe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_fit_their_values() {
        assert_eq!(latency(875.0), "875 ns");
        assert_eq!(latency(1_234_567.0), "1.23 ms");
        assert_eq!(latency(90_000.0), "90 µs");
        assert_eq!(rate(1_234_567.4), "1\u{202f}234\u{202f}567");
        assert_eq!(rate(12.345), "12.35");
        assert_eq!(size(4 << 30), "4 GiB");
        assert_eq!(size(512), "512 bytes");
        assert_eq!(span(90_000_000_000), "90 s");
        assert_eq!(span(3_600_000_000_000), "60 min 0 s");
        assert_eq!(percent(0.1234), "12 %");
        assert_eq!(percent(0.0001), "< 0.1 %");
        assert_eq!(
            [0.9949, 0.9996, 1.0].map(percent),
            ["99.5 %", "> 99.9 %", "100 %"]
        );
        assert_eq!(counted(1, "run"), "1 run");
        assert_eq!(moment(86_400_000_000_000, 3600), "1970-01-02 01:00:00");
    }

    #[test]
    fn short_numbers_keep_four_digits() {
        let json = |value: f64| serde_json::to_string(&Short(value)).unwrap();
        assert_eq!(json(123_456.0), "123500");
        assert_eq!(json(1.23456), "1.235");
        assert_eq!(json(0.000123456), "0.0001235");
        assert_eq!(json(100.0), "100");
        assert_eq!(json(f64::NAN), "null");
        assert_eq!(json(-0.0), "0");
    }

    #[test]
    fn foreign_text_cannot_leave_its_place() {
        let text = "</script><b title=\"x\" id='y'>&\0";
        assert_eq!(
            Escaped(text).to_string(),
            "&lt;/script&gt;&lt;b title=&quot;x&quot; id=&#39;y&#39;&gt;&amp;\u{fffd}"
        );
        let json = json_for_script(&[text, "\u{2028}"]).unwrap();
        assert!(!json.contains(['<', '>', '&', '\u{2028}']));
        let back: Vec<String> = serde_json::from_str(&json).unwrap();
        assert_eq!(back, [text, "\u{2028}"]);
    }
}
