//! Which modules of a crate import each other in a circle. Where there is none, each can be read and changed with what
//! stands below it alone. A folder counts as one module among those beside it, and its own modules among themselves;
//! what a module and the one that holds it say of each other is no circle.
use super::Finding;
use crate::lexer::{Kind, Token};
use crate::source::SourceFile;
use std::collections::{BTreeMap, BTreeSet};

/// Circles that are still there: the module that holds them, and their members. A circle that is not listed is a
/// finding, and so is a member that has left its circle, so that this list only shrinks.
const CIRCLES: &[(&str, &[&str])] = &[
    ("door", &["folders", "object", "removal"]),
    (
        "fathom",
        &["face", "job_files", "launch", "resume", "sinks"],
    ),
    ("host", &["guard", "space"]),
    ("host", &["place", "probe", "storage"]),
    (
        "host::guard",
        &[
            "checked",
            "content",
            "places",
            "signatures",
            "survey",
            "written",
        ],
    ),
    ("host::guard", &["examine", "stack", "usage"]),
    (
        "lang",
        &[
            "environment",
            "fio",
            "lint",
            "machine_lints",
            "sink",
            "vdbench",
        ],
    ),
    (
        "lang::fio",
        &[
            "amounts",
            "failures",
            "files",
            "flow",
            "forms",
            "jobs",
            "names",
            "places",
            "priorities",
            "record",
            "requests",
            "resolve",
            "space",
            "state",
            "steps",
            "support",
            "timing",
            "verify",
        ],
    ),
    (
        "lang::vdbench",
        &["blockers", "groups", "labels", "lanes", "lower"],
    ),
    (
        "lang::vdbench",
        &["content", "model", "resolve", "steering"],
    ),
    ("lang::vdbench", &["runs", "workload"]),
    ("lang::vdbench", &["tree_checks", "trees"]),
    ("report", &["repetitions", "summary"]),
    ("report::fio", &["json", "repeated", "text"]),
    ("report::fio", &["logs", "samples", "windows"]),
];

/// `crate`, then modules.
type Path = Vec<String>;

pub fn check(sources: &[SourceFile], findings: &mut Vec<Finding>) {
    compare(&circles(sources), CIRCLES, findings);
}

/// The modules of each circle, by the module that holds them.
fn circles(sources: &[SourceFile]) -> BTreeMap<String, Vec<BTreeSet<String>>> {
    let files: Vec<(Path, &SourceFile)> = sources
        .iter()
        .filter_map(|file| Some((module_of(file)?, file)))
        .collect();
    let modules: BTreeSet<Path> = files.iter().map(|(module, _)| module.clone()).collect();
    let brought: BTreeMap<&Path, Vec<Path>> = files
        .iter()
        .map(|(module, file)| (module, references(module, file)))
        .collect();
    let mut edges: BTreeMap<Path, BTreeSet<(String, String)>> = BTreeMap::new();
    for (module, references) in &brought {
        for reference in references {
            let target = resolved(reference, &modules, &brought, 0);
            let common = module.iter().zip(&target).take_while(|(a, b)| a == b);
            let common = common.count();
            let (Some(from), Some(to)) = (module.get(common), target.get(common)) else {
                continue;
            };
            let holder = module[..common].to_vec();
            let edge = (from.clone(), to.clone());
            edges.entry(holder).or_default().insert(edge);
        }
    }
    let circles = edges.into_iter().map(|(holder, edges)| {
        let circles = circles_of(&edges);
        (holder.join("::"), circles)
    });
    circles.filter(|(_, circles)| !circles.is_empty()).collect()
}

/// The module that a file of the product is; `None` of others and of test code.
fn module_of(file: &SourceFile) -> Option<Path> {
    let (folder, name) = file.path.strip_prefix("crates/")?.split_once("/src/")?;
    if file.is_test(1)
        && file
            .tokens
            .first()
            .is_none_or(|token| file.is_test(token.line))
    {
        return None;
    }
    let mut module = vec![folder.to_owned()];
    module.extend(name.trim_end_matches(".rs").split('/').map(str::to_owned));
    if matches!(
        module.last().map(String::as_str),
        Some("mod" | "lib" | "main")
    ) {
        module.pop();
    }
    Some(module)
}

/// What a file names by a path, outside of its tests.
fn references(module: &Path, file: &SourceFile) -> Vec<Path> {
    let mut found = Vec::new();
    for (at, token) in file.words() {
        let begins = matches!(token.text.as_str(), "crate" | "super" | "self");
        let is_inside = at > 0 && is_colon(&file.tokens[at - 1]);
        let is_path = file.tokens.get(at + 1).is_some_and(is_colon);
        let is_use = token.text == "use";
        if file.is_test(token.line) || is_inside || !(begins && is_path || is_use) {
            continue;
        }
        let at = if is_use { at + 1 } else { at };
        tree(&file.tokens, at, Vec::new(), &mut |path| {
            found.extend(absolute(module, path));
        });
    }
    found
}

