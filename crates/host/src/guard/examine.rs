//! Looking at targets: what stands there, who uses it, what it holds. The door opens and claims them.
//!
//! Who uses a target is read one by one from tables. Contents are looked into side by side, a group of targets at a time,
//! as devices are slow and many, and descriptors few.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use door::{Approach, ClaimError, Door, Found, Intent, waiting};
use plan::{Access, FoundKind, TargetKind};
use rustix::fs::{Access as Rights, Advice, AtFlags, CWD, accessat, fadvise};
use rustix::io::Errno;

use super::content::{Content, WHOLE_BYTES};
use super::places;
use super::second_opinion;
use super::signatures::{self, Hit};
use super::stack::{FileBehind, Own, Stack};
use super::survey::{Budget, Ground, Survey};
use super::usage::Tables;
use super::written::{Known, Storage};
use super::{Examination, Finding, Lack, Request};
use crate::block::{BlockDevice, DiskIdentity};
use crate::rights::{self, Wanted};
use crate::root::{DeviceNumber, SysRoot, existing_directory};

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

/// Targets that are open at the same time, and looked into side by side.
const GROUP: usize = 32;
/// The same of groups without a large one: a small file costs less than a thread.
const SMALL_SIDE_BY_SIDE: usize = 4;

/// A target of which everything is known but its content.
#[derive(Debug)]
struct Begun {
    examination: Examination,
    file: Option<Arc<File>>,
    inside: Option<Inside>,
}

/// What is to be looked at inside of a target.
#[derive(Debug)]
struct Inside {
    bytes: u64,
    /// Name, start and length of each.
    partitions: Vec<(String, u64, u64)>,
    ask: fn(&Path) -> Vec<String>,
    storage: Storage,
    state: Option<PathBuf>,
    behind: Option<FileBehind>,
    /// What it is built on holds signatures, and data of unknown kind.
    below: (Vec<Finding>, Vec<Finding>),
}

/// Looks at the target of each request, in their order, and claims nothing. What cannot be looked at is a finding.
#[must_use]
pub fn examine(root: &SysRoot, requests: &[Request]) -> Vec<Examination> {
    examine_through(root, &Door::looking(), requests)
}

/// The same through a door, which claims what will be written first: what is examined is what is held. A claim that
/// fails is a finding beside all others.
#[must_use]
pub fn examine_through(root: &SysRoot, door: &Door, requests: &[Request]) -> Vec<Examination> {
    let tables = Tables::read(root, Some(door).filter(|door| door.claims()));
    let large = requests.iter().filter(|request| is_large(request)).count();
    let budget = Budget::of(large, GROUP);
    let mut examinations = Vec::with_capacity(requests.len());
    for group in requests.chunks(GROUP) {
        let begun: Vec<Mutex<Begun>> = group
            .iter()
            .map(|request| waiting::on(&request.path, || begin_one(&tables, door, request)))
            .map(Mutex::new)
            .collect();
        let side_by_side = match group.iter().any(is_large) {
            true => GROUP,
            false => SMALL_SIDE_BY_SIDE,
        };
        look_inside_all(&begun, side_by_side, &budget);
        let ended = begun.into_iter().map(Mutex::into_inner);
        examinations.extend(ended.map(|one| one.expect("a look does not panic").examination));
    }
    examinations
}

/// Who each target is, and who uses it. Nothing is claimed, and no content is looked at.
pub(super) fn identify(root: &SysRoot, requests: &[Request]) -> Vec<Examination> {
    let tables = Tables::read(root, None);
    let door = Door::looking();
    let identify = |request: &Request| {
        let begin = || begin_one(&tables, &door, request);
        waiting::on(&request.path, begin).examination
    };
    requests.iter().map(identify).collect()
}

/// Whether its samples take time. One that cannot be looked at is none.
fn is_large(request: &Request) -> bool {
    let is_long = |facts: fs::Metadata| {
        facts.file_type().is_block_device() || (facts.is_file() && facts.len() > WHOLE_BYTES)
    };
    let look = || fs::metadata(&request.path).is_ok_and(is_long);
    request.access != Access::Read && waiting::on(&request.path, look)
}

