//! Text of others (names, paths, messages) without characters that steer a terminal, forge a line
//! or reverse the order in which text is read. What is replaced is shown as an escape that names it.
mod events;

pub use events::{event, without_tags};

use std::borrow::Cow;
use std::fmt::Write;

/// A name or a path: one line, no control characters.
///
/// ```
/// assert_eq!(report::shown::name("a\x1b[2J\nb"), r"a\x1b[2J\nb");
/// ```
pub fn name(text: &str) -> Cow<'_, str> {
    escaped(text, is_steering)
}

/// Text that is laid out: line breaks and tabs stay.
pub fn text(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_steering(c) && c != '\n' && c != '\t')
}

/// A message: a line break in its middle stays where the next line is indented, so that no name in
/// it can begin a line that looks like another message.
pub fn message(text: &str) -> Cow<'_, str> {
    let cleaned = self::text(text);
    let body = cleaned.trim_matches('\n');
    if body.split('\n').skip(1).all(|line| line.starts_with(' ')) {
        return cleaned;
    }
    let start = cleaned.len() - cleaned.trim_start_matches('\n').len();
    let end = start + body.len();
    let mut out = cleaned[..start].to_owned();
    for (number, line) in body.split('\n').enumerate() {
        match number {
            0 => {}
            _ if line.starts_with(' ') => out.push('\n'),
            _ => out.push_str("\\n"),
        }
        out.push_str(line);
    }
    out.push_str(&cleaned[end..]);
    Cow::Owned(out)
}

/// Text with colours of ours: of the characters that steer a terminal only those of colours stay.
pub fn coloured(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\x1b') {
        let (before, from) = rest.split_at(at);
        out += &self::text(before);
        let length = colour_length(from).unwrap_or(1);
        match length {
            1 => out += "\\x1b",
            _ => out += &from[..length],
        }
        rest = &from[length..];
    }
    out += &self::text(rest);
    out
}

/// The length of the sequence for colours at the start of a text: `ESC [ digits and ; m`.
fn colour_length(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\x1b[")?;
    let end = parameters.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    parameters[end..].starts_with('m').then_some(end + 3)
}

/// Control characters, and those that turn the direction of text or end a line unseen.
pub(crate) fn is_steering(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}'
        )
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            c if !is_escaped(c) => out.push(c),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => write!(out, "\\x{:02x}", c as u32).expect("a string takes all text"),
            // In this form it means the same character inside JSON, where those below do not occur.
            c => write!(out, "\\u{:04x}", c as u32).expect("a string takes all text"),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_steer_become_escapes() {
        assert_eq!(name("plain ä 測 🦀"), "plain ä 測 🦀");
        assert_eq!(name("\0\x07\x1b]0;x\x7f"), r"\x00\x07\x1b]0;x\u007f");
        assert_eq!(name("a\r\n\tb\u{9b}31m"), r"a\r\n\tb\u009b31m");
        assert_eq!(
            name("x\u{202e}y\u{2066}\u{200f}\u{2028}"),
            r"x\u202ey\u2066\u200f\u2028"
        );
        assert_eq!(text("a\n\tb\r\x1b"), "a\n\tb\\r\\x1b");
    }

    #[test]
    fn json_stays_json_with_the_same_meaning() {
        let value = "\x7f\u{85}\u{202e}\x1b\n";
        let json = serde_json::to_string(value).unwrap();
        let back: String = serde_json::from_str(&text(&json)).unwrap();
        assert_eq!(back, value);
    }

    #[test]
    fn no_name_begins_a_line_of_a_message() {
        let forged = message("`x\nerror: all is lost` is no file\n  help: look\n");
        assert_eq!(
            forged,
            "`x\\nerror: all is lost` is no file\n  help: look\n"
        );
        assert_eq!(message("\nstopping\n"), "\nstopping\n");
        assert_eq!(message("a\n\nb"), "a\\n\\nb");
        assert_eq!(message("\n"), "\n");
    }

    #[test]
    fn only_colours_stay() {
        assert_eq!(
            coloured("\x1b[1;31merror\x1b[0m \x1b[2J\x1b]0;x\x07 \x1b"),
            "\x1b[1;31merror\x1b[0m \\x1b[2J\\x1b]0;x\\x07 \\x1b"
        );
    }
}