fn is_colon(token: &Token) -> bool {
    token.kind == Kind::Punctuation && token.text == ":"
}

/// Walks a path or a tree of paths from this token on; gives where it ends.
fn tree(
    tokens: &[Token],
    mut at: usize,
    mut path: Path,
    found: &mut dyn FnMut(&[String]),
) -> usize {
    while let Some(token) = tokens.get(at) {
        match (token.kind, token.text.as_str()) {
            (Kind::Word, "as") => {
                at += 2;
                break;
            }
            (Kind::Word, word) => path.push(word.to_owned()),
            (Kind::Punctuation, ":") => {}
            (Kind::Punctuation, "{") if tokens[at - 1].text == ":" => {
                at += 1;
                while tokens.get(at).is_some_and(|token| token.text != "}") {
                    at = tree(tokens, at, path.clone(), found);
                    if tokens.get(at).is_some_and(|token| token.text == ",") {
                        at += 1;
                    }
                }
                return at + 1;
            }
            _ => break,
        }
        at += 1;
        // Two words in a row are no path.
        let goes_on = tokens.get(at).is_some_and(|next| {
            is_colon(next) || next.text == "as" || tokens.get(at - 1).is_some_and(is_colon)
        });
        if !goes_on {
            break;
        }
    }
    found(&path);
    at.max(1)
}

/// From the crate on; `None` of what another crate has.
fn absolute(module: &Path, path: &[String]) -> Option<Path> {
    let (first, rest) = path.split_first()?;
    let mut whole = match first.as_str() {
        "crate" => module[..1].to_vec(),
        "super" => module[..module.len().max(2) - 1].to_vec(),
        "self" => module.clone(),
        // A module of its own.
        _ => {
            let mut whole = module.clone();
            whole.push(first.clone());
            whole
        }
    };
    for word in rest {
        if word == "super" {
            whole.pop();
        } else if word != "self" {
            whole.push(word.clone());
        }
    }
    Some(whole)
}

/// Where a path leads that may go by what a module has brought in from another one.
fn resolved(
    path: &Path,
    modules: &BTreeSet<Path>,
    brought: &BTreeMap<&Path, Vec<Path>>,
    depth: usize,
) -> Path {
    let known = (1..=path.len())
        .rev()
        .find(|end| modules.contains(&path[..*end]));
    let known = known.unwrap_or(path.len());
    let Some(name) = path.get(known).filter(|_| depth < 8) else {
        return path[..known].to_vec();
    };
    let holder = path[..known].to_vec();
    let source = brought.get(&holder).into_iter().flatten().find(|other| {
        let is_other = other.len() > 1 && **other != *path && other[..other.len() - 1] != holder;
        other.last() == Some(name) && is_other
    });
    match source {
        Some(source) if modules.iter().any(|module| source.starts_with(module)) => {
            resolved(source, modules, brought, depth + 1)
        }
        _ => holder,
    }
}

/// Sets of more than one in which each leads to each.
fn circles_of(edges: &BTreeSet<(String, String)>) -> Vec<BTreeSet<String>> {
    let reached = |from: &str| {
        let mut reached = BTreeSet::new();
        let mut open = vec![from.to_owned()];
        while let Some(name) = open.pop() {
            let next = edges.iter().filter(|(from, _)| *from == name);
            for (_, to) in next {
                if reached.insert(to.clone()) {
                    open.push(to.clone());
                }
            }
        }
        reached
    };
    let names: BTreeSet<&String> = edges.iter().map(|(from, _)| from).collect();
    let reached: BTreeMap<&String, BTreeSet<String>> = names
        .into_iter()
        .map(|name| (name, reached(name)))
        .collect();
    let mut circles: Vec<BTreeSet<String>> = Vec::new();
    for (name, to) in &reached {
        let is_known = circles.iter().any(|circle| circle.contains(*name));
        if !is_known && to.contains(*name) {
            let back = |other: &&String| reached.get(other).is_some_and(|of| of.contains(*name));
            circles.push(to.iter().filter(back).cloned().collect());
        }
    }
    circles
}

