//! Reporting groups: each process that the original would start on a host of the text. One process on each host
//! does all the work here, so a group is a label on streams, and a share of the slots of a storage.
//! Where work belongs follows reference 5.6: slots of a storage are dealt to hosts in turn, within
//! a host to the group with the fewest slots; sequential work stays in one group.
use super::codes;
use super::expand::RawRun;
use super::lower::{Job, swept_seek, swept_threads};
use super::model::{Host, RunDefinition, Seek, Storage, Workload};
use super::token::Word;
use plan::{Diagnostic, Label, PlanHost, Reach};
use std::collections::HashSet;

/// The name of the host that reads the text.
const LOCAL: &str = "localhost";

/// All groups, in the order of their hosts.
#[derive(Clone, Debug)]
pub(crate) struct Groups<'a> {
    hosts: &'a [Host],
    all: Vec<Group>,
    /// Where the hosts of the text are, each place once; and by host, which of them is its own.
    places: Vec<PlanHost>,
    place_of: Vec<usize>,
}

#[derive(Clone, Debug)]
struct Group {
    /// Place in the list of hosts.
    host: usize,
    label: String,
}

/// How one storage of a run is spread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dealt {
    /// Slots by group.
    pub slots: Vec<u32>,
    /// The groups in which each workload of the run uses the storage; none where it does not.
    pub groups: Vec<Vec<usize>>,
}

/// What a workload wants of a storage.
#[derive(Clone, Debug)]
enum Wish {
    Nothing,
    /// One group of these hosts.
    One(Vec<usize>),
    /// All groups of these hosts.
    All(Vec<usize>),
}

impl<'a> Groups<'a> {
    pub(crate) fn new(hosts: &'a [Host]) -> Self {
        let groups = hosts.iter().enumerate().flat_map(|(place, host)| {
            (0..host.processes).map(move |number| Group {
                host: place,
                label: format!("{}-{number}", host.label),
            })
        });
        let mut places: Vec<PlanHost> = Vec::new();
        let place_of = hosts.iter().map(|host| {
            let known = places.iter().position(|place| place.reach == host.reach);
            known.unwrap_or_else(|| {
                places.push(PlanHost {
                    name: match host.reach {
                        Some(_) => host.label.clone(),
                        None => LOCAL.to_owned(),
                    },
                    reach: host.reach.clone(),
                });
                places.len() - 1
            })
        });
        Self {
            all: groups.collect(),
            place_of: place_of.collect(),
            places,
            hosts,
        }
    }

    /// The hosts of the plan; none where the one that reads the text is the only one.
    pub(crate) fn plan_hosts(&self) -> Vec<PlanHost> {
        match self.places.iter().any(|place| place.reach.is_some()) {
            true => self.places.clone(),
            false => Vec::new(),
        }
    }

    pub(crate) fn plan_host(&self, place: usize) -> &PlanHost {
        &self.places[place]
    }

    /// Where a group is.
    pub(crate) fn place_of(&self, group: usize) -> usize {
        self.place_of[self.all[group].host]
    }

    /// Where a host of the text is.
    pub(crate) fn place_named(&self, label: &str) -> Option<usize> {
        let host = self.hosts.iter().position(|host| host.label == label)?;
        Some(self.place_of[host])
    }

