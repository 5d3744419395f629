//! Targets and jobs whose latencies are known, and how often chance makes one of many look uneven.
use crate::courses::{Courses, PartCourses};
use crate::steady::LatencyCourse;
use crate::testing::{Draw, SECOND, closed, figure};
use measure::{EngineSample, Figure, HostSample, Interval, IntervalPhase, LostParts, RunStarted};
use plan::{Label, Operation, StreamId, TargetId};

const MS: u64 = 1_000_000;

/// One stream on so many targets, or a job for each.
fn started(targets: u32, are_jobs: bool) -> RunStarted {
    let mut started = closed(0, &[]).started;
    let stream = started.streams.remove(0);
    let all: Vec<TargetId> = (0..targets).map(TargetId).collect();
    let of = |targets: &[TargetId], name: &str| {
        let mut stream = stream.clone();
        stream.targets = targets.to_vec();
        stream.labels = vec![Label::new("job", name)];
        stream
    };
    started.streams = match are_jobs {
        true => all
            .iter()
            .map(|id| of(&[*id], &format!("job{}", id.0)))
            .collect(),
        false => vec![of(&all, "job")],
    };
    started
}

/// Seconds in which each target has such I/Os.
fn courses(
    started: &RunStarted,
    seconds: u64,
    service_ns: &mut dyn FnMut(u32, u64) -> Vec<u64>,
) -> PartCourses {
    let mut courses = Courses::of(started);
    let targets: Vec<TargetId> = started
        .streams
        .iter()
        .flat_map(|one| one.targets.clone())
        .collect();
    for second in 0..seconds {
        let of_target = |id: &TargetId| {
            let values = service_ns(id.0, second);
            let stream = started
                .streams
                .iter()
                .position(|one| one.targets.contains(id));
            let mut figure: Figure = figure(0, Operation::Read, &values, &values);
            figure.key.target = *id;
            figure.key.stream = StreamId::at(stream.unwrap());
            figure
        };
        courses.add(&Interval {
            run: 0,
            unix_ns: 0,
            engine: EngineSample::default(),
            host: HostSample::default(),
            lost: LostParts::default(),
            within: Vec::new(),
            number: second as u32 + 1,
            start_ns: second * SECOND,
            end_ns: (second + 1) * SECOND,
            phase: IntervalPhase::Measured,
            figures: targets.iter().map(of_target).collect(),
        });
    }
    courses.end(started, &|id| format!("lun{}", id.0), &|id| id.0 == 0)
}

/// So many I/Os whose service times scatter around one.
fn around(draw: &mut Draw, mean_ns: u64, count: usize) -> Vec<u64> {
    let one = |_| (mean_ns as f64 * (0.5 + 0.5 * draw.exponential())) as u64;
    (0..count).map(one).collect()
}

#[test]
fn a_target_that_becomes_slower_is_named_with_its_time() {
    let mut draw = Draw(1);
    for targets in [2, 8, 64] {
        let mut service_ns = |id: u32, second: u64| {
            let is_slow = id == 1 && second >= 35;
            around(&mut draw, if is_slow { 20 * MS } else { 2 * MS }, 60)
        };
        let uneven = courses(&started(targets, false), 60, &mut service_ns)
            .uneven
            .unwrap();
        let told = format!("1 of {targets} targets (`lun1`) became ");
        assert!(uneven.starts_with(&told), "{uneven}");
        assert!(
            uneven.contains(" times slower, from 35 s on: a median of "),
            "{uneven}"
        );
    }
}

#[test]
fn targets_that_change_together_are_not_uneven() {
    let mut draw = Draw(2);
    for slow in [5, 8] {
        let mut service_ns = |id: u32, second: u64| {
            let is_slow = id < slow && second >= 35;
            around(&mut draw, if is_slow { 20 * MS } else { 2 * MS }, 60)
        };
        assert_eq!(
            courses(&started(8, false), 60, &mut service_ns).uneven,
            None
        );
    }
    // Nor is twice as long a step that one of many could not have by chance.
    let mut service_ns = |id: u32, second: u64| {
        let is_slow = id == 1 && second >= 35;
        around(&mut draw, if is_slow { 4 * MS } else { 2 * MS }, 60)
    };
    assert_eq!(
        courses(&started(8, false), 60, &mut service_ns).uneven,
        None
    );
}

