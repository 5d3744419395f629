//! What the answers are about: runs on simulated storage whose every figure follows from the script.
use conduct::{Control, SimulatedHost, execute};
use engine::sim::Script;
use measure::{
    CpuTimes, DeviceCounters, DeviceSample, Event, ExecutionStarted, ExecutionTarget, FinishReason,
    HostEvidence, HostFacts, HostSample, IoLimit, LatencyFigures, Pause, StreamInfo,
    TargetIdentity,
};
use plan::*;
use std::path::Path;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;
const TARGET_BYTES: u64 = 16 << 20;
const SEARCH: SearchId = SearchId(0);

/// An execution of one stream.
#[derive(Clone)]
pub struct Scene {
    pub runs: Vec<(&'static str, Load)>,
    pub seconds: u64,
    pub warmup_seconds: u64,
    pub targets: u32,
    pub slots: u32,
    pub errors: ErrorBudget,
    /// Done to see what a failure costs.
    pub is_failover: bool,
    /// Of each run, where they differ.
    pub slots_of_runs: &'static [u32],
    pub law: ArrivalLaw,
    pub flow: Flow,
    pub script: Script,
    /// Each run again, so many times in all.
    pub times: u32,
    /// The service time that ends the search.
    pub stop_above_ns: Option<u64>,
    /// The user ends the execution after this interval.
    pub stopped_after: Option<u32>,
    /// By the record; whatever it says, the storage is simulated.
    pub backend: &'static str,
    /// Changes what happened into what a machine would have told beside it; false leaves an event out.
    pub tell: fn(&mut Event) -> bool,
    pub seed: u64,
}

/// What it left.
pub struct Story {
    pub events: Vec<Event>,
}

/// A name, and what it stands for.
pub type Named = (&'static str, fn() -> Scene);

pub const SCENES: &[Named] = &[
    ("a rate held by a storage that is half busy", || {
        scene("held", rate(1_000.0))
    }),
    ("a rate held by a storage that is nearly busy", || Scene {
        seconds: 60,
        script: served_by(1, 9 * MS),
        ..scene("busy", rate(100.0))
    }),
    ("a rate held for five seconds by few I/Os", || Scene {
        seconds: 5,
        ..scene("few", rate(10.0))
    }),
    ("an I/O at a time that takes three seconds", || Scene {
        slots: 1,
        seconds: 30,
        script: served_by(1, 3 * SECOND),
        ..scene("slow", Load::FlatOut)
    }),
    ("flat out", flat_out),
    ("three hosts of which one is slow", || Scene {
        tell: |event| on_hosts(event, 4),
        ..scene("spread", rate(1_000.0))
    }),
    ("three hosts that are alike", || Scene {
        tell: |event| on_hosts(event, 1),
        ..scene("spread", rate(1_000.0))
    }),
    ("pauses between closed loops", || Scene {
        flow: Flow {
            think: Some(Think {
                pause: Nanos(10 * MS),
                after: Some(8),
                counts: ThinkCount::Completed,
                every: None,
                moves_schedule: false,
            }),
            ..Flow::default()
        },
        ..flat_out()
    }),
    ("more than the slots can carry", || Scene {
        slots: 8,
        script: served_by(64, 20 * MS),
        ..scene("beyond", rate(1_000.0))
    }),
    (
        "more than the slots can carry, from before the window",
        || Scene {
            slots: 8,
            seconds: 3,
            warmup_seconds: 5,
            script: served_by(64, 20 * MS),
            ..scene("before", rate(1_000.0))
        },
    ),
    ("more than the device can carry", || Scene {
        script: served_by(4, 10 * MS),
        ..scene("beyond", rate(1_000.0))
    }),
    ("a little more than the device can carry", || Scene {
        law: ArrivalLaw::Deterministic,
        seconds: 60,
        script: served_by(1, 10_200_000),
        ..scene("beyond", rate(100.0))
    }),
    ("a stall", || Scene {
        script: stalled(5_500 * MS, 8_600 * MS),
        ..scene("stalled", rate(1_000.0))
    }),
    ("a stall each minute, with one slot", || Scene {
        seconds: 120,
        slots: 1,
        script: Script {
            stalls: [10, 70]
                .map(|second| (second * SECOND, (second + 1) * SECOND))
                .into(),
            ..served_by(1, MS / 10)
        },
        ..scene("minutes", rate(1_000.0))
    }),
    ("a rate on a device that goes away", || Scene {
        slots: 4,
        script: Script {
            vanishes_at_ns: Some(3 * SECOND),
            ..served_by(8, MS)
        },
        ..scene("going", rate(1_000.0))
    }),
    ("a stall that outlives the run", || Scene {
        seconds: 5,
        script: stalled(0, 6 * SECOND),
        ..scene("late", rate(100.0))
    }),
    ("a device that never answers", || Scene {
        seconds: 5,
        slots: 4,
        script: Script {
            vanishes_at_ns: Some(0),
            ..Script::default()
        },
        ..scene("gone", rate(100.0))
    }),
    ("a closed loop on a device that never answers", || Scene {
        seconds: 5,
        slots: 4,
        script: Script {
            vanishes_at_ns: Some(0),
            ..Script::default()
        },
        ..scene("gone", Load::FlatOut)
    }),
    ("a device that goes away after three seconds", || Scene {
        script: stalled(3 * SECOND, 25 * SECOND),
        ..flat_out()
    }),
    ("threads that wake five milliseconds late", || {
        waking_late(5 * MS)
    }),
    ("a processor that is taken away now and then", taken_away),
    (
        "a processor that is taken away while the slot is in use",
        || Scene {
            tell: |event| waiting_for_cpus(event, 150 * MS),
            ..standing_still()
        },
    ),
    ("a device that holds some I/Os up", standing_still),
    ("a stall on a busy host", || Scene {
        script: stalled(5_500 * MS, 8_600 * MS),
        tell: |event| waiting_for_cpus(event, 50 * MS),
        ..scene("busy", rate(1_000.0))
    }),
    ("a rate held with one slot", || Scene {
        slots: 1,
        script: served_by(1, 800_000),
        ..scene("one", rate(1_000.0))
    }),
    ("threads that wake late without a device", || Scene {
        backend: "null",
        ..waking_late(5 * MS)
    }),
    ("more than the slots can carry without a device", || Scene {
        slots: 8,
        backend: "null",
        script: served_by(64, 20 * MS),
        ..scene("beyond", rate(1_000.0))
    }),
    ("rates behind a run that prepares", || Scene {
        runs: vec![
            ("preparing", rate(1_000.0)),
            ("first", rate(1_000.0)),
            ("second", rate(1_000.0)),
        ],
        slots: 8,
        script: served_by(64, 20 * MS),
        tell: with_preparation,
        ..scene("", Load::FlatOut)
    }),
    ("flat out after a run that prepares", || Scene {
        runs: vec![("preparing", Load::FlatOut), ("flat", Load::FlatOut)],
        tell: with_preparation,
        ..flat_out()
    }),
    ("threads that wake a little late", || waking_late(50_000)),
    ("a device that becomes slower", || {
        changing(|second| (2 * SECOND + second * 100 * MS) / 1000)
    }),
    ("a device that becomes quicker", || {
        changing(|second| (4 * SECOND - second * 100 * MS) / 1000)
    }),
    ("a device whose credits are spent", || {
        changing(|second| if second < 6 { 2 * MS } else { 400 * MS })
    }),
    ("a device that takes turns", || {
        changing(|second| (2 + second % 2) * MS)
    }),
    ("bad blocks", || Scene {
        script: Script {
            bad: vec![(0, TARGET_BYTES / 10, 5)],
            ..served_by(8, 2 * MS)
        },
        ..scene("bad", rate(1_000.0))
    }),
    ("bad blocks beyond what is allowed", || Scene {
        errors: ErrorBudget::Count(50),
        script: Script {
            bad: vec![(0, TARGET_BYTES / 10, 5)],
            ..served_by(8, 2 * MS)
        },
        ..scene("bad", rate(1_000.0))
    }),
    ("a failover in which I/Os fail", || {
        failover(Script {
            fast_failures: vec![(40 * SECOND, 44 * SECOND, 5)],
            ..served_by(8, MS)
        })
    }),
    ("a failover on a host that wakes up late", || {
        failover(Script {
            wakes_late_ns: 5 * MS,
            ..stalled(40 * SECOND, 40 * SECOND + 800 * MS)
        })
    }),
    ("a failover with few slots", || Scene {
        slots: 2,
        ..failover(Script {
            service_changes_ns: vec![(40 * SECOND, 100 * MS), (60 * SECOND, MS)],
            ..served_by(8, MS)
        })
    }),
    ("a failover in which nothing happens", || {
        failover(served_by(8, MS))
    }),
    ("short transfers", || Scene {
        script: Script {
            short: vec![(0, TARGET_BYTES / 10)],
            ..served_by(8, 2 * MS)
        },
        ..scene("short", rate(1_000.0))
    }),
    ("killed", || Scene {
        tell: |event| !matches!(event, Event::RunFinished(_) | Event::ExecutionFinished(_)),
        ..scene("killed", rate(1_000.0))
    }),
    ("stopped", || Scene {
        stopped_after: Some(5),
        ..scene("stopped", rate(1_000.0))
    }),
    ("a curve", || curve(&[10.0, 30.0, 50.0, 70.0, 80.0, 90.0])),
    ("a curve with points beyond the storage", || {
        curve(&[10.0, 30.0, 50.0, 70.0, 80.0, 90.0, 105.0, 120.0, 150.0])
    }),
    ("a curve of few points that were held", || {
        curve(&[10.0, 50.0, 90.0, 105.0, 120.0, 150.0])
    }),
    ("a curve that ends by its service time", || Scene {
        stop_above_ns: Some(3 * MS),
        ..curve(&[10.0, 90.0, 10.0])
    }),
    ("two rates", || Scene {
        runs: vec![("slow", rate(500.0)), ("fast", rate(2_000.0))],
        ..scene("", Load::FlatOut)
    }),
    ("a rate repeated", || Scene {
        times: 3,
        seconds: 5,
        ..scene("again", rate(1_000.0))
    }),
    ("a rate that is to settle", || {
        settling(served_by(8, 2 * MS))
    }),
    ("a rate that cannot settle", || {
        settling(changing(|second| (2 + second % 2 * 2) * MS).script)
    }),
    ("a host whose processors are stolen", || Scene {
        tell: |event| with_cpu(event, 300 * MS, 40 * MS),
        ..scene("stolen", rate(1_000.0))
    }),
    ("a host whose neighbours are busy", || Scene {
        tell: |event| with_cpu(event, 300 * MS, 0),
        ..scene("neighbours", rate(1_000.0))
    }),
    ("a host that is busy with Fathom", || Scene {
        tell: |event| with_cpu(event, 1_700 * MS, 0),
        ..scene("own", rate(1_000.0))
    }),
    ("a host that is busy with Fathom and other machines", || {
        Scene {
            tell: |event| with_cpu(event, 1_300 * MS, 400 * MS),
            ..scene("shared", rate(1_000.0))
        }
    }),
    ("a host that counts by ticks", || Scene {
        tell: |event| {
            with_cpu(event, 300 * MS, 0);
            with_host(event, |host| {
                host.cpu = Some(CpuTimes {
                    user_ns: 100 * MS,
                    idle_ns: 1_900 * MS,
                    ..CpuTimes::default()
                });
            })
        },
        ..scene("ticks", rate(1_000.0))
    }),
    ("a control group that is throttled", || Scene {
        tell: |event| with_host(event, |host| host.throttled_ns = Some(50 * MS)),
        ..scene("throttled", rate(1_000.0))
    }),
    ("reads that memory answers", || Scene {
        tell: |event| on_disk(event, |_| {}, Some(0)),
        backend: "psync",
        ..scene("cached", rate(1_000.0))
    }),
    ("reads that a disk answers", || Scene {
        tell: |event| on_disk(event, |_| {}, Some(1 << 30)),
        backend: "psync",
        ..scene("fetched", rate(1_000.0))
    }),
    ("a raw device that tells no counters", || Scene {
        tell: |event| {
            on_disk(
                event,
                |target| target.identity.kind = "block device".into(),
                None,
            )
        },
        backend: "uring",
        ..scene("blind", rate(1_000.0))
    }),
    ("a file with holes", || Scene {
        tell: |event| {
            on_disk(
                event,
                |target| target.hole_bytes = Some(TARGET_BYTES / 2),
                Some(0),
            )
        },
        backend: "uring",
        ..scene("holes", rate(1_000.0))
    }),
    ("a thin volume that was never written", || Scene {
        tell: |event| {
            if let Event::Interval(interval) = event {
                let sample = &mut interval.engine.hosts[0].targets[0].sampled;
                (sample.reads, sample.zeros) = (100, 94);
            }
            let is_device = |target: &mut ExecutionTarget| {
                target.identity.kind = "block device".into();
            };
            on_disk(event, is_device, Some(1 << 30))
        },
        backend: "uring",
        ..scene("thin", rate(1_000.0))
    }),
    ("1 to 16 threads on one head", || {
        sweep(served_by(1, 310_000))
    }),
    ("1 to 16 threads on an array", || {
        sweep(served_by(64, 500_000))
    }),
    ("512 slots flat out on a storage of 486 channels", || {
        Scene {
            slots: 512,
            seconds: 10,
            script: served_by(486, 5 * MS),
            ..scene("array", Load::FlatOut)
        }
    }),
    ("flat out for nine seconds", || Scene {
        seconds: 9,
        ..flat_out()
    }),
    ("flat out for ten seconds", || Scene {
        seconds: 10,
        ..flat_out()
    }),
    ("flat out where nothing tells of CPUs", || Scene {
        tell: |event| {
            if let Event::Interval(interval) = event {
                interval.engine.workers.usage.cpu_wait_ns = None;
            }
            true
        },
        ..flat_out()
    }),
    ("a rate held by a model of storage", || Scene {
        backend: "sim",
        ..scene("model", rate(1_000.0))
    }),
    ("a latency that steps in ten seconds", || Scene {
        seconds: 10,
        ..changing_beneath(rate(100.0), |second| if second < 5 { MS } else { 10 * MS })
    }),
    ("a rate that steps in ten seconds", || Scene {
        seconds: 10,
        ..changing(|second| if second < 5 { MS } else { 10 * MS })
    }),
    ("a latency in turn for sixteen seconds", || Scene {
        seconds: 16,
        ..changing_beneath(rate(100.0), |second| (1 + second % 2 * 10) * MS)
    }),
    ("Fathom stopped for five seconds", || Scene {
        script: stalled(5 * SECOND, 10 * SECOND),
        tell: |event| paused(event, 4_990, 10_000),
        ..scene("stopped", rate(1_000.0))
    }),
    ("Fathom stopped on a busy host", || Scene {
        slots: 1,
        script: Script {
            stalls: vec![(5 * SECOND, 10 * SECOND)],
            ..served_by(1, MS / 10)
        },
        tell: |event| taken_by_others(event) && paused(event, 4_990, 10_000),
        ..scene("stopped", rate(1_000.0))
    }),
    ("a heartbeat that was late for a moment", || Scene {
        tell: |event| paused(event, 9_000, 9_300),
        ..scene("beat", rate(1_000.0))
    }),
    ("submitting calls that wait", || Scene {
        tell: |event| submitting(event, 120 * MS),
        ..flat_out()
    }),
    ("submitting calls that return", || Scene {
        tell: |event| submitting(event, 90 * MS),
        ..flat_out()
    }),
    ("a disk that another program reads as much", || Scene {
        tell: |event| with_neighbour(event, 1.1),
        ..scene("neighbour", rate(1_000.0))
    }),
    ("a disk that another program reads a little", || Scene {
        tell: |event| with_neighbour(event, 0.9),
        ..scene("neighbour", rate(1_000.0))
    }),
    ("a control group with a limit that was reached", || Scene {
        tell: |event| limited(event, 4_100),
        ..flat_out()
    }),
    ("a control group with a limit that was not reached", || {
        Scene {
            tell: |event| limited(event, 4_400),
            ..flat_out()
        }
    }),
    (
        "a control group beside others that move more than its limit",
        || Scene {
            tell: |event| {
                limited(event, 5_000);
                with_host(event, |host| {
                    host.devices[0].counters.reads *= 20;
                    host.devices[0].counters.read_bytes *= 20;
                })
            },
            ..flat_out()
        },
    ),
    ("80 jobs with 32 I/Os each", || Scene {
        slots: 80 * 32,
        seconds: 12,
        script: served_by(64, MS),
        ..scene("array", Load::FlatOut)
    }),
    ("a rate whose latency jumps from second to second", || {
        changing_beneath(rate(500.0), |second| (1 + second % 2 * 4) * MS)
    }),
    ("a rate whose latency steps up", || {
        changing_beneath(rate(500.0), |second| (1 + second / 20 * 4) * MS)
    }),
    ("a device that jumps from second to second", || {
        changing(|second| (2 + second % 2 * 4) * MS)
    }),
    (
        "a rate that a hundred percent of the time is too much",
        || Scene {
            law: ArrivalLaw::Deterministic,
            slots: 256,
            seconds: 60,
            script: served_by(1, 12 * MS),
            ..scene("saturated", rate(100.0))
        },
    ),
    ("a failure after which all is as before", || {
        failing(3 * SECOND, None)
    }),
    ("a failure after which latency stays higher", || {
        failing(3 * SECOND, Some(1_350_000))
    }),
    ("a device that says that it is gone", || Scene {
        tell: goes_offline,
        ..failing(3 * SECOND, None)
    }),
    ("a rebuild for a while in a closed loop", || Scene {
        slots: 16,
        ..rebuilding("thread_bound", Load::FlatOut)
    }),
    ("a rebuild for a while beneath a rate", || Scene {
        slots: 64,
        ..rebuilding("rate_bound", rate(1_000.0))
    }),
    ("a rebuild beneath a rate", || Scene {
        seconds: 30,
        slots: 256,
        script: Script {
            service_changes_ns: vec![(0, 2 * MS), (15 * SECOND, 9 * MS)],
            ..served_by(1, 0)
        },
        ..scene("rebuild", rate(80.0))
    }),
    ("flat out while other programs have the processors", || {
        Scene {
            tell: |event| taken_by_others(event),
            ..flat_out()
        }
    }),
    ("flat out, and other programs begin half-way", || Scene {
        tell: |event| match event {
            Event::Interval(interval) if interval.number > 10 => taken_by_others(event),
            _ => with_host(event, |host| host.fathom_user_ns = 500 * MS),
        },
        ..changing(|second| if second < 10 { 2 * MS } else { 30 * MS })
    }),
    ("flat out on processors that Fathom keeps busy", || Scene {
        tell: |event| with_cpu(event, 1_700 * MS, 0) && waiting_for_cpus(event, 80 * MS),
        ..flat_out()
    }),
    ("flat out by threads that wake up often", || Scene {
        tell: |event| {
            if let Event::Interval(interval) = event {
                interval.engine.workers.usage.context_switches = 40_000;
            }
            waiting_for_cpus(event, 400 * MS)
        },
        ..flat_out()
    }),
    ("a curve while other programs have the processors", || {
        Scene {
            tell: |event| taken_by_others(event),
            ..curve(&[10.0, 30.0, 50.0, 70.0, 80.0, 90.0])
        }
    }),
    ("flat out without a device", || Scene {
        backend: "null",
        ..flat_out()
    }),
    ("a curve without a device", || Scene {
        backend: "null",
        ..curve(&[10.0, 30.0, 50.0, 70.0, 80.0, 90.0])
    }),
    ("a curve of a file with holes", || Scene {
        tell: |event| {
            let sparse = |target: &mut ExecutionTarget| target.hole_bytes = Some(TARGET_BYTES);
            on_disk(event, sparse, Some(0))
        },
        backend: "uring",
        ..curve(&[10.0, 30.0, 50.0, 70.0, 80.0, 90.0])
    }),
    ("two rates, of which one is sent late", || Scene {
        runs: vec![("slow", rate(500.0)), ("fast", rate(1_000.0))],
        tell: |event| late_in(event, &[(1, 200)]),
        ..scene("", Load::FlatOut)
    }),
    ("two rates that are sent late, one of them always", || {
        Scene {
            runs: vec![("slow", rate(500.0)), ("fast", rate(1_000.0))],
            tell: |event| late_in(event, &[(0, 20), (1, 900)]),
            ..scene("", Load::FlatOut)
        }
    }),
    (
        "two rates that are sent late, the slower one always",
        || Scene {
            runs: vec![("slow", rate(500.0)), ("fast", rate(1_000.0))],
            tell: |event| late_in(event, &[(0, 450), (1, 20)]),
            ..scene("", Load::FlatOut)
        },
    ),
    ("a disk in memory", || Scene {
        tell: |event| {
            if let Event::ExecutionStarted(started) = event {
                started.targets[0].identity.ram_backed = true;
                started.targets[0].identity.kind = "file".into();
            }
            true
        },
        backend: "psync",
        ..scene("memory", rate(1_000.0))
    }),
];

fn rate(per_second: f64) -> Load {
    Load::Rate { per_second }
}

/// Twenty seconds on eight servers of two milliseconds and thirty-two slots.
fn scene(name: &'static str, load: Load) -> Scene {
    Scene {
        runs: vec![(name, load)],
        seconds: 20,
        warmup_seconds: 0,
        targets: 1,
        slots: 32,
        errors: ErrorBudget::Unlimited,
        is_failover: false,
        slots_of_runs: &[],
        law: ArrivalLaw::Exponential,
        flow: Flow::default(),
        script: served_by(8, 2 * MS),
        times: 1,
        stop_above_ns: None,
        stopped_after: None,
        backend: "uring",
        tell: |_| true,
        seed: 7,
    }
}

/// The same for ten seconds, in which only what is large is told from chance.
pub fn clean_and_short(seed: u64) -> [Scene; 2] {
    clean(seed).map(|scene| Scene {
        seconds: 10,
        ..scene
    })
}

/// Nothing is wrong with these: a minute at 100 a second with slots for all, on a storage that is idle as a rule, and on one
/// server of exponential times that is busy for nine tenths of the time.
pub fn clean(seed: u64) -> [Scene; 2] {
    let of = |script| Scene {
        seed,
        seconds: 60,
        slots: 256,
        script,
        ..scene("clean", rate(100.0))
    };
    let busy = Script {
        is_exponential: true,
        ..served_by(1, 9 * MS)
    };
    [of(served_by(8, MS)), of(busy)]
}

fn failover(script: Script) -> Scene {
    Scene {
        is_failover: true,
        seconds: 100,
        script,
        ..scene("failover", rate(50.0))
    }
}

/// The last of so many targets, of which each has such a rate, answers nothing for 2.5 s.
pub fn hung(targets: u32, per_second: u32, is_hung: bool) -> Scene {
    let hang = (targets - 1, 5 * SECOND, 7 * SECOND + 500 * MS);
    Scene {
        targets,
        seconds: 12,
        slots: 4096,
        script: Script {
            hangs: if is_hung { vec![hang] } else { Vec::new() },
            ..served_by(8, MS)
        },
        ..scene("hung", rate(f64::from(targets * per_second)))
    }
}

fn served_by(servers: u32, service_ns: u64) -> Script {
    Script {
        servers,
        service_ns,
        ..Script::default()
    }
}

fn stalled(from_ns: u64, to_ns: u64) -> Script {
    Script {
        stalls: vec![(from_ns, to_ns)],
        ..served_by(8, MS)
    }
}

/// From 40 to 43 s, by its driver.
fn goes_offline(event: &mut Event) -> bool {
    if let Event::Interval(interval) = event {
        let state = match (41..=43).contains(&interval.number) {
            true => "offline",
            false => "running",
        };
        interval.host.devices[0].state = Some(state.to_owned());
    }
    true
}

/// Each I/O takes 1.48 times as long for half a minute.
fn rebuilding(name: &'static str, load: Load) -> Scene {
    Scene {
        seconds: 100,
        script: Script {
            service_changes_ns: vec![(0, 5 * MS), (40 * SECOND, 7_400_000), (70 * SECOND, 5 * MS)],
            ..served_by(16, 0)
        },
        ..scene(name, load)
    }
}

/// 500/s, of which nothing comes back for a while after 40 s; then each takes as long as before, or as is said.
fn failing(length_ns: u64, then_ns: Option<u64>) -> Scene {
    let (from_ns, to_ns) = (40 * SECOND, 40 * SECOND + length_ns);
    let changes = then_ns.map(|service_ns| (to_ns, service_ns));
    Scene {
        seconds: 70,
        slots: 4096,
        script: Script {
            service_changes_ns: changes.into_iter().collect(),
            ..stalled(from_ns, to_ns)
        },
        ..scene("failing", rate(500.0))
    }
}

fn flat_out() -> Scene {
    Scene {
        slots: 8,
        ..scene("flat", Load::FlatOut)
    }
}

fn waking_late(wakes_late_ns: u64) -> Scene {
    Scene {
        script: Script {
            wakes_late_ns,
            ..served_by(8, MS)
        },
        ..scene("waking", rate(100.0))
    }
}

/// A storage as quick as memory, and no processor for a quarter of the time: what came due meanwhile is sent
/// at once, and takes all slots for a moment.
fn taken_away() -> Scene {
    let absence = |number: u64| (number * 50 * MS, (number * 50 + 12) * MS);
    Scene {
        slots: 64,
        seconds: 5,
        script: Script {
            absences: (1..100).map(absence).collect(),
            ..served_by(8, 30_000)
        },
        ..scene("taken", rate(20_000.0))
    }
}

/// One slot, and one call in a hundred that comes back 20 ms late. Why, only those know who watch the threads.
fn standing_still() -> Scene {
    Scene {
        slots: 1,
        law: ArrivalLaw::Deterministic,
        script: Script {
            preemption: Some((100, 20 * MS)),
            ..served_by(1, 30_000)
        },
        ..scene("still", rate(1_000.0))
    }
}

/// In each second threads are ready to run for so long without a processor.
fn waiting_for_cpus(event: &mut Event, wait_ns: u64) -> bool {
    if let Event::Interval(interval) = event {
        interval.engine.workers.usage.cpu_wait_ns = Some(wait_ns);
    }
    true
}

/// In each second of these runs so many I/Os that found a free slot were sent a millisecond late.
fn late_in(event: &mut Event, runs: &[(u32, u64)]) -> bool {
    if let Event::Interval(interval) = event
        && let Some((_, count)) = runs.iter().find(|(run, _)| *run == interval.run)
    {
        for stream in &mut interval.engine.streams {
            let late_ns = |place| if place < *count { MS } else { 1_000 };
            stream.lateness.histogram = (0..stream.submitted).map(late_ns).collect();
            stream.free_lateness = Some(stream.lateness.clone());
        }
    }
    true
}

/// Flat out, with another service time in each second.
fn changing(service_ns: fn(u64) -> u64) -> Scene {
    Scene {
        slots: 8,
        seconds: 20,
        runs: vec![("flat", Load::FlatOut)],
        ..changing_beneath(Load::FlatOut, service_ns)
    }
}

fn changing_beneath(load: Load, service_ns: fn(u64) -> u64) -> Scene {
    let change = |second: u64| (second * SECOND, service_ns(second));
    Scene {
        seconds: 40,
        script: Script {
            service_changes_ns: (0..40).map(change).collect(),
            ..served_by(8, 0)
        },
        ..scene("changing", load)
    }
}

/// One server of a millisecond on average, of which the base reaches 1 000 a second.
fn curve(points_pct: &[f64]) -> Scene {
    const NAMES: [(f64, &str); 9] = [
        (10.0, "10 %"),
        (30.0, "30 %"),
        (50.0, "50 %"),
        (70.0, "70 %"),
        (80.0, "80 %"),
        (90.0, "90 %"),
        (105.0, "105 %"),
        (120.0, "120 %"),
        (150.0, "150 %"),
    ];
    let point = |pct: &f64| {
        let (_, name) = NAMES.iter().find(|(known, _)| known == pct).unwrap();
        (
            *name,
            Load::SearchPoint {
                search: SEARCH,
                pct: *pct,
            },
        )
    };
    let base = ("maximum", Load::SearchBase { search: SEARCH });
    Scene {
        runs: std::iter::once(base)
            .chain(points_pct.iter().map(point))
            .collect(),
        slots: 64,
        script: Script {
            jitter_ns: MS,
            ..served_by(1, MS / 2)
        },
        ..scene("", Load::FlatOut)
    }
}

fn settling(script: Script) -> Scene {
    Scene {
        script,
        flow: Flow {
            steady: Some(Steady {
                of: Amount::Operations,
                criterion: SteadyCriterion::Deviation,
                limit: 5.0,
                is_pct: true,
                samples: 5,
                every: Nanos(SECOND),
                after: Nanos(0),
                group: None,
            }),
            ..Flow::default()
        },
        ..flat_out()
    }
}

/// The first run prepares what the others measure.
fn with_preparation(event: &mut Event) -> bool {
    if let Event::RunStarted(started) = event
        && started.run == 0
    {
        started.kind = RunKind::Prepare;
    }
    true
}

/// Flat out with 1 to 16 slots.
fn sweep(script: Script) -> Scene {
    let names = ["1 slot", "2 slots", "4 slots", "8 slots", "16 slots"];
    Scene {
        runs: names.map(|name| (name, Load::FlatOut)).into(),
        slots_of_runs: &[1, 2, 4, 8, 16],
        seconds: 10,
        script,
        ..scene("", Load::FlatOut)
    }
}

/// A file on a disk, opened past the page cache; the disk and the kernel count what was asked for.
fn on_storage(event: &mut Event) {
    match event {
        Event::ExecutionStarted(started) => {
            for target in &mut started.targets {
                target.identity.kind = "file".into();
                target.identity.counted_devices = vec!["sda".into()];
            }
        }
        Event::RunStarted(started) => {
            let streams = started.streams.iter_mut();
            streams.for_each(|stream| stream.cache_mode = Some(CacheMode::Direct));
        }
        Event::Interval(interval) => {
            let bytes = |operation: Operation| {
                let figures = interval.figures.iter();
                let such = figures.filter(|one| one.key.operation == operation);
                such.map(|one| one.bytes).sum::<u64>()
            };
            let (read_bytes, written_bytes) = (bytes(Operation::Read), bytes(Operation::Write));
            interval.host.fathom_read_bytes = Some(read_bytes);
            interval.host.fathom_written_bytes = Some(written_bytes);
            interval.engine.workers.usage.cpu_wait_ns = Some(0);
            interval.host.devices = vec![DeviceSample {
                device: "sda".into(),
                counters: DeviceCounters {
                    read_bytes,
                    written_bytes,
                    ..DeviceCounters::default()
                },
                ..DeviceSample::default()
            }];
        }
        _ => {}
    }
}

/// A file on a disk, read through the page cache. The disk reads this many bytes per second; `None` if nothing counts them.
fn on_disk(event: &mut Event, change: fn(&mut ExecutionTarget), read_bytes: Option<u64>) -> bool {
    match event {
        Event::ExecutionStarted(started) => change(&mut started.targets[0]),
        Event::RunStarted(started) => {
            let streams = started.streams.iter_mut();
            streams.for_each(|stream| stream.cache_mode = Some(CacheMode::WriteBack));
        }
        Event::Interval(interval) => {
            interval.host.fathom_read_bytes = read_bytes;
            match read_bytes {
                Some(read_bytes) => interval.host.devices[0].counters.read_bytes = read_bytes,
                None => interval.host.devices.clear(),
            }
        }
        _ => {}
    }
    true
}

/// The same on three hosts, the last of which takes so many times as long, and has other memory then.
fn on_hosts(event: &mut Event, slower: u64) -> bool {
    let longer = |figures: &LatencyFigures| {
        let buckets = figures.histogram.buckets().iter().map(|bucket| {
            let (least, _) = measure::bucket_bounds(bucket.index as usize);
            measure::Bucket {
                index: measure::bucket_of(least * slower) as u32,
                count: bucket.count,
            }
        });
        LatencyFigures {
            sum_ns: figures.sum_ns * slower,
            max_ns: figures.max_ns * slower,
            histogram: measure::Histogram::from_buckets(buckets),
        }
    };
    match event {
        Event::ExecutionStarted(started) => {
            let facts = |(place, name): (u64, &str)| HostFacts {
                name: name.into(),
                memory_bytes: if place == 2 { 1 << 30 } else { slower << 30 },
                ..HostFacts::default()
            };
            started.hosts = (0..).zip(["east", "west", "north"]).map(facts).collect();
        }
        Event::RunStarted(started) => {
            let one = started.streams[0].clone();
            let on = |host| StreamInfo {
                host,
                ..one.clone()
            };
            started.streams = (0..3).map(on).collect();
        }
        Event::Interval(interval) => {
            let all = std::mem::take(&mut interval.figures);
            for host in 0..3 {
                interval.figures.extend(all.iter().map(|figure| {
                    let mut figure = figure.clone();
                    figure.key.stream = StreamId(host);
                    if host == 2 {
                        figure.service = longer(&figure.service);
                        figure.response = longer(&figure.response);
                    }
                    figure
                }));
            }
            let one = interval.engine.streams[0].clone();
            interval.engine.streams = vec![one; 3];
            let evidence = |host| HostEvidence {
                host,
                sample: Some(HostSample::default()),
                ..HostEvidence::default()
            };
            interval.engine.hosts = (0..3).map(evidence).collect();
        }
        _ => {}
    }
    true
}

/// In the tenth second it is told when the process did not run, in milliseconds.
fn paused(event: &mut Event, from_ms: u64, to_ms: u64) -> bool {
    if let Event::Interval(interval) = event
        && interval.number == 10
    {
        interval.engine.hosts[0].pauses = vec![Pause {
            from_ns: from_ms * MS,
            to_ns: to_ms * MS,
        }];
    }
    true
}

/// Submitting calls take so long in each second without using a CPU.
fn submitting(event: &mut Event, submit_ns: u64) -> bool {
    if let Event::Interval(interval) = event {
        interval.engine.workers.submit_ns = submit_ns;
    }
    true
}

/// Another program reads from the same disk, this many times the bytes that Fathom reads.
fn with_neighbour(event: &mut Event, times: f64) -> bool {
    if let Event::Interval(interval) = event {
        let counters = &mut interval.host.devices[0].counters;
        counters.read_bytes += (counters.read_bytes as f64 * times) as u64;
    }
    true
}

/// The control group may read so often in a second.
fn limited(event: &mut Event, reads_per_s: u64) -> bool {
    if let Event::Interval(interval) = event {
        let figures = interval.figures.iter();
        interval.host.devices[0].counters.reads = figures.map(|one| one.operations).sum();
        interval.host.io_max = vec![IoLimit {
            device: "sda".into(),
            reads_per_s: Some(reads_per_s),
            ..IoLimit::default()
        }];
    }
    true
}

fn with_host(event: &mut Event, change: fn(&mut HostSample)) -> bool {
    if let Event::Interval(interval) = event {
        change(&mut interval.host);
    }
    true
}

/// A second of two processors, nearly all of which other programs use while a thread is ready.
fn taken_by_others(event: &mut Event) -> bool {
    with_cpu(event, 100 * MS, 0);
    with_host(event, |host| {
        host.cpu = Some(CpuTimes {
            user_ns: 1_900 * MS,
            idle_ns: 100 * MS,
            ..CpuTimes::default()
        });
    });
    waiting_for_cpus(event, 800 * MS)
}

/// A second of two processors that are in use for nine tenths: by Fathom, by other machines, and by
/// neighbours on this one.
fn with_cpu(event: &mut Event, own_ns: u64, steal_ns: u64) -> bool {
    if let Event::Interval(interval) = event {
        interval.host.fathom_user_ns = own_ns;
        interval.host.cpu = Some(CpuTimes {
            user_ns: 1_800 * MS - steal_ns,
            idle_ns: 200 * MS,
            steal_ns,
            ..CpuTimes::default()
        });
    }
    true
}

impl Scene {
    fn plan(&self) -> Plan {
        let search = Search {
            points_pct: Vec::new(),
            stop: self.stop_above_ns.map(|at| StopSearch {
                service_above: Nanos(at),
            }),
        };
        let mut plan = Plan {
            targets: (1..=self.targets).map(target).collect(),
            templates: vec![self.template()],
            runs: (0..self.runs.len()).map(|place| self.spec(place)).collect(),
            searches: vec![search],
            seed: self.seed,
            ..Plan::default()
        };
        plan.steering.repeat = Repeat::Times(self.times);
        plan
    }

    fn template(&self) -> RunTemplate {
        let generator = Generator {
            operations: OperationMix::reads(100.0),
            transfer: PerDirection::all(TransferSizes::Fixed(4096)),
            order: AddressOrder::Random(RandomLaw::Uniform),
            region: Region::whole(4096, FirstBlock::Used),
            align: AlignRule::Transfer,
            sequences: Sequences::Shared,
            hits: None,
            redraws_sizes: false,
        };
        let stream = Stream {
            name: "stream".into(),
            targets: (0..self.targets).map(TargetId).collect(),
            target_order: TargetOrder::RoundRobin,
            pool: PoolId(0),
            source: OpSource::Generator(generator),
            pacing: Pacing::FromRun,
            flow: self.flow.clone(),
            share_pct: 100.0,
            priority: None,
            data: DataSpec::default(),
            open: None,
            stop: LocalStop::default(),
            start_delay: Nanos(0),
            seed: None,
            lifetime: None,
            labels: vec![Label::new("wd", "wd1")],
        };
        let pool = Pool::new("pool", self.slots);
        RunTemplate {
            pools: vec![pool],
            streams: vec![stream],
            coupling: Coupling::Independent,
        }
    }

    fn spec(&self, place: usize) -> RunSpec {
        let (name, load) = &self.runs[place];
        let slots = self.slots_of_runs.get(place).copied();
        RunSpec {
            name: (*name).into(),
            kind: RunKind::Measure,
            template: TemplateId(0),
            overrides: slots.map(Override::Slots).into_iter().collect(),
            coupling: None,
            load: load.clone(),
            law: self.law,
            timing: Timing {
                start: StartAlign::AtOnce,
                warmup: Nanos(self.warmup_seconds * SECOND),
                window: Window::For(Nanos(self.seconds * SECOND)),
                interval: Nanos(SECOND),
                first_interval: FirstInterval::Counted,
                pause_after: Nanos(0),
            },
            stop: RunStop {
                errors: self.errors,
                ..RunStop::default()
            },
            labels: match self.is_failover {
                true => vec![Label::new(Label::FAILOVER, "yes")],
                false => Vec::new(),
            },
            swept: Vec::new(),
            origin: Origin::Default("test".into()),
        }
    }

    /// Carries it out in simulated time.
    pub fn story(&self) -> Story {
        let plan = self.plan();
        let facts = Facts::of_unreal(&plan);
        let bound = bind(plan, &facts).unwrap();
        let mut story = Story { events: Vec::new() };
        story.take(started(&bound, self.backend), self.tell);
        let control = Control::default();
        let mut host = SimulatedHost::new(self.script.clone(), 1);
        let outcome = execute(&bound, &mut host, &control, &mut |event| {
            story.take(event.clone(), self.tell);
            match event {
                Event::Interval(interval) if self.stopped_after == Some(interval.number) => {
                    control.hurry();
                }
                _ => {}
            }
            Ok(())
        });
        assert!(
            !matches!(outcome.reason, FinishReason::Failed { .. }),
            "{outcome:?}"
        );
        story
    }
}

impl Story {
    fn take(&mut self, mut event: Event, tell: fn(&mut Event) -> bool) {
        on_storage(&mut event);
        if tell(&mut event) {
            self.events.push(event);
        }
    }
}

fn target(number: u32) -> Target {
    Target {
        name: format!("sd{number}"),
        host: "localhost".into(),
        shared_from: None,
        path: Path::new("nowhere").into(),
        kind: TargetKind::Simulated,
        size: SizeRule::Bytes(TARGET_BYTES),
        size_from_bytes: 0,
        open: OpenMode::default(),
        preparation: Preparation::AsFound,
        ledger: Ledger::None,
        origin: Origin::Default("test".into()),
    }
}

fn examined(target: &Target) -> ExecutionTarget {
    ExecutionTarget {
        name: target.name.clone(),
        path: "nowhere".into(),
        bytes: TARGET_BYTES,
        is_written: false,
        identity: TargetIdentity::default(),
        ..ExecutionTarget::default()
    }
}

fn started(bound: &BoundPlan, backend: &str) -> Event {
    Event::ExecutionStarted(ExecutionStarted {
        plan_json: serde_json::to_string(bound).unwrap(),
        targets: bound.plan.targets.iter().map(examined).collect(),
        time_zone: "UTC".into(),
        backend: backend.into(),
        ..ExecutionStarted::default()
    })
}
