//! What made it scale, in simulated time: storage whose truth is known has the shape that is said.
use crate::plans::*;
use crate::story::simulate;
use analysis::{Scaling, Shape, Watch};
use engine::sim::Script;
use plan::*;

/// Of so many seeded executions one may be named otherwise.
const SEEDS: u64 = 20;

/// Three repeats with each count of threads. A repetition is a run of its own with another seed.
fn scaled(seed: u64, spec: &RunSpec, threads: &[f64], script: &Script) -> Scaling {
    let specs = vec![spec.clone(); 3];
    let mut one = plan(
        vec![simulated(MIB)],
        &[1],
        vec![stream(0, 0, |_| {})],
        specs,
    );
    one.seed = seed;
    for (number, spec) in one.runs.iter_mut().enumerate() {
        // Names tell them apart while they are varied.
        spec.name = format!("r{number}");
    }
    let scaling = plan::Scaling {
        quantity: Quantity::Threads,
        values: threads.to_vec(),
        held: Held::default(),
    };
    let mut all = scaling.apply(&one).unwrap();
    all.runs
        .iter_mut()
        .for_each(|spec| spec.name = "rd1".to_owned());
    let story = simulate(&bind_unreal(all), script, 1);
    let mut watch = Watch::default();
    for event in &story.events {
        watch.on_event(event);
    }
    let mut found = watch.scalings();
    assert_eq!(found.len(), 1);
    assert!(found[0].steps.iter().all(|level| level.runs == 3));
    found.remove(0)
}

fn slow(servers: u32) -> Script {
    Script {
        service_ns: 5 * MS,
        is_exponential: true,
        servers,
        ..Script::default()
    }
}

/// How many of the seeded executions have the shape.
fn right(
    spec: &RunSpec,
    threads: &[f64],
    servers: u32,
    is_right: impl Fn(&Shape) -> bool,
) -> usize {
    let named = |seed: &u64| {
        let found = scaled(*seed, spec, threads, &slow(servers));
        found.shape.is_some_and(|shape| is_right(&shape))
    };
    (1..=SEEDS).filter(named).count()
}

fn is_near(value: f64, truth: f64) -> bool {
    (value / truth - 1.0).abs() < 0.05
}

#[test]
fn one_lock_is_flat() {
    let is_right = |shape: &Shape| matches!(shape, Shape::Flat { rate } if is_near(*rate, 200.0));
    let threads = [1.0, 2.0, 4.0, 8.0, 16.0];
    let right = right(&flat_out(10 * SECOND, SECOND), &threads, 1, is_right);
    assert!(right >= 19, "{right}");
}

#[test]
fn channels_are_proportional_and_then_flat() {
    let is_right = |shape: &Shape| matches!(shape, Shape::ThenFlat { rate_each, rate } if is_near(*rate_each, 200.0) && is_near(*rate, 800.0));
    let threads = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0];
    let right = right(&flat_out(10 * SECOND, SECOND), &threads, 4, is_right);
    assert!(right >= 19, "{right}");
}

#[test]
fn a_cap_is_proportional_and_then_flat() {
    let is_right = |shape: &Shape| matches!(shape, Shape::ThenFlat { rate_each, rate } if is_near(*rate_each, 200.0) && is_near(*rate, 500.0));
    let capped = at_rate(500.0, ArrivalLaw::Deterministic, 10 * SECOND, SECOND);
    let right = right(&capped, &[1.0, 2.0, 4.0, 6.0, 8.0], 64, is_right);
    assert!(right >= 19, "{right}");
}

#[test]
fn what_the_levels_do_not_tell_is_not_named() {
    // Up to 2 of 4 channels nobody sees an end, and of one level beyond it nobody sees that it stays.
    let grows = scaled(
        1,
        &flat_out(10 * SECOND, SECOND),
        &[1.0, 2.0, 3.0],
        &slow(4),
    );
    assert!(
        matches!(grows.shape, Some(Shape::Proportional { .. })),
        "{grows:?}"
    );
    let bends = scaled(
        1,
        &flat_out(10 * SECOND, SECOND),
        &[1.0, 2.0, 16.0],
        &slow(4),
    );
    assert_eq!(bends.shape, None, "{bends:?}");
    assert!(
        bends
            .words()
            .contains("not identifiable up to threads = 16"),
        "{}",
        bends.words()
    );
    let few = scaled(1, &flat_out(10 * SECOND, SECOND), &[1.0, 2.0], &slow(4));
    assert_eq!(few.shape, None);
}
