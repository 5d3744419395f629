//! What may be done with a target.
use serde::{Deserialize, Serialize};

/// What may be done with the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    Read,
    Write,
    /// Write, and make the file where it is missing.
    Create,
    /// Write what another host of the job keeps from others, and makes where it is missing.
    Share,
}
