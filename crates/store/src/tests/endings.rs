//! Bad endings: killed, out of space, cut off, unwritable, arbitrary.
use super::{read, some_events, write};
use crate::tests::draw::Draw;
use crate::{Reader, StoreError, Writer, reader};
use measure::Event;
use proptest::prelude::*;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

const CHILD_PATH: &str = "FATHOM_STORE_TEST_CHILD";

/// Not a test of its own: the process that [`a_killed_process_loses_nothing_committed`] kills.
#[test]
fn child_that_records_until_it_is_killed() {
    let Ok(path) = std::env::var(CHILD_PATH) else {
        return;
    };
    let writer = Writer::create(path).unwrap();
    let mut draw = Draw(77);
    for number in 1.. {
        writer
            .append(&Event::Interval(draw.typical(number, 4, 20)))
            .unwrap();
        writer.flush().unwrap();
        println!("committed {number}");
    }
}

/// Records in another process, kills it after `at_least` intervals; returns how many it had
/// committed.
fn record_and_kill(path: &Path, at_least: usize) -> usize {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "tests::endings::child_that_records_until_it_is_killed",
            "--nocapture",
        ])
        .env(CHILD_PATH, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut committed = 0;
    while committed < at_least {
        let line = lines
            .next()
            .expect("the child goes on until it is killed")
            .unwrap();
        committed = line
            .strip_prefix("committed ")
            .map_or(committed, |n| n.parse().unwrap());
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let rest = lines
        .map_while(Result::ok)
        .filter(|line| line.starts_with("committed "));
    rest.last().map_or(committed, |line| {
        // The last line may be cut off by the kill.
        line["committed ".len()..]
            .parse()
            .map_or(committed, |n: usize| n.max(committed))
    })
}

fn check_intervals(path: &Path, at_least: usize) {
    let reader = Reader::open(path).unwrap();
    assert!(!reader.is_complete().unwrap());
    let mut draw = Draw(77);
    let mut seen = 0;
    for (event, number) in reader.events().zip(1..) {
        assert_eq!(event.unwrap(), Event::Interval(draw.typical(number, 4, 20)));
        seen += 1;
    }
    assert!(seen >= at_least, "{seen} of {at_least}");
}

#[test]
fn a_killed_process_loses_nothing_committed() {
    let folder = tempfile::tempdir().unwrap();
    for at_least in [1, 5, 60] {
        let path = folder.path().join(format!("{at_least}.fathom"));
        let committed = record_and_kill(&path, at_least);
        check_intervals(&path, committed);
        check_intervals(&path, committed);
        write(&path, &[]).unwrap();
        check_intervals(
            &folder.path().join(format!("{at_least}.1.fathom")),
            committed,
        );
    }
}

/// What a process leaves that is killed at the worst moment: all that anybody sees meanwhile.
#[test]
fn a_result_is_whole_from_its_first_moment() {
    let folder = tempfile::tempdir().unwrap();
    let (begin, over) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let path = |number: usize| folder.path().join(format!("{number}.fathom"));
    let rounds = 40;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 1..=rounds {
                begin.store(number, SeqCst);
                Writer::create(path(number)).unwrap().finish().unwrap();
                over.store(number, SeqCst);
            }
        });
        while over.load(SeqCst) < rounds {
            let path = path(begin.load(SeqCst));
            if path.exists() {
                reader::check_header(&path).unwrap();
            }
            let journal = path.with_extension("fathom-journal");
            // Going back from the log at the end makes one, too.
            assert!(!journal.exists() || reader::check_header(&path).is_ok());
        }
    });
}

/// Appends until the recording fails; returns the events that were handed over and the error.
fn fill(writer: &Writer, draw: &mut Draw) -> (Vec<Event>, StoreError) {
    let mut committed = Vec::new();
    loop {
        let number = committed.len() as u32 + 1;
        let event = Event::Interval(draw.typical(number, 4, 100));
        match writer.append(&event).and_then(|()| writer.flush()) {
            Ok(()) => committed.push(event),
            Err(error) => return (committed, error),
        }
        assert!(number < 100_000, "space never runs out");
    }
}

