//! `--client`: what several hosts did, each by itself and together, over real ssh.
use crate::hosts::Hosts;
use crate::lab::{Lab, skip};
use serde_json::Value;

const JOB: &str = "[global]\ndirectory=DIR\nsize=1m\nbs=4k\ndirect=1\nioengine=libaio\niodepth=2\n\
    time_based\nruntime=2\nlog_avg_msec=500\n\
    [mixed]\nrw=randrw\nnumjobs=2\nwrite_bw_log=logged\n";

fn begin(count: usize) -> Result<(Lab, Hosts), String> {
    let lab = Lab::new();
    let hosts = Hosts::new(&lab, count)?;
    let folder = lab.path("data");
    std::fs::create_dir(&folder).unwrap();
    lab.write("job.fio", JOB.replace("DIR", &folder.display().to_string()));
    Ok((lab, hosts))
}

fn whole(entry: &Value, direction: &str, field: &str) -> u64 {
    entry[direction][field].as_u64().unwrap()
}

/// The last entry is what the others did together, two clones on each host.
fn add_up(stats: &[Value], hosts: &Hosts) {
    let (all, each) = stats.split_last().unwrap();
    for (place, one) in each.iter().enumerate() {
        assert_eq!(one["hostname"], hosts.address(place / 2));
        assert!(whole(one, "read", "total_ios") > 0);
    }
    for direction in ["read", "write"] {
        for field in ["total_ios", "io_bytes"] {
            let sum: u64 = each.iter().map(|one| whole(one, direction, field)).sum();
            assert_eq!(whole(all, direction, field), sum, "{direction} {field}");
        }
        // Percentiles of added histograms lie between those of the parts.
        let median = |one: &Value| {
            one[direction]["clat_ns"]["percentile"]["50.000000"]
                .as_u64()
                .unwrap()
        };
        let parts: Vec<u64> = each.iter().map(median).collect();
        let (least, most) = (parts.iter().min().unwrap(), parts.iter().max().unwrap());
        assert!(
            (*least..=*most).contains(&median(all)),
            "{parts:?} {}",
            median(all)
        );
    }
}

