use super::*;
use crate::testing::{SECOND, closed, latency, open};
use measure::CpuTimes;
use measure::{Figure, FigureKey};
use plan::StreamId;
use proptest::prelude::*;

const MS: u64 = 1_000_000;

/// A point of a curve with 1000 values at this p99, that held the rate.
fn at(rate: f64, p99_ns: u64) -> CurvePoint {
    let mut point = point(&open(0, rate, &[p99_ns; 4], &[p99_ns; 4]));
    point.achieved_per_s = rate;
    point.response.p99 = Some(p99_ns);
    point.response.samples = 1000;
    point.is_generator_bound = false;
    point
}

#[test]
fn a_closed_loop_has_no_schedule_and_full_slots_are_no_fault() {
    let values: Vec<u64> = (1..=200).collect();
    let point = point(&closed(3, &values));
    assert_eq!(
        (point.run, point.operations, point.asked_per_s),
        (3, 200, None)
    );
    assert_eq!(
        (point.achieved_per_s, point.bytes_per_s),
        (200.0, 200.0 * 4096.0)
    );
    let expected = Percentiles {
        samples: 200,
        p50: Some(100),
        p90: Some(180),
        p99: Some(198),
        p99_9: Some(200),
        max: 200,
    };
    assert_eq!(point.response, expected);
    assert_eq!((point.service_ns_mean, point.service_ns_p99), (100.5, 198));
    assert_eq!((point.slots, point.slots_busy), (8, Some(8.0)));
    assert_eq!(
        point.exhausted,
        Exhausted {
            share: 1.0,
            busy: 8.0,
            slots: 8,
            is_exhausted: false,
            is_sign: false,
        }
    );
    assert_eq!((point.schedule, point.late), (None, None));
    assert_eq!(point.host_cpu_ns_per_operation, None);
}

#[test]
fn unserved_arrivals_are_in_the_response() {
    let mut totals = open(0, 100.0, &[1_000; 90], &[1_000; 90]);
    totals.streams[0].scheduled = 100;
    totals.streams[0].unserved = latency(&[SECOND; 10]);
    let point = point(&totals);
    assert_eq!(point.response.samples, 100);
    assert_eq!(point.response.p99, Some(SECOND));
    assert_eq!(point.service_ns_p99, 1_000);
}

#[test]
fn slots_are_exhausted_beyond_a_percent_of_the_time() {
    let mut totals = open(0, 100.0, &[1_000; 100], &[1_000; 100]);
    totals.pools[0].exhausted_ns = SECOND / 100;
    assert!(!point(&totals).exhausted.is_exhausted);
    totals.pools[0].exhausted_ns += 1_000_000;
    let exhausted = point(&totals).exhausted;
    assert!(exhausted.is_exhausted && (exhausted.share - 0.011).abs() < 1e-12);
    assert!(!exhausted.is_sign, "the rate is held: {exhausted:?}");
    totals.streams[0].scheduled = 200;
    assert!(point(&totals).exhausted.is_sign);
}

/// Beside the rate, a job that uses all slots of its own, as it is asked to.
fn beside_a_job_flat_out(totals: &RunTotals) -> RunTotals {
    let mut both = totals.clone();
    let flat_out = closed(0, &[2_000; 5_000]);
    both.started.streams.extend(flat_out.started.streams);
    both.started.streams[1].pool = 1;
    both.started.streams[0].asked_rate = both.started.asked_rate.take();
    both.started.pools.extend(flat_out.started.pools);
    both.pools.extend(flat_out.pools);
    both.streams.extend(flat_out.streams);
    let figure = Figure {
        key: FigureKey {
            stream: StreamId(1),
            ..flat_out.figures[0].key
        },
        ..flat_out.figures[0].clone()
    };
    both.figures.push(figure);
    both
}

#[test]
fn a_job_flat_out_is_no_part_of_a_schedule() {
    let mut held = open(0, 100.0, &[1_000; 100], &[1_000; 100]);
    let both = point(&beside_a_job_flat_out(&held));
    let alone = point(&held);
    assert_eq!((both.operations, both.slots), (5_100, 16));
    assert_eq!(both.exhausted, alone.exhausted);
    assert_eq!((both.schedule, both.late), (alone.schedule, alone.late));
    assert!(!both.exhausted.is_exhausted);
    // What the other job completes makes up for nothing.
    held.streams[0].scheduled = 200;
    assert!(point(&beside_a_job_flat_out(&held)).is_missed());
}

