//! Words of the job languages stay where the languages are read and their reports written. Everywhere else they would
//! carry one tool's habits into the neutral middle.
use super::Finding;
use crate::source::SourceFile;

/// May use the words: the readers, the reports and the binary.
const SPEAKERS: &[&str] = &["lang", "report", "fathom"];

/// The chores are no part of the product, and some call the other tools.
const CHORES: &str = "xtask/";

/// Lower case. Only words that mean nothing but the keyword: `threads`, `skew` or `range` are English.
const WORDS: &[&str] = &[
    "vdbench",
    "fio",
    "xfersize",
    "xfersizes",
    "forxfersize",
    "forxfersizes",
    "rdpct",
    "forrdpct",
    "seekpct",
    "forseekpct",
    "rhpct",
    "forrhpct",
    "whpct",
    "forwhpct",
    "hotband",
    "forhotband",
    "iorate",
    "foriorate",
    "forthreads",
    "openflags",
    "messagescan",
    "fwdrate",
    "fileio",
    "fileselect",
    "dedupratio",
    "compratio",
    "iodepth",
    "numjobs",
    "stonewall",
    "rwmixread",
    "rwmixwrite",
    "bssplit",
    "blockalign",
    "ioengine",
    "iolog",
    "norandommap",
    "randrepeat",
    "thinktime",
    "zonemode",
    "clat",
    "slat",
];

pub fn check(file: &SourceFile, findings: &mut Vec<Finding>) {
    if SPEAKERS.contains(&file.package.as_str()) || file.path.starts_with(CHORES) {
        return;
    }
    for (_, token) in file.words() {
        for part in parts(&token.text) {
            if WORDS.contains(&part.as_str()) {
                let message = format!(
                    "`{}`: `{part}` is a word of a job language; name what it means",
                    token.text
                );
                findings.push(Finding::in_source(file, token.line, message));
            }
        }
    }
}

/// The words of which an identifier is made, in lower case.
fn parts(identifier: &str) -> Vec<String> {
    let characters: Vec<char> = identifier.chars().collect();
    let mut parts = vec![String::new()];
    for (at, character) in characters.iter().enumerate() {
        let after_lower =
            at > 0 && (characters[at - 1].is_lowercase() || characters[at - 1].is_numeric());
        let before_lower = at > 0
            && characters
                .get(at + 1)
                .is_some_and(|next| next.is_lowercase());
        let begins = character.is_uppercase() && (after_lower || before_lower);
        if *character == '_' || begins {
            parts.push(String::new());
        }
        if *character != '_' {
            parts
                .last_mut()
                .expect("there is always one")
                .extend(character.to_lowercase());
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(package: &str, text: &str) -> Vec<usize> {
        let mut findings = Vec::new();
        check(
            &SourceFile::new(package, "crates/x/src/lib.rs", text),
            &mut findings,
        );
        findings.into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn identifiers_fall_apart_into_words() {
        assert_eq!(parts("FioJob_two"), ["fio", "job", "two"]);
        assert_eq!(parts("HTTPServer2Go"), ["http", "server2", "go"]);
        assert_eq!(parts("MAX_RDPCT"), ["max", "rdpct"]);
        assert_eq!(parts("_r_"), ["r"]);
    }

    #[test]
    fn planted_words_are_found_in_every_spelling() {
        let text = "let xfersize = 1;\nstruct FioJob;\nconst MAX_IODEPTH: u8 = 1;\nfn for_rdpct() {}\nuse vdbench::x;\n";
        assert_eq!(found("engine", text), [1, 2, 3, 4, 5]);
        assert!(found("lang", text).is_empty());
    }

    #[test]
    fn texts_comments_and_neighbours_pass() {
        let text = "// fio does\nlet a = \"vdbench\";\nlet transfer_size = ratio;\nlet portfolio = 1;\nlet hot_band = 2;\n";
        assert!(found("engine", text).is_empty());
    }
}