    /// The path of a storage as it is known at a place.
    pub(crate) fn path_at<'s>(&self, place: usize, storage: &'s Storage) -> &'s Word {
        let is_there = |label: &String| {
            let mut hosts = self.hosts.iter().zip(&self.place_of);
            hosts.any(|(host, at)| host.label == *label && *at == place)
        };
        let mut luns = storage.luns.iter();
        let own = luns.find(|(label, _)| is_there(label));
        own.map_or(&storage.lun, |(_, lun)| lun)
    }

    /// Where a storage is used, each place once; where no host is, the first.
    pub(crate) fn places_of(&self, storage: &Storage) -> Vec<usize> {
        let hosts = self.hosts_of(storage, None);
        let mut places: Vec<usize> = hosts.iter().map(|host| self.place_of[*host]).collect();
        places.sort_unstable();
        places.dedup();
        if places.is_empty() {
            places.push(0);
        }
        places
    }

    pub(crate) fn hosts(&self) -> &[Host] {
        self.hosts
    }

    /// The names of all groups, each with the place of its host.
    pub(crate) fn slaves(&self) -> impl Iterator<Item = (usize, &str)> {
        self.all
            .iter()
            .map(|group| (group.host, group.label.as_str()))
    }

    pub(crate) fn are_several(&self) -> bool {
        self.all.len() > 1
    }

    /// The labels of a stream of this group; none where there is nothing to tell apart.
    pub(crate) fn stream_label(&self, group: usize) -> Option<Label> {
        self.are_several()
            .then(|| Label::new("group", self.all[group].label.clone()))
    }

    /// Hosts, each followed by its groups; nothing for the one host that reports assume.
    pub(crate) fn reporting(&self) -> Vec<Label> {
        if !self.are_several() && self.hosts.iter().all(|host| host.label == LOCAL) {
            return Vec::new();
        }
        let mut labels = Vec::new();
        for (place, host) in self.hosts.iter().enumerate() {
            labels.push(Label::new("host", host.label.clone()));
            labels.extend(
                host.reach
                    .as_ref()
                    .map(|reach| Label::new("reach", told(reach))),
            );
            let of_host = self.all.iter().filter(|group| group.host == place);
            labels.extend(of_host.map(|group| Label::new("group", group.label.clone())));
        }
        labels
    }

    /// One group per storage, each the one with the fewest so far; and one on each further place where the storage has a
    /// path of its own.
    pub(crate) fn one_each(&self, storages: &[Storage], list: &[usize]) -> Vec<(usize, usize)> {
        let mut load = vec![0; self.all.len()];
        let mut all = Vec::with_capacity(list.len());
        for index in list {
            let storage = &storages[*index];
            let hosts = self.hosts_of(storage, None);
            let places = self.places_of(storage);
            let path = |place: usize| &self.path_at(place, storage).text;
            let (own, shared): (Vec<usize>, Vec<usize>) = places
                .iter()
                .partition(|place| path(**place) != path(places[0]));
            let shared = std::iter::once(shared);
            for places in shared.chain(own.into_iter().map(|place| vec![place])) {
                let is_there = |host: &&usize| places.contains(&self.place_of[**host]);
                let hosts: Vec<usize> = hosts.iter().filter(is_there).copied().collect();
                let group = self.least(&hosts, &load).unwrap_or(0);
                load[group] += 1;
                all.push((*index, group));
            }
        }
        all
    }

    /// Deals the slots of the storages of a run, given in the order of first use.
    pub(crate) fn deal(
        &self,
        job: &Job<'_>,
        run: &RawRun,
        definition: &RunDefinition,
        used: &[usize],
    ) -> Vec<Dealt> {
        let mut load = vec![0; self.all.len()];
        let seek = swept_seek(run);
        // Where nothing is spread, an override of the run sets them.
        let slots = swept_threads(run).filter(|_| self.are_several());
        let mut out = Vec::with_capacity(used.len());
        let uses = |workload| {
            let mut uses = vec![false; job.storages.len()];
            let list = job.storages_of(definition, run.choice, workload);
            list.iter().for_each(|index| uses[*index] = true);
            uses
        };
        let uses: Vec<Vec<bool>> = definition.workloads.iter().map(uses).collect();
        for index in used {
            let storage = &job.storages[*index];
            let wish = |(workload, uses): (&Workload, &Vec<bool>)| {
                if !uses[*index] {
                    return Wish::Nothing;
                }
                let hosts = self.hosts_of(storage, Some(workload));
                if stays_together(workload, seek.unwrap_or(workload.seek)) {
                    Wish::One(hosts)
                } else {
                    Wish::All(hosts)
                }
            };
            let wishes = definition.workloads.iter().zip(&uses).map(wish);
            let wishes: Vec<Wish> = wishes.collect();
            out.push(self.deal_one(slots.unwrap_or(storage.threads), &wishes, &mut load));
        }
        out
    }

    fn deal_one(&self, slots: u32, wishes: &[Wish], load: &mut [u64]) -> Dealt {
        let mut groups: Vec<Vec<usize>> = Vec::with_capacity(wishes.len());
        let mut chosen: Vec<usize> = Vec::new();
        for wish in wishes {
            groups.push(match wish {
                Wish::Nothing => Vec::new(),
                Wish::All(hosts) => self.groups_of(hosts).collect(),
                Wish::One(hosts) => {
                    // Sequential work on one storage stays together, and shares its slots.
                    let is_allowed = |group: &usize| hosts.contains(&self.all[*group].host);
                    let again = chosen.iter().copied().find(is_allowed);
                    let one = again.or_else(|| self.least(hosts, load));
                    chosen.extend(one.filter(|_| again.is_none()));
                    one.into_iter().collect()
                }
            });
        }
        let candidates: Vec<usize> = (0..self.all.len())
            .filter(|group| groups.iter().any(|of| of.contains(group)))
            .collect();
        let dealt = self.deal_slots(slots, &chosen, &candidates, load);
        groups
            .iter_mut()
            .for_each(|of| of.retain(|group| dealt[*group] > 0));
        Dealt {
            slots: dealt,
            groups,
        }
    }

    /// Groups that were chosen come first, so that sequential work is not without a slot.
    fn deal_slots(
        &self,
        slots: u32,
        chosen: &[usize],
        candidates: &[usize],
        load: &mut [u64],
    ) -> Vec<u32> {
        let mut dealt = vec![0; self.all.len()];
        if let [only] = candidates {
            dealt[*only] = slots;
            load[*only] += u64::from(slots);
            return dealt;
        }
        let mut of_host = vec![0_u32; self.hosts.len()];
        for slot in 0..slots as usize {
            let next = chosen.get(slot).copied().or_else(|| {
                let key = |group: &usize| (of_host[self.all[*group].host], self.all[*group].host);
                let fewest = |group: &usize| (key(group), load[*group]);
                candidates.iter().copied().min_by_key(fewest)
            });
            let Some(group) = next else { break };
            dealt[group] += 1;
            load[group] += 1;
            of_host[self.all[group].host] += 1;
        }
        dealt
    }

    /// Places of the hosts that a storage and a workload have in common.
    fn hosts_of(&self, storage: &Storage, workload: Option<&Workload>) -> Vec<usize> {
        let is_in = |list: &[String], host: &Host| list.is_empty() || list.contains(&host.label);
        let is_used = |host: &Host| {
            is_in(&storage.hosts, host)
                && workload.is_none_or(|workload| is_in(&workload.hosts, host))
        };
        let hosts = self.hosts.iter().enumerate();
        hosts
            .filter(|(_, host)| is_used(host))
            .map(|(place, _)| place)
            .collect()
    }

    /// The groups of the hosts that a storage and a workload have in common.
    pub(crate) fn of_workload(&self, storage: &Storage, workload: &Workload) -> Vec<usize> {
        let hosts = self.hosts_of(storage, Some(workload));
        self.groups_of(&hosts).collect()
    }

    fn groups_of(&self, hosts: &[usize]) -> impl Iterator<Item = usize> {
        let is_on = |group: &usize| hosts.contains(&self.all[*group].host);
        (0..self.all.len()).filter(is_on)
    }

    fn least(&self, hosts: &[usize], load: &[u64]) -> Option<usize> {
        self.groups_of(hosts).min_by_key(|group| load[*group])
    }
}