/// Whether a run with so many arrivals of which so many came back missed its rate.
fn is_missed(scheduled: u64, completed: u64, law: Option<ArrivalLaw>) -> bool {
    let mut totals = open(0, scheduled as f64, &[1_000], &[1_000]);
    totals.streams[0].scheduled = scheduled;
    totals.figures[0].operations = completed;
    totals.started.law = law;
    point(&totals).schedule.unwrap().is_missed
}

#[test]
fn a_rate_is_missed_beyond_half_a_percent_and_what_is_in_flight() {
    for law in [
        Some(ArrivalLaw::Exponential),
        Some(ArrivalLaw::Deterministic),
        None,
    ] {
        // Arrivals were counted, so that no chance is left: 0.5 % are 50.
        assert!(!is_missed(10_000, 9_950, law));
        assert!(is_missed(10_000, 9_949, law));
        // Eight slots may all be in use when the window ends.
        assert!(!is_missed(10, 2, law));
        assert!(is_missed(10, 1, law));
        assert!(!is_missed(10, 12, law));
    }
}

#[test]
fn arrivals_that_nobody_counted_may_be_fewer_by_chance() {
    let is_missed = |completed: u64, law| {
        let mut totals = open(0, 10_000.0, &[1_000], &[1_000]);
        totals.streams.clear();
        totals.figures[0].operations = completed;
        totals.started.law = law;
        point(&totals).is_missed()
    };
    // 3 √10000 = 300 is more than 0.5 % = 50.
    for law in [Some(ArrivalLaw::Exponential), None] {
        assert!(!is_missed(9_700, law));
        assert!(is_missed(9_699, law));
    }
    assert!(!is_missed(9_950, Some(ArrivalLaw::Deterministic)));
    assert!(is_missed(9_949, Some(ArrivalLaw::Deterministic)));
}

#[test]
fn failed_operations_did_come_back_and_missing_counts_follow_from_the_rate() {
    let mut totals = open(0, 10_000.0, &[1_000], &[1_000]);
    totals.streams.clear();
    totals.figures[0].operations = 9_000;
    totals.figures[0].errors = 1_000;
    let check = point(&totals).schedule.unwrap();
    assert_eq!(
        (check.scheduled, check.completed, check.is_missed),
        (10_000, 10_000, false)
    );
}

#[test]
fn lateness_counts_against_the_percentile_that_is_given_or_the_timer() {
    let mut totals = open(0, 4.0, &[400_000; 4], &[400_000; 4]);
    totals.streams[0].lateness = latency(&[50_000, 90_000, 110_000, 300_000]);
    let late_share = |totals: &RunTotals| point(totals).late.unwrap();
    assert_eq!(
        late_share(&totals),
        Late {
            limit_ns: 100_000,
            share: 0.5,
            free_share: None,
        }
    );
    totals.figures[0].response = latency(&[2_000_000; 4]);
    assert_eq!(
        late_share(&totals),
        Late {
            limit_ns: 200_000,
            share: 0.25,
            free_share: None,
        }
    );
    // One of the late ones found no slot.
    totals.streams[0].free_lateness = latency(&[50_000, 90_000, 300_000]);
    assert_eq!(late_share(&totals).free_share, Some(0.25));
}

#[test]
fn cpu_is_per_operation() {
    let mut totals = closed(0, &[1_000; 10]);
    totals.host.cpu = Some(CpuTimes {
        user_ns: 400,
        irq_ns: 100,
        idle_ns: 9_000,
        ..CpuTimes::default()
    });
    totals.host.fathom_system_ns = 50;
    let point = point(&totals);
    assert_eq!(point.host_cpu_ns_per_operation, Some(50.0));
    assert_eq!(point.fathom_cpu_ns_per_operation, Some(5.0));
}

#[test]
fn the_knee_is_where_latency_takes_off() {
    // Out of order, as a file may ask for them.
    let points = [
        at(90.0, 400),
        at(10.0, 100),
        at(100.0, 2_000),
        at(50.0, 110),
        at(80.0, 150),
    ];
    assert_eq!(knee(&points).unwrap().point, 4);
    assert_eq!(knee(&points[..3]), None, "three points tell nothing");
    let line: Vec<_> = (1..6)
        .map(|n| at(f64::from(n), u64::from(n as u32) * 10))
        .collect();
    assert_eq!(knee(&line), None);
    let flat: Vec<_> = (1..6).map(|n| at(f64::from(n), 100)).collect();
    assert_eq!(knee(&flat), None);
}

