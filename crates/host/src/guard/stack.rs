//! What a device is built on: the file or device behind a loop device, the members of device mapper, RAID and the like.
//!
//! A write to the target goes through all of this, so all of it is looked at. A loop device stands for the whole of what
//! is behind it, which is examined as if it were the target. Of what is below the device mapper or a RAID, only use by
//! others counts: what stands there was put there by the stack itself, and others that were given another part of it do
//! no harm. Where nobody tells which part that is, it counts as the same one.

mod holes;
mod layers;
mod maker;

use std::collections::{BTreeSet, VecDeque};

use super::Finding;
use super::usage::Tables;
use crate::block::BlockDevice;
use crate::loops::{Backing, LoopView};
use layers::{Below, Layer};

pub(super) use holes::FileBehind;
pub(super) use maker::Maker;

/// Names of the devices that a target consists of: those do not use each other.
pub(super) type Own = BTreeSet<String>;

/// The layers below one target.
#[derive(Debug)]
pub(super) struct Stack<'a> {
    tables: &'a Tables<'a>,
    layers: Vec<Layer>,
    own: Own,
}

impl<'a> Stack<'a> {
    pub(super) fn below(tables: &'a Tables<'a>, target: &BlockDevice) -> Self {
        let disk = target.disk();
        let mut stack = Self {
            tables,
            layers: Vec::new(),
            own: Own::from([target.name.clone(), disk.name.clone()]),
        };
        let mut walked = BTreeSet::new();
        let mut waiting = VecDeque::from([(disk, true)]);
        while let Some((top, is_shown)) = waiting.pop_front() {
            if !walked.insert(top.name.clone()) {
                continue;
            }
            for layer in layers_of(tables, &top, is_shown) {
                if let Below::Device(device) = &layer.below {
                    let disk = device.disk();
                    stack.own.extend([device.name.clone(), disk.name.clone()]);
                    waiting.push_back((disk, layer.is_shown));
                }
                stack.layers.push(layer);
            }
        }
        for layer in &stack.layers {
            layer.forget_cached(tables);
        }
        stack
    }

    /// Those who use what the target consists of, and are no part of it.
    pub(super) fn users(&self, target: &BlockDevice) -> Vec<Finding> {
        let mut findings = self.tables.users_of_device(target, &self.own);
        for layer in &self.layers {
            let mut found = match &layer.below {
                Below::Device(device) => self.tables.users_of_device(device, &self.own),
                Below::File(path, identity) => {
                    let mut found = self.tables.users_of_file(path, *identity, &self.own);
                    let by = identity.and_then(|identity| self.tables.locked_by(identity));
                    found.extend(by.map(|process| Finding::Locked {
                        file: path.display().to_string(),
                        process,
                    }));
                    found
                }
                Below::Hidden(name) => vec![Finding::CannotExamine {
                    error: format!("the kernel shows no block device {name}"),
                }],
            };
            if found.is_empty() {
                found.extend(layer.claimed(self.tables, target));
            }
            for finding in found.into_iter().map(|finding| layer.tells(finding)) {
                // Members may lie on one disk.
                if !findings.contains(&finding) {
                    findings.push(finding);
                }
            }
        }
        findings
    }

    /// Signatures in what loop devices stand for, as far as they do not show them themselves.
    pub(super) fn contents(&self) -> Vec<Finding> {
        let looked_into = self.layers.iter().filter(|layer| layer.is_shown);
        looked_into
            .flat_map(|layer| layer.contents(self.tables))
            .collect()
    }

    /// Data of unknown kind in what loop devices stand for, outside of what they show.
    pub(super) fn unknown_data(&self) -> Vec<Finding> {
        let looked_into = self.layers.iter().filter(|layer| layer.is_shown);
        looked_into
            .flat_map(|layer| layer.unknown_data(self.tables))
            .collect()
    }

    /// The file that the target, a whole loop device, shows.
    pub(super) fn file_behind(&self, target: &BlockDevice) -> Option<FileBehind> {
        let mut layers = self.layers.iter();
        let layer = layers.find(|layer| layer.is_shown && layer.top.number == target.number)?;
        match &layer.below {
            Below::File(path, Some(identity)) => Some(FileBehind {
                path: self.tables.root.locate(path),
                identity: *identity,
            }),
            _ => None,
        }
    }

    /// The path of what is behind a loop device: whoever names that means the loop device as well, whose own name is
    /// another after the next start of the machine. A partition is not meant with it.
    pub(super) fn words(&self, target: &BlockDevice) -> Vec<String> {
        let layers = self.layers.iter();
        layers
            .filter(|layer| layer.is_shown && layer.top.number == target.number)
            .filter_map(|layer| layer.word(self.tables))
            .collect()
    }
}

/// What `top`, a whole device, is directly built on.
fn layers_of(tables: &Tables, top: &BlockDevice, is_shown: bool) -> Vec<Layer> {
    let root = &tables.root;
    if let Some(view) = tables.loop_view(top.number) {
        return vec![Layer {
            top: top.clone(),
            below: behind(tables, view),
            view: Some(view.clone()),
            is_shown,
        }];
    }
    let member = |name: String| match BlockDevice::by_name(root, &name) {
        Some(device) => Below::Device(device),
        None => Below::Hidden(name),
    };
    let layer = |name: String| Layer {
        top: top.clone(),
        below: member(name),
        view: None,
        is_shown: false,
    };
    top.slaves().into_iter().map(layer).collect()
}

fn behind(tables: &Tables, view: &LoopView) -> Below {
    match view.backing {
        Backing::Device(number) => match BlockDevice::by_number(&tables.root, number) {
            Some(device) => Below::Device(device),
            None => Below::Hidden(number.to_string()),
        },
        Backing::File(identity) => Below::File(view.path.clone(), Some(identity)),
        Backing::Unknown => Below::File(view.path.clone(), None),
    }
}
