//! What does not fit, at the words of the user that caused it.
use super::BindError;
use crate::{Diagnostic, Origin};

impl BindError {
    /// At the words that caused it, with the way out.
    pub fn diagnostic(&self) -> Diagnostic {
        let diagnostic = Diagnostic::error(self.code(), self.to_string());
        // What is at a path shows at the path itself, which the message names with the way out.
        let label = match self {
            BindError::NotUsable { .. } => "",
            _ => "defined here",
        };
        let diagnostic = match self.origin() {
            Origin::Written(span) => diagnostic.at(*span, label),
            _ => diagnostic,
        };
        match self {
        BindError::SizeUnknown { .. } => {
            diagnostic.with_help("give a size, so that the file can be made")
        }
        BindError::DeviceTooSmall { .. } => {
            diagnostic.with_help("lower the size, or leave it out to use all of the target")
        }
        BindError::DeviceMissing { .. } => {
            diagnostic.with_help("check the path and the permissions")
        }
        BindError::NotOurs { .. } => diagnostic.with_help(
            "use another folder or other files, which are then made first, or remove them yourself",
        ),
        BindError::Misaligned { .. } => {
            diagnostic.with_help("use a multiple of that, or leave out direct I/O")
        }
        _ => diagnostic,
    }
    }
}
