//! Times on the command line: their units, and those that replace the times of a job.
use crate::lab::{Lab, job};

fn times(lab: &Lab, words: &[&str]) -> Vec<(u64, u64, u64)> {
    let mut all = vec!["check", "--json", "job"];
    all.extend(words);
    let value: serde_json::Value = serde_json::from_str(&lab.fathom(&all).expect(0).out).unwrap();
    let runs = value["runs"].as_array().unwrap().iter();
    let of = |run: &serde_json::Value| {
        let [elapsed, interval, warmup] =
            ["elapsed_s", "interval_s", "warmup_s"].map(|key| run[key].as_u64().unwrap());
        (elapsed, interval, warmup)
    };
    runs.filter(|run| run["elapsed_s"].is_u64())
        .map(of)
        .collect()
}

#[test]
fn a_job_of_either_language_takes_times_from_the_command_line() {
    let lab = Lab::new();
    lab.write(
        "job",
        job("lun=disk,size=1m", "iorate=50,elapsed=60,interval=5"),
    );
    assert_eq!(times(&lab, &[]), [(60, 5, 0)]);
    let given = ["-e", "2m", "-i", "10s", "-w", "20"];
    assert_eq!(times(&lab, &given), [(120, 10, 20)]);
    let long = ["--elapsed", "0.5h", "--interval", "1min", "--warmup", "0"];
    assert_eq!(times(&lab, &long), [(1800, 60, 0)]);
    lab.write(
        "job",
        "[a]\nrw=read\nfilename=disk\nsize=1m\n[b]\nstonewall\nrw=read\nfilename=disk\nsize=1m\nruntime=9\n",
    );
    assert_eq!(times(&lab, &given), [(120, 10, 20); 2]);
}

#[test]
fn a_run_lasts_as_long_as_the_command_line_says() {
    let lab = Lab::new();
    lab.write(
        "job",
        "[a]\nrw=read\nfilename=disk\nsize=1m\nruntime=600\ntime_based\n",
    );
    let words = [
        "run",
        "job",
        "-o",
        "out",
        "--backend",
        "sim",
        "-e",
        "4s",
        "-i",
        "2",
        "-w",
        "2s",
    ];
    lab.fathom(&words).expect(0);
    let report = lab.text("out/report.html");
    assert!(
        report.contains("\"intervals\":2"),
        "intervals of 2 s in 4 s"
    );
}

#[test]
fn times_have_units_at_every_verb() {
    let lab = Lab::new();
    lab.write(
        "job",
        job("lun=disk,size=1m", "iorate=50,elapsed=2,interval=1"),
    );
    let curve = [
        "curve",
        "disk",
        "--size",
        "1m",
        "--backend",
        "sim",
        "--points",
        "50",
    ];
    let with = |words: &[&'static str], more: &[&'static str]| [words, more].concat();
    let run = ["run", "job", "--backend", "sim"];
    let vdbench = ["vdbench", "-f", "job", "--backend", "sim"];
    for words in [
        with(&curve, &["--warmup", "500ms", "--elapsed", "2s"]),
        with(&run, &["--command-timeout", "5m"]),
        with(&run, &["--wait-until", "true", "--wait-limit", "1h"]),
        with(
            &vdbench,
            &["-e", "4s", "-i", "2s", "--command-timeout", "500ms"],
        ),
    ] {
        lab.fathom(&words).expect(0);
    }
    for (words, text) in [
        (with(&curve, &["--elapsed", "0"]), "longer than zero"),
        (with(&curve, &["--elapsed", "ten"]), "give a time as"),
        (with(&run, &["-e", "2.5s"]), "whole seconds"),
        (with(&run, &["-e", "0"]), "longer than zero"),
        (with(&run, &["-i", "5 apples"]), "give whole seconds, as"),
        (with(&run, &["--command-timeout", "99999h"]), "ten years"),
        (with(&vdbench, &["-e", "1500ms"]), "whole seconds"),
    ] {
        lab.fathom(&words).expect(2).says(&[text]);
    }
}