#[test]
fn only_points_that_show_the_storage_have_a_knee() {
    let mut points = vec![
        at(10.0, 100),
        at(50.0, 110),
        at(80.0, 150),
        at(90.0, 400),
        at(100.0, 2_000),
    ];
    let of_all = knee(&points).unwrap();
    assert_eq!(of_all.point, 2);
    // Beyond what the storage can do the rate stays and latency grows with the length of the run.
    let spoil: [fn(&mut CurvePoint); 5] = [
        |point| point.schedule.as_mut().unwrap().is_missed = true,
        |point| point.exhausted.is_exhausted = true,
        |point| point.is_stalled = true,
        |point| point.is_generator_bound = true,
        |point| point.schedule = None,
    ];
    for spoil in spoil {
        let mut more = points.clone();
        more.push(at(101.0, 100_000));
        more.push(at(99.0, 90_000));
        more[5..].iter_mut().for_each(spoil);
        assert_eq!(knee(&more), Some(of_all));
        more[2..].iter_mut().for_each(spoil);
        assert_eq!(knee(&more), None, "two points are left");
    }
    points[0].response.samples = 99;
    assert_ne!(knee(&points), Some(of_all), "its p99 is a guess");
}

#[test]
fn a_machine_that_is_late_or_taken_away_is_what_was_measured() {
    let late = |lateness_ns: u64| {
        let mut totals = open(0, 100.0, &[MS; 100], &[3 * MS; 100]);
        totals.streams[0].lateness = latency(&[lateness_ns; 100]);
        totals
    };
    assert!(!point(&late(MS)).is_generator_bound);
    let mut totals = late(2 * MS);
    assert!(point(&totals).is_generator_bound);
    // Whoever waits for a slot is late as well.
    totals.pools[0].exhausted_ns = SECOND;
    assert!(!point(&totals).is_generator_bound);
    let mut totals = late(0);
    totals.host.throttled_ns = Some(SECOND / 1000);
    assert!(!point(&totals).is_generator_bound);
    totals.host.throttled_ns = Some(SECOND / 1000 + 1);
    assert!(point(&totals).is_generator_bound);
    let mut totals = late(0);
    totals.host.cpu = Some(CpuTimes {
        idle_ns: 99,
        steal_ns: 1,
        ..CpuTimes::default()
    });
    assert!(!point(&totals).is_generator_bound);
    totals.host.cpu.as_mut().unwrap().steal_ns = 2;
    assert!(point(&totals).is_generator_bound);
}

#[test]
fn workers_that_wait_for_cpus_are_what_was_measured_in_a_closed_loop_too() {
    let waiting = |wait_ns: Option<u64>, busy_ns: u64, switches: u64| {
        let mut totals = closed(0, &[MS; 100]);
        totals.workers.workers = 2;
        totals.workers.usage.cpu_wait_ns = wait_ns;
        totals.workers.usage.context_switches = switches;
        totals.host.cpu = (busy_ns > 0).then(|| CpuTimes {
            user_ns: busy_ns,
            idle_ns: SECOND - busy_ns,
            ..CpuTimes::default()
        });
        point(&totals).is_generator_bound
    };
    assert!(!waiting(None, SECOND, 0));
    // Two workers have two seconds.
    assert!(!waiting(Some(SECOND / 2), 0, 0));
    assert!(waiting(Some(SECOND / 2 + 1), 0, 0));
    let (all, nearly) = (SECOND * 9 / 10 + 1, SECOND * 9 / 10);
    assert!(!waiting(Some(SECOND / 5 + 1), nearly, 0));
    assert!(waiting(Some(SECOND / 5 + 1), all, 0));
    assert!(!waiting(Some(SECOND / 5), all, 0));
    // A thousand wake-ups take twenty milliseconds.
    assert!(!waiting(Some(SECOND / 5 + 20 * MS), all, 1_000));
    assert!(waiting(Some(SECOND / 5 + 20 * MS + 1), all, 1_000));
}

#[test]
fn the_highest_rate_under_a_limit_needs_evidence() {
    let mut points = vec![at(10.0, 100), at(50.0, 200), at(80.0, 900), at(90.0, 150)];
    assert_eq!(highest_rate_under(&points, 200), Some(3));
    points[3].response.samples = 99;
    assert_eq!(highest_rate_under(&points, 200), Some(1));
    points[1].schedule = Some(ScheduleCheck {
        scheduled: 2_000,
        completed: 1_000,
        allowance: 100.0,
        is_missed: true,
    });
    assert_eq!(highest_rate_under(&points, 200), Some(0));
    assert_eq!(highest_rate_under(&points, 99), None);
    assert_eq!(highest_rate_under(&[], 99), None);
}

