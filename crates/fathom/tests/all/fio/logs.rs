//! Logs as files: those without a row, compressed ones, and jobs in the background.
use crate::lab::Lab;
use std::collections::BTreeSet;

const JOB: &[&str] = &[
    "--name=a",
    "--ioengine=null",
    "--size=64k",
    "--bs=4k",
    "--output=o",
];

fn fio(lab: &Lab, more: &[&str]) -> String {
    lab.fio([JOB, more].concat()).expect(0).out
}

fn logs(lab: &Lab) -> BTreeSet<String> {
    let names = lab.names(".").into_iter();
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
    for asked in ASKED {
        let (own, theirs) = (Lab::new(), Lab::new());
        let Some(original) = theirs.reference_fio([JOB, asked].concat()) else {
            return;
        };
        original.expect(0);
        fio(&own, asked);
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
    let print = |name: &str| lab.fio([format!("--inflate-log={name}")]);
    let told = print("l_clat.1.log.fz").expect(0).out;
    let offsets = told.lines().map(|line| line.split(", ").nth(4).unwrap());
    let offsets: Vec<u64> = offsets.map(|word| word.parse().unwrap()).collect();
    assert!(offsets.into_iter().eq((0..16).map(|at| at * 4096)));
    assert_eq!(print("l_slat.1.log.fz").expect(0).out, "");
    lab.write("text", "no log");
    print("text").expect(2).says(&["is not a compressed log"]);
    if let Some(original) = lab.reference_fio(["--inflate-log=l_clat.1.log.fz"]) {
        assert_eq!(original.out, told);
    }
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
    let refused = lab.fio(JOB.iter().chain(&["--daemonize=live"]));
    refused.expect(2).says(&["is alive"]);
    lab.fio(["--name=a", "--size=2x", "--daemonize=none"])
        .expect(2);
    assert!(!lab.path("none").exists());
}
