//! What stands at a path, under a name that is the same on every host that sees it there.
use crate::root::{DeviceNumber, existing_directory, resolve};
use crate::storage::Storage;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// The name of what stands at `path`, or would stand there. Hosts that give the same name see the same thing; of file
/// systems whose files have other numbers on each host they may see one thing under several names. Empty where nothing is
/// known.
#[must_use]
pub fn same_name(storage: &Storage, path: &Path) -> String {
    let real = resolve(path);
    let boot = storage.boot();
    if let Ok(facts) = fs::metadata(&real) {
        if facts.file_type().is_block_device() {
            return match boot.is_empty() {
                true => String::new(),
                false => format!("{boot} device {:x}", facts.rdev()),
            };
        }
        return in_file_system(storage, &real, &facts);
    }
    // It is missing: what there is of the path, and the rest.
    let known = existing_directory(&real).and_then(|folder| {
        let facts = fs::metadata(&folder).ok()?;
        let rest = real.strip_prefix(&folder).ok()?;
        Some((in_file_system(storage, &folder, &facts), rest))
    });
    match known {
        Some((folder, rest)) if !folder.is_empty() => format!("{folder}/{}", rest.display()),
        _ => String::new(),
    }
}

/// A file system of the network is told by its server, another one by the machine that has it mounted.
fn in_file_system(storage: &Storage, path: &Path, facts: &fs::Metadata) -> String {
    let boot = storage.boot();
    let number = DeviceNumber::from_raw(facts.dev());
    let mount = storage.mount(path, Some(number));
    if let Some(mount) = mount.filter(|mount| measure::is_network_mount(&mount.kind)) {
        let below = path.strip_prefix(&mount.point).unwrap_or(path);
        return format!("{} {}{}", mount.source, mount.root, below.display());
    }
    match boot.is_empty() {
        true => String::new(),
        false => format!("{boot} {:x} {}", facts.dev(), facts.ino()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_missing_parts_lead_to_one_name() {
        let storage = Storage::real();
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("a")).unwrap();
        std::os::unix::fs::symlink(path("a"), path("b")).unwrap();
        let name = |text: &str| same_name(&storage, &path(text));
        assert_eq!(name("a/new"), name("b/new"));
        assert_eq!(name("a/sub/new"), name("b/sub/new"));
        assert_ne!(name("a/new"), name("a/other"));
        fs::write(path("a/file"), "").unwrap();
        fs::hard_link(path("a/file"), path("other")).unwrap();
        assert_eq!(name("b/file"), name("other"));
        assert_ne!(name("a/file"), name("a/new"));
    }
}
