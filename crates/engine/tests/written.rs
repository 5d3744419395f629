//! What stands in a file after a pass is what was asked for.
mod plans;

use door::Grants;
use engine::{
    BLOCK_MARK, BackendKind, EngineConfig, Generations, Session, WorkerRule, open_targets,
};
use measure::DataFigures;
use plan::*;
use plans::{KIB, MS, SECOND, fill, flat_out, stream, target};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

const UNIT: u64 = 512;
const BLOCKS: u64 = 60_000;
const BYTES: u64 = BLOCKS * UNIT;

fn pool(across_targets: bool) -> DuplicatePool {
    DuplicatePool {
        ratio: 2.0,
        unit_bytes: UNIT,
        sets: SetCount::Percent(5.0),
        hot_sets: vec![(3, 40)],
        replace: ReplacePolicy::Alternate,
        across_targets,
        targets: vec![TargetId(0), TargetId(1)],
    }
}

/// A plan that writes each of the files once, `transfer` bytes at a time.
fn fill_plan(
    paths: &[PathBuf; 2],
    transfer: u64,
    data: DataSpec,
    change: impl Fn(&mut Plan),
) -> BoundPlan {
    let streams = [0, 1].map(|target| {
        let mut stream = stream(target, target, |generator| {
            fill(generator);
            generator.transfer = PerDirection::all(TransferSizes::Fixed(transfer));
        });
        stream.data = data;
        stream.share_pct = 50.0;
        stream
    });
    let template = RunTemplate {
        pools: vec![plans::pool(4), plans::pool(3)],
        streams: streams.to_vec(),
        coupling: Coupling::Independent,
    };
    let mut plan = Plan {
        targets: paths
            .iter()
            .map(|path| target(path, TargetKind::File, BYTES))
            .collect(),
        templates: vec![template],
        runs: vec![flat_out(60 * SECOND, SECOND)],
        seed: 5,
        ..Plan::default()
    };
    change(&mut plan);
    for target in &plan.targets {
        let file = std::fs::File::create(&target.path).unwrap();
        file.set_len(BYTES).unwrap();
    }
    let facts = Facts::of_unreal(&plan);
    bind(plan, &facts).unwrap()
}

/// What the engine says that it has sent.
fn write(plan: &BoundPlan, generations: &Generations, nonce: u64) -> Vec<DataFigures> {
    let run = plan.run(RunId(0));
    let clock = sys::clock::Clock::calibrate();
    let config = EngineConfig {
        backends: BackendKind::Sync.into(),
        workers: WorkerRule::Automatic,
        clock,
        cpus: 2,
        nonce,
        reap_group_max: 8,
    };
    let path = |at: usize| plan.plan.targets[at].path.as_path();
    let grants = Grants::unexamined((0..2).map(|at| (TargetId::at(at), path(at), Access::Write)));
    let targets = open_targets(plan, &run, &grants, usize::MAX).unwrap();
    let mut session =
        Session::prepare(plan, &run, &targets, None, None, generations, config).unwrap();
    session.start(clock.now_ns() + MS);
    while !session.is_done() {
        clock.sleep_until(clock.now_ns() + 5 * MS);
    }
    session.stop_at(clock.now_ns());
    assert!(session.drain(30 * SECOND, || false).outstanding.is_empty());
    assert_eq!(session.take_failures().0, []);
    session.data_written()
}

fn blocks(path: &Path) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(path).unwrap();
    assert_eq!(bytes.len() as u64, BYTES);
    bytes.chunks(UNIT as usize).map(<[u8]>::to_vec).collect()
}

fn stored<'a>(blocks: impl IntoIterator<Item = &'a Vec<u8>>) -> f64 {
    let mut count = 0.0;
    let mut seen = HashSet::new();
    for block in blocks {
        count += 1.0;
        seen.insert(block);
    }
    seen.len() as f64 / count
}

fn files(folder: &tempfile::TempDir) -> [PathBuf; 2] {
    ["a", "b"].map(|name| folder.path().join(name))
}

fn duplicates() -> DataSpec {
    DataSpec {
        duplicates: Some(Duplicates::ByAddress(DuplicatePoolId(0))),
        ..DataSpec::default()
    }
}

