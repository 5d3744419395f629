//! What may be said about a job that runs but probably not as meant: the findings that people
//! switch off or make fatal by name. Must not know how any of them is found.
use crate::fio::codes as fio;
use crate::vdbench::codes as vdbench;
use plan::Severity;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// One kind of finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lint {
    /// What people switch it by, such as `lost-text`.
    pub name: &'static str,
    /// The codes of its diagnostics, one for each language that knows it.
    pub codes: &'static [&'static str],
    /// What it finds, in one line.
    pub finds: &'static str,
}

impl Lint {
    /// As the reference heads its section: the name, then the codes.
    pub fn heading(&self) -> String {
        format!("{} ({})", self.name, self.codes.join(", "))
    }

    /// Whether people call it by this word: its name or one of its codes.
    pub fn is_called(&self, word: &str) -> bool {
        self.name == word || self.codes.contains(&word)
    }
}

const fn lint(name: &'static str, codes: &'static [&'static str], finds: &'static str) -> Lint {
    Lint { name, codes, finds }
}

const LINTS: &[Lint] = &[
    lint(
        "lost-text",
        &[vdbench::LOST_TEXT],
        "parameters after a blank, which are not read",
    ),
    lint(
        "downward-range",
        &[vdbench::DOWNWARD_RANGE],
        "a range that yields its first value only",
    ),
    lint(
        "maybe-variable",
        &[vdbench::MAYBE_VARIABLE],
        "text that looks like a variable and is not set",
    ),
    lint(
        "same-device",
        &[vdbench::SAME_DEVICE, fio::SAME_DEVICE],
        "one device or file under two names",
    ),
    lint(
        "surprising-value",
        &[vdbench::SURPRISING_VALUE],
        "a value that reads differently from what it looks like",
    ),
    lint(
        "long-warmup",
        &[vdbench::LONG_WARMUP],
        "a warm-up longer than what is measured",
    ),
    lint(
        "cached-storage",
        &[vdbench::CACHED, fio::CACHED],
        "storage that memory can hold, without direct I/O",
    ),
    lint(
        "beyond-storage",
        &[vdbench::BEYOND_STORAGE, fio::BEYOND_STORAGE],
        "a range or an offset beyond the size of its storage",
    ),
    lint(
        "kernel-limits",
        &[vdbench::KERNEL_LIMITS, fio::KERNEL_LIMITS],
        "more I/Os in flight, files or buffers than this host allows",
    ),
    lint(
        "few-samples",
        &[vdbench::FEW_SAMPLES],
        "a window too short for a 99th percentile",
    ),
    lint(
        "unwritten-file",
        &[vdbench::UNWRITTEN, fio::UNWRITTEN],
        "reads of a file that was never written whole",
    ),
    lint(
        "error-budget",
        &[vdbench::SMALL_BUDGET],
        "a failure test that ends with the failure",
    ),
    lint(
        "odd-rate",
        &[vdbench::ODD_RATE],
        "a rate or a point of a curve that is not the number it looks like",
    ),
    lint(
        "results-on-storage",
        &[vdbench::RESULTS_ON_STORAGE, fio::RESULTS_ON_STORAGE],
        "results written to the storage under test",
    ),
];

/// Every lint, in the order of the codes.
pub fn lints() -> &'static [Lint] {
    LINTS
}

/// Whether a diagnostic is the finding of one of them.
pub fn is_lint(diagnostic: &plan::Diagnostic) -> bool {
    LINTS
        .iter()
        .any(|lint| lint.codes.contains(&&*diagnostic.code))
}

/// What becomes of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LintLevel {
    Off,
    Warning,
    Error,
}

/// Levels by name; what is not named warns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LintSelection {
    every: Option<LintLevel>,
    named: BTreeMap<&'static str, LintLevel>,
}

/// Why a selection cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LintError {
    /// Not of the form `NAME=LEVEL`.
    Form(String),
    /// No lint has this name; the second is the closest, if one is close.
    UnknownName(String, Option<&'static str>),
    UnknownLevel(String),
}

