//! What of a run follows a schedule: jobs without a rate may go on beside those with one, use all of
//! their slots as they are asked to, and complete what no schedule has.
use measure::RunTotals;
use std::borrow::Cow;

/// The streams of a run that follow a schedule; the whole run where all do or none.
pub(crate) fn part(totals: &RunTotals) -> Cow<'_, RunTotals> {
    let streams = (0..totals.started.streams.len()).map(plan::StreamId::at);
    let count = streams
        .clone()
        .filter(|id| totals.follows_schedule(*id))
        .count();
    match count {
        0 => Cow::Borrowed(totals),
        count if count == streams.len() => Cow::Borrowed(totals),
        _ => Cow::Owned(totals.of_streams(|id| totals.follows_schedule(id))),
    }
}
