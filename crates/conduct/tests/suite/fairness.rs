//! What jobs get that share a worker whose calls do all of the work, as on files without direct I/O.
use crate::plans::*;
use crate::story::simulate;
use engine::sim::Script;
use plan::*;
use proptest::prelude::*;

const LENGTH_NS: u64 = 1_000 * MS;

/// Operations of each of these jobs, which have nothing but slots.
fn shares(depths: &[u32], batches: &[Batches]) -> Vec<u64> {
    let streams = (0..depths.len()).map(|pool| {
        let mut one = stream(pool, 0, |_| {});
        one.flow.batches = batches[pool];
        one
    });
    let spec = flat_out(LENGTH_NS, 100 * MS);
    let plan = plan(
        vec![simulated(64 * MIB)],
        depths,
        streams.collect(),
        vec![spec],
    );
    let script = Script {
        service_ns: MS,
        works_in_call: true,
        ..Script::default()
    };
    let story = simulate(&bind_unreal(plan), &script, 1);
    let figures = story.totals[0].figures.iter();
    figures.map(|figure| figure.operations).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn jobs_of_one_worker_have_equal_turns(depths in prop::collection::vec(1_u32..6, 1..7)) {
        let mut shares = shares(&depths, &vec![Batches::default(); depths.len()]);
        shares.sort_unstable();
        prop_assert_eq!(shares.len(), depths.len());
        prop_assert!(shares[shares.len() - 1] - shares[0] <= 1, "{:?}: {:?}", depths, shares);
    }

    /// With a call for each of their operations, each job fills its slots in its turn.
    #[test]
    fn jobs_that_submit_singly_have_turns_by_depth(depths in prop::collection::vec(1_u32..6, 1..7)) {
        let shares = shares(&depths, &vec![crate::few_tags::SINGLY; depths.len()]);
        prop_assert_eq!(shares.len(), depths.len());
        let rounds = shares[0] / u64::from(depths[0]);
        for (share, depth) in shares.iter().zip(&depths) {
            let depth = u64::from(*depth);
            prop_assert!(share.abs_diff(rounds * depth) <= depth, "{:?}: {:?}", depths, shares);
        }
    }
}
