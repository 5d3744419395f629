//! Hosts that each do a part tell together what one machine tells that does all of it: histograms are added, and nothing
//! is averaged.
use crate::near::{Clocks, Far};
use crate::plans::*;
use crate::story::{Story, carry_out};
use conduct::{Control, Host, SimulatedHost};
use engine::sim::Script;
use fleet::Several;
use measure::{Event, IntervalPhase};
use plan::*;
use std::cell::RefCell;
use std::rc::Rc;

fn script() -> Script {
    Script {
        jitter_ns: 35_000,
        ..Script::default()
    }
}

/// Streams of three targets at one rate, one of them with a rate of its own.
fn parts(hosts: usize, load: &Load) -> BoundPlan {
    let target = |number: usize| Target {
        name: format!("t{number}"),
        host: format!("h{}", number % hosts.max(1)),
        ..simulated(1 << 20)
    };
    let share = |number| stream(number, number, operations(70.0));
    let own = Stream {
        pacing: Pacing::TotalRate {
            per_second: 700.0,
            law: ArrivalLaw::Exponential,
        },
        ..share(2)
    };
    let spec = RunSpec {
        load: load.clone(),
        ..flat_out(40_000_000, 10_000_000)
    };
    let streams = vec![share(0), share(1), own];
    let mut all = plan(
        (0..3).map(target).collect(),
        &[4, 4, 4],
        streams,
        vec![spec],
    );
    for (stream, share_pct) in all.templates[0].streams.iter_mut().zip([60.0, 40.0, 0.0]) {
        stream.share_pct = share_pct;
    }
    all.hosts = (0..hosts)
        .map(|number| PlanHost {
            name: format!("h{number}"),
            reach: None,
        })
        .collect();
    bind_unreal(all)
}

fn alone(plan: &BoundPlan) -> Story {
    carry_out(
        plan,
        &mut SimulatedHost::new(script(), 1),
        &Control::default(),
    )
}

fn parted(plan: &BoundPlan, hosts: u32) -> Story {
    parted_until(plan, hosts, None)
}

/// The line to the last one is cut after so long.
fn parted_until(plan: &BoundPlan, hosts: u32, cut_ns: Option<u64>) -> Story {
    let far = |host| {
        Far::of_host(
            host,
            &Rc::new(RefCell::new(SimulatedHost::new(script(), 1))),
        )
    };
    let all: Vec<Far> = (0..hosts).map(far).collect();
    cut_ns.iter().for_each(|ns| all[all.len() - 1].cut_in(*ns));
    let clocks = Clocks(all.iter().map(Far::clock).collect());
    let machines = all.into_iter().enumerate();
    let machines = machines.map(|(host, far)| (host as u32, Box::new(far) as Box<dyn Host>));
    let mut several = Several::new(clocks, machines);
    carry_out(plan, &mut several, &Control::default())
}

#[test]
fn hosts_together_tell_what_one_recorder_would() {
    let rate = Load::Rate {
        per_second: 9_000.0,
    };
    let steps = Load::Steps {
        steps: vec![(4_000.0, Nanos(10_000_000)), (9_000.0, Nanos(20_000_000))],
    };
    for load in [rate, steps, Load::FlatOut] {
        let one = alone(&parts(0, &load));
        for hosts in [2, 3] {
            let many = parted(&parts(hosts, &load), hosts as u32);
            let (one, many) = (one.intervals(0), many.intervals(0));
            assert_eq!(one.len(), many.len(), "{load:?}");
            for (one, many) in one.iter().zip(many) {
                let mut figures = one.figures.clone();
                figures.sort_by_key(|figure| figure.key);
                assert!(figures == many.figures, "{load:?} on {hosts} hosts");
                assert!(one.engine.streams == many.engine.streams, "{load:?}");
                assert_eq!(one.engine.pools, many.engine.pools, "{load:?}");
                assert_eq!(one.engine.in_flight, many.engine.in_flight);
            }
        }
    }
}

#[test]
fn averages_are_of_the_time_in_which_all_hosts_ran() {
    let load = Load::Rate {
        per_second: 9_000.0,
    };
    let plan = parts(3, &load);
    let whole = parted(&plan, 3);
    let cut = parted_until(&plan, 3, Some(50_000_000));
    let (whole, heard) = (whole.intervals(0), cut.intervals(0));
    let told: Vec<_> = heard
        .iter()
        .map(|one| (one.engine.told_by(), one.phase))
        .collect();
    let [measured, left] = [IntervalPhase::Measured, IntervalPhase::Warmup];
    assert_eq!(told, [(3, measured), (3, measured), (2, left)]);
    assert!(heard[0].figures == whole[0].figures && heard[1].figures == whole[1].figures);
    let mut ends = cut.events.iter().filter_map(|event| match event {
        Event::RunFinished(finished) => Some((finished.first_measured, finished.last_measured)),
        _ => None,
    });
    assert_eq!(ends.next(), Some((1, 2)));
}

/// The rate of a run is shared out over hosts, and streams that wait for others wait for those of their own host.
#[test]
fn work_on_named_hosts_is_asked_of_all_together() {
    let load = Load::Rate {
        per_second: 9_000.0,
    };
    let mut one = parts(0, &load).plan;
    one.templates[0].streams[2].pacing = Pacing::FromRun;
    one.templates[0].streams[1].lifetime = Some(Lifetime {
        ends: vec![2],
        window: Some(Nanos(20_000_000)),
        ..Lifetime::default()
    });
    let hosts = (0..3).map(|number| PlanHost {
        name: format!("h{number}"),
        reach: None,
    });
    let many = bind_unreal(one.on_hosts(hosts.collect()));
    assert_eq!(many.plan.targets.len(), 9);
    let names: Vec<&str> = many
        .plan
        .targets
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(names[3..5], ["t0@h1", "t1@h1"]);
    let run = many.run(many.runs[0]).run;
    let shares: f64 = run.streams.iter().map(|stream| stream.share_pct).sum();
    assert!((shares - 100.0).abs() < 1e-9);
    let ends = run.streams.iter().filter_map(|one| one.lifetime.as_ref());
    let ends: Vec<u32> = ends.flat_map(|lifetime| lifetime.ends.clone()).collect();
    assert_eq!(ends, [2, 5, 8]);
    for (place, stream) in run.streams.iter().enumerate() {
        assert_eq!(many.plan.host_of(stream), Some(place / 3));
    }
    let story = parted(&many, 3);
    let per_host: u64 = 9_000 / 3 * 40 / 1_000;
    for host in 0..3 {
        let of_host = |interval: &measure::Interval| -> u64 {
            let streams = interval.engine.streams.iter().skip(host * 3).take(3);
            streams.map(|stream| stream.scheduled).sum()
        };
        let scheduled: u64 = story.intervals(0).iter().map(|one| of_host(one)).sum();
        assert!(
            scheduled > per_host / 2 && scheduled <= per_host * 2,
            "{scheduled}"
        );
    }
}
