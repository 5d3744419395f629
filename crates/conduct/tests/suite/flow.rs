//! What streams do beside drawing: syncs behind writes and at the end.
use crate::places::{Place, bind_real, run_on};
use crate::plans::*;
use crate::story::{Story, simulate};
use engine::BackendKind;
use engine::sim::Script;
use measure::FinishReason;
use plan::*;
use std::process::Command;

fn figure(story: &Story, operation: Operation) -> u64 {
    let figures = story.totals[0].figures.iter();
    let mine = figures.filter(|figure| figure.key.operation == operation);
    mine.map(|figure| figure.operations).sum()
}

/// Sequential writes over one target, `count` of them.
fn writes(count: u64, syncs: Syncs) -> Stream {
    let mut one = stream(0, 0, |generator| {
        generator.operations = OperationMix::reads(0.0);
        generator.order = sequential(SequentialEnd::Wrap);
    });
    one.stop.operations = Some(count);
    one.flow.syncs = syncs;
    one
}

fn every(full: u64) -> Syncs {
    Syncs {
        full_every: Some(full),
        ..Syncs::default()
    }
}

fn simulated_writes(one: Stream, slots: u32) -> BoundPlan {
    let runs = vec![until_done(20 * MS)];
    bind_unreal(plan(vec![simulated(MIB)], &[slots], vec![one], runs))
}

#[test]
fn a_sync_follows_every_so_many_writes_but_the_last() {
    for (slots, workers) in [(1, 1), (4, 1), (7, 3)] {
        for (every_n, syncs) in [(8, 12), (10, 9), (1, 99), (1_000, 0)] {
            let plan = simulated_writes(writes(100, every(every_n)), slots);
            let story = simulate(&plan, &Script::default(), workers);
            assert_eq!(figure(&story, Operation::Write), 100);
            assert_eq!(figure(&story, Operation::Sync), syncs, "every {every_n}");
            assert_eq!(story.totals[0].operations(), 100, "syncs are apart");
            assert_eq!(story.finished(0).reason, FinishReason::Complete);
        }
    }
}

#[test]
fn of_syncs_that_are_due_together_one_is_made() {
    let syncs = Syncs {
        full_every: Some(8),
        data_every: Some(4),
        range_every: Some(2),
        ..Syncs::default()
    };
    let plan = simulated_writes(writes(81, syncs), 2);
    let story = simulate(&plan, &Script::default(), 1);
    let counts = [Operation::Sync, Operation::DataSync, Operation::RangeSync];
    assert_eq!(counts.map(|kind| figure(&story, kind)), [10, 10, 20]);
}

#[test]
fn a_sync_takes_its_time_in_a_slot() {
    // One slot, 0.1 ms each: 40 writes with nine syncs between them take 4.9 ms.
    let plan = simulated_writes(writes(40, every(4)), 1);
    let story = simulate(&plan, &Script::default(), 1);
    let sync = story.totals[0].service(Some(Operation::Sync));
    assert_eq!((sync.histogram.count(), sync.max_ns), (9, 100_000));
    let busy: u64 = story.totals[0]
        .figures
        .iter()
        .map(|f| f.service.sum_ns)
        .sum();
    assert_eq!(busy, 4_900_000);
}

#[test]
fn the_sync_at_the_end_waits_for_all_writes_of_each_target() {
    let mut one = writes(50, Syncs::default());
    one.flow.syncs.at_end = true;
    one.targets = vec![TargetId(0), TargetId(1)];
    let targets = vec![simulated(MIB), simulated(MIB)];
    for workers in [1, 3] {
        let runs = vec![until_done(20 * MS)];
        let plan = bind_unreal(plan(targets.clone(), &[8], vec![one.clone()], runs));
        let story = simulate(&plan, &Script::default(), workers);
        assert_eq!(figure(&story, Operation::Write), 50);
        assert_eq!(figure(&story, Operation::Sync), 2);
        let reads = story.finished(0).reason.clone();
        assert_eq!(reads, FinishReason::Complete);
    }
}

