//! `fathom check`, as text and as JSON.
use crate::lab::{Lab, job};
use crate::schema;
use serde_json::Value;

/// Hosts and devices that no machine has.
const ELSEWHERE: &str = "messagescan=no
hd=default,user=root,shell=ssh
hd=one,system=one.invalid
hd=two,system=two.invalid
sd=sd1,lun=/dev/sdX1,threads=4,openflags=o_direct
sd=sd2,lun=/dev/sdX2,size=1g,threads=4,openflags=o_direct
wd=wd1,sd=sd*,xfersize=8k,rdpct=70
rd=rd1,wd=wd1,iorate=curve,curve=(50),elapsed=60,interval=5,warmup=10,pause=20
";

fn json(lab: &Lab, words: &[&str], code: i32) -> Value {
    let mut all = vec!["check", "--json"];
    all.extend(words);
    let value: Value = serde_json::from_str(&lab.fathom(&all).expect(code).out).unwrap();
    schema::check(&value);
    value
}

#[test]
fn a_job_is_checked_without_its_devices_and_hosts() {
    let lab = Lab::new();
    lab.write("job", ELSEWHERE);
    let before = lab.everything();
    let value = json(&lab, &["job"], 0);
    let runs = value["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2);
    assert_eq!(runs[1]["name"], "rd1_(50%)");
    let times = ["elapsed_s", "warmup_s", "interval_s", "pause_s"].map(|name| &runs[1][name]);
    assert_eq!(times.map(|time| time.as_u64().unwrap()), [60, 10, 5, 20]);
    // Two runs of 70 s with one pause between.
    assert_eq!(value["total_s"], 160);
    assert_eq!(value["targets"][0]["found"], "missing");
    assert_eq!(value["targets"][0]["overwrite"], Value::Null);
    assert_eq!(
        value["targets"][1]["overwrite"],
        serde_json::json!([8192, 1_u64 << 30])
    );
    let all = value["diagnostics"].as_array().unwrap();
    assert!(all.iter().all(|one| one["severity"] == "note"));
    let hosts = all.iter().find(|one| {
        one["message"]
            .as_str()
            .unwrap()
            .contains("remote hosts are not built")
    });
    assert_eq!(hosts.unwrap()["line"], 3);
    let text = lab.fathom(&["check", "job"]).expect(0);
    assert!(text.out.contains("total time: 2 min 40 s"));
    assert!(
        text.out
            .contains("sd1 (/dev/sdX1): not here, size not known here")
    );
    assert_eq!(lab.everything(), before);
    // A run with hosts elsewhere is refused before anything is made.
    lab.fathom(&["run", "job", "-o", "out"])
        .expect(2)
        .says(&["not built yet"]);
    assert_eq!(lab.everything(), before);
}

#[test]
fn every_problem_comes_in_one_pass() {
    let lab = Lab::new();
    lab.write(
        "job",
        "sd=sd1,lun=disk,sise=1m\nwd=wd1,sd=sd9,rdpct=150\nrd=rd1,wd=wd1,iorate=abc,elapsed=1,interval=1\n",
    );
    let value = json(&lab, &["job"], 2);
    let mut lines: Vec<u64> = value["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["severity"] == "error")
        .map(|one| one["line"].as_u64().unwrap())
        .collect();
    assert!(lines.len() >= 4, "{value:#}");
    lines.dedup();
    assert_eq!(lines, [1, 2, 3]);
    assert_eq!(value["diagnostics"][0]["file"], "job");
    let help = value["diagnostics"][0]["help"].as_str().unwrap();
    assert!(help.contains("size"), "{help}");
    lab.fathom(&["check", "job"])
        .expect(2)
        .says(&["--> job:1:", "--> job:2:", "--> job:3:"]);
}

#[test]
fn warnings_are_no_errors() {
    let lab = Lab::new();
    lab.write(
        "job",
        job("lun=disk,size=1m", "iorate=50,elapsed=2,interval=1"),
    );
    let value = json(&lab, &["job"], 0);
    assert_eq!(value["diagnostics"][0]["severity"], "warning");
    // A file to be made: a run with no end in time comes first.
    assert_eq!(value["runs"][0]["name"], "SD_format");
    assert_eq!(value["runs"][0]["elapsed_s"], Value::Null);
    assert_eq!(value["runs"][0]["ends_at_size"], true);
    assert_eq!(value["total_s"], Value::Null);
    assert_eq!(value["targets"][0]["is_prepared"], true);
}

/// What would be refused is told with the word that frees it, and the list that `check` writes is
/// one that a run takes.
#[test]
fn refusals_are_foreseen_and_their_words_written() {
    let lab = Lab::new();
    lab.write("disk", "not ours\n".repeat(1 << 17));
    lab.write(
        "job",
        job("lun=disk,size=1m", "iorate=50,elapsed=2,interval=1"),
    );
    let value = json(&lab, &["job", "--write-overwrite", "words"], 0);
    let target = &value["targets"][0];
    assert_eq!(target["refused"].as_array().unwrap().len(), 1);
    let word = target["overwrite_word"].as_str().unwrap();
    assert!(lab.text("words").lines().any(|line| line == word));
    assert_eq!(target["overwrite"], serde_json::json!([0, 1 << 20]));
    lab.fathom(&["vdbench", "-f", "job"])
        .expect(3)
        .says(&[&format!("--overwrite {word}")]);
    lab.fathom(&["vdbench", "-f", "job", "--overwrite", "@words"])
        .expect(0);
}
