//! One layer below a target: what is told of it, and what it holds.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use door::{Behind, ClaimError, Sharing};

use super::super::Finding;
use super::super::content::Content;
use super::super::examine::{contents, contents_of_device, opinions, unknown_data};
use super::super::second_opinion;
use super::super::survey::{Budget, Ground};
use super::super::usage::Tables;
use super::super::written::{Known, Storage};
use crate::block::BlockDevice;
use crate::loops::LoopView;
use crate::root::{DeviceNumber, SysRoot};

/// What a device is built on, or a part of that.
#[derive(Debug)]
pub(super) struct Layer {
    /// The whole device that is built on this.
    pub top: BlockDevice,
    pub below: Below,
    /// Where a loop device shows it.
    pub view: Option<LoopView>,
    /// Whether the target shows it as it is, because there are only loop devices between them.
    pub is_shown: bool,
}

#[derive(Debug)]
pub(super) enum Below {
    Device(BlockDevice),
    /// A file, with device and inode where they are known.
    File(PathBuf, Option<(u64, u64)>),
    /// A device that the kernel does not show.
    Hidden(String),
}

/// What is behind a loop device, open for reading.
struct Opened {
    file: File,
    path: PathBuf,
    bytes: u64,
}

impl Layer {
    /// A finding of this layer as one of the target.
    pub(super) fn tells(&self, finding: Finding) -> Finding {
        if matches!(finding, Finding::CannotExamine { .. }) {
            return finding;
        }
        Finding::Below {
            top: self.top.shown_name(),
            layer: match &self.below {
                Below::Device(device) => device.shown_name(),
                Below::File(path, _) => path.display().to_string(),
                Below::Hidden(name) => name.clone(),
            },
            finding: Box::new(finding),
        }
    }

    /// Claims what is behind a loop device for this execution, or tells that somebody else has it: another execution, a ZFS
    /// pool, a mount in a closed name space. Nothing but an attempt shows that, and the loop device itself makes no such
    /// claim. What cannot be reached is not claimed.
    pub(super) fn claimed(&self, tables: &Tables, target: &BlockDevice) -> Option<Finding> {
        let door = tables.door.filter(|_| self.is_shown)?;
        let (path, behind) = match &self.below {
            Below::Device(device) => {
                let number = device.number.to_raw();
                (device_node(&tables.root, device)?, Behind::Disk { number })
            }
            Below::File(path, Some((device, inode))) => {
                let (device, inode) = (*device, *inode);
                (tables.root.locate(path), Behind::File { device, inode })
            }
            Below::File(_, None) | Below::Hidden(_) => return None,
        };
        let sharing = match target.is_partition() {
            true => Sharing::Parts,
            false => Sharing::Alone,
        };
        match (&self.below, door.claim_behind(&path, behind, sharing)) {
            (Below::Device(device), Err(ClaimError::InUse)) => Some(Finding::Held {
                device: device.name.clone(),
                by: "another program".to_owned(),
            }),
            (_, Err(error @ (ClaimError::Locked | ClaimError::RecordLocked(_)))) => {
                Some(Finding::Claimed {
                    by: error.to_string(),
                })
            }
            _ => None,
        }
    }

    /// Has the kernel forget what it read of a device behind a loop device: that may have changed since, through the file
    /// behind it or from another host. Advice that is not taken changes nothing.
    pub(super) fn forget_cached(&self, tables: &Tables) {
        if let Below::Device(device) = &self.below
            && self.is_shown
            && let Some(node) = device_node(&tables.root, device)
            && let Ok(file) = door::look(&node)
        {
            let _ = sys::file::drop_cache(&file);
        }
    }

    /// Signatures in what a loop device stands for. What it shows completely is not read twice.
    pub(super) fn contents(&self, tables: &Tables) -> Vec<Finding> {
        let Some(view) = self.view.as_ref().filter(|_| self.is_cut(tables)) else {
            return Vec::new();
        };
        let found = match self.open(tables, view) {
            Ok(opened) => {
                let ask = match &self.below {
                    Below::Device(_) => tables.opinion.of_device(),
                    _ => tables.opinion.of_file(),
                };
                let known = self.known(tables, &opened);
                let content = Content::others(&opened.file, 0, opened.bytes, &known);
                let mut found = match &self.below {
                    Below::Device(device) => {
                        contents_of_device(device, &opened.file, &content, &known)
                    }
                    _ => contents(&content, None),
                };
                let mut kinds = ask(&opened.path);
                if !kinds.is_empty() && !known.is_empty() {
                    kinds = second_opinion::of_others(&content, ask);
                }
                found.extend(opinions(kinds));
                found
            }
            Err(error) => vec![Finding::Unreadable {
                offset: 0,
                error: error.to_string(),
            }],
        };
        found.into_iter().map(|one| self.tells(one)).collect()
    }

