//! What becomes of a run that loses a host, or whose hosts lose the one that leads.
use crate::hosts::{Hosts, Stopped};
use crate::lab::{Ended, Going, Lab, skip};
use std::process::Command;
use std::time::{Duration, Instant};

/// A job of two hosts with a file of its own on each; skipped where there are none.
fn begin(more: &str) -> Option<(Lab, Hosts)> {
    begin_in(Lab::new(), more)
}

fn begin_in(lab: Lab, more: &str) -> Option<(Lab, Hosts)> {
    let hosts = Hosts::new(&lab, 2).map_err(|reason| skip(&reason)).ok()?;
    let file = |place: usize| lab.path(&format!("disk{place}")).display().to_string();
    let job: String = (0..2)
        .map(|place| {
            let address = hosts.address(place);
            format!(
                "hd=h{place},system={address},user=root\nsd=sd{place},hd=h{place},lun={},size=2m,threads=2\n",
                file(place)
            )
        })
        .collect();
    // Definitions of one kind come after each other.
    let (heads, storages): (Vec<&str>, Vec<&str>) =
        job.lines().partition(|line| line.starts_with("hd="));
    let text = [heads, storages].concat().join("\n");
    lab.write(
        "job",
        format!("{text}\nwd=wd1,sd=sd*,xfersize=4k,rdpct=100\n{more}\n"),
    );
    Some((lab, hosts))
}

fn send(signal: &str, process: u32) {
    let mut kill = Command::new("kill");
    let sent = kill.args(["-s", signal, &process.to_string()]).status();
    assert!(sent.unwrap().success(), "{signal} {process}");
}

/// Starts the job and waits until its run `number` goes.
fn going(lab: &Lab, hosts: &Hosts, number: &str, more: &[&str]) -> Going {
    let words = [&["run", "job", "-o", "out"], more].concat();
    let mut going = hosts.start(lab, &words);
    going.hear_until(|line| line.starts_with(&format!("run {number}")));
    std::thread::sleep(Duration::from_millis(2_500));
    going
}

fn agent(hosts: &Hosts, place: usize) -> u32 {
    hosts.agent(place).expect("an agent is there")
}

/// What each measured run reached; `None` where it has no average.
fn rates(lab: &Lab) -> Vec<Option<f64>> {
    let csv = lab.text("out/summary.csv");
    let mut rows = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = rows.next().unwrap();
    let place = names.iter().position(|name| *name == "achieved_rate_per_s");
    let measured = rows.filter(|row| !row.contains(&"SD_format"));
    measured
        .map(|row| row[place.unwrap()].parse().ok())
        .collect()
}

fn are_whole(lab: &Lab, count: usize, ended: &Ended) {
    let rates = rates(lab);
    let is_right =
        rates.len() == count && rates.iter().all(|rate| rate.is_some_and(|rate| rate > 0.0));
    assert!(is_right, "{rates:?} {ended}");
}

#[test]
fn a_host_that_stands_still_for_a_while_goes_on() {
    let Some((lab, hosts)) = begin("rd=rd1,wd=wd1,iorate=100,elapsed=8,interval=1") else {
        return;
    };
    let going = going(&lab, &hosts, "2/2", &[]);
    let still = hosts.stop(1);
    std::thread::sleep(Duration::from_secs(3));
    drop(still);
    let ended = going.end().expect(0);
    ended.tells(&["host `h1` stood still"]);
    assert!(!ended.all().contains("is missing"), "{ended}");
    are_whole(&lab, 1, &ended);
}

#[test]
fn a_host_that_stands_still_for_too_long_is_lost() {
    let Some((lab, hosts)) = begin("rd=rd1,wd=wd1,iorate=100,elapsed=60,interval=1") else {
        return;
    };
    let going = going(&lab, &hosts, "2/2", &["--host-timeout", "5s"]);
    let still = hosts.stop(1);
    let ended = going.end().expect(1);
    ended.tells(&["host `h1`", "silent for 5 s"]);
    drop(still);
    are_whole(&lab, 1, &ended);
    hosts.wait_until_left();
}

#[test]
fn the_others_go_on_where_that_was_asked() {
    let Some((lab, hosts)) = begin("rd=rd1,wd=wd1,iorate=(100,120),elapsed=6,interval=1") else {
        return;
    };
    let running = going(&lab, &hosts, "2/3", &["--on-loss", "continue"]);
    send("KILL", agent(&hosts, 1));
    let ended = running.end().expect(0);
    ended.tells(&["host `h1` is missing: the others go on without it"]);
    are_whole(&lab, 2, &ended);
    // Whatever figures the face shows, they are of the other host.
    let csv = lab.text("out/summary.csv");
    assert_eq!(csv.matches("lost figures").count(), 2, "{csv}");
    let words: Vec<&str> = ended.out.split_whitespace().collect();
    assert!(words.join(" ").contains("a host lost"), "{ended}");
    hosts.fathom(&lab, &["report", "out"]).expect(0);
    assert_eq!(lab.text("out/summary.csv"), csv);
    let rates = rates(&lab);
    assert!(rates[1].is_some_and(|rate| rate < 90.0), "{rates:?}");
    hosts.wait_until_left();
}