/// How a host is reached, as the console of the original says it.
pub(crate) fn told(reach: &Reach) -> String {
    match &reach.user {
        Some(user) => format!("ssh {} -l {user}", reach.system),
        None => format!("ssh {}", reach.system),
    }
}

/// Whether a workload uses a storage in one group only: several sequential cursors would each go
/// through all of it.
pub(crate) fn stays_together(workload: &Workload, seek: Seek) -> bool {
    let is_sequential = match seek {
        Seek::Percent(pct) => pct <= 0.0,
        Seek::SequentialFromRandom | Seek::UntilEnd => true,
        Seek::Poisson(_) => false,
    };
    // Slices have a cursor each, and may be spread.
    is_sequential && workload.streams.is_none()
}

/// Workloads that would never run: no host is theirs and their storage's, or fewer slots than
/// hosts.
pub(crate) fn problems(job: &Job<'_>) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    if !job.groups.are_several() {
        return out;
    }
    let mut seen = HashSet::new();
    for run in job.runs {
        let slots = swept_threads(run);
        if !seen.insert((run.definition, run.choice, slots)) {
            continue;
        }
        let definition = &job.definitions[run.definition];
        let used = job.storages_of_run(definition, run.choice);
        let dealt = job.groups.deal(job, run, definition, &used);
        for (at, workload) in definition.workloads.iter().enumerate() {
            let is_idle = |dealt: &Dealt| dealt.groups[at].is_empty();
            if !dealt.is_empty() && dealt.iter().all(is_idle) {
                let list = job.storages_of(definition, run.choice, workload);
                out.push(idle(job, list, workload));
            }
        }
    }
    out
}

fn idle(job: &Job<'_>, list: &[usize], workload: &Workload) -> Diagnostic {
    let shares_host = |index: &usize| {
        let hosts = job.groups.hosts_of(&job.storages[*index], Some(workload));
        !hosts.is_empty()
    };
    let name = &workload.name;
    let (message, help) = if list.iter().any(shares_host) {
        (
            format!("workload `{name}` gets no thread of its storage"),
            "give the storage a thread for each host that uses it",
        )
    } else {
        (
            format!("workload `{name}` and its storage have no host in common"),
            "name the same host in both, or leave `host` out of one",
        )
    };
    Diagnostic::error(codes::CONFLICT, message)
        .at(workload.fields.place("host"), "would never run")
        .with_help(help)
}

#[cfg(test)]
mod tests;
