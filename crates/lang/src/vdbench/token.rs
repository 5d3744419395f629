//! The stream of characters to `keyword=value` pairs. Must not know any keyword.
use super::codes;
use super::sink::Sink;
use super::text::{Glyph, LINE_END, cover, cover_spans};
use plan::Span;

/// A piece of text with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub text: String,
    pub span: Span,
}

/// `keyword=value` or `keyword=(value,…)`.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub keyword: Word,
    pub values: Vec<Word>,
    /// First of a line that does not continue another.
    pub starts_line: bool,
    /// Whether its values were read as they were meant; if not, that was reported.
    pub is_valid: bool,
    /// From the keyword to the last value.
    pub span: Span,
}

/// All pairs that can be made out; what cannot is reported and left out.
pub(crate) fn pairs(glyphs: &[Glyph], sink: &mut Sink) -> Vec<Pair> {
    let mut out = Vec::new();
    let mut starts_line = true;
    let mut at = 0;
    while at < glyphs.len() {
        if is(&glyphs[at], ',') {
            at += 1;
            continue;
        }
        if is(&glyphs[at], LINE_END) {
            starts_line = true;
            at += 1;
            continue;
        }
        let (pair, next) = pair(glyphs, at, starts_line, out.last_mut(), sink);
        out.extend(pair);
        starts_line = false;
        at = next.max(at + 1);
    }
    out
}

fn pair(
    glyphs: &[Glyph],
    start: usize,
    starts_line: bool,
    before: Option<&mut Pair>,
    sink: &mut Sink,
) -> (Option<Pair>, usize) {
    let stop = find(glyphs, start, &['=', ',', LINE_END]);
    let keyword = word(&glyphs[start..stop]);
    if stop == glyphs.len() || !is(&glyphs[stop], '=') {
        match before.filter(|_| !starts_line) {
            Some(before) => {
                // The pair in front may have meant this as one of its values.
                before.is_valid = false;
                report_stray(&keyword, before, sink);
            }
            None => report_no_equals(&keyword, sink),
        }
        return (None, end_of_line(glyphs, stop));
    }
    if keyword.text.is_empty() {
        sink.error(
            codes::NO_EQUALS,
            glyphs[stop].span,
            "`=` without a keyword in front",
            "a keyword is missing",
            "write `keyword=value`",
        );
        return (None, find(glyphs, stop, &[',', LINE_END]));
    }
    let value = stop + 1;
    let (values, next, is_valid) = if value < glyphs.len() && is(&glyphs[value], '(') {
        let Some(list) = list(glyphs, value, sink) else {
            return (None, end_of_line(glyphs, value));
        };
        list
    } else {
        let (values, next) = bare(glyphs, value, &keyword, sink);
        (values, next, true)
    };
    let span = match glyphs.get(next.wrapping_sub(1)) {
        Some(last) if next > stop => cover_spans(keyword.span, last.span),
        _ => keyword.span,
    };
    let pair = Pair {
        keyword,
        values,
        starts_line,
        is_valid,
        span,
    };
    (Some(pair), next)
}

fn report_no_equals(word: &Word, sink: &mut Sink) {
    if word.text.chars().all(|ch| ch == '(' || ch == ')') {
        sink.error(
            codes::PARENTHESES,
            word.span,
            format!("`{}` without its partner", word.text),
            "stands alone on its line",
            "remove it, or end the line before it with a comma if the list goes on here",
        );
        return;
    }
    sink.error(
        codes::NO_EQUALS,
        word.span,
        format!("`{}` is not of the form `keyword=value`", word.text),
        "no `=` here",
        "write `keyword=value`, or start the line with `#` if it is a comment",
    );
}

fn report_stray(word: &Word, before: &Pair, sink: &mut Sink) {
    let keyword = &before.keyword.text;
    if word.text.ends_with(')') {
        let help = format!("a list is written `{keyword}=(a,b)`");
        sink.error(
            codes::PARENTHESES,
            word.span,
            "`)` without its partner",
            "no `(` in front",
            help,
        );
        return;
    }
    if word.text.starts_with('(') {
        sink.error(
            codes::PARENTHESES,
            word.span,
            "`(` without a keyword",
            "no `keyword=` before it",
            "write a list as `keyword=(a,b)`, or remove the parenthesis",
        );
        return;
    }
    let looks_like_value = word.text.starts_with(|ch: char| ch.is_ascii_digit());
    let is_group = word.text.len() == 3 && word.text.chars().all(|ch| ch.is_ascii_digit());
    let help = match before.values.last() {
        Some(last) if is_group && last.text.chars().all(|ch| ch.is_ascii_digit()) => {
            let (first, group) = (&last.text, &word.text);
            format!(
                "write `{keyword}={first}{group}` if it is one number, and a list as `{keyword}=({first},{group})`"
            )
        }
        Some(last) if looks_like_value => {
            format!(
                "a list is written `{keyword}=({},{})`",
                last.text, word.text
            )
        }
        _ => format!("write `{}=VALUE`, or remove it", word.text),
    };
    sink.error(
        codes::NO_EQUALS,
        word.span,
        format!("`{}` is not of the form `keyword=value`", word.text),
        "no `=` here",
        help,
    );
}

