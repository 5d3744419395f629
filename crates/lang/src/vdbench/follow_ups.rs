//! What is missing because something else was not understood: one finding, not two.
use super::codes;
use plan::{Diagnostic, SourceFile, SourceId, SourceMap, Span};
use std::collections::{HashMap, HashSet};

/// A line with those that continue it, by its first byte.
type Statement = (SourceId, usize);

/// Where statements begin, per source. Looked up once for each finding, and one line may have
/// thousands of them.
struct Statements {
    starts: Vec<Vec<usize>>,
}

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

/// Leaves out what is missing from a statement in which a parameter was not understood, and moves
/// what is missing from one whose end was not read to the text that was lost.
pub(crate) fn explain(found: &mut Vec<Diagnostic>, sources: &SourceMap) {
    if !found.iter().any(|found| found.code == codes::MISSING) {
        return;
    }
    let statements = Statements::of(sources);
    let mut hidden = HashSet::new();
    let mut lost = HashMap::new();
    for diagnostic in found.iter() {
        let Some(span) = diagnostic.span else {
            continue;
        };
        if HIDING.contains(&diagnostic.code.as_str()) {
            hidden.insert(statements.at(span));
        } else if diagnostic.code == codes::LOST_TEXT {
            lost.insert(statements.at(span), diagnostic.clone());
        }
    }
    let mut explained = HashSet::new();
    found.retain_mut(|missing| {
        let Some(span) = missing.span.filter(|_| missing.code == codes::MISSING) else {
            return true;
        };
        let place = statements.at(span);
        if let Some(lost) = lost.get(&place) {
            missing.span = lost.span;
            missing.label = "not read, because it stands after a blank".to_owned();
            missing.help.clone_from(&lost.help);
            explained.insert(lost.span);
            return true;
        }
        !hidden.contains(&place)
    });
    found.retain(|found| found.code != codes::LOST_TEXT || !explained.contains(&found.span));
}

impl Statements {
    fn of(sources: &SourceMap) -> Self {
        let starts = |file: &SourceFile| {
            let mut starts = vec![0];
            let mut at = 0;
            for line in file.text.split_inclusive('\n') {
                at += line.len();
                // A line that ends in a comma goes on in the next.
                if !line.as_bytes().trim_ascii_end().ends_with(b",") {
                    starts.push(at);
                }
            }
            starts
        };
        Self {
            starts: sources.files().iter().map(starts).collect(),
        }
    }

    /// The statement that a place belongs to.
    fn at(&self, span: Span) -> Statement {
        let starts = &self.starts[span.source.0 as usize];
        let after = starts.partition_point(|start| *start <= span.start as usize);
        (span.source, starts[after.saturating_sub(1)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_goes_on_behind_a_comma_at_the_end_of_its_line() {
        let mut sources = SourceMap::default();
        let long = "ab=cd, \n".repeat(1000);
        let source = sources.add("f", format!("x\n{long}last\nnext"));
        let statements = Statements::of(&sources);
        let at = |start| {
            let place = Span {
                source,
                start,
                end: start,
            };
            statements.at(place).1
        };
        let end = 2 + long.len() as u32;
        assert_eq!([at(0), at(1), at(2), at(9), at(end)], [0, 0, 2, 2, 2]);
        assert_eq!(at(end + 5), end as usize + 5);
        assert_eq!(at(u32::MAX), end as usize + 5 + 4);
    }
}
