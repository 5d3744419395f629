//! Golden pairs: `vdbench/X.parm` gives `vdbench/X.plan`, `vdbench/mistakes/X.parm` gives
//! `vdbench/mistakes/X.diag`. `UPDATE=1` rewrites them. A first line `# args: …` is a command line:
//! `name=value`, `-e N`, `-i N`, `-w N`, `-r NAME`, `+overrides`.
use crate::render;
use lang::vdbench::{self, InputFile, Reading};
use lang::{CommandLine, Environment, Files, Variable};
use plan::Severity;
use std::path::{Path, PathBuf};

pub struct Folder(pub PathBuf);

impl Files for Folder {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        std::fs::read(self.0.join(path)).map_err(|_| "no such file".to_owned())
    }
}

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vdbench")
}

pub fn read_fixture(folder: &Path, name: &str) -> Reading {
    let files = Folder(folder.to_owned());
    let mut environment = Environment::bare(&files);
    let text = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
    arguments(&text, &mut environment.command_line);
    vdbench::read(&[InputFile::Path(name.to_owned())], &environment)
}

/// Reads the command line in the first line of a text.
pub fn arguments(text: &str, line: &mut CommandLine) {
    let first = text.lines().next().unwrap_or("");
    let mut arguments = first.strip_prefix("# args: ").unwrap_or("").split(' ');
    while let Some(argument) = arguments.next() {
        let mut seconds = || arguments.next().and_then(|text| text.parse().ok());
        match argument {
            "-e" => line.elapsed_s = seconds(),
            "-i" => line.interval_s = seconds(),
            "-w" => line.warmup_s = seconds(),
            "-r" => line.first_run = arguments.next().map(str::to_owned),
            _ if argument.starts_with('+') => line.run_overrides = Some(argument[1..].to_owned()),
            _ => {
                if let Some((name, value)) = argument.split_once('=') {
                    line.variables.push(Variable {
                        name: name.to_owned(),
                        value: value.to_owned(),
                    });
                }
            }
        }
    }
}

/// Names of the parameter files of a folder, in order.
pub fn fixtures(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".parm"))
        .collect();
    names.sort();
    names
}

pub fn compare(path: &Path, found: &str, failures: &mut Vec<String>) {
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, found).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    if expected != found {
        failures.push(format!(
            "{}\n--- found\n{found}--- expected\n{expected}",
            path.display()
        ));
    }
}

#[test]
fn jobs_read_as_their_plans_say() {
    let folder = folder();
    let mut failures = Vec::new();
    for name in fixtures(&folder) {
        let reading = read_fixture(&folder, &name);
        assert!(!reading.has_errors(), "{name}: {:?}", reading.diagnostics);
        let path = folder.join(&name).with_extension("plan");
        compare(&path, &render::reading(&reading), &mut failures);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn each_mistake_gives_one_message_at_its_place() {
    let folder = folder().join("mistakes");
    let mut failures = Vec::new();
    let names = fixtures(&folder);
    assert!(names.len() >= 60, "{} mistakes", names.len());
    for name in names {
        let reading = read_fixture(&folder, &name);
        let found: String = reading
            .diagnostics
            .iter()
            .filter(|diagnostic| diagnostic.severity != Severity::Note)
            .map(|diagnostic| render::diagnostic(diagnostic, &reading.sources))
            .collect();
        let count = reading
            .diagnostics
            .iter()
            .filter(|diagnostic| diagnostic.severity != Severity::Note)
            .count();
        if count != 1 {
            failures.push(format!("{name} gives {count} messages:\n{found}"));
        }
        for diagnostic in &reading.diagnostics {
            assert!(
                diagnostic.help.is_some() || diagnostic.severity == Severity::Note,
                "{name}"
            );
        }
        compare(
            &folder.join(&name).with_extension("diag"),
            &found,
            &mut failures,
        );
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn values_carry_their_origin() {
    let folder = folder();
    let reading = read_fixture(&folder, "overrides.parm");
    let plan = reading.plan.unwrap();
    let text = render::values(&plan.values, &reading.sources);
    for expected in [
        "sd=sd1 threads=4 (overrides.parm:2)",
        "sd=sd1 range=(0,100) (default: storage definition without `range`)",
        "rd=rd1 elapsed=20 (argument -e 20)",
        "rd=rd1 iorate=500 (command line:1)",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
}

#[test]
fn every_code_of_a_mistake_is_documented() {
    let page = vdbench::reference_markdown();
    let folder = folder().join("mistakes");
    for name in fixtures(&folder) {
        for diagnostic in read_fixture(&folder, &name).diagnostics {
            assert!(
                page.contains(&format!("`{}`", diagnostic.code)),
                "{}",
                diagnostic.code
            );
        }
    }
}
