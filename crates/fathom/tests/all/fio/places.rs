//! Where the I/O of jobs goes, beside where the installed fio says that its own goes.
use crate::lab::Lab;
use conduct::{Control, SimulatedHost};
use engine::sim::Script;
use lang::{Environment, MemoryFiles};
use measure::Event;
use plan::{ErrorBudget, Facts, SizeRule, TargetKind};
use std::path::Path;

/// One I/O: file, direction, offset.
type Place = (String, String, u64);

/// For jobs that are only simulated.
const NOWHERE: &str = "/nowhere";

fn job(options: &str, folder: impl AsRef<Path>) -> String {
    let folder = folder.as_ref().display();
    let common = format!("[j]\ndirectory={folder}\nbs=4k\nioengine=psync\n");
    common + &options.replace(' ', "\n") + "\n"
}

/// On simulated storage that refuses everything, and so tells of everything.
fn ours(text: &str) -> Vec<Place> {
    let files = MemoryFiles::default();
    let input = lang::fio::Input::Text {
        name: "job".to_owned(),
        bytes: text.as_bytes().to_vec(),
    };
    let reading = lang::fio::read(&[input], &[], &Environment::bare(&files));
    let mut plan = reading.plan.expect("it can be run");
    for target in &mut plan.targets {
        target.kind = TargetKind::Simulated;
        target.preparation = plan::Preparation::AsFound;
        assert!(matches!(target.size, SizeRule::Bytes(_)));
    }
    plan.runs.retain(|run| run.kind == plan::RunKind::Measure);
    plan.runs[0].stop.errors = ErrorBudget::Unlimited;
    let streams = plan.templates.iter_mut().flat_map(|one| &mut one.streams);
    streams.for_each(|stream| stream.flow.tolerance = None);
    let facts = Facts::of_unreal(&plan);
    let bound = plan::bind(plan, &facts).expect("it fits");
    let script = Script {
        bad: vec![(0, u64::MAX, 5)],
        ..Script::default()
    };
    let mut places = Vec::new();
    let mut host = SimulatedHost::new(script, 1);
    conduct::execute(&bound, &mut host, &Control::default(), &mut |event| {
        if let Event::IoFailure(failure) = event {
            let path = &bound.plan.target(failure.target).path;
            let name = path.file_name().expect("a file").to_string_lossy();
            let operation = format!("{:?}", failure.operation).to_lowercase();
            places.push((name.into_owned(), operation, failure.offset));
        }
        Ok(())
    });
    places
}

/// As its log of I/Os has it; `None` where it is not installed.
fn theirs(lab: &Lab, text: &str) -> Option<Vec<Place>> {
    let text = format!("{text}write_iolog={}\n", lab.path("places.log").display());
    lab.write("job.fio", text);
    lab.reference_fio(["job.fio"])?.expect(0);
    let log = lab.text("places.log");
    let place = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        // The third version of the log begins each line with a time.
        let words = match words.first()?.parse::<u64>() {
            Ok(_) => &words[1..],
            Err(_) => &words[..],
        };
        let [path, operation @ ("read" | "write" | "trim"), offset, _] = words else {
            return None;
        };
        let name = Path::new(path).file_name()?.to_string_lossy();
        Some((
            name.into_owned(),
            (*operation).to_owned(),
            offset.parse().ok()?,
        ))
    };
    Some(log.lines().filter_map(place).collect())
}

#[test]
fn places_follow_each_other_as_they_do_there() {
    for options in [
        "rw=write:8k size=64k number_ios=6",
        "rw=write:4k size=64k",
        "rw=read:-8k size=64k",
        "rw=read:-12k size=64k number_ios=14",
        "rw=read size=64k zonemode=strided zonesize=8k zonerange=16k zoneskip=8k",
        "rw=read size=64k zonemode=strided zonesize=24k zonerange=16k",
        "rw=read size=64k io_size=50%",
        "rw=read size=96k nrfiles=2 file_service_type=roundrobin:3",
        "rw=read size=64k nrfiles=4 openfiles=1",
        "rw=randread percentage_random=0,50 size=64k",
        "rw=randread bs=8k,4k percentage_random=0 bs_is_seq_rand=1 size=64k",
    ] {
        let lab = Lab::new();
        let text = job(options, lab.path(""));
        let ours = ours(&text);
        assert!(!ours.is_empty(), "{options}");
        let Some(theirs) = theirs(&lab, &text) else {
            return;
        };
        assert_eq!(ours, theirs, "{options}");
    }
}

#[test]
fn each_direction_of_a_mix_goes_on_by_itself_as_it_does_there() {
    for (options, distance) in [
        ("rw=rw size=128k", 4096),
        ("rw=rw:4k size=256k number_ios=24", 8192),
        ("rw=randrw percentage_random=0 size=128k", 4096),
    ] {
        let lab = Lab::new();
        let text = job(options, lab.path(""));
        for places in [Some(ours(&text)), theirs(&lab, &text)] {
            for direction in ["read", "write"] {
                let mine = places.iter().flatten().filter(|place| place.1 == direction);
                let mine: Vec<u64> = mine.map(|place| place.2).collect();
                let expected = (0..mine.len() as u64).map(|number| number * distance);
                assert_eq!(mine, expected.collect::<Vec<_>>(), "{options}: {direction}");
                assert!(mine.len() > 4 || places.is_none(), "{options}: {mine:?}");
            }
        }
    }
}

