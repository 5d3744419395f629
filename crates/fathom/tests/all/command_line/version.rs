//! What `--version` tells of the build.
use crate::lab::{Lab, has, skip};
use std::process::Command;

#[test]
fn the_version_names_commit_and_date() {
    let told = Lab::new().fathom(&["--version"]).expect(0).out;
    let told = told.trim_end();
    let version = format!("fathom {}", env!("CARGO_PKG_VERSION"));
    assert!(told.starts_with(&version), "{told}");
    let git = |words: &[&str]| {
        let mut git = Command::new("git");
        git.current_dir(env!("CARGO_MANIFEST_DIR")).args(words);
        let output = git.output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    if !has("git") || git(&["ls-files", "--error-unmatch", "Cargo.toml"]).is_none() {
        assert_eq!(told, version);
        return skip("this source is in no repository");
    }
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).unwrap();
    let rest = told.strip_prefix(&format!("{version} ({commit} "));
    let date = rest.and_then(|rest| rest.strip_suffix(')'));
    let parts: Vec<&str> = date.unwrap_or_default().split('-').collect();
    assert_eq!(parts.len(), 3, "{told}");
    assert!(
        parts.iter().all(|part| part.parse::<u32>().is_ok()),
        "{told}"
    );
}
