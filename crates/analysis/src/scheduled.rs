//! What of a run follows a schedule: jobs without a rate may go on beside those with one, use all of
//! their slots as they are asked to, and complete what no schedule has.
use measure::RunTotals;
use std::borrow::Cow;

/// The streams of a run that follow a schedule; the whole run where all do or none.
pub(crate) fn part(totals: &RunTotals) -> Cow<'_, RunTotals> {
    let scheduled = totals.scheduled_streams();
    match scheduled.len() {
        0 => Cow::Borrowed(totals),
        count if count == totals.started.streams.len() => Cow::Borrowed(totals),
        _ => Cow::Owned(totals.apart(&scheduled)),
    }
}
