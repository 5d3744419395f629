//! Known answers of recoveries.
use super::*;

const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

/// Intervals of `length_ns` with a rate and a median each, as functions of their number.
fn moments(
    count: u64,
    length_ns: u64,
    rate: impl Fn(u64) -> u64,
    p50_ns: impl Fn(u64) -> u64,
) -> Vec<Moment> {
    let moment = |number: u64| Moment {
        start_ns: number * length_ns,
        end_ns: (number + 1) * length_ns,
        operations: rate(number) * length_ns / SECOND,
        p50_ns: p50_ns(number),
        p99_ns: 3 * p50_ns(number),
        p999_ns: 4 * p50_ns(number),
        ..Moment::default()
    };
    (0..count).map(moment).collect()
}

fn again_of(moments: &[Moment], mark_s: u64) -> Again {
    recovery(moments, None, Some(mark_s * SECOND), true)
        .unwrap()
        .again
}

#[test]
fn what_is_as_before_is_normal_again() {
    // Nothing for three seconds from 40 s on, then twice the rate for two seconds with long waits.
    let rate = |number: u64| match number {
        40..43 => 0,
        43..45 => 250,
        _ => 100,
    };
    let p50 = |number: u64| {
        if (43..45).contains(&number) {
            900 * MS
        } else {
            MS
        }
    };
    let all = moments(70, SECOND, rate, p50);
    let normal = Again::Normal {
        after_ns: 5 * SECOND,
    };
    assert_eq!(again_of(&all, 40), normal);
    // With finer intervals it is the same.
    let fine = moments(
        700,
        SECOND / 10,
        |number| rate(number / 10),
        |number| p50(number / 10),
    );
    assert_eq!(again_of(&fine, 40), normal);
    // Nothing that happens is normal at once.
    let even = moments(70, SECOND, |_| 100, |_| MS);
    assert_eq!(again_of(&even, 40), Again::Normal { after_ns: 0 });
}

#[test]
fn what_is_never_as_before_is_degraded() {
    let slower = moments(
        80,
        SECOND,
        |_| 100,
        |number| if number < 40 { MS } else { 1_350_000 },
    );
    let Again::Degraded { median, rate, .. } = again_of(&slower, 40) else {
        panic!("{:?}", again_of(&slower, 40))
    };
    assert!((median - 1.35).abs() < 1e-9 && (rate - 1.0).abs() < 1e-9);
    let words = recovery(&slower, None, Some(40 * SECOND), true)
        .unwrap()
        .words();
    assert_eq!(
        words,
        "degraded at 1.35 × the median response until the end; no I/O was late, none failed"
    );
}

#[test]
fn a_target_that_is_gone_is_not_called_degraded_and_chance_is_no_change() {
    let gone = moments(
        80,
        SECOND,
        |number| if number < 40 { 100 } else { 0 },
        |_| MS,
    );
    let words = recovery(&gone, None, Some(40 * SECOND), true)
        .unwrap()
        .words();
    assert!(
        words.starts_with("nothing succeeded any more until the end;"),
        "{words}"
    );
    // The rate came and went by a fifth before; at the end it is 1.1 ×, and what is not as before is the p99.
    let rate = |number: u64| match number {
        0..40 => 80 + 40 * (number % 2),
        _ => 110,
    };
    let mut all = moments(80, SECOND, rate, |_| MS);
    all[40..].iter_mut().for_each(|one| one.p99_ns = 10 * MS);
    let words = recovery(&all, None, Some(40 * SECOND), true)
        .unwrap()
        .words();
    assert!(
        words.starts_with("not as before for 10 s in a row until the end, with a p99"),
        "{words}"
    );
}

#[test]
fn too_little_before_or_after_tells_nothing() {
    let even = moments(70, SECOND, |_| 100, |_| MS);
    assert!(matches!(again_of(&even, 20), Again::Unknown(reason) if reason.contains("30 s")));
    assert!(matches!(again_of(&even, 65), Again::Unknown(reason) if reason.contains("10 s")));
    assert_eq!(recovery(&even, None, None, true), None, "nothing happened");
}