#[test]
fn syncs_are_no_arrivals() {
    let mut one = writes(10_000, every(5));
    one.pacing = Pacing::TotalRate {
        per_second: 1_000.0,
        law: ArrivalLaw::Deterministic,
    };
    let run = run(Load::PerStream, ArrivalLaw::Deterministic, SECOND, 100 * MS);
    let plan = bind_unreal(plan(vec![simulated(MIB)], &[2], vec![one], vec![run]));
    let story = simulate(&plan, &Script::default(), 1);
    let finished = story.finished(0);
    assert_eq!((finished.scheduled, finished.submitted), (1_000, 1_000));
    assert_eq!(figure(&story, Operation::Sync), 200);
}

#[test]
fn every_backend_makes_all_kinds_of_syncs() {
    let syncs = Syncs {
        full_every: Some(8),
        data_every: Some(4),
        range_every: Some(2),
        range: RangeSync {
            waits_before: true,
            writes: true,
            waits_after: true,
        },
        at_end: true,
        file_systems_at_end: true,
    };
    for kind in [BackendKind::Uring, BackendKind::Aio, BackendKind::Sync] {
        for place in Place::all(MIB) {
            let runs = vec![until_done(20 * MS)];
            let streams = vec![writes(65, syncs)];
            let plan = bind_real(plan(vec![place.target()], &[1], streams, runs));
            let story = run_on(&plan, kind, 1);
            assert_eq!(story.totals[0].errors(), 0, "{kind} on {}", place.name);
            let counts = [Operation::Sync, Operation::DataSync, Operation::RangeSync];
            // Of a device the file and what holds it are one.
            let at_end = if place.kind == TargetKind::Device {
                1
            } else {
                2
            };
            let expected = [8 + at_end, 8, 16];
            assert_eq!(counts.map(|one| figure(&story, one)), expected, "{kind}");
        }
    }
}

/// Operations of two streams over one target in 100 ms, 0.1 ms each.
fn side_by_side(lock: Option<TargetLock>, reads_pct: f64, workers: u32) -> u64 {
    let one = |pool: usize| {
        let mut one = stream(pool, 0, operations(reads_pct));
        one.flow.lock = lock;
        one
    };
    let runs = vec![flat_out(100 * MS, 10 * MS)];
    let streams = vec![one(0), one(1)];
    let plan = bind_unreal(plan(vec![simulated(MIB)], &[1, 1], streams, runs));
    let story = simulate(&plan, &Script::default(), workers);
    story.totals[0].operations()
}

#[test]
fn a_lock_keeps_operations_of_a_target_apart() {
    for workers in [1, 2] {
        let free = side_by_side(None, 0.0, workers);
        assert!((1_990..=2_000).contains(&free), "{free}");
        let reads = side_by_side(Some(TargetLock::ReadWrite), 100.0, workers);
        assert_eq!(reads, free, "reads go side by side");
        for (lock, reads_pct) in [
            (TargetLock::ReadWrite, 0.0),
            (TargetLock::Exclusive, 0.0),
            (TargetLock::Exclusive, 100.0),
        ] {
            let locked = side_by_side(Some(lock), reads_pct, workers);
            assert!((900..=1_000).contains(&locked), "{lock:?}: {locked}");
        }
    }
}

fn thinking(slots: u32, window_ns: u64, think: Think) -> Story {
    let mut one = stream(0, 0, operations(100.0));
    one.flow.think = Some(think);
    let runs = vec![flat_out(window_ns, 10 * MS)];
    let plan = bind_unreal(plan(vec![simulated(MIB)], &[slots], vec![one], runs));
    let alone = simulate(&plan, &Script::default(), 1);
    let story = simulate(&plan, &Script::default(), 3);
    let counts = [&alone, &story].map(|story| story.totals[0].operations());
    assert_eq!(counts[0], counts[1], "whatever the number of workers");
    alone
}

const AFTER_ONE: Think = Think {
    pause: Nanos(900_000),
    after: Some(1),
    counts: ThinkCount::Completed,
    every: None,
    moves_schedule: false,
};