#[test]
fn a_target_that_was_slower_all_the_time_is_named() {
    let mut draw = Draw(3);
    let mut service_ns = |id: u32, _: u64| {
        let is_slow = id == 7;
        around(&mut draw, if is_slow { 20 * MS } else { 2 * MS }, 60)
    };
    let uneven = courses(&started(64, false), 30, &mut service_ns)
        .uneven
        .unwrap();
    assert!(
        uneven.starts_with("1 of 64 targets (`lun7`) took "),
        "{uneven}"
    );
    assert!(
        uneven.contains(" times as long as the others: a median of "),
        "{uneven}"
    );
    // Jobs that differ have latencies that do.
    let apart = courses(&started(64, true), 30, &mut service_ns);
    assert_eq!((apart.uneven, apart.jobs.len()), (None, 64));
}

#[test]
fn a_job_whose_latency_changes_is_found_beside_another() {
    let mut draw = Draw(4);
    let mut service_ns = |id: u32, second: u64| {
        let is_slow = id == 1 && second >= 10;
        around(&mut draw, if is_slow { 11 * MS } else { MS }, 100)
    };
    let jobs = courses(&started(2, true), 20, &mut service_ns).jobs;
    assert_eq!(jobs[0].latency, None);
    assert!(
        matches!(jobs[1].latency, Some(LatencyCourse::Changed { .. })),
        "{jobs:?}"
    );
    let mut in_turn = |id: u32, second: u64| {
        let is_slow = id == 1 && second % 2 == 1;
        around(&mut draw, if is_slow { 11 * MS } else { MS }, 100)
    };
    let jobs = courses(&started(2, true), 16, &mut in_turn).jobs;
    assert_eq!(jobs[0].latency, None);
    assert!(
        matches!(jobs[1].latency, Some(LatencyCourse::Jumps { .. })),
        "{jobs:?}"
    );
}

#[test]
fn targets_with_few_ios_are_not_told() {
    let mut draw = Draw(5);
    let mut service_ns = |id: u32, _: u64| around(&mut draw, MS, if id < 3 { 2 } else { 60 });
    let courses = courses(&started(8, false), 20, &mut service_ns);
    // The first shares its storage with others.
    assert_eq!((courses.untold, courses.uneven), (Some((2, 8)), None));
}

/// The service times of a queue with one server that was busy for this share of the time for long, by seconds.
fn queue(draw: &mut Draw, busy: f64, per_s: u64, seconds: u64) -> Vec<Vec<u64>> {
    let service_s = busy / per_s as f64;
    let (mut due_s, mut free_s) = (0.0, 0.0);
    while draw.share() < busy {
        free_s += service_s * draw.exponential();
    }
    let mut all = vec![Vec::new(); seconds as usize];
    loop {
        due_s += draw.exponential() / per_s as f64;
        free_s = f64::max(free_s, due_s) + service_s * draw.exponential();
        match all.get_mut(free_s as usize) {
            Some(second) => second.push(((free_s - due_s) * 1e9) as u64),
            None => return all,
        }
    }
}

/// Nearly busy ones wander most.
#[test]
fn of_two_hundred_clean_runs_of_64_targets_two_are_uneven_at_most() {
    let started = started(64, false);
    let mut uneven = Vec::new();
    for seed in 0..200 {
        let mut draw = Draw(seed);
        let seconds: Vec<Vec<Vec<u64>>> = (0..64).map(|_| queue(&mut draw, 0.9, 40, 60)).collect();
        let mut service_ns = |id: u32, second: u64| seconds[id as usize][second as usize].clone();
        uneven.extend(courses(&started, 60, &mut service_ns).uneven);
    }
    assert!(uneven.len() <= 2, "{uneven:#?}");
}
