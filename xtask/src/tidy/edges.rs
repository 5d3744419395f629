//! Which crate may use which. The table stands here, in ARCHITECTURE.md for people, and in the manifests; all three
//! have to say the same.
use super::Finding;
use super::table;
use crate::workspace::Package;
use std::collections::BTreeSet;

const DOCUMENT: &str = "ARCHITECTURE.md";
const HEADING: &str = "Crate edges";

/// Normal dependencies between the crates of the product. Changing a line is a decision: it takes the same change in
/// ARCHITECTURE.md, with the reason.
pub const EDGES: &[(&str, &[&str])] = &[
    ("plan", &[]),
    ("lang", &["plan"]),
    ("sys", &[]),
    ("door", &["plan", "sys"]),
    ("measure", &["plan"]),
    ("host", &["plan", "measure", "sys", "door"]),
    ("engine", &["plan", "measure", "sys", "door"]),
    ("analysis", &["plan", "measure"]),
    (
        "conduct",
        &[
            "plan", "measure", "analysis", "sys", "engine", "host", "door",
        ],
    ),
    ("fleet", &["plan", "sys", "measure", "conduct"]),
    ("store", &["plan", "measure"]),
    ("report", &["plan", "lang", "measure", "analysis"]),
    (
        "fathom",
        &[
            "plan", "lang", "sys", "door", "measure", "host", "engine", "analysis", "conduct",
            "fleet", "store", "report",
        ],
    ),
];

/// An asynchronous runtime may be used here alone.
const WITH_RUNTIME: &[&str] = &["fleet", "fathom"];

pub fn check(packages: &[Package], architecture: &str, findings: &mut Vec<Finding>) {
    check_manifests(packages, findings);
    check_document(architecture, findings);
}

fn check_manifests(packages: &[Package], findings: &mut Vec<Finding>) {
    let of_product = |package: &&Package| package.folder.starts_with("crates/");
    for package in packages.iter().filter(of_product) {
        let manifest = format!("{}/Cargo.toml", package.folder);
        let used = package
            .dependencies
            .iter()
            .filter(|dependency| dependency.is_normal);
        for dependency in used.clone() {
            if dependency.name == "tokio" && !WITH_RUNTIME.contains(&package.name.as_str()) {
                findings.push(Finding::new(
                    &manifest,
                    1,
                    "`tokio` is for `fleet` and `fathom` alone",
                ));
            }
        }
        let members = used.filter(|dependency| dependency.is_member);
        let actual: BTreeSet<&str> = members.map(|dependency| dependency.name.as_str()).collect();
        match EDGES.iter().find(|(name, _)| *name == package.name) {
            Some((_, allowed)) => compare(&manifest, 1, &package.name, &actual, allowed, findings),
            None => findings.push(Finding::new(
                &manifest,
                1,
                "this crate is not in the table of crate edges",
            )),
        }
    }
    for (name, _) in EDGES {
        if !packages
            .iter()
            .filter(of_product)
            .any(|package| package.name == *name)
        {
            let message =
                format!("the table of crate edges names `{name}`, which is not in the workspace");
            findings.push(Finding::new(DOCUMENT, 1, message));
        }
    }
}

fn check_document(architecture: &str, findings: &mut Vec<Finding>) {
    let rows = table::rows(architecture, HEADING);
    for (name, allowed) in EDGES {
        let Some(row) = rows.iter().find(|row| row.cells[0] == *name) else {
            let message = format!("the table below `{HEADING}` has no row for `{name}`");
            findings.push(Finding::new(DOCUMENT, 1, message));
            continue;
        };
        let cell = row.cells.get(1).map_or("", String::as_str);
        let listed: BTreeSet<&str> = cell
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty() && *name != "–")
            .collect();
        compare(DOCUMENT, row.line, name, &listed, allowed, findings);
    }
    for row in rows
        .iter()
        .filter(|row| !EDGES.iter().any(|(name, _)| *name == row.cells[0]))
    {
        let message = format!(
            "`{}` is not in the table of crate edges of xtask",
            row.cells[0]
        );
        findings.push(Finding::new(DOCUMENT, row.line, message));
    }
}

fn compare(
    path: &str,
    line: usize,
    name: &str,
    actual: &BTreeSet<&str>,
    allowed: &[&str],
    findings: &mut Vec<Finding>,
) {
    let allowed: BTreeSet<&str> = allowed.iter().copied().collect();
    for extra in actual.difference(&allowed) {
        let message = format!("`{name}` may not use `{extra}`");
        findings.push(Finding::new(path, line, message));
    }
    for missing in allowed.difference(actual) {
        let message =
            format!("`{name}` uses `{missing}` in the table of crate edges, but not here");
        findings.push(Finding::new(path, line, message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::{self, Dependency};

    fn messages(packages: &[Package]) -> Vec<String> {
        let mut findings = Vec::new();
        check_manifests(packages, &mut findings);
        findings
            .into_iter()
            .map(|finding| finding.message)
            .collect()
    }

    fn in_order() -> Vec<Package> {
        let package = |(name, allowed): &(&str, &[&str])| Package {
            name: (*name).to_owned(),
            folder: format!("crates/{name}"),
            dependencies: allowed.iter().map(|name| edge(name, true)).collect(),
        };
        EDGES.iter().map(package).collect()
    }

    fn edge(name: &str, is_normal: bool) -> Dependency {
        Dependency {
            name: name.to_owned(),
            is_member: name != "tokio",
            is_normal,
        }
    }

    #[test]
    fn planted_edges_are_found() {
        assert_eq!(messages(&in_order()), [""; 0]);
        let mut packages = in_order();
        packages[0].dependencies.push(edge("sys", true));
        packages[1].dependencies.clear();
        packages[2].dependencies.push(edge("plan", false));
        packages[5].dependencies.push(edge("tokio", true));
        packages.last_mut().unwrap().name = "stranger".to_owned();
        assert_eq!(
            messages(&packages),
            [
                "`plan` may not use `sys`",
                "`lang` uses `plan` in the table of crate edges, but not here",
                "`tokio` is for `fleet` and `fathom` alone",
                "this crate is not in the table of crate edges",
                "the table of crate edges names `fathom`, which is not in the workspace",
            ]
        );
    }

    #[test]
    fn a_document_that_differs_is_found() {
        let mut document = format!("## {HEADING}\n\n| Crate | May use |\n|---|---|\n");
        for (name, allowed) in EDGES.iter().skip(1) {
            let allowed = if *name == "store" {
                "`plan`".to_owned()
            } else {
                allowed.join(", ")
            };
            document.push_str(&format!("| `{name}` | {allowed} |\n"));
        }
        document.push_str("| `other` | – |\n");
        let mut findings = Vec::new();
        check_document(&document, &mut findings);
        let messages: Vec<&str> = findings
            .iter()
            .map(|finding| finding.message.as_str())
            .collect();
        assert_eq!(
            messages,
            [
                "the table below `Crate edges` has no row for `plan`",
                "`store` uses `measure` in the table of crate edges, but not here",
                "`other` is not in the table of crate edges of xtask",
            ]
        );
    }

    #[test]
    fn the_document_and_the_manifests_of_this_workspace_agree_with_the_table() {
        let root = workspace::root();
        let packages = workspace::packages(&root).unwrap();
        let architecture = std::fs::read_to_string(root.join(DOCUMENT)).unwrap();
        let mut findings = Vec::new();
        check(&packages, &architecture, &mut findings);
        assert_eq!(findings, []);
    }
}