proptest! {
    #[test]
    fn the_knee_does_not_depend_on_units_or_order(
        mut values in proptest::collection::vec((1.0_f64..1e6, 1_u64..1_000_000), 4..12),
        turn in 0_usize..12,
    ) {
        let points: Vec<_> = values.iter().map(|(rate, p99)| at(*rate, *p99)).collect();
        let found = knee(&points).map(|knee| values[knee.point]);
        let turn = turn % values.len();
        values.rotate_left(turn);
        let scaled: Vec<_> = values.iter().map(|(rate, p99)| at(rate * 8.0, p99 * 4)).collect();
        prop_assert_eq!(knee(&scaled).map(|knee| values[knee.point]), found);
    }

    #[test]
    fn a_higher_limit_never_lowers_the_rate(
        values in proptest::collection::vec((1.0_f64..1e6, 1_u64..1000), 0..12),
        limit in 1_u64..1000,
        more in 0_u64..1000,
    ) {
        let points: Vec<_> = values.iter().map(|(rate, p99)| at(*rate, *p99)).collect();
        let rate = |limit| highest_rate_under(&points, limit).map_or(0.0, |place| points[place].achieved_per_s);
        prop_assert!(rate(limit) <= rate(limit + more));
    }
}

/// Something that never came back, with these ages.
fn never_back(service_ns: u64, response_ns: u64) -> measure::Unreturned {
    measure::Unreturned {
        key: closed(0, &[1]).figures[0].key,
        service_ns,
        response_ns,
    }
}

#[test]
fn a_point_has_what_was_reached_and_not_what_was_asked() {
    let mut totals = open(0, 1_000.0, &[1_000; 400], &[1_000; 400]);
    let reached = point(&totals);
    assert_eq!(
        (reached.asked_per_s, reached.achieved_per_s),
        (Some(1_000.0), 400.0)
    );
    assert_eq!((reached.slots, reached.slots_busy), (8, Some(1.0)));
    assert!(reached.has_service);
    assert_eq!(
        (reached.response_bound_ns, reached.service_bound_ns),
        (None, None)
    );
    totals.unreturned = vec![
        never_back(2 * SECOND, 3 * SECOND),
        never_back(SECOND, 4 * SECOND),
    ];
    let bounded = point(&totals);
    assert_eq!(
        (bounded.response_bound_ns, bounded.service_bound_ns),
        (Some(3 * SECOND), Some(SECOND))
    );
    totals.figures.clear();
    assert!(!point(&totals).has_service);
}

#[test]
fn what_is_lost_is_not_divided_by_the_time_of_all() {
    let mut totals = open(0, 1_000.0, &[1_000; 400], &[1_000; 400]);
    totals.length_ns = 4 * SECOND;
    totals.lost.slots.length_ns = 2 * SECOND;
    assert_eq!(point(&totals).slots_busy, Some(0.5));
    totals.lost.slots.length_ns = 4 * SECOND;
    assert_eq!(point(&totals).slots_busy, None);
    // Counts of a part of the arrivals would hide that the rate was missed.
    assert_eq!(point(&totals).schedule.unwrap().scheduled, 400);
    totals.lost.arrivals.intervals = 1;
    let check = point(&totals).schedule.unwrap();
    assert_eq!((check.scheduled, check.is_missed), (4_000, true));
    totals.started.asked_rate = None;
    assert_eq!(point(&totals).schedule, None);
}

#[test]
fn the_knee_and_the_highest_rate_go_by_the_p99_of_the_response() {
    let mut points: Vec<CurvePoint> = [(10.0, 1), (20.0, 1), (30.0, 1), (40.0, 2), (50.0, 100)]
        .map(|(rate, p99_ms)| at(rate, p99_ms * MS))
        .to_vec();
    let by_p99 = knee(&points).unwrap().point;
    for (place, point) in points.iter_mut().enumerate() {
        // By these the bend would lie at the second point.
        let other_ns = [1, 1, 60, 80, 100][place] * MS;
        (point.response.p50, point.service_ns_p99) = (Some(other_ns), other_ns);
    }
    assert_eq!(knee(&points).unwrap().point, by_p99);
    points
        .iter_mut()
        .for_each(|point| point.response.p50 = Some(MS));
    assert_eq!(highest_rate_under(&points, 50 * MS), Some(3));
}
