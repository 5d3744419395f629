//! `fathom report`: the same reports again, and those of an execution that was killed.
use crate::lab::{Lab, interval_label, job};

/// A page without the name of its folder.
fn without_folder(text: &str, folder: &str) -> String {
    text.replace(&format!("Vdbench {folder}/"), "Vdbench X/")
        .replace(&format!("/{folder} "), "/X ")
        .replace(&format!("/{folder}\n"), "/X\n")
}

/// Every figure follows from the result file.
#[test]
fn a_result_gives_the_same_reports_again() {
    let lab = Lab::new();
    let rate = job("lun=disk,size=1m", "iorate=100,elapsed=2,interval=1");
    let most = "rd=rd2,wd=wd1,iorate=max,elapsed=2,interval=1\n";
    lab.write("job", rate + most);
    lab.fathom(&["vdbench", "-f", "job", "-o", "out"]).expect(0);
    lab.fathom(&["report", "out", "-o", "again", "--vdbench"])
        .expect(0);
    let mut names = lab.names("out");
    names.retain(|name| name != "result.fathom");
    assert_eq!(lab.names("again"), names);
    for name in names {
        let first = without_folder(&lab.text(&format!("out/{name}")), "out");
        let again = without_folder(&lab.text(&format!("again/{name}")), "again");
        assert!(first == again, "{name}:\n{first}\n{again}");
    }
    // Beside the result when no folder is named.
    let csv = lab.text("out/summary.csv");
    std::fs::remove_file(lab.path("out/summary.csv")).unwrap();
    lab.fathom(&["report", "out/result.fathom"]).expect(0);
    assert_eq!(lab.text("out/summary.csv"), csv);
}

#[test]
fn a_killed_run_keeps_every_finished_interval() {
    let lab = Lab::new();
    lab.write(
        "job",
        job("lun=disk,size=1m", "iorate=50,elapsed=60,interval=1"),
    );
    let mut going = lab.start(&["vdbench", "-f", "job", "-o", "out"]);
    going.read_until(|line| line.contains("Starting RD=rd1"));
    let shown = going.read_until(|line| interval_label(line) == Some("4"));
    going.signal("KILL");
    assert_eq!(going.end().code, None);
    let ended = lab
        .fathom(&["report", "out", "-o", "again", "--vdbench"])
        .expect(0);
    assert!(ended.err.contains("did not come to its end"));
    assert!(ended.out.contains("rd1"));
    let page = lab.text("again/summary.html");
    let rows: Vec<&str> = page
        .lines()
        .filter(|line| interval_label(line).is_some())
        .collect();
    for row in shown
        .iter()
        .filter(|line| interval_label(line).is_some_and(|label| label != "4"))
    {
        assert!(rows.contains(&row.as_str()), "no {row} in {rows:#?}");
    }
    for name in [
        "summary.html",
        "logfile.html",
        "totals.html",
        "errorlog.html",
    ] {
        let text = lab.text(&format!("again/{name}"));
        assert!(
            text.contains("*** rd=rd1 was killed or is still running"),
            "{name}: {text}"
        );
    }
    assert!(
        lab.text("again/status.html")
            .contains("Killed or still running")
    );
    let csv = lab.text("again/summary.csv");
    assert!(csv.lines().last().unwrap().starts_with("rd1,"));
    assert!(lab.text("again/report.html").contains("rd1"));
}

/// Nothing was measured: no figure stands where there is no sample, and each report says what happened.
#[test]
fn a_run_killed_in_its_first_interval_is_marked_and_has_no_figures() {
    let lab = Lab::new();
    let job = "[j]\nfilename=f\nsize=1m\nrw=randread\nrate_iops=20\nioengine=psync\nruntime=60\ntime_based\n\
               bwavgtime=30000\niopsavgtime=30000\n";
    lab.write("f", vec![1; 1 << 20]);
    lab.write("job.fio", job);
    let words = ["run", "job.fio", "-o", "out", "--interval", "30s"];
    let mut going = lab.start(&words);
    going.hear_until(|line| line.starts_with("run 1/1"));
    std::thread::sleep(std::time::Duration::from_secs(2));
    going.signal("KILL");
    going.end();
    let report = ["report", "out", "-o", "again", "--fio"];
    let text = lab.fathom(&[&report[..], &["normal"]].concat()).expect(0);
    let head = "j: (groupid=0, jobs=1): err= 0: pid=";
    assert!(
        text.out.lines().any(|line| line.starts_with(head)),
        "{}",
        text.out
    );
    assert!(
        text.out.contains("  Fathom: killed or still running"),
        "{}",
        text.out
    );
    assert!(!text.out.contains("issued rwts"), "{}", text.out);
    assert!(!text.out.contains("p99=0.00"), "{}", text.out);
    let json = lab.fathom(&[&report[..], &["json"]].concat()).expect(0);
    let document: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(document["fathom"]["killed_or_running"][0]["jobname"], "j");
    let again = lab
        .fathom(&["report", "out", "-o", "pages", "--vdbench"])
        .expect(0);
    assert!(again.out.contains("! unfinished"), "{}", again.out);
    assert!(!again.out.contains("0/0"), "{}", again.out);
    let csv = lab.text("pages/summary.csv");
    assert!(csv.contains(",,,unfinished; "), "{csv}");
    let page = lab.text("pages/summary.html");
    assert!(page.contains("was killed or is still running"), "{page}");
}
