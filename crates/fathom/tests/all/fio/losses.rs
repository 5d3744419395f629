//! What the reports say of clients while a job runs, and of one that is lost: agents on this machine, of which one is killed.
use crate::lab::{Ended, FATHOM, Going, Lab, must};
use serde_json::Value;
use std::time::{Duration, Instant};

const JOB: &str = "[global]\nioengine=null\nsize=1g\nbs=4k\nrw=randread\nrate_iops=1000\ntime_based\nruntime=4\n[one]\n";
const ECONNRESET: u64 = 104;

/// What one entry of the JSON says of its reads.
#[derive(Debug)]
struct Read {
    host: String,
    error: u64,
    count: u64,
    bytes: u64,
    rate: f64,
    runtime_ms: u64,
    percentile_count: u64,
}

fn begin() -> Lab {
    let lab = Lab::new();
    let launcher = "#!/bin/sh\nLOST_HOST=\"$PWD/$1\"; export LOST_HOST; shift\nexec sh -c \"$*\"\n";
    lab.write_script("launch", launcher);
    lab.write("job.fio", JOB);
    lab
}

/// The process that is the agent of a host.
fn agent(lab: &Lab, host: &str) -> Option<u32> {
    let place = format!("LOST_HOST={}", lab.path(host).display());
    let parts = |id: u32, name: &str| std::fs::read(format!("/proc/{id}/{name}")).ok();
    let is_it = |id: &u32| {
        let words = parts(*id, "cmdline").unwrap_or_default();
        let own = parts(*id, "environ").unwrap_or_default();
        let is_agent = words.split(|byte| *byte == 0).nth(1) == Some(b"agent");
        is_agent
            && own
                .split(|byte| *byte == 0)
                .any(|one| one == place.as_bytes())
    };
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let mut ids = all.filter_map(|one| one.file_name().to_str()?.parse().ok());
    ids.find(is_it)
}

/// Runs a job on hosts, and kills the agent of the last one when it has told two seconds.
fn lose(lab: &Lab, hosts: &[&str], job: &str, more: &[&str]) -> Ended {
    let mut command = lab.fio_command(FATHOM);
    command.args(["--output-format=normal,json,terse", "--output=out"]);
    command.args(["--launcher", "./launch {host}", "--result", "kept"]);
    command.args(more);
    for host in hosts {
        command.arg(format!("--client={host}")).arg(job);
    }
    let going = Going::of(command);
    let last = hosts[hosts.len() - 1];
    let since = Instant::now();
    while agent(lab, last).is_none() {
        assert!(since.elapsed() < Duration::from_secs(20), "no agent");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(3_000));
    let agent = agent(lab, last).expect("the agent is there").to_string();
    must("kill", &["-s", "KILL", &agent]);
    going.end()
}

/// The document of a report, and the text after it.
fn parts(report: &str) -> (Value, &str) {
    let begin = report.find("\n{\n").unwrap() + 1;
    let end = report[begin..].find("\n}\n").unwrap() + begin + 3;
    let json = serde_json::from_str(&report[begin..end]).unwrap();
    (json, &report[end..])
}

fn reads(json: &Value) -> Vec<Read> {
    let all = json["client_stats"].as_array().unwrap().iter();
    let read = |one: &Value| Read {
        host: one["hostname"].as_str().unwrap().to_owned(),
        error: one["error"].as_u64().unwrap(),
        count: one["read"]["total_ios"].as_u64().unwrap(),
        bytes: one["read"]["io_bytes"].as_u64().unwrap(),
        rate: one["read"]["iops"].as_f64().unwrap(),
        runtime_ms: one["read"]["runtime"].as_u64().unwrap(),
        percentile_count: one["read"]["clat_ns"]["N"].as_u64().unwrap(),
    };
    all.map(read).collect()
}

/// Figures are of what came, over the time in which it came.
#[track_caller]
fn are_of_their_time(read: &Read, of_ms: std::ops::Range<u64>) {
    let is_whole = read.bytes == read.count * 4096 && read.percentile_count == read.count;
    let is_paced = (900.0..1100.0).contains(&read.rate);
    assert!(is_whole && is_paced, "{read:?}");
    assert!(of_ms.contains(&read.runtime_ms), "{read:?}");
}

