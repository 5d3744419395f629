//! What streams do beside drawing: syncs behind writes and at the end.
use crate::places::{Place, bind_real, run_on};
use crate::plans::*;
use crate::story::{Story, simulate};
use engine::BackendKind;
use engine::sim::Script;
use measure::FinishReason;
use plan::*;

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
    };
    for kind in [BackendKind::Uring, BackendKind::Sync] {
        for place in Place::all(MIB) {
            let runs = vec![until_done(20 * MS)];
            let streams = vec![writes(65, syncs)];
            let plan = bind_real(plan(vec![place.target()], &[1], streams, runs));
            let story = run_on(&plan, kind, 1);
            assert_eq!(story.totals[0].errors(), 0, "{kind} on {}", place.name);
            let counts = [Operation::Sync, Operation::DataSync, Operation::RangeSync];
            assert_eq!(counts.map(|one| figure(&story, one)), [9, 8, 16], "{kind}");
        }
    }
}
