//! Jobs of several hosts over real ssh: each does its part, and what stands against it there is told before the first I/O.
use crate::hosts::Hosts;
use crate::lab::{Lab, is_long, skip};

/// A host of its own for each storage definition of a job.
fn job(hosts: &Hosts, count: usize, more: &str) -> String {
    let all = 0..count;
    let host = |place| format!("hd=h{place},system={},user=root\n", hosts.address(place));
    let storage = |place| format!("sd=sd{place},hd=h{place},lun=disk{place},size=4m,threads=2\n");
    let heads: String = all.clone().map(host).collect();
    let storages: String = all.map(storage).collect();
    format!("{heads}{storages}wd=wd1,sd=sd*,xfersize=4k,{more}\n")
}

/// Paths are those of the hosts, where nobody knows the folder of the lab.
fn in_lab(lab: &Lab, text: &str) -> String {
    text.replace(
        "lun=",
        &format!("lun={}/", lab.path("").display()).replace("//", "/"),
    )
}

/// Fields of all rows in the summary.
fn fields(lab: &Lab, folder: &str, name: &str) -> Vec<String> {
    let csv = lab.text(&format!("{folder}/summary.csv"));
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    let place = names.iter().position(|known| *known == name).unwrap();
    lines.map(|row| row[place].to_owned()).collect()
}

#[test]
fn two_hosts_share_a_rate_and_have_pages() {
    let lab = Lab::new();
    let hosts = match Hosts::new(&lab, 2) {
        Ok(hosts) => hosts,
        Err(reason) => return skip(&reason),
    };
    let more = "rdpct=100\nrd=rd1,wd=wd1,iorate=400,elapsed=3,interval=1";
    lab.write("job", in_lab(&lab, &job(&hosts, 2, more)));
    let ended = hosts
        .fathom(&lab, &["vdbench", "-f", "job", "-o", "out"])
        .expect(0);
    assert!(
        ended
            .out
            .contains("Vdbench execution completed successfully")
    );
    let rates = fields(&lab, "out", "achieved_rate_per_s");
    let rate: f64 = rates.last().unwrap().parse().unwrap();
    assert!((300.0..500.0).contains(&rate), "{rate}");
    for host in ["h0", "h1"] {
        let page = lab.text(&format!("out/{host}.html"));
        let average = page.lines().rfind(|line| line.contains("avg_"));
        let columns: Vec<&str> = average.unwrap().split_whitespace().collect();
        let rate: f64 = columns[2].parse().unwrap();
        assert!((100.0..300.0).contains(&rate), "{host}: {page}");
    }
    // Each wrote its own, and knows it again.
    hosts.fathom(&lab, &["run", "job", "-o", "again"]).expect(0);
}

#[test]
fn each_host_makes_what_it_knows_under_a_path_of_its_own() {
    let lab = Lab::new();
    let hosts = match Hosts::new(&lab, 2) {
        Ok(hosts) => hosts,
        Err(reason) => return skip(&reason),
    };
    let heads = [0, 1].map(|place| format!("hd=h{place},system={}\n", hosts.address(place)));
    let more = "sd=sd1,host=h0,lun=a,host=h1,lun=b,size=4m,threads=2\n\
        wd=wd1,sd=sd1,xfersize=4k,rdpct=100\nrd=rd1,wd=wd1,iorate=400,elapsed=3,interval=1\n";
    lab.write("job", in_lab(&lab, &(heads.concat() + more)));
    // The second has what the first has not.
    lab.write("b", vec![7; 1 << 20]);
    let second = lab.path("b").display().to_string();
    let words = ["run", "job", "-o", "out", "--overwrite", &second];
    hosts.fathom(&lab, &words).expect(0);
    for file in ["a", "b"] {
        assert_eq!(lab.bytes(file).len(), 4 << 20, "{file}");
    }
    assert!(lab.bytes("b").starts_with(&[7; 1 << 20]));
    assert_eq!(fields(&lab, "out", "errors").last().unwrap(), "0");
}

