//! One behaviour for every backend, on every kind of place that can be had here.
use crate::places::{OLD, Place, bind_real, machine, run_on};
use crate::plans::*;
use crate::story::{Story, carry_out, carry_out_watched, simulate};
use conduct::Control;
use engine::sim::Script;
use engine::{BLOCK_MARK, BackendKind};
use measure::{Event, FigureKey, FinishReason};
use plan::*;
use std::collections::BTreeSet;
use std::path::Path;

const REAL: [BackendKind; 4] = [
    BackendKind::Uring,
    BackendKind::Aio,
    BackendKind::Sync,
    BackendKind::Mapped,
];
const ALL: [BackendKind; 6] = [
    BackendKind::Uring,
    BackendKind::Aio,
    BackendKind::Sync,
    BackendKind::Mapped,
    BackendKind::Null,
    BackendKind::Sim,
];
const BYTES: u64 = 2 * MIB;
const EINVAL: i32 = 22;
const EOPNOTSUPP: i32 = 95;

/// From the second to the sixth quarter MiB.
fn middle(generator: &mut Generator) {
    generator.region.low = Bound::Bytes(256 * KIB);
    generator.region.high = Bound::Bytes(1_536 * KIB);
}

const MIDDLE: std::ops::Range<usize> = 256 << 10..1_536 << 10;

/// On each place, or on what the backend has in its stead.
fn everywhere(
    kind: BackendKind,
    bytes: u64,
    slots: &[u32],
    plan: impl Fn(Target) -> Plan,
) -> Vec<Story> {
    let workers = slots.iter().sum::<u32>().min(2);
    match kind {
        BackendKind::Sim => {
            let plan = bind_unreal(plan(simulated(bytes)));
            vec![simulate(&plan, &Script::default(), workers)]
        }
        BackendKind::Null => {
            let nothing = target(Path::new("nothing"), TargetKind::Nothing, bytes);
            vec![run_on(&bind_unreal(plan(nothing)), kind, workers)]
        }
        BackendKind::Names | BackendKind::Space => panic!("it does no I/O on what targets hold"),
        BackendKind::Uring | BackendKind::Aio | BackendKind::Sync | BackendKind::Mapped => {
            let places = Place::all(bytes);
            let on = |place: &Place| run_on(&bind_real(plan(place.target())), kind, workers);
            places.iter().map(on).collect()
        }
    }
}

/// Asserts that exactly the blocks of the middle that `is_written` names are ours and unique.
fn check_content(place: &Place, is_written: impl Fn(usize) -> bool) {
    let content = place.content();
    let mut stamps = BTreeSet::new();
    for (number, block) in content.chunks(BLOCK as usize).enumerate() {
        let at = number * BLOCK as usize;
        if MIDDLE.contains(&at) && is_written(at) {
            assert_eq!(block[..8], BLOCK_MARK, "{} at {at}", place.name);
            assert!(
                stamps.insert(block[8..16].to_vec()),
                "{} at {at}",
                place.name
            );
        } else {
            assert!(block.iter().all(|b| *b == OLD), "{} at {at}", place.name);
        }
    }
}

#[test]
fn a_fill_writes_each_block_of_its_region_once_and_no_other() {
    for kind in REAL {
        for workers in [1, 2, 7] {
            for place in Place::all(BYTES) {
                let streams = vec![stream(0, 0, |generator| {
                    fill(generator);
                    middle(generator);
                })];
                let runs = vec![until_done(20 * MS)];
                let plan = bind_real(plan(vec![place.target()], &[14], streams, runs));
                let story = run_on(&plan, kind, workers);
                let totals = &story.totals[0];
                assert_eq!(totals.bytes(), MIDDLE.len() as u64);
                assert_eq!(totals.operations(), MIDDLE.len() as u64 / BLOCK);
                assert_eq!(totals.errors(), 0);
                check_content(&place, |_| true);
            }
        }
    }
}

