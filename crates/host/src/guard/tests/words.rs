//! `--overwrite`: arguments, lists, and the list that a refusal writes.

use std::fs;
use std::path::PathBuf;

use plan::TargetId;

use super::{is_granted, refused, words, write_to_file};
use crate::guard::{Finding, Overwrite, OverwriteError, Refusal, Refused};

#[test]
fn a_list_holds_a_word_on_each_line() {
    let directory = tempfile::tempdir().unwrap();
    let list = directory.path().join("list");
    fs::write(
        &list,
        "# comment\n\n  naa.5000  \n/a path with # in it\r\n#/dev/sdb\n",
    )
    .unwrap();
    let arguments = ["/dev/sda".to_owned(), format!("@{}", list.display())];
    let overwrite = Overwrite::from_arguments(&arguments).unwrap();
    assert_eq!(
        overwrite.words,
        ["/dev/sda", "naa.5000", "/a path with # in it"]
    );
}

#[test]
fn a_list_that_cannot_be_read_and_an_empty_word_are_errors() {
    let missing = Overwrite::from_arguments(&["@/no/such/list"]).unwrap_err();
    assert!(missing.to_string().contains("/no/such/list"));
    let empty = Overwrite::from_arguments(&[" "]).unwrap_err();
    assert!(matches!(empty, OverwriteError::Empty));
}

#[test]
fn the_list_that_a_refusal_writes_frees_what_can_be_freed() {
    let directory = tempfile::tempdir().unwrap();
    let held = directory.path().join("held data");
    fs::write(&held, "something of value").unwrap();
    let requests = [write_to_file(&held)];
    let list = directory.path().join("list");
    let text = refused(&requests, &words(&[])).overwrite_file();
    // What it is stands beside its word.
    assert!(text.contains("held data, 18 B\n"), "{text}");
    fs::write(&list, text).unwrap();
    let overwrite = Overwrite::from_arguments(&[format!("@{}", list.display())]).unwrap();
    assert_eq!(overwrite.words, [held.to_str().unwrap()]);
    assert!(is_granted(&requests[0], &overwrite));
}

#[test]
fn what_no_word_frees_is_a_comment_in_the_list() {
    let refused = Refused {
        refusals: vec![Refusal {
            target: TargetId(0),
            path: PathBuf::from("/dev/sda\n/dev/sdb"),
            findings: vec![Finding::ReadOnly],
            bytes: None,
            word: None,
        }],
        no_space: Vec::new(),
    };
    let text = refused.overwrite_file();
    assert!(
        text.lines()
            .all(|line| line.is_empty() || line.starts_with('#')),
        "{text}"
    );
}

#[test]
fn words_are_quoted_for_the_shell() {
    assert_eq!(
        crate::guard::quoted("/dev/disk/by-id/nvme-eui.00"),
        "/dev/disk/by-id/nvme-eui.00"
    );
    assert_eq!(crate::guard::quoted("it's here"), r"'it'\''s here'");
}