#[test]
fn a_full_file_keeps_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.fathom");
    let writer = Writer::create_limited(&path, Some(100)).unwrap();
    let (committed, error) = fill(&writer, &mut Draw(1));
    let StoreError::Full { recorded_bytes, .. } = error else {
        panic!("{error:?}");
    };
    assert!(recorded_bytes > 100_000, "{recorded_bytes}");
    assert_eq!(writer.append(&committed[0]), Err(error.clone()));
    assert_eq!(writer.finish(), Err(error));
    assert!(committed.len() > 5);
    assert_eq!(read(&path), committed);
}

/// A small file system of its own, unmounted at the end.
struct SmallMount(tempfile::TempDir);

impl SmallMount {
    fn new() -> Option<Self> {
        let folder = crate::named::builder().tempdir().unwrap();
        run(
            "mount",
            &["-t", "tmpfs", "-o", "size=1m", "none"],
            folder.path(),
        )
        .then(|| Self(folder))
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("result.fathom")
    }
}

impl Drop for SmallMount {
    fn drop(&mut self) {
        run("umount", &[], self.0.path());
    }
}

fn run(program: &str, arguments: &[&str], path: &Path) -> bool {
    let mut command = Command::new(program);
    let status = command
        .args(arguments)
        .arg(path)
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

#[test]
fn a_full_disk_keeps_what_it_has() {
    let Some(mount) = SmallMount::new() else {
        println!("skipped: a tmpfs cannot be mounted here");
        return;
    };
    let writer = Writer::create(mount.path()).unwrap();
    let (committed, error) = fill(&writer, &mut Draw(2));
    assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
    assert_eq!(writer.finish(), Err(error));
    assert!(committed.len() > 5);
    assert_eq!(read(&mount.path()), committed);
}

#[test]
fn a_killed_result_can_be_read_where_nothing_can_be_written() {
    let Some(mount) = SmallMount::new() else {
        println!("skipped: a tmpfs cannot be mounted here");
        return;
    };
    let committed = record_and_kill(&mount.path(), 5);
    assert!(run("mount", &["-o", "remount,ro"], mount.0.path()));
    let before = copies();
    check_intervals(&mount.path(), committed);
    assert_eq!(copies(), before, "the copy goes with its reader");
}

/// Folders that readers of this process left behind.
fn copies() -> usize {
    let prefix = format!("fathom-{}-", std::process::id());
    let entries = std::fs::read_dir(std::env::temp_dir()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name());
    names
        .filter(|name| name.to_string_lossy().starts_with(&prefix))
        .count()
}

#[test]
fn a_cut_off_file_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.fathom");
    write(&path, &some_events(4, 20)).unwrap();
    let whole = std::fs::read(&path).unwrap();
    for length in [100, 1000, 4096, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&path, &whole[..length]).unwrap();
        let error = Reader::open(&path).unwrap_err();
        assert!(
            matches!(error, StoreError::Damaged { .. }),
            "{length}: {error}"
        );
    }
    std::fs::write(&path, &whole[..99]).unwrap();
    assert!(matches!(
        Reader::open(&path),
        Err(StoreError::NotAResult { .. })
    ));
}

/// Opens and reads whatever is there; only a panic or an endless loop is wrong.
fn read_anything(bytes: &[u8]) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.fathom");
    std::fs::write(&path, bytes).unwrap();
    let Ok(reader) = Reader::open(&path) else {
        return 0;
    };
    let _ = reader.is_complete();
    reader.events().count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn arbitrary_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..3000)) {
        prop_assert_eq!(read_anything(&bytes), 0);
    }

    #[test]
    fn a_few_wrong_bytes_do_no_harm(
        seed in 0_u64..4,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("result.fathom");
        let events = some_events(seed, 12);
        write(&path, &events).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        read_anything(&bytes);
    }
}

#[test]
fn of_a_file_that_was_never_begun_nothing_is_said_to_be_kept() {
    let path = std::path::PathBuf::from("result.fathom");
    let full = |recorded_bytes| {
        let path = path.clone();
        StoreError::Full {
            path,
            recorded_bytes,
        }
        .to_string()
    };
    assert!(full(4_096).contains("is kept"));
    assert!(!full(0).contains("is kept") && full(0).contains("no room for result file"));
}