#[test]
fn random_writes_beside_reads_stay_in_their_region() {
    for kind in REAL {
        for place in Place::all(BYTES) {
            let mut mixed = stream(0, 0, |generator| {
                middle(generator);
                generator.operations = OperationMix::reads(30.0);
                generator.transfer = PerDirection::all(TransferSizes::Mix(vec![
                    SizeShare {
                        bytes: BLOCK,
                        pct: 60.0,
                    },
                    SizeShare {
                        bytes: 4 * BLOCK,
                        pct: 40.0,
                    },
                ]));
                generator.align = AlignRule::Bytes(BLOCK);
            });
            mixed.stop.operations = Some(400);
            let runs = vec![until_done(20 * MS)];
            let plan = bind_real(plan(vec![place.target()], &[8], vec![mixed], runs));
            let story = run_on(&plan, kind, 2);
            assert_eq!(story.totals[0].operations(), 400);
            assert_eq!(story.totals[0].errors(), 0);
            let content = place.content();
            let block_at = |at: usize| &content[at..at + 8];
            check_content(&place, |at| block_at(at) == BLOCK_MARK);
            let is_ours = |at: &usize| block_at(*at) == BLOCK_MARK;
            let ours = MIDDLE.step_by(BLOCK as usize).filter(is_ours).count() as u64;
            let written: u64 = story.totals[0]
                .figures
                .iter()
                .filter(|figure| figure.key.operation == Operation::Write)
                .map(|figure| figure.bytes)
                .sum();
            // Some 280 writes of 8.8 KiB over 320 blocks.
            assert!(ours > 200 && ours * BLOCK <= written, "{ours} of {written}");
        }
    }
}

#[test]
fn a_last_block_may_be_short() {
    let bytes = 64 * BLOCK + 1_024;
    for kind in REAL {
        let place = Place::buffered(bytes);
        let streams = vec![stream(0, 0, |generator| {
            fill(generator);
            generator.region = Region::whole(1_024, FirstBlock::Used);
        })];
        let runs = vec![until_done(20 * MS)];
        let plan = bind_real(plan(vec![place.target()], &[4], streams, runs));
        let story = run_on(&plan, kind, 2);
        assert_eq!(story.totals[0].bytes(), bytes);
        assert_eq!(std::fs::metadata(&place.path).unwrap().len(), bytes);
        let content = place.content();
        assert_eq!(content[bytes as usize - 1_024..][..8], BLOCK_MARK);
    }
}

#[test]
fn limits_of_operations_and_bytes_are_exact() {
    for kind in ALL {
        let stories = everywhere(kind, BYTES, &[6, 3], |target| {
            let mut counted = stream(0, 0, operations(50.0));
            counted.stop.operations = Some(333);
            let mut measured = stream(1, 0, operations(50.0));
            measured.stop.bytes = Some(77 * BLOCK);
            plan(
                vec![target],
                &[6, 3],
                vec![counted, measured],
                vec![until_done(20 * MS)],
            )
        });
        for story in stories {
            assert_eq!(story.totals[0].operations(), 333 + 77, "{kind}");
            assert_eq!(story.totals[0].bytes(), (333 + 77) * BLOCK);
            assert_eq!(story.finished(0).reason, FinishReason::Complete);
            assert_eq!(story.completed(0), story.sum(0, |stream| stream.submitted));
        }
    }
}

#[test]
fn streams_of_one_pool_take_turns() {
    for kind in ALL {
        let stories = everywhere(kind, BYTES, &[4], |target| {
            let each = |read_pct| {
                let mut stream = stream(0, 0, operations(read_pct));
                stream.stop.operations = Some(200);
                stream
            };
            plan(
                vec![target],
                &[4],
                vec![each(100.0), each(0.0)],
                vec![until_done(20 * MS)],
            )
        });
        for story in stories {
            let counts: Vec<u64> = story.totals[0]
                .figures
                .iter()
                .map(|f| f.operations)
                .collect();
            assert_eq!(counts, [200, 200], "{kind}");
        }
    }
}

#[test]
fn arrivals_are_counted_exactly_and_all_are_served_or_named() {
    for kind in ALL {
        for law in [ArrivalLaw::Deterministic, ArrivalLaw::Exponential] {
            let stories = everywhere(kind, BYTES, &[8], |target| {
                let spec = at_rate(2_000.0, law, 300 * MS, 60 * MS);
                plan(
                    vec![target],
                    &[8],
                    vec![stream(0, 0, operations(70.0))],
                    vec![spec],
                )
            });
            let mut schedule = engine::arrivals::Arrivals::new(
                &engine::Pace::constant(2_000.0, law),
                0.0,
                (42, 0, 0),
            );
            let due = std::iter::repeat_with(|| schedule.next_ns())
                .take_while(|arrival_ns| *arrival_ns < 300 * MS)
                .count() as u64;
            for story in stories {
                assert_eq!(story.finished(0).scheduled, due, "{kind}");
                assert_eq!(story.totals[0].length_ns, 300 * MS);
                assert_eq!(story.totals[0].errors(), 0);
            }
        }
    }
}