fn look_inside_all(all: &[Mutex<Begun>], side_by_side: usize, budget: &Budget) {
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(one) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut one = one.lock().expect("each is taken once");
            let Begun {
                examination,
                file,
                inside,
            } = &mut *one;
            if let (Some(file), Some(inside)) = (file.as_deref(), inside.as_ref()) {
                let path = examination.real_path.clone();
                waiting::on(&path, || inside.look(file, budget, examination));
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..side_by_side.min(all.len()) {
            // Without threads, the one that is there does it all.
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
}

fn begin_one(tables: &Tables, door: &Door, request: &Request) -> Begun {
    let intent = match request.access {
        Access::Read | Access::Share => Intent::Look,
        Access::Write | Access::Create => Intent::Write,
    };
    let approach = match door.approach(&request.path, intent) {
        Ok(approach) => approach,
        Err(error) => {
            let real_path = door::resolve(&request.path);
            let mut examination = blank(request, real_path, FoundKind::Other);
            let folder = unsearchable(&examination.real_path)
                .filter(|_| error.kind() == ErrorKind::PermissionDenied);
            examination.findings.push(match folder {
                Some(folder) => Finding::FolderLacks {
                    folder,
                    lack: Lack::Search,
                },
                None => Finding::CannotExamine {
                    error: rights::denial(&examination.real_path, refused_for(request), &error),
                },
            });
            return Begun {
                examination,
                file: None,
                inside: None,
            };
        }
    };
    let is_written_device = approach.found == Found::BlockDevice && request.access != Access::Read;
    if let Some(file) = approach.file.as_deref().filter(|_| is_written_device) {
        // What another host wrote to a shared device must not hide behind pages that were read earlier. Advice that is
        // not taken changes nothing.
        let _ = fadvise(file, 0, None, Advice::DontNeed);
        let _ = fadvise(file, 0, None, Advice::Random);
    }
    let subject = Subject {
        real_path: approach.real_path.clone(),
        what: what(&approach),
    };
    let file = approach.file.as_deref();
    let (mut examination, inside) = begin_subject(tables, request, subject, file);
    examination.object = approach.object;
    if let Some(error) = approach.unclaimed {
        unclaimed(error, &mut examination);
    }
    Begun {
        examination,
        file: approach.file,
        inside,
    }
}

/// What was refused where a target could not be opened at all. A file that is only to be written is examined as well, and a
/// job that only reads has one extended first: the door tries to read last. A device is as the job uses it.
fn refused_for(request: &Request) -> Wanted {
    match (request.kind, request.access) {
        (TargetKind::Device, Access::Write | Access::Create) => Wanted::Write,
        _ => Wanted::Read,
    }
}

fn what(approach: &Approach) -> What {
    match (approach.found, &approach.facts) {
        (Found::BlockDevice, Some(facts)) => What::Device {
            number: DeviceNumber::from_raw(facts.number),
            bytes: facts.bytes,
        },
        (Found::File, Some(facts)) => What::File {
            identity: (facts.device, facts.inode),
            bytes: facts.bytes,
        },
        (Found::Missing | Found::FolderMissing, _) => What::Missing,
        (Found::Folder, _) => What::Directory,
        _ => What::Other,
    }
}

/// That a device is held says nothing new where its user was found.
fn unclaimed(error: ClaimError, examination: &mut Examination) {
    let findings = &mut examination.findings;
    let has_user = findings.iter().any(Finding::names_user);
    match error {
        ClaimError::InUse if has_user => {}
        ClaimError::Refused(_) if findings.contains(&Finding::ReadOnly) => {}
        ClaimError::Refused(error) => findings.push(Finding::NotWritable {
            error: rights::denial(&examination.real_path, Wanted::Write, &error),
        }),
        error => findings.push(Finding::Claimed {
            by: error.to_string(),
        }),
    }
}

/// An examination with what was found handed in; `file` is its open content.
#[cfg(test)]
pub(crate) fn examine_subject(
    tables: &Tables,
    request: &Request,
    subject: Subject,
    file: Option<&File>,
) -> Examination {
    let (mut examination, inside) = begin_subject(tables, request, subject, file);
    if let (Some(file), Some(inside)) = (file, inside) {
        inside.look(file, &Budget::of(1, 1), &mut examination);
    }
    examination
}

/// All of an examination but the look at the content, which is for later.
fn begin_subject(
    tables: &Tables,
    request: &Request,
    subject: Subject,
    file: Option<&File>,
) -> (Examination, Option<Inside>) {
    let kind = match &subject.what {
        What::Missing => FoundKind::Missing,
        What::Device { .. } => FoundKind::BlockDevice,
        What::File { .. } => FoundKind::File,
        What::Directory => FoundKind::Directory,
        What::Other => FoundKind::Other,
    };
    let mut examination = blank(request, subject.real_path, kind);
    let mut inside = None;
    match subject.what {
        What::Missing => examine_missing(tables, request, &mut examination),
        What::Device { number, bytes } => {
            examination.identity = Some((number.to_raw(), bytes));
            inside = examine_device(tables, request, number, bytes, &mut examination);
        }
        What::File { identity, bytes } => {
            examination.identity = Some(identity);
            inside = examine_file(tables, request, identity, bytes, file, &mut examination);
        }
        What::Directory | What::Other => {
            let what = match kind {
                FoundKind::Directory => "a directory",
                _ => "neither a regular file nor a block device",
            };
            examination.findings.push(Finding::NotUsable { what });
        }
    }
    (examination, inside)
}

fn blank(request: &Request, real_path: PathBuf, found: FoundKind) -> Examination {
    let words = vec![word_of_path(request, &real_path)];
    Examination {
        request: request.clone(),
        real_path,
        found,
        identity: None,
        object: None,
        findings: Vec::new(),
        bytes: None,
        recorded: Known::default(),
        words,
        ids: Vec::new(),
    }
}

fn examine_missing(tables: &Tables, request: &Request, examination: &mut Examination) {
    if request.access == Access::Share && request.kind != TargetKind::Device {
        return;
    }
    if request.access != Access::Create || request.kind == TargetKind::Device {
        examination.findings.push(Finding::Missing);
        return;
    }
    let parent = examination.real_path.parent().map(Path::to_path_buf);
    let directory = existing_directory(&examination.real_path);
    match directory {
        Some(directory) if parent.as_deref() == Some(&directory) => {
            let pseudo = pseudo_file_system(tables, &directory);
            let lack = || lack_in(&directory).map(|lack| (directory.clone(), lack));
            let cannot = |(folder, lack)| Finding::FolderLacks { folder, lack };
            let found = pseudo.or_else(|| lack().map(cannot));
            examination.findings.extend(found);
        }
        _ => examination.findings.push(Finding::FolderLacks {
            folder: parent.unwrap_or_default(),
            lack: Lack::Folder,
        }),
    }
}

/// What this process lacks to make a file in a folder. Whatever else the kernel says is left to the attempt.
fn lack_in(folder: &Path) -> Option<Lack> {
    let check = |access| accessat(CWD, folder, access, AtFlags::EACCESS);
    match check(Rights::WRITE_OK) {
        Err(Errno::ROFS) => Some(Lack::WritableFileSystem),
        Err(Errno::ACCESS | Errno::PERM) => Some(Lack::Write),
        _ => None,
    }
}

/// The highest folder above a path whose names this process may not use.
fn unsearchable(path: &Path) -> Option<PathBuf> {
    let may_search =
        |folder: &Path| accessat(CWD, folder, Rights::EXEC_OK, AtFlags::EACCESS).is_ok();
    let mut folders: Vec<&Path> = path.ancestors().skip(1).collect();
    folders.reverse();
    let folder = folders.into_iter().find(|folder| !may_search(folder))?;
    Some(folder.to_path_buf())
}

fn examine_device(
    tables: &Tables,
    request: &Request,
    number: DeviceNumber,
    bytes: u64,
    examination: &mut Examination,
) -> Option<Inside> {
    if request.access == Access::Read {
        return None;
    }
    let Some(device) = BlockDevice::by_number(&tables.root, number) else {
        // Without sysfs nobody can tell who uses it.
        examination.findings.push(Finding::CannotExamine {
            error: format!("the kernel shows no block device {number}"),
        });
        return None;
    };
    let path = word_of_path(request, &examination.real_path);
    let stack = Stack::below(tables, &device);
    examination.words = words_of_device(tables, &device, path);
    let (_, ids) = examination.words.split_last().expect("the path is a word");
    examination.ids = ids.to_vec();
    examination.words.extend(stack.words(&device));
    examination.findings.extend(stack.users(&device));
    if device.is_read_only() {
        examination.findings.push(Finding::ReadOnly);
    }
    let contents = stack.contents();
    let unknown = match contents.is_empty() {
        true => stack.unknown_data(),
        false => Vec::new(),
    };
    Some(Inside {
        bytes,
        partitions: partitions_within(&device, bytes),
        ask: tables.opinion.of_device(),
        storage: Storage::of_device(&tables.root, &device, bytes),
        state: tables.root.state.clone(),
        behind: stack.file_behind(&device),
        below: (contents, unknown),
    })
}

fn examine_file(
    tables: &Tables,
    request: &Request,
    identity: (u64, u64),
    bytes: u64,
    file: Option<&File>,
    examination: &mut Examination,
) -> Option<Inside> {
    if request.access == Access::Read {
        return None;
    }
    let real_path = examination.real_path.clone();
    let file_system = tables.file_system(&real_path, identity.0);
    examination.findings.extend(pseudo(file_system));
    examination
        .findings
        .extend(tables.users_of_file(&real_path, Some(identity), &Own::new()));
    // Whatever is changed, all of a file is looked at: what is written behind its end makes another file of it.
    let file = file.filter(|_| bytes > 0)?;
    Some(Inside {
        bytes,
        partitions: Vec::new(),
        ask: tables.opinion.of_file(),
        storage: Storage::of_file(file),
        state: tables.root.state.clone(),
        behind: None,
        below: (Vec::new(), Vec::new()),
    })
}

/// Signatures on a device and on its partitions.
pub(super) fn contents_of_device(
    device: &BlockDevice,
    file: &File,
    content: &Content<'_>,
    known: &Known,
) -> Vec<Finding> {
    let mut found = contents(content, None);
    for (name, start, length) in partitions_within(device, content.bytes()) {
        let window = Content::others(file, start, length, known);
        found.extend(contents(&window, Some(&name)));
    }
    found
}

/// Name, start and length of each partition that lies within so many bytes.
fn partitions_within(device: &BlockDevice, bytes: u64) -> Vec<(String, u64, u64)> {
    let partitions = device.partitions().into_iter().filter_map(|partition| {
        let (start, length) = (partition.start_bytes()?, partition.bytes()?);
        let is_inside = start.checked_add(length).is_some_and(|end| end <= bytes);
        is_inside.then_some((partition.name, start, length))
    });
    partitions.collect()
}

impl Inside {
    /// Adds what the content says.
    fn look(&self, file: &File, budget: &Budget, examination: &mut Examination) {
        examination.bytes = Some(self.bytes);
        let behind = self.behind.as_ref();
        let map = behind.and_then(|behind| behind.data_map(file, self.bytes));
        let content = Content::new(file, self.bytes).mapped(map);
        let mut found = self.signatures(&content, |start, length| {
            Content::window(file, start, length)
        });
        found.extend(opinions((self.ask)(&examination.real_path)));
        examination.recorded = self.storage.known(self.state.as_deref(), file, self.bytes);
        let known = &examination.recorded;
        let others = (!known.is_empty()).then(|| Content::others(file, 0, self.bytes, known));
        if let Some(others) = others.as_ref().filter(|_| !found.is_empty()) {
            // What looks like a signature by chance, in data that are ours to the byte.
            let has_opinion = found
                .iter()
                .any(|one| matches!(one, Finding::SecondOpinion { .. }));
            found = self.signatures(others, |start, length| {
                Content::others(file, start, length, known)
            });
            if has_opinion {
                found.extend(opinions(second_opinion::of_others(others, self.ask)));
            }
        }
        found.extend(self.below.0.iter().cloned());
        if found.is_empty() && !examination.request.is_ours {
            let beneath = self.storage.beneath();
            let ground = Ground {
                content: &content,
                extent: examination.request.extent,
                known,
                others: others.as_ref(),
                beneath: beneath.as_ref(),
            };
            found.extend(unknown_data(ground, budget));
            found.extend(self.below.1.iter().cloned());
        }
        examination.findings.extend(found);
    }

    /// On the target, its partitions, and at the usual starts of partitions.
    fn signatures<'a>(
        &self,
        content: &Content<'_>,
        window: impl Fn(u64, u64) -> Content<'a>,
    ) -> Vec<Finding> {
        let mut found = contents(content, None);
        for (name, start, length) in &self.partitions {
            found.extend(contents(&window(*start, *length), Some(name)));
        }
        if found.is_empty() {
            found.extend(signatures_found(places::search_starts(content), None));
        }
        found
    }
}

/// Signatures, and a place that could not be searched.
pub(super) fn contents(content: &Content<'_>, partition: Option<&str>) -> Vec<Finding> {
    let mut findings = signatures_found(signatures::search(content), partition);
    if let Some((offset, error)) = content.failure() {
        findings.push(Finding::Unreadable { offset, error });
    }
    findings
}

fn signatures_found(hits: Vec<Hit>, partition: Option<&str>) -> Vec<Finding> {
    let finding = |hit: Hit| Finding::Signature {
        partition: partition.map(str::to_owned),
        family: hit.family,
        name: hit.name,
        offset: hit.offset,
    };
    hits.into_iter().map(finding).collect()
}

pub(super) fn opinions(kinds: Vec<String>) -> impl Iterator<Item = Finding> {
    kinds
        .into_iter()
        .map(|kind| Finding::SecondOpinion { kind })
}

pub(super) fn unknown_data(ground: Ground<'_>, budget: &Budget) -> Vec<Finding> {
    let survey = Survey::of(ground, budget);
    if let Some((offset, error)) = ground.content.failure() {
        return vec![Finding::Unreadable { offset, error }];
    }
    let mut found = signatures_found(Vec::from_iter(survey.hit), None);
    found.extend(survey.first_foreign.map(|offset| Finding::UnknownData {
        offset,
        sampled: survey.sampled,
        foreign: survey.foreign,
    }));
    found
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
