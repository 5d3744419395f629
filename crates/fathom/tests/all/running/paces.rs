//! Runs whose rate is not one number.
use crate::lab::{Lab, job};

/// A column of the flat file, interval by interval and of the averages.
fn flat_column(lab: &Lab, name: &str) -> Vec<String> {
    let text = lab.text("out/flatfile.html");
    let mut rows = text.lines().map(|line| line.split_whitespace());
    let head: Vec<&str> = rows
        .find(|row| row.clone().next() == Some("tod"))
        .expect("a head")
        .collect();
    let place = head.iter().position(|column| *column == name);
    let place = place.expect("the column is there");
    rows.filter_map(|mut row| row.nth(place).map(str::to_owned))
        .collect()
}

#[test]
fn pages_show_the_rate_of_each_interval() {
    let lab = Lab::new();
    let run = "iorate=(200,1,600,1),distribution=(variable,deterministic),elapsed=4,interval=1";
    lab.write("job", job("lun=disk,size=1m", run));
    lab.fathom(&["vdbench", "-f", "job", "-o", "out"]).expect(0);
    let asked = flat_column(&lab, "reqrate");
    let of_run = &asked[asked.len() - 5..];
    // The first interval does not count in the averages.
    let expected = ["200.0000", "600.0000", "200.0000", "600.0000", "466.6667"];
    assert_eq!(of_run, expected);
    assert!(
        lab.text("out/summary.html")
            .contains("Starting RD=rd1; I/O rate: Variable; elapsed=4; For loops: None")
    );
    let summary = lab.text("out/summary.csv");
    let (head, rows) = summary.split_once('\n').expect("a head");
    let place = head.split(',').position(|name| name == "asked_rate_per_s");
    let last = rows.lines().last().expect("a run");
    let asked: f64 = last
        .split(',')
        .nth(place.expect("the column is there"))
        .and_then(|cell| cell.parse().ok())
        .expect("a number");
    assert!((asked - 1_400.0 / 3.0).abs() < 0.01, "{summary}");
}

#[test]
fn workloads_with_priorities_and_rates_run_and_show_what_they_were_asked() {
    let lab = Lab::new();
    lab.write(
        "job",
        "sd=sd1,lun=disk,size=1m,threads=4\n\
         wd=log,sd=sd1,iorate=100,priority=1\n\
         wd=users,sd=sd1,skew=75,priority=2\n\
         wd=scan,sd=sd1,seekpct=0,priority=3\n\
         rd=rd1,wd=*,iorate=500,distribution=d,elapsed=3,interval=1\n\
         rd=rd2,wd=*,iorate=max,elapsed=3,interval=1\n",
    );
    for backend in ["sync", "null"] {
        lab.fathom(&["vdbench", "-f", "job", "-o", "out", "--backend", backend])
            .expect(0);
        let skew = lab.text("out/skew.html");
        for (workload, share) in [("log", "20.00%"), ("users", "60.00%"), ("scan", "20.00%")] {
            let is_row = |line: &&str| line.split_whitespace().any(|word| word == workload);
            let row = skew.lines().find(is_row).expect("a row of the workload");
            assert!(row.contains(share), "{row}");
        }
        let summary = lab.text("out/summary.html");
        for text in [
            "RD=rd1; I/O rate: 500;",
            "RD=rd2; I/O rate: Controlled MAX;",
        ] {
            assert!(summary.contains(text), "{summary}");
        }
    }
}