#[test]
fn all_clients_are_the_sum_of_the_clients() {
    let (lab, hosts) = match begin(2) {
        Ok(begun) => begun,
        Err(reason) => return skip(&reason),
    };
    let clients = [hosts.address(0), hosts.address(1)].map(|host| format!("--client={host}"));
    let words = [
        "fio",
        "--output-format=json,normal",
        "--output=out",
        &clients[0],
        "job.fio",
        &clients[1],
        "job.fio",
    ];
    hosts.fathom(&lab, &words).expect(0);
    let text = lab.text("out");
    let (json, normal) = text.split_at(text.rfind("\n}\n").unwrap() + 3);
    let json: Value = serde_json::from_str(&json[json.find('{').unwrap()..]).unwrap();
    let stats = json["client_stats"].as_array().unwrap();
    let names: Vec<&str> = stats
        .iter()
        .map(|one| one["jobname"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["mixed", "mixed", "mixed", "mixed", "All clients"]);
    add_up(stats, &hosts);
    // A section for each, then all; the log of each clone with its host.
    assert_eq!(normal.matches("Run status group 0").count(), 2);
    assert_eq!(
        normal
            .matches("All clients: (groupid=0, jobs=4): err= 0: pid=0:")
            .count(),
        1
    );
    let all = &normal[normal.find("All clients:").unwrap()..];
    assert!(!all.contains("B/s)("), "{all}");
    for host in [hosts.address(0), hosts.address(1)] {
        for number in [1, 2] {
            assert!(lab.path(&format!("logged_bw.{number}.log.{host}")).exists());
        }
        // Two hosts on one shared folder do not touch each other's files.
        assert!(lab.path(&format!("data/{host}.mixed.0.0")).exists());
    }
    let terse = [
        "fio",
        "--minimal",
        &clients[0],
        "job.fio",
        &clients[1],
        "job.fio",
    ];
    let ended = hosts.fathom(&lab, &terse).expect(0);
    let lines = ended.out.lines().filter(|line| line.starts_with("3;"));
    assert_eq!(lines.count(), 5, "{ended}");
}

#[test]
fn single_ios_of_clients_come_back() {
    let (lab, hosts) = match begin(2) {
        Ok(begun) => begun,
        Err(reason) => return skip(&reason),
    };
    let job = lab.text("job.fio");
    let job = job.replace("log_avg_msec=500\n", "rate_iops=200\n");
    lab.write("single.fio", job.replace("numjobs=2", "numjobs=1"));
    let mut words = vec!["fio".to_owned(), "--output-format=json".to_owned()];
    for place in [0, 1] {
        words.push(format!("--client={}", hosts.address(place)));
        words.push("single.fio".to_owned());
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ended = hosts.fathom(&lab, &words).expect(0);
    let json: Value = serde_json::from_str(&ended.out[ended.out.find('{').unwrap()..]).unwrap();
    let stats = json["client_stats"].as_array().unwrap();
    for (place, one) in stats.iter().take(2).enumerate() {
        let log = lab.text(&format!("logged_bw.1.log.{}", hosts.address(place)));
        for (direction, name) in ["read", "write"].into_iter().enumerate() {
            let is_of = |row: &&str| row.split(", ").nth(2) == Some(&direction.to_string());
            let rows = log.lines().filter(is_of).count() as u64;
            assert_eq!(rows, whole(one, name, "total_ios"), "{place} {name}");
            assert!(rows > 0);
        }
    }
}

#[test]
fn clients_differ_in_jobs_and_times() {
    let (lab, hosts) = match begin(2) {
        Ok(begun) => begun,
        Err(reason) => return skip(&reason),
    };
    let [first, second] = [0, 1].map(|place| format!("--client={}", hosts.address(place)));
    let longer = lab
        .text("job.fio")
        .replace("[mixed]", "[other]")
        .replace("runtime=2", "runtime=4");
    lab.write("own-there.fio", longer.replace("rw=randrw", "rw=randread"));
    let remote = format!("--remote-config={}", lab.path("own-there.fio").display());
    let words = [
        "fio",
        "--output-format=json",
        &first,
        "job.fio",
        &second,
        &remote,
    ];
    let ended = hosts.fathom(&lab, &words).expect(0);
    let json: Value = serde_json::from_str(&ended.out[ended.out.find('{').unwrap()..]).unwrap();
    let stats = json["client_stats"].as_array().unwrap();
    let time = |place: usize| whole(&stats[place], "read", "runtime");
    assert_eq!(stats[2]["jobname"], "other");
    assert!(
        time(0) < 3_500 && time(2) > 3_500,
        "{} {}",
        time(0),
        time(2)
    );
    assert_eq!(time(4), time(2).max(time(3)));
}

#[test]
fn what_no_client_can_do_is_refused() {
    let (lab, hosts) = match begin(1) {
        Ok(begun) => begun,
        Err(reason) => return skip(&reason),
    };
    let client = format!("--client={}", hosts.address(0));
    let refused = |words: &[&str], says: &[&str]| {
        let ended = hosts.fathom(&lab, &[&["fio"], words].concat()).expect(2);
        ended.says(says);
    };
    refused(
        &["--client=a", "--client=b", "job.fio"],
        &["`--client=a` has no job file"],
    );
    refused(&["--server"], &["no server is needed", "ssh-copy-id"]);
    // The near end of the cable has no sshd.
    let address = hosts.address(0);
    let near = format!("{}.254", &address[..address.rfind('.').unwrap()]);
    let to_near = format!("--client={near}");
    let server = std::net::TcpListener::bind((near.as_str(), 8765)).unwrap();
    let way_out = [
        "a `fio --server` listens there",
        "ssh-copy-id",
        "--launcher",
    ];
    refused(&[&to_near, "job.fio"], &way_out);
    drop(server);
    let ended = hosts.fathom(&lab, &["fio", &to_near, "job.fio"]).expect(2);
    assert!(!ended.err.contains("listens there"), "{}", ended.err);
    refused(
        &[&client, "--name=x", "--rw=read"],
        &["jobs of `--client` come from files"],
    );
    refused(
        &["job.fio", &client, "job.fio"],
        &["in front of the first `--client`"],
    );
    refused(
        &[&client, "--remote-config=/no/such"],
        &["/no/such", "no such file"],
    );
    refused(&["--client=sock:/tmp/x", "job.fio"], &["reaches no host"]);
    let job = lab.text("job.fio");
    lab.write("runs.fio", format!("{job}exec_prerun=touch here\n"));
    refused(
        &[&client, "runs.fio"],
        &["`exec_prerun` and `exec_postrun` are refused"],
    );
    assert!(!lab.path("here").exists());
    assert_eq!(std::fs::read_dir(lab.path("data")).unwrap().count(), 0);
}