/// A value without parentheses.
fn bare(glyphs: &[Glyph], start: usize, keyword: &Word, sink: &mut Sink) -> (Vec<Word>, usize) {
    let stop = find(glyphs, start, &[',', LINE_END]);
    let piece = &glyphs[start..stop];
    if piece.is_empty() {
        let shown = &keyword.text;
        sink.error(
            codes::NO_VALUE,
            keyword.span,
            format!("`{shown}=` has no value"),
            "a value is missing",
            "a value follows `=` without a blank",
        );
        return (Vec::new(), stop);
    }
    if let Some(second) = piece.iter().position(|glyph| is(glyph, '=')) {
        sink.error(
            codes::LOST_COMMA,
            piece[second].span,
            "a second `=` in one parameter",
            "unexpected `=`",
            if piece[..second].iter().any(|glyph| is(glyph, ';')) {
                "parameters are separated by commas: write `,` in place of `;`"
            } else {
                "put a comma before the next keyword, or quotes around a value that holds `=`"
            },
        );
        return (Vec::new(), end_of_line(glyphs, stop));
    }
    if let Some(paren) = piece
        .iter()
        .position(|glyph| is(glyph, ')') || is(glyph, '('))
    {
        let opens = piece[paren].ch == '(';
        let help = if opens {
            "a list begins right after `=`; quote a value that holds parentheses"
        } else {
            "add the missing `(` after `=`, or remove this one"
        };
        sink.error(
            codes::PARENTHESES,
            piece[paren].span,
            format!("`{}` without its partner", piece[paren].ch),
            "this one stands alone",
            help,
        );
        return (Vec::new(), end_of_line(glyphs, stop));
    }
    (vec![word(piece)], stop)
}

/// The values between parentheses; `None` when the list does not end.
fn list(glyphs: &[Glyph], open: usize, sink: &mut Sink) -> Option<(Vec<Word>, usize, bool)> {
    let mut depth = 1;
    let mut close = open + 1;
    while close < glyphs.len() {
        if is(&glyphs[close], LINE_END) {
            break;
        }
        if is(&glyphs[close], '(') {
            depth += 1;
        } else if is(&glyphs[close], ')') {
            depth -= 1;
            if depth == 0 {
                break;
            }
        }
        close += 1;
    }
    if close >= glyphs.len() || !is(&glyphs[close], ')') {
        sink.error(
            codes::PARENTHESES,
            glyphs[open].span,
            "a list is not closed",
            "opened here",
            "add `)`; a list goes on in the next line only after a comma, and a blank ends its line",
        );
        return None;
    }
    let inside = &glyphs[open + 1..close];
    let mut values = Vec::new();
    let mut is_valid = true;
    for piece in inside.split(|glyph| is(glyph, ',')) {
        if piece.is_empty() {
            is_valid = false;
            sink.error(
                codes::NO_VALUE,
                cover_spans(glyphs[open].span, glyphs[close].span),
                "a list holds an empty value",
                "two commas, or a comma beside a parenthesis",
                "remove the comma, or write the value",
            );
        } else {
            values.push(word(piece));
        }
    }
    let next = close + 1;
    let is_clean = next >= glyphs.len() || is(&glyphs[next], ',') || is(&glyphs[next], LINE_END);
    if is_clean {
        return Some((values, next, is_valid));
    }
    let stop = find(glyphs, next, &[',', LINE_END]);
    sink.error(
        codes::LOST_COMMA,
        cover(&glyphs[next..stop]),
        "text right after a closing parenthesis",
        "a comma is missing before this",
        "put a comma after `)`",
    );
    Some((values, end_of_line(glyphs, stop), is_valid))
}

fn is(glyph: &Glyph, ch: char) -> bool {
    glyph.ch == ch && !glyph.quoted
}

fn find(glyphs: &[Glyph], start: usize, stops: &[char]) -> usize {
    (start..glyphs.len())
        .find(|at| stops.iter().any(|stop| is(&glyphs[*at], *stop)))
        .unwrap_or(glyphs.len())
}

fn end_of_line(glyphs: &[Glyph], start: usize) -> usize {
    find(glyphs, start, &[LINE_END])
}

fn word(glyphs: &[Glyph]) -> Word {
    Word {
        text: glyphs.iter().map(|glyph| glyph.ch).collect(),
        span: cover(glyphs),
    }
}
