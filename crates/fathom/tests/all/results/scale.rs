//! `fathom scale`: a job with one quantity varied.
use crate::lab::{Lab, job};
use serde_json::Value;

/// Three files, of which one is commented out.
fn files() -> String {
    let text = "sd=sd1,lun=one,size=1m,threads=2\n*sd=sd2,lun=two,size=1m\nsd=sd3,lun=three,size=1m,threads=2\n\
        sd=sd4,lun=four,size=1m,threads=2\nwd=wd1,sd=sd*,xfersize=4k,rdpct=100\n";
    format!("{text}rd=rd1,wd=wd1,iorate=max,elapsed=2,interval=1\n")
}

/// What is said last.
fn last(out: &str) -> String {
    let last = out.trim_end().rsplit("\n\n").next().unwrap();
    last.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn runs(lab: &Lab, folder: &str) -> Vec<Value> {
    let json: Value = serde_json::from_str(&lab.text(&format!("{folder}/summary.json"))).unwrap();
    let runs = json["runs"].as_array().unwrap().iter();
    let measured = runs.filter(|run| run["named"]["files"].is_number());
    measured.cloned().collect()
}

fn column(runs: &[Value], name: &str) -> Vec<f64> {
    let of = |run: &Value| run[name].as_f64().or(run["named"][name].as_f64());
    runs.iter().map(|run| of(run).unwrap()).collect()
}

#[test]
fn files_are_varied_and_what_grew_along_is_said() {
    let lab = Lab::new();
    lab.write("job", files());
    let words = ["scale", "job", "--vary", "files=1..3", "-o", "out"];
    let ended = lab.fathom(&words).expect(0);
    let told = last(&ended.out);
    assert!(told.starts_with("files: the steps gave "), "{told}");
    for words in [
        "; confounded: slots, workers, bytes; ",
        "runs with files = 1 and 6 slots, or with files = 3 and 1 MiB worked on would tell (`--hold slots`, `--hold bytes`).",
    ] {
        assert!(told.contains(words), "{told}");
    }
    let all = runs(&lab, "out");
    assert_eq!(column(&all, "files"), [1.0, 2.0, 3.0]);
    assert_eq!(column(&all, "slots"), [2.0, 4.0, 6.0]);
    let page = lab.text("out/report.html");
    for words in [
        "<p class=\"leading\">files: the steps gave",
        "<th>worked on</th>",
        "<td>3 MiB</td>",
    ] {
        assert!(page.contains(words), "{words}");
    }
    // A year later it is the same.
    let again = lab.fathom(&["report", "out", "-o", "again"]).expect(0);
    assert_eq!(last(&again.out), told);
}

#[test]
fn what_is_held_stays_the_same_and_repeats_give_intervals() {
    let lab = Lab::new();
    lab.write("job", files().replace("threads=2", "threads=4"));
    let vary = [
        "scale",
        "job",
        "--vary",
        "files=1,3",
        "-e",
        "2",
        "-o",
        "out",
    ];
    let held = ["--hold", "slots,bytes", "--repeat", "3"];
    let ended = lab.fathom(&[&vary[..], &held].concat()).expect(0);
    let told = last(&ended.out);
    assert!(
        told.contains("; varied alone: files; held: slots, workers, bytes"),
        "{told}"
    );
    assert!(told.starts_with("files: the step gave "), "{told}");
    assert!(
        told.split(';').next().unwrap().contains(" to "),
        "no interval: {told}"
    );
    let all = runs(&lab, "out");
    assert_eq!(column(&all, "files"), [1.0, 3.0, 1.0, 3.0, 1.0, 3.0]);
    assert_eq!(column(&all, "slots"), [12.0; 6]);
    let page = lab.text("out/report.html");
    assert!(page.contains("<td>1 MiB</td>") && !page.contains("<td>3 MiB</td>"));
}

#[test]
fn what_does_not_hold_is_said_and_what_no_value_reaches_is_not_made() {
    let lab = Lab::new();
    // The second is larger than the job can know.
    lab.write("job", files().replace("lun=three,size=1m", "lun=three"));
    lab.write("three", vec![1; 3 << 20]);
    let words = ["scale", "job", "--vary", "files=1,2", "--hold", "bytes"];
    let told = last(
        &lab.fathom(&[&words[..], &["-o", "out"]].concat())
            .expect(0)
            .out,
    );
    let words = "; bytes were to be held, and went from 1 MiB to 2 MiB";
    assert!(
        told.contains(words) && !told.contains("--hold bytes"),
        "{told}"
    );
    assert!(!lab.path("four").exists());
}

#[test]
fn a_rate_that_was_held_says_nothing_of_the_storage_and_is_no_repeat_of_another() {
    let lab = Lab::new();
    lab.write("job", files().replace("iorate=max", "iorate=(50,100)"));
    let words = ["scale", "job", "--vary", "files=1,3", "-o", "out"];
    let out = lab.fathom(&words).expect(0).out;
    let told = out.split_whitespace().collect::<Vec<_>>().join(" ");
    for asked in ["50.00", "100"] {
        let words = format!(
            "`rd1, {asked}/s asked`, files: the rate that was asked for was held up to files = 3"
        );
        assert!(told.contains(&words), "{told}");
    }
}

#[test]
fn threads_and_ranges_of_jobs_of_fio_are_varied() {
    let lab = Lab::new();
    lab.write(
        "job",
        "[j]\nrw=randread\nsize=2m\nioengine=libaio\niodepth=3\nruntime=1\ntime_based\n",
    );
    for (vary, name, values) in [
        ("threads=1,2", "threads", [1.0, 2.0]),
        ("range=50%,100%", "range_pct", [50.0, 100.0]),
    ] {
        let ended = lab
            .fathom(&["scale", "job", "--vary", vary, "-o", name])
            .expect(0);
        let json: Value = serde_json::from_str(&lab.text(&format!("{name}/summary.json"))).unwrap();
        let all = json["runs"].as_array().unwrap().iter();
        let all: Vec<Value> = all
            .filter(|run| run["named"][name].is_number())
            .cloned()
            .collect();
        assert_eq!(column(&all, name), values, "{}", ended.out);
        let told = last(&ended.out);
        assert!(told.contains("doubling gave"), "{told}");
    }
    let range = runs_of_page(&lab);
    assert!(range.contains("<td>1 MiB</td>") && range.contains("<td>2 MiB</td>"));
}

fn runs_of_page(lab: &Lab) -> String {
    lab.text("range_pct/report.html")
}

#[test]
fn what_cannot_be_varied_has_a_reason_and_leaves_nothing() {
    let lab = Lab::new();
    lab.write("job", files());
    lab.write("curve", files().replace("iorate=max", "iorate=curve"));
    lab.write(
        "one",
        job("lun=disk,size=1m", "iorate=max,elapsed=2,interval=1"),
    );
    for (file, more, reason) in [
        (
            "job",
            &["--vary", "files=1..4"][..],
            "the job has 3: each `sd=`",
        ),
        ("job", &["--vary", "files=1..4"], "commented out are none"),
        ("one", &["--vary", "files=1,2"], "the job has 1"),
        ("job", &["--vary", "hosts=1,2"], "with `--hosts`"),
        (
            "job",
            &["--vary", "threads=1,2", "--hold", "slots"],
            "hold `bytes`, or nothing",
        ),
        (
            "job",
            &["--vary", "range=10%,20%", "--hold", "bytes"],
            "hold `slots`, or nothing",
        ),
        ("job", &["--vary", "luns=1,2"], "nothing that can be varied"),
        ("job", &["--vary", "files=2"], "name two and more"),
        (
            "job",
            &["--vary", "files=0..2"],
            "a whole number above zero",
        ),
        ("curve", &["--vary", "files=1,2"], "iorate=max"),
    ] {
        let words = [&["scale", file, "-o", "out"], more].concat();
        let ended = lab.fathom(&words).expect(2);
        let told = ended.err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(reason), "{words:?}: {told}");
        assert!(
            !lab.path("out").exists() && !lab.path("one").is_dir(),
            "{words:?}"
        );
    }
}
