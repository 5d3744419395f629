//! Help, and the pages that are generated from it.
use crate::lab::Lab;

/// `UPDATE=1` writes the page.
#[track_caller]
fn same(part: &str, page: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs/reference")
        .join(page);
    let text = Lab::new().fathom(&["manual", part]).expect(0).out;
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == text,
        "{page} is not what `fathom manual {part}` prints; UPDATE=1 writes it"
    );
}

#[test]
fn pages_are_up_to_date() {
    same("vdbench", "vdbench.md");
    same("commands", "command-line.md");
}

#[test]
fn both_ways_to_the_help_of_the_old_face_print_the_same() {
    let lab = Lab::new();
    let help = lab.fathom(&["help", "vdbench"]).expect(0).out;
    for words in [["vdbench", "--help"], ["vdbench", "-h"]] {
        assert_eq!(lab.fathom(&words).expect(0).out, help);
    }
    for option in ["-f FILE", "-o FOLDER", "-s ", "--overwrite", "-mb"] {
        assert!(help.contains(option), "no `{option}` in\n{help}");
    }
}

#[test]
fn completions_and_the_manual_page_are_printed() {
    let lab = Lab::new();
    for (part, text) in [
        ("man", ".TH"),
        ("bash", "complete"),
        ("zsh", "#compdef"),
        ("fish", "complete -c fathom"),
    ] {
        let out = lab.fathom(&["manual", part]).expect(0).out;
        assert!(out.contains(text), "{part}");
    }
}

/// The loop of the install guide, as a shell runs it.
#[test]
fn each_verb_has_a_page_and_the_guide_installs_it() {
    let lab = Lab::new();
    let guide =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/install.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let verbs = guide.split("for verb in ").nth(1).unwrap();
    let verbs: Vec<&str> = verbs.split(';').next().unwrap().split(' ').collect();
    for verb in &verbs {
        let page = lab.fathom(&["manual", "man", verb]).expect(0).out;
        assert!(page.contains(&format!("\n.TH fathom-{verb} 1")), "{page}");
    }
    let whole = lab.fathom(&["manual", "man"]).expect(0).out;
    let sections = whole.matches(".SH \"FATHOM ").count();
    assert_eq!(verbs.len(), sections, "the guide lists other verbs");
    let refused = lab.fathom(&["manual", "man", "rnu"]).expect(2);
    assert_eq!(
        refused.err,
        "error: there is no verb `rnu`; did you mean `run`?\n"
    );
    let refused = lab.fathom(&["manual", "bash", "run"]).expect(2);
    assert_eq!(refused.err.lines().count(), 1, "{}", refused.err);
}
