//! Some streams of a run by themselves. What is copied is theirs alone, so that taking each job of a run of thousands
//! apart costs as much as the run, and not as much for each job. Begin with [`RunTotals::apart`].
use crate::event::{DataFigures, Figure, FigureKey, Outstanding, RunFinished, RunStarted};
use crate::fold::RunTotals;
use crate::unreturned::Unreturned;
use plan::StreamId;

/// Streams of a run in ascending order; among themselves they are numbered anew.
struct Own<'a> {
    streams: &'a [StreamId],
    /// The pools that they use, in ascending order.
    pools: Vec<usize>,
}

impl RunTotals {
    /// The same run with some of its streams alone, given in ascending order, over the same time. They and their
    /// pools take the first places.
    pub fn apart(&self, streams: &[StreamId]) -> RunTotals {
        let own = &Own::of(streams, &self.started);
        let samples = |id: &StreamId| self.streams.get(id.index()).cloned();
        RunTotals {
            started: RunStarted {
                is_open_loop: self.follow_schedule(streams),
                ..own.started(&self.started)
            },
            finished: self.finished.as_ref().map(|one| own.finished(one)),
            length_ns: self.length_ns,
            intervals: self.intervals,
            is_of_warmup: self.is_of_warmup,
            figures: own.figures(&self.figures),
            streams: streams.iter().map_while(samples).collect(),
            pools: own.of_pools(&self.pools),
            workers: self.workers,
            oldest_in_flight_ns: self.oldest_in_flight_ns,
            host: self.host.clone(),
            hosts: self.hosts.clone(),
            lost: self.lost,
            data: own.data(&self.data),
            sampled: self.sampled.clone(),
            pauses: self.pauses.clone(),
            unreturned: own.unreturned(&self.unreturned),
            late: own.unreturned(&self.late),
        }
    }
}

impl<'a> Own<'a> {
    fn of(streams: &'a [StreamId], started: &RunStarted) -> Self {
        debug_assert!(streams.is_sorted(), "in ascending order: {streams:?}");
        let infos = streams.iter().map(|id| &started.streams[id.index()]);
        let mut pools: Vec<usize> = infos.map(|info| info.pool as usize).collect();
        pools.sort_unstable();
        pools.dedup();
        Self { streams, pools }
    }

    fn stream(&self, id: StreamId) -> Option<StreamId> {
        self.streams.binary_search(&id).ok().map(StreamId::at)
    }

    fn key(&self, key: FigureKey) -> Option<FigureKey> {
        let stream = self.stream(key.stream)?;
        Some(FigureKey { stream, ..key })
    }

    fn of_pools<T: Clone>(&self, all: &[T]) -> Vec<T> {
        let of = |place: &usize| all.get(*place).cloned();
        self.pools.iter().map_while(of).collect()
    }

    /// Of the figures of all, which are in the order of their keys.
    fn figures(&self, all: &[Figure]) -> Vec<Figure> {
        let of = |id: StreamId| {
            let from = all.partition_point(|one| one.key.stream < id);
            let own = all[from..]
                .iter()
                .take_while(move |one| one.key.stream == id);
            own.filter_map(move |one| {
                let key = self.key(one.key)?;
                Some(Figure { key, ..one.clone() })
            })
        };
        self.streams.iter().copied().flat_map(of).collect()
    }

    fn unreturned(&self, all: &[Unreturned]) -> Vec<Unreturned> {
        let of = |one: &Unreturned| {
            let key = self.key(one.key)?;
            Some(Unreturned { key, ..*one })
        };
        all.iter().filter_map(of).collect()
    }

    fn outstanding(&self, all: &[Outstanding]) -> Vec<Outstanding> {
        let of = |one: &Outstanding| {
            let stream = self.stream(one.stream)?;
            Some(Outstanding {
                stream,
                ..one.clone()
            })
        };
        all.iter().filter_map(of).collect()
    }

    /// What streams of others have written as well belongs to none.
    fn data(&self, all: &[DataFigures]) -> Vec<DataFigures> {
        let of = |one: &DataFigures| {
            let streams: Option<Vec<StreamId>> =
                one.streams.iter().map(|id| self.stream(*id)).collect();
            Some(DataFigures {
                streams: streams?,
                ..one.clone()
            })
        };
        all.iter().filter_map(of).collect()
    }

