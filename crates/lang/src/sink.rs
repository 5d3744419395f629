//! Collects diagnostics, each once: defaults are read again for every definition that they serve.
use crate::lint::LintSelection;
use plan::{Diagnostic, Severity, Span};

/// The findings of one reading.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    found: Vec<Diagnostic>,
    seen: std::collections::HashSet<(String, Option<Span>, String)>,
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
        let key = (
            diagnostic.code.clone(),
            diagnostic.span,
            diagnostic.label.clone(),
        );
        if self.seen.insert(key) {
            self.found.push(diagnostic);
        }
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
