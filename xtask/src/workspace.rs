//! What cargo and git say of the workspace: its packages, their dependencies, the files.
use crate::command;
use crate::source::{self, SourceFile};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A member of the workspace.
#[derive(Clone, Debug)]
pub struct Package {
    pub name: String,
    /// Folder relative to the root, with `/`.
    pub folder: String,
    pub dependencies: Vec<Dependency>,
}

/// What the manifest of a member asks for.
#[derive(Clone, Debug)]
pub struct Dependency {
    pub name: String,
    pub is_member: bool,
    pub is_normal: bool,
}

/// The folder that holds the workspace.
pub fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent()
        .expect("this crate lies one folder below the root")
        .to_owned()
}

/// Where cargo puts what it builds.
pub fn target(root: &Path) -> PathBuf {
    root.join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// The program as `cargo build` and the tests make it.
pub fn program(root: &Path) -> PathBuf {
    target(root).join("debug/fathom")
}

/// The members, by name.
pub fn packages(root: &Path) -> Result<Vec<Package>, String> {
    let arguments = ["metadata", "--no-deps", "--format-version", "1"];
    let text = command::output(root, &command::cargo(), &arguments)?;
    let metadata: Value =
        serde_json::from_str(&text).map_err(|error| format!("cargo metadata: {error}"))?;
    let mut packages: Vec<Package> = list(&metadata["packages"])
        .map(|package| read_package(root, package))
        .collect();
    packages.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(packages)
}

/// Every file that is tracked or would be, relative to the root.
pub fn files(root: &Path) -> Result<Vec<String>, String> {
    let listed = command::output(
        root,
        "git",
        &[
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ],
    )?;
    let mut files: Vec<String> = listed
        .split('\0')
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect();
    files.retain(|name| root.join(name).is_file());
    files.sort();
    files.dedup();
    Ok(files)
}

/// The Rust files of the members.
pub fn sources(
    root: &Path,
    packages: &[Package],
    files: &[String],
) -> Result<Vec<SourceFile>, String> {
    let mut sources = Vec::new();
    for name in files.iter().filter(|name| name.ends_with(".rs")) {
        let inside = |package: &&Package| name.starts_with(&format!("{}/", package.folder));
        let owner = packages
            .iter()
            .filter(inside)
            .max_by_key(|package| package.folder.len());
        let Some(package) = owner else { continue };
        let text =
            std::fs::read_to_string(root.join(name)).map_err(|error| format!("{name}: {error}"))?;
        sources.push(SourceFile::new(&package.name, name, &text));
    }
    source::mark_test_files(&mut sources);
    Ok(sources)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn read_package(root: &Path, package: &Value) -> Package {
    let manifest = Path::new(package["manifest_path"].as_str().unwrap_or_default());
    let folder = manifest
        .parent()
        .and_then(|folder| folder.strip_prefix(root).ok());
    let dependencies = list(&package["dependencies"]).map(|dependency| Dependency {
        name: dependency["name"].as_str().unwrap_or_default().to_owned(),
        is_member: dependency["path"].is_string(),
        is_normal: dependency["kind"].is_null(),
    });
    Package {
        name: package["name"].as_str().unwrap_or_default().to_owned(),
        folder: folder
            .map(|folder| folder.display().to_string())
            .unwrap_or_default(),
        dependencies: dependencies.collect(),
    }
}
