//! Words that texts for people use less and less: in comments, strings and pages. The list says how often each place may
//! still use them, and may only shrink.
//!
//! Use *behind* for places (a disk behind a controller), *after* for time, and *beyond* for what is past an end.
use super::Finding;
use super::length::entries;
use crate::lexer::Kind;
use crate::source::SourceFile;
use std::collections::BTreeMap;

/// A place, a word and a count on each line.
pub const LIST: &str = "xtask/leaving.txt";

const WORDS: &[&str] = &["behind"];

/// How often a place uses a word.
pub type Uses = BTreeMap<(String, String), usize>;

pub fn count_source(file: &SourceFile, uses: &mut Uses) {
    let texts = file.tokens.iter().filter(|token| token.kind == Kind::Text);
    let texts = texts.map(|token| token.text.as_str());
    let comments = file.comments.iter().map(|comment| comment.text.as_str());
    for text in texts.chain(comments) {
        count(&file.path, text, uses);
    }
}

pub fn count_page(path: &str, text: &str, uses: &mut Uses) {
    if path.ends_with(".md") {
        count(path, text, uses);
    }
}

fn count(path: &str, text: &str, uses: &mut Uses) {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    for word in words.map(str::to_lowercase) {
        if WORDS.contains(&word.as_str()) {
            *uses.entry((place(path), word)).or_default() += 1;
        }
    }
}

/// A crate, a folder at the root, or a file there.
fn place(path: &str) -> String {
    let depth = if path.starts_with("crates/") { 2 } else { 1 };
    path.split('/').take(depth).collect::<Vec<_>>().join("/")
}

pub fn check(uses: &Uses, list: &str, findings: &mut Vec<Finding>) {
    let listed = match entries(list) {
        Ok(listed) => listed,
        Err((line, message)) => return findings.push(Finding::new(LIST, line, message)),
    };
    for ((place, word), count) in uses {
        if !listed.contains_key(&(place.clone(), word.clone())) {
            let message = format!("`{word}` {count} times: write `after` or `beyond`");
            findings.push(Finding::new(place, 1, message));
        }
    }
    for (key, (line, allowed)) in &listed {
        let (place, word) = key;
        let count = uses.get(key).copied().unwrap_or(0);
        let message = match count.cmp(allowed) {
            std::cmp::Ordering::Equal => continue,
            std::cmp::Ordering::Less => format!("{place} uses `{word}` {count} times: write that"),
            std::cmp::Ordering::Greater => {
                format!(
                    "{place} uses `{word}` {count} times, {allowed} are left: write `after` or `beyond`"
                )
            }
        };
        findings.push(Finding::new(LIST, *line, message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(list: &str) -> Vec<String> {
        let text = "// Behind the end.\nlet behind = \"behind_it, behind\"; /* beside */\n";
        let mut uses = Uses::new();
        count_source(
            &SourceFile::new("plan", "crates/plan/src/lib.rs", text),
            &mut uses,
        );
        count_page("docs/guide/a.md", "right behind", &mut uses);
        count_page("docs/guide/a.svg", "behind", &mut uses);
        let mut findings = Vec::new();
        check(&uses, list, &mut findings);
        findings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn uses_in_comments_strings_and_pages_are_as_listed() {
        assert_eq!(messages("crates/plan behind 2\ndocs behind 1"), [""; 0]);
        assert_eq!(
            messages("docs behind 2\nREADME.md behind 1"),
            [
                "crates/plan:1: `behind` 2 times: write `after` or `beyond`",
                "xtask/leaving.txt:2: README.md uses `behind` 0 times: write that",
                "xtask/leaving.txt:1: docs uses `behind` 1 times: write that",
            ]
        );
        let more = "xtask/leaving.txt:1: crates/plan uses `behind` 2 times, 1 are left: write `after` or `beyond`";
        assert_eq!(messages("crates/plan behind 1\ndocs behind 1"), [more]);
    }
}