#[test]
fn a_pause_follows_every_so_many_operations() {
    for counts in [ThinkCount::Issued, ThinkCount::Completed] {
        let think = Think {
            counts,
            ..AFTER_ONE
        };
        // 0.1 ms of work and 0.9 ms of pause.
        let story = thinking(1, 100 * MS, think);
        assert_eq!(story.totals[0].operations(), 100);
    }
    let six = |counts| Think {
        pause: Nanos(800_000),
        after: Some(6),
        counts,
        ..AFTER_ONE
    };
    // Four slots: four, and two more before the pause.
    let story = thinking(4, 100 * MS, six(ThinkCount::Issued));
    assert_eq!(story.totals[0].operations(), 600);
    // With the second four on their way, the sixth comes back with them.
    let story = thinking(4, 100 * MS, six(ThinkCount::Completed));
    assert_eq!(story.totals[0].operations(), 800);
}

#[test]
fn a_pause_follows_a_time_of_work() {
    let think = Think {
        pause: Nanos(5 * MS),
        after: None,
        every: Some(Nanos(10 * MS)),
        ..AFTER_ONE
    };
    let story = thinking(1, 150 * MS, think);
    assert_eq!(story.totals[0].operations(), 1_000);
}

#[test]
fn a_schedule_stands_still_in_a_pause_where_it_is_asked() {
    let at_rate = |moves_schedule| {
        let mut one = stream(0, 0, operations(100.0));
        one.pacing = Pacing::TotalRate {
            per_second: 1_000.0,
            law: ArrivalLaw::Deterministic,
        };
        one.flow.think = Some(Think {
            pause: Nanos(100 * MS),
            after: Some(10),
            moves_schedule,
            ..AFTER_ONE
        });
        let law = ArrivalLaw::Deterministic;
        let run = run(Load::PerStream, law, 1_100 * MS, 100 * MS);
        let plan = bind_unreal(plan(vec![simulated(MIB)], &[1], vec![one], vec![run]));
        simulate(&plan, &Script::default(), 1)
    };
    let still = at_rate(true);
    assert_eq!(still.finished(0).scheduled, 109, "ten in 109 ms");
    assert!(still.totals[0].lateness().max_ns < MS);
    let late = at_rate(false);
    assert_eq!(late.finished(0).scheduled, 1_100);
    assert!(late.totals[0].lateness().max_ns > 500 * MS);
}

/// How many went out together and came back together, by class of [`measure::BATCH_CLASSES`].
fn together(batches: Batches, script: &Script) -> ([u64; 7], [u64; 7]) {
    let mut one = stream(0, 0, operations(100.0));
    one.stop.operations = Some(4_800);
    one.flow.batches = batches;
    let runs = vec![until_done(100 * MS)];
    let mut bound = bind_unreal(plan(vec![simulated(MIB)], &[16], vec![one], runs));
    bound.plan.reporting.handover = true;
    let story = simulate(&bound, script, 1);
    let mut sum = measure::Handover::default();
    for sample in story.intervals(0).iter().flat_map(|i| &i.engine.streams) {
        sum.merge(sample.handover.as_ref().expect("the plan asks for it"));
    }
    (sum.submitted_together, sum.seen_together)
}

#[test]
fn no_call_submits_more_than_is_asked() {
    let wide = Script {
        servers: 16,
        ..Script::default()
    };
    let (submitted, _) = together(Batches::default(), &wide);
    assert_eq!(submitted, [0, 0, 0, 300, 0, 0, 0], "sixteen at a time");
    let eight = Batches {
        submit_most: Some(8),
        ..Batches::default()
    };
    let (submitted, seen) = together(eight, &wide);
    assert_eq!(submitted, [0, 0, 600, 0, 0, 0, 0]);
    assert_eq!(seen, [0, 0, 0, 300, 0, 0, 0]);
}

