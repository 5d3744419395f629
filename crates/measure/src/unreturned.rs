//! What was out at the end of a run, in the totals of that run. An operation that never came back
//! enters service and response with the age that it had reached, which its latency is at least; one
//! that came back in the drain enters with its true times. Neither is a completion. Read [`find`].
use crate::event::{Figure, FigureKey, Outstanding, RunFinished};
use crate::histogram::{Bucket, Histogram, bucket_bounds};
use crate::latencies::LatencyFigures;
use crate::stream_totals::StreamTotals;
use std::collections::BTreeMap;

/// The ages of what never came back are taken at the end of the window and just before the drain: a
/// look and a start of threads apart.
const APART_NS: u64 = 50_000_000;

/// An operation that was out at the end. Where it never came back, both times are lower bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreturned {
    pub key: FigureKey,
    pub service_ns: u64,
    pub response_ns: u64,
}

/// What was out at the end of a run: what never came back, with the latencies it has at least, and
/// what came back late. Of streams with a schedule it stands among the unserved arrivals as well, with
/// its age at the end of the window: there it is marked as in flight, so that it is counted once.
pub(crate) fn find(
    finished: &RunFinished,
    streams: &mut [StreamTotals],
) -> (Vec<Unreturned>, Vec<Unreturned>) {
    let mut left: Vec<Vec<Bucket>> = streams
        .iter()
        .map(|stream| stream.unserved.histogram.buckets().to_vec())
        .collect();
    let (mut unreturned, mut late) = (Vec::new(), Vec::new());
    for one in finished.outstanding.iter().chain(finished.came_late()) {
        let past_end_ns = one.returned_after_ns.unwrap_or(finished.drain_ns);
        let at_end_ns = one.age_ns.saturating_sub(past_end_ns);
        let has_returned = one.returned_after_ns.is_some();
        let place = one.stream.index();
        // Syncs are no arrivals.
        let own = left.get_mut(place).filter(|_| !one.operation.is_sync());
        let taken_ns = own.and_then(|left| take(left, at_end_ns, has_returned));
        if let Some(taken_ns) = taken_ns {
            let stream = &mut streams[place];
            let taken_ns = taken_ns.min(stream.unserved.max_ns);
            stream.in_flight.merge(&LatencyFigures::of(&[taken_ns]));
        }
        let response_ns = taken_ns.map_or(0, |taken_ns| taken_ns.saturating_add(past_end_ns));
        let found = match one.returned_after_ns {
            None => &mut unreturned,
            Some(_) => &mut late,
        };
        found.push(Unreturned {
            key: key(one),
            service_ns: one.age_ns,
            response_ns: response_ns.max(one.age_ns),
        });
    }
    (unreturned, late)
}

/// Adds the latencies to the figures of their streams, targets and operations.
pub(crate) fn add<'a>(
    unreturned: impl IntoIterator<Item = &'a Unreturned>,
    figures: &mut Vec<Figure>,
) {
    let mut by_key: BTreeMap<FigureKey, [Vec<u64>; 2]> = BTreeMap::new();
    for one in unreturned {
        let [service, response] = by_key.entry(one.key).or_default();
        service.push(one.service_ns);
        response.push(one.response_ns);
    }
    for (key, [service, response]) in by_key {
        let place = figures.binary_search_by_key(&key, |figure| figure.key);
        let place = place.unwrap_or_else(|place| {
            figures.insert(place, Figure::empty(key));
            place
        });
        let figure = &mut figures[place];
        figure.service.merge(&LatencyFigures::of(&service));
        figure.response.merge(&LatencyFigures::of(&response));
    }
}

/// Figures without some of their values.
pub(crate) fn without(all: &LatencyFigures, some: &LatencyFigures) -> LatencyFigures {
    if some.histogram.is_empty() {
        return all.clone();
    }
    let taken: BTreeMap<u32, u64> = some.histogram.buckets().iter().map(pair).collect();
    let buckets = all.histogram.buckets().iter().map(|bucket| Bucket {
        index: bucket.index,
        count: bucket.count
            - taken
                .get(&bucket.index)
                .map_or(0, |n| *n.min(&bucket.count)),
    });
    let histogram = Histogram::from_buckets(buckets.filter(|bucket| bucket.count > 0));
    let highest = histogram.buckets().last();
    let highest_ns = highest.map_or(0, |bucket| bucket_bounds(bucket.index as usize).1);
    LatencyFigures {
        sum_ns: all.sum_ns.saturating_sub(some.sum_ns),
        max_ns: all.max_ns.min(highest_ns),
        histogram,
    }
}

fn pair(bucket: &Bucket) -> (u32, u64) {
    (bucket.index, bucket.count)
}

fn key(one: &Outstanding) -> FigureKey {
    FigureKey {
        stream: one.stream,
        target: one.target,
        operation: one.operation,
    }
}

