//! Calls on files by their names, in place of I/O on what they hold.
use super::{BindError, BoundPlan, FoundKind};
use crate::ids::TargetId;
use crate::method::{IoMethod, NameCall};
use crate::run::Run;
use crate::space::SpaceCall;
use crate::stream::Stream;
use std::fmt;

/// What a stream would do to a file that was there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Harm {
    Removed,
    Cut,
}

/// Why a stream is refused that would harm what was there before.
pub(crate) fn not_ours(error: &BindError, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let BindError::NotOurs {
        target,
        stream,
        harm,
        ..
    } = error
    else {
        return Ok(());
    };
    let (does, done) = match harm {
        Harm::Removed => ("takes files away", "taken away"),
        Harm::Cut => ("cuts files", "cut"),
    };
    write!(
        f,
        "`{stream}` {does}, and `{target}` was there before: only what the same execution has made is {done}"
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

    /// The call on space that the operations of a stream are, if they are one.
    pub fn space_call(&self, stream: &Stream) -> Option<SpaceCall> {
        match self.pools[stream.pool.index()].method {
            Some(IoMethod::Space(call)) => Some(call),
            _ => None,
        }
    }

    /// Whether a stream may change what targets hold, or the space that they take.
    pub fn changes_data(&self, stream: &Stream) -> bool {
        self.name_call(stream).is_none()
            && (self.space_call(stream).is_some() || stream.source.changes_data())
    }

    /// What a stream would do to files that were there before.
    fn harm(&self, stream: &Stream) -> Option<Harm> {
        if self.space_call(stream) == Some(SpaceCall::SetLength) {
            return Some(Harm::Cut);
        }
        (self.name_call(stream) == Some(NameCall::Remove)).then_some(Harm::Removed)
    }
}

impl BoundPlan {
    /// Whether a stream may write to a target, or make it where it is missing.
    pub(crate) fn may_change(&self, run: &Run, stream: &Stream, target: TargetId) -> bool {
        let is_missing = self.targets[target.index()].facts.found == FoundKind::Missing;
        match run.name_call(stream) {
            Some(call) => call == NameCall::Make && is_missing,
            None => run.changes_data(stream),
        }
    }

    /// The first target of each stream that would be taken away or cut although it was there before.
    pub(crate) fn check_harm(&self, run: &Run, errors: &mut Vec<BindError>) {
        let streams = run.streams.iter();
        for (stream, harm) in streams.filter_map(|stream| Some((stream, run.harm(stream)?))) {
            let mut targets = stream.targets.iter();
            let found = targets
                .find(|target| self.targets[target.index()].facts.found != FoundKind::Missing);
            let Some(target) = found.map(|id| self.plan.target(*id)) else {
                continue;
            };
            errors.push(BindError::NotOurs {
                target: target.name.clone(),
                stream: stream.name.clone(),
                harm,
                origin: target.origin.clone(),
            });
        }
    }
}
