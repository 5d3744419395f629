//! What a target is: its kind, size and alignment for binding, and its identity for the record.

#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use measure::{MountFacts, TargetIdentity};
use plan::{Alignment, FoundKind, TargetFacts, TargetKind};

use crate::block::{BlockDevice, iscsi_session};
use crate::root::{DeviceNumber, SysRoot, existing_directory, names_in, read_text, resolve};
use crate::storage::Storage;

/// The alignment taken where nothing tells of one and direct I/O may be possible: it suits every device in use.
const SAFE_ALIGNMENT: u64 = 4096;

/// What binding must know of the target at `path`. A missing file is judged by the directory that would hold it.
///
/// # Errors
/// What looking at the path says, other than that nothing is there (EACCES, ELOOP, ENOTDIR, …).
pub fn target_facts(storage: &Storage, path: &Path, kind: TargetKind) -> io::Result<TargetFacts> {
    if matches!(kind, TargetKind::Nothing | TargetKind::Simulated) {
        return Ok(facts_of(FoundKind::File, 0, 1, true));
    }
    if let Some(folder) = storage.missing.folder_without(path) {
        let facts = || facts_below(storage, folder.existing.clone());
        return Ok(folder.facts.get_or_init(facts).clone());
    }
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(facts_of_missing(storage, path));
        }
        Err(error) => return Err(error),
    };
    let file_type = metadata.file_type();
    if file_type.is_block_device() {
        let known = storage.device(DeviceNumber::from_raw(metadata.rdev()));
        let device = known.as_ref().map(|known| &known.device);
        return Ok(TargetFacts {
            found: FoundKind::BlockDevice,
            bytes: bytes_of_device(path, device)?,
            alignment: alignment(path)
                .or_else(|| known.as_ref().map(|known| known.alignment))
                .unwrap_or(uniform(SAFE_ALIGNMENT)),
            ram_backed: device.is_some_and(|device| device.is_ram_backed(storage.root())),
        });
    }
    if file_type.is_file() {
        return Ok(TargetFacts {
            found: FoundKind::File,
            bytes: metadata.len(),
            alignment: alignment(path)
                .unwrap_or_else(|| alignment_of_file_system(storage, path, metadata.dev())),
            ram_backed: is_on_memory(path),
        });
    }
    let found = if file_type.is_dir() {
        FoundKind::Directory
    } else {
        FoundKind::Other
    };
    Ok(facts_of(found, 0, 1, false))
}

/// What the target at `path` is, as far as this machine tells; what it does not tell stays empty.
#[must_use]
pub fn target_identity(storage: &Storage, path: &Path) -> TargetIdentity {
    let real = resolve(path);
    let mut identity = TargetIdentity {
        path: path.display().to_string(),
        real_path: real.display().to_string(),
        ..TargetIdentity::default()
    };
    let metadata = fs::metadata(&real).ok();
    let number = metadata
        .as_ref()
        .filter(|facts| facts.file_type().is_block_device())
        .map(|facts| DeviceNumber::from_raw(facts.rdev()));
    if let Some(number) = number {
        identity.kind = "block device".to_owned();
        if let Some(known) = storage.device(number) {
            identity.bytes = bytes_of_device(&real, Some(&known.device)).unwrap_or(0);
            describe_device(storage.root(), &known.device, &mut identity);
            identity.cached_below = storage.cached_below(std::slice::from_ref(&known.device));
        }
        return identity;
    }
    let holder = match &metadata {
        Some(facts) => {
            identity.kind = kind_of(facts).to_owned();
            identity.bytes = facts.len();
            Some(real.clone())
        }
        None => {
            identity.kind = "missing".to_owned();
            existing_directory(&real)
        }
    };
    if let Some(holder) = holder {
        describe_file_system(storage, &holder, &mut identity);
    }
    identity
}

/// The devices of each mounted btrfs.
pub(crate) fn btrfs_members(root: &SysRoot) -> Vec<Vec<BlockDevice>> {
    let place = root.sys.join("fs/btrfs");
    names_in(&place)
        .iter()
        .map(|name| names_in(&place.join(name).join("devices")))
        .filter(|names| !names.is_empty())
        .map(|names| {
            names
                .iter()
                .filter_map(|name| BlockDevice::by_name(root, name))
                .collect()
        })
        .collect()
}

fn facts_of(found: FoundKind, bytes: u64, align: u64, ram_backed: bool) -> TargetFacts {
    TargetFacts {
        found,
        bytes,
        alignment: uniform(align),
        ram_backed,
    }
}

fn facts_of_missing(storage: &Storage, path: &Path) -> TargetFacts {
    facts_below(storage, storage.missing.existing_directory(path))
}

/// Of a file that is missing below a directory.
fn facts_below(storage: &Storage, directory: Option<PathBuf>) -> TargetFacts {
    let Some(directory) = directory else {
        return facts_of(FoundKind::Missing, 0, SAFE_ALIGNMENT, false);
    };
    storage.missing_in(directory, |directory| {
        let device = fs::metadata(directory).map(|facts| facts.dev());
        TargetFacts {
            found: FoundKind::Missing,
            bytes: 0,
            alignment: match device {
                Ok(device) => alignment_of_file_system(storage, directory, device),
                Err(_) => uniform(SAFE_ALIGNMENT),
            },
            ram_backed: is_on_memory(directory),
        }
    })
}

