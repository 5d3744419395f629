//! A target as a verdict sees it.
use measure::ExecutionTarget;
use plan::TargetId;

/// A target that data are read from or written to, as far as anything is known of what lies below it.
#[derive(Clone, Copy, Debug)]
pub struct TargetView<'a> {
    pub id: TargetId,
    pub target: &'a ExecutionTarget,
    /// Whether a run has written to it since the execution began.
    pub is_written: bool,
}
