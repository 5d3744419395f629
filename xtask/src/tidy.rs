//! The rules of the house that the compiler does not know. Each check takes text and tokens and yields findings, so
//! that its tests can plant a violation without a workspace.
//!
//! ARCHITECTURE.md and CONTRIBUTING.md say why each rule is there.
mod addresses;
mod circles;
mod code;
mod codes;
mod comments;
mod dependencies;
mod door;
mod edges;
mod leaving;
mod length;
mod table;
mod words;

use crate::command;
use crate::source::SourceFile;
use crate::workspace;
use std::fmt;
use std::path::Path;

/// One violation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    pub path: String,
    /// From 1; 1 where the whole file is meant.
    pub line: usize,
    pub message: String,
}

impl Finding {
    pub fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            message: message.into(),
        }
    }

    pub fn in_source(file: &SourceFile, line: usize, message: impl Into<String>) -> Self {
        Self::new(&file.path, line, message)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// Checks everything and prints what it finds.
pub fn run(root: &Path) -> Result<(), String> {
    let mut findings = check(root)?;
    findings.sort();
    findings.dedup();
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => {
            println!("tidy: nothing to tidy");
            Ok(())
        }
        count => Err(format!("tidy: {count} findings")),
    }
}

fn check(root: &Path) -> Result<Vec<Finding>, String> {
    let packages = workspace::packages(root)?;
    let files = workspace::files(root)?;
    let sources = workspace::sources(root, &packages, &files)?;
    let mut findings = Vec::new();
    let mut uses = leaving::Uses::new();
    for source in &sources {
        leaving::count_source(source, &mut uses);
        words::check(source, &mut findings);
        code::check(source, &mut findings);
        door::check(source, &mut findings);
        comments::check(source, &mut findings);
    }
    code::check_roots(&sources, &mut findings);
    door::check_list(&sources, &mut findings);
    circles::check(&sources, &mut findings);

    let architecture = read(root, "ARCHITECTURE.md", &mut findings);
    edges::check(&packages, &architecture, &mut findings);
    let contributing = read(root, "CONTRIBUTING.md", &mut findings);
    dependencies::check_table(&packages, &contributing, &mut findings);
    dependencies::check_declared(
        &packages,
        &read(root, "Cargo.toml", &mut findings),
        &mut findings,
    );
    dependencies::check_count(&dependency_tree(root)?, &mut findings);

    let ratchet = read(root, length::RATCHET, &mut findings);
    length::check(&sources, &ratchet, &mut findings);
    length::check_shrinks(
        length::RATCHET,
        &length::history(root, length::RATCHET, &ratchet),
        &mut findings,
    );
    if let Ok(reference) = std::fs::read_to_string(root.join(codes::REFERENCE)) {
        codes::check(&sources, &reference, &mut findings);
    }
    for name in &files {
        if let Ok(text) = std::fs::read_to_string(root.join(name)) {
            addresses::check(name, &text, &root.display().to_string(), &mut findings);
            leaving::count_page(name, &text, &mut uses);
        }
    }
    let list = read(root, leaving::LIST, &mut findings);
    leaving::check(&uses, &list, &mut findings);
    let versions = length::history(root, leaving::LIST, &list);
    length::check_shrinks(leaving::LIST, &versions, &mut findings);
    Ok(findings)
}

/// A file that has to be there.
fn read(root: &Path, name: &str, findings: &mut Vec<Finding>) -> String {
    std::fs::read_to_string(root.join(name)).unwrap_or_else(|error| {
        findings.push(Finding::new(name, 1, error.to_string()));
        String::new()
    })
}

fn dependency_tree(root: &Path) -> Result<String, String> {
    let arguments = [
        "tree",
        "--workspace",
        "--edges",
        "normal,build",
        "--prefix",
        "none",
    ];
    command::output(root, &command::cargo(), &arguments)
}
