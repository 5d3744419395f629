//! Known answers of recoveries.
use super::*;
use measure::Gap;
use plan::TargetId;

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
        response: responses(p50_ns(number), 3 * p50_ns(number)),
        ..Moment::default()
    };
    (0..count).map(moment).collect()
}

fn responses(p50_ns: u64, p99_ns: u64) -> LatencyFigures {
    let mut all = [p50_ns; 100];
    all[95..].fill(p99_ns);
    LatencyFigures::of(&all)
}

fn marks(all: &[(u64, &str)]) -> Vec<(u64, String)> {
    let mark = |(at_s, text): &(u64, &str)| (at_s * SECOND, (*text).to_owned());
    all.iter().map(mark).collect()
}

fn gap(from_ns: u64, to_ns: u64) -> Gap {
    Gap {
        target: TargetId(0),
        from_ns,
        to_ns,
    }
}

/// Of a run that stood still then, the longest first.
fn course_of(moments: &[Moment], gaps: &[Gap], all: &[(u64, &str)]) -> Option<Course> {
    let standstills = Standstills::of(gaps);
    Course::of(
        moments,
        (gaps.first().copied(), &standstills),
        &marks(all),
        None,
    )
}

fn marked(moments: &[Moment], mark_s: u64) -> Recovery {
    let course = course_of(moments, &[], &[(mark_s, "it")]).unwrap();
    recovery(moments, &course, None)
}

fn again_of(moments: &[Moment], mark_s: u64) -> Again {
    marked(moments, mark_s).again
}

