//! A device of a known latency that takes four I/Os at a time, so that submitting more of them waits.
use crate::lab::{Lab, ended, has, is_root, must, skip};
use crate::running::stop::OnDrop;
use crate::served::Served;
use serde_json::Value;
use std::path::Path;

const LATENCY_NS: f64 = 1e6;
const ENGINES: [(&str, &[u32]); 3] = [
    ("libaio", &[1, 8, 64]),
    ("io_uring", &[1, 8, 64]),
    ("psync", &[1]),
];

fn refusal() -> Option<&'static str> {
    if !is_root() {
        return Some("only root can make a loop device");
    }
    (!has("losetup")).then_some("`losetup` is missing")
}

/// Gives the queue of a device four tags; an error where it has no such setting.
fn limit(device: &str) -> std::io::Result<()> {
    let name = device.trim_start_matches("/dev/");
    let queue = Path::new("/sys/block").join(name).join("queue");
    std::fs::write(queue.join("scheduler"), "none")?;
    std::fs::write(queue.join("nr_requests"), "4")
}

fn percentiles(latencies: &Value) -> Vec<f64> {
    let all = latencies["percentile"]
        .as_object()
        .expect("it was asked for");
    all.values().map(|value| value.as_f64().unwrap()).collect()
}

#[test]
fn what_waits_for_a_tag_or_for_its_turn_is_in_the_latency() {
    if let Some(reason) = refusal() {
        return skip(reason);
    }
    crate::lab::alone();
    let lab = Lab::new();
    let words = ["--filter=delay", "memory", "16M", "rdelay=1ms"];
    let _served = match Served::new(&lab, "slow", &words) {
        Ok(served) => served,
        Err(reason) => return skip(&reason),
    };
    let file = lab.path("slow/disk").display().to_string();
    let device = must("losetup", &["-f", "--show", "--direct-io=on", &file]);
    let device = device.trim().to_owned();
    let _detach = OnDrop(|| drop(must("losetup", &["-d", &device])));
    if let Err(error) = limit(&device) {
        return skip(&format!("the loop device cannot be limited: {error}"));
    }
    for (engine, depths) in ENGINES {
        for depth in depths {
            let what = format!("{engine} at {depth}");
            let mut command = lab.command(crate::lab::FATHOM);
            command.args(["fio", "--name=j", "--rw=randread", "--bs=4k", "--direct=1"]);
            command.args([
                "--number_ios=1500",
                "--lat_percentiles=1",
                "--output-format=json",
            ]);
            command.arg(format!("--filename={device}"));
            command.arg(format!("--ioengine={engine}"));
            command.arg(format!("--iodepth={depth}"));
            let out = ended(&mut command).expect(0).out;
            let report: Value = serde_json::from_str(&out).expect("one document");
            let read = &report["jobs"][0]["read"];
            let (lat, clat) = (&read["lat_ns"], &read["clat_ns"]);
            // A value stands for its bucket, of which it is the middle.
            let is_as_slow = |value: &f64| *value >= 0.99 * LATENCY_NS;
            assert!(percentiles(lat).iter().all(is_as_slow), "{what}: {lat:#}");
            assert!(percentiles(clat).iter().all(is_as_slow), "{what}: {clat:#}");
            let least = clat["min"].as_f64().unwrap();
            assert!(is_as_slow(&least), "{what}: {least} ns");
            let busy = read["iops"].as_f64().unwrap() * lat["mean"].as_f64().unwrap() / 1e9;
            let share = busy / f64::from(*depth);
            assert!((0.8..1.05).contains(&share), "{what}: {busy} in flight");
        }
    }
}