    fn finished(&self, whole: &RunFinished) -> RunFinished {
        RunFinished {
            outstanding: self.outstanding(&whole.outstanding),
            late: self.outstanding(&whole.late),
            reason: whole.reason.clone(),
            starts: whole.starts.clone(),
            ..*whole
        }
    }

    fn started(&self, whole: &RunStarted) -> RunStarted {
        let mut streams: Vec<_> = self
            .streams
            .iter()
            .map(|id| whole.streams[id.index()].clone())
            .collect();
        for stream in &mut streams {
            let place = self.pools.binary_search(&(stream.pool as usize));
            stream.pool = place.expect("the pools are those of these streams") as u32;
        }
        RunStarted {
            asked_rate: streams.iter().map(|one| one.asked_rate).sum(),
            pools: self.of_pools(&whole.pools),
            streams,
            name: whole.name.clone(),
            load: whole.load.clone(),
            labels: whole.labels.clone(),
            swept: whole.swept.clone(),
            ..*whole
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::event::{
        EngineSample, FinishReason, Interval, IntervalPhase, PoolInfo, PoolSample, StreamInfo,
        StreamSample,
    };
    use crate::facts::HostSample;
    use crate::fold::RunFold;
    use crate::latencies::LatencyFigures;
    use plan::{Load, Operation, RunKind, TargetId};

    const STREAMS: u32 = 5;

    /// Pools in the reverse order of the streams, one of them of two streams.
    fn pool(stream: u32) -> u32 {
        [3, 2, 2, 1, 0][stream as usize]
    }

    pub(crate) fn started() -> RunStarted {
        let stream = |number: u32| StreamInfo {
            name: format!("stream{number}"),
            targets: vec![TargetId(number)],
            pool: pool(number),
            asked_rate: (number != 4).then_some(f64::from(number)),
            share_pct: 20.0,
            labels: Vec::new(),
            law: None,
            host: 0,
            cache_mode: None,
        };
        let pool = |number: u32| PoolInfo {
            name: format!("pool{number}"),
            slots: 10 + number,
        };
        RunStarted {
            run: 0,
            runs: 1,
            name: "run".to_owned(),
            kind: RunKind::Measure,
            unix_ns: 0,
            interval_ns: 1,
            warmup_ns: 0,
            window_ns: None,
            unmeasured_intervals: 0,
            load: Load::PerStream,
            asked_rate: Some(10.0),
            law: None,
            is_open_loop: true,
            pools: (0..4).map(pool).collect(),
            streams: (0..STREAMS).map(stream).collect(),
            expected_bytes: None,
            labels: Vec::new(),
            swept: Vec::new(),
        }
    }

    fn figure(stream: u32, operation: Operation) -> Figure {
        let latency = LatencyFigures::of(&[1_000 * u64::from(stream + 1)]);
        Figure {
            key: FigureKey {
                stream: StreamId(stream),
                target: TargetId(stream),
                operation,
            },
            operations: 1,
            bytes: 4096,
            errors: 0,
            short_transfers: 0,
            service: latency.clone(),
            response: latency,
        }
    }

    fn interval() -> Interval {
        let stream = |number: u32| StreamSample {
            scheduled: u64::from(number),
            ..StreamSample::default()
        };
        let pool = |number: u32| PoolSample {
            slots: 10 + number,
            busy_ns: u64::from(number),
            exhausted_ns: 0,
        };
        let both = |number| [Operation::Read, Operation::Write].map(|one| figure(number, one));
        Interval {
            run: 0,
            number: 1,
            start_ns: 0,
            end_ns: 1,
            unix_ns: 0,
            phase: IntervalPhase::Measured,
            figures: (0..STREAMS).flat_map(both).collect(),
            engine: EngineSample {
                streams: (0..STREAMS).map(stream).collect(),
                pools: (0..4).map(pool).collect(),
                ..EngineSample::default()
            },
            host: HostSample::default(),
            lost: crate::LostParts::default(),
            within: Vec::new(),
        }
    }

    fn totals() -> RunTotals {
        let outstanding = |stream: u32| Outstanding {
            stream: StreamId(stream),
            target: TargetId(stream),
            operation: Operation::Read,
            offset: 0,
            length: 4096,
            age_ns: 1_000_000 + u64::from(stream),
            returned_after_ns: None,
        };
        let mut fold = RunFold::of(&started());
        fold.add(&interval());
        let finished = RunFinished {
            run: 0,
            unix_ns: 0,
            reason: FinishReason::Complete,
            first_measured: 1,
            last_measured: 1,
            scheduled: 0,
            submitted: 0,
            unsent: 0,
            drain_ns: 0,
            outstanding: (0..STREAMS).map(outstanding).collect(),
            late: Vec::new(),
            starts: Vec::new(),
        };
        let mut totals = fold.totals(Some(finished)).unwrap();
        let data = |streams: &[u32]| DataFigures {
            streams: streams.iter().map(|id| StreamId(*id)).collect(),
            asked_compression: None,
            asked_duplicates: None,
            block_bytes: 4096,
            blocks: 1.0,
            contents: None,
            sampled_contents: 0,
            sample: Default::default(),
            sampled_bytes: 0,
            compressed_bytes: 0,
        };
        totals.data = vec![data(&[3, 1]), data(&[0, 1])];
        totals
    }

    /// As many jobs as streams would otherwise take the square of what a run takes.
    #[test]
    fn a_part_holds_its_own_and_nothing_of_others() {
        let part = totals().apart(&[StreamId(1), StreamId(3)]);
        let names = |infos: &[StreamInfo]| infos.iter().map(|one| one.name.clone()).collect();
        let streams: Vec<String> = names(&part.started.streams);
        assert_eq!(streams, ["stream1", "stream3"]);
        let pools: Vec<&str> = part.started.pools.iter().map(|one| &one.name[..]).collect();
        assert_eq!(pools, ["pool1", "pool2"]);
        let used: Vec<u32> = part.started.streams.iter().map(|one| one.pool).collect();
        assert_eq!(used, [1, 0]);
        let busy: Vec<u64> = part.pools.iter().map(|pool| pool.busy_ns).collect();
        assert_eq!((busy, part.slots()), (vec![1, 2], 11 + 12));
        let scheduled: Vec<u64> = part.streams.iter().map(|one| one.scheduled).collect();
        assert_eq!(scheduled, [1, 3]);
        assert_eq!(part.started.asked_rate, Some(4.0));
        let keys = part.figures.iter();
        let keys: Vec<(u32, u32)> = keys
            .map(|one| (one.key.stream.0, one.key.target.0))
            .collect();
        assert_eq!(keys, [(0, 1), (0, 1), (1, 3), (1, 3)]);
        let finished = part.finished.as_ref().unwrap();
        let out = finished.outstanding.iter().map(|one| one.stream.0);
        assert!(out.eq([0, 1]) && part.unreturned.len() == 2);
        assert_eq!(part.data.len(), 1);
        assert_eq!(part.data[0].streams, [StreamId(1), StreamId(0)]);
    }

    #[test]
    fn a_part_is_open_where_one_of_its_streams_has_arrivals() {
        let mut totals = totals();
        totals.streams[4].scheduled = 0;
        let is_open = |totals: &RunTotals, id| totals.apart(&[StreamId(id)]).started.is_open_loop;
        assert!(is_open(&totals, 3) && !is_open(&totals, 4));
        assert_eq!(totals.scheduled_streams().len(), 4);
        assert_eq!(totals.apart(&[StreamId(4)]).started.asked_rate, None);
        // Where nothing tells, all are.
        for (stream, info) in totals.streams.iter_mut().zip(&mut totals.started.streams) {
            (stream.scheduled, info.asked_rate) = (0, None);
        }
        assert!(is_open(&totals, 4));
        assert_eq!(totals.scheduled_streams().len(), 5);
        assert!(!totals.apart(&[]).started.is_open_loop);
    }

    #[test]
    fn all_streams_apart_are_the_run() {
        let totals = totals();
        let all: Vec<StreamId> = (0..STREAMS).map(StreamId).collect();
        let mut whole = totals.apart(&all);
        // The rate of the whole was asked, and is no sum.
        whole.started.asked_rate = totals.started.asked_rate;
        assert_eq!(whole, totals);
    }
}
