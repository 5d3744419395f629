//! Hosts that are named on the command line, and reached by whatever opens a pipe to them.
use crate::hosts::Hosts;
use crate::lab::{Lab, skip};

const JOB: &str =
    "wd=wd1,sd=sd1,xfersize=4k,rdpct=70\nrd=rd1,wd=wd1,iorate=300,elapsed=3,interval=1\n";

/// Hosts of a lab, with a job that names none of them.
fn begin(count: usize) -> Result<(Lab, Hosts), String> {
    let lab = Lab::new();
    let hosts = Hosts::new(&lab, count)?;
    let file = lab.path("own/file").display().to_string();
    lab.write("job", format!("sd=sd1,lun={file},size=2m,threads=2\n{JOB}"));
    Ok((lab, hosts))
}

#[test]
fn named_hosts_do_the_same_on_targets_of_their_own() {
    let (lab, hosts) = match begin(2) {
        Ok(begun) => begun,
        Err(reason) => return skip(&reason),
    };
    let [first, second] = [hosts.address(0), hosts.address(1)];
    let list = format!("{first},root@{second}");
    let words = ["run", "job", "-o", "out", "--hosts", &list];
    let ended = hosts.fathom(&lab, &words).expect(0);
    let told = ended.says(&["hosts started within "]);
    for host in [first, second] {
        assert_eq!(lab.bytes(&format!("own-{host}/file")).len(), 2 << 20);
    }
    // The rate is of both together.
    let csv = lab.text("out/summary.csv");
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let place = rows[0]
        .iter()
        .position(|name| *name == "achieved_rate_per_s");
    let rate: f64 = rows.last().unwrap()[place.unwrap()].parse().unwrap();
    assert!((200.0..400.0).contains(&rate), "{rate}\n{csv}\n{told}");
    let page = lab.text("out/report.html");
    for host in [first, second] {
        assert!(page.contains(&format!("sd1@{host}")), "{host}");
    }
    lab.write("list", format!("# all of them\n{first} {second}\n"));
    let file = lab.path("own/curve").display().to_string();
    let words = [
        "curve",
        &file,
        "--size",
        "2m",
        "--elapsed",
        "1s",
        "--points",
        "50",
        "-o",
        "curve",
        "--hosts",
        "@list",
    ];
    hosts.fathom(&lab, &words).expect(0);
    // Who names hosts twice over is told so.
    lab.write(
        "hd",
        format!("hd=a,system={first}\nsd=sd1,lun={file},size=2m\n{JOB}"),
    );
    let ended = hosts
        .fathom(&lab, &["run", "hd", "--hosts", first])
        .expect(2);
    ended.says(&["for jobs that name no hosts"]);
    hosts
        .fathom(&lab, &["run", "job", "--hosts", "a,a"])
        .expect(2)
        .says(&["named twice"]);
}

#[test]
fn the_number_of_hosts_is_varied() {
    let (lab, hosts) = match begin(2) {
        Ok(begun) => begun,
        Err(reason) => return skip(&reason),
    };
    let list = format!("{},{}", hosts.address(0), hosts.address(1));
    let text = lab.text("job").replace("iorate=300", "iorate=max");
    lab.write("job", text.replace("rdpct=70", "rdpct=100"));
    let words = [
        "scale",
        "job",
        "--vary",
        "hosts=1,2",
        "-o",
        "out",
        "--hosts",
        &list,
    ];
    let ended = hosts.fathom(&lab, &words).expect(0);
    let told = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("hosts: doubling gave "), "{told}");
    let json: serde_json::Value = serde_json::from_str(&lab.text("out/summary.json")).unwrap();
    let runs = json["runs"].as_array().unwrap().iter();
    let of =
        |run: &serde_json::Value| Some((run["named"]["hosts"].as_f64()?, run["slots"].as_f64()?));
    let seen: Vec<(f64, f64)> = runs.filter_map(of).collect();
    assert_eq!(seen, [(1.0, 2.0), (2.0, 4.0)], "{told}");
    let three = [
        "scale",
        "job",
        "--vary",
        "hosts=1,3",
        "-o",
        "more",
        "--hosts",
        &list,
    ];
    let ended = hosts.fathom(&lab, &three).expect(2);
    assert!(
        ended
            .err
            .contains("3 hosts are asked for, and the job has 2"),
        "{}",
        ended.err
    );
}

#[test]
fn a_launcher_takes_the_place_of_ssh() {
    let (lab, hosts) = match begin(2) {
        Ok(begun) => begun,
        Err(reason) => return skip(&reason),
    };
    let list = format!("{},{}", hosts.address(0), hosts.address(1));
    // One that names the host by an option, in the middle of its words, and hands on whole text lines only.
    lab.write(
        "bin/launch",
        "#!/bin/sh\n[ \"$1\" = -w ] && [ \"$3\" = 'a b' ] || exit 7\nhost=$2; shift 3; echo started >&2\nexec ssh \"$host\" \"$@\"\n",
    );
    let mut make = std::process::Command::new("chmod");
    crate::lab::ended(make.args(["755".as_ref(), lab.path("bin/launch").as_os_str()])).expect(0);
    let run = |launcher: &str, folder: &str| {
        let words = [
            "run",
            "job",
            "-o",
            folder,
            "--hosts",
            &list,
            "--launcher",
            launcher,
        ];
        hosts.fathom(&lab, &words)
    };
    run("launch -w {host} 'a b'", "out").expect(0);
    assert!(lab.text("out/summary.csv").lines().count() > 1);
    // What does not start anything is named as it was called.
    let ended = run("launch -x {host} 'a b'", "no").expect(2);
    ended.says(&[&format!(
        "`launch -x {} a b sh` starts no Fathom",
        hosts.address(1)
    )]);
    let ended = run("no-such-launcher {host}", "no").expect(2);
    ended.says(&["`no-such-launcher` cannot be started"]);
    run("launch", "no").expect(2).says(&["{host}"]);
    assert!(!lab.path("no").exists());
}
