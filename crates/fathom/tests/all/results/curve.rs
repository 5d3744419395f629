//! `fathom curve`.
use crate::lab::Lab;

const SHORT: [&str; 8] = ["--bs", "4k", "--elapsed", "1", "--warmup", "0", "-o", "out"];

fn curve<'a>(target: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec!["curve", target];
    words.extend(SHORT);
    words.extend(more);
    words
}

fn runs(lab: &Lab) -> Vec<String> {
    let csv = lab.text("out/summary.csv");
    csv.lines()
        .skip(1)
        .map(|line| line.split(',').next().unwrap().to_owned())
        .collect()
}

#[test]
fn a_curve_makes_its_file() {
    let lab = Lab::new();
    let ended = lab
        .fathom(&curve("disk", &["--size", "1m", "--points", "20,50"]))
        .expect(0);
    assert_eq!(lab.bytes("disk").len(), 1 << 20);
    assert_eq!(runs(&lab), ["fill", "maximum", "20 %", "50 %"]);
    assert!(ended.out.contains("report.html"));
    // The disk that most folders are on: the report says it, and nobody is alarmed.
    assert!(!ended.err.contains("warning"), "{}", ended.err);
    assert!(
        lab.text("out/report.html")
            .contains("which is on the storage under test")
    );
    let written = lab.bytes("disk");
    // Only reads by default; and the file is there now.
    lab.fathom(&curve("disk", &["--points", "50"])).expect(0);
    assert_eq!(runs(&lab), ["maximum", "50 %"]);
    assert!(lab.bytes("disk") == written);
}

/// A mistyped name is no wish for a file.
#[test]
fn a_file_is_made_only_with_a_size() {
    let lab = Lab::new();
    let before = lab.everything();
    lab.fathom(&curve("disk", &[]))
        .expect(2)
        .says(&["`disk` does not exist", "--size"]);
    assert_eq!(lab.everything(), before);
    // The command that people try first.
    let readme = include_str!("../../../../../README.md");
    assert!(readme.contains("-- curve fathom-demo.data --size 512m"));
}

#[test]
fn a_list_of_threads_makes_a_sweep() {
    let lab = Lab::new();
    let words = curve(
        "disk",
        &["--size", "1m", "--threads", "1,2,4", "--read", "70"],
    );
    lab.fathom(&words).expect(0);
    assert_eq!(runs(&lab), ["fill", "1 thread", "2 threads", "4 threads"]);
    let csv = lab.text("out/summary.csv");
    let slots: Vec<&str> = csv
        .lines()
        .skip(2)
        .map(|line| line.split(',').nth(12).unwrap())
        .collect();
    assert_eq!(slots, ["1", "2", "4"]);
}

/// The words that a refusal prints are the words that work.
#[test]
fn a_write_share_on_a_foreign_file_needs_its_words() {
    let lab = Lab::new();
    let text = "a text that somebody needs\n".repeat(5000);
    lab.write("notes.txt", &text);
    let before = lab.everything();
    let words = curve("notes.txt", &["--read", "70", "--points", "50"]);
    let refused = lab.fathom(&words).expect(3);
    assert!(refused.err.contains("`notes.txt` may not be overwritten"));
    assert_eq!(lab.everything(), before);
    let advice = refused
        .err
        .lines()
        .find(|line| line.contains("--overwrite"))
        .unwrap();
    let (_, given) = advice.split_once("--overwrite ").unwrap();
    // Reading is free.
    lab.fathom(&curve("notes.txt", &["--points", "50"]))
        .expect(0);
    assert_eq!(lab.text("notes.txt"), text);
    let words = curve(
        "notes.txt",
        &["--read", "0", "--points", "50", "--overwrite", given],
    );
    lab.fathom(&words).expect(0);
    let after = lab.bytes("notes.txt");
    assert_eq!(after.len(), text.len());
    assert!(after != text.as_bytes());
}
