//! Collects diagnostics, each once: defaults are read again for every definition that they serve.
use crate::lint::LintSelection;
use plan::{Diagnostic, Severity, Span};

/// Errors, and other findings, that are kept: a file that is no job has one in each line.
const KEPT_MAX: usize = 10_000;

/// The findings of one reading.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    found: Vec<Diagnostic>,
    seen: std::collections::HashSet<(String, Option<Span>, String)>,
    errors: usize,
    lints: LintSelection,
}

impl Sink {
    pub(crate) fn new(lints: &LintSelection) -> Self {
        Self {
            lints: lints.clone(),
            ..Self::default()
        }
    }

    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        let Some(diagnostic) = self.lints.apply(diagnostic) else {
            return;
        };
        // An error is never lost behind warnings.
        let is_error = diagnostic.severity == Severity::Error;
        let of_its_kind = match is_error {
            true => self.errors,
            false => self.found.len() - self.errors,
        };
        if of_its_kind >= KEPT_MAX {
            return;
        }
        let key = (
            diagnostic.code.clone(),
            diagnostic.span,
            diagnostic.label.clone(),
        );
        if self.seen.insert(key) {
            self.errors += usize::from(is_error);
            self.found.push(diagnostic);
        }
    }

    /// Errors so far.
    pub(crate) fn errors(&self) -> usize {
        self.errors
    }

    /// An error at a place.
    pub(crate) fn error(
        &mut self,
        code: &str,
        span: Span,
        message: impl Into<String>,
        label: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.push(
            Diagnostic::error(code, message)
                .at(span, label)
                .with_help(help),
        );
    }

    /// A warning at a place.
    pub(crate) fn warning(
        &mut self,
        code: &str,
        span: Span,
        message: impl Into<String>,
        label: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.push(
            Diagnostic::warning(code, message)
                .at(span, label)
                .with_help(help),
        );
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.found
            .iter()
            .any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    pub(crate) fn has(&self, code: &str) -> bool {
        self.found.iter().any(|diagnostic| diagnostic.code == code)
    }

    /// In the order of the text.
    pub(crate) fn into_sorted(mut self) -> Vec<Diagnostic> {
        self.found.sort_by_key(|diagnostic| {
            diagnostic
                .span
                .map_or((u32::MAX, 0), |span| (span.source.0, span.start))
        });
        self.found
    }
}
