//! What is missing because something else was not understood: one finding, not two.
use super::codes;
use plan::{Diagnostic, SourceId, SourceMap, Span};
use std::collections::{HashMap, HashSet};

/// A line with those that continue it, by its first byte.
type Statement = (SourceId, usize);

/// Problems that keep a parameter from being seen.
const HIDING: [&str; 8] = [
    codes::NO_EQUALS,
    codes::PARENTHESES,
    codes::NO_VALUE,
    codes::SHORT_KEYWORD,
    codes::LOST_COMMA,
    codes::UNKNOWN_PARAMETER,
    codes::OTHER_SECTION,
    codes::QUOTE,
];

/// What one statement may reach back over.
const CONTINUED_LINES_MAX: usize = 256;

/// Leaves out what is missing from a statement in which a parameter was not understood, and moves
/// what is missing from one whose end was not read to the text that was lost.
pub(crate) fn explain(found: &mut Vec<Diagnostic>, sources: &SourceMap) {
    if !found.iter().any(|found| found.code == codes::MISSING) {
        return;
    }
    let mut hidden = HashSet::new();
    let mut lost = HashMap::new();
    for diagnostic in found.iter() {
        let Some(span) = diagnostic.span else {
            continue;
        };
        if HIDING.contains(&diagnostic.code.as_str()) {
            hidden.insert(statement(sources, span));
        } else if diagnostic.code == codes::LOST_TEXT {
            lost.insert(statement(sources, span), diagnostic.clone());
        }
    }
    let mut explained = HashSet::new();
    found.retain_mut(|missing| {
        let Some(span) = missing.span.filter(|_| missing.code == codes::MISSING) else {
            return true;
        };
        let place = statement(sources, span);
        if let Some(lost) = lost.get(&place) {
            missing.span = lost.span;
            missing.label = "not read, because it stands behind a blank".to_owned();
            missing.help.clone_from(&lost.help);
            explained.insert(lost.span);
            return true;
        }
        !hidden.contains(&place)
    });
    found.retain(|found| found.code != codes::LOST_TEXT || !explained.contains(&found.span));
}

/// The statement that a place belongs to: a line that ends in a comma goes on in the next.
fn statement(sources: &SourceMap, span: Span) -> Statement {
    let text = sources.file(span.source).text.as_bytes();
    let line_start = |end: usize| {
        let before = text[..end].iter().rposition(|byte| *byte == b'\n');
        before.map_or(0, |at| at + 1)
    };
    let mut start = line_start((span.start as usize).min(text.len()));
    for _ in 0..CONTINUED_LINES_MAX {
        let Some(end) = start.checked_sub(1) else {
            break;
        };
        let above = line_start(end);
        if !text[above..end].trim_ascii_end().ends_with(b",") {
            break;
        }
        start = above;
    }
    (span.source, start)
}
