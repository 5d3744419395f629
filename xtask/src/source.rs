//! A Rust file as the rules see it: tokens, comments, and which lines are test code.
use crate::lexer::{self, Comment, Kind, Token};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

#[derive(Clone, Debug)]
pub struct SourceFile {
    /// The package that it belongs to.
    pub package: String,
    /// Relative to the root, with `/`.
    pub path: String,
    pub tokens: Vec<Token>,
    pub comments: Vec<Comment>,
    test_lines: Vec<RangeInclusive<usize>>,
    is_test_file: bool,
}

impl SourceFile {
    pub fn new(package: &str, path: &str, text: &str) -> Self {
        let (tokens, comments) = lexer::lex(text);
        let in_test_folder = ["/tests/", "/benches/"]
            .iter()
            .any(|part| path.contains(part))
            && !path.contains("/src/");
        Self {
            package: package.to_owned(),
            path: path.to_owned(),
            test_lines: test_lines(&tokens),
            tokens,
            comments,
            is_test_file: in_test_folder,
        }
    }

    pub fn is_test(&self, line: usize) -> bool {
        self.is_test_file || self.test_lines.iter().any(|lines| lines.contains(&line))
    }

    /// Whether the tokens at this place are these words and punctuations.
    pub fn matches(&self, at: usize, pattern: &[&str]) -> bool {
        let rest = &self.tokens[at..];
        rest.len() >= pattern.len()
            && pattern.iter().zip(rest).all(|(text, token)| {
                matches!(token.kind, Kind::Word | Kind::Punctuation) && token.text == *text
            })
    }

    /// The words with their places in `tokens`.
    pub fn words(&self) -> impl Iterator<Item = (usize, &Token)> {
        let tokens = self.tokens.iter().enumerate();
        tokens.filter(|(_, token)| token.kind == Kind::Word)
    }
}

/// Marks the files that a `#[cfg(test)] mod name;` brings in, and those below them.
pub fn mark_test_files(files: &mut [SourceFile]) {
    let mut folders = BTreeSet::new();
    let mut names = BTreeSet::new();
    for file in files.iter() {
        for (name, path) in test_modules(&file.tokens) {
            let (own_folder, own_name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
            if let Some(path) = path {
                names.insert(format!("{own_folder}/{path}"));
                continue;
            }
            let stem = own_name.trim_end_matches(".rs");
            let base = match stem {
                "lib" | "main" | "mod" => own_folder.to_owned(),
                _ => format!("{own_folder}/{stem}"),
            };
            names.insert(format!("{base}/{name}.rs"));
            folders.insert(format!("{base}/{name}/"));
        }
    }
    for file in files.iter_mut() {
        file.is_test_file |= names.contains(&file.path)
            || folders.iter().any(|folder| file.path.starts_with(folder));
    }
}

/// Where the bracket at `open` is closed; the last token when it never is.
pub fn closing(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        if token.kind != Kind::Punctuation {
            continue;
        }
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    tokens.len() - 1
}

/// Every attribute that makes what follows it test code, as the place of its `#`.
fn test_attributes(tokens: &[Token]) -> impl Iterator<Item = usize> + '_ {
    (0..tokens.len()).filter(|at| {
        let texts: Vec<&str> = tokens[*at..]
            .iter()
            .take(6)
            .map(|token| token.text.as_str())
            .collect();
        texts.starts_with(&["#", "[", "test", "]"])
            || texts.starts_with(&["#", "[", "cfg", "(", "test", ")"])
            || texts.starts_with(&["#", "[", "cfg", "(", "all", "("])
                && tokens.get(at + 6).is_some_and(|token| token.text == "test")
    })
}

/// Behind the attributes that begin at `at`, and the last `path` among them.
fn behind_attributes(tokens: &[Token], mut at: usize) -> (usize, Option<String>) {
    let mut path = None;
    while at + 1 < tokens.len() && tokens[at].text == "#" && tokens[at + 1].text == "[" {
        let end = closing(tokens, at + 1);
        if tokens.get(at + 2).is_some_and(|token| token.text == "path") {
            path = tokens[at..end]
                .iter()
                .find(|token| token.kind == Kind::Text)
                .map(|token| token.text.clone());
        }
        at = end + 1;
    }
    (at, path)
}

