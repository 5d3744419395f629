//! Known answers about curves.
use super::*;
use crate::comparison::tests::{load, run, side};
use crate::comparison::{Answer, Comparing, Comparison, Loaded, Unfit, compare};
use crate::testing::open;
use plan::{RunKind, SearchId};

fn outline(load: Load, slots: u32) -> RunOutline {
    RunOutline {
        name: "max".into(),
        kind: RunKind::Measure,
        load,
        slots,
        workers: 1,
        labels: Vec::new(),
        streams: Vec::new(),
        operations: 1_000_000,
        bytes_per_operation: 4096.0,
        swept: Vec::new(),
        read_share: 0.7,
    }
}

/// A search whose base reaches `base_per_s`, and at each share a p99 that `p99_ns` gives.
fn searched(base_per_s: f64, shares: &[f64], p99_ns: impl Fn(f64) -> f64) -> ComparedResult {
    let mut result = ComparedResult::default();
    let search = SearchId::at(0);
    let outline = |load| outline(load, 32);
    let values = [(FigureKind::Rate, base_per_s)];
    result.runs.push(run("max", load(None), &values));
    result.outlines.push(outline(Load::SearchBase { search }));
    result.points.push(point(base_per_s, 1.0));
    for pct in shares {
        let rate = base_per_s * pct / 100.0;
        let p99 = p99_ns(rate);
        let values = [(FigureKind::Rate, rate), (FigureKind::ResponseP99, p99)];
        let of_rate = load(Some(rate));
        result.runs.push(run(&format!("{pct} %"), of_rate, &values));
        let asked = Load::SearchPoint { search, pct: *pct };
        result.outlines.push(outline(asked));
        result.points.push(point(rate, p99));
    }
    result
}

fn point(rate: f64, p99_ns: f64) -> CurvePoint {
    let mut point = crate::curve::point(&open(0, rate, &[1000; 4], &[1000; 4]));
    point.achieved_per_s = rate;
    point.response.p99 = Some(p99_ns as u64);
    point.response.samples = 1000;
    point.is_generator_bound = false;
    point
}

fn compared(base: ComparedResult, other: ComparedResult) -> Comparison {
    let mut sides = [side("a", Vec::new()), side("b", Vec::new())];
    sides[0].add(base);
    sides[1].add(other);
    compare(&sides[0], &sides[1], &Comparing::default())
}

#[test]
fn shares_of_two_arrays_are_compared_at_rates_of_both() {
    // The second bears twice as much; logs of times are straight lines, so that what lies between is exact.
    let grows = |scale: f64| move |rate: f64| 1e6 * (rate / scale).exp();
    let shares = [10.0, 30.0, 50.0, 70.0, 90.0];
    let compared = compared(
        searched(1000.0, &shares, grows(500.0)),
        searched(2000.0, &shares, grows(1000.0)),
    );
    let names: Vec<&str> = compared.cells.iter().map(|cell| &*cell.name).collect();
    // Of the base 100, 300 … 900; the other begins at 200.
    assert_eq!(
        names,
        [
            "max, flat out",
            "knee",
            "300/s, interpolated",
            "500/s, interpolated",
            "700/s, interpolated",
            "900/s, interpolated"
        ]
    );
    for (cell, rate) in compared.cells[2..].iter().zip([300.0, 500.0, 700.0, 900.0]) {
        let p99 = cell.figure(FigureKind::ResponseP99).unwrap();
        let truth = grows(1000.0)(rate) / grows(500.0)(rate);
        assert!((p99.ratio - truth).abs() < 1e-9, "{rate}: {}", p99.ratio);
        let of_rate = cell.figure(FigureKind::Rate).unwrap();
        assert_eq!(of_rate.unfit, Some(Unfit::RateAsked));
    }
    assert!(compared.only_base.is_empty() && compared.only_other.is_empty());
}

#[test]
fn a_point_that_missed_its_rate_is_on_no_curve() {
    let shares = [20.0, 60.0, 90.0];
    let mut base = searched(1000.0, &shares, |rate| rate);
    base.runs[3].doubts.push(Word::RateMissed);
    let compared = compared(base, searched(1100.0, &shares, |rate| rate));
    let names: Vec<&str> = compared.cells.iter().map(|cell| &*cell.name).collect();
    assert_eq!(names, ["max, flat out", "600/s, interpolated"]);
}

