//! Shares of all operations: what streams were asked to take, and what they took.
use measure::{RunTotals, StreamInfo};
use plan::Label;

/// The share of the streams that count together, in percent of all operations.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    pub name: String,
    pub asked_pct: f64,
    pub observed_pct: f64,
}

/// What each stream was asked to take, in percent: by its rate, and by its share of what those with
/// a rate leave where some have none. `completed` operations were done in `seconds`.
pub fn asked_shares(streams: &[(Option<f64>, f64)], seconds: f64, completed: f64) -> Vec<f64> {
    let rates: Option<f64> = streams.iter().map(|(rate, _)| *rate).sum();
    let paced: f64 = streams.iter().filter_map(|(rate, _)| *rate).sum();
    let (all, rest) = match rates {
        Some(rate) => (rate * seconds, 0.0),
        None => (completed, (completed - paced * seconds).max(0.0)),
    };
    let asked = |(rate, share_pct): &(Option<f64>, f64)| match (rate, all > 0.0) {
        (_, false) => *share_pct,
        (Some(rate), true) => rate * seconds * 100.0 / all,
        (None, true) => share_pct * rest / all,
    };
    streams.iter().map(asked).collect()
}

/// The shares of a run, of streams that have the same value of a label; of a stream without it by
/// itself. In the order of the streams.
pub fn shares(totals: &RunTotals, label: &str) -> Vec<Share> {
    let streams = &totals.started.streams;
    let pairs: Vec<(Option<f64>, f64)> = streams
        .iter()
        .map(|stream| (stream.asked_rate, stream.share_pct))
        .collect();
    let completed = totals.operations() as f64;
    let asked = asked_shares(&pairs, totals.length_ns as f64 / 1e9, completed);
    let name = |stream: &StreamInfo| {
        let found = Label::find(&stream.labels, label);
        found.unwrap_or(&stream.name).to_owned()
    };
    let mut found: Vec<Share> = Vec::new();
    for (number, stream) in streams.iter().enumerate() {
        let mine = totals.figures.iter();
        let mine = mine.filter(|figure| figure.key.stream.index() == number);
        let count: u64 = mine.map(|figure| figure.operations).sum();
        let observed_pct = count as f64 * 100.0 / completed.max(1.0);
        let name = name(stream);
        match found.iter_mut().find(|share| share.name == name) {
            Some(share) => {
                share.asked_pct += asked[number];
                share.observed_pct += observed_pct;
            }
            None => found.push(Share {
                name,
                asked_pct: asked[number],
                observed_pct,
            }),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_streams_with_a_rate_leave_is_split_by_shares() {
        let asked = |streams: &[(Option<f64>, f64)]| asked_shares(streams, 10.0, 1000.0);
        assert_eq!(asked(&[(Some(75.0), 0.0), (Some(25.0), 0.0)]), [75.0, 25.0]);
        assert_eq!(asked(&[(None, 80.0), (None, 20.0)]), [80.0, 20.0]);
        // A rate of 40 makes 400 of the 1000; the others share 600.
        let mixed = asked(&[(Some(40.0), 0.0), (None, 75.0), (None, 25.0)]);
        assert_eq!(mixed, [40.0, 45.0, 15.0]);
        assert_eq!(asked_shares(&[(None, 60.0)], 10.0, 0.0), [60.0]);
        // Where rates alone take more than was completed, nothing is left.
        let beyond = asked(&[(Some(120.0), 0.0), (None, 100.0)]);
        assert_eq!(beyond, [120.0, 0.0]);
    }

    #[test]
    fn streams_of_one_name_share_together() {
        let mut totals = crate::testing::closed(0, &[1_000; 60]);
        let mut other = totals.started.streams[0].clone();
        totals.started.streams[0].share_pct = 50.0;
        other.share_pct = 20.0;
        totals.started.streams.push(other.clone());
        other.name = "other".into();
        other.share_pct = 30.0;
        totals.started.streams.push(other);
        for (stream, count) in [(1, 15), (2, 25)] {
            let read = plan::Operation::Read;
            let values = vec![1_000; count];
            let figure = crate::testing::figure(stream, read, &values, &values);
            totals.figures.push(figure);
        }
        let share = |name: &str, asked_pct: f64, observed_pct: f64| Share {
            name: name.into(),
            asked_pct,
            observed_pct,
        };
        let expected = [share("stream", 70.0, 75.0), share("other", 30.0, 25.0)];
        assert_eq!(shares(&totals, "label"), expected);
    }
}