#[test]
fn runs_that_were_lost_with_a_host_are_done_again() {
    let Some((lab, hosts)) = begin("rd=rd1,wd=wd1,iorate=(100,120,140),elapsed=4,interval=1")
    else {
        return;
    };
    let running = going(&lab, &hosts, "3/4", &[]);
    send("KILL", agent(&hosts, 1));
    running.end().expect(1).tells(&["host `h1`"]);
    let ended = hosts.fathom(&lab, &["run", "--resume", "out"]).expect(0);
    are_whole(&lab, 3, &ended);
}

#[test]
fn hosts_whose_leader_is_killed_stop_and_the_rest_is_done_later() {
    let Some((lab, hosts)) = begin("rd=rd1,wd=wd1,iorate=(100,120,140),elapsed=4,interval=1")
    else {
        return;
    };
    let running = going(&lab, &hosts, "3/4", &[]);
    running.signal("KILL");
    drop(running.end());
    hosts.wait_until_left();
    let told = hosts.fathom(&lab, &["report", "out"]).expect(0);
    let csv = lab.text("out/summary.csv");
    assert!(csv.lines().count() >= 3, "{csv} {told}");
    let ended = hosts.fathom(&lab, &["run", "--resume", "out"]).expect(0);
    are_whole(&lab, 3, &ended);
}

#[test]
fn a_leader_that_stands_still_is_waited_for_as_long_as_a_line_may_be_silent() {
    let Some((lab, hosts)) = begin("rd=rd1,wd=wd1,iorate=100,elapsed=6,interval=1") else {
        return;
    };
    let running = going(&lab, &hosts, "2/2", &[]);
    let still = Stopped::of(running.id());
    std::thread::sleep(Duration::from_millis(1_500));
    drop(still);
    let ended = running.end().expect(0);
    are_whole(&lab, 1, &ended);
    let running = going(&lab, &hosts, "1/1", &["--host-timeout", "5s"]);
    let still = Stopped::of(running.id());
    hosts.wait_until_stopped();
    drop(still);
    running
        .end()
        .expect(1)
        .tells(&["host `h0`: ", "host `h1`: "]);
    hosts.wait_until_left();
}

#[test]
fn a_second_interrupt_waits_for_no_host() {
    let Some((lab, hosts)) = begin("rd=rd1,wd=wd1,iorate=100,elapsed=60,interval=1") else {
        return;
    };
    // One of the two does not answer, and then neither.
    for (which, still) in [("2/2", &[1][..]), ("1/1", &[0, 1])] {
        let mut running = going(&lab, &hosts, which, &[]);
        let stopped: Vec<Stopped> = still.iter().map(|place| hosts.stop(*place)).collect();
        running.signal("INT");
        std::thread::sleep(Duration::from_secs(1));
        assert!(running.is_going(), "the first one waits");
        running.signal("INT");
        let since = Instant::now();
        let ended = running.end().expect(4);
        // Far below the time for which a host may be silent, or is waited for at the end.
        let took = since.elapsed();
        assert!(took < Duration::from_secs(9), "{took:?}: {ended}");
        ended.tells(&["host `h1`"]);
        drop(stopped);
        hosts.wait_until_left();
    }
}

/// A file system of its own, which goes away again.
struct Small(String);

impl Small {
    fn mount(path: &str) -> Option<Self> {
        std::fs::create_dir(path).unwrap();
        let mut mount = Command::new("mount");
        let mounted = mount
            .args(["-t", "tmpfs", "-o", "size=4m", "none", path])
            .status();
        mounted
            .is_ok_and(|status| status.success())
            .then(|| Self(path.to_owned()))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").args(["-l", &self.0]).status();
    }
}

/// Somebody fills the disk of one host while the run goes: its writes fail, and those of the other do not.
#[test]
fn a_disk_that_gets_full_is_told_of_its_host() {
    let more = "rd=rd1,wd=wd1,iorate=200,elapsed=20,interval=1";
    let lab = Lab::new();
    let folder = lab.path("small").display().to_string();
    // Hosts see what was mounted before them.
    let Some(_small) = Small::mount(&folder) else {
        return skip("a tmpfs cannot be mounted here");
    };
    let Some((lab, hosts)) = begin_in(lab, more) else {
        return;
    };
    // Holes, for which there is room yet.
    for name in ["small/disk1", "disk0"] {
        std::fs::File::create(lab.path(name))
            .unwrap()
            .set_len(2 << 20)
            .unwrap();
    }
    let job = lab.text("job").replace(
        &lab.path("disk1").display().to_string(),
        &format!("{folder}/disk1"),
    );
    lab.write("job", job.replace("rdpct=100", "rdpct=0"));
    let words = ["run", "job", "-o", "out"];
    let mut running = hosts.start(&lab, &words);
    running.hear_until(|line| line.starts_with("run 1/1"));
    std::thread::sleep(Duration::from_millis(1_500));
    let _ = std::fs::write(lab.path("small/other"), vec![1; 4 << 20]);
    let ended = running.end().expect(1);
    ended.tells(&["operations failed"]);
    let page = lab.text("out/report.html");
    assert!(page.contains("No space left") && page.contains("small/disk1"));
    are_whole(&lab, 1, &ended);
    hosts.wait_until_left();
}
