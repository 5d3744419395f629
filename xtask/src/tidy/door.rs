//! Targets are reached through the crate `door` alone: nothing else opens, makes, extends, truncates, discards or removes
//! one. Files of our own (results, reports, logs, texts) are made by the places listed here, each for its reason.
use super::Finding;
use crate::source::SourceFile;

/// The door, and the calls below it.
const BEYOND: &[&str] = &["door", "sys"];

/// Places that reach files which are no targets, and what they are.
pub const OWN_FILES: &[(&str, &str)] = &[
    (
        "crates/fleet/src/joining/image.rs",
        "this program, which is read to be copied to a host",
    ),
    (
        "crates/fathom/src/outputs.rs",
        "reports, logs and lists: compared with the targets before they are opened",
    ),
    ("crates/fathom/src/outputs/place.rs", "as above"),
    (
        "crates/fathom/src/trigger.rs",
        "the file by which a job is told to stop, which goes when it is seen",
    ),
    (
        "crates/fathom/src/written_states.rs",
        "a state that `outputs` has just written, made durable",
    ),
    (
        "crates/host/src/guard/standing/trust.rs",
        "the standing list, which is read",
    ),
    ("crates/host/src/mounts.rs", "tables of the kernel"),
    ("crates/host/src/root.rs", "attributes of the kernel"),
    (
        "crates/report/src/opener.rs",
        "reports made again without targets",
    ),
    (
        "crates/report/src/vdbench/pages.rs",
        "pages, which replace only pages",
    ),
    ("crates/store/src/reader.rs", "the result file"),
    ("crates/store/src/whole.rs", "the result file"),
    ("crates/store/src/writer.rs", "the result file"),
];

/// Words that change what has a name, wherever they stand.
const CHANGING: &[&str] = &[
    "OpenOptions",
    "remove_file",
    "remove_dir",
    "remove_dir_all",
    "hard_link",
    "set_len",
    "lock_exclusive",
    "fallocate",
    "ftruncate",
];

/// Calls that do so by a common word, told by what they are called on.
const CALLS: &[&[&str]] = &[
    &["File", ":", ":", "create"],
    &["File", ":", ":", "create_new"],
    &["File", ":", ":", "open"],
    &["File", ":", ":", "options"],
    &["fs", ":", ":", "rename"],
    &["fs", ":", ":", "write"],
    &["fs", ":", ":", "copy"],
    &["file", ":", ":", "open"],
    &["file", ":", ":", "extend"],
    &["file", ":", ":", "reserve"],
    &["file", ":", ":", "discard"],
    &["file", ":", ":", "set_length"],
    &["at", ":", ":", "Folder"],
    &["Grants", ":", ":", "unexamined"],
];

pub fn check(file: &SourceFile, findings: &mut Vec<Finding>) {
    let is_of_product = file.path.starts_with("crates/") && file.path.contains("/src/");
    if !is_of_product || BEYOND.contains(&file.package.as_str()) {
        return;
    }
    let is_listed = OWN_FILES.iter().any(|(path, _)| *path == file.path);
    for (at, token) in file.words() {
        if file.is_test(token.line) {
            continue;
        }
        let is_changing = CHANGING.contains(&token.text.as_str());
        let is_call = CALLS.iter().any(|call| file.matches(at, call));
        let is_call = is_call || token.text == "use" && imports_change(file, at);
        let is_for_tests = file.matches(at, &["Grants", ":", ":", "unexamined"]);
        if (is_changing || is_call) && (!is_listed || is_for_tests) {
            findings.push(Finding::in_source(
                file,
                token.line,
                format!(
                    "`{}` reaches files past the door; open targets by their grants, or list the place in `xtask/src/tidy/door.rs` with its reason",
                    token.text
                ),
            ));
        }
    }
}

/// Whether a `use` brings in a call of `sys::file` that changes what is there.
fn imports_change(file: &SourceFile, at: usize) -> bool {
    let statement = file.tokens[at..]
        .iter()
        .take_while(|token| token.text != ";");
    let words: Vec<&str> = statement.map(|token| token.text.as_str()).collect();
    let is_of_file = words
        .windows(4)
        .any(|four| four == ["sys", ":", ":", "file"]);
    let changing = ["open", "extend", "reserve", "discard", "set_length"];
    is_of_file && words.iter().any(|word| changing.contains(word))
}

/// A place in the list that is gone would hide one that comes later under its name.
pub fn check_list(files: &[SourceFile], findings: &mut Vec<Finding>) {
    for (path, _) in OWN_FILES {
        if !files.iter().any(|file| file.path == *path) {
            findings.push(Finding::new(
                "xtask/src/tidy/door.rs",
                1,
                format!("`{path}` is listed and does not exist"),
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<usize> {
        let package = path.split('/').nth(1).unwrap();
        let mut findings = Vec::new();
        check(&SourceFile::new(package, path, text), &mut findings);
        findings.into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn only_the_door_reaches_targets() {
        let text = "use std::fs::OpenOptions;\nfn a() { std::fs::remove_file(p) }\nfn b() { sys::file::open(p) }\n\
                    use sys::file::{OpenFlags, open};\nfn c() { File::open(p) }\nfn d() { list.open(p) }\n#[cfg(test)]\nmod tests {\n fn e() { File::create(p) }\n}\n";
        assert_eq!(found("crates/engine/src/files.rs", text), [1, 2, 3, 4, 5]);
        assert!(found("crates/door/src/kernel.rs", text).is_empty());
        assert!(found("crates/engine/tests/files.rs", text).is_empty());
    }

    #[test]
    fn grants_without_a_look_are_for_tests() {
        let text = "fn a() { Grants::unexamined(b) }\n";
        assert_eq!(found("crates/host/src/guard.rs", text), [1]);
    }
}
