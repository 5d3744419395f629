//! Verdict and list of runs for every file of the shared corpus, against what the original's
//! simulation said. The corpus is not part of this repository; without it the suite is skipped.
use lang::vdbench::{self, InputFile, Mode, Preparations, Reading};
use lang::{Environment, Files, Variable};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// How many accepted files give the original's list of runs exactly. Raise them, never lower them.
const RAW_AGREE: usize = 78;
const FILES_AGREE: usize = 85;
/// How many refused files are refused here too.
const REFUSED_AGREE: usize = 69;

/// Where the verdict differs on purpose.
const DIFFERENCES: [(&str, &str); 3] = [
    (
        "cloudanimal+Vdbench__workloads__max_io__sql.cfg",
        IN_COMMENT,
    ),
    (
        "cloudanimal+Vdbench__workloads__templates__EXCHANGE.cfg",
        IN_COMMENT,
    ),
    (
        "cloudanimal+Vdbench__workloads__templates__OLTP.cfg",
        IN_COMMENT,
    ),
];
const IN_COMMENT: &str = "the original refuses an unset variable even inside a comment";

struct Disk(PathBuf);

impl Files for Disk {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        std::fs::read(self.0.join(path)).map_err(|error| error.to_string())
    }
}

fn shared() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    if folder.join("oracle/simulate/vdbench.jsonl").exists() {
        return Some(folder);
    }
    eprintln!("skipped: no shared folder beside the workspace");
    None
}

fn cases(shared: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(shared.join("oracle/simulate/vdbench.jsonl")).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn read_case(shared: &Path, case: &Value) -> Reading {
    let name = case["file"].as_str().unwrap();
    let files = Disk(shared.join("corpus/vdbench"));
    let mut environment = Environment::bare(&files);
    if let Some(variables) = case["variables"].as_object() {
        environment.command_line.variables = variables
            .iter()
            .map(|(name, value)| Variable {
                name: name.clone(),
                value: value.as_str().unwrap().to_owned(),
            })
            .collect();
    }
    let bytes = std::fs::read(shared.join("corpus/vdbench").join(name)).unwrap();
    let input = InputFile::Text {
        name: name.to_owned(),
        bytes,
    };
    vdbench::read(&[input], &environment)
}

fn first_error(reading: &Reading) -> String {
    reading
        .diagnostics
        .iter()
        .find(|diagnostic| diagnostic.severity == plan::Severity::Error)
        .map_or(String::new(), |diagnostic| {
            let place = diagnostic.span.map(|span| reading.sources.position(span));
            let line = place.map_or(0, |place| place.line);
            format!("{} line {line}: {}", diagnostic.code, diagnostic.message)
        })
}

#[test]
fn verdicts_and_run_lists_agree_with_the_original() {
    let Some(shared) = shared() else { return };
    let mut agree: BTreeMap<&str, usize> = BTreeMap::new();
    let mut disagreements = 0;
    let mut total: BTreeMap<&str, usize> = BTreeMap::new();
    for case in cases(&shared) {
        let name = case["file"].as_str().unwrap();
        let expected: Vec<&str> = case["runs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|line| line.as_str().unwrap())
            .collect();
        let reading = read_case(&shared, &case);
        let lines = vdbench::simulate_lines(&reading, Preparations::LeftOut);
        let is_accepted = case["exit"] == 0;
        let kind = match (is_accepted, reading.mode) {
            (false, _) => "refused",
            (true, Mode::Raw) => "raw",
            (true, Mode::Files) => "files",
        };
        *total.entry(kind).or_default() += 1;
        let agrees = if is_accepted {
            lines == expected
        } else {
            reading.has_errors()
        };
        if agrees {
            *agree.entry(kind).or_default() += 1;
            continue;
        }
        if let Some((_, reason)) = DIFFERENCES.iter().find(|(file, _)| *file == name) {
            println!("on purpose: {name}: {reason}");
            continue;
        }
        disagreements += 1;
        let differing = lines
            .iter()
            .zip(&expected)
            .position(|(ours, theirs)| ours != theirs);
        println!("{kind:8} {name}");
        if !is_accepted {
            println!(
                "         refused there: {}",
                case["message"].as_str().unwrap_or("")
            );
        } else if reading.has_errors() {
            println!("         refused here: {}", first_error(&reading));
        } else if let Some(at) = differing {
            println!(
                "         ours:   {}\n         theirs: {}",
                lines[at], expected[at]
            );
        } else {
            println!(
                "         {} runs here, {} there",
                lines.len(),
                expected.len()
            );
        }
    }
    for (kind, count) in &total {
        println!("{kind}: {} of {count} agree", agree.get(kind).unwrap_or(&0));
    }
    assert_eq!(
        disagreements, 0,
        "every difference is on purpose and named above"
    );
    let count = |kind: &str| agree.get(kind).copied().unwrap_or(0);
    assert!(count("raw") >= RAW_AGREE, "raw: {}", count("raw"));
    assert!(count("files") >= FILES_AGREE, "files: {}", count("files"));
    assert!(
        count("refused") >= REFUSED_AGREE,
        "refused: {}",
        count("refused")
    );
}

#[test]
fn no_prefix_of_a_corpus_file_panics() {
    let Some(shared) = shared() else { return };
    for case in cases(&shared) {
        let name = case["file"].as_str().unwrap();
        let bytes = std::fs::read(shared.join("corpus/vdbench").join(name)).unwrap();
        // About a hundred prefixes of each; a prime step moves over all positions within a line.
        let step = (bytes.len() / 100).max(1) | 1;
        for end in (0..bytes.len()).step_by(step) {
            vdbench::fuzz_one(&bytes[..end]);
        }
    }
}

/// The job files of published benchmarks run as they are.
#[test]
fn published_jobs_are_accepted() {
    let Some(shared) = shared() else { return };
    let files = Disk(shared.join("samples/vdbench"));
    for entry in std::fs::read_dir(&files.0).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let environment = Environment::bare(&files);
        let reading = vdbench::read(&[InputFile::Path(name.clone())], &environment);
        assert!(!reading.has_errors(), "{name}: {}", first_error(&reading));
        assert!(
            !reading.listing.is_empty() && reading.plan.is_some(),
            "{name}"
        );
        let loses_text = reading
            .diagnostics
            .iter()
            .any(|diagnostic| diagnostic.code == "vdb-0010");
        assert_eq!(loses_text, name.contains("as-printed"), "{name}");
    }
}