#[test]
fn what_was_late_and_failed_is_counted_after_it() {
    let mut all = moments(70, SECOND, |_| 100, |_| MS);
    all[10].errors = 5;
    all[41].errors = 2;
    all[41].above = [7, 3, 0, 0, 0];
    (all[41].backlog, all[42].backlog) = (50, 20);
    let told = recovery(&all, None, Some(40 * SECOND), true).unwrap();
    assert_eq!((told.failed, told.late, told.late_limit_ns), (2, 7, SECOND));
    assert_eq!(told.caught_up_ns, Some(3 * SECOND));
    // Where a tenth of a second and more was usual, a second is not late.
    all.iter_mut().for_each(|one| one.p999_ns = 300 * MS);
    let told = recovery(&all, None, Some(40 * SECOND), true).unwrap();
    assert_eq!((told.late, told.late_limit_ns), (3, 5 * SECOND));
}

#[test]
fn phases_are_those_of_what_happened() {
    let rate = |number: u64| if (40..43).contains(&number) { 0 } else { 100 };
    let all = moments(70, SECOND, rate, |_| MS);
    let told = recovery(&all, None, Some(40 * SECOND), true).unwrap();
    assert_eq!(
        told.again,
        Again::Normal {
            after_ns: 3 * SECOND
        }
    );
    let found = phases(&all, &told, None);
    let spans: Vec<(&str, u64, u64, f64)> = found
        .iter()
        .map(|one| (one.name, one.from_ns / SECOND, one.to_ns / SECOND, one.rate))
        .collect();
    assert_eq!(
        spans,
        [
            ("before", 0, 40, 100.0),
            ("until normal", 40, 43, 0.0),
            ("after", 43, 70, 100.0)
        ]
    );
}

#[test]
fn each_mark_has_a_row() {
    let rate = |number: u64| if (40..43).contains(&number) { 0 } else { 100 };
    let p50 = |number: u64| if number < 70 { MS } else { 2 * MS };
    let all = moments(100, SECOND, rate, p50);
    let marks = [(40, "pull"), (55, "plug"), (70, "pull")];
    let marks = marks.map(|(at_s, text)| (at_s * SECOND, text.to_owned()));
    let found = cycles(&all, &Standstills::default(), &marks);
    let after = |seconds: u64| Again::Normal {
        after_ns: seconds * SECOND,
    };
    let seen: Vec<Again> = found.iter().map(|one| one.again).collect();
    assert_eq!(seen[..2], [after(3), after(0)]);
    assert!(matches!(seen[2], Again::Degraded { median, .. } if (median - 2.0).abs() < 1e-9));
    assert_eq!(cycles(&all, &Standstills::default(), &marks[..1]), []);
}

#[test]
fn of_a_run_that_is_known_in_sums_nothing_is_said_to_be_normal_again() {
    let all = moments(70, SECOND, |_| 100, |_| MS);
    let recovery = recovery(&all, None, Some(40 * SECOND), true).unwrap();
    let phases = phases(&all, &recovery, None);
    assert_eq!(recovery.again, Again::Normal { after_ns: 0 });
    let happened = Happened {
        recovery: Some(recovery),
        phases,
        ..Happened::default()
    };
    let happened = happened.of_sums();
    assert!(happened.phases.is_empty());
    let recovery = happened.recovery.unwrap();
    assert!(
        recovery
            .words()
            .contains("is not known: the run is too long")
    );
    assert_eq!(recovery.caught_up_ns, None);
}

#[test]
fn what_never_came_back_counts_with_its_age() {
    let mut last = Moment::default();
    last.add(&[MS, 7 * SECOND, 40 * SECOND]);
    assert_eq!(last.above, [2, 2, 1, 1, 0]);
    assert_eq!(last.response.max_ns, 40 * SECOND);
}