impl LintSelection {
    /// Takes `NAME=off`, `NAME=on` or `NAME=error`; the name may be the code of the lint, and `all`
    /// stands for every lint that is not named itself.
    ///
    /// # Errors
    /// When the text has another form, or names what does not exist.
    pub fn set(&mut self, text: &str) -> Result<(), LintError> {
        let (name, level) = text
            .split_once('=')
            .ok_or_else(|| LintError::Form(text.to_owned()))?;
        let level = level.parse()?;
        if name == "all" {
            self.every = Some(level);
            return Ok(());
        }
        let found = LINTS.iter().find(|lint| lint.is_called(name));
        let Some(lint) = found else {
            let names = LINTS.iter().map(|lint| lint.name);
            let near = crate::nearest::nearest_word(name, names);
            return Err(LintError::UnknownName(name.to_owned(), near));
        };
        // A code stands for its lint, whatever the language.
        self.named
            .extend(lint.codes.iter().map(|code| (*code, level)));
        Ok(())
    }

    /// The level of the lint with this code.
    pub fn level(&self, code: &str) -> LintLevel {
        let named = self.named.get(code).copied();
        named.or(self.every).unwrap_or(LintLevel::Warning)
    }

    /// The diagnostic as the selection wants it; `None` when it is switched off. What is no lint
    /// stays as it is.
    pub fn apply(&self, mut diagnostic: plan::Diagnostic) -> Option<plan::Diagnostic> {
        if !is_lint(&diagnostic) {
            return Some(diagnostic);
        }
        match self.level(&diagnostic.code) {
            LintLevel::Off => return None,
            LintLevel::Warning => {}
            LintLevel::Error => diagnostic.severity = Severity::Error,
        }
        Some(diagnostic)
    }
}

impl FromStr for LintLevel {
    type Err = LintError;

    fn from_str(text: &str) -> Result<Self, LintError> {
        match text {
            "off" => Ok(LintLevel::Off),
            "on" => Ok(LintLevel::Warning),
            "error" => Ok(LintLevel::Error),
            other => Err(LintError::UnknownLevel(other.to_owned())),
        }
    }
}

impl fmt::Display for LintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LintError::Form(text) => write!(
                f,
                "`{text}` selects no lint: write `NAME=off`, `NAME=on` or `NAME=error`"
            ),
            LintError::UnknownName(name, Some(near)) => {
                write!(f, "no lint is named `{name}`; did you mean `{near}`?")
            }
            LintError::UnknownName(name, None) => write!(f, "no lint is named `{name}`"),
            LintError::UnknownLevel(level) => {
                let help = crate::nearest::instead_of(level, ["off", "on", "error"]);
                write!(f, "`{level}` is not a level of a lint; {help}")
            }
        }
    }
}

impl std::error::Error for LintError {}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Diagnostic;

    #[test]
    fn the_name_wins_over_all_whatever_the_order() {
        let mut selection = LintSelection::default();
        assert_eq!(selection.level("vdb-0010"), LintLevel::Warning);
        selection.set("lost-text=error").unwrap();
        selection.set("all=off").unwrap();
        assert_eq!(selection.level("vdb-0010"), LintLevel::Error);
        assert_eq!(selection.level("vdb-0013"), LintLevel::Off);
        selection.set("vdb-0013=on").unwrap();
        assert_eq!(selection.level("vdb-0013"), LintLevel::Warning);
    }

    #[test]
    fn what_is_not_understood_says_what_is() {
        let mut selection = LintSelection::default();
        for (text, message) in [
            (
                "lost-text",
                "`lost-text` selects no lint: write `NAME=off`, `NAME=on` or `NAME=error`",
            ),
            (
                "lost-txt=off",
                "no lint is named `lost-txt`; did you mean `lost-text`?",
            ),
            (
                "lost-text=never",
                "`never` is not a level of a lint; use `off`, `on` or `error`",
            ),
        ] {
            assert_eq!(selection.set(text).unwrap_err().to_string(), message);
        }
        assert_eq!(selection, LintSelection::default());
    }

    #[test]
    fn errors_of_the_language_cannot_be_switched_off() {
        let mut selection = LintSelection::default();
        selection.set("all=off").unwrap();
        let error = Diagnostic::error("vdb-0107", "unknown parameter");
        assert_eq!(selection.apply(error.clone()), Some(error));
    }
}
