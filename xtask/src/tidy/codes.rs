//! A diagnostic has a code, and people look the code up: every code in the source has an entry in the reference.
use super::Finding;
use crate::lexer::Kind;
use crate::source::SourceFile;

/// Where the codes are explained. Without the file there is nothing to compare.
pub const REFERENCE: &str = "docs/reference/diagnostics.md";

pub fn check(files: &[SourceFile], reference: &str, findings: &mut Vec<Finding>) {
    let of_product =
        |file: &&SourceFile| file.path.starts_with("crates/") && file.path.contains("/src/");
    for file in files.iter().filter(of_product) {
        for token in file.tokens.iter().filter(|token| token.kind == Kind::Text) {
            let is_used = is_code(&token.text) && !file.is_test(token.line);
            if is_used && !reference.contains(&token.text) {
                let message = format!("`{}` has no entry in {REFERENCE}", token.text);
                findings.push(Finding::in_source(file, token.line, message));
            }
        }
    }
}

/// Lower-case letters, a hyphen, four digits.
fn is_code(text: &str) -> bool {
    let Some((reader, number)) = text.split_once('-') else {
        return false;
    };
    !reader.is_empty()
        && reader.chars().all(|letter| letter.is_ascii_lowercase())
        && number.len() == 4
        && number.chars().all(|digit| digit.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_without_an_entry_is_found() {
        let text = "const A: &str = \"vdb-0001\";\nconst B: &str = \"bind-0009\";\nconst C: &str = \"sha-256\";\n#[test]\nfn t() { f(\"vdb-9999\") }\n";
        let file = SourceFile::new("lang", "crates/lang/src/lib.rs", text);
        let mut findings = Vec::new();
        check(&[file], "### vdb-0001\n\nText.\n", &mut findings);
        assert_eq!(
            findings
                .iter()
                .map(|finding| finding.line)
                .collect::<Vec<_>>(),
            [2]
        );
    }
}
