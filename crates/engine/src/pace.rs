//! What each stream of a run is asked: rates over time and the law of arrivals. The load of a run
//! and the paces of its streams become one value per stream here, before anything is drawn.
use plan::{ArrivalLaw, BoundRun, Load, Nanos, Pacing, Stream, mean_of_steps};

/// The rates of one stream and the law of its arrivals.
#[derive(Clone, Debug, PartialEq)]
pub struct Pace {
    /// Arrivals per second, each for a span, over and over; one alone has no span.
    rates: Rates,
    pub law: ArrivalLaw,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Rates {
    Constant(f64),
    Steps(Vec<(f64, Nanos)>),
}

impl Pace {
    /// The same rate all the time, in arrivals per second.
    pub fn constant(per_second: f64, law: ArrivalLaw) -> Self {
        Self {
            rates: Rates::Constant(per_second),
            law,
        }
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
        let rates = Rates::Steps(steps);
        Self { rates, law }
    }

    pub(crate) fn rates(&self) -> &Rates {
        &self.rates
    }

    /// Arrivals per second on average between two times of the run, in nanoseconds since its start.
    pub fn mean_rate(&self, from_ns: u64, to_ns: u64) -> f64 {
        match &self.rates {
            Rates::Constant(per_second) => *per_second,
            Rates::Steps(steps) => mean_of_steps(steps, from_ns, to_ns),
        }
    }

    /// The highest rate at any time.
    pub fn fastest(&self) -> f64 {
        match &self.rates {
            Rates::Constant(per_second) => *per_second,
            Rates::Steps(steps) => steps.iter().map(|(rate, _)| *rate).fold(0.0, f64::max),
        }
    }

    /// Whether anything arrives at all.
    pub(crate) fn has_arrivals(&self) -> bool {
        match &self.rates {
            Rates::Constant(per_second) => *per_second > 0.0,
            Rates::Steps(steps) => steps.iter().any(|(rate, span)| *rate > 0.0 && span.0 > 0),
        }
    }
}

/// The pace of a stream of a run, if arrivals follow a schedule. `run_rate` is the rate that was
/// decided for the run as a whole; streams with a pace of their own take theirs out of it first,
/// and the others share the rest. A stream for which nothing is left has a pace of zero.
pub fn stream_pace(run: &BoundRun, stream: &Stream, run_rate: Option<f64>) -> Option<Pace> {
    match &stream.pacing {
        Pacing::None => None,
        Pacing::TotalRate { per_second, law } => Some(Pace::constant(*per_second, *law)),
        Pacing::Rate { per_second, law } => {
            let rates = [per_second.read, per_second.write, per_second.trim];
            let sum: f64 = rates.into_iter().flatten().sum();
            (sum > 0.0).then(|| Pace::constant(sum, *law))
        }
        Pacing::FromRun => {
            let law = run.run.law;
            let own: f64 = run.run.streams.iter().filter_map(own_rate).sum();
            let mine = |rate: f64| (rate - own).max(0.0) * stream.share_pct / 100.0;
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

/// What a stream takes out of the rate of its run.
fn own_rate(stream: &Stream) -> Option<f64> {
    match &stream.pacing {
        Pacing::TotalRate { per_second, .. } => Some(*per_second),
        Pacing::Rate { per_second, .. } => {
            let rates = [per_second.read, per_second.write, per_second.trim];
            Some(rates.into_iter().flatten().sum())
        }
        Pacing::FromRun | Pacing::None => None,
    }
}
