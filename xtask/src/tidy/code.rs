//! What must not be written in some crate, or anywhere.
use super::Finding;
use crate::source::SourceFile;

/// Leaves a run dying on a path that was never finished, or prints where nobody asked.
const UNFINISHED: &[&str] = &["dbg", "todo", "unimplemented"];

/// The crates where the order of everything has to be the same for the same seed.
const ORDERED: &[&str] = &["engine", "conduct", "plan"];

/// The module that prints, for all of the product.
const PRINTING: &str = "crates/fathom/src/printing.rs";

const WITH_RUNTIME: &[&str] = &["fleet", "fathom"];

pub fn check(file: &SourceFile, findings: &mut Vec<Finding>) {
    for (at, token) in file.words() {
        let word = token.text.as_str();
        let is_test = file.is_test(token.line);
        let mut found =
            |message: String| findings.push(Finding::in_source(file, token.line, message));
        if word == "unsafe" && file.package != "sys" {
            found("`unsafe` is for `sys` alone".to_owned());
        }
        if UNFINISHED.contains(&word) && file.matches(at + 1, &["!"]) {
            found(format!("`{word}!` cannot be merged"));
        }
        if ["async", "await", "tokio"].contains(&word)
            && !WITH_RUNTIME.contains(&file.package.as_str())
        {
            found(format!(
                "`{word}`: asynchronous code is for `fleet` and `fathom` alone"
            ));
        }
        if is_test {
            continue;
        }
        if prints(file, at, word) {
            found(format!(
                "`{word}` goes around `printing.rs`: it ends the process where nobody reads"
            ));
        }
        if file.matches(at, &["Grant", ":", ":", "issue"])
            && !["host", "door"].contains(&file.package.as_str())
        {
            found("only the guard in `host` issues a `Grant`".to_owned());
        }
        if file.matches(at, &["Grant", "as"]) || word == "type" && names_grant(file, at) {
            found("under another name nobody sees who issues a `Grant`".to_owned());
        }
        if ["HashMap", "HashSet"].contains(&word) && ORDERED.contains(&file.package.as_str()) {
            found(format!(
                "`{word}` has no order that a seed can repeat; use `BTreeMap` or an index"
            ));
        }
        if file.package == "engine" {
            check_engine(file, at, word, &mut found);
        }
    }
}

/// Whether something is printed, or a standard stream taken, outside of the one module for it.
fn prints(file: &SourceFile, at: usize, word: &str) -> bool {
    let is_free = file.path == PRINTING
        || !file.path.starts_with("crates/")
        || file.path.contains("/examples/")
        // What it prints is for cargo.
        || file.path.ends_with("/build.rs");
    let is_macro =
        ["print", "println", "eprint", "eprintln"].contains(&word) && file.matches(at + 1, &["!"]);
    // A child's stream is a field, and the method that sets it takes an argument.
    let is_stream = ["stdout", "stderr"].contains(&word)
        && (file.matches(at + 1, &["(", ")"])
            || at >= 3 && file.matches(at - 3, &["io", ":", ":"]));
    !is_free && (is_macro || is_stream)
}

/// The engine runs what it is given: no value of its own, none from the environment.
fn check_engine(file: &SourceFile, at: usize, word: &str, found: &mut impl FnMut(String)) {
    let is_environment = word == "env" && !file.matches(at + 1, &["="]);
    if is_environment
        && (file.matches(at + 1, &["!"])
            || file.matches(at + 1, &[":", ":"])
            || is_imported(file, at))
    {
        found("the engine reads nothing from the environment".to_owned());
    }
    // What fills a field or a variable may be configuration; the type cannot be seen here.
    let fills = at > 0 && [":", "=", "."].contains(&file.tokens[at - 1].text.as_str());
    if fills && file.matches(at, &["Default", ":", ":", "default"]) {
        found("the engine knows no defaults; name the type of a counter or a buffer".to_owned());
    }
    let is_configuration = ["Config", "Plan", "Spec", "Settings", "Options"]
        .iter()
        .any(|end| word.ends_with(end));
    if is_configuration && file.matches(at + 1, &[":", ":", "default"]) {
        found(format!(
            "`{word}` is configuration, for which the engine knows no default"
        ));
    }
}

fn names_grant(file: &SourceFile, at: usize) -> bool {
    let rest = file.tokens[at..]
        .iter()
        .take_while(|token| token.text != ";");
    rest.skip_while(|token| token.text != "=")
        .any(|token| token.text == "Grant")
}

/// Whether this word stands in a `use` of the standard library.
fn is_imported(file: &SourceFile, at: usize) -> bool {
    let before = file.tokens[..at].iter().rev();
    let statement: Vec<&str> = before
        .take_while(|token| token.text != ";")
        .map(|token| token.text.as_str())
        .collect();
    statement.contains(&"use") && statement.contains(&"std")
}

