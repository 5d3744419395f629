//! The jobs: each has operations that others have not, or the same for another reason.
use crate::plans::*;
use door::model::{Model, ROOT, Tree};
use door::{Door, Grant, Grants, Intent};
use engine::sim::{ModelFiles, Opening, Script};
use plan::*;
use std::path::Path;
use std::sync::{Arc, Mutex};

pub struct Job {
    pub name: &'static str,
    pub plan: BoundPlan,
    pub script: Script,
    /// Made anew for each execution.
    pub files: Option<fn() -> World>,
}

/// A file system with one folder, and the right to use a file in it.
pub struct World {
    tree: Arc<Mutex<Tree>>,
    grants: Arc<Grants<Model>>,
}

const PATH: &str = "/a/target";

impl World {
    fn new() -> Self {
        let mut tree = Tree::new();
        tree.add_folder((ROOT, c"a".to_owned())).unwrap();
        let tree = Arc::new(Mutex::new(tree));
        let door = Arc::new(Door::over(Model::alone(&tree), 2));
        let approach = door.approach(Path::new(PATH), Intent::Write).unwrap();
        let object = approach.object.unwrap();
        let grant = Grant::issue(TargetId(0), Access::Create, object, approach.real_path);
        let grants = Arc::new(Grants::new(door, vec![grant]));
        Self { tree, grants }
    }

    pub fn files(&self) -> ModelFiles {
        ModelFiles::new(Arc::clone(&self.grants), Opening::ForRun)
    }

    /// What the file holds; nothing where it is gone.
    pub fn contents(&self) -> Option<String> {
        let tree = self.tree.lock().unwrap();
        let (_, inode) = tree.follow(Path::new(PATH), true).unwrap();
        inode.map(|inode| format!("{:?}", tree.node(inode)))
    }
}

pub fn all() -> Vec<Job> {
    vec![
        directions_and_targets(),
        arrivals_and_stalls(),
        what_a_schedule_leaves(),
        by_priority_and_in_proportion(),
        syncs(),
        record(true),
        record(false),
        read_backs_and_discards(),
        failures(),
        what_ends_a_stream(),
        lifetimes(),
        depth_search(),
        handover_and_priorities(),
        locks_and_balance(),
        what_vanishes(),
        what_comes_back_late(),
        names_and_space(),
    ]
}

fn jittery() -> Script {
    Script {
        jitter_ns: 35_000,
        ..Script::default()
    }
}

fn job(name: &'static str, plan: Plan) -> Job {
    Job {
        name,
        plan: bind_unreal(plan),
        script: jittery(),
        files: None,
    }
}

fn two_targets() -> Vec<Target> {
    vec![simulated(64 * MIB), simulated(96 * MIB)]
}

fn mix(read_pct: f64, trim_pct: f64) -> impl FnOnce(&mut Generator) {
    move |generator| {
        generator.operations = OperationMix {
            read_pct,
            write_pct: 100.0 - read_pct - trim_pct,
            trim_pct,
        };
    }
}

fn directions_and_targets() -> Job {
    let mut over_both = stream(1, 0, mix(40.0, 20.0));
    over_both.targets = vec![TargetId(1), TargetId(0)];
    let streams = vec![
        stream(0, 0, mix(50.0, 25.0)),
        over_both,
        stream(0, 1, |generator| {
            generator.order = sequential(SequentialEnd::Wrap);
            generator.transfer = PerDirection::all(TransferSizes::Uniform {
                min: 512,
                max: 16 * KIB,
                step: 512,
            });
        }),
    ];
    let mut warm = flat_out(60 * MS, 20 * MS);
    warm.timing.warmup = Nanos(20 * MS);
    job(
        "reads, writes and trims on two targets",
        plan(two_targets(), &[8, 5], streams, vec![warm]),
    )
}

fn arrivals_and_stalls() -> Job {
    let streams = vec![stream(0, 0, mix(60.0, 10.0)), stream(1, 1, mix(0.0, 0.0))];
    let runs = [30_000.0, 200_000.0].map(|per_second| {
        let law = ArrivalLaw::Exponential;
        at_rate(per_second, law, 60 * MS, 20 * MS)
    });
    Job {
        script: Script {
            stalls: vec![(25 * MS, 35 * MS)],
            ..jittery()
        },
        ..job(
            "arrivals, a stall and an overload",
            plan(two_targets(), &[6, 6], streams, runs.into()),
        )
    }
}