fn after(ms: u64) -> Again {
    Again::Normal { after_ns: ms * MS }
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
fn while_fathom_itself_stood_still_nobody_saw_when_it_was_normal() {
    // Stopped for five seconds from 42 s on; what came back meanwhile is seen in the first interval after that.
    let rate = |number: u64| match number {
        42..47 => 0,
        47 => 600,
        _ => 100,
    };
    let p50 = |number: u64| if number == 47 { 2_000 * MS } else { MS };
    let mut all = moments(90, SECOND, rate, p50);
    assert_eq!(again_of(&all, 40), after(8_000));
    let pause = |from_ns: u64, to_ns: u64| measure::Pause { from_ns, to_ns };
    // Too short to matter; told while I/Os were seen.
    note_pause(&mut all, &pause(42 * SECOND, 42_500 * MS));
    note_pause(&mut all, &pause(50 * SECOND, 55 * SECOND));
    assert_eq!(again_of(&all, 40), after(8_000));
    note_pause(&mut all, &pause(42_010 * MS, 47_010 * MS));
    let unknown = Again::Unknown("Fathom itself stood still meanwhile");
    assert_eq!(again_of(&all, 40), unknown);
    // A pause that came when all was normal again changes nothing, and neither does one before.
    assert_eq!(again_of(&all, 60), Again::Normal { after_ns: 0 });
    let paused: Vec<u64> = (0..90)
        .filter(|number| all[*number as usize].is_own_pause)
        .collect();
    assert_eq!(paused, [42, 43, 44, 45, 46]);
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
    assert!((median - 1.35).abs() < 0.01 && (rate - 1.0).abs() < 1e-9);
    let words = marked(&slower, 40).words();
    assert_eq!(
        words,
        "degraded at 1.35 × the median response until the end; no I/O took more than 1 s, none failed"
    );
}

#[test]
fn what_is_faster_is_not_degraded() {
    let p50 = |number| if number < 40 { MS } else { 650_000 };
    let words = marked(&moments(80, SECOND, |_| 100, p50), 40).words();
    let told = "faster until the end: 0.65 × the median response that it had been; ";
    assert!(words.starts_with(told), "{words}");
    let rate = |number| if number < 40 { 100 } else { 150 };
    let words = marked(&moments(80, SECOND, rate, p50), 40).words();
    let told = "not as before until the end: the rate was 1.50 ×, the median response 0.65 ×";
    assert!(words.starts_with(told), "{words}");
}

#[test]
fn a_target_that_is_gone_is_not_called_degraded_and_chance_is_no_change() {
    let gone = moments(
        80,
        SECOND,
        |number| if number < 40 { 100 } else { 0 },
        |_| MS,
    );
    let words = marked(&gone, 40).words();
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
    all[40..]
        .iter_mut()
        .for_each(|one| one.response = responses(MS, 10 * MS));
    let words = marked(&all, 40).words();
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
    assert_eq!(course_of(&even, &[], &[]), None, "nothing happened");
}

#[test]
fn what_was_late_and_failed_is_counted_after_it() {
    let mut all = moments(70, SECOND, |_| 100, |_| MS);
    all[10].errors = 5;
    all[41].errors = 2;
    all[41].above = [7, 3, 0, 0, 0];
    (all[41].backlog, all[42].backlog) = (50, 20);
    let told = marked(&all, 40);
    assert_eq!((told.failed, told.late, told.late_limit_ns), (2, 7, SECOND));
    assert_eq!(told.caught_up_ns, Some(3 * SECOND));
    // Where a tenth of a second and more was usual, a second is not late.
    all.iter_mut()
        .for_each(|one| one.response = responses(MS, 300 * MS));
    let told = marked(&all, 40);
    assert_eq!((told.late, told.late_limit_ns), (3, 5 * SECOND));
    // One interval of many does not make it usual.
    all.iter_mut()
        .for_each(|one| one.response = responses(MS, 3 * MS));
    all[5].response = LatencyFigures::of(&[3 * SECOND]);
    let told = marked(&all, 40);
    assert_eq!((told.late, told.late_limit_ns), (7, SECOND));
}

#[test]
fn phases_are_those_of_what_happened() {
    let rate = |number: u64| if (40..43).contains(&number) { 0 } else { 100 };
    let all = moments(70, SECOND, rate, |_| MS);
    let told = marked(&all, 40);
    assert_eq!(
        told.again,
        Again::Normal {
            after_ns: 3 * SECOND
        }
    );
    let course = course_of(&all, &[], &[(40, "it")]).unwrap();
    let found = phases_of(&all, &course, told.again);
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
    let texts = [(40, "pull"), (55, "plug"), (70, "pull")];
    let course = course_of(&all, &[], &texts).unwrap();
    let none = Standstills::default();
    let found = cycles(&all, &course, &none, &marks(&texts));
    let seen: Vec<Again> = found.iter().map(|one| one.again).collect();
    assert_eq!(seen[..2], [after(3000), after(0)]);
    assert!(matches!(seen[2], Again::Degraded { median, .. } if (median - 2.0).abs() < 0.01));
    assert_eq!(cycles(&all, &course, &none, &marks(&texts[..1])), []);
}

#[test]
fn it_is_not_normal_again_before_the_standstill_is_over() {
    // I/Os fail at once from 40.0 s to 44.0 s, and those that succeed in the interval where it ends look as before.
    let mut all = moments(800, SECOND / 10, |_| 1000, |_| MS);
    let still = [gap(40 * SECOND, 44 * SECOND)];
    let course = course_of(&all, &still, &[(40, "pull")]).unwrap();
    assert_eq!(recovery(&all, &course, None).again, after(4000));
    // From a mark that came while it stood still.
    let course = course_of(&all, &still, &[(42, "pulled it")]).unwrap();
    assert_eq!(
        (course.zero_ns, course.before_ns),
        (42 * SECOND, 40 * SECOND)
    );
    assert_eq!(recovery(&all, &course, None).again, after(2000));
    // What did not last is not *as before all the time*, be it as short as it may.
    let short = [gap(40 * SECOND, 40 * SECOND + 400 * MS)];
    let course = course_of(&all, &short, &[(40, "pull")]).unwrap();
    let words = recovery(&all, &course, None).words();
    assert!(
        words.starts_with("normal again 0.40 s after it;"),
        "{words}"
    );
    all.truncate(0);
    assert_eq!(course_of(&all, &[], &[]), None);
}

#[test]
fn what_happened_is_counted_from_the_mark_that_led_to_it() {
    let rate = |number: u64| if (60..63).contains(&number) { 0 } else { 100 };
    let all = moments(120, SECOND, rate, |_| MS);
    let still = [gap(60 * SECOND + 20 * MS, 63 * SECOND)];
    let texts = [(5, "the job runs"), (60, "pull"), (70, "plug")];
    let course = course_of(&all, &still, &texts).unwrap();
    assert_eq!(
        (course.zero_ns, course.before_ns),
        (60 * SECOND, 60 * SECOND)
    );
    let told = recovery(&all, &course, None);
    assert_eq!(
        (told.again, told.caught_up_ns),
        (after(3000), Some(3 * SECOND))
    );
    // Failures alone lead to the mark before them.
    let mut failing = moments(120, SECOND, |_| 100, |_| MS);
    failing[60].errors = 3;
    assert_eq!(
        course_of(&failing, &[], &texts).unwrap().zero_ns,
        60 * SECOND
    );
    // Where nothing came of any, the first is told of.
    let even = moments(120, SECOND, |_| 100, |_| MS);
    assert_eq!(course_of(&even, &[], &texts).unwrap().zero_ns, 5 * SECOND);
}

#[test]
fn what_repeats_is_compared_with_what_was_before_the_first_and_ends_with_the_next() {
    // Three times, the second for longest, with a noisy end of the first.
    let is_still = |number: u64| matches!(number, 40..43 | 60..64 | 80..82);
    let all = moments(
        100,
        SECOND,
        |number| if is_still(number) { 0 } else { 100 },
        |_| MS,
    );
    let gaps = [(60, 64), (40, 43), (80, 82)].map(|(from, to)| gap(from * SECOND, to * SECOND));
    let texts = [(40, "pull"), (60, "pull"), (80, "pull")];
    let course = course_of(&all, &gaps, &texts).unwrap();
    let times = (course.zero_ns, course.before_ns, course.until_ns);
    assert_eq!(times, (60 * SECOND, 40 * SECOND, 80 * SECOND));
    let told = recovery(&all, &course, None);
    let spans = phases_of(&all, &course, told.again);
    let spans: Vec<(&str, u64, u64)> = spans
        .iter()
        .map(|one| (one.name, one.from_ns / SECOND, one.to_ns / SECOND))
        .collect();
    let expected = [
        ("before", 0, 40),
        ("earlier", 40, 60),
        ("stood still", 60, 64),
        ("after", 64, 80),
        ("later", 80, 100),
    ];
    assert_eq!(spans, expected);
    let mut in_order = gaps;
    in_order.sort_by_key(|gap| gap.from_ns);
    let standstills = Standstills::of(&in_order);
    let found = cycles(&all, &course, &standstills, &marks(&texts));
    let seen: Vec<(Option<u64>, Again)> =
        found.iter().map(|one| (one.still_ns, one.again)).collect();
    let cycle = |seconds: u64| (Some(seconds * SECOND), after(seconds * 1000));
    assert_eq!(seen, [cycle(3), cycle(4), cycle(2)]);
}

#[test]
fn a_p99_that_comes_and_goes_by_itself_is_no_change() {
    // One second of ten has four times the p99, before it as after it.
    let mut all = moments(100, SECOND, |_| 20, |_| MS);
    for (number, one) in all.iter_mut().enumerate() {
        one.response = responses(MS, if number % 10 == 9 { 12 * MS } else { 3 * MS });
    }
    assert_eq!(again_of(&all, 40), after(0));
}

#[test]
fn of_a_run_that_is_known_in_sums_nothing_is_said_to_be_normal_again() {
    let all = moments(70, SECOND, |_| 100, |_| MS);
    let recovery = marked(&all, 40);
    let course = course_of(&all, &[], &[(40, "it")]).unwrap();
    let phases = phases_of(&all, &course, recovery.again);
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

#[test]
fn failures_are_followed_without_a_mark_and_a_dead_target_without_a_baseline() {
    // Three in ten fail from 40 s to 48 s, and nothing stands still.
    let mut all = moments(
        80,
        SECOND,
        |number| if (40..48).contains(&number) { 70 } else { 100 },
        |_| MS,
    );
    all[40..48].iter_mut().for_each(|one| one.errors = 30);
    let course = course_of(&all, &[], &[]).unwrap();
    assert_eq!((course.zero_ns, course.is_from_mark), (40 * SECOND, false));
    let found = recovery(&all, &course, None);
    assert_eq!((found.failed, found.again), (240, after(8_000)));
    assert!(found.words().contains("240 failed"), "{}", found.words());
    assert_eq!(phases_of(&all, &course, found.again).len(), 3);
    // Gone for good after nine seconds.
    let gone = moments(
        25,
        SECOND,
        |number| if number < 9 { 100 } else { 0 },
        |_| MS,
    );
    let course = course_of(&gone, &[gap(9 * SECOND, 25 * SECOND)], &[]).unwrap();
    let words = recovery(&gone, &course, None).words();
    assert!(
        words.starts_with("nothing succeeded any more until the end;"),
        "{words}"
    );
    // A run that fails from its beginning on says no more than that.
    let mut bad = moments(60, SECOND, |_| 50, |_| MS);
    bad.iter_mut().for_each(|one| one.errors = 50);
    let course = course_of(&bad, &[], &[]).unwrap();
    let words = recovery(&bad, &course, None).words();
    assert!(
        words.contains("is not known: less than 30 s were measured before"),
        "{words}"
    );
}
