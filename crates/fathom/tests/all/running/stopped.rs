//! Fathom itself is stopped (SIGSTOP) in the middle of a run.
use crate::lab::Lab;
use measure::Event;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const JOB: &str = "sd=sd1,lun=t,threads=4\nwd=wd1,sd=sd1,xfersize=4k,rdpct=100\n\
    rd=rd1,wd=wd1,interval=1,iorate=200,elapsed=8\n";

fn unix_ns() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_nanos() as u64
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
        let operations: u64 = interval.figures.iter().map(|one| one.operations).sum();
        seen += operations;
        submitted += interval
            .engine
            .streams
            .iter()
            .map(|one| one.submitted)
            .sum::<u64>();
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