/// Takes the youngest arrival that is as old as the operation: it was due before it was submitted. Where the
/// age at the end is known only roughly, as a drain begins when it begins, the oldest will do.
fn take(left: &mut [Bucket], at_end_ns: u64, is_exact: bool) -> Option<u64> {
    let least_ns = match is_exact {
        true => at_end_ns,
        false => (at_end_ns - at_end_ns / 128).saturating_sub(APART_NS),
    };
    let upper_ns = |bucket: &Bucket| bucket_bounds(bucket.index as usize).1;
    let young = left
        .iter()
        .position(|bucket| bucket.count > 0 && upper_ns(bucket) >= least_ns);
    let oldest = || left.iter().rposition(|bucket| bucket.count > 0);
    let place = young.or_else(|| oldest().filter(|_| !is_exact))?;
    let found = &mut left[place];
    found.count -= 1;
    let (lower_ns, upper_ns) = bucket_bounds(found.index as usize);
    // Where it may have been sent when it was due, it was.
    let is_own = (lower_ns..=upper_ns).contains(&at_end_ns);
    Some(if is_own { at_end_ns } else { upper_ns })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{EngineSample, Interval, IntervalPhase};
    use crate::event::{Event, FinishReason, RunStarted, StreamSample};
    use crate::facts::HostSample;
    use crate::fold::{RunFold, RunTotals};
    use plan::{Load, Operation, RunKind, StreamId, TargetId};

    const MS: u64 = 1_000_000;
    const SECOND: u64 = 1000 * MS;

    fn started(is_open_loop: bool) -> Event {
        Event::RunStarted(RunStarted {
            run: 0,
            runs: 1,
            name: "hang".into(),
            kind: RunKind::Measure,
            unix_ns: 0,
            interval_ns: SECOND,
            warmup_ns: 0,
            window_ns: Some(4 * SECOND),
            unmeasured_intervals: 0,
            load: Load::FlatOut,
            asked_rate: None,
            law: None,
            is_open_loop,
            pools: Vec::new(),
            streams: Vec::new(),
            expected_bytes: None,
            labels: Vec::new(),
            swept: Vec::new(),
        })
    }

    /// 990 reads of a millisecond in four seconds, and these ages of arrivals at the end.
    fn interval(unserved: &[u64]) -> Event {
        let key = FigureKey {
            stream: StreamId(0),
            target: TargetId(0),
            operation: Operation::Read,
        };
        let latency = LatencyFigures::of(&[MS; 990]);
        let figure = Figure {
            operations: 990,
            bytes: 990 * 4096,
            service: latency.clone(),
            response: latency,
            ..Figure::empty(key)
        };
        let sample = StreamSample {
            unserved: LatencyFigures::of(unserved),
            ..StreamSample::default()
        };
        Event::Interval(Interval {
            run: 0,
            number: 1,
            start_ns: 0,
            end_ns: 4 * SECOND,
            unix_ns: 0,
            phase: IntervalPhase::Measured,
            figures: vec![figure],
            engine: EngineSample {
                streams: vec![sample],
                ..EngineSample::default()
            },
            host: HostSample::default(),
            lost: crate::LostParts::default(),
            within: Vec::new(),
        })
    }

    /// Operations of these ages never came back; they were given up 30 seconds after the end.
    fn totals(is_open_loop: bool, unserved: &[u64], left: &[(Operation, u64)]) -> RunTotals {
        totals_with_late(is_open_loop, unserved, left, Vec::new())
    }

    fn totals_with_late(
        is_open_loop: bool,
        unserved: &[u64],
        left: &[(Operation, u64)],
        late: Vec<Outstanding>,
    ) -> RunTotals {
        let outstanding = left.iter().map(|(operation, age_ns)| Outstanding {
            stream: StreamId(0),
            target: TargetId(0),
            operation: *operation,
            offset: 0,
            length: 4096,
            age_ns: *age_ns,
            returned_after_ns: None,
        });
        let finished = Event::RunFinished(RunFinished {
            run: 0,
            unix_ns: 0,
            reason: FinishReason::Complete,
            first_measured: 1,
            last_measured: 1,
            scheduled: 0,
            submitted: 0,
            unsent: 0,
            drain_ns: 30 * SECOND,
            outstanding: outstanding.collect(),
            late,
            starts: Vec::new(),
        });
        let mut fold = RunFold::default();
        fold.fold(&started(is_open_loop));
        fold.fold(&interval(unserved));
        fold.fold(&finished).unwrap()
    }

    /// Within the resolution of a histogram, upwards.
    fn is_about(value_ns: u64, expected_ns: u64) -> bool {
        value_ns >= expected_ns && value_ns - expected_ns <= expected_ns / 200
    }

    #[test]
    fn a_hang_is_in_the_latencies_and_not_in_the_rates() {
        let left = [(Operation::Read, 33 * SECOND); 10];
        let totals = totals(false, &[], &left);
        assert_eq!((totals.operations(), totals.rate()), (990, 247.5));
        for latency in [totals.service(None), totals.response(Some(Operation::Read))] {
            assert_eq!(latency.histogram.count(), 1000);
            assert!(is_about(latency.percentile_ns(99.0), MS));
            assert_eq!(latency.percentile_ns(99.9), 33 * SECOND);
            assert_eq!(latency.max_ns, 33 * SECOND);
        }
        assert_eq!(totals.service_bound_ns(), Some(33 * SECOND));
        assert_eq!(totals.response_bound_ns(), Some(33 * SECOND));
        assert_eq!(totals.completed_service_ns_mean(), MS as f64);
    }

    #[test]
    fn what_was_due_and_never_came_back_is_counted_once() {
        // Two arrivals were in flight at the end, one of them sent a second late; 20 still waited.
        let mut unserved = vec![3 * SECOND, 4 * SECOND];
        unserved.extend([100 * MS; 20]);
        let left = [(Operation::Read, 33 * SECOND); 2];
        let totals = totals(true, &unserved, &left);
        let response = totals.response(None);
        assert_eq!(response.histogram.count(), 990 + 22);
        // Their age when they were given up, from when they were due.
        assert!(
            is_about(response.max_ns, 34 * SECOND),
            "{}",
            response.max_ns
        );
        assert!(is_about(response.percentile_ns(99.9), 33 * SECOND));
        assert_eq!(totals.service(None).max_ns, 33 * SECOND);
        assert_eq!(totals.streams[0].unserved.histogram.count(), 22);
        let bound = totals.response_bound_ns().unwrap();
        assert!(bound <= 100 * MS && bound > 99 * MS, "{bound}");
    }

    /// A read that took five seconds, three of them after the end.
    fn late() -> Outstanding {
        Outstanding {
            stream: StreamId(0),
            target: TargetId(0),
            operation: Operation::Read,
            offset: 0,
            length: 4096,
            age_ns: 5 * SECOND,
            returned_after_ns: Some(3 * SECOND),
        }
    }

    #[test]
    fn what_came_late_is_in_the_latencies_with_its_true_time() {
        let totals = totals_with_late(false, &[], &[], vec![late(); 10]);
        assert_eq!((totals.operations(), totals.rate()), (990, 247.5));
        for latency in [totals.service(None), totals.response(Some(Operation::Read))] {
            assert_eq!(latency.histogram.count(), 1000);
            assert_eq!(latency.percentile_ns(99.9), 5 * SECOND);
        }
        let bounds = (totals.service_bound_ns(), totals.response_bound_ns());
        assert_eq!(bounds, (None, None));
    }

    #[test]
    fn what_was_due_and_came_late_is_counted_once() {
        // One was sent a second after it was due, so that it was three seconds old at the end.
        let left = [(Operation::Read, 33 * SECOND)];
        let unserved = [2 * SECOND, 3 * SECOND, 100 * MS];
        let totals = totals_with_late(true, &unserved, &left, vec![late()]);
        assert_eq!(totals.response(None).histogram.count(), 990 + 3);
        assert_eq!(totals.late.len(), 1);
        assert!(is_about(totals.late[0].response_ns, 5 * SECOND));
        assert!(totals.unreturned[0].response_ns >= 33 * SECOND);
    }

    #[test]
    fn an_age_that_is_known_roughly_is_that_of_an_arrival() {
        // The drain began half a second after the end.
        let unserved = [3 * SECOND, 100 * MS];
        let left = [(Operation::Read, 33 * SECOND + 500 * MS)];
        let totals = totals(true, &unserved, &left);
        assert_eq!(totals.response(None).histogram.count(), 990 + 2);
    }

    #[test]
    fn a_flush_that_hangs_was_no_arrival() {
        let totals = totals(true, &[100 * MS], &[(Operation::Sync, 30 * SECOND)]);
        assert_eq!(totals.response(None).histogram.count(), 990 + 1);
    }

    #[test]
    fn a_flush_that_hangs_has_figures_of_its_own() {
        let totals = totals(false, &[], &[(Operation::Sync, 33 * SECOND)]);
        assert_eq!(totals.service(None).max_ns, MS);
        let own = totals.service(Some(Operation::Sync));
        assert_eq!((own.histogram.count(), own.max_ns), (1, 33 * SECOND));
        assert_eq!(totals.operations(), 990);
    }

    #[test]
    fn without_a_hang_nothing_is_a_bound() {
        let totals = totals(true, &[SECOND], &[]);
        assert_eq!(
            (totals.service_bound_ns(), totals.response_bound_ns()),
            (None, None)
        );
        assert_eq!(totals.response(None).max_ns, SECOND);
        assert_eq!(totals.completed_service_ns_mean(), MS as f64);
    }
}
