//! A guide to a cluster, whose profiles are not ours: each node is prepared in a loop, then six tests run on all of them.
use crate::hosts::Hosts;
use crate::lab::{Lab, is_long, skip};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

const PROFILES: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../../shared/samples/fio/vm"
);

const TESTS: [&str; 6] = [
    "randread",
    "randwrite",
    "randrw",
    "seqread",
    "seqwrite",
    "expand",
];

const NODES: usize = 4;

/// A profile with small files, a short time and a folder of the lab.
fn cut(lab: &Lab, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(Path::new(PROFILES).join(format!("{name}.fio"))).ok()?;
    let folder = lab.path("data").display().to_string();
    let changed = [
        // The longest transfer is 16 MiB.
        (
            "size=4g",
            if name == "expand" {
                "size=32m"
            } else {
                "size=4m"
            },
        ),
        ("runtime=60", "runtime=1"),
        ("/sdb/", &folder),
    ];
    let text = changed
        .iter()
        .fold(text, |text, (from, to)| text.replace(from, to));
    assert!(!text.contains("4g") && !text.contains("sdb"), "{text}");
    Some(text)
}

/// Counts by latency, by the name of a direction.
fn bins(entry: &Value, direction: &str) -> BTreeMap<u64, u64> {
    let bins = entry[direction]["clat_ns"]["bins"].as_object();
    let bins = bins.into_iter().flatten();
    bins.map(|(ns, count)| (ns.parse().unwrap(), count.as_u64().unwrap()))
        .collect()
}

/// All that one recorder would have seen, and the percentiles that it would give.
fn is_one_recorder(all: &Value, each: &[Value], direction: &str) {
    let mut merged: BTreeMap<u64, u64> = BTreeMap::new();
    for (ns, count) in each.iter().flat_map(|one| bins(one, direction)) {
        *merged.entry(ns).or_default() += count;
    }
    assert_eq!(bins(all, direction), merged, "{direction}");
    let total: u64 = merged.values().sum();
    let percentiles = all[direction]["clat_ns"]["percentile"].as_object();
    assert_eq!(percentiles.is_some(), total > 0, "{direction}");
    for (name, value) in percentiles.into_iter().flatten() {
        let value = value.as_u64().unwrap();
        let rank = name.parse::<f64>().unwrap() / 100.0 * total as f64;
        let below: u64 = merged.range(..value).map(|(_, count)| count).sum();
        let within: u64 = merged.range(..=value).map(|(_, count)| count).sum();
        let is_there = (below as f64) <= rank && rank <= within as f64 + 1e-6;
        assert!(
            is_there,
            "{direction} {name}: {below} to {within} of {total}, at {value}"
        );
    }
}

fn add_up(document: &Value, name: &str) {
    let (all, each) = document["client_stats"]
        .as_array()
        .unwrap()
        .split_last()
        .unwrap();
    assert_eq!(all["jobname"], "All clients");
    // Four clones on each node.
    assert_eq!(each.len(), 4 * NODES, "{name}");
    let mut operations = 0;
    for direction in ["read", "write"] {
        for field in ["total_ios", "io_bytes"] {
            let whole = |one: &Value| one[direction][field].as_u64().unwrap();
            let sum: u64 = each.iter().map(whole).sum();
            assert_eq!(whole(all), sum, "{name} {direction} {field}");
            operations += sum;
        }
        is_one_recorder(all, each, direction);
    }
    assert!(operations > 0, "{name}");
}

#[test]
fn the_profiles_of_a_cluster_run_as_their_guide_says() {
    let lab = Lab::new();
    let names = || TESTS.into_iter().chain(["prepare-set"]);
    for name in names() {
        match cut(&lab, name) {
            Some(text) => lab.write(&format!("{name}.fio"), text),
            None => return skip(&format!("no profiles at {PROFILES}")),
        }
    }
    let hosts = match Hosts::new(&lab, NODES) {
        Ok(hosts) => hosts,
        Err(reason) => return skip(&reason),
    };
    std::fs::create_dir(lab.path("data")).unwrap();
    let clients: Vec<String> = (0..NODES)
        .map(|node| format!("--client={}", hosts.address(node)))
        .collect();
    for client in &clients {
        let words = ["fio", "--minimal", client, "prepare-set.fio"];
        let ended = hosts.fathom(&lab, &words).expect(0);
        let lines = ended.out.lines().filter(|line| line.starts_with("3;"));
        // Four workers, and all of them.
        assert_eq!(lines.count(), 5, "{ended}");
    }
    let files = lab.names("data");
    assert_eq!(files.len(), 4 * NODES, "{files:?}");
    // One of each kind where all take too long.
    let is_tried = |name: &&str| is_long() || ["randrw", "seqread"].contains(name);
    for name in TESTS.into_iter().filter(is_tried) {
        let (profile, out) = (format!("{name}.fio"), format!("--output={name}.out"));
        let mut words = vec!["fio", "--output-format=json+,normal", &out];
        for client in &clients {
            words.extend([client.as_str(), &profile]);
        }
        hosts.fathom(&lab, &words).expect(0);
        let text = lab.text(&format!("{name}.out"));
        let (json, normal) = text.split_at(text.rfind("\n}\n").unwrap() + 3);
        let json = serde_json::from_str(&json[json.find('{').unwrap()..]).unwrap();
        add_up(&json, name);
        assert_eq!(normal.matches("All clients: ").count(), 1, "{name}");
        let sections = normal.matches("Run status group 0").count();
        assert_eq!(sections, NODES, "{name}: {normal}");
    }
    // Each node works on the files that were prepared for it.
    assert_eq!(lab.names("data"), files);
}