#[test]
fn duplicates_are_as_many_over_both_targets_and_unlike_after_a_rewrite() {
    let folder = tempfile::tempdir().unwrap();
    let paths = files(&folder);
    let generations = Generations::default();
    let plan = fill_plan(&paths, 64 * KIB, duplicates(), |plan| {
        plan.duplicate_pools = vec![pool(true)];
    });
    write(&plan, &generations, 1);
    let first = paths.each_ref().map(|path| blocks(path));
    let share = stored(first.iter().flatten());
    assert!((share - 0.5).abs() < 0.01, "{share}");
    let mut copies: HashMap<&Vec<u8>, u64> = HashMap::new();
    first
        .iter()
        .flatten()
        .for_each(|block| *copies.entry(block).or_default() += 1);
    for target in &first {
        let unique = target.iter().filter(|block| copies[block] == 1).count();
        let unique = unique as f64 / BLOCKS as f64;
        assert!((unique - 0.45).abs() < 0.01, "{unique}");
        assert!(target.iter().all(|block| block[..8] == BLOCK_MARK));
    }
    // 120 hot blocks lie on both in turn, and every set has its 40.
    assert!(
        first
            .iter()
            .all(|target| target[..60].iter().all(|block| copies[block] == 40))
    );

    write(&plan, &generations, 2);
    let second = paths.each_ref().map(|path| blocks(path));
    assert!((stored(second.iter().flatten()) - 0.5).abs() < 0.01);
    let pairs = |one: &[Vec<Vec<u8>>; 2], other: &[Vec<Vec<u8>>; 2]| {
        let pairs = one.iter().flatten().zip(other.iter().flatten());
        pairs.filter(|(one, other)| one == other).count()
    };
    assert_eq!(pairs(&first, &second), 0, "a rewrite changes every block");
    write(&plan, &generations, 3);
    let third = paths.each_ref().map(|path| blocks(path));
    let of_sets = |block: &&Vec<u8>| copies[block] > 1;
    let of_sets = first.iter().flatten().filter(of_sets).count();
    assert_eq!(
        pairs(&first, &third),
        of_sets,
        "only sets have a content again"
    );
}

#[test]
fn targets_by_themselves_have_the_share_each_and_equal_data() {
    let folder = tempfile::tempdir().unwrap();
    let paths = files(&folder);
    // Transfers that are no multiple of a unit of 1 KiB.
    let plan = fill_plan(&paths, 1536, duplicates(), |plan| {
        let mut pool = pool(false);
        pool.unit_bytes = 1024;
        plan.duplicate_pools = vec![pool];
    });
    write(&plan, &Generations::default(), 1);
    let found = paths.each_ref().map(|path| blocks(path));
    assert!(found[0] == found[1]);
    let units: Vec<Vec<u8>> = found[0].chunks(2).map(<[Vec<u8>]>::concat).collect();
    let share = stored(&units);
    assert!((share - 0.5).abs() < 0.01, "{share}");
}

#[test]
fn plain_data_are_never_the_same_twice() {
    let folder = tempfile::tempdir().unwrap();
    let paths = files(&folder);
    let plan = fill_plan(&paths, 4 * KIB, DataSpec::default(), |_| {});
    let mut seen = HashSet::new();
    for nonce in [1, 2] {
        write(&plan, &Generations::default(), nonce);
        for block in paths.iter().flat_map(|path| blocks(path)) {
            assert!(seen.insert(block));
        }
    }
}

#[test]
fn a_pattern_stands_at_its_addresses() {
    let folder = tempfile::tempdir().unwrap();
    let paths = files(&folder);
    for marks in [PatternMarks::None, PatternMarks::EachBlock] {
        let data = DataSpec {
            pattern: Some(PatternId(0)),
            ..DataSpec::default()
        };
        let plan = fill_plan(&paths, 4 * KIB, data, |plan| {
            plan.patterns = vec![WritePattern {
                bytes: b"0123456789abcdefghijklmn".to_vec(),
                addresses: Vec::new(),
                restart_bytes: 0,
                anchor: PatternAnchor::Address {
                    period_bytes: 1 << 20,
                },
                marks,
            }];
        });
        write(&plan, &Generations::default(), 1);
        let bytes = std::fs::read(&paths[0]).unwrap();
        let head = if marks == PatternMarks::None { 0 } else { 16 };
        for (at, byte) in bytes.iter().enumerate().filter(|(at, _)| at % 4096 >= head) {
            assert_eq!(*byte, b"0123456789abcdefghijklmn"[at % (1 << 20) % 24]);
        }
        assert_eq!(bytes[..8] == BLOCK_MARK, marks == PatternMarks::EachBlock);
    }
}

