//! Looking at one target: what stands there, who uses it, what it holds. Opens for reading only.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use plan::{Access, FoundKind, TargetKind};
use rustix::fs::{Advice, fadvise};

use super::content::Content;
use super::usage::Tables;
use super::{Examination, Finding, Request, signatures};
use crate::block::{BlockDevice, DiskIdentity};
use crate::root::{DeviceNumber, SysRoot, existing_directory, resolve};

/// File systems whose files stand for something else than stored data.
const PSEUDO_FILE_SYSTEMS: &[&str] = &[
    "proc",
    "sysfs",
    "devtmpfs",
    "devpts",
    "cgroup",
    "cgroup2",
    "debugfs",
    "tracefs",
    "securityfs",
    "configfs",
    "efivarfs",
    "bpf",
    "pstore",
    "mqueue",
    "selinuxfs",
    "binfmt_misc",
    "fusectl",
    "nsfs",
    "autofs",
];

/// What stands at the path of a request.
#[derive(Debug)]
pub(crate) struct Subject {
    pub real_path: PathBuf,
    pub what: What,
}

#[derive(Debug)]
pub(crate) enum What {
    Missing,
    Device { number: DeviceNumber, bytes: u64 },
    File { identity: (u64, u64), bytes: u64 },
    Directory,
    Other,
}

/// Looks at the target of each request, in their order. What cannot be looked at is a finding.
#[must_use]
pub fn examine(root: &SysRoot, requests: &[Request]) -> Vec<Examination> {
    let tables = Tables::read(root);
    requests
        .iter()
        .map(|request| examine_one(&tables, request))
        .collect()
}

fn examine_one(tables: &Tables, request: &Request) -> Examination {
    let root = &tables.root;
    let real_path = resolve(&request.path);
    let found = locate(root, &real_path, request.access);
    match found {
        Ok((what, file)) => {
            let subject = Subject { real_path, what };
            examine_subject(tables, request, subject, file.as_ref())
        }
        Err(error) => {
            let mut examination = blank(request, real_path, FoundKind::Other);
            examination.findings.push(Finding::CannotExamine {
                error: error.to_string(),
            });
            examination
        }
    }
}

/// The second half of the examination, with what was found handed in; `file` is its open content.
pub(crate) fn examine_subject(
    tables: &Tables,
    request: &Request,
    subject: Subject,
    file: Option<&File>,
) -> Examination {
    let kind = match &subject.what {
        What::Missing => FoundKind::Missing,
        What::Device { .. } => FoundKind::BlockDevice,
        What::File { .. } => FoundKind::File,
        What::Directory => FoundKind::Directory,
        What::Other => FoundKind::Other,
    };
    let mut examination = blank(request, subject.real_path, kind);
    match subject.what {
        What::Missing => examine_missing(tables, request, &mut examination),
        What::Device { number, bytes } => {
            examination.identity = Some((number.to_raw(), bytes));
            examine_device(tables, request, number, bytes, file, &mut examination);
        }
        What::File { identity, bytes } => {
            examination.identity = Some(identity);
            examine_file(tables, request, identity, bytes, file, &mut examination);
        }
        What::Directory | What::Other => {
            let what = match kind {
                FoundKind::Directory => "a directory",
                _ => "neither a regular file nor a block device",
            };
            examination.findings.push(Finding::NotUsable { what });
        }
    }
    examination
}

fn blank(request: &Request, real_path: PathBuf, found: FoundKind) -> Examination {
    let words = vec![word_of_path(request, &real_path)];
    Examination {
        request: request.clone(),
        real_path,
        found,
        identity: None,
        findings: Vec::new(),
        words,
    }
}

fn locate(root: &SysRoot, real_path: &Path, access: Access) -> io::Result<(What, Option<File>)> {
    let facts = match fs::metadata(real_path) {
        Ok(facts) => facts,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((What::Missing, None)),
        Err(error) => return Err(error),
    };
    if facts.file_type().is_block_device() {
        let number = DeviceNumber::from_raw(facts.rdev());
        let file = File::open(real_path)?;
        let bytes = sys::file::device_bytes(&file).or_else(|error| {
            BlockDevice::by_number(root, number)
                .and_then(|device| device.bytes())
                .ok_or(error)
        })?;
        if access != Access::Read {
            // What another host wrote to a shared device must not hide behind pages that were read earlier. Advice
            // that is not taken changes nothing.
            let _ = fadvise(&file, 0, None, Advice::DontNeed);
            let _ = fadvise(&file, 0, None, Advice::Random);
        }
        return Ok((What::Device { number, bytes }, Some(file)));
    }
    if facts.is_file() {
        let file = File::open(real_path)?;
        let what = What::File {
            identity: (facts.dev(), facts.ino()),
            bytes: facts.len(),
        };
        return Ok((what, Some(file)));
    }
    let what = if facts.is_dir() {
        What::Directory
    } else {
        What::Other
    };
    Ok((what, None))
}

fn examine_missing(tables: &Tables, request: &Request, examination: &mut Examination) {
    if request.access != Access::Create || request.kind == TargetKind::Device {
        examination.findings.push(Finding::Missing);
        return;
    }
    let parent = examination.real_path.parent().map(Path::to_path_buf);
    let directory = existing_directory(&examination.real_path);
    match directory {
        Some(directory) if parent.as_deref() == Some(&directory) => {
            examination
                .findings
                .extend(pseudo_file_system(tables, &directory));
        }
        _ => examination.findings.push(Finding::CannotExamine {
            error: "the directory that would hold it does not exist".to_owned(),
        }),
    }
}

