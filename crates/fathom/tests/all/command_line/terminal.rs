//! What a terminal shows while a run is going. `script` gives the program one.
use crate::lab::{FATHOM, Lab, ended, has, job, skip};

#[test]
fn progress_shows_run_share_and_time_left() {
    if !has("script") {
        return skip("`script` is missing");
    }
    let lab = Lab::new();
    lab.write(
        "job",
        job("lun=disk,size=1m", "iorate=50,elapsed=4,interval=1"),
    );
    let command = format!("stty cols 150; {FATHOM} run job -o out --lint all=off");
    let mut script = lab.command("script");
    script
        .args(["-q", "-e", "-c", &command, "typescript"])
        .env("TERM", "xterm");
    let shown = ended(&mut script).expect(0).out;
    for text in ["run 2/2 rd1", "[=", "interval 2: ", " s left"] {
        assert!(shown.contains(text), "no `{text}` in {shown:?}");
    }
    // The line is written over, and gone at the end.
    assert!(
        shown.contains('\r') && shown.contains("\u{1b}["),
        "{shown:?}"
    );
    let end = shown.rsplit("report:").next().unwrap();
    assert!(!end.contains("left"), "{end:?}");
    // Where there is no terminal, there is a line for each run and nothing to write over.
    let plain = lab.fathom(&["run", "job", "-o", "out2", "--lint", "all=off"]);
    let plain = plain.expect(0);
    assert!(plain.err.contains("run 1/1 rd1, ") && !plain.err.contains('\r'));
}
