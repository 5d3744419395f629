//! A device that stops answering for good, in the middle of a run or before it: its server is stopped. A close of such a
//! file does not return either, and no signal ends it.
use crate::keeper::Keeper;
use crate::lab::{Ended, Going, Lab, has, interval_label, is_root, skip};
use crate::served::Served;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const BYTES: u64 = 64 << 20;

/// A file named `mnt/a` in the lab, whose server can be stopped.
struct Stoppable {
    server: Child,
    keeper: Option<Keeper>,
    path: PathBuf,
}

impl Stoppable {
    fn new(lab: &Lab) -> Option<Self> {
        if !is_root() || !has("qemu-storage-daemon") || !has("umount") {
            skip("a file by `qemu-storage-daemon` needs root, and that program");
            return None;
        }
        std::fs::create_dir(lab.path("mnt")).unwrap();
        lab.write("mnt/a", "");
        let path = lab.path("mnt/a");
        let node = format!("null-co,node-name=top,size={BYTES},read-zeroes=on,latency-ns=1000000");
        let export = format!(
            "fuse,id=e,node-name=top,mountpoint={},writable=on,growable=off",
            path.display()
        );
        let server = lab
            .command("qemu-storage-daemon")
            .args(["--blockdev", &node, "--export", &export])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut this = Self {
            keeper: Some(Keeper::of(&server, &path)),
            server,
            path,
        };
        let since = Instant::now();
        while std::fs::metadata(&this.path).map_or(0, |facts| facts.len()) != BYTES {
            let has_ended = this.server.try_wait().unwrap().is_some();
            if has_ended || since.elapsed() > Duration::from_secs(10) {
                skip("`qemu-storage-daemon` exports no file here");
                return None;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(this)
    }

    fn signal(&self, name: &str) {
        let id = self.server.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status();
        assert!(sent.unwrap().success());
    }
}

impl Drop for Stoppable {
    fn drop(&mut self) {
        // What is out gets its answer, so that who keeps the file open can let it go.
        self.keeper = None;
        let _ = self.server.wait();
    }
}

/// Only reads: the server tells the present moment as that of the last change, which keeps writers away.
const VDBENCH: &str = "sd=sd1,lun=mnt/a,threads=4,openflags=o_direct
wd=wd1,sd=sd1,xfersize=4k,rdpct=100
rd=rd1,wd=wd1,iorate=500,elapsed=600,interval=1
";

/// Starts a job and stops the server in the middle of it.
fn hang_in_run(lab: &Lab, server: &Stoppable, words: &[&str]) -> Going {
    lab.write("job", VDBENCH);
    hang_in(lab.start(words), server, words)
}

fn hang_in(mut going: Going, server: &Stoppable, words: &[&str]) -> Going {
    if words[0] == "vdbench" {
        going.read_until(|line| interval_label(line) == Some("2"));
    } else {
        going.hear_until(|line| line.starts_with("run 1/1 rd1, "));
        std::thread::sleep(Duration::from_secs(2));
    }
    server.signal("STOP");
    std::thread::sleep(Duration::from_secs(1));
    going
}

/// Two interrupts, the second of which is not waited for the device.
fn interrupt_twice(mut going: Going) -> Ended {
    going.signal("INT");
    going.hear_until(|line| line.contains("once more to stop at once"));
    let since = Instant::now();
    going.signal("INT");
    let ended = going.end();
    assert!(since.elapsed() < Duration::from_secs(25), "{since:?}");
    ended
}

/// Of a run with four threads, all of which were out.
fn is_whole(lab: &Lab) {
    let again = lab.fathom(&["report", "out", "-o", "again"]).expect(0);
    assert!(
        !again.err.contains("did not come to its end"),
        "{}",
        again.err
    );
    again.says(&["warning: 4 operations never came back:", "(mnt/a): offset"]);
    let of_fio = lab.fathom(&["report", "out", "-o", "fio", "--fio", "normal"]);
    of_fio
        .expect(0)
        .says(&["warning: 4 operations never came back:"]);
    assert_eq!(lab.text("again/summary.csv"), lab.text("out/summary.csv"));
    assert!(lab.path("out/report.html").exists());
}

#[test]
fn a_second_interrupt_ends_a_run_whose_files_cannot_be_closed() {
    for backend in ["uring", "aio"] {
        let lab = Lab::new();
        let Some(server) = Stoppable::new(&lab) else {
            return;
        };
        let words = ["run", "job", "-o", "out", "--backend", backend];
        let ended = interrupt_twice(hang_in_run(&lab, &server, &words)).expect(4);
        ended.says(&["operations never came back:", "on `sd1` (mnt/a): offset"]);
        is_whole(&lab);
        drop(server);
    }
}

#[test]
fn an_interrupted_page_lists_what_never_came_back() {
    let lab = Lab::new();
    let Some(server) = Stoppable::new(&lab) else {
        return;
    };
    let words = ["vdbench", "-f", "job", "-o", "out", "--backend", "uring"];
    let ended = interrupt_twice(hang_in_run(&lab, &server, &words)).expect(4);
    let listed = ended
        .out
        .lines()
        .filter(|line| line.contains("not returned: op:"));
    assert_eq!(listed.count(), 4, "{}", ended.out);
    is_whole(&lab);
    drop(server);
}

/// The console of the other language lists them as well.
#[test]
fn an_interrupted_job_of_fio_lists_what_never_came_back() {
    let lab = Lab::new();
    let Some(server) = Stoppable::new(&lab) else {
        return;
    };
    let mut going = lab.start(&[
        "fio",
        "--name=j",
        "--filename=mnt/a",
        "--rw=randread",
        "--direct=1",
        "--ioengine=libaio",
        "--iodepth=4",
        "--time_based",
        "--runtime=600",
        "--eta=never",
        "--status-interval=1",
    ]);
    going.read_until(|line| line.contains("IOPS="));
    server.signal("STOP");
    std::thread::sleep(Duration::from_secs(1));
    let ended = interrupt_twice(going).expect(4);
    ended.says(&["4 operations never came back:", "read on `mnt/a`: offset"]);
    drop(server);
}

/// Nobody asks for the end: it comes when what is in flight has been waited for.
#[test]
fn a_run_over_a_hang_ends_by_itself_with_its_list() {
    let lab = Lab::new();
    let Some(server) = Stoppable::new(&lab) else {
        return;
    };
    let further = "rd=rd2,wd=wd1,iorate=500,elapsed=2,interval=1\n";
    lab.write("job", VDBENCH.replace("elapsed=600", "elapsed=5") + further);
    let words = ["run", "job", "-o", "out", "--backend", "uring"];
    let mut going = lab.start(&words);
    going.hear_until(|line| line.starts_with("run 1/2 rd1, "));
    std::thread::sleep(Duration::from_secs(2));
    server.signal("STOP");
    let ended = going.end().expect(1);
    // The reason is said once, with what follows from it.
    let last = ended.err.lines().last().unwrap();
    assert_eq!(
        last.matches("operations never came back").count(),
        1,
        "{last}"
    );
    assert!(
        last.contains("the runs that follow were not started"),
        "{last}"
    );
    ended.says(&["4 operations never came back:", "on `sd1` (mnt/a): offset"]);
    is_whole(&lab);
    drop(server);
}

/// What will be written is examined first, in calls that no signal ends.
#[test]
fn interrupts_end_what_waits_for_a_target_before_the_first_run() {
    let lab = Lab::new();
    let Some(server) = Stoppable::new(&lab) else {
        return;
    };
    lab.write("job", VDBENCH.replace("rdpct=100", "rdpct=0"));
    server.signal("STOP");
    for words in [
        &["run", "job", "-o", "out"][..],
        &["vdbench", "-f", "job"],
        &["curve", "mnt/a"],
        &["prefill", "mnt/a"],
    ] {
        let mut going = lab.start(words);
        going.hear_until(|line| line.contains("has not answered for"));
        going.signal("INT");
        std::thread::sleep(Duration::from_millis(500));
        going.signal("INT");
        let ended = going.end().expect(4);
        let last = ended.err.lines().last().unwrap();
        assert!(
            last.starts_with(
                "error: stopped by the user before the first run, while waiting for `"
            ) && last.ends_with("mnt/a`"),
            "{words:?}: {last}"
        );
    }
    drop(server);
}

/// Nothing is lost when a look ends, so it is ended, and says what to do.
#[test]
fn a_check_does_not_wait_for_a_target_that_hangs() {
    let lab = Lab::new();
    let disk = match Served::new(&lab, "mnt", &["memory", "16m"]) {
        Ok(disk) => disk,
        Err(reason) => return skip(&reason),
    };
    let path = "mnt/disk";
    lab.write("job", VDBENCH.replace("mnt/a", path));
    lab.write(
        "writes",
        VDBENCH
            .replace("mnt/a", path)
            .replace("rdpct=100", "rdpct=0"),
    );
    lab.write("job.fio", format!("[j]\nfilename={path}\nrw=randread\n"));
    lab.fathom(&["check", "job"]).expect(0);
    disk.signal("STOP");
    for words in [&["job"][..], &["writes"], &["job.fio"], &["job", "--json"]] {
        let words = [&["check"], words].concat();
        let ended = lab.start(&words).end().expect(2);
        let last = ended.err.lines().last().unwrap();
        assert!(
            last.starts_with("error: `")
                && last.ends_with(
                    "mnt/disk` has not answered for 5 s; see that its storage is there, and check again"
                ),
            "{words:?}: {last}"
        );
    }
    let going = lab.start(&["check", "job"]);
    std::thread::sleep(Duration::from_secs(1));
    let since = Instant::now();
    going.signal("INT");
    let ended = going.end().expect(4);
    assert!(since.elapsed() < Duration::from_secs(3), "{since:?}");
    ended.says(&["stopped by the user during the check, while waiting for `"]);
    drop(disk);
}

/// Each read of a look is an answer.
#[test]
fn a_check_waits_for_a_slow_target() {
    let lab = Lab::new();
    let plugin = ["--filter=delay", "memory", "16m", "rdelay=200ms"];
    let disk = match Served::new(&lab, "mnt", &plugin) {
        Ok(disk) => disk,
        Err(reason) => return skip(&reason),
    };
    let text = VDBENCH.replace("mnt/a", "mnt/disk");
    lab.write("job", text.replace("rdpct=100", "rdpct=0"));
    let since = Instant::now();
    let ended = lab.fathom(&["check", "job"]);
    assert!(since.elapsed() > Duration::from_secs(6), "{since:?}");
    assert!(!ended.err.contains("has not answered"), "{}", ended.err);
    drop(disk);
}
