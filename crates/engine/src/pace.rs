//! What each stream of a run is asked: rates over time and the law of arrivals. The load of a run
//! and the paces of its streams become one value per stream here, before anything is drawn.
use crate::op::direction_of;
use plan::{
    ArrivalLaw, BoundRun, Direction, Generator, Load, Nanos, Operation, Pacing, Stream,
    mean_of_steps,
};

/// The rates of one stream and the law of its arrivals.
#[derive(Clone, Debug, PartialEq)]
pub struct Pace {
    parts: Vec<Part>,
    pub law: ArrivalLaw,
}

/// Arrivals of one kind.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    /// What each asks for; `None` where that is drawn.
    pub operation: Option<Operation>,
    pub rates: Rates,
    /// The mean of what each moves, where gaps follow that.
    pub mean_bytes: Option<f64>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Rates {
    /// Arrivals per second.
    Constant(f64),
    /// Arrivals per second, each for a span, over and over.
    Steps(Vec<(f64, Nanos)>),
}

impl Pace {
    /// The same rate all the time, in arrivals per second.
    pub fn constant(per_second: f64, law: ArrivalLaw) -> Self {
        Self::of_any(Rates::Constant(per_second), law)
    }

    /// Rates (arrivals per second) that follow each other, over and over.
    ///
    /// # Panics
    /// When no step lasts longer than nothing.
    pub fn steps(steps: Vec<(f64, Nanos)>, law: ArrivalLaw) -> Self {
        assert!(
            steps.iter().any(|(_, span)| span.0 > 0),
            "steps take some time"
        );
        Self::of_any(Rates::Steps(steps), law)
    }

    /// A rate (arrivals per second) for each of these operations.
    pub fn by_operation(
        rates: impl IntoIterator<Item = (Operation, f64)>,
        law: ArrivalLaw,
    ) -> Self {
        let part = |(operation, per_second)| Part {
            operation: Some(operation),
            rates: Rates::Constant(per_second),
            mean_bytes: None,
        };
        Self {
            parts: rates.into_iter().map(part).collect(),
            law,
        }
    }

    /// With gaps that follow what each operation moves: as many bytes per second as so many operations of their mean
    /// would.
    pub(crate) fn in_bytes(mut self, mean_bytes: impl Fn(Operation) -> f64) -> Self {
        for part in &mut self.parts {
            part.mean_bytes = part.operation.map(&mean_bytes);
        }
        self
    }

    /// Whether gaps follow what operations move.
    pub(crate) fn is_in_bytes(&self) -> bool {
        self.parts.iter().any(|part| part.mean_bytes.is_some())
    }

    fn of_any(rates: Rates, law: ArrivalLaw) -> Self {
        let part = Part {
            operation: None,
            rates,
            mean_bytes: None,
        };
        Self {
            parts: vec![part],
            law,
        }
    }

    /// Those with arrivals.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter().filter(|part| part.rates.has_arrivals())
    }

    /// Arrivals per second on average between two times of the run, in nanoseconds since its start.
    pub fn mean_rate(&self, from_ns: u64, to_ns: u64) -> f64 {
        let mean = |part: &Part| match &part.rates {
            Rates::Constant(per_second) => *per_second,
            Rates::Steps(steps) => mean_of_steps(steps, from_ns, to_ns),
        };
        self.parts.iter().map(mean).sum()
    }

    /// What no rate at any time exceeds.
    pub fn fastest(&self) -> f64 {
        let fastest = |part: &Part| match &part.rates {
            Rates::Constant(per_second) => *per_second,
            Rates::Steps(steps) => steps.iter().map(|(rate, _)| *rate).fold(0.0, f64::max),
        };
        self.parts.iter().map(fastest).sum()
    }

    /// Whether anything arrives at all.
    pub(crate) fn has_arrivals(&self) -> bool {
        self.parts().next().is_some()
    }
}

impl Rates {
    fn has_arrivals(&self) -> bool {
        match self {
            Rates::Constant(per_second) => *per_second > 0.0,
            Rates::Steps(steps) => steps.iter().any(|(rate, span)| *rate > 0.0 && span.0 > 0),
        }
    }
}