/// Modules in files of their own that are test code: name, and the file where an attribute names it.
fn test_modules(tokens: &[Token]) -> Vec<(String, Option<String>)> {
    let mut modules = Vec::new();
    for at in test_attributes(tokens) {
        let (mut item, path) = behind_attributes(tokens, at);
        if tokens.get(item).is_some_and(|token| token.text == "pub") {
            item += 1;
            if tokens.get(item).is_some_and(|token| token.text == "(") {
                item = closing(tokens, item) + 1;
            }
        }
        if let [keyword, name, end, ..] = &tokens[item.min(tokens.len())..]
            && keyword.text == "mod"
            && end.text == ";"
        {
            modules.push((name.text.clone(), path));
        }
    }
    modules
}

/// From each test attribute to the end of the item behind it.
fn test_lines(tokens: &[Token]) -> Vec<RangeInclusive<usize>> {
    let mut ranges = Vec::new();
    for at in test_attributes(tokens) {
        let (item, _) = behind_attributes(tokens, at);
        let end = item_end(tokens, item);
        if let Some(last) = tokens.get(end) {
            ranges.push(tokens[at].line..=last.line);
        }
    }
    ranges
}

/// The `;` or the closing brace of the item that begins here.
pub fn item_end(tokens: &[Token], start: usize) -> usize {
    let mut at = start;
    while let Some(token) = tokens.get(at) {
        match token.text.as_str() {
            ";" if token.kind == Kind::Punctuation => return at,
            "{" if token.kind == Kind::Punctuation => return closing(tokens, at),
            "(" | "[" if token.kind == Kind::Punctuation => at = closing(tokens, at),
            _ => {}
        }
        at += 1;
    }
    tokens.len().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_items_are_known_by_their_lines() {
        let text = "fn a() {\n}\n#[cfg(test)]\nmod tests {\n  fn b() {}\n}\nfn c() {}\n#[test]\n#[ignore]\nfn d() {\n}\n";
        let file = SourceFile::new("p", "crates/p/src/lib.rs", text);
        let test: Vec<usize> = (1..=11).filter(|line| file.is_test(*line)).collect();
        assert_eq!(test, [3, 4, 5, 6, 8, 9, 10, 11]);
    }

    #[test]
    fn a_condition_that_also_holds_outside_tests_is_no_test() {
        let text = "#[cfg(not(test))]\nfn a() {}\n#[cfg(any(test, unix))]\nfn b() {}\n#[cfg(all(test, unix))]\nfn c() {}";
        let file = SourceFile::new("p", "crates/p/src/lib.rs", text);
        assert_eq!(
            (1..=6)
                .filter(|line| file.is_test(*line))
                .collect::<Vec<_>>(),
            [5, 6]
        );
    }

    #[test]
    fn test_modules_in_files_of_their_own_are_test_code() {
        let named = "#[cfg(test)]\nmod tests;\n#[cfg(test)]\npub(crate) mod fakes;\nmod real;";
        let moved = "#[cfg(test)]\n#[path = \"moved_tests.rs\"]\nmod tests;";
        let mut files: Vec<SourceFile> = [
            ("crates/p/src/lib.rs", named),
            ("crates/p/src/tests.rs", ""),
            ("crates/p/src/tests/deep.rs", ""),
            ("crates/p/src/fakes/mod.rs", ""),
            ("crates/p/src/real.rs", moved),
            ("crates/p/src/moved_tests.rs", ""),
            ("crates/p/tests/whole.rs", ""),
        ]
        .map(|(path, text)| SourceFile::new("p", path, text))
        .into();
        mark_test_files(&mut files);
        let real: Vec<&str> = files
            .iter()
            .filter(|file| !file.is_test(100))
            .map(|file| file.path.as_str())
            .collect();
        assert_eq!(real, ["crates/p/src/lib.rs", "crates/p/src/real.rs"]);
    }
}
