use super::*;
use crate::testing::{SECOND, closed, figure};
use measure::StreamInfo;
use plan::{
    ArrivalLaw, FirstInterval, Nanos, Operation, Origin, RunSpec, RunStop, RunTemplate, Search,
    StartAlign, StopSearch, TemplateId, Timing, Window,
};
use proptest::prelude::*;

const SEARCH: SearchId = SearchId(0);

/// A plan of runs with these loads over two streams.
fn plan_of(loads: &[Load], coupling: Coupling) -> Plan {
    let spec = |load: &Load| RunSpec {
        name: "run".into(),
        kind: RunKind::Measure,
        template: TemplateId(0),
        overrides: Vec::new(),
        coupling: None,
        load: load.clone(),
        law: ArrivalLaw::Exponential,
        timing: Timing {
            start: StartAlign::AtOnce,
            warmup: Nanos(0),
            window: Window::For(Nanos(SECOND)),
            interval: Nanos(SECOND),
            first_interval: FirstInterval::Counted,
            pause_after: Nanos(0),
        },
        stop: RunStop::default(),
        labels: Vec::new(),
        swept: Vec::new(),
        origin: Origin::Default("test".into()),
    };
    Plan {
        templates: vec![RunTemplate {
            pools: Vec::new(),
            streams: Vec::new(),
            coupling,
        }],
        runs: loads.iter().map(spec).collect(),
        searches: vec![Search {
            points_pct: vec![10.0, 50.0],
            stop: Some(StopSearch {
                service_above: Nanos(5_000_000),
            }),
        }],
        ..Plan::default()
    }
}

/// One second in which two streams had so many operations of a millisecond each.
fn reached(operations: [u64; 2]) -> RunTotals {
    let mut totals = closed(0, &[1_000_000]);
    let stream: StreamInfo = totals.started.streams[0].clone();
    totals.started.streams.push(stream);
    totals.figures = (0..2)
        .map(|stream| figure(stream, Operation::Read, &[1_000_000], &[1_000_000]))
        .zip(operations)
        .map(|(figure, operations)| measure::Figure {
            operations,
            ..figure
        })
        .collect();
    totals
}

fn decide(plan: &Plan, finished: &[RunTotals]) -> Next {
    let mut history = History::default();
    for (place, totals) in finished.iter().enumerate() {
        history.add(RunId::at(place), totals);
    }
    next(plan, RunId::at(plan.runs.len() - 1), &history)
}

fn search_plan(coupling: Coupling) -> Plan {
    let points = [10.0, 50.0].map(|pct| Load::SearchPoint {
        search: SEARCH,
        pct,
    });
    let mut loads = vec![Load::SearchBase { search: SEARCH }];
    loads.extend(points);
    plan_of(&loads, coupling)
}

#[test]
fn points_round_up_as_curves_always_did() {
    let points = |base, pcts: &[u32]| -> Vec<u64> {
        pcts.iter()
            .map(|pct| point_rate(base, f64::from(*pct)) as u64)
            .collect()
    };
    assert_eq!(
        points(130_848, &[1, 10, 70, 80]),
        [1_400, 13_100, 91_600, 104_700]
    );
    assert_eq!(points(20_554, &[10, 50]), [2_100, 10_300]);
    assert_eq!(
        points(274_637, &[10, 50, 70, 80, 90, 100]),
        [27_500, 137_400, 192_300, 219_800, 247_200, 274_700]
    );
    assert_eq!(
        points(53_739, &[10, 50, 70, 80, 90, 100]),
        [5_400, 26_900, 37_700, 43_000, 48_400, 53_800]
    );
    assert_eq!(points(1_000, &[100, 101, 150]), [1_000, 1_100, 1_500]);
    assert_eq!(
        points(30_000_000, &[100, 200]),
        [30_000_000, 60_000_000],
        "no overflow at 2^31"
    );
    assert_eq!(
        (point_rate(500, 0.5), point_rate(500, -3.0)),
        (10.0, 10.0),
        "never nothing"
    );
    assert!(point_rate(u64::MAX, 1e300) > 1e36, "no overflow at all");
}

#[test]
fn plain_loads_need_no_history() {
    for (load, decision) in [
        (Load::FlatOut, Decision::FlatOut),
        (Load::PerStream, Decision::FlatOut),
        (Load::SearchBase { search: SEARCH }, Decision::FlatOut),
        (
            Load::Rate { per_second: 123.4 },
            Decision::Rate {
                per_second: 123.4,
                shares_pct: None,
            },
        ),
    ] {
        let next = decide(&plan_of(&[load], Coupling::Independent), &[]);
        assert_eq!((next.decision, next.remarks.len()), (decision, 0));
    }
}

#[test]
fn a_point_follows_its_base_and_an_uncontrolled_base_gives_the_shares() {
    let finished = [reached([30_000, 10_000]), reached([4_000, 0])];
    let next = decide(&search_plan(Coupling::Independent), &finished);
    let shares_pct = Some(vec![75.0, 25.0]);
    assert_eq!(
        next.decision,
        Decision::Rate {
            per_second: 20_000.0,
            shares_pct
        }
    );
    let next = decide(&search_plan(Coupling::Proportional), &finished);
    assert_eq!(
        next.decision,
        Decision::Rate {
            per_second: 20_000.0,
            shares_pct: None
        }
    );
    assert_eq!(next.remarks, [""; 0]);
}

