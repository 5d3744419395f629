//! Functions stay short. Those that were longer when the rule came are listed with their lengths, and the list may
//! only shrink.
use super::Finding;
use crate::command;
use crate::lexer::{Kind, Token};
use crate::source::{SourceFile, closing};
use std::collections::BTreeMap;
use std::path::Path;

/// Lines from `fn` to the closing brace.
pub const LONGEST_LINES: usize = 70;

/// One function a line: path, name, lines.
pub const RATCHET: &str = "xtask/ratchet.txt";

/// A function that is longer than it may be.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Long {
    path: String,
    name: String,
    first_line: usize,
    lines: usize,
}

pub fn check(files: &[SourceFile], ratchet: &str, findings: &mut Vec<Finding>) {
    let listed = match entries(ratchet) {
        Ok(listed) => listed,
        Err((line, message)) => return findings.push(Finding::new(RATCHET, line, message)),
    };
    let mut longest: BTreeMap<(String, String), usize> = BTreeMap::new();
    for long in files.iter().flat_map(long_functions) {
        let key = (long.path.clone(), long.name.clone());
        let allowed = listed.get(&key).map_or(LONGEST_LINES, |(_, lines)| *lines);
        if long.lines > allowed {
            let message = format!(
                "`{}` has {} lines, {allowed} are allowed",
                long.name, long.lines
            );
            findings.push(Finding::new(&long.path, long.first_line, message));
        }
        let lines = longest.entry(key).or_default();
        *lines = long.lines.max(*lines);
    }
    for ((path, name), (line, lines)) in &listed {
        let actual = longest
            .get(&(path.clone(), name.clone()))
            .copied()
            .unwrap_or(0);
        if actual < *lines {
            let message = match actual {
                0 => format!("`{name}` in {path} is short or gone: take it off the list"),
                _ => format!("`{name}` in {path} has {actual} lines by now: write that"),
            };
            findings.push(Finding::new(RATCHET, *line, message));
        }
    }
}

/// Compares each version of a list with the one before it, newest first.
pub fn check_shrinks(list: &str, versions: &[String], findings: &mut Vec<Finding>) {
    for pair in versions.windows(2) {
        let (Ok(newer), Ok(older)) = (entries(&pair[0]), entries(&pair[1])) else {
            continue;
        };
        let total = |listed: &Entries| listed.values().map(|(_, lines)| lines).sum::<usize>();
        if newer.len() > older.len() || total(&newer) > total(&older) {
            let message = format!(
                "the list may only shrink: {} entries with {} in all, {} with {} before",
                newer.len(),
                total(&newer),
                older.len(),
                total(&older)
            );
            findings.push(Finding::new(list, 1, message));
        }
    }
}

/// A list as it stands and as its last two commits left it, as far as git can tell.
pub fn history(root: &Path, list: &str, current: &str) -> Vec<String> {
    let mut versions = vec![current.to_owned()];
    let commits =
        command::output(root, "git", &["log", "-2", "--format=%H", "--", list]).unwrap_or_default();
    for commit in commits.lines() {
        let version = command::output(root, "git", &["show", &format!("{commit}:{list}")]);
        versions.extend(version.ok());
    }
    versions
}

/// By path and name: the line in the list, and the number that may only go down.
pub(super) type Entries = BTreeMap<(String, String), (usize, usize)>;

pub(super) fn entries(ratchet: &str) -> Result<Entries, (usize, String)> {
    let mut listed = BTreeMap::new();
    for (index, line) in ratchet.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let [path, name, lines] = words[..] else {
            return Err((
                index + 1,
                "a line is a path, a name and a number".to_owned(),
            ));
        };
        let lines = lines
            .parse()
            .map_err(|_| (index + 1, format!("`{lines}` is not a number")))?;
        listed.insert((path.to_owned(), name.to_owned()), (index + 1, lines));
    }
    Ok(listed)
}

fn long_functions(file: &SourceFile) -> Vec<Long> {
    let mut found = Vec::new();
    for (at, token) in file.words().filter(|(_, token)| token.text == "fn") {
        let Some(name) = file
            .tokens
            .get(at + 1)
            .filter(|name| name.kind == Kind::Word)
        else {
            continue;
        };
        let Some(open) = body(&file.tokens, at + 2) else {
            continue;
        };
        let lines = file.tokens[closing(&file.tokens, open)].line - token.line + 1;
        if lines > LONGEST_LINES {
            found.push(Long {
                path: file.path.clone(),
                name: name.text.clone(),
                first_line: token.line,
                lines,
            });
        }
    }
    found
}

/// The opening brace of a function, unless it is only declared.
fn body(tokens: &[Token], mut at: usize) -> Option<usize> {
    while let Some(token) = tokens.get(at) {
        match (token.kind, token.text.as_str()) {
            (Kind::Punctuation, "{") => return Some(at),
            (Kind::Punctuation, ";") => return None,
            (Kind::Punctuation, "(" | "[") => at = closing(tokens, at),
            _ => {}
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(lines: usize) -> SourceFile {
        let body = "    x(\"}\");\n".repeat(lines - 2);
        let text = format!(
            "trait T {{ fn declared(a: [u8; 2]); }}\nfn short() {{}}\nfn long() {{\n{body}}}\n"
        );
        SourceFile::new("plan", "crates/plan/src/lib.rs", &text)
    }

    fn messages(lines: usize, ratchet: &str) -> Vec<String> {
        let mut findings = Vec::new();
        check(&[file(lines)], ratchet, &mut findings);
        findings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn functions_may_have_seventy_lines() {
        assert_eq!(messages(70, ""), [""; 0]);
        assert_eq!(
            messages(71, ""),
            ["crates/plan/src/lib.rs:3: `long` has 71 lines, 70 are allowed"]
        );
    }

    #[test]
    fn the_list_says_exactly_what_is() {
        let listed = "# path function lines\ncrates/plan/src/lib.rs long 80\n";
        assert_eq!(messages(80, listed), [""; 0]);
        assert_eq!(
            messages(81, listed),
            ["crates/plan/src/lib.rs:3: `long` has 81 lines, 80 are allowed"]
        );
        assert_eq!(
            messages(75, listed),
            [
                "xtask/ratchet.txt:2: `long` in crates/plan/src/lib.rs has 75 lines by now: write that"
            ]
        );
        let gone = "xtask/ratchet.txt:2: `long` in crates/plan/src/lib.rs is short or gone: take it off the list";
        assert_eq!(messages(60, listed), [gone]);
        assert_eq!(
            messages(60, "a b\n"),
            ["xtask/ratchet.txt:1: a line is a path, a name and a number"]
        );
    }

    #[test]
    fn a_list_that_grows_is_found() {
        let versions = |texts: &[&str]| {
            texts
                .iter()
                .map(|text| (*text).to_owned())
                .collect::<Vec<_>>()
        };
        let count = |texts: &[&str]| {
            let mut findings = Vec::new();
            check_shrinks(RATCHET, &versions(texts), &mut findings);
            findings.len()
        };
        assert_eq!(count(&["a f 80", "a f 80", "a f 80\nb g 90"]), 0);
        assert_eq!(count(&["a f 81", "a f 80"]), 1);
        assert_eq!(count(&["", "a f 80\nb g 71", "a f 80"]), 1);
        assert_eq!(count(&["moved f 80", "a f 80"]), 0);
    }
}
