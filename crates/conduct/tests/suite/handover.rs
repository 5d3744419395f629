//! How operations go to the kernel and come back, as plans that ask for it are told.
use crate::places::{Place, bind_real, machine, run_on};
use crate::plans::*;
use crate::story::{Story, carry_out, simulate};
use conduct::{Control, OperationSink};
use engine::BackendKind;
use engine::sim::Script;
use measure::{Handover, OperationRecord};
use plan::*;
use std::sync::{Arc, Mutex};

const OPERATIONS: u64 = 4_000;

fn asks(mut bound: BoundPlan) -> BoundPlan {
    bound.plan.reporting.handover = true;
    bound
}

fn counted(slots: u32) -> Plan {
    let mut one = stream(0, 0, operations(50.0));
    one.stop.operations = Some(OPERATIONS);
    plan(
        vec![simulated(64 * MIB)],
        &[slots],
        vec![one],
        vec![until_done(100 * MS)],
    )
}

fn all(story: &Story) -> Handover {
    let mut sum = Handover::default();
    for interval in story.intervals(0) {
        for sample in &interval.engine.streams {
            sum.merge(sample.handover.as_ref().expect("the plan asks for it"));
        }
    }
    sum
}

#[test]
fn every_operation_has_a_depth_a_batch_and_two_parts() {
    for workers in [1, 3] {
        let story = simulate(&asks(bind_unreal(counted(4))), &Script::default(), workers);
        let told = all(&story);
        // All four come back together, and each of the next goes in behind the one before.
        assert_eq!(told.depths, [1_000, 2_000, 1_000, 0, 0, 0, 0]);
        assert_eq!(told.submitted_together[2..], [0; 5]);
        assert!(told.submitted_together[1] >= OPERATIONS / 4);
        assert_eq!(told.parts.len(), 2, "reads and writes");
        let totals = &story.totals[0];
        for parts in &told.parts {
            let service = totals.service(Some(parts.operation));
            assert_eq!(
                parts.submission.histogram.count(),
                service.histogram.count()
            );
            assert_eq!(
                parts.completion.histogram.count(),
                service.histogram.count()
            );
            assert_eq!(
                parts.submission.sum_ns + parts.completion.sum_ns,
                service.sum_ns
            );
        }
        assert!(told.last_seen_ns >= OPERATIONS / 4 * 100_000);
    }
}

#[test]
fn plans_that_do_not_ask_are_told_nothing() {
    let story = simulate(&bind_unreal(counted(4)), &Script::default(), 1);
    let mut samples = story
        .intervals(0)
        .into_iter()
        .flat_map(|interval| &interval.engine.streams);
    assert!(samples.all(|sample| sample.handover.is_none()));
}

#[test]
fn real_backends_split_what_they_can() {
    let place = Place::buffered(MIB);
    for (kind, slots, parts) in [
        (BackendKind::Uring, 4, 1),
        (BackendKind::Aio, 4, 1),
        (BackendKind::Aio, 1, 1),
        (BackendKind::Sync, 1, 0),
    ] {
        let mut one = stream(0, 0, |_| {});
        one.stop.operations = Some(1_000);
        let runs = vec![until_done(100 * MS)];
        let bound = asks(bind_real(plan(
            vec![place.target()],
            &[slots],
            vec![one],
            runs,
        )));
        let story = run_on(&bound, kind, 1);
        let told = all(&story);
        assert_eq!(told.depths.iter().sum::<u64>(), 1_000);
        assert_eq!(told.parts.len(), parts);
        for parts in &told.parts {
            assert_eq!(parts.submission.histogram.count(), 1_000);
            assert!(parts.submission.sum_ns > 0);
        }
        let usage = story.totals[0].workers.usage;
        assert!(usage.user_ns + usage.system_ns > 0, "{usage:?}");
    }
}

/// Keeps what it is told.
struct Kept(Arc<Mutex<(Vec<OperationRecord>, u64)>>);

impl OperationSink for Kept {
    fn take(&mut self, _run: RunId, start_unix_ns: u64, operations: &[OperationRecord]) {
        assert!(start_unix_ns > 0);
        self.0.lock().unwrap().0.extend_from_slice(operations);
    }

    fn end_run(&mut self, _run: RunId, lost: u64) {
        self.0.lock().unwrap().1 += lost;
    }
}

#[test]
fn single_operations_are_told_where_they_are_asked_for() {
    let place = Place::buffered(MIB);
    for (kind, slots) in [
        (BackendKind::Uring, 4),
        (BackendKind::Aio, 4),
        (BackendKind::Sync, 1),
    ] {
        let mut one = stream(0, 0, |_| {});
        one.stop.operations = Some(10_000);
        let runs = vec![until_done(100 * MS)];
        let plan = plan(vec![place.target()], &[slots], vec![one], runs);
        let mut bound = asks(bind_real(plan));
        bound.plan.reporting.operations = true;
        let kept = Arc::new(Mutex::new((Vec::new(), 0)));
        let sink = Box::new(Kept(Arc::clone(&kept)));
        let mut host = machine(&bound, kind, 1).with_operations(sink);
        let story = carry_out(&bound, &mut host, &Control::default());
        let (records, lost) = kept.lock().unwrap().clone();
        assert_eq!((records.len(), lost), (10_000, 0));
        let totals = story.totals[0].service(None);
        let sum: u64 = records.iter().map(|record| record.service_ns).sum();
        assert_eq!(sum, totals.sum_ns, "two routes to one number");
        let longest = records.iter().map(|record| record.service_ns).max();
        assert_eq!(longest, Some(totals.max_ns));
        assert!(records.is_sorted_by_key(|record| record.seen_ns));
        let is_split = records.iter().all(|record| record.submission_ns.is_some());
        assert_eq!(is_split, kind != BackendKind::Sync);
    }
}
