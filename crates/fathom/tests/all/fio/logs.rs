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
        // One process, which can be ended: the original may hang with compressed logs.
        let Some(original) = theirs.reference_fio([JOB, asked, &["--thread"]].concat()) else {
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

/// Each clone has a clock of its own, which begins with its measured time, and goes on while its writes are read back.
#[test]
fn times_of_logs_begin_where_a_clone_is_measured() {
    let lab = Lab::new();
    let job = "[global]\nioengine=null\ntime_based\nrate_iops=100\nsize=8m\n\
               [a]\nruntime=1\nramp_time=1\nwrite_lat_log=single\n\
               [b]\nruntime=2\nstartdelay=1\nwrite_iops_log=means\nlog_avg_msec=1000\n";
    lab.write("job.fio", job);
    lab.fio(["job.fio", "--output=o"]).expect(0);
    let times_ms = |name: &str| -> Vec<u64> {
        let text = lab.text(name);
        let time = |row: &str| row.split(',').next().unwrap().parse().unwrap();
        text.lines().map(time).collect()
    };
    let single = times_ms("single_lat.1.log");
    assert!(single.len() >= 99 && single[0] < 500, "{single:?}");
    let means = times_ms("means_iops.2.log");
    assert_eq!(means.len(), 2, "{means:?}");
    // An interval ends late on a busy machine.
    assert!(
        (1000..1900).contains(&means[0]) && means[1] >= 2000,
        "{means:?}"
    );
}

#[test]
fn logs_hold_what_reads_back_writes() {
    for window in [
        "--log_hist_msec=0",
        "--log_avg_msec=1",
        "--log_avg_msec=1000",
    ] {
        let lab = Lab::new();
        let writes = [
            "--name=a",
            "--rw=write",
            "--bs=4k",
            "--size=64k",
            "--verify=crc32c",
        ];
        let logs = ["--write_lat_log=l", "--rate_iops=200", window, "--output=o"];
        lab.fio([&writes[..], &logs].concat()).expect(0);
        let text = lab.text("l_lat.1.log");
        let of = |direction: &str| -> Vec<u64> {
            let rows = text
                .lines()
                .filter(|row| row.split(", ").nth(2) == Some(direction));
            rows.map(|row| row.split(',').next().unwrap().parse().unwrap())
                .collect()
        };
        let (reads, writes) = (of("0"), of("1"));
        assert!(
            !writes.is_empty() && reads[0] >= writes[writes.len() - 1],
            "{window}: {text}"
        );
        if window == "--log_hist_msec=0" {
            assert_eq!((reads.len(), writes.len()), (16, 16));
        }
    }
}

/// Without a clock for it there are no rows of single I/Os. Samples are reported anyway.
#[test]
fn samples_are_of_the_time_of_a_clone_whatever_is_switched_off() {
    for more in [
        "--gtod_reduce=1",
        "--disable_bw_measurement=1",
        "--disable_lat=1",
    ] {
        let lab = Lab::new();
        let jobs = [
            "--rate_iops=1000",
            "--name=a",
            "--size=4m",
            "--name=b",
            "--size=7m",
        ];
        let front = [
            "--ioengine=null",
            "--output-format=json",
            "--output=o",
            more,
        ];
        lab.fio([&front[..], &jobs].concat()).expect(0);
        let told: serde_json::Value = serde_json::from_str(&lab.text("o")).unwrap();
        for (job, samples) in [(0, 2), (1, 3)] {
            let read = &told["jobs"][job]["read"];
            assert_eq!(read["iops_samples"], samples, "{more}: {read:#}");
            assert_eq!(read["bw_samples"], samples);
            // The piece after its last whole window would have a tenth.
            assert!(read["iops_min"].as_u64().unwrap() > 500, "{more}: {read:#}");
        }
        let lab = Lab::new();
        let logs = ["--write_bw_log=l", "--write_iops_log=l", more];
        fio(&lab, &logs);
        let rows = |name: &str| lab.text(name).lines().count();
        assert_eq!(
            rows("l_bw.1.log"),
            if more.contains("lat") { 16 } else { 0 }
        );
        assert_eq!(
            rows("l_iops.1.log"),
            if more.contains("gtod") { 0 } else { 16 }
        );
    }
}