    /// Data of unknown kind before and after what a loop device shows.
    pub(super) fn unknown_data(&self, tables: &Tables) -> Vec<Finding> {
        let Some(view) = self.view.as_ref().filter(|_| self.is_cut(tables)) else {
            return Vec::new();
        };
        let Ok(opened) = self.open(tables, view) else {
            return Vec::new();
        };
        let parts = [
            (0, view.offset.min(opened.bytes)),
            (view.end(), opened.bytes),
        ];
        let mut findings = Vec::new();
        let known = self.known(tables, &opened);
        for (low, high) in parts.into_iter().filter(|(low, high)| low < high) {
            let part = Content::window(&opened.file, low, high - low);
            let others = Content::others(&opened.file, low, high - low, &known);
            let ground = Ground {
                content: &part,
                extent: (0, high - low),
                known: &known.from(low),
                others: Some(&others),
                beneath: None,
            };
            let found = unknown_data(ground, &Budget::of(1, 1)).into_iter();
            findings.extend(found.map(|finding| self.tells(moved(finding, low))));
        }
        findings
    }

    /// What is recorded of what a loop device stands for.
    fn known(&self, tables: &Tables, opened: &Opened) -> Known {
        let storage = match &self.below {
            Below::Device(device) => Storage::of_device(&tables.root, device, opened.bytes),
            _ => Storage::of_file(&opened.file),
        };
        storage.known(tables.root.state.as_deref(), &opened.file, opened.bytes)
    }

    /// A name of what a loop device stands for, if that is there under this name.
    pub(super) fn word(&self, tables: &Tables) -> Option<String> {
        let view = self.view.as_ref()?;
        let is_there = self.is_at(&tables.root.locate(&view.path));
        is_there.then(|| view.path.display().to_string())
    }

    /// Whether a loop device leaves out a part of what it stands for.
    fn is_cut(&self, tables: &Tables) -> bool {
        let Some(view) = &self.view else {
            return false;
        };
        let bytes = match &self.below {
            Below::Device(device) => device.bytes(),
            // Its name is gone, and with it what the loop device leaves out: no name leads there, and a write to the loop
            // device does not either. What it shows is examined through it.
            Below::File(path, _) if view.is_removed && !self.is_at(&tables.root.locate(path)) => {
                return false;
            }
            Below::File(path, _) => fs::metadata(tables.root.locate(path))
                .ok()
                .filter(|_| self.is_at(path))
                .map(|facts| facts.len()),
            Below::Hidden(_) => None,
        };
        match bytes {
            Some(bytes) => !view.shows_all_of(bytes),
            None => view.is_limited || view.offset > 0,
        }
    }

    fn open(&self, tables: &Tables, view: &LoopView) -> io::Result<Opened> {
        let path = match &self.below {
            Below::Device(device) => device_node(&tables.root, device),
            _ => None,
        };
        let path = path.unwrap_or_else(|| tables.root.locate(&view.path));
        fs::metadata(&path)?;
        if !self.is_at(&path) {
            let message = "it is no longer at this path";
            return Err(io::Error::new(io::ErrorKind::NotFound, message));
        }
        // What takes its place in this moment must not keep us waiting.
        let file = door::look(&path)?;
        let bytes = match &self.below {
            Below::Device(_) => sys::file::device_bytes(&file)?,
            _ => file.metadata()?.len(),
        };
        Ok(Opened { file, path, bytes })
    }

    /// Whether this is what stands at `path`.
    fn is_at(&self, path: &Path) -> bool {
        let Ok(facts) = fs::metadata(path) else {
            return false;
        };
        match &self.below {
            Below::Device(device) => {
                facts.file_type().is_block_device()
                    && DeviceNumber::from_raw(facts.rdev()) == device.number
            }
            Below::File(_, identity) => {
                facts.is_file() && identity.is_none_or(|known| known == (facts.dev(), facts.ino()))
            }
            Below::Hidden(_) => false,
        }
    }
}

/// Where the kernel's own name of a device leads to it.
fn device_node(root: &SysRoot, device: &BlockDevice) -> Option<PathBuf> {
    let node = root.dev.join(device.name.replace('!', "/"));
    (DeviceNumber::of_node(&node) == Some(device.number)).then_some(node)
}

/// Counted from the beginning of the whole.
fn moved(finding: Finding, by: u64) -> Finding {
    match finding {
        Finding::UnknownData {
            offset,
            sampled,
            foreign,
        } => Finding::UnknownData {
            offset: offset + by,
            sampled,
            foreign,
        },
        Finding::Unreadable { offset, error } => Finding::Unreadable {
            offset: offset + by,
            error,
        },
        other => other,
    }
}
