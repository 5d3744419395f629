//! Calls on files by their names, in place of I/O on what they hold.
use crate::bind::{BindError, BoundPlan, FoundKind};
use crate::ids::TargetId;
use crate::plan::IoMethod;
use crate::run::Run;
use crate::stream::Stream;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What is done to a file by its name. Each operation of a stream is one such call on its target;
/// direction and length say only as what it is counted, and nothing is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NameCall {
    /// Opens it for reading and writing, which makes it where it is missing. What is there stays as it
    /// is. Closing it is no part of the operation.
    Make,
    /// Asks for what the file system knows of it (stat), behind a link.
    Look,
    /// The same, of a link itself (lstat).
    LookAtLink,
    /// The same as `Look`, with all that the newer call tells (statx).
    LookWhole,
    /// Takes it away; only what this execution has made itself.
    Remove,
}

/// Why a stream is refused that would take away what was there before.
pub(crate) fn not_ours(stream: &str, target: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(
        f,
        "`{stream}` takes files away, and `{target}` was there before: only what the same execution has made is taken away"
    )
}

impl NameCall {
    /// Whether the folder has other names afterwards.
    pub fn changes_names(self) -> bool {
        matches!(self, NameCall::Make | NameCall::Remove)
    }
}

impl Run {
    /// The call on names that the operations of a stream are, if they are one.
    pub fn name_call(&self, stream: &Stream) -> Option<NameCall> {
        match self.pools[stream.pool.index()].method {
            Some(IoMethod::Names(call)) => Some(call),
            _ => None,
        }
    }

    /// Whether a stream may change what targets hold.
    pub fn changes_data(&self, stream: &Stream) -> bool {
        self.name_call(stream).is_none() && stream.source.changes_data()
    }
}

impl BoundPlan {
    /// Whether a stream may write to a target, or make it where it is missing.
    pub(crate) fn may_change(&self, run: &Run, stream: &Stream, target: TargetId) -> bool {
        let is_missing = self.targets[target.index()].facts.found == FoundKind::Missing;
        match run.name_call(stream) {
            Some(call) => call == NameCall::Make && is_missing,
            None => stream.source.changes_data(),
        }
    }

    /// The first target of each stream that would be taken away although it was there before.
    pub(crate) fn check_removals(&self, run: &Run, errors: &mut Vec<BindError>) {
        let removing = run
            .streams
            .iter()
            .filter(|stream| run.name_call(stream) == Some(NameCall::Remove));
        for stream in removing {
            let mut targets = stream.targets.iter();
            let found = targets
                .find(|target| self.targets[target.index()].facts.found != FoundKind::Missing);
            let Some(target) = found.map(|id| self.plan.target(*id)) else {
                continue;
            };
            errors.push(BindError::NotOurs {
                target: target.name.clone(),
                stream: stream.name.clone(),
                origin: target.origin.clone(),
            });
        }
    }
}