/// Eight hosts with eight files each, as a comparison of transports has them: filled, then measured in every combination,
/// of which there are 96 in the long suite.
#[test]
fn eight_hosts_run_a_matrix() {
    let lab = Lab::new();
    let hosts = match Hosts::new(&lab, 8) {
        Ok(hosts) => hosts,
        Err(reason) => return skip(&reason),
    };
    let mut text = "compratio=2,dedupratio=2,dedupunit=4k,dedupsets=5%\nmessagescan=no\n\
        hd=default,shell=vdbench,user=root,jvms=8\n"
        .to_owned();
    for host in 0..8 {
        text += &format!("hd=vm{host},system={}\n", hosts.address(host));
    }
    for volume in 0..64 {
        let host = volume / 8;
        text +=
            &format!("sd=vol{volume},hd=vm{host},lun=disk{volume},size=2m,openflags=o_direct\n");
    }
    let fill = "wd=fill,sd=vol*,rdpct=0,xfersize=256k,seekpct=eof\n\
        rd=filling,wd=fill,elapsed=500,interval=1,iorate=max,threads=8\n";
    let (sizes, mixes, threads, count) = match is_long() {
        true => ("4k,8k,16k,32k", "0,50,70,100", "1,2,4,8,16,32", 96),
        false => ("4k,32k", "0,70", "1,2", 8),
    };
    let matrix = format!(
        "wd=ran,seekpct=rand\n\
         rd=ran,wd=ran,sd=vol*,iorate=max,warmup=1,elapsed=2,interval=1,xfersize=({sizes}),rdpct=({mixes}),threads=({threads})\n"
    );
    lab.write("fill", in_lab(&lab, &(text.clone() + fill)));
    lab.write("matrix", in_lab(&lab, &(text + &matrix)));
    hosts
        .fathom(&lab, &["vdbench", "-f", "fill", "-o", "filled"])
        .expect(0);
    hosts
        .fathom(&lab, &["vdbench", "-f", "matrix", "-o", "out"])
        .expect(0);
    let names = lab.names("out");
    for host in 0..8 {
        for name in [format!("vm{host}.html"), format!("vm{host}-7.html")] {
            assert!(names.contains(&name), "no {name} among {names:?}");
        }
    }
    let loops = fields(&lab, "out", "loops");
    assert_eq!(loops.len(), count, "{loops:?}");
    let expected = "xfersize=4k rdpct=0 threads=1";
    assert!(loops[0].contains(expected), "{loops:?}");
    // A machine that stands still for as long as a run takes is no fault of ours, and the row says so.
    let rates = fields(&lab, "out", "achieved_rate_per_s");
    for (rate, marks) in rates.iter().zip(fields(&lab, "out", "marks")) {
        let is_told = marks.contains("stalled") || rate.parse::<f64>().unwrap() > 0.0;
        assert!(is_told, "{}", lab.text("out/summary.csv"));
    }
}

#[test]
fn all_that_stands_against_a_job_is_told_by_host_before_the_first_io() {
    let lab = Lab::new();
    let hosts = match Hosts::new(&lab, 2) {
        Ok(hosts) => hosts,
        Err(reason) => return skip(&reason),
    };
    let more = "rdpct=0\nrd=rd1,wd=wd1,iorate=100,elapsed=2,interval=1";
    let right = in_lab(&lab, &job(&hosts, 2, more));
    // Nobody has such a name, and that user no key.
    let second = format!("{},user=root", hosts.address(1));
    let first = format!("system={},", hosts.address(0));
    let text = right.replace(&first, "system=host.invalid,");
    lab.write(
        "job",
        text.replace(&second, &second.replace("root", "unknown")),
    );
    let ended = hosts.fathom(&lab, &["run", "job", "-o", "out"]).expect(2);
    ended.says(&[
        "host `h0`: `ssh ",
        "host `h1`: `ssh unknown@",
        "ssh-copy-id unknown@",
    ]);
    lab.write("job", right.replace(&first, "system=-v,"));
    let ended = hosts.fathom(&lab, &["run", "job", "-o", "out"]).expect(2);
    ended.says(&["host `h0`: `-v` is no name"]);
    // Somebody's data on one of the two.
    lab.write("job", &right);
    lab.write("disk0", vec![7; 4 << 20]);
    let ended = hosts.fathom(&lab, &["run", "job", "-o", "out"]).expect(3);
    let word = format!("--overwrite h0:{}", lab.path("disk0").display());
    let ended = ended.says(&["host `h0`: ", &word]);
    assert!(!ended.err.contains("host `h1`"), "{ended}");
    assert_eq!(lab.bytes("disk0"), vec![7; 4 << 20]);
    assert!(!lab.path("disk1").exists() && !lab.path("out").exists());
    let word = word.split(' ').nth(1).unwrap();
    let words = ["check", "--connect", "job", "--write-overwrite", "words"];
    hosts.fathom(&lab, &words).expect(3);
    assert_eq!(lab.text("words").trim(), word);
    hosts
        .fathom(
            &lab,
            &["run", "job", "-o", "out", "--overwrite", "h1:nothing"],
        )
        .expect(2);
    hosts
        .fathom(&lab, &["run", "job", "-o", "out", "--overwrite", word])
        .expect(0);
}