#[test]
fn a_full_pool_is_drained_before_it_is_filled_again() {
    // One after the other: each that comes back lets one go out.
    let narrow = Script {
        servers: 1,
        ..Script::default()
    };
    let (submitted, _) = together(Batches::default(), &narrow);
    assert_eq!(submitted, [0, 4_784, 0, 1, 0, 0, 0]);
    for (refill_at, expected) in [(0, [0, 0, 0, 300, 0, 0, 0]), (8, [0, 0, 598, 1, 0, 0, 0])] {
        let batches = Batches {
            refill_at: Some(refill_at),
            ..Batches::default()
        };
        assert_eq!(together(batches, &narrow).0, expected, "at {refill_at}");
    }
}

#[test]
fn a_stream_ends_with_an_operation_that_takes_too_long() {
    let stalls = Script {
        stalls: vec![(50 * MS, 60 * MS)],
        ..Script::default()
    };
    let mut one = stream(0, 0, operations(100.0));
    one.flow.latency_most.read = Some(Nanos(5 * MS));
    let plan_of = |one: Stream| {
        let runs = vec![flat_out(200 * MS, 20 * MS)];
        bind_unreal(plan(vec![simulated(MIB)], &[1], vec![one], runs))
    };
    let story = simulate(&plan_of(one.clone()), &stalls, 1);
    assert_eq!(story.totals[0].operations(), 500);
    let failures = story.failures();
    assert_eq!(failures.len(), 1);
    assert_eq!((failures[0].errno, failures[0].length), (110, 4096));
    // Longer than any.
    one.flow.latency_most.read = Some(Nanos(11 * MS));
    let story = simulate(&plan_of(one), &stalls, 1);
    assert_eq!(story.failures().len(), 0);
    assert!(story.totals[0].operations() > 1_800);
}

#[test]
fn a_run_ends_with_its_last_stream_below_its_floor() {
    let at_rate = |per_second: f64, floor: f64, of: Amount| {
        let mut one = stream(0, 0, operations(100.0));
        let law = ArrivalLaw::Deterministic;
        one.pacing = Pacing::TotalRate { per_second, law };
        let per_second = PerDirection {
            read: Some(floor),
            ..PerDirection::default()
        };
        let cycle = Nanos::from_secs(1);
        one.flow.floor = Some(Floor {
            per_second,
            of,
            cycle,
        });
        let run = run(Load::PerStream, law, 10 * SECOND, 500 * MS);
        let plan = bind_unreal(plan(vec![simulated(MIB)], &[4], vec![one], vec![run]));
        simulate(&plan, &Script::default(), 1)
    };
    for (floor, of) in [
        (101.0, Amount::Operations),
        (100.0 * BLOCK as f64 + 1.0, Amount::Bytes),
    ] {
        let story = at_rate(100.0, floor, of);
        let reason = &story.finished(0).reason;
        assert_eq!(*reason, FinishReason::Complete);
        assert_eq!(story.outcome.streams_failed, 1);
        assert_eq!(story.remarks("below-floor"), 1);
        // Two seconds of grace, and one cycle of two intervals.
        assert_eq!(story.totals[0].operations(), 300);
    }
    let story = at_rate(100.0, 100.0, Amount::Operations);
    assert_eq!(story.finished(0).reason, FinishReason::Complete);
}

/// How `ionice` tells the priority of the placed stream, without and with a hint: it takes the bits of both for
/// one number.
const PRIORITIES: [&str; 2] = ["best-effort: prio 7", "best-effort: prio 47"];

