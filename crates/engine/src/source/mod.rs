//! Where the operations of a stream come from: laws, steps, a record of operations, or what is known of targets. Each
//! tells an operation by its number, or that there is none any more; nothing of them depends on which worker asks.
//!
//! Read [`Source`] first.
mod grid;
mod hot_band;
mod laws;
mod limits;
mod mix;
mod pairs;
mod permutation;
mod plain;
pub(crate) mod sizes;
mod space;
mod steps;
mod track;
mod visits;
mod zones;

use crate::op::Drawn;
use crate::random::Draws;
use crate::record::Walk;
use laws::Laws;
use limits::Limits;
use plain::Plain;
use plan::{
    AddressOrder, BoundRegion, Generator, LocalStop, Operation, RecordedOperations, Replay,
    StepPattern, TargetId, TargetOrder, ZoneOrder,
};
use steps::Stepping;

/// Where the operations of a stream may go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ground<'a> {
    pub targets: &'a [TargetId],
    pub order: TargetOrder,
    pub regions: &'a [BoundRegion],
}

/// What a stream does, operation by operation. A copy draws on for itself what this one would.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    limits: Limits,
    /// Whether it has a last operation, whatever its limits are.
    has_end: bool,
    form: Form,
}

#[derive(Clone, Debug)]
enum Form {
    /// The everyday case of laws.
    Plain(Plain),
    Laws(Box<Laws>),
    /// Places follow from the number of the operation.
    Steps(Box<Laws>, Box<Stepping>),
    /// Drawn before, and elsewhere.
    Record(RecordedOperations),
    /// Reads what is known of targets.
    Walk(Walk),
}

/// The name of what this build cannot generate yet, if anything.
pub(crate) fn unsupported(generator: &Generator) -> Option<&'static str> {
    match &generator.order {
        AddressOrder::Random(law) | AddressOrder::Mixed { law, .. } => grid::misfit(law),
        AddressOrder::Stepped(steps) => match &steps.pattern {
            StepPattern::Bursts { law, .. } => grid::misfit(law),
            StepPattern::Zones {
                order: ZoneOrder::ByLaw(law),
                ..
            } => grid::misfit(law),
            StepPattern::Gap { .. } | StepPattern::Zones { .. } => None,
        },
        AddressOrder::Sequential { .. }
        | AddressOrder::Stride { .. }
        | AddressOrder::AsRecorded
        | AddressOrder::Listed(_) => None,
        AddressOrder::Rehearsed(writes) => unsupported(writes),
    }
}

impl Source {
    /// By a supported generator; `seed` is of the execution, the run and the stream.
    pub(crate) fn of_laws(
        generator: &Generator,
        ground: &Ground<'_>,
        stop: LocalStop,
        seed: (u64, u64, u64),
    ) -> Self {
        let draws = |purpose| Draws::new(seed.0, seed.1, seed.2, purpose);
        let laws = || Laws::new(generator, ground, draws);
        let form = match (&generator.order, Plain::of(generator, ground, stop, draws)) {
            (AddressOrder::Stepped(steps), _) => {
                let stepping = Stepping::new(steps, generator, draws);
                let laws = match stepping.is_paired() {
                    true => laws().in_pairs(),
                    false => laws(),
                };
                Form::Steps(Box::new(laws), Box::new(stepping))
            }
            (_, Some(plain)) => Form::Plain(plain),
            (_, None) => Form::Laws(Box::new(laws())),
        };
        Self {
            limits: Limits::new(stop),
            has_end: laws::ends(&generator.order),
            form,
        }
    }

    /// By a record of operations, until it ends.
    pub(crate) fn of_record(replay: &Replay, stop: LocalStop) -> Self {
        let limit = stop.operations.unwrap_or(u64::MAX);
        Self {
            limits: Limits::new(LocalStop {
                operations: Some(limit.min(replay.count)),
                ..stop
            }),
            has_end: true,
            form: Form::Record(replay.operations.clone()),
        }
    }

    /// Reads back what is known of targets.
    pub(crate) fn of_walk(walk: Walk, stop: LocalStop) -> Self {
        Self {
            limits: Limits::new(stop),
            has_end: true,
            form: Form::Walk(walk),
        }
    }

    /// Whether the stream ends by itself.
    pub(crate) fn ends(&self) -> bool {
        self.has_end || self.limits.has_any()
    }

    /// Whether a write that finds no room is its end.
    pub(crate) fn ends_when_full(&self) -> bool {
        self.limits.ends_when_full()
    }

    /// How many operations the stream has at most.
    pub(crate) fn operations_limit(&self) -> u64 {
        self.limits.operations()
    }

    /// Whether operation number `index` lies beyond the count or the bytes of the stream.
    pub(crate) fn is_spent(&self, index: u64) -> bool {
        self.limits.are_spent(index)
    }

    /// Operation number `index`, the one given where the arrival asks for one; `None` when the stream is at its end.
    #[inline]
    pub(crate) fn next(&self, index: u64, given: Option<Operation>) -> Option<Drawn> {
        if index >= self.limits.operations() {
            return None;
        }
        match &self.form {
            Form::Plain(plain) => Some(plain.next(index, given)),
            Form::Laws(laws) => laws.next(&self.limits, index, given),
            Form::Steps(laws, stepping) => laws.step(stepping, &self.limits, index, given),
            Form::Record(record) => {
                let recorded = record.get(usize::try_from(index).ok()?)?;
                Some(Drawn {
                    operation: recorded.operation,
                    place: u32::from(recorded.place),
                    offset: recorded.offset,
                    length: recorded.length,
                })
            }
            Form::Walk(walk) => {
                let (place, offset, length) = walk.next()?;
                Some(Drawn {
                    operation: Operation::Read,
                    place,
                    offset,
                    length,
                })
            }
        }
    }

    /// The same where no arrival asks.
    #[cfg(test)]
    pub(crate) fn draw(&self, index: u64) -> Option<Drawn> {
        self.next(index, None)
    }
}

#[cfg(test)]
mod law_tests;
#[cfg(test)]
mod step_tests;
#[cfg(test)]
mod tests;