#[test]
fn a_base_is_rounded_to_the_nearest_whole_rate() {
    // 2747 operations in 2 seconds are 1373.5 per second; half of 1374 is 687.
    let mut base = reached([2_747, 0]);
    base.length_ns = 2 * SECOND;
    let next = decide(&search_plan(Coupling::Proportional), &[base]);
    assert_eq!(
        next.decision,
        Decision::Rate {
            per_second: 690.0,
            shares_pct: None
        }
    );
}

#[test]
fn a_base_without_a_rate_is_replaced_with_a_remark() {
    for finished in [vec![reached([0, 0])], vec![]] {
        let next = decide(&search_plan(Coupling::Independent), &finished);
        assert_eq!(
            next.decision,
            Decision::Rate {
                per_second: 5_000.0,
                shares_pct: None
            }
        );
        assert_eq!(next.remarks.len(), 1);
        assert!(next.remarks[0].contains("10000"), "{:?}", next.remarks);
    }
}

#[test]
fn a_slow_point_ends_the_execution_and_a_slow_base_does_not() {
    let slow = || {
        let mut totals = reached([100, 0]);
        totals.figures = vec![figure(
            0,
            Operation::Read,
            &[5_000_001; 100],
            &[5_000_001; 100],
        )];
        totals
    };
    let plan = search_plan(Coupling::Independent);
    assert!(matches!(
        decide(&plan, &[slow()]).decision,
        Decision::Rate { .. }
    ));
    let Decision::EndExecution { message } = decide(&plan, &[reached([100, 0]), slow()]).decision
    else {
        panic!("the point was above the limit");
    };
    assert!(
        message.contains("5.000 ms") && message.contains("run"),
        "{message}"
    );
    let at_limit = {
        let mut totals = slow();
        totals.figures = vec![figure(0, Operation::Read, &[5_000_000], &[9_000_000])];
        totals
    };
    let next = decide(&plan, &[reached([100, 0]), at_limit]);
    assert!(
        matches!(next.decision, Decision::Rate { .. }),
        "at the limit, and by service time"
    );
}

#[test]
fn the_end_of_a_search_also_ends_what_follows_it() {
    let mut loads: Vec<Load> = search_plan(Coupling::Independent)
        .runs
        .iter()
        .map(|run| run.load.clone())
        .collect();
    loads.push(Load::FlatOut);
    let mut slow = reached([100, 0]);
    slow.figures = vec![figure(0, Operation::Read, &[50_000_000], &[50_000_000])];
    let finished = [reached([100, 0]), reached([100, 0]), slow];
    let next = decide(&plan_of(&loads, Coupling::Independent), &finished);
    assert!(matches!(next.decision, Decision::EndExecution { .. }));
}

#[test]
fn a_percentage_of_the_previous_run_skips_preparations() {
    let loads = [
        Load::FlatOut,
        Load::FlatOut,
        Load::PercentOfPrevious { pct: 50.9 },
    ];
    let mut preparation = reached([77, 0]);
    preparation.started.kind = RunKind::Prepare;
    let next = decide(
        &plan_of(&loads, Coupling::Independent),
        &[reached([4_108, 0]), preparation],
    );
    assert_eq!(
        next.decision,
        Decision::Rate {
            per_second: 2_100.0,
            shares_pct: None
        }
    );
    assert_eq!(next.remarks.len(), 1, "50.9 counts as 50");
    assert!(next.remarks[0].contains("50.9") && next.remarks[0].contains("50 %"));
}

proptest! {
    #[test]
    fn a_point_is_never_below_its_share_and_little_above(base in 0_u64..1 << 40, pct in 0_u32..1_000) {
        let rate = point_rate(base, f64::from(pct));
        let exact = base as f64 * f64::from(pct) / 100.0;
        let step = if exact >= 1_000.0 { 100.0 } else { 10.0 };
        // The share is cut to a whole number before it is rounded up.
        prop_assert!(rate > exact - 1.0 && rate <= exact + step + 10.0, "{rate} for {exact}");
        prop_assert_eq!(rate % 10.0, 0.0);
        prop_assert!(rate <= 1_000.0 || rate % 100.0 == 0.0);
    }

    #[test]
    fn rounding_keeps_the_order(base in 0_u64..1 << 50, more in 0_u64..1 << 50, pct in 0.0_f64..500.0, plus in 0.0_f64..500.0) {
        prop_assert!(point_rate(base, pct) <= point_rate(base + more, pct));
        prop_assert!(point_rate(base, pct) <= point_rate(base, pct + plus));
    }
}

#[test]
fn a_percentage_is_of_what_was_reached_and_a_limit_holds_for_the_mean() {
    let loads = [
        Load::Rate {
            per_second: 10_000.0,
        },
        Load::PercentOfPrevious { pct: 50.0 },
    ];
    let mut slow = reached([3_000, 1_000]);
    slow.started.asked_rate = Some(10_000.0);
    let next = decide(&plan_of(&loads, Coupling::Independent), &[slow]);
    let expected = Decision::Rate {
        per_second: 2_000.0,
        shares_pct: None,
    };
    assert_eq!(next.decision, expected);
    // One I/O far above the limit of 5 ms leaves the mean below it.
    let mut point = reached([100, 100]);
    let service = [vec![1_000_000; 99], vec![50_000_000]].concat();
    point.figures = vec![figure(0, Operation::Read, &service, &service)];
    let plan = search_plan(Coupling::Independent);
    let next = decide(&plan, &[reached([500, 500]), point]);
    assert!(
        matches!(next.decision, Decision::Rate { .. }),
        "{:?}",
        next.decision
    );
}
