//! Numbers as people read them, with the unit that fits: one way for the terminal, the page and the sentences of a verdict.

/// A count with its noun: `1 run`, `2 runs`, with groups of three digits.
pub fn counted(count: u64, singular: &str) -> String {
    format!(
        "{} {}",
        grouped(count as f64, 0),
        plan::noun(count, singular)
    )
}

/// A latency in nanoseconds with the unit that fits, three or four digits.
pub fn latency(ns: f64) -> String {
    match ns {
        ns if ns <= 0.0 => "0".into(),
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 1e6 => format!("{} µs", digits(ns / 1e3)),
        ns if ns < 1e9 => format!("{} ms", digits(ns / 1e6)),
        ns => format!("{} s", digits(ns / 1e9)),
    }
}

/// A rate per second, whole from 100 on, with groups of three digits; a dash where there is none.
pub fn rate(per_second: f64) -> String {
    if !per_second.is_finite() {
        return "–".into();
    }
    let decimals = if per_second >= 100.0 { 0 } else { 2 };
    grouped(per_second, decimals)
}

/// Bytes per second in MB/s, powers of ten; a dash where there are none.
pub fn megabytes(bytes_per_second: f64) -> String {
    if !bytes_per_second.is_finite() {
        return "–".into();
    }
    let value = bytes_per_second / 1e6;
    grouped(value, if value >= 100.0 { 0 } else { 2 })
}

/// A size in powers of two, as sizes of targets and memory are spoken of.
pub fn size(bytes: u64) -> String {
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
pub fn span(ns: u64) -> String {
    let seconds = ns as f64 / 1e9;
    match seconds {
        s if s < 120.0 => format!("{} s", digits(s)),
        s if s < 7200.0 => format!("{} min {} s", s as u64 / 60, s as u64 % 60),
        s => format!("{} h {} min", s as u64 / 3600, s as u64 / 60 % 60),
    }
}

/// An amount that is whole, or a mean of such: with a tenth where it has one.
pub fn number(amount: f64) -> String {
    match (amount * 10.0).round() / 10.0 {
        whole if whole.fract() == 0.0 => format!("{whole}"),
        tenths => format!("{tenths:.1}"),
    }
}

/// How long something lasted, in a sentence: a tenth of a second tells that it was measured.
pub fn lasted(ns: u64) -> String {
    match ns as f64 / 1e9 {
        s if (1.0..120.0).contains(&s) => format!("{s:.1} s"),
        _ => span(ns),
    }
}

/// A share (0 to 1, or a change beyond it) in percent: neither nothing nor everything unless it is.
pub fn percent(share: f64) -> String {
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

/// What is only known to be at least so much.
pub fn bounded(is_bound: bool, text: String) -> String {
    if is_bound { format!("≥{text}") } else { text }
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
    }
}
