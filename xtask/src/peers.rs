//! Hands over to the comparison with other tools, which is a package of its own so that this one needs no crate of the
//! product. Always as a release build: its bare loops are measured too.
use crate::command::{self, cargo};
use std::path::Path;

/// The verbs of that package.
pub const VERBS: &[&str] = &["compare-peers", "bare-timer", "bare-ring"];

pub fn run(root: &Path, arguments: &[String]) -> Result<(), String> {
    let mut all = vec!["run", "--quiet", "--release", "--package", "peers", "--"];
    all.extend(arguments.iter().map(String::as_str));
    command::run(root, &cargo(), &all, &[])
}
