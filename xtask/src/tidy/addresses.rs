//! Nothing of the machine that a file was written on, and no address that somebody could take for one to fetch from.
use super::Finding;

/// Hosts that a document or a lock file may name.
const HOSTS: &[&str] = &[
    "github.com",
    "docs.rs",
    "crates.io",
    "www.w3.org",
    "www.apache.org",
    "www.kernel.org",
    "docs.kernel.org",
    "www.sqlite.org",
    "keepachangelog.com",
    "semver.org",
];

/// Names that belong to nobody, for examples and tests.
const NOBODY: &[&str] = &[
    ".invalid",
    ".example",
    ".test",
    "example.com",
    "example.org",
    "e.org",
    "localhost",
    "127.0.0.1",
];

/// Folders of shared build machines.
const FOLDERS: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("/builds", "/"),
    concat!("/__w", "/"),
];

pub fn check(path: &str, text: &str, root: &str, findings: &mut Vec<Finding>) {
    for (index, line) in text.lines().enumerate() {
        let mut found = |message: String| findings.push(Finding::new(path, index + 1, message));
        for folder in FOLDERS.iter().copied().chain([root]) {
            let at_start = |at: usize| {
                !line[..at].ends_with(|before: char| before.is_alphanumeric() || before == '.')
            };
            if line.match_indices(folder).any(|(at, _)| at_start(at)) {
                found(format!("`{folder}` is a path of one machine"));
            }
        }
        for host in hosts(line).filter(|host| !is_allowed(host)) {
            found(format!(
                "the address of `{host}` does not belong in the repository"
            ));
        }
        let is_foreign = path.ends_with("Cargo.lock")
            && line.starts_with("source = ")
            && !line.contains("github.com/rust-lang/crates.io-index");
        if is_foreign || line.contains(concat!("sparse", "+http")) {
            found("a registry of one place does not belong in the repository".to_owned());
        }
    }
}

/// The hosts of the addresses in a line.
fn hosts(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("://").filter_map(|(at, _)| {
        let is_web = line[..at].ends_with("http") || line[..at].ends_with("https");
        let rest = &line[at + 3..];
        let end = rest.find(|character: char| {
            !(character.is_ascii_alphanumeric() || ".-".contains(character))
        });
        let host = rest[..end.unwrap_or(rest.len())].trim_end_matches('.');
        (is_web && !host.is_empty()).then_some(host)
    })
}

fn is_allowed(host: &str) -> bool {
    HOSTS.contains(&host) || NOBODY.iter().any(|end| host.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<usize> {
        let mut findings = Vec::new();
        check(path, text, "/src/fathom", &mut findings);
        findings.into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn paths_of_a_machine_are_found() {
        let folder = FOLDERS[0];
        let text = format!("see {folder}main/x\nnet{folder}x\n/src/fathom/target\n/dev/sda\n");
        assert_eq!(found("README.md", &text), [1, 3]);
    }

    #[test]
    fn addresses_of_strangers_are_found() {
        let scheme = "https";
        let text = format!(
            "{scheme}://mirror.local.net/index\n{scheme}://github.com/x and {scheme}://mirror.local.net.\n{scheme}://cdn.example/x\nscheme://host\n"
        );
        assert_eq!(found("README.md", &text), [1, 2]);
    }

    #[test]
    fn foreign_registries_are_found_in_the_lock_file() {
        let lock = "source = \"registry+file:///x\"\nsource = \"registry+ssh://github.com/rust-lang/crates.io-index\"\n";
        assert_eq!(found("Cargo.lock", lock), [1]);
    }
}
