//! Would the known answers notice a lie? Makes a copy of the workspace in which each rule of [`PLACES`] can be changed,
//! one change at a time, and lets the tests judge it: a change that no test notices survives, and is an error here.
//!
//! All changes are compiled into one program, and a variable of the environment chooses the one that holds, so that a
//! hundred changes take one build.
mod places;

use crate::{command, workspace};
use places::PLACES;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Chooses the change by its number, from 1 on.
const VARIABLE: &str = "FATHOM_MUTANT";

/// What a rule becomes is in its text between these.
const BRACKETS: [char; 2] = ['«', '»'];

/// Packages and tests that have to notice: the known answers of the reports, and those of the rules themselves.
const JUDGES: [(&str, &[&str]); 2] = [
    ("known answers", &["--package", "report", "--test", "known"]),
    ("unit tests", &["--package", "analysis", "--lib"]),
];

/// An expression of the sources, and what it is changed to.
#[derive(Clone, Copy, Debug)]
struct Place {
    file: &'static str,
    /// Stands once in the file, without the brackets around the expression.
    text: &'static str,
    changes: &'static [&'static str],
}

/// A change that can be chosen.
struct Mutant {
    number: usize,
    /// For people: the file, what stood there, and what stands there now.
    title: String,
}

struct Verdict {
    title: String,
    noticed_by: Option<&'static str>,
}

/// Runs the tests over each change; an error when one survives. Words choose the changes whose titles have them.
pub fn run(root: &Path, words: &[String]) -> Result<(), String> {
    let copy = root.join("target/mutants");
    let mutants = write_copy(root, &copy)?;
    let judges = build(root, &copy)?;
    for (judge, program) in &judges {
        if !passes(program, &copy, 0)? {
            return Err(format!("the {judge} fail without any change"));
        }
    }
    let is_chosen =
        |mutant: &&Mutant| words.is_empty() || words.iter().any(|word| mutant.title.contains(word));
    let mut verdicts = Vec::new();
    for mutant in mutants.iter().filter(is_chosen) {
        let mut noticed_by = None;
        for (judge, program) in &judges {
            if noticed_by.is_none() && !passes(program, &copy, mutant.number)? {
                noticed_by = Some(*judge);
            }
        }
        println!("{:<14} {}", noticed_by.unwrap_or("NOBODY"), mutant.title);
        verdicts.push(Verdict {
            title: mutant.title.clone(),
            noticed_by,
        });
    }
    sum_up(&verdicts)
}

fn sum_up(verdicts: &[Verdict]) -> Result<(), String> {
    let by_known = |one: &&Verdict| one.noticed_by == Some(JUDGES[0].0);
    let known = verdicts.iter().filter(by_known).count();
    let survivors: Vec<&str> = verdicts
        .iter()
        .filter(|one| one.noticed_by.is_none())
        .map(|one| one.title.as_str())
        .collect();
    println!(
        "{} changes: the known answers noticed {known}, the unit tests alone {}, nobody {}",
        verdicts.len(),
        verdicts.len() - known - survivors.len(),
        survivors.len()
    );
    match survivors.is_empty() {
        true => Ok(()),
        false => Err(format!("no test notices:\n{}", survivors.join("\n"))),
    }
}

/// Copies what git knows, with all changes in it, and leaves alone what is the same already, so that cargo does not
/// build it again.
fn write_copy(root: &Path, copy: &Path) -> Result<Vec<Mutant>, String> {
    let mut mutants = Vec::new();
    let sources = |name: &&String| !name.starts_with("target/");
    for name in workspace::files(root)?.iter().filter(sources) {
        let mut bytes = read(&root.join(name))?;
        let places: Vec<&Place> = PLACES.iter().filter(|place| place.file == *name).collect();
        if !places.is_empty() {
            let mut text = String::from_utf8(bytes).map_err(|_| format!("{name} is no text"))?;
            for place in places {
                text = change(&text, place, &mut mutants)?;
            }
            bytes = text.into_bytes();
        }
        let path = copy.join(name);
        if std::fs::read(&path).is_ok_and(|old| old == bytes) {
            continue;
        }
        let folder = path.parent().expect("a file lies in a folder");
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&path, &bytes))
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    match PLACES.iter().find(|place| !root.join(place.file).is_file()) {
        Some(place) => Err(format!("{} is not there", place.file)),
        None => Ok(mutants),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// Puts the choice between an expression and its changes in its place.
fn change(text: &str, place: &Place, mutants: &mut Vec<Mutant>) -> Result<String, String> {
    let parts: Vec<&str> = place.text.split(BRACKETS).collect();
    let [before, rule, after] = parts[..] else {
        return Err(format!("`{}` brackets no expression", place.text));
    };
    let old = format!("{before}{rule}{after}");
    let count = text.matches(&old).count();
    if count != 1 {
        return Err(format!(
            "`{old}` stands {count} times in {}: correct the list of `mutate-known`",
            place.file
        ));
    }
    let mut choice = format!("(match std::env::var(\"{VARIABLE}\").as_deref() {{ ");
    for changed in place.changes {
        let number = mutants.len() + 1;
        choice += &format!("Ok(\"{number}\") => {{ {changed} }} ");
        let file = place.file.rsplit('/').next().unwrap_or(place.file);
        mutants.push(Mutant {
            number,
            title: format!("{file}: {before}«{rule}»{after} → {changed}"),
        });
    }
    choice += &format!("_ => {{ {rule} }} }})");
    Ok(text.replacen(&old, &format!("{before}{choice}{after}"), 1))
}

/// Builds the tests in a folder of their own: cargo tells packages of two workspaces apart by their places within them
/// alone, so that the changed ones would stand for the others.
fn build(root: &Path, copy: &Path) -> Result<Vec<(&'static str, PathBuf)>, String> {
    let target = root.join("target/mutants-build");
    let target = target.to_str().ok_or("the workspace has no plain path")?;
    let mut programs = Vec::new();
    for (judge, of) in JUDGES {
        let mut arguments = vec!["test", "--no-run", "--message-format", "json"];
        arguments.extend(["--target-dir", target]);
        arguments.extend(of);
        let told = command::output(copy, &command::cargo(), &arguments)?;
        let mut found = told.lines().filter_map(|line| {
            let message: Value = serde_json::from_str(line).ok()?;
            let is_test = message["profile"]["test"] == true;
            let program = message["executable"].as_str()?;
            is_test.then(|| PathBuf::from(program))
        });
        let program = found
            .next_back()
            .ok_or(format!("no program has the {judge}"))?;
        programs.push((judge, program));
    }
    Ok(programs)
}

fn passes(program: &Path, copy: &Path, number: usize) -> Result<bool, String> {
    let status = Command::new(program)
        .env(VARIABLE, number.to_string())
        .env("PROPTEST_FAILURE_PERSISTENCE", "off")
        .current_dir(copy)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(|error| format!("cannot run {}: {error}", program.display()))?;
    Ok(status.success())
}
