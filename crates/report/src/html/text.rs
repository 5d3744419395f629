//! How foreign text and numbers are written into the page: escaping, moments, short JSON numbers.
use crate::shown::is_steering;
use serde::{Serialize, Serializer};
use std::fmt::{self, Display, Write};

/// Text from outside, safe inside elements and quoted attributes.
pub(crate) struct Escaped<T>(pub T);

/// A sentence with the names in it, which stand between backticks, as names.
pub(crate) struct Sentence<T>(pub T);

/// A JSON number with at most four significant digits: charts need no more, and the page holds
/// some hundred thousand of them. Not a number, or infinite, becomes `null`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Short(pub f64);

/// Whether the value of a label says anything: a job without loops has the loop value `None`.
pub(super) fn has_value(value: &str) -> bool {
    !matches!(value.trim(), "" | "None")
}

/// A fact of a longer text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fact<'a> {
    /// Without the full stop or the semicolon after it.
    pub text: &'a str,
    /// Whether a sentence begins with it; else it adds to the fact before.
    pub is_first: bool,
}

/// The facts of a text, one for each part that ends with a full stop or a semicolon. Names, which stand between
/// backticks, are never split.
pub(super) fn facts(text: &str) -> Vec<Fact<'_>> {
    let mut facts = Vec::new();
    let (mut start, mut is_first, mut is_name) = (0, true, false);
    for (at, character) in text.char_indices() {
        let is_end = matches!(character, '.' | ';') && text[at + 1..].starts_with(' ');
        match character {
            '`' => is_name = !is_name,
            _ if is_end && !is_name => {
                let text = &text[start..at];
                facts.push(Fact { text, is_first });
                (start, is_first) = (at + 2, character == '.');
            }
            _ => {}
        }
    }
    let text = &text[start..];
    let text = text.strip_suffix('.').unwrap_or(text);
    facts.push(Fact { text, is_first });
    facts.retain(|fact| !fact.text.is_empty());
    facts
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

impl<T: AsRef<str>> Display for Sentence<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.as_ref();
        // A backtick alone is one.
        while let Some((text, (name, after))) = rest
            .split_once('`')
            .and_then(|(text, after)| Some((text, after.split_once('`')?)))
        {
            write!(formatter, "{}<code>{}</code>", Escaped(text), Escaped(name))?;
            rest = after;
        }
        write!(formatter, "{}", Escaped(rest))
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
pub(crate) fn json_for_script(value: &impl Serialize) -> Result<String, serde_json::Error> {
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
    fn moments_are_those_of_their_zone() {
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
    fn names_in_sentences_are_code() {
        let text = |text: &str| Sentence(text).to_string();
        assert_eq!(
            text("`a<b` is holes, `c` too"),
            "<code>a&lt;b</code> is holes, <code>c</code> too"
        );
        assert_eq!(
            text("no name, `and a `lone tick`"),
            "no name, <code>and a </code>lone tick`"
        );
    }

    #[test]
    fn a_text_is_split_into_its_facts_and_names_stay_whole() {
        let all = facts("slow: 1.5 ms in `a. b; c`; the knee is at 2. Credible: so. Next: go on.");
        let all: Vec<_> = all.iter().map(|fact| (fact.text, fact.is_first)).collect();
        assert_eq!(
            all,
            [
                ("slow: 1.5 ms in `a. b; c`", true),
                ("the knee is at 2", false),
                ("Credible: so", true),
                ("Next: go on", true),
            ]
        );
        assert_eq!(facts(""), []);
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
