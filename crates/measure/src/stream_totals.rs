//! What a run tells of the arrivals of one stream.
use crate::latencies::LatencyFigures;

/// Arrivals of a stream over the measured intervals.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamTotals {
    pub scheduled: u64,
    pub submitted: u64,
    /// At the end of the last interval.
    pub backlog: u64,
    pub lateness: LatencyFigures,
    /// Of arrivals that found a free slot; empty where nobody told.
    pub free_lateness: LatencyFigures,
    pub unserved: LatencyFigures,
    /// Of those, the operations that never came back or came late, whose latencies are in the figures.
    pub in_flight: LatencyFigures,
}