fn uniform(bytes: u64) -> Alignment {
    Alignment {
        offset: bytes,
        memory: bytes,
    }
}

fn alignment(path: &Path) -> Option<Alignment> {
    let found = sys::file::direct_io_alignment(path)?;
    Some(Alignment {
        offset: u64::from(found.offset),
        memory: u64::from(found.memory),
    })
}

pub(crate) fn alignment_of_device(device: &BlockDevice) -> Alignment {
    let bytes = device
        .attribute("queue/logical_block_size")
        .and_then(|text| text.parse().ok());
    uniform(bytes.unwrap_or(SAFE_ALIGNMENT))
}

/// For a file that does not tell or is not there yet.
fn alignment_of_file_system(storage: &Storage, path: &Path, device: u64) -> Alignment {
    if is_on_memory(path) {
        return uniform(1);
    }
    match storage.device(DeviceNumber::from_raw(device)) {
        Some(known) => known.alignment,
        None => uniform(SAFE_ALIGNMENT),
    }
}

fn is_on_memory(path: &Path) -> bool {
    sys::file::is_ram_backed(path).unwrap_or(false)
}

/// Sysfs answers without permission to open.
fn bytes_of_device(path: &Path, device: Option<&BlockDevice>) -> io::Result<u64> {
    match door::look(path).and_then(|file| sys::file::device_bytes(&file)) {
        Ok(bytes) => Ok(bytes),
        Err(error) => device.and_then(BlockDevice::bytes).ok_or(error),
    }
}

fn kind_of(facts: &fs::Metadata) -> &'static str {
    if facts.is_file() {
        "file"
    } else if facts.is_dir() {
        "directory"
    } else {
        "other"
    }
}

fn describe_file_system(storage: &Storage, path: &Path, identity: &mut TargetIdentity) {
    let number = fs::metadata(path)
        .ok()
        .map(|facts| DeviceNumber::from_raw(facts.dev()));
    let mount = storage.mount(path, number).map(|mount| MountFacts {
        point: mount.point.display().to_string(),
        source: mount.source.clone(),
        kind: mount.kind.clone(),
        options: mount.options.clone(),
    });
    let below = storage.below(path);
    *identity = TargetIdentity {
        path: std::mem::take(&mut identity.path),
        real_path: std::mem::take(&mut identity.real_path),
        kind: std::mem::take(&mut identity.kind),
        bytes: identity.bytes,
        mount,
        ram_backed: below.is_ram_backed || is_on_memory(path),
        ..below.described.clone()
    };
}

pub(crate) fn describe_device(root: &SysRoot, device: &BlockDevice, identity: &mut TargetIdentity) {
    let disk = device.disk();
    let names = device.identity(root);
    identity.device = format!("/dev/{}", device.name.replace('!', "/"));
    identity.counted_devices = vec![disk.name.clone()];
    identity.model = names.model;
    identity.vendor = names.vendor;
    identity.serial = names.serial;
    identity.wwn = names.wwn;
    identity.firmware = names.firmware;
    identity.transport = names.transport;
    identity.rotational = disk
        .attribute("queue/rotational")
        .map(|value| value.trim() != "0");
    let number = |name: &str| {
        disk.attribute(name)
            .and_then(|text| text.parse().ok())
            .unwrap_or(0)
    };
    identity.logical_block_bytes = number("queue/logical_block_size");
    identity.physical_block_bytes = number("queue/physical_block_size");
    identity.scheduler = active_scheduler(&disk.attribute("queue/scheduler").unwrap_or_default());
    identity.queue = queue_files(&disk.disk_directory.join("queue"));
    identity.queue.extend(timeouts(&disk.disk_directory));
    identity.members = disk.slaves();
    if let Some(file) = disk.loop_backing_file() {
        identity.members.push(file.display().to_string());
    }
    identity.ram_backed = device.is_ram_backed(root);
}

/// The one in brackets: `none [mq-deadline]`.
fn active_scheduler(text: &str) -> String {
    let inside = text
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(text, |(name, _)| name).trim().to_owned()
}

/// What decides how long a path that is gone is waited for, beside `io_timeout` of the queue.
fn timeouts(disk: &Path) -> Vec<(String, String)> {
    let of_device = ["timeout", "ctrl_loss_tmo"].map(|name| Some(disk.join("device").join(name)));
    let of_session = iscsi_session(disk).map(|session| session.join("recovery_tmo"));
    let files = of_device.into_iter().chain([of_session]).flatten();
    let read = |path: PathBuf| {
        let name = path.file_name()?.to_str()?.to_owned();
        Some((name, read_text(&path)?.trim().to_owned()))
    };
    files.filter_map(read).collect()
}

fn queue_files(directory: &Path) -> Vec<(String, String)> {
    let read = |name: String| {
        let path: PathBuf = directory.join(&name);
        let value = path.is_file().then(|| read_text(&path)).flatten()?;
        Some((name, value))
    };
    names_in(directory).into_iter().filter_map(read).collect()
}
