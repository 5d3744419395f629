//! Fathom itself is stopped (SIGSTOP) in the middle of a run.
use crate::lab::{Lab, has, is_root, skip};
use measure::{Event, Interval};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const JOB: &str = "sd=sd1,lun=t,threads=4\nwd=wd1,sd=sd1,xfersize=4k,rdpct=100\n\
    rd=rd1,wd=wd1,interval=1,iorate=200,elapsed=8\n";

fn unix_ns() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_nanos() as u64
}

/// Operations that completed in an interval, and those that were sent.
fn counts(interval: &Interval) -> (u64, u64) {
    let completed = interval.figures.iter().map(|one| one.operations);
    let sent = interval.engine.streams.iter().map(|one| one.submitted);
    (completed.sum(), sent.sum())
}

/// What is true of any machine: while the process is stopped it sees nothing, and all that it sent is counted once.
#[test]
fn while_fathom_is_stopped_nothing_completes() {
    let lab = Lab::new();
    lab.write("t", vec![7_u8; 1 << 20]);
    lab.write("job", JOB);
    let mut going = lab.start(&["run", "job", "-o", "out"]);
    going.hear_until(|line| line.starts_with("run 1/1"));
    std::thread::sleep(Duration::from_secs(2));
    going.signal("STOP");
    std::thread::sleep(Duration::from_millis(200));
    let from_ns = unix_ns();
    std::thread::sleep(Duration::from_secs(3));
    let to_ns = unix_ns();
    going.signal("CONT");
    let ended = going.end().expect(0);
    let (mut in_stop, mut seen, mut submitted) = (0, 0, 0);
    for event in store::Reader::open(lab.path("out/result.fathom"))
        .unwrap()
        .events()
    {
        let Event::Interval(interval) = event.unwrap() else {
            continue;
        };
        let (operations, sent) = counts(&interval);
        (seen, submitted) = (seen + operations, submitted + sent);
        let length_ns = interval.end_ns - interval.start_ns;
        if interval.unix_ns - length_ns >= from_ns && interval.unix_ns <= to_ns {
            in_stop += 1;
            assert_eq!(operations, 0, "interval {} {ended}", interval.number);
        }
    }
    assert!(in_stop >= 1, "{in_stop} {ended}");
    assert_eq!(seen, submitted, "{ended}");
    let page = lab.text("out/report.html");
    assert!(page.contains("Fathom itself stood still for"), "{ended}");
}

/// A file system in a file, which is frozen by a program of its own: that thaws it also when the test is killed.
struct Freezable(std::path::PathBuf);

impl Freezable {
    fn new(lab: &Lab) -> Result<Self, String> {
        if !is_root() {
            return Err("mounting requires root".to_owned());
        }
        if let Some(lacking) = ["mkfs.ext4", "fsfreeze", "mount"]
            .iter()
            .find(|one| !has(one))
        {
            return Err(format!("{lacking} is not installed"));
        }
        let (image, path) = (lab.path("image"), lab.path("frozen"));
        std::fs::create_dir(&path).unwrap();
        std::fs::File::create(&image)
            .unwrap()
            .set_len(64 << 20)
            .unwrap();
        let script = "mkfs.ext4 -q -F \"$0\" && mount -o loop \"$0\" \"$1\"";
        let made = Command::new("sh")
            .args(["-c", script])
            .arg(&image)
            .arg(&path)
            .output();
        match made {
            Ok(made) if made.status.success() => Ok(Self(path)),
            Ok(made) => Err(String::from_utf8_lossy(&made.stderr).into_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// From now on for some seconds.
    fn freeze(&self, seconds: &str) -> std::process::Child {
        let script = "fsfreeze -f \"$0\"; sleep $1; fsfreeze -u \"$0\"";
        let mut command = Command::new("sh");
        command.args(["-c", script]).arg(&self.0).arg(seconds);
        command.spawn().unwrap()
    }
}

impl Drop for Freezable {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_disk_of_the_result_that_hangs_for_a_while_costs_nothing() {
    let lab = Lab::new();
    lab.write("t", vec![7_u8; 1 << 20]);
    lab.write("job", JOB);
    let disk = match Freezable::new(&lab) {
        Ok(disk) => disk,
        Err(reason) => return skip(&reason),
    };
    let mut going = lab.start(&["run", "job", "-o", "frozen/out"]);
    going.hear_until(|line| line.starts_with("run 1/1"));
    std::thread::sleep(Duration::from_secs(1));
    let mut frozen = disk.freeze("5");
    let ended = going.end().expect(0);
    frozen.wait().unwrap();
    ended.tells(&["the disk of the result file has not answered for"]);
    assert!(!ended.err.contains("was slow"), "{ended}");
    let (mut ends, mut seen, mut submitted) = (Vec::new(), 0, 0);
    for event in store::Reader::open(lab.path("frozen/out/result.fathom"))
        .unwrap()
        .events()
    {
        if let Event::Interval(interval) = event.unwrap() {
            ends.push(interval.end_ns / 1_000_000);
            let (operations, sent) = counts(&interval);
            (seen, submitted) = (seen + operations, submitted + sent);
        }
    }
    let grid: Vec<u64> = (1..=8).map(|number| number * 1_000).collect();
    assert_eq!((ends, seen), (grid, submitted), "{ended}");
}