/// The pace of each stream of a run, where its arrivals follow a schedule. `run_rate` is the rate
/// that was decided for the run as a whole, and `shares_pct` stand in for the shares of its streams.
/// Streams with a pace of their own take theirs out of the rate first, and the others share the
/// rest. A stream for which nothing is left has a pace of zero.
pub fn paces(
    run: &BoundRun,
    run_rate: Option<f64>,
    shares_pct: Option<&[f64]>,
) -> Vec<Option<Pace>> {
    let streams = &run.run.streams;
    let own = own_rates(streams);
    let pace = |(number, stream): (usize, &Stream)| {
        let share_pct = shares_pct.map_or(stream.share_pct, |shares| shares[number]);
        let mine = |rate: f64| (rate - own).max(0.0) * share_pct / 100.0;
        stream_pace(run, stream, run_rate, mine)
    };
    streams.iter().enumerate().map(pace).collect()
}

/// `mine` is what the stream gets of a rate of the run.
fn stream_pace(
    run: &BoundRun,
    stream: &Stream,
    run_rate: Option<f64>,
    mine: impl Fn(f64) -> f64,
) -> Option<Pace> {
    match &stream.pacing {
        Pacing::None => None,
        Pacing::TotalRate { per_second, law } => Some(Pace::constant(*per_second, *law)),
        Pacing::Rate {
            per_second,
            law,
            in_bytes,
        } => {
            let rates = used_directions(stream).filter_map(|(direction, operation)| {
                Some((operation, (*per_second.of(direction))?))
            });
            let rates: Vec<(Operation, f64)> = rates.collect();
            let pace = || Pace::by_operation(rates.iter().copied(), *law);
            let laws = stream.source.laws();
            let laws = laws.filter(|laws| *in_bytes && moves_differ(laws));
            (!rates.is_empty()).then(|| match laws {
                Some(laws) => pace().in_bytes(|operation| laws.mean_of(direction_of(operation))),
                None => pace(),
            })
        }
        Pacing::FromRun => {
            let law = run.run.law;
            match &run.run.load {
                Load::Steps { steps } => {
                    let steps = steps.iter().map(|(rate, span)| (mine(*rate), *span));
                    Some(Pace::steps(steps.collect(), law))
                }
                _ => Some(Pace::constant(mine(run_rate?), law)),
            }
        }
    }
}

/// Whether some operations may move more than others: one that is longer than what places are multiples of may be cut.
fn moves_differ(laws: &Generator) -> bool {
    let units = laws.align.bytes().into_iter();
    units.fold(laws.smallest_transfer(), u64::min) < laws.largest_transfer()
}

/// What streams take out of the rate of their run, as they have rates of their own.
pub fn own_rates(streams: &[Stream]) -> f64 {
    streams.iter().filter_map(own_rate).sum()
}

fn own_rate(stream: &Stream) -> Option<f64> {
    match &stream.pacing {
        Pacing::TotalRate { per_second, .. } => Some(*per_second),
        Pacing::Rate { per_second, .. } => {
            let used = used_directions(stream);
            Some(
                used.filter_map(|(direction, _)| *per_second.of(direction))
                    .sum(),
            )
        }
        Pacing::FromRun | Pacing::None => None,
    }
}

/// The directions that the mix of a stream has.
fn used_directions(stream: &Stream) -> impl Iterator<Item = (Direction, Operation)> {
    let shares = stream.source.laws().map_or([0.0; 3], |laws| {
        let mix = &laws.operations;
        [mix.read_pct, mix.write_pct, mix.trim_pct]
    });
    let directions = [
        (Direction::Read, Operation::Read),
        (Direction::Write, Operation::Write),
        (Direction::Trim, Operation::Trim),
    ];
    let used = directions.into_iter().zip(shares);
    used.filter(|(_, share_pct)| *share_pct > 0.0)
        .map(|(direction, _)| direction)
}

/// What a stream does as fast as it can beside what follows a rate: the direction of its mix that has
/// no rate, where another one has.
pub(crate) fn fills(stream: &Stream) -> Option<Operation> {
    unpaced_beside_paced(stream).first().copied()
}

/// Whether one direction of a mix follows a rate and two others none.
pub(crate) fn leaves_several_unpaced(stream: &Stream) -> bool {
    unpaced_beside_paced(stream).len() > 1
}

fn unpaced_beside_paced(stream: &Stream) -> Vec<Operation> {
    let Pacing::Rate { per_second, .. } = &stream.pacing else {
        return Vec::new();
    };
    let (paced, unpaced): (Vec<_>, Vec<_>) =
        used_directions(stream).partition(|(direction, _)| per_second.of(*direction).is_some());
    let unpaced = unpaced.into_iter().map(|(_, operation)| operation);
    let is_beside = !paced.is_empty();
    unpaced.filter(|_| is_beside).collect()
}