fn what_a_schedule_leaves() -> Job {
    let mut one = stream(0, 0, mix(50.0, 0.0));
    let per_second = PerDirection {
        read: Some(5_000.0),
        write: None,
        trim: None,
    };
    let law = ArrivalLaw::Deterministic;
    one.pacing = Pacing::Rate {
        per_second,
        law,
        in_bytes: false,
    };
    let run = run(Load::PerStream, law, 60 * MS, 20 * MS);
    let targets = vec![simulated(64 * MIB)];
    job(
        "reads at a rate, writes in what is left",
        plan(targets, &[4], vec![one], vec![run]),
    )
}

fn by_priority_and_in_proportion() -> Job {
    let mut urgent = stream(0, 0, mix(100.0, 0.0));
    urgent.priority = Some(1);
    urgent.pacing = Pacing::TotalRate {
        per_second: 8_000.0,
        law: ArrivalLaw::Exponential,
    };
    let mut other = stream(0, 1, mix(0.0, 30.0));
    other.priority = Some(2);
    other.pacing = Pacing::None;
    let run = run(Load::PerStream, ArrivalLaw::Exponential, 60 * MS, 20 * MS);
    let mut plan = plan(two_targets(), &[3], vec![urgent, other], vec![run]);
    plan.templates[0].pools[0].admission = PoolAdmission::Priority;
    plan.templates[0].coupling = Coupling::Priority;
    job("one stream before another", plan)
}

fn syncs() -> Job {
    let mut one = stream(0, 0, mix(30.0, 10.0));
    one.targets = vec![TargetId(0), TargetId(1)];
    one.stop.operations = Some(500);
    one.flow.syncs = Syncs {
        full_every: Some(24),
        data_every: Some(8),
        range_every: Some(3),
        at_end: true,
        ..Syncs::default()
    };
    one.flow.think = Some(Think {
        pause: Nanos(MS),
        after: Some(100),
        counts: ThinkCount::Completed,
        every: None,
        moves_schedule: false,
    });
    let runs = vec![until_done(5 * MS)];
    job(
        "syncs after writes and at the end, and pauses",
        plan(two_targets(), &[6], vec![one], runs),
    )
}

fn record(follows_times: bool) -> Job {
    const KINDS: [Operation; 6] = [
        Operation::Read,
        Operation::Write,
        Operation::Sync,
        Operation::Trim,
        Operation::Write,
        Operation::DataSync,
    ];
    let one = |number: u64| {
        let operation = KINDS[number as usize % KINDS.len()];
        let (offset, length) = match operation.is_sync() {
            true => (0, 0),
            false => (number * 37 % 1_000 * BLOCK, BLOCK as u32),
        };
        RecordedOperation {
            at: Nanos(number * 70_000),
            offset,
            length,
            place: (number % 2) as u16,
            operation,
        }
    };
    let operations: Vec<RecordedOperation> = (0..300).map(one).collect();
    let mut places = vec![RecordedPlace::default(); 2];
    for one in operations.iter().filter(|one| !one.operation.is_sync()) {
        let place = &mut places[usize::from(one.place)];
        place.note(one.operation, one.offset, u64::from(one.length));
    }
    let mut envelope = generator();
    mix(30.0, 20.0)(&mut envelope);
    let mut stream = stream(0, 0, |_| {});
    stream.targets = vec![TargetId(0), TargetId(1)];
    stream.source = OpSource::Replay(Replay {
        name: "record".into(),
        envelope,
        follows_times,
        count: operations.len() as u64,
        bytes: operations.iter().map(|one| u64::from(one.length)).sum(),
        places,
        grain_bytes: 512,
        operations: operations.into(),
    });
    let mut spec = until_done(10 * MS);
    spec.load = Load::PerStream;
    let name = match follows_times {
        true => "a record at its times",
        false => "a record as fast as it goes",
    };
    job(name, plan(two_targets(), &[3], vec![stream], vec![spec]))
}

