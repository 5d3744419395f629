//! What the workspace takes from others: each with its reason written down, and not too many in all.
use super::Finding;
use super::table;
use crate::workspace::Package;
use std::collections::BTreeSet;

const DOCUMENT: &str = "CONTRIBUTING.md";
const HEADING: &str = "Dependencies";
const MANIFEST: &str = "Cargo.toml";

/// Packages of the whole workspace on this platform, its own included.
const MOST_PACKAGES: usize = 250;

/// Every direct dependency has a row: name, why, cost, exit.
pub fn check_table(packages: &[Package], contributing: &str, findings: &mut Vec<Finding>) {
    let rows = table::rows(contributing, HEADING);
    let used = foreign(packages);
    for name in &used {
        if !rows.iter().any(|row| row.cells[0] == *name) {
            let message = format!("the table below `{HEADING}` has no row for `{name}`");
            findings.push(Finding::new(DOCUMENT, 1, message));
        }
    }
    for row in &rows {
        let name = row.cells[0].as_str();
        if !used.contains(name) {
            findings.push(Finding::new(
                DOCUMENT,
                row.line,
                format!("nothing depends on `{name}`"),
            ));
        }
        if row.cells.len() != 4 || row.cells.iter().any(String::is_empty) {
            let message = format!("`{name}` needs four cells: name, why, cost, exit");
            findings.push(Finding::new(DOCUMENT, row.line, message));
        }
    }
}

/// What the root manifest declares, some crate uses.
pub fn check_declared(packages: &[Package], manifest: &str, findings: &mut Vec<Finding>) {
    let used = foreign(packages);
    let own: BTreeSet<&str> = packages
        .iter()
        .map(|package| package.name.as_str())
        .collect();
    let lines = manifest.lines().enumerate();
    let section = lines
        .skip_while(|(_, line)| line.trim() != "[workspace.dependencies]")
        .skip(1);
    for (index, line) in section.take_while(|(_, line)| !line.starts_with('[')) {
        let Some((name, _)) = line.split_once('=') else {
            continue;
        };
        let name = name.trim();
        if !name.starts_with('#') && !used.contains(name) && !own.contains(name) {
            findings.push(Finding::new(
                MANIFEST,
                index + 1,
                format!("no crate uses `{name}`"),
            ));
        }
    }
}

/// Counts what `cargo tree --prefix none` prints.
pub fn check_count(tree: &str, findings: &mut Vec<Finding>) {
    let package = |line: &str| {
        line.split_whitespace()
            .take(2)
            .collect::<Vec<_>>()
            .join(" ")
    };
    let packages: BTreeSet<String> = tree
        .lines()
        .map(package)
        .filter(|name| !name.is_empty())
        .collect();
    if packages.len() > MOST_PACKAGES {
        let message = format!("{} packages, {MOST_PACKAGES} are allowed", packages.len());
        findings.push(Finding::new(MANIFEST, 1, message));
    }
}

fn foreign(packages: &[Package]) -> BTreeSet<&str> {
    let all = packages.iter().flat_map(|package| &package.dependencies);
    all.filter(|dependency| !dependency.is_member)
        .map(|dependency| dependency.name.as_str())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Dependency;

    fn packages() -> Vec<Package> {
        let dependency = |name: &str, is_member| Dependency {
            name: name.to_owned(),
            is_member,
            is_normal: true,
        };
        vec![Package {
            name: "plan".to_owned(),
            folder: "crates/plan".to_owned(),
            dependencies: vec![dependency("serde", false), dependency("measure", true)],
        }]
    }

    fn in_table(row: &str) -> Vec<String> {
        let document =
            format!("## {HEADING}\n\n| Name | Why | Cost | Exit |\n|---|---|---|---|\n{row}\n");
        let mut findings = Vec::new();
        check_table(&packages(), &document, &mut findings);
        findings
            .into_iter()
            .map(|finding| finding.message)
            .collect()
    }

    #[test]
    fn every_dependency_has_a_row_and_every_row_a_dependency() {
        assert_eq!(in_table("| `serde` | a | b | c |"), [""; 0]);
        assert_eq!(
            in_table("| `serde` | a | | c |"),
            ["`serde` needs four cells: name, why, cost, exit"]
        );
        let swapped = [
            "the table below `Dependencies` has no row for `serde`",
            "nothing depends on `libc`",
        ];
        assert_eq!(in_table("| `libc` | a | b | c |"), swapped);
    }

    #[test]
    fn a_declaration_that_nobody_uses_is_found() {
        let manifest = "[workspace.dependencies]\nplan = { path = \"x\" }\n\nserde = \"1\"\nprocfs = { version = \"1\" }\n[profile.dev]\ndebug = 1\n";
        let mut findings = Vec::new();
        check_declared(&packages(), manifest, &mut findings);
        assert_eq!(
            findings,
            [Finding::new(MANIFEST, 5, "no crate uses `procfs`")]
        );
    }

    #[test]
    fn packages_are_counted_once() {
        let tree = |count: usize| {
            (0..count)
                .map(|n| format!("name{n} v1.0.0 (*)\nname{n} v1.0.0\n\n"))
                .collect::<String>()
        };
        let found = |count| {
            let mut findings = Vec::new();
            check_count(&tree(count), &mut findings);
            findings.len()
        };
        assert_eq!((found(MOST_PACKAGES), found(MOST_PACKAGES + 1)), (0, 1));
    }
}
