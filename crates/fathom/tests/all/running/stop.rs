//! Stopped by the user, and out of room.
use crate::lab::{Lab, has, interval_label, is_root, job, must, skip};

const LONG: &str = "iorate=50,elapsed=60,interval=1";

#[test]
fn an_interrupt_drains_and_tells_the_averages_so_far() {
    let lab = Lab::new();
    lab.write("job", job("lun=disk,size=1m", LONG));
    let mut going = lab.start(&["vdbench", "-f", "job", "-o", "out"]);
    going.read_until(|line| line.contains("Starting RD=rd1"));
    going.read_until(|line| interval_label(line) == Some("3"));
    going.signal("INT");
    let ended = going.end().expect(4);
    assert!(ended.err.contains("once more to stop at once"));
    let averages = ended.out.lines().find_map(interval_label_of_averages);
    let last: u32 = averages
        .unwrap()
        .strip_prefix("avg_2-")
        .unwrap()
        .parse()
        .unwrap();
    assert!((3..60).contains(&last));
    assert!(ended.out.contains("CTRL-C requested"));
    // The result file is whole.
    let again = lab.fathom(&["report", "out", "-o", "again"]).expect(0);
    assert!(
        !again.err.contains("did not come to its end"),
        "{}",
        again.err
    );
    assert_eq!(lab.text("again/summary.csv"), lab.text("out/summary.csv"));
}

fn interval_label_of_averages(line: &str) -> Option<&str> {
    interval_label(line).filter(|label| label.starts_with("avg_"))
}

#[test]
fn an_interrupted_run_prints_its_table() {
    let lab = Lab::new();
    lab.write("job", job("lun=disk,size=1m", LONG));
    let mut going = lab.start(&["run", "job", "-o", "out"]);
    going.hear_until(|line| line.starts_with("run 2/2 rd1, "));
    going.signal("TERM");
    let ended = going.end().expect(4);
    assert!(ended.out.contains("stopped"), "{}", ended.out);
    assert!(ended.out.contains("report:"));
    assert!(lab.text("out/summary.csv").contains("stopped"));
}

/// Interrupted between two runs: what waits does not begin.
#[test]
fn a_pause_ends_with_an_interrupt() {
    let lab = Lab::new();
    lab.write(
        "job",
        job(
            "lun=disk,size=1m",
            "iorate=(50,60),elapsed=2,interval=1,pause=60",
        ),
    );
    let mut going = lab.start(&["vdbench", "-f", "job", "-o", "out"]);
    going.read_until(|line| line.contains("requested by 'pause' parameter"));
    going.signal("INT");
    let ended = going.end().expect(4);
    assert!(!ended.out.contains("Starting RD"), "{}", ended.out);
}

/// The file system of the results fills up in the middle of a run.
#[test]
fn a_full_disk_ends_the_run_and_loses_nothing() {
    if !is_root() || !has("mount") {
        return skip("a file system of its own needs root and `mount`");
    }
    for (verb, before) in [("vdbench", "-f"), ("run", "--seed=1")] {
        let lab = Lab::new();
        lab.write("job", job("lun=disk,size=1m", LONG));
        std::fs::create_dir(lab.path("small")).unwrap();
        let small = lab.path("small").display().to_string();
        must("mount", &["-t", "tmpfs", "-o", "size=2m", "none", &small]);
        let unmount = OnDrop(|| drop(must("umount", &[&small])));
        let mut going = lab.start(&[verb, before, "job", "-o", "small/out"]);
        if verb == "vdbench" {
            going.read_until(|line| line.contains("Starting RD=rd1"));
            going.read_until(|line| interval_label(line) == Some("2"));
        } else {
            going.hear_until(|line| line.starts_with("run 2/2 rd1, "));
            std::thread::sleep(std::time::Duration::from_millis(2500));
        }
        fill(&lab);
        let ended = going.end().expect(1);
        assert!(ended.err.contains("no room left"), "{}", ended.err);
        std::fs::remove_file(lab.path("small/ballast")).unwrap();
        lab.fathom(&["report", "small/out", "-o", "again", "--vdbench"])
            .expect(0);
        let page = lab.text("again/summary.html");
        assert!(
            page.lines().any(|line| interval_label(line) == Some("1")),
            "{page}"
        );
        drop(unmount);
    }
}

/// Takes all room that is left, the last page too.
fn fill(lab: &Lab) {
    use std::io::Write;
    let mut file = std::fs::File::create(lab.path("small/ballast")).unwrap();
    while file.write(&[7; 4096]).is_ok_and(|count| count > 0) {}
}

/// Does something however a test ends.
pub struct OnDrop<F: FnMut()>(pub F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