/// On the file of a [`World`], which is made first.
fn on_a_file(name: &'static str, mut plan: Plan) -> Job {
    plan.targets = vec![target(Path::new(PATH), TargetKind::File, MIB)];
    let facts = Facts {
        same: Vec::new(),
        targets: vec![TargetFacts {
            found: FoundKind::Missing,
            bytes: 0,
            alignment: Alignment {
                offset: 512,
                memory: 512,
            },
            ram_backed: false,
        }],
    };
    Job {
        name,
        plan: bind(plan, &facts).unwrap(),
        script: jittery(),
        files: Some(World::new),
    }
}

fn read_backs_and_discards() -> Job {
    let mut one = stream(0, 0, fill);
    one.data.check = Some(Check {
        method: CheckMethod::Crc32c,
        block_bytes: BLOCK,
        address_bytes: 0,
        from_end: false,
        header_at: 0,
        pattern: None,
        reads: true,
        records: true,
        saves: false,
        dumps: false,
        any_write: false,
        backlog: Some(Backlog { after: 8, batch: 4 }),
        discards: Some(Discards {
            pct: 40.0,
            after: 10,
            batch: 3,
            reads_zeros: true,
        }),
    });
    let plan = plan(vec![], &[4], vec![one], vec![until_done(5 * MS)]);
    on_a_file("read-backs and discards between writes", plan)
}

fn failures() -> Job {
    let mut kept_apart = stream(1, 1, mix(50.0, 20.0));
    kept_apart.flow.keeps_apart = true;
    kept_apart.flow.syncs.full_every = Some(10);
    let streams = vec![stream(0, 0, mix(50.0, 20.0)), kept_apart];
    Job {
        script: Script {
            bad: vec![(MIB, 2 * MIB, 5)],
            short: vec![(8 * MIB, 16 * MIB)],
            ..jittery()
        },
        ..job(
            "errors and short transfers",
            plan(
                two_targets(),
                &[6, 6],
                streams,
                vec![flat_out(20 * MS, 10 * MS)],
            ),
        )
    }
}

fn what_ends_a_stream() -> Job {
    let mut slow = stream(0, 0, mix(0.0, 0.0));
    slow.flow.latency_most.write = Some(Nanos(130_000));
    let mut full = stream(1, 1, fill);
    full.stop.bytes = Some(MIB + 1024);
    full.flow.batches.refill_at = Some(2);
    full.flow.syncs.at_end = true;
    job(
        "a latency above its limit, and bytes that are reached",
        plan(
            two_targets(),
            &[1, 4],
            vec![slow, full],
            vec![until_done(5 * MS)],
        ),
    )
}

fn lifetimes() -> Job {
    let lasting = |warmup_ms: u64, window_ms: u64| Lifetime {
        warmup: Nanos(warmup_ms * MS),
        window: Some(Nanos(window_ms * MS)),
        ..Lifetime::default()
    };
    let mut first = stream(0, 0, mix(50.0, 10.0));
    first.lifetime = Some(lasting(7, 20));
    first.flow.syncs.data_every = Some(9);
    let mut second = stream(1, 1, mix(100.0, 0.0));
    second.start_delay = Nanos(4 * MS);
    second.pacing = Pacing::TotalRate {
        per_second: 9_000.0,
        law: ArrivalLaw::Exponential,
    };
    second.lifetime = Some(Lifetime {
        after: vec![0],
        ..lasting(3, 11)
    });
    let mut spec = until_done(10 * MS);
    spec.load = Load::PerStream;
    job(
        "streams with times of their own",
        plan(two_targets(), &[4, 4], vec![first, second], vec![spec]),
    )
}

fn depth_search() -> Job {
    let mut one = stream(0, 0, mix(50.0, 0.0));
    one.flow.depth_search = Some(DepthSearch {
        latency: Nanos(150_000),
        within_pct: 100.0,
        window: Nanos(5 * MS),
        goes_on: false,
    });
    one.lifetime = Some(Lifetime {
        window: Some(Nanos(100 * MS)),
        ..Lifetime::default()
    });
    let mut spec = until_done(20 * MS);
    spec.load = Load::PerStream;
    let targets = vec![simulated(64 * MIB)];
    Job {
        script: Script::default(),
        ..job(
            "a search of the depth",
            plan(targets, &[32], vec![one], vec![spec]),
        )
    }
}

