//! Comments that promise work: a promise needs the number of an issue, and some cannot be merged at all.
use super::Finding;
use crate::source::SourceFile;

const PROMISE: &str = concat!("TO", "DO");
const BROKEN: &str = concat!("FIX", "ME");

pub fn check(file: &SourceFile, findings: &mut Vec<Finding>) {
    for comment in &file.comments {
        for (at, _) in comment.text.match_indices(PROMISE) {
            if !has_issue(&comment.text[at + PROMISE.len()..]) {
                let message = format!("{PROMISE} needs the number of an issue: `{PROMISE}(#12)`");
                findings.push(Finding::in_source(file, comment.line, message));
            }
        }
        if comment.text.contains(BROKEN) {
            findings.push(Finding::in_source(
                file,
                comment.line,
                format!("{BROKEN} cannot be merged"),
            ));
        }
    }
}

/// Whether the text goes on with `(#` digits `)`.
fn has_issue(text: &str) -> bool {
    let number = text
        .strip_prefix("(#")
        .and_then(|rest| rest.split_once(')'));
    number.is_some_and(|(number, _)| {
        !number.is_empty() && number.chars().all(|digit| digit.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promises_without_an_issue_are_found() {
        let text = format!(
            "// {PROMISE}: later\n// {PROMISE}(#12): later\n/* {BROKEN} */\nlet a = \"{PROMISE}\";\n// {PROMISE}(#)\n/// {PROMISE}(me)\n"
        );
        let mut findings = Vec::new();
        check(
            &SourceFile::new("plan", "crates/plan/src/lib.rs", &text),
            &mut findings,
        );
        let lines: Vec<usize> = findings.iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [1, 3, 5, 6]);
    }
}
