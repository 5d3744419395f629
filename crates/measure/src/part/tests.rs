//! Parts of a run merge in any order, lose nothing, and survive being written down.
use super::*;
use crate::ContentSample;
use crate::event::{FigureKey, Handover, ServiceParts, ThreadUsage};
use crate::latencies::LatencyFigures;
use plan::{StreamId, TargetId};
use proptest::prelude::*;

/// Numbers of which few repeat, and some do.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % limit
    }

    fn maybe<T>(&mut self, of: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (self.below(2) == 0).then(|| of(self))
    }

    fn several<T>(&mut self, mut of: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let count = self.below(4);
        (0..count).map(|_| of(self)).collect()
    }

    fn latencies(&mut self) -> LatencyFigures {
        let values = self.several(|draw| draw.below(1 << 30));
        LatencyFigures::of(&values)
    }

    fn operation(&mut self) -> Operation {
        [Operation::Read, Operation::Write, Operation::Sync][self.below(3) as usize]
    }

    fn figure(&mut self) -> Figure {
        let key = FigureKey {
            stream: StreamId(self.below(2) as u32),
            target: TargetId(self.below(2) as u32),
            operation: self.operation(),
        };
        Figure {
            operations: self.below(1000),
            bytes: self.below(1 << 20),
            errors: self.below(3),
            short_transfers: self.below(3),
            service: self.latencies(),
            response: self.latencies(),
            ..Figure::empty(key)
        }
    }

    fn handover(&mut self) -> Handover {
        let part = |draw: &mut Self| ServiceParts {
            operation: draw.operation(),
            priority: draw.below(2) as u16,
            submission: draw.latencies(),
            completion: draw.latencies(),
            service: LatencyFigures::default(),
        };
        let mut handover = Handover {
            last_seen_ns: self.below(1 << 40),
            ..Handover::default()
        };
        // Each pair once and in order.
        for part in self.several(part) {
            let one = Handover {
                parts: vec![part],
                ..Handover::default()
            };
            handover.merge(&one);
        }
        let place = |part: &ServiceParts| (part.operation, part.priority);
        handover.parts.sort_by_key(place);
        handover.depths[self.below(7) as usize] = self.below(1000);
        handover
    }

    fn stream(&mut self) -> StreamSample {
        let span = |draw: &mut Self| StreamSpan {
            from_ns: draw.below(1 << 40),
            to_ns: draw.maybe(|draw| draw.below(1 << 40)),
        };
        StreamSample {
            scheduled: self.below(1000),
            submitted: self.below(1000),
            backlog: self.below(1000),
            lateness: self.latencies(),
            free_lateness: self.maybe(Self::latencies),
            unserved: self.latencies(),
            handover: self.maybe(Self::handover),
            span: self.maybe(span),
            depth: self.maybe(|draw| draw.below(64) as u32),
        }
    }

    fn engine(&mut self) -> EngineSample {
        let pool = |draw: &mut Self| PoolSample {
            slots: draw.below(64) as u32,
            busy_ns: draw.below(1 << 40),
            exhausted_ns: draw.below(1 << 40),
        };
        EngineSample {
            streams: self.several(Self::stream),
            pools: self.several(pool),
            workers: WorkerSample {
                workers: self.below(8) as u32,
                cpu_ns: self.below(1 << 40),
                usage: ThreadUsage {
                    context_switches: self.below(1000),
                    ..ThreadUsage::default()
                },
                reap_gap_max_ns: self.below(1 << 30),
                ..WorkerSample::default()
            },
            oldest_in_flight_ns: self.below(1 << 40),
            in_flight: self.below(64) as u32,
            hosts: Vec::new(),
        }
    }

    fn collected(&mut self) -> Collected {
        let mut collected = Collected {
            engine: self.engine(),
            ..Collected::default()
        };
        // Each key once, as the engine tells it.
        for figure in self.several(Self::figure) {
            collected.merge(&Collected {
                figures: vec![figure],
                ..Collected::default()
            });
        }
        collected
    }

    fn outstanding(&mut self) -> Outstanding {
        Outstanding {
            stream: StreamId(self.below(2) as u32),
            target: TargetId(self.below(2) as u32),
            operation: self.operation(),
            offset: self.below(4) * 4096,
            length: 4096,
            age_ns: self.below(3) * 1_000_000,
            returned_after_ns: self.maybe(|draw| draw.below(3)),
        }
    }

    fn ended(&mut self) -> Ended {
        let mut drained = Drained {
            drain_ns: self.below(1 << 40),
            stuck_workers: self.below(3) as u32,
            is_unclosed: self.below(2) == 0,
            ..Drained::default()
        };
        drained.merge(&Drained {
            outstanding: self.several(Self::outstanding),
            late: self.several(Self::outstanding),
            ..Drained::default()
        });
        Ended {
            last: HostInterval {
                collected: self.collected(),
                sample: None,
                ..HostInterval::default()
            },
            drained,
            scheduled: self.below(1000),
            submitted: self.below(1000),
            openings: self.below(1000),
            log_waits: LogWaits {
                count: self.below(1000),
                sum_ns: self.below(1000),
            },
            held_back_by: (self.below(2) == 0).then(|| StreamId(self.below(3) as u32)),
            never_warm: (0..3)
                .filter(|_| self.below(2) == 0)
                .map(StreamId)
                .collect(),
            starts: Vec::new(),
        }
    }

    fn failures(&mut self) -> Failures {
        let failure = |draw: &mut Self| Failure {
            at_ns: draw.below(3),
            stream: draw.below(2) as u32,
            place: draw.below(2) as u32,
            operation: draw.operation(),
            offset: draw.below(4) * 4096,
            length: 4096,
            errno: 5,
            misfit: None,
            worker: None,
            denial: None,
        };
        let mut failures = Failures::default();
        failures.merge(Failures {
            listed: self.several(failure),
            unlisted: self.below(3),
        });
        failures
    }
}