#[test]
fn knees_are_compared() {
    let bent = |knee: f64| move |rate: f64| if rate <= knee { 100.0 } else { 2000.0 };
    let shares = [10.0, 30.0, 50.0, 70.0, 90.0];
    let of = |base: f64| searched(base, &shares, bent(base * 0.71));
    let compared = compared(of(1000.0), of(1200.0));
    let mut cells = compared.cells.iter();
    let cell = cells.find(|cell| cell.name == "knee").unwrap();
    let figure = cell.figure(FigureKind::Knee).unwrap();
    assert!((figure.base - 700.0).abs() < 1e-6, "{}", figure.base);
    assert!((figure.ratio - 1.2).abs() < 1e-9);
    assert!(
        compared.sentence().contains("I/O/s at the knee +20.0 %"),
        "{}",
        compared.sentence()
    );
    // One that has none is compared with none.
    let flat = |rate: f64| rate * 0.0 + 100.0;
    let without = super::tests::compared(of(1000.0), searched(1000.0, &shares, flat));
    assert!(without.cells.iter().all(|cell| cell.name != "knee"));
    assert_eq!(without.only_base, ["knee"]);
}

/// Threads on a storage that bears so much, with a response of 1 ms while it has room.
fn swept(capacity_per_s: f64) -> ComparedResult {
    let mut result = ComparedResult::default();
    for slots in [1_u32, 2, 4, 8, 16] {
        let rate = (1000.0 * f64::from(slots)).min(capacity_per_s);
        let of_slots = Loaded {
            slots: Some(slots),
            ..load(None)
        };
        let values = [(FigureKind::Rate, rate)];
        result
            .runs
            .push(run(&format!("{slots}"), of_slots, &values));
        result.outlines.push(outline(Load::FlatOut, slots));
        let mut point = point(rate, 1.0);
        (point.asked_per_s, point.slots) = (None, slots);
        point.service_ns_mean = f64::from(slots) / rate * 1e9;
        result.points.push(point);
    }
    result
}

#[test]
fn saturation_has_a_value_per_repeat() {
    let repeated = |capacities: [f64; 3]| {
        let mut all = ComparedResult::default();
        for (number, capacity) in (1..).zip(capacities) {
            let mut one = swept(capacity);
            let label = || Label::new(Label::REPETITION, number.to_string());
            one.outlines
                .iter_mut()
                .for_each(|one| one.labels.push(label()));
            all.runs.append(&mut one.runs);
            all.outlines.append(&mut one.outlines);
            all.points.append(&mut one.points);
        }
        all
    };
    let compared = compared(
        repeated([3000.0, 3030.0, 2970.0]),
        repeated([6000.0, 6060.0, 5940.0]),
    );
    let mut cells = compared.cells.iter();
    let cell = cells.find(|cell| cell.name == "saturation").unwrap();
    assert_eq!(cell.runs, [3, 3]);
    let figure = cell.figure(FigureKind::Saturation).unwrap();
    assert_eq!(figure.answer, Answer::Better);
}

#[test]
fn what_comes_before_saturation_is_compared() {
    let compared = compared(swept(3000.0), swept(6000.0));
    let mut cells = compared.cells.iter();
    let cell = cells.find(|cell| cell.name == "saturation").unwrap();
    let figure = cell.figure(FigureKind::Saturation).unwrap();
    // The asymptotes cross at three and at six threads, between counts that were measured.
    assert!((figure.base - 2500.0).abs() < 1e-6, "{}", figure.base);
    assert!((figure.other - 5000.0).abs() < 1e-6, "{}", figure.other);
    assert!(
        compared
            .sentence()
            .contains("I/O/s before saturation +100 %"),
        "{}",
        compared.sentence()
    );
    // One that is not saturated has none.
    let beyond = super::tests::compared(swept(3000.0), swept(1e9));
    assert!(beyond.cells.iter().all(|cell| cell.name != "saturation"));
}
