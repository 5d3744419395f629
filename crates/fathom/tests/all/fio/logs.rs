//! Logs as files: those without a row, compressed ones, and jobs in the background.
use crate::lab::{Lab, skip};
use std::collections::BTreeSet;
use std::process::Command;

const JOB: &[&str] = &[
    "--name=a",
    "--ioengine=null",
    "--size=64k",
    "--bs=4k",
    "--output=o",
];

fn fio(lab: &Lab, more: &[&str]) -> String {
    lab.fathom(&[&["fio"], JOB, more].concat()).expect(0).out
}

fn logs(lab: &Lab) -> BTreeSet<String> {
    let entries = std::fs::read_dir(lab.path("")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.contains(".log")).collect()
}

const ASKED: &[&[&str]] = &[
    &[
        "--write_lat_log=l",
        "--write_bw_log=b",
        "--write_iops_log=i",
        "--write_hist_log=h",
    ],
    &[
        "--write_lat_log=l",
        "--write_bw_log=b",
        "--log_avg_msec=1000",
    ],
    &["--write_hist_log=h", "--log_hist_msec=1000"],
    &["--write_lat_log=l", "--disable_slat=1"],
    &["--write_lat_log=l", "--disable_lat=1"],
    &[
        "--write_lat_log=l",
        "--log_store_compressed=1",
        "--log_offset=1",
    ],
];

#[test]
fn a_log_that_is_asked_for_is_there_without_a_row() {
    let lab = Lab::new();
    fio(&lab, ASKED[0]);
    assert_eq!(lab.text("l_slat.1.log"), "");
    assert_eq!(lab.text("h_clat_hist.1.log"), "");
    assert_eq!(lab.text("l_clat.1.log").lines().count(), 16);
}

#[test]
fn fio_makes_the_same_files() {
    if Command::new("fio").arg("--version").output().is_err() {
        return skip("no fio here");
    }
    for asked in ASKED {
        let (own, theirs) = (Lab::new(), Lab::new());
        fio(&own, asked);
        let mut original = Command::new("fio");
        original.args(JOB).args(*asked).current_dir(theirs.path(""));
        assert!(original.output().unwrap().status.success(), "{asked:?}");
        assert_eq!(logs(&own), logs(&theirs), "{asked:?}");
    }
}

#[test]
fn compressed_logs_print_as_text() {
    let lab = Lab::new();
    let asked = [
        "--write_lat_log=l",
        "--log_store_compressed=1",
        "--log_offset=1",
    ];
    fio(&lab, &asked);
    let print = |name: &str| lab.fathom(&["fio", &format!("--inflate-log={name}")]);
    let told = print("l_clat.1.log.fz").expect(0).out;
    let offsets = told.lines().map(|line| line.split(", ").nth(4).unwrap());
    let offsets: Vec<u64> = offsets.map(|word| word.parse().unwrap()).collect();
    assert!(offsets.into_iter().eq((0..16).map(|at| at * 4096)));
    assert_eq!(print("l_slat.1.log.fz").expect(0).out, "");
    lab.write("text", "no log");
    print("text").expect(2).says(&["is no compressed log"]);
    if Command::new("fio").arg("--version").output().is_err() {
        return skip("no fio here");
    }
    let mut original = Command::new("fio");
    original
        .arg("--inflate-log=l_clat.1.log.fz")
        .current_dir(lab.path(""));
    assert_eq!(
        String::from_utf8(original.output().unwrap().stdout).unwrap(),
        told
    );
}

#[test]
fn a_job_goes_on_in_the_background() {
    let lab = Lab::new();
    let words = ["--daemonize=pid", "--exec_prerun=env > environment"];
    assert_eq!(fio(&lab, &words), "");
    let pid: u32 = lab.text("pid").trim().parse().unwrap();
    assert_ne!(pid, std::process::id());
    for _ in 0..600 {
        if std::fs::read_to_string(lab.path("o"))
            .is_ok_and(|text| text.contains("issued rwts: total=16,0,0,0"))
        {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert!(lab.text("o").contains("issued rwts: total=16,0,0,0"));
    // A `fathom` among the commands of the job would take itself for the one in the background.
    let environment = lab.text("environment");
    assert!(environment.contains("PATH=") && !environment.contains("FATHOM_DETACHED"));
    lab.write("live", std::process::id().to_string());
    let refused = lab.fathom(&[&["fio"], JOB, &["--daemonize=live"]].concat());
    refused.expect(2).says(&["is alive"]);
    lab.fathom(&["fio", "--name=a", "--size=2x", "--daemonize=none"])
        .expect(2);
    assert!(!lab.path("none").exists());
}
