//! What the codes of diagnostics mean, from the pages of the reference, which are built in.

const LINTS: &str = include_str!("../../../docs/reference/lints.md");
const VERDICT: &str = include_str!("../../../docs/concepts/verdict.md");
const DIAGNOSTICS: &str = include_str!("../../../docs/reference/diagnostics.md");

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

/// The lint or word of a verdict that is meant.
pub fn near(word: &str) -> Option<&'static str> {
    let lints = lang::lints().iter().map(|lint| lint.name);
    lang::nearest(
        word,
        lints.chain(analysis::Word::ALL.map(analysis::Word::name)),
    )
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
    use super::explanation;

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
    fn codes_are_explained_and_other_words_are_not() {
        let text = explanation("vdb-0002").unwrap();
        assert!(text.contains("One level is allowed") && !text.contains("vdb-0003"));
        assert_eq!(explanation(&format!("vdb-{}", 9999)), None);
        assert_eq!(explanation("job.vdb"), None);
    }
}