/// Each report names the host and when it was lost, and no other job has an error.
#[track_caller]
fn names_the_lost(ended: &Ended, report: &str, reads: &[Read]) {
    let (json, text) = parts(report);
    let lost = &json["fathom"]["lost_hosts"][0];
    assert_eq!(lost["hostname"], "h2", "{report}");
    let (interval, at) = (&lost["interval"], lost["at_msec"].as_u64().unwrap());
    let lost_read = reads.iter().find(|one| one.host == "h2").unwrap();
    assert!(
        lost_read.runtime_ms.abs_diff(at) < 100,
        "{lost_read:?} {at}"
    );
    let error = format!(
        "err={ECONNRESET} (file:h2, func=lost in interval {interval} at {at}msec, error=Connection reset by peer)"
    );
    assert!(text.contains(&error), "{text}");
    let line =
        format!("client: host=h2 disconnected in interval {interval}: its figures end at {at}msec");
    ended.tells(&[&line]);
    for (read, line) in reads
        .iter()
        .zip(report.lines().filter(|one| one.starts_with("3;")))
    {
        let field = line.split(';').nth(4).unwrap();
        assert_eq!(field, read.error.to_string(), "{line}");
    }
}

#[test]
fn a_client_that_is_lost_has_figures_of_its_time_and_an_error() {
    let lab = begin();
    let ended = lose(&lab, &["h1", "h2"], "job.fio", &[]).expect(1);
    let report = lab.text("out");
    let reads = reads(&parts(&report).0);
    let [other, lost, all] = &reads[..] else {
        panic!("{reads:?}")
    };
    are_of_their_time(other, lost.runtime_ms..4_000);
    are_of_their_time(lost, 1_000..3_500);
    assert_eq!(
        (other.error, lost.error, all.error),
        (0, ECONNRESET, ECONNRESET)
    );
    assert_eq!(all.count, other.count + lost.count);
    assert_eq!(all.runtime_ms, other.runtime_ms);
    names_the_lost(&ended, &report, &reads);
    // The same is told again of what was kept.
    let again = lab.fathom(&["report", "kept", "--fio", "json"]).expect(0);
    let again = self::reads(&again.json());
    assert_eq!(format!("{again:?}"), format!("{reads:?}"));
}

#[test]
fn the_others_keep_their_figures_where_they_go_on() {
    let lab = begin();
    lab.write("jobs.fio", format!("{JOB}[two]\nstonewall\nruntime=1\n"));
    let more = ["--on-loss", "continue"];
    let ended = lose(&lab, &["h1", "h2"], "jobs.fio", &more).expect(0);
    let report = lab.text("out");
    let reads = reads(&parts(&report).0);
    let [first, second, lost, never, all] = &reads[..] else {
        panic!("{reads:?}")
    };
    are_of_their_time(first, 4_000..4_100);
    are_of_their_time(second, 1_000..1_100);
    are_of_their_time(lost, 1_000..3_500);
    assert_eq!((never.count, never.error), (0, ECONNRESET));
    assert_eq!((first.error, second.error, lost.error), (0, 0, ECONNRESET));
    assert_eq!(all.count, first.count + second.count + lost.count);
    names_the_lost(&ended, &report, &reads);
}

#[test]
fn the_only_client_is_lost() {
    let lab = begin();
    let ended = lose(&lab, &["h2"], "job.fio", &[]).expect(1);
    let report = lab.text("out");
    let reads = reads(&parts(&report).0);
    are_of_their_time(&reads[0], 1_000..3_500);
    assert_eq!(reads[0].error, ECONNRESET);
    names_the_lost(&ended, &report, &reads);
}

#[test]
fn sections_of_clients_come_at_each_interval_that_is_asked_for_after_them() {
    let lab = begin();
    let clients = ["--client=h1", "job.fio", "--client=h2", "job.fio"];
    let run = |format: &str, before: &[&str], after: &[&str]| {
        let launcher = ["--launcher", "./launch {host}", format];
        lab.fio([&launcher[..], before, &clients[..2], after, &clients[2..]].concat())
            .expect(0)
    };
    let interval = ["--status-interval=1"];
    let sections = |text: &str| {
        (
            text.matches("\none: (").count(),
            text.matches("All clients: (").count(),
        )
    };
    // What fio does: nothing where it stands in front, and sections of each client where it does not.
    let ended = run("--output-format=normal", &interval, &[]);
    assert_eq!(sections(&ended.out), (2, 1), "{ended}");
    ended.tells(&["`--status-interval` in front of the first `--client` has no effect"]);
    let ended = run("--output-format=normal,json", &[], &interval);
    let (each, all) = sections(&ended.out);
    assert!(
        each >= 8 && each % 2 == 0 && all == 1,
        "{each} {all} {ended}"
    );
    assert_eq!(ended.out.matches("\"fio version\"").count(), 1, "{ended}");
}