#[test]
fn intervals_that_are_read_after_the_end_of_the_run_are_all_there() {
    let nothing = target(Path::new("nothing"), TargetKind::Nothing, BYTES);
    let law = ArrivalLaw::Deterministic;
    let spec = at_rate(2_000.0, law, 300 * MS, 60 * MS);
    let streams = vec![stream(0, 0, operations(70.0))];
    let plan = bind_unreal(plan(vec![nothing], &[8], streams, vec![spec]));
    let mut host = machine(&plan, BackendKind::Null, 2);
    // Workers stop by their clock at 300 ms; who reads their counts sleeps from 60 ms to behind that.
    let watch = |event: &Event| {
        if matches!(event, Event::Interval(interval) if interval.number == 1) {
            std::thread::sleep(std::time::Duration::from_millis(400));
        }
    };
    let story = carry_out_watched(&plan, &mut host, &Control::default(), watch);
    story.check_accounts();
    assert_eq!(story.intervals(0).len(), 5);
    assert_eq!(story.totals[0].length_ns, 300 * MS);
    assert_eq!(story.finished(0).scheduled, 600);
}

#[test]
fn a_rate_that_nothing_can_keep_leaves_exact_accounts() {
    for kind in ALL {
        // More than one worker can draw; the simulated target does 80 000.
        let per_second = 10_000_000.0;
        let window_ns = 100 * MS;
        let stories = everywhere(kind, BYTES, &[2], |target| {
            let spec = at_rate(per_second, ArrivalLaw::Deterministic, window_ns, 50 * MS);
            plan(vec![target], &[2], vec![stream(0, 0, |_| {})], vec![spec])
        });
        for story in stories {
            let finished = story.finished(0);
            assert_eq!(finished.scheduled, 1_000_000, "{kind}");
            assert!(finished.unsent > 0, "{kind}");
            assert_eq!(story.totals[0].streams[0].backlog, finished.unsent);
        }
    }
}

#[test]
fn nothing_is_issued_before_a_start_delay() {
    for kind in ALL {
        let stories = everywhere(kind, BYTES, &[4], |target| {
            let mut late = stream(0, 0, |_| {});
            late.start_delay = Nanos(300 * MS);
            plan(
                vec![target],
                &[4],
                vec![late],
                vec![flat_out(400 * MS, 100 * MS)],
            )
        });
        for story in stories {
            let mut begun = 0;
            for interval in story.intervals(0) {
                let submitted = interval.engine.streams[0].submitted;
                assert!(submitted == 0 || interval.end_ns > 300 * MS, "{kind}");
                begun += submitted;
            }
            assert!(begun > 0, "{kind}");
        }
    }
}

#[test]
fn a_window_ends_on_time_and_leaves_nothing() {
    for kind in ALL {
        let stories = everywhere(kind, BYTES, &[8], |target| {
            plan(
                vec![target],
                &[8],
                vec![stream(0, 0, |_| {})],
                vec![flat_out(200 * MS, 50 * MS)],
            )
        });
        for story in stories {
            assert_eq!(story.totals[0].length_ns, 200 * MS, "{kind}");
            assert!(story.finished(0).outstanding.is_empty());
            assert!(!story.outcome.left_outstanding);
            assert!(story.totals[0].operations() > 0);
        }
    }
}

#[test]
fn a_user_who_stops_gets_the_averages_of_the_real_time() {
    for kind in REAL.into_iter().chain([BackendKind::Null]) {
        let place = Place::buffered(BYTES);
        let streams = vec![stream(0, 0, |_| {})];
        let spec = flat_out(60 * SECOND, 100 * MS);
        let runs = vec![spec.clone(), spec];
        let plan = bind_real(plan(vec![place.target()], &[4], streams, runs));
        let control = Control::default();
        let story = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(250));
                control.hurry();
            });
            carry_out(&plan, &mut machine(&plan, kind, 2), &control)
        });
        story.check_accounts();
        assert_eq!(story.outcome.reason, FinishReason::StoppedByUser);
        assert_eq!(story.totals.len(), 1);
        let totals = &story.totals[0];
        let intervals = story.intervals(0);
        let (last, before) = intervals.split_last().unwrap();
        assert!(last.length_ns() <= 100 * MS);
        assert!(
            before
                .iter()
                .all(|interval| interval.length_ns() == 100 * MS)
        );
        assert_eq!(totals.length_ns, last.end_ns);
        assert_eq!(story.finished(0).last_measured, last.number);
        assert!(totals.operations() > 0);
    }
}

fn trims(place: &Place) -> BoundPlan {
    let streams = vec![stream(0, 0, |generator| {
        fill(generator);
        middle(generator);
        generator.operations = OperationMix {
            read_pct: 0.0,
            write_pct: 0.0,
            trim_pct: 100.0,
        };
    })];
    let runs = vec![until_done(20 * MS)];
    bind_real(plan(vec![place.target()], &[4], streams, runs))
}

