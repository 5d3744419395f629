//! The pages of reference: what they show is what the reader does.
use crate::golden::arguments;
use lang::vdbench::{self, InputFile, Reading};
use lang::{Environment, MemoryFiles};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The text of each entry of the page by its code.
fn entries() -> BTreeMap<String, String> {
    let page = std::fs::read_to_string(root().join("docs/reference/diagnostics.md")).unwrap();
    let mut out = BTreeMap::new();
    for part in page.split("\n### ").skip(1) {
        let (code, text) = part.split_once('\n').unwrap();
        let text = text.split("\n## ").next().unwrap();
        let earlier = out.insert(code.to_owned(), text.to_owned());
        assert!(earlier.is_none(), "{code} has two entries");
    }
    out
}

/// Texts in quotes of the form of a code, in all sources of the product.
fn codes_of_sources() -> BTreeSet<String> {
    let mut folders = vec![root().join("crates")];
    let mut out = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let is_source = path.components().any(|part| part.as_os_str() == "src");
            if path.is_dir() {
                folders.push(path);
            } else if is_source && path.extension().is_some_and(|end| end == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let quoted = text.split('"').filter(|text| is_code(text));
                out.extend(quoted.map(str::to_owned));
            }
        }
    }
    out
}

fn is_code(text: &str) -> bool {
    ["vdb-", "fio-", "bind-", "plan-", "fathom-"]
        .iter()
        .any(|start| {
            text.strip_prefix(start).is_some_and(|number| {
                number.len() == 4 && number.chars().all(|digit| digit.is_ascii_digit())
            })
        })
}

fn read(text: &str) -> Reading {
    let files = MemoryFiles::default();
    let mut environment = Environment::bare(&files);
    environment.memory_bytes = 16 << 30;
    arguments(text, &mut environment.command_line);
    let input = InputFile::Text {
        name: "example".to_owned(),
        bytes: text.as_bytes().to_vec(),
    };
    vdbench::read(&[input], &environment)
}

#[test]
fn every_code_has_an_entry_and_every_entry_a_code() {
    let codes = codes_of_sources();
    assert!(codes.len() > 50, "{codes:?}");
    let entries = entries();
    let documented: BTreeSet<String> = entries.keys().cloned().collect();
    assert_eq!(codes, documented);
    for (code, text) in entries {
        let has_example =
            text.contains("```parm") || text.contains("```fio") || text.contains(" example");
        // Too long to show, or a second file, or a word of the command line.
        let is_told = ["vdb-0002", "vdb-0003", "vdb-0006"].contains(&code.as_str());
        assert!(has_example || is_told, "{code} has no example");
    }
}

#[test]
fn every_example_gives_its_code() {
    let mut count = 0;
    for (code, text) in entries() {
        let Some((_, rest)) = text.split_once("```parm\n") else {
            continue;
        };
        let (example, advice) = rest.split_once("```").unwrap();
        let reading = read(example);
        let mut found = reading.diagnostics.iter().chain(&reading.run_blockers);
        assert!(
            found.any(|found| found.code == code),
            "{code}: {:?}",
            reading.diagnostics
        );
        assert!(advice.trim().len() > 10, "{code} says not what to do");
        count += 1;
    }
    assert!(count > 40, "{count} examples");
}

#[test]
fn every_example_of_a_job_gives_its_code() {
    let files = MemoryFiles::default();
    let mut environment = Environment::bare(&files);
    environment.memory_bytes = 16 << 30;
    let mut count = 0;
    for (code, text) in entries() {
        let Some((_, rest)) = text.split_once("```fio\n") else {
            continue;
        };
        let (example, advice) = rest.split_once("```").unwrap();
        let input = lang::fio::Input::Text {
            name: "example".to_owned(),
            bytes: example.as_bytes().to_vec(),
        };
        let reading = lang::fio::read(&[input], &[], &environment);
        let mut found = reading.diagnostics.iter().chain(&reading.run_blockers);
        assert!(
            found.any(|found| found.code == code),
            "{code}: {:?}",
            reading.diagnostics
        );
        assert!(advice.trim().len() > 3, "{code} says not what to do");
        count += 1;
    }
    assert!(count > 25, "{count} examples");
}
