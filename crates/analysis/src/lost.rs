//! What intervals lack that are kept otherwise, in words: what a damaged result file has lost, and hosts that were lost.
//! Knows no file.
use measure::{LostTime, LostTotals};
use plan::counted;

/// Each kind of figure that is not of all intervals of a run, and of how many it is lost.
pub(crate) fn texts(lost: &LostTotals, intervals: u32) -> Vec<String> {
    let text = |(what, lost): (&str, LostTime)| match lost.intervals {
        0 => None,
        all if all == intervals => Some(format!("{what} lost")),
        part => {
            let all = counted(u64::from(intervals), "interval");
            Some(format!("{what} lost in {part} of {all}"))
        }
    };
    [
        ("a host", lost.hosts),
        ("arrivals and lateness", lost.arrivals),
        ("busy slots", lost.slots),
        ("CPU", lost.cpu),
        ("devices", lost.devices),
        ("submission", lost.submission),
    ]
    .into_iter()
    .filter_map(text)
    .collect()
}
