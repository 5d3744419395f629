//! What a word means that is no file: the code of a diagnostic, a lint, a word of a verdict, an option of a job. The
//! texts are the pages of the reference, which are built in, and the declarations of the readers.

const LINTS: &str = include_str!("../../../docs/reference/lints.md");
const VERDICT: &str = include_str!("../../../docs/concepts/verdict.md");
const DIAGNOSTICS: &str = include_str!("../../../docs/reference/diagnostics.md");

/// What the reference says of a word; `None` if nothing has this name. The case of letters does not matter.
pub fn meaning(word: &str) -> Option<String> {
    let lower = word.to_ascii_lowercase();
    explanation(&lower).or_else(|| option(&lower))
}

/// An option or engine of the job languages; in both, if both have one of this name.
fn option(word: &str) -> Option<String> {
    let vdbench = lang::vdbench::help_of(word);
    let vdbench = vdbench.map(|text| format!("Vdbench parameter\n\n{text}"));
    let fio = lang::fio::help(Some(word)).map(|text| format!("fio option\n\n{text}"));
    let engine = crate::fio_face::engine_help(Some(word)).ok();
    let engine = engine.map(|text| format!("fio engine\n\n{text}"));
    let found: Vec<String> = [vdbench, fio, engine].into_iter().flatten().collect();
    (!found.is_empty()).then(|| found.join("\n").trim_end().to_owned())
}

/// What the reference says of a code, or of the name of a lint.
pub fn explanation(word: &str) -> Option<String> {
    let found = lang::lints().iter().find(|lint| lint.is_called(word));
    if let Some(lint) = found {
        let heading = lint.heading();
        let text = section(LINTS, &format!("## {heading}"))?;
        let (name, finds) = (lint.name, lint.finds);
        return Some(format!(
            "{heading}: {finds}\n\n{text}\n\n`--lint {name}=off` says nothing of it, `--lint {name}=error` refuses the job."
        ));
    }
    if let Some(text) = section(VERDICT, &format!("### {word}")) {
        return Some(format!("{word}\n\n{text}"));
    }
    is_code(word)
        .then(|| section(DIAGNOSTICS, &format!("### {word}")))?
        .map(|text| format!("{word}\n\n{text}"))
}

/// The word with a meaning that is nearest to one without.
pub fn near(word: &str) -> Option<&'static str> {
    let lints = lang::lints().iter().map(|lint| lint.name);
    let codes = DIAGNOSTICS
        .lines()
        .filter_map(|line| line.strip_prefix("### "));
    let known = lints
        .chain(analysis::Word::ALL.map(analysis::Word::name))
        .chain(lang::vdbench::names())
        .chain(lang::fio::names())
        .chain(codes);
    lang::nearest(word, known)
}

/// Whether a word has the form of a code: letters, a hyphen, four digits.
pub fn is_code(word: &str) -> bool {
    word.split_once('-').is_some_and(|(reader, number)| {
        !reader.is_empty()
            && reader.bytes().all(|byte| byte.is_ascii_lowercase())
            && number.len() == 4
            && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// The text below a heading, up to the next.
fn section(page: &str, heading: &str) -> Option<String> {
    let mut lines = page.lines().skip_while(|line| *line != heading);
    lines.next()?;
    let text: Vec<&str> = lines
        .take_while(|line| !line.starts_with("## ") && !line.starts_with("### "))
        .collect();
    Some(text.join("\n").trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::{explanation, meaning, near};

    #[test]
    fn every_lint_is_explained_by_its_name_and_by_its_code() {
        for lint in lang::lints() {
            let text = explanation(lint.name).unwrap_or_else(|| panic!("{}", lint.name));
            assert!(text.contains(lint.finds) && text.len() > 200, "{text}");
            for code in lint.codes {
                assert_eq!(explanation(code).as_ref(), Some(&text));
            }
        }
    }

    #[test]
    fn every_word_of_a_verdict_is_explained() {
        for word in analysis::Word::ALL {
            let text = explanation(word.name()).unwrap_or_else(|| panic!("{word:?}"));
            assert!(text.len() > 60, "{text}");
        }
    }

    #[test]
    fn every_option_of_both_languages_is_explained() {
        for name in lang::vdbench::names().chain(lang::fio::names()) {
            let text = meaning(name).unwrap_or_else(|| panic!("{name}"));
            assert!(text.contains(name), "{name}: {text}");
        }
        let both = meaning("Threads").unwrap();
        assert!(both.contains("Vdbench parameter") && both.contains("fio option"));
        assert!(meaning("libaio").unwrap().starts_with("fio engine"));
        assert_eq!(near("bsplit"), Some("bssplit"));
        assert_eq!(near("vdb-013"), Some("vdb-0013"));
    }

    #[test]
    fn codes_are_explained_and_other_words_are_not() {
        let text = explanation("vdb-0002").unwrap();
        assert!(text.contains("One level is allowed") && !text.contains("vdb-0003"));
        assert_eq!(explanation(&format!("vdb-{}", 9999)), None);
        assert_eq!(explanation("job.vdb"), None);
    }
}
