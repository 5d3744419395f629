//! What longer spans add up to: the same as their intervals, bit by bit.
use super::draw::Draw;
use super::write;
use crate::Salvage;
use measure::{
    CpuTimes, DeviceCounters, DeviceSample, Event, Figure, HostEvidence, HostSample, Interval,
    NetworkSample, RunFinished, RunFold, RunStarted, RunTotals, WorkerSample,
};
use proptest::prelude::*;
use std::path::Path;

/// A run of this many intervals of this length, of which the first are of the warm-up.
fn run(draw: &mut Draw, count: u32, interval_ns: u64, warmup: u32) -> Vec<Event> {
    let started = std::iter::repeat_with(|| draw.event()).find_map(|event| match event {
        Event::RunStarted(started) => Some(RunStarted { run: 0, ..started }),
        _ => None,
    });
    let finished = std::iter::repeat_with(|| draw.event()).find_map(|event| match event {
        Event::RunFinished(finished) => Some(finished),
        _ => None,
    });
    let mut started = started.unwrap();
    let streams = started.streams.iter_mut().enumerate();
    streams.for_each(|(place, stream)| stream.host = place as u32 % 2);
    let is_of_several = draw.below(2) == 0;
    let mut events = vec![Event::RunStarted(started)];
    for number in 1..=count {
        let mut interval = draw.typical(number, 2, 20);
        interval.start_ns = u64::from(number - 1) * interval_ns;
        interval.end_ns = u64::from(number) * interval_ns;
        if number <= warmup {
            interval.phase = measure::IntervalPhase::Warmup;
        }
        interval.engine.workers = WorkerSample {
            workers: 2,
            cpu_ns: draw.below(1 << 30),
            reap_gap_max_ns: draw.below(1 << 30),
            ..WorkerSample::default()
        };
        interval.host = host(draw);
        if is_of_several {
            interval.engine.hosts = evidence(draw);
            let whole = HostEvidence::together(&interval.engine.hosts);
            interval.host = whole.expect("all tell");
            let told = |host: u32| interval.engine.hosts.iter().any(|one| one.host == host);
            let hosts = [told(0), told(1)];
            let is_told = |figure: &Figure| hosts[figure.key.stream.index() % 2];
            interval.figures.retain(is_told);
        }
        // A target that nothing was asked of for a while.
        if draw.below(3) == 0 {
            interval.figures.retain(|figure| figure.key.target.0 == 0);
        }
        events.push(Event::Interval(interval));
    }
    events.push(Event::RunFinished(RunFinished {
        run: 0,
        first_measured: warmup + 1,
        last_measured: count,
        outstanding: Vec::new(),
        late: Vec::new(),
        starts: Vec::new(),
        ..finished.unwrap()
    }));
    events
}

/// Of two hosts, of which one may be silent.
fn evidence(draw: &mut Draw) -> Vec<HostEvidence> {
    let one = |number: u32, draw: &mut Draw| HostEvidence {
        host: number,
        sample: Some(host(draw).of_host(&number.to_string())),
        ..HostEvidence::default()
    };
    match draw.below(4) {
        0 => vec![one(0, draw)],
        1 => vec![one(1, draw)],
        _ => vec![one(0, draw), one(1, draw)],
    }
}

fn host(draw: &mut Draw) -> HostSample {
    HostSample {
        cpu: (draw.below(3) > 0).then(|| CpuTimes {
            user_ns: draw.below(1 << 30),
            idle_ns: draw.below(1 << 30),
            ..CpuTimes::default()
        }),
        fathom_user_ns: draw.below(1 << 30),
        tcp_retransmits: (draw.below(2) > 0).then(|| draw.below(9)),
        temperature_mc: (draw.below(2) > 0).then(|| draw.below(90_000)),
        networks: vec![NetworkSample {
            interface: format!("eth{}", draw.below(2)),
            sent_bytes: (draw.below(2) > 0).then(|| draw.below(1 << 30)),
            ..NetworkSample::default()
        }],
        devices: vec![DeviceSample {
            device: format!("sd{}", draw.below(2)),
            counters: DeviceCounters {
                reads: draw.below(1000),
                ..DeviceCounters::default()
            },
            in_flight: (draw.below(2) > 0).then(|| draw.below(64)),
            state: None,
        }],
        ..HostSample::default()
    }
}

fn totals(events: impl Iterator<Item = Event>) -> RunTotals {
    let mut fold = RunFold::default();
    let found = events.filter_map(|event| fold.fold(&event)).last();
    found.expect("the run ends")
}

fn summed(path: &Path, most: u64) -> Vec<Event> {
    let mut salvage = Salvage::open(path).unwrap().summed_beyond(most);
    let events: Vec<Event> = (&mut salvage).collect();
    assert!(salvage.loss().is_none(), "{:?}", salvage.loss());
    events
}

fn intervals(events: &[Event]) -> Vec<&Interval> {
    let intervals = events.iter().filter_map(|event| match event {
        Event::Interval(interval) => Some(interval),
        _ => None,
    });
    intervals.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn sums_equal_their_intervals(
        seed in any::<u64>(), count in 1_u32..150, seconds in 1_u64..40, warmup in 0_u32..4
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("result.fathom");
        let events = run(&mut Draw(seed), count, seconds * 1_000_000_000, warmup);
        write(&path, &events).unwrap();
        let whole = totals(events.iter().cloned());
        for most in [0, 3, 1_000] {
            let read = summed(&path, most);
            let told: u32 = intervals(&read).iter().map(|one| one.count()).sum();
            prop_assert_eq!(told, count, "each interval once");
            prop_assert_eq!(&totals(read.into_iter()), &whole);
        }
        // The run as a whole stands in the file as well.
        let connection = rusqlite::Connection::open(&path).unwrap();
        let sql = "SELECT sum(operations), count(*) FROM span_figures WHERE level = 'run'";
        let (operations, rows): (Option<i64>, i64) =
            connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let counted: u64 = whole.figures.iter().map(|figure: &Figure| figure.operations).sum();
        if count.saturating_sub(warmup) > 1 {
            prop_assert_eq!(operations.unwrap_or(0).cast_unsigned(), counted);
            prop_assert_eq!(rows, whole.figures.len() as i64);
        }
    }
}

#[test]
fn a_sum_knows_its_intervals() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.fathom");
    let events = run(&mut Draw(5), 200, 1_000_000_000, 1);
    write(&path, &events).unwrap();
    let read = summed(&path, 100);
    let counts: Vec<u32> = intervals(&read).iter().map(|one| one.count()).collect();
    assert_eq!(counts, [1, 59, 60, 60, 20]);
    let briefs: Vec<_> = intervals(&read)
        .iter()
        .flat_map(|one| one.briefs())
        .collect();
    let singles: Vec<_> = intervals(&events)
        .iter()
        .flat_map(|one| one.briefs())
        .collect();
    assert_eq!(briefs, singles);
    // Runs with few intervals come as they are.
    assert_eq!(summed(&path, 200), events);
}

#[test]
fn a_killed_run_is_read_by_what_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.fathom");
    let mut events = run(&mut Draw(6), 150, 1_000_000_000, 0);
    events.pop();
    write(&path, &events).unwrap();
    let read = summed(&path, 100);
    let counts: Vec<u32> = intervals(&read).iter().map(|one| one.count()).collect();
    assert_eq!((counts[..2].to_vec(), counts.len()), (vec![60, 60], 32));
}