#[test]
fn bursts_of_a_mix_go_on_direction_by_direction_as_they_do_there() {
    let lab = Lab::new();
    let text = job("rw=randrw:4 size=4m number_ios=400", lab.path(""));
    for places in [Some(ours(&text)), theirs(&lab, &text)] {
        let places = places.unwrap_or_default();
        let mut ends = [None; 2];
        let (mut goes_on, mut follows) = (0, 0);
        for (number, (_, operation, offset)) in places.iter().enumerate() {
            let end = &mut ends[usize::from(operation == "write")];
            if !number.is_multiple_of(4) && end.is_some_and(|end| end < 4 << 20) {
                follows += 1;
                goes_on += usize::from(*end == Some(*offset));
            }
            *end = Some(offset + 4096);
        }
        assert_eq!(goes_on, follows, "{places:?}");
        assert!(follows > 250 || places.is_empty(), "{places:?}");
    }
}

#[test]
fn random_jobs_have_the_structure_that_they_have_there() {
    // The draws differ; each I/O of a burst is at the place of its first.
    let lab = Lab::new();
    let options = "rw=randread:4 rw_sequencer=identical size=1m number_ios=64";
    let text = job(options, lab.path(""));
    let mut all = vec![ours(&text)];
    all.extend(theirs(&lab, &text));
    for places in all {
        assert_eq!(places.len(), 64);
        let bursts = places.chunks(4);
        assert!(
            bursts
                .clone()
                .all(|burst| burst.iter().all(|place| place == &burst[0]))
        );
        let mut starts: Vec<u64> = bursts.map(|burst| burst[0].2).collect();
        starts.sort_unstable();
        starts.dedup();
        assert!(starts.len() >= 14, "{starts:?}");
    }
}

/// How often each file of a job is chosen.
fn choices(service: &str) -> Vec<u64> {
    let options = format!("rw=randread norandommap size=1600k nrfiles=100 io_size=8m {service}");
    let mut counts = vec![0; 100];
    for (name, ..) in ours(&job(&options, NOWHERE)) {
        let number = name.rsplit('.').next().unwrap();
        counts[number.parse::<usize>().unwrap()] += 1;
    }
    counts
}

#[test]
fn files_are_chosen_by_the_law_that_is_named() {
    let share = |counts: &[u64], files: std::ops::Range<usize>| {
        let all: u64 = counts.iter().sum();
        assert_eq!(all, 2_048);
        counts[files].iter().sum::<u64>() as f64 / all as f64
    };
    // The n-th harmonic number of order 1.2 tells the share of the first: 1 ÷ 3.60.
    let zipf = choices("file_service_type=zipf:1.2");
    assert!((share(&zipf, 0..1) - 0.277).abs() < 0.035, "{zipf:?}");
    let pareto = choices("file_service_type=pareto:0.2");
    assert!((share(&pareto, 0..20) - 0.8).abs() < 0.035, "{pareto:?}");
    let normal = choices("file_service_type=gauss:10");
    assert!((share(&normal, 40..60) - 0.683).abs() < 0.035, "{normal:?}");
    let usual = choices("file_service_type=normal");
    assert!((share(&usual, 42..58) - 0.663).abs() < 0.035, "{usual:?}");
}

#[test]
fn places_are_aligned_by_direction() {
    let places = ours(&job("rw=randrw size=256k ba=16k,8k", NOWHERE));
    for (direction, unit) in [("read", 16_384), ("write", 8_192)] {
        let mine = places.iter().filter(|(_, one, _)| one == direction);
        let offsets: Vec<u64> = mine.map(|(.., offset)| *offset).collect();
        assert!(offsets.len() > 10, "{places:?}");
        assert!(
            offsets.iter().all(|at| at.is_multiple_of(unit)),
            "{offsets:?}"
        );
        let is_finer = |at: &u64| !at.is_multiple_of(2 * unit);
        assert!(offsets.iter().any(is_finer), "{offsets:?}");
    }
}

#[test]
fn random_places_in_files_of_one_block_are_that_block() {
    for law in [
        "",
        " norandommap",
        " random_distribution=zipf:1.2",
        " percentage_random=50",
    ] {
        let found = ours(&job(
            &format!("rw=randread size=32k nrfiles=8{law}"),
            NOWHERE,
        ));
        let files: std::collections::BTreeSet<&str> =
            found.iter().map(|(file, ..)| file.as_str()).collect();
        assert_eq!((found.len(), files.len()), (8, 8), "{law}: {found:?}");
        assert!(found.iter().all(|(.., offset)| *offset == 0), "{found:?}");
    }
}
