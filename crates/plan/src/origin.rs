//! Where each value of a plan comes from, so that `explain` can say it.
use crate::source::Span;
use serde::{Deserialize, Serialize};

/// The reason why a value is what it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Origin {
    /// Written there in the user's text.
    Written(Span),
    /// Given on the command line, by this argument.
    Argument(String),
    /// The default of the language, by the rule named.
    Default(String),
    /// Computed from other values, by the rule named.
    Derived(String),
}

/// One value of the plan in the words of its language, with its origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanValue {
    /// What it belongs to, as the user named it.
    pub subject: String,
    /// The parameter, full name.
    pub name: String,
    pub value: String,
    pub origin: Origin,
}
