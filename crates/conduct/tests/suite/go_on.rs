//! Going on behind runs that are done is as if nothing had come between.
use crate::plans::*;
use crate::story::simulate;
use conduct::{Control, Done, SimulatedHost, go_on};
use engine::sim::Script;
use measure::{Event, FinishReason, Interval, RunFold};
use plan::*;

/// A curve with points that depend on its first run.
fn curve() -> BoundPlan {
    let search = SearchId::at(0);
    let mut base = flat_out(SECOND, 100 * MS);
    base.load = Load::SearchBase { search };
    let point = |pct| {
        let mut spec = flat_out(SECOND, 100 * MS);
        spec.load = Load::SearchPoint { search, pct };
        spec
    };
    let mut plan = plan(
        vec![simulated(64 * MIB)],
        &[8],
        vec![stream(0, 0, |_| {})],
        vec![base, point(30.0), point(60.0), point(90.0)],
    );
    plan.searches = vec![Search {
        points_pct: vec![30.0, 60.0, 90.0],
        stop: None,
    }];
    bind_unreal(plan)
}

/// What was measured, without the time of day.
fn measured(events: &[Event], from: u32) -> Vec<Interval> {
    let interval = |event: &Event| match event {
        Event::Interval(interval) if interval.run >= from => Some(Interval {
            unix_ns: 0,
            ..interval.clone()
        }),
        _ => None,
    };
    events.iter().filter_map(interval).collect()
}

#[test]
fn the_rest_of_a_curve_is_the_same_wherever_it_was_interrupted() {
    let (plan, script) = (curve(), Script::default());
    let whole = simulate(&plan, &script, 2);
    for runs in 0..=4_u32 {
        let mut done = Done::default();
        for totals in &whole.totals[..runs as usize] {
            done.add(&plan, totals, 0);
        }
        let (mut events, mut totals, mut fold) = (Vec::new(), Vec::new(), RunFold::default());
        let mut host = SimulatedHost::new(script.clone(), 2);
        let outcome = go_on(&plan, done, &mut host, &Control::default(), &mut |event| {
            totals.extend(fold.fold(event));
            events.push(event.clone());
            Ok(())
        });
        assert_eq!(outcome.reason, FinishReason::Complete);
        assert_eq!(measured(&events, runs), measured(&whole.events, runs));
        let asked = |totals: &[measure::RunTotals]| -> Vec<(u32, Option<f64>)> {
            let started = totals.iter().map(|totals| &totals.started);
            started.map(|run| (run.run, run.asked_rate)).collect()
        };
        assert_eq!(asked(&totals), asked(&whole.totals[runs as usize..]));
    }
}

#[test]
fn errors_of_before_count() {
    let plan = curve();
    let whole = simulate(&plan, &Script::default(), 1);
    let mut done = Done::default();
    done.add(&plan, &whole.totals[0], 3);
    let mut host = SimulatedHost::new(Script::default(), 1);
    let outcome = go_on(&plan, done, &mut host, &Control::default(), &mut |_| Ok(()));
    assert_eq!(outcome.errors, 3);
}
