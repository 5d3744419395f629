//! Real storage that fails: a full file system, a file cut under its reader, a device that answers
//! with errors or not at all. What cannot be had here is skipped with a reason.
use crate::keeper::Keeper;
use crate::named;
use crate::places::{bind_real, facts, machine, run_on};
use crate::plans::*;
use crate::story::carry_out;
use conduct::Control;
use door::Grants;
use engine::BackendKind;
use plan::*;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const REAL: [BackendKind; 3] = [BackendKind::Uring, BackendKind::Aio, BackendKind::Sync];
const EIO: i32 = 5;
const ENOSPC: i32 = 28;

/// A file system in memory with room for a megabyte.
struct SmallFileSystem(TempDir);

impl SmallFileSystem {
    fn mount() -> Option<Self> {
        let folder = named::builder().tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"])
            .arg(folder.path())
            .stderr(Stdio::null())
            .status();
        match mounted {
            Ok(status) if status.success() => Some(Self(folder)),
            _ => {
                println!("skipped: a small file system cannot be mounted (root is needed)");
                None
            }
        }
    }
}

impl Drop for SmallFileSystem {
    fn drop(&mut self) {
        // The kernel lets go of the files of a ring a moment after the ring is gone.
        for _ in 0..200 {
            let unmounted = Command::new("umount")
                .arg(self.0.path())
                .stderr(Stdio::null())
                .status();
            if unmounted.is_ok_and(|status| status.success()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn a_full_file_system_is_an_error_with_its_number_and_place() {
    for kind in REAL {
        let Some(small) = SmallFileSystem::mount() else {
            return;
        };
        let path = small.0.path().join("data");
        let streams = vec![stream(0, 0, fill)];
        let targets = vec![target(&path, TargetKind::File, 2 * MIB)];
        let plan = bind_real(plan(targets, &[4], streams, vec![until_done(20 * MS)]));
        let story = run_on(&plan, kind, 2);
        let totals = &story.totals[0];
        assert_eq!(totals.operations() + totals.errors(), 512, "{kind}");
        assert!(totals.operations() <= 256 && totals.errors() >= 256);
        assert_eq!(story.failures().len() as u64, totals.errors());
        for failure in story.failures() {
            assert_eq!(failure.errno, ENOSPC);
            assert_eq!(failure.operation, Operation::Write);
            assert_eq!(failure.offset % BLOCK, 0);
        }
    }
}

/// The kernel answers with a signal, which is an error of the write and nothing more.
#[test]
fn a_hole_that_a_full_file_system_cannot_fill_is_an_error_of_mapped_writes() {
    let Some(small) = SmallFileSystem::mount() else {
        return;
    };
    let path = small.0.path().join("data");
    let file = std::fs::File::create(&path).unwrap();
    file.set_len(2 * MIB).unwrap();
    let streams = vec![stream(0, 0, fill)];
    let targets = vec![target(&path, TargetKind::File, 2 * MIB)];
    let plan = bind_real(plan(targets, &[4], streams, vec![until_done(20 * MS)]));
    let story = run_on(&plan, BackendKind::Mapped, 2);
    let totals = &story.totals[0];
    assert_eq!(totals.operations() + totals.errors(), 512);
    assert!(totals.operations() <= 256 && totals.errors() >= 256);
    assert!(story.failures().iter().all(|failure| failure.errno == EIO));
}

#[test]
fn a_file_cut_under_its_reader_shows_what_is_missing() {
    for kind in REAL {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        std::fs::write(&path, vec![1; 2 * MIB as usize]).unwrap();
        let streams = vec![stream(0, 0, |generator| {
            generator.order = sequential(SequentialEnd::Stop);
        })];
        let targets = vec![target(&path, TargetKind::File, 2 * MIB)];
        let plan = bind_real(plan(targets, &[4], streams, vec![until_done(20 * MS)]));
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.set_len(MIB + 2_048).unwrap();
        let story = run_on(&plan, kind, 2);
        let figure = &story.totals[0].figures[0];
        assert_eq!((figure.operations, figure.errors), (257, 255), "{kind}");
        assert_eq!(figure.short_transfers, 1);
        assert_eq!(figure.bytes, MIB + 2_048);
        assert!(
            story
                .failures()
                .iter()
                .all(|f| f.errno == EIO && f.offset > MIB)
        );
    }
}

#[test]
fn a_target_that_was_replaced_after_its_grant_is_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    std::fs::write(&path, vec![1; MIB as usize]).unwrap();
    let targets = vec![target(&path, TargetKind::File, MIB)];
    let streams = vec![stream(0, 0, fill)];
    let plan = bind_real(plan(targets, &[4], streams, vec![until_done(20 * MS)]));
    let [write, read] = [Access::Write, Access::Read]
        .map(|access| Grants::unexamined([(TargetId(0), path.as_path(), access)]));
    let other = folder.path().join("other");
    std::fs::write(&other, vec![2; MIB as usize]).unwrap();
    std::fs::rename(&other, &path).unwrap();
    let run = plan.run(RunId(0));
    for (grants, expected) in [(write, "no longer what was examined"), (read, "no grant")] {
        let refused = engine::open_targets(&plan, &run, &grants, usize::MAX).unwrap_err();
        assert!(refused.to_string().contains(expected), "{refused}");
    }
    assert!(std::fs::read(&path).unwrap().iter().all(|byte| *byte == 2));
}

/// A disk in memory, as a file by way of FUSE.
pub struct FaultyDisk {
    folder: TempDir,
    server: Child,
    keeper: Option<Keeper>,
}

impl FaultyDisk {
    pub const BYTES: u64 = 16 * MIB;

    /// It errs while a file exists.
    fn start() -> Option<Self> {
        let folder = named::builder().tempdir().unwrap();
        let errs = format!("error-file={}", folder.path().join("errs").display());
        let errs = ["error=EIO", "error-rate=100%", &errs];
        Self::serve(
            folder,
            &[&["--filter=error", "memory", "16M"], &errs[..]].concat(),
        )
    }

    /// Each read takes a millisecond and what the machine adds.
    pub fn slow() -> Option<Self> {
        let words = ["--filter=delay", "memory", "16M", "rdelay=1ms"];
        Self::serve(named::builder().tempdir().unwrap(), &words)
    }

    fn serve(folder: TempDir, words: &[&str]) -> Option<Self> {
        if Command::new("fusermount3").arg("-V").output().is_err() {
            println!("skipped: fusermount3 is missing");
            return None;
        }
        std::fs::write(folder.path().join("disk"), "").unwrap();
        let server = Command::new("nbdfuse")
            .env("FATHOM_LAB", named::prefix())
            .arg(folder.path().join("disk"))
            .args(["--command", "nbdkit", "-s"])
            .args(words)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(server) = server else {
            println!("skipped: nbdfuse is missing");
            return None;
        };
        let keeper = Some(Keeper::of(&server, &folder.path().join("disk")));
        let disk = Self {
            folder,
            server,
            keeper,
        };
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(10) {
            if std::fs::metadata(disk.path()).is_ok_and(|found| found.len() == Self::BYTES) {
                return Some(disk);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        println!("skipped: nbdfuse and nbdkit do not serve a disk here");
        None
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("disk")
    }

    fn err(&self) {
        std::fs::write(self.folder.path().join("errs"), "").unwrap();
    }

    /// Sends a signal to the server that this test has started.
    fn signal(&self, name: &str) {
        let server = self.server.id().to_string();
        let sent = Command::new("kill").args([name, &server]).status();
        assert!(sent.unwrap().success());
    }

    fn reads(&self, spec: RunSpec) -> BoundPlan {
        let targets = vec![target(&self.path(), TargetKind::File, Self::BYTES)];
        let mut file = targets;
        file[0].open.direct = facts(&self.path(), TargetKind::File).alignment.offset <= BLOCK;
        bind_real(plan(file, &[16], vec![stream(0, 0, |_| {})], vec![spec]))
    }
}

impl Drop for FaultyDisk {
    fn drop(&mut self) {
        self.keeper = None;
        let _ = self.server.wait();
    }
}

#[test]
fn errors_of_a_device_are_counted_and_named() {
    for kind in REAL {
        let Some(disk) = FaultyDisk::start() else {
            return;
        };
        let mut limited = disk.reads(until_done(20 * MS));
        limited.plan.templates[0].streams[0].stop.operations = Some(200);
        let good = run_on(&limited, kind, 1);
        assert_eq!(
            (good.totals[0].operations(), good.totals[0].errors()),
            (200, 0)
        );
        disk.err();
        let bad = run_on(&limited, kind, 1);
        assert_eq!(
            (bad.totals[0].operations(), bad.totals[0].errors()),
            (0, 200),
            "{kind}"
        );
        assert!(bad.failures().iter().all(|failure| failure.errno == EIO));
    }
}

#[test]
fn a_stall_of_a_device_is_in_the_response_of_all_who_arrived_in_it() {
    const STALL: Duration = Duration::from_millis(500);
    for kind in REAL {
        let Some(disk) = FaultyDisk::start() else {
            return;
        };
        let spec = at_rate(200.0, ArrivalLaw::Deterministic, 1_500 * MS, 100 * MS);
        let plan = disk.reads(spec);
        let control = Control::default();
        let (story, stalled) = std::thread::scope(|scope| {
            let stalled = scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(400));
                disk.signal("-STOP");
                let begun = Instant::now();
                std::thread::sleep(STALL);
                let stalled = begun.elapsed();
                disk.signal("-CONT");
                stalled
            });
            let story = carry_out(&plan, &mut machine(&plan, kind, 1), &control);
            (story, stalled.join().unwrap())
        });
        story.check_accounts();
        assert!(stalled >= STALL);
        let response = story.totals[0].response(None);
        let count = response.histogram.count();
        assert_eq!(count, 300, "{kind}");
        // One arrival each 5 ms waits for the rest of the stall, 80 of them for more than 100 ms. On a busy machine the
        // disk may answer some before it stops; where arrivals waited for completions, there would be four.
        let long = count - response.histogram.count_below(100 * MS);
        assert!(long >= 40, "{long}");
        assert!(response.max_ns >= 490 * MS, "{}", response.max_ns);
        let held = story.intervals(0);
        assert!(
            held.iter()
                .any(|interval| interval.engine.oldest_in_flight_ns > 300 * MS)
        );
    }
}

#[test]
fn a_missing_file_is_not_made_for_a_reader() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let targets = vec![target(&path, TargetKind::File, MIB)];
    let streams = vec![stream(0, 0, |_| {})];
    let plan = bind_real(plan(
        targets,
        &[4],
        streams,
        vec![flat_out(20 * MS, 20 * MS)],
    ));
    for kind in REAL {
        let mut host = machine(&plan, kind, 1);
        let story = carry_out(&plan, &mut host, &Control::default());
        assert!(story.totals.is_empty());
        let reason = format!("{:?}", story.outcome.reason);
        assert!(reason.contains(path.to_str().unwrap()), "{reason}");
        assert!(!path.exists());
    }
}
