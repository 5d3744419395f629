//! A real device that takes a millisecond: nothing that is measured on it may say less.
use crate::few_tags::{SINGLY, assert_none_below, told};
use crate::places::{bind_real, facts, run_on};
use crate::plans::*;
use crate::real_faults::FaultyDisk;
use crate::story::Story;
use engine::BackendKind;
use measure::LatencyFigures;
use plan::*;

const OPERATIONS: u64 = 300;

/// Reads each block once at most, as what is mapped is not read again.
fn reads(disk: &FaultyDisk, depth: u32, (kind, batches): (BackendKind, Batches)) -> Story {
    let mut one = stream(0, 0, |generator| {
        generator.order = AddressOrder::Random(RandomLaw::OncePerBlock(SequentialEnd::Stop));
    });
    one.stop.operations = Some(OPERATIONS);
    one.flow.batches = batches;
    let mut disk = target(&disk.path(), TargetKind::File, FaultyDisk::BYTES);
    disk.open.advice = Some(AccessAdvice::Random);
    let alignment = facts(&disk.path, TargetKind::File).alignment;
    disk.open.direct = kind != BackendKind::Mapped && alignment.offset <= BLOCK;
    let mut bound = bind_real(plan(
        vec![disk],
        &[depth],
        vec![one],
        vec![until_done(20 * MS)],
    ));
    bound.plan.reporting.handover = true;
    run_on(&bound, kind, 1)
}

/// The stamp behind a submitting call is late where the thread is stopped there, which no clock tells: one in twenty.
fn assert_most_are_not_below(figures: &LatencyFigures, what: &str) {
    let least_ns = figures.percentile_ns(5.0);
    assert!(least_ns >= MS, "{what}: {least_ns} ns on a device of 1 ms");
}

#[test]
fn no_latency_is_below_that_of_the_device() {
    for kind in [
        BackendKind::Uring,
        BackendKind::Aio,
        BackendKind::Sync,
        BackendKind::Mapped,
    ] {
        for depth in [1, 8, 64] {
            for batches in [SINGLY, Batches::default()] {
                let Some(disk) = FaultyDisk::slow() else {
                    return;
                };
                let story = reads(&disk, depth, (kind, batches));
                let totals = &story.totals[0];
                assert_eq!((totals.operations(), totals.errors()), (OPERATIONS, 0));
                let what = |figure: &str| format!("{figure}, {kind} at {depth}, {batches:?}");
                assert_none_below(&totals.service(None), &what("service"));
                assert_none_below(&totals.response(None), &what("response"));
                let handover = told(&story);
                for parts in handover.parts.iter().filter(|_| batches == SINGLY) {
                    assert_most_are_not_below(&parts.completion, &what("completion"));
                }
            }
        }
    }
}
