//! The table at the end of a run, and the names of runs in it.
use crate::lab::{FATHOM, Lab, ended, has, job, skip};

/// The lines of the table, with their widths.
fn table(out: &str) -> Vec<&str> {
    out.lines().take_while(|line| !line.is_empty()).collect()
}

fn at_width(lab: &Lab, columns: &str) -> String {
    let mut command = lab.command(FATHOM);
    command.args(["report", "out"]).env("COLUMNS", columns);
    ended(&mut command).expect(0).out
}

#[test]
fn the_table_fits_80_columns_and_fewer() {
    let lab = Lab::new();
    let loops = "iorate=(100,max),elapsed=2,interval=1,forxfersize=(4k,8k),forthreads=(1,2)";
    lab.write("job", job("lun=disk,size=1m", loops));
    let out = lab
        .fathom(&["run", "job", "-o", "out", "--backend", "sim"])
        .expect(0)
        .out;
    for (columns, shown) in [("80", &out), ("80", &at_width(&lab, "80"))] {
        let lines = table(shown);
        let widest = lines.iter().map(|line| line.chars().count()).max();
        assert!(widest <= columns.parse().ok(), "{shown}");
    }
    let heads = |shown: &str| {
        let head: Vec<&str> = shown.lines().take(2).collect();
        head.join(" ")
    };
    for columns in ["100", "72", "60", "50", "40"] {
        let shown = at_width(&lab, columns);
        for line in table(&shown) {
            let width = line.chars().count();
            assert!(
                width <= columns.parse().unwrap(),
                "{columns}: {width}: {shown}"
            );
        }
        for head in ["reached", "p99"] {
            assert!(heads(&shown).contains(head), "{columns}: {shown}");
        }
        // Names of sweeps stand above their figures, which have room at 100 columns.
        let is_cut = columns != "100";
        assert_eq!(
            shown.contains("left out for width"),
            is_cut,
            "{columns}: {shown}"
        );
    }
    let wide = at_width(&lab, "200");
    assert!(!wide.contains("left out for width"), "{wide}");
    assert!(heads(&wide).contains("p99.9"), "{wide}");
}

#[test]
fn a_run_of_a_sweep_takes_two_lines_at_most() {
    let lab = Lab::new();
    let loops = "iorate=(100,200),elapsed=2,interval=1,forxfersize=(4k,8k),forrdpct=(0,100)";
    lab.write("job", job("lun=disk,size=1m", loops));
    lab.fathom(&["run", "job", "-o", "out", "--backend", "sim"])
        .expect(0);
    let shown = at_width(&lab, "80");
    let lines = table(&shown);
    let from = lines.iter().position(|line| line.starts_with("---"));
    let to = lines.iter().position(|line| line.starts_with("left out"));
    let csv = lab.text("out/summary.csv");
    let runs = csv.lines().count() - 1;
    assert!(runs >= 8, "{csv}");
    assert!(to.unwrap() - from.unwrap() - 1 <= 2 * runs, "{shown}");
    assert!(
        shown.contains("rd1 (xfersize=8k rdpct=100 iorate=200)"),
        "{shown}"
    );
}

#[test]
fn a_terminal_says_how_wide_it_is() {
    if !has("script") {
        return skip("`script` is missing");
    }
    let lab = Lab::new();
    lab.write(
        "job",
        job("lun=disk,size=1m", "iorate=50,elapsed=2,interval=1"),
    );
    lab.fathom(&["run", "job", "-o", "out", "--backend", "sim"])
        .expect(0);
    // The table goes to a pipe here, and is read on the terminal.
    let command = format!("stty cols 50; {FATHOM} report out | cat");
    let mut script = lab.command("script");
    script.args(["-q", "-e", "-c", &command, "typescript"]);
    let shown = ended(&mut script).expect(0).out.replace('\r', "");
    assert!(shown.contains("left out for width"), "{shown}");
    assert!(
        table(&shown).iter().all(|line| line.chars().count() <= 50),
        "{shown}"
    );
}

#[test]
fn runs_are_named_with_their_loop_values() {
    let lab = Lab::new();
    let loops = "iorate=100,elapsed=2,interval=1,forxfersize=(4k,8k)";
    lab.write("job", job("lun=disk,size=1m", loops));
    let ended = lab
        .fathom(&["run", "job", "-o", "out", "--backend", "sim"])
        .expect(0);
    for value in ["4k", "8k"] {
        let name = format!("rd1 (xfersize={value})");
        assert!(ended.err.contains(&name), "{}", ended.err);
        assert!(
            ended.out.contains(&format!("xfersize={value}")),
            "{}",
            ended.out
        );
        assert!(lab.text("out/report.html").contains(&name), "{name}");
        let line = format!("rd1,xfersize={value},");
        assert!(lab.text("out/summary.csv").contains(&line), "{line}");
    }
}

#[test]
fn what_was_written_is_told_where_it_was_asked() {
    let lab = Lab::new();
    let written = |general: &str| {
        let text = job("lun=disk,size=1m", "iorate=50,elapsed=2,interval=1");
        lab.write("job", format!("{general}{text}"));
        let ended = lab.fathom(&["run", "job", "-o", "out"]).expect(0);
        ended.out.contains("written by")
    };
    assert!(!written(""));
    assert!(written("compratio=2\n"));
    assert!(written("dedupratio=2,dedupunit=4k\n"));
}

#[test]
fn jobs_side_by_side_have_rows_of_their_own() {
    let lab = Lab::new();
    lab.write(
        "job",
        "[global]\nfilename=disk\nsize=1m\nrw=randread\nthinktime=1ms\n[one]\nnumber_ios=3\n\
         [two]\nnumjobs=2\nnumber_ios=5\nbs=8k\n[alone]\nstonewall\nnumber_ios=7\n",
    );
    let ended = lab
        .fathom(&["run", "job", "-o", "out", "--backend", "sim"])
        .expect(0);
    let names: Vec<&str> = table(&ended.out)
        .into_iter()
        .skip(3)
        .filter_map(|line| line.get(..7).map(str::trim))
        .filter(|name| {
            ["one, two", "- one", "- two", "alone", "- alone"]
                .iter()
                .any(|one| one.starts_with(name))
        })
        .collect();
    assert!(
        names.windows(2).any(|two| two == ["- one", "- two"]),
        "{}",
        ended.out
    );
    assert!(!ended.out.contains("- alone"), "{}", ended.out);
    // The rates of the jobs add up to that of their run.
    let csv = lab.text("out/summary.csv");
    let rates: Vec<f64> = csv
        .lines()
        .filter(|line| line.starts_with("\"one, two\""))
        .map(|line| {
            line.rsplit_once("\",")
                .unwrap()
                .1
                .split(',')
                .nth(2)
                .unwrap()
                .parse()
                .unwrap()
        })
        .collect();
    assert_eq!(rates.len(), 3, "{csv}");
    assert!((rates[1] + rates[2] - rates[0]).abs() < 0.01, "{csv}");
    assert!((rates[2] / rates[1] - 10.0 / 3.0).abs() < 0.01, "{csv}");
}