fn compare(
    actual: &BTreeMap<String, Vec<BTreeSet<String>>>,
    listed: &[(&str, &[&str])],
    findings: &mut Vec<Finding>,
) {
    let mut left: BTreeSet<(&str, &str)> = listed
        .iter()
        .flat_map(|(holder, members)| members.iter().map(|member| (*holder, *member)))
        .collect();
    for (holder, circles) in actual {
        for circle in circles {
            let names = circle.iter().map(String::as_str);
            let is_listed = listed.iter().any(|(known, members)| {
                known == holder && names.clone().all(|name| members.contains(&name))
            });
            if !is_listed {
                let names: Vec<&str> = names.clone().collect();
                let message = format!(
                    "modules of `{holder}` import each other: {}",
                    names.join(", ")
                );
                findings.push(Finding::new(&folder(holder), 1, message));
            }
            for name in names {
                left.remove(&(holder.as_str(), name));
            }
        }
    }
    for (holder, name) in left {
        let message = format!(
            "`{name}` is in no circle of modules any more; take it from the list in xtask/src/tidy/circles.rs"
        );
        findings.push(Finding::new(&folder(holder), 1, message));
    }
}

/// Where the modules of a holder lie.
fn folder(holder: &str) -> String {
    let mut parts = holder.split("::");
    let package = parts.next().unwrap_or_default();
    let rest: String = parts.map(|part| format!("/{part}")).collect();
    format!("crates/{package}/src{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> BTreeMap<String, Vec<BTreeSet<String>>> {
        let file = |(path, text): &(&str, &str)| SourceFile::new("p", path, text);
        circles(&files.iter().map(file).collect::<Vec<_>>())
    }

    fn members(files: &[(&str, &str)]) -> Vec<String> {
        let told = |(holder, circles): (String, Vec<BTreeSet<String>>)| {
            let names = |circle: BTreeSet<String>| circle.into_iter().collect::<Vec<_>>().join(" ");
            let circles: Vec<String> = circles.into_iter().map(names).collect();
            format!("{holder}: {}", circles.join(", "))
        };
        found(files).into_iter().map(told).collect()
    }

    #[test]
    fn planted_circles_are_found() {
        let straight = [
            ("crates/p/src/lib.rs", "mod a;\nmod b;\npub use b::B;"),
            ("crates/p/src/a.rs", "use crate::b::B;"),
            ("crates/p/src/b.rs", "pub struct B;"),
        ];
        assert_eq!(members(&straight), [""; 0]);
        for back in [
            "use crate::a::A;",
            "use super::a::{A, C};",
            "fn f() { crate::a::f(); }",
            "use crate::{other, a::A as B};",
        ] {
            let mut files = straight;
            files[2].1 = back;
            assert_eq!(members(&files), ["p: a b"], "{back}");
        }
        let mut files = straight;
        files[2].1 = "#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}";
        assert_eq!(members(&files), [""; 0], "tests are free");
    }

    #[test]
    fn the_middle_of_the_house_has_none() {
        let middle = ["plan", "measure", "store", "engine", "conduct", "analysis"];
        let is_there = |(holder, _): &(&str, &[&str])| {
            let of = holder.split("::").next();
            of.is_some_and(|of| middle.contains(&of))
        };
        assert!(!CIRCLES.iter().any(is_there));
    }

    #[test]
    fn what_the_root_hands_on_leads_to_where_it_is() {
        let files = [
            ("crates/p/src/lib.rs", "mod a;\nmod b;\npub use a::{A, C};"),
            ("crates/p/src/a.rs", "use crate::b::B;"),
            ("crates/p/src/b.rs", "use crate::A;"),
        ];
        assert_eq!(members(&files), ["p: a b"]);
    }

    #[test]
    fn folders_count_as_one_and_among_themselves() {
        let files = [
            ("crates/p/src/lib.rs", "mod a;\nmod b;"),
            ("crates/p/src/a/mod.rs", "mod one;\nmod two;\nuse one::One;"),
            (
                "crates/p/src/a/one.rs",
                "use super::two::Two;\nuse super::A;",
            ),
            (
                "crates/p/src/a/two.rs",
                "use super::one::One;\nuse crate::b::B;",
            ),
            ("crates/p/src/b.rs", "use crate::a::A;"),
        ];
        assert_eq!(members(&files), ["p: a b", "p::a: one two"]);
    }

    #[test]
    fn the_list_holds_what_is_there_and_nothing_more() {
        let files = [
            ("crates/p/src/lib.rs", "mod a;\nmod b;\nmod c;"),
            ("crates/p/src/a.rs", "use crate::b::B;"),
            ("crates/p/src/b.rs", "use crate::a::A;"),
            ("crates/p/src/c.rs", "use crate::a::A;"),
        ];
        let actual = found(&files);
        let findings = |listed: &[(&str, &[&str])]| {
            let mut findings = Vec::new();
            compare(&actual, listed, &mut findings);
            findings.len()
        };
        assert_eq!(findings(&[("p", &["a", "b"])]), 0);
        assert_eq!(findings(&[]), 1);
        assert_eq!(findings(&[("p", &["a"])]), 1);
        assert_eq!(findings(&[("p", &["a", "b", "c"])]), 1);
    }
}