/// Every crate but `sys` has the compiler refuse what [`check`] looks for as well.
pub fn check_roots(files: &[SourceFile], findings: &mut Vec<Finding>) {
    let is_root = |file: &&SourceFile| {
        file.path.ends_with("/src/lib.rs") || file.path.ends_with("/src/main.rs")
    };
    for file in files
        .iter()
        .filter(is_root)
        .filter(|file| file.package != "sys")
    {
        let pattern = ["#", "!", "[", "forbid", "(", "unsafe_code", ")", "]"];
        let is_forbidden = (0..file.tokens.len()).any(|at| file.matches(at, &pattern));
        if !is_forbidden {
            findings.push(Finding::in_source(
                file,
                1,
                "`#![forbid(unsafe_code)]` is missing",
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(package: &str, text: &str) -> Vec<usize> {
        let path = format!("crates/{package}/src/inner.rs");
        let mut findings = Vec::new();
        check(&SourceFile::new(package, &path, text), &mut findings);
        findings.into_iter().map(|finding| finding.line).collect()
    }

    fn root_findings(package: &str, text: &str) -> usize {
        let path = format!("crates/{package}/src/lib.rs");
        let mut findings = Vec::new();
        check_roots(&[SourceFile::new(package, &path, text)], &mut findings);
        findings.len()
    }

    #[test]
    fn unsafe_code_is_for_one_crate() {
        let text = "fn a() {\n    unsafe { b() }\n}\n// unsafe\n";
        assert_eq!(found("engine", text), [2]);
        assert!(found("sys", text).is_empty());
        assert_eq!(
            root_findings("engine", "//! Text with #![forbid(unsafe_code)]\n"),
            1
        );
        assert_eq!(root_findings("engine", "#![forbid(unsafe_code)]\n"), 0);
        assert_eq!(root_findings("sys", ""), 0);
    }

    #[test]
    fn grants_are_issued_in_one_crate_and_in_tests() {
        let text = "fn a() { plan::Grant::issue(b) }\n#[cfg(test)]\nmod tests {\n  fn c() { Grant::issue(d) }\n}\n";
        assert_eq!(found("engine", text), [1]);
        assert!(found("host", text).is_empty());
        let renamed = "use plan::Grant as Key;\ntype Key = plan::Grant;\ntype Keys = Vec<u8>;\n";
        assert_eq!(found("engine", renamed), [1, 2]);
    }

    #[test]
    fn unfinished_code_is_found_everywhere() {
        let text = "fn a() { todo!() }\nfn b() { dbg!(1); }\nfn c() { unimplemented!() }\nfn todo() { \"todo!()\"; }\n";
        assert_eq!(found("fathom", text), [1, 2, 3]);
    }

    #[test]
    fn one_module_prints() {
        let text = "fn a() {\n  println!(\"b\");\n  eprint!(\"c\");\n  io::stdout().lock();\n  let d = std::io::stderr;\n  e.stdout(Stdio::piped());\n  f.stdout.take();\n  print(g);\n}\n#[cfg(test)]\nmod tests { fn h() { println!(); } }\n";
        assert_eq!(found("fathom", text), [2, 3, 4, 5]);
        assert_eq!(found("report", text), [2, 3, 4, 5]);
        for (package, path) in [("fathom", PRINTING), ("xtask", "xtask/src/inner.rs")] {
            let mut findings = Vec::new();
            check(&SourceFile::new(package, path, text), &mut findings);
            assert_eq!(findings, []);
        }
    }

    #[test]
    fn asynchronous_code_stays_at_the_edge() {
        let text = "async fn a() {\n  b().await\n}\nuse tokio::x;\n";
        assert_eq!(found("conduct", text), [1, 2, 4]);
        assert!(found("fathom", text).is_empty());
    }

    #[test]
    fn the_engine_reads_no_defaults_and_no_environment() {
        let text = "let a = EngineConfig::default();\nlet b = X { c, ..Default::default() };\nlet c = std::env::var(d);\nuse std::{env, fs};\nlet e = env!(f);\nlet g = Vec::default();\nlet env = 1;\n";
        assert_eq!(found("engine", text), [1, 2, 3, 4, 5]);
        assert!(found("host", text).is_empty());
    }

    #[test]
    fn hash_maps_have_no_place_where_order_counts() {
        let text = "use std::collections::HashMap;\nlet a: HashSet<u8>;\n#[test]\nfn t() { HashMap::new(); }\n";
        for package in ORDERED {
            assert_eq!(found(package, text), [1, 2]);
        }
        assert!(found("report", text).is_empty());
    }
}