/// The CPUs and the priority of each worker thread of this process.
fn placed_workers() -> Vec<(String, i32, String)> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let placed = tasks.flatten().filter_map(|task| {
        let read = |name: &str| std::fs::read_to_string(task.path().join(name)).ok();
        let status = read("status")?;
        let line = |key: &str| {
            let line = status.lines().find(|line| line.starts_with(key))?;
            Some(line[key.len()..].trim().to_owned())
        };
        line("Name:")?.starts_with("worker-").then_some(())?;
        // Of what stands behind the name, in brackets: the seventeenth.
        let stat = read("stat")?;
        let nice = stat.rsplit(')').next()?.split_whitespace().nth(16)?;
        let id = task.file_name().into_string().ok()?;
        let asked = Command::new("ionice").args(["-p", &id]).output();
        let priority = match asked {
            Ok(asked) => String::from_utf8_lossy(&asked.stdout).trim().to_owned(),
            Err(_) => {
                println!("skipped: no `ionice` tells the priority of I/O");
                PRIORITIES[usize::from(knows_hints())].to_owned()
            }
        };
        Some((line("Cpus_allowed_list:")?, nice.parse().ok()?, priority))
    });
    placed.collect()
}

fn knows_hints() -> bool {
    let hinted = IoPriority {
        class: 2,
        level: 7,
        hint: 5,
    };
    let set = move || sys::thread::set_io_priority(hinted.word()).is_ok();
    std::thread::spawn(set).join().unwrap()
}

