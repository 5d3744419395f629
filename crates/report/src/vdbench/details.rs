//! Pages of one device on one host or one slave, where the job asks for them: what the language left
//! as `detail` in the labels of the reporting (`host`, `slave`, `no_sd`).
use super::captions::Captions;
use super::pages::PageId;
use super::places::Places;
use super::storages::Storages;
use plan::Label;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// What was asked beyond the pages that every execution has, or less than those.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    pub of_hosts: bool,
    pub of_slaves: bool,
    pub no_devices: bool,
}

/// A host or a slave, by its place in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    Host(usize),
    Slave(usize),
}

/// All of an execution, in order, with the device of each.
#[derive(Clone, Debug, Default)]
pub struct Details {
    all: Vec<(Part, usize)>,
    place_of: Arc<HashMap<(Part, usize), usize>>,
    /// Report and histogram, in the same order.
    pub pages: Vec<[PageId; 2]>,
}

impl Asked {
    pub fn of(reporting: &[Label]) -> Self {
        let has = |word: &str| {
            let mut labels = reporting.iter();
            labels.any(|label| label.key == "detail" && label.value == word)
        };
        Self {
            of_hosts: has("host"),
            of_slaves: has("slave"),
            no_devices: has("no_sd"),
        }
    }
}

impl Details {
    /// What the streams of a plan use.
    pub fn new(asked: Asked, captions: &Captions, places: &Places, storages: &Storages) -> Self {
        let mut all = BTreeSet::new();
        for (group, target) in captions.uses() {
            let slave = places.slave_named(Some(group));
            let Some(device) = storages.place(target) else {
                continue;
            };
            if asked.of_hosts {
                all.insert((Part::Host(places.slaves[slave].host), device));
            }
            if asked.of_slaves {
                all.insert((Part::Slave(slave), device));
            }
        }
        let all: Vec<(Part, usize)> = all.into_iter().collect();
        let place_of = all.iter().enumerate().map(|(place, one)| (*one, place));
        Self {
            place_of: Arc::new(place_of.collect()),
            all,
            pages: Vec::new(),
        }
    }

    /// Names of all pages, or of those of one host or slave, without the extension.
    pub fn names(&self, of: Option<Part>, places: &Places, storages: &Storages) -> Vec<String> {
        let is_its = |one: &&(Part, usize)| of.is_none_or(|part| one.0 == part);
        let name = |(part, device): &(Part, usize)| {
            let place = match *part {
                Part::Host(host) => &places.hosts[host],
                Part::Slave(slave) => &places.slaves[slave].name,
            };
            format!("{place}.{}", storages.all[*device].name)
        };
        self.all.iter().filter(is_its).map(name).collect()
    }

    /// The place of the host that a page is of.
    pub fn host_of(&self, page: usize, places: &Places) -> usize {
        match self.all[page].0 {
            Part::Host(host) => host,
            Part::Slave(slave) => places.slaves[slave].host,
        }
    }

    /// Where each is found in the list.
    pub fn lookup(&self) -> Arc<HashMap<(Part, usize), usize>> {
        Arc::clone(&self.place_of)
    }
}
