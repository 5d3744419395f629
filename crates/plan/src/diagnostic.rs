//! What is wrong with the user's input, or worth knowing about it, as plain data. Rendering is the
//! binary's business.
use crate::source::Span;
use serde::{Deserialize, Serialize};

/// How much a diagnostic matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Something was translated or left to a default worth knowing.
    Note,
    /// It runs, but probably not as meant.
    Warning,
    /// Nothing runs before this is resolved.
    Error,
}

/// A second place that explains the first, such as where a name was defined before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Related {
    pub span: Span,
    pub label: String,
}

/// One finding: a stable code, one message, one place, one way out.
///
/// The message is lower case, without a full stop, values in backticks. The label says what stands
/// at the place; the help says what to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    pub code: String,
    pub severity: Severity,
    pub message: String,
    pub span: Option<Span>,
    pub label: String,
    pub related: Vec<Related>,
    pub help: Option<String>,
}

impl Diagnostic {
    /// A finding without a place yet.
    pub fn new(severity: Severity, code: &str, message: impl Into<String>) -> Self {
        Self {
            code: code.to_owned(),
            severity,
            message: message.into(),
            span: None,
            label: String::new(),
            related: Vec::new(),
            help: None,
        }
    }

    pub fn error(code: &str, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, message)
    }

    pub fn warning(code: &str, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, message)
    }

    pub fn note(code: &str, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, code, message)
    }

    /// Points at `span`, saying what stands there.
    pub fn at(mut self, span: Span, label: impl Into<String>) -> Self {
        self.span = Some(span);
        self.label = label.into();
        self
    }

    /// Adds a second place.
    pub fn with_related(mut self, span: Span, label: impl Into<String>) -> Self {
        self.related.push(Related {
            span,
            label: label.into(),
        });
        self
    }

    /// Says what to do.
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}