/// What must hold of a merge, of three parts and a part without anything.
fn check<T: Clone + PartialEq + Default>(
    parts: [&T; 3],
    merge: impl Fn(&mut T, &T),
) -> Result<(), TestCaseError> {
    let sum = |order: &[&T]| {
        let mut all = order[0].clone();
        order[1..].iter().for_each(|part| merge(&mut all, part));
        all
    };
    let [a, b, c] = parts;
    prop_assert!(sum(&[a, b]) == sum(&[b, a]), "commutes");
    prop_assert!(sum(&[a, b, c]) == sum(&[a, &sum(&[b, c])]), "associates");
    prop_assert!(&sum(&[a, &T::default()]) == a, "nothing adds nothing");
    Ok(())
}

fn written_and_read<T: Serialize + for<'a> Deserialize<'a>>(part: &T) -> T {
    let text = serde_json::to_string(part).unwrap();
    serde_json::from_str(&text).unwrap()
}

proptest! {
    #[test]
    fn parts_merge_in_any_order(seed: u64) {
        let mut draw = Draw(seed);
        let [a, b, c] = std::array::from_fn(|_| draw.ended());
        check([&a, &b, &c], Ended::merge)?;
        let [a, b, c] = std::array::from_fn(|_| draw.failures());
        check([&a, &b, &c], |mine, theirs| mine.merge(theirs.clone()))?;
    }

    #[test]
    fn a_merge_loses_nothing(seed: u64) {
        let mut draw = Draw(seed);
        let parts: [Collected; 3] = std::array::from_fn(|_| draw.collected());
        let mut all = Collected::default();
        parts.iter().for_each(|part| all.merge(part));
        let figures = parts.iter().flat_map(|part| &part.figures);
        prop_assert_eq!(
            figures.map(|figure| figure.operations).sum::<u64>(),
            all.figures.iter().map(|figure| figure.operations).sum::<u64>()
        );
        let workers = parts.iter().map(|part| part.engine.workers.workers);
        prop_assert_eq!(workers.sum::<u32>(), all.engine.workers.workers);
        let keys = all.figures.iter().map(|figure| figure.key);
        prop_assert!(keys.is_sorted_by(|one, next| one < next));
    }

    #[test]
    fn parts_are_written_and_read(seed: u64) {
        let mut draw = Draw(seed);
        let (ended, failures) = (draw.ended(), draw.failures());
        prop_assert_eq!(&written_and_read(&ended), &ended);
        prop_assert_eq!(&written_and_read(&failures), &failures);
    }
}

#[test]
fn a_stream_on_two_machines_is_measured_while_both_are() {
    let span = |from_ns, to_ns| StreamSample {
        span: Some(StreamSpan { from_ns, to_ns }),
        ..StreamSample::default()
    };
    let mut both = span(3, Some(10));
    both.merge(&span(5, Some(9)));
    let expected = StreamSpan {
        from_ns: 5,
        to_ns: Some(10),
    };
    assert_eq!(both.span, Some(expected));
    both.merge(&span(4, None));
    assert_eq!(both.span.and_then(|span| span.to_ns), None);
}

fn sent(hashes: &[u64], asked_duplicates: Option<f64>) -> DataFigures {
    DataFigures {
        streams: Vec::new(),
        asked_compression: None,
        asked_duplicates,
        block_bytes: 4096,
        blocks: 100.0,
        contents: Some(hashes.len() as f64 * 4.0),
        sampled_contents: hashes.len() as u64,
        sample: ContentSample {
            hashes: hashes.to_vec(),
            classes: 4,
        },
        sampled_bytes: 0,
        compressed_bytes: 0,
    }
}

#[test]
fn duplicates_of_two_machines_are_the_same_contents() {
    let mut both = sent(&[1, 2, 3], Some(2.0));
    both.merge(&sent(&[2, 3, 4], Some(2.0)));
    assert_eq!(
        (both.blocks, both.contents, both.sampled_contents),
        (200.0, Some(16.0), 4)
    );
    let mut apart = sent(&[1, 2, 3], None);
    apart.merge(&sent(&[2, 3, 4], None));
    assert_eq!((apart.contents, apart.sampled_contents), (Some(24.0), 6));
    let mut other = sent(&[5], Some(2.0));
    other.sample.classes = 8;
    both.merge(&other);
    assert_eq!(both.contents, None);
}

#[test]
fn the_spread_of_starts_is_that_of_the_hosts_that_tell() {
    let start = |host, late_ns, bound_ns| Ended {
        starts: vec![crate::HostStart {
            host,
            late_ns,
            bound_ns,
            ..Default::default()
        }],
        ..Ended::default()
    };
    let spread = |hosts: &[Ended]| {
        let mut all = Ended::default();
        hosts.iter().for_each(|host| all.merge(host));
        crate::spread_of_starts_ns(&all.starts)
    };
    let [one, two] = [start(0, Some(20_000), 300), start(1, Some(90_000), 40_000)];
    let silent = start(2, None, 500_000);
    assert_eq!(spread(&[]), None);
    assert_eq!(spread(std::slice::from_ref(&one)), None);
    assert_eq!(spread(&[one.clone(), silent.clone()]), None);
    assert_eq!(spread(&[two, silent, one]), Some((70_000, 40_000)));
}