#[test]
fn a_placed_stream_has_workers_of_its_own_in_their_place() {
    let cpus = sys::thread::available_cpus();
    let [_, .., last] = cpus[..] else {
        return println!("skipped: one CPU leaves no choice");
    };
    if !knows_hints() {
        println!("skipped: hints of priorities, which this kernel does not know");
    }
    let hint = if knows_hints() { 5 } else { 0 };
    let priority = PRIORITIES[usize::from(knows_hints())];
    for kind in [BackendKind::Uring, BackendKind::Sync] {
        let place = Place::buffered(MIB);
        let (free, mut placed) = (
            stream(0, 0, operations(100.0)),
            stream(1, 0, operations(100.0)),
        );
        placed.flow.placement = Placement {
            cpus: vec![last as u32],
            nice: 7,
            io_priority: Some(IoPriority {
                class: 2,
                level: 7,
                hint,
            }),
            memory: Some(MemoryPolicy::Local),
            owner: None,
        };
        let runs = vec![flat_out(400 * MS, 100 * MS)];
        let plan = bind_real(plan(
            vec![place.target()],
            &[1, 1],
            vec![free, placed],
            runs,
        ));
        let look = || {
            std::thread::scope(|scope| {
                let run = scope.spawn(|| run_on(&plan, kind, 1));
                let mut seen = false;
                while !run.is_finished() {
                    seen |= placed_workers().contains(&(last.to_string(), 7, priority.to_owned()));
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
                let story = run.join().unwrap();
                let workers = story.intervals(0)[0].engine.workers.workers;
                assert_eq!(workers, 2, "{kind}");
                seen
            })
        };
        // Other work may leave who looks no time within a run.
        let seen = (0..10).any(|_| look());
        assert!(seen, "no worker on CPU {last} with {kind}");
    }
}

#[test]
fn a_stream_ends_once_its_rate_has_settled() {
    let steady = |group, every_s| Steady {
        of: Amount::Operations,
        criterion: SteadyCriterion::Deviation,
        limit: 5.0,
        is_pct: true,
        samples: 3,
        every: Nanos::from_secs(every_s),
        after: Nanos::from_secs(1),
        group,
    };
    let every = |pool: usize, group: Option<u32>, every_s| {
        let mut one = stream(pool, 0, operations(100.0));
        one.flow.steady = Some(steady(group, every_s));
        one
    };
    let one = |pool, group| every(pool, group, 1);
    for group in [None, Some(1)] {
        let runs = vec![flat_out(20 * SECOND, 500 * MS)];
        let streams = vec![one(0, group), one(1, group)];
        let plan = bind_unreal(plan(vec![simulated(MIB)], &[1, 1], streams, runs));
        let story = simulate(&plan, &Script::default(), 1);
        assert_eq!(story.finished(0).reason, FinishReason::Complete);
        let groups = if group.is_some() { 1 } else { 2 };
        assert_eq!(story.remarks("settled"), groups);
        // One second that does not count and three that do, 10 000 operations a second each.
        // The last of each stream comes back as the run ends.
        let operations = story.totals[0].operations();
        assert!((79_998..=80_000).contains(&operations), "{operations}");
    }
    // A rate that changes every second does not settle.
    let steps = vec![(100.0, Nanos::from_secs(1)), (1_000.0, Nanos::from_secs(1))];
    let law = ArrivalLaw::Deterministic;
    let run = run(Load::Steps { steps }, law, 8 * SECOND, 500 * MS);
    let streams = vec![one(0, None)];
    let plan = bind_unreal(plan(vec![simulated(MIB)], &[4], streams, vec![run]));
    let story = simulate(&plan, &Script::default(), 1);
    assert_eq!(story.remarks("settled"), 0);
    assert_eq!(story.intervals(0).len(), 16);
    // Over two seconds each, it is the same.
    let mut longer = plan.plan;
    longer.templates[0].streams = vec![every(0, None, 2)];
    let story = simulate(&bind_unreal(longer), &Script::default(), 1);
    assert_eq!(story.remarks("settled"), 1);
    // Seven seconds, and the interval in which the run ends for it.
    assert_eq!(story.intervals(0).len(), 14 + 1);
}

#[test]
fn streams_of_one_group_keep_to_their_weights() {
    let weighted = |number: usize, weight: f64, group: u32| {
        let mut one = stream(number, number, |_| {});
        one.flow.balance = Some(Balance {
            group,
            weight,
            pause: Nanos(0),
        });
        one
    };
    let done = |streams: Vec<Stream>| {
        let targets = streams.iter().map(|_| simulated(64 * MIB)).collect();
        let runs = vec![flat_out(SECOND, SECOND)];
        let plan = bind_unreal(plan(targets, &[1, 8, 8], streams, runs));
        let story = simulate(&plan, &Script::default(), 2);
        let of = |stream: usize| {
            let figures = story.totals[0].figures.iter();
            let mine = figures.filter(|figure| figure.key.stream.index() == stream);
            mine.map(|figure| figure.operations).sum::<u64>()
        };
        [0, 1, 2].map(of)
    };
    // The first does 10 000 a second, the others could do eight times as many.
    let [first, second, third] = done(vec![
        weighted(0, 2.0, 0),
        weighted(1, 3.0, 0),
        weighted(2, 1.0, 1),
    ]);
    assert_eq!((first, third), (9_999, 79_992));
    assert!(second.abs_diff(15_000) <= 200, "{second}");
    // One that has ended holds nobody back.
    let mut short = weighted(0, 1.0, 0);
    short.stop.operations = Some(1_000);
    let [first, second, third] = done(vec![short, weighted(1, 1.0, 0), weighted(2, 1.0, 0)]);
    assert_eq!(first, 1_000);
    assert!(
        second > 70_000 && second.abs_diff(third) < 200,
        "{second} {third}"
    );
}

#[test]
fn operations_that_share_bytes_are_kept_apart_where_it_is_asked() {
    // Two blocks and eight slots: without the rule eight are in flight, with it two at most.
    for workers in [1, 3] {
        let took = |keeps_apart: bool| {
            let mut one = stream(0, 0, |generator| {
                generator.operations = OperationMix::reads(50.0);
                generator.transfer = PerDirection::all(TransferSizes::Fixed(4096));
                generator.order = AddressOrder::Random(RandomLaw::Uniform);
            });
            one.stop.operations = Some(8_000);
            one.flow.keeps_apart = keeps_apart;
            let runs = vec![until_done(20 * MS)];
            let plan = bind_unreal(plan(vec![simulated(8192)], &[8], vec![one], runs));
            let story = simulate(&plan, &Script::default(), workers);
            assert_eq!(story.totals[0].operations(), 8_000, "each goes out once");
            assert_eq!(story.finished(0).reason, FinishReason::Complete);
            let ended = story.finished(0).unix_ns - story.totals[0].started.unix_ns;
            ended as f64
        };
        let (free, apart) = (took(false), took(true));
        assert!(
            apart > 2.5 * free,
            "{apart} ns, and {free} ns without the rule"
        );
    }
}