fn handover_and_priorities() -> Job {
    let mut one = stream(0, 0, mix(50.0, 20.0));
    one.flow.syncs.full_every = Some(12);
    let mut plan = plan(
        two_targets(),
        &[6],
        vec![one],
        vec![flat_out(20 * MS, 10 * MS)],
    );
    plan.reporting.handover = true;
    let share = |direction: Direction, pct: u8, level: u8| PriorityShare {
        direction,
        length_bytes: None,
        pct,
        priority: IoPriority {
            class: 2,
            level,
            hint: 0,
        },
    };
    plan.templates[0].pools[0].priorities = vec![
        share(Direction::Read, 30, 3),
        share(Direction::Read, 20, 0),
        share(Direction::Write, 60, 0),
    ];
    job("how operations are handed over", plan)
}

fn locks_and_balance() -> Job {
    let locked = |lock: TargetLock| {
        let mut one = stream(0, 0, mix(50.0, 20.0));
        one.flow.lock = Some(lock);
        one
    };
    let weighed = |pool: usize, weight: f64| {
        let mut one = stream(pool, 1, mix(50.0, 0.0));
        one.flow.balance = Some(Balance {
            group: 0,
            weight,
            pause: Nanos(100_000),
        });
        one
    };
    let streams = vec![
        locked(TargetLock::Exclusive),
        locked(TargetLock::ReadWrite),
        weighed(1, 1.0),
        weighed(2, 3.0),
    ];
    let runs = vec![flat_out(20 * MS, 10 * MS)];
    job(
        "locks and weights",
        plan(two_targets(), &[3, 4, 4], streams, runs),
    )
}

fn what_vanishes() -> Job {
    let mut one = stream(0, 0, mix(40.0, 20.0));
    one.flow.syncs = Syncs {
        full_every: Some(6),
        data_every: Some(4),
        range_every: Some(3),
        ..Syncs::default()
    };
    let runs = vec![flat_out(20 * MS, 10 * MS)];
    Job {
        script: Script {
            vanishes_at_ns: Some(15 * MS),
            ..jittery()
        },
        ..job(
            "what never comes back",
            plan(two_targets(), &[12], vec![one], runs),
        )
    }
}

fn what_comes_back_late() -> Job {
    let mut one = stream(0, 0, mix(40.0, 20.0));
    one.flow.syncs.full_every = Some(4);
    let runs = vec![flat_out(20 * MS, 10 * MS)];
    Job {
        script: Script {
            stalls: vec![(15 * MS, 400 * MS)],
            ..jittery()
        },
        ..job(
            "what comes back well after the end",
            plan(two_targets(), &[12], vec![one], runs),
        )
    }
}

fn names_and_space() -> Job {
    let once = |operations: OperationMix, count: u64| {
        let mut one = stream(0, 0, |generator| generator.operations = operations);
        one.stop.operations = Some(count);
        one
    };
    let trims = OperationMix {
        read_pct: 0.0,
        write_pct: 0.0,
        trim_pct: 100.0,
    };
    let (reads, writes) = (OperationMix::reads(100.0), OperationMix::reads(0.0));
    let names = |call| Some(IoMethod::Names(call));
    let space = |call| Some(IoMethod::Space(call));
    let steps = [
        (names(NameCall::Make), once(reads, 2)),
        (names(NameCall::Look), once(reads, 3)),
        (names(NameCall::LookAtLink), once(reads, 3)),
        (names(NameCall::LookWhole), once(reads, 3)),
        (None, stream(0, 0, fill)),
        (None, once(OperationMix::reads(50.0), 20)),
        (space(SpaceCall::Reserve), once(reads, 5)),
        (space(SpaceCall::Reserve), once(writes, 5)),
        (space(SpaceCall::Reserve), once(trims, 5)),
        (space(SpaceCall::SetLength), once(writes, 5)),
        (names(NameCall::Remove), once(reads, 1)),
    ];
    let mut all = plan(vec![], &[], vec![], vec![]);
    all.templates.clear();
    for (place, (method, one)) in steps.into_iter().enumerate() {
        all.templates.push(RunTemplate {
            pools: vec![Pool { method, ..pool(3) }],
            streams: vec![one],
            coupling: Coupling::Independent,
        });
        let template = TemplateId(place as u32);
        all.runs.push(RunSpec {
            template,
            ..until_done(10 * MS)
        });
    }
    on_a_file("calls on names and on space", all)
}