fn examine_device(
    tables: &Tables,
    request: &Request,
    number: DeviceNumber,
    bytes: u64,
    file: Option<&File>,
    examination: &mut Examination,
) {
    if request.access == Access::Read {
        return;
    }
    let Some(device) = BlockDevice::by_number(&tables.root, number) else {
        // Without sysfs nobody can tell who uses it.
        examination.findings.push(Finding::CannotExamine {
            error: format!("the kernel shows no block device {number}"),
        });
        return;
    };
    let path = word_of_path(request, &examination.real_path);
    examination.words = words_of_device(tables, &device, path);
    examination.findings.extend(tables.users_of_device(&device));
    let Some(file) = file else {
        return;
    };
    let content = Content::new(file, bytes);
    let mut found = contents(&content, None);
    for partition in device.partitions() {
        if let (Some(start), Some(length)) = (partition.start_bytes(), partition.bytes())
            && start.checked_add(length).is_some_and(|end| end <= bytes)
        {
            let window = Content::window(file, start, length);
            found.extend(contents(&window, Some(partition.name.clone())));
        }
    }
    found.extend(opinions(tables.opinion.of_device(&examination.real_path)));
    if found.is_empty() {
        found.extend(unknown_data(&content, request.extent));
    }
    examination.findings.extend(found);
}

fn examine_file(
    tables: &Tables,
    request: &Request,
    identity: (u64, u64),
    bytes: u64,
    file: Option<&File>,
    examination: &mut Examination,
) {
    if request.access == Access::Read {
        return;
    }
    let real_path = examination.real_path.clone();
    let file_system = tables.file_system(&real_path, identity.0);
    examination.findings.extend(pseudo(file_system));
    examination
        .findings
        .extend(tables.users_of_file(&real_path, identity));
    // What begins behind the end of a file overwrites nothing that it holds.
    let Some(file) = file.filter(|_| bytes > request.extent.0) else {
        return;
    };
    let content = Content::new(file, bytes);
    let mut found = contents(&content, None);
    found.extend(opinions(tables.opinion.of_file(&real_path)));
    if found.is_empty() && !request.is_ours {
        found.extend(unknown_data(&content, request.extent));
    }
    examination.findings.extend(found);
}

/// Signatures, and a place that could not be searched.
fn contents(content: &Content<'_>, partition: Option<String>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = signatures::search(content)
        .into_iter()
        .map(|hit| Finding::Signature {
            partition: partition.clone(),
            family: hit.family,
            name: hit.name,
            offset: hit.offset,
        })
        .collect();
    if let Some((offset, error)) = content.failure() {
        findings.push(Finding::Unreadable { offset, error });
    }
    findings
}

fn opinions(kinds: Vec<String>) -> impl Iterator<Item = Finding> {
    kinds
        .into_iter()
        .map(|kind| Finding::SecondOpinion { kind })
}

fn unknown_data(content: &Content<'_>, extent: (u64, u64)) -> Vec<Finding> {
    let survey = content.survey(extent);
    if let Some((offset, error)) = content.failure() {
        return vec![Finding::Unreadable { offset, error }];
    }
    match survey.first_foreign {
        Some(offset) if !survey.is_free_of_others_data() => vec![Finding::UnknownData {
            offset,
            sampled: survey.sampled,
            foreign: survey.foreign,
        }],
        _ => Vec::new(),
    }
}

fn pseudo_file_system(tables: &Tables, directory: &Path) -> Option<Finding> {
    let number = fs::metadata(directory).ok()?.dev();
    pseudo(tables.file_system(directory, number))
}

fn pseudo(file_system: Option<String>) -> Option<Finding> {
    let name = file_system.filter(|name| PSEUDO_FILE_SYSTEMS.contains(&name.as_str()))?;
    Some(Finding::PseudoFileSystem { name })
}

/// The path as the user wrote it, unless `--overwrite` would take it for something else.
fn word_of_path(request: &Request, real_path: &Path) -> String {
    let text = request.path.display().to_string();
    if text.starts_with(['@', '#']) || text.trim() != text {
        return real_path.display().to_string();
    }
    text
}

/// The words that name a device, the best one first: world-wide name, serial number, partition id, path. A partition's carry its
/// number, so that they never stand for the whole disk or for another partition.
fn words_of_device(tables: &Tables, device: &BlockDevice, path: String) -> Vec<String> {
    let disk = device.disk();
    let identity = disk.identity(&tables.root);
    let suffix = device
        .partition_number()
        .map(|number| format!("-part{number}"))
        .unwrap_or_default();
    let is_unique = |is_same: &dyn Fn(&DiskIdentity) -> bool| {
        tables
            .disks()
            .iter()
            .filter(|(number, other)| *number != disk.number && is_same(other))
            .all(|(_, other)| !identity.wwn.is_empty() && other.wwn == identity.wwn)
    };
    let mut words = Vec::new();
    if !identity.wwn.is_empty() {
        words.push(format!("{}{suffix}", identity.wwn));
    }
    // The namespaces of an NVMe controller share its serial number, and cheap bridges give one to all their disks. The
    // paths to one unit share it rightly.
    if !identity.serial.is_empty() && is_unique(&|other| other.serial == identity.serial) {
        words.push(format!("{}{suffix}", identity.serial));
    }
    words.extend(
        tables
            .unique_partition_id(device)
            .map(|id| format!("PARTUUID={id}")),
    );
    words.push(path);
    words
}
