//! An array that rebuilds a disk, under a real file: for a while each of its answers takes 1.48 times as long.
use crate::lab::{Lab, skip};
use crate::served::Served;
use std::time::Duration;

/// Its answers take as many seconds as a file says.
const DISK: &str = "import os, time
API_VERSION = 2
delay = None
def config(key, value):
    global delay
    delay = value
def open(readonly):
    return 1
def get_size(handle):
    return 16 << 20
def wait():
    with os.fdopen(os.open(delay, os.O_RDONLY)) as file:
        time.sleep(float(file.read()))
def pread(handle, buffer, offset, flags):
    wait()
    buffer[:] = os.urandom(len(buffer))
def pwrite(handle, buffer, offset, flags):
    wait()
";

const USUAL_S: &str = "0.0030";
const REBUILD_S: &str = "0.00444";

/// The two runs of an article on high availability: as many I/Os as two threads bear, and a rate.
const BOUNDS: [(&str, &str); 2] = [
    (
        "threads",
        "rd=ha,wd=wd1,iorate=max,interval=1,elapsed=75,threads=2",
    ),
    (
        "rate",
        "rd=ha,wd=wd1,iorate=50,interval=1,elapsed=75,threads=8",
    ),
];

/// The first sentence of the page.
fn lead(lab: &Lab, disk: &Served, (name, run): (&str, &str)) -> String {
    lab.write("delay", USUAL_S);
    lab.write(
        "job",
        format!(
            "sd=sd1,lun={},openflags=o_direct\nwd=wd1,sd=sd1,xfersize=8k,rdpct=70,seekpct=100\n{run}\n",
            disk.path()
        ),
    );
    let words = ["run", "job", "-o", name, "--overwrite", disk.path()];
    let mut going = lab.start(&words);
    going.hear_until(|line| line.starts_with("run 1/1"));
    for (seconds, delay) in [(37, REBUILD_S), (20, USUAL_S)] {
        std::thread::sleep(Duration::from_secs(seconds));
        // In one step, as it may be read at any time.
        lab.write("delay.next", delay);
        std::fs::rename(lab.path("delay.next"), lab.path("delay")).unwrap();
    }
    going.end().expect(0);
    let page = lab.text(&format!("{name}/report.html"));
    let told = page.split("id=\"verdict\"").nth(1).unwrap();
    told.split("</p>").next().unwrap().to_owned()
}

/// The number before some words.
fn percent(told: &str, after: &str) -> f64 {
    let rest = told.split(after).nth(1).unwrap_or_else(|| panic!("{told}"));
    rest.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
#[ignore = "takes three minutes"]
fn a_rebuild_is_told_for_what_it_is() {
    crate::lab::alone();
    let lab = Lab::new();
    lab.write("disk.py", DISK);
    lab.write("delay", USUAL_S);
    let script = lab.path("disk.py").display().to_string();
    let delay = format!("delay={}", lab.path("delay").display());
    let disk = match Served::new(&lab, "served", &["python", &script, &delay]) {
        Ok(disk) => disk,
        Err(reason) => return skip(&format!("{reason} (package `nbdkit-plugin-python`)")),
    };
    let [threads, rate] = BOUNDS.map(|bound| lead(&lab, &disk, bound));
    drop(disk);
    assert!(threads.contains("capacity was not tested"), "{threads}");
    let fell = percent(&threads, "closed loop: the rate fell by ");
    let rose = percent(&threads, "because latency rose by ");
    assert!((25.0..38.0).contains(&fell), "{threads}");
    assert!((35.0..58.0).contains(&rose), "{threads}");
    assert!(
        rate.contains("it held its rate; response p50 from "),
        "{rate}"
    );
}