#[test]
fn trims_give_back_their_range() {
    for kind in REAL {
        for place in Place::all(BYTES) {
            let story = run_on(&trims(&place), kind, 1);
            let failures = story.failures();
            let is_refused = |errno| errno == EINVAL || errno == EOPNOTSUPP;
            if failures.iter().any(|failure| is_refused(failure.errno)) {
                println!(
                    "skipped: {} takes no trims: {}",
                    place.name, failures[0].message
                );
                continue;
            }
            assert_eq!(story.totals[0].errors(), 0, "{kind}");
            assert_eq!(story.totals[0].bytes(), MIDDLE.len() as u64);
            let content = place.content();
            for (at, byte) in content.iter().enumerate() {
                let expected = if MIDDLE.contains(&at) { 0 } else { OLD };
                assert_eq!(*byte, expected, "{kind}: {} at {at}", place.name);
            }
        }
    }
}

/// A preparation to a megabyte, then a short look.
fn prepared(path: &Path, bytes: u64) -> Plan {
    let mut file = target(path, TargetKind::File, bytes);
    file.preparation = Preparation::MakeOrExtend;
    let extend = stream(0, 0, |generator| {
        fill(generator);
        generator.transfer = PerDirection::all(TransferSizes::Fixed(64 * KIB));
        generator.region = Region::whole(1, FirstBlock::Used);
        generator.order = AddressOrder::Sequential {
            start: SequentialStart::PresentEnd { rounded_to: BLOCK },
            end: SequentialEnd::Stop,
        };
    });
    let mut prepare = until_done(20 * MS);
    prepare.kind = RunKind::Prepare;
    let mut look = flat_out(20 * MS, 20 * MS);
    look.template = TemplateId(1);
    let mut plan = plan(vec![file], &[4], vec![extend], vec![prepare, look]);
    plan.templates.push(RunTemplate {
        pools: vec![pool(2)],
        streams: vec![stream(0, 0, |_| {})],
        coupling: Coupling::Independent,
    });
    plan
}

#[test]
fn a_preparation_makes_and_extends_files_and_never_shortens_them() {
    let bytes = MIB + 1_536;
    // A mapping makes no file longer.
    for kind in REAL.into_iter().filter(|kind| *kind != BackendKind::Mapped) {
        for (old_bytes, kept_bytes) in
            [(None, 0), (Some(100_000), 98_304), (Some(2 * MIB), 2 * MIB)]
        {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("data");
            if let Some(old_bytes) = old_bytes {
                std::fs::write(&path, vec![OLD; old_bytes as usize]).unwrap();
            }
            let story = run_on(&bind_real(prepared(&path, bytes)), kind, 2);
            let content = std::fs::read(&path).unwrap();
            let is_long = kept_bytes > bytes;
            assert_eq!(content.len() as u64, kept_bytes.max(bytes));
            assert!(content[..kept_bytes as usize].iter().all(|b| *b == OLD));
            assert_eq!(story.totals.len(), if is_long { 1 } else { 2 });
            if !is_long {
                assert_eq!(story.totals[0].bytes(), bytes - kept_bytes);
                let made = &content[kept_bytes as usize..];
                assert!(
                    made.chunks(BLOCK as usize)
                        .all(|block| block[..8] == BLOCK_MARK)
                );
            }
            assert_eq!(story.outcome.errors, 0);
        }
    }
}

#[test]
fn the_targets_of_a_stream_with_too_many_are_counted_together() {
    const TARGETS: usize = 5;
    let counted = |most| {
        let mut one = stream(0, 0, operations(50.0));
        one.targets = (0..TARGETS).map(TargetId::at).collect();
        one.stop.operations = Some(4_000);
        let targets = (0..TARGETS).map(|_| simulated(64 * MIB)).collect();
        let plan = plan(targets, &[4], vec![one], vec![until_done(100 * MS)]);
        let mut bound = bind_unreal(plan);
        bound.plan.reporting.counted_apart_max = most;
        simulate(&bound, &Script::default(), 1).totals.remove(0)
    };
    let apart = counted(None);
    assert_eq!(apart.figures.len(), 2 * TARGETS);
    assert_eq!(counted(Some(TARGETS as u32)), apart);
    let together = counted(Some(TARGETS as u32 - 1));
    let keys: Vec<_> = together.figures.iter().map(|one| one.key).collect();
    let key = |operation| FigureKey {
        stream: StreamId(0),
        target: TargetId(0),
        operation,
    };
    assert_eq!(keys, [key(Operation::Read), key(Operation::Write)]);
    for operation in [Operation::Read, Operation::Write] {
        let (one, other) = (Some(operation), Some(operation));
        assert_eq!(together.service(one), apart.service(other));
    }
    assert_eq!(together.operations(), 4_000);
    assert_eq!(together.bytes(), apart.bytes());
}