/// A switch that starts anew under the control connection: what the host counted meanwhile comes later.
#[test]
fn a_line_that_is_silent_for_a_while_loses_nothing() {
    let lab = Lab::new();
    let hosts = match Hosts::new(&lab, 2) {
        Ok(hosts) => hosts,
        Err(reason) => return skip(&reason),
    };
    let more = "rdpct=100\nrd=rd1,wd=wd1,iorate=100,elapsed=8,interval=1";
    lab.write("job", in_lab(&lab, &job(&hosts, 2, more)));
    hosts.fathom(&lab, &["run", "job", "-o", "first"]);
    let mut going = hosts.start(&lab, &["run", "job", "-o", "out"]);
    going.hear_until(|line| line.starts_with("run 1/1"));
    hosts.set_cable(1, false);
    std::thread::sleep(std::time::Duration::from_secs(3));
    hosts.set_cable(1, true);
    let ended = going.end().expect(0);
    assert!(!ended.all().contains("is missing"), "{ended}");
    let rates = fields(&lab, "out", "achieved_rate_per_s");
    let rate: f64 = rates.last().unwrap().parse().unwrap();
    assert!((80.0..120.0).contains(&rate), "{rate}");
}

#[test]
fn a_host_that_is_lost_ends_the_run_with_its_name() {
    let lab = Lab::new();
    let hosts = match Hosts::new(&lab, 2) {
        Ok(hosts) => hosts,
        Err(reason) => return skip(&reason),
    };
    let more = "rdpct=100\nrd=rd1,wd=wd1,iorate=100,elapsed=60,interval=1";
    lab.write("job", in_lab(&lab, &job(&hosts, 2, more)));
    // One whose agent dies, and one whose cable stays out for longer than it is waited for.
    for (is_killed, reason) in [(true, "closed the line"), (false, "silent for 2 s")] {
        let mut going = hosts.start(&lab, &["run", "job", "-o", "out", "--host-timeout", "2s"]);
        going.hear_until(|line| line.contains(" rd1, "));
        std::thread::sleep(std::time::Duration::from_millis(2500));
        let agent = hosts.agent(1).expect("an agent is there");
        match is_killed {
            true => {
                let id = agent.to_string();
                let mut kill = std::process::Command::new("kill");
                crate::lab::ended(kill.args(["-KILL", &id])).expect(0);
            }
            false => hosts.set_cable(1, false),
        }
        let ended = going.end().expect(1);
        ended.tells(&["host `h1`", reason]);
        let rates = fields(&lab, "out", "achieved_rate_per_s");
        assert!(rates.last().is_some_and(|rate| !rate.is_empty()), "{ended}");
        hosts.wait_until_left();
    }
    hosts.set_cable(1, true);
}

#[test]
fn ctrl_c_drains_all_hosts() {
    let lab = Lab::new();
    let hosts = match Hosts::new(&lab, 2) {
        Ok(hosts) => hosts,
        Err(reason) => return skip(&reason),
    };
    let more = "rdpct=100\nrd=rd1,wd=wd1,iorate=100,elapsed=60,interval=1";
    lab.write("job", in_lab(&lab, &job(&hosts, 2, more)));
    let mut going = hosts.start(&lab, &["run", "job", "-o", "out"]);
    going.hear_until(|line| line.contains(" rd1, "));
    std::thread::sleep(std::time::Duration::from_millis(2500));
    going.signal("INT");
    let ended = going.end().expect(4);
    ended.tells(&["stopped by the user"]);
    assert!(!ended.all().contains("is missing"), "{ended}");
}

/// Nothing is said of a run while the job pauses or runs a command, and no host is taken for lost.
#[test]
fn a_pause_may_be_longer_than_a_host_may_be_silent() {
    let lab = Lab::new();
    let hosts = match Hosts::new(&lab, 2) {
        Ok(hosts) => hosts,
        Err(reason) => return skip(&reason),
    };
    let more = "rdpct=100\nrd=rd1,wd=wd1,iorate=(100,200),elapsed=2,interval=1,pause=5";
    lab.write("job", in_lab(&lab, &job(&hosts, 2, more)));
    let words = ["run", "job", "-o", "out", "--host-timeout", "2s"];
    hosts.fathom(&lab, &words).expect(0);
    let rates = fields(&lab, "out", "achieved_rate_per_s");
    assert!(
        rates.last().is_some_and(|rate| !rate.is_empty()),
        "{rates:?}"
    );
}