#[test]
fn what_was_sent_is_measured_as_it_stands_there() {
    let folder = tempfile::tempdir().unwrap();
    let paths = files(&folder);
    for (across, compression) in [(true, 1.0), (true, 3.0), (false, 2.0)] {
        let data = DataSpec {
            compression_ratio: compression,
            ..duplicates()
        };
        let plan = fill_plan(&paths, 64 * KIB, data, |plan| {
            plan.duplicate_pools = vec![DuplicatePool {
                unit_bytes: 1024,
                ..pool(across)
            }];
        });
        let found = write(&plan, &Generations::default(), 1);
        let [kind] = &found[..] else {
            panic!("one kind of data: {found:?}");
        };
        assert_eq!((kind.block_bytes, kind.asked_duplicates), (1024, Some(2.0)));
        let blocks = (BLOCKS * UNIT * 2 / 1024) as f64;
        assert!((kind.blocks / blocks - 1.0).abs() < 0.01, "{kind:?}");
        let duplicates = kind.duplicates().unwrap();
        assert!((duplicates - 2.0).abs() < 0.06, "{duplicates}");
        let found = kind.compression().unwrap();
        // Units of 1 KiB at 64 KiB a transfer: copies within a chunk compress as well, and of so few
        // transfers a handful is sampled, which other threads decide.
        assert!(
            (0.95..1.35).contains(&(found / compression)),
            "{found} of {compression}"
        );
    }
}

#[test]
fn only_the_last_write_of_an_address_counts() {
    let folder = tempfile::tempdir().unwrap();
    let paths = files(&folder);
    let plan = fill_plan(&paths, 4 * KIB, DataSpec::default(), |plan| {
        for stream in &mut plan.templates[0].streams {
            let OpSource::Generator(generator) = &mut stream.source else {
                unreachable!("a generator");
            };
            generator.order = AddressOrder::Random(RandomLaw::Uniform);
            stream.stop.operations = Some(4 * BYTES / 4096);
        }
    });
    let found = write(&plan, &Generations::default(), 1);
    // Of addresses drawn four times each on average, 1 − e⁻⁴ are hit.
    let hit = 2.0 * (BYTES / 4096) as f64 * (1.0 - (-4.0_f64).exp());
    assert!((found[0].blocks / hit - 1.0).abs() < 0.01, "{found:?}");
    let contents = found[0].contents.unwrap();
    assert!((contents / found[0].blocks - 1.0).abs() < 0.05, "{found:?}");
    assert!((found[0].compression().unwrap() - 1.0).abs() < 0.02);
}

#[test]
fn data_of_no_duplicates_are_measured_by_the_heads_of_their_sectors() {
    let folder = tempfile::tempdir().unwrap();
    let paths = files(&folder);
    for (refresh, compression) in [
        (Refresh::EachWrite, 1.0),
        (Refresh::EachWrite, 4.0),
        (Refresh::Stamps, 1.0),
        (Refresh::Stamps, 4.0),
        // Buffers go out as they are, again and again.
        (Refresh::Never, 1.0),
    ] {
        let data = DataSpec {
            refresh,
            compression_ratio: compression,
            ..DataSpec::default()
        };
        let plan = fill_plan(&paths, 64 * KIB, data, |_| {});
        let found = write(&plan, &Generations::default(), 1);
        let stand = paths.each_ref().map(|path| std::fs::read(path).unwrap());
        let whole = stand.iter().flat_map(|bytes| bytes.chunks_exact(4096));
        let distinct = whole.collect::<HashSet<_>>().len() as f64;
        let measured = found[0].contents.unwrap();
        let room = (distinct * 0.15).max(64.0);
        assert!(
            (measured - distinct).abs() < room,
            "{refresh:?}: {measured} of {distinct}"
        );
    }
}
