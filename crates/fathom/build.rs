//! Tells the program which commit it is built from. A source without its repository, or a machine without git, builds a
//! program that does not say.
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=SOURCE_DATE_EPOCH");
    let folder = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let root = folder.join("../..");
    let told = commit(&root).map_or(String::new(), |told| format!(" ({told})"));
    let version = std::env::var("CARGO_PKG_VERSION").expect("cargo sets it");
    println!("cargo::rustc-env=FATHOM_VERSION={version}{told}");
}

/// Commit and date, in words. The repository has to be that of this source and not one around it.
fn commit(root: &Path) -> Option<String> {
    let top = PathBuf::from(git(root, &["rev-parse", "--show-toplevel"])?);
    if top.canonicalize().ok()? != root.canonicalize().ok()? {
        return None;
    }
    // The log has a line for each move of HEAD; a path that is missing would build anew each time.
    for name in ["HEAD", "logs/HEAD", "packed-refs"] {
        if let Some(path) = git(root, &["rev-parse", "--git-path", name]) {
            let path = root.join(path);
            if path.exists() {
                println!("cargo::rerun-if-changed={}", path.display());
            }
        }
    }
    let commit = git(root, &["rev-parse", "--short=12", "HEAD"])?;
    let date = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(seconds) => date(seconds.trim().parse().ok()?),
        Err(_) => git(
            root,
            &["log", "-1", "--format=%cd", "--date=format-local:%Y-%m-%d"],
        )?,
    };
    Some(format!("{commit} {date}"))
}

fn git(root: &Path, words: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    // The same day wherever it is built.
    command.current_dir(root).args(words).env("TZ", "UTC");
    let output = command.output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && !text.is_empty()).then(|| text.to_owned())
}

/// The day in UTC of seconds since 1970: after Howard Hinnant, `civil_from_days`.
fn date(seconds: i64) -> String {
    let days = seconds.div_euclid(86_400) + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}
